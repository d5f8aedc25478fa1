"""The index: by ranks of masses and constraints, and by derivative arrays, which know nothing of mechanics."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from diagnostics.mechanisms import diagnosed, vertical_coin
from draisine.dynamics.dae.as_dae import as_dae
from tires.test_rough_paths import machine


@pytest.mark.parametrize("name", ["simple_pendulum", "spherical_pendulum", "cartesian_double_pendulum"])
def test_against_derivative_arrays(name):
    model = dr.gallery.model(name)
    ours, theirs = dr.diagnose(model).index, dr.dae.index_of(as_dae(model))
    assert (ours.structural, ours.differential, ours.perturbation) == (3, 3, 3)
    assert theirs.differential == 3
    assert (ours.structural, ours.freedoms) == (theirs.structural, theirs.freedoms)
    assert ours.unknowns == theirs.unknowns


def test_against_derivative_arrays_with_velocity_constraints():
    """Chaplygin's sleigh and the upright coin: index 2."""
    for model in (dr.gallery.chaplygin_sleigh(), vertical_coin()):
        ours, theirs = dr.diagnose(model).index, dr.dae.index_of(as_dae(model))
        assert ours.differential == theirs.differential == 2
        assert ours.freedoms == theirs.freedoms
        assert ours.structural == theirs.structural


@pytest.mark.parametrize("index", [1, 2, 3])
def test_as_posed(index):
    """The same pendulum with its constraint at each level; what it leaves free grows as constraints are forgotten."""
    pendulum = dr.gallery.simple_pendulum()
    found = dr.diagnose(as_dae(pendulum, index=index))
    assert found.index.differential == index
    assert found.freedoms_of_position == {3: 2, 2: 3, 1: 4}[index]


def test_stabilized_form_has_index_two():
    assert dr.diagnose(as_dae(dr.gallery.simple_pendulum(), ggl=True)).index.differential == 2


@pytest.mark.parametrize(
    ("name", "index", "left_out"),
    [
        ("tricycle", 3, {"rear_right_y"}),
        ("planetary_gear", 3, {"second_in_ring", "third_in_ring"}),
        ("bicycle", 3, set()),
        ("snakeboard", 2, set()),
        ("cart_pole", 0, set()),
        ("four_bar_driven", 3, set()),
    ],
)
def test_gallery(name, index, left_out):
    found = diagnosed(name).index
    assert (found.structural, found.differential, found.perturbation) == (index, index, index)
    said = [line for line in found.sentences if "left out as redundant" in line]
    assert bool(said) == bool(left_out)
    assert all(name in said[0] for name in left_out)
    assert not {f"{name}_multiplier" for name in left_out} & set(found.unknowns)


def test_what_differentiations_remove():
    found = diagnosed("rolling_disk").index
    steps = {(s.equation, s.times): str(s) for s in found.steps}
    assert "a hidden condition on" in steps["disk_height", 1]
    assert "disk_height_multiplier" in steps["disk_height", 2]
    assert "disk_x_multiplier" in steps["disk_x", 1]
    assert ("disk_x", 2) not in steps
    assert max(s.times for s in found.steps) + 1 == found.differential


def test_mass_that_is_zero_is_left_to_derivative_arrays():
    """0 = −∂V/∂y gives y; its first derivative the rate of y, its second that of the rate."""
    x, y = dynamicsymbols("x y")
    m = sp.Symbol("m")
    chain = dr.lagrangian(
        "chain",
        [x, y],
        kinetic=(x.diff() ** 2 + m * y.diff() ** 2) / 2,
        potential=(y - x) ** 2 + x**2 / 2 + y**2,
        parameters={m: 1.0},
    )
    assert dr.diagnose(chain).index.differential == 0
    light = dr.diagnose(chain, parameters={"m": 0.0})
    assert light.index.differential == 2
    assert any("do not determine the accelerations" in note for note in light.notes)


def on_a_wave(law: object, height: str) -> dr.Model:
    m = dr.Model("hub")
    m.body("carriage", 5.0)
    m.body("hub", 40.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, 0.3))
    m.wheel("tire", "hub", 0.3, contact=law)
    m.ground(height=height)
    return m


@pytest.mark.parametrize("height", ["0.05*sin(2*x)", "0.02*x + 0.05*sin(y + x)", "0.03*x*x"])
@pytest.mark.parametrize(
    ("law", "index"),
    [(dr.contact.LinearTire(0.0, None, 0.0, stiffness=2e5), 2), (dr.contact.Coulomb(0.5, speed=1e-3), 3)],
)
def test_place_of_a_tire_on_curved_ground_moves_no_mass(law: object, index: int, height: str) -> None:
    """Its constraints have no force, so that the index is 2; where the wheel is rigid, the normal force needs a third
    differentiation. Derivative arrays know nothing of it."""
    model = on_a_wave(law, height)
    found = dr.diagnose(model)
    ours, theirs = found.index, dr.dae.index_of(as_dae(model))
    assert not found.notes
    assert (ours.structural, ours.differential, ours.perturbation) == (index, index, index)
    assert (theirs.structural, theirs.differential, theirs.perturbation) == (index, index, index)
    assert ours.freedoms == theirs.freedoms and ours.unknowns == theirs.unknowns


def test_three_tires_on_a_rough_road_have_an_index() -> None:
    """33 unknowns and more are too many for derivative arrays."""
    found = dr.diagnose(machine(3, "brush", "line", "B", 1))
    assert found.index.differential == 2 and not [note for note in found.notes if "index" in note]


def test_index_that_changes():
    """Two branches of one constraint: index 1 on the one, 2 on the other (Thomsen, example 1.1)."""
    found = diagnosed("singular_constraint")
    assert found.index.differential == 1
    assert [place.differential for place in found.index.elsewhere] == [2]
    assert any("the index changes" in line for line in found.sections["index"])
    assert dr.diagnose(dr.gallery.singular_constraint(), {"y2": 1.0}).index.differential == 2

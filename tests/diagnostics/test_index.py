"""The index: by ranks of masses and constraints, and by derivative arrays, which know nothing of mechanics."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from diagnostics.mechanisms import diagnosed, vertical_coin
from draisine.dynamics.dae.as_dae import as_dae


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


def test_index_that_changes():
    """Two branches of one constraint: index 1 on the one, 2 on the other (Thomsen, example 1.1)."""
    found = diagnosed("singular_constraint")
    assert found.index.differential == 1
    assert [place.differential for place in found.index.elsewhere] == [2]
    assert any("the index changes" in line for line in found.sections["index"])
    assert dr.diagnose(dr.gallery.singular_constraint(), {"y2": 1.0}).index.differential == 2

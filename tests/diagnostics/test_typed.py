"""Equations typed by hand: what applies is reported, what does not is said so."""

from __future__ import annotations

import json

import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from diagnostics.mechanisms import diagnosed, sliders


def test_lagrangian_and_graph_say_the_same():
    x, y, z = q = dynamicsymbols("x y z")
    typed = dr.lagrangian(
        "typed", q, kinetic=sum(c.diff() ** 2 for c in q) / 2, nonholonomic={"contact": y.diff() - z * x.diff()}
    )
    graph = sliders({"contact": "y_rate - z*x_rate"})
    one, two = dr.diagnose(typed), dr.diagnose(graph)
    assert one.growth == two.growth
    assert one.index.differential == two.index.differential == 2
    assert (one.freedoms_of_position, one.freedoms_of_velocity) == (two.freedoms_of_position, two.freedoms_of_velocity)


def test_first_order_system():
    x, y, push = sp.symbols("x y push")
    found = dr.diagnose(dr.first_order("tank", {x: -x + push, y: x}, inputs=[push]))
    assert found.index.differential == 0
    assert (found.reach.controllable, found.reach.states) == (2, 2)
    assert found.symmetries.ignorable == ("y",)
    assert found.growth is None
    assert found.can_move
    assert found.sections["freedoms"] == ("2 of 2 unknowns are free initial values",)
    assert "no constraints" in found.notes[0]


def test_semi_explicit_system():
    x, y, vx, vy, pull = sp.symbols("x y vx vy pull")
    rates = {x: vx, y: vy, vx: -x * pull, vy: -y * pull - 10}
    e = dr.symbolic.semi_explicit(
        "pendulum", rates, unknowns=[pull], constraints={"length": x**2 + y**2 - 1}, start={x: 0.6, y: -0.8}
    )
    found = dr.diagnose(e)
    assert (found.index.structural, found.index.differential, found.index.perturbation) == (3, 3, 3)
    assert found.freedoms_of_position == 2
    assert "length" in found.constraints
    assert any("'length' differentiated once" in line for line in found.sections["index"])
    assert "reduce_index" in found.notes[0]
    lowered = dr.diagnose(dr.dae.reduce_index(e))
    assert lowered.freedoms_of_position == 2
    assert "index was reduced" in lowered.notes[0]


def test_implicit_system_with_unknowns_held():
    """Where y is held its own constraint decides x."""
    e = dr.gallery.van_der_pol_limit()
    found = dr.diagnose(e, {"y2": 1.5})
    assert found.index.differential == 1
    assert found.index.point["y2"] == 1.5


def test_eliminated_equations_are_reported_as_far_as_they_go():
    whole, part = diagnosed("bicycle"), dr.diagnose(dr.derive(dr.gallery.bicycle(), work=False))
    assert part.growth.dimensions == whole.growth.dimensions
    assert (part.freedoms_of_position, part.freedoms_of_velocity) == (7, 3)
    assert part.index is None
    assert any("pass the model" in note for note in part.notes)
    assert part.reach == whole.reach


def test_velocities_without_coordinates():
    """A ball that looks the same from all sides has no angles: of what it turns nothing can be reported."""
    found = diagnosed("sphere_on_turntable")
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (2, 3)
    assert "3 of 5 velocities change no coordinate" in found.sections["freedoms"]
    assert found.growth.disguised == ()


@pytest.mark.parametrize("name", ["bicycle", "chaplygin_sleigh", "four_bar", "shuttle", "van_der_pol", "cart_pole"])
def test_data_are_json(name):
    found = diagnosed(name)
    data = json.loads(json.dumps(found.as_data(), allow_nan=False))
    assert data["freedoms_of_position"] == found.freedoms_of_position
    assert data["sections"] == {heading: list(lines) for heading, lines in found.sections.items()}
    assert (data["reach"] is None) == (found.reach is None)
    if found.index is not None:
        assert data["index"]["differential"] == found.index.differential


def test_a_poor_choice_is_json_too():
    """What is infinite becomes null."""
    m = dr.gallery.slider_crank()
    m.independent("stroke_rate")
    found = dr.diagnose(m, {"crank_angle": 0.0})
    assert found.choice.here == float("inf")
    assert json.loads(json.dumps(found.as_data(), allow_nan=False))["choice"]["here"] is None


def test_targets_that_cannot_be_are_refused_by_name():
    with pytest.raises(dr.errors.StartError, match="loop"):
        dr.diagnose(dr.gallery.four_bar(), {"rocker_angle": 0.5})
    with pytest.raises(KeyError, match="sped"):
        dr.diagnose(dr.gallery.bicycle(), {"sped": 1.0})

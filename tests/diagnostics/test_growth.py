"""Growth vectors of the literature, and forms of which Frobenius' theorem says whether they are integrable."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from diagnostics.mechanisms import ball, diagnosed, planar, sliders, trailers, vertical_coin


def grown(model, at=None):
    return dr.diagnose(model, at).growth


def test_upright_coin():
    """Bloch, Nonholonomic Mechanics and Control, chapter 1: every place, heading and turn can be reached, by two brackets."""
    found = grown(vertical_coin())
    assert found.dimensions == (2, 3, 4)
    assert (found.nonholonomic, found.among, found.complete) == (2, ("along", "across"), True)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_cars_with_trailers(count):
    """F. Jean, ESAIM: COCV 1 (1996): n + 3 dimensions, one more with every bracket, where the hooks are not at right angles."""
    found = grown(trailers(count))
    assert found.dimensions == tuple(range(2, count + 4))
    assert found.here == found.dimensions


def test_two_trailers_behind_a_car_that_stands_square_need_a_bracket_more():
    """The same: with the car square to its first trailer the degree of nonholonomy is Fibonacci's number 5. The last hook does
    not matter."""
    found = grown(trailers(2), {"angle0": 0.7, "angle1": 0.3, "angle2": 0.3 + np.pi / 2})
    assert found.dimensions == (2, 3, 4, 5)
    assert found.here == (2, 3, 4, 4, 5)
    assert grown(trailers(2), {"angle0": 0.3 - np.pi / 2, "angle1": 0.3, "angle2": 0.7}).here == (2, 3, 4, 5)


def test_balls_on_a_plane():
    """(2, 3, 5) without spinning: Cartan's case; (3, 5) with."""
    still = dr.diagnose(ball(spins=False))
    assert still.growth.dimensions == (2, 3, 5)
    assert (still.freedoms_of_position, still.freedoms_of_velocity) == (5, 2)
    assert still.growth.known == ("floor",)
    spinning = dr.diagnose(ball(spins=True))
    assert spinning.growth.dimensions == (3, 5)
    assert spinning.freedoms_of_velocity == 3


@pytest.mark.parametrize(
    ("name", "dimensions", "free"),
    [
        ("chaplygin_sleigh", (2, 3), (3, 2)),
        ("snakeboard", (4, 6), (6, 4)),
        ("rolling_disk", (3, 4, 5), (5, 3)),  # the contact point stays where it is while a sharp disc leans
        ("rolling_torus", (3, 5), (5, 3)),
        ("rattleback", (3, 5), (5, 3)),
        ("bicycle", (3, 5, 7), (7, 3)),
        ("delebecque_bicycle", (3, 5, 7), (7, 3)),  # 23 coordinates and 20 constraints, solved for at run time
    ],
)
def test_gallery(name, dimensions, free):
    found = diagnosed(name)
    assert found.growth.dimensions == dimensions
    assert found.growth.complete
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == free
    assert found.growth.nonholonomic == free[0] - free[1]


def test_exact_differential_is_holonomic_in_disguise():
    found = dr.diagnose(sliders({"product": "x*y_rate + y*x_rate"}, x=0.7, y=0.4))
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (3, 2)
    assert found.growth.dimensions == (2,)
    (hidden,) = found.growth.disguised
    assert hidden.terms == {"product": 1.0}
    assert hidden.constant
    assert found.growth.nonholonomic == 0
    assert "integrable velocity constraint: product" in found.sections["integrability"]


def test_integrating_factors_are_seen():
    """y dx − x dy is no differential, but y² d(x/y) is its multiple: the angle stays."""
    assert grown(sliders({"angle": "y*x_rate - x*y_rate"}, x=0.7, y=0.4)).dimensions == (2,)


def test_contact_form():
    found = grown(sliders({"contact": "y_rate - z*x_rate"}))
    assert found.dimensions == (2, 3)
    assert found.nonholonomic == 1
    assert found.disguised == ()


def test_engel():
    found = grown(sliders({"first": "y_rate - z*x_rate", "second": "z_rate - w*x_rate"}, coordinates="x y z w"))
    assert found.dimensions == (2, 3, 4)


def test_martinet_is_special_where_y_is_zero():
    flat = {"flat": "z_rate - y^2/2*x_rate"}
    assert grown(sliders(flat)).dimensions == (2, 3)
    assert grown(sliders(flat)).here == (2, 2, 3)
    assert grown(sliders(flat, y=0.4)).here == (2, 3)


def test_combination_that_is_integrable():
    """Each by itself forbids nothing, their difference does: w stays."""
    both = {"first": "y_rate - z*x_rate + w_rate", "second": "y_rate - z*x_rate"}
    found = dr.diagnose(sliders(both, coordinates="x y z w"))
    assert found.growth.dimensions == (2, 3)
    (hidden,) = found.growth.disguised
    assert hidden.terms == {"first": 1.0, "second": -1.0}
    assert hidden.constant
    assert found.growth.nonholonomic == 1
    assert "from one start only 3 freedoms of position can be reached" in found.sections["freedoms"][1]


def test_coefficients_that_change_are_not_reported_as_constant():
    """second − y·first is w's rate."""
    both = {"first": "y_rate - z*x_rate", "second": "y*y_rate - y*z*x_rate + w_rate"}
    (hidden,) = grown(sliders(both, coordinates="x y z w", y=0.5)).disguised
    assert not hidden.constant
    assert set(hidden.terms) == {"first", "second"}


def test_two_edges_one_behind_the_other_hold_the_heading():
    m = planar()
    m.knife_edge("body", at=(0, 0, 0), name="rear")
    m.knife_edge("body", at=(0.5, 0, 0), name="front")
    found = dr.diagnose(m)
    assert found.growth.dimensions == (2,)
    assert len(found.growth.disguised) == 2
    assert found.growth.nonholonomic == 0


def test_one_edge_on_a_body_that_slides_on_a_rail():
    """The rail holds the place across and the heading; the blade along it says nothing new."""
    m = planar()
    m.constrain("rail", {"rail_y": "body_y", "rail_turn": "body_heading"}, unit="m")
    m.knife_edge("body", at=(0.2, 0, 0), name="blade")
    found = dr.diagnose(m)
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (2, 2)
    assert found.redundant == {"blade_across": ("rail_y", "rail_turn")}
    assert found.growth.nonholonomic == 0
    assert found.growth.disguised == ()


def test_what_holds_everything_is_integrable():
    found = dr.diagnose(sliders({"first": "x_rate", "second": "y_rate"}, coordinates="x y"))
    assert found.growth.dimensions == (0,)
    assert found.growth.nonholonomic == 0
    assert not found.can_move


def test_wheels_of_one_axle_know_the_heading():
    """Their turns differ by the heading times the track over the radius, whatever the way."""
    found = grown(dr.gallery.tricycle())
    (hidden,) = found.disguised
    assert set(hidden.terms) == {"rear_left_x", "rear_right_x"}
    assert sum(hidden.terms.values()) == pytest.approx(0.0, abs=1e-9)
    assert hidden.constant


# -------------------------------------------------------------------- constraints that move


def test_law_in_time_is_integrable():
    found = dr.diagnose(sliders({"moved": "x_rate - sin(t)"}))
    assert found.driven
    assert found.growth.dimensions == (2,)
    assert [h.terms for h in found.growth.disguised] == [{"moved": 1.0}]


def test_affine_constraint_may_be_nonholonomic():
    """ẋ = y: what y is decides where x goes."""
    found = grown(sliders({"flow": "x_rate - y"}))
    assert found.dimensions == (2, 3)
    assert found.disguised == ()


def test_affine_constraint_may_be_integrable():
    """ẋ = x keeps x exp(−t)."""
    found = grown(sliders({"flow": "x_rate - x"}, x=0.5))
    assert found.dimensions == (2,)
    assert [h.terms for h in found.disguised] == [{"flow": 1.0}]


# -------------------------------------------------------------------- Frobenius by hand


FORMS = [
    ("y*z + 1", "x*z", "x*y"),  # d(x y z + x)
    ("2*x*z + z", "0", "x^2 + x"),
    ("z", "x", "y"),
    ("1 + y^2", "x*y", "2 + z"),
    ("(1 + z)*y", "(1 + z)*x", "0"),  # (1 + z) d(x y)
    ("sin(y)", "x*cos(y)", "x^2 + 1"),
]


@pytest.mark.parametrize("form", FORMS)
def test_against_the_curl(form):
    """A form in space is integrable just where ω · rot ω = 0."""
    x, y, z = sp.symbols("x y z")
    a, b, c = (sp.sympify(text.replace("^", "**"), locals={"x": x, "y": y, "z": z}) for text in form)
    twist = a * (c.diff(y) - b.diff(z)) + b * (a.diff(z) - c.diff(x)) + c * (b.diff(x) - a.diff(y))
    residual = " + ".join(f"({part})*{name}_rate" for part, name in zip(form, "xyz", strict=True))
    found = grown(sliders({"form": residual}, x=0.31, y=0.52, z=0.23))
    assert found.dimensions == ((2,) if sp.simplify(twist) == 0 else (2, 3))
    assert found.nonholonomic == (0 if sp.simplify(twist) == 0 else 1)

"""Stops and dry friction of joints in descriptions and files."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.testing import assert_allclose

import draisine as dr
from draisine.errors import ArgumentError, ModelError, StartError
from draisine.model.files import from_toml, to_toml


def door(**joint: Any) -> dr.Model:
    m = dr.Model("door")
    m.parameter("torque", 0.6, "N*m")
    m.parameter("force", 0.6, "N")
    m.parameter("opening", 0.6, "rad")
    leaf = m.body("leaf", mass=20.0, center_of_mass=(0.4, 0, 0), inertia=(1, 1, 1.1))
    m.revolute("hinge", "ground", leaf, **joint)
    return m


@pytest.mark.parametrize(
    "joint",
    [
        {"limits": (0, "110 deg")},
        {"limits": (None, "opening*1.5"), "restitution": 0.3},
        {"friction": "0.5 N*m"},
        {"limits": (-1, 1), "restitution": "1/2", "friction": ("1.2*torque", "torque")},
        {"friction": (2, "1 + exp(-(hinge_rate/0.1)^2)")},
    ],
)
def test_files_keep_stops_and_friction(joint: dict[str, Any]) -> None:
    m = door(**joint)
    again = from_toml(to_toml(m))
    assert again.freeze() == m.freeze()


def test_stops_of_other_measures_in_files() -> None:
    m = door()
    m.point("edge", "leaf", (0.8, 0, 0))
    m.stop("rope", "distance(edge, ground)", high=0.7, restitution=0.1)
    m.friction("belt", "hinge - 0.2*t", (2, 1), unit="rad")
    assert from_toml(to_toml(m)).freeze() == m.freeze()


def test_a_joint_in_a_file_has_limits() -> None:
    m = door(limits=(None, "110 deg"), restitution=0.3, friction=(0.8, 0.5))
    text = to_toml(door()).replace(
        'axis = "z"', 'axis = "z"\nlimits = ["none", "110 deg"]\nrestitution = 0.3\nfriction = [0.8, 0.5]'
    )
    assert from_toml(text).freeze() == m.freeze()


@pytest.mark.parametrize(
    ("joint", "reason"),
    [
        ({"limits": (1, 0)}, "must increase"),
        ({"limits": 0.5}, "pair"),
        ({"limits": (None, None)}, "both limits are None"),
        ({"limits": ("1 m", None)}, "rad"),
        ({"limits": (0, 1), "restitution": 1.5}, "between 0 and 1"),
        ({"restitution": 0.5}, "give limits"),
        ({"friction": -1}, "negative"),
        ({"friction": (1, 2)}, "exceeds"),
        ({"friction": (1, 2, 3)}, "pair"),
        ({"friction": float("inf")}, "fixed"),
        ({"friction": "2 N"}, "N"),
        ({"friction": "unknown"}, "unknown"),
        ({"friction": "force"}, "force"),
        ({"friction": (0.1, "torque")}, "stick at once"),
        ({"limits": ("opening", "0.5*opening")}, "at most"),
        ({"limits": ("hinge_rate", None)}, "velocity"),
    ],
)
def test_wrong_limits_and_friction(joint: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        door(**joint).freeze()


def test_wrong_stops() -> None:
    m = door()
    with pytest.raises(ModelError, match="one bound"):
        m.stop("both", "hinge", low=0, high=1)
    with pytest.raises(ModelError, match="unit of"):
        m.stop("formula", "2*hinge", low=0)
    m.stop("shut", "hinge", low=0)
    with pytest.raises(ModelError, match="already"):
        m.stop("shut", "hinge", low=0)


def test_starts_beyond_a_stop_and_other_parameters_are_refused() -> None:
    m = door(limits=(0, 1), friction="torque")
    with pytest.raises(StartError, match=r"hinge_high.*passed by 0.5 rad"):
        dr.simulate(m, 0.1, start={"hinge": 1.5})
    with pytest.raises(ModelError, match=r"negative|zero"):
        dr.simulate(m, 0.1, parameters={"torque": -1.0})


def test_modes_can_be_fixed() -> None:
    """A linear model takes one set of equations: without the stop, and with the friction stuck."""
    m = door(limits=(0, 1), friction="torque")
    with pytest.raises(ArgumentError, match="hinge_low"):
        dr.linearize(m)
    free = m.freeze()
    fixed = dr.Model.of(free).in_modes({"hinge_low": "open", "hinge_high": "open", "hinge_friction": "stick"})
    equations = dr.derive(fixed)
    assert not equations.unilateral and len(equations.constraints) == 1
    with pytest.raises(ArgumentError, match="does not open"):
        m.in_modes({"hinge_friction": "open"})
    shut = m.in_modes({"hinge_low": "stick", "hinge_high": "open"}).freeze()
    assert [c.name for c in shut.constraints] == ["hinge_low_contact"] and [c.name for c in shut.unilateral] == ["hinge_friction"]


def test_functions_of_one_set_of_equations_name_the_modes_that_hold_for_stops():
    def carriage(**more):
        m = dr.Model("carriage")
        body = m.body("body", mass=1.0)
        m.prismatic("x", "ground", body, **more)
        return m

    with pytest.raises(ArgumentError, match="has stops x_low, x_high, which may open and close") as refused:
        dr.codegen.as_ode(carriage(limits=(-0.1, 0.1)))
    modes = {"x_low": "open", "x_high": "open"}
    assert f"model.in_modes({modes})" in str(refused.value)
    assert "friction" not in str(refused.value)
    assert_allclose(dr.codegen.as_ode(carriage(limits=(-0.1, 0.1)).in_modes(modes))(0.0, [0.3, 2.0]), [2.0, 0.0])
    with pytest.raises(ArgumentError) as refused:
        dr.codegen.as_ode(carriage(limits=(None, 0.1), friction=2.0))
    assert "contact x_friction with friction=, which may stick, slip and open and stop x_high, which may" in str(refused.value)
    assert "'x_high': 'open', 'x_friction': 'stick'" in str(refused.value)

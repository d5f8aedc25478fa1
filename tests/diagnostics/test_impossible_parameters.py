"""Parameters that no body can have are refused by everything that takes them."""

from __future__ import annotations

import pytest

import draisine as dr
from draisine.errors import ModelError


def pendulum() -> dr.Model:
    m = dr.Model("pendulum")
    m.body(
        "bob", mass=m.parameter("mass", 1.0, "kg"), center_of_mass=(0, 0, -1), inertia=(m.parameter("moment", 0.1, "kg*m^2"),) * 3
    )
    m.revolute("swing", "ground", "bob", axis="y")
    m.generalized_force("swing", m.input("torque", "N*m"))
    return m


VERBS = {
    "simulate": lambda p: dr.simulate(pendulum(), 0.1, parameters=p),
    "as_ode": lambda p: dr.codegen.as_ode(pendulum(), parameters=p),
    "linearize": lambda p: dr.linearize(pendulum(), parameters=p),
    "lqr": lambda p: dr.control.lqr(pendulum(), weights={"swing": 1.0}, input_weights={"torque": 1.0}, parameters=p),
    "to_control": lambda p: dr.control.to_control(pendulum(), parameters=p),
    "steady": lambda p: dr.steady(pendulum(), parameters=p),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("parameters", [{"mass": -1.0}, {"moment": -0.2}, {"mass": "-20 g"}])
def test_refused_by_name(verb: str, parameters: dict) -> None:
    if verb == "to_control":
        pytest.importorskip("control")
    with pytest.raises(ModelError, match=r"(mass|inertia).*'bob'"):
        VERBS[verb](parameters)

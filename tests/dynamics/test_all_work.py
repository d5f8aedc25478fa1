"""The energy balance counts the work of all loads of a model: constant ones and those that depend on positions."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

FORMULATIONS = [dr.formulations.Reduced(), dr.formulations.Recursive(), dr.formulations.Augmented()]


def slider() -> dr.Model:
    model = dr.Model("slider")
    body = model.body("A", mass=2.0)
    model.prismatic("a", "ground", body, axis="x")
    return model


@pytest.mark.parametrize("load", ["generalized force", "wrench"])
def test_a_constant_load(load: str) -> None:
    """3 N on 2 kg from rest: after 2 s the way is 3 m and the work 9 J."""
    system = slider()
    if load == "wrench":
        system.wrench("A", force=(3.0, 0, 0))
    else:
        system.generalized_force("a", 3.0)
    run = dr.simulate(system, 2.0)
    assert run["a"][-1] == pytest.approx(3.0, abs=1e-12)
    assert run["work"] == pytest.approx(3.0 * run["a"], abs=1e-12)
    assert run["work"][-1] == pytest.approx(9.0, abs=1e-12)
    assert run.energy_drift == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_random_loads_on_a_double_pendulum(formulation: object) -> None:
    """Torques a + b q and a constant force on the lower bob: its work by the closed form over positions."""
    random = np.random.default_rng(7)
    for _ in range(2):
        a, b, fx, fz = random.normal(size=4)
        model = dr.Model("loaded")
        upper = model.body("upper", mass=1.0, center_of_mass=(0, 0, -1))
        lower = model.body("lower", mass=0.5, center_of_mass=(0, 0, -1))
        model.revolute("p", "ground", upper, axis="y")
        model.revolute("q", upper, lower, axis="y", at=(0, 0, -1))
        tip = model.point("tip", lower, (0, 0, -1))
        model.generalized_force("p", f"({a}) + ({b})*p")
        model.wrench(tip, force=(fx, 0, fz))
        run = dr.simulate(model, 1.5, start={"p": 0.4, "q": -0.3}, formulation=formulation)
        p, q = run["p"], run["q"]
        x, z = -np.sin(p) - np.sin(p + q), -np.cos(p) - np.cos(p + q)
        work = a * p + b * p**2 / 2 + fx * x + fz * z
        assert run["work"] == pytest.approx(work - work[0], abs=1e-7)
        assert np.ptp(work) > 0.05
        assert run.energy_drift is not None and run.energy_drift < 1e-7


def test_nothing_is_counted_where_nothing_works() -> None:
    """Conservative systems keep their states; so do those on which only inputs act, which are zero."""
    model = slider()
    model.input("push", "N")
    model.generalized_force("a", "push*cos(a)")
    model.potential("spring", "a^2/2")
    assert [q.name for q in dr.derive(model).states] == ["a", "a_rate"]

"""The energy balance counts the work of all loads of a model: constant ones and those that depend on positions."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

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


# ---------------------------------------------------------------- typed Lagrangians


x, y, time = *dynamicsymbols("x y"), dynamicsymbols._t
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)


def test_a_constant_force_in_a_lagrangian() -> None:
    """3 N on a spring of 8 N/m from rest: the work is 3 N times the way, x = 3/8 (1 − cos ω t)."""
    e = dr.lagrangian("spring", [x], kinetic=x.diff() ** 2, potential=4 * x**2, forces={x: 3})
    run = dr.simulate(e, 2.0, method=TIGHT)
    assert run["x"] == pytest.approx(3 / 8 * (1 - np.cos(2 * run.time)), abs=1e-9)
    assert run["work"] == pytest.approx(3 * run["x"], abs=1e-9)
    assert run.energy_drift is not None and run.energy_drift < 1e-9


@pytest.mark.parametrize("split", [True, False])
def test_a_mass_that_depends_on_time(split: bool) -> None:
    """½ m(t) ẋ² without forces: m ẋ is constant, and the energy is its square over 2 m."""
    mass = 2 + sp.cos(3 * time)
    kinetic = mass * x.diff() ** 2 / 2
    e = dr.lagrangian("changing", [x], kinetic=kinetic) if split else dr.lagrangian("changing", [x], kinetic)
    run = dr.simulate(e, 2.0, start={"x_rate": 1.0}, method=TIGHT)
    expected = 9 / (2 * (2 + np.cos(3 * run.time))) - 1.5
    assert run["work"] == pytest.approx(expected, abs=1e-9)
    assert run.energy_drift is not None and run.energy_drift < 1e-9


def test_random_lagrangians_with_forces_moving_supports_and_constraints() -> None:
    """The work is the change of T + V, computed here from positions and velocities by hand."""
    random = np.random.default_rng(3)
    for _ in range(6):
        a, b, c, d, omega = random.uniform(0.3, 2.0, size=5)
        kinetic = a * (x.diff() + b * sp.cos(omega * time)) ** 2 / 2 + y.diff() ** 2 / 2 + x.diff() * y.diff() * sp.sin(x) / 5
        potential = c * x**2 / 2 + d * sp.cos(y - omega * time)
        rheonomic = {"f": y - x**2 / 2 - b * sp.sin(omega * time) / 5} if random.integers(2) else {}
        e = dr.lagrangian(
            "moving", [x, y], kinetic=kinetic, potential=potential, forces={x: a - x.diff(), y: d * x}, holonomic=rheonomic
        )
        run = dr.simulate(e, 2.0, start={"x": 0.4}, method=TIGHT)
        values = {x: run["x"], y: run["y"], x.diff(): run["x_rate"], y.diff(): run["y_rate"], time: run.time}
        total = sp.lambdify(list(values), kinetic + potential)(*values.values())
        assert run["work"] == pytest.approx(total - total[0], abs=1e-8)
        assert np.ptp(total) > 0.05
        assert run.energy_drift is not None and run.energy_drift < 1e-8


# ---------------------------------------------------------------- where work is not counted


def test_no_balance_is_reported_where_the_work_of_inputs_is_not_counted() -> None:
    model = slider()
    model.input("push", "N")
    model.generalized_force("a", "push")
    run = dr.simulate(dr.derive(model), 2.0, inputs={"push": 3.0})
    assert run["kinetic_energy"][-1] == pytest.approx(9.0, abs=1e-9)
    assert run.energy_drift is None and "work" not in run and "do not count the work" in run.summary()
    counted = dr.simulate(dr.derive(model, work=True), 2.0, inputs={"push": 3.0})
    assert counted.energy_drift == pytest.approx(0.0, abs=1e-10)
    assert dr.simulate(dr.derive(model), 2.0, start={"a_rate": 1.0}).energy_drift == 0.0


def test_a_dae_with_a_damper_reports_no_balance() -> None:
    rod = {"kinetic": (x.diff() ** 2 + y.diff() ** 2) / 2, "holonomic": {"length": x**2 + y**2 - 1}, "start": {x: 1}}
    free = dr.dae.as_dae(dr.lagrangian("rod", [x, y], potential=10 * y, **rod), index=2)
    damped = dr.dae.as_dae(dr.lagrangian("rod", [x, y], potential=10 * y, dissipation=x.diff() ** 2, **rod), index=2)
    assert dr.simulate(free, 1.0).energy_drift < 1e-4
    run = dr.simulate(damped, 1.0)
    assert run.energy_drift is None and np.ptp(run["total_energy"]) > 0.1


@pytest.mark.parametrize("drift", [dr.stabilization.Projection(), dr.stabilization.Baumgarte()])
def test_work_is_counted_under_stabilization(drift: object) -> None:
    """A damped pendulum in Cartesian coordinates on a support that shakes."""
    support = sp.cos(5 * time) / 20
    kinetic = (x.diff() ** 2 + (y.diff() + support.diff(time)) ** 2) / 2
    e = dr.lagrangian(
        "shaken", [x, y], kinetic=kinetic, potential=10 * (y + support), dissipation=x.diff() ** 2 / 4, start={x: 1},
        holonomic={"length": x**2 + y**2 - 1},
    )  # fmt: skip
    run = dr.simulate(e, 1.5, drift=drift, method=TIGHT)
    values = {x: run["x"], y: run["y"], x.diff(): run["x_rate"], y.diff(): run["y_rate"], time: run.time}
    total = sp.lambdify(list(values), kinetic + 10 * (y + support))(*values.values())
    assert run["work"] == pytest.approx(total - total[0], abs=1e-7)
    assert np.ptp(total) > 0.5


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("load", ["damper", "force", "time"])
def test_no_balance_where_work_is_not_counted(formulation: object, load: str) -> None:
    """Without the state of work the energy is no measure of accuracy: None with the reason, not a number. Conservative models
    keep their balance."""
    model = slider()
    model.potential("spring", "a^2/2" if load != "time" else "(a - sin(t))^2/2")
    if load != "time":
        model.generalized_force("a", {"damper": "-0.7*a_rate", "force": 3.0}[load])
    run = dr.simulate(dr.derive(model, work=False, formulation=formulation), 2.0, start={"a": 0.3})
    assert run.energy_drift is None and run.energy_balance is None
    assert "no balance" in run.summary() and "work=True" in run.summary()
    counted = dr.simulate(dr.derive(model, work=True, formulation=formulation), 2.0, start={"a": 0.3})
    assert counted.energy_drift is not None and counted.energy_drift < 1e-8
    alone = slider()
    alone.potential("spring", "a^2/2")
    run = dr.simulate(dr.derive(alone, work=False, formulation=formulation), 2.0, start={"a": 0.3})
    assert run.energy_drift is not None and run.energy_drift < 1e-8


def test_no_balance_of_a_lagrangian_whose_work_is_not_counted() -> None:
    e = dr.lagrangian("spring", [x], kinetic=x.diff() ** 2, potential=4 * x**2, forces={x: -x.diff()}, work=False)
    assert dr.simulate(e, 1.0, start={"x": 0.2}).energy_drift is None

"""What symplectic methods are for: invariants over many steps."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.radau import Radau
from draisine.simulation.run import integrate
from simulation.systems import first_order, kepler, oscillator, start_of

GRAVITY = 9.81


def pendulum() -> object:
    return first_order("pendulum", {"a": 2.0, "w": 0.0}, lambda t, x, u, p: [x[1], -GRAVITY * ca.sin(x[0])])


def pendulum_energy(states: np.ndarray) -> np.ndarray:
    return 0.5 * states[:, 1] ** 2 - GRAVITY * np.cos(states[:, 0])


def kepler_energy(states: np.ndarray) -> np.ndarray:
    return 0.5 * (states[:, 2] ** 2 + states[:, 3] ** 2) - 1.0 / np.hypot(states[:, 0], states[:, 1])


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_quadratic_invariants_stay_to_rounding(stages: int) -> None:
    """Energy of the oscillator and angular momentum of the Kepler orbit over ten thousand steps that are anything but exact."""
    run = integrate(oscillator(), [1.0, 0.0], 2000.0, method=Gauss(0.2, stages))
    assert run.accepted == 10_000
    assert np.abs((run.states**2).sum(axis=1) - 1.0).max() < 2e-13
    orbit = integrate(kepler(), start_of(kepler()), 500.0, method=Gauss(0.05, stages))
    x, y, u, v = orbit.states.T
    momentum = x * v - y * u
    assert np.abs(momentum / momentum[0] - 1.0).max() < 1e-12
    away = np.abs(kepler_energy(orbit.states) - kepler_energy(orbit.states[:1])).max()
    assert away > 1e-9  # energy is not quadratic: it swings, and shows that the steps are long


@pytest.mark.parametrize(("stages", "swing"), [(1, 0.05), (2, 1e-4), (3, 2e-6)])
def test_the_energy_of_a_pendulum_does_not_drift(stages: int, swing: float) -> None:
    """Over 500 swings the energy's error stays within the band of the first few; that of a dissipative method grows."""
    equations = pendulum()
    x0 = start_of(equations)  # type: ignore[arg-type]
    run = integrate(equations, x0, 1500.0, method=Gauss(0.05, stages))  # type: ignore[arg-type]
    error = pendulum_energy(run.states) / GRAVITY - pendulum_energy(run.states[:1]) / GRAVITY
    early, late = np.abs(error[:1000]).max(), np.abs(error[-1000:]).max()
    assert early < swing
    assert late == pytest.approx(early, rel=0.05)
    slope = np.polyfit(run.times, error, 1)[0]
    assert abs(slope) * 1500.0 < 0.01 * early + 1e-12


def test_what_is_not_symplectic_drifts() -> None:
    equations = pendulum()
    run = integrate(equations, start_of(equations), 1500.0, method=Radau(step=0.05))  # type: ignore[arg-type]
    error = np.abs(pendulum_energy(run.states) - pendulum_energy(run.states[:1])) / GRAVITY
    assert error[-1000:].max() > 20 * error[:1000].max()


def test_backwards_leads_back_where_it_came_from() -> None:
    """Symmetric methods undo their steps: the way back is exact however long the steps are."""
    there = integrate(kepler(), start_of(kepler()), 10.0, method=Gauss(0.1, 2))
    back = integrate(kepler(), there.final_state, 0.0, start=10.0, method=Gauss(0.1, 2))
    assert back.final_state == pytest.approx(start_of(kepler()), abs=1e-11)
    exact = integrate(kepler(), start_of(kepler()), 10.0, method=DOP853(rtol=1e-12, atol=1e-12))
    assert np.abs(there.final_state - exact.final_state).max() > 1e-5


def test_step_control_of_gauss() -> None:
    """Its error estimate has a lower order than itself; the tolerance takes account of that."""
    x0 = start_of(kepler())
    found = [
        np.abs(integrate(kepler(), x0, 2 * np.pi, method=Gauss(stages=3, rtol=r, atol=r)).final_state - x0).max()
        for r in (1e-6, 1e-8, 1e-10)
    ]
    assert found[0] > 10 * found[1] > 100 * found[2]
    assert found[1] < 1e-6


def test_fixed_steps_from_zero_at_rest():
    """The scale of an unknown that is zero, with rate zero, is that of its change: driven systems start this way, and so do those
    that a switch sets off."""
    from scipy.integrate import solve_ivp

    import draisine as dr

    x, y, t = sp.symbols("x y t")
    rng = np.random.default_rng(4)
    for _ in range(4):
        stiffness, damping, pace, size = (
            rng.uniform(0.5, 4.0),
            rng.uniform(0.0, 1.0),
            rng.uniform(1.0, 4.0),
            10 ** rng.uniform(-200, 3),
        )
        for force, since in ((sp.sin(pace * t), 0.0), (sp.Piecewise((0, t < 0.3), (t - 0.3, True)), 0.3), (t**3, 0.0), (1, 0.0)):
            equations = dr.symbolic.first_order("driven", {x: y, y: size * force - stiffness * x - damping * y})
            value = sp.lambdify(t, force)

            def motion(t, y, value=value, k=stiffness, c=damping):
                return [y[1], value(t) - k * y[0] - c * y[1]]

            exact = solve_ivp(motion, (since, 1.0), [0.0, 0.0], rtol=1e-11, atol=1e-14).y[0, -1] * size
            for method in (Gauss(stages=3, step=0.05), Gauss(step=0.01), Radau(step=0.025), dr.methods.ESDIRK23(step=0.005)):
                run = dr.simulate(equations, 1.0, method=method)
                assert run.status.kind == "FINISHED", (run.status, method)
                assert run["x"][-1] == pytest.approx(exact, rel=1e-4), method

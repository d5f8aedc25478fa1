"""Orders of the methods and of their dense output, measured by halving the step; DOP853 beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.predictor_corrector import SCHEME as ADAMS
from draisine.simulation.methods.predictor_corrector import PredictorCorrector
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.run import integrate
from simulation.systems import ARENSTORF_PERIOD, arenstorf, decay, kepler, lotka_volterra, oscillator, start_of, swing

# DOP853 with a fixed step: a tolerance so loose that no step is rejected or shortened.


def fixed_dop853(step: float) -> DOP853:
    return DOP853(rtol=1e6, atol=1e6, first_step=step, max_step=step)


# name: how to make it with a step, its order, the order of its dense output, denominators of steps at which they are measured
METHODS = {
    "RK4": (RK4, 4, 4, 64),
    "PredictorCorrector": (PredictorCorrector, 5, 5, 64),
    "DOP853": (fixed_dop853, 8, 7, 2),
    "Radau 1": (lambda step: Radau(stages=1, step=step), 1, 1, 64),
    "Radau 3": (lambda step: Radau(step=step), 5, 5, 8),
    "Radau 5": (lambda step: Radau(stages=5, step=step), 9, 7, 1),
    "Gauss 1": (lambda step: Gauss(step, 1), 2, 2, 32),
    "Gauss 2": (lambda step: Gauss(step, 2), 4, 4, 16),
    "Gauss 3": (lambda step: Gauss(step, 3), 6, 5, 8),
    "ESDIRK23": (lambda step: ESDIRK23(step=step), 2, 2, 32),
}


def swing_at(t: np.ndarray) -> np.ndarray:
    """With y = exp(sin t), 1/z = 1 + ∫ ẏ dt = y."""
    y = np.exp(np.sin(t))
    return np.column_stack([y, 1.0 / y])


def errors(make: object, steps: list[float], samples: np.ndarray | None) -> list[float]:
    """Largest errors at samples, or at the end, over [0, 2]."""
    found = []
    for step in steps:
        run = integrate(swing(), [1.0, 1.0], 2.0, method=make(step), samples=samples if samples is not None else [2.0])  # type: ignore[operator]
        assert run.status.kind == Ending.FINISHED
        found.append(float(np.abs(run.states - swing_at(run.times)).max()))
    return found


@pytest.mark.parametrize("name", METHODS)
def test_order_by_halving_the_step(name: str) -> None:
    make, order, _, first = METHODS[name]
    steps = [1 / first, 1 / (2 * first), 1 / (4 * first)]
    e = errors(make, steps, None)
    measured = np.log2(np.array(e[:-1]) / np.array(e[1:]))
    # at order 9 the longest step is beyond the asymptotic regime, and the shortest at rounding
    assert measured == pytest.approx([order] * 2, abs=0.6 if name != "Radau 5" else 1.8)
    assert make(steps[0]).order == order


@pytest.mark.parametrize("name", METHODS)
def test_order_of_dense_output(name: str) -> None:
    make, _, order, first = METHODS[name]
    first = max(2, first)
    e = errors(make, [1 / first, 1 / (2 * first), 1 / (4 * first)], np.linspace(0.5, 1.99, 173))
    measured = np.log2(np.array(e[:-1]) / np.array(e[1:]))
    assert np.all(measured > order - 0.4)


@pytest.mark.parametrize("name", METHODS)
def test_dense_output_joins_the_steps(name: str) -> None:
    """Just before and just after a step the interpolant has the value of the step."""
    make = METHODS[name][0]
    method = make(1 / 16)
    steps = integrate(swing(), [1.0, 1.0], 1.0, method=method)
    inner, values = steps.steps[5:-1], steps.states[5:-1]
    for side in (-1e-12, 1e-12):
        near = integrate(swing(), [1.0, 1.0], 1.0, method=method, samples=inner + side)
        assert near.states == pytest.approx(values, abs=1e-11)


def test_predictor_corrector_integrates_polynomials_exactly() -> None:
    """The corrector is exact for a right side of degree 4, the predictor for degree 3; so is the quintic between steps."""
    tau = np.array([0.0, -1.0, -2.0, -3.0, 1.0, 1.0])
    for degree in range(5):
        assert ADAMS.weights[5] @ tau**degree == pytest.approx(1.0 / (degree + 1), abs=1e-13)
    for degree in range(4):
        assert ADAMS.weights[4] @ tau**degree == pytest.approx(1.0 / (degree + 1), abs=1e-13)
    assert abs(ADAMS.weights[4] @ tau**4 - 1 / 5) > 0.1  # not of order 5 itself
    theta = np.linspace(0.0, 1.0, 9)
    for degree in range(5):  # x = τ^(degree+1)/(degree+1)
        k = tau**degree
        increment = ADAMS.weights[5] @ k
        f = [increment, k[0] - increment, 2 * increment - k[0] - k[5], *(ADAMS.dense @ k)]
        x = theta * (f[0] + (1 - theta) * (f[1] + theta * (f[2] + (1 - theta) * (f[3] + theta * f[4]))))
        assert x == pytest.approx(theta ** (degree + 1) / (degree + 1), abs=1e-13)


@pytest.mark.parametrize("make", [kepler, lotka_volterra, decay])
def test_dop853_beside_scipy(make: object) -> None:
    """Two programs, one method: at 1e-12 they agree at samples, and need about as many evaluations."""
    from scipy.integrate import solve_ivp

    equations = make()  # type: ignore[operator]
    x0, samples = start_of(equations), np.linspace(0.0, 5.0, 57)
    p = equations.default_parameters

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        return equations.dynamics([t], x, np.zeros(0), p)[0]

    peer = solve_ivp(rates, (0.0, 5.0), x0, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=samples)
    run = integrate(equations, x0, 5.0, method=DOP853(rtol=1e-12, atol=1e-12), samples=samples)
    assert np.abs(run.states - peer.y.T).max() < 3e-10
    assert run.evaluations < 1.3 * peer.nfev


def test_arenstorf_orbit_closes() -> None:
    equations = arenstorf()
    x0 = start_of(equations)
    run = integrate(equations, x0, ARENSTORF_PERIOD, method=DOP853(rtol=1e-13, atol=1e-13))
    assert np.abs(run.final_state - x0)[:2].max() < 1e-8
    # Every evaluation is accounted for: the start and its probe, twelve per attempt less the one shared with the next step.
    assert run.evaluations == 2 + 12 * run.accepted + 11 * run.rejected


def test_tolerance_rules_the_error() -> None:
    x0 = start_of(kepler())
    found = [
        np.abs(integrate(kepler(), x0, 2 * np.pi, method=DOP853(rtol=r, atol=r)).final_state - x0).max()
        for r in (1e-6, 1e-9, 1e-12)
    ]
    assert found[0] > 30 * found[1] > 900 * found[2]
    assert found[2] < 1e-9


def test_absolute_tolerance_per_state() -> None:
    x0 = start_of(oscillator())
    tight = integrate(oscillator(), x0, 3.0, method=DOP853(rtol=1e-14, atol=[1e-12, 1e-12]))
    loose = integrate(oscillator(), x0, 3.0, method=DOP853(rtol=1e-14, atol=[1e-12, 1e3]))
    assert loose.evaluations < tight.evaluations
    with pytest.raises(ValueError, match="atol has 3 numbers; give one, or one for each of x, v"):
        integrate(oscillator(), x0, 1.0, method=DOP853(atol=[1.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    "method",
    [DOP853(rtol=1e-12, atol=1e-12), RK4(0.001), PredictorCorrector(0.002), Radau(rtol=1e-12, atol=1e-12), Gauss(0.005, 3)],
)
def test_backwards(method: object) -> None:
    samples = np.linspace(0.0, -2.0, 21)
    run = integrate(oscillator(), [1.0, 0.0], -2.0, method=method, samples=samples)  # type: ignore[arg-type]
    assert run.status.kind == Ending.FINISHED
    assert run.states[:, 0] == pytest.approx(np.cos(samples), abs=1e-10)
    assert run.final_time == -2.0
    assert np.all(np.diff(run.steps) < 0)


def test_fixed_steps_divide_the_time_equally() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 1.0, method=RK4(0.3))
    assert run.steps == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0], abs=0)
    assert run.evaluations == 1 + 4 * 4
    assert integrate(oscillator(), [1.0, 0.0], 5.0, method=PredictorCorrector()).accepted == 1000


def test_predictor_corrector_costs_two_evaluations_a_step() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 1.0, method=PredictorCorrector(0.01), samples=[1.0])
    assert run.evaluations == 1 + 3 * 12 + 97 * 2


def test_max_step_and_first_step() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 5.0, method=DOP853(first_step=0.01, max_step=0.1))
    assert run.steps[1] == 0.01
    assert np.diff(run.steps).max() <= 0.1 * (1 + 1e-12)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="RK4: step must be a positive number, got -1"):
        RK4(-1)
    with pytest.raises(ValueError, match="rtol = 1e-16 is below"):
        DOP853(rtol=1e-16)
    with pytest.raises(ValueError, match="DOP853: atol must be a positive"):
        DOP853(atol=[1e-3, 0.0])
    with pytest.raises(ValueError, match="Radau: step must be a positive number, got 0"):
        Radau(step=0.0)
    with pytest.raises(ValueError, match="Radau: stages must be 1, 3 or 5, got 4"):
        Radau(stages=4)
    with pytest.raises(ValueError, match="Gauss: stages must be 1, 2 or 3, got 0"):
        Gauss(0.1, stages=0)


def test_no_time_at_all() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 0.0, samples=[0.0])
    assert run.status.kind == Ending.FINISHED
    assert run.states.tolist() == [[1.0, 0.0]]

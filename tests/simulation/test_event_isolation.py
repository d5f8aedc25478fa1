"""No event is missed because it goes there and back within a step: counts and times against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.optimize import brentq, minimize_scalar

import draisine as dr
from draisine.program.equations import Equations, Event
from draisine.program.program import Program
from draisine.results.status import Ending
from draisine.simulation.event_polynomials import bernstein_basis, polynomial_degrees
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.predictor_corrector import PredictorCorrector
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.run import integrate
from simulation.systems import first_order, oscillator

SUNDIALS = pytest.mark.skipif(find_spec("sksundae") is None, reason="needs scikit-sundae")
TIGHT = DOP853(rtol=1e-12, atol=1e-13)
GROUPS = 60  # of random members


# ------------------------------------------------------------------------------------------------------------ the issue


@pytest.mark.parametrize("method", [None, DOP853(rtol=1e-6, atol=1e-8), TIGHT, Radau(), Gauss(stages=3), RK4(0.05)])
@pytest.mark.parametrize("until", [20.0, -20.0])
def test_seven_of_seven(method: object, until: float) -> None:
    """x − 0.99999 on cos t: near every maximum a pair of crossings, 0.0089 s apart."""
    equations = oscillator(events=[(Event("near one", "x"), lambda t, x: x[0] - 0.99999)])
    run = integrate(equations, [1.0, 0.0], until, method=method)  # type: ignore[arg-type]
    half = np.arccos(0.99999)
    exact = np.sort(np.concatenate([[half], *[[2 * np.pi * k - half, 2 * np.pi * k + half] for k in (1, 2, 3)]]))
    assert len(run.events) == 7
    assert np.abs([e.time for e in run.events]) == pytest.approx(exact, abs=2e-4)


def test_a_stop_at_a_short_excursion() -> None:
    equations = oscillator(events=[(Event("top", "x", "stop", direction=1), lambda t, x: x[0] - (1 - 1e-9))])
    run = integrate(equations, [0.0, 1.0], 20.0, method=TIGHT, samples=[0.0, 20.0])
    assert run.status.kind == Ending.EVENT
    assert run.final_time == pytest.approx(np.arcsin(1 - 1e-9), abs=1e-7)


def test_runs_away_from_zero_take_the_evaluations_of_runs_without_events() -> None:
    far = oscillator(events=[(Event("far", "x"), lambda t, x: x[0] - 5.0), (Event("bent", "x"), lambda t, x: ca.cosh(x[0]) - 9)])
    plain, watched = (integrate(e, [1.0, 0.0], 100.0, method=TIGHT) for e in (oscillator(), far))
    assert watched.evaluations == plain.evaluations
    near = oscillator(events=[(Event("beyond", "x"), lambda t, x: x[0] - 1.1)])
    assert integrate(near, [1.0, 0.0], 100.0, method=TIGHT).evaluations == plain.evaluations


# ------------------------------------------------------------------------------------------------- random trigonometric


def two_modes(w: tuple[float, float], event: Event, value: Callable[[ca.SX, ca.SX], ca.SX]) -> Equations:
    """Two oscillators: x = (cos w₁t, cos w₂t) from (1, 1), with the rates behind them."""
    return first_order(
        "modes",
        {"a": 1.0, "b": 1.0, "da": 0.0, "db": 0.0},
        lambda t, x, u, p: [x[2], x[3], -(w[0] ** 2) * x[0], -(w[1] ** 2) * x[1]],
        events=[(event, value)],
    )


KINDS: dict[str, Callable[[np.random.Generator], Callable[..., object]]] = {
    "affine": lambda r: (lambda c: lambda m, t, a, b: c[0] * a + c[1] * b + c[2] * t)(r.normal(size=3) * [1, 1, 0.1]),
    "quadratic": lambda r: (lambda c: lambda m, t, a, b: c[0] * a * a + c[1] * a * b + c[2] * b)(r.normal(size=3)),
    "cubic": lambda r: (lambda c: lambda m, t, a, b: c[0] * a**3 + c[1] * a * b * b + c[2] * b)(r.normal(size=3)),
    "sine": lambda r: (lambda c: lambda m, t, a, b: m.sin(2 * c[0] * a) + c[1] * m.cos(3 * b))(r.normal(size=2)),
    "root": lambda r: (lambda c: lambda m, t, a, b: m.sqrt(1 + c[0] ** 2 * a * a + b * b) + c[1] * a)(r.normal(size=2)),
    "angle": lambda r: (lambda c: lambda m, t, a, b: (m.arctan2 if m is np else ca.atan2)(a + 0.3, 1.5 + c * b))(
        r.uniform(-1, 1)
    ),
    "driven": lambda r: (lambda c: lambda m, t, a, b: a * m.sin(c[0] * t) + b * m.exp(-0.1 * t) + c[1])(r.uniform(1, 8, 2)),
}


def zeros_of(g: Callable[[np.ndarray], np.ndarray], until: float) -> tuple[np.ndarray, float]:
    """All zeros of a function on (0, until), and how close an extremum or an end comes to zero."""
    t = np.linspace(0.0, until, 40_001)
    values = g(t)
    points = [t[0]]
    for i in np.flatnonzero(np.diff(np.sign(np.diff(values)))) + 1:
        side = 1.0 if values[i] < values[i - 1] else -1.0
        points.append(minimize_scalar(lambda s, k=side: k * g(s), bounds=(t[i - 1], t[i + 1]), options={"xatol": 1e-12}).x)
    points.append(t[-1])
    at = g(np.array(points))
    pairs = np.flatnonzero(at[1:] * at[:-1] < 0)
    return np.array([brentq(g, points[i], points[i + 1], xtol=1e-14) for i in pairs]), float(np.min(np.abs(at)))


@pytest.mark.parametrize("kind", KINDS)
def test_random_events_on_two_modes(kind: str) -> None:
    """The level of the event is drawn close to an extremum, so that it goes there and back in a small part of a step."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    until, missed, found = 10.0, [], 0
    for number in range(GROUPS // 4):
        w, shape = tuple(rng.uniform(0.5, 3.0, 2)), KINDS[kind](rng)

        def plain(t: np.ndarray, w: tuple[float, float] = w, shape: Callable[..., object] = shape) -> np.ndarray:
            return np.asarray(shape(np, t, np.cos(w[0] * t), np.cos(w[1] * t)))

        t = np.linspace(0.0, until, 40_001)[1:-1]
        values = plain(t)
        peaks = np.flatnonzero(np.diff(np.sign(np.diff(values)))) + 1
        chosen = values[rng.choice(peaks)] if len(peaks) else values.mean()
        level = chosen + rng.choice([-1, 1]) * 10 ** rng.uniform(-7, -2) * np.ptp(values)
        exact, margin = zeros_of(lambda s, level=level, plain=plain: plain(s) - level, until)
        if margin < 3e-9:
            continue
        equations = two_modes(w, Event("e", "a"), lambda t, x, level=level, shape=shape: shape(ca, t, x[0], x[1]) - level)  # type: ignore[return-value, misc, operator]
        run = integrate(equations, [1.0, 1.0, 0.0, 0.0], until, method=TIGHT, samples=[0.0, until])
        times = np.array([e.time for e in run.events])
        found += len(exact)
        if len(times) != len(exact) or np.any(np.abs(times - exact) > 1e-4):
            missed.append((number, len(times), len(exact), margin))
    assert not missed
    assert found > 20


# --------------------------------------------------------------------------------------------------- random polynomials

METHODS = [
    RK4(1.0),
    DOP853(first_step=1.0),
    PredictorCorrector(0.1),
    Radau(step=1.0),
    Gauss(1.0),
    ESDIRK23(step=0.25),
    pytest.param(CVODE(), marks=SUNDIALS),
    pytest.param(IDA(), marks=SUNDIALS),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("backwards", [False, True])
def test_random_polynomials_of_a_line(method: object, backwards: bool) -> None:
    """ẋ = 1: the event is a polynomial of time with known zeros, several of them in one step and some close together."""
    rng = np.random.default_rng(5)
    for number in range(12):
        degree = number % 6 + 1
        zeros = np.sort(rng.uniform(0.02, 0.98, degree))
        if degree > 1 and number % 2:
            zeros[1] = zeros[0] + 10 ** rng.uniform(-6, -3)
        zeros.sort()
        if degree > 1 and np.min(np.diff(zeros)) < 1e-7:
            continue
        coefficients = polynomial.polyfromroots(zeros)
        sign = -1.0 if backwards else 1.0

        def value(t: ca.SX, x: ca.SX, c: np.ndarray = coefficients, sign: float = sign) -> ca.SX:
            total = ca.SX(0)
            for entry in c[::-1]:
                total = total * (sign * x[0]) + entry
            return total

        line = first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[(Event("zero", "x"), value)])
        run = integrate(line, [0.0], sign, method=method)  # type: ignore[arg-type]
        assert len(run.events) == degree, (number, zeros)
        assert sign * np.array([e.time for e in run.events]) == pytest.approx(zeros, abs=1e-7)


@pytest.mark.parametrize("shape", ["abs", "where", "floor"])
def test_functions_with_kinks_and_jumps(shape: str) -> None:
    """A kink that dips below zero for 2e-6 s, and a function that jumps there and back."""
    functions: dict[str, tuple[Callable[[ca.SX], ca.SX], list[float]]] = {
        "abs": (lambda x: ca.fabs(x - 0.3711) - 1e-6, [0.371099, 0.371101]),
        "where": (lambda x: ca.if_else(x < 0.62, ca.if_else(x > 0.48, -1.0, 1.0), 1.0), [0.48, 0.62]),
        "floor": (lambda x: ca.floor(7.3 * x) - 2.5, [3 / 7.3]),
    }
    value, exact = functions[shape]
    line = first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[(Event("e", "x"), lambda t, x: value(x[0]))])
    run = integrate(line, [0.0], 1.0, method=RK4(1.0))
    assert [e.time for e in run.events] == pytest.approx(exact, abs=1e-12)


def test_more_oscillations_than_a_step_resolves_at_once() -> None:
    """cos 300 t on one step of 1 s: 95 zeros."""
    line = first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[(Event("e", "x"), lambda t, x: ca.cos(300 * t))])
    run = integrate(line, [0.0], 1.0, method=RK4(1.0))
    exact = (np.arange(95) + 0.5) * np.pi / 300
    assert [e.time for e in run.events] == pytest.approx(exact[exact < 1.0], abs=1e-12)


def test_an_event_that_is_too_fast_for_the_steps_is_named() -> None:
    line = first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[(Event("e", "x"), lambda t, x: ca.cos(9000 * t))])
    (warning,) = integrate(line, [0.0], 1.0, method=RK4(1.0)).status.warnings
    assert "'e' varies too fast" in warning and "RK4(step=…)" in warning
    assert not integrate(line, [0.0], 1.0, method=RK4(0.01)).status.warnings


def test_a_touch_in_one_point_is_no_crossing() -> None:
    """(x − 1/3)² has a double zero: the function never has another sign, and whether rounding shows it is open."""
    line = first_order(
        "line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[(Event("e", "x"), lambda t, x: (x[0] - 1 / 3) ** 2 + 1e-14)]
    )
    assert not integrate(line, [0.0], 1.0, method=RK4(1.0)).events


# ------------------------------------------------------------------------------------------------------- other drivers


@pytest.fixture(scope="module")
def pendulum() -> Equations:
    import sympy as sp

    a, b = sp.Function("a"), sp.Function("b")
    t, top = sp.Symbol("t"), sp.Symbol("top")
    return dr.first_order("pendulum", {a(t): b(t), b(t): -9.81 * sp.sin(a(t))}, parameters={top: 0.5}, start={a(t): 0.5})


def test_ensembles_count_the_same_events_at_the_same_times(pendulum: Equations) -> None:
    """Levels just inside the amplitude of a pendulum, bit for bit as single runs: side by side, one at a time, implicit."""
    events = [dr.Event("top", "a - top"), dr.Event("circle", "a*a + b*b/40 - top*top"), dr.Event("bent", "sin(a) - sin(top)")]
    levels = 0.5 - np.geomspace(1e-7, 1e-3, 10)
    for method in (DOP853(rtol=1e-10, atol=1e-12), Radau(rtol=1e-8, atol=1e-10)):
        given = {"start": {"a": 0.5, "b": 0.0}, "events": events, "method": method}
        table = dr.ensemble(pendulum, 9.0, {"top": levels}, **given)  # type: ignore[arg-type]
        for k, level in enumerate(levels):
            run = dr.simulate(pendulum, 9.0, parameters={"top": level}, **given)  # type: ignore[arg-type]
            times = {e.name: [o.time for o in run.events if o.name == e.name] for e in events}
            assert len(times["top"]) == len(times["bent"]) == 9  # once at the start, then there and back every 2.04 s
            for name, own in times.items():
                assert table[f"{name}.count"][k] == len(own)
                assert not own or table[f"{name}.first"][k] == own[0]


def test_degrees_are_read_from_the_tape() -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p")
    values = [
        x[0] * t - p,
        x[0] ** 3 + 2 * x[1],
        (x[0] + x[1]) ** 2 * x[0] / p,
        ca.exp(p),
        1 / x[0],
        ca.fabs(x[1]),
        ca.sqrt(x[0] ** 2),
    ]
    program = Program.build("g", {"t": t, "x": x, "u": ca.SX.sym("u", 0), "p": p}, {"value": ca.vertcat(*values)})
    assert polynomial_degrees(program, ("t", "x")) == (2, 3, 3, 0, -1, -1, -1)


@pytest.mark.parametrize("degree", [3, 7, 8, 14, 16])
def test_bernstein_coefficients_bound_random_polynomials(degree: int) -> None:
    basis, rng = bernstein_basis(degree), np.random.default_rng(degree)
    t = np.linspace(0, 1, 2001)
    for _ in range(50):
        c = rng.normal(size=degree + 1)
        values = polynomial.polyval(basis.nodes, c)
        found = basis.coefficients @ values
        bound = basis.noise * np.abs(values).max()
        curve = polynomial.polyval(t, c)
        assert found.min() - bound <= curve.min() and curve.max() <= found.max() + bound
        assert found[0] == pytest.approx(c[0], abs=bound) and found[-1] == pytest.approx(c.sum(), abs=bound)

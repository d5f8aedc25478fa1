"""CVODE and IDA beside the loop's own methods: the same motions, samples, events, endings."""

from __future__ import annotations

import sys
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from draisine.program.equations import Event
from draisine.results.status import Ending, Progress
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage, Sampled
from simulation.systems import (
    cart,
    cartesian_pendulum,
    circle,
    first_order,
    implicit_system,
    kepler,
    oscillator,
    robertson,
    start_of,
    turning,
    van_der_pol,
)


def test_a_missing_package_is_said_kindly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sksundae", None)
    with pytest.raises(ImportError, match=r"scikit-sundae, which is not installed: pip install scikit-sundae.*Radau"):
        integrate(oscillator(), [1.0, 0.0], 1.0, method=CVODE())


sundae = pytest.importorskip("sksundae")

TIGHT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("method", [CVODE(**TIGHT), IDA(**TIGHT)])
@pytest.mark.parametrize(("make", "until"), [(kepler, 5.0), (lambda: van_der_pol(100.0), 1.5), (oscillator, 10.0)])
def test_explicit_equations(make: object, until: float, method: object) -> None:
    equations = make()  # type: ignore[operator]
    x0, times = start_of(equations), np.linspace(0.0, until, 41)
    ours = integrate(equations, x0, until, method=Radau(**TIGHT), samples=times)
    theirs = integrate(equations, x0, until, method=method, samples=times)  # type: ignore[arg-type]
    assert theirs.status.kind == Ending.FINISHED
    assert theirs.times == pytest.approx(times, abs=0)
    assert theirs.states == pytest.approx(ours.states, rel=3e-6, abs=3e-6)
    assert theirs.accepted > 50
    assert len(theirs.steps) == theirs.accepted + 1
    assert theirs.evaluations > 0
    assert theirs.jacobians > 0


def test_implicit_equations() -> None:
    times = np.array([0.4, 4.0, 40.0, 400.0])
    ours = integrate(robertson(), [1.0, 0.0, 0.0], 400.0, method=Radau(rtol=1e-10, atol=1e-14), samples=times)
    theirs = integrate(robertson(), [1.0, 0.0, 0.0], 400.0, method=IDA(rtol=1e-10, atol=1e-14), samples=times)
    assert theirs.states == pytest.approx(ours.states, rel=1e-7)
    assert np.abs(theirs.states.sum(axis=1) - 1.0).max() < 1e-12


def test_ida_begins_consistently() -> None:
    """The rod force is a guess, the rates are unknown; both are solved for before IDA sees them."""
    equations = cartesian_pendulum(1)
    x0 = [np.sin(0.4), -np.cos(0.4), 0.0, 0.0, -99.0]
    ours = integrate(equations, x0, 1.0, method=Radau(**TIGHT), samples=[0.0, 1.0])
    theirs = integrate(equations, x0, 1.0, method=IDA(**TIGHT), samples=[0.0, 1.0])
    assert theirs.states == pytest.approx(ours.states, abs=1e-6)
    with pytest.raises(ValueError, match="IDA takes index 1 at most"):
        integrate(cartesian_pendulum(2), start_of(equations), 1.0, method=IDA())
    with pytest.raises(ValueError, match=r"CVODE needs ẋ = f. Methods that work are Radau, ESDIRK23, Gauss, IDA or Auto"):
        integrate(equations, x0, 1.0, method=CVODE())


@pytest.mark.parametrize("method", [CVODE(**TIGHT), IDA(**TIGHT)])
@pytest.mark.parametrize("sampled", [True, False])
def test_events_are_found_and_recorded_in_order(method: object, sampled: bool) -> None:
    events = [
        (Event("through", "x"), lambda t, x: x[0]),
        (Event("top", "v", direction=-1), lambda t, x: x[1]),
        (Event("enough", "t", action="stop"), lambda t, x: t - 9.9),
    ]
    run = integrate(
        oscillator(events=events),
        [1.0, 0.0],
        20.0,
        method=method,
        samples=np.linspace(0, 20, 101) if sampled else None,  # type: ignore[arg-type]
    )
    assert run.status.kind == Ending.EVENT
    assert run.final_time == pytest.approx(9.9, abs=1e-12)
    found = [(e.name, e.time) for e in run.events]
    assert [t for name, t in found if name == "through"] == pytest.approx([np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2], abs=1e-7)
    assert [t for name, t in found if name == "top"] == pytest.approx([2 * np.pi], abs=1e-7)
    assert found == sorted(found, key=lambda pair: pair[1])
    assert run.times[-1] == run.final_time
    assert run.states[:, 0] == pytest.approx(np.cos(run.times), abs=1e-7)


def test_sparse_matrices() -> None:
    """A chain of forty cells that hand on what the first one is given; the last one's rate is an algebraic unknown."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        given = [ca.sin(t), *(x[i] for i in range(39))]
        return [*(rate[i] - 50.0 * (given[i] - x[i]) for i in range(40)), x[40] - 50.0 * (x[38] - x[39])]

    chain = implicit_system("chain", {f"cell{i}": 0.0 for i in range(40)} | {"rate": 0.0}, residual)
    assert prepare(chain).compiled(()).form.plan is not None
    ours, theirs = (integrate(chain, np.zeros(41), 3.0, method=m, samples=[1.0, 3.0]) for m in (Radau(), IDA()))
    assert theirs.states == pytest.approx(ours.states, abs=1e-6)


def test_backwards() -> None:
    times = np.linspace(0.0, -2.0, 21)
    run = integrate(oscillator(), [1.0, 0.0], -2.0, method=CVODE(**TIGHT), samples=times)
    assert run.states[:, 0] == pytest.approx(np.cos(times), abs=1e-7)


def test_order_is_bounded() -> None:
    x0 = start_of(kepler())
    steps = [integrate(kepler(), x0, 3.0, method=CVODE(1e-7, 1e-9, max_order=order)).accepted for order in (1, 2, 5)]
    assert steps[0] > 5 * steps[1] > 10 * steps[2]
    with pytest.raises(ValueError, match="CVODE: max_order must be a whole number from 1 to 5, got 6"):
        CVODE(max_order=6)


def test_controls() -> None:
    oscillating = EveryStage(lambda t, x: -2.0 * x["x"])
    run = integrate(cart(), [1.0, 0.0], 3.0, method=CVODE(**TIGHT), control=oscillating, samples=np.linspace(0.0, 3.0, 7))
    assert run.states[:, 0] == pytest.approx(np.cos(run.times), abs=1e-6)
    assert run.segments[0].inputs[:, 0] == pytest.approx(-2.0 * run.states[:, 0], abs=1e-12)
    pushes = Sampled(lambda t, x: 2.0 if t < 0.5 else -2.0, rate=2.0)
    run = integrate(cart(), [0.0, 0.0], 1.0, method=IDA(**TIGHT), control=pushes, samples=[0.5, 1.0])
    assert run.states == pytest.approx(np.array([[0.125, 0.5], [0.25, 0.0]]), abs=1e-8)

    def fails(t: float, x: object) -> float:
        if t > 0.3:
            raise RuntimeError("no more")
        return 0.0

    run = integrate(cart(), [0.0, 1.0], 1.0, method=CVODE(max_step=0.1), control=EveryStage(fails))
    assert run.status.kind == Ending.CONTROL_FAILED
    assert run.final_time <= 0.3


def test_projection_restarts_the_solver() -> None:
    """A loose tolerance drifts off the circle; the run is held to it all the same."""
    free = integrate(replace(circle(), project=None), [1.0, 0.0], 200.0, method=CVODE(1e-6, 1e-8))
    held = integrate(circle(), [1.0, 0.0], 200.0, method=CVODE(1e-6, 1e-8))
    assert np.abs(np.hypot(*free.states.T) - 1.0).max() > 1e-4
    assert np.abs(np.hypot(*held.states.T) - 1.0).max() < 6e-5
    assert held.accepted < 1.5 * free.accepted


def test_switching_the_independent_velocities() -> None:
    samples = np.linspace(0.0, 10.0, 101)
    run = integrate(turning(), [0.3, -np.sin(0.3)], 10.0, method=CVODE(**TIGHT), samples=samples)
    assert [s.equations.independent for s in run.segments] == [("vy",), ("vx",)] * 3 + [("vy",)]
    for segment in run.segments:
        assert segment.states[:, 0] == pytest.approx(0.3 + segment.times, abs=1e-6)


def test_endings() -> None:
    run = integrate(kepler(), start_of(kepler()), 100.0, method=CVODE(max_steps=50))
    assert run.status.kind == Ending.TOO_MANY_STEPS
    blow = first_order("blow", {"x": 1.0}, lambda t, x, u, p: [x[0] ** 2])
    run = integrate(blow, [1.0], 2.0, method=CVODE())
    assert run.status.kind in (Ending.STEP_TOO_SMALL, Ending.NOT_FINITE)
    assert run.final_time == pytest.approx(1.0, abs=1e-3)
    jump = first_order("jump", {"x": 1.0}, lambda t, x, u, p: [ca.sqrt(0.5 - t)])
    run = integrate(jump, [1.0], 2.0, method=CVODE())
    assert not run.status.complete
    assert run.final_time == pytest.approx(0.5, abs=0.05)


def test_interruption_keeps_what_was_computed() -> None:
    def progress(now: Progress) -> None:
        if now.share > 0.1:
            raise KeyboardInterrupt

    run = integrate(oscillator(), [1.0, 0.0], 3e3, method=CVODE(1e-8, 1e-10), samples=np.linspace(0, 3e3, 31), progress=progress)
    assert run.status.kind == Ending.INTERRUPTED
    assert 0.1 < run.final_time / 3e3 < 0.9
    assert run.times[-1] == run.final_time


@pytest.mark.parametrize("method", [CVODE(), IDA()])
def test_small_projections_do_not_take_the_past_away(method: object) -> None:
    """A pendulum whose constraint is asked for to 1e-12, far below the tolerance: the solver is not begun anew for that."""
    from draisine.gallery import simple_pendulum

    pendulum = simple_pendulum()
    assert pendulum.limits.residual == 1e-12
    x0 = [q.default for q in pendulum.states]
    run = integrate(pendulum, x0, 1.0, method=method)  # type: ignore[arg-type]
    exact = integrate(pendulum, x0, 1.0, method=Radau(rtol=1e-12, atol=1e-13))
    assert run.status.kind == Ending.FINISHED and run.accepted < 1500
    assert run.final_state == pytest.approx(exact.final_state, abs=3e-6)

"""Events: found to 1e-11, in order, with direction, touch, start at zero and stop."""

from __future__ import annotations

from importlib.util import find_spec

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.program.equations import Event
from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.predictor_corrector import PredictorCorrector
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.run import integrate
from simulation.systems import first_order, oscillator

TIGHT = DOP853(rtol=1e-13, atol=1e-13)
SUNDIALS = pytest.mark.skipif(find_spec("sksundae") is None, reason="needs scikit-sundae")


def test_crossings_to_1e_11() -> None:
    equations = oscillator(events=[(Event("through", "x"), lambda t, x: x[0])])
    run = integrate(equations, [1.0, 0.0], 100.0, method=TIGHT)
    exact = np.pi * (np.arange(32) + 0.5)
    assert [e.name for e in run.events] == ["through"] * 32
    assert np.array([e.time for e in run.events[:10]]) == pytest.approx(exact[:10], abs=1e-11)
    assert np.array([e.time for e in run.events]) == pytest.approx(exact, abs=1e-10)
    assert run.events[0].state == pytest.approx([0.0, -1.0], abs=1e-11)


@pytest.mark.parametrize(("direction", "first"), [(1, 1.5 * np.pi), (-1, 0.5 * np.pi)])
def test_direction(direction: int, first: float) -> None:
    equations = oscillator(events=[(Event("one way", "x", direction=direction), lambda t, x: x[0])])
    run = integrate(equations, [1.0, 0.0], 20.0, method=TIGHT)
    times = np.array([e.time for e in run.events])
    assert times[0] == pytest.approx(first, abs=1e-11)
    assert np.diff(times) == pytest.approx(2 * np.pi, abs=1e-10)


def test_several_events_in_one_step_come_in_order() -> None:
    """All in one long step of ẋ = 1, listed against their order in time."""
    marks = [0.71, 0.12, 0.5, 0.13]
    events = [(Event(f"at {m}", "x"), lambda t, x, m=m: x[0] - m) for m in marks]
    run = integrate(first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=events), [0.0], 1.0, method=RK4(1.0))
    assert run.accepted == 1
    assert [e.name for e in run.events] == [f"at {m}" for m in sorted(marks)]
    assert [e.time for e in run.events] == pytest.approx(sorted(marks), abs=1e-14)


def test_a_touch_between_two_step_ends_is_seen() -> None:
    """Down through zero and up again within one step: both ends are positive."""
    event = (Event("dip", "x"), lambda t, x: (x[0] - 0.4) * (x[0] - 0.6))
    line = first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[event])
    run = integrate(line, [0.0], 1.0, method=RK4(1.0))
    assert [e.time for e in run.events] == pytest.approx([0.4, 0.6], abs=1e-14)


def test_zero_at_the_start_is_no_event() -> None:
    equations = oscillator(events=[(Event("x is zero", "x"), lambda t, x: x[0])])
    run = integrate(equations, [0.0, 1.0], 7.0, method=TIGHT)
    assert [e.time for e in run.events] == pytest.approx([np.pi, 2 * np.pi], abs=1e-11)


def test_zero_at_a_step_end_is_one_event() -> None:
    """A fixed step lands on the crossing exactly; it counts once."""
    line = first_order("line", {"x": 0.0}, lambda t, x, u, p: [1.0], events=[(Event("half", "x"), lambda t, x: x[0] - 0.5)])
    run = integrate(line, [0.0], 1.0, method=RK4(0.25))
    assert [e.time for e in run.events] == [0.5]


@pytest.mark.parametrize(
    "method",
    [
        TIGHT,
        RK4(0.001),
        PredictorCorrector(0.002),
        Radau(),
        Radau(stages=5),
        Radau(step=0.1),
        Gauss(0.05),
        Gauss(stages=3),
        ESDIRK23(step=0.01),
        pytest.param(CVODE(rtol=1e-12, atol=1e-12), marks=SUNDIALS),
        pytest.param(IDA(rtol=1e-12, atol=1e-12), marks=SUNDIALS),
    ],
)
def test_stop(method: object) -> None:
    """A ball thrown up stops at the ground; nothing of the step beyond is kept."""
    fall = first_order(
        "fall",
        {"height": 0.0, "speed": 0.0},
        lambda t, x, u, p: [x[1], -9.81],
        events=[
            (Event("apex", "speed", direction=-1), lambda t, x: x[1]),
            (Event("landed", "height", action="stop", direction=-1, description="height reached 0"), lambda t, x: x[0]),
        ],
    )
    run = integrate(fall, [1.0, 5.0], 10.0, method=method, samples=np.linspace(0, 10, 101))  # type: ignore[arg-type]
    landing = (5.0 + np.sqrt(25.0 + 2 * 9.81)) / 9.81
    assert run.status.kind == Ending.EVENT
    assert run.status.message == f"landed: height reached 0 at t = {landing:.6g} s"
    assert run.final_time == pytest.approx(landing, abs=1e-11)
    assert run.final_state[0] == pytest.approx(0.0, abs=1e-11)
    assert [e.name for e in run.events] == ["apex", "landed"]
    assert run.events[0].time == pytest.approx(5.0 / 9.81, abs=1e-11)
    assert run.times[-1] == run.final_time
    assert np.all(np.diff(run.times) > 0)
    assert run.states[:, 0] == pytest.approx(1 + 5 * run.times - 9.81 / 2 * run.times**2, abs=1e-10)


def test_bouncing_by_restarts() -> None:
    """Each restart begins where the last one stopped: on the ground, which is no event."""
    fall = first_order(
        "fall",
        {"height": 1.0, "speed": 0.0},
        lambda t, x, u, p: [x[1], -9.81],
        events=[(Event("landed", "height", action="stop", direction=-1), lambda t, x: x[0])],
    )
    x, t, landings = np.array([1.0, 0.0]), 0.0, []
    for _ in range(4):
        run = integrate(fall, x, t + 10.0, start=t, method=TIGHT)
        t = run.final_time
        x = np.array([0.0, -0.5 * run.final_state[1]])
        landings.append(t)
    first = np.sqrt(2 / 9.81)
    assert np.diff([0.0, *landings]) == pytest.approx([first, first, first / 2, first / 4], rel=1e-11)


def test_events_of_time_alone() -> None:
    equations = oscillator(events=[(Event("bell", "t"), lambda t, x: ca.sin(t))])
    run = integrate(equations, [1.0, 0.0], 10.0)
    assert [e.time for e in run.events] == pytest.approx([np.pi, 2 * np.pi, 3 * np.pi], rel=1e-12)


def test_backwards_in_order() -> None:
    equations = oscillator(events=[(Event("through", "x"), lambda t, x: x[0])])
    run = integrate(equations, [1.0, 0.0], -8.0, method=TIGHT)
    assert [e.time for e in run.events] == pytest.approx([-0.5 * np.pi, -1.5 * np.pi, -2.5 * np.pi], abs=1e-11)


def test_many_events_make_the_buffers_grow() -> None:
    equations = oscillator(events=[(Event("through", "x"), lambda t, x: ca.sin(50 * t))])
    run = integrate(equations, [1.0, 0.0], 10.0, method=RK4(0.02))
    assert [e.time for e in run.events] == pytest.approx(np.arange(1, 160) * np.pi / 50, rel=1e-12)


def test_a_jump_of_an_input_that_returns_within_the_step() -> None:
    """x = -0.5 - t; x + u jumps at t = 1 and returns at 1.5, jumps at t = 2, and back at t = 3."""
    x, u = sp.symbols("x u")
    sinking = dr.first_order("sinking", {x: -1}, inputs=[u], start={x: -0.5})
    given = [0.0, 2.0, 4.0, 0.0, 0.0]
    for direction, expected in ((0, [1.0, 1.5, 2.0, 3.0]), (1, [1.0, 2.0]), (-1, [1.5, 3.0])):
        control = dr.control.Sampled(lambda t, x: {"u": given[round(t)]}, 1.0)
        run = dr.simulate(sinking, 4.0, control=control, events=[dr.Event("sign", "x + u", direction=direction)])
        assert [event.time for event in run.events] == pytest.approx(expected, rel=1e-12)

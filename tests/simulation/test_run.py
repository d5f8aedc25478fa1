"""The driver: samples, resumption, interruption, projection, statuses, switching."""

from __future__ import annotations

import _thread
import signal
import threading
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from draisine.results.status import Ending, Progress
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.predictor_corrector import PredictorCorrector
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage
from draisine.simulation.stepper import layout, loop
from draisine.simulation.stepper.memory import Memory, stepping_loop
from simulation.systems import cart, circle, first_order, kepler, oscillator, start_of, stuck, turning

METHODS = [DOP853(), RK4(0.01), PredictorCorrector(0.01), Radau(), Radau(stages=5), Gauss(0.01), Gauss(stages=3), ESDIRK23()]


def memory_of(method: object, samples: np.ndarray | None, choices: object) -> Memory:
    kernels = choices.compiled(()).kernels(implicit=method.implicit)  # type: ignore[attr-defined]
    return Memory(kernels, method, start_of(kepler()), np.zeros(0), np.zeros(0), (0.0, 3.0), samples)  # type: ignore[arg-type]


def drive(memory: Memory, budget: int, advance: object) -> int:
    while True:
        memory.stepper.budget = budget
        reason = advance(memory.stepper)  # type: ignore[operator]
        if reason == layout.FULL:
            memory.grow()
        elif reason != layout.PAUSED:
            return int(reason)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sampled", [True, False])
def test_resumed_step_by_step_is_the_same_to_the_last_bit(method: object, sampled: bool) -> None:
    choices = prepare(kepler())
    samples = np.linspace(0.0, 3.0, 37) if sampled else None
    whole, parts = memory_of(method, samples, choices), memory_of(method, samples, choices)
    advance = stepping_loop(method.implicit)  # type: ignore[attr-defined]
    assert drive(whole, 10**9, advance) == drive(parts, 1, advance) == layout.REACHED
    assert np.array_equal(whole.state, parts.state)
    for name in ("sample_x", "step_time", "step_x"):
        assert np.array_equal(getattr(whole.stepper, name), getattr(parts.stepper, name))
    assert whole.stepper.evaluations == parts.stepper.evaluations


@pytest.mark.parametrize(
    "method",
    [DOP853(rtol=1e-6), RK4(0.1), PredictorCorrector(0.1), Radau(rtol=1e-4), Gauss(0.2), ESDIRK23(rtol=1e-3), Radau(step=0.1)],
)
def test_interpreted_loop_equals_the_compiled_one(method: object) -> None:
    """The loop is plain Python; run as such it gives the same numbers. (Its powers come from another library, hence the ulps.)"""
    choices, samples = prepare(kepler()), np.linspace(0.0, 3.0, 7)
    compiled, interpreted = memory_of(method, samples, choices), memory_of(method, samples, choices)
    advance = stepping_loop(method.implicit)  # type: ignore[attr-defined]
    assert drive(compiled, 10**9, advance) == drive(interpreted, 10**9, loop.advance)
    assert interpreted.stepper.sample_x == pytest.approx(compiled.stepper.sample_x, abs=1e-12)
    assert interpreted.stepper.evaluations == compiled.stepper.evaluations


def test_buffers_grow_as_needed() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 10.0, method=RK4(0.002))
    assert len(run.steps) == 5001
    assert run.states[:, 0] == pytest.approx(np.cos(run.times), abs=1e-10)


def test_samples_are_checked() -> None:
    with pytest.raises(ValueError, match=r"samples must increase; after t = 0.5 comes t = 0.5"):
        integrate(oscillator(), [1.0, 0.0], 1.0, samples=[0.0, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"between start = 0 and until = 1; t = 2 does not"):
        integrate(oscillator(), [1.0, 0.0], 1.0, samples=[0.0, 2.0])
    with pytest.raises(ValueError, match=r"x0 needs 2 numbers \(x, v\), got 3"):
        integrate(oscillator(), [1.0, 0.0, 0.0], 1.0)
    with pytest.raises(KeyError, match="no parameter is called 'mas'; did you mean 'mass'"):
        integrate(cart(), [0.0, 0.0], 1.0, parameters={"mas": 1.0})


def test_parameters_and_inputs_by_name() -> None:
    run = integrate(cart(), [0.0, 0.0], 2.0, parameters={"mass": 4.0}, inputs={"force": 2.0}, samples=[0.0, 1.0, 2.0])
    assert run.states == pytest.approx(np.array([[0, 0], [0.25, 0.5], [1.0, 1.0]]), abs=1e-13)
    assert run.segments[0].inputs.tolist() == [[2.0], [2.0], [2.0]]


def test_starting_later() -> None:
    run = integrate(first_order("ramp", {"x": 0.0}, lambda t, x, u, p: [2 * t]), [9.0], 5.0, start=3.0, samples=[3.0, 4.0, 5.0])
    assert run.states[:, 0] == pytest.approx([9.0, 16.0, 25.0], abs=1e-12)


# ---------------------------------------------------------------------------------------------------------- projection


@pytest.mark.parametrize("method", [DOP853(), RK4(0.1), PredictorCorrector(0.1), Radau(), Radau(step=0.2)])
def test_projection_holds_the_constraint(method: object) -> None:
    free = integrate(replace(circle(), project=None), [1.0, 0.0], 100.0, method=method)  # type: ignore[arg-type]
    held = integrate(circle(), [1.0, 0.0], 100.0, method=method)  # type: ignore[arg-type]
    assert np.abs(np.hypot(*free.states.T) - 1.0).max() > 1e-8
    assert np.abs(np.hypot(*held.states.T) - 1.0).max() < 1e-9
    angle = (100.0 + np.pi) % (2 * np.pi) - np.pi
    assert np.arctan2(*held.final_state[::-1]) == pytest.approx(angle, abs=1e-3)
    assert np.linalg.norm(held.final_state - [np.cos(100.0), np.sin(100.0)]) < 1.1 * np.linalg.norm(
        free.final_state - [np.cos(100.0), np.sin(100.0)]
    )


def test_projection_leaves_a_good_state_alone() -> None:
    """Residuals below the threshold cost no evaluation."""
    free = first_order("plain", {"x": 1.0, "y": 0.0}, lambda t, x, u, p: [-x[1], x[0]])
    kept = first_order(
        "kept",
        {"x": 1.0, "y": 0.0},
        lambda t, x, u, p: [-x[1], x[0]],
        project=lambda x: ([x[0], x[1]], x[0] ** 2 + x[1] ** 2 - 1.0),
    )
    x0 = start_of(free)
    assert integrate(kept, x0, 5.0).evaluations == integrate(free, x0, 5.0).evaluations
    assert integrate(circle(), x0, 100.0).evaluations > integrate(free, x0, 100.0).evaluations


# ------------------------------------------------------------------------------------------------------------- endings


def test_not_finite_names_the_state_and_the_time() -> None:
    edge = first_order("edge", {"a": 0.0, "b": 1.0}, lambda t, x, u, p: [1.0, ca.sqrt(1.5 - x[0])])
    run = integrate(edge, [0.0, 1.0], 5.0, samples=np.linspace(0, 5, 51))
    assert run.status.kind == Ending.NOT_FINITE
    assert run.status.message.startswith("the derivative of b is not a finite number at t = 1.5 s; shorter steps did not help")
    assert run.final_time == pytest.approx(1.5, abs=1e-6)
    assert run.times[-1] == run.final_time
    assert len(run.times) == 16
    exact = 1.0 + (1.5**1.5 - (1.5 - run.times[:15]) ** 1.5) / 1.5
    assert run.states[:15, 1] == pytest.approx(exact, abs=1e-7)


def test_not_finite_at_the_start() -> None:
    run = integrate(first_order("pole", {"x": 0.0}, lambda t, x, u, p: [1 / x[0]]), [0.0], 1.0)
    assert run.status.kind == Ending.NOT_FINITE
    assert "the derivative of x is not a finite number at t = 0 s; look for a division by zero" in run.status.message
    run = integrate(oscillator(), [1.0, np.nan], 1.0)
    assert run.status.message.startswith("v is not a finite number at t = 0 s")


def test_not_finite_with_a_fixed_step() -> None:
    edge = first_order("edge", {"a": 0.0, "b": 1.0}, lambda t, x, u, p: [1.0, ca.sqrt(1.5 - x[0])])
    run = integrate(edge, [0.0, 1.0], 5.0, method=RK4(0.2))
    assert run.status.kind == Ending.NOT_FINITE
    assert "the derivative of b" in run.status.message
    assert "the fixed step of RK4 may be too long" in run.status.message
    assert run.final_time == pytest.approx(1.4)


def test_collapse_of_the_step_names_the_state() -> None:
    """ẏ = y² from 1 blows up at t = 1."""
    blow = first_order("blow", {"calm": 0.0, "wild": 1.0}, lambda t, x, u, p: [1.0, x[1] ** 2])
    run = integrate(blow, [0.0, 1.0], 5.0)
    assert run.status.kind in (Ending.STEP_TOO_SMALL, Ending.NOT_FINITE)
    assert "wild" in run.status.message
    assert run.final_time == pytest.approx(1.0, abs=1e-6)
    early = run.times < 0.999
    assert run.states[early, 1] == pytest.approx(1.0 / (1.0 - run.times[early]), rel=1e-4)


def test_step_too_small_at_a_jump() -> None:
    """A control in Python that jumps to and fro across a sliding surface lets the step collapse: it is opaque."""
    slide = first_order("slide", {"x": 1.0}, lambda t, x, u, p: [u[0]], inputs=["push"])
    control = EveryStage(lambda t, x: [-1e9 if x["x"] > 0.5 else 1e9])
    run = integrate(slide, [1.0], 1.0, method=DOP853(rtol=1e-12, atol=1e-14), control=control)
    assert run.status.kind == Ending.STEP_TOO_SMALL
    assert "because of x" in run.status.message


def test_too_many_steps() -> None:
    run = integrate(kepler(), start_of(kepler()), 100.0, method=DOP853(max_steps=50))
    assert run.status.kind == Ending.TOO_MANY_STEPS
    assert run.accepted + run.rejected == 50
    assert "of 100 s; raise max_steps" in run.status.message


# -------------------------------------------------------------------------------------------------------- interruption


def test_interruption_keeps_what_was_computed() -> None:
    seen: list[float] = []

    def progress(now: Progress) -> None:
        seen.append(now.share)
        if now.share > 0.3:
            raise KeyboardInterrupt

    run = integrate(oscillator(), [1.0, 0.0], 1e5, method=RK4(0.01), samples=np.linspace(0, 1e5, 1001), progress=progress)
    assert run.status.kind == Ending.INTERRUPTED
    assert 0.3 < run.final_time / 1e5 < 0.9
    assert "results up to then are kept" in run.status.message
    assert run.times[-1] == run.final_time
    assert run.states[:200, 0] == pytest.approx(np.cos(run.times[:200]), abs=1e-5)
    assert seen == sorted(seen)


def test_a_real_interrupt_is_noticed_quickly() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what runs in the background
    try:
        timer.start()
        run = integrate(oscillator(), [1.0, 0.0], 1e7, method=RK4(0.001, max_steps=10**11), samples=[0.0])
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.status.kind == Ending.INTERRUPTED
    assert run.final_time < 1e6  # the whole run would take minutes
    assert run.final_state[0] == pytest.approx(np.cos(run.final_time), abs=1e-4)


# ----------------------------------------------------------------------------------------------------------- switching


@pytest.mark.parametrize(
    "method",
    [
        DOP853(rtol=1e-11, atol=1e-12),
        RK4(0.002),
        PredictorCorrector(0.002),
        Radau(rtol=1e-11, atol=1e-12),
        Gauss(0.01, stages=3),
        Radau(step=0.02),
    ],
)
def test_switching_the_independent_velocities(method: object) -> None:
    equations, samples = turning(), np.linspace(0.0, 10.0, 101)
    run = integrate(equations, [0.3, -np.sin(0.3)], 10.0, method=method, samples=samples)  # type: ignore[arg-type]
    assert run.status.kind == Ending.FINISHED
    assert not run.status.warnings
    choices = [s.equations.independent for s in run.segments]
    assert choices[0] == ("vy",)  # vx has condition 3.4 > 3 at the start
    assert choices == [("vy",), ("vx",)] * 3 + [("vy",)]
    assert run.times == pytest.approx(samples, abs=0)
    for segment in run.segments:
        assert segment.states[:, 0] == pytest.approx(0.3 + segment.times, abs=1e-8)
        speed = -np.sin(segment.states[:, 0]) if segment.equations.independent == ("vx",) else np.cos(segment.states[:, 0])
        assert segment.states[:, 1] == pytest.approx(speed, abs=1e-8)
    with pytest.raises(ValueError, match=r"from \(vy\) to \(vx\).*run.segments"):
        _ = run.states


def test_visited_choices_are_kept() -> None:
    choices = prepare(turning())
    integrate(choices, [0.3, -np.sin(0.3)], 10.0)
    made = dict(choices.ready)
    integrate(choices, [0.3, -np.sin(0.3)], 10.0)
    assert choices.ready == made
    assert set(made) == {("vx",), ("vy",)}


def test_a_lonely_choice_is_borne_with_a_warning() -> None:
    """No other choice: the run goes on while the condition is bearable, and says so."""
    run = integrate(stuck(), [0.8, -np.sin(0.8)], 2.1, samples=[2.1])
    assert run.status.kind == Ending.FINISHED
    assert run.final_state[0] == pytest.approx(2.9, abs=1e-6)
    assert "the motion came close to a singular position, and no other choice" in run.status.warnings[0]


def test_singular_names_the_choice() -> None:
    """Slower and slower towards the point where vx means nothing: w ∝ sin a."""
    from draisine.program.program import Program

    base = stuck()
    t, x, u, p = base.dynamics.symbols()
    dynamics = Program.build("towards", {"t": t, "x": x, "u": u, "p": p}, {"xdot": ca.vertcat(ca.sin(x[0]), 0)})
    run = integrate(replace(base, dynamics=dynamics), [0.8, 1.0], 100.0)
    assert run.status.kind == Ending.SINGULAR
    assert "the independent velocities (vx) are singular" in run.status.message
    assert np.pi - run.final_state[0] == pytest.approx(0, abs=1e-4)


def test_a_start_without_meaning_is_singular() -> None:
    """At a = 0 the velocity along x says nothing about the motion, so there is nothing to switch with either."""
    run = integrate(turning(), [0.0, 0.0], 1.0)
    assert run.status.kind == Ending.SINGULAR
    assert "(vx) are singular at t = 0 s: the condition is infinite" in run.status.message


def test_records_of_a_run_that_switches_are_in_order() -> None:
    run = integrate(turning(), [0.3, -np.sin(0.3)], 10.0)
    assert np.all(np.diff(run.times) > 0)
    assert run.times[0] == 0.0
    assert run.times[-1] == 10.0


@pytest.mark.parametrize("method", [RK4(0.001), Radau(step=0.001)])
def test_more_steps_than_the_first_buffers_hold(method: object) -> None:
    """Rows of inputs are as many as steps, also where there is no input."""
    run = integrate(oscillator(), [1.0, 0.0], 3.0, method=method)
    (part,) = run.segments
    assert (len(part.times), part.states.shape, part.inputs.shape) == (3001, (3001, 2), (3001, 0))
    np.testing.assert_allclose(part.states[2500, 0], np.cos(2.5), atol=1e-9)

"""Control in Python: sampled and at every stage, by name and by array, and what happens when it fails."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.errors import DraisineError
from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage, Sampled, State
from simulation.systems import cart, turning

FINE = DOP853(rtol=1e-11, atol=1e-12)


def closed_loop(t: np.ndarray) -> np.ndarray:
    """ẍ = −x − ẋ from (1, 0), the cart of mass 2 with u = −2x − 2v."""
    w = np.sqrt(0.75)
    return np.exp(-t / 2) * (np.cos(w * t) + np.sin(w * t) / (2 * w))


def law(t: float, x: State) -> float:
    return -2.0 * x["x"] - 2.0 * x["v"]


def test_every_stage_is_exact() -> None:
    samples = np.linspace(0, 5, 26)
    run = integrate(cart(), [1.0, 0.0], 5.0, control=EveryStage(law), method=FINE, samples=samples)
    assert run.status.kind == Ending.FINISHED
    assert run.states[:, 0] == pytest.approx(closed_loop(samples), abs=1e-10)
    assert run.segments[0].inputs[:, 0] == pytest.approx(-2 * run.states.sum(axis=1), abs=1e-14)
    assert "called in Python at every stage" in run.status.warnings[0]
    assert run.seconds["control"] > 0


def test_sampled_holds_its_answer() -> None:
    """Against the exact discrete-time solution of a double integrator with piecewise constant force."""
    rate, requested = 20.0, []

    def noted(t: float, x: State) -> float:
        requested.append(t)
        return law(t, x)

    samples = np.linspace(0, 5, 101)
    run = integrate(cart(), [1.0, 0.0], 5.0, control=Sampled(noted, rate), method=FINE, samples=samples)
    x, v, d = 1.0, 0.0, 1 / rate
    expected = [(x, v)]
    for _ in range(100):
        a = (-2 * x - 2 * v) / 2.0
        x, v = x + v * d + a * d * d / 2, v + a * d
        expected.append((x, v))
    assert requested == pytest.approx(np.arange(100) / rate)
    assert run.states == pytest.approx(np.array(expected), abs=1e-11)
    assert not run.status.warnings
    between = integrate(cart(), [1.0, 0.0], 5.0, control=Sampled(law, rate), method=FINE, samples=(np.arange(100) + 0.5) / rate)
    held = np.array([-2 * x - 2 * v for x, v in expected[:-1]])
    assert between.segments[0].inputs[:, 0] == pytest.approx(held, abs=1e-10)


def test_answers_by_name_and_by_array() -> None:
    by_name = integrate(cart(), [1.0, 0.0], 1.0, control=Sampled(lambda t, x: {"force": law(t, x)}, 50.0))
    by_array = integrate(cart(), [1.0, 0.0], 1.0, control=Sampled(lambda t, x: [-2.0 * np.asarray(x).sum()], 50.0))
    assert by_name.final_state == pytest.approx(by_array.final_state, abs=1e-14)


def test_states_by_name_reach_velocities_and_outputs() -> None:
    """The point on the circle: w and speed are no states of the choice vy, yet they have names."""
    equations = turning()
    seen: list[tuple[float, float]] = []

    def look(t: float, x: State) -> list[float]:
        seen.append((x["w"], x["speed"]))
        assert "a" in x
        return []

    run = integrate(equations, [1.2, -np.sin(1.2)], 3.0, control=Sampled(look, 10.0), method=FINE)
    assert run.status.kind == Ending.FINISHED
    assert len(run.segments) > 1
    assert np.array(seen) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("kind", [EveryStage, lambda f: Sampled(f, 100.0)])
def test_a_failing_control_keeps_the_run_so_far(kind: object) -> None:
    def fails(t: float, x: State) -> float:
        if t > 0.5:
            raise ZeroDivisionError("no gain left")
        return law(t, x)

    run = integrate(cart(), [1.0, 0.0], 5.0, control=kind(fails), method=DOP853(max_step=0.05), samples=np.linspace(0, 5, 501))  # type: ignore[operator]
    assert run.status.kind == Ending.CONTROL_FAILED
    assert "ZeroDivisionError: no gain left" in run.status.message
    assert isinstance(run.failure, ZeroDivisionError)
    assert 0.4 < run.final_time <= 0.52
    assert run.times[-1] == run.final_time
    assert len(run.times) > 40


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ({"forse": 1.0}, "no input is called 'forse'; did you mean 'force'"),
        ([1.0, 2.0], r"2 numbers for 1 inputs \(force\)"),
        (float("nan"), "returned nan for input 'force'"),
    ],
)
def test_bad_answers_are_named(output: object, complaint: str) -> None:
    run = integrate(cart(), [1.0, 0.0], 1.0, control=Sampled(lambda t, x: output, 10.0))  # type: ignore[arg-type,return-value]
    assert run.status.kind == Ending.CONTROL_FAILED
    with pytest.raises(DraisineError, match=complaint):
        raise run.failure  # type: ignore[misc]


def test_unknown_state_names_come_with_a_hint() -> None:
    run = integrate(cart(), [1.0, 0.0], 1.0, control=EveryStage(lambda t, x: x["vv"]))
    assert "no state, velocity or output is called 'vv'; did you mean 'v'" in run.status.message


def test_interruption_inside_the_control() -> None:
    def interrupted(t: float, x: State) -> float:
        if t > 0.2:
            raise KeyboardInterrupt
        return 0.0

    for control in (EveryStage(interrupted), Sampled(interrupted, 100.0)):
        run = integrate(cart(), [1.0, 0.0], 5.0, control=control, method=DOP853(max_step=0.05))
        assert run.status.kind == Ending.INTERRUPTED
        assert 0.1 < run.final_time < 0.25

"""What a run can know to be false: steps below rounding, events that cannot occur, channels and masses without digits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError
from draisine.results.status import Ending
from draisine.simulation.methods import RK4, Gauss, Heun, PredictorCorrector, Radau


def oscillator() -> dr.Model:
    """ẍ = −x, with an output that is a real number only while x ≥ 0."""
    model = dr.Model("oscillator")
    cart = model.body("cart", mass=1.0)
    model.prismatic("x", "ground", cart, axis="x")
    model.generalized_force("x", "-x")
    model.output("root", "sqrt(x)")
    return model


def two_pendulums() -> dr.Model:
    model = dr.Model("two_pendulums")
    model.parameter("m", 1.0, "kg")
    model.parameter("n", 1.0, "kg")
    upper = model.body("upper", mass="m", center_of_mass=(0, 0, -1))
    lower = model.body("lower", mass="n", center_of_mass=(0, 0, -1))
    model.revolute("a", "ground", upper, axis="y")
    model.revolute("b", upper, lower, axis="y", at=(0, 0, -1))
    return model


# ----------------------------------------------------------------------------------------------------------- fixed steps


@pytest.mark.parametrize("method", [RK4, Heun, PredictorCorrector, Radau, Gauss])
def test_a_step_below_the_rounding_of_time_is_refused(method: type) -> None:
    with pytest.raises(ArgumentError, match=rf"{method.__name__}: the step of 1e-19 s is lost beside times of 5 s.*longer step"):
        dr.simulate(oscillator(), 5.0, start={"x": 1.0}, method=method(step=1e-19))


def test_steps_are_refused_exactly_where_the_time_cannot_advance() -> None:
    """A step is refused if it is shorter than the gap between the last time and the next floating-point number. Others are taken,
    here for 20 steps."""
    random = np.random.default_rng(1)
    for _ in range(12):
        until = float(10.0 ** random.uniform(-3, 6)) * random.choice([-1.0, 1.0])
        step = abs(until) * float(10.0 ** random.uniform(-22, -10))
        method = RK4(step=step, max_steps=20)
        if math.nextafter(abs(until), math.inf) - abs(until) > step:
            with pytest.raises(ArgumentError, match="is lost beside times"):
                dr.simulate(oscillator(), until, start={"x": 1.0}, method=method)
        else:
            run = dr.simulate(oscillator(), until, start={"x": 1.0}, method=method)
            assert run.status.kind == Ending.TOO_MANY_STEPS
            assert run.time[-1] == pytest.approx(math.copysign(20 * step, until), rel=1e-9)


def test_ensembles_refuse_the_step_too() -> None:
    with pytest.raises(ArgumentError, match="RK4: the step of 1e-19 s is lost"):
        dr.ensemble(oscillator(), 5.0, {"x": [0.5, 1.0]}, method=RK4(step=1e-19))


# ---------------------------------------------------------------------------------------------------------------- events


def test_actions_and_directions_of_events_are_checked() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        letters = "".join(random.choice(list("stoprecdSTOP "), size=random.integers(0, 8)))
        if letters in ("stop", "record"):
            continue
        with pytest.raises(ArgumentError, match=rf"event 'e': action must be 'stop' or 'record', got {re.escape(repr(letters))}"):
            dr.Event("e", "x", letters)
    with pytest.raises(ArgumentError, match="event 'e': direction must be 1"):
        dr.Event("e", "x", "stop", 2)
    with pytest.raises(ArgumentError, match="needs a name, got ''"):
        dr.Event("", "x")
    for nothing in ("", "  ", None, 0.0):
        with pytest.raises(ArgumentError, match="event 'e': its expression must be a text"):
            dr.Event("e", nothing)  # type: ignore[arg-type]


def test_two_events_of_one_name_are_refused() -> None:
    twice = [dr.Event("e", "x"), dr.Event("f", "x - 0.2"), dr.Event("e", "x - 0.5")]
    with pytest.raises(ArgumentError, match="event 'e': two events have this name"):
        dr.simulate(oscillator(), 5.0, start={"x": 1.0}, events=twice)
    model = oscillator()
    model.event("e", "x - 0.2", "record")
    with pytest.raises(ArgumentError, match="event 'e': the model has an event of this name"):
        dr.simulate(model, 5.0, start={"x": 1.0}, events=[dr.Event("e", "x")])
    with pytest.raises(ArgumentError, match="event 'e': the model has an event of this name"):
        dr.simulate(dr.derive(model), 5.0, start={"x": 1.0}, events=[dr.Event("e", "x")])


def test_an_event_without_a_value_is_named() -> None:
    """√(x − c) is a number while cos t ≥ c."""
    random = np.random.default_rng(3)
    for c in random.uniform(-0.9, 0.9, size=4):
        events = [dr.Event("blind", f"sqrt(x - ({c})) - 0.01"), dr.Event("seeing", "x")]
        run = dr.simulate(oscillator(), 3.0, start={"x": 1.0}, events=events, samples=3001)
        (warning,) = [text for text in run.status.warnings if text.startswith("event")]
        assert "event 'blind' has no value" in warning
        assert float(re.search(r"t = (\S+) s", warning)[1]) == pytest.approx(math.acos(c), abs=1.1e-3)  # type: ignore[index]
        before = dr.simulate(oscillator(), 0.9 * math.acos(c), start={"x": 1.0}, events=events)
        assert not any(text.startswith("event") for text in before.status.warnings)


# ---------------------------------------------------------------------------------------------------- channels and masses


def test_channels_that_are_not_finite_are_named() -> None:
    """√x is not a number from t = π/2 on, where x = cos t changes its sign."""
    run = dr.simulate(oscillator(), 3.0, start={"x": 1.0}, samples=3001)
    (warning,) = run.status.warnings
    samples = np.linspace(0.0, 3.0, 3001)
    count = int((np.cos(samples) < 0).sum())
    assert warning.startswith(f"not finite: root (at {count} of 3001 samples, first at t = 1.571 s)")
    assert not dr.simulate(oscillator(), 1.5, start={"x": 1.0}).status.warnings


def test_masses_at_which_arithmetic_is_lost_are_named() -> None:
    """By exact arithmetic of integers: the sum of the two masses, rounded to 53 bits, is the larger one."""
    random = np.random.default_rng(4)
    seen = set()
    for _ in range(24):
        exponent = int(random.integers(40, 66))
        large, small = 1 << exponent, int(random.integers(1, 1 << 10))
        lost = float(large + small) == float(large)
        masses = (float(large), float(small))
        swapped = bool(random.integers(2))
        given = dict(zip("nm" if swapped else "mn", masses, strict=True))
        # one step: adaptive ones would follow what is left of the arithmetic with a million
        run = dr.simulate(two_pendulums(), 1e-3, start={"a": 0.1}, parameters=given, method=dr.methods.RK4(1e-3))
        named = [text for text in run.status.warnings if text.startswith("the mass")]
        name = "upper" if swapped else "lower"
        assert len(named) == lost
        if lost:
            assert f"the mass of body {name!r} ({small:g} kg) is lost beside that of body" in named[0]
        seen.add(lost)
    assert seen == {True, False}


def test_masses_given_as_parameters_are_named() -> None:
    run = dr.simulate(two_pendulums(), 0.1, start={"a": 0.1}, parameters={"m": 1e200, "n": 1e-200})
    assert "the mass of body 'lower' (1e-200 kg) is lost beside that of body 'upper' (1e+200 kg)" in str(run.status)
    run = dr.simulate(two_pendulums(), 0.1, start={"a": 0.1}, parameters={"m": 1e-310, "n": 1e-310})
    assert "the mass of body 'upper' (1e-310 kg) is too small" in str(run.status)
    assert not dr.simulate(two_pendulums(), 0.1, start={"a": 0.1}, parameters={"m": 1e3, "n": 1e-3}).status.warnings


def test_a_dependent_parameter_is_refused_everywhere_with_the_cure() -> None:
    """It follows from others: single runs, ensembles, sensitivities, estimation and sweeps say so, and name the formula."""
    model = dr.Model("slider")
    model.parameter("half", 2.0, "kg")
    model.parameter("whole", "2*half", "kg")
    model.prismatic("a", "ground", model.body("A", mass="whole"), axis="x")
    model.potential("spring", "a^2/2")
    run = dr.simulate(model, 1.0, start={"a": 0.1}, samples=20)
    data = {"time": run.time, "a": run["a"]}
    calls: list[Callable[[], object]] = [
        lambda: dr.simulate(model, 1.0, parameters={"whole": 1.0}),
        lambda: dr.simulate(model, 1.0, sensitivity=["whole"]),
        lambda: dr.ensemble(model, 1.0, {"whole": [1.0, 2.0]}),
        lambda: dr.ensemble(model, 1.0, cases={"whole": [1.0, 2.0]}),
        lambda: dr.ensemble(model, 1.0, {"half": [1.0, 2.0]}, parameters={"whole": 1.0}),
        lambda: dr.estimate(model, data, ["whole"], ["a"]),
        lambda: dr.estimate(model, data, ["half"], ["a"], parameters={"whole": 1.0}),
        lambda: dr.estimate(model, data, ["half"], ["a"], relations={"whole": "half"}),
        lambda: dr.linearize(model, parameters={"whole": 1.0}),
        lambda: dr.modes(model, whole=np.linspace(1, 2, 3)),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"'whole' follows from others, whole = 2\*half; give values of these, or define"):
            call()

"""A stopping event of one direction that the start has passed cannot end the run: the status says so."""

from __future__ import annotations

import numpy as np
import pytest
from sympy.abc import v, x

import draisine as dr

OSCILLATOR = dr.first_order("oscillator", {x: v, v: -x}, start={x: 1.0})


@pytest.mark.parametrize("seed", range(8))
def test_the_status_names_it_exactly_where_the_start_is_beyond(seed: int) -> None:
    random = np.random.default_rng(seed)
    begin, level = random.uniform(-1, 1, 2)
    direction = int(random.choice([-1, 1]))
    run = dr.simulate(
        OSCILLATOR, 0.01, start={"x": begin, "v": 0.0}, events=[dr.Event("level", f"x - ({level})", "stop", direction)]
    )
    named = any("starts beyond the event 'level'" in warning for warning in run.status.warnings)
    assert named == ((begin - level) * direction > 0), run.status


@pytest.mark.parametrize(
    "event", [dr.Event("here", "x - 1", "stop", 1), dr.Event("both", "x - 2", "stop"), dr.Event("seen", "x - 2", "record", -1)]
)
def test_no_word_where_it_is_not_passed_or_does_not_stop(event: dr.Event) -> None:
    assert not dr.simulate(OSCILLATOR, 0.01, events=[event]).status.warnings


def slider() -> dr.Model:
    """A mass on a line with limits of its position as a robot's joint has them."""
    m = dr.Model("slider")
    m.gravity(0)
    m.body("block", 1.0, inertia=(1, 1, 1))
    m.prismatic("x", "ground", "block")
    m.generalized_force("x", m.input("f", "N"))
    m.event("upper", "x - 1", "stop", 1)
    m.event("lower", "x + 1", "stop", -1)
    return m


@pytest.mark.parametrize("law", ["0", "where(x > 0.2, -1, 1)"])
def test_ensembles_say_it_of_the_same_runs(law: str) -> None:
    """Stepped in batches, and singly where the law switches."""
    model, begins = slider(), np.random.default_rng(3).uniform(-2, 2, 12)
    many = dr.ensemble(model, 0.1, {"x": begins}, inputs={"f": law}, outputs=["x"])
    for begin, text in zip(begins, many["warnings"], strict=True):
        single = dr.simulate(model, 0.1, start={"x": begin}, inputs={"f": law})
        for name, beyond in (("upper", begin > 1), ("lower", begin < -1)):
            assert (f"starts beyond the event {name!r}" in text) == beyond
            assert any(f"starts beyond the event {name!r}" in warning for warning in single.status.warnings) == beyond


def test_environments_say_it_when_they_are_reset() -> None:
    pytest.importorskip("gymnasium")
    given = dict(observe=["x"], act={"f": 1.0}, reward="-x^2", step=0.1, until=1.0)
    single = dr.environment(slider(), reset={"x": 1.5}, **given)
    assert "beyond the event 'upper'" in single.reset(seed=0)[1]["warnings"]
    inside = dr.environment(slider(), reset={"x": 0.5}, **given)
    assert "warnings" not in inside.reset(seed=0)[1]
    many = dr.environment(slider(), reset={"x": (-2.0, 2.0)}, num_envs=16, **given)
    observation, infos = many.reset(seed=0)
    np.testing.assert_array_equal(infos["_warnings"], np.abs(observation[:, 0]) > 1)
    assert all(("'upper'" in text) == (x > 1) for x, text in zip(observation[:, 0], infos["warnings"], strict=True) if text)

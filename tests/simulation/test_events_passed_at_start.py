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

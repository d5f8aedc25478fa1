"""Statistics of an ensemble in which runs fail, and ranges of values."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError

x, a = sp.symbols("x a")
BLOWS_UP = dr.first_order("blows_up", {x: a * x**2}, parameters={a: 1.0}, start={x: 1.0})  # x = 1/(1 − a t)


def test_statistics_are_those_of_runs_that_reached_their_end(tmp_path):
    """For random values of a, over any chunks: mean, deviation and extremes of 1/(1 − 2a) where 2a < 1."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0.01, 0.45, 12), rng.uniform(0.6, 3.0, 5)])
    rng.shuffle(values)
    exact = 1.0 / (1.0 - 2.0 * values[values < 0.5])
    for options in ({}, {"chunk": 4}, {"rows": False}, {"chunk": 3, "out": tmp_path / "runs"}):
        found = dr.ensemble(BLOWS_UP, 2.0, {"a": values}, outputs=["x"], tolerance=1e-10, **options)
        m = found.statistics["x.end"]
        assert (m.count, m.mean, m.deviation, m.least, m.greatest) == pytest.approx(
            (12, exact.mean(), exact.std(ddof=1), exact.min(), exact.max()), rel=1e-6
        )
        assert found.statistics["a"].count == found.statistics["ended"].count == 17
        assert "5 runs did not reach the end" in found.warnings[0] and found.warnings[0] in str(found)
    assert dr.ensemble(BLOWS_UP, 2.0, {"a": [0.1, 0.2]}).warnings == ()


def test_runs_that_end_with_an_event_count():
    event = dr.Event("large", "x - 3", action="stop")
    found = dr.ensemble(BLOWS_UP, 2.0, {"a": [0.1, 1.0, 2.0]}, outputs=["x"], events=[event])
    assert found.statistics["x.end"].count == 3 and found.warnings == ()
    assert found.statistics["x.end"].greatest == pytest.approx(3.0, rel=1e-6)


def swept(over):
    decay = dr.first_order("decay", {x: -a * x}, parameters={a: 1.0}, start={x: 1.0})
    sets = dr.ensemble(decay, 0.1, {"a": over})["a"], -dr.modes(decay, over={"a": over}).eigenvalues.real[:, 0]
    np.testing.assert_allclose(*sets)
    return sets[0]


def test_three_numbers():
    """A tuple of three is a range, whatever its numbers; a list is a list."""
    np.testing.assert_allclose(swept((1, 4, 9)), np.linspace(1, 4, 9))
    np.testing.assert_allclose(swept((1.0, 4.0, np.int64(3))), [1.0, 2.5, 4.0])
    for values in ([1, 4, 9], [1.0, 4.0, 2.5], (1.0, 4.0), np.array([1, 4, 9])):
        np.testing.assert_allclose(swept(values), values)
    for wrong in ((1.0, 4.0, 2.5), (1.0, 4.0, 3.0), (1, 4, 0), (1, 4, -3), (1, 4, True)):
        for verb in (lambda over: dr.ensemble(BLOWS_UP, 0.1, {"a": over}), lambda over: dr.modes(BLOWS_UP, over={"a": over})):
            with pytest.raises(ArgumentError, match=r"count of \(first, last, count\) is a whole number .* a list is \["):
                verb(wrong)

"""Polynomials through a margin at few points of a step: whether it ends, and where."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from draisine.simulation.stepper.event_isolation import CLEAR, SINGLE
from draisine.simulation.stepper.layout import MARGIN_GRID
from draisine.simulation.stepper.switch_location import kind_of_margin, part_of_end, polynomial_end


def step_of(margin: np.polynomial.Polynomial) -> Any:
    """A step in which one contact has this margin, as a function of the fraction of the step."""
    modes = SimpleNamespace(first_margin=0, bounded=np.zeros(1, dtype=np.int64))
    values = margin(np.linspace(0.0, 1.0, MARGIN_GRID + 1))[:, None]
    return SimpleNamespace(margin=values, armed=np.ones(1, dtype=np.int64), margins=1, branch_margins=0, modes=modes)


@pytest.mark.parametrize("seed", range(20))
def test_ends_of_random_polynomials(seed: int) -> None:
    """What is said of cubics is right, and is said of many; the place of an end is exact."""
    rng = np.random.default_rng(seed)
    decided = 0
    for _ in range(50):
        margin = np.polynomial.Polynomial(rng.uniform(-1.0, 1.0, 4) * [1.0, 2.0, 2.0, 2.0])
        if not margin(0.0) > 0.0:
            margin = -margin
        s, roots = step_of(margin), np.roots(margin.coef[::-1]).astype(complex)
        inside = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0) & (roots.real <= 1.0)]
        kind = kind_of_margin(s, 0)
        if kind == CLEAR:
            assert len(inside) == 0
        elif kind == SINGLE:
            assert len(inside) == 1
            assert polynomial_end(s, 0, part_of_end(s, 0)) == pytest.approx(inside[0], abs=1e-6)
        decided += kind in (CLEAR, SINGLE)
    assert decided > 20


@pytest.mark.parametrize("dip", [0.02, 0.1, 0.2, 0.3, 0.45])
def test_dips_below_zero_are_not_missed(dip: float) -> None:
    """A margin that is negative in a part of the step, and positive at its ends, is not said to stay positive."""
    for center in np.linspace(0.5 * dip, 1.0 - 0.5 * dip, 37):
        margin = np.polynomial.Polynomial([center * center - 0.25 * dip * dip, -2.0 * center, 1.0])
        assert kind_of_margin(step_of(margin), 0) != CLEAR


def test_margin_that_begins_at_zero_rises() -> None:
    """A contact that has just opened and comes back within the step ends once, at 2 v/a."""
    s = step_of(np.polynomial.Polynomial([0.0, 1.0, -1.25]))
    assert kind_of_margin(s, 0) == SINGLE
    assert polynomial_end(s, 0, part_of_end(s, 0)) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_flights_that_end_early_in_the_step(seed: int) -> None:
    """A body that falls lands once, however long the step goes on behind: its gap needs no finer points."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        first, bend = rng.uniform(0.04, 0.9), rng.uniform(0.0, 1.0)
        other = -rng.uniform(0.1, 3.0)  # the gap has its other zero before the step
        margin = np.polynomial.Polynomial.fromroots([first, other]) * -1.0 - bend * np.polynomial.Polynomial.fromroots([first])
        s = step_of(margin)
        assert margin(0.0) > 0.0 > margin(1.0)
        if margin(0.0) > 0.03 * np.abs(s.margin).max():  # else it may have begun below zero
            assert kind_of_margin(s, 0) == SINGLE
            assert polynomial_end(s, 0, part_of_end(s, 0)) == pytest.approx(first, abs=1e-6)

"""Figures of stability: eigenvalues at further points, stability maps, gradients. `linearize` has the first table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import draisine as dr
from figure import AtMost, Figure


def figures() -> Iterator[Figure]:
    bike = dr.gallery.bicycle()
    yield Figure("each further speed, eigenvalues in order", _further_point(bike), "s", AtMost(10e-6))
    over = {"speed": (0, 10, 1000), "trail": (0.0, 0.2, 1000)}
    for growth, what in ((False, "by Routh's table"), (True, "with eigenvalues")):
        seconds = _best(
            2,
            lambda growth=growth: _timed(lambda: dr.stability.stability_map(bike, over, states=("lean", "steer"), growth=growth)),
        )
        yield Figure(f"stability map of 1,000 × 1,000 bicycles {what}", seconds, "s", None if growth else AtMost(10.0))
    critical = dr.modes(bike, speed=np.linspace(0, 10, 41), states=("lean", "steer")).critical()
    seconds = _best(3, lambda: _timed(lambda: [c.gradient() for c in critical]))
    yield Figure("three critical speeds: gradients by all 26 parameters", seconds, "s", AtMost(0.5))


def _further_point(bike: dr.Model) -> float:
    """The slope of the time between sweeps of many and of more points, both compiled."""
    few, many = 20_000, 120_000
    seconds = {n: _best(3, lambda n=n: _timed(lambda: dr.modes(bike, speed=np.linspace(0, 10, n)))) for n in (few, many)}
    return (seconds[many] - seconds[few]) / (many - few)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _best(times: int, measure: Callable[[], float]) -> float:
    """The least of some: others' work on the machine only adds."""
    return min(measure() for _ in range(times))

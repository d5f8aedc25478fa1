"""Curves with known shapes: round a fold, past a branch point, step lengths, points between neighbors; roots of one variable."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from draisine.numerics.continuation import CurvePoint, CurveTracer, ImplicitCurve, Rejected, StepLengths
from draisine.numerics.root_finding import bisect, bracketed_root

Array = NDArray[np.float64]


def fold() -> ImplicitCurve:
    """λ = x² (a fold at 0), the row twice; λ, the last unknown, is watched."""

    def evaluate(y: Array) -> tuple[Array, Array]:
        x, value = y
        f, slope = value - x * x, [-2 * x, 1.0]
        return np.array([f, 2 * f, value]), np.array([slope, [2 * s for s in slope], [0.0, 1.0]])

    return ImplicitCurve(evaluate, np.ones(2), np.ones(2))


def followed(curve: ImplicitCurve, start: CurvePoint, steps: int, most: float = 0.1) -> list[CurvePoint]:
    walker = CurveTracer(start, curve.advance, StepLengths(0.02, 1e-7, most), lambda point: 1.4)
    return [start, *islice(walker, steps)]


def test_round_a_fold() -> None:
    curve = fold()
    start = curve.correct(np.array([-1.0, 1.0]), np.array([0.0, -1.0]))
    assert start is not None
    points = followed(curve, start, 40)
    ys = np.array([p.y for p in points])
    np.testing.assert_allclose(ys[:, 1], ys[:, 0] ** 2, atol=1e-12)
    assert (np.diff(ys[:, 0]) > 0).all() and ys[-1, 0] > 1.0  # it never turns back
    assert points[0].advance < 0 < points[-1].advance
    for p in points:
        np.testing.assert_allclose(p.tangent, np.array([1.0, 2 * p.y[0]]) / math.hypot(1.0, 2 * p.y[0]), atol=1e-9)
    k = next(k for k in range(len(points)) if points[k].advance > 0)
    turning = curve.between(points[k - 1], points[k], lambda p: p.advance)
    assert turning is not None and turning.y == pytest.approx([0.0, 0.0], abs=1e-12)
    assert curve.between(points[0], points[1], lambda p: p.advance) is None  # no change of sign there


def test_round_a_circle_by_short_steps() -> None:
    """A step that would turn by more than acos 0.96 is refused, so that no step is longer than about 0.28."""

    def evaluate(y: Array) -> tuple[Array, Array]:
        return np.array([y @ y - 1.0, y[1]]), np.array([2 * y, [0.0, 1.0]])

    curve = ImplicitCurve(evaluate, np.ones(2), np.ones(1))
    points = followed(curve, curve.point(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 60, most=10.0)
    angles = np.unwrap([math.atan2(p.y[1], p.y[0]) for p in points])
    assert (np.diff(angles) > 0).all() and angles[-1] > 2 * np.pi
    assert np.diff(angles).max() < math.acos(0.96) + 1e-9
    np.testing.assert_allclose([np.linalg.norm(p.y) for p in points], 1.0, atol=1e-12)


def test_the_orientation_changes_at_a_branch_point() -> None:
    """x (λ − x²) = 0: the trivial branch is crossed at λ = 0."""

    def evaluate(y: Array) -> tuple[Array, Array]:
        x, value = y
        return np.array([x * (value - x * x), value]), np.array([[value - 3 * x * x, x], [0.0, 1.0]])

    curve = ImplicitCurve(evaluate, np.ones(2), np.ones(1))
    points = followed(curve, curve.point(np.array([0.0, -0.505]), np.array([0.0, 1.0])), 12)
    rows = curve.rows(points[0])
    signs = [math.copysign(1.0, curve.orientation(p, rows)) for p in points]
    assert signs == [math.copysign(1.0, -p.y[1]) * -signs[0] * -1 for p in points] and len(set(signs)) == 2
    np.testing.assert_allclose(curve.jacobian_derivative(np.array([0.3, 0.1]), np.array([1.0, 0.0])), [[-1.8, 1.0]], atol=1e-8)


def test_steps_are_shortened_and_end_with_the_least() -> None:
    """A way that ends at 1: steps are halved until the least of them fails."""
    tried: list[float] = []

    def advance(at: float, length: float) -> float | Rejected:
        tried.append(length)
        return at + length if at + length <= 1.0 else Rejected()

    walker = CurveTracer(0.0, advance, StepLengths(0.3, 1e-3, 0.3), lambda at: 2.0)
    points = list(walker)
    assert walker.ended and 1.0 - 2e-3 < points[-1] <= 1.0
    assert max(tried) == 0.3 and min(tried) >= 1e-3
    limited = CurveTracer(0.0, advance, StepLengths(0.3, 1e-3, 0.3), lambda at: 2.0, limit=lambda at: 0.25)
    assert next(iter(limited)) == 0.25


# ---------------------------------------------------------------- one variable


def test_roots_in_brackets() -> None:
    assert bracketed_root(lambda x: math.cos(x) - x, 0.0, 1.0) == pytest.approx(0.7390851332151607, abs=1e-15)
    assert bracketed_root(lambda x: x, 0.0, 1.0) == 0.0
    assert math.isnan(bracketed_root(lambda x: x * x + 1.0, -1.0, 1.0))
    assert math.isnan(bracketed_root(lambda x: float("nan") if abs(x) < 0.3 else x, -1.0, 1.0))
    asked: list[float] = []
    bracketed_root(lambda x: asked.append(x) or x**3 - 0.2, 0.0, 1.0)
    assert len(asked) == len(set(asked)) < 20


def test_bisection_of_a_condition() -> None:
    low, high = bisect(lambda x: x * x < 2.0, 0.0, 2.0, 40)
    assert low <= math.sqrt(2.0) <= high and high - low == pytest.approx(2.0**-39)

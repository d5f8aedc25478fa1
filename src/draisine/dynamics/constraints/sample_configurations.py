"""Configurations spread over where people go, moved onto the position constraints: the ground on which choices are judged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.model.items import Ball, Float, System
from draisine.numerics.newton_batch import BatchNewton, Indices, LeastNormSteps

Array = NDArray[np.float64]

MOST_LEAN = math.radians(70)
MOST_PITCH = math.radians(15)
FULFILLED = 1e-8  # residual of a sample that has arrived on the constraints
_ONTO = BatchNewton(tolerance=1e-12, max_iterations=40, damped=True)
_STEPS = LeastNormSteps(rcond=1e-7)  # relative singular value of residuals that repeat each other
LATEST = 10.0  # seconds; moving constraints are sampled up to here


def _quaternions(heading: Array, lean: Array, pitch: Array) -> Array:
    """Turns about z, then x, then y, as quaternions (samples × 4)."""
    ch, sh, cl, sl, cp, sp = (f(angle / 2) for angle in (heading, lean, pitch) for f in (np.cos, np.sin))
    return np.stack(
        [
            ch * cl * cp - sh * sl * sp,
            ch * sl * cp - sh * cl * sp,
            ch * cl * sp + sh * sl * cp,
            sh * cl * cp + ch * sl * sp,
        ],
        axis=1,
    )


def sample_coordinates(system: System, count: int, seed: int = 20070811) -> Array:
    """Coordinates (count × nq): joints over their spans, free bodies at any heading and up to 70° of lean."""
    rng = np.random.default_rng(seed)
    place = {c.name: i for i, c in enumerate(system.coordinates)}
    samples = np.empty((count, len(place)))
    samples[:] = [c.default for c in system.coordinates]
    for joint in system.joints:
        for c in joint.coordinates:
            column = place[c.name]
            # a good part of the samples sits at the ends of the spans, where choices fail first
            spread = np.clip(rng.uniform(-0.25, 1.25, count), 0.0, 1.0)
            samples[:, column] = c.low + (c.high - c.low) * spread if c.rate else c.default
        for step in joint.chain:
            if isinstance(step, Float | Ball):
                columns = [place[n] for n in step.quaternion]
                heading = rng.uniform(-math.pi, math.pi, count)
                lean = rng.uniform(-MOST_LEAN, MOST_LEAN, count)
                pitch = rng.uniform(-MOST_PITCH, MOST_PITCH, count)
                samples[:, columns] = _quaternions(heading, lean, pitch)
    if count:
        samples[0] = [c.default for c in system.coordinates]  # where everybody starts
    return samples


def within_spans(system: System, points: Array) -> NDArray[np.bool_]:
    """Which points leave every joint within its span; a loop may also close far outside, folded or turned over."""
    inside = np.ones(len(points), dtype=bool)
    joints = [c for joint in system.joints for c in joint.coordinates]
    for column, c in enumerate([*joints, *system.surface_parameters]):
        if c.rate:
            inside &= (points[:, column] >= c.low) & (points[:, column] <= c.high)
    return inside


@dataclass(frozen=True)
class Arrived:
    """Samples after Newton's steps, with the largest residual of each; those below `FULFILLED` have arrived."""

    points: Array
    times: Array
    size: Array

    def those_that_hold(self) -> tuple[Array, Array]:
        good = self.size < FULFILLED
        return self.points[good], self.times[good]


def onto_constraints(samples: Array, times: Array, residual: ca.Function, values: Array) -> Arrived:
    """The samples after Newton steps of least change onto residual(t, q, p) = 0, damped where a full step makes it worse.

    `residual` gives the residuals and their Jacobian by q. Directions that no residual changes, and residuals that repeat others,
    are left out by the singular value decomposition.
    """
    count = len(samples)
    rows = residual.size1_out(0)
    if rows == 0 or samples.shape[1] == 0 or count == 0:
        return Arrived(samples, times, np.zeros(count))
    together = residual.map(count)
    columns = np.repeat(values[:, None], count, axis=1)

    def evaluate(points: Array, places: Indices) -> tuple[Array, Array]:
        # a wheel that lies flat has no lowest point: such a sample is not finite, and never arrives
        r, j = together(times[None, :], points.T, columns)
        return r.full().T[places], j.full().reshape(rows, count, -1).transpose(1, 0, 2)[places]

    found = _ONTO.solve(evaluate, samples, _STEPS)
    return Arrived(found.x, times, found.residual)

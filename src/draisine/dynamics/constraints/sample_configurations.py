"""Configurations spread over where people go, moved onto the position constraints: the ground on which choices are judged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.model.items import Ball, Float, System

Array = NDArray[np.float64]

MOST_LEAN = math.radians(70)
MOST_PITCH = math.radians(15)
FULFILLED = 1e-8  # residual of a sample that has arrived on the constraints
_CLOSE_ENOUGH = 1e-12
_NOTHING = 1e-7  # relative singular value of residuals that repeat each other
_MOST_STEPS = 40
_MANY = 40  # residuals beyond which normal equations, shifted by very little, do for the singular values
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

    def evaluate(points: Array) -> tuple[Array, Array, Array]:
        r, j = together(times[None, :], points.T, columns)
        r = r.full().T
        j = j.full().reshape(rows, count, -1).transpose(1, 0, 2)
        # a wheel that lies flat has no lowest point: such a sample never arrives
        whole = np.isfinite(r).all(axis=1) & np.isfinite(j).all(axis=(1, 2))
        size = np.where(whole, np.abs(r).max(axis=1), np.inf)
        return np.where(whole[:, None], r, 0.0), np.where(whole[:, None, None], j, 0.0), size

    points = samples.copy()
    r, j, size = evaluate(points)
    damping = np.zeros(count)
    for _ in range(_MOST_STEPS):
        going = np.isfinite(size) & (size >= _CLOSE_ENOUGH)
        if not going.any():
            break
        trial = points - _least_change(j, r, damping)
        r_new, j_new, size_new = evaluate(trial)
        better = going & np.isfinite(size_new) & (np.linalg.norm(r_new, axis=1) < np.linalg.norm(r, axis=1))
        points, size = np.where(better[:, None], trial, points), np.where(better, size_new, size)
        r, j = np.where(better[:, None], r_new, r), np.where(better[:, None, None], j_new, j)
        damping = np.where(better, np.where(damping > 1e-6, damping / 8, 0.0), np.maximum(8 * damping, 1e-2))
    return Arrived(points, times, size)


def _least_change(j: Array, r: Array, damping: Array) -> Array:
    """Steps of least size with J d = r, or damped towards the steepest descent; one for each sample."""
    if r.shape[1] > _MANY:
        gram = j @ j.transpose(0, 2, 1)
        largest = np.maximum(np.abs(gram).max(axis=(1, 2)), 1e-300)
        gram += ((damping + 1e-13) * largest)[:, None, None] * np.eye(r.shape[1])
        return np.asarray((j.transpose(0, 2, 1) @ np.linalg.solve(gram, r[:, :, None]))[:, :, 0])
    left, stretch, right = np.linalg.svd(j, full_matrices=False)
    top = np.maximum(stretch[:, :1], 1e-300)
    damped = np.maximum(stretch**2 + damping[:, None] * top**2, 1e-300)
    gain = np.where(stretch > _NOTHING * top, stretch / damped, 0.0)
    along = gain * np.einsum("nji,nj->ni", left, r)
    return np.einsum("nki,nk->ni", right, along)

"""Configurations spread over where people go, moved onto the position constraints: the ground on which choices are judged."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.model.items import Ball, Float, System

Array = NDArray[np.float64]

MOST_LEAN = math.radians(70)
MOST_PITCH = math.radians(15)


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
    names = [c.name for c in system.coordinates]
    samples = np.empty((count, len(names)))
    for joint in system.joints:
        for c in joint.coordinates:
            column = names.index(c.name)
            # a good part of the samples sits at the ends of the spans, where choices fail first
            spread = np.clip(rng.uniform(-0.25, 1.25, count), 0.0, 1.0)
            samples[:, column] = c.low + (c.high - c.low) * spread if c.rate else c.default
        for step in joint.chain:
            if isinstance(step, Float | Ball):
                columns = [names.index(n) for n in step.quaternion]
                heading = rng.uniform(-math.pi, math.pi, count)
                lean = rng.uniform(-MOST_LEAN, MOST_LEAN, count)
                pitch = rng.uniform(-MOST_PITCH, MOST_PITCH, count)
                samples[:, columns] = _quaternions(heading, lean, pitch)
    if count:
        samples[0] = [c.default for c in system.coordinates]  # where everybody starts
    return samples


def onto_constraints(samples: Array, residual: ca.SX, q: ca.SX, p: ca.SX, values: Array) -> Array:
    """The samples after a few Newton steps of least change onto residual(q) = 0; those that do not arrive are left out."""
    if residual.numel() == 0 or q.numel() == 0:
        return samples
    count = len(samples)
    evaluate = ca.Function("residual", [q, p], [residual, ca.densify(ca.jacobian(residual, q))]).map(count)
    columns = np.repeat(values[:, None], count, axis=1)
    points = samples.copy()
    size = np.full(count, np.inf)
    for _ in range(12):
        r, j = evaluate(points.T, columns)
        r = r.full().T
        j = j.full().reshape(residual.numel(), count, q.numel()).transpose(1, 0, 2)
        # a wheel that lies flat has no lowest point: such a sample never arrives
        whole = np.isfinite(r).all(axis=1) & np.isfinite(j).all(axis=(1, 2))
        size = np.where(whole, np.abs(r).max(axis=1), np.inf)
        if size[whole].max(initial=0.0) < 1e-10:
            break
        points[whole] -= np.einsum("nij,nj->ni", np.linalg.pinv(j[whole]), r[whole])
    return points[size < 1e-8]

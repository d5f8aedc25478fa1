"""Sampled admissible configurations, and constraint rows that are redundant in all of them.

Redundant rows occur with two wheels on one axle, a planar loop closed in space, an overconstrained platform. Dependences present
in all samples have a common left null space, yᵀA = 0; rows with a large share in it can be left out, and the kept rows span the
same space. The kept rows are those whose volume, in the worst sample, is the largest that a greedy choice gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dataclass import dataclass
from draisine.errors import ModelError
from draisine.model.items import Ball, Float, System
from draisine.numerics.newton_batch import BatchNewton, Indices, LeastNormSteps
from draisine.numerics.rank import ranks_of
from draisine.numerics.uniform_numbers import UniformNumbers

Array = NDArray[np.float64]

MAX_LEAN = math.radians(70)
MAX_PITCH = math.radians(15)
ADMISSIBLE = 1e-8  # residual below which a sample satisfies the constraints
_ONTO = BatchNewton(tolerance=1e-12, max_iterations=40, damped=True)
_STEPS = LeastNormSteps(rcond=1e-7)  # relative singular value below which residuals are dependent
LATEST_TIME = 10.0  # s; rheonomic constraints are sampled up to this time


def _quaternions(heading: Array, lean: Array, pitch: Array) -> Array:
    """Rotations about z, then x, then y, as quaternions (samples × 4)."""
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
    """Coordinates (count × nq): joints over their ranges, free bodies at any heading and up to 70° of lean."""
    rng = UniformNumbers(seed)
    index = {c.name: i for i, c in enumerate(system.coordinates)}
    samples = np.empty((count, len(index)))
    samples[:] = [c.default for c in system.coordinates]
    for joint in system.joints:
        for c in joint.coordinates:
            column = index[c.name]
            # many samples lie at the ends of the ranges, where choices fail first
            spread = np.clip(rng.uniform(-0.25, 1.25, count), 0.0, 1.0)
            samples[:, column] = c.low + (c.high - c.low) * spread if c.rate else c.default
        for step in joint.chain:
            if isinstance(step, Float | Ball):
                columns = [index[n] for n in step.quaternion]
                heading = rng.uniform(-math.pi, math.pi, count)
                lean = rng.uniform(-MAX_LEAN, MAX_LEAN, count)
                pitch = rng.uniform(-MAX_PITCH, MAX_PITCH, count)
                samples[:, columns] = _quaternions(heading, lean, pitch)
    if count:
        samples[0] = [c.default for c in system.coordinates]  # the default start
    return samples


def within_spans(system: System, points: Array) -> NDArray[np.bool_]:
    """Which points keep every joint within its range; a loop may also close far outside, folded or inverted."""
    inside = np.ones(len(points), dtype=bool)
    joints = [c for joint in system.joints for c in joint.coordinates]
    for column, c in enumerate([*joints, *system.surface_parameters]):
        if c.rate:
            inside &= (points[:, column] >= c.low) & (points[:, column] <= c.high)
    return inside


@dataclass(frozen=True)
class ProjectedSamples:
    """Samples after projection, with the largest residual of each; those below `ADMISSIBLE` are admissible."""

    points: Array
    times: Array
    size: Array

    def admissible(self) -> tuple[Array, Array]:
        good = self.size < ADMISSIBLE
        return self.points[good], self.times[good]


def project_samples(samples: Array, times: Array, residual: ca.Function, values: Array) -> ProjectedSamples:
    """The samples projected onto residual(t, q, p) = 0 by damped least-norm Newton steps.

    `residual` gives the residuals and their Jacobian by q. Directions that change no residual, and dependent residuals, are
    left out by the singular value decomposition.
    """
    count = len(samples)
    rows = residual.size1_out(0)
    if rows == 0 or samples.shape[1] == 0 or count == 0:
        return ProjectedSamples(samples, times, np.zeros(count))
    together = residual.map(count)
    columns = np.repeat(values[:, None], count, axis=1)

    def evaluate(points: Array, active: Indices) -> tuple[Array, Array]:
        # a wheel that lies flat has no lowest point: such a sample is not finite, and does not converge
        r, j = together(times[None, :], points.T, columns)
        return r.full().T[active], j.full().reshape(rows, count, -1).transpose(1, 0, 2)[active]

    found = _ONTO.solve(evaluate, samples, _STEPS)
    return ProjectedSamples(found.x, times, found.residual)


DEPENDENT = 1e-7  # singular value of rows, scaled to length 1, below which they are dependent
_SHARE = 1e-6  # coefficient below which a row does not contribute to another
_RATE_TOLERANCE = 1e-6  # relative difference of the rates that a redundant row and the others prescribe


@dataclass(frozen=True)
class RedundantRow:
    """A redundant row: the kept rows on which it depends; none where no velocity enters it."""

    row: int
    repeats: tuple[int, ...]


@dataclass(frozen=True)
class RowSelection:
    """Rows that are kept, in order, and those that are left out."""

    kept: tuple[int, ...]
    redundant: tuple[RedundantRow, ...] = ()


def select_rows(samples: Array, required: Sequence[int] = ()) -> RowSelection:
    """An independent subset of the rows of sampled matrices (samples × rows × columns), and the dependences of the others.
    `required` rows are known to be independent and are kept."""
    count = samples.shape[1]
    if count == 0:
        return RowSelection(())
    scaled, length = scaled_rows(samples)
    ranks = ranks_of(scaled, DEPENDENT)
    rank = int(ranks.max())
    if rank == count:
        return RowSelection(tuple(range(count)))
    generic = ranks == rank
    left = np.linalg.svd(scaled)[0]
    out = _redundant_rows(left[generic][:, :, rank:], required)
    kept = [i for i in range(count) if i not in out]
    shares = coefficients(scaled[generic], kept, out)
    redundant = []
    for k, i in enumerate(out):
        taking_part = np.abs(shares[:, k]).max(axis=0) > _SHARE if length[i] > 0 else np.zeros(len(kept), dtype=bool)
        redundant.append(RedundantRow(i, tuple(kept[j] for j in np.flatnonzero(taking_part))))
    return RowSelection(tuple(kept), tuple(redundant))


def scaled_rows(samples: Array) -> tuple[Array, Array]:
    """Rows divided by their greatest length over the samples; rows that vanish everywhere become zero."""
    length = np.linalg.norm(samples, axis=2).max(axis=0)
    length = np.where(length > 1e-10 * length.max(), length, 0.0)
    return np.where(length[:, None] > 0, samples / np.where(length > 0, length, 1.0)[:, None], 0.0), length


def _redundant_rows(kernel: Array, required: Sequence[int]) -> list[int]:
    """Rows to leave out, one for each column of the left null spaces (samples × rows × columns): the largest pivots."""
    current = kernel.copy()
    out: list[int] = []
    for _ in range(kernel.shape[2]):
        share = np.linalg.norm(current, axis=2)
        share[:, [*out, *required]] = 0.0
        worst = share.min(axis=0)
        if worst.max() < _SHARE:  # no row is redundant in all samples: take the one that is in most
            worst = np.median(share, axis=0)
        # among equivalent rows the last is left out: residual constraints before contacts, later constraints before earlier ones
        pivot = int(np.flatnonzero(worst >= 0.99 * worst.max())[-1])
        out.append(pivot)
        direction = current[:, pivot, :] / np.maximum(np.linalg.norm(current[:, pivot, :], axis=1), 1e-300)[:, None]
        current -= np.einsum("sij,sj,sk->sik", current, direction, direction)
    return sorted(out)


def coefficients(samples: Array, kept: Sequence[int], out: Sequence[int]) -> Array:
    """C of A_out = C A_kept at each sample (samples × out × kept)."""
    if not kept or not out:
        return np.zeros((len(samples), len(out), len(kept)))
    return np.asarray(samples[:, list(out)] @ np.linalg.pinv(samples[:, list(kept)], rcond=1e-9))


def check_consistent(model: str, names: Sequence[str], selection: RowSelection, samples: Array, drift: Array) -> None:
    """Raise if a redundant row prescribes another rate than the kept rows: a₀ of the redundant rows must be C a₀ of the kept."""
    if not selection.redundant or not np.abs(drift).max(initial=0.0) > 0:
        return
    out = [s.row for s in selection.redundant]
    scaled, length = scaled_rows(samples)
    rates = drift / np.where(length > 0, length, 1.0)
    shares = coefficients(scaled, selection.kept, out)
    given = np.einsum("sok,sk->so", shares, rates[:, list(selection.kept)])
    apart = np.abs(rates[:, out] - given)
    # where the matrix has lost rank the coefficients are not determined
    sizes = np.linalg.svd(scaled[:, list(selection.kept)], compute_uv=False)
    apart[sizes[:, -1] < 1e-3 * sizes[:, -1].max() if selection.kept else np.zeros(len(samples), dtype=bool)] = 0.0
    worst = apart.max(axis=0)
    k = int(np.argmax(worst))
    if worst[k] <= _RATE_TOLERANCE * (1.0 + np.abs(rates).max()):
        return
    redundant = selection.redundant[k]
    others = ", ".join(repr(names[i]) for i in redundant.repeats)
    if not others:
        raise ModelError(
            f"model {model!r}: constraint {names[redundant.row]!r} is driven in time, but no velocity can follow it; give its "
            "bodies a degree of freedom for it, or remove it"
        )
    raise ModelError(
        f"model {model!r}: constraint {names[redundant.row]!r} contradicts {others}: both constrain the same motion, at "
        "different rates; remove one of them, or make their laws in time agree"
    )


def redundancy_messages(names: Sequence[str], selection: RowSelection) -> tuple[list[str], list[str]]:
    """Warnings for every run (forces that are not unique), and notes."""
    warnings, notes = [], []
    for redundant in selection.redundant:
        name = names[redundant.row]
        if not redundant.repeats:
            notes.append(
                f"constraint {name} is satisfied identically: no motion of the mechanism changes it, and it has no force"
            )
            continue
        others = _listed([names[i] for i in redundant.repeats])
        warnings.append(
            f"constraint {name} repeats {others}: it is monitored but not solved for; the forces of these are not unique, only "
            "their resultant is; the smallest that give it are reported"
        )
    return warnings, notes


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

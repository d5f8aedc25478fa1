"""Admissible configurations of a mechanism, drawn over the ranges of its joints and projected onto its position constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.assembled import assembled
from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.model.items import Ball, Float
from draisine.model.system import System
from draisine.numerics.newton_batch import BatchNewton, Indices, LeastNormSteps
from draisine.numerics.uniform_numbers import UniformNumbers
from draisine.program.casadi_functions import evaluate
from draisine.program.equations import Constraint

Array = NDArray[np.float64]

MAX_LEAN = math.radians(70)
MAX_PITCH = math.radians(15)
ADMISSIBLE = 1e-8  # residual below which a sample satisfies the constraints
_ONTO = BatchNewton(tolerance=1e-12, max_iterations=40, damped=True)
_STEPS = LeastNormSteps(rcond=1e-7)  # relative singular value below which residuals are dependent
LATEST_TIME = 10.0  # s; rheonomic constraints are sampled up to this time
MANY_ROWS = 40  # constraint rows beyond which a few configurations near the default are used
MAX_SAMPLED_ROWS = 200  # and beyond which redundancy is not examined
_FEW, _NEARBY = 3, 0.1  # their number, and their relative distance from the default
_TRIALS = 5  # rounds of samples that are projected onto the constraints of a mechanism with loops


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
    ranges = {c.name: c for c in system.coordinates}
    for joint in system.joints:
        for c in (ranges[own.name] for own in joint.coordinates):
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
    joints = sum(len(joint.coordinates) for joint in system.joints)
    for column, c in enumerate([*system.coordinates[:joints], *system.surface_parameters]):
        if c.rate:
            inside &= (points[:, column] >= c.low) & (points[:, column] <= c.high)
    return inside


class ProjectedSamples(NamedTuple):
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

    def at(points: Array, active: Indices) -> tuple[Array, Array]:
        # a wheel that lies flat has no lowest point: such a sample is not finite, and does not converge
        r, j = evaluate(together, (times, points.T, columns))
        return r.T[active], j.reshape(rows, count, -1).transpose(1, 0, 2)[active]

    found = _ONTO.solve(at, samples, _STEPS)
    return ProjectedSamples(found.x, times, found.residual)


@dataclass(frozen=True, eq=False)
class ConfigurationSampler:
    """Draws admissible configurations of a mechanism."""

    system: System
    scope: Scope
    parameters: Array
    positions: list[tuple[Constraint, ca.SX]]  # all position constraints
    matrix: ca.SX  # A and a₀ of A v + a₀ = 0
    drift: ca.SX
    length: float  # typical of the model, m
    contacts: bool  # whether wheels or knife edges are among the constraints
    loops: bool  # whether residual constraints are
    guess: Callable[[Array], Array]  # configurations with surface parameters near those of contact

    def at(self, matrix: ca.SX, points: Array, times: Array) -> Array:
        """A matrix of (t, q, p) at some configurations: samples × rows × columns."""
        scope = self.scope
        function = ca.Function("sampled", [scope.t, scope.q, scope.p], [ca.densify(matrix)]).map(len(points))
        parameters = np.repeat(self.parameters[:, None], len(points), axis=1)
        (values,) = evaluate(function, (times, points.T, parameters))
        return np.asarray(values.reshape(matrix.shape[0], len(points), matrix.shape[1]).transpose(1, 0, 2))

    def draw(self, count: int, seed: int | None = None) -> tuple[Array, Array]:
        """Coordinates and times. The first is the default, if it can be projected onto the constraints."""
        scope = self.scope
        residual = ca.densify(ca.vertcat(*[r for _, r in self.positions]))
        both = [residual, ca.densify(ca.jacobian(residual, scope.q))]
        function = ca.Function("residual", [scope.t, scope.q, scope.p], both)
        points, times = np.empty((0, len(scope.coordinates))), np.empty(0)
        tries: list[ProjectedSamples] = []
        # coordinates of paths take long here
        many = self.matrix.shape[0] > MANY_ROWS or bool(self.system.paths)
        count = min(count, _FEW) if many else count
        # random joint coordinates of a loop are far from closing it: some do not converge, so more are drawn
        for trial in range(_TRIALS if self.loops else 1):
            own = {} if seed is None and trial == 0 else {"seed": (seed or 0) + 7919 * trial}
            starts = self.guess(sample_coordinates(self.system, count, **own))
            if many:
                starts = starts[:1] + _NEARBY * (starts - starts[:1])
            tries.append(project_samples(starts, self._sample_times(count, trial), function, self.parameters))
            reached, when = tries[-1].admissible()
            points, times = np.concatenate([points, reached[trial > 0 :]]), np.concatenate([times, when[trial > 0 :]])
            if 2 * len(points) >= count:
                break
        if len(points) == 0:
            self._raise_unreachable(function, tries)
        if self.system.constraints:
            inside = within_spans(self.system, points)
            inside[0] = True
            if 4 * inside.sum() >= count:  # ranges given by the user are informative; default ranges of angles are not
                points, times = points[inside], times[inside]
        if self.loops and tries[0].size[0] < ADMISSIBLE and self.matrix.shape[0] > 0 and not many:
            points, times = self._assembled(points[:count], times[:count])
        return points[:count], times[:count]

    def _assembled(
        self, points: NDArray[np.float64], times: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The samples without those that no motion connects with the first, where the mobility differs; time is a coordinate of
        driven mechanisms."""
        scope, p = self.scope, self.parameters
        unknowns = ca.vertcat(scope.q, scope.t)
        residual = ca.densify(ca.vertcat(*[r for _, r in self.positions]))
        if not residual.numel():
            return points, times
        function = ca.Function("f", [unknowns, scope.p], [residual, ca.densify(ca.jacobian(residual, unknowns))])

        def residual_at(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
            f, j = evaluate(function, (y, p))
            return (f[:, 0], j) if np.isfinite(f).all() and np.isfinite(j).all() else None

        def rows_at(y: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.nan_to_num(self.at(self.matrix, y[:, :-1], y[:, -1]))

        lengths = [self.length if c.unit == "m" else 1.0 for c in self.system.coordinates]
        sizes = np.array([*lengths, 1.0 if ca.depends_on(residual, scope.t) else 0.0])
        found = assembled(np.column_stack([points, times]), rows_at, residual_at, sizes)
        return found[:, :-1], found[:, -1]

    def _sample_times(self, count: int, seed: int) -> NDArray[np.float64]:
        scope = self.scope
        rest = ca.vertcat(ca.vec(self.matrix), self.drift, *[r for _, r in self.positions])
        if not ca.depends_on(rest, scope.t):
            return np.zeros(count)
        times = np.random.default_rng(seed).uniform(0.0, LATEST_TIME, count)
        times[:1] = 0.0
        return times

    def _raise_unreachable(self, residual: ca.Function, tries: list[ProjectedSamples]) -> None:
        what = "all its wheels touch the ground" if self.contacts else "all its constraints are satisfied"
        if not self.system.constraints:
            raise ModelError(
                f"model {self.system.name!r}: no configuration was found in which {what}; "
                "check radii, hub positions and the ranges of the joints"
            )
        best = min(tries, key=lambda a: float(a.size.min()))
        k = int(np.argmin(best.size))
        left = residual(best.times[k], best.points[k], self.parameters)[0].full()[:, 0]
        worst = int(np.argmax(np.abs(left)))
        constraint = self.positions[worst][0]
        names = ", ".join(constraint.name for constraint in self.system.constraints)
        raise ModelError(
            f"model {self.system.name!r}: no configuration was found in which {what} and its constraints ({names}) are "
            f"satisfied; the best attempt leaves {constraint.name!r} open by {abs(left[worst]):.3g} {constraint.unit}: check "
            "lengths, points, and the ranges and defaults of the joints"
        )

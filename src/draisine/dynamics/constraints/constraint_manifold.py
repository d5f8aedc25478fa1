"""The constraint manifold near a state: constraint rows and kinematics compiled once, and admissible configurations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.assembled import assembled
from draisine.dynamics.constraints.redundancy import RowSelection, select_rows
from draisine.dynamics.constraints.rows import without_rounding
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL, row_rank
from draisine.program.casadi_functions import evaluate
from draisine.program.equations import Equations, Kind
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.shared_expressions import jacobian, shared

Array = NDArray[np.float64]

SAMPLES, FEW_SAMPLES = 6, 2  # admissible configurations near the state at which ranks are computed; fewer for large systems
LARGE = 30  # number of velocities above which a system is large
SPREAD = 0.3  # distance of the samples from the state, in radians or typical lengths
CLOSED = 1e-11  # tolerance of position residuals, in typical lengths
NOTHING = 1e-11  # rows shorter than this are rounding errors
LATER = 0.7312  # a generic later time
PROJECTION = Newton(tolerance=CLOSED, acceptable=1e3 * CLOSED, max_iterations=40)


@dataclass(frozen=True)
class ConstraintSample:
    """Values at one configuration: A v + a₀ = 0, f(q, t) = 0 with its derivatives, and q̇ = N v + n₀."""

    rows: Array
    drift: Array
    residuals: Array
    by_q: Array
    by_time: Array
    velocity_map: Array
    drift_rate: Array

    @property
    def finite(self) -> bool:
        """Whether all values are finite."""
        return all(bool(np.isfinite(a).all()) for a in (self.rows, self.residuals, self.by_q, self.velocity_map))


class StatePoint(Protocol):
    """A state with its inputs and parameters."""

    @property
    def x(self) -> Array: ...

    @property
    def u(self) -> Array: ...

    @property
    def p(self) -> Array: ...


class ConstraintManifold:
    """The constraint manifold of a mechanism near a state: rows and kinematics compiled once, and admissible configurations.

    `equations` define the state: reduced ones where the model gives them. `unreduced` have all velocities as states; None where
    the velocities were eliminated and no unreduced form is known."""

    def __init__(self, equations: Equations, unreduced: Equations | None, motion: StatePoint, time: float = 0.0) -> None:
        self.equations, self.unreduced, self.motion, self.time = equations, unreduced, motion, time
        self.t, self.q, self.v, self.u, self.p = equations.motion.symbols()
        (self._residuals, _) = equations.motion.function.call([self.t, self.q, self.v, self.u, self.p])
        listed = list(enumerate(equations.constraints))
        self._velocity_rows = [i for i, c in listed if c.level == "velocity"]
        self._position_rows = [i for i, c in listed if c.level == "position"]
        self.row_names = tuple(equations.constraints[i].name for i in self._velocity_rows)
        self.position_names = tuple(equations.constraints[i].name for i in self._position_rows)
        # norms of quaternions are invariants of q̇ = N v
        self.holonomic = [k for k, i in enumerate(self._position_rows) if equations.constraints[i].kind != Kind.NORM]
        self.velocities = tuple(v.name for v in equations.velocities)

    @property
    def large(self) -> bool:
        """Whether to use fewer samples."""
        return len(self.velocities) > LARGE

    # ---------------------------------------------------------------- symbols

    @cached_property
    def rows(self) -> ca.SX:
        """A(q, t), one row for each velocity constraint."""
        return jacobian(self._rates, self.v)

    @cached_property
    def drift(self) -> ca.SX:
        """a₀(q, t) of A v + a₀ = 0."""
        return ca.substitute(self._rates, self.v, ca.SX.zeros(self.v.numel()))

    @cached_property
    def position_residuals(self) -> ca.SX:
        """f(q, t), norms of quaternions among them."""
        return self._residuals[self._position_rows] if self._position_rows else ca.SX(0, 1)

    @property
    def _rates(self) -> ca.SX:
        return self._residuals[self._velocity_rows] if self._velocity_rows else ca.SX(0, 1)

    @cached_property
    def state_kinematics(self) -> tuple[ca.SX, ca.SX]:
        """∂q̇/∂(velocities among the states), and q̇ where these are zero."""
        return _kinematics(self.equations, self.t, self.q, self.u, self.p)

    @cached_property
    def kinematics(self) -> tuple[ca.SX, ca.SX]:
        """N and n₀ of q̇ = N v + n₀ for all velocities; where some are eliminated, for the remaining ones."""
        return (
            _kinematics(self.unreduced, self.t, self.q, self.u, self.p) if self.unreduced is not None else self.state_kinematics
        )

    # ---------------------------------------------------------------- numbers

    @cached_property
    def _sample_function(self) -> ca.Function:
        velocity_map, drift_rate = self.kinematics
        parts = [
            self.rows,
            self.drift,
            self.position_residuals,
            ca.jacobian(self.position_residuals, self.q),
            ca.jacobian(self.position_residuals, self.t),
            velocity_map,
            drift_rate,
        ]
        return ca.Function("sample_at", [self.t, self.q, self.u, self.p], shared([ca.densify(e) for e in parts]))

    def sample_at(self, q: Array, t: float | None = None) -> ConstraintSample:
        """All values at one configuration."""
        found = evaluate(self._sample_function, (self._when(t), q, self.motion.u, self.motion.p))
        rows, drift, residuals, by_q, by_time, velocity_map, drift_rate = found
        return ConstraintSample(rows, drift[:, 0], residuals[:, 0], by_q, by_time[:, 0], velocity_map, drift_rate[:, 0])

    @cached_property
    def _residual_function(self) -> ca.Function:
        parts = [
            self.position_residuals,
            ca.jacobian(self.position_residuals, self.q),
            ca.jacobian(self.position_residuals, self.t),
        ]
        return ca.Function("residuals", [self.t, self.q, self.u, self.p], shared([ca.densify(e) for e in parts]))

    def _when(self, t: float | None) -> float:
        return self.time if t is None else t

    def position_residuals_at(self, q: Array, t: float | None = None) -> tuple[Array, Array, Array] | None:
        """f(q, t) and its derivatives by q and t; None where they are not finite."""
        residuals, by_q, by_time = evaluate(self._residual_function, (self._when(t), q, self.motion.u, self.motion.p))
        return (residuals[:, 0], by_q, by_time[:, 0]) if np.isfinite(residuals).all() and np.isfinite(by_q).all() else None

    @cached_property
    def _row_function(self) -> ca.Function:
        kept = list(self.selection.kept)
        return ca.Function("rows", [self.t, self.q, self.u, self.p], [ca.densify(self.rows[kept, :])])

    def rows_at(self, q: Array, t: float | None = None) -> Array:
        """The independent rows, scaled by their lengths."""
        (rows,) = evaluate(self._row_function, (self._when(t), q, self.motion.u, self.motion.p))
        return np.asarray(rows / self.row_lengths[list(self.selection.kept), None])

    @cached_property
    def configuration(self) -> Array:
        """The configuration of the state."""
        return self.motion.x[: len(self.equations.coordinates)]

    @cached_property
    def velocity_values(self) -> Array:
        """All velocities of the state."""
        e, motion = self.equations, self.motion
        if len(e.independent) == len(e.velocities):
            return motion.x[len(self.configuration) :][: len(e.velocities)]
        reported = e.report([self.time], motion.x, motion.u, motion.p)
        return np.asarray(reported[[slot.name for slot in e.report.outputs].index("v")])

    @cached_property
    def sizes(self) -> Array:
        """Scale of each coordinate: a radian or a typical length."""
        lengths = [
            abs(x) for c, x in zip(self.equations.coordinates, self.configuration, strict=True) if c.unit == "m" and abs(x) > 1e-9
        ]
        typical = float(np.median(lengths)) if lengths else 1.0
        return np.array([typical if c.unit == "m" else 1.0 for c in self.equations.coordinates])

    def project(self, q: Array, t: float | None = None, fixed: NDArray[np.bool_] | None = None) -> Array | None:
        """The nearest admissible configuration, by least-norm Newton steps; None without convergence. Coordinates that are
        `fixed` do not change."""
        sizes = self.sizes if fixed is None else np.where(fixed, 0.0, self.sizes)
        found = PROJECTION.solve(lambda q: self._evaluated(q, t), q, LeastNorm(RTOL, sizes))
        return found.point.x if found.converged else None

    def _evaluated(self, q: Array, t: float | None) -> tuple[Array, Array] | None:
        found = self.position_residuals_at(q, t)
        return None if found is None else found[:2]

    @cached_property
    def configurations(self) -> list[Array]:
        """The state's configuration, then generic ones near it. Ranks may be lower at the former."""
        found = [self.configuration]
        for seed in range(FEW_SAMPLES if self.large else SAMPLES):
            rng = np.random.default_rng([2026, seed])
            offset = rng.uniform(-1.0, 1.0, len(self.configuration)) * self.sizes
            tries = (self.project(self.configuration + SPREAD * part * offset) for part in (1.0, 0.5, 0.2, 0.05))
            found_near = next((q for q in tries if q is not None and self.sample_at(q).finite), None)
            if found_near is not None:
                found.append(found_near)
        if not self._position_rows or not self.row_names or not self.sample_at(found[0]).finite:
            return found

        def rows_at(points: Array) -> Array:
            return np.array([self.sample_at(q).rows for q in points])

        return list(assembled(np.array(found), rows_at, lambda q: self._evaluated(q, None), self.sizes))

    @cached_property
    def samples(self) -> list[ConstraintSample]:
        """Finite values at `configurations`."""
        return [sight for sight in map(self.sample_at, self.configurations) if sight.finite]

    @property
    def generic(self) -> Array:
        """A generic configuration."""
        return self.configurations[-1]

    # ---------------------------------------------------------------- independent rows

    @cached_property
    def selection(self) -> RowSelection:
        """Independent velocity constraints, and redundant ones."""
        if not self.row_names or not self.samples:
            return RowSelection(())
        return select_rows(without_rounding(np.array([s.rows for s in self.samples]), float(self.sizes.min(initial=1.0))))

    @cached_property
    def row_lengths(self) -> Array:
        """Largest lengths of the rows over the samples; rows are scaled by these."""
        longest = np.max([np.linalg.norm(s.rows, axis=1) for s in self.samples], axis=0) if self.samples else np.zeros(0)
        return np.where(longest > 0, longest, 1.0)

    def kept_rows(self, sight: ConstraintSample) -> Array:
        """The independent rows, scaled by their lengths."""
        kept = list(self.selection.kept)
        return np.asarray(sight.rows[kept] / self.row_lengths[kept, None])

    def position_rows(self, sight: ConstraintSample) -> Array:
        """Rates of the position constraints, ∂f/∂q N, without norms of quaternions; ∂f/∂q where N is not known."""
        slope = sight.by_q[self.holonomic]
        return np.asarray(slope @ sight.velocity_map) if self.unreduced is not None else slope

    @cached_property
    def position_rank(self) -> int:
        """Number of independent position constraints."""
        return max((row_rank(self.position_rows(s)) for s in self.samples), default=0)

    @cached_property
    def lags(self) -> list[int]:
        """Coordinates that are not positions, since no velocity changes them."""
        moved = (
            np.max([np.abs(s.velocity_map).max(axis=1, initial=0.0) for s in self.samples], axis=0)
            if self.samples
            else np.ones(0)
        )
        return [int(i) for i in np.flatnonzero(moved == 0.0)]

    @cached_property
    def directions(self) -> int:
        """Dimension of the configuration space without constraints. Velocities that change no coordinate, such as the spin of a
        homogeneous ball, do not count."""
        if self.unreduced is None:
            return len(self.velocities)
        return max((row_rank(s.velocity_map) for s in self.samples), default=0)

    @cached_property
    def rheonomic(self) -> bool:
        """Whether some constraint depends on time."""
        later = [self.sample_at(q, LATER) for q in self.configurations]  # a law such as 1 − cos(t) may have zero rate at t = 0
        return any(
            max(np.abs(s.drift).max(initial=0.0), np.abs(s.by_time).max(initial=0.0)) > NOTHING for s in (*self.samples, *later)
        )


def _kinematics(e: Equations, t: ca.SX, q: ca.SX, u: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
    """∂q̇/∂(velocities among the states), and q̇ where they are zero."""
    speeds = ca.SX.sym("speeds", len(e.independent))
    x = ca.vertcat(q, speeds, ca.SX.zeros(len(e.extra_states)))
    dynamics, arguments = e.explicit, [t, x, u, p]
    if isinstance(dynamics, LinearSolveProgram):
        xdot = dynamics.after.function.call([*arguments, ca.SX.zeros(dynamics.size, dynamics.sides)])[0]
    else:
        xdot = dynamics.function.call(arguments)[0]
    rate = xdot[: q.numel()]
    velocity_map, drift_rate = jacobian(rate, speeds), ca.substitute(rate, speeds, ca.SX.zeros(speeds.numel()))
    for i in _lagging(velocity_map, speeds):
        velocity_map[i, :], drift_rate[i] = 0, 0
    return velocity_map, drift_rate


def _lagging(velocity_map: ca.SX, speeds: ca.SX) -> list[int]:
    """States that relax towards the slip of a tire are not positions: their rates are not linear in the velocities."""
    if not ca.depends_on(velocity_map, speeds):
        return []
    return [i for i in range(velocity_map.shape[0]) if ca.depends_on(velocity_map[i, :], speeds)]

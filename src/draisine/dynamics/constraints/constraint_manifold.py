"""A mechanism with constraints at a state: rows and kinematics compiled once, and admissible places near it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.redundancy import Selection, select_rows
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL, row_rank
from draisine.program.casadi_functions import evaluate
from draisine.program.equations import Equations, Kind
from draisine.program.linear_solve import LinearSolveProgram

Array = NDArray[np.float64]

LOOKS, FEW_LOOKS = 6, 2  # admissible configurations near the state at which ranks are judged; few of them for large systems
LARGE = 30  # velocities from which a system is large
SHAKEN = 0.3  # how far from it, in radians or in typical lengths
CLOSED = 1e-11  # residuals of position constraints, in typical lengths, that count as none
NOTHING = 1e-11  # length of a row that is round-off alone
LATER = 0.7312  # a time that is in no way special
ONTO = Newton(tolerance=CLOSED, acceptable=1e3 * CLOSED, max_iterations=40)


@dataclass(frozen=True)
class Sight:
    """Numbers at one configuration: A v + a₀ = 0, f(q, t) = 0 with its slopes, and q̇ = N v + n₀."""

    rows: Array
    drift: Array
    gaps: Array
    by_place: Array
    by_time: Array
    moving: Array
    carried: Array

    @property
    def finite(self) -> bool:
        """Whether everything has a meaning there."""
        return all(bool(np.isfinite(a).all()) for a in (self.rows, self.gaps, self.by_place, self.moving))


class Moment(Protocol):
    """A state with its inputs and parameters."""

    @property
    def x(self) -> Array: ...

    @property
    def u(self) -> Array: ...

    @property
    def p(self) -> Array: ...


class Constrained:
    """A mechanism with velocities, at a state.

    `equations` are those whose state it is: reduced ones where the model gives them. `whole` have all velocities as states; they
    are None where somebody has eliminated velocities and kept nothing else.
    """

    def __init__(self, equations: Equations, whole: Equations | None, motion: Moment, time: float = 0.0) -> None:
        self.equations, self.whole, self.motion, self.time = equations, whole, motion, time
        self.t, self.q, self.v, self.u, self.p = equations.motion.symbols()
        (self._residuals, _) = equations.motion.function.call([self.t, self.q, self.v, self.u, self.p])
        listed = list(enumerate(equations.constraints))
        self._row_places = [i for i, c in listed if c.level == "velocity"]
        self._gap_places = [i for i, c in listed if c.level == "position"]
        self.row_names = tuple(equations.constraints[i].name for i in self._row_places)
        self.gap_names = tuple(equations.constraints[i].name for i in self._gap_places)
        # norms of quaternions hold by themselves: q̇ = N v keeps them
        self.held = [k for k, i in enumerate(self._gap_places) if equations.constraints[i].kind != Kind.NORM]
        self.velocities = tuple(v.name for v in equations.velocities)

    @property
    def large(self) -> bool:
        """Whether to be sparing with what is looked at."""
        return len(self.velocities) > LARGE

    # ---------------------------------------------------------------- symbols

    @cached_property
    def rows(self) -> ca.SX:
        """A(q, t), one row for each velocity constraint."""
        return ca.jacobian(self._rates, self.v)

    @cached_property
    def drift(self) -> ca.SX:
        """a₀(q, t) of A v + a₀ = 0."""
        return ca.substitute(self._rates, self.v, ca.SX.zeros(self.v.numel()))

    @cached_property
    def gaps(self) -> ca.SX:
        """f(q, t), norms of quaternions among them."""
        return self._residuals[self._gap_places] if self._gap_places else ca.SX(0, 1)

    @property
    def _rates(self) -> ca.SX:
        return self._residuals[self._row_places] if self._row_places else ca.SX(0, 1)

    @cached_property
    def own_fields(self) -> tuple[ca.SX, ca.SX]:
        """q̇ by the velocities among the states, and what is left of it where these are zero."""
        return _kinematics(self.equations, self.t, self.q, self.u, self.p)

    @cached_property
    def fields(self) -> tuple[ca.SX, ca.SX]:
        """N and n₀ of q̇ = N v + n₀ for all velocities; where some are eliminated, for the others alone."""
        return _kinematics(self.whole, self.t, self.q, self.u, self.p) if self.whole is not None else self.own_fields

    # ---------------------------------------------------------------- numbers

    @cached_property
    def _look(self) -> ca.Function:
        moving, carried = self.fields
        parts = [
            self.rows,
            self.drift,
            self.gaps,
            ca.jacobian(self.gaps, self.q),
            ca.jacobian(self.gaps, self.t),
            moving,
            carried,
        ]
        return ca.Function("look", [self.t, self.q, self.u, self.p], ca.cse([ca.densify(e) for e in parts]))

    def look(self, q: Array, t: float | None = None) -> Sight:
        """Everything at one configuration."""
        found = evaluate(self._look, (self._when(t), q, self.motion.u, self.motion.p))
        rows, drift, gaps, by_place, by_time, moving, carried = found
        return Sight(rows, drift[:, 0], gaps[:, 0], by_place, by_time[:, 0], moving, carried[:, 0])

    @cached_property
    def _look_at_gaps(self) -> ca.Function:
        parts = [self.gaps, ca.jacobian(self.gaps, self.q), ca.jacobian(self.gaps, self.t)]
        return ca.Function("gaps", [self.t, self.q, self.u, self.p], ca.cse([ca.densify(e) for e in parts]))

    def _when(self, t: float | None) -> float:
        return self.time if t is None else t

    def open_gaps(self, q: Array, t: float | None = None) -> tuple[Array, Array, Array] | None:
        """f(q, t) and its slopes by q and by t; None where they have no meaning."""
        gaps, by_place, by_time = evaluate(self._look_at_gaps, (self._when(t), q, self.motion.u, self.motion.p))
        return (gaps[:, 0], by_place, by_time[:, 0]) if np.isfinite(gaps).all() and np.isfinite(by_place).all() else None

    @cached_property
    def _look_at_rows(self) -> ca.Function:
        kept = list(self.selection.kept)
        return ca.Function("rows", [self.t, self.q, self.u, self.p], [ca.densify(self.rows[kept, :])])

    def rows_at(self, q: Array, t: float | None = None) -> Array:
        """The rows that count, in units of their lengths."""
        (rows,) = evaluate(self._look_at_rows, (self._when(t), q, self.motion.u, self.motion.p))
        return np.asarray(rows / self.lengths[list(self.selection.kept), None])

    @cached_property
    def place(self) -> Array:
        """The configuration of the state."""
        return self.motion.x[: len(self.equations.coordinates)]

    @cached_property
    def speeds(self) -> Array:
        """All velocities of the state."""
        e, motion = self.equations, self.motion
        if len(e.independent) == len(e.velocities):
            return motion.x[len(self.place) :][: len(e.velocities)]
        reported = e.report([self.time], motion.x, motion.u, motion.p)
        return np.asarray(reported[[slot.name for slot in e.report.outputs].index("v")])

    @cached_property
    def sizes(self) -> Array:
        """What counts as a large change of each coordinate: a radian, a typical length."""
        lengths = [abs(x) for c, x in zip(self.equations.coordinates, self.place, strict=True) if c.unit == "m" and abs(x) > 1e-9]
        typical = float(np.median(lengths)) if lengths else 1.0
        return np.array([typical if c.unit == "m" else 1.0 for c in self.equations.coordinates])

    def onto(self, q: Array, t: float | None = None, held: NDArray[np.bool_] | None = None) -> Array | None:
        """The admissible configuration nearest by, by Newton's steps of least change; None if they lead nowhere. Coordinates that
        are `held` stay."""
        sizes = self.sizes if held is None else np.where(held, 0.0, self.sizes)

        def evaluate(q: Array) -> tuple[Array, Array] | None:
            found = self.open_gaps(q, t)
            return None if found is None else found[:2]

        found = ONTO.solve(evaluate, q, LeastNorm(RTOL, sizes))
        return found.point.x if found.converged else None

    @cached_property
    def places(self) -> list[Array]:
        """The state's configuration, then others near it that are in no way special. Brackets and ranks may be less at the
        former."""
        found = [self.place]
        for seed in range(FEW_LOOKS if self.large else LOOKS):
            rng = np.random.default_rng([2026, seed])
            shake = rng.uniform(-1.0, 1.0, len(self.place)) * self.sizes
            tries = (self.onto(self.place + SHAKEN * part * shake) for part in (1.0, 0.5, 0.2, 0.05))
            there = next((q for q in tries if q is not None and self.look(q).finite), None)
            if there is not None:
                found.append(there)
        return found

    @cached_property
    def sights(self) -> list[Sight]:
        """What is seen at `places`, less those where something has no meaning."""
        return [sight for sight in map(self.look, self.places) if sight.finite]

    @property
    def generic(self) -> Array:
        """A configuration that is in no way special."""
        return self.places[-1]

    # ---------------------------------------------------------------- which rows count

    @cached_property
    def selection(self) -> Selection:
        """Velocity constraints that count, and those that repeat others."""
        if not self.row_names or not self.sights:
            return Selection(())
        return select_rows(np.array([s.rows for s in self.sights]))

    @cached_property
    def lengths(self) -> Array:
        """Of the rows, at their longest: rows are judged in units of these."""
        longest = np.max([np.linalg.norm(s.rows, axis=1) for s in self.sights], axis=0) if self.sights else np.zeros(0)
        return np.where(longest > 0, longest, 1.0)

    def kept_rows(self, sight: Sight) -> Array:
        """The rows that count, in units of their lengths."""
        kept = list(self.selection.kept)
        return np.asarray(sight.rows[kept] / self.lengths[kept, None])

    def held_rows(self, sight: Sight) -> Array:
        """Rates of the position constraints, ∂f/∂q N, norms of quaternions left out; ∂f/∂q where N is not known."""
        slope = sight.by_place[self.held]
        return np.asarray(slope @ sight.moving) if self.whole is not None else slope

    @cached_property
    def held_rank(self) -> int:
        """Independent position constraints."""
        return max((row_rank(self.held_rows(s)) for s in self.sights), default=0)

    @cached_property
    def lags(self) -> list[int]:
        """Coordinates that are no positions, since no velocity moves them."""
        moved = np.max([np.abs(s.moving).max(axis=1, initial=0.0) for s in self.sights], axis=0) if self.sights else np.ones(0)
        return [int(i) for i in np.flatnonzero(moved == 0.0)]

    @cached_property
    def directions(self) -> int:
        """Directions in which the coordinates could go without constraints. Velocities of which no coordinate tells, such as
        those of a ball that looks the same from all sides, do not count."""
        if self.whole is None:
            return len(self.velocities)
        return max((row_rank(s.moving) for s in self.sights), default=0)

    @cached_property
    def moves_by_itself(self) -> bool:
        """Whether some constraint moves in time."""
        later = [self.look(q, LATER) for q in self.places]  # a law such as 1 − cos(t) may rest at first
        return any(
            max(np.abs(s.drift).max(initial=0.0), np.abs(s.by_time).max(initial=0.0)) > NOTHING for s in (*self.sights, *later)
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
    moving, carried = ca.jacobian(rate, speeds), ca.substitute(rate, speeds, ca.SX.zeros(speeds.numel()))
    for i in _lagging(moving, speeds):
        moving[i, :], carried[i] = 0, 0
    return moving, carried


def _lagging(moving: ca.SX, speeds: ca.SX) -> list[int]:
    """What lags behind velocities (slips of tires) is no position: it changes by a law that is not linear in velocities."""
    if not ca.depends_on(moving, speeds):
        return []
    return [i for i in range(moving.shape[0]) if ca.depends_on(moving[i, :], speeds)]

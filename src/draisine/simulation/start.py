"""Consistent starts: coordinates and velocities that fulfil the constraints and a few wishes, and stay close to the defaults.

Positions first. The coordinates closest to their defaults are sought among those that fulfil every constraint and wish that
does not depend on velocities; a coordinate wished for by name is held. Then, at these coordinates, the smallest change of
the velocities from their defaults is sought in the same way. Of the independent velocities, as many as possible
stay at their defaults: who wishes for a speed with the bar turned does not wish for a steer rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.simulation.closest import Rows, closest_point, fulfilled
from draisine.simulation.names import numbers, unknown_name

Reals = NDArray[np.float64]

FULFILLED = 1e-9  # relative to 1 + |value wished for|
TRUSTED = 1e3  # times the limit of the condition: beyond, the report's velocities are not used


class InconsistentStart(ValueError):
    """No start fulfils all constraints and wishes. `leftover` has the residual of each that is not fulfilled, by name."""

    def __init__(self, message: str, leftover: Mapping[str, float]) -> None:
        super().__init__(message)
        self.leftover = dict(leftover)


@dataclass(frozen=True)
class Wish:
    """What was asked for, and what the start has."""

    name: str
    wanted: float
    got: float
    how: str  # "coordinate", "velocity", "output" or "state"


@dataclass(frozen=True)
class StartReport:
    """What was wished for, what was moved from its default to fulfil it, and what is left of the constraints."""

    wishes: tuple[Wish, ...]
    moved: tuple[tuple[str, float, float], ...]  # name, default, value
    residuals: tuple[tuple[str, float], ...]  # constraint, residual

    @property
    def largest_residual(self) -> float:
        return max((abs(r) for _, r in self.residuals), default=0.0)

    def __str__(self) -> str:
        lines = ["consistent start"]
        lines += [f"  wished  {w.name} = {w.wanted:g} ({w.how}), got {w.got:.12g}" for w in self.wishes]
        lines += [f"  solved  {name} = {value:.6g} (default {default:g})" for name, default, value in self.moved]
        if self.residuals:
            worst = max(self.residuals, key=lambda pair: abs(pair[1]))
            lines.append(f"  largest residual {abs(worst[1]):.1e} ({worst[0]})")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Start:
    """A consistent start: coordinates, all velocities, and the state `x` of the equations."""

    q: Reals
    v: Reals
    x: Reals
    report: StartReport


@dataclass(frozen=True, eq=False)
class StartProblem:
    """Equations with the derivatives that starts are solved with; worth keeping when many starts are wanted."""

    equations: Equations

    @cached_property
    def motion(self) -> Program:
        """The motion with its Jacobians."""
        motion = self.equations.motion
        symbols = motion.symbols()
        results = dict(zip((s.name for s in motion.outputs), motion.function.call(symbols), strict=True))
        q, v = (symbols[[s.name for s in motion.inputs].index(name)] for name in ("q", "v"))
        values = ca.vertcat(results["residuals"], results["outputs"])
        return Program.build(
            f"{motion.name}_with_jacobians",
            {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)},
            {"values": values, "by_q": ca.jacobian(values, q), "by_v": ca.jacobian(values, v)},
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the values: constraints, then outputs."""
        return (*(c.name for c in self.equations.constraints), *self.equations.motion.output("outputs").labels)

    @cached_property
    def depends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which values depend on any coordinate, and on any velocity, by structure."""
        motion = self.equations.motion
        ins, outs = [s.name for s in motion.inputs], [s.name for s in motion.outputs]

        def rows(of: str) -> NDArray[np.bool_]:
            parts = [
                _rows_with_entries(motion.function.jac_sparsity(outs.index(o), ins.index(of))) for o in ("residuals", "outputs")
            ]
            return np.concatenate(parts)

        return rows("q"), rows("v")

    @cached_property
    def curved(self) -> NDArray[np.bool_]:
        """Which values depend on velocities in another way than linearly."""
        motion = self.equations.motion
        symbols = motion.symbols()
        v = symbols[[s.name for s in motion.inputs].index("v")]
        if not v.numel():
            return np.zeros(len(self.names), dtype=bool)
        results = dict(zip((s.name for s in motion.outputs), motion.function.call(symbols), strict=True))
        return np.array(ca.which_depends(ca.vertcat(results["residuals"], results["outputs"]), v, 2, True), dtype=bool)

    def evaluate(self, q: Reals, v: Reals, others: tuple[float, Reals, Reals]) -> tuple[Reals, Reals, Reals]:
        """Values and their Jacobians by q and v."""
        t, u, p = others
        given: dict[str, ArrayLike] = {"t": [t], "q": q, "v": v, "u": u, "p": p}
        values, by_q, by_v = self.motion(*[given[slot.name] for slot in self.motion.inputs])
        count = len(values)
        return values, by_q.reshape(count, len(q)), by_v.reshape(count, len(v))


def _rows_with_entries(pattern: ca.Sparsity) -> NDArray[np.bool_]:
    found = np.zeros(pattern.size1(), dtype=bool)
    found[np.asarray(pattern.row(), dtype=int)] = True
    return found


def consistent_start(
    equations: Equations | StartProblem,
    wishes: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | ArrayLike | None = None,
    *,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    time: float = 0.0,
) -> Start:
    """Solve for a start from partial wishes, which name coordinates, velocities, outputs or further states."""
    problem = equations if isinstance(equations, StartProblem) else StartProblem(equations)
    e = problem.equations
    p, u = numbers("parameter", e.parameters, parameters), numbers("input", e.inputs, inputs)
    return _Solver(problem, _sorted_wishes(e, wishes or {}), (float(time), u, p)).solve()


@dataclass(frozen=True)
class _Wishes:
    coordinates: Mapping[str, float]
    velocities: Mapping[str, float]
    outputs: Mapping[str, float]
    states: Mapping[str, float]  # beyond coordinates and velocities


def _sorted_wishes(e: Equations, wishes: Mapping[str, float]) -> _Wishes:
    homes = {
        "coordinates": [q.name for q in e.coordinates],
        "velocities": [v.name for v in e.velocities],
        "outputs": list(e.motion.output("outputs").labels),
        "states": [s.name for s in e.extra_states],
    }
    found: dict[str, dict[str, float]] = {home: {} for home in homes}
    for name, value in wishes.items():
        if not np.isfinite(value):
            raise ValueError(f"{e.name}: the start wishes {name} = {value}; give a finite number")
        if name in e.force_outputs:
            raise ValueError(
                f"{e.name}: {name!r} depends on accelerations or forces and cannot be wished for at the start; wish for "
                "coordinates, velocities or outputs that depend on these alone"
            )
        home = next((h for h, names in homes.items() if name in names), None)
        if home is None:
            raise unknown_name(
                f"coordinate, velocity or output of {e.name}", name, [n for names in homes.values() for n in names]
            )
        found[home][name] = float(value)
    return _Wishes(**found)


class _Solver:
    """One start: positions, then velocities."""

    def __init__(self, problem: StartProblem, wishes: _Wishes, others: tuple[float, Reals, Reals]) -> None:
        self._problem, self._wishes, self._others = problem, wishes, others
        self._target = np.array([wishes.outputs.get(name, 0.0) for name in problem.names])
        self._scale = 1.0 + np.abs(self._target)  # residuals are relative to it
        constraints = len(problem.equations.constraints)
        # Every constraint counts; an output only if it was wished for.
        wanted = np.array([i < constraints or name in wishes.outputs for i, name in enumerate(problem.names)], dtype=bool)
        by_velocity = problem.depends[1]
        self._position_rows = np.flatnonzero(wanted & ~by_velocity)
        self._velocity_rows = np.flatnonzero(wanted & by_velocity)

    def solve(self) -> Start:
        e = self._problem.equations
        q0, v0 = np.array([q.default for q in e.coordinates]), np.array([v.default for v in e.velocities])
        q = self._positions(q0, v0)
        v = self._velocities(q, v0) if len(v0) else v0
        return Start(q, v, self._state(q, v), self._report(q, v, q0, v0))

    def _positions(self, q0: Reals, v0: Reals) -> Reals:
        rows, target = self._position_rows, self._target[self._position_rows]

        def residual(q: Reals) -> tuple[Reals, Reals]:
            values, by_q, _ = self._problem.evaluate(q, v0, self._others)
            return (values[rows] - target) / self._scale[rows], by_q[rows] / self._scale[rows, None]

        names = [q.name for q in self._problem.equations.coordinates]
        return self._closest(residual, names, q0, self._wishes.coordinates, rows, "position")

    def _velocities(self, q: Reals, v0: Reals) -> Reals:
        names = [v.name for v in self._problem.equations.velocities]
        residual = self._velocity_residual(q, None)
        v = self._closest(residual, names, v0, self._wishes.velocities, self._velocity_rows, "velocity")
        more = self._hidden(q, v)
        if more is not None:
            residual = self._velocity_residual(q, more)
            v = self._closest(residual, names, v0, self._wishes.velocities, self._velocity_rows, "velocity")
        return self._calmed(residual, names, v, v0)

    def _calmed(self, residual: Rows, names: list[str], v: Reals, v0: Reals) -> Reals:
        """The same wishes with as few independent velocities moved from their defaults as will do.

        One after the other is put back, that first which asks least of the others; those that are needed, or whose absence
        would drive the others beyond reason, stay as they are.
        """
        wished = self._wishes.velocities
        chosen = [names.index(name) for name in self._problem.equations.independent]
        free = np.array([name not in wished for name in names], dtype=bool)
        reference = np.where(free, v0, v)
        bound = 10.0 * float(np.linalg.norm(v - v0))
        free[[i for i in chosen if v[i] == v0[i]]] = False

        def without(i: int) -> tuple[float, int, Reals]:
            fewer, begin = free.copy(), v.copy()
            fewer[i], begin[i] = False, v0[i]
            other, r = closest_point(residual, reference, fewer, begin)
            size = float(np.linalg.norm((other - v0)[chosen]))
            return (size if fulfilled(r) and np.linalg.norm(other - v0) <= bound else np.inf), i, other

        while True:
            moved = sorted((i for i in chosen if free[i]), key=lambda i: abs(v[i] - v0[i]))
            # Among many, only those that have moved least are tried; the others are needed in all likelihood.
            size, i, other = min((without(i) for i in moved[:8]), key=lambda trial: trial[:2], default=(np.inf, 0, v))
            if not np.isfinite(size):
                return v
            free[i], v = False, other

    def _velocity_residual(self, q: Reals, more: tuple[Reals, Reals] | None) -> Rows:
        rows, target = self._velocity_rows, self._target[self._velocity_rows]
        origin = np.array([v.default for v in self._problem.equations.velocities])
        straight = not np.any(self._problem.curved[rows])
        known = self._problem.evaluate(q, origin, self._others) if straight else None

        def evaluate(v: Reals) -> tuple[Reals, Reals]:
            if known is not None:  # linear in v: one evaluation serves all
                return known[0] + known[2] @ (v - origin), known[2]
            values, _, by_v = self._problem.evaluate(q, v, self._others)
            return values, by_v

        def residual(v: Reals) -> tuple[Reals, Reals]:
            values, by_v = evaluate(v)
            r, jacobian = (values[rows] - target) / self._scale[rows], by_v[rows] / self._scale[rows, None]
            if more is not None:
                matrix, offset = more
                r, jacobian = np.concatenate([r, matrix @ v - offset]), np.vstack([jacobian, matrix])
            return r, jacobian

        return residual

    def _closest(
        self, residual: Rows, names: list[str], reference: Reals, held: Mapping[str, float], rows: NDArray[np.intp], level: str
    ) -> Reals:
        begin = reference.copy()
        for name, value in held.items():
            begin[names.index(name)] = value
        free = np.array([name not in held for name in names], dtype=bool)
        y, r = closest_point(residual, begin, free)
        self._complain(y, r, rows, names, held, level, residual)
        return y

    def _complain(
        self,
        y: Reals,
        r: Reals,
        rows: NDArray[np.intp],
        names: list[str],
        held: Mapping[str, float],
        level: str,
        residual: Rows,
    ) -> None:
        labels = [self._problem.names[i] for i in rows] + [f"dependence of {name}" for name in names]
        bad = np.flatnonzero(~(np.abs(r) <= FULFILLED))
        if not bad.size:
            return
        r = r * np.concatenate([self._scale[rows], np.ones(len(r) - len(rows))])
        leftover = {labels[i]: float(r[i]) for i in bad}
        constraints = len(self._problem.equations.constraints)
        said = []
        for i in bad:
            is_wish = i < len(rows) and rows[i] >= constraints
            kind = f"wish {labels[i]} = {self._target[rows[i]]:g}" if is_wish else f"constraint {labels[i]!r}"
            said.append(f"{kind} is off by {r[i]:.3g}")
        jacobian = residual(y)[1]
        partners = [f"{name} = {held[name]:g}" for name in held if np.any(np.abs(jacobian[bad, names.index(name)]) > 0.0)]
        also = f"; held fixed with them: {', '.join(partners)}" if partners else ""
        raise InconsistentStart(
            f"{self._problem.equations.name}: no start fulfils all {level} constraints and wishes: {'; '.join(said)}{also}. Drop "
            "one of these wishes, or change the defaults of the coordinates so that they come closer",
            leftover,
        )

    def _hidden(self, q: Reals, v: Reals) -> tuple[Reals, Reals] | None:
        """Rows that tie the dependent velocities to the independent ones, if the solution breaks them.

        The rate of a position constraint may have no row of its own among the residuals; the report knows it.
        """
        e = self._problem.equations
        t, u, p = self._others
        slot = [s.name for s in e.report.outputs].index("v")
        if e.monitor is not None and not e.monitor([t], self._state(q, v), u, p)[0][0] <= TRUSTED * e.condition_limit:
            return None  # the independent velocities say nothing about the others here

        def full(speeds: Reals) -> Reals:
            return e.report([t], self._state(q, speeds), u, p)[slot]

        given = full(v)
        if not np.all(np.isfinite(given)) or np.allclose(given, v, rtol=1e-8, atol=1e-9 * (1.0 + float(np.abs(v).max()))):
            return None
        offset = full(np.zeros_like(v))
        columns = [full(unit) - offset for unit in np.eye(len(v))]  # the map is linear; dependent velocities do not enter it
        return np.eye(len(v)) - np.column_stack(columns), offset

    def _state(self, q: Reals, v: Reals) -> Reals:
        e = self._problem.equations
        place = {velocity.name: i for i, velocity in enumerate(e.velocities)}
        speeds = [v[place[name]] for name in e.independent]
        return np.concatenate([q, speeds, [self._wishes.states.get(s.name, s.default) for s in e.extra_states]])

    def _report(self, q: Reals, v: Reals, q0: Reals, v0: Reals) -> StartReport:
        e, problem = self._problem.equations, self._problem
        values = dict(zip(problem.names, problem.evaluate(q, v, self._others)[0], strict=True))
        solved = {
            **dict(zip((c.name for c in e.coordinates), q, strict=True)),
            **dict(zip((c.name for c in e.velocities), v, strict=True)),
        }
        defaults = [(c.name, float(d)) for c, d in zip((*e.coordinates, *e.velocities), np.concatenate([q0, v0]), strict=True)]
        w = self._wishes
        direct = {**w.coordinates, **w.velocities}
        wishes = [
            *(Wish(n, x, float(solved[n]), "coordinate") for n, x in w.coordinates.items()),
            *(Wish(n, x, float(solved[n]), "velocity") for n, x in w.velocities.items()),
            *(Wish(n, x, float(values[n]), "output") for n, x in w.outputs.items()),
            *(Wish(n, x, x, "state") for n, x in w.states.items()),
        ]
        moved = [(n, d, float(solved[n])) for n, d in defaults if n not in direct and abs(solved[n] - d) > 1e-12]
        return StartReport(tuple(wishes), tuple(moved), tuple((c.name, float(values[c.name])) for c in e.constraints))

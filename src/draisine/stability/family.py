"""Families of steady motions over any number of parameter points, with their linear models: the engine of sweeps and maps.

One motion is found with care (`steady`). The others follow it: the exact slope of the family predicts them, and Newton's method
on as many well-chosen equations and unknowns corrects where the prediction is not exact. Straight running of a bicycle over
speed needs no correction at all, since its spins are proportional to the speed. The linear models come from derivatives along the
essential deviations alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.model.errors import ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.program.expression import closest
from draisine.program.program import Program
from draisine.program.solved import Solved
from draisine.stability.deviations import Deviations, Naming, deviations_of
from draisine.stability.linearisation import equations_of, linearize
from draisine.stability.points import OverPoints
from draisine.stability.steady import SteadyMotion, SteadyProblem, steady

Array = NDArray[np.float64]

CHUNK = 65_536  # points whose matrices are in memory at once
EXACT = 1e-10  # residual, in units of the Jacobian's entries, below which a predicted motion needs no correction


@dataclass(frozen=True)
class Matrices:
    """A of the essential deviations at points, and whether each point has its steady motion."""

    A: Array
    found: NDArray[np.bool_]


class Family:
    """Steady motions of a model as functions of varied quantities: wishes for the motion, inputs or parameters."""

    def __init__(
        self,
        model: Model | System | Equations,
        vary: Mapping[str, float],
        *,
        fixed: Mapping[str, float] | None = None,
        free: Sequence[str] = (),
        near: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
        states: Sequence[str] = (),
    ) -> None:
        self.equations = e = equations_of(model)
        self.vary = tuple(vary)
        self._parameters = [p.name for p in e.parameters]
        self._inputs = [i.name for i in e.inputs]
        outputs = e.motion.output("outputs").labels if e.outputs else ()
        known = [*self._parameters, *self._inputs, *(q.name for q in (*e.states, *e.velocities)), *outputs]
        for name in vary:
            if name not in known:
                raise ModelError(f"{e.name} has no parameter, input, state or output of motion {name!r}{closest(name, known)}")
        given = {n: v for n, v in vary.items() if n in self._parameters}
        wishes = {**(fixed or {}), **{n: v for n, v in vary.items() if n not in self._parameters}}
        self.base: SteadyMotion = steady(e, wishes, free=free, near=near, parameters={**(parameters or {}), **given})
        self._choose_states(states)
        own = [n for n in (*vary, *wishes) if n in (*self._parameters, *self._inputs)]
        coordinates = self._held_coordinates
        self.problem = SteadyProblem(e, coordinates, [*free, *dict.fromkeys(own)], {**wishes, **given})
        self._prepare()

    def along(self, over: str, value: float, other: str) -> Family:
        """The same family with a parameter varied besides."""
        fixed = self.problem.fixed
        return Family(
            self.equations,
            {over: value, other: float(self.base.p[self._parameters.index(other)])},
            fixed={n: v for n, v in fixed.items() if n not in (over, *self._parameters)},
            free=[n for n in self.problem.free if n not in fixed],
            parameters=dict(zip(self._parameters, self.base.p.tolist(), strict=True)),
            states=[n for n in self.full_states if n not in self.equations.independent],
        )

    # ------------------------------------------------------------ the first motion

    def _choose_states(self, states: Sequence[str]) -> None:
        full = linearize(self.base, states=states)
        self.states = full.essential().states
        self.left_out = full.essential().left_out
        self.full_states = full.states

    @cached_property
    def _held_coordinates(self) -> list[str]:
        e = self.equations
        plain = deviations_of(e)
        slopes = plain.slopes(0.0, self.base.x[None], self.base.u[None], self.base.p[None])
        names = plain.choose(slopes).names
        return [n for n in names if n not in self.base.ignorable and n not in e.independent]

    def _prepare(self) -> None:
        """Which equations and unknowns make the problem square, and how the motion changes with each varied quantity."""
        problem, base = self.problem, self.base
        self._y = problem.pack(base.x, base.u, base.p)
        _, jacobian = problem.evaluate(self._y, base.x, base.u, base.p)
        self._columns = _independent_columns(jacobian)
        self._rows = _independent_columns(jacobian[:, self._columns].T)
        self._scale = max(1.0, float(np.abs(jacobian).max()))
        names = list(problem.fixed)
        self._at = np.array([problem.fixed[name] for name in self.vary])
        right = np.zeros((len(jacobian), len(self.vary)))
        for k, name in enumerate(self.vary):
            right[len(jacobian) - len(names) + names.index(name), k] = 1.0
        self._slope = np.zeros((len(self._y), len(self.vary)))
        self._slope[self._columns] = np.linalg.solve(jacobian[np.ix_(self._rows, self._columns)], right[self._rows])
        deviations = self.deviations
        slopes = deviations.slopes(0.0, base.x[None], base.u[None], base.p[None])
        self.naming: Naming = deviations.choose(slopes)
        self._essential = [self.naming.names.index(n) for n in self.states]

    @cached_property
    def deviations(self) -> Deviations:
        return deviations_of(self.equations, tuple(n for n in self.full_states if n not in self.equations.independent))

    # ------------------------------------------------------------ motions

    @cached_property
    def _residual(self) -> OverPoints:
        program = self.problem.program
        symbols = program.symbols()
        residual = program.function.call(symbols)[0]
        slots = {slot.name: symbol for slot, symbol in zip(program.inputs, symbols, strict=True)}
        return OverPoints(Program.build(f"{program.name}_residual", slots, {"residual": residual}))

    @cached_property
    def _newton(self) -> OverPoints:
        return OverPoints(self.problem.program)

    def motions(self, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        """y of the steady motion at each point (points, varied quantities), and whether it was found."""
        y = self._y + (points - self._at) @ self._slope.T
        error = np.abs(self._residual(*self._arguments(y, points))[0]).max(axis=(1, 2)) / self._scale
        wrong = ~(error <= EXACT)
        for _ in range(25):
            if not wrong.any():
                break
            some = np.flatnonzero(wrong)
            residual, jacobian = self._newton(*self._arguments(y[some], points[some]))
            square = jacobian[:, self._rows][:, :, self._columns]
            square, good = _regular(square)
            change = np.linalg.solve(square, residual[:, self._rows])[..., 0]
            y[np.ix_(some, self._columns)] -= np.where(good[:, None], change, 0.0)
            left = np.abs(self._residual(*self._arguments(y[some], points[some]))[0]).max(axis=(1, 2)) / self._scale
            error[some] = left
            stuck = ~np.isfinite(left) | ~good
            wrong[some] = (left > EXACT) & ~stuck
            error[some[stuck]] = np.inf
        return y, error <= EXACT

    def _arguments(self, y: Array, points: Array) -> list[Array]:
        problem, base = self.problem, self.base
        count = len(y)
        x = np.repeat(base.x[None], count, axis=0)
        u, p = np.repeat(base.u[None], count, axis=0), np.repeat(base.p[None], count, axis=0)
        x[:, : problem.own] = y[:, : problem.own]
        solved = y.shape[1] - problem.own - len(problem.free)
        for k, name in enumerate(problem.free):
            target, names = (u, self._inputs) if name in self._inputs else (p, self._parameters)
            target[:, names.index(name)] = y[:, problem.own + solved + k]
        wanted = np.repeat(np.array(list(problem.fixed.values()))[None], count, axis=0)
        for k, name in enumerate(self.vary):
            wanted[:, list(problem.fixed).index(name)] = points[:, k]
        return [np.zeros((count, 1)), x, u, p, y[:, problem.own : problem.own + solved], wanted]

    # ------------------------------------------------------------ linear models

    @cached_property
    def _spanning(self) -> OverPoints:
        """(t, x, u, p) → the square matrix [G; Z] of the chosen rows and names."""
        d = self.deviations
        own = d._x[: self.problem.own]
        zeta = ca.vertcat(*[d.candidates[n] for n in self.naming.names])
        gradient = ca.jacobian(d._motion[0], own)[list(self.naming.rows), :]
        square = ca.densify(ca.vertcat(gradient, ca.jacobian(zeta, own)))
        return OverPoints(Program.build(f"{self.equations.name}_span", d._arguments, {"square": square}))

    @cached_property
    def _along(self) -> OverPoints:
        """(t, x, u, p, directions) → rates of the essential deviations' derivatives along the directions."""
        d, e = self.deviations, self.equations
        own = d._x[: self.problem.own]
        slope = e.explicit.function.call([d._t, d._x, d._u, d._p])[0][: self.problem.own]  # type: ignore[union-attr]
        zeta = ca.vertcat(*[d.candidates[n] for n in self.states])
        rates = ca.jacobian(zeta, own) @ slope
        directions = ca.SX.sym("directions", self.problem.own, len(self.states))
        a = ca.densify(ca.jtimes(rates, own, directions))
        return OverPoints(Program.build(f"{e.name}_along", {**d._arguments, "directions": directions}, {"A": a}))

    def matrices(self, points: Array) -> Matrices:
        """A of the essential deviations at points (points, varied quantities)."""
        points = np.asarray(points, dtype=float).reshape(-1, len(self.vary))
        parts = [self._some(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
        return Matrices(np.concatenate([p.A for p in parts]), np.concatenate([p.found for p in parts]))

    def _some(self, points: Array) -> Matrices:
        y, found = self.motions(points)
        t, x, u, p, _, _ = self._arguments(y, points)
        k = len(self.states)
        if isinstance(self.equations.explicit, Solved):
            slopes = self.deviations.slopes(0.0, x, u, p)
            whole, _ = self.naming.matrices(slopes)
            a = whole[:, self._essential][:, :, self._essential]
        else:
            (square,) = self._spanning(t, x, u, p)
            square, good = _regular(square)
            found = found & good
            right = np.zeros((square.shape[1], k))
            right[len(self.naming.rows) + np.array(self._essential, dtype=int), np.arange(k)] = 1.0
            directions: Array = np.linalg.solve(square, np.broadcast_to(right, (len(square), *right.shape))).astype(np.float64)
            (a,) = self._along(t, x, u, p, directions)
        found = found & np.isfinite(a).all(axis=(1, 2))
        return Matrices(np.where(found[:, None, None], a, np.nan), found)


def _regular(square: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The matrices with unusable ones replaced by the identity, and which are usable."""
    good: NDArray[np.bool_] = np.asarray(np.isfinite(square).all(axis=(1, 2)))
    if not good.all():
        square = np.where(good[:, None, None], square, np.eye(square.shape[1]))
    return square, good


def _independent_columns(matrix: Array) -> NDArray[np.int64]:
    """Columns that span the others, each the largest that earlier ones leave over (Gram–Schmidt with pivoting)."""
    left = matrix.copy()
    chosen: list[int] = []
    first = 0.0
    for _ in range(min(matrix.shape)):
        sizes = np.linalg.norm(left, axis=0)
        best = int(np.argmax(sizes))
        first = max(first, float(sizes[best]))
        if sizes[best] <= 1e-9 * first:
            break
        chosen.append(best)
        unit = left[:, best] / sizes[best]
        for _ in range(2):  # twice is enough for orthogonality to round-off
            left = left - np.outer(unit, unit @ left)
    return np.sort(np.array(chosen, dtype=np.int64))

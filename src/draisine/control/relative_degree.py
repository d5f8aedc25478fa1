"""Relative degree: differentiation of path constraints until the controls appear.

Each path constraint is differentiated along the motion until it depends on states D whose rates contain controls, and once more.
The controls then follow from 0 = Φ(t, x, u) if the decoupling matrix ∂Φ/∂u is regular. Where rows are dependent, one of them is
replaced by the combination without the common dependence (the zero dynamics algorithm: A. Isidori, Nonlinear Control Systems,
3rd ed. 1995, section 6.1), with factors that may change along the motion: the two velocities of a wheel's contact point have the
ratio of sine and cosine of its heading, and only the rate of the heading depends on the steering.

Whether an expression vanishes is tested at points that satisfy all conditions found so far, since many vanish only there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import Plant, stacked
from draisine.errors import ArgumentError, SolverError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import independent_columns, null_space, unit_rows
from draisine.program.casadi_functions import evaluate

Reals = NDArray[np.float64]

POINTS = 5
ONTO = Newton(step_tolerance=1e-12, max_iterations=50, least_share=0.5**7)
ZERO = 1e-9  # relative to the canceling terms
DEPENDENT = 1e-7  # remainder of a unit row that counts as dependent
SAME = 1e-9


@dataclass(frozen=True)
class Row:
    """A path constraint after some differentiations, a condition on (t, x) alone."""

    name: str
    times: int
    residual: ca.SX

    @property
    def label(self) -> str:
        return self.name + "_rate" * self.times


@dataclass(frozen=True)
class Degrees:
    """Results of differentiation: conditions on the states, and the equations for the controls."""

    conditions: tuple[Row, ...]
    last: tuple[Row, ...]  # contain the controls
    combined: tuple[str, ...]  # descriptions of combined rows

    @property
    def degrees(self) -> dict[str, int]:
        """Number of differentiations of each path constraint until the controls appear."""
        return {row.name: row.times for row in self.last}

    @property
    def index(self) -> int:
        """Differential index of the system with the controls as unknowns."""
        return 1 + max(row.times for row in self.last)

    @property
    def phi(self) -> ca.SX:
        return stacked([row.residual for row in self.last])


@dataclass(frozen=True)
class Sample:
    """A point at which dependence is tested."""

    t: float
    x: Reals
    inputs: Reals
    p: Reals

    @property
    def arguments(self) -> list[Reals | float]:
        return [self.t, self.x, self.inputs, self.p]


class Differentiation:
    """Differentiation of path constraints. `near` are points close to the start; they are projected onto the conditions found."""

    def __init__(self, plant: Plant, path: Mapping[str, ca.SX], near: Sequence[Sample]) -> None:
        self.plant, self._near = plant, near
        self._rows = [Row(name, 0, residual) for name, residual in path.items()]
        self._found: list[Row] = []
        self._notes: list[str] = []
        self._samples = list(near)
        driven = ca.jacobian_sparsity(plant.rates, plant.u).get_triplet()[0]
        self._driven = sorted(set(driven))  # states whose rates contain controls
        self._check_reach(path)

    def degrees(self) -> Degrees:
        self._found = list(self._rows)
        while len(self._found) <= self.plant.x.numel() + len(self._rows):
            self._move([row for row in self._found if not any(row is now for now in self._rows)])
            self._part_rows()
            self._move(self._found)
            quiet = [i for i, row in enumerate(self._rows) if not self._depends_on_driven(row)]
            if quiet:
                for i in quiet:
                    self._advance(i, self.plant.along(self._rows[i].residual))
                continue
            last = [Row(row.name, row.times + 1, self.plant.along(row.residual)) for row in self._rows]
            stuck = self._part_controls(last)
            if not stuck:
                return Degrees(tuple(self._found), tuple(last), tuple(self._notes))
        raise self._never(self._rows)

    def _check_reach(self, path: Mapping[str, ca.SX]) -> None:
        """Require that every control influences, through rates of states, a quantity of the path."""
        plant = self.plant
        moved_by = ca.jacobian_sparsity(plant.rates, plant.x).get_triplet()
        named = set(ca.jacobian_sparsity(stacked(list(path.values())), plant.x).get_triplet()[1])
        for k, name in enumerate(plant.controls):
            reached = set(ca.jacobian_sparsity(plant.rates, plant.u[k]).get_triplet()[0])
            while new := {i for i, j in zip(*moved_by, strict=True) if j in reached} - reached:
                reached |= new
            if not reached & named:
                raise ArgumentError(f"{plant.equations.name}: the control {name!r} has no effect on the path; name another one")

    # ---------------------------------------------------------------- one round

    def _advance(self, i: int, residual: ca.SX) -> None:
        old = self._rows[i]
        self._rows[i] = Row(old.name, old.times + 1, residual)
        if all(np.abs(g).max(initial=0.0) < 1e-14 for g in self._values(ca.jacobian(residual, self.plant.x))):
            raise self._never([old])
        self._found.append(self._rows[i])

    def _depends_on_driven(self, row: Row) -> bool:
        return bool(ca.depends_on(row.residual, self.plant.x[self._driven]))

    def _part_rows(self) -> None:
        """Combine rows with the same dependence on the states D; remove states that cancel.

        The rows themselves need not be satisfied at the test points: on the path a row may have lost the dependence.
        """
        driven = self.plant.x[self._driven]
        jacobian = ca.jacobian(stacked([row.residual for row in self._rows]), driven)
        total = ca.jacobian(stacked([row.residual for row in self._rows]), self.plant.x)
        lengths = [np.abs(v).max(axis=1) for v in self._values(total)]
        matrices = [v / np.where(s > 0, s, 1.0)[:, None] for v, s in zip(self._values(jacobian), lengths, strict=True)]
        for i, others in _dependent(matrices):
            combination = self._combined(jacobian, i, others, [row.residual for row in self._rows])
            shorter = ca.substitute(combination, driven, ca.SX.zeros(len(self._driven)))
            if not self._agree(combination, shorter):
                continue  # left to `_part_controls`
            self._found = [row for row in self._found if row is not self._rows[i]]
            self._rows[i] = replace(self._rows[i], residual=shorter)
            self._found.append(self._rows[i])
            if others:
                self._note_combination(self._rows[i], [self._rows[k] for k in others])

    def _part_controls(self, last: list[Row]) -> bool:
        """Combine last rows with the same dependence on the controls; whether there were any."""
        plant, phi = self.plant, stacked([row.residual for row in last])
        jacobian = ca.jacobian(phi, plant.u)
        inner = ca.jacobian(stacked([row.residual for row in self._rows]), plant.x), ca.jacobian(plant.rates, plant.u)
        inside = [self._values(m) for m in inner]
        columns = np.max([(np.abs(g) @ np.abs(b)).max(axis=0) for g, b in zip(*inside, strict=True)], axis=0)
        columns = np.where(columns > 0, columns, 1.0)
        lengths = [np.abs(g).max(axis=1) * (np.abs(b) / columns).max() for g, b in zip(*inside, strict=True)]
        scaled = [v / columns / np.where(s > 0, s, 1.0)[:, None] for v, s in zip(self._values(jacobian), lengths, strict=True)]
        found = _dependent(scaled)
        if found and ca.depends_on(jacobian, plant.u):
            raise ArgumentError(
                f"{plant.equations.name}: the controls {', '.join(plant.controls)} do not act on "
                f"{', '.join(r.name for r in last)} independently, and enter nonlinearly; choose other "
                "controls, or use the rate of one of them as the control"
            )
        for i, others in found:
            combination = self._combined(jacobian, i, others, [row.residual for row in last])
            self._advance(i, ca.substitute(combination, plant.u, ca.SX.zeros(plant.u.numel())))
            if others:
                self._note_combination(last[i], [last[k] for k in others])
        return bool(found)

    def _combined(self, jacobian: ca.SX, i: int, others: Sequence[int], residuals: Sequence[ca.SX]) -> ca.SX:
        """Row i minus a combination γ of the rows P with γ ∂h_P = ∂h_i, from columns in which the rows P are well separated."""
        if not others:
            return residuals[i]
        sizes = np.min([np.abs(v[list(others)]) for v in self._values(jacobian)], axis=0)
        columns = independent_columns(sizes, len(others))
        inner = jacobian[list(others), columns]
        factors = ca.solve(inner.T, jacobian[i, columns].T)
        return residuals[i] - ca.dot(factors, stacked([residuals[k] for k in others]))

    def _agree(self, one: ca.SX, other: ca.SX) -> bool:
        """Whether two expressions are equal, also next to the path."""
        plant = self.plant
        values = [self._values(ca.horzcat(e, plant.along(e), ca.jacobian(e, plant.x))) for e in (one, other)]
        for free, a, b in zip(self._free, *values, strict=True):
            if not (np.isfinite(a).all() and np.isfinite(b).all()):
                return False
            apart = (a - b)[0]
            if np.abs([*apart[:2], *(apart[2:] @ free)]).max() > SAME * max(1.0, np.abs(a).max(), np.abs(b).max()):
                return False
        return True

    def _note_combination(self, row: Row, others: Sequence[Row]) -> None:
        names = " and ".join(repr(r.label) for r in others)
        self._notes.append(f"{row.label!r} minus a multiple of {names} is used: both depend on the controls alike")

    # ---------------------------------------------------------------- points

    def _values(self, expression: ca.SX) -> list[Reals]:
        function = ca.Function("values", self.plant.arguments, [ca.densify(expression)])
        return [evaluate(function, s.arguments)[0] for s in self._samples]

    def _move(self, conditions: Sequence[Row]) -> None:
        """Project the points onto the conditions and the system's own constraints."""
        plant = self.plant
        everything = ca.vertcat(plant.residuals, stacked([row.residual for row in conditions]))
        self._samples = moved(plant, everything, self._near)
        jacobians = self._values(ca.jacobian(everything, plant.x))
        self._free = [null_space(unit_rows(jacobian)) for jacobian in jacobians]

    def _never(self, rows: Sequence[Row]) -> ArgumentError:
        names = ", ".join(repr(row.name) for row in rows)
        controls = ", ".join(repr(c) for c in self.plant.controls)
        return ArgumentError(
            f"{self.plant.equations.name}: the controls {controls} never appear in the derivatives of the path {names}; "
            "choose other controls or another path"
        )


def moved(plant: Plant, residual: ca.SX, near: Sequence[Sample]) -> list[Sample]:
    """The nearest points on residual(t, x) = 0; points without convergence are left out.

    Newton steps are damped: near zero speed a heading has little effect on the position.
    """
    function = ca.Function("on", plant.arguments, [ca.densify(residual), ca.densify(ca.jacobian(residual, plant.x))])
    found = []
    for sample in near:

        def at(x: Reals, sample: Sample = sample) -> tuple[Reals, Reals]:
            value, jacobian = evaluate(function, (sample.t, x, sample.inputs, sample.p))
            return value[:, 0], jacobian

        solved = ONTO.solve(at, sample.x, LeastNorm())
        if solved.converged:
            found.append(replace(sample, x=solved.point.x))
    if not found:
        raise SolverError(
            f"{plant.equations.name}: no state on the path was found near the start; start closer to it, or check whether its "
            "constraints contradict each other or those of the system"
        )
    return found


def _dependent(matrices: Sequence[Reals]) -> list[tuple[int, list[int]]]:
    """Rows that depend on others at every point: (row, the others; none for a row that vanishes)."""
    count = len(matrices[0])
    kept: list[int] = []
    found: list[tuple[int, list[int]]] = []
    for i in range(count):
        if all(np.abs(m[i]).max(initial=0.0) <= ZERO for m in matrices):
            found.append((i, []))
        elif kept and all(_left(m[kept], m[i]) <= DEPENDENT for m in matrices):
            found.append((i, list(kept)))
        else:
            kept.append(i)
    return found


def _left(rows: Reals, row: Reals) -> float:
    """Relative remainder of a row after projection on the others."""
    size = float(np.linalg.norm(row))
    if size == 0:
        return 0.0
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows[lengths > 0] / lengths[lengths > 0][:, None]
    return float(np.linalg.norm(row - unit.T @ np.linalg.lstsq(unit.T, row, rcond=1e-12)[0])) / size

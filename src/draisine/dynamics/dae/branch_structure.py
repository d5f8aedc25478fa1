"""Structural analysis on one branch of solutions: generically nonzero entries that vanish on the branch are absent.

In y₂(1 − y₂) = 0, y₁y₂ + y₃(1 − y₂) = t the third unknown enters the second equation, but not where y₂ = 1. On that branch the
signature differs, and so does the index. It is evaluated at consistent points of the branch; an entry that vanishes at all of
them is taken to vanish on the branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.dynamics.constraints.configurations import project_samples
from draisine.dynamics.dae.derivative_array import DerivativeArray, FixedArguments, Point
from draisine.dynamics.dae.prolongation import Prolongation
from draisine.dynamics.dae.signature_method import ABSENT
from draisine.dynamics.dae.structure import Structure, structure
from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.numerics.rank import RTOL, condition_share, equilibrate
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual

Reals = NDArray[np.float64]

VANISHES = 1e-7  # entries below this part of the largest of their row are zero
NEIGHBORS = 3
DEPTH = 6  # number of differentiations in which an unknown may appear


@dataclass(frozen=True)
class ConsistentPoint:
    """A consistent point, with its derivatives and the time, inputs and parameters it belongs to."""

    point: Point
    others: FixedArguments

    def values(self, system: Prolongation) -> list[Reals | float]:
        """Arguments (t, y, jets, u, p) of expressions of a prolongation."""
        orders = system.jets.numel() // len(system.others) if system.others else 0
        known = self.point.jets[1 : orders + 1, system.others]
        jets = np.zeros((orders, len(system.others)))
        jets[: len(known)] = known
        return [self.others.t, self.point.y, jets.ravel(), self.others.u, self.others.p]


def consistent_points(dynamics: DaeResidual, y: Reals, others: FixedArguments, fixed: NDArray[np.bool_]) -> list[ConsistentPoint]:
    """The consistent point near y, and some around it, at slightly other times."""
    array = DerivativeArray(dynamics, DEPTH)
    base = array.consistent(y, others, fixed)
    found, rng = [ConsistentPoint(base, others)], np.random.default_rng(8)
    for _ in range(NEIGHBORS):
        step = 0.02 * rng.uniform(-1.0, 1.0, len(y)) * np.maximum(1.0, np.abs(base.y))
        later = replace(others, t=others.t + 0.02 * float(rng.uniform()))
        found.append(ConsistentPoint(array.consistent(base.y + np.where(fixed, 0.0, step), later, fixed), later))
    return [point for point in found if point.point.consistent]


def structure_at(equations: Equations, points: list[ConsistentPoint]) -> Structure:
    """The structure at these points: the generic one if it is regular there, otherwise that of their branch."""
    shape = structure(equations)
    if not points or not shape.regular or holds(shape, points):
        return shape
    signature, vanishing = _signature(shape.system, points)
    if not vanishing:
        return replace(shape, regular=False)
    system = shape.system.on_branch(signature)
    note = f"on this branch factors are zero: {', '.join(f'{name!r} is not in {row!r}' for row, name in vanishing)}"
    found = replace(shape, system=system, offsets=system.offsets(), branch=True, notes=(*shape.notes, note))
    return replace(found, regular=holds(found, points))


def initial_unknowns(equations: Equations, at: Mapping[str, float] | ArrayLike | None) -> tuple[Reals, NDArray[np.bool_]]:
    """Initial guess of a consistent point, and which unknowns are fixed."""
    names = [q.name for q in equations.coordinates]
    y, fixed = np.array([q.default for q in equations.coordinates]), np.zeros(len(names), dtype=bool)
    if isinstance(at, Mapping):
        for name, value in at.items():
            if name not in names:
                raise ArgumentError(f"{equations.name} has no unknown {name!r}{did_you_mean(name, names)}")
            y[names.index(name)], fixed[names.index(name)] = float(value), True
    elif at is not None:
        y = np.array(at, dtype=float)
        if y.shape != (len(names),):
            raise ArgumentError(f"{equations.name}: a point has {len(names)} numbers ({', '.join(names)}), got {y.size}")
    return y, fixed


def nearest_consistent(equations: Equations, y: Reals, others: FixedArguments, fixed: NDArray[np.bool_]) -> Reals:
    """Unknowns projected onto the constraints, explicit and hidden, by damped least-norm steps.

    Level by level: accelerations are meaningful only where positions satisfy their constraints.
    """
    symbols = equations.motion.symbols()
    given = dict(zip((slot.name for slot in equations.motion.inputs), symbols, strict=True))
    residuals = equations.motion.function.call(symbols)[0]
    (residuals,) = ca.substitute([residuals], [given["u"]], [ca.DM(others.u)]) if others.u.size else (residuals,)
    jacobian = ca.jacobian(residuals, given["q"]) @ ca.diag(ca.DM((~fixed).astype(float)))
    levels = list(dict.fromkeys(c.level for c in equations.constraints))
    for depth in range(1, len(levels) + 1):
        rows = [i for i, c in enumerate(equations.constraints) if c.level in levels[:depth]]
        results = [ca.densify(residuals[rows]), ca.densify(jacobian[rows, :])]
        function = ca.Function("constraints", [given["t"], given["q"], given["p"]], results)
        y = np.asarray(project_samples(y[None, :], np.array([others.t]), function, others.p).points[0])
    return y


def holds(shape: Structure, points: list[ConsistentPoint]) -> bool:
    """Whether the last stage determines its unknowns at all of the points."""
    jacobian = _at(shape.system, ca.jacobian(shape.stage, shape.tops), points)
    for matrix in jacobian:
        if matrix.size and not np.isfinite(matrix).all():
            return False
        if condition_share(equilibrate(matrix)[0]) <= RTOL:
            return False
    return True


def _at(system: Prolongation, expression: ca.SX, points: list[ConsistentPoint]) -> list[Reals]:
    symbols = [system.t, system.y, system.jets, system.u, system.p]
    evaluate = ca.Function("at", symbols, [ca.densify(expression)])
    return [np.array(evaluate.call([ca.DM(v) for v in point.values(system)])[0].full()) for point in points]


def _signature(system: Prolongation, points: list[ConsistentPoint]) -> tuple[NDArray[np.float64], list[tuple[str, str]]]:
    """σ at the points; and the unknowns, by row, that enter structurally but not there."""
    found, vanishing = system.signature.copy(), []
    for i, row in enumerate(system.rest):
        for k, order in enumerate(system.signature[i]):
            found[i, k] = order if not np.isfinite(order) else _order(system, i, k, int(order), points)
            if found[i, k] < order:
                vanishing.append((system.equations[row], system.unknowns[system.others[k]]))
    return found, vanishing


def _order(system: Prolongation, row: int, index: int, order: int, points: list[ConsistentPoint]) -> float:
    """The order of an unknown in a row; negative where it enters only derivatives of the row."""
    while order >= -DEPTH + 1:
        expression = system.derivative(row, max(-order, 0))
        symbols = ca.vertcat(system.y, system.jets)
        entry = _at(system, ca.jacobian(expression, system.top(index, max(order, 0))), points)
        whole = _at(system, ca.jacobian(expression, symbols), points)
        if any(abs(e.item()) > VANISHES * max(np.abs(w).max(), 1e-300) for e, w in zip(entry, whole, strict=True)):
            return float(order)
        order -= 1
    return ABSENT

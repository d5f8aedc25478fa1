"""Structure on one branch of solutions: entries that are not zero in general, and vanish there, count as absent.

In y₂(1 − y₂) = 0, y₁y₂ + y₃(1 − y₂) = t the third unknown is in the second equation, but not where y₂ = 1. Along that branch
the signature is another, and so is the index. It is read off at consistent points of the branch; that an entry vanishes at
all of them is taken for a property of the branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.dynamics.constraints.redundancy import onto_constraints
from draisine.dynamics.dae.derivative_array import DerivativeArray, Others, Point
from draisine.dynamics.dae.prolongation import Prolongation
from draisine.dynamics.dae.signature_method import ABSENT
from draisine.dynamics.dae.structure import Structure, structure
from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.numerics.rank import RTOL, condition_share, equilibrate
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations

Reals = NDArray[np.float64]

VANISHES = 1e-7  # of the largest entry of its row
NEIGHBORS = 3
DEPTH = 6  # differentiations through which an unknown is looked for


@dataclass(frozen=True)
class Place:
    """A consistent point, with its derivatives and the time, inputs and parameters it belongs to."""

    point: Point
    others: Others

    def values(self, system: Prolongation) -> list[Reals | float]:
        """Arguments (t, y, jets, u, p) of expressions of a prolongation."""
        orders = system.jets.numel() // len(system.others) if system.others else 0
        known = self.point.jets[1 : orders + 1, system.others]
        jets = np.zeros((orders, len(system.others)))
        jets[: len(known)] = known
        return [self.others.t, self.point.y, jets.ravel(), self.others.u, self.others.p]


def places(dynamics: DaeResidual, y: Reals, others: Others, held: NDArray[np.bool_]) -> list[Place]:
    """The consistent point near y, and some around it, at slightly other times."""
    array = DerivativeArray(dynamics, DEPTH)
    here = array.consistent(y, others, held)
    found, rng = [Place(here, others)], np.random.default_rng(8)
    for _ in range(NEIGHBORS):
        step = 0.02 * rng.uniform(-1.0, 1.0, len(y)) * np.maximum(1.0, np.abs(here.y))
        later = replace(others, t=others.t + 0.02 * float(rng.uniform()))
        found.append(Place(array.consistent(here.y + np.where(held, 0.0, step), later, held), later))
    return [place for place in found if place.point.consistent]


def structure_on(equations: Equations, there: list[Place]) -> Structure:
    """The structure at these points: that in general, if it holds there, or that of their branch."""
    shape = structure(equations)
    if not there or not shape.regular or holds(shape, there):
        return shape
    signature, gone = _signature(shape.system, there)
    if not gone:
        return replace(shape, regular=False)
    system = shape.system.on_branch(signature)
    said = f"on this branch factors vanish: {', '.join(f'{name!r} is not in {row!r}' for row, name in gone)}"
    found = replace(shape, system=system, offsets=system.offsets(), branch=True, notes=(*shape.notes, said))
    return replace(found, regular=holds(found, there))


def begin(equations: Equations, at: Mapping[str, float] | ArrayLike | None) -> tuple[Reals, NDArray[np.bool_]]:
    """Where the search for a consistent point begins, and which unknowns are held there."""
    names = [q.name for q in equations.coordinates]
    y, held = np.array([q.default for q in equations.coordinates]), np.zeros(len(names), dtype=bool)
    if isinstance(at, Mapping):
        for name, value in at.items():
            if name not in names:
                raise ArgumentError(f"{equations.name} has no unknown {name!r}{did_you_mean(name, names)}")
            y[names.index(name)], held[names.index(name)] = float(value), True
    elif at is not None:
        y = np.array(at, dtype=float)
        if y.shape != (len(names),):
            raise ArgumentError(f"{equations.name}: a point has {len(names)} numbers ({', '.join(names)}), got {y.size}")
    return y, held


def closer(equations: Equations, y: Reals, others: Others, held: NDArray[np.bool_]) -> Reals:
    """Unknowns that fulfil the constraints, visible and hidden, as far as damped steps of least change lead.

    Level by level, since accelerations make sense only where positions do.
    """
    symbols = equations.motion.symbols()
    given = dict(zip((slot.name for slot in equations.motion.inputs), symbols, strict=True))
    residuals = equations.motion.function.call(symbols)[0]
    (residuals,) = ca.substitute([residuals], [given["u"]], [ca.DM(others.u)]) if others.u.size else (residuals,)
    slope = ca.jacobian(residuals, given["q"]) @ ca.diag(ca.DM((~held).astype(float)))
    levels = list(dict.fromkeys(c.level for c in equations.constraints))
    for depth in range(1, len(levels) + 1):
        rows = [i for i, c in enumerate(equations.constraints) if c.level in levels[:depth]]
        results = [ca.densify(residuals[rows]), ca.densify(slope[rows, :])]
        function = ca.Function("constraints", [given["t"], given["q"], given["p"]], results)
        y = np.asarray(onto_constraints(y[None, :], np.array([others.t]), function, others.p).points[0])
    return y


def holds(shape: Structure, there: list[Place]) -> bool:
    """Whether the last stage determines its unknowns at all of the points."""
    slope = _at(shape.system, ca.jacobian(shape.stage, shape.tops), there)
    for matrix in slope:
        if matrix.size and not np.isfinite(matrix).all():
            return False
        if condition_share(equilibrate(matrix)[0]) <= RTOL:
            return False
    return True


def _at(system: Prolongation, expression: ca.SX, there: list[Place]) -> list[Reals]:
    symbols = [system.t, system.y, system.jets, system.u, system.p]
    evaluate = ca.Function("at", symbols, [ca.densify(expression)])
    return [np.array(evaluate.call([ca.DM(v) for v in place.values(system)])[0].full()) for place in there]


def _signature(system: Prolongation, there: list[Place]) -> tuple[NDArray[np.float64], list[tuple[str, str]]]:
    """σ by numbers; and what is missing from which row that structure sees in it."""
    found, gone = system.signature.copy(), []
    for i, row in enumerate(system.rest):
        for k, order in enumerate(system.signature[i]):
            found[i, k] = order if not np.isfinite(order) else _order(system, i, k, int(order), there)
            if found[i, k] < order:
                gone.append((system.equations[row], system.unknowns[system.others[k]]))
    return found, gone


def _order(system: Prolongation, row: int, place: int, order: int, there: list[Place]) -> float:
    """The order of an unknown in a row; negative where only derivatives of the row hold it."""
    while order >= -DEPTH + 1:
        expression = system.derivative(row, max(-order, 0))
        symbols = ca.vertcat(system.y, system.jets)
        entry = _at(system, ca.jacobian(expression, system.top(place, max(order, 0))), there)
        whole = _at(system, ca.jacobian(expression, symbols), there)
        if any(abs(e.item()) > VANISHES * max(np.abs(w).max(), 1e-300) for e, w in zip(entry, whole, strict=True)):
            return float(order)
        order -= 1
    return ABSENT

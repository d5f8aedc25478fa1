"""Conditions at the end: a state that satisfies them, and the redundant ones among them.

A bicycle that is upright with its handlebar straight does not turn: a zero yaw rate as a further condition would make the rows of
the problem linearly dependent. Redundant rows are found at a state that satisfies all conditions: those in the span of the
constraints and of earlier rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.numerics.newton import Newton
from draisine.numerics.rank import independent_rows
from draisine.optimal.scaling import ordinary
from draisine.optimal.symbolic_model import Condition, SymbolicModel

Reals = NDArray[np.float64]
Point = tuple[float, Reals, Reals, Reals, Reals]  # t, y, z, inputs, parameters

MET = 1e-7  # residual below which a condition counts as satisfied
NEWTON = Newton(tolerance=1e-12, max_iterations=60)
LONGEST = 10.0  # largest change of an unknown in a step, relative to the largest value that is asked for, or 1


@dataclass(frozen=True, eq=False)
class EndConditions:
    """The conditions to impose, a state that satisfies them, and the redundant ones with their required values."""

    conditions: tuple[Condition, ...]
    state: Reals
    dropped: tuple[tuple[str, ca.SX, float], ...]
    notes: tuple[str, ...]


def resolve_end_conditions(
    v: SymbolicModel, constraints: Sequence[Condition], values: Sequence[Condition], rates: Sequence[Condition], point: Point
) -> EndConditions:
    """Constraints hold at the end because they hold at the start; where both are redundant, `values` are preferred to `rates`."""
    wanted = [*values, *rates]
    equations = [c for c in wanted if c.equation]
    if not equations:
        return EndConditions(tuple(wanted), point[1], (), ())
    sizes = [ordinary(abs(c.low)) for c in equations]
    scaled = [(c.value - c.low) / size for c, size in zip(equations, sizes, strict=True)]
    rows = stacked([*(c.value for c in constraints), v.algebraic, *scaled])
    search = _Search(v, rows, LONGEST * max(1.0, *(abs(c.low) for c in equations)))
    solved, residual, jacobian = search.anywhere(point, np.arange(rows.numel()))
    first = rows.numel() - len(equations)
    _, basis = independent_rows(jacobian[:first], np.zeros((0, jacobian.shape[1])))
    kept, _ = independent_rows(jacobian[first:] * np.array(sizes)[:, None], basis)
    doubtful = [i for i in range(len(equations)) if i not in kept]
    if not np.abs(residual).max() < MET:
        off = ", ".join(c.name for i, c in enumerate(equations) if abs(residual[first + i]) > MET)
        note = (
            f"finish: no state was found that satisfies all conditions ({off or 'constraints'} missed); they may be contradictory"
        )
        return EndConditions(tuple(wanted), point[1], (), (note,))
    # dependent to first order: either implied by the others, or an extremum of the quantity
    rest = np.concatenate([np.arange(first), first + np.array(kept, dtype=int)])
    implied = [i for i in doubtful if search.implies(solved, rest, first + i)]
    notes = [
        f"finish: {equations[i].name} = {equations[i].low:g} follows from the other conditions and is not imposed"
        for i in implied
    ]
    notes += [
        f"finish: {equations[i].name} = {equations[i].low:g} is the most or least that the constraints allow, where its "
        "gradient vanishes; state the condition with another quantity"
        for i in doubtful
        if i not in implied
    ]
    left = [equations[i] for i in implied]
    dropped = tuple((c.name, c.value, c.low) for c in left)
    return EndConditions(tuple(c for c in wanted if c not in left), solved[1], dropped, tuple(notes))


class _Search:
    """Least-norm Newton's method on selected rows, in states, algebraic unknowns and controls."""

    def __init__(self, v: SymbolicModel, rows: ca.SX, longest: float) -> None:
        self._longest = longest
        plant = v.plant
        unknown = ca.vertcat(v.y, v.z, plant.u)
        inputs = [plant.t, v.y, v.z, plant.inputs, plant.p]
        self._function = ca.Function("end", inputs, [ca.densify(rows), ca.densify(ca.jacobian(rows, unknown))])
        self._controls = [[q.name for q in v.equations.inputs].index(name) for name in v.controls]

    def _at(self, point: Point) -> tuple[Reals, Reals]:
        r, jacobian = self._function(*point)
        return np.asarray(r.full()).ravel(), np.asarray(jacobian.full())

    def newton(self, point: Point, take: NDArray[np.int64], even: bool = False) -> tuple[Point, Reals, Reals]:
        """The point where the rows `take` vanish, or nearly so, with all residuals and their Jacobian. With `even`, no row counts
        as dependent for being small: a distance of 1e11 m relative to itself, beside a velocity in m/s."""

        def size(at: tuple[Point, Reals, Reals]) -> float:
            return float(np.abs(at[1][take]).max(initial=0.0)) if np.isfinite(at[2]).all() else np.inf

        def step(at: tuple[Point, Reals, Reals]) -> Reals:
            largest = np.abs(at[2][take]).max(axis=1, initial=0.0) if even else np.ones(len(take))
            largest[largest == 0.0] = 1.0
            change = np.linalg.lstsq(at[2][take] / largest[:, None], -at[1][take] / largest, rcond=1e-10)[0]
            return np.asarray(change * min(1.0, self._longest / max(float(np.abs(change).max()), 1e-30)), dtype=float)

        def move(at: tuple[Point, Reals, Reals], change: Reals) -> tuple[Point, Reals, Reals]:
            moved = self._moved(at[0], change)
            return moved, *self._at(moved)

        return NEWTON.iterate((point, *self._at(point)), size=size, step=step, move=move).point

    def anywhere(self, point: Point, take: NDArray[np.int64]) -> tuple[Point, Reals, Reals]:
        """The same from a point, or from random points near it where the rows may be less singular."""
        rng, begin = np.random.default_rng(17), point
        best = self.newton(begin, take)
        if not np.abs(best[1][take]).max() < MET:
            evenly = self.newton(begin, take, even=True)
            best = evenly if np.abs(evenly[1][take]).max() < MET else best
        for size in (0.05, 0.1, 0.2, 0.4, 0.8):
            if np.abs(best[1][take]).max() < MET:
                break
            found = self.newton(self._moved(begin, size * rng.uniform(-1, 1, self._size(begin))), take)
            best = min(best, found, key=lambda f: float(np.nan_to_num(np.abs(f[1][take]).max(), nan=np.inf)))
        return best

    def _size(self, point: Point) -> int:
        return len(point[1]) + len(point[2]) + len(self._controls)

    def implies(self, point: Point, others: NDArray[np.int64], row: int) -> bool:
        """Whether a row vanishes wherever the others do, tested at two nearby points."""
        rng = np.random.default_rng(11)
        for _ in range(2):
            _, residual, _ = self.newton(self._moved(point, 0.1 * rng.uniform(-1, 1, self._size(point))), others)
            if np.abs(residual[others]).max(initial=0.0) < MET and abs(residual[row]) > MET:
                return False
        return True

    def _moved(self, point: Point, step: Reals) -> Point:
        t, y, z, inputs, p = point
        inputs = inputs.copy()
        inputs[self._controls] += step[len(y) + len(z) :]
        return t, y + step[: len(y)], z + step[len(y) : len(y) + len(z)], inputs, p

"""Exact derivatives of dynamics held against complex steps, which share no line with them, and against central differences.

Of a large system a few columns are looked at, the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.dynamics.verify.agreement import apart
from draisine.program.dae_residual import DaeResidual
from draisine.program.interpreter import complex_step_derivatives
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Reals = NDArray[np.float64]
Other = Callable[[str, NDArray[np.intp], Sequence[ArrayLike]], Reals]  # by what, which columns, where

_MOST_COLUMNS = 48  # by complex steps, all at once
_MOST_DIFFERENCES = 16  # by central differences, one evaluation after the other
_STEPS = (1e-2, 1e-3, 1e-4, 1e-5)  # of central differences; near a singular position only the small ones are short enough
_HIDDEN = 1e-5  # of the values: slopes below this, sums of what cancels, are hidden by rounding
_SMALL = 1e-3  # rows below this fraction of the largest entry are judged by it
_NOTHING = 1e-5  # so are derivatives below this fraction of what is differentiated: what is left is its rounding


class Jacobian:
    """Derivatives of xdot by x and u, or of an implicit residual by x and xdot."""

    def __init__(self, dynamics: Program | LinearSolveProgram | DaeResidual) -> None:
        self.dynamics = dynamics
        self._program: Program | LinearSolveProgram = dynamics.residual if isinstance(dynamics, DaeResidual) else dynamics
        self._of = "residual" if isinstance(dynamics, DaeResidual) else "xdot"
        wanted = ("x", "xdot") if isinstance(dynamics, DaeResidual) else ("x", "u")
        self.by = [slot.name for slot in self._program.inputs if slot.name in wanted and slot.size]

    def against_complex_step(self, arguments: Sequence[ArrayLike]) -> float:
        """Largest difference from complex steps."""
        return self._worst(arguments, self._complex, _MOST_COLUMNS)

    def against_differences(self, arguments: Sequence[ArrayLike]) -> float:
        """Largest difference from central differences."""
        return self._worst(arguments, self._differences, _MOST_DIFFERENCES)

    def _worst(self, arguments: Sequence[ArrayLike], other: Other, most: int) -> float:
        found = 0.0
        exact = self.exact(arguments)
        of = [slot.name for slot in self._program.outputs].index(self._of)
        hidden = _HIDDEN * float(np.abs(self._program(*arguments)[of]).max(initial=0.0))
        for name in self.by:
            columns = self._columns(name, most)
            found = max(found, _apart_by_rows(exact[name][:, columns], other(name, columns, arguments), hidden))
        return found

    def exact(self, arguments: Sequence[ArrayLike]) -> dict[str, Reals]:
        """By differentiation of the program: argument → matrix."""
        count = self._program.output(self._of).size
        if isinstance(self.dynamics, DaeResidual):
            rows, columns = self.dynamics.pattern
            found = {}
            for name, values in zip(("x", "xdot"), self.dynamics.jacobian(*arguments), strict=True):
                found[name] = np.zeros((count, self.dynamics.size))
                found[name][rows, columns] = values
            return found
        return {n: program(*arguments)[0].reshape(count, -1) for n, program in self._jacobians.items()}

    @cached_property
    def _jacobians(self) -> dict[str, Program | LinearSolveProgram]:
        return {name: self._program.jacobian(self._of, name) for name in self.by}

    def _columns(self, name: str, most: int) -> NDArray[np.intp]:
        size = self._program.input(name).size
        return np.arange(size) if size <= most else np.sort(np.random.default_rng(7).choice(size, most, replace=False))

    def _complex(self, name: str, columns: NDArray[np.intp], arguments: Sequence[ArrayLike]) -> Reals:
        directions = np.eye(self._program.input(name).size)[:, columns]
        return complex_step_derivatives(self._program, arguments, {name: directions})[self._of]

    def _differences(self, name: str, columns: NDArray[np.intp], arguments: Sequence[ArrayLike]) -> Reals:
        slots = [slot.name for slot in self._program.inputs]
        of = [slot.name for slot in self._program.outputs].index(self._of)
        place = slots.index(name)
        points = [np.array(a, dtype=float).ravel() for a in arguments]
        found = []
        for column in columns:
            tried = []
            for size in _STEPS:
                step, total = size * max(1.0, abs(points[place][column])), np.zeros(self._program.outputs[of].size)
                for far, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):  # fourth order
                    moved = [p.copy() for p in points]
                    moved[place][column] += far * step
                    total += weight * self._program(*moved)[of]
                tried.append(total / (12 * step))
            # truncation falls with the step and rounding rises: the best two neighbors are the closest to each other
            change = [float(np.abs(a - b).max()) for a, b in pairwise(tried)]
            found.append(tried[1 + int(np.argmin(np.where(np.isfinite(change), change, np.inf)))])
        return np.column_stack(found)


def _apart_by_rows(exact: Reals, other: Reals, hidden: float) -> float:
    """Each row relative to its own largest entry, unless that is tiny beside the others' or hidden by rounding."""
    least = max(_SMALL * float(np.abs(exact).max(initial=0.0)), hidden, 1e-300)
    return max((apart(a, b, least) for a, b in zip(exact, other, strict=True)), default=0.0)

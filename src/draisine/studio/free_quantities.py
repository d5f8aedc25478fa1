"""Free quantities of a start: those determined by the constraints, and an independent set of the others.

While sliders change lengths, an independent set is kept constant, lean, heading and speed first, so that a slider moved there
and back restores the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.rank import decompose
from draisine.simulation.initial.evaluation import Pattern, Variables
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.result import Start

Array = NDArray[np.float64]

FIRST = ("lean", "heading", "speed")  # kept before others
_DECIDED = 1e-6  # relative part of a gradient outside the span of the constraints
_NEW = 0.03  # the same for a quantity independent of the previous ones


@dataclass(frozen=True, eq=False)
class FreeQuantities:
    """Gradients of constraints, outputs and unknowns at a start, by level: positions by q, velocities by v."""

    problem: StartProblem
    start: Start

    @cached_property
    def _rows(self) -> dict[str, Array]:
        """Gradients of all constraints and outputs, by level."""
        e = self.problem.equations
        given = 0.0, np.zeros(len(e.inputs)), self.start.given[2]  # with the modes of contacts
        evaluate = self.problem.evaluation(given)
        levels: tuple[tuple[str, Pattern, Variables, Sequence[str]], ...] = (
            ("position", self.problem.by_q, "q", self.problem.unknowns[0]),
            ("velocity", self.problem.by_v, "v", self.problem.unknowns[1]),
        )
        found = {}
        for level, pattern, of, unknowns in levels:
            rows = np.zeros((len(self.problem.names), len(unknowns)))
            rows[pattern.rows, pattern.columns] = evaluate(self.start.q, self.start.v, of)[1]
            found[level] = rows
        return found

    def _gradients(self, level: str) -> dict[str, Array]:
        """Gradients of outputs and unknowns of a level, in order of preference."""
        rows, moving = self._rows[level], level == "velocity"
        own = self.problem.unknowns[1 if moving else 0]
        found = {
            name: rows[k] for name, k in self.problem.output_rows.items() if bool(self.problem.velocity_dependent[k]) == moving
        }
        found |= dict(zip(own, np.eye(len(own)), strict=True))
        return {name: found[name] for name in sorted(found, key=lambda name: name not in FIRST)}

    def _span(self, level: str) -> Array:
        """Orthonormal basis of the row space of the constraints of a level."""
        constraints = self._rows[level][list(self.problem.constraints[level])]
        if not constraints.size or not np.isfinite(constraints).all():
            return np.zeros((0, self._rows[level].shape[1]))
        return decompose(constraints, 1e-10).row_space

    @cached_property
    def decided(self) -> frozenset[str]:
        """Quantities determined by the constraints alone, such as a bicycle's pitch."""
        found = []
        for level in ("position", "velocity"):
            span = self._span(level)
            known = {name: row for name, row in self._gradients(level).items() if np.isfinite(row).all()}
            found += [name for name, row in known.items() if len(span) and _outside_share(row, span) <= _DECIDED]
        return frozenset(found)

    def kept(self, level: str, wanted: Sequence[str]) -> list[str]:
        """An independent subset of quantities: those of `FIRST`, then greedily the most independent ones."""
        gradients = {name: row for name, row in self._gradients(level).items() if name in wanted and np.isfinite(row).all()}
        span, found = self._span(level), list[str]()
        while len(span) < span.shape[1]:
            new = {name: _outside_share(row, span) for name, row in gradients.items() if name not in found}
            chosen = next((name for name in FIRST if new.get(name, 0.0) > _NEW), max(new, key=lambda n: new[n], default=""))
            if new.get(chosen, 0.0) <= _NEW:
                break
            rest = gradients[chosen] - span.T @ (span @ gradients[chosen])
            rest -= span.T @ (span @ rest)  # twice is enough
            span = np.vstack([span, rest / np.linalg.norm(rest)])
            found.append(chosen)
        return found


def _outside_share(row: Array, span: Array) -> float:
    """Relative part of a gradient outside the span of orthonormal rows."""
    length = float(np.linalg.norm(row))
    return float(np.linalg.norm(row - span.T @ (span @ row))) / length if length else 0.0

"""A solution as data: what the solver answered, and by which method. With the maneuver it becomes the whole again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draisine.numerics.direct_methods import Collocation
    from draisine.optimal.adjoint.method import Adjoint
    from draisine.optimal.ipopt import Answer
    from draisine.optimal.shooting import MultipleShooting
    from draisine.optimal.solution import Solution


@dataclass(frozen=True, eq=False)
class Kept:
    """Goes into files and between processes."""

    schemes: tuple[Collocation | MultipleShooting | Adjoint, ...]  # one per phase
    answer: Answer
    conflicts: tuple[str, ...]
    rounds: int

    @staticmethod
    def of(solution: Solution) -> Kept:
        return Kept(tuple(p.scheme for p in solution.phases), solution.answer, solution.conflicts, solution.rounds)

"""A solution as data: what the solver answered, and by which method. With the manoeuvre it becomes the whole again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draisine.optimal.adjoint.method import Adjoint
    from draisine.optimal.collocation import Collocation
    from draisine.optimal.ipopt import Answer
    from draisine.optimal.shooting import Shooting
    from draisine.optimal.solution import Solution


@dataclass(frozen=True, eq=False)
class Kept:
    """Goes into files and between processes."""

    schemes: tuple[Collocation | Shooting | Adjoint, ...]  # one per phase
    answer: Answer
    fighting: tuple[str, ...]
    rounds: int

    @staticmethod
    def of(solution: Solution) -> Kept:
        return Kept(tuple(p.scheme for p in solution.phases), solution.answer, solution.fighting, solution.rounds)

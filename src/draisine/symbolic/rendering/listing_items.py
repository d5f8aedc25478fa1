"""What a listing is made of: named formulas under headings, and linear equations that are solved on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from draisine.errors import ArgumentError
from draisine.expr.expression import FLOAT_FUNCTIONS, Expr, evaluate, names

Functions = Mapping[str, Callable[..., float]]


@dataclass(frozen=True)
class Assignment:
    """One line of a listing: name = formula."""

    name: str
    meaning: str
    expression: Expr


@dataclass(frozen=True)
class Balance:
    """One of several equations that are solved together: left = right, and left is linear in the unknowns."""

    meaning: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Section:
    """Lines under one heading. Its `balances`, if there are any, are solved for the `unknowns` after the lines."""

    title: str
    assignments: tuple[Assignment, ...]
    balances: tuple[Balance, ...] = ()
    unknowns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """Named formulas from the arguments to the results, in an order in which they can be evaluated."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]  # names, in the order of the state
    sections: tuple[Section, ...]
    functions: Functions = field(default_factory=dict)  # tables, by name
    reported: str = "derivative of the state, in its order"  # what the results are

    @property
    def assignments(self) -> list[Assignment]:
        return [line for section in self.sections for line in section.assignments]

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """All named quantities, for numbers of the arguments."""
        return run_sections(self.sections, values, self.functions)


def run_sections(
    sections: Sequence[Section], values: Mapping[str, float], functions: Functions | None = None
) -> dict[str, float]:
    """Evaluate formulas one after the other, each with the results of those before it."""
    known = {name: float(value) for name, value in values.items()}
    every = {**FLOAT_FUNCTIONS, **(functions or {})}
    for section in sections:
        for line in section.assignments:
            known[line.name] = float(evaluate(line.expression, known.__getitem__, every))
        if section.balances:
            known |= _solve(section, known, every)
    return known


def unknowns_of(balances: Sequence[Balance], known: set[str]) -> tuple[str, ...]:
    """The names on the left that nothing has defined before."""
    found = dict.fromkeys(name for line in balances for name in sorted(names(line.left)) if name not in known)
    return tuple(found)


def _solve(section: Section, known: Mapping[str, float], functions: Functions) -> dict[str, float]:
    unknowns = section.unknowns
    nothing = {**known, **dict.fromkeys(unknowns, 0.0)}
    matrix = np.zeros((len(unknowns), len(unknowns)))
    if len(section.balances) != len(unknowns):
        raise ArgumentError(
            f"{section.title!r}: {len(section.balances)} equations cannot be solved for {len(unknowns)} unknowns "
            f"({', '.join(unknowns)})"
        )
    for i, line in enumerate(section.balances):
        here = names(line.left)
        for j, unknown in enumerate(unknowns):
            if unknown in here:
                matrix[i, j] = evaluate(line.left, {**nothing, unknown: 1.0}.__getitem__, functions)
    side = [float(evaluate(line.right, known.__getitem__, functions)) for line in section.balances]
    return dict(zip(unknowns, np.linalg.solve(matrix, side).tolist(), strict=True))

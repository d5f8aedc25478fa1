"""Reports on the index of a system, and the differentiation steps that lead to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from draisine.dynamics.dae.prolongation import Prolongation
from draisine.dynamics.dae.signature_method import coupled
from draisine.dynamics.dae.structure import Structure
from draisine.results.base import Result

_TIMES = {0: "undifferentiated", 1: "differentiated once", 2: "differentiated twice"}


@dataclass(frozen=True)
class Step:
    """An equation differentiated `times` times: a condition on unknowns, or, `together` with others, the equation that `gives`
    unknowns and the rates of those in `moving`. `unknowns` are those that the last differentiation introduced."""

    equation: str
    times: int
    unknowns: tuple[str, ...]
    gives: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    together: tuple[str, ...] = ()

    def __str__(self) -> str:
        often = _TIMES.get(self.times, f"differentiated {self.times} times")
        if not self.gives and not self.moving:
            kind = "hidden condition" if self.times else "condition"
            return f"{self.equation!r} {often}: a {kind} on {_listed(self.unknowns)}"
        others = f", together with {_listed([repr(n) for n in self.together])}," if self.together else ""
        rates = f"the rates of {_listed(self.moving)}" if len(self.moving) > 1 else f"the rate of {''.join(self.moving)}"
        text = " and ".join(part for part in (_listed(self.gives), rates if self.moving else "") if part)
        return f"{self.equation!r} {often}{others} gives {text}"


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def steps(shape: Structure) -> tuple[Step, ...]:
    """All steps, equation by equation. Undifferentiated equations for rates are named with those solved together with them."""
    system, found = shape.system, shape.offsets
    if not system.rest:
        return ()
    reached = coupled(system.signature, found)[list(found.partner)]
    mutual = reached & reached.T  # equations that must be solved together
    made: list[Step] = []
    for i, most in enumerate(found.equations):
        group = [int(k) for k in np.flatnonzero(mutual[i])]
        tops = sorted(found.partner[k] for k in group)
        algebraic = [k for k in tops if found.unknowns[k] == 0]
        leads = most > 0 or (not any(found.equations[k] for k in group) and algebraic and found.partner[i] == algebraic[0])
        if not leads:
            continue
        name = system.equations[system.rest[i]]
        made += [Step(name, times, _new_unknowns(system, i, times)) for times in range(most)]
        given = tuple(_unknown(system, k, 0) for k in algebraic)
        moving = tuple(_unknown(system, k, found.unknowns[k] - 1) for k in tops if k not in algebraic)
        together = tuple(system.equations[system.rest[k]] + "_rate" * found.equations[k] for k in group if k != i)
        made.append(Step(name, most, _new_unknowns(system, i, most), given, moving, together))
    return tuple(made)


def _unknown(system: Prolongation, index: int, order: int) -> str:
    return system.unknowns[system.others[index]] + "_rate" * order


def _new_unknowns(system: Prolongation, row: int, times: int) -> tuple[str, ...]:
    """Unknowns that the last differentiation introduced: through states, or as rates of the others."""
    levels = system.levels(system.rows[row])
    new = [system.unknowns[j] for j in sorted(levels[times])] if times < len(levels) else []
    orders = system.signature[row] + times
    absent = {_unknown(system, k, 0) for k, order in enumerate(orders) if order < 0}  # absent on a branch, or canceled
    new = [name for name in new if name not in absent]
    new += [_unknown(system, k, int(order)) for k, order in enumerate(orders) if order >= 1]
    return tuple(dict.fromkeys(new))


@dataclass(frozen=True)
class Elsewhere:
    """Another consistent point, and the differential index there."""

    differential: int
    point: dict[str, float] = field(repr=False)


@dataclass(frozen=True)
class DifferentiationStep:
    """All equations differentiated so many times: the number of conditions on the unknowns, and the rates that stay
    undetermined."""

    times: int
    conditions: int
    open: tuple[str, ...]

    def __str__(self) -> str:
        rates = f"rates of {', '.join(self.open)} undetermined" if self.open else "all rates determined"
        return f"{self.times} differentiations of all equations: {self.conditions} conditions on the unknowns, {rates}"


@dataclass(frozen=True)
class IndexReport(Result):
    """The index of a system at a consistent point, and how it was found.

    - `structural`: by the Σ-method, on the system as posed; `differential`: by ranks at `point`, None if none was found.
    - `perturbation`: where it follows from the others; otherwise None, and a sentence gives bounds.
    - `freedoms`: number of values that may be chosen at a start; `unknowns`: structural index of each unknown.
    - `steps`: differentiations of each equation, by structure; `rounds`: results of differentiating all equations, by ranks;
      `elsewhere`: consistent points where the index differs.
    - `margin`: smallest significant and largest insignificant singular value, as fractions of the largest.
    """

    name: str
    structural: int
    differential: int | None
    perturbation: int | None
    freedoms: int | None
    unknowns: dict[str, int]
    steps: tuple[Step, ...]
    rounds: tuple[DifferentiationStep, ...]
    elsewhere: tuple[Elsewhere, ...]
    point: dict[str, float]
    margin: tuple[float, float] | None
    sentences: tuple[str, ...]

    def _table(self) -> Mapping[str, Any]:
        return {"unknown": list(self.unknowns), "index": list(self.unknowns.values())}

    def as_data(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        data = asdict(self)
        data["steps"] = [asdict(step) | {"said": str(step)} for step in self.steps]
        return data

    def __str__(self) -> str:
        lines = [*self.sentences, *(str(step) for step in self.steps or self.rounds)]
        return "\n".join([f"index of {self.name}", *(f"  {line}" for line in lines)])

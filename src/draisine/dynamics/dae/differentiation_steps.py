"""In words what each differentiation of each equation removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.dynamics.dae.prolongation import Prolongation
from draisine.dynamics.dae.signature_method import coupled
from draisine.dynamics.dae.structure import Structure

_OFTEN = {0: "as it stands", 1: "differentiated once", 2: "differentiated twice"}


@dataclass(frozen=True)
class Step:
    """An equation differentiated `times` times: a condition on unknowns, or, `together` with others, what `gives` unknowns and
    the rates of those in `moving`. `about` are the unknowns that it holds and that the equation before it did not."""

    equation: str
    times: int
    about: tuple[str, ...]
    gives: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    together: tuple[str, ...] = ()

    def __str__(self) -> str:
        often = _OFTEN.get(self.times, f"differentiated {self.times} times")
        if not self.gives and not self.moving:
            kind = "hidden condition" if self.times else "condition"
            return f"{self.equation!r} {often}: a {kind} on {_few(self.about)}"
        others = f", together with {_few([repr(n) for n in self.together])}," if self.together else ""
        rates = f"the rates of {_few(self.moving)}" if len(self.moving) > 1 else f"the rate of {''.join(self.moving)}"
        said = " and ".join(part for part in (_few(self.gives), rates if self.moving else "") if part)
        return f"{self.equation!r} {often}{others} gives {said}"


def _few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def steps(shape: Structure) -> tuple[Step, ...]:
    """All steps, equation by equation. Equations that are solved for rates as they stand are named beside those they help."""
    system, found = shape.system, shape.offsets
    if not system.rest:
        return ()
    reached = coupled(system.signature, found)[list(found.partner)]
    mutual = reached & reached.T  # equations that must be solved together
    made: list[Step] = []
    for i, most in enumerate(found.equations):
        group = [int(k) for k in np.flatnonzero(mutual[i])]
        tops = sorted(found.partner[k] for k in group)
        loose = [k for k in tops if found.unknowns[k] == 0]
        leads = most > 0 or (not any(found.equations[k] for k in group) and loose and found.partner[i] == loose[0])
        if not leads:
            continue
        name = system.equations[system.rest[i]]
        made += [Step(name, times, _about(system, i, times)) for times in range(most)]
        given = tuple(_unknown(system, k, 0) for k in loose)
        moving = tuple(_unknown(system, k, found.unknowns[k] - 1) for k in tops if k not in loose)
        together = tuple(system.equations[system.rest[k]] + "_rate" * found.equations[k] for k in group if k != i)
        made.append(Step(name, most, _about(system, i, most), given, moving, together))
    return tuple(made)


def _unknown(system: Prolongation, place: int, order: int) -> str:
    return system.unknowns[system.others[place]] + "_rate" * order


def _about(system: Prolongation, row: int, times: int) -> tuple[str, ...]:
    """Unknowns that the last differentiation has brought in: through states, or as rates of the others."""
    levels = system.levels(system.rows[row])
    new = [system.unknowns[j] for j in sorted(levels[times])] if times < len(levels) else []
    orders = system.signature[row] + times
    absent = {_unknown(system, k, 0) for k, order in enumerate(orders) if order < 0}  # on a branch, or canceled
    new = [name for name in new if name not in absent]
    new += [_unknown(system, k, int(order)) for k, order in enumerate(orders) if order >= 1]
    return tuple(dict.fromkeys(new))

"""Equations that depend on time itself: they have no steady motions, and a linear model at one instant does not hold at the next.

Time may occur and yet have no effect, as in the drive of a belt at constant speed. So derivatives are compared at several
instants.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]

INSTANTS = np.array([0.0, 0.3819660113, 1.7320508076, 5.4365636569, 31.0062766803])  # s, in no simple ratio
CHANGED = 1e-9  # of a derivative over time, relative to the largest


def depends_on_time(dynamics: Program | LinearSolveProgram) -> bool:
    """Whether time occurs in the state derivative."""
    programs = [dynamics] if isinstance(dynamics, Program) else [dynamics.system, dynamics.after]
    return any(program.function.jac_sparsity(k, 0).nnz() > 0 for program in programs for k in range(len(program.outputs)))


@lru_cache(maxsize=32)
def _occurs(equations: Equations) -> bool:
    return depends_on_time(equations.explicit)


def changing_rates(equations: Equations, x: Array, u: Array, p: Array) -> tuple[str, ...]:
    """States whose rates, or whose derivatives of rates, change with time at a constant state; none if time has no effect
    there."""
    if not _occurs(equations):
        return ()
    count = len(INSTANTS)
    point = [np.repeat(part[None], count, axis=0) for part in (x, u, p)]
    found = deviations_of(equations).derivatives(INSTANTS[:, None], *point)
    names = [q.name for q in equations.states]
    changed = np.zeros(found.w.shape[1], dtype=bool)
    for values in (found.w[..., None], found.by_state, found.by_input):
        size = max(float(np.abs(values[0]).max(initial=0.0)), 1e-300)
        changed |= ~(np.abs(values - values[0]).max(axis=(0, 2), initial=0.0) <= CHANGED * size)
    return tuple(name for name, now in zip(names, changed, strict=False) if now)


def require_no_time(equations: Equations, x: Array, u: Array, p: Array, purpose: str) -> None:
    """Refuse equations on which time itself has an effect."""
    if names := changing_rates(equations, x, u, p):
        raise time_matters(equations, purpose, names)


def time_matters(equations: Equations, purpose: str, names: tuple[str, ...]) -> ModelError:
    """The error for such equations, with the states whose rates change."""
    listed = f" (rates of {', '.join(names[:4])}{', …' if len(names) > 4 else ''})" if names else ""
    return ModelError(
        f"{equations.name} depends on time itself{listed}, so that {purpose} at one instant does not hold at another. For a "
        f"periodic "
        "excitation, dr.stability.limit_cycle(model, period=…) finds the periodic motion and its Floquet multipliers; or "
        "make what varies "
        "an input or a parameter"
    )

"""Equations that depend on time itself: they have no steady motions, and a linear model at one instant does not hold at the next.

Time may occur and yet have no effect, as in the drive of a belt at constant speed. So derivatives are compared at several
instants, and where functions of time switch, have knots, or vary suddenly: a pulse is zero at almost any instant.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.switch_times import switch_times
from draisine.program.switching import find_switching, graph_of_time
from draisine.program.time_marks import marks_of_time
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]

INSTANTS = np.array([0.0, 0.3819660113, 1.7320508076, 5.4365636569, 31.0062766803])  # s, in no simple ratio
SPANS = (0.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)  # s, between which functions of time are searched for switches and pulses
OFTEN = 20  # changes in one of these spans, from which on longer ones show nothing new
SHARE = 0.01  # of the range of a function of time, that matters
MOST = 500  # of the instants that are found so
CHANGED = 1e-9  # of a derivative over time, relative to the largest
ROUNDED = 64.0 * float(np.finfo(float).eps)  # and for each second, of which functions of time are the rest


def depends_on_time(dynamics: Program | LinearSolveProgram) -> bool:
    """Whether time occurs in the state derivative."""
    programs = [dynamics] if isinstance(dynamics, Program) else [dynamics.system, dynamics.after]
    return any(program.function.jac_sparsity(k, 0).nnz() > 0 for program in programs for k in range(len(program.outputs)))


@lru_cache(maxsize=32)
def _occurs(equations: Equations) -> bool:
    return depends_on_time(equations.explicit)


def sample_instants(equations: Equations, u: Array, p: Array) -> Array:
    """Instants at which equations are compared, the first one zero: some in no simple ratio, those at which functions of time
    switch or vary suddenly, and those between."""
    switching = find_switching(equations, free_kinks=True)
    graph = graph_of_time(equations) if switching is None else switching.graph
    if graph is None:
        return INSTANTS
    found = [INSTANTS]
    for low, high in pairwise(SPANS):
        timed = () if switching is None or not switching.time_only else (switch_times(switching, low, high, u, p),)
        marks = marks_of_time(graph, (low, high), u, p, SHARE, *timed)
        known = np.unique(np.concatenate([marks.times, *(one.times for one in timed)]))
        inside = int(np.count_nonzero((known > low) & (known < high)))
        if inside or low == 0.0:
            known = np.unique(np.concatenate([[low, high], known]))
            known = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), MOST)).round().astype(int))]
            found += [known, 0.5 * (known[1:] + known[:-1])]
        if inside > OFTEN:
            break
    return np.unique(np.concatenate(found))


def changing_rates(equations: Equations, x: Array, u: Array, p: Array) -> tuple[str, ...]:
    """States whose rates, or whose derivatives of rates, change with time at a constant state; none if time has no effect
    there."""
    if not _occurs(equations):
        return ()
    instants = sample_instants(equations, u, p)
    point = [np.repeat(part[None], len(instants), axis=0) for part in (x, u, p)]
    found = deviations_of(equations).derivatives(instants[:, None], *point)
    names = [q.name for q in equations.states]
    changed = np.zeros(found.w.shape[1], dtype=bool)
    terms = float(np.abs(found.by_state[0]).max(initial=0.0) * np.abs(x).max(initial=0.0))  # of which rates are the rest
    for values in (found.w[..., None], found.by_state, found.by_input):
        size = max(float(np.abs(values[0]).max(initial=0.0)), 1e-300)
        allowed = (CHANGED * size + ROUNDED * max(size, terms) * np.abs(instants))[:, None]
        changed |= ~(np.abs(values - values[0]).max(axis=2, initial=0.0) <= allowed).all(axis=0)
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

"""Periodic motions of mechanisms whose contacts stick, slip, open and collide: what differs from smooth ones.

Deviations are those of the modes at the node; between nodes they jump with the modes (`simulation.contact_jumps`). A node must
not lie where modes change, and a coordinate need not be periodic only if no gap and no slip depends on it either.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.simulation.result import Run
from draisine.stability.deviations import Naming, deviations_of
from draisine.stability.steady_problem import ignorable_at

Array = NDArray[np.float64]

NEAR = 1e-6  # time to a change of modes relative to that between two nodes
DIFFERENCE = 1e-5  # the same, of a difference along the motion
NOTHING = 1e-12  # derivative of a gap or a slip by a coordinate, relative to the largest, that is none
REPEATS = 1e-9  # change of a gap or its rate over a period, relative to its size


def modes_of_samples(run: Run) -> list[Array]:
    """The parameters, with the modes of contacts, at every sample of a run."""
    return [segment.parameters for segment in run.segments for _ in segment.times if segment.parameters is not None]


def contact_naming(e: Equations, preferred: tuple[str, ...], x: Array, u: Array, p: Array) -> Naming:
    """The names of deviations in the modes of a state."""
    deviations = deviations_of(e, preferred)
    return deviations.choose(deviations.derivatives(0.0, x[None], u[None], p[None]))


def ignorable_of_contacts(
    e: Equations, states: Sequence[Array], u: Array, modes: Sequence[Array], times: Sequence[float]
) -> tuple[str, ...]:
    """Coordinates on which neither the motion in any of these modes nor a gap or slip of a contact depends."""
    common: set[str] | None = None
    for x, p, t in zip(states, modes, times, strict=True):
        constrained = deviations_of(e).choose(deviations_of(e).derivatives(0.0, x[None], u[None], p[None])).names
        found = set(ignorable_at(e, [x], u, p, [t])) | ({q.name for q in e.coordinates} - set(constrained))
        common = found if common is None else common & found
    left = [q.name for q in e.coordinates if q.name in (common or set())]
    if not left:
        return ()
    by_state = np.abs([_contact_jacobian(e)(0.0, x, u, p).full() for x, p in zip(states, modes, strict=True)]).max(axis=(0, 1))
    index = {q.name: i for i, q in enumerate(e.coordinates)}
    return tuple(name for name in left if by_state[index[name]] <= NOTHING * by_state.max())


@lru_cache(maxsize=16)
def _contact_jacobian(e: Equations) -> ca.Function:
    """(t, x, u, p) → derivatives of gaps, slips and their rows by the state."""
    assert e.contact_terms is not None
    symbols = e.contact_terms.symbols()
    slots = [slot.name for slot in e.contact_terms.outputs]
    found = e.contact_terms.function.call(symbols)
    measures = ca.vertcat(*[ca.vec(found[slots.index(name)]) for name in ("gap", "speed", "rows")])
    return ca.Function("by_state", symbols, [ca.densify(ca.jacobian(measures, symbols[1]))])


def change_near(e: Equations, t: float, x: Array, u: Array, p: Array, duration: float) -> str:
    """The name of a contact that changes its mode about now, or ""."""
    if not e.unilateral:
        return ""
    assert e.contact_margins is not None
    rate, step = np.asarray(e.explicit([t], x, u, p)[0]), DIFFERENCE * duration
    before, now, after = (
        np.asarray(e.contact_margins([t + share * step], x + share * step * rate, u, p)[0]) for share in (-1.0, 0.0, 1.0)
    )
    reach = NEAR / DIFFERENCE * np.maximum(np.abs(after - now), np.abs(now - before))
    found = np.flatnonzero((now <= reach)[: 2 * len(e.unilateral)])
    return e.unilateral[int(found[0]) // 2].name if len(found) else ""


def check_repetition(e: Equations, states: Array, u: Array, p: Array, period: float) -> None:
    """Refuse gaps and slips that are not the same functions of the state after the period: a table with another one."""
    assert e.contact_terms is not None
    slots = [slot.name for slot in e.contact_terms.outputs]

    def measures(t: float, x: Array) -> Array:
        found = e.contact_terms([t], x, u, p) if e.contact_terms is not None else []
        return np.concatenate([np.ravel(found[slots.index(name)]) for name in ("gap", "speed")])

    times = np.linspace(0.0, period, len(states))
    now = np.array([measures(t, x) for t, x in zip(times, states, strict=True)])
    later = np.array([measures(t + period, x) for t, x in zip(times, states, strict=True)])
    size = np.ptp(now, axis=0).max(initial=1e-300)
    apart = float(np.abs(later - now).max(initial=0.0))
    if apart > REPEATS * size:
        raise ArgumentError(
            f"{e.name}: gaps and slips of its contacts are not the same after period={period:.10g} (they differ by {apart:.2g}); "
            "give the period of the excitation, with all digits, or a multiple"
        )

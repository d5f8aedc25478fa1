"""Sizes of the deviations of a periodic motion, by which residuals, steps and tolerances are measured.

A deviation that oscillates has its range as its size. One that vanishes or is constant on the motion has none: its range along a
first guess is that of a transient, and may be anything. Its size follows from the flow, whatever its unit: it is what deviations
of the other coordinates, as large as the motion, make of it within a period.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError, SolverError
from draisine.simulation.methods.selection import Method
from draisine.simulation.run import integrate
from draisine.stability.deviations import deviations_of
from draisine.stability.periodic.flow import FINE, Flow, completed
from draisine.stability.periodic.shooting import Shot, shoot

Array = NDArray[np.float64]

NOTHING = 1e-9  # ranges below this, relative to the smaller of 1 and the largest, are none
CONSTANT = 1e-3  # size of a deviation, relative to its largest value, if it hardly changes
EXCESS = 10.0  # what others make of a deviation, relative to its size, from which this is too small
FARTHEST = 1e3  # of a transient, relative to what it changes within a period
PART = 0.125  # of a period, after which couplings are looked at as well: those of motions that attract fade within a whole one
ANOTHER = 1e2  # ratio of the sizes along the motion found and along the first guess
SMALL = 1e-2  # a motion this small needs smaller absolute tolerances
SMALL_STATE, LARGE_STATE = 1e-3, 1e2  # states beyond have their own absolute tolerances
SAMPLES = 32


def ranges(values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Sizes of deviations from their values along a motion, (samples, names), and whether they have one of their own."""
    sizes = np.maximum(0.5 * np.ptp(values, axis=0), CONSTANT * np.abs(values).max(axis=0, initial=0.0))
    return sizes, sizes > NOTHING * usual_size(sizes)


def usual_size(sizes: Array) -> float:
    """Of a motion: the smaller of 1 and the largest size."""
    return min(1.0, float(sizes.max(initial=0.0))) or 1.0


def values_along(shot: Shot, shares: Array) -> tuple[list[Array], Array]:
    """States and deviations at increasing shares of the period, each from the node before it."""
    flow, found = shot.flow, []
    e, m = flow.equations, shot.count
    for i, node in enumerate(shot.nodes):
        here = shares[(shares * m >= i) & ((shares * m < i + 1) | (i == m - 1))]
        if not len(here):
            continue
        times = shot.begin + shot.period * here
        begin, run_to = shot.time(i), max(float(times[-1]), shot.time(i) + 1e-12 * shot.period)
        run = integrate(
            e,
            node.x,
            run_to,
            start=begin,
            parameters=node.p,
            inputs=flow.u,
            method=flow.bounded,
            samples=np.maximum(times, begin),
        )
        completed(run, f"{e.name}: the motion ends before its period is over")
        found += list(run.states)
    states = np.array(found)
    p = shot.nodes[0].p
    given = np.broadcast_to(flow.u, (len(states), len(flow.u))), np.broadcast_to(p, (len(states), len(p)))
    chosen = [flow.naming.chosen[flow.naming.names.index(name)] for name in flow.names]
    return found, deviations_of(e, flow.preferred).derivatives(0.0, states, *given).values[:, chosen]


def balanced_sizes(sizes: Array, own: NDArray[np.bool_], matrices: Sequence[Array]) -> Array:
    """Sizes raised to what other deviations make of them. Those that are not of their own become that, or what makes as much of
    others as their size.

    Matrices are derivatives of deviations by others. Their spectral radii, which do not depend on scales, discount the growth of
    unstable motions.

    >>> import numpy as np
    >>> flow = np.array([[0.5, 0.0], [2e6, 0.5]])
    >>> balanced_sizes(np.array([1.0, 1e-3]), np.array([True, True]), [flow]).tolist()
    [1.0, 2000000.0]
    """
    made = [np.abs(m) / max(1.0, float(np.abs(np.linalg.eigvals(m)).max(initial=0.0))) for m in matrices]
    coupling = np.max([m - np.diag(np.diag(m)) for m in made], axis=0)
    sizes, known = sizes.copy(), own.copy()
    raised = np.zeros(len(sizes), dtype=bool)
    for _ in sizes:
        driven = (coupling * np.where(known, sizes, 0.0)).max(axis=1)
        excess = np.where(raised, 0.0, driven / sizes)
        excess = np.where(known, excess, np.maximum(excess, np.where(driven > 0.0, sizes / np.maximum(driven, 1e-300), 0.0)))
        i = int(np.argmax(excess))
        if excess[i] <= EXCESS:
            break
        sizes[i], known[i], raised[i] = driven[i], True, True
    for i in np.flatnonzero(~known).tolist():
        drives = float((coupling[:, i] / sizes)[known].max(initial=0.0))
        if drives * sizes[i] > EXCESS:
            sizes[i] = 1.0 / drives
    return sizes


def rate_couplings(by_state: Array, longest: float) -> Array:
    """What deviations make of each other within the time in which they react, at most `longest`, from derivatives of their rates
    at several states, (states, names, names)."""
    reacts = 1.0 / np.maximum(np.abs(np.diagonal(by_state, axis1=1, axis2=2)), 1.0 / longest)
    return np.asarray((np.abs(by_state) * reacts[..., None]).max(axis=0))


def balanced(shot: Shot, own: NDArray[np.bool_]) -> Shot:
    """The same nodes, with sizes of the deviations that are not too small for what others make of them."""
    flow = shot.flow
    if len(flow.names) < 2:
        return shot
    matrices = [shot.monodromy]
    with suppress(ModelError, SolverError):  # where a contact has another mode
        matrices.append(flow.passage(shot.time(0), shot.nodes[0], PART * shot.period, shot.p).matrix)
    if not all(np.isfinite(m).all() for m in matrices):
        return shot
    # a transient: the size of what removes it
    missed, kept = np.abs(shot.defects).max(axis=0), np.abs(1.0 - np.diag(shot.monodromy))
    scales = flow.scales * np.where(own & (missed > 1.0), np.clip(missed / np.maximum(kept, 1e-3), 1.0, FARTHEST), 1.0)
    scales = balanced_sizes(scales, own, matrices)
    method = toleranced_states(flow, scales)
    if method is flow.method and (scales == flow.scales).all():
        return shot
    return shoot(replace(flow, scales=scales, method=method), shot.conditions, list(shot.nodes), shot.period, shot.p, shot.begin)


def toleranced_states(flow: Flow, scales: Array) -> Method:
    """The method with absolute tolerances relative to the sizes of small and large states, unless one was given. Where a large
    one vanishes on the motion, rounding would exceed any other."""
    sizes = dict(zip(flow.names, scales.tolist(), strict=True))
    special = {name for name, size in sizes.items() if not SMALL_STATE <= size <= LARGE_STATE}
    if flow.given_method or not special:
        return flow.method
    usual, fine = usual_size(scales), float(np.min(FINE.atol))
    least = fine * (usual if usual < SMALL else 1.0)
    atol = tuple(fine * sizes[q.name] if q.name in special else least for q in flow.equations.states)
    new = replace(FINE, atol=atol)
    return flow.method if flow.method == new else new


def resized(shot: Shot) -> Shot:
    """The same motion with its own sizes, where those of the first guess are of another order; the shot itself where not."""
    flow = shot.flow
    try:
        values = values_along(shot, np.linspace(0.0, 1.0, SAMPLES + 1))[1]
    except (ModelError, SolverError):
        return shot
    sizes, own = ranges(values)
    own &= sizes > NOTHING * flow.scales
    other = own & ((sizes * ANOTHER < flow.scales) | (sizes > ANOTHER * flow.scales))
    if not other.any():
        return shot
    scales = np.where(other, sizes, flow.scales)
    new = replace(flow, scales=scales)
    begun = shoot(new, shot.conditions, list(shot.nodes), shot.period, shot.p, shot.begin)
    done = balanced(begun, own)
    # raised again to where they were: nothing is new
    same = np.abs(np.log(done.flow.scales / flow.scales)) < np.log(ANOTHER)
    return shot if same.all() else done


def least_divisor(shot: Shot, returned: float, divisors: tuple[int, ...] = (2, 3, 5, 7)) -> int:
    """The least prime by which the period can be divided: the motion has returned after that part of it; 1 if there is none."""
    shares = np.sort([1.0 / k for k in divisors])
    try:
        values = values_along(shot, np.concatenate([[0.0], shares]))[1]
    except (ModelError, SolverError):
        return 1
    for k in divisors:
        at = values[1 + int(np.searchsorted(shares, 1.0 / k))]
        if (np.abs(at - values[0] - shot.conditions.advance / k) <= returned * shot.flow.scales).all():
            return k
    return 1


def divided(shot: Shot, k: int) -> Shot:
    """The motion over one part of k equal ones of its period, with as many nodes."""
    flow, m = shot.flow, shot.count
    states, _ = values_along(shot, np.arange(m) / (m * k))
    period = shot.period / k
    nodes = [flow.node(period * i / m, x, shot.nodes[0].p) for i, x in enumerate(states)]
    conditions = replace(shot.conditions, advance=shot.conditions.advance / k)
    return shoot(flow, conditions, nodes, period, shot.p)

"""Arcs of controls: between its switches, a bounded control rests at a bound or lies between them.

The switching structure is read from a solution on a mesh: at each node, the control that minimizes the Hamiltonian is at its
lower bound, at its upper bound, or neither. Mesh points are placed where that changes. With controls held at their bounds and the
times of these mesh points as unknowns, a bang-bang motion is a smooth function of few unknowns, and no control can exceed
a bound between the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation
from draisine.optimal.minimum_principle import better_controls

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

AT_BOUND = 1e-2  # of the range between bounds: distance within which a control counts as at its bound
VANISHES = 1e-4  # of its largest magnitude: below, a switching function is zero, as along a singular arc
APART = 0.3  # of an interval: mesh points nearer to a switch are dropped
COINCIDE = 1e-9  # of the duration: switches of two controls that are one
SHORTEST = 1e-7  # of the duration: an arc that has vanished
IN_PIECES = 2  # the state of a control between bounds that is constant in each interval
RESTS, JUMP = 1e-6, 0.2  # of the range: distance from a bound, and change, of a control in which the Hamiltonian is curved
CHATTER = 4  # runs of a few nodes in sequence, at least
MOST = 60  # switches of a phase: more are the chatter of a control that has no such structure


@dataclass(frozen=True, eq=False)
class ControlArcs:
    """The structure of a phase's controls on a mesh: numbers of the mesh points that move, and the values of controls that are
    held at a bound, (intervals, controls), NaN for those that are not."""

    moving: tuple[int, ...]
    bound: Reals


@dataclass(frozen=True)
class _Run:
    """Nodes first to last of one state of a control."""

    first: int
    last: int
    at: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def structure_of(found: PhaseSolution, parameters: Reals) -> tuple[Reals, Indices] | None:
    """Positions of switches, and (arcs, controls) states of the controls between them: −1 and 1 at their bounds, 0 or
    `IN_PIECES` between them. None if no control switches, if so many do that there is no structure, or if a control jumps in
    which the Hamiltonian is curved: it has several minima there, as a heading that wraps. `parameters` are the optimized ones."""
    phase, grid = found.phase, found.grid
    controls, _ = better_controls(phase, grid, found.node_arguments(parameters), found.costates, found.controls)
    values = (found.controls if controls is None else controls)[grid.node_control]
    switching = None if found.pontryagin is None else found.pontryagin.switching[grid.node_control]
    every: list[tuple[list[_Run], list[float]]] = []
    for j, name in enumerate(phase.controls):
        low, high = phase.limits.get(name, (-np.inf, np.inf))
        states = np.zeros(len(values), dtype=np.int64)
        slope = np.zeros(len(values)) if switching is None else switching[:, j]
        if np.isfinite(high - low) and low < high:
            shares = (values[:, j] - low) / (high - low)
            if not phase.linear_controls[j] and np.abs(np.diff(shares)).max(initial=0.0) > JUMP:
                return None
            states = _states(shares, slope, phase.linear_controls[j])
        runs = _settled(_runs(states), len(grid.node_local), phase.linear_controls[j])
        every.append((runs, [_between(found, slope, a.last, b.first) for a, b in pairwise(runs)]))
    joints = np.unique(np.concatenate([np.zeros(0), *(np.array(cuts) for _, cuts in every)]))
    joints = joints[np.concatenate([[True], np.diff(joints) > COINCIDE])] if len(joints) else joints
    if not 0 < len(joints) <= MOST:
        return None
    middles = np.concatenate([[0.0], joints]) / 2 + np.concatenate([joints, [1.0]]) / 2
    return joints, np.array([[runs[int(np.searchsorted(cuts, m))].at for runs, cuts in every] for m in middles])


def _states(shares: Reals, slope: Reals, linear: bool) -> Indices:
    """States of a control at the nodes, by its shares of the range between its bounds and its switching function."""
    near = AT_BOUND if linear else RESTS
    states = np.where(shares < near, -1, np.where(shares > 1.0 - near, 1, 0))
    if linear:
        states[np.abs(slope) < VANISHES * np.abs(slope).max(initial=0.0)] = 0
        states[states == 0] = IN_PIECES
        return states
    return states


def _runs(states: Indices) -> list[_Run]:
    ends = np.flatnonzero(np.diff(states)).tolist()
    firsts, lasts = [0, *(e + 1 for e in ends)], [*ends, len(states) - 1]
    return [_Run(a, b, int(states[a])) for a, b in zip(firsts, lasts, strict=True)]


def _settled(runs: list[_Run], short: int, linear: bool) -> list[_Run]:
    """Runs without those that a mesh makes: a few nodes between bounds where a control jumps, and chatter beside an arc between
    bounds. `short` is the number of nodes of an interval."""
    if linear:
        runs = _without_chatter(runs, short)
        long = [r.at == IN_PIECES and r.count > 2 * short for r in runs]
        made: list[_Run] = []
        for k, run in enumerate(runs):
            beside = any(long[i] for i in (k - 1, k + 1) if 0 <= i < len(runs))
            leaves = run.count <= short and beside and 0 < k < len(runs) - 1  # a singular arc, for a few nodes
            if run.at != IN_PIECES or long[k] or beside:  # otherwise a jump, or a touch
                made.append(_Run(run.first, run.last, IN_PIECES if leaves else run.at))
    else:
        made = [run for run in runs if run.count > short]
    if not made:
        return [_Run(runs[0].first, runs[-1].last, IN_PIECES if linear else 0)]
    joined = [_Run(runs[0].first, made[0].last, made[0].at)]
    for run in made[1:]:
        if run.at == joined[-1].at:
            joined[-1] = _Run(joined[-1].first, run.last, run.at)
        else:
            joined.append(run)
    joined[-1] = _Run(joined[-1].first, runs[-1].last, joined[-1].at)
    return joined


def _without_chatter(runs: list[_Run], short: int) -> list[_Run]:
    """Runs with one in place of each sequence of many short ones."""
    made, group = list[_Run](), list[_Run]()
    for run in [*runs, None]:
        if run is not None and run.count <= short:
            group.append(run)
            continue
        made += [_Run(group[0].first, group[-1].last, IN_PIECES)] if len(group) >= CHATTER else group
        made += [] if run is None else [run]
        group = []
    return made


def _between(found: PhaseSolution, slope: Reals, one: int, other: int) -> float:
    """Where a control switches between two nodes: at a mesh point, or where its switching function is zero."""
    tau, breaks = found.grid.nodes, found.grid.breaks
    inner = breaks[(breaks >= tau[one]) & (breaks < tau[other]) & (breaks > 0.0)]
    if len(inner) and other == one + 1:
        return float(inner[0])
    if slope[one] * slope[other] < 0.0:
        share = slope[one] / (slope[one] - slope[other])
        return float(tau[one] + np.clip(share, 0.05, 0.95) * (tau[other] - tau[one]))
    return float((tau[one] + tau[other]) / 2)


def mesh_of(found: PhaseSolution, joints: Reals, states: Indices, parts: Indices, degree: int) -> tuple[Collocation, ControlArcs]:
    """The mesh with points at the switches, and its arcs. Intervals of the mesh before are split into `parts`."""
    scheme, old, phase = found.scheme, found.grid.breaks, found.phase
    assert isinstance(scheme, Collocation)
    finer = np.concatenate([*(np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(old[:-1], old[1:], parts, strict=True)), [1.0]])
    lengths = np.diff(finer)
    near = np.searchsorted(joints, finer)
    kept = []
    for k, point in enumerate(finer[1:-1], start=1):
        sides = [joints[i] for i in (near[k] - 1, near[k]) if 0 <= i < len(joints)]
        if all(abs(point - side) > APART * min(lengths[k - 1], lengths[k]) for side in sides):
            kept.append(float(point))
    breaks = np.array(sorted([0.0, *kept, *joints.tolist(), 1.0]))
    moving = tuple(int(k) for k in np.searchsorted(breaks, joints))
    arc = np.searchsorted(joints, (breaks[:-1] + breaks[1:]) / 2)
    bounds = np.array([phase.limits.get(name, (np.nan, np.nan)) for name in phase.controls]).reshape(-1, 2)
    at = states[arc]
    bound = np.where(at == -1, bounds[:, 0], np.where(at == 1, bounds[:, 1], np.nan))
    constant = (at == IN_PIECES).any(axis=1)  # a polynomial takes over part of a jump, or chatters
    made = Collocation(scheme.scheme, degree, tuple(breaks.tolist()), tuple(constant.tolist()) if constant.any() else False)
    return made, ControlArcs(moving, bound)


def calmed(found: PhaseSolution, joints: Reals, states: Indices) -> PhaseSolution:
    """The solution with the mean over some intervals in place of controls that chatter."""
    grid, controls = found.grid, found.controls.copy()
    arc, length = np.searchsorted(joints, grid.control_times), np.diff(grid.breaks)
    weights = np.bincount(grid.node_control, weights=grid.weights, minlength=len(controls))
    for a, j in zip(*np.nonzero(states == IN_PIECES), strict=True):
        inside = np.flatnonzero(arc == a)
        for i in inside:
            wide = 1.5 * length[grid.locate(grid.control_times[i : i + 1])[0][0]]
            near = inside[np.abs(grid.control_times[inside] - grid.control_times[i]) <= wide]
            controls[i, j] = weights[near] @ found.controls[near, j] / weights[near].sum()
    return replace(found, controls=controls)


def without_vanished(joints: Reals, states: Indices, shares: Reals) -> tuple[Reals, Indices] | None:
    """The structure without arcs whose share of the duration is nothing; None if no switch is left."""
    cuts, left = list[float](), list[Indices]()
    for begin, state, share in zip(np.concatenate([[0.0], joints]), states, shares, strict=True):
        if share < SHORTEST or (left and (state == left[-1]).all()):
            continue
        if left:
            cuts.append(float(begin))
        left.append(state)
    return (np.array(cuts), np.array(left)) if cuts else None


def moved_breaks(breaks: Reals, clocks: Reals, begin: float, duration: float) -> Reals:
    """Mesh points at the times that they have moved to; `clocks` are b and L of each interval, whose time is b + L τ."""
    times = clocks[:, 0] + clocks[:, 1] * breaks[1:]
    return np.concatenate([[0.0], (times[:-1] - begin) / duration, [1.0]])

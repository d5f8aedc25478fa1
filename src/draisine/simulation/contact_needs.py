"""Needs of contacts that open (`run.modes.needs`), from the samples of a run."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations, Unilateral
from draisine.results.contact_needs import NO_NEEDS, ContactNeed, ContactNeeds
from draisine.results.trajectory import Trajectory
from draisine.simulation.result import Run
from draisine.simulation.stepper.contact_layout import OPEN, STICK

Reals = NDArray[np.float64]


def contact_needs(run: Run, trajectory: Trajectory, equations: Equations) -> ContactNeeds:
    """How much friction every contact needs while it sticks, how near it comes to lifting, and how near to closing."""
    if not equations.unilateral or not len(trajectory.time):
        return NO_NEEDS
    names = frozenset(trajectory.names())
    return ContactNeeds(tuple(_need(run, trajectory, names, equations, i) for i in range(len(equations.unilateral))))


def _need(run: Run, trajectory: Trajectory, names: frozenset[str], e: Equations, index: int) -> ContactNeed:
    contact = e.unilateral[index]
    mode = trajectory[f"{contact.name}_mode"]

    def least(name: str, where: NDArray[np.bool_], sign: float = 1.0) -> tuple[float, float, int]:
        """The least value of a channel, or of its negative, its time and sample."""
        if name not in names or not where.any():
            return math.nan, math.nan, -1
        values = np.where(where, np.fmin(sign * trajectory[name], np.inf), np.inf)  # infinite where it is NaN
        k = int(np.argmin(values))
        if values[k] == np.inf and np.isnan(trajectory[name][where]).all():
            return math.nan, math.nan, -1
        return sign * float(values[k]), float(trajectory.time[k]), k

    load = f"{contact.name}_normal_force" if contact.count else f"{contact.name}_force"
    closed = mode != OPEN if contact.normal >= 0 else np.zeros(len(mode), dtype=bool)
    force, force_at, _ = least(load, closed)
    mean = float(trajectory[load][closed].mean()) if load in names and closed.any() else math.nan
    gap, gap_at, _ = least(f"{contact.name}_gap", mode == OPEN)
    needed, needed_at, at, allowed = math.nan, math.nan, -1, math.nan
    if contact.host >= 0:
        resting = (mode == STICK) & (trajectory[f"{e.unilateral[contact.host].name}_normal_force"] > 0.0)
        needed, needed_at, at = least(f"{contact.name}_friction_needed", resting, -1.0)
    elif contact.normal < 0:
        if not (mode == STICK).any():
            return ContactNeed(contact.name, needed, needed_at, allowed, force, force_at, mean, gap, gap_at)
        sizes = np.where(mode == STICK, np.abs(trajectory[f"{contact.name}_force"]), -np.inf)
        at = int(np.argmax(sizes))
        needed, needed_at = float(sizes[at]), float(trajectory.time[at])
    elif contact.count:
        loaded = (mode == STICK) & (trajectory[load] > 0.0)
        needed, needed_at, at = least(f"{contact.name}_friction_needed", loaded, -1.0)
    if at >= 0:
        allowed = _static(run, e, contact, index, at)
    return ContactNeed(contact.name, needed, needed_at, allowed, force, force_at, mean, gap, gap_at)


def _static(run: Run, e: Equations, contact: Unilateral, index: int, sample: int) -> float:
    """Static friction at a sample; infinite where it has no limit."""
    assert e.contact_terms is not None
    slot = [s.name for s in e.contact_terms.outputs].index("coefficients")
    for segment in run.segments:
        if sample < len(segment.times):
            p = segment.parameters
            assert p is not None
            values = e.contact_terms([segment.times[sample]], segment.states[sample][: len(e.states)], segment.inputs[sample], p)
            static = float(np.ravel(values[slot])[3 * index])
            return math.inf if static < 0.0 else static
        sample -= len(segment.times)
    raise AssertionError(f"no sample of {contact.name}")

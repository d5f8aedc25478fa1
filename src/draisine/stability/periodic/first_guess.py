"""The first guess of a periodic motion: a run that settles, an estimate of the period, deviations and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.simulation.methods.selection import Method
from draisine.simulation.run import integrate
from draisine.stability.deviations import deviations_of
from draisine.stability.explicit_time import depends_on_time
from draisine.stability.periodic.contact_motions import contact_naming, ignorable_of_contacts, modes_of_samples
from draisine.stability.periodic.flow import FINE, Flow, completed, well_conditioned_naming
from draisine.stability.periodic.scales import (
    NOTHING,
    SMALL,
    balanced_sizes,
    ranges,
    rate_couplings,
    toleranced_states,
    usual_size,
)
from draisine.stability.steady_problem import ignorable_at

Array = NDArray[np.float64]

IRREGULAR = (0.0, 0.16, 0.37, 0.62, 0.81, 1.0)  # parts of a period at which an excitation is looked at
LOOKS = 5  # states along the first guess at which ignorable coordinates are detected
STEADY = 0.2  # drift of the mean of an oscillating quantity, relative to its range
RETURNED = 0.1  # difference to the state one period earlier while settling, relative to the range
NOTHING_BESIDE = 1e-7  # range of a state, relative to what others make of it, that is error of the integration


def integrated(
    e: Equations, x: Array, u: Array, p: Array, until: float, samples: int, method: Method
) -> tuple[Array, list[Array], int]:
    """States of a run, the parameters there, which have the modes of contacts, and the number of its steps."""
    run = integrate(e, x, until, parameters=p, inputs=u, method=method, samples=np.linspace(0.0, until, samples))
    completed(run, f"{e.name}: the first guess cannot be simulated for {until:g} s")
    modes = modes_of_samples(run) if e.unilateral else [p] * len(run.states)
    return run.states, modes, run.accepted + run.rejected


def _noise(e: Equations, late: Array, u: Array, p: Array, spread: Array) -> Array:
    """Ranges of states that are errors of the integration: far below what the others make of them, whatever their units."""
    looks = late[np.linspace(0, len(late) - 1, LOOKS).round().astype(int)]
    given = np.broadcast_to(u, (LOOKS, len(u))), np.broadcast_to(p, (LOOKS, len(p)))
    derivatives, noise = deviations_of(e).derivatives(0.0, looks, *given), np.zeros(len(spread))
    own = derivatives.by_state.shape[2]
    if e.unilateral or not np.isfinite(derivatives.by_state).all() or not np.isfinite(derivatives.w).all():
        return noise
    rates = np.abs(derivatives.w[:, :own]).max(axis=0)
    moves = (rates > 0.0) & (spread[:own] > 0.0)
    if moves.any():
        longest = float((spread[:own][moves] / rates[moves]).min())
        noise[:own] = NOTHING_BESIDE * (rate_couplings(derivatives.by_state[:, :own], longest) * spread[:own]).max(axis=1)
    return noise


def settled(e: Equations, x: Array, u: Array, p: Array, seconds: float, method: Method) -> tuple[Array, Array, float | None]:
    """State and parameters at the last upward crossing of the mean of an oscillating quantity, and the time since the state was
    similar."""
    count = 4001
    states, modes, _ = integrated(e, x, u, p, seconds, count, method)
    late = states[count // 2 :]
    spread = np.ptp(late, axis=0)
    half = len(late) // 2
    drift = np.abs(late[:half].mean(axis=0) - late[half:].mean(axis=0))
    moves = (drift < STEADY * spread) & (spread > NOTHING * np.abs(late).max(axis=0)) & (spread > _noise(e, late, u, p, spread))
    moving = np.flatnonzero(moves)
    found: list[tuple[float, float, int]] = []  # period in samples, difference to the earlier state, index
    for k in moving:
        wave = late[:, k] - late[:, k].mean()
        rising = np.flatnonzero((wave[:-1] < 0.0) & (wave[1:] >= 0.0))
        exact = rising + wave[rising] / (wave[rising] - wave[rising + 1])
        for back in range(2, min(len(rising), 6) + 1):
            apart = (late[rising[-1]] - late[rising[-back]])[moving] / spread[moving]
            found.append((float(exact[-1] - exact[-back]), float(np.abs(apart).max()), int(rising[-1])))
    if not found:
        return states[-1], modes[-1], None
    smallest_miss = min(miss for _, miss, _ in found)
    samples, _, index = min(entry for entry in found if entry[1] <= max(2 * smallest_miss, RETURNED))
    return late[index], modes[count // 2 + index], samples * seconds / (count - 1)


def without_period(period: float | None, settle: float) -> str:
    """Why there is no guess of a period, and the remedy."""
    if period is None and settle > 0.0:
        return f"no oscillation in the second half of settle={settle:g}: settle longer, or give period=…"
    return f"give a guess of the period, or settle=seconds; got period={period!r}"


def flow_along(
    e: Equations, states: Array, u: Array, modes: Sequence[Array], preferred: tuple[str, ...], method: Method, period: float
) -> tuple[Flow, tuple[str, ...], NDArray[np.bool_]]:
    """Periodic deviations with their scales along the first guess, the ignorable coordinates, and which scales are ranges."""
    # an excitation may vanish at simple parts of its period; without one these are as good as others
    driven = depends_on_time(e.explicit)
    shares = np.array(IRREGULAR) if driven else np.linspace(0.0, 1.0, LOOKS)
    indices = (shares * (len(states) - 1)).round().astype(int)
    looks, p = states[indices], modes[0]
    instants = period * np.arange(len(states)) / (len(states) - 1) if driven else np.zeros(len(states))
    times = instants[indices].tolist()
    deviations = deviations_of(e, preferred)
    if e.unilateral:
        ignorable = ignorable_of_contacts(e, list(looks), u, [modes[i] for i in indices], times)
        naming = contact_naming(e, preferred, states[0], u, p)
    else:
        ignorable = ignorable_at(e, list(looks), u, p, times)
        naming = well_conditioned_naming(deviations, looks, u, p)
    names = tuple(name for name in naming.names if name not in ignorable)
    everything = np.broadcast_to(u, (len(states), len(u))), np.broadcast_to(p, (len(states), len(p)))
    derivatives, kept = deviations.derivatives(instants[:, None], states, *everything), [naming.names.index(n) for n in names]
    sizes, own = ranges(derivatives.values[:, [naming.chosen[i] for i in kept]])
    usual = usual_size(sizes)
    scales = np.where(own, sizes, usual)
    given = method is not FINE
    if not given and usual < SMALL:  # an absolute tolerance relative to the motion
        method = replace(FINE, atol=float(np.min(FINE.atol)) * usual)
    flow = Flow(e, naming, names, preferred, u, method, scales, given_method=given)
    if len(names) > 1 and not e.unilateral:
        by_others = naming.matrices(derivatives)[0][:, kept][:, :, kept]
        if np.isfinite(by_others).all():
            scales = balanced_sizes(scales, own, [rate_couplings(by_others, period / (2 * np.pi))])
            flow = replace(flow, scales=scales, method=toleranced_states(flow, scales))
    return flow, tuple(n for n in naming.names if n in ignorable), own

"""Jumps of rates and cost at surfaces in the states which a motion crosses.

Where a path goes through the interface of two media, or a cart over the edge of a zone that costs, the derivative of the cost by
the motion has a part that comes from the time of the crossing: costates jump there. Transcription evaluates rates and cost at
nodes, on one side or the other, and knows nothing of this part. A point where its derivatives vanish is then no minimum of the
problem, however well the simulated motion meets all conditions: light that crosses an interface of media goes straight on.
Jumps at given times have no such part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.program.branches import branches_at, evaluated, nearest_limit
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.program.switching import Switching, find_switching, jumps_of

if TYPE_CHECKING:
    from draisine.optimal.phase import Phase
    from draisine.optimal.verification import Simulated

Reals = NDArray[np.float64]

MOST_SAMPLES = 300  # of a phase, about
ON_SURFACE = 1e-6  # of the largest distance from a surface: closer samples are on neither side


@dataclass(frozen=True)
class Crossing:
    """A surface at which rates or cost jump, and when the motion first crosses it."""

    name: str
    time: float

    def __str__(self) -> str:
        return f"{self.name} at t = {self.time:.4g} s"


def crossed_jumps(phase: Phase, simulated: Simulated) -> tuple[Crossing, ...]:
    """The surfaces in the states that the simulated motion crosses, at which rates or integrand jump."""
    found = [crossing for e, what in _switching_parts(phase) for crossing in _crossed(e, what, simulated)]
    return tuple(sorted(found, key=lambda crossing: crossing.time))


def _switching_parts(phase: Phase) -> list[tuple[Equations, str]]:
    """The equations, whose switches have names, and others of the same states whose rates are the integrand."""
    e, v = phase.equations, phase.symbols
    parts = [(e, "")]
    if phase.integrand is not None and not (v.z.numel() and ca.depends_on(phase.integrand, v.z)):
        t, x, u, p = v.plant.arguments
        rates = ca.vertcat(phase.integrand, ca.SX.zeros(x.numel() - 1))
        cost = Program.build("cost", {"t": t, "x": x, "u": u, "p": p}, {"xdot": rates})
        parts.append((replace(e, dynamics=cost), "the cost"))
    return [(part, what) for part, what in parts if part.can_switch]


def _crossed(equations: Equations, what: str, simulated: Simulated) -> list[Crossing]:
    jumping, found = set(jumps_of(equations)), find_switching(equations)
    chosen = [] if found is None else [i for i, s in enumerate(found.switches) if not s.time_only and s.name in jumping]
    if found is None or not chosen:
        return []
    samples = simulated.samples
    every = max(1, len(samples.times) // MOST_SAMPLES)
    taken = np.unique(np.append(np.arange(0, len(samples.times), every), len(samples.times) - 1))
    times = samples.times[taken]
    branches, distances = _along(found, times, samples.states[taken], samples.inputs[taken], simulated.p)
    crossings = []
    for i in chosen:
        clear = np.flatnonzero(distances[:, i] > ON_SURFACE * distances[:, i].max(initial=0.0))
        changes = np.flatnonzero(np.diff(branches[clear, i]))
        if len(changes):
            one, other = clear[changes[0]], clear[changes[0] + 1]
            name = f"jump {i + 1} of {what}" if what else found.switches[i].name
            crossings.append(Crossing(name, float(times[one] + times[other]) / 2))
    return crossings


def _along(found: Switching, times: Reals, states: Reals, inputs: Reals, p: Reals) -> tuple[Reals, Reals]:
    """(samples, switches): branches, and distances of the arguments from the nearest limits of their branches."""
    arguments = evaluated(found.arguments)
    branches, distances = np.zeros((2, len(times), len(found.switches)))
    for k, (t, x, u) in enumerate(zip(times.tolist(), states, inputs, strict=True)):
        branches[k] = branches_at(found, t, x, u, p).values
        values = arguments(t, x, u, np.concatenate([p, branches[k]]))
        distances[k] = [abs(z - nearest_limit(s, z)) for s, z in zip(found.switches, values.tolist(), strict=True)]
    return branches, distances

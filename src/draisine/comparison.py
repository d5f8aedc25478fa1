"""Two descriptions of one mechanism, compared where their names meet.

No comparison of roads can see an error in the description they share. Here the description itself is told twice — the graph
against a hand-written Lagrangian, say — and both are put into the same random states: those in which all quantities that bear
the same name have the same value. Then the accelerations of the velocities that bear the same name must agree, and so must
the energies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.equations.certificate import AGREEMENT, Certificate, Line
from draisine.model.errors import ModelError
from draisine.program.equations import Equations, Quantity
from draisine.simulation import InconsistentStart, Start, consistent_start


def compare_descriptions(a: Equations, b: Equations, states: int, seed: int = 1817) -> Certificate:
    """Compare two sets of equations at random states of the first, matched by names in the second."""
    velocities = [v.name for v in a.velocities if v.name in {w.name for w in b.velocities}]
    shared = _shared(a, b)
    if len(velocities) == 0:
        raise ModelError(
            f"{a.name} and {b.name} have no velocity of the same name; name corresponding coordinates and rates alike"
        )
    rng = np.random.default_rng(seed)
    worst: dict[str, tuple[float, dict[str, float]]] = {"accelerations": (0.0, {}), "kinetic energy": (0.0, {})}
    for _ in range(states):
        start = _random_start(a, rng)
        told = _told(a, start)
        wishes = {name: told[name] for name in shared}
        try:
            other = _told(b, consistent_start(b, wishes))
        except InconsistentStart as problem:
            line = Line("states", np.inf, AGREEMENT, wishes)
            return Certificate(
                _name(a, b), (a.name, b.name), 1, (line,), f"no state of {b.name} matches one of {a.name}: {problem}"
            )
        apart = _apart([told[f"d{n}/dt"] for n in velocities], [other[f"d{n}/dt"] for n in velocities])
        energy = _apart([told["kinetic"]], [other["kinetic"]])
        for what, amount in (("accelerations", apart), ("kinetic energy", energy)):
            if amount > worst[what][0] or not worst[what][1]:
                worst[what] = (amount, wishes)
    lines = tuple(Line(what, amount, 100 * AGREEMENT, where) for what, (amount, where) in worst.items())
    agree = all(line.holds for line in lines)
    named = ", ".join(velocities)
    verdict = (
        f"the two descriptions agree on the accelerations of {named}"
        if agree
        else f"the two descriptions disagree: {', '.join(x.what for x in lines if not x.holds)}. With two of them, "
        "which is wrong cannot be decided"
    )
    return Certificate(_name(a, b), (a.name, b.name), states, lines, verdict)


def _name(a: Equations, b: Equations) -> str:
    return f"{a.name} against {b.name}"


def _shared(a: Equations, b: Equations) -> list[str]:
    """Coordinates, velocities and outputs free of accelerations that both have, by name."""

    def names(e: Equations) -> set[str]:
        outputs = {o.name for o in e.outputs} - e.force_outputs
        return {c.name for c in e.coordinates} | {v.name for v in e.velocities} | outputs

    both = names(a) & names(b)
    listed = [*(c.name for c in a.coordinates), *(v.name for v in a.velocities), *(o.name for o in a.outputs)]
    return [name for name in dict.fromkeys(listed) if name in both]


def _random_start(e: Equations, rng: np.random.Generator) -> Start:
    """The admissible state closest to a random one near the defaults."""

    def shaken(quantities: tuple[Quantity, ...], size: float) -> tuple[Quantity, ...]:
        return tuple(replace(q, default=q.default + float(rng.uniform(-size, size))) for q in quantities)

    moved = replace(e, coordinates=shaken(e.coordinates, 0.3), velocities=shaken(e.velocities, 1.5))
    return consistent_start(moved)


def _told(e: Equations, start: Start) -> dict[str, float]:
    """Everything named at a state: coordinates, velocities, outputs, accelerations as `dNAME/dt`, energies."""
    p = e.default_parameters
    slots = dict(zip((s.name for s in e.report.outputs), e.report([0.0], start.x, np.zeros(len(e.inputs)), p), strict=True))
    told = dict(zip((c.name for c in e.coordinates), start.q.tolist(), strict=True))
    for slot in ("v", "vdot", "outputs", "energy"):
        values: NDArray[np.float64] = slots[slot]
        told |= dict(zip(e.report.output(slot).labels, values.tolist(), strict=True))
    return told


def _apart(a: list[float], b: list[float]) -> float:
    first, second = np.array(a), np.array(b)
    size = max(float(np.abs(first).max()), float(np.abs(second).max()), 1e-12)
    return float(np.abs(first - second).max()) / size

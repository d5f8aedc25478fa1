"""Impacts of rigid bodies: what the velocities and impulses are after contacts have closed.

`algebraic`: Newton's law with Coulomb's cone, all contacts at once (Moreau). `two_phase`: Poisson's law as compression and
expansion, all contacts at once (Glocker and Pfeiffer). `path`: one planar contact along the impulse (Routh), slip reversal
included, ended by Newton's, Poisson's or the energetic (Stronge's) law. `sequential`: one contact after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from complementarity import Law, solutions
from numpy.typing import NDArray

Array = NDArray[Any]
Ending = Literal["newton", "poisson", "energetic"]


class NotUniqueError(RuntimeError):
    """A complementarity problem has no solution or several."""


@dataclass(frozen=True)
class Surface:
    """Friction and restitution of one contact as an impact needs them."""

    size: int
    friction: float
    restitution: float
    tangential_restitution: float = 0.0


def only(found: list[Any], what: str) -> Any:
    """The one solution there is."""
    if len(found) != 1:
        raise NotUniqueError(f"{what} has {len(found)} solutions")
    return found[0]


def algebraic(G: Array, before: Array, surfaces: list[Surface]) -> tuple[Array, tuple[str, ...]]:
    """Impulses of Newton's law at all contacts, and the mode of each."""
    offset, at = before.copy(), 0
    for surface in surfaces:
        offset[at] += surface.restitution * min(before[at], 0.0)
        offset[at + 1 : at + 1 + surface.size] *= 1 + surface.tangential_restitution
        at += 1 + surface.size
    laws = [Law(s.size, s.friction, s.friction) for s in surfaces]
    solution = only(solutions(G, offset, laws), "the impact by Newton's law")
    return solution.multipliers, solution.modes


def two_phase(G: Array, before: Array, surfaces: list[Surface]) -> tuple[Array, tuple[str, ...]]:
    """Impulses of Poisson's law: plastic compression, then at least e times its normal impulses."""
    laws = [Law(s.size, s.friction, s.friction) for s in surfaces]
    first = only(solutions(G, before, laws), "the compression phase of the impact")
    starts = np.cumsum([0] + [1 + s.size for s in surfaces])[:-1]
    laws = [
        Law(s.size, s.friction, s.friction, minimum=s.restitution * first.multipliers[at])
        for s, at in zip(surfaces, starts, strict=True)
    ]
    second = only(solutions(G, first.results, laws), "the expansion phase of the impact")
    return first.multipliers + second.multipliers, second.modes


def sequential(G: Array, before: Array, surfaces: list[Surface], limit: int = 1000) -> tuple[Array, list[int]]:
    """Impulses of one impact after the other, the first approaching contact of the list first; and their order."""
    starts = np.cumsum([0] + [1 + s.size for s in surfaces])
    total, order, velocity = np.zeros(len(before)), [], before.copy()
    for _ in range(limit):
        approaching = [i for i in range(len(surfaces)) if velocity[starts[i]] < -1e-12 * np.abs(before).max()]
        if not approaching:
            return total, order
        i = approaching[0]
        rows = slice(starts[i], starts[i + 1])
        impulse = np.zeros(len(before))
        impulse[rows], _ = algebraic(G[rows, rows], velocity[rows], [surfaces[i]])
        total, velocity = total + impulse, velocity + G @ impulse
        order.append(i)
    raise NotUniqueError(f"the sequence of impacts has not ended after {limit} of them")


def path(G: Array, before: Array, friction: float, restitution: float, ending: Ending) -> Array:
    """Impulses (normal, tangential) of one planar contact: pieces that are straight in the normal impulse p.

    Each piece ends where the slip vanishes, where the normal velocity does (end of compression) or at the end of the impact.
    """
    impulse, velocity = np.zeros(2), before.astype(float).copy()
    if velocity[0] >= 0:
        return impulse
    compression_work, work, compressed = 0.0, 0.0, False
    target = np.inf  # normal impulse at the end; known once compression has ended, for Newton's law by velocity
    for _ in range(20):
        ratio = _tangential_ratio(G, velocity[1], friction)
        rate = G @ np.array([1.0, ratio])
        if velocity[1] == 0 and abs(ratio) < friction:
            rate[1] = 0.0  # it sticks: rounding must not start a slip
        lengths = [target - impulse[0]]
        if velocity[1] != 0 and rate[1] * velocity[1] < 0:
            lengths.append(-velocity[1] / rate[1])
        if not compressed:
            if rate[0] > 0:
                lengths.append(-velocity[0] / rate[0])
        elif ending == "newton":
            lengths.append((-restitution * before[0] - velocity[0]) / rate[0])
        elif ending == "energetic":  # un p + un' p²/2 = what is still to be regained
            left = -(restitution**2) * compression_work - work
            lengths.append((-velocity[0] + np.sqrt(velocity[0] ** 2 + 2 * rate[0] * left)) / rate[0])
        length = min(lengths)
        which = lengths.index(length)
        work += velocity[0] * length + 0.5 * rate[0] * length**2
        impulse = impulse + length * np.array([1.0, ratio])
        reverses = which == 1 and len(lengths) > 1 and velocity[1] != 0 and rate[1] * velocity[1] < 0
        velocity = velocity + length * rate
        if reverses:
            velocity[1] = 0.0
        elif not compressed:
            compressed, compression_work, work = True, work, 0.0
            velocity[0] = 0.0
            if ending == "poisson":
                target = (1 + restitution) * impulse[0]
            if restitution == 0:
                return impulse
        else:
            return impulse
    raise NotUniqueError("the path of the impact has not ended")


def _tangential_ratio(G: Array, slip: float, friction: float) -> float:
    """dPt/dPn while slipping, sticking, or at the moment of reversal."""
    if slip != 0:
        return -friction * float(np.sign(slip))
    sticking = -G[1, 0] / G[1, 1]
    return float(np.clip(sticking, -friction, friction))

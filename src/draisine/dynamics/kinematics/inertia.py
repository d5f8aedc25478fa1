"""Rigid and rotating masses of the tree: rotors merged into their carriers as gyrostats.

A carrier with its rotors is one rigid body (all masses, rotors as if locked) less the rotors' axial moments J, plus a disc of
moment J turning at the absolute axial rate a·ω + ṡ. The kinetic energy is then ½ m V_G² + ½ ωᵀ I′ ω + Σ ½ J (a·ω + ṡ)².
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from draisine.dynamics.kinematics.tree import Link, fixed_offset, turned_by_nothing
from draisine.dynamics.linear_algebra import ZERO, Mat, Vec, add, minus, mul, plus, scale, sub
from draisine.dynamics.lowering import Scope
from draisine.model.items import Body


@dataclass(frozen=True)
class Disc:
    """A spinning moment about an axis of its carrier."""

    axis: int
    velocity: str
    moment: ca.SX


@dataclass
class Mass:
    """A rigid mass in the frame of a link: mass, center of mass, inertia about it; and its discs."""

    link: Link
    mass: ca.SX
    center: Vec
    inertia: Mat
    discs: list[Disc] = field(default_factory=list)


def mass_of(body: Body, scope: Scope) -> tuple[ca.SX, Vec, Mat]:
    """Mass, center and inertia tensor of a body in symbols, lowered once."""
    same = (body.mass, body.center_of_mass, body.inertia)  # bodies that are alike share what comes of these
    if same in scope.masses:
        return scope.masses[same]
    i = body.inertia
    xx, yy, zz, xy, yz, zx = (scope.value(e) for e in (i.xx, i.yy, i.zz, i.xy, i.yz, i.zx))
    center: Vec = tuple(scope.value(c) for c in body.center_of_mass)  # type: ignore[assignment]
    found = scope.masses[same] = (scope.value(body.mass), center, ((xx, xy, zx), (xy, yy, yz), (zx, yz, zz)))
    return found


def masses_of(links: list[Link], scope: Scope) -> list[Mass]:
    """One mass per link that is not a merged rotor; massless links are left out."""
    found: dict[str, Mass] = {}
    for link in links:
        mass, center, inertia = mass_of(link.body, scope)
        if link.spin is None:
            found[link.name] = Mass(link, mass, center, inertia)
            continue
        axis = link.spin.axis
        velocity = link.spin.velocity
        assert velocity is not None  # a rotor is driven by definition
        disc = Disc(axis, velocity, inertia[axis][axis])
        locked = _less_axial(inertia, axis)
        carrier = found.get(link.parent.name) if link.parent else None
        if carrier is not None and turned_by_nothing(link.steps):
            _merge(carrier, mass, add(fixed_offset(link.steps), center), locked)
            carrier.discs.append(disc)
        else:
            found[link.name] = Mass(link, mass, center, locked, [disc])
    return [
        m for m in found.values() if not (m.mass.is_zero() and all(x.is_zero() for row in m.inertia for x in row) and not m.discs)
    ]


def _less_axial(inertia: Mat, axis: int) -> Mat:
    return tuple(tuple(ZERO if i == j == axis else x for j, x in enumerate(row)) for i, row in enumerate(inertia))  # type: ignore[return-value]


def _merge(carrier: Mass, mass: ca.SX, center: Vec, inertia: Mat) -> None:
    """Add a mass to the carrier: by the reduced mass m₁m₂/(m₁+m₂) at the distance of the two centers."""
    total = carrier.mass + mass
    share = ZERO if mass.is_zero() else mass / total
    apart = sub(center, carrier.center)
    reduced = carrier.mass * share
    weighted = scale(reduced, apart)
    combined = [list(row) for row in carrier.inertia]
    for i in range(3):
        for j in range(3):
            combined[i][j] = plus(combined[i][j], inertia[i][j])
            if i != j:
                combined[i][j] = minus(combined[i][j], mul(weighted[max(i, j)], apart[min(i, j)]))
        j, k = (i + 1) % 3, (i + 2) % 3
        combined[i][i] = plus(
            combined[i][i], plus(mul(weighted[min(j, k)], apart[min(j, k)]), mul(weighted[max(j, k)], apart[max(j, k)]))
        )
    carrier.center = add(carrier.center, scale(share, apart))
    carrier.inertia = tuple(tuple(row) for row in combined)  # type: ignore[assignment]
    carrier.mass = total

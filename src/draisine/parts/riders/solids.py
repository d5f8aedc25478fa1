"""Solids of a human body after Yeadon (1990): stacked stadium solids, and a semi-ellipsoid for the top of the head.

A *stadium* is a rectangle of 2t by 2r with a half disk of radius r at both ends; t = 0 is a disk. Between two levels t and r are
linear in height. Area and second moments of a section, with u along the long direction and w across it, are

    A = π r² + 4 r t,    ∫u² = 4/3 r t³ + π r² t² + 8/3 r³ t + π r⁴/4,    ∫w² = 4/3 r³ t + π r⁴/4

These are polynomials of degree four at most in the height, and so are A z and A z²: Gauss's rule with three points integrates
them without error. (The formulas of the package yeadon 2.0.1 have r t³ for r³ t in ∫w², and the center of mass of a truncated
cone as if it stood on its other end.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.runge_kutta import gauss_nodes, gauss_weights

Array = NDArray[np.float64]

_NODES, _WEIGHTS = gauss_nodes(3), gauss_weights(3)  # on [0, 1]


@dataclass(frozen=True)
class MassProperties:
    """Mass, center of mass and inertia tensor about the center of mass, in one set of axes."""

    mass: float
    center_of_mass: Array
    inertia: Array

    def moved(self, rotation: Array, position: Array | Sequence[float] = (0.0, 0.0, 0.0)) -> MassProperties:
        """In other axes: x → position + rotation · x."""
        return MassProperties(
            self.mass, np.asarray(position) + rotation @ self.center_of_mass, rotation @ self.inertia @ rotation.T
        )


def composed(bodies: Sequence[MassProperties]) -> MassProperties:
    """Mass properties of several bodies together (Huygens–Steiner)."""
    mass = sum(body.mass for body in bodies)
    center = sum((body.mass * body.center_of_mass for body in bodies), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for body in bodies:
        d = body.center_of_mass - center
        inertia += body.inertia + body.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, center, inertia)


@dataclass(frozen=True)
class Stadium:
    """A level of the body: radius r of the half disks, half length t of the rectangle, which lies across, or fore and aft."""

    radius: float
    half_length: float = 0.0
    fore_aft: bool = False

    @staticmethod
    def of_perimeter(perimeter: float) -> Stadium:
        """A disk."""
        return Stadium(perimeter / (2 * math.pi))

    @staticmethod
    def of_width(perimeter: float, width: float, fore_aft: bool = False) -> Stadium:
        """From the perimeter p and the width w. It is a stadium if 2 < p/w ≤ π; a larger perimeter belongs to an oval that is
        deeper than it is wide, for which the disk of this perimeter is taken, as Yeadon does."""
        if perimeter > math.pi * width:
            return Stadium.of_perimeter(perimeter)
        return Stadium((perimeter - 2 * width) / (2 * math.pi - 4), (math.pi * width - perimeter) / (2 * math.pi - 4), fore_aft)

    @property
    def width(self) -> float:
        return 2 * (self.radius + self.half_length)

    def outline(self, count: int = 16) -> Array:
        """Points around the level, x forward and y left, for drawings."""
        angles = np.linspace(-math.pi / 2, math.pi / 2, count // 2)
        half = np.stack([self.half_length + self.radius * np.cos(angles), self.radius * np.sin(angles)], axis=1)
        loop = np.concatenate([half, -half])
        return loop if self.fore_aft else np.stack([-loop[:, 1], loop[:, 0]], axis=1)


@dataclass(frozen=True)
class StadiumSolid:
    """A solid between two levels, along +z from `first` to `last`; x is forward, y left."""

    first: Stadium
    last: Stadium
    height: float
    density: float

    def at(self, fraction: float) -> Stadium:
        """The level at a fraction of the height."""
        one, two = self.first, self.last
        return Stadium(
            one.radius + fraction * (two.radius - one.radius),
            one.half_length + fraction * (two.half_length - one.half_length),
            one.fore_aft or two.fore_aft,
        )

    def mass_properties(self) -> MassProperties:
        """About the center of mass; the origin is the center of the first level."""
        one, two, z = self.first, self.last, self.height * _NODES
        r = one.radius + _NODES * (two.radius - one.radius)
        t = one.half_length + _NODES * (two.half_length - one.half_length)
        weight = self.density * self.height * _WEIGHTS
        area = np.pi * r**2 + 4 * r * t
        long = 4 / 3 * r * t**3 + np.pi * r**2 * t**2 + 8 / 3 * r**3 * t + np.pi * r**4 / 4
        across = 4 / 3 * r**3 * t + np.pi * r**4 / 4
        mass = float(weight @ area)
        center = float(weight @ (area * z)) / mass
        axial = float(weight @ (area * (z - center) ** 2))  # z − c: no difference of large numbers
        xx, yy = (float(weight @ s) for s in ((long, across) if one.fore_aft or two.fore_aft else (across, long)))
        return MassProperties(mass, np.array([0.0, 0.0, center]), np.diag([yy + axial, xx + axial, xx + yy]))


@dataclass(frozen=True)
class Semiellipsoid:
    """Half of an ellipsoid of revolution on its circular base, along +z."""

    radius: float
    height: float
    density: float

    def at(self, fraction: float) -> Stadium:
        return Stadium(self.radius * math.sqrt(max(1 - fraction**2, 0.0)))

    def mass_properties(self) -> MassProperties:
        r, h = self.radius, self.height
        mass = self.density * 2 / 3 * math.pi * r**2 * h
        side = mass * ((r**2 + h**2) / 5 - (3 / 8 * h) ** 2)
        return MassProperties(mass, np.array([0.0, 0.0, 3 / 8 * h]), np.diag([side, side, mass * 2 / 5 * r**2]))


Solid = StadiumSolid | Semiellipsoid


def stacked(solids: Sequence[Solid], downward: bool = False) -> MassProperties:
    """Mass properties of solids on top of each other from the origin along +z, or hanging from it along −z.

    Both are mirror images: the section is symmetric, so that only the sign of the center's height differs.
    """
    found, base, sign = [], 0.0, -1.0 if downward else 1.0
    for solid in solids:
        own = solid.mass_properties()
        found.append(MassProperties(own.mass, sign * (own.center_of_mass + np.array([0.0, 0.0, base])), own.inertia))
        base += solid.height
    return composed(found)


def turn(axis: str, angle: Any) -> Array:
    """Rotation matrix about "x", "y" or "z"."""
    c, s = np.cos(angle), np.sin(angle)
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    matrix = np.eye(3)
    matrix[j, j], matrix[j, k], matrix[k, j], matrix[k, k] = c, -s, s, c
    return matrix

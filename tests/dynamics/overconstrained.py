"""Overconstrained linkages that move, with their closed forms: Bennett's linkage, parallel cranks, a tied double pendulum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from draisine.model.model import Model

GRAVITY = 9.81


@dataclass(frozen=True)
class Bennett:
    """Four hinges in space; opposite links have equal lengths a, b and twists α, β with a/sin α = b/sin β (G. T. Bennett, A new
    mechanism, Engineering 76 (1903) 777–778). It moves, although its count of freedoms is −2."""

    length: float
    first: float  # α
    second: float  # β
    start: float
    gravity: float = 0.0

    @property
    def ratio(self) -> float:
        """tan(θ₁/2) tan(θ₂/2)."""
        return math.sin((self.second + self.first) / 2) / math.sin((self.second - self.first) / 2)

    def model(self) -> Model:
        a, b = self.length, self.length * math.sin(self.second) / math.sin(self.first)
        m = Model("bennett")
        m.gravity(self.gravity)
        for i, (length, mass) in enumerate(((a, 1.0), (b, 1.5), (a, 0.7)), 1):
            moment = mass * length**2 / 12
            m.body(f"link{i}", mass=mass, center_of_mass=(length / 2, 0, 0), inertia=(moment / 5, moment, moment))
        turned = 2 * math.atan(self.ratio / math.tan(self.start / 2))
        m.revolute("one", "ground", "link1", default=self.start)
        m.revolute("two", "link1", "link2", at=(a, 0, 0), orientation=[("x", self.first)], default=turned)
        m.revolute("three", "link2", "link3", at=(b, 0, 0), orientation=[("x", self.second)], default=-self.start)
        m.frame("foot", "ground", (-b, 0, 0), orientation=[("x", -self.second)])
        m.frame("end", "link3", (a, 0, 0), orientation=[("x", self.first)])
        m.close_hinge("loop", "foot", "end")
        return m

    def turned(self, until: float, rate: float) -> float:
        """θ₁ after some time without gravity: the kinetic energy ½ J(θ₁) θ̇₁² is constant."""
        assert self.gravity == 0.0
        energy = self._inertia(self.start) * rate**2

        def turning(t: float, y: NDArray[np.float64]) -> list[float]:
            return [math.sqrt(energy / self._inertia(y[0]))]

        return float(solve_ivp(turning, (0, until), [self.start], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1])

    def _inertia(self, one: float) -> float:
        """J(θ₁) from the twists of the links at θ̇₁ = 1."""
        k, a = self.ratio, self.length
        b = a * math.sin(self.second) / math.sin(self.first)
        c, s = math.cos(one / 2), math.sin(one / 2)
        angles = (one, 2 * math.atan2(k * c, s), -one)
        rates = (1.0, -k / (s**2 + k**2 * c**2), -1.0)
        axes, spin, speed, total = np.eye(3), np.zeros(3), np.zeros(3), 0.0
        links = zip(angles, rates, (a, b, a), (self.first, self.second, 0.0), (1.0, 1.5, 0.7), strict=True)
        for angle, rate, length, twist, mass in links:
            spin = spin + rate * axes[:, 2]
            axes = axes @ _about_z(angle)
            arm = length * axes[:, 0]
            center = speed + np.cross(spin, arm / 2)
            own = axes.T @ spin
            moment = mass * length**2 / 12
            total += mass * center @ center + own @ (np.array([moment / 5, moment, moment]) * own)
            speed = speed + np.cross(spin, arm)
            axes = axes @ _about_x(twist)
        return float(total)

    def open_by(self, one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
        """The largest error of the relation between both angles, without its poles."""
        k = self.ratio
        found = np.sin(one / 2) * np.sin(two / 2) - k * np.cos(one / 2) * np.cos(two / 2)
        return float(np.abs(found).max() / math.hypot(1, k))


def _about_z(angle: float) -> NDArray[np.float64]:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def _about_x(angle: float) -> NDArray[np.float64]:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0, 0], [0, c, -s], [0, s, c]])


@dataclass(frozen=True)
class ParallelCranks:
    """Equal cranks side by side carry a coupler, which only translates: a pendulum with the sum of the inertias."""

    masses: Sequence[float]  # of the cranks, then of the coupler
    start: float
    length: float = 0.3
    spacing: float = 0.5
    hinges: bool = False  # pins that are closed in space
    parameters: bool = False  # lengths and masses are parameters of the model

    @property
    def count(self) -> int:
        return len(self.masses) - 1

    def model(self) -> Model:
        m, l, spacing, masses = Model("cranks"), self.length, self.spacing, self.masses
        last = m.parameter("last", l, "m", "length of the last crank")
        if self.parameters:
            l, spacing = m.parameter("length", l, "m", "of the cranks"), m.parameter("spacing", spacing, "m", "of the cranks")
            masses = [m.parameter(f"mass{i}", mass, "kg", "of a crank, or the coupler") for i, mass in enumerate(masses)]
        half = (self.count - 1) * spacing / 2
        m.body("coupler", mass=masses[-1], center_of_mass=(half, 0, 0), inertia=(0.01, 0.05, 0.05))
        for i, mass in enumerate(masses[:-1]):
            moment = mass * l**2 / 12
            m.body(f"crank{i}", mass=mass, center_of_mass=(l / 2, 0, 0), inertia=(0.1 * moment, moment, moment))
            m.revolute(f"phi{i}", "ground", f"crank{i}", "y", at=(i * spacing, 0, 0), default=self.start)
        m.revolute("chi", "crank0", "coupler", "y", at=(l, 0, 0), default=-self.start)
        for i in range(1, self.count):
            m.point(f"end{i}", f"crank{i}", (last if i == self.count - 1 else l, 0, 0))
            m.point(f"seat{i}", "coupler", (i * spacing, 0, 0))
            if self.hinges:
                m.close_hinge(f"pin{i}", f"seat{i}", f"end{i}", "y")
            else:
                m.close_point(f"pin{i}", f"seat{i}", f"end{i}", axes="xz")
        return m

    def angle(self, until: float, rate: float = 0.0) -> float:
        """φ after some time, from φ̈ = g S cos φ / I."""
        cranks, coupler, l = sum(self.masses[:-1]), self.masses[-1], self.length
        factor = GRAVITY * (cranks * l / 2 + coupler * l) / (cranks * l**2 / 3 + coupler * l**2)

        def pendulum(t: float, y: NDArray[np.float64]) -> list[float]:
            return [y[1], factor * math.cos(y[0])]

        found = solve_ivp(pendulum, (0, until), [self.start, rate], method="DOP853", rtol=1e-12, atol=1e-12)
        return float(found.y[0, -1])


def double_pendulum(at: float = 0.3, tied: float | None = None, hinge: bool = False, of: str = "two", tilt: float = 0.0) -> Model:
    """Two bars; with `tied` a point of the first at this distance is tied once more to the hinge of the second, in the axes of
    the bar `of`."""
    m = Model("double_pendulum")
    for name in ("one", "two"):
        m.body(name, mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("a", "ground", "one", "y", default=0.3)
    m.revolute("b", "one", "two", "y", at=(at, 0, 0), orientation=[("y", tilt)], default=0.2)
    if tied is not None:
        m.point("point", "one", (tied, 0, 0))
        ends = ("two", "point") if of == "two" else ("point", "two")
        if hinge:
            m.close_hinge("tie", *ends, "y")
        else:
            m.close_point("tie", *ends, "xz")
    return m


def four_bar(lengths: Sequence[float], start: float, longer: float = 0.0) -> Model:
    """Crank, coupler, rocker and base in a plane, assembled at a crank angle; the rocker is `longer` than its length by a little,
    which the start then closes."""
    a, b, c, d = lengths
    end = np.array([a * math.cos(start), a * math.sin(start)])
    reach = np.array([d, 0.0]) - end
    length = math.hypot(*reach)
    coupler = math.atan2(reach[1], reach[0]) + math.acos((b**2 + length**2 - c**2) / (2 * b * length))
    tip = end + b * np.array([math.cos(coupler), math.sin(coupler)])
    m = Model("four_bar")
    for name, size, mass in (("crank", a, 1.0), ("coupler", b, 2.0), ("rocker", c, 1.5)):
        moment = mass * size**2 / 12
        m.body(name, mass=mass, center_of_mass=(size / 2, 0, 0), inertia=(moment / 10, moment, moment))
    m.revolute("theta", "ground", "crank", "y", default=-start)
    m.revolute("beta", "crank", "coupler", "y", at=(a, 0, 0), default=start - coupler)
    m.revolute("gamma", "ground", "rocker", "y", at=(d, 0, 0), default=-math.atan2(tip[1], tip[0] - d))
    m.point("tip", "coupler", (b, 0, 0))
    m.point("seat", "rocker", (c + longer, 0, 0))
    m.close_point("pin", "tip", "seat", "xz")
    return m

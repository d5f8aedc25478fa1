"""Linkages for the tests of loop closures, with their closed-form solutions.

All move in the x–z plane by hinges about y; a turn φ about y takes x to (cos φ, −sin φ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.model.model import Model

GRAVITY = 9.81


def bar(m: Model, name: str, length: float, density: float = 2.0) -> str:
    """A slender bar along its x axis."""
    mass = density * length
    m.body(name, mass=mass, center_of_mass=(length / 2, 0, 0), inertia=(0, mass * length**2 / 12, mass * length**2 / 12))
    return name


@dataclass(frozen=True)
class FourBar:
    """Lengths of crank, coupler, rocker and base."""

    crank: float = 0.3
    coupler: float = 0.9
    rocker: float = 0.7
    base: float = 0.8

    def model(self, axes: str = "xz", gravity: float | None = None, orientation=(), world: bool = False) -> Model:
        """Closed by a point constraint in the axes of the coupler, or (`world`) by three rows in the axes of the world."""
        m = Model("four_bar")
        if gravity is not None:
            m.gravity(gravity)
        bar(m, "crank", self.crank)
        bar(m, "coupler", self.coupler)
        bar(m, "rocker", self.rocker)
        m.body("stand", mass=1.0)
        m.fixed("bolts", "ground", "stand", orientation=orientation)
        m.revolute("phi", "stand", "crank", axis="y", default=-0.8)
        m.revolute("psi", "crank", "coupler", axis="y", at=(self.crank, 0, 0), default=0.5)
        m.revolute("chi", "stand", "rocker", axis="y", at=(self.base, 0, 0), default=-1.4)
        m.point("tip", "coupler", (self.coupler, 0, 0))
        m.point("end", "rocker", (self.rocker, 0, 0))
        if world:
            m.constrain("loop", {f"loop_{a}": f"position_{a}(end) - position_{a}(tip)" for a in "xyz"}, unit="m")
        else:
            m.close_point("loop", "tip", "end", axes=axes)
        return m

    def closed(self, phi: float, above: bool = True) -> tuple[float, float]:
        """Angles ψ and χ for a crank angle, by the intersection of two circles."""
        start = self.crank * np.array([np.cos(phi), -np.sin(phi)])
        end = np.array([self.base, 0.0])
        along = end - start
        apart = float(np.hypot(*along))
        foot = (apart**2 + self.coupler**2 - self.rocker**2) / (2 * apart)
        height = np.sqrt(self.coupler**2 - foot**2) * (1 if above else -1)
        pin = start + foot * along / apart + height * np.array([-along[1], along[0]]) / apart
        coupler, rocker = pin - start, pin - end
        return float(-np.arctan2(coupler[1], coupler[0]) - phi), float(-np.arctan2(rocker[1], rocker[0]))

    def by_hand(self, angles: np.ndarray, rates: np.ndarray, gravity: float = GRAVITY) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of (φ, φ+ψ, χ), and the forces in the last pin on the rocker, from Newton's equations of three free
        bodies in the plane with four pins: nine coordinates (x, z, angle from x towards z), eight constraints."""
        lengths = np.array([self.crank, self.coupler, self.rocker])
        masses = 2.0 * lengths
        alpha, omega = -np.asarray(angles), -np.asarray(rates)
        rows, side = np.zeros((8, 9)), np.zeros(8)

        def hold(at: int, body: int, arm: float, sign: float) -> None:
            """sign · (position of the point at `arm` from the center) enters two rows."""
            c, s = np.cos(alpha[body]), np.sin(alpha[body])
            rows[at, 3 * body], rows[at + 1, 3 * body + 1] = sign, sign
            rows[at, 3 * body + 2], rows[at + 1, 3 * body + 2] = -sign * arm * s, sign * arm * c
            side[at] += sign * arm * c * omega[body] ** 2
            side[at + 1] += sign * arm * s * omega[body] ** 2

        half = lengths / 2
        hold(0, 0, -half[0], 1)
        hold(2, 0, half[0], 1)
        hold(2, 1, -half[1], -1)
        hold(4, 2, -half[2], 1)
        hold(6, 2, half[2], 1)
        hold(6, 1, half[1], -1)
        mass = np.diag(np.column_stack([masses, masses, masses * lengths**2 / 12]).ravel())
        weight = np.column_stack([0 * masses, -gravity * masses, 0 * masses]).ravel()
        big = np.block([[mass, -rows.T], [rows, np.zeros((8, 8))]])
        solved = np.linalg.solve(big, np.concatenate([weight, side]))
        return -solved[[2, 5, 8]], solved[9 + 6 : 9 + 8]


@dataclass(frozen=True)
class SliderCrank:
    """Crank and rod as bars, a piston along x, turned at a constant rate by a prescribed angle."""

    crank: float = 0.1
    rod: float = 0.35
    piston: float = 0.6
    rate: float = 7.0

    def model(self) -> Model:
        m = Model("slider_crank")
        m.parameter("rate", self.rate, "rad/s")
        bar(m, "crank", self.crank)
        bar(m, "rod", self.rod)
        m.body("piston", mass=self.piston)
        m.revolute("phi", "ground", "crank", axis="y")
        m.revolute("psi", "crank", "rod", axis="y", at=(self.crank, 0, 0))
        m.prismatic("stroke", "ground", "piston", axis="x", default=self.crank + self.rod)
        m.point("small_end", "rod", (self.rod, 0, 0))
        m.close_point("pin", "piston", "small_end", axes="xz")
        m.prescribe("drive", "phi", "rate * t")
        return m

    def place(self, t: complex) -> tuple[complex, complex]:
        """Stroke, and the rod's angle from x towards z."""
        turn = self.rate * t
        lean = np.arcsin(self.crank * np.sin(turn) / self.rod)  # the rod leans to where the crank pin is, below for φ > 0
        return self.crank * np.cos(turn) + self.rod * np.cos(lean), lean

    def energy(self, t: complex) -> complex:
        """T + V, in closed form; rates by differentiating the closed form of the places once by hand."""
        turn = self.rate * t
        _, lean = self.place(t)
        leans = self.crank * np.cos(turn) * self.rate / (self.rod * np.cos(lean))
        pin = self.crank * self.rate * np.array([-np.sin(turn), -np.cos(turn)])
        middle = pin + self.rod / 2 * leans * np.array([-np.sin(lean), np.cos(lean)])
        slide = pin[0] - self.rod * leans * np.sin(lean)
        m_crank, m_rod = 2 * self.crank, 2 * self.rod
        kinetic = m_crank * self.crank**2 / 6 * self.rate**2
        kinetic += m_rod * (middle @ middle) / 2 + m_rod * self.rod**2 / 24 * leans**2 + self.piston * slide**2 / 2
        height = -self.crank * np.sin(turn) / 2
        return kinetic + GRAVITY * height * (m_crank + m_rod)

"""A body of revolution rolling on its rim, by Newton and Euler with plain vectors: the second derivation for disc and torus.

Axes: forward e1 (horizontal, along the track), axle e2, and e3 in the plane of the body, upward when upright; z is vertical.
With lean θ to the right, z = sin θ e2 + cos θ e3. The rim is a circle of radius R thickened by a tube of radius a (0 for a
knife edge), so the contact lies at ρ = −R e3 − a z from the center. Turn rate Ω about z and spin σ = ω·e2 give

    ω = θ̇ e1 + σ e2 + Ω cos θ e3,      V = −ω × ρ  (rolling),
    L = I_d θ̇ e1 + I_a σ e2 + I_d Ω cos θ e3,      m V̇ = F − m g z,      L̇ = ρ × F.

Steady turn (θ, Ω, σ constant): V = (R σ + a cos θ (σ − Ω sin θ)) e1 turns with Ω, so F = m g z + m Ω V (z × e1), and the e1
component of L̇ = Ω z × L = ρ × F reads

    I_d Ω² sin θ cos θ − I_a σ Ω cos θ = m g R sin θ + m Ω V (R cos θ + a),

which is linear in σ. Straight rolling at spin σ, slightly disturbed, with r = R + a:

    (I_d + m r²) θ̈ = m g R θ + (I_a + m r²) σ Ω,      I_d Ω̇ = −I_a σ θ̇,

so θ moves as exp(λ t) with λ² (I_d + m r²) = m g R − (I_a + m r²) I_a σ² / I_d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class RollingBody:
    """Mass, circle and tube of the rim, moments about axle and diameter, gravity."""

    mass: float
    radius: float
    tube: float
    axial: float
    diametral: float
    gravity: float

    def steady_spin(self, lean: float, turn_rate: float) -> float:
        """σ of the steady turn with this lean and turn rate (not zero)."""
        m, R, a, s, c = self.mass, self.radius, self.tube, np.sin(lean), np.cos(lean)
        gathered = self.axial * c + m * (R + a * c) * (R * c + a)  # of σ Ω
        rest = self.diametral * turn_rate**2 * s * c - m * self.gravity * R * s + m * turn_rate**2 * a * s * c * (R * c + a)
        return float(rest / (gathered * turn_rate))

    def speed(self, lean: float, turn_rate: float, spin: float) -> float:
        """V, forward, of the center."""
        return float(self.radius * spin + self.tube * np.cos(lean) * (spin - turn_rate * np.sin(lean)))

    def lean_exponent_squared(self, spin: float) -> float:
        """λ² of straight rolling; positive: it falls, negative: it wobbles."""
        rolled = self.mass * (self.radius + self.tube) ** 2
        pull = self.mass * self.gravity * self.radius - (self.axial + rolled) * self.axial * spin**2 / self.diametral
        return pull / (self.diametral + rolled)

    def accelerations(self, lean: float, lean_rate: float, turn_rate: float, spin: float) -> tuple[np.ndarray, np.ndarray]:
        """(θ̈, Ω̇, σ̇) and the force of the ground along e1, to the left (z × e1) and up, for any motion."""
        e1 = np.array([1.0, 0.0, 0.0])
        e2 = np.array([0.0, np.cos(lean), np.sin(lean)])
        e3 = np.array([0.0, -np.sin(lean), np.cos(lean)])
        frame = lean_rate * e1 + turn_rate * UP  # angular velocity of (e1, e2, e3)
        d1, d2, d3 = (np.cross(frame, e) for e in (e1, e2, e3))
        upright = turn_rate * np.cos(lean)  # ω·e3
        omega = lean_rate * e1 + spin * e2 + upright * e3
        arm = -self.radius * e3 - self.tube * UP
        arm_rate = -self.radius * d3

        def imbalance(wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            lean2, turn2, spin2 = wanted
            upright2 = turn2 * np.cos(lean) - turn_rate * np.sin(lean) * lean_rate
            alpha = lean2 * e1 + spin2 * e2 + upright2 * e3 + lean_rate * d1 + spin * d2 + upright * d3
            force = self.mass * (-np.cross(alpha, arm) - np.cross(omega, arm_rate) + self.gravity * UP)
            growth = self.diametral * (lean2 * e1 + lean_rate * d1 + upright2 * e3 + upright * d3)
            growth = growth + self.axial * (spin2 * e2 + spin * d2)
            return growth - np.cross(arm, force), force

        zero = imbalance(np.zeros(3))[0]
        matrix = np.column_stack([imbalance(unit)[0] - zero for unit in np.eye(3)])
        solved = np.linalg.solve(matrix, -zero)
        return solved, imbalance(solved)[1]

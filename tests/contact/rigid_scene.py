"""Rigid bodies with point contacts, as both judges read them: M(q) a = f(t, q, v) + Wᵀ λ, q̇ = v, gaps g(t, q) ≥ 0.

Everything is given by plain functions of NumPy arrays, written so that they accept complex numbers and columns (`q` of shape
(n,) or (n, k)): all derivatives are complex steps and Cauchy sums, so no Jacobian is derived by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
STEP = 1e-30  # of complex differentiation: no subtraction, so it may be tiny
POINTS = 16  # on the circle of Cauchy's formula: the error is that of the 18th Taylor coefficient
ANGLES = 2 * np.pi * np.arange(POINTS // 2 + 1) / POINTS  # the upper half; the lower one is its conjugate
CIRCLE = np.exp(1j * ANGLES)
WEIGHTS = np.where((np.arange(POINTS // 2 + 1) % (POINTS // 2)) == 0, 1.0, 2.0) / POINTS


def always(q: Array) -> bool:
    """A contact that may close at any configuration."""
    return True


@dataclass(frozen=True)
class Contact:
    """A unilateral contact: its gap, the slip velocity of its point (none, one or two components), its laws.

    `friction` is (static, kinetic); `armed` says where the contact counts (walkers whose swing foot may scuff).
    """

    name: str
    gap: Callable[[Any, Array], Any]
    slip: Callable[[Any, Array, Array], Any] | None = None
    friction: tuple[float, float] = (0.0, 0.0)
    restitution: float = 0.0
    tangential_restitution: float = 0.0
    armed: Callable[[Array], bool] = always

    def opening(self, t: float, q: Array) -> float:
        """The gap; infinite where the contact does not count."""
        return float(np.real(self.gap(t, q))) if self.armed(q) else float("inf")

    def kinematics(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Rows W (normal first), relative velocities u = W v + w, and biases b such that u̇ = W a + b."""
        n = len(q)
        radius = 0.1 / (1.0 + float(np.linalg.norm(v)))
        circle = radius * CIRCLE
        points = np.concatenate([q[:, None] + 1j * STEP * np.eye(n), q[:, None] + v[:, None] * circle], axis=1)
        times = np.concatenate([np.full(n, t, dtype=complex), t + circle])
        values = np.broadcast_to(self.gap(times, points), times.shape)
        gradient = values[:n].imag / STEP
        rate = float(np.sum(WEIGHTS * (values[n:] / CIRCLE).real)) / radius
        bias = 2.0 * float(np.sum(WEIGHTS * (values[n:] / CIRCLE**2).real)) / radius**2
        if self.slip is None:
            return gradient[None, :], np.array([rate]), np.array([bias])
        slip = self.slip
        drift = np.array(slip(t, q, np.zeros(n)), dtype=float)
        columns = np.array([np.broadcast_to(part, n) for part in slip(t, q, np.eye(n))], dtype=float)
        along = np.array(slip(t + 1j * STEP, q + 1j * STEP * v, v), dtype=complex).imag / STEP
        tangential = columns - drift[:, None]
        return (
            np.vstack([gradient, tangential]),
            np.concatenate([[rate], tangential @ v + drift]),
            np.concatenate([[bias], along]),
        )


@dataclass(frozen=True)
class Scene:
    """Masses, forces and contacts; `force` is everything but the contact forces, gyroscopic terms included."""

    mass: Callable[[Array], Array]
    force: Callable[[Any, Array, Array], Array]
    contacts: tuple[Contact, ...] = ()

    def kinetic_energy(self, q: Array, v: Array) -> float:
        """½ vᵀ M v."""
        return 0.5 * float(v @ self.mass(q) @ v)

    def contact_rows(self, t: float, q: Array, v: Array, chosen: list[int]) -> tuple[Array, Array, Array]:
        """W, u and b of the chosen contacts, below each other."""
        if not chosen:
            return np.zeros((0, len(q))), np.zeros(0), np.zeros(0)
        parts = [self.contacts[i].kinematics(t, q, v) for i in chosen]
        return np.vstack([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])

    def sizes(self, chosen: list[int], q: Array) -> list[int]:
        """Number of tangential directions of each chosen contact."""
        zero = np.zeros(len(q))
        return [0 if (s := self.contacts[i].slip) is None else len(s(0.0, q, zero)) for i in chosen]


def constant_mass(*diagonal: float) -> Callable[[Array], Array]:
    """A mass matrix that is diagonal and constant."""
    matrix = np.diag(diagonal)
    return lambda q: matrix


def constant_force(*force: float) -> Callable[[Any, Array, Array], Array]:
    """A generalized force that is constant."""
    vector = np.array(force, dtype=float)
    return lambda t, q, v: vector


def lagrangian_force(mass: Callable[[Array], Array], potential: Callable[[Array], Any]) -> Callable[[Any, Array, Array], Array]:
    """−Ṁ v + ½ ∂(vᵀ M v)/∂q − ∂U/∂q by complex steps: Lagrange's equations without contact."""

    def force(t: Any, q: Array, v: Array) -> Array:
        rate = np.imag(mass(q + 1j * STEP * v)) / STEP
        value = -rate @ v
        for i, unit in enumerate(np.eye(len(q))):
            moved = q + 1j * STEP * unit
            value[i] += (0.5 * np.imag(v @ mass(moved) @ v) - np.imag(potential(moved))) / STEP
        return value

    return force

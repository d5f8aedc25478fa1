"""Downhill along solutions: the start closest to the defaults, or the one in which a wish comes closest to being fulfilled.

Newton's method on the surface of solutions. Its second derivatives are differences of the exact first ones; its linear systems
are solved by conjugate gradients inside a region of trust (Steihaug 1983), so that a surface of any dimension will do; every
step is brought back onto the surface by `restore`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from draisine.simulation.initial.newton import restore
from draisine.simulation.initial.residual_system import Level, Point, Reals

STEEP = 1e-8  # the slope along the surface, as a part of the whole, at which a minimum is reached: its value is then exact
FAR = 0.5  # how far, in scales, one walks at once where no minimum is in sight
NUDGE = 1e-7  # for differences of the exact Jacobian


class Aim(Protocol):
    """What is to be made small on the surface of solutions."""

    def value(self, z: Reals) -> tuple[float, Reals]: ...

    def bend(self, z: Reals, direction: Reals) -> Reals:
        """The change of the gradient along a direction."""


class Distance:
    """½|z|²: how far from the reference."""

    def value(self, z: Reals) -> tuple[float, Reals]:
        return 0.5 * float(z @ z), z

    def bend(self, z: Reals, direction: Reals) -> Reals:
        return direction


@dataclass(frozen=True, eq=False)
class Missing:
    """½ of the sum of squares of some residuals, in units of their weights at the beginning: how far wishes are from being so."""

    rows: Level  # in the same unknowns as the surface
    weight: Reals

    def value(self, z: Reals) -> tuple[float, Reals]:
        point = self.rows.at(z)
        r = point.residual / self.weight
        return 0.5 * float(r @ r), (r / self.weight) @ point.slope

    def bend(self, z: Reals, direction: Reals) -> Reals:
        length = _nudge(z, direction)
        return (self.value(z + length * direction)[1] - self.value(z)[1]) / length


def descend(point: Point, aim: Aim, most_steps: int = 60) -> Point:
    """From a point of the surface to one where the aim is smallest among its neighbours."""
    level = point.level
    value, gradient = aim.value(point.z)
    trust = np.inf
    for _ in range(most_steps):
        slope = point.along(gradient)
        if not point.finite or np.linalg.norm(slope) <= STEEP * np.linalg.norm(gradient) + 1e-14:
            break
        step, promised = _inside(_bend(point, gradient, aim), slope, point.along, trust)
        there = restore(level, point.z + step)
        new, new_gradient = aim.value(there.point.z)
        length = float(np.linalg.norm(step))
        if not there.fulfilled or not value - new > 0.1 * promised:
            trust = 0.25 * min(length, trust)
            if trust <= 1e-12 * (1.0 + float(np.linalg.norm(point.z))):
                break
            continue
        if value - new > 0.75 * promised:
            trust = max(trust, 3.0 * length)
        point, value, gradient = there.point, new, new_gradient
    return point


def _bend(point: Point, gradient: Reals, aim: Aim) -> Callable[[Reals], Reals]:
    """The second derivative of the aim along the surface, times a direction: that of the Lagrangian."""
    multipliers = -(point.inverse.T @ gradient)

    def product(direction: Reals) -> Reals:
        length = _nudge(point.z, direction)
        curved = multipliers @ (point.level.slope(point.z + length * direction) - point.slope) / length
        return point.along(aim.bend(point.z, direction) + curved)

    return product


def _nudge(z: Reals, direction: Reals) -> float:
    return NUDGE * (1.0 + float(np.linalg.norm(z))) / float(np.linalg.norm(direction))


def _inside(
    product: Callable[[Reals], Reals], slope: Reals, along: Callable[[Reals], Reals], trust: float
) -> tuple[Reals, float]:
    """The step that a quadratic model likes best within the region of trust, and the decrease it promises."""
    step, left = np.zeros_like(slope), -slope
    direction, square = left, float(left @ left)
    bent = np.zeros_like(slope)  # the Hessian times the step
    enough = 1e-8 * square
    edge = min(trust, FAR)  # where the surface bends the wrong way one walks to the edge of trust
    for _ in range(min(len(slope), 40)):
        turned = product(direction)
        curvature = float(direction @ turned)
        if not curvature > 1e-12 * float(direction @ direction):
            step, bent = _to_edge(step, bent, direction, turned, edge)
            break
        length = square / curvature
        if np.linalg.norm(step + length * direction) >= trust:
            step, bent = _to_edge(step, bent, direction, turned, trust)
            break
        step, bent = step + length * direction, bent + length * turned
        left = along(left - length * turned)
        new = float(left @ left)
        if new <= enough:
            break
        direction, square = left + (new / square) * direction, new
    return step, -float(slope @ step) - 0.5 * float(step @ bent)


def _to_edge(step: Reals, bent: Reals, direction: Reals, turned: Reals, edge: float) -> tuple[Reals, Reals]:
    a, b, c = float(direction @ direction), float(step @ direction), float(step @ step) - edge**2
    length = (-b + np.sqrt(max(b * b - a * c, 0.0))) / a
    return step + length * direction, bent + length * turned

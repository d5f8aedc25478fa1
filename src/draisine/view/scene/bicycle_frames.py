"""Generated forks and frames of single-track vehicles.

A fork is a body that turns about a steep axis and carries a wheel. The body behind it with another wheel is a frame: tubes of
the proportions of a safety bicycle, fitted to hubs, wheels and steer axis of the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.view.scene.scene import Array, Center, Hinge, Poses, Scene, Wheel
from draisine.view.scene.solids import Ellipsoid, Ring, Solid, Tube

METAL, DARK, LEATHER = "#8D949C", "#33373C", "#4A3B32"

# lengths by the wheel's radius
_CLEAR, _HEAD, _TUBE, _STAY = 1.16, 0.42, 0.045, 0.024
_STEM, _BAR, _GRIP = 0.24, 0.8, 0.38


@dataclass(frozen=True, eq=False)
class Axle:
    """A wheel in the axes of its carrier: hub, axle direction, tread radius, half width of the tire."""

    hub: Array
    along: Array
    radius: float
    width: float


@dataclass(frozen=True, eq=False)
class Fork:
    """A steered body with one wheel; `hinge` is its steer axis, `up` the sign that makes the axis point upwards.

    `forward` points away from the rest of the vehicle, in the fork's axes.
    """

    body: str
    axle: Axle
    hinge: Hinge
    up: float
    forward: Array

    @property
    def crown(self) -> float:
        """Position of the fork crown along the hinge, from its `at`."""
        low = float((self.axle.hub - self.hinge.child_at) @ self.hinge.child_axis)
        return low + self.up * _CLEAR * self.axle.radius

    @property
    def top(self) -> float:
        """Position of the upper end of the head along the hinge."""
        return self.crown + self.up * _HEAD * self.axle.radius


def forks(scene: Scene, poses: Poses) -> dict[str, Fork]:
    """The forks of a mechanism, by name of the body; `poses` determine the upward direction."""
    found = {}
    for hinge in (s for s in scene.shapes if isinstance(s, Hinge) and not s.of_wheel):
        axles = axles_of(scene, hinge.child)
        rise = float(poses[hinge.body].rotated(hinge.axis)[2])
        if len(axles) == 1 and abs(rise) > 0.5 and abs(float(axles[0].along @ hinge.child_axis)) < 0.3:
            pose = poses[hinge.child]
            rest = np.mean([poses[s.body].of(s.at) for s in scene.shapes if isinstance(s, Center)], axis=0)
            forward = np.cross(axles[0].along, hinge.child_axis)
            forward *= np.sign(pose.rotated(forward) @ (pose.of(axles[0].hub) - rest)) or 1.0
            found[hinge.child] = Fork(hinge.child, axles[0], hinge, float(np.sign(rise)), forward / np.linalg.norm(forward))
    holders = [fork.hinge.body for fork in found.values()]
    return {body: fork for body, fork in found.items() if holders.count(fork.hinge.body) == 1}  # a car steers two wheels


def axles_of(scene: Scene, body: str) -> list[Axle]:
    """The wheels that a body carries."""
    wheels = {s.body: s for s in scene.shapes if isinstance(s, Wheel)}
    return [
        Axle(s.at + s.ends[1] * s.axis, s.axis, wheel.radius + wheel.tube, max(wheel.tube, 0.045 * wheel.radius))
        for s in scene.shapes
        if isinstance(s, Hinge) and s.of_wheel and s.body == body and (wheel := wheels.get(s.child)) is not None
    ]


def fork_solids(fork: Fork, color: str) -> list[Solid]:
    """Blades with a rake, steerer, stem, handlebar with grips."""
    axle, r = fork.axle, fork.axle.radius
    up = fork.up * fork.hinge.child_axis
    sideways = axle.along
    forward = fork.forward
    crown = fork.hinge.child_at + fork.crown * fork.hinge.child_axis
    top = fork.hinge.child_at + fork.top * fork.hinge.child_axis
    spread = 0.05 * r + axle.width
    solids: list[Solid] = []
    for side in (spread * sideways, -spread * sideways):
        # quadratic: down along the steer axis first, then forward to the hub
        corner = axle.hub + up * ((crown - axle.hub) @ up) * 0.3 + forward * ((crown - axle.hub) @ forward)
        s = np.linspace(0.0, 1.0, 9)[:, None]
        path = (1 - s) ** 2 * crown + 2 * s * (1 - s) * corner + s**2 * axle.hub + side
        solids.append(Tube(fork.body, path, _STAY * 1.15 * r, color))
        solids.append(Tube(fork.body, np.array([crown, crown + side]), _STAY * 1.5 * r, color))
    tip = top + 0.10 * r * up
    bar = tip + _STEM * r * forward
    solids.append(Tube(fork.body, np.array([crown, tip]), _TUBE * 0.6 * r, METAL))
    solids.append(Tube(fork.body, np.array([tip, bar]), _TUBE * 0.7 * r, METAL))
    half, grip = _BAR * r, _GRIP * r
    ends = [bar + sign * half * sideways - grip * forward * 0.8 + 0.06 * r * up for sign in (1.0, -1.0)]
    corners = [bar + sign * 0.72 * half * sideways + 0.06 * r * up for sign in (1.0, -1.0)]
    solids.append(Tube(fork.body, np.array([ends[0], corners[0], bar, corners[1], ends[1]]), _STAY * r, METAL))
    for end, corner in zip(ends, corners, strict=True):
        solids.append(Tube(fork.body, np.array([end, end + 0.55 * (corner - end)]), _STAY * 1.6 * r, DARK))
    solids.append(
        Tube(fork.body, np.array([axle.hub - 1.4 * spread * sideways, axle.hub + 1.4 * spread * sideways]), 0.02 * r, METAL)
    )
    return solids


@dataclass(frozen=True, eq=False)
class Backbone:
    """Corners of a frame in its own axes."""

    hub: Array
    bottom: Array
    seat: Array
    saddle: Array
    head: tuple[Array, Array]  # lower and upper end


def frame_solids(
    body: str, axle: Axle, fork: Fork, line: tuple[Array, Array], vertical: Array, holds: Sequence[Array], color: str
) -> list[Solid]:
    """A frame: main tubes, stays on both sides of the wheel, saddle, chain ring with cranks, posts to attached bodies.

    `line` is the steer axis in the axes of the body: the point `at` of the fork's hinge and the upward direction. `vertical` is
    the world's vertical.
    """
    corners = _corners(axle, fork, line, vertical)
    r, sideways = axle.radius, axle.along
    low, high = corners.head
    forward, up = _level(axle, vertical, low - corners.hub)
    solids: list[Solid] = []

    def tube(a: Array, b: Array, size: float, paint: str = color) -> None:
        solids.append(Tube(body, np.array([a, b]), size * r, paint))

    way = (high - low) / np.linalg.norm(high - low)
    tube(low - 0.03 * r * way, high + 0.03 * r * way, _TUBE * 1.25)
    tube(corners.seat, high - 0.1 * r * way, _TUBE * 0.9)
    tube(corners.bottom, low + 0.08 * r * way, _TUBE)
    tube(corners.bottom, corners.seat, _TUBE * 0.9)
    tube(corners.seat, corners.saddle, _TUBE * 0.7, METAL)
    spread = 0.05 * r + axle.width
    for side in (spread * sideways, -spread * sideways):
        for corner in (corners.bottom, corners.seat):
            tube(corner + side, corners.hub + side, _STAY)
            tube(corner, corner + side, _STAY)
    tube(corners.hub - 1.4 * spread * sideways, corners.hub + 1.4 * spread * sideways, 0.02, METAL)
    for place in holds:
        tube(corners.saddle, place, 2 * _STAY, METAL)
    solids += _saddle(body, corners.saddle, forward, up, sideways, r)
    solids += _drive(body, corners.bottom, forward, up, sideways, spread, r)
    return solids


def _corners(axle: Axle, fork: Fork, line: tuple[Array, Array], vertical: Array) -> Backbone:
    at, direction = line
    low, high = (at + fork.up * place * direction for place in (fork.crown, fork.top))
    forward, up = _level(axle, vertical, low - axle.hub)
    base = float((low - axle.hub) @ forward)
    # clear of the wheel, and slightly below the hub, like bottom brackets
    bottom = axle.hub + max(0.44 * base, 1.12 * axle.radius) * forward - 0.1 * axle.radius * up
    rise = max(float((high - bottom) @ up), 0.8 * axle.radius)
    seat = bottom + (rise * up - 0.3 * rise * forward) * 0.97
    lean = (seat - bottom) / np.linalg.norm(seat - bottom)
    return Backbone(axle.hub, bottom, seat, seat + 0.4 * axle.radius * lean, (low, high))


def _saddle(body: str, at: Array, forward: Array, up: Array, sideways: Array, r: float) -> list[Solid]:
    back = Ellipsoid(
        body,
        at - 0.12 * r * forward + 0.03 * r * up,
        np.column_stack([0.24 * r * forward, 0.26 * r * sideways, 0.06 * r * up]),
        LEATHER,
    )
    nose = Ellipsoid(
        body,
        at + 0.16 * r * forward + 0.03 * r * up,
        np.column_stack([0.34 * r * forward, 0.09 * r * sideways, 0.05 * r * up]),
        LEATHER,
    )
    return [back, nose]


def _drive(body: str, at: Array, forward: Array, up: Array, sideways: Array, spread: float, r: float) -> list[Solid]:
    out = (spread + 0.06 * r) * sideways
    crank = 0.5 * r * (0.94 * forward - 0.34 * up)
    solids: list[Solid] = [
        Tube(body, np.array([at - 1.5 * out, at + 1.5 * out]), 0.05 * r, METAL),
        Ring(body, at - out, sideways, 0.28 * r, 0.018 * r, DARK, count=48, sides=6),
    ]
    for angle in np.arange(5) * 2 * np.pi / 5:
        arm = 0.28 * r * (np.cos(angle) * forward + np.sin(angle) * up)
        solids.append(Tube(body, np.array([at - out, at - out + arm]), 0.018 * r, DARK, sides=6))
    for side, way in ((-1.4 * out, crank), (1.4 * out, -crank)):
        tip = at + side + way
        outer = tip + np.sign(side @ sideways) * 0.24 * r * sideways
        solids.append(Tube(body, np.array([at + side, tip]), 0.03 * r, METAL))
        solids.append(Tube(body, np.array([tip, outer]), 0.045 * r, DARK))
    return solids


def _level(axle: Axle, vertical: Array, ahead: Array) -> tuple[Array, Array]:
    """Forward and up directions perpendicular to the axle; level and vertical for an upright vehicle."""
    up = vertical - (vertical @ axle.along) * axle.along
    up /= np.linalg.norm(up)
    forward = np.cross(axle.along, up)
    return forward * (np.sign(forward @ ahead) or 1.0), up

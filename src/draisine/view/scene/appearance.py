"""Generated solids of bodies without given shapes.

Bodies become tubes between their joints, wheels get tires and spokes, single-track vehicles forks and frames
(`bicycle_frames`), blades runners under a board, sliders rails. Bodies with shapes from the description or the caller keep
these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from draisine.errors import ArgumentError
from draisine.view.plots.style import body_colors
from draisine.view.scene import bicycle_frames as cycles
from draisine.view.scene.scene import (
    Array,
    Ball,
    Blade,
    Center,
    Hinge,
    InertiaEllipsoid,
    Link,
    Mark,
    Poses,
    Scene,
    Shape,
    Slide,
    Support,
    Wheel,
    orthonormal_pair,
)
from draisine.view.scene.solids import Box, Ellipsoid, Ring, Sector, Solid, Tube, ball

_RUBBER, _METAL, _DARK, _PALE = "#2B2D30", "#A9B0B7", "#4A4F55", "#E8E6E0"
_THIN = 0.011  # of the mechanism's size: radius of a tube
_SPOKES = 20

Spans = Mapping[str, tuple[float, float]]  # range of each slider along its rail, by name of the joint


def body_solids(
    scene: Scene, poses: Poses, spans: Spans | None = None, given: Mapping[str, Sequence[Solid]] | None = None
) -> list[Solid]:
    """Solids of every body: the given ones, and generated ones from joints and masses.

    `poses` is a typical configuration: it determines size and upward direction.
    """
    own: dict[str, list[Solid]] = {}
    for solid in scene.solids:
        own.setdefault(solid.body, []).append(solid)
    own |= {body: list(solids) for body, solids in (given or {}).items()}
    unknown = [body for body in own if body not in (*scene.bodies, "ground")]
    if unknown:
        raise ArgumentError(f"shapes are given for {unknown[0]!r}, but {scene.name!r} has the bodies {', '.join(scene.bodies)}")
    return [
        *(s for solids in own.values() for s in solids),
        *_SolidBuilder(scene, poses, spans or {}, set(own) - {"ground"}).solids(),
    ]


class _SolidBuilder:
    def __init__(self, scene: Scene, poses: Poses, spans: Spans, given: set[str]) -> None:
        self.scene, self.poses, self.spans, self.given = scene.fitted(poses), poses, spans, given
        points = scene.points(poses)
        self.size = max(float(np.ptp(points, axis=0).max()) if len(points) else 1.0, 1e-6)
        self.thin = _THIN * self.size
        self.color = body_colors(scene.bodies) | {"ground": _DARK}

    def solids(self) -> list[Solid]:
        vehicle = self._vehicle()
        done = {body for body, _ in vehicle}
        found: list[Solid] = [solid for _, solids in vehicle for solid in solids]
        for shape in self.scene.shapes:
            found += self._shape(shape, done)
        bare = set(self.scene.bodies) - {solid.body for solid in found}  # point masses attached to cords only
        centers = [s for s in self.scene.shapes if isinstance(s, Center) and s.body in bare]
        found += [ball(s.body, s.at, 2.6 * self.thin, self.color[s.body]) for s in centers]
        return [solid for solid in found if solid.body not in self.given]

    def _vehicle(self) -> list[tuple[str, list[Solid]]]:
        """Forks, and the frames behind them."""
        found: list[tuple[str, list[Solid]]] = []
        parents = {s.child: s for s in self.scene.shapes if isinstance(s, Hinge) and not s.of_wheel}
        forks = cycles.forks(self.scene, self.poses)
        for body, fork in forks.items():
            found.append((body, cycles.fork_solids(fork, self.color[body])))
            hinge: Hinge | None = fork.hinge
            while hinge is not None and not cycles.axles_of(self.scene, hinge.body):
                hinge = parents.get(hinge.body)  # a flexible head carries no wheel
            axles = cycles.axles_of(self.scene, hinge.body) if hinge is not None else []
            if hinge is None or len(axles) != 1:
                continue
            pose, head = self.poses[hinge.body], self.poses[fork.hinge.body]
            at = (head.of(fork.hinge.at) - pose.position) @ pose.rotation
            up = head.rotated(fork.up * fork.hinge.axis) @ pose.rotation
            if float(np.linalg.norm(at - axles[0].hub)) > axles[0].radius:
                others = [s for s in parents.values() if s.body == hinge.body and s is not hinge and s.child not in forks]
                holds = [s.at + s.ends[0] * s.axis for s in others]
                color, vertical = self.color[hinge.body], np.array([0.0, 0.0, 1.0]) @ pose.rotation
                found.append((hinge.body, cycles.frame_solids(hinge.body, axles[0], fork, (at, up), vertical, holds, color)))
        return found

    def _shape(self, shape: Shape, done: set[str]) -> list[Solid]:
        if isinstance(shape, Wheel):
            return self._wheel(shape)
        if isinstance(shape, Link):
            return [] if shape.body in done else self._link(shape)
        if isinstance(shape, InertiaEllipsoid):
            return [] if shape.body in done else self._ellipsoid(shape)
        if isinstance(shape, Hinge):
            return [] if shape.child in done or (shape.of_wheel and shape.body in done) else self._hinge(shape)
        if isinstance(shape, Ball):
            return [ball(shape.body, shape.at, 1.9 * self.thin, _DARK)]
        if isinstance(shape, Slide):
            return self._slide(shape)
        if isinstance(shape, Support):
            return [Box("ground", shape.at, 2.4 * self.thin * np.eye(3), _DARK)]
        if isinstance(shape, Blade):
            return self._blade(shape)
        if isinstance(shape, Mark):
            return [ball(shape.body, shape.at, 0.8 * self.thin, _PALE)]
        return []

    # ---------------------------------------------------------------- wheels

    def _wheel(self, wheel: Wheel) -> list[Solid]:
        r, body = wheel.radius, wheel.body
        if not wheel.hinged:
            return self._roller(wheel)
        tire = wheel.tube or 0.045 * r
        middle = wheel.radius if wheel.tube else r - tire
        rim = middle - 1.2 * tire
        hub = 0.05 * r
        width = 0.12 * r
        solids: list[Solid] = [
            Ring(body, wheel.center, wheel.axis, middle, tire, _RUBBER, count=72),
            Ring(body, wheel.center, wheel.axis, rim, 0.5 * tire, _METAL, count=72, sides=8),
            Tube(body, wheel.center + np.outer([-width, width], wheel.axis), hub, _METAL),
        ]
        first, second = orthonormal_pair(wheel.axis)
        for k in range(_SPOKES):
            angle, side = 2 * np.pi * k / _SPOKES, 0.8 * width * (-1) ** k
            begin = 2 * np.pi * (k + (1.6 if k % 4 < 2 else -1.6)) / _SPOKES  # laced: spokes leave the hub at an angle
            out = np.cos(angle) * first + np.sin(angle) * second
            inner = np.cos(begin) * first + np.sin(begin) * second
            path = np.array([wheel.center + hub * inner + side * wheel.axis, wheel.center + rim * out])
            solids.append(Tube(body, path, 0.0075 * r, _METAL, sides=4))
        # a valve, which shows the rotation
        solids.append(Tube(body, np.array([wheel.center + rim * first, wheel.center + 0.84 * rim * first]), 0.02 * r, "#D55E00"))
        return solids

    def _roller(self, wheel: Wheel) -> list[Solid]:
        """A body that is itself a wheel: a disc in two colors, or a torus with marks."""
        body, color, r = wheel.body, self.color[wheel.body], wheel.radius
        solids: list[Solid]
        if wheel.tube > 0:
            first, second = orthonormal_pair(wheel.axis)
            solids = [Ring(body, wheel.center, wheel.axis, r, wheel.tube, color, count=96, sides=24)]
            for k in range(8):
                out = np.cos(np.pi * k / 4) * first + np.sin(np.pi * k / 4) * second
                around = np.cross(wheel.axis, out)
                solids.append(
                    Ring(
                        body, wheel.center + r * out, around, wheel.tube, 0.04 * wheel.tube + 0.003 * r, _PALE, count=32, sides=6
                    )
                )
            return solids
        solids = [Ring(body, wheel.center, wheel.axis, 0.98 * r, 0.02 * r, _DARK, count=96, sides=8)]
        for k in range(4):
            paint, begin = color if k % 2 == 0 else _PALE, k * np.pi / 2
            solids.append(Sector(body, wheel.center, wheel.axis, 0.975 * r, 0.03 * r, paint, begin, begin + np.pi / 2))
        return solids

    # ---------------------------------------------------------------- other bodies

    def _link(self, link: Link) -> list[Solid]:
        color, r = self.color[link.body], self.thin
        solids: list[Solid] = [Tube(link.body, np.array(line), r, color) for line in link.frame]
        solids += [Tube(link.body, np.array(line), 0.5 * r, color) for line in link.arms]
        if not link.arms:
            solids.append(ball(link.body, link.frame[-1][1], 2.6 * r, color))
        corners = [end for line in link.frame for end in line]
        return [*solids, *(ball(link.body, corner, r, color) for corner in corners)]

    def _ellipsoid(self, ellipsoid: InertiaEllipsoid) -> list[Solid]:
        """An ellipsoid, flattened where it would reach into the ground, as in planar models."""
        if cycles.axles_of(self.scene, ellipsoid.body):  # a wheel carrier is drawn no larger than its hub
            return [ball(ellipsoid.body, ellipsoid.at, 1.8 * self.thin, self.color[ellipsoid.body])]
        axes = ellipsoid.axes + 1e-6 * self.size * np.eye(3)
        if self.scene.normal is not None:
            pose = self.poses[ellipsoid.body]
            up = pose.rotation.T @ self.scene.normal
            height, reach = float(pose.of(ellipsoid.at) @ self.scene.normal), float(np.linalg.norm(up @ axes))
            if reach > height:
                axes = axes - np.outer(up, up @ axes) * (1 - max(height, 2 * self.thin) / reach)
        return [Ellipsoid(ellipsoid.body, ellipsoid.at, axes, self.color[ellipsoid.body])]

    def _hinge(self, hinge: Hinge) -> list[Solid]:
        ends = hinge.at + np.outer(hinge.ends, hinge.axis)
        reach = (1.0 if hinge.of_wheel else 2.2) * self.thin * np.asarray(hinge.axis)
        solids: list[Solid] = [Tube(hinge.body, np.array([ends[1] - reach, ends[1] + reach]), 1.5 * self.thin, _DARK)]
        if np.linalg.norm(ends[1] - ends[0]) > self.thin:
            solids.append(Tube(hinge.body, ends, 0.7 * self.thin, _METAL))
        return solids

    def _slide(self, slide: Slide) -> list[Solid]:
        low, high = self.spans.get(slide.name, (0.0, 0.0))
        ends = slide.at + np.outer([low - 0.25 * self.size, high + 0.25 * self.size], slide.axis)
        axis = self.poses[slide.child].rotation.T @ self.poses[slide.body].rotated(slide.axis)
        first, second = orthonormal_pair(axis)
        block = np.column_stack([6 * self.thin * axis, 3.2 * self.thin * first, 3.2 * self.thin * second])
        return [
            Tube(slide.body, ends, 0.9 * self.thin, _METAL),
            Box(slide.child, slide.block, block, self.color[slide.child]),
        ]

    def _blade(self, blade: Blade) -> list[Solid]:
        """A runner with its edge on the ground, and a board above it."""
        up = self.poses[blade.body].rotation.T @ np.array([0.0, 0.0, 1.0])
        up = up - (up @ blade.along) * blade.along
        up /= np.linalg.norm(up)
        side = np.cross(up, blade.along)
        long, high = 0.16 * self.size, 2.5 * self.thin
        s = np.linspace(-1.0, 1.0, 11)[:, None]
        keel = blade.at + long * s * blade.along + (0.35 * self.thin + high * s**6) * up
        solids: list[Solid] = [Tube(blade.body, keel, 0.35 * self.thin, _METAL)]
        post = np.array([blade.at + 0.35 * self.thin * up, blade.at + high * up])
        solids.append(Tube(blade.body, post, 0.6 * self.thin, _DARK))
        plate = np.column_stack([0.8 * long * blade.along, 2.5 * self.thin * side, 0.4 * self.thin * up])
        return [*solids, Box(blade.body, blade.at + high * up, plate, self.color[blade.body])]


def slider_ranges(scene: Scene, positions: Mapping[str, Array], rotations: Mapping[str, Array]) -> dict[str, tuple[float, float]]:
    """Ranges of sliders in a motion, from positions (n, 3) and rotations (n, 3, 3) of the bodies."""
    found = {}
    for slide in (s for s in scene.shapes if isinstance(s, Slide)):
        block = np.einsum("nij,j->ni", rotations[slide.child], slide.block) + positions[slide.child]
        local = np.einsum("nji,nj->ni", rotations[slide.body], block - positions[slide.body])
        along = (local - slide.at) @ slide.axis
        found[slide.name] = (float(along.min()), float(along.max()))
    return found

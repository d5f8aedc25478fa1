"""Solids of shapes given in a description, with numeric sizes and mesh files read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from draisine.expr.expression import Expr, evaluate_number
from draisine.model import shapes as items
from draisine.model.items import GROUND
from draisine.model.system import System
from draisine.view.plots.style import body_colors
from draisine.view.scene.mesh_files import read_mesh
from draisine.view.scene.scene import Array, orthonormal_pair
from draisine.view.scene.solids import Box, Ellipsoid, Loft, Mesh, Prism, Revolved, Ring, Solid, Tube, ball

STONE = "#8D949C"  # of shapes on the ground
_RUBBER, _METAL = "#2B2D30", "#A9B0B7"
_SPOKES = 20
_ARC = 17  # points of half a circle


def given_solids(system: System, values: Mapping[str, float]) -> tuple[Solid, ...]:
    """The solids of bodies and ground for which shapes are given."""
    colors = {**body_colors([b.name for b in system.bodies]), GROUND: STONE}
    reported = {**{b.name: b.shapes for b in system.bodies}, GROUND: system.ground.shapes}
    return tuple(
        s for body, shapes in reported.items() for shape in shapes for s in _GivenSolids(body, colors[body], values).solids(shape)
    )


class _GivenSolids:
    """Solids of the given shapes of one body."""

    def __init__(self, body: str, color: str, values: Mapping[str, float]) -> None:
        self.body, self.own, self.values = body, color, values

    def solids(self, shape: items.BodyShape) -> list[Solid]:
        builders: dict[type, Callable[..., list[Solid]]] = {
            items.Box: self._box,
            items.Sphere: self._sphere,
            items.Ellipsoid: self._ellipsoid,
            items.Cylinder: self._cylinder,
            items.Tube: self._tube,
            items.Wheel: self._wheel,
            items.Revolved: self._turned,
            items.Prism: self._prism,
            items.Stadium: self._stadium,
            items.MeshFile: self._mesh,
        }
        at = np.array([self._number(c) for c in shape.at])
        orientation = self._rotation(shape.orientation)
        return builders[type(shape)](shape, at, orientation, shape.color or self.own)

    def _number(self, amount: Expr) -> float:
        return evaluate_number(amount, self.values)

    def _numbers(self, rows: tuple[tuple[Expr, ...], ...]) -> Array:
        return np.array([[self._number(c) for c in row] for row in rows])

    def _rotation(self, turns: items.Turns) -> Array:
        rotation = np.eye(3)
        for axis, angle in turns:
            k, a = "xyz".index(axis), self._number(angle)
            i, j = (k + 1) % 3, (k + 2) % 3
            step = np.eye(3)
            step[[i, i, j, j], [i, j, i, j]] = np.cos(a), -np.sin(a), np.sin(a), np.cos(a)
            rotation = rotation @ step
        return rotation

    def _box(self, shape: items.Box, at: Array, orientation: Array, color: str) -> list[Solid]:
        half = np.array([self._number(c) for c in shape.size]) / 2
        return [Box(self.body, at, orientation * half, color)]

    def _sphere(self, shape: items.Sphere, at: Array, orientation: Array, color: str) -> list[Solid]:
        return [Ellipsoid(self.body, at, self._number(shape.radius) * orientation, color)]

    def _ellipsoid(self, shape: items.Ellipsoid, at: Array, orientation: Array, color: str) -> list[Solid]:
        half = np.array([self._number(c) for c in shape.size]) / 2
        return [Ellipsoid(self.body, at, orientation * half, color, count=48)]

    def _cylinder(self, shape: items.Cylinder, at: Array, orientation: Array, color: str) -> list[Solid]:
        axis = orientation[:, "xyz".index(shape.axis)]
        reach = self._number(shape.length) / 2
        return [Tube(self.body, at + np.outer([-reach, reach], axis), self._number(shape.radius), color, sides=32)]

    def _tube(self, shape: items.Tube, at: Array, orientation: Array, color: str) -> list[Solid]:
        path = at + self._numbers(shape.path) @ orientation.T
        radius = self._number(shape.radius)
        return [Tube(self.body, path, radius, color), *(ball(self.body, end, radius, color) for end in (path[0], path[-1]))]

    def _wheel(self, shape: items.Wheel, at: Array, orientation: Array, color: str) -> list[Solid]:
        radius, tube = self._number(shape.radius), self._number(shape.tube)
        axis = orientation[:, "xyz".index(shape.axis)]
        rim, hub, width = radius - 1.2 * tube, 0.06 * radius, 0.12 * radius
        first, second = orthonormal_pair(axis)
        made: list[Solid] = [
            Ring(self.body, at, axis, radius, tube, _RUBBER, count=72),
            Ring(self.body, at, axis, rim, 0.5 * tube, color, count=72, sides=8),
            Tube(self.body, at + np.outer([-width, width], axis), hub, color),
        ]
        for k in range(_SPOKES):
            angle = 2 * np.pi * k / _SPOKES
            out = np.cos(angle) * first + np.sin(angle) * second
            inner = at + hub * out + 0.8 * width * (-1) ** k * axis
            made.append(Tube(self.body, np.array([inner, at + rim * out]), 0.008 * radius, _METAL, sides=4))
        return made

    def _turned(self, shape: items.Revolved, at: Array, orientation: Array, color: str) -> list[Solid]:
        return [Revolved(self.body, at, orientation[:, "xyz".index(shape.axis)], self._numbers(shape.profile), color)]

    def _prism(self, shape: items.Prism, at: Array, orientation: Array, color: str) -> list[Solid]:
        k = "xyz".index(shape.axis)
        axes = orientation[:, [k, (k + 1) % 3, (k + 2) % 3]]
        return [Prism(self.body, at, axes, self._numbers(shape.profile), self._number(shape.length), color)]

    def _stadium(self, shape: items.Stadium, at: Array, orientation: Array, color: str) -> list[Solid]:
        k = "xyz".index(shape.axis)
        levels = self._numbers(shape.levels)
        along, radius, half = (column[:, None] for column in (levels if levels[-1, 0] > levels[0, 0] else levels[::-1]).T)
        angle = np.linspace(0.0, np.pi, _ARC)
        across, long = radius * np.cos(angle), half + radius * np.sin(angle)
        flat = [np.concatenate(pair, axis=1) for pair in ((across, -across), (long, -long))]
        axes = [orientation[:, (k + i) % 3] for i in range(3)]
        rings = at + along[..., None] * axes[0] + flat[0][..., None] * axes[1] + flat[1][..., None] * axes[2]
        return [Loft(self.body, rings, color)]

    def _mesh(self, shape: items.MeshFile, at: Array, orientation: Array, color: str) -> list[Solid]:
        found: Mesh = read_mesh(
            shape.full_path, self.body, scale=self._number(shape.scale), at=at, rotation=orientation, color=color
        )
        return [found]

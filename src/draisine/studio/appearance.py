"""What a page shows of a model: solids in the axes of their bodies, the ground, wheels, and which forces are drawn where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ExpressionError
from draisine.expr.expression import Name, evaluate_number
from draisine.model.items import System
from draisine.program.equations import Equations
from draisine.view.film.footage import Footage, Ground
from draisine.view.film.page import cast, ground
from draisine.view.scene.appearance import dressed
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.scene import Blade, Scene, Slide

Array = NDArray[np.float64]

_SLIDES = 1.0  # of the whole's size: how far sliders are drawn to either side


@dataclass(frozen=True, eq=False)
class Looks:
    """A described model in one position: poses [R | r] of its bodies, (3, 4) each."""

    system: System
    equations: Equations
    poses: Mapping[str, Array]

    @cached_property
    def scene(self) -> Scene:
        return scene_of(self.system)

    @cached_property
    def footage(self) -> Footage:
        """A film of one instant, of which the page takes the cast."""
        positions = {body: m[None, :, 3] for body, m in self.poses.items()} | {"ground": np.zeros((1, 3))}
        rotations = {body: m[None, :, :3] for body, m in self.poses.items()} | {"ground": np.eye(3)[None]}
        bare = Footage(self.system.name, self.scene, (), np.zeros(1), positions, rotations, {}, (), (), self._plane())
        here = bare.poses(0)
        fitted = self.scene.fitted(here)
        size = max(float(np.ptp(fitted.points(here), axis=0).max()), 1e-3) if len(fitted.points(here)) else 1.0
        spans = {s.name: (at - _SLIDES * size, at + _SLIDES * size) for s, at in self._sliders(positions, rotations)}
        solids = tuple(dressed(fitted, here, spans))
        return Footage(self.system.name, fitted, solids, bare.times, positions, rotations, {}, (), (), bare.ground)

    def _sliders(self, positions: Mapping[str, Array], rotations: Mapping[str, Array]) -> list[tuple[Slide, float]]:
        found = []
        for slide in (s for s in self.scene.shapes if isinstance(s, Slide)):
            block = rotations[slide.child][0] @ slide.block + positions[slide.child][0]
            local = rotations[slide.body][0].T @ (block - positions[slide.body][0])
            found.append((slide, float((local - slide.at) @ slide.axis)))
        return found

    def _plane(self) -> Ground | None:
        """The ground about the model, where something touches it."""
        if not (self.system.wheels or self.system.edges):
            return None
        values = {p.name: p.default for p in self.system.parameters}
        here = self.system.ground
        tan_x, tan_y = (float(np.tan(evaluate_number(angle, values))) for angle in (here.slope, here.bank))
        x = y = np.array([-1.5, 1.5]) if not here.curved else np.linspace(-6.0, 6.0, 97)
        heights = tan_x * x[:, None] + tan_y * y[None, :]
        if here.curved:
            try:
                heights = heights + np.array(
                    [[evaluate_number(here.height, values | {"x": a, "y": b, "t": 0.0}) for b in y.tolist()] for a in x.tolist()]
                )
            except (ExpressionError, TypeError):  # a height from a table: the plane below it is shown
                return Ground(x[[0, -1]], y[[0, -1]], heights[np.ix_([0, -1], [0, -1])])
        return Ground(x, y, heights)

    def solids(self) -> dict[str, Any]:
        """Shapes by body, as `view/film/web/stage.js` takes them."""
        return cast(self.footage)

    def ground(self) -> dict[str, Any]:
        take = self.footage
        reach = np.full(3, take.extent)
        return {**ground(take, take.center[0] - reach, take.center[0] + reach), "touched": take.ground is not None}

    def wheels(self) -> list[dict[str, Any]]:
        """With the parameter that is the radius, where one is."""
        values = {p.name: p.default for p in self.system.parameters}
        return [
            {
                "name": w.name,
                "body": w.body,
                "radius": evaluate_number(w.radius, values) + evaluate_number(w.tube, values),
                "parameter": w.radius.identifier if isinstance(w.radius, Name) and w.radius.identifier in values else None,
            }
            for w in self.system.wheels
        ]

    def follow(self) -> str:
        """The body that a camera follows: one that is free, else the heaviest."""
        free = [j.child for j in self.system.joints if j.parent == "ground" and len(j.coordinates) > 2]
        if free:
            return free[0]
        values = {p.name: p.default for p in self.system.parameters}
        return max(self.system.bodies, key=lambda body: evaluate_number(body.mass, values)).name

    def forces(self) -> list[dict[str, Any]]:
        """Forces that arrows show: of the ground on wheels, and on what touches, by outputs; on blades by a component across."""
        names = [o.name for o in self.equations.outputs]
        found: list[dict[str, Any]] = []
        for stem in (n.removesuffix("_force_x") for n in names if n.endswith("_force_x")):
            at, force = ([f"{stem}_{what}_{axis}" for axis in "xyz"] for what in ("contact", "force"))
            if all(n in names for n in (*at, *force)):
                found.append({"name": stem, "at": [names.index(n) for n in at], "force": [names.index(n) for n in force]})
        for blade in (s for s in self.scene.shapes if isinstance(s, Blade)):
            if f"{blade.name}_force_across" in names and self.scene.normal is not None:
                found.append(self._blade(blade, names))
        return found

    def _blade(self, blade: Blade, names: list[str]) -> dict[str, Any]:
        assert self.scene.normal is not None
        normal = f"{blade.name}_normal_force"
        return {
            "name": blade.name,
            "body": [b.name for b in self.system.bodies].index(blade.body),
            "place": blade.at.tolist(),
            "along": blade.along.tolist(),
            "normal": self.scene.normal.tolist(),
            "across": names.index(f"{blade.name}_force_across"),
            "up": names.index(normal) if normal in names else None,
        }

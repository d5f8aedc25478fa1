"""Appearance of a model in the page: solids, ground, wheels, forces, and sensitivities of meshes to parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import StartError
from draisine.expr.expression import Name, evaluate_number
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.view.film.animate import ground_heights, profile_ground
from draisine.view.film.footage import Footage, Ground
from draisine.view.film.page import cast, floats, ground
from draisine.view.scene.appearance import body_solids
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.scene import Blade, Scene, Slide
from draisine.view.scene.solids import Mesh, Solid

Array = NDArray[np.float64]

_AROUND, _BESIDE = 12.0, 6.0  # m of a ground profile, along and across it
_SLIDES = 1.0  # of the mechanism's size: drawn range of sliders to either side


@dataclass(frozen=True, eq=False)
class Appearance:
    """A described model in one position: poses [R | r] of its bodies, (3, 4) each."""

    system: System
    equations: Equations
    poses: Mapping[str, Array]
    on_ground: bool = True  # whether the footage has the ground; shapes do not depend on it

    @cached_property
    def scene(self) -> Scene:
        return scene_of(self.system)

    @cached_property
    def footage(self) -> Footage:
        """Footage of one instant, for the static data of the page."""
        positions = {body: m[None, :, 3] for body, m in self.poses.items()} | {"ground": np.zeros((1, 3))}
        rotations = {body: m[None, :, :3] for body, m in self.poses.items()} | {"ground": np.eye(3)[None]}
        bare = Footage(self.system.name, self.scene, (), np.zeros(1), positions, rotations, {}, (), (), self._plane())
        poses = bare.poses(0)
        fitted = self.scene.fitted(poses)
        size = max(float(np.ptp(fitted.points(poses), axis=0).max()), 1e-3) if len(fitted.points(poses)) else 1.0
        spans = {s.name: (at - _SLIDES * size, at + _SLIDES * size) for s, at in self._sliders(positions, rotations)}
        solids = tuple(body_solids(fitted, poses, spans))
        return Footage(self.system.name, fitted, solids, bare.times, positions, rotations, {}, (), (), bare.ground)

    def _sliders(self, positions: Mapping[str, Array], rotations: Mapping[str, Array]) -> list[tuple[Slide, float]]:
        found = []
        for slide in (s for s in self.scene.shapes if isinstance(s, Slide)):
            block = rotations[slide.child][0] @ slide.block + positions[slide.child][0]
            local = rotations[slide.body][0].T @ (block - positions[slide.body][0])
            found.append((slide, float((local - slide.at) @ slide.axis)))
        return found

    def _plane(self) -> Ground | None:
        """The ground around the model, if it has contacts."""
        if not (self.system.has_ground and self.on_ground):
            return None
        values = self.system.parameter_values()
        if self.system.ground.profile:
            return profile_ground(self.system, values, np.array([-_AROUND, -_BESIDE]), np.array([_AROUND, _BESIDE]))
        ground = self.system.ground
        tan_x, tan_y = (float(np.tan(evaluate_number(angle, values))) for angle in (ground.slope, ground.bank))
        x = y = np.array([-1.5, 1.5]) if not ground.curved else np.linspace(-6.0, 6.0, 97)
        heights = tan_x * x[:, None] + tan_y * y[None, :]
        if ground.curved:
            heights = heights + ground_heights(self.system, values, x, y, 0.0)
        return Ground(x, y, heights)

    def solids(self) -> dict[str, Any]:
        """Shapes by body, for `view/film/web/stage.js`."""
        return cast(self.footage)

    def ground(self) -> dict[str, Any]:
        take = self.footage
        reach = np.full(3, take.extent)
        return {**ground(take, take.center[0] - reach, take.center[0] + reach), "touched": take.ground is not None}

    def wheels(self) -> list[dict[str, Any]]:
        """Wheels, with the parameter of the radius if there is one."""
        values = self.system.parameter_values()
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
        """The body that the camera follows: a free one, else the heaviest."""
        free = [j.child for j in self.system.joints if j.parent == "ground" and len(j.coordinates) > 2]
        if free:
            return free[0]
        values = self.system.parameter_values()
        return max(self.system.bodies, key=lambda body: evaluate_number(body.mass, values)).name

    def forces(self) -> list[dict[str, Any]]:
        """Forces shown as arrows: contact forces from outputs; on blades from the lateral component."""
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


# ---------------------------------------------------------------- sensitivities of meshes to parameters


_UNITS = ("m", "rad")
_SHARE = 0.25  # of the way to the farther limit: secants fit sliders better than tangents
_SEEN = 1e-3  # of the size: smaller displacements over the whole slider are left out


def mesh_sensitivities(
    system: System, base: Footage, limits: Mapping[str, tuple[float, float]], footage_of: Callable[[System], Footage]
) -> list[dict[str, Any]]:
    """Mesh sensitivities by parameter; `footage_of` makes the footage of a system with other default parameters."""
    found, centers = [], _centers(base)
    known = {_contents(solid): solid.mesh() for solid in base.solids}  # most parameters change few solids or none
    for place, parameter in enumerate(system.parameters):
        if parameter.unit not in _UNITS or parameter.name not in limits:
            continue
        low, high = limits[parameter.name]
        far = high if high - parameter.default >= parameter.default - low else low
        step = _SHARE * (far - parameter.default)
        changed = parameter._replace(default=parameter.default + step)
        other = replace(system, parameters=(*system.parameters[:place], changed, *system.parameters[place + 1 :]))
        try:
            least = _SEEN * base.extent / (high - low)
            reported = _vertex_sensitivities(base, centers, _with_meshes(footage_of(other), known), step, least) if step else None
        except StartError:
            continue
        if reported is not None:
            found.append({"parameter": parameter.name, **reported})
    return found


def _contents(solid: Solid) -> tuple[object, ...]:
    """What tells equal solids."""
    values = [getattr(solid, field.name) for field in fields(solid)]
    return type(solid), *(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)


def _with_meshes(take: Footage, known: Mapping[tuple[object, ...], Mesh]) -> Footage:
    """The footage with meshes in place of the solids whose meshes are known."""
    return replace(take, solids=tuple(known.get(_contents(solid), solid) for solid in take.solids))


def _vertex_sensitivities(base: Footage, marks: Array, other: Footage, step: float, least: float) -> dict[str, Any] | None:
    """Derivatives of vertices by index of the mesh, and of centers of mass."""
    if len(base.meshes) != len(other.meshes):
        return None
    meshes = []
    for index, (mesh, changed) in enumerate(zip(base.meshes, other.meshes, strict=True)):
        if mesh.vertices.shape != changed.vertices.shape:
            continue
        slope = (np.asarray(changed.vertices) - np.asarray(mesh.vertices)) / step
        if np.abs(slope).max() > least:
            meshes.append({"mesh": index, "slope": floats(slope)})
    centers = _centers(other) - marks
    moving = bool(centers.size) and float(np.abs(centers / step).max()) > least
    if not meshes and not moving:
        return None
    return {"meshes": meshes, "centers": (centers / step).tolist() if moving else None}


def _centers(take: Footage) -> Array:
    return np.array([mark["at"] for mark in cast(take)["centers"]])

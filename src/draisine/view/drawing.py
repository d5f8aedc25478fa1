"""Drawing of a model: its scene, with bodies at poses that meet initial conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draisine.dynamics.derive import derive
from draisine.dynamics.given_parameters import description_of
from draisine.dynamics.kinematics.twists import body_poses
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.model.validate import check_numbers
from draisine.program.arguments import checked, parameter_values
from draisine.program.equations import Equations
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.projection import is_straight
from draisine.view.scene.scene import Pose, Scene
from draisine.view.scene.sketch import sketch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HINGE_ANGLE = 0.5  # rad: hinge angles of an arm that is straight at its defaults, if no targets are given


@checked
def draw(
    model: Model | System | Equations,
    at: Mapping[str, float] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    views: Sequence[str] | None = None,
    labels: bool = True,
) -> Figure:
    """A drawing of a model in one or two parallel projections, as a Matplotlib figure with `save`.

    - `at`: targets for the configuration, by name of coordinates or outputs; the rest is solved for ("wheels on the ground").
    - `parameters`: values by name; the others have their defaults.
    - `views`: one or more of side, front, top, three-quarter; by default the straight view that shows most, and three-quarter.
    - `labels`: names beside bodies and points.

    >>> import draisine as dr
    >>> figure = draw(dr.gallery.bicycle(), at={"lean": 0.1, "steer": 0.3})
    """
    posed = pose(model, at, parameters)
    return sketch(posed.scene, posed.poses, views=views, labels=labels, remark=posed.remark)


@dataclass(frozen=True)
class PosedScene:
    """A scene with the poses of its bodies, and a remark for the caption."""

    scene: Scene
    poses: dict[str, Pose]
    remark: str = ""


def pose(model: Model | System | Equations, at: Mapping[str, float] | None, parameters: Mapping[str, float] | None) -> PosedScene:
    """A model's scene with the poses of its bodies, as `draw` shows it."""
    system, scene, poses = scene_and_poses(model, parameters)
    posed = PosedScene(scene, poses(at or {}))
    loose = not (system.wheels or system.edges or system.constraints)
    hinges = {
        c.name: c.default + HINGE_ANGLE
        for j in system.joints
        for c in j.coordinates
        if len(j.coordinates) == 1 and c.unit == "rad"
    }
    if at is None and loose and hinges and is_straight(scene, posed.poses):
        return PosedScene(scene, poses(hinges), f"hinges turned by {math.degrees(HINGE_ANGLE):.0f}°")
    return posed


def scene_and_poses(
    model: Model | System | Equations, parameters: Mapping[str, float] | None = None
) -> tuple[System, Scene, Callable[[Mapping[str, float]], dict[str, Pose]]]:
    """A model's scene, and a function from targets to poses of its bodies."""
    system = description_of(model)
    if system is None:
        raise ModelError(
            f"{model.name!r} is given as formulas and has no bodies to draw; describe it as a Model with bodies and joints"
        )
    if parameters:
        check_numbers(system, parameters)
    equations = derive(system)
    problem, scene = StartProblem(equations), scene_of(system, parameters)
    p = parameter_values(equations, parameters)
    program = body_poses(system)

    def poses(targets: Mapping[str, float]) -> dict[str, Pose]:
        q = consistent_start(problem, dict(targets), parameters=parameters).q
        found = {"ground": Pose(np.zeros(3), np.eye(3))}
        for slot, matrix in zip(program.outputs, program([0.0], q, p), strict=True):
            found[slot.name] = Pose(matrix[:, 3], matrix[:, :3])
        return found

    return system, scene, poses

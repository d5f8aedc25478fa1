"""The verb that draws a model: its scene, with bodies in place as initial conditions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draisine.dynamics.derive import derive
from draisine.dynamics.kinematics.twists import body_poses
from draisine.errors import ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.validate import check_numbers
from draisine.program.equations import Equations
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.named_values import numbers
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.projection import is_straight
from draisine.view.scene.scene import Pose, Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEND = 0.5  # rad: hinges of an arm that its defaults stretch out, when nothing was wished for


def draw(
    model: Model | System | Equations,
    at: Mapping[str, float] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    views: Sequence[str] | None = None,
    labels: bool = True,
) -> Figure:
    """A model as a drawing, in one or two parallel projections: a Matplotlib figure, which `figure.savefig` writes.

    - `at`: wishes for the configuration, by name of coordinates or outputs; the rest is solved ("wheels on the ground").
    - `views`: one or more of side, front, top, three-quarter; by default the straight view that shows most, and three-quarter.
    - `labels`: names beside bodies and points.

    >>> import draisine as dr
    >>> figure = draw(dr.gallery.bicycle(), at={"lean": 0.1, "steer": 0.3})
    """
    from draisine.view.scene.sketch import sketch

    posed = pose(model, at, parameters)
    return sketch(posed.scene, posed.poses, views=views, labels=labels, remark=posed.remark)


@dataclass(frozen=True)
class Posed:
    """A scene, where its bodies are, and what the caption should say of it."""

    scene: Scene
    poses: dict[str, Pose]
    remark: str = ""


def pose(model: Model | System | Equations, at: Mapping[str, float] | None, parameters: Mapping[str, float] | None) -> Posed:
    """A model's scene with its bodies in place, as `draw` shows it."""
    system, scene, poses = posing(model, parameters)
    posed = Posed(scene, poses(at or {}))
    loose = not (system.wheels or system.edges or system.constraints)
    hinges = {
        c.name: c.default + BEND for j in system.joints for c in j.coordinates if len(j.coordinates) == 1 and c.unit == "rad"
    }
    if at is None and loose and hinges and is_straight(scene, posed.poses):
        return Posed(scene, poses(hinges), f"hinges turned by {BEND:g} rad")
    return posed


def posing(
    model: Model | System | Equations, parameters: Mapping[str, float] | None = None
) -> tuple[System, Scene, Callable[[Mapping[str, float]], dict[str, Pose]]]:
    """A model's scene, and the function that puts its bodies in place as wishes say."""
    if isinstance(model, Equations):
        raise ModelError(
            f"{model.name!r} was typed as formulas and has no bodies to draw; describe it as a Model with bodies and joints"
        )
    system = model.freeze() if isinstance(model, Model) else model
    if parameters:
        check_numbers(system, parameters)
    equations = derive(system)
    problem, scene = StartProblem(equations), scene_of(system, parameters)
    p = numbers("parameter", equations.parameters, parameters)
    program = body_poses(system)

    def poses(targets: Mapping[str, float]) -> dict[str, Pose]:
        q = consistent_start(problem, dict(targets), parameters).q
        found = {"ground": Pose(np.zeros(3), np.eye(3))}
        for slot, matrix in zip(program.outputs, program([0.0], q, p), strict=True):
            found[slot.name] = Pose(matrix[:, 3], matrix[:, :3])
        return found

    return system, scene, poses

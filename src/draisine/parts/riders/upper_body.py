"""An upper body that leans: one rigid body on a hinge along the machine, as in models of riders with few freedoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from draisine.parts.assembly import Assembly, part
from draisine.parts.design_pose import ZERO, local

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount, Position


@part
def upper_body(
    own: Assembly,
    on: Mount,
    *,
    mass: Amount = 34.0,
    center_of_mass: Position = (0.3, 1.15),
    inertia: Mapping[str, Amount] | Sequence[Amount] = (1.5, 1.3, 0.5),
    lean: str = "rider_lean",
    stiffness: Amount = 0.0,
    damping: Amount = 0.0,
    torque: str = "lean_torque",
    shapes: Sequence[Any] = (),
) -> None:
    """An upper body that leans sideways about the x axis of the frame it is mounted on.

    The hinge is where the frame is; a frame that is turned about y tilts its axis. Positions and inertia are in design
    coordinates and axes.

    - `mass`, `center_of_mass`, `inertia`: of the body.
    - `lean`: the name of the angle relative to the machine, positive to the right.
    - `stiffness`, `damping`: of the muscles, in N·m/rad and N·m·s/rad.
    - `torque`: the name of the input, a torque of the machine on the body, none if empty.
    - `shapes`: for drawings.

    Roles: body, lean, torque.
    """
    m, pose = own.model, own.mount(on)
    body = own.offer("body", own.name)
    m.body(
        body,
        mass=own.parameter("mass", mass, "kg", "of the upper body"),
        center_of_mass=local(pose, own.position("center", center_of_mass, "center of mass")),
        inertia=own.inertia(inertia, pose.pitch),
        shapes=shapes,
    )
    m.revolute(own.offer("lean", lean), pose.body, body, axis="x", span=(-0.6, 0.6), **pose.placed)
    elastic = own.parameter("stiffness", stiffness, "N*m/rad", "of the muscles that hold the body upright")
    viscous = own.parameter("damping", damping, "N*m*s/rad", "of these muscles")
    if (elastic, viscous) != (ZERO, ZERO):
        m.spring(lean, elastic, damping=viscous, name=own.named("muscles"))
    if torque:
        m.generalized_force(lean, own.input("torque", torque, "N*m", "of the machine on the upper body, to the right"))

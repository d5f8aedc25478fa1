"""What consistent starts know of a mechanism: where it stands on the ground."""

from __future__ import annotations

from draisine.dynamics.kinematics.tree import Link
from draisine.dynamics.mechanism import Mechanism
from draisine.expr.expression import Expr, Name
from draisine.model.items import Float, Glide, Rotate, Translate
from draisine.program.structure import GroundPose, Structure


def structure_of(mechanism: Mechanism) -> Structure:
    """The structure of a mechanism by name."""
    poses = [_ground_pose(mechanism, link) for link in mechanism.links if link.parent is None]
    return Structure(tuple(pose for pose in poses if pose is not None))


def _ground_pose(mechanism: Mechanism, root: Link) -> GroundPose | None:
    """The coordinates that shift and turn a tree of bodies on the ground, or None if nothing does."""
    system = mechanism.system
    carried = [link for link in mechanism.links if link.root is root]
    coordinates = [c.name for link in carried for c in link.joint.coordinates]
    bodies = {link.name for link in carried}
    places = [(x.name, y.name) for w in system.wheels if system.ground.curved and w.body in bodies for x, y in [w.place]]
    position, heading = _leading_coordinates(root)
    if not heading and not any(position):
        return None
    return GroundPose((*coordinates, *(name for pair in places for name in pair)), (position, *places), heading)


def _leading_coordinates(root: Link) -> tuple[tuple[str, str], tuple[str, ...]]:
    """Position along x and y, and the coordinates of the heading, from the first displacements of a tree."""
    found = {0: "", 1: ""}
    link: Link | None = root
    while link is not None:
        free = {c.name for c in link.joint.coordinates}
        for step in link.joint.chain:
            if isinstance(step, Float):
                return step.position[:2], step.quaternion
            if isinstance(step, Glide):
                return step.position, (step.heading,)
            if isinstance(step, Translate):
                for axis in found:
                    found[axis] = found[axis] or _coordinate(step.by[axis], free)
            elif isinstance(step, Rotate) and step.axis == "z" and _coordinate(step.angle, free):
                return (found[0], found[1]), (_coordinate(step.angle, free),)
            else:
                return (found[0], found[1]), ()  # other axes from here on
        link = link.children[0] if len(link.children) == 1 else None
    return (found[0], found[1]), ()


def _coordinate(amount: Expr, free: set[str]) -> str:
    """The coordinate that an amount is, or nothing."""
    return amount.identifier if isinstance(amount, Name) and amount.identifier in free else ""

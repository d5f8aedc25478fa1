"""Another reference body: the same mechanism told from another of its bodies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from draisine.errors import ModelError
from draisine.model import joints
from draisine.model.items import GROUND, Displacement, Float, Joint, Rotate, System, Translate


def referred_to(system: System, body: str) -> System:
    """Turn the joints between the present reference body and `body` round, and let `body` move freely."""
    by_child = {joint.child: joint for joint in system.joints}
    if body not in {b.name for b in system.bodies}:
        raise ModelError(f"{system.name!r} has no body {body!r} to refer to; it has {', '.join(b.name for b in system.bodies)}")
    path: list[Joint] = []
    here = body
    while here != GROUND:
        path.append(by_child[here])
        here = by_child[here].parent
    base = path[-1]
    if not any(isinstance(d, Float) for d in base.chain):
        raise ModelError(
            f"{system.name!r} cannot be referred to {body!r}: its reference body {base.child!r} does not move freely"
        )
    chain, coordinates = joints.free(body)
    orientation = {base.name: Joint(f"{body}_motion", GROUND, body, chain, coordinates)}
    for joint in path[:-1]:
        orientation[joint.name] = replace(joint, parent=joint.child, child=joint.parent, chain=_inverse(joint.chain, joint.name))
    return replace(system, joints=tuple(orientation.get(j.name, j) for j in system.joints), independent=())


def _inverse(chain: Iterable[Displacement], joint: str) -> tuple[Displacement, ...]:
    inverted: list[Displacement] = []
    for step in reversed(tuple(chain)):
        if isinstance(step, Rotate):
            inverted.append(Rotate(step.axis, -step.angle))
        elif isinstance(step, Translate):
            inverted.append(Translate(tuple(-c for c in step.by)))  # type: ignore[arg-type]
        else:
            raise ModelError(
                f"joint {joint!r} is a ball joint and cannot be turned round; choose a reference body on its other side"
            )
    return tuple(inverted)

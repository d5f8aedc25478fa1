"""What starts know of a mechanism besides its programs: where its bodies stand on the ground, and which motions rest first."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class GroundPose:
    """Where a tree of bodies stands on the ground: the coordinates that shift and turn all of it."""

    coordinates: tuple[str, ...]  # all of the tree
    points: tuple[tuple[str, str], ...]  # pairs along the world's x and y, the tree's own position first; "" for none
    heading: tuple[str, ...]  # a unit quaternion, scalar first, or an angle about the vertical, or nothing


@dataclass(frozen=True)
class Structure:
    """Parts of a mechanism by name, in the order in which a start sets motions to rest."""

    poses: tuple[GroundPose, ...] = ()
    slips: tuple[tuple[str, str], ...] = ()  # outputs: longitudinal slip of a wheel; the rate of its spin, "" for none
    driven: tuple[str, ...] = ()  # rates of joints that carry an input, a force or a spring
    bodies: tuple[str, ...] = ()  # of which `Equations.twists` has the rows, the root body first
    speeds: tuple[tuple[str, str], ...] = ()  # velocities and outputs that measure the speed of a body; the body
    ignorable: tuple[str, ...] = ()  # rates of spins whose angle enters neither the dynamics nor the constraints

    def as_header(self) -> dict[str, Any]:
        """Plain lists of names, for storage."""
        found: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return found | {"poses": [[pose.coordinates, pose.points, pose.heading] for pose in self.poses]}

    @staticmethod
    def from_header(header: dict[str, Any]) -> Structure:
        """The inverse of `as_header`."""
        poses = tuple(GroundPose(tuple(c), _pairs(points), tuple(h)) for c, points, h in header["poses"])
        names = {key: tuple(header[key]) for key in ("driven", "bodies", "ignorable")}
        return Structure(poses, slips=_pairs(header["slips"]), speeds=_pairs(header["speeds"]), **names)


def _pairs(given: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in given)


NO_STRUCTURE = Structure()

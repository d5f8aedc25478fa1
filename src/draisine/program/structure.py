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
    """Parts of a mechanism by name."""

    poses: tuple[GroundPose, ...] = ()

    def as_header(self) -> dict[str, Any]:
        """Plain lists of names, for storage."""
        found: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return found | {"poses": [[pose.coordinates, pose.points, pose.heading] for pose in self.poses]}

    @staticmethod
    def from_header(header: dict[str, Any]) -> Structure:
        """The inverse of `as_header`."""
        poses = tuple(GroundPose(tuple(c), tuple((x, y) for x, y in points), tuple(h)) for c, points, h in header["poses"])
        return Structure(poses)


NO_STRUCTURE = Structure()

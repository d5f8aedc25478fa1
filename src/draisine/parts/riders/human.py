"""A human body of 11 rigid segments: mass, center of mass and inertia of each, and of the whole body in any posture.

The segments and their solids are those of Yeadon (1990) and of the package yeadon. Axes are draisine's, x forward, y left, z up,
with the origin in the middle of the hip joints; yeadon's are x left, y backward, z up. Every segment has its origin at the joint
nearest to the pelvis. Trunk and head extend along its z axis, limbs along −z; in the zero posture, standing with the arms at the
sides, all axes are parallel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.parts.riders.measurements import ANGLES, Measurements, number_of, read_measurements, standing_measurements
from draisine.parts.riders.solids import (
    Array,
    MassProperties,
    Semiellipsoid,
    Solid,
    Stadium,
    StadiumSolid,
    composed,
    stacked,
    turn,
)

# kg/m³, from Yeadon (1990): measured by three authors
_PARTS = ("head", "shoulders", "thorax", "pelvis", "upper_arm", "forearm", "hand", "thigh", "shank", "foot")
DENSITIES = {
    "Chandler": dict(zip(_PARTS, (1056, 853, 853, 853, 1005, 1052, 1080, 1020, 1078, 1091), strict=True)),
    "Dempster": dict(zip(_PARTS, (1110, 1040, 920, 1010, 1070, 1130, 1160, 1050, 1090, 1100), strict=True)),
    "Clauser": dict(zip(_PARTS, (1070, 1019, 1019, 1019, 1056, 1089, 1109, 1044, 1085, 1084), strict=True)),
}
# parent of each segment, and the angles of its joint: about y, −x and z of the parent, one after the other
JOINTS: dict[str, tuple[str, tuple[str, str, str]]] = {
    "pelvis": ("", ("somersault", "tilt", "twist")),
    "thorax": ("pelvis", ("PTsagittalFlexion", "PTbending", "")),
    "chest": ("thorax", ("TCsagittalSpinalFlexion", "", "TCspinalTorsion")),
    "left_upper_arm": ("chest", ("CA1extension", "CA1adduction", "CA1rotation")),
    "left_forearm": ("left_upper_arm", ("A1A2extension", "", "")),
    "right_upper_arm": ("chest", ("CB1extension", "CB1abduction", "CB1rotation")),
    "right_forearm": ("right_upper_arm", ("B1B2extension", "", "")),
    "left_thigh": ("pelvis", ("PJ1extension", "PJ1adduction", "")),
    "left_shank": ("left_thigh", ("J1J2flexion", "", "")),
    "right_thigh": ("pelvis", ("PK1extension", "PK1abduction", "")),
    "right_shank": ("right_thigh", ("K1K2flexion", "", "")),
}
TO_YEADON = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # our axes → x left, y backward, z up


@dataclass(frozen=True)
class Segment:
    """A rigid segment: its solids from the joint on, and where its origin is in its parent's axes."""

    name: str
    parent: str
    at: Array
    solids: tuple[Solid, ...]
    downward: bool = False

    @cached_property
    def mass_properties(self) -> MassProperties:
        """In the segment's axes, from its origin."""
        return stacked(self.solids, self.downward)

    @property
    def length(self) -> float:
        return sum(solid.height for solid in self.solids)


@dataclass(frozen=True)
class Placed:
    """A segment in a posture: rotation to the body's axes, and position of its origin."""

    segment: Segment
    rotation: Array
    position: Array

    @property
    def mass_properties(self) -> MassProperties:
        """In the body's axes, from the body's origin."""
        return self.segment.mass_properties.moved(self.rotation, self.position)

    def point(self, along: float) -> Array:
        """A point on the segment's axis, at a distance from its origin."""
        return self.position + self.rotation @ np.array([0.0, 0.0, -along if self.segment.downward else along])


@dataclass(frozen=True)
class Human:
    """A human body from 95 measurements.

    >>> import draisine as dr
    >>> rider = dr.parts.Human.of(height=1.75, mass=75)
    >>> round(rider.mass, 9), len(rider.segments)
    (75.0, 11)
    """

    measurements: Measurements
    name: str = "rider"
    density_set: str = "Dempster"
    density_factor: float = 1.0

    @staticmethod
    def of(height: float | str, mass: float | str, name: str = "rider") -> Human:
        """A person of given height (m, or "175 cm") and mass (kg), with usual proportions: lengths are proportional to the
        height, and perimeters are such that the mass follows with the densities of Dempster."""
        tall, heavy = number_of(height, "m", "height"), number_of(mass, "kg", "mass")
        for what, given, value, unit, low, high in (
            ("height", height, tall, "m", 0.5, 2.6),
            ("mass", mass, heavy, "kg", 5.0, 400.0),
        ):
            if not low <= value <= high:
                raise ArgumentError(f"{what} = {given!r}: a person's {what} in {unit} is between {low:g} and {high:g}")
        usual = Human(standing_measurements(tall))
        return Human(standing_measurements(tall, math.sqrt(heavy / usual.mass)), name)

    @staticmethod
    def read(path: str | Path, *, mass: float | str | None = None, densities: str = "Dempster", symmetric: bool = True) -> Human:
        """From a file of 95 measurements. `symmetric` takes the mean of left and right limbs.

        With a `mass`, or one in the file, all densities are multiplied by one factor such that the body has this mass.
        """
        found = read_measurements(path)
        return Human.measured(found, Path(path).stem.removesuffix("YeadonMeas"), mass or found.mass, densities, symmetric)

    @staticmethod
    def measured(
        found: Measurements,
        name: str = "rider",
        mass: float | str | None = None,
        densities: str = "Dempster",
        symmetric: bool = True,
    ) -> Human:
        """From measurements; see `read`."""
        if densities not in DENSITIES:
            raise ArgumentError(
                f"densities = {densities!r}: must be one of {', '.join(DENSITIES)}{did_you_mean(densities, DENSITIES)}"
            )
        human = Human(found.symmetric() if symmetric else found, name or "rider", densities)
        if mass is None:
            return human
        heavy = number_of(mass, "kg", f"mass of {human.name}")
        if not heavy > 0:
            raise ArgumentError(f"mass = {mass!r} of {human.name} must be positive")
        return replace(human, density_factor=heavy / human.mass)

    @property
    def densities(self) -> dict[str, float]:
        """Of the parts of the body, kg/m³."""
        return {part: self.density_factor * density for part, density in DENSITIES[self.density_set].items()}

    def options(self) -> dict[str, Any]:
        """The body as options of the part `dr.parts.rider`: measurements, mass and densities."""
        return {"measurements": dict(self.measurements.values), "mass": self.mass, "densities": self.density_set}

    @cached_property
    def segments(self) -> dict[str, Segment]:
        """The segments by name, parents first."""
        m, torso = self.measurements.values, self._torso()
        hip, shoulder = (torso[0].first.radius + torso[0].first.half_length) / 2, m["Ls4w"] / 2  # type: ignore[union-attr]
        pelvis, thorax, chest = torso[:2], torso[2:3], torso[3:]
        found = [
            Segment("pelvis", "", np.zeros(3), pelvis),
            Segment("thorax", "pelvis", np.array([0.0, 0.0, m["Ls2L"]]), thorax),
            Segment("chest", "thorax", np.array([0.0, 0.0, m["Ls3L"] - m["Ls2L"]]), chest),
        ]
        for side, arm, leg, sign in (("left", "a", "j", 1.0), ("right", "b", "k", -1.0)):
            arms, legs = self._arm(arm), self._leg(leg, torso[0].first)  # type: ignore[union-attr]
            joint = np.array([0.0, sign * shoulder, m["Ls4L"] - m["Ls3L"]])
            found += [
                Segment(f"{side}_upper_arm", "chest", joint, arms[:2], True),
                Segment(f"{side}_forearm", f"{side}_upper_arm", np.array([0.0, 0.0, -m[f"L{arm}2L"]]), arms[2:], True),
                Segment(f"{side}_thigh", "pelvis", np.array([0.0, sign * hip, 0.0]), legs[:3], True),
                Segment(f"{side}_shank", f"{side}_thigh", np.array([0.0, 0.0, -m[f"L{leg}3L"]]), legs[3:], True),
            ]
        return {segment.name: segment for segment in found}

    @property
    def mass(self) -> float:
        return sum(segment.mass_properties.mass for segment in self.segments.values())

    def placed(self, posture: Mapping[str, float | str] | None = None) -> dict[str, Placed]:
        """All segments in a posture: angles in rad, or texts such as "30 deg", by the names of yeadon's configuration files;
        those not given are zero."""
        angles = dict[str, float]()
        for name, angle in (posture or {}).items():
            if name not in ANGLES:
                raise ArgumentError(f"a posture has no angle {name!r}{did_you_mean(name, ANGLES)}")
            angles[name] = number_of(angle, "rad", name)
        found: dict[str, Placed] = {}
        for name, segment in self.segments.items():
            parent, joint = JOINTS[name]
            rotation = joint_rotation([angles.get(angle, 0.0) for angle in joint])
            if parent:
                above = found[parent]
                found[name] = Placed(segment, above.rotation @ rotation, above.position + above.rotation @ segment.at)
            else:
                found[name] = Placed(segment, rotation, np.zeros(3))
        return found

    def mass_properties(
        self, posture: Mapping[str, float | str] | None = None, segments: Sequence[str] | None = None
    ) -> MassProperties:
        """Mass, center of mass and inertia of the body, or of some of its segments together, in a posture.

        The center of mass is from the middle of the hip joints, the inertia about the center of mass, both in draisine's axes.
        """
        placed = self.placed(posture)
        return composed([placed[name].mass_properties for name in (segments or placed)])

    # ------------------------------------------------------------ solids

    def _torso(self) -> tuple[Solid, ...]:
        m, d = self.measurements.values, self.densities
        levels = [Stadium.of_width(m[f"Ls{i}p"], m[f"Ls{i}w"]) for i in range(4)]
        shoulders = Stadium(m["Ls4d"] / 2, (m["Ls4w"] - m["Ls4d"]) / 2)
        above = 0.57 * shoulders.radius  # at the acromion, where nothing can be measured: Yeadon's ISEG program
        acromion = Stadium(above, m["Ls4w"] / 2 - above)
        neck, nose, ear = (Stadium.of_perimeter(m[f"Ls{i}p"]) for i in (5, 6, 7))
        heights = np.diff([0.0, *(m[f"Ls{i}L"] for i in range(1, 6))])
        trunk = zip([*levels, shoulders], [*levels[1:], shoulders, acromion], heights, strict=True)
        parts = ("pelvis", "pelvis", "thorax", "thorax", "shoulders")
        return (
            *(StadiumSolid(one, two, float(h), d[part]) for (one, two, h), part in zip(trunk, parts, strict=True)),
            StadiumSolid(neck, nose, m["Ls6L"], d["head"]),
            StadiumSolid(nose, ear, m["Ls7L"] - m["Ls6L"], d["head"]),
            Semiellipsoid(ear.radius, m["Ls8L"] - m["Ls7L"], d["head"]),
        )

    def _arm(self, side: str) -> tuple[Solid, ...]:
        m = {name[2:]: value for name, value in self.measurements.values.items() if name[1] == side}
        levels = [
            *(Stadium.of_perimeter(m[f"{i}p"]) for i in range(4)),
            *(Stadium.of_width(m[f"{i}p"], m[f"{i}w"]) for i in range(4, 8)),
        ]
        along = [0.0, m["2L"] / 2, m["2L"], m["3L"], m["4L"], *(m["4L"] + m[f"{i}L"] for i in (5, 6, 7))]
        return self._limb(levels, along, ("upper_arm",) * 2 + ("forearm",) * 2 + ("hand",) * 3)

    def _leg(self, side: str, hips: Stadium) -> tuple[Solid, ...]:
        m = {name[2:]: value for name, value in self.measurements.values.items() if name[1] == side}
        levels = [
            Stadium(math.sqrt(hips.radius * hips.width) / 2),
            *(Stadium.of_perimeter(m[f"{i}p"]) for i in range(1, 6)),
            Stadium.of_width(m["6p"], m["6d"], fore_aft=True),
            Stadium.of_perimeter(m["7p"]),
            *(Stadium.of_width(m[f"{i}p"], m[f"{i}w"]) for i in (8, 9)),
        ]
        ankle = m["5L"]
        foot = (ankle + m["6L"], ankle + (m["6L"] + m["8L"]) / 2, ankle + m["8L"], ankle + m["9L"])
        along = [0.0, m["1L"], (m["1L"] + m["3L"]) / 2, m["3L"], m["4L"], ankle, *foot]
        return self._limb(levels, along, ("thigh",) * 3 + ("shank",) * 2 + ("foot",) * 4)

    def _limb(self, levels: Sequence[Stadium], along: Sequence[float], parts: Sequence[str]) -> tuple[Solid, ...]:
        return tuple(
            StadiumSolid(one, two, float(h), self.densities[part])
            for one, two, h, part in zip(levels[:-1], levels[1:], np.diff(along), parts, strict=True)
        )


def joint_rotation(angles: Sequence[float]) -> Array:
    """The rotation of a joint of a human: yeadon's x, y, z are our y, −x, z, and turn with the segment."""
    return turn("y", angles[0]) @ turn("x", -angles[1]) @ turn("z", angles[2])


def joint_angles(rotation: Array) -> tuple[float, float, float]:
    """The angles of `joint_rotation`; the second is within ±π/2."""
    return (
        math.atan2(rotation[0, 2], rotation[2, 2]),
        math.asin(min(max(float(rotation[1, 2]), -1.0), 1.0)),
        math.atan2(rotation[1, 0], rotation[1, 1]),
    )

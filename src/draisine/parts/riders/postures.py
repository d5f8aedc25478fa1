"""Postures in which hands and feet are at given places, in closed form.

An arm is two links between shoulder and hand. The elbow lies on a circle about the line that joins them: in the vertical plane
through both, below the line, or turned out of it by the `swivel`. A leg is two links too, but the hip has two angles only
(Yeadon's model has no rotation of the thigh about its axis), so that the foot's place determines all angles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from draisine.errors import ArgumentError
from draisine.parts.riders.human import JOINTS, Human, Placed, joint_angles
from draisine.parts.riders.solids import Array

SIDES = ("left", "right")
Place = Sequence[float] | Array


def hand_length(human: Human, side: str) -> float:
    """From the elbow to the middle of the grip: the base of the thumb."""
    m, arm = human.measurements.values, {"left": "a", "right": "b"}[side]
    return m[f"L{arm}4L"] + m[f"L{arm}5L"] - m[f"L{arm}2L"]


def foot_length(human: Human, side: str) -> float:
    """From the knee to the pedal or the deck: the heel, since the foot of Yeadon's model continues the shank."""
    m, leg = human.measurements.values, {"left": "j", "right": "k"}[side]
    return m[f"L{leg}5L"] + m[f"L{leg}6L"] - m[f"L{leg}3L"]


def reaching(
    human: Human,
    posture: Mapping[str, float] | None = None,
    hands: Mapping[str, Place] | None = None,
    feet: Mapping[str, Place] | None = None,
    swivel: float = 0.0,
) -> dict[str, float]:
    """A posture with the trunk of `posture`, whose hands and feet are at places by side.

    Places are from the middle of the hip joints, x forward, y left, z up. `swivel` turns the elbows outward, in rad.

    >>> import draisine as dr
    >>> from draisine.parts.riders.postures import reaching
    >>> rider = dr.parts.Human.of(1.75, 75)
    >>> posture = reaching(rider, {"somersault": 0.4}, hands={"left": (0.6, 0.3, 0.2)})
    >>> sorted(name for name in posture if name.startswith("CA1") or name == "A1A2extension")
    ['A1A2extension', 'CA1adduction', 'CA1extension', 'CA1rotation']
    """
    found = dict(posture or {})
    for side, place in (feet or {}).items():
        found.update(_leg(human, found, side, np.asarray(place, dtype=float)))
    for side, place in (hands or {}).items():
        found.update(_arm(human, found, side, np.asarray(place, dtype=float), swivel))
    return found


def bent(first: float, second: float, distance: float, what: str) -> float:
    """The angle between two links whose ends are at a distance: 0 where they are stretched."""
    reach, least = first + second, abs(first - second)
    if distance > reach * (1 + 1e-12) or distance < least:
        limit = f"reaches {reach:.3f} m" if distance > reach else f"cannot be bent below {least:.3f} m"
        raise ArgumentError(
            f"{what} would be {distance:.3f} m from its joint at the trunk, but it {limit}; move the place, or the trunk"
        )
    cosine = (distance**2 - first**2 - second**2) / (2 * first * second)
    return math.acos(min(max(cosine, -1.0), 1.0))


def _arm(human: Human, posture: Mapping[str, float], side: str, place: Array, swivel: float) -> dict[str, float]:
    placed = human.placed(posture)
    upper, chest = placed[f"{side}_upper_arm"], placed["chest"]
    first, second = upper.segment.length, hand_length(human, side)
    away = place - upper.position
    distance = float(np.linalg.norm(away))
    elbow = bent(first, second, distance, f"{side} hand")
    line = away / distance
    below = np.array([0.0, 0.0, -1.0]) - -line[2] * line  # the part of "down" across the line
    if np.linalg.norm(below) < 1e-9:
        raise ArgumentError(f"{side} hand is straight above or below the shoulder; move it forward")
    below /= np.linalg.norm(below)
    outward = np.cross(line, below) * (1.0 if side == "left" else -1.0)
    pole = math.cos(swivel) * below + math.sin(swivel) * outward
    along = (first**2 - second**2 + distance**2) / (2 * distance)
    joint = along * line + math.sqrt(max(first**2 - along**2, 0.0)) * pole
    z, y = -joint / np.linalg.norm(joint), np.cross(line, pole)
    rotation = np.stack([np.cross(y, z), y, z], axis=1)
    shoulder = joint_angles(chest.rotation.T @ rotation)
    names = JOINTS[f"{side}_upper_arm"][1]
    return {**dict(zip(names, shoulder, strict=True)), JOINTS[f"{side}_forearm"][1][0]: -elbow}


def _leg(human: Human, posture: Mapping[str, float], side: str, place: Array) -> dict[str, float]:
    placed = human.placed(posture)
    thigh, pelvis = placed[f"{side}_thigh"], placed["pelvis"]
    first, second = thigh.segment.length, foot_length(human, side)
    x, y, z = pelvis.rotation.T @ (place - thigh.position)
    knee = bent(first, second, math.hypot(x, y, z), f"{side} foot")
    # from the hip, before the hip turns: (back, 0, down)
    back, down = -second * math.sin(knee), -(first + second * math.cos(knee))
    if abs(y) > abs(down):
        raise ArgumentError(f"{side} foot is {abs(y):.3f} m to the side of the hip, which the bent leg does not reach")
    spread = math.asin(y / down)
    level = math.cos(spread) * down
    raised = math.atan2(x * level - z * back, x * back + z * level)
    extension, adduction, _ = JOINTS[f"{side}_thigh"][1]
    return {extension: raised, adduction: spread, JOINTS[f"{side}_shank"][1][0]: knee}


def end_of(placed: Mapping[str, Placed], human: Human, limb: str, side: str) -> Array:
    """Where a hand or foot is: from the middle of the hip joints."""
    if limb == "hand":
        return placed[f"{side}_forearm"].point(hand_length(human, side))
    return placed[f"{side}_shank"].point(foot_length(human, side))


def level_axes(rotation: Array) -> list[tuple[str, float]]:
    """A rotation as successive turns about y, x and z, for joints of a model."""
    a, b, c = joint_angles(rotation)
    return [(axis, angle) for axis, angle in (("y", a), ("x", -b), ("z", c)) if angle != 0.0]

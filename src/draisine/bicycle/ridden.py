"""A rider on a measured bicycle: seated posture from the bicycle's measurements, and the rear frame with the rider.

The rider sits as in the BicycleParameters project (Moore et al. 2010): hips at the end of the seat post, trunk inclined by a
measured angle, both feet at the bottom bracket, hands on the grips, elbows below the line from shoulder to hand. All of it has a
closed form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from draisine.bicycle.parameter_file import BicycleText, parse_number
from draisine.bicycle.raw_measurements import SEATING
from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean
from draisine.parts.riders.human import Human
from draisine.parts.riders.postures import SIDES, hand_length, reaching
from draisine.parts.riders.solids import MassProperties
from draisine.results import files

_SIGN = {"left": 1.0, "right": -1.0}


@dataclass(frozen=True)
class SeatedRider:
    """A human in a posture, with the hips at `seat`: x ahead of the rear contact, z above the ground."""

    human: Human
    posture: Mapping[str, float]
    seat: tuple[float, float]

    def mass_properties(self) -> MassProperties:
        """From the rear contact, x forward, y left, z up."""
        return self.human.mass_properties(self.posture).moved(np.eye(3), (self.seat[0], 0.0, self.seat[1]))


def seated(
    human: Human, bicycle: BicycleText, measured: Mapping[str, float], name: str, lean: float | None = None
) -> SeatedRider:
    """A human on a bicycle with the measurements `SEATING`.

    `lean` inclines the trunk forward. Without it the trunk is upright, or inclined until hands are at 95 % of the arms' reach.
    """
    missing = [key for key in SEATING if key not in measured]
    if missing:
        raise ModelError(f"{name}: where a rider sits has not been measured; its raw measurements lack {', '.join(missing)}")
    p, m = bicycle.values, measured
    bracket = np.array([math.sqrt(m["lcs"] ** 2 - (p["rR"] - m["hbb"]) ** 2), m["hbb"]])
    post = (m["lsp"] + m["lst"]) * np.array([-math.cos(m["lamst"]), math.sin(m["lamst"])])
    seat = bracket + post
    grip = _grip((0.0, p["rR"]), (p["w"], p["rF"]), m["LhbR"], m["LhbF"], m["whb"] / 2, name) - seat
    hips = human.segments["left_thigh"].at[1]
    foot = bracket - seat
    posture = reaching(
        human,
        {"somersault": _inclination(human, grip, m["whb"] / 2) if lean is None else lean},
        hands={side: (grip[0], _SIGN[side] * m["whb"] / 2, grip[1]) for side in SIDES},
        feet={side: (foot[0], _SIGN[side] * hips, foot[1]) for side in SIDES},
    )
    return SeatedRider(human, posture, (float(seat[0]), float(seat[1])))


def _inclination(human: Human, grip: Any, side: float) -> float:
    """The least inclination of the trunk from which the hands are on the grips with bent elbows."""
    m, arm = human.measurements.values, human.segments["left_upper_arm"]
    reach = 0.95 * (arm.length + hand_length(human, "left"))
    back = m["Ls4L"]  # from the hips to the shoulders: (back sin a, ±shoulder, back cos a)
    # |grip − shoulder|² = reach² is grip_x sin a + grip_z cos a = wanted
    wanted = (grip @ grip + back**2 + (side - arm.at[1]) ** 2 - reach**2) / (2 * back)
    far = math.hypot(*grip)
    if grip[1] >= wanted:
        return 0.0
    return math.atan2(grip[0], grip[1]) - math.acos(min(wanted / far, 1.0))


def _grip(
    rear: tuple[float, float], front: tuple[float, float], from_rear: float, from_front: float, side: float, name: str
) -> Any:
    """The grips in the plane of symmetry: at given distances from both hubs, above them."""
    one, two = (math.sqrt(max(distance**2 - side**2, 0.0)) for distance in (from_rear, from_front))
    away = np.subtract(front, rear)
    base = float(np.linalg.norm(away))
    along = (one**2 - two**2 + base**2) / (2 * base)
    if not (one and two) or abs(along) > one:
        raise ModelError(f"{name}: no grip is {from_rear:g} m from the rear and {from_front:g} m from the front hub (LhbR, LhbF)")
    unit = away / base
    return np.array(rear) + along * unit + math.sqrt(one**2 - along**2) * np.array([-unit[1], unit[0]])


def with_rider(bicycle: BicycleText, rider: MassProperties) -> BicycleText:
    """Parameters with the rider as a part of the rear frame; standard deviations are those of the bicycle, propagated."""
    found = _combined(bicycle.values, rider)
    variance = dict.fromkeys(found, 0.0)
    for name, deviation in bicycle.deviations.items():
        for result, value in _combined({**bicycle.values, name: bicycle.values[name] + 1e-30j}, rider).items():
            variance[result] += (np.imag(value) / 1e-30 * deviation) ** 2
    values = {name: float(np.real(found.get(name, value))) for name, value in bicycle.values.items()}
    deviations = {
        name: float(np.sqrt(variance[name])) if name in found else bicycle.deviations.get(name, 0.0) for name in bicycle.values
    }
    others = {name: value for name, value in bicycle.others.items() if name != "yB"}
    return BicycleText(values, {name: value for name, value in deviations.items() if value}, others)


def _combined(p: Mapping[str, Any], rider: MassProperties) -> dict[str, Any]:
    """The rear frame B with the rider, in the file's axes: z down."""
    x, z = rider.center_of_mass[0], -rider.center_of_mass[2]
    mass = p["mB"] + rider.mass
    ahead, below = (p["mB"] * p["xB"] + rider.mass * x) / mass, (p["mB"] * p["zB"] + rider.mass * z) / mass
    own = {"xx": rider.inertia[0, 0], "yy": rider.inertia[1, 1], "zz": rider.inertia[2, 2], "xz": -rider.inertia[0, 2]}
    found = {"mB": mass, "xB": ahead, "zB": below}
    for axes, product in (
        ("xx", lambda dx, dz: dz * dz),
        ("yy", lambda dx, dz: dx * dx + dz * dz),
        ("zz", lambda dx, dz: dx * dx),
        ("xz", lambda dx, dz: -dx * dz),
    ):
        frame = p["mB"] * product(p["xB"] - ahead, p["zB"] - below)
        found[f"IB{axes}"] = p[f"IB{axes}"] + own[axes] + frame + rider.mass * product(x - ahead, z - below)
    return found


_RIDER = ("mB", "xB", "yB", "zB", "IBxx", "IByy", "IBzz", "IBxz")


def read_rider(path: str | Path) -> MassProperties:
    """Mass properties of a seated rider from a parameter file with the names of the rear frame, from the rear contact, z up."""
    values: dict[str, float] = {}
    for number, raw in enumerate(files.read_text(path, ModelError).splitlines(), 1):
        content = raw.partition("#")[0].strip()
        if not content:
            continue
        where = f"{path}, line {number}"
        name, _, given = (part.strip() for part in content.partition("="))
        if name not in _RIDER or name in values:
            what = f"{name!r} is given twice" if name in values else f"unknown name {name[:60]!r}{did_you_mean(name, _RIDER)}"
            raise ModelError(f"{where}: {what}; a rider has {', '.join(_RIDER)}")
        values[name], _ = parse_number(name, given, where)
    missing = [name for name in _RIDER if name not in values and name != "yB"]
    if missing:
        raise ModelError(f"{path}: {', '.join(missing)} are missing")
    xz = -values["IBxz"]
    inertia = np.array([[values["IBxx"], 0.0, xz], [0.0, values["IByy"], 0.0], [xz, 0.0, values["IBzz"]]])
    return MassProperties(values["mB"], np.array([values["xB"], 0.0, -values["zB"]]), inertia)

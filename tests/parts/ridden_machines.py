"""Machines with riders for tests: a bicycle of parts, Moore's bicycle with a leaning rider, SymBRiM's with pelvis and torso."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr

parts = dr.parts
SEATED = {"posture": {"somersault": 0.45}, "grips": (0.72, 0.27, 1.05)}


def ridden_bicycle(saddle_pitch: float = 0.0, **options: Any) -> dr.Model:
    """A bicycle with a rider whose hips are at the saddle."""
    m = dr.Model("ridden")
    frame = parts.frame(
        m, "frame", mass=12, center_of_mass=(0.45, 0.55), inertia={"xx": 0.6, "yy": 1.2, "zz": 0.7, "zx": -0.1}, wheelbase=1.02,
        trail=0.08, steer_axis_tilt="18 deg", points={"axle": (0, 0.3), "saddle": (0.25, 0.95)},
    )  # fmt: skip
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=("frame_wheelbase", "front_radius"), mass=3, center_of_mass=(0.9, 0.7),
        inertia={"xx": 0.06, "yy": 0.06, "zz": 0.01, "zx": 0.008},
    )  # fmt: skip
    parts.wheel(m, "rear", frame["axle"], radius=0.3, mass=2, inertia=(0.0603, 0.12), torque="pedal_torque")
    parts.wheel(m, "front", fork["axle"], radius=0.35, mass=3, inertia=(0.1405, 0.28))
    if options.get("legs") != "pedal":
        options = {"feet": (0.48, 0.1, 0.3), **options}
    m.frame("hips", "frame", at=(0.25, 0, 0.95), orientation=[("y", saddle_pitch)] if saddle_pitch else [])
    parts.rider(m, "rider", "hips", bar=fork, **{**SEATED, **options})
    return m


class SteeringAxes:
    """Lengths and tensors in axes with z down along the steering axis, as Moore and SymBRiM have them, in design axes."""

    def __init__(self, across: float, along: float, rear: float, front: float, offset: float) -> None:
        self.tilt = math.atan(along / across) + math.asin((front - rear) / math.hypot(across, along))
        c, s = math.cos(self.tilt), math.sin(self.tilt)
        self.wheelbase = across * c + along * s
        self.trail = (front * s - offset) / c

    def level(self, ahead: float, down: float) -> np.ndarray:
        c, s = math.cos(self.tilt), math.sin(self.tilt)
        return np.array([ahead * c + down * s, ahead * s - down * c])


def tensor(xx: float, yy: float, zz: float, zx: float, angle: float) -> dict[str, float]:
    """A tensor in axes that are nose-up by an angle, z down, in level axes with z up."""
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    level = turn @ np.array([[xx, zx], [zx, zz]]) @ turn.T
    return {"xx": level[0, 0], "yy": yy, "zz": level[1, 1], "zx": -level[0, 1]}


def leaning_rider(p: dict[str, float]) -> dr.Model:
    """Moore's bicycle with a leaning rider (2012), from the parameters of BicycleParameters' MooreRiderLean2012Model."""
    m = dr.Model("moore")
    a = SteeringAxes(p["d1"] + p["d3"], p["d2"], p["rr"], p["rf"], p["d3"])
    rear, front = np.array([0.0, p["rr"]]), np.array([a.wheelbase, p["rf"]])
    turned = {k: tensor(p[f"{k}11"], p[f"{k}22"], p[f"{k}33"], p[f"{k}31"], a.tilt) for k in ("ic", "ie")}
    hips = rear + [0.0, -p["d4"]]
    frame = parts.frame(
        m, "frame", mass=p["mc"], center_of_mass=rear + a.level(p["l1"], p["l2"]), inertia=turned["ic"],
        wheelbase=a.wheelbase, trail=a.trail, steer_axis_tilt=a.tilt, points={"axle": rear, "hips": hips},
    )  # fmt: skip
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=front, mass=p["me"], center_of_mass=front + a.level(p["l3"], p["l4"]), inertia=turned["ie"]
    )
    parts.wheel(m, "rear", frame["axle"], radius=p["rr"], mass=p["md"], inertia=(p["id11"], p["id22"]))
    parts.wheel(m, "front", fork["axle"], radius=p["rf"], mass=p["mf"], inertia=(p["if11"], p["if22"]))
    parts.upper_body(
        m, "body", frame["hips"], mass=p["mg"], center_of_mass=hips + [p["l5"], -p["l6"]],
        inertia=tensor(p["ig11"], p["ig22"], p["ig33"], p["ig31"], 0.0), stiffness=p["k9"], damping=p["c9"],
    )  # fmt: skip
    return m


def seated_rider(v: dict[str, float]) -> dr.Model:
    """SymBRiM's bicycle with pelvis, torso and side-lean seat, from its parameters."""
    m = dr.Model("seated")
    across, rr, rf = v["rear_frame_d1"] + v["front_frame_d3"], v["rear_wheel_r"], v["front_wheel_r"]
    a = SteeringAxes(across, v["front_frame_d2"], rr, rf, v["front_frame_d3"])
    tilt = a.tilt + v["seat_alpha"]
    rear, front = np.array([0.0, rr]), np.array([a.wheelbase, rf])
    saddle, up = rear + a.level(v["rear_frame_d4"], v["rear_frame_d5"]), np.array([-math.sin(tilt), math.cos(tilt)])

    def inertia(body: str, angle: float) -> dict[str, float]:
        return tensor(*(v[f"{body}_{i}"] for i in ("ixx", "iyy", "izz", "izx")), angle)

    frame = parts.frame(
        m, "frame", mass=v["rear_frame_body_mass"], center_of_mass=rear + a.level(v["rear_frame_l1"], v["rear_frame_l2"]),
        inertia=inertia("rear_frame", a.tilt), wheelbase=a.wheelbase, trail=a.trail, steer_axis_tilt=a.tilt,
        points={"axle": rear},
    )  # fmt: skip
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=front, mass=v["front_frame_body_mass"], inertia=inertia("front_frame", a.tilt),
        center_of_mass=front + a.level(v["front_frame_l3"], v["front_frame_l4"]),
    )  # fmt: skip
    parts.wheel(
        m, "rear", frame["axle"], radius=rr, mass=v["rear_wheel_mass"], inertia=(v["rear_wheel_ixx"], v["rear_wheel_iyy"])
    )
    parts.wheel(
        m, "front", fork["axle"], radius=rf, mass=v["front_wheel_mass"], inertia=(v["front_wheel_ixx"], v["front_wheel_iyy"])
    )
    m.frame("seat", "frame", at=(saddle[0], 0, saddle[1]), orientation=[("y", -tilt)])
    pelvis = saddle + v["pelvis_com_height"] * up
    body = parts.upper_body(m, "pelvis", "seat", mass=v["pelvis_mass"], center_of_mass=pelvis, inertia=inertia("pelvis", tilt))
    height = v["pelvis_com_height"] + v["sacrum_d_p_t"]
    torso = m.body(
        "torso", v["torso_mass"], (0, 0, height), tensor(*(v[f"torso_{i}"] for i in ("ixx", "iyy", "izz", "izx")), 0.0)
    )
    m.fixed("sacrum", body["body"], torso)
    m.output("bike_q5", f"{a.tilt!r} - pitch(frame)", "rad")
    return m

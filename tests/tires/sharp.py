"""Sharp's motorcycle of 1971: his equations typed from the reference, and the machine as bodies, joints and tires."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import cos, sin
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig

import draisine as dr

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "tires.json").read_text())
SET_A: dict[str, float] = REFERENCE["sharp1971"]["parameters"]


def published(s: Mapping[str, float], speed: float) -> NDArray[np.complex128]:
    """Eigenvalues of E ẋ = H x, x = (roll, steer, v, r, roll rate, steer rate, Yr, Yf); the front load is that of statics."""
    c, z, g, m_f, m_r, e, h = cos(s["eps"]), sin(s["eps"]), s["g"], s["mf"], s["mr"], s["e"], s["h"]
    ahead = (s["a"] - s["an"]) / c
    j, k = (s["a"] + e) * z - s["f"] * c, (s["a"] + e) * c + s["f"] * z
    load = g * (m_r * s["b"] + m_f * (s["b"] + k)) / (ahead + s["b"])
    rear, front = speed * s["iry"] / s["Rr"], speed * s["ify"] / s["Rf"]
    first, cross, steer = m_f * j + m_r * h, m_f * j * k - s["Crxz"] + (s["Ifz"] - s["Ifx"]) * z * c, load * s["an"] + m_f * e * g
    mass = np.zeros((8, 8))
    mass[:2, :2] = np.eye(2)
    mass[2:6, 2:6] = [
        [m_f + m_r, m_f * k, first, m_f * e],
        [m_f * k, s["Irz"] + m_f * k**2 + s["Ifx"] * z**2 + s["Ifz"] * c**2, cross, m_f * e * k + s["Ifz"] * c],
        [
            first,
            cross,
            s["Irx"] + m_r * h**2 + m_f * j**2 + s["Ifx"] * c**2 + s["Ifz"] * z**2,
            m_f * e * j + s["Ifz"] * z,
        ],
        [m_f * e, m_f * e * k + s["Ifz"] * c, m_f * e * j + s["Ifz"] * z, s["Ifz"] + m_f * e**2],
    ]
    mass[6, 6], mass[7, 7] = s["sigma_r"] / speed, s["sigma_f"] / speed
    rates = np.zeros((8, 8))
    rates[0, 4] = rates[1, 5] = 1.0
    rates[2, [3, 6, 7]] = -(m_f + m_r) * speed, 1.0, 1.0
    rates[3, 3:8] = -m_f * k * speed, rear + front, front * z, -s["b"], ahead
    rates[4, [0, 1, 3, 5]] = first * g, steer, -first * speed - rear - front, -front * c
    rates[5, [0, 1, 3, 4, 5, 7]] = steer, steer * z, -m_f * e * speed - front * z, front * c, -s["Cdelta"], -s["an"]
    rates[6, [0, 2, 3, 6]] = s["Cr2"], -s["Cr1"] / speed, s["Cr1"] * s["b"] / speed, -1.0
    rates[7, [0, 1, 2, 3, 5, 7]] = (
        s["Cf2"],
        s["Cf1"] * c + s["Cf2"] * z,
        -s["Cf1"] / speed,
        -s["Cf1"] * ahead / speed,
        s["Cf1"] * s["an"] / speed,
        -1.0,
    )
    return np.asarray(eig(rates, mass, right=False))


def motorcycle(s: Mapping[str, float] = SET_A) -> dr.Model:
    """The same machine, nonlinear; steer to the left is positive. The wheels have their polar inertia, half of it about
    diameters, which is taken from the groups."""
    m = dr.Model("sharp1971")
    m.gravity(s["g"])
    c, z = cos(s["eps"]), sin(s["eps"])
    ahead = (s["a"] - s["an"]) / c
    rear, front = s["iry"] / 2, s["ify"] / 2
    # frame: origin at the rear hub; head: on the steer axis, abreast of the ground point below the rear mass center
    m.body(
        "frame",
        s["mr"],
        (s["b"], 0, s["h"] - s["Rr"]),
        {"xx": s["Irx"] - rear, "yy": s["Irx"], "zz": s["Irz"] - rear, "zx": s["Crxz"]},
    )
    m.body("fork", s["mf"], (s["e"], 0, -s["f"]), {"xx": s["Ifx"] - front, "yy": s["Ifx"] - front, "zz": s["Ifz"] - front})
    m.body("rear_wheel", 0, inertia=(rear, 2 * rear, rear))
    m.body("front_wheel", 0, inertia=(front, 2 * front, front))
    m.free("frame", at=(0, 0, s["Rr"]))
    m.revolute("rear_angle", "frame", "rear_wheel", axis="y", rate="rear_spin")
    m.revolute(
        "steer", "frame", "fork", axis="z", at=(s["b"] + s["a"] * c, 0, s["a"] * z - s["Rr"]), orientation=[("y", -s["eps"])]
    )
    hub = ahead - s["a"] * c, s["Rf"] - s["a"] * z  # from the fork's origin, in level axes
    m.revolute(
        "front_angle",
        "fork",
        "front_wheel",
        axis="y",
        at=(c * hub[0] + z * hub[1], 0, c * hub[1] - z * hub[0]),
        rate="front_spin",
    )
    for wheel, key in (("rear", "r"), ("front", "f")):
        tire = dr.contact.LinearTire(s[f"C{key}1"], s[f"sigma_{key}"], 1e5, camber=s[f"C{key}2"])
        m.wheel(f"{wheel}_tire", f"{wheel}_wheel", s[f"R{key}"], contact=tire)
    m.generalized_force("steer", f"-{s['Cdelta']}*steer_rate")
    m.output("speed", "body_velocity_x(frame)", "m/s")
    m.output("lean", "lean(frame)", "rad")
    return m

"""The wheelset of the test set for initial value problems (Simeon, Führer & Rentrop 1991), without creep forces: contact
geometry, springs and gravity, as 0 = F with the index of the source."""

from __future__ import annotations

from typing import Any

import sympy as sp

import draisine as dr
from draisine.program.equations import Equations

CONE, RADIUS, HALF_TRACK, RAIL = 0.0262, 0.1, 0.1506, 0.06  # cone angle, nominal radius, half distance, rail radius
MASS, AXIAL, DIAMETRAL, GRAVITY, STIFFNESS = 16.08, 0.0605, 0.366, 9.81, 6400.0
POSITIONS = ("x", "y", "z", "theta", "phi")
VELOCITIES = tuple(f"v_{name}" for name in POSITIONS)
CONTACTS = ("psi_left", "xi_left", "psi_right", "xi_right")
FORCES = ("force_left", "force_right")  # in 10⁴ N
START = {
    **dict(zip(POSITIONS, (0.14941e-2, 0.40089e-6, 0.11241e-5, -0.28573e-3, 0.26459e-3), strict=True)),
    **dict.fromkeys(VELOCITIES, 0.0),
    **dict(
        zip(CONTACTS, (-7.4122380357667139e-06, -0.1521364296121248, 7.5634406395172940e-06, 0.1490635714733819), strict=True)
    ),
}


def wheelset(start: dict[str, float] | None = None) -> Equations:
    s = {name: sp.Symbol(name) for name in (*POSITIONS, *VELOCITIES, *CONTACTS, *FORCES)}
    x, y, z, theta, phi = (s[name] for name in POSITIONS)
    speeds = [s[name] for name in VELOCITIES]
    rows: dict[str, Any] = {}
    reactions: list[Any] = [0] * 5
    for side, sign in (("left", -1), ("right", 1)):
        psi, xi = s[f"psi_{side}"], s[f"xi_{side}"]
        wheel, slope = RADIUS + sp.tan(CONE) * (HALF_TRACK - sign * xi), -sign * sp.tan(CONE)
        at = (
            x
            + xi * sp.cos(theta) * sp.cos(phi)
            + wheel * (sp.cos(theta) * sp.sin(phi) * sp.cos(psi) - sp.sin(theta) * sp.sin(psi))
        )
        off = sign * at - HALF_TRACK - sp.sin(CONE) * RAIL
        grade = -sign * off / sp.sqrt(RAIL**2 - off**2)  # of the rail
        rows[f"parallel_{side}"] = (
            grade * (slope * sp.sin(phi) + sp.cos(phi) * sp.cos(psi))
            + slope * sp.cos(theta) * sp.cos(phi)
            - sp.cos(theta) * sp.sin(phi) * sp.cos(psi)
            + sp.sin(theta) * sp.sin(psi)
        )
        rows[f"below_{side}"] = (
            slope * sp.sin(theta) * sp.cos(phi) - sp.sin(theta) * sp.sin(phi) * sp.cos(psi) - sp.cos(theta) * sp.sin(psi)
        )
        gradient = [
            grade,
            -1,
            0,
            grade
            * (
                wheel * (-sp.cos(theta) * sp.sin(psi) - sp.cos(psi) * sp.sin(phi) * sp.sin(theta))
                - sp.cos(phi) * sp.sin(theta) * xi
            ),
            -sp.cos(psi) * wheel * sp.sin(phi)
            - sp.cos(phi) * xi
            + grade * (sp.cos(phi) * sp.cos(psi) * sp.cos(theta) * wheel - sp.cos(theta) * sp.sin(phi) * xi),
        ]
        rows[f"rolling_{side}"] = sum(g * v for g, v in zip(gradient, speeds, strict=True))
        reactions = [r + 1e4 * s[f"force_{side}"] * g for r, g in zip(reactions, gradient, strict=True)]
    loads = [-2 * STIFFNESS * x, -MASS * GRAVITY, -2 * STIFFNESS * z, -2 * 0.19**2 * STIFFNESS * theta, 0]
    inertia = [MASS, MASS, MASS, DIAMETRAL, DIAMETRAL]
    rates = dict(zip((x, y, z, theta, phi), speeds, strict=True))
    rates |= {v: (f + r) / m for v, f, r, m in zip(speeds, loads, reactions, inertia, strict=True)}
    unknowns = [s[name] for name in (*CONTACTS, *FORCES)]
    given = {s[name]: value for name, value in (START if start is None else start).items()}
    return dr.symbolic.semi_explicit("wheelset", rates, constraints=rows, unknowns=unknowns, start=given)

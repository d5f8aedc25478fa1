"""The riderless bicycle of Delebecque & Nikoukhah (1992, section 4 and appendix B), typed as a Lagrangian.

23 coordinates, 16 holonomic and 4 nonholonomic constraints, 20 parameters, 2 controls, and nothing eliminated by hand: four bodies
with coordinates of their own, held together by constraints whose 20 multipliers are solved for with the accelerations.

What it shows: a torque pushes the bar to the left from 0.1 to 0.3 s at 8 m/s (the paper's figure 3), and the bicycle rights itself.
The same bicycle described as a graph moves alike, with a small part of the operations.

What you should see: the bar goes left, so the bicycle falls to the *right* and steers after its fall; it weaves twice and comes
up again, going straight on in another direction. At 6 m/s the weave takes longer to die away; at 5 m/s it grows, and the
bicycle falls.

Axes: x, y on the ground, z up. A wheel has Euler angles z–x–z: heading φ, slant θ (90° upright), turn ψ. Its plane is spanned by
the track's direction e₁ = (cos φ, sin φ, 0) and the way up e₂ = (−sin φ cos θ, cos φ cos θ, sin θ); e₃ = e₁ × e₂ is the axle and
points to the right, so ψ̇ < 0 rolls forward. A rod in the plane of a wheel points along d(ξ) = cos ξ e₁ + sin ξ e₂.

    P₁ rear hub, P₅ front hub      wheels of one radius
    P₂ = P₁ + l₁₆ d₁(ξ₁)           centre of the frame, a rod from P₁ to the head
    P₃ = P₄ + l₁₇ d₂(ξ₂)           centre of the fork, a rod along the steer axis from its foot P₄ to the head
    P₁ + l₁₈ d₁ = P₄ + l₁₉ d₂      the head
    |P₄ − P₁| = l₁₅, e₃·d₂ = 0     the steer axis keeps its place in the frame
    P₅ = P₄ + l₂₀ n₂               n₂ = sin ξ₂ e₁ − cos ξ₂ e₂, straight ahead of the steer axis

Where this departs from the print. f₁₄ and f₁₅ have the wrong sign in their second terms: as printed P₅ leaves the plane of the
front wheel when it leans. Potentials are m g z of each body's own height: the print puts constraints into them, so that the
multipliers are no contact forces, and its fork lacks m₄ g l₂₀ cos ξ₂ sin θ₂. The steer force is divided by sin ξ₂, which makes it a
torque about the steer axis. The pedal torque is positive when it drives forward. The paper gives no numbers; those here are a plausible
steel bicycle that carries motors and a battery in its frame and no rider: wheelbase 1.02 m, trail 0.12 m, steer axis 22° from
the vertical; self-stable from 5.9 m/s up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.outcome import Study
from draisine.model import Model
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.program.expression import Name

# param[1] … param[20] of the source: default and unit. Inertias along the axis of a body are its "radial", across it "normal".
PARAMETERS: Mapping[str, tuple[float, str]] = {
    "r_wheel": (0.35, "m"),
    "m_rear_wheel": (3.0, "kg"),
    "m_frame": (20.0, "kg"),
    "m_fork": (2.0, "kg"),
    "m_front_wheel": (1.2, "kg"),
    "i_rear_wheel_axle": (0.25, "kg*m^2"),
    "i_frame_along": (0.5, "kg*m^2"),
    "i_fork_along": (0.01, "kg*m^2"),
    "i_front_wheel_axle": (0.07, "kg*m^2"),
    "i_rear_wheel_across": (0.13, "kg*m^2"),
    "i_frame_across": (2.0, "kg*m^2"),
    "i_fork_across": (0.08, "kg*m^2"),
    "i_front_wheel_across": (0.035, "kg*m^2"),
    "gravity": (9.81, "m/s^2"),
    "l_hub_to_foot": (1.0, "m"),  # |P₄ − P₁|
    "l_frame_centre": (0.475, "m"),  # |P₂ − P₁|
    "l_fork_centre": (0.3, "m"),  # |P₃ − P₄|
    "l_frame": (0.95, "m"),  # in the source 2 |P₂ − P₁|
    "l_fork": (0.6, "m"),  # in the source 2 |P₃ − P₄|
    "l_offset": (0.02, "m"),  # |P₅ − P₄|
}
# q[1] … q[23] of the source.
COORDINATES = (
    *("rear_x", "rear_y", "rear_z", "rear_heading", "rear_slant", "rear_turn"),  # P₁, φ₁, θ₁, ψ₁
    *("frame_x", "frame_y", "frame_z", "frame_angle"),  # P₂, ξ₁
    *("fork_x", "fork_y", "fork_z", "fork_angle"),  # P₃, ξ₂
    *("foot_x", "foot_y", "foot_z", "front_heading", "front_slant", "front_turn"),  # P₄, φ₂, θ₂, ψ₂
    *("front_x", "front_y", "front_z"),  # P₅
)


@dataclass(frozen=True)
class _Plane:
    """The plane of a wheel, with SymPy's vectors: e₁ along the track, e₂ up, e₃ = e₁ × e₂ to the right."""

    heading: Any
    slant: Any
    turn: Any

    @property
    def axes(self) -> tuple[Any, Any, Any]:
        import sympy as sp

        f, s = self.heading, self.slant
        e1 = sp.Matrix([sp.cos(f), sp.sin(f), 0])
        e2 = sp.Matrix([-sp.sin(f) * sp.cos(s), sp.cos(f) * sp.cos(s), sp.sin(s)])
        return e1, e2, sp.Matrix([sp.sin(f) * sp.sin(s), -sp.cos(f) * sp.sin(s), sp.cos(s)])

    def rod(self, angle: Any) -> Any:
        """d(ξ)."""
        import sympy as sp

        return sp.cos(angle) * self.axes[0] + sp.sin(angle) * self.axes[1]

    def ahead(self, angle: Any) -> Any:
        """n(ξ), across the rod, to the front."""
        import sympy as sp

        return sp.sin(angle) * self.axes[0] - sp.cos(angle) * self.axes[1]

    def rates(self, turn: Any) -> tuple[Any, Any, Any]:
        """Rates about e₁, e₂, e₃ of what has turned in the plane by an angle: θ̇, φ̇ sin θ, φ̇ cos θ + turn rate."""
        import sympy as sp

        return self.slant.diff(), self.heading.diff() * sp.sin(self.slant), self.heading.diff() * sp.cos(self.slant) + turn.diff()

    def rolling(self, hub: Any, radius: Any) -> tuple[Any, Any]:
        """Velocity of the wheel's lowest point along x and y: ẋ + r (ω × −e₂), gqd₁ and gqd₂ of the source."""
        about_track, _, about_axle = self.rates(self.turn)
        slip = hub.diff() + radius * (about_axle * self.axes[0] - about_track * self.axes[2])
        return slip[0], slip[1]


def delebecque_bicycle() -> dr.Equations:
    """Riderless bicycle of 23 coordinates and 20 constraints, from its Lagrangian (Delebecque & Nikoukhah 1992)."""
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    p = {name: sp.Symbol(name) for name in PARAMETERS}
    q = {name: dynamicsymbols(name) for name in COORDINATES}
    hub, frame, fork, foot, front = (
        sp.Matrix([q[f"{body}_{axis}"] for axis in "xyz"]) for body in ("rear", "frame", "fork", "foot", "front")
    )
    rear_plane = _Plane(q["rear_heading"], q["rear_slant"], q["rear_turn"])
    front_plane = _Plane(q["front_heading"], q["front_slant"], q["front_turn"])
    steer, pedal = sp.symbols("steer_torque pedal_torque")

    kinetic = (
        _energy(hub, rear_plane.rates(q["rear_turn"]), p["m_rear_wheel"], p["i_rear_wheel_across"], p["i_rear_wheel_axle"])
        + _rod_energy(frame, rear_plane, q["frame_angle"], p["m_frame"], p["i_frame_along"], p["i_frame_across"])
        + _rod_energy(fork, front_plane, q["fork_angle"], p["m_fork"], p["i_fork_along"], p["i_fork_across"])
        + _energy(
            front, front_plane.rates(q["front_turn"]), p["m_front_wheel"], p["i_front_wheel_across"], p["i_front_wheel_axle"]
        )
    )
    heights = {"m_rear_wheel": hub[2], "m_frame": frame[2], "m_fork": fork[2], "m_front_wheel": front[2]}
    upright = Upright.of({name: value for name, (value, _) in PARAMETERS.items()})
    return dr.lagrangian(
        "delebecque_bicycle",
        list(q.values()),
        kinetic=kinetic,
        potential=p["gravity"] * sum(p[mass] * height for mass, height in heights.items()),
        holonomic=_holonomic(p, q, (hub, frame, fork, foot, front), rear_plane, front_plane),
        nonholonomic=dict(
            zip(
                ("rear_rolls_x", "rear_rolls_y", "front_rolls_x", "front_rolls_y"),
                (*rear_plane.rolling(hub, p["r_wheel"]), *front_plane.rolling(front, p["r_wheel"])),
                strict=True,
            )
        ),
        forces=_forces(q, steer, pedal),
        parameters={p[name]: value for name, (value, _) in PARAMETERS.items()},
        inputs=[steer, pedal],
        outputs=_outputs(p, q, hub, front, rear_plane, front_plane),
        start={q[name]: value for name, value in upright.coordinates().items()},
        units=_units(q, p) | {steer: "N*m", pedal: "N*m"},
        work=True,
    )


def _energy(centre: Any, rates: tuple[Any, Any, Any], mass: Any, across: Any, axle: Any) -> Any:
    """Kinetic energy of a wheel."""
    return mass * centre.diff().dot(centre.diff()) / 2 + across * (rates[0] ** 2 + rates[1] ** 2) / 2 + axle * rates[2] ** 2 / 2


def _rod_energy(centre: Any, plane: _Plane, angle: Any, mass: Any, along: Any, across: Any) -> Any:
    """Kinetic energy of a rod that lies in the plane of a wheel."""
    import sympy as sp

    about_track, about_up, about_axle = plane.rates(angle)
    rolling = about_track * sp.cos(angle) + about_up * sp.sin(angle)
    yawing = -about_track * sp.sin(angle) + about_up * sp.cos(angle)
    moving = mass * centre.diff().dot(centre.diff()) / 2
    return moving + along * rolling**2 / 2 + across * (yawing**2 + about_axle**2) / 2


def _holonomic(
    p: Mapping[str, Any], q: Mapping[str, Any], points: tuple[Any, ...], rear: _Plane, front_plane: _Plane
) -> dict[str, Any]:
    """f₁ … f₁₆ of the source, by name."""
    import sympy as sp

    hub, frame, fork, foot, front = points
    d1, d2 = rear.rod(q["frame_angle"]), front_plane.rod(q["fork_angle"])
    vectors = {
        "frame": hub - frame + p["l_frame_centre"] * d1,
        "fork": foot - fork + p["l_fork_centre"] * d2,
        "head": hub - foot + p["l_frame"] * d1 - p["l_fork"] * d2,
        "front_hub": front - foot - p["l_offset"] * front_plane.ahead(q["fork_angle"]),
    }
    rows = {f"{name}_{axis}": vector[i] for name, vector in vectors.items() for i, axis in enumerate("xyz")}
    return {
        "rear_height": hub[2] - p["r_wheel"] * sp.sin(q["rear_slant"]),
        "front_height": front[2] - p["r_wheel"] * sp.sin(q["front_slant"]),
        **rows,
        "hub_to_foot": (hub - foot).dot(hub - foot) - p["l_hub_to_foot"] ** 2,
        "steer_axis_in_frame": p["l_fork"] * rear.axes[2].dot(d2),
    }


def _forces(q: Mapping[str, Any], steer: Any, pedal: Any) -> dict[Any, Any]:
    """The source's control forces, that on the bar divided by sin ξ₂."""
    import sympy as sp

    f1, s1, f2, s2, x2 = (q[n] for n in ("rear_heading", "rear_slant", "front_heading", "front_slant", "fork_angle"))
    turned = f2 - f1
    common = steer / (sp.sin(x2) * (sp.sin(s2) * sp.sin(s1) * sp.cos(turned) + sp.cos(s2) * sp.cos(s1)))
    return {
        f1: -common * sp.sin(s1) * sp.cos(turned),
        s1: common * sp.cos(s1) * sp.sin(turned),
        x2: -common * sp.cos(x2) / sp.sin(x2) * sp.sin(s1) * sp.sin(turned),
        f2: common * sp.sin(s1) * sp.cos(turned),
        q["rear_turn"]: -pedal,
        q["frame_angle"]: pedal,
    }


def _outputs(
    p: Mapping[str, Any], q: Mapping[str, Any], hub: Any, front: Any, rear: _Plane, front_plane: _Plane
) -> dict[str, Any]:
    import sympy as sp

    d2 = front_plane.rod(q["fork_angle"])
    steer = sp.atan2(d2.dot(rear.axes[2].cross(front_plane.axes[2])), rear.axes[2].dot(front_plane.axes[2]))
    touching = {"rear": hub - p["r_wheel"] * rear.axes[1], "front": front - p["r_wheel"] * front_plane.axes[1]}
    return {
        "speed": hub.diff().dot(rear.axes[0]),
        "lean": rear.slant - sp.pi / 2,
        "steer": steer,
        "steer_rate": steer.diff(dynamic_time()),
        **{f"{wheel}_wheel_contact_{axis}": point[i] for wheel, point in touching.items() for i, axis in enumerate("xy")},
    }

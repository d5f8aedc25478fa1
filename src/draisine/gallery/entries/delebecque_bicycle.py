"""The riderless bicycle of Delebecque & Nikoukhah (1992, section 4 and appendix B), typed as a Lagrangian.

23 coordinates, 16 holonomic and 4 nonholonomic constraints, 20 parameters, 2 controls: nothing is eliminated by hand. Four
bodies carry their own coordinates and the constraints hold them together; accelerations and all 20 multipliers come from
one augmented system. This is how one writes down a mechanism quickly; how one should run it is the graph (`bicycle`), whose
equations are a fiftieth of the size.

What it shows: a torque on the bar to the left, 0.1 to 0.3 s, at 8 m/s (the paper's figure 3). What you should see: the bar goes
left, so the bicycle falls to the *right* and steers after its fall; at 8 m/s it is upright again within three seconds and runs
straight on, a few degrees from where it was going. At 5.5 m/s it weaves on its way back, at 4 m/s it weaves more and more and
falls.

Axes: x, y on the ground, z up. A wheel has Euler angles z–x–z: heading φ, slant θ (90° upright), turn ψ. Its plane is spanned by
the track's direction e₁ = (cos φ, sin φ, 0) and the way up e₂ = (−sin φ cos θ, cos φ cos θ, sin θ); e₃ = e₁ × e₂ is the axle and
points to the right, so ψ̇ < 0 rolls forward. A rod in the plane of a wheel points along d(ξ) = cos ξ e₁ + sin ξ e₂.

    P₁ rear hub      P₂ = P₁ + l₁₆ d₁(ξ₁), centre of the frame, a rod from P₁ to the head
    P₅ front hub     P₃ = P₄ + l₁₇ d₂(ξ₂), centre of the fork, a rod along the steer axis from its foot P₄ to the head
    head             P₁ + l₁₈ d₁ = P₄ + l₁₉ d₂; the frame keeps the angle of both rods by |P₄ − P₁| = l₁₅ and e₃ · d₂ = 0
    front axle       P₅ = P₄ + l₂₀ n₂, n₂ = sin ξ₂ e₁ − cos ξ₂ e₂ straight ahead of the steer axis

Where this departs from the print. f₁₄ and f₁₅ have the wrong sign in their second term: with it P₅ leaves the fork's plane when
the wheel leans. Potentials are m g z of each body's own height; the print puts constraints into them, and then the multipliers are
no contact forces (and its fork lacks m₄ g l₂₀ cos ξ₂ sin θ₂). The steer force is divided by sin ξ₂, which makes it a torque about
the steer axis. The pedal torque is positive when it drives. The paper gives no numbers: those here are a plausible city
bicycle without its rider, self-stable from 5.2 to beyond 20 m/s; wheelbase 1.04 m, trail 0.08 m, steer axis 20° from the vertical.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import draisine as dr

# In the order of the source: param[1] … param[20]. Name: default, unit.
PARAMETERS: Mapping[str, tuple[float, str]] = {
    "r_wheel": (0.35, "m"),
    "m_rear_wheel": (2.5, "kg"),
    "m_frame": (10.0, "kg"),
    "m_fork": (2.5, "kg"),
    "m_front_wheel": (2.0, "kg"),
    "i_rear_wheel_axle": (0.25, "kg*m^2"),  # the source calls inertias about the axis of a body radial …
    "i_frame_along": (0.1, "kg*m^2"),
    "i_fork_along": (0.02, "kg*m^2"),
    "i_front_wheel_axle": (0.2, "kg*m^2"),
    "i_rear_wheel_across": (0.13, "kg*m^2"),  # … and those across it normal
    "i_frame_across": (0.8, "kg*m^2"),
    "i_fork_across": (0.1, "kg*m^2"),
    "i_front_wheel_across": (0.1, "kg*m^2"),
    "gravity": (9.81, "m/s^2"),
    "l_hub_to_foot": (1.0, "m"),  # |P₄ − P₁|
    "l_frame_centre": (0.5, "m"),  # |P₂ − P₁|
    "l_fork_centre": (0.35, "m"),  # |P₃ − P₄|
    "l_frame": (1.0, "m"),  # in the source 2 |P₂ − P₁|
    "l_fork": (0.7, "m"),  # in the source 2 |P₃ − P₄|
    "l_offset": (0.04, "m"),  # |P₅ − P₄|
}
# In the order of the source: q[1] … q[23].
COORDINATES = (
    *(f"rear_{c}" for c in ("x", "y", "z", "heading", "slant", "turn")),
    *(f"frame_{c}" for c in ("x", "y", "z", "angle")),
    *(f"fork_{c}" for c in ("x", "y", "z", "angle")),
    *(f"foot_{c}" for c in ("x", "y", "z")),
    *(f"front_{c}" for c in ("heading", "slant", "turn", "x", "y", "z")),
)

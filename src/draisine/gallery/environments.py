"""Environments by name for Gymnasium; importing this module registers them.

    import gymnasium
    import draisine.gallery.environments

    env = gymnasium.make("draisine/BicycleBalance-v0")
    many = gymnasium.make_vec("draisine/BicycleBalance-v0", num_envs=4096)

Each is a call of `dr.environment`; arguments of that function, given to `make`, replace those below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from draisine.errors import require
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.entries.trailers import trailers
from draisine.learning.environment import environment

FELL = {"fell": f"abs(lean) > {math.radians(45)!r}"}
APART, SIDE = 7.0, 0.3  # m, distance of the cones of the slalom, and of the track from a cone
WAVE, SWING = 40.0, 1.5  # m, length and amplitude of the path
WHERE = "rear_wheel_contact_x"
PATH = f"{SWING!r}*sin({2 * math.pi / WAVE!r}*{WHERE})"
PATH_HEADING = f"atan({SWING * 2 * math.pi / WAVE!r}*cos({2 * math.pi / WAVE!r}*{WHERE}))"
RIDE = ("lean", "steer", "roll_rate", "steer_rate")


def bicycle_balance(speed: float = 2.0, **changes: Any) -> Any:
    """Balance a bicycle that is unstable, by the torque on its handlebar."""
    given: dict[str, Any] = {
        "observe": RIDE,
        "act": {"steer_torque": "5 N*m"},
        "reward": "1 - 10*lean^2 - steer^2 - 0.05*steer_torque^2",
        "reset": {"speed": speed, "lean": (-0.05, 0.05), "roll_rate": (-0.1, 0.1)},
        "terminate": FELL,
        "until": 10.0,
    }
    return environment(bicycle(), **{**given, **changes})


def bicycle_path(speed: float = 4.0, **changes: Any) -> Any:
    """Keep the rear contact of a bicycle on a winding path."""
    given: dict[str, Any] = {
        "observe": {
            "deviation": f"rear_wheel_contact_y - {PATH}",
            "direction": f"heading - {PATH_HEADING}",
            "along": f"sin({2 * math.pi / WAVE!r}*{WHERE})",
            "ahead": f"cos({2 * math.pi / WAVE!r}*{WHERE})",
            **{name: name for name in RIDE},
        },
        "act": {"steer_torque": "5 N*m"},
        "reward": f"1 - (rear_wheel_contact_y - {PATH})^2 - 0.05*steer_torque^2",
        "reset": {"speed": speed, "lean": (-0.05, 0.05), "rear_wheel_contact_y": (-0.2, 0.2)},
        "terminate": {**FELL, "left the path": f"abs(rear_wheel_contact_y - {PATH}) > 2"},
        "until": 20.0,
    }
    return environment(bicycle(), **{**given, **changes})


def bicycle_slalom(speed: float = 4.0, **changes: Any) -> Any:
    """Ride a slalom: pass cones on the axis alternately on their left and right."""
    phase = f"{math.pi / APART!r}*{WHERE}"  # sine is ±1 at the cones
    side = f"sin({phase})*rear_wheel_contact_y"
    given: dict[str, Any] = {
        "observe": {
            "across": "rear_wheel_contact_y",
            "heading": "heading",
            "sine": f"sin({phase})",
            "cosine": f"cos({phase})",
            **{name: name for name in RIDE},
        },
        "act": {"steer_torque": "5 N*m"},
        "reward": f"min({side}, 0.8) - 0.05*steer_torque^2",
        "reset": {"speed": speed, "lean": (-0.05, 0.05)},
        "terminate": {
            **FELL,
            # beside a cone, from the third one on, on its wrong side or too close
            "hit a cone": f"({WHERE} > {2 * APART!r})*(abs(cos({phase})) < 0.05)*({side} < {SIDE!r})",
            "left the course": "abs(rear_wheel_contact_y) > 3",
        },
        "until": 15.0,
    }
    return environment(bicycle(), **{**given, **changes})


def trailer_parking(**changes: Any) -> Any:
    """Park a vehicle with a trailer at the origin, by pushing and turning the vehicle; in reverse the trailer is unstable."""
    away = "sqrt(vehicle_x^2 + vehicle_y^2)"
    slow = "(abs(vehicle_vx) < 0.1)*(abs(vehicle_heading_rate) < 0.1)"
    given: dict[str, Any] = {
        "observe": {
            **{name: name for name in ("vehicle_x", "vehicle_y", "hitch1", "vehicle_vx", "vehicle_heading_rate")},
            "sine": "sin(vehicle_heading)",
            "cosine": "cos(vehicle_heading)",
        },
        "act": {"push": "10 N", "turn": "5 N*m"},
        "reward": f"-0.1*{away} - 0.1*(1 - cos(vehicle_heading)) - 0.01*hitch1^2 - 0.001*(push^2 + turn^2)",
        "reset": {"vehicle_x": (3.0, 6.0), "vehicle_y": (-1.5, 1.5), "vehicle_heading": (-0.4, 0.4), "hitch1": (-0.2, 0.2)},
        "terminate": {
            "parked": f"({away} < 0.1)*(abs(vehicle_heading) < 0.1)*(abs(hitch1) < 0.1)*{slow}",
            "jackknifed": "abs(hitch1) > 1.4",
            "left the yard": f"{away} > 12",
        },
        "step": 0.02,
        "until": 30.0,
    }
    return environment(trailers(1), **{**given, **changes})


NAMES: Mapping[str, str] = {
    "draisine/BicycleBalance-v0": bicycle_balance.__name__,
    "draisine/BicyclePath-v0": bicycle_path.__name__,
    "draisine/BicycleSlalom-v0": bicycle_slalom.__name__,
    "draisine/TrailerParking-v0": trailer_parking.__name__,
}


def register() -> None:
    """Make the environments known to Gymnasium, once."""
    gymnasium = require("gymnasium", "environments by name", "draisine[learning]")
    for name, function in NAMES.items():
        if name not in gymnasium.registry:
            where = f"{__name__}:{function}"
            gymnasium.register(name, entry_point=where, vector_entry_point=where)


register()

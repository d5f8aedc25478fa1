"""Starts that are nice to look at, by model of the gallery; others begin at rest, or at a usual speed where they have one."""

from __future__ import annotations

from collections.abc import Mapping

from draisine.program.equations import Equations

_KNOCKED = {"speed": 4.6, "roll_rate": 0.5}

BEGINNINGS: Mapping[str, Mapping[str, float]] = {
    "bicycle": _KNOCKED,
    "schwab_bicycle": _KNOCKED,
    "sliding_bicycle": _KNOCKED,
    "leaning_rider": {"speed": 5.0, "roll_rate": 0.2},
    "flexible_frame": {"speed": 5.0, "roll_rate": 0.1},
    "sanjuan_bicycle": {"speed": 5.0},
    "delebecque_bicycle": {"speed": 8.0},
    "delebecque_graph": {"speed": 8.0},
    "two_mass_skate": {"speed": 3.0, "roll_rate": 0.1},
    "rolling_disk": {"lean": 0.3, "heading_rate": 1.0, "spin_angle_rate": 6.0},
    "rolling_torus": {"lean": 0.3, "turn_rate": 1.0, "spin": 6.0},
    "sanjuan_disk": {"speed": 3.0, "theta": 0.3},
    "unicycle": {"speed": 1.5},
    "chaplygin_sleigh": {"speed": 1.0, "turn_rate": 1.5},
    "snakeboard": {"speed": 0.5},
    "double_pendulum": {"upper": 2.2, "lower": 2.6},
    "double_pendulum_graph": {"upper": 2.2, "elbow": 0.4},
    "cart_pole": {"pole": 0.5},
    "cart_pole_graph": {"pole": 0.5},
    "acrobot": {"shoulder": 0.8, "elbow": 0.5},
    "spherical_pendulum": {"x": 0.6, "y_rate": 1.0},
    "spherical_pendulum_by_angles": {"polar": 0.7, "azimuth_rate": 1.5},
    "rattleback": {"rate_z": -5.0, "roll": 0.01, "pitch": 0.01},
    "sphere_on_turntable": {"velocity_y": 0.2},
    "four_bar": {"crank_angle_rate": 8.0},
    "slider_crank": {"crank_angle_rate": 8.0},
    "slider_crank_by_guide": {"crank_angle_rate": 8.0},
    "planetary_gear": {"sun_rate": 3.0},
    "tricycle": {"speed": 2.0, "steer": 0.2},
    "tricycle_held": {"speed": 2.0},
    "car": {"speed": 4.0},
    "wheel_on_waves": {"turn_rate": 4.0},
    "wheelset": {"turn_rate": 20.0, "lateral": 0.003},
    "simple_bicycle": {"lean": 0.05},
}

PACES: Mapping[str, float] = {"free_shuttle": 20.0, "gliding_shuttle": 20.0}


def pace(name: str) -> float:
    """Seconds of the model in a second of the page: more than one where everything takes minutes."""
    return PACES.get(name, 1.0)


def beginning(equations: Equations, name: str) -> dict[str, float]:
    """Wishes for the start that a page shows first."""
    known = {*equations.motion.output("outputs").labels, *(q.name for q in (*equations.states, *equations.velocities))}
    given = BEGINNINGS.get(name, BEGINNINGS.get(equations.name, {}))
    return {wish: value for wish, value in given.items() if wish in known}

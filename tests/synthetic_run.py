"""A bicycle-like trajectory from closed formulas: every group filled, two segments, an event, a warning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.results.assembly import Piece, assemble, block, energy_block, pose_block, power_block, residual_block
from draisine.results.channel import Group
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Statistics, Trajectory

WHEELBASE = 1.02
WEIGHT = {"rear_wheel": 550.0, "front_wheel": 370.0}


@dataclass(frozen=True)
class Named:
    name: str
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Constraint:
    name: str
    kind: str
    level: str
    unit: str


def bicycle_run(
    duration: float = 5.0, samples: int = 501, weave: float = 0.05, drift: float = 3e-11, lift: float = 0.0
) -> Trajectory:
    """A decaying weave of amplitude `weave`; `drift` is the energy error in play, `lift` the swing of the normal force in N."""
    time = np.linspace(0.0, duration, samples)
    half = samples // 2
    pieces = [
        _piece(time[: half + 1], weave, drift, lift, ("lean_rate", "steer_rate", "rear_spin")),
        _piece(time[half:], weave, drift, lift, ("lean_rate", "steer_rate", "front_spin")),
    ]
    return assemble(
        "bicycle",
        pieces,
        status=Status(Ending.FINISHED, f"reached t = {duration:g} s"),
        events=[("steer passed zero", 0.37 * duration)],
        warnings=["front_wheel would need friction 1.2 at t = 0.4 s"],
        statistics=Statistics(evaluations=529, accepted=44, rejected=3, steps=47),
        seconds={"derive": 0.021, "compile": 0.0021, "start": 0.0008, "integrate": 0.00052, "report": 0.0011},
        parameters={"m_rear_wheel": 2.0, "wheelbase": WHEELBASE, "trail": 0.08},
        scene={"bodies": {"rear_wheel": {"shape": "disc", "radius": 0.3}}},
    )


def pendulum_run(samples: int = 50) -> Trajectory:
    """A single swinging coordinate: no contacts, no constraints, no inputs."""
    time = np.linspace(0.0, 2.0, samples)
    angle, rate = np.cos(time), -np.sin(time)
    blocks = (
        block(Group.COORDINATES, [Named("angle", "rad", "from the vertical")], angle[:, None]),
        block(Group.VELOCITIES, [Named("rate", "rad/s")], rate[:, None]),
        energy_block(0.5 * rate**2, 0.5 * angle**2),
    )
    return assemble("pendulum", [Piece(time, blocks)], status=Status(Ending.FINISHED, ""))


def _piece(t: np.ndarray, weave: float, drift: float, lift: float, independent: tuple[str, ...]) -> Piece:
    fade, rate = np.exp(-0.8 * t), 3.4
    lean = 3 * weave * fade * np.sin(rate * t)
    lean_rate = 3 * weave * fade * (rate * np.cos(rate * t) - 0.8 * np.sin(rate * t))
    steer = weave * fade * np.sin(rate * t - 0.6)
    steer_rate = weave * fade * (rate * np.cos(rate * t - 0.6) - 0.8 * np.sin(rate * t - 0.6))
    speed = 4.62 - 0.4 * weave * fade * np.cos(2 * rate * t)
    heading = 0.8 * weave * (1 - fade * np.cos(rate * t))
    x, y = 4.6 * t, 10 * weave * (t - fade * np.sin(rate * t) / rate)
    zero = np.zeros_like(t)
    outputs = {
        "speed": ("m/s", speed),
        "heading": ("rad", heading),
        "lean": ("rad", lean),
        "steer": ("rad", steer),
        "roll_rate": ("rad/s", lean_rate),
        "steer_rate": ("rad/s", steer_rate),
    }
    for wheel, ahead in (("rear_wheel", 0.0), ("front_wheel", WHEELBASE)):
        swing = lift * np.sin(2 * rate * t) * fade
        outputs |= {
            f"{wheel}_contact_x": ("m", x + ahead * np.cos(heading)),
            f"{wheel}_contact_y": ("m", y + ahead * np.sin(heading + steer * (ahead > 0))),
            f"{wheel}_contact_z": ("m", zero),
            f"{wheel}_contact_angle": ("rad", (0.3 if ahead else 1e-16) * lean * steer),
            f"{wheel}_normal_force": ("N", WEIGHT[wheel] + swing * (1 if ahead else -1)),
            f"{wheel}_longitudinal_force": ("N", 2 * fade),
            f"{wheel}_lateral_force": ("N", 80 * lean),
            f"{wheel}_friction_needed": ("", np.abs(80 * lean) / WEIGHT[wheel]),
        }
    kinetic = 950 + 30 * weave * fade * np.cos(rate * t)
    work = 0.2 * t
    total = 1700 + work + drift * 950 * np.sin(9 * t)
    spin = speed / 0.3
    half_angle = heading / 2
    pose = np.column_stack([x, y, 0.3 + zero, np.cos(half_angle), zero, zero, np.sin(half_angle)])
    constraints = [
        Constraint("rear_wheel_ground", "holonomic", "position", "m"),
        Constraint("rear_wheel_ground", "holonomic", "velocity", "m/s"),
        Constraint("rear_wheel_slip", "nonholonomic", "velocity", "m/s"),
        Constraint("frame_quaternion", "norm", "position", ""),
    ]
    residuals = np.column_stack([2e-11 * np.sin(t), -3e-12 * np.cos(t), 4e-13 * np.cos(5 * t), 1e-16 * np.sin(t)])
    velocities = [
        Named("lean_rate", "rad/s"),
        Named("steer_rate", "rad/s"),
        Named("rear_spin", "rad/s"),
        Named("front_spin", "rad/s"),
    ]
    quaternion = [Named(f"frame_q{part}") for part in "wxyz"]
    blocks = (
        block(Group.COORDINATES, [Named("x", "m"), Named("y", "m"), *quaternion], pose[:, [0, 1, 3, 4, 5, 6]]),
        block(Group.VELOCITIES, velocities, np.column_stack([lean_rate, steer_rate, spin, spin])),
        block(Group.INPUTS, [Named("steer_torque", "N*m", "rider's torque on the handlebar")], (0.1 * steer)[:, None]),
        block(
            Group.OUTPUTS,
            [Named(name, unit, name.replace("_", " ")) for name, (unit, _) in outputs.items()],
            np.column_stack([values for _, values in outputs.values()]),
        ),
        block(Group.MULTIPLIERS, [Named("rear_wheel_normal", "N")], (WEIGHT["rear_wheel"] + zero)[:, None]),
        energy_block(kinetic, total - kinetic, work),
        power_block([Named("steer_torque")], (0.1 * steer * steer_rate)[:, None]),
        residual_block(constraints, residuals),
        pose_block("rear_frame", pose),
    )
    return Piece(t, blocks, "rolling", independent)

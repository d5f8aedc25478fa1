"""Machines made of parts, each in fewer than 25 lines: what the tests and the page show."""

from __future__ import annotations

import draisine as dr

parts = dr.parts


def bicycle() -> dr.Model:
    """The benchmark bicycle of Meijaard et al. 2007."""
    m = dr.Model("bicycle")
    frame = parts.frame(
        m, "frame", mass=85, center_of_mass=(0.3, 0.9), inertia={"xx": 9.2, "yy": 11, "zz": 2.8, "zx": -2.4},
        wheelbase=1.02, trail=0.08, steer_axis_tilt="18 deg", points={"axle": (0, 0.3), "saddle": (0.3, 0.9)},
    )  # fmt: skip
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=("frame_wheelbase", "front_radius"), mass=4, center_of_mass=(0.9, 0.7),
        inertia={"xx": 0.05892, "yy": 0.06, "zz": 0.00708, "zx": 0.00756},
    )  # fmt: skip
    parts.wheel(m, "rear", frame["axle"], radius=0.3, mass=2, inertia=(0.0603, 0.12), torque="pedal_torque")
    parts.wheel(m, "front", fork["axle"], radius=0.35, mass=3, inertia=(0.1405, 0.28))
    return m


def scooter() -> dr.Model:
    """An electric scooter with its rider fixed to the board, driven and braked at the wheels."""
    m = dr.Model("scooter")
    board = parts.frame(
        m, "board", mass=85, center_of_mass=(0.45, 1.0), inertia=(11, 12, 1.5), wheelbase=0.85, trail=0.02,
        steer_axis_tilt="13 deg", head_height=0.3, points={"axle": (0, 0.11), "rider": (0.4, 1.2)},
    )  # fmt: skip
    column = parts.rigid_fork(
        m,
        "column",
        board["head"],
        axle=("board_wheelbase", "front_radius"),
        mass=4,
        center_of_mass=(0.75, 0.7),
        inertia=(0.5, 0.5, 0.04),
    )
    parts.wheel(m, "rear", board["axle"], radius=0.11, mass=3, inertia=(0.008, 0.015), torque="motor_torque")
    parts.wheel(m, "front", column["axle"], radius=0.11, mass=1, inertia=(0.003, 0.006))
    parts.brake(m, "front_brake", "front")
    parts.aerodynamics(m, "air", board["rider"], drag=0.7)
    return m


def motorcycle() -> dr.Model:
    """A motorcycle with suspension, chain, brakes and drag; its tires roll without slip."""
    m = dr.Model("motorcycle")
    frame = parts.frame(
        m, "frame", mass=210, center_of_mass=(0.68, 0.62), inertia={"xx": 20, "yy": 38, "zz": 28, "zx": -2}, wheelbase=1.4,
        trail=0.1, steer_axis_tilt="25 deg", points={"pivot": (0.55, 0.4), "gearbox": (0.64, 0.42), "rider": (0.7, 1.0)},
    )  # fmt: skip
    axle = ("frame_wheelbase", "front_radius + front_tube")
    fork = parts.telescopic_fork(m, "fork", frame["head"], axle=axle, stiffness="18 kN/m", preload="900 N", damping=1200)
    axle = (0, "rear_radius + rear_tube")
    arm = parts.swing_arm(m, "arm", frame["pivot"], axle=axle, stiffness="14 kN*m/rad", preload="750 N*m", damping=900)
    parts.wheel(m, "front", fork["axle"], radius=0.24, tube=0.06, mass=12, inertia=(0.3, 0.5))
    parts.wheel(m, "rear", arm["axle"], radius=0.22, tube=0.09, mass=15, inertia=(0.4, 0.65))
    parts.chain(m, "chain", frame["gearbox"], "rear", pinion=0.04, sprocket=0.1)
    for wheel in ("front", "rear"):
        parts.brake(m, f"{wheel}_brake", wheel)
    parts.steering_damper(m, "damper", damping=7)
    parts.aerodynamics(m, "air", frame["rider"], drag=0.45, lift=0.08)
    return m


def trike() -> dr.Model:
    """A tadpole trike: two steered front wheels at the ends of an axle, one driven rear wheel."""
    m = dr.Model("trike")
    ends = {f"{side}_{what}": (1.05, y, 0.24) for side, y in (("left", 0.35), ("right", -0.35)) for what in ("pin",)}
    frame = parts.frame(m, "frame", mass=95, center_of_mass=(0.6, 0.5), inertia=(8, 12, 9), points={"axle": (0, 0.24), **ends})
    for side, y in (("left", 0.35), ("right", -0.35)):
        pin = parts.rigid_fork(
            m, f"{side}_pin", frame[f"{side}_pin"], axle=(1.05, y, 0.24), mass=1, center_of_mass=(1.05, y, 0.24),
            inertia=(0.01, 0.01, 0.01), steer=f"{side}_steer", torque="steer_torque" if side == "left" else "",
        )  # fmt: skip
        parts.wheel(m, side, pin["axle"], radius=0.24, mass=1.5, inertia=(0.03, 0.06))
    m.constrain("ackermann", "sin(left_steer - right_steer) - 0.7/1.05*sin(left_steer)*sin(right_steer)", unit="rad")
    parts.wheel(m, "rear", frame["axle"], radius=0.24, mass=2, inertia=(0.035, 0.07), torque="pedal_torque")
    return m


def car_with_trailer(speed: float = 1e-9) -> dr.Model:
    """A car and its trailer seen from above, each axle one wheel with a linear side force (case 11.5, set T1)."""
    m = dr.Model("car_with_trailer")
    points = {"front_axle": (1.15, 0.3), "rear_axle": (-1.52, 0.3), "hitch": (-2.55, 0.4)}
    car = parts.frame(
        m, "car", mass=1480, center_of_mass=(0, 0.5), inertia=(500, 2000, 2350 - 0.7), points=points, motion="planar"
    )
    steering = parts.rigid_fork(
        m, "steering", car["front_axle"], axle=(1.15, 0.3), mass=0, center_of_mass=(1.15, 0.3), inertia=(0, 0, 0), torque=""
    )
    m.prescribe("driver", "steer", m.parameter("steer_angle", 0.0, "rad", "of the front axle"))
    trailer = parts.trailer(
        m, "trailer", car["hitch"], mass=1150, center_of_mass=(-2.55 - 3.05, 0.6), inertia=(700, 1500, 1650 - 0.35), joint="yaw",
        points={"axle": (-2.55 - 3.25, 0.3)},
    )  # fmt: skip
    for name, axle, stiffness in (
        ("front", steering["axle"], 98e3),
        ("rear", car["rear_axle"], 112e3),
        ("towed", trailer["axle"], 80e3),
    ):
        tire = dr.contact.Creep(0.0, stiffness, speed=speed)
        parts.wheel(m, name, axle, radius=0.3, mass=0, inertia=(0.35, 0.7), tire=tire)
    return m


MACHINES = (bicycle, scooter, motorcycle, trike, car_with_trailer)

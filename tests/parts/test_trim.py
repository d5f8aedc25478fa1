"""Trim of machines under acceleration: load transfer, chain pull and anti-squat by statics; braking in a turn against a run."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.stability.continuation.branch import continuation
from machines_of_parts import bicycle, motorcycle

parts = dr.parts
G = 9.81


def test_load_transfer_of_a_braked_bicycle():
    """Moments about the rear contact: weight, inertia forces and the moments of the wheels that slow down."""
    m = bicycle()
    parts.brake(m, "brake", "front")
    bodies = ((85, 0.3, 0.9), (4, 0.9, 0.7), (2, 0, 0.3), (3, 1.02, 0.35))
    for rate in (0.0, -4.0):
        trim = dr.steady(m, {"speed": 8.0, "acceleration": rate}, free=("brake_torque",))
        tipping = sum(mass * (G * x - rate * z) for mass, x, z in bodies) - rate * (0.12 / 0.3 + 0.28 / 0.35)
        assert abs(trim["front_normal_force"] - tipping / 1.02) < 1e-9 * tipping
        force = sum(mass for mass, *_ in bodies) * rate + rate * 0.12 / 0.3**2  # at the front contact; the rear wheel is dragged
        assert abs(trim["front_longitudinal_force"] - force) < 1e-9 * 400
        torque = -force * 0.35 - 0.28 * rate / 0.35
        assert abs(-trim["brake_applied"] - torque) < 1e-9 * 400 and trim["acceleration"] == pytest.approx(rate, abs=1e-12)


SPROCKETS = {"pinion": 0.042, "sprocket": 0.105}
SHAPE = {"pivot": (0.56, 0.41), "gearbox": (0.65, 0.44), "w": 1.41, "r": 0.31, "h": 0.63, "x": 0.7, "M": 240.0}


def driven(drive: str, s: dict = SHAPE, **radii: float) -> dr.Model:
    """A machine in its plane whose mass is in its frame, with massless arm, fork and wheels."""
    m = dr.Model("driven")
    points = {"pivot": s["pivot"], "gearbox": s["gearbox"], "nose": (s["w"], s["r"])}
    frame = parts.frame(
        m, "frame", mass=s["M"], center_of_mass=(s["x"], s["h"]), inertia=(20, 35, 25), points=points, motion="in_plane"
    )
    arm = parts.swing_arm(
        m, "arm", frame["pivot"], axle=(0, s["r"]), mass=0, inertia=(0, 0, 0), stiffness=15e3, preload=1.0, damping=100.0
    )
    parts.wheel(m, "rear", arm["axle"], radius=s["r"], mass=0, inertia=(0, 0))
    parts.wheel(m, "front", frame["nose"], radius=s["r"], mass=0, inertia=(0, 0))
    if drive == "chain":
        parts.chain(m, "chain", frame["gearbox"], "rear", **(radii or SPROCKETS))
    elif drive == "engine":
        parts.engine(
            m, "engine", knots=([0.0, 100.0, 300.0], [0.0, 1.0]), map=[[0.0, 80.0], [-5.0, 120.0], [-20.0, 60.0]], ratio=2.5
        )
    else:
        parts.shaft(m, "shaft", "rear", ratio=2.5)
    parts.anti_squat(m, "squat", "arm", chain="chain" if drive == "chain" else "")
    return m


def squat_by_hand(s: dict, pinion: float, sprocket: float) -> tuple[float, float]:
    """tan σ, and the moment about the pivot per thrust, of chain and thrust alone, from the tangent of two circles."""
    hub, gear, pivot = np.array([0.0, s["r"]]), np.array(s["gearbox"]), np.array(s["pivot"])
    line = gear - hub
    d = np.hypot(*line)
    # unit normal n of the run with n·(gear − hub) = sprocket − pinion, pointing up: both circles touch the line from below
    turn = np.arccos((sprocket - pinion) / d)
    base = np.arctan2(line[1], line[0])
    normal = np.array([np.cos(base + turn), np.sin(base + turn)])
    run = np.array([normal[1], -normal[0]])  # forward
    touch = hub + sprocket * normal
    # A: touch + a run = pivot + b (hub − pivot)
    _, b = np.linalg.solve(np.column_stack([run, pivot - hub]), pivot - touch)
    meet = pivot + b * (hub - pivot)
    tension = s["r"] / sprocket  # per thrust: the massless wheel is in balance
    lever = touch - pivot
    chain = lever[0] * run[1] - lever[1] * run[0]
    return float(meet[1] / meet[0]), float(tension * chain + pivot[1])  # the thrust acts at the ground, below the pivot


@pytest.mark.parametrize("seed", range(3))
def test_anti_squat_of_a_chain(seed):
    s, radii = dict(SHAPE), dict(SPROCKETS)
    if seed:
        rng = np.random.default_rng(seed)
        s |= {"gearbox": tuple(np.array(s["gearbox"]) + rng.uniform(-0.03, 0.03, 2)), "h": rng.uniform(0.5, 0.8)}
        radii = {"pinion": rng.uniform(0.03, 0.05), "sprocket": rng.uniform(0.08, 0.12)}
    tan_squat, moment = squat_by_hand(s, **radii)
    e = dr.derive(driven("chain", s, **radii))
    design = {"arm_angle": 0.0, "speed": 10.0}
    free = ("arm_preload", "drive_torque")
    index = [p.name for p in e.parameters].index("arm_preload")
    rest, pulled = (dr.steady(e, {**design, "acceleration": a}, free=free) for a in (0.0, 2.0))
    thrust, transfer = s["M"] * 2.0, s["M"] * 2.0 * s["h"] / s["w"]
    assert abs(pulled["rear_longitudinal_force"] - thrust) < 1e-9 * thrust
    assert abs(pulled["rear_normal_force"] - rest["rear_normal_force"] - transfer) < 1e-9 * transfer
    assert abs(pulled["squat_anti_squat"] - tan_squat / (s["h"] / s["w"])) < 1e-9
    # the spring carries the load transfer less what squat takes: by the lines, and by the moments of all forces
    change = pulled.p[index] - rest.p[index]
    by_lines = transfer * s["pivot"][0] * (1 - tan_squat / (s["h"] / s["w"]))
    assert abs(change - by_lines) < 1e-9 * transfer
    assert abs(change - (transfer * s["pivot"][0] - thrust * moment)) < 1e-9 * transfer


def test_anti_squat_of_a_shaft():
    e = dr.derive(driven("shaft"))
    index = [p.name for p in e.parameters].index("arm_preload")
    rest, pulled = (
        dr.steady(e, {"arm_angle": 0.0, "speed": 10.0, "acceleration": a}, free=("arm_preload", "drive_torque"))
        for a in (0.0, 2.0)
    )
    (x, z), slope = SHAPE["pivot"], SHAPE["h"] / SHAPE["w"]
    assert abs(pulled["squat_squat_angle"] - np.arctan(z / x)) < 1e-12
    transfer = SHAPE["M"] * 2.0 * slope
    assert abs(pulled.p[index] - rest.p[index] - transfer * x * (1 - z / x / slope)) < 1e-9 * transfer
    assert abs(pulled["drive_torque"] * 2.5 - SHAPE["M"] * 2.0 * SHAPE["r"]) < 1e-9 * 150


def test_an_engine_pulls_by_its_map():
    """Thrust of a massless wheel: ratio times the torque of the map, linear between its knots, over the radius."""
    found = dr.steady(driven("engine"), {"arm_angle": 0.0, "speed": 20.0, "acceleration": 2.0}, free=("arm_preload", "throttle"))
    share = (2.5 * 20.0 / SHAPE["r"] - 100.0) / 200.0  # of the way from 100 to 300 rad/s
    shut, full = -5.0 - 15.0 * share, 120.0 - 60.0 * share
    wanted = SHAPE["M"] * 2.0 * SHAPE["r"] / 2.5
    assert 0 < share < 1 and abs(found["throttle"] - (wanted - shut) / (full - shut)) < 1e-9
    assert abs(found["engine_torque"] - wanted) < 1e-9 * wanted


def test_braking_in_a_turn_begins_as_its_trim_says():
    """A run from the trim keeps lean, steer and travels to first order, while all velocities fall in proportion."""
    e = dr.derive(motorcycle())
    held = ("front_brake_torque", "steer_torque")
    trim = dr.steady(e, {"speed": 20.0, "radius": 100.0, "acceleration": -3.0}, free=held)
    assert abs(trim["speed"] / trim["yaw_rate"] - 100.0) < 1e-9 and trim["lean"] < -0.4 and trim["fork_travel"] > 0.02
    h = 1e-3
    run = dr.simulate(
        e, h, start=trim, inputs={n: trim[n] for n in held}, samples=[0.0, h], method=dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    )
    assert abs((run["speed"][-1] - run["speed"][0]) / h + 3.0) < 1e-3
    for name in ("lean", "steer", "fork_travel", "arm_angle"):
        assert abs(run[name][-1] - run[name][0]) < 1e-6  # of second order in h
    for name in ("front_spin", "rear_spin", "yaw_rate"):
        assert abs(run[name][-1] / run[name][0] - run["speed"][-1] / run["speed"][0]) < 1e-5
    freed = dr.steady(
        e,
        {"speed": 20.0, "radius": 100.0, "front_brake_torque": trim["front_brake_torque"]},
        free=("steer_torque", "acceleration"),
        near=trim,
    )
    assert abs(freed["acceleration"] + 3.0) < 1e-9


def test_targets_that_do_not_exist_are_refused():
    m = dr.Model("block")
    m.free(m.body("block", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(ArgumentError, match="'speed'"):
        dr.steady(m, {"acceleration": 1.0})
    with pytest.raises(ArgumentError, match="radius of a path must not be 0"):
        dr.steady(bicycle(), {"speed": 5.0, "radius": 0.0})


def test_a_trim_says_that_it_is_none_of_the_steady_motions():
    m = bicycle()
    parts.brake(m, "brake", "front")
    e = dr.derive(m)
    trim = dr.steady(e, {"speed": 8.0, "acceleration": -2.0}, free=("brake_torque",))
    assert any("its speed changes with -2 m/s²" in text for text in trim.warnings) and trim.units["acceleration"] == "m/s^2"
    assert dr.steady(e, {"speed": 8.0, "acceleration": 0.0}, free=("brake_torque",)).warnings == ()
    with pytest.raises(ArgumentError, match="target of `steady` alone"):
        dr.modes(e, speed=[5.0, 6.0], fixed={"acceleration": -1.0}, free=("brake_torque",))


def braked_car(friction: float) -> dr.Model:
    """A car in its plane whose mass is in its frame. One lever brakes both axles in proportion to their loads at μ g."""
    m = dr.Model("braked_car")
    points = {"rear_axle": (0.0, 0.3), "front_axle": (2.6, 0.3)}
    frame = parts.frame(
        m, "frame", mass=1200, center_of_mass=(1.3, 0.5), inertia=(400, 1500, 1600), points=points, motion="in_plane"
    )
    for name, share in (("rear", (1.3 - friction * 0.5) / 2.6), ("front", (1.3 + friction * 0.5) / 2.6)):
        tire = dr.contact.LinearTire(50e3, longitudinal=80e3, friction=friction)
        parts.wheel(m, name, frame[f"{name}_axle"], radius=0.3, mass=0.0, inertia=(0.5, 1.0), tire=tire)
        parts.brake(m, f"{name}_brake", name, input="lever", gain=share)
    return m


def test_a_car_is_not_braked_beyond_friction():
    """Both axles: μ g. The rear axle alone, from its load by moments about the front contact: a = μ g (l/2)/(l + μ h)."""
    friction = 0.8
    e = dr.derive(braked_car(friction), work=False)
    for off, limit in ((None, friction * G), ("front", friction * G * 1.3 / (2.6 + friction * 0.5))):
        options = {"free": ("lever",), "parameters": {f"{off}_brake_gain": 0.0} if off else None}
        trim = dr.steady(e, {"speed": 20.0, "acceleration": -0.95 * limit}, **options)
        assert -0.3 < trim["rear_slip_ratio"] < 0.0 and not any("slide" in text for text in trim.warnings)
        with pytest.raises(SolverError) as refused:
            dr.steady(e, {"speed": 20.0, "acceleration": -1.05 * limit}, **options)
        followed = refused.value.args[0].partition("it was followed up to acceleration = -")[2]
        assert 0.95 * limit < float(followed) < limit


def test_a_tire_that_slides_is_reported():
    """A burnout: the rear wheel spins with μ N against the front brake. It is found where near= asks for it, with a warning."""
    m = braked_car(0.8)
    m.generalized_force("rear_angle", m.input("rear_torque", "N*m"), name="engine")
    e = dr.derive(m, work=False)
    burnout, held = {"speed": 3.0, "rear_spin": 40.0}, ("rear_torque", "lever")
    with pytest.raises(SolverError, match=r"rear slides with the slip ratio 3 .*near=… also finds"):
        dr.steady(e, burnout, free=held)
    found = dr.steady(e, burnout, free=held, near=burnout)
    thrust = found["rear_longitudinal_force"]
    assert thrust == pytest.approx(0.8 * found["rear_normal_force"], rel=1e-6)
    assert -found["front_brake_applied"] == pytest.approx(0.3 * thrust, rel=1e-6)
    assert any("rear slides with the slip ratio 3" in text for text in found.warnings)


def test_a_torque_beyond_friction_is_refused():
    e = dr.derive(braked_car(0.8), work=False)
    with pytest.raises(SolverError, match="no steady motion with speed = 20, lever = 6000"):
        dr.steady(e, {"speed": 20.0, "lever": 6000.0}, free=("acceleration",))
    torque = 1000.0  # the wheels slow down with the car: their inertia takes a share
    slowed = dr.steady(e, {"speed": 20.0, "lever": torque}, free=("acceleration",))
    assert slowed["acceleration"] == pytest.approx(-torque / 0.3 / (1200 + 2 * 1.0 / 0.3**2), rel=3e-3)
    with pytest.raises(ArgumentError, match="target of `steady` alone"):
        continuation(e, "lever", start={"speed": 20.0}, free=("acceleration",))


def test_a_dry_brake_needs_a_tire_with_stiffness():
    """Refused with the cure for a tire whose friction depends on a constraint force; with the cure the wheel locks."""
    for stiffness in (None, 2e5):
        m = dr.Model("braked")
        frame = parts.frame(
            m, "frame", mass=600, center_of_mass=(0, 0.3), inertia=(9, 9, 9), points={"axle": (0, 0.3)}, motion="in_plane"
        )
        m.generalized_force("frame_pitch", "-1e6*frame_pitch - 1e5*frame_wy")
        tire = dr.contact.LinearTire(50e3, longitudinal=80e3, friction=0.8, stiffness=stiffness)
        parts.wheel(m, "rear", frame["axle"], radius=0.3, mass=30.0, inertia=(0.5, 1.0), tire=tire)
        parts.brake(m, "brake", "rear", law="dry")
        if stiffness is None:
            with pytest.raises(ModelError, match="give tires a vertical stiffness="):
                dr.derive(m, work=False)
        else:
            run = dr.simulate(m, 0.3, start={"speed": 10.0}, inputs={"brake_torque": 4000.0}, samples=31)
            assert run.status.complete and abs(run["rear_spin"][-1]) < 1e-9


def test_a_radius_is_reported_as_it_was_given():
    with pytest.raises(SolverError) as refused:
        dr.steady(bicycle(), {"speed": 8.0, "radius": 2.5}, near={"speed": 8.0})  # without torques there is no such turn
    assert "no steady motion with speed = 8, radius = 2.5 was found" in refused.value.args[0]
    assert "curvature" not in str(refused.value)

"""Turning or shifting the whole problem turns or shifts the start and changes nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.program.variational import Direction
from draisine.simulation.initial.batch import BatchTargets, consistent_starts
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.sensitivities import start_jacobian

ANGLES = (3.05, 3.1, 3.14, math.pi, -math.pi, -3.14, 20 * math.pi, 20 * math.pi + 3.1, -7.0)


def tricycle(root: str) -> dr.Model:
    """A frame on two rear wheels and a castor in front; `root` is the kind of its joint to the ground."""
    m = dr.Model(f"tricycle_{root}")
    frame = m.body("frame", mass=20, center_of_mass=(0.3, 0, 0.2), inertia=(1, 2, 2))
    if root == "free":
        m.free(frame)
    elif root == "planar":
        m.planar(frame)
    else:
        m.free_euler(frame, order=root)
    for side, y in (("left", 0.4), ("right", -0.4)):
        wheel = m.body(f"{side}_wheel", mass=1, inertia=(0.05, 0.1, 0.05))
        m.revolute(f"{side}_angle", frame, wheel, axis="y", at=(0, y, 0.3), rate=f"{side}_spin")
        m.wheel(side, wheel, 0.3)
    fork = m.body("fork", mass=1, inertia=(0.05, 0.05, 0.05))
    m.revolute("steer", frame, fork, axis="z", at=(1.0, 0, 0.3))
    front = m.body("front_wheel", mass=1, inertia=(0.05, 0.1, 0.05))
    m.revolute("front_angle", fork, front, axis="y", at=(-0.1, 0, 0), rate="front_spin")
    m.wheel("front", front, 0.3)
    m.generalized_force("steer", m.input("steer_torque", "N*m"))
    m.output("speed", "body_velocity_x(frame)", "m/s")
    m.output("heading", "heading(frame)", "rad")
    m.output("course", "90 - heading(frame)*180/pi", "deg")
    m.output("hitch_x", "position_x(hitch)", "m")
    m.output("hitch_y", "position_y(hitch)", "m")
    m.point("hitch", frame, at=(-0.5, 0.1, 0.3))
    return m


def truck_and_trailer() -> dr.Model:
    """Two free bodies that a constraint joins at the hitch: they turn together."""
    m = dr.Model("truck_and_trailer")
    for name, hitch in (("truck", (-0.5, 0, 0)), ("trailer", (1.5, 0, 0))):
        body = m.body(name, mass=10, inertia=(1, 1, 1))
        m.planar(body)
        m.knife_edge(body, name=f"{name}_axle")
        m.point(f"{name}_hitch", body, at=hitch)
        m.output(f"{name}_course", f"heading({name})", "rad")
    for axis in "xy":
        m.constrain(f"hitch_{axis}", f"position_{axis}(truck_hitch) - position_{axis}(trailer_hitch)", unit="m")
    m.output("speed", "body_velocity_x(truck)", "m/s")
    return m


@pytest.fixture(scope="module")
def bicycle() -> StartProblem:
    return StartProblem(dr.derive(dr.gallery.bicycle()))


def turned(angle: float, x: float, y: float) -> tuple[float, float]:
    return math.cos(angle) * x - math.sin(angle) * y, math.sin(angle) * x + math.cos(angle) * y


def same_posture(start: dr.Start, plain: dr.Start, invariant: tuple[str, ...]) -> None:
    """The same start but for position and heading."""
    for name in invariant:
        assert start.outputs[name] == pytest.approx(plain.outputs[name], abs=1e-10), name
    np.testing.assert_allclose(start.v, plain.v, rtol=0, atol=1e-9)


def angle_between(a: float, b: float) -> float:
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


@pytest.mark.parametrize("heading", ANGLES)
def test_the_bicycle_stands_upright_at_every_heading(bicycle: StartProblem, heading: float) -> None:
    start = consistent_start(bicycle, {"speed": 5.0, "heading": heading})
    assert abs(start.outputs["lean"]) < 1e-14
    assert abs(start.outputs["pitch"]) < 1e-14
    assert angle_between(start.outputs["heading"], heading) < 1e-13 * max(1.0, abs(heading))
    assert start.coordinates["frame_z"] == pytest.approx(0.3, abs=1e-14)
    assert start.velocities["rear_wheel_spin"] == pytest.approx(5.0 / 0.3, rel=1e-13)
    assert start.velocities["front_wheel_spin"] == pytest.approx(5.0 / 0.35, rel=1e-13)


def test_a_heading_in_degrees_across_the_cut() -> None:
    run = dr.simulate(dr.gallery.bicycle(), 0.1, start={"speed": 5.0, "heading": "180 deg"})
    assert np.max(np.abs(run["lean"])) < 1e-12
    assert run["frame_x"][-1] == pytest.approx(-0.5, abs=1e-9)


def test_random_headings_positions_and_wheel_turns_of_the_bicycle(bicycle: StartProblem) -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        tilt = {"lean": random.uniform(-0.9, 0.9), "steer": random.uniform(-0.6, 0.6), "speed": random.uniform(1, 9)}
        plain = consistent_start(bicycle, {**tilt, "heading": 0.0, "frame_x": 0.0, "frame_y": 0.0})
        angle, x, y = random.uniform(-40, 40), *random.uniform(-100, 100, 2)
        spun = {"rear_wheel_angle": random.uniform(-500, 500), "front_wheel_angle": random.uniform(-500, 500)}
        start = consistent_start(bicycle, {**tilt, **spun, "heading": angle, "frame_x": x, "frame_y": y})
        same_posture(start, plain, ("lean", "pitch", "speed", "roll_rate", "front_wheel_contact_z"))
        assert angle_between(start.outputs["heading"], angle) < 1e-12
        ahead = turned(angle, *(plain.outputs[f"front_wheel_contact_{a}"] for a in "xy"))
        for axis, expected, shift in zip("xy", ahead, (x, y), strict=True):
            assert start.outputs[f"front_wheel_contact_{axis}"] == pytest.approx(expected + shift, abs=1e-10)


def test_targets_of_contact_points_shift_the_bicycle(bicycle: StartProblem) -> None:
    random = np.random.default_rng(4)
    plain = consistent_start(bicycle, {"speed": 3.0})
    for _ in range(20):
        x, y = random.uniform(-50, 50, 2)
        start = consistent_start(bicycle, {"speed": 3.0, "front_wheel_contact_x": x, "front_wheel_contact_y": y})
        same_posture(start, plain, ("lean", "pitch", "heading", "speed"))
        assert start.outputs["rear_wheel_contact_x"] == pytest.approx(x - 1.02, abs=1e-12)
        assert start.outputs["rear_wheel_contact_y"] == pytest.approx(y, abs=1e-12)
        angle = random.uniform(-9, 9)
        start = consistent_start(bicycle, {"speed": 3.0, "heading": angle, "front_wheel_contact_y": y})
        same_posture(start, plain, ("lean", "pitch", "speed"))
        assert start.outputs["rear_wheel_contact_y"] == pytest.approx(y - 1.02 * math.sin(angle), abs=1e-12)


@pytest.mark.parametrize("root", ["free", "planar", "zxy", "zyx"])
def test_random_poses_of_a_tricycle(root: str) -> None:
    problem = StartProblem(dr.derive(tricycle(root)), compiled=root == "free")
    random = np.random.default_rng(5)
    for _ in range(15):
        given = {"steer": random.uniform(-0.8, 0.8), "speed": random.uniform(-3, 3)}
        plain = consistent_start(problem, {**given, "heading": 0.0, "hitch_x": 0.0, "hitch_y": 0.0})
        angle, x, y = random.uniform(-20, 20), *random.uniform(-30, 30, 2)
        start = consistent_start(problem, {**given, "heading": angle, "hitch_x": x, "hitch_y": y})
        np.testing.assert_allclose(start.outputs["speed"], plain.outputs["speed"], atol=1e-12)
        names = [n for n in start.velocities if not n.endswith(("_x_rate", "_y_rate"))]
        np.testing.assert_allclose([start.velocities[n] for n in names], [plain.velocities[n] for n in names], atol=1e-9)
        for point in ("left_contact", "right_contact", "front_contact"):
            expected = turned(angle, *(plain.outputs[f"{point}_{a}"] for a in "xy"))
            assert start.outputs[f"{point}_x"] == pytest.approx(expected[0] + x, abs=1e-10)
            assert start.outputs[f"{point}_y"] == pytest.approx(expected[1] + y, abs=1e-10)
        course = consistent_start(problem, {**given, "course": 90.0 - math.degrees(angle), "hitch_x": x, "hitch_y": y})
        np.testing.assert_allclose(course.outputs["front_contact_x"], start.outputs["front_contact_x"], atol=1e-9)


def two_wheeler(root: str) -> dr.Model:
    """A bicycle-like vehicle, its frame on a quaternion or on Euler angles."""
    m = dr.Model(f"two_wheeler_{root}")
    frame = m.body("frame", mass=80, center_of_mass=(0.3, 0, 0.6), inertia=(9, 11, 3))
    if root == "free":
        m.free(frame)
    else:
        m.free_euler(frame, order=root)
    rear = m.body("rear_body", mass=2, inertia=(0.06, 0.12, 0.06))
    m.revolute("rear_angle", frame, rear, axis="y", rate="rear_spin")
    m.wheel("rear", rear, 0.3)
    fork = m.body("fork", mass=4, inertia=(0.06, 0.06, 0.01))
    m.revolute("steer", frame, fork, axis="z", at=(0.9, 0, 0.1), orientation=[("y", -0.3)])
    m.generalized_force("steer", m.input("steer_torque", "N*m"))
    front = m.body("front_body", mass=3, inertia=(0.14, 0.28, 0.14))
    m.revolute("front_angle", fork, front, axis="y", at=(0.05, 0, -0.1), rate="front_spin")
    m.wheel("front", front, 0.3)
    m.output("speed", "body_velocity_x(frame)", "m/s")
    m.output("roll_rate", "rate_x(frame)", "rad/s")
    for angle in ("heading", "lean", "pitch"):
        m.output(angle, f"{angle}(frame)", "rad")
    return m


def test_quaternions_and_angles_in_any_order_start_alike() -> None:
    random = np.random.default_rng(6)
    problems = [StartProblem(dr.derive(two_wheeler(root)), compiled=False) for root in ("free", "zyx", "xyz")]
    shown = ("speed", "lean", "pitch", "roll_rate", "rear_contact_z", "front_contact_z")
    for _ in range(15):
        targets = {"lean": random.uniform(-1, 1), "steer": random.uniform(-0.6, 0.6), "heading": random.uniform(-40, 40)}
        starts = [consistent_start(problem, {**targets, "speed": 5.0}) for problem in problems]
        found = [[*(s.outputs[n] for n in shown), *(s.velocities[n] for n in ("rear_spin", "front_spin"))] for s in starts]
        for one, start in zip(found, starts, strict=True):
            np.testing.assert_allclose(one, found[0], rtol=0, atol=1e-8)
            assert angle_between(start.outputs["heading"], targets["heading"]) < 1e-10
            assert start.velocities["steer_rate"] == 0.0


@pytest.mark.parametrize("root", ["free", "zxy", "zyx", "xyz", "yxz", "xzy"])
def test_a_body_in_the_air_takes_every_attitude(root: str) -> None:
    m = dr.Model(f"body_{root}")
    body = m.body("body", mass=8, inertia=(1, 2, 3))
    if root == "free":
        m.free(body)
    else:
        m.free_euler(body, order=root)
    for angle in ("heading", "lean", "pitch"):
        m.output(angle, f"{angle}(body)", "rad")
    problem, random = StartProblem(dr.derive(m), compiled=False), np.random.default_rng(7)
    for _ in range(25):
        targets = {"heading": random.uniform(-20, 20), "lean": random.uniform(-1.5, 1.5), "pitch": random.uniform(-3.1, 3.1)}
        start = consistent_start(problem, targets)
        for name, value in targets.items():
            assert angle_between(start.outputs[name], value) < 1e-9, (name, targets)
        if root in ("free", "zxy", "zyx"):  # what is not given is the same at every heading
            tilt = {"lean": targets["lean"]}
            turned = consistent_start(problem, {**tilt, "heading": targets["heading"]})
            assert abs(turned.outputs["pitch"] - consistent_start(problem, {**tilt, "heading": 0.0}).outputs["pitch"]) < 1e-8


def turn(axis: str, angle: float) -> np.ndarray:
    """Rotation about a coordinate axis."""
    c, s, k = math.cos(angle), math.sin(angle), "xyz".index(axis)
    found, (i, j) = np.eye(3), ((k + 1) % 3, (k + 2) % 3)
    found[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return found


def test_euler_angles_of_every_order_through_their_whole_range() -> None:
    """Any turns, the middle angle up to its singular positions: place and velocity of a point by products of rotations."""
    orders = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c]
    random, point, step = np.random.default_rng(9), np.array([0.3, -0.2, 0.5]), 1e-6
    for order in orders:
        m = dr.Model(f"body_{order}")
        m.free_euler(m.body("body", mass=2, inertia=(1, 2, 3)), order=order)
        m.point("p", "body", at=tuple(point))
        for axis in "xyz":
            m.output(f"p_{axis}", f"position_{axis}(p)", "m")
            m.output(f"v_{axis}", f"velocity_{axis}(p)", "m/s")
        problem = StartProblem(dr.derive(m), compiled=False)
        for trial in range(6):
            angles = random.uniform(-math.pi, math.pi, 3) + 2 * math.pi * random.integers(-3, 4, 3)
            if trial % 2:  # beside ±90°, where the middle angle of three axes is singular
                angles[1] = random.choice([-1, 1]) * math.pi / 2 + random.uniform(-0.02, 0.02)
            rates, place, speed = random.uniform(-2, 2, 3), random.uniform(-50, 50, 3), random.uniform(-2, 2, 3)
            targets = {f"body_turn{i + 1}": angles[i] for i in range(3)} | {f"body_turn{i + 1}_rate": rates[i] for i in range(3)}
            targets |= {f"body_{a}": place[i] for i, a in enumerate("xyz")}
            targets |= {f"body_{a}_rate": speed[i] for i, a in enumerate("xyz")}
            start = consistent_start(problem, targets)

            def moved(t: float) -> np.ndarray:
                turned_by = [turn(axis, a + r * t) for axis, a, r in zip(order, angles, rates, strict=True)]  # noqa: B023
                return place + speed * t + turned_by[0] @ turned_by[1] @ turned_by[2] @ point  # noqa: B023

            np.testing.assert_allclose([start.outputs[f"p_{a}"] for a in "xyz"], moved(0.0), rtol=0, atol=1e-11)
            velocity = (moved(step) - moved(-step)) / (2 * step)
            np.testing.assert_allclose([start.outputs[f"v_{a}"] for a in "xyz"], velocity, rtol=0, atol=1e-7)


def test_bodies_that_a_constraint_joins_turn_together() -> None:
    problem = StartProblem(dr.derive(truck_and_trailer()), compiled=False)
    for angle in ANGLES:
        start = consistent_start(problem, {"speed": 2.0, "truck_course": angle})
        assert angle_between(start.outputs["trailer_course"], angle) < 1e-12
        assert start.velocities["trailer_vx"] == pytest.approx(2.0, abs=1e-12)
        start = consistent_start(problem, {"speed": 2.0, "truck_heading": angle, "truck_x": 30.0, "truck_y": -20.0})
        assert start.coordinates["trailer_heading"] == pytest.approx(angle, abs=1e-12)
        assert start.coordinates["trailer_x"] == pytest.approx(30.0 - 2.0 * math.cos(angle), abs=1e-10)
        assert start.velocities["trailer_vx"] == pytest.approx(2.0, abs=1e-12)
    folded = consistent_start(problem, {"speed": 2.0, "truck_course": 3.0, "trailer_course": 3.4})
    assert folded.velocities["trailer_heading_rate"] == pytest.approx(-2.0 / 1.5 * math.sin(0.4), abs=1e-12)


def test_a_bicycle_on_waves_is_turned_too() -> None:
    model = dr.gallery.bicycle()
    model.ground(height="0.02*sin(x)*cos(y)")
    problem = StartProblem(dr.derive(model), compiled=False)
    for heading in (0.0, 1.5, 3.0, 3.1, math.pi, -3.14):
        start = consistent_start(problem, {"speed": 5.0, "heading": heading})
        assert abs(start.outputs["lean"]) < 0.05
        assert angle_between(start.outputs["heading"], heading) < 1e-12


def test_batches_are_turned_alike(bicycle: StartProblem) -> None:
    headings = np.array(ANGLES)
    targets = {"heading": headings, "speed": np.full(len(ANGLES), 5.0), "front_wheel_contact_y": np.linspace(-3, 3, len(ANGLES))}
    e = bicycle.equations
    given = np.zeros((len(ANGLES), len(e.inputs))), np.tile(e.default_parameters, (len(ANGLES), 1))
    found = consistent_starts(bicycle, BatchTargets(targets, {}, *given))
    assert found.solved.all()
    for k in range(len(ANGLES)):
        single = consistent_start(bicycle, {name: float(column[k]) for name, column in targets.items()})
        assert np.array_equal(found.q[k], single.q)
        assert np.array_equal(found.v[k], single.v)


@pytest.mark.parametrize(
    "targets",
    [
        {"speed": 5.0, "heading": 3.1, "steer": 0.2},
        {"speed": 5.0, "heading": -2.0, "front_wheel_contact_y": 2.0, "lean": 0.3},
        {"speed": 2.0, "heading": 2.0, "steer": 0.4, "rear_wheel_contact_x": 1.0, "rear_wheel_contact_y": 2.0},
    ],
)
def test_sensitivities_follow_the_turned_references(bicycle: StartProblem, targets: dict[str, float]) -> None:
    e, step = bicycle.equations, 1e-3
    names = [p.name for p in e.parameters]
    directions = [*(Direction(n, "x", 0) for n in targets), *(Direction(n, "p", names.index(n)) for n in ("trail", "wheelbase"))]
    q, v, _ = start_jacobian(bicycle, targets, consistent_start(bicycle, targets), directions)

    def at(name: str, by: float) -> np.ndarray:
        if name in targets:
            start = consistent_start(bicycle, {**targets, name: targets[name] + by})
        else:
            value = e.parameters[names.index(name)].default
            start = consistent_start(bicycle, targets, parameters={name: value + by})
        return np.concatenate([start.q, start.v])

    for j, direction in enumerate(directions):
        h = step * (0.01 if direction.slot == "p" else 1.0)
        near, far = (at(direction.name, k * h) - at(direction.name, -k * h) for k in (1, 2))
        expected = (8 * near - far) / (12 * h)
        np.testing.assert_allclose(np.concatenate([q[:, j], v[:, j]]), expected, rtol=2e-6, atol=2e-7, err_msg=direction.name)

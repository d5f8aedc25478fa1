"""Starts that a person would expect: each model from its description, each start by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.simulation.initial.batch import BatchTargets, consistent_starts
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem


def wheel_on(m: dr.Model, carrier: object, name: str, at: tuple[float, float, float], radius: float, **contact: object) -> None:
    """A balanced wheel with its hinge and its contact: angle <name>_angle, rate <name>_spin."""
    wheel = m.body(f"{name}_body", mass=1.0, inertia=(0.01, 0.02, 0.01))
    m.revolute(f"{name}_angle", carrier, wheel, axis="y", at=at, rate=f"{name}_spin")
    m.wheel(name, wheel, radius, **contact)


def balancing_robot() -> dr.Model:
    """A chassis on two coaxial wheels of radius 0.2 m, 0.6 m apart, driven by torques between chassis and wheels."""
    m = dr.Model("robot")
    chassis = m.body("chassis", mass=10.0, center_of_mass=(0, 0, 0.5), inertia=(0.5, 0.5, 0.3))
    m.free(chassis)
    for side, y in (("left", 0.3), ("right", -0.3)):
        wheel_on(m, chassis, side, (0, y, 0), 0.2)
        m.generalized_force(f"{side}_angle", m.input(f"{side}_torque", "N*m"))
    m.output("speed", "body_velocity_x(chassis)", "m/s")
    m.output("yaw_rate", "rate_z(chassis)", "rad/s")
    m.output("pitch", "pitch(chassis)", "rad")
    m.output("lean", "lean(chassis)", "rad")
    return m


def skateboard() -> dr.Model:
    """A deck that rolls on its trucks against a spring; two wheel sets, steered by the lean: tan of the steer angle = lean/2."""
    m = dr.Model("skateboard")
    base = m.body("base", mass=3.0, inertia=(0.01, 0.05, 0.05))
    m.planar(base)
    deck = m.body("deck", mass=60.0, center_of_mass=(0, 0, 0.9), inertia=(1.0, 1.0, 0.5))
    m.revolute("lean", base, deck, axis="x", at=(0, 0, 0.1))
    m.generalized_force("lean", "-80*lean")
    for end, x, sign in (("front", 0.4, 1), ("back", -0.4, -1)):
        truck = m.body(f"{end}_truck", mass=0.5, inertia=(0.001, 0.001, 0.001))
        m.revolute(f"{end}_steer", base, truck, axis="z", at=(x, 0, 0.03))
        m.constrain(f"{end}_geometry", f"tan({end}_steer) - ({sign}*lean/2)", unit="rad")
        wheel_on(m, truck, f"{end}_wheel", (0, 0, 0), 0.03)
    m.output("speed", "body_velocity_x(base)", "m/s")
    return m


def car() -> dr.Model:
    """A body on a rear axle with two wheels, and one steered front wheel in the middle with a steer torque."""
    m = dr.Model("car")
    body = m.body("body", mass=1000.0, center_of_mass=(1.3, 0, 0.5), inertia=(300, 1400, 1500))
    m.planar(body)
    for side, y in (("left", 0.75), ("right", -0.75)):
        wheel_on(m, body, side, (0, y, 0.3), 0.3)
        m.generalized_force(f"{side}_angle", m.input(f"{side}_torque", "N*m"))
    carrier = m.body("carrier", mass=10.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("steer", body, carrier, axis="z", at=(2.6, 0, 0.3))
    m.generalized_force("steer", m.input("steer_torque", "N*m"))
    wheel_on(m, carrier, "front", (0, 0, 0), 0.3)
    m.output("speed", "body_velocity_x(body)", "m/s")
    m.output("yaw_rate", "rate_z(body)", "rad/s")
    return m


def castor_cart() -> dr.Model:
    """A cart on four castors with a trail of 0.05 m and wheels of radius 0.1 m; their swivels are free."""
    m = dr.Model("castor_cart")
    cart = m.body("cart", mass=30.0, inertia=(1, 1, 1))
    m.planar(cart)
    for name, x, y in (("fl", 0.4, 0.3), ("fr", 0.4, -0.3), ("rl", -0.4, 0.3), ("rr", -0.4, -0.3)):
        fork = m.body(f"{name}_fork", mass=0.5, inertia=(0.01, 0.01, 0.01))
        m.revolute(f"{name}_swivel", cart, fork, axis="z", at=(x, y, 0.1))
        wheel_on(m, fork, name, (-0.05, 0, 0), 0.1)
    m.output("speed", "body_velocity_x(cart)", "m/s")
    return m


def disc(euler: bool = False) -> dr.Model:
    """A rolling disc of radius 0.5 m, by a quaternion or by heading, lean and spin angle."""
    m = dr.Model("disc")
    body = m.body("disc", mass=1.0, inertia=(0.0625, 0.125, 0.0625))
    if euler:
        m.free_euler(body, order="zxy", angles=("heading_angle", "lean_angle", "spin_angle"))
    else:
        m.free(body)
    m.wheel("rim", body, 0.5)
    m.output("speed", "0.5*rate_y(disc)", "m/s", "of the center along the track")
    m.output("lean", "lean(disc)", "rad")
    return m


def snakeboard() -> dr.Model:
    m = dr.Model("snakeboard")
    board = m.body("board", mass=5.0, inertia=(0.1, 0.5, 0.5))
    m.planar(board)
    rotor = m.body("rotor_body", mass=1.0, inertia=(0.1, 0.1, 0.2))
    m.revolute("rotor", board, rotor, axis="z")
    m.generalized_force("rotor", m.input("rotor_torque", "N*m"))
    for end, x in (("front", 0.25), ("back", -0.25)):
        truck = m.body(f"{end}_truck", mass=0.2, inertia=(0.001, 0.001, 0.002))
        m.revolute(f"{end}_steer", board, truck, axis="z", at=(x, 0, 0))
        m.generalized_force(f"{end}_steer", m.input(f"{end}_torque", "N*m"))
        m.knife_edge(truck, name=f"{end}_edge")
    m.output("speed", "body_velocity_x(board)", "m/s")
    return m


def four_bar() -> dr.Model:
    """Crank 1, coupler 3, rocker 2.5, base 3 m."""
    m = dr.Model("four_bar")
    crank, coupler = m.body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1)), m.body("coupler", mass=1.0, inertia=(0.1, 0.1, 0.1))
    rocker = m.body("rocker", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("crank_angle", "ground", crank, axis="z", default=0.8)
    m.revolute("coupler_angle", crank, coupler, axis="z", at=(1, 0, 0), default=-0.3)
    m.revolute("rocker_angle", "ground", rocker, axis="z", at=(3, 0, 0), default=1.6)
    m.point("end", coupler, at=(3, 0, 0))
    m.point("tip", rocker, at=(2.5, 0, 0))
    for axis in "xy":
        m.constrain(f"closed_{axis}", f"position_{axis}(end) - position_{axis}(tip)", unit="m")
    m.output("tip_speed", "body_velocity_y(tip)", "m/s")
    return m


def motorcycle(law: object) -> dr.Model:
    """A two-wheeler with slipping tires: a frame with the rear wheel, a fork with the front wheel, suspended nowhere."""
    m = dr.Model("motorcycle")
    frame = m.body("frame", mass=200.0, center_of_mass=(0.6, 0, 0.3), inertia=(10, 30, 25))
    m.free(frame, at=(0, 0, 0.3))
    wheel_on(m, frame, "rear", (0, 0, 0), 0.3, contact=law)
    fork = m.body("fork", mass=15.0, inertia=(0.5, 0.5, 0.2))
    m.revolute("steer", frame, fork, axis="z", at=(1.3, 0, 0), orientation=[("y", -0.4)])
    m.generalized_force("steer", "-5*steer_rate")
    wheel_on(m, fork, "front", (0.05, 0, 0), 0.3 + 0.05 * math.sin(0.4), contact=law)
    m.generalized_force("rear_angle", m.input("drive", "N*m"))
    m.output("speed", "body_velocity_x(frame)", "m/s")
    m.output("lean", "lean(frame)", "rad")
    m.output("roll_rate", "rate_x(frame)", "rad/s")
    return m


def start_of(model: dr.Model, targets: dict[str, float], **options: object) -> dr.Start:
    """The start, which the batch must give as well, to the bit."""
    problem = StartProblem(dr.derive(model, **options))
    single = consistent_start(problem, targets)
    e = problem.equations
    columns = {name: np.array([value, value]) for name, value in targets.items()}
    batch = consistent_starts(
        problem, BatchTargets(columns, {}, np.zeros((2, len(e.inputs))), np.tile(e.default_parameters, (2, 1)))
    )
    if batch.solved.all():
        assert np.array_equal(batch.v[1], single.v)
    return single


def check(start: dr.Start, **expected: float) -> None:
    """Velocities by name; all that are not named are zero."""
    for name, value in start.velocities.items():
        assert value == pytest.approx(expected.get(name, 0.0), abs=1e-11), name


# ---------------------------------------------------------------------------------------------------- the table


def test_bicycle() -> None:
    model = dr.gallery.bicycle()
    straight = {"frame_vx": 5.0, "rear_wheel_spin": 5 / 0.3, "front_wheel_spin": 5 / 0.35}
    check(start_of(model, {"speed": 5.0}), **straight)
    check(start_of(model, {"speed": 5.0, "roll_rate": 0.5}), **straight, frame_wx=0.5, frame_vy=-0.3 * 0.5)
    turned = start_of(model, {"speed": 5.0, "steer": 0.2})
    assert turned.velocities["steer_rate"] == 0.0
    assert turned.outputs["roll_rate"] == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(turned.v, rolling_by_hand(turned, speed=5.0), rtol=0, atol=1e-11)
    leaned = start_of(model, {"speed": 5.0, "steer": -0.3, "lean": 0.4})
    np.testing.assert_allclose(leaned.v, rolling_by_hand(leaned, speed=5.0), rtol=0, atol=1e-11)


def rolling_by_hand(start: dr.Start, speed: float) -> np.ndarray:
    """(V, Ω, rear spin, steer rate, front spin) of the benchmark bicycle: no velocity of either wheel's material at its contact,
    the speed given, no steer rate, no roll rate. Geometry of Meijaard et al. (2007): rear hub at the frame's origin."""
    w, c, tilt, rear, front = 1.02, 0.08, math.pi / 10, 0.3, 0.35
    offset = front * math.sin(tilt) - c * math.cos(tilt)
    reach = np.array([w - offset * math.cos(tilt), 0.0, front - rear - offset * math.sin(tilt)])
    qw, qx, qy, qz = (start.coordinates[f"frame_q{a}"] for a in "wxyz")
    up = np.array([2 * (qx * qz - qw * qy), 2 * (qy * qz + qw * qx), 1 - 2 * (qx * qx + qy * qy)])  # in the frame's axes
    k, s = math.cos(start.coordinates["steer"]), math.sin(start.coordinates["steer"])
    tilted = np.array([[math.cos(tilt), 0, -math.sin(tilt)], [0, 1, 0], [math.sin(tilt), 0, math.cos(tilt)]])  # about −y
    fork = tilted @ np.array([[k, -s, 0], [s, k, 0], [0, 0, 1]])
    axis, axle, hub = fork[:, 2], fork[:, 1], reach + fork @ np.array([offset, 0, 0])
    down = {"rear": rear * below(np.array([0.0, 1.0, 0.0]), up), "front": front * below(axle, up)}

    def cross(r: np.ndarray) -> np.ndarray:
        return -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])  # Ω × r = cross(r) Ω

    matrix = np.zeros((9, 9))
    matrix[:3, :3], matrix[:3, 3:6], matrix[:3, 6] = np.eye(3), cross(down["rear"]), np.cross([0, 1, 0], down["rear"])
    arm = hub - reach + down["front"]
    matrix[3:6, :3], matrix[3:6, 3:6] = np.eye(3), cross(reach + arm)
    matrix[3:6, 7], matrix[3:6, 8] = np.cross(axis, arm), np.cross(axle, down["front"])
    matrix[6, 0], matrix[7, 7], matrix[8, 3] = 1.0, 1.0, 1.0
    return np.linalg.solve(matrix, np.array([0.0] * 6 + [speed, 0.0, 0.0]))


def below(axle: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The unit vector from the hub of a wheel to its lowest point."""
    down = -(up - (up @ axle) * axle)
    return down / np.linalg.norm(down)


def test_balancing_robot() -> None:
    rolling = {"left_spin": 7.5, "right_spin": 7.5}
    check(start_of(balancing_robot(), {"speed": 1.5}), chassis_vx=1.5, **rolling)
    check(start_of(balancing_robot(), {"left_spin": 7.5}), chassis_vx=1.5, **rolling)  # it goes straight
    turning = start_of(balancing_robot(), {"speed": 1.5, "yaw_rate": 1.0})
    check(turning, chassis_vx=1.5, chassis_wz=1.0, left_spin=(1.5 - 0.3) / 0.2, right_spin=(1.5 + 0.3) / 0.2)
    pitched = start_of(balancing_robot(), {"speed": 1.5 * math.cos(0.4), "pitch": 0.4})
    assert pitched.velocities["chassis_wy"] == pytest.approx(0.0, abs=1e-12)
    assert pitched.velocities["left_spin"] == pytest.approx(7.5, abs=1e-11)


def test_skateboard() -> None:
    start = start_of(skateboard(), {"speed": 3.0, "lean": 0.05})
    yaw = 3.0 * 0.025 / 0.4  # tan of the steer angle over half the wheelbase
    track = 3.0 / math.cos(math.atan(0.025))
    check(start, base_vx=3.0, base_heading_rate=yaw, front_wheel_spin=track / 0.03, back_wheel_spin=track / 0.03)
    assert start.velocities["lean_rate"] == 0.0


def test_car() -> None:
    spins = dict.fromkeys(("left_spin", "right_spin", "front_spin"), 10 / 0.3)
    check(start_of(car(), {"speed": 10.0}), body_vx=10.0, **spins)
    yaw = 10.0 * math.tan(0.1) / 2.6
    sides = {"left_spin": (10 - 0.75 * yaw) / 0.3, "right_spin": (10 + 0.75 * yaw) / 0.3}
    turned = start_of(car(), {"speed": 10.0, "steer": 0.1})
    check(turned, body_vx=10.0, body_heading_rate=yaw, **sides, front_spin=10 / math.cos(0.1) / 0.3)
    steered = start_of(car(), {"speed": 10.0, "steer_rate": 0.3})
    check(steered, body_vx=10.0, steer_rate=0.3, **spins)


def test_castor_cart() -> None:
    castors = ("fl", "fr", "rl", "rr")
    start = start_of(castor_cart(), {"speed": 1.0})
    check(start, cart_vx=1.0, **{f"{c}_spin": 10.0 for c in castors})
    swivels = dict(zip(castors, (0.3, -0.7, 1.2, 2.5), strict=True))
    turned = start_of(castor_cart(), {"speed": 1.0, **{f"{c}_swivel": a for c, a in swivels.items()}})
    expected = {f"{c}_swivel_rate": -math.sin(a) / 0.05 for c, a in swivels.items()}  # they turn until they trail
    expected |= {f"{c}_spin": 10.0 * math.cos(a) for c, a in swivels.items()}
    check(turned, cart_vx=1.0, **expected)


@pytest.mark.parametrize("lean", [0.0, 0.3])
def test_disc(lean: float) -> None:
    start = start_of(disc(), {"speed": 2.0, "lean": lean})
    assert [start.velocities[f"disc_w{a}"] for a in "xyz"] == pytest.approx([0.0, 4.0, 0.0], abs=1e-12)
    start = start_of(disc(euler=True), {"speed": 2.0, "lean_angle": lean})
    assert start.velocities["spin_angle_rate"] == pytest.approx(4.0, abs=1e-12)
    assert start.velocities["heading_angle_rate"] == pytest.approx(0.0, abs=1e-12)
    assert start.velocities["lean_angle_rate"] == pytest.approx(0.0, abs=1e-12)


def test_snakeboard() -> None:
    check(start_of(snakeboard(), {"speed": 1.0}), board_vx=1.0)
    start = start_of(snakeboard(), {"speed": 1.0, "front_steer": 0.3, "back_steer": -0.3})
    check(start, board_vx=1.0, board_heading_rate=math.tan(0.3) / 0.25)
    uneven = start_of(snakeboard(), {"speed": 1.0, "front_steer": 0.3, "back_steer": 0.1})
    both = (math.tan(0.3) + math.tan(0.1)) / 2, (math.tan(0.3) - math.tan(0.1)) / 0.5
    check(uneven, board_vx=1.0, board_vy=both[0], board_heading_rate=both[1])


def test_four_bar() -> None:
    start = start_of(four_bar(), {"crank_angle": 0.9, "crank_angle_rate": 2.0})
    crank, coupler, rocker = 0.9, 0.9 + start.coordinates["coupler_angle"], start.coordinates["rocker_angle"]
    # closed loop: a s₁ ω₁ + b s₂ ω₂ = c s₃ ω₃, and the same with cosines
    matrix = np.array([[3 * math.sin(coupler), -2.5 * math.sin(rocker)], [3 * math.cos(coupler), -2.5 * math.cos(rocker)]])
    absolute, rocking = np.linalg.solve(matrix, -2.0 * np.array([math.sin(crank), math.cos(crank)]))
    check(start, crank_angle_rate=2.0, coupler_angle_rate=absolute - 2.0, rocker_angle_rate=rocking)


LAWS = [
    dr.contact.Coulomb(0.8),
    dr.contact.Creep(2e4, 2e4, friction=0.8),
    dr.contact.LinearTire(1e4, 0.2),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_motorcycle_with_tires(law: object) -> None:
    front = 0.3 + 0.05 * math.sin(0.4)
    straight = {"frame_vx": 20.0, "rear_spin": 20 / 0.3, "front_spin": 20 / front}
    start = start_of(motorcycle(law), {"speed": 20.0})
    check(start, **straight)
    start = start_of(motorcycle(law), {"speed": 20.0, "roll_rate": 0.2})
    check(start, **straight, frame_wx=0.2)
    braked = start_of(motorcycle(law), {"speed": 20.0, "rear_spin": 50.0})  # the given spin slips, the other wheel does not
    check(braked, **{**straight, "rear_spin": 50.0})
    leaned = start_of(motorcycle(law), {"speed": 20.0, "lean": 0.4, "steer": 0.05})
    assert leaned.velocities["steer_rate"] == 0.0
    for wheel in ("rear", "front"):
        assert leaned.outputs[f"{wheel}_slip_along"] == pytest.approx(0.0, abs=1e-11)


def test_small_wheels_with_tires_roll_too() -> None:
    """Wheels of 3 cm under a cart of 2 m; also where the velocity itself is prescribed, and on a moving ground."""
    m = dr.Model("trolley")
    cart = m.body("cart", mass=50.0, inertia=(5, 5, 5))
    m.free(cart, at=(0, 0, 0.03))
    for name, x, y in (("fl", 1.0, 0.5), ("fr", 1.0, -0.5), ("rear", -1.0, 0.0)):
        wheel_on(m, cart, name, (x, y, 0), 0.03, contact=LAWS[2])
    m.output("speed", "body_velocity_x(cart)", "m/s")
    for targets in ({"speed": 3.0}, {"cart_vx": 3.0}):
        check(start_of(m, targets), cart_vx=3.0, fl_spin=100.0, fr_spin=100.0, rear_spin=100.0)
    m.name = "trolley_on_a_belt"
    m.ground(velocity=(-1.5, 0))
    check(start_of(m, {}), fl_spin=50.0, fr_spin=50.0, rear_spin=50.0)


def test_sliding_bicycle_keeps_its_speed() -> None:
    run = dr.simulate(dr.gallery.model("sliding_bicycle"), 1.0, start={"speed": 6.0})
    assert run["rear_wheel_spin"][0] == pytest.approx(6.0 / 0.3, rel=1e-12)
    assert run["front_wheel_spin"][0] == pytest.approx(6.0 / 0.35, rel=1e-12)
    assert run["speed"][-1] == pytest.approx(6.0, abs=1e-6)


# ------------------------------------------------------------------------------------------------ independence


@pytest.mark.parametrize(
    ("made", "targets"),
    [
        (balancing_robot, {"speed": 1.5, "pitch": 0.2}),
        (skateboard, {"speed": 3.0, "lean": 0.05}),
        (castor_cart, {"speed": 1.0, "fl_swivel": 0.4}),
        (car, {"speed": 10.0, "steer": 0.1}),
        (snakeboard, {"front_steer": 0.2, "rotor_rate": 1.0}),
    ],
    ids=["robot", "skateboard", "castors", "car", "snakeboard"],
)
def test_the_derivation_does_not_decide(made: object, targets: dict[str, float]) -> None:
    """Whichever velocities a derivation chose as independent, the start is the same."""
    model = made()  # type: ignore[operator]
    e = dr.derive(model)
    plain = consistent_start(e, targets).v
    assert e.with_independent is not None
    for choice in e.alternates:
        np.testing.assert_allclose(consistent_start(e.with_independent(choice), targets).v, plain, rtol=0, atol=1e-10)
    augmented = dr.derive(model, formulation=dr.formulations.Augmented())
    np.testing.assert_allclose(consistent_start(augmented, targets).v, plain, rtol=0, atol=1e-10)


def test_random_starts_are_hierarchical_least_squares() -> None:
    """Against the same rule in NumPy: null spaces by singular values, group by group."""
    random = np.random.default_rng(8)
    for made in (balancing_robot, car, castor_cart, snakeboard, skateboard):
        problem = StartProblem(dr.derive(made()), compiled=False)
        names = problem.unknowns[1]
        for _ in range(6):
            chosen = random.choice(names, 1)
            targets = {str(n): float(random.uniform(-1, 1)) for n in chosen}
            if not str(chosen[0]).endswith(("_vx", "_vy")):
                targets["speed"] = float(random.uniform(-3, 3))
            try:
                start = consistent_start(problem, targets)
            except dr.errors.StartError:
                continue
            np.testing.assert_allclose(start.v, by_null_spaces(problem, start, targets), rtol=0, atol=1e-8, err_msg=f"{targets}")


def by_null_spaces(problem: StartProblem, start: dr.Start, targets: dict[str, float]) -> np.ndarray:
    """v = particular solution, then least squares of each group in the null space of all before."""
    n = len(start.v)
    evaluation = problem.evaluation(start.given)
    values, entries = evaluation(start.q, np.zeros(n), "v")
    jacobian = np.zeros((len(problem.names), n))
    jacobian[problem.by_v.rows, problem.by_v.columns] = entries
    length = problem.scales.typical_length(start.given[2], start.q)
    scale = problem.scales.velocities(length)
    outputs = [name for name in targets if name in problem.output_rows]
    rows = [*problem.constraints["velocity"], *(problem.output_rows[name] for name in outputs)]
    a = np.vstack([jacobian[rows], *(np.eye(n)[[problem.unknowns[1].index(t)]] for t in targets if t not in outputs)])
    b = np.array(
        [
            *(-values[problem.constraints["velocity"],]),
            *(targets[o] for o in outputs),
            *(targets[t] for t in targets if t not in outputs),
        ]
    )
    a = a * scale
    z = np.linalg.lstsq(a, b, rcond=1e-10)[0]
    null = null_space(a)
    rest = problem.rest_rows(frozenset(targets))
    for group in sorted(set(rest.group.tolist())):
        which = rest.group == group
        g = np.array(
            [
                np.eye(n)[u] if u >= 0 else jacobian[k] * scale / (length if m else 1.0)
                for u, k, m in zip(rest.unknown[which], rest.value[which], rest.in_meters[which], strict=True)
            ]
        )
        if null.shape[1]:
            z = z - null @ np.linalg.pinv(np.where(np.abs(g @ null) > 1e-12, g @ null, 0.0), rcond=1e-10) @ g @ z
            null = null @ null_space(g @ null)
    return z * scale


def null_space(a: np.ndarray) -> np.ndarray:
    _, singular, vectors = np.linalg.svd(a)
    rank = int(np.sum(singular > 1e-10))
    return vectors[rank:].T


def test_forward_is_not_always_the_axis_x_of_the_body() -> None:
    """The frame of Delebecque's bicycle has its x axis along its own line, 35° above the ground; no lean rate all the same."""
    start = start_of(dr.gallery.model("delebecque_graph"), {"speed": 2.0, "steer": 0.2})
    assert start.velocities["steer_rate"] == 0.0
    assert start.velocities["rear_slant_rate"] == pytest.approx(0.0, abs=1e-3)
    assert start.velocities["rear_heading_rate"] == pytest.approx(0.3691, abs=1e-3)


def test_wheels_turned_by_any_angle_start_alike() -> None:
    random = np.random.default_rng(9)
    problem = StartProblem(dr.derive(castor_cart()), compiled=False)
    plain = consistent_start(problem, {"speed": 1.0})
    for _ in range(5):
        turned = {f"{c}_angle": float(random.uniform(-1e3, 1e3)) for c in ("fl", "fr", "rl", "rr")}
        np.testing.assert_allclose(consistent_start(problem, {"speed": 1.0, **turned}).v, plain.v, rtol=0, atol=1e-12)


def test_the_start_is_reported_in_words() -> None:
    text = str(consistent_start(dr.derive(dr.gallery.bicycle()), {"speed": 5.0, "steer": 0.2}).report)
    assert "at rest: steer_rate (a joint with a force)" in text
    assert "frame keeps its lean; it turns and sways as little as possible" in text
    robot = str(start_of(balancing_robot(), {"speed": 1.5}).report)
    assert "chassis does not turn or sway" in robot
    tires = str(start_of(motorcycle(LAWS[0]), {"speed": 20.0, "rear_spin": 50.0}).report)
    assert "front_slip_along = 0" in tires
    assert "rear_slip_along" not in tires


def test_a_wheel_whose_angle_enters_is_no_free_spin() -> None:
    """A spring on the wheel of the robot: its rate is one of a joint with a force, and the start pitches instead."""
    model = balancing_robot()
    for side in ("left", "right"):
        model.generalized_force(f"{side}_angle", f"-3*{side}_angle", name=f"{side}_spring")
    structure = dr.derive(model).structure
    assert structure.ignorable == ()
    assert set(structure.driven) == {"left_spin", "right_spin"}
    assert dr.derive(balancing_robot()).structure.ignorable == ("left_spin", "right_spin")

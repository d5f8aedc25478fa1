"""Applied forces: against hand calculations, virtual power and the power balance."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from brute import reported
from grounded import Vehicle, size, vehicle
from plain import Plain
from trees import coordinates, free_joints_of_every_kind
from vehicles import ALL

from draisine.dynamics.derive import derive
from draisine.errors import ModelError
from draisine.expr.expression import parse
from draisine.model.model import Model

NONE = np.zeros(0)


def swinging(length: float = 2.0) -> Model:
    """A point mass on a massless rod, hinged at the origin about y: angle 0 hangs."""
    m = Model("swinging")
    m.body("bob", mass=3.0, center_of_mass=(0, 0, -length))
    m.revolute("swing", "ground", "bob", axis="y")
    return m


def acceleration(model: Model, q: float, v: float, u=NONE, **laws) -> float:
    e = derive(model, laws={k: parse(t) for k, t in laws.items()})
    return e.dynamics([0.0], [q, v, *np.zeros(len(e.extra_states))], u, e.default_parameters)[0][1]


# -------------------------------------------------------------------- by hand


def test_a_spring_pulls_back_by_stiffness_times_stretch():
    m = swinging()
    m.gravity(0)
    m.spring("swing", stiffness=5.0, rest=0.2, damping=0.7)
    assert acceleration(m, 0.5, 2.0) == pytest.approx((-5.0 * (0.5 - 0.2) - 0.7 * 2.0) / (3.0 * 4.0), rel=1e-13)
    assert acceleration(m, 0.2, 0.0) == 0.0


def test_a_spring_between_points_pulls_along_their_line():
    """From the bob to a nail on the ground at (1, 0, 0.5): torque of a force k (d − rest) along the line, and c ḋ against it."""
    m = swinging()
    m.gravity(0)
    m.point("nail", "ground", at=(1.0, 0.0, 0.5))
    m.point("bob_center", "bob", at=(0, 0, -2.0))
    m.spring("distance(bob_center, nail)", stiffness=40.0, rest=1.5, damping=3.0)
    angle, rate = 0.4, 1.3
    bob = 2.0 * np.array([-np.sin(angle), 0.0, -np.cos(angle)])
    velocity = 2.0 * rate * np.array([-np.cos(angle), 0.0, np.sin(angle)])
    line = np.array([1.0, 0.0, 0.5]) - bob
    distance = np.linalg.norm(line)
    pull = 40.0 * (distance - 1.5) + 3.0 * (-line @ velocity / distance)
    torque = np.cross(bob, pull * line / distance)[1]
    assert acceleration(m, angle, rate) == pytest.approx(torque / (3.0 * 4.0), rel=1e-12)
    e = derive(m)
    energy = reported(e, np.array([angle, rate, 0.0]), NONE, e.default_parameters)["energy"]
    assert energy[:2] == pytest.approx([0.5 * 3.0 * (2.0 * rate) ** 2, 0.5 * 40.0 * (distance - 1.5) ** 2], rel=1e-13)


def test_an_force_on_a_distance_pushes_its_points_apart():
    """Positive amount: work is done as the distance grows."""
    m = swinging()
    m.gravity(0)
    m.point("nail", "ground", at=(-1.0, 0.0, -2.0))
    m.point("bob_center", "bob", at=(0, 0, -2.0))
    m.generalized_force("distance(bob_center, nail)", 6.0)
    assert acceleration(m, 0.0, 0.0) == pytest.approx(
        -6.0 * 2.0 / (3.0 * 4.0), rel=1e-13
    )  # away from −x: a negative turn about y


def test_a_joint_torque_turns_the_child_and_not_the_parent():
    """Two free-spinning discs on one axle: the torque on one is taken by the other."""
    m = Model("pair")
    m.gravity(0)
    for name, parent, inertia in (("first", "ground", 0.5), ("second", "first", 0.2)):
        m.body(name, mass=1.0, inertia=(inertia, inertia, inertia))
        m.revolute(f"{name}_angle", parent, name, axis="z")
    m.generalized_force("second_angle", m.input("torque"))
    e = derive(m)
    first, second = e.dynamics([0.0], [0.1, 0.2, 0.0, 0.0], [0.3], NONE)[0][2:]
    assert (first, first + second) == pytest.approx((-0.3 / 0.5, 0.3 / 0.2), rel=1e-13)


@pytest.mark.parametrize(("axes", "expected"), [("world", (2.0, 0.0)), ("body", (0.0, 2.0))])
def test_a_wrench_pushes_along_the_world_or_the_body(axes, expected):
    """A body turned by 90° about z and pushed along x at its mass center."""
    m = Model("puck")
    m.gravity(0)
    m.body("puck", mass=0.5, center_of_mass=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.free_euler("puck", order="zxy")
    m.point("middle", "puck", at=(0.2, 0, 0))
    m.wrench("middle", force=(1.0, 0.0, 0.0), torque=(0.0, 0.0, 0.3), axes=axes)
    e = derive(m, work=False)
    x = np.zeros(12)
    x[3] = np.pi / 2
    slope = dict(zip(e.dynamics.output("xdot").labels, e.dynamics([0.0], x, NONE, NONE)[0], strict=True))
    turn = 0.3 / 0.1
    assert slope["dpuck_turn1_rate/dt"] == pytest.approx(turn, rel=1e-12)
    # the origin is 0.2 m to the world's −y of the center, which itself moves with force/mass
    assert slope["dpuck_x_rate/dt"] == pytest.approx(expected[0] + 0.2 * turn, rel=1e-12)
    assert slope["dpuck_y_rate/dt"] == pytest.approx(expected[1], abs=1e-12)


def test_a_wrench_in_the_axes_of_a_frame():
    """A frame turned by 90° about z from its body pushes along the body's y."""
    found = []
    for direction in ("frame", "body"):
        m = Model("puck")
        m.body("puck", mass=0.5, inertia=(0.1, 0.2, 0.3))
        m.free("puck")
        m.frame("port", "puck", at=(0.1, 0.2, 0.0), orientation=[("z", np.pi / 2)])
        m.point("plain_port", "puck", at=(0.1, 0.2, 0.0))
        if direction == "frame":
            m.wrench("port", force=(1.5, 0.0, 0.2), torque=(0.0, 0.3, 0.0), axes="body")
        else:
            m.wrench("plain_port", force=(0.0, 1.5, 0.2), torque=(-0.3, 0.0, 0.0), axes="body")
        e = derive(m, work=False)
        x = np.concatenate([coordinates(e, np.random.default_rng(3)), np.arange(6) / 3])
        found.append(e.dynamics([0.0], x, NONE, NONE)[0])
    assert found[0] == pytest.approx(found[1], abs=1e-13)


def test_tables_in_forces_and_potentials():
    """A linear table is followed by hand; a spline gives its exact slope as force."""
    m = swinging()
    m.gravity(0)
    m.table("pull", (0.0, 1.0, 2.0), (0.0, 10.0, 0.0), kind="linear")
    hill = m.table("hill", np.linspace(-1, 1, 9), np.cos(np.linspace(-1, 1, 9)), kind="spline")
    m.generalized_force("swing", "-pull(swing) * swing_rate")
    m.potential("hill", "2 * hill(swing)")
    expected = (-10.0 * 0.3 * 1.7 - 2.0 * float(hill.at(0.3, orders=(1,)))) / 12.0
    assert acceleration(m, 0.3, 1.7) == pytest.approx(expected, rel=1e-12)


def test_a_table_of_dependent_velocities_is_put_in():
    """Resistance by a table of the rear spin, which the constraints bind: its power is that of the table at the true spin."""
    m = ALL["bicycle"]()
    drag = m.table("drag", (-40.0, 0.0, 20.0, 40.0), (-3.0, 0.0, 1.0, 4.0))
    m.generalized_force("rear_wheel_angle", "-drag(rear_wheel_spin)", name="resistance")
    c = Vehicle(m)
    x, u = c.state(np.random.default_rng(2))
    report = reported(c.equations, x, u, c.p)
    spin = dict(zip(c.equations.report.output("v").labels, report["v"], strict=True))["rear_wheel_spin"]
    expected, _ = c.plain.accelerations(0, x[: len(c.equations.coordinates)], report["v"], u, c.p)
    assert np.abs(report["vdot"] - expected).max() < 1e-10 * size(expected)
    work = c.equations.dynamics([0.0], x, 0 * u, c.p)[0][-1]
    assert [s.name for s in c.equations.extra_states] == ["work"]
    assert work == pytest.approx(-float(drag.at(spin)) * spin, rel=1e-12)


# -------------------------------------------------------------------- virtual power and the balance of power


def with_multipliers(seed: int) -> Model:
    """A tree with every joint, loaded with every force."""
    m, bodies = free_joints_of_every_kind(seed)
    rng = np.random.default_rng(seed)
    a, b, c = m.input("a"), m.input("b"), m.input("c")
    m.point("tip", bodies[-1], at=(0.2, -0.1, 0.3))
    m.point("side", bodies[0], at=(-0.1, 0.2, 0.1))
    m.point("nail", "ground", at=(0.5, -0.4, 1.0))
    stiffness = m.parameter("stiffness", 12.0)
    m.spring("distance(tip, nail)", stiffness, rest=0.3, damping=0.8)
    m.spring("distance(side, tip)", 5.0, rest=0.5, damping=0.4)
    joints = [x.name for x in m.freeze().coordinates if x.rate]
    m.spring(joints[0], 3.0, rest=0.1, damping=0.3)
    m.generalized_force(joints[-1], a)
    m.generalized_force("distance(side, nail)", b)
    m.generalized_force(f"{joints[0]} * {joints[-1]}", 0.4 * c)
    m.wrench("tip", force=(a, 0.5, "sin(t) + position_z(tip)"), torque=(0.1, b, 0.0))
    m.wrench("side", force=(0.2, c, f"-0.3*velocity_x(side) + {float(rng.normal())}"), torque=(c, 0.0, 0.4), axes="body")
    m.potential("well", "0.7*position_x(tip)^2 + sin(position_y(side))")
    return m


@pytest.mark.parametrize("seed", range(5))
def test_forces_by_virtual_power(seed):
    m = with_multipliers(seed)
    e = derive(m)
    plain, rng = Plain(m.freeze(), e), np.random.default_rng(seed)
    for _ in range(2):
        q, v, u = coordinates(e, rng), rng.normal(size=len(e.velocities)), rng.normal(size=3)
        expected, _ = plain.accelerations(0.7, q, v, u, e.default_parameters)
        found = e.dynamics([0.7], [*q, *v, 0.0], u, e.default_parameters)[0][len(q) : -1]
        assert np.abs(found - expected).max() < 1e-9 * size(expected)
        energies = plain.function(ca.vertcat(plain.kinetic, plain.potential))(0.7, q, v, 0 * v, u, e.default_parameters)[0]
        report = dict(
            zip([s.name for s in e.report.outputs], e.report([0.7], [*q, *v, 0.0], u, e.default_parameters), strict=True)
        )
        assert report["energy"][:2] == pytest.approx(energies, rel=1e-12)


def balance(e, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[float, float, float]:
    """d(T + V)/dt along the motion, exactly, from the report's energies; the rate of the work; and the size of the terms."""
    slope = e.dynamics([t], x, u, p)[0]
    by_state = e.report.jacobian("energy", "x")([t], x, u, p)[0]
    by_time = e.report.jacobian("energy", "t")([t], x, u, p)[0].reshape(3, 1)
    rates = by_state @ slope + by_time[:, 0]
    parts = np.abs(by_state * slope).sum(axis=1)
    return rates[0] + rates[1], slope[-1], float(parts[0] + parts[1])


@pytest.mark.parametrize("seed", range(5))
def test_the_balance_of_power_of_loaded_trees(seed):
    e = derive(with_multipliers(seed), work=True)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        x = np.concatenate([coordinates(e, rng), rng.normal(size=len(e.velocities)), [0.0]])
        gained, worked, scale = balance(e, 0.4, x, rng.normal(size=3), e.default_parameters)
        assert abs(gained - worked) < 1e-10 * max(1.0, scale)
        assert abs(worked) > 1e-3


@pytest.mark.parametrize(
    "name",
    ["bicycle", "bicycle out of balance", "planar with springs", "unicycle", "trailer", "skater", "snakeboard", "carousel"],
)
def test_the_balance_of_power_on_the_ground(name):
    """Contacts do no work; inputs do theirs, wheel by wheel, as the report says."""
    c = vehicle(name)
    e = derive(c.system, work=True)
    rng = np.random.default_rng(8)
    for _ in range(3):
        x, u = c.state(rng)
        x = np.concatenate([x[: len(e.coordinates) + len(e.independent)], [0.0]])
        gained, worked, scale = balance(e, 0.0, x, u, c.p)
        assert abs(gained - worked) < 1e-10 * max(1.0, scale)
        report = reported(e, x, u, c.p)
        if name == "planar with springs":
            rate = dict(zip(e.report.output("v").labels, report["v"], strict=True))["swing_a_rate"]
            assert worked == pytest.approx(-5.0 * rate**2, rel=1e-11)  # its one damper
        else:
            assert worked == pytest.approx(report["power"].sum(), abs=1e-11 * max(1.0, scale))


def test_moving_the_rest_of_a_spring_is_work():
    """V = k (q − l(t))²/2: its explicit rate −k (q − l) l̇ is the power of whoever moves the end; it is tracked unasked."""
    m = swinging()
    m.spring("swing", 5.0, rest="0.3*sin(2*t)")
    e = derive(m)
    assert [s.name for s in e.extra_states] == ["work"]
    x = np.array([0.4, 1.1, 0.0])
    gained, worked, scale = balance(e, 0.6, x, NONE, e.default_parameters)
    assert worked == pytest.approx(-5.0 * (0.4 - 0.3 * np.sin(1.2)) * 0.6 * np.cos(1.2), rel=1e-12)
    assert gained == pytest.approx(worked, abs=1e-11 * scale)
    assert not derive(swinging()).extra_states


def test_laws_are_put_in_and_their_work_is_tracked():
    m = swinging()
    m.gravity(0)
    m.generalized_force("swing", m.input("torque"))
    m.output("sway", "2 * swing")
    e = derive(m, laws={"torque": parse("-3*sway - swing_rate")})
    x = np.array([0.2, 0.5, 0.0])
    slope = e.dynamics([0.0], x, [99.0], e.default_parameters)[0]  # the input itself is replaced
    torque = -3 * 0.4 - 0.5
    assert slope[1:] == pytest.approx([torque / 12.0, torque * 0.5], rel=1e-13)
    report = reported(e, x, np.array([99.0]), e.default_parameters)
    assert (report["inputs"][0], report["power"][0]) == pytest.approx((torque, torque * 0.5), rel=1e-13)


def test_a_law_in_dependent_velocities_is_reduced_first():
    m = ALL["bicycle"]()
    law = derive(m, laws={"pedal_torque": parse("-2*rear_wheel_spin")})
    plain = derive(m)
    c = Vehicle(m)
    x, _ = c.state(np.random.default_rng(4))
    spin = dict(zip(plain.report.output("v").labels, reported(plain, x, np.zeros(3), c.p)["v"], strict=True))["rear_wheel_spin"]
    u = np.zeros(3)
    found = law.dynamics([0.0], [*x, 0.0], u, c.p)[0]
    u[[i.name for i in plain.inputs].index("pedal_torque")] = -2 * spin
    assert found[:-1] == pytest.approx(plain.dynamics([0.0], x, u, c.p)[0], rel=1e-12, abs=1e-12)
    assert found[-1] == pytest.approx(-2 * spin**2, rel=1e-12)


# -------------------------------------------------------------------- complaints


def test_laws_may_not_use_inputs_even_through_outputs():
    m = swinging()
    m.generalized_force("swing", m.input("torque"))
    m.output("doubled", "2 * torque")
    for law in ("torque + 1", "doubled"):
        with pytest.raises(ModelError, match="law of input 'torque' uses the input 'torque'; write laws in states"):
            derive(m, laws={"torque": parse(law)})
    with pytest.raises(ModelError, match="no input 'torqe'; did you mean 'torque'"):
        derive(m, laws={"torqe": parse("1")})


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (
            lambda m: m.potential("well", "fast^2"),
            "potential 'well' must be a quantity of position and time.*the velocity 'swing_rate'",
        ),
        (
            lambda m: m.potential("well", "pushed*swing"),
            "potential 'well' must be a quantity of position and time.*the input 'push'",
        ),
        (
            lambda m: m.generalized_force("fast", 1.0, name="odd"),
            "the measure of generalized force 'odd' must be a quantity of position.*'swing_rate'",
        ),
        (lambda m: m.output("surge", "rate(pushed)"), r"the argument of 'rate\(pushed\)'.*the input 'push'"),
        (lambda m: m.output("two", "rate(swing, swing)"), r"rate takes one expression, got 2 \(swing, swing\)"),
    ],
)
def test_what_must_be_a_quantity_of_position(add, message):
    m = swinging()
    m.output("fast", "2*swing_rate")
    m.output("pushed", m.input("push"))
    add(m)
    with pytest.raises(ModelError, match=message):
        derive(m)

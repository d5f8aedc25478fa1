"""Models of SymPy's mechanics imported: against the graph, Lagrangians and closed forms, and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from brute import reported
from sympy.physics.mechanics import (
    Force,
    KanesMethod,
    LagrangesMethod,
    LinearDamper,
    LinearPathway,
    LinearSpring,
    Particle,
    PinJoint,
    Point,
    PrismaticJoint,
    ReferenceFrame,
    RigidBody,
    System,
    dynamicsymbols,
    inertia,
)
from sympy.physics.mechanics.models import multi_mass_spring_damper, n_link_pendulum_on_cart
from sympy_bicycle import bicycle_system
from sympy_discs import (
    DISC_DEFAULTS,
    free_lagrangian,
    g,
    m,
    q1,
    q2,
    q3,
    r,
    rolling_by_constraints,
    rolling_by_construction,
    rolling_by_lagrange,
    rolling_put_into_the_lagrangian,
    rolling_with_contact_forces,
    t,
    u1,
    u2,
    u3,
    x,
    y,
    z,
)

import draisine as dr
from draisine.errors import ArgumentError, ModelError
from draisine.gallery.entries.disk import rolling_disk, steady_spin
from draisine.simulation.initial.consistent_start import consistent_start

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
MASS, RADIUS, GRAVITY = DISC_DEFAULTS.values()


def value(equations, what, x, u=()):
    """An entry of the report, by name."""
    return reported(equations, np.asarray(x, float), np.asarray(u, float), equations.default_parameters)[what]


# ---------------------------------------------------------------- the rolling disc


@pytest.fixture(scope="module")
def graph():
    return dr.derive(rolling_disk())


def of_the_graph(graph, lean, lean_rate, turn_rate, spin, heading=0.7, spin_angle=0.9):
    """(u̇1, u̇2, u̇3), ground force along and across the track and up, by the graph, in the speeds of the documentation."""
    place = [0.1, -0.2, RADIUS * np.cos(lean)]
    state = [*place, heading, lean, spin_angle, turn_rate, lean_rate, spin - turn_rate * np.sin(lean)]
    report = reported(graph, np.array(state), np.zeros(0), np.array([MASS, RADIUS, GRAVITY]))
    vdot = dict(zip([v.name for v in graph.velocities], report["vdot"], strict=True))
    outputs = dict(zip([o.name for o in graph.outputs], report["outputs"], strict=True))
    sine, cosine = np.sin(lean), np.cos(lean)
    spin2 = vdot["spin_angle_rate"] + vdot["heading_rate"] * sine + turn_rate * cosine * lean_rate
    upright2 = vdot["heading_rate"] * cosine - turn_rate * sine * lean_rate
    force = [outputs[f"disk_{way}_force"] for way in ("longitudinal", "lateral", "normal")]
    return np.array([vdot["lean_rate"], spin2, upright2]), np.array(force)


def motions(count, seed=3):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield (rng.uniform(-1.2, 1.2), *rng.uniform(-4, 4, 3))


def free_state(lean, lean_rate, turn_rate, spin, heading=0.7, spin_angle=0.9):
    """Position and velocity of the center, such that the disc rolls: x, y, z and their rates."""
    forward, left = np.array([np.cos(heading), np.sin(heading), 0]), np.array([-np.sin(heading), np.cos(heading), 0])
    up = np.array([0.0, 0.0, 1.0])
    axle, disc_up = np.cos(lean) * left + np.sin(lean) * up, -np.sin(lean) * left + np.cos(lean) * up
    omega = lean_rate * forward + spin * axle + turn_rate * np.cos(lean) * disc_up
    return np.array([0.1, -0.2, RADIUS * np.cos(lean)]), RADIUS * np.cross(omega, disc_up)


def test_rolling_disc_by_kane_equals_the_graph(graph):
    """The documentation's disc, rolling by construction: no constraints are left."""
    e = dr.from_sympy(rolling_by_construction(), parameters=DISC_DEFAULTS, name="disc")
    assert [s.name for s in e.states] == ["q1", "q2", "q3", "u1", "u2", "u3", "work"] and not e.constraints
    assert any("agree" in note for note in e.notes) and any("no body has a potential energy" in note for note in e.notes)
    for lean, lean_rate, turn_rate, spin in motions(20):
        state = [0.7, lean, 0.9, lean_rate, spin, turn_rate * np.cos(lean), 0.0]
        wanted, _ = of_the_graph(graph, lean, lean_rate, turn_rate, spin)
        xdot = e.dynamics([0.0], state, [], e.default_parameters)[0]
        np.testing.assert_allclose(xdot[3:6], wanted, atol=1e-10 * (1 + abs(wanted).max()))
        np.testing.assert_allclose(xdot[:3], [turn_rate, lean_rate, spin - turn_rate * np.sin(lean)], atol=1e-12)


@pytest.mark.parametrize("form", [True, False], ids=["formed", "not formed"])
def test_rolling_disc_by_constraints_equals_the_graph(graph, form):
    """Six speeds, three of them dependent, one coordinate dependent: re-posed with all speeds and the constraints' rows."""
    e = dr.from_sympy(rolling_by_constraints(form), parameters=DISC_DEFAULTS, name="disc", start={z: 0.4})
    assert [(c.name, c.level) for c in e.constraints] == [
        ("f1", "position"),
        ("f1", "velocity"),
        ("g1", "velocity"),
        ("g2", "velocity"),
    ]
    assert [s.name for s in e.states][-6:] == ["u1", "u2", "u3", "vx", "vy", "vz"]  # no work: gravity is potential energy
    assert any("agree" in note for note in e.notes) == form
    for lean, lean_rate, turn_rate, spin in motions(20):
        place, velocity = free_state(lean, lean_rate, turn_rate, spin)
        state = [0.7, lean, 0.9, *place, lean_rate, spin, turn_rate * np.cos(lean), *velocity]
        wanted, force = of_the_graph(graph, lean, lean_rate, turn_rate, spin)
        report = reported(e, np.array(state), np.zeros(0), e.default_parameters)
        np.testing.assert_allclose(report["residuals"], 0.0, atol=1e-14)
        np.testing.assert_allclose(report["vdot"][:3], wanted, atol=1e-10 * (1 + abs(wanted).max()))
        # multipliers: of the height (upward), and of rolling along the world's x and y
        upward, east, north = report["multipliers"]
        along, across = np.cos(0.7) * east + np.sin(0.7) * north, -np.sin(0.7) * east + np.cos(0.7) * north
        np.testing.assert_allclose([along, across, upward], force, atol=1e-10 * (1 + abs(force).max()))


def test_steady_turns_of_the_disc():
    e = dr.from_sympy(rolling_by_construction(form=False), parameters=DISC_DEFAULTS, name="disc")
    for lean, turn_rate in ((0.3, -1.5), (-0.9, 4.0), (1.2, -0.4)):
        spin = steady_spin(lean, turn_rate, RADIUS, GRAVITY)
        state = [0.7, lean, 0.9, 0.0, spin, turn_rate * np.cos(lean), 0.0]
        xdot = e.dynamics([0.0], state, [], e.default_parameters)[0]
        np.testing.assert_allclose(xdot[3:6], 0.0, atol=1e-12 * (1 + spin**2 + turn_rate**2))
        off = e.dynamics([0.0], [*state[:4], spin + 1e-3, *state[5:]], [], e.default_parameters)[0]
        assert abs(off[3]) > 1e-5
    # the steady turn as a run: lean stays, and the balance of energy and gravity's work holds
    spin = steady_spin(0.3, -1.5, RADIUS, GRAVITY)
    start = {"q2": 0.3, "u1": 0.0, "u2": spin, "u3": -1.5 * np.cos(0.3)}
    run = dr.simulate(e, 5.0, start=start, method=EXACT)
    np.testing.assert_allclose(run["q2"], 0.3, atol=1e-9)
    assert run["q1"][-1] == pytest.approx(-7.5, abs=1e-9)
    falling = dr.simulate(e, 1.0, start={**start, "u2": 0.5 * spin}, method=EXACT)
    assert np.ptp(falling["q2"]) > 0.1 and falling.energy_drift < 1e-9


def test_auxiliary_speeds_give_the_contact_forces(graph):
    """Their multipliers are the forces that SymPy's auxiliary equations hold, and those of the graph."""
    method, forces = rolling_with_contact_forces()
    e = dr.from_sympy(method, parameters=DISC_DEFAULTS, name="disc")
    assert [mu.name for mu in e.multipliers] == ["u4_multiplier", "u5_multiplier", "u6_multiplier"]
    solved = sp.Matrix([sp.solve(eq, f)[0] for eq, f in zip(method.auxiliary_eqs, forces, strict=True)])
    speeds = [u1, u2, u3]
    evaluate = sp.lambdify([*(u.diff(t) for u in speeds), q1, q2, q3, *speeds, m, r, g], solved.subs(method.kindiffdict()))
    for lean, lean_rate, turn_rate, spin in motions(10):
        own = [lean_rate, spin, turn_rate * np.cos(lean)]
        state = [0.7, lean, 0.9, *own, 0.0, 0.0, 0.0, 0.0]
        wanted, force = of_the_graph(graph, lean, lean_rate, turn_rate, spin)
        report = reported(e, np.array(state), np.zeros(0), e.default_parameters)
        np.testing.assert_allclose(report["vdot"][:3], wanted, atol=1e-10 * (1 + abs(wanted).max()))
        np.testing.assert_allclose(report["vdot"][3:], 0.0, atol=1e-10)
        np.testing.assert_allclose(report["multipliers"], force, atol=1e-10 * (1 + abs(force).max()))
        theirs = evaluate(*report["vdot"][:3], 0.7, lean, 0.9, *own, MASS, RADIUS, GRAVITY)
        np.testing.assert_allclose(report["multipliers"], theirs[:, 0], atol=1e-10 * (1 + abs(force).max()))


def test_a_force_that_works_is_not_a_contact_force():
    """Auxiliary speeds must not hide an input that was forgotten."""
    method, _ = rolling_with_contact_forces()
    disc = method.bodies[0]
    push = dynamicsymbols("push")
    ground = method._inertial
    again = KanesMethod(ground, [q1, q2, q3], [u1, u2, u3], kd_eqs=_kinematics(method), u_auxiliary=list(method._uaux))
    again.kanes_equations([disc], [*method.loads, (disc.frame, push * ground.z)])
    with pytest.raises(ModelError, match=r"push; declare them with inputs.*u4, u5, u6 cannot bring them into evidence"):
        dr.from_sympy(again, parameters=DISC_DEFAULTS, name="disc")
    e = dr.from_sympy(again, parameters=DISC_DEFAULTS, inputs=[push], name="disc")
    assert [i.name for i in e.inputs] == ["push"]


def _kinematics(method):
    return [rate - formula for rate, formula in method.kindiffdict().items()]


# ---------------------------------------------------------------- a published error


def test_constraints_put_into_the_lagrangian_are_wrong_and_multipliers_right(graph):
    """SymPy's rolling-disc tutorial by Lagrange (reported in 2021, sympy/sympy#27631) puts rolling into L before differentiating.

    Rolling is nonholonomic: then the reactions are lost and the accelerations wrong, by as much as they are themselves. From the
    Lagrangian of the free disc, with rolling as constraints, Kane's accelerations come out; so does `dr.lagrangian`.
    """
    right = dr.from_sympy(rolling_by_lagrange(), parameters=DISC_DEFAULTS, name="right", start={z: 0.4})
    wrong = dr.from_sympy(rolling_put_into_the_lagrangian(), parameters=DISC_DEFAULTS, name="wrong")
    total, contact = free_lagrangian()
    ours = dr.lagrangian(
        "ours",
        [x, y, z, q1, q2, q3],
        total,
        holonomic=[z - r * sp.cos(q2)],
        nonholonomic=contact[:2],
        parameters=DISC_DEFAULTS,
        start={z: 0.4},
    )
    assert any("agree" in note for note in right.notes)
    worst = 0.0
    for lean, lean_rate, turn_rate, spin in motions(20):
        place, velocity = free_state(lean, lean_rate, turn_rate, spin)
        rates = [turn_rate, lean_rate, spin - turn_rate * np.sin(lean)]
        kane, force = of_the_graph(graph, lean, lean_rate, turn_rate, spin)

        def in_speeds(angular, lean=lean, lean_rate=lean_rate, turn_rate=turn_rate):
            turn2, lean2, own2 = angular
            spin2 = own2 + turn2 * np.sin(lean) + turn_rate * np.cos(lean) * lean_rate
            return np.array([lean2, spin2, turn2 * np.cos(lean) - turn_rate * np.sin(lean) * lean_rate])

        state = [*place, 0.7, lean, 0.9, *velocity, *rates]
        scale = 1 + abs(kane).max()
        for e in (right, ours):
            report = reported(e, np.array(state), np.zeros(0), e.default_parameters)
            np.testing.assert_allclose(in_speeds(report["vdot"][3:]), kane, atol=1e-10 * scale)
            assert report["multipliers"][0] == pytest.approx(force[2], abs=1e-10 * (1 + abs(force).max()))
        published = value(wrong, "vdot", [0.7, lean, 0.9, *rates])
        worst = max(worst, float(np.abs(in_speeds(published) - kane).max() / scale))
    assert worst > 0.5
    # where nothing turns, the lost reactions do not matter, and the two agree: a test of upright rolling alone sees nothing
    still = value(wrong, "vdot", [0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    kane, _ = of_the_graph(graph, 0.2, 0.0, 0.0, 0.0)
    assert still[1] == pytest.approx(kane[0], rel=1e-12)


# ---------------------------------------------------------------- Lagrange


a, b = dynamicsymbols("a b")
l1, l2, m1, m2 = sp.symbols("l1 l2 m1 m2", positive=True)
DOUBLE = {l1: 0.7, l2: 0.5, m1: 1.3, m2: 0.8, g: 9.81}


def double_pendulum():
    ground = ReferenceFrame("N")
    first, second = ground.orientnew("A", "Axis", [a, ground.z]), ground.orientnew("B", "Axis", [b, ground.z])
    pivot = Point("O")
    pivot.set_vel(ground, 0)
    upper = pivot.locatenew("P", l1 * first.x)
    upper.v2pt_theory(pivot, ground, first)
    lower = upper.locatenew("Q", l2 * second.x)
    lower.v2pt_theory(upper, ground, second)
    heights = [point.pos_from(pivot).dot(ground.x) for point in (upper, lower)]  # x points down
    bobs = [Particle("upper", upper, m1), Particle("lower", lower, m2)]
    for bob, depth in zip(bobs, heights, strict=True):
        bob.potential_energy = -bob.mass * g * depth
    return ground, bobs, (upper, lower)


def test_double_pendulum_by_lagrange_equals_our_lagrangian():
    from sympy.physics.mechanics import Lagrangian

    ground, bobs, (_, lower) = double_pendulum()
    k = sp.Symbol("k")
    wind = dynamicsymbols("wind")
    loads = [(lower, -k * lower.vel(ground) + wind * ground.y)]
    method = LagrangesMethod(Lagrangian(ground, *bobs), [a, b], forcelist=loads, bodies=bobs, frame=ground)
    method.form_lagranges_equations()
    e = dr.from_sympy(
        method, parameters={**DOUBLE, "k": 0.3}, inputs=[wind], name="double", outputs={"depth": l1 * sp.cos(a) + l2 * sp.cos(b)}
    )
    assert [s.name for s in e.states] == ["a", "b", "a_rate", "b_rate", "work"] and "agree" in e.notes[0]

    places = [(l1 * sp.cos(a), l1 * sp.sin(a)), (l1 * sp.cos(a) + l2 * sp.cos(b), l1 * sp.sin(a) + l2 * sp.sin(b))]
    speeds = [[sp.diff(c, t) for c in place] for place in places]
    kinetic = (m1 * (speeds[0][0] ** 2 + speeds[0][1] ** 2) + m2 * (speeds[1][0] ** 2 + speeds[1][1] ** 2)) / 2
    ours = dr.lagrangian(
        "ours",
        [a, b],
        kinetic=kinetic,
        potential=-g * (m1 * places[0][0] + m2 * places[1][0]),
        forces={
            c: sum(sp.diff(p, c) * f for p, f in zip(places[1], (-k * speeds[1][0], wind - k * speeds[1][1]), strict=True))
            for c in (a, b)
        },
        inputs=[wind],
        parameters={**DOUBLE, k: 0.3},
        work=True,
    )
    rng = np.random.default_rng(5)
    for _ in range(10):
        state, push = np.append(rng.normal(size=4), 0.0), rng.normal(size=1)
        np.testing.assert_allclose(
            e.dynamics([0.0], state, push, e.default_parameters)[0],
            ours.dynamics([0.0], state, push, ours.default_parameters)[0],
            atol=1e-10,
        )
        np.testing.assert_allclose(value(e, "energy", state, push), value(ours, "energy", state, push), atol=1e-12)
    run = dr.simulate(e, 3.0, start={"a": 1.0, "b": 2.0}, inputs={"wind": 0.7}, method=EXACT)
    assert run.energy_drift < 1e-9
    assert run["depth"] == pytest.approx(0.7 * np.cos(run["a"]) + 0.5 * np.cos(run["b"]))


def test_double_pendulum_by_kane_equals_that_by_lagrange():
    ground, bobs, points = double_pendulum()
    ua, ub = dynamicsymbols("ua ub")
    loads = [(point, bob.mass * g * ground.x) for point, bob in zip(points, bobs, strict=True)]
    method = KanesMethod(ground, [a, b], [ua, ub], kd_eqs=[a.diff() - ua - ub, b.diff() - ub], bodies=bobs, forcelist=loads)
    e = dr.from_sympy(method, parameters=DOUBLE, name="double")  # speeds are not the rates: ȧ = ua + ub
    assert not e.extra_states  # the loads are the potential energies' own: nothing else does work
    total = sum(bob.kinetic_energy(ground) - bob.potential_energy for bob in bobs)
    other = dr.from_sympy(LagrangesMethod(total, [a, b]), parameters=DOUBLE, name="double")
    for state in np.random.default_rng(2).normal(size=(5, 4)):
        qa, qb, wa, wb = state
        slope = e.dynamics([0.0], [qa, qb, wa, wb], [], e.default_parameters)[0]
        rates = value(other, "vdot", [qa, qb, wa + wb, wb])
        np.testing.assert_allclose([slope[2] + slope[3], slope[3]], rates, atol=1e-10)
        np.testing.assert_allclose(
            value(e, "energy", state)[:2].sum(), value(other, "energy", [qa, qb, wa + wb, wb]).sum(), atol=1e-12
        )


def test_cartesian_pendulum_by_lagrange_and_its_tension():
    total = m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y
    method = LagrangesMethod(total, [x, y], hol_coneqs=[(x**2 + y**2 - r**2) / (2 * r)])
    method.form_lagranges_equations()
    e = dr.from_sympy(
        method,
        parameters=DISC_DEFAULTS,
        name="pendulum",
        start={y: -RADIUS},
        names={"f1": "rod"},
        units={x: "m", "rod_multiplier": "N"},
    )
    assert [(mu.name, mu.unit) for mu in e.multipliers] == [("rod_multiplier", "N")] and [c.unit for c in e.coordinates] == [
        "m",
        "",
    ]
    angle, rate = 0.6, 2.0
    place, along = RADIUS * np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    report = reported(e, np.concatenate([place, RADIUS * rate * along]), np.zeros(0), e.default_parameters)
    tension = MASS * (GRAVITY * np.cos(angle) + RADIUS * rate**2)
    assert report["multipliers"] == pytest.approx([-tension], abs=1e-12)  # a reaction +Aᵀλ: inward
    expected = -GRAVITY * np.sin(angle) * along - rate**2 * place
    assert report["vdot"] == pytest.approx(expected, abs=1e-12)
    run = dr.simulate(e, 3.0, start={"x": 0.0, "x_rate": 2.0}, method=EXACT)
    assert run.energy_drift < 1e-9 and run.constraint_residual["holonomic"] < 1e-10


# ---------------------------------------------------------------- Kane with constraints


def four_bar(form):
    """SymPy's four-bar linkage: three uniform bars in a loop with the ground, two dependent angles."""
    lengths, masses = sp.symbols("la lb lc ln"), sp.symbols("ma mb mc")
    angles, speeds = dynamicsymbols("qa qb qc"), dynamicsymbols("wa wb wc")
    ground = ReferenceFrame("N")
    joint = Point("P0")
    joint.set_vel(ground, 0)
    frame, bodies, loads, start = ground, [], [], joint
    for i in range(3):
        bar = frame.orientnew(f"B{i}", "Axis", [angles[i], ground.z])
        bar.set_ang_vel(frame, speeds[i] * ground.z)
        middle = joint.locatenew(f"C{i}", lengths[i] / 2 * bar.x)
        following = joint.locatenew(f"P{i + 1}", lengths[i] * bar.x)
        for point in (middle, following):
            point.v2pt_theory(joint, ground, bar)
        about = inertia(bar, 0, 0, masses[i] * lengths[i] ** 2 / 12)
        body = RigidBody(f"bar{i}", middle, bar, masses[i], (about, middle))
        body.potential_energy = masses[i] * g * middle.pos_from(start).dot(ground.y)
        bodies.append(body)
        loads.append((middle, -masses[i] * g * ground.y))
        frame, joint = bar, following
    closing = joint.pos_from(start) - lengths[3] * ground.x
    method = KanesMethod(
        ground,
        [angles[0]],
        [speeds[0]],
        kd_eqs=[q.diff() - w for q, w in zip(angles, speeds, strict=True)],
        q_dependent=angles[1:],
        configuration_constraints=[closing.dot(ground.x), closing.dot(ground.y)],
        u_dependent=speeds[1:],
        velocity_constraints=[joint.vel(ground).dot(ground.x), joint.vel(ground).dot(ground.y)],
        bodies=bodies,
        forcelist=loads,
    )
    if form:
        method.kanes_equations()
    constants = dict(zip((*lengths, *masses, g), (0.8, 2.0, 1.0, 2.0, 1.0, 5.0, 2.0, 9.81), strict=True))
    total = sum(body.kinetic_energy(ground) - body.potential_energy for body in bodies).subs(
        {w: q.diff() for q, w in zip(angles, speeds, strict=True)}
    )
    lagrange = LagrangesMethod(total, angles, hol_coneqs=[closing.dot(ground.x), closing.dot(ground.y)])
    return method, lagrange, constants


def test_four_bar_linkage_by_kane_and_by_lagrange():
    kane, lagrange, constants = four_bar(form=True)
    start = {"qa": 1.2, "qb": -0.9, "qc": -1.6}
    one = dr.from_sympy(kane, parameters=constants, name="kane", start=start)
    other = dr.from_sympy(lagrange, parameters=constants, name="lagrange", start=start)
    assert any("agree" in note for note in one.notes)
    begin = {"qa": 1.2, "wa": 1.5}
    run = dr.simulate(one, 3.0, start=begin, method=EXACT)
    twin = dr.simulate(other, 3.0, start={"qa": 1.2, "qa_rate": 1.5}, method=EXACT)
    assert np.ptp(run["qa"]) > 1.0
    for name in ("qa", "qb", "qc"):
        assert run[name] == pytest.approx(twin[name], abs=1e-8)
    assert run["f1_multiplier"] == pytest.approx(twin["f1_multiplier"], abs=1e-6)
    assert run.energy_drift < 1e-9 and run.constraint_residual["holonomic"] < 1e-10


def test_configuration_constraints_must_be_kept_by_velocity_constraints():
    with pytest.raises(ModelError, match="do not keep the configuration constraint f1"):
        dr.from_sympy(
            rolling_by_constraints(False, height=z - r * sp.cos(q2) - x / 10),
            parameters=DISC_DEFAULTS,
            name="disc",
            start={z: 0.4},
        )


def test_accelerations_set_by_hand_are_found_out():
    """SymPy believes a body's acceleration that was set; ours is derived from its velocity. A wrong one is not let through."""
    method = rolling_by_construction(form=False)
    body = method.bodies[0]
    ground = method._inertial
    body.masscenter.set_acc(ground, body.masscenter.acc(ground) + u1 * u2 * r * ground.x)
    method.kanes_equations()
    with pytest.raises(ModelError, match=r"formed by SymPy and those derived here.*disagree by .* at q1 = "):
        dr.from_sympy(method, parameters=DISC_DEFAULTS, name="disc")


def test_the_benchmark_bicycle_in_sympys_vectors_equals_the_graph():
    """Nine velocities of the same names, 1e-10; then the published eigenvalues."""
    graph = dr.derive(dr.gallery.bicycle())
    values = {p.name: p.default for p in graph.parameters}
    upright = {"frame_qw": 1.0, "frame_z": 0.3}
    e = dr.from_sympy(
        bicycle_system(values), parameters=values, inputs=["steer_torque", "pedal_torque"], name="bicycle", start=upright
    )
    assert [v.name for v in e.velocities] == [v.name for v in graph.velocities]
    assert [c.name for c in e.constraints if c.kind == "norm"] == ["f1"]
    rng = np.random.default_rng(7)
    for _ in range(6):
        targets = {"frame_wx": rng.normal(), "steer_rate": rng.normal(), "front_wheel_spin": rng.normal(12, 5)}
        targets |= {"steer": rng.uniform(-1, 1), "frame_qx": rng.uniform(-0.4, 0.4), "frame_qz": rng.uniform(-0.5, 0.5)}
        begin = consistent_start(graph, targets)
        torques = rng.normal(size=2)
        inputs = dict(zip(("steer_torque", "pedal_torque"), torques, strict=True))
        wanted = reported(graph, begin.x, np.array([inputs.get(i.name, 0.0) for i in graph.inputs]), graph.default_parameters)
        place = dict(zip((c.name for c in graph.coordinates), begin.q, strict=True))
        state = np.array([*(place[c.name] for c in e.coordinates), *wanted["v"], 0.0])
        found = reported(e, state, torques, e.default_parameters)
        np.testing.assert_allclose(found["vdot"], wanted["vdot"], atol=1e-10 * (1 + abs(wanted["vdot"]).max()))
        assert abs(found["residuals"]).max() < 1e-13
    # one Newton step of the projection brings the quaternion's norm and the heights back, quadratically
    state[3:7] *= 1 + 1e-4
    moved, error = e.project([0.0], state, torques, e.default_parameters)
    left = reported(e, moved, torques, e.default_parameters)["residuals"][:3]
    assert error[0] > 1e-4 and abs(left).max() < 1e-7
    table = json.loads((Path(__file__).parents[1] / "reference" / "meijaard2007.json").read_text())["eigenvalues"]["table"]
    jacobian = e.dynamics.jacobian("xdot", "x")
    for speed in (0, 5, 9):
        begin = consistent_start(e, {"rear_wheel_spin": speed / 0.3, "frame_vx": float(speed)})
        found = np.linalg.eigvals(jacobian([0.0], begin.x, np.zeros(2), e.default_parameters)[0])
        for entry in table[str(speed)]:
            assert np.abs(found - complex(float(entry["re"]), float(entry["im"]))).min() < 1e-7


# ---------------------------------------------------------------- System, and SymPy's own models


def cart_pole(speeds=None):
    rail, cart, pole = RigidBody("rail"), RigidBody("cart"), RigidBody("pole")
    length, gravity, k, c = sp.symbols("length gravity k c")
    push = dynamicsymbols("push")
    system = System.from_newtonian(rail)
    qs = dynamicsymbols("q_slider q_pin")
    us = speeds or dynamicsymbols("u_slider u_pin")
    slider = PrismaticJoint("slider", rail, cart, qs[0], us[0], joint_axis=rail.x)
    pin = PinJoint("pin", cart, pole, qs[1], us[1], joint_axis=cart.z, child_point=-length * pole.frame.y)
    system.add_joints(slider, pin)
    system.apply_uniform_gravity(-gravity * system.y)
    system.add_loads(Force(cart, push * rail.x))
    between = LinearPathway(rail.masscenter, cart.masscenter)
    system.add_actuators(LinearSpring(k, between, 0), LinearDamper(c, between))
    values = {"cart_mass": 2.0, "pole_mass": 0.5, "pole_izz": 0.03, "length": 0.7, "gravity": 9.81, "k": 4.0, "c": 0.6}
    return system, push, values


def by_hand(place, angle, velocity, rate, push):
    """θ̈ and ẍ of the cart with spring and damper and the pole standing on it, θ positive to the left."""
    s, c = np.sin(angle), np.cos(angle)
    matrix = np.array([[2.5, -0.5 * 0.7 * c], [-0.5 * 0.7 * c, 0.03 + 0.5 * 0.49]])
    side = np.array([push - 4.0 * place - 0.6 * velocity - 0.5 * 0.7 * s * rate**2, 0.5 * 9.81 * 0.7 * s])
    return np.linalg.solve(matrix, side)


def test_cart_and_pole_as_a_system_of_joints():
    """Masses and moments that drop out (the rail's, the cart's inertia, all but one of the pole's) need no values."""
    system, push, values = cart_pole()
    e = dr.from_sympy(system, parameters=values, inputs=[push], name="cart_pole")
    assert [s.name for s in e.states] == ["q_slider", "q_pin", "u_slider", "u_pin", "work"]
    for state in np.random.default_rng(4).uniform(0.2, 1.2, size=(5, 4)):
        slope = e.dynamics([0.0], [*state, 0.0], [1.3], e.default_parameters)[0]
        np.testing.assert_allclose(slope[2:4], by_hand(*state, 1.3), atol=1e-12)
    run = dr.simulate(e, 3.0, start={"q_slider": 0.2, "q_pin": 0.3}, inputs={"push": 0.4}, method=EXACT)
    assert run.energy_drift < 1e-9
    # once formed, SymPy's own equations are compared
    system.form_eoms()
    formed = dr.from_sympy(system, parameters=values, inputs=[push], name="cart_pole")
    assert any("agree" in note for note in formed.notes)


def test_a_system_whose_speeds_are_derivatives():
    first, second = dynamicsymbols("q_slider q_pin")
    system, push, values = cart_pole(speeds=(first.diff(), second.diff()))
    e = dr.from_sympy(system, parameters=values, inputs=[push], name="cart_pole")
    assert [v.name for v in e.velocities] == ["q_slider_rate", "q_pin_rate"]
    state = [0.3, 0.5, -0.7, 1.1]
    slope = e.dynamics([0.0], [*state, 0.0], [1.3], e.default_parameters)[0]
    np.testing.assert_allclose(slope[2:4], by_hand(*state, 1.3), atol=1e-12)
    system.form_eoms(LagrangesMethod)  # gravity is among the loads, so that L is T alone
    other = dr.from_sympy(system, parameters=values, inputs=[push], name="cart_pole")
    np.testing.assert_allclose(other.dynamics([0.0], [*state, 0.0], [1.3], e.default_parameters)[0][2:4], slope[2:4], atol=1e-12)


def test_a_rheonomic_system_with_constraints():
    """A bead on a rotating line, by a velocity constraint with time in it: the drive's work closes the energy balance."""
    ground = ReferenceFrame("N")
    ux, uy = dynamicsymbols("ux uy")
    bead = Point("bead")
    bead.set_vel(ground, ux * ground.x + uy * ground.y)
    omega = sp.Symbol("omega")
    line = -sp.sin(omega * t) * x + sp.cos(omega * t) * y
    method = KanesMethod(
        ground,
        [x],
        [ux],
        kd_eqs=[x.diff() - ux, y.diff() - uy],
        q_dependent=[y],
        configuration_constraints=[line],
        u_dependent=[uy],
        velocity_constraints=[line.diff(t)],
        bodies=[Particle("bead", bead, m)],
    )
    e = dr.from_sympy(method, parameters={m: 1.7, omega: 2.0}, name="bead", start={x: 0.3})
    assert [s.name for s in e.states][-1] == "work"
    run = dr.simulate(e, 1.0, start={"x": 0.3, "ux": 0.0}, method=EXACT)
    along = np.hypot(run["x"], run["y"])
    assert along == pytest.approx(0.3 * np.cosh(2.0 * run.time), abs=1e-9)  # r̈ = Ω² r
    assert run.energy_drift < 1e-9 and np.ptp(run["kinetic_energy"]) > 1.0


def test_a_support_that_moves_by_a_formula_of_time():
    """s = 0.01 cos 40 t along x under a pendulum: l θ̈ = −g sin θ − s̈ cos θ."""
    theta, w = dynamicsymbols("theta w")
    ground = ReferenceFrame("N")
    rod = ground.orientnew("B", "Axis", [theta, ground.z])
    shake = sp.cos(40 * t) / 100
    bob = Point("bob")
    bob.set_vel(ground, shake.diff(t) * ground.x + r * w * rod.x)  # hangs along −y of the rod
    load = (bob, -m * g * ground.y)
    method = KanesMethod(ground, [theta], [w], kd_eqs=[theta.diff() - w], bodies=[Particle("bob", bob, m)], forcelist=[load])
    method.kanes_equations()
    e = dr.from_sympy(method, parameters=DISC_DEFAULTS, name="shaken")
    assert any("agree" in note for note in e.notes)
    slope = e.dynamics([0.37], [0.8, 1.1, 0.0], [], e.default_parameters)[0]
    shaken = -16.0 * np.cos(40 * 0.37)
    assert slope[1] == pytest.approx(-(GRAVITY * np.sin(0.8) + shaken * np.cos(0.8)) / RADIUS, rel=1e-12)


def test_models_that_sympy_ships():
    chain = n_link_pendulum_on_cart(3, cart_force=True, joint_torques=True)
    names = sorted({str(s) for s in (*chain.mass_matrix.free_symbols, *chain.forcing.free_symbols)} - {"t"})
    values = {name: 0.5 + 0.1 * i for i, name in enumerate(names)}
    forces = dynamicsymbols("F T1 T2 T3")
    e = dr.from_sympy(chain, parameters=values, inputs=forces, name="chain")
    assert any("agree" in note for note in e.notes) and len(e.states) == 9
    springs = multi_mass_spring_damper(2, True, True)
    springs.kanes_equations(springs.bodies, springs.loads)
    values = {"m0": 1.0, "m1": 2.0, "c0": 0.1, "c1": 0.2, "k0": 3.0, "k1": 4.0, "g": 9.81}
    e = dr.from_sympy(springs, parameters=values, inputs=dynamicsymbols("f0 f1"), name="springs")
    slope = e.dynamics([0.0], [0.1, -0.2, 0.3, 0.4, 0.0], [0.5, 0.6], [values[p.name] for p in e.parameters])[0]
    upper = 9.81 + (0.5 - 3.0 * 0.1 - 0.1 * 0.3 + 4.0 * -0.2 + 0.2 * 0.4) / 1.0
    assert slope[2] == pytest.approx(upper, abs=1e-12)
    assert slope[2] + slope[3] == pytest.approx(9.81 + (0.6 - 4.0 * -0.2 - 0.2 * 0.4) / 2.0, abs=1e-12)


def test_a_body_known_by_its_angular_velocity_alone():
    """Euler's equations need no orientation: speeds without coordinates, all in the body's own frame."""
    w1, w2, w3, phi = dynamicsymbols("w1 w2 w3 phi")
    ground, frame = ReferenceFrame("N"), ReferenceFrame("B")
    frame.set_ang_vel(ground, w1 * frame.x + w2 * frame.y + w3 * frame.z)
    center = Point("C")
    center.set_vel(ground, 0)
    body = RigidBody("body", center, frame, m, (inertia(frame, 1, 2, 3), center))
    method = KanesMethod(ground, [phi], [w1, w2, w3], kd_eqs=[phi.diff() - w1], bodies=[body])
    e = dr.from_sympy(method, name="euler")  # the mass drops out and needs no value
    slope = e.dynamics([0.0], [0.0, 0.4, -0.7, 1.1], [], [])[0]
    np.testing.assert_allclose(
        slope[1:], [(2 - 3) * -0.7 * 1.1 / 1, (3 - 1) * 0.4 * 1.1 / 2, (1 - 2) * 0.4 * -0.7 / 3], atol=1e-14
    )


def test_kinematics_are_solved_without_pivots_that_vanish():
    """SymPy's elimination divides by the sine of the last angle; a body that lies level is no singularity."""
    angles, rates = dynamicsymbols("heading roll pitch"), dynamicsymbols("wx wy wz")
    ground, frame = ReferenceFrame("N"), ReferenceFrame("B")
    frame.orient_body_fixed(ground, angles, "zxy")
    real = frame.ang_vel_in(ground)
    frame.set_ang_vel(ground, sum((w * e for w, e in zip(rates, frame, strict=True)), start=0 * frame.x))
    center = Point("C")
    center.set_vel(ground, 0)
    body = RigidBody("body", center, frame, m, (inertia(frame, 1, 2, 3), center))
    equations = [(real - frame.ang_vel_in(ground)).dot(e) for e in frame]
    method = KanesMethod(ground, angles, rates, kd_eqs=equations, bodies=[body])
    level = dict.fromkeys(angles, 0)
    assert any(not sp.sympify(e).subs(level).is_finite for e in method.kindiffdict().values())
    e = dr.from_sympy(method, name="body")
    slope = e.dynamics([0.0], [0.0, 0.0, 0.0, 0.3, -0.5, 0.7], [], [])[0]
    np.testing.assert_allclose(slope[:3], [0.7, 0.3, -0.5], atol=1e-15)  # about z, x and y


# ---------------------------------------------------------------- complaints


def spring(**options):
    q, u = dynamicsymbols("q u")
    force = options.pop("force", -sp.Symbol("k") * q)
    ground, point = ReferenceFrame("N"), Point("P")
    point.set_vel(ground, u * ground.x)
    body = Particle("bob", point, m)
    method = KanesMethod(ground, [q], [u], kd_eqs=[q.diff() - u], bodies=[body], forcelist=[(point, force * ground.x)])
    return dr.from_sympy(method, parameters=options.pop("parameters", {m: 1.0, "k": 2.0}), **options)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: spring(parameters={}), r"constants without a value: k, m; give each a default"),
        (
            lambda: spring(force=dynamicsymbols("F") + dynamicsymbols("G")),
            r"functions of time .*: F, G; declare them with inputs",
        ),
        (lambda: spring(force=dynamicsymbols("F").diff(), inputs=["F"]), r"force at 'P' uses Derivative\(F\(t\), t\)"),
        (lambda: spring(force=sp.Symbol("q")), "constant 'q', which is also the name of a state"),
        (lambda: spring(force=sp.gamma(dynamicsymbols("q"))), "force at 'P': gamma has no counterpart"),
        (lambda: spring(inputs=["k"]), "'k' names an input and a parameter"),
        (lambda: spring(outputs={"u": dynamicsymbols("q")}), "output 'u' has the name of a state"),
        (lambda: spring(start={"p": 1.0}), "a start is given for 'p', which is not a coordinate or speed"),
        (lambda: spring(units={"k": "lbf/in"}), "unit of 'k'|must be SI"),
        (lambda: spring(units={"f1_multiplier": "N"}), "unit is given for 'f1_multiplier', which does not exist"),
        (lambda: spring(names={"f1": "rod"}), "renames a constraint 'f1'; there are none"),
        (lambda: spring(name="my spring"), "letters, digits and underscores"),
        (lambda: dr.from_sympy(sp.Matrix([1])), "takes a KanesMethod, a LagrangesMethod or a System, got MutableDenseMatrix"),
        (
            lambda: dr.from_sympy(LagrangesMethod(m * q1.diff() ** 2 - g * r * q1, [q1]), parameters={m: 1.0}),
            "without a value: g, r;",
        ),
        (
            lambda: dr.from_sympy(LagrangesMethod(q1.diff() ** 2 - dynamicsymbols("F") * q1, [q1])),
            "functions of time that are not coordinates: F; declare",
        ),
        (
            lambda: dr.from_sympy(KanesMethod(ReferenceFrame("N"), [q1], [u1], kd_eqs=[q1.diff() - u1])),
            "has no bodies; call kanes_equations",
        ),
    ],
)
def test_complaints_name_the_thing(spoil, said):
    with pytest.raises((ModelError, ArgumentError), match=said):
        spoil()


def test_a_vector_between_frames_without_orientation_is_named():
    w = dynamicsymbols("w")
    ground, frame = ReferenceFrame("N"), ReferenceFrame("B")
    frame.set_ang_vel(ground, w * frame.z)
    point = Point("P")
    point.set_vel(ground, w * frame.x)
    method = KanesMethod(
        ground, [q1], [w], kd_eqs=[q1.diff() - w], bodies=[Particle("bob", point, m)], forcelist=[(point, g * ground.x)]
    )
    with pytest.raises(ModelError, match="force at 'P' is written in the frames B and N, between which no orientation"):
        dr.from_sympy(method, parameters={m: 1.0, g: 1.0})


def test_a_value_is_given_by_name_whatever_the_assumptions():
    positive = sp.Symbol("m", positive=True)
    total = positive * q1.diff() ** 2 / 2 - positive * q1**2
    for key in ("m", m, positive):
        e = dr.from_sympy(LagrangesMethod(total, [q1]), parameters={key: 2.0})
        assert e.dynamics([0.0], [0.3, 0.0], [], [2.0])[0].tolist() == pytest.approx([0.0, -0.6])


def test_sympy_is_imported_only_when_used():
    code = "import sys, draisine.symbolic.from_sympy; print('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"

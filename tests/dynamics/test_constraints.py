"""Wheels and knife edges on the ground: rows, rates, reduced motion and forces, against geometry and the augmented system."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from brute import reported
from grounded import Vehicle, size, vehicle
from plain import AXES
from vehicles import ALL, balanced_wheel, body

from draisine.dynamics.derive import derive
from draisine.dynamics.linear_algebra import solve, solve_symmetric
from draisine.dynamics.reduced.independent_velocities import amplification
from draisine.dynamics.verify.certificate import certify_derivations
from draisine.errors import ModelError
from draisine.gallery.entries.bicycle import bicycle
from draisine.model.model import Model

VEHICLES = list(ALL)


# -------------------------------------------------------------------- rows


@pytest.mark.parametrize("name", VEHICLES)
def test_rows_are_velocities_of_the_material_points_in_contact(name):
    """For any velocities, admissible or not."""
    c = vehicle(name)
    turned = {
        contact: c.reference_axes(contact).T @ rate if rate.numel() == 3 else rate
        for contact, rate in c.plain.constraint_rates().items()
    }
    expected = c.plain.function(*turned.values())
    rng = np.random.default_rng(11)
    for _ in range(3):
        q, v = c.coordinates(rng), rng.normal(size=len(c.equations.velocities))
        found = c.rows(c.equations.motion([0.0], q, v, np.zeros(len(c.equations.inputs)), c.p)[0])
        for contact, values in zip(turned, expected(0, q, v, 0 * v, np.zeros(len(c.equations.inputs)), c.p), strict=True):
            assert found[contact] == pytest.approx(values, abs=1e-12 * size(v)), contact


@pytest.mark.parametrize("name", [n for n in VEHICLES if n not in ("skater", "snakeboard")])
def test_contact_is_the_lowest_point_and_its_velocity_that_of_poses_in_succession(name):
    """No formula of the contact: the lowest point is searched for, and velocities are differences of poses."""
    c, step = vehicle(name), 1e-5
    e, rng = c.equations, np.random.default_rng(12)
    q, v = c.coordinates(rng), rng.normal(size=len(c.equations.velocities))
    u = np.zeros(len(e.inputs))
    q_rate = c.plain.function(c.plain.q_rate)(0, q, v, 0 * v, u, c.p)[0]
    frames = c.plain.function(c.plain.normal, *(c.plain.frames[w.body] for w in c.system.wheels))
    normal, *here = frames(0, q, v, 0 * v, u, c.p)
    _, *before = frames(0, q - step * q_rate, v, 0 * v, u, c.p)
    _, *after = frames(0, q + step * q_rate, v, 0 * v, u, c.p)
    residuals, outputs = e.motion([0.0], q, v, u, c.p)
    reported_outputs = dict(zip(e.motion.output("outputs").labels, outputs, strict=True))
    heights = dict(zip([k.name for k in e.constraints], residuals, strict=True))
    numbers = c.plain.function(
        *(ca.vertcat(c.plain.vector(w.center), c.plain.value(w.radius), c.plain.value(w.tube)) for w in c.system.wheels)
    )
    for k, (wheel, (*center, radius, tube)) in enumerate(zip(c.system.wheels, numbers(0, q, v, 0 * v, u, c.p), strict=True)):
        point = _lowest(here[k], np.array(center), wheel.axis, radius, tube, normal)
        assert [reported_outputs[f"{wheel.name}_contact_{a}"] for a in "xyz"] == pytest.approx(point[:3], abs=1e-9)
        assert heights[f"{wheel.name}_height"] == pytest.approx(normal @ point[:3], abs=1e-12)
        material = np.linalg.solve(here[k], point)
        velocity = ((after[k] - before[k]) @ material / (2 * step))[:3]
        axes = c.plain.function(c.reference_axes(wheel.name))(0, q, v, 0 * v, u, c.p)[0]
        assert axes @ c.rows(residuals)[wheel.name] == pytest.approx(velocity, abs=1e-7)


def _lowest(frame: np.ndarray, center: np.ndarray, axis: str, radius: float, tube: float, normal: np.ndarray) -> np.ndarray:
    """Lowest point of a circle with a tube around it: the height round the circle is a sinusoid, which three points fix."""
    i = "xyz".index(axis)

    def on_circle(angle: float) -> np.ndarray:
        local = np.append(center, 1.0)
        local[(i + 1) % 3] += radius * np.cos(angle)
        local[(i + 2) % 3] += radius * np.sin(angle)
        return frame @ local

    start, quarter, half = (on_circle(a)[:3] @ normal for a in (0.0, np.pi / 2, np.pi))
    point = on_circle(np.pi + np.arctan2(quarter - (start + half) / 2, (start - half) / 2))
    assert all(on_circle(a)[:3] @ normal >= point[:3] @ normal for a in np.linspace(0, 6.3, 200))
    point[:3] -= tube * normal
    return point


# -------------------------------------------------------------------- motion and forces


@pytest.mark.parametrize("name", VEHICLES)
def test_accelerations_and_forces_are_those_of_the_augmented_system(name):
    """Twice: with our rows and inverse dynamics, and with nothing of ours."""
    c = vehicle(name)
    e, rng = c.equations, np.random.default_rng(13)
    for _ in range(4):
        x, u = c.state(rng)
        q, report = x[: len(e.coordinates)], reported(e, x, u, c.p)
        v, moved = report["v"], report["vdot"]
        assert np.abs(report["residuals"]).max() < 1e-12 * size(v)
        expected, multipliers = c.brute.accelerations(q, v, u, c.p)
        assert np.abs(moved - expected).max() < 1e-10 * size(expected)
        assert np.abs(report["multipliers"] - multipliers).max() < 1e-10 * size(multipliers)
        expected, forces = c.plain.accelerations(0, q, v, u, c.p)
        assert np.abs(moved - expected).max() < 1e-10 * size(expected)
        slope = e.dynamics([0.0], x, u, c.p)[0]
        free = [[w.name for w in e.velocities].index(n) for n in e.independent]
        assert slope[len(q) : len(q) + len(free)] == pytest.approx(moved[free], rel=1e-11, abs=1e-11 * size(moved))
        assert slope[: len(q)] == pytest.approx(c.plain.function(c.plain.q_rate)(0, q, v, 0 * v, u, c.p)[0], abs=1e-12 * size(v))
        _check_forces(c, dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True)), forces, q, v, u)


def _check_forces(c: Vehicle, outputs: dict[str, float], forces: dict[str, np.ndarray], q, v, u) -> None:
    scale = size(*forces.values())
    normal = c.plain.function(c.plain.normal)(0, q, v, 0 * v, u, c.p)[0]
    for wheel in c.system.wheels:
        force, name = forces[wheel.name], wheel.name
        assert [outputs[f"{name}_force_{a}"] for a in "xyz"] == pytest.approx(force, abs=1e-10 * scale)
        reference, axle = c.plain.function(c.reference_axes(name), c.plain.frames[wheel.body][:3, :3] @ AXES[wheel.axis])(
            0, q, v, 0 * v, u, c.p
        )
        assert [outputs[f"{name}_body_force_{a}"] for a in "xyz"] == pytest.approx(reference.T @ force, abs=1e-10 * scale)
        forward = np.cross(axle, normal) / np.linalg.norm(np.cross(axle, normal))
        parts = {"longitudinal": forward, "lateral": np.cross(normal, forward), "normal": normal}
        for part, direction in parts.items():
            assert outputs[f"{name}_{part}_force"] == pytest.approx(direction @ force, abs=1e-10 * scale)
        needed = np.linalg.norm(force - normal * (normal @ force)) / abs(normal @ force)
        assert outputs[f"{name}_friction_needed"] == pytest.approx(needed, rel=1e-8)
        assert np.tan(outputs[f"{name}_track_heading"]) == pytest.approx(forward[1] / forward[0], rel=1e-9)
    for edge in c.system.edges:
        found = [outputs[f"{edge.name}_force_across"], *([outputs[f"{edge.name}_normal_force"]] if edge.on_ground else [])]
        assert found == pytest.approx(forces[edge.name], abs=1e-10 * scale)


@pytest.mark.parametrize("name", VEHICLES)
def test_the_residual_stays_zero_along_the_motion(name):
    """A v̇ + Ȧ v = 0, by differences of the residual between neighboring instants."""
    c, step = vehicle(name), 1e-5
    e, rng = c.equations, np.random.default_rng(14)
    x, u = c.state(rng)
    q, report = x[: len(e.coordinates)], reported(e, x, u, c.p)
    q_rate = e.dynamics([0.0], x, u, c.p)[0][: len(q)]
    early, late = (e.motion([0.0], q + h * q_rate, report["v"] + h * report["vdot"], u, c.p)[0] for h in (-step, step))
    change = (late - early) / (2 * step)
    assert np.abs(change).max() < 1e-6 * size(report["vdot"], report["v"] ** 2)
    # and the test can fail: the rows do turn, so that keeping the velocities would not keep the residual
    early, late = (e.motion([0.0], q + h * q_rate, report["v"], u, c.p)[0] for h in (-step, step))
    assert np.abs(late - early).max() / (2 * step) > 1e3 * np.abs(change).max()


def test_a_disc_rolling_in_its_plane_accelerates_as_on_an_incline():
    """By hand: a wheel that rolls straight down a slope: v̇ = g sin s / (1 + J/(m r²)), normal force m g cos s."""
    m = Model("incline")
    m.ground(slope=0.2)
    m.body("disc", mass=1.5, inertia=(0.05, 0.09, 0.05))
    m.free("disc")
    m.wheel("disc", "disc", radius=0.3)
    e = derive(m)
    x = np.zeros(len(e.states))
    names = [s.name for s in e.states]
    x[names.index("disc_z")], x[names.index("disc_qw")] = 0.3 / np.cos(0.2), 1.0
    x[names.index("disc_wy")] = 4.0
    report = reported(e, x, np.zeros(0), e.default_parameters)
    outputs = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    v = dict(zip(e.report.output("v").labels, report["v"], strict=True))
    dv = dict(zip(e.report.output("vdot").labels, report["vdot"], strict=True))
    assert (v["disc_vx"], v["disc_vz"]) == pytest.approx((1.2 * np.cos(0.2), 1.2 * np.sin(0.2)), abs=1e-13)
    assert dv["ddisc_wy/dt"] == pytest.approx(-9.81 * np.sin(0.2) / 0.3 / (1 + 0.09 / (1.5 * 0.09)), abs=1e-11)
    assert outputs["disc_normal_force"] == pytest.approx(1.5 * 9.81 * np.cos(0.2), abs=1e-10)
    assert outputs["disc_longitudinal_force"] > 0  # it holds the disc back, uphill


# -------------------------------------------------------------------- choices of independent velocities

FEW = {
    "disc": 9,
    "torus": 6,
    "carousel": 4,
    "snakeboard": 3,
    "bicycle": 5,
    "blade and wheel": 5,
    "planar with springs": 4,
    "trailer": 3,
    "skater": 5,
}


@pytest.mark.parametrize("name", list(FEW))
def test_every_regular_choice_gives_the_same_motion(name):
    c = vehicle(name)
    e, rng = c.equations, np.random.default_rng(15)
    states = [c.state(rng) for _ in range(3)]
    names = [v.name for v in e.velocities]
    judged = [j for j in c.brute.mechanism.choices if j.independent != e.independent]
    order = rng.permutation(len(judged))
    compared = 0
    for choice in [judged[k].independent for k in order][: FEW[name]]:
        other = e.with_independent(choice)
        assert set(other.independent) == set(choice)
        for x, u in states:
            first = reported(e, x, u, c.p)
            rows = c.brute._rows(x[: len(e.coordinates)], c.p).full()
            if not amplification(rows[None], names, choice)[0] < 50:
                continue
            compared += 1
            mapped = [first["v"][names.index(n)] for n in other.independent]
            second = reported(other, np.concatenate([x[: len(e.coordinates)], mapped, np.zeros(len(e.extra_states))]), u, c.p)
            for slot in ("v", "vdot", "multipliers"):
                assert np.abs(second[slot] - first[slot]).max() < 1e-9 * size(first[slot]), (choice, slot)
    assert compared >= 3


def test_contacts_without_a_safe_order_are_solved_together():
    """A guard of the tests above: blocks larger than a contact do occur, and in a fixed order their pivots vanish."""
    plan, _, _ = vehicle("casters").brute.mechanism.choose(())
    assert max(len(block.rows) for block in plan.blocks) > 3


@pytest.mark.parametrize("n", range(1, 8))
def test_small_systems_are_solved_wherever_they_are_regular(n):
    """Zeros wherever a pivot would be sought, sparse and dense, several right sides."""
    rng = np.random.default_rng(n)
    for trial in range(12):
        matrix = rng.normal(size=(n, n))
        if trial % 3 == 0:
            np.fill_diagonal(matrix, 0.0)
            matrix[0, -1] = 2.0  # for n = 1, and regular for all
        elif trial % 3 == 1:
            matrix = np.eye(n)[rng.permutation(n)] + np.where(rng.random((n, n)) < 0.3, rng.normal(size=(n, n)), 0.0)
        if np.linalg.cond(matrix) > 1e3:
            continue
        sides = rng.normal(size=(n, 1 + trial % 2))
        symbols = ca.SX.sym("a", n, n)
        rows = [[symbols[i, j] if matrix[i, j] else ca.SX(0) for j in range(n)] for i in range(n)]
        solved = solve(rows, [[ca.SX(s) for s in column] for column in sides.T])
        values = ca.Function("solved", [symbols], [ca.horzcat(*[ca.vertcat(*x) for x in solved])])(matrix).full()
        assert values == pytest.approx(np.linalg.solve(matrix, sides), rel=1e-10, abs=1e-10)
        definite = matrix @ matrix.T + 0.1 * np.eye(n)
        x = solve_symmetric([[ca.SX(d) for d in row] for row in definite], [ca.SX(s) for s in sides[:, 0]])
        assert ca.evalf(ca.vertcat(*x)).full()[:, 0] == pytest.approx(np.linalg.solve(definite, sides[:, 0]), rel=1e-9)


# -------------------------------------------------------------------- what cannot be


def _tricycle(apart: bool) -> Model:
    """Two wheels on one axle, rigidly on a body: their sideways rows repeat each other, unless one may slide along the axle."""
    m = Model("tricycle")
    body(m, "hull", 10.0, (0.3, 0.0, 0.3))
    m.free("hull")
    balanced_wheel(m, "left", "hull", at=(0, 0.3, 0.3))
    carrier = "hull"
    if apart:
        carrier = body(m, "slider", 0.5)
        m.prismatic("play", "hull", "slider", axis="y", at=(0, -0.3, 0.3), span=(-0.05, 0.05))
    balanced_wheel(m, "right", carrier, at=(0, 0, 0) if apart else (0, -0.3, 0.3))
    body(m, "fork", 1.0)
    m.revolute("steer", "hull", "fork", axis="z", at=(1.0, 0, 0.3), orientation=[("y", -0.2)], span=(-0.6, 0.6))
    balanced_wheel(m, "front", "fork", at=(-0.05, 0, 0))
    return m


def test_rows_that_repeat_each_other_are_named_and_left_out():
    """Where one wheel may slide along the axle the rows are independent; on a rigid axle all derivations still agree."""
    e = derive(_tricycle(apart=False))
    assert len(e.independent) == len(e.velocities) - 8 == 2
    assert len(e.multipliers) == 9
    assert [w for w in e.warnings if "constraint right_y repeats left_y: it is monitored but not solved for" in w]
    certificate = certify_derivations(_tricycle(apart=False), states=5)
    assert certificate.passed, str(certificate)
    c = Vehicle(_tricycle(apart=True))
    assert not c.equations.warnings
    x, u = c.state(np.random.default_rng(17))
    report = reported(c.equations, x, u, c.p)
    expected, _ = c.plain.accelerations(0, x[: len(c.equations.coordinates)], report["v"], u, c.p)
    assert np.abs(report["vdot"] - expected).max() < 1e-10 * size(expected)


def test_wheels_of_one_axle_repeat_their_sideways_row():
    """In the plane each wheel has two rows; both forbid the same sideways motion of the axle."""
    m = Model("cart")
    body(m, "hull", 10.0)
    m.planar("hull")
    balanced_wheel(m, "left", "hull", at=(0, 0.3, 0.3))
    assert [c.name for c in derive(m).constraints] == ["left_x", "left_y"]
    balanced_wheel(m, "right", "hull", at=(0, -0.3, 0.3))
    e = derive(m)
    assert [c.name for c in e.constraints] == ["left_x", "left_y", "right_x", "right_y"]
    assert len(e.independent) == len(e.velocities) - 3
    assert "constraint right_y repeats left_y" in e.warnings[0]
    certificate = certify_derivations(m, states=5)
    assert certificate.passed, str(certificate)


def test_two_discs_on_one_body_are_dependent():
    """Both contact points at rest leave a turn about their line: five rows count. In its default place one disc lies flat."""
    m = Model("roller")
    body(m, "roller", 1.0)
    m.free("roller")
    m.wheel("one", "roller", radius=0.3)
    m.wheel("two", "roller", radius=0.3, axis="z", center=(0.3, 0, 0))
    e = derive(m)
    assert len(e.independent) == 1
    assert "constraint two_x repeats one_x, one_y, one_z, two_y and two_z" in e.warnings[0]
    certificate = certify_derivations(m, states=5)
    assert certificate.passed, str(certificate)


def test_a_wheel_that_always_lies_flat_is_refused():
    m = Model("flat")
    body(m, "plate", 1.0)
    m.planar("plate")
    m.wheel("rim", "plate", radius=0.3, axis="z")
    with pytest.raises(ModelError, match="wheel 'rim' lies flat on the ground in every configuration; check its axis, 'z'"):
        derive(m)
    m = Model("on_end")
    body(m, "plate", 1.0)
    m.planar("plate")
    m.knife_edge("plate", along="z", name="blade")
    with pytest.raises(ModelError, match="knife edge 'blade' stands on end in every configuration; check its direction, 'z'"):
        derive(m)


def test_a_wheel_out_of_reach_is_refused():
    m = Model("hung")
    body(m, "arm", 1.0)
    m.universal("swing", "ground", "arm", axes="zy", at=(0, 0, 2.0))
    balanced_wheel(m, "wheel", "arm", at=(0.5, 0, 0))
    with pytest.raises(ModelError, match="'hung': no configuration was found in which all its wheels touch the ground"):
        derive(m)


def test_targets_for_independent_velocities_are_checked():
    def target(*names: str) -> Model:
        m = bicycle()
        m.independent(*names)
        return m

    with pytest.raises(ModelError, match=r"9 velocities and 6 velocity constraints: choose 3 independent velocities, got 2"):
        derive(target("frame_wx", "steer_rate"))
    with pytest.raises(ModelError, match=r"'steer_speed' is not a velocity; did you mean 'steer_rate'"):
        derive(target("frame_wx", "steer_speed", "rear_wheel_spin"))
    with pytest.raises(ModelError, match=r"no velocity 'steer_speed'; did you mean 'steer_rate'"):
        derive(bicycle()).with_independent(("frame_wx", "steer_speed", "rear_wheel_spin"))
    disc = ALL["disc"]()
    disc.independent("disc_vx", "disc_vy", "disc_vz")  # all three spin with the wheel about the contact: ω·ρ stays unknown
    with pytest.raises(
        ModelError, match=r"\(disc_vx, disc_vy, disc_vz\) cannot be the independent velocities.*\(disc_wx, disc_wy, disc_wz\)"
    ):
        derive(disc)


def two_wheeled_robot(hub_height: float = 0.1) -> Model:
    """A body that slides in the plane on two driven wheels: the textbook mobile robot."""
    m = Model("robot")
    hull = m.body("hull", mass=4.0, center_of_mass=(0.05, 0, 0), inertia=(0.1, 0.1, 0.15))
    m.planar(hull)
    for side, y in (("left", 0.2), ("right", -0.2)):
        wheel = m.body(f"{side}_wheel", mass=0.3, inertia=(0.001, 0.002, 0.001))
        m.revolute(f"{side}_angle", hull, wheel, axis="y", at=(0, y, hub_height), rate=f"{side}_spin")
        m.generalized_force(f"{side}_angle", m.input(f"{side}_torque", "N*m"))
    m.wheel("left_wheel", "left_wheel", radius=0.1)
    return m


def test_a_wheel_under_a_planar_body_keeps_only_its_rolling_rows():
    m = two_wheeled_robot()
    equations = derive(m)
    assert [c.name for c in equations.constraints] == ["left_wheel_x", "left_wheel_y"]
    assert "left_wheel_normal_force" not in [o.name for o in equations.outputs]
    certificate = certify_derivations(m, states=5)
    assert certificate.passed, str(certificate)


def test_a_wheel_that_cannot_reach_the_ground_is_refused_by_name():
    with pytest.raises(ModelError, match=r"wheel 'left_wheel' is 0\.05 m above the ground"):
        derive(two_wheeled_robot(hub_height=0.15))

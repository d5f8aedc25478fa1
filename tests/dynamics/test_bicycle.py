"""The benchmark bicycle: published figures, brute force, regularity over the usual range."""

from __future__ import annotations

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from brute import Brute, quaternion, reported

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.gallery.entries.bicycle import bicycle

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "meijaard2007.json").read_text())
NO_INPUT = np.zeros(3)


@pytest.fixture(scope="module")
def brute() -> Brute:
    return Brute(bicycle())


def state(equations, q, **speeds):
    names = [s.name for s in equations.states]
    x = np.zeros(len(names))
    x[: len(q)] = q
    for name, value in speeds.items():
        x[names.index(name)] = value
    return x


def upright(equations):
    q = np.zeros(len(equations.coordinates))
    names = [c.name for c in equations.coordinates]
    q[names.index("frame_z")], q[names.index("frame_qw")] = 0.3, 1.0
    return q


@pytest.mark.parametrize("speed", range(11))
def test_eigenvalues_are_the_published_ones(brute, speed):
    e = brute.equations
    x = state(e, upright(e), front_wheel_spin=speed / 0.35)
    matrix = e.dynamics.jacobian("xdot", "x")([0.0], x, NO_INPUT, e.default_parameters)[0]
    ours = np.linalg.eigvals(matrix)
    for entry in REFERENCE["eigenvalues"]["table"][str(speed)]:
        published = complex(float(entry["re"]), float(entry["im"]))
        assert np.abs(ours - published).min() < 1e-11


def test_static_normal_forces(brute):
    e = brute.equations
    report = reported(e, state(e, upright(e)), NO_INPUT, e.default_parameters)
    outputs = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    for wheel in ("rear", "front"):
        assert outputs[f"{wheel}_wheel_normal_force"] == pytest.approx(REFERENCE["static_normal_forces_N"][wheel], abs=1e-9)
        assert abs(outputs[f"{wheel}_wheel_longitudinal_force"]) < 1e-10


def test_contact_angles_when_upright(brute):
    e = brute.equations
    report = reported(e, state(e, upright(e)), NO_INPUT, e.default_parameters)
    outputs = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    assert outputs["rear_wheel_contact_angle"] == pytest.approx(np.pi, abs=1e-15)
    assert outputs["front_wheel_contact_angle"] == pytest.approx(np.pi + np.pi / 10, abs=1e-15)  # Mauny: ψ₂ = π + θ
    assert outputs["front_wheel_contact_x"] == pytest.approx(1.02, abs=1e-15)  # the wheelbase


def test_accelerations_equal_brute_force_over_lean_and_steer(brute):
    """70° of lean × ±90° of steer, any heading: finite, and equal to the augmented system."""
    e, p = brute.equations, brute.equations.default_parameters
    names = [c.name for c in e.coordinates]
    rng = np.random.default_rng(5)
    for lean in np.radians(np.linspace(-70, 70, 15)):
        for steer in np.radians(np.linspace(-90, 90, 13)):
            q = np.zeros(len(names))
            q[names.index("frame_z")] = 0.3 * np.cos(lean)
            q[names.index("frame_qw") : names.index("frame_qz") + 1] = quaternion(rng.uniform(-np.pi, np.pi), lean, 0.0)
            q[names.index("steer")] = steer
            q = brute.settle(q, p, held=("steer",))
            x = np.concatenate([q, rng.normal(size=3) * [1.0, 1.0, 12.0]])
            u = rng.normal(size=3) * 20
            report = reported(e, x, u, p)
            expected, forces = brute.accelerations(q, report["v"], u, p)
            assert np.all(np.isfinite(report["vdot"]))
            assert np.abs(report["vdot"] - expected).max() <= 1e-9 * np.abs(expected).max()
            assert np.abs(report["multipliers"] - forces).max() <= 1e-9 * np.abs(forces).max()
            independent = [e.report.output("v").labels.index(n) for n in e.independent]
            slope = e.dynamics([0.0], x, u, p)[0]
            assert np.abs(slope[len(names) :] - expected[independent]).max() <= 1e-9 * np.abs(expected).max()


def test_upright_at_rest_is_regular_and_still(brute):
    e = brute.equations
    slope = e.dynamics([0.0], state(e, upright(e)), NO_INPUT, e.default_parameters)[0]
    assert np.abs(slope).max() < 1e-12
    jacobian = e.dynamics.jacobian("xdot", "x")([0.0], state(e, upright(e)), NO_INPUT, e.default_parameters)[0]
    assert np.all(np.isfinite(jacobian))


def test_front_spin_is_chosen_and_rear_spin_is_reported_as_poor():
    assert set(derive(bicycle()).independent) == {"frame_wx", "steer_rate", "front_wheel_spin"}
    poor = bicycle()
    poor.independent("frame_wx", "steer_rate", "rear_wheel_spin")
    equations = derive(poor)
    assert set(equations.independent) == {"frame_wx", "steer_rate", "rear_wheel_spin"}
    assert any("rear_wheel_spin" in note and "front_wheel_spin" in note for note in equations.notes)


def test_conditioning_of_the_two_spins(brute):
    """Near 90° of steer the rear wheel can stand still while the front one rolls round it."""
    e, p = brute.equations, brute.equations.default_parameters
    other = e.with_independent(("frame_wx", "steer_rate", "rear_wheel_spin"))
    names = [c.name for c in e.coordinates]
    front, rear = [], []
    for lean in np.radians(np.linspace(-70, 70, 29)):
        for steer in np.radians([-90, -45, 0, 45, 90]):
            q = np.zeros(len(names))
            q[names.index("frame_z")] = 0.3 * np.cos(lean)
            q[names.index("frame_qw") : names.index("frame_qz") + 1] = quaternion(0.0, lean, 0.0)
            q[names.index("steer")] = steer
            x = np.concatenate([brute.settle(q, p, held=("steer",)), np.zeros(3)])
            front.append(e.monitor([0.0], x, NO_INPUT, p)[0][0])
            rear.append(other.monitor([0.0], x, NO_INPUT, p)[0][0])
    assert max(front) < 11
    assert max(rear) > 200


@pytest.mark.parametrize("choice", [("frame_wx", "steer_rate", "rear_wheel_spin"), ("frame_vx", "frame_wx", "steer_rate")])
def test_choices_agree_on_the_motion(brute, choice):
    e, p = brute.equations, brute.equations.default_parameters
    other = e.with_independent(choice)
    rng = np.random.default_rng(2)
    q = upright(e)
    q[[c.name for c in e.coordinates].index("steer")] = 0.4
    q = brute.settle(q, p)
    u = rng.normal(size=3) * 10
    first = reported(e, np.concatenate([q, [0.3, -0.2, 12.0]]), u, p)
    labels = e.report.output("v").labels
    mapped = [first["v"][labels.index(n)] for n in other.independent]
    second = reported(other, np.concatenate([q, mapped]), u, p)
    for slot in ("v", "vdot", "multipliers"):
        assert second[slot] == pytest.approx(first[slot], rel=1e-9, abs=1e-9)


def test_spin_angles_and_place_do_not_enter(brute):
    """A balanced wheel's angle, the position and the heading are ignorable."""
    e = brute.equations
    slots = [s.name for s in e.dynamics.inputs]
    pattern = np.array(ca.DM(e.dynamics.function.jac_sparsity(0, slots.index("x")), 1).full())
    columns = {s.name: i for i, s in enumerate(e.states)}
    for ignorable in ("frame_x", "frame_y", "frame_z", "rear_wheel_angle", "front_wheel_angle"):
        assert not pattern[:, columns[ignorable]].any()
    assert pattern[:, columns["steer"]].any()


def test_heading_is_a_symmetry(brute):
    e, p = brute.equations, brute.equations.default_parameters
    names = [c.name for c in e.coordinates]
    jacobian = []
    for heading in (0.0, 2.5):
        q = np.zeros(len(names))
        q[names.index("frame_z")] = 0.3
        q[names.index("frame_qw") : names.index("frame_qz") + 1] = quaternion(heading, 0.3, 0.02)
        q[names.index("steer")] = 0.2
        jacobian.append(e.dynamics([0.0], np.concatenate([q, [0.5, 0.3, 13.0]]), [1.0, 2.0, 0.0], p)[0][len(names) :])
    assert jacobian[1] == pytest.approx(jacobian[0], rel=1e-12)


@pytest.mark.parametrize("body", ["fork", "rear_wheel", "front_wheel"])
def test_any_body_may_be_the_reference(brute, body):
    """The same motion described from another body: same steer and wheel accelerations, same contact forces."""
    e, p = brute.equations, brute.equations.default_parameters
    other = Brute(bicycle().referred_to(body))
    names = [c.name for c in e.coordinates]
    q = np.zeros(len(names))
    q[names.index("frame_z")] = 0.28
    q[names.index("frame_qw") : names.index("frame_qz") + 1] = quaternion(0.7, 0.35, 0.02)
    q[names.index("steer")], q[names.index("rear_wheel_angle")], q[names.index("front_wheel_angle")] = -0.5, 0.4, -1.1
    q = brute.settle(q, p)
    u = np.array([2.0, -3.0, 15.0])
    report = reported(e, np.concatenate([q, [0.4, -0.6, 11.0]]), u, p)
    v = dict(zip(e.report.output("v").labels, report["v"], strict=True))

    moved = _as_seen_from(brute, other, body, q, v, p)
    again = reported(other.equations, moved, u, p)
    ours = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    theirs = dict(zip(other.equations.report.output("outputs").labels, again["outputs"], strict=True))
    for name in (
        "speed",
        "lean",
        "roll_rate",
        "yaw_rate",
        "body_yaw_rate",
        "rear_wheel_normal_force",
        "front_wheel_lateral_force",
        "front_wheel_contact_x",
    ):
        assert theirs[name] == pytest.approx(ours[name], rel=1e-9, abs=1e-9), name
    accelerations = dict(zip(e.report.output("v").labels, report["vdot"], strict=True))
    accelerations_seen = dict(zip(other.equations.report.output("v").labels, again["vdot"], strict=True))
    for name in ("steer_rate", "rear_wheel_spin", "front_wheel_spin"):
        assert accelerations_seen[name] == pytest.approx(accelerations[name], rel=1e-9, abs=1e-9), name
    assert again["energy"] == pytest.approx(report["energy"], rel=1e-12)


def _as_seen_from(brute, other, body, q, v, p):
    """State of the re-rooted model that is the same motion."""
    s = brute.mechanism.scope
    pose, twist = brute.mechanism.measures.poses[body], brute.mechanism.measures.twists[body]
    rotation = ca.vertcat(*[ca.horzcat(*row) for row in pose.rotation])
    seen = ca.Function(
        "seen", [s.q, s.v, s.p], [ca.vertcat(*pose.position), rotation, ca.vertcat(*twist.linear), ca.vertcat(*twist.angular)]
    )
    position, r, linear, angular = (x.full() for x in seen(q, list(v.values()), p))
    scalar = np.sqrt(1 + np.trace(r)) / 2
    vector = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4 * scalar)
    known = dict(zip((c.name for c in brute.equations.coordinates), q, strict=True)) | v
    for i, axis in enumerate("xyz"):
        known |= {
            f"{body}_{axis}": position[i, 0],
            f"{body}_v{axis}": linear[i, 0],
            f"{body}_w{axis}": angular[i, 0],
            f"{body}_q{axis}": vector[i],
        }
    known[f"{body}_qw"] = scalar
    return np.array([known[state.name] for state in other.equations.states])


def test_tilted_ground_pulls_downhill():
    """On a slope the upright bicycle at rest feels gravity along the ground: total force of the ground = weight."""
    bike = bicycle()
    bike.ground(slope=bike.parameter("slope", 0.1, "rad"), bank=0.05)
    other = Brute(bike)
    e, p = other.equations, other.equations.default_parameters
    q = other.settle(upright(e), p)
    x = np.concatenate([q, [0.2, 0.1, 5.0]])
    report = reported(e, x, NO_INPUT, p)
    expected, forces = other.accelerations(q, report["v"], NO_INPUT, p)
    assert report["vdot"] == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert report["multipliers"] == pytest.approx(forces, rel=1e-10, abs=1e-9)
    assert np.abs(report["residuals"]).max() < 1e-13
    spin = dict(zip(e.report.output("v").labels, report["vdot"], strict=True))["front_wheel_spin"]
    assert spin < -1.0  # it rolls back down


def test_operation_counts():
    """Counts are budgets: a change that raises them must say why and move the baseline in tests/reference/operations.json."""
    baseline = json.loads((Path(__file__).parents[1] / "reference" / "operations.json").read_text())["bicycle"]
    e = derive(bicycle())
    counts = {
        "dynamics": e.dynamics.operations,
        "report": e.report.operations,
        "project": e.project.operations,
        "monitor": e.monitor.operations,
    }
    rear = e.with_independent(("frame_wx", "steer_rate", "rear_wheel_spin"))
    counts["dynamics_rear_spin"] = rear.dynamics.operations
    assert counts == baseline
    assert counts["dynamics"] <= 1500


def test_yaw_rate_is_the_rate_of_the_heading() -> None:
    """By differences of a dense run, and by the Euler rates of the frame: ψ̇ cos φ = ω_z cos θ − ω_x sin θ."""
    run = dr.simulate(bicycle(), 0.6, start={"speed": 3.0, "steer": 0.4, "heading": 1.0}, samples=np.linspace(0, 0.6, 1201))
    differences = np.gradient(np.unwrap(run["heading"]), run.time, edge_order=2)
    np.testing.assert_allclose(run["yaw_rate"][2:-2], differences[2:-2], atol=2e-5)
    euler = run["body_yaw_rate"] * np.cos(run["pitch"]) - run["roll_rate"] * np.sin(run["pitch"])
    np.testing.assert_allclose(run["yaw_rate"] * np.cos(run["lean"]), euler, atol=1e-8)
    assert np.abs(run["yaw_rate"] - run["body_yaw_rate"]).max() > 0.02  # they are different quantities

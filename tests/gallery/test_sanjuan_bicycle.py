"""Source B's bicycle: its description against the printed formulas, its equations against the benchmark bicycle's, its ride."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import draisine as dr
from draisine.dynamics.lagrangian.energies import Energies
from draisine.gallery.entries.sanjuan_bicycle import (
    FRONT_LENGTH,
    RADIUS,
    REAR_LEG,
    REAR_LENGTH,
    STEER_AXIS,
    sanjuan_bicycle,
    sanjuan_bicycle_ride,
)
from draisine.model.model import Model
from draisine.simulation.initial.consistent_start import consistent_start

D, NAMES = 0.75, ("x", "y", "z", "tau_x", "tau_y", "tau_z", "beta", "phi_1", "phi_2")


# ---------------------------------------------------------------- (42)–(47) and (2), in complex numbers


def omega_x(a):
    return np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])


def omega_y(a):
    """As printed."""
    return np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])


def omega_z(a):
    return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])


def printed(q):
    """Places and rotations of frame, front and rear wheel."""
    x, y, z, tau_x, tau_y, tau_z, beta, phi_1, phi_2 = q
    a1, a2, l1, l2 = STEER_AXIS, REAR_LEG, FRONT_LENGTH, REAR_LENGTH
    frame = np.array([x, y, z]), omega_x(tau_x) @ omega_y(tau_y) @ omega_z(tau_z)
    arrows = {
        "front_wheel": (
            np.array([-D - l1 * np.sin(a1), -l1 * np.cos(a1), 0]),
            omega_z(a1) @ omega_y(beta) @ omega_z(-a1) @ omega_z(phi_1),
        ),
        "rear_wheel": (np.array([D + l2 * np.sin(a2), -l2 * np.cos(a2), 0]), omega_z(phi_2)),
    }
    return {"frame": frame} | {name: (frame[0] + frame[1] @ at, frame[1] @ turn) for name, (at, turn) in arrows.items()}


def contact_velocity(q, v, wheel):
    """v_o + r Ḃ (u_z × (u_z × B⁻¹ u)/‖·‖) with u_z for u_y along the axle and u the ground's normal, eq. 2."""
    place, turn = printed(q)[wheel]
    moved = printed(q + 1e-200j * v)[wheel]
    rates = [np.imag(part) / 1e-200 for part in moved]
    sideways = np.cross([0, 0, 1], turn.T @ [0, 0, 1])
    return rates[0] + RADIUS * rates[1] @ np.cross([0, 0, 1], sideways / np.linalg.norm(sideways)), place


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(42)
    upright = np.array([0, 0, 0, math.pi / 2, 0, 0, 0, 0, 0])
    return [(upright + rng.uniform(-0.8, 0.8, 9), rng.normal(size=9)) for _ in range(10)]


def test_the_graph_is_the_printed_one(states):
    e = Energies(sanjuan_bicycle().freeze())
    assert tuple(e.names) == NAMES
    p = np.array([x.default for x in e.system.parameters])
    import casadi as ca

    poses = ca.Function("poses", [e.q, e.p], [part for n in ("frame", "front_wheel", "rear_wheel") for part in _pose(e, n)])
    for q, _ in states:
        found = [part.full() for part in poses(q, p)]
        expected = [part for name in ("frame", "front_wheel", "rear_wheel") for part in printed(q)[name]]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, atol=1e-15)


def _pose(e, name):
    return e.nodes[name].position, e.nodes[name].rotation


def test_the_wheel_constraint_is_equation_2_about_z(states):
    """D q̇ of both derivations is (2) for both wheels, any velocities."""
    e = Energies(sanjuan_bicycle().freeze())
    p = np.array([x.default for x in e.system.parameters])
    matrices = e.matrices()
    names = [n for group in e.constraints for n, _ in group]
    assert names == [
        *(f"{w}_wheel_height" for w in ("front", "rear")),
        *(f"{w}_wheel_{d}" for w in ("front", "rear") for d in ("along", "across")),
    ]
    for q, v in states:
        reported = dict(zip((s.name for s in matrices.outputs), matrices([0.0], q, v, [0.0, 0.0], p), strict=True))
        rows = dict(zip(names, reported["D"].reshape(-1, 9) @ v, strict=True))
        for wheel in ("front_wheel", "rear_wheel"):
            velocity, _ = contact_velocity(q, v, wheel)
            ours = [rows[f"{wheel}_along"], rows[f"{wheel}_across"], rows[f"{wheel}_height"]]
            np.testing.assert_allclose(ours, velocity, atol=1e-12)


def test_upright_is_a_quarter_turn_about_x():
    """At τ_x = 90° the axles lie level and point to the left of the way it rides, −x; lean and heading are zero."""
    start = consistent_start(dr.derive(sanjuan_bicycle()), {"speed": 3.0})
    place = dict(zip(NAMES, start.q, strict=True))
    assert place["tau_x"] == pytest.approx(math.pi / 2) and place["tau_z"] == pytest.approx(0.0, abs=1e-12)
    assert place["z"] == pytest.approx(RADIUS + FRONT_LENGTH * math.cos(STEER_AXIS), abs=1e-12)
    v = dict(zip((f"{n}_rate" for n in NAMES), start.v, strict=True))
    assert v["x_rate"] == pytest.approx(-3.0) and v["phi_1_rate"] == pytest.approx(3.0 / RADIUS)
    assert printed(start.q)["rear_wheel"][1][:, 2] == pytest.approx([0, -1, 0], abs=1e-12)


# ---------------------------------------------------------------- against the benchmark bicycle


def benchmark() -> Model:
    """The gallery's Whipple bicycle with the numbers of this one: the steer axis through the hub, and 1 kg of the front wheel
    moved from its hub to the fork, which must have a mass."""
    tilt, mass = -STEER_AXIS, 1.0
    front, rear = (-D - FRONT_LENGTH * math.sin(STEER_AXIS)), D + REAR_LENGTH * math.sin(REAR_LEG)
    height = RADIUS + FRONT_LENGTH * math.cos(STEER_AXIS)
    values = {
        "wheelbase": rear - front, "trail": RADIUS * math.tan(tilt), "steer_axis_tilt": tilt,
        "r_rear_wheel": RADIUS, "m_rear_wheel": 3.0, "ixx_rear_wheel": 0.14, "iyy_rear_wheel": 0.28,
        "x_frame": rear, "z_frame": height, "m_frame": 70.0,
        "ixx_frame": 8.0, "iyy_frame": 9.0, "izz_frame": 2.5, "ixz_frame": 0.0,
        "x_fork": rear - front, "z_fork": RADIUS, "m_fork": mass,
        "ixx_fork": 0.0, "iyy_fork": 0.0, "izz_fork": 0.0, "ixz_fork": 0.0,
        "r_front_wheel": RADIUS, "m_front_wheel": 3.0 - mass, "ixx_front_wheel": 0.14, "iyy_front_wheel": 0.28,
    }  # fmt: skip
    system = dr.gallery.bicycle().freeze()
    m = Model.of(replace(system, parameters=tuple(p._replace(default=values.get(p.name, p.default)) for p in system.parameters)))
    for axis in "xyz":
        m.output(f"center_{axis}", f"position_{axis}(saddle)", "m")
        m.output(f"center_{axis}_rate", f"velocity_{axis}(saddle)", "m/s")
    m.output("center_speed", "body_velocity_x(saddle)", "m/s")
    return m


WHEELS = ("rear_wheel", "front_wheel")
CORRESPONDENCE = {
    "speed": "center_speed",
    # it rides towards −x, the benchmark towards x
    **{axis: f"-center_{axis}" for axis in "xy"},
    **{f"{axis}_rate": f"-center_{axis}_rate" for axis in "xy"},
    **{"z": "center_z", "z_rate": "center_z_rate", "phi_1_rate": "front_wheel_spin", "phi_2_rate": "rear_wheel_spin"},
    **{f"{wheel}_{what}_{axis}": f"-{wheel}_{what}_{axis}" for wheel in WHEELS for what in ("contact", "force") for axis in "xy"},
    # counted from other axes
    **{f"{wheel}_{what}": "" for wheel in WHEELS for what in ("contact_angle", "contact_angle_in_wheel", "track_heading")},
    **{f"{wheel}_{what}": "" for wheel in WHEELS for a in "xyz" for what in (f"body_force_{a}", f"{a}_multiplier")},
}


def test_it_is_the_whipple_bicycle_with_the_steer_axis_through_the_hub():
    certificate = dr.certify(sanjuan_bicycle(), against=benchmark(), names=CORRESPONDENCE, count=8)
    assert certificate.passed, str(certificate)
    assert {line.what for line in certificate.lines} == {
        "velocities", "accelerations", "reactions", "power of inputs", "kinetic energy", "potential energy",
    }  # fmt: skip


def test_another_trail_is_not():
    other = benchmark().freeze()
    longer = replace(
        other, parameters=tuple(p._replace(default=p.default + 1e-6) if p.name == "trail" else p for p in other.parameters)
    )
    assert not dr.certify(sanjuan_bicycle(), against=longer, names=CORRESPONDENCE, count=3).passed


# ---------------------------------------------------------------- riding


def growth(speed: float, **parameters: float) -> float:
    """Largest real part of the eigenvalues of lean and steer in upright riding, 1/s."""
    system = sanjuan_bicycle().freeze()
    e = dr.derive(
        replace(system, parameters=tuple(p._replace(default=parameters.get(p.name, p.default)) for p in system.parameters))
    )
    names = [s.name for s in e.states]
    x = consistent_start(e, {"speed": speed, "tau_x": math.pi / 2, "tau_y": 0.0, "beta": 0.0}).x
    (jacobian,) = e.explicit.jacobian("xdot", "x")([0.0], x, [0.0, 0.0], e.default_parameters)
    own = [names.index(n) for n in ("tau_x", "beta", "tau_x_rate", "beta_rate")]
    return float(np.linalg.eigvals(jacobian[np.ix_(own, own)]).real.max())


def test_self_stable_speeds_and_the_sign_of_alpha_1():
    assert growth(4.0) > 0 > growth(4.3) and growth(7.3) < 0 < growth(7.7)
    assert all(growth(speed, alpha_1=-STEER_AXIS) > 5.0 for speed in (2.0, 5.5, 9.0))  # as the signs of (43) suggest: never


@pytest.mark.long
def test_the_study_rides():
    study = sanjuan_bicycle_ride()
    assert "all derivations agree" in study.findings[-1]
    assert set(study.figures) == {"path", "lean_and_steer", "normal_forces"}


def test_it_is_certified_and_its_singular_heading_is_reported():
    certificate = dr.certify(sanjuan_bicycle(), count=8)
    assert certificate.passed, str(certificate)
    assert "tau_x and tau_z rotate about the same axis where tau_y is -90° or 90°" in certificate.avoided[0].what

"""The rolling torus: its inertia by integration, its motion against Newton and Euler written by hand (`rolling_body`)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.torus import critical_speed, rolling_torus, rolling_torus_paths, steady_spin
from gallery.rolling_body import RollingBody

MASS, RING, TUBE, GRAVITY = 2.3, 0.5, 0.15, 9.5  # not the defaults, so that none is compiled in by mistake
PARAMETERS = {"mass": MASS, "ring_radius": RING, "tube_radius": TUBE, "gravity": GRAVITY}
AXIAL, DIAMETRAL = MASS * (RING**2 + 3 * TUBE**2 / 4), MASS * (RING**2 / 2 + 5 * TUBE**2 / 8)
TORUS = RollingBody(MASS, RING, TUBE, AXIAL, DIAMETRAL, GRAVITY)


@pytest.fixture(scope="module")
def equations():
    found = dr.derive(rolling_torus())
    assert found.independent == ("torus_wx", "torus_wy", "torus_wz")
    assert [p.name for p in found.parameters] == list(PARAMETERS)
    return found


def turned(axis, angle):
    half = np.zeros(4)
    half[0], half[1 + axis] = math.cos(angle / 2), math.sin(angle / 2)
    return half


def times(p, q):
    """Product of quaternions, scalar first."""
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])


def state(lean, lean_rate, turn_rate, spin, heading=0.7, spin_angle=0.9, ring=RING, tube=TUBE):
    """Heading, lean and spin angle by quaternion; angular velocity in the axes of the torus, which have turned with it."""
    quaternion = times(times(turned(2, heading), turned(0, lean)), turned(1, spin_angle))
    upright, c, s = turn_rate * math.cos(lean), math.cos(spin_angle), math.sin(spin_angle)
    rates = [c * lean_rate - s * upright, spin, s * lean_rate + c * upright]
    return np.array([0.1, -0.2, ring * math.cos(lean) + tube, *quaternion, *rates])


def rates(equations, x, lean, motion, spin_angle, parameters):
    """(θ̈, Ω̇, σ̇) of the derived equations."""
    (xdot,) = equations.dynamics(0.0, x, [], list(parameters.values()))
    lean_rate, turn_rate, spin = motion
    own = spin - turn_rate * math.sin(lean)  # ψ̇: the axes of the torus turn with it, the axes of lean and heading do not
    c, s = math.cos(spin_angle), math.sin(spin_angle)
    upright = turn_rate * math.cos(lean)
    lean2 = c * xdot[7] + s * xdot[9] + own * upright
    upright2 = -s * xdot[7] + c * xdot[9] - own * lean_rate
    return np.array([lean2, (upright2 + turn_rate * math.sin(lean) * lean_rate) / math.cos(lean), xdot[8]])


def ground_force(equations, x, parameters):
    names = [s.name for s in equations.report.outputs]
    reported = dict(zip(names, equations.report(0.0, x, [], list(parameters.values())), strict=True))
    values = dict(zip([o.name for o in equations.outputs], reported["outputs"], strict=True))
    return np.array([values[f"torus_{direction}_force"] for direction in ("longitudinal", "lateral", "normal")])


def test_moments_of_inertia_by_integration():
    """Gauss quadrature over the volume: r ∈ [0, a], angle round the tube, angle round the ring."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    r, wr = TUBE * (nodes + 1) / 2, TUBE * weights / 2
    angles = np.arange(16) * 2 * math.pi / 16  # exact for trigonometric polynomials of low degree
    r, u, v = np.meshgrid(r, angles, angles, indexing="ij")
    reach = RING + r * np.cos(u)
    volume = wr[:, None, None] * r * reach * (2 * math.pi / 16) ** 2
    x, y, z = reach * np.cos(v), r * np.sin(u), reach * np.sin(v)
    density = MASS / volume.sum()
    assert volume.sum() == pytest.approx(2 * math.pi**2 * RING * TUBE**2, rel=1e-13)
    assert (density * volume * (x**2 + z**2)).sum() == pytest.approx(AXIAL, rel=1e-13)
    assert (density * volume * (y**2 + z**2)).sum() == pytest.approx(DIAMETRAL, rel=1e-13)


def test_accelerations_and_forces_of_any_motion(equations):
    rng = np.random.default_rng(2)
    for _ in range(60):
        lean, (heading, spin_angle), motion = rng.uniform(-1.3, 1.3), rng.uniform(-3, 3, 2), rng.uniform(-5, 5, 3)
        x = state(lean, *motion, heading, spin_angle)
        wanted, force = TORUS.accelerations(lean, *motion)
        found = rates(equations, x, lean, motion, spin_angle, PARAMETERS)
        np.testing.assert_allclose(found, wanted, atol=1e-12 * (1 + abs(wanted).max()))
        np.testing.assert_allclose(ground_force(equations, x, PARAMETERS), force, atol=1e-12 * (1 + abs(force).max()))


@pytest.mark.parametrize("turn_rate", [-9.0, -2.0, -0.4, 0.3, 1.0, 6.0])
def test_steady_turns_have_no_accelerations(equations, turn_rate):
    for lean in np.linspace(-1.4, 1.4, 15):
        spin = TORUS.steady_spin(lean, turn_rate)
        assert spin == pytest.approx(steady_spin(lean, turn_rate, RING, TUBE, GRAVITY), rel=1e-12, abs=1e-14)
        motion = (0.0, turn_rate, spin)
        x, scale = state(lean, *motion), 1 + abs(turn_rate * spin) + turn_rate**2
        np.testing.assert_allclose(rates(equations, x, lean, motion, 0.9, PARAMETERS), 0.0, atol=2e-12 * scale)
        force = MASS * np.array([0, turn_rate * TORUS.speed(lean, turn_rate, spin), GRAVITY])
        np.testing.assert_allclose(ground_force(equations, x, PARAMETERS), force, atol=5e-12 * MASS * scale)


def test_a_thin_tube_is_a_ring(equations):
    """At a = 0 the torus is a knife-edge ring with moments m R² and m R²/2; the steady spin departs from it like a."""
    ring = RollingBody(MASS, RING, 0.0, MASS * RING**2, MASS * RING**2 / 2, GRAVITY)
    thin = {**PARAMETERS, "tube_radius": 0.0}
    lean, motion = 0.4, (0.3, -1.7, 4.0)
    x = state(lean, *motion, tube=0.0)
    wanted, force = ring.accelerations(lean, *motion)
    np.testing.assert_allclose(rates(equations, x, lean, motion, 0.9, thin), wanted, atol=1e-12)
    np.testing.assert_allclose(ground_force(equations, x, thin), force, atol=1e-12 * MASS * GRAVITY)
    gap = [steady_spin(0.4, -1.7, RING, a, GRAVITY) - ring.steady_spin(0.4, -1.7) for a in (1e-4, 2e-4)]
    assert abs(gap[0]) < 1e-2 and gap[1] / gap[0] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize(("lean", "turn_rate"), [(0.6, -3.0), (-0.8, 4.0)])
def test_a_simulated_steady_turn_is_a_circle(lean, turn_rate):
    spin = TORUS.steady_spin(lean, turn_rate)
    start = {"lean": lean, "lean_rate": 0.0, "turn_rate": turn_rate, "spin": spin}
    turns = 8 * 2 * math.pi / abs(turn_rate)
    run = dr.simulate(
        rolling_torus(), turns, start=start, parameters=PARAMETERS, method=dr.methods.DOP853(rtol=1e-12, atol=1e-14)
    )
    assert run.status.kind == "FINISHED"
    np.testing.assert_allclose(run["lean"], lean, atol=1e-8)
    of_center = TORUS.speed(lean, turn_rate, spin) / turn_rate  # signed: to the left of the torus, which starts heading along x
    np.testing.assert_allclose(np.hypot(run["torus_x"], run["torus_y"] - of_center), abs(of_center), atol=1e-7)
    of_track = of_center - RING * math.sin(lean)
    np.testing.assert_allclose(np.hypot(run["torus_contact_x"], run["torus_contact_y"] - of_center), abs(of_track), atol=1e-7)
    np.testing.assert_allclose(run["torus_normal_force"], MASS * GRAVITY, atol=1e-6)
    np.testing.assert_allclose(run["torus_lateral_force"], MASS * turn_rate**2 * of_center, atol=1e-6)


def test_straight_rolling_is_stable_above_its_critical_speed(equations):
    """λ² of the lean from the exact Jacobian, mapped to (θ, θ̇, Ω): half the trace of its square, all else being zero."""
    jacobian = equations.dynamics.jacobian("xdot", "x")

    def exponent_squared(speed):
        # spin angle 0 and heading 0; roll along with the torus: the linear motion of (q, ω) about a spinning state is periodic in
        # time, so the constant matrix is that of the axes of lean and heading, which differ from the torus's by the turn ψ.
        spin = speed / (RING + TUBE)
        x = state(0.0, 0.0, 0.0, spin, heading=0.0, spin_angle=0.0)
        (matrix,) = jacobian(0.0, x, [], list(PARAMETERS.values()))
        # at ψ = 0: lean = 2 q_x, θ̇ = ω_x, upright rate = ω_z; dθ̇/dt = ω̇_x + σ Ω, dΩ/dt = ω̇_z − σ θ̇
        of_lean = [matrix[7, 4] / 2, matrix[7, 7], matrix[7, 9] + spin]
        of_turn = [matrix[9, 4] / 2, matrix[9, 7] - spin, matrix[9, 9]]
        small = np.array([[0.0, 1.0, 0.0], of_lean, of_turn])
        assert np.trace(small) == pytest.approx(0.0, abs=1e-12) and np.linalg.det(small) == pytest.approx(0.0, abs=1e-10)
        return np.trace(small @ small) / 2

    critical = critical_speed(RING, TUBE, GRAVITY)
    for speed in (0.0, 0.4, 1.0, 1.4, 5.0, -1.3):
        assert exponent_squared(speed) == pytest.approx(TORUS.lean_exponent_squared(speed / (RING + TUBE)), rel=1e-11)
    assert exponent_squared(critical) == pytest.approx(0.0, abs=1e-12)
    assert exponent_squared(critical * (1 - 1e-9)) > 0 > exponent_squared(critical * (1 + 1e-9))


def test_the_study_runs():
    study = rolling_torus_paths(until=5.0)
    assert set(study.runs) == {"torus_steady_turn", "torus_flower", "torus_meander"} and len(study.figures) == 5

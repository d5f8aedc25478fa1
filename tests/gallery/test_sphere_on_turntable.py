"""The ball on a turntable: against Euler angles and a Lagrangian, against the closed form, and the table's work."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.gallery.entries.sphere_on_turntable import closed_form, sphere_on_turntable, sphere_on_turntable_circles

VALUES = {"mass": 0.7, "radius": 0.06, "table_rate": -2.3, "tilt": 0.2, "gravity": 9.5}


def by_lagrange():
    """The same ball with Euler angles z-x-y; angular velocity in the table's axes by hand."""
    x, y, a, b, c = dynamicsymbols("ball_x ball_y a b c")
    m, r, omega, tilt, g = (sp.Symbol(name) for name in VALUES)
    spin = sp.Matrix([0, 0, a.diff()])
    spin += b.diff() * sp.Matrix([sp.cos(a), sp.sin(a), 0])
    spin += c.diff() * sp.Matrix([-sp.sin(a) * sp.cos(b), sp.cos(a) * sp.cos(b), sp.sin(b)])
    kinetic = m * (x.diff() ** 2 + y.diff() ** 2) / 2 + m * r**2 / 5 * spin.dot(spin)
    equations = dr.lagrangian(
        "ball",
        [x, y, a, b, c],
        kinetic=kinetic,
        potential=m * g * sp.sin(tilt) * x,
        nonholonomic=[x.diff() - r * spin[1] + omega * y, y.diff() + r * spin[0] - omega * x],
        parameters={sp.Symbol(name): value for name, value in VALUES.items()},
    )
    return equations, sp.lambdify([a, b, a.diff(), b.diff(), c.diff()], list(spin))


def test_no_angles_and_euler_angles_agree():
    ball, (angles, spin_of) = sphere_on_turntable(), by_lagrange()
    p = [VALUES[q.name] for q in ball.parameters]
    names = [s.name for s in ball.report.outputs]
    rng = np.random.default_rng(6)
    for _ in range(10):
        place, (a, b, c), (da, db, dc) = rng.normal(size=2), rng.uniform(-1, 1, 3), rng.normal(size=3)
        wx, wy, wz = spin_of(a, b, da, db, dc)
        v = [0.06 * wy + 2.3 * place[1], -0.06 * wx - 2.3 * place[0]]
        own = dict(zip(names, ball.report([0.0], [*place, *v, wz, wx, wy, 0.0], [], p), strict=True))
        other = dict(zip(names, angles.report([0.0], [*place, a, b, c, *v, da, db, dc, 0.0], [], p), strict=True))
        np.testing.assert_allclose(own["residuals"], 0.0, atol=1e-13)
        np.testing.assert_allclose(own["vdot"][:2], other["vdot"][:2], atol=1e-10)
        np.testing.assert_allclose(own["multipliers"], other["multipliers"], atol=1e-10)
        np.testing.assert_allclose(own["energy"][:2], other["energy"][:2], atol=1e-12)
        # (1 − κ) a + κ Ω z × v, and what the table must push with
        wanted = 5 / 7 * np.array([-9.5 * math.sin(0.2), 0]) + 2 / 7 * -2.3 * np.array([-v[1], v[0]])
        np.testing.assert_allclose(own["vdot"][:2], wanted, atol=1e-12)
        np.testing.assert_allclose(own["multipliers"], 0.7 * (wanted - [-9.5 * math.sin(0.2), 0]), atol=1e-12)


def test_two_turns_of_the_ball_in_seven_of_the_table():
    rate = 3.0
    until = 2 * math.pi * 7 / rate
    start = {"ball_x": 0.3, "ball_y": -0.1, "velocity_x": 0.2, "velocity_y": 0.05}
    run = dr.simulate(
        sphere_on_turntable(),
        until,
        start=start,
        parameters={"table_rate": rate},
        method=dr.methods.DOP853(rtol=1e-12, atol=1e-14),
    )
    angle = np.unwrap(np.arctan2(run["velocity_y"], run["velocity_x"]))
    assert angle[-1] - angle[0] == pytest.approx(4 * math.pi, abs=1e-8)
    assert (run["ball_x"][-1], run["ball_y"][-1]) == pytest.approx((0.3, -0.1), abs=1e-8)
    assert run["kinetic_energy"] - run["kinetic_energy"][0] == pytest.approx(run["work"], abs=1e-9)
    assert np.ptp(run["work"]) > 0.01  # the table gives and takes


def test_the_closed_form_solves_its_equation():
    """v̇ = (5/7) a + (2/7) i Ω v by central differences, at any time."""
    t, h = np.linspace(0.0, 3.0, 7), 1e-5
    place, velocity = (closed_form(t, 0.2, 0.1 - 0.3j, 3.1, 0.8)[i] for i in (0, 1))
    ahead, behind = closed_form(t + h, 0.2, 0.1 - 0.3j, 3.1, 0.8), closed_form(t - h, 0.2, 0.1 - 0.3j, 3.1, 0.8)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), -5 / 7 * 0.8 + 2j / 7 * 3.1 * velocity, atol=1e-8)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), velocity, atol=1e-8)
    assert place[0] == 0.2 and velocity[0] == 0.1 - 0.3j


def test_the_study_holds():
    study = sphere_on_turntable_circles()
    assert "turns 7.00 times the ball goes round 2.00 times" in study.findings[0]
    assert len(study.figures) == 5 and len(study.runs) == 4

"""The rattleback against Newton and Euler with plain vectors: accelerations, force of the ground, reversal."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.rattleback import DEFAULTS, rattleback, rattleback_reverses, reversal

PARAMETERS = {**DEFAULTS, "mass": 1.4, "ixy": 5e-5, "gravity": 9.5, "drag": 2e-3}  # not the defaults
AXES = np.array([PARAMETERS[name] for name in ("long_axis", "short_axis", "depth")])
INERTIA = np.array(
    [
        [PARAMETERS["ixx"], PARAMETERS["ixy"], 0],
        [PARAMETERS["ixy"], PARAMETERS["iyy"], 0],
        [0, 0, PARAMETERS["izz"]],
    ]
)


def rotation(heading, roll, pitch):
    """Body to world: about z, then x, then y."""
    (ch, sh), (cr, sr), (cp, sp) = ((math.cos(a), math.sin(a)) for a in (heading, roll, pitch))
    about_z = np.array([[ch, -sh, 0], [sh, ch, 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    return about_z @ about_x @ about_y


def arm(up):
    """From the center of mass to the lowest point, in the body's axes; complex numbers may pass."""
    return -(AXES**2) * up / np.sqrt(np.sum((AXES * up) ** 2)) + np.array([0, 0, PARAMETERS["mass_below"]])


def newton_euler(up, w):
    """ω̇ and the force of the ground, in the body's axes.

    Rolling: V = −ω × ρ; m (V̇ + ω × V) = F − m g n; I ω̇ + ω × I ω = ρ × F − drag ω; ρ̇ along ṅ = −ω × n, by complex step.
    """
    m, g, drag = PARAMETERS["mass"], PARAMETERS["gravity"], PARAMETERS["drag"]
    rho = arm(up)
    rho_rate = np.imag(arm(up - 1e-200j * np.cross(w, up))) / 1e-200

    def left_over(alpha):
        velocity = -np.cross(w, rho)
        force = m * (-np.cross(alpha, rho) - np.cross(w, rho_rate) + np.cross(w, velocity) + g * up)
        return INERTIA @ alpha + np.cross(w, INERTIA @ w) + drag * w - np.cross(rho, force), force

    zero = left_over(np.zeros(3))[0]
    matrix = np.column_stack([left_over(e)[0] - zero for e in np.eye(3)])
    alpha = np.linalg.solve(matrix, -zero)
    return alpha, left_over(alpha)[1]


@pytest.fixture(scope="module")
def stone():
    return rattleback()


def test_accelerations_and_forces_of_any_motion(stone):
    rng = np.random.default_rng(8)
    names = [s.name for s in stone.report.outputs]
    values = [PARAMETERS[p.name] for p in stone.parameters]
    assert [s.name for s in stone.states][-4:] == ["rate_x", "rate_y", "rate_z", "work"]
    for _ in range(20):
        angles, w = rng.uniform(-1, 1, 3), rng.uniform(-6, 6, 3)
        turn = rotation(*angles)
        up = turn[2]
        rho = arm(up)
        x = [0.1, -0.3, -up @ rho, *angles, *(turn @ -np.cross(w, rho)), *w, 0.0]
        reported = dict(zip(names, stone.report([0.0], x, [], values), strict=True))
        alpha, force = newton_euler(up, w)
        np.testing.assert_allclose(reported["residuals"], 0.0, atol=1e-14)
        np.testing.assert_allclose(reported["vdot"][3:], alpha, atol=1e-10 * (1 + abs(alpha).max()))
        upward, east, north = reported["multipliers"]
        np.testing.assert_allclose([east, north, upward], turn @ force, atol=1e-10 * (1 + abs(force).max()))


def test_without_the_product_of_inertia_no_direction_is_preferred():
    """Mirror images: with ixy = 0 both directions of spin behave alike, with −ixy they change roles."""
    stone, start = rattleback(), {"rate_x": 0.0, "rate_y": 0.0, "roll": 0.0, "pitch": 0.01}

    def spin(way, ixy):
        return dr.simulate(
            stone, 4.0, start={**start, "rate_z": way}, parameters={"ixy": ixy}, method=dr.methods.DOP853(1e-9, 1e-11)
        )

    assert spin(5.0, 0.0)["spin"] == pytest.approx(-spin(-5.0, 0.0)["spin"], abs=1e-5)
    assert reversal(spin(5.0, 2e-5)) < 4.0 and reversal(spin(-5.0, -2e-5)) < 4.0
    assert reversal(spin(5.0, -2e-5)) == reversal(spin(-5.0, 2e-5)) == math.inf


def test_the_study_holds():
    study = rattleback_reverses(until=8.0)
    assert "stops after 2.8" in study.findings[0] and "goes on" in study.findings[1]
    assert len(study.figures) == 5 and len(study.runs) == 5

"""Van der Pol in three forms, the singular constraint, the shuttle: models and what their studies hold themselves to."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.shuttle import CONTROLS, DEGREE, beginning
from draisine.gallery.entries.van_der_pol import van_der_pol, van_der_pol_relaxes, van_der_pol_singular
from draisine.simulation.initial.consistent_start import consistent_start

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)


def test_forms_of_van_der_pol_are_one_motion():
    """Scaled time is t/μ, scaled rate μ ẏ."""
    mu = 5.0
    plain = dr.simulate(van_der_pol(), 10.0, parameters={"mu": mu}, method=EXACT)
    scaled = dr.simulate(
        dr.dae.reduce_index(van_der_pol_singular()), 10.0 / mu, start={"y2": 0.0}, parameters={"eps": mu**-2}, method=EXACT
    )
    assert scaled["y1"] == pytest.approx(np.interp(scaled.time * mu, plain.time, plain["y1"]), abs=2e-3)
    assert scaled["y1"][-1] == pytest.approx(plain["y1"][-1], abs=1e-8)
    assert scaled["y2"][-1] == pytest.approx(mu * plain["y2"][-1], abs=1e-6)


def test_van_der_pol_study_holds():
    study = van_der_pol_relaxes(stiffness=(10.0, 40.0, 80.0))
    assert set(study.figures) == {"relaxation", "limit"}


def test_shuttle_study_holds():
    study = dr.gallery.study("shuttle_poses")()
    assert "2.67287°, bank -0.0522096°" in study.findings[0]


def test_controls_of_the_shuttle_at_the_start():
    """The published values follow from the hidden constraints, from starts of the controls that are not close."""
    e = dr.gallery.shuttle()
    assert [c.name for c in e.constraints] == ["path", "turn", "path_rate", "turn_rate"]
    start = consistent_start(e, beginning())
    found = dict(zip((q.name for q in e.coordinates), start.x, strict=True))
    assert [found[name] / DEGREE for name in CONTROLS] == pytest.approx([2.67287, -0.0522096], rel=2e-6)


def test_gravity_and_turning_of_the_earth_are_those_of_a_particle():
    """Without air the shuttle is a particle: its curve in inertial axes, found from the six equations, has Newton's acceleration.

    The Earth turns fifteen times as fast as it does, so that each term of its turning counts.
    """
    e = dr.gallery.shuttle()
    p = {q.name: q.default for q in e.parameters} | {"sea_density": 0.0, "earth_rate": 1e-3}

    def slope(s: np.ndarray) -> np.ndarray:
        return -e.dynamics([0.0], np.append(s, [0.0, 0.0]), np.zeros(8), [], list(p.values()))[:6]

    def stepped(s: np.ndarray, h: float) -> np.ndarray:
        a = slope(s)
        b = slope(s + h / 2 * a)
        c = slope(s + h / 2 * b)
        return s + h / 6 * (a + 2 * b + 2 * c + slope(s + h * c))

    def place(time: float, s: np.ndarray) -> np.ndarray:
        r, angle = p["earth_radius"] + s[0], s[1] + p["earth_rate"] * time
        return r * np.array([math.cos(s[2]) * math.cos(angle), math.cos(s[2]) * math.sin(angle), math.sin(s[2])])

    now, h = np.array([50e3, 0.4, 0.5, 2500.0, -0.3, 1.1]), 0.1
    here = place(0.0, now)
    acceleration = (place(h, stepped(now, h)) - 2 * here + place(-h, stepped(now, -h))) / h**2
    assert acceleration == pytest.approx(-p["earth_pull"] * here / np.linalg.norm(here) ** 3, abs=1e-5)


def test_altitude_makes_index_three():
    report = dr.dae.index_of(dr.gallery.shuttle_at_altitude(), beginning(), elsewhere=0)
    assert (report.structural, report.differential, report.freedoms) == (3, 3, 3)
    assert "'descent' differentiated once: a hidden condition on speed, path_angle" in map(str, report.steps)
    assert report.unknowns["attack"] == 3 and report.unknowns["speed"] == 2 and report.unknowns["latitude"] == 1

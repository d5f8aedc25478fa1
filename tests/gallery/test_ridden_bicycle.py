"""The gallery's bicycle with a rider: the study, and the effect of passive arms on the steer inertia by hand."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine import gallery


@pytest.mark.further
def test_study():
    study = gallery.study("passive_arms_change_stability")()
    assert study.findings[0] == "hands off: stable from 4.162 to 6.927 m/s"
    assert "elbows locked: nowhere" in study.findings[1]


def test_hands_stay_on_the_grips():
    run = dr.simulate(gallery.ridden_bicycle(), 0.5, start={"speed": 5.0, "steer": 0.1, "roll_rate": 0.2})
    assert run.status.complete
    # the elbows follow the bar: opposite on both sides, to first order
    left, right = run["rider_left_elbow"][0], run["rider_right_elbow"][0]
    assert abs(left) > 0.03 and abs(left + right) < 0.3 * abs(left)


def test_locked_bar_against_a_pendulum():
    """With the bar held still and upright the bicycle falls about the line of contact: λ = √(m g h/I), from the segments."""
    from draisine.parts.riders.postures import reaching
    from draisine.parts.riders.solids import MassProperties, composed

    human = dr.parts.Human.of(1.75, 75.0)
    saddle = np.array([0.25, 0.0, 0.95])
    hands = {s: np.array([0.72, y, 1.05]) - saddle for s, y in (("left", 0.27), ("right", -0.27))}
    feet = {s: np.array([0.48, y, 0.3]) - saddle for s, y in (("left", 0.1), ("right", -0.1))}
    body = human.mass_properties(reaching(human, {"somersault": 0.45}, hands, feet)).moved(np.eye(3), saddle)

    def part(mass, x, z, xx, zz, zx):
        return MassProperties(mass, np.array([x, 0, z]), np.array([[xx, 0, zx], [0, xx + zz, 0], [zx, 0, zz]]))

    parts = [part(12, 0.45, 0.55, 0.6, 0.7, -0.1), part(3, 0.9, 0.7, 0.06, 0.01, 0.008)]
    parts += [part(2, 0.0, 0.3, 0.0603, 0.0603, 0), part(3, 1.02, 0.35, 0.1405, 0.1405, 0)]
    whole = composed([body, *parts])
    h = whole.center_of_mass[2]
    wanted = np.sqrt(whole.mass * 9.81 * h / (whole.inertia[0, 0] + whole.mass * h**2))
    m = gallery.ridden_bicycle("fixed")
    m.spring("steer", 1e7, name="lock")
    found = dr.linearize(m, {"speed": 1e-3}).essential().eigenvalues
    assert np.abs(found - wanted).min() < 1e-4 * wanted

"""Contact of two parametrized surfaces, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.model.model import Model

FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def ball_on_sphere(law: dr.contact.Rolling | None, mass: float = 2.0, small: float = 0.4) -> Model:
    """A solid ball of radius 0.4 on a sphere of radius 1, both by angles about x and y."""
    m = Model("ball_on_sphere")
    moment = 0.4 * mass * small**2
    m.body("ball", mass, inertia=(moment, moment, moment))
    m.free("ball", at=(0, 0, 1 + small))
    own_u, own_v = (m.surface_parameter(f"own_{n}", "rad") for n in "uv")
    a, b = (m.surface_parameter(f"other_{n}", "rad") for n in "uv")
    own = (f"{small}*sin({own_u})", f"{small}*cos({own_u})*sin({own_v})", f"-{small}*cos({own_u})*cos({own_v})")
    other = (f"sin({a})", f"cos({a})*sin({b})", f"cos({a})*cos({b})")
    m.touch("kiss", "ball", own, (own_u, own_v), "ground", other, (a, b), law)
    return m


@pytest.mark.parametrize(("law", "share"), [(None, 0.0), (dr.contact.Rolling(), 0.4)], ids=["smooth", "rolling"])
def test_a_ball_leaves_a_sphere_where_the_textbook_says(law: dr.contact.Rolling | None, share: float) -> None:
    """From rest near the top, ½ (1 + k) v² = g R (1 − cos θ), so that N = m g (cos θ (3 + k) − 2)/(1 + k) vanishes at
    cos θ = 2/(3 + k): 48.2° for a ball that slides, 10/17 or 53.97° for one that rolls."""
    tilt = 0.05
    start = {"ball_x": 1.4 * math.sin(tilt), "ball_y": 0.0, "other_u": tilt, "other_v": 0.0}
    low = dr.Event("low", f"ball_z - {1.4 * math.cos(1.2)}", "stop")
    run = dr.simulate(ball_on_sphere(law), 2.0, start=start, method=FINE, samples=401, events=[low])
    assert run.status.kind == "EVENT"
    theta = np.arctan2(run["ball_x"], run["ball_z"])
    assert np.max(np.abs(np.hypot(run["ball_x"], run["ball_z"]) - 1.4)) < 1e-9
    expected = 2.0 * 9.81 * ((3 + share) * np.cos(theta) - 2 * math.cos(tilt)) / (1 + share)
    np.testing.assert_allclose(run["kiss_normal_force"], expected, atol=1e-7)
    assert theta[-1] == pytest.approx(1.2, abs=1e-9)
    assert run["kiss_normal_force"][0] > 0 > run["kiss_normal_force"][-1]  # persistent: it would have left
    assert run.energy_drift < 1e-9
    assert abs(run["kiss_contact_x"][50] - math.sin(theta[50])) < 1e-9
    if law is not None:
        # friction of a ball that rolls: m g sin θ k/(1 + k), and it holds back
        force = np.hypot(run["kiss_longitudinal_force"], run["kiss_lateral_force"])
        np.testing.assert_allclose(force, 2.0 * 9.81 * np.sin(theta) * share / (1 + share), atol=1e-7)


def test_a_ball_on_a_flat_plate_is_the_wheel_of_no_radius_on_the_ground() -> None:
    """The same contact by surfaces and by a wheel: a torus of circle radius 0 is a ball."""
    ends = []
    for by_surfaces in (True, False):
        m = Model("ball")
        m.body("ball", 2.0, center_of_mass=(0.05, 0.02, 0.0), inertia=(0.02, 0.03, 0.025))
        m.free("ball", at=(0, 0, 0.3))
        m.ground(slope=0.1) if not by_surfaces else None
        if by_surfaces:
            m.frame("plate", "ground", orientation=[("y", -0.1)])
            u, v = m.surface_parameter("u", "rad"), m.surface_parameter("v", "rad")
            x, y = m.surface_parameter("x", "m"), m.surface_parameter("y", "m")
            # angles from the ball's lowest point; good for turns by less than a quarter
            own = (f"0.3*sin({u})", f"0.3*cos({u})*sin({v})", f"-0.3*cos({u})*cos({v})")
            m.touch("rim", "ball", own, (u, v), "plate", (x, y, 0), (x, y), dr.contact.Rolling())
        else:
            m.wheel("rim", "ball", radius=0.0, tube=0.3)
        start = {"ball_x": 0.0, "ball_y": 0.0, "ball_wx": 0.3, "ball_wy": 1.0, "ball_wz": 0.2, "ball_qx": 0.0, "ball_qy": 0.0}
        run = dr.simulate(m, 0.6, start={**start, "ball_qz": 0.0}, method=FINE)
        names = ("ball_x", "ball_y", "ball_z", "ball_wx", "ball_wy", "ball_qx", "rim_normal_force", "rim_force_x", "rim_force_y")
        ends.append([float(run[name][-1]) for name in names])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)

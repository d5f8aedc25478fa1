"""Wheels on curved and moving ground: against planes, closed forms, and the geometry of parallel curves."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.model.model import Model

FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
START = {"wheel_wx": 0.4, "wheel_wy": 6.0, "wheel_wz": 0.5, "wheel_x": 0.0, "wheel_y": 0.0}
TURNED = {"wheel_qx": 0.1, "wheel_qy": 0.0, "wheel_qz": 0.2}


def disk(radius: float = 0.3, tube: float = 0.0, inertia: tuple[float, float, float] = (0.05, 0.1, 0.05)) -> Model:
    m = Model("disk")
    m.body("wheel", mass=2.0, inertia=inertia)
    m.free("wheel")
    m.wheel("rim", "wheel", radius=radius, tube=tube)
    return m


def ball(radius: float = 0.1) -> Model:
    moment = 0.4 * 2.0 * radius**2
    return disk(0.0, radius, (moment, moment, moment))


@pytest.mark.parametrize(("tube", "formulation"), [(0.0, None), (0.05, None), (0.05, dr.formulations.Augmented())])
def test_a_plane_is_the_same_ground_however_it_is_given(tube: float, formulation: dr.formulations.Augmented | None) -> None:
    """By its slope and bank (explicit contact rows), as a surface (surface parameters), as a plane whose matter moves by nothing
    (constraints)."""
    grounds = [
        {"slope": 0.2, "bank": -0.1},
        {"height": "x*tan(0.2) - y*tan(0.1)"},
        {"slope": 0.2, "height": "y*tan(-0.1)"},
        {"slope": 0.2, "bank": -0.1, "velocity": ("0*t", "0*x")},
    ]
    ends = []
    for ground in grounds:
        m = disk(tube=tube)
        m.ground(**ground)  # type: ignore[arg-type]
        run = dr.simulate(dr.derive(m, formulation=formulation), 1.5, start={**START, **TURNED}, method=FINE)
        names = ("wheel_x", "wheel_y", "wheel_z", "wheel_qx", "wheel_wx", "rim_contact_x", "rim_contact_z")
        forces = ("rim_normal_force", "rim_longitudinal_force", "rim_lateral_force", "rim_force_x", "rim_force_z")
        ends.append([float(run[name][-1]) for name in (*names, *forces)])
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], rtol=2e-8, atol=2e-9)


def test_a_ball_on_a_turntable_goes_round_at_two_sevenths_of_its_rate() -> None:
    m = ball()
    m.parameter("rate", 3.0, "rad/s")
    m.ground(velocity=("-rate*y", "rate*x"))
    period = 2 * math.pi / (3.0 * 2 / 7)
    run = dr.simulate(
        m, period, start={"wheel_x": 0.5, "wheel_y": 0.2, "wheel_wx": 1.0, "wheel_wy": -2.0}, method=FINE, samples=201
    )
    x, y = run["wheel_x"], run["wheel_y"]
    assert abs(x[-1] - x[0]) < 1e-8 and abs(y[-1] - y[0]) < 1e-8
    # it is a circle, and not a short one
    half = len(x) // 2
    center = (x[0] + x[half]) / 2, (y[0] + y[half]) / 2
    radius = np.hypot(x - center[0], y - center[1])
    assert radius.min() > 0.1
    np.testing.assert_allclose(radius, radius[0], rtol=1e-6)
    # the motor of the table works: energy changes by just that work
    energy = run["total_energy"]
    np.testing.assert_allclose(energy - energy[0], run["work"] - run["work"][0], atol=1e-8)
    assert np.ptp(energy) > 0.1


def test_a_ball_swings_in_a_bowl_with_the_period_of_the_textbook() -> None:
    """ω² = g / ((R − r)(1 + 2/5)), for a solid ball of radius r at the bottom of a sphere of radius R."""
    m = ball(0.1)
    m.ground(height="1.1 - sqrt(1.1^2 - x^2 - y^2)")
    omega = math.sqrt(9.81 / (1.0 * 1.4))
    swing = 1e-3
    run = dr.simulate(m, 2 * math.pi / omega, start={"wheel_x": swing, "wheel_y": 0.0}, method=FINE, samples=101)
    np.testing.assert_allclose(run["wheel_x"], swing * np.cos(omega * run.time), atol=3e-6 * swing)
    np.testing.assert_allclose(np.hypot(run["wheel_x"], run["wheel_z"] - 1.1), 1.0, rtol=1e-12)


def test_a_heaving_plane_carries_a_wheel_like_more_gravity() -> None:
    """Ground that rises by ½ a t² is gravity g + a."""
    still, lifted = disk(), disk()
    still.gravity(9.81 + 2.0)
    lifted.ground(height="1.0*t^2")
    ends = []
    for m in (still, lifted):
        run = dr.simulate(m, 1.0, start={**START, **TURNED}, method=FINE)
        ends.append([float(run[n][-1]) for n in ("wheel_x", "wheel_y", "wheel_qx", "wheel_wx", "rim_normal_force")])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-8, atol=1e-9)


def test_a_wheel_on_waves_does_not_slip_and_keeps_its_energy() -> None:
    """A free disc, leaning and turning over an egg-box: the wheel's matter at the contact is at rest by differences."""
    m = disk(tube=0.03)
    m.ground(height="0.04*sin(3*x)*cos(2*y)")
    run = dr.simulate(m, 2.0, start={**START, **TURNED}, method=FINE, samples=2001)
    assert run.status.complete
    energy = run["total_energy"]
    assert np.ptp(energy) < 1e-9 * abs(energy[0])
    # point of the surface under the contact, and the wheel's nearest distance to the surface, by brute force at one instant
    k = 1200
    q = np.array([run[f"wheel_q{c}"][k] for c in "wxyz"])
    w, x, y, z = q / np.linalg.norm(q)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    hub = np.array([run[f"wheel_{c}"][k] for c in "xyz"])
    angles = np.linspace(0, 2 * np.pi, 100_001)
    circle = hub[:, None] + turn @ np.array([0.3 * np.cos(angles), 0 * angles, 0.3 * np.sin(angles)])
    touch = np.array([run[f"rim_contact_{c}"][k] for c in "xyz"])
    assert abs(touch[2] - 0.04 * math.sin(3 * touch[0]) * math.cos(2 * touch[1])) < 1e-12
    apart = np.linalg.norm(circle - touch[:, None], axis=0)
    assert abs(apart.min() - 0.03) < 1e-8  # the tube's radius: the contact lies on the torus …
    near = [
        np.linalg.norm(circle - np.array([[a], [b], [0.04 * math.sin(3 * a) * math.cos(2 * b)]]), axis=0).min()
        for a in touch[0] + np.linspace(-1e-2, 1e-2, 5)
        for b in touch[1] + np.linspace(-1e-2, 1e-2, 5)
    ]
    assert min(near) > 0.03 - 1e-8  # … and the ground nowhere comes closer
    # velocity of the matter there, from the hub's motion by differences and the body's rates
    step = run.time[1] - run.time[0]
    v = np.array(
        [
            (run[f"wheel_{c}"][k - 2] - 8 * run[f"wheel_{c}"][k - 1] + 8 * run[f"wheel_{c}"][k + 1] - run[f"wheel_{c}"][k + 2])
            for c in "xyz"
        ]
    )
    rates = turn @ np.array([run[f"wheel_w{c}"][k] for c in "xyz"])
    slip = v / (12 * step) + np.cross(rates, touch - hub)
    assert np.abs(slip).max() < 1e-8


@pytest.mark.parametrize("tube", [0.0, 0.05])
@pytest.mark.parametrize(
    "ground",
    [{"height": "0.1*sin(x)*cos(2*y)"}, {"slope": 0.2, "height": "0.2*sin(3*t)", "velocity": ("-2*y", "2*x")}],
)
def test_both_families_of_derivations_agree_on_curved_and_moving_ground(tube: float, ground: dict[str, object]) -> None:
    m = disk(tube=tube)
    m.ground(**ground)  # type: ignore[arg-type]
    certificate = dr.certify(m)
    assert certificate.passed, certificate
    assert "energies" in certificate.derivations


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.ground(height="0.1*sin(u)"), "height of the ground: unknown name 'u'"),
        (lambda m: m.ground(height="wheel_x"), "height of the ground may depend on parameters, time and the position x, y only"),
        (lambda m: m.ground(velocity=(1.0,)), "velocity of the ground: needs two components"),
        (lambda m: (m.ground(height="0.1*x^2"), m.output("rim_place_x", "1")), "'rim_place_x' names both"),
        (lambda m: m.output("slide", "slip_along(rim)"), "slip_along takes the name of a wheel that can slip"),
    ],
)
def test_complaints_name_the_ground_or_the_wheel(change, says: str) -> None:  # type: ignore[no-untyped-def]
    m = disk()
    with pytest.raises(dr.errors.ModelError) as problem:
        change(m)
        dr.derive(m)
    assert says in str(problem.value)

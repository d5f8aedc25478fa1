"""A disc or ring on a free joint has steady motions: its angular velocity turns with it, heading, lean and spin are constant."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import draisine as dr
from draisine.model.model import Model

GRAVITY = 9.81
LEAN = "asin(2*(disc_qw*disc_qx + disc_qy*disc_qz))"


def disc(mass: float, radius: float, diametral: float, axial: float, tube: float = 0.0) -> Model:
    m = Model("free_disc")
    m.body("disc", mass, inertia=(diametral, axial, diametral))
    m.free("disc", at=(0, 0, radius + tube))
    m.wheel("rim", "disc", radius=radius, tube=tube)
    m.output("lean", LEAN, "rad")
    return m


def random_bodies(count: int) -> list[tuple[float, float, float, float]]:
    """Discs, rings and bodies between them: mass, radius, diametral and axial moments of inertia."""
    rng, found = np.random.default_rng(1744), []
    for share in (0.5, 1.0, *rng.uniform(0.3, 1.0, count)):
        mass, radius = rng.uniform(0.3, 20.0), rng.uniform(0.05, 1.5)
        found.append((mass, radius, 0.5 * share * mass * radius**2, share * mass * radius**2))
    return found


@pytest.mark.parametrize("body", random_bodies(2))
def test_straight_rolling_has_the_modes_of_the_textbook(body: tuple[float, float, float, float]) -> None:
    """λ² = (m g r − C (C + m r²) ω²/A)/(A + m r²); stable above ω² = m g r A/(C (C + m r²)), a disc above v² = g r/3."""
    mass, radius, a, c = body
    rolling = c + mass * radius**2
    critical = math.sqrt(mass * GRAVITY * radius * a / (c * rolling))
    spins = np.linspace(0.4, 2.5, 9) * critical
    found = dr.modes(disc(*body), over={"disc_wy": spins})
    squares = (mass * GRAVITY * radius - c * rolling * spins**2 / a) / (a + mass * radius**2)
    for row, square in zip(found.eigenvalues, squares, strict=True):
        expected = np.sqrt(complex(square)) * np.array([1.0, -1.0])
        for value in expected:
            assert np.abs(row - value).min() < 1e-8 * math.sqrt(GRAVITY / radius)
    assert any(c.value == pytest.approx(critical, rel=1e-9) for c in found.critical())


@pytest.mark.parametrize("body", random_bodies(2))
def test_circular_motions_balance_moments(body: tuple[float, float, float, float]) -> None:
    """A Ω² sin θ cos θ − (C + m r²) σ Ω cos θ = m g r sin θ with turn rate Ω and spin σ about the axle; a run stays in it."""
    mass, radius, a, c = body
    rng = np.random.default_rng(int(1e6 * radius))
    for _ in range(3):
        lean, spin = rng.uniform(-0.6, 0.6), rng.choice([-1, 1]) * rng.uniform(2.0, 6.0) * math.sqrt(GRAVITY / radius)
        model = disc(*body)
        circle = dr.steady(model, {"lean": lean, "disc_wy": spin})
        turn = dr.linearize(circle).at["disc_heading_rate"]
        sine, cosine = math.sin(lean), math.cos(lean)
        moment = mass * GRAVITY * radius
        balance = a * turn**2 * sine * cosine - (c + mass * radius**2) * spin * turn * cosine - moment * sine
        assert abs(balance) < 1e-9 * moment
        run = dr.simulate(model, 1.5 * math.sqrt(radius / GRAVITY), start=circle)
        np.testing.assert_allclose(run["lean"], lean, atol=1e-6)
        np.testing.assert_allclose(run["disc_wy"], spin, rtol=1e-6)
        assert set(circle.ignorable) == {"disc_heading", "disc_pitch", "disc_x", "disc_y"}


def test_modes_of_a_circular_motion_equal_those_by_euler_angles() -> None:
    """The same disc with angles as coordinates, and with a rim of finite radius."""
    for tube in (0.0, 0.05):
        body = (2.0, 0.4, 0.09, 0.16)
        lean, spin = 0.3, 9.0
        circle = dr.steady(disc(*body, tube), {"lean": lean, "disc_wy": spin})
        m = Model("by_angles")
        m.body("disc", body[0], inertia=(body[2], body[3], body[2]))
        m.free_euler("disc", angles=("heading", "tilt", "turned"))
        m.wheel("rim", "disc", radius=body[1], tube=tube)
        m.output("spin", "turned_rate + heading_rate*sin(tilt)", "rad/s")
        other = dr.steady(m, {"tilt": lean, "spin": spin}, near={"tilt": lean, "spin": spin, "heading_rate": -0.5})
        found = circle.linearize().essential().eigenvalues
        for value in other.linearize().essential().eigenvalues:
            assert np.abs(found - value).min() < 1e-7


def test_a_body_without_the_symmetry_keeps_its_names() -> None:
    lopsided = Model("lopsided")
    lopsided.body("disc", 1.0, inertia=(0.05, 0.125, 0.08))
    lopsided.free("disc", at=(0, 0, 0.5))
    lopsided.wheel("rim", "disc", radius=0.5)
    with pytest.warns(UserWarning, match="not steady"):
        linear = dr.linearize(lopsided, {"disc_wy": 3.0, "disc_wx": 0.2, "disc_wz": 0.1, "disc_qx": 0.1})
    assert "disc_wx" in linear.states and "disc_lean_rate" not in linear.states


def test_a_motion_that_is_not_steady_is_reported() -> None:
    """The roll acceleration at the start of a run is the rate that the linear model names."""
    bike = dr.gallery.bicycle()
    rng = np.random.default_rng(3)
    for _ in range(3):
        at = {"speed": rng.uniform(2.0, 8.0), "lean": rng.uniform(0.05, 0.3)}
        with pytest.warns(UserWarning, match="the reference motion is not steady: frame_wx changes at"):
            linear = dr.linearize(bike, at, states=("lean", "steer"))
        rates = dr.consistent_start(bike, at).rates
        for name in ("frame_wx", "steer_rate"):
            assert linear.unsteady[name] == pytest.approx(rates[name], rel=1e-9)
        assert "not steady" in str(linear) and "not steady" in repr(linear.essential())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not dr.linearize(bike, {"speed": 5.0}).unsteady
        assert not dr.linearize(dr.steady(bike, {"lean": 0.1})).unsteady

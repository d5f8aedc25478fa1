"""Painlevé's paradox resolved by an impact without collision, where the model asks for it: the rod, by hand and in space."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError
from draisine.gallery.entries.falling_rod import falling_rod
from draisine.gallery.entries.painleve import coefficients, sliding
from reference import cases

G = 9.81


def rod(restitution: float = 0.0, law: str = "energetic") -> dr.Model:
    """A uniform rod of 1 m and 1 kg in a vertical plane, by its foot and its angle from the vertical."""
    m = dr.Model("rod")
    m.gravity(G)
    m.parameter("friction", 1.5)
    m.prismatic("x", "ground", m.body("first", mass=0), axis="x")
    m.prismatic("z", "first", m.body("second", mass=0), axis="z")
    body = m.body("rod", mass=1, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-6))
    m.revolute("theta", "second", body, axis="y")
    m.contact("foot", body, friction="friction", restitution=restitution, impact=law)
    m.impacts(without_collision=True)
    return m


def struck(phi: float, mu: float, speed: float, restitution: float) -> tuple[float, float, float]:
    """Impulses and final normal velocity by hand. The foot slips with u_t = −speed and has aₙ = p N while it does:
    G_nn = 1 + 3 cos² φ, G_tt = 1 + 3 sin² φ, G_nt = −3 sin φ cos φ; first the slip ends, then the approach that it caused."""
    s, c = math.sin(phi), math.cos(phi)
    nn, tt, nt = 1 + 3 * c * c, 1 + 3 * s * s, -3 * s * c
    first = speed / (nt + mu * tt)  # until the slip ends
    down = (nn + mu * nt) * first
    hold = -nt / tt  # friction that keeps it at rest
    assert abs(hold) <= mu and down < 0
    up = nn + nt * hold
    work = 0.5 * down * first - 0.5 * down**2 / up  # of the normal impulse: down, and then back to rest
    second = -down / up
    last = math.sqrt(2 * restitution**2 * -work / up)
    return first + second + last, mu * first + hold * (second + last), up * last


@pytest.mark.parametrize("seed", range(8))
def test_rod_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mu, restitution = float(rng.uniform(1.4, 3.0)), float(rng.choice([0.0, 0.5]))
    root = math.sqrt(9 * mu**2 - 16)
    low, high = math.atan((3 * mu - root) / 2), math.atan((3 * mu + root) / 2)
    phi, speed = low + (high - low) * float(rng.uniform(0.05, 0.95)), float(rng.uniform(0.2, 3))
    omega = float(rng.uniform(0, 0.9)) * math.sqrt(2 * G / math.sin(phi))
    p, b = coefficients(phi, omega, mu)
    assert p < 0 and b < 0
    start = sliding(phi, omega, speed)
    run = dr.simulate(rod(restitution), 1e-4, start=start, parameters={"friction": mu}, samples=[0.0])
    assert run.status.kind == "FINISHED", run.status
    normal, along, back = struck(phi, mu, speed, restitution)
    impact = run.modes.impacts[0]
    np.testing.assert_allclose(impact.impulse["foot"][:2], (normal, along), rtol=1e-10)
    assert run["z_rate"][0] == pytest.approx(back, rel=1e-9, abs=1e-12)
    assert abs(run["x_rate"][0]) < 1e-12
    # impulses act on the foot: the angular momentum about it stays
    s, c = math.sin(phi), math.cos(phi)
    after = -run["theta_rate"][0] / 3 + 0.5 * c * run["z_rate"][0]
    before = omega / 3 - 0.5 * s * -speed
    assert after == pytest.approx(before, rel=1e-10)
    assert impact.lost > 0
    assert run.modes[0].modes["foot"] == ("stick" if restitution == 0.0 else "open")


def test_reference_case() -> None:
    """C07a: at 60° with ω = 0 there is no solution; the impact stops the foot, and ω = (3/2) v sin φ/L."""
    case = cases()["C07a"]
    assert case["critical_mu"] == pytest.approx(4 / 3)
    assert "inconsistent" in case["at_60deg_omega0"]["verdict"]
    phi = math.pi / 3
    named = falling_rod()
    asked = falling_rod()
    asked.impacts(without_collision=True)
    start, mu = sliding(phi, 0.0), {"friction": 1.5}
    assert dr.simulate(named, 0.1, start=start, parameters=mu).status.kind == "CONTACT_INCONSISTENT"
    run = dr.simulate(asked, 0.1, start=start, parameters=mu)
    assert run.status.kind == "FINISHED", run.status
    assert run["theta_rate"][0] == pytest.approx(-1.5 * math.sin(phi), rel=1e-12)
    assert run.modes[0].lost == pytest.approx(0.5 - (1.5 * math.sin(phi)) ** 2 / 6, rel=1e-12)
    assert run.energy_drift < 1e-9
    # two solutions remain two
    assert dr.simulate(asked, 0.1, start=sliding(phi, 6.0), parameters=mu).status.kind == "CONTACT_INDETERMINATE"
    # without the paradox nothing changes
    mild = {"friction": 1.3}
    one, other = (dr.simulate(model, 0.1, start=start, parameters=mild) for model in (named, asked))
    np.testing.assert_array_equal(one.data, other.data)


def test_rod_in_space() -> None:
    """The same with a slip in two dimensions, in any direction."""
    m = dr.Model("rod")
    m.gravity(G)
    body = m.body("rod", mass=1, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-4))
    for axis, child, parent in (("x", "a", "ground"), ("y", "b", "a"), ("z", "c", "b")):
        m.prismatic(axis, parent, m.body(child, mass=0), axis=axis)
    m.revolute("yaw", "c", m.body("d", mass=0), axis="z")
    m.revolute("theta", "d", m.body("e", mass=0), axis="y")
    m.revolute("twist", "e", body, axis="z")
    m.contact("foot", body, friction=1.5)
    m.impacts(without_collision=True)
    phi, yaw, speed = 1.05, 0.7, 0.8
    start = {"x": 0, "y": 0, "z": 0, "yaw": yaw, "theta": math.pi / 2 - phi, "x_rate": -speed * math.cos(yaw)}
    start |= {"y_rate": -speed * math.sin(yaw), "z_rate": 0, "theta_rate": 0, "yaw_rate": 0, "twist_rate": 0}
    run = dr.simulate(m, 1e-4, start=start, samples=[0.0])
    assert run.status.kind == "FINISHED", run.status
    normal, along, _ = struck(phi, 1.5, speed, 0.0)
    impulse = run.modes.impacts[0].impulse["foot"]
    np.testing.assert_allclose(impulse, (normal, along * math.cos(yaw), along * math.sin(yaw)), rtol=1e-8)


def test_files_and_refusals(tmp_path: Path) -> None:
    m = rod()
    dr.write_model(m, tmp_path / "rod.toml")
    assert dr.read_model(tmp_path / "rod.toml").freeze() == m.freeze()
    assert m.freeze().impacts_without_collision
    with pytest.raises(ModelError, match="True or False"):
        m.impacts(without_collision="yes")  # type: ignore[arg-type]

"""Slips in two dimensions that begin, turn and stop, against closed forms and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

G = 9.81
TIGHT = dr.methods.Auto(rtol=1e-11, atol=1e-13)


def block(friction: float | tuple[float, float], gravity: tuple[float, float, float] = (0.0, 0.0, -G)) -> dr.Model:
    """A particle that slides along x and y on the ground, with inputs along both."""
    m = dr.Model("block")
    m.gravity(gravity)
    first, second, body = m.body("first", mass=0.0), m.body("second", mass=0.0), m.body("body", mass=1.0)
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("y", first, second, axis="y")
    m.prismatic("z", second, body, axis="z")
    m.contact("floor", body, friction=friction)
    for axis in "xy":
        m.generalized_force(axis, m.input(f"pull_{axis}", "N"))
    return m


@pytest.mark.parametrize("seed", range(12))
def test_stop_under_a_constant_force(seed: int) -> None:
    """ṡ = c − b s/|s| with |c| < b: b|s| + c·s falls at the rate b² − c², so the slip stops at (b|s₀| + c·s₀)/(b² − c²).

    Odd members begin almost against c: as they stop they turn by nearly half a turn, the later the straighter they begin.
    """
    rng = np.random.default_rng(seed)
    mu = float(rng.uniform(0.2, 0.8))
    b = mu * G
    angle, share, speed = rng.uniform(0, 2 * np.pi), rng.uniform(0.1, 0.8), rng.uniform(0.5, 3.0)
    c = share * b * np.array([np.cos(angle), np.sin(angle)])
    turned = np.pi + 10.0 ** rng.uniform(-9, -1) if seed % 2 else rng.uniform(0, 2 * np.pi)
    start = speed * np.array([np.cos(angle + turned), np.sin(angle + turned)])
    stop = (b * speed + c @ start) / (b**2 - c @ c)
    for method, close in ((None, 1e-6), (TIGHT, 1e-9)):
        run = dr.simulate(
            block(mu, (float(c[0]), float(c[1]), -G)),
            1.2 * stop,
            start={"z": 0.0, "x_rate": float(start[0]), "y_rate": float(start[1])},
            method=method,
        )
        assert run.status.kind == "FINISHED"
        assert [change.modes["floor"] for change in run.modes] == ["slip", "stick"]
        assert run.modes[-1].time == pytest.approx(stop, abs=close)
        assert np.hypot(run["x_rate"][-1], run["y_rate"][-1]) < 1e-12
        assert run.energy_drift < 10 * close


@pytest.mark.parametrize(("mu", "turning"), [(0.3, 0.5), (0.5, 3.0), (0.2, -1.5)])
def test_begin_under_a_turning_force(mu: float, turning: float) -> None:
    """A force that grows and turns: the begin where it reaches μ m g, the motion from SciPy."""
    from scipy.integrate import solve_ivp

    rate = 2.0  # N/s
    begin, end = mu * G / rate, mu * G / rate + 0.5
    pull = {"pull_x": f"{rate}*t*cos({turning}*t)", "pull_y": f"{rate}*t*sin({turning}*t)"}
    small = 1e-11  # m/s, below which friction is linear

    def motion(t: float, v: np.ndarray) -> np.ndarray:
        force = rate * t * np.array([np.cos(turning * t), np.sin(turning * t)])
        return force - mu * G * v / np.sqrt(v @ v + small**2)

    known = solve_ivp(motion, (begin, end), [0.0, 0.0], method="Radau", rtol=1e-11, atol=1e-15).y[:, -1]
    run = dr.simulate(block(mu), end, start={"z": 0.0}, inputs=pull, method=TIGHT)
    assert [change.modes["floor"] for change in run.modes] == ["stick", "slip"]
    assert run.modes[-1].time == pytest.approx(begin, abs=1e-10)
    np.testing.assert_allclose([run["x_rate"][-1], run["y_rate"][-1]], known, atol=2e-8)
    assert run.energy_drift < 1e-9
    rough = dr.simulate(block(mu), end, start={"z": 0.0}, inputs=pull)
    np.testing.assert_allclose([rough["x_rate"][-1], rough["y_rate"][-1]], known, atol=1e-6)

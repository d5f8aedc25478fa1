"""Spheres on curved ground: against spheres on spheres, planes, and a program in one coordinate along the parallel curve."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

import draisine as dr

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-14)
NAMES = [f"ball_{axis}" for axis in "xyz"] + [f"ball_{kind}{axis}" for kind in "vw" for axis in "xyz"]


def ball(radius: Any = 0.1, **contact: Any) -> dr.Model:
    """A free solid ball of 0.5 kg, with its contact."""
    m = dr.Model("ball")
    m.gravity(G)
    m.parameter("radius", 0.1, "m")
    body = m.body("ball", mass=0.5, inertia=("0.2*radius^2",) * 3)
    m.free(body)
    m.contact("floor", body, radius="radius", **contact)
    return m


@cache
def on_sphere(side: int, law: str, curved: bool) -> dr.Model:
    """In a bowl (side −1) or on a dome (+1) of radius `big`: as curved ground, and as another sphere."""
    options: dict[str, Any] = {"friction": "mu", "restitution": 0.6, "impact": law}
    if law == "newton":
        options["tangential_restitution"] = 0.4
    if law == "poisson":
        options |= {"restitution": 0.0, "rolling_resistance": 0.004, "drilling_resistance": 0.002}
    if not curved:
        options |= {"on": "middle", "on_radius": "big" if side > 0 else "-big"}
    m = dr.Model("ball")
    m.gravity(G)
    m.parameter("radius", 0.1, "m")
    m.parameter("big", 1.0, "m")
    m.parameter("mu", 0.3)
    body = m.body("ball", mass=0.5, inertia=("0.2*radius^2",) * 3)
    m.free(body)
    m.point("middle", "ground", (0, 0, 0))
    m.contact("floor", body, radius="radius", **options)
    if curved:
        m.ground(height=f"{'' if side > 0 else '-'}sqrt(big^2 - x^2 - y^2)")
    return m


@pytest.mark.parametrize("seed", range(18))
def test_bowls_and_domes_are_spheres(seed: int) -> None:
    """Rolling, slipping, bouncing and leaving: the same motion by surface parameters and by the line of centers."""
    rng = np.random.default_rng(seed)
    side, law = (-1, 1)[seed % 2], ("energetic", "newton", "poisson")[seed // 2 % 3]
    radius, big = rng.uniform(0.03, 0.2), rng.uniform(0.7, 1.5)
    reach = big + side * radius
    angle, heading = rng.uniform(0.05, 0.35), rng.uniform(-np.pi, np.pi)
    out = np.array([np.sin(angle) * np.cos(heading), np.sin(angle) * np.sin(heading), side * np.cos(angle)])
    center = reach * out
    gap = rng.choice([0.0, 0.1])
    center[2] += gap
    velocity = rng.uniform(-0.8, 0.8, 3)
    if gap == 0.0:
        velocity -= out * (out @ velocity)
    spin = rng.uniform(-10, 10, 3)
    start = dict(zip(NAMES, (*center, *velocity, *spin), strict=True))
    values = {"radius": radius, "big": big, "mu": float(rng.choice([0.0, 0.1, 0.3, 1.0]))}
    until = 0.8 if side < 0 else 0.4
    one, other = (
        dr.simulate(on_sphere(side, law, curved), until, start=start, parameters=values, method=TIGHT, samples=40)
        for curved in (True, False)
    )
    assert one.status.kind == other.status.kind == "FINISHED", (one.status, other.status)
    assert [c.modes for c in one.modes] == [c.modes for c in other.modes]
    np.testing.assert_allclose([c.time for c in one.modes], [c.time for c in other.modes], rtol=0, atol=1e-10)
    np.testing.assert_allclose([c.lost for c in one.modes], [c.lost for c in other.modes], rtol=0, atol=1e-9)
    for name in NAMES:
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-8, err_msg=name)
    assert one["floor_gap"].min() > -1e-10


@pytest.mark.parametrize("seed", range(4))
def test_inclined_ground_is_a_plane(seed: int) -> None:
    """A height that is linear has the motion of slope and bank, with ground that moves, too."""
    rng = np.random.default_rng(40 + seed)
    slope, bank, speed = rng.uniform(-0.3, 0.3, 3).tolist()
    models = [ball(friction=0.15, restitution=0.5) for _ in range(2)]
    models[0].ground(height=f"tan({slope!r})*x + tan({bank!r})*y", velocity=(speed, 0))
    models[1].ground(slope=slope, bank=bank, velocity=(speed, 0))
    start = {"ball_x": 0.2, "ball_y": -0.1, "ball_z": 0.6, "ball_vx": 1.0, "ball_vy": 0.3, "ball_vz": 0.0, "ball_wy": -9.0}
    start |= {"ball_wx": 2.0, "ball_wz": 1.0}
    one, other = (dr.simulate(m, 1.0, start=start, method=TIGHT, samples=30) for m in models)
    assert one.status.kind == other.status.kind == "FINISHED"
    for name in NAMES:
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9, err_msg=name)


class Wave:
    """A ball of radius r above z = a sin(k x), in one coordinate: where its contact is, or would be."""

    def __init__(self, a: float, k: float, r: float) -> None:
        self.a, self.k, self.r = a, k, r

    def height(self, u: Any) -> Any:
        return self.a * np.sin(self.k * u)

    def center(self, u: float) -> np.ndarray:
        slope = self.a * self.k * np.cos(self.k * u)
        return np.array([u, self.height(u)]) + self.r * np.array([-slope, 1.0]) / np.hypot(1.0, slope)

    def tangent(self, u: float) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives of the center by u: complex steps and differences of them."""
        a, k, r = self.a, self.k, self.r
        slope, bend, third = a * k * np.cos(k * u), -a * k**2 * np.sin(k * u), -a * k**3 * np.cos(k * u)
        w = 1.0 + slope**2
        first = np.array([1.0 - r * bend / w**1.5, slope - r * slope * bend / w**1.5])
        rest = third / w**1.5 - 3.0 * slope * bend**2 / w**2.5
        second = np.array([-r * rest, bend - r * (bend**2 / w**1.5 + slope * rest)])
        return first, second

    def acceleration(self, u: float, rate: float, rolling: float) -> float:
        """Of u: (1 + rolling)|C′|² ü + (1 + rolling) C′·C″ u̇² = −g C_z′, with rolling = I/(m r²), or 0 without friction."""
        first, second = self.tangent(u)
        return float(-(G * first[1] / (1.0 + rolling) + first @ second * rate**2) / (first @ first))

    def load(self, u: float, rate: float, rolling: float) -> float:
        """Normal force by mass."""
        first, second = self.tangent(u)
        normal = np.array([-first[1], first[0]]) / np.hypot(*first)
        along = self.acceleration(u, rate, rolling)
        return float(normal @ (first * along + second * rate**2) + G * normal[1])

    def gap(self, center: np.ndarray) -> float:
        """Distance of a center near the ground from it, less the radius."""

        def distance(u: float) -> float:
            return float(np.hypot(center[0] - u, center[1] - self.height(u)))

        found = minimize_scalar(
            distance, bounds=(center[0] - self.r, center[0] + self.r), method="bounded", options={"xatol": 1e-13}
        )
        return float(found.fun) - self.r


@pytest.mark.parametrize("seed", range(10))
def test_waves_against_one_coordinate(seed: int) -> None:
    """A ball that rolls or glides over random waves, leaves them where the normal force vanishes, and lands."""
    rng = np.random.default_rng(100 + seed)
    r, k = 0.1, float(rng.uniform(2.0, 6.0))
    wave = Wave(min(float(rng.uniform(0.02, 0.15)), 0.8 / (r * k**2)), k, r)
    rolling = 0.4 * (seed % 2)
    u0 = float(rng.uniform(-1.0, 1.0))
    first, _ = wave.tangent(u0)
    speed = float(rng.uniform(0.5, 3.5))
    rate = speed / float(np.hypot(*first))
    m = ball(friction=float("inf") if rolling else 0.0, restitution=0.0)
    m.ground(height=f"{wave.a!r}*sin({k!r}*x)")
    center, velocity = wave.center(u0), first * rate
    start = {
        "ball_x": center[0],
        "ball_y": 0.0,
        "ball_z": center[1],
        "ball_vx": velocity[0],
        "ball_vy": 0.0,
        "ball_vz": velocity[1],
    }
    start |= {"ball_wx": 0.0, "ball_wy": speed / r if rolling else 0.0, "ball_wz": 0.0}
    run = dr.simulate(m, 2.0, start=start, method=TIGHT, samples=np.linspace(0.0, 2.0, 81))
    assert run.status.kind == "FINISHED", run.status

    def leaves(t: float, y: np.ndarray) -> float:
        return wave.load(y[0], y[1], rolling)

    leaves.terminal, leaves.direction = True, -1.0  # type: ignore[attr-defined]
    path = solve_ivp(
        lambda t, y: (y[1], wave.acceleration(y[0], y[1], rolling)), (0.0, 2.0), (u0, rate), "DOP853", rtol=1e-12, atol=1e-13,
        events=leaves, dense_output=True,
    )  # fmt: skip
    end = float(path.t[-1])
    opened = [c.time for c in run.modes if c.modes["floor"] == "open"]
    if path.status == 0:
        assert not opened
    else:
        assert opened[0] == pytest.approx(end, abs=1e-8)
    held = run.time < end - 1e-9
    for t, x, z, load in zip(
        run.time[held], run["ball_x"][held], run["ball_z"][held], run["floor_normal_force"][held], strict=True
    ):
        u, du = path.sol(t)
        np.testing.assert_allclose((x, z), wave.center(u), rtol=0, atol=1e-8)
        assert load == pytest.approx(0.5 * wave.load(u, du, rolling), abs=1e-6)
    if not opened:
        return
    u, du = path.y[:, -1]
    c0, v0 = wave.center(u), wave.tangent(u)[0] * du

    def flight(t: float) -> np.ndarray:
        return c0 + v0 * (t - end) - np.array([0.0, 0.5 * G]) * (t - end) ** 2

    landed = [c.time for c in run.modes if c.time > opened[0] and c.modes["floor"] != "open"]
    times = np.linspace(end, 2.0, 4001)[4:]
    below = [t for t in times if wave.gap(flight(t)) < 0.0]
    if landed and below:
        step = times[1] - times[0]
        assert landed[0] == pytest.approx(brentq(lambda t: wave.gap(flight(t)), below[0] - step, below[0], xtol=1e-14), abs=1e-8)
    assert bool(landed) == bool(below)


@pytest.mark.parametrize("seed", range(4))
def test_traveling_waves_are_waves_at_rest(seed: int) -> None:
    """Ground that travels with its wave, seen by one who travels with it, is at rest."""
    rng = np.random.default_rng(200 + seed)
    a, k, c = (float(rng.uniform(*between)) for between in ((0.01, 0.04), (2.0, 5.0), (-2.0, 2.0)))
    models = [ball(friction=0.2, restitution=0.4) for _ in range(2)]
    models[0].ground(height=f"{a!r}*sin({k!r}*(x - {c!r}*t))*cos(y)", velocity=(c, 0))
    models[1].ground(height=f"{a!r}*sin({k!r}*x)*cos(y)")
    start = dict(zip(NAMES, (0.1, 0.2, 0.3, 0.5 - c, 0.2, 0.0, 1.0, 4.0, 2.0), strict=True))
    moving = dr.simulate(models[0], 1.2, start=start | {"ball_vx": 0.5}, method=TIGHT, samples=25)
    still = dr.simulate(models[1], 1.2, start=start, method=TIGHT, samples=25)
    assert moving.status.kind == still.status.kind == "FINISHED"
    assert len(still.modes.impacts) > 1
    np.testing.assert_allclose([e.time for e in moving.modes], [e.time for e in still.modes], rtol=0, atol=1e-9)
    np.testing.assert_allclose(moving["ball_x"], still["ball_x"] + c * still.time, rtol=0, atol=1e-7)
    for name in (*NAMES[1:3], *NAMES[6:]):  # velocities are in the axes of the body
        np.testing.assert_allclose(moving[name], still[name], rtol=0, atol=1e-7, err_msg=name)


def test_a_ball_flies_as_high_as_it_will() -> None:
    """The place in a bowl is known from any height, also from above the center of the bowl."""
    m = ball(friction=0.3, restitution=0.8)
    m.ground(height="0.4*(x^2 + y^2)")
    start = {"ball_x": 0.3, "ball_y": 0.0, "ball_z": 8.0}
    near = dr.simulate(m, 3.0, start=start, events=[dr.Event("near", "gap(floor) - 0.2", "stop", -1)])
    assert near.status.kind == "EVENT" and near["floor_gap"][-1] == pytest.approx(0.2, abs=1e-12)
    run = dr.simulate(m, 3.0, start=start, samples=100)
    assert run.status.kind == "FINISHED"
    assert run.modes.impacts and run["floor_gap"].min() > -1e-10
    assert run.energy_drift < 1e-8


def _depth(wave: Wave, u: float) -> float:
    """By how much a ball that touches at u is deeper in the ground elsewhere, by its radius: samples of its lower half."""
    x, z = wave.center(u)
    at = x + wave.r * np.linspace(-1.0, 1.0, 20001)
    lower = z - np.sqrt(np.maximum(wave.r**2 - (at - x) ** 2, 0.0))
    return float((wave.height(at) - lower).max()) / wave.r


@pytest.mark.parametrize("kind", ["sphere", "wheel"])
def test_hollows_sharper_than_the_body_are_named(kind: str) -> None:
    """Pulled from a crest through a trough, of slopes up to 40: where the trough is sharper than the body it would be bridged,
    and the body touches at a second place, which may be on its other side."""
    rng = np.random.default_rng(7)
    count = 60
    r, k = 10 ** rng.uniform(-1.3, -0.3, count), 10 ** rng.uniform(0.0, 1.0, count)
    ratio = 10 ** rng.uniform(-0.7, 0.7, count)  # curvature of the trough by that of the body
    ratio = np.where(np.abs(ratio - 1) < 0.03, 1.1, ratio)
    a = ratio / (r * k**2)
    m = dr.Model("pulled")
    m.gravity(G)
    for name in ("radius", "a", "k", "pull"):
        m.parameter(name, 0.1)
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("hub", mass=1, inertia=(1, 1, 1)), axis="z")
    m.prescribe("drive", "x", "pull*t")
    if kind == "sphere":
        m.contact("floor", "hub", radius="radius", friction=0.0)
    else:
        m.revolute("spin", "hub", m.body("disc", mass=1, inertia=(1, 1, 1)), axis="y")
        m.wheel("floor", "disc", "radius", friction=0.0)
    m.ground(height="a*cos(k*x)")
    pull = 0.05 * np.sqrt(G * r)  # too slow to fly
    for i in range(count):
        values = {"radius": r[i], "a": a[i], "k": k[i], "pull": pull[i]}
        run = dr.simulate(m, 2 * np.pi / k[i] / pull[i], start={"x": 0.0, "z": a[i] + r[i]}, parameters=values, samples=200)
        sharp = ratio[i] > 1
        assert run.status.kind == ("GROUND_TOO_SHARP" if sharp else "FINISHED"), (ratio[i], run.status)
        wave, places = Wave(a[i], k[i], r[i]), run["floor_contact_x"] + 0.5 * np.pi / k[i]
        assert max(_depth(wave, float(u)) for u in places) < (0.02 if sharp else 1e-9)
        if sharp:
            assert f"{kind} 'floor'" in run.status.message
            assert _depth(wave, float(places[-1]) + 0.02 * r[i]) > 1e-9  # it is not stopped before


def test_derivatives_and_batches(tmp_path: Path) -> None:
    """Derivatives of a run with a landing equal differences; ensembles equal single runs; files keep the model."""
    m = ball(friction="mu", restitution=0.5)
    m.parameter("mu", 0.2)
    m.ground(height="0.1*sin(3*x) + 0.05*cos(2*y)")
    start = dict(zip(NAMES, (0.1, 0.2, 0.5, 0.8, 0.3, 0.0, 1.0, 4.0, 2.0), strict=True))
    run = dr.simulate(m, 0.6, start=start, sensitivity=["radius", "mu"], method=TIGHT)
    assert len(run.modes.impacts) >= 1
    for name, value in (("radius", 0.1), ("mu", 0.2)):
        step = 1e-5 * value
        high, low = (dr.simulate(m, 0.6, start=start, parameters={name: value + s * step}, method=TIGHT) for s in (1, -1))
        for of in NAMES:
            slope = (high[of][-1] - low[of][-1]) / (2 * step)
            assert run.sensitivity[of, name][-1] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    values = np.linspace(0.02, 0.5, 7)
    many = dr.ensemble(m, 0.6, {"mu": values}, start=start, outputs=["ball_x", "ball_z"]).to_pandas()
    for k, mu in enumerate(values):
        alone = dr.simulate(m, 0.6, start=start, parameters={"mu": mu})
        assert many["ball_x.end"][k] == pytest.approx(alone["ball_x"][-1], abs=1e-12)
    dr.write_model(m, tmp_path / "ball.toml")
    assert dr.read_model(tmp_path / "ball.toml").freeze() == m.freeze()


@pytest.mark.parametrize("mode", ["stick", "slip"])
def test_certificate(mode: str) -> None:
    m = ball(friction=0.3)
    m.ground(height="0.1*sin(3*x) + 0.05*cos(2*y)", velocity=("0.2*y", 0.1))
    certificate = dr.certify(m, modes={"floor": mode})
    assert certificate, certificate


def test_permanent_spheres_are_the_limit() -> None:
    """A sphere that is held without slip, in reduced equations, moves as one that sticks."""
    models = [ball(friction=None), ball(friction=5.0)]
    for m in models:
        m.ground(height="0.05*sin(2*x) + 0.03*cos(2*y)")
    start = {"ball_x": 0.1, "ball_y": 0.2, "ball_vx": 0.4, "ball_vy": 0.2, "ball_wz": 0.3}
    held = dr.simulate(models[0], 1.5, start=start, method=TIGHT, samples=20)
    assert held.status.kind == "FINISHED"
    begin = {name: float(held[name][0]) for name in NAMES}
    opening = dr.simulate(models[1], 1.5, start=begin, method=TIGHT, samples=20)
    assert [c.modes["floor"] for c in opening.modes] == ["stick"]
    for name in NAMES:
        np.testing.assert_allclose(held[name], opening[name], rtol=0, atol=1e-9, err_msg=name)


def test_small_oscillations_in_a_bowl() -> None:
    """A ball that rolls has ω² = 5 g / (7 (R − r)) in both directions; its spin about the normal stays."""
    m = ball(friction=0.5)
    m.ground(height="1 - sqrt(1 - x^2 - y^2)")
    values = dr.linearize(m.in_modes({"floor": "stick"})).eigenvalues
    expected = np.sqrt(5 * G / 7 / 0.9)
    np.testing.assert_allclose(np.sort(values.imag)[[0, 1, -2, -1]], expected * np.array([-1, -1, 1, 1]), rtol=1e-9)
    np.testing.assert_allclose(values.real, 0.0, atol=1e-9)


def test_films_show_a_bowl() -> None:
    """Where its height has no value the ground goes on from its edge."""
    m = ball(friction=0.5)
    m.ground(height="1 - sqrt(1 - x^2 - y^2)")
    run = dr.simulate(m, 0.5, start={"ball_x": 0.3, "ball_z": 0.4})
    (take,) = run.animate(show=False).takes
    x, y = np.meshgrid(take.ground.x, take.ground.y, indexing="ij")
    inside = x**2 + y**2 < 1.0
    assert inside.any() and not inside.all() and np.isfinite(take.ground.heights).all()
    np.testing.assert_allclose(
        take.ground.heights[inside], (1 - np.sqrt(1 - x**2 - y**2, where=inside, out=np.zeros_like(x)))[inside]
    )
    assert take.ground.heights[~inside].min() > 0.4 and take.ground.heights.max() <= 1.0

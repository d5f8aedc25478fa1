"""Resistance of contacts to rolling and drilling: closed forms, impacts, a time-stepping program of its own, random scenes."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ModelError

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def cylinder(radius: float, lever: float, gyration: float, mass: float, slope: float = 0.0, mu: Any = 0.9, wheel: bool = False):
    """A cylinder on a plane that falls along x."""
    m = dr.Model("cylinder")
    m.gravity((G * math.sin(slope), 0, -G * math.cos(slope)))
    m.prismatic("x", "ground", m.body("first", mass=0), axis="x")
    m.prismatic("z", "first", m.body("second", mass=0), axis="z")
    body = m.body("cylinder", mass=mass, inertia=(mass * gyration**2,) * 3)
    m.revolute("turn", "second", body, axis="y")
    if wheel:
        m.wheel("floor", body, 0.8 * radius, tube=0.2 * radius, friction=mu, rolling_resistance=lever)
    else:
        m.contact("floor", body, radius=radius, friction=mu, rolling_resistance=lever)
    return m


def ball(radius: float, mass: float, **law: Any) -> dr.Model:
    m = dr.Model("ball")
    m.gravity(G)
    body = m.body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=radius, **law)
    return m


def rolls(v: tuple[float, float], radius: float, spin: float = 0.0) -> dict[str, float]:
    """Velocities of a ball that rolls."""
    start = {"ball_z": radius, "ball_vx": v[0], "ball_vy": v[1], "ball_vz": 0.0}
    return start | {"ball_wx": -v[1] / radius, "ball_wy": v[0] / radius, "ball_wz": spin}


@pytest.mark.parametrize("seed", range(6))
def test_cylinder_coasts_to_rest(seed: int) -> None:
    """m v̇ = −f and m k² ω̇ = f R − δ m g with v = ω R: v̇ = −δ g R/(R² + k²)."""
    rng = np.random.default_rng(seed)
    radius, mass, speed = (
        float(rng.uniform(0.1, 0.5)),
        float(rng.uniform(0.5, 5)),
        float(rng.choice([-1, 1]) * rng.uniform(0.5, 2)),
    )
    lever, gyration = radius * float(rng.uniform(0.02, 0.2)), radius * float(rng.uniform(0.3, 1.0))
    model = cylinder(radius, lever, gyration, mass, mu=math.inf if seed % 3 == 0 else 0.9, wheel=seed % 2 == 1)
    deceleration = lever * G * radius / (radius**2 + gyration**2)
    stop = abs(speed) / deceleration
    start = {"z": radius, "x_rate": speed, "turn_rate": speed / radius}
    run = dr.simulate(model, 1.2 * stop, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    assert [c.modes["floor_rolling_resistance"] for c in run.modes] == ["slip", "stick"]
    assert run.modes[1].time == pytest.approx(stop, rel=1e-10)
    assert run["x"][-1] == pytest.approx(speed * abs(speed) / (2 * deceleration), rel=1e-9)
    assert abs(run["x_rate"][-1]) < 1e-12
    lost = 0.5 * mass * speed**2 * (1 + (gyration / radius) ** 2)
    assert run["work"][-1] == pytest.approx(-lost, rel=1e-9)
    moment = run.at(0.5 * stop)["floor_rolling_resistance_moment_along"]
    assert moment == pytest.approx(-np.sign(speed) * lever * mass * G, rel=1e-9)


@pytest.mark.parametrize("ratio", [0.5, 0.999, 1.001, 1.5])
@pytest.mark.parametrize("wheel", [False, True])
def test_cylinder_on_a_slope(ratio: float, wheel: bool) -> None:
    """It stands where tan φ < δ/R; else a = g (sin φ − (δ/R) cos φ)/(1 + k²/R²)."""
    radius, lever, gyration = 0.3, 0.03, 0.2
    slope = math.atan(ratio * lever / radius)
    run = dr.simulate(cylinder(radius, lever, gyration, 2.0, slope, wheel=wheel), 1.0, start={"z": radius}, method=TIGHT)
    expected = max(0.0, G * (math.sin(slope) - lever / radius * math.cos(slope)) / (1 + (gyration / radius) ** 2))
    assert run["x"][-1] == pytest.approx(expected / 2, rel=1e-8, abs=1e-13)
    assert run.modes[-1].modes["floor_rolling_resistance"] == ("stick" if ratio < 1 else "slip")
    if ratio < 1:
        need = run.modes.needs["floor_rolling_resistance"]
        assert need.needed == pytest.approx(math.tan(slope), rel=1e-9)
        assert need.allowed == pytest.approx(lever / radius, rel=1e-12)


def test_ball_rolls_to_rest_in_any_direction_and_its_spin_ends_on_its_own() -> None:
    radius, mass, rolling, drilling = 0.11, 0.7, 0.004, 0.003
    model = ball(radius, mass, friction=0.5, rolling_resistance=rolling, drilling_resistance=drilling)
    velocity, spin = (0.6, -0.35), 20.0
    run = dr.simulate(model, 4.0, start=rolls(velocity, radius, spin), method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    rate = rolling * G * radius / (1.4 * radius**2)
    stop = math.hypot(*velocity) / rate
    spun = spin * 0.4 * radius**2 / (drilling * G)
    times = {name: next(c.time for c in run.modes if c.modes[name] == "stick") for name in run.modes.contacts}
    assert times["floor_rolling_resistance"] == pytest.approx(stop, rel=1e-7)  # a planar slip ends at the tolerance
    assert times["floor_drilling_resistance"] == pytest.approx(spun, rel=1e-10)
    assert run["ball_x"][-1] == pytest.approx(velocity[0] * stop / 2, rel=1e-8)
    assert run["ball_y"][-1] == pytest.approx(velocity[1] * stop / 2, rel=1e-8)
    assert max(abs(run[name][-1]) for name in ("ball_wx", "ball_wy", "ball_wz")) < 1e-9


@pytest.mark.parametrize("lever", [0.01, 0.035])
def test_cue_ball_with_resistance(lever: float) -> None:
    """Slipping it spins up by (μR − δ) m g; with δ > μR it slides to rest without turning."""
    radius, mu, speed = 0.1, 0.3, 2.0
    start = {"z": radius, "x_rate": speed, "turn_rate": 0.0}
    run = dr.simulate(cylinder(radius, lever, radius * math.sqrt(0.4), 1.5, mu=mu), 1.0, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    if lever < mu * radius:
        grips = speed / (mu * G + (mu - lever / radius) * G / 0.4)
        assert run.modes[1].time == pytest.approx(grips, rel=1e-10)
        assert run.modes[1].modes == {"floor": "stick", "floor_rolling_resistance": "slip"}
    else:
        assert run.modes[1].time == pytest.approx(speed / (mu * G), rel=1e-10)
        assert np.abs(run["turn"]).max() < 1e-14
        assert run["x"][-1] == pytest.approx(speed**2 / (2 * mu * G), rel=1e-10)


@pytest.mark.parametrize("bounce", [0.0, 0.6])
def test_impact_takes_moments(bounce: float) -> None:
    """The spin of a ball that lands loses the lever arm times the normal impulse, at most all of it."""
    radius, mass, fall, lever = 0.1, 0.8, 1.5, 0.004
    model = ball(radius, mass, friction=0.4, drilling_resistance=lever, restitution=bounce, impact="newton")
    for spin in (30.0, 1.0):
        start = {"ball_z": radius, "ball_vz": -fall, "ball_wz": spin}
        run = dr.simulate(model, 1e-6, start=start, method=TIGHT)
        impact = run.modes.impacts[0]
        inertia, impulse = 0.4 * mass * radius**2, mass * fall * (1 + bounce)
        left = max(0.0, spin - lever * impulse / inertia)
        assert run["ball_wz"][-1] == pytest.approx(left, rel=2e-4 if bounce == 0.0 else 1e-12, abs=1e-12)
        assert impact.impulse["floor"][0] == pytest.approx(impulse, rel=1e-12)
        assert impact.impulse["floor_drilling_resistance"][1] == pytest.approx(inertia * (left - spin), rel=1e-12)
        lost = 0.5 * mass * fall**2 * (1 - bounce**2) + 0.5 * inertia * (spin**2 - left**2)
        assert impact.lost == pytest.approx(lost, rel=1e-12)


def test_wheel_that_leans_loses_the_moment_about_its_axle() -> None:
    """Energy goes down by δ N |σ|, σ the rate of the contact along the rim, and the drilling moment times the turning rate."""
    m = dr.Model("disc")
    m.gravity(G)
    radius, lever, drill = 0.3, 0.006, 0.002
    parent = "ground"
    for name in ("x", "y", "z"):
        child = m.body(f"along_{name}", mass=0)
        m.prismatic(name, parent, child, axis=name)
        parent = child
    for name, axis in (("yaw", "z"), ("lean", "x")):
        child = m.body(f"{name}s", mass=0)
        m.revolute(name, parent, child, axis=axis)
        parent = child
    body = m.body("disc", mass=1.0, inertia=(radius**2 / 4, radius**2 / 2, radius**2 / 4))
    m.revolute("spin", parent, body, axis="y")
    m.wheel("rim", body, radius, friction=3.0, rolling_resistance=lever, drilling_resistance=drill)
    start = {"lean": 0.3, "yaw_rate": 1.5, "spin_rate": 8.0, "lean_rate": 0.0}
    run = dr.simulate(m, 0.5, start=start, method=TIGHT, samples=2001)
    assert run.status.kind == "FINISHED", run.status
    sigma, turning = run["rim_rolling_resistance_rate_along"], run["rim_drilling_resistance_rate_along"]
    power = -run["rim_normal_force"] * (lever * np.abs(sigma) + drill * np.abs(turning))
    assert np.abs(sigma).min() > 0 and np.abs(turning).min() > 0
    done = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(run.time))])
    energy = run["kinetic_energy"] + run["potential_energy"]
    np.testing.assert_allclose(energy - energy[0], done, atol=2e-6 * energy[0])
    assert run.energy_drift < 1e-9


def stepped(start: dict[str, float], radius: float, mu: float, rolling: float, drilling: float, until: float, steps: int):
    """A ball of 1 kg by Moreau's time stepping: v, ω after each step by projections, without any mode."""
    h, inertia = until / steps, 0.4 * radius**2
    x = np.array([0.0, 0.0, start["ball_z"]])
    v = np.array([start.get(f"ball_v{a}", 0.0) for a in "xyz"])
    w = np.array([start.get(f"ball_w{a}", 0.0) for a in "xyz"])
    for _ in range(steps):
        x = x + 0.5 * h * v
        v = v + h * np.array([0.0, 0.0, -G])
        if x[2] <= radius:
            normal = max(0.0, -v[2])
            v[2] += normal
            force, turn, spin = np.zeros(2), np.zeros(2), 0.0
            for _sweep in range(200):
                old = np.array([*force, *turn, spin])
                vt = v[:2] + force
                wt = w[:2] + (turn + radius * np.array([force[1], -force[0]])) / inertia  # r × f with r = −R z
                slip = vt - radius * np.array([wt[1], -wt[0]])
                force = disc(force - slip / (1 + radius**2 / inertia), mu * normal)
                wt = w[:2] + (turn + radius * np.array([force[1], -force[0]])) / inertia
                turn = disc(turn - inertia * wt, rolling * normal)
                spin = float(np.clip(spin - inertia * (w[2] + spin / inertia), -drilling * normal, drilling * normal))
                if np.abs(np.array([*force, *turn, spin]) - old).max() < 1e-15:
                    break
            v[:2] += force
            w = w + np.array([*(turn + radius * np.array([force[1], -force[0]])), spin]) / inertia
        x = x + 0.5 * h * v
    return np.concatenate([x, v, w])


def disc(force: np.ndarray, most: float) -> np.ndarray:
    size = float(np.linalg.norm(force))
    return force if size <= most else force * (most / size)


@pytest.mark.parametrize("seed", range(3))
def test_time_stepping_converges_to_the_run(seed: int) -> None:
    """A ball falls, slips and rolls in the plane with all three laws; errors fall with the step."""
    rng = np.random.default_rng(seed)
    radius, mu = 0.15, float(rng.uniform(0.1, 0.3))
    rolling, drilling = radius * float(rng.uniform(0.02, 0.1)), radius * float(rng.uniform(0.02, 0.1))
    model = ball(radius, 1.0, friction=mu, rolling_resistance=rolling, drilling_resistance=drilling)
    start = {"ball_z": radius + 0.05, **{f"ball_v{a}": float(rng.normal()) for a in "xy"}}
    start |= {f"ball_w{a}": float(8 * rng.normal()) for a in "xyz"}
    run = dr.simulate(model, 0.6, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    place = np.array([run[f"ball_{a}"][-1] for a in "xyz"])
    speed, turning = (np.linalg.norm([run[f"ball_{k}{a}"][-1] for a in "xyz"]) for k in "vw")  # in the axes of the ball
    errors = []
    for steps in (1000, 4000):
        judged = stepped(start, radius, mu, rolling, drilling, 0.6, steps)
        off = [*(judged[:3] - place), np.linalg.norm(judged[3:6]) - speed, radius * (np.linalg.norm(judged[6:]) - turning)]
        errors.append(float(np.abs(off).max()))
    assert errors[1] < 0.6 * errors[0] and errors[1] < 2e-3, errors


@cache
def two_balls() -> dr.Model:
    """One above the other, above the ground, with the levers of their contacts as parameters: derived once."""
    m = dr.Model("balls")
    m.gravity(G)
    for k in range(2):
        radius = 0.1 + 0.05 * k
        body = m.body(f"ball{k}", mass=1.0 + k, inertia=(0.4 * (1 + k) * radius**2,) * 3)
        m.free(body)
        m.parameter(f"mu{k}", 0.3)
        for kind in ("rolling", "drilling"):
            m.parameter(f"{kind}{k}", 0.005, "m")
        lever = {"rolling_resistance": f"rolling{k}", "drilling_resistance": f"drilling{k}"}
        m.contact(f"floor{k}", body, radius=radius, friction=f"mu{k}", **lever)
    m.contact("between", "ball1", radius=0.15, on="ball0", on_radius=0.1, friction=0.3, rolling_resistance=0.003)
    return m


@pytest.mark.parametrize("seed", range(24))
def test_random_balls(seed: int) -> None:
    """Balls that fall on the ground and on each other: no energy is gained, moments obey their laws, all come to an end."""
    rng = np.random.default_rng(seed)
    start: dict[str, float] = {}
    given: dict[str, float] = {}
    for k in range(2):
        given |= {f"rolling{k}": float(rng.uniform(0, 0.01)), f"drilling{k}": float(rng.uniform(0, 0.01))}
        given |= {f"mu{k}": float(rng.uniform(0.1, 0.6))}
        start |= {f"ball{k}_z": 0.2 + 0.55 * k, f"ball{k}_x": float(0.05 * rng.normal())}
        start |= {f"ball{k}_vx": float(0.5 * rng.normal())} | {f"ball{k}_w{a}": float(4 * rng.normal()) for a in "xyz"}
    levers = {"between_rolling_resistance": 0.003}
    levers |= {f"floor{k}_{kind}_resistance": given[f"{kind}{k}"] for k in range(2) for kind in ("rolling", "drilling")}
    run = dr.simulate(two_balls(), 1.5, start=start, parameters=given, method=dr.methods.Auto(max_steps=20000))
    assert run.status.kind == "FINISHED", run.status
    energy = run["kinetic_energy"] + run["potential_energy"]
    size = float(run["kinetic_energy"].max() + np.ptp(run["potential_energy"]))
    assert np.diff(energy).max() < 1e-7 * size
    assert run.energy_drift < 1e-7
    for name in ("floor0", "floor1", "between"):
        assert run[f"{name}_gap"].min() > -1e-9
        assert run[f"{name}_normal_force"].min() > -1e-6
    resistances = [item for item in two_balls().freeze().unilateral if item.name.endswith("_resistance")]
    assert {item.name for item in resistances} == set(levers)
    for item in resistances:
        normal = run[f"{item.of}_normal_force"]
        moment = np.hypot(run[f"{item.name}_moment_along"], run[f"{item.name}_moment_across"] if item.kind == "rolling" else 0)
        assert (moment - levers[item.name] * normal).max() < 1e-7 * (1 + normal.max())


def test_files_round_trip(tmp_path: Path) -> None:
    m = dr.Model("both")
    m.gravity(G)
    m.parameter("delta", 0.002, "m")
    body = m.body("ball", mass=1.0, inertia=(1, 1, 1))
    m.free(body)
    m.contact("floor", body, radius=0.2, friction=0.3, rolling_resistance="delta", drilling_resistance="3 mm")
    m.wheel("rim", body, 0.3, friction=0.3, rolling_resistance="2*delta")
    dr.write_model(m, tmp_path / "both.toml")
    assert dr.read_model(tmp_path / "both.toml").freeze() == m.freeze()
    names = [one.name for one in m.freeze().unilateral]
    assert names == ["rim", "floor", "rim_rolling_resistance", "floor_rolling_resistance", "floor_drilling_resistance"]


def test_what_is_refused() -> None:
    m = dr.Model("ball")
    body = m.body("ball", mass=1.0, inertia=(1, 1, 1))
    m.free(body)
    with pytest.raises(ModelError, match="a point does not roll"):
        m.contact("point", body, friction=0.3, rolling_resistance=0.01)
    with pytest.raises(ModelError, match="needs a contact that can open"):
        m.contact("glued", body, radius=0.1, friction=None, drilling_resistance=0.01)
    with pytest.raises(ModelError, match="must not be negative"):
        m.contact("minus", body, radius=0.1, friction=0.2, drilling_resistance=-0.01)
    with pytest.raises(ModelError, match="impact='newton'"):
        m.contact("bounces", body, radius=0.1, friction=0.2, restitution=0.3, drilling_resistance=0.01)
    m.contact("floor", body, radius=0.1, friction=0.2, rolling_resistance=0.01)
    with pytest.raises(ArgumentError, match="rolling resistance"):
        m.in_modes({"floor": "stick"})
    assert m.in_modes({"floor": "stick", "floor_rolling_resistance": "open"}).freeze().unilateral == ()


def test_sensitivity_to_the_lever_arm() -> None:
    """d/dδ of the distance v²(R² + k²)/(2 g δ R) after the stop."""
    m = dr.Model("cylinder")
    m.gravity(G)
    radius, lever, speed = 0.2, 0.02, 1.0
    m.parameter("delta", lever, "m")
    m.prismatic("x", "ground", m.body("first", mass=0), axis="x")
    m.prismatic("z", "first", m.body("second", mass=0), axis="z")
    body = m.body("cylinder", mass=1.0, inertia=(radius**2 / 2,) * 3)
    m.revolute("turn", "second", body, axis="y")
    m.contact("floor", body, radius=radius, friction=0.9, rolling_resistance="delta")
    start = {"z": radius, "x_rate": speed, "turn_rate": speed / radius}
    run = dr.simulate(m, 2.0, start=start, sensitivity=["delta"], method=TIGHT)
    distance = speed**2 * 1.5 * radius / (2 * G * lever)
    assert run["x"][-1] == pytest.approx(distance, rel=1e-9)
    assert run.sensitivity["x", "delta"][-1] == pytest.approx(-distance / lever, rel=1e-7)

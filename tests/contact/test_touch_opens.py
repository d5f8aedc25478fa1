"""Contacts of surfaces that stick, slip, separate and land: spheres beside contacts of spheres, closed forms, an ellipsoid by
time stepping, files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ModelError

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def bottom(axes: tuple[float, float, float]) -> tuple[str, str, str]:
    """The lower half of an ellipsoid by two angles."""
    a, b, c = axes
    return f"{a}*sin(u)*cos(v)", f"{b}*sin(v)", f"-{c}*cos(u)*cos(v)"


def ellipsoid(axes: tuple[float, float, float], mass: float = 1.0, **laws: Any) -> dr.Model:
    """A homogeneous ellipsoid above the ground."""
    m = dr.Model("ellipsoid")
    m.gravity(G)
    a, b, c = axes
    inertia = (mass * (b * b + c * c) / 5, mass * (a * a + c * c) / 5, mass * (a * a + b * b) / 5)
    body = m.body("body", mass=mass, inertia=inertia)
    m.free(body)
    for name, unit in (("u", "rad"), ("v", "rad"), ("x", "m"), ("y", "m")):
        m.surface_parameter(name, unit)
    m.touch("floor", body, bottom(axes), ("u", "v"), "ground", ("x", "y", 0), ("x", "y"), **laws)
    return m


def sphere(radius: float, mass: float, **laws: Any) -> dr.Model:
    m = dr.Model("sphere")
    m.gravity(G)
    body = m.body("body", mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=radius, **laws)
    return m


@pytest.mark.parametrize("seed", range(5))
def test_sphere_is_that_of_a_contact(seed: int) -> None:
    """It falls, bounces, slips and rolls in any direction, as a sphere by `m.contact`."""
    rng = np.random.default_rng(seed)
    radius, mass = 0.15, 0.7
    laws = {"friction": float(rng.uniform(0.05, 0.5)), "restitution": float(rng.choice([0.0, 0.6]))}
    start = {
        "body_z": radius + float(rng.uniform(0.02, 0.1)),
        "body_vx": float(rng.normal()),
        "body_vy": float(0.3 * rng.normal()),
    }
    start |= {f"body_w{axis}": float(2 * rng.normal()) for axis in "xyz"}
    runs = [
        dr.simulate(model, 0.35, start=start, method=TIGHT)
        for model in (sphere(radius, mass, **laws), ellipsoid((radius,) * 3, mass, **laws))
    ]
    assert all(run.status.kind == "FINISHED" for run in runs), [run.status for run in runs]
    one, other = runs
    first = [(c.time, c.modes["floor"]) for c in one.modes if c.time < 0.3]
    second = [(c.time, c.modes["floor"]) for c in other.modes if c.time < 0.3]
    assert [mode for _, mode in first] == [mode for _, mode in second]
    np.testing.assert_allclose([t for t, _ in first], [t for t, _ in second], atol=1e-7)
    for name in (*(f"body_{axis}" for axis in "xyz"), *(f"body_{kind}{axis}" for kind in "vw" for axis in "xyz")):
        np.testing.assert_allclose(other[name][-1], one[name][-1], atol=1e-7)
    assert other["floor_gap"].min() > -1e-9
    assert other.energy_drift < 1e-8


@pytest.mark.parametrize(("friction", "expected"), [(math.inf, 10 / 17), (0.0, 2 / 3)])
def test_ball_leaves_a_sphere(friction: float, expected: float) -> None:
    """cos θ = 10/17 cos θ₀ rolling without slip, 2/3 cos θ₀ without friction, from rest at θ₀."""
    m, big, small, begin = dr.Model("ball"), 1.0, 0.2, 0.1
    m.gravity(G)
    body = m.body("ball", mass=1.0, inertia=(0.4 * small**2,) * 3)
    core = m.body("core", mass=0.0)  # keeps its axes, so that the parameters of the ball stay small
    for axis, child, parent in (("x", "a", "ground"), ("y", "b", "a"), ("z", core, "b")):
        child = m.body(child, mass=0.0) if isinstance(child, str) else child
        m.prismatic(axis, parent, child, axis=axis)
    m.spherical("turning", core, body)
    for name in ("u", "v", "p", "q"):
        m.surface_parameter(name, "rad")
    dome = (f"{big}*sin(p)*cos(q)", f"{big}*sin(q)", f"{big}*cos(p)*cos(q)")
    lower = bottom((small,) * 3)
    m.touch("dome", core, lower, ("u", "v"), "ground", dome, ("p", "q"), friction=friction, matter=body)
    away = big + small
    start = {"x": away * math.sin(begin), "y": 0.0, "z": away * math.cos(begin), "p": begin}
    start |= {"x_rate": 0.0, "y_rate": 0.0, "z_rate": 0.0}
    run = dr.simulate(m, 1.9, start=start, method=TIGHT)
    leaves = next(change.time for change in run.modes if change.modes["dome"] == "open")
    assert run.at(leaves)["z"] / away == pytest.approx(expected * math.cos(begin), rel=1e-9)
    assert run["dome_gap"].min() > -1e-9


def rotated(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def stepped(axes: np.ndarray, mu: float, start: dict[str, float], until: float, steps: int) -> np.ndarray:
    """A homogeneous ellipsoid of 1 kg by Moreau's time stepping with its lowest point, −A² n/|A n| in its axes."""
    h = until / steps
    inertia = np.array([axes[1] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[1] ** 2]) / 5
    x, q = np.array([0.0, 0.0, start["body_z"]]), np.array([1.0, 0.0, 0.0, 0.0])
    v = np.array([start.get(f"body_v{a}", 0.0) for a in "xyz"])
    w = np.array([start.get(f"body_w{a}", 0.0) for a in "xyz"])  # in its own axes

    def turn(q: np.ndarray, w: np.ndarray, h: float) -> np.ndarray:
        rate = 0.5 * np.array(
            [
                -q[1] * w[0] - q[2] * w[1] - q[3] * w[2],
                q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
                q[0] * w[1] - q[1] * w[2] + q[3] * w[0],
                q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
            ]
        )
        q = q + h * rate
        return q / np.linalg.norm(q)

    for _ in range(steps):
        x, q = x + 0.5 * h * v, turn(q, w, 0.5 * h)
        v = v + h * np.array([0.0, 0.0, -G])
        middle = w - 0.5 * h * np.cross(w, inertia * w) / inertia
        w = w - h * np.cross(middle, inertia * middle) / inertia
        rotation = rotated(q)
        normal = rotation[2]  # of the ground, in the body's axes
        arm = -(axes**2) * normal / np.linalg.norm(axes * normal)
        if x[2] + normal @ arm <= 0:
            rows = np.hstack([np.eye(3), np.array([np.cross(arm, rotation[k]) for k in range(3)])])
            response = rows @ np.diag(np.concatenate([np.ones(3), 1 / inertia])) @ rows.T
            free, impulse = rows @ np.concatenate([v, w]), np.zeros(3)
            for _sweep in range(300):
                before = impulse.copy()
                impulse[2] = max(0.0, impulse[2] - (free + response @ impulse)[2] / response[2, 2])
                trial = impulse[:2] - (free + response @ impulse)[:2] / np.linalg.eigvalsh(response[:2, :2])[-1]
                size = np.linalg.norm(trial)
                impulse[:2] = trial if size <= mu * impulse[2] else trial * mu * impulse[2] / size
                if np.abs(impulse - before).max() < 1e-14:
                    break
            v, w = v + impulse, w + (rows[:, 3:].T @ impulse) / inertia
        x, q = x + 0.5 * h * v, turn(q, w, 0.5 * h)
    return np.concatenate([x, v @ rotated(q), w])


@pytest.mark.parametrize("seed", range(3))
def test_ellipsoid_by_time_stepping(seed: int) -> None:
    """It lands, slips and rocks; positions and velocities of a program without events converge to those of the run."""
    rng = np.random.default_rng(seed)
    axes, mu = (0.2, 0.15, 0.1), float(rng.uniform(0.1, 0.5))
    start = {"body_z": 0.13, "body_vx": float(0.5 * rng.normal()), "body_vy": float(0.5 * rng.normal())}
    start |= {f"body_w{axis}": float(rng.normal()) for axis in "xyz"}
    run = dr.simulate(ellipsoid(axes, friction=mu), 0.3, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    assert run["floor_gap"].min() > -1e-9
    assert run.energy_drift < 1e-8
    names = [f"body_{axis}" for axis in "xyz"] + [f"body_{kind}{axis}" for kind in "vw" for axis in "xyz"]
    ours = np.array([run[name][-1] for name in names])
    errors = [float(np.abs(stepped(np.array(axes), mu, start, 0.3, steps) - ours).max()) for steps in (800, 6400)]
    assert errors[1] < 0.4 * errors[0] and errors[1] < 5e-3, errors


def test_files_and_refusals(tmp_path: Path) -> None:
    m = ellipsoid((0.2, 0.1, 0.1), friction=(0.4, 0.3), restitution=0.5, impact="poisson")
    dr.write_model(m, tmp_path / "ellipsoid.toml")
    assert dr.read_model(tmp_path / "ellipsoid.toml").freeze() == m.freeze()
    with pytest.raises(ModelError, match="give one of them"):
        ellipsoid((0.2, 0.1, 0.1), friction=0.3, contact=dr.contact.Coulomb(0.3))
    with pytest.raises(ModelError, match="belongs to a contact that can open"):
        ellipsoid((0.2, 0.1, 0.1), restitution=0.3)
    with pytest.raises(ArgumentError, match="cannot be left out"):
        m.in_modes({"floor": "open"})
    rolls = m.in_modes({"floor": "stick"})
    assert rolls.freeze().unilateral == ()
    start = {"body_wx": 0.3, "body_wy": 0.5}
    ideal = dr.simulate(rolls, 0.3, start=start, method=TIGHT)
    begin = {f"body_{what}": float(ideal[f"body_{what}"][0]) for what in ("z", "vx", "vy", "vz", "wx", "wy", "wz")}
    opening = dr.simulate(m, 0.3, start=begin, method=TIGHT)
    assert [change.modes["floor"] for change in opening.modes] == ["stick"]
    np.testing.assert_allclose(opening["body_wy"][-1], ideal["body_wy"][-1], atol=1e-8)
    with pytest.raises(ModelError, match="static"):
        dr.simulate(ellipsoid((0.2, 0.1, 0.1), friction="0.1 - 0.3"), 0.1)

"""Rigid wheels, ideal and with friction, on bumps and banks along circles and paths: energy, contact, known surfaces."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

roads = dr.contact.roads


def sled(contact: dict[str, object], drive: str | None = None) -> dr.Model:
    """A hub that goes straight ahead, free to hop, on a wheel that does not turn."""
    m = dr.Model("sled")
    m.body("carriage", 0)
    m.body("hub", 10.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, 0.3))
    m.wheel("tire", "hub", 0.3, **contact)  # type: ignore[arg-type]
    if drive is not None:
        m.prescribe("drive", "way", drive)
    return m


@pytest.mark.parametrize("seed", range(4))
def test_a_prescribed_motion_passes_both_ends_of_a_bump(seed: int) -> None:
    """The curvature jumps there, and the rates of contact places with it; the place cannot be moved ahead of the time.

    The contact is where the slopes are equal: x + R h′/√(1 + h′²) is the way of the hub, and z follows."""
    rng = np.random.default_rng(seed)
    at, length, speed = rng.uniform(0.5, 2), rng.uniform(1.5, 4), rng.uniform(2, 10)
    height = rng.uniform(0.2, 0.5) * length**2 / (2 * np.pi**2 * 0.3) * min(1.0, (0.5 * 9.81 * 0.3 / speed**2))
    m = sled({"friction": (0.0, 0.3, 0.6, 0.9)[seed]}, f"{speed}*t")
    m.ground(height=roads.bump(at, length, height))
    run = dr.simulate(m, (at + length + 2.0) / speed, samples=201)
    assert run.status.complete and len(run.switches) == 2
    x = run["tire_place_x"]
    share = np.clip((x - at) / length, 0, 1)
    slope = height * np.pi / length * np.sin(2 * np.pi * share)
    root = np.sqrt(1 + slope**2)
    np.testing.assert_allclose(x - 0.3 * slope / root, run["way"], atol=1e-10)
    np.testing.assert_allclose(height * np.sin(np.pi * share) ** 2 + 0.3 / root - 0.3, run["hop"], atol=1e-10)
    assert np.abs(np.asarray(run.residuals)).max() < 1e-7


@pytest.mark.parametrize("contact", [{}, {"friction": 0.8}, {"friction": 0.0}], ids=["ideal", "friction", "smooth"])
def test_disks_on_paths_are_those_on_circles(contact: dict[str, object]) -> None:
    """Bump and bank along 5 m of radius: the path as a table against the closed form of the circle; energy and contact."""
    runs = []
    for along in ("circle", "path"):
        m = dr.Model("disk")
        m.body("disk", 10.0, inertia=(0.225, 0.45, 0.225))
        m.free_euler("disk", order="zxy", angles=("yaw", "lean", "spin"))
        m.wheel("tire", "disk", 0.3, **contact)  # type: ignore[arg-type]
        curve = {"curve": ("5*sin(p)", "5 - 5*cos(p)"), "between": (0, "2*pi"), "closed": True}
        track = m.path("track", **curve) if along == "path" else None  # type: ignore[arg-type]
        s, d = roads.circle(5.0) if track is None else (track.along, track.across)
        m.ground(height=roads.bump(1.0, 2.0, 0.03, along=s) + roads.bank("-10 deg", d, s, at=0.5, length=1.5, until=4.0))
        start = {"spin_rate": 10.0, "lean": -0.05, "yaw_rate": 0.5}
        runs.append(dr.simulate(m, 1.5, start=start, samples=61))
    for run in runs:
        assert run.status.complete and run.energy_drift < 1e-8 and len(run.switches) > 2
        assert np.abs(np.asarray(run.residuals)[:, :2]).max() < 1e-9
    for name in ("disk_x", "disk_y", "yaw", "lean", "spin"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], atol=1e-6)


@pytest.mark.parametrize("shape", ["cone", "sphere", "torus"])
def test_smooth_surfaces_of_revolution_keep_the_angular_momentum(shape: str) -> None:
    """Without friction the ground's force meets the axis of a surface of revolution: L_z and the energy are kept."""
    m = dr.Model("disk")
    m.body("disk", 4.0, inertia=(0.09, 0.18, 0.09))
    m.free_euler("disk", order="zxy", angles=("yaw", "lean", "spin"))
    m.wheel("tire", "disk", 0.3, friction=0.0)
    if shape == "cone":
        path = m.path("track", curve=("5*sin(p)", "-5*cos(p)"), between=(0, "2*pi"), closed=True, width=4.5)
        height: object = roads.bank("-15 deg", across=path.across)
    elif shape == "sphere":
        height = "9 - sqrt(81 - x^2 - y^2)"
    else:
        height = "3 - sqrt(9 - (sqrt(x^2 + y^2) - 5)^2)"
    m.ground(height=height)
    start = {"disk_x": 0.0, "disk_y": -5.0, "disk_x_rate": 3.0, "spin_rate": 5.0, "lean": -0.1, "yaw_rate": 0.4}
    run = dr.simulate(m, 1.0, start=start, samples=101)
    assert run.status.complete and run.energy_drift < 1e-8
    sine, cosine, turn = np.sin(run["lean"]), np.cos(run["lean"]), run["yaw_rate"]
    orbit = 4.0 * (run["disk_x"] * run["disk_y_rate"] - run["disk_y"] * run["disk_x_rate"])
    momentum = orbit + 0.18 * (run["spin_rate"] + turn * sine) * sine + 0.09 * turn * cosine**2
    assert np.ptp(run["disk_y"]) > 0.05
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-8)

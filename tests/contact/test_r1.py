"""Dry friction whose slip vanishes at a dead point, where the motion goes on."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

G = 9.81


def test_mass_passes_the_dead_point_of_its_friction() -> None:
    """Friction F along x²: ẍ = −2 F |x|, here ẍ = x until x = 0, which is passed with √3, and ẍ = −x after that."""
    m = dr.Model("slide")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("c", mass=1, inertia=(1, 1, 1)), axis="x")
    m.friction("f", "x^2", 0.5, unit="m")
    run = dr.simulate(m, 1, start={"x": -1.0, "x_rate": 2.0})
    left = 1 - np.arctanh(0.5)
    assert str(run.status).startswith("FINISHED")
    assert run["x"][-1] == pytest.approx(np.sqrt(3) * np.sin(left), rel=1e-8)
    assert run["x_rate"][-1] == pytest.approx(np.sqrt(3) * np.cos(left), rel=1e-8)
    start = dr.simulate(m, 1, start={"x": 0.0, "x_rate": 2.0})
    assert start["x"][-1] == pytest.approx(2 * np.sin(1), rel=1e-8)


@pytest.mark.parametrize("on_ground", [False, True])
def test_crank_passes_its_dead_points(on_ground: bool) -> None:
    """A slider x = R cos θ with dry friction F, of its joint or of a contact: the energy falls by F times its path."""
    friction, mass, radius, inertia = 0.05 * 2 * G, 2.0, 0.2, 0.05
    m = dr.Model("yoke")
    m.gravity(G if on_ground else 0)
    m.revolute("th", "ground", m.body("crank", mass=1, inertia=(inertia,) * 3), axis="y", default=0.5)
    slider, start = m.body("slider", mass=mass, inertia=(1, 1, 1)), {"th": 0.5, "th_rate": 12.0}
    if on_ground:
        carriage = m.body("carriage", mass=0)
        m.prismatic("x", "ground", carriage, axis="x", default=0.2)
        m.prismatic("z", carriage, slider, axis="z")
        m.contact("k", slider, friction=0.05)
        start |= {"z": 0.0, "z_rate": 0.0}
    else:
        m.prismatic("x", "ground", slider, axis="x", default=0.2, friction=friction)
    m.constrain("yoke", "x - 0.2*cos(th)", unit="m")
    run = dr.simulate(m, 1, start=start)

    def energy(angle: float, rate: float) -> float:
        return 0.5 * (inertia + mass * (radius * np.sin(angle)) ** 2) * rate**2

    angle, rate = run["th"][-1], run["th_rate"][-1]
    turns, rest = divmod(angle, np.pi)
    path = radius * (2 * turns + 1 - np.cos(rest)) - radius * (1 - np.cos(0.5))
    assert str(run.status).startswith("FINISHED")
    assert turns >= 2
    assert energy(angle, rate) == pytest.approx(energy(0.5, 12.0) - friction * path, rel=1e-6)

"""Random mechanisms with one to four unilateral contacts, planar and spatial, that fall on the ground."""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr

G = 9.81
Start = dict[str, float]


def _friction(rng: np.random.Generator) -> float | tuple[float, float]:
    kind = rng.integers(5)
    if kind == 0:
        return 0.0
    kinetic = float(rng.uniform(0.1, 0.7))
    return (kinetic * float(rng.uniform(1.0, 1.4)), kinetic) if kind == 1 else kinetic


def _planar_carrier(m: dr.Model, name: str = "") -> str:
    """Bodies without mass that slide along x and z."""
    first, second = m.body(f"{name}first", mass=0.0), m.body(f"{name}second", mass=0.0)
    m.prismatic(f"{name}x", "ground", first, axis="x")
    m.prismatic(f"{name}z", first, second, axis="z")
    return second


def _corners(rng: np.random.Generator, size: float, count: int, planar: bool) -> list[tuple[float, float, float]]:
    """Points at a distance `size` from the origin."""
    found = []
    for k in range(count):
        angle = 2 * np.pi * (k + float(rng.uniform(0.0, 0.6))) / count
        if planar:
            found.append((size * np.cos(angle), 0.0, size * np.sin(angle)))
        else:
            height = float(rng.uniform(-0.7, 0.7))
            flat = np.sqrt(1 - height**2)
            found.append((size * flat * np.cos(angle), size * flat * np.sin(angle), size * height))
    return [tuple(float(c) for c in point) for point in found]  # type: ignore[misc]


def planar_body(rng: np.random.Generator) -> tuple[dr.Model, Start]:
    """A polygon whose corners land."""
    m, size, count = dr.Model("polygon"), float(rng.uniform(0.2, 0.6)), int(rng.integers(1, 5))
    m.gravity(G)
    moment = float(rng.uniform(0.2, 0.6)) * size**2
    body = m.body("body", mass=1.0, inertia=(moment,) * 3)
    m.revolute("turn", _planar_carrier(m), body, axis="y")
    for k, point in enumerate(_corners(rng, size, count, True)):
        m.contact(f"corner{k}", m.point(f"p{k}", body, point), friction=_friction(rng))
    start = {"z": size + float(rng.uniform(0.05, 0.3)), "x_rate": float(rng.normal()), "turn_rate": float(2 * rng.normal())}
    return m, start


def planar_pendulum(rng: np.random.Generator) -> tuple[dr.Model, Start]:
    """A double pendulum above the ground, one end of which lands, or two."""
    m, length = dr.Model("double_pendulum"), float(rng.uniform(0.5, 0.7))
    m.gravity(G)
    parent, at = "ground", (0.0, 0.0, 0.6)
    for k in range(2):
        moment = length**2 / 12
        body = m.body(f"rod{k}", mass=1.0, center_of_mass=(0, 0, -length / 2), inertia=(moment, moment, 1e-3))
        m.revolute(f"turn{k}", parent, body, axis="y", at=at)
        parent, at = body, (0.0, 0.0, -length)
    for k in range(int(rng.integers(1, 3))):
        m.contact(f"end{k}", m.point(f"p{k}", f"rod{1 - k}", (0, 0, -length)), friction=_friction(rng))
    return m, {"turn0": float(rng.uniform(1.6, 2.6)), "turn1": float(rng.uniform(-1.0, 1.0)), "turn1_rate": float(rng.normal())}


def spatial_body(rng: np.random.Generator) -> tuple[dr.Model, Start]:
    """A free body whose points land."""
    m, size, count = dr.Model("stone"), float(rng.uniform(0.2, 0.5)), int(rng.integers(1, 5))
    m.gravity(G)
    a, b = rng.uniform(0.3, 0.6, 2) * size**2
    body = m.body("body", mass=1.0, inertia=(float(a), float(b), float(rng.uniform(abs(a - b) + 0.05 * size**2, a + b))))
    m.free(body)
    for k, point in enumerate(_corners(rng, size, count, False)):
        m.contact(f"point{k}", m.point(f"p{k}", body, point), friction=_friction(rng))
    start = {"body_z": size + float(rng.uniform(0.05, 0.2)), "body_vx": float(rng.normal()), "body_wy": float(2 * rng.normal())}
    return m, start | {"body_wx": float(rng.normal()), "body_wz": float(rng.normal())}


def spheres(rng: np.random.Generator) -> tuple[dr.Model, Start]:
    """A ball that falls on the ground, or two, the upper of which falls on the lower."""
    m, count = dr.Model("balls"), int(rng.integers(1, 3))
    m.gravity(G)
    start: Start = {}
    for k in range(count):
        radius = 0.1 + 0.05 * k
        body = m.body(f"ball{k}", mass=1.0 + k, inertia=(0.4 * (1 + k) * radius**2,) * 3)
        m.free(body)
        m.contact(f"floor{k}", body, radius=radius, friction=_friction(rng))
        start |= {
            f"ball{k}_z": radius + 0.1 + 0.5 * k,
            f"ball{k}_x": float(0.05 * rng.normal()),
            f"ball{k}_vx": float(0.5 * rng.normal()),
        }
        start |= {f"ball{k}_wy": float(5 * rng.normal()), f"ball{k}_wx": float(3 * rng.normal())}
    if count == 2:
        m.contact("between", "ball1", radius=0.15, on="ball0", on_radius=0.1, friction=_friction(rng))
    return m, start


def spatial_chain(rng: np.random.Generator) -> tuple[dr.Model, Start]:
    """Two bodies with a hinge that fall with their ends."""
    m = dr.Model("hinged")
    m.gravity(G)
    first = m.body("first", mass=1.0, inertia=(0.02, 0.03, 0.03))
    second = m.body("second", mass=0.7, center_of_mass=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.free(first)
    m.revolute("hinge", first, second, axis="y", at=(0.3, 0.0, 0.0))
    m.spring("hinge", 2.0, damping=0.1)
    ends = [("first", (-0.3, 0.15, 0.0)), ("first", (-0.3, -0.15, 0.0)), ("second", (0.4, 0.0, 0.0))]
    for k, (body, point) in enumerate(ends[: int(rng.integers(2, 4))]):
        m.contact(f"end{k}", m.point(f"p{k}", body, point), friction=_friction(rng))
    start = {
        "first_z": 0.75,
        "first_wx": float(rng.normal()),
        "first_wy": float(rng.normal()),
        "hinge": float(0.3 * rng.normal()),
    }
    return m, start | {"first_vx": float(rng.normal())}


KINDS = (planar_body, planar_pendulum, spatial_body, spheres, spatial_chain)


def random_scene(seed: int) -> tuple[dr.Model, Start]:
    rng = np.random.default_rng(seed)
    return KINDS[seed % len(KINDS)](rng)


def check_run(run: Any) -> None:
    """Nothing penetrates or pulls, no energy is gained; at the last sample of a run that ends early forces may be infinite."""
    rows = slice(None) if run.status.kind == "FINISHED" else slice(None, -1)
    size = float(np.abs(run["kinetic_energy"]).max() + np.ptp(run["potential_energy"]))
    energy = run["kinetic_energy"] + run["potential_energy"]
    assert np.isfinite(run.data[rows]).all()
    assert np.diff(energy).max(initial=0.0) < 1e-7 * size, "energy was gained"
    assert run.energy_drift < 1e-7
    for name in run.modes.contacts:
        force = run[f"{name}_normal_force"][rows]
        assert run[f"{name}_gap"].min() > -1e-9, f"{name} penetrates"
        assert force.min() > -1e-6, f"{name} pulls"
        at = np.array([run.modes.at(t)[name] == "open" for t in run.time[rows]])
        assert np.abs(force[at]).max(initial=0.0) < 1e-9, f"{name} has a force and is open"

"""Drives of several wheels: one torque for all of them, open differentials, and the inputs they share."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError
from draisine.model.files import from_toml, to_toml

parts, roads = dr.parts, dr.contact.roads


def cart(rng: np.random.Generator, places: dict[str, tuple[float, float]], **options: object) -> tuple[dr.Model, float, float]:
    """A rigid frame on ideal wheels; with the radius, and the mass that its speed sees, m + Σ J/r²."""
    m, radius = dr.Model("cart"), float(rng.uniform(0.2, 0.4))
    points = {name: (x, y, radius) for name, (x, y) in places.items()}
    mass = float(rng.uniform(60, 900))
    frame = parts.frame(m, "frame", mass=mass, center_of_mass=(0.8, 0.5), inertia=(30, 60, 70), points=points)
    seen = mass
    for name in places:
        own, spin = float(rng.uniform(1, 20)), float(rng.uniform(0.05, 0.9))
        parts.wheel(m, name, frame[name], radius=radius, mass=own, inertia=(spin / 2, spin), **options)  # type: ignore[arg-type]
        seen += own + spin / radius**2
    return m, radius, seen


TRIKE = {"left": (0.0, 0.5), "right": (0.0, -0.5), "front": (1.6, 0.0)}
CAR = {"left": (0.0, 0.7), "right": (0.0, -0.7), "first": (2.5, 0.7), "second": (2.5, -0.7)}


def acceleration(m: dr.Model, torque: float) -> float:
    run = dr.simulate(m, 1.0, start={"speed": 3.0}, inputs={"drive_torque": torque}, samples=5)
    assert run.status.complete
    np.testing.assert_allclose(np.diff(run["speed"], 2), 0.0, atol=1e-8)
    return float(run["speed"][-1] - run["speed"][0])


@pytest.mark.parametrize("seed", range(4))
def test_a_machine_with_differentials_has_the_acceleration_of_its_torque(seed: int) -> None:
    """a = n ratio T/(r (m + Σ J/r²)) for n differentials that share one torque, on their shafts."""
    rng = np.random.default_rng(seed)
    m, radius, seen = cart(rng, CAR if seed % 2 else TRIKE)
    ratio, torque = float(rng.uniform(0.5, 6)), float(rng.uniform(-40, 40))
    parts.differential(m, "rear_axle", "left", "right", ratio=ratio)
    if seed % 2:
        parts.differential(m, "front_axle", "first", "second", ratio=ratio)
    assert from_toml(to_toml(m)).freeze() == m.freeze()
    assert acceleration(m, torque) == pytest.approx((1 + seed % 2) * ratio * torque / (radius * seen), rel=1e-8)
    run = dr.simulate(m, 0.1, start={"speed": 3.0})
    assert run["rear_axle_spin"][0] == pytest.approx(ratio * 3.0 / radius, rel=1e-9)


def test_wheels_that_share_a_torque_have_all_of_it_each() -> None:
    rng = np.random.default_rng(5)
    m, radius, seen = cart(rng, CAR, torque="drive_torque")
    assert acceleration(m, 20.0) == pytest.approx(4 * 20.0 / (radius * seen), rel=1e-8)
    assert [u.name for u in m.freeze().inputs] == ["drive_torque"]
    assert from_toml(to_toml(m)).freeze() == m.freeze()


def test_a_wheel_on_ice_takes_the_torque_from_the_other() -> None:
    """Equal torques: J ω̇ = T/2 on ice, and m a = (T/2 − J ω̇)/r of the other wheel alone."""
    m, inertia, radius, torque = dr.Model("sled"), 0.6, 0.3, 60.0
    m.body("sled", 300.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "sled", axis="x")
    for name, y in (("left", 0.6), ("right", -0.6)):
        m.frame(f"{name}_hub", "sled", (0, y, radius - 0.01))
        tire = dr.contact.LinearTire(0.0, None, 3e5, friction=1.0, stiffness=2e5)
        parts.wheel(m, name, f"{name}_hub", radius=radius, mass=0, inertia=(inertia / 2, inertia), tire=tire)
    parts.differential(m, "axle", "left", "right")
    m.ground(friction=roads.split(1.0, 0.0, edge=0.01))
    start = {"way_rate": 5.0, "left_spin": 5.0 / 0.29, "right_spin": 5.0 / 0.29}
    run = dr.simulate(m, 1.0, start=start, inputs={"drive_torque": torque}, samples=201)
    late = run.time > 0.5  # the slip of the left wheel has settled
    spun = np.gradient(run["right_spin"], run.time)
    np.testing.assert_allclose(spun[late][1:-1], torque / 2 / inertia, rtol=1e-6)
    left = np.gradient(run["left_spin"], run.time)[late][1:-1]
    pushed = (torque / 2 - inertia * left) / (radius - 0.01)
    np.testing.assert_allclose(300.0 * np.gradient(run["way_rate"], run.time)[late][1:-1], pushed, rtol=1e-3)


def test_what_does_not_fit_is_named() -> None:
    m, _, _ = cart(np.random.default_rng(1), TRIKE)
    with pytest.raises(ModelError, match="'left' twice"):
        parts.differential(m, "axle", "left", "left")
    with pytest.raises(ModelError, match="no wheel 'middle'"):
        parts.differential(m, "axle", "left", "middle")
    parts.brake(m, "brake", "left", input="lever", map=[(0, 0), (1, 50)])
    with pytest.raises(ModelError, match=r"input 'lever' .* the unit 'N\*m', but the model has one of this name in '1'"):
        parts.brake(m, "other_brake", "right", input="lever")
    assert [part.name for part in m.freeze().parts] == ["frame", "left", "right", "front", "brake"]

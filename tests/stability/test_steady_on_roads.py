"""Steady motions along roads whose height does not change along them: the same as on the plane that is described as one."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

roads, parts = dr.contact.roads, dr.parts


def bicycle(height: object = None, **plane: object) -> dr.Model:
    m = dr.gallery.bicycle()
    m.ground(height=height) if height is not None else m.ground(**plane)  # type: ignore[arg-type]
    return m


@pytest.mark.parametrize("seed", range(3))
def test_riding_straight_along_a_bank_is_that_on_a_plane(seed: int) -> None:
    """Upright in the plane of gravity, with no torque, so that it does not climb; both wheels together
    press with m g cos β on the road."""
    rng = np.random.default_rng(seed)
    bank, speed = float(rng.uniform(-0.15, 0.15)), float(rng.uniform(4, 9))
    found = [
        dr.steady(m, {"speed": speed, "lean": 0.0, "steer": 0.0}, free=("steer_torque",))
        for m in (bicycle(roads.bank(bank)), bicycle(bank=bank))
    ]
    for motion in found:
        load = motion["rear_wheel_normal_force"] + motion["front_wheel_normal_force"]
        assert load == pytest.approx(94 * 9.81 * np.cos(bank), rel=1e-10)
    values = [np.sort_complex(dr.linearize(motion).essential().eigenvalues) for motion in found]
    np.testing.assert_allclose(values[0], values[1], atol=1e-7)


def test_a_gutter_holds_a_cart_at_the_depth_of_its_tires() -> None:
    """Between two slopes of a parabolic gutter z = c y²: the sum of the vertical forces is the weight, at any speed."""
    m = dr.Model("cart")
    places = {"left": (0.0, 0.5), "right": (0.0, -0.5), "front": (1.6, 0.0)}
    points = {name: (x, y, 0.3) for name, (x, y) in places.items()}
    frame = parts.frame(m, "frame", mass=300, center_of_mass=(0.6, 0.4), inertia=(30, 60, 70), points=points)
    tire = dr.contact.LinearTire(2e4, 0.2, 3e4, stiffness="150 kN/m", damping=200.0)
    for name in places:
        torque = {"torque": "drive_torque"} if name != "front" else {}
        parts.wheel(m, name, frame[name], radius=0.3, mass=5, inertia=(0.1, 0.2), tire=tire, **torque)
    m.ground(height="0.02*y^2")
    for speed in (0.0, 10.0):
        motion = dr.steady(m, {"speed": speed}, free=("drive_torque",))
        carried = 0.0
        for name in places:
            slope = 0.04 * motion[f"{name}_place_y"]
            carried += (motion[f"{name}_normal_force"] + slope * motion[f"{name}_lateral_force"]) / np.hypot(1, slope)
        assert carried == pytest.approx(315 * 9.81, rel=1e-6)

"""Machines begin on roads that lead around the origin, or past it, where nothing else is given."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.model.files import from_toml, to_toml

roads = dr.contact.roads


def machine(joint: str) -> dr.Model:
    m = dr.Model("machine")
    m.body("body", 4.0, inertia=(0.09, 0.18, 0.09))
    if joint == "euler":
        m.free_euler("body", order="zxy", angles=("yaw", "lean", "spin"))
        m.wheel("tire", "body", 0.3)
    elif joint == "quaternion":
        m.free("body")
        m.wheel("tire", "body", 0.3)
    else:
        m.planar("body")
        m.wheel("tire", "body", 0.3, center=(0, 0, 0.3), contact=dr.contact.LinearTire(1e3, None, 0.0))
    return m


@pytest.mark.parametrize("joint", ["euler", "quaternion", "planar"])
def test_free_bodies_begin_at_the_beginning_of_the_road_and_along_it(joint: str) -> None:
    rng = np.random.default_rng(len(joint))
    for kind in ("circle", "path"):
        m, (a, b) = machine(joint), rng.uniform(-1, 1, 2)
        radius, first = rng.uniform(5, 60), rng.uniform(0, 6)
        if kind == "circle":
            s, d = roads.circle("bend", center=(a, b))
            m.parameter("bend", radius, "m")
            x, y, heading = a, b - radius, 0.0
        else:
            curve = (f"{a} + {radius}*cos(p)", f"{b} + {radius}*sin(p)")
            path = m.path("track", curve=curve, between=(first, first + 2 * math.pi), closed=True)
            s, d = path.along, path.across
            x, y, heading = a + radius * math.cos(first), b + radius * math.sin(first), first + math.pi / 2
        friction = roads.patch(2.0, 1.0, 0.5, along=s)
        m.ground(friction=friction) if joint == "planar" else m.ground(height=roads.bank("-3 deg", across=d))
        assert from_toml(to_toml(m)).freeze() == m.freeze()
        run = dr.simulate(m, 0.1)
        assert run.status.complete
        turn = {"euler": "yaw", "planar": "body_heading"}.get(joint)
        own = run[turn][0] if turn else 2 * math.atan2(run["body_qz"][0], run["body_qw"][0])
        assert math.remainder(own - heading, 2 * math.pi) == pytest.approx(0.0, abs=1e-9)
        assert math.hypot(run["body_x"][0] - x, run["body_y"][0] - y) < 0.05  # the bank moves it aside by its radius


def test_what_is_on_the_road_stays_there_and_given_places_hold() -> None:
    m = machine("euler")
    s, _ = roads.circle(20.0)
    m.ground(height=roads.bump(5.0, 2.0, 0.02, along=s))
    assert [c.default for c in m.freeze().coordinates[:4]] == [0.0, 0.0, 0.0, 0.0]
    m = machine("euler")
    m.ground(height=roads.bank("-5 deg", across=roads.circle(20.0, center=(0, 0))[1]))
    run = dr.simulate(m, 0.1, start={"body_x": 20.0, "body_y": 0.0, "yaw": 1.5})
    assert (run["body_x"][0], run["body_y"][0], run["yaw"][0]) == pytest.approx((20.0, 0.0, 1.5), abs=1e-12)


def test_a_bicycle_starts_by_its_speed_alone() -> None:
    m = dr.gallery.bicycle()
    track = m.path("track", curve=("50*cos(p)", "30*sin(p)"), between=(0, "2*pi"), closed=True)
    m.ground(height=roads.bank("-5 deg", across=track.across) + roads.bump(8.0, 2.0, 0.02, along=track.along))
    run = dr.simulate(m, 0.3, start={"speed": 5.0})
    assert run.status.complete and run.energy_drift < 1e-8
    s, d = track.coordinates.at(run["rear_wheel_place_x"], run["rear_wheel_place_y"])
    assert abs(math.remainder(s[0], track.length)) < 0.1 and abs(d[0]) < 0.1
    assert math.remainder(s[-1] - s[0], track.length) == pytest.approx(1.5, abs=0.1)


def test_joints_at_places_given_by_parameters_do_not_move_over_the_ground() -> None:
    """The names in the place of a hinge are no coordinates: the pendulum swings as one at a place given in numbers."""
    rng = np.random.default_rng(3)
    for axis in "xyz":
        a, b = rng.uniform(-1, 1, 2)
        ends = []
        for place in ((a, b, 0), ("a", "b", 0)):
            m = dr.Model("pendulum")
            m.parameter("a", a, "m")
            m.parameter("b", b, "m")
            m.gravity(9.81)
            m.body("bob", 1.0, center_of_mass=(0.3, 0.2, 0.1), inertia=(0.1, 0.1, 0.1))
            m.revolute("angle", "ground", "bob", axis=axis, at=place)
            m.output("height", "position_x(bob) + position_z(bob)", "m")
            run = dr.simulate(from_toml(to_toml(m)), 0.5, start={"angle": 0.3, "angle_rate": 1.0})
            ends.append([run["angle"][-1], run["height"][-1]])
        assert ends[0] == pytest.approx(ends[1], abs=1e-10)

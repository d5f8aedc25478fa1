"""Steady motions against closed forms, published forces, and runs that stay on them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.errors import SolverError

MEIJAARD = json.loads((Path(__file__).parents[1] / "reference" / "meijaard2007.json").read_text())


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


def test_static_contact_forces(bike):
    found = dr.steady(bike, {"speed": 3.0})
    assert found["rear_wheel_normal_force"] == pytest.approx(MEIJAARD["static_normal_forces_N"]["rear"], abs=1e-9)
    assert found["front_wheel_normal_force"] == pytest.approx(MEIJAARD["static_normal_forces_N"]["front"], abs=1e-9)
    assert set(found.ignorable) == {"rear_wheel_angle", "front_wheel_angle", "frame_heading", "frame_x", "frame_y"}


def test_a_held_turn_stays(bike):
    turn = dr.steady(bike, {"speed": 5.0, "lean": 0.2}, free=("steer_torque", "pedal_torque"))
    e = turn.equations
    start = dict(zip((q.name for q in e.states), turn.x.tolist(), strict=True))
    torques = {name: turn[name] for name in ("steer_torque", "pedal_torque")}
    run = dr.simulate(bike, 2.0, start=start, inputs=torques)
    for name, value in (("lean", 0.2), ("speed", 5.0), ("steer", turn["steer"])):
        np.testing.assert_allclose(run[name], value, atol=1e-7)
    # it leans into the turn: to the right, so that the heading falls
    assert turn["yaw_rate"] < 0 < turn["lean"]


def test_hands_free_turn_needs_no_torque(bike):
    """Between the weave and capsize speeds there are turns that hold themselves; the bicycle leaves them slowly or not at all."""
    turn = dr.steady(bike, {"lean": 0.3}, near={"speed": 6.0, "lean": 0.3, "steer": -0.1})
    assert turn["steer_torque"] == 0.0
    e = turn.equations
    rates = e.explicit([0.0], turn.x, turn.u, turn.p)[0]
    np.testing.assert_allclose(rates[len(e.coordinates) :], 0.0, atol=1e-9)
    assert turn["yaw_rate"] < 0
    assert 5.0 < turn["speed"] < 6.1


def test_rolling_disk_in_a_circle():
    """A uniform disk rolls round a circle when r Ω² cos θ / 4 − (3/2) r σ Ω / tan θ = g (moment balance about its center)."""
    lean, turn_rate, radius, gravity = 0.3, -2.0, 0.3, 9.81
    found = dr.steady(
        dr.gallery.rolling_disk(),
        {"lean": lean, "heading_rate": turn_rate},
        near={"lean": lean, "heading_rate": turn_rate, "spin": 4.0},
    )
    spin = 2 * math.tan(lean) * (radius * turn_rate**2 * math.cos(lean) / 4 - gravity) / (3 * radius * turn_rate)
    assert found["spin"] == pytest.approx(spin, rel=1e-10)
    # the ground carries the weight and holds the disk on its circle: force m Ω V towards the inside
    assert found["disk_normal_force"] == pytest.approx(gravity, rel=1e-10)


def test_steady_motions_and_equations_are_reported_in_short(bike):
    found = dr.steady(bike, {"speed": 5.0})
    assert repr(found.equations).startswith("<Equations of bicycle: 10 coordinates, 9 velocities (frame_wx,")
    assert repr(found).startswith("<SteadyMotion of bicycle; rear_wheel_angle, ") and len(repr(found)) < 200
    lines = [line.split() for line in str(found).splitlines()]
    assert ["speed", "5", "m/s"] in lines and ["push", "0", "N"] in lines
    assert len(repr(found.linearize(("lean", "steer")))) < 300


def test_impossible_turn_is_refused(bike):
    with pytest.raises(
        dr.errors.SolverError, match=r"no steady motion with speed = 1, lean = 0.4 .* there is one with .*speed = 1"
    ):
        dr.steady(bike, {"speed": 1.0, "lean": 0.4})


def test_what_exists_in_place_of_a_turn_exists(bike):
    """The torques named in the message do hold the turn that hands alone do not."""
    with pytest.raises(SolverError) as refused:
        dr.steady(bike, {"speed": 5.0, "lean": 0.3})
    (held,) = (text for text in refused.value.exists if "pedal_torque" in text)
    inputs = {name: float(value) for name, value in re.findall(r"(\w+) = (\S+?)(?:,|$)", held)}
    assert set(inputs) == {"steer_torque", "pedal_torque"}  # a push from the side would hold it for an instant only
    turn = dr.steady(bike, {"speed": 5.0, "lean": 0.3}, free=("steer_torque", "pedal_torque"))
    assert turn["steer_torque"] == pytest.approx(inputs["steer_torque"], rel=1e-4)


def test_a_push_from_the_side_holds_no_turn(bike):
    """It would have to turn with the bicycle: the heading, on which nothing else depends, matters to it."""
    with pytest.raises(dr.errors.SolverError, match=r"no steady motion with speed = 5, lean = 0\.3"):
        dr.steady(bike, {"speed": 5.0, "lean": 0.3}, free=("push",))


def test_a_car_whose_constraints_repeat():
    """Four wheels on a plane, one too many: a straight run, a circle, and the one mode of a car whose front wheels are free to
    turn. In the circle the rear axle's middle turns at v tan δ / l, δ the mean of the steering angles (Ackermann)."""
    car = dr.gallery.car()
    straight = dr.steady(car, {"speed": 5.0})
    assert set(straight.ignorable) >= {"body_x", "body_y", "body_heading", "rear_left_spin"}
    circle = dr.steady(car, {"speed": 5.0, "left_steer": 0.2})
    wheelbase, track = (p.default for name in ("wheelbase", "track") for p in circle.equations.parameters if p.name == name)
    # cot δ of the left wheel is cot δ of the middle less half the track over the wheelbase, for a turn to the left
    middle = 1 / (1 / math.tan(0.2) + track / 2 / wheelbase)
    assert circle["turn_rate"] == pytest.approx(5.0 * middle / wheelbase, rel=1e-9)
    rates = circle.equations.explicit([0.0], circle.x, circle.u, circle.p)[0]
    np.testing.assert_allclose(rates[len(circle.equations.coordinates) :], 0.0, atol=1e-9)
    np.testing.assert_allclose(circle.equations.report([0.0], circle.x, circle.u, circle.p)[-2], 0.0, atol=1e-9)
    swept = dr.modes(car, speed=[4.0, 5.0, 6.0], fixed={"left_steer": 0.0})
    np.testing.assert_allclose(swept.eigenvalues[:, 0].real / swept.values, swept.eigenvalues[1, 0].real / 5.0, rtol=1e-9)


@pytest.mark.parametrize("name", ["tricycle_locked_steer", "stewart_platform"])
def test_further_models_with_repeated_constraints(name):
    found = dr.steady(getattr(dr.gallery, name)())
    e = found.equations
    assert np.isfinite(list(found.values.values())).all()
    np.testing.assert_allclose(e.explicit([0.0], found.x, found.u, found.p)[0][len(e.coordinates) :], 0.0, atol=1e-9)


@pytest.mark.parametrize(("value", "said"), [(math.nan, "finite"), (math.inf, "finite"), (5.0 + 1.0j, "real")])
def test_numbers_that_are_none(bike, value, said):
    with pytest.raises(dr.errors.ArgumentError, match=rf"fixed quantity 'speed' is .*give a {said} number"):
        dr.steady(bike, {"speed": value})
    with pytest.raises(dr.errors.ArgumentError, match=r"parameter 'trail' must be a (finite )?number.*, got"):
        dr.steady(bike, {"speed": 5.0}, parameters={"trail": value})
    with pytest.raises(dr.errors.ArgumentError, match=rf"input 'steer_torque' is .*give a {said} number"):
        dr.steady(bike, {"speed": 5.0}, inputs={"steer_torque": value})


def test_straight_running_at_any_speed():
    """Straight running is steady at every speed, exactly; beyond 1e7 m/s rounding errors of velocities exceed 1e-9."""
    bicycle, rng = dr.gallery.bicycle(), np.random.default_rng(0)
    for speed in (1e12, *10.0 ** rng.uniform(6, 12.5, 6)):
        found = dr.steady(bicycle, {"speed": speed})
        assert found["speed"] == pytest.approx(speed, rel=1e-9)
        assert abs(found["lean"]) < 1e-12 and abs(found["steer"]) < 1e-12
        assert found["rear_wheel_normal_force"] + found["front_wheel_normal_force"] == pytest.approx(94 * 9.81, rel=1e-3)
        assert "lean" not in found.ignorable and "frame_heading" in found.ignorable


@pytest.mark.parametrize(("speed", "radius"), [(8.0, 1e4), (10.0, 1e4), (20.0, 3e4)])
def test_stiff_tires_do_not_blur_a_target(speed: float, radius: float) -> None:
    """A car that is not driven loses speed in every turn: no motion is steady, however small the loss, and none of another radius
    is returned. With a drive, the steer angle of a wide turn is (L + K V²)/R."""
    mass, wheelbase, front, rear = 1510.0, 2.67, 98e3, 112e3
    found = {}
    for drive in ("", "drive"):
        m = dr.Model("single_track")
        frame = dr.parts.frame(
            m, "car", mass=1480, center_of_mass=(1.52, 0.5), inertia=(500, 1900, 2350), motion="planar", wheelbase=wheelbase,
            points={"axle": (0, 0.31)},
        )  # fmt: skip
        axle = (wheelbase, 0.31)
        fork = dr.parts.rigid_fork(m, "fork", frame["head"], axle=axle, mass=0, center_of_mass=axle, inertia=(0, 0, 0))
        for name, on, cornering, relaxation in (("rear", frame["axle"], rear, 0.55), ("front", fork["axle"], front, 0.45)):
            tire = dr.contact.LinearTire(cornering, relaxation)
            torque = drive if name == "rear" else ""
            dr.parts.wheel(m, name, on, radius=0.31, mass=15, inertia=(0.5, 0.9), tire=tire, torque=torque)
        found[drive] = m
    with pytest.raises(SolverError, match="no steady motion with speed"):
        dr.steady(found[""], {"speed": speed, "radius": radius}, free=("steer_torque",))
    turn = dr.steady(found["drive"], {"speed": speed, "radius": radius}, free=("steer_torque", "drive"))
    behind = (1480 * 1.52 + 15 * wheelbase) / mass  # of the mass center, ahead of the rear axle
    gradient = mass / wheelbase * (behind / front - (wheelbase - behind) / rear)
    assert turn["steer"] * radius == pytest.approx(wheelbase + gradient * speed**2, rel=1e-7)
    assert turn["curvature"] * radius == pytest.approx(1.0, rel=1e-12)

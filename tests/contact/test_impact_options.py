"""Options of impacts and landings: tangential restitution, impacts one after the other, contacts that land somewhere only."""

from __future__ import annotations

import numpy as np
import pytest
from package_models import GRAVITY, TIGHT, ball_in_space, block, cradle, particle, walker

import draisine as dr
from draisine.errors import ModelError, StartError
from draisine.model.files import from_toml, to_toml

NEWTON = {"impact": "newton"}


def test_tangential_restitution_of_a_ball_with_any_spin() -> None:
    """The slip s of a ball is changed by 7/2 of the tangential impulse: it returns with −e s, or slides against μ."""
    model = ball_in_space(0.05, friction="mu", restitution="en", tangential_restitution="et", **NEWTON)
    for name in ("mu", "en", "et"):
        model.parameter(name, 0.5)
    rng = np.random.default_rng(1969)
    slid = 0
    for _ in range(12):
        mu, en, et = rng.uniform(0.05, 0.8, 3)
        v, w = rng.normal(0, 3, 3), rng.normal(0, 40, 3)
        v[2] = -abs(v[2]) - 0.1
        start = {"ball_x": 0, "ball_y": 0, "ball_z": 0.05} | {f"ball_v{a}": x for a, x in zip("xyz", v, strict=True)}
        start |= {f"ball_w{a}": x for a, x in zip("xyz", w, strict=True)}
        parameters = {"mu": mu, "en": en, "et": et}
        run = dr.simulate(model, 1e-9, start=start, parameters=parameters, samples=[0.0])
        slip = np.array([v[0] - 0.05 * w[1], v[1] + 0.05 * w[0]])
        normal = -(1 + en) * v[2]
        tangential = -(1 + et) * slip * 2 / 7
        if np.linalg.norm(tangential) > mu * normal:
            tangential *= mu * normal / np.linalg.norm(tangential)
            slid += 1
        (change,) = run.modes
        np.testing.assert_allclose(change.impulse["table"], [normal, *tangential], rtol=0, atol=1e-9)
        np.testing.assert_allclose([run["speed_x"][0], run["speed_y"][0]], v[:2] + tangential, rtol=0, atol=1e-9)
    assert 2 < slid < 10


def one_by_one(masses: np.ndarray, v: np.ndarray, e: float) -> np.ndarray:
    """Impacts of neighbors in a row of balls that touch, the fastest approach first."""
    v = v.copy()
    for _ in range(100000):
        approach = v[:-1] - v[1:]
        i = int(np.argmax(approach))
        if approach[i] < 1e-13:
            return v
        impulse = (1 + e) * approach[i] / (1 / masses[i] + 1 / masses[i + 1])
        v[i] -= impulse / masses[i]
        v[i + 1] += impulse / masses[i + 1]
    raise AssertionError("they do not end")


def test_impacts_one_after_the_other() -> None:
    model = cradle([1.0, 1.0, 1.0, 1.0], 1.0)
    other = dr.Model("row")
    other.gravity(0.0)
    names = [f"m{i}" for i in range(4)]
    for i, name in enumerate(names):
        other.prismatic(f"x_{i}", "ground", other.body(f"ball_{i}", mass=other.parameter(name, 1.0, "kg")), axis="x")
    other.parameter("e", 1.0)
    for i in range(3):
        other.contact(f"pair_{i}", f"ball_{i}", radius=0.1, on=f"ball_{i + 1}", on_radius=0.1, restitution="e")
    other.impacts("sequential")
    assert model.freeze().impacts == "simultaneous"
    rng = np.random.default_rng(1867)
    for _ in range(8):
        masses, v, e = rng.uniform(0.2, 3, 4), rng.normal(0, 1, 4), rng.choice([1.0, 0.7, 0.3, 0.0])
        start = {f"x_{i}": 0.2 * i for i in range(4)} | {f"x_{i}_rate": v[i] for i in range(4)}
        run = dr.simulate(other, 1e-9, start=start, parameters={**dict(zip(names, masses, strict=True)), "e": e}, samples=[0.0])
        assert run.status.kind == "FINISHED", run.status
        np.testing.assert_allclose([run[f"x_{i}_rate"][0] for i in range(4)], one_by_one(masses, v, e), rtol=0, atol=1e-9)


def test_a_block_that_lands_flat_rests_also_by_impacts_one_after_the_other() -> None:
    model = block(0.4, 0.3, 0.6)
    model.impacts("sequential")
    run = dr.simulate(model, 0.6, start={"z": 0.1, "tilt": 0.0, "x": 0.0})
    assert run.status.kind == "FINISHED", run.status
    assert set(run.modes[-1].modes.values()) == {"stick"}
    np.testing.assert_allclose([run["z"][-1], run["tilt"][-1]], 0.0, atol=1e-9)
    assert 0.99 * GRAVITY * 0.1 < run.modes.lost < GRAVITY * 0.1  # it slips a little in between
    assert np.ptp(run["total_energy"] - run["work"]) < 1e-9


def test_a_contact_lands_only_where_it_may() -> None:
    """A particle falls through a hole of the floor, comes back by a spring, and lands beside the hole."""
    model = particle(lands_where="x - 1", restitution=0.5)
    model.spring("z", 40.0, rest="0.1 m")
    run = dr.simulate(model, 3.0, start={"x": 0.0, "z": 0.5, "x_rate": 0.9}, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    assert run["floor_gap"].min() < -0.5
    first = run.modes.impacts[0].time
    rest = 0.1 - GRAVITY / 40
    omega, a = np.sqrt(40.0), 0.5 - rest
    falls = [(k * 2 * np.pi + np.arccos(-rest / a)) / omega for k in range(3)]
    np.testing.assert_allclose(first, next(t for t in falls if 0.9 * t > 1), rtol=0, atol=1e-10)
    assert run["floor_gap"][run["time"] > first].min() > -1e-10
    below = dr.simulate(model, 0.05, start={"x": 0.0, "z": -0.2})  # where it does not land it may also begin below
    assert below.status.kind == "FINISHED"
    with pytest.raises(StartError, match="penetrates"):
        dr.simulate(model, 0.05, start={"x": 2.0, "z": -0.2})


def test_files_have_the_options() -> None:
    model = walker(10.0, 5.0, 0.5, 0.05, GRAVITY)
    model.contact("hip_floor", "hip", friction=0.3, restitution=0.4, tangential_restitution=0.2, **NEWTON)
    model.impacts("sequential")
    again = from_toml(to_toml(model))
    assert again.freeze() == model.freeze()
    assert to_toml(again) == to_toml(model)
    assert again.freeze().impacts == "sequential"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"friction": 0.1, "tangential_restitution": 0.5}, "give impact='newton'"),
        ({"friction": 0.1, "tangential_restitution": 1.5, **NEWTON}, "lies between 0 and 1"),
        ({"friction": None, "tangential_restitution": 0.5}, "belongs to a contact that can open"),
        ({"friction": None, "lands_where": "z"}, "does not land"),
        ({"lands_where": "x_rate"}, "lands_where"),
        ({"lands_where": "nowhere"}, "nowhere"),
    ],
)
def test_what_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        particle(**options).freeze()


def test_unknown_orders_are_refused() -> None:
    with pytest.raises(ModelError, match="sequential"):
        dr.Model("m").impacts("sequentially")


def test_a_prescribed_pusher_strikes_a_mass() -> None:
    """The impulse that keeps its motion does work, p v, which the energy balance has."""
    m = dr.Model("pusher")
    m.gravity(0)
    for name, mass in (("pusher", 3.0), ("mass", 2.0)):
        m.prismatic(f"{name}_x", "ground", m.body(name, mass=mass), axis="x")
    m.prescribe("drive", "pusher_x", "0.8*t")
    m.contact("face", "mass", radius=0.1, on="pusher", on_radius=0.1, restitution=0.5)
    run = dr.simulate(m, 1.0, start={"mass_x": 0.5, "mass_x_rate": -0.4})
    assert run.status.kind == "FINISHED" and not run.warnings
    np.testing.assert_allclose(run["mass_x_rate"][-1], 0.8 + 0.5 * 1.2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run["work"][-1], 0.5 * 2.0 * (1.4**2 - 0.4**2), rtol=0, atol=1e-10)
    assert np.ptp(run["total_energy"] - run["work"]) < 1e-10


def test_infinite_friction_stops_the_slip_of_an_impact() -> None:
    """Without tangential restitution a ball grips: 2/7 of the slip is taken from its velocity."""
    model = ball_in_space(0.05, friction=np.inf, restitution=0.5)
    start = {"ball_x": 0, "ball_y": 0, "ball_z": 0.05, "ball_vx": 3, "ball_vy": -1, "ball_vz": -2}
    run = dr.simulate(model, 1e-9, start={**start, "ball_wx": 5, "ball_wy": 10, "ball_wz": 0}, samples=[0.0])
    slip = np.array([3 - 0.05 * 10, -1 + 0.05 * 5])
    np.testing.assert_allclose([run["speed_x"][0], run["speed_y"][0]], np.array([3, -1]) - 2 / 7 * slip, rtol=0, atol=1e-12)
    np.testing.assert_allclose([run["table_slip_along"][0], run["table_slip_across"][0]], 0.0, atol=1e-12)


def test_a_locked_wheel_rocks_to_rest() -> None:
    """A brake that is locked, below wheels that land slowly again and again: the run does not chatter."""
    model = dr.gallery.skidding_bicycle()
    start = {"speed": 6.0} | dict.fromkeys(("lean", "steer", "roll_rate", "steer_rate", "yaw_rate"), 0.0)
    method = dr.methods.DOP853(rtol=1e-9, atol=1e-11, max_steps=3000)
    run = dr.simulate(model, 0.2, start=start, inputs={"front_lever": 500.0}, parameters={"grip": 0.5}, method=method)
    assert run.status.kind == "FINISHED" and len(run.modes) < 30, run.status
    assert run.modes[-1].modes == {"rear_wheel": "stick", "front_wheel": "slip", "rear_brake": "slip", "front_brake": "stick"}

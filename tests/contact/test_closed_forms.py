"""Contacts that open, slip and land, against closed forms (tests/reference/contact.json; the cases are named in the tests)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr

REFERENCE = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "reference" / "contact.json").read_text(encoding="utf-8"))["cases"]
}
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
G = 9.81


def numbers(case: str) -> dict[str, Any]:
    return {name: entry["value"] for name, entry in REFERENCE[case]["numbers"].items()}


def particle(slope: float = 0.0, **contact: Any) -> dr.Model:
    """A particle in the vertical plane over ground that is inclined by turning gravity."""
    m = dr.Model("particle")
    m.gravity((G * np.sin(slope), 0, -G * np.cos(slope)))
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=1.0)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, **contact)
    return m


def sphere(radius: float, slope: float = 0.0, **contact: Any) -> dr.Model:
    m = dr.Model("sphere")
    m.gravity((G * np.sin(slope), 0, -G * np.cos(slope)))
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=radius, **contact)
    for axis in "xy":
        m.output(f"speed_{axis}", f"velocity_{axis}(ball)", "m/s")
    return m


def planar_ball(radius: float, **contact: Any) -> dr.Model:
    """A solid ball in the vertical plane: x, z and a turn about y."""
    m = dr.Model("planar_ball")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    m.revolute("turn", second, body, axis="y")
    m.contact("floor", body, radius=radius, **contact)
    return m


def rod(mu: float | tuple[float, float], length: float = 1.0, both: bool = False, **contact: Any) -> dr.Model:
    """A slender rod in the vertical plane; theta from the vertical, about its lower end's position x, z."""
    m = dr.Model("rod")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    body = m.body("rod", mass=1.0, center_of_mass=(0, 0, length / 2), inertia=(length**2 / 12, length**2 / 12, 1e-9))
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    m.revolute("theta", second, body, axis="y")
    m.contact("foot", m.point("lower", body, (0, 0, 0)), friction=mu, **contact)
    if both:
        m.contact("tip", m.point("upper", body, (0, 0, length)), friction=mu, **contact)
    return m


def impact_times(run: Any) -> np.ndarray:
    return np.array([change.time for change in run.modes.impacts])


def changes_to(run: Any, contact: str, mode: str) -> list[float]:
    return [begin for begin, _, found in run.modes.intervals(contact) if found == mode]


@pytest.mark.parametrize(("case", "start"), [("C01a", {"z": 1.0}), ("C01b", {"z": 1.0, "z_rate": 1.0})])
def test_bouncing_ball_comes_to_rest(case: str, start: dict[str, float]) -> None:
    known = numbers(case)
    e = REFERENCE[case]["parameters"]["e"]["value"]
    run = dr.simulate(particle(restitution=e), 5.0, start=start)
    assert run.status.kind == "FINISHED"
    np.testing.assert_allclose(impact_times(run)[:5], known["impact_time"], rtol=1e-12)
    assert run.modes[-1].time == pytest.approx(known["zeno_time"], abs=1e-10)
    assert run.modes[-1].modes == {"floor": "stick"} and run["z"].min() > -1e-12
    assert run["floor_normal_force"][-1] == pytest.approx(G, rel=1e-12)
    assert run.energy_drift < 1e-12


def test_bounces_on_a_slope_with_friction() -> None:
    """C01d: slips at every impact, slides after the bounces."""
    known, slope = numbers("C01d"), np.deg2rad(20)
    run = dr.simulate(particle(slope, friction=0.2, restitution=0.7), 2.5, start={"z": 0.5})
    np.testing.assert_allclose(impact_times(run)[:5], known["impact_time"], rtol=1e-12)
    assert run.modes[-1].time == pytest.approx(known["zeno_time"], abs=1e-10)
    speed = known["at_zeno"]["vt"] + known["sliding_acceleration_after_zeno"] * (2.5 - known["zeno_time"])
    assert run["x_rate"][-1] == pytest.approx(speed, rel=1e-11)
    assert run.energy_drift < 1e-12


def test_a_sphere_rolls_after_its_bounces() -> None:
    """C01f: sticks at every impact."""
    known, slope = numbers("C01f"), np.deg2rad(20)
    run = dr.simulate(sphere(0.1, slope, friction=0.2, restitution=0.7), 2.5, start={"ball_z": 0.6}, method=TIGHT)
    np.testing.assert_allclose(impact_times(run)[:5], known["impact_time"], rtol=1e-11)
    speed = known["at_zeno"]["vt"] + known["rolling_acceleration_after_zeno"] * (2.5 - known["zeno_time"])
    assert run["speed_x"][-1] == pytest.approx(speed, rel=1e-9)
    assert run["floor_friction_needed"][-1] == pytest.approx(known["friction_ratio_needed_for_rolling"], rel=1e-9)
    assert run.modes[-1].modes == {"floor": "stick"}


@pytest.mark.parametrize("case", ["C02a", "C02b", "C02c"])
def test_block_on_an_incline(case: str) -> None:
    known, given = numbers(case), REFERENCE[case]["parameters"]
    speed = given["v0"]["value"] * (1 if case == "C02a" else -1)
    run = dr.simulate(particle(np.deg2rad(20), friction=given["mu"]["value"]), 3.0, start={"z": 0, "x_rate": speed})
    if case == "C02c":
        assert run.modes[1].time == pytest.approx(known["turn_time"], abs=1e-11)
        assert run.modes[1].modes == {"floor": "slip"}
        return
    assert run.modes[-1].time == pytest.approx(known["stop_time"], abs=1e-11)
    assert run.modes[-1].modes == {"floor": "stick"}
    assert abs(run["x"][-1]) == pytest.approx(known["stop_distance"], rel=1e-11)
    assert run["x_rate"][-1] == pytest.approx(0.0, abs=1e-13)


def test_static_friction_above_kinetic() -> None:
    """C02d: a growing force breaks the block away."""
    known = numbers("C02d")
    m = particle(friction=(0.6, 0.4))
    m = dr.Model("pulled")
    m.gravity(G)
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, friction=(0.6, 0.4))
    pull = m.input("pull", "N")
    m.generalized_force("x", pull)
    run = dr.simulate(m, 3.0, inputs={"pull": "5*t"})
    assert changes_to(run, "floor", "slip") == [pytest.approx(known["breakaway_time"], abs=1e-11)]
    assert run["x_rate"][-1] == pytest.approx(known["v_at_3s"], rel=1e-11)
    assert run["x"][-1] == pytest.approx(known["x_at_3s"], rel=1e-11)


def test_dry_friction_oscillator() -> None:
    """C02g: half cycles, and where it sticks."""
    known = numbers("C02g")
    m = particle(friction=0.3)
    m.spring("x", 50.0)
    run = dr.simulate(m, 2.5, start={"x": 0.5, "z": 0.0}, method=TIGHT)
    found = [change.time for change in run.modes][1:]
    np.testing.assert_allclose(found, known["turning_times"], rtol=1e-10)
    assert run.modes[-1].modes == {"floor": "stick"}
    assert run["x"][-1] == pytest.approx(known["final_position"], rel=1e-9)


@pytest.mark.parametrize("case", ["C03a", "C03b", "C03c", "C03d"])
def test_cue_ball(case: str) -> None:
    known, given = numbers(case), REFERENCE[case]["parameters"]
    (vx, vy), (wx, wy, wz) = given["v0"]["value"], given["omega0"]["value"]
    start = {"ball_vx": vx, "ball_vy": vy, "ball_wx": wx, "ball_wy": wy, "ball_wz": wz, "ball_z": 0.03}
    run = dr.simulate(sphere(0.03, friction=0.2), 1.0, start=start, method=TIGHT)
    assert [change.modes["floor"] for change in run.modes] == ["slip", "stick"]
    assert run.modes[-1].time == pytest.approx(known["roll_start_time"], abs=1e-10)
    assert [run["speed_x"][-1], run["speed_y"][-1]] == pytest.approx(known["rolling_velocity"], abs=1e-9)
    assert run.energy_drift < 1e-9


@pytest.mark.parametrize("entry", REFERENCE["C04a"]["numbers"]["slip_table"]["value"])
def test_falling_rod_slips_backward_or_forward(entry: dict[str, Any]) -> None:
    """C04a: from the vertical; the direction changes at μ = 15√10/128."""
    run = dr.simulate(rod(entry["mu"]), 20.0, start={"theta": 1e-9, "z": 0.0}, events=[_slips()], method=TIGHT)
    time = changes_to(run, "foot", "slip")[0]
    at = run.at(time)
    assert at["theta"] == pytest.approx(entry["theta"], abs=2e-8)
    assert (run.at(time + 1e-3)["foot_slip_along"] > 0) == (entry["foot_slips"] == "forward")


def _slips() -> dr.Event:
    return dr.Event("down", "theta - 1.2", "stop")


def test_rod_on_a_smooth_floor() -> None:
    """C04e and C04f: it stays on the floor, or lifts off and lands with the other end."""
    known = numbers("C04e")
    run = dr.simulate(rod(0.0, both=True), 1.0, start={"theta": 0.1, "z": 0.0}, method=TIGHT)
    assert impact_times(run)[0] == pytest.approx(known["time_to_flat"], abs=1e-10)
    known = numbers("C04f")
    start = {"theta": 1.0, "theta_rate": -5.0, "z": 0.0, "x_rate": 2.5 * np.cos(1.0)}
    run = dr.simulate(rod(0.0, both=True), 0.7, start=start, method=TIGHT)
    assert changes_to(run, "foot", "open")[0] == pytest.approx(known["time_liftoff"], abs=1e-10)
    assert impact_times(run)[0] == pytest.approx(known["next_contact"]["time"], abs=1e-10)


@pytest.mark.parametrize("case", ["C05b", "C05d", "C05f"])
def test_rolling_off_a_sphere(case: str) -> None:
    known, rolls = numbers(case), case != "C05b"
    a = 0.25 if rolls else 0.0
    mu = {"C05b": 0.0, "C05d": np.inf, "C05f": 0.3}[case]
    m = dr.Model("off_a_sphere")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    body = m.body("ball", mass=1.0, inertia=(0.4 * a**2,) * 3 if rolls else (1e-3,) * 3)
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    if rolls:
        m.revolute("turn", second, body, axis="y")
    else:
        m.fixed("held", second, body)
    m.contact("top", body, radius=a, on="ground", on_radius=1.0, friction=mu)
    start = {"x": (1 + a) * np.sin(0.1), "z": (1 + a) * np.cos(0.1)}
    run = dr.simulate(m, 1.6, start=start, method=TIGHT)
    left = changes_to(run, "top", "open")[0]
    at = run.at(left)
    assert np.arctan2(at["x"], at["z"]) == pytest.approx(known["theta_leave"], abs=1e-9)
    assert left == pytest.approx(known.get("time_on_sphere", known.get("time_leave")), abs=1e-9)
    if case == "C05f":
        assert changes_to(run, "top", "slip")[0] == pytest.approx(known["time_slip_begins"], abs=1e-9)
        assert at["turn_rate"] == pytest.approx(known["spin_leave"], rel=1e-9)


def test_rocking_block() -> None:
    """C06b: the exact equation of Housner's block; plastic impacts at the landing corner, the other one lifts."""
    known, width, height = numbers("C06b"), 0.3, 1.2
    m = dr.Model("block")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    moment = (width**2 + height**2) / 12
    body = m.body("block", mass=1.0, center_of_mass=(0, 0, height / 2), inertia=(moment, moment, moment))
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    m.revolute("tilt", second, body, axis="y")
    for name, side in (("right", 1), ("left", -1)):
        m.contact(name, m.point(f"{name}_corner", body, (side * width / 2, 0, 0)), friction=0.6)
    start = {"tilt": 0.1, "x": 0.15 * (1 - np.cos(0.1)), "z": 0.15 * np.sin(0.1)}
    run = dr.simulate(m, 2.3, start=start, method=TIGHT)
    np.testing.assert_allclose(impact_times(run), known["impact_times"], rtol=0, atol=1e-9)
    assert run.energy_drift < 1e-9


def test_painleve() -> None:
    """C07a: a sliding rod at 60° with μ = 1.5 has no motion, or two, and says so."""
    phi = np.pi / 3
    lean = np.pi / 2 - phi
    for omega, verdict in ((0.0, "CONTACT_INCONSISTENT"), (6.0, "CONTACT_INDETERMINATE")):
        start = {"theta": lean, "z": 0.0, "x_rate": -1.0, "theta_rate": -omega}
        assert dr.simulate(rod(1.5), 0.1, start=start).status.kind == verdict
    high = dr.simulate(dr.gallery.tipping_tricycle(), 1e-3, parameters={"center_high": 476.0})  # ends where it starts, rolling
    assert high.status.kind == "CONTACT_INDETERMINATE" and len(high.time) == 1
    assert all(high.modes.needs[name].allowed == np.inf for name in ("rear_left", "rear_right"))
    run = dr.simulate(rod(1.5), 1e-3, start={"theta": lean, "z": 0.0, "x_rate": 1.0})
    assert run["foot_normal_force"][0] == pytest.approx(2.652385668128711, rel=1e-12)

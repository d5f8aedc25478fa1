"""Stops and dry friction of joints, against closed forms and independent computations."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ellipk, ellipkinc

import draisine as dr

REFERENCE = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "reference" / "contact.json").read_text(encoding="utf-8"))["cases"]
}
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-14)


def oscillator(mass: float = 1.0, stiffness: float = 100.0, **joint: Any) -> dr.Model:
    m = dr.Model("oscillator")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("block", mass=mass), **joint)
    m.spring("x", stiffness)
    return m


def pendulum(length: float = 1.0, **joint: Any) -> dr.Model:
    m = dr.Model("pendulum")
    m.gravity(9.81)
    m.revolute("swing", "ground", m.body("bob", mass=1.0, center_of_mass=(0, 0, -length)), axis="y", **joint)
    return m


def changes(run: Any, contact: str) -> list[tuple[float, str]]:
    return [(begin, mode) for begin, _, mode in run.modes.intervals(contact)]


# ---------------------------------------------------------------- dry friction


def test_dry_friction_takes_the_same_from_every_half_cycle() -> None:
    """The amplitude falls by 2 F/k per half cycle; it ends where the spring is weaker than friction."""
    force, stiffness, start = 1.3, 80.0, 0.21
    run = dr.simulate(oscillator(1.7, stiffness, friction=force), 3.0, start={"x": start}, method=TIGHT)
    assert run.status.kind == "FINISHED"
    half, band = math.pi * math.sqrt(1.7 / stiffness), force / stiffness
    amplitudes = [start - 2 * band * n for n in range(20) if start - 2 * band * n > -band]
    times = [0.0, *(half * n for n in range(1, len(amplitudes)))]
    found = changes(run, "x_friction")
    assert found[-1][1] == "stick" and {mode for _, mode in found[:-1]} == {"slip"}
    turns = [change.time for change in run.modes]
    np.testing.assert_allclose(turns, times, atol=1e-11)
    reached = [float(run.at(t)["x"]) for t in times]
    np.testing.assert_allclose(reached, [a * (-1) ** n for n, a in enumerate(amplitudes)], atol=1e-11)
    assert run["x"][-1] == pytest.approx(amplitudes[-1] * (-1) ** (len(amplitudes) - 1), abs=1e-11)
    assert run["x_friction_force"][-1] == pytest.approx(stiffness * run["x"][-1], rel=1e-12)
    assert run.energy_drift < 1e-11
    # what friction took: F times the path
    path = sum(a + b for a, b in pairwise(amplitudes))
    assert run["work"][-1] == pytest.approx(-force * path, rel=1e-10)


def test_oscillator_on_a_belt() -> None:
    """C02f, with the load m g as a given force: the limit cycle of stick and slip."""
    known = {name: entry["value"] for name, entry in REFERENCE["C02f"]["numbers"].items()}
    m = oscillator()
    m.friction("belt", "x - 0.2*t", ("0.4*9.81", "0.25*9.81"), unit="m")
    run = dr.simulate(m, 4.0, start={"x_rate": 0.2}, method=TIGHT)
    found = run.modes.intervals("belt")
    assert [mode for *_, mode in found[:6]] == ["stick", "slip"] * 3
    slips = [(begin, end) for begin, end, mode in found if mode == "slip"][:-1]
    sticks = [(begin, end) for begin, end, mode in found if mode == "stick"][1:-1]
    np.testing.assert_allclose([end - begin for begin, end in slips], known["slip_time"], atol=1e-11)
    np.testing.assert_allclose([end - begin for begin, end in sticks], known["stick_time"], atol=1e-11)
    begin, end = slips[1]
    assert float(run.at(begin)["x"]) == pytest.approx(known["x_slip_start"], abs=1e-11)
    assert float(run.at(end)["x"]) == pytest.approx(known["x_slip_end"], abs=1e-11)
    assert np.max(run.at(np.linspace(begin, end, 4001))["x"]) == pytest.approx(known["x_max"], rel=1e-6)
    assert run.energy_drift < 1e-10


def test_a_driven_belt_is_the_same_as_a_moving_measure() -> None:
    """The block is carried by a belt whose motion is prescribed; friction acts in the joint between them."""
    m = dr.Model("carried")
    m.gravity(0)
    belt, block = m.body("belt", mass=3.0), m.body("block", mass=1.0)
    m.prismatic("drive", "ground", belt)
    m.prismatic("x", belt, block, friction=("0.4*9.81", "0.25*9.81"))
    m.prescribe("speed", "drive", "0.2*t")
    m.spring("drive + x", 100.0)
    run = dr.simulate(m, 3.0, start={"x_rate": 0.0}, method=TIGHT)
    slips = [end - begin for begin, end, mode in run.modes.intervals("x_friction") if mode == "slip"][:-1]
    np.testing.assert_allclose(slips, REFERENCE["C02f"]["numbers"]["slip_time"]["value"], atol=1e-11)
    assert run.energy_drift < 1e-10


def test_breakaway_and_running_friction() -> None:
    """A torque that grows breaks the joint away at the static friction, and accelerates it against the kinetic one."""
    m = dr.Model("rotor")
    m.gravity(0)
    m.revolute("turn", "ground", m.body("rotor", mass=1.0, inertia=(1, 1, 0.5)), friction=("3 N*m", "2 N*m"))
    m.generalized_force("turn", m.input("torque", "N*m"))
    run = dr.simulate(m, 2.0, inputs={"torque": "2*t"}, method=TIGHT)
    assert [mode for _, mode in changes(run, "turn_friction")] == ["stick", "slip"]
    assert changes(run, "turn_friction")[1][0] == pytest.approx(1.5, abs=1e-11)
    assert run["turn_rate"][-1] == pytest.approx((2.0**2 - 1.5**2 - 2.0 * 0.5) / 0.5, rel=1e-11)
    assert run["turn_friction_force"][0] == pytest.approx(0.0, abs=1e-12)
    assert run["turn_friction_force"][-1] == pytest.approx(-2.0, rel=1e-12)


def test_stribeck_friction_depends_on_the_rate() -> None:
    """A block that is braked by F(v) = F_k + (F_s − F_k) exp(−(v/v_s)²): the time and way to rest by quadrature."""
    m = dr.Model("braked")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("block", mass=2.0), friction=(5.0, "3 + 2*exp(-(x_rate/0.1)^2)"))
    run = dr.simulate(m, 1.5, start={"x_rate": 0.8}, method=TIGHT)

    def force(v: float) -> float:
        return 3.0 + 2.0 * math.exp(-((v / 0.1) ** 2))

    stop = quad(lambda v: 2.0 / force(v), 0, 0.8, epsabs=1e-13, epsrel=1e-13, points=(0.1, 0.2))[0]
    way = quad(lambda v: 2.0 * v / force(v), 0, 0.8, epsabs=1e-13, epsrel=1e-13, points=(0.1, 0.2))[0]
    assert changes(run, "x_friction")[1] == (pytest.approx(stop, abs=1e-10), "stick")
    assert run["x"][-1] == pytest.approx(way, rel=1e-10)


def test_stacked_blocks_stick_together() -> None:
    """A block on a sled, both with dry friction: first the block stops on the sled, then both stop on the ground."""
    m = dr.Model("stack")
    m.gravity(0)
    sled, block = m.body("sled", mass=2.0), m.body("block", mass=1.0)
    m.prismatic("s", "ground", sled, friction=3.0)
    m.prismatic("r", sled, block, friction=4.0)
    run = dr.simulate(m, 3.0, start={"s_rate": 1.0, "r_rate": 1.5}, method=TIGHT)
    # block: −4 m/s² absolute, sled (4 − 3)/2; together −3/3
    first = 1.5 / 4.5
    speed = 1.0 + 0.5 * first
    assert changes(run, "r_friction") == [(0.0, "slip"), (pytest.approx(first, abs=1e-12), "stick")]
    assert changes(run, "s_friction") == [(0.0, "slip"), (pytest.approx(first + speed, abs=1e-11), "stick")]
    assert run["r"][-1] == pytest.approx(1.5**2 / 9.0, rel=1e-12)
    assert run["s"][-1] == pytest.approx(first + 0.25 * first**2 + speed**2 / 2, rel=1e-12)
    assert run.energy_drift < 1e-12


def test_two_joints_stop_at_the_same_time() -> None:
    """Two equal oscillators, coupled by a spring that stays unloaded: all changes of both coincide."""
    m = dr.Model("twins")
    m.gravity(0)
    for name in "xy":
        m.prismatic(name, "ground", m.body(f"block_{name}", mass=1.0), axis="x", friction=(1.2, 1.0))
        m.spring(name, 100.0)
    m.spring("x - y", 30.0, name="coupling")
    run = dr.simulate(m, 2.0, start={"x": 0.105, "y": 0.105}, method=TIGHT)
    assert run.status.kind == "FINISHED"
    np.testing.assert_allclose(run["x"], run["y"], atol=1e-12)
    assert run.modes[-1].modes == {"x_friction": "stick", "y_friction": "stick"}
    assert run.modes[-1].time == pytest.approx(5 * math.pi / 10, abs=1e-11)
    assert run["x"][-1] == pytest.approx(-0.005, abs=1e-11)
    assert run.energy_drift < 1e-11


# ---------------------------------------------------------------- stops


@pytest.mark.parametrize("e", [0.0, 0.6, 0.9])
def test_pendulum_falls_on_its_stop(e: float) -> None:
    """It bounces with u e, u e², …; the times of flight by elliptic integrals, up to their accumulation."""
    low, start, until, w2 = 0.4, 0.9, 14.0, 9.81
    run = dr.simulate(pendulum(limits=(low, None), restitution=e), until, start={"swing": start}, method=TIGHT)
    assert run.status.kind == "FINISHED"

    def flight(speed: float) -> float:
        """From the stop to the apex: (K − F)/ω with k = sin(apex/2)."""
        m = math.sin(low / 2) ** 2 + speed**2 / (4 * w2)
        return float(ellipk(m) - ellipkinc(math.asin(math.sin(low / 2) / math.sqrt(m)), m)) / math.sqrt(w2)

    speed = math.sqrt(2 * w2 * (math.cos(low) - math.cos(start)))
    times, speeds = [flight(speed)], [speed]
    while e * speeds[-1] > 1e-4:
        speeds.append(e * speeds[-1])
        times.append(times[-1] + 2 * flight(speeds[-1]))
    impacts = [change.time for change in run.modes.impacts]
    count = min(len(impacts), 12) - 1 if e else 1
    np.testing.assert_allclose(impacts[:count], times[:count], atol=1e-10)
    assert run.modes[-1].modes == {"swing_low": "stick"}
    left = e * speeds[-1] / (w2 * math.sin(low)) * 2 / (1 - e)
    assert run.modes[-1].time == pytest.approx(times[-1] + left, abs=1e-9 if e > 0.8 else 1e-10)
    assert run["swing"][-1] == pytest.approx(low, abs=1e-13) and run["swing"].min() > low - 1e-12
    assert run["swing_low_force"][-1] == pytest.approx(w2 * math.sin(low), rel=1e-12)
    assert run.energy_drift < 1e-10
    assert run.modes.lost == pytest.approx(speed**2 / 2, rel=1e-10)


def test_elastic_oscillator_between_two_stops() -> None:
    """Without restitution losses and without a spring the period is that of straight flights."""
    m = dr.Model("shuttle")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("block", mass=1.0), limits=("-20 cm", 0.5), restitution=1.0)
    run = dr.simulate(m, 5.0, start={"x_rate": 1.0}, method=TIGHT)
    impacts = [change.time for change in run.modes.impacts]
    np.testing.assert_allclose(impacts, 0.5 + 0.7 * np.arange(len(impacts)), atol=1e-12)
    assert len(impacts) == 7
    assert abs(run["x_rate"][-1]) == pytest.approx(1.0, rel=1e-13)


def test_friction_between_stops() -> None:
    """A block with dry friction bounces between two stops until it rests between them."""
    force, e, v = 0.5, 0.8, 2.0
    m = dr.Model("shuttle")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("block", mass=1.0), limits=(-0.3, 0.4), restitution=e, friction=force)
    run = dr.simulate(m, 6.0, start={"x_rate": v}, method=TIGHT)
    t, x, side, times = 0.0, 0.0, 1, []
    while True:
        way = (0.4 - x) if side > 0 else (x + 0.3)
        left = v * v - 2 * force * way
        if left < 0:
            t, x = t + v / force, x + side * v * v / (2 * force)
            break
        after = math.sqrt(left)
        t, x = t + (v - after) / force, 0.4 if side > 0 else -0.3
        times.append(t)
        v, side = e * after, -side
    np.testing.assert_allclose([change.time for change in run.modes.impacts], times, atol=1e-11)
    assert run.modes[-1].time == pytest.approx(t, abs=1e-10)
    assert run.modes[-1].modes == {"x_low": "open", "x_high": "open", "x_friction": "stick"}
    assert run["x"][-1] == pytest.approx(x, abs=1e-11)
    assert run.energy_drift < 1e-11


def test_bounces_against_friction_accumulate() -> None:
    """A block on a slope with friction bounces on a stop: up it decelerates with g s + F, down it accelerates with g s − F."""
    gravity, force, e = 4.0, 1.5, 0.7
    m = dr.Model("slope")
    m.gravity((-gravity, 0, 0))
    m.prismatic("x", "ground", m.body("block", mass=1.0), limits=(0, None), restitution=e, friction=force)
    run = dr.simulate(m, 4.0, start={"x": 0.5}, method=TIGHT)
    up, down = gravity + force, gravity - force
    v = math.sqrt(2 * down * 0.5)
    t = v / down
    times = [t]
    for _ in range(200):
        u = e * v
        v = u * math.sqrt(down / up)
        t += u / up + v / down
        times.append(t)
    impacts = [change.time for change in run.modes.impacts]
    np.testing.assert_allclose(impacts[:12], times[:12], atol=1e-11)
    assert run.modes[-1].time == pytest.approx(times[-1], abs=1e-10)
    assert run.modes[-1].modes == {"x_low": "stick", "x_friction": "stick"}
    assert run.energy_drift < 1e-11


def test_moving_stop() -> None:
    """A stop that is driven against a block at rest: elastic, so that the block leaves with twice its velocity."""
    m = dr.Model("pushed")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("block", mass=2.0))
    m.stop("piston", "x", low="0.3*t - 0.6", restitution=1.0)
    run = dr.simulate(m, 4.0, method=TIGHT)
    assert [change.time for change in run.modes.impacts] == [pytest.approx(2.0, abs=1e-12)]
    assert run["x_rate"][-1] == pytest.approx(0.6, rel=1e-12)
    assert run.energy_drift < 1e-12


def test_stop_carries_a_load_until_it_is_lifted() -> None:
    m = dr.Model("lifted")
    m.gravity(9.81)
    m.prismatic("z", "ground", m.body("load", mass=2.0), axis="z", limits=(0, None))
    m.generalized_force("z", m.input("pull", "N"))
    run = dr.simulate(m, 3.0, inputs={"pull": "10*t"}, method=TIGHT)
    assert changes(run, "z_low") == [(0.0, "stick"), (pytest.approx(1.962, abs=1e-11), "open")]
    assert run["z_low_force"][0] == pytest.approx(19.62, rel=1e-12)
    assert run["z"][-1] == pytest.approx(10 * (3.0 - 1.962) ** 3 / 12, rel=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_loads_are_lifted_when_the_pull_is_their_weight(seed: int) -> None:
    """Pulls that grow with the time at random rates: gravity and pull cancel to rounding errors of any sign."""
    rng = np.random.default_rng(seed)
    mass, rate = rng.uniform(0.5, 5.0), rng.uniform(5.0, 40.0)
    m = dr.Model("lifted")
    m.gravity(9.81)
    m.prismatic("z", "ground", m.body("load", mass=mass), axis="z", limits=(0, None))
    m.generalized_force("z", m.input("pull", "N"))
    lifted = mass * 9.81 / rate
    run = dr.simulate(m, 1.2 * lifted, inputs={"pull": f"{rate!r}*t"}, samples=[0.0, 1.2 * lifted])
    assert run.status.kind == "FINISHED", run.status
    assert changes(run, "z_low") == [(0.0, "stick"), (pytest.approx(lifted, abs=1e-12), "open")]
    assert run["z"][-1] == pytest.approx(rate * (0.2 * lifted) ** 3 / (6.0 * mass), rel=1e-7)


# ---------------------------------------------------------------- loops

LINKS = {"crank": 1.0, "coupler": 4.0, "rocker": 3.0}  # m, and kg


def four_bar(**options: dict[str, Any]) -> dr.Model:
    m = dr.Model("four_bar")
    m.gravity((0, -9.81, 0))
    for name, length in LINKS.items():
        m.body(name, mass=length, center_of_mass=(length / 2, 0, 0), inertia=(0, length**3 / 12, length**3 / 12))
    m.revolute("drive", "ground", "crank", default=1.0, **options.get("drive", {}))
    m.revolute("knee", "crank", "coupler", at=(1, 0, 0), default=-0.5, **options.get("knee", {}))
    m.revolute("swing", "ground", "rocker", at=(4, 0, 0), default=1.5, **options.get("swing", {}))
    m.point("coupler_end", "coupler", (4, 0, 0))
    m.point("rocker_end", "rocker", (3, 0, 0))
    m.close_point("loop", "coupler_end", "rocker_end", axes="xy")
    return m


def four_bar_matrices(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masses and loop rows from the kinematics written out by hand."""
    a, b, c = q[0], q[0] + q[1], q[2]

    def unit(angle: float) -> np.ndarray:
        return np.array([-math.sin(angle), math.cos(angle)])

    jacobians = [
        (1.0, np.column_stack([0.5 * unit(a), 0 * unit(a), 0 * unit(a)]), np.array([1.0, 0, 0])),
        (4.0, np.column_stack([unit(a) + 2 * unit(b), 2 * unit(b), 0 * unit(a)]), np.array([1.0, 1, 0])),
        (3.0, np.column_stack([0 * unit(a), 0 * unit(a), 1.5 * unit(c)]), np.array([0.0, 0, 1])),
    ]
    mass = sum(m * j.T @ j + m**3 / 12 * np.outer(w, w) for m, j, w in jacobians)
    rows = np.column_stack([unit(a) + 4 * unit(b), 4 * unit(b), -3 * unit(c)])
    return mass, rows


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_a_stop_in_a_loop(e: float) -> None:
    """The impulse of a stop of the rocker goes through the whole four-bar: compared with [M −Aᵀ; A 0] by hand."""
    m = four_bar(swing={"limits": (None, 1.9), "restitution": e})
    run = dr.simulate(m, 1.2, start={"drive": 1.0, "drive_rate": 6.0}, method=TIGHT)
    change = run.modes.impacts[0]
    before, after = run.at(change.time - 1e-9), run.at(change.time + 1e-9)
    names = ("drive", "knee", "swing")
    q = np.array([float(after[name]) for name in names])
    v, w = (np.array([float(row[f"{name}_rate"]) for name in names]) for row in (before, after))
    assert q[2] == pytest.approx(1.9, abs=1e-7)
    mass, rows = four_bar_matrices(q)
    both = np.vstack([rows, [0, 0, -1]])
    system = np.block([[mass, -both.T], [both, np.zeros((3, 3))]])
    solved = np.linalg.solve(system, np.concatenate([mass @ v, [0, 0, e * v[2]]]))
    np.testing.assert_allclose(w, solved[:3], atol=2e-7)  # within 1e-9 s accelerations change velocities
    assert change.impulse["swing_high"][0] == pytest.approx(solved[-1], rel=1e-7)
    assert change.lost == pytest.approx(0.5 * (v @ mass @ v - solved[:3] @ mass @ solved[:3]), abs=1e-6)
    assert run.energy_drift < 1e-10
    assert run["swing"].max() < 1.9 + 1e-10


def test_breakaway_of_a_loop_with_friction_in_all_joints() -> None:
    """Three joints at rest have one freedom: their friction is not determined, the load that they can hold is, Σ F |dq/dq₁|.
    The load goes back and forth below it, then beyond it."""
    friction = {"drive": 2.0, "knee": 1.0, "swing": 3.0}
    m = four_bar(**{name: {"friction": force} for name, force in friction.items()})
    m.gravity(0)
    m.generalized_force("drive", m.input("torque", "N*m"))
    start = dr.simulate(m, 0.01).at(0.0)
    q = np.array([float(start[name]) for name in friction])
    _, rows = four_bar_matrices(q)
    rates = np.linalg.svd(rows)[2][-1]
    most = sum(force * abs(rate) for force, rate in zip(friction.values(), rates / rates[0], strict=True))
    run = dr.simulate(m, 6.0, inputs={"torque": f"{most}*(0.9 + 0.02*t)*sin(2*t)"}, method=TIGHT)

    def load(t: float) -> float:
        return (0.9 + 0.02 * t) * math.sin(2 * t)

    away = brentq(lambda t: load(t) + 1.0, 5.3, 5.49, xtol=1e-14)  # before, its greatest value is 0.98
    assert np.abs(run["drive_rate"][run.time < away]).max() < 1e-12
    assert min(abs(change.time - away) for change in run.modes) < 1e-10
    assert abs(run.at(away + 0.05)["drive_rate"]) > 1e-6
    assert run.status.kind == "FINISHED"
    assert np.abs(run["total_energy"] - run["work"]).max() < 1e-11  # J; the load is a few N·m


def test_ensembles_and_continued_runs_are_the_same_runs() -> None:
    m = oscillator(friction=1.0, limits=(-0.12, 0.12), restitution=0.5)
    starts = [(0.105, 0.0), (0.05, 1.0), (0.119, -2.0)]
    cases = {"start.x": [x for x, _ in starts], "start.x_rate": [v for _, v in starts]}
    found = dr.ensemble(m, 1.0, cases=cases, outputs=["x"], threads=1, method=TIGHT)
    for k, (x, v) in enumerate(starts):
        run = dr.simulate(m, 1.0, start={"x": x, "x_rate": v}, method=TIGHT)
        assert found["x.end"][k] == run["x"][-1]
        first = dr.simulate(m, 0.3, start={"x": x, "x_rate": v}, method=TIGHT)
        assert dr.simulate(m, 0.7, start=first, method=TIGHT)["x"][-1] == pytest.approx(run["x"][-1], abs=1e-11)

"""Optimal control through given modes of contacts: closed forms, impacts of runs, plans that a run does not follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError
from draisine.optimal.contact_phases import ContactPhase, modes_of
from draisine.optimal.study_file import study_of
from draisine.optimal.symbolic_model import SymbolicModel
from draisine.program.fixed_modes import with_modes

COARSE = dr.optimal.Collocation(intervals=6)
G = 10.0


def hopper(body: float = 3.0, foot: float = 1.0, longest: float = 1.0) -> dr.Model:
    """A body on a leg with a foot; the leg pushes, and ends at a stop."""
    m = dr.Model("hopper")
    m.gravity(G)
    m.prismatic("height", "ground", m.body("foot", mass=foot), axis="z")
    m.prismatic("leg", "foot", m.body("body", mass=body), axis="z", default=0.5, limits=(None, longest))
    m.generalized_force("leg", m.input("push", "N"))
    m.contact("sole", "foot")
    return m


def block(friction: Any = 0.5, restitution: float = 0.0) -> dr.Model:
    m = dr.Model("block")
    m.gravity(G)
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("block", mass=2.0), axis="z")
    m.generalized_force("x", m.input("push", "N"))
    m.contact("floor", "block", friction=friction, restitution=restitution)
    return m


def hop(m: dr.Model, height: float, take_off: float, landing: float, rest: float, least: float) -> Any:
    """Push off, rise, fall, land and come to rest, with the least ∫ push² dt."""

    def phase(sole: str, stop: str) -> Any:
        return dr.maneuver(m).modes(sole=sole, leg_high=stop).minimize(integral="push^2")

    found = phase("stick", "open").start(height=0, height_rate=0, leg=0.5, leg_rate=0).bounds(push=(-5, 900)).duration(take_off)
    up = phase("open", "stick").bounds(push=(least, 900)).finish(height=height, height_rate=0).duration(0.02, 1)
    down = phase("open", "stick").bounds(push=(least, 900)).duration(0.02, 1)
    last = phase("stick", "open").bounds(push=(-5, 900)).finish(leg=rest, leg_rate=0).duration(landing)
    return found.then(up).then(down).then(last)


def least_cost(mass: float, time: float, way: float, first: float, last: float) -> float:
    """min ∫ F² dt, m ẍ = F − m g, from velocity `first` to `last` over a distance: F is linear in time."""
    d, v = way - first * time, last - first
    return mass**2 * (12 * d**2 / time**3 - 12 * d * v / time**2 + 4 * v**2 / time + 2 * G * v + G**2 * time)


@pytest.mark.parametrize("seed", range(3))
def test_a_hop_with_the_least_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body, foot, height = rng.uniform(2, 5), rng.uniform(0.3, 1.5), rng.uniform(0.1, 0.3)
    speed, rest = np.sqrt(2 * G * height), rng.uniform(0.5, 0.7)  # of both masses; the stop takes m v = (m + m_foot) v⁺
    shares = rng.uniform(1.6, 1.9, 2)  # for which the leg pushes all the time
    take_off, landing = shares * np.array([0.5 / (speed * (body + foot) / body), (1.0 - rest) / speed])
    found = hop(hopper(body, foot), height, take_off, landing, rest, 1.0).solve(COARSE)
    exact = least_cost(body, take_off, 0.5, 0.0, speed * (body + foot) / body)
    exact += least_cost(body, landing, rest - 1.0, -speed, 0.0) + 2 * speed / G
    assert found.solved, found.status
    assert found.objective == pytest.approx(exact, rel=1e-7)
    assert [p.duration for p in found.phases[1:3]] == pytest.approx([speed / G] * 2, rel=1e-8)
    modes = found.trajectory.modes
    assert [change.modes["sole"] for change in modes] == ["stick", "open", "stick"]
    assert [change.time for change in modes] == pytest.approx([0.0, take_off, take_off + 2 * speed / G], abs=1e-8)
    lost = body * foot / (body + foot) * (speed * (body + foot) / body) ** 2 / 2 + foot * speed**2 / 2
    assert modes.lost == pytest.approx(lost, rel=1e-7)


def test_the_control_of_a_solution_repeats_in_simulate(tmp_path: Path) -> None:
    m = hopper()
    stated = hop(m, 0.2, 0.3, 0.4, 0.6, 1.0)
    found = stated.solve(COARSE)
    start = {"height": 0, "height_rate": 0, "leg": 0.5, "leg_rate": 0}
    run = dr.simulate(m, found.duration, start=start, inputs=found.feedforward)
    assert run["leg"][-1] == pytest.approx(0.6, abs=1e-6)
    assert [c.modes for c in run.modes] == [c.modes for c in found.trajectory.modes]
    found.save(tmp_path / "hop.nc")
    assert stated.load(tmp_path / "hop.nc").solved
    with pytest.raises(dr.errors.DataError, match="differs in"):
        hop(m, 0.2, 0.3, 0.4, 0.65, 1.0).load(tmp_path / "hop.nc")


def test_least_time_of_a_block_that_slides_and_then_sticks() -> None:
    """Accelerated at (F − μ m g)/m, braked at (F + μ m g)/m, then at rest for a given time, in which friction holds it."""
    m = block()
    slide = dr.maneuver(m).modes(floor="slip+").start(x=0, z=0, x_rate=0, z_rate=0).bounds(push=(-30, 30)).duration(0.05, 3)
    hold = dr.maneuver(m).modes(floor="stick").finish(x=1).bounds(push=(-30, 30)).duration(0.2)
    a, b = (30 - 10) / 2, (30 + 10) / 2
    top = np.sqrt(2 / (1 / a + 1 / b))
    found = slide.minimize("time").then(hold).solve(refine=dr.optimal.Refinement(seconds=300))
    assert found.solved, found.status
    assert found.phases[0].duration == pytest.approx(top / a + top / b, rel=1e-6)
    assert [c.modes["floor"] for c in found.trajectory.modes] == ["slip", "stick"]
    assert np.abs(found.phases[1].input("push")).max() <= 10 * (1 + 1e-6)  # the friction cone bounds the push


def test_landing_within_the_friction_cone() -> None:
    """Without slip after the impact only if m v_x ≤ μ m v_z: the wind slows the body down to that, at least effort constantly."""
    m = block(0.1)
    fly = dr.maneuver(m).modes(floor="open").start(x=0, z=1, x_rate=1, z_rate=0).bounds(push=(-9, 9)).duration(0.05, 2)
    rest = dr.maneuver(m).modes(floor="stick").bounds(push=(-9, 9)).duration(0.1)
    found = fly.minimize(integral="push^2").then(rest).solve(COARSE)
    time, speed = np.sqrt(2 / G), np.sqrt(2 * G)
    assert found.converged
    assert found.objective == pytest.approx((2.0 * (1 - 0.1 * speed)) ** 2 / time, rel=1e-6)
    assert [c.modes["floor"] for c in found.trajectory.modes][-1] == "stick"


@pytest.mark.parametrize("mode", ["slip+", "slip-"])
def test_a_bounce_slips_in_its_own_direction_only(mode: str) -> None:
    m = block(0.1, 0.8)
    before = dr.maneuver(m).modes(floor="open").start(x=0, z=1, x_rate=2, z_rate=0).bounds(push=(-1, 1)).duration(0.05, 2)
    after = dr.maneuver(m).modes(floor="open").bounds(push=(-1, 1)).finish(x=(0.3, 5), z_rate=0).duration(0.05, 2)
    found = before.minimize(integral="push^2").then(after.minimize(integral="push^2"), impact={"floor": mode}).solve(COARSE)
    if mode == "slip-":
        assert found.outcome == "INFEASIBLE"
        return
    speed = np.sqrt(2 * G)
    assert found.solved, found.status
    end = 2 * np.sqrt(2 / G) + (2 - 0.1 * 1.8 * speed) * 0.8 * np.sqrt(2 / G)
    assert found["x"][-1] == pytest.approx(end, rel=1e-8)  # without push


def test_a_plan_that_the_motion_does_not_follow_is_not_solved() -> None:
    """A contact that lands somewhere only has no condition along the path: the run shows that it does."""
    m = dr.Model("foot")
    m.gravity(G)
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("body", mass=1.0), axis="z")
    m.generalized_force("x", m.input("push", "N"))
    m.contact("floor", "body", friction=0.3, lands_where="x - 0.1")
    stated = dr.maneuver(m).modes(floor="open").start(x=0, z=0.5, x_rate=0, z_rate=0).bounds(push=(-9, 9)).duration(0.6)
    found = stated.finish(x=1).minimize(integral="push^2").solve(COARSE)
    assert found.converged and not found.solved
    assert "the modes of phase 1 (floor: slip, not open)" in found.status.message
    assert "state these" in found.status.message


@pytest.mark.parametrize("seed", range(12))
def test_impacts_are_those_of_runs(seed: int) -> None:
    """Random rods that land on an end, without restitution or with an impact that slips or is frictionless."""
    rng = np.random.default_rng(seed)
    friction = [0.0, rng.uniform(0.05, 1.2)][seed % 2]
    m = dr.Model("rod")
    m.gravity(9.81)
    m.prismatic("x", "ground", m.body("first", mass=0.3), axis="x")
    m.prismatic("z", "first", m.body("second", mass=0.2), axis="z")
    rod = m.body("rod", mass=1, center_of_mass=(0.1, 0, 0.5), inertia=(0.1, 0.1, 1e-3))
    m.revolute("lean", "second", rod, axis="y")
    m.contact("end", rod, friction=friction)
    start = {"z": 0, "lean": rng.uniform(-1, 1), "x_rate": rng.uniform(-1, 1), "z_rate": -rng.uniform(0.2, 2)}
    start |= {"lean_rate": rng.uniform(-1, 1), "x": 0}
    run = dr.simulate(m, 1e-9, start=start, samples=[0.0])
    mode = run.modes[0].modes["end"]
    if mode == "slip" and friction:
        mode += "+" if run["end_slip_along"][0] > 0 else "-"
    e = dr.derive(m)
    fly = modes_of(e, {"end": "open"})
    symbols = SymbolicModel(with_modes(e, tuple(fly.items())), ())
    landing = ContactPhase(e, fly, symbols).impact(modes_of(e, {"end": mode}), {})
    plant = symbols.plant
    names = [q.name for q in e.velocities]
    function = ca.Function("after", [plant.x], [landing.velocities[name] for name in names])
    after = [float(v) for v in function.call([ca.DM([start.get(q.name, 0.0) for q in e.states])])]
    reversed_slip = mode[:4] == "slip" and friction and run.modes[0].impulse["end"][1] * run["end_slip_along"][0] > 0
    if not reversed_slip:
        assert after == pytest.approx([run[name][0] for name in names], abs=1e-7)


def test_modes_are_stated_for_every_phase_and_refused_by_name() -> None:
    m = block()
    stated = dr.maneuver(m).start(z=0, x=0).finish(x=1).bounds(push=(-30, 30)).minimize("time")
    for modes, message in (
        ({}, "the modes of floor are not given; state them for every phase, .modes\\(floor='stick'\\)"),
        ({"floor": "slide"}, "a mode is one of 'open', 'stick'"),
        ({"flor": "open"}, "no contact 'flor' opens and slips \\(there are floor\\)"),
        ({"floor": "slip"}, "in which direction it slips, 'slip\\+' or 'slip-'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            stated.modes(**modes).solve()
    sliding = stated.modes(floor="slip+")
    with pytest.raises(ArgumentError, match=r"Adjoint: model 'block' has contact floor .*in_modes\(\{'floor': 'stick'\}\)"):
        sliding.solve(dr.optimal.Adjoint())
    with pytest.raises(ArgumentError, match=r"predictive: the maneuver states modes of contacts"):
        dr.optimal.predictive(sliding, rate=10, horizon=1.0)
    with pytest.raises(ArgumentError, match="a contact that bounces is open before and after it"):
        sliding.then(dr.maneuver(m).modes(floor="stick"), impact={"floor": "stick"}).solve()
    rolls = dr.Model("rolls")
    rolls.free(rolls.body("ball", mass=1, inertia=(0.1, 0.1, 0.1)))
    rolls.contact("floor", "ball", radius=0.5, friction=0.4, rolling_resistance=0.01)
    with pytest.raises(ArgumentError, match="is the resistance of a contact to rolling or drilling"):
        dr.maneuver(rolls).modes(floor="stick").finish(ball_x=1).minimize("time").solve()
    with pytest.raises(ArgumentError, match=r"modes\(x=…\): no contact 'x' opens and slips \(there are none\)"):
        dr.maneuver(dr.gallery.cart_pole()).modes(x="open").start(pole=1).finish(pole=0).minimize("time").solve()


def test_modes_in_study_files() -> None:
    content = {
        "model": "block",
        "modes": {"floor": "slip+"},
        "start": {"x": 0, "z": 0},
        "bounds": {"push": [-30, 30]},
        "minimize": {"time": 1},
        "then": [{"modes": {"floor": "stick"}, "impact": {}, "finish": {"x": 1}, "duration": 0.2}],
    }
    stated = study_of(content, lambda _: block()).maneuver
    assert [p.contact_modes for p in stated.phases] == [{"floor": "slip+"}, {"floor": "stick"}]

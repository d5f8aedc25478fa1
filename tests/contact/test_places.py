"""Contact places of wheels with friction on curved ground: their rates have no inertia, and nothing else follows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from package_models import TIGHT, plane

import draisine as dr

R = 0.2
STEP = 1e-5


def disc(height: Any, friction: float | None, **parameters: float) -> dr.Model:
    m, carriage = plane("disc")
    for name, value in parameters.items():
        m.parameter(name, value, "m")
    body = m.body("wheel", mass=1.0, inertia=(0.01, 0.02, 0.01))
    m.revolute("turn", carriage, body, axis="y")
    m.wheel("rim", body, R, **({} if friction is None else {"friction": friction}))
    m.ground(height=height)
    return m


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_by_the_start_above_waves(seed: int) -> None:
    """At crests and hollows, where rows of the start vanish, and elsewhere; then across a landing. Given velocities are given."""
    rng = np.random.default_rng(seed)
    amplitude, x = float(rng.uniform(0.02, 0.08)), float([0.0, 0.0, 1.0, 0.3, rng.uniform(-1, 1)][seed])
    model = disc("A*cos(pi*x)", 0.3, A=0.05)
    start = {"x": x, "z": 0.45, "x_rate": float(rng.uniform(1, 3)), "z_rate": 0.0, "turn_rate": 0.0, "turn": 0.0}
    names = ["A", "start.x_rate", "start.z"]
    # none of these is at a limit of a mode: the wheel falls onto a slope or level ground, and slips on it
    until, states = 0.25, ("x", "z", "turn", "x_rate", "z_rate", "turn_rate")

    def at(p: float = amplitude, **moved: float) -> Any:
        return dr.simulate(model, until, start=start | moved, parameters={"A": p}, samples=2, method=TIGHT)

    run = dr.simulate(model, until, start=start, parameters={"A": amplitude}, sensitivity=names, samples=2, method=TIGHT)
    assert len(run.modes) > 1
    for name in names:
        own = name.removeprefix("start.")
        exact = [float(name.startswith("start.") and own == state) for state in states]
        assert [run.sensitivity[state, name][0] for state in states] == pytest.approx(exact, abs=1e-12)
        if name == "A":
            two = at(amplitude + STEP), at(amplitude - STEP)
        else:
            two = at(**{own: start[own] + STEP}), at(**{own: start[own] - STEP})
        for state in states:
            difference = (two[0][state][-1] - two[1][state][-1]) / (2 * STEP)
            assert run.sensitivity[state, name][-1] == pytest.approx(difference, rel=1e-5, abs=1e-5), (state, name)
    found = dr.optimal.gradient(
        dr.maneuver(model).start(**start).parameters(A=amplitude).minimize(final="x + 0.3*z_rate"), {}, duration=until
    )
    forward = {name: run.sensitivity["x", name][-1] + 0.3 * run.sensitivity["z_rate", name][-1] for name in names}
    adjoint = {n: found.targets[n[6:]] if n.startswith("start.") else found.parameters[n] for n in names}
    assert adjoint == pytest.approx(forward, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_bumps_are_rolled_over_as_by_an_ideal_wheel(seed: int) -> None:
    """The curvature of a bump jumps at both ends: the rate of the place does, velocities do not."""
    rng = np.random.default_rng(seed)
    at, length, height = (float(rng.uniform(*limits)) for limits in ((0.3, 0.6), (0.8, 1.2), (0.01, 0.03)))
    road = dr.contact.roads.bump(at, length, height if seed % 2 else -height)
    start, until = {"x": 0.0, "x_rate": float(rng.uniform(0.8, 1.2))}, 2.2
    runs = [dr.simulate(disc(road, friction), until, start=start, method=TIGHT) for friction in (None, 1.5)]
    assert [run.status.kind.name for run in runs] == ["FINISHED"] * 2
    assert len(runs[1].modes) == 1 and runs[1]["x"][-1] > at + length
    assert np.abs(np.diff(runs[1]["rim_place_x_rate"])).max() > 0.01
    for name in ("x", "z", "x_rate", "turn_rate", "rim_place_x_rate", "rim_normal_force", "rim_longitudinal_force"):
        assert runs[1][name] == pytest.approx(runs[0][name], abs=1e-7), name


def test_random_bumps_with_the_default_method() -> None:
    """Steps end beside the switch by their error, on either side."""
    rng, road = np.random.default_rng(5), dr.contact.roads.bump("at", "long", "h")
    model = disc(road, 0.2, at=0.4, long=1.0, h=0.02)
    for _ in range(20):
        values = {
            name: float(rng.uniform(*limits)) for name, limits in (("at", (0.1, 0.6)), ("long", (0.6, 1.5)), ("h", (-0.03, 0.03)))
        }
        speed = float(rng.uniform(0.5, 3))
        run = dr.simulate(model, 2.5 / speed, start={"x": 0.0, "x_rate": speed}, parameters=values, samples=5)
        assert run.status.kind.name == "FINISHED", (values, speed)


def test_a_landing_on_waves_in_phases() -> None:
    """The motion without control is the solution of least effort: it falls, lands and slides as a simulation does."""
    model = disc("0.1*cos(pi*x)", 0.0)
    model.generalized_force("x", model.input("F", "N"))
    start = {"x": 0.1, "z": 0.6, "x_rate": 1.0, "z_rate": 0.0, "turn_rate": 0.0}
    run = dr.simulate(model, 0.5, start=start, method=TIGHT)
    assert [c.modes["rim"] for c in run.modes] == ["open", "slip"]

    def phase(mode: str) -> Any:
        return dr.maneuver(model).modes(rim=mode).bounds(F=(-50, 50)).minimize(integral="F^2")

    first, landed = phase("open").start(**start).duration(0.05, 1), run.modes[1].time
    stated = first.then(phase("slip").finish(x=float(run["x"][-1])).duration(0.5 - landed))
    found = stated.solve(dr.optimal.Collocation(intervals=8))
    assert found.converged and found.trajectory.status.kind == "FINISHED" and found.objective == pytest.approx(0.0, abs=1e-6)
    assert found.phases[0].duration == pytest.approx(landed, abs=1e-5)


@pytest.mark.parametrize("method", [None, dr.methods.DOP853(), dr.methods.Radau()])
def test_free_flight_over_a_bump(method: Any) -> None:
    start = {"x": 0.0, "z": 1.2, "x_rate": 3.0, "z_rate": 0.5, "turn_rate": 2.0}
    run = dr.simulate(disc(dr.contact.roads.bump(0.4, 0.8, 0.02), 0.5), 0.45, start=start, method=method)
    assert run.status.kind.name == "FINISHED" and [c.modes["rim"] for c in run.modes] == ["open"]
    assert run["x_rate"] == pytest.approx(np.full(len(run.time), 3.0), abs=1e-9)
    assert run["turn_rate"] == pytest.approx(np.full(len(run.time), 2.0), abs=1e-9)
    assert run["z"] == pytest.approx(1.2 + 0.5 * run.time - 9.81 / 2 * run.time**2, abs=1e-7)


def test_a_sharp_hollow_is_named() -> None:
    run = dr.simulate(disc(dr.contact.roads.bump(0.5, 0.1, -0.02), 1.0), 1.0, start={"x": 0.0, "x_rate": 2.0})
    assert run.status.kind.name == "GROUND_TOO_SHARP"


@pytest.mark.parametrize("friction", [1.5, 0.0])
def test_derivatives_across_jumps_of_curvature(friction: float) -> None:
    """The time at which the wheel comes to the bump varies, and the rate of its place jumps there."""
    model = disc(dr.contact.roads.bump("at", 0.8, "h"), friction, at=0.4, h=0.02)
    start = {"x": 0.0, "x_rate": 1.1} | ({} if friction else {"turn_rate": 0.0})
    names, until, states = ["at", "h", "start.x_rate"], 0.7, ("x", "z", "x_rate", "z_rate", "rim_place_x", "rim_place_x_rate")
    run = dr.simulate(model, until, start=start, sensitivity=names, samples=2, method=TIGHT)
    for name in names:
        two = [
            dr.simulate(model, until, start=start | {"x_rate": 1.1 + h}, samples=2, method=TIGHT)
            if name.startswith("start")
            else dr.simulate(
                model, until, start=start, parameters={name: {"at": 0.4, "h": 0.02}[name] + h}, samples=2, method=TIGHT
            )
            for h in (STEP, -STEP)
        ]
        for state in states:
            difference = (two[0][state][-1] - two[1][state][-1]) / (2 * STEP)
            assert run.sensitivity[state, name][-1] == pytest.approx(difference, rel=1e-5, abs=1e-5), (state, name)

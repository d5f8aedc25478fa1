"""Machines of parts in optimal control and estimation: a maneuver of each, and a mass found from its noisy log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.parts.ridden_machines import ridden_bicycle

import draisine as dr
from machines_of_parts import bicycle, car_with_trailer, motorcycle, scooter, trike

NOISE = 1e-4


class Case(NamedTuple):
    model: Callable[[], dr.Model]
    speed: float
    unknown: str  # a mass
    inputs: dict[str, str | float]
    measured: tuple[str, ...]
    finish: dict[str, float]
    held: tuple[str, ...] = ()  # input that holds the speed


TURNS = ("steer", "roll_rate", "yaw_rate")
CASES = {
    "bicycle": Case(bicycle, 6.0, "fork_mass", {"steer_torque": "2*sin(6*t)"}, TURNS, {"lean": 0.05}),
    "scooter": Case(scooter, 6.0, "column_mass", {"steer_torque": "0.2*sin(6*t)"}, TURNS, {"lean": 0.05}, ("motor_torque",)),
    "motorcycle": Case(motorcycle, 20.0, "frame_mass", {"steer_torque": "20*sin(6*t)"}, TURNS, {"lean": 0.05}, ("drive_torque",)),
    "trike": Case(
        trike, 5.0, "frame_mass", {"steer_torque": "sin(6*t)", "pedal_torque": 30.0}, ("yaw_rate", "speed"), {"yaw_rate": 0.1}
    ),
    "eleven freedoms": Case(
        dr.gallery.motorcycle, 25.0, "frame_mass", {"steer_torque": "20*sin(6*t)"}, TURNS, {"lean": 0.05}, ("drive_torque",)
    ),
    "rider": Case(ridden_bicycle, 6.0, "frame_mass", {"steer_torque": "2*sin(6*t)"}, TURNS, {"lean": 0.05}),
}
QUICK = ("bicycle", "trike")
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.further) for name in CASES]


@pytest.mark.parametrize("name", NAMES)
def test_a_mass_is_found_from_a_log(name: str) -> None:
    case = CASES[name]
    model = case.model()
    straight: dict[str, Any] = {"speed": case.speed} | ({} if name == "trike" else {"lean": 0.0, "steer": 0.0})
    trim = dr.steady(model, straight, free=case.held)
    inputs = case.inputs | {held: float(trim[held]) for held in case.held}
    run = dr.simulate(model, 1.0, start=trim, inputs=inputs, samples=101)
    assert run.status.complete, run.status
    rng = np.random.default_rng(7)
    data = {"time": run.time} | {name: run[name] + NOISE * rng.normal(size=101) for name in case.measured}
    equations = trim.equations
    start = {q.name: float(run[q.name][0]) for q in (*equations.coordinates, *equations.velocities)}
    true = next(p.default for p in equations.parameters if p.name == case.unknown)
    found = dr.estimate(
        model,
        data,
        unknown={case.unknown: (0.3 * true, 3 * true)},
        measured={name: (name, NOISE) for name in case.measured},
        start=start,
        inputs=inputs,
        guess={case.unknown: 1.3 * true},
    )
    low, high = found.interval(case.unknown)
    assert abs(0.5 * (low + high) - true) < 1.7 * (high - low)  # six standard deviations
    assert high - low < 0.05 * true


@pytest.mark.parametrize("name", NAMES)
def test_a_maneuver_is_solved_and_simulated(name: str) -> None:
    """Smallest torques that lean a machine, or turn a trike, within a second; the simulated motion arrives there."""
    case = CASES[name]
    model = case.model()
    torques = " + ".join(f"{q.name}**2" for q in dr.derive(model).inputs)
    stated = dr.maneuver(model).start(speed=case.speed).finish(**case.finish).duration(1.0).minimize(integral=torques)
    found = stated.solve(dr.optimal.Collocation("radau", 3, 20))
    assert found.converged, found.status
    (goal, value), *_ = case.finish.items()
    assert abs(found.trajectory[goal][-1] - value) < 1e-5


def test_a_machine_without_inputs_says_which_condition_it_misses_and_optimizes_its_parameter() -> None:
    """The car with trailer is steered by a parameter: left alone it runs straight on; found, the angle gives the yaw rate."""
    stated = dr.maneuver(car_with_trailer(1.0)).start(speed=20.0).finish(yaw_rate=0.1).duration(1.0)
    pieces = dr.optimal.Collocation("radau", 3, 10)
    left_alone = stated.minimize("time").solve(pieces)
    assert not left_alone.converged and "yaw_rate (misses by 0.1)" in str(left_alone.status)
    found = stated.optimize(steer_angle=(-0.1, 0.1)).minimize(integral="yaw_rate**2").solve(pieces)
    assert found.converged, found.status
    run = dr.simulate(car_with_trailer(1.0), 1.0, start={"speed": 20.0}, parameters=dict(found.parameters))
    assert run["yaw_rate"][-1] == pytest.approx(0.1, abs=1e-4)

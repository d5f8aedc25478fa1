"""Runs of contacts that open in one memory are single runs bit for bit, whatever ran in it before."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import draisine as dr
from draisine.model.contact.dry_friction import dry_friction
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.contact_margins import monitored_margins
from draisine.simulation.ensemble import contact_runs
from draisine.simulation.ensemble.contact_runs import ContactRuns, runs_in_one_memory
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.methods.selection import MethodChoice, select_method
from draisine.simulation.result import Run
from draisine.simulation.run import integrate

UNTIL, SAMPLES = 1.2, np.array([0.1, 0.4, 0.9, 1.2])
Start = tuple[np.ndarray, np.ndarray, np.ndarray]


def falling() -> dr.Model:
    """A bicycle whose wheels stick and slip and whose saddle lands. Slips begin in two dimensions, where equations are stiff."""
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(0.6, 0.0, "energetic", name))
    m._items["events"].clear()  # a fall is no end
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction=0.6)
    return m


@cache
def thrown() -> tuple[VelocityChoices, MethodChoice, tuple[Start, ...]]:
    equations = dr.derive(falling())
    problem, starts = StartProblem(equations), []
    for speed, roll_rate, steer in ((2.5, 1.5, 0.1), (6.0, -1.2, 0.2), (1.0, 0.5, -0.2), (4.0, 2.0, 0.0)):
        targets = {"speed": speed, "roll_rate": roll_rate, "steer": steer}
        begin = consistent_start(problem, targets, parameters=equations.default_parameters)
        starts.append((begin.x, begin.given[1], begin.given[2]))
    return prepare(equations, monitored_margins), select_method(None, equations), tuple(starts)


def runs(stop: bool = False) -> ContactRuns:
    choices, chosen, _ = thrown()
    compiled = choices.compiled(choices.root.choice)
    assert runs_in_one_memory(compiled, chosen)
    return ContactRuns(compiled, choices.margins_of, chosen, UNTIL, SAMPLES, np.array([int(stop)]))


def single(start: Start) -> Run:
    choices, _, _ = thrown()
    x, u, p = start
    return integrate(choices, x, UNTIL, parameters=p, inputs=u, samples=SAMPLES)


@pytest.mark.parametrize("room", [4, contact_runs.ROOM])
def test_equal_to_single_runs_in_any_order(room: int) -> None:
    """Also where records have to grow on the way."""
    _, _, starts = thrown()
    made = runs()
    made._memory.stepper.modes.change_room = room
    made._first = made._contents()
    methods = set()
    for k in (0, 1, 2, 3, 2, 0):
        found, expected = made(*starts[k]), single(starts[k])
        assert found is not None
        assert (found.accepted, found.rejected, found.evaluations) == (
            expected.accepted,
            expected.rejected,
            expected.evaluations,
        )
        np.testing.assert_array_equal(found.states[:-1], expected.states)
        np.testing.assert_array_equal(found.states[-1], expected.final_state)
        by_sample = np.vstack([np.tile(s.parameters, (len(s.times), 1)) for s in expected.segments])
        np.testing.assert_array_equal(found.parameters[:-1], by_sample)
        np.testing.assert_array_equal(found.parameters[-1], expected.segments[-1].parameters)
        assert found.modes.changes == expected.modes.changes
        assert found.modes.lost == expected.modes.lost
        methods.add("Radau" in expected.method)
    assert True in methods  # at least one of them changes methods on its way


def test_stops_when_told_to() -> None:
    _, _, starts = thrown()
    made = runs(stop=True)
    made._memory.stepper.budget = 5
    made._first = made._contents()
    assert made(*starts[0]) is None


def test_ensemble_reports_what_single_runs_do() -> None:
    """Through `ensemble`, by its threads: outputs at the end against `simulate`."""
    model, speeds = falling(), np.array([1.0, 3.0, 5.0])
    found = dr.ensemble(model, UNTIL, cases={"start.speed": speeds}, start={"roll_rate": 1.0}, outputs=["lean", "steer"])
    for k, speed in enumerate(speeds.tolist()):
        run = dr.simulate(model, UNTIL, start={"speed": speed, "roll_rate": 1.0}, samples=np.array([0.0, UNTIL]))
        assert found["status"][k] == run.status.kind
        assert [found[f"{name}.end"][k] for name in ("lean", "steer")] == [run[name][-1] for name in ("lean", "steer")]

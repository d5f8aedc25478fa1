"""The judges of contact reproduce the 49 reference cases; what one of them does not cover is listed with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import event_cases
import judge_event
import judge_stepping
import numpy as np
import pytest
import walker_cases
from stepping_cases import starts

from reference import Case, cases

CASES = cases()

# cases without an event-driven run, and why; they are return maps in `walker_cases`
NO_EVENTS = {
    "C06a": "a linear equation with a given ratio of rates, not rigid contact; the rigid block is C06b",
    "C08a": "all mass in the hub: the mass matrix of the wheel is singular",
    "C08d": "feet without mass: the mass matrix is singular; feet with mass are C08h",
    "C08e": "feet without mass, and unstable",
}

# cases without a time-stepping run, and why
NO_STEPS = {
    "C01i": "five laws of one impact: time stepping has one of them, the algebraic one, which C10 compares",
    "C05a": "the limit of a start at the unstable top; C05b starts beside it",
    "C05c": "the limit of a start at the unstable top; C05d starts beside it",
    "C05e": "the limit of a start at the unstable top; C05f starts beside it",
    "C06a": NO_EVENTS["C06a"],
    "C07a": "a statement about accelerations; the impulses of a step exist where accelerations do not",
    "C08a": NO_EVENTS["C08a"],
    "C08d": NO_EVENTS["C08d"],
    "C08e": NO_EVENTS["C08e"],
    "C08h": "the swing foot scuffs; a step has no notion of a contact that counts later",
    "C08j": "the swing foot scuffs; a step has no notion of a contact that counts later",
    "C09a": "a threshold of accelerations at one state",
    "C09b": "a threshold of accelerations at one state",
}

# numbers that no check compares, and why
NOT_COMPARED = {
    "exact": "the same numbers as fractions",
    "digits": "the same numbers with more digits than doubles have",
    "ignoring_wheel_inertia": "a formula for comparison, not a state of the model",
    "state_after_zeno": "compared as state and force at the end of the run",
    "back_at_start_time": "the time to which the run goes; the place there is compared",
}


@dataclass(frozen=True)
class ReadCase(Case):
    """A case that keeps which of its numbers were read."""

    read: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def listened(case: Case) -> ReadCase:
    return ReadCase(case.id, case.title, case.law, case.doubts, case.parameters, case.numbers, case.tolerances)


@pytest.mark.parametrize("id", list(CASES))
def test_the_event_driven_judge_and_the_return_maps_reproduce_the_case(id):
    case = listened(CASES[id])
    checks = [table[id] for table in (event_cases.CHECKS, walker_cases.CHECKS) if id in table]
    assert checks
    for check in checks:
        check(case)
    assert set(case.numbers) - case.read <= set(NOT_COMPARED)


def test_every_case_is_covered_or_listed():
    assert len(CASES) == 49
    assert set(CASES) == set(event_cases.CHECKS) | set(NO_EVENTS) and not set(event_cases.CHECKS) & set(NO_EVENTS)
    assert set(NO_EVENTS) <= set(walker_cases.CHECKS)
    assert set(CASES) == set(starts()) | set(NO_STEPS) and not set(starts()) & set(NO_STEPS)


@pytest.mark.parametrize("id", list(starts()))
def test_the_time_stepping_judge_converges_to_the_event_driven_one(id):
    """Errors of first order: bounded by steps times speed, and at 1/16 of the step a fraction of the coarse ones.

    An error is erratic in the step (where in a step an impact falls): several coarse runs give its size.
    """
    start = starts()[id]()
    exact = judge_event.simulate(start.scene, start.q, start.v, start.until)
    assert exact.status == "end"
    errors = []
    for refinement in (1.0, 1.2, 1.45, 4.0, 16.0):
        steps = round(refinement * start.steps)
        path = judge_stepping.simulate(start.scene, start.q, start.v, start.until, steps, solver=start.solver)
        errors.append(np.abs(np.concatenate([path.q[-1] - exact.q, path.v[-1] - exact.v])).max())
        speed = np.abs(path.v).max() + 9.81 * start.until
        assert errors[-1] < 4 * start.until / steps * speed
    assert errors[-1] < max(errors[:-1]) / 4

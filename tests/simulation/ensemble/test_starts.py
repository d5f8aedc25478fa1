"""Starts of a batch: to the bit those of single starts, compiled as it reads, and members without a start."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import StartError
from draisine.simulation.initial import search, solver
from draisine.simulation.initial.batch import BatchTargets, consistent_starts, refusal
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem

COUNT = 6


@pytest.fixture(scope="module")
def bicycle() -> StartProblem:
    return StartProblem(dr.derive(dr.gallery.bicycle()))


def asked_of(
    problem: StartProblem, targets: dict[str, tuple[float, float]], near: dict[str, float] | None = None
) -> BatchTargets:
    """Members whose targets lie between bounds, and whose parameters differ a little."""
    e, random = problem.equations, np.random.default_rng(7)
    columns = {name: random.uniform(*span, COUNT) for name, span in targets.items()}
    parameters = e.default_parameters * random.uniform(0.98, 1.02, (COUNT, len(e.parameters)))
    return BatchTargets(columns, near or {}, np.zeros((COUNT, len(e.inputs))), parameters)


TARGETS = [
    {"speed": (3.0, 6.0), "roll_rate": (-1.0, 1.0)},  # put to rest: no steer rate
    {"speed": (3.0, 6.0), "lean": (-0.4, 0.4), "steer": (-0.4, 0.4)},  # wheels put on the ground
    {"speed": (3.0, 6.0), "steer_rate": (-0.4, 0.4), "front_wheel_contact_x": (1.0, 1.5)},  # an output of positions
]


@pytest.mark.parametrize("targets", TARGETS, ids=["at rest", "on the ground", "of outputs"])
def test_starts_are_those_of_single_runs(bicycle: StartProblem, targets: dict[str, tuple[float, float]]) -> None:
    requested = asked_of(bicycle, targets)
    begun = consistent_starts(bicycle, requested)
    assert begun.solved.all()
    for member in range(COUNT):
        single = consistent_start(bicycle, requested.of(member), parameters=requested.parameters[member])
        np.testing.assert_array_equal(begun.q[member], single.q)
        np.testing.assert_array_equal(begun.v[member], single.v)
        values, _ = bicycle.evaluation((0.0, requested.inputs[member], requested.parameters[member]))(single.q, single.v, "v")
        for name, column in requested.targets.items():
            if bicycle.kinds[name] == "outputs":
                assert values[bicycle.output_rows[name]] == pytest.approx(column[member], rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(values[: len(bicycle.equations.constraints)], 0.0, atol=1e-13)


def test_compiled_as_it_reads(bicycle: StartProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    requested = asked_of(bicycle, TARGETS[1]).rows(np.array([0, 3]))
    compiled = consistent_starts(bicycle, requested)
    monkeypatch.setattr(solver, "solver_code", lambda: search.run)
    interpreted = consistent_starts(bicycle, requested)
    assert interpreted.solved.all()
    np.testing.assert_array_equal(interpreted.q, compiled.q)
    np.testing.assert_array_equal(interpreted.v, compiled.v)


def test_members_without_a_start_leave_the_others_alone(bicycle: StartProblem) -> None:
    """A wheel 3 m above the ground, a speed that is none; the rest to the bit as without them."""
    requested = asked_of(bicycle, {"speed": (3.0, 6.0), "rear_wheel_contact_z": (-1e-12, 1e-12), "roll_rate": (-1.0, 1.0)})
    requested.targets["rear_wheel_contact_z"][:] = 0.0
    whole = consistent_starts(bicycle, requested)
    requested.targets["rear_wheel_contact_z"][2], requested.targets["speed"][4] = 3.0, np.nan
    broken = consistent_starts(bicycle, requested)
    good = [0, 1, 3, 5]
    assert whole.solved.all()
    assert np.flatnonzero(broken.solved).tolist() == good
    assert np.flatnonzero(broken.refused).tolist() == [2, 4]
    np.testing.assert_array_equal(broken.q[good], whole.q[good])
    np.testing.assert_array_equal(broken.v[good], whole.v[good])
    with pytest.raises(StartError) as caught:
        consistent_start(bicycle, requested.of(2), parameters=requested.parameters[2])
    assert str(refusal(bicycle, requested, 2)) == str(caught.value)
    assert "it is 0, not 3" in str(caught.value)

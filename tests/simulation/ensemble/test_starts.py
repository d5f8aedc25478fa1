"""Starts of lanes in compiled code: against `consistent_start`, against the code as Python runs it, and lanes without one."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import draisine as dr
from draisine.errors import StartError
from draisine.simulation.ensemble import closest_start as closest
from draisine.simulation.ensemble import rest_velocities as calming
from draisine.simulation.ensemble import start_rows, starts
from draisine.simulation.ensemble.starts import Asked, begin_all
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.stepper.native import call_kernel, integers_at, matrix_at, reals_at

COUNT = 6


@pytest.fixture(scope="module")
def bicycle() -> StartProblem:
    return StartProblem(dr.derive(dr.gallery.bicycle()))


def asked_of(problem: StartProblem, wishes: dict[str, tuple[float, float]], near: dict[str, float] | None = None) -> Asked:
    """Lanes whose wishes lie between bounds, and whose parameters differ a little."""
    e, random = problem.equations, np.random.default_rng(7)
    columns = {name: random.uniform(*span, COUNT) for name, span in wishes.items()}
    parameters = e.default_parameters * random.uniform(0.98, 1.02, (COUNT, len(e.parameters)))
    return Asked(columns, near or {}, np.zeros((COUNT, len(e.inputs))), parameters)


WISHES = [
    {"speed": (3.0, 6.0), "roll_rate": (-1.0, 1.0)},  # calmed: no steer rate
    {"speed": (3.0, 6.0), "lean": (-0.4, 0.4), "steer": (-0.4, 0.4)},  # wheels put on the ground
    {"speed": (3.0, 6.0), "steer_rate": (-0.4, 0.4), "front_wheel_contact_x": (1.0, 1.5)},  # an output of positions
]


@pytest.mark.parametrize("wishes", WISHES, ids=["calmed", "on the ground", "of outputs"])
def test_starts_are_those_of_single_runs(bicycle: StartProblem, wishes: dict[str, tuple[float, float]]) -> None:
    asked = asked_of(bicycle, wishes)
    begun = begin_all(bicycle, asked)
    assert begun.settled.all()
    for lane in range(COUNT):
        single = consistent_start(bicycle, {n: float(c[lane]) for n, c in asked.wishes.items()}, asked.parameters[lane])
        # Where something is free to slide, a single start stops once the distance, a square, is exact.
        np.testing.assert_allclose(begun.q[lane], single.q, rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(begun.v[lane], single.v, rtol=0.0, atol=1e-7)
        values, _ = bicycle.evaluator((0.0, asked.inputs[lane], asked.parameters[lane]))(begun.q[lane], begun.v[lane], "v")
        for name, column in asked.wishes.items():
            if bicycle.homes[name] == "outputs":
                assert values[bicycle.places[name]] == pytest.approx(column[lane], rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(values[: len(bicycle.equations.constraints)], 0.0, atol=1e-13)


def test_compiled_as_it_reads(bicycle: StartProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(bicycle, WISHES[1]).rows(np.array([0, 3]))
    compiled = begin_all(bicycle, asked)

    def read(entry: Callable[[int], int], *modules: object) -> SimpleNamespace:
        return SimpleNamespace(function=entry)

    monkeypatch.setattr(starts, "stored_code", read)
    for module in (start_rows, calming, closest):
        for native in (integers_at, reals_at, matrix_at, call_kernel):  # ctypes wants plain numbers
            if hasattr(module, native.__name__):
                monkeypatch.setattr(module, native.__name__, lambda *given, native=native: native(*map(int, given)))
    interpreted = begin_all(bicycle, asked)
    assert interpreted.settled.all()
    np.testing.assert_allclose(interpreted.q, compiled.q, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(interpreted.v, compiled.v, rtol=0.0, atol=1e-13)


def test_lanes_without_a_start_leave_the_others_alone(bicycle: StartProblem) -> None:
    """A wheel 3 m above the ground, a speed that is none; the rest to the bit as without them."""
    asked = asked_of(bicycle, {"speed": (3.0, 6.0), "rear_wheel_contact_z": (-1e-12, 1e-12), "roll_rate": (-1.0, 1.0)})
    asked.wishes["rear_wheel_contact_z"][:] = 0.0
    whole = begin_all(bicycle, asked)
    asked.wishes["rear_wheel_contact_z"][2], asked.wishes["speed"][4] = 3.0, np.nan
    broken = begin_all(bicycle, asked)
    good = [0, 1, 3, 5]
    assert np.flatnonzero(broken.settled).tolist() == [k for k in good if whole.settled[k]]
    np.testing.assert_array_equal(broken.q[good], whole.q[good])
    np.testing.assert_array_equal(broken.v[good], whole.v[good])
    with pytest.raises(StartError):
        consistent_start(bicycle, {"rear_wheel_contact_z": 3.0}, asked.parameters[2])

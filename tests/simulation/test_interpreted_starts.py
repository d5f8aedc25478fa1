"""First starts on a machine by the interpreter: the same bits as by machine code, and left to it where Python refuses."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.codegen.restricted.entry import Entry
from draisine.codegen.restricted.types import Record, Vector
from draisine.simulation.initial import interpreted as interpreted_starts
from draisine.simulation.initial import memory, search
from draisine.simulation.initial.solver import SOLVER

STARTS = {
    "bicycle": (dr.gallery.bicycle, {"speed": 5.0, "lean": 0.1, "steer": 0.05, "roll_rate": 0.2}),
    "bicycle at rest": (dr.gallery.bicycle, {}),
    "constraints of length": (dr.gallery.cartesian_double_pendulum, {}),
    "trailers": (dr.gallery.trailers, {}),
    "loop": (dr.gallery.four_bar, {}),
    "spatial loop": (dr.gallery.stewart_platform, {}),
    "car": (dr.gallery.car, {}),
    "wheel on waves": (dr.gallery.wheel_on_waves, {}),
}


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The kinds of tasks that were interpreted, on a machine that has nothing compiled."""
    done: list[int] = []

    def run(task: memory.Task) -> int:
        done.append(task.what)
        return original(task)

    original = search.run
    monkeypatch.setattr(search, "run", run)
    monkeypatch.setattr(Entry, "is_at_hand", lambda self: False)
    monkeypatch.setattr(Entry, "begin", lambda self: None)
    monkeypatch.setattr(interpreted_starts, "_spent", 0.0)
    monkeypatch.setattr(interpreted_starts, "MOST_SECONDS", np.inf)
    return done


@pytest.mark.parametrize("name", STARTS)
def test_the_interpreter_gives_the_bits_of_machine_code(name: str, request: pytest.FixtureRequest) -> None:
    model, targets = STARTS[name][0](), STARTS[name][1]
    compiled = dr.consistent_start(model, targets)
    tasks = request.getfixturevalue("tasks")
    found = dr.consistent_start(model, targets)
    assert memory.FIND in tasks
    assert found.x.tobytes() == compiled.x.tobytes()


def test_what_may_take_long_is_left_to_machine_code(tasks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    model, targets = STARTS["bicycle"][0](), STARTS["bicycle"][1]
    monkeypatch.setattr(interpreted_starts, "MOST_SECONDS", -1.0)
    dr.consistent_start(model, targets)
    assert not tasks
    monkeypatch.setattr(interpreted_starts, "MOST_SECONDS", np.inf)
    monkeypatch.setattr(interpreted_starts, "MOST_OPERATIONS", 0)
    dr.consistent_start(model, targets)
    assert not tasks
    task = memory.Task()
    task.what, task.system = memory.FIND_FAR, memory.System()
    assert interpreted_starts.interpreted(SOLVER, task) is None


def test_what_python_refuses_is_computed_by_machine_code(tasks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is as it was before the attempt: half of a search would change the result of the next."""
    model, targets = STARTS["bicycle"][0](), STARTS["bicycle"][1]
    expected = dr.consistent_start(model, targets).x.tobytes()
    refused: list[int] = []

    def refusing(task: memory.Task) -> int:
        refused.append(task.what)
        search.find_near(task.system) if task.what == memory.FIND else None
        task.system.reference[:] += 1.0
        task.system.current.z[:] = 7.0
        task.system.length, task.system.current.relative_residual = 5.0, 0.0
        return int(1.0 / 0.0)

    monkeypatch.setattr(search, "run", refusing)
    assert dr.consistent_start(model, targets).x.tobytes() == expected
    assert memory.FIND in refused


class Pair(Record):
    """A record with numbers and arrays."""

    size: float
    count: int
    one: Vector
    other: Vector


def test_the_content_of_a_record_is_kept_and_set() -> None:
    pair = Pair()
    pair.allocate({"one": (2,), "other": (3,)})
    pair.size, pair.count = 2.5, 3
    pair.one[:], pair.other[:] = [1.0, 2.0], [3.0, 4.0, 5.0]
    content, place = pair.content(), pair.one.ctypes.data
    pair.size, pair.count = 0.0, 0
    pair.one[:] = pair.other[:] = 0.0
    pair.set_content(content)
    assert (pair.size, pair.count) == (2.5, 3)
    assert pair.one.tolist() == [1.0, 2.0] and pair.other.tolist() == [3.0, 4.0, 5.0]
    assert pair.one.ctypes.data == place

"""Loops are compiled without optimization for the first run, and optimized by another process, with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from draisine.codegen import background
from draisine.codegen.cache import claim, release, stored_object
from draisine.codegen.restricted import entry
from draisine.codegen.restricted.entry import Entry
from draisine.codegen.restricted.types import Record, Vector

SOURCES = ("codegen.test_entries",)


class Sums(Record):
    values: Vector
    total: float
    rounds: int


def accumulate(s: Sums) -> int:
    """Rounded sums and products, which must not be fused, and functions of them."""
    for _ in range(s.rounds):
        for k in range(len(s.values)):
            s.values[k] = s.values[k] * 1.7 + s.total * 0.3
            s.total += (s.values[k] - s.total) / (1.0 + abs(s.values[k]))
    return s.rounds


@pytest.fixture
def own_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """An entry that no other test has compiled, with an empty cache, as users have it."""
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAISINE_KERNEL_LEVEL", raising=False)
    monkeypatch.setattr(entry, "_LOADED", {})
    monkeypatch.setattr(entry, "source_file", lambda module: Path(__file__))
    return Entry(__name__, accumulate.__name__, ())


def filled(seed: int) -> Sums:
    s = Sums()
    s.values = np.random.default_rng(seed).normal(size=7)
    s.total, s.rounds = 0.5, 20
    return s


def test_both_codes_give_the_bits_of_python(own_entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(entry, "start", lambda *given: asked.append(given))
    quick = own_entry.load(at_once=True)
    assert not quick.optimized
    assert own_entry.load(at_once=True) is quick  # nothing better is there yet
    assert [given[:2] for given in asked] == [(entry.__name__, "optimize")]  # asked for once
    optimized = own_entry.load()
    assert optimized.optimized and own_entry.load(at_once=True) is optimized
    for seed in range(20):
        made = [filled(seed) for _ in range(3)]
        for run, s in zip((accumulate, quick, optimized), made, strict=True):
            assert run(s) == 20
        assert made[0].values.tobytes() == made[1].values.tobytes() == made[2].values.tobytes()
        assert made[0].total == made[1].total == made[2].total


def test_what_the_background_makes_is_taken(own_entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "start", lambda module, function, text: entry.optimize(text))
    assert not own_entry.load(at_once=True).optimized
    assert stored_object(own_entry.key) is not None
    assert own_entry.load(at_once=True).optimized
    assert claim(own_entry.key)  # the claim was withdrawn


def test_what_is_begun_in_advance_is_ready_when_it_is_needed(own_entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process makes the quick code first; what it has made is not made again."""
    begun: list[str] = []
    monkeypatch.setattr(entry, "start", lambda module, function, text: begun.append(text))
    own_entry.begin()
    own_entry.begin()  # claimed
    assert len(begun) == 1
    stored = []
    monkeypatch.setattr(Entry, "compile", lambda self: stored.append(stored_object(f"not optimized; {self.key}")) or b"")
    entry.optimize(begun[0])
    assert stored != [None]
    monkeypatch.setattr(Entry, "text", None)  # not needed any more
    monkeypatch.setattr(entry, "stored_object", lambda key: None)  # as if the optimized code were not ready
    assert not own_entry.load(at_once=True).optimized


def test_a_given_level_compiles_nothing_twice(own_entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAISINE_KERNEL_LEVEL", "0")
    monkeypatch.setattr(entry, "start", lambda *given: pytest.fail("a process was started"))
    assert own_entry.load(at_once=True).optimized


def test_one_process_claims(own_entry: Entry) -> None:
    assert claim("some key") and not claim("some key")
    release("some key")
    assert claim("some key")
    (path,) = Path(os.environ["DRAISINE_CACHE_DIR"]).glob("*.claim")
    os.utime(path, (0.0, 0.0))  # left by a process that died
    assert claim("some key")


def test_a_claim_where_nothing_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draisine.codegen.cache._path", lambda key: tmp_path / "absent" / "file.object")
    assert not claim("some key")


RUN = """
import sys, time
import draisine as dr
from draisine.simulation.initial.solver import SOLVER, solver_code
from draisine.simulation.stepper.memory import stepping_loop
begin = {"speed": 4.6, "roll_rate": 0.5}
first = dr.simulate(dr.gallery.bicycle(), 2.0, start=begin)
assert not solver_code().optimized or not stepping_loop().optimized, "nothing was compiled quickly"
end = time.monotonic() + 100.0
while not (solver_code().optimized and stepping_loop().optimized) and time.monotonic() < end:
    time.sleep(0.05)
assert solver_code().optimized and stepping_loop().optimized, "no optimized code within 100 s"
second = dr.simulate(dr.gallery.bicycle(), 2.0, start=begin)
assert all(first[name].tobytes() == second[name].tobytes() for name in ("lean", "steer", "speed"))
"""


@pytest.mark.long
def test_a_first_run_of_a_new_user(tmp_path: Path) -> None:
    """A process with an empty cache runs at once, and has optimized code soon after, which gives the same run."""
    given = {name: value for name, value in os.environ.items() if name != "DRAISINE_KERNEL_LEVEL"}
    surroundings = {**given, "DRAISINE_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", RUN], env=surroundings, check=True, timeout=200)


def test_the_background_needs_no_favor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works in any directory, and where no process can be started nothing happens."""
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no such program"))
    background.start("builtins", "print", "")
    monkeypatch.undo()
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path))
    background.start("os", "mkdir", "made by the process")
    end = time.monotonic() + 60.0
    while not (tmp_path / "made by the process").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert (tmp_path / "made by the process").exists()

"""Equations kept on disk: the second process derives nothing, imports nothing heavy, and gives the same numbers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.codegen import equation_cache as store
from draisine.dynamics.derive import derive
from draisine.expr.expression import parse
from draisine.expr.tables import Table
from draisine.gallery import model
from draisine.program.equations import Event
from draisine.program.serialization import StoredCode
from draisine.simulation.simulate import simulate

HEAVY = ("casadi", "llvmlite", "numba", "scipy", "sympy", "matplotlib", "xarray", "pandas", "rich")
# Runs the command line and says what it imported; the last line is the tale.
COMMAND = """
import json, sys
from draisine.cli.main import main
code = main(sys.argv[1:])
print(json.dumps({"code": code, "heavy": [name for name in %r if name in sys.modules]}))
"""


def command(*arguments: str, source: Path | None = None) -> tuple[dict[str, object], dict[str, object]]:
    environment = {**os.environ, **({} if source is None else {"PYTHONPATH": str(source)})}
    reported = subprocess.run(
        [sys.executable, "-c", COMMAND % (HEAVY,), *arguments], capture_output=True, text=True, check=True, env=environment
    )
    result, tale = reported.stdout.strip().splitlines()[-2:]
    return json.loads(result), json.loads(tale)


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store of its own, in which nothing is known."""
    place = tmp_path / "store"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(place))
    store._derive_cached.cache_clear()
    yield place
    store._derive_cached.cache_clear()


def entries(place: Path) -> set[Path]:
    found = set()
    for path in place.iterdir():
        with path.open("rb") as file:
            if b"draisine program" in file.read(200):
                found.add(path)
    return found


def test_a_second_process_imports_nothing_heavy():
    arguments = ("simulate", "bicycle", "--speed", "4.6", "--roll-rate", "0.5", "--until", "2", "--json")
    first, _ = command(*arguments)
    second, tale = command(*arguments)
    assert tale == {"code": 0, "heavy": []}
    assert first["final"] == second["final"]
    # and deriving in this process gives the same, to the last bit
    here = simulate(derive(model("bicycle")), 2.0, start={"speed": 4.6, "roll_rate": 0.5})
    assert {name: float(value) for name, value in here.final.items()} == second["final"]


FIRST_RUN = """
import json, sys
import draisine as dr
dr.simulate(dr.gallery.bicycle(), 0.1, start={"speed": 4.6})
print(json.dumps(sorted(sys.modules)))
"""


def test_a_first_trajectory_loads_little_of_numpy_and_no_openssl(own_store: Path):
    """Neither derived nor read from disk; masked arrays and random generators take longer to load than what needs them."""
    for _ in range(2):
        reported = subprocess.run([sys.executable, "-c", FIRST_RUN], capture_output=True, text=True, check=True).stdout
        assert {"numpy.ma", "numpy.random", "hashlib", "_hashlib"} & set(json.loads(reported)) == set()


def test_equations_from_the_store(own_store: Path):
    system = model("rolling_disk").freeze()
    first = store.derive_cached(system)
    assert len(entries(own_store)) == 1
    store._derive_cached.cache_clear()
    second = store.derive_cached(system)
    assert isinstance(second.dynamics.code, StoredCode) and not isinstance(first.dynamics.code, StoredCode)
    assert second.dynamics.digest == first.dynamics.digest
    assert second.alternates == first.alternates and second.alternates
    choice = second.alternates[0]
    assert second.with_independent(choice).dynamics.digest == first.with_independent(choice).dynamics.digest


def test_damaged_entries_are_made_anew(own_store: Path):
    system = model("rolling_disk").freeze()
    store.derive_cached(system)
    (path,) = entries(own_store)
    whole = path.read_bytes()
    for damaged in (whole[:1000], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        path.unlink()
        path.write_bytes(damaged)
        store._derive_cached.cache_clear()
        assert not isinstance(store.derive_cached(system).dynamics.code, StoredCode)
        assert path.read_bytes() == whole


def test_another_clone_finds_what_is_stored(own_store: Path, tmp_path: Path):
    arguments = ("simulate", "bicycle", "--speed", "4.6", "--until", "0.1", "--json")
    package = Path(draisine.__file__).parent
    first, _ = command(*arguments, source=package.parent)
    stored = set(own_store.iterdir())
    clone = tmp_path / "clone"
    shutil.copytree(package, clone / "draisine", copy_function=shutil.copyfile, ignore=shutil.ignore_patterns("__pycache__"))
    second, tale = command(*arguments, source=clone)
    assert tale == {"code": 0, "heavy": []}
    assert first["final"] == second["final"]
    more = set(own_store.iterdir()) - stored
    assert stored and all(path.stat().st_size < 200 for path in more)  # digests of the clone's source files, and nothing else
    assert store.source_digest(clone / "draisine") == store.source_digest(package)
    with (clone / "draisine/dynamics/derive.py").open("a") as file:
        file.write("# other\n")
    assert store.source_digest(clone / "draisine") != store.source_digest(package)


def test_what_derives_lies_in_the_folders_of_the_key():
    show = "import json, sys, draisine.dynamics.derive, draisine.program.serialization; print(json.dumps(sorted(sys.modules)))"
    reported = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout
    folders = {name.split(".")[1] for name in json.loads(reported) if name.startswith("draisine.")}
    assert folders - {"errors", "results"} <= set(store._SOURCES)  # these decide nothing about equations
    assert all((Path(draisine.__file__).parent / folder).is_dir() for folder in store._SOURCES)


def test_everything_that_matters_is_in_the_key():
    system = model("bicycle").freeze()
    reported = {
        store._model_digest(system, laws, events, work)
        for laws in ((), (("push", parse("2*t")),), (("push", parse("2*t + 1e-17")),))
        for events in ((), (Event("e", "lean"),), (Event("e", "lean", "stop"),))
        for work in (None, True)
    }
    assert len(reported) == 3 * 3 * 2
    assert store._model_digest(model("bicycle").freeze(), (), (), None) in reported
    heavier = model("bicycle")
    heavier.output("twice", "2*lean")
    assert store._model_digest(heavier.freeze(), (), (), None) not in reported


def test_numbers_of_tables_are_in_the_key():
    def spring(last: float) -> str:
        return store._model_digest(Table("force", np.linspace(0.0, 1.0, 2000), np.linspace(0.0, last, 2000)))

    assert spring(1.0) == spring(1.0) != spring(float(np.nextafter(1.0, 2.0)))

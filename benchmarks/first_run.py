"""Figures of the first trajectory: a new process from its first line to the end of the bicycle's free run, and its memory."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import draisine as dr
from figure import AtMost, Figure
from optimized import settled

HERE = Path(__file__).parent
PATIENCE = 150.0  # s for one process
ROUNDS = 3
AGREED = 1e-5  # rad, of lean and steer after 5 s at 1e-8: what tolerances make is far less, what another model would is far more
SLOW = frozenset({"symbrim", "pydy"})  # started once: they take most of the time

OURS = """
import json
import draisine as dr
method = dr.methods.DOP853(rtol=1e-8, atol=1e-8)
run = dr.simulate(dr.gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5}, method=method)
from peers.first_runs import memory
print(json.dumps({"end": [abs(float(run[name][-1])) for name in ("lean", "steer")], "memory": memory()}))
"""
PEERS = {  # script's word: what stands in the table, the module it needs
    "pydy": ("SymPy and PyDy, odeint", "pydy"),
    "symbrim": ("SymBRiM and PyDy, odeint", "symbrim"),
    "casadi": ("CasADi's interpreter of a model written by hand, CVODES", "casadi"),
}


@dataclass
class Reported:
    """Seconds and MiB of some processes; seconds are at least so many where the last one was stopped."""

    seconds: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    stopped: bool = False


def figures(peers: bool) -> Iterator[Figure]:
    """Peers and ours take turns. Every process reports where its run ended, and that must be the same place."""
    equations = dr.derive(dr.gallery.model("bicycle"))
    values = dict(zip((q.name for q in equations.parameters), equations.default_parameters.tolist(), strict=True))
    ways = {name: reported for name, (reported, module) in PEERS.items() if peers and find_spec(module) is not None}
    never, first, later, theirs = Reported(), Reported(), Reported(), {name: Reported() for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        started(never, ["-c", OURS], _kept_in(Path(folder) / "empty"))
        settled(Path(folder) / "empty")
        warm = Path(folder) / "warm"
        surroundings = os.environ | _kept_in(warm)
        subprocess.run([sys.executable, "-m", "draisine", "warm"], env=surroundings, check=True, capture_output=True)
        for turn in range(ROUNDS):
            cache = shutil.copytree(warm, Path(folder) / f"{turn}")
            for found in (first, later):
                started(found, ["-c", OURS], _kept_in(cache))
            for name in ways:
                if turn == 0 or name not in SLOW:
                    started(theirs[name], ["-m", "peers.first_runs", name, json.dumps(values)])
    yield from compared("first trajectory, nothing prepared", never, theirs, ways)
    yield from compared("first trajectory after `draisine warm`, as `make setup` leaves a machine", first, theirs, ways)
    yield from compared("first trajectory of a later process, the model run before", later, theirs, ways)
    yield from after_pip_install()


def after_pip_install() -> Iterator[Figure]:
    """In an environment that has what `pip install` of this clone gives and nothing else, each time with an empty cache."""
    found, size = Reported(), 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "environment"
        venv.create(place, with_pip=True)
        python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        before = len(json.loads(subprocess.run([*pip, "list", "--format=json"], capture_output=True, check=True).stdout))
        subprocess.run([*pip, "install", "--quiet", str(HERE.parent)], check=True)
        count = len(json.loads(subprocess.run([*pip, "list", "--format=json"], capture_output=True, check=True).stdout)) - before
        size = sum(
            file.stat().st_size
            for file in place.rglob("*")
            if file.is_file() and file.suffix != ".pyc" and "/pip/" not in str(file)
        )
        for turn in range(ROUNDS):
            cache = Path(folder) / f"cache {turn}"
            started(found, ["-c", OURS], _kept_in(cache), python)
            settled(cache)
    yield Figure("first trajectory after `pip install`, nothing prepared", statistics.median(found.seconds), "s", AtMost(1.5))
    memory = statistics.median(found.memory)
    yield Figure("first trajectory after `pip install`: most memory", memory, "MiB", AtMost(130.0))
    yield Figure("`pip install`: packages", count)
    yield Figure("`pip install`: size of the environment, without byte code and pip", size / 2**20, "MiB")


def _kept_in(cache: Path) -> dict[str, str]:
    """Where a process of ours keeps, and finds, what it has compiled."""
    return {"DRAISINE_CACHE_DIR": str(cache)}


def compared(what: str, ours: Reported, theirs: Mapping[str, Reported], names: Mapping[str, str]) -> Iterator[Figure]:
    seconds, memory = statistics.median(ours.seconds), statistics.median(ours.memory)
    yield Figure(what, seconds, "s")
    for name, found in theirs.items():
        yield Figure(f"{what}, beside {names[name]}", seconds, "s", None, statistics.median(found.seconds), found.stopped)
    yield Figure(f"{what}: most memory", memory, "MiB")
    for name, found in theirs.items():
        if found.memory:
            yield Figure(f"{what}: most memory, beside {names[name]}", memory, "MiB", None, statistics.median(found.memory))


def started(
    found: Reported,
    arguments: Sequence[str],
    surroundings: Mapping[str, str] | None = None,
    python: str | Path = sys.executable,
) -> None:
    """One process more, which must end where the bicycle does."""
    # modules are found compiled, as in an installed package
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [python, *arguments],
            cwd=HERE,
            env={**kept, **(surroundings or {})},
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        found.seconds.append(time.perf_counter() - begin)
        found.stopped = True
        return
    found.seconds.append(time.perf_counter() - begin)
    reported = json.loads(done.stdout.splitlines()[-1])
    require_same(reported["end"], arguments)
    found.memory.append(reported["memory"])


def require_same(end: Sequence[float], arguments: Sequence[str]) -> None:
    run = dr.simulate(
        dr.gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-11)
    )
    exact = [abs(float(run[name][-1])) for name in ("lean", "steer")]
    if not max(abs(a - b) for a, b in zip(end, exact, strict=True)) < AGREED:
        raise RuntimeError(f"{' '.join(arguments)[:60]} ends at lean and steer {end}, the bicycle at {exact}")

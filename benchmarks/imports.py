"""Figures of beginnings, each in processes of their own: how long packages take to import, and how much memory they take; how
long it takes from the file of a model that is new to its first trajectory."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from figure import AtMost, Figure

ROUNDS = 5
PEERS = {
    "SymPy's mechanics": "sympy.physics.mechanics",
    "PyDy": "pydy.system",
    "SymBRiM": "symbrim",
    "opty": "opty",
    "scipy_dae": "scipy_dae.integrate",
    "CasADi": "casadi",
    "Exudyn": "exudyn",
    "MuJoCo": "mujoco",
    "Pinocchio": "pinocchio",
}
PEAK = """
try:
    from pathlib import Path
    peak = [int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
except OSError:
    peak = []
peak = peak[0] / 1024 if peak else float("nan")
"""
CODE = f"""
import time
BEFORE
begin = time.perf_counter()
MODULE
taken = time.perf_counter() - begin
{PEAK}
print(taken, peak)
"""
COMMAND = f"""
import sys
from draisine.cli.main import main
if main(sys.argv[1:]) != 0:
    sys.exit("the run did not come out as it should")
{PEAK}
print(peak, file=sys.stderr)
"""
CART = """
name = "cart_with_pendulum"
gravity = 9.81
bodies.cart = {{ mass = 1.0 }}
bodies.bob = {{ mass = {mass}, center_of_mass = [0, 0, -0.6] }}
joints.slide = {{ kind = "prismatic", parent = "ground", child = "cart", axis = "x" }}
joints.hinge = {{ kind = "revolute", parent = "cart", child = "bob", axis = "y" }}
"""


def figures(peers: bool) -> Iterator[Figure]:
    theirs = {name: module for name, module in PEERS.items() if peers and find_spec(module.partition(".")[0]) is not None}
    beyond, (seconds, memory), *found = _imported(
        ("import numpy", "draisine"), ("", "draisine"), *(("", m) for m in theirs.values())
    )
    yield Figure("import draisine, beyond import numpy", beyond[0], "s", AtMost(0.05))
    yield Figure("memory after import draisine, MiB", memory)
    for name, reported in zip(theirs, found, strict=True):
        yield Figure(f"import draisine, beside {name}", seconds, "s", None, reported[0])
        yield Figure(f"memory after import, MiB, beside {name}", memory, "", None, reported[1])
    yield from _new_models()


def _new_models() -> Iterator[Figure]:
    """From its file to 5 s of its motion, by the command line; the loops are compiled already, as `make setup` leaves them."""
    subprocess.run([sys.executable, "-m", "draisine", "warm"], check=True, capture_output=True)
    first: list[tuple[float, float]] = []
    later: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            path = Path(folder) / "cart.toml"
            path.write_text(CART.format(mass=random.uniform(0.1, 1.0)), encoding="utf-8")
            for reported in (first, later):
                reported.append(_commanded("simulate", str(path), "--hinge", "0.5"))
    for what, reported in {"a new model, from its file to a trajectory": first, "the same in a later process": later}.items():
        yield Figure(what, statistics.median(t[0] for t in reported), "s")
        yield Figure(f"{what}: most memory", statistics.median(t[1] for t in reported), "MiB")


def _commanded(*arguments: str) -> tuple[float, float]:
    """Seconds of a whole process, and its most memory in MiB."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], env=kept, capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, float(done.stderr.split()[-1])


def _imported(*wanted: tuple[str, str]) -> list[tuple[float, float]]:
    """Seconds and MiB of modules, imported after something else; medians over processes, which take turns."""
    reported: list[list[tuple[float, float]]] = [[] for _ in wanted]
    for _ in range(ROUNDS):
        for found, (before, module) in zip(reported, wanted, strict=True):
            code = CODE.replace("BEFORE", before).replace("MODULE", f"import {module}")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            taken, peak = done.stdout.split()
            found.append((float(taken), float(peak)))
    return [(statistics.median(t[0] for t in found), statistics.median(t[1] for t in found)) for found in reported]

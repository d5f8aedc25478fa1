"""Figures of beginnings: how long packages take to import, and how much memory they take, each in processes of their own."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from figure import AtMost, Figure

ROUNDS = 7
PEERS = {
    "SymPy's mechanics": "sympy.physics.mechanics",
    "CasADi": "casadi",
    "Exudyn": "exudyn",
    "MuJoCo": "mujoco",
    "Pinocchio": "pinocchio",
}
CODE = """
import time
BEFORE
begin = time.perf_counter()
MODULE
taken = time.perf_counter() - begin
try:
    from pathlib import Path
    peak = [int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
except OSError:
    peak = []
print(taken, peak[0] / 1024 if peak else float("nan"))
"""


def figures(peers: bool) -> Iterator[Figure]:
    beyond, ours = _imported("draisine", before="import numpy"), _imported("draisine")
    yield Figure("import draisine, beyond import numpy", beyond[0], "s", AtMost(0.05))
    yield Figure("memory after import draisine, MiB", ours[1])
    for name, module in PEERS.items():
        if peers and find_spec(module.partition(".")[0]) is not None:
            theirs = _imported(module)
            yield Figure(f"import draisine, beside {name}", ours[0], "s", None, theirs[0])
            yield Figure(f"memory after import, MiB, beside {name}", ours[1], "", None, theirs[1])


def _imported(module: str, before: str = "") -> tuple[float, float]:
    """Seconds and MiB, medians over processes."""
    code = CODE.replace("BEFORE", before).replace("MODULE", f"import {module}")
    told = []
    for _ in range(ROUNDS):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        told.append([float(word) for word in done.stdout.split()])
    return statistics.median(t[0] for t in told), statistics.median(t[1] for t in told)

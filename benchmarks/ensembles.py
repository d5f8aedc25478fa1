"""Figures of ensembles: bicycles per second against single runs, and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import draisine as dr
from draisine.simulation import StartProblem, consistent_start, integrate, prepare
from figure import AtLeast, AtMost, Figure

UNTIL, METHOD = 5.0, dr.DOP853(rtol=1e-6, atol=1e-6)
SINGLE, MANY = 200, 16384
KNOCKS = {"roll_rate": dr.Uniform(-0.5, 0.5), "speed": dr.Uniform(4.5, 6.0)}

MEMORY = """
from pathlib import Path
import draisine as dr
knocks = {"roll_rate": dr.Uniform(-0.5, 0.5), "speed": dr.Uniform(4.5, 6.0)}
dr.ensemble(dr.gallery.bicycle(), samples=knocks, runs=RUNS, until=5.0, outputs=["lean", "steer"], tolerance=1e-6)
# the peak since this program began; what getrusage tells includes the parent's before it
(peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak.split()[1]) / 1024)
"""


def figures(rounds: int = 3) -> Iterator[Figure]:
    """Interleaved: single runs on one core, then the ensemble on all of them."""
    bike = dr.gallery.bicycle()
    drawn = _ensemble(bike, SINGLE, 1)
    agreed = _check(bike, drawn)
    stepped, whole, together, alone = [], [], [], []
    for _ in range(rounds):
        seconds, starts = _single_runs(bike, drawn)
        stepped.append(SINGLE / seconds)
        whole.append(SINGLE / (seconds + starts))
        together.append(_rate(_ensemble(bike, MANY, None)))
        alone.append(_rate(_ensemble(bike, MANY, 1)))
    rate, one = float(np.median(together)), float(np.median(alone))
    yield Figure(
        "bicycles × 5 s at 1e-6: ensemble against single runs, largest difference of the lean", agreed, "rad", AtMost(1e-8)
    )
    yield Figure("the same, runs per second on all cores", rate)
    yield Figure("the same, runs per second on one core", one)
    yield Figure(
        "throughput against one-at-a-time compiled runs on one core, starts counted",
        rate / float(np.median(whole)),
        "",
        AtLeast(4),
    )
    yield Figure("the same, starts of the single runs not counted", rate / float(np.median(stepped)))
    for runs in (4_096, 32_768):
        code = MEMORY.replace("RUNS", str(runs))
        if not Path("/proc/self/status").exists():
            continue
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        yield Figure(f"memory of a process with {runs:,} bicycles, MiB", float(done.stdout), "", AtMost(1024))


def _ensemble(bike: dr.Model, runs: int, threads: int | None) -> dr.Ensemble:
    return dr.ensemble(bike, samples=KNOCKS, runs=runs, until=UNTIL, outputs=["lean", "steer"], method=METHOD, threads=threads)


def _rate(found: dr.Ensemble) -> float:
    return len(found) / found.seconds


def _single_runs(bike: dr.Model, drawn: dr.Ensemble) -> tuple[float, float]:
    """Seconds of stepping, and of starts, one run after the other, everything compiled beforehand."""
    equations = dr.derive(bike)
    choices, problem = prepare(equations), StartProblem(equations)
    samples = np.array([0.0, UNTIL])
    begin = consistent_start(problem, {name: float(drawn[name][0]) for name in KNOCKS})
    integrate(choices, begin.x, UNTIL, method=METHOD, samples=samples)
    stepping = starting = 0.0
    for k in range(SINGLE):
        now = time.perf_counter()
        begin = consistent_start(problem, {name: float(drawn[name][k]) for name in KNOCKS})
        then = time.perf_counter()
        integrate(choices, begin.x, UNTIL, method=METHOD, samples=samples)
        starting, stepping = starting + then - now, stepping + time.perf_counter() - then
    return stepping, starting


def _check(bike: dr.Model, drawn: dr.Ensemble) -> float:
    """The answers agree before they are timed."""
    worst = 0.0
    for k in range(0, SINGLE, 20):
        run = dr.simulate(bike, UNTIL, start={name: float(drawn[name][k]) for name in KNOCKS}, method=METHOD)
        worst = max(worst, abs(float(run["lean"][-1]) - float(drawn["lean.end"][k])))
    return worst

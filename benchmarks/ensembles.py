"""Figures of ensembles: bicycles per second against single runs, and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import draisine as dr
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.ensemble.result import Ensemble
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.run import integrate
from figure import AtLeast, AtMost, Figure
from peers import pydy_bicycle
from peers.pydy_bicycle import Peer

UNTIL, METHOD = 5.0, dr.methods.DOP853(rtol=1e-6, atol=1e-6)
SINGLE, MANY = 200, 16_384
ALL = 100_000  # of the figure asked for; its memory is that of a process of its own
KNOCKS = {"roll_rate": dr.distributions.Uniform(-0.5, 0.5), "speed": dr.distributions.Uniform(4.5, 6.0)}

MEMORY = """
from pathlib import Path
import draisine as dr
knocks = {"roll_rate": dr.distributions.Uniform(-0.5, 0.5), "speed": dr.distributions.Uniform(4.5, 6.0)}
found = dr.ensemble(dr.gallery.bicycle(), 5.0, cases=knocks, runs=RUNS, outputs=["lean", "steer"], tolerance=1e-6)
# the peak since this program began; what getrusage reports includes the parent's before it
(peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak.split()[1]) / 1024, found.seconds)
"""


def figures(peer: Peer | None = None, quickest: Peer | None = None, rounds: int = 3) -> Iterator[Figure]:
    """Interleaved: single runs on one core, the peers', then the ensemble on all of them."""
    bike = dr.gallery.bicycle()
    drawn = _ensemble(bike, SINGLE, 1)
    agreed = _check(bike, drawn)
    stepped, whole, together, alone = [], [], [], []
    theirs: dict[str, list[tuple[float, float]]] = {}
    peers = {"as it comes": peer, "solving by Cramer's rule": quickest}
    for _ in range(rounds):
        seconds, starts = _single_runs(bike, drawn)
        stepped.append(SINGLE / seconds)
        whole.append(SINGLE / (seconds + starts))
        for name, one in peers.items():
            if one is not None:
                theirs.setdefault(name, []).append(pydy_rates(one, drawn))
        together.append(_rate(_ensemble(bike, MANY, None)))
        alone.append(_rate(_ensemble(bike, MANY, 1)))
    rate, single = float(np.median(together)), float(np.median(alone))
    yield Figure(
        "bicycles × 5 s at 1e-6: ensemble against single runs, largest difference of the lean", agreed, "rad", AtMost(1e-8)
    )
    yield Figure("the same, runs per second on all cores", rate)
    yield Figure("the same, runs per second on one core", single)
    yield Figure(
        "throughput against one-at-a-time compiled runs on one core, starts counted",
        rate / float(np.median(whole)),
        "",
        AtLeast(4),
    )
    yield Figure("the same, starts of the single runs not counted", rate / float(np.median(stepped)))
    for name, rates in theirs.items():
        target = AtLeast(100) if name == "as it comes" else None
        from_targets, from_starts = np.median(rates, axis=0)
        yield Figure(f"throughput against PyDy/Cython {name} and odeint, starts counted", rate / from_targets, "", target)
        yield Figure("the same, its starts not counted", rate / from_starts)
    for runs in (4_096, ALL):
        code = MEMORY.replace("RUNS", str(runs))
        if not Path("/proc/self/status").exists():
            continue
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        memory, seconds = (float(word) for word in done.stdout.split())
        yield Figure(f"memory of a process with {runs:,} bicycles, MiB", memory, "", AtMost(1024))
        yield Figure(f"{runs:,} bicycles × 5 s at 1e-6, in a process of their own", seconds, "s")


def _ensemble(bike: dr.Model, runs: int, threads: int | None) -> Ensemble:
    return dr.ensemble(bike, UNTIL, cases=KNOCKS, runs=runs, outputs=["lean", "steer"], method=METHOD, threads=threads)


def _rate(found: Ensemble) -> float:
    return len(found) / found.seconds


def _single_runs(bike: dr.Model, drawn: Ensemble) -> tuple[float, float]:
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


def pydy_rates(peer: Peer, drawn: Ensemble, count: int = 20) -> tuple[float, float]:
    """Runs per second of PyDy's right-hand side with `odeint` at the same tolerances and from the same starts: whole, and these
    not counted."""
    from scipy.integrate import odeint

    begin = time.perf_counter()
    starts = [
        pydy_bicycle.consistent(peer, float(drawn["speed"][k]), lean_rate=float(drawn["roll_rate"][k])) for k in range(count)
    ]
    middle = time.perf_counter()
    for start in starts:
        odeint(peer.rhs, start, [0.0, UNTIL], args=(peer.constants,), rtol=METHOD.rtol, atol=METHOD.atol)
    end = time.perf_counter()
    return count / (end - begin), count / (end - middle)


def _check(bike: dr.Model, drawn: Ensemble) -> float:
    """The answers agree before they are timed."""
    worst = 0.0
    for k in range(0, SINGLE, 20):
        run = dr.simulate(bike, UNTIL, start={name: float(drawn[name][k]) for name in KNOCKS}, method=METHOD)
        worst = max(worst, abs(float(run["lean"][-1]) - float(drawn["lean.end"][k])))
    return worst

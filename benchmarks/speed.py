"""Figures of speed, ours beside PyDy's. The two take turns, so that both meet the same load; times are medians."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import draisine as dr
from draisine.kernels import compile
from draisine.simulation import consistent_start, integrate, prepare
from figure import AtLeast, AtMost, Faster, Figure
from peers import pydy_bicycle
from peers.pydy_bicycle import Peer

FREE_RUN = {"speed": 4.6, "roll_rate": 0.5}
METHOD = dr.DOP853(rtol=1e-8, atol=1e-8)
HERE = Path(__file__).parent

Clock = Callable[[], float]  # does a piece of work and tells its seconds


def figures(peer: Peer | None, quickest: Peer | None) -> Iterator[Figure]:
    """`peer` is PyDy as it comes; `quickest` has its fastest setting that works on this bicycle, told for information."""
    equations = dr.derive(dr.gallery.model("bicycle"))

    ours, theirs = medians(3, derivation, pydy_bicycle.time_derivation if peer else None)
    yield Figure("derive and compile the bicycle", ours, "s", Faster(25), theirs)

    yield Figure("state derivative: operations", equations.dynamics.operations, "", AtMost(1500))
    clocks = [pydy_bicycle.evaluation(p) if p else None for p in (peer, quickest)]
    ours, theirs, best = medians(40, evaluation(equations), *clocks, running=5)
    yield Figure("state derivative", ours, "s", AtMost(0.35e-6))
    yield Figure("state derivative, beside PyDy", ours, "s", Faster(40), theirs)
    yield Figure("state derivative, beside PyDy solving by Cramer's rule", ours, "s", None, best)

    clocks = [pydy_bicycle.integration(p) if p else None for p in (peer, quickest)]
    # The figure asked for is the compiled call, adaptive stepping included; the whole call from Python stands beside it.
    ours, whole, theirs, best = medians(12, stepping(equations), integration(equations), *clocks, running=12)
    yield Figure("5 s of free run at 1e-8, compiled call, beside PyDy and odeint", ours, "s", Faster(20), theirs)
    yield Figure("5 s of free run at 1e-8, compiled call, beside PyDy solving by Cramer's rule", ours, "s", None, best)
    yield Figure("5 s of free run at 1e-8, compiled call: times real time", 5.0 / ours, "", AtLeast(10_000))
    yield Figure("5 s of free run at 1e-8, whole call from Python, beside PyDy and odeint", whole, "s", None, theirs)

    yield Figure("simulate as a whole, 5 s, trajectory included", median(50, whole_simulation()), "s", AtMost(10e-3))
    yield Figure("draisine --help", median(9, command("--help")), "s", AtMost(0.3))
    warm = command("simulate", "bicycle", "--speed", "4.6", "--roll-rate", "0.5", "--until", "5")
    yield Figure("draisine simulate bicycle --until 5, warm", median(9, warm), "s", AtMost(1.5))


# ------------------------------------------------------------------------------------------------ clocks


def clock(action: Callable[[], object]) -> Clock:
    """The seconds of an action. It is called once beforehand: what is done only the first time is not counted."""

    def seconds() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    action()
    return seconds


def median(repetitions: int, seconds: Clock) -> float:
    return statistics.median(seconds() for _ in range(repetitions))


def medians(turns: int, *clocks: Clock | None, running: int = 1) -> list[float]:
    """Medians of several clocks that take turns; NaN for a clock that is not there.

    In its turn a clock is read `running` times, so that a short piece of work is met with its caches warm, as in use.
    """
    read: list[list[float]] = [[] for _ in clocks]
    for _ in range(turns):
        for seconds, times in zip(clocks, read, strict=True):
            times += [seconds() if seconds else math.nan for _ in range(running)]
    return [statistics.median(times) for times in read]


# ------------------------------------------------------------------------------------------------ ours


def derivation(*arguments: str) -> float:
    """Derive and compile in a new process with an empty cache; importing is not counted, here as with the peer."""
    with tempfile.TemporaryDirectory() as empty:
        surroundings = {**os.environ, "DRAISINE_CACHE_DIR": empty}
        told = subprocess.run(
            [sys.executable, str(HERE / "cold.py"), *arguments], env=surroundings, capture_output=True, text=True, check=True
        )
    return float(told.stdout)


def evaluation(equations: dr.Equations) -> Clock:
    """One state derivative of the bicycle's free run."""
    return evaluation_of(equations, FREE_RUN, 5.0)


def evaluation_of(equations: dr.Equations, start: dict[str, float], until: float, states: int = 2000) -> Clock:
    """One state derivative, averaged by a compiled loop over states along a run, one call per state."""
    kernel = compile(equations.dynamics)
    run = integrate(prepare(equations), consistent_start(equations, start).x, until, samples=np.linspace(0.0, until, states))
    along = np.concatenate([segment.states for segment in run.segments])
    whole = clock(partial(kernel.map, 0.0, along, np.zeros(len(equations.inputs)), equations.default_parameters))
    return lambda: whole() / len(along)


def integration(equations: dr.Equations) -> Clock:
    """The integrate call: adaptive stepping from a consistent start to the end, on compiled kernels."""
    choices, start = prepare(equations), consistent_start(equations, FREE_RUN).x
    return clock(partial(integrate, choices, start, 5.0, method=METHOD, samples=np.array([0.0, 5.0])))


def stepping(equations: dr.Equations) -> Clock:
    """The part of the integrate call that is spent in the compiled loop, without setting up its memory."""
    choices, start = prepare(equations), consistent_start(equations, FREE_RUN).x
    return lambda: integrate(choices, start, 5.0, method=METHOD, samples=np.array([0.0, 5.0])).seconds["integrate"]


def whole_simulation() -> Clock:
    """`dr.simulate` of a model that was compiled before: consistent start, run, 501 samples of everything named."""
    model = dr.gallery.model("bicycle")
    return clock(lambda: dr.simulate(model, 5.0, start=FREE_RUN, method=METHOD))


def command(*arguments: str) -> Clock:
    """The command line in a new process, everything included."""
    return clock(partial(subprocess.run, [sys.executable, "-m", "draisine", *arguments], check=True, capture_output=True))

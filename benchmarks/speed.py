"""Figures of speed, ours beside PyDy's in one run. Times are medians."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import draisine as dr
from draisine.kernels import compile
from draisine.simulation import consistent_start, integrate, prepare
from figure import AtLeast, AtMost, Faster, Figure

FREE_RUN = {"speed": 4.6, "roll_rate": 0.5}
HERE = Path(__file__).parent


@dataclass(frozen=True)
class PeerTimes:
    """Seconds of PyDy, None where it is not installed."""

    derivation: float | None = None
    evaluation: float | None = None
    fastest_evaluation: float | None = None
    integration: float | None = None


def figures(peer: PeerTimes) -> Iterator[Figure]:
    yield Figure("derive and compile the bicycle", time_derivation(), "s", Faster(25), peer.derivation)
    equations = dr.derive(dr.gallery.model("bicycle"))
    yield Figure("state derivative: operations", equations.dynamics.operations, "", AtMost(1500))
    seconds = time_evaluation(equations)
    yield Figure("state derivative", seconds, "s", AtMost(0.35e-6))
    yield Figure("state derivative, beside PyDy", seconds, "s", Faster(40), peer.evaluation)
    yield Figure(
        "state derivative, beside PyDy solving by Cramer's rule",
        seconds,
        "s",
        None,
        peer.fastest_evaluation,
        "not PyDy's default",
    )
    seconds = time_integration(equations)
    yield Figure("5 s of free run at 1e-8", seconds, "s", Faster(20), peer.integration)
    yield Figure("5 s of free run at 1e-8: times real time", 5.0 / seconds, "", AtLeast(10_000))
    yield Figure("simulate as a whole, 5 s, trajectory included", time_simulate(), "s", AtMost(10e-3))
    yield Figure("draisine --help", time_command("--help"), "s", AtMost(0.3))
    yield Figure(
        "draisine simulate bicycle --until 5, warm", time_command("simulate", "bicycle", "--until", "5"), "s", AtMost(1.5)
    )


# ------------------------------------------------------------------------------------------------ ours


def median(action: Callable[[], object], repetitions: int) -> float:
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def time_derivation(repetitions: int = 7) -> float:
    """In fresh processes with an empty cache; importing is not counted, here as with the peer."""
    seconds = []
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory() as empty:
            told = subprocess.run(
                [sys.executable, str(HERE / "cold.py")],
                env={**os.environ, "DRAISINE_CACHE_DIR": empty},
                capture_output=True,
                text=True,
                check=True,
            )
        seconds.append(float(told.stdout))
    return statistics.median(seconds)


def time_evaluation(equations: dr.Equations, states: int = 2000, repetitions: int = 60) -> float:
    """By a compiled loop over different states of the free run, one call per state."""
    kernel = compile(equations.dynamics)
    run = integrate(prepare(equations), consistent_start(equations, FREE_RUN).x, 5.0, samples=np.linspace(0.0, 5.0, states))
    along = np.concatenate([segment.states for segment in run.segments])
    inputs, parameters = np.zeros(len(equations.inputs)), equations.default_parameters
    return median(lambda: kernel.map(0.0, along, inputs, parameters), repetitions) / len(along)


def time_integration(equations: dr.Equations, repetitions: int = 200) -> float:
    """The integrate call: adaptive stepping from a consistent start to the end, on compiled kernels."""
    choices, start = prepare(equations), consistent_start(equations, FREE_RUN).x
    method = dr.DOP853(rtol=1e-8, atol=1e-8)
    ends = np.array([0.0, 5.0])
    return median(lambda: integrate(choices, start, 5.0, method=method, samples=ends), repetitions)


def time_simulate(repetitions: int = 30) -> float:
    """`dr.simulate` with 501 samples, when the model has been compiled before."""
    bicycle = dr.gallery.model("bicycle")
    method = dr.DOP853(rtol=1e-8, atol=1e-8)

    def run() -> dr.Trajectory:
        return dr.simulate(bicycle, 5.0, start=FREE_RUN, method=method)

    run()
    return median(run, repetitions)


def time_command(*arguments: str, repetitions: int = 9) -> float:
    """The command line in a new process, everything included; the first call, which may fill caches, is not counted."""

    def call() -> None:
        subprocess.run([sys.executable, "-m", "draisine", *arguments], check=True, capture_output=True)

    call()
    return median(call, repetitions)


# ------------------------------------------------------------------------------------------------ the peer


def peer_installed() -> bool:
    return find_spec("pydy") is not None and find_spec("Cython") is not None


def time_peer(say: Callable[[str], None]) -> PeerTimes:
    """PyDy's times, after checking that it computes the same bicycle."""
    from peers import pydy_bicycle

    say("PyDy: derive, generate, compile (three times)")
    derivation = statistics.median(pydy_bicycle.time_derivation() for _ in range(3))
    peer = pydy_bicycle.build()
    errors = pydy_bicycle.check(peer)
    if errors["eigenvalues"] > 1e-8 or errors["energy"] > 1e-6:
        raise SystemExit(f"the peer's bicycle is not the benchmark bicycle: {errors}")
    say("PyDy: evaluate and integrate")
    fastest = pydy_bicycle.build(solver="sympy:CRAMER")
    return PeerTimes(
        derivation,
        pydy_bicycle.time_evaluation(peer),
        pydy_bicycle.time_evaluation(fastest),
        pydy_bicycle.time_integration(peer),
    )

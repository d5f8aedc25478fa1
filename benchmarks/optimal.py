"""Figures of optimal control: a manoeuvre from its statement to a verified solution, beside plain CasADi and opty; and what a
gradient by the adjoint costs, however many controls there are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import draisine as dr
import manoeuvres
from draisine.kernels import compile
from draisine.optimal.adjoint.functional import Functional
from draisine.optimal.posing import posed
from figure import AtMost, Faster, Figure
from peers import casadi_turn

STEPS = 500  # of integration, the same for all
MOST = 10.0  # runs forward that a gradient may cost
NODES = 180


ROUNDS = 3
PATIENCE = 1200.0  # s for the plain transcription


def figures(peers: bool = True) -> Iterator[Figure]:
    yield from _solved(peers)
    yield from _nodes()
    yield from _gradients()


def _solved(peers: bool) -> Iterator[Figure]:
    """From statement to verified solution: in a process and on a machine that see the problem for the first time, and again."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "loop"
        _ours("loop", prepared)
        first, again = _twice("turn", prepared)
        other_first, other_again = _twice("countersteer", prepared)
    what = "π/4 turn of the bicycle, 60 intervals, from statement to verified solution"
    yield Figure(f"{what}, compiled for the first time", first["seconds"], "s", AtMost(10.0))
    if peers:
        scheme, stated = dr.Collocation(intervals=60), manoeuvres.turn(dr.gallery.bicycle())
        plain = casadi_turn.solve(stated, scheme, PATIENCE)
        ended = f"to {plain.objective:.4f} s" if plain.solved else "which ends without a solution"
        yield Figure(f"the same beside plain CasADi, {ended}", first["seconds"], "s", Faster(15), plain.total)
        given = casadi_turn.solve(stated, scheme, PATIENCE, shortened=True)
        yield Figure("the same beside plain CasADi given our choice of states", first["seconds"], "s", None, given.total)
        yield Figure(
            "the same, compiled before, beside plain CasADi given our choice of states", again["seconds"], "s", None, given.total
        )
        best = min(p.objective for p in (plain, given) if p.solved)
        yield Figure("the same: our duration over theirs", first["objective"] / best, "", AtMost(1.001))
    for backend in ("numpy", "cython"):
        peer, why = _opty(backend) if peers else (float("nan"), "peers left out")
        name = f"opty's countersteering on 200 intervals beside opty/{backend}" + (f" ({why})" if why else "")
        yield Figure(f"{name}, compiled for the first time", other_first["seconds"], "s", Faster(1), peer)
        yield Figure(f"{name}, compiled before", other_again["seconds"], "s", Faster(1), peer)


def _twice(what: str, prepared: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Compiled for the first time, and compiled before; the least of some, since others' work on the machine only adds."""
    first, again = [], []
    for k in range(ROUNDS):
        cache = prepared.parent / f"{what}_{k}"
        shutil.copytree(prepared, cache)
        first.append(_ours(what, cache))
        again.append(_ours(what, cache))
    return min(first, key=lambda told: told["seconds"]), min(again, key=lambda told: told["seconds"])


def _ours(what: str, cache: Path) -> dict[str, float]:
    environment = os.environ | {"DRAISINE_CACHE_DIR": str(cache)}
    script = Path(manoeuvres.__file__)
    done = subprocess.run([sys.executable, script, what], capture_output=True, text=True, check=True, env=environment)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _opty(backend: str) -> tuple[float, str]:
    """Seconds of set-up and solving, and why there are none."""
    for module in ("opty", "cyipopt"):
        if find_spec(module) is None:
            return float("nan"), f"left out, {module} is not installed: pip install opty cyipopt"
    script = Path(__file__).parent / "peers" / "opty_countersteer.py"
    least = float("inf")
    for _ in range(ROUNDS if backend == "numpy" else 1):
        done = subprocess.run([sys.executable, script, backend], capture_output=True, text=True, check=False)
        if done.returncode:
            return float("nan"), f"it did not run: {done.stderr.strip().splitlines()[-1][:80]}"
        told = json.loads(done.stdout.splitlines()[-1])
        least = min(least, told["set_up"] + told["solve"])
    return least, ""


def _nodes() -> Iterator[Figure]:
    """Kernels at the nodes of the turn: several nodes at a time on vectors, beside one by one, on one thread."""
    (_,), (phase,) = posed(manoeuvres.turn(dr.gallery.bicycle()), [dr.Collocation(intervals=60)])
    formula, rng = phase.node, np.random.default_rng(1)
    for what, program in (("values", formula.value), ("Jacobian", formula.slope), ("Hessian", formula.bend)):
        given = [rng.uniform(0.1, 0.5, (NODES, slot.size)) for slot in program.inputs]
        kernels = compile(program), compile(program, side_by_side=True)
        seconds = np.full((ROUNDS, 2), np.inf)
        for r in range(ROUNDS):  # in turns: the machine's other work meets both
            seconds[r] = [_best(partial(kernel.map, *given)) for kernel in kernels]
        one_by_one, together = seconds.min(axis=0) / NODES * 1e6
        yield Figure(f"{what} at a node of the π/4 turn, beside one node at a time", together, "µs", None, one_by_one)


def _gradients() -> Iterator[Figure]:
    bike = dr.gallery.bicycle()
    for what, model in (("reduced", bike), ("with multipliers", dr.derive(bike, formulation=dr.Augmented()))):
        for controls in (10, 100, 1000):
            forward, gradient = _gradient(model, controls)
            name = f"bicycle {what}: cost and gradient by {controls:,} torques, duration and start, in forward runs"
            yield Figure(name, gradient / forward, "", AtMost(MOST))
        yield Figure(f"bicycle {what}: cost and gradient, {STEPS} steps of order 8", gradient, "s")


def _gradient(model: dr.Model | dr.Equations, controls: int) -> tuple[float, float]:
    """Seconds of the processor for a run of 1.5 s, and for one with the gradient of its cost by two torques in pieces."""
    pieces = controls // 2
    method = dr.Adjoint(pieces, steps=STEPS // pieces)
    stated = dr.manoeuvre(model).start(speed=8).controls("steer_torque", "pedal_torque")
    stated = stated.minimise(integral="steer_torque**2", final="heading")
    (poser,), (phase,) = posed(stated, [method])
    functional = Functional.of(phase, poser.start, method, ())
    values, p = np.random.default_rng(1).uniform(-1.0, 1.0, (pieces, 2)), poser.p

    def both() -> None:
        motion = functional.run(1.5, values, p)
        assert motion is not None
        functional.slopes(motion, 1.5, values, p, np.zeros(0))

    both()
    return _best(lambda: functional.run(1.5, values, p)), _best(both)


def _best(work: Callable[[], object], rounds: int = 15) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.thread_time()
        work()
        seconds.append(time.thread_time() - start)
    return min(seconds)

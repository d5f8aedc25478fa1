"""Figures of optimal control: a maneuver from its statement to a verified solution, beside plain CasADi and opty; and what a
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
import maneuvers
from draisine.codegen.jit.kernel import compile
from draisine.optimal.adjoint.functional import Functional
from draisine.optimal.phase_builder import build_phases
from figure import AtMost, Faster, Figure
from peers import casadi_turn

STEPS = 500  # of integration, the same for all
MOST = 10.0  # runs forward that a gradient may cost
NODES = 180


ROUNDS = 3
WANTED = Faster(15)  # than plain CasADi, which is stopped when it has taken half as much more, after a minute at least
PATIENCE = 150.0  # s for any peer


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
    what = "π/4 turn of the bicycle on 60 intervals"
    new, kept = f"{what}, compiled for the first time", f"{what}, compiled before"
    yield Figure(f"{new}, from statement to verified solution", first["seconds"], "s", AtMost(10.0))
    if peers:
        patience = min(PATIENCE, max(60.0, 1.5 * WANTED.factor * first["seconds"]))
        plain, given = (
            casadi_turn.solve(
                maneuvers.turn(dr.gallery.bicycle()), dr.optimal.Collocation(intervals=60), patience, shortened=short
            )
            for short in (False, True)
        )
        if best := [one.objective for one in (plain, given) if one.solved]:
            yield Figure(f"{what}: our duration over plain CasADi's", first["objective"] / min(best), "", AtMost(1.001))
        yield _beside(new, "plain CasADi, interpreted", first["seconds"], plain, WANTED)
        yield _beside(new, "plain CasADi given our choice of states", first["seconds"], given)
        yield _beside(kept, "plain CasADi given our choice of states", again["seconds"], given)
    for backend in ("numpy", "cython"):
        peer, stopped, why, duration = _opty(backend) if peers else (float("nan"), False, "peers left out", None)
        name = "opty's countersteering on 200 intervals" + (f" ({why})" if why else "")
        if duration is not None:
            yield Figure(f"{name}: our duration over opty/{backend}'s", other_first["objective"] / duration, "", AtMost(1.001))
        for when, seconds in (("for the first time", other_first["seconds"]), ("before", other_again["seconds"])):
            yield Figure(f"{name}, compiled {when}, beside opty/{backend}", seconds, "s", Faster(1), peer, stopped)


def _beside(what: str, whom: str, ours: float, plain: casadi_turn.Plain, target: Faster | None = None) -> Figure:
    """A peer that ended without a solution took at least as long as it was given, and the row says so."""
    ended = "" if plain.solved else f", no solution within {plain.total:.0f} s and {plain.iterations} iterations"
    return Figure(f"{what}, beside {whom}{ended}", ours, "s", target, plain.total, not plain.solved)


def _twice(what: str, prepared: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Compiled for the first time, and compiled before; the least of some, since others' work on the machine only adds."""
    first, again = [], []
    for k in range(ROUNDS):
        cache = prepared.parent / f"{what}_{k}"
        shutil.copytree(prepared, cache)
        first.append(_ours(what, cache))
        again.append(_ours(what, cache))
    return min(first, key=lambda reported: reported["seconds"]), min(again, key=lambda reported: reported["seconds"])


def _ours(what: str, cache: Path) -> dict[str, float]:
    environment = os.environ | {"DRAISINE_CACHE_DIR": str(cache)}
    script = Path(maneuvers.__file__)
    done = subprocess.run([sys.executable, script, what], capture_output=True, text=True, check=True, env=environment)
    reported: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return reported


def _opty(backend: str) -> tuple[float, bool, str, float | None]:
    """Seconds of set-up and solving, whether it was stopped, why there are none, and the duration of its turn."""
    for module in ("opty", "cyipopt"):
        if find_spec(module) is None:
            return float("nan"), False, f"left out, {module} is not installed: pip install opty cyipopt", None
    script = Path(__file__).parent / "peers" / "opty_countersteer.py"
    taken = []
    for _ in range(ROUNDS if backend == "numpy" else 1):
        began = time.perf_counter()
        try:
            done = subprocess.run([sys.executable, script, backend], capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return time.perf_counter() - began, True, "", None
        if done.returncode:
            return float("nan"), False, f"it did not run: {done.stderr.strip().splitlines()[-1][:80]}", None
        reported = json.loads(done.stdout.splitlines()[-1])
        taken.append(reported["set_up"] + reported["solve"])
    return min(taken), False, "", reported["duration"]


def _nodes() -> Iterator[Figure]:
    """Kernels at the nodes of the turn: several nodes at a time on vectors, beside one by one, on one thread."""
    (_,), (phase,) = build_phases(maneuvers.turn(dr.gallery.bicycle()), [dr.optimal.Collocation(intervals=60)])
    formula, rng = phase.node, np.random.default_rng(1)
    for what, program in (
        ("values", formula.value),
        ("Jacobian", formula.jacobian),
        ("product of the Hessian", formula.hessian_product),
    ):
        given = [rng.uniform(0.1, 0.5, (NODES, slot.size)) for slot in program.inputs]
        kernels = compile(program), compile(program, vectorized=True)
        seconds = np.full((ROUNDS, 2), np.inf)
        for r in range(ROUNDS):  # in turns: the machine's other work meets both
            seconds[r] = [_best(partial(kernel.map, *given)) for kernel in kernels]
        one_by_one, together = seconds.min(axis=0) / NODES * 1e6
        yield Figure(f"{what} at a node of the π/4 turn, beside ourselves, one node at a time", together, "µs", None, one_by_one)


def _gradients() -> Iterator[Figure]:
    bike = dr.gallery.bicycle()
    for what, model in (("reduced", bike), ("with multipliers", dr.derive(bike, formulation=dr.formulations.Augmented()))):
        for controls in (10, 100, 1000):
            forward, gradient = _gradient(model, controls)
            name = f"bicycle {what}: cost and gradient by {controls:,} torques, duration and start, in forward runs"
            yield Figure(name, gradient / forward, "", AtMost(MOST))
        yield Figure(f"bicycle {what}: cost and gradient, {STEPS} steps of order 8", gradient, "s")


def _gradient(model: dr.Model | dr.Equations, controls: int) -> tuple[float, float]:
    """Seconds of the processor for a run of 1.5 s, and for one with the gradient of its cost by two torques in pieces."""
    pieces = controls // 2
    method = dr.optimal.Adjoint(pieces, steps=STEPS // pieces)
    stated = dr.maneuver(model).start(speed=8).controls("steer_torque", "pedal_torque")
    stated = stated.minimize(integral="steer_torque**2", final="heading")
    (poser,), (phase,) = build_phases(stated, [method])
    functional = Functional.of(phase, poser.start, method, ())
    values, p = np.random.default_rng(1).uniform(-1.0, 1.0, (pieces, 2)), poser.p

    def both() -> None:
        motion = functional.run(1.5, values, p)
        assert motion is not None
        functional.gradient(motion, 1.5, values, p, np.zeros(0))

    both()
    return _best(lambda: functional.run(1.5, values, p)), _best(both)


def _best(work: Callable[[], object], rounds: int = 15) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.thread_time()
        work()
        seconds.append(time.thread_time() - start)
    return min(seconds)

"""Figures of linear models: the bicycle about straight riding, and chains of rods about any state, beside peers."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.codegen.jit.jacobian import compile_jacobian
from draisine.simulation.initial.consistent_start import consistent_start
from engines import link_chain, random_states
from figure import AtMost, Faster, Figure
from optimized import called
from peers import casadi_bicycle, rigid_engines
from peers.pydy_bicycle import REFERENCE
from speed import REPEATED, Clock, clock, medians, repeated

HERE = Path(__file__).parent
SPEED = 5.0  # m/s
WANTED = Faster(200)  # than SymPy, which is stopped when it has taken a quarter more than that, after one to four minutes
LINKS = (8, 32)
LATERAL = [3, 5, 8, 9]  # lean, steer and their rates among the states of CasADi's bicycle

OURS = """
import time
import numpy as np
import draisine as dr
assert callable(dr.modes) and callable(dr.gallery.bicycle)
start = time.perf_counter()
dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 200))
print(time.perf_counter() - start)
"""


def figures(peers: bool) -> Iterator[Figure]:
    yield from _bicycle(peers)
    yield from _jacobian(peers)
    if peers and find_spec("pinocchio") is not None:
        for links in LINKS:
            yield from _chain(links)


# ------------------------------------------------------------------------------------------------ the bicycle, from nothing


def _bicycle(peers: bool) -> Iterator[Figure]:
    """Both in new processes, their libraries imported beforehand."""
    found = dr.linearize(dr.gallery.bicycle(), {"speed": SPEED}, states=("lean", "steer")).essential().eigenvalues
    yield Figure("eigenvalues of the bicycle at 5 m/s, from the published ones", _apart(found), "1/s", AtMost(1e-11))
    first, again = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as empty:
            first.append(_table(empty))
            again.append(_table(empty))
    theirs, stopped = float("nan"), False
    if peers:
        theirs, reported = _sympy(min(240.0, max(60.0, 1.25 * WANTED.factor * statistics.median(again))))
        stopped = reported is None
        if reported is not None:
            yield Figure("SymPy's eigenvalues at 5 m/s, from the published ones", _apart(reported), "1/s", AtMost(1e-6))
    what = "from the bicycle's description to eigenvalues at 200 speeds"
    beside = "SymPy's KanesMethod and linearize, at one speed"
    yield Figure(f"{what}, nothing kept from before, beside {beside}", statistics.median(first), "s", None, theirs, stopped)
    yield Figure(f"{what}, kernels kept, beside {beside}", statistics.median(again), "s", WANTED, theirs, stopped)


def _table(cache: str) -> float:
    surroundings = {**os.environ, "DRAISINE_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", OURS], env=surroundings, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _sympy(patience: float) -> tuple[float, NDArray[np.complex128] | None]:
    """Seconds to derive and linearize, and the eigenvalues; None where it was stopped before."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "peers.sympy_linear", str(SPEED)],
            **{"cwd": HERE, "capture_output": True, "text": True, "check": True, "timeout": patience},
        )
    except subprocess.TimeoutExpired:
        return time.perf_counter() - began, None
    reported = json.loads(done.stdout)
    return reported["derive"] + reported["linearize"], np.array([complex(*pair) for pair in reported["eigenvalues"]])


def _apart(found: NDArray[np.complex128]) -> float:
    """The published eigenvalue that is farthest from any of those found."""
    table = json.loads(REFERENCE.read_text(encoding="utf-8"))["eigenvalues"]["table"][f"{SPEED:g}"]
    published = [complex(float(value["re"]), float(value["im"])) for value in table]
    return max(float(np.abs(found - value).min()) for value in published)


# ------------------------------------------------------------------------------------------------ slopes at a state


def _jacobian(peers: bool) -> Iterator[Figure]:
    """The bicycle's ∂ẋ/∂x, called by compiled loops; CasADi's by a loop in C."""
    equations = dr.derive(dr.gallery.model("bicycle"))
    x = consistent_start(equations, {"speed": SPEED}).x
    given = [np.zeros(1), x, np.zeros(len(equations.inputs)), equations.default_parameters]
    kernel = compile_jacobian(equations.dynamics, "xdot", "x")
    clocks: list[Clock | None] = [repeated(kernel.address, given, x.size**2)]
    what = "derivative of the bicycle's state derivative by its state"
    with tempfile.TemporaryDirectory() as folder:
        if peers and casadi_bicycle.available():
            values = dict(zip((q.name for q in equations.parameters), equations.default_parameters.tolist(), strict=True))
            function = casadi_bicycle.jacobian(casadi_bicycle.written(list(values)))
            plain = casadi_bicycle.compiled(function, values, Path(folder))
            state = casadi_bicycle.upright(plain, SPEED, 0.0)
            yield Figure("CasADi's eigenvalues at 5 m/s, from the published ones", _lateral(plain, state), "1/s", AtMost(1e-9))
            clocks.append(clock(partial(plain.many, REPEATED)))
            clocks.append(clock(casadi_bicycle.interpreted(function, state, plain.parameters, REPEATED)))
        ours, *theirs = (seconds / REPEATED for seconds in medians(20, *clocks, running=3))
    for name, seconds in zip(("CasADi's C of a plain model", "CasADi's interpreter of a plain model"), theirs, strict=False):
        yield Figure(f"{what}, beside {name}", ours, "s", None, seconds)
    if not theirs:
        yield Figure(what, ours, "s")


def _lateral(plain: casadi_bicycle.Bicycle, state: NDArray[np.float64]) -> float:
    rows, columns = plain.function.sparsity_out(0).get_triplet()
    matrix = np.zeros((11, 11))
    matrix[rows, columns] = plain(state)
    return _apart(np.linalg.eigvals(matrix[np.ix_(LATERAL, LATERAL)]).astype(complex))


def _chain(links: int) -> Iterator[Figure]:
    """Accelerations of hinged rods by angles and rates, called from Python on both sides."""
    equations = dr.derive(link_chain(links))
    kernel, p, none = compile_jacobian(equations.explicit, "xdot", "x"), equations.default_parameters, np.zeros(0)

    def ours(q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        return kernel(0.0, np.concatenate([q, v]), none, p)[0][links:]

    theirs, states = rigid_engines.pinocchio_jacobian(links), random_states(links)
    apart = _relative([(ours(*state), theirs(*state)) for state in states[:10]])
    called(lambda: ours(*states[0]))
    what = f"chain of {links} rods: accelerations by angles and rates"
    yield Figure(f"{what}, from Pinocchio's, relative", apart, "", AtMost(1e-8))
    mine, other = medians(9, rigid_engines.clock(ours, states), rigid_engines.clock(theirs, states))
    yield Figure(f"{what}, called from Python, beside Pinocchio", mine, "s", None, other)


def _relative(pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> float:
    return max(float(np.abs(a - b).max() / (1 + np.abs(b).max())) for a, b in pairs)

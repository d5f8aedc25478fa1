"""Figures of speed, ours beside PyDy's. The two take turns, so that both meet the same load; times are medians."""

from __future__ import annotations

import ctypes
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.codegen.jit.engine import compile_ir, load_object
from draisine.codegen.jit.jacobian import compile_jacobian
from draisine.codegen.jit.kernel import Kernel, compile, compile_hoisted
from draisine.codegen.simd import compile_vector
from draisine.program.program import Program
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.run import integrate
from figure import AtLeast, AtMost, Faster, Figure
from peers import casadi_bicycle, pydy_bicycle
from peers.pydy_bicycle import Peer

FREE_RUN = {"speed": 4.6, "roll_rate": 0.5}
METHOD = dr.methods.DOP853(rtol=1e-8, atol=1e-8)
HERE = Path(__file__).parent

REPEATED = 500  # calls of a kernel at one state, in one reading of the clock
_LOOP = """
define void @many(ptr %kernel, i64 %n, ptr %arg, ptr %res) nounwind {
start:
  br label %again
again:
  %i = phi i64 [ 0, %start ], [ %next, %again ]
  call void %kernel(ptr %arg, ptr %res)
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %again, label %done
done:
  ret void
}
"""

Clock = Callable[[], float]  # does a piece of work and returns its seconds


def figures(peer: Peer | None, quickest: Peer | None) -> Iterator[Figure]:
    """`peer` is PyDy as it comes; `quickest` has its fastest setting that works on this bicycle, reported for information."""
    equations = dr.derive(dr.gallery.model("bicycle"))

    counts = dr.codegen.operation_counts(equations).final
    yield Figure("state derivative: operations", counts.per_evaluation, "", AtMost(1000))
    yield Figure("state derivative: operations once per run, by parameters alone", counts.per_run)
    sliding = dr.codegen.operation_counts(dr.gallery.model("sliding_bicycle")).final
    yield Figure("bicycle that slides: operations once per evaluation", sliding.per_evaluation)
    yield Figure("bicycle that slides: operations in each round of Newton's method", sliding.per_iteration)
    yield from beside_casadi(equations, peer is not None)
    clocks = [pydy_bicycle.evaluation(p) if p else None for p in (peer, quickest)]
    ours, called, theirs, best = medians(40, evaluation(equations), called_from_python(equations), *clocks, running=5)
    cramer = "PyDy solving by Cramer's rule, called from Python"
    yield Figure("state derivative, nothing hoisted", ours, "s", AtMost(0.35e-6))
    yield Figure("state derivative, beside PyDy, called from Python", ours, "s", Faster(40), theirs)
    yield Figure(f"state derivative, beside {cramer}", ours, "s", None, best)
    yield Figure("state derivative, called from Python, beside PyDy, called from Python", called, "s", None, theirs)
    yield from beyond_the_kernel(equations)
    yield Figure(f"state derivative, called from Python, beside {cramer}", called, "s", None, best)

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
    yield Figure("draisine simulate bicycle --until 5, in a new process", median(9, warm), "s", AtMost(0.6))


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
    return sum(cold(*arguments))


def cold(*arguments: str) -> tuple[float, float]:
    """To derive and to compile in a new process with an empty cache; importing is not counted, here as with the peer."""
    with tempfile.TemporaryDirectory() as empty:
        surroundings = {**os.environ, "DRAISINE_CACHE_DIR": empty}
        reported = subprocess.run(
            [sys.executable, str(HERE / "cold.py"), *arguments], env=surroundings, capture_output=True, text=True, check=True
        )
    derive, compiling = (float(word) for word in reported.stdout.split())
    return derive, compiling


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


def called_from_python(equations: dr.Equations, calls: int = 100) -> Clock:
    """One state derivative when Python calls for each of them, which is how SciPy's solvers would use it."""
    kernel, x = compile(equations.dynamics), consistent_start(equations, FREE_RUN).x
    u, p = np.zeros(len(equations.inputs)), equations.default_parameters

    def all_of_them() -> None:
        for _ in range(calls):
            kernel(0.0, x, u, p)

    whole = clock(all_of_them)
    return lambda: whole() / calls


def beyond_the_kernel(equations: dr.Equations) -> Iterator[Figure]:
    """What a call from Python costs in addition to the kernel: state derivative and Jacobian, new arrays and given ones."""
    x, p = consistent_start(equations, FREE_RUN).x, equations.default_parameters
    given = [np.zeros(1), x, np.zeros(len(equations.inputs)), p]
    jacobian = compile_jacobian(equations.dynamics, "xdot", "x")
    for what, kernel in (("state derivative", compile(equations.dynamics)), ("its Jacobian", jacobian)):
        out = tuple(np.empty(slot.shape if slot.shape[1] > 1 else slot.size, order="F") for slot in kernel.outputs)
        inside = repeated(kernel.address, given, kernel.outputs[0].size)
        clocks = [_calls(kernel, given, None), _calls(kernel, given, out), inside]
        new, filled, alone = (seconds / REPEATED for seconds in medians(40, *clocks, running=5))
        yield Figure(f"call from Python beyond the kernel: {what}", new - alone, "s", AtMost(1.5e-6))
        yield Figure(f"call from Python beyond the kernel: {what} into a given array", filled - alone, "s", AtMost(1.5e-6))


def _calls(kernel: Kernel, given: Sequence[NDArray[np.float64]], out: tuple[NDArray[np.float64], ...] | None) -> Clock:
    t, x, u, p = given

    def run() -> None:
        for _ in range(REPEATED):
            kernel(t, x, u, p, out=out)

    return clock(run)


def beside_casadi(equations: dr.Equations, peers: bool) -> Iterator[Figure]:
    """The kernel of a run and that of several samples, called by compiled loops; beside CasADi's C, called by a loop in C."""
    assert isinstance(equations.dynamics, Program)
    hoisted = compile_hoisted(equations.dynamics)
    x = consistent_start(equations, FREE_RUN).x
    given = [np.zeros(1), x, np.zeros(len(equations.inputs)), hoisted.extended(equations.default_parameters)]
    clocks: list[Clock | None] = [repeated(hoisted.address, given, x.size)]
    wide = compile_vector(equations.dynamics)
    clocks.append(repeated(wide.address, [np.repeat(column, wide.lanes) for column in given], x.size * wide.lanes))
    with tempfile.TemporaryDirectory() as folder:
        plain = None
        if peers and casadi_bicycle.available():
            parameters = dict(zip((q.name for q in equations.parameters), equations.default_parameters.tolist(), strict=True))
            plain = casadi_bicycle.build(parameters, Path(folder))
            yield Figure("free run of 2 s, apart from CasADi's plain model", apart(plain), "rad", AtMost(1e-8))
        clocks.append(None if plain is None else clock(partial(plain.many, REPEATED)))
        clocks.append(None if plain is None else clock(_interpreted(plain)))
        ours, lanes, theirs, interpreted = medians(40, *clocks, running=5)
    yield Figure("state derivative in a run", ours / REPEATED, "s", AtMost(0.2e-6))
    yield Figure(f"state derivative in a run, each of {wide.lanes} lanes", lanes / REPEATED / wide.lanes, "s", AtMost(0.08e-6))
    yield Figure(
        "state derivative in a run, beside CasADi's C of a plain model", ours / REPEATED, "s", Faster(3), theirs / REPEATED
    )
    name = "state derivative in a run, beside CasADi's interpreter of a plain model"
    yield Figure(name, ours / REPEATED, "s", None, interpreted / REPEATED)


def _interpreted(plain: casadi_bicycle.Bicycle) -> Callable[[], object]:
    """The same function in CasADi's own loop and interpreter, which must give what the C gives."""
    state = casadi_bicycle.upright(plain, FREE_RUN["speed"], FREE_RUN["roll_rate"])
    run = casadi_bicycle.interpreted(plain.function, state, plain.parameters, REPEATED)
    if not np.allclose(run()[-1], plain(state), rtol=1e-12, atol=1e-12):
        raise RuntimeError("CasADi's interpreter and its C disagree")
    return run


def apart(plain: casadi_bicycle.Bicycle) -> float:
    """By how much lean and steer differ after two seconds of free run."""
    end = casadi_bicycle.free_run(plain, casadi_bicycle.upright(plain, FREE_RUN["speed"], FREE_RUN["roll_rate"]), 2.0)
    ours = dr.simulate(dr.gallery.model("bicycle"), 2.0, start=FREE_RUN, method=dr.methods.DOP853(rtol=1e-11, atol=1e-11)).final
    places = {name: casadi_bicycle.COORDINATES.index(name) for name in ("lean", "steer")}
    return max(abs(float(ours[name]) - float(end[place])) for name, place in places.items())


def repeated(address: int, arguments: Sequence[NDArray[np.float64]], results: int) -> Clock:
    """A kernel called `REPEATED` times at one state by a compiled loop."""
    taken = np.zeros(results)
    loop = load_object(compile_ir(_LOOP), "many")
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(loop.address)
    pointers = (ctypes.c_void_p * len(arguments))(*[a.ctypes.data for a in arguments]), (ctypes.c_void_p * 1)(taken.ctypes.data)

    def run(kept: object = (arguments, taken, loop)) -> None:
        function(address, REPEATED, *(ctypes.addressof(table) for table in pointers))

    return clock(run)


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
    return _process("-m", "draisine", *arguments)


def _process(*arguments: str) -> Clock:
    """A new process of Python, which finds its modules compiled as an installed package does."""
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = partial(subprocess.run, [sys.executable, *arguments], check=True, capture_output=True, env=surroundings)
    return clock(run)

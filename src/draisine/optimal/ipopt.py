"""IPOPT through CasADi, with values and exact sparse derivatives given by callbacks over all nodes at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.optimal.nlp import SparseNLP

Reals = NDArray[np.float64]
Progress = Callable[[int, float, float], None]

# who watches searches that were started without a progress of their own, within `watched`
_WATCHING: ContextVar[Progress | None] = ContextVar("watching", default=None)

FEASIBLE = 1e-6  # scaled violation below which an iterate counts as feasible


class Outcome(StrEnum):
    """How a search ended."""

    SOLVED = "SOLVED"
    ACCEPTABLE = "ACCEPTABLE"  # solved, to a milder tolerance
    INFEASIBLE = "INFEASIBLE"  # near here the conditions contradict each other
    TOO_MANY_ITERATIONS = "TOO_MANY_ITERATIONS"
    INTERRUPTED = "INTERRUPTED"  # the best so far is kept
    FAILED = "FAILED"


_OUTCOMES = {
    "Solve_Succeeded": Outcome.SOLVED,
    "Feasible_Point_Found": Outcome.SOLVED,
    "Solved_To_Acceptable_Level": Outcome.ACCEPTABLE,
    "Infeasible_Problem_Detected": Outcome.INFEASIBLE,
    "Maximum_Iterations_Exceeded": Outcome.TOO_MANY_ITERATIONS,
    "Maximum_CpuTime_Exceeded": Outcome.TOO_MANY_ITERATIONS,
    "Maximum_WallTime_Exceeded": Outcome.TOO_MANY_ITERATIONS,
    "User_Requested_Stop": Outcome.INTERRUPTED,
}


@dataclass(frozen=True)
class Ipopt:
    """`tolerance` of the scaled optimality conditions; `options` are handed to IPOPT as they are.

    With `warm` an earlier solution on the same mesh, given as guess, lends its multipliers too: quicker where little has changed.
    """

    tolerance: float = 1e-8
    iterations: int = 1000
    warm: bool = False
    options: Mapping[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Answer:
    """A point, its multipliers in the problem's own units, and how good it is."""

    w: Reals
    row_multipliers: Reals
    bound_multipliers: Reals
    objective: float
    outcome: Outcome
    said: str  # IPOPT's own word
    iterations: int
    violation: float  # the largest, scaled
    stationarity: float  # the largest entry of the scaled gradient of the Lagrangian
    seconds: Mapping[str, float]


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Searches in this block that have no progress of their own are told to this one."""
    token = _WATCHING.set(progress)
    try:
        yield
    finally:
        _WATCHING.reset(token)


def watching(progress: Progress | None) -> Progress | None:
    """The progress given, or that of the block which is watched."""
    return progress or _WATCHING.get()


@contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls `stop` instead of breaking off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def solve_sparse_nlp(
    large: SparseNLP, guess: Reals, solver: Ipopt, progress: Progress | None = None, earlier: Answer | None = None
) -> Answer:
    """The nearest minimum. `earlier` gives multipliers to begin with."""
    began = time.perf_counter()
    search = Search(large, solver, earlier is not None, progress)
    ready = time.perf_counter()
    answer = search(guess, earlier)
    return replace(answer, seconds={**answer.seconds, "prepare": ready - began})


class Search:
    """IPOPT made ready for one large problem, whose bounds may change from call to call; with `warm` it begins near the guess."""

    def __init__(self, large: SparseNLP, solver: Ipopt, warm: bool = False, progress: Progress | None = None) -> None:
        self._large = large
        self._calls = _Calls(large, progress)
        self._made = ca.nlpsol("maneuver", "ipopt", self._calls.problem, self._calls.options(solver, warm))

    def __call__(self, guess: Reals, earlier: Answer | None = None) -> Answer:
        """The nearest minimum. `earlier` gives multipliers to begin with."""
        large, calls = self._large, self._calls
        scale, rows = large.scale, large.row_scale
        given: dict[str, Any] = {
            "x0": guess / scale,
            "lbx": large.low / scale,
            "ubx": large.high / scale,
            "lbg": large.row_low / rows,
            "ubg": large.row_high / rows,
        }
        if earlier is not None:
            given |= {"lam_x0": earlier.bound_multipliers * scale, "lam_g0": earlier.row_multipliers * rows}
        began = time.perf_counter()
        calls.begin()
        with interruptible(calls.stop):
            found = self._made(**given)
        stats = self._made.stats()
        said = str(stats["return_status"])
        outcome = _OUTCOMES.get(said, Outcome.FAILED)
        x, lam_g, lam_x = (np.array(found[name].full()).ravel() for name in ("x", "lam_g", "lam_x"))
        if outcome not in (Outcome.SOLVED, Outcome.ACCEPTABLE) and calls.best is not None:
            x, lam_g, lam_x = calls.best[2]
        seconds = {"solve": time.perf_counter() - began, "evaluate": calls.seconds}
        violation, stationarity, objective = calls.quality(x, lam_g, lam_x)
        return Answer(
            x * scale,
            lam_g / rows,
            lam_x / scale,
            objective,
            outcome,
            said,
            int(stats["iter_count"]),
            violation,
            stationarity,
            seconds,
        )


class _Calls:
    """The functions that IPOPT calls, in scaled unknowns and rows."""

    def __init__(self, large: SparseNLP, progress: Progress | None) -> None:
        self._large, self._progress = large, watching(progress)
        self.begin()
        n, m = large.unknowns, large.rows
        row, column = large.slope_places
        self._slope_scale = large.scale[column] / large.row_scale[row]
        self._slope_pattern = ca.Sparsity(m, n, _starts(column, n), row.tolist())
        one, other = large.bend_places
        self._bend_scale = large.scale[one] * large.scale[other]
        self._bend_pattern = ca.Sparsity(n, n, _starts(other, n), one.tolist())
        dense = ca.Sparsity.dense
        self._in = [("x", dense(n, 1)), ("p", dense(0, 1))]
        self.problem = _Call("nlp", self._in, [("f", dense(1, 1)), ("g", dense(m, 1))], self._timed(self._values))
        self._gradient = _Call(
            "nlp_grad_f", self._in, [("f", dense(1, 1)), ("grad_f_x", dense(n, 1))], self._timed(self._gradients)
        )
        self._jacobian = _Call(
            "nlp_jac_g", self._in, [("g", dense(m, 1)), ("jac_g_x", self._slope_pattern)], self._timed(self._jacobian_entries)
        )
        weights = [("lam_f", dense(1, 1)), ("lam_g", dense(m, 1))]
        self._hessian = _Call(
            "nlp_hess_l", [*self._in, *weights], [("triu_hess_gamma_x_x", self._bend_pattern)], self._timed(self._hessian_entries)
        )
        outs = [("x", dense(n, 1)), ("f", dense(1, 1)), ("g", dense(m, 1))]
        outs += [("lam_x", dense(n, 1)), ("lam_g", dense(m, 1)), ("lam_p", dense(0, 1))]
        self._watch = _Call("watch", outs, [("ret", dense(1, 1))], self._look)
        self._last: tuple[bytes, tuple[Reals, Reals]] | None = None

    def begin(self) -> None:
        """Forget the search before."""
        self._stop = False
        self._seen = 0
        self.seconds = 0.0
        self.best: tuple[float, float, tuple[Reals, Reals, Reals]] | None = None

    def options(self, solver: Ipopt, warm: bool) -> dict[str, Any]:
        own: dict[str, Any] = {"tol": solver.tolerance, "max_iter": solver.iterations, "print_level": 0, "sb": "yes"}
        # MUMPS' own choice permutes columns, delays many pivots in these matrices and miscounts their signs: up to a hundred
        # times slower, with needless regularization
        own |= {"mumps_permuting_scaling": 0, "mumps_scaling": 7}
        if warm:
            own |= {
                "warm_start_init_point": "yes",
                "mu_init": 1e-4,
                "warm_start_bound_push": 1e-6,
                "warm_start_mult_bound_push": 1e-6,
            }
        own |= dict(solver.options)
        return {
            "grad_f": self._gradient,
            "jac_g": self._jacobian,
            "hess_lag": self._hessian,
            "iteration_callback": self._watch,
            "no_nlp_grad": True,
            "calc_lam_p": False,
            "print_time": False,
            "show_eval_warnings": False,
            "error_on_fail": False,
            **{f"ipopt.{name}": value for name, value in own.items()},
        }

    # ---------------------------------------------------------------- what is called

    def _timed(self, function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def call(*arguments: Reals) -> list[Any]:
            began = time.perf_counter()
            result = function(*arguments)
            self.seconds += time.perf_counter() - began
            return result

        return call

    def _values(self, x: Reals, p: Reals) -> list[Any]:
        objective, rows = self._large.values(x * self._large.scale)
        return [objective, rows / self._large.row_scale]

    def _first(self, x: Reals) -> tuple[Reals, Reals]:
        """Gradient and Jacobian together: IPOPT asks for both at one point."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            gradient, entries = self._large.jacobian(x * self._large.scale)
            self._last = key, (gradient * self._large.scale, entries * self._slope_scale)
        return self._last[1]

    def _gradients(self, x: Reals, p: Reals) -> list[Any]:
        return [0.0, self._first(x)[0]]

    def _jacobian_entries(self, x: Reals, p: Reals) -> list[Any]:
        return [0.0, self._first(x)[1]]

    def _hessian_entries(self, x: Reals, p: Reals, factor: Reals, multipliers: Reals) -> list[Any]:
        entries = self._large.hessian(x * self._large.scale, float(factor[0]), multipliers / self._large.row_scale)
        return [entries * self._bend_scale]

    # ---------------------------------------------------------------- watching

    def _look(self, *arguments: Reals) -> list[Any]:
        x, f, g, lam_x, lam_g, _ = (a.copy() for a in arguments)
        violation = self._violation(x, g)
        rank = (max(violation, FEASIBLE), float(f[0]))
        if self.best is None or rank < self.best[:2]:
            self.best = (*rank, (x, lam_g, lam_x))
        if self._progress is not None:
            try:
                self._progress(self._seen, float(f[0]), violation)
            except KeyboardInterrupt:
                self._stop = True
        self._seen += 1
        return [1.0 if self._stop else 0.0]

    def _violation(self, x: Reals, g: Reals) -> float:
        large = self._large
        low, high = large.row_low / large.row_scale, large.row_high / large.row_scale
        over = np.maximum(np.maximum(low - g, g - high), 0.0)
        beyond = np.maximum(np.maximum(large.low - x * large.scale, x * large.scale - large.high), 0.0) / large.scale
        return float(max(over.max(initial=0.0), beyond.max(initial=0.0)))

    def quality(self, x: Reals, lam_g: Reals, lam_x: Reals) -> tuple[float, float, float]:
        """Violation, stationarity and objective."""
        objective, rows = self._values(x, np.zeros(0))
        gradient, entries = self._first(x)
        row, column = self._large.slope_places
        lagrangian = gradient + lam_x + np.bincount(column, weights=entries * lam_g[row], minlength=len(x))
        fixed = self._large.low == self._large.high
        stationarity = np.abs(np.where(fixed, 0.0, lagrangian)).max(initial=0.0)
        return self._violation(x, rows), float(stationarity), float(objective)

    def stop(self) -> None:
        """End the search after the iteration under way."""
        self._stop = True


class _Call(ca.Callback):
    """A Python function with names and sparsities, as CasADi's."""

    def __init__(
        self,
        name: str,
        ins: Sequence[tuple[str, ca.Sparsity]],
        outs: Sequence[tuple[str, ca.Sparsity]],
        call: Callable[..., list[Any]],
    ) -> None:
        ca.Callback.__init__(self)
        self._ins, self._outs, self._call = ins, outs, call
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._ins)

    def get_n_out(self) -> int:
        return len(self._outs)

    def get_name_in(self, i: int) -> str:
        return self._ins[i][0]

    def get_name_out(self, i: int) -> str:
        return self._outs[i][0]

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return self._ins[i][1]

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return self._outs[i][1]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arguments: Sequence[Any], results: Sequence[Any]) -> int:
        """Numbers in and out in CasADi's own memory; results are the entries that are not structurally zero."""
        given = [np.zeros(0) if a is None else np.frombuffer(a, dtype=np.float64) for a in arguments]
        for place, value in zip(results, self._call(*given), strict=True):
            if place is not None:
                np.frombuffer(place, dtype=np.float64)[:] = value
        return 0


def _starts(columns: NDArray[np.int64], n: int) -> list[int]:
    return np.searchsorted(columns, np.arange(n + 1)).tolist()

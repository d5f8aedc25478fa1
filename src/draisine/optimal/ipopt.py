"""IPOPT through CasADi, with callbacks that evaluate values and exact sparse derivatives at all nodes at once."""

from __future__ import annotations

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

from draisine.numerics.number_range import with_number_range
from draisine.optimal.interruption import interruptible
from draisine.optimal.nlp import SparseNLP
from draisine.results.status import Progress, ProgressCallback

Reals = NDArray[np.float64]

# progress callback of solves without their own, set by `default_progress`
_PROGRESS: ContextVar[ProgressCallback | None] = ContextVar("progress", default=None)

SUFFICIENT = 1e-8  # residuals of the optimality conditions at a solution
FEASIBLE = 1e-6  # scaled violation below which an iterate counts as feasible
NEARLY_FEASIBLE = 1e-3
UNBOUNDED_COST = -1e10  # of a nearly feasible iterate, scaled
HOPELESS_COST = -1e13  # the search ends there: IPOPT itself goes on to 1e20, which rounding keeps iterates from
FAR, PATIENCE_AFAR = 1e6, 60  # scaled cost or unknown beyond the sizes of the statement, and iterations that are given to it
FALLING, FALLS = 1.01, 4  # the least fall of one iteration, as a factor, and the number of such iterations


class Outcome(StrEnum):
    """How a solve ended."""

    SOLVED = "SOLVED"  # of a solution: the simulated motion meets its conditions, and the error of the mesh is small enough
    SOLVED_ON_MESH = "SOLVED_ON_MESH"  # optimal on its mesh, but the simulated motion misses a condition, or the mesh is coarse
    ACCEPTABLE = "ACCEPTABLE"  # solved to a looser tolerance
    INFEASIBLE = "INFEASIBLE"  # locally infeasible
    UNBOUNDED = "UNBOUNDED"  # the cost falls without bound, or with ever longer durations
    UNATTAINED = "UNATTAINED"  # the sharper the tolerances, the further away: the cost has an infimum, but no minimum
    SADDLE = "SADDLE"  # stationary, but a maximum in some direction: the cost falls along it, and no search found a minimum
    ZERO_DURATION = "ZERO_DURATION"  # the shorter, the better: nothing that is asked needs time
    TOO_MANY_ITERATIONS = "TOO_MANY_ITERATIONS"
    INTERRUPTED = "INTERRUPTED"  # the best iterate is returned
    FAILED = "FAILED"


_OUTCOMES = {
    "Solve_Succeeded": Outcome.SOLVED,
    "Feasible_Point_Found": Outcome.SOLVED,
    "Solved_To_Acceptable_Level": Outcome.ACCEPTABLE,
    "Infeasible_Problem_Detected": Outcome.INFEASIBLE,
    "Diverging_Iterates": Outcome.UNBOUNDED,
    "Maximum_Iterations_Exceeded": Outcome.TOO_MANY_ITERATIONS,
    "Maximum_CpuTime_Exceeded": Outcome.TOO_MANY_ITERATIONS,
    "Maximum_WallTime_Exceeded": Outcome.TOO_MANY_ITERATIONS,
    "User_Requested_Stop": Outcome.INTERRUPTED,
}


@with_number_range
@dataclass(frozen=True)
class Ipopt:
    """Settings of IPOPT: `tolerance` of the scaled optimality conditions; `options` are passed to IPOPT unchanged.

    With `warm`, an earlier solution on the same mesh that is given as guess also supplies its multipliers (warm start).
    """

    tolerance: float = SUFFICIENT
    iterations: int = 1000
    warm: bool = False
    options: Mapping[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class NlpSolution:
    """A point, its multipliers in the units of the problem, and the residuals of the optimality conditions."""

    w: Reals
    row_multipliers: Reals
    bound_multipliers: Reals
    objective: float
    outcome: Outcome
    solver_status: str  # IPOPT's return status
    iterations: int
    violation: float  # the largest, scaled
    stationarity: float  # the largest entry of the scaled gradient of the Lagrangian
    seconds: Mapping[str, float]
    regularized: bool = True  # whether the last steps changed the Hessian: if not, the point is a minimum to second order
    steps: tuple[float, float] = (0.0, 0.0)  # largest entries of the last two steps, scaled
    far: Reals | None = None  # a point orders of magnitude beyond the sizes of the statement, at which the search gave up


@contextmanager
def default_progress(progress: ProgressCallback) -> Iterator[None]:
    """Use this progress callback for all solves in the block that have none of their own."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def effective_progress(progress: ProgressCallback | None) -> ProgressCallback | None:
    """The given progress callback, or the default of the enclosing `default_progress` block."""
    return progress or _PROGRESS.get()


def iteration_progress(iteration: int, objective: float, violation: float) -> Progress:
    """The progress of a search for an optimum; the number of iterations is not known beforehand."""
    values = {"iteration": iteration, "objective": objective, "violation": violation}
    return Progress(f"iteration {iteration}: objective {objective:.8g}, violation {violation:.1e}", None, values)


def solve_sparse_nlp(
    nlp: SparseNLP, guess: Reals, solver: Ipopt, progress: ProgressCallback | None = None, earlier: NlpSolution | None = None
) -> NlpSolution:
    """Find a local minimum. `earlier` supplies initial multipliers."""
    began = time.perf_counter()
    search = Search(nlp, solver, earlier is not None, progress)
    ready = time.perf_counter()
    answer = search(guess, earlier)
    return replace(answer, seconds={**answer.seconds, "prepare": ready - began})


class Search:
    """IPOPT prepared for one nonlinear program, whose bounds may change between calls; with `warm` it starts near the guess."""

    def __init__(self, nlp: SparseNLP, solver: Ipopt, warm: bool = False, progress: ProgressCallback | None = None) -> None:
        self._nlp = nlp
        self._callbacks = _Callbacks(nlp, progress)
        self._solver = ca.nlpsol("maneuver", "ipopt", self._callbacks.problem, self._callbacks.options(solver, warm))

    def __call__(self, guess: Reals, earlier: NlpSolution | None = None) -> NlpSolution:
        """Find a local minimum. `earlier` supplies initial multipliers."""
        nlp, callbacks = self._nlp, self._callbacks
        scale, rows, cost = nlp.scale, nlp.row_scale, nlp.objective_scale
        given: dict[str, Any] = {
            "x0": guess / scale,
            "lbx": nlp.low / scale,
            "ubx": nlp.high / scale,
            "lbg": nlp.row_low / rows,
            "ubg": nlp.row_high / rows,
        }
        if earlier is not None:
            given |= {"lam_x0": earlier.bound_multipliers * scale / cost, "lam_g0": earlier.row_multipliers * rows / cost}
        began = time.perf_counter()
        callbacks.begin()
        with interruptible(callbacks.stop):
            found = self._solver(**given)
        stats = self._solver.stats()
        solver_status = str(stats["return_status"])
        outcome = _OUTCOMES.get(solver_status, Outcome.FAILED)
        x, lam_g, lam_x = (np.array(found[name].full()).ravel() for name in ("x", "lam_g", "lam_x"))
        if outcome not in (Outcome.SOLVED, Outcome.ACCEPTABLE) and callbacks.best is not None:
            x, lam_g, lam_x = callbacks.best[2]
        seconds = {"solve": time.perf_counter() - began, "evaluate": callbacks.seconds}
        violation, stationarity, objective = callbacks.quality(x, lam_g, lam_x)
        if outcome is Outcome.INTERRUPTED and not callbacks.stopped:  # it was given up
            outcome = Outcome.FAILED
        # sharper tolerances than the default may be beyond rounding, which grows with the multipliers
        rounded = stationarity / max(1.0, float(np.abs(lam_g).max(initial=0.0)))
        if outcome is Outcome.ACCEPTABLE and max(violation, rounded, _barrier(stats)) <= SUFFICIENT:
            outcome = Outcome.SOLVED
        ended = outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE, Outcome.INTERRUPTED)
        if not ended and callbacks.lowest < UNBOUNDED_COST:
            outcome = Outcome.UNBOUNDED
        return NlpSolution(
            x * scale,
            lam_g * cost / rows,
            lam_x * cost / scale,
            objective * cost,
            outcome,
            solver_status,
            int(stats["iter_count"]),
            violation,
            stationarity,
            seconds,
            _regularized(stats),
            _last_steps(stats),
            None
            if outcome in (Outcome.SOLVED, Outcome.INTERRUPTED) or callbacks.farthest is None
            else callbacks.farthest * scale,
        )


class _Callbacks:
    """Callbacks of IPOPT, in scaled unknowns and rows."""

    def __init__(self, nlp: SparseNLP, progress: ProgressCallback | None) -> None:
        self._nlp, self._progress = nlp, effective_progress(progress)
        self.begin()
        n, m = nlp.unknowns, nlp.rows
        row, column = nlp.jacobian_indices
        self._jacobian_scale = nlp.scale[column] / nlp.row_scale[row]
        self._jacobian_sparsity = ca.Sparsity(m, n, _starts(column, n), row.tolist())
        one, other = nlp.hessian_indices
        self._hessian_scale = nlp.scale[one] * nlp.scale[other]
        self._hessian_sparsity = ca.Sparsity(n, n, _starts(other, n), one.tolist())
        dense = ca.Sparsity.dense
        self._in = [("x", dense(n, 1)), ("p", dense(0, 1))]
        self.problem = _Callback("nlp", self._in, [("f", dense(1, 1)), ("g", dense(m, 1))], self._timed(self._eval_values))
        self._gradient_callback = _Callback(
            "nlp_grad_f", self._in, [("f", dense(1, 1)), ("grad_f_x", dense(n, 1))], self._timed(self._eval_gradient)
        )
        self._jacobian_callback = _Callback(
            "nlp_jac_g", self._in, [("g", dense(m, 1)), ("jac_g_x", self._jacobian_sparsity)], self._timed(self._eval_jacobian)
        )
        weights = [("lam_f", dense(1, 1)), ("lam_g", dense(m, 1))]
        self._hessian_callback = _Callback(
            "nlp_hess_l",
            [*self._in, *weights],
            [("triu_hess_gamma_x_x", self._hessian_sparsity)],
            self._timed(self._eval_hessian),
        )
        outs = [("x", dense(n, 1)), ("f", dense(1, 1)), ("g", dense(m, 1))]
        outs += [("lam_x", dense(n, 1)), ("lam_g", dense(m, 1)), ("lam_p", dense(0, 1))]
        self._iteration_callback = _Callback("iteration", outs, [("ret", dense(1, 1))], self._on_iteration)
        self._last: tuple[bytes, tuple[Reals, Reals]] | None = None
        self._last_values: tuple[bytes, list[Any]] | None = None

    def begin(self) -> None:
        """Reset for a new solve."""
        self.stopped = False  # by the user
        self._iterations = 0
        self.seconds = 0.0
        self.lowest = 0.0  # cost of a nearly feasible iterate
        self._falls = 0  # iterations since it fell beyond hope, in each of which it fell further
        self._iterations_afar = 0
        self.farthest: Reals | None = None  # the nearly feasible iterate of lowest cost, beyond `FAR`
        self.best: tuple[float, float, tuple[Reals, Reals, Reals]] | None = None

    def options(self, solver: Ipopt, warm: bool) -> dict[str, Any]:
        own: dict[str, Any] = {"tol": solver.tolerance, "max_iter": solver.iterations, "print_level": 0, "sb": "yes"}
        # MUMPS' default permutes columns, delays many pivots in these matrices and gets the inertia wrong: up to a hundred
        # times slower, with unnecessary regularization
        own |= {"mumps_permuting_scaling": 0, "mumps_scaling": 7}
        # Matrices of transcriptions are chains, which minimum degree orders well; the order that MUMPS chooses by itself takes as
        # long for small ones, and twice as long for those of 20,000 rows.
        own["mumps_pivot_order"] = 0
        # Residuals of linear systems are tested (residual_ratio_max); steps that pass need no refinement.
        own["min_refinement_steps"] = 0
        if warm:
            own |= {
                "warm_start_init_point": "yes",
                "mu_init": 1e-4,
                "warm_start_bound_push": 1e-6,
                "warm_start_mult_bound_push": 1e-6,
            }
        own |= dict(solver.options)
        return {
            "grad_f": self._gradient_callback,
            "jac_g": self._jacobian_callback,
            "hess_lag": self._hessian_callback,
            "iteration_callback": self._iteration_callback,
            "no_nlp_grad": True,
            "calc_lam_p": False,
            "print_time": False,
            "show_eval_warnings": False,
            "error_on_fail": False,
            **{f"ipopt.{name}": value for name, value in own.items()},
        }

    # ---------------------------------------------------------------- evaluation

    def _timed(self, function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def call(*arguments: Reals) -> list[Any]:
            began = time.perf_counter()
            result = function(*arguments)
            self.seconds += time.perf_counter() - began
            return result

        return call

    def _eval_values(self, x: Reals, p: Reals) -> list[Any]:
        """Objective and rows together: IPOPT asks for one, then for the other, at each point."""
        key = x.tobytes()
        if self._last_values is None or self._last_values[0] != key:
            objective, rows = self._nlp.values(x * self._nlp.scale)
            self._last_values = key, [objective / self._nlp.objective_scale, rows / self._nlp.row_scale]
        return self._last_values[1]

    def _first(self, x: Reals) -> tuple[Reals, Reals]:
        """Gradient and Jacobian together: IPOPT evaluates both at each point."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            gradient, entries = self._nlp.jacobian(x * self._nlp.scale)
            self._last = key, (gradient * self._nlp.scale / self._nlp.objective_scale, entries * self._jacobian_scale)
        return self._last[1]

    def _eval_gradient(self, x: Reals, p: Reals) -> list[Any]:
        return [0.0, self._first(x)[0]]

    def _eval_jacobian(self, x: Reals, p: Reals) -> list[Any]:
        return [0.0, self._first(x)[1]]

    def _eval_hessian(self, x: Reals, p: Reals, factor: Reals, multipliers: Reals) -> list[Any]:
        entries = self._nlp.hessian(
            x * self._nlp.scale, float(factor[0]) / self._nlp.objective_scale, multipliers / self._nlp.row_scale
        )
        return [entries * self._hessian_scale]

    # ---------------------------------------------------------------- progress

    def _on_iteration(self, *arguments: Reals) -> list[Any]:
        x, f, g, lam_x, lam_g, _ = (a.copy() for a in arguments)
        violation = self._violation(x, g)
        if violation < NEARLY_FEASIBLE * max(1.0, float(np.abs(x).max(initial=0.0))):
            falls = float(f[0]) < min(FALLING * self.lowest, HOPELESS_COST)
            self._falls = self._falls + 1 if falls else 0
            if float(f[0]) < self.lowest:
                self.lowest = float(f[0])
                if max(-self.lowest, float(np.abs(x).max(initial=0.0))) > FAR:
                    self.farthest = x
        self._iterations_afar += self.farthest is not None
        rank = (max(violation, FEASIBLE), float(f[0]))
        if self.best is None or rank < self.best[:2]:
            self.best = (*rank, (x, lam_g, lam_x))
        if self._progress is not None:
            try:
                self._progress(iteration_progress(self._iterations, float(f[0]) * self._nlp.objective_scale, violation))
            except KeyboardInterrupt:
                self.stopped = True
        self._iterations += 1
        return [1.0 if self.stopped or self.hopeless or self._iterations_afar > PATIENCE_AFAR else 0.0]

    @property
    def hopeless(self) -> bool:
        """Whether the cost has fallen so far, and goes on to, that nothing will stop it; a minimum is reached in few steps."""
        return self._falls >= FALLS

    def _violation(self, x: Reals, g: Reals) -> float:
        nlp = self._nlp
        low, high = nlp.row_low / nlp.row_scale, nlp.row_high / nlp.row_scale
        over = np.maximum(np.maximum(low - g, g - high), 0.0)
        beyond = np.maximum(np.maximum(nlp.low - x * nlp.scale, x * nlp.scale - nlp.high), 0.0) / nlp.scale
        return float(max(over.max(initial=0.0), beyond.max(initial=0.0)))

    def quality(self, x: Reals, lam_g: Reals, lam_x: Reals) -> tuple[float, float, float]:
        """Violation, stationarity and objective, all scaled."""
        objective, rows = self._eval_values(x, np.zeros(0))
        gradient, entries = self._first(x)
        row, column = self._nlp.jacobian_indices
        lagrangian = gradient + lam_x + np.bincount(column, weights=entries * lam_g[row], minlength=len(x))
        fixed = self._nlp.low == self._nlp.high
        stationarity = np.abs(np.where(fixed, 0.0, lagrangian)).max(initial=0.0)
        return self._violation(x, rows), float(stationarity), float(objective)

    def stop(self) -> None:
        """Stop after the current iteration."""
        self.stopped = True


class _Callback(ca.Callback):
    """A Python function with names and sparsities as a CasADi callback."""

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
        """Arguments and results in CasADi's memory; results are the structural nonzeros."""
        given = [np.zeros(0) if a is None else np.frombuffer(a, dtype=np.float64) for a in arguments]
        for target, value in zip(results, self._call(*given), strict=True):
            if target is not None:
                np.frombuffer(target, dtype=np.float64)[:] = value
        return 0


def _regularized(stats: Mapping[str, Any]) -> bool:
    """IPOPT adds to the Hessian where its inertia shows that a point is no minimum along the linearized conditions."""
    last = [float(s) for s in stats.get("iterations", {}).get("regularization_size", ())][-2:]
    return len(last) < 2 or any(s != 0.0 for s in last)


def _barrier(stats: Mapping[str, Any]) -> float:
    return float(next(reversed(stats.get("iterations", {}).get("mu", [np.inf])), np.inf))


def _last_steps(stats: Mapping[str, Any]) -> tuple[float, float]:
    last = [float(d) for d in stats.get("iterations", {}).get("d_norm", ())][-2:]
    return (last[0], last[1]) if len(last) == 2 else (0.0, 0.0)


def _starts(columns: NDArray[np.int64], n: int) -> list[int]:
    return np.searchsorted(columns, np.arange(n + 1)).tolist()

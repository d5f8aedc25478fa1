"""Backward differentiation formulas of variable order: the SUNDIALS solvers CVODE and IDA.

A. C. Hindmarsh, P. N. Brown, K. E. Grant, S. L. Lee, R. Serban, D. E. Shumaker and C. S. Woodward, "SUNDIALS: Suite of nonlinear
and differential/algebraic equation solvers", ACM Trans. Math. Softw. 31 (2005) 363–396; in Python by the package scikit-sundae.

Each internal step of the solver is passed to the stepping loop with the solver's own interpolation polynomial, so that samples,
events, projection and records work as for all other methods. Residuals, Jacobians and derivatives are compiled kernels; each call
passes through Python once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.restricted.types import bound_kernel
from draisine.errors import ArgumentError, DependencyError
from draisine.numerics.number_range import with_number_range
from draisine.simulation.methods.tableau import Advance, Scheme, check_settings, nested_basis
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.implicit_systems import DIFFERENCE, sliding_jacobians
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.sliding import sliding_field
from draisine.simulation.stepper.time_limits import horizon, next_stop, resolved_end

if TYPE_CHECKING:
    from draisine.simulation.compiled_equations import CompiledEquations
    from draisine.simulation.stepper.memory import Memory

# Steps are external; the loop accepts them with an interpolant of degree 6 at most.
SCHEME = Scheme(
    order=5,
    history=1,
    stages=1,
    weights=np.zeros((2, 2)),
    nodes=np.zeros(2),
    dense=np.zeros((3, 2)),
    external=True,
)


@dataclass(frozen=True)
class _BackwardDifferentiation:
    """Settings that both solvers have."""

    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    max_order: int = 5
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 10_000_000

    order = 5
    adaptive = True
    implicit = False
    scheme = SCHEME
    starter = SCHEME

    def __post_init__(self) -> None:
        check_settings(self)
        if self.max_order not in range(1, 6):
            raise ArgumentError(f"{type(self).__name__}: max_order must be a whole number from 1 to 5, got {self.max_order!r}")

    def stepper(
        self, memory: Memory, equations: CompiledEquations, loop: Advance, command: Callable[[], None] | None
    ) -> SundialsStepper:
        return SundialsStepper(memory, self, equations, loop, command)


@with_number_range
@dataclass(frozen=True)
class CVODE(_BackwardDifferentiation):
    """BDF of order 1 to 5 with variable steps for ẋ = f; needs scikit-sundae.

    >>> CVODE(rtol=1e-6).max_order
    5
    """


@with_number_range
@dataclass(frozen=True)
class IDA(_BackwardDifferentiation):
    """BDF of order 1 to 5 with variable steps for 0 = F(t, x, ẋ) of index 1; needs scikit-sundae.

    >>> IDA(max_order=2).rtol
    1e-08
    """

    implicit = True
    highest_index = 1


Reals = NDArray[np.float64]

# Interpolants have degree 5 at most: values at these fractions of a step and at its ends determine them.
FRACTIONS = np.array([0.2, 0.4, 0.6, 0.8])
# Change by projection, in units of the tolerance, above which the solver is restarted.
RESTART = 30.0
# Failure codes, the same in CVODE and IDA.
TOO_MUCH_ACCURACY, ERROR_FAILURES, CONVERGENCE_FAILURES, SETUP_FAILED, SOLVE_FAILED = -2, -3, -4, -6, -7


def _solvers() -> Any:
    try:
        import sksundae
    except ImportError:
        raise DependencyError(
            "CVODE and IDA need the package scikit-sundae, which is not installed: pip install scikit-sundae. Radau "
            "solves the same problems and is always available"
        ) from None
    return sksundae


class SundialsStepper:
    """Advances a run: called with the `Stepper`, like the stepping loop."""

    def __init__(
        self,
        memory: Memory,
        method: _BackwardDifferentiation,
        compiled: CompiledEquations,
        loop: Advance,
        command: Callable[[], None] | None,
    ) -> None:
        self._memory, self._method, self._loop, self._command = memory, method, loop, command
        self._compiled = compiled
        self._terms = _terms_of_fractions()
        self._solver: Any = None
        self._pending = False  # a step was made and is not yet accepted
        self._stop = math.nan  # a time behind which another function begins: the history says nothing about it
        self._jacobian: Kernel | None = None
        _solvers()

    def __call__(self, stepper: Stepper) -> int:
        budget = int(stepper.budget)
        if stepper.phase != layout.RUNNING:
            stepper.h = stepper.h or 1.0  # not used, but zero would have one chosen
            stepper.budget = 0
            reason = self._loop(stepper)
            if reason != layout.PAUSED:
                return reason
            self._begin()
        stepper.budget = 1
        for _ in range(budget):
            if stepper.t == stepper.end:
                return layout.REACHED
            if not self._pending:
                reason = self._step()
                if reason != layout.CONTINUE:
                    return reason
            reason = self._loop(stepper)
            if reason not in (layout.PAUSED, layout.REACHED):
                self._pending = self._pending and reason == layout.FULL
                return reason
            self._pending = False
            if stepper.restarted or stepper.t == self._stop or self._needs_restart():
                stepper.restarted = 0
                self._restart()
        return layout.PAUSED

    # -------------------------------------------------------------------------------------------------------- steps

    def _unknowns(self) -> Reals:
        return self._memory.stepper.x[: self._memory.stepper.unknowns]

    def _needs_restart(self) -> bool:
        """Whether projection has moved the state so far from the solver's own state that the solver must restart.

        A restart discards the history of the multistep method. After smaller changes the solver continues from its own state.
        """
        n = self._memory.stepper.states
        state, own = self._memory.state, self._last[:n]
        return bool(np.any(np.abs(state - own) > RESTART * (self._method.rtol * np.abs(own) + np.asarray(self._method.atol))))

    def _begin(self) -> None:
        self._pending = False
        create = self._create_ida if isinstance(self._method, IDA) else self._create_cvode
        self._solver = create()
        self._restart()

    def _restart(self) -> None:
        stepper = self._memory.stepper
        x = self._unknowns().copy()
        if isinstance(self._method, IDA):
            self._solver.init_step(stepper.t, x, stepper.k[0, : stepper.unknowns].copy())
        else:
            self._solver.init_step(stepper.t, x)
        self._last = x

    def _step(self) -> int:
        """Make one internal step and store it for the loop."""
        stepper, n = self._memory.stepper, self._memory.stepper.unknowns
        limit = horizon(stepper)
        if stepper.marks:
            limit = self._stop = next_stop(stepper, limit)
        done, reason = self._made(limit)
        if reason == layout.CONTINUE and stepper.marks:
            limit = resolved_end(stepper, stepper.tableau, done.t)
            if limit != done.t:
                self._restart()
                done, reason = self._made(limit)
        if reason != layout.CONTINUE:
            return reason
        h = done.t - stepper.t
        stepper.new[:n] = done.y
        if isinstance(self._method, IDA):
            stepper.k[1, :n] = done.yp
        stepper.dense[:, :n] = 0.0
        rise = done.y - self._unknowns()
        stepper.dense[0, :n] = rise
        if stepper.events or stepper.margins or self._memory.has_sample_before(done.t):
            inner = np.array([self._solver.step(stepper.t + f * h, "normal").y for f in FRACTIONS])
            stepper.dense[:5, :n] = self._terms @ np.vstack([inner - self._unknowns(), rise])
        stepper.h, stepper.external_time = h, done.t
        self._last, self._pending = done.y, True
        return layout.CONTINUE

    def _made(self, limit: float) -> tuple[Any, int]:
        """One internal step that does not pass a time, and CONTINUE or why it failed."""
        stepper = self._memory.stepper
        for _ in range(3):
            done = self._solver.step(limit, "onestep", limit)
            if stepper.aborted:
                return done, layout.ABORTED
            if done.status < 0:
                return done, self._failed(done.status)
            if done.t != stepper.t:
                return done, layout.CONTINUE  # after interpolation the solver first returns to its last time
        return done, self._failed(ERROR_FAILURES)  # steps below the rounding error of time

    def _failed(self, status: int) -> int:
        stepper = self._memory.stepper
        stepper.bad_time, stepper.failed_kind = stepper.t, 1
        if status in (CONVERGENCE_FAILURES, SETUP_FAILED, SOLVE_FAILED):
            stepper.solver_failure = layout.SINGULAR_MATRIX if status == SETUP_FAILED else layout.DIVERGED
            return layout.UNSOLVED
        return layout.STEP_TOO_SMALL

    # ------------------------------------------------------------------------------------------------------ callbacks

    def _caller(self, address: int, *results: Reals, rates: bool = False) -> Callable[[float, Reals], None]:
        """Call a kernel of (t, x, u, p), or with `rates` of (t, x, ẋ, u, p), at a time and point."""
        s = self._memory.stepper
        time, point = s.time, s.point
        kernel = bound_kernel(address, (time, point, *((s.rate,) if rates else ()), s.u, s.parameters), results)

        def call(t: float, x: Reals) -> None:
            time[0], point[: len(x)] = t, x
            kernel()

        return call

    def _options(self) -> dict[str, Any]:
        m, stepper = self._method, self._memory.stepper
        atol = np.full(stepper.unknowns, 1e300)  # of unknowns without error control
        atol[: stepper.states] = m.atol
        return {
            "rtol": m.rtol,
            "atol": atol,
            "max_order": m.max_order,
            "first_step": m.first_step or 0.0,
            "max_step": m.max_step or 0.0,
            "max_num_steps": 1_000_000,
        }

    def _create_cvode(self) -> Any:
        stepper = self._memory.stepper
        switching = self._compiled.switching
        dynamics = self._compiled.equations.explicit if switching is None else switching.explicit
        if self._jacobian is None:
            self._jacobian = compile(dynamics.jacobian("xdot", "x"))
        n = stepper.states
        rate, entries = np.zeros(n), np.zeros((n, n))
        derivative = self._caller(stepper.dynamics, rate)
        evaluate_jacobian = self._caller(self._jacobian.address, entries)

        def right_side(t: float, y: Reals, yp: Reals) -> None:
            if self._apply_control(t, y):
                if stepper.sliding:
                    yp[:] = self._sliding(t, y)
                    return
                derivative(t, y)
                stepper.evaluations += 1
            yp[:] = rate

        def jacobian(t: float, y: Reals, yp: Reals, jj: Reals) -> None:
            stepper.jacobians += 1
            if stepper.sliding:
                steps = DIFFERENCE * (1e-3 + np.abs(y))
                base = self._sliding(t, y)
                jj[:, :] = np.array([(self._sliding(t, y + row) - base) / row.sum() for row in np.diag(steps)]).T
                return
            evaluate_jacobian(t, y)
            jj[:, :] = entries.T  # kernels write by columns

        return _solvers().cvode.CVODE(right_side, method="BDF", jacfn=jacobian, **self._options())

    def _create_ida(self) -> Any:
        stepper, form = self._memory.stepper, self._compiled.form
        n, entries = stepper.unknowns, stepper.entries
        rows, columns = form.form.pattern
        rate, value, by_state, by_rate = stepper.rate, np.zeros(n), np.zeros(entries), np.zeros(entries)
        residual = self._caller(form.residual.address, value, rates=True)
        jacobian = self._caller(form.jacobian.address, by_state, by_rate, rates=True)

        def resfn(t: float, y: Reals, yp: Reals, res: Reals) -> None:
            if self._apply_control(t, y):
                rate[:n] = yp
                residual(t, y)
                stepper.evaluations += 1
                if stepper.sliding:
                    value[: stepper.states] = yp[: stepper.states] - self._sliding(t, y)
            res[:] = value

        options = self._options()
        algebraic = np.flatnonzero(form.differential == 0)
        if algebraic.size:
            options["algebraic_idx"] = algebraic
        if form.plan is not None:
            from scipy.sparse import csc_matrix

            options["sparsity"] = csc_matrix((np.ones(entries), (rows, columns)), shape=(n, n))
            options["linsolver"] = "sparse"

        def jacfn(t: float, y: Reals, yp: Reals, res: Reals, cj: float, jj: Reals) -> None:
            rate[:n] = yp
            jacobian(t, y)
            stepper.jacobians += 1
            if stepper.sliding:
                stepper.by_state[:], stepper.by_rate[:] = by_state, by_rate
                sliding_jacobians(stepper)
                by_state[:], by_rate[:] = stepper.by_state, stepper.by_rate
            jj[slice(None) if jj.ndim == 1 else (rows, columns)] = by_state + cj * by_rate

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the pattern is for the factorization; the package assumes finite differences
            return _solvers().ida.IDA(resfn, jacfn=jacfn, **options)

    def _sliding(self, t: float, y: Reals) -> Reals:
        """The derivative of a sliding motion."""
        s = self._memory.stepper
        s.time[0], s.point[: len(y)] = t, y
        sliding_field(s, s.sliding_motion)
        return s.sliding_motion[: len(y)].copy()

    def _apply_control(self, t: float, y: Reals) -> bool:
        """Have a control set the inputs; False once it has failed."""
        stepper = self._memory.stepper
        if self._command is not None and not stepper.aborted:
            stepper.time[0], stepper.point[: len(y)] = t, y
            self._command()
            if not stepper.aborted:
                stepper.u[:] = stepper.command
        return not stepper.aborted


def _terms_of_fractions() -> Reals:
    """Coefficients of the nested interpolant from its values at `FRACTIONS` and at the end."""
    points = np.append(FRACTIONS, 1.0)
    basis = nested_basis(len(points))
    return np.linalg.inv(np.array([[np.polyval(p, theta) for p in basis] for theta in points]))

"""SUNDIALS in the place of the loop's own steps: CVODE and IDA step, the loop takes the steps.

Every internal step is handed over with the polynomial that the solver itself interpolates by, so that samples, events, projection
and records are those of all other methods. Residuals, Jacobians and derivatives are compiled kernels; each call of
one passes through Python once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.restricted.record import bound_kernel
from draisine.errors import DependencyError
from draisine.simulation.compiled_equations import CompiledEquations
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.methods.tableau import nested_basis
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.memory import Memory

Reals = NDArray[np.float64]

# Interpolants are polynomials of degree 5 at most: their values at these fractions of a step and at its ends say everything.
FRACTIONS = np.array([0.2, 0.4, 0.6, 0.8])
# Times the tolerance by which projection moves the state before the solver is begun anew.
RESTART = 30.0
# Solvers call a failure by numbers; the same ones in CVODE and IDA.
TOO_MUCH_ACCURACY, ERROR_FAILURES, CONVERGENCE_FAILURES, SETUP_FAILED, SOLVE_FAILED = -2, -3, -4, -6, -7


def _solvers() -> Any:
    try:
        import sksundae
    except ImportError:
        raise DependencyError(
            "CVODE and IDA need the package scikit-sundae, which is not installed: pip install 'draisine[sundials]'. Radau "
            "solves the same problems and is always there"
        ) from None
    return sksundae


class SundialsStepper:
    """Advances a run like the stepping loop: call it with the stepper."""

    def __init__(
        self,
        memory: Memory,
        method: CVODE | IDA,
        compiled: CompiledEquations,
        loop: Callable[[Stepper], int],
        command: Callable[[], None] | None,
    ) -> None:
        self._memory, self._method, self._loop, self._command = memory, method, loop, command
        self._compiled = compiled
        self._terms = _terms_of_fractions()
        self._solver: Any = None
        self._pending = False  # a step was made and not yet taken
        self._jacobian: Kernel | None = None
        _solvers()

    def __call__(self, stepper: Stepper) -> int:
        budget = int(stepper.budget)
        if stepper.phase != layout.RUNNING:
            stepper.h = stepper.h or 1.0  # of no meaning here, but zero would have one chosen
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
                if reason != layout.GO_ON:
                    return reason
            reason = self._loop(stepper)
            if reason not in (layout.PAUSED, layout.REACHED):
                self._pending = self._pending and reason == layout.FULL
                return reason
            self._pending = False
            if self._moved_far():
                self._restart()
        return layout.PAUSED

    # -------------------------------------------------------------------------------------------------------- steps

    def _unknowns(self) -> Reals:
        return self._memory.stepper.x[: self._memory.stepper.unknowns]

    def _moved_far(self) -> bool:
        """Whether projection has moved the state so far from the solver's own that this must begin anew. A multistep method loses
        its past by that; what is below its errors is told to nobody, and the solver goes on from its own state."""
        n = self._memory.stepper.states
        state, own = self._memory.state, self._last[:n]
        return bool(np.any(np.abs(state - own) > RESTART * (self._method.rtol * np.abs(own) + np.asarray(self._method.atol))))

    def _begin(self) -> None:
        self._pending = False
        make = self._make_ida if isinstance(self._method, IDA) else self._make_cvode
        self._solver = make()
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
        """One internal step towards the end, put where the loop looks for it."""
        stepper, n = self._memory.stepper, self._memory.stepper.unknowns
        for _ in range(3):
            done = self._solver.step(stepper.end, "onestep", stepper.end)
            if stepper.aborted:
                return layout.ABORTED
            if done.status < 0:
                return self._failed(done.status)
            if done.t != stepper.t:
                break  # after interpolation the solver first returns to where it was
        else:
            return self._failed(ERROR_FAILURES)  # steps below the rounding of time
        h = done.t - stepper.t
        stepper.new[:n] = done.y
        if isinstance(self._method, IDA):
            stepper.k[1, :n] = done.yp
        stepper.dense[:, :n] = 0.0
        rise = done.y - self._unknowns()
        stepper.dense[0, :n] = rise
        if stepper.events or self._samples_before(done.t):
            inner = np.array([self._solver.step(stepper.t + f * h, "normal").y for f in FRACTIONS])
            stepper.dense[:5, :n] = self._terms @ np.vstack([inner - self._unknowns(), rise])
        stepper.h, stepper.given_time = h, done.t
        self._last, self._pending = done.y, True
        return layout.GO_ON

    def _samples_before(self, time: float) -> bool:
        stepper = self._memory.stepper
        if stepper.sampled >= stepper.samples:
            return False
        ahead = time - stepper.sample_time[stepper.sampled]
        return bool(ahead > 0.0 if stepper.end >= stepper.t else ahead < 0.0)

    def _failed(self, status: int) -> int:
        stepper = self._memory.stepper
        stepper.bad_time, stepper.culprit_is_state = stepper.t, 1
        if status in (CONVERGENCE_FAILURES, SETUP_FAILED, SOLVE_FAILED):
            stepper.trouble = layout.SINGULAR_MATRIX if status == SETUP_FAILED else layout.DIVERGED
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
        atol = np.full(stepper.unknowns, 1e300)  # of what nobody asks about
        atol[: stepper.states] = m.atol
        return {
            "rtol": m.rtol,
            "atol": atol,
            "max_order": m.max_order,
            "first_step": m.first_step or 0.0,
            "max_step": m.max_step or 0.0,
            "max_num_steps": 1_000_000,
        }

    def _make_cvode(self) -> Any:
        stepper = self._memory.stepper
        dynamics = self._compiled.equations.explicit
        if self._jacobian is None:
            self._jacobian = compile(dynamics.jacobian("xdot", "x"))
        n = stepper.states
        rate, jacobians = np.zeros(n), np.zeros((n, n))
        derivative = self._caller(stepper.dynamics, rate)
        jacobian = self._caller(self._jacobian.address, jacobians)

        def right_side(t: float, y: Reals, yp: Reals) -> None:
            if self._ask(t, y):
                derivative(t, y)
                stepper.evaluations += 1
            yp[:] = rate

        def slope(t: float, y: Reals, yp: Reals, jj: Reals) -> None:
            jacobian(t, y)
            stepper.jacobians += 1
            jj[:, :] = jacobians.T  # kernels write by columns

        return _solvers().cvode.CVODE(right_side, method="BDF", jacfn=slope, **self._options())

    def _make_ida(self) -> Any:
        stepper, form = self._memory.stepper, self._compiled.form
        n, entries = stepper.unknowns, stepper.entries
        rows, columns = form.form.pattern
        rate, value, by_state, by_rate = stepper.rate, np.zeros(n), np.zeros(entries), np.zeros(entries)
        residual = self._caller(form.residual.address, value, rates=True)
        jacobian = self._caller(form.jacobian.address, by_state, by_rate, rates=True)

        def resfn(t: float, y: Reals, yp: Reals, res: Reals) -> None:
            if self._ask(t, y):
                rate[:n] = yp
                residual(t, y)
                stepper.evaluations += 1
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
            jj[slice(None) if jj.ndim == 1 else (rows, columns)] = by_state + cj * by_rate

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the pattern is for the factors; the package thinks it is for differences
            return _solvers().ida.IDA(resfn, jacfn=jacfn, **options)

    def _ask(self, t: float, y: Reals) -> bool:
        """Let a control set the inputs; False once it has failed."""
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

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
from draisine.errors import DependencyError
from draisine.simulation.methods.implicit_tableau import nested_basis
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import Memory
from draisine.simulation.stepper.native import KERNEL
from draisine.simulation.velocity_choices import CompiledEquations

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
    """Advances a run like the stepping loop: call it with the address of the block."""

    def __init__(
        self,
        memory: Memory,
        method: CVODE | IDA,
        compiled: CompiledEquations,
        loop: Callable[[int], int],
        command: Callable[[], None] | None,
    ) -> None:
        self._memory, self._method, self._loop, self._command = memory, method, loop, command
        self._compiled = compiled
        self._terms = _terms_of_fractions()
        self._solver: Any = None
        self._pending = False  # a step was made and not yet taken
        self._jacobian: Kernel | None = None
        _solvers()

    def __call__(self, address: int) -> int:
        block = self._memory.block
        budget = int(block.budget)
        if block.phase != layout.RUNNING:
            block.h = block.h or 1.0  # of no meaning here, but zero would have one chosen
            block.budget = 0
            reason = self._loop(address)
            if reason != layout.PAUSED:
                return reason
            self._begin()
        block.budget = 1
        for _ in range(budget):
            if block.t == block.end:
                return layout.REACHED
            if not self._pending:
                reason = self._step()
                if reason != layout.GO_ON:
                    return reason
            reason = self._loop(address)
            if reason not in (layout.PAUSED, layout.REACHED):
                self._pending = self._pending and reason == layout.FULL
                return reason
            self._pending = False
            if self._moved_far():
                self._restart()
        return layout.PAUSED

    # -------------------------------------------------------------------------------------------------------- steps

    def _unknowns(self) -> Reals:
        return self._memory.arrays["x_at"][: self._memory.block.unknowns]

    def _moved_far(self) -> bool:
        """Whether projection has moved the state so far from the solver's own that this must begin anew. A multistep method loses
        its past by that; what is below its errors is told to nobody, and the solver goes on from its own state."""
        n = self._memory.block.states
        state, own = self._memory.state, self._last[:n]
        return bool(np.any(np.abs(state - own) > RESTART * (self._method.rtol * np.abs(own) + np.asarray(self._method.atol))))

    def _begin(self) -> None:
        self._pending = False
        make = self._make_ida if isinstance(self._method, IDA) else self._make_cvode
        self._solver = make()
        self._restart()

    def _restart(self) -> None:
        block = self._memory.block
        x = self._unknowns().copy()
        if isinstance(self._method, IDA):
            self._solver.init_step(block.t, x, self._memory.arrays["k_at"][0, : block.unknowns].copy())
        else:
            self._solver.init_step(block.t, x)
        self._last = x

    def _step(self) -> int:
        """One internal step towards the end, put where the loop looks for it."""
        block, arrays, n = self._memory.block, self._memory.arrays, self._memory.block.unknowns
        for _ in range(3):
            done = self._solver.step(block.end, "onestep", block.end)
            if block.aborted:
                return layout.ABORTED
            if done.status < 0:
                return self._failed(done.status)
            if done.t != block.t:
                break  # after interpolation the solver first returns to where it was
        else:
            return self._failed(ERROR_FAILURES)  # steps below the rounding of time
        h = done.t - block.t
        arrays["new_at"][:n] = done.y
        if isinstance(self._method, IDA):
            arrays["k_at"][1, :n] = done.yp
        arrays["dense_at"][:, :n] = 0.0
        rise = done.y - self._unknowns()
        arrays["dense_at"][0, :n] = rise
        if block.events or self._samples_before(done.t):
            inner = np.array([self._solver.step(block.t + f * h, "normal").y for f in FRACTIONS])
            arrays["dense_at"][:5, :n] = self._terms @ np.vstack([inner - self._unknowns(), rise])
        block.h, block.given_time = h, done.t
        self._last, self._pending = done.y, True
        return layout.GO_ON

    def _samples_before(self, time: float) -> bool:
        block = self._memory.block
        if block.sampled >= block.samples:
            return False
        ahead = time - self._memory.arrays["sample_time_at"][block.sampled]
        return bool(ahead > 0.0 if block.end >= block.t else ahead < 0.0)

    def _failed(self, status: int) -> int:
        block = self._memory.block
        block.bad_time, block.culprit_is_state = block.t, 1
        if status in (CONVERGENCE_FAILURES, SETUP_FAILED, SOLVE_FAILED):
            block.trouble = layout.SINGULAR_MATRIX if status == SETUP_FAILED else layout.DIVERGED
            return layout.UNSOLVED
        return layout.STEP_TOO_SMALL

    # ------------------------------------------------------------------------------------------------------ callbacks

    def _caller(self, address: int, table: str) -> Callable[[float, Reals, list[int]], None]:
        """Call a kernel at (time, point), its results going to addresses; a control is asked before."""
        memory = self._memory
        time, point, results = (memory.arrays[name] for name in ("time_at", "point_at", "results"))
        arguments, targets = int(memory.arrays[table].ctypes.data), int(results.ctypes.data)
        kernel = KERNEL(address)

        def call(t: float, x: Reals, places: list[int]) -> None:
            time[0], point[: len(x)] = t, x
            results[: len(places)] = places
            kernel(arguments, targets)

        return call

    def _options(self) -> dict[str, Any]:
        m, block = self._method, self._memory.block
        atol = np.full(block.unknowns, 1e300)  # of what nobody asks about
        atol[: block.states] = m.atol
        return {
            "rtol": m.rtol,
            "atol": atol,
            "max_order": m.max_order,
            "first_step": m.first_step or 0.0,
            "max_step": m.max_step or 0.0,
            "max_num_steps": 1_000_000,
        }

    def _make_cvode(self) -> Any:
        block = self._memory.block
        dynamics = self._compiled.equations.explicit
        if self._jacobian is None:
            self._jacobian = compile(dynamics.jacobian("xdot", "x"))
        n = block.states
        rate, slopes = np.zeros(n), np.zeros((n, n))
        derivative = self._caller(block.dynamics, "arguments")
        jacobian = self._caller(self._jacobian.address, "arguments")
        at_rate, at_slopes = [int(rate.ctypes.data)], [int(slopes.ctypes.data)]

        def right_side(t: float, y: Reals, yp: Reals) -> None:
            if self._ask(t, y):
                derivative(t, y, at_rate)
                block.evaluations += 1
            yp[:] = rate

        def slope(t: float, y: Reals, yp: Reals, jj: Reals) -> None:
            jacobian(t, y, at_slopes)
            block.jacobians += 1
            jj[:, :] = slopes.T  # kernels write by columns

        return _solvers().cvode.CVODE(right_side, method="BDF", jacfn=slope, **self._options())

    def _make_ida(self) -> Any:
        memory, block, form = self._memory, self._memory.block, self._compiled.form
        n, entries = block.unknowns, block.entries
        rows, columns = form.form.pattern
        residual = self._caller(form.residual.address, "full_arguments")
        jacobian = self._caller(form.jacobian.address, "full_arguments")
        rate, value = memory.arrays["rate_at"], np.zeros(n)
        by_state, by_rate = np.zeros(entries), np.zeros(entries)
        at_value, at_slopes = [int(value.ctypes.data)], [int(by_state.ctypes.data), int(by_rate.ctypes.data)]

        def resfn(t: float, y: Reals, yp: Reals, res: Reals) -> None:
            if self._ask(t, y):
                rate[:n] = yp
                residual(t, y, at_value)
                block.evaluations += 1
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
            jacobian(t, y, at_slopes)
            block.jacobians += 1
            jj[slice(None) if jj.ndim == 1 else (rows, columns)] = by_state + cj * by_rate

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the pattern is for the factors; the package thinks it is for differences
            return _solvers().ida.IDA(resfn, jacfn=jacfn, **options)

    def _ask(self, t: float, y: Reals) -> bool:
        """Let a control set the inputs; False once it has failed."""
        block, arrays = self._memory.block, self._memory.arrays
        if self._command is not None and not block.aborted:
            arrays["time_at"][0], arrays["point_at"][: len(y)] = t, y
            self._command()
            if not block.aborted:
                arrays["inputs_at"][:] = arrays["command_at"]
        return not block.aborted


def _terms_of_fractions() -> Reals:
    """Coefficients of the nested interpolant from its values at `FRACTIONS` and at the end."""
    points = np.append(FRACTIONS, 1.0)
    basis = nested_basis(len(points))
    return np.linalg.inv(np.array([[np.polyval(p, theta) for p in basis] for theta in points]))

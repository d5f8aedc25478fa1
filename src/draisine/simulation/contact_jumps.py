"""Jumps of derivatives of the state where contacts change their modes: the driver's side of `stepper.contact_saltation`.

A margin g(t, x, θ) ends at a time τ that changes with θ. There the state jumps by an impact, x⁺ = R(t, x⁻, θ), or not at all, and
the field from f⁻ to f⁺. Derivatives at a fixed time, S = ∂x/∂θ, become

    S⁺ = ∂R/∂x (S⁻ + f⁻ τ′) + ∂R/∂t τ′ + ∂R/∂θ − f⁺ τ′,        τ′ = −(∂g/∂x S⁻ + ∂g/∂θ) / ġ⁻.

R is the impact of the stepping loop itself (`collide`), interpreted with dual numbers: every law of impact, several impacts one
after the other, slips that stop or reverse in them, are differentiated as they are. Velocities that the new modes exclude are
removed from S as the run removes them from x, by impulses.

M. A. Aizerman, F. R. Gantmakher, On the stability of periodic motions, J. Appl. Math. Mech. 22 (1958) 1065–1078; P. C. Müller,
Calculation of Lyapunov exponents for dynamic systems with discontinuities, Chaos, Solitons & Fractals 5 (1995) 1671–1681.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.restricted.arithmetic import in_arithmetic
from draisine.codegen.restricted.types import KERNEL
from draisine.errors import ArgumentError
from draisine.numerics.dual_numbers import DualMath, derivatives_of, dual_array, plain_values
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.program.variational import Direction, vary
from draisine.results.status import time_text
from draisine.simulation.stepper import (
    contact_complementarity,
    contact_directions,
    contact_impact,
    contact_laws,
    contact_modes,
    contact_slip,
    dense_matrices,
    explicit_rk,
)
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, ContactModes
from draisine.simulation.stepper.layout import FRESH, MARGIN_GRID, Stepper
from draisine.simulation.stepper.memory import Memory
from draisine.simulation.stepper.saltation import LEAP, LEAST_LEAP

Reals = NDArray[np.float64]

RECORDED = {"rows": "row", "coefficients": "coefficient"}  # terms whose names in the record of the loop differ
_MODULES = (
    contact_modes,
    contact_impact,
    contact_complementarity,
    contact_directions,
    contact_laws,
    contact_slip,
    dense_matrices,
    explicit_rk,
)  # those of an impact
_TIME = Direction("t", "t", 0)
NEWTON_STEPS = 2  # whose derivatives by differences have errors of 1e-7
OFF_SURFACE = 1e-7  # relative derivative of a gap that is not zero although the contact has closed
SAME_TIME = 1e-12  # of the time, relatively: a change of modes at that of a switch
GRAZING = 1e-7  # rate of a margin relative to its mean rate in the step before


class ContactJumps:
    """Computes the jumps of one run: the loop calls `address` after every change of modes."""

    def __init__(self, equations: Equations, directions: tuple[Direction, ...], memory: Memory) -> None:
        self._programs = _programs(equations, directions)
        self._names = [contact.name for contact in equations.unilateral]
        self._memory, self._states = memory, len(equations.states)
        self._directions = len(directions)
        self._entry = KERNEL(self._called)
        self.failure: BaseException | None = None
        self.notes: list[str] = []
        memory.stepper.modes.jump = ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    def _called(self, arguments: int, results: int) -> None:
        try:
            self._jump(self._memory.stepper)
        except BaseException as error:  # an exception cannot pass through compiled code
            self.failure, self._memory.stepper.aborted = error, 1

    def _jump(self, s: Stepper) -> None:
        n, k = self._states, self._directions
        found = self._jumped(s, s.modes.state_before[n:].reshape(k, n).T.copy())
        if found is not None:
            s.x[n : n * (1 + k)] = found[0].T.reshape(-1)

    def _jumped(self, s: Stepper, S: Reals) -> tuple[Reals, Reals] | None:
        """S⁺ from S⁻, and τ′; None where nothing jumps."""
        c, n = s.modes, self._states
        before, after = c.mode_before.copy(), c.mode.copy()
        begins = s.phase == FRESH
        if not begins and not c.total.any() and self._goes_on(c, before, after):
            return None
        t, x = float(s.t), c.state_before[:n].copy()
        old, new = s.field_before[:n].copy(), s.field_after[:n].copy()
        p = self._memory.with_branches[: len(self._memory.parameters)]
        p[len(p) - len(before) :] = before
        shift = self._shift(s, t, x, S, old, p)
        S = S + np.outer(old, shift)
        if c.total.any():
            S = self._impact(s, t, x, S, shift, p)
        S -= np.outer(new, shift)
        p[len(p) - len(before) :] = after
        return self._without_excluded_velocities(s, t, S, p, begins), shift

    def _goes_on(self, c: ContactModes, before: Reals, after: Reals) -> bool:
        """Whether nothing changes but the direction of a slip in the plane, which is that of the slip."""
        one, other = (modes.reshape(-1, MODE_ENTRIES) for modes in (before, after))
        return all(
            np.array_equal(a[:2], b[:2]) and (a[0] == 0.0 or a[1] != 0.0 or ways > 1 or np.array_equal(a[2:4], b[2:4]))
            for a, b, ways in zip(one, other, c.ways, strict=True)
        )

    # ------------------------------------------------------------------------------------------------------- the time

    def _shift(self, s: Stepper, t: float, x: Reals, S: Reals, rate: Reals, p: Reals) -> Reals:
        """τ′, the derivative of the time of the change."""
        c, row = s.modes, s.modes.ended_margin
        switched = s.phase != FRESH and s.shift_known != 0 and abs(s.t - s.shift_time) <= SAME_TIME * max(1.0, abs(s.t))
        if row < 0 and switched:
            return np.array(s.shift[: self._directions])  # a force has jumped, whose switch moves the time
        closed = self._closed(c)
        if row < 0 and c.total.any() and len(closed):
            row = c.first_margin + 2 * int(closed[0])
        if row < 0:
            return np.zeros(self._directions)
        margins = self._programs["margins"](t, x, np.column_stack([S, rate]), self._memory.inputs, p)["margins"]
        value, change = float(margins[0][row - c.first_margin]), margins[1][row - c.first_margin]
        speed = float(change[-1])
        largest = max(abs(s.margin[0, row]), abs(s.margin[MARGIN_GRID, row]))
        if value < -max(LEAP * largest, LEAST_LEAP):  # the margin has ended by a jump of a force
            if not switched:
                self._note(s, f"a force jumps at a limit of {self._names[(row - c.first_margin) // 2]}, which no switch explains")
            return np.array(s.shift[: self._directions]) if switched else np.zeros(self._directions)
        if not abs(speed) > (GRAZING * largest / s.step_length if s.step_length > 0.0 else 0.0):
            contact = (row - c.first_margin) // 2
            self._note(s, f"{self._names[contact]} only touches its limit, where derivatives may not exist")
            return np.zeros(self._directions)
        return np.asarray(-change[:-1] / speed)

    def _closed(self, c: ContactModes) -> NDArray[np.int64]:
        """The contacts with an impulse that were open before."""
        struck = [n >= 0 and c.total[n] != 0.0 for n in c.normal]
        return np.flatnonzero(np.array(struck) & (c.mode_before[::MODE_ENTRIES] == 0.0))

    # ------------------------------------------------------------------------------------------------------ the state

    def _impact(self, s: Stepper, t: float, x: Reals, S: Reals, shift: Reals, p: Reals) -> Reals:
        """∂R/∂x S + ∂R/∂t τ′ + ∂R/∂θ."""
        c, run = s.modes, _functions()
        dual = _copy(c)
        found = self._programs["terms"](t, x, np.column_stack([S, np.zeros(len(x))]), self._memory.inputs, p)
        for name, (values, derivatives) in found.items():
            setattr(dual, name, dual_array(values, derivatives[:, :-1] + np.outer(derivatives[:, -1], shift)))
        dual.mode, dual.lost, dual.late = c.mode_before.copy(), 0.0, 0.0
        dual.total[:] = 0.0
        run["respond"](dual)
        run["respond_along_rows"](dual, True)
        run["activate"](dual, c.ended_margin)
        self._check_others(s, dual)
        stepper = SimpleNamespace(modes=dual, x=dual_array(x, S))
        run["collide"](stepper)
        impulses = plain_values(dual.total)
        if not np.allclose(impulses, c.total, rtol=1e-6, atol=1e-9 * float(np.abs(c.total).max())):
            self._note(s, "an impact is at a limit of its law, and derivatives are those of one side")
        return derivatives_of(stepper.x, self._directions)

    def _check_others(self, s: Stepper, dual: Any) -> None:
        """Note where contacts close at the same time, but not at the same time for other values."""
        gaps = derivatives_of(dual.gap, self._directions)
        size = float(np.abs(derivatives_of(dual.speed, self._directions)).max(initial=0.0))
        for i in np.flatnonzero(dual.active):
            was_open = dual.mode[MODE_ENTRIES * i] == 0.0
            if was_open and dual.normal[i] >= 0 and np.abs(gaps[i]).max(initial=0.0) > OFF_SURFACE * max(size, 1e-12):
                self._note(
                    s, f"{self._names[i]} closes together with another contact, or at the start: derivatives are of one side"
                )

    def _without_excluded_velocities(self, s: Stepper, t: float, S: Reals, p: Reals, begins: bool) -> Reals:
        """S without what the new modes exclude at velocity level, removed by impulses; noted where a start `begins` with it."""
        c, n = s.modes, self._states
        rows = [int(row) for row in c.permanent]
        for i, (closed, sticks) in enumerate(c.mode.reshape(-1, MODE_ENTRIES)[:, :2]):
            if closed and c.normal[i] >= 0:
                rows.append(int(c.normal[i]))
            if sticks:
                rows += [int(c.tangential[i]) + w for w in range(c.ways[i])]
        if not rows:
            return S
        found = self._programs["terms"](t, s.x[:n].copy(), np.column_stack([S, np.zeros(n)]), self._memory.inputs, p)
        left = found["speed"][1][rows, :-1]
        if begins and np.abs(left).max(initial=0.0) > OFF_SURFACE:
            self._note(s, "varied starts leave contacts that are closed or stick, which return to them at once")
        # M dv = Aᵀ P with A dv = −left. The responses satisfy the permanent rows, along which they are rounding errors: these
        # rows are solved for with the factors of the mechanism itself, which needs no inertia of what they determine.
        fixed = len(c.permanent)
        matrix = found["row"][0].reshape(c.rows, -1)
        own, of_contacts = slice(c.first_velocity, c.first_velocity + c.velocities), rows[fixed:]
        side = np.vstack([np.zeros((c.velocities, left.shape[1])), -left[:fixed]])
        remaining = left[fixed:] + matrix[of_contacts] @ _response(c, side)[: c.velocities]
        pushed = np.linalg.lstsq(c.delassus[np.ix_(of_contacts, of_contacts)], -remaining, rcond=1e-12)[0]
        side[: c.velocities] = matrix[of_contacts].T @ pushed
        change = _response(c, side)
        impulses = np.vstack([change[c.velocities :], pushed])
        driven = (found["speed"][0] - matrix @ s.x[own])[rows]  # of belts and moving ground
        S[own] += change[: c.velocities]
        S[c.work] -= driven @ impulses
        return S

    def _note(self, s: Stepper, what: str) -> None:
        text = f"sensitivities: at {time_text(float(s.t))} {what}"
        if text not in self.notes:
            self.notes.append(text)


def _response(c: ContactModes, sides: Reals) -> Reals:
    """Velocities and impulses of the permanent rows, from impulses and changes along these rows; a column for each."""
    found = sides.copy()
    for j in range(sides.shape[1]):
        column = sides[:, j].copy()
        dense_matrices.lu_solve(c.system, c.system_pivot, len(column), column)
        found[:, j] = column
    return found


class Jump(NamedTuple):
    """One change of modes: time, state and entries of p before and after it, ∂x⁺/∂(x⁻, θ) and ∂τ/∂(x⁻, θ)."""

    time: float
    before: tuple[Reals, Reals]
    after: tuple[Reals, Reals]
    matrix: Reals  # (states, states + directions)
    shift: Reals


class JumpMatrices(ContactJumps):
    """Records the matrices of all jumps by the state before them and by given directions, of a run with one direction of its own,
    for sweeps backwards."""

    def __init__(self, equations: Equations, directions: tuple[Direction, ...], memory: Memory) -> None:
        states = tuple(Direction(q.name, "x", i) for i, q in enumerate(equations.states))
        super().__init__(equations, (*states, *directions), memory)
        self.found: list[Jump] = []

    def _jump(self, s: Stepper) -> None:
        n, c = self._states, s.modes
        if s.shift_known != 0:
            raise ArgumentError("jumps of forces and of modes together have no matrix here; use simulate(…, sensitivity=…)")
        found = self._jumped(s, np.eye(n, self._directions))
        if found is None:
            matrix, shift = np.eye(n, self._directions), np.zeros(self._directions)
        else:
            matrix, shift = found
        p = self._memory.parameters
        own = [np.concatenate([p[: len(p) - len(m)], m]) for m in (c.mode_before, c.mode)]
        self.found.append(Jump(float(s.t), (c.state_before[:n].copy(), own[0]), (s.x[:n].copy(), own[1]), matrix, shift))

    def _without_excluded_velocities(self, s: Stepper, t: float, S: Reals, p: Reals, begins: bool) -> Reals:
        """The same, without notes on starts: here all states are varied, which consistent starts do not."""
        return super()._without_excluded_velocities(s, t, S, p, False)


# ----------------------------------------------------------------------------------------------------------- programs


class _Varied:
    """A program with its derivatives in some directions and by time, compiled."""

    def __init__(self, program: Any, directions: tuple[Direction, ...]) -> None:
        columns = _as_columns(program) if isinstance(program, Program) else program
        outputs = [slot.name for slot in columns.outputs]
        self._names = [RECORDED.get(name, name) for name in outputs]
        self._kernel: Kernel = compile(vary(columns, (*directions, _TIME), set(outputs)), quick=True)
        self._count = len(directions) + 1

    def __call__(self, t: float, x: Reals, S: Reals, u: Reals, p: Reals) -> Mapping[str, tuple[Reals, Reals]]:
        """By output: values (n), and derivatives (n, directions and time), where the last column of S belongs to time."""
        found = self._kernel([t], np.concatenate([x, S.T.reshape(-1)]), u, p)
        parts = (np.asarray(column).reshape(1 + self._count, -1) for column in found)
        return {name: (part[0], part[1:].T) for name, part in zip(self._names, parts, strict=True)}


def _as_columns(program: Program) -> Program:
    """The same program with matrices as columns."""
    symbols = program.symbols()
    results = program.function.call(symbols)
    inputs = {slot.name: symbol for slot, symbol in zip(program.inputs, symbols, strict=True)}
    return Program.build(program.name, inputs, {s.name: ca.vec(r) for s, r in zip(program.outputs, results, strict=True)})


@lru_cache(maxsize=32)
def _programs(equations: Equations, directions: tuple[Direction, ...]) -> dict[str, _Varied]:
    return {
        "margins": _Varied(equations.contact_margins, directions),
        "terms": _Varied(equations.contact_terms, directions),
    }


@cache
def _functions() -> dict[str, Any]:
    """Functions of the impact with dual numbers."""
    refined = {"refine_directions": _refined_directions, "curved_part": _refined_part, "iterate_forces": _plain_iteration}
    return in_arithmetic(_MODULES, DualMath, refined)[contact_modes.__name__]


def _plain_iteration(original: Any, names: dict[str, Any]) -> Any:
    """Iterated forces only show which modes are right, and need no derivatives."""
    del original, names

    def iterate(c: Any, count: int) -> bool:
        plain: Any = SimpleNamespace(**vars(c))
        for name in ("reaction", "result", "target", "delassus", "coefficient", "direction", "path_force"):
            numbers = getattr(c, name)
            setattr(plain, name, plain_values(numbers.reshape(-1)).reshape(numbers.shape))
        converged = contact_complementarity.iterate_forces(plain, count)
        for name in ("reaction", "result", "path_force"):
            getattr(c, name)[:] = getattr(plain, name)
        return converged

    return iterate


def _refined_directions(original: Any, names: dict[str, Any]) -> Any:
    """Directions found by bisection have no derivatives; Newton steps from there give these."""

    def refine_directions(c: Any) -> bool:
        if not original(c):
            return False
        turned = [i for i in range(c.contacts) if names["begins"](c, i) and c.ways[i] == 2]
        for _ in range(NEWTON_STEPS if turned else 0):
            if names["newton_angles"](c):
                for i in turned:
                    names["rotate"](c, i, c.angle[i])
            names["solve_choice"](c)
        return True

    return refine_directions


def _refined_part(original: Any, names: dict[str, Any]) -> Any:
    """The same for the end of a phase of an impact while the direction of its slip changes."""

    def curved_part(c: Any, i: int, kind: int, goal: Any) -> Any:
        part, y = original(c, i, kind, goal), c.path
        rest = names["left"](y, kind, goal)
        if rest <= 0.0:
            rate = c.path_rate[0]
            names["path_rates"](c, i, y, rate)
            more = rest / rate[(0, 4, 3)[kind]]
            for j in range(7):
                y[j] = y[j] + rate[j] * more
        return part

    return curved_part


def _copy(c: ContactModes) -> Any:
    """A record for dual numbers: arrays of numbers take any object."""
    made = SimpleNamespace()
    for name in ContactModes.__annotations__:
        value = getattr(c, name)
        if isinstance(value, np.ndarray):
            value = value.astype(object) if value.dtype == np.float64 and not name.startswith("change_") else value.copy()
        setattr(made, name, value)
    return made

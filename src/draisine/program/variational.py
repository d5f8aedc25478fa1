"""First-order variational equations: programs that propagate sensitivities.

With directions θ_j (parameters, inputs, or initial values only) and S_j = ∂x/∂θ_j, the state (x, S₁, …, S_k) fulfills

    ẋ = f(t, x, u, p),        Ṡ_j = ∂f/∂x S_j + ∂f/∂θ_j,

and a map of states x ↦ g(x, p), such as a projection, becomes (x, S_j) ↦ (g, ∂g/∂x S_j + ∂g/∂θ_j). The Jacobian is formed once
and shared by all directions. Where K z = r is solved at run time, K ∂z = ∂r − ∂(K z) is solved with the same factors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from draisine.errors import ArgumentError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program, Slot

REMAINING_COMPLIANCE = 1e-4  # of dependent rows of contacts, in derivatives
MAX_DIRECTIONS = 16  # beyond it forward differentiation in each direction is not tried


@dataclass(frozen=True)
class Direction:
    """One direction: entry `place` of the slot "p" or "u"; with the slot "x" a change of the initial state only."""

    name: str
    slot: str
    place: int = 0


@dataclass(frozen=True, eq=False)
class _Seeds:
    """Symbols of differentiation, and the matrix of their changes in every direction."""

    arguments: dict[str, ca.SX]  # t, x, u, p (and xdot) of the varied program
    inner: list[ca.SX]  # the arguments of the original program
    symbols: ca.SX
    changes: ca.SX

    def of(self, expression: ca.SX) -> ca.SX:
        """The derivative of an expression in every direction, as columns, by the mode with the fewest operations.

        Forward mode in each direction for few directions; otherwise a Jacobian, by columns or by rows.
        """
        column = ca.vec(expression)
        ways: list[ca.SX] = []
        for weight in (0.0, 1.0):  # by columns, by rows
            ways.append(ca.jacobian(column, self.symbols, {"helper_options": {"ad_weight": weight}}) @ self.changes)
        if 0 < self.changes.shape[1] <= MAX_DIRECTIONS:
            ways.append(ca.jtimes(column, self.symbols, ca.densify(self.changes)))
        return min(ways, key=_operations)


def vary(
    what: Program | LinearSolveProgram, directions: Sequence[Direction], outputs: Collection[str]
) -> Program | LinearSolveProgram:
    """The same program on states (x, S₁, …, S_k). Each of the named outputs, all columns, becomes (value, derivatives).

    >>> import casadi as ca
    >>> t, x, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 1), ("u", 0), ("p", 1)))
    >>> decay = Program.build("decay", {"t": t, "x": x, "u": u, "p": p}, {"xdot": -p * x**2})
    >>> vary(decay, [Direction("p", "p", 0)], {"xdot"})([0.0], [3.0, 0.5], [], [2.0])[0].tolist()
    [-18.0, -15.0]
    """
    seeds = _carried(what.inputs, directions)
    return _differentiated(what, seeds, f"{what.name}_varied", outputs)


def jacobian(what: Program | LinearSolveProgram, directions: Sequence[Direction]) -> Program | LinearSolveProgram:
    """(t, x, u, p) → the outputs, and "jacobian": ∂(all outputs, stacked)/∂(x, θ)."""
    symbols = {slot.name: ca.SX.sym(slot.name, slot.size) for slot in what.inputs}
    by = ca.vertcat(symbols["x"], *[symbols[d.slot][d.place] for d in directions if d.slot != "x"])
    seeds = _Seeds(symbols, list(symbols.values()), by, ca.SX.eye(by.numel()))
    return _differentiated(what, seeds, f"{what.name}_slopes", (), whole=True)


def widen(program: Program, states: int) -> Program:
    """The same program with `states` unused entries appended to its state."""
    seeds = _carried(program.inputs, (), states)
    results = program.function.call(seeds.inner)
    outs = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
    return Program.build(program.name, seeds.arguments, outs)


def widen_solved(what: LinearSolveProgram, states: int) -> LinearSolveProgram:
    """The same for a program that solves linear systems."""
    further, start = (None if program is None else widen(program, states) for program in (what.further, what.start))
    return replace(what, system=widen(what.system, states), after=widen(what.after, states), further=further, start=start)


def vary_residual(what: DaeResidual, directions: Sequence[Direction]) -> DaeResidual:
    """0 = F(t, x, ẋ, u, p) together with 0 = ∂F/∂x S + ∂F/∂ẋ Ṡ + ∂F/∂θ."""
    seeds = _carried(what.inputs, directions)
    (residual,) = what.residual.function.call(seeds.inner)
    labels = _labels(what.residual.output("residual"), directions)
    results: Any = {"residual": (_stacked(residual, seeds.of(residual)), labels)}
    program = Program.build(f"{what.residual.name}_varied", seeds.arguments, results)
    return DaeResidual(f"{what.name}_varied", program, what.index * (1 + len(directions)))


def state_names(names: Sequence[str], directions: Sequence[Direction]) -> list[str]:
    """Names of the entries of (x, S₁, …, S_k)."""
    return [*names, *(f"{name} by {d.name}" for d in directions for name in names)]


# ------------------------------------------------------------------------------------------------------- construction


def _carried(slots: Sequence[Slot], directions: Sequence[Direction], idle: int = 0) -> _Seeds:
    """Arguments whose states (and rates, if any) include sensitivities, or `idle` unused entries."""
    arguments: dict[str, ca.SX] = {}
    inner, symbols, changes = [], [], []
    for slot in slots:
        if slot.name not in ("x", "xdot"):
            arguments[slot.name] = ca.SX.sym(slot.name, *slot.shape)
            inner.append(arguments[slot.name])
            continue
        whole = ca.SX.sym(slot.name, slot.size * (1 + len(directions)) + idle)
        arguments[slot.name] = whole
        inner.append(whole[: slot.size])
        symbols.append(whole[: slot.size])
        changes.append(ca.reshape(whole[slot.size : slot.size * (1 + len(directions))], slot.size, len(directions)))
    for j, direction in enumerate(directions):
        if direction.slot != "x":
            symbols.append(arguments[direction.slot][direction.place])
            unit = ca.SX(1, len(directions))
            unit[0, j] = 1.0
            changes.append(unit)
    return _Seeds(arguments, inner, ca.vertcat(*symbols), ca.vertcat(*changes))


def _operations(expression: ca.SX) -> int:
    # before elimination of common subexpressions, which saves a few percent in any mode and takes longer than all else
    return int(ca.n_nodes(expression))


def _stacked(value: ca.SX, derivatives: ca.SX) -> ca.SX:
    return ca.vertcat(value, ca.vec(ca.densify(derivatives)))


def _labels(slot: Slot, directions: Sequence[Direction]) -> list[str]:
    return state_names(slot.labels, directions) if slot.labels else []


def _differentiated(
    what: Program | LinearSolveProgram, seeds: _Seeds, name: str, outputs: Collection[str], whole: bool = False
) -> Program | LinearSolveProgram:
    if isinstance(what, Program):
        results = what.function.call(seeds.inner)
        return Program.build(name, seeds.arguments, _results(what, results, [seeds.of(r) for r in results], outputs, whole))
    if what.further is not None:
        raise ArgumentError(f"{what.name!r} is a derivative already, and its solutions can be differentiated only once")
    what = _stiffer(what)
    z = ca.SX.sym("z", what.size)
    matrix, side = what.linear(seeds.inner, z)
    sides = seeds.of(side - matrix @ z)
    count, compliance = sides.shape[1], ca.jacobian(side, z) if what.factorized_once else ca.SX(0, 0)
    rows = sorted(set(compliance.sparsity().row()))
    sides = ca.horzcat(sides, *[compliance[:, row] for row in rows])
    solutions = ca.SX.sym("solutions", what.size, 1 + sides.shape[1])
    # (K + E) z′ = s leaves an error of E z′, the first term of which is removed: z′ + (K + E)⁻¹ E z′
    derived = solutions[:, 1 : 1 + count]
    derived = derived + solutions[:, 1 + count :] @ derived[rows, :] if rows else derived
    results = what.after.function.call([*seeds.inner, z])
    through = [ca.jacobian(ca.vec(r), z) @ derived for r in results]
    derivatives = [seeds.of(r) + via for r, via in zip(results, through, strict=True)]
    made = _results(what, results, derivatives, outputs, whole)
    after = {key: ca.substitute(value, z, solutions[:, 0]) for key, value in made.items()}
    idle = seeds.arguments["x"].numel() - what.input("x").size
    return replace(
        what,
        name=name,
        system=widen(what.system, idle),
        start=None if what.start is None else widen(what.start, idle),
        further=Program.build(f"{name}_sides", {**seeds.arguments, "z": z}, {"sides": sides}),
        after=Program.build(name, {**seeds.arguments, "solutions": solutions}, after),
    )


def _stiffer(what: LinearSolveProgram) -> LinearSolveProgram:
    """The same system with less of the compliance that its iteration removes (`augmented.contact_modes.compliant`): derivatives
    are solved for without an iteration."""
    if not what.factorized_once:
        return what
    arguments, z = dict(zip((slot.name for slot in what.inputs), what.symbols(), strict=True)), ca.SX.sym("z", what.size)
    matrix, side = what.linear(list(arguments.values()), z)
    surplus = (1.0 - REMAINING_COMPLIANCE) * ca.jacobian(side, z)
    entries = ca.SX(ca.project(matrix - surplus, what.entry_pattern.sparsity).nz[:])
    made = Program.build(what.system.name, {**arguments, "z": z}, {"entries": entries, "side": side - surplus @ z})
    return replace(what, system=made)


def _results(
    what: Program | LinearSolveProgram,
    values: Sequence[ca.SX],
    derivatives: Sequence[ca.SX],
    outputs: Collection[str],
    whole: bool,
) -> dict[str, ca.SX]:
    made = {
        slot.name: _stacked(value, slope) if slot.name in outputs else value
        for slot, value, slope in zip(what.outputs, values, derivatives, strict=True)
    }
    return {**made, "jacobian": ca.densify(ca.vertcat(*derivatives))} if whole else made


def split(states: Any, count: int, directions: int) -> tuple[Any, Any]:
    """Split states (n, …) with sensitivities into x (n, count) and S (n, count, directions)."""
    array = np.asarray(states)
    x, rest = array[:, :count], array[:, count : count * (1 + directions)]
    return x, rest.reshape(len(array), directions, count).transpose(0, 2, 1)

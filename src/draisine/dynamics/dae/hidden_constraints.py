"""Explicit and hidden constraints of a differential-algebraic system on its unknowns.

A consistent start satisfies both. Hidden constraints are derivatives of rows; where these still contain rates (a mass matrix that
is not inverted), the rates are solved for symbolically and substituted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from draisine.dynamics.dae.prolongation import Prolongation, entries
from draisine.dynamics.dae.signature_method import Offsets, coupled, offsets
from draisine.dynamics.dae.structure import structure
from draisine.numerics.rank import condition_share, rank_of
from draisine.program.equations import Constraint, Equations, Kind
from draisine.program.program import DaeResidual, Program

BETTER = 10.0  # ratio of condition numbers for which other rows are taken to determine rates
MOST_SOLVED = 60  # largest block of rates that is solved for symbolically


@dataclass(frozen=True)
class Condition:
    """A condition on the unknowns: a row of the system differentiated `times` times."""

    equation: str
    times: int
    residual: ca.SX

    @property
    def name(self) -> str:
        return self.equation + "_rate" * self.times

    @property
    def constraint(self) -> Constraint:
        return Constraint(self.name, Kind.HIDDEN if self.times else Kind.ALGEBRAIC, "position")


@dataclass(frozen=True)
class Conditions:
    """The conditions that were found, and notes on those that could not be."""

    found: tuple[Condition, ...]
    notes: tuple[str, ...] = ()


def sample_point(equations: Equations) -> tuple[np.ndarray, ...]:
    """(t, y, u, p) near the defaults, where nothing is zero by coincidence."""
    defaults = np.array([q.default for q in equations.coordinates])
    moved = 0.01 * np.random.default_rng(1).uniform(0.5, 1.0, len(defaults)) * np.maximum(1.0, np.abs(defaults))
    return np.zeros(1), defaults + moved, np.zeros(len(equations.inputs)), equations.default_parameters


def conditions(system: Prolongation, found: Offsets, sample: tuple[np.ndarray, ...]) -> Conditions:
    """Rows and their derivatives as conditions on the unknowns. `sample` is (t, y, u, p) at which the solvability for rates is
    tested."""
    plain: list[Condition] = []
    mixed: list[Condition] = []
    for i, row in enumerate(system.rest):
        for times in range(found.equations[i] + 1):
            expression = system.derivative(i, times)
            condition = Condition(system.equations[row], times, expression)
            (mixed if ca.depends_on(expression, system.jets) else plain).append(condition)
    solved, notes = _without_rates(system, found, mixed, sample) if mixed else ([], ())
    order = {system.equations[row]: i for i, row in enumerate(system.rest)}
    ordered = sorted(plain + solved, key=lambda c: (c.times, order[c.equation]))
    return Conditions(tuple(ordered), notes)


def _without_rates(
    system: Prolongation, found: Offsets, mixed: list[Condition], sample: tuple[np.ndarray, ...]
) -> tuple[list[Condition], tuple[str, ...]]:
    """Conditions on the unknowns from rows with rates, after elimination of the rates."""
    rates = [k for k, d in enumerate(found.unknowns) if d == 1]
    if len(mixed) <= len(rates):
        return [], ()  # all of them are needed for the rates
    names = ", ".join(repr(c.name) for c in mixed if c.times)
    missing = f"conditions on the unknowns that follow from {names} are not among the constraints"
    used = set(entries(ca.vertcat(*[c.residual for c in mixed]), system.jets))
    if not used <= set(rates):
        return [], (f"{missing}: they contain derivatives beyond the first",)
    symbols = system.jet(1)[rates]
    determining, remaining = _split_rows(mixed, symbols, [system.t, system.y, system.u, system.p], sample)
    rows = ca.vertcat(*[c.residual for c in determining])
    matrix = ca.jacobian(rows, symbols)
    if ca.depends_on(matrix, symbols):
        return [], (f"{missing}: rates enter nonlinearly",)
    if not solvable([system.t, system.y, system.u, system.p], matrix, sample):
        return [], (f"{missing}: the rates are too many, or not determined, to be solved for symbolically",)
    rest = ca.substitute(rows, symbols, ca.SX.zeros(len(rates)))
    values = ca.solve(matrix, -rest)
    substituted = ca.substitute([c.residual for c in remaining], [symbols], [values])
    return [replace(c, residual=expression) for c, expression in zip(remaining, substituted, strict=True)], ()


def _split_rows(
    mixed: list[Condition], rates: ca.SX, symbols: Sequence[ca.SX], sample: Sequence[np.ndarray]
) -> tuple[list[Condition], list[Condition]]:
    """Rows that determine the rates, the least differentiated ones if possible, and the remaining rows.

    Of rows that are differentiated equally often, those with large entries at the sample, if the rates are much better
    determined by them: the rate of G(p, q) ṗ = 0 contains that of q, but not at rest.
    """
    from scipy.optimize import linear_sum_assignment

    every = ca.vertcat(*[c.residual for c in mixed])
    pattern = ca.jacobian_sparsity(every, rates)
    price = np.full((len(mixed), rates.numel()), 1e6)
    for i, k in zip(*pattern.get_triplet(), strict=True):
        price[i, k] = mixed[i].times
    determining = sorted(linear_sum_assignment(price)[0].tolist())
    entries_of = ca.Function("entries", list(symbols), [ca.densify(ca.jacobian(every, rates))], {"allow_free": True})
    if not entries_of.has_free():
        values = np.abs(entries_of(*sample).full())
        if np.isfinite(values).all() and values.max(initial=0.0) > 0.0:
            sizes = np.log10(np.maximum(values / values.max(), 1e-12)) / -12.0  # from 0 for the largest to 1
            other = sorted(linear_sum_assignment(price + 0.5 * sizes)[0].tolist())
            shares = [condition_share(entries_of(*sample).full()[rows]) for rows in (determining, other)]
            determining = other if shares[1] > BETTER * shares[0] else determining
    return [c for i, c in enumerate(mixed) if i in determining], [c for i, c in enumerate(mixed) if i not in determining]


def solvable(symbols: Sequence[ca.SX], matrix: ca.SX, sample: Sequence[np.ndarray]) -> bool:
    """Whether a linear system can be solved symbolically: square, regular at the sample, and with blocks that are not too
    large."""
    if matrix.shape[0] != matrix.shape[1] or int(np.diff(matrix.sparsity().btf()[3]).max(initial=0)) > MOST_SOLVED:
        return False
    given = ca.Function("given", list(symbols), [ca.densify(matrix)], {"allow_free": True})
    if given.has_free():
        return False
    values = given(*sample).full()
    return bool(np.isfinite(values).all() and rank_of(values, np.finfo(float).eps * len(values)) == len(values))


def indices(system: Prolongation) -> tuple[int, ...]:
    """The index of each unknown, by structure: 1 + max(c_i − d_j) over the equations that determine it.

    A disturbance δ of equation i enters x_j^(d_j) as δ^(c_i), hence x_j as δ^(c_i − d_j) (Hairer, Lubich & Roche 1989).
    """
    signature = system.whole_signature
    found = offsets(signature, system.equations, system.unknowns, system.name)
    taking_part = coupled(signature, found)
    c = np.array(found.equations)
    highest = [int(c[taking_part[j]].max()) - d for j, d in enumerate(found.unknowns)]
    return tuple(max(1, 1 + h) for h in highest)


def with_hidden_constraints(equations: Equations) -> Equations:
    """The same implicit equations with their constraints, explicit and hidden, in `constraints`, `motion` and `report`.

    Inputs are constants here: where a law drives a constraint, substitute the law first (`with_laws` does).
    """
    dynamics = equations.dynamics
    assert isinstance(dynamics, DaeResidual)  # only implicit systems have hidden constraints
    shape = structure(equations)
    system = shape.system
    known = conditions(system, shape.offsets, sample_point(equations))
    symbols = [system.t, system.y, system.u, system.p]
    expressions = [c.residual for c in known.found]
    residuals = ca.Function("residuals", symbols, [ca.vertcat(*expressions) if expressions else ca.SX(0, 1)])
    constraints = tuple(c.constraint for c in known.found)
    return replace(
        equations,
        dynamics=replace(dynamics, index=indices(system)),
        constraints=constraints,
        motion=_with_residuals(equations.motion, residuals, constraints),
        report=_with_residuals(_program(equations), residuals, constraints),
        notes=tuple(dict.fromkeys((*equations.notes, *shape.notes, *known.notes))),
    )


def _program(equations: Equations) -> Program:
    assert isinstance(equations.report, Program)  # implicit systems solve for nothing
    return equations.report


def _with_residuals(program: Program, residuals: ca.Function, constraints: tuple[Constraint, ...]) -> Program:
    """The program with other residuals; it takes x, or q and no v."""
    arguments = program.symbols()
    named = {slot.name: symbol for slot, symbol in zip(program.inputs, arguments, strict=True)}
    results = program.function.call(arguments)
    outs = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
    y = named["x"] if "x" in named else named["q"]
    (values,) = residuals.call([named["t"], y, named["u"], named["p"]])
    outs["residuals"] = (values, tuple(f"{c.name}_{c.level}" for c in constraints))
    ins = {slot.name: (named[slot.name], slot.labels) for slot in program.inputs}
    units = {n: unit for slot in (*program.inputs, *program.outputs) for n, unit in zip(slot.labels, slot.units, strict=False)}
    return Program.build(program.name, ins, outs, units)

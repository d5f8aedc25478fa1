"""One phase of a maneuver in symbols: the states it needs, and its conditions at the nodes and at the ends."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.control_turns import periods
from draisine.optimal.epigraph import Epigraph, epigraph, kinks
from draisine.optimal.node_functions import Formula
from draisine.optimal.scaling import (
    COMPUTED,
    MOST_BOUND,
    ROUNDED,
    Samples,
    Sizes,
    balanced,
    ordinary,
    row_sizes,
    shortest_duration,
)
from draisine.optimal.symbolic_model import Condition, SymbolicModel
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Phase:
    """Data of a phase for transcription. y are all states of the symbolic model, `kept` those that the problem depends on."""

    symbols: SymbolicModel
    kept: tuple[str, ...]
    unknown_parameters: tuple[str, ...]  # of all phases, some of which this model may not have
    p: Reals
    inputs: Reals
    start: Reals  # y
    start_fixed: bool
    start_rows: tuple[Condition, ...]
    end: Reals  # y, a state that satisfies the conditions at the end
    ends: tuple[Condition, ...]
    returns: tuple[tuple[str, ca.SX], ...]
    path: tuple[Condition, ...]
    limits: Mapping[str, tuple[float, float]]  # of kept states and controls
    integrand: ca.SX | None
    final: ca.SX | None
    time_weight: float
    times: tuple[float, float]
    duration: float  # initial guess
    dropped: tuple[tuple[str, ca.SX, float], ...]  # conditions at the end that others imply
    notes: tuple[str, ...]

    # ---------------------------------------------------------------- sizes and symbols

    @property
    def equations(self) -> Equations:
        return self.symbols.equations

    @property
    def controls(self) -> tuple[str, ...]:
        return self.symbols.controls

    @cached_property
    def kept_indices(self) -> list[int]:
        """Indices of the kept states among y."""
        index = {name: i for i, name in enumerate(self.symbols.state_names)}
        return [index[name] for name in self.kept]

    @property
    def algebraic_size(self) -> int:
        return int(self.symbols.z.numel())

    @cached_property
    def y(self) -> ca.SX:
        return stacked([self.symbols.y[i] for i in self.kept_indices])

    @cached_property
    def _begin(self) -> ca.SX:
        return ca.SX.sym("t0")

    @cached_property
    def _length(self) -> ca.SX:
        return ca.SX.sym("T")

    @cached_property
    def shared(self) -> ca.SX:
        """t₀, T and the unknown parameters."""
        index = {q.name: i for i, q in enumerate(self.equations.parameters)}
        p = self.symbols.plant.p
        unknown = [p[index[n]] if n in index else ca.SX.sym(n) for n in self.unknown_parameters]
        return ca.vertcat(self._begin, self._length, *unknown)

    @cached_property
    def _rest(self) -> tuple[ca.SX, Reals]:
        """Constant parameters and inputs: symbols and values."""
        plant, e = self.symbols.plant, self.equations
        known = [i for i, q in enumerate(e.parameters) if q.name not in self.unknown_parameters]
        constant = [i for i, q in enumerate(e.inputs) if q.name not in self.controls]
        symbols = stacked([*(plant.p[i] for i in known), *(plant.inputs[i] for i in constant)])
        return symbols, np.concatenate([self.p[known], self.inputs[constant]])

    # ---------------------------------------------------------------- at the nodes

    @cached_property
    def node(self) -> Formula:
        """(y, z, u, shared), (τ, rest) → T f, g, path, T integrand."""
        return self._at_nodes("node", with_path=True)

    @cached_property
    def epigraph(self) -> Epigraph | None:
        """The integrand with unknowns in place of magnitudes; None if there are none that can be replaced."""
        return self._epigraph_of(self.integrand)

    @cached_property
    def final_epigraph(self) -> Epigraph | None:
        """The cost at the end, in the same form."""
        return self._epigraph_of(self.final)

    def _epigraph_of(self, cost: ca.SX | None) -> Epigraph | None:
        return None if cost is None or not kinks(cost, self._ranges) else epigraph(cost, self._ranges)

    @cached_property
    def _ranges(self) -> dict[int, tuple[float, float]]:
        """Limits of all variables, by their `element_hash`."""
        plant, e = self.symbols.plant, self.equations
        known = dict(zip((q.name for q in e.inputs), zip(self.inputs, self.inputs, strict=True), strict=True))
        known |= dict(zip((q.name for q in e.parameters), zip(self.p, self.p, strict=True), strict=True))
        anything = dict.fromkeys((*self.controls, *self.unknown_parameters), (-np.inf, np.inf))
        known = {"t": (0.0, np.inf)} | known | anything | dict(self.limits)
        named = [("t", plant.t)]
        for quantities, symbols in ((e.states, plant.x), (e.inputs, plant.inputs), (e.parameters, plant.p)):
            named += [(q.name, symbols[i]) for i, q in enumerate(quantities)]
        return {s.element_hash(): known[name] for name, s in named if name in known}

    @cached_property
    def smooth_node(self) -> Formula:
        """(y, z, u, shared, s), (τ, rest) → T f, g, path, s − e, s + e, T integrand, with s in place of the magnitudes of e."""
        if self.epigraph is None:
            return self.node
        path = [c.value for c in self.path]
        value = ca.vertcat(
            self._scaled_rates, self.symbols.algebraic, *path, self.epigraph.rows, self._length * self.epigraph.cost
        )
        return self._formula("smooth_node", value, self.epigraph.slacks)

    @cached_property
    def constant_magnitudes(self) -> bool:
        """Whether magnitudes are replaced that depend on controls and parameters alone: constant where controls are."""
        varying = ca.vertcat(self.symbols.plant.t, self.symbols.y, self.symbols.z)
        return self.epigraph is not None and not ca.depends_on(self.epigraph.arguments, varying)

    @cached_property
    def smooth_motion(self) -> Formula:
        """(y, z, u, shared, s), (τ, rest) → T f, T integrand, with s in place of magnitudes that are constant in an interval."""
        if self.epigraph is None or not self.constant_magnitudes:
            return self.motion
        return self._formula(
            "smooth_motion", ca.vertcat(self._scaled_rates, self._length * self.epigraph.cost), self.epigraph.slacks
        )

    @cached_property
    def magnitude_rows(self) -> Formula:
        """(y, z, u, shared, s), (τ, rest) → s − e, s + e."""
        assert self.epigraph is not None
        return self._formula("magnitude_rows", self.epigraph.rows, self.epigraph.slacks)

    @cached_property
    def magnitudes(self) -> Formula | None:
        """(y, z, u, shared), (τ, rest) → e, whose magnitudes the integrand has."""
        return None if self.epigraph is None else self._formula("magnitudes", self.epigraph.arguments)

    @cached_property
    def motion(self) -> Formula:
        """(y, z, u, shared), (τ, rest) → T f, T integrand."""
        return self._at_nodes("motion", with_path=False)

    @cached_property
    def path_formula(self) -> Formula:
        """(y, z, u, shared), (τ, rest) → path."""
        return self._formula("path", stacked([c.value for c in self.path]))

    @cached_property
    def path_of_controls(self) -> list[int]:
        """Indices of the path conditions, without equations, that depend on controls or forces and jump with them."""
        inner = ca.vertcat(self.symbols.z, self.symbols.plant.u)
        if not inner.numel():
            return []
        return [i for i, c in enumerate(self.path) if not c.equation and ca.depends_on(c.value, inner)]

    @cached_property
    def linear_controls(self) -> tuple[bool, ...]:
        """Whether rates and cost, in epigraph form, are linear in each control: an arc on which it is between its bounds is
        singular, or follows a path condition."""
        cost = self.integrand if self.epigraph is None else self.epigraph.cost
        value = ca.vertcat(self._scaled_rates, self.symbols.algebraic, *([] if cost is None else [cost]))
        each = ca.vertsplit(self.symbols.plant.u) if self.controls else []
        return tuple(not ca.depends_on(ca.jacobian(value, u), u) for u in each)

    @cached_property
    def control_periods(self) -> list[float]:
        """Of each control its period in rates, cost and conditions: of a heading a whole turn; zero where there is none."""
        ends = [*(c.value for c in self.ends), *([] if self.final is None else [self.final])]
        cost = [] if self.integrand is None else [self.integrand]
        value = ca.vertcat(self._scaled_rates, self.symbols.algebraic, *(c.value for c in self.path), *ends, *cost)
        return periods(value, ca.vertsplit(self.symbols.plant.u) if self.controls else [])

    @property
    def _scaled_rates(self) -> ca.SX:
        return self._length * stacked([self.symbols.rates[i] for i in self.kept_indices])

    def _at_nodes(self, name: str, with_path: bool) -> Formula:
        between = [self.symbols.algebraic, *(c.value for c in self.path)] if with_path else []
        integrand = [] if self.integrand is None else [self._length * self.integrand]
        return self._formula(name, ca.vertcat(self._scaled_rates, *between, *integrand))

    def _formula(self, name: str, value: ca.SX, *further: ca.SX) -> Formula:
        tau = ca.SX.sym("tau")
        plant, symbols = self.symbols.plant, self._rest[0]
        timed = ca.substitute(value, plant.t, self._begin + self._length * tau)
        arguments = ca.vertcat(self.y, self.symbols.z, plant.u, self.shared, *further)
        return Formula.build(f"{self.equations.name}_{name}", arguments, ca.vertcat(tau, symbols), timed)

    def node_numbers(self, tau: Reals) -> Reals:
        """(nodes, values): τ and the constant parameters and inputs."""
        return np.column_stack([tau, np.tile(self._rest[1], (len(tau), 1))])

    # ---------------------------------------------------------------- at the ends

    @cached_property
    def ends_use(self) -> bool:
        """Whether conditions at the end depend on controls or algebraic unknowns there."""
        values = stacked([*(c.value for c in self.ends), *([] if self.final is None else [self.final])])
        inner = ca.vertcat(self.symbols.z, self.symbols.plant.u)
        return bool(inner.numel()) and bool(values.numel()) and bool(ca.depends_on(values, inner))

    @cached_property
    def boundary(self) -> Formula | None:
        """(y₀, y₁, z₁, u₁, shared, s), rest → rows of the start, rows of the end, periodicity, s − e, s + e, final cost."""
        plant, v = self.symbols.plant, self.symbols
        y0, t1 = ca.SX.sym("start", len(self.kept)), self._begin + self._length

        def at_start(value: ca.SX) -> ca.SX:
            return ca.substitute(ca.substitute(value, plant.t, self._begin), self.y, y0)

        rows = [at_start(c.value) for c in self.start_rows]
        rows += [ca.substitute(c.value, plant.t, t1) for c in self.ends]
        rows += [ca.substitute(value, plant.t, t1) - at_start(value) for _, value in self.returns]
        final, smooth = self.final, self.final_epigraph
        if smooth is not None:
            final = smooth.cost
            rows.append(ca.substitute(smooth.rows, plant.t, t1))
        rows += [] if final is None else [ca.substitute(final, plant.t, t1)]
        if not rows:
            return None
        arguments = ca.vertcat(y0, self.y, v.z, plant.u, self.shared, *([] if smooth is None else [smooth.slacks]))
        return Formula.build(f"{self.equations.name}_ends", arguments, self._rest[0], stacked(rows))

    def numbers(self) -> Reals:
        return self._rest[1]

    # ---------------------------------------------------------------- sizes

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of all quantities by the statement and the equations."""
        v, nz, given = self.symbols, self.algebraic_size, self._stated_sizes[0]
        ny = v.y.numel()
        found = self._balanced if self._plain else np.where(np.isfinite(given), given, 1.0)
        rights = [self._statement_samples.largest(c.right)[0] if c.right is not None else 0.0 for c in self.path]
        return Sizes(
            found[self.kept_indices],
            found[ny : ny + nz],
            found[ny + nz :],
            self._row_sizes(self.path, found, np.array(rights)),
            self._row_sizes(self.start_rows, found),
            self._row_sizes(self.ends, found),
            self._row_sizes([Condition(name, value, 0.0, 0.0) for name, value in self.returns], found),
            self._cost_size(found),
            self._row_sizes(_magnitudes(self.epigraph), found),
            self._row_sizes(_magnitudes(self.final_epigraph), found),
        )

    @property
    def _plain(self) -> bool:
        """Whether the equations are ẏ = f(y, u) without constraints."""
        e, v = self.equations, self.symbols
        return isinstance(e.dynamics, Program) and not e.quaternions and not v.plant.residuals.numel()

    @property
    def _balanced(self) -> Reals:
        """Sizes of (y, u) by the equations."""
        samples = self._statement_samples
        rates = stacked(ca.vertsplit(self.symbols.rates))
        return balanced(samples.jacobian(rates), samples.largest(rates), *self._stated_sizes, self.duration)

    @property
    def needed_duration(self) -> float | None:
        """About the shortest duration in which bounded controls lead from the start to the end; None if that is not known."""
        controls = np.array([_magnitude(self.limits.get(name, (np.inf,))) for name in self.controls])
        if not self._plain or not self.start_fixed or (controls == 0.0).any():
            return None
        wanted = np.abs(self.end - self.start)
        wanted[wanted <= ROUNDED * np.maximum(np.abs(self.end), np.abs(self.start)).max(initial=0.0)] = 0.0
        samples, rates = self._statement_samples, stacked(ca.vertsplit(self.symbols.rates))
        return shortest_duration(samples.jacobian(rates), samples.largest(rates), controls, wanted)

    @cached_property
    def _statement_samples(self) -> Samples:
        """Points between the start and a state that meets the conditions at the end."""
        v, e, plant = self.symbols, self.equations, self.symbols.plant
        constant = [i for i, q in enumerate(e.inputs) if q.name not in self.controls]
        chosen = [i for i, q in enumerate(e.inputs) if q.name in self.controls]
        shares = np.array([0.0, 0.5, 1.0])
        y = self.start + shares[:, None] * (self.end - self.start)
        x = np.zeros((len(y), len(e.states)))
        x[:, v.state_indices] = y
        inputs = np.tile(self.inputs, (len(y), 1))
        z = algebraic_guess(v, shares * self.duration, x, inputs, self.p)
        rest = [plant.t, plant.p, stacked([plant.inputs[i] for i in constant])]
        numbers = [np.array([0.5 * self.duration]), self.p, self.inputs[constant]]
        return Samples(ca.vertcat(v.y, v.z, plant.u), rest, np.hstack([y, z, inputs[:, chosen]]), numbers)

    @cached_property
    def _stated_sizes(self) -> tuple[Reals, Reals]:
        """Of (y, z, u): magnitudes at the start and at the end, and bounds of controls, NaN where they are zero; and bounds of
        states, infinite where there are none."""
        v = self.symbols
        found = np.maximum(np.abs(self.start), np.abs(self.end))
        found[found <= (ROUNDED * found.max(initial=0.0) if self._plain else COMPUTED)] = 0.0
        caps = np.full(len(found) + self.algebraic_size + len(self.controls), np.inf)
        for i, name in enumerate(v.state_names):
            caps[i] = min(_magnitude(self.limits.get(name, ())), MOST_BOUND) or np.inf
            for c in self.ends:
                if ca.is_equal(c.value, v.y[i]):
                    found[i] = max(found[i], _magnitude((c.low, c.high)))
        controls = [_magnitude(self.limits.get(name, ())) for name in self.controls]
        every = np.concatenate([found, np.zeros(self.algebraic_size), controls])
        return np.where(every > 0.0, every, np.nan), caps

    def _row_sizes(self, rows: Sequence[Condition], sizes: Reals, rights: Reals | None = None) -> Reals:
        if not rows:
            return np.zeros(0)
        stated = [_magnitude((c.low, c.high)) for c in rows]
        if not self._plain:
            return np.array([max(1.0, s) for s in stated])
        both = stated if rights is None else [max(a, b) for a, b in zip(stated, rights.tolist(), strict=True)]
        jacobian = self._statement_samples.jacobian(stacked([c.value for c in rows]))
        return row_sizes(jacobian, sizes, both, [max(1.0, s) for s in stated])

    def _cost_size(self, sizes: Reals) -> float:
        """The change of the cost when quantities change by their sizes, at most 1: wide bounds make it too large, and
        a large cost only sharpens tolerances."""
        parts, samples = [abs(self.time_weight) * self.duration], self._statement_samples
        if self.integrand is not None:
            parts.append(self.duration * samples.change(self.integrand, sizes))
        if self.final is not None:
            parts.append(samples.change(self.final, sizes))
        return min(ordinary(max(parts)), 1.0)

    def evaluator(self, expressions: Mapping[str, ca.SX]) -> ca.Function:
        """(t, x, z, u, p) → each expression, in CasADi's interpreter."""
        plant = self.symbols.plant
        return evaluator(self.symbols, stacked(list(expressions.values())), plant.t)

    def kinks(self, scheme: object) -> tuple[str, ...]:
        """Functions in the cost whose derivatives jump, and which a method does not replace."""
        replaced = isinstance(scheme, Collocation) or (isinstance(scheme, MultipleShooting) and self.constant_magnitudes)
        integrand = self.epigraph.cost if self.epigraph is not None and replaced else self.integrand
        direct = isinstance(scheme, Collocation | MultipleShooting)
        final = self.final_epigraph.cost if self.final_epigraph is not None and direct else self.final
        return tuple(dict.fromkeys(k for e in (integrand, final) if e is not None for k in kinks(e, self._ranges)))

    @property
    def implicit(self) -> bool:
        return isinstance(self.equations.dynamics, DaeResidual)


def _magnitudes(of: Epigraph | None) -> list[Condition]:
    made = [] if of is None else ca.vertsplit(of.arguments)
    return [Condition(f"magnitude {k + 1} of the cost", e, 0.0, 0.0) for k, e in enumerate(made)]


def evaluator(symbols: SymbolicModel, value: ca.SX, t: ca.SX) -> ca.Function:
    """(t, y, z, u, p) → value."""
    plant = symbols.plant
    return ca.Function("evaluator", [t, symbols.y, symbols.z, plant.inputs, plant.p], [ca.densify(value)])


def needed_states(
    symbols: SymbolicModel, values: Sequence[ca.SX], named: Collection[str], rows: Sequence[ca.SX]
) -> tuple[str, ...]:
    """States on which the given values depend, directly or through the rates. `rows` couple states: if one is needed, all are."""
    y, names = symbols.y, symbols.state_names
    if isinstance(symbols.equations.dynamics, DaeResidual):
        return names  # each unknown has its part in 0 = F
    needed = {names.index(name) for name in named if name in names}
    needed |= _columns(stacked([symbols.algebraic, *values]), y)
    pattern = ca.jacobian_sparsity(symbols.rates, y)
    row, column = (np.array(part, dtype=int) for part in pattern.get_triplet())
    couplings = [_columns(r, y) for r in rows]
    while True:
        more = set(needed) | {int(c) for r, c in zip(row, column, strict=True) if r in needed}
        for coupling in couplings:
            more |= coupling if coupling & more else set()
        if more == needed:
            return tuple(name for i, name in enumerate(names) if i in needed)
        needed = more


def _columns(value: ca.SX, y: ca.SX) -> set[int]:
    if not value.numel() or not y.numel():
        return set()
    return {int(c) for c in ca.jacobian_sparsity(value, y).get_triplet()[1]}


def _magnitude(sides: Sequence[float]) -> float:
    return max((abs(s) for s in sides if math.isfinite(s)), default=0.0)


def middle(low: float, high: float) -> float:
    """Geometric mean of two durations."""
    return math.sqrt(low * high)


@dataclass(frozen=True, eq=False)
class PhaseValues:
    """Values of all unknowns of a phase."""

    begin: float
    duration: float
    states: Reals  # (points, kept)
    algebraic: Reals  # (nodes, z)
    controls: Reals  # (controls, u)


def algebraic_guess(v: SymbolicModel, t: Reals, x: Reals, inputs: Reals, p: Reals) -> Reals:
    """z at states x: the solution of `LinearSolveProgram` dynamics; otherwise rates by finite differences, and the algebraic
    states of x."""
    dynamics = v.equations.dynamics
    if not v.z.numel():
        return np.zeros((len(t), 0))
    if isinstance(dynamics, LinearSolveProgram):
        found = [np.nan_to_num(dynamics.solution([a], b, c, p)) for a, b, c in zip(t, x, inputs, strict=True)]
        return np.array(found).reshape(len(t), dynamics.size)
    y = x[:, v.state_indices]
    rates = np.gradient(y, t, axis=0) if len(t) > 2 else np.zeros_like(y)
    return np.hstack([rates, x[:, v.algebraic_indices]])

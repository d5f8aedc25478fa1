"""Phases from their statement: names are resolved in the model, the start is solved for, the end is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import MOST_SOLVED, stacked
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, ModelError, UnknownNameError
from draisine.expr.expression import did_you_mean, names
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.numerics.direct_methods import MultipleShooting
from draisine.numerics.rank import independent_rows
from draisine.optimal.contact_phases import NO_LANDING, ContactPhase, Landing, modes_of
from draisine.optimal.end_conditions import EndConditions, resolve_end_conditions
from draisine.optimal.phase import Phase, algebraic_guess, evaluator, middle, needed_states
from draisine.optimal.stated_numbers import checked_number, checked_numbers, rate_unit, stated_range, units_of
from draisine.optimal.symbolic_model import Condition, SymbolicModel
from draisine.optimal.verification import begin_loop
from draisine.program.arguments import numbers, refuse_dependent
from draisine.program.equations import Equations
from draisine.program.fixed_modes import Mode, with_modes
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem

if TYPE_CHECKING:
    from draisine.model.system import System
    from draisine.optimal.maneuver import OptimalControlProblem

Reals = NDArray[np.float64]

USUAL = (0.1, 10.0)  # s, durations that the default limits suit
WIDE = 1e4  # factor between a given limit of the duration and a default one


def build_phases(maneuver: OptimalControlProblem, schemes: Sequence[object]) -> tuple[list[PhaseBuilder], tuple[Phase, ...]]:
    """Builders and phases in order. A phase keeps the states that the next phase needs at its start."""
    unknown = tuple(dict.fromkeys(name for m in maneuver.phases for name, _ in m.unknown_parameters))
    builders: list[PhaseBuilder] = []
    for m, following, scheme in zip(maneuver.phases, (*maneuver.phases[1:], None), schemes, strict=True):
        before = builders[-1] if builders else None
        builders.append(PhaseBuilder(m, unknown, before, isinstance(scheme, MultipleShooting), following))
        begin_loop(builders[-1].source)
    phases: list[Phase] = []
    needed: Sequence[ca.SX] = ()
    for builder in reversed(builders):
        phases.insert(0, builder.phase(needed))
        needed = builder.needed_at_start(phases[0].kept)
    if all(p.integrand is None and p.final is None and p.time_weight == 0.0 for p in phases):
        raise ArgumentError(
            f"{phases[-1].equations.name}: the cost is missing; add .minimize('time') or .minimize(integral=…, final=…)"
        )
    return builders, tuple(phases)


@lru_cache(maxsize=32)
def equations_of(model: Model | System | Equations) -> Equations:
    return model if isinstance(model, Equations) else derive(model, None, (), True)


def _equations_of(problem: OptimalControlProblem) -> Equations:
    model = problem.model
    return equations_of(model.freeze() if isinstance(model, Model) else model)


@dataclass(frozen=True, eq=False)
class PhaseBuilder:
    """Builds one phase."""

    problem: OptimalControlProblem
    unknown: tuple[str, ...]
    previous: PhaseBuilder | None
    explicit: bool  # whether ẏ = f without algebraic unknowns is needed
    following: OptimalControlProblem | None = None

    @cached_property
    def source(self) -> Equations:
        """The equations of all modes of contacts."""
        return _equations_of(self.problem)

    @cached_property
    def _modes(self) -> dict[str, Mode]:
        return modes_of(self.source, self.problem.contact_modes)

    @cached_property
    def equations(self) -> Equations:
        """Those of this phase."""
        if not self.source.unilateral and not self.problem.contact_modes:
            return self.source
        return with_modes(self.source, tuple(self._modes.items()))

    @cached_property
    def contacts(self) -> ContactPhase | None:
        """The contacts that have given modes, if there are any."""
        return ContactPhase(self.source, self._modes, self.symbols) if self.source.unilateral else None

    @property
    def _following_modes(self) -> tuple[dict[str, Mode], dict[str, Mode]]:
        """The modes of the phase that follows, and of the impacts of contacts that bounce before it."""
        assert self.following is not None
        after = modes_of(self.source, self.following.contact_modes)
        bounce = self.following.link.impact
        for name, mode in bounce.items():
            if name not in after or self._modes[name].closed or after[name].closed or mode == "open":
                raise ArgumentError(
                    f"{self.equations.name}: then(…, impact={{{name!r}: {mode!r}}}): a contact that bounces is open before and "
                    "after it, and sticks or slips within its impact; a contact that is closed after it lands without being named"
                )
        within = modes_of(self.source, {**{name: str(mode) for name, mode in after.items()}, **bounce}) if bounce else {}
        return after, {name: within[name] for name in bounce}

    @cached_property
    def landing(self) -> Landing:
        """The impact at the end."""
        if self.contacts is None or not self._continues:
            return NO_LANDING
        return self.contacts.impact(*self._following_modes)

    @property
    def _continues(self) -> bool:
        """Whether a phase of the same model follows."""
        return self.following is not None and _equations_of(self.following) is self.source

    @cached_property
    def symbols(self) -> SymbolicModel:
        dynamics = self.equations.dynamics
        if isinstance(dynamics, DaeResidual) and max(dynamics.index, default=1) > 2:
            raise ModelError(
                f"{self.equations.name} has index {max(dynamics.index)}; collocation needs index 2 or less: "
                "as_dae(…, index=2), or reduce_index"
            )
        few = isinstance(dynamics, LinearSolveProgram) and not dynamics.iterates and dynamics.size <= MOST_SOLVED
        return SymbolicModel(self.equations, self._controls, self.explicit and few)

    # ---------------------------------------------------------------- controls and parameters

    @cached_property
    def _controls(self) -> tuple[str, ...]:
        m, known = self.problem, [q.name for q in self.equations.inputs]
        for name in (*m.chosen_controls, *m.constant_inputs):
            if name not in known:
                raise ArgumentError(f"{self.equations.name} has no input {name!r}{did_you_mean(name, known)}")
        both = [name for name in m.chosen_controls if name in m.constant_inputs]
        if both:
            raise ArgumentError(
                f"{self.equations.name}: {both[0]!r} is a control, controls(…), and constant at "
                f"{m.constant_inputs[both[0]]:g}, inputs(…); remove one of them"
            )
        if m.chosen_controls:
            return tuple(n for n in known if n in m.chosen_controls)
        mentioned = self._mentioned
        found = tuple(n for n in known if n in mentioned and n not in m.constant_inputs)
        return found or tuple(n for n in known if n not in m.constant_inputs)

    @property
    def _mentioned(self) -> set[str]:
        m = self.problem
        texts: list[Amount] = [text for _, text in m.path]
        texts += [text for name, text in m.ends if isinstance(text, str)]
        texts += [t for t in (m.cost.integral, m.cost.final) if t is not None] if m.cost is not None else []
        names_used = {name for name, _ in m.limits}
        for text in texts:
            sides = text.replace("<=", "<").replace(">=", ">").replace("==", "=").split("=") if isinstance(text, str) else [text]
            for side in sides:
                names_used |= names(amount_in(side.strip() if isinstance(side, str) else side, None, "condition"))
        return names_used

    @cached_property
    def p(self) -> Reals:
        m, e = self.problem, self.equations
        known = {q.name for q in e.parameters}
        for name, _ in m.unknown_parameters:
            if name not in known:
                refuse_dependent(name, e.dependent_parameters)
                raise ArgumentError(f"{e.name} has no parameter {name!r} to optimize{did_you_mean(name, known)}")
        try:
            p = numbers("parameter", e.parameters, m.known_parameters, e.dependent_parameters, e.left_out)
        except UnknownNameError as problem:
            raise ArgumentError(f"{e.name}: {problem}") from None
        ranges = dict(m.unknown_parameters)
        for i, q in enumerate(e.parameters):
            if q.name in ranges:
                checked_numbers(ranges[q.name], q.unit, f"{e.name}: optimize({q.name}=…)")
                p[i] = float(np.clip(p[i], *ranges[q.name]))
        return p

    @cached_property
    def inputs(self) -> Reals:
        return numbers("input", self.equations.inputs, self.problem.constant_inputs)

    # ---------------------------------------------------------------- the start

    @cached_property
    def start(self) -> Reals:
        """All states of the equations, consistent with the targets; later phases of the same model use the first start."""
        targets = dict(self.problem.targets)
        if self.previous is not None and (targets or self.problem.start_free or self.problem.period):
            raise ArgumentError(
                f"{self.equations.name}: a later phase begins where the one before it ends; remove its start(…) and "
                "periodic(…), and use then(…, joined=[…], jump={…}) for discontinuous states"
            )
        if self.previous is not None and self.previous.source is self.source:
            return self.previous.start
        begin = consistent_start(_starts(self.equations), targets, parameters=self.p, inputs=self.inputs)
        return begin.x

    @cached_property
    def _y(self) -> Reals:
        return self.start[self.symbols.state_indices]

    @cached_property
    def _z(self) -> Reals:
        """Algebraic unknowns at the start."""
        return algebraic_guess(self.symbols, np.zeros(1), self.start[None], self.inputs[None], self.p)[0]

    @cached_property
    def _residuals(self) -> list[Condition]:
        """Constraints of the state alone."""
        v, found = self.symbols, []
        values = v.plant.residuals
        for i, constraint in enumerate(self.equations.constraints):
            if not v.z.numel() or not ca.depends_on(values[i], v.z):
                found.append(Condition(constraint.name, values[i], 0.0, 0.0))
        return found

    @cached_property
    def _free(self) -> dict[str, ca.SX]:
        """Quantities that are free at the start, by name."""
        v = self.symbols
        return {n: v.coordinates[n] if n in v.coordinates else v.named(n, "start(free=…)") for n in self.problem.start_free}

    @cached_property
    def returns(self) -> tuple[tuple[str, ca.SX], ...]:
        m, v = self.problem, self.symbols
        if m.period is None:
            return ()
        if m.period.names:
            names_used = m.period.names
        else:
            known = set(v.coordinates) | set(v.plant.values)
            for name in m.period.displaced:
                if name not in known:
                    raise ArgumentError(
                        f"{self.equations.name}: periodic(displaced=…): unknown name {name!r}{did_you_mean(name, known)}"
                    )
            extra = {q.name for q in self.equations.extra_states}
            names_used = tuple(name for name in self._independent_quantities if name not in (*m.period.displaced, *extra))
        return tuple((w, v.coordinates[w] if w in v.coordinates else v.named(w, "periodic(…)")) for w in names_used)

    @cached_property
    def _independent_quantities(self) -> list[str]:
        """Quantities that determine a state on the constraints, `displaced` and targeted ones first."""
        v, m = self.symbols, self.problem
        assert m.period is not None
        first = {n: v.coordinates.get(n, v.plant.values.get(n)) for n in (*m.period.displaced, *m.targets)}
        candidates = {n: e for n, e in first.items() if e is not None} | v.coordinates
        _, basis = independent_rows(self._jacobian([c.value for c in self._residuals]), np.zeros((0, len(self._y))))
        chosen, _ = independent_rows(self._jacobian(list(candidates.values())), basis)
        return [list(candidates)[i] for i in chosen]

    def _jacobian(self, values: Sequence[ca.SX]) -> Reals:
        """∂/∂y of expressions at the start."""
        v = self.symbols
        if not values:
            return np.zeros((0, len(self._y)))
        function = evaluator(v, ca.jacobian(stacked(list(values)), v.y), v.plant.t)
        return np.asarray(function(0.0, self._y, self._z, self.inputs, self.p).full())

    @cached_property
    def _start_rows(self) -> tuple[Condition, ...]:
        """Rows at a start that is not fixed: constraints, targets, and all other quantities that are not free."""
        v, e = self.symbols, self.equations
        residuals = self._residuals
        kept, basis = independent_rows(self._jacobian([c.value for c in residuals]), np.zeros((0, len(self._y))))
        rows = [residuals[i] for i in kept]
        loose, basis = independent_rows(self._jacobian(list(self._free.values())), basis)
        for i, name in enumerate(self._free):
            if i not in loose:
                raise ArgumentError(
                    f"{e.name}: {name!r} cannot be free at the start: constraints and other free quantities determine it"
                )
        targeted = {n: v.plant.values[n] for n in self.problem.targets if n in v.plant.values and n not in self._free}
        first, basis = independent_rows(self._jacobian(list(targeted.values())), basis)
        _, basis = independent_rows(self._jacobian([value for _, value in self.returns]), basis)  # determined by the end
        others = list(v.coordinates.items())
        second, _ = independent_rows(self._jacobian([value for _, value in others]), basis)
        reported = [*(list(targeted.items())[i] for i in first), *(others[i] for i in second)]
        values = evaluator(v, stacked([value for _, value in reported]), v.plant.t)(
            0.0, self._y, self._z, self.inputs, self.p
        ).full()
        rows += [Condition(name, value, float(w), float(w)) for (name, value), w in zip(reported, values.ravel(), strict=True)]
        return tuple(rows)

    @cached_property
    def start_fixed(self) -> bool:
        if self.previous is not None or self._free or self.returns:
            return False
        moved = [v for n, v in self.symbols.plant.values.items() if n in self.problem.targets]
        values = stacked([*(c.value for c in self._residuals), *moved])
        index = {q.name: i for i, q in enumerate(self.equations.parameters)}
        unknown = stacked([self.symbols.plant.p[index[n]] for n in self.unknown if n in index])
        return not (values.numel() and unknown.numel() and ca.depends_on(values, unknown))

    # ---------------------------------------------------------------- path and end

    @cached_property
    def _limits(self) -> dict[str, tuple[float, float]]:
        return {name: self._range(name, pair, "bounds") for name, pair in self.problem.limits}

    def _range(self, name: str, pair: Sequence[float | None], where: str) -> tuple[float, float]:
        """Both bounds in the unit of the quantity."""
        low, high = stated_range(tuple(pair), f"{where}({name}=…)")
        low, high = checked_numbers((low, high), units_of(self.equations).get(name), f"{self.equations.name}: {where}({name}=…)")
        return low, high

    @cached_property
    def path(self) -> tuple[Condition, ...]:
        v, e = self.symbols, self.equations
        plain = {*v.state_names, *self._controls}
        found = [v.condition(name, text, f"condition {name!r}") for name, text in self.problem.path]
        for name, (low, high) in self._limits.items():
            if name not in plain:
                if name in {q.name for q in e.parameters}:
                    raise ArgumentError(
                        f"{e.name}: bounds({name}=…) is a parameter; use optimize({name}=(low, high)) to optimize it"
                    )
                found.append(Condition(name, v.named(name, f"bounds({name}=…)"), low, high))
        return (*found, *(() if self.contacts is None else self.contacts.path))

    @cached_property
    def _ends(self) -> tuple[list[Condition], list[Condition]]:
        """Values at the end, and rates."""
        v, values = self.symbols, []
        for name, wanted in self.problem.ends:
            where = f"finish({name}=…)"
            if isinstance(wanted, str):
                values.append(v.condition(name, wanted, f"finish({wanted!r})"))
            else:
                pair: Any = wanted if isinstance(wanted, tuple | list) else (wanted, wanted)
                low, high = self._range(name, pair, "finish")
                values.append(Condition(name, v.named(name, where), low, high))
        if self.contacts is not None and self._continues:
            values += self.contacts.ends(*self._following_modes, self.p, self.start, self.inputs)
            values += self.landing.conditions
        rates = []
        for name, given in self.problem.end_rates:
            where, unit = f"finish({name}=…, rates=…)", rate_unit(units_of(self.equations).get(name))
            rate = checked_number(given, unit, f"{self.equations.name}: {where}")
            rates.append(Condition(f"{name} rate", v.along(v.named(name, "finish"), where), rate, rate))
        return values, rates

    @cached_property
    def _end(self) -> EndConditions:
        values, rates = self._ends
        duration = middle(*self.problem.times)
        point = (duration, self._y, self._z, self.inputs, self.p)
        return resolve_end_conditions(self.symbols, self._residuals, values, rates, point)

    def needed_at_start(self, kept: Sequence[str]) -> list[ca.SX]:
        """Expressions of the phase before that this phase needs for its start."""
        return list(self.link_expressions(kept).values()) if self.previous is not None else []

    def link_expressions(self, kept: Sequence[str]) -> dict[str, ca.SX]:
        """Kept states at the start, as expressions of the phase before."""
        assert self.previous is not None
        earlier, link = self.previous.symbols, self.problem.link
        mine = set(self.symbols.state_names)
        for name in (*(link.joined or ()), *link.jump):
            if name not in mine:
                raise ArgumentError(f"{self.equations.name}: then(…): there is no state {name!r}{did_you_mean(name, mine)}")
        found = {}
        for name in kept:
            if name in link.jump:
                found[name] = earlier.value(link.jump[name], f"jump of {name!r}")
            elif name in self.previous.landing.velocities:
                found[name] = self.previous.landing.velocities[name]
            elif name in (link.joined if link.joined is not None else kept) and name in earlier.state_names:
                found[name] = earlier.plant.values[name]
        return found

    # ---------------------------------------------------------------- the phase

    def phase(self, needed: Sequence[ca.SX]) -> Phase:
        m, v, cost = self.problem, self.symbols, self.problem.cost
        integrand = v.value(cost.integral, "minimize(integral=…)") if cost is not None and cost.integral is not None else None
        final = v.value(cost.final, "minimize(final=…)") if cost is not None and cost.final is not None else None
        start_rows = () if self.start_fixed or self.previous is not None else self._start_rows
        values = [c.value for c in (*self._end.conditions, *self.path)] + [value for _, value in self.returns]
        values += [*needed, *(e for e in (integrand, final) if e is not None)]
        kept = needed_states(v, values, list(self._limits), [c.value for c in start_rows])
        index = {name: i for i, name in enumerate(v.state_names)}
        used = {i for i, name in enumerate(v.state_names) if name in kept}
        rows = tuple(c for c in start_rows if set(ca.jacobian_sparsity(c.value, v.y).get_triplet()[1]) & used)
        plain = {n: pair for n, pair in self._limits.items() if n in kept or n in self._controls}
        if self.start_fixed:
            for name, (low, high) in plain.items():
                if name in index and not low <= self._y[index[name]] <= high:
                    raise ArgumentError(
                        f"{self.equations.name}: the start has {name} = {self._y[index[name]]:.6g}, outside its bounds "
                        f"({low:g}, {high:g})"
                    )
        phase = Phase(
            symbols=v,
            kept=kept,
            unknown_parameters=self.unknown,
            p=self.p,
            inputs=self.inputs,
            start=self._y,
            start_fixed=self.start_fixed,
            start_rows=rows,
            end=self._end.state,
            ends=self._end.conditions,
            returns=self.returns,
            path=self.path,
            limits=plain,
            integrand=integrand,
            final=final,
            time_weight=0.0 if cost is None else cost.time,
            times=m.times,
            duration=middle(*m.times),
            dropped=self._end.dropped,
            notes=(*self._end.notes, *self._notes(kept)),
        )
        times = _default_limits(m.times, m.times_given, phase)
        return phase if times == m.times else replace(phase, times=times, duration=middle(*times))

    def _notes(self, kept: Sequence[str]) -> list[str]:
        left = [name for name in self.symbols.state_names if name not in kept]
        constant = [f"{q.name} = {self.inputs[i]:g}" for i, q in enumerate(self.equations.inputs) if q.name not in self._controls]
        notes = [f"states left out because cost and conditions do not depend on them: {', '.join(left)}"] if left else []
        return notes + ([f"constant inputs: {', '.join(constant)}"] if constant else [])


def _default_limits(times: tuple[float, float], given: tuple[bool, bool], phase: Phase) -> tuple[float, float]:
    """Limits of a duration; those that are not given lie about the time that the motion needs by its sizes, if it is unusual."""
    if all(given):
        return times
    needed = phase.needed_duration
    factor = 1.0 if needed is None or USUAL[0] <= needed <= USUAL[1] else needed
    low, high = (t if stated else t * factor for t, stated in zip(times, given, strict=True))
    if any(given):
        low, high = (low, max(high, low * WIDE)) if given[0] else (min(low, high / WIDE), high)
    return low, high


@lru_cache(maxsize=16)
def _starts(equations: Equations) -> StartProblem:
    return StartProblem(equations, compiled=False, quick=True)  # one start, for which compiling takes ten times as long


def parameter_ranges(maneuver: OptimalControlProblem) -> Mapping[str, tuple[float, float]]:
    return {name: pair for m in maneuver.phases for name, pair in m.unknown_parameters}

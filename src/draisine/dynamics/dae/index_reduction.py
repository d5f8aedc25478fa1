"""Index reduction by differentiation: ẋ = f solved for at run time, with the hidden constraints kept and enforced.

Equations are differentiated as often as the Σ-method says, which gives a regular system for the highest derivatives. The last
stage, F_i^(c_i) = 0, determines the derivatives x_j^(d_j), its leading derivatives; it is solved at every evaluation. Derivatives
below them are the states. What has been differentiated stays as constraints, onto which the state is projected, so points is no
drift.

Algebraic unknowns that enter the last stage linearly (multipliers) are solved for points and are no states. Where they enter
nonlinearly (a control angle), their equations are differentiated once more, they become states, and the equations that gave them
become constraints too. With `implicit=True` nothing is solved: the result is 0 = F of index 1, for implicit methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np

from draisine.dynamics.dae.branch_structure import consistent_points, initial_unknowns, nearest_consistent, structure_at
from draisine.dynamics.dae.derivative_array import FixedArguments
from draisine.dynamics.dae.hidden_constraints import Condition, conditions, sample_point
from draisine.dynamics.dae.structure import DECEIVED, Structure, moved_by_inputs, structure
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.expr.expression import Expr, did_you_mean
from draisine.model.quantities import amount_in
from draisine.numerics.rank import equilibrate, rank_of
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program

DIFFERENTIATED, NOT_DIFFERENTIATED = "differentiated: ", "no differentiation was needed"
Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]


@dataclass(frozen=True)
class ReducedSystem:
    """Equations built from a structure. `solved`: whether the last stage is solved for its leading derivatives."""

    posed: Equations
    shape: Structure
    solved: bool

    def equations(self) -> Equations:
        e, constraints = self.posed, tuple(c.constraint for c in self._constraints)
        return replace(
            e,
            coordinates=self._coordinates,
            multipliers=tuple(q for q, _ in self._algebraic) if self.solved else (),
            force_outputs=e.force_outputs | self._needing_solution,
            constraints=constraints,
            dynamics=self._explicit() if self.solved else self._implicit(),
            report=self._report(),
            motion=self._motion(),
            project=self._project(),
            events=self._events(),
            notes=tuple(dict.fromkeys((*e.notes, *self.shape.notes, *self._notes()))),
        )

    # ---------------------------------------------------------------- what is a state

    @cached_property
    def _states(self) -> list[tuple[Quantity, ca.SX, ca.SX]]:
        """Quantity, symbol and rate: of unknowns with known rates, then of derivatives that are states themselves."""
        given, system = {q.name: q for q in self.posed.coordinates}, self.shape.system
        orders = dict(zip(system.others, self.shape.offsets.unknowns, strict=True))
        indices = {j: k for k, j in enumerate(system.others)}
        found = []
        for j, name in enumerate(system.unknowns):
            if j in system.states:
                found.append((given[name], system.y[j], system.states[j]))
            elif orders[j]:
                found.append((given[name], system.y[j], system.top(indices[j], 1)))
        for j, order in orders.items():
            unit = given[system.unknowns[j]].unit
            for times in range(1, order):
                quantity = Quantity(system.unknowns[j] + "_rate" * times, f"{unit}/s^{times}" if unit else "")
                found.append((quantity, system.top(indices[j], times), system.top(indices[j], times + 1)))
        return found

    @cached_property
    def _algebraic(self) -> list[tuple[Quantity, ca.SX]]:
        """Algebraic unknowns that the last stage determines."""
        given, system = {q.name: q for q in self.posed.coordinates}, self.shape.system
        indices = [k for k, order in enumerate(self.shape.offsets.unknowns) if order == 0]
        return [(given[system.unknowns[system.others[k]]], system.top(k, 0)) for k in indices]

    @cached_property
    def _coordinates(self) -> tuple[Quantity, ...]:
        return (*(q for q, _, _ in self._states), *(q for q, _ in self._algebraic if not self.solved))

    @cached_property
    def _x(self) -> ca.SX:
        return _stacked(
            [*(symbol for _, symbol, _ in self._states), *(symbol for _, symbol in self._algebraic if not self.solved)]
        )

    def _arguments(self, state: str = "x") -> Slots:
        """(t, x, u, p) in the new state; `motion` calls it q."""
        e, system = self.posed, self.shape.system
        return {
            "t": (system.t, ["t"]),
            state: (self._x, [q.name for q in self._coordinates]),
            "u": (system.u, [u.name for u in e.inputs]),
            "p": (system.p, [p.name for p in e.parameters]),
        }

    # ---------------------------------------------------------------- dynamics

    def _explicit(self) -> Program | LinearSolveProgram:
        labels = [f"d{q.name}/dt" for q in self._coordinates]
        return self._program("dynamics", {"xdot": (_stacked([rate for _, _, rate in self._states]), labels)})

    def _implicit(self) -> DaeResidual:
        """0 = F of index 1: rates of the states, and the last stage with leading derivatives as rates."""
        system, orders = self.shape.system, self.shape.offsets.unknowns
        rates = [system.top(k, order) for k, order in enumerate(orders) if order]
        rate = ca.SX.sym("rate", self._x.numel())
        rows, labels, replaced = [], [], []
        for i, (quantity, _, derivative) in enumerate(self._states):
            if any(ca.is_equal(derivative, top) for top in rates):
                replaced.append((derivative, rate[i]))  # ẋ = ẋ is trivial: the last stage determines it
            else:
                rows.append(rate[i] - derivative)
                labels.append(f"{quantity.name}_rate")
        residual = ca.vertcat(*rows, self.shape.stage)
        labels += [c.name for c in self._last]
        if replaced:
            residual = ca.substitute(residual, ca.vertcat(*[top for top, _ in replaced]), ca.vertcat(*[r for _, r in replaced]))
        slots = self._arguments()
        arguments: Slots = {"t": slots["t"], "x": slots["x"], "xdot": rate, "u": slots["u"], "p": slots["p"]}
        program = Program.build(f"{system.name}_residual", arguments, {"residual": (residual, labels)})
        return DaeResidual(f"{system.name}_index_1", program, (1,) * len(self._coordinates))

    def _program(self, what: str, results: Slots) -> Program | LinearSolveProgram:
        """A program of (t, x, u, p) whose results may contain leading derivatives, where these are solved for."""
        name, tops = f"{self.posed.name}_{what}", self.shape.tops
        if not self.solved or not tops.numel():
            return Program.build(name, self._arguments(), results)
        z = ca.SX.sym("z", tops.numel())
        matrix = ca.jacobian(self.shape.stage, tops)
        side = -ca.substitute(self.shape.stage, tops, ca.SX.zeros(tops.numel()))
        substituted: Slots = {}
        for slot, value in results.items():
            expression, labels = value if isinstance(value, tuple) else (value, ())
            substituted[slot] = (ca.substitute(expression, tops, z), labels)
        return LinearSolveProgram.build(name, self._arguments(), matrix, side, z, substituted)

    # ---------------------------------------------------------------- constraints

    @cached_property
    def _differentiated(self) -> list[Condition]:
        """The equations that were differentiated: conditions on the states."""
        system, most = self.shape.system, self.shape.offsets.equations
        return [
            Condition(system.equations[system.rest[i]], times, system.derivative(i, times))
            for times in range(max(most, default=0))
            for i in range(len(most))
            if times < most[i]
        ]

    @cached_property
    def _last(self) -> list[Condition]:
        system = self.shape.system
        found = enumerate(self.shape.offsets.equations)
        return [Condition(system.equations[system.rest[i]], times, system.derivative(i, times)) for i, times in found]

    @cached_property
    def _constraints(self) -> Sequence[Condition]:
        if self.solved:
            return self._differentiated
        return conditions(self.shape.system, self.shape.offsets, sample_point(self.posed)).found

    def _residuals(self) -> tuple[ca.SX, list[str]]:
        names = [f"{c.name}_{c.constraint.level}" for c in self._constraints]
        return _stacked([c.residual for c in self._constraints]), names

    def _project(self) -> LinearSolveProgram | None:
        """One least-norm Newton step of the states onto the differentiated equations."""
        if not self._differentiated:
            return None
        side = ca.vertcat(*[c.residual for c in self._differentiated])
        jacobian = ca.jacobian(side, self._x)
        z = ca.SX.sym("z", side.numel())
        moved = (self._x - jacobian.T @ z, [q.name for q in self._coordinates])
        results: Slots = {"x_new": moved, "error": (ca.norm_inf(side), ["error"])}
        return LinearSolveProgram.build(f"{self.posed.name}_project", self._arguments(), jacobian @ jacobian.T, side, z, results)

    # ---------------------------------------------------------------- reported values

    def _called(self, program: Program) -> dict[str, ca.SX]:
        """A program of the equations as posed, in the new symbols."""
        system = self.shape.system
        given = {"t": system.t, "x": system.y, "q": system.y, "v": ca.SX(0, 1), "u": system.u, "p": system.p}
        results = program.function.call([given[slot.name] for slot in program.inputs])
        return dict(zip((slot.name for slot in program.outputs), results, strict=True))

    @cached_property
    def _needing_solution(self) -> frozenset[str]:
        """Outputs that depend on the solution of the last stage."""
        values, labels = self._called(self.posed.motion)["outputs"], self.posed.motion.output("outputs").labels
        loose = _stacked([symbol for _, symbol in self._algebraic] if self.solved else [])
        return frozenset(name for i, name in enumerate(labels) if loose.numel() and ca.depends_on(values[i], loose))

    def _report(self) -> Program | LinearSolveProgram:
        report = self.posed.report
        assert isinstance(report, Program)  # implicit systems solve for nothing
        reported: Slots = {name: (value, report.output(name).labels) for name, value in self._called(report).items()}
        solved = self._algebraic if self.solved else []
        reported["multipliers"] = (_stacked([symbol for _, symbol in solved]), [q.name for q, _ in solved])
        reported["residuals"] = self._residuals()
        return self._program("report", reported)

    def _motion(self) -> Program:
        motion, slots = self.posed.motion, self._arguments("q")
        values, labels = self._called(motion)["outputs"], motion.output("outputs").labels
        points = [i for i, name in enumerate(labels) if name not in self._needing_solution]
        arguments: Slots = {"t": slots["t"], "q": slots["q"], "v": ca.SX.sym("v", 0), "u": slots["u"], "p": slots["p"]}
        outputs = (_stacked([values[i] for i in points]), [labels[i] for i in points])
        return Program.build(motion.name, arguments, {"residuals": self._residuals(), "outputs": outputs})

    def _events(self) -> Program | None:
        events = self.posed.events
        if events is None:
            return None
        assert isinstance(events, Program)  # equations as posed solve nothing
        value = (self._called(events)["value"], events.output("value").labels)
        return Program.build(events.name, self._arguments(), {"value": value})

    # ---------------------------------------------------------------- sentences

    def _notes(self) -> list[str]:
        often = {1: "once", 2: "twice"}
        found = [f"{c.equation!r} {often.get(c.times, f'{c.times} times')}" for c in self._last if c.times]
        notes = [f"{DIFFERENTIATED}{', '.join(found)}" if found else NOT_DIFFERENTIATED]
        if self._differentiated:
            notes.append(
                f"kept as constraints, onto which the state is projected: {', '.join(c.name for c in self._differentiated)}"
            )
        if not self.solved:
            return [*notes, "the equations stay implicit, of index 1"]
        if self._algebraic:
            notes.append(f"solved for at every evaluation: {', '.join(q.name for q, _ in self._algebraic)}")
        dynamics = self.posed.dynamics
        assert isinstance(dynamics, DaeResidual)
        algebraic = {q.name for q, moves in zip(self.posed.coordinates, dynamics.differential, strict=True) if not moves}
        states = [q.name for q, _, _ in self._states if q.name in algebraic]
        if states:
            notes.append(f"algebraic unknowns that became states (they enter nonlinearly, or were kept): {', '.join(states)}")
        return notes


def _stacked(parts: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)


def reduce_index(
    equations: Equations,
    *,
    inputs: Mapping[str, Expr | str | float] | None = None,
    keep: Sequence[str] = (),
    implicit: bool = False,
    at: Mapping[str, float] | None = None,
) -> Equations:
    """Explicit equations ẋ = f(t, x, u, p) with the same solutions, and with all hidden constraints enforced.

    - `inputs`: laws of inputs, substituted before differentiation; needed where a constraint depends on an input.
    - `keep`: algebraic unknowns that stay states, for events and laws that name them.
    - `implicit`: stop at index 1 and keep the equations implicit.
    - `at`: values of some unknowns that select a branch of solutions, where the index differs between branches.

    Explicit equations are returned unchanged. `notes` of the result describe the reduction.

    >>> import sympy as sp
    >>> from draisine.symbolic.differential_algebraic import semi_explicit
    >>> x, y, vx, vy, pull = sp.symbols("x y vx vy pull")
    >>> e = semi_explicit("pendulum", {x: vx, y: vy, vx: -x * pull, vy: -y * pull - 10}, unknowns=[pull],
    ...                   constraints={"length": x**2 + y**2 - 1}, start={x: 0.6, y: -0.8})
    >>> reduced = reduce_index(e)
    >>> [s.name for s in reduced.states], [m.name for m in reduced.multipliers]
    (['x', 'y', 'vx', 'vy'], ['pull'])
    >>> reduced.dynamics([0.0], [0.6, -0.8, 0.0, 0.0], [], [])[0].round(6).tolist()
    [0.0, 0.0, -4.8, -3.6]
    """
    refuse_unilateral("reduce_index", equations)
    if inputs:
        laws = {name: amount_in(law, None, f"law of input {name!r}") for name, law in inputs.items()}
        equations = with_laws(equations, laws)
    if not isinstance(equations.dynamics, DaeResidual):
        return equations
    shape = structure(equations)
    if at is not None:
        shape = _on_branch(equations, equations.dynamics, at)
    if not shape.regular:
        raise ModelError(
            f"{equations.name}: its index cannot be reduced by differentiating equations: {DECEIVED}. Combine the equations by "
            "hand so that the canceling terms disappear, or integrate the system as it is by an implicit method"
        )
    _check_kept(equations, keep)
    kept = _keeping(shape, {*keep, *_algebraic_in_events(equations, shape)})
    linear = _linear(kept)
    # one more differentiation, needed only to make z a state, may differentiate an input
    if implicit or (moved_by_inputs(linear) and not moved_by_inputs(kept)):
        return ReducedSystem(equations, kept, solved=False).equations()
    _check_inputs(equations, linear)
    return ReducedSystem(equations, linear, solved=True).equations()


def combined_rates(dynamics: DaeResidual, point: tuple[np.ndarray, ...]) -> int:
    """How many combinations of rates do not enter 0 = F near a point (t, x, u, p): the leading matrix ∂F/∂ẋ has this rank
    deficiency in the columns of the differential unknowns."""
    moving = np.flatnonzero(dynamics.differential)
    rng, (t, x, u, p) = np.random.default_rng(3), point
    found = len(moving)
    for _ in range(3):  # at most points the rank is the largest
        values = dynamics.jacobian(t + rng.uniform(0.1, 1.0), x, rng.normal(size=len(x)), u, p)[1]
        leading = np.zeros((dynamics.size, dynamics.size))
        leading[dynamics.pattern] = values
        scaled = equilibrate(leading[:, moving])[0]
        found = min(found, len(moving) - rank_of(scaled)) if np.isfinite(scaled).all() else found
    return found


@lru_cache(maxsize=32)
def with_determined_rates(equations: Equations) -> tuple[Equations, str]:
    """Equations whose rates are determined one by one, for implicit methods, and a sentence about what was done.

    Where rates enter 0 = F in fixed combinations only (a circuit with coupled capacitors), the leading matrix is singular: the
    combinations that miss are conditions on the unknowns, and are differentiated. Others are returned unchanged.
    """
    dynamics = equations.dynamics
    if not isinstance(dynamics, DaeResidual):
        return equations, ""
    missing = combined_rates(dynamics, sample_point(equations))
    shape = structure(equations) if missing else None
    if shape is None or not shape.regular:  # an implicit method may still solve it
        return equations, ""
    reduced = reduce_index(equations, implicit=True)
    done = next(note for note in reduced.notes if note.startswith((DIFFERENTIATED, NOT_DIFFERENTIATED)))
    count = f"{missing} combination{'s' if missing > 1 else ''} of rates"
    return reduced, f"the leading matrix is singular ({count} missing), so the index was reduced before the run; {done}"


def _on_branch(equations: Equations, dynamics: DaeResidual, at: Mapping[str, float]) -> Structure:
    y, fixed = initial_unknowns(equations, at)
    others = FixedArguments(0.0, np.zeros(len(equations.inputs)), equations.default_parameters)
    points = consistent_points(dynamics, nearest_consistent(equations, y, others, fixed), others, fixed)
    if not points:
        notes = ", ".join(f"{name} = {value:g}" for name, value in at.items())
        raise SolverError(
            f"{equations.name}: no solution was found with {notes}; give values of a point that satisfies the equations"
        )
    return structure_at(equations, points)


def _keeping(shape: Structure, requested: set[str]) -> Structure:
    """The structure in which the requested unknowns are states."""
    least, system = dict(enumerate(shape.offsets.equations)), shape.system
    for i, k in enumerate(shape.offsets.partner):
        if system.unknowns[system.others[k]] in requested and shape.offsets.unknowns[k] == 0:
            least[i] += 1
    return replace(shape, offsets=system.offsets(least))


def _linear(shape: Structure) -> Structure:
    """The structure in which the last stage is linear in what it is solved for."""
    while True:
        rows = [ca.jacobian(row, shape.tops) for row in ca.vertsplit(shape.stage)] if shape.system.rest else []
        curved = [i for i, row in enumerate(rows) if ca.depends_on(row, shape.tops)]
        if not curved:
            return shape
        least = dict(enumerate(shape.offsets.equations))
        least |= {i: least[i] + 1 for i in curved}
        shape = replace(shape, offsets=shape.system.offsets(least))


def _algebraic_in_events(equations: Equations, shape: Structure) -> list[str]:
    """Algebraic unknowns on which events depend."""
    if equations.events is None:
        return []
    assert isinstance(equations.events, Program)  # equations as posed solve nothing
    symbols = equations.events.symbols()
    (values,) = equations.events.function.call(symbols)
    system = shape.system
    return [system.unknowns[j] for j in system.others if ca.depends_on(values, symbols[1][j])]


def _check_kept(equations: Equations, keep: Sequence[str]) -> None:
    known = [q.name for q in equations.coordinates]
    for name in keep:
        if name not in known:
            raise ArgumentError(f"{equations.name}: keep names {name!r}, which is not an unknown{did_you_mean(name, known)}")


def _check_inputs(equations: Equations, shape: Structure) -> None:
    for equation, name in moved_by_inputs(shape):
        raise ModelError(
            f"{equations.name}: equation {equation!r} contains the input {name!r} and must be differentiated, but the rate of an "
            f"input is not known; give its law, reduce_index(…, inputs={{{name!r}: 'sin(t)'}}), or make it a parameter"
        )

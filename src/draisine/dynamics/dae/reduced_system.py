"""Equations made of a structure: the last stage solved for at run time, or left implicit at index 1.

The last stage, F_i^(c_i) = 0, is one for the derivatives x_j^(d_j), its tops. What lies below them are the states; tops of order
zero are algebraic unknowns, *loose*: they are solved for, or stay coordinates where nothing is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from draisine.dynamics.dae.hidden_constraints import Condition, conditions, near
from draisine.dynamics.dae.structure import Structure
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]


@dataclass(frozen=True)
class Lowered:
    """A structure, and the implicit equations it was found in. `solved`: whether the last stage is solved for."""

    posed: Equations
    shape: Structure
    solved: bool

    def equations(self) -> Equations:
        e, constraints = self.posed, tuple(c.constraint for c in self._constraints)
        return replace(
            e,
            coordinates=self._coordinates,
            multipliers=tuple(q for q, _ in self._loose) if self.solved else (),
            force_outputs=e.force_outputs | self._lacking,
            constraints=constraints,
            dynamics=self._explicit() if self.solved else self._implicit(),
            report=self._report(),
            motion=self._motion(),
            project=self._project(),
            events=self._events(),
            notes=tuple(dict.fromkeys((*e.notes, *self.shape.notes, *self._said()))),
        )

    # ---------------------------------------------------------------- what is a state

    @cached_property
    def _states(self) -> list[tuple[Quantity, ca.SX, ca.SX]]:
        """Quantity, symbol and rate: of unknowns whose rates are found, then of derivatives that are states themselves."""
        given, system = {q.name: q for q in self.posed.coordinates}, self.shape.system
        orders = dict(zip(system.others, self.shape.offsets.unknowns, strict=True))
        places = {j: k for k, j in enumerate(system.others)}
        found = []
        for j, name in enumerate(system.unknowns):
            if j in system.states:
                found.append((given[name], system.y[j], system.states[j]))
            elif orders[j]:
                found.append((given[name], system.y[j], system.top(places[j], 1)))
        for j, order in orders.items():
            unit = given[system.unknowns[j]].unit
            for times in range(1, order):
                quantity = Quantity(system.unknowns[j] + "_rate" * times, f"{unit}/s^{times}" if unit else "")
                found.append((quantity, system.top(places[j], times), system.top(places[j], times + 1)))
        return found

    @cached_property
    def _loose(self) -> list[tuple[Quantity, ca.SX]]:
        """Algebraic unknowns that the last stage gives."""
        given, system = {q.name: q for q in self.posed.coordinates}, self.shape.system
        places = [k for k, order in enumerate(self.shape.offsets.unknowns) if order == 0]
        return [(given[system.unknowns[system.others[k]]], system.top(k, 0)) for k in places]

    @cached_property
    def _coordinates(self) -> tuple[Quantity, ...]:
        return (*(q for q, _, _ in self._states), *(q for q, _ in self._loose if not self.solved))

    @cached_property
    def _x(self) -> ca.SX:
        return _stacked([*(symbol for _, symbol, _ in self._states), *(symbol for _, symbol in self._loose if not self.solved)])

    def _arguments(self, state: str = "x") -> Slots:
        """(t, x, u, p) in the new state; the motion calls it q."""
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
        """0 = F of index 1: rates of the states, and the last stage with tops as rates."""
        system, orders = self.shape.system, self.shape.offsets.unknowns
        rates = [system.top(k, order) for k, order in enumerate(orders) if order]
        rate = ca.SX.sym("rate", self._x.numel())
        rows, labels, replaced = [], [], []
        for i, (quantity, _, slope) in enumerate(self._states):
            if any(ca.is_equal(slope, top) for top in rates):
                replaced.append((slope, rate[i]))  # ẋ = ẋ says nothing: the last stage speaks of it
            else:
                rows.append(rate[i] - slope)
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
        """A program of (t, x, u, p) whose results may contain tops, where these are solved for."""
        name, tops = f"{self.posed.name}_{what}", self.shape.tops
        if not self.solved or not tops.numel():
            return Program.build(name, self._arguments(), results)
        z = ca.SX.sym("z", tops.numel())
        matrix = ca.jacobian(self.shape.stage, tops)
        side = -ca.substitute(self.shape.stage, tops, ca.SX.zeros(tops.numel()))
        put_in: Slots = {}
        for slot, value in results.items():
            expression, labels = value if isinstance(value, tuple) else (value, ())
            put_in[slot] = (ca.substitute(expression, tops, z), labels)
        return LinearSolveProgram.build(name, self._arguments(), matrix, side, z, put_in)

    # ---------------------------------------------------------------- constraints

    @cached_property
    def _differentiated(self) -> list[Condition]:
        """What has been differentiated: conditions on the states."""
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
        return conditions(self.shape.system, self.shape.offsets, near(self.posed)).found

    def _residuals(self) -> tuple[ca.SX, list[str]]:
        names = [f"{c.name}_{c.constraint.level}" for c in self._constraints]
        return _stacked([c.residual for c in self._constraints]), names

    def _project(self) -> LinearSolveProgram | None:
        """One Newton step of least change of the states onto what has been differentiated."""
        if not self._differentiated:
            return None
        side = ca.vertcat(*[c.residual for c in self._differentiated])
        slope = ca.jacobian(side, self._x)
        z = ca.SX.sym("z", side.numel())
        moved = (self._x - slope.T @ z, [q.name for q in self._coordinates])
        results: Slots = {"x_new": moved, "error": (ca.norm_inf(side), ["error"])}
        return LinearSolveProgram.build(f"{self.posed.name}_project", self._arguments(), slope @ slope.T, side, z, results)

    # ---------------------------------------------------------------- what is told

    def _called(self, program: Program) -> dict[str, ca.SX]:
        """A program of the equations as posed, in the new symbols."""
        system = self.shape.system
        given = {"t": system.t, "x": system.y, "q": system.y, "v": ca.SX(0, 1), "u": system.u, "p": system.p}
        results = program.function.call([given[slot.name] for slot in program.inputs])
        return dict(zip((slot.name for slot in program.outputs), results, strict=True))

    @cached_property
    def _lacking(self) -> frozenset[str]:
        """Outputs that need what the last stage gives."""
        values, labels = self._called(self.posed.motion)["outputs"], self.posed.motion.output("outputs").labels
        loose = _stacked([symbol for _, symbol in self._loose] if self.solved else [])
        return frozenset(name for i, name in enumerate(labels) if loose.numel() and ca.depends_on(values[i], loose))

    def _report(self) -> Program | LinearSolveProgram:
        report = self.posed.report
        assert isinstance(report, Program)  # nothing is solved for in implicit equations
        reported: Slots = {name: (value, report.output(name).labels) for name, value in self._called(report).items()}
        solved = self._loose if self.solved else []
        reported["multipliers"] = (_stacked([symbol for _, symbol in solved]), [q.name for q, _ in solved])
        reported["residuals"] = self._residuals()
        return self._program("report", reported)

    def _motion(self) -> Program:
        motion, slots = self.posed.motion, self._arguments("q")
        values, labels = self._called(motion)["outputs"], motion.output("outputs").labels
        there = [i for i, name in enumerate(labels) if name not in self._lacking]
        arguments: Slots = {"t": slots["t"], "q": slots["q"], "v": ca.SX.sym("v", 0), "u": slots["u"], "p": slots["p"]}
        outputs = (_stacked([values[i] for i in there]), [labels[i] for i in there])
        return Program.build(motion.name, arguments, {"residuals": self._residuals(), "outputs": outputs})

    def _events(self) -> Program | None:
        events = self.posed.events
        if events is None:
            return None
        value = (self._called(events)["value"], events.output("value").labels)
        return Program.build(events.name, self._arguments(), {"value": value})

    # ---------------------------------------------------------------- words

    def _said(self) -> list[str]:
        often = {1: "once", 2: "twice"}
        found = [f"{c.equation!r} {often.get(c.times, f'{c.times} times')}" for c in self._last if c.times]
        said = [f"differentiated: {', '.join(found)}" if found else "nothing had to be differentiated"]
        if self._differentiated:
            said.append(
                f"kept as constraints, onto which the state is projected: {', '.join(c.name for c in self._differentiated)}"
            )
        if not self.solved:
            return [*said, "nothing is solved for: the equations stay implicit, of index 1"]
        if self._loose:
            said.append(f"solved for at every evaluation: {', '.join(q.name for q, _ in self._loose)}")
        dynamics = self.posed.dynamics
        assert isinstance(dynamics, DaeResidual)
        algebraic = {q.name for q, moves in zip(self.posed.coordinates, dynamics.differential, strict=True) if not moves}
        states = [q.name for q, _, _ in self._states if q.name in algebraic]
        if states:
            said.append(f"algebraic unknowns that became states (they enter nonlinearly, or were kept): {', '.join(states)}")
        return said


def _stacked(parts: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)

"""Mechanisms as differential-algebraic systems: constraints at position, velocity or acceleration level, and GGL.

    q̇ = N v + n₀,   M v̇ = F + Aᵀλ,   and   f(q, t) = 0 (index 3),  ḟ = 0 (index 2)  or  f̈ = 0 (index 1).

Velocity constraints g(q, v, t) = 0 are undifferentiated at index 3 and 2 (their index is 2), differentiated at index 1. The
stabilized form of Gear, Gupta & Leimkuhler (1985) keeps both f = 0 and ḟ = 0: corrections μ enter as q̇ = N v + n₀ + (∂f/∂q)ᵀμ
and vanish along solutions; its index is 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import does_work, with_reactions
from draisine.dynamics.dae.hidden_constraints import solvable
from draisine.dynamics.dae.second_order_form import MULTIPLIER, second_order
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import ENERGIES, Constraint, Equations, Kind, Quantity
from draisine.program.linear_solve import Slots
from draisine.program.program import DaeResidual, Program


def as_dae(model: SecondOrder | Equations | Model | System, index: int = 3, ggl: bool = False) -> Equations:
    """A mechanism as a DAE 0 = F(t, x, ẋ) with x = (q, v, λ) of the requested index; with `ggl` the stabilized form of index 2.

    `model` is a `SecondOrder`, equations built from one (`lagrangian`, `from_sympy`, `derive_by_energies`), or a described
    model, which is derived from energies, with Euler angles for quaternions.

    >>> import sympy as sp
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from draisine.symbolic.lagrangian import lagrangian
    >>> x, y = dynamicsymbols("x y")
    >>> rod = lagrangian("rod", [x, y], kinetic=(x.diff() ** 2 + y.diff() ** 2) / 2, potential=10 * y,
    ...                  holonomic={"length": x**2 + y**2 - 1}, start={x: 1})
    >>> three = as_dae(rod)
    >>> [q.name for q in three.coordinates], three.dynamics.index
    (['x', 'y', 'x_rate', 'y_rate', 'length_multiplier'], (1, 1, 2, 2, 3))
    """
    refuse_unilateral("as_dae", model)
    if index not in (1, 2, 3):
        raise ArgumentError(f"a mechanism can be written as a DAE of index 1, 2 or 3, not {index!r}")
    if ggl and index == 1:
        raise ArgumentError("the stabilized form of Gear, Gupta & Leimkuhler has index 2: omit index or ggl")
    mechanics, repeated = second_order(model)
    found = _DaeForm(mechanics, 2 if ggl else index, ggl).equations()
    if not repeated:
        return found
    note = f"left out, since they are redundant and their forces are not unique: {', '.join(repeated)}"
    return replace(found, notes=(*found.notes, note))


@dataclass(frozen=True)
class _DaeForm:
    """A second-order system with its constraints at one level."""

    system: SecondOrder
    level: int
    ggl: bool

    # ---------------------------------------------------------------- unknowns

    @cached_property
    def _names(self) -> list[str]:
        return [name for name, _ in (*self.system.holonomic, *self.system.nonholonomic)]

    @cached_property
    def _multipliers(self) -> ca.SX:
        return _symbols([f"{name}{MULTIPLIER}" for name in self._names])

    @cached_property
    def _corrected(self) -> list[str]:
        return [name for name, _ in (*self.system.holonomic, *self.system.invariants)] if self.ggl else []

    @cached_property
    def _corrections(self) -> ca.SX:
        return _symbols([f"{name}_correction" for name in self._corrected])

    @cached_property
    def _coordinates(self) -> tuple[Quantity, ...]:
        s = self.system
        return (
            *s.coordinates,
            *s.velocities,
            *(Quantity(f"{name}{MULTIPLIER}", description=f"reaction of the constraint {name}") for name in self._names),
            *(
                Quantity(f"{name}_correction", description=f"correction of GGL for {name}, zero along solutions")
                for name in self._corrected
            ),
        )

    @cached_property
    def _x(self) -> ca.SX:
        return ca.vertcat(self.system.q, self.system.v, self._multipliers, self._corrections)

    def _indices(self) -> tuple[int, ...]:
        s = self.system
        at_position = bool(s.holonomic) and self.level == 3
        reaction = 1 if self.level == 1 else 3 if at_position else 2
        parts = ((s.q, 1), (s.v, 2 if at_position else 1), (self._multipliers, reaction), (self._corrections, 2))
        return tuple(index for symbols, index in parts for _ in range(symbols.numel()))

    # ---------------------------------------------------------------- rows

    @cached_property
    def _positions(self) -> ca.SX:
        return _stacked([f for _, f in self.system.holonomic])

    @cached_property
    def _invariants(self) -> ca.SX:
        return _stacked([f for _, f in self.system.invariants])

    @cached_property
    def _holonomic_rates(self) -> ca.SX:
        return self.system.rate(self._positions) if self.system.holonomic else ca.SX(0, 1)

    @cached_property
    def _nonholonomic_rates(self) -> ca.SX:
        return _stacked([g for _, g in self.system.nonholonomic])

    @cached_property
    def _velocities(self) -> ca.SX:
        return ca.vertcat(self._holonomic_rates, self._nonholonomic_rates)

    @cached_property
    def _matrix(self) -> ca.SX:
        return ca.jacobian(self._velocities, self.system.v)

    @cached_property
    def _bias(self) -> ca.SX:
        """d/dt (A v + g₀) − A v̇."""
        return self.system.rate(self._velocities) if self._names else ca.SX(0, 1)

    @cached_property
    def _forces(self) -> ca.SX:
        (force,) = with_reactions(self.system, self._multipliers, [self.system.force])
        return force + self._matrix.T @ self._multipliers

    def _implicit(self) -> DaeResidual:
        s = self.system
        rate = ca.SX.sym("rate", self._x.numel())
        moving, speeding = rate[: s.q.numel()], rate[s.q.numel() : s.q.numel() + s.v.numel()]
        kinematics = moving - s.q_rate
        if self.ggl:
            kinematics -= ca.jacobian(ca.vertcat(self._positions, self._invariants), s.q).T @ self._corrections
        rows = [kinematics, s.mass @ speeding - self._forces]
        labels = [*(f"{c.name}_motion" for c in s.coordinates), *(f"{v.name}_balance" for v in s.velocities)]
        if self.level == 1:
            rows.append(self._matrix @ speeding + self._bias)
            labels += [f"{name}_acceleration" for name in self._names]
        else:
            rows += [self._positions if self.level == 3 else self._holonomic_rates, self._nonholonomic_rates]
            labels += [name if self.level == 3 else f"{name}_velocity" for name, _ in s.holonomic]
            labels += [name for name, _ in s.nonholonomic]
        if self.ggl:
            rows += [self._positions, self._invariants]
            labels += self._corrected
        slots = self._arguments()
        arguments: Slots = {"t": slots["t"], "x": slots["x"], "xdot": rate, "u": slots["u"], "p": slots["p"]}
        program = Program.build(f"{s.name}_residual", arguments, {"residual": (ca.vertcat(*rows), labels)})
        sizes = (s.q.numel(), s.v.numel(), self._multipliers.numel() + self._corrections.numel())
        orders = tuple(order for order, size in enumerate(sizes) for _ in range(size))
        return DaeResidual(s.name, program, self._indices(), orders)

    # ---------------------------------------------------------------- constraints

    @cached_property
    def _constraints(self) -> list[tuple[Constraint, ca.SX]]:
        """All levels; the last is the condition on multipliers."""
        s, unit = self.system, self.system.constraint_units
        kinds = [(name, Kind.HOLONOMIC) for name, _ in s.holonomic] + [(name, Kind.NONHOLONOMIC) for name, _ in s.nonholonomic]
        found = [(Constraint(n, Kind.HOLONOMIC, "position", unit.get(n, "")), f) for n, f in s.holonomic]
        found += [(Constraint(n, Kind.NORM, "position"), f) for n, f in s.invariants]
        found += [(Constraint(n, kind, "velocity"), self._velocities[i]) for i, (n, kind) in enumerate(kinds)]
        accelerations = self._accelerations
        if accelerations is not None:
            found += [(Constraint(n, kind, "acceleration"), accelerations[i]) for i, (n, kind) in enumerate(kinds)]
        found += [
            (Constraint(f"{n}_correction", Kind.HIDDEN, "position"), self._corrections[i]) for i, n in enumerate(self._corrected)
        ]
        return found

    @cached_property
    def _accelerations(self) -> ca.SX | None:
        """A M⁻¹(F + Aᵀλ) + bias, or None where M cannot be inverted in symbols."""
        s = self.system
        defaults = np.array([c.default for c in s.coordinates])
        moved = defaults + 0.01 * np.random.default_rng(1).uniform(0.5, 1.0, len(defaults))
        sample = (np.zeros(1), moved, np.array([p.default for p in s.parameters]))
        if not self._names or not solvable([s.t, s.q, s.p], s.mass, sample):
            return None
        return self._matrix @ ca.solve(s.mass, self._forces) + self._bias

    # ---------------------------------------------------------------- programs

    def _arguments(self, state: str = "x") -> Slots:
        s = self.system
        return {
            "t": (s.t, ["t"]),
            state: (self._x, [q.name for q in self._coordinates]),
            "u": (s.u, [u.name for u in s.inputs]),
            "p": (s.p, [p.name for p in s.parameters]),
        }

    def _residuals(self) -> tuple[ca.SX, list[str]]:
        return _stacked([r for _, r in self._constraints]), [f"{c.name}_{c.level}" for c, _ in self._constraints]

    def _outputs(self) -> tuple[ca.SX, list[str]]:
        return _stacked([e for _, e in self.system.outputs]), [q.name for q, _ in self.system.outputs]

    def _report(self) -> Program:
        s, nothing = self.system, ca.SX(0, 1)
        (driven,) = with_reactions(s, self._multipliers, [s.driven])
        power = ca.jacobian(ca.dot(driven, s.v), s.u).T * s.u if s.inputs else nothing
        # work is not among the unknowns: it is reported, as zero, only where nothing but inputs does any
        work = [] if does_work(s) else [ca.SX(0)]
        return Program.build(
            f"{s.name}_report",
            self._arguments(),
            {
                "v": nothing,
                "vdot": nothing,
                "multipliers": nothing,
                "outputs": self._outputs(),
                "energy": (ca.vertcat(s.kinetic, s.potential, *work), ENERGIES[: 2 + len(work)]),
                "residuals": self._residuals(),
                "power": (ca.densify(power), [f"{u.name}_power" for u in s.inputs]),
                "inputs": (s.u, [u.name for u in s.inputs]),
            },
        )

    def _motion(self) -> Program:
        slots = self._arguments("q")
        arguments: Slots = {"t": slots["t"], "q": slots["q"], "v": ca.SX.sym("v", 0), "u": slots["u"], "p": slots["p"]}
        return Program.build(
            f"{self.system.name}_motion", arguments, {"residuals": self._residuals(), "outputs": self._outputs()}
        )

    def _events(self) -> Program | None:
        s = self.system
        if not s.events:
            return None
        value = (_stacked([e for _, e in s.events]), [event.name for event, _ in s.events])
        return Program.build(f"{s.name}_events", self._arguments(), {"value": value})

    def _twists(self) -> Program | None:
        s = self.system
        if s.twists is None:
            return None
        slots = self._arguments("q")
        arguments: Slots = {"q": slots["q"], "v": ca.SX.sym("v", 0), "p": slots["p"]}
        return Program.build(f"{s.name}_twists", arguments, {"twists": (ca.densify(s.twists), s.twist_labels)})

    def equations(self) -> Equations:
        s = self.system
        form = "stabilized by corrections (GGL), index 2" if self.ggl else f"constraints at index {self.level}"
        notes = [f"DAE with multipliers: {form}"]
        if self._names and self._accelerations is None:
            notes.append(
                "conditions on the multipliers are not among the constraints: the mass matrix is too large, or singular, to be "
                "inverted in symbols"
            )
        return Equations(
            name=s.name,
            coordinates=self._coordinates,
            velocities=(),
            independent=(),
            inputs=s.inputs,
            parameters=s.parameters,
            multipliers=(),
            outputs=tuple(q for q, _ in s.outputs),
            force_outputs=frozenset(),
            constraints=tuple(c for c, _ in self._constraints),
            dynamics=self._implicit(),
            report=self._report(),
            motion=self._motion(),
            events=self._events(),
            event_list=tuple(event for event, _ in s.events),
            notes=tuple(notes),
            twists=self._twists(),
            structure=s.structure,
        )


def _symbols(names: list[str]) -> ca.SX:
    return _stacked([ca.SX.sym(name) for name in names])


def _stacked(parts: list[ca.SX]) -> ca.SX:
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)

"""Lowering of a description: names and expressions to CasADi symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca

from draisine.dynamics.linear_algebra import ZERO, Mat, Vec, fold_constant
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Expr, did_you_mean, evaluate, names
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.expr.tree import short
from draisine.model.items import Coordinate
from draisine.model.system import System
from draisine.program.equations import DependentQuantity

Special = Callable[[tuple[Expr, ...]], ca.SX]


class Used(NamedTuple):
    """Names on which a quantity depends."""

    coordinates: list[str]
    velocities: list[str]
    inputs: list[str]


@dataclass
class Scope:
    """Symbols of one derivation: time, coordinates q, velocities v, inputs u, parameters p, and functions available to
    expressions."""

    system: System

    def __post_init__(self) -> None:
        system = self.system
        if not isinstance(system, System):
            raise ArgumentError(
                f"expected a model, got {short(repr(system))}; take one from the gallery, gallery.model('bicycle'), or from a "
                "file, read_model('cart.toml')"
            )
        self.coordinates = [c.name for c in system.coordinates]
        self.velocities = [v.name for v in system.velocities]
        self.input_names = [u.name for u in system.inputs]
        self.parameters = [p.name for p in system.arguments]
        self.t = ca.SX.sym("t")
        self._symbols: dict[str, ca.SX] = {"t": self.t}
        for group in (self.coordinates, self.velocities, self.input_names, self.parameters):
            for name in group:
                self._symbols[name] = ca.SX.sym(name)
        self.special: dict[str, Special] = {}
        self._functions = dict(SX_FUNCTIONS)
        for table in system.functions:
            self._functions[table.name] = table
        self._residual_rows = {row for constraint in system.constraints for row, _ in constraint.residuals}
        self.multipliers: dict[str, ca.SX] = {}  # by row, those on which forces depend
        self.accelerations: dict[str, ca.SX] = {}  # by velocity, those on which outputs depend
        self.reporting = False  # whether outputs are evaluated, which alone may depend on accelerations
        self._outputs = {o.name: o.expression for o in system.outputs} | system.definitions
        self._values: dict[str, ca.SX] = {}
        self._open: list[str] = []
        self.masses: dict[tuple[object, ...], tuple[ca.SX, Vec, Mat]] = {}  # of bodies, by their mass, center and inertia

    def vector(self, group: list[str]) -> ca.SX:
        return ca.vertcat(*[self._symbols[n] for n in group]) if group else ca.SX(0, 1)

    @cached_property
    def q(self) -> ca.SX:
        return self.vector(self.coordinates)

    @cached_property
    def v(self) -> ca.SX:
        return self.vector(self.velocities)

    @cached_property
    def u(self) -> ca.SX:
        return self.vector(self.input_names)

    @cached_property
    def p(self) -> ca.SX:
        return self.vector(self.parameters)

    def velocity_index(self, name: str) -> int:
        return self._velocity_indices[name]

    @cached_property
    def _velocity_indices(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.velocities)}

    def symbol(self, name: str) -> ca.SX:
        return self._symbols[name]

    def value(self, expression: Expr, given: Mapping[str, ca.SX] | None = None) -> ca.SX:
        """The expression in symbols; `given` are values that override names."""
        own = given or {}

        def look_up(name: str) -> ca.SX:
            return own[name] if name in own else self._look_up(name)

        return fold_constant(ca.SX(evaluate(expression, look_up if own else self._look_up, self._functions, self.special)))

    def used_in(self, quantity: ca.SX) -> Used:
        """Names on which a quantity depends, in the order of the scope."""
        found = sorted(place for s in ca.symvar(quantity) if (place := self._symbol_index.get(s.element_hash())) is not None)
        return Used(*([name for _, kind, name in found if kind == group] for group in ("q", "v", "u")))

    @cached_property
    def _symbol_index(self) -> dict[int, tuple[int, str, str]]:
        """Symbols by their hash: number, kind, name."""
        groups = (("q", self.coordinates), ("v", self.velocities), ("u", self.input_names))
        listed = [(kind, name) for kind, group in groups for name in group]
        return {self._symbols[name].element_hash(): (i, kind, name) for i, (kind, name) in enumerate(listed)}

    def multiplier(self, row: str) -> ca.SX:
        """The symbol of a constraint's multiplier, for forces that depend on it."""
        return self.multipliers.setdefault(row, ca.SX.sym(f"{row}_multiplier"))

    def acceleration(self, velocity: str) -> ca.SX:
        """The symbol of a velocity's rate, for outputs that depend on it."""
        if not self.reporting:
            raise ModelError(
                f"model {self.system.name!r}: an acceleration, the rate of {velocity!r}, can be an output only; write forces, "
                "constraints, laws and events in positions and velocities"
            )
        return self.accelerations.setdefault(velocity, ca.SX.sym(f"d{velocity}/dt"))

    def is_acceleration(self, quantity: ca.SX) -> bool:
        """Whether a quantity depends on accelerations."""
        return bool(self.accelerations) and ca.depends_on(quantity, ca.vertcat(*self.accelerations.values()))

    def _look_up(self, name: str) -> ca.SX:
        """An output's value, or a symbol."""
        definition = self._outputs.get(name)
        if definition is None:
            row = name.removesuffix("_multiplier")
            if name not in self._symbols and row != name and row in self._residual_rows:
                return self.multiplier(row)
            if name not in self._symbols:
                raise ModelError(self.unknown(name))
            return self._symbols[name]
        if name in self._values and not self.reporting and self.is_acceleration(self._values[name]):
            del self._values[name]  # evaluated again, which names the acceleration
        if name not in self._values:
            if name in self._open:
                raise ModelError(f"{name!r} depends on itself: {' → '.join([*self._open, name])}")
            self._open.append(name)
            self._values[name] = self.value(definition)
            self._open.pop()
        return self._values[name]

    def unknown(self, name: str) -> str:
        hint = did_you_mean(name, [*self._symbols, *self._outputs])
        return f"model {self.system.name!r}: unknown name {name!r}{hint}"


def dependent_parameters(system: System) -> tuple[DependentQuantity, ...]:
    """The dependent parameters of equations, as expressions of their parameters."""
    values = system.parameter_values()
    return tuple(
        DependentQuantity(d.name, str(system.definitions[d.name]), d.unit, d.description, values[d.name])
        for d in system.dependent_parameters
    )


def affine(expression: Expr, coordinates: Mapping[str, Coordinate], scope: Scope, where: str) -> tuple[ca.SX, str | None, ca.SX]:
    """Value of an amount that is constant or affine in one coordinate, the velocity that drives it, and its gain."""
    used = sorted(names(expression) & set(coordinates))
    amount = scope.value(expression)
    if not used:
        return amount, None, ZERO
    if len(used) > 1:
        raise ModelError(
            f"{where}: one displacement may use one coordinate, but '{expression}' uses {' and '.join(used)}; "
            "chain two displacements"
        )
    symbol = scope.symbol(used[0])
    gain = ca.jacobian(amount, symbol)
    if ca.depends_on(gain, symbol):
        raise ModelError(f"{where}: '{expression}' must be affine in {used[0]!r}")
    return amount, coordinates[used[0]].rate, fold_constant(gain)

"""What systems typed as formulas of their unknowns share: names, symbols, units, starts, and `Equations` around the dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations, Quantity
from draisine.program.program import Program
from draisine.symbolic.symbol_table import Vocabulary, check_names, checked_start, checked_units, column, finite, plain

Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]


@dataclass(frozen=True)
class Surroundings:
    """What a system has besides its unknowns and its equations, as the user gave it."""

    parameters: Mapping[Any, float]
    inputs: Sequence[Any]
    outputs: Mapping[str, Any]
    start: Mapping[Any, float]
    units: Mapping[Any, str]


class Alphabet:
    """SymPy's symbols of one system and the SX that stand for them. `kind` is what the unknowns are called in messages."""

    def __init__(
        self, name: str, kind: str, unknowns: Sequence[Any], given: Surroundings, rates: Mapping[Any, Any] | None = None
    ) -> None:
        from sympy.physics.vector import dynamicsymbols

        self.name, self.kind, self._given = name, kind, given
        self.names, self.inputs, self.parameters = (
            [plain(s) for s in group] for group in (unknowns, given.inputs, given.parameters)
        )
        self._check_names()
        self.t, self.x, self.u, self.p = ca.SX.sym("t"), column(self.names), column(self.inputs), column(self.parameters)
        self.rate = column(f"d{n}" for n in self.names)
        known: dict[Any, ca.SX] = {dynamicsymbols._t: self.t}
        for symbols, vector in ((unknowns, self.x), (given.inputs, self.u), (list(given.parameters), self.p)):
            known |= {symbol: vector[i] for i, symbol in enumerate(symbols)}
        self._words = Vocabulary(name, kind, known)
        places = {symbol: i for i, symbol in enumerate(unknowns)}
        moving = {symbol: self.rate[places[unknown]] for unknown, symbol in (rates or {}).items()}
        self._moving = Vocabulary(name, kind, known | moving)

    def lower(self, expression: Any, what: str) -> ca.SX:
        """An expression of unknowns, time, inputs and parameters."""
        return self._words.lower(expression, what)

    def lower_with_rates(self, expression: Any, what: str) -> ca.SX:
        """An expression that may contain rates of unknowns too."""
        return self._moving.lower(expression, what)

    def arguments(self, rates: bool = False) -> Slots:
        """The arguments of the dynamics: (t, x, u, p), or (t, x, xdot, u, p)."""
        moving: Slots = {"xdot": (self.rate, [f"d{n}/dt" for n in self.names])} if rates else {}
        return {"t": (self.t, ["t"]), "x": (self.x, self.names), **moving, **self._shared}

    @property
    def _shared(self) -> Slots:
        return {"u": (self.u, self.inputs), "p": (self.p, self.parameters)}

    @property
    def units(self) -> dict[str, str]:
        names = [*self.names, *self.inputs, *self.parameters, *self._given.outputs]
        return checked_units(self.name, self._given.units, names)

    def equations(self, dynamics: Program | DaeResidual, notes: Sequence[str] = ()) -> Equations:
        """The equations of a system without velocities of its own; constraints are not known yet."""
        given, unit = self._given, self.units
        defaults = checked_start(self.name, self.kind, given.start, self.names)
        reported = [self.lower(expression, f"output {n!r}") for n, expression in given.outputs.items()]
        nothing = ca.SX(0, 1)
        listed = (ca.vertcat(*reported) if reported else nothing, list(given.outputs))
        report: Slots = {"v": nothing, "vdot": nothing, "multipliers": nothing, "outputs": listed, "residuals": nothing}
        motion: Slots = {"t": (self.t, ["t"]), "q": (self.x, self.names), "v": ca.SX.sym("v", 0), **self._shared}
        return Equations(
            name=self.name,
            coordinates=tuple(Quantity(n, unit.get(n, ""), default=defaults.get(n, 0.0)) for n in self.names),
            velocities=(),
            independent=(),
            inputs=tuple(Quantity(n, unit.get(n, "")) for n in self.inputs),
            parameters=tuple(
                Quantity(n, unit.get(n, ""), default=finite(self.name, f"parameter {n!r}", value))
                for n, value in zip(self.parameters, given.parameters.values(), strict=True)
            ),
            multipliers=(),
            outputs=tuple(Quantity(n, unit.get(n, "")) for n in given.outputs),
            force_outputs=frozenset(),
            constraints=(),
            dynamics=dynamics,
            report=Program.build(f"{self.name}_report", self.arguments(), {**report, "inputs": (self.u, self.inputs)}, unit),
            motion=Program.build(f"{self.name}_motion", motion, {"residuals": nothing, "outputs": listed}, unit),
            notes=tuple(notes),
        )

    def _check_names(self) -> None:
        a = "an" if self.kind[0] in "aeiou" else "a"
        groups = (
            (f"{a} {self.kind}", self.names),
            ("an input", self.inputs),
            ("a parameter", self.parameters),
            ("an output", list(self._given.outputs)),
        )
        check_names(self.name, groups)

"""Symbol tables: SymPy's symbols of a system and the CasADi symbols (SX) that replace them; checks of names, units and starts.

`SystemSymbols` is for systems given as expressions of their unknowns, `MechanicsSymbols` for those of `sympy.physics.mechanics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from draisine.errors import ExpressionError, ModelError, UnitError
from draisine.expr.expression import did_you_mean
from draisine.expr.units import si_text
from draisine.model.validate import check_system_name
from draisine.program.equations import Equations, Quantity
from draisine.program.program import DaeResidual, Program
from draisine.symbolic.sympy_bridge import to_sx

Named = Mapping[str, Any] | Sequence[Any]
Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]


def plain(symbol: Any) -> str:
    """Name of a symbol, of a function without its argument, or `q_rate` of a derivative.

    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> q = dynamicsymbols("q")
    >>> plain(q), plain(q.diff()), plain("mass")
    ('q', 'q_rate', 'mass')
    """
    import sympy

    if isinstance(symbol, sympy.Derivative):
        return plain(symbol.expr) + "_rate" * symbol.derivative_count
    return str(symbol.func) if isinstance(symbol, sympy.core.function.AppliedUndef) else str(symbol)


def formula(owner: str, what: str, expression: Any) -> Any:
    """A SymPy expression; text and equations raise ModelError."""
    import sympy

    try:
        found = sympy.sympify(expression, strict=True)
    except sympy.SympifyError:
        raise ModelError(
            f"{owner}: {what} is {expression!r}, of type {type(expression).__name__}; type it as a SymPy expression"
        ) from None
    if isinstance(found, sympy.core.relational.Relational | sympy.logic.boolalg.BooleanAtom):
        raise ModelError(f"{owner}: {what} is {found}, an equation; write the residual, left side − right side")
    return found


def leaves(expressions: Iterable[Any]) -> list[Any]:
    """Symbols, functions of time and derivatives in expressions, each once; shared parts are visited once."""
    import sympy

    found, seen, stack = [], set(), list(expressions)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, sympy.Symbol | sympy.Derivative | sympy.core.function.AppliedUndef):
            found.append(node)
        else:
            stack += node.args
    return found


def named(items: Named, stem: str) -> list[tuple[str, Any]]:
    """Pairs of name and expression; a sequence is numbered: stem1, stem2, …"""
    if isinstance(items, Mapping):
        return list(items.items())
    return [(f"{stem}{i + 1}", item) for i, item in enumerate(items)]


def finite(owner: str, what: str, value: Any) -> float:
    """A finite number, or ModelError."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ModelError(f"{owner}: {what} is {found}; give a finite number")
    return found


def check_names(owner: str, groups: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Check that names are unique; a group is the kind of its names, with an article, and the names."""
    seen: dict[str, str] = {"t": "time"}
    for kind, names in groups:
        for word in names:
            if word in seen:
                both = f"is {kind} twice" if seen[word] == kind else f"is both {seen[word]} and {kind}"
                raise ModelError(f"{owner}: {word!r} {both}; names must differ")
            seen[word] = kind


def check_one_symbol_each(owner: str, symbols: Iterable[Any]) -> None:
    """Refuse different symbols of one name: SymPy tells them apart by identity (`Dummy`) or assumptions, names do not."""
    seen: dict[str, Any] = {}
    for symbol in symbols:
        other = seen.setdefault(plain(symbol), symbol)
        if other != symbol:
            raise ModelError(
                f"{owner}: two different symbols are called {plain(symbol)!r} ({_kind(other)} and {_kind(symbol)}); values are "
                "given by name, so rename one of them, or create the symbol once and use it everywhere"
            )


def _kind(symbol: Any) -> str:
    import sympy

    if not isinstance(symbol, sympy.Symbol):
        return "a name" if isinstance(symbol, str) else "a function of time"
    if isinstance(symbol, sympy.Dummy):
        return f"Dummy number {symbol.dummy_index}"
    given = ", ".join(f"{key}={value}" for key, value in sorted(symbol._assumptions_orig.items()) if key != "commutative")
    return f"Symbol with {given}" if given else "Symbol"


def column(names: Iterable[str]) -> ca.SX:
    """One SX symbol for each name."""
    symbols = [ca.SX.sym(name) for name in names]
    return ca.vertcat(*symbols) if symbols else ca.SX(0, 1)


class SymbolMap:
    """SymPy's symbols and the SX that replace them. `kind` names the unknowns in messages: "coordinate", "state"."""

    def __init__(self, owner: str, kind: str, known: Mapping[Any, ca.SX]) -> None:
        self._owner, self._kind, self._known = owner, kind, dict(known)
        self._names = sorted({plain(symbol) for symbol in known})

    def lower(self, expression: Any, what: str) -> ca.SX:
        """A SymPy expression in SX; unknown symbols raise ModelError."""
        import sympy

        expression = formula(self._owner, what, expression)
        used = (*expression.free_symbols, *expression.atoms(sympy.core.function.AppliedUndef))
        unknown = sorted((s for s in used if s not in self._known), key=str)
        if unknown:
            word = plain(unknown[0])
            hint = (
                f"; another {word!r} with other assumptions is known: create the symbol once and use it everywhere"
                if word in self._names
                else did_you_mean(word, self._names)
            )
            raise ModelError(
                f"{self._owner}: {what} uses {word!r}, which is neither a {self._kind}, a parameter nor an input{hint}"
            )
        needed = [*used, *(d for d in expression.atoms(sympy.Derivative) if d in self._known)]
        try:
            return to_sx(expression, {symbol: self._known[symbol] for symbol in needed})
        except ExpressionError as problem:
            raise ModelError(f"{self._owner}: {what}: {problem}") from None


def checked_units(owner: str, units: Mapping[Any, str] | None, names: Iterable[str]) -> dict[str, str]:
    """Units by name; unknown or non-SI units and unknown names raise ModelError."""
    known, found = list(names), dict[str, str]()
    for symbol, unit in (units or {}).items():
        name = plain(symbol)
        if name not in known:
            raise ModelError(f"{owner}: a unit is given for {name!r}, which does not exist{did_you_mean(name, known)}")
        try:
            si = si_text(unit) if unit else unit
        except UnitError as problem:
            raise ModelError(f"{owner}: unit of {name!r}: {problem}") from None
        if si != unit:
            raise ModelError(f"{owner}: {name!r} is not converted, so its unit must be SI: {si!r}, not {unit!r}")
        found[name] = unit
    return found


def checked_start(owner: str, kind: str, start: Mapping[Any, float] | None, names: Iterable[str]) -> dict[str, float]:
    """Default values by name of coordinate or state."""
    known, found = list(names), dict[str, float]()
    for symbol, value in (start or {}).items():
        name = plain(symbol)
        if name not in known:
            raise ModelError(f"{owner}: a start is given for {name!r}, which is not a {kind}{did_you_mean(name, known)}")
        found[name] = finite(owner, f"the start of {name!r}", value)
    return found


# ---------------------------------------------------------------- systems typed as formulas


@dataclass(frozen=True)
class SystemArguments:
    """The arguments of a system other than its unknowns and equations."""

    parameters: Mapping[Any, float]
    inputs: Sequence[Any]
    outputs: Mapping[str, Any]
    start: Mapping[Any, float]
    units: Mapping[Any, str]


class SystemSymbols:
    """SymPy's symbols of one system and the SX that replace them. `kind` names the unknowns in messages."""

    def __init__(
        self, name: str, kind: str, unknowns: Sequence[Any], given: SystemArguments, rates: Mapping[Any, Any] | None = None
    ) -> None:
        from sympy.physics.vector import dynamicsymbols

        check_system_name(name)
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
        self._map = SymbolMap(name, kind, known)
        indices = {symbol: i for i, symbol in enumerate(unknowns)}
        rate_map = {symbol: self.rate[indices[unknown]] for unknown, symbol in (rates or {}).items()}
        self._map_with_rates = SymbolMap(name, kind, known | rate_map)

    def lower(self, expression: Any, what: str) -> ca.SX:
        """An expression of unknowns, time, inputs and parameters."""
        return self._map.lower(expression, what)

    def lower_with_rates(self, expression: Any, what: str) -> ca.SX:
        """An expression that may also contain rates of unknowns."""
        return self._map_with_rates.lower(expression, what)

    def arguments(self, rates: bool = False) -> Slots:
        """The arguments of the dynamics: (t, x, u, p), or (t, x, xdot, u, p)."""
        xdot: Slots = {"xdot": (self.rate, [f"d{n}/dt" for n in self.names])} if rates else {}
        return {"t": (self.t, ["t"]), "x": (self.x, self.names), **xdot, **self._shared}

    @property
    def _shared(self) -> Slots:
        return {"u": (self.u, self.inputs), "p": (self.p, self.parameters)}

    @property
    def units(self) -> dict[str, str]:
        names = [*self.names, *self.inputs, *self.parameters, *self._given.outputs]
        return checked_units(self.name, self._given.units, names)

    def equations(self, dynamics: Program | DaeResidual, notes: Sequence[str] = ()) -> Equations:
        """The equations of a system without velocities; constraints are added later."""
        given, unit = self._given, self.units
        defaults = checked_start(self.name, self.kind, given.start, self.names)
        outputs = [self.lower(expression, f"output {n!r}") for n, expression in given.outputs.items()]
        nothing = ca.SX(0, 1)
        listed = (ca.vertcat(*outputs) if outputs else nothing, list(given.outputs))
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


# ---------------------------------------------------------------- SymPy's mechanics


class MechanicsSymbols:
    """SX symbols for the states, inputs and constants of one system, and expressions in terms of them.

    A constant without a value gets a symbol too: only at the end is it known whether it cancels (the mass of the ground) or is
    missing.
    """

    def __init__(
        self, name: str, coordinates: Sequence[Any], speeds: Sequence[Any], inputs: Sequence[Any], parameters: Mapping[Any, float]
    ) -> None:
        from sympy.physics.vector import dynamicsymbols

        check_system_name(name)
        self.name = name
        self.coordinates, self.speeds, self.inputs = ([plain(s) for s in row] for row in (coordinates, speeds, inputs))
        self.parameters = {plain(s): finite(name, f"parameter {plain(s)!r}", value) for s, value in parameters.items()}
        self._check_names()
        check_one_symbol_each(name, parameters)
        self.t = ca.SX.sym("t")
        self.q, self.v, self.u, self.p = map(column, (self.coordinates, self.speeds, self.inputs, self.parameters))
        self._known: dict[Any, ca.SX] = {dynamicsymbols._t: self.t}
        self._known |= {s: self.q[i] for i, s in enumerate(coordinates)}
        self._known |= {s: self.v[i] for i, s in enumerate(speeds)}
        self._given = {n: self.u[i] for i, n in enumerate(self.inputs)} | {n: self.p[i] for i, n in enumerate(self.parameters)}
        self._constants: dict[str, ca.SX] = {}
        self._undeclared: dict[str, ca.SX] = {}  # functions of time
        self._owner: dict[str, Any] = {}  # the symbol of each name in the expressions

    def _check_names(self) -> None:
        kinds = {
            "a coordinate": self.coordinates,
            "a speed": self.speeds,
            "an input": self.inputs,
            "a parameter": list(self.parameters),
        }
        seen: dict[str, str] = {}
        for kind, names in kinds.items():
            for name in names:
                if name in seen:
                    raise ModelError(f"{self.name}: {name!r} names {seen[name]} and {kind}; rename one of them")
                seen[name] = kind

    def define(self, symbol: Any, value: ca.SX) -> None:
        """Define another symbol, such as a coordinate's rate."""
        self._known[symbol] = value

    def lower(self, expressions: Sequence[Any], what: str) -> ca.SX:
        """A column of SymPy expressions in SX."""
        import sympy

        matrix = sympy.Matrix([sympy.sympify(e, strict=True) for e in expressions]) if len(expressions) else None
        if matrix is None:
            return ca.SX(0, 1)
        for leaf in leaves(matrix):
            if leaf not in self._known:
                self._known[leaf] = self._new_symbol(leaf, what)
        try:
            return ca.vec(to_sx(matrix, self._known))
        except ExpressionError as problem:
            raise ModelError(f"{self.name}: {what}: {problem}") from None

    def scalar(self, expression: Any, what: str) -> ca.SX:
        return self.lower([expression], what)

    def _new_symbol(self, leaf: Any, what: str) -> ca.SX:
        import sympy

        name = plain(leaf)
        if isinstance(leaf, sympy.Derivative):
            raise ModelError(
                f"{self.name}: {what} uses {leaf}; only coordinates have rates, and accelerations may not appear. Write a "
                "prescribed motion as an expression of time"
            )
        if name in (*self.coordinates, *self.speeds):
            raise ModelError(
                f"{self.name}: {what} uses a constant {name!r}, which is also the name of a state; rename one of them"
            )
        check_one_symbol_each(self.name, (leaf, self._owner.setdefault(name, leaf)))
        if name in self._given:
            return self._given[name]
        table = self._constants if isinstance(leaf, sympy.Symbol) else self._undeclared
        return table.setdefault(name, ca.SX.sym(name))

    @property
    def without_value(self) -> dict[str, ca.SX]:
        """Constants and functions of time that were neither declared nor given a value."""
        return {**self._constants, **self._undeclared}

    def check(self, *expressions: ca.SX) -> None:
        """Raise ModelError for constants and functions of time that the expressions need and that have no value."""
        used = ca.veccat(*expressions)
        self.refuse([name for name, symbol in self.without_value.items() if ca.depends_on(used, symbol)])

    def refuse(self, names: Iterable[str], why: str = "") -> None:
        """Raise ModelError for constants and functions of time without a value, if any are named."""
        found = sorted(names)
        absent = {
            "constants without a value": [n for n in found if n in self._constants],
            "functions of time that are neither coordinates nor speeds": [n for n in found if n in self._undeclared],
        }
        cures = (
            "give each a default: parameters={symbol or name: value}",
            "declare them with inputs=[…], or give them values in parameters",
        )
        messages = [
            f"{kind}: {', '.join(names)}; {cure}" for (kind, names), cure in zip(absent.items(), cures, strict=True) if names
        ]
        if messages:
            raise ModelError(f"{self.name} has " + "; and ".join(messages) + why)

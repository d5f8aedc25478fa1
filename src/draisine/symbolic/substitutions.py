"""What stands for what when expressions of SymPy's mechanics become SX: coordinates, speeds, inputs, constants, by name.

Expressions are met as they come. A constant whose value nobody gave gets a symbol too: only at the end is it known whether it
drops out (the mass of the ground, a moment of inertia about an axis that nothing turns about) or is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from draisine.errors import ExpressionError, ModelError
from draisine.symbolic.symbol_table import column, finite
from draisine.symbolic.sympy_bridge import to_sx


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


class Lexicon:
    """SX symbols for the states, inputs and constants of one system, and expressions in terms of them."""

    def __init__(
        self, name: str, coordinates: Sequence[Any], speeds: Sequence[Any], inputs: Sequence[Any], parameters: Mapping[Any, float]
    ) -> None:
        from sympy.physics.vector import dynamicsymbols

        self.name = name
        self.coordinates, self.speeds, self.inputs = ([plain(s) for s in row] for row in (coordinates, speeds, inputs))
        self.parameters = {plain(s): finite(name, f"parameter {plain(s)!r}", value) for s, value in parameters.items()}
        self._check_names()
        self.t = ca.SX.sym("t")
        self.q, self.v, self.u, self.p = map(column, (self.coordinates, self.speeds, self.inputs, self.parameters))
        self._known: dict[Any, ca.SX] = {dynamicsymbols._t: self.t}
        self._known |= {s: self.q[i] for i, s in enumerate(coordinates)}
        self._known |= {s: self.v[i] for i, s in enumerate(speeds)}
        self._given = {n: self.u[i] for i, n in enumerate(self.inputs)} | {n: self.p[i] for i, n in enumerate(self.parameters)}
        self._constants: dict[str, ca.SX] = {}
        self.loose: dict[str, ca.SX] = {}  # functions of time that were not declared

    def _check_names(self) -> None:
        kinds = {
            "a coordinate": self.coordinates,
            "a speed": self.speeds,
            "an input": self.inputs,
            "a parameter": list(self.parameters),
        }
        met: dict[str, str] = {}
        for kind, names in kinds.items():
            for name in names:
                if name in met:
                    raise ModelError(f"{self.name}: {name!r} names {met[name]} and {kind}; rename one of them")
                met[name] = kind

    def let(self, symbol: Any, value: ca.SX) -> None:
        """A further meaning, such as that of a coordinate's rate."""
        self._known[symbol] = value

    def lower(self, expressions: Sequence[Any], what: str) -> ca.SX:
        """A column of SymPy expressions in SX."""
        import sympy

        matrix = sympy.Matrix([sympy.sympify(e, strict=True) for e in expressions]) if len(expressions) else None
        if matrix is None:
            return ca.SX(0, 1)
        for leaf in leaves(matrix):
            if leaf not in self._known:
                self._known[leaf] = self._meet(leaf, what)
        try:
            return ca.vec(to_sx(matrix, self._known))
        except ExpressionError as problem:
            raise ModelError(f"{self.name}: {what}: {problem}") from None

    def scalar(self, expression: Any, what: str) -> ca.SX:
        return self.lower([expression], what)

    def _meet(self, leaf: Any, what: str) -> ca.SX:
        import sympy

        name = plain(leaf)
        if isinstance(leaf, sympy.Derivative):
            raise ModelError(
                f"{self.name}: {what} uses {leaf}; only coordinates have rates here, and accelerations may not appear. Write a "
                "prescribed motion as a formula of time"
            )
        if name in (*self.coordinates, *self.speeds):
            raise ModelError(
                f"{self.name}: {what} uses a constant {name!r}, which is also the name of a state; rename one of them"
            )
        if name in self._given:
            return self._given[name]
        home = self._constants if isinstance(leaf, sympy.Symbol) else self.loose
        return home.setdefault(name, ca.SX.sym(name))

    def check(self, *expressions: ca.SX, functions: bool = True) -> None:
        """Complain about constants (and functions of time) that the expressions need and that nobody gave."""
        used = ca.veccat(*expressions)
        absent = {
            "constants without a value": _appearing(used, self._constants),
            "functions of time that are neither coordinates nor speeds": _appearing(used, self.loose) if functions else [],
        }
        cures = (
            "give each a default: parameters={symbol or name: value}",
            "declare them with inputs=[…], or give them values in parameters",
        )
        said = [f"{kind}: {', '.join(names)}; {cure}" for (kind, names), cure in zip(absent.items(), cures, strict=True) if names]
        if said:
            raise ModelError(f"{self.name} has " + "; and ".join(said))


def _appearing(used: ca.SX, symbols: Mapping[str, ca.SX]) -> list[str]:
    return sorted(name for name, symbol in symbols.items() if ca.depends_on(used, symbol))

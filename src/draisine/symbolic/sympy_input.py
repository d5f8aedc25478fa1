"""What people type in SymPy, made into symbols: shared by Lagrangians and by first-order systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca

from draisine.errors import ExpressionError, ModelError, UnitError
from draisine.expr.expression import did_you_mean
from draisine.expr.units import si_text
from draisine.symbolic.sympy_bridge import to_sx


def plain(symbol: Any) -> str:
    """Name of a symbol, of a function of time without its argument, or `q_rate` of a derivative."""
    if hasattr(symbol, "derivative_count"):
        return plain(symbol.expr) + "_rate" * symbol.derivative_count
    return str(getattr(symbol, "func", symbol)) if getattr(symbol, "args", ()) else str(symbol)


def formula(owner: str, what: str, expression: Any) -> Any:
    """What was typed as a SymPy expression; text and equations are refused."""
    import sympy

    try:
        found = sympy.sympify(expression, strict=True)
    except sympy.SympifyError:
        raise ModelError(
            f"{owner}: {what} is {expression!r}, of type {type(expression).__name__}; type it as a SymPy expression"
        ) from None
    if isinstance(found, sympy.core.relational.Relational | sympy.logic.boolalg.BooleanAtom):
        raise ModelError(f"{owner}: {what} is {found}, which is true or false; write what shall be zero, left side − right side")
    return found


def finite(owner: str, what: str, value: Any) -> float:
    """A number that is one."""
    import math

    found = float(value)
    if not math.isfinite(found):
        raise ModelError(f"{owner}: {what} is {found}; give a finite number")
    return found


def check_names(owner: str, groups: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Every name once, whatever it stands for; a group is what its names are called, with its article, and the names."""
    seen: dict[str, str] = {"t": "time"}
    for kind, names in groups:
        for word in names:
            if word in seen:
                both = f"is {kind} twice" if seen[word] == kind else f"is both {seen[word]} and {kind}"
                raise ModelError(f"{owner}: {word!r} {both}; names must differ")
            seen[word] = kind


def column(names: Iterable[str]) -> ca.SX:
    """One SX symbol for each name."""
    symbols = [ca.SX.sym(name) for name in names]
    return ca.vertcat(*symbols) if symbols else ca.SX(0, 1)


class Vocabulary:
    """SymPy's symbols and what stands for each of them. `kind` is what the unknowns are called: "coordinate", "state"."""

    def __init__(self, owner: str, kind: str, known: Mapping[Any, ca.SX]) -> None:
        self._owner, self._kind, self._known = owner, kind, dict(known)
        self._names = sorted({plain(symbol) for symbol in known})

    def lower(self, expression: Any, what: str) -> ca.SX:
        """A SymPy expression in SX; unknown symbols are named with where they stand."""
        import sympy

        expression = formula(self._owner, what, expression)
        used = (*expression.free_symbols, *expression.atoms(sympy.core.function.AppliedUndef))
        unknown = sorted((s for s in used if s not in self._known), key=str)
        if unknown:
            word = plain(unknown[0])
            hint = (
                f"; another {word!r} is known, made with other assumptions: make the symbol once and use that one everywhere"
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
    """Units by name; a unit that is unknown or not SI, and a name that does not exist, are refused."""
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
            raise ModelError(f"{owner}: {name!r} is computed with as it stands, so its unit must be SI: {si!r}, not {unit!r}")
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

"""Differential-algebraic systems typed in SymPy: semi-explicit ẋ = f(x, z), 0 = g(x, z), and fully implicit 0 = F(t, y, ẏ).

    >>> import sympy as sp
    >>> x, y, vx, vy, tension, g = sp.symbols("x y vx vy tension g")
    >>> e = semi_explicit(
    ...     "pendulum",
    ...     {x: vx, y: vy, vx: -x * tension, vy: -y * tension - g},
    ...     constraints={"length": x**2 + y**2 - 1}, unknowns=[tension],
    ...     parameters={g: 9.81}, start={x: 1.0},
    ... )
    >>> [c.name for c in e.constraints]  # the last two are hidden
    ['length', 'length_rate', 'length_rate_rate']
    >>> e.dynamics.index
    (1, 1, 2, 2, 3)

The system is not reduced: implicit methods integrate it directly. `index_of` computes its index, `reduce_index` lowers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from draisine.dynamics.dae.hidden_constraints import with_hidden_constraints
from draisine.dynamics.dae.prolongation import entries, full_signature
from draisine.dynamics.dae.signature_method import offsets
from draisine.errors import ModelError
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual, Program
from draisine.symbolic.symbol_table import Named, SystemArguments, SystemSymbols, named, plain


def semi_explicit(
    name: str,
    rates: Mapping[Any, Any],
    *,
    algebraic: Mapping[Any, Any] | None = None,
    constraints: Named = (),
    unknowns: Sequence[Any] = (),
    parameters: Mapping[Any, float] | None = None,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[Any, float] | None = None,
    units: Mapping[Any, str] | None = None,
) -> Equations:
    """Equations of ẋ = f(t, x, z, u, p), 0 = g(t, x, z, u, p), of any index.

    - `rates`: state x → its rate f.
    - `constraints`: name → g, or a sequence of g, with the algebraic `unknowns` z, as many; or
    - `algebraic`: z → g, where each equation belongs to an unknown. The equation is then named `z_equation`.
    - `parameters`, `inputs`, `outputs`, `start`, `units`: as for `first_order`; the start of z is an initial guess.
    """
    rows = {f"{plain(z)}_equation": g for z, g in (algebraic or {}).items()} | dict(named(constraints, "g"))
    algebraic_unknowns = [*(algebraic or {}), *unknowns]
    _check_square(
        name, len(rates) + len(algebraic_unknowns), len(rates) + len(rows), list(rows), [plain(z) for z in algebraic_unknowns]
    )
    given = SystemArguments(parameters or {}, inputs, outputs or {}, start or {}, units or {})
    symbols = SystemSymbols(name, "state or unknown", [*rates, *algebraic_unknowns], given)
    derivatives = [_without_rates(symbols, rate, f"the rate of {plain(x)!r}") for x, rate in rates.items()]
    residuals_sx = [(f"{symbols.names[i]}_rate", symbols.rate[i] - derivative) for i, derivative in enumerate(derivatives)]
    residuals_sx += [(row, _without_rates(symbols, g, f"constraint {row!r}")) for row, g in rows.items()]
    return _equations(symbols, residuals_sx, moving=len(rates))


def implicit(
    name: str,
    residuals: Named,
    unknowns: Sequence[Any],
    *,
    rates: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, float] | None = None,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[Any, float] | None = None,
    units: Mapping[Any, str] | None = None,
) -> Equations:
    """Equations of a fully implicit system 0 = F(t, y, ẏ, u, p), of any index.

    - `residuals`: name → F, or a sequence; `unknowns`: y, functions of time made by `dynamicsymbols`, whose derivatives
      `y.diff()` may appear; an unknown without a rate may be a plain symbol.
    - `rates`: unknown → the symbol of its rate, for systems written without functions of time.
    - `parameters`, `inputs`, `outputs`, `start`, `units`: as for `first_order`.

    Unknowns whose rates appear come first among the coordinates, then the algebraic ones.

    >>> import sympy as sp
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> y1, y2 = dynamicsymbols("y1 y2")
    >>> eps = sp.Symbol("eps")
    >>> e = implicit("stiff", {"slow": y1.diff() - y2, "fast": eps * y2.diff() + y1 + y2}, [y1, y2], parameters={eps: 1e-6})
    >>> e.dynamics.residual([0.0], [1.0, 2.0], [3.0, 4.0], [], [0.5])[0].tolist()
    [1.0, 5.0]
    """
    from sympy.physics.vector import dynamicsymbols

    rows, t = named(residuals, "equation"), dynamicsymbols._t
    _check_square(name, len(unknowns), len(rows), [row for row, _ in rows], [plain(y) for y in unknowns])
    rate_symbols = {y: y.diff(t) for y in unknowns if getattr(y, "args", ()) == (t,)}
    for unknown in rates or {}:
        if unknown not in unknowns:
            raise ModelError(f"{name}: a rate is given for {plain(unknown)!r}, which is not an unknown; add it to unknowns")
    rate_symbols |= dict(rates or {})
    with_rates = _with_rates(name, [e for _, e in rows], rate_symbols)
    ordered = [y for y in unknowns if y in with_rates] + [y for y in unknowns if y not in with_rates]
    given = SystemArguments(parameters or {}, inputs, outputs or {}, start or {}, units or {})
    symbols = SystemSymbols(name, "unknown", ordered, given, {y: rate_symbols[y] for y in ordered if y in rate_symbols})
    residuals_sx = [(row, symbols.lower_with_rates(e, f"equation {row!r}")) for row, e in rows]
    return _equations(symbols, residuals_sx, moving=0)


def _equations(symbols: SystemSymbols, rows: Sequence[tuple[str, ca.SX]], moving: int) -> Equations:
    """Equations with programs and hidden constraints. The first `moving` rows define rates and are not checked."""
    _check_rows(symbols, rows, moving)
    residual = ca.vertcat(*[row for _, row in rows])
    outputs = {"residual": (residual, [label for label, _ in rows])}
    program = Program.build(f"{symbols.name}_residual", symbols.arguments(rates=True), outputs, symbols.units)
    dynamics = DaeResidual(symbols.name, program)
    offsets(full_signature(dynamics), [label for label, _ in rows], symbols.names, symbols.name)  # raises if there are none
    return with_hidden_constraints(symbols.equations(dynamics))


def _without_rates(symbols: SystemSymbols, expression: Any, what: str) -> ca.SX:
    """An expression without rates."""
    import sympy

    found = sorted(sympy.sympify(expression, strict=True).atoms(sympy.Derivative), key=str)
    if found:
        raise ModelError(
            f"{symbols.name}: {what} contains the rate {found[0]}; a semi-explicit system has rates on its left sides only. "
            "Substitute the rate's expression, or define the system with implicit(…)"
        )
    return symbols.lower(expression, what)


def _with_rates(name: str, expressions: Sequence[Any], symbols: Mapping[Any, Any]) -> set[Any]:
    """Unknowns whose rates appear; other derivatives raise ModelError."""
    import sympy

    found: set[Any] = set()
    owner = {symbol: y for y, symbol in symbols.items()}
    for expression in expressions:
        expression = sympy.sympify(expression, strict=True)
        for derivative in expression.atoms(sympy.Derivative):
            if derivative.derivative_count > 1:
                inner = plain(derivative.expr)
                raise ModelError(
                    f"{name}: {derivative} is a derivative of order {derivative.derivative_count}; make the rate an unknown "
                    f"{inner}_rate, with the equation {inner}.diff() - {inner}_rate"
                )
            if derivative not in owner:
                raise ModelError(
                    f"{name}: {derivative} is the rate of something that is not an unknown; add {plain(derivative.expr)!r} to "
                    "unknowns, or write the rate as an expression"
                )
        found |= {owner[s] for s in (*expression.free_symbols, *expression.atoms(sympy.Derivative)) if s in owner}
    return found


def _check_square(name: str, unknowns: int, equations: int, rows: Sequence[str], algebraic_unknowns: Sequence[str]) -> None:
    if not unknowns:
        raise ModelError(f"{name}: give at least one unknown")
    if unknowns != equations:
        more = (
            f"{unknowns - equations} more equations, or make unknowns parameters or inputs"
            if unknowns > equations
            else f"{equations - unknowns} more unknowns, or leave out equations that follow from others"
        )
        raise ModelError(
            f"{name}: {unknowns} unknowns and {equations} equations; their numbers must be equal. Unknowns to be found: "
            f"{', '.join(algebraic_unknowns) or 'none'}; equations for them: {', '.join(rows) or 'none'}. Give {more}"
        )


def _check_rows(symbols: SystemSymbols, rows: Sequence[tuple[str, ca.SX]], moving: int) -> None:
    """Each equation contains an unknown, and each unknown is in an equation."""
    everything = ca.vertcat(symbols.x, symbols.rate)
    for label, row in rows[moving:]:
        if not entries(row, everything):
            raise ModelError(
                f"{symbols.name}: equation {label!r} contains no unknown ({', '.join(symbols.names)}). "
                "Leave it out, or add the unknown that it determines"
            )
    used = set(entries(ca.vertcat(*[row for _, row in rows]), everything))
    for i, name in enumerate(symbols.names):
        if i not in used and i + len(symbols.names) not in used:
            raise ModelError(
                f"{symbols.name}: the unknown {name!r} is in no equation and is not determined; leave it out, or add it to one"
            )

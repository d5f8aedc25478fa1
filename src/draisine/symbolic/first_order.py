"""First-order systems ẋ = f(t, x, u, p) in SymPy.

    >>> import sympy as sp
    >>> x, y, mu = sp.symbols("x y mu")
    >>> e = first_order("van_der_pol", {x: y, y: mu * (1 - x**2) * y - x}, parameters={mu: 5.0}, start={x: 2.0})
    >>> e.dynamics([0.0], [2.0, -1.0], [], e.default_parameters)[0].tolist()
    [-1.0, 13.0]

States are symbols, or functions of time made by `dynamicsymbols`. The result is simulated, compiled and differentiated like any
mechanism; it has coordinates and no velocities. For algebraic equations see `differential_algebraic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from draisine.errors import ModelError
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.symbolic.symbol_table import SystemArguments, SystemSymbols


def first_order(
    name: str,
    rates: Mapping[Any, Any],
    *,
    parameters: Mapping[Any, float] | None = None,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[Any, float] | None = None,
    units: Mapping[Any, str] | None = None,
) -> Equations:
    """Equations of a first-order system; `rates`: state → its rate, an expression of states, time, inputs and parameters.

    - `parameters`: symbol → default value; `inputs`: symbols; `outputs`: name → expression; `start`: state → default value.
    - `units`: state, symbol or name of an output → its SI unit, for tables and figures; nothing is converted.

    Time is the symbol `t`, as in `dynamicsymbols`.
    """
    if not rates:
        raise ModelError(f"{name}: give at least one state with its rate, as in {{x: -k * x}}")
    symbols = SystemSymbols(
        name, "state", list(rates), SystemArguments(parameters or {}, inputs, outputs or {}, start or {}, units or {})
    )
    derivatives = [symbols.lower(rate, f"the rate of {n!r}") for n, rate in zip(symbols.names, rates.values(), strict=True)]
    labels = [f"d{n}/dt" for n in symbols.names]
    dynamics = Program.build(f"{name}_dynamics", symbols.arguments(), {"xdot": (ca.vertcat(*derivatives), labels)}, symbols.units)
    return symbols.equations(dynamics)

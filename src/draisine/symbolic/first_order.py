"""First-order systems ẋ = f(t, x, u, p) typed in SymPy; no mechanics needed.

    >>> import sympy as sp
    >>> x, y, mu = sp.symbols("x y mu")
    >>> e = first_order("van_der_pol", {x: y, y: mu * (1 - x**2) * y - x}, parameters={mu: 5.0}, start={x: 2.0})
    >>> e.dynamics([0.0], [2.0, -1.0], [], e.default_parameters)[0].tolist()
    [-1.0, 13.0]

States are symbols, or functions of time as `dynamicsymbols` makes them. The result is simulated, compiled and differentiated
like any mechanism; it has coordinates and no velocities. Systems with algebraic equations are in `algebraic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from draisine.errors import ModelError
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.symbolic.symbol_table import Alphabet, Surroundings


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
    """Equations of a first-order system: state → its rate, an expression of states, time, inputs and parameters.

    - `parameters`: symbol → default value; `inputs`: symbols; `outputs`: name → expression; `start`: state → default value.
    - `units`: state, symbol or name of an output → its SI unit, for tables and figures; nothing is converted.

    Time is the symbol `t`, as in `dynamicsymbols`.
    """
    if not rates:
        raise ModelError(f"{name}: give at least one state with its rate, as in {{x: -k * x}}")
    words = Alphabet(name, "state", list(rates), Surroundings(parameters or {}, inputs, outputs or {}, start or {}, units or {}))
    jacobian = [words.lower(rate, f"the rate of {n!r}") for n, rate in zip(words.names, rates.values(), strict=True)]
    labels = [f"d{n}/dt" for n in words.names]
    dynamics = Program.build(f"{name}_dynamics", words.arguments(), {"xdot": (ca.vertcat(*jacobian), labels)}, words.units)
    return words.equations(dynamics)

"""First-order systems ẋ = f(t, x, u, p) typed in SymPy; no mechanics needed.

    >>> import sympy as sp
    >>> x, y, mu = sp.symbols("x y mu")
    >>> e = first_order("van_der_pol", {x: y, y: mu * (1 - x**2) * y - x}, parameters={mu: 5.0}, start={x: 2.0})
    >>> e.dynamics([0.0], [2.0, -1.0], [], e.default_parameters)[0].tolist()
    [-1.0, 13.0]

States are symbols, or functions of time as `dynamicsymbols` makes them. The result is simulated, compiled and differentiated
like any mechanism; it has coordinates and no velocities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from draisine.equations.typed.common import Vocabulary, checked_start, checked_units, column, plain
from draisine.model.errors import ModelError
from draisine.program.equations import Equations, Quantity
from draisine.program.program import Program

Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]


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
    from sympy.physics.vector import dynamicsymbols

    states, parameters, outputs = list(rates), parameters or {}, outputs or {}
    names, input_names, parameter_names = ([plain(s) for s in group] for group in (states, inputs, parameters))
    _check_names(name, names, input_names, parameter_names, list(outputs))
    t, x, u, p = ca.SX.sym("t"), column(names), column(input_names), column(parameter_names)
    known = {dynamicsymbols._t: t}
    for symbols, vector in ((states, x), (inputs, u), (list(parameters), p)):
        known |= {symbol: vector[i] for i, symbol in enumerate(symbols)}
    words = Vocabulary(name, "state", known)
    slopes = [words.lower(rate, f"the rate of {n!r}") for n, rate in zip(names, rates.values(), strict=True)]
    told = [words.lower(expression, f"output {n!r}") for n, expression in outputs.items()]
    unit = checked_units(name, units, [*names, *input_names, *parameter_names, *outputs])
    defaults = checked_start(name, "state", start, names)

    nothing = ca.SX(0, 1)
    shared: Slots = {"u": (u, input_names), "p": (p, parameter_names)}
    arguments: Slots = {"t": (t, ["t"]), "x": (x, names), **shared}
    listed = (ca.vertcat(*told) if told else nothing, list(outputs))
    report: Slots = {"v": nothing, "vdot": nothing, "multipliers": nothing, "outputs": listed, "residuals": nothing}
    return Equations(
        name=name,
        coordinates=tuple(Quantity(n, unit.get(n, ""), default=defaults.get(n, 0.0)) for n in names),
        velocities=(),
        independent=(),
        inputs=tuple(Quantity(n, unit.get(n, "")) for n in input_names),
        parameters=tuple(
            Quantity(n, unit.get(n, ""), default=float(value))
            for n, value in zip(parameter_names, parameters.values(), strict=True)
        ),
        multipliers=(),
        outputs=tuple(Quantity(n, unit.get(n, "")) for n in outputs),
        force_outputs=frozenset(),
        constraints=(),
        dynamics=Program.build(f"{name}_dynamics", arguments, {"xdot": (ca.vertcat(*slopes), [f"d{n}/dt" for n in names])}, unit),
        report=Program.build(f"{name}_report", arguments, {**report, "inputs": (u, input_names)}, unit),
        motion=Program.build(
            f"{name}_motion",
            {"t": (t, ["t"]), "q": (x, names), "v": ca.SX.sym("v", 0), **shared},
            {"residuals": nothing, "outputs": listed},
            unit,
        ),
    )


def _check_names(name: str, states: list[str], inputs: list[str], parameters: list[str], outputs: list[str]) -> None:
    if not states:
        raise ModelError(f"{name}: give at least one state with its rate, as in {{x: -k * x}}")
    seen: dict[str, str] = {"t": "time"}
    for kind, names in (("a state", states), ("an input", inputs), ("a parameter", parameters), ("an output", outputs)):
        for word in names:
            if word in seen:
                raise ModelError(f"{name}: {word!r} is both {seen[word]} and {kind}; names must differ")
            seen[word] = kind

"""Equations with inputs that are piecewise polynomials in time.

The coefficients are the inputs of the new equations, constant in each interval, so that one compiled kernel serves all intervals
and all data, and no step crosses a breakpoint.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import casadi as ca

from draisine.program.equations import Equations, Quantity
from draisine.program.substituted_arguments import Substitution


@lru_cache(maxsize=32)
def with_piecewise_inputs(equations: Equations, controls: tuple[str, ...], degree: int) -> Equations:
    """Equations with new inputs: the inputs that stay constant; the polynomial coefficients of each of the `controls` in
    s = (t − interval_begin)/interval_length, in ascending order; begin and length of the interval."""
    constant = [q for q in equations.inputs if q.name not in controls]
    coefficients = [Quantity(f"{name}_{k}") for name in controls for k in range(degree + 1)]
    inputs = (*constant, *coefficients, Quantity("interval_begin"), Quantity("interval_length", default=1.0))

    def original(t: ca.SX, u: ca.SX) -> ca.SX:
        s = (t - u[len(inputs) - 2]) / u[len(inputs) - 1]
        values = {q.name: u[i] for i, q in enumerate(constant)}
        for c, name in enumerate(controls):
            value = ca.SX(0)
            for k in reversed(range(degree + 1)):
                value = value * s + u[len(constant) + c * (degree + 1) + k]
            values[name] = value
        return ca.vertcat(*[values[q.name] for q in equations.inputs]) if values else ca.SX(0, 1)

    other_choice = equations.with_independent
    again = None if other_choice is None else lambda choice: with_piecewise_inputs(other_choice(choice), controls, degree)
    driven = Substitution("u", len(inputs), (), original).equations(replace(equations, with_independent=None))
    return replace(driven, inputs=inputs, with_independent=again)

"""Inputs in words: columns of the data, constants, or laws, which become part of the equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draisine.control.design.closed_loop import with_expressions
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, DataError, UnitError
from draisine.estimation.data import Experiment
from draisine.expr.expression import Expr, did_you_mean
from draisine.expr.tree import names as names_in
from draisine.expr.units import quantity, quantity_in
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import amount_in
from draisine.program.equations import Equations
from draisine.stability.linearization import equations_of


def with_laws_of(
    model: Model | System | Equations, experiments: Sequence[Experiment], inputs: Mapping[str, Any]
) -> tuple[Equations, dict[str, Any]]:
    """The equations with laws put in, and what is said of the other inputs.

    A text is a column if there is one of that name; an amount with a unit is a constant; any other text is a law, in the names of
    states, outputs and parameters, and t.
    """
    plain = equations_of(model)
    units = {q.name: q.unit for q in plain.inputs}
    laws: dict[str, Expr] = {}
    rest: dict[str, Any] = {}
    for name, what in inputs.items():
        if name not in units:
            raise ArgumentError(f"inputs: {plain.name} has no input {name!r}{did_you_mean(name, list(units))}")
        if isinstance(what, str) and not any(what in e.columns for e in experiments):
            what = _said(name, what, units[name], plain, experiments)
        if isinstance(what, Expr):
            laws[name] = what
        else:
            rest[name] = what
    if not laws:
        return plain, rest
    return (with_expressions(model, laws) if isinstance(model, Equations) else derive(model, laws, work=False)), rest


def _said(name: str, text: str, unit: str, equations: Equations, experiments: Sequence[Experiment]) -> float | Expr:
    """A constant or a law."""
    if quantity(text) is not None:
        try:
            constant = quantity_in(text, unit, f"input {name!r}")
        except UnitError as problem:
            raise ArgumentError(str(problem)) from None
        if constant is not None:
            return constant
    groups = (equations.parameters, equations.coordinates, equations.velocities, equations.outputs, equations.inputs)
    known = {"t", *(q.name for group in groups for q in group)}
    columns = sorted({c for e in experiments for c in e.columns})
    if text.isidentifier() and text not in known:
        raise DataError(
            f"inputs: {name!r} is said to be {text!r}, which is no column of the data and no quantity of {equations.name}"
            f"{did_you_mean(text, columns)}"
        )
    law = amount_in(text, None, f"law of input {name!r}")
    for used in sorted(set(names_in(law)) - known):
        if used in columns:
            raise ArgumentError(
                f"inputs: the law of {name!r} uses the column {used!r}; an input follows a law of the model's quantities, or a "
                "column alone"
            )
    return law

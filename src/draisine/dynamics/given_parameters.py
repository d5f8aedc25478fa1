"""Parameters that a user gives to a run, an export or an analysis, checked against what bodies can have."""

from __future__ import annotations

from collections.abc import Mapping

from draisine.model.model import Model
from draisine.model.plausibility import check_numbers
from draisine.model.system import System
from draisine.program.arguments import parameter_values
from draisine.program.equations import Equations


def given_parameters(
    model: Model | System | Equations, equations: Equations, parameters: Mapping[str, float | str] | None
) -> dict[str, float]:
    """The parameters that are given, in their units; those that no body can have, such as negative masses, are refused.

    Equations that are derived from a description keep it; those that are typed by hand, or unpickled, do not tell the masses of
    bodies, and nothing is checked.
    """
    pairs = zip(equations.arguments, parameter_values(equations, parameters), strict=True)
    values = {q.name: float(value) for q, value in pairs if q.name in (parameters or {})}
    system = description_of(model)
    if values and system is not None:
        check_numbers(system, values)
    return values


def description_of(model: Model | System | Equations) -> System | None:
    """The description of a model, or that of which equations were derived; None if they do not have it."""
    if isinstance(model, Equations):
        found: System | None = model.described
        return found
    return model.freeze() if isinstance(model, Model) else model

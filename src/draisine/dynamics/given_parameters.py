"""Parameters that a user gives to a run, an export or an analysis, checked against what bodies can have."""

from __future__ import annotations

from collections.abc import Mapping

from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.plausibility import check_numbers
from draisine.program.arguments import parameter_values
from draisine.program.equations import Equations


def given_parameters(
    model: Model | System | Equations, equations: Equations, parameters: Mapping[str, float | str] | None
) -> dict[str, float]:
    """The parameters that are given, in their units; those that no body can have, such as negative masses, are refused.

    Equations that were derived before do not tell the masses of bodies: only a description is checked.
    """
    pairs = zip(equations.arguments, parameter_values(equations, parameters), strict=True)
    values = {q.name: float(value) for q, value in pairs if q.name in (parameters or {})}
    if values and not isinstance(model, Equations):
        check_numbers(model.freeze() if isinstance(model, Model) else model, values)
    return values

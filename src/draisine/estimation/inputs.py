"""Inputs of experiments: interpolation of recorded columns, constants, and laws that become part of the equations.

Interpolated values are linear in the samples, polynomial in each interval, and constant before the first and after the last
sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import with_expressions
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, DataError, UnitError
from draisine.estimation.data import Experiment
from draisine.expr.expression import Expr, did_you_mean
from draisine.expr.tree import names as names_in
from draisine.expr.units import quantity, quantity_in
from draisine.model.model import Model
from draisine.model.quantities import amount_in
from draisine.model.system import System
from draisine.numerics.number_range import with_number_range
from draisine.numerics.runge_kutta import monomial_coefficients
from draisine.program.equations import Equations
from draisine.stability.linearization import equations_of

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class LinearInput:
    """A recorded input with linear interpolation; the same as (column, noise)."""

    column: str
    noise: float | str | None = None

    degree = 1
    reach = 0  # neighboring samples on each side that affect a value at a sample

    def values(self, t: Reals, times: Reals, samples: Reals) -> Reals:
        """Values at t, from samples at `times`."""
        return np.interp(t, times, samples)


@with_number_range
@dataclass(frozen=True)
class CubicInput:
    """A recorded input with cubic Hermite interpolation, for smooth signals such as a rider's torque; slopes are those of
    parabolas through three samples.

    Linear interpolation attenuates a sine by (ωh)²/12, cubic interpolation by (ωh)⁴/80; it is worse at jumps.

    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> round(float(CubicInput("torque").values(np.array([0.45]), t, t**2)[0]), 12)
    0.2025
    """

    column: str
    noise: float | str | None = None

    degree = 3
    reach = 1

    def values(self, t: Reals, times: Reals, samples: Reals) -> Reals:
        """Values at t, from samples at `times`."""
        from scipy.interpolate import CubicHermiteSpline

        slope = np.gradient(samples, times, edge_order=2 if len(times) > 2 else 1)
        return np.asarray(CubicHermiteSpline(times, samples, slope)(np.clip(t, times[0], times[-1])))


Interpolation = LinearInput | CubicInput


def sample_positions(degree: int) -> Reals:
    """Positions in an interval at which a polynomial is evaluated: away from its ends."""
    return (np.arange(degree + 1) + 0.5) / (degree + 1)


def coefficients(values: Reals) -> Reals:
    """Of s⁰, s¹, …, from values at `sample_positions`, the last axis."""
    return np.asarray(values @ monomial_coefficients(sample_positions(values.shape[-1] - 1)).T)


# ------------------------------------------------------------ columns, constants, laws


def with_input_laws(
    model: Model | System | Equations, experiments: Sequence[Experiment], inputs: Mapping[str, Any]
) -> tuple[Equations, dict[str, Any]]:
    """The equations with laws of inputs, and the descriptions of the other inputs.

    A text is a column if there is one of that name; a quantity with a unit is a constant; any other text is a law, in terms of
    states, outputs, parameters and t.
    """
    plain = equations_of(model)
    units = {q.name: q.unit for q in plain.inputs}
    laws: dict[str, Expr] = {}
    rest: dict[str, Any] = {}
    for name, what in inputs.items():
        if name not in units:
            raise ArgumentError(f"inputs: {plain.name} has no input {name!r}{did_you_mean(name, list(units))}")
        if isinstance(what, str) and not any(what in e.columns for e in experiments):
            what = _constant_or_law(name, what, units[name], plain, experiments)
        if isinstance(what, Expr):
            laws[name] = what
        else:
            rest[name] = what
    if not laws:
        return plain, rest
    return (with_expressions(model, laws) if isinstance(model, Equations) else derive(model, laws, work=False)), rest


def _constant_or_law(name: str, text: str, unit: str, equations: Equations, experiments: Sequence[Experiment]) -> float | Expr:
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
            f"inputs: {name!r} is given as {text!r}, which is neither a column of the data nor a quantity of {equations.name}"
            f"{did_you_mean(text, columns)}"
        )
    law = amount_in(text, None, f"law of input {name!r}")
    for used in sorted(set(names_in(law)) - known):
        if used in columns:
            raise ArgumentError(
                f"inputs: the law of {name!r} uses the column {used!r}; an input is either a law in quantities of the model or a "
                "column"
            )
    return law

"""The model of a report and the report's options; data shared by chapters is computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.derive import derive
from draisine.expr.expression import Expr, evaluate_number
from draisine.model.model import Model
from draisine.model.system import System
from draisine.model.validate import check_numbers
from draisine.program.arguments import numbers, unknown_name
from draisine.program.equations import Equations
from draisine.symbolic.rendering.document import Document, document

SPEEDS = np.linspace(0.0, 10.0, 101)  # m/s: default sweep
SECONDS = 5.0


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report.

    - `start`, `until`: of the sample run; without a start one is chosen for which the model moves.
    - `over`: the quantity of the stability analysis with its values; by default the speed, if there is one.
    - `film`: whether the page contains an animation of the run.
    - `title`: name of the model on the command line: of the gallery, or a file.
    """

    start: Mapping[str, float] = field(default_factory=dict)
    until: float = SECONDS
    over: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    film: bool = True
    title: str = ""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with the parameter values of the report."""

    model: System | Equations
    changed: Mapping[str, float]  # parameters that differ from the description
    options: ReportOptions

    @staticmethod
    def of(model: Model | System | Equations, parameters: Mapping[str, float] | None, options: ReportOptions) -> Subject:
        found = model.freeze() if isinstance(model, Model) else model
        given = dict(parameters or {})
        known: Any = found.parameters  # of either kind: with a name and a default
        values = numbers("parameter", known, given)
        if isinstance(found, System) and given:
            check_numbers(found, given)
        # the values become defaults of the description, for every chapter
        own = tuple(p._replace(default=float(value)) for p, value in zip(known, values, strict=True))
        made: Any = replace(found, parameters=own)  # type: ignore[arg-type]
        subject = Subject(made, given, options)
        e = subject.equations
        moving = [q.name for q in (*e.coordinates, *e.velocities, *e.outputs)]
        for name in options.start:
            if name not in moving:
                raise unknown_name("quantity of motion", name, moving)
        return subject

    @property
    def system(self) -> System | None:
        return self.model if isinstance(self.model, System) else None

    @cached_property
    def equations(self) -> Equations:
        return self.model if isinstance(self.model, Equations) else derive(self.model)

    @cached_property
    def document(self) -> Document:
        """The document of the equations."""
        return document(self.model)

    @cached_property
    def values(self) -> dict[str, float]:
        if isinstance(self.model, System):
            return self.model.parameter_values()
        return {p.name: p.default for p in self.model.parameters}

    def value(self, amount: Expr) -> float | None:
        """Numeric value of an expression of parameters alone, else None."""
        try:
            return float(evaluate_number(amount, self.values))
        except (ValueError, KeyError):
            return None

    @cached_property
    def names(self) -> frozenset[str]:
        """Names in the equations, which keep their case in sentences."""
        e = self.equations
        moving = (q.name for q in (*e.states, *e.velocities, *e.inputs, *e.outputs))
        return frozenset((*moving, *(c.name for c in e.constraints)))

    def knows(self, name: str) -> bool:
        """Whether there is a state or output of that name."""
        return any(q.name == name for q in (*self.equations.states, *self.equations.outputs))

    @property
    def deviation_states(self) -> tuple[str, ...]:
        """States of the stability analysis: lean and steer for two-wheelers."""
        known = {q.name for q in (*self.equations.coordinates, *self.equations.outputs)}
        return ("lean", "steer") if {"lean", "steer"} <= known else ()

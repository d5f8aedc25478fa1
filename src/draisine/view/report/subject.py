"""What a report is about, and what was asked of it; everything that several chapters need is made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.derive import derive
from draisine.expr.expression import Expr, evaluate_number
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.validate import check_numbers
from draisine.program.equations import Equations
from draisine.simulation.named_values import numbers, unknown_name
from draisine.symbolic.rendering.document import Document, document

SPEEDS = np.linspace(0.0, 10.0, 101)  # m/s: swept where nothing else is asked for
SECONDS = 5.0


@dataclass(frozen=True)
class Wanted:
    """What a report should do beyond what the model says by itself.

    - `start`, `until`: of the sample ride; without a start one is chosen at which something happens.
    - `over`: the quantity over which stability is told, with its values; by default the speed, where there is one.
    - `film`: whether the ride is put in as a film that plays.
    - `called`: how the model is called on the command line: a name of the gallery, or a file.
    """

    start: Mapping[str, float] = field(default_factory=dict)
    until: float = SECONDS
    over: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    film: bool = True
    called: str = ""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with the numbers its parameters have in the report."""

    model: System | Equations
    changed: Mapping[str, float]  # parameters that differ from what the description says
    wanted: Wanted

    @staticmethod
    def of(model: Model | System | Equations, parameters: Mapping[str, float] | None, wanted: Wanted) -> Subject:
        found = model.freeze() if isinstance(model, Model) else model
        given = dict(parameters or {})
        known: Any = found.parameters  # of either kind: with a name and a default
        values = numbers("parameter", known, given)
        if isinstance(found, System) and given:
            check_numbers(found, given)
        # the numbers become the description's own, so that every chapter has them
        own = tuple(replace(p, default=float(value)) for p, value in zip(known, values, strict=True))
        made: Any = replace(found, parameters=own)  # type: ignore[arg-type]
        subject = Subject(made, given, wanted)
        e = subject.equations
        moving = [q.name for q in (*e.coordinates, *e.velocities, *e.outputs)]
        for name in wanted.start:
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
        """What documents of equations say."""
        return document(self.model)

    @cached_property
    def values(self) -> dict[str, float]:
        return {p.name: p.default for p in self.model.parameters}

    def value(self, amount: Expr) -> float | None:
        """An amount in numbers, where it is a function of parameters alone."""
        try:
            return float(evaluate_number(amount, self.values))
        except (ValueError, KeyError):
            return None

    @cached_property
    def names(self) -> frozenset[str]:
        """What the equations call by name, to be written as it is."""
        e = self.equations
        moving = (q.name for q in (*e.states, *e.velocities, *e.inputs, *e.outputs))
        return frozenset((*moving, *(c.name for c in e.constraints)))

    def knows(self, name: str) -> bool:
        """Whether a quantity of that name moves."""
        return any(q.name == name for q in (*self.equations.states, *self.equations.outputs))

    @property
    def reported_by(self) -> tuple[str, ...]:
        """Quantities by which small deviations are told: a two-wheeler's are lean and steer."""
        known = {q.name for q in (*self.equations.coordinates, *self.equations.outputs)}
        return ("lean", "steer") if {"lean", "steer"} <= known else ()

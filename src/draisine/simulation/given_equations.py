"""Given equations made ready for runs: laws and events compiled in, singular leading matrices removed."""

from __future__ import annotations

from collections.abc import Mapping

from draisine.dynamics.dae.index_reduction import with_determined_rates
from draisine.dynamics.input_laws import with_laws
from draisine.expr.expression import Expr
from draisine.program.equations import Equations, Event


def equations_for_run(model: Equations, laws: Mapping[str, Expr], events: tuple[Event, ...]) -> tuple[Equations, str]:
    """The equations that are integrated, and a sentence about their reduction, if one was needed."""
    return with_determined_rates(with_laws(model, laws, events))

"""Given equations made ready for runs: laws and events compiled in, singular leading matrices removed, 0 = F solved for rates
where the motion may slide."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from draisine.dynamics.dae.index_reduction import NOT_DIFFERENTIATED, reduce_index, with_determined_rates
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.program.equations import Equations, Event
from draisine.program.program import DaeResidual
from draisine.program.switching import find_switching


def equations_for_run(
    model: Equations, laws: Mapping[str, Expr], events: tuple[Event, ...], named: Collection[str] = ()
) -> tuple[Equations, str]:
    """The equations that are integrated, and a sentence about their reduction, if one was needed. A start gives values of the
    `named` quantities."""
    equations, done = with_determined_rates(with_laws(model, laws, events))
    return _sliding_form(equations, named) or (equations, done)


def _sliding_form(equations: Equations, named: Collection[str]) -> tuple[Equations, str] | None:
    """Equations 0 = F of index 1 whose rates jump at a switch of the state, as ẋ = f, which can slide; None for others.

    Algebraic unknowns are then solved for at every evaluation, and no start can give them.
    """
    if not isinstance(equations.dynamics, DaeResidual):
        return None
    found = find_switching(equations)
    jumps = [] if found is None else [switch.name for switch in found.switches if switch.jump and not switch.time_only]
    if not jumps:
        return None
    try:
        reduced = reduce_index(equations)
    except ModelError:  # of a structure that an implicit method may still solve
        return None
    kept = {state.name for state in reduced.states}
    algebraic = {state.name for state in equations.states} - kept
    index_one = any(note.startswith(NOT_DIFFERENTIATED) for note in reduced.notes)
    if isinstance(reduced.dynamics, DaeResidual) or not index_one or not algebraic.isdisjoint(named):
        return None
    return reduced, f"0 = F was solved for its rates, since the motion may slide on {', '.join(jumps)}"

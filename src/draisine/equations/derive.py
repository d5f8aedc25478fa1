"""From a description to `Equations`: the whole way in one place.

1. lower the tree to symbols (`tree`, `lowering`), with the rows of its contacts (`contacts`): `mechanism`;
2. choose independent velocities (`choice`, `sampling`), reduce (`reduction`, `dynamics`), and name what people ask for
   (`report`): `formulation`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache

from draisine.equations.formulation import Formulation
from draisine.equations.mechanism import Mechanism
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations, Event
from draisine.program.expression import Expr


def derive(
    model: Model | System, laws: Mapping[str, Expr] | None = None, events: tuple[Event, ...] = (), work: bool | None = None
) -> Equations:
    """Equations of motion of a described mechanism.

    `laws` gives inputs as expressions (compiled in); `events` adds to the model's own; `work` adds the work of inputs and
    dampers as a state, so that the energy balance can be checked (by default where laws are given or the model has dampers).
    """
    system = model.freeze() if isinstance(model, Model) else model
    return _derive(system, tuple(sorted((laws or {}).items())), tuple(events), work, ())


@lru_cache(maxsize=32)
def _derive(
    system: System, laws: tuple[tuple[str, Expr], ...], events: tuple[Event, ...], work: bool | None, independent: tuple[str, ...]
) -> Equations:
    started = time.perf_counter()
    mechanism = _mechanism(system)
    plan, choices, notes = mechanism.choose(independent or system.independent)
    formulation = Formulation(mechanism, plan, dict(laws), events, work)
    equations = formulation.equations(choices, notes, lambda names: _derive(system, laws, events, work, tuple(names)))
    equations.seconds["derive"] = time.perf_counter() - started
    return equations


@lru_cache(maxsize=32)
def _mechanism(system: System) -> Mechanism:
    """Symbols of a description, shared by its choices, laws and events."""
    return Mechanism(system)

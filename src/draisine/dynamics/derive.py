"""From a description to `Equations`: the whole way in one place.

1. lower the tree to symbols (`tree`, `lowering`), with the rows of its contacts and ties (`contacts`, `ties`), less those that
   repeat others (`redundancy`): `mechanism`;
2. choose independent velocities (`choice`, `sampling`) and reduce (`reduction`, `dynamics`): `formulation`; or go body by
   body along the tree: `recursive`; or eliminate nothing: `whole`. By structure and size, or as the user says: `treatment`;
3. name what people ask for: `report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

from draisine.dynamics.augmented.formulation import Whole
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.options import Augmented, Recursive, Treatment, grown, treatment_for
from draisine.dynamics.recursive.formulation import Recursive as BodyByBody
from draisine.dynamics.reduced.formulation import Formulation, check_masses
from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations, Event, check_events


def derive(
    model: Model | System,
    laws: Mapping[str, Expr] | None = None,
    events: tuple[Event, ...] = (),
    work: bool | None = None,
    formulation: Treatment | None = None,
) -> Equations:
    """Equations of motion of a described mechanism.

    `laws` gives inputs as expressions (compiled in); `events` adds to the model's own; `work` adds the work of inputs, dampers
    and moving constraints as a state, so that the energy balance can be checked (by default where laws are given, or something
    of the model does work by itself). `formulation` is `Reduced()`, `Recursive()` or `Augmented()`; without it structure and size
    decide, and a note says so.
    """
    system = model.freeze() if isinstance(model, Model) else model
    check_events(events)
    return _derive(system, tuple(sorted((laws or {}).items())), tuple(events), work, formulation, ())


@lru_cache(maxsize=32)
def _derive(
    system: System,
    laws: tuple[tuple[str, Expr], ...],
    events: tuple[Event, ...],
    work: bool | None,
    formulation: Treatment | None,
    independent: tuple[str, ...],
) -> Equations:
    mechanism = _mechanism(system)
    wanted = independent or system.independent
    treatment, why = (formulation, []) if formulation is not None else treatment_for(mechanism, wanted)
    if isinstance(treatment, Augmented):
        equations = Whole(mechanism, treatment, dict(laws), events, work).equations(why)
    elif isinstance(treatment, Recursive):
        tree = grown(mechanism)
        if isinstance(tree, str):
            raise ModelError(f"model {system.name!r} cannot be treated body by body: {tree}; leave formulation=Recursive() out")
        if wanted and set(wanted) != set(tree.independent):
            raise ModelError(
                f"model {system.name!r}: body by body its independent velocities are {', '.join(tree.independent)}, not "
                f"{', '.join(wanted)}; leave formulation=Recursive() out"
            )
        equations = BodyByBody(tree, dict(laws), events, work).equations(why, partial(_derive, system, laws, events, work, None))
    else:
        plan, choices, notes = mechanism.choose(wanted)
        reduced = Formulation(mechanism, plan, dict(laws), events, work)
        check_masses(reduced)
        equations = reduced.equations(choices, notes, partial(_derive, system, laws, events, work, formulation))
    return equations


@lru_cache(maxsize=32)
def _mechanism(system: System) -> Mechanism:
    """Symbols of a description, shared by its choices, laws and events."""
    return Mechanism(system)

"""Derivations and descriptions compared (`certify`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations

if TYPE_CHECKING:
    from draisine.dynamics.verify.agreement import Certificate


def certify(
    model: Model | System | Equations,
    against: Model | System | Equations | None = None,
    states: int = 12,
    *,
    names: Mapping[str, str] | None = None,
) -> Certificate:
    """Derive a description by independent roads and compare them at random admissible states.

    With `against` another description of the same mechanism, the two are compared where their names meet: only that can see
    an error in a description itself. `names` says what of the first is called what in the second, where names differ; a minus
    sign before a name says that it counts the other way, {"spin": "-turn_rate"}, and an empty one that it means something else.
    Of equations alone, what one road can show is certified, and what it cannot is said.
    """
    if against is None:
        from draisine.dynamics.verify.certificate import certify_derivations
        from draisine.dynamics.verify.single_derivation import certify_single_derivation

        if names:
            raise ArgumentError("names says what corresponds to what in two descriptions; give the second one: against=…")
        return certify_single_derivation(model, states) if isinstance(model, Equations) else certify_derivations(model, states)
    from draisine.diagnostics.certify import compare_descriptions

    first, second = (m if isinstance(m, Equations) else derive(m) for m in (model, against))
    return compare_descriptions(first, second, states, names=names)

"""From a description and the name of a drift control to the equations that a run integrates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import get_args

from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.dae.as_dae import posed
from draisine.dynamics.dae.second_order_form import second_order
from draisine.dynamics.dae.stabilization.minimal_coordinates import minimal
from draisine.dynamics.dae.stabilization.stabilized_equations import Held, projected, stabilized
from draisine.dynamics.derive import derive
from draisine.dynamics.input_laws import with_laws
from draisine.dynamics.options import (
    GGL,
    Augmented,
    Baumgarte,
    Drift,
    InvariantStabilization,
    Minimal,
    NoControl,
    Projection,
    Rattle,
    Recursive,
    Reduced,
    Symplectic,
    VelocityProjection,
)
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Expr
from draisine.model.items import System
from draisine.program.equations import Equations, Event

Laws = tuple[tuple[str, Expr], ...]


def _names() -> list[str]:
    """The kinds of drift control as they are written."""
    needs = {"Rattle": "step", "Symplectic": "step"}
    return [f"{kind.__name__}({needs.get(kind.__name__, '')})" for kind in get_args(Drift)]


def controlled(
    model: System | Equations,
    drift: Drift,
    laws: Mapping[str, Expr] | None = None,
    events: tuple[Event, ...] = (),
    work: bool | None = None,
) -> Held:
    """The equations of a run with the drift control asked for. Methods of their own (`Rattle`, `Symplectic`) take equations in
    which nothing is eliminated."""
    if not isinstance(drift, Drift):
        raise ArgumentError(f"drift={drift!r} is no drift control; give an object, one of {', '.join(_names())}")
    return _controlled(model, drift, tuple(sorted((laws or {}).items())), tuple(events), work)


@lru_cache(maxsize=64)
def _controlled(model: System | Equations, drift: Drift, laws: Laws, events: tuple[Event, ...], work: bool | None) -> Held:
    if isinstance(drift, Baumgarte | GGL) and isinstance(model, Equations) and not model.constraints:
        raise ModelError(f"{model.name} has no constraints to stabilize")
    if isinstance(drift, GGL):
        return Held(_stabilized_form(model, laws, events))
    if isinstance(drift, Reduced):
        if isinstance(model, System):
            return Held(derive(model, dict(laws), events, work, drift))
        return Held(minimal(_whole(model, laws, events, work), iterations=0))
    if isinstance(drift, Recursive):
        if not isinstance(model, System):
            raise ModelError(f"{model.name}: equations know no bodies; pass the model for formulation=Recursive()")
        return Held(derive(model, dict(laws), events, work, drift))
    if isinstance(drift, Augmented):
        return Held(_whole(model, laws, events, work, drift))
    if isinstance(drift, Baumgarte):
        stabilized_whole = _whole(model, laws, events, work, Augmented(drift.scaled()))
        if not stabilized_whole.constraints:
            raise ModelError(f"{stabilized_whole.name} has no constraints to stabilize")
        return Held(replace(stabilized_whole, project=None))
    whole = _whole(model, laws, events, work)
    if isinstance(drift, NoControl):
        return Held(replace(whole, project=None))
    if isinstance(drift, Projection | VelocityProjection):
        return projected(whole, drift)
    if isinstance(drift, InvariantStabilization):
        return stabilized(whole, drift)
    if isinstance(drift, Minimal):
        return Held(minimal(whole, drift.iterations))
    assert isinstance(drift, Rattle | Symplectic)  # the rest of the names
    return Held(whole)


def _whole(
    model: System | Equations,
    laws: Laws,
    events: tuple[Event, ...],
    work: bool | None,
    treatment: Augmented | None = None,
) -> Equations:
    """Equations in which nothing is eliminated."""
    if isinstance(model, System):
        return derive(model, dict(laws), events, work, treatment or Augmented())
    equations = with_laws(model, dict(laws), events)
    if treatment is None or treatment.stabilization is None:
        return equations
    return augmented(second_order(equations)[0], treatment.stabilization, bool(equations.extra_states), treatment.solver)


def _stabilized_form(model: System | Equations, laws: Laws, events: tuple[Event, ...]) -> Equations:
    form = posed(model, ggl=True)
    if not form.constraints:
        raise ModelError(f"{form.name} has no constraints to stabilize")
    return with_laws(form, dict(laws), events)

"""Runs with a drift control or a given formulation: equations, feedback gains from the step size, starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.stabilization.stabilized_equations import StabilizedEquations, stabilized_equations
from draisine.dynamics.formulations import FormulationChoice
from draisine.dynamics.lagrangian.energies import Energies, unsupported_by_energies
from draisine.dynamics.lagrangian.euler_angles import EulerAngleStates
from draisine.dynamics.stabilization import GGL, Baumgarte, Drift, NoControl, Rattle, Symplectic, VelocityProjection
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import numbers
from draisine.program.equations import Equations, Event
from draisine.results.status import Ending, Status
from draisine.simulation.compiled_equations import prepared
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Run
from draisine.simulation.symplectic import check_symplectic, symplectic_run

Reals = NDArray[np.float64]

_LOST = (Ending.SINGULAR, Ending.STEP_TOO_SMALL, Ending.CONSTRAINTS_BROKEN, Ending.NOT_FINITE)
PILOT = 0.1  # fraction of the time for a pilot run that determines the typical step


def scaled(drift: Drift | None, method: Method | None, until: float, pilot: Callable[[float, Drift], int]) -> Drift | None:
    """Baumgarte feedback with missing gains set from the steps of a pilot run."""
    if not isinstance(drift, Baumgarte) or None not in (drift.alpha, drift.beta, drift.gamma):
        return drift
    return drift.scaled(_typical_step(method, until, lambda seconds: pilot(seconds, NoControl())))


def _typical_step(method: Method | None, until: float, pilot: Callable[[float], int]) -> float:
    """The fixed step of a method, or its mean step in a pilot run over the first part of the time."""
    step = getattr(method, "step", None)
    return float(step) if step is not None else PILOT * abs(until) / max(pilot(PILOT * until), 1)


def equations_under(
    model: Model | System | Equations,
    laws: Mapping[str, Expr],
    events: tuple[Event, ...],
    driven: bool,
    drift: Drift | None,
    formulation: FormulationChoice | None,
) -> StabilizedEquations:
    """The equations of a run with a drift control or a given formulation."""
    if drift is not None and formulation is not None:
        raise ArgumentError(
            f"drift={drift!r} says how constraints are treated, and so does formulation={formulation!r}; give one of them"
        )
    described = model.freeze() if isinstance(model, Model) else model
    work = False if isinstance(drift, Rattle | Symplectic) else True if driven else None
    choice = drift if drift is not None else formulation
    assert choice is not None  # one of them is given
    return stabilized_equations(described, choice, laws, events, work)


def targets_under(
    drift: Drift | None,
    model: Model | System | Equations,
    equations: Equations,
    targets: Mapping[str, float | InitialGuess],
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float],
) -> dict[str, float | InitialGuess]:
    """Targets for the start of equations under a drift control.

    Equations with multipliers among their unknowns (GGL) get the start that the mechanism has without them.
    """
    if not isinstance(drift, GGL):
        return dict(targets)
    augmented = equations_under(model, {}, (), False, NoControl(), None).equations
    begin = consistent_start(prepared(augmented).starts, dict(targets), parameters=parameters, inputs=inputs)
    q, v, count = begin.q, begin.v, len(augmented.coordinates)
    if not isinstance(model, Equations):  # described by energies where possible, with Euler angles instead of quaternions
        system = model.freeze() if isinstance(model, Model) else model
        if not unsupported_by_energies(system):
            q, v = EulerAngleStates(
                system, Energies(system), numbers("parameter", augmented.parameters, parameters, augmented.dependent_parameters)
            ).motion(q, v)
            count = len(q)
    names = [s.name for s in equations.coordinates]
    values = zip((*names[:count], *names[count : count + len(v)]), (*q, *v), strict=True)
    return {name: InitialGuess(float(value)) for name, value in values}


def symplectic(
    drift: Drift | None, equations: Equations, x0: Reals, until: float, inputs: Reals, options: Mapping[str, Any]
) -> Run | None:
    """The run where the drift control is an integration method itself; None where it is not."""
    if not isinstance(drift, Rattle | Symplectic):
        return None
    check_symplectic(drift, options["method"], options["control"])
    return symplectic_run(drift, equations, x0, until, inputs, options["parameters"], options["samples"], options["progress"])


def with_other_controls(status: Status, drift: Drift | None, model: Model | System | Equations) -> Status:
    """The status of a run that ended early where its drift control keeps the rows it solves for, with those that do not."""
    if status.complete or status.kind not in _LOST or not isinstance(drift, GGL | Rattle | VelocityProjection):
        return status
    unreduced = equations_under(model, {}, (), False, NoControl(), None).equations
    if not unreduced.rows:
        return status
    return replace(
        status,
        message=f"{status.message}; of the redundant constraints, {type(drift).__name__} solves for the same rows throughout "
        f"({', '.join(unreduced.rows)}), which may lose rank where all together do not: Projection(), Minimal() and "
        "formulation=Recursive() take others there",
    )


def refuse_laws(drift: Drift | None, laws: Mapping[str, Any]) -> None:
    """Refuse inputs that vary in runs that are for conservative mechanisms."""
    if laws and isinstance(drift, Rattle | Symplectic):
        name = next(iter(laws))
        raise ArgumentError(
            f"{type(drift).__name__} is for conservative mechanisms, but the input {name!r} has a law; leave it out, or choose "
            "another drift control"
        )


def refuse_sensitivity(drift: Drift | None, stabilized: StabilizedEquations) -> None:
    """Refuse drift controls whose runs cannot be differentiated exactly."""
    if stabilized.invariants is not None or isinstance(drift, Rattle | Symplectic | GGL):
        raise ArgumentError(f"sensitivity: runs with drift={drift!r} are not differentiated; leave drift out")

"""What drift controls and formulations ask of a run: their equations, their steps, their starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from draisine.dynamics.dae.stabilization.stabilized_equations import StabilizedEquations, stabilized_equations
from draisine.dynamics.lagrangian.energies import Energies, unsupported_by_energies
from draisine.dynamics.lagrangian.euler_angles import EulerAngleStates
from draisine.dynamics.options import GGL, Baumgarte, Drift, FormulationChoice, NoControl, Rattle, Symplectic
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations, Event
from draisine.simulation.compiled_equations import prepared, values_of
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess
from draisine.simulation.methods.selection import Method

PILOT = 0.1  # part of a run that is made to learn how long its steps are


def scaled(drift: Drift | None, method: Method | None, until: float, pilot: Callable[[float, Drift], int]) -> Drift | None:
    """Feedback whose numbers are not given fits the steps of a pilot run."""
    if not isinstance(drift, Baumgarte) or None not in (drift.alpha, drift.beta, drift.gamma):
        return drift
    return drift.scaled(_typical_step(method, until, lambda seconds: pilot(seconds, NoControl())))


def _typical_step(method: Method | None, until: float, pilot: Callable[[float], int]) -> float:
    """The step of a method: its own, or the mean of those it takes in a pilot run over the first part of the time."""
    step = getattr(method, "step", None)
    return float(step) if step is not None else PILOT * abs(until) / max(pilot(PILOT * until), 1)


def held_equations(
    model: Model | System | Equations,
    laws: Mapping[str, Expr],
    events: tuple[Event, ...],
    driven: bool,
    drift: Drift | None,
    formulation: FormulationChoice | None,
) -> StabilizedEquations:
    """The equations of a run, with the drift control or the formulation asked for."""
    if drift is not None and formulation is not None:
        raise ArgumentError(
            f"drift={drift!r} says how constraints are treated, and so does formulation={formulation!r}; give one of them"
        )
    described = model.freeze() if isinstance(model, Model) else model
    work = False if isinstance(drift, Rattle | Symplectic) else True if driven else None
    treatment = drift if drift is not None else formulation
    assert treatment is not None  # one of them is given, as was seen above
    return stabilized_equations(described, treatment, laws, events, work)


def targets_under(
    drift: Drift | None,
    model: Model | System | Equations,
    equations: Equations,
    targets: Mapping[str, float | InitialGuess],
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float],
) -> dict[str, float | InitialGuess]:
    """Wishes for the start of equations under a drift control."""
    return _same_place(model, equations, targets, parameters, inputs) if isinstance(drift, GGL) else dict(targets)


def _same_place(
    model: Model | System | Equations,
    equations: Equations,
    targets: Mapping[str, float | InitialGuess],
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float],
) -> dict[str, float | InitialGuess]:
    """Wishes that lead equations with multipliers among their unknowns to the start that the mechanism has without them."""
    whole = held_equations(model, {}, (), False, NoControl(), None).equations
    begin = consistent_start(prepared(whole).starts, dict(targets), parameters, inputs=inputs)
    q, v, count = begin.q, begin.v, len(whole.coordinates)
    if not isinstance(model, Equations):  # a description is posed by energies if it can be, with angles for quaternions
        system = model.freeze() if isinstance(model, Model) else model
        if not unsupported_by_energies(system):
            q, v = EulerAngleStates(system, Energies(system), values_of(whole, parameters)).motion(q, v)
            count = len(q)
    names = [s.name for s in equations.coordinates]
    values = zip((*names[:count], *names[count : count + len(v)]), (*q, *v), strict=True)
    return {name: InitialGuess(float(value)) for name, value in values}


def refuse_sensitivity(drift: Drift | None, held: StabilizedEquations) -> None:
    """Runs whose steps are not those of the differentiated equations have no exact sensitivities."""
    if held.invariants is not None or isinstance(drift, Rattle | Symplectic | GGL):
        raise ArgumentError(f"sensitivity: runs with drift={drift!r} are not differentiated; leave drift out")

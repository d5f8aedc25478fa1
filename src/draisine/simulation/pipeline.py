"""From a description to a run (`compute`): equations, kernels, a consistent start, steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from draisine.codegen.equation_cache import derive_cached
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import laws_and_constants
from draisine.program.equations import Equations, Event
from draisine.simulation.compiled_equations import best_choice_for, prepared, values_of
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, plain
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Run
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage, Sampled
from draisine.simulation.trajectory_from_run import reporter

if TYPE_CHECKING:
    from draisine.dynamics.dae.stabilization.stabilized_equations import StabilizedEquations
    from draisine.dynamics.options import Drift, FormulationChoice
    from draisine.expr.expression import Expr
    from draisine.program.variational import Direction
    from draisine.simulation.sensitivity import VariedRun

    Law = Expr | str | float | int

FUNCTIONS = "pass a Python function as control=Sampled(function, rate) or control=EveryStage(function)"


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


class Computed(NamedTuple):
    """A run, with what an account of it needs."""

    run: Run
    equations: Equations
    parameters: np.ndarray
    start: str
    clock: Clock
    varied: VariedRun | None = None


def compute(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float | str | InitialGuess] | None = None,
    parameters: Mapping[str, float | str] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    times: np.ndarray | None = None,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | None = None,
    drift: Drift | None = None,
    formulation: FormulationChoice | None = None,
    sensitivity: Sequence[str] = (),
) -> Computed:
    """What `simulate` does before it makes a trajectory of it; without `times` the run keeps its own steps."""
    clock = Clock()
    laws, constants = laws_and_constants(inputs or {}, FUNCTIONS)
    held: StabilizedEquations | None = None
    if drift is not None or formulation is not None:
        from draisine.simulation.stabilization import held_equations, refuse_sensitivity, scaled, targets_under

        def pilot(seconds: float, free: Drift) -> int:
            given = {"start": start, "parameters": parameters, "inputs": inputs, "control": control, "method": method}
            return compute(model, seconds, **given, drift=free).run.accepted  # type: ignore[arg-type]

        drift = scaled(drift, method, until, pilot)
        held = held_equations(model, laws, tuple(events), bool(inputs or control), drift, formulation)
    equations = held.equations if held is not None else _equations(model, laws, tuple(events), bool(inputs or control))
    p = values_of(equations, parameters)
    values = {q.name: float(value) for q, value in zip(equations.parameters, p, strict=True) if q.name in (parameters or {})}
    _check_numbers(model, values)
    clock.lap("derive")
    starts = prepared(equations).starts
    reporter(equations)
    clock.lap("compile")
    targets = plain(equations, start or {})
    if held is not None:
        targets = targets_under(drift, model, equations, targets, values, constants)
    begin = consistent_start(starts, targets, values, inputs=constants)
    u = np.array([constants.get(i.name, 0.0) for i in equations.inputs])
    extra = begin.x[len(begin.x) - len(equations.extra_states) :]
    fitting, x0 = best_choice_for(equations, begin.q, begin.v, extra, (0.0, u, p))
    p = p if held is None else held.with_values(x0, u, p)
    directions: tuple[Direction, ...] = ()
    if sensitivity:
        from draisine.simulation.sensitivity import directions_of, initial_jacobian, integrate_varied, sizes_of

        directions = directions_of(equations, sensitivity, targets, tuple(laws))
        if held is not None:
            refuse_sensitivity(drift, held)
        jacobian = initial_jacobian(starts, targets, begin, fitting, directions)
    clock.lap("start")
    if control is not None and not isinstance(control, Sampled | EveryStage):
        control = EveryStage(control)
    how: dict[str, Any] = {"parameters": p, "inputs": constants, "method": method, "samples": times}
    how |= {"control": control, "progress": progress}
    varied, run = None, _symplectic(drift, equations, x0, until, u, how)
    if directions:
        sizes = sizes_of(directions, u, p, targets)
        varied = integrate_varied(fitting, x0, jacobian, until, directions, sizes=sizes, **how)
        run = varied.plain()
    elif run is None:
        run = integrate(prepared(fitting).choices, x0, until, **how)
    clock.lap("integrate")
    return Computed(run, equations, p, str(begin.report), clock, varied)


def _symplectic(
    drift: Drift | None, equations: Equations, x0: np.ndarray, until: float, u: np.ndarray, how: Mapping[str, Any]
) -> Run | None:
    """The run where the drift control is a method of its own; None where it is not."""
    if drift is None:
        return None
    from draisine.dynamics.options import Rattle, Symplectic
    from draisine.simulation.symplectic import refuse_company, symplectic_run

    if not isinstance(drift, Rattle | Symplectic):
        return None
    refuse_company(drift, how["method"], how["control"])
    return symplectic_run(drift, equations, x0, until, u, how["parameters"], how["samples"], how["progress"])


def _check_numbers(model: Model | System | Equations, parameters: Mapping[str, float] | None) -> None:
    """Numbers given for parameters must suit the mechanism: masses are not negative, inertias are possible."""
    if parameters and not isinstance(model, Equations):
        from draisine.model.validate import check_numbers

        check_numbers(model.freeze() if isinstance(model, Model) else model, parameters)


def _equations(model: Model | System | Equations, laws: Mapping[str, Expr], events: tuple[Event, ...], driven: bool) -> Equations:
    if not isinstance(model, Equations):
        return derive_cached(model.freeze() if isinstance(model, Model) else model, laws, events, work=True if driven else None)
    if not laws and not events:
        return model
    from draisine.dynamics.input_laws import with_laws

    return with_laws(model, laws, events)

"""Simulation of a model (`simulate`): equations, kernels, a consistent start, integration, a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from draisine.codegen.equation_cache import derive_cached, is_known
from draisine.codegen.jit.beside import CompilerBeside
from draisine.codegen.restricted.entry import begin_all
from draisine.dynamics.given_parameters import description_of, given_parameters
from draisine.errors import ArgumentError
from draisine.expr.tree import names
from draisine.model.model import Model
from draisine.model.plausibility import lost_masses
from draisine.model.quantities import laws_and_constants
from draisine.model.system import System
from draisine.program.arguments import checked, numbers
from draisine.program.equations import Equations, Event
from draisine.program.program import DaeResidual
from draisine.results.channel import HasState, named_start
from draisine.results.status import ProgressCallback, Status
from draisine.results.trajectory import Trajectory
from draisine.simulation.compiled_equations import best_choice_for, prepared
from draisine.simulation.contact_warnings import has_margins
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, plain
from draisine.simulation.initial.result import start_notes
from draisine.simulation.initial.solver import SOLVER
from draisine.simulation.methods.selection import Method
from draisine.simulation.report_values import reporter
from draisine.simulation.result import Clock, Run
from draisine.simulation.run import integrate
from draisine.simulation.run_warnings import passed_at_start
from draisine.simulation.sampled_control import EveryStage, Repeated, Sampled, control_changes
from draisine.simulation.stepper.memory import stepping_entry
from draisine.simulation.trajectory_from_run import DenseOutput, trajectory_of

if TYPE_CHECKING:
    from draisine.dynamics.dae.stabilization.stabilized_equations import StabilizedEquations
    from draisine.dynamics.formulations import FormulationChoice
    from draisine.dynamics.stabilization import Drift
    from draisine.expr.expression import Expr
    from draisine.program.variational import Direction
    from draisine.simulation.sensitivity import VariedRun

    Law = Expr | str | float | int


SAMPLES_PER_SECOND = 100
MOST_SAMPLES = 20_000
LARGEST_NUMBER_OF_SAMPLES = 100_000_000


@checked
def simulate(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float | str | InitialGuess] | HasState | None = None,
    parameters: Mapping[str, float | str] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    samples: ArrayLike | int | None = None,
    events: Sequence[Event] = (),
    progress: ProgressCallback | None = None,
    drift: Drift | None = None,
    formulation: FormulationChoice | None = None,
    sensitivity: Sequence[str] = (),
) -> Trajectory:
    """Simulate a model from a consistent start for `until` seconds.

    - `start`: targets by name of coordinates, velocities or outputs; the other initial values are solved for from the
      constraints. Numbers in SI, or texts with a unit: `{"speed": "18 km/h", "lean": "5 deg"}`. Or a result: another run (its
      end), a row of it (`run.at(2.0)`), a steady motion, a special point, a periodic motion, a solution, whose state is kept
      exactly; `{**run.final, "lean": 0.1}` is the nearest state with this lean. Time begins at 0 again.
    - `parameters`: values by name, the others have their defaults. Numbers are in SI units, also where the parameter was declared
      in another unit (2000.0 for 2 kN/m); texts have a unit: `{"k": "2 kN/m"}`. Nothing is recompiled.
    - `inputs`: constants, or laws as text or expression of t, states, outputs and parameters, which are compiled in.
    - `control`: u = function(t, x) in Python: `Sampled(function, rate)`, or `EveryStage(function)`, which is slow; x is
      indexed by name, `x["steer"]`.
    - `method`: an integration method of `dr.methods` with its tolerances or step; chosen if not given.
    - `samples`: output times, or their number; by default 100 per second and one for the start, at least 201, at most 20,001.
    - `events`: `Event(name, expression, action)` in addition to those of the model.
    - `drift`: stabilization of constraints and invariants: `Projection()`, `Baumgarte()`, `Minimal()`, `Rattle(step)`, …; see
      docs/drift.md. By default velocities are eliminated or projected, depending on the mechanism.
    - `formulation`: `Reduced()`, `Recursive()` or `Augmented()`; by default it is chosen by structure and size.
    - `sensitivity`: names of parameters, constant inputs or start targets ("start.lean") by which every channel is differentiated
      exactly: `run.sensitivity["lean", "trail"]`; see docs/periodic.md.
    - `progress`: called at intervals with a `Progress`: `share` done, `text`; `progress=print` prints it.

    The `status` of the result says how the run ended; everything computed up to then is returned.
    """
    times = _sample_times(samples, until)
    computed = compute(
        model,
        until,
        start=start,
        parameters=parameters,
        inputs=inputs,
        control=control,
        method=method,
        times=times,
        events=events,
        progress=progress,
        drift=drift,
        formulation=formulation,
        sensitivity=sensitivity,
    )
    described = (computed.equations, computed.start, computed.timed)
    trajectory = trajectory_of(computed.run, computed.parameters, computed.clock, *described)
    source = model.freeze() if isinstance(model, Model) else model
    status = _with_lost_masses(trajectory.status, source, computed)
    for note in computed.notes:
        status = status.with_warning(note)
    changes = control_changes(control, computed.run.applied, (0.0, float(until)))
    # equations know what they were derived of, if anything: their runs can be drawn as those of the description
    drawn = description_of(source) or source
    trajectory = replace(trajectory, source=drawn, status=status, dense=computed.dense, control_changes=changes)
    if computed.reduction:
        trajectory = replace(trajectory, scene={**trajectory.scene, "reduction": computed.reduction})
    if computed.varied is None:
        return trajectory
    found = computed.varied.reported(computed.parameters, trajectory.channels)
    return replace(trajectory, sensitivity=replace(found, by=tuple(sensitivity)))  # named as requested, "start.speed"


def _sample_times(samples: ArrayLike | int | None, until: float) -> np.ndarray:
    if not isinstance(until, int | float | np.number) or isinstance(until, bool) or not np.isfinite(until) or until == 0:
        raise ArgumentError(f"until: the duration in seconds must be finite and not zero, got {until!r}")
    if samples is None:
        samples = int(min(max(abs(until) * SAMPLES_PER_SECOND, 200), MOST_SAMPLES)) + 1
    if isinstance(samples, int | np.integer) and not isinstance(samples, bool):
        if samples < 2:
            raise ArgumentError(f"samples: at least 2 are needed (start and end), got {samples}")
        if samples > LARGEST_NUMBER_OF_SAMPLES:
            raise ArgumentError(f"samples: at most {LARGEST_NUMBER_OF_SAMPLES:,} fit into memory; give fewer, or their times")
        return np.linspace(0.0, until, samples)
    try:
        times = np.asarray(samples, dtype=float)
    except (TypeError, ValueError):
        times = np.empty((0, 0))
    if times.ndim != 1 or isinstance(samples, bool):
        raise ArgumentError(f"samples: give their number, such as 200, or a list of times in seconds; got {samples!r}")
    return times


ONLY_ONCE = (
    "its control is called at every stage and may have a memory, so the run is not repeated; simulate with samples at these "
    "times, or draw straight lines between the samples by run.interpolated(t)"
)
FUNCTIONS = "pass a Python function as control=Sampled(function, rate) or control=EveryStage(function)"


class Computed(NamedTuple):
    """A run with its equations, parameters, start report, timings, sensitivities, and notes about its start."""

    run: Run
    equations: Equations
    parameters: np.ndarray
    start: str
    clock: Clock
    dense: DenseOutput
    varied: VariedRun | None = None
    reduction: str = ""  # how the given equations were reduced before the run
    notes: tuple[str, ...] = ()
    timed: bool = False  # whether inputs are laws of time


@checked
def compute(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float | str | InitialGuess] | HasState | None = None,
    parameters: Mapping[str, float | str] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    times: np.ndarray | None = None,
    events: Sequence[Event] = (),
    progress: ProgressCallback | None = None,
    drift: Drift | None = None,
    formulation: FormulationChoice | None = None,
    sensitivity: Sequence[str] = (),
) -> Computed:
    """The run of `simulate`, before it becomes a trajectory; without `times` the run keeps the accepted steps."""
    clock = Clock()
    laws, constants = laws_and_constants(inputs or {}, FUNCTIONS)
    stabilized: StabilizedEquations | None = None
    _refuse_across_modes(model, until, control, drift)
    if drift is not None or formulation is not None or sensitivity:
        from draisine.simulation import special_runs as special  # imports CasADi, which other runs do not need
    if drift is not None or formulation is not None:

        def pilot(seconds: float, free: Drift) -> int:
            given = {"start": start, "parameters": parameters, "inputs": inputs, "control": control, "method": method}
            return compute(model, seconds, **given, drift=free).run.accepted  # type: ignore[arg-type]

        special.refuse_laws(drift, laws)
        drift = special.scaled(drift, method, until, pilot)
        stabilized = special.equations_under(model, laws, tuple(events), bool(inputs or control), drift, formulation)
    with CompilerBeside() as compiler:
        equations, reduction = (
            (stabilized.equations, "")
            if stabilized is not None
            else _equations(model, laws, tuple(events), bool(inputs or control), named_start(start), compiler)
        )
        values = given_parameters(model, equations, parameters)
        clock.lap("derive")
        starts = prepared(equations).starts
        reporter(equations, quick=True)
        if not starts.by_columns:
            _ = starts.kernel
    clock.lap("compile")
    named = named_start(start)
    targets = plain(equations, named)
    if stabilized is not None:
        targets = special.targets_under(drift, model, equations, targets, values, constants)
    begin = consistent_start(starts, targets, parameters=values, inputs=constants)
    u, p = numbers("input", equations.inputs, constants), begin.given[2]  # with the modes of unilateral contacts
    constants = {i.name: value for i, value in zip(equations.inputs, u.tolist(), strict=True) if i.name in constants}
    extra = begin.x[len(begin.x) - len(equations.extra_states) :]
    fitting, x0 = best_choice_for(equations, begin.q, begin.v, extra, (0.0, u, p))
    p = p if stabilized is None else stabilized.with_values(x0, u, p)
    directions: tuple[Direction, ...] = ()
    if sensitivity:
        directions = special.directions_of(equations, sensitivity, targets, tuple(laws))
        if stabilized is not None:
            special.refuse_sensitivity(drift, stabilized)
        jacobian, beside = special.varied_start(starts, targets, begin, fitting, directions, (values, constants))
    clock.lap("start")
    if control is not None and not isinstance(control, Sampled | EveryStage):
        control = EveryStage(control)
    how: dict[str, Any] = {"parameters": p, "inputs": constants, "method": method, "samples": times}
    how |= {"control": control, "progress": progress}
    sizes = special.sizes_of(directions, u, p, targets) if directions else None

    def integrated(how: dict[str, Any], again: bool = False) -> tuple[Run, VariedRun | None]:
        steps_too = not again and has_margins(equations)
        run = special.symplectic(drift, equations, x0, until, u, how) if stabilized is not None else None
        if directions:
            varied = special.integrate_varied(fitting, x0, jacobian, until, directions, sizes=sizes, **how, steps_too=steps_too)
            return varied.plain(), varied
        return run or integrate(prepared(fitting).choices, x0, until, **how, only_samples=again, steps_too=steps_too), None

    def repeat(samples: np.ndarray) -> Run:
        repeated: dict[str, Any] = {} if run.applied is None else {"control": Repeated.of(*run.applied)}
        repeated |= {} if run.scaled is None else {"method": run.scaled}
        return integrated(how | {"samples": samples, "progress": None} | repeated, again=True)[0]

    run, varied = integrated(how)
    if stabilized is not None:
        run = replace(run, status=special.with_other_controls(run.status, drift, model))
    clock.lap("integrate")
    dense = DenseOutput(equations.name, repeat, p, ONLY_ONCE if isinstance(control, EveryStage) else "")
    timed = any("t" in names(law) for law in laws.values())
    notes = (*start_notes(start, named, begin, u, p, laws), *_passed_at_start(fitting, x0, u, p), *(beside if directions else ()))
    return Computed(run, equations, p, str(begin.report), clock, dense, varied, reduction, notes, timed)


def _passed_at_start(e: Equations, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[str]:
    """Stopping events of one direction beyond which the run starts: they do not end it before it has come back."""
    stopping = any(event.action == "stop" and event.direction for event in e.event_list)
    kernel = prepared(e).choices.compiled(e.choice).events if stopping else None
    if kernel is None:
        return []
    values = np.ravel(kernel([0.0], x, u, p)[0])
    return [
        f"the run starts beyond the event {event.name!r}{f' ({event.description})' if event.description else ''}: "
        f"{event.expression} = {value:.3g}; it ends the run only when passed again"
        for event, value, passed in zip(e.event_list, values, passed_at_start(e.event_list, values), strict=True)
        if passed
    ]


def _refuse_across_modes(model: Model | System | Equations, until: float, control: Any, drift: Drift | None) -> None:
    """Refuse what a run with contacts that slip and open does not have."""
    contacts = ", ".join(contact.name for contact in model.unilateral)
    if not contacts:
        return
    if control is not None and not isinstance(control, Sampled):
        raise ArgumentError(
            f"control: a function that is called at every stage is not known where the contacts {contacts} of {model.name!r} "
            "begin to slip and open, within steps; give control=Sampled(function, rate), or the law as text in inputs="
        )
    if drift is not None:
        raise ArgumentError(
            f"drift={drift!r}: the contacts {contacts} of {model.name!r} slip and open, and a run projects those that are "
            "closed; leave out drift="
        )
    if until < 0.0:
        raise ArgumentError(
            f"until: a run of {model.name!r} backwards, until {until:g} s, is not determined: friction and impacts of its "
            f"contacts {contacts} lose what would be needed; give a positive duration"
        )


def _with_lost_masses(status: Status, source: System | Equations, computed: Computed) -> Status:
    """The status with warnings about masses at which arithmetic is lost; equations do not tell the masses of bodies."""
    if isinstance(source, System):
        values = dict(zip((q.name for q in computed.equations.arguments), computed.parameters.tolist(), strict=True))
        for warning in lost_masses(source, values):
            status = status.with_warning(warning)
    return status


def _equations(
    model: Model | System | Equations,
    laws: Mapping[str, Expr],
    events: tuple[Event, ...],
    driven: bool,
    named: Collection[str],
    compiler: CompilerBeside,
) -> tuple[Equations, str]:
    """The equations of a run from `named` start values, and a sentence where given ones were reduced."""
    if not isinstance(model, Equations):
        described = model.freeze() if isinstance(model, Model) else model
        work = True if driven else None
        if not is_known(described, laws, events, work):
            compiler.begin()
        # Every run needs these: on a new machine another process compiles them while this one derives. The loop comes first:
        # starts are interpreted until their solver is compiled.
        begin_all((stepping_entry(False, False, False), SOLVER))
        equations = derive_cached(described, laws, events, work)
        compiler.await_llvm()
        return equations, ""
    if not laws and not events and not isinstance(model.dynamics, DaeResidual):
        return model, ""
    from draisine.simulation.given_equations import equations_for_run  # imports CasADi

    return equations_for_run(model, laws, events, named)

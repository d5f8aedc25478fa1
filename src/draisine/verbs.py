"""The verbs that join the two sides: descriptions and equations on one, kernels and runs on the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.derived import derived
from draisine.kernels import Kernel
from draisine.model import Model, System
from draisine.model.amounts import laws_and_constants
from draisine.model.validate import check_numbers
from draisine.program.equations import Equations, Event
from draisine.program.expression import Expr
from draisine.program.implicit import Implicit
from draisine.program.program import Program
from draisine.program.solved import Solved
from draisine.results import Trajectory, load
from draisine.results.assembly import Piece, assemble
from draisine.results.channel import Group
from draisine.results.trajectory import Statistics
from draisine.simulation import EveryStage, Near, Sampled, StartProblem, consistent_start, integrate, prepare
from draisine.simulation.account import account, reporter
from draisine.simulation.choices import Choices, best_for
from draisine.simulation.methods import Method
from draisine.simulation.names import numbers
from draisine.simulation.run import Run, Segment
from draisine.simulation.stored import stepping_loop

# What a plain run does not need is imported where it is used: a run of equations that are at hand imports no CasADi.
if TYPE_CHECKING:
    import sympy

    from draisine.equations.certificate import Certificate
    from draisine.equations.drift import Drift
    from draisine.equations.drift.projections import Held
    from draisine.equations.treatment import Treatment
    from draisine.program.variational import Direction
    from draisine.simulation.sensitivity import VariedRun


def _plot(run: Trajectory, *names: str, **options: Any) -> Any:
    """Named channels against time as a Matplotlib figure; see `draisine.view.plot`."""
    from draisine.view import plot

    return plot(run, *names, **options)


def _animate(run: Trajectory, **options: Any) -> Any:
    """The run as a moving picture; see `draisine.animate`."""
    from draisine.drawn.films import animate

    return animate(run, **options)


# Results know no pictures and pictures no solvers; here, where everything meets, a trajectory learns to draw itself.
Trajectory.plot = _plot  # type: ignore[assignment,method-assign]
Trajectory.animate = _animate  # type: ignore[assignment,method-assign]

SAMPLES_PER_SECOND = 100
MOST_SAMPLES = 20_000

Law = Expr | str | float | int
FUNCTIONS = "pass a Python function as control=Sampled(function, rate) or control=EveryStage(function)"


def compile(
    what: Program | Solved | sympy.Matrix | sympy.Expr, arguments: Sequence[Any] | None = None, name: str = "kernel"
) -> Kernel:
    """Machine code of a program, or of any SymPy expression or matrix in the given arguments.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> f = compile(sp.Matrix([[x * y, sp.sin(x)]]), [x, y])
    >>> f(2.0, 3.0)[0].round(6).tolist()
    [[6.0, 0.909297]]
    """
    if isinstance(what, Program | Solved):
        from draisine.kernels import compile as compile_program

        return compile_program(what)
    from draisine.kernels.symbolic import compile_symbolic

    if arguments is None:
        raise TypeError("compile: say in which order the symbols are passed, e.g. compile(matrix, [x, y])")
    return compile_symbolic(what, arguments, name=name)


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
    from draisine.equations import derive

    if against is None:
        from draisine.equations.certificate import certify_roads
        from draisine.equations.one_road import certify_one_road

        if names:
            raise ValueError("names says what corresponds to what in two descriptions; give the second one: against=…")
        return certify_one_road(model, states) if isinstance(model, Equations) else certify_roads(model, states)
    from draisine.comparison import compare_descriptions

    first, second = (m if isinstance(m, Equations) else derive(m) for m in (model, against))
    return compare_descriptions(first, second, states, names=names)


def export(
    model: Model | System | Equations | Program | Solved,
    lang: str | Sequence[str] = "c",
    what: str | Sequence[str] = ("dynamics",),
    out: str | Path = ".",
    *,
    start: Mapping[str, float | Near] | None = None,
) -> list[Path]:
    """Write programs of a model, or one program, as source code of other languages; the paths of the files.

    - `lang`: c, fortran, julia, octave (MATLAB too), javascript, script (JavaScript for pages), rust, python; casadi for a file
      that CasADi loads; fmu for a functional mock-up unit (FMI 3.0, model exchange) of the whole model.
    - `what`: dynamics, residual, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, events,
      monitor; a residual where equations are given as 0 = F(t, x, ẋ).
    - `start`: wishes for the state in which a functional mock-up unit begins, as in `simulate`.
    """
    from draisine.equations import derive
    from draisine.kernels.export import write, write_system

    langs = [lang] if isinstance(lang, str) else list(lang)
    if isinstance(model, Program | Solved):
        return [write(model, one, Path(out)) for one in langs]
    equations = model if isinstance(model, Equations) else derive(model)
    about = "" if isinstance(model, Equations) else (model.freeze() if isinstance(model, Model) else model).about

    def begin() -> np.ndarray:
        return consistent_start(StartProblem(equations), dict(start or {})).x

    return write_system(equations, langs, [what] if isinstance(what, str) else what, Path(out), about, begin)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What runs of one set of equations share: kernels, and the problem of finding a start."""

    choices: Choices
    starts: StartProblem


@lru_cache(maxsize=32)
def _prepared(equations: Equations) -> _Prepared:
    # compiled at its first use on a machine: that belongs to compiling, not to integrating
    stepping_loop(implicit=isinstance(equations.dynamics, Implicit))
    return _Prepared(prepare(equations), StartProblem(equations))


def simulate(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float | Near] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    samples: ArrayLike | int | None = None,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | None = None,
    drift: Drift | None = None,
    formulation: Treatment | None = None,
    sensitivity: Sequence[str] = (),
) -> Trajectory:
    """Move a mechanism from a consistent start for `until` seconds.

    - `start`: wishes by name of coordinates, velocities or outputs; the rest is solved ("wheels on the ground").
    - `parameters`: values by name; the others keep their defaults. Nothing is recompiled.
    - `inputs`: a number, or a law as text or expression of t, states, outputs and parameters, which is compiled in.
    - `control`: u = function(t, x) in Python: `Sampled(function, rate)`, or `EveryStage(function)`, which is slow.
    - `samples`: times wanted, or how many; 100 per second by default.
    - `events`: `Event(name, expression, action)` besides the model's own.
    - `drift`: what keeps the motion on its constraints and invariants, by name: `Projection()`, `Baumgarte()`, `Minimal()`,
      `Rattle(step)`, …; see docs/drift.md. Without it velocities are eliminated or projected, as suits the mechanism.
    - `formulation`: `Reduced()`, `Recursive()` or `Augmented()`; without it structure and size decide.
    - `sensitivity`: names of parameters, constant inputs or wishes for the start ("start.lean") with respect to which every
      channel is differentiated, exactly: `run.sensitivity["lean", "trail"]`; see docs/periodic.md.

    The result's `status` says how the run ended; what was computed is always there.
    """
    times = _sample_times(samples, until)
    moved = compute(
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
    made = _trajectory(moved.run, moved.parameters, moved.clock, moved.equations, moved.start)
    made = replace(made, source=model.freeze() if isinstance(model, Model) else model)
    if moved.varied is None:
        return made
    from draisine.simulation.sensitivity import told_sensitivity

    units = {q.name: q.unit for q in (*moved.equations.outputs, *moved.equations.states)}
    units |= {q.name: q.unit for q in (*moved.equations.inputs, *moved.equations.parameters)}
    by = [units.get(d.name, "") for d in moved.varied.directions]
    return replace(made, sensitivity=told_sensitivity(moved.varied, moved.parameters, made.channels, by))


@dataclass(frozen=True, eq=False)
class Computed:
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
    start: Mapping[str, float | Near] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    times: np.ndarray | None = None,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | None = None,
    drift: Drift | None = None,
    formulation: Treatment | None = None,
    sensitivity: Sequence[str] = (),
) -> Computed:
    """What `simulate` does before it makes a trajectory of it; without `times` the run keeps its own steps."""
    clock = Clock()
    laws, constants = laws_and_constants(inputs or {}, FUNCTIONS)
    if drift is not None:

        def pilot(seconds: float, free: Drift) -> int:
            given = {"start": start, "parameters": parameters, "inputs": inputs, "control": control, "method": method}
            return compute(model, seconds, **given, drift=free).run.accepted  # type: ignore[arg-type]

        drift = _scaled(drift, method, until, pilot)
    driven = bool(inputs or control)
    plain = drift is None and formulation is None
    held = None if plain else _held(model, laws, tuple(events), driven, drift, formulation)
    equations = _equations(model, laws, tuple(events), driven) if held is None else held.equations
    p = _values(equations, parameters)
    if parameters and not isinstance(model, Equations):
        check_numbers(model.freeze() if isinstance(model, Model) else model, parameters)
    clock.lap("derive")
    prepared = _prepared(equations)
    reporter(equations)
    clock.lap("compile")
    wishes: dict[str, float | Near] = dict(start or {})
    if _of_kind(drift, "GGL"):
        wishes = _same_place(model, equations, start or {}, parameters, constants)
    begin = consistent_start(prepared.starts, wishes, parameters, inputs=constants)
    u = np.array([constants.get(i.name, 0.0) for i in equations.inputs])
    extra = begin.x[len(begin.x) - len(equations.extra_states) :]
    fitting, x0 = best_for(equations, begin.q, begin.v, extra, (0.0, u, p))
    p = p if held is None else held.with_values(x0, u, p)
    directions: tuple[Direction, ...] = ()
    if sensitivity:
        from draisine.simulation.sensitivity import directions_of, initial_slopes, integrate_varied, sizes_of

        directions = directions_of(equations, sensitivity, wishes, tuple(laws))
        if (held is not None and held.invariants is not None) or _of_kind(drift, "Rattle", "Symplectic", "GGL"):
            raise ValueError(f"sensitivity: runs with drift={drift!r} are not differentiated; leave drift out")
        slopes = initial_slopes(prepared.starts, wishes, begin, fitting, directions)
    clock.lap("start")
    if control is not None and not isinstance(control, Sampled | EveryStage):
        control = EveryStage(control)
    varied = None
    if directions:
        varied = integrate_varied(
            fitting,
            x0,
            slopes,
            until,
            directions,
            sizes=sizes_of(directions, u, p, wishes),
            parameters=p,
            inputs=constants,
            method=method,
            samples=times,
            control=control,
            progress=progress,
        )
        run = varied.plain()
    elif _of_kind(drift, "Rattle", "Symplectic"):
        from draisine.equations.drift import Rattle, Symplectic
        from draisine.symplectic import refuse_company, symplectic_run

        assert isinstance(drift, Rattle | Symplectic)
        refuse_company(drift, method, control)
        run = symplectic_run(drift, equations, x0, until, u, p, times, progress)
    else:
        run = integrate(
            _prepared(fitting).choices,
            x0,
            until,
            parameters=p,
            inputs=constants,
            method=method,
            samples=times,
            control=control,
            progress=progress,
        )
    clock.lap("integrate")
    return Computed(run, equations, p, str(begin.report), clock, varied)


PILOT = 0.1  # part of a run that is made to learn how long its steps are


def _of_kind(drift: Drift | None, *kinds: str) -> bool:
    """Whether the drift control is one of those named."""
    if drift is None:
        return False
    from draisine.equations import drift as known

    return isinstance(drift, tuple(getattr(known, kind) for kind in kinds))


def _scaled(drift: Drift, method: Method | None, until: float, pilot: Callable[[float, Drift], int]) -> Drift:
    """Feedback whose numbers are not given fits the steps of a pilot run."""
    from draisine.equations.drift import Baumgarte, NoControl

    if not isinstance(drift, Baumgarte) or None not in (drift.alpha, drift.beta, drift.gamma):
        return drift
    return drift.scaled(_typical_step(method, until, lambda seconds: pilot(seconds, NoControl())))


def _typical_step(method: Method | None, until: float, pilot: Callable[[float], int]) -> float:
    """The step of a method: its own, or the mean of those it takes in a pilot run over the first part of the time."""
    step = getattr(method, "step", None)
    return float(step) if step is not None else PILOT * abs(until) / max(pilot(PILOT * until), 1)


def _held(
    model: Model | System | Equations,
    laws: Mapping[str, Expr],
    events: tuple[Event, ...],
    driven: bool,
    drift: Drift | None,
    formulation: Treatment | None,
) -> Held:
    """The equations of a run, with the drift control or the formulation asked for."""
    if drift is not None and formulation is not None:
        raise ValueError(
            f"drift={drift!r} says how constraints are treated, and so does formulation={formulation!r}; give one of them"
        )
    from draisine.equations.drift.control import controlled

    described = model.freeze() if isinstance(model, Model) else model
    work = False if _of_kind(drift, "Rattle", "Symplectic") else True if driven else None
    treatment = drift if drift is not None else formulation
    assert treatment is not None  # one of them is given, as was seen above
    return controlled(described, treatment, laws, events, work)


def _same_place(
    model: Model | System | Equations,
    equations: Equations,
    wishes: Mapping[str, float | Near],
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float],
) -> dict[str, float | Near]:
    """Wishes that lead equations with multipliers among their unknowns to the start that the mechanism has without them."""
    from draisine.equations.drift import NoControl

    whole = _held(model, {}, (), False, NoControl(), None).equations
    begin = consistent_start(_prepared(whole).starts, dict(wishes), parameters, inputs=inputs)
    q, v, count = begin.q, begin.v, len(whole.coordinates)
    if not isinstance(model, Equations):  # a description is posed by energies if it can be, with angles for quaternions
        from draisine.equations.energies import Energies, unknown_to_energies
        from draisine.equations.in_angles import InAngles

        system = model.freeze() if isinstance(model, Model) else model
        if not unknown_to_energies(system):
            q, v = InAngles(system, Energies(system), _values(whole, parameters)).motion(q, v)
            count = len(q)
    names = [s.name for s in equations.coordinates]
    values = zip((*names[:count], *names[count : count + len(v)]), (*q, *v), strict=True)
    return {name: Near(float(value)) for name, value in values}


def _values(equations: Equations, parameters: Mapping[str, float] | None) -> np.ndarray:
    """Parameters in order, those not given at their defaults."""
    return numbers("parameter", equations.parameters, parameters)


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _equations(model: Model | System | Equations, laws: Mapping[str, Expr], events: tuple[Event, ...], driven: bool) -> Equations:
    if not isinstance(model, Equations):
        return derived(model.freeze() if isinstance(model, Model) else model, laws, events, work=True if driven else None)
    if not laws and not events:
        return model
    from draisine.equations.typed.driven import with_laws

    return with_laws(model, laws, events)


def _sample_times(samples: ArrayLike | int | None, until: float) -> np.ndarray:
    if not np.isfinite(until) or until == 0:
        raise ValueError(f"until: how long to move, in seconds; it must be finite and not zero, got {until!r}")
    if samples is None:
        samples = int(min(max(abs(until) * SAMPLES_PER_SECOND, 200), MOST_SAMPLES)) + 1
    if isinstance(samples, int):
        if samples < 2:
            raise ValueError(f"samples: at least 2 are needed (start and end), got {samples}")
        return np.linspace(0.0, until, samples)
    return np.asarray(samples, dtype=float)


def _trajectory(run: Run, p: np.ndarray, clock: Clock, equations: Equations, start: str) -> Trajectory:
    pieces = [account(segment, p) for segment in run.segments if len(segment.times)]
    if not pieces:
        last = run.segments[-1]
        alone = Segment(
            last.equations, np.array([run.final_time]), run.final_state[None, :], np.zeros((1, len(equations.inputs))), last.steps
        )
        pieces = [account(alone, p)]
    status = run.status
    for warning in equations.warnings:
        status = status.with_warning(warning)
    clock.lap("report")
    return assemble(
        equations.name,
        pieces,
        status=status,
        events=[(e.name, e.time) for e in run.events],
        warnings=_contact_warnings(pieces),
        statistics=Statistics(run.evaluations, run.accepted, run.rejected),
        seconds=clock.seconds,
        parameters=dict(zip((q.name for q in equations.parameters), p.tolist(), strict=True)),
        scene={"start": start, "method": run.method},
    )


def _contact_warnings(pieces: Sequence[Piece]) -> list[str]:
    """Rolling that would need more friction than there is, and ground that would have to pull."""
    warnings = []
    for name, times, values in _columns(pieces):
        if name.endswith("_friction_needed") and values.size and np.nanmax(values) > 1.0:
            worst = int(np.nanargmax(values))
            wheel = name.removesuffix("_friction_needed")
            warnings.append(
                f"{wheel} would need a friction coefficient of {values[worst]:.2f} to roll at t = {times[worst]:.3f} s"
            )
        if name.endswith("_normal_force") and values.size and np.nanmin(values) < 0.0:
            first = int(np.argmax(values < 0.0))
            wheel = name.removesuffix("_normal_force")
            warnings.append(f"the ground would have to pull on {wheel} from t = {times[first]:.3f} s: it would lift off")
    return warnings


def _columns(pieces: Sequence[Piece]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for piece in pieces:
        for group in piece.blocks:
            for i, channel in enumerate(group.channels):
                if channel.group == Group.OUTPUTS:
                    found.setdefault(channel.name, []).append((piece.time, group.values[:, i]))
    return [(name, np.concatenate([t for t, _ in parts]), np.concatenate([v for _, v in parts])) for name, parts in found.items()]


__all__ = ["Trajectory", "certify", "compile", "export", "load", "simulate"]

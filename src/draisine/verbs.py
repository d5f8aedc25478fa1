"""The verbs that join the two sides: descriptions and equations on one, kernels and runs on the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.comparison import compare_descriptions
from draisine.equations import derive
from draisine.equations.certificate import Certificate, certify_roads
from draisine.equations.typed.driven import with_laws
from draisine.kernels import Kernel
from draisine.model import Model, System
from draisine.model.amounts import amount_in
from draisine.model.errors import ModelError
from draisine.model.validate import check_numbers
from draisine.program.equations import Equations, Event
from draisine.program.expression import Expr
from draisine.program.program import Program
from draisine.program.solved import Solved
from draisine.results import Trajectory, load
from draisine.results.assembly import Piece, assemble, block, energy_block, power_block, residual_block
from draisine.results.channel import Group
from draisine.results.trajectory import Statistics
from draisine.simulation import EveryStage, Sampled, StartProblem, consistent_start, integrate, prepare
from draisine.simulation.choices import Choices, best_for
from draisine.simulation.methods import Method
from draisine.simulation.names import numbers
from draisine.simulation.run import Run, Segment
from draisine.simulation.stored import stepping_loop

if TYPE_CHECKING:
    import sympy


def _plot(run: Trajectory, *names: str, **options: Any) -> Any:
    """Named channels against time as a Matplotlib figure; see `draisine.view.plot`."""
    from draisine.view import plot

    return plot(run, *names, **options)


# Results know no pictures and pictures no solvers; here, where everything meets, a trajectory learns to draw itself.
Trajectory.plot = _plot  # type: ignore[assignment,method-assign]

SAMPLES_PER_SECOND = 100
MOST_SAMPLES = 20_000

Law = Expr | str | float | int


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
    model: Model | System | Equations, against: Model | System | Equations | None = None, states: int = 12
) -> Certificate:
    """Derive a description by independent roads and compare them at random admissible states.

    With `against` another description of the same mechanism, the two are compared where their names meet: only that can see
    an error in a description itself.
    """
    if against is None:
        if isinstance(model, Equations):
            raise ModelError(
                f"{model.name} is typed by hand, and there is one road to it; describe it a second time and compare: "
                "certify(model, against=equations)"
            )
        return certify_roads(model, states)
    first, second = (m if isinstance(m, Equations) else derive(m) for m in (model, against))
    return compare_descriptions(first, second, states)


def export(
    model: Model | System | Equations | Program | Solved,
    lang: str | Sequence[str] = "c",
    what: str | Sequence[str] = ("dynamics",),
    out: str | Path = ".",
    *,
    start: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write programs of a model, or one program, as source code of other languages; the paths of the files.

    - `lang`: c, fortran, julia, octave (MATLAB too), javascript, rust, python; casadi for a file that CasADi loads; fmu for a
      functional mock-up unit (FMI 3.0, model exchange) of the whole model.
    - `what`: dynamics, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, events, monitor.
    - `start`: wishes for the state in which a functional mock-up unit begins, as in `simulate`.
    """
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
    stepping_loop()  # compiled at its first use on a machine: that belongs to compiling, not to integrating
    return _Prepared(prepare(equations), StartProblem(equations))


@lru_cache(maxsize=64)
def _reporter(equations: Equations) -> Kernel:
    """The compiled report of equations: everything named, at a state."""
    return compile(equations.report)


def simulate(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    samples: ArrayLike | int | None = None,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Move a mechanism from a consistent start for `until` seconds.

    - `start`: wishes by name of coordinates, velocities or outputs; the rest is solved ("wheels on the ground").
    - `parameters`: values by name; the others keep their defaults. Nothing is recompiled.
    - `inputs`: a number, or a law as text or expression of t, states, outputs and parameters, which is compiled in.
    - `control`: u = function(t, x) in Python: `Sampled(function, rate)`, or `EveryStage(function)`, which is slow.
    - `samples`: times wanted, or how many; 100 per second by default.
    - `events`: `Event(name, expression, action)` besides the model's own.

    The result's `status` says how the run ended; what was computed is always there.
    """
    clock = _Clock()
    times = _sample_times(samples, until)
    laws, constants = _split_inputs(inputs or {})
    equations = _equations(model, laws, tuple(events), bool(inputs or control))
    p = _values(equations, parameters)
    if parameters and not isinstance(model, Equations):
        check_numbers(model.freeze() if isinstance(model, Model) else model, parameters)
    clock.lap("derive")
    prepared = _prepared(equations)
    _reporter(equations)
    clock.lap("compile")
    begin = consistent_start(prepared.starts, dict(start or {}), parameters, inputs=constants)
    u = np.array([constants.get(i.name, 0.0) for i in equations.inputs])
    extra = begin.x[len(begin.x) - len(equations.extra_states) :]
    fitting, x0 = best_for(equations, begin.q, begin.v, extra, (0.0, u, p))
    clock.lap("start")
    if control is not None and not isinstance(control, Sampled | EveryStage):
        control = EveryStage(control)
    run = integrate(
        _prepared(fitting).choices,
        x0,
        until,
        parameters=parameters,
        inputs=constants,
        method=method,
        samples=times,
        control=control,
        progress=progress,
    )
    clock.lap("integrate")
    return _trajectory(run, p, clock, equations, str(begin.report))


def _values(equations: Equations, parameters: Mapping[str, float] | None) -> np.ndarray:
    """Parameters in order, those not given at their defaults."""
    return numbers("parameter", equations.parameters, parameters)


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _split_inputs(inputs: Mapping[str, Law]) -> tuple[dict[str, Expr], dict[str, float]]:
    """Laws to compile in, and constants."""
    laws: dict[str, Expr] = {}
    constants: dict[str, float] = {}
    for name, value in inputs.items():
        if isinstance(value, Expr | str):
            laws[name] = amount_in(value, None, f"law of input {name!r}")
        elif callable(value):
            raise ModelError(
                f"input {name!r}: pass a Python function as control=Sampled(function, rate) or control=EveryStage(function)"
            )
        else:
            constants[name] = float(value)
    return laws, constants


def _equations(model: Model | System | Equations, laws: Mapping[str, Expr], events: tuple[Event, ...], driven: bool) -> Equations:
    if isinstance(model, Equations):
        return with_laws(model, laws, events)
    return derive(model, laws, events, work=True if driven else None)


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


def _trajectory(run: Run, p: np.ndarray, clock: _Clock, equations: Equations, start: str) -> Trajectory:
    pieces = [_piece(segment, p) for segment in run.segments if len(segment.times)]
    if not pieces:
        last = run.segments[-1]
        alone = Segment(
            last.equations, np.array([run.final_time]), run.final_state[None, :], np.zeros((1, len(equations.inputs))), last.steps
        )
        pieces = [_piece(alone, p)]
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
        scene={"start": start},
    )


def _piece(segment: Segment, p: np.ndarray) -> Piece:
    """Everything named, at every sample, from the report program."""
    equations = segment.equations
    kernel = _reporter(equations)
    names = [slot.name for slot in equations.report.outputs]
    count = len(segment.times)
    told = dict(zip(names, kernel.map(segment.times[:, None], segment.states, segment.inputs, p), strict=True))
    q = len(equations.coordinates)
    blocks = [
        block(Group.COORDINATES, equations.coordinates, segment.states[:, :q]),
        block(Group.VELOCITIES, equations.velocities, told["v"].reshape(count, -1)),
        block(Group.INPUTS, equations.inputs, told["inputs"].reshape(count, -1)),
        block(Group.OUTPUTS, equations.outputs, told["outputs"].reshape(count, -1)),
        block(Group.MULTIPLIERS, equations.multipliers, told["multipliers"].reshape(count, -1)),
        residual_block(equations.constraints, told["residuals"].reshape(count, -1)),
    ]
    if "energy" in told:  # a first-order system need not have one
        blocks.append(energy_block(*told["energy"].reshape(count, 3).T))
        blocks.append(power_block(equations.inputs, told["power"].reshape(count, -1)))
    return Piece(segment.times, tuple(blocks), independent=equations.independent)


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


__all__ = ["Trajectory", "certify", "compile", "derive", "export", "load", "simulate"]

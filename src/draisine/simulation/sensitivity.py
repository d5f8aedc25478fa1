"""Forward sensitivities: exact derivatives of a motion by parameters, constant inputs and start targets.

The variational equations (`program.variational`) are integrated together with the motion, by the same loop and under the same
error control: the tolerance of a derivative times the size of the varied quantity is that of the state. States are projected
onto their constraints together with their derivatives, by the derivative of the projection, so that the linearized constraints
hold as well. Where a run changes its independent velocities, derivatives are transformed with them. At switches they jump
(`program.varied_switching`, `stepper.saltation`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ArgumentError, StartError
from draisine.program.arguments import refuse_dependent, unknown_name
from draisine.program.equations import USUAL_PROGRAMS, Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.switching import SwitchingEquations
from draisine.program.variational import Direction, jacobian, split, state_names, vary, vary_residual, widen, widen_solved
from draisine.program.varied_switching import vary_switching
from draisine.results.sensitivity import Sensitivity, concatenated
from draisine.results.status import ProgressCallback
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.contact_jumps import ContactJumps
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.initial.result import Start
from draisine.simulation.initial.sensitivities import start_jacobian
from draisine.simulation.methods.selection import Auto, Method, select_method
from draisine.simulation.result import Run, Segment
from draisine.simulation.run import integrate, largest_state, small_scale_atol
from draisine.simulation.sampled_control import Control, Recorded
from draisine.simulation.trajectory_from_run import blocks_of

Reals = NDArray[np.float64]

NEARBY = 1e-6  # relative change of a start target
START = "start."  # prefix of the name of a start target
WORTH_COMPILING = 20_000_000  # interpreted operations after which derivatives of reports are compiled


# ------------------------------------------------------------------------------------------------------------- directions


def directions_of(
    equations: Equations, names: Sequence[str], targets: Mapping[str, Any] | None = None, laws: Sequence[str] = ()
) -> tuple[Direction, ...]:
    """Directions by name: parameters, constant inputs, or start targets, "start.lean", or "lean" if that is unambiguous."""
    parameters, inputs = [p.name for p in equations.parameters], [u.name for u in equations.inputs]
    found = []
    for name in names:
        target = name.removeprefix(START)
        if name in parameters:
            found.append(Direction(name, "p", parameters.index(name)))
        elif name in inputs:
            if name in laws:
                raise ArgumentError(
                    f"sensitivity: the input {name!r} follows a law; differentiate by the parameters of the law instead"
                )
            found.append(Direction(name, "u", inputs.index(name)))
        elif target in (targets or {}):
            found.append(Direction(target, "x"))
        else:
            refuse_dependent(name, equations.dependent_parameters, "sensitivity: ")
            known = [*parameters, *inputs, *(f"{START}{w}" for w in targets or ())]
            raise unknown_name(f"parameter, input or start target of {equations.name}", name, known, equations.left_out)
    if len(set(found)) < len(found):
        raise ArgumentError(f"sensitivity: a name occurs twice among {', '.join(names)}")
    return tuple(found)


def sizes_of(directions: Sequence[Direction], u: Reals, p: Reals, targets: Mapping[str, Any] | None = None) -> Reals:
    """Magnitudes of the varied quantities, one where they are zero."""
    values = {d: u[d.place] if d.slot == "u" else p[d.place] if d.slot == "p" else _target(targets, d.name) for d in directions}
    return np.array([abs(values[d]) or 1.0 for d in directions], dtype=float)


def _target(targets: Mapping[str, Any] | None, name: str) -> float:
    value = (targets or {}).get(name, 1.0)
    return float(getattr(value, "value", value))


# ------------------------------------------------------------------------------------------------------------- equations


@dataclass(frozen=True, eq=False)
class VariedEquations(SwitchingEquations):
    """Variational equations on states (x, S₁, …, S_k), with their base equations."""

    directions: tuple[Direction, ...] = ()

    @property
    def plain(self) -> Equations:
        assert self.base is not None
        return self.base

    @property
    def variations(self) -> int:
        return 0 if isinstance(self.dynamics, DaeResidual) else len(self.directions)

    def translated(self, new: Equations, t: float, x: Reals, u: Reals, p: Reals) -> Reals:
        """The state and its derivatives in another choice of velocities: those of the velocities are ∂v/∂x S + ∂v/∂θ."""
        assert isinstance(new, VariedEquations)
        old, count = self.plain, len(self.plain.states)
        state, (s,) = x[:count], split(x[None], count, len(self.directions))[1]
        found = _reported_jacobian(old, s[None], self.directions, np.array([t]), state[None], u[None], p)
        names, q, r = [v.name for v in old.velocities], len(old.coordinates), len(old.independent)
        speeds = found["v"][0][[names.index(name) for name in new.independent]]
        mapped = np.vstack([s[:q], speeds, s[q + r :]])
        return np.concatenate([old.translated(new.plain, t, state, u, p), mapped.T.reshape(-1)])


@lru_cache(maxsize=32)
def varied(equations: Equations, directions: tuple[Direction, ...]) -> VariedEquations:
    """The equations extended to states (x, S₁, …, S_k), S_j = ∂x/∂θ_j."""
    e, count = equations, len(equations.states)
    more = count * len(directions)
    dynamics: Program | LinearSolveProgram | DaeResidual
    if isinstance(e.dynamics, DaeResidual):
        dynamics = vary_residual(e.dynamics, directions)
    else:
        dynamics = vary(e.dynamics, directions, {"xdot"})
    names = state_names([s.name for s in e.states], directions)[count:]

    def wide(program: Program | None) -> Program | None:
        return None if program is None else widen(program, more)

    def wide_solved(program: Program | LinearSolveProgram) -> Program | LinearSolveProgram:
        return widen(program, more) if isinstance(program, Program) else widen_solved(program, more)

    again = e.with_independent
    known = {f.name: getattr(e, f.name) for f in fields(e)}
    changed = dict(
        name=f"{e.name} with sensitivities",
        dynamics=dynamics,
        report=wide_solved(e.report),
        project=None if e.project is None else _projection_with_errors(vary(e.project, directions, {"x_new"}), count, directions),
        monitor=wide(e.monitor),
        events=None if e.events is None else wide_solved(e.events),
        causes=wide(e.causes),
        extra_states=(*e.extra_states, *(Quantity(name) for name in names)),
        with_independent=None if again is None else lambda choice: varied(again(choice), directions),
        inverse_dynamics=None,
        contact_system=None,  # quicker evaluations of the state alone, as those of usual modes
        **dict.fromkeys(USUAL_PROGRAMS),
    )
    return VariedEquations(**(known | changed), switching=vary_switching(e, directions), base=e, directions=directions)


def _projection_with_errors(
    projection: Program | LinearSolveProgram, count: int, directions: Sequence[Direction]
) -> Program | LinearSolveProgram:
    """The projection, with an error that includes the relative change of the derivatives."""
    program = projection.after if isinstance(projection, LinearSolveProgram) else projection
    arguments = dict(zip((s.name for s in program.inputs), program.symbols(), strict=True))
    x_new, error = program.function.call(list(arguments.values()))
    worst = [error]
    for j, direction in enumerate(directions):
        rows = slice(count * (1 + j), count * (2 + j))
        value = ca.fabs(arguments[direction.slot][direction.place]) if direction.slot != "x" else ca.SX(1)
        size = ca.norm_inf(arguments["x"][rows]) + ca.if_else(value > 0, 1 / value, 1)
        worst.append(ca.norm_inf(x_new[rows] - arguments["x"][rows]) / size)
    made = Program.build(program.name, arguments, {"x_new": x_new, "error": (ca.mmax(ca.vertcat(*worst)), ["error"])})
    return replace(projection, after=made) if isinstance(projection, LinearSolveProgram) else made


@lru_cache(maxsize=32)
def _prepared(equations: Equations, directions: tuple[Direction, ...]) -> VelocityChoices:
    return prepare(varied(equations, directions))


# ------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True, eq=False)
class VariedRun:
    """A run and its derivatives S (samples, states, directions) for each segment; `equations` are those of the start."""

    run: Run
    equations: Equations
    directions: tuple[Direction, ...]

    @property
    def _count(self) -> int:
        return len(self.equations.states)

    def plain(self) -> Run:
        """The run without its derivatives."""

        def narrow(s: Segment) -> Segment:
            at_steps = None if s.at_steps is None else narrow(s.at_steps)
            return s._replace(equations=_plain(s.equations), states=s.states[:, : self._count], at_steps=at_steps)

        segments = tuple(narrow(s) for s in self.run.segments)
        events = tuple(e._replace(state=e.state[: self._count]) for e in self.run.events)
        return replace(self.run, segments=segments, events=events, final_state=self.run.final_state[: self._count])

    def derivatives(self) -> tuple[Reals, ...]:
        """S of each segment."""
        return tuple(split(s.states, self._count, len(self.directions))[1] for s in self.run.segments)

    def reported(self, p: Reals, channels: Sequence[Any]) -> Sensitivity:
        """The derivatives of every channel of the trajectory."""
        e = self.equations
        units = {q.name: q.unit for q in (*e.outputs, *e.coordinates, *e.velocities, *e.extra_states, *e.inputs, *e.parameters)}
        by = [units.get(d.name, "") for d in self.directions]
        pieces = zip(self.plain().segments, self.derivatives(), strict=True)
        parts = [_reported(segment, s, p, self.directions, by) for segment, s in pieces if len(segment.times)]
        return concatenated(parts, channels)

    @property
    def final(self) -> tuple[Reals, Reals]:
        """x and S at the end."""
        x, s = split(self.run.final_state[None], self._count, len(self.directions))
        return x[0], s[0]


def integrate_varied(
    equations: Equations,
    x0: ArrayLike,
    sensitivities0: ArrayLike,
    until: float,
    directions: Sequence[Direction],
    *,
    sizes: ArrayLike | None = None,
    start: float = 0.0,
    parameters: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    method: Method | None = None,
    samples: ArrayLike | None = None,
    control: Control | None = None,
    progress: ProgressCallback | None = None,
    steps_too: bool = False,
) -> VariedRun:
    """Integrate from (x0, S0), S0 (states, directions), like `integrate`; `sizes` of the varied quantities scale S."""
    x, s = np.asarray(x0, dtype=float), np.asarray(sensitivities0, dtype=float)
    if control is not None and not isinstance(control, Recorded):
        raise ArgumentError("sensitivity: a control in Python cannot be differentiated; write it as an expression in inputs=…")
    count = (len(equations.states), len(directions))
    if s.shape != count:
        raise ArgumentError(
            f"{equations.name}: the initial derivatives must have the shape {count[0]} × {count[1]}, got {s.shape}"
        )
    scales = np.ones(count[1]) if sizes is None else np.asarray(sizes, dtype=float)

    def run(method: Method | None) -> VariedRun:
        found = integrate(
            _prepared(equations, tuple(directions)),
            np.concatenate([x, s.T.reshape(-1)]),
            until,
            start=start,
            parameters=parameters,
            inputs=inputs,
            method=toleranced(explicit_method(equations, method), count[0], scales),
            samples=samples,
            control=control,
            progress=progress,
            steps_too=steps_too,
            jumps=lambda memory: ContactJumps(equations, tuple(directions), memory),
        )
        return VariedRun(found, equations, tuple(directions))

    found = run(method)
    if method is None:  # small states: as in `integrate`
        used = select_method(None, equations).method
        atol = small_scale_atol(used, largest_state(found.plain(), x), x)
        if atol is not None and (better := run(Auto(atol=atol))).run.status.kind == found.run.status.kind:
            return better
    return found


def explicit_method(equations: Equations, method: Method | None) -> Method | None:
    """The method of a run with contacts that change their modes: derivatives of forces at the rows of contacts are solved for
    once, which implicit methods would have to differentiate again."""
    if not equations.unilateral:
        return method
    if method is None or isinstance(method, Auto):
        return (method or Auto()).explicit
    if getattr(method, "implicit", False):
        raise ArgumentError(
            f"sensitivity: across modes of the contacts {', '.join(c.name for c in equations.unilateral)} of {equations.name} "
            f"explicit methods compute derivatives, and {type(method).__name__} is implicit; leave out method=, or give DOP853(…)"
        )
    return method


def toleranced(method: Method | None, states: int, sizes: Reals) -> Method:
    """The method with absolute tolerances of the derivatives scaled from those of the states."""
    chosen: Any = method if method is not None else Auto()
    if not hasattr(chosen, "atol"):
        return method if method is not None else Auto()
    atol = np.broadcast_to(np.asarray(chosen.atol, dtype=float), (states,))
    scaled: Method = replace(chosen, atol=tuple(np.concatenate([atol, *(atol / size for size in sizes)]).tolist()))
    return scaled


# ------------------------------------------------------------------------------------------------------------- reported channels


class _ReportJacobian:
    """∂(report)/∂(x, θ), interpreted until compiling pays off."""

    def __init__(self, equations: Equations, directions: tuple[Direction, ...]) -> None:
        self._program = jacobian(equations.report, directions)
        self._kernel: Kernel | None = None
        self._work, self._operations = 0, self._program.operations

    def __call__(self, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        rows, columns = self._program.output("jacobian").shape
        self._work += len(t) * self._operations
        if self._kernel is None and (isinstance(self._program, LinearSolveProgram) or self._work > WORTH_COMPILING):
            self._kernel = compile(self._program)
        if self._kernel is not None:
            return np.asarray(self._kernel.map(t[:, None], x, u, p)[-1]).reshape(len(t), rows, columns)
        assert isinstance(self._program, Program)
        single = self._program.function
        given = [ca.DM(t[None]), ca.DM(x.T), ca.DM(u.T), ca.DM(np.repeat(p[:, None], len(t), axis=1))]
        found = single.map(len(t)).call(given)[-1].full()
        return np.asarray(found).reshape(rows, len(t), columns).transpose(1, 0, 2)


@lru_cache(maxsize=32)
def _report_jacobian(equations: Equations, directions: tuple[Direction, ...]) -> _ReportJacobian:
    return _ReportJacobian(equations, directions)


def _plain(equations: Equations) -> Equations:
    return equations.plain if isinstance(equations, VariedEquations) else equations


def _reported_jacobian(
    e: Equations, s: Reals, directions: tuple[Direction, ...], t: Reals, x: Reals, u: Reals, p: Reals
) -> dict[str, Reals]:
    """Derivatives of the report by slot, (samples, entries, directions)."""
    states = s.shape[1]
    matrix = _report_jacobian(e, directions)(t, x, u, p)
    found = matrix[:, :, :states] @ s
    given = [j for j, d in enumerate(directions) if d.slot != "x"]
    found[:, :, given] += matrix[:, :, states:]
    ends = np.cumsum([slot.size for slot in e.report.outputs])[:-1]
    return dict(zip((slot.name for slot in e.report.outputs), np.split(found, ends, axis=1), strict=True))


def _reported(segment: Segment, s: Reals, p: Reals, directions: tuple[Direction, ...], units: Sequence[str]) -> Sensitivity:
    e, n = segment.equations, len(segment.times)
    reported = _reported_jacobian(e, s, directions, segment.times, segment.states, segment.inputs, p)
    count = len(e.coordinates)
    columns = [blocks_of(e, s[:, :count, j], {k: v[:, :, j] for k, v in reported.items()}) for j in range(len(directions))]
    data = np.stack([np.hstack([block.values for block in blocks]) for blocks in columns], axis=2)
    channels = tuple(channel for block in columns[0] for channel in block.channels)
    return Sensitivity(
        segment.times, channels, tuple(d.name for d in directions), tuple(units), data.reshape(n, len(channels), -1)
    )


def varied_start(
    problem: StartProblem,
    targets: Mapping[str, float | InitialGuess],
    begin: Start,
    equations: Equations,
    directions: Sequence[Direction],
    given: tuple[Mapping[str, float], Mapping[str, float]],
) -> tuple[Reals, tuple[str, ...]]:
    """∂x/∂θ of a consistent start with `given` parameters and inputs, and notes."""
    notes = _start_mode_notes(problem, targets, begin, directions, *given) if equations.unilateral else ()
    return initial_jacobian(problem, targets, begin, equations, directions), notes


def _start_mode_notes(
    problem: StartProblem,
    targets: Mapping[str, float | InitialGuess],
    begin: Start,
    directions: Sequence[Direction],
    parameters: Mapping[str, float],
    inputs: Mapping[str, float],
) -> tuple[str, ...]:
    """Notes on varied start targets beside which contacts begin in other modes: derivatives are those of the present modes."""
    e = problem.equations
    modes, found = _closed_and_sticking(e, begin), []
    for direction in directions:
        if direction.slot != "x":
            continue
        value = _target(targets, direction.name)
        for beside in (value - NEARBY * max(1.0, abs(value)), value + NEARBY * max(1.0, abs(value))):
            try:
                near = consistent_start(problem, {**targets, direction.name: beside}, parameters=parameters, inputs=inputs)
            except StartError:
                near = None
            if near is None or not np.array_equal(_closed_and_sticking(e, near), modes):
                found.append(
                    f"sensitivity: with another start value of {direction.name!r}, contacts of {e.name} begin in other modes or "
                    "penetrate; derivatives are those with the modes of this start"
                )
                break
    return tuple(found)


def _closed_and_sticking(e: Equations, start: Start) -> Reals:
    return start.given[2][len(e.parameters) :].reshape(len(e.unilateral), -1)[:, :2]


def initial_jacobian(
    problem: StartProblem,
    targets: Mapping[str, float | InitialGuess],
    begin: Start,
    equations: Equations,
    directions: Sequence[Direction],
) -> Reals:
    """∂x/∂θ of a consistent start, for equations with any choice of independent velocities."""
    q, v, further = start_jacobian(problem, targets, begin, directions)
    index = {velocity.name: i for i, velocity in enumerate(problem.equations.velocities)}
    return np.vstack([q, v[[index[name] for name in equations.independent]], further])

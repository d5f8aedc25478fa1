"""Adjoint gradient of a cost by controls, duration, parameters and start, at a small multiple of the cost of one simulation.

>>> import sympy as sp
>>> import draisine as dr
>>> x, v, force, mass = sp.symbols("x v force mass")
>>> cart = dr.first_order("cart", {x: v, v: force / mass}, inputs=[force], parameters={mass: 2.0})
>>> far = dr.maneuver(cart).start(x=0, v=0).minimize(final="x")
>>> found = gradient(far, {"force": [1.0, 1.0]}, duration=2.0)
>>> round(found.value, 9), found.controls["force"].round(9).tolist()
(1.0, [0.75, 0.25])
>>> round(found.duration, 9), round(found.parameters["mass"], 9), round(found.start["v"], 9)
(1.0, -0.5, 2.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.optimal.adjoint.across_modes import ModeAdjoint
from draisine.optimal.adjoint.functional import Functional
from draisine.optimal.adjoint.method import Adjoint
from draisine.optimal.maneuver import Cost, OptimalControlProblem
from draisine.optimal.phase_builder import PhaseBuilder, build_phases, equations_of
from draisine.program.arguments import numbers
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.sensitivity import initial_jacobian

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CostGradient:
    """A cost and its derivatives by name.

    `controls` by the value in each piece; `duration`; `parameters`, including their effect on the start; `start` by each initial
    state with the others fixed; `targets` by each target of the start. `costates` are derivatives by the states at `times`, the
    ends of pieces.
    """

    value: float
    controls: Mapping[str, Reals]
    duration: float
    parameters: Mapping[str, float]
    start: Mapping[str, float]
    targets: Mapping[str, float]
    times: Reals
    costates: Mapping[str, Reals]
    steps: int  # of integration in each piece
    notes: tuple[str, ...] = ()  # where derivatives are those of one side

    def switching(self, name: str) -> Reals:
        """∂H/∂u of a control, averaged over each piece: its gradient divided by the length of the piece."""
        return self.controls[name] / np.diff(self.times)


def gradient(
    cost: OptimalControlProblem,
    controls: Mapping[str, ArrayLike],
    *,
    duration: float | None = None,
    breaks: Sequence[float] | None = None,
    method: Adjoint | None = None,
) -> CostGradient:
    """The gradient of the cost of a maneuver, for given controls.

    - `controls`: for each varied input its values in pieces of equal length, or one number for all.
    - `duration` in seconds; not needed if that of the maneuver is fixed.
    - `breaks`: ends of pieces from 0 to 1, if they are not of equal length.
    - `method`: `Adjoint(steps=…, order=…, accuracy=…)`.

    The forward integration steps are differentiated exactly by a backward sweep; all derivatives together take a few times as
    long as the motion, whatever their number. Conditions at the end and bounds of the maneuver are ignored. The first call
    compiles the programs; later calls with the same maneuver and number of pieces reuse them.

    Contacts that stick, slip, open and land change their modes by themselves; costates jump by transposed saltation matrices
    there. `controls` may be empty then, and the steps are adaptive.
    """
    if cost.model.unilateral:
        return _across_modes(cost, controls, duration, breaks, method)
    ready = _prepared(cost, _snapshot(cost.model), tuple(controls), _on_pieces(cost, controls, breaks, method))
    builder, p = ready.builder, ready.builder.p
    functional = replace(ready.functional)  # with its own memory, for calls from several threads
    values = _values(controls, functional)
    seconds = _duration(cost, duration)
    functional = functional.with_settled_steps(seconds, values, p)
    motion = functional.run(seconds, values, p)
    if motion is None:
        raise SolverError(
            f"{builder.equations.name}: with these controls the motion does not stay finite until t = {seconds:g} s"
        )
    found = functional.gradient(motion, seconds, values, p, np.zeros(0))
    states, parameters = [q.name for q in builder.equations.states], [q.name for q in builder.equations.parameters]
    at_start = found.costates[0]
    through_start = at_start @ ready.start_jacobian
    costates = functional.at_breaks(found.costates)
    return CostGradient(
        motion.cost,
        {name: found.inputs[:, i] for i, name in enumerate(functional.phase.controls)},
        found.duration,
        dict(zip(parameters, (found.parameters + through_start[: len(parameters)]).tolist(), strict=True)),
        dict(zip(states, at_start.tolist(), strict=True)),
        dict(zip(builder.problem.targets, through_start[len(parameters) :].tolist(), strict=True)),
        seconds * functional.method.breaks,
        dict(zip(states, costates.T, strict=True)),
        functional.steps,
        functional.warnings,
    )


def _across_modes(
    cost: OptimalControlProblem,
    controls: Mapping[str, ArrayLike],
    duration: float | None,
    breaks: Sequence[float] | None,
    method: Adjoint | None,
) -> CostGradient:
    """The gradient of a run whose contacts stick, slip, open and land by themselves."""
    if any(problem.contact_modes for problem in cost.phases):
        raise ArgumentError("gradient: the run takes its modes by itself; leave out modes(…)")
    swept = _mode_adjoint(_snapshot(cost.model), tuple(controls), cost.cost)
    e, pieces = swept.equations, _on_pieces(cost, controls or {"": 0.0}, breaks, method)
    p = numbers("parameter", e.parameters, cost.known_parameters, e.dependent_parameters, e.left_out)
    inputs = numbers("input", e.inputs, {n: v for n, v in cost.constant_inputs.items() if n not in controls})
    columns = _columns(controls, tuple(controls), len(pieces.breaks) - 1)
    each = np.tile(inputs, (len(columns), 1))
    names, states = [q.name for q in e.inputs], [q.name for q in e.states]
    each[:, [names.index(name) for name in controls]] = columns
    problem, targets = StartProblem(e), dict(cost.targets)
    begin = consistent_start(problem, targets, parameters=p, inputs=each[0])
    directions = [Direction(q.name, "p", i) for i, q in enumerate(e.parameters)] + [Direction(name, "x") for name in targets]
    edges = _duration(cost, duration) * pieces.breaks
    motion = swept.run(begin.x, begin.given[2], edges, each, None if method is None else method.accuracy)
    found = swept.gradient(motion)
    through_start = found.costates[0] @ initial_jacobian(problem, targets, begin, e, directions)
    count = len(e.parameters)
    return CostGradient(
        found.value,
        {name: found.controls[:, i] for i, name in enumerate(controls)},
        float(found.edges @ pieces.breaks),
        dict(zip((q.name for q in e.parameters), (found.parameters + through_start[:count]).tolist(), strict=True)),
        dict(zip(states, found.costates[0].tolist(), strict=True)),
        dict(zip(targets, through_start[count:].tolist(), strict=True)),
        edges,
        dict(zip(states, found.costates.T, strict=True)),
        0,
        motion.notes,
    )


@lru_cache(maxsize=8)
def _mode_adjoint(model: System | Equations, controls: tuple[str, ...], cost: Cost | None) -> ModeAdjoint:
    if cost is None:
        raise ArgumentError(f"{model.name}: the cost is missing; add .minimize('time') or .minimize(integral=…, final=…)")
    e = equations_of(model)
    for name in controls:
        if name not in [q.name for q in e.inputs]:
            raise ArgumentError(f"{e.name} has no input {name!r}{did_you_mean(name, [q.name for q in e.inputs])}")
    return ModeAdjoint(e, controls, cost.integral, cost.final, cost.time)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A prepared maneuver with compiled programs, for all values of the controls."""

    builder: PhaseBuilder
    functional: Functional

    @cached_property
    def start_jacobian(self) -> Reals:
        """∂(initial states)/∂(all parameters, all targets)."""
        e, inputs = self.builder.equations, self.builder.inputs
        targets: dict[str, float | InitialGuess] = dict(self.builder.problem.targets)
        directions = [Direction(q.name, "p", i) for i, q in enumerate(e.parameters)] + [Direction(name, "x") for name in targets]
        problem = StartProblem(e)
        begin = consistent_start(problem, targets, parameters=self.builder.p, inputs=inputs)
        return initial_jacobian(problem, targets, begin, e, directions)


def _snapshot(model: Model | System | Equations) -> System | Equations:
    """A frozen copy of a model."""
    return model.freeze() if isinstance(model, Model) else model


def _on_pieces(
    cost: OptimalControlProblem, controls: Mapping[str, ArrayLike], breaks: Sequence[float] | None, method: Adjoint | None
) -> Adjoint:
    if len(cost.phases) > 1:
        raise ArgumentError(f"gradient: the maneuver has {len(cost.phases)} phases; only one is supported")
    if not controls:
        raise ArgumentError("gradient: give at least one control with its values")
    count = max(np.size(value) for value in controls.values())
    return replace(method or Adjoint(), pieces=count if breaks is None else tuple(float(b) for b in breaks))


@lru_cache(maxsize=8)
def _prepared(cost: OptimalControlProblem, model: System | Equations, controls: tuple[str, ...], method: Adjoint) -> _Prepared:
    constants = {name: value for name, value in cost.constant_inputs.items() if name not in controls}
    alone = replace(
        cost,
        model=model,
        chosen_controls=controls,
        constant_inputs=constants,
        ends=(),
        end_rates=(),
        limits=(),
        path=(),
        unknown_parameters=(),
        period=None,
        start_free=(),
    )
    (builder,), (phase,) = build_phases(alone, [method])
    return _Prepared(builder, Functional.of(phase, builder.start, method, tuple(q.name for q in builder.equations.parameters)))


def _values(controls: Mapping[str, ArrayLike], functional: Functional) -> Reals:
    return _columns(controls, functional.phase.controls, len(functional.method.breaks) - 1)


def _columns(controls: Mapping[str, ArrayLike], names: Sequence[str], pieces: int) -> Reals:
    """(pieces, controls)."""
    columns = [np.zeros((pieces, 0))]
    for name in names:
        value = np.asarray(controls[name], dtype=float)
        if value.shape not in ((), (pieces,)):
            raise ArgumentError(f"gradient: control {name!r} has {value.size} values for {pieces} pieces")
        columns.append(np.broadcast_to(value, (pieces,))[:, None])
    return np.hstack(columns)


def _duration(cost: OptimalControlProblem, given: float | None) -> float:
    low, high = cost.times
    if given is None and low < high:
        raise ArgumentError("gradient: the maneuver leaves its duration free; give duration=…")
    seconds = low if given is None else float(given)
    if not 0.0 < seconds < np.inf:
        raise ArgumentError(f"gradient: duration is a positive number of seconds, got {given!r}")
    return seconds

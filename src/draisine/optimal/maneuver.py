"""A maneuver in the words of the model: where it starts and ends, what must hold on the way, and what is to be small.

    >>> import sympy as sp
    >>> import draisine as dr
    >>> x, v, force = sp.symbols("x v force")
    >>> mass = dr.first_order("mass", {x: v, v: force}, inputs=[force])
    >>> there = maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time")
    >>> found = there.solve(Collocation(intervals=20))
    >>> round(found.duration, 4)
    2.0

A `OptimalControlProblem` never changes; each word gives a new one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.numerics.direct_methods import Collocation
from draisine.optimal.adjoint.method import Adjoint
from draisine.optimal.adjoint.solve import solve_by_adjoint
from draisine.optimal.restore import load
from draisine.optimal.shooting import MultipleShooting
from draisine.optimal.solve import solve
from draisine.program.equations import Equations
from draisine.simulation.initial.problem import InitialGuess

if TYPE_CHECKING:
    from draisine.optimal.guess import Guess
    from draisine.optimal.ipopt import Ipopt, Progress
    from draisine.optimal.solution import Solution
    from draisine.optimal.transcription import Refinement

Range = tuple[float | None, float | None]
Transcription = Collocation | MultipleShooting

SHORTEST, LONGEST = 1e-2, 1e2  # s, of a maneuver whose duration nobody limits


@dataclass(frozen=True)
class Cost:
    """∫ integral dt + final + time × duration."""

    integral: Amount | None = None
    final: Amount | None = None
    time: float = 0.0


@dataclass(frozen=True)
class Joint:
    """How a phase begins where another ends: `joined` states are continuous (None: all that both have), `jump` gives others."""

    joined: tuple[str, ...] | None = None
    jump: Mapping[str, Amount] = field(default_factory=dict)


@dataclass(frozen=True)
class Periodic:
    """Quantities that are the same at both ends; without names all but the `displaced` ones."""

    names: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OptimalControlProblem:
    """A problem of optimal control; see `maneuver`."""

    model: Model | System | Equations
    targets: Mapping[str, float | InitialGuess] = field(default_factory=dict)
    start_free: tuple[str, ...] = ()
    ends: tuple[tuple[str, Amount | Range], ...] = ()  # name → value, range, or a text that is a condition
    end_rates: tuple[tuple[str, float], ...] = ()
    limits: tuple[tuple[str, Range], ...] = ()
    path: tuple[tuple[str, Amount], ...] = ()
    cost: Cost | None = None
    times: tuple[float, float] = (SHORTEST, LONGEST)
    unknown_parameters: tuple[tuple[str, tuple[float, float]], ...] = ()
    known_parameters: Mapping[str, float] = field(default_factory=dict)
    held_inputs: Mapping[str, float] = field(default_factory=dict)
    chosen_controls: tuple[str, ...] = ()
    period: Periodic | None = None
    before: OptimalControlProblem | None = None
    joint: Joint = field(default_factory=Joint)

    # ---------------------------------------------------------------- words

    def start(self, *, free: Sequence[str] = (), **targets: float | InitialGuess) -> OptimalControlProblem:
        """Where it begins: wishes as in `simulate`; the whole state is the consistent start that they lead to.

        `free` names quantities (states or outputs) that the optimiser may choose instead.
        """
        return replace(self, targets={**self.targets, **targets}, start_free=(*self.start_free, *_names(free)))

    def finish(self, *conditions: str, rates: float | None = None, **values: float | Range) -> OptimalControlProblem:
        """Where it ends: values or ranges (low, high) of named quantities, or conditions as text, "speed >= 7".

        With `rates` the time derivatives of the quantities named in the same call have that value as well.
        """
        named = tuple(values.items())
        for name, value in named:
            _check_value(f"finish({name}=…)", value)
        texts = tuple((text, text) for text in conditions)
        new_rates = () if rates is None else tuple((name, float(rates)) for name in values)
        return replace(self, ends=(*self.ends, *named, *texts), end_rates=(*self.end_rates, *new_rates))

    def bounds(self, **ranges: Range) -> OptimalControlProblem:
        """Between which values inputs, states and outputs (forces too) stay all the way; None leaves a side open."""
        for name, pair in ranges.items():
            _check_range(f"bounds({name}=…)", pair)
        return replace(self, limits=(*self.limits, *ranges.items()))

    def along(self, *conditions: str, **named: str) -> OptimalControlProblem:
        """Conditions that hold all the way: texts "left <= right", "left = right" in any names of the model."""
        return replace(self, path=(*self.path, *((text, text) for text in conditions), *named.items()))

    def minimize(
        self, what: str | None = None, *, integral: Amount | None = None, final: Amount | None = None, time: float = 0.0
    ) -> OptimalControlProblem:
        """What is to be small: "time", or the integral of an expression, an expression at the end, and time by its weight."""
        if what is not None and what != "time":
            raise ArgumentError(f"minimize({what!r}): say minimize('time'), or minimize(integral=…, final=…, time=weight)")
        weight = float(time) + (1.0 if what == "time" else 0.0)
        if integral is None and final is None and weight == 0.0:
            raise ArgumentError("minimize(): say what; minimize('time'), or minimize(integral=…, final=…, time=weight)")
        return replace(self, cost=Cost(integral, final, weight))

    def duration(self, least: float, most: float | None = None) -> OptimalControlProblem:
        """How long it takes: one number, or the shortest and the longest."""
        low, high = float(least), float(least if most is None else most)
        if not (0.0 < low <= high < math.inf):
            raise ArgumentError(
                f"duration({least!r}, {most!r}): give a positive number of seconds, or the shortest and the longest"
            )
        return replace(self, times=(low, high))

    def optimize(self, **ranges: tuple[float, float]) -> OptimalControlProblem:
        """Parameters of the model that are chosen together with the controls, between these values."""
        for name, pair in ranges.items():
            low, high = _check_range(f"optimize({name}=…)", pair)
            if not (math.isfinite(low) and math.isfinite(high)):
                raise ArgumentError(f"optimize({name}={pair!r}): both sides must be numbers")
        added = tuple((name, (float(a), float(b))) for name, (a, b) in ranges.items())
        return replace(self, unknown_parameters=(*self.unknown_parameters, *added))

    def parameters(self, **values: float) -> OptimalControlProblem:
        """Parameters that differ from their defaults."""
        return replace(self, known_parameters={**self.known_parameters, **values})

    def inputs(self, **values: float) -> OptimalControlProblem:
        """Inputs that are held at a value."""
        return replace(self, held_inputs={**self.held_inputs, **values})

    def controls(self, *names: str) -> OptimalControlProblem:
        """The inputs to be found. Without this word: those that bounds, cost or conditions name, or else all."""
        return replace(self, chosen_controls=(*self.chosen_controls, *names))

    def periodic(self, *names: str, displaced: Sequence[str] = ()) -> OptimalControlProblem:
        """The named quantities are the same at both ends, and free there; without names, all but the `displaced` ones."""
        return replace(self, period=Periodic(names, _names(displaced)))

    def then(
        self, second: OptimalControlProblem, *, joined: Sequence[str] | None = None, jump: Mapping[str, Amount] | None = None
    ) -> OptimalControlProblem:
        """This maneuver followed by another; their costs add up. States that both have are continuous, or those `joined`; `jump`
        gives states of the second by expressions of what the first ends with."""
        chain = second.phases
        first = replace(chain[0], before=self, joint=Joint(None if joined is None else _names(joined), dict(jump or {})))
        for later in chain[1:]:
            first = replace(later, before=first)
        return first

    @property
    def phases(self) -> tuple[OptimalControlProblem, ...]:
        """All phases in order, the last of them this one."""
        return (*(self.before.phases if self.before is not None else ()), self)

    # ---------------------------------------------------------------- solving

    def solve(
        self,
        method: Transcription | Adjoint | Sequence[Transcription] | None = None,
        *,
        guess: Guess | None = None,
        solver: Ipopt | None = None,
        refine: Refinement | None = None,
        progress: Progress | None = None,
    ) -> Solution:
        """Find the control.

        - `method`: `Collocation(…)` or `Shooting(…)`, one for all phases, or one for each; or `Adjoint(…)`.
        - `guess`: `Straight(…)`, `Held(…)`, `Shaken(…)`, a `Trajectory`, an earlier `Solution`; one for all phases, or for each.
        - `solver`: `Ipopt(tolerance, iterations)`.
        - `refine`: `Refinement(tolerance)` solves again on finer meshes until the error is below it.
        - `progress`: called with (iteration, objective, infeasibility).

        The solution's `status` says how it went; an interruption gives the best that was found so far.
        """
        if isinstance(method, Adjoint):
            if solver is not None or refine is not None:
                raise ArgumentError("Adjoint: it takes no solver= and no refine=; say Adjoint(pieces, steps, descent=Descent(…))")
            return solve_by_adjoint(self, method, guess=guess, progress=progress)
        return solve(self, method or Collocation(), guess=guess, solver=solver, refine=refine, progress=progress)

    def load(self, path: str | os.PathLike[str]) -> Solution:
        """The solution of this maneuver that `solution.save(path)` wrote; it is simulated again, not searched for."""
        return load(self, path)


def maneuver(model: Model | System | Equations) -> OptimalControlProblem:
    """Begin to state a maneuver of a model or of equations: `.start(…)`, `.finish(…)`, `.bounds(…)`, `.along(…)`,
    `.minimize(…)`, `.duration(…)`, `.optimize(…)`, `.periodic(…)`, `.then(…)`, and `.solve()`."""
    return OptimalControlProblem(model)


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _check_range(where: str, pair: object) -> tuple[float, float]:
    """Both sides as numbers, infinite where open."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ArgumentError(f"{where}: give a pair (low, high), None for an open side, got {pair!r}")
    low, high = (side if b is None else float(b) for b, side in zip(pair, (-math.inf, math.inf), strict=True))
    if not low <= high:
        raise ArgumentError(f"{where}: {pair!r} has its low side above its high side")
    return low, high


def _check_value(where: str, value: object) -> None:
    if isinstance(value, tuple | list):
        _check_range(where, value)
    elif not isinstance(value, int | float) or not math.isfinite(value):
        raise ArgumentError(f"{where}: give a number or a pair (low, high), got {value!r}")

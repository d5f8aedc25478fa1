"""Statement of optimal control problems: start, end, bounds, path conditions and cost of a maneuver, by names of the model.

    >>> import sympy as sp
    >>> import draisine as dr
    >>> x, v, force = sp.symbols("x v force")
    >>> mass = dr.first_order("mass", {x: v, v: force}, inputs=[force])
    >>> there = maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time")
    >>> found = there.solve(Collocation(intervals=20))
    >>> round(found.duration, 4)
    2.0

An `OptimalControlProblem` is immutable; each method returns a new one. Numbers may have units, `finish(lean="17 deg")`; these are
checked when the maneuver is solved.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import TYPE_CHECKING

from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.model.system import System
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.numerics.number_range import refuse_huge_integers
from draisine.optimal.adjoint.method import Adjoint
from draisine.optimal.adjoint.solve import solve_by_adjoint
from draisine.optimal.restore import load
from draisine.optimal.solve import solve
from draisine.optimal.stated_numbers import stated_number, stated_range, stated_seconds
from draisine.program.equations import Equations
from draisine.results.channel import HasState, named_start
from draisine.results.status import ProgressCallback
from draisine.simulation.initial.problem import InitialGuess

if TYPE_CHECKING:
    from draisine.optimal.guess import Guess
    from draisine.optimal.ipopt import Ipopt
    from draisine.optimal.refinement import Refinement
    from draisine.optimal.solution import Solution

Range = tuple[float | None, float | None]
DirectMethod = Collocation | MultipleShooting

SHORTEST, LONGEST = 1e-2, 1e2  # s, of a maneuver without limits of its duration


@dataclass(frozen=True)
class Cost:
    """∫ integral dt + final + time × duration."""

    integral: Amount | None = None
    final: Amount | None = None
    time: float = 0.0


@dataclass(frozen=True)
class PhaseLink:
    """Link between two phases: `joined` states are continuous (None: all that both have), `jump` gives expressions for others;
    `impact` names contacts that bounce."""

    joined: tuple[str, ...] | None = None
    jump: Mapping[str, Amount] = field(default_factory=dict)
    impact: Mapping[str, str] = field(default_factory=dict)  # contacts that bounce, with the mode within their impact


@dataclass(frozen=True)
class Periodic:
    """Quantities that are equal at both ends; without names all except the `displaced` ones."""

    names: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OptimalControlProblem:
    """A problem of optimal control; see `maneuver`."""

    model: Model | System | Equations
    targets: Mapping[str, float | InitialGuess] = field(default_factory=dict)
    start_free: tuple[str, ...] = ()
    ends: tuple[tuple[str, Amount | Range], ...] = ()  # name → value, range, or a condition as text
    end_rates: tuple[tuple[str, float], ...] = ()
    limits: tuple[tuple[str, Range], ...] = ()
    path: tuple[tuple[str, Amount], ...] = ()
    cost: Cost | None = None
    times: tuple[float, float] = (SHORTEST, LONGEST)
    times_given: tuple[bool, bool] = (False, False)  # the shortest and the longest; a default limit suits sizes of the statement
    unknown_parameters: tuple[tuple[str, tuple[float, float]], ...] = ()
    known_parameters: Mapping[str, float] = field(default_factory=dict)
    constant_inputs: Mapping[str, float] = field(default_factory=dict)
    chosen_controls: tuple[str, ...] = ()
    period: Periodic | None = None
    contact_modes: Mapping[str, str] = field(default_factory=dict)
    previous: OptimalControlProblem | None = None
    link: PhaseLink = field(default_factory=PhaseLink)

    # ---------------------------------------------------------------- statement

    def start(
        self, state: HasState | Mapping[str, float] | None = None, /, *, free: Sequence[str] = (), **targets: float | InitialGuess
    ) -> OptimalControlProblem:
        """Initial state: targets as in `simulate`, from which a consistent start is computed.

        - `state`: a result that determines a state (a run, a steady motion, …), as in `simulate`; targets replace its values.
        - `free`: names of quantities (states or outputs) that are optimized instead.
        """
        refuse_huge_integers("start", targets)
        given = {**self.targets, **named_start(state), **targets}
        return replace(self, targets=given, start_free=(*self.start_free, *_names(free)))

    def finish(self, *conditions: str, rates: float | None = None, **values: float | Range) -> OptimalControlProblem:
        """Final state: values or ranges (low, high) of named quantities, or conditions as text, "speed >= 7".

        With `rates`, the time derivatives of the quantities named in the same call have that value too.
        """
        refuse_huge_integers("finish", {**values, "rates": rates})
        named = tuple((name, _value_or_range(f"finish({name}=…)", value)) for name, value in values.items())
        texts = tuple((text, text) for text in conditions)
        new_rates = () if rates is None else tuple((name, stated_number(rates, "finish(rates=…)")) for name in values)
        return replace(self, ends=(*self.ends, *named, *texts), end_rates=(*self.end_rates, *new_rates))

    def bounds(self, **ranges: Range) -> OptimalControlProblem:
        """Bounds of inputs, states and outputs (including forces) along the whole motion; None means unbounded."""
        refuse_huge_integers("bounds", ranges)
        added = tuple((name, stated_range(pair, f"bounds({name}=…)")) for name, pair in ranges.items())
        return replace(self, limits=(*self.limits, *added))

    def along(self, *conditions: str, **named: str) -> OptimalControlProblem:
        """Path conditions: texts "left <= right" or "left = right" with any names of the model."""
        return replace(self, path=(*self.path, *((text, text) for text in conditions), *named.items()))

    def minimize(
        self, what: str | None = None, *, integral: Amount | None = None, final: Amount | None = None, time: float = 0.0
    ) -> OptimalControlProblem:
        """Cost: "time", or the integral of an expression, an expression at the end, and time with a weight."""
        if what is not None and what != "time":
            raise ArgumentError(f"minimize({what!r}): use minimize('time'), or minimize(integral=…, final=…, time=weight)")
        refuse_huge_integers("minimize: time", time)
        weight = float(stated_number(time, "minimize(time=…)")) + (1.0 if what == "time" else 0.0)
        if integral is None and final is None and weight == 0.0:
            raise ArgumentError(
                "minimize(): a cost is missing; use minimize('time'), or minimize(integral=…, final=…, time=weight)"
            )
        return replace(self, cost=Cost(integral, final, weight))

    def duration(self, least: float | None, most: float | EllipsisType | None = ...) -> OptimalControlProblem:
        """Duration in seconds: one number, or the shortest and the longest, None for no limit.

        - `least`: the duration, or the shortest if `most` is given.
        - `most`: the longest.
        """
        refuse_huge_integers("duration", (least, None if isinstance(most, EllipsisType) else most))
        fixed = isinstance(most, EllipsisType)
        ends = (least, least) if fixed else (least, most)
        low, high = (
            default if t is None else stated_seconds(t, "duration") for t, default in zip(ends, (SHORTEST, LONGEST), strict=True)
        )
        given = (ends[0] is not None, ends[1] is not None)
        if (fixed and least is None) or not 0.0 < low < math.inf or not 0.0 < high < math.inf or (all(given) and low > high):
            shown = f"{least!r}" if fixed else f"{least!r}, {most!r}"
            raise ArgumentError(
                f"duration({shown}): give a positive number of seconds, or the shortest and the longest, None for no limit"
            )
        return replace(self, times=(low, high), times_given=given)

    def optimize(self, **ranges: tuple[float, float]) -> OptimalControlProblem:
        """Parameters of the model that are optimized together with the controls, between the given bounds."""
        refuse_huge_integers("optimize", ranges)
        added = tuple((name, stated_range(pair, f"optimize({name}=…)")) for name, pair in ranges.items())
        for name, pair in added:
            if not all(map(math.isfinite, pair)):
                raise ArgumentError(f"optimize({name}={pair!r}): both bounds must be finite")
        return replace(self, unknown_parameters=(*self.unknown_parameters, *added))

    def parameters(self, **values: float) -> OptimalControlProblem:
        """Values of parameters that differ from their defaults."""
        refuse_huge_integers("parameters", values)
        return replace(self, known_parameters={**self.known_parameters, **values})

    def inputs(self, **values: float) -> OptimalControlProblem:
        """Constant inputs."""
        refuse_huge_integers("inputs", values)
        return replace(self, constant_inputs={**self.constant_inputs, **values})

    def controls(self, *names: str) -> OptimalControlProblem:
        """The inputs to optimize. By default those named in bounds, cost or conditions; if there are none, all."""
        return replace(self, chosen_controls=(*self.chosen_controls, *names))

    def periodic(self, *names: str, displaced: Sequence[str] = ()) -> OptimalControlProblem:
        """Periodicity: the named quantities are equal at both ends, and free; without names, all except the `displaced` ones."""
        return replace(self, period=Periodic(names, _names(displaced)))

    def modes(self, **modes: str) -> OptimalControlProblem:
        """The modes that contacts have in this phase: "stick", "slip", "slip+", "slip-" or "open"; see docs/contact_optimal.md.

        A phase ends where its modes do. Where a contact lands, velocities jump by its impact.
        """
        return replace(self, contact_modes={**self.contact_modes, **modes})

    def then(
        self,
        second: OptimalControlProblem,
        *,
        joined: Sequence[str] | None = None,
        jump: Mapping[str, Amount] | None = None,
        impact: Mapping[str, str] | None = None,
    ) -> OptimalControlProblem:
        """This maneuver followed by another; costs are added. States that both have are continuous, or only those `joined`;
        `jump` gives initial states of the second by expressions of final quantities of the first. `impact` names contacts that
        are open in both and bounce between them, with their mode within the impact, {"floor": "slip+"}."""
        chain = second.phases
        link = PhaseLink(None if joined is None else _names(joined), dict(jump or {}), dict(impact or {}))
        first = replace(chain[0], previous=self, link=link)
        for later in chain[1:]:
            first = replace(later, previous=first)
        return first

    @property
    def phases(self) -> tuple[OptimalControlProblem, ...]:
        """All phases in order; this one is the last."""
        return (*(self.previous.phases if self.previous is not None else ()), self)

    # ---------------------------------------------------------------- solving

    def solve(
        self,
        method: DirectMethod | Adjoint | Sequence[DirectMethod] | None = None,
        *,
        guess: Guess | None = None,
        solver: Ipopt | None = None,
        refine: Refinement | bool | None = None,
        progress: ProgressCallback | None = None,
    ) -> Solution:
        """Find the optimal control.

        - `method`: `Collocation(…)` or `MultipleShooting(…)`, one for all phases, or one for each; or `Adjoint(…)`. Without it,
          the mesh is chosen and refined (`Refinement()`); with it, the maneuver is solved on the given mesh.
        - `guess`: `LinearGuess(…)`, `ConstantGuess(…)`, `PerturbedGuess(…)`, a `Trajectory`, an earlier `Solution`; one for all
          phases, or for each.
        - `solver`: `Ipopt(tolerance, iterations)`.
        - `refine`: `Refinement(tolerance)` solves again on finer meshes until the error is below it and the simulated motion
          meets its conditions; True: `Refinement()`, False: the first mesh only.
        - `progress`: called with a `Progress` after every iteration (`values`: iteration, objective, violation).

        The solution's `status` describes the outcome: SOLVED if the control, simulated by itself, meets conditions and bounds;
        SOLVED_ON_MESH with what it misses, in the units of the model, if it does not. An interrupted solve returns the best.
        """
        if isinstance(method, Adjoint):
            if solver is not None or refine:
                raise ArgumentError("Adjoint: takes no solver= and no refine=; use Adjoint(pieces, steps, descent=Descent(…))")
            return solve_by_adjoint(self, method, guess=guess, progress=progress)
        return solve(self, method, guess=guess, solver=solver, refine=refine, progress=progress)

    def load(self, path: str | os.PathLike[str]) -> Solution:
        """Load the solution of this maneuver from a file of `solution.save(path)`; it is simulated again, not solved again."""
        return load(self, path)


def maneuver(model: Model | System | Equations) -> OptimalControlProblem:
    """State an optimal control problem for a model or equations: `.start(…)`, `.finish(…)`, `.bounds(…)`, `.along(…)`,
    `.minimize(…)`, `.duration(…)`, `.optimize(…)`, `.periodic(…)`, `.modes(…)`, `.then(…)`, and `.solve()`."""
    return OptimalControlProblem(model)


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _value_or_range(where: str, given: object) -> float | tuple[float, float]:
    if isinstance(given, tuple | list):
        return stated_range(given, where)
    value = stated_number(given, where)
    if not math.isfinite(value):
        raise ArgumentError(f"{where}: give a finite number or a pair (low, high), got {given!r}")
    return value

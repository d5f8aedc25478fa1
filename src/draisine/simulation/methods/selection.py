"""Selection of the integration method: the automatic method `Auto`, checks of the method given, and switching on stiffness.

A run that switched to an implicit method checks the spectral radius ρ of ∂f/∂x at intervals. Where the steps required by accuracy
keep h ρ small, the explicit method could make the same steps well within its stability limit, at a fraction of the cost. After a
return that did not last the threshold is lowered, so that a run at the limit does not switch back and forth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.numerics.number_range import with_number_range
from draisine.program.equations import FIXED_STEP_RESIDUAL, Equations, RunLimits
from draisine.program.program import DaeResidual
from draisine.results.status import time_text
from draisine.simulation import methods
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.tableau import SteppingMethod, check_settings

if TYPE_CHECKING:
    from draisine.simulation.compiled_equations import CompiledForm
    from draisine.simulation.methods.radau import Radau


@with_number_range
@dataclass(frozen=True)
class Auto:
    """DOP853 for ẋ = f where it is not stiff, Radau where it is; Radau for 0 = F(t, x, ẋ). The run reports the choice.

    >>> Auto(rtol=1e-6).explicit.order, Auto().implicit.order
    (8, 5)
    """

    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def explicit(self) -> DOP853:
        return DOP853(self.rtol, self.atol, self.first_step, self.max_step, self.max_steps)

    @property
    def implicit(self) -> Radau:
        return methods.Radau(self.rtol, self.atol, first_step=self.first_step, max_step=self.max_step, max_steps=self.max_steps)


Method = SteppingMethod | Auto

# methods for 0 = F(t, x, ẋ), by index
FOR_IMPLICIT = {1: "Radau, ESDIRK23, Gauss, IDA or Auto", 2: "Radau, ESDIRK23 or Auto", 3: "Radau or Auto"}


class MethodChoice(NamedTuple):
    """The selected method, the reason, and the method to switch to if the equations are stiff."""

    method: SteppingMethod
    reason: str  # "" if it was given
    if_stiff: Auto | None = None  # its implicit method

    @property
    def description(self) -> str:
        return f"{method_title(self.method)}: {self.reason}" if self.reason else f"{method_title(self.method)}, as given"


def select_method(method: Method | None, equations: Equations) -> MethodChoice:
    """The method for these equations; ArgumentError if the given one cannot solve them."""
    dynamics = equations.dynamics
    if method is not None and (isinstance(method, type) or not (hasattr(method, "scheme") or isinstance(method, Auto))):
        raise ArgumentError(
            f"method={method!r} is not a method; give an object such as DOP853(), RK4(step=0.01), Radau(), Gauss(), ESDIRK23(), "
            "CVODE(), IDA() or Auto()"
        )
    if method is None or isinstance(method, Auto):
        auto = method if method is not None else Auto()
        if isinstance(dynamics, DaeResidual):
            return MethodChoice(auto.implicit, f"the equations are given as 0 = F(t, x, ẋ), {_makeup(dynamics)}")
        return MethodChoice(auto.explicit, "the equations have the form ẋ = f and are not stiff", auto)
    if isinstance(dynamics, DaeResidual):
        _check_fit(method, equations.name, dynamics)
    if equations.unilateral and method.scheme.external:
        contacts = ", ".join(contact.name for contact in equations.unilateral)
        raise ArgumentError(
            f"{equations.name}: its contacts {contacts} open and slip, and {type(method).__name__} does not restart where they "
            "do; methods that work are DOP853, Radau, Gauss, ESDIRK23 and those with fixed steps"
        )
    return MethodChoice(method, "")


def _check_fit(method: SteppingMethod, system: str, dynamics: DaeResidual) -> None:
    name, index = type(method).__name__, max(dynamics.index, default=1)
    if not method.implicit:
        raise ArgumentError(
            f"{system} is given as 0 = F(t, x, ẋ), {_makeup(dynamics)}; {name} needs ẋ = f. Methods that work are "
            f"{FOR_IMPLICIT[index]}"
        )
    highest = getattr(method, "highest_index", 3)
    if index > highest:
        raise ArgumentError(
            f"{system} has unknowns of index {index}; {name} takes index {highest} at most. Radau takes index 3; or reduce the "
            "index first (reduce_index)"
        )


def detects_stiffness(method: SteppingMethod) -> bool:
    """Whether stiffness can be detected: the test is for the stages of DOP853."""
    return isinstance(method, DOP853)


def check_atol(method: SteppingMethod, equations: Equations) -> None:
    """Refuse absolute tolerances that are neither one number nor one per state."""
    count = np.asarray(getattr(method, "atol", 0.0)).size
    if count not in (1, len(equations.states)):
        names = ", ".join(q.name for q in equations.states)
        raise ArgumentError(f"{equations.name}: atol has {count} numbers; give one, or one for each of {names}")


def check_step(method: SteppingMethod, start: float, until: float) -> None:
    """Refuse a fixed step that is below the rounding of the run's times: its steps cannot be counted, nor the time advance."""
    step = None if method.adaptive else getattr(method, "step", None)
    latest = max(abs(start), abs(until))
    if step is not None and start != until and step < np.spacing(latest):
        raise ArgumentError(
            f"{type(method).__name__}: the step of {step:g} s is lost beside times of {latest:g} s, which are multiples of "
            f"{np.spacing(latest):.2g} s; give a longer step, or a method that chooses its steps, such as DOP853()"
        )


def check_samples(samples: ArrayLike | None, start: float, until: float) -> NDArray[np.float64] | None:
    """The output times as an array; refuse those that are not in the order of the run, or outside of it."""
    if samples is None:
        return None
    times = np.asarray(samples, dtype=float).reshape(-1)
    sign = 1.0 if until >= start else -1.0
    order = "increase" if sign > 0 else "decrease, because the run goes backwards"
    gaps = np.flatnonzero(~(sign * np.diff(times) > 0.0))
    if gaps.size:
        raise ArgumentError(f"samples must {order}; after t = {times[gaps[0]]:g} comes t = {times[gaps[0] + 1]:g}")
    outside = times[~((sign * (times - start) >= 0.0) & (sign * (until - times) >= 0.0))]
    if outside.size:
        raise ArgumentError(f"samples must lie between start = {start:g} and until = {until:g}; t = {outside[0]:g} does not")
    return times


def projection_threshold(method: SteppingMethod) -> float:
    """The residual above which the state is projected onto its constraints: a tenth of the tolerance.

    Multistep methods restart when the state is projected, so their threshold is larger.
    """
    if not method.adaptive:
        return FIXED_STEP_RESIDUAL
    share = 100.0 if method.scheme.external else 0.1
    return share * (float(getattr(method, "rtol", 0.0)) + float(np.min(getattr(method, "atol", 0.0))))


def broken_threshold(limits: RunLimits, threshold: float) -> float:
    """The residual at which a run ends because projections to `threshold` did not help: a thousand times that, within a millionth
    and a hundredth of the typical length."""
    if not limits.monitored:
        return math.inf
    return min(max(1e3 * threshold, 1e-6 * limits.length), max(1e-2 * limits.length, 10.0 * threshold))


def residual_limit(limits: RunLimits, threshold: float, method: SteppingMethod) -> float:
    """The residual at which a run with projections to `threshold`, or to that of the method, would end."""
    return broken_threshold(
        limits._replace(monitored=True), threshold if np.isfinite(threshold) else projection_threshold(method)
    )


def method_title(method: SteppingMethod) -> str:
    """The name of a method for messages."""
    name, step = type(method).__name__, getattr(method, "step", None)
    text = f"{name} of order {method.order}" if hasattr(method, "stages") else name
    return f"{text} with a fixed step" if step is not None else text


def _makeup(form: DaeResidual) -> str:
    algebraic = [label for label, d in zip(_labels(form), form.differential, strict=True) if not d]
    index = max(form.index, default=1)
    if not algebraic:
        return "all of its unknowns differential"
    some = f"with {', '.join(algebraic[:4])}{', …' if len(algebraic) > 4 else ''} algebraic"
    return some if index == 1 else f"{some} and an index of {index}"


def _labels(form: DaeResidual) -> tuple[str, ...]:
    slot = form.residual.input("x")
    return slot.labels or tuple(f"unknown {i + 1}" for i in range(slot.size))


Reals = NDArray[np.float64]

MAX_UNKNOWNS = 200  # above which eigenvalues are not computed; such runs stay with the implicit method
NONSTIFF_LIMIT = 2.0  # h ρ below which the explicit method is used; its stability limit is about 6
CHECKS_NEEDED = 3  # consecutive checks needed
WORTHWHILE_STEPS = 60  # explicit steps after which a return was worthwhile
TIGHTENING = 0.5  # factor on the limit after a return that was not
MOST_LISTED = 4  # changes that are listed one by one


def spectral_radius(form: CompiledForm, t: float, y: Reals, u: Reals, p: Reals) -> float:
    """ρ(∂f/∂x) of ẋ = f from the Jacobians of its residual; unknowns besides the states are eliminated."""
    n, (rows, columns) = form.form.size, form.form.pattern
    by_state, _ = form.jacobian([t], y, np.zeros(n), u, p)
    slope = np.zeros((n, n))
    slope[rows, columns] = by_state.ravel()
    moving = form.differential.astype(bool)
    found = slope[np.ix_(moving, moving)]
    if not moving.all():
        rest = ~moving
        try:
            found = found - slope[np.ix_(moving, rest)] @ np.linalg.solve(slope[np.ix_(rest, rest)], slope[np.ix_(rest, moving)])
        except np.linalg.LinAlgError:
            return np.inf
    return float(np.abs(np.linalg.eigvals(found)).max(initial=0.0)) if np.isfinite(found).all() else np.inf


@dataclass
class NonstiffChecks:
    """Counts consecutive checks at which stability would not have limited an explicit method."""

    limit: float = NONSTIFF_LIMIT
    seen: int = 0
    since: int = 0  # accepted steps of the run at the last return to the explicit method

    def check(self, step: float, rate: float) -> bool:
        """Whether enough consecutive checks were nonstiff, this one included."""
        self.seen = self.seen + 1 if abs(step) * rate < self.limit else 0
        return self.seen >= CHECKS_NEEDED

    def returned(self, accepted: int) -> None:
        """Record a return to the explicit method after this number of accepted steps."""
        self.since, self.seen = accepted, 0

    def left(self, accepted: int) -> None:
        """Record that the explicit method became stiff again."""
        self.limit = NONSTIFF_LIMIT if accepted - self.since >= WORTHWHILE_STEPS else self.limit * TIGHTENING


@dataclass
class MethodChanges:
    """The methods of one run, and the end time of each."""

    intervals: list[tuple[SteppingMethod, float]] = field(default_factory=list)
    limited: float = 0.0  # the last step of the explicit method that stability limited

    def add(self, method: SteppingMethod, until: float) -> None:
        self.intervals.append((method, until))

    def description(self, now: SteppingMethod) -> str:
        stiff = f"stability and not accuracy limited the steps to {abs(self.limited):.2g} s"
        if len(self.intervals) > MOST_LISTED:
            names = " and ".join(dict.fromkeys(method_title(m) for m, _ in self.intervals))
            when = time_text(self.intervals[-1][1])
            return (
                f"{names} in turn, {len(self.intervals)} changes, the last to {method_title(now)} at {when}: the equations are "
                f"stiff in parts, where {stiff}"
            )
        listed = ", ".join(f"{method_title(m)} up to {time_text(t)}" for m, t in self.intervals)
        if len(self.intervals) % 2:
            return f"{listed}, then {method_title(now)}: the equations are stiff, {stiff}"
        return f"{listed}, then {method_title(now)} again: the equations are stiff in between, where {stiff}"

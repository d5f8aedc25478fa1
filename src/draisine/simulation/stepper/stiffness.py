"""Whether an implicit method is still needed, and the account of changes between methods.

A run that changed over to an implicit method looks at the fastest rate of the equations now and then, the spectral radius ρ of
∂f/∂x. Where the steps that accuracy asks for keep h ρ small, the explicit method could make the same steps well within its border
of stability, at a fraction of the cost. A return that did not last asks for a calmer stretch the next time, so that a run at the
border does not go to and fro.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from draisine.simulation.compiled_equations import CompiledForm
from draisine.simulation.methods.selection import title
from draisine.simulation.methods.tableau import SteppingMethod
from draisine.simulation.result import moment

Reals = NDArray[np.float64]

MOST_UNKNOWNS = 200  # of which eigenvalues are asked for; larger systems stay with the implicit method
CALM = 2.0  # h ρ below which the explicit method serves; its border of stability is about 6
LOOKS = 3  # times in a row that it must be so
LASTING = 60  # steps of the explicit method for which a return was worth its while
STRICTER = 0.5  # what is asked for is multiplied by it after a return that was not
REPORTED = 4  # changes that are told one by one


def fastest_rate(form: CompiledForm, t: float, y: Reals, u: Reals, p: Reals) -> float:
    """ρ(∂f/∂x) of ẋ = f from the Jacobians of its residual; unknowns besides the states, of linear systems, are eliminated."""
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
class Calm:
    """Counts looks at which stability would not have limited an explicit method."""

    limit: float = CALM
    seen: int = 0
    since: int = 0  # accepted steps of the run when the explicit method was last taken

    def look(self, step: float, rate: float) -> bool:
        """Whether it was calm for long enough, this look included."""
        self.seen = self.seen + 1 if abs(step) * rate < self.limit else 0
        return self.seen >= LOOKS

    def returned(self, accepted: int) -> None:
        """The explicit method has been taken again, after so many accepted steps of the run."""
        self.since, self.seen = accepted, 0

    def left(self, accepted: int) -> None:
        """The explicit method has met stiffness again."""
        self.limit = CALM if accepted - self.since >= LASTING else self.limit * STRICTER


@dataclass
class Changes:
    """Methods of one run, and until when each was used."""

    legs: list[tuple[SteppingMethod, float]] = field(default_factory=list)
    limited: float = 0.0  # the step to which stability limited the explicit method, when it last did

    def add(self, method: SteppingMethod, until: float) -> None:
        self.legs.append((method, until))

    def account(self, now: SteppingMethod) -> str:
        stiff = f"stability and not accuracy limited the steps to {abs(self.limited):.2g} s"
        if len(self.legs) > REPORTED:
            names = " and ".join(dict.fromkeys(title(m) for m, _ in self.legs))
            when = moment(self.legs[-1][1])
            return (
                f"{names} in turn, {len(self.legs)} changes, the last to {title(now)} at {when}: the equations are stiff in "
                f"parts, where {stiff}"
            )
        reported = ", ".join(f"{title(m)} up to {moment(t)}" for m, t in self.legs)
        if len(self.legs) % 2:
            return f"{reported}, then {title(now)}: the equations proved stiff, {stiff}"
        return f"{reported}, then {title(now)} again: the equations are stiff in between, where {stiff}, and stiffness had passed"

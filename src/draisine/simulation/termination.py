"""How a run ended, in words: what happened to which quantity at what time, and what to do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from draisine.errors import ModelError
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.results.status import Ending, Status
from draisine.simulation.compiled_equations import implicit_form
from draisine.simulation.methods.tableau import SteppingMethod
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import Memory


class Situation(NamedTuple):
    """A run at its end."""

    memory: Memory
    equations: Equations
    method: SteppingMethod
    span: tuple[float, float]
    failure: BaseException | None

    @property
    def now(self) -> str:
        return moment(float(self.memory.stepper.t))

    @property
    def culprit(self) -> str:
        names = [q.name for q in self.equations.states]
        place = int(self.memory.stepper.culprit)
        return names[place] if place < len(names) else "the accelerations"  # unknowns that only the equations know


def moment(t: float) -> str:
    """A time as it is said."""
    return f"t = {t:.6g} s"


def describe(s: Situation, reason: int | None) -> Status:
    """The status for the loop's reason to come back; None stands for an interruption."""
    if reason is None or isinstance(s.failure, KeyboardInterrupt):
        return Status(Ending.INTERRUPTED, f"stopped by the user at {s.now} of {s.span[1]:g} s; everything up to there is kept")
    tellers = {
        layout.REACHED: _finished,
        layout.STOPPED: _event,
        layout.SWITCH: _singular,
        layout.NOT_FINITE: _not_finite,
        layout.STEP_TOO_SMALL: _too_small,
        layout.TOO_MANY_STEPS: _too_many,
        layout.ABORTED: _control_failed,
        layout.UNSOLVED: _unsolved,
        layout.UNDETERMINED: lambda s: Status(Ending.SINGULAR, f"{_undetermined(s)} at {s.now}"),
    }
    return tellers[reason](s)


def _finished(s: Situation) -> Status:
    return Status(Ending.FINISHED, f"reached {s.now}")


def _event(s: Situation) -> Status:
    event = s.equations.event_list[int(s.memory.stepper.happening)]
    return Status(Ending.EVENT, f"{event.name}: {event.description or event.expression} at {s.now}")


def _singular(s: Situation) -> Status:
    condition = float(s.memory.stepper.condition)
    size = f"{condition:.2g}" if np.isfinite(condition) else "infinite"
    others = "no other choice is better there" if s.equations.alternates else "there is no other choice to switch to"
    return Status(
        Ending.SINGULAR,
        f"{_cause(s)} at {s.now}: the condition is {size} (limit {s.equations.limits.condition:g}) and {others}; "
        "stop before by an event, or start elsewhere",
    )


def _cause(s: Situation) -> str:
    """What is singular, in words: the largest of what the condition is made of."""
    if s.equations.causes is None:
        return f"the independent velocities ({', '.join(s.equations.independent)}) lose their meaning"
    program = s.equations.causes
    (values,) = program([s.memory.stepper.t], s.memory.state, s.memory.inputs, s.memory.parameters)
    return program.output("value").labels[int(np.argmax(np.nan_to_num(values, nan=np.inf)))]


def _not_finite(s: Situation) -> Status:
    stepper = s.memory.stepper
    what = {0: f"the derivative of {s.culprit}", 1: s.culprit, 2: _equation(s)}[int(stepper.culprit_is_state)]
    if stepper.accepted == 0:
        advice = "look for a division by zero or the root of a negative number at the start, or a parameter that makes one"
    elif s.method.adaptive:
        advice = "shorter steps did not help: the equations have a pole or leave the domain of a root, logarithm or table there"
    else:
        advice = f"the fixed step of {s.method.__class__.__name__} may be too long here; try a tenth of it, or DOP853"
    return Status(Ending.NOT_FINITE, f"{what} is not a finite number at {moment(float(stepper.bad_time))}; {advice}")


def _too_small(s: Situation) -> Status:
    return Status(
        Ending.STEP_TOO_SMALL,
        f"the step shrank to rounding error at {s.now} because of {s.culprit}; the motion is singular, discontinuous or very "
        "stiff there: smooth the jump, make it an event, or loosen rtol and atol",
    )


def _equation(s: Situation) -> str:
    """The equation that is to blame, by its name if it has one."""
    place = int(s.memory.stepper.culprit)
    if not isinstance(s.equations.dynamics, DaeResidual):
        return f"the derivative of {s.culprit}"
    labels = s.equations.dynamics.residual.output("residual").labels
    return f"the residual of {labels[place]!r}" if place < len(labels) else f"a residual of {s.equations.name}"


def _unsolved(s: Situation) -> Status:
    """Newton's iteration failed, whatever the step."""
    stepper, name = s.memory.stepper, type(s.method).__name__
    if stepper.trouble == layout.SINGULAR_MATRIX:
        what = "the equations of a step are singular"
        cure = "an unknown that nothing determines, a redundant constraint, or an index above what is declared would do that"
    else:
        what = "the equations of a step could not be solved"
        cure = "the motion may end, branch or jump there; look at the state it reached"
    if s.method.adaptive:
        return Status(Ending.STEP_TOO_SMALL, f"{what} at {s.now} by {name}, however short the step; {cure}")
    return Status(
        Ending.STEP_TOO_SMALL, f"{what} at {s.now} with the fixed step of {name}; try a tenth of it, or no `step`; {cure}"
    )


def undetermined(s: Situation) -> ModelError:
    """The error for a start whose equations do not determine it."""
    return ModelError(
        f"{_undetermined(s)}. Either their index is above 1: declare that of each unknown (Implicit(…, index=…)) and run by "
        "Radau, or reduce it first (reduce_index). Or rates enter in fixed combinations only: make such a combination an unknown"
    )


def _undetermined(s: Situation) -> str:
    place = int(s.memory.stepper.culprit)
    rate = implicit_form(s.equations.dynamics).differential[place]
    what = f"the rate of {s.culprit}" if rate else s.culprit
    return f"{s.equations.name}: {what} does not follow from the equations as they stand"


def _too_many(s: Situation) -> Status:
    return Status(
        Ending.TOO_MANY_STEPS,
        f"{s.method.max_steps} steps were used up at {s.now} of {s.span[1]:g} s; raise max_steps, loosen the tolerance, or look "
        "for a fast motion that forces small steps",
    )


def _control_failed(s: Situation) -> Status:
    error = s.failure
    said = f"{type(error).__name__}: {error}" if error is not None else "an unknown error"
    return Status(
        Ending.CONTROL_FAILED,
        f"the control function failed with {said} after {s.now}; everything up to there is kept, and run.failure "
        "has the exception",
    )

"""How a run ended, in words: what happened to which quantity at what time, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.program.equations import Equations
from draisine.results.status import Ending, Status
from draisine.simulation import layout
from draisine.simulation.memory import Memory
from draisine.simulation.methods import Method


@dataclass(frozen=True)
class Situation:
    """A run at its end."""

    memory: Memory
    equations: Equations
    method: Method
    span: tuple[float, float]
    failure: BaseException | None

    @property
    def now(self) -> str:
        return moment(float(self.memory.block.t))

    @property
    def culprit(self) -> str:
        return self.equations.states[int(self.memory.block.culprit)].name


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
    }
    return tellers[reason](s)


def _finished(s: Situation) -> Status:
    return Status(Ending.FINISHED, f"reached {s.now}")


def _event(s: Situation) -> Status:
    event = s.equations.event_list[int(s.memory.block.happening)]
    return Status(Ending.EVENT, f"{event.name}: {event.about or event.expression} at {s.now}")


def _singular(s: Situation) -> Status:
    condition = float(s.memory.block.condition)
    size = f"{condition:.2g}" if np.isfinite(condition) else "infinite"
    others = "no other choice is better there" if s.equations.alternates else "there is no other choice to switch to"
    return Status(
        Ending.SINGULAR,
        f"{_cause(s)} at {s.now}: the condition is {size} (limit {s.equations.condition_limit:g}) and {others}; "
        "stop before by an event, or start elsewhere",
    )


def _cause(s: Situation) -> str:
    """What is singular, in words: the largest of what the condition is made of."""
    if s.equations.causes is None:
        return f"the independent velocities ({', '.join(s.equations.independent)}) lose their meaning"
    arrays = s.memory.arrays
    program = s.equations.causes
    (values,) = program([s.memory.block.t], s.memory.state, arrays["inputs_at"], arrays["parameters"])
    return program.output("value").labels[int(np.argmax(np.nan_to_num(values, nan=np.inf)))]


def _not_finite(s: Situation) -> Status:
    block = s.memory.block
    what = s.culprit if block.culprit_is_state else f"the derivative of {s.culprit}"
    if block.accepted == 0:
        advice = "look for a division by zero or the root of a negative number at the start, or a parameter that makes one"
    elif s.method.adaptive:
        advice = "shorter steps did not help: the equations have a pole or leave the domain of a root, logarithm or table there"
    else:
        advice = f"the fixed step of {s.method.__class__.__name__} may be too long here; try a tenth of it, or DOP853"
    return Status(Ending.NOT_FINITE, f"{what} is not a finite number at {moment(float(block.bad_time))}; {advice}")


def _too_small(s: Situation) -> Status:
    return Status(
        Ending.STEP_TOO_SMALL,
        f"the step shrank to rounding error at {s.now} because of {s.culprit}; the motion is singular, discontinuous or very "
        "stiff there: smooth the jump, make it an event, or loosen rtol and atol",
    )


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

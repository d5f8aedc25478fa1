"""Why a run has ended: the status, from the last state and the reason of the stepping loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from draisine.errors import ModelError
from draisine.program.equations import Equations, Event
from draisine.program.linear_solve import implicit_form
from draisine.program.program import DaeResidual
from draisine.results.status import Ending, Status, time_text
from draisine.simulation.friction_lock import locked_by_friction
from draisine.simulation.methods.tableau import SteppingMethod
from draisine.simulation.singular_passage import has_loops
from draisine.simulation.singular_position import singular_position
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.contact_layout import (
    ENDLESS,
    INCONSISTENT,
    INDETERMINATE,
    PENETRATED,
    SINGULAR_MASS,
    UNDECIDED,
    UNENDED,
)
from draisine.simulation.stepper.memory import Memory

SMOOTHER = "tanh(x/width) for sign(x) with max_step below the time in which the width is passed"


class FinalState(NamedTuple):
    """The end of a run, from which its status is determined."""

    memory: Memory
    equations: Equations
    method: SteppingMethod
    span: tuple[float, float]
    failure: BaseException | None
    surfaces: tuple[str, ...] = ()  # names of the switching function of each margin

    @property
    def at_time(self) -> str:
        return time_text(float(self.memory.stepper.t))

    @property
    def failed_name(self) -> str:
        names = [q.name for q in self.equations.states]
        index = int(self.memory.stepper.failed_index)
        return names[index] if index < len(names) else "the accelerations"  # further unknowns of the implicit form


UNBOUNDED = 30.0  # times the largest other force, of a normal force that grows without bound


def describe(s: FinalState, reason: int | None) -> Status:
    """The status for the loop's reason to return; None stands for an interruption."""
    if reason is None or isinstance(s.failure, KeyboardInterrupt):
        return Status(Ending.INTERRUPTED, f"stopped by the user at {s.at_time} of {s.span[1]:g} s; results up to then are kept")
    if reason in (layout.NOT_FINITE, layout.STEP_TOO_SMALL, layout.UNSOLVED) and s.equations.unilateral:
        if names := _unbounded_contacts(s):
            return _locked(s, f"normal forces grow without bound, friction locks {', '.join(names)}", names)
        if names := [s.equations.unilateral[i].name for i in locked_by_friction(s.memory.stepper)]:
            return _locked(s, f"friction locks {', '.join(names)} as they slip, their forces are not determined", names)
    descriptions = {
        layout.REACHED: _finished,
        layout.PAUSED: _finished,
        layout.STOPPED: _event,
        layout.SWITCH: _singular,
        layout.BROKEN: _broken,
        layout.NOT_FINITE: _not_finite,
        layout.STEP_TOO_SMALL: _too_small,
        layout.TOO_MANY_STEPS: _too_many,
        layout.ABORTED: _control_failed,
        layout.UNSOLVED: _unsolved,
        layout.AMBIGUOUS: _ambiguous,
        layout.ACCUMULATED: _accumulated,
        layout.CONTACT_UNSOLVED: _contact_unsolved,
        layout.UNDETERMINED: lambda s: Status(Ending.SINGULAR, f"{_undetermined(s)} at {s.at_time}"),
    }
    return descriptions[reason](s)


def _contact_unsolved(s: FinalState) -> Status:
    """No mode of the contacts satisfies the laws of friction and impact, or several do."""
    modes, names = s.memory.stepper.modes, [c.name for c in s.equations.unilateral]
    involved = [name for name, active in zip(names, modes.active, strict=True) if active]
    closed = ", ".join(involved)
    if modes.outcome == INDETERMINATE:
        rubs = _rubs(s, involved)
        which = "with this friction have several motions (Painlevé's paradox)" if rubs else "have several motions"
        return Status(
            Ending.CONTACT_INDETERMINATE,
            f"at {s.at_time} rigid bodies {which}: {closed} may stay in contact or not; give "
            f"{'less friction, or compliance' if rubs else 'compliance'}",
        )
    if modes.outcome == SINGULAR_MASS:
        return Status(
            Ending.SINGULAR,
            f"at {s.at_time} the masses do not determine the accelerations of {s.equations.name}; give mass, and moments of "
            "inertia about all axes, to every body that moves freely",
        )
    if modes.outcome == INCONSISTENT and modes.driven and all(_never_slips(s, name) for name in involved):
        return Status(
            Ending.CONTACT_INCONSISTENT,
            f"at {s.at_time} contacts {closed} have infinite friction, but what they touch moves so that rigid bodies cannot "
            "stick to it there; give finite friction, compliance, or another motion of the ground",
        )
    if modes.outcome == INCONSISTENT:
        law = f"law of friction of {closed}" if _rubs(s, involved) else f"contacts {closed} and the other constraints together"
        cure = "less friction, or compliance" if modes.without_collision else LOCKED_CURE
        return _locked(s, f"no motion of rigid bodies satisfies the {law}", involved, cure)
    if modes.outcome == PENETRATED:
        depth = -float(modes.gap[names.index(closed)])
        return Status(
            Ending.CONTACT_UNDECIDED,
            f"at {s.at_time} contact {closed!r} with the ground profile penetrates by {depth:.4g} m: it was not noticed in time; "
            "give a smaller tolerance or shorter steps",
        )
    why = {
        ENDLESS: f"the modes of contacts change without end: {closed}",
        UNDECIDED: f"the directions in which contacts begin to slip were not found: {closed}",
        UNENDED: f"the path of an impact has not ended: {closed}",
    }[int(modes.outcome)]
    return Status(Ending.CONTACT_UNDECIDED, f"at {s.at_time} {why}; give another tolerance, or other friction")


def _never_slips(s: FinalState, name: str) -> bool:
    """Whether a contact has infinite friction."""
    i = [c.name for c in s.equations.unilateral].index(name)
    return s.equations.unilateral[i].count > 0 and bool(s.memory.stepper.modes.coefficient[3 * i] < 0.0)


LOCKED_CURE = "less friction, compliance, or m.impacts(without_collision=True)"


def _locked(s: FinalState, why: str, contacts: list[str], cure: str = "less friction, or compliance") -> Status:
    if _rubs(s, contacts):
        return Status(Ending.CONTACT_INCONSISTENT, f"at {s.at_time} {why} (Painlevé's paradox); give {cure}")
    return Status(Ending.CONTACT_INCONSISTENT, f"at {s.at_time} {why}; look for contacts that jam each other, or give compliance")


def _rubs(s: FinalState, contacts: list[str]) -> bool:
    """Whether one of these contacts has friction."""
    coefficients = s.memory.stepper.modes.coefficient.reshape(-1, 3)[:, :2]
    known = {c.name: c.count > 0 and pair.any() for c, pair in zip(s.equations.unilateral, coefficients, strict=True)}
    return any(known[name] for name in contacts)


def _unbounded_contacts(s: FinalState) -> list[str]:
    """Contacts whose normal forces grow without bound: friction that locks bodies as they slip."""
    stepper = s.memory.stepper
    modes = stepper.modes
    normal = stepper.margin[0, modes.first_margin : modes.first_margin + 2 * modes.contacts : 2]
    closed = modes.mode.reshape(modes.contacts, -1)[:, 0] != 0.0
    typical = float(np.abs(modes.force).max(initial=0.0))
    return [
        c.name for c, force, on in zip(s.equations.unilateral, normal, closed, strict=True) if on and force > UNBOUNDED * typical
    ]


def _finished(s: FinalState) -> Status:
    return Status(Ending.FINISHED, f"reached {s.at_time}")


def _event(s: FinalState) -> Status:
    event = s.equations.event_list[int(s.memory.stepper.stopping_event)]
    if event.ending == Ending.GROUND_TOO_SHARP:
        return _ground_too_sharp(s, event)
    if event.ending == Ending.OFF_PATH:
        return Status(
            Ending.OFF_PATH,
            f"from {s.at_time} on {event.description}. Give the path a larger width, as far as it may have one, or "
            "describe the road beside it by expressions of x and y",
        )
    return Status(Ending.EVENT, f"{event.name}: {event.description or event.expression} at {s.at_time}")


def _ground_too_sharp(s: FinalState, event: Event) -> Status:
    """Where a wheel bridges a hollow of the ground, with both radii."""
    program, wheel = s.equations.second_contacts, event.name.removesuffix("_second_contact")
    place = ""
    if program is not None:
        q, p = (slot.size for slot in program.inputs[1:])
        (values,) = program([s.memory.stepper.t], s.memory.state[:q], s.memory.parameters[:p])
        labels = program.output("details").labels
        x, y, other_x, other_y, radius, curvature, gap = (
            float(value) for label, value in zip(labels, values, strict=True) if label.rpartition(".")[0] == wheel
        )
        if gap > 1.0 / curvature - radius > 0.0:
            return Status(
                Ending.GROUND_TOO_SHARP,
                f"at {s.at_time} wheel {wheel!r} flies {gap:.4g} m above the ground at x = {x:.6g} m, y = {y:.6g} m, which has a "
                f"radius of curvature of {1 / curvature:.4g} m: seen from a hub so high, the nearest place of such a hollow "
                "is not unique, and where the wheel would land is not known. Give smoother ground, or end the run before by an "
                "event",
            )
        place = (
            f" at x = {other_x:.6g} m, y = {other_y:.6g} m, while its contact point is at x = {x:.6g} m, y = {y:.6g} m. "
            f"Its radius there is {radius:.4g} m, and the least radius of curvature of the ground between {1 / curvature:.4g} m"
        )
    return Status(
        Ending.GROUND_TOO_SHARP,
        f"from {s.at_time} on {event.description}{place}: it would bridge the hollow, and one contact point does not follow it. "
        "Give ground of a radius of curvature above it, a smaller wheel or sphere, or a ground profile with edges, "
        "ground(profile=…), on which those with friction= touch at several places",
    )


def _singular(s: FinalState) -> Status:
    condition = float(s.memory.stepper.condition)
    size = f"{condition:.2g}" if np.isfinite(condition) else "infinite"
    others = "no other choice is better" if s.equations.alternates else "there is no other choice"
    return Status(
        Ending.SINGULAR,
        f"{_cause(s)} at {s.at_time}: the condition is {size} (limit {s.equations.limits.condition:g}) and {others}; "
        f"{_passing_cure(s)}stop before it by an event, or start elsewhere",
    )


def indeterminate_rates(interval: tuple[float, float]) -> Status:
    """The status of a run across a state where implicit equations do not determine the rates."""
    return Status(
        Ending.SINGULAR,
        f"the equations do not determine the rates between t = {interval[0]:.6g} s and {interval[1]:.6g} s: the matrix of rates "
        "and algebraic unknowns (∂F/∂ẋ  ∂F/∂z) passes through a singular one, and what follows is one of many continuations; "
        "stop before it, or start behind it",
    )


def _passing_cure(s: FinalState) -> str:
    """What may lead across a singular position of loops, or past the pole of a choice of velocities."""
    if has_loops(s.equations):
        return "drift=Minimal() or another tolerance may lead across; else "
    if not s.equations.alternates and len(s.equations.independent) < len(s.equations.velocities):
        return "formulation=Augmented() eliminates no velocity; else "
    return ""


def _cause(s: FinalState) -> str:
    """The cause of the singularity: the largest contribution to the condition number."""
    if s.equations.causes is None and len(s.equations.independent) == len(s.equations.velocities):
        point = (float(s.memory.stepper.t), s.memory.state, s.memory.inputs, s.memory.parameters)
        names = singular_position(s.equations, *point) or [c.name for c in s.equations.constraints if c.level == "position"]
        return f"the position is singular: the constraints {', '.join(names)} lose rank"
    if s.equations.causes is None:
        return f"the independent velocities ({', '.join(s.equations.independent)}) are singular"
    program = s.equations.causes
    (values,) = program([s.memory.stepper.t], s.memory.state, s.memory.inputs, s.memory.parameters)
    return program.output("value").labels[int(np.argmax(np.nan_to_num(values, nan=np.inf)))]


def _broken(s: FinalState) -> Status:
    """The constraint with the largest residual, of positions first; redundant ones, which are monitored only, are among them."""
    stepper = s.memory.stepper
    if stepper.leaps:
        return Status(
            Ending.CONSTRAINTS_BROKEN,
            f"the constraints are off by {stepper.unprojected:.3g} after the step beside a switch that ends at {s.at_time}: "
            "their slope or value jumps at the switch, so that velocities would have to jump, an impact that is not modeled; "
            "smooth the constraints, or stop before by an event",
        )
    slot = [output.name for output in s.equations.report.outputs].index("residuals")
    values = np.abs(s.equations.report([s.memory.stepper.t], s.memory.state, s.memory.inputs, s.memory.parameters)[slot])
    limit, constraints = float(s.memory.stepper.broken), s.equations.constraints
    open_positions = [i for i, c in enumerate(constraints) if c.level == "position" and values[i] > limit]
    worst = max(open_positions or range(len(constraints)), key=lambda i: float(np.nan_to_num(values[i])))
    what = (
        f"constraint {constraints[worst].name}"
        if constraints[worst].level == "position"
        else f"rate of {constraints[worst].name}"
    )
    return Status(
        Ending.CONSTRAINTS_BROKEN,
        f"{what} is off by {values[worst]:.3g} {constraints[worst].unit} at {s.at_time}, and projections do not bring it below "
        f"{limit:.2g}: the constraints contradict each other there, or the position is singular; check the parameters, start "
        "elsewhere, or stop before it by an event",
    )


def _not_finite(s: FinalState) -> Status:
    stepper = s.memory.stepper
    point = (float(stepper.t), s.memory.state, s.memory.inputs, s.memory.parameters)
    if stepper.failed_kind != 2 and (dependent := singular_position(s.equations, *point)):
        return Status(
            Ending.SINGULAR,
            f"the position at {s.at_time} is singular: {' and '.join(dependent)} lose rank there and not nearby, so that the "
            "motion may branch, and accelerations and forces are not determined; start a little beside it, or stop before it by "
            "an event",
        )
    what = {0: f"the derivative of {s.failed_name}", 1: s.failed_name, 2: _equation(s)}[int(stepper.failed_kind)]
    limits = _reached_limits(s)
    if limits:
        return Status(
            Ending.NOT_FINITE,
            f"the motion reaches the limit of {' and '.join(limits)} at {s.at_time}, and behind it {what} has no value in the "
            "branch before it, such as the root of a negative number, so that steps cannot pass, though the law as written has "
            "one. Where its slope is infinite at the limit, give it a finite one, e.g. h/sqrt(max(h, 0) + 1e-6) for sqrt(h); or "
            "end the run before by an event",
        )
    if stepper.accepted == 0:
        advice = "look for a division by zero or the root of a negative number at the start, or in the parameters"
    elif s.method.adaptive:
        advice = "shorter steps did not help: the equations have a pole, or leave the domain of a root, logarithm or table"
    else:
        advice = f"the fixed step of {s.method.__class__.__name__} may be too long; try a tenth of it, or DOP853"
    return Status(Ending.NOT_FINITE, f"{what} is not a finite number at {time_text(float(stepper.bad_time))}; {advice}")


def _reached_limits(s: FinalState) -> list[str]:
    """The switching functions that are zero, up to the absolute tolerance, at the end of a run whose law as written is finite."""
    stepper = s.memory.stepper
    if not s.surfaces or stepper.accepted == 0 or not s.method.adaptive or isinstance(s.equations.dynamics, DaeResidual):
        return []
    try:
        written = s.equations.dynamics([float(stepper.t)], s.memory.state, s.memory.inputs, s.memory.parameters)[0]
    except (np.linalg.LinAlgError, RuntimeError):  # a singular matrix, dense or sparse
        return []
    near = np.abs(stepper.margin[0, : stepper.margins]) < float(np.min(stepper.atol))
    if not np.isfinite(written).all() or not near.any():
        return []
    return list(dict.fromkeys(s.surfaces[row] for row in np.flatnonzero(near)))


def _too_small(s: FinalState) -> Status:
    return Status(
        Ending.STEP_TOO_SMALL,
        f"the step shrank to rounding error at {s.at_time} because of {s.failed_name}; the motion is singular, discontinuous or "
        "very stiff there: smooth the jump, make it an event, or loosen rtol and atol",
    )


def _equation(s: FinalState) -> str:
    """The equation that failed, by its name if it has one."""
    index = int(s.memory.stepper.failed_index)
    if not isinstance(s.equations.dynamics, DaeResidual):
        return f"the derivative of {s.failed_name}"
    labels = s.equations.dynamics.residual.output("residual").labels
    return f"the residual of {labels[index]!r}" if index < len(labels) else f"a residual of {s.equations.name}"


def _unsolved(s: FinalState) -> Status:
    """Newton's iteration failed for every step tried."""
    stepper, name = s.memory.stepper, type(s.method).__name__
    if stepper.solver_failure == layout.SINGULAR_MATRIX:
        what = "the equations of a step are singular"
        cure = "possible causes: an undetermined unknown, a redundant constraint, or an index above the declared one"
    else:
        what = "the equations of a step could not be solved"
        cure = "the solution may end, branch or jump there; look at the last state"
    if s.method.adaptive:
        return Status(Ending.STEP_TOO_SMALL, f"{what} at {s.at_time} by {name}, for any step size; {cure}")
    return Status(
        Ending.STEP_TOO_SMALL, f"{what} at {s.at_time} with the fixed step of {name}; try a tenth of it, or no `step`; {cure}"
    )


def undetermined(s: FinalState) -> ModelError:
    """The error for a start that the equations do not determine."""
    return ModelError(
        f"{_undetermined(s)}. Either their index is above 1: declare that of each unknown (Implicit(…, index=…)) and run by "
        "Radau, or reduce it first (reduce_index). Or rates enter in fixed combinations only: make such a combination an unknown"
    )


def _undetermined(s: FinalState) -> str:
    index = int(s.memory.stepper.failed_index)
    rate = implicit_form(s.equations.dynamics).differential[index]
    what = f"the rate of {s.failed_name}" if rate else s.failed_name
    return f"{s.equations.name}: {what} is not determined by the equations"


def _too_many(s: FinalState) -> Status:
    return Status(
        Ending.TOO_MANY_STEPS,
        f"{s.method.max_steps} steps were used up at {s.at_time} of {s.span[1]:g} s; raise max_steps, loosen the tolerance, or "
        "look for a fast motion that forces small steps",
    )


def _ambiguous(s: FinalState) -> Status:
    stepper = s.memory.stepper
    rows = [int(row) for row in stepper.sliding_margin[: stepper.sliding]]
    recent = [int(row) for row in stepper.switch_margin[max(0, stepper.switch_count - 8) : stepper.switch_count] if row >= 0]
    names = list(dict.fromkeys(s.surfaces[row] for row in (rows if len(rows) > 1 else recent)))
    if len(rows) > 1:
        what = f"the run slides on {' and '.join(names)} at {s.at_time}, and the equations do not determine how"
        cure = "their switches act on each other; smooth one of them, or give the motion on both"
        if len(rows) == layout.MOST_SLIDING:
            what = f"the run slides on {len(rows)} surfaces at {s.at_time}, and would on more, which is not computed"
            cure = f"smooth some of the switches, e.g. {SMOOTHER}"
    else:
        what = f"{' and '.join(names)} switches back and forth without end at {s.at_time}"
        cure = f"smooth the switch, e.g. {SMOOTHER}, or give it a hysteresis"
        if isinstance(s.equations.dynamics, DaeResidual):
            cure = (
                "sliding is integrated for ẋ = f, not for 0 = F(t, x, ẋ) of a higher index or from given algebraic unknowns: "
                f"solve the equations for their rates (dr.dae.reduce_index), or {cure}"
            )
    return Status(Ending.SLIDING_AMBIGUOUS, f"{what}; {cure}")


def _accumulated(s: FinalState) -> Status:
    stepper = s.memory.stepper
    rows = stepper.switch_margin[max(0, stepper.switch_count - layout.RECENT) : stepper.switch_count]
    names = list(dict.fromkeys(s.surfaces[int(row)] if row >= 0 else "a function of time" for row in rows))
    verb = "switches" if len(names) == 1 else "switch"
    return Status(
        Ending.SWITCHES_ACCUMULATE,
        f"{' and '.join(names)} {verb} infinitely often before t = {stepper.t:.12g} s, and the equations do not determine how "
        "the motion continues from this limit; the run ends there. Start another run from its end with the law that holds behind "
        f"it, smooth the switch, e.g. {SMOOTHER}, or give it a hysteresis",
    )


def _control_failed(s: FinalState) -> Status:
    error = s.failure
    text = f"{type(error).__name__}: {error}" if error is not None else "an unknown error"
    return Status(
        Ending.CONTROL_FAILED,
        f"the control function failed with {text} after {s.at_time}; results up to then are kept, and run.failure "
        "has the exception",
    )

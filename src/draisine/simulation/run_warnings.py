"""Warnings of an integration: in short, as ensembles count them, and with times and cures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations, Event
from draisine.results.status import time_text
from draisine.simulation.compiled_equations import CompiledEquations
from draisine.simulation.methods.selection import method_title
from draisine.simulation.methods.tableau import SteppingMethod
from draisine.simulation.result import SwitchOccurrence
from draisine.simulation.sampled_control import ControlCaller
from draisine.simulation.singular_passage import Passage, has_loops
from draisine.simulation.stepper.layout import Stepper

Reals = NDArray[np.float64]

BRANCHES_MEET = 30.0  # multiple of the limit of the condition from which on the warning mentions other branches

STIFF_EQUATIONS = "the equations are stiff, and stability limits the steps of an explicit method"
PASSED_SINGULAR = "the motion passes a singular position, where it could also branch, and is continued smoothly"
PASSED = 1e-12  # value of an event beyond which a start has passed it: a start on it has not
NEARLY_SINGULAR = "the motion came close to a singular position, where errors grow"


def fast_event(name: str) -> str:
    return f"event {name!r} varies too fast for the steps, and some of its occurrences may be missing"


def starts_beyond(name: str) -> str:
    return f"the run starts beyond the event {name!r}, which ends it only when passed again"


def passed_at_start(events: Sequence[Event], values: Reals) -> NDArray[np.bool_]:
    """Which of the events are stopping ones of one direction beyond which runs start; `values` (…, events) are those there."""
    stopping = [event.direction if event.action == "stop" and event.ending == "EVENT" else 0 for event in events]
    return np.asarray(values * np.array(stopping, dtype=float) > PASSED)


class Notes:
    """What the driver notes during an integration."""

    def __init__(self) -> None:
        self.stiff_since: float | None = None  # where the method was not changed
        self.all_restarts = True  # none is missing among the times at which functions of time switch
        self.passages: list[Passage] = []  # of singular positions
        self.one_sided: tuple[str, ...] = ()  # where contacts change modes and derivatives are those of one side
        self.worst_condition = (0.0, 0.0)  # largest condition number accepted, and its time


class Observations(NamedTuple):
    """An integration at its end; the warnings follow from it."""

    stepper: Stepper
    root: Equations
    compiled: CompiledEquations  # at the end
    method: SteppingMethod
    switches: tuple[SwitchOccurrence, ...]
    control: ControlCaller | None  # called at every stage
    elapsed: float  # s
    notes: Notes


def run_warnings(o: Observations) -> Iterator[tuple[str, str]]:
    """The warnings of an integration: in short, and with times and cures."""
    switching = o.compiled.switching
    if o.control is not None:
        share = o.control.seconds / max(o.elapsed, 1e-9)
        yield (
            "the control was called in Python at every stage",
            f"the control was called in Python at every stage: {o.control.calls} calls, {share:.0%} of the run's time; an "
            "expression is compiled, and Sampled calls the function less often",
        )
        if switching is not None and switching.depends_on_inputs:
            yield (
                "the time of a switch depends on an input that is set in Python",
                f"{', '.join(switching.depends_on_inputs)} depends on time and on an input that is set in Python at every "
                "stage: the time of the switch is not known, and was taken for the inputs at the start. Sampled solves it",
            )
    one_sided = "" if switching is None else switching.one_sided(o.stepper)
    if one_sided:
        yield "sensitivities are those of one side", one_sided
    if o.notes.one_sided:
        first, more = o.notes.one_sided[0], len(o.notes.one_sided) - 1
        yield "sensitivities are those of one side where contacts change", f"{first}{f' (and {more} more)' if more else ''}"
    yield from _sliding(o)
    if o.notes.stiff_since is not None:
        yield (
            STIFF_EQUATIONS,
            f"the equations are stiff from {time_text(o.notes.stiff_since)} on: stability, not accuracy, limits the steps of "
            f"{method_title(o.method)}; Radau() makes longer ones, and Auto() switches to it",
        )
    if o.stepper.unresolved_event:
        name = o.root.event_list[o.stepper.unresolved_event - 1].name
        cure = "max_step" if o.method.adaptive else "step"
        yield (
            fast_event(name),
            f"event {name!r} varies too fast for the step at {time_text(float(o.stepper.unresolved_time))}: some of its "
            f"occurrences may be missing; make shorter steps, {type(o.method).__name__}({cure}=…)",
        )
    if not o.notes.all_restarts:
        yield (
            "switches of a function of time were found by sampling, and some may be missing",
            "a function of time switches so often that its switches were found by sampling; some may be missing: write it "
            "in simpler terms, or run shorter parts",
        )
    yield from _singular_positions(o)


def _singular_positions(o: Observations) -> Iterator[tuple[str, str]]:
    """Singular positions on the way or close to it."""
    if o.notes.passages:
        times = ", ".join(f"{passage.singular:.6g}" for passage in o.notes.passages[:5])
        more = ", …" if len(o.notes.passages) > 5 else ""
        yield (
            PASSED_SINGULAR,
            f"the motion passes a singular position at t = {times}{more} s, where it could also branch: it is continued "
            "smoothly, on the branch on which it arrives; forces of constraints are not determined there",
        )
    condition, t = o.notes.worst_condition
    if condition > 0.0 and np.isfinite(condition):
        limit = o.compiled.equations.limits.condition
        meet = condition > BRANCHES_MEET * limit and has_loops(o.compiled.equations)
        branches = ", and where branches of motion meet the run may have changed to another one: compare drift=Minimal()"
        branches = branches if meet else ""
        yield (
            NEARLY_SINGULAR,
            f"the motion came close to a singular position, and no other choice of independent velocities was better: the "
            f"condition was {condition:.2g} at t = {t:.6g} s (limit {limit:g}); errors grow by about that factor{branches}",
        )


def _sliding(o: Observations) -> Iterator[tuple[str, str]]:
    """Where forces and outputs of a sliding motion are not those of a mixed law."""
    stepper, root, switching = o.stepper, o.root, o.compiled.switching
    given = any(slot.name == "inputs" and slot.size for slot in root.report.outputs)
    if switching is None or not (root.outputs or root.multipliers or given):  # only states are reported
        return
    slid = [occurrence for occurrence in o.switches if occurrence.sliding == "begins"]
    names = ", ".join(dict.fromkeys(occurrence.name for occurrence in slid))
    if stepper.means:
        yield (
            "forces and accelerations while the motion slides are means of both sides",
            f"the motion slides on {names}, and from {time_text(float(stepper.means_time))} on no single value of this law "
            "gives the sliding motion: forces, accelerations and other channels are means of both sides over infinitely fast "
            "switching, and channels that are not linear in the law are not functions of the others",
        )
    if stepper.splits:
        switches = switching.switching.switches
        shared = " and ".join(switches[i].name for i in np.flatnonzero(stepper.split_named[: len(switches)])) or names
        lost = " (not found at some instants, where it is arbitrary)" if stepper.split_failures else ""
        yield (
            "the split of forces between laws that hold the motion together is not determined",
            f"from {time_text(float(stepper.split_time))} on the motion is held by {shared} together: rigid bodies determine "
            "the resultant of these laws, not the split between them (as with redundant constraints). Each is taken at an "
            f"equal fraction of its range where that gives the motion{lost}; these laws, the reactions between them and the "
            "contact forces follow from that choice. For a determined split, give bodies between them compliance",
        )
    if slid and stepper.variations:
        yield (
            "sensitivities of forces while the motion slides are those of the laws as written",
            f"the motion slides on {names} from {time_text(slid[0].time)}: sensitivities of forces, accelerations and other "
            "channels that depend on this law are those of the law as written, not of the sliding motion",
        )

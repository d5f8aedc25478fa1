"""What a run keeps: samples between steps, the steps themselves, events, and the inputs that belong to each."""

from __future__ import annotations

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.explicit_rk import command, copy, interpolate
from draisine.simulation.stepper.layout import Stepper, Tableau


def ahead(s: Stepper, a: float, b: float) -> bool:
    """Whether time a comes before time b in the direction of the run."""
    return a < b if s.end >= s.t else a > b


def sample_before(s: Stepper, time: float) -> bool:
    return s.sampled < s.samples and ahead(s, s.sample_time[s.sampled], time)


def sample_until(s: Stepper, m: Tableau, h: float, time: float) -> None:
    """Fill the samples strictly before a time within the step."""
    while sample_before(s, time):
        moment, row = s.sample_time[s.sampled], s.sample_x[s.sampled]
        interpolate(s, m.terms, (moment - s.t) / h, row, s.states)
        record_inputs(s, moment, row, s.sample_u[s.sampled])
        if s.aborted != 0:
            return
        s.sampled += 1


def sample_here(s: Stepper) -> None:
    """Fill the sample at t, if one is asked for."""
    if s.sampled < s.samples and s.sample_time[s.sampled] == s.t:
        row = s.sample_x[s.sampled]
        copy(s.x, row, s.states)
        record_inputs(s, s.t, row, s.sample_u[s.sampled])
        s.sampled += 1


def record_step(s: Stepper) -> None:
    s.step_time[s.stepped] = s.t
    if s.keep_steps != 0:
        copy(s.x, s.step_x[s.stepped], s.states)
        record_inputs(s, s.t, s.x, s.step_u[s.stepped])
    s.stepped += 1


def record_inputs(s: Stepper, time: float, x: Vector, target: Vector) -> None:
    """Keep the inputs that belong to (time, x)."""
    if s.inputs > 0:
        if s.control != 0:
            copy(x, s.point, s.states)
            command(s, time)
        copy(s.u, target, s.inputs)


def record_events(s: Stepper, m: Tableau, h: float, roots: int) -> float:
    """Keep the events of the step; return the fraction at which one stops the run, or 2 if none does."""
    for j in range(roots):
        theta, event = s.root[j], int(s.root_event[j])
        s.event_time[s.happened] = s.t + theta * h
        s.event_index[s.happened] = event
        interpolate(s, m.terms, theta, s.event_x[s.happened], s.states)
        s.happened += 1
        if s.stops[event] != 0:
            s.happening = event
            return theta
    return 2.0

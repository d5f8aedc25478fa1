"""What a run keeps: samples between steps, the steps themselves, events, and the inputs that belong to each."""

from __future__ import annotations

from typing import Any

from draisine.simulation.stepper.explicit_rk import command, copy, interpolate
from draisine.simulation.stepper.layout import GRID
from draisine.simulation.stepper.native import integers_at, reals_at


def ahead(s: Any, a: float, b: float) -> bool:
    """Whether time a comes before time b in the direction of the run."""
    return a < b if s.end >= s.t else a > b


def sample_before(s: Any, time: float) -> bool:
    return s.sampled < s.samples and ahead(s, reals_at(s.sample_time_at, s.samples)[s.sampled], time)


def sample_until(s: Any, m: Any, h: float, time: float) -> None:
    """Fill the samples strictly before a time within the step."""
    times = reals_at(s.sample_time_at, s.samples)
    while sample_before(s, time):
        moment = times[s.sampled]
        theta = (moment - s.t) / h
        row = s.sample_x_at + 8 * s.states * s.sampled
        interpolate(s, m.terms, theta, row, s.states)
        record_inputs(s, moment, row, s.sample_u_at + 8 * s.inputs * s.sampled)
        if s.aborted != 0:
            return
        s.sampled += 1


def sample_here(s: Any) -> None:
    """Fill the sample at t, if one is asked for."""
    if s.sampled < s.samples and reals_at(s.sample_time_at, s.samples)[s.sampled] == s.t:
        row = s.sample_x_at + 8 * s.states * s.sampled
        copy(s.x_at, row, s.states)
        record_inputs(s, s.t, row, s.sample_u_at + 8 * s.inputs * s.sampled)
        s.sampled += 1


def record_step(s: Any) -> None:
    reals_at(s.step_time_at, s.step_room)[s.stepped] = s.t
    if s.keep_steps != 0:
        copy(s.x_at, s.step_x_at + 8 * s.states * s.stepped, s.states)
        record_inputs(s, s.t, s.x_at, s.step_u_at + 8 * s.inputs * s.stepped)
    s.stepped += 1


def record_inputs(s: Any, time: float, x_at: int, target_at: int) -> None:
    """Keep the inputs that belong to (time, x)."""
    if s.inputs > 0:
        if s.control != 0:
            copy(x_at, s.point_at, s.states)
            command(s, time)
        copy(s.inputs_at, target_at, s.inputs)


def record_events(s: Any, m: Any, h: float, roots: int) -> float:
    """Keep the events of the step; return the fraction at which one stops the run, or 2 if none does."""
    root, root_event = reals_at(s.root_at, GRID * s.events), integers_at(s.root_event_at, GRID * s.events)
    stops = integers_at(s.stops_at, s.events)
    times, index = reals_at(s.event_time_at, s.event_room), integers_at(s.event_index_at, s.event_room)
    for j in range(roots):
        theta = root[j]
        times[s.happened] = s.t + theta * h
        index[s.happened] = root_event[j]
        interpolate(s, m.terms, theta, s.event_x_at + 8 * s.states * s.happened, s.states)
        s.happened += 1
        if stops[root_event[j]] != 0:
            s.happening = root_event[j]
            return theta
    return 2.0

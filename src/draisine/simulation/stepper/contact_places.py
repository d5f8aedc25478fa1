"""Contact places of wheels on curved ground where the curvature jumps. Restricted Python.

The rates of places have no inertia: they follow from the other velocities, ρ = −T_ρ⁻¹(T_v v + t₀), and jump with the curvature
of the ground. Nothing else may jump. Projections and terms of contacts do not read branches, but take the branch at the place
itself; a step ends on the surface between two branches only up to its error. So the step that ends there is not projected, the
coordinates are moved into the new branch, by no more than that error, and the rates are set there, before the field behind the
switch is evaluated. Until the next step it is not projected again: where a coordinate is prescribed in time, a projection would
lead it, and the place with it, back over the surface.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.explicit_rk import copy, evaluate, first_nonfinite
from draisine.simulation.stepper.layout import BROKEN, CONTINUE, NOT_FINITE, Stepper

LEAST_TIME = 1e-16  # of a motion by rounding errors, relative to the time and to 1 s …
CLEAR = 16.0  # … and how often it is added, so that later projections do not lead back
SMALL = 1e-5  # part of a step, of the order of its error
PROJECTIONS = 3  # of coordinates


def has_places(s: Stepper) -> bool:
    """Whether velocities without inertia are among the states."""
    c, found = s.modes, False
    for j in range(c.velocities):
        found = found or c.mass[j * c.velocities + j] == 0.0
    return found


def change_with_inertia(s: Stepper) -> float:
    """The largest change of coordinates, and of velocities that have inertia, in a projection from `point` to `new`."""
    c, size = s.modes, 0.0
    for j in range(c.first_velocity + c.velocities):
        i = j - c.first_velocity
        if i < 0 or c.mass[i * c.velocities + i] != 0.0:
            size = max(size, abs(s.new[j] - s.point[j]))
    return size


def move_behind_switch(s: Stepper) -> None:
    """Move the coordinates into the new branches: by the error of the step, which a projection has removed, and rounding errors;
    by no more than a small part of the step."""
    c, longest = s.modes, SMALL * s.step_length
    copy(s.x, s.point, s.width)
    evaluate(s, s.t, 0)
    least, ahead = LEAST_TIME * max(1.0, abs(s.t)), 1.0 if s.end >= s.t else -1.0
    time, inside = least, False
    while time <= longest and not inside:
        copy(s.x, s.point, s.width)
        for j in range(c.first_velocity):
            s.point[j] += ahead * time * s.k[0, j]
        call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.parameters), (s.margin_value,))
        inside = True
        for j in range(s.branch_margins):
            inside = inside and s.margin_value[j] > 0.0
        time *= 2.0
    if inside:
        for j in range(c.first_velocity):
            s.x[j] += ahead * (time + CLEAR * least) * s.k[0, j]


def projected(s: Stepper, first: int, last: int) -> int:
    """Project some of the states; BROKEN if coordinates or velocities with inertia would jump."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
    bad = first_nonfinite(s.new, last)
    if bad >= 0:
        s.failed_index, s.failed_kind, s.bad_time = bad, 1, s.t
        return NOT_FINITE
    size = change_with_inertia(s)
    if size > s.broken:
        s.unprojected, s.leaps = size, 1
        return BROKEN
    for j in range(first, last):
        s.x[j] = s.new[j]
    return CONTINUE


def pass_to_branch(s: Stepper) -> int:
    """After a change of branches: the rates of places behind it; BROKEN if coordinates or other velocities would jump."""
    c, reason = s.modes, CONTINUE
    if s.project == 0:
        return CONTINUE
    for _ in range(PROJECTIONS):  # later ones move coordinates less than the motion behind the switch
        if reason == CONTINUE:
            reason = projected(s, 0, c.first_velocity)
    if reason != CONTINUE:
        return reason
    move_behind_switch(s)
    if s.aborted != 0:
        return CONTINUE
    s.behind_switch = 1
    return projected(s, c.first_velocity, c.first_velocity + c.velocities)


def vary_rates(s: Stepper) -> None:
    """After a change of branches and the jump of the derivatives S of the state: those of the rates of places follow from the
    others behind the switch, ∂ρ/∂x S + ∂ρ/∂θ, as the rates do. The first step would carry those before the switch into the
    places."""
    c = s.modes
    if s.project == 0:
        return
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
    for k in range(s.variations):
        first = s.plain_states * (1 + k) + c.first_velocity
        for j in range(c.velocities):
            if c.mass[j * c.velocities + j] == 0.0:
                s.x[first + j] = s.new[first + j]

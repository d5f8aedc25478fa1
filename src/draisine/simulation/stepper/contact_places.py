"""Contact places of wheels on curved ground where the curvature jumps. Restricted Python.

The rates of places have no inertia: they follow from the other velocities, ρ = −T_ρ⁻¹(T_v v + t₀), and jump with the curvature
of the ground. Nothing else may jump. Projections and terms of contacts do not read branches, but take the branch at the place
itself; a step ends on the surface between two branches only up to rounding errors. So the step that ends there is not projected,
the coordinates are moved by rounding errors into the new branch, and the rates are set there, before the field behind the switch
is evaluated.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.explicit_rk import copy, evaluate
from draisine.simulation.stepper.layout import BROKEN, CONTINUE, NOT_FINITE, Stepper

LEAST_TIME = 1e-16  # of a motion by rounding errors, relative to the time and to 1 s


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


def move_behind_switch(s: Stepper, longest: float) -> None:
    """Move the coordinates by rounding errors, and not longer than a time `longest`, into the new branches."""
    c = s.modes
    copy(s.x, s.point, s.width)
    evaluate(s, s.t, 0)
    time, ahead = LEAST_TIME * max(1.0, abs(s.t)), 1.0 if s.end >= s.t else -1.0
    while time <= longest:
        copy(s.x, s.point, s.width)
        for j in range(c.first_velocity):
            s.point[j] += ahead * time * s.k[0, j]
        call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.parameters), (s.margin_value,))
        inside = True
        for j in range(s.branch_margins):
            inside = inside and s.margin_value[j] > 0.0
        if inside:
            copy(s.point, s.x, c.first_velocity)
            return
        time *= 2.0


def pass_to_branch(s: Stepper, longest: float) -> int:
    """After a change of branches: the rates of places behind it; BROKEN if coordinates or other velocities would jump."""
    c = s.modes
    move_behind_switch(s, longest)
    if s.aborted != 0 or s.project == 0:
        return CONTINUE
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
    size = change_with_inertia(s)
    if size > s.broken:
        s.unprojected, s.leaps = size, 1
        return BROKEN
    own = c.first_velocity + c.velocities
    for j in range(own):
        if not abs(s.new[j]) < 1e300:
            s.failed_index, s.failed_kind, s.bad_time = j, 1, s.t
            return NOT_FINITE
    copy(s.new, s.x, own)
    return CONTINUE

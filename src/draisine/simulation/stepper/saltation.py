"""Jumps of derivatives of the state at switches (saltation). Restricted Python.

Derivatives S_j = ∂x/∂θ_j are part of the state of variational equations. A switching function z(t, x, θ) reaches its limit at a
time that changes with θ, and where the field jumps from f⁻ to f⁺ there, derivatives at a fixed time jump too:

    S_j⁺ = S_j⁻ + (f⁻ − f⁺) ∂τ/∂θ_j,        ∂τ/∂θ_j = −(∂z/∂x S_j⁻ + ∂z/∂θ_j) / ż⁻.

f⁺ may be a sliding field. Where sliding ends by itself, the field is continuous, and so are the derivatives. Where two switches
coincide and their order matters, the jumps are those of the order in which they are made, which is the derivative of one side;
this, tangential contact and a start on a surface are noted for the status.

M. A. Aizerman, F. R. Gantmakher, On the stability of periodic motions, J. Appl. Math. Mech. 22 (1958) 1065–1078.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import COINCIDENT, LEAPING, MARGIN_GRID, TANGENTIAL, Stepper
from draisine.simulation.stepper.sliding import sliding_field

CONTINUOUS = 1e-10  # relative difference up to which two fields are equal
NOTEWORTHY = 1e-6  # relative jump of a field at a surface that the motion only touches; sliding ends tangentially
SAME_TIME = 1e-13  # of the times of the run, relatively: two switches coincide
SAME_SHIFT = 1e-8  # relative difference up to which two switches move together
GRAZING = 1e-7  # rate of a switching function relative to its mean rate in the step before
LEAP = 1e-6  # of a margin beyond zero, relative to its values in the step …
LEAST_LEAP = 1e-10  # … and absolutely: the switching function jumps
OFF_SURFACE = 1e-12  # derivatives of a switching function up to which the start stays on its surface


def present_field(s: Stepper, target: Vector) -> None:
    """The field at (t, x) with the present branches."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    if s.sliding > 0:
        sliding_field(s, target)
    else:
        call_kernel(s.dynamics, (s.time, s.point, s.u, s.parameters), (target,))
        s.evaluations += 1


def approach_surfaces(s: Stepper) -> None:
    """Before a switch: the field, and derivatives and rates of all switching functions."""
    present_field(s, s.field_before)
    n, carried = s.plain_states, s.plain_states * (1 + s.variations)
    copy(s.x, s.surface_point, carried)
    for l in range(n):
        s.surface_point[carried + l] = s.field_before[l]
    call_kernel(s.saltation_kernel, (s.time, s.surface_point, s.u, s.parameters), (s.surface_change,))


def jump(s: Stepper, switch: int, least_rate: float, single: int) -> None:
    """After a switch: the jump of the derivatives. The motion is tangential if the rate of the switching function was not above a
    least one. `single` tells whether `field_single` is known: 1, and 2 for switches of time alone."""
    present_field(s, s.field_after)
    b, k = len(s.branch), s.variations
    rate = s.surface_change[(1 + k) * b + switch]
    crosses = abs(rate) > least_rate
    for j in range(k):
        s.shift[j] = -s.surface_change[(1 + j) * b + switch] / rate if crosses else 0.0
    s.shift_known, s.shift_time = 1, s.t
    jumps = differs(s, s.field_before, s.field_after, CONTINUOUS)
    if jumps and crosses:
        jump_by_shift(s)
    if jumps and not crosses and differs(s, s.field_before, s.field_after, NOTEWORTHY):
        note_one_sided(s, TANGENTIAL, switch, switch)
    if s.switch_jumps[switch] != 0 and crosses:
        note_coincidence(s, switch, jumps, single)


def note_coincidence(s: Stepper, switch: int, jumps: bool, single: int) -> None:
    """Note a switch at the time of the one before, if one of them makes the field jump and their order matters."""
    effect = 1 if jumps else 0
    if coincides(s):
        alone = single > 0 and differs(s, s.field_start, s.field_single, CONTINUOUS)
        matters = alone or effect + s.last_switch_effect > 0
        if switch != s.last_switch and matters and not moves_together(s) and not (single == 2 and is_sum(s)):
            note_one_sided(s, COINCIDENT, switch, s.last_switch)
    else:
        copy(s.field_before, s.field_start, s.width)
    s.last_switch_known, s.last_switch_time, s.last_switch, s.last_switch_effect = 1, s.t, switch, effect
    s.last_branch = s.old_branch
    copy(s.shift, s.last_shift, s.variations)


def coincides(s: Stepper) -> bool:
    """Whether a switch at t is at the time of the one before."""
    return s.last_switch_known != 0 and abs(s.t - s.last_switch_time) <= SAME_TIME * max(abs(s.t), abs(s.end))


def jump_by_shift(s: Stepper) -> None:
    """S_j⁺ = S_j⁻ + (f⁻ − f⁺) ∂τ/∂θ_j."""
    n = s.plain_states
    for j in range(s.variations):
        for l in range(n):
            s.x[n * (1 + j) + l] += (s.field_before[l] - s.field_after[l]) * s.shift[j]


def jump_after_sliding(s: Stepper) -> None:
    """The jump at the end of sliding: none where it ends by itself, where the field is continuous; another switch may end it."""
    present_field(s, s.field_after)
    if s.shift_time == s.t and differs(s, s.field_before, s.field_after, CONTINUOUS):
        jump_by_shift(s)


def jump_at_margin(s: Stepper, row: int, single: int, beyond: float) -> None:
    """The jump at the end of a margin in the last step, where it was `beyond` zero. A switching function that jumps there does so
    with another switch, or has no derivative."""
    largest = max(abs(s.margin[0, row]), abs(s.margin[MARGIN_GRID, row]))
    if beyond > LEAP * largest and beyond > LEAST_LEAP:
        present_field(s, s.field_after)
        if differs(s, s.field_before, s.field_after, CONTINUOUS):
            if s.shift_known != 0 and s.shift_time == s.t:
                jump_by_shift(s)
            else:
                note_one_sided(s, LEAPING, int(s.margin_branch[row]), int(s.margin_branch[row]))
        return
    least = GRAZING * largest / s.step_length if s.step_length > 0.0 else 0.0
    jump(s, int(s.margin_branch[row]), least, single)


def moves_together(s: Stepper) -> bool:
    """Whether a switch has the derivatives of the switch before."""
    for j in range(s.variations):
        if abs(s.shift[j] - s.last_shift[j]) > SAME_SHIFT * max(abs(s.shift[j]), abs(s.last_shift[j])):
            return False
    return True


def moves_off(s: Stepper, switch: int) -> bool:
    """Whether a direction takes the state off the surface of a switch."""
    largest = 0.0
    for j in range(s.variations):
        largest = max(largest, abs(s.surface_change[(1 + j) * len(s.branch) + switch]))
    return largest > OFF_SURFACE


def differs(s: Stepper, one: Vector, other: Vector, tolerance: float) -> bool:
    """Whether two fields differ by more than a relative tolerance."""
    size, difference = 0.0, 0.0
    for l in range(s.plain_states):
        size = max(size, max(abs(one[l]), abs(other[l])))
        difference = max(difference, abs(one[l] - other[l]))
    return not difference <= tolerance * size


def is_sum(s: Stepper) -> bool:
    """Whether a switch has, after others, the effect that it has alone."""
    size, difference = 0.0, 0.0
    for l in range(s.plain_states):
        alone, now = s.field_single[l] - s.field_start[l], s.field_after[l] - s.field_before[l]
        size = max(size, max(abs(alone), abs(now)))
        difference = max(difference, abs(alone - now))
    return difference <= CONTINUOUS * size


def note_one_sided(s: Stepper, kind: int, switch: int, other: int) -> None:
    """Note that derivatives are those of one side from t on; the first time is kept."""
    if s.one_sided == 0:
        s.one_sided_time, s.one_sided_kind = s.t, kind
        s.one_sided_switch, s.other_switch = switch, other
    s.one_sided += 1

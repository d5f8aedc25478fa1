"""Changes between an explicit and an implicit method within the loop. Restricted Python.

Slips of contacts that begin are stiff for a short time, many times in a run. Where memory is there for both methods of `Auto`
the loop changes them by itself: to the implicit one where such a slip begins or stability limits explicit steps, and back where
the step h of the implicit method is within reach of the explicit one, by an estimate of the spectral radius of its Jacobian.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.contact_slip import begins_to_slip
from draisine.simulation.stepper.dense_matrices import clear
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import CLOSE_TO_BORDER, FIRST_PART, METHOD_TIMES, WORTHWHILE_STEPS, Stepper

LEAST_LIMIT = 0.5
STEPS_BEFORE = 2  # implicit steps before the first check: Jacobians are then those of the present modes
STEPS_BETWEEN = 2  # from one check to the next
PRODUCTS = 8  # with the Jacobian, of a power iteration …
FIRST_PRODUCTS = 4  # … the first of which are not counted


def take_implicit(s: Stepper, stable: bool) -> None:
    """Continue with the implicit method; unless explicit steps were `stable`, they were at the limit of stability."""
    if not stable:
        s.limited_step = s.h
        soon = s.accepted - s.returned_at < WORTHWHILE_STEPS
        s.nonstiff_limit = max(LEAST_LIMIT, 0.5 * s.nonstiff_limit) if soon else CLOSE_TO_BORDER
    s.tableau = s.implicit_tableau
    s.starter = s.implicit_tableau
    s.rtol = s.implicit_rtol
    copy(s.implicit_atol, s.atol, s.states)
    s.h *= FIRST_PART
    s.check_stiffness, s.uses_implicit = 1, 1
    note_change(s)


def take_explicit(s: Stepper) -> None:
    """Continue with the explicit method."""
    s.tableau = s.explicit_tableau
    s.starter = s.explicit_tableau
    s.rtol = s.explicit_rtol
    copy(s.explicit_atol, s.atol, s.states)
    s.check_stiffness, s.uses_implicit, s.returned_at = 2, 0, s.accepted  # the equations may become stiff again soon
    note_change(s)


def note_change(s: Stepper) -> None:
    s.method_time[min(s.method_changes, METHOD_TIMES - 1)] = s.t
    s.method_changes += 1
    s.last_error, s.accepted_h, s.longest_step, s.last_rejected = 1e-4, 0.0, 0.0, 0
    s.stiff_steps, s.nonstiff_steps = 0, 0


def may_be_explicit(s: Stepper) -> bool:
    """Whether the explicit method could make steps like the last one of the implicit method."""
    if s.nonstiff_steps < STEPS_BEFORE or s.nonstiff_steps % STEPS_BETWEEN != 0 or begins_to_slip(s.modes):
        return False
    return abs(s.h) * spectral_radius(s) < s.nonstiff_limit


def spectral_radius(s: Stepper) -> float:
    """An estimate of ρ(∂f/∂x) from the last Jacobian of ẋ − f: the mean growth of a vector in a power iteration."""
    x, y = s.rate, s.rhs
    for i in range(s.states):
        x[i] = 1.0 + 0.1 * (i % 7)
    growth = 0.0
    for k in range(PRODUCTS):
        clear(y, s.width)
        for e in range(s.entries):
            y[s.entry_row[e]] += s.by_state[e] * x[s.entry_column[e]]
        size = 0.0
        for i in range(s.states):
            size += y[i] * y[i]
        size = math.sqrt(size)
        if not size > 0.0:
            return 0.0
        for i in range(s.states):
            x[i] = y[i] / size
        if k >= FIRST_PRODUCTS:
            growth += math.log(size)
    return math.exp(growth / (PRODUCTS - FIRST_PRODUCTS))

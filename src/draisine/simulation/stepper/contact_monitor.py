"""The least of each contact margin over the accepted steps of a run. Restricted Python.

A margin is a normal force, or minus the friction coefficient that a contact needs (`contact_margins`). Ideal contacts hold
whatever force that takes, so the equations do not notice; a run reports it. Steps that are not monitored cost nothing.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import NEVER_YET, Stepper
from draisine.simulation.stepper.mixture import mixed_values

MOST_PARTS = 10_000  # of a step


def begin_contacts(s: Stepper) -> None:
    """The margins at the start of a run."""
    for i in range(s.contacts):
        s.contact_least[i] = NEVER_YET
    monitor_contacts(s)


def monitor_step(s: Stepper, begin: float, slid: int) -> None:
    """Keep the least margins of a step from `begin`: at its end and, where forces depend on time, inside. The run `slid` on so
    many surfaces at its beginning."""
    if s.contact_spacing > 0.0:
        monitor_inside(s, begin, slid)
    monitor_contacts(s)


def monitor_inside(s: Stepper, begin: float, slid: int) -> None:
    """The margins at equal distances inside the last step, at its middle at least: loads may come and go within it.

    The state is that of the end, which satisfies the constraints; it changes little in a step, and loads may change much.
    """
    length = s.t - begin
    parts = min(int(abs(length) / s.contact_spacing) + 2, MOST_PARTS)
    for i in range(1, parts):
        copy(s.x, s.point, s.width)
        s.time[0] = begin + i / parts * length
        evaluate_contacts(s, slid > 0)
        keep_least(s)


def monitor_contacts(s: Stepper) -> None:
    """Evaluate the margins at (t, x) and keep the least."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    evaluate_contacts(s, True)
    keep_least(s)


def evaluate_contacts(s: Stepper, may_slide: bool) -> None:
    """The margins at (time, point)."""
    if s.switching != 0 and may_slide and s.sliding > 0 and s.mixed_contact != 0:
        mixed_values(s, s.mixed_contact, s.contact, s.contacts)
    else:
        call_kernel(s.contact_kernel, (s.time, s.point, s.u, s.parameters), (s.contact,))


def keep_least(s: Stepper) -> None:
    for i in range(s.contacts):
        s.contact_least[i] = min(s.contact[i], s.contact_least[i])

"""The least of each contact margin over the accepted steps of a run. Restricted Python.

A margin is a normal force, or minus the friction coefficient that a contact needs (`contact_margins`). Ideal contacts hold
whatever force that takes, so the equations do not notice; a run reports it. Steps that are not watched cost nothing.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import call_kernel
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import Stepper

NEVER = 1e300  # least margin before the first step


def begin_watch(s: Stepper) -> None:
    """The margins at the start of a run."""
    for i in range(s.contacts):
        s.contact_least[i] = NEVER
    watch_contacts(s)


def watch_contacts(s: Stepper) -> None:
    """Evaluate the margins at (t, x) and keep the least."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.contact_kernel, (s.time, s.point, s.u, s.parameters), (s.contact,))
    keep_least(s)


def keep_least(s: Stepper) -> None:
    for i in range(s.contacts):
        s.contact_least[i] = min(s.contact[i], s.contact_least[i])

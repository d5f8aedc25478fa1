"""Changes of the modes of contacts with derivatives of the state. Restricted Python.

The change itself is that of a run without derivatives (`contact_modes`). Their jump is computed by the driver
(`simulation.contact_jumps`), which the loop calls by the address `jump`: changes are rare, and it differentiates the functions
of the impact as they stand.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.contact_modes import change_modes
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import ABORTED, CONTINUE, Stepper
from draisine.simulation.stepper.saltation import present_field


def change_modes_varied(s: Stepper, row: int) -> int:
    """The modes after the end of the margin `row` (−1 for none), and the jump of the derivatives where the state has any."""
    if s.variations == 0:
        return change_modes(s, row)
    c = s.modes
    copy(s.x, c.state_before, s.states)
    copy(c.mode, c.mode_before, len(c.mode))
    present_field(s, s.field_before)
    reason = change_modes(s, row)
    if reason != CONTINUE:
        return reason
    c.ended_margin = row
    present_field(s, s.field_after)
    call_kernel(c.jump, (s.time, s.point, s.u, s.parameters), (s.x,))
    return ABORTED if s.aborted != 0 else CONTINUE

"""Kernels of the usual modes of contacts: wheels roll, other contacts are open. Restricted Python.

While the modes are these, the loop calls the kernels of their reduced equations in the place of those of all modes. They have
the same layout, and parameters of their own with hoisted values behind them. A step at whose end the independent velocities are
badly conditioned is the last one; changes of modes begin with the kernels of all modes.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, OPEN, STICK
from draisine.simulation.stepper.contact_slip import mode_of
from draisine.simulation.stepper.explicit_rk import copy, first_nonfinite
from draisine.simulation.stepper.layout import Stepper


def enter_usual_modes(s: Stepper) -> None:
    """Take the kernels of the usual modes if the contacts are in them."""
    c = s.modes
    if c.usual_dynamics == 0 or c.usual != 0 or s.tableau.implicit != 0 or s.tableau.external != 0:
        return
    for i in range(c.contacts):
        if mode_of(c, i) != (STICK if c.stands[i] != 0 else OPEN):
            return
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(c.usual_margins, (s.time, s.point, s.u, c.usual_parameters), (c.margins,))
    if not c.margins[2 * c.contacts] <= c.worst:
        return
    first = len(c.all_parameters) - len(s.hoisted) - MODE_ENTRIES * c.contacts
    for k in range(MODE_ENTRIES * c.contacts):
        c.usual_parameters[first + k] = c.mode[k]
    s.parameters = c.usual_parameters
    s.dynamics, s.project, c.margin_kernel = c.usual_dynamics, c.usual_project, c.usual_margins
    c.usual = 1


def leave_usual_modes(s: Stepper) -> None:
    """Take the kernels of all modes again; dependent velocities follow from the others first."""
    c = s.modes
    if c.usual == 0:
        return
    if s.project != 0:
        copy(s.x, s.point, s.width)
        s.time[0] = s.t
        call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
        if first_nonfinite(s.new, s.states) < 0:
            copy(s.new, s.x, s.states)
    s.parameters = c.all_parameters
    s.dynamics, s.project, c.margin_kernel = c.all_dynamics, c.all_project, c.all_margins
    c.usual = 0


def badly_conditioned(s: Stepper) -> bool:
    """Whether the independent velocities of the usual modes are badly conditioned at the end of the last step."""
    c = s.modes
    return c.usual != 0 and not c.condition <= c.worst

"""Equations of unilateral contacts in given modes: one smooth set of equations, in which contacts neither open nor change.

The modes of contacts are numbers among the parameters of one set of equations. Here they are constants. All modes have the same
states, so that a motion goes through several of them without a change of coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.equations import USUAL_PROGRAMS, Equations, Unilateral
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.substituted_arguments import Substitution

TEXTS = ("open", "stick", "slip", "slip+", "slip-")


class Mode(NamedTuple):
    """The mode of one contact; the direction is that of a slip in one dimension."""

    closed: bool
    sticks: bool
    direction: int = 0

    @property
    def name(self) -> str:
        """As in `run.modes`."""
        return "open" if not self.closed else "stick" if self.sticks else "slip"

    def __str__(self) -> str:
        return f"{self.name}{'+' if self.direction > 0 else '-' if self.direction < 0 else ''}"


def read_modes(equations: Equations, given: Mapping[str, str], frictionless: frozenset[str] = frozenset()) -> dict[str, Mode]:
    """The modes of all contacts by name. A slip along one line has a direction, unless there is no friction.

    >>> from draisine.program.equations import Unilateral
    >>> from types import SimpleNamespace
    >>> ground = SimpleNamespace(name="block", unilateral=(Unilateral("floor", 0, 1, 1),))
    >>> str(read_modes(ground, {"floor": "slip+"})["floor"])
    'slip+'
    >>> read_modes(ground, {"floor": "slip"})
    Traceback (most recent call last):
        ...
    draisine.errors.ArgumentError: block: modes(floor='slip'): say in which direction it slips, ...
    """
    known = {contact.name: contact for contact in equations.unilateral}
    for name in given:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ArgumentError(f"{equations.name}: modes({name}=…): no contact {name!r} opens and slips (there are {listed})")
    missing = [name for name in known if name not in given]
    if missing:
        example = ", ".join(f"{name}='stick'" for name in missing)
        raise ArgumentError(
            f"{equations.name}: its contacts stick, slip and open, and the modes of {', '.join(missing)} are not given; state "
            f"them for every phase, .modes({example}), with {', '.join(map(repr, TEXTS))}"
        )
    return {name: _mode(equations.name, contact, given[name], name in frictionless) for name, contact in known.items()}


def _mode(model: str, contact: Unilateral, text: str, frictionless: bool) -> Mode:
    where = f"{model}: modes({contact.name}={text!r})"
    if text not in TEXTS:
        raise ArgumentError(f"{where}: a mode is one of {', '.join(map(repr, TEXTS))}")
    if text == "open" and contact.normal < 0:
        raise ArgumentError(f"{where}: dry friction does not open; it is 'stick', 'slip+' or 'slip-'")
    if text == "stick" and frictionless and contact.count:
        raise ArgumentError(f"{where}: it has no friction and cannot stick; it is 'slip' while it is closed")
    if text in ("open", "stick"):
        return Mode(text == "stick", text == "stick")
    if not contact.count:
        raise ArgumentError(f"{where}: it has no tangential force; it is 'stick' while it is closed")
    if contact.count > 1 and text != "slip":
        raise ArgumentError(f"{where}: it slips in two dimensions, in the direction of its slip; write 'slip'")
    if contact.count == 1 and text == "slip" and not frictionless:
        raise ArgumentError(
            f"{where}: say in which direction it slips, 'slip+' or 'slip-': the sign of {contact.name}_slip_along, or of the "
            "rate of a joint"
        )
    return Mode(True, False, {"slip": 0, "slip+": 1, "slip-": -1}[text])


def mode_values(equations: Equations, modes: Mapping[str, Mode]) -> NDArray[np.float64]:
    """The entries of p behind the parameters, in the order of `mode_entries`."""
    per = len(equations.mode_parameters) // max(len(equations.unilateral), 1)
    values = np.zeros((len(equations.unilateral), per))
    for row, contact in zip(values, equations.unilateral, strict=True):
        mode = modes[contact.name]
        row[:3] = mode.closed, mode.sticks, mode.direction
    return values.ravel()


@lru_cache(maxsize=64)
def with_modes(equations: Equations, modes: tuple[tuple[str, Mode], ...]) -> Equations:
    """The equations in these modes of all contacts, as equations without unilateral contacts.

    Gaps and slips that are constrained are among the constraints; those of open contacts are not.
    """
    values = ca.SX(mode_values(equations, dict(modes)).tolist())
    names = tuple(q.name for q in equations.parameters)
    fixed = Substitution("p", len(names), names, lambda _, p: ca.vertcat(p, values)).equations(
        replace(equations, **dict.fromkeys(("contact_margins", "contact_system", *USUAL_PROGRAMS)))  # type: ignore[arg-type]
    )
    residuals = fixed.motion.function.call(fixed.motion.symbols())[[s.name for s in fixed.motion.outputs].index("residuals")]
    kept = [i for i in range(residuals.numel()) if not residuals[i].is_zero()]
    report = fixed.report
    return replace(
        fixed,
        constraints=tuple(equations.constraints[i] for i in kept),
        motion=_with_residuals(fixed.motion, kept),
        report=replace(report, after=_with_residuals(report.after, kept))
        if isinstance(report, LinearSolveProgram)
        else _with_residuals(report, kept),
        unilateral=(),
        mode_parameters=(),
        contact_terms=None,
    )


@lru_cache(maxsize=32)
def modes_as_parameters(equations: Equations) -> Equations:
    """The equations in any one mode, without unilateral contacts: their modes are parameters."""
    none = dict.fromkeys(("contact_margins", "contact_terms", "contact_system", "monitor", "events", "causes"))
    none |= dict.fromkeys((*USUAL_PROGRAMS, "inverse_dynamics"))
    made = replace(equations, parameters=equations.arguments, mode_parameters=(), unilateral=(), event_list=())
    return replace(made, **none)  # type: ignore[arg-type]


def _with_residuals(program: Program, kept: list[int]) -> Program:
    """A program with some of its residuals."""
    symbols = program.symbols()
    ins = {slot.name: (symbol, slot.labels) for slot, symbol in zip(program.inputs, symbols, strict=True)}
    outs: dict[str, tuple[ca.SX, Sequence[str]]] = {}
    for slot, result in zip(program.outputs, program.function.call(symbols), strict=True):
        if slot.name == "residuals":
            labels = [slot.labels[i] for i in kept] if slot.labels else []
            outs[slot.name] = (ca.vertcat(*[result[i] for i in kept]) if kept else ca.SX(0, 1), labels)
        else:
            outs[slot.name] = (result, slot.labels)
    return Program.build(program.name, ins, outs)

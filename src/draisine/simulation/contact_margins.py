"""Contact margins: what ideal contacts assume about forces, as a program of (t, x, u, p).

A wheel, blade or touching pair that is held by constraints stays in contact whatever force that takes. The margins are the normal
forces, which must not be negative (the ground cannot pull), minus the friction coefficients needed to roll, and the tensions of
cables, which must not be negative either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import MINUS_TENSION, SPRING_LOAD, Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.simulation.compiled_equations import MonitoredMargins
from draisine.simulation.stepper.layout import NEVER_YET

NORMAL, FRICTION, SLIP = "_normal_force", "_friction_needed", "_slip_ratio"
LEAST_FORCE, MOST_FRICTION, LEAST_TENSION = "least_normal_force", "most_friction_needed", "least_tension"  # columns of ensembles
SLACK = "a cable would be slack, and would have to push"
LARGEST_FRICTION = 1.0  # coefficient that a dry road gives; a contact that needs more is reported
LARGEST_SLIP = 1.0 + 1e-6  # slip ratio: -1 where a wheel that runs forward is locked; rounding apart

Reals = NDArray[np.float64]


class ContactMargins(NamedTuple):
    """The margins of some equations: their names, and the program of their values."""

    normal: tuple[str, ...]  # outputs with normal forces …
    friction: tuple[str, ...]  # … and with friction coefficients
    cables: tuple[str, ...]  # multipliers, minus the tensions
    program: Program | LinearSolveProgram

    @property
    def size(self) -> int:
        return len(self.normal) + len(self.friction) + len(self.cables)

    def least_force(self, least: Reals) -> Reals:
        """The least normal force of any contact, from the least margins (runs in rows); NaN where there is none."""
        return _least(least[:, : len(self.normal)])

    def most_friction(self, least: Reals) -> Reals:
        """The largest friction coefficient that any contact needs."""
        return -_least(least[:, len(self.normal) : len(self.normal) + len(self.friction)])

    def least_tension(self, least: Reals) -> Reals:
        """The least tension of any cable."""
        return _least(least[:, len(self.normal) + len(self.friction) :])


def _least(values: Reals) -> Reals:
    found = np.min(values, axis=1, initial=NEVER_YET)
    return np.where(found < NEVER_YET, found, np.nan)


def sliding_tires(values: Mapping[str, float]) -> tuple[str, ...]:
    """Tires that slide with slip ratios beyond ±1, at given values of outputs by name: such a wheel turns backwards while it
    moves on, or more than twice as fast as it would roll."""
    slips = {name.removesuffix(SLIP): value for name, value in values.items() if name.endswith(SLIP)}
    return tuple(f"{name} slides with the slip ratio {slip:.4g}" for name, slip in slips.items() if abs(slip) > LARGEST_SLIP)


def contact_warnings(values: Mapping[str, float]) -> tuple[str, ...]:
    """What ideal contacts would have to do at given values of outputs, by name, and which tires slide."""
    found = [f"{text}: beyond ±1 a wheel turns backwards, or faster than twice its rolling" for text in sliding_tires(values)]
    for name, value in values.items():
        if name.endswith(NORMAL) and value < 0.0:
            found.append(f"the ground would have to pull on {name.removesuffix(NORMAL)} ({value:.4g} N): it would lift off")
        if name.endswith(FRICTION) and value > LARGEST_FRICTION:
            found.append(f"{name.removesuffix(FRICTION)} needs a friction coefficient of {value:.2f} to roll")
    return tuple(found)


def contact_names(equations: Equations) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Outputs with normal forces, and with the friction coefficients needed, of contacts that are held whatever these are."""
    free = {f"{contact.name}{end}" for contact in equations.unilateral for end in (NORMAL, FRICTION)}
    names = [q.name for q in equations.outputs if q.name not in free]
    normal, friction = (tuple(name for name in names if name.endswith(end)) for end in (NORMAL, FRICTION))
    return normal, friction


def constrained_contacts(equations: Equations) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same without normal forces of springs, which cannot be negative, unless the friction that their tire needs is asked."""
    normal, friction = contact_names(equations)
    springs = {q.name for q in equations.outputs if q.description.startswith(SPRING_LOAD)}
    needed = {f"{name.removesuffix(FRICTION)}{NORMAL}" for name in friction}
    return tuple(name for name in normal if name not in springs or name in needed), friction


def cables_of(equations: Equations) -> tuple[str, ...]:
    """Multipliers of cables, which are minus their tensions."""
    return tuple(q.name for q in equations.multipliers if q.description.startswith(MINUS_TENSION))


@lru_cache(maxsize=64)
def contact_margins(equations: Equations) -> ContactMargins | None:
    """The margins of all ideal contacts, or None if there are none."""
    normal, friction = contact_names(equations)
    cables = cables_of(equations)
    if not normal and not friction and not cables:
        return None
    import casadi as ca

    def selected(program: Program) -> Program:
        symbols = program.symbols()
        slot = [s.name for s in program.outputs].index("outputs")
        results = program.function.call(symbols)
        values, index = results[slot], {q.name: i for i, q in enumerate(equations.outputs)}
        pushes, rows = results[[s.name for s in program.outputs].index("multipliers")], [q.name for q in equations.multipliers]
        chosen = ca.vertcat(
            *(values[index[name]] for name in normal),
            *(-values[index[name]] for name in friction),
            *(-pushes[rows.index(name)] for name in cables),
        )
        arguments = {s.name: (symbol, s.labels) for s, symbol in zip(program.inputs, symbols, strict=True)}
        return Program.build(f"{equations.name}_contact", arguments, {"margins": chosen})

    report = equations.report
    program = selected(report) if isinstance(report, Program) else replace(report, after=selected(report.after))
    return ContactMargins(normal, friction, cables, program)


@lru_cache(maxsize=64)
def monitored_margins(equations: Equations) -> MonitoredMargins | None:
    """The margins for runs that monitor them."""
    margins, kernel = contact_margins(equations), contact_kernel(equations)
    return None if margins is None or kernel is None else MonitoredMargins(margins.program, kernel, _is_timed(equations))


def _is_timed(equations: Equations) -> bool:
    """Whether the margins depend on time itself, as they do with inputs that are given as laws of time."""
    margins = contact_margins(equations)
    if margins is None:
        return False
    parts = [margins.program] if isinstance(margins.program, Program) else [margins.program.system, margins.program.after]
    return any(_depends_on_time(part) for part in parts)


def _depends_on_time(program: Program) -> bool:
    at = [slot.name for slot in program.inputs].index("t")
    return any(program.function.jac_sparsity(i, at).nnz() > 0 for i in range(len(program.outputs)))


@lru_cache(maxsize=64)
def contact_kernel(equations: Equations) -> Kernel | None:
    """The compiled margins."""
    margins = contact_margins(equations)
    return None if margins is None else compile(margins.program)

"""Notes in the status of a run that starts from a result: another time, other inputs or parameters, a state that was moved."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.interpreter import dependence
from draisine.program.program import Program
from draisine.results.state_value import StateValue
from draisine.simulation.initial.given_digits import half_digit
from draisine.simulation.initial.result import Start

SAME = 1e-9  # differences of inputs and parameters that are errors of a solution
MOST_UNITS = 10.0  # changes of a rounded value, in half units of its last digit
NAMED = 3  # quantities that a note names


def start_notes(
    given: Any, named: Mapping[str, Any], begin: Start, u: np.ndarray, p: np.ndarray, laws: Collection[str]
) -> tuple[str, ...]:
    """What distinguishes a run from the result that it starts from; `named` are the values of the start as it was `given`."""
    e, found, since = begin.equations, _completed(named, begin), named.get("time", 0.0)
    found += [begin.report.excess] if begin.report.excess else []
    found += begin.report.moving
    if not any(isinstance(value, StateValue) for value in named.values()):
        return tuple(found)
    if since != 0.0 and isinstance(since, StateValue) and depends_on_time(e):
        found.append(
            f"the equations depend on time, and the run starts at t = 0, not at {since:g} s, where its start was computed; "
            f"write t + {since:g} for t in its laws"
        )
    if not isinstance(given, Mapping):
        pairs = [*zip(e.inputs, u.tolist(), strict=True), *zip(e.parameters, p.tolist(), strict=True)]
        known = [(q.name, named[q.name], value) for q, value in pairs if q.name in named and q.name not in laws]
        other = [(name, was, value) for name, was, value in known if abs(was - value) > SAME * max(1.0, abs(was))]
        if other:
            listed = ", ".join(f"{name} = {was:.6g} (now {value:.6g})" for name, was, value in other[:NAMED])
            found.append(f"the start was computed with {listed}; give the run the same inputs and parameters")
    if all(isinstance(value, StateValue) for value in named.values()) and begin.report.moved:
        moved = ", ".join(f"{m.name} by {m.change:.3g}" for m in begin.report.moved[:NAMED])
        found.append(f"the state given as start violates the constraints; the run starts from the nearest one, {moved}")
    return tuple(found)


def _completed(named: Mapping[str, Any], begin: Start) -> list[str]:
    """A note on given values of 0 = F that were completed beyond their digits to satisfy the constraints."""
    form = begin.equations.dynamics
    if not isinstance(form, DaeResidual) or form.orders:
        return []
    given = {w.name: w.wanted for w in begin.report.targets} or {m.name: m.default for m in begin.report.moved}
    changed = [m for m in begin.report.moved if m.name in given and 0.0 < abs(m.change) <= MOST_UNITS * half_digit(m.default)]
    if not changed:
        return []
    listed = ", ".join(f"{m.name} = {m.value:.12g} for {m.default:.12g}" for m in changed[:NAMED])
    return [f"the constraints need more digits than the start has: the run starts with {listed}"]


def depends_on_time(e: Equations) -> bool:
    """Whether the dynamics contain the time."""
    form = e.dynamics
    if isinstance(form, Program):
        programs = [form]
    else:
        programs = [form.residual] if isinstance(form, DaeResidual) else [form.system, form.after]
    return any(len(dependence(program, [slot.name for slot in program.outputs], "t")[0]) > 0 for program in programs)

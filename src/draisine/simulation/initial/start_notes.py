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
from draisine.simulation.initial.result import Start

SAME = 1e-9  # differences of inputs and parameters that are errors of a solution
NAMED = 3  # quantities that a note names


def start_notes(
    given: Any, named: Mapping[str, Any], begin: Start, u: np.ndarray, p: np.ndarray, laws: Collection[str]
) -> tuple[str, ...]:
    """What distinguishes a run from the result that it starts from; `named` are the values of the start as it was `given`."""
    if not any(isinstance(value, StateValue) for value in named.values()):
        return ()
    e, found, since = begin.equations, [], named.get("time", 0.0)
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


def depends_on_time(e: Equations) -> bool:
    """Whether the dynamics contain the time."""
    form = e.dynamics
    if isinstance(form, Program):
        programs = [form]
    else:
        programs = [form.residual] if isinstance(form, DaeResidual) else [form.system, form.after]
    return any(len(dependence(program, [slot.name for slot in program.outputs], "t")[0]) > 0 for program in programs)

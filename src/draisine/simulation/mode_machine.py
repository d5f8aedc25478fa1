"""The stepping loop with its contacts for other languages: what is translated, and the contents of its records.

Exported code and pages run the loop of `simulate` itself, translated from restricted Python (`codegen/restricted`), with an
explicit method. Records are made as for a run in Python, so that their layout is known in one place, and are written as data.
"""

from __future__ import annotations

import ast
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.restricted.entry import Entry
from draisine.codegen.restricted.reachable import Reached, reached
from draisine.codegen.restricted.types import ArrayType, Record, RecordType
from draisine.errors import ModelError
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.switching import jumps_of
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import broken_threshold, projection_threshold
from draisine.simulation.run import PENETRATION
from draisine.simulation.singular_passage import set_limits
from draisine.simulation.stepper.contact_layout import ContactModes
from draisine.simulation.stepper.contact_memory import UnilateralKernels
from draisine.simulation.stepper.layout import Stepper, Tableau
from draisine.simulation.stepper.memory import EXPLICIT, SOURCES, Kernels, Memory, no_switches

Reals = NDArray[np.float64]

# Explicit methods with error control; no switching functions besides contacts, no events, no derivatives of the state. Kernels
# have no hoisted values.
_ON = ("switching", "unilateral", "adaptive")
_OFF = (
    *("branch_margins", "restarts", "sliding", "variations", "marks", "events", "control"),
    *("contact_kernel", "aborted", "check_stiffness", "prologue", "deviation"),
)
FIXED: dict[tuple[type[Any], str], int] = {
    **EXPLICIT,
    (Tableau, "external"): 0,
    **{(Stepper, name): 1 for name in _ON},
    **{(Stepper, name): 0 for name in _OFF},
}
MACHINE = Entry("draisine.simulation.stepper.loop", "advance", SOURCES, FIXED)
# Other functions and constants of the loop that drivers need.
NAMES = ("evaluate", "CONTINUE", "PAUSED", "FULL", "REACHED", "FRESH", "CHANGED", "RUNNING", "TOO_MANY_STEPS", "CONTACT_UNSOLVED")
KERNEL = 1  # stands for the address of a kernel
# Fields with addresses of kernels, and the programs behind them.
KERNELS = {
    "dynamics": "dynamics",
    "project": "project",
    "monitor": "monitor",
    "modes.terms": "contact_terms",
    "modes.margin_kernel": "contact_margins",
    "modes.system_kernel": "contact_system",
    "modes.all_dynamics": "dynamics",
    "modes.all_project": "project",
    "modes.all_margins": "contact_margins",
    "modes.usual_dynamics": "usual_dynamics",
    "modes.usual_project": "usual_project",
    "modes.usual_margins": "usual_margins",
}


@cache
def machine_code() -> Reached:
    """The functions of the loop, and of its contacts."""
    return reached(MACHINE.home, (MACHINE.function, *NAMES), FIXED)


@cache
def used_fields() -> frozenset[str]:
    """Names of the fields of records that these functions read or write."""
    trees = machine_code().functions.values()
    return frozenset(node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def record_fields() -> dict[str, list[str]]:
    """The used fields of each record."""
    records = (Stepper, Tableau, ContactModes)
    return {one.__name__: [name for name in one.__fields__ if name in used_fields()] for one in records}


def record_script() -> str:
    """Makers of records for JavaScript: objects with all fields at once, which engines access quickly."""
    zeros = {name: ", ".join(f"{field}: 0" for field in fields) for name, fields in record_fields().items()}
    return f"Draisine.machine.records = {{ {', '.join(f'{name}: () => ({{ {text} }})' for name, text in zeros.items())} }};\n"


def check_machine(e: Equations, purpose: str) -> None:
    """Raise `ModelError` for contacts among equations that the translated loop does not step.

    It locates no switches. Kinks, as those of linear tables and of `clip`, only make steps shorter; at jumps of a law a motion
    may slide, which needs the surface of the jump.
    """
    if e.can_switch and (jumps := jumps_of(e)):
        raise ModelError(
            f"{e.name!r} has contacts that open and laws that jump ({', '.join(jumps[:3])}); {purpose} takes one of both. "
            f"Smooth the laws, for example tanh(v/width) for sign(v), or fix the modes, model.in_modes({{…}})"
        )
    if e.contact_terms is None or e.contact_margins is None:
        raise ModelError(f"{e.name!r}: its contacts have no terms from which modes could be found; {purpose} needs them")


def machine_programs(e: Equations) -> dict[str, Program | LinearSolveProgram]:
    """The programs of (t, x, u, p) that the loop calls, by name; p with the modes at its end."""
    found = {name: getattr(e, "explicit" if name == "dynamics" else name) for name in dict.fromkeys(KERNELS.values())}
    if e.contact_system is not None:  # from which derivatives and margins of all modes follow
        found |= {"dynamics": None, "contact_margins": None}
    return {name: program for name, program in found.items() if program is not None}


def machine_record(e: Equations, x: Reals, p: Reals, method: DOP853) -> Stepper:
    """The records of a run from a state with parameters and modes, without kernels and without samples."""

    def address(program: object) -> int:
        return 0 if program is None else KERNEL

    sizes = len(e.velocities), len(e.multipliers), len(e.coordinates)
    kernels = UnilateralKernels(e.unilateral, KERNEL, KERNEL, *sizes, e.limits.length, address(e.contact_system))
    memory = Memory(
        Kernels(KERNEL, address(e.project), address(e.monitor), unilateral=kernels),
        method,
        x,
        np.zeros(len(e.inputs)),
        p,
        (0.0, 0.0),
        np.zeros(0),
        switches=no_switches(),
    )
    s = memory.stepper
    s.threshold = e.limits.residual or projection_threshold(method)
    s.broken = broken_threshold(e.limits, s.threshold)
    s.threshold = min(s.threshold, PENETRATION * e.limits.length)
    s.projections, s.budget, s.kink_patience = e.limits.projections, 1 << 30, 1
    set_limits(s, e)
    if e.usual_dynamics is not None and e.usual_margins is not None:
        s.modes.usual_dynamics, s.modes.usual_project, s.modes.usual_margins = KERNEL, address(e.usual_project), KERNEL
        s.modes.usual_parameters, s.modes.worst = s.parameters.copy(), e.limits.condition
    return s


class Contents(NamedTuple):
    """The used fields of a record: numbers, arrays and other records by name."""

    kind: str
    numbers: dict[str, float]
    arrays: dict[str, NDArray[Any]]
    records: dict[str, Contents]


def contents(record: Record) -> Contents:
    """What a record has, of the fields that are used."""
    found = Contents(type(record).__name__, {}, {}, {})
    for name, field in record.__fields__.items():
        if name not in used_fields():
            continue
        match field.type:
            case ArrayType():
                found.arrays[name] = getattr(record, name, np.zeros((0,) * field.type.ndim, field.type.dtype))
            case RecordType():
                found.records[name] = contents(getattr(record, name))
            case _:
                found.numbers[name] = getattr(record, name)
    return found


def plain_contents(found: Contents) -> dict[str, Any]:
    """Contents of a record as JSON data; null stands for infinity. Arrays of zeros have a shape only."""

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "kind": found.kind,
        "numbers": {name: number(value) for name, value in found.numbers.items()},
        "arrays": {
            name: [list(array.shape), [number(value) for value in array.ravel().tolist()]] if array.any() else [list(array.shape)]
            for name, array in found.arrays.items()
        },
        "records": {name: plain_contents(inner) for name, inner in found.records.items()},
    }

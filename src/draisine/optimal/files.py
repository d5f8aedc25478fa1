"""Solutions in NetCDF files: the trajectory, with the results at the nodes in further groups.

`draisine.load` returns the trajectory. The statement of the maneuver is not in the file: `maneuver.load(path)` returns the whole
solution, with the stored result simulated again. Files are data; nothing in them is executed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.adjoint.method import Adjoint
from draisine.results.checksum import seal
from draisine.results.files import replacing
from draisine.results.formats import netcdf
from draisine.results.metadata import encode

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution, Solution
    from draisine.optimal.symbolic_model import Condition

Reals = NDArray[np.float64]

GROUP = "optimal"
ARRAYS = ("unknowns", "row_multipliers", "bound_multipliers")
SCHEMES: dict[str, type[Collocation | MultipleShooting | Adjoint]] = {
    "collocation": Collocation,
    "multiple_shooting": MultipleShooting,
    "adjoint": Adjoint,
}


def save(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write trajectory and solution to a NetCDF file, atomically."""
    target = Path(path)
    if target.suffix.lower() != ".nc":
        raise ArgumentError(
            f"solutions are saved in NetCDF files (.nc), got {target.name!r}; solution.trajectory.save(…) supports other formats"
        )
    answer = solution.answer
    reported = {
        "statement": statement(solution),
        "outcome": str(answer.outcome),
        "solver_status": answer.solver_status,
        "iterations": answer.iterations,
        "objective": answer.objective,
        "violation": answer.violation,
        "stationarity": answer.stationarity,
        "rounds": solution.rounds,
        "refined": solution.refined,
        "tolerance": solution.tolerance,
        "conflicts": list(solution.conflicts),
        "notes": list(solution.notes),
        "seconds": dict(solution.seconds),
        "solver_seconds": dict(answer.seconds),
        "regularized": answer.regularized,
        "steps": list(answer.steps),
        "kkt": None if solution.kkt is None else asdict(solution.kkt),
        "schemes": [_scheme(p.scheme) for p in solution.phases],
    }
    arrays = dict(zip(ARRAYS, (answer.w, answer.row_multipliers, answer.bound_multipliers), strict=True))
    with replacing(target) as draft:
        groups: dict[str, dict[str, netcdf.Variable]] = {GROUP: {n: ((f"{n}_index",), a, {}) for n, a in arrays.items()}}
        groups[GROUP]["reported"] = (), encode(reported), {}
        groups |= {f"phase_{k + 1}": _phase(p) for k, p in enumerate(solution.phases)}
        with netcdf.written(draft) as file:
            netcdf.put_run(file, solution.trajectory)
            for name, variables in groups.items():
                netcdf.put(file.create_group(name), variables)
        seal(draft)


def statement(solution: Solution) -> dict[str, str]:
    """Digests of what a maneuver states, by subject: a file is read only into the maneuver of which it has the solution."""
    stated: dict[str, list[object]] = {}

    def add(subject: str, *values: object) -> None:
        stated.setdefault(subject, []).extend(values)

    for problem, found in zip(solution.maneuver.phases, solution.phases, strict=True):
        phase, boundary = found.phase, found.phase.boundary
        add("equations, conditions or costs", phase.node.value.digest, "" if boundary is None else boundary.value.digest)
        add("equations, conditions or costs", phase.equations.explicit.digest if not phase.implicit else "")
        add("costs", float(phase.time_weight))
        add("the start", *(f"{name}={_number(value)}" for name, value in sorted(problem.targets.items())), phase.start_fixed)
        add("the start", *(float(q.default) for q in phase.equations.states), *(c.name for c in phase.start_rows))
        add("links of phases", problem.link.joined, *(f"{name}={value}" for name, value in sorted(problem.link.jump.items())))
        add("modes of contacts", *sorted(problem.contact_modes.items()), *sorted(problem.link.impact.items()))
        add("the finish", *_ranges(phase.ends), *(f"{name}={float(value)!r}" for name, _, value in phase.dropped))
        add("bounds", *_ranges(phase.path), *(f"{n}: {float(a)!r} {float(b)!r}" for n, (a, b) in sorted(phase.limits.items())))
        add("the duration", *map(float, phase.times))
        fixed = [q.name not in phase.unknown_parameters for q in phase.equations.parameters]
        add("parameters", *phase.p[fixed].tolist(), *sorted(problem.unknown_parameters))
        add("inputs", *phase.controls, *phase.inputs.tolist())
    return {subject: hashlib.sha256(repr(values).encode()).hexdigest() for subject, values in stated.items()}


def _ranges(conditions: Sequence[Condition]) -> list[str]:
    return [f"{c.name}: {float(c.low)!r} {float(c.high)!r}" for c in conditions]


def _number(value: object) -> str:
    return repr(float(value)) if isinstance(value, int | float) else repr(value)


def _scheme(scheme: object) -> dict[str, Any]:
    for kind, method in SCHEMES.items():
        if isinstance(scheme, method):
            return {"kind": kind, **asdict(scheme)}
    raise ArgumentError(f"solutions by {type(scheme).__name__} cannot be saved; solution.trajectory.save(…) saves the motion")


def _phase(found: PhaseSolution) -> dict[str, netcdf.Variable]:
    """A phase at its nodes for other tools: states, controls and costates, each with its own times."""
    variables: dict[str, netcdf.Variable] = {
        "time": (("time",), found.times, {"units": "s"}),
        "input_time": (("input_time",), found.input_times, {"units": "s"}),
        "costate_time": (("costate_time",), found.costate_times, {"units": "s"}),
        "state": (("state",), list(found.phase.kept), {}),
        "input": (("input",), list(found.phase.controls), {}),
        "states": (("time", "state"), found.states, {}),
        "inputs": (("input_time", "input"), found.controls, {}),
        "costates": (("costate_time", "state"), found.costates, {}),
    }
    if found.pontryagin is not None:
        variables["hamiltonian"] = ("costate_time",), found.pontryagin.hamiltonian, {}
        variables["switching"] = ("input_time", "input"), found.pontryagin.switching, {}
    return variables

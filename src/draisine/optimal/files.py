"""Solutions in files: a NetCDF file that is the trajectory's own, with what was found at the nodes in groups beside it.

`draisine.load` gives the motion back; with the maneuver, whose words are not in the file, `maneuver.load(path)` gives the whole
solution: the equations are looked up again, and the stored answer is simulated again. Nothing in a file can run.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.direct_methods import Collocation
from draisine.optimal.adjoint.method import Adjoint
from draisine.optimal.shooting import MultipleShooting
from draisine.results.files import replacing
from draisine.results.formats import netcdf
from draisine.results.metadata import encode

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution, Solution

Reals = NDArray[np.float64]

GROUP = "optimal"
ARRAYS = ("unknowns", "row_multipliers", "bound_multipliers")
SCHEMES: dict[str, type[Collocation | MultipleShooting | Adjoint]] = {
    "collocation": Collocation,
    "shooting": MultipleShooting,
    "adjoint": Adjoint,
}


def save(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write the motion and the answer to a NetCDF file, completely or not at all."""
    import xarray

    target = Path(path)
    if target.suffix.lower() != ".nc":
        raise ArgumentError(
            f"solutions are kept in NetCDF files (.nc), got {target.name!r}; solution.trajectory.save(…) has others"
        )
    answer = solution.answer
    reported = {
        "digest": digest(solution.phases),
        "outcome": str(answer.outcome),
        "said": answer.said,
        "iterations": answer.iterations,
        "objective": answer.objective,
        "violation": answer.violation,
        "stationarity": answer.stationarity,
        "rounds": solution.rounds,
        "fighting": list(solution.conflicts),
        "schemes": [_scheme(p.scheme) for p in solution.phases],
    }
    arrays = dict(zip(ARRAYS, (answer.w, answer.row_multipliers, answer.bound_multipliers), strict=True))
    with replacing(target) as draft:
        netcdf.write(solution.trajectory, draft)
        groups = {GROUP: xarray.Dataset({n: (n + "_places", a) for n, a in arrays.items()} | {"told": ((), encode(reported))})}
        groups |= {f"phase_{k + 1}": _phase(p) for k, p in enumerate(solution.phases)}
        for name, dataset in groups.items():
            dataset.to_netcdf(draft, mode="a", group=name, engine=netcdf.engine("saving .nc"), format="NETCDF4")


def digest(phases: tuple[PhaseSolution, ...]) -> str:
    """Of all programs of a maneuver: it changes with equations, conditions and costs."""
    reported = hashlib.sha256()
    for p in phases:
        boundary = p.phase.boundary
        reported.update(p.phase.node.value.digest.encode() + (b"" if boundary is None else boundary.value.digest.encode()))
    return reported.hexdigest()


def _scheme(scheme: object) -> dict[str, Any]:
    for kind, made in SCHEMES.items():
        if isinstance(scheme, made):
            return {"kind": kind, **asdict(scheme)}
    raise ArgumentError(
        f"solutions by {type(scheme).__name__} are not kept in files; solution.trajectory.save(…) keeps the motion"
    )


def _phase(found: PhaseSolution) -> Any:
    """A phase at its nodes for other tools: states, controls and costates, each along its own times."""
    import xarray

    kept, controls = list(found.phase.kept), list(found.phase.controls)
    variables: dict[str, Any] = {
        "states": (("time", "state"), found.states),
        "inputs": (("input_time", "input"), found.controls),
        "costates": (("costate_time", "state"), found.costates),
    }
    if found.necessary is not None:
        variables["hamiltonian"] = (("costate_time",), found.necessary.hamiltonian)
        variables["switching"] = (("input_time", "input"), found.necessary.switching)
    places = {
        "time": found.times,
        "input_time": found.input_times,
        "costate_time": found.costate_times,
        "state": kept,
        "input": controls,
    }
    return xarray.Dataset(variables, coords=places)

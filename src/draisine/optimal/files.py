"""Solutions in files: a NetCDF file that is the trajectory's own, with what was found at the nodes in groups beside it.

`draisine.load` gives the motion back; with the manoeuvre, whose words are not in the file, `manoeuvre.load(path)` gives the whole
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

from draisine.errors import ArgumentError, DataError
from draisine.optimal.adjoint.method import Adjoint, Descent
from draisine.optimal.collocation import Collocation
from draisine.optimal.ipopt import Answer, Outcome
from draisine.optimal.shooting import Shooting
from draisine.optimal.stored_solution import Kept
from draisine.results.files import MAX_NUMBERS, replacing
from draisine.results.formats import netcdf
from draisine.results.metadata import decode, encode

if TYPE_CHECKING:
    from draisine.optimal.maneuver import Manoeuvre
    from draisine.optimal.solution import PhaseSolution, Solution

Reals = NDArray[np.float64]

GROUP = "optimal"
_ARRAYS = ("unknowns", "row_multipliers", "bound_multipliers")
_SCHEMES: dict[str, type[Collocation | Shooting | Adjoint]] = {
    "collocation": Collocation,
    "shooting": Shooting,
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
    told = {
        "digest": digest(solution.phases),
        "outcome": str(answer.outcome),
        "said": answer.said,
        "iterations": answer.iterations,
        "objective": answer.objective,
        "violation": answer.violation,
        "stationarity": answer.stationarity,
        "rounds": solution.rounds,
        "fighting": list(solution.fighting),
        "schemes": [_scheme(p.scheme) for p in solution.phases],
    }
    arrays = dict(zip(_ARRAYS, (answer.w, answer.row_multipliers, answer.bound_multipliers), strict=True))
    with replacing(target) as draft:
        netcdf.write(solution.trajectory, draft)
        groups = {GROUP: xarray.Dataset({n: (n + "_places", a) for n, a in arrays.items()} | {"told": ((), encode(told))})}
        groups |= {f"phase_{k + 1}": _phase(p) for k, p in enumerate(solution.phases)}
        for name, dataset in groups.items():
            dataset.to_netcdf(draft, mode="a", group=name, engine=netcdf.engine("saving .nc"), format="NETCDF4")


def load(manoeuvre: Manoeuvre, path: str | os.PathLike[str], limit: int = MAX_NUMBERS) -> Solution:
    """The solution of this manoeuvre that `save` wrote."""
    import xarray

    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {str(source)!r}")
    try:
        with xarray.open_dataset(source, group=GROUP, engine=netcdf.engine("loading .nc"), decode_cf=False) as dataset:
            sizes = [int(dataset[n].size) for n in _ARRAYS]
            if sum(sizes) > limit:
                raise DataError(f"it holds {sum(sizes)} numbers, more than {limit}")
            arrays = [np.array(dataset[n].values, dtype=float).ravel() for n in _ARRAYS]
            told = decode(dataset["told"].values.item())
        kept = _told(told, arrays)
    except (DataError, TypeError, ValueError) as problem:
        raise DataError(f"{source}: {problem}") from None
    except (OSError, KeyError) as problem:
        raise DataError(f"{source}: it holds no solution of a manoeuvre ({str(problem).splitlines()[0][:120]})") from None
    if len(kept.schemes) != len(manoeuvre.phases):
        raise DataError(f"{source}: it holds {len(kept.schemes)} phases, the manoeuvre has {len(manoeuvre.phases)}")
    found = kept.restored(manoeuvre)
    if told.get("digest") != digest(found.phases):
        raise DataError(
            f"{source}: its model, conditions or costs are not those of this manoeuvre; state the manoeuvre that was solved"
        )
    return found


def digest(phases: tuple[PhaseSolution, ...]) -> str:
    """Of all programs of a manoeuvre: it changes with equations, conditions and costs."""
    told = hashlib.sha256()
    for p in phases:
        boundary = p.phase.boundary
        told.update(p.phase.node.value.digest.encode() + (b"" if boundary is None else boundary.value.digest.encode()))
    return told.hexdigest()


def _scheme(scheme: object) -> dict[str, Any]:
    for kind, made in _SCHEMES.items():
        if isinstance(scheme, made):
            return {"kind": kind, **asdict(scheme)}
    raise ArgumentError(
        f"solutions by {type(scheme).__name__} are not kept in files; solution.trajectory.save(…) keeps the motion"
    )


def _told(told: Any, arrays: list[Reals]) -> Kept:
    if not isinstance(told, dict) or not isinstance(told.get("schemes"), list):
        raise DataError("what it tells of its solution is damaged")
    schemes = []
    for each in told["schemes"]:
        kind = each.get("kind")
        given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in each.items() if n != "kind"}
        if kind not in _SCHEMES:
            raise DataError(f"its method {kind!r} is unknown")
        if isinstance(given.get("descent"), dict):
            given["descent"] = Descent(**given["descent"])
        schemes.append(_SCHEMES[kind](**given))  # checked by the scheme itself
    objective, violation, stationarity = (float(told[name]) for name in ("objective", "violation", "stationarity"))
    words = Outcome(told["outcome"]), str(told["said"]), int(told["iterations"])
    answer = Answer(arrays[0], arrays[1], arrays[2], objective, *words, violation, stationarity, {})
    return Kept(tuple(schemes), answer, tuple(str(f) for f in told["fighting"]), int(told["rounds"]))


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

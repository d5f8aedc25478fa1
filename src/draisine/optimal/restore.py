"""Solutions restored from files and other processes: the stored result is simulated again, without a new search."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import DataError
from draisine.optimal.adjoint.method import Adjoint, Descent
from draisine.optimal.adjoint.solve import restored_by_adjoint
from draisine.optimal.files import ARRAYS, GROUP, SCHEMES, Reals, digest
from draisine.optimal.ipopt import NlpSolution, Outcome
from draisine.optimal.solve import restored_by_transcription
from draisine.results.formats import netcdf
from draisine.results.load import MAX_NUMBERS
from draisine.results.metadata import decode

if TYPE_CHECKING:
    from draisine.numerics.direct_methods import Collocation, MultipleShooting
    from draisine.optimal.maneuver import OptimalControlProblem
    from draisine.optimal.solution import Solution


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """The result of the solver and the method, for files and other processes. With the maneuver it gives the whole solution."""

    schemes: tuple[Collocation | MultipleShooting | Adjoint, ...]  # one per phase
    answer: NlpSolution
    conflicts: tuple[str, ...]
    rounds: int
    tolerance: float

    @staticmethod
    def of(solution: Solution) -> StoredSolution:
        schemes = tuple(p.scheme for p in solution.phases)
        return StoredSolution(schemes, solution.answer, solution.conflicts, solution.rounds, solution.tolerance)


def load(maneuver: OptimalControlProblem, path: str | os.PathLike[str], limit: int = MAX_NUMBERS) -> Solution:
    """Load the solution of this maneuver from a file written by `save`."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {str(source)!r}")
    try:
        with netcdf.opened(source, limit) as file:
            variables = file.groups[GROUP].variables
            total = sum(math.prod(variables[n].shape) for n in ARRAYS)
            if total > limit:
                raise DataError(f"the file holds {total} numbers, more than {limit}")
            arrays = [np.array(variables[n][...], dtype=float).ravel() for n in ARRAYS]
            reported = decode(netcdf.text_of(variables["reported"]))
        kept = _reported(reported, arrays)
    except (DataError, TypeError, ValueError) as problem:
        raise DataError(f"{source}: {problem}") from None
    except (OSError, KeyError) as problem:
        raise DataError(f"{source}: the file holds no solution of a maneuver ({str(problem).splitlines()[0][:120]})") from None
    if len(kept.schemes) != len(maneuver.phases):
        raise DataError(f"{source}: the file holds {len(kept.schemes)} phases, the maneuver has {len(maneuver.phases)}")
    found = restored(kept, maneuver)
    if reported.get("digest") != digest(found.phases):
        raise DataError(
            f"{source}: model, conditions or costs differ from those of this maneuver; state the maneuver that was solved"
        )
    return found


def restored(kept: StoredSolution, maneuver: OptimalControlProblem) -> Solution:
    """The solution of a maneuver from the stored result, simulated again."""
    if isinstance(kept.schemes[0], Adjoint):
        return restored_by_adjoint(maneuver, kept.schemes[0], kept.answer)
    schemes = [s for s in kept.schemes if not isinstance(s, Adjoint)]
    return restored_by_transcription(maneuver, schemes, kept.answer, kept.conflicts, kept.rounds, kept.tolerance)


def _reported(reported: Any, arrays: list[Reals]) -> StoredSolution:
    if not isinstance(reported, dict) or not isinstance(reported.get("schemes"), list):
        raise DataError("the description of the solution is damaged")
    schemes = []
    for each in reported["schemes"]:
        kind = each.get("kind")
        given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in each.items() if n != "kind"}
        if kind not in SCHEMES:
            raise DataError(f"method {kind!r} is unknown")
        if isinstance(given.get("descent"), dict):
            given["descent"] = Descent(**given["descent"])
        schemes.append(SCHEMES[kind](**given))  # validated by the class
    objective, violation, stationarity = (float(reported[name]) for name in ("objective", "violation", "stationarity"))
    outcome = Outcome(reported["outcome"]), str(reported["solver_status"]), int(reported["iterations"])
    answer = NlpSolution(arrays[0], arrays[1], arrays[2], objective, *outcome, violation, stationarity, {})
    conflicts, tolerance = tuple(str(f) for f in reported["conflicts"]), float(reported["tolerance"])
    return StoredSolution(tuple(schemes), answer, conflicts, int(reported["rounds"]), tolerance)

"""Solutions restored from files and other processes: the stored result is simulated again, without a new search."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import DataError
from draisine.optimal.adjoint.method import Adjoint, Descent
from draisine.optimal.adjoint.solve import restored_by_adjoint
from draisine.optimal.files import ARRAYS, GROUP, SCHEMES, Reals, statement
from draisine.optimal.first_order_conditions import Kkt
from draisine.optimal.ipopt import NlpSolution, Outcome
from draisine.optimal.solve import restored_by_transcription
from draisine.results.formats import netcdf
from draisine.results.load import MAX_NUMBERS
from draisine.results.metadata import decode, list_at, number_at, numbers_at, object_at, text_at

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
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    kkt: Kkt | None
    refined: bool

    @staticmethod
    def of(solution: Solution) -> StoredSolution:
        schemes = tuple(p.scheme for p in solution.phases)
        own = {f.name: getattr(solution, f.name) for f in fields(StoredSolution) if f.name != "schemes"}
        return StoredSolution(schemes, **own)


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
    stored = reported.get("statement")
    if not isinstance(stored, dict):
        raise DataError(f"{source}: the description of the solution is damaged")
    other = [subject for subject, digest in statement(found).items() if stored.get(subject) != digest]
    if other:
        raise DataError(
            f"{source}: this maneuver is not the one that was solved, it differs in {', '.join(other)}; state the maneuver "
            "that was solved, or use the stored motion as a guess: solve(guess=draisine.load(path))"
        )
    return found


def restored(kept: StoredSolution, maneuver: OptimalControlProblem) -> Solution:
    """The solution of a maneuver from the stored result, simulated again. What the search alone knows is that of the search:
    notes, seconds, and residuals in its scales."""
    if isinstance(kept.schemes[0], Adjoint):
        found = restored_by_adjoint(maneuver, kept.schemes[0], kept.answer)
    else:
        schemes = [s for s in kept.schemes if not isinstance(s, Adjoint)]
        found = restored_by_transcription(maneuver, schemes, kept.answer, kept.conflicts, kept.rounds, kept.tolerance)
    answer = replace(found.answer, seconds=kept.answer.seconds)
    return replace(found, answer=answer, notes=kept.notes, seconds=kept.seconds, kkt=kept.kkt, refined=kept.refined)


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
    spent = numbers_at(reported, "solver_seconds")
    before, last = (float(step) for step in list_at(reported, "steps"))
    searched = bool(reported["regularized"]), (before, last)
    answer = NlpSolution(arrays[0], arrays[1], arrays[2], objective, *outcome, violation, stationarity, spent, *searched)
    conflicts, notes = (tuple(map(str, list_at(reported, name))) for name in ("conflicts", "notes"))
    rounds, tolerance, seconds = int(reported["rounds"]), float(reported["tolerance"]), numbers_at(reported, "seconds")
    kkt = None if reported.get("kkt") is None else _kkt(object_at(reported, "kkt"))
    return StoredSolution(tuple(schemes), answer, conflicts, rounds, tolerance, notes, seconds, kkt, bool(reported["refined"]))


def _kkt(given: Mapping[str, Any]) -> Kkt:
    texts = {f.name: text_at(given, f.name) for f in fields(Kkt) if f.name.endswith("_name")}
    numbers = {f.name: number_at(given, f.name) for f in fields(Kkt) if f.name not in texts}
    found: dict[str, Any] = {**texts, **numbers}
    return Kkt(**found)

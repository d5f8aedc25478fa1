"""Results of an ensemble: a table with one row per run, and statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.arguments import unknown_name
from draisine.results.base import Result, figure
from draisine.simulation.contact_margins import LEAST_FORCE, LEAST_TENSION, MOST_FRICTION
from draisine.simulation.ensemble.statistics import COMPLETE, Moments, Tally
from draisine.simulation.ensemble.storage import Folder

SHOWN = 4  # columns drawn when none are named


@dataclass(frozen=True, eq=False)
class Ensemble(Result):
    """An ensemble: one row per run, and statistics.

    Columns: `run`, the varied names, `status`, `event` and `reason` as texts, `ended` (the time reached), `steps`, `warnings`
    (what a single run warns of, in short), and what was kept (`lean.end`, `lean@1.5`, `lean.max`, `fell_over.first`, …). With
    ideal contacts also `least_normal_force` and `most_friction_needed`, over all contacts and accepted steps of a run. With a
    folder, columns are read from disk when used.
    """

    name: str
    varied: tuple[str, ...]
    shape: tuple[int, ...]  # of the grid, or the number of runs
    units: dict[str, str]
    tally: Tally
    complete: bool  # False if it was interrupted
    seconds: float
    folder: Folder | None = None
    _columns: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    names: tuple[str, ...] = ()
    of_model: tuple[str, ...] = ()  # warnings about the equations, the same in every run
    chunks: tuple[int, ...] = ()  # those in the statistics; columns are read from these alone
    remade: tuple[str, ...] = ()  # stored chunks that were damaged or of another ensemble

    def __len__(self) -> int:
        """Number of completed runs."""
        return sum(self.tally.statuses.values())

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column."""
        if name not in self.names:
            raise unknown_name(f"column of the ensemble of {self.name}", name, self.names)
        return self.folder.column(name, self.chunks) if self.folder is not None else self._columns[name]

    def grid(self, name: str) -> NDArray[Any]:
        """A column in the shape of the grid: one axis for each name of `over`."""
        if not self.complete:
            raise ArgumentError(
                f"the ensemble of {self.name} was interrupted after {len(self)} runs and does not fill the grid; resume it"
            )
        return self[name].reshape(self.shape)

    @property
    def statuses(self) -> dict[str, int]:
        """Number of runs by status."""
        return dict(self.tally.statuses)

    @property
    def complaint(self) -> str:
        """What is wrong with the first run that has invalid values (status BAD_VALUES), or ""."""
        return self.tally.complaint

    @property
    def statistics(self) -> dict[str, Moments]:
        """Count, mean, standard deviation, minimum and maximum of each numeric column, without NaN; of results, only over runs
        that reached their end (status FINISHED or EVENT)."""
        return dict(self.tally.moments)

    def _table(self) -> Mapping[str, Any]:
        return {name: self[name] for name in self.names}

    def _overview(self) -> Mapping[str, Any]:
        of = self.statistics
        reported = {key: [getattr(m, key) for m in of.values()] for key in ("count", "mean", "deviation", "least", "greatest")}
        return {"column": list(of), "unit": [self._unit(name) for name in of], **reported}

    def survived(self) -> NDArray[np.bool_]:
        """Which runs reached `until` without a contact at which the ground would have to pull, or a cable that would have to
        push."""
        slack = self[LEAST_TENSION] < 0.0 if LEAST_TENSION in self.names else False
        return np.asarray((self["status"] == "FINISHED") & ~self.pulled() & ~np.asarray(slack))

    def pulled(self) -> NDArray[np.bool_]:
        """In which runs the ground would have to pull: ideal contacts do not lift off, and such a motion is not possible."""
        if LEAST_FORCE not in self.names:
            return np.zeros(len(self["status"]), dtype=bool)
        return np.asarray(self[LEAST_FORCE] < 0.0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What single runs warn of, with the number of runs; the column `warnings` says which."""
        found = []
        failed = {status: count for status, count in self.statuses.items() if status not in COMPLETE}
        if failed:
            kinds = ", ".join(f"{count:,} {status}" for status, count in failed.items())
            found.append(
                f"{_runs(sum(failed.values()))} did not reach the end ({kinds}); the statistics of results leave them out"
            )
        if self.tally.pulled:
            least = self.statistics[LEAST_FORCE].least
            found.append(f"in {_runs(self.tally.pulled)} the ground would have to pull (least normal force {least:.4g} N)")
        if self.tally.slipped:
            most = self.statistics[MOST_FRICTION].greatest
            found.append(f"in {_runs(self.tally.slipped)} a contact needs a friction coefficient above 1 (up to {most:.3g})")
        found += [f"in {_runs(count)} {text}" for text, count in self.tally.warned.items()]
        found += [f"{text}; computed again" for text in self.remade]
        found += self.of_model
        return tuple(found)

    def plot(self, *names: str, **options: Any) -> Any:
        """Status of the runs over two varied quantities; with names, or with fewer varied quantities, numeric columns.

        See `draisine.view.plots.parameter_studies`.
        """
        varied = [name for name in self.varied if name in self.names]
        if len(varied) >= 2 and not names:
            axes = {name: (self._unit(name), self[name]) for name in varied}
            return figure("plots.parameter_studies.endings", axes, self["status"], pulled=self.pulled(), **options)
        kept = [
            n
            for n in self.statistics
            if n not in (*self.varied, "run", "steps", LEAST_FORCE, MOST_FRICTION, LEAST_TENSION) and self.statistics[n].count
        ]
        ends = [n for n in kept if n.endswith(".end")]
        columns = {name: (self._unit(name), self[name]) for name in (names or (ends or kept)[:SHOWN])}
        if not columns:
            columns = {"ended": ("s", self["ended"])}
        over = (varied[0], self._unit(varied[0]), self[varied[0]]) if len(varied) == 1 else None
        return figure("plots.parameter_studies.outcomes", over, columns, **options)

    def _unit(self, column: str) -> str:
        name = column.partition(".")[0].partition("@")[0]
        if column in (LEAST_FORCE, LEAST_TENSION):
            return "N"
        return self.units.get(column, self.units.get(name, "s" if column == "ended" or column.endswith(".first") else ""))

    def __str__(self) -> str:
        ends = ", ".join(f"{count:,} {status}" for status, count in self.statuses.items())
        rate = f"{len(self) / self.seconds:,.0f} runs/s" if self.seconds > 0 else ""
        state = "" if self.complete else ", interrupted"
        reported = "".join(f"; {text}" for text in (self.complaint, *self.warnings) if text)
        return f"{self.name}: {len(self):,} runs ({ends}) in {self.seconds:.3g} s, {rate}{state}{reported}"


def _runs(count: int) -> str:
    return f"{count:,} run{'s' if count != 1 else ''}"

"""Measured bicycles and riders by name, from a folder or an installed copy of the BicycleParameters project.

    data/bicycles/Browser/Parameters/BrowserBenchmark.txt     parameters with standard deviations
    data/bicycles/Browser/RawData/BrowserMeasured.txt         lengths, weights and periods; where a rider sits
    data/riders/Jason/RawData/JasonYeadonMeas.txt             95 measurements of the body
    data/riders/Jason/RawData/JasonBrowserYeadonCFG.txt       inclination of the trunk on this bicycle
    data/riders/Jason/Parameters/JasonBrowserBenchmark.txt    mass, center of mass and inertia, if the body was not measured

Nothing of this is shipped with draisine. The installed package has the bicycles of its application only; its source has all.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from draisine.bicycle.measured import MeasuredBicycle
from draisine.bicycle.parameter_file import BicycleText, read_text
from draisine.bicycle.raw_measurements import parameters_of, read_measured
from draisine.bicycle.ridden import read_rider, seated, with_rider
from draisine.errors import DependencyError, ModelError, UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.parts.riders.human import Human
from draisine.parts.riders.measurements import read_posture


@dataclass(frozen=True)
class Machines:
    """Measured bicycles and riders of a folder; see `machines`."""

    folder: Path

    @property
    def bicycles(self) -> tuple[str, ...]:
        """Names of the bicycles with a parameter file or complete raw measurements."""
        return tuple(n for n in self._names("bicycles") if self._benchmark(n).is_file() or self._has_periods(n))

    @property
    def riders(self) -> tuple[str, ...]:
        """Names of the riders."""
        return self._names("riders")

    def bicycle(
        self, name: str, rider: str | Human | None = None, *, raw: bool = False, lean: float | None = None
    ) -> MeasuredBicycle:
        """A bicycle by name, from its parameter file; from its raw measurements if there is none, or with `raw`.

        `rider` sits on it: a name, or any `Human`. `lean` inclines the trunk forward, in rad; by default as measured on this
        bicycle; where it was not, as far as the hands need to reach the grips.
        """
        self._check(name, self.bicycles, "bicycle")
        text = self._text(name, raw)
        if rider is None:
            return MeasuredBicycle(name, text)
        title = f"{name} with {rider if isinstance(rider, str) else rider.name}"
        if isinstance(rider, str):
            self._check(rider, self.riders, "rider")
            given = self.folder / "riders" / rider / "Parameters" / f"{rider}{name}Benchmark.txt"
            if not self._body(rider).is_file() and given.is_file():
                return MeasuredBicycle(title, with_rider(text, read_rider(given)))
        raw_file = self._raw(name)
        measured = read_measured(raw_file)[0] if raw_file.is_file() else {}
        human = self.rider(rider) if isinstance(rider, str) else rider
        sitting = seated(human, text, measured, name, self._lean(name, rider) if lean is None else lean)
        return MeasuredBicycle(title, with_rider(text, sitting.mass_properties()), sitting)

    def rider(self, name: str) -> Human:
        """A rider's body by name, from its measurements."""
        self._check(name, self.riders, "rider")
        if not self._body(name).is_file():
            raise ModelError(f"the body of {name!r} has not been measured: there is no {self._body(name)}")
        return Human.read(self._body(name))

    def models(self, rider: str | Human | None = None) -> dict[str, Model]:
        """Models of all bicycles with wheels by title, without those on which the rider cannot sit: second designs to choose from
        in the studio, `dr.studio(model, against=machines.models())`."""
        return {bike.name: bike.model(drawn=False) for bike in self._ridden(rider) if not bike.is_skate}

    def vehicles(self, rider: str | Human | None = None) -> dict[str, Model]:
        """All machines by title, for the list of the studio, `dr.studio(vehicles=…)`: with the rider, who is drawn, where one can
        sit on them, and without."""
        found = {bike.name: bike for bike in self._ridden(rider)}
        alone = {} if rider is None else {bike.name: bike for bike in self._ridden(None)}
        return {title: bike.model() for title, bike in {**found, **alone}.items()}

    def _ridden(self, rider: str | Human | None) -> Iterator[MeasuredBicycle]:
        """The bicycles, or those on which a rider can sit."""
        if isinstance(rider, str):
            self._check(rider, self.riders, "rider")
        for name in self.bicycles:
            try:
                yield self.bicycle(name, rider)
            except ValueError as reason:  # no seat has been measured, or the hands do not reach
                if rider is None:
                    raise reason

    def __str__(self) -> str:
        return f"{len(self.bicycles)} bicycles: {', '.join(self.bicycles)}\n{len(self.riders)} riders: {', '.join(self.riders)}"

    # ------------------------------------------------------------ files

    def _names(self, kind: str) -> tuple[str, ...]:
        folder = self.folder / kind
        return tuple(sorted(p.name for p in folder.iterdir() if p.is_dir())) if folder.is_dir() else ()

    def _benchmark(self, name: str) -> Path:
        return self.folder / "bicycles" / name / "Parameters" / f"{name}Benchmark.txt"

    def _raw(self, name: str) -> Path:
        return self.folder / "bicycles" / name / "RawData" / f"{name}Measured.txt"

    def _body(self, rider: str) -> Path:
        return self.folder / "riders" / rider / "RawData" / f"{rider}YeadonMeas.txt"

    def _has_periods(self, name: str) -> bool:
        return self._raw(name).is_file() and "TtP1" in read_measured(self._raw(name))[0]

    def _text(self, name: str, raw: bool) -> BicycleText:
        if self._benchmark(name).is_file() and not raw:
            return read_text(self._benchmark(name))
        if not self._raw(name).is_file():
            raise ModelError(f"the bicycle {name!r} has no raw measurements: there is no {self._raw(name)}")
        return parameters_of(*read_measured(self._raw(name)), str(self._raw(name)))

    def _lean(self, name: str, rider: str | Human) -> float | None:
        file = self.folder / "riders" / str(rider) / "RawData" / f"{rider}{name}YeadonCFG.txt" if isinstance(rider, str) else None
        return read_posture(file)["somersault"] if file is not None and file.is_file() else None

    def _check(self, name: str, known: tuple[str, ...], kind: str) -> None:
        if name not in known:
            hint = did_you_mean(name, known) or (f"; there are {', '.join(known)}" if known else "; the folder has none")
            raise UnknownNameError(f"{self.folder} has no {kind} {name!r}{hint}")


def machines(folder: str | Path | None = None) -> Machines:
    """Measured bicycles and riders by name.

    `folder` has the folders `bicycles` and `riders`, as the folder `data` of the source of BicycleParameters. Without it the
    bicycles of an installed package BicycleParameters are taken.
    """
    if folder is None:
        found = importlib.util.find_spec("bicycleparameters")
        if found is None or found.origin is None:
            raise DependencyError(
                "BicycleParameters is not installed; pip install BicycleParameters, or give the folder 'data' of its source"
            )
        folder = Path(found.origin).parent / "app-data"
    path = Path(folder)
    if not (path / "bicycles").is_dir() and not (path / "riders").is_dir():
        raise ModelError(f"{path} has neither a folder 'bicycles' nor 'riders'; give the folder 'data' of BicycleParameters")
    return Machines(path)

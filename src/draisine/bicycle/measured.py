"""Measured bicycles: parameter files with uncertainties as models, and modes with standard deviations.

The files are those of the BicycleParameters project, described in `bicycle/parameter_file.py`. The model is the Whipple–Carvallo
bicycle of the gallery with the file's parameters; its z axis points up, so heights and products of inertia change sign.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from draisine.bicycle.benchmark import benchmark_bicycle
from draisine.bicycle.parameter_file import BicycleText, parse_text, read_text
from draisine.bicycle.ridden import SeatedRider
from draisine.bicycle.skate import skate_bicycle
from draisine.bicycle.uncertainty import UncertainModes, uncertainty
from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.parts.riders.shapes import body_shapes
from draisine.results.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# name in the file → name in draisine, and the factor between them
OURS = {
    "w": ("wheelbase", 1),
    "c": ("trail", 1),
    "lam": ("steer_axis_tilt", 1),
    "g": ("gravity", 1),
    **{f"{kind}{wheel}": (f"{kind}_{name}", 1) for wheel, name in (("R", "rear_wheel"), ("F", "front_wheel")) for kind in "rm"},
    **{f"I{w}{a}": (f"i{a}_{n}", 1) for w, n in (("R", "rear_wheel"), ("F", "front_wheel")) for a in ("xx", "yy")},
    **{
        f"{kind}{part}": (f"{kind}_{name}", -1 if kind == "z" else 1)
        for part, name in (("B", "frame"), ("H", "fork"))
        for kind in "xzm"
    },
    **{
        f"I{p}{a}": (f"i{a}_{n}", -1 if a == "xz" else 1)
        for p, n in (("B", "frame"), ("H", "fork"))
        for a in ("xx", "yy", "zz", "xz")
    },
}


@dataclass(frozen=True)
class MeasuredBicycle:
    """Measured parameters of a bicycle. `text` has the file's names and axes; `parameters` and `deviations` draisine's."""

    name: str
    text: BicycleText
    rider: SeatedRider | None = None  # who sits on it; mass and inertia are those of the rear frame

    @staticmethod
    def of(name: str, parameters: Mapping[str, float], deviations: Mapping[str, float] | None = None) -> MeasuredBicycle:
        """From parameters and standard deviations by draisine's names; the others are those of the benchmark bicycle."""
        known = {p.name: p.default for p in benchmark_bicycle().freeze().parameters}
        for given in (*parameters, *(deviations or {})):
            if given not in known:
                raise ArgumentError(f"a bicycle has no parameter {given!r}{did_you_mean(given, known)}")
        values = {**known, **parameters}
        text = BicycleText(
            {theirs: sign * values[ours] for theirs, (ours, sign) in OURS.items()},
            {theirs: (deviations or {})[ours] for theirs, (ours, _) in OURS.items() if ours in (deviations or {})},
        )
        return MeasuredBicycle(name, parse_text(str(text), name))

    @property
    def parameters(self) -> dict[str, float]:
        return {OURS[name][0]: OURS[name][1] * value for name, value in self.text.values.items()}

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations of the parameters, if given."""
        return {OURS[name][0]: value for name, value in self.text.deviations.items()}

    @property
    def repaired(self) -> dict[str, float]:
        """Pitch moments of inertia that are impossible due to measurement errors, with the nearest possible values."""
        p, found = self.parameters, {}
        for body in ("frame", "fork"):
            xx, yy, zz, xz = (p[f"i{axes}_{body}"] for axes in ("xx", "yy", "zz", "xz"))
            possible = min(max(yy, math.hypot(xx - zz, 2 * xz)), xx + zz)
            if abs(possible - yy) > 1e-9 * (xx + zz):
                found[f"iyy_{body}"] = possible
        return found

    @property
    def is_skate(self) -> bool:
        """Whether both wheels have radius 0: skates or blades, such as those of the two-mass-skate bicycle."""
        return self.text.values["rR"] == 0

    def model(self, *, drawn: bool = True) -> Model:
        """The Whipple–Carvallo bicycle with these parameters; those of `repaired` are replaced, with a warning.

        With wheels of radius 0 it runs on blades, which have neither mass nor spin. A rider is drawn, with `drawn`.
        """
        if self.is_skate:
            return self._named(skate_bicycle(), self.parameters, "Bicycle on skates with the parameters of")
        system = self._described(drawn).freeze()
        ours = {**self.parameters, **self.repaired}
        for name, value in self.repaired.items():
            warnings.warn(
                f"{self.name}: {name} = {self.parameters[name]:g} kg*m^2 is impossible for a rigid body with its other moments; "
                f"{value:g} is used. Small deviations from straight running do not depend on it.",
                stacklevel=2,
            )
        return self._named(Model.of(system), ours, "Whipple–Carvallo bicycle with the parameters of")

    def _described(self, drawn: bool) -> Model:
        model = benchmark_bicycle()
        if self.rider is not None and drawn:  # a body without mass: its mass and inertia are in the parameters of the frame
            shapes = body_shapes(self.rider.human, self.rider.posture)
            hips = (self.rider.seat[0], 0.0, self.rider.seat[1] - self.text.values["rR"])
            model.fixed("rider_seat", "frame", model.body("rider", mass=0.0, shapes=shapes), at=hips)
        return model

    def _named(self, model: Model, values: Mapping[str, float], what: str) -> Model:
        """The model with these parameters and the bicycle's name."""
        system = model.freeze()
        parameters = tuple(p._replace(default=values[p.name]) for p in system.parameters)
        name = re.sub(r"[^A-Za-z0-9]+", "_", self.name).strip("_").lower()
        name = name if name[:1].isalpha() else f"bicycle_{name}".rstrip("_")
        made = Model.of(replace(system, name=name, description=f"{what} {self.name}", parameters=parameters))
        made.freeze()  # validates: a file may have impossible moments of inertia
        return made

    def modes(self, speeds: ArrayLike, *, runs: int = 0, seed: int = 2007) -> UncertainModes:
        """Modes and critical speeds with standard deviations; see `uncertainty`."""
        return uncertainty(self.model(), self.deviations, speeds, runs=runs, seed=seed)

    def write(self, path: str | Path) -> None:
        """Write the parameter file; reading it restores every digit."""
        with replacing(Path(path)) as draft:
            Path(draft).write_text(str(self.text), encoding="utf-8")

    def figure(self, speeds: ArrayLike) -> Figure:
        """Eigenvalues against speed with bands of one standard deviation."""
        drawing: Figure = self.modes(speeds).plot()
        return drawing

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.deviations)} of {len(self.parameters)} parameters with a standard deviation"]
        for name, value in self.parameters.items():
            deviation = self.deviations.get(name)
            lines.append(f"  {name:<18} {value:.9g}" + (f" ± {deviation:.2g}" if deviation else ""))
        return "\n".join(lines)


def read_bicycle(path: str | Path) -> MeasuredBicycle:
    """A bicycle from `path`, a parameter file of the BicycleParameters project.

    >>> import draisine as dr
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "MineBenchmark.txt"
    ...     dr.bicycle.MeasuredBicycle.of("Mine", {"trail": 0.07}, {"trail": 0.002}).write(file)
    ...     mine = dr.bicycle.read_bicycle(file)
    >>> mine.name, mine.deviations
    ('Mine', {'trail': 0.002})
    """
    text = read_text(path)
    return MeasuredBicycle(Path(path).stem.removesuffix("Benchmark") or Path(path).stem, text)

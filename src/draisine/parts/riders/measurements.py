"""The 95 measurements of a body, in the text format of the package yeadon, and those of a person of given height.

    measurementconversionfactor: 0.001     # the values are in millimeters
    totalmass: 75                          # optional, kg: the densities are scaled to it
    Ls1L: 180
    …

A name is `L`, the part (s torso, a and b left and right arm, j and k left and right leg), the level, and what is measured there:
L length from the reference joint, p perimeter, w width, d depth. Files are data: numbers are read by a pattern, nothing is
executed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from draisine.errors import ArgumentError, DataError, UnitError
from draisine.expr.expression import did_you_mean
from draisine.program.arguments import number_in
from draisine.results import files
from draisine.results.files import replacing

_LEVELS = {
    "s": "1L 2L 3L 4L 5L 6L 7L 8L 0p 1p 2p 3p 5p 6p 7p 0w 1w 2w 3w 4w 4d",
    "a": (_ARM := "2L 3L 4L 5L 6L 7L 0p 1p 2p 3p 4p 5p 6p 7p 4w 5w 6w 7w"),
    "b": _ARM,
    "j": (_LEG := "1L 3L 4L 5L 6L 8L 9L 1p 2p 3p 4p 5p 6p 7p 8p 9p 8w 9w 6d"),
    "k": _LEG,
}
NAMES = tuple(f"L{part}{level}" for part, levels in _LEVELS.items() for level in levels.split())

# angles of a configuration file: of the body in space, then of the joints between segments (Yeadon 1990, Dembia et al. 2014)
ANGLES = (
    *("somersault", "tilt", "twist", "PTsagittalFlexion", "PTbending", "TCspinalTorsion", "TCsagittalSpinalFlexion"),
    *("CA1extension", "CA1adduction", "CA1rotation", "CB1extension", "CB1abduction", "CB1rotation"),
    *("A1A2extension", "B1B2extension", "PJ1extension", "PJ1adduction", "PK1extension", "PK1abduction"),
    *("J1J2flexion", "K1K2flexion"),
)
_FACTOR, _MASS = "measurementconversionfactor", "totalmass"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

# lengths that grow along a limb, from one reference joint
_RISING = (
    *(("Ls1L", "Ls2L", "Ls3L", "Ls4L", "Ls5L"), ("Ls6L", "Ls7L", "Ls8L")),
    *(limb for side in "ab" for limb in (tuple(f"L{side}{i}L" for i in (2, 3, 4)), tuple(f"L{side}{i}L" for i in (5, 6, 7)))),
    *(limb for side in "jk" for limb in (tuple(f"L{side}{i}L" for i in (1, 3, 4, 5)), tuple(f"L{side}{i}L" for i in (6, 8, 9)))),
)
_WIDTHS = {name: f"{name[:3]}p" for name in NAMES if name[-1] in "wd" and name[:3] != "Ls4"}

# A person of 1.75 m, in millimeters: round numbers of our own making, by the names of torso, left arm and left leg
_STANDING = dict(
    zip(
        [name for name in NAMES if name[1] in "saj"],
        [
            *(165, 265, 375, 490, 535, 150, 200, 310, 970, 850, 860, 960, 390, 520, 570, 340, 305, 305, 325, 360, 180),
            *(300, 360, 560, 25, 85, 175, 325, 290, 260, 260, 165, 210, 210, 120, 55, 75, 85, 50),
            *(85, 420, 540, 825, 35, 160, 215, 560, 510, 365, 355, 235, 315, 245, 235, 185, 95, 75, 125),
        ],
        strict=True,
    )
)


@dataclass(frozen=True)
class Measurements:
    """The 95 measurements by name, in meters, and the mass of the whole body in kg, if it was weighed."""

    values: Mapping[str, float]
    mass: float | None = None

    def symmetric(self) -> Measurements:
        """With the mean of left and right for arms and legs."""
        other = {"a": "b", "b": "a", "j": "k", "k": "j"}
        mean = {
            name: (value + self.values[f"L{other[name[1]]}{name[2:]}"]) / 2 if name[1] in other else value
            for name, value in self.values.items()
        }
        return Measurements(mean, self.mass)

    def write(self, path: str | Path) -> None:
        """Write the file; reading it restores every digit."""
        lines = [f"{_FACTOR}: 1", *([f"{_MASS}: {float(self.mass)!r}"] if self.mass else [])]
        with replacing(Path(path)) as draft:
            Path(draft).write_text(
                "\n".join([*lines, *(f"{n}: {float(self.values[n])!r}" for n in NAMES)]) + "\n", encoding="utf-8"
            )


def number_of(value: Any, unit: str, where: str) -> float:
    """A number in a unit, or a text with a unit that is converted to it.

    >>> number_of("175 cm", "m", "height"), number_of(1.75, "m", "height")
    (1.75, 1.75)
    """
    try:
        found = None if isinstance(value, bool) else number_in(value, unit, where)
    except UnitError as problem:
        raise ArgumentError(str(problem)) from None
    if found is None or not math.isfinite(found):
        example = {"m": "175 cm", "kg": "75 kg", "rad": "30 deg"}[unit]
        raise ArgumentError(f"{where} = {value!r}: give a number in {unit}, or a text with a unit such as {example!r}")
    return found


def standing_measurements(height: float, girth: float = 1.0) -> Measurements:
    """Measurements of a person of given height in meters, whose perimeters, widths and depths are `girth` times the usual ones.

    Lengths are proportional to the height. With all perimeters, widths and depths the mass grows as the square of `girth`.
    """
    along = height / 1.75
    around = along * girth
    left = {"b": "a", "k": "j"}
    return Measurements(
        {
            name: _STANDING[f"L{left.get(name[1], name[1])}{name[2:]}"] / 1000 * (along if name[-1] == "L" else around)
            for name in NAMES
        }
    )


# -------------------------------------------------------------------- files


def read_measurements(path: str | Path) -> Measurements:
    """The measurements of a file, checked line by line."""
    return parse_measurements(files.read_text(path, DataError), str(path))


def parse_measurements(text: str, source: str = "measurements") -> Measurements:
    """The measurements of a text; `source` is named in errors.

    >>> from draisine.parts.riders.measurements import parse_measurements
    >>> parse_measurements("Ls1L: twelve", "me.txt")
    Traceback (most recent call last):
    draisine.errors.DataError: me.txt, line 1: Ls1L: 'twelve' is not a number
    """
    values, lines = _entries(text, source, (*NAMES, _FACTOR, _MASS))
    for name in (_FACTOR, *NAMES):
        if name in values and not values[name] > 0:
            raise DataError(f"{source}, line {lines[name]}: {name} = {values[name]:g} must be positive")
    if _FACTOR not in values:
        raise DataError(f"{source}: {_FACTOR} is missing; it is 0.001 where the values are in millimeters, 1 where in meters")
    missing = [name for name in NAMES if name not in values]
    if missing:
        shown = ", ".join(missing[:10]) + (", …" if len(missing) > 10 else "")
        raise DataError(f"{source}: {len(missing)} of {len(NAMES)} measurements are missing: {shown}")
    found = {name: values[name] * values[_FACTOR] for name in NAMES}
    _consistent(found, lines, source)
    mass = values.get(_MASS, 0.0)
    return Measurements(found, mass if mass > 0 else None)


def read_posture(path: str | Path) -> dict[str, float]:
    """The 21 angles of a configuration file of the package yeadon, in radians."""
    source = str(path)
    values, lines = _entries(files.read_text(path, DataError), source, ANGLES)
    missing = [name for name in ANGLES if name not in values]
    if missing:
        raise DataError(f"{source}: {len(missing)} of {len(ANGLES)} angles are missing: {', '.join(missing)}")
    for name, value in values.items():
        if abs(value) > 1.5 * math.pi + 1e-9:
            raise DataError(f"{source}, line {lines[name]}: {name} = {value:g}: angles are in radians, within ±3π/2")
    return {name: values[name] for name in ANGLES}


def _entries(text: str, source: str, known: tuple[str, ...]) -> tuple[dict[str, float], dict[str, int]]:
    """Numbers by name, and the line of each."""
    values: dict[str, float] = {}
    lines: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        content = raw.partition("#")[0].strip()
        if not content or content in ("---", "..."):  # marks of YAML
            continue
        where = f"{source}, line {number}"
        name, sign, given = (part.strip() for part in content.partition(":"))
        if not sign:
            raise DataError(f"{where}: {content[:60]!r} has no ':'; write name: value")
        if name not in known:
            raise DataError(f"{where}: unknown name {name[:60]!r}{did_you_mean(name, known)}")
        if name in lines:
            raise DataError(f"{where}: {name} is given twice, first in line {lines[name]}; keep one of them")
        if not given:
            raise DataError(f"{where}: {name} has no value")
        if _NUMBER.fullmatch(given) is None or not math.isfinite(float(given)):
            raise DataError(f"{where}: {name}: {given[:60]!r} is not a number")
        values[name], lines[name] = float(given), number
    return values, lines


def _consistent(values: Mapping[str, float], lines: Mapping[str, int], source: str) -> None:
    """Levels follow each other along a limb, widths fit perimeters, and lengths are those of a human body."""
    for limb in _RISING:
        for one, two in pairwise(limb):
            if not values[two] > values[one]:
                raise DataError(
                    f"{source}, line {lines[two]}: {two} = {values[two]:g} m is not longer than {one} = {values[one]:g} m; "
                    "both are measured from the same joint"
                )
    for width, perimeter in _WIDTHS.items():
        if not values[perimeter] > 2 * values[width]:
            raise DataError(
                f"{source}, line {lines[width]}: {width} = {values[width]:g} m does not fit the perimeter "
                f"{perimeter} = {values[perimeter]:g} m, which is longer than twice the width"
            )
    if not values["Ls4w"] > values["Ls4d"]:
        raise DataError(
            f"{source}, line {lines['Ls4d']}: Ls4d = {values['Ls4d']:g} m: at the shoulders a body is less deep than wide (Ls4w)"
        )
    height = values["Ls5L"] + values["Ls8L"] + values["Lj5L"]
    if not 0.5 < height < 2.6:
        raise DataError(
            f"{source}, line {lines['Ls5L']}: Ls5L + Ls8L + Lj5L, from the ankles to the top of the head, is {height:g} m; "
            f"check {_FACTOR} in line {lines[_FACTOR]}: it converts to meters"
        )

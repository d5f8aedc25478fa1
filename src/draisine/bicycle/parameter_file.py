"""Parameter files of the BicycleParameters project: plain text, one `name = value+/-deviation` a line.

    # measured in the laboratory
    c = 0.0686 +/- 0.0017
    lam = 0.3997+/-0.0035
    w = 1.121, 1.119, 1.123          # several values are averaged
    g = 9.81

Names are those of Meijaard, Papadopoulos, Ruina & Schwab (2007): x forward, y right, z down from the rear contact, SI units and
radians. Files are data: numbers are read by a pattern, and no code is executed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean
from draisine.results import files

NAMES = (
    *("w", "c", "lam", "g"),
    *("rR", "mR", "IRxx", "IRyy"),
    *("xB", "zB", "mB", "IBxx", "IByy", "IBzz", "IBxz"),
    *("xH", "zH", "mH", "IHxx", "IHyy", "IHzz", "IHxz"),
    *("rF", "mF", "IFxx", "IFyy"),
)
_SAME = {"lambda": "lam"}
# optional: a speed, parameters fixed by symmetry, and the parts (handlebar G, fork S) of the front assembly H
_EQUAL = {"IRzz": "IRxx", "IFzz": "IFxx"}
_ZERO = ("yB", "yH")
_PARTS = tuple(
    f"{kind}{part}{axes}"
    for part in "GS"
    for kind, axes in (*((k, "") for k in "mxyz"), *(("I", a) for a in ("xx", "yy", "zz", "xz")))
)
OPTIONAL = ("v", *_EQUAL, *_ZERO, *_PARTS)

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SIGN = r"\s*(?:\+/-|±)\s*"
_VALUE = re.compile(rf"(?P<value>{_NUMBER})(?:{_SIGN}(?P<deviation>{_NUMBER}))?")
_SCALED = re.compile(rf"\((?P<value>{_NUMBER}){_SIGN}(?P<deviation>{_NUMBER})\)[eE](?P<power>[+-]?\d+)")


@dataclass(frozen=True)
class BicycleText:
    """Values and standard deviations by the names of the paper; `others` are optional entries that the model does not use."""

    values: Mapping[str, float]
    deviations: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """The text of a file, with all digits."""
        lines = [_line(name, value, self.deviations.get(name, 0.0)) for name, value in self.values.items()]
        return "\n".join([*lines, *(_line(name, value, 0.0) for name, value in self.others.items())]) + "\n"


def _line(name: str, value: float, deviation: float) -> str:
    return f"{name} = {value!r}" + (f"+/-{deviation!r}" if deviation else "")


def read_text(path: str | Path) -> BicycleText:
    """The contents of a file, checked line by line."""
    return parse_text(files.read_text(path, ModelError), str(path))


def parse_text(text: str, source: str = "parameters") -> BicycleText:
    """Values and deviations of a text; `source` is named in errors.

    >>> from draisine.bicycle.parameter_file import parse_text
    >>> parse_text("c = 80 mm", "mine.txt")
    Traceback (most recent call last):
    draisine.errors.ModelError: mine.txt, line 1: c = '80 mm' is not a number; remove the unit: values are in SI units
    """
    values: dict[str, float] = {}
    deviations: dict[str, float] = {}
    lines: dict[str, int] = {}
    for line, name, given in assignments(text, source, _name):
        where = f"{source}, line {line}"
        lines[name] = line
        values[name], deviations[name] = parse_number(name, given, where)
        _plausible(name, values[name], where)
    missing = [name for name in NAMES if name not in values]
    if missing:
        raise ModelError(f"{source}: {len(missing)} of {len(NAMES)} parameters are missing: {', '.join(missing)}")
    _consistent(values, lines, source)
    return BicycleText(
        {name: values[name] for name in NAMES},
        {name: deviations[name] for name in NAMES if deviations[name]},
        {name: value for name, value in values.items() if name not in NAMES},
    )


def assignments(text: str, source: str, known: Callable[[str, str], str]) -> Iterator[tuple[int, str, str]]:
    """Line, name and what is given for it; `known(name, where)` refuses a name or gives the usual one. No name is given twice."""
    lines: dict[str, int] = {}
    for line, raw in enumerate(text.splitlines(), 1):
        content = raw.partition("#")[0].strip()
        if not content:
            continue
        where = f"{source}, line {line}"
        written, sign, given = (part.strip() for part in content.partition("="))
        if not sign:
            raise ModelError(f"{where}: {content[:60]!r} has no '='; write name = value+/-deviation")
        name = known(written, where)
        if name in lines:
            raise ModelError(f"{where}: {name!r} is given twice, first in line {lines[name]}; keep one of them")
        lines[name] = line
        yield line, name, given


def _name(given: str, where: str) -> str:
    name = _SAME.get(given, given)
    if name not in (*NAMES, *OPTIONAL):
        measured = (
            "; raw measurements are not parameters: use the file that ends in Benchmark.txt"
            if re.match(r"T[ct]|[hdal]\d|alpha|n[RF]$", name)
            else ""
        )
        raise ModelError(f"{where}: unknown parameter {given!r}{did_you_mean(name, NAMES)}{measured}")
    return name


def parse_number(name: str, text: str, where: str) -> tuple[float, float]:
    """Value and standard deviation; several values are averaged as independent ones."""
    found = []
    for part in text.split(","):
        match = _VALUE.fullmatch(part.strip()) or _SCALED.fullmatch(part.strip())
        if match is None:
            unit = re.fullmatch(rf"{_NUMBER}(?:{_SIGN}{_NUMBER})?\s*[^\W\d].*", part.strip())
            cure = "remove the unit: values are in SI units" if unit else "write value or value+/-deviation"
            raise ModelError(f"{where}: {name} = {part.strip()!r} is not a number; {cure}")
        groups = match.groupdict()
        scale = 10.0 ** int(groups.get("power") or 0)
        value, deviation = float(groups["value"]) * scale, float(groups["deviation"] or 0.0) * scale
        if not (math.isfinite(value) and math.isfinite(deviation)):
            raise ModelError(f"{where}: {name} = {part.strip()!r} is too large for a number")
        if deviation < 0:
            raise ModelError(f"{where}: {name} has the deviation {deviation:g}; a standard deviation is not negative")
        found.append((value, deviation))
    count = len(found)
    return sum(v for v, _ in found) / count, math.sqrt(sum(d * d for _, d in found)) / count


def _plausible(name: str, value: float, where: str) -> None:
    """Detect values in wrong units or axes."""
    entry = f"{where}: {name} = {value:g}"
    if name == "lam" and not abs(value) < math.pi / 2:
        raise ModelError(
            f"{entry}: the steer axis tilt is in radians, less than π/2; if it is in degrees, write {math.radians(value):.6g}"
        )
    if (name == "w" and not value > 0) or (name in ("rR", "rF") and value < 0):
        raise ModelError(f"{entry}: must be positive")
    if name in ("w", "rR", "rF", "c", "xB", "xH", "zB", "zH") and abs(value) > 20:
        raise ModelError(f"{entry}: lengths are in meters; if it is in millimeters, write {value / 1000:g}")
    if name in ("zB", "zH") and value > 0:
        raise ModelError(f"{entry}: z points down from the ground, so a center of mass above it has a negative z")
    if name in ("mB", "mH", "mR", "mF", "g") and (value < 0 or (name == "mB" and value == 0)):
        raise ModelError(f"{entry}: must {'be positive' if name == 'mB' else 'not be negative'}")
    if name[0] == "I" and name[-2] == name[-1] and value < 0:
        raise ModelError(f"{entry}: a moment of inertia is not negative")
    if name in _ZERO and value != 0:
        raise ModelError(f"{entry}: the bicycle is symmetric, so this must be 0")


def _consistent(values: Mapping[str, float], lines: Mapping[str, int], source: str) -> None:
    for radius in ("rR", "rF"):
        if values[radius] == 0:  # a skate, which has neither mass nor spin: both or none
            heavy = [name for name in ("rR", "rF", "mR", "mF", "IRxx", "IRyy", "IFxx", "IFyy") if values[name] != 0]
            if heavy:
                raise ModelError(
                    f"{source}, line {lines[radius]}: {radius} = 0 is a skate, but {heavy[0]} = {values[heavy[0]]:g}; "
                    "a bicycle runs on two wheels, or on two skates without mass and inertia"
                )
    for name, equal in _EQUAL.items():
        if name in values and values[name] != values[equal]:
            raise ModelError(
                f"{source}, line {lines[name]}: {name} = {values[name]:g}, but {equal} = {values[equal]:g}; "
                "a wheel has the same moment of inertia about every diameter"
            )

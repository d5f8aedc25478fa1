"""Tire files (`.tir`): coefficients of the Magic Formula in sections, with units, ranges and the side of measurement.

    [UNITS]
    FORCE = 'newton'
    [MODEL]
    FITTYP = 61             $ version 6.1
    TYRESIDE = 'LEFT'
    [VERTICAL]
    FNOMIN = 4000

`$` and `!` begin comments. Files are data: nothing in them is executed. What a file contains that is not used is named in a
warning; a damaged file is refused by its name and line.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from draisine.errors import ArgumentError, DataError, ModelError
from draisine.expr.expression import Number
from draisine.model.contact.magic_formula import COEFFICIENTS, RANGES, SIDES, UNITS, MagicFormula
from draisine.results.files import write_text

MOST_BYTES = 1_000_000
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")

_VERSIONS = {"5": "5.2", "52": "5.2", "21": "5.2", "51": "motorcycle", "6": "6.1", "61": "6.1"}  # by FITTYP
_FORMATS = {"PAC2002": "5.2", "MF_05": "5.2", "PAC_MC": "motorcycle", "MF_MCTYRE": "motorcycle"}  # by PROPERTY_FILE_FORMAT
_SIZES: dict[str, dict[str, float]] = {
    "LENGTH": {"meter": 1.0, "m": 1.0, "mm": 1e-3, "millimeter": 1e-3, "cm": 1e-2, "inch": 0.0254, "foot": 0.3048},
    "FORCE": {"newton": 1.0, "n": 1.0, "kn": 1e3, "kilonewton": 1e3, "pound_force": 4.4482216152605, "lbf": 4.4482216152605},
    "ANGLE": {"radians": 1.0, "radian": 1.0, "rad": 1.0, "degrees": math.pi / 180, "degree": math.pi / 180, "deg": math.pi / 180},
    "TIME": {"second": 1.0, "sec": 1.0, "s": 1.0, "millisecond": 1e-3},
    "PRESSURE": {"pascal": 1.0, "pa": 1.0, "kpa": 1e3, "bar": 1e5, "psi": 6894.757293168},
}
_POWERS = {
    "N": {"FORCE": 1},
    "m": {"LENGTH": 1},
    "m/s": {"LENGTH": 1, "TIME": -1},
    "N/m": {"FORCE": 1, "LENGTH": -1},
    "N*s/m": {"FORCE": 1, "TIME": 1, "LENGTH": -1},
    "Pa": {"PRESSURE": 1},
    "rad": {"ANGLE": 1},
}
# keys that describe the file or the tire and enter no equation here
_DESCRIPTIVE = frozenset(
    (
        "FILE_TYPE", "FILE_VERSION", "FILE_FORMAT", "LENGTH", "FORCE", "ANGLE", "TIME", "MASS", "PRESSURE", "TYPE",
        "FUNCTION_NAME", "PROPERTY_FILE_FORMAT", "FITTYP", "TYRESIDE", "USE_MODE", "USER_SUB_ID", "N_TIRE_STATES", "HMAX_LOCAL",
        "TIME_SWITCH_INTEG", "MFSAFE1", "MFSAFE2", "MFSAFE3", "WIDTH", "ASPECT_RATIO", "RIM_RADIUS", "RIM_WIDTH", "IXX", "IYY",
        "BELT_MASS", "BELT_IXX", "BELT_IYY", "GRAVITY", "VXLOW", "ROAD_INCREMENT", "ROAD_DIRECTION", "TYRE_MASS", "TIRE_MASS",
        "PRESMIN", "PRESMAX", "BOTTOM_OFFST", "BOTTOM_STIFF",
    )
)  # fmt: skip
_SECTIONS = (
    ("MODEL", ("LONGVL",)),
    ("DIMENSION", ("UNLOADED_RADIUS",)),
    ("INFLATION_PRESSURE", ("INFLPRES", "NOMPRES")),
    ("VERTICAL", ("FNOMIN", "VERTICAL_STIFFNESS", "VERTICAL_DAMPING", "BREFF", "DREFF", "FREFF", "QFZ1", "QFZ2", "PFZ1")),
    ("STRUCTURAL", ("LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS", "PCFX", "PCFY")),
    ("VERTICAL_FORCE_RANGE", RANGES["load"]),
    ("LONG_SLIP_RANGE", RANGES["slip"]),
    ("SLIP_ANGLE_RANGE", RANGES["slip_angle"]),
    ("INCLINATION_ANGLE_RANGE", RANGES["camber"]),
    ("SCALING_COEFFICIENTS", ("L",)),
    ("LONGITUDINAL_COEFFICIENTS", ("PCX", "PDX", "PEX", "PKX", "PHX", "PVX", "PPX", "RBX", "RCX", "REX", "RHX", "PTX")),
    ("OVERTURNING_COEFFICIENTS", ("QSX", "PPMX")),
    ("LATERAL_COEFFICIENTS", ("PCY", "PDY", "PEY", "PKY", "PHY", "PVY", "PPY", "RBY", "RCY", "REY", "RHY", "RVY", "PTY")),
    ("ROLLING_COEFFICIENTS", ("QSY",)),
    ("ALIGNING_COEFFICIENTS", ("QBZ", "QCZ", "QDZ", "QEZ", "QHZ", "SSZ", "PPZ")),
)  # of files that are written: names, or beginnings of names


# of turn slip, equations 4.E79–4.E105 of Pacejka 2012, which are not modeled
_TURN_SLIP = frozenset(
    (
        "PDXP1", "PDXP2", "PDXP3", "PKYP1", "PDYP1", "PDYP2", "PDYP3", "PDYP4", "PHYP1", "PHYP2", "PHYP3", "PHYP4", "PECP1",
        "PECP2", "QDTP1", "QCRP1", "QCRP2", "QBRP1", "QDRP1", "QDRP2",
    )
)  # fmt: skip
_PARTS_OF_FORCES = {0: "vertical forces", 1: "longitudinal forces", 2: "side forces", 3: "forces without combined slip"}


@dataclass(frozen=True)
class _Line:
    """A value with its section and line."""

    section: str
    value: str
    number: int


def read_tir(
    path: str | os.PathLike[str],
    *,
    version: str | None = None,
    variant: str = "program",
    side: str | None = None,
    transient: bool | None = None,
    rigid: bool = False,
    ignore_turn_slip: bool = False,
) -> MagicFormula:
    """The tire of the `.tir` file `path`.

    The version follows from FITTYP or PROPERTY_FILE_FORMAT, unless `version` is given ("5.2", "6.1" or "motorcycle"). With
    `side`, "left" or "right", the tire is mirrored if it was measured on the other side (TYRESIDE); where the file does not say
    on which, a warning does. A negative USE_MODE mirrors it too. `variant`, `transient` and `rigid` are those of `MagicFormula`.

    Turn slip is not modeled: a file whose USE_MODE asks for it is refused, unless `ignore_turn_slip` is set, and its
    coefficients are named in a warning.
    """
    file = Path(path)
    if side is not None and side not in SIDES:
        raise ArgumentError(f"side must be 'left' or 'right', got {side!r}")
    lines = _parsed(file, _text(file))
    chosen = version or _version(file, lines)
    sizes = _unit_sizes(file, lines)
    mode = _number(file, "USE_MODE", lines["USE_MODE"]) if "USE_MODE" in lines else None
    _check_turn_slip(file, lines, mode, ignore_turn_slip)
    known, unknown = COEFFICIENTS.get(chosen, frozenset[str]()), list[str]()
    coefficients = {}
    for name, line in lines.items():
        if name in known:
            coefficients[name] = _number(file, name, line) * _factor(UNITS.get(name, ""), sizes)
        elif name not in _DESCRIPTIVE and name not in _TURN_SLIP:
            unknown.append(f"{name} [{line.section}]" if line.section else name)
    if unknown:
        warnings.warn(f"{file}: not used by version {chosen}: {', '.join(unknown)}", stacklevel=2)
    if "FNOMIN" not in coefficients:
        raise DataError(f"{file}: FNOMIN, the nominal load, is missing; it belongs to the section [VERTICAL]")
    for low, high in RANGES.values():
        if low in coefficients and high in coefficients and coefficients[low] > coefficients[high]:
            raise DataError(f"{file}, line {lines[low].number}: {low} exceeds {high}")
    given = _plain(lines["TYRESIDE"].value).lower() if "TYRESIDE" in lines else ""
    measured = given if given in SIDES else None
    if side is not None and measured is None:
        says = f"TYRESIDE is {given!r}" if given else "TYRESIDE is missing"
        cure = "leave out side=, and take tire.on_other_side() where the tire is for the other side"
        warnings.warn(f"{file}: {says}, so that side={side!r} mirrors nothing; {cure}", stacklevel=2)
    mirrored = side is not None and measured is not None and measured != side
    if mode is not None and mode < 0:
        mirrored = not mirrored
    known_side = measured if side is None or measured is None else side
    try:
        return MagicFormula(chosen, coefficients, variant, mirrored, transient, rigid, side=known_side)
    except ModelError as problem:
        raise DataError(f"{file}: {problem}") from problem


def write_tir(tire: MagicFormula, path: str | os.PathLike[str]) -> None:
    """Write a `tire` as the `.tir` file `path`, in SI units; coefficients must be numbers.

    TYRESIDE is the `side` of the tire; a mirrored tire has a negative USE_MODE. Options for which tire files have no key are
    named in a warning, and in a comment of the file.
    """
    fit = {"5.2": 52, "6.1": 61, "motorcycle": 51}[tire.version]
    left = dict[str, float]()
    for name, amount in tire.coefficients:
        if not isinstance(amount, Number):
            raise ArgumentError(f"{name} of the tire is {amount}; a tire file has numbers only")
        left[name] = float(amount.value)
    dropped = _without_key(tire)
    if dropped:
        warnings.warn(
            f"{Path(path)}: tire files have no key for {dropped}; set it again when the file has been read", stacklevel=2
        )
    rows = [
        *([f"$ without a key: {dropped}"] if dropped else []),
        "[MDI_HEADER]",
        "FILE_TYPE = 'tir'",
        "FILE_FORMAT = 'ASCII'",
        "[UNITS]",
    ]
    rows += [f"{kind} = '{next(iter(sizes))}'" for kind, sizes in _SIZES.items()]
    mode = (-1 if tire.mirrored else 1) * (14 if tire.relaxes else 4)
    model = [f"FITTYP = {fit}", f"USE_MODE = {mode}", *([f"TYRESIDE = '{tire.side.upper()}'"] if tire.side else [])]
    for section, beginnings in _SECTIONS:
        own = [
            n for n in left if any(n == b or (n.startswith(b) and n[len(b) :].isalnum() and b not in UNITS) for b in beginnings)
        ]
        if section == "SCALING_COEFFICIENTS":
            own = [n for n in own if n not in UNITS]
        found = [f"{name} = {left.pop(name)!r}" for name in own]
        if section == "MODEL":
            found = model + found
        rows += [f"[{section}]", *found] if found else []
    rows += ["[OTHER]", *(f"{name} = {value!r}" for name, value in left.items())] if left else []
    write_text(path, "\n".join(rows) + "\n")


def _without_key(tire: MagicFormula) -> str:
    """Options of a tire that its file cannot contain and that are not those by default."""
    usual = MagicFormula(tire.version, dict(tire.coefficients))
    same = {"transient": tire.relaxes == usual.relaxes, "rigid": tire.compliant == usual.compliant}
    names = ("variant", "transient", "rigid", "speed", "settling")
    changed = [n for n in names if not same.get(n, getattr(tire, n) == getattr(usual, n))]
    shown = {n: getattr(tire, n) for n in changed}
    return ", ".join(f"{n}={value if isinstance(value, Number) else repr(value)}" for n, value in shown.items())


# -------------------------------------------------------------------------------------------------- reading


def _check_turn_slip(file: Path, lines: Mapping[str, _Line], mode: float | None, ignored: bool) -> None:
    """Refuse a file that asks for turn slip, and name what is not computed as it asks. The last digit of USE_MODE is 0 to 4 for
    parts of the forces, 4 for all of them with combined slip, 5 for these with turn slip."""
    digit = None if mode is None else abs(int(mode)) % 10
    if digit == 5 and not ignored:
        raise DataError(
            f"{file}, line {lines['USE_MODE'].number}: USE_MODE {mode:g} asks for turn slip, which is not modeled; give "
            "ignore_turn_slip=True to read the tire without it: moments of a wheel that turns on the spot are then missing"
        )
    if digit in _PARTS_OF_FORCES:
        part = _PARTS_OF_FORCES[digit]
        warnings.warn(
            f"{file}: USE_MODE {mode:g} asks for {part} only; all forces are computed, with combined slip", stacklevel=3
        )
    given = [name for name in lines if name in _TURN_SLIP and _number(file, name, lines[name]) != 0]
    if given:
        warnings.warn(f"{file}: turn slip is not modeled; left out: {', '.join(given)}", stacklevel=3)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as problem:
        raise DataError(f"{file}: cannot be read: {problem.strerror}") from problem
    if len(content) > MOST_BYTES:
        raise DataError(f"{file}: larger than {MOST_BYTES} bytes; this is no tire file")
    if b"\0" in content:
        raise DataError(f"{file}: contains zero bytes; a tire file is text, in ASCII or UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # comments in other encodings


def _parsed(file: Path, text: str) -> dict[str, _Line]:
    """Values by key. Tables in braces, of the tire's shape, are left out."""
    found: dict[str, _Line] = {}
    section, in_table = "", False
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.split(r"[$!]", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        if line.startswith("["):
            if not re.fullmatch(r"\[[^\[\]]+\]", line):
                raise DataError(f"{file}, line {number}: the header {line!r} has no closing bracket")
            section, in_table = line[1:-1].strip().upper(), False
            continue
        match = _KEY.fullmatch(line)
        if match is None:
            in_table = in_table or line.startswith("{")
            if in_table and (line.startswith("{") or _numbers_only(line)):
                continue
            raise DataError(f"{file}, line {number}: expected KEY = value, got {line[:60]!r}")
        key, value = match.group(1).upper(), match.group(2).strip()
        if not value:
            raise DataError(f"{file}, line {number}: {key} has no value")
        if key in found:
            raise DataError(f"{file}, line {number}: {key} is given a second time, after line {found[key].number}")
        found[key] = _Line(section, value, number)
    if not found:
        raise DataError(f"{file}: contains no values; a tire file has lines KEY = value")
    return found


def _numbers_only(line: str) -> bool:
    try:
        [float(word) for word in line.split()]
    except ValueError:
        return False
    return True


def _plain(value: str) -> str:
    return value.strip("'\"").strip()


def _number(file: Path, key: str, line: _Line) -> float:
    try:
        value = float(line.value.replace("D", "E").replace("d", "e"))  # Fortran's exponents
    except ValueError:
        raise DataError(f"{file}, line {line.number}: {key} must be a number, got {line.value[:40]!r}") from None
    if not math.isfinite(value):
        raise DataError(f"{file}, line {line.number}: {key} is not finite")
    return value


def _version(file: Path, lines: Mapping[str, _Line]) -> str:
    if "PROPERTY_FILE_FORMAT" in lines:
        name = _plain(lines["PROPERTY_FILE_FORMAT"].value).upper().replace("-", "_")
        if name in _FORMATS:
            return _FORMATS[name]
    if "FITTYP" not in lines:
        raise DataError(
            f"{file}: neither FITTYP nor PROPERTY_FILE_FORMAT names a version that is known; give version='6.1' or '5.2'"
        )
    fit = _plain(lines["FITTYP"].value).removesuffix(".0")
    if fit not in _VERSIONS:
        raise DataError(
            f"{file}, line {lines['FITTYP'].number}: FITTYP {fit} is not supported (known: {', '.join(_VERSIONS)}); "
            "give version='6.1' or '5.2' to read it as such"
        )
    return _VERSIONS[fit]


def _unit_sizes(file: Path, lines: Mapping[str, _Line]) -> dict[str, float]:
    """SI units in those of the file."""
    found = {}
    for kind, known in _SIZES.items():
        if kind not in lines:
            continue
        name = _plain(lines[kind].value).lower()
        if name not in known:
            raise DataError(f"{file}, line {lines[kind].number}: unit {name!r} of {kind} is unknown (known: {', '.join(known)})")
        found[kind] = known[name]
    found.setdefault("PRESSURE", found.get("FORCE", 1.0) / found.get("LENGTH", 1.0) ** 2)
    return found


def _factor(unit: str, sizes: Mapping[str, float]) -> float:
    return math.prod(sizes.get(kind, 1.0) ** power for kind, power in _POWERS.get(unit, {}).items())

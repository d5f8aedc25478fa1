"""Units: conversion of texts such as "102 cm" to SI, with a check of the dimension.

Base units are m, kg, s, A and K. Angles are dimensionless, rad = 1, so N*m/rad is N*m; degrees are still rejected for a length.
Scales with an offset (°C) are rejected, since differences and values convert differently.

>>> quantity_in("102 cm", "m", "wheelbase")
1.02
>>> quantity_in("85 cm", "kg", "mass of body 'frame'")
Traceback (most recent call last):
    ...
draisine.errors.UnitError: mass of body 'frame': got '85 cm' (length), expected a mass such as 'kg'
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple, NoReturn

from draisine.errors import UnitError
from draisine.expr.expression import did_you_mean

MAX_LENGTH = 100  # characters of a unit
MAX_POWER = 12


class Dimension(NamedTuple):
    """Exponents of the base units."""

    m: int = 0
    kg: int = 0
    s: int = 0
    A: int = 0
    K: int = 0

    def __str__(self) -> str:
        """The name of the quantity, or its base units if it has no name."""
        if self in _QUANTITIES:
            return _QUANTITIES[self]
        pairs = zip(("m", "kg", "s", "A", "K"), self, strict=True)
        return "*".join(f"{unit}^{power}" if power != 1 else unit for unit, power in pairs if power)


_NUMBER = Dimension()


@dataclass(frozen=True)
class Unit:
    """`ratio` · π^`turns` SI units of a dimension; exact, so that conversions round once."""

    ratio: Fraction = Fraction(1)
    dimension: Dimension = _NUMBER
    turns: int = 0

    @property
    def scale(self) -> float:
        return float(self.ratio) * math.pi**self.turns

    def to_si(self, number: Fraction) -> float:
        """Convert a number in this unit to SI."""
        return float(number * self.ratio) * math.pi**self.turns

    def __mul__(self, other: Unit) -> Unit:
        powers = [a + b for a, b in zip(self.dimension, other.dimension, strict=True)]
        return Unit(self.ratio * other.ratio, Dimension(*powers), self.turns + other.turns)

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __pow__(self, power: int) -> Unit:
        return Unit(self.ratio**power, Dimension(*[power * p for p in self.dimension]), power * self.turns)


_QUANTITIES = {
    Dimension(): "angle or plain number",
    Dimension(m=1): "length",
    Dimension(m=2): "area",
    Dimension(m=3): "volume",
    Dimension(kg=1): "mass",
    Dimension(s=1): "time",
    Dimension(s=-1): "rate",
    Dimension(s=-2): "angular acceleration",
    Dimension(m=1, s=-1): "velocity",
    Dimension(m=1, s=-2): "acceleration",
    Dimension(m=1, kg=1, s=-1): "momentum",
    Dimension(m=2, kg=1): "moment of inertia",
    Dimension(m=2, kg=1, s=-1): "angular momentum or torsional damping",
    Dimension(m=1, kg=1, s=-2): "force",
    Dimension(m=2, kg=1, s=-2): "torque or energy",
    Dimension(m=2, kg=1, s=-3): "power",
    Dimension(m=-1, kg=1, s=-2): "pressure",
    Dimension(kg=1, s=-2): "stiffness",
    Dimension(kg=1, s=-1): "damping",
    Dimension(m=-3, kg=1): "density",
    Dimension(A=1): "current",
    Dimension(K=1): "temperature",
}

_LENGTH, _MASS, _TIME, _FORCE = Dimension(m=1), Dimension(kg=1), Dimension(s=1), Dimension(m=1, kg=1, s=-2)
_PRESSURE, _POWER, _ENERGY = Dimension(m=-1, kg=1, s=-2), Dimension(m=2, kg=1, s=-3), Dimension(m=2, kg=1, s=-2)
_VELOCITY, _RATE = Dimension(m=1, s=-1), Dimension(s=-1)
_INCH, _POUND, _GRAVITY = Fraction("0.0254"), Fraction("0.45359237"), Fraction("9.80665")  # exact by definition
_DEGREE, _TURN = Unit(Fraction(1, 180), _NUMBER, 1), Unit(Fraction(2), _NUMBER, 1)

# symbol: the unit, and its text in SI units
_PREFIXED = {
    "m": (Unit(dimension=_LENGTH), "m"),
    "g": (Unit(Fraction(1, 1000), _MASS), "kg"),
    "s": (Unit(dimension=_TIME), "s"),
    "rad": (Unit(), "rad"),
    "N": (Unit(dimension=_FORCE), "N"),
    "J": (Unit(dimension=_ENERGY), "J"),
    "W": (Unit(dimension=_POWER), "W"),
    "Pa": (Unit(dimension=_PRESSURE), "Pa"),
    "Hz": (Unit(dimension=_RATE), "Hz"),
    "A": (Unit(dimension=Dimension(A=1)), "A"),
    "K": (Unit(dimension=Dimension(K=1)), "K"),
}
_PREFIXES = {"n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3, "M": 6, "G": 9}
_OTHERS = {
    "1": (Unit(), "1"),
    "%": (Unit(Fraction(1, 100)), "1"),
    "deg": (_DEGREE, "rad"),
    "°": (_DEGREE, "rad"),
    "rev": (_TURN, "rad"),
    "turn": (_TURN, "rad"),
    "rpm": (Unit(Fraction(1, 30), _RATE, 1), "rad/s"),
    "in": (Unit(_INCH, _LENGTH), "m"),
    "ft": (Unit(12 * _INCH, _LENGTH), "m"),
    "yd": (Unit(36 * _INCH, _LENGTH), "m"),
    "mi": (Unit(63360 * _INCH, _LENGTH), "m"),
    "t": (Unit(Fraction(1000), _MASS), "kg"),
    "lb": (Unit(_POUND, _MASS), "kg"),
    "oz": (Unit(_POUND / 16, _MASS), "kg"),
    "min": (Unit(Fraction(60), _TIME), "s"),
    "h": (Unit(Fraction(3600), _TIME), "s"),
    "day": (Unit(Fraction(86400), _TIME), "s"),
    "Nm": (Unit(dimension=_ENERGY), "N*m"),
    "lbf": (Unit(_POUND * _GRAVITY, _FORCE), "N"),
    "kgf": (Unit(_GRAVITY, _FORCE), "N"),
    "bar": (Unit(Fraction(100_000), _PRESSURE), "Pa"),
    "psi": (Unit(_POUND * _GRAVITY / _INCH**2, _PRESSURE), "Pa"),
    "mph": (Unit(63360 * _INCH / 3600, _VELOCITY), "m/s"),
    "kph": (Unit(Fraction(1000, 3600), _VELOCITY), "m/s"),
}
_OFFSET = {"°C", "degC", "°F", "degF", "celsius", "fahrenheit"}


@cache
def _known(symbol: str) -> tuple[Unit, str] | None:
    """The unit of a symbol, with or without a prefix, and its text in SI units."""
    # Symbols without prefix take precedence: "min" is a minute, "h" an hour.
    found = _PREFIXED.get(symbol) or _OTHERS.get(symbol)
    if found is None and symbol[:1] in _PREFIXES and symbol[1:] in _PREFIXED:
        unit, si = _PREFIXED[symbol[1:]]
        found = Unit(Fraction(10) ** _PREFIXES[symbol[0]]) * unit, si
    return found


# -------------------------------------------------------------------- reading

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_TOKEN = re.compile(
    rf"\s*(?:(?P<symbol>°[CF]?|%|[A-Za-zµμ]+|1(?![0-9.]))|(?P<power>(?:\^|\*\*)\s*(?P<digits>-?[0-9]{{1,3}})|[{_SUPERSCRIPTS}]{{1,3}})"
    r"|(?P<sign>[*/·⋅()]))"
)
_QUANTITY = re.compile(
    r"\s*(?P<value>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<space>\s*)"
    r"(?P<unit>(?![eE][+-]?[0-9])[A-Za-zµμ°%1(].*?)\s*",  # "1e6*x" is not 1 in units of e6*x
    re.DOTALL,
)


def parse_unit(text: str) -> Unit:
    """Parse a unit: symbols with powers, products (`*`, `·` or a space) and quotients.

    >>> parse_unit("kg·m²") == parse_unit("kg*m^2") == parse_unit("kg m**2")
    True
    >>> parse_unit("km/h").scale * 3.6
    1.0
    """
    if not isinstance(text, str):
        raise UnitError(f"a unit is a text such as 'kg*m^2', got {text!r}")
    if len(text) > MAX_LENGTH:
        raise UnitError(f"the unit '{text[:40]}…' has {len(text)} characters; the limit is {MAX_LENGTH}")
    return _parsed(text)


@lru_cache(maxsize=512)
def _parsed(text: str) -> Unit:
    return _UnitParser(text).whole()


class _UnitParser:
    """unit := factor ((* | · | / | nothing) factor)…; a quotient divides by the next factor only."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                self.fail(f"unexpected {text[at:].strip()[0]!r}")
            self.tokens.append((str(match.lastgroup if match.lastgroup != "digits" else "power"), match[0].strip()))
            at = match.end()
        self.tokens.append(("end", ""))
        self.tokens.reverse()

    def fail(self, reason: str) -> NoReturn:
        raise UnitError(f"{self.text!r} is not a unit: {reason}; write it like 'kg*m^2' or 'N*m/rad'")

    def whole(self) -> Unit:
        if self.tokens[-1][0] == "end":
            return Unit()
        unit = self.product()
        if self.tokens[-1][0] != "end":
            self.fail(f"unexpected {self.tokens[-1][1]!r}")
        return unit

    def product(self) -> Unit:
        unit = self.factor()
        while True:
            kind, text = self.tokens[-1]
            if text == "/":
                self.tokens.pop()
                unit = unit / self.factor()
            elif text in ("*", "·", "⋅"):
                self.tokens.pop()
                unit = unit * self.factor()
            elif kind == "symbol" or text == "(":
                unit = unit * self.factor()
            else:
                return unit

    def factor(self) -> Unit:
        kind, text = self.tokens.pop()
        if text == "(":
            unit = self.product()
            if self.tokens.pop()[1] != ")":
                self.fail("a parenthesis is not closed")
        elif kind == "symbol":
            unit = self.symbol(text)
        else:
            self.fail(f"unexpected {text!r}" if text else "it ends unexpectedly")
        if self.tokens[-1][0] == "power":
            digits = self.tokens.pop()[1].translate(str.maketrans(_SUPERSCRIPTS, "0123456789-")).strip("^* ")
            if not re.fullmatch("-?[0-9]+", digits) or abs(int(digits)) > MAX_POWER:
                self.fail(f"a power must be an integer between -{MAX_POWER} and {MAX_POWER}")
            unit = unit ** int(digits)
        return unit

    def symbol(self, text: str) -> Unit:
        if text in _OFFSET:
            raise UnitError(f"{self.text!r}: {text} is a scale with an offset, which is not supported; use kelvin, 'K'")
        known = _known(text)
        if known is None:
            common = [*_PREFIXED, *_OTHERS, "kg", "mm", "cm", "km", "ms", "kN", "kW"]
            raise UnitError(f"{self.text!r} is not a unit: {text!r} is unknown{did_you_mean(text, common)}")
        return known[0]


def si_text(text: str) -> str:
    """The same unit in SI units; radians are kept for readability.

    >>> si_text("kN*m/deg"), si_text("rpm"), si_text("lb/in^2")
    ('N*m/rad', 'rad/s', 'kg/m^2')
    """
    parse_unit(text)
    found = [match for match in _TOKEN.finditer(text) if match["symbol"]]
    for match in reversed(found):
        known = _known(match["symbol"])
        assert known is not None, "the text was parsed"
        si = known[1]
        composite = len(found) > 1 or len(match["symbol"]) < len(text.strip())
        replacement = f"({si})" if composite and re.search(r"[*/]", si) else si
        text = text[: match.start("symbol")] + replacement + text[match.end("symbol") :]
    return text


# -------------------------------------------------------------------- amounts


def fits(unit: Unit | str, slot_unit: Unit | str) -> bool:
    """Whether `unit` has the dimension of the expected unit `slot_unit`.

    >>> fits("N*m/rad", "N m"), fits("deg", "m")
    (True, False)
    """
    given = parse_unit(unit) if isinstance(unit, str) else unit
    expected = parse_unit(slot_unit) if isinstance(slot_unit, str) else slot_unit
    return given.dimension == expected.dimension


def described(dimension: Dimension) -> str:
    """The quantity of a dimension with its article.

    >>> described(Dimension(kg=1)), described(Dimension(m=3, s=-1))
    ('a mass', 'an amount in m^3*s^-1')
    """
    if dimension not in _QUANTITIES:
        return f"an amount in {dimension}"
    return f"{'an' if str(dimension)[0] in 'aeiou' else 'a'} {dimension}"


def quantity(text: str) -> tuple[float, Dimension] | None:
    """A number with a unit, converted to SI, and its dimension; None for any other text.

    >>> quantity("36 km/h")
    (10.0, Dimension(m=1, kg=0, s=-1, A=0, K=0))
    >>> quantity("2*r") is None
    True
    """
    split = _split(text)
    if split is None:
        return None
    number, unit = split
    value = unit.to_si(number)
    return value, unit.dimension


class Measured(float):
    """A number in SI units that keeps the text it was given as, so that its unit can be checked later.

    >>> Measured.read("36 km/h"), Measured.read("36 km/h").checked("m/s", "speed")
    (10.0, 10.0)
    """

    text: str

    @staticmethod
    def read(text: str) -> Measured | None:
        """From a number with a unit; None for any other text."""
        found = quantity(text)
        if found is None:
            return None
        measured = Measured(found[0])
        measured.text = text
        return measured

    def checked(self, unit: str, where: str) -> float:
        """The number in `unit`, after a check of its dimension; only outputs have units that are not SI.

        >>> Measured.read("0.5 rev").checked("deg", "heading in degrees")
        180.0
        """
        found, split = quantity_in(self.text, unit, where), _split(self.text)
        if found is None or split is None:
            return float(self)
        (number, given), expected = split, parse_unit(unit)
        return found if expected.scale == 1.0 else (given / expected).to_si(number)


def unit_of(text: str) -> str | None:
    """The unit in a text with a number and a unit, as written."""
    match = _match(text)
    return match["unit"] if match else None


def _match(text: str) -> re.Match[str] | None:
    match = _QUANTITY.fullmatch(text) if len(text) <= 2 * MAX_LENGTH else None
    if match is not None and not match["space"] and match["unit"][0] in "1(":  # "2(a + b)" is a mistyped product
        return None
    return match


def _split(text: str) -> tuple[Fraction, Unit] | None:
    match = _match(text)
    if match is None:
        return None
    unit = parse_unit(match["unit"])
    if not 1e-200 < abs(float(match["value"])) < 1e200:  # also keeps the exact fraction short
        if float(match["value"]) == 0.0 and not re.search("[1-9]", match["value"].lower().split("e")[0]):
            return Fraction(0), unit
        raise UnitError(f"{text.strip()!r} is too large or too small")
    return Fraction(match["value"]), unit


def quantity_in(text: str, slot_unit: str, where: str) -> float | None:
    """A number with a unit, converted to SI and checked against the expected unit; None for any other text."""
    try:
        found = quantity(text)
        expected = parse_unit(slot_unit)
    except UnitError as problem:
        raise UnitError(f"{where}: {problem}") from None
    if found is None:
        return None
    value, dimension = found
    if dimension != expected.dimension:
        wanted = f"{described(expected.dimension)} such as {slot_unit or 'rad'!r}"
        raise UnitError(f"{where}: got {text.strip()!r} ({dimension}), expected {wanted}")
    doubt = rate_in_doubt(unit_of(text) or "", slot_unit)
    if doubt:
        raise UnitError(f"{where}: got {text.strip()!r}, but {doubt}")
    return value


_ANGLES = re.compile(r"rad|deg|°|rev|turn|rpm")
_TURNS = re.compile(r"rev|turn|rpm")


def rate_in_doubt(given: str, expected: str) -> str:
    """Why a number in one unit of rate cannot be one in another, since it may count revolutions or radians; "" if it can.

    >>> rate_in_doubt("rpm", "deg/s"), rate_in_doubt("1/s", "rad/s"), rate_in_doubt("Hz", "1/s")
    ('', '', '')
    >>> rate_in_doubt("1/min", "rad/s")
    "'1/min' is ambiguous (revolutions or radians); write 'rpm', 'rev/s' or 'rad/s'"
    """
    if parse_unit(expected).dimension != _RATE:
        return ""
    if _ANGLES.search(expected) and not _ANGLES.search(given):
        if "Hz" in given:
            return "hertz is ambiguous (revolutions or radians per second); write 'rev/s' or 'rad/s'"
        if parse_unit(given).scale != 1.0:
            return f"{given.strip()!r} is ambiguous (revolutions or radians); write 'rpm', 'rev/s' or 'rad/s'"
    elif "Hz" in expected and _ANGLES.search(given):
        return f"{expected!r} is ambiguous there (revolutions or radians per second); give the number in {expected!r}"
    elif not _ANGLES.search(expected) and _TURNS.search(given):
        return f"{expected!r} is ambiguous there (revolutions or radians); give the number in {expected!r}"
    return ""

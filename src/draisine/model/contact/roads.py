"""Roads and air as expressions: heights for `Model.ground(height=…)`, friction for `ground(friction=…)`, wind for forces.

Each function gives an expression of the position x, y on the ground, or of time; they can be added and multiplied. `along` is the
coordinate that they depend on, "x" by default: for a road that turns, take the coordinates of `circle` or `line`.

    >>> print(bump(at=10.0, length=0.4, height=0.05))
    0.05*sin(pi*clip((x - 10)/0.4, 0, 1))**2
    >>> s, d = circle(radius=50.0)
    >>> road = bump(at=20.0, length=2.0, height=0.05, along=s) + bank("5 deg", across=d)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ExpressionError
from draisine.expr.expression import Expr, evaluate_number
from draisine.expr.tree import Call, Number
from draisine.model.quantities import Amount, amount_in

if TYPE_CHECKING:
    from draisine.model.model import Model

Array = NDArray[np.float64]

# ISO 8608: geometric means of the displacement spectral density at 0.1 cycles/m, in m³
ROUGHNESS = {name: 16e-6 * 4.0**k for k, name in enumerate("ABCDEFGH")}
REFERENCE = 0.1  # cycles/m
BAND = (0.011, 2.83)  # cycles/m: the spatial frequencies of the standard
TAPER = 5.0  # m at both ends of a table, over which roughness sets in


def _one(where: str, **amounts: tuple[Amount, str]) -> tuple[Expr, ...]:
    return tuple(amount_in(value, unit, f"{name} of {where}") for name, (value, unit) in amounts.items())


def _positive(where: str, **amounts: tuple[Amount, str | None]) -> tuple[Expr, ...]:
    """Lengths and durations: positive, if they are numbers."""
    found = tuple(amount_in(value, unit, f"{name} of {where}") for name, (value, unit) in amounts.items())
    for name, value in zip(amounts, found, strict=True):
        if isinstance(value, Number) and not (math.isfinite(value.value) and value.value > 0):
            raise ArgumentError(f"{name} of {where} must be positive, got {value.value:g}")
    return found


def _inside(along: Expr, at: Expr, length: Expr) -> Expr:
    """0 before, 1 behind a stretch, and linear on it."""
    return Call("clip", ((along - at) / length, amount_in(0, "", ""), amount_in(1, "", "")))


def _step(share: Expr) -> Expr:
    """10 u³ − 15 u⁴ + 6 u⁵, with two derivatives of zero at both ends."""
    return share**3 * (10 - 15 * share + 6 * share**2)


# -------------------------------------------------------------------------------------------------- coordinates


def line(heading: Amount = 0.0, start: tuple[Amount, Amount] = (0.0, 0.0)) -> tuple[Expr, Expr]:
    """Coordinates along a straight road, and across it to the left, in m: it begins at `start` and has a heading to the left of
    the x axis."""
    angle, x0, y0 = _one("line", heading=(heading, "rad"), start_x=(start[0], "m"), start_y=(start[1], "m"))
    dx, dy = amount_in("x", None, "") - x0, amount_in("y", None, "") - y0
    cosine, sine = Call("cos", (angle,)), Call("sin", (angle,))
    return dx * cosine + dy * sine, dy * cosine - dx * sine


def circle(radius: Amount, center: tuple[Amount, Amount] | None = None, middle: Amount = 0.0) -> tuple[Expr, Expr]:
    """Arc length along a circular road to the left, and distance to the left of it, in m.

    By default the road begins at the origin along x: the center is at (0, radius). The arc length goes from half a circle before
    `middle` to half a circle behind it, and jumps there.
    """
    (r,) = _positive("circle", radius=(radius, "m"))
    x0, y0 = _one("circle", x=(center[0], "m"), y=(center[1], "m")) if center is not None else (amount_in(0, "m", ""), r)
    dx, dy = amount_in("x", None, "") - x0, amount_in("y", None, "") - y0
    (m,) = _one("circle", middle=(middle, "m"))
    away = r - Call("sqrt", (dx**2 + dy**2,))
    if m == Number(0):
        return r * Call("atan2", (dx, -dy)), away
    cosine, sine = Call("cos", (m / r,)), Call("sin", (m / r,))
    return m + r * Call("atan2", (dx * cosine + dy * sine, dx * sine - dy * cosine)), away


def _check_on_circle(where: str, along: Expr, *places: Expr) -> None:
    """Refuse places that the arc length of `circle` does not reach, where all of it is numbers."""
    middle = 0.0
    match along:
        case Call("add", (Number(middle), Call("mul", (Number(radius), Call("atan2"))))):
            pass
        case Call("mul", (Number(radius), Call("atan2"))):
            pass
        case _:
            return
    half = math.pi * radius
    for place in places:
        try:
            reached = abs(evaluate_number(place, {}) - middle) <= half
        except ExpressionError:  # of parameters
            continue
        if not reached:
            low, high = middle - half, middle + half
            raise ArgumentError(
                f"{where} at {evaluate_number(place, {}):g} m: the arc length of this circle goes from {low:g} m to {high:g} m; "
                "give circle(…, middle=…) another middle, or another place"
            )


# -------------------------------------------------------------------------------------------------- heights


def bump(at: Amount, length: Amount, height: Amount, along: Amount = "x") -> Expr:
    """A bump of the shape of sin², between `at` and `at + length`; negative heights are holes."""
    a, h = _one("bump", at=(at, "m"), height=(height, "m"))
    (l,) = _positive("bump", length=(length, "m"))
    pi, where = amount_in("pi", None, ""), amount_in(along, None, "along of bump")
    _check_on_circle("bump", where, a, a + l)
    return h * Call("sin", (pi * _inside(where, a, l),)) ** 2


def ramp(at: Amount, length: Amount, height: Amount, along: Amount = "x") -> Expr:
    """A rise to `height` between `at` and `at + length`, with continuous curvature, and level from there on."""
    a, h = _one("ramp", at=(at, "m"), height=(height, "m"))
    (l,) = _positive("ramp", length=(length, "m"))
    where = amount_in(along, None, "along of ramp")
    _check_on_circle("ramp", where, a, a + l)
    return h * _step(_inside(where, a, l))


def bank(angle: Amount, across: Amount = "y", along: Amount = "x", at: Amount | None = None, length: Amount = 10.0) -> Expr:
    """A road that rises to the left by an angle; with `at` it is level before, and tilts over a length from there on."""
    (tilt,), (l,) = _one("bank", angle=(angle, "rad")), _positive("bank", length=(length, "m"))
    height = amount_in(across, None, "across of bank") * Call("tan", (tilt,))
    if at is None:
        return height
    (a,) = _one("bank", at=(at, "m"))
    where = amount_in(along, None, "along of bank")
    _check_on_circle("bank", where, a, a + l)
    return height * _step(_inside(where, a, l))


def waves(wavelength: Amount, amplitude: Amount, along: Amount = "x") -> Expr:
    """Sinusoidal waves (washboard) of the given amplitude, half of their height."""
    (l,), (a,) = _positive("waves", wavelength=(wavelength, "m")), _one("waves", amplitude=(amplitude, "m"))
    return a * Call("sin", (2 * amount_in("pi", None, "") * amount_in(along, None, "along of waves") / l,))


# -------------------------------------------------------------------------------------------------- roughness


def spectral_density(road: str | float, frequency: Array) -> Array:
    """Displacement spectral density of ISO 8608, one-sided, in m³, at spatial frequencies in cycles/m: G (n/0.1)⁻².

    `road` is a class, "A" (very good) to "H", by its geometric mean, or the density at 0.1 cycles/m itself.
    """
    if isinstance(road, str):
        if road not in ROUGHNESS:
            raise ArgumentError(f"road class {road!r} is unknown; ISO 8608 has {', '.join(ROUGHNESS)}")
        road = ROUGHNESS[road]
    if not (math.isfinite(road) and road >= 0):
        raise ArgumentError(f"spectral density of a road must be a positive number in m³, got {road!r}")
    return np.asarray(road * (np.asarray(frequency) / REFERENCE) ** -2.0)


def random_profile(density: Callable[[Array], Array], length: float, count: int, band: tuple[float, float], seed: int) -> Array:
    """`count` equidistant values of a periodic random function with a given one-sided spectral density.

    The amplitude at each frequency k/length in the band is √(2 G/length), its phase random: the periodogram of the values is
    the density itself.
    """
    if not (math.isfinite(length) and length > 0 and count >= 4):
        raise ArgumentError(f"a random profile needs a positive length and at least 4 values, got {length!r} and {count!r}")
    frequency = np.arange(count // 2 + 1) / length
    inside = (frequency >= band[0]) & (frequency <= band[1])
    inside[-1] = False  # at half the sampling frequency the phase has no meaning
    if not inside.any():
        raise ArgumentError(f"a length of {length:g} has no frequencies between {band[0]:g} and {band[1]:g}; take a longer one")
    phase = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, frequency.size)
    lines = np.zeros(frequency.size, dtype=complex)
    lines[inside] = np.sqrt(density(frequency[inside]) / (2 * length)) * np.exp(1j * phase[inside])
    return np.fft.irfft(lines, count) * count


def roughness(road: str | float, length: float, seed: int, spacing: float = 0.05) -> tuple[Array, Array]:
    """Positions and heights in m of a random road of ISO 8608: a class or a density at 0.1 cycles/m, between 0.011 and 2.83
    cycles/m, or half of that which the spacing resolves. It repeats after its length."""
    count = 2 * round(length / spacing / 2)
    heights = random_profile(lambda n: spectral_density(road, n), length, count, BAND, seed)
    return np.arange(count, dtype=np.float64) * (length / count), heights


def rough(
    model: Model,
    name: str,
    road: str | float,
    length: float,
    seed: int,
    along: Amount = "x",
    track: Amount | None = None,
    across: Amount = "y",
    spacing: float = 0.05,
) -> Expr:
    """The height of a random road of ISO 8608 between along = 0 and `length`, as a spline table of the model.

    `road` is a class, "A" to "H". Roughness sets in over 5 m at both ends. With `track`, the distance of two tracks, left and
    right have profiles of their own, independent of each other, with the height linear between.
    """
    if not length > 2 * TAPER:
        raise ArgumentError(f"a rough road of {length:g} m is too short; take more than {2 * TAPER:g} m")
    where = amount_in(along, None, "along of rough")

    def profile(name: str, seed: int) -> Expr:
        at, heights = roughness(road, length, seed, spacing)
        ends = np.clip(np.minimum(at, at[-1] - at) / TAPER, 0.0, 1.0)
        model.table(name, at.tolist(), heights * ends**3 * (10 - 15 * ends + 6 * ends**2))
        return Call(name, (where,))

    if track is None:
        return profile(name, seed)
    (width,) = _one("rough", track=(track, "m"))
    side = amount_in(across, None, "across of rough") / width
    return profile(f"{name}_left", seed) * (0.5 + side) + profile(f"{name}_right", seed + 1) * (0.5 - side)


# -------------------------------------------------------------------------------------------------- friction


def patch(at: Amount, length: Amount, friction: Amount, edge: Amount = 0.2, along: Amount = "x") -> Expr:
    """Relative friction: 1, and `friction` between `at` and `at + length`. At both places it changes linearly, from half an
    `edge` before to half an edge behind. The ends of the edges are switching functions: no step passes over a patch."""
    a, mu = _one("patch", at=(at, "m"), friction=(friction, ""))
    l, e = _positive("patch", length=(length, "m"), edge=(edge, "m"))
    where = amount_in(along, None, "along of patch")
    _check_on_circle("patch", where, a, a + l)
    begin, end = (Call("clip", (place / e + 0.5, Number(0), Number(1))) for place in (where - a, where - a - l))
    return 1 - (1 - mu) * (begin - end)


def split(left: Amount, right: Amount, edge: Amount = 0.1, across: Amount = "y") -> Expr:
    """Relative friction that differs between the left side, across > 0, and the right one."""
    (one, other), (e,) = _one("split", left=(left, ""), right=(right, "")), _positive("split", edge=(edge, "m"))
    return (one + other) / 2 + (one - other) / 2 * Call("tanh", (amount_in(across, None, "across of split") / e,))


# -------------------------------------------------------------------------------------------------- wind


def gust(speed: Amount, start: Amount, duration: Amount, along: Amount = "t") -> Expr:
    """The speed of a gust of the shape (1 − cos)/2, in m/s: of time, or of the position if `along` is one (start and duration are
    lengths then)."""
    (v,), (l,) = _one("gust", speed=(speed, "m/s")), _positive("gust", duration=(duration, None))
    a = amount_in(start, None, "start of gust")
    pi = amount_in("pi", None, "")
    return v * Call("sin", (pi * _inside(amount_in(along, None, "along of gust"), a, l),)) ** 2


def turbulence(
    model: Model,
    name: str,
    deviation: float,
    scale: float,
    speed: float,
    duration: float,
    seed: int,
    lateral: bool = True,
    spacing: float = 0.02,
) -> Expr:
    """Random wind speed of Dryden's spectrum as a spline table of time: standard deviation in m/s, length scale in m, mean speed
    of the air relative to the vehicle in m/s.

    One-sided spectral densities, with τ = scale/speed and ω = 2π f: 4 σ² τ/(1 + τ² ω²) along the wind, and
    2 σ² τ (1 + 3 τ² ω²)/(1 + τ² ω²)² across it.
    """
    tau = scale / speed

    def density(f: Array) -> Array:
        u = (2 * np.pi * tau * f) ** 2
        return 2 * deviation**2 * tau * (1 + 3 * u) / (1 + u) ** 2 if lateral else 4 * deviation**2 * tau / (1 + u)

    count = 2 * round(duration / spacing / 2)
    values = random_profile(density, duration, count, (0.5 / duration, 0.5 / spacing), seed)
    model.table(name, (np.arange(count) * (duration / count)).tolist(), values)
    return Call(name, (amount_in("t", None, ""),))

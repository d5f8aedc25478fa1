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
from typing import TYPE_CHECKING, NamedTuple

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
OVERLAP = 20  # knots of a table that repeats, beyond both ends: a natural spline forgets its ends by 0.27 per knot
CHORD_WIDTH = 1e-16  # square of half a chord of the unit circle, at which its root stays differentiable


def _one(where: str, **amounts: tuple[Amount, str]) -> tuple[Expr, ...]:
    return tuple(amount_in(value, unit, f"{name} of {where}") for name, (value, unit) in amounts.items())


def _positive(where: str, **amounts: tuple[Amount, str | None]) -> tuple[Expr, ...]:
    """Lengths and durations: positive, if they are numbers."""
    found = tuple(amount_in(value, unit, f"{name} of {where}") for name, (value, unit) in amounts.items())
    for name, value in zip(amounts, found, strict=True):
        if isinstance(value, Number) and not (math.isfinite(value.value) and value.value > 0):
            raise ArgumentError(f"{name} of {where} must be positive, got {value.value:g}")
    return found


def _numbers(where: str, **amounts: tuple[Amount, str]) -> tuple[float, ...]:
    """Positive numbers in SI units: tables, which are made of them, do not depend on parameters."""
    found = []
    for name, amount in zip(amounts, _one(where, **amounts), strict=True):
        try:
            value = evaluate_number(amount, {})
        except ExpressionError:
            raise ArgumentError(f"{name} of {where} must be a number, since a table is made of it, got '{amount}'") from None
        if not (math.isfinite(value) and value > 0):
            raise ArgumentError(f"{name} of {where} must be positive, got {value:g}")
        found.append(value)
    return tuple(found)


def _not_negative(where: str, **amounts: Amount) -> tuple[Expr, ...]:
    """Relative friction: not below zero, if it is a number."""
    found = _one(where, **{name: (value, "") for name, value in amounts.items()})
    for name, value in zip(amounts, found, strict=True):
        if isinstance(value, Number) and not (math.isfinite(value.value) and value.value >= 0):
            raise ArgumentError(f"{name} of {where} is relative friction and must not be negative, got {value.value:g}")
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

    By default the road begins at the origin along x: the center is at (0, radius). Bumps, ramps, banks, patches, gusts and
    roughness along it are met in every round. The arc length itself goes from half a circle before `middle` to half a circle
    behind it, and jumps there.
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


class _Round(NamedTuple):
    """The arc length of a circular road, taken apart: middle + radius·atan2(y, x)."""

    middle: Expr
    radius: Expr
    y: Expr
    x: Expr

    @staticmethod
    def of(along: Expr) -> _Round | None:
        """None for a coordinate that is not the arc length of `circle`."""
        match along:
            case Call("add", (middle, Call("mul", (radius, Call("atan2", (y, x)))))):
                return _Round(middle, radius, y, x)
            case Call("mul", (radius, Call("atan2", (y, x)))):
                return _Round(Number(0), radius, y, x)
        return None

    def distance(self, place: Expr, least: Expr | None, most: Expr) -> Expr:
        """How far along the road a place is, ahead or behind, between two limits.

        It follows from the chord c of the unit circle, 2 asin(c/2), and is bounded by bounds of c²: these are smooth functions of
        x and y all around, also opposite to the place, where an arc length jumps. What depends on it is met in every round.
        """
        turn, away = (place - self.middle) / self.radius, Call("sqrt", (self.x**2 + self.y**2,))
        cosine, sine = Call("cos", (turn,)), Call("sin", (turn,))
        chord = (self.x / away - cosine) ** 2 + (self.y / away - sine) ** 2
        squares = [4 * Call("sin", (limit / (2 * self.radius),)) ** 2 for limit in (least, most) if limit is not None]
        bounded = Call("min" if least is None else "clip", (chord, *squares))
        return 2 * self.radius * Call("asin", (Call("sqrt", (bounded / 4 + CHORD_WIDTH,)),))


def _check_longer(where: str, longer: Expr, what: str, shorter: Expr, cure: str) -> None:
    """Refuse a length that is exceeded, where both are numbers."""
    try:
        most, own = evaluate_number(longer, {}), evaluate_number(shorter, {})
    except ExpressionError:  # of parameters
        return
    if own > most * (1 + 1e-12):
        raise ArgumentError(f"{where}: {own:g} m, with its ends, do not fit into {what}, {most:g} m; {cure}")


def _check_round(where: str, around: _Round, length: Expr) -> None:
    _check_longer(where, 2 * amount_in(math.pi, "", "") * around.radius, "the closed road", length, "take a shorter one")


def _share(where: str, along: Expr, at: Expr, length: Expr, ends: Expr) -> Expr:
    """0 before, 1 on a stretch, and 0 behind it; linear over `ends` at both places, half of them before, half behind."""
    around = _Round.of(along)
    if around is None:
        begin, end = (Call("clip", (place / ends + 0.5, Number(0), Number(1))) for place in (along - at, along - at - length))
        return begin - end
    _check_round(where, around, length + ends)
    _check_longer(where, length, "its length", ends, "take shorter ends")
    return ((length + ends) / 2 - around.distance(at + length / 2, (length - ends) / 2, (length + ends) / 2)) / ends


# -------------------------------------------------------------------------------------------------- heights


def bump(at: Amount, length: Amount, height: Amount, along: Amount = "x") -> Expr:
    """A bump of the shape of sin², between `at` and `at + length`; negative heights are holes."""
    a, h = _one("bump", at=(at, "m"), height=(height, "m"))
    (l,) = _positive("bump", length=(length, "m"))
    return h * _hump("bump", amount_in(along, None, "along of bump"), a, l)


def _hump(where: str, along: Expr, at: Expr, length: Expr) -> Expr:
    """sin² between `at` and `at + length`, 0 elsewhere."""
    pi, around = amount_in("pi", None, ""), _Round.of(along)
    if around is None:
        return Call("sin", (pi * _inside(along, at, length),)) ** 2
    _check_round(where, around, length)
    return Call("cos", (pi * around.distance(at + length / 2, None, length / 2) / length,)) ** 2


def _rise(where: str, along: Expr, at: Expr, length: Expr, until: Amount | None) -> Expr:
    """A smooth step from 0 to 1 between `at` and `at + length`, and back between `until` and `until + length`."""
    if until is None:
        if _Round.of(along) is not None:
            raise ArgumentError(f"{where} on a closed road must end: give until=…, from where it goes back")
        return _step(_inside(along, at, length))
    (end,) = _one(where, until=(until, "m"))
    _check_longer(where, end - at, "the stretch up to `until`", length, "take a later end or a shorter length")
    if _Round.of(along) is None:  # smooth in each of its parts, as wheels need it
        return _step(_inside(along, at, length)) - _step(_inside(along, end, length))
    return _step(_share(where, along, at + length / 2, end - at, length))


def ramp(at: Amount, length: Amount, height: Amount, along: Amount = "x", until: Amount | None = None) -> Expr:
    """A rise to `height` between `at` and `at + length`, with continuous curvature, and level from there on; with `until` it
    goes down again, between `until` and `until + length`."""
    a, h = _one("ramp", at=(at, "m"), height=(height, "m"))
    (l,) = _positive("ramp", length=(length, "m"))
    return h * _rise("ramp", amount_in(along, None, "along of ramp"), a, l, until)


def bank(
    angle: Amount,
    across: Amount = "y",
    along: Amount = "x",
    at: Amount | None = None,
    length: Amount = 10.0,
    until: Amount | None = None,
) -> Expr:
    """A road that rises to the left by an angle; with `at` it is level before, and tilts over a length from there on; with
    `until` it is level again behind `until + length`."""
    (tilt,), (l,) = _one("bank", angle=(angle, "rad")), _positive("bank", length=(length, "m"))
    height = amount_in(across, None, "across of bank") * Call("tan", (tilt,))
    if at is None:
        return height
    (a,) = _one("bank", at=(at, "m"))
    return height * _rise("bank", amount_in(along, None, "along of bank"), a, l, until)


def waves(wavelength: Amount, amplitude: Amount, along: Amount = "x") -> Expr:
    """Sinusoidal waves (washboard) of the given amplitude, half of their height."""
    (l,), (a,) = _positive("waves", wavelength=(wavelength, "m")), _one("waves", amplitude=(amplitude, "m"))
    _check_waves(amount_in(along, None, "along of waves"), l)
    return a * Call("sin", (2 * amount_in("pi", None, "") * amount_in(along, None, "along of waves") / l,))


def _check_waves(along: Expr, length: Expr) -> None:
    """Refuse waves that do not fit around a circle, where all of it is numbers."""
    around = _Round.of(along)
    if around is None:
        return
    try:
        count = 2 * math.pi * evaluate_number(around.radius, {}) / evaluate_number(length, {})
    except ExpressionError:  # of parameters
        return
    if abs(count - round(count)) > 1e-9 * max(count, 1.0):
        near = 2 * math.pi * evaluate_number(around.radius, {}) / max(round(count), 1)
        raise ArgumentError(f"{count:g} waves do not close around the road; take a wavelength of {near:.12g} m")


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


def roughness(road: str | float, length: Amount, seed: int, spacing: Amount = 0.05) -> tuple[Array, Array]:
    """Positions and heights in m of a random road of ISO 8608: a class or a density at 0.1 cycles/m, between 0.011 and 2.83
    cycles/m, or half of that which the spacing resolves. It repeats after its length."""
    extent, step = _numbers("roughness", length=(length, "m"), spacing=(spacing, "m"))
    count = 2 * round(extent / step / 2)
    heights = random_profile(lambda n: spectral_density(road, n), extent, count, BAND, seed)
    return np.arange(count, dtype=np.float64) * (extent / count), heights


def _around_from_start(around: _Round) -> tuple[Expr, float]:
    """The arc length of a circle from its beginning to its end, and the circumference."""
    try:
        radius, middle = evaluate_number(around.radius, {}), evaluate_number(around.middle, {})
    except ExpressionError:
        raise ArgumentError("rough along a closed road needs a radius that is a number, since its heights are a table") from None
    half = math.pi * radius
    turn = (half - middle) / radius
    cosine, sine = math.cos(turn), math.sin(turn)
    y, x = around.y * cosine - around.x * sine, around.x * cosine + around.y * sine
    return half + radius * Call("atan2", (y, x)), 2 * half


def rough(
    model: Model,
    name: str,
    road: str | float,
    length: Amount,
    seed: int,
    along: Amount = "x",
    track: Amount | None = None,
    across: Amount = "y",
    spacing: Amount = 0.05,
) -> Expr:
    """The height of a random road of ISO 8608 between along = 0 and `length`, as a spline table of the model.

    `road` is a class, "A" to "H". Roughness sets in over 5 m at both ends. With `track`, the distance of two tracks, left and
    right have profiles of their own, independent of each other, with the height linear between. Along a circle, of which the
    length must not be more than the circumference, the roughness is met in every round.
    """
    extent, step = _numbers("rough", length=(length, "m"), spacing=(spacing, "m"))
    if not extent > 2 * TAPER:
        raise ArgumentError(f"a rough road of {extent:g} m is too short; take more than {2 * TAPER:g} m")
    where = amount_in(along, None, "along of rough")
    around, beyond = _Round.of(where), np.zeros(0)
    if around is not None:
        _check_round("rough", around, Number(extent))
        where, whole = _around_from_start(around)
        beyond = np.arange(extent, whole + 2 * step, step)[1:]  # level, so that the arc length jumps inside the table

    def profile(name: str, seed: int) -> Expr:
        at, heights = roughness(road, extent, seed, step)
        ends = np.clip(np.minimum(at, at[-1] - at) / TAPER, 0.0, 1.0)
        heights = heights * ends**3 * (10 - 15 * ends + 6 * ends**2)
        if beyond.size:
            before = step * np.array([-2.0, -1.0])
            at, heights = np.concatenate([before, at, beyond]), np.concatenate([0 * before, heights, 0 * beyond])
        model.table(name, at.tolist(), heights)
        return Call(name, (where,))

    if track is None:
        return profile(name, seed)
    (width,) = _one("rough", track=(track, "m"))
    side = amount_in(across, None, "across of rough") / width
    other = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])  # no left track of another seed
    return profile(f"{name}_left", seed) * (0.5 + side) + profile(f"{name}_right", other) * (0.5 - side)


# -------------------------------------------------------------------------------------------------- friction


def patch(at: Amount, length: Amount, friction: Amount, edge: Amount = 0.2, along: Amount = "x") -> Expr:
    """Relative friction: 1, and `friction` between `at` and `at + length`. At both places it changes linearly, from half an
    `edge` before to half an edge behind. The ends of the edges are switching functions: no step passes over a patch."""
    (a,), (mu,) = _one("patch", at=(at, "m")), _not_negative("patch", friction=friction)
    l, e = _positive("patch", length=(length, "m"), edge=(edge, "m"))
    return 1 - (1 - mu) * _share("patch", amount_in(along, None, "along of patch"), a, l, e)


def split(left: Amount, right: Amount, edge: Amount = 0.1, across: Amount = "y") -> Expr:
    """Relative friction that differs between the left side, across > 0, and the right one."""
    (one, other), (e,) = _not_negative("split", left=left, right=right), _positive("split", edge=(edge, "m"))
    return (one + other) / 2 + (one - other) / 2 * Call("tanh", (amount_in(across, None, "across of split") / e,))


# -------------------------------------------------------------------------------------------------- wind


def gust(speed: Amount, start: Amount, duration: Amount, along: Amount = "t") -> Expr:
    """The speed of a gust of the shape (1 − cos)/2, in m/s: of time, or of the position if `along` is one (start and duration are
    lengths then)."""
    (v,), (l,) = _one("gust", speed=(speed, "m/s")), _positive("gust", duration=(duration, None))
    return v * _hump("gust", amount_in(along, None, "along of gust"), amount_in(start, None, "start of gust"), l)


def turbulence(
    model: Model,
    name: str,
    deviation: Amount,
    scale: Amount,
    speed: Amount,
    duration: Amount,
    seed: int,
    lateral: bool = True,
    spacing: Amount = 0.02,
) -> Expr:
    """Random wind speed of Dryden's spectrum as a spline table of time: standard deviation in m/s, length scale in m, mean speed
    of the air relative to the vehicle in m/s. It repeats after its `duration`.

    One-sided spectral densities, with τ = scale/speed and ω = 2π f: 4 σ² τ/(1 + τ² ω²) along the wind, and
    2 σ² τ (1 + 3 τ² ω²)/(1 + τ² ω²)² across it.
    """
    sigma, far, fast = _numbers("turbulence", deviation=(deviation, "m/s"), scale=(scale, "m"), speed=(speed, "m/s"))
    period, step = _numbers("turbulence", duration=(duration, "s"), spacing=(spacing, "s"))
    tau = far / fast

    def density(f: Array) -> Array:
        u = (2 * np.pi * tau * f) ** 2
        return 2 * sigma**2 * tau * (1 + 3 * u) / (1 + u) ** 2 if lateral else 4 * sigma**2 * tau / (1 + u)

    count = 2 * round(period / step / 2)
    values = random_profile(density, period, count, (0.5 / period, 0.5 / step), seed)
    ticks = np.arange(-count // 2 - OVERLAP, count // 2 + OVERLAP + 1)  # both sides of where the time jumps back
    model.table(name, (ticks * (period / count)).tolist(), values[ticks % count])
    radius = Number(period / (2 * math.pi))  # of a circle of that length
    turn = amount_in("t", None, "") / radius
    return Call(name, (radius * Call("atan2", (Call("sin", (turn,)), Call("cos", (turn,)))),))

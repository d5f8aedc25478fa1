"""Tires: forces and moments of the ground on a wheel as functions of slip, camber and load.

Axes at the contact are x along the track, y to the left and z along the normal of the ground (ISO 8855). With V, the velocity of
the contact along the track, and the slip velocity, that of the tire's tread relative to the ground, the slips are

    s_x = slip_x/|V| = −κ,    s_y = slip_y/|V| = tan α,

so a positive slip angle α, of a wheel that moves to its left, has a negative side force. The camber γ is positive for a lean to
the right. Every equation is written once, over the functions of a module: with NumPy they give numbers, with CasADi the symbols
of equations of motion, whose derivatives are exact. None of them switches: a run is not restarted by a tire.

    >>> tire = LinearTire(cornering=30e3, relaxation=0.3, camber=1.2e3)
    >>> round(float(tire.forces(load=1000.0, slip_angle=0.02).lateral), 2)
    -600.08
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, evaluate_number, names
from draisine.model.contact.laws import TangentialLaw
from draisine.model.quantities import Amount
from draisine.results.base import figure

Scalar = Any  # a number, an array, or a symbol
Values = Mapping[str, Scalar]

LEAST_FORCE = 1e-6  # N, below which directions of forces are smooth
LEAST_BOUND = 1e-12  # N, twice the bound of a force without load or on ice: far below the former, so that its slopes vanish, too
LEAST_SLIP = 1e-10  # the same of slips
LEAST_FRICTION = 1e-9  # twice the coefficient of a brush tire on ice
LEAST_ROLLING = 0.01  # of 1 + κ
SATURATION = 0.1  # slip of a linear tire with friction, whose nominal load is not known
CRAWL = 0.3  # m/s, the speed up to which the damper of the carcass acts
LIFT = 1500.0  # rolling radii in the length over which the normal force sets in


class TireForces(NamedTuple):
    """Forces in N and moments in N·m of the ground on the tire, about the axes of the contact."""

    longitudinal: Scalar
    lateral: Scalar
    overturning: Scalar = 0.0
    rolling: Scalar = 0.0
    aligning: Scalar = 0.0


class TireState(NamedTuple):
    """What forces depend on: normal force N, slips s_x and s_y, camber γ, |V|, and V/|V|, which is smooth at rest."""

    load: Scalar
    along: Scalar
    across: Scalar
    camber: Scalar
    speed: Scalar
    direction: Scalar


@dataclass(frozen=True)
class Tire(TangentialLaw):
    """Base class of tires."""

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Intervals of load, slip, slip angle and camber for which the tire was measured, by name."""
        return {}

    def evaluate(self, m: Any, c: Values, state: TireState) -> TireForces:
        """Forces and moments, with the functions of the module `m` and the amounts `c`."""
        raise NotImplementedError

    def relaxation_lengths(self, m: Any, c: Values, load: Scalar | None, camber: Scalar) -> tuple[Scalar, Scalar]:
        """Relaxation lengths along and across; `load` is None where it is a multiplier of a constraint."""
        raise NotImplementedError

    def camber_slip(self, m: Any, c: Values, camber: Scalar) -> Scalar:
        """The lateral slip of which camber is the equivalent, for tires whose camber thrust relaxes with the side force."""
        return 0.0

    def spring_force(self, m: Any, c: Values, deflection: Scalar, radius: Scalar) -> Scalar:
        """Normal force of a deflection that is positive."""
        return c["stiffness"] * deflection

    def rolling_radius(self, m: Any, c: Values, load: Scalar, free: Scalar, loaded: Scalar) -> Scalar:
        """Effective rolling radius, from that of the unloaded tire and the loaded radius."""
        return loaded

    def with_friction(self, c: Values, friction: Scalar) -> Values:
        """The amounts on ground with a relative coefficient of friction."""
        return {**c, "friction": c["friction"] * friction} if "friction" in c else c

    def direction(self, m: Any, c: Values, velocity: Scalar) -> Scalar:
        """V/|V|, as tanh(V/speed)."""
        return m.tanh(velocity / c["speed"])

    def saturation(self, m: Any, c: Values) -> tuple[Scalar, Scalar] | None:
        """Slips s_x and s_y at which a linear force would reach friction, at the nominal load; None without friction."""
        return None

    def crawls(self, m: Any, velocity: Scalar) -> Scalar:
        """1 at rest, 0 to rounding from 2 m/s on: exp(−(V/0.3 m/s)²)."""
        return m.exp(-(velocity * velocity) / (CRAWL * CRAWL))

    def relaxed_rate(
        self, m: Any, c: Values, velocity: Scalar, slip: Scalar, lag: Scalar, length: Scalar, saturates: Scalar | None
    ) -> Scalar:
        """ṡ of σ ṡ = slip − |V| s.

        At rest the force of a sliding tire must not wind up its state: there σ falls with the stiffness of a force that saturates
        as s/√(1 + (s/s₀)²), and s ends at full sliding, s = 1.
        """
        speed = velocity * self.direction(m, c, velocity)
        if saturates is None:
            return (slip - speed * lag) / length
        rest, ratio = self.crawls(m, velocity), lag / saturates
        bent = 1.0 + ratio * ratio
        share = 0.01 + 0.99 / (bent * m.sqrt(bent))
        least = 1e-2 * c["speed"]
        sliding = m.sqrt(slip * slip + least * least) - least  # exactly zero at rest: a parked vehicle stays where it is
        return (slip - (speed + rest * sliding) * lag) / (length * (1.0 - rest + rest * share))

    def settled(self, m: Any, c: Values, velocity: Scalar, slip: Scalar, length: Scalar) -> Scalar:
        """What a damper of the carcass adds to a relaxed slip at rest: settling·slip/σ, which fades out as exp(−(V/0.3 m/s)²) and
        is zero to rounding from 2 m/s on."""
        settling = c["settling"]
        if isinstance(settling, float | int) and settling == 0:
            return 0.0
        return settling * self.crawls(m, velocity) * slip / length

    def divisor(self, m: Any, c: Values, velocity: Scalar) -> Scalar:
        """|V| by which slip velocities are divided where the tire does not relax: at rest it is `speed`."""
        return away_from_zero(m, velocity, c["speed"])

    def normal_force(self, m: Any, c: Values, deflection: Scalar, rate: Scalar, radius: Scalar) -> Scalar:
        """Normal force of a deflection and its rate: never negative, and smooth where the tire leaves the ground.

        The positive part of x is w log(1 + exp(x/w)), which differs from it by less than 1e-13 w from x = 30 w on; w is the
        rolling radius divided by 1500, and that multiplied by the stiffness for the force with damping.
        """
        width = radius / LIFT
        positive, share = softplus(m, deflection / width)  # the share is 1 in contact, 0 in the air
        spring = self.spring_force(m, c, width * positive, radius)
        damping = c.get("damping", 0.0)
        if isinstance(damping, float | int) and damping == 0:
            return spring
        least = self.spring_force(m, c, width, radius)
        return share * least * softplus(m, (spring + share * damping * rate) / least)[0]

    # ------------------------------------------------------------------------------------------ numbers

    def numbers(self, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
        """The amounts as numbers; `parameters` are values of names in them."""
        given = dict(parameters or {})
        found = {}
        for name, amount in self.amounts().items():
            unknown = sorted(names(amount) - given.keys())
            if unknown:
                cure = f"give values: parameters={{{unknown[0]!r}: …}}"
                raise ArgumentError(f"{name} of {type(self).__name__} depends on {', '.join(unknown)}; {cure}")
            found[name] = evaluate_number(amount, given)
        return found

    def forces(
        self,
        load: Any,
        slip: Any = 0.0,
        slip_angle: Any = 0.0,
        camber: Any = 0.0,
        speed: Any = 16.7,
        parameters: Mapping[str, float] | None = None,
    ) -> TireForces:
        """Steady forces and moments as numbers or arrays.

        `load` in N; `slip` is κ, −1 for a locked wheel; `slip_angle`, within ±π/2, and `camber` in rad; `speed` V in m/s,
        negative backwards. Values outside of the ranges of a tire file cause a warning.
        """
        angles = np.real(np.asarray(slip_angle))
        if (np.abs(angles) > np.pi / 2).any():
            worst = float(angles.flat[np.abs(angles).argmax()])
            raise ArgumentError(
                f"{type(self).__name__}: slip_angle {worst:g} rad is beyond ±90°; that of a wheel that rolls backwards is "
                "atan(V_y/|V|) too, with a negative speed"
            )
        given = {"load": load, "slip": slip, "slip_angle": slip_angle, "camber": camber}
        for name, (low, high) in self.ranges.items():
            values = np.real(np.asarray(given[name]))
            if values.size and (values.min() < low or values.max() > high):
                outside = values.min() if values.min() < low else values.max()
                warnings.warn(
                    f"{type(self).__name__}: {name} {outside:g} is outside of the range of the tire file, {low:g} to {high:g}",
                    stacklevel=2,
                )
        c = self.numbers(parameters)
        load, slip, slip_angle, camber, speed = np.broadcast_arrays(load, slip, slip_angle, camber, speed)
        direction = self.direction(np, c, speed)
        across = np.tan(slip_angle) + self.camber_slip(np, c, camber)
        state = TireState(load, -np.asarray(slip), across, camber, speed * direction, direction)
        return TireForces(*(np.asarray(part) + 0.0 * load for part in self.evaluate(np, c, state)))

    def plot(self, load: Any = None, **options: Any) -> Any:
        """Side force, aligning moment, longitudinal force and combined slip as curves, for some loads in N."""
        return figure("plots.tires.tire_figure", self, load, **options)


def constant(x: Scalar) -> float | None:
    """The value of a number or of a symbol's expression without symbols, for which terms can be left out; None of others."""
    if isinstance(x, float | int):
        return float(x)
    is_constant = getattr(x, "is_constant", None)  # of CasADi
    return float(x) if is_constant is not None and is_constant() else None


def away_from_zero(m: Any, x: Scalar, least: Scalar) -> Scalar:
    """|x| without a kink, and at least `least`: x tanh(x/least) + least/cosh²(x/least), which is |x| from 18·least on."""
    direction = m.tanh(x / least)
    return x * direction + least * (1.0 - direction * direction)


def positive_part(m: Any, x: Scalar, least: float) -> Scalar:
    """(x + √(x² + least²))/2: max(x, 0), with a difference of least²/(4 |x|)."""
    return 0.5 * (x + m.sqrt(x * x + least * least))


def softplus(m: Any, x: Scalar) -> tuple[Scalar, Scalar]:
    """log(1 + exp(x)) and its slope, exp(x)/(1 + exp(x)), without overflow.

    x − y + log(1 + exp(y)) with y = x up to 150 and y = 200 from 250 on, smoothly between: there the sum is x to rounding,
    whatever y is. Nothing switches, and nothing is subtracted from numbers of its size for negative x.
    """
    beyond = 0.5 * (1.0 + m.tanh(0.5 * (x - 200.0))) * (x - 200.0)
    grown = m.exp(x - beyond)
    return beyond + m.log(1.0 + grown), grown / (1.0 + grown)


def at_most_one(m: Any, x: Scalar) -> Scalar:
    """min(x, 1), smooth within 1e-7 of 1: the root u ≤ 1 of (1 − u)(x − u) = w² x up to w², with w = 5e-8. Nothing cancels: of
    small and large x it is x and 1 to rounding, and so is its slope."""
    return 2.0 * x / (1.0 + x + m.sqrt((1.0 - x) * (1.0 - x) + 1e-14 * x))


def bounded(m: Any, along: Scalar, across: Scalar, most: Scalar) -> tuple[Scalar, Scalar]:
    """A force bounded by `most`, with the cubic of Shen, Hedrick and Elkins: 1 − u/3 + u²/27 of it for u = |F|/most up to 3, and
    `most` beyond. Two derivatives are continuous."""
    size = m.sqrt(along * along + across * across + LEAST_FORCE * LEAST_FORCE)
    ratio = at_most_one(m, 3.0 * most / size)
    u = ratio * size / most
    share = ratio * (1.0 - u / 3.0 + u * u / 27.0)
    return share * along, share * across


@dataclass(frozen=True)
class LinearTire(Tire):
    """Linear tire with relaxation length σ and camber thrust: σ/V Ḟ + F = cornering·α + camber·γ, to the side it leans to.

    Its states s, along and across, follow σ ṡ + |V| s = slip, across with |V| γ camber/cornering in addition; the force is
    −stiffness·s. So it also works at rest, as a spring, and backwards. `cornering` is the lateral stiffness per radian of slip
    angle, `longitudinal` that along the track, by default the same, `camber` that per radian of inclination of the wheel's plane.
    Without `relaxation` the slips are those of the moment, divided by |V|. `trail` is the pneumatic trail, the lever of the
    aligning moment. With `friction` the force is bounded by friction·N. With `stiffness`, the vertical one, in N/m, and
    `damping`, in N·s/m, the tire carries the wheel as a spring that can leave the ground. |V| is V tanh(V/speed), which differs
    from it by less than 1e-15 from 18·speed on. `settling` is the time constant in s of a damper of the carcass, which acts below
    1 m/s and lets vehicles come to rest.
    """

    cornering: Amount
    relaxation: Amount | None = None
    longitudinal: Amount | None = None
    friction: Amount | None = None
    speed: Amount = 0.01
    camber: Amount | None = None
    trail: Amount | None = None
    stiffness: Amount | None = None
    damping: Amount | None = None
    settling: Amount = 0.02

    units: ClassVar[Mapping[str, str]] = {
        "cornering": "N",
        "relaxation": "m",
        "longitudinal": "N",
        "speed": "m/s",
        "camber": "N",
        "trail": "m",
        "stiffness": "N/m",
        "damping": "N*s/m",
        "settling": "s",
    }
    positive: ClassVar[frozenset[str]] = frozenset({"relaxation", "friction", "speed", "stiffness"})

    @property
    def relaxes(self) -> bool:
        return self.relaxation is not None

    @property
    def bounded(self) -> bool:
        return self.friction is not None

    @property
    def compliant(self) -> bool:
        return self.stiffness is not None

    def evaluate(self, m: Any, c: Values, state: TireState) -> TireForces:
        along, across = -c.get("longitudinal", c["cornering"]) * state.along, -c["cornering"] * state.across
        if "friction" in c:
            along, across = bounded(m, along, across, positive_part(m, c["friction"] * state.load, LEAST_BOUND))
        return TireForces(along, across, aligning=-c.get("trail", 0.0) * state.direction * across)

    def relaxation_lengths(self, m: Any, c: Values, load: Scalar | None, camber: Scalar) -> tuple[Scalar, Scalar]:
        return c["relaxation"], c["relaxation"]

    def camber_slip(self, m: Any, c: Values, camber: Scalar) -> Scalar:
        return c["camber"] / c["cornering"] * camber if "camber" in c else 0.0

    def saturation(self, m: Any, c: Values) -> tuple[Scalar, Scalar] | None:
        return (SATURATION, SATURATION) if "friction" in c else None


@dataclass(frozen=True)
class BrushTire(Tire):
    """Brush model: elastic bristles over a contact of parabolic pressure, which slide where friction·pressure is exceeded.

    `stiffness_per_slip` is C = 2 c_p a² in N per unit of slip, along and across, and `half_length` that of the contact, a, both
    at the normal force `reference`: C grows as N, a as its root. With σ = (s_x, s_y)/(1 + κ), u = min(1, C |σ|/(3 μ N)), force
    and trail are μ N (1 − (1 − u)³) against σ and a (1 − u)³/(3 − 3 u + u²). `camber` is the camber thrust at the reference load
    per radian, in N. With `relaxation` slips build up over that length; without it they are those of the moment, divided by
    |V|. `stiffness` and `damping` are vertical; `settling` is that of `LinearTire`.
    """

    stiffness_per_slip: Amount
    friction: Amount
    half_length: Amount
    reference: Amount
    relaxation: Amount | None = None
    camber: Amount | None = None
    speed: Amount = 0.01
    stiffness: Amount | None = None
    damping: Amount | None = None
    settling: Amount = 0.02

    units: ClassVar[Mapping[str, str]] = {
        "stiffness_per_slip": "N",
        "half_length": "m",
        "reference": "N",
        "relaxation": "m",
        "camber": "N",
        "speed": "m/s",
        "stiffness": "N/m",
        "damping": "N*s/m",
        "settling": "s",
    }
    positive: ClassVar[frozenset[str]] = frozenset(
        {"stiffness_per_slip", "friction", "half_length", "reference", "relaxation", "speed", "stiffness"}
    )

    @property
    def relaxes(self) -> bool:
        return self.relaxation is not None

    @property
    def bounded(self) -> bool:
        return True

    @property
    def compliant(self) -> bool:
        return self.stiffness is not None

    def evaluate(self, m: Any, c: Values, state: TireState) -> TireForces:
        load = positive_part(m, state.load, LEAST_FORCE)
        rolled = away_from_zero(m, 1.0 - state.along, LEAST_ROLLING)  # 1 + κ; a locked wheel slides
        slip = m.sqrt(state.along * state.along + state.across * state.across + LEAST_SLIP * LEAST_SLIP)
        friction = positive_part(m, c["friction"], LEAST_FRICTION)
        u = at_most_one(m, c["stiffness_per_slip"] / (3.0 * friction * c["reference"]) * slip / rolled)
        share = friction * u * (3.0 - u * (3.0 - u)) / slip  # (1 − (1 − u)³)/|s|
        along, across = -load * share * state.along, -load * share * state.across
        sticks = 1.0 - u
        # the trail, with a = half_length √(N/reference), which stays differentiable without load
        lever = c["half_length"] * m.sqrt(load / c["reference"] + 1e-12) * sticks * sticks * sticks / (3.0 - u * (3.0 - u))
        return TireForces(along, across, aligning=-lever * state.direction * across)

    def relaxation_lengths(self, m: Any, c: Values, load: Scalar | None, camber: Scalar) -> tuple[Scalar, Scalar]:
        return c["relaxation"], c["relaxation"]

    def camber_slip(self, m: Any, c: Values, camber: Scalar) -> Scalar:
        return c["camber"] / c["stiffness_per_slip"] * camber if "camber" in c else 0.0

    def saturation(self, m: Any, c: Values) -> tuple[Scalar, Scalar] | None:
        slip = positive_part(m, c["friction"], LEAST_FRICTION) * c["reference"] / c["stiffness_per_slip"]
        return slip, slip


def lowered(tire: Tire, value: Any) -> dict[str, Scalar]:
    """The amounts of a tire by a function of expressions; numbers stay numbers, so that terms with zeros vanish."""
    return {name: _lowered(amount, value) for name, amount in tire.amounts().items()}


def _lowered(amount: Expr, value: Any) -> Scalar:
    return value(amount) if names(amount) else evaluate_number(amount, {})

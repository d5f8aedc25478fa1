"""Dimensions of expressions: a parameter with a declared unit must fit the place where it is used.

The dimension of an expression follows from those of its parts: parameters and inputs with a declared unit, coordinates,
velocities, measures and time. What has no unit is unknown, and with it every product that contains it. A number in a sum has the
unit of the other terms ("length + 0.1"). As a factor it is a plain number if it is a small integer, ½, ¼ or such a multiple of π
("m*r^2/12"), and unknown otherwise, since "1.2*area" may contain a density; before states alone it is a gain ("-2*steer_rate").
In forces, energies and other laws only ½ is plain, since "2*(x - length)" may contain a stiffness. An error is raised only where
the dimension is known and a declared unit takes part in it.

The unit of an output is a statement about its values, which are those of its formula. It is therefore checked wherever the unit
of the formula follows, with its scale: outputs are the only quantities that may have a unit other than SI, by a formula that
converts ("3.6*speed" in km/h) or that is made of such outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from draisine.errors import ModelError, UnitError
from draisine.expr.expression import Call, Expr, Name, Number, names
from draisine.expr.units import MAX_POWER, Dimension, Unit, described, parse_unit, si_text
from draisine.model.contact.laws import ROLLING
from draisine.model.items import Output, Rotate, Translate, Vector
from draisine.model.system import System

_NUMBER, _PER_SECOND = Unit(), Unit(dimension=Dimension(s=-1))
_ENERGY = Dimension(m=2, kg=1, s=-2)
_PLAIN = {*(float(n) for n in range(1, 10)), 12.0, 0.5, 0.25}  # factors that are numbers, not quantities in SI units
_PLAIN_IN_LAWS = {0.5}
_TURNING = frozenset({"sin", "cos", "tan"})  # of an angle in radians
_SAME = frozenset({"abs", "neg", "floor", "ceil"})
_ALIKE = frozenset({"add", "sub", "min", "max", "hypot", "clip"})
_ANGLES = frozenset({"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "sign"})
_COMPARISONS = frozenset({"lt", "le", "gt", "ge"})

# units of measures, by prefixes of their names
MEASURES = (
    (("position_", "offset_", "distance"), "m"),
    (("velocity_", "body_velocity_"), "m/s"),
    (("acceleration_", "body_acceleration_", "specific_force_"), "m/s^2"),
    (("rate_",), "rad/s"),
    (("heading", "lean", "pitch"), "rad"),
    (("cosine_",), ""),
)


class _Literal(NamedTuple):
    """A number: of any dimension in a sum, and as a factor plain or unknown."""

    plain: bool


_Found = Unit | _Literal | None  # None: unknown


def _unit_of(name: str, unit: str) -> Unit:
    try:
        return parse_unit(unit)
    except UnitError as problem:
        raise ModelError(f"unit of {name!r}: {problem}") from None


class Dimensions:
    """Dimensions of expressions, from the units of names; `declared` are those that users gave to parameters and inputs."""

    def __init__(self, units: Mapping[str, str], declared: Mapping[str, str], law: bool = False) -> None:
        self._plain = _PLAIN_IN_LAWS if law else _PLAIN
        self._texts = {name: unit for name, unit in {**units, **declared}.items() if unit}
        self._known = {name: _unit_of(name, unit) for name, unit in self._texts.items()}
        self._declared = {name: unit for name, unit in declared.items() if unit}
        self._counted = False  # while numbers before states count as plain numbers, not as gains
        self._stated = False  # while the unit of an output is checked: every name counts as declared

    @staticmethod
    def of(system: System, law: bool = False) -> Dimensions:
        units = {"t": "s"}
        units |= {c.name: c.unit for joint in system.joints for c in joint.coordinates}
        units |= {v.name: v.unit for joint in system.joints for v in joint.velocities}
        units |= {item.name: item.unit for item in system.outputs}
        declared = {item.name: item.unit for item in system.parameters}
        declared |= {item.name: item.unit for item in system.dependent_parameters}
        declared |= {item.name: item.unit for item in system.inputs}
        return Dimensions(units, declared, law)

    def check(self, expr: Expr, unit: str | Dimension | None, where: str) -> None:
        """Check an expression against the unit that its place expects (None: only its parts against each other)."""
        if not names(expr) & self._declared.keys():
            return
        found = self._dimension(expr, where)
        expected = parse_unit(unit).dimension if isinstance(unit, str) else unit
        if expected is None or not isinstance(found, Unit) or found.dimension == expected:
            return
        wanted = described(expected) if not isinstance(unit, str) else f"{described(expected)} such as {unit or 'rad'!r}"
        raise self._other_dimension(expr, found, wanted, where)

    def _other_dimension(self, expr: Expr, found: Unit, wanted: str, where: str) -> ModelError:
        return ModelError(
            f"{where}: '{expr}' is {described(found.dimension)}{self._units_in(expr)}, expected {wanted}; "
            "correct the expression or the unit"
        )

    def check_output(self, output: Output) -> None:
        """Check the unit that an output states, its scale too; without a unit only the parts against each other."""
        where, expr, text = f"output {output.name!r}", output.expression, output.unit
        if not text:
            self._dimension(expr, where)
            return
        unit = _unit_of(output.name, text)
        self._stated = True
        try:
            self._check_stated(expr, text, unit, where)
        finally:
            self._stated = False

    def _check_stated(self, expr: Expr, text: str, unit: Unit, where: str) -> None:
        found = self._dimension(expr, where)
        if not isinstance(found, Unit) and unit != Unit(dimension=unit.dimension):
            found = self._without_conversion(expr, where)
        if not isinstance(found, Unit):
            return
        if found.dimension != unit.dimension:
            raise self._other_dimension(expr, found, f"{described(unit.dimension)} such as {text!r}", where)
        if found != unit:
            # the values are those of the expression: with this label they would be read wrongly
            si = si_text(text)
            own = si if found == Unit(dimension=found.dimension) else f"another unit than {text}"
            raise ModelError(
                f"{where}: {expr} is in {own}, its unit is {text!r}; give the unit {si!r}, or an expression in {text}"
                f"{_converted(expr, found / unit)}"
            )
        if "Hz" in text and unit.dimension == Dimension(s=-1) and any("rad" in self._texts.get(n, "") for n in names(expr)):
            raise ModelError(f"{where}: {expr} is in rad/s, its unit is {text!r}; give the unit 'rad/s', or divide by 2*pi")

    def _without_conversion(self, expr: Expr, where: str) -> _Found:
        """The unit of a formula whose numbers are too plain to convert units ("2*x" in cm); None for any other."""
        plain, self._plain = self._plain, {n for n in _PLAIN if n != 1.0}
        self._counted = True
        try:
            found = self._dimension(expr, where)
        finally:
            self._plain, self._counted = plain, False
        return found if isinstance(found, Unit) and found == Unit(dimension=found.dimension) else None

    def of_expression(self, expr: Expr, where: str) -> Dimension | None:
        """The dimension of an expression; None if it is not known."""
        found = self._dimension(expr, where)
        return found.dimension if isinstance(found, Unit) else None

    def _units_in(self, expr: Expr) -> str:
        listed = self._texts if self._stated else self._declared
        used = [f"{name!r} in {unit}" for name, unit in listed.items() if name in names(expr)]
        return f" (with {', '.join(used)})" if used else ""

    def _dimension(self, expr: Expr, where: str) -> _Found:
        if isinstance(expr, Number):
            turns = not self._counted and abs(expr.value) / math.pi in self._plain  # a factor π may convert revolutions
            return _Literal(abs(expr.value) in self._plain or turns)
        if isinstance(expr, Name):
            return self._known.get(expr.identifier)
        assert isinstance(expr, Call)
        name = expr.function
        if name in _COMPARISONS or name in _ALIKE or name == "where":
            parts = expr.arguments[1:] if name == "where" else expr.arguments
            found = self._common(expr, parts, where)
            return _NUMBER if name in _COMPARISONS else found
        measured = next((unit for stems, unit in MEASURES if name.startswith(stems)), None)
        if measured is not None:
            return parse_unit(measured)
        if name in _ANGLES:
            self._check_radians(expr, where)
            return _NUMBER
        if name not in _SAME | {"mul", "div", "pow", "sqrt", "rate"}:
            return None
        first, *rest = (self._dimension(argument, where) for argument in expr.arguments)
        if name in _SAME:
            return first
        if name == "rate":
            return _times(first, _PER_SECOND)
        if name == "sqrt":
            return _power(first, 0.5)
        if name == "pow":
            exponent = expr.arguments[1]
            return _power(first, exponent.value) if isinstance(exponent, Number) else first if first == _NUMBER else None
        gain = isinstance(first, _Literal) or isinstance(rest[0], _Literal)
        if gain and not self._counted and not names(expr) & self._declared.keys():
            return _times(first, rest[0]) if isinstance(first, _Literal) and isinstance(rest[0], _Literal) else None
        return _times(first, rest[0] if name == "mul" else _power(rest[0], -1.0))

    def _common(self, expr: Call, parts: tuple[Expr, ...], where: str) -> _Found:
        """The dimension that terms share."""
        found = [self._dimension(part, where) for part in parts]
        known = [(part, unit) for part, unit in zip(parts, found, strict=True) if isinstance(unit, Unit)]
        for part, unit in known[1:]:
            first, expected = known[0]
            if unit != expected and (self._stated or (names(part) | names(first)) & self._declared.keys()):
                raise ModelError(
                    f"{where}: '{expr}' combines {described(expected.dimension)} '{first}' with {described(unit.dimension)} "
                    f"'{part}'{self._units_in(expr)}; correct the expression or the unit"
                )
        if known:
            return known[0][1]
        return _Literal(all(part.plain for part in found)) if all(isinstance(part, _Literal) for part in found) else None  # type: ignore[union-attr]

    def _check_radians(self, expr: Call, where: str) -> None:
        """Sines, cosines and tangents take angles in radians, so not those of an output in degrees."""
        angle = self._dimension(expr.arguments[0], where) if expr.function in _TURNING else None
        if isinstance(angle, Unit) and angle.dimension == Dimension() and angle != Unit():
            raise ModelError(f"{where}: '{expr}' takes an angle in rad{self._units_in(expr)}; convert it first")


def _converted(expr: Expr, factor: Unit) -> str:
    """The formula with the factor that converts it, as a proposal; "" if the dimensions or powers of π are unusual."""
    if factor.dimension != Dimension() or abs(factor.turns) > 1:
        return ""
    number = float(factor.ratio)
    pi = {0: "", 1: "*pi", -1: "/pi"}[factor.turns]
    return f" such as '{number:.15g}{pi}*({expr})'"


def _times(a: _Found, b: _Found) -> _Found:
    if a is None or b is None:
        return None
    if isinstance(a, _Literal) and isinstance(b, _Literal):
        return _Literal(a.plain and b.plain)
    if isinstance(a, _Literal) or isinstance(b, _Literal):
        literal, other = (a, b) if isinstance(a, _Literal) else (b, a)
        return other if literal.plain else None  # type: ignore[union-attr]
    return a * b


def _power(a: _Found, exponent: float) -> _Found:
    if not isinstance(a, Unit):
        return a
    if exponent == int(exponent) and abs(exponent) <= MAX_POWER:
        return a ** int(exponent)
    powers = [power * exponent for power in a.dimension]
    plain = a == Unit(dimension=a.dimension) and all(power == int(power) for power in powers)
    return Unit(dimension=Dimension(*map(int, powers))) if plain else _root(a) if exponent == 0.5 else None


def _root(a: Unit) -> Unit | None:
    """The unit whose square is this one."""
    powers = [*a.dimension, a.turns]
    over, under = math.isqrt(a.ratio.numerator), math.isqrt(a.ratio.denominator)
    exact = a.ratio == Fraction(over**2, under**2) and all(power % 2 == 0 for power in powers)
    return Unit(Fraction(over, under), Dimension(*[p // 2 for p in a.dimension]), a.turns // 2) if exact else None


# -------------------------------------------------------------------- the places of a description


def check_dimensions(system: System) -> None:
    """Check the declared units of parameters and inputs in every place of a description."""
    dimensions = Dimensions.of(system)
    for where, expr, unit in _amounts(system):
        dimensions.check(expr, unit, where)
    dimensions = Dimensions.of(system, law=True)
    for where, expr, unit in _laws(system):
        dimensions.check(expr, unit, where)
    for output in system.outputs:
        dimensions.check_output(output)
    declared = {item.name: item.unit for item in system.parameters if item.name not in ("x", "y")}
    ground = Dimensions({"t": "s", "x": "m", "y": "m"}, declared, law=True)
    ground.check(system.ground.height, "m", "height of the ground")
    ground.check(system.ground.friction, "", "friction of the ground")
    for component in system.ground.velocity:
        ground.check(component, "m/s", "velocity of the ground")
    for force in system.generalized_forces:
        where = f"generalized force {force.name!r}"
        measure = dimensions.of_expression(force.measure, f"measure of {where}")
        expected: str | Dimension | None = None
        if measure is not None:
            conjugate = Dimension(*[a - b for a, b in zip(_ENERGY, measure, strict=True)])
            expected = _CONJUGATE.get(measure, conjugate)
        dimensions.check(force.amount, expected, f"amount of {where}")


_CONJUGATE: dict[Dimension, str] = {Dimension(m=1): "N", Dimension(): "N*m"}


def _amounts(system: System) -> Iterator[tuple[str, Expr, str | None]]:
    """Masses, lengths, angles and parameters of contact laws, with their descriptions and the units expected."""
    for item in system.dependent_parameters:
        yield f"parameter {item.name!r}", item.expression, item.unit or None
    size = system.downward_gravity
    yield from _components("gravity", system.gravity, "m/s^2") if size is None else [("gravity", size, "m/s^2")]
    yield "slope of the ground", system.ground.slope, "rad"
    yield "bank of the ground", system.ground.bank, "rad"
    for body in system.bodies:
        yield f"mass of body {body.name!r}", body.mass, "kg"
        yield from _components(f"center_of_mass of body {body.name!r}", body.center_of_mass, "m")
        for entry in ("xx", "yy", "zz", "xy", "yz", "zx"):
            yield f"inertia {entry} of body {body.name!r}", getattr(body.inertia, entry), "kg*m^2"
    for point in system.points:
        yield from _components(f"point {point.name!r}", point.at, "m")
        yield from ((f"rotation about {turn.axis} of frame {point.name!r}", turn.angle, "rad") for turn in point.orientation)
    for joint in system.joints:
        where = f"displacement of joint {joint.name!r}"
        for step in joint.chain:
            if isinstance(step, Rotate):
                yield where, step.angle, "rad"
            elif isinstance(step, Translate):
                yield from ((where, component, "m") for component in step.by)
    for wheel in system.wheels:
        yield from _components(f"center of wheel {wheel.name!r}", wheel.center, "m")
        yield f"radius of wheel {wheel.name!r}", wheel.radius, "m"
        yield f"tube of wheel {wheel.name!r}", wheel.tube, "m"
        for name, amount in wheel.contact.amounts().items():
            yield f"{name} of the contact of wheel {wheel.name!r}", amount, wheel.contact.unit_of(name)
        for name, amount in wheel.friction.amounts().items() if wheel.friction is not None else ():
            yield f"{name} of wheel {wheel.name!r}", amount, "m" if "resistance" in name else ""
    for point_contact in system.point_contacts:
        for name, amount in point_contact.amounts().items():
            yield f"{name} of contact {point_contact.name!r}", amount, "m" if "radius" in name or "resistance" in name else ""
    for stop in system.stops:
        yield f"restitution of stop {stop.name!r}", stop.restitution, ""
    for edge in system.edges:
        yield from _components(f"knife edge {edge.name!r}", edge.at, "m")
    for contact in system.surface_contacts:
        law = contact.contact if contact.contact is not None else ROLLING
        for name, amount in law.amounts().items():
            yield f"{name} of the law of contact {contact.name!r}", amount, law.unit_of(name)
        for name, amount in contact.friction.amounts().items() if contact.friction is not None else ():
            yield f"{name} of contact {contact.name!r}", amount, ""


def _laws(system: System) -> Iterator[tuple[str, Expr, str | None]]:
    """Constraints, forces, energies and events, with their descriptions and the units expected."""
    for constraint in system.constraints:
        for name, residual in constraint.residuals:
            yield f"residual {name!r} of constraint {constraint.name!r}", residual, constraint.unit_of(name) or None
    for stop in system.stops:
        yield f"bound of stop {stop.name!r}", stop.bound, stop.unit or None
    for friction in system.joint_frictions:
        unit = {"m": "N", "rad": "N*m"}.get(friction.unit)
        yield f"static force of friction {friction.name!r}", friction.static, unit
        yield f"kinetic force of friction {friction.name!r}", friction.kinetic, unit
    for wrench in system.wrenches:
        yield from _components(f"force of wrench {wrench.name!r}", wrench.force, "N")
        yield from _components(f"torque of wrench {wrench.name!r}", wrench.torque, "N*m")
    for potential in system.potentials:
        yield f"energy of potential {potential.name!r}", potential.energy, "J"
    for event in system.events:
        yield f"event {event.name!r}", event.expression, None


def _components(where: str, vector: Vector, unit: str) -> Iterator[tuple[str, Expr, str | None]]:
    yield from ((f"{where} along {axis}", component, unit) for axis, component in zip("xyz", vector, strict=True))

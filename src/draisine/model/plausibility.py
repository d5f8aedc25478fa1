"""Plausibility of parameter values: masses, inertias, radii, lengths. Each rule is implemented once, over arrays.

`check_numbers` checks one set of parameters and raises; `ParameterRules.first_violations` checks many sets in which only some
parameters vary, and returns the first violated rule of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ExpressionError, ModelError
from draisine.expr.array_functions import array_functions
from draisine.expr.expression import Expr, Number, evaluate, evaluate_number, names, substitute
from draisine.expr.tables import Table
from draisine.model.constraints import stretch_of
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact_items import Wheel
from draisine.model.items import Body
from draisine.model.system import System
from draisine.model.vocabulary import amounts, joint_amounts

if TYPE_CHECKING:
    from draisine.expr.path_functions import CurveFunction

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

_INERTIA = ("xx", "yy", "zz", "xy", "yz", "zx")


class Rule(Protocol):
    """A condition on amounts, which are identified by their description, such as "mass of body 'frame'"."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The amounts involved."""

    @property
    def reason(self) -> str:
        """The violation, without numbers."""

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        """Where the rule is violated."""

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        """The violation, with numbers and their origin."""


# ------------------------------------------------------------------------------------------------------------- rules


class LowerBound(NamedTuple):
    """An amount must be positive, or nonnegative."""

    where: str
    expr: Expr
    unit: str
    zero: bool = False  # whether zero is allowed
    otherwise: str = ""  # continuation of the message
    at_zero: str = ""  # remedy if it is zero

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.where,)

    @property
    def _condition(self) -> str:
        return f"must be {'zero or positive' if self.zero and not self.otherwise else 'positive'}{self.otherwise}"

    @property
    def reason(self) -> str:
        return f"{self.where} {self._condition}"

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        number = value[self.where]
        return ~(number >= 0.0) if self.zero else ~(number > 0.0)

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        number = value[self.where]
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.where} is {number:g}{origin(self.expr)}{unit}; it {self._condition}{self.at_zero if number == 0.0 else ''}"


class Radius(NamedTuple):
    """The radius of a wheel, which may be zero if its tube radius is not."""

    wheel: Wheel

    @property
    def needs(self) -> tuple[str, ...]:
        return f"radius of wheel {self.wheel.name!r}", f"tube of wheel {self.wheel.name!r}"

    @property
    def reason(self) -> str:
        return f"{self.needs[0]} must be positive"

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        radius, tube = (value[where] for where in self.needs)
        return ~(radius >= 0.0) | (radius + tube == 0.0)

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        return f"{self.needs[0]} is {value[self.needs[0]]:g}{origin(self.wheel.radius)} m; it must be positive"


class Tilt(NamedTuple):
    """A slope of the ground must be less than 90°."""

    where: str
    expr: Expr

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.where,)

    @property
    def reason(self) -> str:
        return f"{self.where} must be between -90° and 90°"

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        return ~(np.abs(value[self.where]) < np.pi / 2)

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        tilt = value[self.where]
        return f"{self.reason}, got {tilt:g}{origin(self.expr)} rad; angles are in radians, write '{tilt:g} deg' for degrees"


class RigidInertia(NamedTuple):
    """Principal moments of inertia must be nonnegative and fulfill the triangle inequality."""

    body: Body

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(f"inertia {entry} of body {self.body.name!r}" for entry in _INERTIA)

    @property
    def reason(self) -> str:
        return f"inertia of body {self.body.name!r} is not that of a rigid body"

    def _principal(self, value: Mapping[str, Any]) -> Reals:
        tensor = np.empty((*np.shape(value[self.needs[0]]), 3, 3))
        for where, (i, j) in zip(self.needs, ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)), strict=True):
            tensor[..., i, j] = tensor[..., j, i] = value[where]
        tensor[~np.isfinite(tensor).all(axis=(-2, -1))] = 0.0  # not finite: another rule
        return np.linalg.eigvalsh(tensor)

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        small, middle, large = np.moveaxis(self._principal(value), -1, 0)
        allowance = _allowance(small, large)
        return np.asarray((small < -allowance) | (large > small + middle + allowance))

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        small, middle, large = self._principal(value).tolist()
        principal = f"inertia of body {self.body.name!r}: principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg*m^2"
        if small < -_allowance(small, large):
            return f"{principal}; they must not be negative: check signs and products of inertia"
        return (
            f"{principal} violate the triangle inequality (the last exceeds the sum of the others): "
            "check the entries, and that they are about the center of mass" + _in_a_plane([value[where] for where in self.needs])
        )


def _allowance(small: Any, large: Any) -> Any:
    """Planar bodies reach equality, up to rounding."""
    return 1e-9 * np.maximum(np.abs(small), np.abs(large))


def _in_a_plane(entries: list[float]) -> str:
    """The remedy if only the moment for a planar problem was given."""
    given = [k for k, amount in enumerate(entries) if amount]
    if len(given) != 1 or given[0] > 2:
        return ""
    flat = ", ".join(f"{entries[given[0]] * (1.0 if k == given[0] else 0.5):g}" for k in range(3))
    return f"; if only {_INERTIA[given[0]]} matters, use a planar body: inertia=({flat})"


class AtMost(NamedTuple):
    """An amount must not exceed another one, or a number."""

    where: str
    expr: Expr
    most: str | float
    otherwise: str  # why, and the remedy

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.where, self.most) if isinstance(self.most, str) else (self.where,)

    @property
    def reason(self) -> str:
        return f"{self.where} must be at most {self.most if isinstance(self.most, str) else f'{self.most:g}'}"

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        return ~(value[self.where] <= (value[self.most] if isinstance(self.most, str) else self.most))

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        most = f", {value[self.most]:g}" if isinstance(self.most, str) else ""
        must = self.reason.removeprefix(f"{self.where} ")
        return f"{self.where} is {value[self.where]:g}{origin(self.expr)}; it {must}{most}{self.otherwise}"


def _friction_rules(law: DryFriction, where: str) -> Iterator[Rule]:
    """Coefficients are not negative, static friction is not below kinetic, and no impact gains energy."""
    known = {name: f"{name} of {where}" for name in law.amounts()}
    for name, amount in law.amounts().items():
        yield LowerBound(known[name], amount, "m" if "resistance" in name else "", zero=True)
    yield AtMost(known["restitution"], law.restitution, 1.0, ": an impact does not gain energy")
    yield AtMost(known["tangential restitution"], law.tangential_restitution, 1.0, ": an impact does not gain energy")
    if law.static is not None and "kinetic friction" in known and law.static != law.kinetic:
        assert law.kinetic is not None
        yield AtMost(
            known["kinetic friction"], law.kinetic, known["static friction"], ": what starts to slip would stick at once"
        )


def _joint_rules(system: System) -> Iterator[Rule]:
    """Restitution lies between 0 and 1, bounds of a measure increase, and forces of friction, where they depend on parameters
    only, are not negative and not larger while a joint slips."""
    known = dict(joint_amounts(system))
    for stop in system.stops:
        where = f"restitution of stop {stop.name!r}"
        yield LowerBound(where, stop.restitution, "", zero=True)
        yield AtMost(where, stop.restitution, 1.0, ": an impact does not gain energy")
        for other in system.stops if not stop.upper else ():
            low, high = f"bound of stop {stop.name!r}", f"bound of stop {other.name!r}"
            if other.upper and other.measure == stop.measure and known.keys() >= {low, high}:
                yield AtMost(low, stop.bound, high, ": nothing moves between them")
    for friction in system.joint_frictions:
        static, kinetic = (f"{what} force of friction {friction.name!r}" for what in ("static", "kinetic"))
        for where in (static, kinetic):
            if where in known:
                yield LowerBound(where, known[where], "", zero=True)
        if known.keys() >= {static, kinetic} and friction.static != friction.kinetic:
            yield AtMost(kinetic, friction.kinetic, static, ": what starts to slip would stick at once")


def rules(system: System) -> Iterator[Rule]:
    """All rules, in the order in which violations are reported."""
    for body in system.bodies:
        # A massless body is declared by the number 0, for which suitable equations are derived; a parameter that happens to be
        # 0 would make them singular.
        if body.mass != Number(0.0):
            cure = "; declare a massless body by mass=0"
            yield LowerBound(f"mass of body {body.name!r}", body.mass, "kg", at_zero=cure)
        yield RigidInertia(body)
    for wheel in system.wheels:
        yield LowerBound(f"tube of wheel {wheel.name!r}", wheel.tube, "m", zero=True, otherwise=", or 0 for a thin disk")
        yield Radius(wheel)
        for name, amount in wheel.contact.amounts().items():
            if name not in wheel.contact.signed:
                where = f"{name} of the contact of wheel {wheel.name!r}"
                yield LowerBound(where, amount, "", zero=name not in wheel.contact.positive)
        if wheel.friction is not None:
            yield from _friction_rules(wheel.friction, f"wheel {wheel.name!r}")
    for contact in system.point_contacts:
        where = f"contact {contact.name!r}"
        yield LowerBound(f"radius of {where}", contact.radius, "m", zero=True, otherwise=", or 0 for a point")
        if contact.friction is not None:
            yield from _friction_rules(contact.friction, where)
    for surfaces in system.surface_contacts:
        if surfaces.friction is not None:
            yield from _friction_rules(surfaces.friction, f"contact {surfaces.name!r}")
    yield from _joint_rules(system)
    size = system.downward_gravity
    if size is not None:
        upward = " or zero; give a vector such as (0, 0, 9.81) for gravity upward"
        yield LowerBound("gravity", size, "m/s^2", zero=True, otherwise=upward)
    for where, tilt in (("slope", system.ground.slope), ("bank", system.ground.bank)):
        yield Tilt(f"{where} of the ground", tilt)
    constants = system.constants
    for constraint in system.constraints:
        stretch = stretch_of(constraint)
        if stretch is not None and names(stretch[1]) <= constants:
            yield LowerBound(
                f"length of constraint {constraint.name!r}", stretch[1], "m", otherwise="; use close_point to join two points"
            )


# -------------------------------------------------------------------------------------------------------- one and many


def check_numbers(system: System, parameters: Mapping[str, float] | None = None) -> None:
    """Check masses, inertias and radii at the default parameters or at other values."""
    ParameterRules.of(system, dict(parameters or {}))


def lost_masses(system: System, parameters: Mapping[str, float] | None = None) -> tuple[str, ...]:
    """Warnings about masses at which floating-point arithmetic is lost.

    A mass is lost beside another if adding it to the other changes nothing, and digits of a subnormal number are lost already.
    """
    values = system.parameter_values(parameters or {})
    tables = {table.name: (lambda *at, table=table: float(table.at(*at))) for table in system.functions}
    masses = {body.name: evaluate_number(body.mass, values, tables) for body in system.bodies if body.mass != Number(0.0)}
    if not masses:
        return ()
    large = max(masses, key=masses.__getitem__)
    largest = masses[large]
    warnings = []
    for name, mass in masses.items():
        if mass < np.finfo(float).tiny:
            warnings.append(f"the mass of body {name!r} ({mass:g} kg) is too small for floating-point numbers; scale the model")
        elif largest + mass == largest:
            warnings.append(
                f"the mass of body {name!r} ({mass:g} kg) is lost beside that of body {large!r} ({largest:g} kg): their sum "
                "is the larger one, and motions that depend on both are not reliable; leave out the body or give it mass=0"
            )
    return tuple(warnings)


@dataclass(frozen=True, eq=False)
class ParameterRules:
    """Rules that the varied parameters of a description may violate; those of the other parameters have been checked."""

    values: Mapping[str, float]  # of all parameters; those in `varied` are given later
    varied: frozenset[str]
    defaults: frozenset[str]  # names of parameters at their default values
    rules: tuple[Rule, ...]  # that varied parameters can violate
    amounts: Mapping[str, Expr]  # that depend on varied parameters, and others used by these rules
    tables: tuple[Table | CurveFunction, ...] = field(default=(), repr=False)

    @staticmethod
    def of(system: System, given: Mapping[str, float], varied: frozenset[str] = frozenset()) -> ParameterRules:
        """Raises a `ModelError` if a rule that does not depend on the varied parameters is violated."""
        known = {parameter.name: parameter.default for parameter in system.parameters}
        everything = {where: substitute(expr, system.definitions) for where, expr in amounts(system)}
        all_rules = tuple(rules(system))
        every = ParameterRules(
            known | dict(given), varied, frozenset(known) - set(given), all_rules, everything, system.functions
        )
        settled = {where: every._number(where) for where, expr in everything.items() if not names(expr) & varied}
        arrays = {where: np.array([number]) for where, number in settled.items()}
        for rule in all_rules:
            if arrays.keys() >= set(rule.needs) and rule.broken(arrays)[0]:
                raise ModelError(rule.complaint(settled, every._origin))
        left = tuple(rule for rule in all_rules if not arrays.keys() >= set(rule.needs))
        needed = {where for rule in left for where in rule.needs}
        kept = {where: expr for where, expr in everything.items() if where in needed or where not in settled}
        return ParameterRules(every.values, varied, every.defaults - varied, left, kept, system.functions)

    def first_violations(self, columns: Mapping[str, Reals]) -> NDArray[np.intp]:
        """For each sample of the varied parameters the index in `reasons` of the first violation, or −1."""
        count = len(next(iter(columns.values()))) if columns else 0
        found = np.full(count, -1, dtype=np.intp)
        functions = {**array_functions(), **{table.name: table.at for table in self.tables}}
        known: dict[str, Any] = {**self.values, **columns}
        with np.errstate(all="ignore"):
            value = {
                where: np.broadcast_to(np.asarray(evaluate(expr, known.__getitem__, functions), dtype=float), count)
                for where, expr in self.amounts.items()
            }
            broken = [~np.isfinite(number) for number in value.values()] + [rule.broken(value) for rule in self.rules]
        for k, where in enumerate(broken):
            found[where & (found < 0)] = k
        return found

    @property
    def reasons(self) -> tuple[str, ...]:
        """Possible violations, without numbers."""
        return (*(f"{where} must be a finite number" for where in self.amounts), *(rule.reason for rule in self.rules))

    def complaint(self, reason: int, at: Mapping[str, float]) -> str:
        """A violation at these values of the varied parameters, with numbers."""
        rules_at = ParameterRules({**self.values, **at}, self.varied, self.defaults, self.rules, self.amounts, self.tables)
        try:
            value = {where: rules_at._number(where) for where in self.amounts}
        except ModelError as problem:
            return str(problem)
        return self.rules[reason - len(self.amounts)].complaint(value, rules_at._origin)

    def _number(self, where: str) -> float:
        tables = {table.name: (lambda *at, table=table: float(table.at(*at))) for table in self.tables}
        try:
            return evaluate_number(self.amounts[where], self.values, tables)
        except (ExpressionError, TypeError) as problem:
            raise ModelError(f"{where}: {problem}") from None

    def _origin(self, expr: Expr) -> str:
        """The origin of a number, in brackets."""
        used = names(expr)
        if not used:
            return ""
        return f" (from '{expr}' at the {'default parameters' if used <= self.defaults else 'parameters given'})"

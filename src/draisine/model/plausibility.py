"""Which numbers make sense: masses, inertias, radii, lengths. Every rule is written once, over arrays.

`check_numbers` judges one set of parameters and raises; `NumberRules.judge` judges many, where only some of the parameters
differ, and tells which of them break which rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ExpressionError, ModelError
from draisine.expr.expression import Expr, Number, evaluate, evaluate_number, names
from draisine.expr.tables import Table
from draisine.model.constraints import stretch_of
from draisine.model.items import Body, System, Wheel
from draisine.model.vocabulary import amounts

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

_INERTIA = ("xx", "yy", "zz", "xy", "yz", "zx")
_NOT_ZERO = ("relaxation", "speed", "friction", "a", "b", "reference", "shear")  # amounts of laws by which others are divided


class Rule(Protocol):
    """Something that must hold of amounts, which are known by the words that name them."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The amounts that it judges."""

    @property
    def reason(self) -> str:
        """What is wrong where it is broken, without numbers."""

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        """Where it is broken."""

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        """What is wrong, with the numbers and where these come from."""


# ------------------------------------------------------------------------------------------------------------- rules


class Least(NamedTuple):
    """An amount above zero, or not below it."""

    where: str
    expr: Expr
    unit: str
    zero: bool = False  # whether it may be zero
    otherwise: str = ""  # how the demand ends
    at_zero: str = ""  # what to do about zero

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.where,)

    @property
    def _demand(self) -> str:
        return f"must be {'zero or positive' if self.zero and not self.otherwise else 'positive'}{self.otherwise}"

    @property
    def reason(self) -> str:
        return f"{self.where} {self._demand}"

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        number = value[self.where]
        return ~(number >= 0.0) if self.zero else ~(number > 0.0)

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        number = value[self.where]
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.where} is {number:g}{origin(self.expr)}{unit}; it {self._demand}{self.at_zero if number == 0.0 else ''}"


class Radius(NamedTuple):
    """A wheel's radius, which may be zero where its tube has one."""

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


class RigidInertia(NamedTuple):
    """The principal moments of a rigid body are not negative, and none exceeds the sum of the others."""

    body: Body

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(f"inertia {entry} of body {self.body.name!r}" for entry in _INERTIA)

    @property
    def reason(self) -> str:
        return f"inertia of body {self.body.name!r} is that of no rigid body"

    def _principal(self, value: Mapping[str, Any]) -> Reals:
        tensor = np.empty((*np.shape(value[self.needs[0]]), 3, 3))
        for where, (i, j) in zip(self.needs, ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)), strict=True):
            tensor[..., i, j] = tensor[..., j, i] = value[where]
        tensor[~np.isfinite(tensor).all(axis=(-2, -1))] = 0.0  # that they are not finite is another complaint
        return np.linalg.eigvalsh(tensor)

    def broken(self, value: Mapping[str, Reals]) -> Bools:
        small, middle, large = np.moveaxis(self._principal(value), -1, 0)
        allowance = _allowance(small, large)
        return np.asarray((small < -allowance) | (large > small + middle + allowance))

    def complaint(self, value: Mapping[str, float], origin: Callable[[Expr], str]) -> str:
        small, middle, large = self._principal(value).tolist()
        principal = f"inertia of body {self.body.name!r}: principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg*m^2"
        if small < -_allowance(small, large):
            return f"{principal}; none can be negative: check signs and products of inertia"
        return (
            f"{principal} break the triangle inequality (the last exceeds the sum of the others); no rigid body has them: "
            "check the entries, and that they are about the center of mass" + _in_a_plane([value[where] for where in self.needs])
        )


def _allowance(small: Any, large: Any) -> Any:
    """Flat bodies reach equality, up to rounding."""
    return 1e-9 * np.maximum(np.abs(small), np.abs(large))


def _in_a_plane(entries: list[float]) -> str:
    """The cure for somebody who gave the one moment that a plane problem needs."""
    given = [k for k, amount in enumerate(entries) if amount]
    if len(given) != 1 or given[0] > 2:
        return ""
    flat = ", ".join(f"{entries[given[0]] * (1.0 if k == given[0] else 0.5):g}" for k in range(3))
    return f"; where only {_INERTIA[given[0]]} matters, a flat body will do: inertia=({flat})"


def rules(system: System) -> Iterator[Rule]:
    """All rules, in the order in which they are complained about."""
    for body in system.bodies:
        # A body without mass is described so, as 0: then the equations know. A parameter that happens to be 0 would leave them
        # singular.
        if body.mass != Number(0.0):
            cure = "; a body without mass is written as mass=0"
            yield Least(f"mass of body {body.name!r}", body.mass, "kg", at_zero=cure)
        yield RigidInertia(body)
    for wheel in system.wheels:
        yield Least(f"tube of wheel {wheel.name!r}", wheel.tube, "m", zero=True, otherwise=", or 0 for a thin disc")
        yield Radius(wheel)
        for name, amount in wheel.contact.amounts().items():
            yield Least(f"{name} of the contact of wheel {wheel.name!r}", amount, "", zero=name not in _NOT_ZERO)
    constants = {parameter.name for parameter in system.parameters}
    for constraint in system.constraints:
        stretch = stretch_of(constraint)
        if stretch is not None and names(stretch[1]) <= constants:
            yield Least(
                f"length of constraint {constraint.name!r}", stretch[1], "m", otherwise="; close_point holds points together"
            )


# -------------------------------------------------------------------------------------------------------- one and many


def check_numbers(system: System, parameters: Mapping[str, float] | None = None) -> None:
    """Check that masses, inertias and radii make sense, at the defaults of the parameters or at other values."""
    ParameterRules.of(system, dict(parameters or {}))


@dataclass(frozen=True, eq=False)
class ParameterRules:
    """What some parameters of a description can do wrong; the others are known to be right."""

    values: Mapping[str, float]  # of all parameters; those of `varied` are given later
    varied: frozenset[str]
    defaults: frozenset[str]  # names of parameters that have their default values
    rules: tuple[Rule, ...]  # that varied parameters can break
    amounts: Mapping[str, Expr]  # that they change, and others that such rules need
    tables: tuple[Table, ...] = field(default=(), repr=False)

    @staticmethod
    def of(system: System, given: Mapping[str, float], varied: frozenset[str] = frozenset()) -> ParameterRules:
        """Raises a `ModelError` where a rule is broken already that the varied parameters cannot mend."""
        known = {parameter.name: parameter.default for parameter in system.parameters}
        everything = dict(amounts(system))
        made = tuple(rules(system))
        whole = ParameterRules(known | dict(given), varied, frozenset(known) - set(given), made, everything, system.tables)
        settled = {where: whole._number(where) for where, expr in everything.items() if not names(expr) & varied}
        arrays = {where: np.array([number]) for where, number in settled.items()}
        for rule in made:
            if arrays.keys() >= set(rule.needs) and rule.broken(arrays)[0]:
                raise ModelError(rule.complaint(settled, whole._origin))
        left = tuple(rule for rule in made if not arrays.keys() >= set(rule.needs))
        needed = {where for rule in left for where in rule.needs}
        kept = {where: expr for where, expr in everything.items() if where in needed or where not in settled}
        return ParameterRules(whole.values, varied, whole.defaults - varied, left, kept, system.tables)

    def judge(self, columns: Mapping[str, Reals]) -> NDArray[np.intp]:
        """Of each lane the number of the first of `reasons` why its values of the varied parameters make no sense, or −1."""
        count = len(next(iter(columns.values()))) if columns else 0
        found = np.full(count, -1, dtype=np.intp)
        functions = {**_array_functions(), **{table.name: table.at for table in self.tables}}
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
        """What can be wrong, without numbers."""
        return (*(f"{where} must be a finite number" for where in self.amounts), *(rule.reason for rule in self.rules))

    def complaint(self, reason: int, at: Mapping[str, float]) -> str:
        """What is wrong at these values of the varied parameters, with the numbers."""
        here = ParameterRules({**self.values, **at}, self.varied, self.defaults, self.rules, self.amounts, self.tables)
        try:
            value = {where: here._number(where) for where in self.amounts}
        except ModelError as problem:
            return str(problem)
        return self.rules[reason - len(self.amounts)].complaint(value, here._origin)

    def _number(self, where: str) -> float:
        tables = {table.name: (lambda *at, table=table: float(table.at(*at))) for table in self.tables}
        try:
            return evaluate_number(self.amounts[where], self.values, tables)
        except (ExpressionError, TypeError) as problem:
            raise ModelError(f"{where}: {problem}") from None

    def _origin(self, expr: Expr) -> str:
        """Where a number comes from, in brackets."""
        used = names(expr)
        if not used:
            return ""
        return f" (from '{expr}' at the {'default parameters' if used <= self.defaults else 'parameters given'})"


def _array_functions() -> dict[str, Callable[..., Any]]:
    """The functions of expressions, over arrays."""
    arc = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2}
    same = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log", "floor", "ceil", "abs", "sign", "clip", "where")
    return {
        **{name: getattr(np, name) for name in same},
        **arc,
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "neg": np.negative,
        "pow": np.float_power,
        "lt": lambda a, b: np.less(a, b) * 1.0,
        "le": lambda a, b: np.less_equal(a, b) * 1.0,
        "gt": lambda a, b: np.greater(a, b) * 1.0,
        "ge": lambda a, b: np.greater_equal(a, b) * 1.0,
        "min": lambda *a: reduce(np.minimum, a),
        "max": lambda *a: reduce(np.maximum, a),
        "hypot": lambda *a: reduce(np.hypot, a),
    }

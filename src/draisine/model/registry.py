"""The items of a model by kind and name, and conversion of names and vectors given by users."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name, Number, did_you_mean, names
from draisine.model.dimensions import MEASURES, Dimensions
from draisine.model.items import Joint, Output, Vector
from draisine.model.quantities import Amount, amount_in, expression_of
from draisine.model.validate import check_name
from draisine.program.arguments import wrong_call
from draisine.results.control_characters import one_line, refuse_control_characters

KINDS = {
    "parameters": "a parameter",
    "dependent_parameters": "a parameter",
    "inputs": "an input",
    "bodies": "a body",
    "points": "a point",
    "joints": "a joint",
    "wheels": "a wheel",
    "edges": "a knife edge",
    "point_contacts": "a contact",
    "stops": "a stop",
    "joint_frictions": "a friction",
    "constraints": "a constraint",
    "surface_contacts": "a contact of surfaces",
    "surface_parameters": "a surface parameter",
    "generalized_forces": "a generalized force",
    "wrenches": "a wrench",
    "potentials": "a potential",
    "tables": "a table",
    "paths": "a path",
    "outputs": "an output",
    "events": "an event",
    "parts": "a part",
}


def in_order(items: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """All items, those of parts first, in the order of the parts: so a model file, which has parts and items apart, is read as
    the system that was written."""
    if not items["parts"]:
        return items
    made = [item for part in items["parts"].values() if not part.within for item in part.items]
    first = {kind: [name for k, name in made if k == kind and name in items[kind]] for kind in items}
    return {kind: {name: items[kind][name] for name in dict.fromkeys((*first[kind], *items[kind]))} for kind in items}


Measured = Joint | Expr | str  # a joint with one coordinate, the name of a coordinate, or an expression


class ItemRegistry:
    """The items of an editable description; base of the builders of `Model`."""

    name: str
    _items: dict[str, dict[str, Any]]

    def _add(self, kind: str, item: Any) -> Any:
        check_name(kind, item.name)
        description = getattr(item, "description", "")
        refuse_control_characters(f"the description of {KINDS[kind].split()[-1]} {item.name!r}", description)
        if description != one_line(description):
            item = item._replace(description=one_line(description))
        if item.name in self._items[kind]:
            raise ModelError(f"{self.name!r} already has {KINDS[kind]} {item.name!r}; choose another name")
        self._items[kind][item.name] = item
        return item

    def _fresh(self, kind: str, stem: str) -> str:
        taken = self._items[kind]
        if stem not in taken:
            return stem
        return next(f"{stem}_{i}" for i in range(2, len(taken) + 3) if f"{stem}_{i}" not in taken)

    def _known_unit(self, measure: Expr) -> str | None:
        """The unit of a coordinate, a velocity or a single measure, if known."""
        if isinstance(measure, Name):
            return self._units_of_joints().get(measure.identifier)
        if isinstance(measure, Call):
            return next((unit for stems, unit in MEASURES if measure.function.startswith(stems)), None)
        return None

    def _units_of_joints(self) -> dict[str, str]:
        joints = self._items["joints"].values()
        return {item.name: item.unit for joint in joints for item in (*joint.velocities, *joint.coordinates)}

    def _measured(self, where: str, item: Measured) -> Expr:
        if not isinstance(item, Joint):
            return expression_of(item, where)
        if len(item.coordinates) != 1:
            listed = ", ".join(c.name for c in item.coordinates) or "none"
            raise ModelError(
                f"{where}: joint {item.name!r} does not have exactly one coordinate (it has {listed}); name one of them"
            )
        return Name(item.coordinates[0].name)

    def _unit(self, where: str, measure: Expr, given: str | None) -> str:
        """The unit given, or that of a coordinate, a velocity or a single measure."""
        found = given if given is not None else self._known_unit(measure)
        if found is not None:
            return found
        hint = did_you_mean(measure.identifier, self._units_of_joints()) if isinstance(measure, Name) else ""
        raise ModelError(f"{where}: the unit of '{measure}' is unknown; give it, for example unit='m' or unit='rad'{hint}")

    def _dimensions(self, amount: Expr, law: bool = False) -> Dimensions:
        """The dimensions of what is in an expression, from the units of what the description has by now."""

        def units(*kinds: str) -> dict[str, str]:
            return {name: self._items[kind][name].unit for kind in kinds for name in used if name in self._items[kind]}

        used = sorted(names(amount))
        declared = units("parameters", "dependent_parameters", "inputs")
        outputs = units("outputs") if law else {}
        return Dimensions({"t": "s", **self._units_of_joints(), **outputs}, declared, law)

    def _check_unit(self, amount: Expr, unit: str | None, where: str) -> None:
        """Check the declared units of parameters in an amount, where the finished description does not show its place."""
        self._dimensions(amount).check(amount, unit, where)

    def _check_output(self, output: Output) -> None:
        """Check the unit of an output as far as its quantities are defined; `freeze` checks it again."""
        self._dimensions(output.expression, law=True).check_output(output)


_TEXTS = ("name", "unit", "along", "level", "action", "rate", "order", "description")
_Class = TypeVar("_Class", bound=type)


def with_checked_texts(builders: _Class) -> _Class:
    """A class whose methods refuse names, units and other texts of another type."""
    for name, method in list(vars(builders).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(builders, name, _with_checked_texts(method))
    return builders


def _with_checked_texts(method: FunctionType) -> Callable[..., Any]:
    names = method.__code__.co_varnames[: method.__code__.co_argcount + method.__code__.co_kwonlyargcount]
    texts = [name for name in names if name in _TEXTS]
    if not texts:
        return method
    signature: inspect.Signature | None = None  # known after the first call: finding it takes longer than most calls

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal signature
        signature = signature or inspect.signature(method)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise wrong_call(method.__name__, signature, kwargs, problem) from None
        for name in texts:
            if not isinstance(given.get(name, ""), str | None):
                raise ModelError(f"{method.__name__}: {name} must be a text, got {given[name]!r}")
        return method(*args, **kwargs)

    return call


def name_of(item: Any) -> str:
    """The name of an item given as object or by name."""
    if isinstance(item, str):
        return item
    name = getattr(item, "name", None)
    if not isinstance(name, str):
        raise ModelError(f"expected the name of a body, point or joint, or the object that its method returned, got {item!r}")
    return name


def vector_of(components: Sequence[Amount], unit: str, where: str) -> Vector:
    if isinstance(components, str | Mapping | set) or not hasattr(components, "__len__"):
        raise ModelError(f"{where}: needs three components, such as (0, 0, 0.5), got {components!r}")
    if len(components) != 3:
        raise ModelError(f"{where}: needs three components, got {len(components)}")
    return tuple(amount_in(c, unit, where) for c in components)  # type: ignore[return-value]


def number_of(value: Any, unit: str, where: str) -> float:
    """A number, also given as a text with a unit."""
    found = amount_in(value, unit, where)
    if not isinstance(found, Number):
        raise ModelError(f"{where}: expected a number or a text such as '20 deg', got {value!r}")
    return found.value


def span_of(ends: Any, unit: str, where: str) -> tuple[float, float]:
    """The lowest and the highest value."""
    if isinstance(ends, str | Mapping | set) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise ModelError(f"{where}: needs two numbers, the lowest and the highest value, got {ends!r}")
    low, high = (number_of(end, unit, where) for end in ends)
    return low, high

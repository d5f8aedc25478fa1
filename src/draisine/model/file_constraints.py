"""Constraints in model files: as a named kind where one fits, otherwise as residuals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import FUNCTIONS, OPERATORS, Call, Expr, Number, calls, names
from draisine.model.constraints import LEVELS, pairs, stretch_of
from draisine.model.file_joints import plain
from draisine.model.items import ResidualConstraint
from draisine.model.joints import AXES
from draisine.model.model import Model
from draisine.model.quantities import Entry
from draisine.model.system import System
from draisine.model.vocabulary import TIME

# -------------------------------------------------------------------- reading


def read_constraint(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    """Add the constraint that a table describes."""
    if not entry.has("kind"):
        raise ModelError(f"{entry.where}: 'kind' is missing; give one of {', '.join(_KINDS)}")
    return _KINDS[entry.text("kind", None, _KINDS)](model, name, entry)


def _point(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "a", "b", "axes")
    return model.close_point(name, *_both(entry), entry.text("axes", "xyz"))


def _hinge(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "a", "b", "axis")
    return model.close_hinge(name, *_both(entry), entry.axis("axis", "z"))


def _slider(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "a", "b", "axis")
    return model.close_slider(name, *_both(entry), entry.axis("axis", "x"))


def _rod(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "a", "b", "length")
    return model.rod(name, *_both(entry), entry.amount("length"))


def _cable(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "points", "length")
    return model.cable(name, entry.texts("points"), entry.amount("length"))


def _gear(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "first", "second", "ratio", "phase", "unit")
    sides = entry.expression("first"), entry.expression("second")
    return model.gear(name, *sides, entry.amount("ratio"), entry.amount("phase", 0), _unit(entry))


def _rack(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "turn", "slide", "radius", "offset")
    sides = entry.expression("turn"), entry.expression("slide")
    return model.rack(name, *sides, entry.amount("radius"), entry.amount("offset", 0))


def _prescribe(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "measure", "law", "level", "unit")
    level = entry.text("level", "position", LEVELS)
    return model.prescribe(name, entry.expression("measure"), entry.amount("law"), level, _unit(entry))


def _constrain(model: Model, name: str, entry: Entry) -> ResidualConstraint:
    entry.only("kind", "residual", "residuals", "level", "unit")
    level, unit = entry.text("level", "position", LEVELS), entry.text("unit", "")
    if entry.has("residual") == entry.has("residuals"):
        raise ModelError(f"{entry.where}: give either one 'residual' or a table of 'residuals' by name")
    if entry.has("residual"):
        return model.constrain(name, entry.expression("residual"), level, unit)
    several = entry.entry("residuals")
    return model.constrain(name, {label: several.expression(label) for label in several.table}, level, unit)


_KINDS: dict[str, Callable[[Model, str, Entry], ResidualConstraint]] = {
    "close_point": _point,
    "close_hinge": _hinge,
    "close_slider": _slider,
    "rod": _rod,
    "cable": _cable,
    "gear": _gear,
    "rack": _rack,
    "prescribe": _prescribe,
    "constrain": _constrain,
}


def _both(entry: Entry) -> tuple[str, str]:
    return entry.text("a"), entry.text("b")


def _unit(entry: Entry) -> str | None:
    return entry.text("unit") if entry.has("unit") else None


# -------------------------------------------------------------------- writing


def constraint_table(constraint: ResidualConstraint, system: System) -> dict[str, Any]:
    """The table of a constraint: the first named kind that reads back as the same constraint, otherwise its residuals."""
    constants = {item.name for group in (system.parameters, system.functions) for item in group}
    for table in _candidates(constraint, constants):
        try:
            again = read_constraint(Model("scratch"), constraint.name, Entry("candidate", table))
        except ModelError:
            continue  # not of this kind
        if again == constraint:
            return table
    return _residuals_table(constraint)


def _candidates(constraint: ResidualConstraint, constants: Collection[str]) -> Iterator[dict[str, Any]]:
    """Tables to try; `constants` are names of parameters and of tabulated functions."""
    related = pairs(constraint.residuals[0][1])
    stretch = stretch_of(constraint)
    if stretch is not None and _depends_on(stretch[1], constants):
        points, length = list(stretch[0]), plain(stretch[1])
        if len(points) == 2:
            yield {"kind": "rod", "a": points[0], "b": points[1], "length": length}
        yield {"kind": "cable", "points": points, "length": length}
    if related:
        ends = {"a": related[0][0], "b": related[0][1]}
        yield {"kind": "close_point", **ends}
        yield {"kind": "close_point", **ends, "axes": "".join(name[-1] for name, _ in constraint.residuals)}
        axes = AXES if constraint.along is None else ([plain(c) for c in constraint.along],)
        yield from ({"kind": kind, **ends, "axis": axis} for kind in ("close_hinge", "close_slider") for axis in axes)
    if len(constraint.residuals) == 1:
        yield from _by_difference(constraint, constraint.residuals[0][1], constants)


def _by_difference(constraint: ResidualConstraint, residual: Expr, constants: Collection[str]) -> Iterator[dict[str, Any]]:
    """Kinds whose residual is the difference of two quantities, or of these and a constant."""
    left, right = _difference(residual)
    given = {*constants, TIME}
    for outer, constant in ((residual, Number(0.0)), (left, right)):
        one, other = _difference(outer)
        if isinstance(other, Call) and other.function == "mul" and _depends_on(constant, constants):
            first, second = other.arguments
            more = {} if constant == Number(0.0) else {"phase": plain(constant)}
            if _depends_on(first, constants) and not _depends_on(second, given):
                sides = {"first": plain(second), "second": plain(one)}
                yield {"kind": "gear", **sides, "ratio": plain(first), **more, "unit": constraint.unit}
            more = {} if constant == Number(0.0) else {"offset": plain(constant)}
            if _depends_on(second, constants) and not _depends_on(first, given):
                yield {"kind": "rack", "turn": plain(first), "slide": plain(one), "radius": plain(second), **more}
    if _depends_on(right, given):
        law = {"kind": "prescribe", "measure": plain(left), "law": plain(right)}
        yield {**law, **({} if constraint.level == "position" else {"level": constraint.level}), "unit": constraint.unit}


def _depends_on(expr: Expr, known: Collection[str]) -> bool:
    """Whether the expression depends on these names only, and on no measure."""
    return names(expr) <= set(known) and calls(expr) <= FUNCTIONS | OPERATORS | set(known)


def _difference(expr: Expr) -> tuple[Expr, Expr]:
    if isinstance(expr, Call) and expr.function == "sub":
        return expr.arguments[0], expr.arguments[1]
    return expr, Number(0.0)


def _residuals_table(constraint: ResidualConstraint) -> dict[str, Any]:
    residuals: dict[str, Any] = {"residuals": {name: plain(residual) for name, residual in constraint.residuals}}
    if len(constraint.residuals) == 1 and constraint.residuals[0][0] == constraint.name:
        residuals = {"residual": plain(constraint.residuals[0][1])}
    return {"kind": "constrain", **residuals, "level": constraint.level, **({"unit": constraint.unit} if constraint.unit else {})}

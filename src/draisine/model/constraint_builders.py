"""Constraint builders of `Model`: loop closures, rods, cables, gears, prescribed motions, user-defined residuals.

    >>> from draisine.model.model import Model
    >>> m = Model("four_bar")
    >>> for name, length in (("crank", 1.0), ("coupler", 4.0), ("rocker", 3.0)):
    ...     _ = m.body(name, mass=length, center_of_mass=(length / 2, 0, 0))
    >>> _ = m.revolute("drive", "ground", "crank")
    >>> _ = m.revolute("knee", "crank", "coupler", at=(1, 0, 0))
    >>> _ = m.revolute("swing", "ground", "rocker", at=(4, 0, 0))
    >>> _ = m.point("coupler_end", "coupler", (4, 0, 0)), m.point("rocker_end", "rocker", (3, 0, 0))
    >>> for name, residual in m.close_point("loop", "coupler_end", "rocker_end", axes="xy").residuals:
    ...     print(f"{name}: {residual} = 0")
    loop_x: offset_x(coupler_end, rocker_end) = 0
    loop_y: offset_y(coupler_end, rocker_end) = 0

Wherever a point is expected, a body means its origin, and "ground" the origin of the world frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name, Number, did_you_mean, names
from draisine.model import constraints as constraints
from draisine.model.axes import Axis
from draisine.model.items import Body, Joint, Point, ResidualConstraint
from draisine.model.quantities import Amount, amount_in, expression_of
from draisine.model.registry import ItemRegistry, name_of, with_checked_texts

PointLike = Point | Body | str
Measured = Joint | Expr | str  # a joint with one coordinate, the name of a coordinate, or an expression


@with_checked_texts
class ConstraintBuilders(ItemRegistry):
    """Constraints by name. Each keeps its residuals at zero; its multipliers are available as outputs."""

    def close_point(self, name: str, a: PointLike, b: PointLike, axes: str = "xyz") -> ResidualConstraint:
        """Close a loop: two points coincide along the given `axes` of `a`; "xy" for a planar mechanism."""
        return self._add_constraint(constraints.closed_point(name, *_both(name, a, b), axes))

    def close_hinge(self, name: str, a: PointLike, b: PointLike, axis: Axis = "z") -> ResidualConstraint:
        """Close a loop by a revolute joint: two frames share their origin and one axis, "x", "y", "z" or a vector that has the
        same components in both frames."""
        return self._add_constraint(constraints.closed_hinge(name, *_both(name, a, b), axis))

    def close_slider(self, name: str, a: PointLike, b: PointLike, axis: Axis = "x") -> ResidualConstraint:
        """Close a loop by a prismatic joint: frame `b` slides along an axis of frame `a`, "x", "y", "z" or a vector, with
        parallel axes."""
        return self._add_constraint(constraints.closed_slider(name, *_both(name, a, b), axis))

    def rod(self, name: str, a: PointLike, b: PointLike, length: Amount) -> ResidualConstraint:
        """A massless rod with a ball joint at each end keeps two points at a constant distance. Its multiplier is its thrust."""
        return self._add_constraint(constraints.stretched(name, _both(name, a, b), self._length("rod", name, length)))

    def cable(self, name: str, points: Sequence[PointLike], length: Amount) -> ResidualConstraint:
        """A taut massless cable of given length runs along the points, over small frictionless pulleys.

        Its multiplier is minus the tension. The constraint holds in both directions: a run whose cable would have to push,
        because it would be slack, warns of it.
        """
        if isinstance(points, str | Mapping) or not isinstance(points, Iterable):
            raise ModelError(f"cable {name!r}: needs a list of two points or more, got {points!r}")
        along = tuple(name_of(point) for point in points)
        if len(along) < 2:
            raise ModelError(f"cable {name!r}: needs two points or more, got {len(along)}")
        repeated = next((a for a, b in pairwise(along) if a == b), None)
        if repeated is not None:
            raise ModelError(f"cable {name!r}: point {repeated!r} is listed twice in a row; remove one")
        return self._add_constraint(constraints.stretched(name, along, self._length("cable", name, length), only_pulls=True))

    def gear(
        self, name: str, first: Measured, second: Measured, ratio: Amount, phase: Amount = 0.0, unit: str | None = None
    ) -> ResidualConstraint:
        """second = ratio · first + phase. Two external gears of radii r₁, r₂ have the ratio −r₁/r₂.

        `first` and `second` are joints, coordinates or position-level quantities; `unit` is that of `second`, if its joint does
        not define it.
        """
        one, two = (self._measured(f"gear {name!r}", side) for side in (first, second))
        unit = self._unit(f"gear {name!r}", two, unit)
        factor = amount_in(ratio, "", f"ratio of gear {name!r}")
        if factor == Number(0.0):
            raise ModelError(f"gear {name!r}: its ratio is 0; to keep {two} constant use prescribe")
        return self._add_constraint(
            constraints.geared(name, one, two, factor, amount_in(phase, unit, f"phase of gear {name!r}"), unit)
        )

    def rack(self, name: str, turn: Measured, slide: Measured, radius: Amount, offset: Amount = 0.0) -> ResidualConstraint:
        """slide = radius · turn + offset: a pinion on a rack, or a drum that winds up a cable."""
        where = f"rack {name!r}"
        angle, displacement = (self._measured(where, side) for side in (turn, slide))
        size = amount_in(radius, "m", f"radius of {where}")
        if size == Number(0.0):
            raise ModelError(f"{where}: its radius is 0; give the radius of the pinion, negative for reversed motion")
        return self._add_constraint(
            constraints.racked(name, angle, displacement, size, amount_in(offset, "m", f"offset of {where}"))
        )

    def prescribe(
        self, name: str, measure: Measured, law: Amount, level: str = "position", unit: str | None = None
    ) -> ResidualConstraint:
        """Prescribe a quantity as a function of time, "0.1*sin(2*t)"; the multiplier is the generalized force required.

        With level="velocity" the measure is a velocity, or linear in velocities.
        """
        where = f"prescribed motion {name!r}"
        what = self._measured(where, measure)
        unit = self._unit(where, what, unit)
        return self._add_constraint(constraints.prescribed(name, what, amount_in(law, unit, f"law of {where}"), level, unit))

    def constrain(
        self, name: str, residual: Amount | Mapping[str, Amount], level: str = "position", unit: str = ""
    ) -> ResidualConstraint:
        """Constrain an expression, or several by name, to zero: f(q, t), or linear in velocities with level="velocity".

        `unit` is the SI unit of the residual; the multiplier has the unit of work (or power) divided by it.
        """
        given = residual if isinstance(residual, Mapping) else {name: residual}
        found = {label: amount_in(each, None, f"residual {label!r} of constraint {name!r}") for label, each in given.items()}
        return self._add_constraint(constraints.constrained(name, found, level, unit))

    # ------------------------------------------------------------ pieces

    def _add_constraint(self, constraint: ResidualConstraint) -> ResidualConstraint:
        self._add("constraints", constraint)
        return constraint

    def _length(self, kind: str, name: str, length: Amount) -> Expr:
        found = amount_in(length, "m", f"length of {kind} {name!r}")
        if "t" in names(found):
            raise ModelError(
                f"length of {kind} {name!r}: '{found}' depends on time; prescribe the distance instead, "
                f"prescribe({name!r}, 'distance(…, …)', '{found}')"
            )
        return found

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


def _both(name: str, a: PointLike, b: PointLike) -> tuple[str, str]:
    first, second = name_of(a), name_of(b)
    if first == second:
        raise ModelError(f"constraint {name!r}: it connects {first!r} to itself; name two different points or bodies")
    return first, second

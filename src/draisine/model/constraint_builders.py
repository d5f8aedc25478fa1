"""How `Model` closes loops and constrains further: ties between points, frames and coordinates.

    >>> from draisine.model import Model
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

Wherever a point is asked for, a body stands for its origin, and "ground" for the world's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name, Number, did_you_mean, names
from draisine.model import constraints as constraints
from draisine.model.items import Body, Joint, Point, ResidualConstraint
from draisine.model.quantities import Amount, amount_in, expression_of
from draisine.model.registry import Register, name_of

Place = Point | Body | str
Measured = Joint | Expr | str  # a joint of one coordinate, a coordinate's name, or an expression


class Tying(Register):
    """Ties by name; each keeps its residuals at zero, and its multipliers are forces that can be looked at."""

    def close_point(self, name: str, a: Place, b: Place, axes: str = "xyz") -> ResidualConstraint:
        """Two points coincide. `axes` of `a` along which they do: "xy" for a mechanism that moves in that plane anyway."""
        return self._tie(constraints.closed_point(name, *_both(name, a, b), axes))

    def close_hinge(self, name: str, a: Place, b: Place, axis: str = "z") -> ResidualConstraint:
        """Two frames share their origin and one axis, as a hinge holds them."""
        return self._tie(constraints.closed_hinge(name, *_both(name, a, b), axis))

    def close_slider(self, name: str, a: Place, b: Place, axis: str = "x") -> ResidualConstraint:
        """Frame `b` slides along an axis of frame `a` and does not turn against it; their axes are parallel."""
        return self._tie(constraints.closed_slider(name, *_both(name, a, b), axis))

    def rod(self, name: str, a: Place, b: Place, length: Amount) -> ResidualConstraint:
        """Two points stay at a distance: a massless rod with a ball at each end. Its multiplier is its thrust."""
        return self._tie(constraints.stretched(name, _both(name, a, b), self._length("rod", name, length)))

    def cable(self, name: str, points: Sequence[Place], length: Amount) -> ResidualConstraint:
        """A taut massless cable runs along the points, over small pulleys without friction; its whole length is given.

        Its multiplier is minus the tension; a positive one says that the cable would be slack.
        """
        along = tuple(name_of(point) for point in points)
        if len(along) < 2:
            raise ModelError(f"cable {name!r}: it needs two points or more, got {len(along)}")
        again = next((a for a, b in pairwise(along) if a == b), None)
        if again is not None:
            raise ModelError(f"cable {name!r}: {again!r} stands twice in a row; leave one out")
        return self._tie(constraints.stretched(name, along, self._length("cable", name, length)))

    def gear(
        self, name: str, first: Measured, second: Measured, ratio: Amount, phase: Amount = 0.0, unit: str | None = None
    ) -> ResidualConstraint:
        """second = ratio · first + phase. Two wheels of radii r₁, r₂ that mesh from outside have the ratio −r₁/r₂.

        `first` and `second` are joints or coordinates (or quantities of position); `unit` is that of the second, where it is not
        known from its joint.
        """
        one, two = (self._measured(f"gear {name!r}", side) for side in (first, second))
        unit = self._unit(f"gear {name!r}", two, unit)
        found = amount_in(ratio, "", f"ratio of gear {name!r}")
        if found == Number(0.0):
            raise ModelError(f"gear {name!r}: its ratio is 0; to hold {two} still use prescribe")
        return self._tie(constraints.geared(name, one, two, found, amount_in(phase, unit, f"phase of gear {name!r}"), unit))

    def rack(self, name: str, turn: Measured, slide: Measured, radius: Amount, offset: Amount = 0.0) -> ResidualConstraint:
        """slide = radius · turn + offset: a pinion of that radius on a rack, a drum that winds up a cable."""
        where = f"rack {name!r}"
        angle, way = (self._measured(where, side) for side in (turn, slide))
        size = amount_in(radius, "m", f"radius of {where}")
        if size == Number(0.0):
            raise ModelError(f"{where}: its radius is 0; give that of the pinion, negative where it drives backwards")
        return self._tie(constraints.racked(name, angle, way, size, amount_in(offset, "m", f"offset of {where}")))

    def prescribe(
        self, name: str, measure: Measured, law: Amount, level: str = "position", unit: str | None = None
    ) -> ResidualConstraint:
        """A quantity follows a law in time, "0.1*sin(2*t)"; the multiplier is the effort that this takes.

        With level="velocity" the measure is a velocity, or linear in velocities.
        """
        where = f"prescribed motion {name!r}"
        what = self._measured(where, measure)
        unit = self._unit(where, what, unit)
        return self._tie(constraints.prescribed(name, what, amount_in(law, unit, f"law of {where}"), level, unit))

    def constrain(
        self, name: str, residual: Amount | Mapping[str, Amount], level: str = "position", unit: str = ""
    ) -> ResidualConstraint:
        """An expression, or several by name, that shall stay zero: f(q, t), or linear in velocities with level="velocity".

        `unit` is the residual's, in SI; the multiplier's is that of a power or work divided by it.
        """
        given = residual if isinstance(residual, Mapping) else {name: residual}
        found = {label: amount_in(each, None, f"residual {label!r} of constraint {name!r}") for label, each in given.items()}
        return self._tie(constraints.constrained(name, found, level, unit))

    # ------------------------------------------------------------ pieces

    def _tie(self, constraint: ResidualConstraint) -> ResidualConstraint:
        self._add("constraints", constraint)
        return constraint

    def _length(self, kind: str, name: str, length: Amount) -> Expr:
        found = amount_in(length, "m", f"length of {kind} {name!r}")
        if "t" in names(found):
            raise ModelError(
                f"length of {kind} {name!r}: '{found}' changes in time; prescribe the distance instead, "
                f"prescribe({name!r}, 'distance(…, …)', '{found}')"
            )
        return found

    def _measured(self, where: str, item: Measured) -> Expr:
        if not isinstance(item, Joint):
            return expression_of(item)
        if len(item.coordinates) != 1:
            listed = ", ".join(c.name for c in item.coordinates) or "none"
            raise ModelError(f"{where}: joint {item.name!r} has not one coordinate but {listed}; name the one you mean")
        return Name(item.coordinates[0].name)

    def _unit(self, where: str, measure: Expr, given: str | None) -> str:
        """The unit of a coordinate, a velocity or a single measure; anything else has to come with its own."""
        found = given if given is not None else self._known_unit(measure)
        if found is not None:
            return found
        hint = did_you_mean(measure.identifier, self._units_of_joints()) if isinstance(measure, Name) else ""
        raise ModelError(f"{where}: the unit of '{measure}' is not known here; give it, such as unit='m' or unit='rad'{hint}")


def _both(name: str, a: Place, b: Place) -> tuple[str, str]:
    first, second = name_of(a), name_of(b)
    if first == second:
        raise ModelError(f"constraint {name!r}: it ties {first!r} to itself; name two places")
    return first, second

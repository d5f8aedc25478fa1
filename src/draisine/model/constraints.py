"""Residuals of loop closures and other constraints: expressions that stay zero.

Signs are chosen such that multipliers are physical forces. Those of a loop closure are the force and torque of `a` on `b` in the
axes of `a`: for a small rotation θ of `b` relative to `a`, the cosine between axis i of `a` and axis k of `b` changes by
(θ × e_k)·e_i. The multiplier of a rod or cable is its thrust, negative in tension; that of a prescribed coordinate is its
generalized force. Parallel and antiparallel axes close the same hinge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name, Number, did_you_mean, walk
from draisine.model.items import ResidualConstraint
from draisine.model.joints import Axis, across, projection
from draisine.model.quantities import named

AXES = "xyz"
LEVELS = ("position", "velocity")

# Measures of two frames: distance of their origins, relative position, and direction cosines of their axes.
PAIRS = frozenset(
    ("distance", *(f"offset_{axis}" for axis in AXES), *(f"cosine_{first}{second}" for first in AXES for second in AXES))
)


def closed_point(name: str, a: str, b: str, axes: str = AXES) -> ResidualConstraint:
    """Two points coincide along axes of the first."""
    if not isinstance(axes, str) or not axes or len(set(axes)) < len(axes) or not set(axes) <= set(AXES):
        raise ModelError(f"constraint {name!r}: axes must be distinct letters of x, y, z, such as 'xyz' or 'xy'; got {axes!r}")
    return ResidualConstraint(name, _offsets(name, a, b, axes))


def closed_hinge(name: str, a: str, b: str, axis: Axis) -> ResidualConstraint:
    """Two frames share their origin and one axis."""
    if not isinstance(axis, str):
        first, second, along = across(axis, f"constraint {name!r}")
        turned = [projection(along, [_cosine(i, j, a, b) for j in AXES]) for i in AXES]  # of the axis of b, in the axes of a
        turns = ((f"{name}_turn_1", -projection(second, turned)), (f"{name}_turn_2", projection(first, turned)))
        plain = tuple(label for label, _ in turns)
        return ResidualConstraint(name, (*_offsets(name, a, b, AXES), *turns), plain=plain, along=along)
    axis = axis.removeprefix("-")  # the same hinge
    k = _axis(name, axis)
    i, j = AXES[(k + 1) % 3], AXES[(k + 2) % 3]
    turns = ((f"{name}_turn_{i}", -_cosine(j, axis, a, b)), (f"{name}_turn_{j}", _cosine(i, axis, a, b)))
    return ResidualConstraint(name, (*_offsets(name, a, b, AXES), *turns), plain=tuple(label for label, _ in turns))


def closed_slider(name: str, a: str, b: str, axis: Axis) -> ResidualConstraint:
    """The second origin stays on an axis of the first frame, and the axes stay parallel."""
    turns = tuple((f"{name}_turn_{AXES[i]}", _rotation(i, a, b)) for i in range(3))
    plain = tuple(label for label, _ in turns)
    if not isinstance(axis, str):
        offset = [value for _, value in _offsets(name, a, b, AXES)]
        *sideways, along = across(axis, f"constraint {name!r}")
        apart = tuple((f"{name}_{i}", projection(direction, offset)) for i, direction in enumerate(sideways, 1))
        return ResidualConstraint(name, (*apart, *turns), plain=plain, along=along)
    k = _axis(name, axis.removeprefix("-"))
    letters = AXES[(k + 1) % 3] + AXES[(k + 2) % 3]
    return ResidualConstraint(name, (*_offsets(name, a, b, letters), *turns), plain=plain)


def stretched(name: str, points: Sequence[str], length: Expr, only_pulls: bool = False) -> ResidualConstraint:
    """The path along the points has a fixed length: a rod between two points, a cable over more."""
    ends = [named(point, f"constraint {name!r}") for point in points]
    distances = [Call("distance", pair) for pair in pairwise(ends)]
    total: Expr = distances[0]
    for distance in distances[1:]:
        total = total + distance
    return ResidualConstraint(name, ((name, total - length),), only_pulls=only_pulls)


def geared(name: str, first: Expr, second: Expr, ratio: Expr, phase: Expr, unit: str) -> ResidualConstraint:
    """second = ratio·first + phase."""
    return ResidualConstraint(name, ((name, _minus(second - ratio * first, phase)),), unit=unit)


def racked(name: str, turn: Expr, slide: Expr, radius: Expr, offset: Expr) -> ResidualConstraint:
    """slide = turn·radius + offset."""
    return ResidualConstraint(name, ((name, _minus(slide - turn * radius, offset)),))


def prescribed(name: str, measure: Expr, law: Expr, level: str, unit: str) -> ResidualConstraint:
    """measure = law(t)."""
    return ResidualConstraint(name, ((name, measure - law),), _level(name, level), unit)


def constrained(name: str, residuals: Mapping[str, Expr], level: str, unit: str) -> ResidualConstraint:
    """Residuals given by the user."""
    if not residuals:
        raise ModelError(f"constraint {name!r} has no residual; give an expression that must stay zero")
    return ResidualConstraint(name, tuple(residuals.items()), _level(name, level), unit)


# -------------------------------------------------------------------- recognizing residuals


def pairs(expr: Expr) -> list[tuple[str, str]]:
    """Names of the pairs of frames that an expression relates, in order of appearance."""
    found = []
    for part in walk(expr):
        if isinstance(part, Call) and part.function in PAIRS and len(part.arguments) == 2:
            a, b = part.arguments
            if isinstance(a, Name) and isinstance(b, Name):
                found.append((a.identifier, b.identifier))
    return found


def stretch_of(constraint: ResidualConstraint) -> tuple[tuple[str, ...], Expr] | None:
    """Points and length of a rod or cable; None for any other constraint."""
    residual = constraint.residuals[0][1] if constraint.residuals else NOTHING
    if len(constraint.residuals) > 1 or not (isinstance(residual, Call) and residual.function == "sub"):
        return None
    segments = pairs(residual.arguments[0])
    points = (segments[0][0], *(b for _, b in segments)) if segments else ()
    length = residual.arguments[1]
    return (points, length) if segments and stretched(constraint.name, points, length).residuals == constraint.residuals else None


# -------------------------------------------------------------------- pieces

NOTHING = Number(0.0)


def _offsets(name: str, a: str, b: str, axes: str) -> tuple[tuple[str, Expr], ...]:
    both = named(a, f"constraint {name!r}"), named(b, f"constraint {name!r}")
    return tuple((f"{name}_{axis}", Call(f"offset_{axis}", both)) for axis in axes)


def _cosine(of_a: str, of_b: str, a: str, b: str) -> Expr:
    return Call(f"cosine_{of_a}{of_b}", (named(a, "axes of a constraint"), named(b, "axes of a constraint")))


def _rotation(axis: int, a: str, b: str) -> Expr:
    """Component of 2 tan(½θ) n for a relative rotation by θ about n: zero for parallel axes only. Three direction cosines of
    right angles would also vanish for frames turned by 180° or with exchanged axes."""
    j, k = AXES[(axis + 1) % 3], AXES[(axis + 2) % 3]
    denominator = Number(1.0) + _cosine("x", "x", a, b) + _cosine("y", "y", a, b) + _cosine("z", "z", a, b)
    return 2.0 * (_cosine(k, j, a, b) - _cosine(j, k, a, b)) / denominator


def _minus(residual: Expr, constant: Expr) -> Expr:
    return residual if constant == NOTHING else residual - constant


def _axis(name: str, axis: str) -> int:
    if not isinstance(axis, str) or axis not in tuple(AXES):
        raise ModelError(f"constraint {name!r}: its axis must be 'x', 'y', 'z' or a vector such as (0, 1, 1), got {axis!r}")
    return AXES.index(axis)


def _level(name: str, level: str) -> str:
    if level not in LEVELS:
        raise ModelError(
            f"constraint {name!r}: its level must be 'position' or 'velocity', got {level!r}{did_you_mean(level, LEVELS)}"
        )
    return level

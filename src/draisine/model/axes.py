"""Axes of joints and rotations: a coordinate axis, or any direction, as elementary rotations about coordinate axes.

    >>> from draisine.expr.expression import Name
    >>> for turn in about((0, 1, 1), Name("q"), "joint 'door'"):
    ...     print(turn.axis, turn.angle)
    x -0.7853981633974483
    z q
    x 0.7853981633974483

An axis is "x", "y" or "z", with a minus sign for the opposite direction ("-z"), or a vector of any length whose components may
depend on parameters. A rotation about a direction n is B R(q) Bᵀ: B turns a coordinate axis into n by at most two elementary
rotations, so that derivations, drawings and files know coordinate axes only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Number
from draisine.model.items import Rotate, Translate, Vector
from draisine.model.quantities import Amount, amount_in

AXES = ("x", "y", "z")
Axis = str | Sequence[Amount]

_ZERO = Number(0.0)
_UNIT_ROUNDING = 1e-15  # a vector of this accuracy is kept as it is, so that files read back equal


def about(axis: Axis, angle: Expr, where: str) -> tuple[Rotate, ...]:
    """A rotation by `angle` about an axis, as elementary rotations."""
    tilt, letter, sign = _tilt(_direction(axis, where), where)
    return (*tilt, Rotate(letter, angle if sign > 0 else -angle), *_reversed(tilt))


def about_and_along(axis: Axis, angle: Expr, amount: Expr, where: str) -> tuple[Rotate | Translate, ...]:
    """A rotation about an axis and a translation along it."""
    tilt, letter, sign = _tilt(_direction(axis, where), where)
    if sign < 0:
        angle, amount = -angle, -amount
    return (*tilt, Rotate(letter, angle), along(letter, amount, where), *_reversed(tilt))


def _reversed(turns: tuple[Rotate, ...]) -> tuple[Rotate, ...]:
    return tuple(Rotate(turn.axis, -turn.angle) for turn in reversed(turns))


def along(axis: Axis, amount: Expr, where: str) -> Translate:
    """A translation by `amount` along an axis."""
    return Translate(tuple(_product(component, amount) for component in _direction(axis, where)))  # type: ignore[arg-type]


def turned_onto(axis: Axis, where: str) -> tuple[tuple[Rotate, ...], str]:
    """Constant rotations, and the coordinate axis that they turn into this one."""
    turns, letter, sign = _tilt(_direction(axis, where), where)
    if sign < 0:  # half a turn about another axis
        turns = (*turns, Rotate(AXES[(AXES.index(letter) + 1) % 3], Number(math.pi)))
    return turns, letter


def across(axis: Axis, where: str) -> tuple[Vector, Vector, Vector]:
    """Two directions at right angles to an axis and to each other, and that of the axis: a right-handed system."""
    n = _direction(axis, where)
    sizes = [abs(c.value) if isinstance(c, Number) else math.inf for c in n]
    k = max(range(3), key=lambda m: (sizes[m], m))
    i, j = (k + 1) % 3, (k + 2) % 3
    size = _size(n[j], n[k])
    first: list[Expr] = [_ZERO] * 3
    second: list[Expr] = [_ZERO] * 3
    first[i], first[j], first[k] = size, _scaled(-n[i], n[j], size), _scaled(-n[i], n[k], size)
    second[j], second[k] = _scaled(Number(1.0), n[k], size), _scaled(Number(-1.0), n[j], size)
    return tuple(first), tuple(second), n  # type: ignore[return-value]


def _scaled(factor: Expr, component: Expr, size: Expr) -> Expr:
    """factor · component / size."""
    if _ZERO in (factor, component):
        return _ZERO
    if isinstance(factor, Number) and isinstance(component, Number) and isinstance(size, Number):
        return Number(factor.value * component.value / size.value + 0.0)
    return factor * component / size


def projection(direction: Vector, components: Sequence[Expr]) -> Expr:
    """Σ direction · components."""
    total: Expr = _ZERO
    for factor, component in zip(direction, components, strict=True):
        if factor != _ZERO:
            total = _product(factor, component) if total == _ZERO else total + _product(factor, component)
    return total


def _product(component: Expr, amount: Expr) -> Expr:
    if component == _ZERO:
        return _ZERO
    if component == Number(1.0):
        return amount
    return -amount if component == Number(-1.0) else component * amount


def _direction(axis: Axis, where: str) -> Vector:
    """The unit vector of an axis."""
    if isinstance(axis, str) and axis.removeprefix("-") in AXES:
        one = Number(-1.0 if axis[0] == "-" else 1.0)
        return tuple(one if letter == axis[-1] else _ZERO for letter in AXES)  # type: ignore[return-value]
    if isinstance(axis, str) or not hasattr(axis, "__len__") or len(axis) != 3:
        raise ModelError(f"{where}: axis {axis!r} is unknown; known are x, y, z and vectors such as (0, 1, 1)")
    given = [amount_in(component, "", f"axis of {where}") for component in axis]
    numbers = [component.value for component in given if isinstance(component, Number)]
    if len(numbers) < 3:
        if sum(component != _ZERO for component in given) == 1:
            raise ModelError(f"{where}: the axis ({', '.join(map(str, given))}) has one component; give 'x', 'y' or 'z'")
        size = Call("hypot", tuple(component for component in given if component != _ZERO))
        return tuple(component if component == _ZERO else component / size for component in given)  # type: ignore[return-value]
    length = math.hypot(*numbers)
    if length == 0.0:
        raise ModelError(f"{where}: the axis (0, 0, 0) has no direction; give a vector such as (0, 0, 1)")
    if abs(length - 1.0) > _UNIT_ROUNDING:
        largest = max(map(abs, numbers))  # first, since the squares of tiny numbers vanish
        numbers = [number / largest for number in numbers]
        length = math.hypot(*numbers)
        numbers = [number / length for number in numbers]
    return tuple(Number(number + 0.0) for number in numbers)  # type: ignore[return-value]  # −0 becomes 0


def _tilt(direction: Vector, where: str) -> tuple[tuple[Rotate, ...], str, int]:
    """Constant rotations B, a coordinate axis and a sign with B · (sign · axis) = direction."""
    sizes = [abs(c.value) if isinstance(c, Number) else math.inf for c in direction]
    k = max(range(3), key=lambda n: (sizes[n], n))
    if isinstance(direction[k], Number) and direction[k].value < 0:  # type: ignore[attr-defined]
        tilt, letter, _ = _tilt(tuple(-c for c in direction), where)  # type: ignore[arg-type]
        return tilt, letter, -1
    # with (i, j, k) cyclic: R_i(α) R_j(β) e_k = sin β e_i + cos β (cos α e_k − sin α e_j)
    i, j = (k + 1) % 3, (k + 2) % 3
    across = _size(direction[j], direction[k])
    turns = ((i, _angle(-direction[j], direction[k])), (j, _angle(direction[i], across)))
    return tuple(Rotate(AXES[n], angle) for n, angle in turns if angle != _ZERO), AXES[k], 1


def _size(a: Expr, b: Expr) -> Expr:
    if a == _ZERO:
        return b
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(math.hypot(a.value, b.value))
    return Call("hypot", (a, b))


def _angle(sine: Expr, cosine: Expr) -> Expr:
    if sine == _ZERO:
        return _ZERO
    if isinstance(sine, Number) and isinstance(cosine, Number):
        return Number(math.atan2(sine.value, cosine.value))
    return Call("atan2", (sine, cosine))

"""Joints in model files: as a named kind where one fits, otherwise as a chain of displacements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name, Number, names
from draisine.model.items import GROUND, Ball, Coordinate, Displacement, Float, Glide, Joint, Rotate, Translate
from draisine.model.joints import AXES, Axis
from draisine.model.model import Model
from draisine.model.quantities import Entry, FileAmount, amount_in

_ENDS = ("kind", "parent", "child")
_PLACE = ("at", "orientation")
_ORIGIN = (0, 0, 0)


def plain(expr: Expr) -> FileAmount:
    """An amount as it is written to files: a number, or the text of an expression."""
    return expr.value if isinstance(expr, Number) else str(expr)


# -------------------------------------------------------------------- reading


def read_joint(model: Model, name: str, entry: Entry) -> Joint:
    """Add the joint that a table describes."""
    if not entry.has("kind") and not entry.has("chain"):
        raise ModelError(f"{entry.where}: 'kind' is missing; give one of {', '.join(_KINDS)}, or a 'chain' of displacements")
    kind = entry.text("kind", "chain", [*_KINDS, "chain"])
    return _KINDS.get(kind, _chain)(model, name, entry)


def _free(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "at")
    _check_from_ground(entry)
    return model.free(entry.text("child"), name, entry.vector("at", _ORIGIN))


def _free_euler(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "order", "angles")
    _check_from_ground(entry)
    angles = entry.texts("angles", count=3) if entry.has("angles") else None
    return model.free_euler(entry.text("child"), entry.text("order", "zxy"), angles, name)


def _check_from_ground(entry: Entry) -> None:
    if entry.text("parent", GROUND) != GROUND:
        raise ModelError(f"{entry.where}: a free joint starts at the ground; leave 'parent' out")


def _planar(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "at", "heading")
    at = [entry.as_number(value, "at", "m") for value in entry.items("at", [0.0, 0.0])]
    return model.planar(entry.text("child"), name, entry.text("parent", GROUND), at, entry.number("heading", "rad", 0.0))


def _revolute(model: Model, name: str, entry: Entry) -> Joint:
    return model.revolute(name, *_single(entry, "z"), **_coordinate_options(entry, "rad") | _stop_options(entry))


def _prismatic(model: Model, name: str, entry: Entry) -> Joint:
    return model.prismatic(name, *_single(entry, "x"), **_coordinate_options(entry, "m") | _stop_options(entry))


def _single(entry: Entry, axis: str) -> tuple[Any, ...]:
    entry.only(*_ENDS, "axis", *_PLACE, "rate", "default", "span", "limits", "restitution", "friction")
    return (*_both(entry), entry.axis("axis", axis), *pose_of(entry))


def _cylindrical(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "axis", *_PLACE)
    return model.cylindrical(name, *_both(entry), entry.axis("axis", "z"), *pose_of(entry))


def _screw(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "lead", "axis", *_PLACE)
    return model.screw(name, *_both(entry), entry.amount("lead"), entry.axis("axis", "z"), *pose_of(entry))


def _universal(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "axes", *_PLACE)
    if isinstance(entry.table.get("axes", "xy"), str):
        return model.universal(name, *_both(entry), entry.text("axes", "xy"), *pose_of(entry))
    return model.universal(name, *_both(entry), entry.items("axes"), *pose_of(entry))


def _spherical(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, *_PLACE)
    return model.spherical(name, *_both(entry), *pose_of(entry))


def _fixed(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, *_PLACE)
    return model.fixed(name, *_both(entry), *pose_of(entry))


_KINDS: dict[str, Callable[[Model, str, Entry], Joint]] = {
    "free": _free,
    "free_euler": _free_euler,
    "planar": _planar,
    "revolute": _revolute,
    "prismatic": _prismatic,
    "cylindrical": _cylindrical,
    "screw": _screw,
    "universal": _universal,
    "spherical": _spherical,
    "fixed": _fixed,
}


def _both(entry: Entry) -> tuple[str, str]:
    return entry.text("parent"), entry.text("child")


def pose_of(entry: Entry) -> tuple[tuple[FileAmount, ...], list[tuple[Axis, FileAmount]]]:
    """Position and orientation of a joint or frame relative to its body."""
    orientation: list[tuple[Axis, FileAmount]] = []
    for item in entry.items("orientation", []):
        turn = Entry.of(f"a rotation of {entry.where}", item).only(*AXES, "axis", "angle")
        if set(turn.table) == {"axis", "angle"}:
            orientation.append((turn.axis("axis", "z"), turn.amount("angle")))
        elif len(turn.table) == 1 and set(turn.table) <= set(AXES):
            orientation += [(axis, turn.amount(axis)) for axis in turn.table]
        else:
            raise ModelError(
                f"{turn.where}: give one axis with its angle, such as {{ y = 'tilt' }} or {{ axis = [0, 1, 1], angle = 'tilt' }}"
            )
    return entry.vector("at", _ORIGIN), orientation


def turns_table(turns: Iterable[Rotate]) -> list[dict[str, FileAmount]]:
    """Constant rotations as they are written to files."""
    return [{turn.axis: plain(turn.angle)} for turn in turns]


def _coordinate_options(entry: Entry, unit: str) -> dict[str, Any]:
    options: dict[str, Any] = {"default": entry.number("default", unit, 0.0)}
    if entry.has("rate"):
        options["rate"] = entry.text("rate")
    if entry.has("span"):
        options["span"] = _span(entry, unit)
    return options


def _stop_options(entry: Entry) -> dict[str, Any]:
    """Stops and dry friction; "none" stands for a side without a stop."""
    options: dict[str, Any] = {"restitution": entry.amount("restitution", 0)}
    if entry.has("limits"):
        limits = entry.amounts("limits")
        options["limits"] = [None if end == "none" else end for end in limits] if isinstance(limits, tuple) else limits
    if entry.has("friction"):
        options["friction"] = entry.amounts("friction")
    return options


def _span(entry: Entry, unit: str) -> tuple[float, float]:
    ends = [entry.as_number(value, "span", unit) for value in entry.items("span")]
    if len(ends) != 2:
        raise ModelError(f"{entry.where}: 'span' needs two numbers, the lowest and the highest value, got {len(ends)}")
    return ends[0], ends[1]


def _chain(model: Model, name: str, entry: Entry) -> Joint:
    entry.only(*_ENDS, "chain", "coordinates")
    chain = [_displacement(Entry.of(f"a displacement of {entry.where}", item)) for item in entry.items("chain")]
    coordinates = [_coordinate(Entry.of(f"a coordinate of {entry.where}", item)) for item in entry.items("coordinates", [])]
    return model.joint(name, *_both(entry), chain, coordinates)


def _displacement(entry: Entry) -> Displacement:
    if entry.has("rotate"):
        entry.only("rotate", "angle")
        angle = amount_in(entry.amount("angle"), "rad", f"angle of {entry.where}")
        return Rotate(entry.text("rotate", None, AXES), angle)
    if entry.has("translate"):
        entry.only("translate")
        by = tuple(amount_in(c, "m", f"translate of {entry.where}") for c in entry.vector("translate"))
        return Translate(by)  # type: ignore[arg-type]
    if entry.has("ball"):
        ball = entry.only("ball").entry("ball").only("quaternion", "rates")
        return Ball(tuple(ball.texts("quaternion", count=4)), tuple(ball.texts("rates", count=3)))  # type: ignore[arg-type]
    if entry.has("float"):
        free = entry.only("float").entry("float").only("position", "quaternion", "velocity", "rates")
        groups = (("position", 3), ("quaternion", 4), ("velocity", 3), ("rates", 3))
        return Float(*(tuple(free.texts(key, count=count)) for key, count in groups))  # type: ignore[arg-type]
    if entry.has("glide"):
        glide = entry.only("glide").entry("glide").only("position", "heading", "velocity")
        position, velocity = (tuple(glide.texts(key, count=2)) for key in ("position", "velocity"))
        return Glide(position, glide.text("heading"), velocity)  # type: ignore[arg-type]
    raise ModelError(
        f"{entry.where}: expected one of 'rotate', 'translate', 'ball', 'float' or 'glide', "
        f"got {', '.join(entry.table) or 'nothing'}"
    )


def _coordinate(entry: Entry) -> Coordinate:
    entry.only("name", "rate", "unit", "default", "span")
    unit = entry.text("unit", "")
    default = entry.number("default", unit, 0.0)
    low, high = _span(entry, unit) if entry.has("span") else (-1.0, 1.0)
    return Coordinate(entry.text("name"), entry.text("rate", ""), unit, default, low, high)


# -------------------------------------------------------------------- writing


def joint_table(joint: Joint) -> dict[str, Any]:
    """The table of a joint: the first named kind that reads back as the same joint, otherwise its chain."""
    for table in _candidates(joint):
        try:
            again = read_joint(Model("scratch"), joint.name, Entry("candidate", table))
        except ModelError:
            continue  # not of this kind
        if again == joint:
            return table
    return _chain_table(joint)


def _candidates(joint: Joint) -> Iterator[dict[str, Any]]:
    if not joint.coordinates:
        yield {"kind": "fixed", **_ends(joint), **_pose_table(joint)[0]}
    yield {"kind": "free", "child": joint.child}
    yield {"kind": "free", "child": joint.child, "at": [c.default for c in joint.coordinates[:3]]}
    yield {"kind": "planar", **_ends(joint)}
    yield {"kind": "planar", **_ends(joint), **_planar_defaults(joint)}
    pose, motion = _pose_table(joint)
    placed = {**_ends(joint), **pose}
    turns = [step for step in joint.chain if isinstance(step, Rotate)]
    yield {"kind": "spherical", **placed}
    yield from _euler_candidate(joint, turns)
    if len(joint.coordinates) == 1:
        yield from _single_candidates(joint, placed, motion)
    if len(turns) >= 2:
        yield {"kind": "universal", **placed, "axes": turns[-2].axis + turns[-1].axis}
    if motion and isinstance(motion[0], Rotate):
        yield {"kind": "cylindrical", **placed, "axis": motion[0].axis}


def _planar_defaults(joint: Joint) -> dict[str, Any]:
    x, y, turn = (c.default for c in joint.coordinates) if len(joint.coordinates) == 3 else (0.0, 0.0, 0.0)
    return {"at": [x, y]} | ({"heading": turn} if turn else {})


def _euler_candidate(joint: Joint, turns: list[Rotate]) -> Iterator[dict[str, Any]]:
    order = "".join(step.axis for step in turns)
    table = {"kind": "free_euler", "child": joint.child, "order": order}
    yield table
    yield {**table, "angles": [coordinate.name for coordinate in joint.coordinates[3:]]}


def _single_candidates(joint: Joint, placed: dict[str, Any], motion: tuple[Displacement, ...]) -> Iterator[dict[str, Any]]:
    c = joint.coordinates[0]
    if not motion:
        return
    first = motion[0]
    options: dict[str, Any] = {} if c.rate == f"{c.name}_rate" else {"rate": c.rate}
    options |= {"default": c.default} if c.default else {}
    spanned = options | {"span": [c.low, c.high]}
    if isinstance(first, Rotate):
        letter = first.axis if first.angle == Name(c.name) else f"-{first.axis}"
        kept, axis = _tilted(placed, letter, motion) if len(motion) > 1 else (placed, letter)
        yield {"kind": "revolute", **kept, "axis": axis, **options}
        yield {"kind": "revolute", **kept, "axis": axis, **spanned}
        yield from ({"kind": "screw", **placed, "lead": plain(lead), "axis": first.axis} for lead in _leads(motion))
    if isinstance(first, Translate):
        direction = _direction(first, c.name)
        if direction is not None:
            yield {"kind": "prismatic", **placed, "axis": direction, **options}
            yield {"kind": "prismatic", **placed, "axis": direction, **spanned}


def _tilted(placed: dict[str, Any], letter: str, motion: tuple[Displacement, ...]) -> tuple[dict[str, Any], Any]:
    """The pose and axis of a rotation between constant ones that cancel: a rotation about an oblique axis."""
    orientation, count = placed.get("orientation", []), len(motion) - 1
    tilt = [(axis, angle) for turn in orientation[len(orientation) - count :] for axis, angle in turn.items()]
    if len(tilt) != count or any(isinstance(angle, str) for _, angle in tilt):
        return placed, letter
    size = -1.0 if letter[0] == "-" else 1.0
    vector = [size * (axis == letter[-1]) for axis in AXES]
    for axis, angle in reversed(tilt):
        j, k = ((AXES.index(axis) + n) % 3 for n in (1, 2))
        c, s = math.cos(angle), math.sin(angle)
        vector[j], vector[k] = c * vector[j] - s * vector[k], s * vector[j] + c * vector[k]
    rest = orientation[: len(orientation) - count]
    kept = {key: value for key, value in placed.items() if key != "orientation"}
    return {**kept, **({"orientation": rest} if rest else {})}, vector


def _direction(step: Translate, coordinate: str) -> Any:
    """The axis of a translation by a coordinate: a letter, or the factors of the coordinate."""
    factors: list[float] = []
    for component in step.by:
        factor = 1.0 if component == Name(coordinate) else -1.0 if component == -Name(coordinate) else None
        if isinstance(component, Number) and component.value == 0.0:
            factor = 0.0
        elif isinstance(component, Call) and component.function == "mul" and component.arguments[1] == Name(coordinate):
            factor = component.arguments[0].value if isinstance(component.arguments[0], Number) else None
        if factor is None:
            return None
        factors.append(factor)
    letters = [AXES[i] for i in range(3) if factors[i]]
    return letters[0] if len(letters) == 1 and max(factors) == 1.0 else factors


def _leads(motion: tuple[Displacement, ...]) -> Iterator[Expr]:
    """Candidates for the lead of a screw, whose advance is lead*angle/(2 pi)."""
    for step in motion[1:]:
        for component in step.by if isinstance(step, Translate) else ():
            if isinstance(component, Call) and isinstance(component.arguments[0], Call):
                yield component.arguments[0].arguments[0]


def _ends(joint: Joint) -> dict[str, Any]:
    return {"parent": joint.parent, "child": joint.child}


def _pose_table(joint: Joint) -> tuple[dict[str, Any], tuple[Displacement, ...]]:
    """The constant displacements before the motion as a table of position and orientation, and the rest of the chain."""
    own = {c.name for c in joint.coordinates}
    table: dict[str, Any] = {}
    chain = joint.chain
    if chain and isinstance(chain[0], Translate) and not own & frozenset().union(*map(names, chain[0].by)):
        table["at"] = [plain(c) for c in chain[0].by]
        chain = chain[1:]
    turns: list[Rotate] = []
    while chain and isinstance(chain[0], Rotate) and not own & names(chain[0].angle):
        turns.append(chain[0])
        chain = chain[1:]
    return (table | {"orientation": turns_table(turns)} if turns else table), chain


def _chain_table(joint: Joint) -> dict[str, Any]:
    return {
        **_ends(joint),
        "chain": [_displacement_table(step) for step in joint.chain],
        "coordinates": [
            {"name": c.name, "rate": c.rate, "unit": c.unit, "default": c.default, "span": [c.low, c.high]}
            for c in joint.coordinates
        ],
    }


def _displacement_table(step: Displacement) -> dict[str, Any]:
    if isinstance(step, Rotate):
        return {"rotate": step.axis, "angle": plain(step.angle)}
    if isinstance(step, Translate):
        return {"translate": [plain(c) for c in step.by]}
    if isinstance(step, Ball):
        return {"ball": {"quaternion": list(step.quaternion), "rates": list(step.rates)}}
    if isinstance(step, Glide):
        return {"glide": {"position": list(step.position), "heading": step.heading, "velocity": list(step.velocity)}}
    groups = {"position": step.position, "quaternion": step.quaternion, "velocity": step.velocity, "rates": step.rates}
    return {"float": {key: list(value) for key, value in groups.items()}}

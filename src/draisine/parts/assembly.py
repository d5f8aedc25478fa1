"""Parts: named assemblies that a function adds to a model; what all of these functions share.

A part is made by a function of this namespace from a model and a name, `swing_arm(model, "arm", "frame_pivot", mass=8)`:

- **Names.** Everything that the part "arm" adds begins with its name: the body `arm`, the coordinate `arm_angle`, the parameter
  `arm_mass`, the frame `arm_axle`. The record that is returned maps roles to names: `arm["axle"]` is "arm_axle".
- **Attachment.** A part is mounted on a frame, a point or a body of the model, by name or as an object. Frames that others
  mount on are ordinary points of the model.
- **Parameters.** A number or a text with a unit becomes a parameter of the model with unit and description; an expression of
  other parameters ("rear_radius + 0.3") a dependent one. What is exactly 0 is left out of the equations.
- **Positions** are design coordinates: x ahead of and z above the origin of the machine, y to the left, all coordinates of joints
  zero. They are converted to the axes of the body.

The model records the call, so that model files have a section `[parts]`, and a part can be exchanged for another one (`replace`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name, Number, did_you_mean
from draisine.expr.units import parse_unit
from draisine.parts.design_pose import ZERO, Pose, pose_of_point, turned
from draisine.parts.record import Part

if TYPE_CHECKING:
    from draisine.model.items import Body, Point
    from draisine.model.model import Model
    from draisine.model.quantities import Amount

    Mount: TypeAlias = "Part | Point | Body | str"  # what a part is mounted on
    Position = Sequence[Amount]  # (x, z) or (x, y, z) in design coordinates

Options = ParamSpec("Options")
ABOUT_NAMES = "The part gets its `name` in the `model`; what it adds has names that begin with it, except names that are given."


class Assembly:
    """What a function that makes a part works with: the model, and the names of the part."""

    def __init__(self, model: Model, name: str) -> None:
        self.model, self.name = model, name
        self.roles: dict[str, str] = {}
        self.left_out: dict[str, str] = {}  # units of parameters that are zero, by name

    def named(self, key: str) -> str:
        """The name of an item of the part."""
        return f"{self.name}_{key}"

    def parameter(self, key: str, value: Amount, unit: str = "", description: str = "", keep: bool = False) -> Expr:
        """A parameter of the part; or the number 0 where it is 0, unless it is to be kept for adjustment. A zero given as a
        text, "0 m^2", is kept too."""
        if isinstance(value, Expr) and not isinstance(value, Number):
            value = str(value)
        number = value.value if isinstance(value, Number) else value
        if isinstance(number, int | float) and not isinstance(number, bool) and number == 0 and not keep:
            self.left_out[self.named(key)] = unit
            return ZERO
        return self.model.parameter(self.named(key), number, unit, description)

    def offer(self, role: str, name: str) -> str:
        """A name that others may use, under a role."""
        self.roles[role] = name
        return name

    def input(self, role: str, name: str, unit: str, description: str) -> Expr:
        """An input of the model under a role; several parts may share it, if it has the same unit for all of them."""
        known = self.model._items["inputs"].get(name)
        if known is None:
            self.model.input(name, unit, description)
        elif parse_unit(known.unit) != parse_unit(unit):
            raise ModelError(
                f"part {self.name!r}: its input {name!r} ({description}) has the unit {unit or '1'!r}, but the model has one "
                f"of this name in {known.unit or '1'!r}; give another name, or both the same unit"
            )
        return Name(self.offer(role, name))

    def frame(self, role: str, body: str, at: Sequence[Amount], orientation: Sequence[tuple[str, Amount]] = ()) -> str:
        """A frame on which other parts are mounted."""
        self.model.frame(self.offer(role, self.named(role)), body, at, orientation)
        return self.named(role)

    def mount(self, on: Mount) -> Pose:
        """The frame on which the part is mounted, with its pose in the design position."""
        return pose_of_point(self.model, _name_of(on), f"part {self.name!r}")

    def position(self, key: str, given: Position, description: str = "") -> tuple[Expr, Expr, Expr]:
        """A position (x, z) or (x, y, z) in design coordinates, as parameters NAME_KEY_x, NAME_KEY_y, NAME_KEY_z."""
        if isinstance(given, str | Mapping) or not hasattr(given, "__len__") or len(given) not in (2, 3):
            raise ModelError(f"{key} of part {self.name!r}: give (x, z) or (x, y, z), such as (0.6, 0.45), got {given!r}")
        x, y, z = (given[0], 0.0, given[1]) if len(given) == 2 else given
        text = description or key.replace("_", " ")
        found = [
            self.parameter(f"{key}_{axis}", value, "m", f"{text}: {way}")
            for axis, value, way in (
                ("x", x, "ahead of the origin"),
                ("y", y, "to the left of the plane of symmetry"),
                ("z", z, "above the ground"),
            )
        ]
        return found[0], found[1], found[2]

    def inertia(self, given: Mapping[str, Amount] | Sequence[Amount], pitch: Expr = ZERO, of: str = "") -> dict[str, Expr]:
        """Moments of inertia as parameters NAME_ixx, …, given in design axes and converted to axes that are pitched to them; as
        NAME_OF_ixx, … those `of` a further body of the part."""
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise ModelError(f"inertia of part {self.name!r}: give (xx, yy, zz) or a table with xx, yy, zz, zx; got {given!r}")
        listed: Sequence[Any] = tuple(given.items()) if isinstance(given, Mapping) else tuple(given)
        if len(listed) == 3 and not isinstance(listed[0], tuple):
            listed = tuple(zip(("xx", "yy", "zz"), listed, strict=True))
        entries = dict(listed) if all(isinstance(entry, tuple) and len(entry) == 2 for entry in listed) else {}
        if not entries or not set(entries) <= {"xx", "yy", "zz", "xy", "yz", "zx"}:
            raise ModelError(f"inertia of part {self.name!r}: give (xx, yy, zz) or a table with xx, yy, zz, zx; got {given!r}")
        about = {"xx": "about x", "yy": "about y", "zz": "about z"}
        made = {
            key: self.parameter(
                f"{of}_i{key}" if of else f"i{key}",
                value,
                "kg*m^2",
                f"{about.get(key, 'product of inertia')}, at the center of mass",
            )
            for key, value in entries.items()
        }
        return turned(made, pitch)

    def part(self, function: Callable[..., Part], key: str, *args: Any, **options: Any) -> Part:
        """A part inside this one."""
        return function(self.model, self.named(key), *args, **options)


OWN_KINDS: dict[str, Callable[..., Part]] = {}  # parts that users describe, by the names of their functions


def part(
    function: Callable[Concatenate[Assembly, Options], None],
) -> Callable[Concatenate[Model, str, Options], Part]:
    """A function that makes a part, from one that describes it in an `Assembly`."""
    signature = inspect.signature(function)
    own = list(signature.parameters.values())[1:]
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
        for name, kind in (("model", "Model"), ("name", "str"))
    ]

    @functools.wraps(function)
    def make(model: Model, name: str, *args: Options.args, **options: Options.kwargs) -> Part:
        kind = function.__name__
        if not isinstance(name, str):
            raise ModelError(f"{kind}: the name of the part must be a text, got {name!r}")
        for key in options:
            if key not in signature.parameters:
                raise ModelError(f"part {name!r}: {kind} has no option {key!r}{did_you_mean(key, [p.name for p in own])}")
        try:
            bound = signature.bind(None, *args, **options)
        except TypeError as problem:
            raise ModelError(f"part {name!r}: {kind}: {problem}") from None
        given = {
            key: _plain(value)
            for key, value in list(bound.arguments.items())[1:]
            if value is not None or signature.parameters[key].default is not None  # an option that is none is one not given
        }
        before = {kind: dict(items) for kind, items in model._items.items()}
        try:
            assembly = Assembly(model, name)
            function(assembly, **given)  # type: ignore[call-arg]
            return _recorded(model, kind, assembly, given, before)
        except Exception:
            model._items = before
            raise

    make.__signature__ = signature.replace(parameters=[*first, *own], return_annotation=Part)  # type: ignore[attr-defined]
    make.__doc__ = f"{inspect.getdoc(function) or ''}\n\n{ABOUT_NAMES}"
    make.makes_part = True  # type: ignore[attr-defined]
    if not function.__module__.startswith("draisine."):
        OWN_KINDS[function.__name__] = make
    return make  # type: ignore[return-value]  # with names of the first two arguments, model and name


def _recorded(
    model: Model, kind: str, assembly: Assembly, given: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]]
) -> Part:
    """The record of a part, which the model keeps; parts that were made meanwhile belong to it."""
    made = tuple((k, n) for k, items in model._items.items() if k != "parts" for n in items if n not in before[k])
    inner = model._items["parts"]
    for name in [n for n in inner if n not in before["parts"] and not inner[n].within]:
        inner[name] = replace(inner[name], within=assembly.name)
    record = Part(
        assembly.name, kind, tuple(given.items()), tuple(assembly.roles.items()), made, left_out=tuple(assembly.left_out.items())
    )
    return model._add("parts", record)


def _name_of(item: Any) -> str:
    name = item if isinstance(item, str) else getattr(item, "name", None)
    if not isinstance(name, str):
        raise ModelError(f"expected the name of a frame, point or body, or the object that its method returned, got {item!r}")
    return name


def _plain(value: Any) -> Any:
    """An option as it is recorded: items by name, lists as tuples, tables as tuples of pairs."""
    if isinstance(value, Mapping):
        return tuple((str(key), _plain(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return _plain(value.tolist())
    named = getattr(value, "name", None)
    if isinstance(named, str) and not isinstance(value, Expr | Name):
        return named
    return value


def pairs(given: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The entries of a table, as it is given or as it is recorded."""
    entries = tuple(given.items()) if isinstance(given, Mapping) else tuple(given) if isinstance(given, Iterable) else (given,)
    if any(not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[0], str) for entry in entries):
        raise ModelError(f"{where}: give a table such as {{'saddle': (0.4, 0.9)}}, got {given!r}")
    yield from entries

"""Shapes of bodies for drawing: boxes, spheres, ellipsoids, tubes, wheels, solids of revolution, prisms, stadium solids, meshes.

A shape has no mass and does not affect the equations. In Python and in model files it is a table:

    [bodies.frame]
    mass = 12
    shapes = [
        { kind = "box", size = [0.6, 0.05, "height"], at = [0.3, 0, 0.5], color = "#0072B2" },
        { kind = "mesh", file = "frame.stl", scale = 0.001 },
    ]

Lengths are amounts in the axes of the body: numbers in meters, texts with a unit, expressions of parameters. Mesh files are
given relative to the model file and must lie in its folder or below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number
from draisine.model.quantities import Entry, amount_in

Vector = tuple[Expr, Expr, Expr]
Turns = tuple[tuple[str, Expr], ...]  # successive rotations: axis and angle

MESHES = (".stl", ".obj", ".dae", ".glb", ".gltf")
MAX_BYTES = 64 * 2**20  # of a mesh file
_ONE = Number(1.0)
_ORIGIN: Vector = (Number(0.0), Number(0.0), Number(0.0))
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, kw_only=True)
class _Placed:
    at: Vector = _ORIGIN
    orientation: Turns = ()
    color: str = ""  # "" is the color of the body


@dataclass(frozen=True, kw_only=True)
class Box(_Placed):
    """A cuboid with edges along the axes, centered at `at`."""

    size: Vector


@dataclass(frozen=True, kw_only=True)
class Sphere(_Placed):
    radius: Expr


@dataclass(frozen=True, kw_only=True)
class Ellipsoid(_Placed):
    """An ellipsoid with its axes, of the whole lengths `size`, along those of the body, centered at `at`."""

    size: Vector


@dataclass(frozen=True, kw_only=True)
class Cylinder(_Placed):
    """A cylinder, centered at `at`."""

    radius: Expr
    length: Expr
    axis: str = "y"


@dataclass(frozen=True, kw_only=True)
class Tube(_Placed):
    """A round tube along a polyline."""

    path: tuple[Vector, ...]
    radius: Expr


@dataclass(frozen=True, kw_only=True)
class Wheel(_Placed):
    """A wheel with tire, rim and spokes; `radius` is that of the center line of the tire, `tube` that of its cross section."""

    radius: Expr
    tube: Expr
    axis: str = "y"


@dataclass(frozen=True, kw_only=True)
class Revolved(_Placed):
    """A solid of revolution: `profile` has positions along the axis and the radius at each."""

    profile: tuple[tuple[Expr, Expr], ...]
    axis: str = "y"


@dataclass(frozen=True, kw_only=True)
class Prism(_Placed):
    """A convex profile extruded along an axis; its points are in the two following axes: y, z for x."""

    profile: tuple[tuple[Expr, Expr], ...]
    length: Expr
    axis: str = "x"


@dataclass(frozen=True, kw_only=True)
class Stadium(_Placed):
    """A solid through stadiums, such as a trunk: `levels` have the position along the axis, the radius of the half disks and the
    half length between their centers, which is along the second following axis: y for z."""

    levels: tuple[tuple[Expr, Expr, Expr], ...]
    axis: str = "z"


@dataclass(frozen=True, kw_only=True)
class MeshFile(_Placed):
    """A triangle mesh from an STL, OBJ, Collada or glTF file. `folder` is that of the model file; it is not written to files."""

    file: str
    scale: Expr = _ONE
    folder: str = ""

    @property
    def full_path(self) -> Path:
        return Path(self.folder) / self.file


BodyShape = Box | Sphere | Ellipsoid | Cylinder | Tube | Wheel | Revolved | Prism | Stadium | MeshFile
SHAPES: dict[str, type[Any]] = {
    "box": Box,
    "sphere": Sphere,
    "ellipsoid": Ellipsoid,
    "cylinder": Cylinder,
    "tube": Tube,
    "wheel": Wheel,
    "revolved": Revolved,
    "prism": Prism,
    "stadium": Stadium,
    "mesh": MeshFile,
}
Given = Mapping[str, Any] | BodyShape


# -------------------------------------------------------------------- reading


def shapes_of(given: Sequence[Given], where: str, folder: str = "") -> tuple[BodyShape, ...]:
    """Shapes from tables, as in Python and model files; mesh files are relative to `folder`."""
    if isinstance(given, Mapping) or not isinstance(given, Sequence):
        raise ModelError(f"shapes of {where}: give a list of tables, such as [{{kind = 'sphere', radius = 0.1}}]")
    return tuple(_shape(item, f"shape {k + 1} of {where}", folder) for k, item in enumerate(given))


def _shape(item: Given, where: str, folder: str) -> BodyShape:
    if isinstance(item, BodyShape):
        return item
    entry = Entry.of(where, _plain_data(item))
    shape_type = SHAPES[entry.text("kind", None, tuple(SHAPES))]
    known = {f.name: f for f in fields(shape_type) if f.name in _READERS}
    entry.only("kind", *known)
    missing = [name for name, f in known.items() if f.default is MISSING and not entry.has(name)]
    if missing:
        raise ModelError(f"{where}: a {entry.text('kind')} needs {missing[0]!r}")
    values = {name: _READERS[name](entry, name) for name in known if entry.has(name)}
    if shape_type is MeshFile:
        _check_file(values["file"], folder, where)
        values["folder"] = folder
    found: BodyShape = shape_type(**values)
    return found


def _plain_data(value: Any) -> Any:
    """Expressions as texts and tuples as lists, as model files have them."""
    if isinstance(value, Mapping):
        return {key: _plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_data(item) for item in value]
    return _plain(value) if isinstance(value, Expr) else value


def _length(entry: Entry, key: str) -> Expr:
    return amount_in(entry.amount(key), "m", f"{key} of {entry.where}")


def _vector(entry: Entry, key: str) -> Vector:
    x, y, z = (amount_in(c, "m", f"{key} of {entry.where}") for c in entry.vector(key))
    return x, y, z


def _rows(entry: Entry, key: str, count: int, least: int) -> tuple[Any, ...]:
    rows = entry.items(key)
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != count:
            raise ModelError(f"{entry.where}: each point of {key!r} has {count} amounts, got {row!r}")
    if len(rows) < least:
        raise ModelError(f"{entry.where}: {key!r} needs at least {least} points, got {len(rows)}")
    return tuple(tuple(amount_in(c, "m", f"{key} of {entry.where}") for c in row) for row in rows)


def _turns(entry: Entry, key: str) -> Turns:
    found = []
    for item in entry.items(key):
        turn = Entry.of(f"a rotation of {entry.where}", item).only("x", "y", "z")
        if len(turn.table) != 1:
            raise ModelError(f"{turn.where}: give one axis with its angle, such as {{ y = 0.3 }}")
        found += [(axis, amount_in(turn.amount(axis), "rad", f"angle of {turn.where}")) for axis in turn.table]
    return tuple(found)


def _color(entry: Entry, key: str) -> str:
    text = entry.text(key)
    if text and not _COLOR.fullmatch(text):
        raise ModelError(f"{entry.where}: {text!r} is not a color; write it as #rrggbb, such as '#0072B2'")
    return text


# readers of the fields
_READERS: dict[str, Callable[[Entry, str], Any]] = {
    **dict.fromkeys(("radius", "length", "tube"), _length),
    **dict.fromkeys(("at", "size"), _vector),
    "scale": lambda entry, key: amount_in(entry.amount(key), None, f"{key} of {entry.where}"),
    "path": lambda entry, key: _rows(entry, key, 3, 2),
    "profile": lambda entry, key: _rows(entry, key, 2, 2),
    "levels": lambda entry, key: _rows(entry, key, 3, 2),
    "orientation": _turns,
    "axis": lambda entry, key: entry.text(key, None, ("x", "y", "z")),
    "color": _color,
    "file": lambda entry, key: entry.text(key),
}


def _check_file(file: str, folder: str, where: str) -> None:
    """A mesh file must lie in the folder of the model file or below, links resolved, and must not be too large."""
    given = PurePosixPath(file.replace("\\", "/"))
    if given.suffix.lower() not in MESHES:
        raise ModelError(f"{where}: {file!r} is not a supported mesh file; the suffix must be one of {', '.join(MESHES)}")
    if not folder:
        return  # given in Python: any file is allowed
    if given.is_absolute() or re.match(r"[A-Za-z]:", file) or ".." in given.parts:
        raise ModelError(f"{where}: the file {file!r} is outside of the folder of the model file; move it there or below")
    home = Path(folder).resolve()
    path = (home / file).resolve()
    if not path.is_relative_to(home):
        raise ModelError(f"{where}: the file {file!r} links to outside of the folder of the model file; move it there or below")
    if not path.is_file():
        raise ModelError(f"{where}: there is no file {file!r} in {str(home)!r}")
    if path.stat().st_size > MAX_BYTES:
        raise ModelError(f"{where}: {file!r} has {path.stat().st_size} bytes, more than {MAX_BYTES}; simplify the mesh")


# -------------------------------------------------------------------- writing


def shape_table(shape: BodyShape, target: Path | None = None) -> dict[str, Any]:
    """The table of a shape for a model file in the folder `target`."""
    kind = next(name for name, kind in SHAPES.items() if type(shape) is kind)
    table: dict[str, Any] = {"kind": kind}
    for f in fields(shape):
        value = getattr(shape, f.name)
        if f.name in _READERS and (f.default is MISSING or value != f.default):
            table[f.name] = [{axis: _plain(angle)} for axis, angle in value] if f.name == "orientation" else _plain(value)
    if isinstance(shape, MeshFile) and target is not None:
        path, home = shape.full_path.resolve(), target.resolve()
        if not path.is_relative_to(home):
            raise ModelError(
                f"the mesh file {str(path)!r} is not in the folder of the model file, {str(home)!r}; copy it there first"
            )
        table["file"] = path.relative_to(home).as_posix()
    return table


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Number) else value if isinstance(value, str) else str(value)

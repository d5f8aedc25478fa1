"""Parts in model files: the section `[parts]`.

    [parts.fork]
    kind = "telescopic_fork"
    on = "frame_head"
    stiffness = "9 kN/m"

Options are those of the functions of `draisine.parts`; frames, bodies and inputs are given by name, contact laws as in wheels. A
part that was changed after it was made is written as the items that it consists of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.model.contact.laws import TangentialLaw
from draisine.model.file_joints import plain
from draisine.model.file_laws import law_of, law_table
from draisine.model.model import Model
from draisine.model.quantities import Entry
from draisine.model.system import System
from draisine.parts.catalog import maker, split
from draisine.parts.record import Part


def read_part(model: Model, name: str, entry: Entry) -> None:
    """Make the part that a table describes."""
    function = maker(entry.text("kind"), entry.where)
    options = {key: value for key, value in entry.table.items() if key != "kind"}
    for key in ("model", "name"):
        if key in options:
            raise ModelError(f"{entry.where}: a part has no option {key!r}; its name is that of its table, {name!r}")
    if isinstance(options.get("tire"), dict):
        options["tire"] = law_of(entry.entry("tire"))
    for key, value in options.items():
        _check(value, key, entry.where)
    function(model, name, **options)


def _check(value: Any, key: str, where: str) -> None:
    if isinstance(value, dict):
        for inner, item in value.items():
            _check(item, f"{key}.{inner}", where)
    elif isinstance(value, list):
        for item in value:
            _check(item, key, where)
    elif not isinstance(value, str | bool | int | float | TangentialLaw):
        raise ModelError(f"{where}: {key!r} must be a number, a text, a list or a table, got {value!r}")


def parts_and_rest(system: System) -> tuple[dict[str, dict[str, Any]], System]:
    """The tables of the parts, and the system without what they make."""
    if not system.parts:
        return {}, system
    model, kept = split(system, Model)
    rest = {kind: tuple(items.values()) for kind, items in model._items.items()}
    left: dict[str, Any] = {kind: rest[kind] for kind in rest if rest[kind] != getattr(system, kind)}
    return {part.name: _table(part) for part in kept}, replace(system, **left)


def _table(part: Part) -> dict[str, Any]:
    return {"kind": part.kind, **{key: _value(value) for key, value in part.options if value is not None}}


def _value(value: Any) -> Any:
    if isinstance(value, Expr):
        return plain(value)
    if isinstance(value, TangentialLaw):
        return law_table(value)
    if isinstance(value, tuple):
        if value and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in value):
            return {key: _value(item) for key, item in value}
        return ["none" if item is None else _value(item) for item in value]
    return value

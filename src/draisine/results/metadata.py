"""Metadata of trajectory files as JSON: writing, reading and checking."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from draisine.errors import ArgumentError, DataError
from draisine.results.channel import Channel
from draisine.results.checksum import UNSEALED

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

FORMAT = 2
MAX_CHARACTERS = 16 * 2**20  # of metadata, whose only large part are shapes for drawing

T = TypeVar("T")


def most_bytes(limit: int) -> int:
    """The largest size of a file with `limit` numbers, each of at most 40 characters."""
    return 40 * limit + 16 * MAX_CHARACTERS


def describe(run: Trajectory) -> dict[str, Any]:
    """The metadata of a run as plain data."""
    rare: dict[str, Any] = {"modes": run.modes.described()} if run.modes.contacts else {}
    rare |= {"switches": [{"name": name, "time": time} for name, time in run.switches]} if run.switches else {}
    rare |= {"control_changes": list(run.control_changes)} if run.control_changes else {}
    return {
        "draisine": FORMAT,
        "checksum": UNSEALED,
        "model": run.model,
        "status": {"kind": str(run.status.kind), "message": run.status.message, "warnings": list(run.status.warnings)},
        "events": [{"name": name, "time": time} for name, time in run.events],
        "segments": [segment._asdict() for segment in run.segments],
        "statistics": run.statistics._asdict(),
        "seconds": dict(run.seconds),
        "parameters": dict(run.parameters),
        "channels": [{key: value for key, value in asdict(channel).items() if value} for channel in run.channels],
        "scene": dict(run.scene),
        **rare,
    }


def encode(value: object, what: str = "metadata") -> str:
    """One line of JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"the {what} of the trajectory cannot be stored as JSON ({error}); use numbers, texts, lists and dicts"
        ) from None
    if len(text) > MAX_CHARACTERS:
        raise ArgumentError(
            f"the {what} of the trajectory has {len(text)} characters, more than {MAX_CHARACTERS}; keep meshes in files"
        )
    return text


def decode(text: object, what: str = "metadata") -> Any:
    """The value of a line of JSON from an untrusted file."""
    if not isinstance(text, str):
        raise DataError(f"the {what} should be text, got {type(text).__name__}")
    if len(text) > MAX_CHARACTERS:
        raise DataError(f"the {what} has {len(text)} characters; the limit is {MAX_CHARACTERS}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"the {what} is not JSON ({error})") from None


def check_columns(metadata: Any, found: list[str]) -> None:
    """Check that the columns of a file are `time` and the channels of the metadata, in order."""
    expected = ["time", *(channel.name for channel in channels_in(metadata))]
    if found == expected:
        return
    missing = [name for name in expected if name not in found]
    unexpected = [name for name in found if name not in expected]
    parts = [f"missing {', '.join(missing[:5])}"] * bool(missing) + [f"not in the metadata: {', '.join(unexpected[:5])}"] * bool(
        unexpected
    )
    raise DataError(f"the columns do not fit the metadata ({'; '.join(parts) or 'their order or number differs'})")


def check_format(metadata: Any) -> None:
    found = _entry(metadata, "draisine", (int,))
    if found != FORMAT:
        raise DataError(f"it has trajectory format {found}; this version of draisine reads format {FORMAT}")


def channels_in(metadata: Any) -> tuple[Channel, ...]:
    def channel(entry: Any) -> Channel:
        name = text_at(entry, "name")
        rest = {key: text_at(entry, key) for key in ("unit", "group", "description", "kind", "level") if key in entry}
        try:
            return Channel(name, **rest)  # type: ignore[arg-type]  # Channel converts the name of the group
        except ValueError as error:
            raise DataError(str(error)) from None

    return tuple(channel(entry) for entry in list_at(metadata, "channels"))


def _entry(where: Any, key: str, kinds: tuple[type, ...]) -> Any:
    if not isinstance(where, dict):
        raise DataError(f"the metadata should have an object with {key!r}, got {shortened(where)}")
    if key not in where:
        raise DataError(f"the metadata lacks {key!r}")
    value = where[key]
    if not isinstance(value, kinds) or isinstance(value, bool):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise DataError(f"{key!r} in the metadata should be {expected}, got {shortened(value)}")
    return value


def text_at(where: Any, key: str) -> str:
    return str(_entry(where, key, (str,)))


def number_at(where: Any, key: str) -> float:
    return float(_entry(where, key, (int, float)))


def integer_at(where: Any, key: str) -> int:
    return int(_entry(where, key, (int,)))


def list_at(where: Any, key: str) -> list[Any]:
    return list(_entry(where, key, (list,)))


def object_at(where: Any, key: str) -> dict[str, Any]:
    return dict(_entry(where, key, (dict,)))


def numbers_at(where: Any, key: str) -> dict[str, float]:
    table = object_at(where, key)
    return {name: number_at(table, name) for name in table}


def checked(kind: type[T], value: Any, what: str) -> T:
    if not isinstance(value, kind):
        raise DataError(f"{what} in the metadata should be {kind.__name__}, got {shortened(value)}")
    return value


def shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"

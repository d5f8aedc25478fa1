"""Equations of described mechanisms, kept on disk: a second process neither derives them nor imports CasADi.

What is kept is the portable form of the equations (`program.portable`), in the cache of compiled code: private, checked, bounded
in size, and moved into place as a whole. It is found by everything that the equations depend on: the description with all its
expressions and numbers, laws, events, and the source files that derive.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from draisine.codegen.cache import cached_object
from draisine.errors import DataError
from draisine.expr.expression import Expr
from draisine.model.items import System
from draisine.program.equations import Equations, Event, check_events
from draisine.program.serialization import from_bytes, to_bytes

_MAKERS = ("program", "model", "equations")  # folders whose source decides what the equations are
_MOST = 200_000  # operations; writing down longer equations takes longer than it is worth


def derived(
    system: System, laws: Mapping[str, Expr] | None = None, events: tuple[Event, ...] = (), work: bool | None = None
) -> Equations:
    """As `derive`, from the disk if these equations were derived before.

    >>> from draisine import gallery
    >>> bicycle = gallery.bicycle().freeze()
    >>> derived(bicycle).dynamics.digest == derived(bicycle, work=False).dynamics.digest
    True
    """
    check_events(events)
    return _derived(system, tuple(sorted((laws or {}).items())), tuple(events), work)


@lru_cache(maxsize=32)
def _derived(system: System, laws: tuple[tuple[str, Expr], ...], events: tuple[Event, ...], work: bool | None) -> Equations:
    made: list[Equations] = []

    def make() -> Equations:
        from draisine.dynamics.derive import derive

        if not made:
            made.append(derive(system, dict(laws), events, work))
        return made[0]

    def portable() -> bytes:
        if _length(make()) > _MOST:
            raise _NotKept
        return to_bytes(make())

    try:
        stored = cached_object(f"equations; {_sources()}; {_reported(system, laws, events, work)}", portable)
    except _NotKept:
        return make()
    if made:
        return made[0]
    try:
        found: Equations = from_bytes(stored)
    except DataError:  # sound, yet not ours: made by sources that differ without a trace
        return make()
    return replace(found, with_independent=_later(make)) if found.alternates else found


class _NotKept(Exception):
    """Equations that are not worth keeping, or whose description cannot be told exactly."""


def _later(make: Callable[[], Equations]) -> Callable[[tuple[str, ...]], Equations]:
    """Other choices of velocities, derived when a run needs them."""

    def choose(choice: tuple[str, ...]) -> Equations:
        again = make().with_independent
        assert again is not None, "equations with alternates can be made with them"
        return again(choice)

    return choose


def _length(equations: Equations) -> int:
    programs = (equations.dynamics, equations.report, equations.motion, equations.project, equations.inverse_dynamics)
    return sum(program.operations for program in programs if program is not None)


# ------------------------------------------------------------------------------------------------------------ the key


def _reported(*parts: Any) -> str:
    """A fingerprint of descriptions: every class, name and number, exactly."""
    sha = hashlib.sha256()
    _write(parts, sha.update)
    return sha.hexdigest()


def _write(value: Any, put: Callable[[bytes], None]) -> None:
    if isinstance(value, Expr):
        put(f"expression {value}\n".encode())  # parses back to an equal expression
    elif isinstance(value, Enum) or value is None or isinstance(value, bool | int | float | str):
        put(f"{type(value).__name__} {value!r}\n".encode())
    elif isinstance(value, np.ndarray):
        put(f"array {value.dtype.str} {value.shape}\n".encode())
        put(value.tobytes())
    elif isinstance(value, np.generic):
        _write(value.item(), put)
    elif isinstance(value, tuple | list):
        put(f"{len(value)} of\n".encode())
        for part in value:
            _write(part, put)
    elif isinstance(value, Mapping):
        _write(tuple(value.items()), put)
    elif is_dataclass(value):
        put(f"{type(value).__qualname__}\n".encode())
        for field in fields(value):
            _write(getattr(value, field.name), put)
    else:
        raise _NotKept


@cache
def _sources() -> str:
    """A fingerprint of the source files, and of CasADi, whose text of programs is stored: by names, sizes and times, unread."""
    here = Path(__file__).parent
    casadi = find_spec("casadi")
    reported = os.stat(casadi.origin) if casadi is not None and casadi.origin is not None else None
    sha = hashlib.sha256(b"" if reported is None else f"casadi {reported.st_size} {reported.st_mtime_ns}\n".encode())
    for folder in _MAKERS:
        for place, inner, files in os.walk(here / folder):
            inner.sort()
            for name in sorted(files):
                if name.endswith(".py"):
                    status = os.stat(os.path.join(place, name))
                    sha.update(f"{folder} {name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return sha.hexdigest()

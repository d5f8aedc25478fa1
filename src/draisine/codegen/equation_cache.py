"""Cache of equations on disk: a second process neither derives them nor imports CasADi.

The serialized equations (`program.serialization`) are stored in the cache of compiled code. Their key covers everything they
depend on: the model with all its expressions and numbers, laws, events, and the contents of the source files that derive.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from draisine.codegen.cache import cached_object, contents_digest, is_stored, without_collection
from draisine.codegen.jit.beside import compiler_beside
from draisine.errors import DataError
from draisine.expr.expression import Expr
from draisine.model.system import System
from draisine.program.digest import digest_of
from draisine.program.equations import Equations, Event, check_events
from draisine.program.serialization import from_bytes, to_bytes

_SOURCES = ("dynamics", "expr", "model", "numerics", "parts", "program")  # folders whose source files determine the equations
_MOST = 200_000  # operations; longer equations take longer to serialize than to derive


def derive_cached(
    system: System, laws: Mapping[str, Expr] | None = None, events: tuple[Event, ...] = (), work: bool | None = None
) -> Equations:
    """As `derive`, from the disk if these equations were derived before.

    >>> from draisine import gallery
    >>> bicycle = gallery.bicycle().freeze()
    >>> derive_cached(bicycle).dynamics.digest == derive_cached(bicycle, work=False).dynamics.digest
    True
    """
    check_events(events)
    return _derive_cached(system, tuple(sorted((laws or {}).items())), tuple(events), work)


def is_known(system: System, laws: Mapping[str, Expr], events: tuple[Event, ...], work: bool | None = None) -> bool:
    """Whether `derive_cached` finds these equations on disk."""
    try:
        return is_stored(_key(system, tuple(sorted(laws.items())), tuple(events), work))
    except _NotStored:
        return False


@lru_cache(maxsize=32)
def _key(system: System, laws: tuple[tuple[str, Expr], ...], events: tuple[Event, ...], work: bool | None) -> str:
    return f"equations; {_source_key()}; {_model_digest(system, laws, events, work)}"


@lru_cache(maxsize=32)
def _derive_cached(system: System, laws: tuple[tuple[str, Expr], ...], events: tuple[Event, ...], work: bool | None) -> Equations:
    @cache
    def derived() -> Equations:
        from draisine.dynamics.derive import derive  # imports CasADi, which a stored model does not need

        return derive(system, dict(laws), events, work)

    def serialized() -> bytes:
        if _length(derived()) > _MOST:
            raise _NotStored
        return to_bytes(derived())

    try:
        key, beside = _key(system, laws, events, work), compiler_beside()
        if beside is not None and not is_stored(key):
            _ = without_collection(derived)
            beside.meanwhile(lambda: _store(key, serialized))
            return derived()
        stored = cached_object(key, serialized)
    except _NotStored:
        return derived()
    if derived.cache_info().currsize:
        return derived()
    try:
        loaded: Equations = from_bytes(stored)
    except DataError:  # a valid file of an incompatible version
        return derived()
    return replace(loaded, with_independent=_other_velocities(derived)) if loaded.alternates else loaded


def _store(key: str, serialized: Callable[[], bytes]) -> None:
    with suppress(_NotStored):
        cached_object(key, serialized)


class _NotStored(Exception):
    """Equations that are too long to store, or whose model has no exact digest."""


def _other_velocities(derived: Callable[[], Equations]) -> Callable[[tuple[str, ...]], Equations]:
    """Other choices of independent velocities, derived when a run needs them."""

    def choose(choice: tuple[str, ...]) -> Equations:
        with_independent = derived().with_independent
        assert with_independent is not None, "equations with alternates have it"
        return with_independent(choice)

    return choose


def _length(equations: Equations) -> int:
    programs = (equations.dynamics, equations.report, equations.motion, equations.project, equations.inverse_dynamics)
    return sum(program.operations for program in programs if program is not None)


# ------------------------------------------------------------------------------------------------------------ the key


def _model_digest(*parts: Any) -> str:
    """A hash of model descriptions: every class, name and number, exactly."""
    digested = digest_of()
    _write(parts, digested.update)
    return digested.hexdigest()


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
        put(f"{type(value).__qualname__ if hasattr(value, '_fields') else len(value)} of\n".encode())
        for part in value:
            _write(part, put)
    elif isinstance(value, Mapping):
        _write(tuple(value.items()), put)
    elif is_dataclass(value):
        put(f"{type(value).__qualname__}\n".encode())
        for field in fields(value):
            _write(getattr(value, field.name), put)
    else:
        raise _NotStored


@cache
def _source_key() -> str:
    """A digest of what derives: the source files of this package and the version of CasADi, whose text of programs is stored."""
    return f"{source_digest(Path(__file__).parents[1])}; {_casadi()}"


def source_digest(package: Path) -> str:
    """A digest of the contents of the source files that decide what equations are; a copy of them elsewhere has the same."""
    found: list[str] = []
    for folder in _SOURCES:
        for directory, inner, files in os.walk(package / folder):
            inner[:] = sorted(name for name in inner if name != "__pycache__")
            found += [os.path.join(directory, name) for name in sorted(files) if name.endswith(".py")]
    return contents_digest(found)


def _casadi() -> str:
    """The version of CasADi, by the name of its metadata folder: neither CasADi nor `importlib.metadata` is imported."""
    found = find_spec("casadi")
    if found is None or found.origin is None:
        return "no casadi"
    package = Path(found.origin).parent
    named = sorted(name for name in os.listdir(package.parent) if name.startswith("casadi-"))
    return f"{' '.join(named)} {digest_of(Path(found.origin).read_bytes()).hexdigest()}"

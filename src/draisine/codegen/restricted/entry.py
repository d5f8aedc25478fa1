"""Restricted functions as machine code: compiled once per machine, then loaded from disk by the contents of their sources."""

from __future__ import annotations

import ctypes
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.restricted.record import Record

SYMBOL = "draisine_entry"
_ROOT = Path(__file__).parents[2]
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # it lets go of the interpreter's lock during the call


@dataclass(frozen=True, eq=False)
class Code:
    """A compiled function of one record that returns an integer."""

    loaded: LoadedObject
    _call: Callable[[int], int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_call", _CALL(self.loaded.address))

    def __call__(self, record: Record) -> int:
        return self._call(ctypes.addressof(record))


@dataclass(frozen=True, eq=False)
class Entry:
    """A function of one record, by its module and name, and the modules whose sources decide its machine code.

    The sources are read, and not imported, to see whether the code on disk is still theirs; that they are all is checked when it
    is compiled. `fixed`: see `unit.Options`.
    """

    module: str
    function: str
    sources: tuple[str, ...]
    fixed: Mapping[tuple[type[Any], str], int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """All that the machine code depends on."""
        fixed = ", ".join(f"{record.__name__}.{name} = {value}" for (record, name), value in self.fixed.items())
        return f"{self.module}.{self.function}; {fixed}; {digest((self.module, *self.sources))}; {host_key()}"

    def load(self) -> Code:
        """The machine code, from disk if this machine has compiled it before."""
        return Code(load_object(cached_object(self.key, self.compile), SYMBOL))

    def compile(self) -> bytes:
        """Object code with the one symbol `SYMBOL`."""
        from draisine.codegen.restricted.function import parameter_types, translate
        from draisine.codegen.restricted.unit import Options

        logging.getLogger("draisine").info("compiling %s.%s: once on this machine …", self.module, self.function)
        function = getattr(import_module(self.module), self.function)
        made = translate({SYMBOL: (function, parameter_types(function))}, Options(self.fixed))
        check_sources(f"{self.module}.{self.function}", made.modules, (self.module, *self.sources))
        # Higher levels, and more of each function repeated where it is called, take twice as long and run no quicker.
        return compile_ir(made.text, passes=1, inlining=50)


def check_sources(name: str, needed: frozenset[str], given: tuple[str, ...]) -> None:
    """Refuse code that depends on sources that its key does not know."""
    missing = {module for module in needed - set(given) if not module.startswith(f"{__package__}.")}
    if missing:
        raise RuntimeError(f"the code of {name} also depends on {', '.join(sorted(missing))}; name them among its sources")


@cache
def digest(modules: tuple[str, ...]) -> str:
    """Of the contents of modules, and of what translates them."""
    sha = hashlib.sha256()
    files = [*sorted(Path(__file__).parent.glob("*.py")), _ROOT / "codegen" / "jit" / "engine.py"]
    for file in (*files, *(source_file(module) for module in modules)):
        sha.update(file.read_bytes())
    return sha.hexdigest()


def source_file(module: str) -> Path:
    """The file of a module of this package."""
    return _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")

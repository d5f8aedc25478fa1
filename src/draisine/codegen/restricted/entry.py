"""Entry points: restricted functions as machine code, compiled once per machine, found on disk by a hash of their sources."""

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
from draisine.codegen.restricted.types import Options, Record, Type

SYMBOL = "draisine_entry"
_ROOT = Path(__file__).parents[2]
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # releases the interpreter's lock during the call


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
    """A function of one record, by its module and name, and the modules whose sources determine its machine code.

    The sources are hashed, not imported, to find the code on disk; that the list is complete is checked when it is compiled.
    `fixed`: see `types.Options`; `passes`: LLVM's level, see `compile_ir`.
    """

    module: str
    function: str
    sources: tuple[str, ...]
    fixed: Mapping[tuple[type[Any], str], int] = field(default_factory=dict)
    passes: int = 1  # higher levels take twice as long to compile, and are no faster where loops are short

    @property
    def key(self) -> str:
        """The key of the machine code in the cache: everything that it depends on."""
        fixed = ", ".join(f"{record.__name__}.{name} = {value}" for (record, name), value in self.fixed.items())
        return (
            f"{self.module}.{self.function}; {fixed}; passes {self.passes}; {digest((self.module, *self.sources))}; {host_key()}"
        )

    def load(self) -> Code:
        """The machine code, from disk if this machine has compiled it before."""
        return Code(load_object(cached_object(self.key, self.compile), SYMBOL))

    def compile(self) -> bytes:
        """Object code with the one symbol `SYMBOL`."""
        logging.getLogger("draisine").info("compiling %s.%s: once on this machine …", self.module, self.function)
        function = getattr(import_module(self.module), self.function)
        name, sources = f"{self.module}.{self.function}", (self.module, *self.sources)
        # More inlining takes twice as long to compile and gives no faster code.
        return compile_functions(name, {SYMBOL: function}, sources, fixed=self.fixed, passes=self.passes, inlining=50)


def compile_functions(
    name: str,
    functions: Mapping[str, Callable[..., Any]],
    sources: tuple[str, ...],
    types: Mapping[str, Type] | None = None,
    fixed: Mapping[tuple[type[Any], str], int] | None = None,
    contract: bool = False,
    distinct: bool = False,
    passes: int = 2,
    inlining: int = 225,
) -> bytes:
    """Object code of functions by symbols; `types` replace annotations, `fixed`, `contract`, `distinct`: `types.Options`."""
    # imported here: the translator is not needed when the cache has the code
    from draisine.codegen.restricted.function import parameter_types, translate

    entries = {symbol: (function, parameter_types(function, types)) for symbol, function in functions.items()}
    translation = translate(entries, Options(fixed or {}, contract, distinct))
    check_sources(name, translation.modules, sources)
    return compile_ir(translation.text, passes=passes, inlining=inlining)


def check_sources(name: str, needed: frozenset[str], given: tuple[str, ...]) -> None:
    """Raise RuntimeError if code depends on sources that its key leaves out."""
    missing = {module for module in needed - set(given) if not module.startswith(f"{__package__}.")}
    if missing:
        raise RuntimeError(f"the code of {name} also depends on {', '.join(sorted(missing))}; name them among its sources")


@cache
def digest(modules: tuple[str, ...]) -> str:
    """A hash of the contents of modules and of the translator."""
    sha = hashlib.sha256()
    files = [*sorted(Path(__file__).parent.glob("*.py")), _ROOT / "codegen" / "jit" / "engine.py"]
    for file in (*files, *(source_file(module) for module in modules)):
        sha.update(file.read_bytes())
    return sha.hexdigest()


def source_file(module: str) -> Path:
    """The file of a module of this package."""
    return _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")

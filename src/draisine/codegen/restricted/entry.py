"""Entry points: restricted functions as machine code, compiled once per machine, found on disk by a hash of their sources.

LLVM's optimization takes ten times as long as the rest. What a first run needs is therefore compiled without it, and a process in
the background compiles it once more with it (`Entry.load`); both give the same bits.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from draisine.codegen.background import start
from draisine.codegen.cache import cached_object, claim, contents_digest, is_stored, keep, release, stored_object
from draisine.codegen.host import host_key, is_host_known
from draisine.codegen.jit.beside import compile_quick
from draisine.codegen.jit.engine import LoadedObject, compile_ir, is_level_given, load_object
from draisine.codegen.restricted.types import Options, Record, Type

SYMBOL = "draisine_entry"
_ROOT = Path(__file__).parents[2]
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # releases the interpreter's lock during the call


@dataclass(frozen=True, eq=False)
class Code:
    """A compiled function of one record that returns an integer."""

    loaded: LoadedObject
    optimized: bool = True
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

    @cached_property
    def key(self) -> str:
        """The key of the optimized machine code in the cache: everything that it depends on."""
        fixed = ", ".join(f"{record.__name__}.{name} = {value}" for (record, name), value in self.fixed.items())
        return (
            f"{self.module}.{self.function}; {fixed}; passes {self.passes}; {digest((self.module, *self.sources))}; {host_key()}"
        )

    def load(self, at_once: bool = False) -> Code:
        """The machine code, from disk if this machine has compiled it before.

        `at_once`: what is not there is compiled without optimization, and optimized by another process; this process uses that
        from the first call of `load` after it is ready. Where `$DRAISINE_KERNEL_LEVEL` is set nothing is compiled twice.
        """
        key = self.key
        known = _LOADED.get(key)
        if known is not None and (known.optimized or (at_once and stored_object(key) is None)):
            return known
        stored = stored_object(key)
        if not at_once or is_level_given() or stored is not None:
            known = Code(load_object(stored or cached_object(key, self.compile), SYMBOL))
            keep(key)
        else:
            known = Code(load_object(self._quick_object(), SYMBOL), optimized=False)
            self.begin()
        _LOADED[key] = known
        return known

    def begin(self) -> None:
        """Have another process compile what is not there yet, see `begin_all`."""
        begin_all([self])

    def is_missing(self) -> bool:
        """Whether this process, and the disk, have no optimized code. Where `$DRAISINE_KERNEL_LEVEL` is set nothing is."""
        known = _LOADED.get(self.key)
        return (known is None or not known.optimized) and not is_level_given() and not is_stored(self.key)

    def is_at_hand(self) -> bool:
        """Whether `load(at_once=True)` has nothing to compile, or must: where `$DRAISINE_KERNEL_LEVEL` is set."""
        return self.key in _LOADED or is_level_given() or is_stored(self.key) or is_stored(self._quick_key)

    @property
    def home(self) -> ModuleType:
        """The module of the function."""
        return import_module(self.module)

    def text(self) -> str:
        """The LLVM module, with the one symbol `SYMBOL`; it is the same on every machine."""
        function = getattr(self.home, self.function)
        return llvm_text(f"{self.module}.{self.function}", {SYMBOL: function}, (self.module, *self.sources), Options(self.fixed))

    def compile(self) -> bytes:
        """Optimized object code."""
        import logging  # a process that finds its code does not need it

        logging.getLogger("draisine").info("compiling %s.%s: once on this machine …", self.module, self.function)
        # More inlining takes twice as long to compile and gives no faster code.
        return compile_ir(self.text(), passes=self.passes, inlining=50)

    def _quick_object(self) -> bytes:
        """Object code without optimization, from disk if it is there."""
        return cached_object(self._quick_key, lambda: compile_quick(self._quick_key, self.text()))

    @property
    def _quick_key(self) -> str:
        return f"not optimized; {self.key}"

    def _as_list(self) -> list[Any]:
        fixed = [(record.__module__, record.__name__, name, value) for (record, name), value in self.fixed.items()]
        return [self.module, self.function, self.sources, fixed, self.passes]

    @staticmethod
    def _from_list(given: list[Any]) -> Entry:
        module, function, sources, fixed, passes = given
        fields = {(getattr(import_module(place), record), name): value for place, record, name, value in fixed}
        return Entry(module, function, tuple(sources), fields, passes)


_LOADED: dict[str, Code] = {}  # by key, for the life of the process


def begin_all(entries: Iterable[Entry]) -> None:
    """Have another process compile what is not there yet, if none does: all without optimization in this order, then with it.

    Called some time before `Entry.load(at_once=True)`, this saves the time of that, if the machine has a processor to spare.
    """
    if is_level_given():
        return
    if not is_host_known():  # the other process asks LLVM for it, which this one need not load
        start(__name__, optimize_unclaimed.__name__, _as_text(entries))
        return
    claimed = _claimed(entries)
    if claimed:
        start(__name__, optimize.__name__, _as_text(claimed))


def _claimed(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.is_missing() and claim(entry.key)]


def _as_text(entries: Iterable[Entry]) -> str:
    return json.dumps([entry._as_list() for entry in entries])


def _from_text(text: str) -> list[Entry]:
    return [Entry._from_list(given) for given in json.loads(text)]


def optimize_unclaimed(text: str) -> None:
    """As `optimize`, for entries that no other process has claimed."""
    optimize(_as_text(_claimed(_from_text(text))))


def optimize(text: str) -> None:
    """What a process in the background does: compile entries without optimization, unless that is there, and with it."""
    entries = _from_text(text)
    try:
        for entry in entries:
            entry._quick_object()
        for entry in entries:
            cached_object(entry.key, entry.compile)
    finally:
        for entry in entries:
            release(entry.key)


def llvm_text(
    name: str,
    functions: Mapping[str, Callable[..., Any]],
    sources: tuple[str, ...],
    options: Options,
    types: Mapping[str, Type] | None = None,
) -> str:
    """The LLVM module of functions by symbols; `types` replace annotations. `sources` must name all modules it depends on."""
    # imported here: the translator is not needed when the cache has the code
    from draisine.codegen.restricted.function import parameter_types, translate

    entries = {symbol: (function, parameter_types(function, types)) for symbol, function in functions.items()}
    translation = translate(entries, options)
    check_sources(name, translation.modules, sources)
    return translation.text


def check_sources(name: str, needed: frozenset[str], given: tuple[str, ...]) -> None:
    """Raise RuntimeError if code depends on sources that its key leaves out."""
    missing = {module for module in needed - set(given) if not module.startswith(f"{__package__}.")}
    if missing:
        raise RuntimeError(f"the code of {name} also depends on {', '.join(sorted(missing))}; name them among its sources")


@cache
def digest(modules: tuple[str, ...]) -> str:
    """A hash of the contents of modules and of the translator."""
    own = os.path.dirname(__file__)
    files = [os.path.join(own, name) for name in sorted(os.listdir(own)) if name.endswith(".py")]
    engine = str(_ROOT / "codegen" / "jit" / "engine.py")
    return contents_digest([*files, engine, *(str(source_file(module)) for module in modules)])


def source_file(module: str) -> Path:
    """The file of a module of this package."""
    return _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")

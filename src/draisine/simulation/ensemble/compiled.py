"""Starts of lanes as machine code: restricted Python that still works on memory by address."""

from __future__ import annotations

import ast
import ctypes
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.restricted.entry import SYMBOL
from draisine.simulation.stepper import native


@dataclass(frozen=True, eq=False)
class AddressCode:
    """A compiled function of an address."""

    function: Callable[[int], int]
    loaded: LoadedObject


@cache
def stored_code(entry: Callable[[int], int], *modules: ModuleType) -> AddressCode:
    """Machine code of a function of an address that calls others of these modules."""
    sha = hashlib.sha256()
    for module in (native, *modules):
        sha.update(Path(str(module.__file__)).read_bytes())
    key = f"{entry.__module__}.{entry.__name__}; {sha.hexdigest()}; {host_key()}"

    def made() -> bytes:
        from draisine.codegen.restricted.translate import parameter_types, translate

        logging.getLogger("draisine").info("compiling %s: once on this machine …", entry.__name__)
        _teach_addresses()
        return compile_ir(translate({SYMBOL: (entry, parameter_types(entry))}).text, passes=1, inlining=50)

    loaded = load_object(cached_object(key, made), SYMBOL)
    return AddressCode(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address), loaded)


@cache
def _teach_addresses() -> None:
    """Views of memory by address, for the translator."""
    from draisine.codegen.restricted.intrinsics import INTRINSICS
    from draisine.codegen.restricted.types import NOTHING, ArrayType
    from draisine.codegen.restricted.writer import Value, Writer

    def view(element: str, ndim: int) -> Callable[[Writer, ast.Call, Sequence[Value]], Value]:
        def emit(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
            address = w.let(f"inttoptr i64 {given[0].one} to ptr")
            return Value(ArrayType.of(element, ndim), (address, *(length.one for length in given[1:])))

        return emit

    def call(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
        function, arguments, results = (w.let(f"inttoptr i64 {value.one} to ptr") for value in given)
        w.do(f"call void {function}(ptr {arguments}, ptr {results})")
        return Value(NOTHING, ())

    INTRINSICS[native.reals_at] = view("float", 1), (2,)
    INTRINSICS[native.integers_at] = view("int", 1), (2,)
    INTRINSICS[native.matrix_at] = view("float", 2), (3,)
    INTRINSICS[native.call_kernel] = call, (3,)

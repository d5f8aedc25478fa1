"""Solvers of linear systems as machine code, one copy for all kernels of a process; compiled once per machine."""

from __future__ import annotations

from functools import cache

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.restricted.entry import check_sources, digest

PREFIX = "draisine_"
_ELIMINATION, _SPARSE = ("decompose", "substitute", "spread", "fill", "settle"), ("factorize", "solve")
_NAMES = tuple(PREFIX + name for name in (*_ELIMINATION, *_SPARSE))
_SOURCES = ("draisine.codegen.jit.solvers", "draisine.codegen.jit.sparse_qr", "draisine.codegen.jit.solvers")


def solvers() -> dict[str, int]:
    """Addresses by symbol. The code stays for the life of the process."""
    loaded = _loaded()
    return {name: loaded.address_of(name) for name in _NAMES}


@cache
def _loaded() -> LoadedObject:
    return load_object(cached_object(f"solvers; {digest(_SOURCES)}; {host_key()}", _compiled), *_NAMES)


def _compiled() -> bytes:
    """Functions of numbers and of pointers to doubles and 32-bit integers."""
    from draisine.codegen.jit import elimination, sparse_qr
    from draisine.codegen.restricted.function import parameter_types, translate
    from draisine.codegen.restricted.types import ArrayType
    from draisine.codegen.restricted.unit import Options

    functions = {name: getattr(elimination, name) for name in _ELIMINATION} | {name: getattr(sparse_qr, name) for name in _SPARSE}
    bare = {"Vector": "float", "Numbers": "float", "AnyIntegers": "int32"}
    kinds = {name: ArrayType.of(element, bare=True) for name, element in bare.items()}
    entries = {PREFIX + name: (function, parameter_types(function, kinds)) for name, function in functions.items()}
    made = translate(entries, Options(contract=True, distinct=True))
    check_sources("the solvers", made.modules, _SOURCES)
    return compile_ir(made.text, passes=2)

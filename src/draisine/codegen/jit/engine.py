"""Interface to LLVM: text of intermediate code → object code → an address in this process.

`compile_ir` makes relocatable object code for this machine's CPU; `load_object` links it into the process in well under a
millisecond, any number of times: by `object_loader`, or by LLVM what that refuses. Only llvmlite is needed, which is imported
where code is compiled. Nothing here depends on programs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import count
from typing import Any, NamedTuple

from draisine.codegen.host import host, host_key
from draisine.codegen.jit import object_loader
from draisine.errors import ArgumentError, CompilationError, ObjectCodeError

# External functions of object code. The linker takes them from the process if it exports them, else from the C library.
MATHEMATICS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "expm1", "log", "log1p", "pow", "hypot", "erf", "fmod", "remainder", "floor", "ceil", "fmin", "fmax", "fma"),
)
MEMORY = ("malloc", "free")

# LLVM's level of code generation for kernels. Level 2 adds a scheduling after register allocation, which takes a third of the
# time in long code and gains nothing. Level 0 compiles in a quarter of the time of level 1; its code takes 1.6 times as long.
KERNEL_LEVEL, QUICK_LEVEL = 1, 0
_LEVEL_VARIABLE = "DRAISINE_KERNEL_LEVEL"
_KEPT_BYTES = 256 * 1024  # of the longest code that stays loaded when its kernels are gone


@dataclass(frozen=True, eq=False)
class LoadedObject:
    """Object code linked into this process. The code at `address` is valid as long as this object lives."""

    address: int
    linked: Any = field(repr=False)
    size: int  # bytes of the object code

    def address_of(self, symbol: str) -> int:
        """The address of another symbol that was exported when the object was loaded."""
        return int(self.linked[symbol])


def kernel_level(quick: bool = False) -> int:
    """`KERNEL_LEVEL`, or 0, 1 or 2 as in `$DRAISINE_KERNEL_LEVEL`: for tests, where compiling takes longer than running."""
    if quick:
        return QUICK_LEVEL
    given = os.environ.get(_LEVEL_VARIABLE, "")
    if given not in ("", "0", "1", "2"):
        raise ArgumentError(
            f"{_LEVEL_VARIABLE} is {given!r}, but kernels are compiled at level 0, 1 or 2; set one of these or none"
        )
    return int(given or KERNEL_LEVEL)


def is_level_given() -> bool:
    """Whether `$DRAISINE_KERNEL_LEVEL` is set."""
    return bool(os.environ.get(_LEVEL_VARIABLE))


def kernel_key(quick: bool = False) -> str:
    """What the object code of a kernel depends on besides its text; part of its key in the cache."""
    return f"level {kernel_level(quick)}; {host_key()}"


def compile_kernel(text: str, quick: bool = False, branches: bool = False) -> bytes:
    """Object code of a kernel: straight lines, which need no passes. Its numbers do not depend on the level. With `branches`
    between groups of operations, passes make optimized code quicker by a fifth: it reads fewer values twice."""
    level = kernel_level(quick)
    return compile_ir(text, level, passes=1 if branches and level and not quick else 0)


def compile_ir(text: str, optimization: int = 2, passes: int = 0, inlining: int = 225) -> bytes:
    """Object code for this CPU from the text of an LLVM module.

    Code with loops needs LLVM's optimization passes, of level `passes`; straight-line code does not. `inlining` is the largest
    cost at which a function called from several places is inlined.
    """
    import llvmlite.binding as llvm

    machine = _machine(optimization)
    try:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompilationError(f"LLVM does not accept the generated code: {str(error).strip()}") from error
    if passes:
        options = llvm.create_pipeline_tuning_options(speed_level=passes)
        options.loop_unrolling = options.loop_interleaving = False  # twice the code and no faster
        options.inlining_threshold = inlining
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def load_object(data: bytes, symbol: str, *others: str, using: Mapping[str, int] | None = None) -> LoadedObject:
    """Link object code and export `symbol` and `others` (see `address_of`); `using`: addresses of functions that it calls."""
    symbols = (symbol, *others)
    try:
        linked: Any = object_loader.load(data, symbols, using or {})
    except ObjectCodeError:
        linked = link_by_llvm(data, symbols, using or {})
    return LoadedObject(int(linked[symbol]), linked, len(data))


def link_by_llvm(data: bytes, symbols: Sequence[str], using: Mapping[str, int]) -> Any:
    """Object code of any platform, linked by LLVM: addresses by symbol, valid as long as this object lives."""
    import llvmlite.binding as llvm

    linker = _linker()
    builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
    for name, address in {**_missing_mathematics(), **using}.items():
        builder.import_symbol(name, address)
    for name in symbols:
        builder.export_symbol(name)
    try:
        return builder.link(linker.compiler, f"draisine {next(linker.numbers)}")
    except RuntimeError as error:
        raise CompilationError(f"object code with symbol {symbols[0]!r} cannot be linked: {str(error).strip()}") from error


def load_kernel(data: bytes, *symbols: str, using: Mapping[str, int] | None = None) -> LoadedObject:
    """As `load_object`, for code without memory of its own: equal code is linked once while it is among the last ones. Equations
    that differ in their inputs, events or numbers have most kernels in common."""
    if len(data) > _KEPT_BYTES:
        return load_object(data, *symbols, using=using)
    return _load_kernel(data, symbols, tuple((using or {}).items()))


@lru_cache(maxsize=64)
def _load_kernel(data: bytes, symbols: tuple[str, ...], using: tuple[tuple[str, int], ...]) -> LoadedObject:
    return load_object(data, *symbols, using=dict(using))


class _Linker(NamedTuple):
    compiler: Any
    numbers: count[int]  # every library needs a unique name


@cache
def _linker() -> _Linker:
    import llvmlite.binding as llvm

    return _Linker(llvm.create_lljit_compiler(_new_machine(2)), count())


@cache
def _machine(optimization: int) -> Any:
    return _new_machine(optimization)


def _new_machine(optimization: int) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(host().triple)
    return target.create_target_machine(
        cpu=host().processor,
        features=host().features,
        opt=optimization,
        reloc="pic",
        codemodel="jitdefault",  # calls of 64 bits, which LLVM's linker needs: it places sections anywhere
    )


@cache
def _missing_mathematics() -> dict[str, int]:
    """Functions that the process does not export (static builds of Python, Windows), from the C library."""
    import llvmlite.binding as llvm

    missing = [name for name in (*MATHEMATICS, *MEMORY) if not llvm.address_of_symbol(name)]
    if not missing:
        return {}
    from ctypes.util import find_library  # slow to import, and rarely needed

    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else find_library("m"))
    functions = {name: getattr(library, name, None) for name in missing}
    return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in functions.items() if f is not None}

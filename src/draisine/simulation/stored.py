"""The stepping loop as machine code: compiled by Numba once per machine, then loaded from disk without it.

Importing Numba costs half a second and compiling the loop several; a stored object costs a millisecond. The compiled function
takes the address of a block (`layout`) and works on memory of the caller alone, so it needs nothing of Numba's at run
time: its wrapper's error handling vanishes with inlining, and that is checked before the code is stored.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from draisine.kernels.cache import cached_object, host_key
from draisine.kernels.engine import LoadedObject, compile_ir, load_object
from draisine.simulation import crossings, layout, loop, native, stages

SYMBOL = "draisine_advance"
# All that the code may ask of the process it is loaded into.
ALLOWED = frozenset({"pow", "memset", "memcpy", "memmove"})
# No reference counts, and IEEE arithmetic instead of exceptions.
OPTIONS: dict[str, Any] = {
    "_nrt": False,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


@dataclass(frozen=True)
class SteppingLoop:
    """The compiled loop: call it with the address of a block; it answers with a reason of `layout`."""

    loaded: LoadedObject

    @property
    def function(self) -> Callable[[int], int]:
        # A plain CFUNCTYPE lets go of the interpreter lock during the call.
        prototype: Callable[[int], Callable[[int], int]] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        return prototype(self.loaded.address)


@cache
def stepping_loop() -> SteppingLoop:
    """The loop, from disk if this machine has compiled it before."""
    return SteppingLoop(load_object(cached_object(_key(), compile_loop), SYMBOL))


def _key() -> str:
    sha = hashlib.sha256()
    for module in (layout, native, stages, crossings, loop):
        sha.update(Path(str(module.__file__)).read_bytes())
    sha.update(Path(__file__).read_bytes())
    return f"stepping loop; {sha.hexdigest()}; numba {version('numba')}; {host_key()}"


def compile_loop() -> bytes:
    """Object code of `loop.advance`, with one symbol and no need of Numba."""
    import numba
    from numba import types

    logging.getLogger("draisine").info("compiling the stepping loop: once on this machine, some ten seconds …")
    _teach_natives()
    for module in (stages, crossings, loop):
        _teach_functions(module)
    compiled = numba.cfunc(types.int64(types.int64), **OPTIONS)(loop.advance)
    return compile_ir(_stripped(compiled.inspect_llvm(), compiled.native_name))


def _teach_functions(module: ModuleType) -> None:
    """Let compiled code call the functions of a module."""
    from numba.extending import register_jitable

    for function in vars(module).values():
        if callable(function) and getattr(function, "__module__", None) == module.__name__:
            register_jitable(**OPTIONS)(function)


def _teach_natives() -> None:
    """Numba's version of each function of `native`."""
    import numpy as np
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable
    from numba.np.arrayobj import make_array, populate_array
    from numba.np.numpy_support import from_dtype

    word = types.int64

    def teach(function: Any, result: Any, count: int, emit: Callable[..., Any]) -> None:
        typers: dict[int, Callable[..., Any]] = {1: lambda a: result, 2: lambda a, b: result, 3: lambda a, b, c: result}
        type_callable(function)(lambda context: typers[count])
        lower_builtin(function, *[word] * count)(emit)

    def teach_array(function: Any, result: Any) -> None:
        def emit(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            address, *shape = arguments
            array = make_array(result)(context, builder)
            size = context.get_constant(types.intp, 8)
            strides = [size] if len(shape) == 1 else [builder.mul(shape[1], size), size]
            populate_array(
                array,
                data=builder.inttoptr(address, array.data.type),
                shape=cgutils.pack_array(builder, shape),
                strides=cgutils.pack_array(builder, strides),
                itemsize=size,
                meminfo=None,
            )
            return array._getvalue()

        teach(function, result, 1 + result.ndim, emit)

    def teach_record(function: Any, result: Any) -> None:
        teach(function, result, 1, lambda context, builder, _, args: builder.inttoptr(args[0], context.get_value_type(result)))

    def emit_call(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer()
        address, *tables = arguments
        builder.call(builder.inttoptr(address, function), [builder.inttoptr(table, pointer) for table in tables])
        return context.get_dummy_value()

    teach_array(native.reals_at, types.Array(types.float64, 1, "C"))
    teach_array(native.matrix_at, types.Array(types.float64, 2, "C"))
    teach_array(native.integers_at, types.Array(types.int64, 1, "C"))
    teach_record(native.block_at, from_dtype(np.dtype(layout.Block)))
    teach_record(native.scheme_at, from_dtype(np.dtype(layout.SchemeBlock)))
    teach(native.call_kernel, types.void, 3, emit_call)


def _stripped(text: str, entry: str) -> str:
    """The module with all but the entry made private and optimised once more, so that unreachable error paths vanish."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Square roots are one instruction; a call of the C library would set errno besides.
    module = llvm.parse_assembly(text.replace("@sqrt(", "@llvm.sqrt.f64("))
    for function in module.functions:
        if function.name == entry:
            function.name = SYMBOL
        elif not function.is_declaration:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, reloc="pic", codemodel="jitdefault"
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    _check(str(module))
    return str(module)


def _check(text: str) -> None:
    """Refuse code that would call into Numba or Python: it would crash in a process that has neither loaded."""
    needed = set(re.findall(r'^declare [^@]*@"?([\w.$]+)"?\(', text, re.MULTILINE))
    needed |= set(re.findall(r"^@(\S+) = external ", text, re.MULTILINE))
    strange = {name for name in needed if not name.startswith("llvm.")} - ALLOWED
    if strange:
        raise RuntimeError(
            f"the compiled stepping loop needs {', '.join(sorted(strange))} at run time; an operation in it can raise an "
            "exception or allocate memory. Write it without."
        )

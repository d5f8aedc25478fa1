"""The stepping loop compiled by Numba to object code that needs nothing of Numba's at run time.

The compiled function takes the address of a block (`layout`) and works on memory of the caller alone: its wrapper's error
handling vanishes with inlining, and that is checked before the code is stored.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from draisine.codegen.jit.engine import compile_ir
from draisine.errors import CompilationError
from draisine.numerics import sparse_qr
from draisine.simulation.stepper import dae_residuals as residuals
from draisine.simulation.stepper import error_estimates as estimates
from draisine.simulation.stepper import layout, loop, native
from draisine.simulation.stepper import step_size_control as lengths
from draisine.simulation.stepper.stored_loop import LOOP, SYMBOL

# What the loop is made of, callees first.
MODULES = tuple(import_module(f"draisine.simulation.stepper.{name}") for name in LOOP)
# What explicit methods never reach.
IMPLICIT = (
    loop.implicit_step,
    residuals.settle_start,
    estimates.prepare_polynomial,
    lengths.first_implicit_step,
    lengths.propose_implicit,
    lengths.give_way,
)
# All that the code may ask of the process it is loaded into.
ALLOWED = frozenset({"pow", "hypot", "memset", "memcpy", "memmove"})
# No reference counts, and IEEE arithmetic instead of exceptions.
OPTIONS: dict[str, Any] = {
    "_nrt": False,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def compile_loop(implicit: bool = False) -> bytes:
    """Object code of the loop, with one symbol and no need of Numba."""
    kind, effort = ("implicit", "half a minute") if implicit else ("explicit", "ten seconds")
    logging.getLogger("draisine").info("compiling the loop of %s methods: once on this machine, some %s …", kind, effort)
    teach_everything()
    return machine_code(loop.advance if implicit else loop.advance_explicit)


def machine_code(entry: Callable[[int], int]) -> bytes:
    """Object code, with the one symbol `SYMBOL`, of a function of an address; what it calls must have been taught."""
    import numba
    from numba import types

    with _unoptimised():
        compiled = numba.cfunc(types.int64(types.int64), **OPTIONS)(entry)
    return compile_ir(_stripped(compiled.inspect_llvm(), compiled.native_name))


@cache
def teach_module(module: ModuleType) -> None:
    """Let compiled code call the functions of a module, and those of `native`."""
    _teach_natives()
    _teach(f for f in vars(module).values() if callable(f) and getattr(f, "__module__", None) == module.__name__)


@contextmanager
def _unoptimised() -> Iterator[None]:
    """Numba optimises every function with all that it calls, again and again up the tree of calls; here the whole is, once."""
    from numba.core import config as settings

    config: Any = settings

    before = config.OPT
    config.OPT = type(before)(0)
    try:
        yield
    finally:
        config.OPT = before


@cache
def teach_everything() -> None:
    _teach_natives()
    _teach(sparse_qr.NUMERIC)
    for module in MODULES:
        own = (f for f in vars(module).values() if callable(f) and getattr(f, "__module__", None) == module.__name__)
        _teach(f for f in own if f not in IMPLICIT)
    _teach_unless_plain(IMPLICIT)


def _teach(functions: Iterable[Callable[..., Any]]) -> None:
    """Let compiled code call these functions."""
    from numba.extending import register_jitable

    for function in functions:
        register_jitable(**OPTIONS)(function)


def _teach_unless_plain(functions: Iterable[Callable[..., Any]]) -> None:
    """The same, save for code on a plain block, where they do nothing."""
    import numpy as np
    from numba.extending import overload
    from numba.np.numpy_support import from_dtype

    plain = from_dtype(np.dtype(layout.PlainBlock))
    options: Any = OPTIONS

    def nothing(s: Any, *rest: Any) -> int:
        return layout.GO_ON

    for function in functions:
        overload(function, jit_options=options, strict=False)(lambda s, *rest, f=function: nothing if s == plain else f)


@cache
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
            size = context.get_constant(types.intp, 16 if result.dtype == types.complex128 else 8)
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
    teach_array(native.complexes_at, types.Array(types.complex128, 1, "C"))
    teach_array(native.complex_matrix_at, types.Array(types.complex128, 2, "C"))
    teach_array(native.integers_at, types.Array(types.int64, 1, "C"))
    teach_record(native.block_at, from_dtype(np.dtype(layout.Block)))
    teach_record(native.plain_block_at, from_dtype(np.dtype(layout.PlainBlock)))
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
        raise CompilationError(
            f"the compiled stepping loop needs {', '.join(sorted(strange))} at run time; an operation in it can raise an "
            "exception or allocate memory. Write it without."
        )

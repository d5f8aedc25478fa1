"""Built-in functions of restricted Python: `math`, `abs`, `min`, `max`, calls of kernels, and the LLVM code of each."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.codegen.restricted.types import (
    BOOL,
    COMPLEX,
    INT,
    NOTHING,
    REAL,
    ArrayType,
    RecordType,
    TupleType,
    call_kernel,
    restore,
)
from draisine.codegen.restricted.writer import Value, Writer, real, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

Emit = Callable[[Writer, ast.Call, "Sequence[Value]"], Value]


def _real_function(name: str, symbol: str, count: int) -> Emit:
    def emit(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
        w.unit.declare(f"declare double @{symbol}({', '.join(['double'] * count)})")
        texts = [f"double {w.convert(value, REAL, e).one}" for value in given]
        return Value(REAL, (w.emit(f"call double @{symbol}({', '.join(texts)})"),))

    return emit


def _whole(symbol: str) -> Emit:
    """A real number converted to an integer; out of range the nearest one, 0 for NaN."""

    def emit(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
        if given[0].type == INT:
            return given[0]
        name = w.convert(given[0], REAL, e).one
        if symbol:
            w.unit.declare(f"declare double @{symbol}(double)")
            name = w.emit(f"call double @{symbol}(double {name})")
        w.unit.declare("declare i64 @llvm.fptosi.sat.i64.f64(double)")
        return Value(INT, (w.emit(f"call i64 @llvm.fptosi.sat.i64.f64(double {name})"),))

    return emit


def _absolute(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    value = given[0]
    if value.type == INT:
        w.unit.declare("declare i64 @llvm.abs.i64(i64, i1)")
        return Value(INT, (w.emit(f"call i64 @llvm.abs.i64(i64 {value.one}, i1 false)"),))
    if value.type == COMPLEX:
        w.unit.declare("declare double @hypot(double, double)")
        return Value(REAL, (w.emit(f"call double @hypot(double {value.parts[0]}, double {value.parts[1]})"),))
    return _real_function("abs", "llvm.fabs.f64", 1)(w, e, given)


def _extreme(word: str) -> Emit:
    """The first of the least or greatest, as in Python: NaN is neither less nor greater."""

    def emit(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
        best = given[0]
        for value in given[1:]:
            if value.type != best.type or best.type not in (INT, REAL):
                w.refuse(e, f"all must be integers or all real numbers, not {best.type} and {value.type}")
            if best.type == INT:
                better = w.emit(f"icmp s{word} i64 {value.one}, {best.one}")
            else:
                better = w.emit(f"fcmp o{word} double {value.one}, {best.one}")
            part = best.type.parts[0]
            best = Value(best.type, (w.emit(f"select i1 {better}, {part} {value.one}, {part} {best.one}"),))
        return best

    return emit


def _finite(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    size = _real_function("abs", "llvm.fabs.f64", 1)(w, e, given).one
    return Value(BOOL, (w.emit(f"fcmp olt double {size}, {real(math.inf).one}"),))


def _nan(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    name = w.convert(given[0], REAL, e).one
    return Value(BOOL, (w.emit(f"fcmp uno double {name}, {name}"),))


def _conjugate(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    value = given[0]
    if value.type == COMPLEX:
        return Value(COMPLEX, (value.parts[0], w.emit(f"fneg double {value.parts[1]}")))
    return w.convert(value, REAL, e)


def _float(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    return w.convert(given[0], REAL, e)


def _length(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    if not isinstance(given[0].type, ArrayType) or given[0].type.bare:
        w.refuse(e, f"the length of {given[0].type} is not known")
    return Value(INT, (given[0].parts[1],))


def _call_kernel(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    function, *tables = given
    if function.type != INT or not all(isinstance(table.type, TupleType) for table in tables):
        w.refuse(e, "write call_kernel(address, (argument, …), (result, …))")
    address = w.emit(f"inttoptr i64 {function.one} to ptr")
    pointers = []
    for table in tables:
        arrays = unpack(table)
        pointer = w.alloca(f"[{len(arrays)} x ptr]")
        for k, array in enumerate(arrays):
            if not isinstance(array.type, ArrayType):
                w.refuse(e, f"kernels take arrays, not {array.type}")
            w.write(f"store ptr {array.parts[0]}, ptr {w.emit(f'getelementptr inbounds ptr, ptr {pointer}, i64 {k}')}, align 8")
        pointers.append(pointer)
    w.write(f"call void {address}(ptr {pointers[0]}, ptr {pointers[1]})")
    return Value(NOTHING, ())


def _restore(w: Writer, e: ast.Call, given: Sequence[Value]) -> Value:
    target, source = given
    if not isinstance(target.type, RecordType) or target.type != source.type:
        w.refuse(e, "it takes two records of one class")
    w.unit.struct(target.type.record)
    size = 8 * sum(len(field.type.parts) for field in target.type.record.__fields__.values())
    w.unit.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    w.write(f"call void @llvm.memcpy.p0.p0.i64(ptr align 8 {target.one}, ptr align 8 {source.one}, i64 {size}, i1 false)")
    return Value(NOTHING, ())


# Function → its emitter, and the numbers of arguments it takes (None: any).
INTRINSICS: dict[Any, tuple[Emit, tuple[int, ...] | None]] = {
    **{
        getattr(math, name): (_real_function(name, f"llvm.{name}.f64", 1), (1,))
        for name in ("sqrt", "sin", "cos", "exp", "log", "log10", "log2", "fabs")
    },
    **{
        getattr(math, name): (_real_function(name, name, 1), (1,))
        for name in ("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "expm1", "log1p", "erf")
    },
    **{getattr(math, name): (_real_function(name, name, 2), (2,)) for name in ("atan2", "hypot", "fmod", "remainder")},
    math.copysign: (_real_function("copysign", "llvm.copysign.f64", 2), (2,)),
    math.pow: (_real_function("pow", "llvm.pow.f64", 2), (2,)),
    math.floor: (_whole("llvm.floor.f64"), (1,)),
    math.ceil: (_whole("llvm.ceil.f64"), (1,)),
    int: (_whole(""), (1,)),
    float: (_float, (1,)),
    abs: (_absolute, (1,)),
    min: (_extreme("lt"), None),
    max: (_extreme("gt"), None),
    math.isfinite: (_finite, (1,)),
    math.isnan: (_nan, (1,)),
    np.conjugate: (_conjugate, (1,)),
    complex.conjugate: (_conjugate, (1,)),
    len: (_length, (1,)),
    call_kernel: (_call_kernel, (3,)),
    restore: (_restore, (2,)),
}

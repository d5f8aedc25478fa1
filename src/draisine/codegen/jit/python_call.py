"""Calls of kernels from Python without conversions: built-in functions made at run time.

A call through ctypes costs a microsecond, and copying arguments into a buffer as much again. The functions made here
(`PyCFunction_NewEx`, calling convention METH_FASTCALL) have machine code of their own. They read arrays of doubles where they
are, pass their addresses to the kernel and let NumPy allocate the results:

    quick(arguments, out)                   # a tuple, and None, an array or a tuple of arrays; gives a tuple of results
    quick_map(samples, batches, results)    # tuples of arrays: rows, or a column that all samples share

What the first does not take as it stands it refuses by returning None, with nothing done: other types, numbers, shapes, results
that overlap arguments. `Kernel` then converts what can be converted and raises what must be raised, so that no check is written
twice. The second takes what `Kernel.map` has checked.

Arrays are read in the layout of NumPy's binary interface, on which compiled extensions rely. `_is_layout` compares it with what
arrays say of themselves, once in a process; where something differs all calls are refused, and go the other way.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.cache import kept_object, stored_object
from draisine.codegen.host import host_key
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.program.program import Slot

QuickCall = Callable[[tuple[Any, ...], Any], "tuple[NDArray[np.float64], ...] | None"]

QuickMap = Callable[[int, tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...]], Any]

MOST_SLOTS = 64  # arguments or results of a quick call
ROOM = 1024  # numbers on the stack for scalars and for arrays that are not contiguous
_CODE_VERSION = 2
_SYMBOLS = ("quick_call", "quick_map")
_METH_FASTCALL = 0x0080
_HEAD, _SLOT = 4, 4  # integers of the table before the slots, and of each

_FUNCTIONS = (
    *("PyTuple_GetItem", "PyTuple_Size", "PyTuple_New", "PyTuple_SetItem", "PyBytes_AsString", "PyObject_CallObject"),
    *("PyFloat_AsDouble", "PyLong_AsDouble", "PyLong_AsSsize_t", "PyErr_Occurred", "PyErr_Clear", "Py_IncRef", "Py_DecRef"),
    *("PyEval_SaveThread", "PyEval_RestoreThread"),
)
_OBJECTS: dict[str, object] = {
    **{"type_array": np.ndarray, "type_float": float, "type_double": np.float64, "type_int": int, "type_tuple": tuple},
    **{"doubles": np.dtype(np.float64), "none": None},
}


class _Method(ctypes.Structure):
    """PyMethodDef"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


class _ArrayFields(ctypes.Structure):
    """PyArrayObject_fields, behind the head of every object"""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dimensions", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


def quick_call(address: int, inputs: Sequence[Slot], outputs: Sequence[Slot], code: Any, unlocked: bool) -> QuickCall:
    """The built-in function of a kernel at an address; `code` is kept as long as it lives.

    `unlocked`: other threads of Python run during the kernel. Where there are no quick calls the function refuses all.
    """
    shared = _quick_call()
    if shared is None or max(len(inputs), len(outputs)) > MOST_SLOTS:
        return _refuse
    slots = (*inputs, *outputs)
    rooms = _rooms([slot.size for slot in slots])
    table = [address, len(inputs), len(outputs), int(unlocked)]
    for slot, room in zip(slots, rooms, strict=True):
        table += [slot.size, slot.shape[0], slot.shape[1], room]
    made = tuple(((slot.shape[0],),) if slot.shape[1] == 1 else (slot.shape, np.float64, "F") for slot in outputs)
    return _builtin(shared, "quick_call", (_bytes(table), np.empty, *made, code, shared))


def quick_map(address: int, inputs: Sequence[Slot], outputs: Sequence[Slot], code: Any) -> QuickMap:
    """The built-in function that runs `kernel_map` at an address; where there are no quick calls it refuses all."""
    shared = _quick_call()
    if shared is None or max(len(inputs), len(outputs)) > MOST_SLOTS:
        return _refuse
    bound = (_bytes([address, len(inputs), len(outputs)]), code, shared)
    return _builtin(shared, "quick_map", bound)


def compile_calls() -> None:
    """Compile what all quick calls share in advance."""
    _quick_call()


def is_compiled() -> bool:
    """Whether what all quick calls share is in this process or on disk."""
    return _quick_call.cache_info().currsize > 0 or stored_object(_key()) is not None


def _key() -> str:
    return f"quick call, code {_CODE_VERSION}; head {object.__basicsize__}; {host_key()}"


def _bytes(table: Sequence[int]) -> bytes:
    return np.array(table, dtype=np.int64).tobytes()


def _builtin(shared: _Shared, name: str, bound: tuple[Any, ...]) -> Any:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes, new.restype = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p], ctypes.py_object
    return new(ctypes.addressof(shared.methods[name]), bound, None)


def _refuse(*given: Any) -> None:
    return None


def _rooms(sizes: Sequence[int]) -> list[int]:
    """Where each slot has room on the stack, small ones first; −1 where there is none left."""
    rooms, used = [-1] * len(sizes), 0
    for slot in sorted(range(len(sizes)), key=sizes.__getitem__):
        if used + sizes[slot] <= ROOM:
            rooms[slot], used = used, used + sizes[slot]
    return rooms


class _Shared(NamedTuple):
    """What all quick calls share."""

    methods: dict[str, _Method]
    code: LoadedObject


@cache
def _quick_call() -> _Shared | None:
    """None where arrays cannot be read."""
    head = object.__basicsize__
    if not (sys.implementation.name == "cpython" and sys.maxsize > 2**32 and _is_layout(head)):
        return None
    try:
        using = {name: _address(getattr(ctypes.pythonapi, name)) for name in _FUNCTIONS}
    except AttributeError:
        return None
    using |= {name: id(one) for name, one in _OBJECTS.items()}
    code = load_object(kept_object(_key(), lambda: compile_ir(_text(head), passes=1)), *_SYMBOLS, using=using)
    methods = {name: _Method(b"kernel", code.address_of(name), _METH_FASTCALL, None) for name in _SYMBOLS}
    return _Shared(methods, code)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _is_layout(head: int) -> bool:
    """Whether arrays lie in memory as `_ArrayFields` behind a head of so many bytes that ends with the type."""
    whole = np.zeros((5, 7))
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    for array in (whole, whole.T, whole[1::2, 2:5], whole[::-1, 3], read_only, np.zeros(()), np.zeros(4, dtype=np.int32)):
        fields = _ArrayFields.from_address(id(array) + head)
        n, said = array.ndim, array.__array_interface__
        flags = array.flags
        bits = flags.c_contiguous | flags.f_contiguous << 1 | flags.aligned << 8 | flags.writeable << 10
        if not (
            ctypes.c_void_p.from_address(id(array) + head - 8).value == id(np.ndarray)
            and (fields.data, fields.dimensions, fields.dtype) == (said["data"][0], n, id(array.dtype))
            and (n == 0 or tuple((ctypes.c_ssize_t * n).from_address(fields.shape)) == array.shape)
            and (n == 0 or tuple((ctypes.c_ssize_t * n).from_address(fields.strides)) == array.strides)
            and fields.flags & 0x503 == bits
        ):
            return False
    return True


# ------------------------------------------------------------------------------------------- machine code


def _text(head: int) -> str:
    """The module: `python_call.ll` with the numbers of the layout, behind the declarations."""
    declared = [
        "declare ptr @PyTuple_GetItem(ptr, i64)",
        "declare i64 @PyTuple_Size(ptr)",
        "declare ptr @PyTuple_New(i64)",
        "declare i32 @PyTuple_SetItem(ptr, i64, ptr)",
        "declare ptr @PyBytes_AsString(ptr)",
        "declare ptr @PyObject_CallObject(ptr, ptr)",
        "declare double @PyFloat_AsDouble(ptr)",
        "declare double @PyLong_AsDouble(ptr)",
        "declare i64 @PyLong_AsSsize_t(ptr)",
        "declare ptr @PyErr_Occurred()",
        "declare void @PyErr_Clear()",
        "declare void @Py_IncRef(ptr)",
        "declare void @Py_DecRef(ptr)",
        "declare ptr @PyEval_SaveThread()",
        "declare void @PyEval_RestoreThread(ptr)",
        *(f"@{name} = external global i8" for name in _OBJECTS),
    ]
    fields = {name: head + getattr(_ArrayFields, name).offset for name, _ in _ArrayFields._fields_}
    places = {"TYPE": head - 8, **{name.upper(): place for name, place in fields.items()}}
    numbers = {**places, "ROOM": ROOM, "MOST": MOST_SLOTS, "HEAD": _HEAD, "SLOT": _SLOT}
    code = Path(__file__).with_suffix(".ll").read_text("utf-8")
    for name, value in numbers.items():
        code = code.replace(f"<{name}>", str(value))
    return "\n".join([*declared, code])

"""Records: memory that Python and compiled code share, declared once by a class with annotated fields; calls of kernels.

    class Pendulum(Record):
        length: float
        steps: int
        x: Vector
        scheme: Scheme          # another record

Numbers are stored in the record; arrays and other records are stored as pointers, and Python keeps them alive. In Python a field
is read and assigned like any attribute. An assigned array is not copied: it must have the declared type and be C-contiguous. A
new record is all zeros and has no arrays until they are assigned or allocated (`allocate`). Integer fields take Python integers:
`int(a[i])` for an element of an array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.restricted.types import INT, REAL, ArrayType, RecordsType, RecordType, Type, type_of

if TYPE_CHECKING:
    from _ctypes import _PyCStructType as _StructureType
else:
    _StructureType = type(ctypes.Structure)

_NUMBERS = {INT: ctypes.c_int64, REAL: ctypes.c_double}


@dataclass(frozen=True)
class Field:
    """A field: its type, and the index of its first part in the record. Each part takes eight bytes."""

    name: str
    type: Type
    begin: int

    @property
    def hidden(self) -> tuple[str, ...]:
        """Names of the parts of a field that is not a number."""
        return tuple(f"_{self.name}_{k}" for k in range(len(self.type.parts)))


def _array_setter(field: Field) -> Callable[[Record, NDArray[Any]], None]:
    kept, hidden, kind = f"_{field.name}", field.hidden, field.type

    def set_array(record: Record, array: NDArray[Any]) -> None:
        assert isinstance(kind, ArrayType)
        if array.dtype != kind.dtype or array.ndim != kind.ndim or not array.flags.c_contiguous:
            raise TypeError(
                f"record {type(record).__name__}: field {field.name!r} is a C-contiguous {kind}, not one of "
                f"{array.dtype} with {array.ndim} axes{'' if array.flags.c_contiguous else ' and gaps'}"
            )
        setattr(record, kept, array)
        # quicker than `array.ctypes.data`, which creates an object
        for name, value in zip(hidden, (array.__array_interface__["data"][0], *array.shape), strict=True):
            setattr(record, name, value)

    return set_array


def _record_setter(field: Field) -> Callable[[Record, Record], None]:
    kept, where = f"_{field.name}", field.hidden[0]

    def set_record(record: Record, other: Record) -> None:
        setattr(record, kept, other)
        setattr(record, where, other.address)

    return set_record


def _records_setter(field: Field) -> Callable[[Record, list[Record]], None]:
    kept, (where, count) = f"_{field.name}", field.hidden

    def set_records(record: Record, others: list[Record]) -> None:
        table = np.array([other.address for other in others], dtype=np.int64)
        setattr(record, kept, others)
        setattr(record, f"{kept}_table", table)
        setattr(record, where, table.__array_interface__["data"][0])
        setattr(record, count, len(others))

    return set_records


_SETTERS: dict[type[Type], Callable[[Field], Callable[[Any, Any], None]]] = {
    ArrayType: _array_setter,
    RecordType: _record_setter,
    RecordsType: _records_setter,
}


class _RecordType(_StructureType):
    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        fields, parts, begin = {}, [], 0
        known: dict[str, Any] = {}
        for field_name, annotation in namespace.get("__annotations__", {}).items():
            if annotation.startswith("ClassVar"):
                continue
            if annotation not in known:
                known[annotation] = type_of(annotation, namespace["__module__"])
            meaning = known[annotation]
            if meaning not in _NUMBERS and not isinstance(meaning, ArrayType | RecordType | RecordsType):
                raise TypeError(f"record {name}: field {field_name!r} cannot be {annotation}")
            field = Field(field_name, meaning, begin)
            fields[field_name], begin = field, begin + len(meaning.parts)
            if meaning in _NUMBERS:
                parts.append((field_name, _NUMBERS[meaning]))
            else:
                parts += [(hidden, ctypes.c_int64) for hidden in field.hidden]
                namespace[field_name] = property(attrgetter(f"_{field_name}"), _SETTERS[type(meaning)](field))
        return super().__new__(cls, name, bases, {**namespace, "_fields_": parts, "__fields__": fields})


class Record(ctypes.Structure, metaclass=_RecordType):
    """Base of all records."""

    __fields__: ClassVar[Mapping[str, Field]]

    @property
    def address(self) -> int:
        """The address for compiled code, valid as long as the record lives."""
        return ctypes.addressof(self)

    def allocate(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Assign arrays of zeros of these shapes to fields, all in one block of memory."""
        plan = _plan(type(self), tuple(shapes.items()))
        memory = np.zeros(plan.length)
        words = np.frombuffer(self, dtype=np.int64)  # type: ignore[call-overload]  # a structure is a writable buffer
        words[plan.parts] = plan.numbers
        words[plan.pointers] += memory.__array_interface__["data"][0]
        for name in shapes:
            self.__dict__.pop(f"_{name}", None)
        self.__dict__.setdefault("_blocks", {}).update(dict.fromkeys(shapes, (memory, plan)))

    def __getattr__(self, name: str) -> Any:
        """Create the array of an allocated field when Python first reads it; most are never read by Python."""
        field = name.removeprefix("_")
        blocks = self.__dict__.get("_blocks", {})
        if field not in blocks:
            raise AttributeError(f"record {type(self).__name__}: {field!r} is not a field, or not assigned")
        memory, plan = blocks[field]
        begin, end, dtype, shape = plan.arrays[field]
        array = self.__dict__[name] = memory[begin:end].view(dtype).reshape(shape)
        return array

    def duplicate(self) -> Self:
        """A copy with the same numbers, which shares the arrays."""
        other = type(self)()
        restore(other, self)
        return other


def restore(target: Record, source: Record) -> None:
    """Copy a record into another of its class: the numbers, and references to the same arrays and records."""
    ctypes.memmove(ctypes.addressof(target), ctypes.addressof(source), ctypes.sizeof(target))
    target.__dict__.clear()
    target.__dict__.update(source.__dict__)
    target.__dict__["_blocks"] = dict(source.__dict__.get("_blocks", {}))


@dataclass(frozen=True, eq=False)
class _Plan:
    """The layout of arrays in one block of memory."""

    length: int  # in words of eight bytes
    parts: NDArray[np.intp]  # of the record
    numbers: NDArray[np.int64]  # values of the parts: offsets in bytes, and lengths
    pointers: NDArray[np.intp]  # parts that are offsets
    arrays: dict[str, tuple[int, int, np.dtype[Any], tuple[int, ...]]]  # begin, end, dtype, shape


@lru_cache(maxsize=64)
def _plan(record: type[Record], shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> _Plan:
    parts: list[int] = []
    numbers: list[int] = []
    pointers, arrays, begin = [], {}, 0
    for name, shape in shapes:
        field = record.__fields__[name]
        assert isinstance(field.type, ArrayType)
        assert len(shape) == field.type.ndim, name
        end = begin + -(-prod(shape) * field.type.dtype.itemsize // 8)
        arrays[name] = begin, end, field.type.dtype, shape
        pointers.append(field.begin)
        parts += range(field.begin, field.begin + 1 + len(shape))
        numbers += [8 * begin, *shape]
        begin = end
    return _Plan(begin, np.array(parts, dtype=np.intp), np.array(numbers), np.array(pointers, dtype=np.intp), arrays)


# ------------------------------------------------------------------------------------------- calls of kernels

# void kernel(const double* const* arg, double* const* res)
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def call_kernel(function: int, arguments: Sequence[NDArray[Any]], results: Sequence[NDArray[Any]]) -> None:
    """Call the kernel at an address with these arrays."""
    bound_kernel(function, arguments, results)()


def bound_kernel(function: int, arguments: Sequence[NDArray[Any]], results: Sequence[NDArray[Any]]) -> Callable[[], None]:
    """A call of the kernel at an address on fixed arrays."""
    tables = [(ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays]) for arrays in (arguments, results)]
    prototype: Callable[[int], Callable[[int, int], None]] = KERNEL
    run, given, taken = prototype(function), *(ctypes.addressof(table) for table in tables)
    alive = (tables, arguments, results)  # keeps alive what the pointers point to

    def call() -> None:
        run(given, taken)
        assert alive

    return call

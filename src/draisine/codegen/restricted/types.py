"""Types of restricted Python: the annotations of functions and records, their LLVM types, and the memory of records.

A value consists of one or more LLVM values, its *parts*: a complex number of two, an array of a pointer and its lengths. Arrays
are C-contiguous.

Records: memory that Python and compiled code share, declared once by a class with annotated fields; calls of kernels.

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
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _ctypes import _PyCStructType as _StructureType
else:
    _StructureType = type(ctypes.Structure)


@dataclass(frozen=True)
class Type:
    """A type by its name in messages and the LLVM types of its parts."""

    name: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


INT, REAL = Type("int", ("i64",)), Type("float", ("double",))
BOOL, COMPLEX = Type("bool", ("i1",)), Type("complex", ("double", "double"))
NOTHING = Type("None", ())

_ELEMENTS: dict[str, tuple[Type, np.dtype[Any]]] = {
    "int": (INT, np.dtype(np.int64)),
    "int32": (INT, np.dtype(np.int32)),
    "float": (REAL, np.dtype(np.float64)),
    "complex": (COMPLEX, np.dtype(np.complex128)),
}


@dataclass(frozen=True)
class ArrayType(Type):
    """An array of `ndim` axes; one without lengths (`bare`) is a pointer to numbers."""

    element: str
    ndim: int
    bare: bool

    @staticmethod
    def of(element: str, ndim: int = 1, bare: bool = False) -> ArrayType:
        parts = ("ptr",) if bare else ("ptr", *["i64"] * ndim)
        return ArrayType(f"array of {element}{f' with {ndim} axes' if ndim > 1 else ''}", parts, element, ndim, bare)

    @property
    def scalar(self) -> Type:
        """The type of its elements once they are read."""
        return _ELEMENTS[self.element][0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return _ELEMENTS[self.element][1]

    @property
    def row(self) -> ArrayType:
        """The type of its slices along the first axis."""
        return ArrayType.of(self.element, self.ndim - 1)


@dataclass(frozen=True)
class RecordType(Type):
    """A reference to a record."""

    record: type[Any]

    @staticmethod
    def of(record: type[Any]) -> RecordType:
        return RecordType(record.__name__, ("ptr",), record)


@dataclass(frozen=True)
class RecordsType(Type):
    """A read-only list of references to records of one class."""

    record: type[Any]

    @staticmethod
    def of(record: type[Any]) -> RecordsType:
        return RecordsType(f"list of {record.__name__}", ("ptr", "i64"), record)


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple of values."""

    items: tuple[Type, ...]

    @staticmethod
    def of(items: tuple[Type, ...]) -> TupleType:
        parts = tuple(part for item in items for part in item.parts)
        return TupleType(f"tuple of {', '.join(str(item) for item in items)}", parts, items)


# Annotations. To a type checker the aliases are NumPy arrays.
Vector = Annotated[NDArray[np.float64], ArrayType.of("float")]
Matrix = Annotated[NDArray[np.float64], ArrayType.of("float", 2)]
Cube = Annotated[NDArray[np.float64], ArrayType.of("float", 3)]
Integers = Annotated[NDArray[np.int64], ArrayType.of("int")]
IntegerMatrix = Annotated[NDArray[np.int64], ArrayType.of("int", 2)]
ShortIntegers = Annotated[NDArray[np.int32], ArrayType.of("int32")]
ComplexVector = Annotated[NDArray[np.complex128], ArrayType.of("complex")]
ComplexMatrix = Annotated[NDArray[np.complex128], ArrayType.of("complex", 2)]
ComplexCube = Annotated[NDArray[np.complex128], ArrayType.of("complex", 3)]
# Functions of these are generic: compiled for each type they are called with.
Number = TypeVar("Number", float, complex)
Numbers = TypeVar("Numbers", Vector, ComplexVector)
NumberMatrix = TypeVar("NumberMatrix", Matrix, ComplexMatrix)
AnyIntegers = TypeVar("AnyIntegers", Integers, ShortIntegers)

_PLAIN: dict[Any, Type] = {int: INT, float: REAL, bool: BOOL, complex: COMPLEX, None: NOTHING, type(None): NOTHING}


def type_of(annotation: str, module: str) -> Type | TypeVar:
    """The type of an annotation, evaluated in its module; TypeError if it is not a type of restricted Python."""
    return _meaning(eval(annotation, vars(sys.modules[module])), annotation)


def _meaning(given: Any, annotation: str) -> Type | TypeVar:
    if isinstance(given, TypeVar):
        return given
    for marked in getattr(given, "__metadata__", ()):
        if isinstance(marked, ArrayType):
            return marked
    if get_origin(given) is tuple:
        items = [_meaning(item, annotation) for item in get_args(given)]
        return TupleType.of(tuple(item for item in items if isinstance(item, Type)))
    if get_origin(given) is list:
        return RecordsType.of(get_args(given)[0])
    if isinstance(given, type) and hasattr(given, "__fields__"):
        return RecordType.of(given)
    try:
        return _PLAIN[given]
    except (KeyError, TypeError):
        raise TypeError(f"{annotation!r} is not a type of restricted Python") from None


def constraints(variable: TypeVar) -> tuple[Type, ...]:
    """The types that a type variable may be."""
    found = (_meaning(given, variable.__name__) for given in variable.__constraints__)
    return tuple(one for one in found if isinstance(one, Type))


# ------------------------------------------------------------------------------------------------------- translation


@dataclass(frozen=True)
class Options:
    """Options of the translation.

    `fixed` are fields of records with constant values: code that they exclude is left out, with all that only it calls. With
    `contract` a product and a sum may be fused into one instruction; with `distinct` the arrays of a call do not overlap.
    """

    fixed: Mapping[tuple[type[Any], str], int] = field(default_factory=dict)
    contract: bool = False
    distinct: bool = False


_NUMBERS = {INT: ctypes.c_int64, REAL: ctypes.c_double}


class Field(NamedTuple):
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

    def clone(self) -> Self:
        """A copy with arrays of its own. All of them were allocated at once; those that were assigned are not copied."""
        other = type(self)()
        blocks = self.__dict__["_blocks"]
        memory, plan = next(iter(blocks.values()))
        copied = memory.copy()
        words = np.frombuffer(other, dtype=np.int64)  # type: ignore[call-overload]  # a structure is a writable buffer
        words[:] = np.frombuffer(self, dtype=np.int64)  # type: ignore[call-overload]
        words[plan.pointers] += copied.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        other.__dict__["_blocks"] = dict.fromkeys(blocks, (copied, plan))
        return other

    def content(self) -> tuple[bytes, list[NDArray[Any]]]:
        """Copies of the numbers and of all allocated arrays, for `set_content`; assigned arrays and other records are not."""
        return bytes(self), [memory.copy() for memory in self._allocated()]

    def set_content(self, content: tuple[bytes, list[NDArray[Any]]]) -> None:
        """Set numbers and arrays to what they were; nothing may have been allocated or assigned since."""
        numbers, arrays = content
        ctypes.memmove(ctypes.addressof(self), numbers, len(numbers))
        for memory, array in zip(self._allocated(), arrays, strict=True):
            memory[...] = array

    def _allocated(self) -> list[NDArray[Any]]:
        """The blocks of memory of allocated arrays."""
        return list({id(memory): memory for memory, _ in self.__dict__.get("_blocks", {}).values()}.values())

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


def allocated(record: Record) -> tuple[str, ...]:
    """The fields of a record that `allocate` has given arrays."""
    return tuple(record.__dict__.get("_blocks", {}))


class _Plan(NamedTuple):
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

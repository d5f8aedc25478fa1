"""Types of restricted Python: the annotations of functions and records, and their LLVM types.

A value consists of one or more LLVM values, its *parts*: a complex number of two, an array of a pointer and its lengths. Arrays
are C-contiguous.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray


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

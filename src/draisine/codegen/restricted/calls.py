"""Calls of kernels by their address, for restricted functions and for Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

# void kernel(const double* const* arg, double* const* res)
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def call_kernel(function: int, arguments: Sequence[NDArray[Any]], results: Sequence[NDArray[Any]]) -> None:
    """Call the kernel at an address with these arrays."""
    bound_kernel(function, arguments, results)()


def bound_kernel(function: int, arguments: Sequence[NDArray[Any]], results: Sequence[NDArray[Any]]) -> Callable[[], None]:
    """A call of the kernel at an address on arrays that stay where they are."""
    tables = [(ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays]) for arrays in (arguments, results)]
    prototype: Callable[[int], Callable[[int, int], None]] = KERNEL
    run, given, taken = prototype(function), *(ctypes.addressof(table) for table in tables)
    alive = (tables, arguments, results)  # what the pointers point to

    def call() -> None:
        run(given, taken)
        assert alive

    return call

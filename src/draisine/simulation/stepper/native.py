"""Views of memory by address, and a call by address, for the starts of ensembles."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.restricted.calls import KERNEL


def reals_at(address: int, length: int) -> NDArray[np.float64]:
    """The doubles at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * length).from_address(address))


def matrix_at(address: int, rows: int, columns: int) -> NDArray[np.float64]:
    """The doubles at an address, by rows."""
    return reals_at(address, rows * columns).reshape(rows, columns)


def integers_at(address: int, length: int) -> NDArray[np.int64]:
    """The 64-bit integers at an address."""
    return np.ctypeslib.as_array((ctypes.c_int64 * length).from_address(address))


def call_kernel(function: int, arguments: int, results: int) -> None:
    """Call the kernel at an address with tables of pointers at two others."""
    prototype: Callable[[int], Callable[[int, int], None]] = KERNEL
    prototype(function)(arguments, results)

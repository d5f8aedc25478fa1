"""What the stepping loop needs from beneath Python: views of memory by address, and a call by address.

Here they are in plain Python, so that the loop can be run and followed in the interpreter; `stored` gives Numba its own
version of each.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.simulation.stepper.layout import Block, SchemeBlock

# void kernel(const double* const* arg, double* const* res)
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def reals_at(address: int, length: int) -> NDArray[np.float64]:
    """The doubles at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * length).from_address(address))


def matrix_at(address: int, rows: int, columns: int) -> NDArray[np.float64]:
    """The doubles at an address, by rows."""
    return reals_at(address, rows * columns).reshape(rows, columns)


def complexes_at(address: int, length: int) -> NDArray[np.complex128]:
    """The complex numbers at an address."""
    return reals_at(address, 2 * length).view(np.complex128)


def complex_matrix_at(address: int, rows: int, columns: int) -> NDArray[np.complex128]:
    """The complex numbers at an address, by rows."""
    return complexes_at(address, rows * columns).reshape(rows, columns)


def integers_at(address: int, length: int) -> NDArray[np.int64]:
    """The 64-bit integers at an address."""
    return np.ctypeslib.as_array((ctypes.c_int64 * length).from_address(address))


def block_at(address: int) -> Any:
    """The `Block` at an address; its fields are read and written as attributes."""
    return Block.from_address(address)


def plain_block_at(address: int) -> Any:
    """The same for a run by an explicit method: compiled code leaves out what only implicit ones need."""
    return Block.from_address(address)


def scheme_at(address: int) -> Any:
    """The `SchemeBlock` at an address."""
    return SchemeBlock.from_address(address)


def call_kernel(function: int, arguments: int, results: int) -> None:
    """Call the kernel at an address with tables of pointers at two others."""
    prototype: Callable[[int], Callable[[int, int], None]] = KERNEL
    prototype(function)(arguments, results)

"""Memory of machine code, on Linux: written first, then made readable and executable, never writable and executable at once.

Some systems forbid executable memory that was writable before (SELinux without `execmem`, sandboxes); `ExecutableMemory.seal`
then raises OSError.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache
from typing import Any

_PROTECT_READ, _PROTECT_EXECUTE = 1, 4  # PROT_READ and PROT_EXEC of Linux


def is_supported() -> bool:
    """Whether machine code is placed in memory here: processes of 64 bits on x86-64 under Linux."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and os.uname().machine == "x86_64"


class ExecutableMemory:
    """So many bytes at `address`, of zeros, to be written through `buffer` until `seal`; unmapped when this object is gone."""

    def __init__(self, size: int) -> None:
        self._pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._size = size
        self._view = ctypes.c_char.from_buffer(self._pages)  # keeps the pages where they are
        self.address = ctypes.addressof(self._view)

    @property
    def buffer(self) -> mmap.mmap:
        """The bytes; after `seal` they may be read alone: a write would end the process."""
        return self._pages

    def seal(self) -> None:
        """Make the memory executable, and no longer writable."""
        if _mprotect()(self.address, self._size, _PROTECT_READ | _PROTECT_EXECUTE) != 0:
            error = ctypes.get_errno()
            raise OSError(error, f"memory cannot be made executable: {os.strerror(error)}")


@cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function

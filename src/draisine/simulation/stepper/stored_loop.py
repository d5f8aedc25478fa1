"""The stepping loop as machine code: compiled by Numba once per machine (`compiling`), then loaded from disk without it.

It is compiled twice from the same text: for explicit methods alone, which is quickly done and all that most runs need, and with
the implicit ones. Importing Numba costs half a second and compiling the loop several; a stored object costs a millisecond.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, load_object

SYMBOL = "draisine_advance"
# The files that the loop is made of, callees first; they are read to see whether it is still the same, and not imported.
LOOP = (
    "explicit_rk",
    "linear_solver",
    "dae_residuals",
    "implicit_newton",
    "error_estimates",
    "step_size_control",
    "event_location",
    "recording",
    "loop",
)


@dataclass(frozen=True)
class Code:
    """A compiled function of one address, that of a block or a table; the stepping loop answers with a reason of `layout`."""

    loaded: LoadedObject

    @property
    def function(self) -> Callable[[int], int]:
        # A plain CFUNCTYPE lets go of the interpreter lock during the call.
        prototype: Callable[[int], Callable[[int], int]] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        return prototype(self.loaded.address)


@cache
def stepping_loop(implicit: bool = False) -> Code:
    """The loop, from disk if this machine has compiled it before."""

    def made() -> bytes:
        from draisine.simulation.stepper.compiling import compile_loop

        return compile_loop(implicit)

    return Code(load_object(cached_object(_key(implicit), made), SYMBOL))


def _key(implicit: bool) -> str:
    sha = hashlib.sha256()
    here = Path(__file__).parent
    for name in ("layout", "native", *LOOP, "compiling"):
        sha.update((here / f"{name}.py").read_bytes())
    sha.update((here.parents[1] / "numerics" / "sparse_qr.py").read_bytes())
    kind = "implicit" if implicit else "explicit"
    return f"stepping loop of {kind} methods; {sha.hexdigest()}; numba {_numba()}; {host_key()}"


def _numba() -> str:
    """Numba's version, from the file that tells it: asking for the metadata of packages takes longer than loading the loop."""
    found = find_spec("numba")
    if found is not None and found.origin is not None:
        told = re.search(r'"version": "([^"]+)"', Path(found.origin).with_name("_version.py").read_text())
        if told is not None:
            return told[1]
    from importlib.metadata import version

    return version("numba")

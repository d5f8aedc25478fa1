"""Kernels of several lanes at once: the same code on vectors of doubles.

    void kernel(const double* const* arg, double* const* res)

as in `llvm`, but every number is `LANES` numbers side by side: entry i of lane k lies at place LANES · i + k. Each lane gets what
the scalar kernel would give it, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.emitter import ScalarType
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.jit.kernel import parts_of
from draisine.codegen.jit.llvm import SYMBOL, functions_of
from draisine.codegen.passes import ALL, Passes
from draisine.program.program import Program

LANES = 4  # doubles in a register of AVX2; wider registers take two instructions' work at once, narrower ones split it
VECTOR = ScalarType(LANES)

_CODE_VERSION = 6


@dataclass(frozen=True, eq=False)
class VectorKernel:
    """Machine code for `LANES` lanes; it stays loaded as long as this object lives."""

    address: int
    code: LoadedObject


def compile_vector(program: Program, passes: Passes = ALL) -> VectorKernel:
    """Machine code of a program of (t, x, u, p) over lanes, from the cache on disk if it was compiled before.

    It takes extended parameters, as the program's `HoistedKernel` does.
    """
    key = f"wide kernel of {LANES}, code {_CODE_VERSION}; {passes.key}; {program.digest}; {host_key()}"
    loaded = load_object(cached_object(key, lambda: compile_ir(wide_text(program, passes), optimisation=1)), SYMBOL)
    return VectorKernel(loaded.address, loaded)


def wide_text(program: Program, passes: Passes = ALL) -> str:
    """The module as text."""
    declared, functions = functions_of({SYMBOL: parts_of(program, passes).evaluation}, passes, VECTOR)
    return "\n".join([*declared, *functions])

"""Kernels of runs: what depends on parameters alone is found beforehand, once per run.

    void kernel(const double* const* arg, double* const* res)

as in `llvm`, but where a program takes p this one reads p and, after it, numbers that `HoistedKernel.extended` puts there.
Whoever calls such a kernel passes extended parameters; other kernels may be given the same, for they read no further than p.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.kernels.cache import cached_object, host_key
from draisine.kernels.engine import compile_ir, load_object
from draisine.kernels.kernel import Kernel
from draisine.program.program import Program, Slot

if TYPE_CHECKING:
    from draisine.kernels.passes.hoisting import Split

PARAMETERS = "p"  # the slot by which a program is split
PROLOGUE, COUNT = "prologue", "hoisted_count"

_CODE_VERSION = 2  # raise it when other code is generated for the same program
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int64)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, eq=False)
class HoistedKernel:
    """Machine code of a program of (t, x, u, p). `kernel` takes extended parameters."""

    kernel: Kernel
    parameters: int  # how many the program takes
    count: int  # how many numbers follow them
    slot: int  # of the parameters among the arguments

    @property
    def address(self) -> int:
        return self.kernel.address

    def extended(self, parameters: ArrayLike) -> NDArray[np.float64]:
        """Parameters, or rows of them, followed by what the kernel needs of them."""
        given = np.asarray(parameters, dtype=np.float64)
        if not self.count:
            return given
        rows = given.reshape(math.prod(given.shape[:-1]), self.parameters)  # constants alone may be found beforehand too
        made = np.zeros((len(rows), self.parameters + self.count))
        made[:, : self.parameters] = rows
        self._find(made)
        return made.reshape(*given.shape[:-1], self.parameters + self.count)

    def _find(self, made: NDArray[np.float64]) -> None:
        run = _RUN(self.kernel.code.address_of(PROLOGUE))
        arguments, results = (ctypes.c_void_p * (self.slot + 1))(), (ctypes.c_void_p * 1)()
        begin, width = made.ctypes.data, made.strides[0]
        for row in range(len(made)):
            arguments[self.slot] = begin + row * width
            results[0] = begin + row * width + 8 * self.parameters
            run(ctypes.addressof(arguments), ctypes.addressof(results))


def compile_hoisted(program: Program) -> HoistedKernel:
    """Machine code of a program for runs, from the cache on disk if it was compiled before.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    >>> kernel = compile_hoisted(Program.build("fall", {"x": x, "p": p}, {"y": x * ca.sin(p[0]) / p[1]}))
    >>> kernel.count, kernel.extended([[0.0, 2.0], [0.0, 4.0]])[:, 2:].tolist()
    (2, [[0.0, 0.5], [0.0, 0.25]])
    """
    key = f"hoisted kernel, code {_CODE_VERSION}; {program.digest}; {host_key()}"
    symbols = ("kernel", "kernel_map", "kernel_flat", PROLOGUE, COUNT)
    code = load_object(cached_object(key, lambda: compile_ir(_text(program), optimisation=1)), *symbols)
    count: Any = _COUNT(code.address_of(COUNT))()
    slot = parameter_slot(program)
    kernel = Kernel(program.name, _inputs(program, slot, int(count)), program.outputs, code.address, code)
    return HoistedKernel(kernel, 0 if slot is None else program.inputs[slot].size, int(count), slot or 0)


def _inputs(program: Program, slot: int | None, count: int) -> tuple[Slot, ...]:
    """The slots of a program, that of the parameters as long as the kernel reads it."""
    return tuple(Slot(s.name, (s.size + count, 1)) if k == slot and count else s for k, s in enumerate(program.inputs))


def parameter_slot(program: Program) -> int | None:
    """Where the parameters stand among a program's arguments."""
    names = [slot.name for slot in program.inputs]
    return names.index(PARAMETERS) if PARAMETERS in names else None


def parts_of(program: Program) -> Split:
    """A program as prologue and evaluation."""
    from draisine.kernels.passes import improved_and_split
    from draisine.kernels.straight import straighten

    slot = parameter_slot(program)
    return improved_and_split(straighten(program.tape), slot, 0 if slot is None else program.inputs[slot].size)


def _text(program: Program) -> str:
    from draisine.kernels.llvm import SYMBOL, entry_points, functions_of

    parts = parts_of(program)
    around = entry_points(_inputs(program, parameter_slot(program), parts.count), program.outputs)
    declared, functions = functions_of({SYMBOL: parts.evaluation, f"{PROLOGUE}_of_p": parts.prologue})
    entry = (
        f"define void @{PROLOGUE}(ptr %arg, ptr %res) nounwind {{\ncall void @{PROLOGUE}_of_p(ptr %arg, ptr %res)\nret void\n}}"
    )
    count = f"define i64 @{COUNT}() nounwind {{\nret i64 {parts.count}\n}}"
    return "\n".join([*declared, *functions, *around, entry, count])

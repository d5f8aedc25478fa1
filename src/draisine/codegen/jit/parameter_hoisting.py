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

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import compile_ir, load_object
from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.solvers import solvers
from draisine.codegen.passes import ALL, Passes
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program, Slot

if TYPE_CHECKING:
    from draisine.codegen.passes.pipeline import Split

PARAMETERS = "p"  # the slot by which a program is split
PROLOGUE, PROLOGUE_MAP, COUNT = "prologue", "prologue_map", "hoisted_count"

_CODE_VERSION = 6  # raise it when other code is generated for the same program
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int64)
_MAP = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 4)


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
        """Fill in what follows the parameters, row by row, in one call."""
        run = _MAP(self.kernel.code.address_of(PROLOGUE_MAP))
        begin, width = made.ctypes.data, made.strides[0] // 8
        arguments, steps = (ctypes.c_void_p * (self.slot + 1))(), (ctypes.c_int64 * (self.slot + 1))()
        arguments[self.slot], steps[self.slot] = begin, width
        results, results_steps = (ctypes.c_void_p * 1)(begin + 8 * self.parameters), (ctypes.c_int64 * 1)(width)
        run(len(made), arguments, steps, results, results_steps)


def compile_hoisted(program: Program | LinearSolveProgram, passes: Passes = ALL) -> HoistedKernel:
    """Machine code of a program for runs, from the cache on disk if it was compiled before.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    >>> kernel = compile_hoisted(Program.build("fall", {"x": x, "p": p}, {"y": x * ca.sin(p[0]) / p[1]}))
    >>> kernel.count, kernel.extended([[0.0, 2.0], [0.0, 4.0]])[:, 2:].tolist()
    (2, [[0.0, 0.5], [0.0, 0.25]])
    """
    key = f"hoisted kernel, code {_CODE_VERSION}; {passes.key}; {program.digest}; {host_key()}"
    symbols = ("kernel", "kernel_map", "kernel_flat", PROLOGUE_MAP, COUNT)
    using = solvers() if isinstance(program, LinearSolveProgram) else None
    code = load_object(cached_object(key, lambda: compile_ir(_text(program, passes), optimisation=1)), *symbols, using=using)
    count: Any = _COUNT(code.address_of(COUNT))()
    slot = parameter_slot(program)
    kernel = Kernel(program.name, _inputs(program, slot, int(count)), program.outputs, code.address, code)
    return HoistedKernel(kernel, 0 if slot is None else program.inputs[slot].size, int(count), slot or 0)


def _inputs(program: Program | LinearSolveProgram, slot: int | None, count: int) -> tuple[Slot, ...]:
    """The slots of a program, that of the parameters as long as the kernel reads it."""
    return tuple(Slot(s.name, (s.size + count, 1)) if k == slot and count else s for k, s in enumerate(program.inputs))


def parameter_slot(program: Program | LinearSolveProgram) -> int | None:
    """Where the parameters stand among a program's arguments."""
    names = [slot.name for slot in program.inputs]
    return names.index(PARAMETERS) if PARAMETERS in names else None


def parts_of(program: Program, passes: Passes = ALL) -> Split:
    """A program as prologue and evaluation."""
    from draisine.codegen.jit.ssa import to_ssa
    from draisine.codegen.passes.pipeline import split

    slot = parameter_slot(program)
    return split(to_ssa(program.tape), slot, 0 if slot is None else program.inputs[slot].size, passes)


def _text(program: Program | LinearSolveProgram, passes: Passes) -> str:
    from draisine.codegen.jit.llvm import SYMBOL, entry_points, functions_of, map_loop

    slot = parameter_slot(program)
    if isinstance(program, LinearSolveProgram):
        from draisine.codegen.jit.modules import functions_of_solved
        from draisine.codegen.passes.pipeline import parts_of_solved

        stages = parts_of_solved(program, passes, slot)
        count, functions = stages.hoisted, functions_of_solved(program, stages, passes)
    else:
        parts = parts_of(program, passes)
        declared, made = functions_of({SYMBOL: parts.evaluation, PROLOGUE: parts.prologue}, passes)
        count, functions = parts.count, [*declared, *made]
    around = entry_points(_inputs(program, slot, count), program.outputs)
    entry = map_loop(PROLOGUE_MAP, PROLOGUE, (slot or 0) + 1, 1)
    return "\n".join([*functions, *around, entry, f"define i64 @{COUNT}() nounwind {{\nret i64 {count}\n}}"])

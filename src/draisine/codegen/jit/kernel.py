"""Compiled programs: callable on arrays, over batches, and by address from other compiled code.

A `HoistedKernel` reads values that depend on parameters alone after its parameters; `extended` computes them once per run.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.cache import cached_object, is_stored, stored_object, without_collection
from draisine.codegen.host import lane_count
from draisine.codegen.jit.beside import compiler_beside
from draisine.codegen.jit.engine import LoadedObject, compile_kernel, kernel_key, load_kernel
from draisine.codegen.jit.python_call import is_compiled, quick_call, quick_map
from draisine.codegen.jit.slot_arrays import batch, check_count, column, sample_count, sample_rows, samples_of, targets
from draisine.codegen.jit.solvers import solvers
from draisine.codegen.passes import ALL, COUNT, PROLOGUE, PROLOGUE_MAP, Guards, Passes, extended_inputs, parameter_slot
from draisine.errors import ArgumentError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import LazyProgram, Program, Slot

Array = NDArray[np.float64]

_CODE_VERSION = 18  # raise these when other code is generated for the same program
_HOISTED_VERSION = 14
_GUARDED_VERSION = 19

_CALLS_BEFORE_QUICK = 50  # the others are slower by microseconds, and load nothing
_CALLS_BEFORE_COMPILING = 5000  # where quick calls are not on disk: compiling them takes as long as so many calls lose
_LONG_CODE = 200_000  # bytes: such kernels take tens of microseconds, during which other threads of Python may run
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int64)
_MAP = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 4)


class _Buffer(threading.local):
    """Memory for the arguments and results of a call, contiguous. Every thread has its own, allocated by its first call."""

    def __init__(self, sizes: Sequence[int], results: int) -> None:
        ends = list(accumulate(sizes, initial=0))
        numbers = np.zeros(ends[-1] + results)
        views = tuple([numbers[a:b] for a, b in pairwise(ends)])
        self.parts = int(numbers.ctypes.data), views, numbers[ends[-1] :]  # address, arguments, results


class _Documentation:
    """The documentation of the class `Kernel`, and of each kernel: written when it is read, since most never are."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, kernel: Kernel | None, owner: type[Kernel]) -> str | None:
        return self._of_class if kernel is None else _documentation(kernel)


def _documentation(kernel: Kernel) -> str:
    import textwrap

    lines = [
        f"Compiled program {kernel.program_name!r}.",
        "",
        f"kernel({', '.join(s.name for s in kernel.inputs)}) returns ({', '.join(s.name for s in kernel.outputs)}).",
        "kernel.map(…) runs over a batch: arguments may have a leading axis of samples.",
    ]
    for title, slots in (("Arguments", kernel.inputs), ("Results", kernel.outputs)):
        lines += ["", title]
        for slot in slots:
            lines += textwrap.wrap(slot.describe(), 110, initial_indent="    ", subsequent_indent="        ")
    return "\n".join(lines)


def _documented(kernels: type[Kernel]) -> type[Kernel]:
    """The class with a documentation of each of its kernels."""
    kernels.__doc__ = _Documentation(kernels.__doc__)  # type: ignore[assignment]
    return kernels


@_documented
@dataclass(frozen=True, eq=False)
class Kernel:
    """Machine code of a program. `help(kernel)` lists its arguments and results.

    `address` is that of `void f(const double* const* arg, double* const* res)`: one pointer per slot, to its numbers in
    column-major order. The code stays loaded as long as the kernel lives.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> kernel = compile(Program.build("squares", {"x": (x, ("a", "b"))}, {"y": x**2}))
    >>> kernel([2.0, 3.0])
    (array([4., 9.]),)
    >>> kernel.map([[2.0, 3.0], [4.0, 5.0]])
    (array([[ 4.,  9.],
           [16., 25.]]),)
    """

    program_name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    address: int
    code: LoadedObject = field(repr=False)
    _run: Any = field(init=False, repr=False)
    _map: Any = field(init=False, repr=False)
    _buffer: _Buffer = field(init=False, repr=False)
    _results: tuple[tuple[slice, tuple[int, int] | None], ...] = field(init=False, repr=False)
    _calls: list[int] = field(init=False, repr=False)  # so far, single and of batches

    def __post_init__(self) -> None:
        ends = list(accumulate((slot.size for slot in self.outputs), initial=0))
        shapes = (None if slot.shape[1] == 1 else slot.shape for slot in self.outputs)
        hidden = {
            "_run": _RUN(self.code.address_of("kernel_flat")),
            "_map": _MAP(self.code.address_of("kernel_map")),
            "_buffer": _Buffer([slot.size for slot in self.inputs], ends[-1]),
            "_results": tuple((slice(*ab), shape) for ab, shape in zip(pairwise(ends), shapes, strict=True)),
            "_calls": [0, 0],
        }
        for name, value in hidden.items():
            object.__setattr__(self, name, value)

    def __call__(self, *arguments: ArrayLike, out: Array | tuple[Array, ...] | None = None) -> tuple[Array, ...]:
        """Run once. Column results are one-dimensional, matrices two-dimensional.

        - `arguments`: numbers or arrays, one per slot; arrays of doubles are read where they are.
        - `out`: arrays of doubles that receive the results, one per result and of its shape; a single array where there is one
          result. They are returned, and nothing is allocated. They may overlap the arguments.
        """
        results = self._quick(arguments, out)
        return self._call_any(arguments, out) if results is None else results

    def _quick(self, arguments: tuple[ArrayLike, ...], out: Any) -> tuple[Array, ...] | None:
        """Replaced by a built-in function (`python_call`) after some calls: processes that make no more need not load it."""
        count = self._calls[0] = self._calls[0] + 1
        if _is_worth_quick(count):
            unlocked = self.code.size > _LONG_CODE
            quick = quick_call(self.address, self.inputs, self.outputs, self.code, unlocked)
            object.__setattr__(self, "_quick", quick)
            return quick(arguments, out)
        return None

    def _call_any(self, arguments: tuple[ArrayLike, ...], out: Any) -> tuple[Array, ...]:
        """Run once with arguments of any kind, through a buffer; all are converted first: a conversion may call this kernel."""
        name = self.program_name
        check_count(name, self.inputs, arguments)
        columns = [column(name, slot, argument) for slot, argument in zip(self.inputs, arguments, strict=True)]
        given = None if out is None else targets(name, self.outputs, out)
        address, views, buffer = self._buffer.parts
        for view, numbers in zip(views, columns, strict=True):
            view[...] = numbers
        self._run(address)
        numbers = buffer.copy() if given is None else buffer
        results = tuple([numbers[k] if shape is None else numbers[k].reshape(shape, order="F") for k, shape in self._results])
        if given is None:
            return results
        for target, result in zip(given, results, strict=True):
            target[...] = result
        return given

    def map(
        self, *arguments: ArrayLike, out: Array | tuple[Array, ...] | None = None, threads: int | None = None
    ) -> tuple[Array, ...]:
        """Run over a batch, in one call of compiled code and without the interpreter's lock.

        - `arguments`: each has a leading axis of samples, or is the same for all; results have the axis.
        - `out`: arrays that receive the results, as in a call.
        - `threads`: that share the samples; one unless given. Results do not depend on it.
        """
        name = self.program_name
        check_count(name, self.inputs, arguments)
        batches = [batch(name, slot, a) for slot, a in zip(self.inputs, arguments, strict=True)]
        samples = sample_count(name, self.inputs, batches, arguments)
        if out is None:
            results = [np.empty((samples, slot.size)) for slot in self.outputs]
            self._run_batch(samples, batches, results, threads)
            return tuple([samples_of(slot, r) for slot, r in zip(self.outputs, results, strict=True)])
        given = targets(name, self.outputs, out, samples)
        results = [sample_rows(slot, target, batches) for slot, target in zip(self.outputs, given, strict=True)]
        self._run_batch(samples, batches, results, threads)
        for slot, target, rows in zip(self.outputs, given, results, strict=True):
            if not np.may_share_memory(target, rows):
                target[...] = samples_of(slot, rows)
        return given

    def _run_batch(self, samples: int, batches: Sequence[Array], results: Sequence[Array], threads: int | None) -> None:
        """Fill the rows of `results`, from rows of `batches` or from columns that all samples share."""
        if threads is not None and not (type(threads) is int and threads > 0):
            raise ArgumentError(f"kernel {self.program_name!r}: threads is a positive integer or None, got {threads!r}")
        whole = tuple(batches), tuple(results)
        if threads is None or threads == 1 or samples < 2:
            self._run_rows(samples, *whole)
            return
        edges = [round(k * samples / threads) for k in range(threads + 1)]

        def part(ends: tuple[int, int]) -> None:
            first, last = ends
            parts = (tuple([a[first:last] if a.ndim == 2 else a for a in arrays]) for arrays in whole)
            self._run_rows(last - first, *parts)

        from draisine.numerics.parallel import map_in_threads  # imports process pools, which a run does not need

        for _ in map_in_threads(part, pairwise(edges), threads, ahead=threads):
            pass  # results are in place; an exception is raised here

    def _run_rows(self, samples: int, batches: tuple[Array, ...], results: tuple[Array, ...]) -> None:
        if self._quick_rows(samples, batches, results) is None:
            strides = ([a.strides[0] // 8 if a.ndim == 2 else 0 for a in arrays] for arrays in (batches, results))
            given, taken = map(_integers, strides)
            self._map(samples, _pointers(batches), given, _pointers(results), taken)

    def _quick_rows(self, samples: int, batches: tuple[Array, ...], results: tuple[Array, ...]) -> Any:
        """Replaced like `_quick`."""
        count = self._calls[1] = self._calls[1] + 1
        if _is_worth_quick(count):
            quick = quick_map(self.code.address_of("kernel_map"), self.inputs, self.outputs, self.code)
            object.__setattr__(self, "_quick_rows", quick)
            return quick(samples, batches, results)
        return None


def _is_worth_quick(count: int) -> bool:
    """Whether the call of this number loads quick calls. The disk is asked once."""
    return count > _CALLS_BEFORE_COMPILING or (count == _CALLS_BEFORE_QUICK + 1 and is_compiled())


def compile(
    program: Program | LazyProgram | LinearSolveProgram, vectorized: bool = False, passes: Passes = ALL, quick: bool = False
) -> Kernel:
    """Machine code of a program, from the cache on disk if it was compiled before.

    With `vectorized`, `map` computes several samples at a time in vector registers (`simd`), unless linear systems are solved.
    `passes` reduce the number of operations; parameters are not hoisted, since there is no run. `quick` code is for programs that
    run a few thousand times: it is compiled in a quarter of the time, takes 1.6 times as long, and gives the same bits.
    """
    kind: Literal["batch", "plain"] = "batch" if vectorized else "plain"
    return load(program, _code(_key(program, vectorized, passes), lambda: _text(program, kind, passes), quick))


def compile_guarded(program: Program, guards: Guards, passes: Passes = ALL, quick: bool = False) -> Kernel:
    """Machine code of a program that computes some results only under conditions, and else leaves their memory as it is: for
    calls by address. `quick`: see `compile`.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p")
    >>> program = Program.build("guarded", {"x": x, "p": p}, {"y": ca.vertcat(ca.sin(x), ca.exp(x))})
    >>> kernel = compile_guarded(program, Guards((((0, 1), (1, 0)),)))  # the second entry where p is not zero
    >>> kernel([0.5], [1.0])[0].round(3).tolist()
    [0.479, 1.649]
    """

    key = f"guarded kernel, code {_GUARDED_VERSION}; {passes.key}; {program.digest}; {guards.key}"
    return load(program, _code(key, lambda: _text(program, "plain", passes, guards), quick, branches=True))


def _code(key: str, text: Callable[[], str], quick: bool, branches: bool = False) -> bytes:
    """Object code stored under a key, or made of its text; optimized code where `quick` code suffices, if that is stored.
    `branches`: see `compile_kernel`."""
    optimized = f"{key}; {kernel_key()}"
    if not quick:
        return cached_object(optimized, lambda: compile_kernel(text(), branches=branches))
    beside, own = compiler_beside(), f"{key}; {kernel_key(quick)}"

    def make() -> bytes:
        return (None if beside is None else beside.take(own)) or compile_kernel(text(), quick)

    return stored_object(optimized) or cached_object(own, make)


def begin(program: Program | LazyProgram | LinearSolveProgram, hoisted: bool = False) -> None:
    """Have the quick code of `compile`, or of `compile_hoisted`, made by the process beside this one, if there is one and nothing
    is stored. The text is generated now."""
    beside, key = compiler_beside(), _hoisted_key(program, ALL) if hoisted else _key(program, False, ALL)
    if beside is not None and not any(is_stored(f"{key}; {kernel_key(quick)}") for quick in (False, True)):
        beside.ask(
            f"{key}; {kernel_key(True)}", without_collection(lambda: _text(program, "hoisted" if hoisted else "plain", ALL))
        )


def compiler(
    program: Program | LazyProgram | LinearSolveProgram, vectorized: bool = False, quick: bool = False, passes: Passes = ALL
) -> Callable[[], bytes]:
    """A function that returns the machine code, for `load`. The text is generated now, unless the code is stored; calls in
    other threads leave this one to generate the next text. `quick`: see `compile`."""
    key = _key(program, vectorized, passes)
    for level in (False, True) if quick else (False,):
        stored = stored_object(f"{key}; {kernel_key(level)}")
        if stored is not None:
            return lambda: stored
    text = without_collection(lambda: _text(program, "batch" if vectorized else "plain", passes))
    return lambda: cached_object(f"{key}; {kernel_key(quick)}", lambda: compile_kernel(text, quick))


def _hoisted_key(program: Program | LazyProgram | LinearSolveProgram, passes: Passes) -> str:
    return f"hoisted kernel, code {_HOISTED_VERSION}; {passes.key}; {program.digest}"


def _key(program: Program | LazyProgram | LinearSolveProgram, vectorized: bool, passes: Passes) -> str:
    kind = f"kernel of {lane_count()} samples" if vectorized else "kernel"
    return f"{kind}, code {_CODE_VERSION}; {passes.key}; {program.digest}"


def _text(
    program: Program | LazyProgram | LinearSolveProgram,
    kind: Literal["plain", "batch", "hoisted"],
    passes: Passes,
    guards: Guards | None = None,
) -> str:
    # imported here: the code generators are not needed when the cache has the code
    from draisine.codegen.jit.modules import text_of

    if isinstance(program, LinearSolveProgram):
        program = program.evaluated
    return text_of(program.build() if isinstance(program, LazyProgram) else program, kind, passes, guards)


def load(program: Program | LazyProgram | LinearSolveProgram, code: bytes) -> Kernel:
    """The kernel of machine code."""
    using = solvers() if isinstance(program, LinearSolveProgram) else None
    loaded = load_kernel(code, "kernel", "kernel_map", "kernel_flat", using=using)
    return Kernel(program.name, program.inputs, program.outputs, loaded.address, loaded)


def _pointers(arrays: Sequence[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])


def _integers(numbers: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(numbers))(*numbers)


# ------------------------------------------------------------------------------------------- hoisted parameters


@dataclass(frozen=True, eq=False)
class HoistedKernel:
    """Machine code of a program of (t, x, u, p). `kernel` takes extended parameters.

    Kernels that are not hoisted may be given the same: they read no further than p.
    """

    kernel: Kernel
    parameters: int  # number of parameters of the program
    count: int  # number of hoisted values after them
    slot: int  # of the parameters among the arguments

    @property
    def address(self) -> int:
        return self.kernel.address

    @property
    def prologue(self) -> int:
        """Address of the kernel that computes the hoisted values from the same arguments; 0 if there are none."""
        return self.kernel.code.address_of(PROLOGUE) if self.count else 0

    def extended(self, parameters: ArrayLike) -> NDArray[np.float64]:
        """Parameters, or rows of them, followed by their hoisted values."""
        given = np.asarray(parameters, dtype=np.float64)
        if not self.count:
            return given
        rows = given.reshape(math.prod(given.shape[:-1]), self.parameters)  # also without parameters: constants are hoisted too
        extended = np.zeros((len(rows), self.parameters + self.count))
        extended[:, : self.parameters] = rows
        self._run_prologue(extended)
        return extended.reshape(*given.shape[:-1], self.parameters + self.count)

    def _run_prologue(self, rows: NDArray[np.float64]) -> None:
        """Compute the hoisted values of all rows, in place, in one call."""
        run = _MAP(self.kernel.code.address_of(PROLOGUE_MAP))
        begin, width = rows.ctypes.data, rows.strides[0] // 8
        arguments, strides = (ctypes.c_void_p * (self.slot + 1))(), (ctypes.c_int64 * (self.slot + 1))()
        arguments[self.slot], strides[self.slot] = begin, width
        results, result_strides = (ctypes.c_void_p * 1)(begin + 8 * self.parameters), (ctypes.c_int64 * 1)(width)
        run(len(rows), arguments, strides, results, result_strides)


def compile_hoisted(program: Program | LinearSolveProgram, passes: Passes = ALL, quick: bool = False) -> HoistedKernel:
    """Machine code of a program with hoisted parameters, from the cache on disk if it was compiled before.

    `quick`: see `compile`.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    >>> kernel = compile_hoisted(Program.build("fall", {"x": x, "p": p}, {"y": x * ca.sin(p[0]) / p[1]}))
    >>> kernel.count, kernel.extended([[0.0, 2.0], [0.0, 4.0]])[:, 2:].tolist()
    (2, [[0.0, 0.5], [0.0, 0.25]])
    """
    key = _hoisted_key(program, passes)
    symbols = ("kernel", "kernel_map", "kernel_flat", PROLOGUE, PROLOGUE_MAP, COUNT)
    using = solvers() if isinstance(program, LinearSolveProgram) else None
    code = load_kernel(_code(key, lambda: _text(program, "hoisted", passes), quick), *symbols, using=using)
    count, slot = int(_COUNT(code.address_of(COUNT))()), parameter_slot(program)
    kernel = Kernel(program.name, extended_inputs(program, count), program.outputs, code.address, code)
    return HoistedKernel(kernel, 0 if slot is None else program.inputs[slot].size, count, slot or 0)

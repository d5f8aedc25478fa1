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

from draisine.codegen.cache import cached_object, stored_object
from draisine.codegen.jit.engine import LoadedObject, compile_kernel, kernel_key, load_object
from draisine.codegen.jit.solvers import solvers
from draisine.codegen.passes import ALL, COUNT, PROLOGUE, PROLOGUE_MAP, Passes, extended_inputs, parameter_slot
from draisine.errors import ArgumentError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import LazyProgram, Program, Slot

Array = NDArray[np.float64]

_CODE_VERSION = 13  # raise these when other code is generated for the same program
_HOISTED_VERSION = 9

_ARRAY, _DOUBLE, _ONE = np.ndarray, np.dtype(np.float64), (1,)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int64)
_MAP = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 4)


_Views = tuple[tuple[Array, tuple[int, ...]], ...]  # of the arguments in the buffer, with their shapes


class _Buffer(threading.local):
    """Memory for the arguments and results of a call, contiguous. Every thread has its own, allocated by its first call."""

    def __init__(self, sizes: Sequence[int], results: int) -> None:
        ends = list(accumulate(sizes, initial=0))
        numbers = np.zeros(ends[-1] + results)
        views: _Views = tuple([(numbers[a:b], (b - a,)) for a, b in pairwise(ends)])
        self.parts = int(numbers.ctypes.data), views, numbers[ends[-1] :]  # address, arguments, results


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
    _is_column: bool = field(init=False, repr=False)  # the only result

    def __post_init__(self) -> None:
        ends = list(accumulate((slot.size for slot in self.outputs), initial=0))
        shapes = (None if slot.shape[1] == 1 else slot.shape for slot in self.outputs)
        hidden = {
            "_run": _RUN(self.code.address_of("kernel_flat")),
            "_map": _MAP(self.code.address_of("kernel_map")),
            "_buffer": _Buffer([slot.size for slot in self.inputs], ends[-1]),
            "_results": tuple((slice(*ab), shape) for ab, shape in zip(pairwise(ends), shapes, strict=True)),
        }
        hidden["_is_column"] = [slot.shape[1] for slot in self.outputs] == [1]
        for name, value in hidden.items():
            object.__setattr__(self, name, value)

    def __call__(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Run once. Column results are one-dimensional, matrices two-dimensional."""
        if len(arguments) != len(self.inputs):
            self._check_count(arguments)
        address, views, buffer = self._buffer.parts
        for (view, shape), argument in zip(views, arguments):  # noqa: B905 (counted above; this loop is most of a short call)
            if type(argument) is _ARRAY and argument.dtype is _DOUBLE and argument.shape == shape:
                view[...] = argument
            elif type(argument) is float and shape == _ONE:  # such as the time
                view[0] = argument
            else:
                self._fill(views, arguments)
                break
        self._run(address)
        results = buffer.copy()
        if self._is_column:
            return (results,)
        return tuple([results[k] if shape is None else results[k].reshape(shape, order="F") for k, shape in self._results])

    def _fill(self, views: _Views, arguments: Sequence[ArrayLike]) -> None:
        """Copy arguments of any kind into the buffer, after all are converted: a conversion may call this kernel."""
        columns = [self._column(slot, argument) for slot, argument in zip(self.inputs, arguments, strict=True)]
        for (view, _), column in zip(views, columns, strict=True):
            view[...] = column

    def map(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Run over a batch. An argument has a leading axis of samples, or is the same for all; results have the axis."""
        self._check_count(arguments)
        batches = [self._batch(slot, a) for slot, a in zip(self.inputs, arguments, strict=True)]
        counts = {slot.name: len(b) for slot, b in zip(self.inputs, batches, strict=True) if b.ndim == 2}
        if not counts:
            raise ArgumentError(
                f"kernel {self.program_name!r}: no argument has an axis of samples; for one sample call kernel(…)"
            )
        samples = next(iter(counts.values()))
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name!r} {n}" for name, n in counts.items())
            raise ArgumentError(f"kernel {self.program_name!r}: arguments differ in their number of samples ({listed})")
        results = [np.empty((samples, slot.size)) for slot in self.outputs]
        strides = [b.strides[0] // 8 if b.ndim == 2 else 0 for b in batches]
        self._map(
            samples, _pointers(batches), _integers(strides), _pointers(results), _integers([slot.size for slot in self.outputs])
        )
        return tuple(_samples(slot, r) for slot, r in zip(self.outputs, results, strict=True))

    def _check_count(self, arguments: Sequence[Any]) -> None:
        if len(arguments) != len(self.inputs):
            names = ", ".join(s.name for s in self.inputs)
            raise ArgumentError(
                f"kernel {self.program_name!r} takes {len(self.inputs)} arguments ({names}), got {len(arguments)}"
            )

    def _numbers(self, slot: Slot, argument: ArrayLike) -> Array:
        try:
            return np.asarray(argument, dtype=float)
        except (TypeError, ValueError):
            kind = type(argument).__name__
            raise ArgumentError(
                f"kernel {self.program_name!r}: argument {slot.name!r} needs {slot.size} numbers, got {kind}"
            ) from None

    def _column(self, slot: Slot, argument: ArrayLike) -> Array:
        """All numbers in column-major order; not copied if they are so already."""
        array = self._numbers(slot, argument)
        if array.size != slot.size:
            raise ArgumentError(
                f"kernel {self.program_name!r}: argument {slot.name!r} needs {slot.size} numbers, got {array.size}"
            )
        return array.ravel(order="F") if array.ndim != 1 or array.strides[0] != 8 else array

    def _batch(self, slot: Slot, argument: ArrayLike) -> Array:
        """(samples, numbers), each row contiguous; or one column for all samples."""
        array = self._numbers(slot, argument)
        one_sample = {slot.shape, (slot.size,), ()} if slot.size == 1 else {slot.shape, (slot.size,)}
        if array.shape in one_sample:
            return self._column(slot, array)
        if slot.size == 1 and array.ndim == 1:
            array = array[:, None]
        if array.shape[1:] not in one_sample:
            shape = slot.shape if slot.shape[1] != 1 else (slot.size,)
            needed = f"shape {shape}, or with an axis of samples before it"
            raise ArgumentError(f"kernel {self.program_name!r}: argument {slot.name!r} needs {needed}, got {array.shape}")
        if array.ndim == 3:
            array = array.transpose(0, 2, 1).reshape(len(array), slot.size)
        ready = array.strides[1] == 8 and array.strides[0] % 8 == 0
        return array if ready else np.ascontiguousarray(array)


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


def _code(key: str, text: Callable[[], str], quick: bool) -> bytes:
    """Object code stored under a key, or made of its text; optimized code where `quick` code suffices, if that is stored."""
    optimized = f"{key}; {kernel_key()}"
    if not quick:
        return cached_object(optimized, lambda: compile_kernel(text()))
    return stored_object(optimized) or cached_object(f"{key}; {kernel_key(quick)}", lambda: compile_kernel(text(), quick))


def compiler(program: Program | LazyProgram | LinearSolveProgram, vectorized: bool = False) -> Callable[[], bytes]:
    """A function that returns the machine code, for `load`. The text is generated now, unless the code is stored; calls in
    other threads leave this one to generate the next text."""
    key = f"{_key(program, vectorized, ALL)}; {kernel_key()}"
    stored = stored_object(key)
    if stored is not None:
        return lambda: stored
    text = _text(program, "batch" if vectorized else "plain", ALL)
    return lambda: cached_object(key, lambda: compile_kernel(text))


def _key(program: Program | LazyProgram | LinearSolveProgram, vectorized: bool, passes: Passes) -> str:
    return f"kernel{' of samples' if vectorized else ''}, code {_CODE_VERSION}; {passes.key}; {program.digest}"


def _text(program: Program | LazyProgram | LinearSolveProgram, kind: Literal["plain", "batch", "hoisted"], passes: Passes) -> str:
    # imported here: the code generators are not needed when the cache has the code
    from draisine.codegen.jit.modules import text_of

    return text_of(program.build() if isinstance(program, LazyProgram) else program, kind, passes)


def load(program: Program | LazyProgram | LinearSolveProgram, code: bytes) -> Kernel:
    """The kernel of machine code."""
    using = solvers() if isinstance(program, LinearSolveProgram) else None
    loaded = load_object(code, "kernel", "kernel_map", "kernel_flat", using=using)
    return Kernel(program.name, program.inputs, program.outputs, loaded.address, loaded)


def _pointers(arrays: Sequence[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])


def _integers(numbers: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(numbers))(*numbers)


def _samples(slot: Slot, flat: Array) -> Array:
    rows, columns = slot.shape
    return flat if columns == 1 else flat.reshape(len(flat), columns, rows).transpose(0, 2, 1)


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


Kernel.__doc__ = _Documentation(Kernel.__doc__)  # type: ignore[assignment]


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
    key = f"hoisted kernel, code {_HOISTED_VERSION}; {passes.key}; {program.digest}"
    symbols = ("kernel", "kernel_map", "kernel_flat", PROLOGUE, PROLOGUE_MAP, COUNT)
    using = solvers() if isinstance(program, LinearSolveProgram) else None
    code = load_object(_code(key, lambda: _text(program, "hoisted", passes), quick), *symbols, using=using)
    count, slot = int(_COUNT(code.address_of(COUNT))()), parameter_slot(program)
    kernel = Kernel(program.name, extended_inputs(program, count), program.outputs, code.address, code)
    return HoistedKernel(kernel, 0 if slot is None else program.inputs[slot].size, count, slot or 0)

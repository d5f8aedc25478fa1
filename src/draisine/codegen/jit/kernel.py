"""A compiled program: callable on arrays, over batches, and by address from other compiled code."""

from __future__ import annotations

import ctypes
import textwrap
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.cache import cached_object, host_key, stored_object
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.jit.solvers import solvers
from draisine.codegen.passes import ALL, Passes
from draisine.errors import ArgumentError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import LazyProgram, Program, Slot

Array = NDArray[np.float64]

_CODE_VERSION = 11  # raise it when `llvm` generates other code for the same program

_ARRAY, _DOUBLE, _ONE = np.ndarray, np.dtype(np.float64), (1,)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_MAP = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 4)


_Places = tuple[tuple[Array, tuple[int, ...]], ...]


class _Room(threading.local):
    """Where the numbers of a call lie end to end. Every thread has its own, made when it first calls."""

    def __init__(self, given: Sequence[int], taken: int) -> None:
        ends = list(accumulate(given, initial=0))
        numbers = np.zeros(ends[-1] + taken)
        places: _Places = tuple([(numbers[a:b], (b - a,)) for a, b in pairwise(ends)])
        self.ready = int(numbers.ctypes.data), places, numbers[ends[-1] :]  # address; arguments and their shapes; results


@dataclass(frozen=True, eq=False)
class Kernel:
    """Machine code of a program. `help(kernel)` lists its arguments and results.

    `address` is that of `void f(const double* const* arg, double* const* res)`: one pointer per slot, to its numbers by columns.
    The code stays loaded as long as the kernel lives.

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
    _room: _Room = field(init=False, repr=False)
    _taken: tuple[tuple[slice, tuple[int, int] | None], ...] = field(init=False, repr=False)
    _is_column: bool = field(init=False, repr=False)  # its one result

    def __post_init__(self) -> None:
        ends = list(accumulate((slot.size for slot in self.outputs), initial=0))
        shapes = (None if slot.shape[1] == 1 else slot.shape for slot in self.outputs)
        hidden = {
            "__doc__": _documentation(self),
            "_run": _RUN(self.code.address_of("kernel_flat")),
            "_map": _MAP(self.code.address_of("kernel_map")),
            "_room": _Room([slot.size for slot in self.inputs], ends[-1]),
            "_taken": tuple((slice(*ab), shape) for ab, shape in zip(pairwise(ends), shapes, strict=True)),
        }
        hidden["_is_column"] = [slot.shape[1] for slot in self.outputs] == [1]
        for name, value in hidden.items():
            object.__setattr__(self, name, value)

    def __call__(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Run once. Columns come back one-dimensional, matrices two-dimensional."""
        if len(arguments) != len(self.inputs):
            self._check_count(arguments)
        address, places, results = self._room.ready
        for (place, shape), argument in zip(places, arguments):  # noqa: B905 (counted already; this loop is most of a short call)
            if type(argument) is _ARRAY and argument.dtype is _DOUBLE and argument.shape == shape:
                place[...] = argument
            elif type(argument) is float and shape == _ONE:  # such as the time
                place[0] = argument
            else:
                self._fill(places, arguments)
                break
        self._run(address)
        taken = results.copy()
        if self._is_column:
            return (taken,)
        return tuple([taken[place] if shape is None else taken[place].reshape(shape, order="F") for place, shape in self._taken])

    def _fill(self, places: _Places, arguments: Sequence[ArrayLike]) -> None:
        """Put arguments of any kind into their places; all are made arrays first, for that may call this very kernel."""
        columns = [self._column(slot, argument) for slot, argument in zip(self.inputs, arguments, strict=True)]
        for (place, _), column in zip(places, columns, strict=True):
            place[...] = column

    def map(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Run over samples. An argument has a leading axis of samples, or is the same for all; results have the axis."""
        self._check_count(arguments)
        batches = [self._batch(slot, a) for slot, a in zip(self.inputs, arguments, strict=True)]
        counts = {slot.name: len(b) for slot, b in zip(self.inputs, batches, strict=True) if b.ndim == 2}
        if not counts:
            raise ArgumentError(
                f"kernel {self.program_name!r}: no argument has an axis of samples; call the kernel itself instead"
            )
        samples = next(iter(counts.values()))
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name!r} {n}" for name, n in counts.items())
            raise ArgumentError(f"kernel {self.program_name!r}: arguments differ in their number of samples ({listed})")
        taken = [np.empty((samples, slot.size)) for slot in self.outputs]
        steps = [b.strides[0] // 8 if b.ndim == 2 else 0 for b in batches]
        self._map(
            samples, _pointers(batches), _integers(steps), _pointers(taken), _integers([slot.size for slot in self.outputs])
        )
        return tuple(_samples(slot, t) for slot, t in zip(self.outputs, taken, strict=True))

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
        """All numbers by columns; no copy if they lie so already."""
        array = self._numbers(slot, argument)
        if array.size != slot.size:
            raise ArgumentError(
                f"kernel {self.program_name!r}: argument {slot.name!r} needs {slot.size} numbers, got {array.size}"
            )
        return array.ravel(order="F") if array.ndim != 1 or array.strides[0] != 8 else array

    def _batch(self, slot: Slot, argument: ArrayLike) -> Array:
        """(samples, numbers) with the numbers of one sample side by side; or one column for all samples."""
        array = self._numbers(slot, argument)
        one_sample = {slot.shape, (slot.size,), ()} if slot.size == 1 else {slot.shape, (slot.size,)}
        if array.shape in one_sample:
            return self._column(slot, array)
        if slot.size == 1 and array.ndim == 1:
            array = array[:, None]
        if array.shape[1:] not in one_sample:
            shape = slot.shape if slot.shape[1] != 1 else (slot.size,)
            wanted = f"shape {shape}, or with an axis of samples before it"
            raise ArgumentError(f"kernel {self.program_name!r}: argument {slot.name!r} needs {wanted}, got {array.shape}")
        if array.ndim == 3:
            array = array.transpose(0, 2, 1).reshape(len(array), slot.size)
        ready = array.strides[1] == 8 and array.strides[0] % 8 == 0
        return array if ready else np.ascontiguousarray(array)


def compile(program: Program | LazyProgram | LinearSolveProgram, side_by_side: bool = False, passes: Passes = ALL) -> Kernel:
    """Machine code of a program, from the cache on disk if it was compiled before.

    With `side_by_side`, `map` takes several samples at a time (see `samples`), but where something is solved. `passes` are those
    that lower the work; nothing is hoisted, since there is no run.
    """
    key = _key(program, side_by_side, passes)
    return _loaded(program, cached_object(key, lambda: _object_code(_text(program, side_by_side, passes))))


def compile_all(*programs: Program | LazyProgram | LinearSolveProgram, side_by_side: bool = False) -> tuple[Kernel, ...]:
    """Machine code of several programs: while one is translated, in a thread of its own, the code of the next is written.

    What takes longest to translate is best named first.
    """
    from draisine.numerics.parallel import map_in_threads

    written = (_written(program, side_by_side) for program in programs)
    codes = map_in_threads(lambda translate: translate(), written, threads=1, ahead=len(programs))
    return tuple(_loaded(program, code) for program, code in zip(programs, codes, strict=True))


def _written(program: Program | LazyProgram | LinearSolveProgram, side_by_side: bool) -> Callable[[], bytes]:
    """What gives the machine code of a program whose text is written now; nothing is, where the code is stored."""
    key = _key(program, side_by_side, ALL)
    stored = stored_object(key)
    if stored is not None:
        return lambda: stored
    text = _text(program, side_by_side, ALL)
    return lambda: cached_object(key, lambda: _object_code(text))


def _key(program: Program | LazyProgram | LinearSolveProgram, side_by_side: bool, passes: Passes) -> str:
    return f"kernel{' of samples' if side_by_side else ''}, code {_CODE_VERSION}; {passes.key}; {program.digest}; {host_key()}"


def _text(program: Program | LazyProgram | LinearSolveProgram, side_by_side: bool, passes: Passes) -> str:
    # the code generators are not needed, and not imported, when the cache has the code
    if isinstance(program, LinearSolveProgram):
        from draisine.codegen.jit.modules import module_text_of_solved

        return module_text_of_solved(program, passes)
    straight = program.build() if isinstance(program, LazyProgram) else program
    if side_by_side:
        from draisine.codegen.simd import samples_text

        return samples_text(straight, passes)
    from draisine.codegen.jit.llvm import module_text

    return module_text(straight, passes)


def _object_code(text: str) -> bytes:
    # Level 2 adds a scheduling after register allocation, which takes a third of the time in long code and gains nothing.
    return compile_ir(text, optimisation=1)


def _loaded(program: Program | LazyProgram | LinearSolveProgram, code: bytes) -> Kernel:
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


def _documentation(kernel: Kernel) -> str:
    lines = [
        f"Compiled program {kernel.program_name!r}.",
        "",
        f"kernel({', '.join(s.name for s in kernel.inputs)}) gives ({', '.join(s.name for s in kernel.outputs)}).",
        "kernel.map(…) does so for every sample along a leading axis of the arguments that have one.",
    ]
    for title, slots in (("Arguments", kernel.inputs), ("Results", kernel.outputs)):
        lines += ["", title]
        for slot in slots:
            lines += textwrap.wrap(slot.describe(), 110, initial_indent="    ", subsequent_indent="        ")
    return "\n".join(lines)

"""Arrays as arguments and results of kernels: conversions and checks, for one call and for a batch.

`kernel` in these functions is the name in messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.numerics.number_range import refuse_masked
from draisine.program.program import Slot

Array = NDArray[np.float64]

_DOUBLE = np.dtype(np.float64)


def check_count(kernel: str, slots: Sequence[Slot], arguments: Sequence[Any]) -> None:
    """Raise ArgumentError unless there is an argument for every slot."""
    if len(arguments) != len(slots):
        names = ", ".join(s.name for s in slots)
        raise ArgumentError(f"kernel {kernel!r} takes {len(slots)} arguments ({names}), got {len(arguments)}")


def _numbers(kernel: str, slot: Slot, argument: ArrayLike) -> Array:
    """As doubles. NumPy would take None for NaN, text for the number in it, drop imaginary parts, and ignore masks."""
    refuse_masked(f"kernel {kernel!r}: argument {slot.name!r}", argument)
    try:
        array = np.asarray(argument)
        if array.dtype.kind in "fiub" or not array.size:
            return array.astype(np.float64, copy=False)
        if array.dtype.kind == "O":
            return np.array([float(one) for one in array.ravel()]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise _complaint(kernel, slot, argument) from None
    raise _complaint(kernel, slot, argument)


def _complaint(kernel: str, slot: Slot, argument: ArrayLike) -> ArgumentError:
    kind = argument.dtype if isinstance(argument, np.ndarray) else type(argument).__name__
    return ArgumentError(f"kernel {kernel!r}: argument {slot.name!r} needs {slot.size} numbers, got {kind}")


def column(kernel: str, slot: Slot, argument: ArrayLike) -> Array:
    """All numbers of an argument in column-major order; not copied if they are so already."""
    array = _numbers(kernel, slot, argument)
    if array.size != slot.size:
        raise ArgumentError(f"kernel {kernel!r}: argument {slot.name!r} needs {slot.size} numbers, got {array.size}")
    return array.ravel(order="F") if array.ndim != 1 or array.strides[0] != 8 else array


def batch(kernel: str, slot: Slot, argument: ArrayLike) -> Array:
    """(samples, numbers), each row contiguous; or one column for all samples."""
    size = slot.size
    if type(argument) is np.ndarray and argument.dtype is _DOUBLE and slot.shape[1] == 1:
        array = argument  # the usual kinds need no further checks, unless it is one sample as a matrix of one column
        if array.ndim == 2 and array.shape[1] == size and array.shape != slot.shape and _is_in_place(array):
            return array
        if array.ndim == 1 and array.size == size > 1 and array.strides[0] == 8 and array.flags.aligned:
            return array
    array = _numbers(kernel, slot, argument)
    one_sample = {slot.shape, (size,), ()} if size == 1 else {slot.shape, (size,)}
    if array.shape in one_sample:
        return column(kernel, slot, array)
    if size == 1 and array.ndim == 1:
        array = array[:, None]
    if array.shape[1:] not in one_sample:
        needed = f"shape {result_shape(slot)}, or with an axis of samples before it"
        raise ArgumentError(f"kernel {kernel!r}: argument {slot.name!r} needs {needed}, got {array.shape}")
    if array.ndim == 3:
        array = array.transpose(0, 2, 1).reshape(len(array), size)
    return array if _is_in_place(array) else np.ascontiguousarray(array)


def _is_in_place(array: Array) -> bool:
    """Whether rows can be read or written where they are."""
    return array.strides[1] == 8 and array.strides[0] % 8 == 0 and array.flags.aligned


def sample_count(kernel: str, slots: Sequence[Slot], batches: Sequence[Array], arguments: Sequence[ArrayLike]) -> int:
    """The number of samples, in which all batches must agree."""
    counts = {slot.name: len(b) for slot, b in zip(slots, batches, strict=True) if b.ndim == 2}
    if not counts and all(slot.shape == np.shape(a) == (1, 1) for slot, a in zip(slots, arguments, strict=True)):
        return 1  # one sample of one number each: its axis and that of the numbers cannot be distinguished
    if not counts:
        raise ArgumentError(f"kernel {kernel!r}: no argument has an axis of samples; for one sample call kernel(…)")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r} {n}" for name, n in counts.items())
        raise ArgumentError(f"kernel {kernel!r}: arguments differ in their number of samples ({listed})")
    return next(iter(counts.values()))


# ------------------------------------------------------------------------------------------- results


def result_shape(slot: Slot) -> tuple[int, ...]:
    """Columns have one dimension, matrices two."""
    return slot.shape if slot.shape[1] != 1 else (slot.size,)


def targets(kernel: str, slots: Sequence[Slot], out: Any, samples: int | None = None) -> tuple[Array, ...]:
    """The arrays of `out`, checked; with an axis of `samples`, if there is one."""
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != len(slots):
        names = ", ".join(slot.name for slot in slots)
        raise ArgumentError(
            f"kernel {kernel!r} gives {len(slots)} results ({names}), got {len(given)} in out; "
            "give a tuple of arrays, one for each"
        )
    axis = () if samples is None else (samples,)
    for slot, target in zip(slots, given, strict=True):
        _check_target(f"kernel {kernel!r}: out for {slot.name!r}", target, (*axis, *result_shape(slot)))
    for k, target in enumerate(given):
        for slot, other in zip(slots, given[:k]):  # noqa: B905 (those before it)
            if np.shares_memory(target, other):
                both = f"{slot.name!r} and {slots[k].name!r}"
                raise ArgumentError(f"kernel {kernel!r}: out for {both} overlap in memory; give separate arrays")
    return given


def _check_target(what: str, target: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(target, np.ndarray):
        raise ArgumentError(f"{what} needs an array of doubles, got {type(target).__name__}")
    if target.dtype != np.float64:
        raise ArgumentError(f"{what} needs an array of doubles (float64), got {target.dtype}")
    if target.shape != shape:
        raise ArgumentError(f"{what} needs shape {shape}, got {target.shape}")
    if not target.flags.writeable:
        raise ArgumentError(f"{what} is read-only; give an array that can be written to")


def sample_rows(slot: Slot, target: Array, batches: Sequence[Array]) -> Array:
    """(samples, numbers): the memory of a target where it can be written in place, else new memory."""
    rows, columns = slot.shape
    flat = target.transpose(0, 2, 1) if target.ndim == 3 else target[:, None, :]
    in_place = flat.strides[2] == 8 and flat.strides[0] % 8 == 0 and (columns == 1 or flat.strides[1] == 8 * rows)
    if in_place and flat.flags.aligned and not any(np.may_share_memory(target, b) for b in batches):
        return flat.reshape(len(flat), slot.size)
    return np.empty((len(target), slot.size))


def samples_of(slot: Slot, flat: Array) -> Array:
    """(samples, numbers) in the shape of results."""
    rows, columns = slot.shape
    return flat if columns == 1 else flat.reshape(len(flat), columns, rows).transpose(0, 2, 1)

"""The driver's side of a run's memory: numpy arrays, and the block that tells the stepping loop where they are."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.simulation import layout
from draisine.simulation.methods.scheme import Method, Scheme

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Kernels:
    """Addresses of the compiled programs of (t, x, u, p); 0 for one that does not exist."""

    dynamics: int
    project: int = 0
    monitor: int = 0
    watch: int = 0
    control: int = 0


def _address(array: NDArray[Any]) -> int:
    # `array.ctypes.data` builds an object on the way, and a run asks for forty addresses
    address: int = array.__array_interface__["data"][0]
    return address


@dataclass(frozen=True, eq=False)
class _SchemeEntry:
    """A scheme's numbers as the loop reads them, with the arrays that hold them."""

    block: Any
    arrays: tuple[Reals, ...]


@lru_cache(maxsize=16)
def _scheme_entry(scheme: Scheme) -> _SchemeEntry:
    block: Any = layout.SchemeBlock()
    block.order, block.history, block.stages, block.rows = scheme.order, scheme.history, scheme.stages, scheme.rows
    block.terms = 3 + len(scheme.dense)
    error = scheme.error if scheme.error is not None else np.zeros((2, scheme.rows))
    kept = tuple(np.ascontiguousarray(a, dtype=float) for a in (scheme.weights, scheme.nodes, scheme.dense, error))
    for field, array in zip(("weights_at", "nodes_at", "dense_at", "error_at"), kept, strict=True):
        setattr(block, field, _address(array))
    return _SchemeEntry(block, kept)


class Memory:
    """Everything the loop reads and writes. `block` has the numbers, `arrays` the arrays, by the names of `layout`.

    The loop's counters say how much of each buffer is filled, so nothing is lost however a run ends: buffers grow by
    replacement and are never emptied.
    """

    def __init__(
        self,
        kernels: Kernels,
        method: Method,
        x: Reals,
        inputs: Reals,
        parameters: Reals,
        span: tuple[float, float],
        samples: Reals | None,
        directions: Sequence[int] = (),
        stops: Sequence[bool] = (),
    ) -> None:
        self.block: Any = layout.Block()  # zeros
        self.address = ctypes.addressof(self.block)
        self.arrays: dict[str, NDArray[Any]] = {}
        self._schemes: list[Any] = []  # keeps them alive
        n, m, e = len(x), len(inputs), len(directions)
        width = -(-n // 8) * 8
        rows = max(method.scheme.rows, method.starter.rows)
        b = self.block
        b.states, b.width, b.inputs, b.events = n, width, m, e
        self.use(kernels)
        reals = {
            "time_at": (1,),
            "scalar_at": (1,),
            "point_at": (width,),
            "x_at": (width,),
            "new_at": (width,),
            "inputs_at": (m,),
            "parameters": (len(parameters),),
            "command_at": (m,),
            "k_at": (rows, width),
            "past_at": (method.scheme.history, width),
            "dense_at": (layout.TERMS, width),
            "error_at": (2, width),
            "atol_at": (n,),
            "values_at": (e,),
            "grid_at": (layout.GRID + 1, e),
            "root_at": (layout.GRID * e,),
        }
        whole = {
            "arguments": (4,),
            "results": (2,),
            "sign_at": (e,),
            "direction_at": (e,),
            "stops_at": (e,),
            "root_event_at": (layout.GRID * e,),
        }
        places = self._lay_out(reals, whole)
        self.arrays["inputs_at"][:] = inputs
        self.arrays["parameters"][:] = parameters
        self.arrays["arguments"][:] = [places[name] for name in ("time_at", "point_at", "inputs_at", "parameters")]
        self.arrays["direction_at"][:] = directions
        self.arrays["stops_at"][:] = stops
        self._put_scheme("scheme_at", method.scheme)
        self._put_scheme("starter_at", method.starter)
        self._settings(method)
        self.state[:] = x
        b.t, b.end = span
        b.phase = layout.FRESH
        self._outputs(samples)

    # ----------------------------------------------------------------------------------------------------- reading

    @property
    def state(self) -> Reals:
        """The state at the present time; writable."""
        return self.arrays["x_at"][: self.block.states]

    @property
    def inputs(self) -> Reals:
        """The inputs; writable."""
        return self.arrays["inputs_at"]

    # ----------------------------------------------------------------------------------------------------- changing

    def use(self, kernels: Kernels) -> None:
        """Take other kernels for the same memory."""
        b = self.block
        b.dynamics, b.project, b.monitor = kernels.dynamics, kernels.project, kernels.monitor
        b.watch, b.control = kernels.watch, kernels.control

    def grow(self) -> None:
        """Double the buffers whose length is not known in advance."""
        b = self.block
        if b.stepped >= b.step_room:
            self._resize(("step_time_at", "step_x_at", "step_u_at"), b.stepped, 2 * b.step_room)
            b.step_room *= 2
        if b.happened + layout.GRID * b.events > b.event_room:
            self._resize(("event_time_at", "event_x_at", "event_index_at"), b.happened, 2 * b.event_room)
            b.event_room *= 2

    def _resize(self, names: Sequence[str], filled: int, room: int) -> None:
        for name in names:
            old = self.arrays[name]
            if old.size:
                new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
                new[:filled] = old[:filled]
                self._put(name, new)

    # ---------------------------------------------------------------------------------------------------- building

    def _lay_out(self, reals: Mapping[str, tuple[int, ...]], whole: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Arrays of known size, side by side in one piece of memory: one address is asked for, the others are counted."""
        sizes = {name: prod(shape) for name, shape in (*reals.items(), *whole.items())}
        together = np.zeros(sum(sizes.values()))
        self.arrays["together"] = together
        base, begin = _address(together), 0
        places: dict[str, int] = {}
        for name, size in sizes.items():
            part = together[begin : begin + size]
            shaped = part.reshape(reals[name]) if name in reals else part.view(np.int64)
            self.arrays[name] = shaped
            places[name] = base + 8 * begin
            if name != "parameters":  # the kernels know them through `arguments`
                setattr(self.block, name, places[name])
            begin += size
        return places

    def _put(self, name: str, array: NDArray[Any]) -> None:
        self.arrays[name] = array
        setattr(self.block, name, _address(array))

    def _put_scheme(self, name: str, scheme: Scheme) -> None:
        entry = _scheme_entry(scheme)
        setattr(self.block, name, ctypes.addressof(entry.block))
        self._schemes.append(entry)

    def _settings(self, method: Method) -> None:
        b = self.block
        b.adaptive, b.max_steps = int(method.adaptive), method.max_steps
        b.rtol = getattr(method, "rtol", 0.0)
        b.step = getattr(method, "step", 0.0)
        b.max_step = getattr(method, "max_step", None) or np.inf
        b.h = getattr(method, "first_step", None) or 0.0
        b.last_error = 1e-4
        b.threshold, b.limit = np.inf, np.inf
        self.arrays["atol_at"][:] = getattr(method, "atol", 0.0)

    def _outputs(self, samples: Reals | None) -> None:
        b = self.block
        n, m, e = b.states, b.inputs, b.events
        b.keep_steps = int(samples is None)
        wanted = np.zeros(0) if samples is None else samples
        b.samples = len(wanted)
        # One row more than wanted, for the last state of a run that ends early. Pages are given by the system when they
        # are first written, so a run that ends early costs no more than it uses.
        self._put("sample_time_at", np.append(wanted, 0.0))
        self._put("sample_x_at", np.zeros((len(wanted) + 1, n)))
        self._put("sample_u_at", np.zeros((len(wanted) + 1, m)))
        b.step_room = 1024
        self._put("step_time_at", np.zeros(1024))
        self._put("step_x_at", np.zeros((1024 * b.keep_steps, n)))
        self._put("step_u_at", np.zeros((1024 * b.keep_steps, m)))
        b.event_room = 16 * layout.GRID * max(1, e)
        self._put("event_time_at", np.zeros(b.event_room))
        self._put("event_x_at", np.zeros((b.event_room, n)))
        self._put("event_index_at", np.zeros(b.event_room, dtype=np.int64))

"""The driver's side of a run's memory: numpy arrays, and the block that tells the stepping loop where they are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
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
        self._put("time_at", np.zeros(1))
        self._put("scalar_at", np.zeros(1))
        for name in ("point_at", "x_at", "new_at"):
            self._put(name, np.zeros(width))
        self._put("inputs_at", np.array(inputs, dtype=float))
        self._put("parameters", np.array(parameters, dtype=float), known=False)
        self._put("command_at", np.zeros(m))
        self._put("k_at", np.zeros((rows, width)))
        self._put("past_at", np.zeros((method.scheme.history, width)))
        self._put("dense_at", np.zeros((layout.TERMS, width)))
        self._put("error_at", np.zeros((2, width)))
        pointers = [_address(self.arrays[name]) for name in ("time_at", "point_at", "inputs_at", "parameters")]
        self._put("arguments", np.array(pointers, dtype=np.int64))
        self._put("results", np.zeros(2, dtype=np.int64))
        self._put("values_at", np.zeros(e))
        self._put("grid_at", np.zeros((layout.GRID + 1, e)))
        self._put("sign_at", np.zeros(e, dtype=np.int64))
        self._put("direction_at", np.array(directions, dtype=np.int64))
        self._put("stops_at", np.array(stops, dtype=np.int64))
        self._put("root_at", np.zeros(layout.GRID * e))
        self._put("root_event_at", np.zeros(layout.GRID * e, dtype=np.int64))
        self._put_scheme("scheme_at", method.scheme)
        self._put_scheme("starter_at", method.starter)
        self._settings(method, n)
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

    def _put(self, name: str, array: NDArray[Any], known: bool = True) -> None:
        self.arrays[name] = array
        if known:
            setattr(self.block, name, _address(array))

    def _put_scheme(self, name: str, scheme: Scheme) -> None:
        entry = _scheme_entry(scheme)
        setattr(self.block, name, ctypes.addressof(entry.block))
        self._schemes.append(entry)

    def _settings(self, method: Method, n: int) -> None:
        b = self.block
        b.adaptive, b.max_steps = int(method.adaptive), method.max_steps
        b.rtol = getattr(method, "rtol", 0.0)
        b.step = getattr(method, "step", 0.0)
        b.max_step = getattr(method, "max_step", None) or np.inf
        b.h = getattr(method, "first_step", None) or 0.0
        b.last_error = 1e-4
        b.threshold, b.limit = np.inf, np.inf
        self._put("atol_at", np.broadcast_to(np.asarray(getattr(method, "atol", 0.0), dtype=float), (n,)).copy())

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

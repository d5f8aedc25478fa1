"""Memory for the sweeps of `sweep`, their compiled form, and what they give as arrays."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, load_object
from draisine.codegen.jit.kernel import Kernel
from draisine.optimal.adjoint import sweep
from draisine.simulation.methods.explicit_tableau import Scheme
from draisine.simulation.stepper import compiling, native
from draisine.simulation.stepper.stored_loop import SYMBOL

Reals = NDArray[np.float64]
Places = NDArray[np.int64]


@cache
def compiled_sweep() -> LoadedObject:
    """Machine code of `sweep.sweep`, from disk if this machine has compiled it before."""
    sha = hashlib.sha256()
    for module in (sweep, native, compiling):
        sha.update(Path(str(module.__file__)).read_bytes())
    key = f"adjoint sweep; {sha.hexdigest()}; numba {version('numba')}; {host_key()}"
    return load_object(cached_object(key, _made), SYMBOL)


def _made() -> bytes:
    compiling.teach_module(sweep)
    return compiling.machine_code(sweep.sweep)


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a cost of the discrete motion."""

    costates: Reals  # (steps + 1, states) by the state at each end of a step
    inputs: Reals  # (pieces, inputs)
    parameters: Reals
    duration: float


class Runner:
    """Steps through given fractions τ of the duration, forward and backward; `piece` tells which inputs hold in each step."""

    def __init__(self, forward: Kernel, backward: Kernel, scheme: Scheme, fractions: Reals, piece: Places) -> None:
        self._kernels, self.fractions = (forward, backward), np.asarray(fractions, dtype=float)
        self._steps, stages = len(fractions) - 1, scheme.stages
        self.width, self.told = forward.outputs[0].size, forward.outputs[1].size
        self.states, self._inputs = forward.inputs[1].size, forward.inputs[2].size
        self._varied = backward.outputs[2].size
        self._piece, self._pieces = np.ascontiguousarray(piece, dtype=np.int64), int(piece.max()) + 1
        made = {
            "time": 1,
            "times": self._steps + 1,
            "input": self._pieces * self._inputs,
            "parameter": forward.inputs[3].size,
            "state": (self._steps + 1) * self.width,
            "point": stages * self.width,
            "rate": stages * self.width,
            "told": stages * self.told,
            "costate": (self._steps + 1) * self.width,
            "pull": stages * self.width,
            "load": self.width,
            "by_x": self.states,
            "by_input": self._inputs,
            "by_parameter": self._varied,
            "by_time": 1,
            "input_slope": self._pieces * self._inputs,
            "parameter_slope": self._varied,
            "length_slope": self._steps,
            "time_slope": 2 * self._steps,
        }
        self._arrays = {name: np.zeros(max(size, 1)) for name, size in made.items()}
        self._numbers = (
            np.ascontiguousarray(scheme.nodes[:stages]),
            np.ascontiguousarray(scheme.weights[: stages + 1, :stages]),
        )
        self._table = self._filled(stages)
        prototype: Callable[[int], Callable[[int], int]] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        self._code = compiled_sweep()
        self._run = prototype(self._code.address)

    def _filled(self, stages: int) -> Places:
        a = {name: array.ctypes.data for name, array in self._arrays.items()}
        self._pointers = [
            np.array([a["time"], a["point"], a["input"], a["parameter"]], dtype=np.int64),
            np.array([a["rate"], a["told"]], dtype=np.int64),
            np.array([a["time"], a["point"], a["input"], a["parameter"], a["told"], a["load"]], dtype=np.int64),
            np.array([a["by_x"], a["by_input"], a["by_parameter"], a["by_time"]], dtype=np.int64),
        ]
        table = np.zeros(sweep.SIZE, dtype=np.int64)
        sizes = (0, self.width, self.states, stages, self._steps, self._inputs, self._varied, self.told)
        table[sweep.BACKWARD : sweep.TOLD + 1] = sizes
        table[[sweep.FORWARD_KERNEL, sweep.BACKWARD_KERNEL]] = [kernel.address for kernel in self._kernels]
        table[sweep.FORWARD_ARGUMENTS : sweep.BACKWARD_RESULTS + 1] = [p.ctypes.data for p in self._pointers]
        table[[sweep.PIECE_AT, sweep.NODES_AT, sweep.WEIGHTS_AT]] = [array.ctypes.data for array in (self._piece, *self._numbers)]
        for name, address in a.items():
            if name != "parameter":
                table[getattr(sweep, f"{name.upper()}_AT")] = address
        return table

    # ---------------------------------------------------------------- sweeps

    def forward(self, begin: float, duration: float, x: Reals, inputs: Reals, p: Reals) -> Reals | None:
        """States and the integral of the cost (steps + 1, w), or None where the motion does not stay finite."""
        a = self._arrays
        a["times"][:] = begin + duration * self.fractions
        a["input"][: inputs.size] = inputs.ravel()
        a["parameter"][: p.size] = p
        a["state"][: self.width] = 0.0
        a["state"][: self.states] = x
        self._duration = duration
        self._table[sweep.BACKWARD] = 0
        reached = self._run(self._table.ctypes.data)
        return a["state"].reshape(self._steps + 1, self.width) if reached == self._steps else None

    def backward(self, seed: Reals, integral: float = 1.0) -> Slopes:
        """Derivatives of seedᵀx(end) + integral × ∫ cost, about the motion that `forward` has made last."""
        a, width = self._arrays, self.width
        for name in ("input_slope", "parameter_slope"):
            a[name][:] = 0.0
        a["costate"][-width:] = [*seed, integral]
        self._table[sweep.BACKWARD] = 1
        self._run(self._table.ctypes.data)
        at, spans = self.fractions[:-1], np.diff(self.fractions)
        moved, shifted = a["time_slope"].reshape(2, -1)
        # of a step both its length, T Δτ, and its beginning, T τ, change with the duration T
        by_duration = float(spans @ (a["length_slope"] + shifted) + at @ moved)
        return Slopes(
            a["costate"].reshape(-1, width)[:, : self.states].copy(),
            a["input_slope"][: self._pieces * self._inputs].reshape(self._pieces, self._inputs).copy(),
            a["parameter_slope"][: self._varied].copy(),
            by_duration,
        )

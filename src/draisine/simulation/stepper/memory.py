"""The driver's side of a run's memory: numpy arrays, and the block that tells the stepping loop where they are."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.jit.parameter_hoisting import HoistedKernel
from draisine.simulation.implicit_form import CompiledForm
from draisine.simulation.methods.explicit_tableau import Scheme, SteppingMethod
from draisine.simulation.methods.implicit_tableau import ImplicitScheme
from draisine.simulation.stepper import layout

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Kernels:
    """Addresses of the compiled programs of (t, x, u, p); 0 for one that does not exist. `form` is for implicit methods.

    Where the dynamics are `hoisted`, parameters are extended by what follows from them alone; others read no further than p.
    """

    dynamics: int = 0
    project: int = 0
    monitor: int = 0
    watch: int = 0
    control: int = 0
    form: CompiledForm | None = None
    hoisted: HoistedKernel | None = None

    def extended(self, parameters: Reals) -> Reals:
        """The parameters as these kernels read them."""
        return parameters if self.hoisted is None else self.hoisted.extended(parameters)


def _address(array: NDArray[Any]) -> int:
    # `array.ctypes.data` builds an object on the way, and a run asks for forty addresses
    address: int = array.__array_interface__["data"][0]
    return address


@dataclass(frozen=True, eq=False)
class _SchemeEntry:
    """A scheme's numbers as the loop reads them, with the arrays that hold them."""

    block: Any
    arrays: tuple[NDArray[Any], ...]


@lru_cache(maxsize=16)
def _scheme_entry(scheme: Scheme | ImplicitScheme) -> _SchemeEntry:
    block: Any = layout.SchemeBlock()
    block.order, block.history, block.stages, block.rows = scheme.order, scheme.history, scheme.stages, scheme.rows
    arrays: dict[str, NDArray[Any]] = {"nodes_at": scheme.nodes, "weights_at": scheme.weights, "dense_at": scheme.dense}
    if isinstance(scheme, Scheme):
        block.terms, block.foreign = 3 + len(scheme.dense), int(scheme.foreign)
        arrays["error_at"] = scheme.error if scheme.error is not None else np.zeros((2, scheme.rows))
    else:
        block.implicit, block.coupled, block.solved, block.terms = 1, int(scheme.coupled), scheme.solved, len(scheme.dense)
        block.power, block.evaluates_end, block.filter = scheme.power, int(scheme.evaluates_end), scheme.filter
        block.real_systems, block.pairs = len(scheme.real), len(scheme.pairs)
        for name in ("update", "end_rate", "estimate", "rough", "mismatch", "real", "pairs"):
            arrays[f"{name}_at"] = getattr(scheme, name)
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in kept.items():
        setattr(block, name, _address(array))
    return _SchemeEntry(block, tuple(kept.values()))


class Memory:
    """Everything the loop reads and writes. `block` has the numbers, `arrays` the arrays, by the names of `layout`.

    The loop's counters say how much of each buffer is filled, so nothing is lost however a run ends: buffers grow by
    replacement and are never emptied.
    """

    def __init__(
        self,
        kernels: Kernels,
        method: SteppingMethod,
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
        b = self.block
        b.states, b.inputs, b.events = len(x), len(inputs), len(directions)
        self._parameters = np.array(parameters, dtype=np.float64)
        given: dict[str, ArrayLike] = {"inputs_at": inputs, "direction_at": directions, "stops_at": stops}
        self._furnish(kernels, method, given)
        self.state[:] = x
        b.t, b.end = span
        b.phase = layout.FRESH
        b.threshold, b.limit = np.inf, np.inf
        self._outputs(samples)

    def _furnish(self, kernels: Kernels, method: SteppingMethod, given: Mapping[str, ArrayLike]) -> None:
        """Arrays for a method and the equations' kernels, and what is `given` for some of them."""
        b = self.block
        given = {**given, "parameters": kernels.extended(self._parameters)}
        form = kernels.form if method.implicit else None
        b.unknowns = b.states if form is None else form.form.size
        b.width = -(-b.unknowns // 8) * 8
        b.settles, b.sparse = 0, 0
        n, m, e, width = b.states, b.inputs, b.events, b.width
        rows = max(method.scheme.rows, method.starter.rows)
        reals: dict[str, tuple[int, ...]] = {
            "time_at": (1,),
            "scalar_at": (1,),
            "point_at": (width,),
            "x_at": (width,),
            "new_at": (width,),
            "inputs_at": (m,),
            "parameters": (np.size(given["parameters"]),),
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
        whole: dict[str, tuple[int, ...]] = {
            "arguments": (4,),
            "results": (2,),
            "sign_at": (e,),
            "direction_at": (e,),
            "stops_at": (e,),
            "root_event_at": (layout.GRID * e,),
        }
        if form is not None:
            more, more_whole = implicit_arrays(form, method.scheme, width)
            reals |= more
            whole |= more_whole
        places = self._lay_out(reals, whole)
        for name, values in given.items():
            self.arrays[name][...] = values
        self.arrays["arguments"][:] = [places[name] for name in ("time_at", "point_at", "inputs_at", "parameters")]
        if form is not None:
            self._describe(form, places)
        self._schemes = [_scheme_entry(method.scheme), _scheme_entry(method.starter)]  # kept alive
        b.scheme_at, b.starter_at = (ctypes.addressof(entry.block) for entry in self._schemes)
        self.use(kernels)
        self._settings(method)

    def _describe(self, form: CompiledForm, places: Mapping[str, int]) -> None:
        """What the loop must know of implicit equations."""
        b = self.block
        names = ("time_at", "point_at", "rate_at", "inputs_at", "parameters")
        self.arrays["full_arguments"][:] = [places[name] for name in names]
        self.arrays["index_at"][:] = form.index
        self.arrays["differential_at"][:] = form.differential
        self.arrays["entry_row_at"][:], self.arrays["entry_column_at"][:] = form.form.pattern
        b.entries = len(form.form.pattern[0])
        b.settles = int(form.settles)
        b.factor_length = b.unknowns**2
        if form.plan is not None:
            b.sparse, b.plan_length, b.factor_length = 1, len(form.plan.index), form.plan.factors
            self.arrays["plan_at"][:] = form.plan.index

    # ----------------------------------------------------------------------------------------------------- reading

    @property
    def state(self) -> Reals:
        """The state at the present time; writable."""
        return self.arrays["x_at"][: self.block.states]

    @property
    def _highest_index(self) -> int:
        return int(self.arrays["index_at"].max(initial=1)) if "index_at" in self.arrays else 1

    @property
    def inputs(self) -> Reals:
        """The inputs; writable."""
        return self.arrays["inputs_at"]

    @property
    def parameters(self) -> Reals:
        """The parameters themselves, without what follows from them."""
        return self._parameters

    # ----------------------------------------------------------------------------------------------------- changing

    def use(self, kernels: Kernels) -> None:
        """Take other kernels for the same memory."""
        b = self.block
        b.dynamics, b.project, b.monitor = kernels.dynamics, kernels.project, kernels.monitor
        b.watch, b.control = kernels.watch, kernels.control
        if kernels.form is not None:
            b.residual, b.jacobian = kernels.form.residual.address, kernels.form.jacobian.address

    def take(self, kernels: Kernels, method: SteppingMethod) -> None:
        """Go on from here with another method, or with equations of another pattern; what was kept stays."""
        kept = {name: self.arrays[name].copy() for name in ("inputs_at", "direction_at", "stops_at", "sign_at")}
        x, step = self.state.copy(), self.block.h
        self._furnish(kernels, method, kept)
        self.state[:] = x
        self.block.h = step
        if self.block.phase == layout.RUNNING:
            self.block.phase = layout.CHANGED

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
            if len(old):  # states of steps that nobody keeps have no rows; without inputs a row is empty, but it is there
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

    def _settings(self, method: SteppingMethod) -> None:
        b = self.block
        b.adaptive, b.max_steps = int(method.adaptive), method.max_steps
        rtol, atol = getattr(method, "rtol", 0.0), np.asarray(getattr(method, "atol", 0.0), dtype=float)
        b.rtol = rtol
        if method.implicit and method.adaptive:
            b.rtol = getattr(method, "inner_rtol", rtol)
            atol = atol * (b.rtol / rtol)
            # what the iteration leaves adds up in multipliers, and where high order makes long steps
            share = min(0.03, b.rtol**0.5) * (0.1 if self._highest_index > 1 or method.order > 5 else 1.0)
            b.newton_tolerance = max(10.0 * np.finfo(float).eps / b.rtol, share)
        b.step = getattr(method, "step", None) or 0.0
        b.max_step = getattr(method, "max_step", None) or np.inf
        b.h = getattr(method, "first_step", None) or 0.0
        b.last_error = 1e-4
        b.accepted_h = 0.0
        self.arrays["atol_at"][:] = atol

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


def implicit_arrays(
    form: CompiledForm, scheme: Scheme | ImplicitScheme, width: int
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Shapes of the arrays that implicit methods need besides: of doubles, and of integers. A complex number is two doubles."""
    n, entries = form.form.size, len(form.form.pattern[0])
    s, pairs = (scheme.solved, len(scheme.pairs)) if isinstance(scheme, ImplicitScheme) else (0, 0)
    plan = form.plan
    length = n * n if plan is None else plan.factors
    reals = {
        **{name: (width,) for name in ("rate_at", "weight_at", "side_at")},
        **{name: (entries,) for name in ("by_state_at", "by_rate_at")},
        **{name: (s, width) for name in ("stage_at", "past_stage_at")},
        "load_at": (2 * s, width),
        "wide_side_at": (2 * width,),
        "factor_at": (length,),
        "wide_factor_at": (pairs, 2 * length),
    }
    whole: dict[str, tuple[int, ...]] = {
        "full_arguments": (5,),
        **{name: (n,) for name in ("index_at", "differential_at")},
        **{name: (entries,) for name in ("entry_row_at", "entry_column_at")},
    }
    if plan is None:
        whole |= {"pivot_at": (n,), "wide_pivot_at": (pairs, n)}
    else:
        whole["plan_at"] = (len(plan.index),)
        reals |= {
            "entry_at": (entries,),
            "wide_entry_at": (2 * entries,),
            "work_at": (plan.work,),
            "wide_work_at": (2 * plan.work,),
        }
    return reals, whole

"""The stepping of lanes: memory of one thread, the compiled code, and what comes out of a block of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.simd.vector_kernel import LANES, WideKernel, compile_wide
from draisine.program.dae_residual import Implicit
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.results.status import Ending
from draisine.simulation.ensemble import batch as code
from draisine.simulation.ensemble import vector_batch as groups
from draisine.simulation.ensemble.compiled import stored_code
from draisine.simulation.method_selection import Chosen, projection_threshold, watches_stiffness
from draisine.simulation.methods.explicit_tableau import Scheme
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import Memory
from draisine.simulation.stepper.stored_loop import Code
from draisine.simulation.velocity_choices import CompiledEquations

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

BUDGET = 4096  # steps between two looks at whether the work is to be left

ENDINGS = {
    layout.REACHED: Ending.FINISHED,
    layout.STOPPED: Ending.EVENT,
    layout.NOT_FINITE: Ending.NOT_FINITE,
    layout.STEP_TOO_SMALL: Ending.STEP_TOO_SMALL,
    layout.TOO_MANY_STEPS: Ending.TOO_MANY_STEPS,
}


@dataclass(frozen=True, eq=False)
class Moved:
    """Lanes and where they stand: at their ends, or where something rare stopped them (a `reason` that is none of `ENDINGS`)."""

    x: Reals  # (lanes, n) where a lane begins or goes on
    inputs: Reals  # (lanes, m)
    parameters: Reals  # (lanes, p)
    states: Reals  # (lanes, samples + 1, n): at the samples that were reached, and where the lane stands
    sampled: Integers
    reason: Integers
    happening: Integers
    first: Reals  # (lanes, e)
    count: Integers  # (lanes, e)
    ended: Reals
    accepted: Integers
    rejected: Integers
    evaluations: Integers
    condition: Reals
    reals: Reals  # (lanes, 4), see `lanes`
    counters: Integers  # (lanes, 4)
    signs: Integers  # (lanes, e)

    @staticmethod
    def of(x: Reals, inputs: Reals, parameters: Reals, samples: int, events: int) -> Moved:
        """Lanes that have not begun."""
        lanes, states = x.shape

        def whole(*shape: int) -> Integers:
            return np.zeros((lanes, *shape), dtype=np.int64)

        return Moved(
            x=np.array(x, dtype=float, order="C"),
            inputs=np.array(inputs, dtype=float, order="C"),
            parameters=np.array(parameters, dtype=float, order="C"),
            states=np.full((lanes, samples + 1, states), np.nan),
            sampled=whole(),
            reason=np.full(lanes, code.UNFINISHED, dtype=np.int64),
            happening=np.full(lanes, -1, dtype=np.int64),
            first=np.full((lanes, events), np.nan),
            count=whole(events),
            ended=np.full(lanes, np.nan),
            accepted=whole(),
            rejected=whole(),
            evaluations=whole(),
            condition=np.zeros(lanes),
            reals=np.zeros((lanes, 4)),
            counters=whole(4),
            signs=whole(events),
        )


def steps_in_lanes(equations: Equations, chosen: Chosen) -> bool:
    """Whether compiled code can run whole lanes: explicit methods of our own on ẋ = f."""
    scheme = chosen.method.scheme
    return not isinstance(equations.dynamics, Implicit) and isinstance(scheme, Scheme) and not scheme.foreign


def wide_dynamics(equations: Equations, chosen: Chosen) -> WideKernel | None:
    """The kernel of several lanes, if these equations and this method have one."""
    dynamics = equations.dynamics
    one_step = chosen.method.scheme.history == 1 and chosen.method.starter.history == 1
    if not one_step or not isinstance(dynamics, Program):
        return None
    return compile_wide(dynamics)


class Stepper:
    """Memory for lanes of one thread: for one at a time, or for some side by side."""

    def __init__(
        self, compiled: CompiledEquations, chosen: Chosen, until: float, samples: Reals, stop: Integers, wide: WideKernel | None
    ) -> None:
        self._memories = [_memory(compiled, chosen, until, samples) for _ in range(1 if wide is None else LANES)]
        self._settings = [np.frombuffer(bytes(memory.block), dtype=np.int64).copy() for memory in self._memories]
        self._stop, self._bears = stop, int(chosen.if_stiff is None)
        self._kernels = compiled.kernels()
        self._group = None if wide is None else _Group.of(compiled.equations, wide, self._memories[0].arrays["parameters"].size)
        self._run = lane_code(wide is not None).function

    def __call__(self, moved: Moved, which: Integers) -> None:
        """Begin, or go on with, the lanes for which `which` says so (`lanes.BEGINS`, `GOES_ON`)."""
        parameters = np.ascontiguousarray(self._kernels.extended(moved.parameters))  # it must outlive the call
        shared = self._table(moved, which, parameters)
        tables = []
        for memory, settings in zip(self._memories, self._settings, strict=True):
            table = shared.copy()
            table[code.BLOCK], table[code.WORDS] = memory.address, len(settings)
            table[code.SETTINGS] = settings.ctypes.data
            table[code.PARAMETERS] = memory.arrays["parameters"].ctypes.data
            tables.append(table)
        if self._group is None:
            self._run(tables[0].ctypes.data)
        else:
            table = self._group.table(tables)  # it must outlive the call
            self._run(table.ctypes.data)

    def _table(self, moved: Moved, which: Integers, parameters: Reals) -> Integers:
        """What the tables of all places have in common."""
        table = np.zeros(code.ENTRIES, dtype=np.int64)
        table[code.PARAMETER_COUNT], table[code.LANES] = parameters.shape[1], len(which)
        table[code.BEARS_STIFFNESS] = self._bears
        places = {
            code.WANTED: which,
            code.START_X: moved.x,
            code.START_U: moved.inputs,
            code.START_P: parameters,
            code.STATES: moved.states,
            code.SAMPLED: moved.sampled,
            code.REASON: moved.reason,
            code.HAPPENING: moved.happening,
            code.FIRST: moved.first,
            code.COUNT: moved.count,
            code.ENDED: moved.ended,
            code.ACCEPTED: moved.accepted,
            code.REJECTED: moved.rejected,
            code.EVALUATIONS: moved.evaluations,
            code.CONDITION: moved.condition,
            code.REALS: moved.reals,
            code.COUNTERS: moved.counters,
            code.SIGNS: moved.signs,
            code.STOP: self._stop,
        }
        for entry, array in places.items():
            table[entry] = array.ctypes.data
        return table


def _memory(compiled: CompiledEquations, chosen: Chosen, until: float, samples: Reals) -> Memory:
    """Memory of a lane, as `simulation.run` sets it up for a run."""
    e, method = compiled.equations, chosen.method
    directions, stops = [v.direction for v in e.event_list], [v.action == "stop" for v in e.event_list]
    x, u, p = np.zeros(len(e.states)), np.zeros(len(e.inputs)), np.zeros(len(e.parameters))
    memory = Memory(compiled.kernels(), method, x, u, p, (0.0, until), samples, directions, stops)
    block = memory.block
    block.threshold = e.limits.residual or projection_threshold(method)
    block.projections, block.limit = e.limits.projections, e.limits.condition
    block.budget = BUDGET
    block.suspect = int(watches_stiffness(method))
    block.happening = -1
    return memory


@dataclass(frozen=True, eq=False)
class _Group:
    """Arrays of a group of lanes, by their entries in its table."""

    kernel: WideKernel
    arrays: dict[int, NDArray[Any]]

    @staticmethod
    def of(equations: Equations, kernel: WideKernel, parameters: int) -> _Group:
        e = equations
        sizes = {groups.TIME: 1, groups.STATE: len(e.states), groups.INPUTS: len(e.inputs)}
        sizes |= {groups.GROUP_PARAMETERS: parameters, groups.RATE: len(e.states)}
        sizes |= dict.fromkeys((groups.STEP, groups.NEW_TIME, groups.SIZE), 1)
        arrays: dict[int, NDArray[Any]] = {entry: np.zeros(size * LANES) for entry, size in sizes.items()}
        arrays |= {entry: np.zeros(LANES, dtype=np.int64) for entry in (groups.LANE_OF, groups.VERDICT)}
        given = (groups.TIME, groups.STATE, groups.INPUTS, groups.GROUP_PARAMETERS)
        arrays[groups.ARGUMENTS] = np.array([arrays[entry].ctypes.data for entry in given], dtype=np.int64)
        arrays[groups.RESULTS] = np.array([arrays[groups.RATE].ctypes.data], dtype=np.int64)
        return _Group(kernel, arrays)

    def table(self, tables: list[Integers]) -> Integers:
        """The group's table, for these tables of its places."""
        self.arrays[groups.TABLES] = np.array([table.ctypes.data for table in tables], dtype=np.int64)
        made = np.zeros(groups.GROUP_ENTRIES, dtype=np.int64)
        made[groups.KERNEL] = self.kernel.address
        for entry, array in self.arrays.items():
            made[entry] = array.ctypes.data
        return made


def lane_code(side_by_side: bool) -> Code:
    """The driver of lanes, or of groups of them."""
    if side_by_side:
        return stored_code(groups.advance_groups, code, groups, stepping=True)
    return stored_code(code.advance_lanes, code, groups, stepping=True)

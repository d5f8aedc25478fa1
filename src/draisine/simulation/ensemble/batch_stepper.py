"""The stepping of lanes: memory of one thread, the compiled code, and what comes out of a block of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.restricted.entry import Code, Entry
from draisine.codegen.simd import LANES, VectorKernel, compile_vector
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import CompiledEquations
from draisine.simulation.ensemble import batch as code
from draisine.simulation.ensemble.batch import Batch, Group, Place
from draisine.simulation.methods.selection import Chosen, projection_threshold, watches_stiffness
from draisine.simulation.methods.tableau import Scheme
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import EXPLICIT, SOURCES, Memory

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
    return not isinstance(equations.dynamics, DaeResidual) and isinstance(scheme, Scheme) and not scheme.foreign


def wide_dynamics(equations: Equations, chosen: Chosen) -> VectorKernel | None:
    """The kernel of several lanes, if these equations and this method have one."""
    dynamics = equations.dynamics
    one_step = chosen.method.scheme.history == 1 and chosen.method.starter.history == 1
    if not one_step or not isinstance(dynamics, Program):
        return None
    return compile_vector(dynamics)


class BatchStepper:
    """Memory for lanes of one thread: for one at a time, or for some side by side."""

    def __init__(
        self, compiled: CompiledEquations, chosen: Chosen, until: float, samples: Reals, stop: Integers, wide: VectorKernel | None
    ) -> None:
        self._places = [_place(compiled, chosen, until, samples) for _ in range(1 if wide is None else LANES)]
        self._stop, self._bears = stop, int(chosen.if_stiff is None)
        self._kernels, self._wide = compiled.kernels(), wide
        self._group = None if wide is None else _group(wide, self._places)
        self._run = lane_code(wide is not None)

    def __call__(self, moved: Moved, which: Integers) -> None:
        """Begin, or go on with, the lanes for which `which` says so (`lanes.BEGINS`, `GOES_ON`)."""
        batch = Batch()
        batch.lanes, batch.bears_stiffness = len(which), self._bears
        batch.stop, batch.wanted = self._stop, which
        batch.start_x, batch.start_u = moved.x, moved.inputs
        batch.start_p = np.ascontiguousarray(self._kernels.extended(moved.parameters))
        for name in LEFT:
            setattr(batch, name, getattr(moved, name))
        for place in self._places:
            place.batch = batch
        self._run(self._places[0] if self._group is None else self._group)


# What lanes leave in a batch and `Moved` takes.
LEFT = (
    *("states", "sampled", "reason", "happening", "first", "count", "ended", "accepted", "rejected", "evaluations"),
    *("condition", "reals", "counters", "signs"),
)


def _place(compiled: CompiledEquations, chosen: Chosen, until: float, samples: Reals) -> Place:
    """Where a lane is run: its stepper as `simulation.run` sets it up for a run."""
    place = Place()
    place.stepper = _memory(compiled, chosen, until, samples).stepper
    place.settings = place.stepper.duplicate()
    return place


def _memory(compiled: CompiledEquations, chosen: Chosen, until: float, samples: Reals) -> Memory:
    """Memory of a lane, as `simulation.run` sets it up for a run."""
    e, method = compiled.equations, chosen.method
    directions, stops = [v.direction for v in e.event_list], [v.action == "stop" for v in e.event_list]
    x, u, p = np.zeros(len(e.states)), np.zeros(len(e.inputs)), np.zeros(len(e.parameters))
    memory = Memory(compiled.kernels(), method, x, u, p, (0.0, until), samples, directions, stops)
    stepper = memory.stepper
    stepper.threshold = e.limits.residual or projection_threshold(method)
    stepper.projections, stepper.limit = e.limits.projections, e.limits.condition
    stepper.budget = BUDGET
    stepper.suspect = int(watches_stiffness(method))
    stepper.happening = -1
    return memory


def _group(kernel: VectorKernel, places: list[Place]) -> Group:
    """Lanes side by side."""
    made, s = Group(), places[0].stepper
    made.kernel, made.places = kernel.address, places
    sizes = {"time": 1, "state": s.states, "inputs": s.inputs, "parameters": len(s.parameters), "rate": s.states}
    sizes |= dict.fromkeys(("step", "new_time", "size", "lane_of", "verdict"), 1)
    made.allocate({name: (size * LANES,) for name, size in sizes.items()})
    return made


_SOURCES = (
    *SOURCES,
    "draisine.simulation.ensemble.batch",
    "draisine.simulation.ensemble.batch",
    "draisine.codegen.simd",
)


@cache
def lane_code(side_by_side: bool) -> Code:
    """The driver of lanes, or of groups of them."""
    if side_by_side:
        return Entry("draisine.simulation.ensemble.batch", "advance_groups", _SOURCES, EXPLICIT).load()
    return Entry("draisine.simulation.ensemble.batch", "advance_lanes", _SOURCES, EXPLICIT).load()

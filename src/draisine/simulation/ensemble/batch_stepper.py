"""Driver of compiled batch stepping: memory of one thread, machine code, and the state of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.host import lane_count
from draisine.codegen.restricted.entry import Code, Entry
from draisine.codegen.simd import VectorKernel, compile_vector
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual, Program
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import CompiledEquations
from draisine.simulation.contact_margins import contact_margins, monitored_margins
from draisine.simulation.ensemble import batch as code
from draisine.simulation.ensemble.batch import Batch, Group, SampleStepper
from draisine.simulation.methods.selection import (
    MethodChoice,
    broken_threshold,
    detects_stiffness,
    projection_threshold,
)
from draisine.simulation.methods.tableau import Scheme
from draisine.simulation.singular_passage import set_limits
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import EXPLICIT, SMOOTH, SOURCES, MarkTables, Memory, event_stops, mark_times

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

BUDGET = 4096  # steps between two checks of the stop flag

ENDINGS = {
    layout.REACHED: Ending.FINISHED,
    layout.STOPPED: Ending.EVENT,
    layout.BROKEN: Ending.CONSTRAINTS_BROKEN,
    layout.NOT_FINITE: Ending.NOT_FINITE,
    layout.STEP_TOO_SMALL: Ending.STEP_TOO_SMALL,
    layout.TOO_MANY_STEPS: Ending.TOO_MANY_STEPS,
}


@dataclass(frozen=True, eq=False)
class BatchState:
    """The samples of a batch: at their ends, or where something rare stopped them (a `reason` not in `ENDINGS`)."""

    x: Reals  # (batch, n) where a sample starts or resumes
    inputs: Reals  # (batch, m)
    parameters: Reals  # (batch, p)
    states: Reals  # (batch, samples + 1, n): at the output times reached, and the last state
    sample_count: Integers
    reason: Integers
    stopping_event: Integers
    first: Reals  # (batch, e)
    count: Integers  # (batch, e)
    ended: Reals
    accepted: Integers
    rejected: Integers
    evaluations: Integers
    condition: Reals
    reals: Reals  # (batch, 4), see `batch`
    counters: Integers  # (batch, 4)
    signs: Integers  # (batch, e)
    contact_least: Reals  # (batch, c)
    unresolved: Integers  # 1 + an event that varies too fast for a step, or 0
    nearly_singular: NDArray[np.bool_]

    @staticmethod
    def of(x: Reals, inputs: Reals, parameters: Reals, samples: int, events: int, contacts: int = 0) -> BatchState:
        """A batch that has not started."""
        size, states = x.shape

        def whole(*shape: int) -> Integers:
            return np.zeros((size, *shape), dtype=np.int64)

        return BatchState(
            x=np.array(x, dtype=float, order="C"),
            inputs=np.array(inputs, dtype=float, order="C"),
            parameters=np.array(parameters, dtype=float, order="C"),
            states=np.full((size, samples + 1, states), np.nan),
            sample_count=whole(),
            reason=np.full(size, code.UNFINISHED, dtype=np.int64),
            stopping_event=np.full(size, -1, dtype=np.int64),
            first=np.full((size, events), np.nan),
            count=whole(events),
            ended=np.full(size, np.nan),
            accepted=whole(),
            rejected=whole(),
            evaluations=whole(),
            condition=np.zeros(size),
            reals=np.zeros((size, 4)),
            counters=whole(4),
            signs=whole(events),
            contact_least=np.full((size, contacts), np.nan),
            unresolved=whole(),
            nearly_singular=np.zeros(size, dtype=bool),
        )


def steps_in_batches(equations: Equations, chosen: MethodChoice) -> bool:
    """Whether the batch can be run in compiled code: explicit methods, not external, for ẋ = f."""
    scheme = chosen.method.scheme
    return not isinstance(equations.dynamics, DaeResidual) and isinstance(scheme, Scheme) and not scheme.external


def wide_dynamics(equations: Equations, chosen: MethodChoice) -> VectorKernel | None:
    """The vector kernel, if these equations and this method have one."""
    dynamics = equations.dynamics
    one_step = chosen.method.scheme.history == 1 and chosen.method.starter.history == 1
    if not one_step or not isinstance(dynamics, Program):
        return None
    return compile_vector(dynamics)


def wide_margins(equations: Equations) -> VectorKernel | None:
    """The vector kernel of the contact margins, if there are contacts."""
    margins = contact_margins(equations)
    if margins is None or not isinstance(margins.program, Program):
        return None
    return compile_vector(margins.program, hoisted=False)


class BatchStepper:
    """Memory of one thread for samples, one at a time or several side by side."""

    def __init__(
        self,
        compiled: CompiledEquations,
        chosen: MethodChoice,
        until: float,
        samples: Reals,
        stop: Integers,
        wide: VectorKernel | None,
        margins: VectorKernel | None = None,
    ) -> None:
        self._slots = [_sample_stepper(compiled, chosen, until, samples) for _ in range(1 if wide is None else wide.lanes)]
        self._stop, self._ignore_stiffness = stop, int(chosen.if_stiff is None)
        self._kernels, self._wide = compiled.kernels(), wide
        self._group = None if wide is None else _group(wide, margins, self._slots)
        self._run = batch_code(wide)

    def set_marks(self, marks: MarkTables | None) -> None:
        """Use marks of functions of time for all samples."""
        for place in self._slots:
            for stepper in (place.stepper, place.settings):
                mark_times(stepper, marks)

    def __call__(self, moved: BatchState, which: Integers) -> None:
        """Begin or resume the samples marked by BEGIN or RESUME."""
        batch = Batch()
        batch.size, batch.ignore_stiffness = len(which), self._ignore_stiffness
        batch.stop, batch.action = self._stop, which
        batch.start_x, batch.start_u = moved.x, moved.inputs
        batch.start_p = np.ascontiguousarray(self._kernels.extended(moved.parameters))
        for name in LEFT:
            setattr(batch, name, getattr(moved, name))
        for place in self._slots:
            place.batch = batch
        self._run(self._slots[0] if self._group is None else self._group)


# Results of a batch that are stored in `BatchState`.
LEFT = (
    *("states", "sample_count", "reason", "stopping_event", "first", "count", "ended", "accepted", "rejected", "evaluations"),
    *("condition", "reals", "counters", "signs", "contact_least", "unresolved"),
)


def _sample_stepper(compiled: CompiledEquations, chosen: MethodChoice, until: float, samples: Reals) -> SampleStepper:
    """A stepper for samples, with the settings of `simulation.run`."""
    place = SampleStepper()
    place.stepper = _memory(compiled, chosen, until, samples).stepper
    place.settings = place.stepper.duplicate()
    return place


def _memory(compiled: CompiledEquations, chosen: MethodChoice, until: float, samples: Reals) -> Memory:
    """Memory of a sample, with the settings of `simulation.run`."""
    e, method = compiled.equations, chosen.method
    directions, stops = [v.direction for v in e.event_list], [event_stops(v) for v in e.event_list]
    x, u, p = np.zeros(len(e.states)), np.zeros(len(e.inputs)), np.zeros(len(e.parameters))
    memory = Memory(compiled.kernels(margins_of=monitored_margins), method, x, u, p, (0.0, until), samples, directions, stops)
    stepper = memory.stepper
    stepper.threshold = e.limits.residual or projection_threshold(method)
    stepper.broken = broken_threshold(e.limits, stepper.threshold)
    stepper.projections = e.limits.projections
    set_limits(stepper, e)
    stepper.budget = BUDGET
    stepper.check_stiffness = int(detects_stiffness(method))
    stepper.stopping_event = -1
    return memory


def _group(kernel: VectorKernel, margins: VectorKernel | None, places: list[SampleStepper]) -> Group:
    """A group of samples side by side."""
    made, s = Group(), places[0].stepper
    made.kernel, made.slots, made.lanes = kernel.address, places, kernel.lanes
    made.contact_kernel = 0 if margins is None else margins.address
    stages, n, lanes = places[0].stepper.tableau.stages, s.states, kernel.lanes
    sizes = {"time": 1, "state": n, "old": n, "new": n, "lengths": n, "inputs": s.inputs, "parameters": len(s.parameters)}
    sizes["margins"] = s.contacts
    sizes |= dict.fromkeys(("step", "new_time", "size", "sample_of", "outcome", "accepted", "begin"), 1)
    shapes: dict[str, tuple[int, ...]] = {name: (size * lanes,) for name, size in sizes.items()}
    made.allocate({**shapes, "rates": (stages + 1, n * lanes), "error": (2, n * lanes), "sums": (2, lanes)})
    return made


_SOURCES = (
    *SOURCES,
    "draisine.simulation.ensemble.batch",
)


def batch_code(wide: VectorKernel | None) -> Code:
    """The machine code for single samples, or for groups side by side by a vector kernel."""
    return batch_entry(None if wide is None else wide.lanes).load()


def compile_batches() -> None:
    """Compile both loops in advance."""
    batch_entry(None).load()
    batch_entry(lane_count()).load()


@cache
def batch_entry(lanes: int | None) -> Entry:
    """The entry of the loop for single samples, or for groups of so many."""
    module, fixed = "draisine.simulation.ensemble.batch", EXPLICIT | SMOOTH
    if lanes is None:
        return Entry(module, "advance_samples", _SOURCES, fixed)
    return Entry(module, "advance_groups", _SOURCES, fixed | {(Group, "lanes"): lanes}, passes=2)

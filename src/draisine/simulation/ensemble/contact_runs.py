"""Runs of contacts that open, one after the other in memory that is made once.

A single run prepares its memory, its records and its status anew, which takes longer than many a short run itself. Here the
memory is that of a driver (`simulation/run.py`) that would have both methods from its start, and is put back to its first
contents before every run; the compiled loop changes methods by itself. The steps are the same, so that results are those of
single runs bit for bit. What is rare is left to the driver: runs that end early for another reason than an event, and what needs
a warning.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.restricted.types import Record
from draisine.results.contact_modes import ContactHistory
from draisine.simulation.compiled_equations import CompiledEquations, MarginsOf
from draisine.simulation.methods.selection import MethodChoice, detects_stiffness
from draisine.simulation.run import limit_memory, pairs
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.contact_memory import contact_history, grow_changes, mode_parameters
from draisine.simulation.stepper.memory import Kernels, Memory, event_stops, no_switches, stepping_loop

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

STEPS = 4096  # between two looks at whether to stop
ROOM = 1024  # changes of modes


@dataclass(frozen=True, eq=False)
class ContactRun:
    """What is kept of a run: states at the samples that it reached and at its end, each with the modes there."""

    stopped: int  # the event, −1 for none
    ended: float
    samples: int
    states: Reals  # (samples + 1, n), the last row at the end
    parameters: Reals  # (samples + 1, p)
    modes: ContactHistory
    event_index: Integers
    event_time: Reals
    accepted: int
    rejected: int
    evaluations: int
    contact_least: Reals


@dataclass(eq=False)
class _Contents:
    """A record, and its first contents."""

    record: Record
    numbers: bytes = b""
    blocks: list[tuple[Reals, Reals]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = bytes(self.record)
        known = {id(memory): memory for memory, _ in self.record.__dict__["_blocks"].values()}
        self.blocks = [(memory, memory.copy()) for memory in known.values()]

    def put_back(self) -> None:
        ctypes.memmove(ctypes.addressof(self.record), self.numbers, len(self.numbers))
        for memory, first in self.blocks:
            memory[:] = first


def runs_in_one_memory(compiled: CompiledEquations, chosen: MethodChoice) -> bool:
    """Whether runs of these equations by this method can be made here."""
    plain = bool(compiled.equations.unilateral) and compiled.switching is None and compiled.time_marks is None
    if not plain or compiled.quick or chosen.method.implicit or chosen.method.scheme.external:
        return False
    # where an explicit method alone is given, what is noted of stiff equations is the driver's
    return chosen.if_stiff is not None and pairs(compiled, chosen.if_stiff.implicit)


class ContactRuns:
    """Makes runs on one thread. `stop`: nonzero to stop."""

    def __init__(
        self,
        compiled: CompiledEquations,
        margins_of: MarginsOf | None,
        chosen: MethodChoice,
        until: float,
        samples: Reals,
        stop: Integers,
    ) -> None:
        self._compiled, self._chosen, self._stop = compiled, chosen, stop
        e, assumed = compiled.equations, chosen.if_stiff
        assert assumed is not None
        events = e.event_list
        self._kernels: Kernels = compiled.kernels(0, True, margins_of)
        self._memory = memory = Memory(
            self._kernels,
            chosen.method,
            np.zeros(len(e.states)),
            np.zeros(len(e.inputs)),
            e.default_parameters,
            (0.0, until),
            samples,
            [event.direction for event in events],
            [event_stops(event) for event in events],
            no_switches(),
        )
        memory.set_marks(None)
        limit_memory(memory.stepper, e, chosen.method)
        memory.stepper.budget = STEPS
        memory.stepper.check_stiffness = int(detects_stiffness(chosen.method))
        memory.take_pair(self._kernels, chosen.method, assumed.implicit)
        while memory.stepper.modes.change_room < ROOM:
            grow_changes(memory.stepper.modes)
        self._advance = stepping_loop(implicit=True, unilateral=True)
        self._first = self._contents()

    def _contents(self) -> tuple[_Contents, _Contents]:
        return _Contents(self._memory.stepper), _Contents(self._memory.stepper.modes)

    def __call__(self, x: Reals, u: Reals, p: Reals) -> ContactRun | None:
        """The run from a state; None where it was stopped, or is left to the driver."""
        memory, s = self._memory, self._memory.stepper
        self._begin(x, u, p)
        while True:
            reason = self._advance(s)
            if reason == layout.FULL:
                self._grow()
            elif reason != layout.PAUSED:
                break
            elif self._stop[0]:
                return None
        if reason not in (layout.REACHED, layout.STOPPED) or s.unresolved_event:
            return None
        modes, count = s.modes, int(s.sample_count)
        states = np.empty((count + 1, s.states))
        states[:count], states[count] = s.sample_x[:count], memory.state
        return ContactRun(
            int(s.stopping_event) if reason == layout.STOPPED else -1,
            float(s.t),
            count,
            states,
            self._modes_at(p, count),
            contact_history(modes, self._compiled.equations, float(s.t)),
            s.event_index[: s.event_count].copy(),
            s.event_time[: s.event_count].copy(),
            int(s.accepted),
            int(s.rejected),
            int(s.evaluations),
            s.contact_least.copy(),
        )

    def _begin(self, x: Reals, u: Reals, p: Reals) -> None:
        """Put the memory back to its first contents, and take the values of a run."""
        for contents in self._first:
            contents.put_back()
        s, usual = self._memory.stepper, None if self._kernels.unilateral is None else self._kernels.unilateral.usual
        s.x[: s.states], s.u[:] = x, u
        s.modes.all_parameters[:] = self._kernels.extended(p)
        s.modes.usual_parameters[:] = s.modes.all_parameters if usual is None else usual.dynamics.extended(p)

    def _grow(self) -> None:
        """More room for records, of this run and of those that follow; they refer to arrays by their addresses."""
        s = self._memory.stepper
        before = bytes(s), bytes(s.modes)
        self._memory.grow()
        for contents, old in zip(self._first, before, strict=True):
            changed = np.frombuffer(bytes(contents.record), dtype=np.int64) != np.frombuffer(old, dtype=np.int64)
            kept = np.frombuffer(contents.numbers, dtype=np.int64).copy()
            kept[changed] = np.frombuffer(bytes(contents.record), dtype=np.int64)[changed]
            contents.numbers = kept.tobytes()

    def _modes_at(self, p: Reals, count: int) -> Reals:
        """The parameters with the modes at the samples, and at the end."""
        modes = self._memory.stepper.modes
        if modes.change_count == 0:
            return np.tile(p, (count + 1, 1))
        places = np.searchsorted(modes.change_sample[: modes.change_count], np.arange(count), side="right") - 1
        which = np.append(places, modes.change_count - 1)
        made = {k: mode_parameters(modes, k, p) for k in set(which.tolist())}
        return np.array([made[k] for k in which.tolist()])

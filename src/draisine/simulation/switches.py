"""Switching functions of compiled equations: kernels, the branches at a start, and the tables of a run for the stepping loop."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import HoistedKernel, Kernel, compile, compile_hoisted
from draisine.program.branches import Evaluated, branches_at
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.mixed_branches import depends_on_jumps, fix_program, mix_program
from draisine.program.program import DaeResidual, Program
from draisine.program.switch_times import SwitchTimes, switch_times
from draisine.program.switching import Switching, find_switching, graph_of_time
from draisine.results.status import time_text
from draisine.simulation.result import SwitchOccurrence
from draisine.simulation.sliding_samples import SlidingSamples
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.layout import ONE_SIDED, Stepper
from draisine.simulation.stepper.memory import Memory, SwitchTables
from draisine.simulation.stepper.mixture import record_mixture
from draisine.simulation.time_marks import MOST_KNOWN, TimeMarks, inputs_of

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompiledSwitching:
    """The switching functions of equations with their kernels."""

    switching: Switching
    arguments: Kernel
    rates: Kernel
    margins: Kernel | None
    dynamics: HoistedKernel | None  # of ẋ = f
    saltation: Kernel | None = None  # of variational equations
    mixed_dynamics: Kernel | None = None  # with mixed branches, if the run may slide: derivative …
    mixed_rates: Kernel | None = None  # … and rates
    _mixed: dict[str, Kernel | None] = field(default_factory=dict, init=False, repr=False)
    _times: dict[Hashable, SwitchTimes] = field(default_factory=dict, init=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the switching function of each margin."""
        return tuple(self.switching.switches[margin.switch].name for margin in self.switching.margins)

    def sliding_samples(self, mixture: Reals) -> SlidingSamples | None:
        """Samples with their mixtures, as the loop has recorded them; None if the run does not slide at any of them."""
        if not (mixture[:, 0] != ONE_SIDED).any():
            return None
        return SlidingSamples(self.switching, mixture[:, : 1 + len(self.switching.switches)].copy())

    @staticmethod
    def record_mixture(memory: Memory, row: Reals) -> None:
        """Record how the law is mixed at the present state."""
        record_mixture(memory.stepper, float(memory.stepper.t), memory.state.copy(), row)

    def mixed(self, program: Program | LinearSolveProgram | None) -> Kernel | None:
        """A program of the same equations with mixed branches; None if it does not depend on a law on whose surface a run may
        slide."""
        if program is None or self.mixed_dynamics is None:
            return None
        if program.digest not in self._mixed:
            depends = depends_on_jumps(self.switching, program)
            made = compile(mix_program(self.switching, fix_program(self.switching, program))) if depends else None
            self._mixed[program.digest] = made
        return self._mixed[program.digest]

    @property
    def explicit(self) -> Program | LinearSolveProgram:
        """The dynamics ẋ = f with fixed branches."""
        assert not isinstance(self.switching.dynamics, DaeResidual)
        return self.switching.dynamics

    @cached_property
    def depends_on_inputs(self) -> tuple[str, ...]:
        """Switching functions of time that also depend on inputs: their times are known while the inputs are constant."""
        fixed = self.switching.graph
        numbers = [*(fixed.chosen[i] for i in self.switching.time_only), *fixed.kinks]
        return tuple(fixed.timed(k).name for k in numbers if fixed.depends_on_slot([fixed.every[k].argument], "u"))

    def tables(self, span: tuple[float, float], x: Reals, u: Reals, p: Reals) -> SwitchTables:
        """The tables of a run over a span of time from a state, with constant inputs."""
        begin, end = span
        s, count = self.switching, len(self.switching.switches)
        times, known = np.zeros(0), np.full((1, count), np.nan)
        guaranteed = True
        if begin != end:
            timed = self.known_times(span, u, p)
            times, known = timed.times, np.full((len(timed.times) + 1, count), np.nan)
            known[:, list(timed.numbers)] = timed.branches
            guaranteed = timed.guaranteed
        return SwitchTables(
            branches=self.branches(begin, x, u, p, {i: v for i, v in enumerate(known[0]) if not np.isnan(v)}, end >= begin),
            time_only=list(s.time_only),
            switch_jumps=np.array([switch.jump for switch in s.switches], dtype=np.int64),
            margin_branch=np.array([margin.switch for margin in s.margins], dtype=np.int64),
            margin_corners=self._corners,
            margin_step=np.array([margin.step for margin in s.margins], dtype=np.int64),
            guaranteed=guaranteed,
            restart_time=times,
            restart_branch=known[1:],
        )

    @cached_property
    def _corners(self) -> NDArray[np.int64]:
        """Which margins may have corners within a branch."""
        corners = [self.switching.graph.has_corners(i) for i in range(len(self.switching.switches))]
        return np.array([corners[margin.switch] for margin in self.switching.margins], dtype=np.int64)

    @cached_property
    def _determining(self) -> tuple[list[int], list[int]]:
        """The inputs and parameters on which switches of time depend."""
        graph = self.switching.graph
        return inputs_of(graph, [graph.every[graph.chosen[i]].argument for i in self.switching.time_only])

    def known_times(self, span: tuple[float, float], u: Reals, p: Reals) -> SwitchTimes:
        """Switches of time; many runs of an ensemble share them."""
        inputs, parameters = self._determining
        key = span, u[inputs].tobytes(), p[parameters].tobytes()
        if key not in self._times:
            if len(self._times) >= MOST_KNOWN:
                self._times.clear()
            self._times[key] = switch_times(self.switching, *span, u, p)
        return self._times[key]

    def names_of_restarts(self, tables: SwitchTables) -> dict[float, str]:
        """The switching functions that change at each restart time."""
        names, before = [switch.name for switch in self.switching.switches], tables.branches
        found = {}
        for time, row in zip(tables.restart_time.tolist(), tables.restart_branch, strict=True):
            changed = ~np.isnan(row) & (row != before)
            found[time] = ", ".join(name for name, does in zip(names, changed, strict=True) if does)
            before = np.where(np.isnan(row), before, row)
        return found

    def occurrences(self, stepper: Stepper, restarts: Mapping[float, str]) -> tuple[SwitchOccurrence, ...]:
        """The switches of a run so far; `restarts` are the names of those of time."""
        words = {layout.SWITCHED: "", layout.ENTERED: "begins", layout.LEFT: "ends"}
        records = (stepper.switch_time, stepper.switch_margin, stepper.switch_kind)
        times, rows, kinds = (record[: stepper.switch_count].tolist() for record in records)
        return tuple(
            SwitchOccurrence(self.names[row] if row >= 0 else restarts[time], time, words[kind])
            for time, row, kind in zip(times, rows, kinds, strict=True)
        )

    def one_sided(self, stepper: Stepper) -> str:
        """Where derivatives of the state by parameters or start values are those of one side; "" for nowhere."""
        if not stepper.one_sided:
            return ""
        names = [switch.name for switch in self.switching.switches]
        first, second = names[stepper.one_sided_switch], names[stepper.other_switch]
        time, count = time_text(float(stepper.one_sided_time)), int(stepper.one_sided)
        more = f" (the first of {count} such times)" if count > 1 else ""
        if stepper.one_sided_kind == layout.AT_START:
            return (
                f"the run starts on the switching surface of {first}, and a change of the start or of a parameter leads off it: "
                f"sensitivities are those of one side; start beside it{more}"
            )
        if stepper.one_sided_kind == layout.LEAPING:
            return (
                f"at {time} the switching function of {first} itself jumps, and the derivative of that time is not known: from "
                f"there on the numbers of sensitivities ignore this switch; write the conditions one by one{more}"
            )
        if stepper.one_sided_kind == layout.TANGENTIAL:
            return (
                f"at {time} the motion touches the switching surface of {first} without crossing it: from there on sensitivities "
                f"do not exist, and the numbers ignore this switch{more}"
            )
        return (
            f"{second} and {first} switch at the same time, {time}, and their order matters: from there on sensitivities are "
            f"those of one side{more}"
        )

    def branches(self, t: float, x: Reals, u: Reals, p: Reals, known: Mapping[int, float], forward: bool = True) -> Reals:
        """The branches at a state; those of time are `known`."""
        if self.dynamics is None:  # switching functions of 0 = F are taken at zero rates
            programs = {"arguments": lambda t, x, u, p: self.arguments([t], x, np.zeros(len(x)), u, p)[0]}
        else:
            rates, count = _evaluated(self.rates), len(self.switching.switches)
            programs = {"arguments": _evaluated(self.arguments), "rates": lambda t, x, u, p: rates(t, x, u, p)[:count]}
            programs["dynamics"] = _evaluated(self.dynamics)
        return branches_at(self.switching, t, x, u, p, forward, known, programs=programs).values


def _evaluated(kernel: Kernel | HoistedKernel) -> Evaluated:
    """A kernel as a function of (t, x, u, p) that returns its result."""
    if isinstance(kernel, HoistedKernel):
        return lambda t, x, u, p: kernel.kernel([t], x, u, kernel.extended(p))[0]
    return lambda t, x, u, p: kernel([t], x, u, p)[0]


def find_time_marks(equations: Equations, switching: CompiledSwitching | None) -> TimeMarks | None:
    """What tells of kinks, tables, pulses and conditions of time in equations, with their switching functions if they have some;
    None if there are none."""
    if switching is None:
        graph = graph_of_time(equations)
        return None if graph is None else TimeMarks(graph)
    graph = switching.switching.graph
    marked = graph.kinks or graph.knots or graph.seams or graph.sharp_functions
    return TimeMarks(graph, switching.known_times) if marked else None


def compile_switching(equations: Equations, quick: bool = False) -> CompiledSwitching | None:
    """The switching functions of equations, compiled; None if there are none. `quick`: see `codegen.jit.kernel.compile`."""
    found = find_switching(equations, free_kinks=True)
    if found is None:
        return None
    explicit = None if isinstance(found.dynamics, DaeResidual) else compile_hoisted(found.dynamics, quick=quick)
    arguments, rates = compile(found.arguments, quick=quick), compile(found.rates, quick=quick)
    margins, saltation = (None if p is None else compile(p, quick=quick) for p in (found.functions, found.saltation))
    slides = explicit is not None and any(switch.jump and not switch.time_only for switch in found.switches)
    mixed: list[Kernel] = []
    if slides and not isinstance(found.dynamics, DaeResidual):
        mixed = [compile(mix_program(found, what), quick=quick) for what in (found.dynamics, found.rates)]
    return CompiledSwitching(found, arguments, rates, margins, explicit, saltation, *mixed)

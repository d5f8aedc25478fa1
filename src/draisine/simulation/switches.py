"""Switching functions of compiled equations: kernels, the branches at a start, and the tables of a run for the stepping loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.switch_times import switch_times
from draisine.program.switching import Switching, find_switching
from draisine.simulation.stepper.memory import SwitchTables

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompiledSwitching:
    """The switching functions of equations with their kernels."""

    switching: Switching
    arguments: Kernel
    rates: Kernel
    margins: Kernel | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the switching function of each margin."""
        return tuple(self.switching.switches[margin.switch].name for margin in self.switching.margins)

    @property
    def implicit(self) -> bool:
        return isinstance(self.switching.dynamics, DaeResidual)

    def tables(self, span: tuple[float, float], x: Reals, u: Reals, p: Reals) -> SwitchTables:
        """The tables of a run over a span of time from a state, with constant inputs."""
        begin, end = span
        s, count = self.switching, len(self.switching.switches)
        times, known = np.zeros(0), np.full((1, count), np.nan)
        if begin != end:
            timed = switch_times(s, begin, end, u, p)
            times, known = timed.times, np.full((len(timed.times) + 1, count), np.nan)
            known[:, list(timed.numbers)] = timed.branches
        return SwitchTables(
            branches=self._branches_at(begin, x, u, p, known[0], 1.0 if end >= begin else -1.0),
            margin_branch=np.array([margin.switch for margin in s.margins], dtype=np.int64),
            margin_step=np.array([margin.step for margin in s.margins], dtype=np.int64),
            restart_time=times,
            restart_branch=known[1:],
            mark_time=np.zeros(0),
            mark_kink=np.zeros(0, dtype=np.int64),
            mark_value=np.zeros((0, 0)),
            mark_tolerance=np.zeros(0),
        )

    def _branches_at(self, t: float, x: Reals, u: Reals, p: Reals, known: Reals, direction: float) -> Reals:
        """The branches at a state; those of time are `known`. Switches inside the arguments of others come first."""
        branches = np.where(np.isnan(known), 0.0, known)
        extended = np.concatenate([p, branches])
        arguments = ([t], x, np.zeros(len(x)), u, extended) if self.implicit else ([t], x, u, extended)
        for _ in range(len(branches) + 1):
            (values,) = self.arguments(*arguments)
            (rates,) = self.rates(*arguments)
            for i, switch in enumerate(self.switching.switches):
                if np.isnan(known[i]):
                    rate = direction * float(rates[i]) if np.isfinite(rates[i]) else 0.0
                    branches[i] = switch.branch(float(values[i]), rate)
            if np.array_equal(extended[len(p) :], branches):
                break
            extended[len(p) :] = branches
        return branches


def compile_switching(equations: Equations) -> CompiledSwitching | None:
    """The switching functions of equations, compiled; None if there are none."""
    found = find_switching(equations)
    if found is None:
        return None
    margins = None if found.functions is None else compile(found.functions)
    return CompiledSwitching(found, compile(found.arguments), compile(found.rates), margins)

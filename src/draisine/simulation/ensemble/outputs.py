"""Named outputs at many points: the requested part of the report, compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.arguments import unknown_name
from draisine.program.equations import ENERGIES, Equations
from draisine.program.program import Program
from draisine.simulation.report_values import evaluate_report, reporter
from draisine.simulation.sliding_samples import SlidingSamples

Reals = NDArray[np.float64]


@lru_cache(maxsize=64)
def report_positions(equations: Equations) -> Mapping[str, tuple[str, int]]:
    """Position of each reported quantity: a slot of the report and its entry, or a coordinate of the state."""
    e = equations
    found: dict[str, tuple[str, int]] = {q.name: ("x", i) for i, q in enumerate(e.coordinates)}
    groups = (("v", e.velocities), ("inputs", e.inputs), ("outputs", e.outputs), ("multipliers", e.multipliers))
    for slot, quantities in groups:
        for i, quantity in enumerate(quantities):
            found.setdefault(quantity.name, (slot, i))
    if any(slot.name == "energy" for slot in e.report.outputs):
        for i, name in enumerate(ENERGIES[:2]):
            found.setdefault(name, ("energy", i))
    return found


def units_of(equations: Equations, names: Sequence[str]) -> dict[str, str]:
    """Units of outputs, parameters, inputs and start targets ("start.lean") by name."""
    e = equations
    groups = (e.parameters, e.multipliers, e.outputs, e.inputs, e.velocities, e.coordinates)
    known = {q.name: q.unit for group in groups for q in group} | dict.fromkeys(ENERGIES[:2], "J")
    return {name: known.get(name.removeprefix("start."), "") for name in names}


@dataclass(frozen=True, eq=False)
class Reporter:
    """Outputs by name at points (t, x, u, p), for every choice of velocities."""

    names: tuple[str, ...]
    _kernels: dict[tuple[str, ...], Kernel] = field(default_factory=dict)

    @staticmethod
    def of(equations: Equations, names: Sequence[str]) -> Reporter:
        """Names that the equations do not report are refused."""
        known = report_positions(equations)
        for name in names:
            if name not in known:
                raise unknown_name(f"output of {equations.name}", name, known)
        return Reporter(tuple(names))

    def prepare(self, equations: Equations) -> None:
        """Compile the outputs for one choice of velocities."""
        if not self.names:
            return
        if not isinstance(equations.report, Program):  # with a linear system inside: the whole report
            reporter(equations, quick=False)
        elif equations.choice not in self._kernels:
            self._kernels[equations.choice] = self._compiled(equations, equations.report)

    def __call__(
        self, equations: Equations, t: Reals, x: Reals, u: Reals, p: Reals, sliding: SlidingSamples | None = None
    ) -> Reals:
        """(points, outputs); `sliding` says how the law is mixed where a run slides."""
        if not self.names:
            return np.zeros((len(t), 0))
        if isinstance(equations.report, Program):
            self.prepare(equations)
            (found,) = self._kernels[equations.choice].map(t[:, None], x, u, p)
        else:
            found = self._selected(equations, x, evaluate_report(equations, t, x, u, p, quick=False))
        if sliding is not None:
            found[sliding.rows] = self._selected(equations, x[sliding.rows], sliding.report(equations, t, x, u, p))
        return found

    def _selected(self, equations: Equations, x: Reals, values: Mapping[str, Reals]) -> Reals:
        """The outputs from results of the whole report."""
        positions = (report_positions(equations)[name] for name in self.names)
        return np.column_stack([x[:, i] if slot == "x" else values[slot][:, i] for slot, i in positions])

    def _compiled(self, equations: Equations, report: Program) -> Kernel:
        symbols = report.symbols()
        results = dict(zip((slot.name for slot in report.outputs), report.function.call(symbols), strict=True))
        results["x"] = symbols[[slot.name for slot in report.inputs].index("x")]
        positions = (report_positions(equations)[name] for name in self.names)
        chosen = ca.vertcat(*(results[slot][i] for slot, i in positions))
        inputs = {slot.name: (symbol, slot.labels) for slot, symbol in zip(report.inputs, symbols, strict=True)}
        return compile(Program.build(f"{equations.name}_reported", inputs, {"reported": (chosen, self.names)}))

    @staticmethod
    def all_velocities(equations: Equations) -> Kernel:
        """The kernel of (t, x, u, p) whose first result is all velocities."""
        report = equations.report
        if not isinstance(report, Program):
            assert report.outputs[0].name == "v", "reports begin with the velocities"
            return compile(report)
        symbols = report.symbols()
        v = report.function.call(symbols)[[slot.name for slot in report.outputs].index("v")]
        inputs = {slot.name: (symbol, slot.labels) for slot, symbol in zip(report.inputs, symbols, strict=True)}
        return compile(Program.build(f"{equations.name}_velocities", inputs, {"v": v}))

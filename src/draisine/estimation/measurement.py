"""What is measured, as a program of its own: values of named quantities, and their exact derivatives by state and parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.variational import Direction, jacobian

Reals = NDArray[np.float64]


def measurable(equations: Equations) -> dict[str, Quantity]:
    """Everything that may be measured, by name: coordinates, velocities, outputs, multipliers."""
    groups = (equations.multipliers, equations.velocities, equations.coordinates, equations.outputs)
    return {q.name: q for group in groups for q in group}


class Observer:
    """(t, x, u, p) → the named quantities y, ∂y/∂x and ∂y/∂θ, over many instants."""

    def __init__(self, equations: Equations, names: tuple[str, ...], directions: tuple[Direction, ...]) -> None:
        self._kernel: Kernel = compile(jacobian(_selected(equations, names), directions))
        self._count, self._states = len(names), len(equations.states)

    def __call__(self, t: Reals, x: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals, Reals]:
        # one instant of one number has no axis of samples that could be told from others
        y, by = self._kernel.map(t[:, None], x, u, p) if len(t) > 1 else self._kernel(t, x[0], u[0], p)
        table = np.asarray(by).reshape(len(t), self._count, -1)
        return np.asarray(y).reshape(len(t), self._count), table[:, :, : self._states], table[:, :, self._states :]


@lru_cache(maxsize=64)
def observer(equations: Equations, names: tuple[str, ...], directions: tuple[Direction, ...]) -> Observer:
    """The observer of these quantities, remembered."""
    return Observer(equations, names, directions)


def _selected(equations: Equations, names: tuple[str, ...]) -> Program | LinearSolveProgram:
    """The report, with nothing but the quantities asked for."""
    report = equations.report
    inner = report.after if isinstance(report, LinearSolveProgram) else report
    symbols = dict(zip((slot.name for slot in inner.inputs), inner.symbols(), strict=True))
    results = inner.function.call(list(symbols.values()))
    place: dict[str, ca.SX] = {}
    for slot, result in zip(inner.outputs, results, strict=True):
        if slot.name in ("multipliers", "v", "outputs"):
            place |= {label: result[i] for i, label in enumerate(slot.labels)}
    place |= {q.name: symbols["x"][i] for i, q in enumerate(equations.coordinates)}
    if equations.outputs:  # outputs come before what else has their name
        slot = inner.output("outputs")
        reported = results[[s.name for s in inner.outputs].index("outputs")]
        place |= {label: reported[i] for i, label in enumerate(slot.labels)}
    made = Program.build(f"{equations.name}_observed", symbols, {"y": ca.densify(ca.vertcat(*[place[n] for n in names]))})
    return replace(report, name=made.name, after=made) if isinstance(report, LinearSolveProgram) else made

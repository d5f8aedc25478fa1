"""Evaluation along a branch: programs called in place, reported quantities by name, radii of wheel paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.stability.batch_evaluation import BatchProgram
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]

STRAIGHT = 1e-9  # yaw rate in rad/s below which a path is straight


class Evaluation:
    """A program with preallocated arguments and results, interpreted in place."""

    def __init__(self, program: Program) -> None:
        self._shapes = [slot.shape for slot in program.outputs]
        self.arguments = [np.zeros(slot.size) for slot in program.inputs]
        self._results = [np.zeros(max(slot.size, 1)) for slot in program.outputs]
        buffer: Any
        buffer, self._run = program.function.buffer()
        self._buffer = buffer  # keeps the memory that `_run` uses
        for i, place in enumerate(self.arguments):
            buffer.set_arg(i, place.data)
        for i, place in enumerate(self._results):
            buffer.set_res(i, place.data)

    def __call__(self, *given: Array | Sequence[float]) -> list[Array]:
        """Results as matrices (CasADi stores columns first)."""
        for place, values in zip(self.arguments, given, strict=True):
            place[:] = values
        self._run()
        return [
            place[: rows * columns].reshape((rows, columns), order="F").copy()
            for place, (rows, columns) in zip(self._results, self._shapes, strict=True)
        ]


def reported(equations: Equations, x: Array, u: Array, p: Array) -> dict[str, Array]:
    """All named values at points (rows of x, u and p)."""
    report = equations.report
    if isinstance(report, Program):
        values_at_points = [r.reshape(len(x), -1) for r in BatchProgram(report)(np.zeros((len(x), 1)), x, u, p)]
    else:
        each = [[np.ravel(r) for r in report([0.0], *point)] for point in zip(x, u, p, strict=True)]
        values_at_points = [np.array(column) for column in zip(*each, strict=True)]
    return columns_of(equations, x, u, values_at_points)


def columns_of(equations: Equations, x: Array, u: Array, values_at_points: Sequence[Array]) -> dict[str, Array]:
    """States, all velocities, multipliers, outputs, energies and inputs by name, from the results of the report program."""
    columns = {q.name: x[:, k] for k, q in enumerate(equations.states)}
    for slot, values in zip(equations.report.outputs, values_at_points, strict=True):
        if slot.name in ("v", "multipliers", "outputs", "energy"):
            columns |= {label: values[:, k] for k, label in enumerate(slot.labels)}
    return columns | {i.name: u[:, k] for k, i in enumerate(equations.inputs)}


def path_radii(equations: Equations, x: Array, u: Array, p: Array) -> dict[str, Array]:
    """`NAME_path_radius` of each wheel at points: speed of its contact point over its turning rate, positive to the left,
    infinite on a straight path."""
    labels = equations.motion.output("outputs").labels if equations.outputs else ()
    wheels = [n.removesuffix("_track_heading") for n in labels if n.endswith("_track_heading")]
    wheels = [n for n in wheels if f"{n}_contact_x" in labels and f"{n}_contact_y" in labels]
    if not wheels:
        return {}
    deviations = deviations_of(equations)
    derivatives = deviations.derivatives(0.0, x, u, p)
    by_state = BatchProgram(deviations.outputs_program)(np.zeros((len(x), 1)), x, u, p)[0]
    rates = (by_state @ derivatives.w[..., None])[..., 0]
    found = {}
    for wheel in wheels:
        along = [rates[:, labels.index(f"{wheel}_contact_{axis}")] for axis in "xy"]
        turn = rates[:, labels.index(f"{wheel}_track_heading")]
        straight = np.abs(turn) <= STRAIGHT
        found[f"{wheel}_path_radius"] = np.where(straight, np.inf, np.hypot(*along) / np.where(straight, 1.0, turn))
    return found

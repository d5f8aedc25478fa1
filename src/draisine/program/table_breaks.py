"""Knots of tables at which the value or the first derivative jumps, found from the code of the table."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.arithmetic import complex_operations, real_operations
from draisine.program.interpreter import run_tape
from draisine.program.tape import Callee, Instruction, Tape

_STEP = 1e-200  # of complex steps
_EQUAL = 1e-9  # jumps below this, relative to the size of the values, are rounding
_FEW = 40  # cells, and values of the other argument, that are looked at first
_ANYWHERE = np.array([-30.0, -2.5, -1.0, -0.3, 0.0, 0.2, 0.7, 1.0, 4.0, 100.0])
_SECOND_DERIVATIVE = re.compile(r"_d2$|_d1_d1$|_d0_d2$|_d2_d0$")  # as `expr/tables.py` names them; tables have no such names


class Breaks(NamedTuple):
    """The cells of a table after which something jumps, and whether it is the value; and whether the table is curved within a
    cell, as splines are."""

    cells: tuple[int, ...]  # number of the cell to the right of each break
    jump: bool
    curved: bool = False


def breaks_of(callee: Callee) -> dict[int, Breaks]:
    """By line of the table's tape, for each search of a cell. All knots count if the argument is not one of the table's.

    Second derivatives of splines are continuous with kinks at the knots; these do not count.
    """
    tape = callee.tape
    written: dict[int, Instruction] = {}
    searches: dict[tuple[Any, bytes], list[int]] = {}
    found: dict[int, Breaks] = {}
    for place, line in enumerate(tape):
        if line.operation == op.LOW:
            knots, argument = written[line.inputs[0]], written[line.inputs[1]]
            assert knots.numbers is not None
            found[place] = Breaks(tuple(range(1, knots.numbers.size - 1)), True)
            if argument.operation == op.INPUT:
                searches.setdefault((argument.inputs[0], knots.numbers.tobytes()), []).append(place)
        for target in line.outputs:
            written[target] = line
    for (slot, data), places in searches.items():
        breaks = _classified(callee, slot, np.frombuffer(data), places)
        found |= dict.fromkeys(places, breaks)
    return found


def _classified(callee: Callee, slot: int, knots: NDArray[np.float64], places: list[int]) -> Breaks:
    """Compare the cells on both sides of each knot, at the knot."""
    count = len(callee.input_sizes)
    tape: Tape = tuple(
        Instruction(op.INPUT, (count, 0), line.outputs) if k in places else line for k, line in enumerate(callee.tape)
    )
    cells = np.arange(1, knots.size - 1)
    at = np.asarray(knots[1:-1])[:, None]
    others = _samples(callee, slot)[None, :]
    sides = []
    for cell in (cells - 1, cells):
        inputs: list[Any] = [[at + 1j * _STEP if k == slot else others + 0j] for k in range(count)]
        results = run_tape(
            tape, [*inputs, [cell.astype(float)[:, None] + 0.0 * others]], callee.output_sizes, complex_operations()
        )
        entries = [np.broadcast_to(entry, (cells.size, others.size)) for column in results for entry in column]
        sides.append(np.stack(entries, -1).reshape(cells.size, -1))
    left, right = sides
    jumps = _differ(left.real, right.real)
    kinks = jumps if _SECOND_DERIVATIVE.search(callee.name) else jumps | _differ(left.imag / _STEP, right.imag / _STEP)
    return Breaks(tuple(int(c) for c in cells[kinks]), bool(jumps.any()), _is_curved(callee, slot, knots, others))


def _is_curved(callee: Callee, slot: int, knots: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether the table is more than linear in one of its arguments within a cell, as at five points of it."""
    finite = knots[np.isfinite(knots)]
    fractions = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    every = (finite[:-1, None] + fractions * np.diff(finite)[:, None], others)
    few = every[0][:: 1 + len(every[0]) // _FEW], others[:, :: 1 + others.size // _FEW]
    for cells, beside in (few, every):  # a few cells show it of most tables that are
        inputs: list[Any] = [[cells.reshape(-1, 1) if k == slot else beside] for k in range(len(callee.input_sizes))]
        results = run_tape(callee.tape, inputs, callee.output_sizes, real_operations())
        for entry in (entry for column in results for entry in column):
            values = np.broadcast_to(entry, (cells.size, beside.size)).reshape(*cells.shape, -1)
            second = values[:, 2:] - 2.0 * values[:, 1:-1] + values[:, :-2]
            if np.abs(second).max(initial=0.0) > _EQUAL * np.abs(values).max(initial=0.0):
                return True
    return False


def _differ(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    scale = np.maximum(np.abs(left), np.abs(right)).max(axis=1)
    everywhere = scale.max(initial=0.0)
    return np.asarray(np.abs(left - right).max(axis=1) > _EQUAL * np.maximum(scale, 1e-3 * everywhere))


def _searched(callee: Callee) -> set[int | None]:
    """The arguments of which cells are searched; None for what is computed."""
    written = {target: line for line in callee.tape for target in line.outputs if line.operation != op.LOW}
    sought = [written.get(line.inputs[1]) for line in callee.tape if line.operation == op.LOW]
    return {line.inputs[0] if line is not None and line.operation == op.INPUT else None for line in sought}


def _samples(callee: Callee, slot: int) -> NDArray[np.float64]:
    """Values of the other arguments: several in each of their cells, outside too; a few where no cell of theirs is searched, as
    for the direction of a derivative."""
    knots = [line.numbers for line in callee.tape if line.numbers is not None]
    if len(callee.input_sizes) == 1:
        return np.zeros(1)
    if _searched(callee) == {slot}:
        return _ANYWHERE
    every = np.unique(
        np.concatenate([k[np.isfinite(k)] for k in knots if k.size < 10_000 and (np.diff(k) > 0).all()] or [np.zeros(1)])
    )
    inner = [every[:-1] + f * np.diff(every) for f in (0.25, 0.5, 0.75)]
    return np.concatenate([every, *inner])

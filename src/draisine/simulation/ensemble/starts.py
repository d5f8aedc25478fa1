"""Consistent starts of many lanes: the same equations as `simulation.start`, posed here over arrays and solved by `closest`.

Lanes that it does not settle are left to `consistent_start`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program.dae_residual import Implicit
from draisine.program.equations import Equations
from draisine.simulation.ensemble import closest_start as closest
from draisine.simulation.ensemble import rest_velocities as calming
from draisine.simulation.ensemble import start_rows as code
from draisine.simulation.ensemble.compiled import AddressCode, stored_code
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.rest_velocities import MANY

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Asked:
    """What lanes wish for: columns by name, and the inputs and parameters of each lane."""

    wishes: Mapping[str, Reals]  # (lanes) each
    near: Mapping[str, float]
    inputs: Reals  # (lanes, m)
    parameters: Reals  # (lanes, p)

    def __len__(self) -> int:
        return len(self.parameters)

    def rows(self, which: NDArray[np.intp]) -> Asked:
        """Some of the lanes."""
        wishes = {name: column[which] for name, column in self.wishes.items()}
        return Asked(wishes, self.near, self.inputs[which], self.parameters[which])


@dataclass(frozen=True, eq=False)
class Begun:
    """Coordinates, all velocities and further states at the start; where not `settled` they mean nothing."""

    q: Reals  # (lanes, coordinates)
    v: Reals  # (lanes, velocities)
    extra: Reals  # (lanes, further states)
    settled: Bools  # (lanes)

    def states(self, equations: Equations) -> Reals:
        """The states in terms of a choice of independent velocities."""
        place = {velocity.name: i for i, velocity in enumerate(equations.velocities)}
        return np.column_stack([self.q, self.v[:, [place[name] for name in equations.independent]], self.extra])


def begin_all(problem: StartProblem, asked: Asked) -> Begun:
    """Starts of all lanes."""
    e, count = problem.equations, len(asked)
    extra = np.array([asked.wishes.get(s.name, np.full(count, s.default)) for s in e.extra_states]).reshape(-1, count).T
    if isinstance(e.dynamics, Implicit):
        q, v = (np.zeros((count, len(names))) for names in problem.unknowns)
        return Begun(q, v, extra, np.zeros(count, dtype=bool))
    q, settled = _positions(problem, asked)
    v = np.zeros((count, 0))
    if e.velocities:
        v, moving = _solve(problem, asked, "velocity", q)
        settled = settled & moving
        if len(problem.constraints["velocity"]) < len(e.velocities) - len(e.independent):
            settled[:] = False  # there are rows that only the report knows
    return Begun(q, v, extra, settled & np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))


def _positions(problem: StartProblem, asked: Asked) -> tuple[Reals, Bools]:
    """Coordinates; solved once where lanes do not differ in what they depend on."""
    count = len(asked)
    mine = [n for n in asked.wishes if problem.homes[n] == "coordinates"]
    mine += [n for n in asked.wishes if problem.homes[n] == "outputs" and not problem.moving[problem.places[n]]]
    what = [asked.inputs, asked.parameters, *(asked.wishes[n] for n in mine)]
    same = count > 1 and all((numbers == numbers[0]).all() for numbers in what)
    one = asked.rows(np.array([0])) if same else asked
    v0 = np.tile(_reference(problem, 1, asked.near), (len(one), 1))
    q, settled = _solve(problem, one, "position", v0)
    return (np.repeat(q, count, axis=0), np.repeat(settled, count)) if same else (q, settled)


def _reference(problem: StartProblem, level: int, near: Mapping[str, float]) -> Reals:
    names, defaults = problem.unknowns[level], problem.defaults[level]
    return np.array([near.get(name, value) for name, value in zip(names, defaults, strict=True)], dtype=float)


def _solve(problem: StartProblem, asked: Asked, level: str, other: Reals) -> tuple[Reals, Bools]:
    """One level, positions or velocities, of all lanes: they differ in numbers, not in structure."""
    arrays, numbers = _posed(problem, asked, level, other)
    found, settled = np.empty_like(arrays[code.REFERENCE]), np.zeros(len(asked), dtype=np.int64)
    arrays |= {code.FOUND: found, code.SETTLED: settled}
    arrays |= _room(numbers[code.UNKNOWNS], numbers[code.ROWS], numbers[code.FREE], numbers[code.CALMED])
    arrays |= _calls(problem, level, arrays[code.Y], numbers)
    table = np.zeros(code.ENTRIES, dtype=np.int64)
    for entry, number in numbers.items():
        table[entry] = number
    for entry, array in arrays.items():
        table[entry] = array.ctypes.data
    start_code().function(table.ctypes.data)
    return found, settled == 1


def start_code() -> AddressCode:
    """The solver of starts, lane after lane."""
    return stored_code(closest.solve_starts, code, calming, closest)


Arrays = dict[int, NDArray[Any]]  # by their entries in the table


def _posed(problem: StartProblem, asked: Asked, level: str, other: Reals) -> tuple[Arrays, dict[int, int]]:
    """What a level asks of every lane: arrays and numbers of the table."""
    positions, lanes = level == "position", len(asked)
    unknowns, home = problem.unknowns[0 if positions else 1], "coordinates" if positions else "velocities"
    reference, free = np.tile(_reference(problem, 0 if positions else 1, asked.near), (lanes, 1)), np.ones(len(unknowns), bool)
    for wish, column in asked.wishes.items():
        if problem.homes[wish] == home:
            place = unknowns.index(wish)
            reference[:, place], free[place] = column, False
    outputs = (wish for wish in asked.wishes if problem.homes[wish] == "outputs")
    aims = tuple(wish for wish in outputs if problem.moving[problem.places[wish]] != positions)
    constraints = problem.constraints[level]
    layout = problem.layout(level, constraints, aims)
    target = np.zeros((lanes, len(layout.take)))
    for k, wish in enumerate(aims):
        target[:, len(constraints) + k] = asked.wishes[wish]
    columns = np.flatnonzero(free)
    chosen = [] if positions or len(columns) > MANY else _independent(problem.equations, [unknowns[k] for k in columns])
    scale, leap = _scales(problem, positions, asked)
    arrays = {
        code.COLUMNS: _whole(columns),
        code.TAKE: _whole(layout.take),
        code.SOURCE: _whole(layout.source),
        code.PLACE: _whole(layout.place),
        code.WISHED: _whole(layout.wished),
        code.CHOSEN: _whole(chosen),
        code.REFERENCE: reference,
        code.SCALE: scale,
        code.LEAP: leap,
        code.TARGET: target,
        code.OTHER: np.ascontiguousarray(other, dtype=float),
        code.INPUTS: np.ascontiguousarray(asked.inputs, dtype=float),
        code.PARAMETERS: np.ascontiguousarray(asked.parameters, dtype=float),
    }
    numbers = {
        code.LANES: lanes,
        code.UNKNOWNS: len(unknowns),
        code.FREE: len(columns),
        code.ROWS: len(layout.take),
        code.ENTRY_COUNT: len(layout.source),
        code.CALMED: len(chosen),
        code.HOMOGENEOUS: 0 if positions else 1,
        code.OTHERS: other.shape[1],
        code.INPUT_COUNT: asked.inputs.shape[1],
        code.PARAMETER_COUNT: asked.parameters.shape[1],
    }
    return arrays, numbers


def _whole(numbers: Any) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def _independent(equations: Equations, names: Sequence[str]) -> list[int]:
    wanted = set(equations.independent)
    return [i for i, name in enumerate(names) if name in wanted]


def _room(unknowns: int, rows: int, free: int, chosen: int) -> Arrays:
    """Memory in which one lane after the other is solved."""
    shapes = {
        code.Y: unknowns,
        code.LEAST: unknowns,
        code.RESIDUAL: rows,
        code.JACOBIAN: rows * unknowns,
        code.LENGTHS: rows,
        code.PRODUCTS: rows * rows,
        code.UNIT: rows * free,
        code.PART: rows,
        code.Z: free,
        code.NEW: free,
        code.ALLOWED: chosen * free,
        code.MOVED: free,
        code.SHARES: 2,
    }
    made: Arrays = {entry: np.zeros(max(size, 1)) for entry, size in shapes.items()}
    return made | {code.HELD: np.zeros(max(free, 1), dtype=np.int64), code.FRESH: np.zeros(1, dtype=np.int64)}


def _calls(problem: StartProblem, level: str, y: Reals, numbers: dict[int, int]) -> Arrays:
    """How the kernel of all values is called; what it reads of the lane is set lane by lane."""
    kernel, names = problem.kernel, [slot.name for slot in problem.equations.motion.inputs]
    mine, theirs = ("q", "v") if level == "position" else ("v", "q")
    numbers[code.KERNEL] = kernel.address
    for entry, name in ((code.OTHER_PLACE, theirs), (code.INPUT_PLACE, "u"), (code.PARAMETER_PLACE, "p")):
        numbers[entry] = names.index(name) if name in names else -1
    ends = list(accumulate((slot.size for slot in kernel.outputs), initial=1))
    memory = np.zeros(ends[-1])  # time, then the results
    values, by_q, by_v = (memory[begin:] for begin in ends[:-1])
    own = {"t": memory, mine: y}
    return {
        code.ARGUMENTS: _whole([own[name].ctypes.data if name in own else 0 for name in names]),
        code.RESULTS: _whole([result.ctypes.data for result in (values, by_q, by_v)]),
        code.VALUES: values,
        code.ENTRIES_OF_J: by_q if level == "position" else by_v,
    }


def _scales(problem: StartProblem, positions: bool, asked: Asked) -> tuple[Reals, Reals]:
    """Scales and leaps of the unknowns of a level; the former differ from lane to lane where parameters that are lengths do."""
    scales, q0 = problem.scales, _reference(problem, 0, asked.near)
    length = scales.typical_lengths(asked.parameters, q0)[:, None]
    if positions:
        return np.ascontiguousarray(scales.coordinates(q0, length)), scales.leaps
    return np.ascontiguousarray(scales.velocities(length)), np.full(len(problem.unknowns[1]), np.inf)

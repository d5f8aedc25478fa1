"""Cutting a long list of values into pieces, where few values are alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from draisine.codegen.jit.ssa import CONSTANT, INPUT, NUMBERS, RESULT, Straight

FREE = frozenset({INPUT, CONSTANT, NUMBERS})  # values that cost nothing to have again


@dataclass(frozen=True)
class Piece:
    """Values computed together, in order; those of them that later pieces read; results given here."""

    values: tuple[int, ...]
    kept: tuple[int, ...] = ()
    results: tuple[tuple[int, int, int], ...] = ()


def live_values(unit: Straight) -> list[int]:
    """The values that results depend on, without inputs and constants."""
    needed = {value for _, _, value in unit.results}
    for v in range(len(unit.values) - 1, -1, -1):
        if v in needed:
            needed.update(unit.values[v].operands)
    return [v for v in sorted(needed) if unit.values[v].kind not in FREE]


def cut(unit: Straight, values: Sequence[int], length: int) -> tuple[list[Piece], dict[int, int], int]:
    """Pieces of about the given length, the places of kept values in the work array, and the size of that array."""
    last_reader = _last_readers(unit, values)
    ends = _ends(unit, values, last_reader, length)
    piece_of = {v: k for k, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)) for v in values[begin:end]}
    expires: list[list[int]] = [[] for _ in range(len(ends) + 1)]
    places: dict[int, int] = {}
    vacant: list[int] = []
    size = 0
    pieces = []
    given: dict[int, list[tuple[int, int, int]]] = {}
    for result in unit.results:
        given.setdefault(piece_of.get(result[2], -1), []).append(result)
    copied = given.pop(-1, [])  # inputs and constants that go out as they are
    for k, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        vacant += expires[k]
        kept = [v for v in values[begin:end] if v in last_reader and piece_of[last_reader[v]] > k]
        for v in kept:
            if vacant:
                places[v] = vacant.pop()
            else:
                places[v], size = size, size + 1
            expires[piece_of[last_reader[v]] + 1].append(places[v])
        pieces.append(Piece(tuple(values[begin:end]), tuple(kept), tuple(given.get(k, ()))))
    pieces += [Piece((), (), tuple(copied[k : k + length])) for k in range(0, len(copied), length)]
    return pieces, places, size


def _last_readers(unit: Straight, values: Sequence[int]) -> dict[int, int]:
    last = {}
    for v in values:
        for operand in unit.values[v].operands:
            if unit.values[operand].kind not in FREE:
                last[operand] = v
    return last


def _ends(unit: Straight, values: Sequence[int], last_reader: dict[int, int], length: int) -> list[int]:
    """Where pieces end: of the places between 0.6 and 1.4 lengths on, the one that the fewest values cross."""
    position = {v: k for k, v in enumerate(values)}
    changes = [0] * (len(values) + 2)
    for v, reader in last_reader.items():
        changes[position[v] + 1] += 1
        changes[position[reader] + 1] -= 1
    crossing = list(accumulate(changes))
    for k in range(1, len(values)):  # a call and its results stay together
        if unit.values[values[k]].kind == RESULT:
            crossing[k] += len(values)
    ends, begin = [], 0
    while len(values) - begin > 1.4 * length:
        nearest, farthest = begin + int(0.6 * length), begin + int(1.4 * length)
        begin = min(range(nearest, farthest + 1), key=crossing.__getitem__)
        ends.append(begin)
    return [*ends, len(values)]

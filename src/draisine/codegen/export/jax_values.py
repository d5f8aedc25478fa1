"""Lists of values in operations of JAX: short ones value by value, long ones in loops over tables of operands.

XLA repeats a value in every operation that it fuses with a reader of it, and so takes seconds over thousands of values, and a
minute over their gradient. A loop it compiles once, whatever the number of its rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from operator import or_
from typing import Any

import numpy as np

from draisine.codegen.export.function_body import operation_names
from draisine.codegen.export.language import listed
from draisine.codegen.export.stages import Loop, in_stages
from draisine.errors import ExportError
from draisine.program.ssa import CALL, CONSTANT, FETCH, INPUT, NUMBERS, RESULT, SEARCH, SSA, callee_to_ssa, live_values

SHORT = 500  # values of a list that is not looped over: XLA has it and its gradient in a second, and calls take half as long

# Operations of loops. All of a loop are computed for every value, and one is chosen; so they are quick ones.
_LOOPED = frozenset(listed("add sub mul div sqrt fabs fmin fmax lt le eq ne not and or select if_else_zero"))
_AS_OTHERS = {"neg": ("mul", (-1.0, 0)), "twice": ("mul", (2.0, 0)), "sq": ("mul", (0, 0)), "inv": ("div", (1.0, 0))}
_STEEP = frozenset({"mul", "div", "sqrt", "fabs"})  # their derivatives depend on operands, and may not be finite


def jax_module() -> Any:
    try:
        return import_module("jax")
    except ImportError:
        raise ExportError("functions for JAX need JAX, which is not installed: pip install jax") from None


def evaluate(ssa: SSA, columns: Sequence[Any], sizes: Sequence[int], loops: bool | None = None) -> list[Any]:
    """The entries of all results, of these sizes, from the entries of all arguments: arrays, or lists of numbers."""
    looped = len(live_values(ssa)) > SHORT if loops is None else loops
    return (_in_loops if looped else _one_by_one)(ssa, columns, sizes, loops)


def column(entries: Any) -> Any:
    """Entries as one array."""
    jnp = jax_module().numpy
    if not isinstance(entries, list):
        return entries
    return jnp.stack([jnp.asarray(e, dtype=float) for e in entries]) if entries else jnp.zeros(0)


# ------------------------------------------------------------------------------------------- value by value


def _one_by_one(ssa: SSA, columns: Sequence[Any], sizes: Sequence[int], loops: bool | None) -> list[Any]:
    table, values = _operations(), list[Any]()
    for kind, operands, detail in ssa.values:
        given = [values[o] for o in operands]
        if kind == INPUT:
            values.append(columns[detail[0]][detail[1]])
        elif kind == CONSTANT:
            values.append(float.fromhex(detail))
        elif kind == NUMBERS:
            values.append(None)
        elif kind in (SEARCH, FETCH):
            values.append(_looked_up(ssa, kind, detail, given[0]))
        elif kind == CALL:
            values.append(_call(ssa, detail, given, loops))
        elif kind == RESULT:
            values.append(given[0][detail])
        else:
            values.append(table[operation_names()[kind]](*given))
    results: list[list[Any]] = [[0.0] * size for size in sizes]
    for slot, entry, value in ssa.results:
        results[slot][entry] = values[value]
    return list(results)


def _looked_up(ssa: SSA, kind: int, table: int, given: Any) -> Any:
    jnp = jax_module().numpy
    numbers = jnp.asarray(ssa.numbers[table])
    if kind == FETCH:
        return jnp.take(numbers, jnp.asarray(given).astype(int), mode="clip")
    return jnp.clip(jnp.searchsorted(numbers, given, side="right") - 1, 0, len(numbers) - 2)


def _call(ssa: SSA, key: Any, given: list[Any] | Any, loops: bool | None) -> Any:
    """All results of a call, of the solution of linear equations or of a callee, from its arguments."""
    if not isinstance(key, tuple):
        callee = ssa.callees[key]
        return evaluate(callee_to_ssa(callee), [given], [callee.output_offsets[-1]], loops)[0]
    _, n, sides = key
    numbers = _gathered(given) if isinstance(given, list) else given
    matrix, side = numbers[: n * n].reshape((n, n), order="F"), numbers[n * n :].reshape((n, sides), order="F")
    return jax_module().numpy.linalg.solve(matrix, side).ravel(order="F")


def _gathered(entries: list[Any]) -> Any:
    """The entries as an array. Each is stacked once: most of a matrix are zeros, and XLA compiles long stacks slowly."""
    distinct: dict[Any, int] = {}
    places, stacked = list[int](), list[Any]()
    for entry in entries:
        key = entry.hex() if isinstance(entry, float) else id(entry)  # −0.0 and 0.0 are different
        if key not in distinct:
            distinct[key] = len(stacked)
            stacked.append(entry)
        places.append(distinct[key])
    return column(stacked)[np.array(places)]


# ------------------------------------------------------------------------------------------- in loops


def _in_loops(ssa: SSA, columns: Sequence[Any], sizes: Sequence[int], loops: bool | None) -> list[Any]:
    """All values lie in one array, and operands are found there by their places.

    What follows from one argument alone is computed before, in an array of its own: JAX then knows that it does not change with
    the others, and differentiates neither long functions of parameters nor roots of a parameter that is zero, 0·∞.
    """
    jnp, live, needs = jax_module().numpy, live_values(ssa), _slots_needed(ssa)
    parts = [_Memory.of(ssa, slot, column(numbers)) for slot, numbers in enumerate(columns or [[]])]
    for slot, part in enumerate(parts):
        part.compute([v for v in live if needs[v] == 1 << slot], loops)
    whole = _Memory.joined(ssa, parts)
    whole.compute([v for v in live if needs[v].bit_count() != 1], loops)
    results = [jnp.zeros(size) for size in sizes]
    for slot, size in enumerate(sizes):
        if found := {entry: value for other, entry, value in ssa.results if other == slot}:
            read = whole.read(tuple(found.values()))
            results[slot] = read if list(found) == list(range(size)) else results[slot].at[np.array(list(found))].set(read)
    return results


def _slots_needed(ssa: SSA) -> list[int]:
    """The arguments on which each value depends, as bits."""
    needs = list[int]()
    for kind, operands, detail in ssa.values:
        needs.append(1 << detail[0] if kind == INPUT else reduce(or_, (needs[o] for o in operands), 0))
    return needs


@dataclass
class _Memory:
    """The values that are known so far, in an array for all, and where they are in it."""

    ssa: SSA
    numbers: Any
    places: dict[int, int]
    constants: dict[str, int]
    parts: Sequence[_Memory] = ()  # with which it began

    @staticmethod
    def of(ssa: SSA, slot: int, entries: Any) -> _Memory:
        """The memory of one argument, and of constants."""
        listed = dict.fromkeys([(1.0).hex(), (2.0).hex(), (-1.0).hex()])  # of `_AS_OTHERS`, and where an operand is missing
        listed |= dict.fromkeys(value.detail for value in ssa.values if value.kind == CONSTANT)
        constants = {detail: entries.size + k for k, detail in enumerate(listed)}
        places = dict[int, int]()
        for v, (kind, _, detail) in enumerate(ssa.values):
            if kind == CONSTANT:
                places[v] = constants[detail]
            elif kind == INPUT and detail[0] == slot:
                places[v] = detail[1]
        jnp = jax_module().numpy
        numbers = jnp.concatenate([entries, jnp.asarray([float.fromhex(c) for c in constants], dtype=float)])
        return _Memory(ssa, numbers, places, constants)

    @staticmethod
    def joined(ssa: SSA, parts: Sequence[_Memory]) -> _Memory:
        begins = np.cumsum([0, *(part.numbers.size for part in parts)]).tolist()
        places = {v: begin + k for begin, part in zip(begins, parts, strict=False) for v, k in part.places.items()}
        numbers = jax_module().numpy.concatenate([part.numbers for part in parts])
        return _Memory(ssa, numbers, places, parts[0].constants, parts)

    def compute(self, values: Sequence[int], loops: bool | None) -> None:
        """Append values, whose other operands are known."""
        names, calls = operation_names(), dict[int, Any]()

        def key(v: int) -> Hashable | None:
            kind, operands, detail = self.ssa.values[v]
            if kind in (SEARCH, FETCH):
                return kind, detail
            if kind in (CALL, RESULT):
                return kind, v if kind == CALL else operands
            return None if names[kind] in _LOOPED or names[kind] in _AS_OTHERS else kind

        for stage in in_stages(self.ssa, values, key):
            if isinstance(stage, Loop):
                self._loop(stage.rows)
                continue
            kind, operands, detail = self.ssa.values[stage.values[0]]
            if kind == CALL:
                calls[stage.values[0]] = column(_call(self.ssa, detail, self.read(operands), loops))
            elif kind == RESULT:
                taken = np.array([self.ssa.values[v].detail for v in stage.values])
                self._append(stage.values, calls[operands[0]][taken])
            else:
                given = [self.read(row) for row in zip(*(self.ssa.values[v].operands for v in stage.values), strict=True)]
                looks = kind in (SEARCH, FETCH)
                found = _looked_up(self.ssa, kind, detail, given[0]) if looks else _operations()[names[kind]](*given)
                self._append(stage.values, found)

    def read(self, values: Sequence[int]) -> Any:
        """Values as an array, from a part where one has them all."""
        source = next((part for part in self.parts if part.places.keys() >= set(values)), self)
        return _taken(source.numbers, np.array([source.places[v] for v in values], dtype=np.uint32))

    def _append(self, values: Sequence[int], numbers: Any) -> None:
        jnp, end = jax_module().numpy, self.numbers.size
        self.places |= {v: end + k for k, v in enumerate(values)}
        self.numbers = jnp.concatenate([self.numbers, jnp.asarray(numbers, dtype=float)])

    def _loop(self, rows: Sequence[Sequence[int]]) -> None:
        """Append rows, which are filled up to the same length."""
        jax = jax_module()
        jnp, lax, width = jax.numpy, jax.lax, max(map(len, rows))
        begin = self.numbers.size + width * np.arange(len(rows))
        for first, row in zip(begin.tolist(), rows, strict=True):
            self.places |= {v: first + k for k, v in enumerate(row)}
        written = {v: self._written(v) for row in rows for v in row}
        kinds = sorted({name for name, _ in written.values()})
        codes = np.zeros((len(rows), width), dtype=np.int32)
        places = np.full((max(len(at) for _, at in written.values()), len(rows), width), self.constants[(1.0).hex()], np.uint32)
        for r, row in enumerate(rows):
            for k, v in enumerate(row):
                name, at = written[v]
                codes[r, k] = kinds.index(name)
                places[: len(at), r, k] = at

        def step(numbers: Any, row: Any) -> tuple[Any, None]:
            at, code, operands = row
            found = _chosen(kinds, code, [_taken(numbers, o) for o in operands])
            return lax.dynamic_update_slice(numbers, found, (at,)), None

        room = jnp.concatenate([self.numbers, jnp.zeros(len(rows) * width)])
        self.numbers, _ = lax.scan(step, room, (begin.astype(np.uint32), codes, list(places)))

    def _written(self, v: int) -> tuple[str, tuple[int, ...]]:
        """A value as an operation of loops, and the places of its operands."""
        kind, operands, _ = self.ssa.values[v]
        name, at = operation_names()[kind], tuple(self.places[o] for o in operands)
        if name not in _AS_OTHERS:
            return name, at
        other, taken = _AS_OTHERS[name]
        return other, tuple(at[t] if isinstance(t, int) else self.constants[t.hex()] for t in taken)


def _taken(values: Any, places: Any) -> Any:
    return values.at[places].get(mode="promise_in_bounds")


def _chosen(kinds: Sequence[str], codes: Any, operands: Sequence[Any]) -> Any:
    """The result of one of several operations for each entry."""
    jax, table = jax_module(), _operations()
    cases = []
    for code, name in enumerate(kinds):
        given = operands[: _OPERANDS.get(name, 2)]
        if name in _STEEP and len(kinds) > 1:
            # An infinite derivative that is not chosen would make gradients NaN, 0·∞: it is taken elsewhere.
            given = [jax.numpy.where(codes == code, a, 1.0) for a in given]
        cases.append(table[name](*given))
    return cases[0] if len(cases) == 1 else jax.lax.select_n(codes, *cases)


_OPERANDS = {"sqrt": 1, "fabs": 1, "not": 1, "select": 3}


@cache
def _operations() -> Mapping[str, Callable[..., Any]]:
    jnp, special = jax_module().numpy, import_module("jax.scipy.special")

    def number(condition: Any) -> Any:
        return jnp.where(condition, 1.0, 0.0)

    # Slopes at a kink are the mean of both sides, as those of kernels; JAX's own functions take one of them.
    def magnitude(x: Any) -> Any:
        return jnp.sign(x) * x

    def without_nan(choose: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, y: jnp.where(jnp.isnan(x), y, jnp.where(jnp.isnan(y), x, choose(x, y)))

    same = listed("exp log sqrt sin cos tan sinh cosh tanh floor ceil log1p expm1 sign hypot fmod")
    table = {name: getattr(jnp, name) for name in same}
    table |= {f"a{name}": getattr(jnp, f"arc{name}") for name in listed("sin cos tan sinh cosh tanh")}
    return {
        **table,
        **{"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": jnp.divide},
        **{"neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: 2.0 * x, "inv": lambda x: jnp.divide(1.0, x)},
        **{"fabs": magnitude, "copysign": lambda x, y: jnp.copysign(jnp.ones_like(x), y) * magnitude(x)},
        **{"fmin": without_nan(jnp.minimum), "fmax": without_nan(jnp.maximum)},
        **{"atan2": jnp.arctan2, "pow": jnp.power, "erf": special.erf, "erfinv": special.erfinv},
        **{"lt": lambda x, y: number(x < y), "le": lambda x, y: number(x <= y), "eq": lambda x, y: number(x == y)},
        **{"ne": lambda x, y: number(x != y), "not": lambda x: number(x == 0)},
        "and": lambda x, y: number(jnp.logical_and(x != 0, y != 0)),
        "or": lambda x, y: number(jnp.logical_or(x != 0, y != 0)),
        "if_else_zero": lambda c, x: jnp.where(c != 0, x, 0.0),
        "select": lambda c, x, y: jnp.where(c != 0, x, y),
        "remainder": lambda x, y: x - y * jnp.round(x / y),
    }

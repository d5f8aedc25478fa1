"""Programs as objects of other libraries: a CasADi function, a function for JAX."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import casadi as ca
import numpy as np

from draisine.codegen.export.function_body import operation_names
from draisine.codegen.export.language import Argument, listed
from draisine.codegen.export.source import program_to_ssa
from draisine.errors import ArgumentError, ExportError
from draisine.program.linear_solve import UNROLLED_ITERATIONS, LinearSolveProgram
from draisine.program.program import Program
from draisine.program.ssa import CALL, CONSTANT, FETCH, INPUT, NUMBERS, RESULT, SEARCH, SSA, callee_to_ssa


def as_casadi(program: Program | LinearSolveProgram) -> ca.Function:
    """A CasADi function with the program's names.

    >>> x = ca.SX.sym("x", 2)
    >>> as_casadi(Program.build("norm2", {"x": x}, {"y": ca.sumsqr(x)}))(x=[3, 4])["y"]
    DM(25)
    """
    if isinstance(program, Program):
        return program.function
    arguments = [ca.MX.sym(slot.name, *slot.shape) for slot in program.inputs]
    z: Any = program.start.function.call(arguments)[0] if program.start is not None else None
    for _ in range(1 if z is None else UNROLLED_ITERATIONS):
        entries, side = program.system.function.call(arguments if z is None else [*arguments, z])
        matrix = ca.MX(program.entry_pattern.sparsity, ca.vec(entries))
        z = ca.solve(matrix, side, "qr")
    if program.further is not None:
        z = ca.horzcat(z, ca.solve(matrix, program.further.function.call([*arguments, z])[0], "qr"))
    results = program.after.function.call([*arguments, z])
    return ca.Function(program.name, arguments, results, [s.name for s in program.inputs], [s.name for s in program.outputs])


def as_jax(program: Program | LinearSolveProgram) -> Callable[..., Any]:
    """The `program` as a function for JAX: `jax.jit`, `jax.jacfwd`, `jax.grad` and `jax.vmap` compile, differentiate and map it.

    It takes one array per slot (a number if the slot is one) and returns a tuple of arrays.
    """
    jax = _jax()
    if not jax.config.jax_enable_x64:
        warnings.warn('JAX computes in single precision by default; set jax.config.update("jax_enable_x64", True)', stacklevel=2)
    inputs = [Argument(slot.name, slot) for slot in program.inputs]
    outputs = [Argument(slot.name, slot) for slot in program.outputs]
    ssa = program_to_ssa(program)

    def function(*arguments: Any) -> tuple[Any, ...]:
        jnp = jax.numpy
        if len(arguments) != len(inputs):
            names = ", ".join(a.name for a in inputs)
            raise ArgumentError(f"{program.name!r} takes {len(inputs)} arguments ({names}), got {len(arguments)}")
        columns = [jnp.ravel(jnp.asarray(given, dtype=float), order="F") for given in arguments]
        for a, column in zip(inputs, columns, strict=True):
            if column.size != a.slot.size:
                raise ArgumentError(f"{program.name!r}: argument {a.name!r} needs {a.slot.size} numbers, got {column.size}")
        values = _evaluate(ssa, lambda slot, entry: columns[slot][entry])
        results: list[list[Any]] = [[0.0] * a.slot.size for a in outputs]
        for slot, entry, value in ssa.results:
            results[slot][entry] = values[value]
        return tuple(_shaped(a, entries) for a, entries in zip(outputs, results, strict=True))

    function.__name__ = function.__qualname__ = program.name
    function.__doc__ = "\n".join([program.name, "", *(f"    {s.describe()}" for s in (*program.inputs, *program.outputs))])
    return function


def _jax() -> Any:
    try:
        return import_module("jax")
    except ImportError:
        raise ExportError("functions for JAX need JAX, which is not installed: pip install jax") from None


def _shaped(argument: Argument, entries: list[Any]) -> Any:
    jnp = _jax().numpy
    if argument.is_number:
        return jnp.asarray(entries[0], dtype=float)
    column = jnp.stack([jnp.asarray(e, dtype=float) for e in entries]) if entries else jnp.zeros(0)
    return column.reshape(argument.slot.shape, order="F") if argument.is_matrix else column


def _evaluate(ssa: SSA, read: Callable[[int, int], Any]) -> list[Any]:
    jnp = _jax().numpy
    table = _operations()
    values: list[Any] = []
    for kind, operands, detail in ssa.values:
        given = [values[o] for o in operands]
        if kind == INPUT:
            values.append(read(*detail))
        elif kind == CONSTANT:
            values.append(float.fromhex(detail))
        elif kind == NUMBERS:
            values.append(None)
        elif kind == SEARCH:
            knots = jnp.asarray(ssa.numbers[detail])
            values.append(jnp.clip(jnp.searchsorted(knots, given[0], side="right") - 1, 0, len(knots) - 2))
        elif kind == FETCH:
            values.append(jnp.take(jnp.asarray(ssa.numbers[detail]), jnp.asarray(given[0]).astype(int), mode="clip"))
        elif kind == CALL:
            values.append(_call(ssa, detail, given))
        elif kind == RESULT:
            values.append(given[0][detail])
        else:
            values.append(table[operation_names()[kind]](*given))
    return values


def _call(ssa: SSA, key: Any, given: list[Any]) -> Any:
    jnp = _jax().numpy
    if isinstance(key, tuple):
        _, n, sides = key
        numbers = _gathered(given)
        matrix, side = numbers[: n * n].reshape((n, n), order="F"), numbers[n * n :].reshape((n, sides), order="F")
        return jnp.linalg.solve(matrix, side).ravel(order="F")
    inner = callee_to_ssa(ssa.callees[key])
    values = _evaluate(inner, lambda slot, entry: given[entry])
    return {entry: values[value] for _, entry, value in inner.results}


def _gathered(entries: list[Any]) -> Any:
    """The entries as an array. Each is stacked once: most of a matrix are zeros, and XLA compiles long stacks slowly."""
    jnp = _jax().numpy
    distinct: dict[Any, int] = {}
    places, stacked = list[int](), list[Any]()
    for entry in entries:
        key = entry.hex() if isinstance(entry, float) else id(entry)  # −0.0 and 0.0 are different
        if key not in distinct:
            distinct[key] = len(stacked)
            stacked.append(jnp.asarray(entry, dtype=float))
        places.append(distinct[key])
    return jnp.stack(stacked)[np.array(places)]


@cache
def _operations() -> Mapping[str, Callable[..., Any]]:
    jnp, special = _jax().numpy, import_module("jax.scipy.special")

    def number(condition: Any) -> Any:
        return jnp.where(condition, 1.0, 0.0)

    same = listed("exp log sqrt sin cos tan sinh cosh tanh floor ceil log1p expm1 sign hypot fmod copysign fmin fmax")
    table = {name: getattr(jnp, name) for name in same}
    table |= {f"a{name}": getattr(jnp, f"arc{name}") for name in listed("sin cos tan sinh cosh tanh")}
    return {
        **table,
        **{"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": jnp.divide},
        **{"neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: 2.0 * x, "inv": lambda x: jnp.divide(1.0, x)},
        **{"fabs": jnp.abs, "atan2": jnp.arctan2, "pow": jnp.power, "erf": special.erf, "erfinv": special.erfinv},
        **{"lt": lambda x, y: number(x < y), "le": lambda x, y: number(x <= y), "eq": lambda x, y: number(x == y)},
        **{"ne": lambda x, y: number(x != y), "not": lambda x: number(x == 0)},
        "and": lambda x, y: number(jnp.logical_and(x != 0, y != 0)),
        "or": lambda x, y: number(jnp.logical_or(x != 0, y != 0)),
        "if_else_zero": lambda c, x: jnp.where(c != 0, x, 0.0),
        "select": lambda c, x, y: jnp.where(c != 0, x, y),
        "remainder": lambda x, y: x - y * jnp.round(x / y),
    }

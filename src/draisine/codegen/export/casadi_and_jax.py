"""Programs as objects of other libraries: a CasADi function, a function for JAX."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca

from draisine.codegen.export.jax_values import column, evaluate, jax_module
from draisine.codegen.export.language import Argument
from draisine.codegen.export.source import program_to_ssa
from draisine.errors import ArgumentError
from draisine.program.linear_solve import UNROLLED_ITERATIONS, LinearSolveProgram
from draisine.program.program import Program


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


def as_jax(program: Program | LinearSolveProgram, *, loops: bool | None = None) -> Callable[..., Any]:
    """The `program` as a function for JAX: `jax.jit`, `jax.jacfwd`, `jax.grad` and `jax.vmap` compile, differentiate and map it.

    It takes one array per slot (a number if the slot is one) and returns a tuple of arrays. Long programs are `loops` over
    tables, which XLA compiles in a second; `False` makes a list of operations of them, compiled in seconds to a minute, which is
    quicker for hundreds of samples at a time.
    """
    jax = jax_module()
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
        for a, given in zip(inputs, columns, strict=True):
            if given.size != a.slot.size:
                raise ArgumentError(f"{program.name!r}: argument {a.name!r} needs {a.slot.size} numbers, got {given.size}")
        results = evaluate(ssa, columns, [a.slot.size for a in outputs], loops)
        return tuple(_shaped(a, entries) for a, entries in zip(outputs, results, strict=True))

    function.__name__ = function.__qualname__ = program.name
    function.__doc__ = "\n".join([program.name, "", *(f"    {s.describe()}" for s in (*program.inputs, *program.outputs))])
    return function


def _shaped(argument: Argument, entries: Any) -> Any:
    if argument.is_number:
        return jax_module().numpy.asarray(entries[0], dtype=float)
    numbers = column(entries)
    return numbers.reshape(argument.slot.shape, order="F") if argument.is_matrix else numbers

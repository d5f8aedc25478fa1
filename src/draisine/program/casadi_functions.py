"""CasADi functions: conversion to tapes, and evaluation on NumPy arrays.

A call node calls another SX function, or the scalar function of a table: an MX function of scalars, which besides scalar
operations has constant vectors, the search for a cell (LOW) and the access to one entry (GETNONZEROS_PARAM).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import CompilationError, ExpressionError
from draisine.program import opcodes as op
from draisine.program.digest import digest_of
from draisine.program.tape import Callee, Instruction, Tape, has_switching_operations

if TYPE_CHECKING:
    import casadi as ca

Reals = NDArray[np.float64]

_SHORT = 100_000  # instructions
_MOST_KEPT = 500
_SCALAR: dict[int, Callee] = {}


@dataclass(frozen=True, eq=False)
class CasadiCode:
    """The code of an SX function, or of an MX function of scalars."""

    function: ca.Function

    @cached_property
    def tape(self) -> Tape:
        function = self.function
        if function.class_name() == "SXFunction":
            return _sx_tape(function)
        if function.class_name() != "MXFunction":
            raise ExpressionError(
                f"the call of {function.name()!r} ({function.class_name()}) cannot be compiled: "
                "use a `Table` or an SX function instead"
            )
        return _scalar_tape(function)

    @cached_property
    def text(self) -> bytes:
        """CasADi's serialization. It covers tape, constants, callees and tables, and is the same in every process."""
        return bytes(self.function.serialize().encode())

    @cached_property
    def fingerprint(self) -> str:
        return digest_of(self.text).hexdigest()

    @cached_property
    def operations(self) -> int:
        f = self.function
        if f.class_name() == "SXFunction" and f.n_instructions() < _SHORT:  # whose tape will be needed
            return sum(line.operation not in op.PLUMBING for line in self.tape)
        plumbing = _plumbing()
        return sum(f.instruction_id(k) not in plumbing for k in range(f.n_instructions()))

    @cached_property
    def can_switch(self) -> bool:
        return has_switching_operations(self.tape)


@dataclass(frozen=True, eq=False)
class TapeCode:
    """Code that was written as a tape; the CasADi function is built from it if it is needed."""

    name: str
    tape: Tape
    inputs: tuple[tuple[int, int], ...]  # shapes
    outputs: tuple[tuple[int, int], ...]

    @cached_property
    def fingerprint(self) -> str:
        digested = digest_of(repr((self.inputs, self.outputs)).encode())
        for line in self.tape:
            digested.update(repr((line.operation, line.inputs, line.outputs)).encode())
            if line.numbers is not None:
                digested.update(line.numbers.tobytes())
            elif line.constant is not None:
                digested.update(line.constant.hex().encode())
            if line.callee is not None:
                digested.update(line.callee.code.fingerprint.encode())
        return digested.hexdigest()

    @cached_property
    def operations(self) -> int:
        return sum(line.operation not in op.PLUMBING for line in self.tape)

    @cached_property
    def can_switch(self) -> bool:
        return has_switching_operations(self.tape)

    @cached_property
    def function(self) -> ca.Function:
        return function_of_tape(self.name, self.tape, self.inputs, self.outputs)


@cache
def _numbers() -> Mapping[int, int]:
    """CasADi's operation numbers → ours."""
    import casadi as ca

    return MappingProxyType({getattr(ca, f"OP_{name}"): number for name, number in op.NUMBERS.items()})


@cache
def _plumbing() -> frozenset[int]:
    return frozenset(theirs for theirs, ours in _numbers().items() if ours in op.PLUMBING)


def callee_of(function: ca.Function) -> Callee:
    """The callee of a call node, from a function. Those of scalars are kept with their tapes: tables are called often."""
    scalar = function.class_name() != "SXFunction"
    if not scalar:
        return _callee_of(function, False)
    key = function.__hash__()  # its address, which belongs to it as long as it is kept
    kept = _SCALAR.pop(key, None) or _callee_of(function, True)
    _SCALAR[key] = kept  # the last is the one most recently used
    if len(_SCALAR) > _MOST_KEPT:
        _SCALAR.pop(next(iter(_SCALAR)))
    return kept


def _callee_of(function: ca.Function, scalar: bool) -> Callee:
    input_sizes = tuple(function.nnz_in(i) for i in range(function.n_in()))
    output_sizes = tuple(function.nnz_out(i) for i in range(function.n_out()))
    return Callee(function.name(), input_sizes, output_sizes, CasadiCode(function), function.__hash__(), scalar)


def _sx_tape(function: ca.Function) -> Tape:
    numbers, reads, writes = _numbers(), function.instruction_input, function.instruction_output
    symbols = None
    lines = []
    for k, theirs in enumerate(map(function.instruction_id, range(function.n_instructions()))):
        if theirs not in numbers:
            raise ExpressionError(f"{function.name()!r} uses CasADi's operation {_name(theirs)}, which has no scalar form")
        operation = numbers[theirs]
        constant = callee = None
        if operation == op.CONST:
            constant = function.instruction_constant(k)
        elif operation == op.CALL:
            symbols = symbols if symbols is not None else function.instructions_sx()
            callee = callee_of(symbols[k].which_function())
        # Instruction(…) takes twice as long, and tapes are long
        lines.append(tuple.__new__(Instruction, (operation, tuple(reads(k)), tuple(writes(k)), constant, callee, None)))
    return tuple(lines)


def _scalar_tape(function: ca.Function) -> Tape:
    if (
        max(function.nnz_in(i) for i in range(function.n_in())) > 1
        or max(function.nnz_out(i) for i in range(function.n_out())) > 1
    ):
        raise ExpressionError(
            f"the call of {function.name()!r} cannot be compiled: it has vector arguments or results; {_cure(function)}"
        )
    return tuple(_scalar_instruction(function, k) for k in range(function.n_instructions()))


def _scalar_instruction(function: ca.Function, k: int) -> Instruction:
    theirs = function.instruction_id(k)
    operation = _numbers().get(theirs)
    reads, writes = tuple(function.instruction_input(k)), tuple(function.instruction_output(k))
    if operation is None:
        raise ExpressionError(
            f"the call of {function.name()!r} cannot be compiled: it uses the operation {_name(theirs)}; {_cure(function)}"
        )
    if operation == op.CONST:
        numbers = np.array(function.instruction_MX(k).to_DM().full()).ravel(order="F")
        if numbers.size == 1:
            return Instruction(operation, reads, writes, float(numbers[0]))
        return Instruction(operation, reads, writes, numbers=numbers)
    if operation == op.CALL:
        # Unlike in SX, empty slots are listed in the call too.
        callee = callee_of(function.instruction_MX(k).which_function())
        reads = tuple(r for r, size in zip(reads, callee.input_sizes, strict=True) if size)
        writes = tuple(w for w, size in zip(writes, callee.output_sizes, strict=True) if size)
        return Instruction(operation, reads, writes, callee=callee)
    if operation == op.INPUT:
        return Instruction(operation, (reads[0], 0), writes)
    if operation == op.OUTPUT:
        return Instruction(operation, reads, (writes[0], 0))
    return Instruction(operation, reads, writes)


def _name(theirs: int) -> str:
    import casadi as ca

    return next(n for n in dir(ca) if n.startswith("OP_") and getattr(ca, n) == theirs)[3:].lower()


def _cure(function: ca.Function) -> str:
    return f"expand it into scalar operations first ({function.name()}.expand())"


# -------------------------------------------------------------------- functions from tapes


def function_of_tape(name: str, tape: Tape, inputs: Sequence[tuple[int, int]], outputs: Sequence[tuple[int, int]]) -> ca.Function:
    """The SX function of a tape, from the shapes of its inputs and outputs.

    The search for the cell of a table and the access to one of its numbers become call nodes, whose derivative is zero.
    """
    import casadi as ca

    theirs = {ours: number for number, ours in _numbers().items()}
    arguments = [ca.SX.sym(f"a{k}", *shape) for k, shape in enumerate(inputs)]
    results = [ca.SX.zeros(*shape) for shape in outputs]
    lookups: dict[tuple[int, bytes], ca.Function] = {}
    work: dict[int, Any] = {}
    for line in tape:
        operation, taken = line.operation, line.inputs
        if operation == op.INPUT:
            work[line.outputs[0]] = arguments[taken[0]].nz[taken[1]]
        elif operation == op.OUTPUT:
            results[line.outputs[0]].nz[line.outputs[1]] = work[taken[0]]
        elif operation == op.CONST:
            work[line.outputs[0]] = line.numbers if line.numbers is not None else ca.SX(line.constant or 0.0)
        elif operation in (op.LOW, op.GETNONZEROS_PARAM):
            key = operation, work[taken[0]].tobytes()
            if key not in lookups:
                lookups[key] = _lookup(f"lookup_{len(lookups)}", operation, work[taken[0]])
            work[line.outputs[0]] = lookups[key](work[taken[1]])
        elif operation == op.CALL:
            assert line.callee is not None
            sizes, offsets = line.callee.input_sizes, line.callee.input_offsets
            given = [ca.vertcat(*[work[i] for i in taken[a : a + n]]) for a, n in zip(offsets, sizes, strict=False)]
            called = line.callee.code.function
            shaped = [ca.reshape(g, *called.size_in(k)) if g.numel() else ca.SX(*called.size_in(k)) for k, g in enumerate(given)]
            entries = [entry for result in called.call(shaped) for entry in ca.vertsplit(ca.vec(result))]
            work |= {target: entry for target, entry in zip(line.outputs, entries, strict=True) if target >= 0}
        elif len(taken) == 1:
            work[line.outputs[0]] = ca.SX.unary(theirs[operation], work[taken[0]])
        else:
            work[line.outputs[0]] = ca.SX.binary(theirs[operation], work[taken[0]], work[taken[1]])
    return ca.Function(name, arguments, results)


def _lookup(name: str, operation: int, numbers: Reals) -> ca.Function:
    import casadi as ca

    x, vector = ca.MX.sym("x"), ca.MX(ca.DM(numbers))
    value = ca.low(ca.DM(numbers), x) if operation == op.LOW else vector[x]
    arguments: list[Any] = [x, ca.MX(1, 1)]
    zero = ca.Function(
        f"jac_{name}", arguments, [ca.MX(ca.DM(0.0))], ["x", "out_value"], ["jac_value_x"], {"always_inline": True}
    )
    options: dict[str, Any] = {"never_inline": True, "custom_jacobian": zero, "enable_forward": False, "enable_reverse": False}
    return ca.Function(name, [x], [value], ["x"], ["value"], options)


# -------------------------------------------------------------------- evaluation on arrays


def evaluate(
    function: ca.Function, arguments: Iterable[ArrayLike], shapes: Iterable[tuple[int, int]] | None = None
) -> list[Reals]:
    """Evaluate a function without conversion to CasADi's matrices, which takes several times as long as a mechanism's equations.

    Results are matrices, of the given `shapes` if these are known. Arguments are in column-major order; all must be dense.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> [found] = evaluate(ca.Function("outer", [x], [ca.densify(x @ x.T)]), [[2.0, 3.0]])
    >>> found.tolist()
    [[4.0, 6.0], [6.0, 9.0]]
    """
    given = [np.array(argument, dtype=float).ravel(order="F") for argument in arguments]
    if shapes is None:
        shapes = [function.size_out(k) for k in range(function.n_out())]
    results = [np.empty(shape, order="F") for shape in shapes]
    opened: Any = function.buffer()  # the stubs have the C++ signature only
    buffer, run = opened
    for slot, numbers in enumerate(given):
        if numbers.size or function.numel_in(slot):  # too few numbers raise an error
            buffer.set_arg(slot, numbers.data)
    for slot, matrix in enumerate(results):
        if matrix.size:
            buffer.set_res(slot, matrix.ravel(order="F").data)
    run()
    if buffer.ret():
        raise CompilationError(f"{function.name()!r} could not be evaluated: CasADi's interpreter returned {buffer.ret()}")
    return results

"""Common subexpressions of CasADi expressions, computed once.

CasADi's own elimination compares the functions of calls entry by entry, tables with all their numbers, which takes milliseconds
for each pair of calls. Expressions of roads and tables have hundreds of equal calls, since each differentiation and each
substitution repeats them. Here a call is known by its function, which is one object however often it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import casadi as ca

_COMMUTATIVE = ("OP_ADD", "OP_MUL")


def shared(results: Iterable[ca.SX], only_calls: bool = False) -> list[ca.SX]:
    """The same results, in which equal subexpressions are one; with `only_calls` where functions are called."""
    import casadi as ca

    results = list(results)
    if not results:
        return results
    symbols = ca.symvar(ca.veccat(*results))
    function = ca.Function("shared", symbols, results)
    called = _called_by(function)
    if not called:
        return results if only_calls else list(ca.cse(results))
    while True:  # calls of derivatives along a direction become products with calls of derivatives, which are equal more often
        results = _numbered(function, symbols)
        function, before = ca.Function("shared", symbols, results), called
        called = _called_by(function)
        if called <= before:
            return results


def jacobian(of: ca.SX, by: ca.SX) -> ca.SX:
    """The Jacobian of expressions that may call functions. CasADi differentiates a call along directions, also along zero: what
    does not depend on a variable seems to depend on it until these calls are products, or zero."""
    import casadi as ca

    return shared([ca.jacobian(of, by)], only_calls=True)[0]


def _called_by(function: ca.Function) -> set[str]:
    """Names of the functions that are called."""
    return {called.name() for called in function.find_functions(0)}


def _numbered(function: ca.Function, symbols: Sequence[ca.SX]) -> list[ca.SX]:
    """Value numbering of a function of scalar symbols: equal operations on equal values are one value."""
    import casadi as ca

    commutative = {getattr(ca, name) for name in _COMMUTATIVE}
    given, constant, result, call = ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT, ca.OP_CALL
    results = [ca.SX(function.sparsity_out(k)) for k in range(function.n_out())]
    values: list[ca.SX] = []
    numbers: dict[Any, Any] = {}  # of what is known, in `values`
    work: dict[int, int] = {}
    nodes = function.instructions_sx()
    for k in range(function.n_instructions()):
        operation, reads, writes = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if operation == result:
            results[writes[0]].nz[writes[1]] = values[work[reads[0]]]
            continue
        if operation == given:
            key: Any = given, reads[0]
        elif operation == constant:
            key = constant, float(function.instruction_constant(k)).hex()  # −0 and 0 differ, NaN equals itself
        else:
            operands = tuple([work[i] for i in reads])
            called = nodes[k].which_function() if operation == call else None
            key = (operation, *(sorted(operands) if operation in commutative else operands), called and called.__hash__())
        known = numbers.get(key)
        if operation == call:
            assert called is not None
            if known is None:
                known = numbers[key] = range(len(values), len(values) + called.nnz_out())
                values += _called(called, [values[i] for i in operands])
            work |= {place: number for place, number in zip(writes, known, strict=True) if place >= 0}
            continue
        if known is None:
            known = numbers[key] = len(values)
            if operation == given:
                values.append(symbols[reads[0]])
            elif operation == constant:
                values.append(ca.SX(function.instruction_constant(k)))
            else:
                build = ca.SX.unary if len(operands) == 1 else ca.SX.binary
                values.append(build(operation, *(values[i] for i in operands)))
        work[writes[0]] = known
    return results


def _called(function: ca.Function, operands: Sequence[ca.SX]) -> list[ca.SX]:
    """The entries of all results of a call, from those of all arguments."""
    import casadi as ca

    arguments, start = [], 0
    for slot in range(function.n_in()):
        count = function.nnz_in(slot)
        arguments.append(
            ca.SX(function.sparsity_in(slot), ca.vertcat(*operands[start : start + count]))
            if count
            else ca.SX(*function.size_in(slot))
        )
        start += count
    along = [given for slot, given in enumerate(arguments) if function.name_in(slot).startswith(("fwd_", "adj_"))]
    if along and all(given.is_zero() for given in along):  # a derivative along zero
        return [ca.SX(0)] * function.nnz_out()
    try:
        results = function.call(arguments)
    except RuntimeError:  # derivatives of tables beyond the second order search for their cell, and remain calls
        results = function.call(arguments, False, True)
    return [found.nz[k] for found in results for k in range(found.nnz())]

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
    does not depend on a variable seems to depend on it until these calls are products, or zero. By columns: by rows what is
    linear in a variable would be left as a call of it."""
    import casadi as ca

    return shared([ca.jacobian(of, by)], only_calls=True)[0]


def short_jacobian(of: ca.SX, by: ca.SX) -> ca.SX:
    """The Jacobian by columns or by rows, whichever has fewer operations.

    CasADi compares the numbers of columns and rows that can be differentiated together. What counts are operations: by columns
    one is differentiated once for each variable on which it depends, by rows once for each result that depends on it. Contacts of
    many wheels depend on all that moves the machine, and each has few results.
    """
    import casadi as ca

    if min(of.numel(), by.numel()) <= 1:
        return ca.jacobian(of, by)
    rest = [symbol for symbol in ca.symvar(of) if not ca.depends_on(symbol, by)]
    by_columns, by_rows = jacobian_lengths(ca.Function("of", [by, ca.vertcat(*rest)], [of]))
    return ca.jacobian(of, by, {"helper_options": {"ad_weight": float(by_rows < by_columns)}})


def jacobian_lengths(function: ca.Function) -> tuple[int, int]:
    """Operations that the Jacobian by the first argument differentiates: by columns, and by rows.

    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x", 40), ca.SX.sym("y")
    >>> jacobian_lengths(ca.Function("f", [x], [ca.sumsqr(x)]))  # squares and sums: of 1 to 40 variables each, for one result
    (859, 79)
    >>> jacobian_lengths(ca.Function("f", [y], [ca.vertcat(*[ca.sin(y) ** 2 + k for k in range(1, 31)])]))
    (90, 90)
    """
    import casadi as ca

    depends: dict[int, int] = {}  # on which variables the values of work slots depend, as bits
    steps: list[tuple[Sequence[int], Sequence[int]]] = []  # what operations that depend on one read and write
    feeds: dict[int, int] = {}  # which results need the values of work slots
    by_columns = by_rows = 0
    last: list[tuple[int, int]] = []
    for k in range(function.n_instructions()):
        operation, reads, writes = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            steps.append((reads, ()))
            last.append((len(steps) - 1, len(last)))
            continue
        if operation == ca.OP_INPUT:
            mask, reads = (1 << reads[1] if reads[0] == 0 else 0), []
        else:
            mask = 0
            for place in reads if operation != ca.OP_CONST else ():
                mask |= depends[place]
            by_columns += mask.bit_count()
        steps.append((reads if mask else (), writes))
        depends |= dict.fromkeys(writes, mask)
    results = dict(last)
    for k in reversed(range(len(steps))):
        needs, gives = steps[k]
        mask = 1 << results[k] if k in results else 0
        for place in gives:
            mask |= feeds.pop(place, 0)
        by_rows += mask.bit_count() if needs and gives else 0
        for place in needs:
            feeds[place] = feeds.get(place, 0) | mask
    return by_columns, by_rows


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

"""Conversion between SymPy and CasADi.

Both directions traverse the expression as a graph, each shared part once: a matrix whose tree would have a million leaves is
converted as the few thousand operations of its graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import casadi as ca

from draisine.errors import ExpressionError
from draisine.expr.tree import short
from draisine.program import opcodes as op
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program, Slot
from draisine.symbolic.elimination import Definitions, Elimination, defined

if TYPE_CHECKING:
    import sympy


# ------------------------------------------------------------------------------------------------------ SymPy → CasADi


def to_sx(expression: Any, symbols: Mapping[Any, Any]) -> ca.SX:
    """A SymPy expression or matrix in terms of SX; `symbols` maps SymPy symbols (or functions of time, as `q(t)`) to SX scalars.

    >>> import sympy
    >>> a, b = sympy.symbols("a b")
    >>> x = ca.SX.sym("x", 2)
    >>> to_sx(sympy.Matrix([[a * b, sympy.sin(a)]]), {a: x[0], b: x[1]})
    SX([[(x_0*x_1), sin(x_0)]])
    """
    import sympy

    if isinstance(expression, str):
        raise ExpressionError(f"{expression!r} is text; give a SymPy expression, whose symbols are known")
    known: dict[Any, ca.SX] = {sympy.sympify(symbol, strict=True): ca.SX(value) for symbol, value in symbols.items()}
    if isinstance(expression, sympy.MatrixExpr):
        expression = expression.as_explicit()
    elif isinstance(expression, Sequence):
        expression = sympy.Matrix(expression)
    if not isinstance(expression, sympy.MatrixBase):
        return _graph_to_sx(sympy.sympify(expression, strict=True), known)
    rows, columns = expression.shape
    entries = [_graph_to_sx(expression[i, j], known) for j in range(columns) for i in range(rows)]
    return ca.reshape(ca.vertcat(*entries), rows, columns) if entries else ca.SX(rows, columns)


def _graph_to_sx(expression: Any, known: dict[Any, ca.SX]) -> ca.SX:
    """Depth first with an explicit stack: expressions may be deeper than Python's recursion limit."""
    stack = [expression]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        missing = [a for a in _operands(node) if a not in known]
        if missing:
            stack += missing
        else:
            known[node] = _node_to_sx(node, known)
            stack.pop()
    return known[expression]


def _operands(node: Any) -> Sequence[Any]:
    import sympy

    if isinstance(node, sympy.Piecewise):
        return [part for branch in node.args for part in branch.args]
    if isinstance(node, sympy.Pow):
        return [node.base] if node.exp.is_Rational else [node.base, node.exp]
    return () if isinstance(node, sympy.Derivative) else node.args


def _node_to_sx(node: Any, known: Mapping[Any, ca.SX]) -> ca.SX:
    import sympy

    if node.is_Symbol:
        raise ExpressionError(f"symbol {node} is not among the arguments; add it to them or give it a value with subs()")
    if node in (sympy.true, sympy.false):
        return ca.SX(float(bool(node)))
    if not node.args and node.is_number:
        return _number(node)
    if node.is_Mul:
        return _product(node.args, known)
    if node.is_Pow:
        return _power(known[node.base], node.exp, known)
    if isinstance(node, sympy.Piecewise):
        return _piecewise(node, known)
    function = _from_sympy().get(node.func.__name__)
    if function is None or isinstance(node, sympy.Derivative):
        name = str(node) if isinstance(node, sympy.Derivative) or not node.args else node.func.__name__
        raise ExpressionError(
            f"{name} has no counterpart in a program; evaluate it, or make it an argument. Supported functions: "
            + ", ".join(sorted(_from_sympy()))
        )
    return function(*(known[a] for a in node.args))


def _number(node: Any) -> ca.SX:
    if not node.is_real:
        raise ExpressionError(f"the number {node} is not real")
    value = float(node)
    if not math.isfinite(value):
        raise ExpressionError(f"the number {short(str(node))} is too large; numbers are at most 1.8e308")
    return ca.SX(value)


def _product(factors: Iterable[Any], known: Mapping[Any, ca.SX]) -> ca.SX:
    """Numerator over denominator: one division for all negative powers."""
    import sympy

    above, below = [], []
    for factor in factors:
        if factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(_power(known[factor.base], -factor.exp, known))
        elif factor.is_Rational and not factor.is_Integer and factor.p in (1, -1):
            above += [ca.SX(-1.0)] if factor.p < 0 else []
            below.append(_number(sympy.Integer(factor.q)))
        else:
            above.append(known[factor])
    product = _multiply(above)
    return product / _multiply(below) if below else product


def _multiply(factors: Sequence[ca.SX]) -> ca.SX:
    return reduce(lambda a, b: a * b, factors) if factors else ca.SX(1.0)


def _power(base: ca.SX, exponent: Any, known: Mapping[Any, ca.SX]) -> ca.SX:
    if not exponent.is_Rational:
        return base ** known[exponent]
    if exponent.is_negative:
        return 1 / _power(base, -exponent, known)
    if exponent.is_Integer:
        return _whole_power(base, int(exponent))
    if exponent.q == 2:
        half = ca.sqrt(base)
        return half if exponent.p == 1 else half * _whole_power(base, int(exponent.p) // 2)
    return base ** float(exponent)


def _whole_power(base: ca.SX, n: int) -> ca.SX:
    """By squaring; exact signs for negative bases."""
    if n == 0:
        return ca.SX(1.0)
    half = _whole_power(base, n // 2)
    square = half**2 if n > 1 else ca.SX(1.0)
    return square * base if n % 2 else square


def _piecewise(node: Any, known: Mapping[Any, ca.SX]) -> ca.SX:
    result = ca.SX(float("nan"))
    for value, condition in reversed([branch.args for branch in node.args]):
        result = known[value] if condition == True else ca.if_else(known[condition], known[value], result)  # noqa: E712
    return result


@cache
def _from_sympy() -> Mapping[str, Callable[..., ca.SX]]:
    same = (
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "exp",
        "log",
        "atan2",
        "erf",
    )
    table: dict[str, Callable[..., Any]] = {
        name: getattr(ca, name) for name in (*same, "sign", "floor", "erfinv", "log1p", "expm1")
    }

    def fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        return lambda *operands: reduce(function, operands)

    table |= {"Add": fold(lambda a, b: a + b), "Min": fold(ca.fmin), "Max": fold(ca.fmax)}
    table |= {"Abs": ca.fabs, "ceiling": ca.ceil, "Mod": lambda a, b: a - b * ca.floor(a / b), "hypot": ca.hypot}
    table |= {"sec": lambda a: 1 / ca.cos(a), "csc": lambda a: 1 / ca.sin(a), "cot": lambda a: 1 / ca.tan(a)}
    table |= {"sinc": lambda a: ca.if_else(a == 0, 1, ca.sin(a) / ca.if_else(a == 0, 1, a))}
    table |= {"Heaviside": lambda a, at_zero=0.5: ca.if_else(a == 0, at_zero, a > 0)}
    table |= {"StrictLessThan": lambda a, b: a < b, "LessThan": lambda a, b: a <= b}
    table |= {"StrictGreaterThan": lambda a, b: a > b, "GreaterThan": lambda a, b: a >= b}
    table |= {"Equality": lambda a, b: a == b, "Unequality": lambda a, b: a != b}
    table |= {"And": fold(ca.logic_and), "Or": fold(ca.logic_or), "Not": ca.logic_not, "UnevaluatedExpr": lambda a: a}
    return table


# ------------------------------------------------------------------------------------------------------ CasADi → SymPy


@dataclass(frozen=True)
class Listing:
    """A program as SymPy formulas: first the definitions, in order, of values used more than once; then the results.

    This is the form of `sympy.cse`: `listing.definitions` are its replacements.
    """

    symbols: Mapping[str, tuple[sympy.Symbol, ...]]  # of each input
    definitions: tuple[tuple[sympy.Symbol, sympy.Expr], ...]
    results: Mapping[str, sympy.Matrix]

    def expanded(self) -> dict[str, sympy.Matrix]:
        """The results with all definitions substituted; for small programs."""
        meaning: dict[Any, Any] = {}
        for symbol, formula in self.definitions:
            meaning[symbol] = formula.xreplace(meaning)
        return {name: matrix.xreplace(meaning) for name, matrix in self.results.items()}


def to_sympy(program: Program | LinearSolveProgram) -> Listing:
    """A program as SymPy formulas. Inputs are named by their labels, prefixed by the slot's name if two are equal.

    A linear system that the program solves is eliminated step by step, each entry a definition (`elimination`).

    >>> x = ca.SX.sym("x", 2)
    >>> listing = to_sympy(Program.build("f", {"x": (x, ("a", "b"))}, {"y": (x[0] * x[1]) ** 2 + ca.sin(x[0] * x[1])}))
    >>> listing.definitions, listing.results["y"][0]
    (((w0, a*b),), w0**2 + sin(w0))
    """
    symbols = _input_symbols(program.inputs)
    definitions: Definitions = []
    if isinstance(program, Program):
        results = _formulas(program, symbols, definitions)
    else:
        results = _solved_formulas(program, symbols, definitions)
    return Listing(symbols, tuple(definitions), results)


def _formulas(program: Program, symbols: Mapping[str, Sequence[Any]], definitions: Definitions) -> dict[str, Any]:
    """Results of a program by name; what is used more than once is appended to the definitions."""
    import sympy

    uses = _use_counts(program)
    functions = _to_sympy()
    results = {slot.name: sympy.zeros(*slot.shape) for slot in program.outputs}
    work: dict[int, Any] = {}
    for number, line in enumerate(program.tape):
        operation = line.operation
        if operation == op.OUTPUT:
            slot = program.outputs[line.outputs[0]]
            column, row = divmod(line.outputs[1], slot.shape[0])
            results[slot.name][row, column] = work[line.inputs[0]]
            continue
        if operation == op.CALL:
            calls = _called(line.callee, [work[i] for i in line.inputs], len(line.outputs))
            work |= {target: value for target, value in zip(line.outputs, calls, strict=True) if target >= 0}
            continue
        if operation == op.INPUT:
            formula = symbols[program.inputs[line.inputs[0]].name][line.inputs[1]]
        elif operation == op.CONST:
            formula = _exact(float(line.constant or 0.0))
        else:
            formula = functions[operation](*(work[i] for i in line.inputs))
            if uses[number] > 1:
                formula = defined(formula, definitions)
        work[line.outputs[0]] = formula
    return results


def _solved_formulas(
    program: LinearSolveProgram, symbols: Mapping[str, Sequence[Any]], definitions: Definitions
) -> dict[str, Any]:
    """Results of a program with a linear system, which is eliminated."""
    if program.iterates:
        raise ExpressionError(
            f"{program.name} is solved by Newton's iteration, since forces depend on multipliers nonlinearly (creep, friction); "
            "it has no formula. Convert the programs of an iteration: to_sympy(program.system), to_sympy(program.after)"
        )
    given = dict(symbols)
    entries, side = _formulas(program.system, given, definitions).values()
    places = zip(program.entry_pattern.rows, program.entry_pattern.columns, strict=True)
    elimination = Elimination(program, {place: entries[k] for k, place in enumerate(places)}, definitions)
    columns = [elimination.solve(list(side))]
    if program.further is not None:
        slot = program.further.inputs[-1].name
        (more,) = _formulas(program.further, given | {slot: columns[0]}, definitions).values()
        columns += [elimination.solve(list(more[:, k])) for k in range(more.shape[1])]
    solution = [value for column in columns for value in column]  # by columns, as slots are
    return _formulas(program.after, given | {program.after.inputs[-1].name: solution}, definitions)


def _input_symbols(slots: Sequence[Slot]) -> dict[str, tuple[Any, ...]]:
    import sympy

    labels = {slot.name: slot.labels or _numbered(slot) for slot in slots}
    every = [label for names in labels.values() for label in names]
    return {
        slot: tuple(sympy.Symbol(label if every.count(label) == 1 else f"{slot}_{label}", real=True) for label in names)
        for slot, names in labels.items()
    }


def _numbered(slot: Slot) -> tuple[str, ...]:
    return (slot.name,) if slot.size == 1 else tuple(f"{slot.name}{k}" for k in range(slot.size))


def _use_counts(program: Program) -> list[int]:
    """How often the result of each line is read."""
    counts, producer = [0] * len(program.tape), dict[int, int]()
    for number, line in enumerate(program.tape):
        if line.operation != op.INPUT:
            for i in line.inputs:
                counts[producer[i]] += 1
        if line.operation != op.OUTPUT:
            producer |= {o: number for o in line.outputs if o >= 0}
    return counts


def _called(callee: Any, arguments: Sequence[Any], count: int) -> list[Any]:
    """Calls remain calls: tables and separate functions appear by their names."""
    import sympy

    name = callee.name
    return [sympy.Function(name if count == 1 else f"{name}_{k}", real=True)(*arguments) for k in range(count)]


def _exact(value: float) -> Any:
    import sympy

    return sympy.Integer(int(value)) if value.is_integer() and abs(value) < 2**53 else sympy.Float(value, 17)


@cache
def _to_sympy() -> Mapping[int, Callable[..., Any]]:
    import sympy as sp

    def truth(condition: Any) -> Any:
        """CasADi's truth values are the numbers 1 and 0."""
        return sp.Piecewise((1, condition), (0, True))

    def is_true(number: Any) -> Any:
        return number.args[0][1] if isinstance(number, sp.Piecewise) and number == truth(number.args[0][1]) else sp.Ne(number, 0)

    same = ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
    table: dict[str, Callable[..., Any]] = {
        name.upper(): getattr(sp, name) for name in (*same, "atan2", "erf", "erfinv", "sign", "floor")
    }
    table |= {"ADD": lambda a, b: a + b, "SUB": lambda a, b: a - b, "MUL": lambda a, b: a * b, "DIV": lambda a, b: a / b}
    table |= {"NEG": lambda a: -a, "SQ": lambda a: a**2, "TWICE": lambda a: 2 * a, "INV": lambda a: 1 / a}
    table |= {"POW": lambda a, b: a**b, "CONSTPOW": lambda a, b: a**b, "HYPOT": lambda a, b: sp.sqrt(a**2 + b**2)}
    table |= {"FABS": sp.Abs, "CEIL": sp.ceiling, "FMIN": sp.Min, "FMAX": sp.Max, "LOG1P": lambda a: sp.log(1 + a)}
    table |= {"EXPM1": lambda a: sp.exp(a) - 1, "ASSIGN": lambda a: a, "LIFT": lambda a, b: a, "PRINTME": lambda a, b: a}
    table |= {"FMOD": lambda a, b: a - b * sp.sign(a / b) * sp.floor(sp.Abs(a / b))}
    table |= {"REMAINDER": lambda a, b: a - b * sp.floor(a / b + sp.Rational(1, 2))}
    table |= {"COPYSIGN": lambda a, b: sp.Piecewise((sp.Abs(a), b >= 0), (-sp.Abs(a), True))}
    table |= {"LT": lambda a, b: truth(a < b), "LE": lambda a, b: truth(a <= b)}
    table |= {
        "EQ": lambda a, b: truth(sp.Eq(a, b)),
        "NE": lambda a, b: truth(sp.Ne(a, b)),
        "NOT": lambda a: truth(sp.Not(is_true(a))),
    }
    table |= {"AND": lambda a, b: truth(sp.And(is_true(a), is_true(b))), "OR": lambda a, b: truth(sp.Or(is_true(a), is_true(b)))}
    table |= {"IF_ELSE_ZERO": lambda a, b: sp.Piecewise((b, is_true(a)), (0, True))}
    return {op.NUMBERS[name]: function for name, function in table.items()}

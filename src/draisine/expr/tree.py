"""The expression tree: numbers, names and calls, immutable and compared by structure; conversion to text.

Operators are calls too ("add", "sub", …). `draisine.expr.parser` reads text; `draisine.expr.expression` is the public interface
to both and to the evaluation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Real

from draisine.errors import ArgumentError, ExpressionError

MAX_DEPTH = 200  # levels of nesting; keeps recursions far from Python's limit
MAX_SIZE = 50_000  # numbers, names and calls in one expression; shared parts count each time they occur

_SEGMENT = r"(?!__)[A-Za-z_][A-Za-z0-9_]*"
_FUNCTION_NAME = re.compile(_SEGMENT)
DOTTED_NAME = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")

# Minimum and maximum number of arguments; None is no limit.
ARITY: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "pow", "lt", "le", "gt", "ge", "atan2"), (2, 2)),
    **dict.fromkeys(("neg", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), (1, 1)),
    **dict.fromkeys(("sqrt", "exp", "log", "abs", "sign", "floor", "ceil"), (1, 1)),
    **dict.fromkeys(("min", "max", "hypot"), (2, None)),
    **dict.fromkeys(("clip", "where"), (3, 3)),
}
CHAINS = {
    **dict.fromkeys(_SUM := ("add", "sub"), _SUM),
    **dict.fromkeys(_PRODUCT := ("mul", "div"), _PRODUCT),
}  # the inverse last
OPERATORS = frozenset({"add", "sub", "mul", "div", "pow", "neg", "lt", "le", "gt", "ge"})
FUNCTIONS = frozenset(ARITY) - OPERATORS  # functions that every evaluator supports


class Expr:
    """Base of `Number`, `Name` and `Call`: immutable, hashable, compared by structure.

    `==` compares structure, so the ordering of values is written as functions: `lt(a, b)`, or "a < b" in text.
    """

    def __add__(self, other: Expr | float) -> Expr:
        return _binary("add", self, other)

    def __radd__(self, other: Expr | float) -> Expr:
        return _binary("add", other, self)

    def __sub__(self, other: Expr | float) -> Expr:
        return _binary("sub", self, other)

    def __rsub__(self, other: Expr | float) -> Expr:
        return _binary("sub", other, self)

    def __mul__(self, other: Expr | float) -> Expr:
        return _binary("mul", self, other)

    def __rmul__(self, other: Expr | float) -> Expr:
        return _binary("mul", other, self)

    def __truediv__(self, other: Expr | float) -> Expr:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Expr | float) -> Expr:
        return _binary("div", other, self)

    def __pow__(self, other: Expr | float) -> Expr:
        return _binary("pow", self, other)

    def __rpow__(self, other: Expr | float) -> Expr:
        return _binary("pow", other, self)

    def __neg__(self) -> Expr:
        return Number(-self.value) if isinstance(self, Number) else Call("neg", (self,))

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return Call("abs", (self,))

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"


@dataclass(frozen=True, repr=False)
class Number(Expr):
    """A finite number."""

    value: float

    def __post_init__(self) -> None:
        try:
            value = float(self.value)
        except OverflowError:  # an integer beyond the range of floats
            value = math.inf
        if not math.isfinite(value):
            raise ExpressionError(f"an expression cannot hold {value!r}; give a finite number")
        object.__setattr__(self, "value", value)


@dataclass(frozen=True, repr=False)
class Name(Expr):
    """A name: a parameter, a coordinate, a part such as "frame.hub"."""

    identifier: str

    def __post_init__(self) -> None:
        if self.identifier == "pi":
            raise ExpressionError("'pi' is a number and cannot be used as a name")
        if not is_name(self.identifier):
            raise ExpressionError(
                f"{self.identifier!r} is not a valid name; use letters, digits, underscores and dots, such as 'frame.hub'"
            )


@dataclass(frozen=True, repr=False)
class Call(Expr):
    """A function of expressions. Operators are the functions in `OPERATORS`."""

    function: str
    arguments: tuple[Expr, ...]
    depth: int = field(init=False, compare=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.function, str) or not _FUNCTION_NAME.fullmatch(self.function):
            raise ExpressionError(f"{self.function!r} is not a valid function name; use letters a–z, digits and underscores")
        arguments = tuple(self.arguments)
        for argument in arguments:
            if not isinstance(argument, Expr):
                raise ArgumentError(f"{self.function}: argument {argument!r} is not an expression; convert it by as_expr")
        _check_arity(self.function, len(arguments))
        depth = 1 + max((_depth(a) for a in arguments), default=0)
        size = 1 + sum(a.size if isinstance(a, Call) else 1 for a in arguments)
        if depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested more than {MAX_DEPTH} deep; split it into named parts")
        if size > MAX_SIZE:
            raise ExpressionError(f"the expression has more than {MAX_SIZE} parts; split it into named parts")
        object.__setattr__(self, "arguments", arguments)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)


def is_name(text: str) -> bool:
    """Whether the text can be a (dotted) name in an expression."""
    return isinstance(text, str) and text != "pi" and DOTTED_NAME.fullmatch(text) is not None


def _binary(function: str, left: Expr | float, right: Expr | float) -> Expr:
    sides = []
    for side in (left, right):
        if isinstance(side, Expr):
            sides.append(side)
        elif isinstance(side, Real) and not isinstance(side, bool):
            sides.append(Number(side))  # converted to float there
        else:
            return NotImplemented  # Python's protocol: the other operand may support it
    return joined(function, tuple(sides))


def _depth(expr: Expr) -> int:
    return expr.depth if isinstance(expr, Call) else 0


def joined(function: str, arguments: tuple[Expr, ...]) -> Call:
    """The call. A sum or product that would be nested too deep is written with the same terms in the same order by halves."""
    if function not in CHAINS or max(_depth(a) for a in arguments) < MAX_DEPTH:
        return Call(function, arguments)
    inverse = CHAINS[function][1]
    terms: list[tuple[bool, Expr]] = []
    waiting = [(function == inverse, arguments[1]), (False, arguments[0])]
    while waiting:
        inverted, part = waiting.pop()
        if isinstance(part, Call) and part.function in CHAINS[function]:
            left, right = part.arguments
            waiting += [(inverted != (part.function == inverse), right), (inverted, left)]
        else:
            terms.append((inverted, part))
    return chain(CHAINS[function], terms)


def chain(functions: tuple[str, str], terms: list[tuple[bool, Expr]]) -> Call:
    """The sum (product) of two or more terms, each with whether it is subtracted (divided by), which the first is not.

    From left to right, as it is read; by halves where that is too deep, so that the depth is the logarithm of their number.

    >>> chain(CHAINS["add"], [(False, Name("a")), (True, Name("b")), (False, Name("c"))])
    parse('a - b + c')
    """
    direct, inverse = functions
    depth = _depth(terms[0][1])
    for _, term in terms[1:]:
        depth = 1 + max(depth, _depth(term))
    if depth <= MAX_DEPTH or len(terms) == 2:
        whole = terms[0][1]
        for inverted, term in terms[1:]:
            whole = Call(inverse if inverted else direct, (whole, term))
    else:
        level = terms
        while len(level) > 1:  # a pair has the sign of its first term
            pairs = zip(level[::2], level[1::2], strict=False)
            last = level[len(level) & ~1 :]
            level = [(a[0], Call(direct if a[0] == b[0] else inverse, (a[1], b[1]))) for a, b in pairs] + last
        whole = level[0][1]
    assert isinstance(whole, Call)
    return whole


def _check_arity(function: str, count: int) -> None:
    least, most = ARITY.get(function, (0, None))
    if count < least or (most is not None and count > most):
        expected = f"{least} or more arguments" if most is None else "1 argument" if least == 1 else f"{least} arguments"
        raise ExpressionError(f"{function} takes {expected}, got {count}")


def short(text: str) -> str:
    """Text for an error message, truncated if long."""
    return text if len(text) <= 60 else text[:57] + "…"


# -------------------------------------------------------------------- traversal


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and its subexpressions, each shared object once, outermost first."""
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            if isinstance(part, Call):
                waiting.extend(reversed(part.arguments))


def names(expr: Expr) -> frozenset[str]:
    """The names an expression depends on.

    >>> sorted(names(Name("m") * Name("g")))
    ['g', 'm']
    """
    return frozenset(part.identifier for part in walk(expr) if isinstance(part, Name))


def calls(expr: Expr) -> frozenset[str]:
    """The functions used in an expression, including operators ("add", …)."""
    return frozenset(part.function for part in walk(expr) if isinstance(part, Call))


# -------------------------------------------------------------------- text

COMPARE, SUM, PRODUCT, NEGATIVE, POWER, ATOM = range(1, 7)  # precedence
INFIX = {
    "lt": (" < ", COMPARE),
    "le": (" <= ", COMPARE),
    "gt": (" > ", COMPARE),
    "ge": (" >= ", COMPARE),
    "add": (" + ", SUM),
    "sub": (" - ", SUM),
    "mul": ("*", PRODUCT),
    "div": ("/", PRODUCT),
}


def _strength(expr: Expr) -> int:
    if isinstance(expr, Number):
        return NEGATIVE if math.copysign(1.0, expr.value) < 0 else ATOM
    if isinstance(expr, Call):
        if expr.function in INFIX:
            return INFIX[expr.function][1]
        return {"neg": NEGATIVE, "pow": POWER}.get(expr.function, ATOM)
    return ATOM


def _text(expr: Expr) -> str:
    """Text that parses to an equal expression, with parentheses only where necessary or between two signs."""

    def within(part: Expr, least: int, leads: bool = True) -> str:
        strength = _strength(part)
        bare = strength >= least and (leads or strength != NEGATIVE)
        return _text(part) if bare else f"({_text(part)})"

    if isinstance(expr, Number):
        return _number_text(expr.value)
    if isinstance(expr, Name):
        return expr.identifier
    if not isinstance(expr, Call):
        raise ArgumentError(f"{type(expr).__name__} is not an expression; use Number, Name or Call")
    if expr.function in INFIX:
        sign, level = INFIX[expr.function]
        left, right = expr.arguments
        # The parser rejects "a < b < c": both sides of a comparison have a higher precedence.
        compare = level == COMPARE
        return within(left, level + compare) + sign + within(right, level + 1, leads=compare)
    if expr.function == "neg":
        # "-2" is the number −2; the negative of the number 2 is "-(2)".
        operand = expr.arguments[0]
        return f"-({_text(operand)})" if isinstance(operand, Number) else "-" + within(operand, POWER)
    if expr.function == "pow":
        base, exponent = expr.arguments
        return f"{within(base, ATOM)}**{within(exponent, NEGATIVE)}"
    return f"{expr.function}({', '.join(_text(a) for a in expr.arguments)})"


def _number_text(value: float) -> str:
    if abs(value) == math.pi:
        return "pi" if value > 0 else "-pi"
    text = repr(value)
    return text.removesuffix(".0")

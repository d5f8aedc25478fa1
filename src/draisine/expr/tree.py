"""The expression tree: numbers, names and calls, immutable and compared by structure; conversion to text and from it.

Operators are calls too ("add", "sub", …). The parser has operator precedence and errors with column numbers; all text is parsed
here, and Python never evaluates any of it. `draisine.expr.expression` is the public interface to this module and the evaluation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple, NoReturn

from draisine.errors import ArgumentError, ExpressionError

MAX_DEPTH = 200  # levels of nesting; keeps recursions far from Python's limit
MAX_SIZE = 5_000  # numbers, names and calls in one expression; shared parts count each time they occur

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
        depth = 1 + max((a.depth if isinstance(a, Call) else 0 for a in arguments), default=0)
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
    return Call(function, tuple(sides))


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


MAX_LENGTH = 20_000  # characters of text
_TOKEN = re.compile(
    rf"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<call>(?P<called>{DOTTED_NAME.pattern})\s*\()"
    rf"|(?P<name>{DOTTED_NAME.pattern})|(?P<sign>\*\*|<=|>=|[-+*/^<>(),])|(?P<space>\s+)",
    re.ASCII,
)
_BINARY = {sign.strip(): (function, strength) for function, (sign, strength) in INFIX.items()}
_BINARY |= {"^": ("pow", POWER), "**": ("pow", POWER)}


def parse(text: str) -> Expr:
    """Read an expression: numbers, names, `+ - * / ^ **`, `< <= > >=`, parentheses and function calls.

    >>> parse("-2*sin(q)^2 + pi/2")
    parse('-2*sin(q)**2 + pi/2')
    >>> parse("a + * b")
    Traceback (most recent call last):
        ...
    draisine.errors.ExpressionError: expression 'a + * b': unexpected '*' at column 5
    """
    if not isinstance(text, str):
        raise ArgumentError(f"parse expects text, got {text!r}")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression '{short(text)}' has {len(text)} characters; the limit is {MAX_LENGTH}")
    return _Parser(text).whole()


class _Token(NamedTuple):
    kind: str  # number, name, call (a name and its opening parenthesis), sign or end
    text: str
    column: int


class _Pending(NamedTuple):
    """An operator without its right operand yet, or an open parenthesis (strength 0)."""

    token: _Token
    function: str = ""  # empty for a grouping parenthesis
    strength: int = 0
    first: int = 0  # index of the first argument of a call among the operands


class _Parser:
    """An operator-precedence parser with an explicit stack, so that no text can exhaust Python's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.operands: list[Expr] = []
        self.pending: list[_Pending] = []

    def whole(self) -> Expr:
        tokens = self.tokens()
        if len(tokens) == 1:
            raise ExpressionError("the expression is empty; give a number or a formula")
        complete = False  # whether the text so far ends with an operand
        for before, token, after in zip([tokens[-1], *tokens], tokens, [*tokens[1:], tokens[-1]], strict=False):
            complete = self.after_operand(token) if complete else self.at_operand(token, before, after)
        return self.operands[0]

    def tokens(self) -> list[_Token]:
        tokens, at = [], 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self.unexpected(_Token("character", self.text[at], at + 1))
            kind = str(match.lastgroup)
            if kind == "call" and "." in match["called"]:
                self.fail(f"{match['called']!r} is a dotted name and cannot be called", _Token(kind, match[0], at + 1))
            if kind != "space":
                tokens.append(_Token("number" if match[0] == "pi" else kind, match["called"] or match[0], at + 1))
            at = match.end()
        return [*tokens, _Token("end", "", len(self.text) + 1)]

    def at_operand(self, token: _Token, before: _Token, after: _Token) -> bool:
        """Process a token at the start of an operand; returns whether the operand is complete."""
        if token.kind == "number":
            negative = before.text == "-" and self.pending[-1].function == "neg" and after.text not in ("^", "**")
            if negative:  # "-2" is the number −2, but "-2**x" is the negative of a power
                self.pending.pop()
            self.operands.append(Number(-self.number(token) if negative else self.number(token)))
        elif token.kind == "name":
            self.operands.append(Name(token.text))
        elif token.text == ")" and before.kind == "call":
            self.close()
        elif token.kind == "call":
            self.pending.append(_Pending(token, token.text, first=len(self.operands)))
            return False
        elif token.text == "(":
            self.pending.append(_Pending(token))
            return False
        elif token.text in ("-", "+"):
            if token.text == "-":
                self.pending.append(_Pending(token, "neg", NEGATIVE))
            return False
        else:
            self.unexpected(token)
        return True

    def after_operand(self, token: _Token) -> bool:
        """Process a token after a complete operand; returns whether the text still ends with one."""
        if token.text in _BINARY:
            function, strength = _BINARY[token.text]
            self.apply(strength + (strength in (COMPARE, POWER)))  # a**b**c is a**(b**c)
            if strength == COMPARE and self.pending and self.pending[-1].strength == COMPARE:
                self.fail(f"{token.text!r} after another comparison (put one of them in parentheses)", token)
            self.pending.append(_Pending(token, function, strength))
            return False
        if token.text not in (",", ")") and token.kind != "end":
            self.unexpected(token, " (a product is written with *)")
        self.apply(COMPARE)
        opening = self.pending[-1] if self.pending else None
        if token.kind == "end":
            if opening:
                self.fail("'(' is never closed; it opened", opening.token)
        elif opening is None or (token.text == "," and not opening.function):
            around = self.text[max(token.column - 2, 0) : token.column + 1]
            self.unexpected(token, " (decimals are written with a point)" if re.fullmatch(r"\d,\d", around) else "")
        elif token.text == ")":
            self.close()
        return token.text != ","

    def apply(self, least: int) -> None:
        """Apply pending operators of at least this precedence."""
        while self.pending and self.pending[-1].strength >= least:
            operator = self.pending.pop()
            self.call(operator, len(self.operands) - (1 if operator.function == "neg" else 2))

    def close(self) -> None:
        opening = self.pending.pop()
        if opening.function:
            self.call(opening, opening.first)

    def call(self, pending: _Pending, first: int) -> None:
        arguments = tuple(self.operands[first:])
        try:
            self.operands[first:] = [Call(pending.function, arguments)]
        except ExpressionError as error:
            self.fail(str(error), pending.token)

    def number(self, token: _Token) -> float:
        value = math.pi if token.text == "pi" else float(token.text)
        if not math.isfinite(value):
            self.fail(f"the number {short(token.text)!r} is too large", token)
        return value

    def fail(self, reason: str, token: _Token) -> NoReturn:
        raise ExpressionError(f"expression '{short(self.text)}': {reason} at column {token.column}")

    def unexpected(self, token: _Token, hint: str = "") -> NoReturn:
        self.fail(("unexpected end" if token.kind == "end" else f"unexpected {short(token.text)!r}") + hint, token)

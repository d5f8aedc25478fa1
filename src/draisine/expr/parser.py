"""Text to expressions: a parser with operator precedence and errors with column numbers.

All text is parsed here, and Python never evaluates any of it. Its stack is explicit, so that no text can exhaust Python's.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple, NoReturn

from draisine.errors import ArgumentError, ExpressionError
from draisine.expr.tree import CHAINS, COMPARE, DOTTED_NAME, INFIX, NEGATIVE, POWER, Call, Expr, Name, Number, chain, short

MAX_LENGTH = 100_000  # characters of text
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
            self.apply(strength + 1)  # a**b**c is a**(b**c), and `apply` takes the terms of a sum or product together
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
            if operator.function in CHAINS:
                self.chain(operator)
            else:
                self.call(operator, len(self.operands) - (1 if operator.function == "neg" else 2))

    def chain(self, last: _Pending) -> None:
        """Join the terms of a sum or product, whose operators are pending one behind the other."""
        operators = [last]
        while self.pending and self.pending[-1].strength == last.strength:
            operators.append(self.pending.pop())
        functions, first = CHAINS[last.function], len(self.operands) - len(operators) - 1
        inverted = [False, *(operator.function == functions[1] for operator in reversed(operators))]
        try:
            self.operands[first:] = [chain(functions, list(zip(inverted, self.operands[first:], strict=True)))]
        except ExpressionError as error:
            self.fail(str(error), last.token)

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

"""Expressions set as formulas: LaTeX, MathML for web pages, and SymPy's Python. One walk, three hands."""

from __future__ import annotations

import html
import keyword
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from draisine.errors import ArgumentError
from draisine.expr.expression import Call, Expr, Name, Number
from draisine.symbolic.rendering.formulas import latex_name

COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 7)
_INFIX = {"add": ("+", SUM), "sub": ("-", SUM)}
_INFIX |= {"lt": ("<", COMPARE), "le": ("<=", COMPARE), "gt": (">", COMPARE), "ge": (">=", COMPARE)}


class Hand(ABC):
    """How one notation writes the parts of a formula. Parts come written; `formula` puts parentheses where they are needed."""

    stacked = True  # fractions and roots hold their parts without parentheses

    def leads_with_sign(self, text: str) -> bool:
        return text.startswith("-")

    @abstractmethod
    def name(self, identifier: str) -> str: ...

    @abstractmethod
    def number(self, value: float) -> str: ...

    @abstractmethod
    def infix(self, sign: str, left: str, right: str) -> str: ...

    @abstractmethod
    def product(self, left: str, right: str) -> str: ...

    @abstractmethod
    def fraction(self, above: str, below: str) -> str: ...

    @abstractmethod
    def power(self, base: str, exponent: str) -> str: ...

    @abstractmethod
    def negative(self, part: str) -> str: ...

    @abstractmethod
    def group(self, part: str) -> str: ...

    @abstractmethod
    def call(self, function: str, arguments: list[str]) -> str: ...


def formula(expression: Expr, hand: Hand) -> str:
    """The expression in a notation.

    >>> from draisine.expr.expression import parse
    >>> print(formula(parse("(a - (-b))*theta_rear**2/c"), SymPy()))
    (a - (-b))*theta_rear**Integer(2)/c
    """
    return _written(expression, hand)[0]


def _written(expression: Expr, hand: Hand) -> tuple[str, int]:
    """Text and the strength with which it holds together."""
    if isinstance(expression, Number):
        return hand.number(expression.value), SIGN if expression.value < 0 else ATOM
    if isinstance(expression, Name):
        return hand.name(expression.identifier), ATOM
    if not isinstance(expression, Call):
        raise ArgumentError(f"{type(expression).__name__} is no expression; use Number, Name or Call")
    function, arguments = expression.function, expression.arguments

    def part(argument: Expr, least: int) -> str:
        text, strength = _written(argument, hand)
        return text if strength >= least else hand.group(text)

    def unsigned(argument: Expr, least: int) -> str:
        """On the right of an operator: a sign never follows a sign."""
        text = part(argument, least)
        return hand.group(text) if hand.leads_with_sign(text) else text

    if function in _INFIX:
        sign, level = _INFIX[function]
        return hand.infix(sign, part(arguments[0], level + (level == COMPARE)), unsigned(arguments[1], level + 1)), level
    if function == "mul":
        return hand.product(part(arguments[0], PRODUCT), unsigned(arguments[1], PRODUCT if hand.stacked else POWER)), PRODUCT
    if function == "div":
        if hand.stacked:
            return hand.fraction(_written(arguments[0], hand)[0], _written(arguments[1], hand)[0]), PRODUCT
        return hand.fraction(part(arguments[0], PRODUCT), part(arguments[1], POWER)), PRODUCT
    if function == "neg":
        return hand.negative(part(arguments[0], POWER if not hand.stacked else PRODUCT)), SIGN
    if function == "pow":
        exponent = _written(arguments[1], hand)[0] if hand.stacked else part(arguments[1], POWER)
        return hand.power(part(arguments[0], ATOM), exponent), POWER
    return hand.call(function, [_written(a, hand)[0] for a in arguments]), ATOM


def _mantissa(value: float) -> tuple[str, str]:
    """Digits and power of ten, each as text."""
    digits, _, exponent = repr(value).removesuffix(".0").partition("e")
    return digits, str(int(exponent)) if exponent else ""


# ---------------------------------------------------------------- LaTeX


class Latex(Hand):
    _SIGNS: ClassVar[Mapping[str, str]] = {"<=": r"\le", ">=": r"\ge"}
    _KNOWN = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "min", "max"})
    _ARC: ClassVar[Mapping[str, str]] = {"asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan"}

    def name(self, identifier: str) -> str:
        return latex_name(identifier)

    def number(self, value: float) -> str:
        if abs(value) == math.pi:
            return r"\pi" if value > 0 else r"-\pi"
        digits, exponent = _mantissa(value)
        return rf"{digits} \cdot 10^{{{exponent}}}" if exponent else digits

    def infix(self, sign: str, left: str, right: str) -> str:
        return f"{left} {self._SIGNS.get(sign, sign)} {right}"

    def product(self, left: str, right: str) -> str:
        return rf"{left} \, {right}"

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def negative(self, part: str) -> str:
        return f"- {part}"

    def group(self, part: str) -> str:
        return rf"\left({part}\right)"

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "sqrt":
            return rf"\sqrt{{{arguments[0]}}}"
        if function == "abs":
            return rf"\left|{arguments[0]}\right|"
        plain = f"\\{function}" if function in self._KNOWN else rf"\operatorname{{{function.replace('_', chr(92) + '_')}}}"
        return self._ARC.get(function, plain) + self.group(", ".join(arguments))


# ---------------------------------------------------------------- MathML


class MathML(Hand):
    """Presentation markup that browsers set by themselves."""

    _SIGNS: ClassVar[Mapping[str, str]] = {"<=": "≤", ">=": "≥", "-": "−", "<": "&lt;", ">": "&gt;"}

    def leads_with_sign(self, text: str) -> bool:
        return re.match(r"(<mrow>)*<mo>−", text) is not None

    def name(self, identifier: str) -> str:
        return f"<mi>{html.escape(identifier)}</mi>"

    def number(self, value: float) -> str:
        if abs(value) == math.pi:
            return self._signed(value, "<mi>π</mi>")
        digits, exponent = _mantissa(abs(value))
        text = f"<mn>{digits}</mn>"
        if exponent:
            text += f"<mo>·</mo><msup><mn>10</mn><mn>{exponent.replace('-', '−')}</mn></msup>"
        return self._signed(value, text)

    def _signed(self, value: float, text: str) -> str:
        return f"<mrow><mo>−</mo>{text}</mrow>" if value < 0 else f"<mrow>{text}</mrow>"

    def infix(self, sign: str, left: str, right: str) -> str:
        return f"<mrow>{left}<mo>{self._SIGNS.get(sign, sign)}</mo>{right}</mrow>"

    def product(self, left: str, right: str) -> str:
        return f"<mrow>{left}<mo>·</mo>{right}</mrow>"

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac>{above}{below}</mfrac>"

    def power(self, base: str, exponent: str) -> str:
        return f"<msup>{base}{exponent}</msup>"

    def negative(self, part: str) -> str:
        return f"<mrow><mo>−</mo>{part}</mrow>"

    def group(self, part: str) -> str:
        return f"<mrow><mo>(</mo>{part}<mo>)</mo></mrow>"

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "sqrt":
            return f"<msqrt>{arguments[0]}</msqrt>"
        if function == "abs":
            return f"<mrow><mo>|</mo>{arguments[0]}<mo>|</mo></mrow>"
        return f"<mrow><mi>{html.escape(function)}</mi>{self.group('<mo>,</mo>'.join(arguments))}</mrow>"


# ---------------------------------------------------------------- SymPy


class SymPy(Hand):
    """Python source in SymPy's functions; truth values are the numbers 1 and 0."""

    stacked = False
    _NAMES: ClassVar[Mapping[str, str]] = {"abs": "Abs", "min": "Min", "max": "Max", "ceil": "ceiling"}

    def name(self, identifier: str) -> str:
        return python_name(identifier)

    def number(self, value: float) -> str:
        if abs(value) == math.pi:
            return "pi" if value > 0 else "-pi"
        if value.is_integer() and abs(value) < 2**53:
            return f"Integer({int(value)})"
        return f"Float('{value!r}', 17)"

    def infix(self, sign: str, left: str, right: str) -> str:
        if sign in "+-":
            return f"{left} {sign} {right}"
        return f"Piecewise((1, {left} {sign} {right}), (0, True))"

    def product(self, left: str, right: str) -> str:
        return f"{left}*{right}"

    def fraction(self, above: str, below: str) -> str:
        return f"{above}/{below}"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}**{exponent}"

    def negative(self, part: str) -> str:
        return f"-{part}"

    def group(self, part: str) -> str:
        return f"({part})"

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "where":
            condition, yes, no = arguments
            return f"Piecewise(({yes}, Ne({condition}, 0)), ({no}, True))"
        if function == "hypot":
            return f"sqrt({' + '.join(f'({a})**2' for a in arguments)})"
        if function == "clip":
            value, least, most = arguments
            return f"Min(Max({value}, {least}), {most})"
        known = function in _SYMPY_FUNCTIONS or function in self._NAMES
        called = self._NAMES.get(function, function) if known else f"Function('{function}')"
        return f"{called}({', '.join(arguments)})"


_SYMPY_FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "sqrt", "exp", "log", "sign", "floor"}
)
SYMPY_NAMES = _SYMPY_FUNCTIONS | {
    "Abs",
    "Min",
    "Max",
    "ceiling",
    "Piecewise",
    "Ne",
    "Integer",
    "Float",
    "Function",
    "Matrix",
    "Symbol",
    "pi",
}


def python_name(identifier: str) -> str:
    """A variable's name: keywords and SymPy's own names get an underscore, dots become underscores."""
    plain = re.sub(r"\W", "_", identifier)
    return f"{plain}_" if keyword.iskeyword(plain) or plain in SYMPY_NAMES else plain

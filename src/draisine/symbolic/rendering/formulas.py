"""Typesetting of expressions in three notations: LaTeX, MathML for web pages, and SymPy's Python; names of symbols in LaTeX."""

from __future__ import annotations

import html
import keyword
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from draisine.errors import ArgumentError
from draisine.expr.expression import Call, Expr, Name, Number

COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 7)
_INFIX = {"add": ("+", SUM), "sub": ("-", SUM)}
_INFIX |= {"lt": ("<", COMPARE), "le": ("<=", COMPARE), "gt": (">", COMPARE), "ge": (">=", COMPARE)}

GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi"),
        *("rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
        *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
    )
)
GREEK_LETTERS = {  # the letters themselves; Unicode has "lambda" without its b
    name: unicodedata.lookup(
        f"GREEK {'SMALL' if name[0].islower() else 'CAPITAL'} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}"
    )
    for name in GREEK
}
_LETTER = re.compile(rf"([A-Za-z]|{'|'.join(sorted(GREEK, key=len, reverse=True))})(\d*)")


class Notation(ABC):
    """How a notation writes the parts of a formula, given their texts; `formula` adds parentheses where they are needed."""

    stacked = True  # fractions and roots need no parentheses

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


def formula(expression: Expr, notation: Notation) -> str:
    """The expression in a notation.

    >>> from draisine.expr.expression import parse
    >>> print(formula(parse("(a - (-b))*theta_rear**2/c"), SymPy()))
    (a - (-b))*theta_rear**Integer(2)/c
    """
    return _written(expression, notation)[0]


def _written(expression: Expr, notation: Notation) -> tuple[str, int]:
    """The text and its precedence."""
    if isinstance(expression, Number):
        return notation.number(expression.value), SIGN if expression.value < 0 else ATOM
    if isinstance(expression, Name):
        return notation.name(expression.identifier), ATOM
    if not isinstance(expression, Call):
        raise ArgumentError(f"{type(expression).__name__} is not an expression; use Number, Name or Call")
    function, arguments = expression.function, expression.arguments

    def part(argument: Expr, least: int) -> str:
        text, strength = _written(argument, notation)
        return text if strength >= least else notation.group(text)

    def unsigned(argument: Expr, least: int) -> str:
        """The right operand: parenthesized if it begins with a sign."""
        text = part(argument, least)
        return notation.group(text) if notation.leads_with_sign(text) else text

    if function in _INFIX:
        sign, level = _INFIX[function]
        return notation.infix(sign, part(arguments[0], level + (level == COMPARE)), unsigned(arguments[1], level + 1)), level
    if function == "mul":
        return notation.product(
            part(arguments[0], PRODUCT), unsigned(arguments[1], PRODUCT if notation.stacked else POWER)
        ), PRODUCT
    if function == "div":
        if notation.stacked:
            return notation.fraction(_written(arguments[0], notation)[0], _written(arguments[1], notation)[0]), PRODUCT
        return notation.fraction(part(arguments[0], PRODUCT), part(arguments[1], POWER)), PRODUCT
    if function == "neg":
        return notation.negative(part(arguments[0], POWER if not notation.stacked else PRODUCT)), SIGN
    if function == "pow":
        exponent = _written(arguments[1], notation)[0] if notation.stacked else part(arguments[1], POWER)
        return notation.power(part(arguments[0], ATOM), exponent), POWER
    return notation.call(function, [_written(a, notation)[0] for a in arguments]), ATOM


def _mantissa(value: float) -> tuple[str, str]:
    """Digits and power of ten, each as text."""
    digits, _, exponent = repr(value).removesuffix(".0").partition("e")
    return digits, str(int(exponent)) if exponent else ""


# ---------------------------------------------------------------- LaTeX


class Latex(Notation):
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


class MathML(Notation):
    """Presentation markup that browsers render without a library."""

    _SIGNS: ClassVar[Mapping[str, str]] = {"<=": "≤", ">=": "≥", "-": "−", "<": "&lt;", ">": "&gt;"}

    def leads_with_sign(self, text: str) -> bool:
        return re.match(r"(<mrow>)*<mo>−", text) is not None

    def name(self, identifier: str) -> str:
        return mathml_name(identifier)

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


class SymPy(Notation):
    """Python source in SymPy's functions; Boolean values are the numbers 1 and 0."""

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


# ---------------------------------------------------------------- names


def latex_name(name: str) -> str:
    r"""LaTeX for a name.

    >>> print(latex_name("theta"), latex_name("m_rear_wheel"), latex_name("q1"), latex_name("rear_wheel_angle"))
    \theta m_{\mathrm{rear\,wheel}} q_{1} \mathrm{rear\,wheel\,angle}
    """
    head, *rest = [part for part in name.split("_") if part] or [name]
    letter = _LETTER.fullmatch(head)
    if letter is None:
        return _words([head, *rest])
    below = [part for part in (letter[2], _subscript(rest)) if part]
    return _symbol(letter[1]) + (f"_{{{','.join(below)}}}" if below else "")


def mathml_name(name: str) -> str:
    """MathML for a name: what follows its first word is a subscript, a final `dot` is a dot above.

    >>> print(mathml_name("theta"), mathml_name("q1"), mathml_name("frame_wx_dot"))
    <mi>θ</mi> <msub><mi>q</mi><mn>1</mn></msub> <msub><mover><mi>frame</mi><mo>˙</mo></mover><mtext>wx</mtext></msub>
    """
    parts = [part for part in name.split("_") if part] or [name]
    has_dot = len(parts) > 1 and parts[-1] == "dot"
    head, *rest = parts[:-1] if has_dot else parts
    letter = _LETTER.fullmatch(head)
    base, digits = (letter[1], letter[2]) if letter else (head, "")
    symbol = f"<mi>{html.escape(GREEK_LETTERS.get(base, base))}</mi>"
    symbol = f"<mover>{symbol}<mo>˙</mo></mover>" if has_dot else symbol
    below = [f"<mn>{digits}</mn>"] if digits else []
    below += [f"<mtext>{html.escape(' '.join(GREEK_LETTERS.get(part, part) for part in rest))}</mtext>"] if rest else []
    if not below:
        return symbol
    return f"<msub>{symbol}{below[0] if len(below) == 1 else f'<mrow>{below[0]}<mo>,</mo>{below[1]}</mrow>'}</msub>"


def dotted(name: str, times: int = 1) -> str:
    r"""LaTeX for the rate of a name, the dot on its letter.

    >>> print(dotted("theta_rear"), dotted("lean", 2))
    \dot{\theta}_{\mathrm{rear}} \ddot{\mathrm{lean}}
    """
    whole = latex_name(name)
    letter, sign, below = whole.partition("_{")
    accent = "dot" if times == 1 else "ddot"
    return rf"\{accent}{{{letter}}}{sign}{below}"


def _symbol(letter: str) -> str:
    return f"\\{letter}" if letter in GREEK else letter


def _subscript(parts: list[str]) -> str:
    if not parts:
        return ""
    if all(len(part) == 1 or part in GREEK or part.isdigit() for part in parts):
        return ",".join(_symbol(part) for part in parts)
    return _words(parts)


def _words(parts: list[str]) -> str:
    return r"\mathrm{" + r"\,".join(parts) + "}"

"""Python with NumPy. Arguments may have leading axes, over which the function is vectorized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, Source, listed, rows

_SAME = listed("sin cos tan sinh cosh tanh exp log sqrt floor ceil log1p expm1 sign hypot fmod copysign fmin fmax")
_OF_TWO = frozenset(listed("hypot fmod copysign fmin fmax"))
_ARC = listed("sin cos tan sinh cosh tanh")

_SEARCH = '''
def search(knots, x):
    """The cell of x: the last knot that is not above it, never the last of all."""
    return np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
'''
_FETCH = """
def fetch(numbers, k):
    return np.take(numbers, np.asarray(k).astype(int), mode="clip")
"""


class Python(Language):
    key, title, suffix = "python", "Python with NumPy", ".py"
    imports = "import numpy as np"
    infinity, not_a_number = "np.inf", "np.nan"
    reserved = """
        False None True and as assert async await break class continue def del elif else except finally for from global if
        import in is lambda nonlocal not or pass raise return try while with yield match case type _ np float int len abs axes
        shape"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{"and": "{0} & {1}", "or": "{0} | {1}", "not": "~{0}"},
        **{name: f"np.{name}({{0}}, {{1}})" if name in _OF_TWO else f"np.{name}({{0}})" for name in _SAME},
        **{f"a{name}": f"np.arc{name}({{0}})" for name in _ARC},
        **{"fabs": "np.abs({0})", "atan2": "np.arctan2({0}, {1})", "pow": "np.float_power({0}, {1})"},
        "select": "np.where({0}, {1}, {2})",
        "as_number": "np.where({0}, 1.0, 0.0)",
        "search": "search({table}, {0})",
        "fetch": "fetch({table}, {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {"search": _SEARCH, "fetch": _FETCH}

    def comment(self, text: str) -> str:
        return f"# {text}".rstrip()

    def header(self, lines: Sequence[str]) -> list[str]:
        text = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"')
        return [f'"""{text}', '"""']

    def place(self, argument: Argument, k: int) -> str:
        if argument.is_number:
            return argument.name
        row, column = argument.row_and_column(k)
        return f"{argument.name}[..., {row}, {column}]" if argument.is_matrix else f"{argument.name}[..., {row}]"

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"{name} = {expression}"

    def store(self, argument: Argument, k: int, expression: str) -> str:
        if argument.is_number:
            return f"{argument.name} = {expression} + np.zeros(axes)"
        return f"{self.place(argument, k)} = {expression}"

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        return [f"{name} = {function}([", *self.indented(rows(operands)), "])"]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        return [f"{name} = np.array([", *self.indented(rows(numbers)), "])"]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        return [f"def {name}({', '.join(arguments)}):", *self.indented([*body.lines, f"return {result}"])]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        returned = ["return [", *self.indented(rows(results)), "]"]
        return [f"def {name}(given):", *self.indented([*body.lines, *returned])]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        body = [
            '"""K z = r with partial pivoting: K and then each r are given by columns, each z comes back."""',
            "numbers = np.stack(np.broadcast_arrays(*given), axis=-1)",
            f"rows = numbers.reshape(*numbers.shape[:-1], {n + sides}, {n})",
            f"z = np.linalg.solve(np.swapaxes(rows[..., :{n}, :], -1, -2), np.swapaxes(rows[..., {n}:, :], -1, -2))",
            f"return [z[..., i, k] for k in range({sides}) for i in range({n})]",
        ]
        return [f"def {name}(given):", *self.indented(body)]

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        setup = [f"{a.name} = np.asarray({a.name}, dtype=float)" for a in inputs]
        leading = [f"{a.name}.shape{'' if a.is_number else f'[:-{1 + a.is_matrix}]'}" for a in inputs]
        setup += [f"axes = np.broadcast_shapes({', '.join(leading)})"]
        setup += [f"{a.name} = np.empty((*axes, {_shape(a)}))" for a in outputs if not a.is_number]
        returned = [f"return {', '.join(a.name for a in outputs) or '()'}"]
        given = ", ".join(a.name for a in inputs)
        quiet = ['with np.errstate(all="ignore"):', *self.indented(body.lines or ["pass"])]
        lines = [f"def {name}({given}):", *self.indented([*setup, "", *quiet, *returned])]
        return ["", *lines, "", "", f"{name}.__doc__ = __doc__"]

    def preamble(self, source: Source) -> list[str]:
        return [self.imports]


def _shape(argument: Argument) -> str:
    rows_, columns = argument.slot.shape
    return f"{rows_}, {columns}" if argument.is_matrix else f"{rows_}"

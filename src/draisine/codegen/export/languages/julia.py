"""Julia: one function that returns its result, or a tuple of results. Works for any real element type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, listed, rows

_ANYWHERE = listed("atan sinh cosh tanh asinh exp floor ceil expm1 sign")
# Julia throws an error where a real function has no value; here, as elsewhere, it is NaN.
_WITHIN = {
    **dict.fromkeys(listed("sin cos tan"), "isfinite({0})"),
    **dict.fromkeys(listed("asin acos atanh"), "abs({0}) <= 1.0"),
    **{"sqrt": "{0} >= 0.0", "log": "{0} >= 0.0", "log1p": "{0} >= -1.0", "acosh": "{0} >= 1.0"},
}

_SEARCH = """
# the cell of x: the last knot that is not above it, never the last of all
search(knots, x) = clamp(searchsortedlast(knots, x), 1, length(knots) - 1) - 1
"""
_FETCH = """
fetch_number(numbers, k) = numbers[(k >= 0 && k < length(numbers)) ? trunc(Int, k) + 1 : 1]
"""
_POWER = """
# as in C: NaN for a negative number to a broken power, and limits where one of them is infinite
function power(x, y)
    (x >= 0.0 || isnan(x) || isinteger(y)) && return x^y
    return (isinf(x) || isinf(y)) ? abs(x)^y : NaN
end
"""


class Julia(Language):
    key, title, suffix = "julia", "Julia", ".jl"
    first_index, has_matrices = 1, True
    infinity, not_a_number = "Inf", "NaN"
    reserved = """
        abstract baremodule begin break catch const continue do else elseif end export false finally for function global if
        import in isa let local macro module mutable new outer primitive public quote return struct true try type using where
        while Inf NaN Float64 Int T pi im e zeros eltype typeof promote_type similar length first last Vector Matrix Array
        Base Core Main nothing missing reshape view"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{name: f"{name}({{0}})" for name in _ANYWHERE},
        **{name: f"{condition} ? {name}({{0}}) : NaN" for name, condition in _WITHIN.items()},
        **{"fabs": "abs({0})", "atan2": "atan({0}, {1})", "hypot": "hypot({0}, {1})", "copysign": "copysign({0}, {1})"},
        "fmod": "isfinite({0}) ? rem({0}, {1}) : NaN",
        "pow": "power({0}, {1})",
        "select": "{0} ? {1} : {2}",
        "as_number": "{0} ? 1.0 : 0.0",
        "search": "search({table}, {0})",
        "fetch": "fetch_number({table}, {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {"search": _SEARCH, "fetch_number": _FETCH, "power": _POWER}

    def comment(self, text: str) -> str:
        return f"# {text}".rstrip()

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"{name} = {expression}"

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{self.place(argument, k)} = {expression}"

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        # entry by entry: most entries of a large matrix are zero, and need not be written
        filled = [f"{name}_given[{k + 1}] = {text}" for k, text in enumerate(operands) if text != self.number(0.0)]
        return [f"{name}_given = zeros(T, {len(operands)})", *filled, f"{name} = {function}({name}_given)"]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        return [f"const {name} = [", *self.indented(rows(numbers)), "]"]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        return [f"function {name}({', '.join(arguments)})", *self.indented([*body.lines, f"return {result}"]), "end"]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        returned = ["return (", *self.indented(rows([*results, ""])), ")"]
        kind = ["T = eltype(given)"] if body.vectors else []
        return [f"function {name}(given)", *self.indented([*kind, *body.lines, *returned]), "end"]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        return [
            self.comment("K z = r with partial pivoting: K and then each r are given by columns, each z comes back"),
            f"function {name}(given)",
            *self.indented([f"a = reshape(given[1:{n * n}], {n}, {n})"]),
            *self.indented([f"return a \\ reshape(given[{n * n + 1}:end], {n}, {sides})"]),
            "end",
        ]

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        kinds = [f"typeof({a.name})" if a.is_number else f"eltype({a.name})" for a in inputs if a.slot.size]
        setup = [f"T = promote_type({', '.join(['Float64', *kinds])})"]
        setup += [f"{a.name} = zeros(T, {_shape(a)})" for a in outputs if not a.is_number]
        returned = [f"return {', '.join(a.name for a in outputs)}" if outputs else "return ()"]
        given = ", ".join(a.name for a in inputs)
        return [f"function {name}({given})", *self.indented([*setup, *body.lines, *returned]), "end"]


def _shape(argument: Argument) -> str:
    rows_, columns = argument.slot.shape
    return f"{rows_}, {columns}" if argument.is_matrix else f"{rows_}"

"""C99: one function on the caller's arrays, no memory of its own, nothing but math.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, Source, listed, rows
from draisine.codegen.export.parts import LONGEST

_LIBRARY = listed(
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sqrt fabs floor ceil erf log1p expm1 "
    "pow atan2 hypot fmod remainder copysign fmin fmax"
)
_OF_TWO = frozenset(listed("pow atan2 hypot fmod remainder copysign fmin fmax"))

_SEARCH = """
/* the cell of x: the last of n knots that is not above it, never the last of all */
static double search(const double *knots, int n, double x) {
    int low = 0, high = n - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (knots[middle] <= x) low = middle; else high = middle;
    }
    return low;
}
"""
_FETCH = """
static double fetch(const double *numbers, int n, double k) {
    return numbers[k >= 0.0 && k < n ? (int)k : 0];
}
"""


# compilers merge functions that are called once, which would undo the division into parts
_APART = """
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#elif defined(_MSC_VER)
#define APART __declspec(noinline)
#else
#define APART
#endif
"""


class C(Language):
    key, title, suffix = "c", "C99", ".c"
    longest_function = LONGEST
    infinity, not_a_number = "INFINITY", "NAN"
    reserved = """
        auto break case char const continue default do double else enum extern float for goto if inline int long register
        restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex
        _Imaginary asm fortran bool true false class new delete this template namespace operator private public protected try
        catch throw using virtual friend explicit mutable typename export main errno signgam y0 y1 yn j0 j1 jn gamma lgamma
        tgamma cbrt exp2 log2 log10 logb ilogb ldexp frexp modf scalbn nan isnan isinf isfinite isnormal signbit fdim fma erfc
        rint lrint round lround trunc nearbyint nextafter float_t double_t linux unix APART"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{name: f"{name}({{0}}, {{1}})" if name in _OF_TWO else f"{name}({{0}})" for name in _LIBRARY},
        "select": "{0} ? {1} : {2}",
        "as_number": "{0} ? 1.0 : 0.0",
        "search": "search({table}, {size}, {0})",
        "fetch": "fetch({table}, {size}, {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {"search": _SEARCH, "fetch": _FETCH}

    def comment(self, text: str) -> str:
        return f"/* {_inside(text)} */" if text else ""

    def header(self, lines: Sequence[str]) -> list[str]:
        return ["/*", *(f" * {_inside(line)}" for line in lines), " */"]

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"const {'int' if truth else 'double'} {name} = {expression};"

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{argument.name}[{k}] = {expression};"

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        given = [f"    {line}" for line in rows(operands)]
        return [
            f"const double {name}_given[{len(operands)}] = {{",
            *given,
            "};",
            f"double {name}[{count}];",
            f"{function}({name}_given, {name});",
        ]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        return [f"static const double {name}[{len(numbers)}] = {{", *self.indented(rows(numbers)), "};"]

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        return [
            f"extern const double {name}[{len(numbers)}];",
            f"const double {name}[{len(numbers)}] = {{",
            *self.indented(rows(numbers)),
            "};",
        ]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        given = ", ".join(f"double {a}" for a in arguments)
        return [f"static double {name}({given}) {{", *self.indented([*body.lines, f"return {result};"]), "}"]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        stores = [f"taken[{k}] = {text};" for k, text in enumerate(results)]
        return [
            f"static void {name}(const double *given, double *taken) {{",
            *self.indented([*body.lines, *stores]),
            "}",
        ]

    def part_function(self, name: str, body: Body, stores: Sequence[tuple[int, str]]) -> list[str]:
        lines = [*body.lines, *(f"work[{k}] = {text};" for k, text in stores)]
        return [f"static APART void {name}(double *work) {{", *self.indented(lines), "}"]

    def calls_of_parts(self, names: Sequence[str], size: int, given: Sequence[tuple[int, str]]) -> list[str]:
        lines = [f"double work[{size}];", *(f"work[{k}] = {text};" for k, text in given)]
        return [*lines, *(f"{name}(work);" for name in names)]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        text = _ELIMINATION.replace("NAME", name).replace("SIZE", str(n)).replace("SIDES", str(sides))
        return text.strip("\n").split("\n")

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        given = [f"double {a.name}" if a.is_number else f"const double *{a.name}" for a in inputs]
        signature = f"void {name}({', '.join([*given, *(f'double *{a.name}' for a in outputs)]) or 'void'})"
        unread = [f"(void){a.name};" for a in inputs if a.name not in body.read]
        unread += [f"(void){a.name};" for a in outputs if a.slot.size == 0]
        return [f"{signature};", "", f"{signature} {{", *self.indented([*unread, *body.lines]), "}"]

    def preamble(self, source: Source) -> list[str]:
        in_parts = any(line.startswith("static APART ") for line in source.functions)
        return ["#include <math.h>", *(_APART.rstrip().split("\n") if in_parts else [])]


def _inside(text: str) -> str:
    """Text that neither ends a comment nor begins one, and has no trigraphs."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


_ELIMINATION = """
/* K z = r by elimination with partial pivoting: K and then each r are given by columns, each z is taken */
static void NAME(const double *given, double *taken) {
    double a[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) a[i] = given[i];
    for (int i = 0; i < SIZE * SIDES; i++) taken[i] = given[SIZE * SIZE + i];
    for (int k = 0; k < SIZE; k++) {
        int pivot = k;
        for (int i = k + 1; i < SIZE; i++)
            if (fabs(a[k * SIZE + i]) > fabs(a[k * SIZE + pivot])) pivot = i;
        if (pivot != k) {
            for (int j = k; j < SIZE; j++) {
                const double kept = a[j * SIZE + k];
                a[j * SIZE + k] = a[j * SIZE + pivot];
                a[j * SIZE + pivot] = kept;
            }
            for (int s = 0; s < SIZE * SIDES; s += SIZE) {
                const double kept = taken[s + k];
                taken[s + k] = taken[s + pivot];
                taken[s + pivot] = kept;
            }
        }
        for (int i = k + 1; i < SIZE; i++) {
            const double factor = a[k * SIZE + i] / a[k * SIZE + k];
            for (int j = k + 1; j < SIZE; j++) a[j * SIZE + i] -= factor * a[j * SIZE + k];
            for (int s = 0; s < SIZE * SIDES; s += SIZE) taken[s + i] -= factor * taken[s + k];
        }
    }
    for (int s = 0; s < SIZE * SIDES; s += SIZE)
        for (int k = SIZE - 1; k >= 0; k--) {
            for (int j = k + 1; j < SIZE; j++) taken[s + k] -= a[j * SIZE + k] * taken[s + j];
            taken[s + k] /= a[k * SIZE + k];
        }
}
"""

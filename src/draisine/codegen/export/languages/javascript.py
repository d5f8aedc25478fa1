"""JavaScript: an ES module. Arguments are arrays or typed arrays; the result is an object with one entry per slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, Source, joined, listed, rows

_OF_MATH = listed("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sqrt floor ceil log1p expm1 sign")

_SEARCH = """
// the cell of x: the last knot that is not above it, never the last of all
function search(knots, x) {
  let low = 0;
  let high = knots.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (knots[middle] <= x) low = middle; else high = middle;
  }
  return low;
}
"""
_FETCH = """
function fetch(numbers, k) {
  return numbers[k >= 0 && k < numbers.length ? Math.trunc(k) : 0];
}
"""


class JavaScript(Language):
    key, title, suffix = "javascript", "an ES module of JavaScript", ".mjs"
    infinity, not_a_number = "Infinity", "NaN"
    indent = "  "
    reserved = """
        arguments await break case catch class const continue debugger default delete do else enum eval export extends false
        finally for function if implements import in instanceof interface let new null package private protected public return
        static super switch this throw true try typeof undefined var void while with yield async of get set Math Number NaN
        Infinity Float64Array Object Array globalThis window"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{"eq": "{0} === {1}", "ne": "{0} !== {1}", "as_truth": "{0} !== 0"},
        **{name: f"Math.{name}({{0}})" for name in _OF_MATH},
        **{"fabs": "Math.abs({0})", "atan2": "Math.atan2({0}, {1})", "hypot": "Math.hypot({0}, {1})", "fmod": "{0} % {1}"},
        # JavaScript says NaN where C says 1
        "pow": "{0} === 1 || ({0} === -1 && Math.abs({1}) === Infinity) ? 1 : Math.pow({0}, {1})",
        "select": "{0} ? {1} : {2}",
        "as_number": "{0} ? 1 : 0",
        "search": "search({table}, {0})",
        "fetch": "fetch({table}, {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {"search": _SEARCH, "fetch": _FETCH}

    def comment(self, text: str) -> str:
        return f"// {text}".rstrip()

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"const {name} = {expression};"

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"const {argument.name} = {expression};" if argument.is_number else super().store(argument, k, expression)

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        return [f"const {name} = {function}([", *self.indented(rows(operands)), "]);"]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        return [f"const {name} = new Float64Array([", *self.indented(rows(numbers)), "]);"]

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        first, *more = self.table(name, numbers)
        return [f"export {first}", *more]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        return [f"function {name}({', '.join(arguments)}) {{", *self.indented([*body.lines, f"return {result};"]), "}"]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        returned = ["return [", *self.indented(rows(results)), "];"]
        return [f"function {name}(given) {{", *self.indented([*body.lines, *returned]), "}"]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        return _ELIMINATION.replace("NAME", name).replace("SIZE", str(n)).strip("\n").split("\n")

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        setup = [f"const {a.name} = new Float64Array({a.slot.size});" for a in outputs if not a.is_number]
        returned = [f"return {{ {', '.join(a.name for a in outputs)} }};"]
        given = ", ".join(a.name for a in inputs)
        return [f"export function {name}({given}) {{", *self.indented([*setup, *body.lines, *returned]), "}"]


class Script(JavaScript):
    """A classic script, which pages opened from the file system may run: browsers refuse them modules.

    The function is registered as `Draisine.programs.<name>`. It writes its results into arrays of its caller, one per result
    after the arguments, so that stepping allocates nothing. With `plain`, the file contains no text of the model, which could end
    a script element; `home` is another object than the global one in which it is registered.
    """

    key, title, suffix = "script", "a classic script of JavaScript", ".js"
    reserved = f"{JavaScript.reserved} Draisine"

    def __init__(self, plain: bool = False, home: str = "") -> None:
        self.plain, self.home = plain, home

    def comment(self, text: str) -> str:
        return "" if self.plain else super().comment(text)

    def header(self, lines: Sequence[str]) -> list[str]:
        return [] if self.plain else super().header(lines)

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{self.entry(argument.name, k)} = {expression};"

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        return self.table(name, numbers)

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        given = ", ".join(a.name for a in (*inputs, *outputs))
        return [f"function {name}({given}) {{", *self.indented(body.lines), "}"]

    def file(self, source: Source) -> str:
        home = f"const home = {self.home or 'globalThis.Draisine = globalThis.Draisine || {}'};"
        shelf = "const programs = home.programs = home.programs || {};"
        registered = [home, shelf, f"programs.{source.name} = {source.name};"]
        registered += [f"{source.name}.{a.name}_default = {source.name}_{a.name}_default;" for a, _ in source.defaults]
        parts = [
            self.default_tables(source),
            source.tables,
            self.needed_helpers(source),
            source.functions,
            source.main,
            registered,
        ]
        inside = joined(parts).rstrip("\n").split("\n")
        return joined([self.header(source.header), ["(function () {", '  "use strict";', *self.indented(inside), "})();"]])


_ELIMINATION = """
// K z = r by elimination with partial pivoting: K and then each r are given by columns, each z comes back. Zeros cost little.
const NAME_matrix = new Float64Array(SIZE * SIZE);
function NAME(given) {
  const n = SIZE;
  const a = NAME_matrix;
  const z = new Float64Array(given.length - n * n);
  for (let k = 0; k < n * n; k++) a[k] = given[k];
  for (let k = 0; k < z.length; k++) z[k] = given[n * n + k];
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[k * n + i]) > Math.abs(a[k * n + pivot])) pivot = i;
    const size = a[k * n + pivot];
    a[k * n + pivot] = a[k * n + k];
    a[k * n + k] = size;
    for (let i = k + 1; i < n; i++) a[k * n + i] /= size;
    for (let j = k + 1; j < n; j++) {
      const share = a[j * n + pivot];
      a[j * n + pivot] = a[j * n + k];
      a[j * n + k] = share;
      if (share !== 0) for (let i = k + 1; i < n; i++) a[j * n + i] -= a[k * n + i] * share;
    }
    for (let s = 0; s < z.length; s += n) {
      const share = z[s + pivot];
      z[s + pivot] = z[s + k];
      z[s + k] = share;
      if (share !== 0) for (let i = k + 1; i < n; i++) z[s + i] -= a[k * n + i] * share;
    }
  }
  for (let s = 0; s < z.length; s += n) {
    for (let k = n - 1; k >= 0; k--) {
      const share = z[s + k] /= a[k * n + k];
      for (let i = 0; i < k; i++) z[s + i] -= a[k * n + i] * share;
    }
  }
  return z;
}
"""

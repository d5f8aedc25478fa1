"""Octave and MATLAB: a function file. The main function comes first, the others after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, Source, joined, listed, rows

_ANYWHERE = listed("sin cos tan atan sinh cosh tanh asinh exp floor ceil expm1 sign erf erfinv")
_REAL_ONLY = listed("asin acos acosh atanh sqrt log log1p")  # give complex numbers elsewhere

_CHOOSE = """
function y = choose(condition, a, b)
  if condition
    y = a;
  else
    y = b;
  end
end
"""
_REAL = """
function y = real_only(z)
  % NaN where a real function has no value
  y = real(z);
  if imag(z) ~= 0
    y = NaN;
  end
end
"""
_POWER = """
function y = real_power(x, a)
  % as in C: NaN for a negative number to a broken power, and no detour through complex numbers
  y = abs(x)^a;
  if isnan(a) && x ~= 1
    y = NaN;
  elseif x < 0 && abs(a) < Inf
    if a ~= fix(a) && x > -Inf
      y = NaN;
    elseif a == fix(a) && rem(a, 2) ~= 0
      y = -y;
    end
  elseif x == 0
    y = x^a;
  end
end
"""
_REST = """
function r = exact_rem(x, y)
  % rem rounds the quotient; this takes away y times powers of two until nothing is left to take
  r = abs(x);
  y = abs(y);
  if ~(r < Inf) || ~(y > 0)
    r = NaN;
    return
  end
  while r >= y
    [~, n] = log2(r);
    [f, ~] = log2(y);
    step = pow2(2 * f, n - 1);
    if step > r
      step = step / 2;
    end
    r = r - step;
  end
  if x < 0
    r = -r;
  end
end
"""
_SEARCH = """
function low = search(knots, x)
  % the cell of x: the last knot that is not above it, never the last of all
  low = 1;
  high = numel(knots);
  while high - low > 1
    middle = floor((low + high) / 2);
    if knots(middle) <= x
      low = middle;
    else
      high = middle;
    end
  end
  low = low - 1;
end
"""
_FETCH = """
function y = fetch(numbers, k)
  if k >= 0 && k < numel(numbers)
    y = numbers(floor(k) + 1);
  else
    y = numbers(1);
  end
end
"""


class Octave(Language):
    key, title, suffix = "octave", "a function of Octave and MATLAB", ".m"
    brackets, first_index, has_matrices = ("(", ")"), 1, True
    infinity, not_a_number = "Inf", "NaN"
    indent = "  "
    reserved = """
        break case catch classdef continue do else elseif end end_try_catch end_unwind_protect endfor endfunction endif
        endparfor endswitch endwhile enumeration events for function global if methods otherwise parfor persistent properties
        return spmd switch try until unwind_protect unwind_protect_cleanup while arguments import Inf NaN NA pi e i j I J eps
        ans zeros numel isempty real imag reshape nargin nargout varargin varargout true false inputname double"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{"ne": "{0} ~= {1}", "not": "~{0}", "as_truth": "{0} ~= 0", "twice": "2 * {0}", "inv": "1 / {0}"},
        **{name: f"{name}({{0}})" for name in _ANYWHERE},
        **{name: f"real_only({name}({{0}}))" for name in _REAL_ONLY},
        **{"fabs": "abs({0})", "atan2": "atan2({0}, {1})", "hypot": "hypot({0}, {1})", "fmod": "exact_rem({0}, {1})"},
        **{"fmin": "min({0}, {1})", "fmax": "max({0}, {1})", "pow": "real_power({0}, {1})"},
        "select": "choose({0}, {1}, {2})",
        "as_number": "double({0})",
        "search": "search({table}(), {0})",
        "fetch": "fetch({table}(), {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {
        **{"choose": _CHOOSE, "real_only": _REAL, "real_power": _POWER, "exact_rem": _REST},
        **{"search": _SEARCH, "fetch": _FETCH},
    }

    def comment(self, text: str) -> str:
        return f"% {text}".rstrip()

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"{name} = {expression};"

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        return [f"{name} = {function}([ ...", *self.indented(f"{line} ..." for line in rows(operands)), "]);"]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        """A function that keeps the numbers: a file has no constants of its own."""
        kept = [
            "persistent kept;",
            "if isempty(kept)",
            "  kept = [ ...",
            *(f"    {line} ..." for line in rows(numbers)),
            "  ];",
            "end",
        ]
        return ["", f"function numbers = {name}()", *self.indented([*kept, "numbers = kept;"]), "end"]

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        """For copying: the file gives away nothing but its function."""
        return [
            "",
            self.comment(f"{name} = ["),
            *(self.comment(f"    {line}") for line in rows(numbers, separator="; ")),
            self.comment("];"),
        ]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        return [f"function found = {name}({', '.join(arguments)})", *self.indented([*body.lines, f"found = {result};"]), "end"]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        stores = ["taken = [ ...", *self.indented(f"{line} ..." for line in rows(results)), "];"]
        return [f"function taken = {name}(given)", *self.indented([*body.lines, *stores]), "end"]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        description = self.comment("K z = r with partial pivoting: K and then each r are given by columns, each z is taken")
        matrix, side = f"reshape(given(1:{n * n}), {n}, {n})", f"reshape(given({n * n + 1}:end), {n}, {sides})"
        body = [description, "given = given(:);", f"taken = {matrix} \\ {side};"]
        return [f"function taken = {name}(given)", *self.indented(body), "end"]

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        setup = [f"{a.name} = zeros({a.slot.shape[0]}, {a.slot.shape[1]});" for a in outputs if not a.is_number]
        taken, given = ", ".join(a.name for a in outputs), ", ".join(a.name for a in inputs)
        return [f"function [{taken}] = {name}({given})", *self.indented([*setup, *body.lines]), "end"]

    def file(self, source: Source) -> str:
        # help shows the comment that follows the line of the function
        first, *rest = source.main
        head = self.indented([*self.header(source.header), *self.default_tables(source)])
        parts = [[first, *head, "", *rest], source.functions, list(source.tables)[1:], self.needed_helpers(source)]
        return joined(parts)

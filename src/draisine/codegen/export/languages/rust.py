"""Rust: a function on the caller's arrays, for use as a module (`mod bicycle_dynamics;`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, listed, rows

_SAME = listed("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp sqrt floor ceil")

_SEARCH = """
/// the cell of x: the last knot that is not above it, never the last of all
fn search(knots: &[f64], x: f64) -> f64 {
    let (mut low, mut high) = (0, knots.len() - 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if knots[middle] <= x {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as f64
}
"""
_FETCH = """
fn fetch(numbers: &[f64], k: f64) -> f64 {
    numbers[if k >= 0.0 && k < numbers.len() as f64 { k as usize } else { 0 }]
}
"""
_LINTS = "#[allow(unused_parens, non_snake_case, non_upper_case_globals, clippy::all)]"


class Rust(Language):
    key, title, suffix = "rust", "Rust", ".rs"
    infinity, not_a_number = "f64::INFINITY", "f64::NAN"
    reserved = """
        as async await break const continue crate dyn else enum extern false fn for gen if impl in let loop match mod move mut
        pub raw ref return safe self Self static struct super trait true try type union unsafe unsized use virtual where while
        yield abstract become box do final macro override priv typeof bool char str i8 i16 i32 i64 i128 isize u8 u16 u32 u64
        u128 usize f32 f64 std core alloc None Some Ok Err Box Vec Option Result String macro_rules"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{name: f"f64::{name}({{0}})" for name in _SAME},
        **{"fabs": "f64::abs({0})", "log": "f64::ln({0})", "log1p": "f64::ln_1p({0})", "expm1": "f64::exp_m1({0})"},
        **{"pow": "f64::powf({0}, {1})", "atan2": "f64::atan2({0}, {1})", "hypot": "f64::hypot({0}, {1})"},
        **{
            "copysign": "f64::copysign({0}, {1})",
            "fmin": "f64::min({0}, {1})",
            "fmax": "f64::max({0}, {1})",
            "fmod": "{0} % {1}",
        },
        "select": "if {0} {{ {1} }} else {{ {2} }}",
        "as_number": "if {0} {{ 1.0 }} else {{ 0.0 }}",
        "search": "search(&{table}, {0})",
        "fetch": "fetch(&{table}, {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {"search": _SEARCH, "fetch": _FETCH}

    def comment(self, text: str) -> str:
        return f"// {text}".rstrip()

    def place(self, argument: Argument, k: int) -> str:
        return argument.name if argument.is_number else f"{argument.name}[{k}]"

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"let {name}: {'bool' if truth else 'f64'} = {expression};"

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{'*' if argument.is_number else ''}{super().store(argument, k, expression)}"

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        return [
            f"let mut {name} = [0.0_f64; {count}];",
            f"{function}(&[",
            *self.indented(rows(operands)),
            f"], &mut {name});",
        ]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        return [
            "#[allow(non_upper_case_globals)]",
            f"static {name}: [f64; {len(numbers)}] = [",
            *self.indented(rows(numbers)),
            "];",
        ]

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        _, first, *more = self.table(name, numbers)
        return ["#[allow(non_upper_case_globals, dead_code)]", f"pub {first}", *more]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        given = ", ".join(f"{a}: f64" for a in arguments)
        return [_LINTS, f"fn {name}({given}) -> f64 {{", *self.indented([*body.lines, result]), "}"]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        stores = [f"taken[{k}] = {text};" for k, text in enumerate(results)]
        signature = f"fn {name}(given: &[f64; {given}], taken: &mut [f64; {len(results)}]) {{"
        return [_LINTS, signature, *self.indented([*body.lines, *stores]), "}"]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        text = _ELIMINATION.replace("NAME", name).replace("SIZE", str(n)).replace("SIDES", str(sides))
        return text.strip("\n").split("\n")

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        given = [f"{a.name}: {'f64' if a.is_number else f'&[f64; {a.slot.size}]'}" for a in inputs]
        taken = [f"{a.name}: &mut {'f64' if a.is_number else f'[f64; {a.slot.size}]'}" for a in outputs]
        unread = [f"let _ = {a.name};" for a in inputs if a.name not in body.read]
        unread += [f"let _ = {a.name};" for a in outputs if a.slot.size == 0]
        return [_LINTS, f"pub fn {name}({', '.join([*given, *taken])}) {{", *self.indented([*unread, *body.lines]), "}"]


_ELIMINATION = """
/// K z = r by elimination with partial pivoting: K and then each r are given by columns, each z is taken
#[allow(clippy::all)]
fn NAME(given: &[f64; SIZE * SIZE + SIZE * SIDES], taken: &mut [f64; SIZE * SIDES]) {
    const N: usize = SIZE;
    let mut a = [0.0_f64; N * N];
    a.copy_from_slice(&given[..N * N]);
    taken.copy_from_slice(&given[N * N..]);
    for k in 0..N {
        let mut pivot = k;
        for i in k + 1..N {
            if a[k * N + i].abs() > a[k * N + pivot].abs() {
                pivot = i;
            }
        }
        if pivot != k {
            for j in k..N {
                a.swap(j * N + k, j * N + pivot);
            }
            for s in (0..N * SIDES).step_by(N) {
                taken.swap(s + k, s + pivot);
            }
        }
        for i in k + 1..N {
            let factor = a[k * N + i] / a[k * N + k];
            for j in k + 1..N {
                a[j * N + i] -= factor * a[j * N + k];
            }
            for s in (0..N * SIDES).step_by(N) {
                taken[s + i] -= factor * taken[s + k];
            }
        }
    }
    for s in (0..N * SIDES).step_by(N) {
        for k in (0..N).rev() {
            for j in k + 1..N {
                taken[s + k] -= a[j * N + k] * taken[s + j];
            }
            taken[s + k] /= a[k * N + k];
        }
    }
}
"""

"""Machine code of a `Solved`: the two straight lines, and between them a dense elimination with partial pivoting.

The elimination is one small function of loops, the same for every size; its text is written with `_Loops` below. Entries of the
pivot row that are zero are skipped, which is most of them in the augmented matrices of mechanisms.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from draisine.kernels.engine import compile_ir
from draisine.kernels.llvm import SYMBOL, entry_points, functions_of
from draisine.program.solved import Solved


def object_code_of_solved(solved: Solved) -> bytes:
    """Object code for this CPU, with the same functions as that of a plain program."""
    # as for a plain program: level 2 takes twice as long and the code runs no faster
    return compile_ir(module_text_of_solved(solved), optimisation=1)


def module_text_of_solved(solved: Solved) -> str:
    declarations, functions = functions_of({"system": solved.system, "after": solved.after})
    return "\n".join([*declarations, *functions, elimination(), _between(solved), *entry_points(solved.inputs, solved.outputs)])


def _between(solved: Solved) -> str:
    """The kernel: call `system`, solve, call `after` with the solution as last argument."""
    n, count = solved.size, len(solved.inputs)
    lines = [
        f"define void @{SYMBOL}(ptr noalias readonly %arg, ptr noalias readonly %res) nounwind {{",
        f"%matrix = alloca [{n * n} x double], align 64",
        f"%z = alloca [{n} x double], align 64",
        "%given = alloca [2 x ptr], align 8",
        "store ptr %matrix, ptr %given, align 8",
        "%second = getelementptr inbounds ptr, ptr %given, i64 1",
        "store ptr %z, ptr %second, align 8",
        "call void @system(ptr %arg, ptr %given)",
        f"call void @eliminate(i64 {n}, ptr %matrix, ptr %z)",
        f"%more = alloca [{count + 1} x ptr], align 8",
    ]
    for k in range(count):
        lines += [
            f"%from_{k} = getelementptr inbounds ptr, ptr %arg, i64 {k}",
            f"%value_{k} = load ptr, ptr %from_{k}, align 8",
            f"%to_{k} = getelementptr inbounds ptr, ptr %more, i64 {k}",
            f"store ptr %value_{k}, ptr %to_{k}, align 8",
        ]
    lines += [
        f"%last = getelementptr inbounds ptr, ptr %more, i64 {count}",
        "store ptr %z, ptr %last, align 8",
        "call void @after(ptr %more, ptr %res)",
        "ret void",
        "}",
    ]
    return "\n".join(lines)


class _Loops:
    """Text of a function of counted loops over 64-bit integers and doubles."""

    def __init__(self, header: str) -> None:
        self.lines = [f"{header} {{", "entry:"]
        self._count = 0
        self._block = "entry"

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def let(self, operation: str) -> str:
        """A new value."""
        name = f"%{self.name()}"
        self.lines.append(f"{name} = {operation}")
        return name

    def do(self, line: str) -> None:
        self.lines.append(line)

    def at(self, array: str, index: str) -> str:
        return self.let(f"getelementptr double, ptr {array}, i64 {index}")

    def load(self, place: str, kind: str = "double") -> str:
        return self.let(f"load {kind}, ptr {place}, align 8")

    def block(self, label: str) -> None:
        self.do(f"br label %{label}")
        self.label(label)

    def label(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._block = label

    @contextmanager
    def loop(self, first: str, last: str, step: int = 1) -> Iterator[str]:
        """Run the body for i from `first` while i < `last` (or, backwards, while i > `last`)."""
        mark = self.name()
        counter = self.let("alloca i64, align 8")
        self.do(f"store i64 {first}, ptr {counter}, align 8")
        self.block(f"{mark}_head")
        i = self.load(counter, "i64")
        more = self.let(f"icmp {'slt' if step > 0 else 'sgt'} i64 {i}, {last}")
        self.do(f"br i1 {more}, label %{mark}_body, label %{mark}_done")
        self.label(f"{mark}_body")
        yield i
        following = self.let(f"add i64 {i}, {step}")
        self.do(f"store i64 {following}, ptr {counter}, align 8")
        self.do(f"br label %{mark}_head")
        self.label(f"{mark}_done")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        mark = self.name()
        self.do(f"br i1 {condition}, label %{mark}_then, label %{mark}_done")
        self.label(f"{mark}_then")
        yield
        self.block(f"{mark}_done")

    def text(self) -> str:
        # alloca belongs to the entry block, or every turn of a loop would take more stack
        own = [line for line in self.lines if " = alloca " in line]
        rest = [line for line in self.lines[2:] if " = alloca " not in line]
        return "\n".join([*self.lines[:2], *own, *rest, "ret void", "}"])


def elimination() -> str:
    """`eliminate(n, a, b)`: solve a z = b in place, a by columns, with partial pivoting."""
    f = _Loops("define internal void @eliminate(i64 %n, ptr noalias %a, ptr noalias %b) nounwind")
    best, row = f.let("alloca double, align 8"), f.let("alloca i64, align 8")
    with f.loop("0", "%n") as k:
        column = f.let(f"mul i64 {k}, %n")
        diagonal = f.at("%a", f.let(f"add i64 {column}, {k}"))
        below = f.let(f"add i64 {k}, 1")
        f.do(f"store double {_absolute(f, f.load(diagonal))}, ptr {best}, align 8")
        f.do(f"store i64 {k}, ptr {row}, align 8")
        with f.loop(below, "%n") as i:
            size = _absolute(f, f.load(f.at("%a", f.let(f"add i64 {column}, {i}"))))
            with f.when(f.let(f"fcmp ogt double {size}, {f.load(best)}")):
                f.do(f"store double {size}, ptr {best}, align 8")
                f.do(f"store i64 {i}, ptr {row}, align 8")
        chosen = f.load(row, "i64")
        with f.when(f.let(f"icmp ne i64 {chosen}, {k}")):
            with f.loop(k, "%n") as j:
                start = f.let(f"mul i64 {j}, %n")
                _swap(f, f.at("%a", f.let(f"add i64 {start}, {k}")), f.at("%a", f.let(f"add i64 {start}, {chosen}")))
            _swap(f, f.at("%b", k), f.at("%b", chosen))
        inverse = f.let(f"fdiv double 1.0, {f.load(diagonal)}")
        side = f.load(f.at("%b", k))
        with f.loop(below, "%n") as i:
            place = f.at("%a", f.let(f"add i64 {column}, {i}"))
            factor = f.let(f"fmul double {f.load(place)}, {inverse}")
            f.do(f"store double {factor}, ptr {place}, align 8")
            _subtract(f, f.at("%b", i), factor, side)
        with f.loop(below, "%n") as j:
            start = f.let(f"mul i64 {j}, %n")
            top = f.load(f.at("%a", f.let(f"add i64 {start}, {k}")))
            with f.when(f.let(f"fcmp une double {top}, 0.0")), f.loop(below, "%n") as i:
                factor = f.load(f.at("%a", f.let(f"add i64 {column}, {i}")))
                _subtract(f, f.at("%a", f.let(f"add i64 {start}, {i}")), factor, top)
    last = f.let("sub i64 %n, 1")
    with f.loop(last, "-1", step=-1) as k:
        column = f.let(f"mul i64 {k}, %n")
        place = f.at("%b", k)
        value = f.let(f"fdiv double {f.load(place)}, {f.load(f.at('%a', f.let(f'add i64 {column}, {k}')))}")
        f.do(f"store double {value}, ptr {place}, align 8")
        with f.loop("0", k) as i:
            _subtract(f, f.at("%b", i), f.load(f.at("%a", f.let(f"add i64 {column}, {i}"))), value)
    return f.text()


def _absolute(f: _Loops, value: str) -> str:
    negative = f.let(f"fcmp olt double {value}, 0.0")
    return f.let(f"select i1 {negative}, double {f.let(f'fneg double {value}')}, double {value}")


def _swap(f: _Loops, one: str, other: str) -> None:
    first, second = f.load(one), f.load(other)
    f.do(f"store double {second}, ptr {one}, align 8")
    f.do(f"store double {first}, ptr {other}, align 8")


def _subtract(f: _Loops, place: str, a: str, b: str) -> None:
    """place −= a·b."""
    product = f.let(f"fmul contract double {a}, {b}")
    f.do(f"store double {f.let(f'fsub contract double {f.load(place)}, {product}')}, ptr {place}, align 8")

"""Source files: a program as the text of a file in some language, with a head that documents every argument and result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from draisine.codegen.export.fallbacks import fallback
from draisine.codegen.export.function_body import Text, Writer
from draisine.codegen.export.language import Argument, Body, Language, Source
from draisine.codegen.export.names import Names, letters, plain, short, wrapped
from draisine.codegen.export.parts import in_parts
from draisine.program.casadi_functions import callee_of
from draisine.program.equations import Quantity
from draisine.program.linear_solve import UNROLLED_ITERATIONS, LinearSolveProgram
from draisine.program.program import Program, Slot
from draisine.program.ssa import CALL, INPUT, RESULT, SSA, callee_to_ssa, live_values, to_ssa

WIDTH = 108  # characters of a line in the head of a file
SOLVE = "solve"  # a call of (SOLVE, n, k) is the solution of n linear equations for k right-hand sides


@dataclass(frozen=True)
class Guide:
    """Documentation of a program in addition to its slots. Quantities are found by (slot, label)."""

    title: str = ""
    notes: tuple[str, ...] = ()
    quantities: Mapping[tuple[str, str], Quantity] = field(default_factory=dict)
    with_defaults: tuple[str, ...] = ()  # slots whose default values are written to the file


def function_name(program: Program | LinearSolveProgram, language: Language) -> str:
    """The name of the function in the language, and the stem of its file's name."""
    stem = letters(program.name)
    names = Names(language.taken_words(), language.case_matters, language.longest_name)
    return names.give(stem, f"{stem}_program")


def file_name(program: Program | LinearSolveProgram, language: Language) -> str:
    return f"{function_name(program, language)}{language.suffix}"


def source_text(program: Program | LinearSolveProgram, language: Language, guide: Guide | None = None) -> str:
    """The whole file of a program: one public function that needs only the language's standard library.

    >>> from draisine.codegen.export.languages import language
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> norm2 = Program.build("norm2", {"x": (x, ("a", "b"))}, {"y": ca.sumsqr(x)})
    >>> print(source_text(norm2, language("python")).split("def ")[1])
    norm2(x):
        x = np.asarray(x, dtype=float)
        ...
    """
    return _File(program, language, guide or Guide()).text()


def program_to_ssa(program: Program | LinearSolveProgram) -> SSA:
    """A program as one list of values. The solution of linear equations is a call of (SOLVE, n, k)."""
    if isinstance(program, Program):
        return to_ssa(program.tape)
    ssa = to_ssa((program.start or program.system).tape)
    n, last = program.size, len(program.inputs)
    matrix = [ssa.constant(0.0)] * (n * n)

    def solution(sides: Sequence[int]) -> list[int]:
        call = ssa.add(CALL, (*matrix, *sides), (SOLVE, n, len(sides) // n))
        return [ssa.add(RESULT, (call,), k) for k in range(len(sides))]

    def read(slot: int, entry: int) -> int:
        return z[entry] if slot == last else ssa.add(INPUT, (), (slot, entry))

    def solved(results: Sequence[tuple[int, int, int]]) -> list[int]:
        found = {(slot, entry): value for slot, entry, value in results}
        for k, (i, j) in enumerate(zip(program.entry_pattern.rows, program.entry_pattern.columns, strict=True)):
            matrix[j * n + i] = found[0, k]
        return solution([found[1, k] for k in range(n)])

    if program.start is None:
        z = solved(ssa.results)
    else:
        z = [value for _, _, value in sorted(ssa.results)]
        for _ in range(UNROLLED_ITERATIONS):
            z = solved(ssa.run(program.system.tape, read))
    if program.further is not None:
        sides = {entry: value for _, entry, value in ssa.run(program.further.tape, read)}
        z += solution([sides[k] for k in range(n * (program.sides - 1))])
    ssa.results = ssa.run(program.after.tape, read)
    return ssa


@dataclass
class _File:
    """One file: the names used and the functions written so far."""

    program: Program | LinearSolveProgram
    language: Language
    guide: Guide
    tables: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        language = self.language
        self.names = Names(language.taken_words(), language.case_matters, language.longest_name)
        self.name = self.names.give(function_name(self.program, language))
        self._callees: dict[object, str] = {}
        self._missing: dict[str, str] = {}
        outputs = [self._argument(slot, "result") for slot in self.program.outputs]
        inputs = [self._argument(slot, "argument") for slot in self.program.inputs]
        self.inputs = [Argument(a.name, a.slot, self._entries(a)) for a in inputs]
        self.outputs = outputs

    def text(self) -> str:
        main = self._main()
        header = head(
            self.name, self.program.operations, self.language.title, self.inputs, self.outputs, self.guide, self.language.place
        )
        defaults = tuple(
            (argument, self._defaults(argument.slot))
            for argument in self.inputs
            if argument.slot.name in self.guide.with_defaults
        )
        source = Source(self.name, tuple(header), tuple(self.tables), tuple(self.functions), tuple(main), defaults)
        return self.language.file(source)

    def _argument(self, slot: Slot, kind: str) -> Argument:
        stem = letters(slot.name)
        return Argument(self.names.give(stem, f"{stem}_{kind}"), slot)

    def _entries(self, argument: Argument) -> tuple[str, ...]:
        return (argument.name,) if argument.is_number else self.names.entries(argument.name, argument.slot)

    def _defaults(self, slot: Slot) -> np.ndarray:
        return np.array([self.guide.quantities[slot.name, label].default for label in slot.labels], dtype=float)

    # ---------------------------------------------------------------- functions

    def _main(self) -> list[str]:
        ssa = program_to_ssa(self.program)
        read = {o for v in live_values(ssa) for o in ssa.values[v].operands} | {v for _, _, v in ssa.results}
        used = sorted({ssa.values[v].detail for v in read if ssa.values[v].kind == INPUT})
        body = Body()
        for slot, entry in used:
            argument = self.inputs[slot]
            body.read.add(argument.name)
            if not argument.is_number:
                name = argument.entries[entry]
                body.numbers.append(name)
                body.lines.append(self._beside(self.language.assign(name, self.language.place(argument, entry)), argument, entry))
        longest, named = self.language.longest_function, len(body.numbers)
        write = self._in_parts if longest is not None and len(live_values(ssa)) > longest else self._at_once
        inner, texts = write(ssa)
        body.lines += [*([""] if named and inner.lines else []), *inner.lines]
        body.numbers += inner.numbers
        body.truths, body.vectors = inner.truths, inner.vectors
        body.lines += [""] if body.lines else []
        for (slot, entry, _), text in zip(ssa.results, texts, strict=True):
            argument = self.outputs[slot]
            body.lines.append(self._beside(self.language.store(argument, entry, text), argument, entry))
        return self.language.main_function(self.name, self.inputs, self.outputs, body)

    def _read(self, slot: int, entry: int) -> str:
        return self.inputs[slot].entries[entry]

    def _at_once(self, ssa: SSA) -> tuple[Body, list[str]]:
        """The lines that compute all values, and the texts of the results."""
        writer = self._writer(ssa, self.name, self._read)
        texts = [text.text for text in writer.write()]
        return writer.body, texts

    def _in_parts(self, ssa: SSA) -> tuple[Body, list[str]]:
        """The same by functions of a part of the values each."""
        whole, divided = self._writer(ssa, self.name, self._read), in_parts(ssa)
        names: list[str] = []
        for part in divided.parts:
            names.append(self.names.give(f"{self.name}_part_{len(names) + 1}", f"{self.name}_part"))
            work = lambda slot, entry: self.language.entry("work", entry)  # noqa: E731
            writer = Writer(part, self.language, work, whole.tables, self._callees, self._fallback)
            texts = [text.text for text in writer.write()]
            stores = [(entry, text) for (_, entry, _), text in zip(part.results, texts, strict=True)]
            self._add(self.language.part_function(names[-1], writer.body, stores))
        given = [(k, self._read(*which)) for which, k in divided.inputs.items()]
        body = Body(self.language.calls_of_parts(names, divided.size, given))
        results = [
            self.language.entry("work", divided.results[v]) if v in divided.results else whole.leaf(v) for _, _, v in ssa.results
        ]
        return body, results

    def _beside(self, line: str, argument: Argument, entry: int) -> str:
        """A line of code with the label and unit of what it reads or stores."""
        labels, units = argument.slot.labels, argument.slot.units
        if not labels or argument.is_number:
            return line
        label = labels[entry]
        own_name = argument.entries and argument.entries[entry] == label
        known = self.guide.quantities.get((argument.slot.name, label))
        unit = (units[entry] if units else "") or (known.unit if known else "")
        text = short(unit if own_name else f"{label} [{unit}]" if unit else label)
        return f"{line}  {self.language.comment(text)}" if text else line

    def _writer(self, ssa: SSA, owner: str, read: Callable[[int, int], str]) -> Writer:
        tables: list[str] = []
        for numbers in ssa.numbers:
            tables.append(self.names.give(f"{owner}_numbers_{len(tables) + 1}", f"{owner}_numbers"))
            self.tables += self.language.table(tables[-1], [self.language.number(v) for v in numbers.tolist()])
        for value in (ssa.values[v] for v in live_values(ssa)):
            if value.kind == CALL and value.detail not in self._callees:
                self._callees[value.detail] = self._callee(value.detail, ssa)
        return Writer(ssa, self.language, read, tables, self._callees, self._fallback)

    def _callee(self, key: object, ssa: SSA) -> str:
        """Write the function that a call node calls; returns its name."""
        if isinstance(key, tuple):
            name = self.names.give(f"{self.name}_solve", f"{self.name}_solve")
            self._add(self.language.elimination(name, *key[1:]))
            return name
        callee = ssa.callees[key]
        name = self.names.give(f"{self.name}_{letters(callee.name)}", f"{self.name}_callee")
        inner = callee_to_ssa(callee)
        writer = self._writer(inner, name, lambda slot, entry: self.language.entry("given", entry))
        results = _in_order(inner, writer.write())
        self._add(self.language.inner_function(name, callee.input_offsets[-1], writer.body, results))
        return name

    def _fallback(self, operation: str) -> str:
        """Write the function of an operation that the language lacks; returns its name."""
        if operation not in self._missing:
            function = callee_of(fallback(operation))
            name = self._missing[operation] = self.names.give(f"{self.name}_{operation}", f"{self.name}_{operation}")
            inner = callee_to_ssa(function)
            arguments = ["x", "y"][: len(function.input_sizes)]
            writer = self._writer(inner, name, lambda slot, entry: arguments[entry])
            (result,) = writer.write()
            self._add(self.language.small_function(name, arguments, writer.body, result.text))
        return self._missing[operation]

    def _add(self, lines: Sequence[str]) -> None:
        self.functions += [*([""] if self.functions else []), *lines]


def _in_order(ssa: SSA, texts: Sequence[Text]) -> list[str]:
    """The texts of results in order."""
    placed = {entry: text.text for (_, entry, _), text in zip(ssa.results, texts, strict=True)}
    return [placed[k] for k in range(len(placed))]


# ------------------------------------------------------------------------------------------- the head of a file


def head(
    name: str,
    operations: int,
    language: str,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    guide: Guide,
    place: Callable[[Argument, int], str],
) -> list[str]:
    """Lines of plain text; `place` writes the access to an entry in the language."""
    lines = wrapped(f"{name}: {guide.title}" if guide.title else name, WIDTH)
    given, taken = ", ".join(a.name for a in inputs), ", ".join(a.name for a in outputs)
    lines += wrapped(f"{name}({given}) gives {taken}. Generated by draisine as {language}; {operations} operations.", WIDTH)
    lines += wrapped("SI units, angles in radians. Columns of a matrix lie one after the other where it is stored flat.", WIDTH)
    for note in guide.notes:
        lines += wrapped(note, WIDTH)
    for title, arguments in (("Arguments", inputs), ("Results", outputs)):
        lines += ["", title]
        for argument in arguments:
            lines += _argument(argument, guide, place)
    return lines


def _argument(argument: Argument, guide: Guide, place: Callable[[Argument, int], str]) -> list[str]:
    slot = argument.slot
    rows, columns = slot.shape
    known = guide.quantities.get((slot.name, ""))
    description = f": {known.description}" if known and known.description else ""
    texts = [
        entry_text(slot.name, label, unit, guide)
        for label, unit in zip(slot.labels, slot.units or ("",) * len(slot.labels), strict=True)
    ]
    if argument.is_number:
        text = (texts or [f"{slot.name}{description}"])[0].removeprefix(slot.name)
        return _indented(f"{argument.name}{text}", 2)
    lines = _indented(f"{argument.name} ({f'{rows} × {columns}' if argument.is_matrix else rows}){description}", 2)
    places = [place(argument, k) for k in range(len(texts))]
    width = max(map(len, places), default=0)
    for where, text in zip(places, texts, strict=True):
        first, *more = wrapped(text, WIDTH - width - 6)
        lines += [f"    {where:<{width}}  {first}", *(" " * (width + 8) + line for line in more)]
    return lines


def _indented(text: str, indent: int) -> list[str]:
    return [" " * indent + line for line in wrapped(text, WIDTH - indent, "    ")]


def entry_text(slot: str, label: str, unit: str, guide: Guide) -> str:
    """`trail [m] = 0.08: front contact behind the steer axis's trace`."""
    known = guide.quantities.get((slot, label), Quantity(label))
    text = label
    if unit or known.unit:
        text += f" [{unit or known.unit}]"
    if slot in guide.with_defaults:
        text += f" = {known.default!r}"
    return plain(f"{text}: {known.description}" if known.description else text)

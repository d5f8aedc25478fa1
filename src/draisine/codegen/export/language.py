"""Interface of a language for export.

`Language` has what most languages share; one file in `languages/` defines the rest. Templates of operations use `{0}`, `{1}`,
`{2}` for operands, `{table}` and `{size}` for the numbers of a table. An operation without a template is written as a function
from `fallbacks`, if it is there. Every language must define `ARITHMETIC`, `as_number`, `select`, `search`, `fetch`, and the
functions in `REQUIRED`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.export.names import words
from draisine.program.program import Slot

# Arithmetic and comparisons are the same in nearly all languages.
ARITHMETIC: Mapping[str, str] = {
    **{"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}"},
    **{"sq": "{0} * {0}", "twice": "2.0 * {0}", "inv": "1.0 / {0}"},
    **{"lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}"},
    **{"and": "{0} && {1}", "or": "{0} || {1}", "not": "!{0}", "as_truth": "{0} != 0.0"},
}

REQUIRED = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "log", "sqrt", "pow", "hypot", "fabs", "floor", "ceil", "fmod"),
)


@dataclass(frozen=True)
class Argument:
    """A slot of the program as an argument or result of the function: its name, and those of its entries that are read."""

    name: str
    slot: Slot
    entries: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """A single number that is not a column of one: labels name the entries of columns, and of numbers only time has one.

        Names of variables do not matter: a single input is a column of one entry, even if it has the name of its slot, `u`.
        """
        return self.slot.size == 1 and (not self.slot.labels or self.slot.name == "t")

    @property
    def is_matrix(self) -> bool:
        return self.slot.shape[1] != 1

    def row_and_column(self, k: int) -> tuple[int, int]:
        column, row = divmod(k, self.slot.shape[0])
        return row, column


@dataclass
class Body:
    """The lines of a function, and the names that they assign."""

    lines: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    truths: list[str] = field(default_factory=list)
    vectors: list[tuple[str, int, int]] = field(default_factory=list)  # results of calls: name, numbers given, numbers taken
    read: set[str] = field(default_factory=set)  # arguments of which something is read


@dataclass(frozen=True)
class Source:
    """The parts of a file, in an order in which each may refer to earlier ones."""

    name: str
    header: tuple[str, ...]  # lines of plain text
    tables: tuple[str, ...]
    functions: tuple[str, ...]
    main: tuple[str, ...]
    defaults: tuple[tuple[Argument, NDArray[np.float64]], ...] = ()


class Language(ABC):
    """The name, reserved words and syntax of a language."""

    key: ClassVar[str]
    title: ClassVar[str]
    suffix: ClassVar[str]
    operations: ClassVar[Mapping[str, str]]
    reserved: ClassVar[str]  # words, with spaces between
    helpers: ClassVar[Mapping[str, str]] = {}  # functions that templates call: name → text
    infinity: ClassVar[str]
    not_a_number: ClassVar[str]
    case_matters: ClassVar[bool] = True
    longest_name: ClassVar[int] = 60
    longest_function: ClassVar[int | None] = None  # number of values beyond which a function is written in parts
    indent: ClassVar[str] = "    "
    brackets: ClassVar[tuple[str, str]] = ("[", "]")  # around an index
    first_index: ClassVar[int] = 0
    has_matrices: ClassVar[bool] = False  # indexed by row and column; else stored column by column

    # ---------------------------------------------------------------- words and numbers

    def taken_words(self) -> set[str]:
        """Names that the program must not use."""
        return {*self.reserved.split(), *words(self.operations.values()), *self.helpers, "given", "taken", "work"}

    def number(self, value: float) -> str:
        """The shortest text that reads back as the same double."""
        if math.isnan(value):
            return self.not_a_number
        text = self.infinity if math.isinf(value) else self.finite(abs(value))
        return text if math.copysign(1.0, value) > 0 else f"(-{text})"

    def finite(self, value: float) -> str:
        return repr(value)

    @abstractmethod
    def comment(self, text: str) -> str:
        """A comment of one line. The text is one line of printable characters; it may try to end the comment."""

    def header(self, lines: Sequence[str]) -> list[str]:
        """The text at the head of the file."""
        return [self.comment(line) for line in lines]

    # ---------------------------------------------------------------- lines of a function

    def entry(self, vector: str, k: int) -> str:
        """The entry of a vector, counted from 0 here."""
        left, right = self.brackets
        return f"{vector}{left}{k + self.first_index}{right}"

    def place(self, argument: Argument, k: int) -> str:
        """The entry of an argument or result, in column-major order."""
        if argument.is_number:
            return argument.name
        if not (argument.is_matrix and self.has_matrices):
            return self.entry(argument.name, k)
        left, right = self.brackets
        row, column = (index + self.first_index for index in argument.row_and_column(k))
        return f"{argument.name}{left}{row}, {column}{right}"

    @abstractmethod
    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        """Assign a number or a Boolean value to a name."""

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{self.place(argument, k)} = {expression};"

    @abstractmethod
    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        """Call a function of many numbers; its `count` results are assigned to the name and read by `entry`."""

    # ---------------------------------------------------------------- functions and tables

    @abstractmethod
    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        """A constant vector for the whole file."""

    @abstractmethod
    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        """A function of one or two numbers that returns a number."""

    @abstractmethod
    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        """A function of the vector `given`; its results fill the vector `taken`, or are returned."""

    def part_function(self, name: str, body: Body, stores: Sequence[tuple[int, str]]) -> list[str]:
        """A function of the array `work` that stores texts in entries of it; for languages with a `longest_function`."""
        raise NotImplementedError

    def calls_of_parts(self, names: Sequence[str], size: int, given: Sequence[tuple[int, str]]) -> list[str]:
        """The array `work`, texts stored in entries of it, and the calls of all parts in order."""
        raise NotImplementedError

    @abstractmethod
    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        """A function for `call` that solves K z = r with pivoting for one or more right-hand sides r: K and then the sides, in
        column-major order, n² + n · sides numbers, give the solutions in column-major order."""

    @abstractmethod
    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        """The function itself."""

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        """Default values of an argument."""
        return self.table(name, numbers)

    # ---------------------------------------------------------------- the file

    def preamble(self, source: Source) -> list[str]:
        return []

    def file(self, source: Source) -> str:
        """The whole file."""
        parts = [self.header(source.header), self.preamble(source), self.default_tables(source), source.tables]
        parts += [self.needed_helpers(source), source.functions, source.main]
        return joined(parts)

    def default_tables(self, source: Source) -> list[str]:
        lines = []
        for argument, values in source.defaults:
            lines += self.defaults(f"{source.name}_{argument.name}_default", [self.number(v) for v in values.tolist()])
        return lines

    def needed_helpers(self, source: Source) -> list[str]:
        """The helpers that the functions mention, and those that these mention."""
        text = "\n".join([*source.functions, *source.main])
        needed: list[str] = []
        for name in reversed(list(self.helpers)):  # a helper may use those before it
            if re.search(rf"\b{name}\(", text):
                needed.insert(0, self.helpers[name].strip("\n"))
                text += self.helpers[name]
        return "\n\n".join(needed).split("\n") if needed else []

    def indented(self, lines: Iterable[str]) -> list[str]:
        return [f"{self.indent}{line}" if line else line for line in lines]


def listed(words: str) -> tuple[str, ...]:
    """Words with spaces between."""
    return tuple(words.split())


def joined(parts: Iterable[Sequence[str]]) -> str:
    """Parts with an empty line between, each line without blanks at its end."""
    texts = ["\n".join(line.rstrip() for line in part) for part in parts if part]
    return "\n\n".join(texts) + "\n"


def rows(numbers: Sequence[str], width: int = 110, separator: str = ", ") -> list[str]:
    """Numbers in lines of some width; every line but the last ends with the separator."""
    lines: list[str] = []
    line = ""
    for text in numbers:
        if line and len(line) + len(separator) + len(text) > width:
            lines.append(line + separator.rstrip())
            line = text
        else:
            line = f"{line}{separator}{text}" if line else text
    return [*lines, line]

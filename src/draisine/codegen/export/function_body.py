"""The body of one function: a list of values as assignments in some language.

A short value that is read once is written inline; the others get names. Boolean values are converted when a number is needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from draisine.codegen.export.fallbacks import fallback
from draisine.codegen.export.language import Body, Language
from draisine.program import opcodes as op
from draisine.program.ssa import CALL, CONSTANT, FETCH, INPUT, RESULT, SEARCH, SELECT, SSA, live_values

LOOSE, PRODUCT, TIGHT = range(3)  # precedence of an expression
_LONGEST = 64  # characters of an expression that is written inside another
_OPERAND = re.compile(r"\{\d\}")
_TRUTHS = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})
_OF_TRUTHS = {"and": (0, 1), "or": (0, 1), "not": (0,), "select": (0,), "if_else_zero": (0,)}  # operands that are conditions


class Text(NamedTuple):
    text: str
    level: int = TIGHT
    truth: bool = False


@cache
def operation_names() -> Mapping[int, str]:
    """Kinds of values by name: operations, in small letters, and what a straight list has beyond them."""
    names = {number: name.lower() for number, name in op.NAMES.items()}
    return {**names, op.CONSTPOW: "pow", SELECT: "select", SEARCH: "search", FETCH: "fetch"}


@dataclass
class Writer:
    """Writes the values of a ssa. `read` names an entry of the inputs; tables, callees and missing operations are named too."""

    ssa: SSA
    language: Language
    read: Callable[[int, int], str]
    tables: Sequence[str] = ()
    callees: Mapping[object, str] = field(default_factory=dict)
    missing: Callable[[str], str] = lambda operation: operation  # names the function of an operation that the language lacks
    body: Body = field(default_factory=Body)

    def __post_init__(self) -> None:
        self._texts: dict[int, Text] = {}
        values = live_values(self.ssa)
        self._readers = Counter(o for v in values for o in self.ssa.values[v].operands)
        self._readers.update(v for _, _, v in self.ssa.results)
        self._inside = {v for v in values if self._readers[v] == 1 and self.ssa.values[v].kind not in (CALL, RESULT)}
        for v in values:
            self._inside -= self._read_twice(v)

    def write(self) -> list[Text]:
        """Append all lines; the texts of the results, in their order."""
        for v in live_values(self.ssa):
            if self.ssa.values[v].kind == CALL:
                self._call(v)
            elif self.ssa.values[v].kind != RESULT:
                self._assign_or_inline(v, self._expression(v))
        return [self._number(v) for _, _, v in self.ssa.results]

    def leaf(self, v: int) -> str:
        """The text of an input or a constant."""
        return self._any(v).text

    # ---------------------------------------------------------------- values

    def _template(self, operation: str) -> str:
        known = self.language.operations.get(operation)
        if known is not None:
            return known
        operands = ", ".join(f"{{{k}}}" for k in range(fallback(operation).n_in()))
        return f"{self.missing(operation)}({operands})"

    def _read_twice(self, v: int) -> set[int]:
        """Operands that the text of a value repeats; they need a name."""
        kind, operands, _ = self.ssa.values[v]
        if kind in (CALL, RESULT):
            return set()
        template = self.language.operations.get(operation_names()[kind], "")
        return {o for k, o in enumerate(operands) if template.count(f"{{{k}}}") > 1}

    def _expression(self, v: int) -> Text:
        kind, operands, detail = self.ssa.values[v]
        operation = operation_names()[kind]
        conditions = _OF_TRUTHS.get(operation, ())
        texts = [self._truth(o) if k in conditions else self._number(o) for k, o in enumerate(operands)]
        if operation == "if_else_zero":
            operation, texts = "select", [*texts, Text(self.language.number(0.0))]
        template = self._template(operation)
        if kind in (SEARCH, FETCH):
            size = self.ssa.numbers[detail].size
            return _filled(template, texts, operation, table=self.tables[detail], size=str(size))
        return _filled(template, texts, operation)

    def _assign_or_inline(self, v: int, text: Text) -> None:
        """Keep a text to be written inline, or assign it to a name now."""
        if v not in self._inside or len(text.text) > _LONGEST:
            name = self._new_name()
            (self.body.truths if text.truth else self.body.numbers).append(name)
            self.body.lines.append(self.language.assign(name, text.text, text.truth))
            text = Text(name, TIGHT, text.truth)
        self._texts[v] = text

    def _new_name(self) -> str:
        return f"w{len(self.body.numbers) + len(self.body.truths) + len(self.body.vectors) + 1}"

    def _any(self, v: int) -> Text:
        kind, _, detail = self.ssa.values[v]
        if kind == CONSTANT:
            return Text(self.language.number(float.fromhex(detail)))
        if kind == INPUT:
            return Text(self.read(*detail))
        return self._texts[v]

    def _number(self, v: int) -> Text:
        text = self._any(v)
        return _filled(self.language.operations["as_number"], [text], "as_number") if text.truth else text

    def _truth(self, v: int) -> Text:
        text = self._any(v)
        return text if text.truth else _filled(self.language.operations["as_truth"], [text], "ne")

    # ---------------------------------------------------------------- calls

    def _call(self, v: int) -> None:
        _, operands, callee = self.ssa.values[v]
        results, following = [], v + 1  # the results of a call follow it
        while following < len(self.ssa.values) and self.ssa.values[following][:2] == (RESULT, (v,)):
            results.append(following)
            following += 1
        name = self._new_name()
        self.body.vectors.append((name, len(operands), len(results)))
        self.body.lines += self.language.call(name, self.callees[callee], [self._number(o).text for o in operands], len(results))
        for k in results:
            self._texts[k] = Text(self.language.entry(name, self.ssa.values[k].detail))


def _filled(template: str, operands: Sequence[Text], operation: str, **named: str) -> Text:
    """The text of an operation; operands of lower precedence get parentheses."""
    is_call = _is_call(template)
    needed = LOOSE if is_call else PRODUCT if operation in ("add", "sub") else TIGHT
    texts = [o.text if o.level >= needed else f"({o.text})" for o in operands]
    level = TIGHT if is_call else PRODUCT if operation in ("mul", "div", "sq", "twice", "inv") else LOOSE
    return Text(template.format(*texts, **named), level, operation in _TRUTHS)


@cache
def _is_call(template: str) -> bool:
    """Whether the template is a call, and its operands stand alone as arguments."""
    if not re.match(r"[\w.:]+\(", template):
        return False
    depth, ends = 0, []
    for k, sign in enumerate(template):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and depth == 0:
            ends.append(k)
    alone = all(
        re.match(r"[,)]", template[m.end() :]) and re.search(r"(\(|, )$", template[: m.start()])
        for m in _OPERAND.finditer(template)
    )
    return ends == [len(template) - 1] and alone

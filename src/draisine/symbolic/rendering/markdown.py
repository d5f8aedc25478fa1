"""A document in Markdown.

The listing stands in the language of expressions between fences marked `equations`, linear equations that are solved on the way
between fences marked `balances`; `read_markdown` reads them back.
"""

from __future__ import annotations

from collections.abc import Sequence

from draisine.errors import DataError
from draisine.expr.expression import parse
from draisine.symbolic.rendering.document import Document
from draisine.symbolic.rendering.named_formulas import Assignment, Balance, Section, unknowns_of

FENCE, SOLVED = "```equations", "```balances"


def markdown(doc: Document) -> str:
    lines = [f"# Equations of {doc.name}", "", *([doc.description, ""] if doc.description else []), f"{doc.brief}."]
    lines += ["", f"![{doc.name}]({doc.picture.file}.svg)"] if doc.picture is not None else []
    lines += ["", f"({doc.remark})"] if doc.remark else []
    if doc.tree:
        lines += ["", "## Tree", "", *(f"{'  ' * depth}- {words}" for depth, words in doc.tree)]
    for table in doc.tables:
        lines += ["", f"## {table.title}", "", _bar(table.head), _bar(["---"] * len(table.head))]
        lines += [_bar([f"`{row[0]}`", *row[1:]]) for row in table.rows]
    lines += ["", "## Listing", "", "Formulas in order; a name is defined before it is used."]
    for section in doc.listing.sections:
        lines += ["", f"### {section.title}", ""]
        if section.assignments:
            lines += [FENCE, *(_noted(f"{a.name} = {a.expression}", a.meaning) for a in section.assignments), "```"]
        if section.balances:
            lines += ["", f"Solved together for {', '.join(section.unknowns)}:", ""] if section.assignments else []
            lines += [SOLVED, *(_noted(f"{b.left} = {b.right}", b.meaning) for b in section.balances), "```"]
    lines += ["", f"Results: {', '.join(doc.listing.results)} ({doc.listing.reported})."]
    return "\n".join(lines) + "\n"


def _noted(line: str, meaning: str) -> str:
    return f"{line}  # {meaning}" if meaning else line


def _bar(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def read_markdown(text: str, arguments: Sequence[str] = ()) -> list[Section]:
    """The listing of a Markdown document, read by the parser of expressions.

    `arguments` are the names that need no definition; in linear equations, what stands on the left and is not defined is unknown.
    """
    found: list[Section] = []
    known = set(arguments)
    title, inside, lines = "", "", list[tuple[str, str, str]]()
    for line in text.splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ")
        elif line.startswith("```"):
            if inside in (FENCE, SOLVED):
                found.append(_section(title, inside, lines, known))
                known |= {a.name for a in found[-1].assignments} | set(found[-1].unknowns)
            inside, lines = (line if not inside else ""), []
        elif inside in (FENCE, SOLVED):
            left, sign, rest = line.partition(" = ")
            if not sign:
                raise DataError(f"a line of the listing reads 'name = formula', got {line!r}")
            right, _, meaning = rest.partition("  # ")
            lines.append((left.strip(), right, meaning.strip()))
    return found


def _section(title: str, fence: str, lines: Sequence[tuple[str, str, str]], known: set[str]) -> Section:
    if fence == FENCE:
        return Section(title, tuple(Assignment(left, meaning, parse(right)) for left, right, meaning in lines))
    balances = tuple(Balance(meaning, parse(left), parse(right)) for left, right, meaning in lines)
    return Section(title, (), balances, unknowns_of(balances, known))

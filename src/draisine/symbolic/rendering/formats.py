"""Formats of a document by name; Markdown, and a Python module for SymPy.

In Markdown the listing is written in the language of expressions between fences marked `equations`, linear equations that are
solved on the way between fences marked `balances`; `read_markdown` reads them back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from draisine.errors import DataError
from draisine.expr.expression import Expr, names, parse
from draisine.symbolic.rendering.document import Document
from draisine.symbolic.rendering.formulas import SYMPY_NAMES, SymPy, formula, python_name
from draisine.symbolic.rendering.html import webpage
from draisine.symbolic.rendering.latex import latex
from draisine.symbolic.rendering.named_formulas import Assignment, Balance, Section, unknowns_of

FENCE, SOLVED = "```equations", "```balances"


def markdown(doc: Document) -> str:
    lines = [f"# Equations of {doc.name}", "", *([_paragraph(doc.description), ""] if doc.description else []), f"{doc.brief}."]
    lines += ["", f"![{doc.name}]({doc.picture.file}.svg)"] if doc.picture is not None else []
    lines += ["", f"({doc.remark})"] if doc.remark else []
    if doc.tree:
        lines += ["", "## Tree", "", *(f"{'  ' * depth}- {words}" for depth, words in doc.tree)]
    for table in doc.tables:
        lines += ["", f"## {table.title}", "", _bar(table.head), _bar(["---"] * len(table.head))]
        lines += [_bar([f"`{row[0]}`", *map(_untagged, row[1:])]) for row in table.rows]
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


def _untagged(text: str) -> str:
    """A text in which Markdown sees no tag."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def _paragraph(text: str) -> str:
    """A text that Markdown does not take for a fence, a heading, a quotation or a list where it begins."""
    return re.sub(r"^(?=[#>~`+*-])", r"\\", _untagged(text))


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


# ---------------------------------------------------------------- SymPy

_MATRICES = {
    "M": "mass_matrix",
    "C": "coriolis_matrix",
    "g": "potential_forces",
    "Q": "applied_forces",
    "D": "constraint_rows",
    "b": "constraint_side",
}


def sympy_source(doc: Document) -> str:
    lines = [f'"""Equations of {doc.name}: {doc.brief}."""', "", f"from sympy import {', '.join(sorted(SYMPY_NAMES))}", ""]
    lines += [_symbol(name) for name in doc.listing.arguments]
    for section in doc.listing.sections:
        lines += ["", f"# {section.title}"]
        for a in section.assignments:
            meaning = f"  # {a.meaning}" if a.meaning else ""
            lines.append(f"{python_name(a.name)} = {formula(a.expression, SymPy())}{meaning}")
        lines += _balances(section) if section.balances else []
    entries = ", ".join(python_name(r) for r in doc.listing.results)
    called = "xdot" if doc.listing.reported.startswith("derivative") else "residual"
    lines += ["", f"# {doc.listing.reported}", f"{called} = Matrix([{entries}])"]
    return "\n".join([*lines, *_matrices(doc), ""])


def _symbol(name: str) -> str:
    return f"{python_name(name)} = Symbol({name!r}, real=True)"


def _balances(section: Section) -> list[str]:
    """K and r of K z = r; z stays symbols, since the written-out solution of forty equations is unreadable."""
    lines = ["", "# linear_matrix * unknowns = linear_side", *map(_symbol, section.unknowns)]
    unknowns = [python_name(name) for name in section.unknowns]
    lines.append(f"unknowns = Matrix([{', '.join(unknowns)}])")
    rows = [f"    [{', '.join(_coefficient(b.left, name) for name in section.unknowns)}]," for b in section.balances]
    lines += ["linear_matrix = Matrix([", *rows, "])"]
    return [*lines, "linear_side = Matrix([", *(f"    {formula(b.right, SymPy())}," for b in section.balances), "])"]


def _coefficient(left: Expr, unknown: str) -> str:
    """What an unknown is multiplied by, in an expression that is linear in unknowns."""
    if unknown not in names(left):
        return "0"
    return f"({formula(left, SymPy())}).coeff({python_name(unknown)})"


def _matrices(doc: Document) -> list[str]:
    """The matrices of a small system, made short, with names that no symbol of a model is likely to have."""
    short = doc.matrices
    if short is None:
        return []
    import sympy

    lines = ["", "# M q'' + C q' + g = Q + D^T lambda, D q'' = b, in joint coordinates and Euler angles"]
    written = {s: sympy.Symbol(python_name(s.name), real=True) for s in short.latex_names}
    known = set(doc.listing.arguments)
    lines += [_symbol(s.name) for s in (*short.coordinates, *short.velocities) if s.name not in known]
    for name, called in _MATRICES.items():
        matrix = getattr(short, name)
        if matrix.rows:
            lines.append(f"{called} = {sympy.sstr(matrix.xreplace(written), full_prec=True)}")
    return lines


TEXTS: dict[str, Callable[[Document], str]] = {"md": markdown, "latex": latex, "html": webpage, "sympy": sympy_source}

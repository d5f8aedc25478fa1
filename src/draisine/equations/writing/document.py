"""The equations of a model as a document: name, tree, tables and the listing, in Markdown, LaTeX, HTML, or SymPy's Python.

The Markdown holds the listing in the language of expressions, between fences marked `equations`; `read_markdown` reads it back.
HTML is one file that needs no network: formulas are MathML.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draisine.equations.derive import derive
from draisine.equations.writing.formulas import SYMPY_NAMES, Latex, MathML, SymPy, formula, python_name
from draisine.equations.writing.lettering import latex_name
from draisine.equations.writing.listing import Assignment, Listing, listing
from draisine.equations.writing.symbolic import symbolic
from draisine.equations.writing.text import derived_in_brief, describe_as_data
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.expression import parse

FENCE = "```equations"
SMALL = 2_000  # operations up to which matrices are written beside the listing
_MATRICES = {
    "M": "mass_matrix",
    "C": "coriolis_matrix",
    "g": "potential_forces",
    "Q": "applied_forces",
    "D": "constraint_rows",
    "b": "constraint_side",
}


@dataclass(frozen=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Document:
    """What every format prints."""

    system: System
    brief: str
    tree: tuple[tuple[int, str], ...]  # depth and words
    tables: tuple[Table, ...]
    listing: Listing

    @property
    def name(self) -> str:
        return self.system.name

    @property
    def about(self) -> str:
        return self.system.about


def document(model: Model | System) -> Document:
    system = model.freeze() if isinstance(model, Model) else model
    equations = derive(system, work=False)
    data = describe_as_data(equations, system)
    tables = (
        Table("Parameters", ("name", "value", "unit", "meaning"), _rows(data["parameters"], "default", "unit", "about")),
        Table("Inputs", ("name", "unit", "meaning"), _rows(data["inputs"], "unit", "about")),
        Table("State", ("name", "unit"), tuple((s.name, s.unit) for s in equations.states)),
        Table("Constraints", ("name", "kind", "level"), _rows(data["constraints"], "kind", "level")),
    )
    kept = tuple(table for table in tables if table.rows)
    return Document(system, derived_in_brief(equations), _tree(data["joints"]), kept, listing(system))


def _rows(entries: dict[str, dict[str, object]], *columns: str) -> tuple[tuple[str, ...], ...]:
    def cell(value: object) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value)

    return tuple((name, *(cell(entry[c]) for c in columns)) for name, entry in entries.items())


def _tree(joints: dict[str, dict[str, object]]) -> tuple[tuple[int, str], ...]:
    lines: list[tuple[int, str]] = []

    def grow(parent: str, depth: int) -> None:
        for name, joint in joints.items():
            if joint["parent"] == parent:
                coordinates = joint["coordinates"]
                moved = ", ".join(coordinates) if isinstance(coordinates, list) and coordinates else "fixed"
                lines.append((depth, f"{joint['child']}: joint {name} on {parent} ({moved})"))
                grow(str(joint["child"]), depth + 1)

    grow("ground", 0)
    return tuple(lines)


# ---------------------------------------------------------------- Markdown


def markdown(doc: Document) -> str:
    lines = [f"# Equations of {doc.name}", "", *([doc.about, ""] if doc.about else []), doc.brief, "", "## Tree", ""]
    lines += [f"{'  ' * depth}- {words}" for depth, words in doc.tree]
    for table in doc.tables:
        lines += ["", f"## {table.title}", "", _bar(table.head), _bar(["---"] * len(table.head))]
        lines += [_bar([f"`{row[0]}`", *row[1:]]) for row in table.rows]
    lines += ["", "## Listing", "", "Formulas in order; a name is defined before it is used."]
    for section in doc.listing.sections:
        lines += ["", f"### {section.title}", "", FENCE]
        lines += [f"{a.name} = {a.expression}" + (f"  # {a.meaning}" if a.meaning else "") for a in section.assignments]
        lines.append("```")
    return "\n".join(lines) + "\n"


def _bar(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def read_markdown(text: str) -> list[Assignment]:
    """The listing of a Markdown document, read by the parser of expressions."""
    found: list[Assignment] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line == FENCE
        elif inside:
            left, sign, rest = line.partition(" = ")
            if not sign:
                raise ValueError(f"a line of the listing reads 'name = formula', got {line!r}")
            right, _, meaning = rest.partition("  # ")
            found.append(Assignment(left.strip(), meaning.strip(), parse(right)))
    return found


# ---------------------------------------------------------------- LaTeX


def latex(doc: Document) -> str:
    lines = [
        r"\documentclass[a4paper]{article}",
        r"\usepackage[T1]{fontenc}\usepackage{amsmath,breqn,longtable}",
        r"\begin{document}",
    ]
    lines += [rf"\section*{{Equations of {_tex(doc.name)}}}", *([_tex(doc.about) + r"\\"] if doc.about else []), _tex(doc.brief)]
    lines += [r"\subsection*{Tree}", r"\begin{itemize}"]
    lines += [rf"\item[] \hspace{{{depth}em}} {_tex(words)}" for depth, words in doc.tree] + [r"\end{itemize}"]
    for table in doc.tables:
        lines += [rf"\subsection*{{{table.title}}}", rf"\begin{{longtable}}{{{'l' * len(table.head)}}}"]
        lines += [" & ".join(table.head) + r" \\ \hline"]
        lines += [" & ".join([f"${latex_name(row[0])}$", *map(_tex, row[1:])]) + r" \\" for row in table.rows]
        lines.append(r"\end{longtable}")
    lines.append(r"\subsection*{Listing}")
    hand = Latex()
    for section in doc.listing.sections:
        lines.append(rf"\subsubsection*{{{_tex(section.title)}}}")
        for a in section.assignments:
            lines += [rf"\noindent {_tex(a.meaning)}"] if a.meaning else []
            lines.append(rf"\begin{{dmath*}} {latex_name(a.name)} = {formula(a.expression, hand)} \end{{dmath*}}")
    return "\n".join([*lines, r"\end{document}", ""])


def _tex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {c: f"\\{c}" for c in "&%$#_{}"}
    return "".join(special.get(c, c) for c in text)


# ---------------------------------------------------------------- HTML

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; } th, td { text-align: left; padding: 0.15em 1em 0.15em 0; border-bottom: 1px solid #ddd; }
.listing td { vertical-align: top; } .meaning { color: #666; font-size: 85%; min-width: 16em; } math { font-size: 105%; }
.scroll { overflow-x: auto; }
"""


def webpage(doc: Document) -> str:
    say = html.escape
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>Equations of {say(doc.name)}</title>"]
    lines += [f"<style>{_STYLE}</style></head><body>", f"<h1>Equations of {say(doc.name)}</h1>"]
    lines += [f"<p>{say(words)}</p>" for words in (doc.about, doc.brief) if words]
    lines += ["<h2>Tree</h2>", "<ul>"]
    lines += [f'<li style="margin-left:{2 * depth}em">{say(words)}</li>' for depth, words in doc.tree] + ["</ul>"]
    for table in doc.tables:
        lines += [f"<h2>{say(table.title)}</h2>", "<table><tr>" + "".join(f"<th>{say(h)}</th>" for h in table.head) + "</tr>"]
        lines += ["<tr>" + "".join(f"<td>{say(cell)}</td>" for cell in row) + "</tr>" for row in table.rows] + ["</table>"]
    lines += ["<h2>Listing</h2>", "<p>Formulas in order; a name is defined before it is used.</p>"]
    hand = MathML()
    for section in doc.listing.sections:
        lines += [f"<h3>{say(section.title)}</h3>", '<div class="scroll"><table class="listing">']
        for a in section.assignments:
            line = hand.infix("=", hand.name(a.name), formula(a.expression, hand))
            lines.append(f'<tr><td class="meaning">{say(a.meaning)}</td><td><math>{line}</math></td></tr>')
        lines.append("</table></div>")
    return "\n".join([*lines, "</body></html>", ""])


# ---------------------------------------------------------------- SymPy


def sympy_source(doc: Document) -> str:
    """A Python module: symbols, then every formula of the listing with the same names."""
    hand = SymPy()
    lines = [f'"""Equations of {doc.name}: {doc.brief}."""', "", f"from sympy import {', '.join(sorted(SYMPY_NAMES))}", ""]
    for name in doc.listing.arguments:
        lines.append(f"{python_name(name)} = Symbol({name!r}, real=True)")
    for section in doc.listing.sections:
        lines += ["", f"# {section.title}"]
        for a in section.assignments:
            meaning = f"  # {a.meaning}" if a.meaning else ""
            lines.append(f"{python_name(a.name)} = {formula(a.expression, hand)}{meaning}")
    entries = ", ".join(python_name(r) for r in doc.listing.results)
    lines += ["", "# derivative of the state, in its order", f"xdot = Matrix([{entries}])"]
    return "\n".join([*lines, *_matrices(doc), ""])


def _matrices(doc: Document) -> list[str]:
    """The matrices of a small system, made short, with names that no symbol of a model is likely to have."""
    found = symbolic(doc.system)
    if sum(found.operations(name) for name in _MATRICES) > SMALL:
        return []
    import sympy

    short = found.simplified()
    lines = ["", "# M q'' + C q' + g = Q + D^T lambda, D q'' = b, in joint coordinates and Euler angles"]
    written = {s: sympy.Symbol(python_name(s.name), real=True) for s in short.latex_names}
    known = set(doc.listing.arguments)
    for symbol in (*short.coordinates, *short.velocities):
        if symbol.name not in known:
            lines.append(f"{written[symbol]} = Symbol({symbol.name!r}, real=True)")
    for name, called in _MATRICES.items():
        matrix = getattr(short, name)
        if matrix.rows:
            lines.append(f"{called} = {sympy.sstr(matrix.xreplace(written), full_prec=True)}")
    return lines


FORMATS: dict[str, Callable[[Document], str]] = {"md": markdown, "latex": latex, "html": webpage, "sympy": sympy_source}

"""A document as one self-contained web page: formulas are MathML, the picture is inline SVG."""

from __future__ import annotations

import html

from draisine.symbolic.rendering.document import Document, Table
from draisine.symbolic.rendering.formulas import MathML, formula
from draisine.symbolic.rendering.named_formulas import Section
from draisine.symbolic.rendering.symbolic import ABOUT, SymbolicEquations

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff; }
table { border-collapse: collapse; } th, td { text-align: left; padding: 0.15em 1em 0.15em 0; border-bottom: 1px solid #ddd; }
.listing td { vertical-align: top; } .meaning { color: #666; font-size: 85%; min-width: 16em; } math { font-size: 105%; }
.scroll { overflow-x: auto; } figure { margin: 1em 0; } figure svg { width: 100%; max-width: 56em; height: auto; }
@media print { body { font-size: 10px; max-width: none; margin: 0; } .scroll { overflow: visible; } h3 { break-after: avoid; } }
"""


def webpage(doc: Document) -> str:
    say = html.escape
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>Equations of {say(doc.name)}</title>"]
    lines += [f"<style>{_STYLE}</style></head><body>", f"<h1>Equations of {say(doc.name)}</h1>"]
    lines += [f"<p>{say(words)}</p>" for words in (doc.description, f"{doc.brief}.", doc.remark) if words]
    if doc.picture is not None:
        lines.append(f'<figure role="img" aria-label="picture of {say(doc.name)}">{doc.picture.svg}</figure>')
    if doc.tree:
        lines += ["<h2>Tree</h2>", "<ul>"]
        lines += [f'<li style="margin-left:{2 * depth}em">{say(words)}</li>' for depth, words in doc.tree] + ["</ul>"]
    for table in doc.tables:
        lines += table_of(table)
    if doc.matrices is not None:
        lines += matrices_of(doc.matrices)
    lines += ["<h2>Listing</h2>", "<p>Formulas in order; a name is defined before it is used.</p>"]
    for section in doc.listing.sections:
        lines += section_of(section)
    lines.append(f"<p>Results: {say(', '.join(doc.listing.results))} ({say(doc.listing.reported)}).</p>")
    return "\n".join([*lines, "</body></html>", ""])


def table_of(table: Table, level: int = 2) -> list[str]:
    """A table under a heading of that level."""
    say = html.escape
    lines = [f"<h{level}>{say(table.title)}</h{level}>", '<div class="scroll"><table><tr>']
    lines += ["".join(f"<th>{say(h)}</th>" for h in table.head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{say(cell)}</td>" for cell in row) + "</tr>" for row in table.rows]
    return [*lines, "</table></div>"]


def section_of(section: Section) -> list[str]:
    """Formulas under their heading."""
    say, notation = html.escape, MathML()
    rows = [(a.meaning, notation.infix("=", notation.name(a.name), formula(a.expression, notation))) for a in section.assignments]
    lines = [f"<h3>{say(section.title)}</h3>"]
    if rows:
        lines += _formulas(rows)
    if section.balances:
        lines.append(f"<p>Solved together for {say(', '.join(section.unknowns))}:</p>")
        lines += _formulas(
            [(b.meaning, notation.infix("=", formula(b.left, notation), formula(b.right, notation))) for b in section.balances]
        )
    return lines


def _formulas(rows: list[tuple[str, str]]) -> list[str]:
    lines = ['<div class="scroll"><table class="listing">']
    lines += [f'<tr><td class="meaning">{html.escape(reported)}</td><td><math>{line}</math></td></tr>' for reported, line in rows]
    return [*lines, "</table></div>"]


def matrices_of(found: SymbolicEquations, level: int = 2) -> list[str]:
    """The matrices under a heading of that level."""
    import sympy

    equation = "M q̈ + C q̇ + g = Q" + (" + Dᵀλ, D q̈ = b" if found.reactions else "")
    reduced = "; v = H v_r, M_r v̇_r = F_r reduced" if found.reactions else ""
    lines = [f"<h{level}>Matrices</h{level}>", f"<p>{equation} in joint coordinates and Euler angles{reduced}.</p>"]
    rows = []
    for name in found.shown:
        value = getattr(found, name)
        matrix = "<mn>0</mn>" if value.is_zero_matrix else sympy.mathml(value, printer="presentation", mul_symbol="dot")
        symbol = {"reduced_mass": "<msub><mi>M</mi><mi>r</mi></msub>", "reduced_force": "<msub><mi>F</mi><mi>r</mi></msub>"}
        rows.append((ABOUT[name], f"<mrow>{symbol.get(name, f'<mi>{name}</mi>')}<mo>=</mo>{matrix}</mrow>"))
    return [*lines, *_formulas(rows)]

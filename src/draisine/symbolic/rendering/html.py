"""A document as one self-contained web page: formulas are MathML, the picture is inline SVG."""

from __future__ import annotations

import html
import re

from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual
from draisine.symbolic.rendering.document import Document, Table
from draisine.symbolic.rendering.formulas import MathML, formula
from draisine.symbolic.rendering.named_formulas import Section
from draisine.symbolic.rendering.symbolic import ABOUT, SymbolicEquations

# Without a mathematical font, as on most phones, browsers set indices and exponents on the line: their fallback is zero shift. A
# probe finds out, and a style moves them.
MATH_STYLE = """
.no-math-font msub > :nth-child(2), .no-math-font msubsup > :nth-child(2) { transform: translateY(.35em); }
.no-math-font msup > :nth-child(2) { transform: translateY(.3em); }
"""
MATH_PROBE = """{
  const probe = document.createElement("span");
  probe.innerHTML = "<math><msub><mi>M</mi><mi>r</mi></msub></math>";
  document.body.append(probe);
  const [base, index] = [...probe.querySelectorAll("mi")].map((letter) => letter.getBoundingClientRect().bottom);
  const size = parseFloat(getComputedStyle(probe).fontSize);
  document.documentElement.classList.toggle("no-math-font", index - base < 0.08 * size);
  probe.remove();
}"""

_STYLE = """
:root { --ink: #222; --soft: #666; --rule: #ddd; --paper: #fff; --accent: #0072b2; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececea; --soft: #a2a6aa; --rule: #34383d; --paper: #17191c; --accent: #56b4e9; }
  figure svg { filter: invert(0.91) hue-rotate(180deg); mix-blend-mode: lighten; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: var(--ink);
  background: var(--paper); }
a { color: var(--accent); } nav ul { columns: 17em; column-gap: 2.5em; padding-left: 1.2em; margin: .5em 0 1em; }
nav ul ul { columns: auto; margin: 0; font-size: 90%; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.15em 1em 0.15em 0; border-bottom: 1px solid var(--rule); }
.listing td { vertical-align: top; } .meaning { color: var(--soft); font-size: 85%; min-width: 16em; } math { font-size: 105%; }
.form { font-size: 115%; margin: .6em 0; } .form math { margin-right: 2em; }
.scroll { overflow-x: auto; } figure { margin: 1em 0; } figure svg { width: 100%; max-width: 56em; height: auto; }
@media (max-width: 600px) { body { margin: 1em auto; } figure { overflow-x: auto; } figure svg { width: 42em; max-width: none; }
  h1 { font-size: 1.5em; } nav ul ul { display: none; }
  .listing td { display: block; border: 0; padding: 0; }
  .listing tr { display: block; border-bottom: 1px solid var(--rule); padding: .2em 0; } }
@media print { body { font-size: 10px; max-width: none; margin: 0; } .scroll { overflow: visible; } h3 { break-after: avoid; } }
"""


def webpage(doc: Document) -> str:
    """Name, contents and equations, then the picture and the listing; what the names mean stands behind them."""
    say = html.escape
    body = _heading("Equations") + form_of(doc.equations)
    if doc.matrices is not None:
        body += matrices_of(doc.matrices)
    if doc.picture is not None:
        body.append(f'<figure role="img" aria-label="picture of {say(doc.name)}">{doc.picture.svg}</figure>')
    body += [*_heading("Listing"), "<p>Formulas in order; a name is defined before it is used.</p>"]
    for section in doc.listing.sections:
        body += section_of(section)
    body.append(f"<p>Results: {say(', '.join(doc.listing.results))} ({say(doc.listing.reported)}).</p>")
    for table in doc.tables:
        body += table_of(table)
    if doc.tree:
        body += [*_heading("Tree"), "<ul>"]
        body += [f'<li style="margin-left:{2 * depth}em">{say(words)}</li>' for depth, words in doc.tree] + ["</ul>"]
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">']
    lines += [
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Equations of {say(doc.name)}</title>",
    ]
    lines += [f"<style>{_STYLE}{MATH_STYLE}</style></head><body>", f"<h1>Equations of {say(doc.name)}</h1>"]
    lines += [f"<p>{say(words)}</p>" for words in (doc.description, f"{doc.brief}.", doc.remark) if words]
    return "\n".join([*lines, *_contents(body), *body, f"<script>{MATH_PROBE}</script></body></html>", ""])


def _heading(title: str, level: int = 2) -> list[str]:
    """A heading with an anchor for the contents."""
    return [f'<h{level} id="{_anchor(title)}">{html.escape(title)}</h{level}>']


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"


def _contents(body: list[str]) -> list[str]:
    """Links to all headings of the second level, with those of the third below them."""
    lines, inner = ['<nav aria-label="contents"><ul>'], False
    for level, anchor, title in re.findall(r'<h([23]) id="([^"]*)">(.*?)</h[23]>', "\n".join(body)):
        if (level == "3") != inner:
            lines.append("<ul>" if level == "3" else "</ul></li>")
        elif level == "2" and len(lines) > 1:
            lines[-1] += "</li>"
        inner = level == "3"
        lines.append(f'<li><a href="#{anchor}">{title}</a>' + ("</li>" if inner else ""))
    return [*lines, "</ul></li>" if inner else "</li>", "</ul></nav>"]


def form_of(equations: Equations) -> list[str]:
    """The form of the equations in one line: what is integrated, and what the constraints are."""
    of_q = _LEFT + "<mi>q</mi>" + _RIGHT
    rate = _dot("q") + "<mo>=</mo><mi>G</mi>" + of_q + "<mi>v</mi>"
    rows = "<mi>A</mi>" + of_q + "<mi>v</mi><mo>=</mo><mn>0</mn>"
    newton = "<mi>M</mi>" + _dot("v") + "<mo>=</mo><mi>F</mi>"
    if isinstance(equations.dynamics, DaeResidual):
        parts = ["<mn>0</mn><mo>=</mo><mi>F</mi>" + _arguments("<mi>t</mi>", "<mi>x</mi>", _dot("x"))]
    elif not equations.velocities:
        parts = [_dot("x") + "<mo>=</mo><mi>f</mi>" + _arguments("<mi>t</mi>", "<mi>x</mi>", "<mi>u</mi>")]
    elif not equations.constraints:
        parts = [rate, newton]
    elif isinstance(equations.dynamics, LinearSolveProgram):
        parts = [rate, newton + "<mo>+</mo><msup><mi>A</mi><mo>⊤</mo></msup><mi>λ</mi>", rows]
    else:
        reduced = (
            "<msub><mi>M</mi><mi>r</mi></msub><msub>" + _dot("v") + "<mi>r</mi></msub><mo>=</mo><msub><mi>F</mi><mi>r</mi></msub>"
        )
        mass = "<msub><mi>M</mi><mi>r</mi></msub><mo>=</mo><msup><mi>H</mi><mo>⊤</mo></msup><mi>M</mi><mi>H</mi>"
        parts = [rate, rows, "<mi>v</mi><mo>=</mo><mi>H</mi>" + of_q + "<msub><mi>v</mi><mi>r</mi></msub>", reduced, mass]
    return ['<p class="form">', *(f'<math display="inline"><mrow>{part}</mrow></math>' for part in parts), "</p>"]


_LEFT, _RIGHT = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'


def _arguments(*parts: str) -> str:
    return _LEFT + "<mo>,</mo>".join(parts) + _RIGHT


def _dot(letter: str) -> str:
    return f"<mover><mi>{letter}</mi><mo>˙</mo></mover>"


def table_of(table: Table, level: int = 2) -> list[str]:
    """A table under a heading of that level."""
    say = html.escape
    lines = [*_heading(table.title, level), '<div class="scroll"><table><tr>']
    lines += ["".join(f"<th>{say(h)}</th>" for h in table.head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{say(cell)}</td>" for cell in row) + "</tr>" for row in table.rows]
    return [*lines, "</table></div>"]


def section_of(section: Section) -> list[str]:
    """Formulas under their heading."""
    say, notation = html.escape, MathML()
    rows = [(a.meaning, notation.infix("=", notation.name(a.name), formula(a.expression, notation))) for a in section.assignments]
    lines = _heading(section.title, 3)
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
    lines = [*_heading("Matrices", level), f"<p>{equation} in joint coordinates and Euler angles{reduced}.</p>"]
    rows = []
    for name in found.shown:
        value = getattr(found, name)
        matrix = "<mn>0</mn>" if value.is_zero_matrix else sympy.mathml(value, printer="presentation", mul_symbol="dot")
        symbol = {"reduced_mass": "<msub><mi>M</mi><mi>r</mi></msub>", "reduced_force": "<msub><mi>F</mi><mi>r</mi></msub>"}
        rows.append((ABOUT[name], f"<mrow>{symbol.get(name, f'<mi>{name}</mi>')}<mo>=</mo>{matrix}</mrow>"))
    return [*lines, *_formulas(rows)]

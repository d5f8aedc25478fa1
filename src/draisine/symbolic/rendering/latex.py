"""A document in LaTeX, with common packages only and formulas that break into lines, and its PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import unicodedata
from pathlib import Path

from draisine.errors import ToolError
from draisine.symbolic.rendering.document import Document, Table
from draisine.symbolic.rendering.formulas import GREEK, Latex, formula, latex_name
from draisine.symbolic.rendering.named_formulas import Section
from draisine.symbolic.rendering.symbolic import ABOUT, SymbolicEquations

# Formulas are set in running text, where TeX breaks lines after signs. Names may have several words, so products have a dot.
_HEAD = r"""\documentclass[a4paper,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{amsmath,amssymb,longtable,graphicx}
\usepackage[margin=22mm]{geometry}
\setlength{\parindent}{0pt}
\newcommand{\by}{\mathbin{\cdot}}
\newcommand{\wide}[1]{\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{$\displaystyle #1$}}
\begin{document}
"""
_LEAST_SHARE, _CHARACTERS = 16, 82  # of a table: the last column's least width in characters, and what fits on a line
_LONGEST_FRACTION = 160  # characters of source; longer ones are written in line, where they can break
_SYMBOLS = {
    "−": "$-$",
    "°": r"$^\circ$",
    "√": r"$\surd$",
    "ẋ": r"$\dot{x}$",
    "ẏ": r"$\dot{y}$",
    "ẍ": r"$\ddot{x}$",
    "∂": r"$\partial$",
    "∫": r"$\int$",
    "∞": r"$\infty$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "…": r"\dots{}",
    "–": "--",
    "—": "---",
    "’": "'",
    "“": "``",
    "”": "''",
}


# Without prompts, without running other programs, stopping at the first error.
ENGINES = {
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "lualatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "xelatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "tectonic": ("--untrusted",),
}
SECONDS = 300


def latex(doc: Document) -> str:
    lines = [_HEAD + rf"\section*{{Equations of {tex(doc.name)}}}"]
    lines += [tex(doc.description), ""] if doc.description else []
    lines += [tex(doc.brief) + ".", ""]
    if doc.picture is not None:
        lines += [r"\begin{center}", rf"\includegraphics[width=\linewidth]{{{doc.picture.file}.pdf}}", r"\end{center}"]
    lines += [f"({tex(doc.remark)})", ""] if doc.remark else []
    if doc.tree:
        lines += [r"\subsection*{Tree}", r"\begin{itemize}\setlength{\itemsep}{0pt}"]
        lines += [rf"\item[] \hspace*{{{2 * depth}em}}{tex(words)}" for depth, words in doc.tree] + [r"\end{itemize}"]
    for table in doc.tables:
        lines += _table(table)
    if doc.matrices is not None:
        lines += _matrices(doc.matrices)
    lines += [r"\subsection*{Listing}", "Formulas in order; a name is defined before it is used.", r"\raggedright"]
    for section in doc.listing.sections:
        lines += _section(section)
    results = r",\penalty0\ ".join(latex_name(name) for name in doc.listing.results)
    lines += ["", rf"\medskip Results: ${results}$ ({tex(doc.listing.reported)})."]
    return "\n".join([*lines, r"\end{document}", ""])


class _Breaking(Latex):
    """Lines break inside plain parentheses only."""

    def group(self, part: str) -> str:
        return f"({part})"

    def fraction(self, above: str, below: str) -> str:
        if len(above) + len(below) < _LONGEST_FRACTION:
            return super().fraction(above, below)
        return f"{self.group(above)} / {self.group(below)}"


def _section(section: Section) -> list[str]:
    notation = _Breaking()
    lines = [rf"\subsubsection*{{{tex(section.title)}}}"]
    for a in section.assignments:
        lines += _line(latex_name(a.name), formula(a.expression, notation), a.meaning)
    if section.balances:
        unknowns = r",\penalty0\ ".join(latex_name(name) for name in section.unknowns)
        lines += ["", rf"\medskip Solved together for ${unknowns}$:"]
        for b in section.balances:
            lines += _line(formula(b.left, notation), formula(b.right, notation), b.meaning)
    return lines


def _line(left: str, right: str, meaning: str) -> list[str]:
    words = rf"{{\footnotesize {tex(meaning)}}}\\" if meaning else ""
    return ["", rf"\smallskip {words}$\displaystyle {left} = {right}$".replace(r" \, ", r" \by ")]


def _table(table: Table) -> list[str]:
    """Columns as wide as their longest cell, the last one broken into lines if the page needs it."""
    longest = [max(len(cell) for cell in (head, *column)) for head, *column in zip(table.head, *table.rows, strict=True)]
    left = max(_CHARACTERS - sum(length + 2 for length in longest[:-1]), _LEAST_SHARE)
    last = "l" if longest[-1] <= left else rf"p{{{left / _CHARACTERS:.2f}\linewidth}}"
    lines = [rf"\subsection*{{{table.title}}}", rf"\begin{{longtable}}[l]{{{'l' * (len(table.head) - 1)}{last}}}"]
    lines += [" & ".join(table.head) + r" \\ \hline\noalign{\smallskip}\endhead"]
    lines += [" & ".join([f"${latex_name(row[0])}$", *map(tex, row[1:])]) + r" \\" for row in table.rows]
    return [*lines, r"\end{longtable}"]


def _matrices(found: SymbolicEquations) -> list[str]:
    equation = r"M \ddot q + C \dot q + g = Q" + (r" + D^T \lambda,\quad D \ddot q = b" if found.reactions else "")
    reduced = r"; $v = H v_r$, $M_r \dot v_r = F_r$ reduced" if found.reactions else ""
    lines = [r"\subsection*{Matrices}", rf"${equation}$ in joint coordinates and Euler angles{reduced}."]
    for name in found.shown:
        symbol = {"reduced_mass": "M_r", "reduced_force": "F_r"}.get(name, name)
        value = "0" if getattr(found, name).is_zero_matrix else found.latex(name)
        lines += ["", rf"\medskip {{\footnotesize {tex(ABOUT[name])}}}\\[2pt]", rf"\wide{{{symbol} = {value}}}"]
    return lines


def tex(text: str) -> str:
    r"""Any text as TeX source.

    >>> print(tex("50% of λ_1, −3°, D q̇ = 0, kg*m^2"))
    50\% of $\lambda$\_1, $-$3$^\circ$, D $\dot{q}$ = 0, kg$\cdot$m$^{2}$
    """
    whole = unicodedata.normalize("NFC", re.sub(r"(?<=\w)\*(?=\w)", "·", text))
    parts = re.split(r"(\w[\u0307\u0308]|\^-?\d+)", whole)  # letters with dots, and powers
    return "".join(_part(part) if k % 2 else "".join(map(_character, part)) for k, part in enumerate(parts))


def _part(part: str) -> str:
    if part.startswith("^"):
        return f"$^{{{part[1:]}}}$"
    accent = "dot" if part[1] == "\u0307" else "ddot"
    return f"$\\{accent}{{{part[0]}}}$" if part[0].isascii() else _character(part[0])


def _character(c: str) -> str:
    if c in _SYMBOLS:
        return _SYMBOLS[c]
    if c in "&%$#_{}":
        return f"\\{c}"
    if c in "\\~^":
        return {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}[c]
    if ord(c) < 128:
        return c if c.isprintable() else " "
    plain = unicodedata.normalize("NFKD", c).replace("−", "-")
    if unicodedata.name(c, "").startswith("LATIN") and ord(c) < 0x180:
        return c  # accented letters are in the font
    script = "_" if "<sub>" in unicodedata.decomposition(c) else "^" if "<super>" in unicodedata.decomposition(c) else ""
    if script and plain.isascii():
        return f"${script}{{{plain}}}$"
    word = unicodedata.name(c, "").lower().removeprefix("greek ").split(" ")
    if len(word) == 3 and word[1] == "letter":
        letter = word[2].replace("lamda", "lambda")
        letter = letter.capitalize() if word[0] == "capital" else letter
        if letter in GREEK:
            return f"$\\{letter}$"
    return f"[U+{ord(c):04X}]"


# ---------------------------------------------------------------- PDF


def typeset(doc: Document) -> bytes:
    """The document as PDF."""
    engine = next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        raise ToolError(
            f"a PDF needs LaTeX, and none of {', '.join(ENGINES)} is installed; install one (on Debian and Ubuntu: apt install "
            "texlive-latex-base), or use --format html: one file with the same contents, which any browser prints to PDF"
        )
    with tempfile.TemporaryDirectory(prefix="draisine") as folder:
        source = Path(folder) / "equations.tex"
        source.write_text(latex(doc), encoding="utf-8")
        if doc.picture is not None:
            (Path(folder) / f"{doc.picture.file}.pdf").write_bytes(doc.picture.pdf)
        # the widths of long tables are known from the second run on; tectonic repeats automatically
        for _ in range(1 if engine == "tectonic" else 2):
            _run(engine, source)
        return source.with_suffix(".pdf").read_bytes()


def _run(engine: str, source: Path) -> None:
    command = [engine, *ENGINES[engine], source.name]
    try:
        done = subprocess.run(command, cwd=source.parent, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{engine} took longer than {SECONDS} s; inspect the source with --format latex") from None
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").splitlines()
        errors = [line for line in said if line.startswith(("!", "error", "l."))] or said[-5:]
        raise ToolError(f"{engine} failed: {' '.join(errors[:4])}; inspect the source with --format latex")

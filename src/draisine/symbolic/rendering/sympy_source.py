"""A document as a Python module for SymPy: symbols, then every formula of the listing with the same names."""

from __future__ import annotations

from draisine.expr.expression import Expr, names
from draisine.symbolic.rendering.document import Document
from draisine.symbolic.rendering.formulas import SYMPY_NAMES, SymPy, formula, python_name
from draisine.symbolic.rendering.named_formulas import Section

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
    """K and r of K z = r; z stays symbols, since nobody wants the solution of forty equations written out."""
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

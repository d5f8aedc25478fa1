"""Closed-form matrices of a two-wheeler: equal to the printed formulas as polynomials, and to the benchmark's numbers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.bicycle.closed_form import ClosedForm
from draisine.bicycle.whipple_matrices import whipple_program
from stability.meijaard_formulas import NAMES, matrices

REFERENCE = Path(__file__).parents[1] / "reference"


@pytest.fixture(scope="module")
def ours() -> ClosedForm:
    return dr.bicycle.closed_form(dr.gallery.bicycle()).z_down()


def theirs(p: dict[str, Any], sine: Any, cosine: Any) -> dict[str, list[list[Any]]]:
    """The printed formulas, of our parameters."""
    return matrices({name: p[own] * sign for name, (own, sign) in NAMES.items()}, sine, cosine)


def test_the_printed_formulas_give_the_benchmark() -> None:
    """The paper's parameters, put into its formulas, give its matrices: they are remembered rightly."""
    data = json.loads((REFERENCE / "meijaard2007.json").read_text())
    given = {n: float(v) for n, v in data["parameters"].items() if n != "lambda"}
    found = matrices(given, math.sin(math.pi / 10), math.cos(math.pi / 10))
    for name, matrix in data["matrices"].items():
        np.testing.assert_allclose(np.array(found[name], dtype=float), np.array(matrix, dtype=float), rtol=0, atol=2e-13)


@pytest.mark.parametrize("name", ["M", "C1", "K0", "K2"])
def test_ours_are_the_printed_formulas(ours: ClosedForm, name: str) -> None:
    """As polynomials: the numerator of the difference is zero once sin² + cos² = 1."""
    s, k = sp.symbols("s k")
    tilt = ours.symbols["steer_axis_tilt"]
    letters = {sp.sin(tilt): s, sp.cos(tilt): k}
    printed = theirs(dict(ours.symbols), s, k)[name]
    for i in range(2):
        for j in range(2):
            gap = sp.together(ours.matrices[name][i, j].xreplace(letters) - printed[i][j])
            assert sp.rem(sp.expand(sp.fraction(gap)[0]), s**2 + k**2 - 1, s) == 0


def test_ours_are_the_printed_formulas_at_rational_points(ours: ClosedForm) -> None:
    """Exactly equal fractions at a hundred random points with rational sine and cosine."""
    s, k = sp.symbols("s k")
    tilt = ours.symbols["steer_axis_tilt"]
    names = [n for n in ours.symbols if n != "steer_axis_tilt"]
    entries = [e.xreplace({sp.sin(tilt): s, sp.cos(tilt): k}) for m in ours.matrices.values() for e in m]
    function = sp.lambdify([*(ours.symbols[n] for n in names), s, k], entries, modules="math")
    random = Random(2007)
    for _ in range(100):
        t = Fraction(random.randint(1, 99), 100)
        sine, cosine = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)
        p = {n: Fraction(random.randint(1, 999), random.randint(1, 99)) for n in names}
        printed = theirs(p, sine, cosine)
        assert function(*p.values(), sine, cosine) == [e for m in printed.values() for row in m for e in row]


def test_the_formulas_are_short(ours: ClosedForm) -> None:
    """Six tenths of what the paper's take when they are written out, with nothing but parameters in them."""
    ops = sum(int(sp.count_ops(e)) for m in ours.matrices.values() for e in m)
    tilt = ours.symbols["steer_axis_tilt"]
    printed = theirs(dict(ours.symbols), sp.sin(tilt), sp.cos(tilt))
    assert ops < 0.6 * sum(int(sp.count_ops(e)) for m in printed.values() for row in m for e in row)
    assert {str(s) for m in ours.matrices.values() for s in m.free_symbols} == {own for own, _ in NAMES.values()} | {
        "steer_axis_tilt"
    }


def test_latex_has_a_line_for_every_entry(ours: ClosedForm) -> None:
    lines = ours.latex().splitlines()
    assert len(lines) == 13 and lines[0].startswith(r"(M)_{\mathrm{lean,lean}} = ")
    assert r"\cos{\left(\mathrm{steer\,axis\,tilt}" in lines[1]


def test_the_program_agrees_with_the_numeric_derivation() -> None:
    """At other parameters: matrices of the program against those read off linear models at several speeds."""
    equations = dr.derive(dr.gallery.bicycle(), work=False)
    changed = {"trail": -0.03, "steer_axis_tilt": 0.1, "m_fork": 9.0, "r_front_wheel": 0.25, "ixz_frame": 1.0, "gravity": 3.7}
    numeric = dr.bicycle.whipple_matrices(equations, parameters=changed)
    p = [changed.get(q.name, q.default) for q in equations.parameters]
    for found, wanted in zip(whipple_program(equations)(p), (numeric.M, numeric.C1, numeric.K0, numeric.K2), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())


def test_springs_have_no_canonical_form() -> None:
    m = dr.gallery.bicycle()
    m.spring("steer", 5.0, damping=1.0)
    with pytest.raises(dr.errors.ModelError, match=r"form of Whipple's equations.*springs"):
        dr.bicycle.closed_form(m)


def test_gravity_must_be_known() -> None:
    with pytest.raises(dr.errors.ArgumentError, match="no parameter 'weight' for gravity"):
        dr.bicycle.closed_form(dr.gallery.bicycle(), gravity="weight")


def test_a_bicycle_on_blades_has_the_formulas_without_wheels() -> None:
    """The two-mass-skate bicycle's are the benchmark's with point masses: roots of squares are taken with their sign."""
    skate, whole = dr.bicycle.closed_form(dr.gallery.two_mass_skate()), dr.bicycle.closed_form(dr.gallery.bicycle())
    massless = ("ixx", "iyy", "izz", "ixz", "m_rear_wheel", "m_front_wheel")
    gone = {s: 0 for n, s in whole.symbols.items() if n.startswith(massless)}
    assert len(gone) == 12 + 2
    for name, matrix in whole.matrices.items():
        left = matrix.xreplace(gone).xreplace({whole.symbols[n]: s for n, s in skate.symbols.items()})
        assert (left - skate.matrices[name]).expand() == sp.zeros(2, 2)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("leaning_rider", "form of Whipple's equations"),
        ("delebecque_graph", "upright position does not follow from linear equations"),
        ("sliding_bicycle", "solved for at run time"),
        ("sanjuan_bicycle", "the rates of lean and steer are not two of its independent velocities"),
    ],
)
def test_what_has_no_closed_form_says_so(model: str, said: str) -> None:
    with pytest.raises(dr.errors.ModelError, match=said):
        dr.bicycle.closed_form(gallery_model(model))


def gallery_model(name: str) -> dr.Model:
    return getattr(dr.gallery, name)()

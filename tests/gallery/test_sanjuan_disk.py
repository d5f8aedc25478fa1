"""The printed matrices of the rolling disk against Lagrange by hand in SymPy, entry by entry, and the table of the study."""

from __future__ import annotations

import pytest
import sympy as sp

from draisine.gallery.entries.sanjuan_disk import NAMES, compare_with_print, printed_matrices, sanjuan_disk_matrices

pytestmark = pytest.mark.further

t = sp.Symbol("t")
SYMBOLS = {
    name: sp.Symbol(name, real=True) for name in (*NAMES, *(f"{n}_rate" for n in NAMES), "m", "r", "I_1", "I_2", "I_3", "g")
}
Q = [SYMBOLS[name] for name in NAMES]
V = [SYMBOLS[f"{name}_rate"] for name in NAMES]
UY, UZ = sp.Matrix([0, 1, 0]), sp.Matrix([0, 0, 1])


def rate(expression):
    """d/dt by the chain rule."""
    return sum((sp.diff(expression, q) * v for q, v in zip(Q, V, strict=True)), start=0 * expression)


def rotation():
    """B by (40), with Ω_x, Ω_y, Ω_z as they are printed."""
    psi, theta, phi = (SYMBOLS[n] for n in ("psi", "theta", "phi"))

    def cs(a):
        return sp.cos(a), sp.sin(a)

    (c, s), (ct, st), (cf, sf) = cs(-psi), cs(theta), cs(phi)
    omega_x = sp.Matrix([[1, 0, 0], [0, ct, -st], [0, st, ct]])
    omega_y = sp.Matrix([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    omega_z = sp.Matrix([[cf, -sf, 0], [sf, cf, 0], [0, 0, 1]])
    return omega_z * omega_x * omega_y


def short(expression):
    """The remainder of a polynomial in sines and cosines by sin² + cos² − 1: unique, and zero if the polynomial is."""
    angles = [SYMBOLS[n] for n in ("psi", "theta", "phi")]
    plain = sp.expand(sp.expand_trig(expression))
    generators = [*(sp.sin(a) for a in angles), *(sp.cos(a) for a in angles)]
    return sp.reduced(plain, [sp.sin(a) ** 2 + sp.cos(a) ** 2 - 1 for a in angles], *generators, order="lex")[1]


def vanishes(expression) -> bool:
    return short(expression) == 0


@pytest.fixture(scope="module")
def by_hand():
    """M = ∂²T/∂q̇², C by Christoffel symbols with Ṁ − 2C skew, D from (2), all written out here."""
    turn = rotation()
    spin = (turn.T * rate(turn)).applyfunc(short)
    omega = sp.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
    moments = sp.diag(SYMBOLS["I_1"], SYMBOLS["I_3"], SYMBOLS["I_2"])  # about x, the axle y, z
    kinetic = SYMBOLS["m"] * sum(v**2 for v in V[:3]) / 2 + (omega.T * moments * omega)[0] / 2
    mass = sp.hessian(sp.expand(kinetic), V)
    coriolis = sp.zeros(6, 6)
    for k in range(6):
        for j in range(6):
            coriolis[k, j] = sum(
                (mass[k, j].diff(Q[i]) + mass[k, i].diff(Q[j]) - mass[i, j].diff(Q[k])) * V[i] / 2 for i in range(6)
            )
    sideways = UY.cross(turn.T * UZ)  # its length is |cos θ|; the lean stays within ±90°
    contact = SYMBOLS["r"] * UY.cross(sideways).applyfunc(lambda entry: sp.cancel(entry / sp.cos(SYMBOLS["theta"])))
    velocity = sp.Matrix(V[:3]) + rate(turn) * contact
    return {"M": mass, "C": coriolis, "D": velocity.jacobian(V)}


@pytest.fixture(scope="module")
def entries():
    return {entry.name: entry for entry in compare_with_print()}


def test_the_table_is_what_lagrange_gives_by_hand(entries, by_hand):
    letters = ("x", "y", "z", "ψ", "θ", "φ")
    named = {f"{m}[{letters[i]}, {letters[j]}]": e for m, a in by_hand.items() for (i, j), e in _entries(a)}
    for name, entry in entries.items():
        assert vanishes(_ours(entry.derived) - named[name]), name
        assert vanishes(_ours(entry.printed) + _ours(entry.lacking) - named[name]), name
    for name, expression in named.items():
        assert name in entries or vanishes(expression), name  # nothing is left out of the table


def test_which_printed_entries_are_right(entries):
    right = {name for name, entry in entries.items() if entry.right}
    lacking = {name for name, entry in entries.items() if not entry.right}
    assert {n for n in right if n[0] == "M"} == {f"M[{a}, {a}]" for a in "xyzψθφ"}
    assert {n for n in lacking if n[0] == "M"} == {"M[ψ, φ]", "M[φ, ψ]", "M[θ, φ]", "M[φ, θ]"}
    assert not {n for n in right if n[0] == "C"}
    assert len({n for n in lacking if n[0] == "C"}) == 8
    assert all(n in right for n in entries if n[0] == "D")
    i1, i2, i3, psi, theta = (SYMBOLS[n] for n in ("I_1", "I_2", "I_3", "psi", "theta"))
    assert vanishes(_ours(entries["M[ψ, φ]"].lacking) - i3 * sp.sin(theta))
    assert vanishes(_ours(entries["M[θ, φ]"].lacking) - (i2 - i1) * sp.sin(psi) * sp.cos(psi) * sp.cos(theta))


def test_the_printed_coriolis_matrix_lacks_its_own_diagonal():
    """C as printed is that of the printed, diagonal M but for C[θ, θ] and C[φ, φ]; so Ṁ − 2C is not skew, not even there."""
    printed = printed_matrices(SYMBOLS)
    mass, coriolis = printed["M"], printed["C"]
    skew = rate(mass) - 2 * coriolis
    symmetric = skew + skew.T
    bad = {place for place, entry in _entries(symmetric) if not vanishes(entry)}
    assert bad == {(4, 4), (5, 5)}
    for k in range(3, 6):
        for j in range(3, 6):
            own = sum((mass[k, j].diff(Q[i]) + mass[k, i].diff(Q[j]) - mass[i, j].diff(Q[k])) * V[i] / 2 for i in range(3, 6))
            assert vanishes(own - coriolis[k, j]) == ((k, j) not in bad), (k, j)


def test_christoffel_symbols_as_printed_are_not_skew(by_hand):
    """After (19) i and k are exchanged: with c_ijk = ½(∂g_ij/∂q_k + ∂g_ik/∂q_j − ∂g_jk/∂q_i) as printed Ṁ − 2C is not skew."""
    mass = by_hand["M"]
    values = {symbol: sp.Rational(k + 2, 7) for k, symbol in enumerate(SYMBOLS.values())}

    def skewness(symbol):
        coriolis = sp.Matrix(6, 6, lambda k, j: sum(symbol(i, j, k) * V[i] for i in range(6)))
        skew = (rate(mass) - 2 * coriolis).xreplace(values).evalf(30)
        return max(abs(entry) for entry in skew + skew.T)

    def printed(i, j, k):
        return (mass[i, j].diff(Q[k]) + mass[i, k].diff(Q[j]) - mass[j, k].diff(Q[i])) / 2

    assert skewness(lambda i, j, k: printed(k, j, i)) < 1e-25
    assert skewness(printed) > 1e-2


def test_the_study_prints_the_table():
    study = sanjuan_disk_matrices()
    text = "\n".join(study.findings)
    assert "M[ψ, φ]    0  —  lacks I₃ sin θ" in text
    assert "28 entries, 16 right, 12 incomplete" in text
    assert set(study.figures) == {"disk", "by_the_print"}


def _entries(matrix):
    return [((i, j), matrix[i, j]) for i in range(matrix.rows) for j in range(matrix.cols)]


def _ours(expression):
    """In the symbols of this file."""
    expression = sp.sympify(expression)
    return expression.xreplace({symbol: SYMBOLS[symbol.name] for symbol in expression.free_symbols})

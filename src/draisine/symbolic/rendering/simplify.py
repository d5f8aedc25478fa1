"""Simplification of matrix entries by trigonometric identities, fast enough for the matrices of a mechanism.

SymPy's `simplify` takes half a minute for the mass matrix of a disk. Most of that length is sin² + cos² = 1 expanded, so an
entry is first reduced by these identities as a polynomial in its sines and cosines; `simplify` is applied to the remainder.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from draisine.expr.safe_functions import TINY

if TYPE_CHECKING:
    import sympy

LAST_POLISH = 200  # operations up to which `sympy.simplify` is applied
READABLE = 16  # greatest denominator shown as a fraction; other numbers are shown as decimals


def simplified_matrix(matrix: sympy.Matrix) -> sympy.Matrix:
    return matrix.applyfunc(simplified)


@lru_cache(maxsize=1000)  # matrices are symmetric, and have entries in common
def simplified(expression: Any) -> Any:
    """The shortest of a few equal forms.

    >>> import sympy
    >>> x, a = sympy.symbols("x a", real=True)
    >>> simplified(0.5 * a * sympy.sin(x) ** 2 + a * sympy.cos(x) ** 2 / 2)
    a/2
    """
    import sympy

    best = reduced(expression)
    if not best.is_Atom and sympy.count_ops(best) <= LAST_POLISH:
        best = min((best, sympy.simplify(best), sympy.factor_terms(sympy.trigsimp(best))), key=sympy.count_ops)
    return _decimal(best)


def reduced(expression: Any) -> Any:
    """Simplified by identities alone, with exact numbers: for intermediate results."""
    import sympy

    exact = _exact(expression)
    if exact.is_Atom:
        return exact
    inner = _simplified_inside(exact)
    forms = [inner, *(_by_signs(_reduced(inner, kept)) for kept in (sympy.sin, sympy.cos))]
    return min(forms, key=sympy.count_ops)


def without_guards(expression: Any) -> Any:
    """Lengths and angles without guards against zero (`expr.safe_functions`), which programs evaluate each time.

    >>> import sympy
    >>> x = sympy.Symbol("x", real=True)
    >>> without_guards(sympy.Piecewise((x, x**2 > 1e-200), (0, True)) + sympy.Piecewise((1, x**2 <= 1e-200), (0, True)))
    x
    """
    import sympy
    from sympy.core.relational import GreaterThan, LessThan, StrictGreaterThan, StrictLessThan

    relations = expression.atoms(GreaterThan, LessThan, StrictGreaterThan, StrictLessThan)
    tiny = [r for r in relations if any(side.is_Float and abs(float(side) / TINY**2 - 1) < 1e-12 for side in r.args)]
    # true if the greater side is the quantity, not the tiny number
    return expression.xreplace({r: sympy.false if r.gts.is_number else sympy.true for r in tiny})


def readable_fractions(expression: Any) -> Any:
    """0.5 as ½ and so on, if a float is a fraction with a small denominator; other floats are unchanged."""
    import sympy

    numbers = {number: sympy.Rational(repr(float(number))) for number in expression.atoms(sympy.Float)}
    return expression.xreplace({n: exact if exact.q <= READABLE else sympy.Float(float(n)) for n, exact in numbers.items()})


def _exact(expression: Any) -> Any:
    """All numbers as fractions, decimals as printed: polynomials over floats lose their common factors."""
    import sympy

    expression = sympy.sympify(expression, strict=True)
    return expression.xreplace({number: sympy.Rational(repr(float(number))) for number in expression.atoms(sympy.Float)})


def _decimal(expression: Any) -> Any:
    import sympy

    long = [number for number in expression.atoms(sympy.Rational) if number.q > READABLE]
    return expression.xreplace({number: sympy.Float(float(number)) for number in long})


def _simplified_inside(expression: Any) -> Any:
    """Simplify radicands and arguments of functions first, so that √(1 − sin²) becomes |cos|."""
    import sympy

    def is_outer(node: Any) -> bool:
        if isinstance(node, sympy.Piecewise):
            return False  # branches are kept as in the model
        return (node.is_Pow and not node.exp.is_Integer) or (isinstance(node, sympy.Function) and not node.args[0].is_Atom)

    done: dict[Any, Any] = {}
    for node in sympy.postorder_traversal(expression):
        if node in done or not is_outer(node):
            continue
        arguments = [simplified(a.xreplace(done)) if not a.is_Atom else a for a in node.args]
        done[node] = node.func(*arguments)
    return expression.xreplace(done)


def odd_powers(expression: Any, sign: Any) -> Any:
    """σ² = 1."""
    return expression.replace(lambda n: n.is_Pow and n.base == sign and n.exp.is_Integer, lambda n: sign ** (n.exp % 2))


def _by_signs(expression: Any) -> Any:
    """a/|a| as sign(a), where |a| divides: then a = 0 is excluded already."""
    import sympy

    for size in [p.base for p in expression.atoms(sympy.Pow) if isinstance(p.base, sympy.Abs) and p.exp.is_negative]:
        (inside,) = size.args
        sign = sympy.Dummy("sign", real=True)
        signed = sympy.cancel(expression.xreplace({size: inside * sign, 1 / size: sign / inside}))
        expression = odd_powers(signed, sign).subs(inside * sign, size).xreplace({sign: sympy.sign(inside)})
    return expression


def _reduced(expression: Any, kept: Any) -> Any:
    """Numerator and denominator divided by sin² + cos² − 1 of every angle, so that only squares of `kept` are left."""
    import sympy

    above, below = sympy.fraction(sympy.together(expression))
    return sympy.cancel(_remainder(above, kept) / _remainder(below, kept)) if below != 1 else _remainder(above, kept)


def _remainder(polynomial: Any, kept: Any) -> Any:
    import sympy

    angles = {node.args[0] for node in polynomial.atoms(sympy.sin, sympy.cos)}
    if not angles:
        return sympy.factor_terms(sympy.expand(polynomial))
    replaced = sympy.cos if kept is sympy.sin else sympy.sin
    ordered = sorted(angles, key=sympy.default_sort_key)
    generators = [*(replaced(a) for a in ordered), *(kept(a) for a in ordered)]
    identities = [replaced(a) ** 2 + kept(a) ** 2 - 1 for a in ordered]
    try:
        _, rest = sympy.reduced(sympy.expand(polynomial), identities, *generators, order="lex")
    except sympy.PolynomialError:
        return polynomial  # the angle occurs outside its sine and cosine: no polynomial in them
    return sympy.factor_terms(rest)

"""Functions that a language may lack, each written once as a list of operations.

A language without a template for `erf`, for example, gets a function generated from this list. They need only arithmetic,
comparisons, conditionals, and abs, exp, log, sqrt, sinh, atanh, fmod.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca

_LARGEST, _SMALLEST = 1.7976931348623157e308, 2.2250738585072014e-308  # normal doubles


@cache
def fallback(operation: str) -> ca.Function:
    """The function of one or two numbers that stands for an operation."""
    build, count = _FALLBACKS[operation]
    x = [ca.SX.sym(name) for name in ("x", "y")[:count]]
    return ca.Function(operation, x, [build(*x)])


def _not_a_number(x: Any) -> Any:
    return ca.logic_not(x <= ca.inf)  # written so because CasADi takes x ≠ x to be false


def _sign(x: Any) -> Any:
    return ca.if_else(x > 0, 1.0, ca.if_else(x < 0, -1.0, x))


def _copysign(x: Any, y: Any) -> Any:
    return ca.if_else(ca.logic_or(y < 0, 1 / y < 0), -ca.fabs(x), ca.fabs(x))


def _fmin(x: Any, y: Any) -> Any:
    return ca.if_else(ca.logic_or(y < x, _not_a_number(x)), y, x)


def _fmax(x: Any, y: Any) -> Any:
    return ca.if_else(ca.logic_or(x < y, _not_a_number(x)), y, x)


def _remainder(x: Any, y: Any) -> Any:
    """x − n y with n the whole number nearest to x/y, the even one of two; after fdlibm's e_remainder.c."""
    a, b = ca.fabs(x), ca.fabs(y)
    finite = ca.if_else(a <= _LARGEST, a, math.nan)
    a = ca.if_else(b > 0.5 * _LARGEST, finite, ca.fmod(a, b + b))
    tiny = b < 2 * _SMALLEST  # half of it might not be exact
    once = ca.if_else(ca.if_else(tiny, a + a > b, a > 0.5 * b), a - b, a)
    twice = ca.if_else(ca.if_else(tiny, once + once >= b, once >= 0.5 * b), once - b, once)
    rest = ca.if_else(ca.if_else(tiny, a + a > b, a > 0.5 * b), twice, a)
    return ca.if_else(x < 0, -rest, rest)


def _log1p(x: Any) -> Any:
    # Not Kahan's log(u) x/(u − 1) with u = 1 + x: CasADi simplifies (1 + x) − 1.
    return ca.if_else(ca.fabs(x) < 0.5, 2 * ca.atanh(x / (2 + x)), ca.log(1 + x))


def _expm1(x: Any) -> Any:
    return ca.if_else(ca.fabs(x) < 1, 2 * ca.sinh(0.5 * x) * ca.exp(0.5 * x), ca.exp(x) - 1)


# Rational approximations of fdlibm (Sun Microsystems, 1993), lowest power first: on |x| < 0.84375, about 1 up to 1.25, and of
# the tail up to 1/0.35 and beyond.
_NEAR = (
    *(1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03),
    -2.37630166566501626084e-05,
)
_NEAR_BELOW = (
    *(1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04),
    -3.96022827877536812320e-06,
)
_ABOUT_ONE = (
    *(-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01),
    *(-1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
)
_ABOUT_ONE_BELOW = (
    *(1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01),
    *(1.36370839120290507362e-02, 1.19844998467991074170e-02),
)
_TAIL = (
    *(-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01, -6.23753324503260060396e01),
    *(-1.62396669462573470355e02, -1.84605092906711035994e02, -8.12874355063065934246e01, -9.81432934416914548592e00),
)
_TAIL_BELOW = (
    *(1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02, 6.45387271733267880336e02),
    *(4.29008140027567833386e02, 1.08635005541779435134e02, 6.57024977031928170135e00, -6.04244152148580987438e-02),
)
_FAR = (
    *(-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01, -1.60636384855821916062e02),
    *(-6.37566443368389627722e02, -1.02509513161107724954e03, -4.83519191608651397019e02),
)
_FAR_BELOW = (
    *(1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03, 3.19985821950859553908e03),
    *(2.55305040643316442583e03, 4.74528541206955367215e02, -2.24409524465858183362e01),
)


def _erf(x: Any) -> Any:
    a = ca.fabs(x)
    near = x + x * _ratio(_NEAR, _NEAR_BELOW, x * x)
    about_one = 0.845062911510467529297 + _ratio(_ABOUT_ONE, _ABOUT_ONE_BELOW, a - 1)
    s = 1 / (a * a)
    rest = ca.if_else(a < 1 / 0.35, _ratio(_TAIL, _TAIL_BELOW, s), _ratio(_FAR, _FAR_BELOW, s))
    tail = 1 - ca.exp(rest - a * a - 0.5625) / a
    beyond = ca.if_else(a < 1.25, about_one, ca.if_else(a < 6, tail, ca.if_else(_not_a_number(a), a, 1.0)))
    return ca.if_else(a < 0.84375, near, ca.if_else(x < 0, -beyond, beyond))


def _erfinv(x: Any) -> Any:
    """On |x|: a rational approximation to a few digits (two ranges), then two Newton steps."""
    a = ca.fabs(x)
    low = (0.886226899, -1.645349621, 0.914624893, -0.140543331), (1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801)
    high = (-1.970840454, -1.624906493, 3.429567803, 1.641345311), (1.0, 3.543889200, 1.637067800)
    inside = a < 1
    shielded = ca.if_else(inside, a, 0.5)
    y = ca.if_else(a < 0.7, a * _ratio(*low, a * a), _ratio(*high, ca.sqrt(-ca.log(0.5 * (1 - shielded)))))
    for _ in range(2):
        y = y - (ca.erf(y) - a) * ca.exp(y * y) * 0.886226925452758
    y = ca.if_else(inside, y, ca.if_else(a == 1, ca.inf, math.nan))
    return ca.if_else(x < 0, -y, y)


def _ratio(above: tuple[float, ...], below: tuple[float, ...], x: Any) -> Any:
    return _polynomial(above, x) / _polynomial(below, x)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    value = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = c + x * value
    return value


_FALLBACKS: dict[str, tuple[Callable[..., Any], int]] = {
    "sign": (_sign, 1),
    "copysign": (_copysign, 2),
    "fmin": (_fmin, 2),
    "fmax": (_fmax, 2),
    "remainder": (_remainder, 2),
    "log1p": (_log1p, 1),
    "expm1": (_expm1, 1),
    "erf": (_erf, 1),
    "erfinv": (_erfinv, 1),
}

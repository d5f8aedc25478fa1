"""Sine and cosine in one function (sincos), as text of LLVM's intermediate language.

Mechanics needs both of most angles. One function computes both in about the time of one, and results do not depend on the C
library of the platform. Errors are below 0.8 units in the last place (measured). The method and the coefficients are those of
fdlibm (Sun Microsystems, 1993): subtract a multiple of π/2 in three parts, then two polynomials on [−π/4, π/4]. Beyond about
800,000 radians, where three parts of π/2 do not suffice, the C library is called.
"""

from __future__ import annotations

from draisine.codegen.jit.emitter import DOUBLE, Emitter, ScalarType

NAME = "sine_and_cosine"

_FARTHEST = 819200.0  # 2¹⁹ quarter turns: the product with a part of 33 bits is still exact
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves a whole number in the last bits
_QUARTER_TURNS = 6.36619772367581382433e-01  # 2/π
_PARTS = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # of π/2: 33 bits, 33 bits, the rest
_SINE = (
    *(-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04),
    *(2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10),
)
_COSINE = (
    *(4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05),
    *(-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11),
)
_SIGN_BIT = -(2**63)


def definitions(scalar: ScalarType) -> list[str]:
    """The function that returns { sine, cosine } of a number; the one for vectors calls the one for doubles."""
    return [_definition(DOUBLE)] if scalar.lanes == 1 else [_definition(DOUBLE), _definition(scalar)]


def _definition(scalar: ScalarType) -> str:
    head, far, near = Emitter(scalar, "h"), Emitter(scalar, "f"), Emitter(scalar, "t")
    is_far = head.compare("ogt", head.call("llvm.fabs", "%x"), scalar.number(_FARTHEST))
    if scalar.lanes > 1:  # all lanes take the branch of the library if one needs it
        bits = head.emit(f"bitcast {scalar.truth} {is_far} to i{scalar.lanes}")
        is_far = head.emit(f"icmp ne i{scalar.lanes} {bits}, 0")
    return "\n".join(
        [
            f"define internal {scalar.pair} @{scalar.function(NAME)}({scalar.real} %x) nounwind noinline {{",
            *head.lines,
            f"br i1 {is_far}, label %library, label %here",
            "library:",
            *_returned(far, *_far(far)),
            "here:",
            *_returned(near, *_near(near)),
            "}",
        ]
    )


def _returned(code: Emitter, sine: str, cosine: str) -> list[str]:
    pair, real = code.scalar.pair, code.real
    one = code.emit(f"insertvalue {pair} undef, {real} {sine}, 0")
    both = code.emit(f"insertvalue {pair} {one}, {real} {cosine}, 1")
    return [*code.lines, f"ret {pair} {both}"]


def _far(code: Emitter) -> tuple[str, str]:
    """By the C library. Each lane calls the function of doubles, since not all need the library."""
    if code.scalar.lanes == 1:
        return code.call("llvm.sin", "%x"), code.call("llvm.cos", "%x")
    pairs = [code.emit(f"call {DOUBLE.pair} @{NAME}(double {x})") for x in code.lanes("%x")]
    sine, cosine = (code.join_lanes([code.emit(f"extractvalue {DOUBLE.pair} {both}, {k}") for both in pairs]) for k in (0, 1))
    return sine, cosine


def _polynomial(code: Emitter, z: str, *coefficients: float) -> str:
    """c₀ + c₁ z + c₂ z² …"""
    value = code.number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = code.fused(z, value, code.number(c))
    return value


def _near(code: Emitter) -> tuple[str, str]:
    turns, y, tail = _reduced(code)
    z = code.mul(y, y)
    sine, cosine = _sine(code, y, tail, z), _cosine(code, y, tail, z)
    scalar = code.scalar
    odd = code.emit(f"trunc {scalar.whole} {turns} to {scalar.truth}")
    first, second = code.select(odd, cosine, sine), code.select(odd, sine, cosine)
    return _signed(code, first, turns), _signed(code, second, code.emit(f"add {scalar.whole} {turns}, {scalar.integer(1)}"))


def _reduced(code: Emitter) -> tuple[str, str, str]:
    """The number of quarter turns (its last bits), and the remainder of x as y + tail."""
    shifted = code.fused("%x", code.number(_QUARTER_TURNS), code.number(_ROUND))
    n = code.sub(shifted, code.number(_ROUND))
    first = code.fused(n, code.number(-_PARTS[0]), "%x")
    second = code.mul(n, code.number(_PARTS[1]))
    rest = code.sub(first, second)
    # The rounding error of the last subtraction; not fused, since the products must be the same numbers.
    lost = code.sub(code.sub(first, rest), second)
    third = code.sub(code.mul(n, code.number(_PARTS[2])), lost)
    y = code.sub(rest, third)
    tail = code.sub(code.sub(rest, y), third)
    return code.emit(f"bitcast {code.real} {shifted} to {code.scalar.whole}"), y, tail


def _sine(code: Emitter, y: str, tail: str, z: str) -> str:
    """y − ((z (tail/2 − y³ r) − tail) − s₁ y³), with r the polynomial from s₂ on."""
    r = _polynomial(code, z, *_SINE[1:])
    cube = code.mul(z, y)
    inner = code.fused(code.number(0.5), tail, code.negate(code.mul(cube, r)))
    inner = code.fused(cube, code.number(-_SINE[0]), code.fused(z, inner, code.negate(tail)))
    return code.sub(y, inner)


def _cosine(code: Emitter, y: str, tail: str, z: str) -> str:
    """w + (((1 − w) − z/2) + (z² r − y tail)), with w = 1 − z/2 rounded."""
    r = code.mul(z, _polynomial(code, z, *_COSINE))
    half, one = code.mul(code.number(0.5), z), code.number(1.0)
    w = code.sub(one, half)
    lost = code.sub(code.sub(one, w), half)
    return code.add(w, code.add(lost, code.fused(z, r, code.negate(code.mul(y, tail)))))


def _signed(code: Emitter, value: str, turns: str) -> str:
    """Negative in the second half turn: bit 1 of the quarter turns becomes the sign."""
    real, whole, integer = code.real, code.scalar.whole, code.scalar.integer
    sign = code.emit(f"and {whole} {code.emit(f'shl {whole} {turns}, {integer(62)}')}, {integer(_SIGN_BIT)}")
    bits = code.emit(f"bitcast {real} {value} to {whole}")
    return code.emit(f"bitcast {whole} {code.emit(f'xor {whole} {bits}, {sign}')} to {real}")

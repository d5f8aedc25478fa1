"""Arctangents of one and of two numbers, as text of LLVM's intermediate language.

Tires have a dozen arctangents in every evaluation, leans and headings two. One function without branches serves both, on doubles
and on vectors; results do not depend on the C library of the platform. Errors are below 0.8 units in the last place of atan and
1.2 of atan2 (measured). The method and the coefficients are those of fdlibm (Sun Microsystems, 1993): with the nearest of the
numbers c = 0, ½, 1, 3/2 and ∞,

    atan(y/x) = atan c + atan((y − c x)/(x + c y)),

and a polynomial on [−7/16, 7/16]. The quotient is that of the two numbers themselves, so that atan2 divides once, too. Where one
of these is not finite, zero, or near the limits of floating point, the C library is called.
"""

from __future__ import annotations

from draisine.codegen.jit.emitter import ARCTANGENT, ARCTANGENT_2, DOUBLE, Emitter, ScalarType
from draisine.program import opcodes as op

_BORDERS = (0.4375, 0.6875, 1.1875, 2.4375)  # of y/x, between the intervals of c
_NEAREST = (0.0, 0.5, 1.0, 1.5)  # c; the last interval has y and x exchanged
_ANGLES = (0.0, 4.63647609000806093515e-01, 7.85398163397448278999e-01, 9.82793723247329054082e-01, 1.57079632679489655800e00)
_REST = (0.0, 2.26987774529616870924e-17, 3.06161699786838301793e-17, 1.39033110312309984516e-17, 6.12323399573676603587e-17)
_EVEN = (
    *(3.33333333333329318027e-01, 1.42857142725034663711e-01, 9.09088713343650656196e-02),
    *(6.66107313738753120669e-02, 4.97687799461593236017e-02, 1.62858201153657823623e-02),
)
_ODD = (
    *(-1.99999999998764832476e-01, -1.11111104054623557880e-01, -7.69187620504482999495e-02),
    *(-5.83357013379057348645e-02, -3.65315727442169155270e-02),
)
_PI, _REST_OF_PI = 3.14159265358979311600e00, 1.22464679914735320717e-16
_SMALLEST, _LARGEST = 1e-150, 1e150  # of the numbers of atan2: nothing overflows, no quotient loses digits


def definitions(kinds: set[int], scalar: ScalarType) -> list[str]:
    """The functions that these operations call; those for vectors call that for doubles where a lane is rare."""
    found = [_of_one(scalar)] if op.ATAN in kinds else []
    if op.ATAN2 in kinds:
        found += [_of_two(DOUBLE)] if scalar.lanes == 1 else [_of_two(DOUBLE), _of_two(scalar)]
    return found


def _of_one(scalar: ScalarType) -> str:
    code = Emitter(scalar)
    angle = _first_quadrant(code, code.call("llvm.fabs", "%x"), code.number(1.0))
    result = code.call("llvm.copysign", angle, "%x")
    head = f"define internal {scalar.real} @{scalar.function(ARCTANGENT)}({scalar.real} %x) nounwind noinline {{"
    return "\n".join([head, *code.lines, f"ret {scalar.real} {result}", "}"])


def _of_two(scalar: ScalarType) -> str:
    head, rare, usual = Emitter(scalar, "h"), Emitter(scalar, "r"), Emitter(scalar, "t")
    y, x = head.call("llvm.fabs", "%y"), head.call("llvm.fabs", "%x")
    inside = [head.compare("ogt", size, head.number(_SMALLEST)) for size in (y, x)]
    inside += [head.compare("olt", size, head.number(_LARGEST)) for size in (y, x)]
    both = inside[0]
    for condition in inside[1:]:
        both = head.emit(f"and {scalar.truth} {both}, {condition}")
    if scalar.lanes > 1:  # all lanes take the branch of the library if one needs it
        bits = head.emit(f"bitcast {scalar.truth} {both} to i{scalar.lanes}")
        both = head.emit(f"icmp eq i{scalar.lanes} {bits}, -1")
    if scalar.lanes == 1:
        other = rare.emit("call double @atan2(double %y, double %x)")
    else:
        other = rare.lane_by_lane(lambda a, b: rare.emit(f"call double @{ARCTANGENT_2}(double {a}, double {b})"), "%y", "%x")
    angle, real = _all_quadrants(usual, y, x), scalar.real
    return "\n".join(
        [
            f"define internal {real} @{scalar.function(ARCTANGENT_2)}({real} %y, {real} %x) nounwind noinline {{",
            *head.lines,
            f"br i1 {both}, label %usual, label %rare",
            "rare:",
            *rare.lines,
            f"ret {scalar.real} {other}",
            "usual:",
            *usual.lines,
            f"ret {scalar.real} {angle}",
            "}",
        ]
    )


def _all_quadrants(code: Emitter, y: str, x: str) -> str:
    """The angle of (%x, %y), whose sizes are x and y."""
    acute = _first_quadrant(code, y, x)
    obtuse = code.sub(code.number(_PI), code.sub(acute, code.number(_REST_OF_PI)))
    size = code.select(code.compare("olt", "%x", code.number(0.0)), obtuse, acute)
    return code.call("llvm.copysign", size, "%y")


def _first_quadrant(code: Emitter, y: str, x: str) -> str:
    """atan(y/x) of numbers that are not negative."""
    beyond = [code.compare("oge", y, code.mul(code.number(border), x)) for border in _BORDERS]
    nearest, angle, rest = (_chosen(code, beyond, values) for values in (_NEAREST, _ANGLES, _REST))
    last = beyond[-1]
    above = code.select(last, code.negate(x), code.fused(code.negate(nearest), x, y))
    below = code.select(last, y, code.fused(nearest, y, x))
    t = code.div(above, below)
    z = code.mul(t, t)
    w = code.mul(z, z)
    odd, even = code.mul(w, _polynomial(code, w, _ODD)), _polynomial(code, w, _EVEN)
    bent = code.fused(t, code.fused(z, even, odd), code.negate(rest))
    return code.sub(angle, code.sub(bent, t))


def _chosen(code: Emitter, beyond: list[str], values: tuple[float, ...]) -> str:
    """The value of the interval, of which the borders are passed up to some one."""
    found = code.number(values[0])
    for condition, value in zip(beyond, values[1:], strict=False):
        found = code.select(condition, code.number(value), found)
    return found


def _polynomial(code: Emitter, w: str, coefficients: tuple[float, ...]) -> str:
    value = code.number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = code.fused(w, value, code.number(c))
    return value

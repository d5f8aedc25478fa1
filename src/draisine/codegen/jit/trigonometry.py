"""Sine and cosine together, as text of LLVM's intermediate language.

Most angles of mechanics are needed with both. One function gives both, in about the time of one; it reads the same on every
platform, so that results do not depend on the C library. Errors stay below 0.8 units in the last place (measured). The method and
the coefficients are those of fdlibm (Sun Microsystems, 1993): subtract a multiple of π/2 in three parts, then two polynomials on
[−π/4, π/4]. Beyond some 800,000 radians, where three parts of π/2 do not suffice, the C library is asked.
"""

from __future__ import annotations

from draisine.codegen.jit.operations import ONE, number

NAME = "sine_and_cosine"
PAIR = "{ double, double }"

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


def definition() -> str:
    """The function `{ double, double } @sine_and_cosine(double)`."""
    code = _Code()
    sine, cosine = _near(code)
    return "\n".join(
        [
            f"define internal {PAIR} @{NAME}(double %x) nounwind noinline {{",
            "%size = call double @llvm.fabs.f64(double %x)",
            f"%far = fcmp ogt double %size, {number(_FARTHEST)}",
            "br i1 %far, label %library, label %here",
            "library:",
            "%far_sine = call double @llvm.sin.f64(double %x)",
            "%far_cosine = call double @llvm.cos.f64(double %x)",
            *_returned("far", "%far_sine", "%far_cosine"),
            "here:",
            *code.lines,
            *_returned("near", sine, cosine),
            "}",
        ]
    )


def _returned(which: str, sine: str, cosine: str) -> list[str]:
    return [
        f"%{which}_one = insertvalue {PAIR} undef, double {sine}, 0",
        f"%{which}_both = insertvalue {PAIR} %{which}_one, double {cosine}, 1",
        f"ret {PAIR} %{which}_both",
    ]


class _Code:
    """Lines of code, each giving a name."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def emit(self, instruction: str) -> str:
        self.lines.append(f"%t{len(self.lines)} = {instruction}")
        return f"%t{len(self.lines) - 1}"

    def add(self, a: str, b: str) -> str:
        return self.emit(f"fadd contract double {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.emit(f"fsub contract double {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.emit(f"fmul contract double {a}, {b}")

    def polynomial(self, z: str, *coefficients: float) -> str:
        """c₀ + c₁ z + c₂ z² …"""
        value = number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.add(self.mul(z, value), number(c))
        return value


def _near(code: _Code) -> tuple[str, str]:
    turns, y, tail = _reduced(code)
    z = code.mul(y, y)
    sine, cosine = _sine(code, y, tail, z), _cosine(code, y, tail, z)
    odd = code.emit(f"trunc i64 {turns} to i1")
    first = code.emit(f"select i1 {odd}, double {cosine}, double {sine}")
    second = code.emit(f"select i1 {odd}, double {sine}, double {cosine}")
    return _signed(code, first, turns), _signed(code, second, code.emit(f"add i64 {turns}, 1"))


def _reduced(code: _Code) -> tuple[str, str, str]:
    """The number of quarter turns (its last bits), and what is left of x as y + tail."""
    shifted = code.add(code.mul("%x", number(_QUARTER_TURNS)), number(_ROUND))
    n = code.emit(f"fsub double {shifted}, {number(_ROUND)}")
    first = code.sub("%x", code.mul(n, number(_PARTS[0])))
    second = code.emit(f"fmul double {n}, {number(_PARTS[1])}")
    rest = code.emit(f"fsub double {first}, {second}")
    # What the last subtraction rounded away; without `contract`, since the products must be the same numbers.
    lost = code.emit(f"fsub double {code.emit(f'fsub double {first}, {rest}')}, {second}")
    third = code.emit(f"fsub double {code.emit(f'fmul double {n}, {number(_PARTS[2])}')}, {lost}")
    y = code.emit(f"fsub double {rest}, {third}")
    tail = code.emit(f"fsub double {code.emit(f'fsub double {rest}, {y}')}, {third}")
    return code.emit(f"bitcast double {shifted} to i64"), y, tail


def _sine(code: _Code, y: str, tail: str, z: str) -> str:
    """y − ((z (tail/2 − y³ r) − tail) − s₁ y³), with r the polynomial from s₂ on."""
    r = code.polynomial(z, *_SINE[1:])
    cube = code.mul(z, y)
    inner = code.sub(code.mul(number(0.5), tail), code.mul(cube, r))
    inner = code.sub(code.sub(code.mul(z, inner), tail), code.mul(cube, number(_SINE[0])))
    return code.sub(y, inner)


def _cosine(code: _Code, y: str, tail: str, z: str) -> str:
    """w + (((1 − w) − z/2) + (z² r − y tail)), with w = 1 − z/2 rounded."""
    r = code.mul(z, code.polynomial(z, *_COSINE))
    half = code.emit(f"fmul double {number(0.5)}, {z}")
    w = code.emit(f"fsub double {ONE}, {half}")
    lost = code.emit(f"fsub double {code.emit(f'fsub double {ONE}, {w}')}, {half}")
    return code.add(w, code.add(lost, code.sub(code.mul(z, r), code.mul(y, tail))))


def _signed(code: _Code, value: str, turns: str) -> str:
    """Negative in the second half of the turn: bit 1 of the quarter turns becomes the sign."""
    sign = code.emit(f"and i64 {code.emit(f'shl i64 {turns}, 62')}, {_SIGN_BIT}")
    bits = code.emit(f"bitcast double {value} to i64")
    return code.emit(f"bitcast i64 {code.emit(f'xor i64 {bits}, {sign}')} to double")

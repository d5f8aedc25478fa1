"""Closed forms of the Whipple matrices M, C₁, K₀ and K₂ as formulas in the parameters, derived from the nonlinear model.

The program of `whipple_program` is evaluated in exact rational functions of the parameters and of sine and cosine of each angle,
modulo sin² + cos² = 1; common factors are canceled after every operation, which avoids expression swell. The results are linear
in masses and moments of inertia; each coefficient is factored separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine.bicycle.whipple_matrices import Naming, whipple_program
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.stability.linearization import equations_of
from draisine.symbolic.rendering.formulas import latex_name
from draisine.symbolic.sympy_bridge import Listing, to_sympy

if TYPE_CHECKING:
    import sympy

_SEED = 2  # of SymPy's random numbers
_LINEAR = ("kg", "kg*m^2")  # units of the parameters in which the matrices are linear


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f as SymPy matrices; q = `names`, in the model's axes (see `z_down`)."""

    names: tuple[str, str]
    symbols: Mapping[str, sympy.Symbol]  # of the parameters, by name
    M: sympy.Matrix
    C1: sympy.Matrix
    K0: sympy.Matrix
    K2: sympy.Matrix

    def z_down(self) -> ClosedForm:
        """The matrices for steer positive to the right, as in texts with the z axis down."""
        import sympy

        turn = sympy.diag(1, -1)
        return ClosedForm(self.names, self.symbols, *(turn * m * turn for m in self.matrices.values()))

    @property
    def matrices(self) -> dict[str, sympy.Matrix]:
        return {"M": self.M, "C1": self.C1, "K0": self.K0, "K2": self.K2}

    def latex(self) -> str:
        """LaTeX, one line for each nonzero entry."""
        import sympy

        symbol_names = {symbol: latex_name(name) for name, symbol in self.symbols.items()}
        lines = []
        for name, matrix in self.matrices.items():
            letter = f"{name[0]}_{{{name[1:]}}}" if len(name) > 1 else name
            for i, row in enumerate(self.names):
                for j, column in enumerate(self.names):
                    if matrix[i, j] != 0:
                        formula = sympy.latex(matrix[i, j], symbol_names=symbol_names)
                        lines.append(rf"({letter})_{{\mathrm{{{row},{column}}}}} = {formula}")
        return "\n".join(lines)


def closed_form(
    model: Model | System | Equations,
    *,
    lean: str = "lean",
    steer: str = "steer",
    speed: str = "speed",
    gravity: str = "gravity",
) -> ClosedForm:
    """The Whipple matrices of a two-wheeler as SymPy formulas in its parameters (signs of roots as at the defaults).

    - `lean`, `steer`, `speed`: names of its outputs or states; `gravity`: name of its parameter of gravity.

    >>> import draisine as dr
    >>> dr.bicycle.closed_form(dr.gallery.bicycle()).K0[0, 0]
    -m_fork*z_fork - m_frame*z_frame - m_front_wheel*r_front_wheel - m_rear_wheel*r_rear_wheel
    """
    refuse_unilateral("closed_form", model)
    equations = equations_of(model)
    program = whipple_program(equations, Naming(lean, steer, speed, gravity))
    listing = to_sympy(program)
    angles = _Angles(equations.name, listing, equations.default_parameters.tolist())
    known = angles.walk()
    linear = [s for s, q in zip(listing.symbols["p"], equations.parameters, strict=True) if q.unit in _LINEAR]
    found = {n: m.applyfunc(lambda e: angles.written(known(e), linear)) for n, m in listing.results.items()}
    symbols = dict(zip((q.name for q in equations.parameters), listing.symbols["p"], strict=True))
    return ClosedForm((lean, steer), symbols, found["M"], found["C1"], found["K0"], found["K2"])


class _Angles:
    """Rational functions of the parameters and of sine and cosine of the angles among them."""

    def __init__(self, name: str, listing: Listing, defaults: list[float]) -> None:
        import sympy as sp

        self.name, self.listing = name, listing
        formulas = [f for _, f in listing.definitions] + [e for m in listing.results.values() for e in m]
        turned = sorted({f.args[0] for e in formulas for f in e.atoms(sp.sin, sp.cos)}, key=str)
        angles = list(dict.fromkeys(abs(a.as_coeff_Mul()[0]) * a / a.as_coeff_Mul()[0] for a in turned))
        if any(not a.is_Symbol for a in angles):
            raise ModelError(f"{name} has no short closed form: it needs sines of {', '.join(map(str, angles))}")
        self.angles = angles
        letters = [sp.Dummy(f"{kind}_{a}", real=True) for a in angles for kind in ("s", "k")]
        self.field = sp.QQ.frac_field(*letters, *listing.symbols["p"])
        self.sines = {a: self.field.gens[2 * i] for i, a in enumerate(angles)}
        self.cosines = {a: self.field.gens[2 * i + 1] for i, a in enumerate(angles)}
        ring = self.field.field.ring
        self._ones = [ring.gens[2 * i] ** 2 + ring.gens[2 * i + 1] ** 2 - 1 for i in range(len(angles))]
        self._meaning = {letter: (sp.sin, sp.cos)[i % 2](angles[i // 2]) for i, letter in enumerate(letters)}
        self._defaults = dict(zip(listing.symbols["p"], defaults, strict=True))

    def short(self, fraction: Any) -> Any:
        """Reduce modulo sin² + cos² = 1 and cancel common factors."""
        if not self._ones:
            return fraction
        return self.field.field(fraction.numer.rem(self._ones)) / self.field.field(fraction.denom.rem(self._ones))

    def walk(self) -> Callable[[Any], Any]:
        """Convert all definitions to rational functions; returns the function that converts further formulas."""
        known: dict[Any, Any] = dict(zip(self.listing.symbols["p"], self.field.gens[2 * len(self.angles) :], strict=True))

        def read(formula: Any) -> Any:
            if formula not in known:
                known[formula] = self.short(self._converted(formula, read))
            return known[formula]

        for symbol, formula in self.listing.definitions:
            known[symbol] = read(formula)
        return read

    def _converted(self, formula: Any, read: Callable[[Any], Any]) -> Any:
        import sympy as sp

        if formula.is_Rational or formula.is_Float:
            return self.field.field(self.field.domain.from_sympy(sp.nsimplify(formula, rational=True)))
        if isinstance(formula, sp.sin | sp.cos):
            sign, angle = formula.args[0].as_coeff_Mul()
            return sign * self.sines[angle] if isinstance(formula, sp.sin) else self.cosines[angle]
        if formula.is_Add or formula.is_Mul:
            parts = [read(part) for part in formula.args]
            total = parts[0]
            for part in parts[1:]:
                total = self.short(total + part if formula.is_Add else total * part)
            return total
        if formula.is_Pow and formula.exp.is_Integer:
            return read(formula.base) ** int(formula.exp)
        if isinstance(formula, sp.Abs):
            return self._positive(read(formula.args[0]))
        if formula.is_Pow and formula.exp == sp.Rational(1, 2):
            return self._root(read(formula.base))
        if formula.is_Pow and formula.exp == -sp.Rational(1, 2):
            return 1 / self._root(read(formula.base))
        raise ModelError(f"{self.name} has no short closed form: it needs {formula.func.__name__} of its parameters")

    def _root(self, fraction: Any) -> Any:
        """The square root of a perfect square."""
        import sympy as sp

        root = sp.sqrt(_factored(fraction.as_expr())).replace(sp.Abs, lambda inside: inside)
        if any(not power.exp.is_Integer for power in root.atoms(sp.Pow)):
            raise ModelError(f"{self.name} has no short closed form: it needs the square root of {fraction.as_expr()}")
        return self._positive(self.field.field(self.field.field.from_expr(root)))

    def _positive(self, fraction: Any) -> Any:
        """With the sign that is positive at the default parameters."""
        value = fraction.as_expr().xreplace(self._meaning).evalf(subs=self._defaults)
        return fraction if value >= 0 else -fraction

    # ------------------------------------------------------------ presentation

    def written(self, fraction: Any, linear: list[Any]) -> Any:
        """A sum over masses and moments of inertia with factored coefficients."""
        import sympy as sp

        above, below = sp.Poly(fraction.numer.as_expr(), *linear), fraction.denom.as_expr()
        total = sp.Integer(0)
        for powers, coefficient in above.terms():
            inertia = sp.Mul(*[s**n for s, n in zip(linear, powers, strict=True)])
            total += inertia * self._shortest(coefficient / below)
        return total.xreplace(self._meaning)

    def _shortest(self, coefficient: Any) -> Any:
        """The shortest form, using sin² + cos² = 1."""
        import sympy as sp

        ways = [coefficient]
        for s, k in zip(*[iter(self._meaning)] * 2, strict=True):
            above, below = sp.fraction(sp.cancel(coefficient))
            ways.append(sp.expand(above).subs(k**2, 1 - s**2) / below)
            ways.append(_homogeneous(sp.Poly(above, s, k)) / below)
        shortest = min((_factored(way) for way in ways), key=sp.count_ops)
        return shortest.replace(
            lambda e: e.is_Add and e.has(*self._meaning), lambda e: sp.collect(e, list(self._meaning), _factored)
        )


def _factored(expression: Any) -> Any:
    """`sympy.factor`, which draws evaluation points at random, with the same ones each time: unlucky ones take twenty times as
    long, and the next call would take another time."""
    import sympy as sp
    from sympy.core.random import rng

    state = rng.getstate()
    rng.seed(_SEED)
    try:
        return sp.factor(expression)
    finally:
        rng.setstate(state)


def _homogeneous(polynomial: Any) -> Any:
    """Homogenize by factors sin² + cos² (terms of other parity to one degree less)."""
    s, k = polynomial.gens
    top = polynomial.total_degree()
    total: Any = 0
    for (i, j), coefficient in polynomial.terms():
        total += coefficient * s**i * k**j * (s**2 + k**2) ** ((top - i - j) // 2)
    return total.expand()

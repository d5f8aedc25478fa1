"""SymPy matrices of the equations of a small system: M q̈ + C q̇ + g = Q + Dᵀλ, D q̈ = b, and the reduced equations.

M, C, g, Q, D and b come from the derivation by energies, in joint coordinates and Euler angles; A, H, M_r and F_r of v = H v_r,
A H = 0, M_r v̇_r = F_r come from the reduction, in the coordinates and velocities of the model. Nothing is derived here: both
derivations are converted to SymPy, and simplified by `simplified()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from draisine.errors import ArgumentError, ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.symbolic.rendering.formulas import dotted, latex_name
from draisine.symbolic.rendering.matrix_programs import Matrices, written_out
from draisine.symbolic.rendering.reactions import Signs, reactions
from draisine.symbolic.rendering.simplify import readable_fractions, simplified_matrix, without_guards
from draisine.symbolic.rendering.to_sympy_mechanics import lagranges_method
from draisine.symbolic.sympy_bridge import to_sympy

if TYPE_CHECKING:
    import sympy
    from sympy.physics.mechanics import LagrangesMethod

LIMIT = 200_000  # operations of an expanded matrix; a page of formulas has some hundreds
PRINTED = 1_500  # operations of the longest matrix printed in a notebook
HOPELESS = (
    20 * PRINTED
)  # operations of a program, with more than which its matrix is not converted to see how long it is in SymPy

ABOUT = {
    "kinetic": "kinetic energy",
    "potential": "potential energy",
    "position_residuals": "holonomic constraints, f(q) = 0",
    "velocity_residuals": "nonholonomic constraints, g(q) q̇ = 0",
    "M": "mass matrix",
    "C": "Coriolis matrix, by Christoffel symbols",
    "g": "forces of gravity and springs, as ∂V/∂q",
    "Q": "generalized forces of inputs and dampers",
    "D": "constraint rows, D q̇ = 0",
    "b": "right side of D q̈ = b",
    "multipliers": "reactions λ on the rows of D",
    "A": "constraint rows in the model's velocities, A v = 0",
    "H": "kernel of the constraints, v = H v_r",
    "reduced_mass": "M_r of M_r v̇_r = F_r",
    "reduced_force": "F_r of M_r v̇_r = F_r",
    "coordinate_rates": "rates of the model's coordinates, q̇ = N(q) H v_r",
}


def symbolic_equations(model: Model | System, limit: int | None = LIMIT) -> SymbolicEquations:
    """The equations of a model as SymPy matrices, each computed at its first use.

    A matrix with more than `limit` operations when expanded raises ModelError (None: no limit); for such systems use the listing
    of `draisine equations`.

    >>> from draisine.model.model import Model
    >>> m = Model("pendulum")
    >>> mass, length = m.parameter("m", 1.0, "kg"), m.parameter("l", 1.0, "m")
    >>> bob = m.body("bob", mass=mass, center_of_mass=(0, 0, -length))
    >>> _ = m.revolute("theta", "ground", bob, axis="y")
    >>> m.gravity(m.parameter("g", 9.81, "m/s^2"))
    >>> pendulum = symbolic_equations(m).simplified()
    >>> pendulum.M, pendulum.g
    (Matrix([[l**2*m]]), Matrix([[g*l*m*sin(theta)]]))
    """
    refuse_unilateral("symbolic_equations", model)
    if not isinstance(model, Model | System):
        raise ArgumentError(
            f"symbolic takes a Model, got {type(model).__name__}; equations given as formulas are symbolic already"
        )
    return SymbolicEquations(Matrices(model.freeze() if isinstance(model, Model) else model), limit)


class SymbolicEquations:
    """Symbols and matrices of a model; see `symbolic`. Each matrix is computed at its first use.

    `coordinates`, `velocities`, `accelerations` belong to M, C, g, Q, D, b; `reduced_coordinates`, `reduced_velocities` (all of
    them) and `independent` to A, H, `reduced_mass`, `reduced_force`. Quantities with the same name are the same symbol.
    """

    def __init__(self, matrices: Matrices, limit: int | None) -> None:
        self._matrices = matrices
        self.limit = limit

    @property
    def name(self) -> str:
        return self._matrices.system.name

    # ---------------------------------------------------------------- symbols

    @cached_property
    def coordinates(self) -> tuple[sympy.Symbol, ...]:
        return _symbols(self._matrices.energies.names)

    @cached_property
    def velocities(self) -> tuple[sympy.Symbol, ...]:
        return _symbols(self._matrices.rate_names)

    @cached_property
    def accelerations(self) -> tuple[sympy.Symbol, ...]:
        return _symbols([f"{name}_ddot" for name in self._matrices.energies.names])

    @cached_property
    def inputs(self) -> tuple[sympy.Symbol, ...]:
        return _symbols([u.name for u in self._matrices.system.inputs])

    @cached_property
    def parameters(self) -> tuple[sympy.Symbol, ...]:
        return _symbols([p.name for p in self._matrices.system.parameters])

    @cached_property
    def reactions(self) -> tuple[sympy.Symbol, ...]:
        """λ, one for each row of D."""
        return _symbols([f"lambda_{name}" for name in self._matrices.rows])

    @cached_property
    def reduced_coordinates(self) -> tuple[sympy.Symbol, ...]:
        return _symbols(self._matrices.formulation.mechanism.scope.coordinates)

    @cached_property
    def reduced_velocities(self) -> tuple[sympy.Symbol, ...]:
        return _symbols(self._matrices.formulation.mechanism.scope.velocities)

    @cached_property
    def independent(self) -> tuple[sympy.Symbol, ...]:
        return _symbols(list(self._matrices.formulation.independent))

    @cached_property
    def independent_accelerations(self) -> tuple[sympy.Symbol, ...]:
        return _symbols([f"{name}_dot" for name in self._matrices.formulation.independent])

    @cached_property
    def latex_names(self) -> dict[sympy.Symbol, str]:
        """LaTeX of each symbol: Greek letters, subscripts, dots for rates."""
        own = {c.rate: c.name for c in self._matrices.system.coordinates if c.rate}
        own |= dict(zip(self._matrices.rate_names, self._matrices.energies.names, strict=True))
        found = {s: latex_name(s.name) for group in (self.coordinates, self.inputs, self.parameters) for s in group}
        found |= {s: latex_name(s.name) for s in (*self.reduced_coordinates, *self.reduced_velocities)}
        found |= {s: dotted(own[s.name]) for s in (*self.velocities, *self.reduced_velocities) if s.name in own}
        found |= {a: dotted(own[v.name], 2) for a, v in zip(self.accelerations, self.velocities, strict=True)}
        rates = zip(self.independent_accelerations, self.independent, strict=True)
        found |= {a: dotted(own[v.name], 2) if v.name in own else dotted(v.name) for a, v in rates}
        return found | {s: rf"\lambda_{{{latex_name(s.name.removeprefix('lambda_'))}}}" for s in self.reactions}

    # ---------------------------------------------------------------- matrices

    @cached_property
    def M(self) -> sympy.Matrix:
        """Mass matrix."""
        return self._matrix("M")

    @cached_property
    def C(self) -> sympy.Matrix:
        """Coriolis matrix by Christoffel symbols: Ṁ − 2C is skew."""
        return self._matrix("C")

    @cached_property
    def g(self) -> sympy.Matrix:
        """∂V/∂q."""
        return self._matrix("g")

    @cached_property
    def Q(self) -> sympy.Matrix:
        """Generalized forces of inputs and dampers."""
        return self._matrix("Q")

    @cached_property
    def kinetic(self) -> sympy.Matrix:
        """Kinetic energy, ½ q̇ᵀM q̇, as a matrix of one entry."""
        return self._matrix("kinetic")

    @cached_property
    def potential(self) -> sympy.Matrix:
        """Potential energy V, as a matrix of one entry."""
        return self._matrix("potential")

    @cached_property
    def position_residuals(self) -> sympy.Matrix:
        """Residuals of the holonomic constraints."""
        return self._matrix("position_residuals")

    @cached_property
    def velocity_residuals(self) -> sympy.Matrix:
        """Residuals of the nonholonomic constraints."""
        return self._matrix("velocity_residuals")

    @cached_property
    def D(self) -> sympy.Matrix:
        """Constraint rows, heights first: D q̇ = 0."""
        return self._matrix("D")

    @cached_property
    def b(self) -> sympy.Matrix:
        """D q̈ = b."""
        return self._matrix("b")

    @cached_property
    def A(self) -> sympy.Matrix:
        """Constraint rows in the model's own velocities: A v = 0."""
        return self._matrix("A")

    @cached_property
    def H(self) -> sympy.Matrix:
        """Kernel of the constraints: v = H v_r, A H = 0."""
        return self._matrix("H")

    @cached_property
    def reduced_mass(self) -> sympy.Matrix:
        return self._matrix("reduced_mass")

    @cached_property
    def reduced_force(self) -> sympy.Matrix:
        return self._matrix("reduced_force")

    @cached_property
    def coordinate_rates(self) -> sympy.Matrix:
        """q̇ = N(q) H v_r, one for each of `reduced_coordinates`: with `reduced_motion` the whole first-order system."""
        return self._matrix("coordinate_rates")

    @cached_property
    def reduced_motion(self) -> sympy.Matrix:
        """M_r v̇_r − F_r, which vanishes: one equation for each independent velocity, in `independent_accelerations`."""
        import sympy

        return self.reduced_mass * sympy.Matrix(self.independent_accelerations) - self.reduced_force

    @cached_property
    def multipliers(self) -> sympy.Matrix:
        """λ of D M⁻¹Dᵀ λ = b + D M⁻¹(C q̇ + g − Q), one for each row of D."""
        import sympy

        if not self._matrices.rows:
            return sympy.zeros(0, 1)
        rest = self.C * sympy.Matrix(self.velocities) + self.g - self.Q
        return self._solved(self.M, self.D, self.b, rest)

    @cached_property
    def motion(self) -> sympy.Matrix:
        """M q̈ + C q̇ + g − Q − Dᵀλ, which vanishes: one equation for each coordinate, in `accelerations` and `reactions`."""
        import sympy

        total = self.M * sympy.Matrix(self.accelerations) + self.g - self.Q
        total += self._polished(self.C * sympy.Matrix(self.velocities))
        return total - self.D.T * sympy.Matrix(self.reactions) if self.reactions else total

    def lagranges_method(self) -> LagrangesMethod:
        """The model as a `LagrangesMethod` of `sympy.physics.mechanics`: its Lagrangian, constraints and forces."""
        return lagranges_method(self)

    def operations(self, name: str) -> int:
        """Operations of an expanded matrix, before simplification."""
        return written_out(self._matrices.program(name))

    def simplified(self) -> SymbolicEquations:
        """The same with every entry simplified by trigonometric identities and `sympy.simplify`."""
        return _Simplified(self._matrices, self.limit)

    def _matrix(self, name: str) -> sympy.Matrix:
        return self._written(name)

    def _written(self, name: str) -> sympy.Matrix:
        program = self._matrices.program(name)
        length = written_out(program)
        if self.limit is not None and length > self.limit:
            raise ModelError(
                f"model {self.name!r}: its {ABOUT[name].partition(',')[0]} {name} would have {length:,} operations written "
                f"out, more than the limit of {self.limit:,}; read the listing with named intermediate quantities "
                "(draisine equations MODEL --format html), or pass limit=None to symbolic"
            )
        return to_sympy(program).expanded()[name].applyfunc(lambda entry: readable_fractions(without_guards(entry)))

    def _polished(self, matrix: sympy.Matrix) -> sympy.Matrix:
        return matrix

    def _solved(self, mass: Any, rows: Any, side: Any, rest: Any) -> sympy.Matrix:
        length = sum(map(_count, (mass, rows, side, rest)))
        if length > PRINTED:
            raise ModelError(
                f"model {self.name!r}: its multipliers would be solved from matrices of {length:,} operations and be too long; "
                "use simplified().multipliers, or the numbers of a run"
            )
        return reactions(mass, rows, side, rest, lambda entry: entry)

    # ---------------------------------------------------------------- showing

    def latex(self, name: str) -> str:
        """One matrix in LaTeX."""
        import sympy

        return sympy.latex(getattr(self, name), symbol_names=self.latex_names, mul_symbol=r"\,")

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the matrices that are printed: those of constraints and of the reduction only if there are constraints."""
        if not self._matrices.rows:
            return ("M", "C", "g", "Q")
        return ("M", "C", "g", "Q", "D", "b", "H", "reduced_mass", "reduced_force")

    def _repr_latex_(self) -> str:
        """The equations with their matrices; matrices that are too long are named and left out."""
        names = self.latex_names
        lines = [r"& M \ddot{q} + C \dot{q} + g = Q" + (r" + D^{T} \lambda,\quad D \ddot{q} = b" if self.reactions else "")]
        lines.append(rf"& q = \left({_row(names[s] for s in self.coordinates)}\right)")
        if self.reactions:
            lines.append(rf"& \lambda = \left({_row(names[s] for s in self.reactions)}\right)")
        for name in self.shown:
            if name == "H":
                lines.append(r"& v = H v_{r},\quad M_{r} \dot{v}_{r} = F_{r}")
                lines.append(rf"& v = \left({_row(names[s] for s in self.reduced_velocities)}\right)")
                lines.append(rf"& v_{{r}} = \left({_row(names[s] for s in self.independent)}\right)")
            symbol = {"reduced_mass": "M_{r}", "reduced_force": "F_{r}"}.get(name, name)
            lines.append(f"& {symbol} = {self._shown(name)}")
        return "$\\displaystyle \\begin{aligned}" + " \\\\ ".join(lines) + "\\end{aligned}$"

    def _shown(self, name: str) -> str:
        if self._is_hopeless(name):
            return self._left_out(self.operations(name))
        try:
            matrix = getattr(self, name)
        except ModelError:
            return self._left_out(self.operations(name))
        return self.latex(name) if _count(matrix) <= PRINTED else self._left_out(_count(matrix))

    def _is_hopeless(self, name: str) -> bool:
        return self.operations(name) > HOPELESS

    def _left_out(self, length: int) -> str:
        return rf"\text{{({length:,} operations: too long to read; see simplified() or the listing)}}"

    def __repr__(self) -> str:
        names = ", ".join(s.name for s in self.coordinates)
        count = len(self._matrices.rows)
        return f"<{type(self).__name__.strip('_')} of {self.name!r}: coordinates {names}; {count} constraint rows>"


class _Simplified(SymbolicEquations):
    """Simplified entries. C and b are computed from the simplified M and D by their definitions."""

    def _matrix(self, name: str) -> sympy.Matrix:
        if name == "C" and not self.M.has(_time()):
            return self._polished(_christoffel(self.M, self.coordinates, self.velocities))
        if name == "b" and not self.D.has(_time()):
            return self._polished(-_rate_of(self.D, self.coordinates, self.velocities))
        return self._polished(self._written(name))

    def _polished(self, matrix: sympy.Matrix) -> sympy.Matrix:
        return simplified_matrix(matrix)

    def _is_hopeless(self, name: str) -> bool:
        return False  # simplification may leave a hundredth

    def _solved(self, mass: Any, rows: Any, side: Any, rest: Any) -> sympy.Matrix:
        signs = Signs(rows)
        return signs.taken_out(reactions(mass, signs.put_in(rows), signs.put_in(side), signs.put_in(rest), signs.simplify))


def _time() -> Any:
    import sympy

    return sympy.Symbol("t", real=True)


def _christoffel(mass: Any, coordinates: Sequence[Any], velocities: Sequence[Any]) -> Any:
    import sympy

    n = len(coordinates)

    def entry(k: int, j: int) -> Any:
        total = sympy.Integer(0)
        for i in range(n):
            derivative = mass[k, j].diff(coordinates[i]) + mass[k, i].diff(coordinates[j]) - mass[i, j].diff(coordinates[k])
            total += derivative * velocities[i] / 2
        return total

    return sympy.Matrix(n, n, entry)


def _rate_of(rows: Any, coordinates: Sequence[Any], velocities: Sequence[Any]) -> Any:
    """Ḋ q̇. Signs are constant between the zeros that the rows exclude."""
    import sympy

    speeds = sympy.Matrix(velocities)
    rate = (rows * speeds).jacobian(sympy.Matrix(coordinates)) * speeds
    return rate.replace(sympy.DiracDelta, lambda *_: sympy.Integer(0))


def _symbols(names: Sequence[str]) -> tuple[sympy.Symbol, ...]:
    import sympy

    return tuple(sympy.Symbol(name, real=True) for name in names)


def _row(parts: Iterable[str]) -> str:
    return r",\ ".join(parts)


def _count(matrix: Any) -> int:
    import sympy

    return int(sympy.count_ops(matrix))

"""Equations from a Lagrangian in SymPy (Delebecque & Nikoukhah 1992, section 3.1).

    >>> import sympy as sp
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> theta = dynamicsymbols("theta")
    >>> m, g, l = sp.symbols("m g l", positive=True)
    >>> e = lagrangian(
    ...     "pendulum", [theta],
    ...     kinetic=m * l**2 * theta.diff() ** 2 / 2, potential=-m * g * l * sp.cos(theta),
    ...     parameters={m: 1.0, g: 9.81, l: 2.0},
    ... )
    >>> float(e.dynamics([0.0], [0.5, 0.0], [], e.default_parameters)[0][1]).__round__(6)
    -2.351582

The expressions are converted to CasADi unchanged; the Euler–Lagrange equations are derivatives of the program, which avoids
expression swell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from draisine.dynamics.augmented.second_order import SecondOrder, euler_lagrange
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.constraints.smoothness import check_jumps, uncounted
from draisine.dynamics.stabilization import Baumgarte
from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean
from draisine.model.validate import check_system_name
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import Solver
from draisine.symbolic.symbol_table import (
    Named,
    SymbolMap,
    check_names,
    checked_start,
    checked_units,
    column,
    finite,
    formula,
    named,
    plain,
)


def lagrangian(
    name: str,
    coordinates: Sequence[Any],
    lagrangian: Any = None,
    *,
    kinetic: Any = None,
    potential: Any = 0,
    dissipation: Any = 0,
    forces: Mapping[Any, Any] | None = None,
    holonomic: Named = (),
    nonholonomic: Named = (),
    parameters: Mapping[Any, float] | None = None,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[Any, float] | None = None,
    units: Mapping[Any, str] | None = None,
    stabilization: Baumgarte | None = None,
    work: bool | None = None,
    solver: Solver = Solver.AUTO,
) -> Equations:
    """Equations of motion of L(q, q̇, t), or of kinetic and potential energy, with constraints and generalized forces.

    - `coordinates`: functions of time made by `dynamicsymbols`; velocities are their derivatives.
    - `lagrangian`: L; or `kinetic` and `potential` energy.
    - `holonomic`: f(q, t) = 0; `nonholonomic`: g(q, t) q̇ + g₀(q, t) = 0; sequences, or mappings name → expression.
    - `forces`: coordinate → generalized force k(q, q̇, u, t); `dissipation`: Rayleigh's function R(q̇), force −∂R/∂q̇.
    - `parameters`: symbol → default value; `inputs`: symbols; `outputs`: name → expression; `start`: coordinate → default.
    - `units`: coordinate, symbol, or name of an output or constraint → its SI unit, for tables and figures; nothing is converted.
    - `work`: add the work of forces and rheonomic constraints as a state, for the energy balance; by default if there are any;
      `solver`: of the linear system, at run time.
    - `stabilization`: `Baumgarte(…)` for the constraints.

    Do not substitute the constraints into L: their reactions would be lost.
    """
    symbols = _Symbols(name, coordinates, parameters or {}, inputs)
    if (lagrangian is None) == (kinetic is None):
        raise ModelError(f"{name}: give either a Lagrangian, or a kinetic energy (with a potential)")
    total = symbols.lower(lagrangian if kinetic is None else kinetic - potential, "the Lagrangian")
    _check_all_names(symbols.names, name, inputs, parameters or {}, outputs or {}, holonomic, nonholonomic)
    holonomic_sx = [(n, symbols.position(e, f"constraint {n!r}")) for n, e in named(holonomic, "f")]
    nonholonomic_sx = [(n, symbols.lower(e, f"constraint {n!r}")) for n, e in named(nonholonomic, "g")]
    symbols.check_all_appear(ca.vertcat(total, *[row for _, row in (*holonomic_sx, *nonholonomic_sx)]))
    q, v, t = symbols.q, symbols.v, symbols.t
    damping = symbols.lower(dissipation, "the dissipation")
    warnings = _check_jumps(symbols, total, damping, holonomic_sx, nonholonomic_sx)
    mass, force = euler_lagrange(total, q, v, t)
    driven = -ca.gradient(damping, v) + _forces(symbols, forces or {})
    # Jacobi's integral h = q̇·∂L/∂q̇ − L changes by −∂L/∂t and the power of the forces
    integral = ca.dot(v, ca.gradient(total, v)) - total
    surplus = ca.SX(0)
    if kinetic is None:
        # without a split, ½ q̇ᵀM q̇ counts as kinetic and the rest of h as potential
        quadratic = ca.bilin(mass, v, v) / 2
        energies = quadratic, integral - quadratic
    else:
        energies = symbols.lower(kinetic, "the kinetic energy"), symbols.lower(potential, "the potential energy")
        if not _quadratic(energies[0], v) or ca.depends_on(energies[1], v):
            surplus = sum(energies) - integral
    defaults = checked_start(name, "coordinate", start, symbols.names)
    of_constraints = [n for n, _ in (*holonomic_sx, *nonholonomic_sx)]
    known = [*symbols.names, *map(str, inputs), *map(str, parameters or {}), *(outputs or {}), *of_constraints]
    unit = checked_units(name, units, known)
    system = SecondOrder(
        name=name,
        t=t,
        q=q,
        v=v,
        u=symbols.u,
        p=symbols.p,
        coordinates=tuple(Quantity(n, unit.get(n, ""), default=defaults.get(n, 0.0)) for n in symbols.names),
        velocities=tuple(Quantity(f"{n}_rate", f"{unit[n]}/s" if unit.get(n) else "") for n in symbols.names),
        inputs=tuple(Quantity(str(i), unit.get(str(i), "")) for i in inputs),
        parameters=tuple(
            Quantity(str(s), unit.get(str(s), ""), default=finite(name, f"parameter {str(s)!r}", value))
            for s, value in (parameters or {}).items()
        ),
        q_rate=v,
        mass=mass,
        force=force + driven,
        driven=driven,
        by_time=-ca.jacobian(total, t),
        surplus=surplus,
        kinetic=energies[0],
        potential=energies[1],
        holonomic=holonomic_sx,
        nonholonomic=nonholonomic_sx,
        outputs=[(Quantity(n, unit.get(n, "")), symbols.lower(e, f"output {n!r}")) for n, e in (outputs or {}).items()],
        constraint_units={n: unit[n] for n in of_constraints if n in unit},
    )
    found = augmented(system, stabilization, work, solver)
    return replace(found, warnings=(*found.warnings, *warnings)) if warnings else found


def _check_jumps(
    symbols: _Symbols, total: ca.SX, damping: ca.SX, holonomic: list[tuple[str, ca.SX]], nonholonomic: list[tuple[str, ca.SX]]
) -> list[str]:
    """Raise where velocities would have to jump: jumps of L in the coordinates, of momenta also in time, of R in the velocities,
    and of constraints. Returns warnings about jumps of L in time alone, which change the energy and no velocity."""
    name, t, q, v = symbols.name, symbols.t, symbols.q, symbols.v
    state, constant = ca.vertcat(q, v), ca.vertcat(symbols.u, symbols.p)
    for level, rows in (("position", holonomic), ("velocity", nonholonomic)):
        for row, value in rows:
            check_jumps(f"{name}: constraint {row!r}", value, t, state, constant, level, singular=True)
    in_time = check_jumps(f"{name}: the energy", total, t, state, constant, "energy")
    check_jumps(f"{name}: the momentum", ca.gradient(total, v), t, state, constant, "velocity")
    check_jumps(f"{name}: the dissipation", damping, t, v, ca.vertcat(q, constant), "energy")
    return uncounted("the energy", in_time)


def _quadratic(kinetic: ca.SX, v: ca.SX) -> bool:
    """Whether the kinetic energy is a quadratic form of the velocities: not so with a moving support."""
    rest = ca.SX.zeros(v.numel())
    lower = ca.densify(ca.veccat(ca.substitute(kinetic, v, rest), ca.substitute(ca.gradient(kinetic, v), v, rest)))
    return not ca.depends_on(ca.hessian(kinetic, v)[0], v) and all(lower[i].is_zero() for i in range(lower.numel()))


def _check_all_names(
    coordinates: Sequence[str],
    name: str,
    inputs: Sequence[Any],
    parameters: Mapping[Any, float],
    outputs: Mapping[str, Any],
    holonomic: Named,
    nonholonomic: Named,
) -> None:
    quantities = (
        ("a coordinate", coordinates),
        ("a velocity", [f"{n}_rate" for n in coordinates]),
        ("an input", map(str, inputs)),
        ("a parameter", map(str, parameters)),
        ("an output", outputs),
    )
    check_names(name, quantities)
    holonomic_sx, nonholonomic_sx = (
        [n for n, _ in named(items, stem)] for items, stem in ((holonomic, "f"), (nonholonomic, "g"))
    )
    check_names(name, (("a holonomic constraint", holonomic_sx), ("a nonholonomic constraint", nonholonomic_sx)))


class _Symbols:
    """SymPy's coordinates, velocities, parameters and inputs as SX."""

    def __init__(self, name: str, coordinates: Sequence[Any], parameters: Mapping[Any, float], inputs: Sequence[Any]) -> None:
        import sympy
        from sympy.physics.vector import dynamicsymbols

        check_system_name(name)
        self.name = name
        self.names = [plain(c) for c in coordinates]
        if len(set(self.names)) < len(self.names) or not coordinates:
            raise ModelError(f"{name}: give at least one coordinate, each once; got {', '.join(self.names) or 'none'}")
        time = dynamicsymbols._t
        for c in coordinates:
            if not isinstance(c, sympy.Function | sympy.core.function.AppliedUndef) or c.args != (time,):
                raise ModelError(f"{name}: coordinate {c} must be a function of time; make it with dynamicsymbols({plain(c)!r})")
        self.t = ca.SX.sym("t")
        self.q, self.v = column(self.names), column(f"{n}_rate" for n in self.names)
        self.u, self.p = column(map(str, inputs)), column(map(str, parameters))
        known: dict[Any, ca.SX] = {time: self.t}
        known |= {c: self.q[i] for i, c in enumerate(coordinates)}
        known |= {c.diff(time): self.v[i] for i, c in enumerate(coordinates)}
        known |= {s: self.u[i] for i, s in enumerate(inputs)}
        known |= {s: self.p[i] for i, s in enumerate(parameters)}
        self._map = SymbolMap(name, "coordinate", known)

    def lower(self, expression: Any, what: str) -> ca.SX:
        """A SymPy expression in SX."""
        import sympy

        expression = formula(self.name, what, expression)
        if any(d.derivative_count > 1 for d in expression.atoms(sympy.Derivative)):
            raise ModelError(f"{self.name}: {what} uses an acceleration; only coordinates and their first derivatives may appear")
        return self._map.lower(expression, what)

    def position(self, expression: Any, what: str) -> ca.SX:
        """A quantity of coordinates and time alone."""
        lowered = self.lower(expression, what)
        if ca.depends_on(lowered, self.v):
            raise ModelError(
                f"{self.name}: {what} depends on velocities; a holonomic constraint is f(q, t) = 0. Pass it as nonholonomic"
            )
        return lowered

    def check_all_appear(self, used: ca.SX) -> None:
        for i, name in enumerate(self.names):
            if not ca.depends_on(used, ca.vertcat(self.q[i], self.v[i])):
                raise ModelError(f"{self.name}: coordinate {name!r} does not appear; leave it out, or use it in the Lagrangian")


def _forces(symbols: _Symbols, forces: Mapping[Any, Any]) -> ca.SX:
    total = ca.SX.zeros(len(symbols.names))
    for coordinate, force in forces.items():
        name = plain(coordinate)
        if name not in symbols.names:
            raise ModelError(
                f"{symbols.name}: a force acts on {name!r}, which is not a coordinate{did_you_mean(name, symbols.names)}"
            )
        row = symbols.names.index(name)
        total[row] += symbols.lower(force, f"the force on {name!r}")
    return total

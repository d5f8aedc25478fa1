"""M, C₁, K₀ and K₂ of a two-wheeler as one program of its parameters: exact, differentiable, evaluated in microseconds.

Straight upright running is written with symbols: every state that is the same number for all parameters is that number, the
height follows from a wheel that touches the ground, the spin from the speed. About it the projected forces F = Hᵀ(M v̇ + h) of all
bodies are differentiated along lean, steer and their rates; nothing is inverted, so that the expressions stay rational and short.
The result is compared with the linear model of the dynamics itself at several speeds and parameters before it is given out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.stability.deviations import Deviations, deviations_of
from draisine.stability.linearization import equations_of
from draisine.stability.steady import SteadyMotion, steady

Array = NDArray[np.float64]

SPEEDS = (1.0, 1.7, 2.3)  # at which, with random parameters, constants are told from what depends on parameters
_SAME = 1e-9


@dataclass(frozen=True)
class Naming:
    """How a two-wheeler calls its lean, steer, speed and gravity."""

    lean: str = "lean"
    steer: str = "steer"
    speed: str = "speed"
    gravity: str = "gravity"


def whipple_program(model: Model | System | Equations, naming: Naming | None = None) -> Program:
    """(p) → M, C1, K0, K2 for (lean, steer), in the model's own axes, of a two-wheeler whose parameters are all symbols.

    >>> import draisine as dr
    >>> program = whipple_program(dr.gallery.bicycle())
    >>> program([p.default for p in dr.gallery.bicycle().freeze().parameters])[0].round(5).tolist()
    [[80.81722, -2.31941], [-2.31941, 0.29784]]
    """
    return _program(equations_of(model), naming or Naming())


@lru_cache(maxsize=16)
def _program(e: Equations, naming: Naming) -> Program:
    if not isinstance(e.dynamics, Program) or not isinstance(e.report, Program) or e.inverse_dynamics is None:
        raise ModelError(f"{e.name}: its accelerations are solved for at run time, so its matrices have no closed form")
    names = [p.name for p in e.parameters]
    if naming.gravity not in names:
        raise ArgumentError(f"{e.name} has no parameter {naming.gravity!r} for gravity; say which it is: gravity=…")
    upright = _Upright(e, naming)
    forces = _projected_forces(e, upright.deviations)
    at = names.index(naming.gravity)
    p = ca.SX.sym("p", len(names))

    def along(speed: float, gravity: ca.SX | float) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Mass, damping and stiffness matrix."""
        here = ca.SX(p)
        here[at] = gravity
        by_state, mass = forces(upright.state(here, speed), ca.SX.zeros(len(e.inputs)), here)
        columns = ca.SX(by_state) @ ca.SX(upright.directions)
        return ca.SX(mass)[upright.rows, upright.rows], columns[upright.rows, 2:], columns[upright.rows, :2]

    moving, still = along(1.0, 0.0), along(0.0, 1.0)
    found = {"M": moving[0], "C1": moving[1], "K0": still[2], "K2": moving[2]}
    units = {q.name: q.unit for q in e.parameters}
    program = Program.build(f"{e.name}_canonical", {"p": (p, tuple(names))}, {n: ca.densify(m) for n, m in found.items()}, units)
    for motion, speed, matrix in zip(upright.motions, SPEEDS, upright.matrices, strict=True):
        if not np.allclose(ca.evalf(upright.state(ca.SX(motion.p), speed)).full()[:, 0], motion.x, rtol=0, atol=1e-8):
            raise ModelError(f"{e.name}: its upright position does not follow from linear equations, so there is no closed form")
        _check(e, program, motion.p, (speed, float(motion.p[at])), matrix)
    return program


def _check(e: Equations, program: Program, p: Array, at: tuple[float, float], matrix: Array) -> None:
    """The linear model of the dynamics must be the canonical form's: M A₂ = −[g K₀ + v² K₂, v C₁]."""
    (speed, gravity), (mass, c1, k0, k2) = at, program(p)
    wanted = np.hstack([gravity * k0 + speed**2 * k2, speed * c1])
    misfit = float(np.abs(mass @ matrix + wanted).max())
    if not misfit <= 1e-8 * max(1.0, float(np.abs(wanted).max())):
        raise ModelError(
            f"{e.name} has no canonical form: its damping is not v C₁, or its stiffness not g K₀ + v² K₂ "
            f"(misfit {misfit:.2g}); does it have friction or springs?"
        )


def _projected_forces(e: Equations, d: Deviations) -> ca.Function:
    """(x, u, p) → ∂F/∂x and ∂F/∂v̇ of F = Hᵀ · inverse dynamics, at no acceleration of the independent velocities."""
    assert isinstance(e.report, Program) and isinstance(e.dynamics, Program) and e.inverse_dynamics is not None
    arguments = [d._t, d._x, d._u, d._p]
    coordinates, own = len(e.coordinates), len(e.coordinates) + len(e.independent)
    q, speeds = d._x[:coordinates], d._x[coordinates:own]
    reported = e.report.function.call(arguments)
    v = reported[[slot.name for slot in e.report.outputs].index("v")]
    columns = ca.jacobian(v, speeds)
    slope = e.dynamics.function.call(arguments)[0]
    acceleration = ca.SX.sym("a", len(e.independent))
    vdot = ca.jacobian(v, q) @ slope[:coordinates] + columns @ acceleration
    force = columns.T @ e.inverse_dynamics.function.call([q, v, vdot, d._p])[0]
    jacobians = [ca.substitute(m, acceleration, 0) for m in (ca.jacobian(force, d._x[:own]), ca.jacobian(force, acceleration))]
    # time does not enter: straight running looks the same at every instant
    return ca.Function("forces", [d._x, d._u, d._p], [ca.substitute(m, d._t, 0) for m in jacobians])


class _Upright:
    """Straight upright running of any speed and any parameters: the state, and the directions of lean, steer and their rates."""

    def __init__(self, e: Equations, naming: Naming) -> None:
        self.equations, self.naming = e, naming
        self.deviations = deviations_of(e, (naming.lean, naming.steer))
        rng = np.random.default_rng(2007)
        default = e.default_parameters
        sizes = np.where(default == 0.0, 0.1, np.abs(default))  # what is zero by default must vary too
        self.motions = [self._steady(default + sizes * rng.uniform(-0.1, 0.1, len(default)), speed) for speed in SPEEDS]
        self._constants()
        self._directions()

    def _steady(self, p: Array, speed: float) -> SteadyMotion:
        targets = {self.naming.speed: speed, self.naming.lean: 0.0, self.naming.steer: 0.0}
        given: Mapping[str, float] = dict(zip((q.name for q in self.equations.parameters), p.tolist(), strict=True))
        return steady(self.equations, targets, near={self.naming.speed: speed}, parameters=given)

    def _constants(self) -> None:
        states = np.array([m.x for m in self.motions])
        varying = np.flatnonzero(np.ptp(states, axis=0) > _SAME)
        self._fixed = np.where(np.abs(states[0] - states[0].round(9)) < _SAME, states[0].round(9), states[0])
        self._fixed[varying] = 0.0
        count = len(self.equations.coordinates)
        self._places, self._spins = varying[varying < count], varying[varying >= count]
        if len(self._spins) != 1:
            wrong = ", ".join(self.equations.states[i].name for i in self._spins)
            raise ModelError(f"{self.equations.name}: one independent velocity should carry the speed, not {wrong or 'none'}")

    def state(self, p: ca.SX, speed: float) -> ca.SX:
        """x with the height solved from the constraints, which are linear in it, and the spin from the speed, linear in that."""
        x = ca.SX(self._fixed)
        if len(self._places):
            residual, slope, _ = self._closing(x, p)
            x[self._places] = -ca.solve(slope[self._rows, :], residual[self._rows])
        if speed:
            x[self._spins] = speed / self._closing(x, p)[2]
        return x

    @cached_property
    def _closing(self) -> ca.Function:
        """(x, p) → residuals of the constraints, their slopes by the places to solve for, and speed per spin."""
        d = self.deviations
        residual, outputs = d._motion
        places = ca.vertcat(*[d._x[int(i)] for i in self._places])
        speed = outputs[self.equations.motion.output("outputs").labels.index(self.naming.speed)]
        jacobians = residual, ca.jacobian(residual, places), ca.jacobian(speed, d._x[int(self._spins[0])])
        return ca.Function("closing", [d._x, d._p], [ca.substitute(m, ca.vertcat(d._t, d._u), 0) for m in jacobians])

    @cached_property
    def _rows(self) -> list[int]:
        """As many constraints as there are places to solve for, each of which one of them moves."""
        motion = self.motions[0]
        moved = np.abs(self._closing(motion.x, motion.p)[1].full()) > 1e-6
        rows = [int(np.argmax(column)) for column in moved.T]
        if len(set(rows)) < len(rows):
            raise ModelError(f"{self.equations.name}: its upright position has no closed form")
        return rows

    def _directions(self) -> None:
        """δx of lean, steer and their rates; numbers, whatever the parameters, else there is no short form."""
        e, names = self.equations, (self.naming.lean, self.naming.steer)
        found, rows, self.matrices = [], [], []
        for m in self.motions:
            jacobians = self.deviations.derivatives(0.0, m.x[None], m.u[None], m.p[None])
            chosen = self.deviations.choose(jacobians)
            a = chosen.matrices(jacobians)[0][0]
            at = [chosen.names.index(n) for n in names]
            speeds = [i for i, n in enumerate(chosen.names) if n in e.independent]
            moving = [i for i in speeds if np.abs(a[at, i]).max() > _SAME]
            if len(moving) != 2 or not np.allclose(a[np.ix_(at, moving)], np.eye(2), atol=_SAME):
                raise ModelError(f"{e.name}: the rates of {names[0]} and {names[1]} are not two of its independent velocities")
            found.append(chosen.span(jacobians)[0][:, [*at, *moving]])
            rows.append([e.independent.index(chosen.names[i]) for i in moving])
            self.matrices.append(a[np.ix_(moving, [*at, *moving])])
        if np.ptp(found, axis=0).max() > _SAME or any(r != rows[0] for r in rows):
            raise ModelError(f"{e.name}: lean and steer move its coordinates by amounts that depend on parameters")
        self.directions: Array = found[0].round(9)
        self.rows: list[int] = rows[0]

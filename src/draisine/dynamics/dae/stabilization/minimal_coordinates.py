"""Minimal coordinates: as many are integrated as there are degrees of freedom (Thomsen 2005, 5.7).

From the independent coordinates q_i Newton's method finds the dependent ones, f(q_i, q_d, t) = 0, and their velocities follow by
v_d = −(∂f/∂q_d)⁻¹ (∂f/∂q_i v_i + ∂f/∂t). The state also holds the dependent coordinates: integrated by their rates, they are
only the initial guess of Newton's method. A choice of coordinates is well-conditioned while v_d is not much larger than v_i;
otherwise a run changes it, as with independent velocities.

Without Newton's method, and with all coordinates projected onto the constraints after a step, this is the null-space reduction
of velocities, v = H v_i, for equations typed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.stabilization.unreduced import UnreducedSystem, at_state, solved_at
from draisine.errors import ModelError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import condition_share, independent_columns
from draisine.program.equations import Equations, RunLimits
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program

POOR = 3.0  # amplification of v_i above which another choice is sought
MOST_ROWS = 12  # position constraints that are solved symbolically
_SAMPLES, _MOST_CHOICES = 48, 6
_ONTO = Newton(tolerance=1e-9)
_SINGULAR = 1e-3  # smallest relative singular value of a regular constraint Jacobian

Reals = NDArray[np.float64]


def minimal(equations: Equations, iterations: int) -> Equations:
    """Equations in which dependent coordinates are solved for; without iterations, only velocities are reduced."""
    system = UnreducedSystem(equations)
    system.check_holonomic(
        "minimal coordinates are" if iterations else "the kernel reduction of equations typed by hand is",
        "pass the model with Reduced(), or use Projection()",
    )
    count = system.residuals[0].numel()
    if not count:
        raise ModelError(f"{equations.name} has no constraints: its coordinates are already minimal")
    if count > MOST_ROWS:
        raise ModelError(
            f"{equations.name} has {count} position constraints, at most {MOST_ROWS} are solved symbolically; use Projection()"
        )
    choices = _choices(system)
    return _with_choice(equations, iterations, choices, choices[0])


@lru_cache(maxsize=64)
def _with_choice(
    equations: Equations, iterations: int, choices: tuple[tuple[str, ...], ...], choice: tuple[str, ...]
) -> Equations:
    return _Minimal(UnreducedSystem(equations), iterations, choices, choice).equations()


# ---------------------------------------------------------------- which coordinates


def _choices(system: UnreducedSystem) -> tuple[tuple[str, ...], ...]:
    """Independent velocities by name: the best at the default, then the best in other configurations, most frequent first."""
    e = system.equations
    t, _, u, p = system.symbols
    q, _, _ = system.parts
    residual, _ = system.residuals
    at = ca.Function("at", [t, q, u, p], [ca.densify(residual), ca.densify(ca.jacobian(residual, q))])
    given = np.zeros(u.numel()), e.default_parameters
    default = np.array([c.default for c in e.coordinates])
    random = np.random.default_rng(5)
    found: dict[tuple[str, ...], int] = {}
    for k in range(_SAMPLES):
        spread = np.maximum(np.abs(default), 1.0) if k else 0.0
        jacobian = _settled(at, default + spread * random.uniform(-1.5, 1.5, len(default)), given)
        if jacobian is None:
            continue
        names = _independent(jacobian, [v.name for v in e.velocities])
        found[names] = found.get(names, 0) + (_SAMPLES if not found else 1)
    if not found:
        raise ModelError(f"{e.name}: no configuration was found in which the constraints hold and are independent of each other")
    return tuple(sorted(found, key=lambda names: -found[names]))[:_MOST_CHOICES]


def _settled(at: ca.Function, q: Reals, given: tuple[Reals, Reals]) -> Reals | None:
    """The constraint Jacobian after least-norm projection; None without convergence or where it is singular."""

    def evaluate(q: Reals) -> tuple[Reals, Reals]:
        error, jacobian = (np.array(m.full()) for m in at(0.0, q, *given))
        return error[:, 0], jacobian

    found = _ONTO.solve(evaluate, q, LeastNorm(None))
    jacobian = found.point.jacobian
    return jacobian if found.converged and condition_share(jacobian) > _SINGULAR else None


def _independent(jacobian: Reals, velocities: Sequence[str]) -> tuple[str, ...]:
    """Velocities that remain after a greedy choice of the most independent columns as dependent."""
    taken = independent_columns(jacobian, len(jacobian))
    return tuple(name for j, name in enumerate(velocities) if j not in taken)


# ---------------------------------------------------------------- programs


@dataclass(frozen=True, eq=False)
class _Minimal:
    system: UnreducedSystem
    iterations: int
    choices: tuple[tuple[str, ...], ...]
    choice: tuple[str, ...]

    @cached_property
    def _indices(self) -> tuple[list[int], list[int]]:
        """Indices of independent and dependent coordinates, and likewise velocities."""
        names = [v.name for v in self.system.equations.velocities]
        return [names.index(n) for n in self.choice], [j for j, n in enumerate(names) if n not in self.choice]

    @cached_property
    def _x(self) -> ca.SX:
        """q, v_i and further states, as symbols."""
        q, _, rest = self.system.parts
        return ca.vertcat(q, ca.SX.sym("speeds", len(self.choice)), rest)

    @cached_property
    def _labels(self) -> list[str]:
        e = self.system.equations
        return [*(c.name for c in e.coordinates), *self.choice, *(s.name for s in e.extra_states)]

    @cached_property
    def _slots(self) -> Slots:
        e = self.system.equations
        t, _, u, p = self.system.symbols
        return {
            "t": (t, ["t"]),
            "x": (self._x, self._labels),
            "u": (u, [i.name for i in e.inputs]),
            "p": (p, [i.name for i in e.parameters]),
        }

    def _at(self, expression: ca.SX, q: ca.SX) -> ca.SX:
        return ca.substitute(expression, self.system.parts[0], q)

    def _corrected(self, q: ca.SX, steps: int) -> ca.SX:
        """Newton's method for the dependent coordinates, a fixed number of symbolic steps that become part of the program."""
        _, bound = self._indices
        residual = self.system.residuals[0]
        jacobian = ca.jacobian(residual, self.system.parts[0])[:, bound]
        for _ in range(steps):
            change = ca.solve(ca.densify(self._at(jacobian, q)), self._at(residual, q))
            q = ca.SX(q)
            q[bound] -= change
        return q

    @cached_property
    def _kernel(self) -> tuple[ca.SX, ca.SX]:
        """H_d and h_d of v_d = H_d v_i + h_d, at any q."""
        free, bound = self._indices
        t, q = self.system.symbols[0], self.system.parts[0]
        residual = self.system.residuals[0]
        jacobian = ca.densify(ca.jacobian(residual, q))
        moved = ca.densify(ca.jacobian(residual, t))
        solved = -ca.solve(jacobian[:, bound], ca.horzcat(jacobian[:, free], moved))
        return solved[:, : len(free)], solved[:, len(free)]

    @cached_property
    def _unreduced(self) -> list[ca.SX]:
        """(t, x, u, p) of the unreduced equations, in terms of the reduced state."""
        t, _, u, p = self.system.symbols
        q, _, rest = self.system.parts
        free, bound = self._indices
        right = self._corrected(q, self.iterations)
        speeds = self._x[q.numel() : q.numel() + len(free)]
        v = ca.SX.zeros(q.numel())
        v[free] = speeds
        v[bound] = self._at(self._kernel[0], right) @ speeds + self._at(self._kernel[1], right)
        return [t, ca.vertcat(right, v, rest), u, p]

    def _dynamics(self) -> LinearSolveProgram:
        """The unreduced dynamics, with the accelerations of the independent velocities."""
        unreduced = self.system.solved
        assert unreduced is not None  # ensured by `check_holonomic`
        z = ca.SX.sym("z", unreduced.size)
        derivatives = unreduced.after.function.call([*self._unreduced, z])[0]
        count = self.system.parts[0].numel()
        kept = [*range(count), *(count + j for j in self._indices[0]), *range(2 * count, derivatives.numel())]
        labels = [f"d{s}/dt" for s in self._labels]
        after = Program.build(unreduced.after.name, {**self._slots, "z": z}, {"xdot": (derivatives[kept], labels)})
        return solved_at(unreduced, self._slots, self._unreduced, after)

    def _project(self) -> Program | LinearSolveProgram:
        """Dependent coordinates by one step of Newton's method; without iterations, all coordinates by a least-norm step."""
        q = self.system.parts[0]
        residual = self.system.residuals[0]
        rest, error = self._x[q.numel() :], (ca.norm_inf(residual), ["error"])
        name = f"{self.system.equations.name}_project"
        if self.iterations:
            moved = ca.vertcat(self._corrected(q, 1), rest)
            return Program.build(name, self._slots, {"x_new": (moved, self._labels), "error": error})
        lean, z = ca.jacobian(residual, q), ca.SX.sym("z", residual.numel())
        outputs: Slots = {"x_new": (ca.vertcat(q - lean.T @ z, rest), self._labels), "error": error}
        return LinearSolveProgram.build(name, self._slots, lean @ lean.T, residual, z, outputs)

    def _condition(self, kernel: ca.SX) -> ca.SX:
        """Amplification by the choice of coordinates; where the constraints lose rank, how close they are to it."""
        amplification, rows = ca.sqrt(1 + ca.sumsqr(kernel)), self.system.equations.monitor
        if rows is None or self.system.equations.rows:
            return amplification
        (condition,) = rows.function.call(self._unreduced)
        return ca.fmax(amplification, condition * (POOR / self.system.equations.limits.condition))

    def equations(self) -> Equations:
        e = self.system.equations
        kernel, _ = self._kernel
        return replace(
            e,
            independent=self.choice,
            dynamics=self._dynamics(),
            report=at_state(e.report, self._slots, self._unreduced),
            project=self._project(),
            monitor=Program.build(f"{e.name}_monitor", self._slots, {"condition": (self._condition(kernel), ["condition"])}),
            events=None if e.events is None else at_state(e.events, self._slots, self._unreduced),
            limits=RunLimits(condition=POOR, length=e.limits.length),
            alternates=tuple(c for c in self.choices if c != self.choice),
            rows=(),
            with_independent=lambda names: _with_choice(e, self.iterations, self.choices, tuple(names)),
        )

"""Minimal coordinates: as many are integrated as there are freedoms, the others follow from the constraints (Thomsen 2005, 5.7).

From the independent coordinates q_i Newton's method finds the dependent ones, f(q_i, q_d, t) = 0, and their velocities follow by
v_d = −(∂f/∂q_d)⁻¹ (∂f/∂q_i v_i + ∂f/∂t). The state carries the dependent coordinates along: integrated by their rates they are
the guess from which Newton's method starts, and nothing else. A choice of coordinates is good as long as v_d is not much larger
than v_i; a run that finds it poor takes another, as with independent velocities.

Without Newton's method, and with all coordinates moved onto the constraints after a step, this is the kernel reduction of
velocities, v = H v_i, for equations typed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.stabilization.unreduced import Opened, at_state, program_at, solved_at
from draisine.errors import ModelError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import condition_share, independent_columns
from draisine.program.equations import Equations, RunLimits
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program

POOR = 3.0  # amplification of v_i above which another choice is looked for
MOST_ROWS = 12  # of constraints that are solved in symbols
_SAMPLES, _MOST_CHOICES = 48, 6
_ONTO = Newton(tolerance=1e-9)
_SINGULAR = 1e-3  # share of the largest singular value of the constraints' Jacobian

Reals = NDArray[np.float64]


def minimal(equations: Equations, iterations: int) -> Equations:
    """Equations in which dependent coordinates are solved for; with no iterations, velocities alone are reduced."""
    opened = Opened(equations)
    opened.check_holonomic(
        "minimal coordinates are" if iterations else "the kernel reduction of equations typed by hand is",
        "pass the model with Reduced(), or use Projection()",
    )
    count = opened.residuals[0].numel()
    if not count:
        raise ModelError(f"{equations.name} has no constraints: its coordinates are minimal as they are")
    if count > MOST_ROWS:
        raise ModelError(
            f"{equations.name} has {count} position constraints, and at most {MOST_ROWS} are solved in symbols; use Projection()"
        )
    choices = _choices(opened)
    return _with_choice(equations, iterations, choices, choices[0])


@lru_cache(maxsize=64)
def _with_choice(
    equations: Equations, iterations: int, choices: tuple[tuple[str, ...], ...], choice: tuple[str, ...]
) -> Equations:
    return _Minimal(Opened(equations), iterations, choices, choice).equations()


# ---------------------------------------------------------------- which coordinates


def _choices(opened: Opened) -> tuple[tuple[str, ...], ...]:
    """Independent velocities by name: best at the default, then what is best in other configurations, the most frequent first."""
    e = opened.equations
    t, _, u, p = opened.symbols
    q, _, _ = opened.parts
    places, _ = opened.residuals
    at = ca.Function("at", [t, q, u, p], [ca.densify(places), ca.densify(ca.jacobian(places, q))])
    given = np.zeros(u.numel()), e.default_parameters
    default = np.array([c.default for c in e.coordinates])
    random = np.random.default_rng(5)
    found: dict[tuple[str, ...], int] = {}
    for k in range(_SAMPLES):
        spread = np.maximum(np.abs(default), 1.0) if k else 0.0
        slope = _settled(at, default + spread * random.uniform(-1.5, 1.5, len(default)), given)
        if slope is None:
            continue
        names = _independent(slope, [v.name for v in e.velocities])
        found[names] = found.get(names, 0) + (_SAMPLES if not found else 1)
    if not found:
        raise ModelError(f"{e.name}: no configuration was found in which the constraints hold and are independent of each other")
    return tuple(sorted(found, key=lambda names: -found[names]))[:_MOST_CHOICES]


def _settled(at: ca.Function, q: Reals, given: tuple[Reals, Reals]) -> Reals | None:
    """Moved onto the constraints by least change; the Jacobian there, or None if that failed or it is singular."""

    def evaluate(q: Reals) -> tuple[Reals, Reals]:
        error, slope = (np.array(m.full()) for m in at(0.0, q, *given))
        return error[:, 0], slope

    found = _ONTO.solve(evaluate, q, LeastNorm(None))
    slope = found.point.jacobian
    return slope if found.converged and condition_share(slope) > _SINGULAR else None


def _independent(slope: Reals, velocities: Sequence[str]) -> tuple[str, ...]:
    """Columns that are left when those most independent of each other are taken, one by one, as dependent."""
    taken = independent_columns(slope, len(slope))
    return tuple(name for j, name in enumerate(velocities) if j not in taken)


# ---------------------------------------------------------------- programs


@dataclass(frozen=True, eq=False)
class _Minimal:
    opened: Opened
    iterations: int
    choices: tuple[tuple[str, ...], ...]
    choice: tuple[str, ...]

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Of independent and dependent coordinates, and likewise velocities."""
        names = [v.name for v in self.opened.equations.velocities]
        return [names.index(n) for n in self.choice], [j for j, n in enumerate(names) if n not in self.choice]

    @cached_property
    def _x(self) -> ca.SX:
        """q, v_i and further states, as symbols."""
        q, _, rest = self.opened.parts
        return ca.vertcat(q, ca.SX.sym("speeds", len(self.choice)), rest)

    @cached_property
    def _labels(self) -> list[str]:
        e = self.opened.equations
        return [*(c.name for c in e.coordinates), *self.choice, *(s.name for s in e.extra_states)]

    @cached_property
    def _slots(self) -> Slots:
        e = self.opened.equations
        t, _, u, p = self.opened.symbols
        return {
            "t": (t, ["t"]),
            "x": (self._x, self._labels),
            "u": (u, [i.name for i in e.inputs]),
            "p": (p, [i.name for i in e.parameters]),
        }

    def _at(self, expression: ca.SX, q: ca.SX) -> ca.SX:
        return ca.substitute(expression, self.opened.parts[0], q)

    def _corrected(self, q: ca.SX, steps: int) -> ca.SX:
        """Newton's method for the dependent coordinates, a fixed number of steps in symbols: they become part of the program."""
        _, bound = self._places
        residual = self.opened.residuals[0]
        slope = ca.jacobian(residual, self.opened.parts[0])[:, bound]
        for _ in range(steps):
            change = ca.solve(ca.densify(self._at(slope, q)), self._at(residual, q))
            q = ca.SX(q)
            q[bound] -= change
        return q

    @cached_property
    def _kernel(self) -> tuple[ca.SX, ca.SX]:
        """H_d and h_d of v_d = H_d v_i + h_d, at any q."""
        free, bound = self._places
        t, q = self.opened.symbols[0], self.opened.parts[0]
        residual = self.opened.residuals[0]
        slope = ca.densify(ca.jacobian(residual, q))
        moved = ca.densify(ca.jacobian(residual, t))
        solved = -ca.solve(slope[:, bound], ca.horzcat(slope[:, free], moved))
        return solved[:, : len(free)], solved[:, len(free)]

    @cached_property
    def _whole(self) -> list[ca.SX]:
        """(t, x, u, p) of the equations in which nothing is eliminated, from those of the state."""
        t, _, u, p = self.opened.symbols
        q, _, rest = self.opened.parts
        free, bound = self._places
        right = self._corrected(q, self.iterations)
        speeds = self._x[q.numel() : q.numel() + len(free)]
        v = ca.SX.zeros(q.numel())
        v[free] = speeds
        v[bound] = self._at(self._kernel[0], right) @ speeds + self._at(self._kernel[1], right)
        return [t, ca.vertcat(right, v, rest), u, p]

    def _dynamics(self) -> LinearSolveProgram:
        """The whole system's, of whose accelerations those of the choice are kept."""
        whole = self.opened.solved
        assert whole is not None  # `check_holonomic` has seen to it
        z = ca.SX.sym("z", whole.size)
        slope = whole.after.function.call([*self._whole, z])[0]
        count = self.opened.parts[0].numel()
        kept = [*range(count), *(count + j for j in self._places[0]), *range(2 * count, slope.numel())]
        labels = [f"d{s}/dt" for s in self._labels]
        after = Program.build(whole.after.name, {**self._slots, "z": z}, {"xdot": (slope[kept], labels)})
        return solved_at(whole, self._slots, self._whole, after)

    def _project(self) -> Program | LinearSolveProgram:
        """Dependent coordinates by one step of Newton's method; without iterations, all coordinates by least change."""
        q = self.opened.parts[0]
        residual = self.opened.residuals[0]
        rest, error = self._x[q.numel() :], (ca.norm_inf(residual), ["error"])
        name = f"{self.opened.equations.name}_project"
        if self.iterations:
            moved = ca.vertcat(self._corrected(q, 1), rest)
            return Program.build(name, self._slots, {"x_new": (moved, self._labels), "error": error})
        lean, z = ca.jacobian(residual, q), ca.SX.sym("z", residual.numel())
        outputs: Slots = {"x_new": (ca.vertcat(q - lean.T @ z, rest), self._labels), "error": error}
        return LinearSolveProgram.build(name, self._slots, lean @ lean.T, residual, z, outputs)

    def equations(self) -> Equations:
        e = self.opened.equations
        kernel, _ = self._kernel
        return replace(
            e,
            independent=self.choice,
            dynamics=self._dynamics(),
            report=at_state(e.report, self._slots, self._whole),
            project=self._project(),
            monitor=Program.build(
                f"{e.name}_monitor", self._slots, {"condition": (ca.sqrt(1 + ca.sumsqr(kernel)), ["condition"])}
            ),
            events=None if e.events is None else program_at(e.events, self._slots, self._whole),
            limits=RunLimits(condition=POOR),
            alternates=tuple(c for c in self.choices if c != self.choice),
            with_independent=lambda names: _with_choice(e, self.iterations, self.choices, tuple(names)),
        )

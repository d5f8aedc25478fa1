"""Sweeps of the adjoint method over motions that switch: runs with derivatives forward, costates backward.

No fixed step follows a switch of the state. Each step of the grid is therefore a run of its own, which locates switches and
slides, with sensitivities, which jump there (`simulation.stepper.saltation`). With Φ, U and P the derivatives of its end by its
start, its inputs and the parameters, the costates are λ = Φᵀλ⁺, and the gradients Uᵀλ⁺ and Pᵀλ⁺. Derivatives by the times of both
ends are λ⁺·f⁺ and −λ·f.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.optimal.adjoint.adjoint_programs import Motion
from draisine.optimal.adjoint.discrete_gradient import DiscreteGradient
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.variational import Direction, widen, widen_solved
from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.sensitivity import integrate_varied

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

FINE = DOP853(rtol=1e-10, atol=1e-12)
BESIDE = 1e-12  # of the duration: from the ends of a step to where its rates are taken, beside switches of time there


def with_cost(motion: Motion) -> Equations:
    """The equations with the integral of the cost as a further state; without projection, like other sweeps."""
    e, symbols = motion.symbols.equations, motion.symbols
    t, x, u, p = symbols.plant.arguments
    labels = [[q.name for q in group] for group in (e.states, e.inputs, e.parameters)]
    further = (ca.vertcat(x, ca.SX.sym("cost")), [*labels[0], "cost"])
    slots: dict[str, Any] = {"t": t, "x": further, "u": (u, labels[1]), "p": (p, labels[2])}
    name = f"{e.name}_with_cost"
    dynamics: Program | LinearSolveProgram
    if isinstance(e.dynamics, LinearSolveProgram):
        after = Program.build(name, {**slots, "z": symbols.z}, {"xdot": motion.rates})
        dynamics = replace(widen_solved(e.dynamics, 1), name=name, after=after)
    else:
        dynamics = Program.build(name, slots, {"xdot": motion.rates})
    return replace(
        e,
        name=name,
        dynamics=dynamics,
        report=widen(e.report, 1) if isinstance(e.report, Program) else widen_solved(e.report, 1),
        project=None,
        monitor=None,
        events=None,
        event_list=(),
        causes=None,
        inverse_dynamics=None,
        with_independent=None,
        alternates=(),
        extra_states=(*e.extra_states, Quantity("cost")),
    )


class SwitchedRunner:
    """Forward and backward sweeps over given fractions τ of the duration; `piece` is the index of the inputs in each step."""

    def __init__(self, motion: Motion, fractions: Reals, piece: Indices) -> None:
        self._equations, self._kernel = with_cost(motion), motion.kernels[0]
        self.fractions, self._piece = np.asarray(fractions, dtype=float), piece
        n, inputs = len(self._equations.states) - 1, self._equations.inputs
        own = [Direction(q.name, "x") for q in self._equations.states[:n]]
        pushing = [Direction(q.name, "u", i) for i, q in enumerate(inputs)]
        names = [q.name for q in self._equations.parameters]
        self._directions = (*own, *pushing, *(Direction(names[i], "p", i) for i in motion.varied_indices))
        self._ends = n, n + len(inputs)
        self.warnings: tuple[str, ...] = ()

    def forward(self, begin: float, duration: float, x: Reals, inputs: Reals, p: Reals) -> Reals | None:
        """States and the integral of the cost (steps + 1, w), or None where the motion does not stay finite."""
        n = self._ends[0]
        self._given = begin + duration * self.fractions, duration, inputs, p
        times = self._given[0]
        states, matrices = [np.append(x, 0.0)], []
        warnings: list[str] = []
        first = np.eye(n + 1, len(self._directions))
        first[n] = 0.0
        for step, piece in enumerate(self._piece):
            run = integrate_varied(
                self._equations,
                states[-1],
                first,
                times[step + 1],
                self._directions,
                start=times[step],
                parameters=p,
                inputs=inputs[piece],
                method=FINE,
                samples=[times[step + 1]],
            )
            state, matrix = run.final
            if run.run.status.kind != Ending.FINISHED or not np.isfinite(state).all():
                return None
            states.append(state)
            matrices.append(matrix)
            warnings += run.run.status.warnings
        self._states, self._matrices, self.warnings = np.array(states), matrices, tuple(dict.fromkeys(warnings))
        return self._states

    def backward(self, seed: Reals, integral: float = 1.0) -> DiscreteGradient:
        """Derivatives of seedᵀx(end) + integral × ∫ cost, for the last motion of `forward`."""
        n, after = self._ends
        _, _, inputs, _ = self._given
        costate = np.append(seed, integral)
        costates, by_inputs = [costate[:n]], np.zeros_like(inputs)
        by_parameters, by_duration = np.zeros(len(self._directions) - after), 0.0
        for step in range(len(self._piece) - 1, -1, -1):
            pulled = self._matrices[step].T @ costate
            by_inputs[self._piece[step]] += pulled[n:after]
            by_parameters += pulled[after:]
            at_end, costate = costate, np.append(pulled[:n], integral)
            ends = self._rates(step)
            by_duration += self.fractions[step + 1] * (at_end @ ends[1]) - self.fractions[step] * (costate @ ends[0])
            costates.append(costate[:n])
        return DiscreteGradient(np.array(costates[::-1]), by_inputs, by_parameters, float(by_duration))

    def _rates(self, step: int) -> tuple[Reals, Reals]:
        """(f, c) at both ends of a step."""
        times, duration, inputs, p = self._given
        n, u = self._ends[0], inputs[self._piece[step]]
        found = []
        for end, sign in ((step, 1.0), (step + 1, -1.0)):
            found.append(np.asarray(self._kernel([times[end] + sign * BESIDE * duration], self._states[end, :n], u, p)[0]))
        return found[0], found[1]

"""Cost and conditions of a phase as functions of its controls on a grid, its duration and its parameters, with their gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.errors import ArgumentError
from draisine.optimal.adjoint.adjoint_programs import Motion
from draisine.optimal.adjoint.functional import Jacobian, Runner
from draisine.optimal.adjoint.method import MOST_STEPS, Adjoint
from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ends:
    """Final cost and conditions at the end, one below the other, and weighted sums of their derivatives."""

    phase: Phase
    motion: Motion

    def __post_init__(self) -> None:
        if self.phase.ends_use:
            raise ArgumentError(
                f"{self.phase.equations.name}: a condition or cost at the end depends on controls or forces, which jump there; "
                "write it in states, or use Collocation('radau')"
            )

    @cached_property
    def _values(self) -> ca.SX:
        final = ca.SX(0) if self.phase.final is None else self.phase.final
        return stacked([final, *(c.value for c in self.phase.ends)])

    @cached_property
    def _value(self) -> ca.Function:
        return ca.Function("ends", self.phase.vocabulary.plant.arguments, [ca.densify(self._values)])

    @cached_property
    def _pulled(self) -> ca.Function:
        plant, weights = self.phase.vocabulary.plant, ca.SX.sym("weights", self._values.numel())
        by = ca.vertcat(plant.x, *[plant.p[i] for i in self.motion.varied_places], plant.t)
        jacobian = ca.jtimes(self._values, by, weights, True)
        return ca.Function("ends_pulled", [*plant.arguments, weights], [ca.densify(jacobian)])

    def values(self, t: float, x: Reals, u: Reals, p: Reals) -> Reals:
        """Final cost, conditions."""
        return np.array(self._value(t, x, u, p).full()).ravel()

    def pulled(self, t: float, x: Reals, u: Reals, p: Reals, weights: Reals) -> Reals:
        """Derivatives by x, varied parameters, t."""
        return np.array(self._pulled(t, x, u, p, weights).full()).ravel()


@dataclass(frozen=True, eq=False)
class Outcome:
    """A motion: states at the ends of all steps, what it costs, and its conditions at the end."""

    states: Reals  # (steps + 1, states)
    cost: float
    conditions: Reals


@dataclass(frozen=True, eq=False)
class Functional:
    """A phase from the state `start` with `steps` in each piece of the method's grid."""

    phase: Phase
    start: Reals
    method: Adjoint
    motion: Motion
    ends: Ends
    steps: int

    @staticmethod
    def of(phase: Phase, start: Reals, method: Adjoint, varied: tuple[str, ...]) -> Functional:
        """With derivatives by the parameters `varied`."""
        motion = Motion(phase.vocabulary, phase.integrand, varied)
        return Functional(phase, start, method, motion, Ends(phase, motion), method.steps or 1)

    def settled(self, duration: float, controls: Reals, p: Reals) -> Functional:
        """With so many steps that twice as many change the motion by less than the accuracy asked for."""
        if self.method.steps is not None:
            return self
        coarse = self
        before = coarse.run(duration, controls, p)
        while coarse.steps < MOST_STEPS:
            fine = coarse.finer
            after = fine.run(duration, controls, p)
            if before is not None and after is not None and apart(before, after).max() < self.method.accuracy:
                break
            coarse, before = fine, after
        return coarse

    @property
    def finer(self) -> Functional:
        """With twice as many steps."""
        return replace(self, steps=2 * self.steps)

    @cached_property
    def _places(self) -> list[int]:
        names = [q.name for q in self.phase.equations.inputs]
        return [names.index(name) for name in self.phase.controls]

    @cached_property
    def _runner(self) -> Runner:
        pieces = len(self.method.breaks) - 1
        fractions = self.method.fractions(self.steps)
        return Runner(*self.motion.kernels, self.method.scheme, fractions, np.repeat(np.arange(pieces), self.steps))

    def inputs(self, controls: Reals) -> Reals:
        """All inputs (pieces, inputs) for controls (pieces, controls)."""
        u = np.tile(self.phase.inputs, (len(controls), 1))
        u[:, self._places] = controls
        return u

    def run(self, duration: float, controls: Reals, p: Reals) -> Outcome | None:
        """The motion with controls (pieces, controls); None if it does not stay finite."""
        u = self.inputs(controls)
        found = self._runner.forward(0.0, duration, self.start, u, p)
        if found is None:
            return None
        states = found[:, :-1].copy()
        values = self.ends.values(duration, states[-1], u[-1], p)
        cost = float(found[-1, -1] + values[0] + self.phase.time_weight * duration)
        return Outcome(states, cost, values[1:]) if np.isfinite(values).all() and np.isfinite(cost) else None

    def jacobian(self, last: Outcome, duration: float, controls: Reals, p: Reals, weights: Reals, cost: float = 1.0) -> Jacobian:
        """Derivatives of the cost, times a factor, and of weighted conditions, about the motion that was run last."""
        weighted = np.concatenate([[cost], weights])
        at_end = self.ends.pulled(duration, last.states[-1], self.inputs(controls)[-1], p, weighted)
        n = last.states.shape[1]
        found = self._runner.backward(at_end[:n], cost)
        return Jacobian(
            found.costates,
            found.inputs[:, self._places],
            found.parameters + at_end[n:-1],
            found.duration + float(at_end[-1]) + cost * self.phase.time_weight,
        )

    def at_breaks(self, of_steps: Reals) -> Reals:
        """Of values at the ends of all steps, those at the ends of pieces."""
        return of_steps[:: self.steps]


def apart(coarse: Outcome, fine: Outcome) -> Reals:
    """By how much a motion changes with twice as many steps: at the ends of steps, relative to the states' sizes."""
    sizes = np.maximum(np.abs(fine.states).max(axis=0), 1e-3)
    gap: Reals = (np.abs(fine.states[::2] - coarse.states) / sizes).max(axis=1)
    return gap

"""Cost and end conditions of a phase as functions of controls, duration and parameters; gradients by compiled sweeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.restricted.entry import Code, Entry
from draisine.control.plant import stacked
from draisine.errors import ArgumentError
from draisine.optimal.adjoint.adjoint_programs import Motion
from draisine.optimal.adjoint.discrete_gradient import DiscreteGradient
from draisine.optimal.adjoint.method import MOST_STEPS, Adjoint
from draisine.optimal.adjoint.sweep import Sweep
from draisine.optimal.adjoint.switched_sweep import FINE, SwitchedRunner
from draisine.optimal.phase import Phase
from draisine.optimal.scaling import LEAST_SIZE
from draisine.simulation.compiled_equations import prepared
from draisine.simulation.methods.tableau import Scheme

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]


SWEEP = Entry("draisine.optimal.adjoint.sweep", "sweep", ())


def compiled_sweep() -> Code:
    """Machine code of `sweep.sweep`, cached on disk."""
    return SWEEP.load()


class Runner:
    """Forward and backward sweeps over given fractions τ of the duration; `piece` is the index of the inputs in each step."""

    def __init__(self, forward: Kernel, backward: Kernel, scheme: Scheme, fractions: Reals, piece: Indices) -> None:
        self._kernels, self.fractions = (forward, backward), np.asarray(fractions, dtype=float)
        self.sweep = s = Sweep()
        s.steps, s.stages = len(fractions) - 1, scheme.stages
        s.width, s.states, s.inputs = forward.outputs[0].size, forward.inputs[1].size, forward.inputs[2].size
        s.varied, reported = backward.outputs[2].size, forward.outputs[1].size
        s.forward_kernel, s.backward_kernel = forward.address, backward.address
        s.piece = np.ascontiguousarray(piece, dtype=np.int64)
        s.nodes = np.ascontiguousarray(scheme.nodes[: s.stages])
        s.weights = np.ascontiguousarray(scheme.weights[: s.stages + 1, : s.stages])
        pieces, width, stages = int(piece.max()) + 1, s.width, s.stages
        s.allocate(
            {
                **dict.fromkeys(("time", "by_time"), (1,)),
                "times": (s.steps + 1,),
                **dict.fromkeys(("input", "input_gradient"), (pieces, s.inputs)),
                "parameter": (forward.inputs[3].size,),
                **dict.fromkeys(("state", "costate"), (s.steps + 1, width)),
                **dict.fromkeys(("point", "rate", "pull"), (stages, width)),
                "reported": (stages, reported),
                "load": (width,),
                "by_x": (s.states,),
                "by_input": (s.inputs,),
                **dict.fromkeys(("by_parameter", "parameter_gradient"), (s.varied,)),
                "length_gradient": (s.steps,),
                "time_gradient": (2, s.steps),
            }
        )
        self._run: Callable[[Sweep], int] = compiled_sweep()

    # ---------------------------------------------------------------- sweeps

    def forward(self, begin: float, duration: float, x: Reals, inputs: Reals, p: Reals) -> Reals | None:
        """States and the integral of the cost (steps + 1, w), or None where the motion does not stay finite."""
        s = self.sweep
        s.times[:] = begin + duration * self.fractions
        s.input[...] = inputs.reshape(s.input.shape)
        s.parameter[: p.size] = p
        s.state[0] = 0.0
        s.state[0, : s.states] = x
        s.backward = 0
        return s.state if self._run(s) == s.steps else None

    def backward(self, seed: Reals, integral: float = 1.0) -> DiscreteGradient:
        """Derivatives of seedᵀx(end) + integral × ∫ cost, for the last motion of `forward`."""
        s = self.sweep
        s.input_gradient[:], s.parameter_gradient[:] = 0.0, 0.0
        s.costate[-1] = [*seed, integral]
        s.backward = 1
        self._run(s)
        at, spans = self.fractions[:-1], np.diff(self.fractions)
        moved, shifted = s.time_gradient
        # the length T Δτ of a step and its initial time T τ both depend on the duration T
        by_duration = float(spans @ (s.length_gradient + shifted) + at @ moved)
        return DiscreteGradient(
            s.costate[:, : s.states].copy(), s.input_gradient.copy(), s.parameter_gradient.copy(), by_duration
        )


@dataclass(frozen=True, eq=False)
class EndFunctions:
    """Final cost and conditions at the end, stacked, and their vector–Jacobian products."""

    phase: Phase
    motion: Motion

    def __post_init__(self) -> None:
        if self.phase.ends_use:
            raise ArgumentError(
                f"{self.phase.equations.name}: a condition or cost at the end depends on controls or forces, which jump there; "
                "write it in terms of states, or use Collocation('radau')"
            )

    @cached_property
    def _values(self) -> ca.SX:
        final = ca.SX(0) if self.phase.final is None else self.phase.final
        return stacked([final, *(c.value for c in self.phase.ends)])

    @cached_property
    def _value(self) -> ca.Function:
        return ca.Function("ends", self.phase.symbols.plant.arguments, [ca.densify(self._values)])

    @cached_property
    def _vjp(self) -> ca.Function:
        plant, weights = self.phase.symbols.plant, ca.SX.sym("weights", self._values.numel())
        by = ca.vertcat(plant.x, *[plant.p[i] for i in self.motion.varied_indices], plant.t)
        gradient = ca.jtimes(self._values, by, weights, True)
        return ca.Function("ends_pulled", [*plant.arguments, weights], [ca.densify(gradient)])

    def values(self, t: float, x: Reals, u: Reals, p: Reals) -> Reals:
        """Final cost, conditions."""
        return np.array(self._value(t, x, u, p).full()).ravel()

    def vjp(self, t: float, x: Reals, u: Reals, p: Reals, weights: Reals) -> Reals:
        """Derivatives by x, varied parameters, t."""
        return np.array(self._vjp(t, x, u, p, weights).full()).ravel()


@dataclass(frozen=True, eq=False)
class DiscreteMotion:
    """A discrete motion: states at the ends of all steps, cost, and values of the conditions at the end."""

    states: Reals  # (steps + 1, states)
    cost: float
    conditions: Reals


@dataclass(frozen=True, eq=False)
class Functional:
    """A phase from the state `start` with `steps` in each piece of the grid."""

    phase: Phase
    start: Reals
    method: Adjoint
    motion: Motion
    ends: EndFunctions
    steps: int
    followed: bool = False  # whether each step is a run of its own, see `switched_sweep`

    @staticmethod
    def of(phase: Phase, start: Reals, method: Adjoint, varied: tuple[str, ...]) -> Functional:
        """The functional with derivatives by the parameters `varied`."""
        motion = Motion(phase.symbols, phase.integrand, varied)
        return Functional(phase, start, method, motion, EndFunctions(phase, motion), method.steps or 1)

    def with_settled_steps(self, duration: float, controls: Reals, p: Reals) -> Functional:
        """With enough steps that doubling them changes the motion by less than the requested accuracy. Where equal steps do not
        reach it, or may pass over what a function of time does between them, each step is a run with error control."""
        if self.method.steps is not None:
            return self
        each_a_run, longest = replace(self, followed=True), self._longest_step(duration, controls, p)
        if self.motion.switches or longest == 0.0:
            return each_a_run
        coarse, settled = self, False
        before = coarse.run(duration, controls, p)
        while not settled and coarse.steps < MOST_STEPS:
            fine = coarse.finer
            after = fine.run(duration, controls, p)
            least = LEAST_SIZE * self.phase.sizes.smallest_state
            if before is not None and after is not None:
                settled = bool(step_error(before, after, least).max() < self.method.accuracy)
            coarse, before = (coarse, before) if settled else (fine, after)
        length = duration * float(np.diff(self.method.breaks).max()) / coarse.steps
        rough = not settled and (self.phase.equations.can_switch or self.phase.equations.can_be_sharp)  # kinks, for example
        return each_a_run if rough or length > longest else coarse

    def _longest_step(self, duration: float, controls: Reals, p: Reals) -> float:
        """The length of equal steps that pass over nothing in functions of time, zero if these have kinks or stops."""
        e = self.phase.equations
        marks = prepared(e).choices.compiled(e.choice).time_marks if e.can_switch or e.can_be_sharp else None
        tables = None if marks is None else marks.tables((0.0, duration), self.inputs(controls)[0], p, FINE)
        if tables is None or not len(tables.mark_time):
            return math.inf
        return 0.0 if (tables.mark_kink >= 0).any() else tables.mark_safe

    @property
    def finer(self) -> Functional:
        """With twice as many steps."""
        return replace(self, steps=2 * self.steps)

    @cached_property
    def _control_indices(self) -> list[int]:
        names = [q.name for q in self.phase.equations.inputs]
        return [names.index(name) for name in self.phase.controls]

    @cached_property
    def _runner(self) -> Runner | SwitchedRunner:
        pieces = len(self.method.breaks) - 1
        fractions = self.method.fractions(self.steps)
        if self.motion.switches or self.followed:
            return SwitchedRunner(self.motion, fractions, np.repeat(np.arange(pieces), self.steps))
        return Runner(*self.motion.kernels, self.method.scheme, fractions, np.repeat(np.arange(pieces), self.steps))

    def inputs(self, controls: Reals) -> Reals:
        """All inputs (pieces, inputs) for controls (pieces, controls)."""
        u = np.tile(self.phase.inputs, (len(controls), 1))
        u[:, self._control_indices] = controls
        return u

    def run(self, duration: float, controls: Reals, p: Reals) -> DiscreteMotion | None:
        """The motion with controls (pieces, controls); None if it does not stay finite."""
        u = self.inputs(controls)
        found = self._runner.forward(0.0, duration, self.start, u, p)
        if found is None:
            return None
        states = found[:, :-1].copy()
        values = self.ends.values(duration, states[-1], u[-1], p)
        cost = float(found[-1, -1] + values[0] + self.phase.time_weight * duration)
        return DiscreteMotion(states, cost, values[1:]) if np.isfinite(values).all() and np.isfinite(cost) else None

    def gradient(
        self, last: DiscreteMotion, duration: float, controls: Reals, p: Reals, weights: Reals, cost: float = 1.0
    ) -> DiscreteGradient:
        """Gradient of `cost` times the cost plus the weighted conditions, for the last motion."""
        weighted = np.concatenate([[cost], weights])
        at_end = self.ends.vjp(duration, last.states[-1], self.inputs(controls)[-1], p, weighted)
        n = last.states.shape[1]
        found = self._runner.backward(at_end[:n], cost)
        return DiscreteGradient(
            found.costates,
            found.inputs[:, self._control_indices],
            found.parameters + at_end[n:-1],
            found.duration + float(at_end[-1]) + cost * self.phase.time_weight,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the last motion about derivatives that are those of one side."""
        return self._runner.warnings if isinstance(self._runner, SwitchedRunner) else ()

    def at_breaks(self, of_steps: Reals) -> Reals:
        """Values at the ends of pieces, from values at the ends of all steps."""
        return of_steps[:: self.steps]


def step_error(coarse: DiscreteMotion, fine: DiscreteMotion, least: float) -> Reals:
    """Change of a motion with twice as many steps: at the ends of steps, relative to the sizes of states, at least `least`."""
    sizes = np.maximum(np.abs(fine.states).max(axis=0), least)
    gap: Reals = (np.abs(fine.states[::2] - coarse.states) / sizes).max(axis=1)
    return gap

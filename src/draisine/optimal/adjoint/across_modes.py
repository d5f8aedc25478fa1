"""Adjoint gradients across modes of contacts: saltation matrices, transposed, between sweeps backwards in time.

The cost φ(x(T)) + ∫ L dt of a run whose contacts stick, slip, open and land has the costates λ = ∂cost/∂x. Within a mode,

    λ̇ = −(∂f/∂x)ᵀ λ − (∂L/∂x)ᵀ,    λ(T) = (∂φ/∂x)ᵀ,

and derivatives by parameters and inputs gather (∂f/∂θ)ᵀ λ + ∂L/∂θ. Where modes change at the time τ, derivatives of the state
jump by a matrix, S⁺ = D S⁻ + D_θ (`simulation.contact_jumps`), and the integral of the cost by (L⁻ − L⁺) τ′:

    λ⁻ = Dᵀ λ⁺ + (L⁻ − L⁺) ∂τ/∂x,    and likewise for θ.

The accelerations and forces z of ẋ = f(x, z), K z = r are those of the mode; with Kᵀ w = (∂f/∂z)ᵀ λ, (∂f/∂x)ᵀ λ is the gradient
of λᵀ f − wᵀ (K z − r) by x. States are integrated backwards together with their costates, from the state at the end of each mode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.contact_modes import compliant
from draisine.errors import ArgumentError, SolverError
from draisine.model.quantities import Amount
from draisine.optimal.phase import algebraic_guess, evaluator
from draisine.optimal.symbolic_model import SymbolicModel
from draisine.program.equations import Equations, Quantity
from draisine.program.fixed_modes import modes_as_parameters
from draisine.program.linear_solve import LinearSolveProgram, Solver
from draisine.program.variational import Direction, widen, widen_solved
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.contact_jumps import Jump, JumpMatrices
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.run import integrate
from draisine.simulation.sensitivity import toleranced, varied

Reals = NDArray[np.float64]

ACCURACY = 1e-11
BACKWARDS = 1e-7  # of the states: a larger deviation from the motion shows that it is lost backwards


@dataclass(frozen=True, eq=False)
class ModeAdjoint:
    """The cost of runs across modes, with its gradient. `integral` and `final` are expressions of named quantities."""

    equations: Equations
    controls: tuple[str, ...]
    integral: Amount | None
    final: Amount | None
    time_weight: float = 0.0

    @cached_property
    def _open(self) -> Equations:
        """The equations with the modes of contacts among their parameters."""
        return replace(modes_as_parameters(self.equations), project=None)

    @cached_property
    def symbols(self) -> SymbolicModel:
        return SymbolicModel(self._open, self.controls)

    @cached_property
    def _integrand(self) -> ca.SX:
        value = ca.SX(self.time_weight)
        if self.integral is not None:
            value += self.symbols.value(self.integral, "minimize(integral=…)")
        if ca.depends_on(value, self.symbols.z):
            raise ArgumentError(
                f"{self.equations.name}: gradient: the integral depends on forces or accelerations, which jump with the modes; "
                "write it in states, kinematic outputs and inputs"
            )
        return value

    @cached_property
    def _final(self) -> ca.SX:
        value = ca.SX(0) if self.final is None else self.symbols.value(self.final, "minimize(final=…)")
        if ca.depends_on(value, ca.vertcat(self.symbols.z, self.symbols.plant.u)):
            raise ArgumentError(f"{self.equations.name}: gradient: the cost at the end depends on forces or controls")
        return value

    # ---------------------------------------------------------------- backwards

    @cached_property
    def _varied_inputs(self) -> list[int]:
        names = [q.name for q in self.equations.inputs]
        return [names.index(name) for name in self.controls]

    @cached_property
    def _backwards(self) -> VelocityChoices:
        """Compiled equations of (x, λ, gradients by parameters and controls, ∫ L dt)."""
        v, e = self.symbols, self._open
        plant, n = v.plant, len(e.states)
        theta = ca.vertcat(plant.p[: len(self.equations.parameters)], plant.u)
        more = n + theta.numel() + 1
        x = ca.SX.sym("x", n + more)
        costate, z, w = x[n : 2 * n], v.z, ca.SX.sym("w", v.z.numel())
        matrix, side, compliance, preload = self._system
        value = ca.dot(costate, v.rates)
        total = value + self._integrand - ca.dot(w, matrix @ z - side)
        rates = ca.vertcat(v.rates, -ca.gradient(total, plant.x), -ca.gradient(total, theta), self._integrand)
        sides = ca.vertcat(side, ca.gradient(value, z))
        before = ca.vertcat(preload, ca.SX.zeros(z.numel()))
        rates, both, sides, loose, before = ca.substitute(
            [rates, ca.diagcat(matrix, matrix.T), sides, ca.vertcat(compliance, compliance), before], [plant.x], [x[:n]]
        )
        inputs: dict[str, ca.SX] = {"t": plant.t, "x": x, "u": plant.inputs, "p": plant.p}
        solved = ca.vertcat(z, w)
        if compliance.nnz():
            dynamics = compliant(f"{e.name}_adjoint", inputs, both, sides, solved, {"xdot": rates}, loose, Solver.AUTO, before)
        else:
            dynamics = LinearSolveProgram.build(f"{e.name}_adjoint", inputs, both, sides, solved, {"xdot": rates})
        report = widen(e.report, more) if not isinstance(e.report, LinearSolveProgram) else widen_solved(e.report, more)
        extra = tuple(Quantity(f"costate_{i}") for i in range(more))
        return prepare(
            replace(e, name=f"{e.name} adjoint", dynamics=dynamics, report=report, extra_states=(*e.extra_states, *extra)),
            quick=True,
        )

    @cached_property
    def _system(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """K and r of K z = r, the compliance of rows that may depend on each other, which an iteration removes, and where that
        begins."""
        dynamics, plant, z = self._open.dynamics, self.symbols.plant, self.symbols.z
        assert isinstance(dynamics, LinearSolveProgram)  # of contacts that open
        matrix, side = dynamics.linear(plant.arguments, z)
        jacobian = ca.jacobian(side, z)
        if jacobian.nnz() and ca.depends_on(jacobian, z):
            raise ArgumentError(f"gradient: forces of {self.equations.name} depend nonlinearly on each other; use sensitivity=")
        compliance = ca.diag(jacobian) if jacobian.nnz() else ca.SX(z.numel(), 1)
        preload = ca.SX.zeros(z.numel()) if dynamics.start is None else dynamics.start.function.call(plant.arguments)[0]
        return matrix - ca.diag(compliance), side - compliance * z, compliance, preload

    # ---------------------------------------------------------------- forwards

    @cached_property
    def _forward(self) -> VelocityChoices:
        return prepare(varied(self.equations, self._dummy))

    @property
    def _dummy(self) -> tuple[Direction, ...]:
        return (Direction(self.equations.states[0].name, "x", 0),)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Parameters, then controls."""
        e = self.equations
        parameters = [Direction(q.name, "p", i) for i, q in enumerate(e.parameters)]
        return (*parameters, *(Direction(e.inputs[i].name, "u", i) for i in self._varied_inputs))

    def run(self, x: Reals, p: Reals, edges: Reals, inputs: Reals, accuracy: float | None = None) -> ModeMotion:
        """The motion from a state with the modes in p; inputs (pieces, inputs) are constant between the edges."""
        rtol = ACCURACY if accuracy is None else accuracy
        method = toleranced(DOP853(rtol=rtol, atol=rtol), len(x), np.ones(1))
        pieces, notes = list[Piece](), list[str]()
        for k, u in enumerate(inputs):
            recorded: list[JumpMatrices] = []

            def jumps(memory: object, into: list[JumpMatrices] = recorded) -> JumpMatrices:
                into.append(JumpMatrices(self.equations, self.directions, memory))  # type: ignore[arg-type]
                return into[-1]

            span = float(edges[k]), float(edges[k + 1])
            found = integrate(
                self._forward,
                np.concatenate([x, np.zeros(len(x))]),
                span[1],
                start=span[0],
                parameters=p,
                inputs=u,
                method=method,
                samples=[span[1]],
                jumps=jumps,
            )
            if found.status.kind is not Ending.FINISHED:
                raise SolverError(f"{self.equations.name}: the motion does not reach its end: {found.status}")
            last = found.segments[-1].parameters
            x, p = found.final_state[: len(x)], p if last is None else last
            pieces.append(Piece(span, u, tuple(recorded[-1].found), x, p))
            notes += [note for note in recorded[-1].notes if note not in notes]
        return ModeMotion(tuple(pieces), tuple(notes))

    def gradient(self, motion: ModeMotion) -> ModeGradient:
        """Costates at the ends of pieces, and derivatives by parameters and controls."""
        n, count, controls = len(self.equations.states), len(self.equations.parameters), len(self.controls)
        last = motion.pieces[-1]
        value, by_time, costate, by_end = self._at_end(last)
        gathered = np.zeros(count + controls + 1)
        gathered[:count] = by_end
        costates, by_controls, by_edges = [costate], list[Reals](), [by_time]
        for piece in reversed(motion.pieces):
            gathered[count:-1] = 0.0
            time, state, p = piece.span[1], piece.final, piece.parameters
            by_edges[0] += self._hamiltonian(time, state, costate, piece.inputs, p)
            begins = False
            for jump in reversed(piece.jumps):
                costate, gathered = self._swept(state, costate, gathered, (time, jump.time), piece.inputs, p, jump.after[0])
                if jump.time <= piece.span[0] and not begins:
                    begins = True
                    by_edges.insert(0, -self._hamiltonian(jump.time, jump.after[0], costate, piece.inputs, jump.after[1]))
                whole = costate @ jump.matrix + self._jump_of_cost(jump, piece.inputs) * jump.shift
                costate = whole[:n]
                gathered[:-1] += whole[n:]
                time, (state, p) = jump.time, jump.before
            assert begins  # a run decides on its modes where it begins
            by_controls.insert(0, gathered[count:-1].copy())
            costates.insert(0, costate)
        value -= gathered[-1]  # the integral was followed backwards
        return ModeGradient(value, np.array(costates), gathered[:count].copy(), np.array(by_controls), np.array(by_edges))

    def _swept(
        self, x: Reals, costate: Reals, gathered: Reals, span: tuple[float, float], u: Reals, p: Reals, expected: Reals
    ) -> tuple[Reals, Reals]:
        """Costates and gathered derivatives at an earlier time, at which the motion had the `expected` state."""
        if not span[0] > span[1]:
            return costate, gathered
        n = len(x)
        method = DOP853(rtol=ACCURACY, atol=ACCURACY)
        begin = np.concatenate([x, costate, gathered])
        found = integrate(
            self._backwards, begin, span[1], start=span[0], parameters=p, inputs=u, method=method, samples=[span[1]]
        )
        off = float(np.abs(found.final_state[:n] - expected).max()) / max(1.0, float(np.abs(expected).max()))
        if found.status.kind is not Ending.FINISHED or not off <= BACKWARDS:
            raise SolverError(
                f"{self.equations.name}: the motion cannot be followed backwards from t = {span[0]:.6g} s to {span[1]:.6g} s, as "
                "where a slip in two dimensions stops; use simulate(…, sensitivity=…)"
            )
        return found.final_state[n : 2 * n], found.final_state[2 * n :]

    # ---------------------------------------------------------------- the cost

    @cached_property
    def _functions(self) -> tuple[ca.Function, ca.Function, ca.Function]:
        """(t, y, z, u, p) → the integrand; the cost at the end with its gradients by t, x and p; ẋ."""
        v, plant = self.symbols, self.symbols.plant
        final = self._final
        ends = ca.vertcat(final, ca.gradient(final, plant.t), ca.gradient(final, plant.x), ca.gradient(final, plant.p))
        return tuple(evaluator(v, value, plant.t) for value in (self._integrand, ends, v.rates))  # type: ignore[return-value]

    def _values(self, which: int, t: float, x: Reals, u: Reals, p: Reals) -> Reals:
        z = algebraic_guess(self.symbols, np.array([t]), x[None], u[None], p)[0]
        return np.asarray(self._functions[which](t, x, z, u, p).full()).ravel()

    def _jump_of_cost(self, jump: Jump, u: Reals) -> float:
        """L⁻ − L⁺."""
        old, new = (self._values(0, jump.time, x, u, p)[0] for x, p in (jump.before, jump.after))
        return float(old - new)

    def _at_end(self, piece: Piece) -> tuple[float, float, Reals, Reals]:
        """The cost at the end, with its derivatives by time, states and parameters."""
        found = self._values(1, piece.span[1], piece.final, piece.inputs, piece.parameters)
        n = len(piece.final)
        return float(found[0]), float(found[1]), found[2 : 2 + n], found[2 + n : 2 + n + len(self.equations.parameters)]

    def _hamiltonian(self, t: float, x: Reals, costate: Reals, u: Reals, p: Reals) -> float:
        """λᵀ f + L."""
        return float(costate @ self._values(2, t, x, u, p) + self._values(0, t, x, u, p)[0])


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of the motion with constant inputs: span, inputs, changes of modes, state and entries of p at its end."""

    span: tuple[float, float]
    inputs: Reals
    jumps: tuple[Jump, ...]
    final: Reals
    parameters: Reals


@dataclass(frozen=True, eq=False)
class ModeMotion:
    """The motion, piece by piece, and where derivatives are those of one side."""

    pieces: tuple[Piece, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ModeGradient:
    """The cost, costates (pieces + 1, states), and derivatives by parameters, by controls (pieces, controls) and by the times of
    the edges of pieces."""

    value: float
    costates: Reals
    parameters: Reals
    controls: Reals
    edges: Reals

"""Prediction of mechanisms whose contacts stick, slip, open and land: between samples the modes are those that the motion takes.

A belief is about motions that take the modes of the estimate, in this order. Within a mode errors are tangent to its
constraints; where modes change at a time that depends on the state, they jump by the saltation matrix

    D = ∂R/∂x + (∂R/∂x f⁻ + ∂R/∂t − f⁺) ∂τ/∂x

(`simulation.contact_jumps`), so that the covariance becomes D P Dᵀ: a contact that closes takes coordinates away, one that opens
adds coordinates in which the error is still zero. (N. J. Kong, J. J. Payne, G. Council, A. M. Johnson, The Salted Kalman Filter:
Kalman filtering on hybrid dynamical systems, Automatica 131 (2021) 109752.)

Bodies do not penetrate each other. Where a correction would have them do so, the estimate is the most probable state that does
not: with the gap g(ξ) and the corrected covariance P, the minimum of (ξ − ξ̂)ᵀ P⁻¹ (ξ − ξ̂) subject to g ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import SolverError
from draisine.estimation.filters.chart import Chart
from draisine.estimation.filters.prediction import Propagator, Transition
from draisine.program.equations import Equations
from draisine.program.fixed_modes import modes_as_parameters
from draisine.program.program import Program
from draisine.program.variational import Direction
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.contact_jumps import Jump, JumpMatrices
from draisine.simulation.initial.contact_start import landing_gaps
from draisine.simulation.run import integrate
from draisine.simulation.sensitivity import explicit_method, toleranced, varied
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES

Reals = NDArray[np.float64]

PENETRATES = 1e-13  # gap, relative to the typical length, that is rounding error
ROUNDS = 30  # of the search for states that do not penetrate
CERTAIN = 1e-12  # variance of a gap, relative to that of others, that is none
NO_TIME = 1e-13  # between two changes of modes, relative to the time: no motion


@dataclass(frozen=True, eq=False)
class ContactPropagator(Propagator):
    """Propagates states through the modes of contacts."""

    # ------------------------------------------------------------------------------------------------ between samples

    @cached_property
    def _smooth(self) -> Equations:
        """The equations in any one mode."""
        return modes_as_parameters(self._driven)

    def transition(self, chart: Chart, until: float) -> Transition:
        """Propagate state, deviations and noise through all modes on the way."""
        jumps, x, p = self._motion(chart, until)
        count = chart.tangent.shape[1]
        found = Transition(chart, np.eye(count), np.zeros((count, count)))
        for jump in jumps:
            found = self._within_mode(found, jump.time, *jump.before)
            found = self._mapped(found, jump.time, *jump.after, jump.matrix)
        return self._within_mode(found, until, x, p)

    def _within_mode(self, found: Transition, until: float, x: Reals, p: Reals) -> Transition:
        """The transition continued, in one mode, to a time at which the motion has the given state; p has the same mode, with
        directions of slips that are those of the motion."""
        if until - found.end.t > NO_TIME * max(1.0, abs(until)):
            found = found.then(self.smooth_transition(self._smooth, replace(found.end, p=p), until))
        return self._mapped(found, until, x, p, np.eye(len(x)))

    def _mapped(self, found: Transition, t: float, x: Reals, p: Reals, by_state: Reals) -> Transition:
        """The transition with its end moved to a state by a map with this derivative."""
        end = self.chart(t, self.settled(t, x, p), p)
        matrix = end.reading.T @ by_state @ found.end.tangent
        return found.then(Transition(end, matrix, np.zeros((len(matrix), len(matrix)))))

    @cached_property
    def _hybrid(self) -> VelocityChoices:
        return prepare(varied(self._driven, self._dummy))

    @property
    def _dummy(self) -> tuple[Direction, ...]:
        return (Direction(self.equations.states[0].name, "x", 0),)

    def _motion(self, chart: Chart, until: float) -> tuple[list[Jump], Reals, Reals]:
        """The changes of modes of the motion from the state of a chart, and its last state and modes."""
        recorded: list[JumpMatrices] = []
        n = len(chart.x)

        def jumps(memory: Any) -> JumpMatrices:
            recorded.append(JumpMatrices(self._driven, (), memory))
            return recorded[-1]

        run = integrate(
            self._hybrid,
            np.concatenate([chart.x, np.zeros(n)]),
            until,
            start=chart.t,
            parameters=chart.p,
            inputs=self.recording.constant_inputs(),
            method=toleranced(explicit_method(self.equations, self.method), n, np.ones(1)),
            samples=[until],
            control=self.recording.control,
            jumps=jumps,
        )
        self.require(run, chart.t, until)
        last = run.segments[-1].parameters
        return recorded[-1].found, run.final_state[:n], chart.p if last is None else last

    def propagate(self, chart: Chart, states: Reals, end: Chart) -> tuple[Reals, Chart]:
        """States near that of a chart propagated to the time of `end`, and the chart about it with contacts that are closed, and
        stick, for all of them alone."""
        common, ends = end.p, np.zeros((len(states), len(chart.x)))
        for k, x in enumerate(states):
            run = integrate(
                _compiled(self._driven),
                x,
                end.t,
                start=chart.t,
                parameters=self._in_own_directions(chart.t, x, chart.p),
                inputs=self.recording.constant_inputs(),
                method=self.method,
                samples=[end.t],
                control=self.recording.control,
            )
            self.require(run, chart.t, end.t)
            last = run.segments[-1].parameters
            assert last is not None  # they have the modes
            ends[k] = self.settled(end.t, run.final_state, last)
            common = self._weaker(common, last)
        if np.array_equal(common, end.p):
            return ends, end
        return ends, self.chart(end.t, end.x, common)

    def _weaker(self, p: Reals, other: Reals) -> Reals:
        """p with contacts closed, and sticking, where they are in both."""
        found, count = p.copy(), len(self.equations.parameters)
        mine, theirs = (modes[count:].reshape(-1, MODE_ENTRIES)[:, :2] for modes in (found, other))
        mine[:] = np.minimum(mine, theirs)
        return found

    # ------------------------------------------------------------------------------------------- admissible estimates

    def points(self, chart: Chart, changes: Reals, covariance: Reals) -> Reals:
        """The states with coordinates ξ; where bodies would penetrate each other, the most probable ones without."""
        found = super().points(chart, changes, covariance)
        for k, x in enumerate(found):
            gaps, by_state = self._gaps(chart, x)
            if gaps.min(initial=0.0) < 0.0:
                found[k] = self._admissible(chart, changes[k], covariance, x, gaps, by_state)
        return found

    def moved(self, chart: Chart, change: Reals, covariance: Reals) -> Chart:
        new = super().moved(chart, change, covariance)
        return replace(new, p=self._in_own_directions(new.t, new.x, new.p))

    def _gaps(self, chart: Chart, x: Reals) -> tuple[Reals, Reals]:
        """Gaps of contacts that are open and ∂g/∂x; gaps that are no penetration are positive."""
        e = self.equations
        gap, landing, by_state, _ = _gap_kernel(e)([chart.t], x, self.u(chart.t), chart.p)
        found = landing_gaps(e, np.ravel(gap), np.ravel(landing))
        closed = chart.p[len(e.parameters) :].reshape(-1, MODE_ENTRIES)[:, 0] != 0.0
        room = PENETRATES * e.limits.length
        return np.where(closed | (found >= -room), np.maximum(found, room), found), np.reshape(by_state, (len(found), -1))

    def _admissible(self, chart: Chart, change: Reals, covariance: Reals, x: Reals, gaps: Reals, by_state: Reals) -> Reals:
        """The state without penetration that minimizes (ξ − ξ̂)ᵀ P⁻¹ (ξ − ξ̂)."""
        from scipy.optimize import nnls

        now, struck = change, np.zeros(len(gaps), dtype=bool)
        for _ in range(ROUNDS):
            struck |= gaps < 0.0
            rows = by_state[struck] @ chart.tangent  # chart.tangent is ∂x/∂ξ near its origin: Newton's method, nearly
            side = gaps[struck] + rows @ (change - now)  # of gaps at ξ̂, linearized about the present state
            response = rows @ covariance @ rows.T
            values, vectors = np.linalg.eigh(response)
            kept = values > CERTAIN * max(float(values[-1]), 0.0)
            if not kept.any():
                break
            root = vectors[:, kept] * np.sqrt(values[kept])  # response = root rootᵀ, with orthogonal columns
            pushed, _ = nnls(root.T, -(root / values[kept]).T @ side)
            now = change + covariance @ rows.T @ pushed
            x = super().points(chart, now[None], covariance)[0]
            gaps, by_state = self._gaps(chart, x)
            if not gaps.min() < 0.0:
                return x
        names = ", ".join(c.name for c, one in zip(self.equations.unilateral, struck, strict=True) if one)
        raise SolverError(
            f"{self.equations.name}: at t = {chart.t:g} s the estimate would penetrate at {names}, and no state within its "
            "uncertainty does not; give more process noise, or a larger spread at the start"
        )

    def _in_own_directions(self, t: float, x: Reals, p: Reals) -> Reals:
        """p with the directions of slips that the state has."""
        e = self.equations
        found = p.copy()
        speed = np.ravel(_gap_kernel(e)([t], x, self.u(t), p)[3])
        for contact, entry in zip(e.unilateral, found[len(e.parameters) :].reshape(-1, MODE_ENTRIES), strict=True):
            slip = speed[contact.tangential : contact.tangential + contact.count]
            if entry[0] != 0.0 and entry[1] == 0.0 and np.linalg.norm(slip) > 0.0:
                entry[2 : 2 + contact.count] = slip / np.linalg.norm(slip)
        return found


@lru_cache(maxsize=32)
def _compiled(equations: Equations) -> VelocityChoices:
    return prepare(equations)


@lru_cache(maxsize=32)
def _gap_kernel(equations: Equations) -> Kernel:
    """(t, x, u, p) → gaps, where contacts land, ∂g/∂x, and speeds along all rows of contacts."""
    terms = equations.contact_terms
    assert terms is not None
    symbols = dict(zip((slot.name for slot in terms.inputs), terms.symbols(), strict=True))
    found = dict(zip((slot.name for slot in terms.outputs), terms.function.call(list(symbols.values())), strict=True))
    gap = ca.vec(found["gap"])
    results = {"gap": gap, "landing": ca.vec(found["landing"]), "by_state": ca.vec(ca.jacobian(gap, symbols["x"]).T)}
    results["speed"] = ca.vec(found["speed"])
    return compile(Program.build(f"{equations.name}_gaps", symbols, {k: ca.densify(v) for k, v in results.items()}))

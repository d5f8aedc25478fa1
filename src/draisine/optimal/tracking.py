"""Tracking control: the time-varying linear-quadratic regulator about an optimal motion.

Deviations ζ from the motion are named quantities that keep the constraints (`stability.deviations`); the linearization
δζ̇ = A(t) δζ + B(t) δu along the motion is exact. The law δu = −K(t) δζ that minimizes ∫ δζᵀQ δζ + δuᵀR δu has K = R⁻¹BᵀP with

    −Ṗ = AᵀP + PA − PBR⁻¹BᵀP + Q,

solved backward by P = Y X⁻¹ with the exponential of [A, −BR⁻¹Bᵀ; −Q, −Aᵀ] from sample to sample. P at the end follows from the
same equation with the final A and B over `beyond` further seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import NamedSymbols, close_loop
from draisine.control.design.feedback import Limits, limit_pairs
from draisine.control.plant import Plant
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, Name, did_you_mean, evaluate_number, names, parse
from draisine.expr.tables import Table
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.model.system import System
from draisine.optimal.contact_phases import refuse_modes
from draisine.optimal.feedforward import Feedforward
from draisine.optimal.guess import channel_of
from draisine.optimal.solution import Solution
from draisine.program.equations import Equations, Quantity
from draisine.results.trajectory import Trajectory
from draisine.simulation.sampled_control import Sampled, State
from draisine.stability.deviations import Derivatives, Deviations, Naming, attitude_texts, deviations_of

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrackingLaw:
    """u = u₀(t) − K(t) (ζ − ζ₀(t)), with the last values after the end. `states` name ζ, `gains` is (times, inputs, states)."""

    model: Model | System | Equations
    states: tuple[str, ...]
    times: Reals
    reference: Reals  # (times, states)
    gains: Reals
    feedforward: Feedforward
    formulas: Mapping[str, Expr]
    wrapped_angles: frozenset[str]  # angles reported between −π and π
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    # ---------------------------------------------------------------- in the loop, compiled

    @property
    def controls(self) -> tuple[str, ...]:
        return self.feedforward.inputs

    @property
    def own_states(self) -> tuple[Quantity, ...]:
        return ()

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        """The controls as expressions of the plant; gains and reference are tables of t."""
        named = NamedSymbols(plant)
        apart = []
        for j, name in enumerate(self.states):
            reported = self._table(f"reference_{j}", self.reference[:, j])(plant.t)
            gap = named.value(self.formulas.get(name, Name(name)), f"deviation of {name!r}") - reported
            apart.append(ca.atan2(ca.sin(gap), ca.cos(gap)) if name in self.wrapped_angles else gap)
        found = []
        for i, name in enumerate(self.controls):
            total = named.value(self.feedforward[name], f"law of input {name!r}")
            for j, gap in enumerate(apart):
                if np.abs(self.gains[:, i, j]).max() > 0.0:
                    total -= self._table(f"gain_{i}_{j}", self.gains[:, i, j])(plant.t) * gap
            low, high = self.limits.get(name, (-np.inf, np.inf))
            found.append(ca.fmin(ca.fmax(total, low), high))
        return found

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        return []

    def _table(self, name: str, values: Reals) -> Table:
        return Table(name, self.times, values, outside="hold")

    def on(self, model: Model | System | Equations | None = None, inputs: Mapping[str, Amount] | None = None) -> Equations:
        """The nonlinear equations closed by this law, of the maneuver's model or of another model with the same names;
        `inputs` are laws of the other inputs."""
        return close_loop(self.model if model is None else model, self, inputs)

    # ---------------------------------------------------------------- in the loop, sampled

    def sampled(self, rate: float) -> Sampled:
        """The same law sampled `rate` times per second with zero-order hold, for `simulate(…, control=…)`."""
        formulas = [self.formulas.get(name, Name(name)) for name in self.states]
        used = [tuple(names(f)) for f in formulas]

        def command(t: float, x: State) -> dict[str, float]:
            at = [evaluate_number(f, {n: x[n] for n in used_names}) for f, used_names in zip(formulas, used, strict=True)]
            return self.command(t, np.array(at))

        return Sampled(command, rate)

    def command(self, t: float, at: Reals) -> dict[str, float]:
        """Inputs at a time, from the values of the `states`."""
        gap = at - self._interpolated(t, self.reference)
        for j, name in enumerate(self.states):
            if name in self.wrapped_angles:
                gap[j] = np.arctan2(np.sin(gap[j]), np.cos(gap[j]))
        u = self.feedforward.at([t])[0] - self._interpolated(t, self.gains) @ gap
        sides = [self.limits.get(name, (-np.inf, np.inf)) for name in self.controls]
        return {n: float(np.clip(value, *pair)) for n, value, pair in zip(self.controls, u, sides, strict=True)}

    def _interpolated(self, t: float, values: Reals) -> Reals:
        chosen = float(np.clip(np.interp(t, self.times, np.arange(len(self.times))), 0, len(self.times) - 1))
        k = min(int(chosen), len(self.times) - 2)
        return np.asarray(values[k] + (chosen - k) * (values[k + 1] - values[k]))

    def __repr__(self) -> str:
        end = self.times[-1]
        return f"<Tracking: {', '.join(self.controls)} from {', '.join(self.states)}, {self.times[0]:g} to {end:.4g} s>"


def tracking(
    solution: Solution,
    *,
    weights: Mapping[str, float],
    input_weights: Mapping[str, float],
    limits: Limits | None = None,
    beyond: float | None = None,
) -> TrackingLaw:
    """The time-varying linear-quadratic regulator about a solution, which minimizes ∫ Σ w (deviation)² + Σ r (change of input)².

    - `weights`: w by name of states or outputs; deviations that these depend on are fed back too, others are not.
    - `input_weights`: r by name, for all controls.
    - `limits`: largest magnitudes of inputs, or pairs; choose them wider than the bounds of the maneuver, since a control at its
      bound cannot correct in that direction.
    - `beyond`: seconds for which the final state is assumed to continue, to initialize P (default: the duration).

        law = dr.optimal.tracking(found, weights={"lean": 100, "steer": 10, "heading": 100}, input_weights={"steer_torque": 1})
        run = dr.simulate(law.on(), found.duration, start={"speed": 8, "lean": 0.05})
    """
    refuse_modes("tracking", solution.maneuver)
    phase, run = solution.phases[0].phase, solution.trajectory
    e, controls = phase.equations, phase.controls
    _check(e, controls, weights, input_weights)
    deviations = deviations_of(e, tuple(weights))
    along = _DerivativesAlong(deviations, run)
    naming = deviations.choose(along.jacobian)
    kept = _needed(naming, along.matrices(naming)[0], tuple(weights))
    chosen = [naming.names.index(name) for name in kept]
    a, b = along.matrices(naming)
    into = [[q.name for q in e.inputs].index(name) for name in controls]
    a, b = a[:, chosen][:, :, chosen], b[:, chosen][:, :, into]
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ArgumentError(
            f"{e.name}: {', '.join(kept)} do not determine deviations along the whole motion; weight other quantities"
        )
    q = np.diag([float(weights.get(name, 0.0)) for name in kept])
    r = np.diag([float(input_weights[name]) for name in controls])
    gains = _riccati(along.times, a, b, q, r, solution.duration if beyond is None else float(beyond))
    turned = {n: parse(text) for n, text in attitude_texts(e).items() if n in kept}
    states = {s.name for s in e.states}
    reported = {s.name for s in e.outputs if s.unit == "rad" and s.name not in states}
    sides = limit_pairs(e.name, limits or {}, controls)
    reference = along.jacobian.values[:, [naming.chosen[i] for i in chosen]]
    wrapped_angles = frozenset(name for name in kept if name in reported or name in turned)
    for j, name in enumerate(kept):
        if name in wrapped_angles:
            reference[:, j] = np.unwrap(reference[:, j])
    return TrackingLaw(
        solution.maneuver.model, kept, along.times, reference, gains, solution.feedforward, turned, wrapped_angles, sides
    )


@dataclass(frozen=True, eq=False)
class _DerivativesAlong:
    """Derivatives along a run."""

    deviations: Deviations
    run: Trajectory

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """Indices of samples; of a repeated time the later one."""
        later = np.append(np.diff(self.run.time) > 0, True)
        return np.flatnonzero(later)

    @property
    def times(self) -> Reals:
        return np.asarray(self.run.time[self._rows])

    @cached_property
    def jacobian(self) -> Derivatives:
        e, rows = self.deviations.equations, self._rows
        x = np.column_stack([channel_of(self.run, q.name) for q in e.states])[rows]
        u = np.column_stack([channel_of(self.run, q.name) for q in e.inputs])[rows] if e.inputs else np.zeros((len(rows), 0))
        p = np.tile([self.run.parameters[q.name] for q in e.parameters], (len(rows), 1)).reshape(len(rows), -1)
        return self.deviations.derivatives(self.times[:, None], x, u, p)

    def matrices(self, naming: Naming) -> tuple[Reals, Reals]:
        try:
            return naming.matrices(self.jacobian)
        except np.linalg.LinAlgError:
            name = self.deviations.equations.name
            raise ArgumentError(f"{name}: {', '.join(naming.names)} do not determine deviations along the whole motion") from None


def _needed(naming: Naming, a: Reals, weighed: tuple[str, ...]) -> tuple[str, ...]:
    """Deviations on which the weighted ones depend, directly or through their rates."""
    size = np.abs(a).max(axis=0)
    linked = size > 1e-9 * max(float(size.max()), 1e-300)
    needed = {naming.names.index(name) for name in weighed}
    while True:
        more = needed | {int(j) for i in needed for j in np.flatnonzero(linked[i])}
        if more == needed:
            return tuple(name for i, name in enumerate(naming.names) if i in needed)
        needed = more


def _riccati(times: Reals, a: Reals, b: Reals, q: Reals, r: Reals, beyond: float) -> Reals:
    """K at all times, by backward integration."""
    from scipy.linalg import expm

    n, inverse = a.shape[1], np.linalg.inv(r)
    # the last step is repeated after the end
    steps = np.append(np.diff(times), np.median(np.diff(times)))
    mean_a = 0.5 * (a + np.concatenate([a[1:], a[-1:]]))
    mean_b = 0.5 * (b + np.concatenate([b[1:], b[-1:]]))
    matrix = np.zeros((len(times), 2 * n, 2 * n))
    matrix[:, :n, :n], matrix[:, n:, n:] = mean_a, -mean_a.transpose(0, 2, 1)
    matrix[:, :n, n:], matrix[:, n:, :n] = -mean_b @ inverse @ mean_b.transpose(0, 2, 1), -q
    back = expm(-steps[:, None, None] * matrix)

    def before(p: Reals, k: int) -> Reals:
        x, y = back[k, :n, :n] + back[k, :n, n:] @ p, back[k, n:, :n] + back[k, n:, n:] @ p
        made = np.linalg.solve(x.T, y.T).T
        return np.asarray(0.5 * (made + made.T))

    last = len(times) - 1
    p = np.zeros((n, n))
    for _ in range(round(beyond / float(steps[-1]))):
        p = before(p, last)
    gains = np.empty((len(times), b.shape[2], n))
    gains[last] = inverse @ b[last].T @ p
    for k in range(last - 1, -1, -1):
        p = before(p, k)
        gains[k] = inverse @ b[k].T @ p
    return gains


def _check(e: Equations, controls: Sequence[str], weights: Mapping[str, float], input_weights: Mapping[str, float]) -> None:
    if not weights:
        raise ArgumentError(f"{e.name}: no weights; give weights={{name: w}} for the quantities to track")
    for what, given in (("weight", weights), ("input weight", input_weights)):
        for name, value in given.items():
            if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value > 0):
                raise ArgumentError(f"{e.name}: the {what} of {name!r} is {value!r}; it must be a positive number")
    for name in input_weights:
        if name not in controls:
            raise ArgumentError(f"{e.name}: {name!r} is not among the controls of the maneuver{did_you_mean(name, controls)}")
    missing = [name for name in controls if name not in input_weights]
    if missing:
        raise ArgumentError(f"{e.name}: the input weight of {missing[0]!r} is missing: input_weights={{…, {missing[0]!r}: r}}")

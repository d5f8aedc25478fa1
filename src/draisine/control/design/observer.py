"""Linear observers: states are estimated from measurements inside the compiled simulation.

An observer simulates the linear model in parallel with the plant and corrects it by the measurements,

    d/dt ẑ = A (ẑ − z₀) + B (u − u₀) + L (y − y₀ − C (ẑ − z₀) − D (u − u₀)),

with L from the stationary Kalman filter. Its states have the names of the model's with the suffix "_estimate". A sampled observer
is a `DigitalController` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import NamedSymbols, close_loop
from draisine.control.design.design_model import Subject, controls_of, linear_model, refuse_unsteady
from draisine.control.design.discretization import check_period, rates_of, sampled_noise, zero_order_hold
from draisine.control.design.feedback import STEADY, Feedback
from draisine.control.plant import Plant
from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import Expr, Name, did_you_mean, evaluate_number, names
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.model.system import System
from draisine.numerics.riccati import continuous_riccati, discrete_riccati
from draisine.program.arguments import checked
from draisine.program.equations import Equations, Quantity
from draisine.results.base import html_text
from draisine.results.controllability import Structure, complex_text
from draisine.results.linear import LinearModel
from draisine.simulation.sampled_control import Sampled, State

Array = NDArray[np.float64]

SAME_DESIGN = 1e-7  # difference of two linear models of one motion, relative


@dataclass(frozen=True, eq=False)
class Observer:
    """A linear observer: gains `L[state][measured]`, and the linear model that it runs.

    `period` is the sampling period of a sampled observer: L then corrects the prediction for the sample.
    """

    linear: LinearModel
    measured: tuple[str, ...]
    L: Array
    structure: Structure
    period: float | None = None

    @property
    def gains(self) -> dict[str, dict[str, float]]:
        return {s: dict(zip(self.measured, row.tolist(), strict=True)) for s, row in zip(self.linear.states, self.L, strict=True)}

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of the error, of A − L C; of a sampled observer the equivalent continuous ones."""
        if self.period is None:
            return replace(self.linear, A=self.linear.A - self.L @ self.rows).eigenvalues
        return rates_of(self.transition, self.period)

    @property
    def transition(self) -> Array:
        """Transition matrix of a sampled observer: the error after a sample by that after the previous one, (1 − L C) Φ."""
        if self.period is None:
            raise ArgumentError(f"{self.linear.model}: the observer is continuous; a sampled one is designed with period=…")
        phi, _ = zero_order_hold(self.linear.A, self.linear.B, self.period)
        return np.asarray((np.eye(len(phi)) - self.L @ self.rows) @ phi)

    @property
    def rows(self) -> Array:
        """C of the measurements."""
        return np.array([self.linear.row(name) for name in self.measured])

    def through(self, into: Sequence[int]) -> Array:
        """D of the measurements, by inputs with these indices."""
        return direct_gains(self.linear, self.measured)[:, list(into)]

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        values = [{"re": float(z.real), "im": float(z.imag)} for z in self.eigenvalues]
        sampled = {} if self.period is None else {"period": self.period}
        return {"model": self.linear.model, "measured": self.measured, "gains": self.gains, "eigenvalues": values, **sampled}

    def __str__(self) -> str:
        width = max(len(s) for s in self.linear.states)
        sampled = "" if self.period is None else f", every {self.period:g} s"
        lines = [f"{self.linear.model}: observer from {', '.join(self.measured)}{sampled}"]
        for state, row in self.gains.items():
            lines.append(f"  {state:<{width}} corrected by " + ", ".join(f"{g:.6g} × {y}" for y, g in row.items()))
        lines.append(f"error eigenvalues  {', '.join(complex_text(z) for z in self.eigenvalues)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_text(self)


@checked
def kalman(
    model: Subject,
    at: Mapping[str, float] | None = None,
    *,
    measured: Mapping[str, float],
    noise: Mapping[str, float],
    states: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    period: float | None = None,
) -> Observer:
    """The stationary Kalman filter of a motion.

    - `model`, `at`, `states`, `parameters`, `inputs`: as in `lqr`.
    - `measured`: measured outputs or states, each with the spectral density of its noise, unit²·s.
    - `noise`: disturbed inputs, or rates of states, each with the spectral density of the disturbance.
    - `period`: sampling period in seconds of a sampled filter; `measured` then has the variance of a sample's noise, unit².

    Noise on an input with direct feedthrough to a measurement (an accelerometer) is correlated with the measurement noise; the
    gain accounts for it.

    For use with a `Feedback` give `law.linear`, so that both have the same states; `with_observer(law, observer)` joins them.
    """
    linear = linear_model(model, at, parameters, inputs, states, tuple(measured))
    part = linear if isinstance(model, LinearModel) else linear.with_states(_observed_states(linear, tuple(measured)))
    refuse_unsteady(part, linear.essential().left_out)
    for kind, values in (("noise of the measured", measured), ("noise of", noise)):
        for name, value in values.items():
            if not (np.isfinite(value) and value > 0):
                raise ArgumentError(f"{part.model}: the {kind} {name!r} is {value:g}; it must be a positive number")
    if not measured or not noise:
        raise ArgumentError(
            f"{part.model}: give measured={{output: noise}} and noise={{input or state: intensity}}, one at least"
        )
    _refuse_unseen(part, tuple(measured))
    gain = _gain(part, measured, noise) if period is None else _sampled_gain(part, measured, noise, period)
    return Observer(part, tuple(measured), gain, part.observability(tuple(measured)), period)


def _gain(part: LinearModel, measured: Mapping[str, float], noise: Mapping[str, float]) -> Array:
    """L of y = C z + D w + v with noise correlated by G W Dᵀ: that of A − G W Dᵀ S⁻¹ C, S = D W Dᵀ + V, and G W Dᵀ S⁻¹."""
    push, rows = np.column_stack([_disturbed(part, name) for name in noise]), np.array([part.row(name) for name in measured])
    density, sensors = np.diag(list(noise.values())), np.diag(list(measured.values()))
    direct = _noise_gains(part, measured, noise)
    total = direct @ density @ direct.T + sensors
    ahead = np.linalg.solve(total, direct @ density @ push.T).T
    left = density - density @ direct.T @ np.linalg.solve(total, direct @ density)
    spread = _symmetric(push @ left @ push.T)
    none = np.zeros((len(part.A), len(rows)))
    gain, _ = _dual(part, continuous_riccati, (part.A - ahead @ rows).T, rows.T, spread, _symmetric(total), none)
    return gain.T + ahead


def _sampled_gain(part: LinearModel, measured: Mapping[str, float], noise: Mapping[str, float], period: float) -> Array:
    """L = P Cᵀ (C P Cᵀ + V)⁻¹ with P the covariance of the prediction for a sample."""
    check_period(part.model, period)
    for name, row in zip(measured, _noise_gains(part, measured, noise), strict=True):
        if row.any():
            source = list(noise)[int(np.argmax(np.abs(row)))]
            raise ArgumentError(
                f"{part.model}: white noise on {source!r} enters {name!r} directly and has no value at a sampling instant; "
                "measure another quantity, or disturb a rate instead"
            )
    push, rows = np.column_stack([_disturbed(part, name) for name in noise]), np.array([part.row(name) for name in measured])
    phi, _ = zero_order_hold(part.A, part.B, period)
    added = sampled_noise(part.A, push @ np.diag(list(noise.values())) @ push.T, period)
    sensors = np.diag(list(measured.values()))
    _, p = _dual(part, discrete_riccati, phi.T, rows.T, _symmetric(added), sensors, np.zeros((len(phi), len(rows))))
    return np.asarray(np.linalg.solve(rows @ p @ rows.T + sensors, rows @ p).T)


def _dual(part: LinearModel, solver: Callable[..., tuple[Array, Array]], *matrices: Array) -> tuple[Array, Array]:
    """The Riccati equation of a filter, that of the regulator of (Aᵀ, Cᵀ)."""
    try:
        return solver(*matrices)
    except np.linalg.LinAlgError as problem:
        raise SolverError(
            f"{part.model}: the Riccati equation of the filter has no solution in double precision ({problem}): some mode that "
            "does not decay is hardly measured, or not disturbed; measure it, or give noise to a state or input that moves it"
        ) from problem


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2)


def direct_gains(part: LinearModel, measured: Sequence[str]) -> Array:
    """D of the measurements by all inputs; zero for states."""
    return np.array([np.zeros(len(part.inputs)) if n in part.states else part.D[part.outputs.index(n)] for n in measured])


def _noise_gains(part: LinearModel, measured: Mapping[str, float], noise: Mapping[str, float]) -> Array:
    direct = direct_gains(part, tuple(measured))
    return np.column_stack([direct[:, part.inputs.index(n)] if n in part.inputs else np.zeros(len(direct)) for n in noise])


def _observed_states(linear: LinearModel, measured: tuple[str, ...]) -> tuple[str, ...]:
    return linear.with_outputs(*measured).essential(measured).states


def _disturbed(part: LinearModel, name: str) -> Array:
    if name in part.inputs:
        return part.B[:, part.inputs.index(name)]
    if name in part.states:
        return np.eye(len(part.states))[part.states.index(name)]
    raise ArgumentError(
        f"{part.model} has no input or state {name!r} to disturb{did_you_mean(name, (*part.inputs, *part.states))}"
    )


def _refuse_unseen(part: LinearModel, measured: tuple[str, ...]) -> None:
    for mode in part.observability(measured).hidden:
        if mode.eigenvalue.real >= 0:
            most = next(iter(mode.combination))
            raise ArgumentError(
                f"{part.model}: {', '.join(measured)} does not observe {mode}, which does not decay; measure {most!r} too, or "
                "remove it from the states"
            )


# -------------------------------------------------------------------------------------------------- in the loop


@dataclass(frozen=True, eq=False)
class ObserverFeedback:
    """A feedback law with an observer; `on(model)` gives the equations of the closed loop."""

    law: Feedback
    observer: Observer

    @property
    def controls(self) -> tuple[str, ...]:
        return self.law.controls

    @property
    def own_states(self) -> tuple[Quantity, ...]:
        at, units = self.observer.linear.at, self.observer.linear.units
        return tuple(
            Quantity(f"{s}_estimate", units.get(s, ""), f"estimate of {s}", float(at.get(s, 0.0)))
            for s in self.observer.linear.states
        )

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of the closed loop: those of the law and of the observer error."""
        values = np.concatenate([self.law.eigenvalues, self.observer.eigenvalues])
        return values[np.lexsort((values.imag, values.real))]

    def command(self, name: str) -> Expr:
        """The law of an input in terms of estimates, under the names of the states."""
        return replace(self.law, formulas={}).command(name)

    def formula(self, name: str) -> Expr:
        """A measurement as an expression of the model."""
        return self.law.formulas.get(name, Name(name))

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        named = NamedSymbols(plant, {s: own[f"{s}_estimate"] for s in self.observer.linear.states})
        return [named.value(self.command(u), f"law of input {u!r}") for u in self.controls]

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        part, named = self.observer.linear, NamedSymbols(plant)
        into, b = controls_of(part, self.controls)
        z = ca.vertcat(*[own[f"{s}_estimate"] - float(part.at.get(s, 0.0)) for s in part.states])
        u = ca.vertcat(*[c - float(part.at.get(n, 0.0)) for n, c in zip(self.controls, commands, strict=True)])
        y = [named.value(self.formula(n), f"measured {n!r}") - self.level(n) for n in self.observer.measured]
        gap = ca.vertcat(*y) - ca.DM(self.observer.rows) @ z - ca.DM(self.observer.through(into)) @ u
        for i, n in enumerate(self.observer.measured):
            if n in part.angles:  # the short way round
                gap[i] = ca.atan2(ca.sin(gap[i]), ca.cos(gap[i]))
        rate = ca.DM(part.A) @ z + ca.DM(b) @ u + ca.DM(self.observer.L) @ gap
        return [rate[i] for i in range(len(part.states))]

    def level(self, name: str) -> float:
        """The value of a measurement in the reference motion."""
        at = self.observer.linear.at
        if name not in at:
            raise ArgumentError(
                f"{self.law.model}: the value of {name!r} in the reference motion is unknown; use a linear model from linearize"
            )
        return float(at[name])

    def on(self, model: Model | System | Equations, inputs: Mapping[str, Amount] | None = None) -> Equations:
        """The model's nonlinear equations with law and observer compiled in; `inputs` are laws of other inputs."""
        if self.law.period is not None:
            raise ArgumentError(
                f"{self.law.model}: law and observer are sampled every {self.law.period:g} s: use simulate(…, "
                "control=loop.sampled())"
            )
        constant = {u: value for u, value in self.law.feedforward.items() if u not in self.controls}
        return close_loop(model, self, {**constant, **(inputs or {})})

    def sampled(self) -> Sampled:
        """Law and observer as a sampled controller, for `simulate(…, control=…)`; its `function` stores the estimates."""
        if self.law.period is None:
            raise ArgumentError(
                f"{self.law.model}: law and observer are continuous; design both with period=… for a sampled controller"
            )
        return Sampled(DigitalController(self, self.law.period), 1.0 / self.law.period)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        return {"law": self.law.as_data(), "observer": self.observer.as_data()}

    def __str__(self) -> str:
        return f"{self.law}\n{self.observer}"

    def _repr_html_(self) -> str:
        return html_text(self)


def with_observer(law: Feedback, observer: Observer) -> ObserverFeedback:
    """A law that uses the estimates of an observer (LQG, if both are optimal).

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> law = dr.lqr(bike, {"speed": 2.0}, weights={"lean": 1.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
    >>> filter = dr.control.kalman(law.linear, measured={"steer": 1e-4, "roll_rate": 1e-4}, noise={"push": 100.0})
    >>> seen = dr.control.with_observer(law, filter)
    >>> [q.name for q in seen.own_states]
    ['lean_estimate', 'steer_estimate', 'frame_wx_estimate', 'steer_rate_estimate']
    """
    if law.period != observer.period:
        kinds = ["continuous" if h is None else f"sampled every {h:g} s" for h in (law.period, observer.period)]
        raise ArgumentError(f"{law.model}: the law is {kinds[0]}, the observer {kinds[1]}; design both with the same period=…")
    missing = [s for s in law.states if s not in observer.linear.states]
    if missing:
        raise ArgumentError(
            f"{law.model}: the law needs {', '.join(missing)}, which the observer does not estimate; design it on law.linear"
        )
    if differs := _other_design(law.linear, observer.linear):
        raise ArgumentError(
            f"{law.model}: law and observer are designed for different motions or parameters ({differs}), so that estimates "
            f"and inputs of one "
            "are not those of the other; design the observer on law.linear"
        )
    running = [s for s in observer.linear.states if abs(observer.linear.rates.get(s, 0.0)) > STEADY]
    if running:
        raise ArgumentError(
            f"{law.model}: {', '.join(running)} drifts in the reference motion, and an observer needs constant states; give "
            "it no weight"
        )
    return ObserverFeedback(law, observer)


def _other_design(law: LinearModel, observer: LinearModel) -> str:
    """What differs between the linear models of a law and an observer, in the states they share; empty if nothing does."""
    if law is observer:
        return ""
    shared = [s for s in law.states if s in observer.states]
    mine, theirs = ([m.states.index(s) for s in shared] for m in (law, observer))
    for name in (*shared, *(u for u in law.inputs if u in observer.inputs)):
        here, there = law.at.get(name, 0.0), observer.at.get(name, 0.0)
        if abs(here - there) > SAME_DESIGN * max(abs(here), abs(there), 1.0):
            return f"{name} is {here:.6g} in the motion of the law, {there:.6g} in that of the observer"
    inputs = [u for u in law.inputs if u in observer.inputs]
    into, onto = ([m.inputs.index(u) for u in inputs] for m in (law, observer))
    states = (law.A[np.ix_(mine, mine)], observer.A[np.ix_(theirs, theirs)], shared)
    forces = (law.B[np.ix_(mine, into)], observer.B[np.ix_(theirs, onto)], inputs)
    for one, other, columns in (states, forces):
        size = max(float(np.abs(one).max(initial=0.0)), 1e-300)
        if one.size and float(np.abs(one - other).max()) > SAME_DESIGN * size:
            i, j = np.unravel_index(int(np.abs(one - other).argmax()), one.shape)
            return f"the rate of {shared[i]} by {columns[j]} is {one[i, j]:.6g} for the law, {other[i, j]:.6g} for the observer"
    return ""


# -------------------------------------------------------------------------------------------------- sampled


class DigitalController:
    """A sampled law with an observer: at every sample it corrects its estimate, computes the inputs, and predicts the next state,

        ẑ ← ẑ⁻ + L (y − y₀ − C (ẑ⁻ − z₀) − D (u⁻ − u₀)),    u = law(ẑ),    ẑ⁻ ← z₀ + Φ (ẑ − z₀) + Γ (u − u₀),

    with u⁻ the inputs held until now, which act on the sample. It is called with time and state, and starts again where time goes
    back. `times` and `estimates` (samples, states) are its history, states in the order of `names`.
    """

    def __init__(self, loop: ObserverFeedback, period: float) -> None:
        part = loop.observer.linear
        into, b = controls_of(part, loop.controls)
        self._loop, self._gain = loop, loop.observer.L
        self._transition, self._input_matrix = zero_order_hold(part.A, b, period)
        self._rows, self._through = loop.observer.rows, loop.observer.through(into)
        self._reference = np.array([float(part.at.get(s, 0.0)) for s in part.states])
        self._feedforward = np.array([float(part.at.get(u, 0.0)) for u in loop.controls])
        self._measured = [(loop.level(name), loop.formula(name)) for name in loop.observer.measured]
        self._laws = [(u, loop.command(u)) for u in loop.law]
        self._angles = [i for i, name in enumerate(loop.observer.measured) if name in part.angles]
        self.names = part.states
        self._reset()

    def _reset(self) -> None:
        self._prediction, self._last_inputs = np.zeros(len(self.names)), np.zeros(len(self._feedforward))
        self._times: list[float] = []
        self._estimates: list[Array] = []
        self._answer: dict[str, float] = {}

    @property
    def times(self) -> Array:
        return np.array(self._times)

    @property
    def estimates(self) -> Array:
        return np.array(self._estimates).reshape(-1, len(self.names))

    def __call__(self, t: float, x: State) -> dict[str, float]:
        if self._times and t == self._times[-1]:
            return self._answer
        if self._times and t < self._times[-1]:
            self._reset()
        y = np.array([_value(formula, t, x) - level for level, formula in self._measured])
        gap = y - self._rows @ self._prediction - self._through @ self._last_inputs
        gap[self._angles] = np.arctan2(np.sin(gap[self._angles]), np.cos(gap[self._angles]))  # the short way round
        estimate = self._prediction + self._gain @ gap
        estimates = dict(zip(self.names, (self._reference + estimate).tolist(), strict=True))
        self._answer = {u: _value(law, t, x, estimates) for u, law in self._laws}
        self._last_inputs = np.array([self._answer[u] for u in self._loop.controls]) - self._feedforward
        self._prediction = self._transition @ estimate + self._input_matrix @ self._last_inputs
        self._times.append(float(t))
        self._estimates.append(self._reference + estimate)
        return self._answer


def _value(formula: Expr, t: float, x: State, estimates: dict[str, float] | None = None) -> float:
    """The value of an expression of time, estimates and the state."""
    known = {"t": t, **(estimates or {})}
    return float(evaluate_number(formula, {n: known[n] if n in known else x[n] for n in names(formula)}))

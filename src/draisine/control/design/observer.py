"""Linear observers: what cannot be measured is estimated from what can, inside the compiled run.

An observer runs the linear model beside the plant and corrects it by what is measured,

    d/dt ẑ = A (ẑ − z₀) + B (u − u₀) + L (y − y₀ − C (ẑ − z₀) − D (u − u₀)),

with L from the stationary Kalman filter. Its states bear the names of the model's with "_estimate" behind. One made for samples
runs in a computer instead (`computer`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.design.design_model import Subject, controls_of, linear_model, refuse_unsteady
from draisine.control.design.discretization import check_period, gathered_noise, held, rates_of
from draisine.control.design.feedback import STEADY, Feedback
from draisine.control.design.observer import Computer
from draisine.control.plant import Plant
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, Name, did_you_mean
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.program.equations import Equations, Quantity
from draisine.results.controllability import Structure, complex_text
from draisine.results.linear import LinearModel, python_control
from draisine.simulation.sampled_control import Sampled

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observer:
    """A linear observer: gains `L[state][measured]`, and the linear model that it runs.

    `period` is the time between samples of one that is made for a computer: L corrects then what was predicted for the sample.
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
        """Of the error, A − L C; of one for samples, rates that do the same from sample to sample."""
        if self.period is None:
            return replace(self.linear, A=self.linear.A - self.L @ self.rows).eigenvalues
        return rates_of(self.transition, self.period)

    @property
    def transition(self) -> Array:
        """Of an observer for samples: the error after a sample by that after the sample before, (1 − L C) Φ."""
        if self.period is None:
            raise ArgumentError(f"{self.linear.model}: the observer acts at every instant; one for samples is made with period=…")
        onward, _ = held(self.linear.A, self.linear.B, self.period)
        return np.asarray((np.eye(len(onward)) - self.L @ self.rows) @ onward)

    @property
    def rows(self) -> Array:
        """C of what is measured."""
        return np.array([self.linear.row(name) for name in self.measured])

    def through(self, into: Sequence[int]) -> Array:
        """D of what is measured, by inputs at these places."""
        return felt(self.linear, self.measured)[:, list(into)]

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        values = [{"re": float(z.real), "im": float(z.imag)} for z in self.eigenvalues]
        asked = {} if self.period is None else {"period": self.period}
        return {"model": self.linear.model, "measured": self.measured, "gains": self.gains, "eigenvalues": values, **asked}

    def __str__(self) -> str:
        width = max(len(s) for s in self.linear.states)
        asked = "" if self.period is None else f", every {self.period:g} s"
        lines = [f"{self.linear.model}: observer from {', '.join(self.measured)}{asked}"]
        for state, row in self.gains.items():
            lines.append(f"  {state:<{width}} corrected by " + ", ".join(f"{g:.6g} × {y}" for y, g in row.items()))
        lines.append(f"error dies away by  {', '.join(complex_text(z) for z in self.eigenvalues)}")
        return "\n".join(lines)


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

    - `measured`: outputs or states that are measured, each with the spectral density of its noise, unit²·s.
    - `noise`: inputs, or rates of states, that are disturbed, each with the spectral density of that.
    - `period`: for samples taken every so many seconds; `measured` has then the variance of a sample's noise, unit².

    Noise on an input that something measured feels directly (an accelerometer) is correlated with what is measured; the gain
    allows for it.

    With a `Feedback` at hand give `law.linear`, so that both speak of the same states; then `observed(law, observer)` joins them.
    """
    linear = linear_model(model, at, parameters, inputs, states, tuple(measured))
    part = linear if isinstance(model, LinearModel) else linear.with_states(_seen(linear, tuple(measured)))
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
    """L of y = C z + D w + v, where noises are correlated by G W Dᵀ: that of A − G W Dᵀ S⁻¹ C, S = D W Dᵀ + V, and G W Dᵀ S⁻¹."""
    push, rows = np.column_stack([_disturbed(part, name) for name in noise]), np.array([part.row(name) for name in measured])
    density, sensors = np.diag(list(noise.values())), np.diag(list(measured.values()))
    direct = _felt_noise(part, measured, noise)
    total = direct @ density @ direct.T + sensors
    ahead = np.linalg.solve(total, direct @ density @ push.T).T
    left = density - density @ direct.T @ np.linalg.solve(total, direct @ density)
    gain, _, _ = python_control("kalman").lqe(part.A - ahead @ rows, push, rows, left, total)
    return np.asarray(gain) + ahead


def _sampled_gain(part: LinearModel, measured: Mapping[str, float], noise: Mapping[str, float], period: float) -> Array:
    """L = P Cᵀ (C P Cᵀ + V)⁻¹ with P the covariance of what is predicted for a sample."""
    check_period(part.model, period)
    for name, row in zip(measured, _felt_noise(part, measured, noise), strict=True):
        if row.any():
            source = list(noise)[int(np.argmax(np.abs(row)))]
            raise ArgumentError(
                f"{part.model}: {name!r} feels white noise on {source!r} directly, which has no value at the instant of a "
                "sample; measure something else, or disturb a rate instead"
            )
    push, rows = np.column_stack([_disturbed(part, name) for name in noise]), np.array([part.row(name) for name in measured])
    onward, _ = held(part.A, part.B, period)
    added = gathered_noise(part.A, push @ np.diag(list(noise.values())) @ push.T, period)
    sensors = np.diag(list(measured.values()))
    _, p, _ = python_control("kalman").dlqe(onward, np.eye(len(onward)), rows, added, sensors)
    p = np.asarray(p)
    return np.asarray(np.linalg.solve(rows @ p @ rows.T + sensors, rows @ p).T)


def felt(part: LinearModel, measured: Sequence[str]) -> Array:
    """D of what is measured, by all inputs; states feel none directly."""
    return np.array([np.zeros(len(part.inputs)) if n in part.states else part.D[part.outputs.index(n)] for n in measured])


def _felt_noise(part: LinearModel, measured: Mapping[str, float], noise: Mapping[str, float]) -> Array:
    direct = felt(part, tuple(measured))
    return np.column_stack([direct[:, part.inputs.index(n)] if n in part.inputs else np.zeros(len(direct)) for n in noise])


def _seen(linear: LinearModel, measured: tuple[str, ...]) -> tuple[str, ...]:
    return linear.with_outputs(*measured).essential(measured).states


def _disturbed(part: LinearModel, name: str) -> Array:
    if name in part.inputs:
        return part.B[:, part.inputs.index(name)]
    if name in part.states:
        return np.eye(len(part.states))[part.states.index(name)]
    raise ArgumentError(
        f"{part.model} has no input or state {name!r} to be disturbed{did_you_mean(name, (*part.inputs, *part.states))}"
    )


def _refuse_unseen(part: LinearModel, measured: tuple[str, ...]) -> None:
    for mode in part.observability(measured).hidden:
        if mode.eigenvalue.real >= 0:
            most = next(iter(mode.combination))
            raise ArgumentError(
                f"{part.model}: {', '.join(measured)} does not show {mode}, which does not die away; measure {most!r} too, or "
                "leave it out"
            )


# -------------------------------------------------------------------------------------------------- in the loop


@dataclass(frozen=True, eq=False)
class Observed:
    """A feedback law fed by an observer; `on(model)` gives the equations of the loop."""

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
        """Of the whole loop: those of the law and those of the observer's error."""
        values = np.concatenate([self.law.eigenvalues, self.observer.eigenvalues])
        return values[np.lexsort((values.imag, values.real))]

    def command(self, name: str) -> Expr:
        """The law of an input in terms of estimates, which bear the names of the states here."""
        return replace(self.law, formulas={s: Name(s) for s in self.law.states}).command(name)

    def formula(self, name: str) -> Expr:
        """What is measured, in terms of the model."""
        return self.law.formulas.get(name, Name(name))

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        named = Named(plant, {s: own[f"{s}_estimate"] for s in self.observer.linear.states})
        return [named.value(self.command(u), f"law of input {u!r}") for u in self.controls]

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        part, named = self.observer.linear, Named(plant)
        into, b = controls_of(part, self.controls)
        z = ca.vertcat(*[own[f"{s}_estimate"] - float(part.at.get(s, 0.0)) for s in part.states])
        u = ca.vertcat(*[c - float(part.at.get(n, 0.0)) for n, c in zip(self.controls, commands, strict=True)])
        y = [named.value(self.formula(n), f"measured {n!r}") - self.level(n) for n in self.observer.measured]
        gap = ca.vertcat(*y) - ca.DM(self.observer.rows) @ z - ca.DM(self.observer.through(into)) @ u
        rate = ca.DM(part.A) @ z + ca.DM(b) @ u + ca.DM(self.observer.L) @ gap
        return [rate[i] for i in range(len(part.states))]

    def level(self, name: str) -> float:
        """The value of something measured in the motion that is held."""
        at = self.observer.linear.at
        if name not in at:
            raise ArgumentError(
                f"{self.law.model}: the value of {name!r} in the motion is not known; linearize a model, which tells it"
            )
        return float(at[name])

    def on(self, model: Model | System | Equations, inputs: Mapping[str, Amount] | None = None) -> Equations:
        """The model's nonlinear equations with law and observer compiled in; `inputs` are laws of other inputs."""
        if self.law.period is not None:
            raise ArgumentError(
                f"{self.law.model}: law and observer are made for samples every {self.law.period:g} s: simulate(…, "
                "control=seen.sampled())"
            )
        constant = {u: value for u, value in self.law.feedforward.items() if u not in self.controls}
        return closed(model, self, {**constant, **(inputs or {})})

    def sampled(self) -> Sampled:
        """Law and observer in a computer, for `simulate(…, control=…)`; its `function` remembers what it has estimated."""
        if self.law.period is None:
            raise ArgumentError(
                f"{self.law.model}: law and observer act at every instant; design both with period=… for a computer that takes "
                "samples"
            )
        return Sampled(Computer(self, self.law.period), 1.0 / self.law.period)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        return {"law": self.law.as_data(), "observer": self.observer.as_data()}

    def __str__(self) -> str:
        return f"{self.law}\n{self.observer}"


def observed(law: Feedback, observer: Observer) -> Observed:
    """A law that knows only what an observer tells (LQG, if both are optimal).

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> law = dr.lqr(bike, {"speed": 2.0}, weights={"lean": 1.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
    >>> seen = dr.observed(law, dr.kalman(law.linear, measured={"steer": 1e-4, "roll_rate": 1e-4}, noise={"push": 100.0}))
    >>> [q.name for q in seen.own_states]
    ['lean_estimate', 'steer_estimate', 'frame_wx_estimate', 'steer_rate_estimate']
    """
    if law.period != observer.period:
        kinds = ["at every instant" if h is None else f"every {h:g} s" for h in (law.period, observer.period)]
        raise ArgumentError(f"{law.model}: the law acts {kinds[0]}, the observer {kinds[1]}; design both with one period=…")
    missing = [s for s in law.states if s not in observer.linear.states]
    if missing:
        raise ArgumentError(
            f"{law.model}: the law needs {', '.join(missing)}, which the observer does not estimate; design it on law.linear"
        )
    running = [s for s in observer.linear.states if abs(observer.linear.rates.get(s, 0.0)) > STEADY]
    if running:
        raise ArgumentError(
            f"{law.model}: {', '.join(running)} runs on in the motion, and an observer estimates what stands still; give "
            "it no weight"
        )
    return Observed(law, observer)

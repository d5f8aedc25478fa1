"""`Feedback`: a linear law by names, u = u₀ − K (z − z₀), that goes into the nonlinear run as expressions.

It is a mapping from inputs to expressions, so that `simulate(model, 10, inputs=law)` compiles it in, and
`inputs={**law, "push": "5*sin(t)"}` adds to it. Gains and references are numbers or expressions of t, states and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import parted, with_expressions
from draisine.control.design.discretization import held, rates_of
from draisine.errors import ArgumentError, UnknownNameError
from draisine.expr.expression import Expr, Name, Number, atan2, clip, cos, did_you_mean, evaluate_number, names, parse, sin
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.program.equations import Equations
from draisine.results.controllability import Structure, complex_text
from draisine.results.linear import LinearModel
from draisine.simulation.sampled_control import Sampled, State

Array = NDArray[np.float64]
Limits = Mapping[str, float | tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Feedback(Mapping[str, Expr]):
    """A law for inputs.

    - `gains[input][state]`: what a unit of deviation asks of an input, with a minus sign.
    - `reference[state]`, `feedforward[input]`: the motion that is held, with all inputs that it needs.
    - `linear`: the linear model it was designed on; `structure`: what of it the inputs reach.
    - `nodes`, `over`: of a schedule, the laws that are interpolated, and the quantity with its values there.
    - `period`: of a law designed for a computer, the time between two of its samples, in which inputs are held.
    """

    model: str
    gains: dict[str, dict[str, Expr]]
    reference: dict[str, Expr]
    feedforward: dict[str, Expr]
    formulas: dict[str, Expr]
    linear: LinearModel
    structure: Structure
    limits: dict[str, tuple[float, float]]
    nodes: tuple[Feedback, ...] = ()
    over: tuple[str, tuple[float, ...]] = ("", ())
    period: float | None = None

    # ---------------------------------------------------------------- a mapping

    def __getitem__(self, name: str) -> Expr:
        if self.period is not None:
            raise ArgumentError(
                f"{self.model}: this law is made to be asked every {self.period:g} s and held in between: simulate(…, "
                "control=law.sampled()); for one that acts at every instant leave period=… out"
            )
        return self.command(name)

    def command(self, name: str) -> Expr:
        """What the law asks of an input, whenever it is asked."""
        if name not in self.feedforward:
            raise UnknownNameError(f"the law sets no input {name!r}; it sets {', '.join(self.feedforward)}")
        total: Expr | None = None
        for state, gain in self.gains.get(name, {}).items():
            if gain == Number(0.0):
                continue
            term = gain * self._deviation(state)
            total = term if total is None else total + term
        command = self.feedforward[name] if total is None else _less(self.feedforward[name], total)
        return clip(command, *self.limits[name]) if name in self.limits else command

    def __iter__(self) -> Iterator[str]:
        return iter(self.feedforward)

    def __len__(self) -> int:
        return len(self.feedforward)

    def _deviation(self, state: str) -> Expr:
        """From the reference; angles told between −π and π are compared the short way round where the reference runs on."""
        apart = _less(self.formulas.get(state, Name(state)), self.reference[state])
        reported = state in self.formulas or (state in self.linear.outputs and self.linear.units.get(state) == "rad")
        return atan2(sin(apart), cos(apart)) if reported and not isinstance(self.reference[state], Number) else apart

    # ---------------------------------------------------------------- numbers

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(self.reference)

    @property
    def controls(self) -> tuple[str, ...]:
        """Inputs that answer to deviations; others are constant."""
        return tuple(self.gains)

    @property
    def K(self) -> Array:
        """The gains as a matrix, inputs by states; of a schedule those of its first node."""
        if self.nodes:
            return self.nodes[0].K
        return np.array([[_number(gain) for gain in row.values()] for row in self.gains.values()])

    def scheduled(self, values: Mapping[str, float]) -> Array:
        """The gains of a schedule, inputs by states, at a value of its quantity."""
        return np.array([[evaluate_number(gain, values) for gain in row.values()] for row in self.gains.values()])

    @property
    def closed(self) -> LinearModel:
        """The linear model with the loop closed; what is left of the inputs drives it."""
        if self.period is not None:
            raise ArgumentError(f"{self.model}: a law asked every {self.period:g} s has a `transition` from sample to sample")
        into = [self.linear.inputs.index(name) for name in self.gains]
        others = [j for j in range(len(self.linear.inputs)) if j not in into]
        part = self.linear
        return replace(
            part,
            A=part.A - part.B[:, into] @ self.K,
            C=part.C - part.D[:, into] @ self.K,
            inputs=tuple(part.inputs[j] for j in others),
            B=part.B[:, others],
            D=part.D[:, others],
        )

    @property
    def transition(self) -> Array:
        """Of a law asked every `period`: deviations at a sample by those at the sample before, Φ − Γ K."""
        if self.period is None:
            raise ArgumentError(f"{self.model}: the law acts at every instant; one for samples is made with period=…")
        into = [self.linear.inputs.index(name) for name in self.gains]
        onward, pushed = held(self.linear.A, self.linear.B[:, into], self.period)
        return np.asarray(onward - pushed @ self.K)

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of the closed loop; of a law asked every `period`, rates that do the same from sample to sample."""
        return self.closed.eigenvalues if self.period is None else rates_of(self.transition, self.period)

    # ---------------------------------------------------------------- variants

    def with_reference(self, reference: Mapping[str, Amount]) -> Feedback:
        """The same law about a motion that moves: values of its states as numbers or expressions of time."""
        new = dict(self.reference)
        for name, value in reference.items():
            if name not in new:
                raise ArgumentError(
                    f"{self.model}: {name!r} is not among the states of the law, which are {', '.join(new)}"
                    f"{did_you_mean(name, new)}; give it a weight, or name it in states=…"
                )
            new[name] = amount_in(value, None, f"reference of {name!r}")
        return replace(self, reference=new)

    def with_limits(self, limits: Limits) -> Feedback:
        """The same law cut off: an input by its greatest amount, or by (least, greatest)."""
        new = limit_pairs(self.model, limits, self.controls)
        for name, (low, high) in new.items():
            needed = self.feedforward[name]
            if isinstance(needed, Number) and not low <= needed.value <= high:
                raise ArgumentError(
                    f"{self.model}: the motion itself needs {name} = {needed.value:.6g}, outside its limits ({low:g}, {high:g})"
                )
        return replace(self, limits={**self.limits, **new})

    def following(self, name: str, amplitude: Amount, rate: float, phase: Amount | None = None) -> Feedback:
        """The same law about the motion in which a state or output swings as amplitude · sin(phase), phase = rate · t by default.

        All states and inputs that go with it are found from the linear model at the frequency, (iω − A) z = B u, C z = 1, so that
        nothing lags. The phase may be told by a place instead of time ("2*pi*frame_x/12"), and an amplitude may grow slowly.
        """
        into = [self.linear.inputs.index(n) for n in self.gains]
        a, b, row = self.linear.A, self.linear.B[:, into], self.linear.row(name)
        n, m = len(a), len(into)
        matrix = np.block([[1j * rate * np.eye(n) - a, -b.astype(complex)], [row[None, :], np.zeros((1, m))]])
        right = np.zeros(n + 1, complex)
        right[n] = 1.0
        found, *_ = np.linalg.lstsq(matrix, right, rcond=1e-12)
        if np.abs(matrix @ found - right).max() > 1e-8:
            raise ArgumentError(f"{self.model}: {', '.join(self.gains)} cannot make {name!r} swing at {rate:g} rad/s")
        angle = Name("t") * float(rate) if phase is None else amount_in(phase, None, "phase")
        size = amount_in(amplitude, None, "amplitude")

        def swing(about: Expr, phasor: complex) -> Expr:
            if abs(phasor) <= 1e-13 * np.abs(found).max():
                return about
            wave = size * (float(phasor.real) * sin(angle) + float(phasor.imag) * cos(angle))
            return wave if about == Number(0.0) else about + wave

        reference = {s: swing(self.reference[s], found[i]) for i, s in enumerate(self.linear.states)}
        feed = {u: swing(self.feedforward[u], found[n + k]) for k, u in enumerate(self.gains)}
        return replace(self, reference=reference, feedforward={**self.feedforward, **feed})

    def on(self, model: Model | System | Equations, inputs: Mapping[str, Amount] | None = None) -> Equations:
        """The model's nonlinear equations with this law compiled in; `inputs` are laws of other inputs."""
        return with_expressions(model, {**dict(self), **parted(inputs)})

    def sampled(self, rate: float | None = None) -> Sampled:
        """The same law asked `rate` times per second and held in between, for `simulate(…, control=…)`."""
        rate = asked_at(self.model, self.period, rate)
        laws = [(name, law, tuple(names(law))) for name in self for law in [self.command(name)]]

        def command(t: float, x: State) -> dict[str, float]:
            return {name: evaluate_number(law, {n: t if n == "t" else x[n] for n in used}) for name, law, used in laws}

        return Sampled(command, rate)

    # ---------------------------------------------------------------- telling

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        values = [{"re": float(z.real), "im": float(z.imag)} for z in self.eigenvalues]
        return {
            "model": self.model,
            "gains": {u: {s: _plain(g) for s, g in row.items()} for u, row in self.gains.items()},
            "reference": {s: _plain(r) for s, r in self.reference.items()},
            "feedforward": {u: _plain(f) for u, f in self.feedforward.items()},
            "limits": {u: list(pair) for u, pair in self.limits.items()},
            "laws": {u: str(self.command(u)) for u in self},
            **({} if self.period is None else {"period": self.period}),
            "eigenvalues": values,
            "controllability": self.structure.as_data(),
            **({"nodes": [node.as_data() for node in self.nodes]} if self.nodes else {}),
        }

    def __str__(self) -> str:
        if self.nodes:
            return self._scheduled_text()
        asked = "" if self.period is None else f", asked every {self.period:g} s and held"
        lines = [f"{self.model}: feedback to {', '.join(self.gains)}{asked}"]
        width = max(len(s) for s in self.reference)
        for name, row in self.gains.items():
            lines.append(f"  {name} = {_short(self.feedforward[name])} −")
            lines += [
                f"    {_short(gain):>12} × ({s:<{width}} − {_short(self.reference[s])})"
                for s, gain in row.items()
                if gain != Number(0.0)
            ]
            if name in self.limits:
                lines.append("    kept between {:g} and {:g}".format(*self.limits[name]))
        lines += [f"  {u} = {_short(value)}" for u, value in self.feedforward.items() if u not in self.gains]
        lines.append(f"open loop    {', '.join(complex_text(z) for z in self.linear.eigenvalues)}")
        lines.append(f"closed loop  {', '.join(complex_text(z) for z in self.eigenvalues)}")
        lines += [f"not controllable, left alone: {hidden}" for hidden in self.structure.hidden]
        return "\n".join(lines)

    def _scheduled_text(self) -> str:
        name, knots = self.over
        lines = [f"{self.model}: feedback to {', '.join(self.gains)}, scheduled over {name}"]
        width = max(len(s) for s in (*self.reference, "slowest"))
        lines.append(f"  {name:<{width}} " + " ".join(f"{value:10.4g}" for value in knots))
        for u, row in self.gains.items():
            lines.append(f"  gains of {u}")
            lines += [f"  {s:<{width}} " + " ".join(f"{_number(n.gains[u][s]):10.4g}" for n in self.nodes) for s in row]
        slowest = [float(n.eigenvalues.real.max()) for n in self.nodes]
        lines.append(f"  {'slowest':<{width}} " + " ".join(f"{value:10.4g}" for value in slowest))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Feedback({self.model!r}: {', '.join(self.gains)} from {', '.join(self.states)})"


def feedback(
    linear: LinearModel,
    controls: Sequence[str],
    gains: Array,
    structure: Structure,
    reference: Mapping[str, Amount] | None,
    limits: Limits | None,
    period: float | None = None,
) -> Feedback:
    """A law about the motion of a linear model."""
    gains = np.where(np.abs(gains) > ROUNDING * np.abs(gains).max(axis=1, keepdims=True), gains, 0.0)
    motion: dict[str, Expr] = {}
    for name in linear.states:
        rate = linear.rates.get(name, 0.0)
        start = _tidy(linear.at.get(name, 0.0))
        motion[name] = Number(start) + rate * Name("t") if abs(rate) > STEADY else Number(start)
    needed = [u for u in linear.inputs if u not in controls and _tidy(linear.at.get(u, 0.0)) != 0.0]
    law = Feedback(
        linear.model,
        {u: dict(zip(linear.states, map(Number, row.tolist()), strict=True)) for u, row in zip(controls, gains, strict=True)},
        motion,
        {u: Number(_tidy(linear.at.get(u, 0.0))) for u in (*controls, *needed)},
        {name: parse(text) for name, text in linear.formulas.items() if name in linear.states},
        linear,
        structure,
        {},
        period=period,
    )
    law = law.with_reference(reference) if reference else law
    return law.with_limits(limits) if limits else law


def limit_pairs(model: str, limits: Limits, controls: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Limits of inputs that a law sets, as pairs."""
    found = {}
    for name, value in limits.items():
        if name not in controls:
            raise ArgumentError(f"{model}: limits of {name!r}, which the law does not set; it sets {', '.join(controls)}")
        low, high = value if isinstance(value, tuple) else (-abs(value), abs(value))
        if not low < high:
            raise ArgumentError(f"{model}: limits of {name!r} are ({low:g}, {high:g}); the first must be below the second")
        found[name] = (float(low), float(high))
    return found


def asked_at(model: str, period: float | None, rate: float | None) -> float:
    """How often per second a law is asked: as it was made for, or as it is said."""
    if period is None:
        if rate is None:
            raise ArgumentError(f"{model}: how often shall the law be asked? Say law.sampled(rate=…), or design it with period=…")
        return rate
    if rate is not None and not np.isclose(rate * period, 1.0, rtol=1e-9):
        raise ArgumentError(
            f"{model}: the law is made to be asked every {period:g} s, not {rate:g} times per second; leave rate=… out"
        )
    return 1.0 / period


ROUNDING = 1e-13  # of an input's largest gain
STEADY = 1e-8  # 1/s times the unit of a state: rates that count as none


def _tidy(value: float) -> float:
    return 0.0 if abs(value) < 1e-15 else float(value)


def _less(left: Expr, right: Expr) -> Expr:
    if right == Number(0.0):
        return left
    return -right if left == Number(0.0) else left - right


def _number(gain: Expr) -> float:
    if not isinstance(gain, Number):
        raise ArgumentError(f"the gain {_short(gain)} is no number")
    return gain.value


def _plain(value: Expr) -> float | str:
    return value.value if isinstance(value, Number) else str(value)


def _short(value: Expr) -> str:
    if isinstance(value, Number):
        return f"{value.value:.6g}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"

"""`Feedback`: a linear law u = u₀ − K (z − z₀) in named quantities, used in nonlinear simulations as expressions.

It is a mapping from inputs to expressions, so that `simulate(model, 10, inputs=law)` compiles it in, and
`inputs={**law, "push": "5*sin(t)"}` adds other inputs. Gains and references are numbers or expressions of t, states and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import input_laws, with_expressions
from draisine.control.design.discretization import rates_of, zero_order_hold
from draisine.errors import ArgumentError, UnknownNameError
from draisine.expr.expression import Expr, Name, Number, atan2, clip, cos, did_you_mean, evaluate_number, names, parse, sin
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.model.system import System
from draisine.numerics.scaling import unit_scales
from draisine.program.equations import Equations
from draisine.results.base import html_table, html_text
from draisine.results.controllability import Structure, complex_text
from draisine.results.linear import LinearModel
from draisine.simulation.sampled_control import EveryStage as EveryStage
from draisine.simulation.sampled_control import Sampled as Sampled
from draisine.simulation.sampled_control import State

Array = NDArray[np.float64]
Limits = Mapping[str, float | tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Feedback(Mapping[str, Expr]):
    """A law for inputs.

    - `gains[input][state]`: entries of K.
    - `reference[state]`, `feedforward[input]`: the reference motion, with all inputs that it needs.
    - `linear`: the linear model of the design; `structure`: its controllability.
    - `nodes`, `over`: of a gain schedule, the interpolated laws, and the scheduling quantity with its values.
    - `period`: of a sampled law, the time between samples; inputs are constant in between.
    """

    model: str
    gains: dict[str, dict[str, Expr]]
    reference: dict[str, Expr]
    feedforward: dict[str, Expr]
    formulas: dict[str, Expr]
    linear: LinearModel
    structure: Structure
    limits: dict[str, tuple[Expr, Expr]]
    nodes: tuple[Feedback, ...] = ()
    over: tuple[str, tuple[float, ...]] = ("", ())
    period: float | None = None

    # ---------------------------------------------------------------- a mapping

    def __getitem__(self, name: str) -> Expr:
        if self.period is not None:
            raise ArgumentError(
                f"{self.model}: this law is sampled every {self.period:g} s with zero-order hold: simulate(…, "
                "control=law.sampled()); for a continuous law leave period=… out"
            )
        return self.command(name)

    def command(self, name: str) -> Expr:
        """The expression of an input."""
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
        """Deviation from the reference, of angles between −π and π the short way round."""
        apart = _less(self.formulas.get(state, Name(state)), self.reference[state])
        return wrapped(apart) if state in self.linear.angles and self.reference[state] != Number(0.0) else apart

    # ---------------------------------------------------------------- numbers

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(self.reference)

    @property
    def controls(self) -> tuple[str, ...]:
        """Inputs that depend on deviations; others are constant."""
        return tuple(self.gains)

    @property
    def K(self) -> Array:
        """The gains as a matrix, inputs by states; of a gain schedule those of its first node."""
        if self.nodes:
            return self.nodes[0].K
        return np.array([[_number(gain) for gain in row.values()] for row in self.gains.values()])

    def scheduled(self, values: Mapping[str, float]) -> Array:
        """The gains of a schedule, inputs by states, at a value of the scheduling quantity."""
        return np.array([[evaluate_number(gain, values) for gain in row.values()] for row in self.gains.values()])

    @property
    def closed(self) -> LinearModel:
        """The linear model of the closed loop, with the remaining inputs."""
        if self.period is not None:
            raise ArgumentError(f"{self.model}: a sampled law has a `transition` matrix instead")
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
        """Transition matrix of a sampled law: deviations at a sample by those at the previous sample, Φ − Γ K."""
        if self.period is None:
            raise ArgumentError(f"{self.model}: the law is continuous; a sampled law is designed with period=…")
        into = [self.linear.inputs.index(name) for name in self.gains]
        phi, gamma = zero_order_hold(self.linear.A, self.linear.B[:, into], self.period)
        return np.asarray(phi - gamma @ self.K)

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of the closed loop; of a sampled law the equivalent continuous ones."""
        return self.closed.eigenvalues if self.period is None else rates_of(self.transition, self.period)

    # ---------------------------------------------------------------- variants

    def with_reference(self, reference: Mapping[str, Amount]) -> Feedback:
        """The law about another reference: values of its states as numbers or expressions of time."""
        new = dict(self.reference)
        for name, value in reference.items():
            if name not in new:
                raise ArgumentError(
                    f"{self.model}: {name!r} is not a state of the law; its states are {', '.join(new)}"
                    f"{did_you_mean(name, new)}; give it a weight, or name it in states=…"
                )
            new[name] = amount_in(value, None, f"reference of {name!r}")
        return replace(self, reference=new)

    def with_limits(self, limits: Limits) -> Feedback:
        """The law with saturation: the largest magnitude of an input, or (least, greatest)."""
        new = limit_pairs(self.model, limits, self.controls)
        for name, (low, high) in new.items():
            needed = self.feedforward[name]
            if isinstance(needed, Number) and not low <= needed.value <= high:
                raise ArgumentError(
                    f"{self.model}: the reference motion needs {name} = {needed.value:.6g}, outside ({low:g}, {high:g})"
                )
        return replace(self, limits={**self.limits, **{u: (Number(low), Number(high)) for u, (low, high) in new.items()}})

    def following(self, name: str, amplitude: Amount, rate: float, phase: Amount | None = None) -> Feedback:
        """The law about a motion in which a state or output oscillates as amplitude · sin(phase), phase = rate · t by default.

        All states and inputs of that motion follow from the linear model at the frequency, (iω − A) z = B u, C z + D u = 1, or
        of a sampled law from that of the sampled plant, (e^(iωh) − Φ) z = Γ u, so that there is no lag. The phase may depend on
        a position instead of time ("2*pi*frame_x/12"), and the amplitude may vary.
        """
        into = [self.linear.inputs.index(n) for n in self.gains]
        a, b, row = self.linear.A, self.linear.B[:, into], self.linear.row(name)
        n, through = len(a), self._through(name, into)
        onward: complex = 1j * rate
        if self.period is not None:
            a, b = zero_order_hold(a, b, self.period)
            onward = np.exp(1j * rate * self.period)
        matrix = np.block([[onward * np.eye(n) - a, -b.astype(complex)], [row[None, :], through[None, :]]])
        right = np.zeros(n + 1, complex)
        right[n] = 1.0
        found, *_ = np.linalg.lstsq(matrix, right, rcond=1e-12)
        if np.abs(matrix @ found - right).max() > 1e-8:
            raise ArgumentError(f"{self.model}: {', '.join(self.gains)} cannot make {name!r} oscillate at {rate:g} rad/s")
        angle = Name("t") * float(rate) if phase is None else amount_in(phase, None, "phase")
        size = amount_in(amplitude, None, "amplitude")

        def oscillation(mean: Expr, phasor: complex) -> Expr:
            if abs(phasor) <= 1e-13 * np.abs(found).max():
                return mean
            wave = size * (float(phasor.real) * sin(angle) + float(phasor.imag) * cos(angle))
            return wave if mean == Number(0.0) else mean + wave

        reference = {s: oscillation(self.reference[s], found[i]) for i, s in enumerate(self.linear.states)}
        feed = {u: oscillation(self.feedforward[u], found[n + k]) for k, u in enumerate(self.gains)}
        return replace(self, reference=reference, feedforward={**self.feedforward, **feed})

    def _through(self, name: str, into: Sequence[int]) -> Array:
        """D of a state or output, by inputs with these indices."""
        part = self.linear
        return np.zeros(len(into)) if name in part.states else part.D[part.outputs.index(name)][list(into)]

    def on(self, model: Model | System | Equations, inputs: Mapping[str, Amount] | None = None) -> Equations:
        """The model's nonlinear equations with this law compiled in; `inputs` are laws of other inputs."""
        return with_expressions(model, {**dict(self), **input_laws(inputs)})

    def sampled(self, rate: float | None = None) -> Sampled:
        """The law sampled `rate` times per second with zero-order hold, for `simulate(…, control=…)`."""
        rate = sampling_rate(self.model, self.period, rate)
        laws = [(name, law, tuple(names(law))) for name in self for law in [self.command(name)]]

        def command(t: float, x: State) -> dict[str, float]:
            return {name: evaluate_number(law, {n: t if n == "t" else x[n] for n in used}) for name, law, used in laws}

        return Sampled(command, rate)

    # ---------------------------------------------------------------- output

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        values = [{"re": float(z.real), "im": float(z.imag)} for z in self.eigenvalues]
        return {
            "model": self.model,
            "gains": {u: {s: _plain(g) for s, g in row.items()} for u, row in self.gains.items()},
            "reference": {s: _plain(r) for s, r in self.reference.items()},
            "feedforward": {u: _plain(f) for u, f in self.feedforward.items()},
            "limits": {u: [_plain(edge) for edge in pair] for u, pair in self.limits.items()},
            "laws": {u: str(self.command(u)) for u in self},
            **({} if self.period is None else {"period": self.period}),
            "eigenvalues": values,
            "controllability": self.structure.as_data(),
            **({"nodes": [node.as_data() for node in self.nodes]} if self.nodes else {}),
        }

    def __str__(self) -> str:
        if self.nodes:
            return self._scheduled_text()
        sampled = "" if self.period is None else f", sampled every {self.period:g} s with zero-order hold"
        lines = [f"{self.model}: feedback to {', '.join(self.gains)}{sampled}"]
        width = max(len(s) for s in self.reference)
        for name, row in self.gains.items():
            lines.append(f"  {name} = {_short(self.feedforward[name])} −")
            lines += [
                f"    {_short(gain):>12} × ({s:<{width}} − {_short(self.reference[s])})"
                for s, gain in row.items()
                if gain != Number(0.0)
            ]
            if name in self.limits:
                lines.append("    kept between {} and {}".format(*map(_short, self.limits[name])))
        lines += [f"  {u} = {_short(value)}" for u, value in self.feedforward.items() if u not in self.gains]
        lines.append(f"open loop    {', '.join(complex_text(z) for z in self.linear.eigenvalues)}")
        lines.append(f"closed loop  {', '.join(complex_text(z) for z in self.eigenvalues)}")
        lines += [f"uncontrollable: {hidden}" for hidden in self.structure.hidden]
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

    def _repr_html_(self) -> str:
        """For notebooks: the gains by state, in units of the input per unit of the state, then all as text."""
        units, states = self.linear.units, list(self.reference)
        table: dict[str, Any] = {"state": states, "unit": [units.get(s, "") for s in states]}
        if self.nodes:
            name, knots = self.over
            at = zip(knots, self.nodes, strict=True)
            columns = {f"{u} at {name} = {value:g}": (u, node.gains[u]) for value, node in at for u in self.gains}
        else:
            columns = {u: (u, row) for u, row in self.gains.items()}
        table |= {column: [_short(row[s]) for s in states] for column, (_, row) in columns.items()}
        return html_table(repr(self), table, {column: units.get(u, "") for column, (u, _) in columns.items()}) + html_text(self)

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
    """A law about the reference motion of a linear model."""
    scaled = gains * unit_scales(np.where(linear.depends, linear.A, 0.0), linear.B)[0]
    shares = [np.abs(g) / np.maximum(np.abs(g).max(axis=1, keepdims=True), 1e-300) for g in (gains, scaled)]
    gains = np.where(np.maximum(*shares) > ROUNDING, gains, 0.0)  # rounding error in the given and in scaled states
    largest = max((abs(linear.at.get(name, 0.0)) for name in (*linear.states, *linear.inputs)), default=0.0)
    motion: dict[str, Expr] = {}
    for name in linear.states:
        rate = linear.rates.get(name, 0.0)
        start = _tidy(linear.at.get(name, 0.0), largest)
        motion[name] = Number(start) + rate * Name("t") if abs(rate) > STEADY else Number(start)
    needed = [u for u in linear.inputs if u not in controls and _tidy(linear.at.get(u, 0.0), largest) != 0.0]
    law = Feedback(
        linear.model,
        {u: dict(zip(linear.states, map(Number, row.tolist()), strict=True)) for u, row in zip(controls, gains, strict=True)},
        motion,
        {u: Number(_tidy(linear.at.get(u, 0.0), largest)) for u in (*controls, *needed)},
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


def sampling_rate(model: str, period: float | None, rate: float | None) -> float:
    """Sampling rate of a law: that of its design, or the given one."""
    if period is None:
        if rate is None:
            raise ArgumentError(f"{model}: give the sampling rate, law.sampled(rate=…), or design the law with period=…")
        return rate
    if rate is not None and not np.isclose(rate * period, 1.0, rtol=1e-9):
        raise ArgumentError(
            f"{model}: the law is designed for a period of {period:g} s, not for {rate:g} samples per second; leave rate=… out"
        )
    return 1.0 / period


ROUNDING = 1e-13  # relative to the largest gain of an input
STEADY = 1e-8  # rates of states below this count as zero


def _tidy(value: float, largest: float) -> float:
    """A value of the motion, zero where it is rounding error of its `largest` one."""
    return 0.0 if abs(value) < 1e-15 * min(1.0, largest) else float(value)


def wrapped(angle: Expr) -> Expr:
    """The angle between −π and π that differs by full turns."""
    return atan2(sin(angle), cos(angle))


def _less(left: Expr, right: Expr) -> Expr:
    if right == Number(0.0):
        return left
    return -right if left == Number(0.0) else left - right


def _number(gain: Expr) -> float:
    if not isinstance(gain, Number):
        raise ArgumentError(f"the gain {_short(gain)} is not a number")
    return gain.value


def _plain(value: Expr) -> float | str:
    return value.value if isinstance(value, Number) else str(value)


def _short(value: Expr) -> str:
    if isinstance(value, Number):
        return f"{value.value:.6g}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"

"""`LinearModel`: ż = A z + B u, y = C z + D u about one motion, every row and column by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnknownNameError, require
from draisine.numerics.spectrum import Spectrum
from draisine.results.base import Result, figure
from draisine.results.channel import per_second
from draisine.results.controllability import Structure, complex_text, controllable, observable

Array = NDArray[np.float64]

STEADY = 1e-8  # rates below this, relative to the state, are errors of a steady motion


@dataclass(frozen=True, eq=False)
class LinearModel(Result):
    """A linear model of deviations from a motion, of states, inputs and outputs.

    `at` has the values of the motion itself; `left_out` has the reason for each deviation that is not among the states.

    >>> import numpy as np
    >>> swing = LinearModel("pendulum", ("angle", "rate"), (), (), np.array([[0.0, 1.0], [-4.0, 0.0]]),
    ...                     np.zeros((2, 0)), np.zeros((0, 2)), np.zeros((0, 0)))
    >>> swing.eigenvalues.round(12).tolist()
    [-2j, 2j]
    """

    model: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    A: Array
    B: Array
    C: Array
    D: Array
    at: dict[str, float] = field(default_factory=dict, repr=False)
    left_out: dict[str, str] = field(default_factory=dict, repr=False)
    units: dict[str, str] = field(default_factory=dict, repr=False)
    rates: dict[str, float] = field(default_factory=dict, repr=False)  # of the states in the motion itself
    formulas: dict[str, str] = field(
        default_factory=dict, repr=False
    )  # of states that are defined by deviations only, in coordinates
    limit: str = field(default="", repr=False)  # a sentence on a motion on the limit of a switching function
    angles: tuple[str, ...] = ()  # states and outputs with values between −π and π, of which only the value modulo 2π counts
    rounding: Array | None = field(default=None, repr=False)  # size of entries of A that are rounding error; none if not given

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Sorted by real part, then by imaginary part; parts that are rounding error are zero."""
        values = Spectrum.of(self.A[None]).cleaned[0]
        found = values[np.lexsort((values.imag, values.real))]
        found.flags.writeable = False  # cached
        return found

    @property
    def stable(self) -> bool:
        """Whether all deviations decay (asymptotic stability)."""
        return bool(np.all(self.eigenvalues.real < 0))

    @cached_property
    def unsteady(self) -> dict[str, float]:
        """Rates of the states that change in the motion itself although the model depends on them: none if it is steady.

        In an unsteady motion A changes with time, and its eigenvalues do not decide on stability.
        """
        idle = self.essential().left_out
        return {name: rate for name, rate in self.changing.items() if name not in idle}

    @property
    def changing(self) -> dict[str, float]:
        """Rates of all states that change in the motion itself."""
        rates = {name: self.rates.get(name, 0.0) for name in self.states}
        return {name: rate for name, rate in rates.items() if abs(rate) > STEADY * max(1.0, abs(self.at.get(name, 0.0)))}

    @property
    def note(self) -> str:
        """A sentence on a motion that is not steady, or on the limit of a switching function; else empty."""
        if not self.unsteady:
            return self.limit
        rates = ", ".join(f"{name} changes at {rate:.4g} per second" for name, rate in list(self.unsteady.items())[:4])
        return "; ".join([f"the reference motion is not steady: {rates}", *([self.limit] if self.limit else [])])

    def essential(self, outputs: tuple[str, ...] | None = None) -> LinearModel:
        """The model without states on which nothing else depends: position on the plane, heading, angles of rotors, the speed
        along a family of steady motions. States needed by `outputs` are kept; by default the outputs are those that need no
        removed state. `left_out` lists the removed states.
        """
        needed = [self._index(name, self.outputs, "output") for name in outputs or ()]
        kept = list(range(len(self.states)))
        reasons: dict[str, str] = {}
        depends = self.depends
        while True:
            idle = [j for j in kept if not depends[kept, j].any() and np.abs(self.C[needed, j]).max(initial=0.0) == 0.0]
            if not idle:
                break
            kept = [j for j in kept if j not in idle]
            reasons |= {self.states[j]: "no other state depends on it" for j in idle}
        gone = [j for j in range(len(self.states)) if j not in kept]
        shown = needed if outputs is not None else self._outputs_without(gone)
        return self._part(kept, shown, reasons)

    @property
    def depends(self) -> NDArray[np.bool_]:
        """Which rates (rows) depend on which states (columns): entries of A that are not rounding error, however small."""
        return np.asarray(np.abs(self.A) > (0.0 if self.rounding is None else self.rounding))

    @property
    def exact(self) -> bool:
        """Whether no entry of A is rounding error."""
        return bool((self.depends | (self.A == 0.0)).all())

    def with_states(self, states: Sequence[str]) -> LinearModel:
        """The model with these states only, which must not depend on others, and all outputs that need no other state."""
        kept = [self._index(name, self.states, "state") for name in states]
        gone = [j for j in range(len(self.states)) if j not in kept]
        for j in gone:
            dependent = [self.states[i] for i in kept if self.depends[i, j]]
            if dependent:
                raise ArgumentError(
                    f"{self.model}: {dependent[0]!r} depends on {self.states[j]!r}, which would be left out; include it"
                )
        return self._part(kept, self._outputs_without(gone), {self.states[j]: "no other state depends on it" for j in gone})

    def _outputs_without(self, gone: list[int]) -> list[int]:
        """Outputs that need none of these states."""
        sizes = np.abs(self.C)
        return [i for i, row in enumerate(sizes) if row[gone].max(initial=0.0) <= 1e-9 * min(1.0, row.max(initial=0.0))]

    def _part(self, kept: list[int], shown: list[int], reasons: dict[str, str]) -> LinearModel:
        return LinearModel(
            self.model,
            tuple(self.states[j] for j in kept),
            self.inputs,
            tuple(self.outputs[i] for i in shown),
            self.A[np.ix_(kept, kept)],
            self.B[kept],
            self.C[np.ix_(shown, kept)],
            self.D[shown],
            self.at,
            {**self.left_out, **reasons},
            self.units,
            self.rates,
            self.formulas,
            self.limit,
            self.angles,
            None if self.rounding is None else self.rounding[np.ix_(kept, kept)],
        )

    def to_control(self, inputs: tuple[str, ...] | None = None, outputs: tuple[str, ...] | None = None) -> Any:
        """A `control.StateSpace` with the same names (package python-control)."""
        control = python_control("to_control")
        into = [self._index(name, self.inputs, "input") for name in (inputs or self.inputs)]
        out = [self._index(name, self.outputs, "output") for name in (outputs or self.outputs)]
        return control.ss(
            self.A,
            self.B[:, into],
            self.C[out],
            self.D[np.ix_(out, into)],
            states=list(self.states),
            inputs=[self.inputs[i] for i in into],
            outputs=[self.outputs[i] for i in out],
            name=self.model,
        )

    def controllability(self, inputs: Sequence[str] | None = None) -> Structure:
        """The controllable subspace, and by name the uncontrollable combinations of states.

        >>> carts = LinearModel("carts", ("a", "b"), ("push",), (), np.zeros((2, 2)), np.array([[1.0], [1.0]]), np.zeros((0, 2)),
        ...                     np.zeros((0, 1)))
        >>> print(carts.controllability())
        carts: 1 of 2 directions are controllable by push
          not controllable: a − b (constant)
        """
        into = [self._index(name, self.inputs, "input") for name in (self.inputs if inputs is None else inputs)]
        return controllable(self.model, self.states, tuple(self.inputs[i] for i in into), self.A, self.B[:, into], self.exact)

    def observability(self, outputs: Sequence[str] | None = None) -> Structure:
        """The observable subspace of outputs (or states), and by name the unobservable directions."""
        shown = tuple(self.outputs if outputs is None else outputs)
        rows = np.array([self.row(name) for name in shown]).reshape(len(shown), len(self.states))
        return observable(self.model, self.states, shown, self.A, rows, self.exact)

    def row(self, name: str) -> Array:
        """A state or an output as a row of coefficients of the states."""
        if name in self.states:
            return np.eye(len(self.states))[self.states.index(name)]
        return np.array(self.C[self._index(name, self.outputs, "state or output")])

    def transfer(self, input: str, output: str) -> Any:
        """The transfer function from an input to an output or state, a `control.TransferFunction`.

        States that the output does not depend on are left out first.
        """
        control = python_control("transfer")
        into = self._index(input, self.inputs, "input")
        shown = self.with_outputs(output)
        part = shown.essential((output,))
        zeros, poles, gain = zero_pole_gain(part.A, part.B[:, into], part.C[0], float(part.D[0, into]))
        numbers = np.real(gain * np.atleast_1d(np.poly(zeros))), np.real(np.atleast_1d(np.poly(poles)))
        return control.tf(*numbers, inputs=[input], outputs=[output], name=f"{self.model}_{input}_to_{output}")

    def with_outputs(self, *names: str) -> LinearModel:
        """The model with these states or outputs as its outputs."""
        c = np.array([self.row(name) for name in names]).reshape(len(names), len(self.states))
        c = np.where(np.abs(c) > 1e-12 * np.abs(c).max(axis=1, keepdims=True, initial=0.0), c, 0.0)
        d = np.array([np.zeros(len(self.inputs)) if n in self.states else self.D[self.outputs.index(n)] for n in names])
        return replace(self, outputs=tuple(names), C=c, D=d.reshape(len(names), len(self.inputs)))

    def _index(self, name: str, names: tuple[str, ...], kind: str) -> int:
        if name not in names:
            raise UnknownNameError(f"{self.model} has no {kind} {name!r}; it has {', '.join(names) or 'none'}")
        return names.index(name)

    def _table(self) -> Mapping[str, Any]:
        """The matrices A, B over C, D: rows are rates of states and outputs, columns states and inputs."""
        every = np.block([[self.A, self.B], [self.C, self.D]])
        names = [*(f"d {name}/dt" for name in self.states), *self.outputs]
        return {"of": names, **dict(zip((*self.states, *self.inputs), every.T, strict=True))}

    def _overview(self) -> Mapping[str, Any]:
        """The table with the units of its rows; an entry has that of its row divided by that of its column."""
        table = dict(self._table())
        rows = [*(per_second(self.units.get(name, "")) for name in self.states), *(self.units.get(n, "") for n in self.outputs)]
        return {"of": table.pop("of"), "unit": rows, **table}

    def plot(self, **options: Any) -> Any:
        """Eigenvalues in the complex plane; see `draisine.view.plots.eigenvalues`."""
        return figure("plots.eigenvalues.eigenvalue_plane", self.eigenvalues, **options)

    def bode(self, input: str, outputs: str | Sequence[str], frequencies: ArrayLike | None = None, **options: Any) -> Any:
        """Bode diagram from an input to outputs; see `draisine.view.plots.responses.bode`."""
        return figure("plots.responses.bode", self, input, outputs, frequencies, **options)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        matrices = {letter: getattr(self, letter).tolist() for letter in "ABCD"}
        values = [{"re": float(z.real), "im": float(z.imag)} for z in self.eigenvalues]
        names = {"model": self.model, "states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return {**names, **matrices, "eigenvalues": values, "at": self.at, "left_out": self.left_out, "unsteady": self.unsteady}

    def __repr__(self) -> str:
        motion = "; not steady" if self.unsteady else ""
        sizes = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<LinearModel of {self.model}: {', '.join(self.states)}; {sizes}{motion}>"

    def __str__(self) -> str:
        width = max([len(name) for name in self.states], default=0)
        lines = [f"{self.model}: {len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"]
        lines += [self.note] if self.note else []
        shown = self.A if self.rounding is None else np.where(np.abs(self.A) <= self.rounding, 0.0, self.A)
        for title, matrix, names in (("A", shown, self.states), ("B", self.B, self.inputs)):
            if names:
                lines.append(f"{title}{' ' * (width + 1)}" + " ".join(f"{name[:12]:>12}" for name in names))
                lines += [
                    f"  {name:<{width}}" + " ".join(f"{value:12.5g}" for value in row)
                    for name, row in zip(self.states, matrix, strict=True)
                ]
        lines.append("eigenvalues  " + ", ".join(complex_text(z) for z in self.eigenvalues))
        lines += [f"left out: {name} ({why})" for name, why in self.left_out.items()]
        return "\n".join(lines)


def python_control(purpose: str) -> Any:
    """The package python-control."""
    return require("control", purpose)


def zero_pole_gain(a: Array, b: Array, c: Array, d: float) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Zeros, poles and gain of d + c (s − A)⁻¹ b, zeros as eigenvalues of the system pencil."""
    poles, n = _clean(np.linalg.eigvals(a)), len(a)
    zeros = zeros_of(a, b[:, None], c[None, :], np.array([[d]]))
    # the gain from one point far from zeros and poles, without cancellation
    s = 1j * (1.0 + 2.0 * float(np.abs(np.concatenate([poles, zeros, [1.0]])).max()))
    value = d + c @ np.linalg.solve(s * np.eye(n) - a, b.astype(complex))
    return zeros, poles, float(np.real(value * np.prod(s - poles) / np.prod(s - zeros)))


def zeros_of(a: Array, b: Array, c: Array, d: Array) -> NDArray[np.complex128]:
    """Invariant zeros: where [A − s, B; C, D] loses rank; with as many inputs as outputs."""
    from scipy.linalg import eigvals

    n = len(a)
    pencil = np.block([[a, b], [c, d]])
    mass = np.zeros_like(pencil)
    mass[:n, :n] = np.eye(n)
    scale = max(float(np.abs(a).max(initial=0.0)), 1.0)
    top, bottom = eigvals(pencil, mass, homogeneous_eigvals=True)
    finite = np.abs(bottom) > 1e-10 * np.abs(top) / scale
    return _clean(top[finite] / bottom[finite])


def _clean(values: NDArray[Any]) -> NDArray[np.complex128]:
    """Set roots at the origin to exactly zero."""
    return np.where(np.abs(values) <= 1e-12 * np.abs(values).max(initial=0.0), 0.0, values).astype(complex)

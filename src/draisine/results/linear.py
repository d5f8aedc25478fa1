"""`LinearModel`: ż = A z + B u, y = C z + D u about one motion, every row and column by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Small deviations from a motion. All are deviations: of states, inputs and outputs.

    `at` holds the values of the motion itself; `left_out` says of each direction that is not among the states why not.

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
    rates: dict[str, float] = field(default_factory=dict, repr=False)  # of the states, in the motion itself

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Sorted by real part, then by imaginary part."""
        values = np.linalg.eigvals(self.A).astype(complex)
        return values[np.lexsort((values.imag, values.real))]

    @property
    def stable(self) -> bool:
        """Whether every deviation among the states dies away."""
        return bool(np.all(self.eigenvalues.real < 0))

    def essential(self, outputs: tuple[str, ...] | None = None) -> LinearModel:
        """The same without states on which nothing else depends: positions on the plane, heading, angles of rotors, a speed
        along which steady motions form a family. With `outputs` given, states that these depend on stay; by default the outputs
        are those that need no state left out. Each state left out is listed with its reason.
        """
        seen = [self._place(name, self.outputs, "output") for name in outputs or ()]
        kept = list(range(len(self.states)))
        why: dict[str, str] = {}
        small = 1e-9 * max(float(np.abs(self.A).max(initial=0.0)), 1e-300)
        while True:
            idle = [
                j
                for j in kept
                if np.abs(self.A[kept, j]).max(initial=0.0) <= small and np.abs(self.C[seen, j]).max(initial=0.0) == 0.0
            ]
            if not idle:
                break
            kept = [j for j in kept if j not in idle]
            why |= {self.states[j]: "nothing among the rest depends on it" for j in idle}
        gone = [j for j in range(len(self.states)) if j not in kept]
        shown = seen if outputs is not None else [i for i, row in enumerate(self.C) if np.abs(row[gone]).max(initial=0.0) <= 1e-9]
        return self._part(kept, shown, why)

    def _part(self, kept: list[int], shown: list[int], why: dict[str, str]) -> LinearModel:
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
            {**self.left_out, **why},
            self.units,
            self.rates,
        )

    def to_control(self, inputs: tuple[str, ...] | None = None, outputs: tuple[str, ...] | None = None) -> Any:
        """A `control.StateSpace` with the same names (package python-control)."""
        try:
            import control
        except ModuleNotFoundError:
            raise ModuleNotFoundError("to_control needs the package python-control: pip install 'draisine[control]'") from None
        into = [self._place(name, self.inputs, "input") for name in (inputs or self.inputs)]
        out = [self._place(name, self.outputs, "output") for name in (outputs or self.outputs)]
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

    def _place(self, name: str, names: tuple[str, ...], kind: str) -> int:
        if name not in names:
            raise KeyError(f"{self.model} has no {kind} {name!r}; it has {', '.join(names) or 'none'}")
        return names.index(name)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        matrices = {letter: getattr(self, letter).tolist() for letter in "ABCD"}
        values = [{"re": float(z.real), "im": float(z.imag)} for z in self.eigenvalues]
        names = {"model": self.model, "states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return {**names, **matrices, "eigenvalues": values, "at": self.at, "left_out": self.left_out}

    def __str__(self) -> str:
        width = max([len(name) for name in self.states], default=0)
        lines = [f"{self.model}: {len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"]
        for title, matrix, names in (("A", self.A, self.states), ("B", self.B, self.inputs)):
            if names:
                lines.append(f"{title}{' ' * (width + 1)}" + " ".join(f"{name[:12]:>12}" for name in names))
                lines += [
                    f"  {name:<{width}}" + " ".join(f"{value:12.5g}" for value in row)
                    for name, row in zip(self.states, matrix, strict=True)
                ]
        lines.append("eigenvalues  " + ", ".join(_complex(z) for z in self.eigenvalues))
        lines += [f"left out: {name} ({why})" for name, why in self.left_out.items()]
        return "\n".join(lines)


def _complex(z: complex) -> str:
    return (
        f"{z.real:.5g}"
        if abs(z.imag) < 1e-12 * max(abs(z), 1.0)
        else f"{z.real:.5g} {'+' if z.imag > 0 else '−'} {abs(z.imag):.5g}i"
    )

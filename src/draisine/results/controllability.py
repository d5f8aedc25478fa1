"""What inputs can move and outputs can see of a linear model, told by the names of its states.

Directions that inputs reach are collected step by step, range B, A B, … (staircase), each step judged by singular values. What
is left evolves by itself: combinations wᵀz of states with d/dt wᵀz = λ wᵀz, which no input changes. With λ = 0 a combination is
constant: an integrated rolling condition, a symmetry, a speed along which steady motions form a family. Seeing is the dual: the
same of (Aᵀ, Cᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.rank import decompose

Array = NDArray[np.float64]

RANK = 1e-9  # of the largest entry: what counts as zero
SAME = 1e-6  # eigenvalues this close, of the largest entry, are one


@dataclass(frozen=True)
class HiddenMode:
    """An eigenvalue that inputs do not move (or outputs do not show), with a combination of states that goes with it."""

    eigenvalue: complex
    combination: dict[str, float]  # the largest factor is one
    driven: bool = False  # besides its own it feels others of this eigenvalue (a Jordan chain): x of a constant speed

    @property
    def neutral(self) -> bool:
        """Whether the combination is constant: kept by a constraint or a symmetry."""
        return self.eigenvalue == 0

    @property
    def unstable(self) -> bool:
        return self.eigenvalue.real > 0 or (self.eigenvalue.real == 0 and self.eigenvalue != 0)

    def __str__(self) -> str:
        terms = [(f"{abs(c):.4g} " if abs(abs(c) - 1) > 1e-9 else "", name, c < 0) for name, c in self.combination.items()]
        first, *rest = terms
        text = f"{'−' if first[2] else ''}{first[0]}{first[1]}" + "".join(f" {'−' if m else '+'} {f}{n}" for f, n, m in rest)
        if self.neutral:
            return f"{text} (changed by other such ones alone)" if self.driven else f"{text} (constant)"
        return f"{text} (eigenvalue {complex_text(self.eigenvalue)})"


@dataclass(frozen=True)
class Structure:
    """How many directions of a linear model inputs reach or outputs see, a basis of them, and what is left by name."""

    word: str  # "controllable" or "observable"
    model: str
    names: tuple[str, ...]  # inputs, or outputs
    states: tuple[str, ...]
    basis: Array  # columns: directions reached, or combinations seen; orthonormal
    hidden: tuple[HiddenMode, ...]

    @property
    def rank(self) -> int:
        return int(self.basis.shape[1])

    @property
    def complete(self) -> bool:
        return self.rank == len(self.states)

    @property
    def constant(self) -> tuple[HiddenMode, ...]:
        """Combinations that stay as they are: kept by constraints and symmetries."""
        return tuple(h for h in self.hidden if h.neutral)

    @property
    def moving(self) -> tuple[HiddenMode, ...]:
        """The others."""
        return tuple(h for h in self.hidden if not h.neutral)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        hidden = [
            {"re": h.eigenvalue.real, "im": h.eigenvalue.imag, "neutral": h.neutral, "combination": h.combination}
            for h in self.hidden
        ]
        return {"what": self.word, "names": self.names, "states": self.states, "rank": self.rank, f"not_{self.word}": hidden}

    def __str__(self) -> str:
        by = ", ".join(self.names) or "nothing"
        lines = [f"{self.model}: {self.rank} of {len(self.states)} directions are {self.word} by {by}"]
        lines += [f"  not {self.word}: {hidden}" for hidden in self.hidden]
        return "\n".join(lines)


def controllable(model: str, states: tuple[str, ...], inputs: tuple[str, ...], a: Array, b: Array) -> Structure:
    """What of ż = A z + B u the inputs reach."""
    basis, rest = staircase(a, b)
    return Structure("controllable", model, inputs, states, basis, tuple(_hidden(a, rest, states)))


def observable(model: str, states: tuple[str, ...], outputs: tuple[str, ...], a: Array, c: Array) -> Structure:
    """What of ż = A z the outputs y = C z see. The combinations are directions z that they do not."""
    basis, rest = staircase(a.T, c.T)
    return Structure("observable", model, outputs, states, basis, tuple(_hidden(a.T, rest, states)))


def staircase(a: Array, b: Array) -> tuple[Array, Array]:
    """Orthonormal columns that span what A, B reach, and orthonormal columns w with wᵀz untouched by it."""
    n = len(a)
    size = np.linalg.norm(b, axis=0)
    step, small = b / np.where(size > 0, size, 1.0), RANK
    level = RANK * max(float(np.abs(a).max(initial=0.0)), 1e-300)
    basis = np.zeros((n, 0))
    while step.shape[1] and basis.shape[1] < n:
        left = step - basis @ (basis.T @ step)
        left -= basis @ (basis.T @ left)
        new = decompose(left, 0.0, small).row_combinations.T
        basis = np.hstack([basis, new])
        step, small = a @ new, level
    if basis.shape[1] == n:
        return np.eye(n), np.zeros((n, 0))
    return basis, np.linalg.svd(basis, full_matrices=True)[0][:, basis.shape[1] :] if basis.shape[1] else np.eye(n)


def _hidden(a: Array, rest: Array, states: tuple[str, ...]) -> list[HiddenMode]:
    """Left eigenvectors of A within the span of `rest`, and what only these drive."""
    if not rest.shape[1]:
        return []
    inner = rest.T @ a.T @ rest  # Aᵀ W = W N
    values = np.linalg.eigvals(inner)
    size = max(float(np.abs(a).max(initial=0.0)), 1e-300)
    found: list[HiddenMode] = []
    waiting = [complex(z) for z in values[np.lexsort((values.imag, -values.real))]]
    while waiting:
        first = waiting.pop(0)
        group = [first, *(z for z in waiting if abs(z - first) <= SAME * size)]
        waiting = [z for z in waiting if abs(z - first) > SAME * size]
        center = sum(group) / len(group)
        exact = complex(_clean(center.real, size), _clean(center.imag, size))
        if exact.imag >= 0:
            found += _with_eigenvalue(exact, len(group), inner, rest, states, size)
    return found


def _with_eigenvalue(
    value: complex, count: int, inner: Array, rest: Array, states: tuple[str, ...], size: float
) -> list[HiddenMode]:
    """The combinations that go with one eigenvalue: first those of eigenvectors, then what these drive."""
    shifted = inner - value * np.eye(len(inner)) if value.imag else inner - value.real * np.eye(len(inner))
    own = np.linalg.svd(shifted)
    proper = max(1, int(np.count_nonzero(own[1] <= SAME * size)))
    whole = np.linalg.svd(np.linalg.matrix_power(shifted, count))[2][len(inner) - max(count, proper) :].conj().T
    vectors = own[2][len(inner) - proper :].conj().T
    others = whole - vectors @ (vectors.conj().T @ whole)
    driven = np.linalg.svd(others, full_matrices=False)[0][:, : whole.shape[1] - proper]
    return [
        *(HiddenMode(value, c) for c in _combinations(rest @ vectors, states)),
        *(HiddenMode(value, c, driven=True) for c in _combinations(rest @ driven, states)),
    ]


def _clean(value: float, size: float) -> float:
    return 0.0 if abs(value) <= SAME * size else float(value)


def _combinations(vectors: NDArray[Any], states: tuple[str, ...]) -> list[dict[str, float]]:
    """The span of columns by few states each: reduced to echelon form, the largest entry first."""
    if np.iscomplexobj(vectors):  # a swinging pair: how much of each state takes part
        return [_named(np.abs(column), states) for column in vectors.T]
    rows = np.array(vectors.T)
    done: list[int] = []
    for _ in range(len(rows)):
        free = [i for i in range(len(rows)) if i not in done]
        i, j = np.unravel_index(int(np.argmax(np.abs(rows[free]))), rows[free].shape)
        pivot = free[int(i)]
        rows[pivot] /= rows[pivot, j]
        for k in range(len(rows)):
            if k != pivot:
                rows[k] -= rows[k, j] * rows[pivot]
        done.append(pivot)
    return sorted((_named(row, states) for row in rows), key=lambda reported: states.index(next(iter(reported))))


def _named(row: Array, states: tuple[str, ...]) -> dict[str, float]:
    """Factors by name, the largest first and one; of equal ones that of the earlier state."""
    order = [int(i) for i in np.argsort(-np.round(np.abs(row) / np.abs(row).max(), 9), kind="stable")]
    row = row / row[order[0]]
    return {states[i]: float(row[i]) for i in order if abs(row[i]) > SAME}


def complex_text(z: complex) -> str:
    """A complex number for people.

    >>> complex_text(-0.5 + 2j)
    '-0.5 + 2i'
    """
    if abs(z.imag) < 1e-12 * max(abs(z), 1.0):
        return f"{z.real:.5g}"
    return f"{z.real:.5g} {'+' if z.imag > 0 else '−'} {abs(z.imag):.5g}i"

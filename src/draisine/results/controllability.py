"""Controllability and observability of linear models, in terms of the names of states.

The controllable subspace is built by the staircase algorithm, range B, A B, …, each step decided by singular values. The rest
evolves autonomously: combinations wᵀz of states with d/dt wᵀz = λ wᵀz, which no input changes. With λ = 0 a combination is
constant: an integrated rolling constraint, a symmetry, the speed along a family of steady motions. Observability is the dual
problem, that of (Aᵀ, Cᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.rank import decompose
from draisine.numerics.scaling import unit_scales

Array = NDArray[np.float64]

RANK = 1e-9  # relative to the largest entry: counts as zero
SAME = 1e-6  # relative distance at which eigenvalues count as equal


@dataclass(frozen=True)
class HiddenMode:
    """An uncontrollable (or unobservable) eigenvalue, with its combination of states."""

    eigenvalue: complex
    combination: dict[str, float]  # the largest coefficient is one
    driven: bool = False  # depends on others of this eigenvalue (a Jordan chain), as position on a constant speed

    @property
    def neutral(self) -> bool:
        """Whether the combination is constant, due to a constraint or a symmetry."""
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
    """The controllable or observable subspace of a linear model, and the remaining combinations by name."""

    word: str  # "controllable" or "observable"
    model: str
    names: tuple[str, ...]  # inputs, or outputs
    states: tuple[str, ...]
    basis: Array  # orthonormal basis of the subspace, in columns
    hidden: tuple[HiddenMode, ...]

    @property
    def rank(self) -> int:
        return int(self.basis.shape[1])

    @property
    def complete(self) -> bool:
        return self.rank == len(self.states)

    @property
    def constant(self) -> tuple[HiddenMode, ...]:
        """Constant combinations, due to constraints and symmetries."""
        return tuple(h for h in self.hidden if h.neutral)

    @property
    def moving(self) -> tuple[HiddenMode, ...]:
        """Combinations that are not constant."""
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


def controllable(
    model: str, states: tuple[str, ...], inputs: tuple[str, ...], a: Array, b: Array, exact: bool = False
) -> Structure:
    """The controllable part of ż = A z + B u; `exact` says that no entry is rounding error, however small."""
    return Structure("controllable", model, inputs, states, *_parts(a, b, states, exact))


def observable(
    model: str, states: tuple[str, ...], outputs: tuple[str, ...], a: Array, c: Array, exact: bool = False
) -> Structure:
    """The observable part of ż = A z, y = C z. The combinations are unobservable directions z."""
    return Structure("observable", model, outputs, states, *_parts(a.T, c.T, states, exact))


def _parts(a: Array, b: Array, states: tuple[str, ...], exact: bool) -> tuple[Array, tuple[HiddenMode, ...]]:
    """A basis of the controllable subspace, and the other combinations.

    Units of states must not hide a direction: where all entries are exact, those that are reached in scaled states count. Scales
    of entries that are rounding error mean nothing.
    """
    basis, rest = staircase(a, b)
    if not exact:
        return basis, tuple(_hidden(a, rest, states, np.ones(len(a))))
    scale, _ = unit_scales(a, b)
    scaled = a * scale / scale[:, None]
    inner, outer = staircase(scaled, b / scale[:, None])
    if inner.shape[1] <= basis.shape[1]:
        inner, outer, scaled, scale = basis, rest, a, np.ones(len(a))
    elif outer.shape[1]:
        basis = np.linalg.qr(inner * scale[:, None])[0]
    else:
        basis = np.eye(len(a))
    return basis, tuple(_hidden(scaled, outer, states, scale))


def staircase(a: Array, b: Array) -> tuple[Array, Array]:
    """Orthonormal bases of the controllable subspace of (A, B) and of its complement, in columns."""
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


def _hidden(a: Array, rest: Array, states: tuple[str, ...], scale: Array) -> list[HiddenMode]:
    """Left (generalized) eigenvectors of A within the span of `rest`; the states are in units of `scale`."""
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
        mean = sum(group) / len(group)
        exact = complex(_clean(mean.real, size), _clean(mean.imag, size))
        if exact.imag >= 0:
            found += _with_eigenvalue(exact, len(group), inner, rest / scale[:, None], states, size)
    return found


def _with_eigenvalue(
    value: complex, count: int, inner: Array, rest: Array, states: tuple[str, ...], size: float
) -> list[HiddenMode]:
    """The combinations of one eigenvalue: eigenvectors first, then generalized eigenvectors."""
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
    """A basis of the span of columns with few states each: reduced echelon form with pivoting."""
    if np.iscomplexobj(vectors):  # a complex pair: amplitudes of the states
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
    return sorted((_named(row, states) for row in rows), key=lambda row: states.index(next(iter(row))))


def _named(row: Array, states: tuple[str, ...]) -> dict[str, float]:
    """Coefficients by name, the largest first and scaled to one; ties by the order of states."""
    order = [int(i) for i in np.argsort(-np.round(np.abs(row) / np.abs(row).max(), 9), kind="stable")]
    row = row / row[order[0]]
    return {states[i]: float(row[i]) for i in order if abs(row[i]) > SAME}


def complex_text(z: complex) -> str:
    """A complex number as text.

    >>> complex_text(-0.5 + 2j)
    '-0.5 + 2i'
    """
    if abs(z.imag) < 1e-12 * max(abs(z), 1.0):
        return f"{z.real:.5g}"
    return f"{z.real:.5g} {'+' if z.imag > 0 else '−'} {abs(z.imag):.5g}i"

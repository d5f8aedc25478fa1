"""Reactions along a motion, by an iteration that begins each sample where the last one ended (Sanjuan & Jarzębowska, section VI).

The accelerations drop out of M v̇ = F + Aᵀλ, A v̇ = b, which leaves the equations of the reactions alone (their eq. 38):

    A M⁻¹ Aᵀ λ = b − A M⁻¹ F

Their matrix is symmetric and positive, so conjugate gradients apply. Reactions are continuous, and so is the matrix: a sample is
started from the reactions of the samples before it, carried on as a polynomial, and preconditioned by the matrix of an earlier
sample, which is factorized anew only when the iterations grow. Where a coordinate has no mass, M is replaced by M + γ AᵀA and F
by F + γ Aᵀb, which changes neither v̇ nor λ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.jit.kernel import compile
from draisine.errors import ArgumentError, SolverError
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.simulation.named_values import numbers

Reals = NDArray[np.float64]
Map = Callable[[Reals], Reals]

_WORN = 4  # iterations after which the preconditioner is made anew
_CARRIED = ((), (1.0,), (2.0, -1.0), (3.0, -3.0, 1.0), (4.0, -6.0, 4.0, -1.0))  # weights of the last samples, latest first


@dataclass(frozen=True)
class ConjugateGradients:
    """Iterate until the residual is this small beside the right side; `warm` keeps what the samples before have found."""

    tolerance: float = 1e-13
    warm: bool = True
    most: int = 10_000

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ArgumentError(f"ConjugateGradients: tolerance must lie between 0 and 1, got {self.tolerance!r}")


@dataclass(frozen=True, eq=False)
class Reactions:
    """Multipliers (samples × constraints) by the names of the equations, and the iterations that each sample took."""

    names: tuple[str, ...]
    values: Reals
    iterations: NDArray[np.int64]

    def __getitem__(self, name: str) -> Reals:
        return self.values[:, self.names.index(name)]


def reactions(
    equations: Equations,
    times: ArrayLike,
    states: ArrayLike,
    *,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    parameters: Mapping[str, float] | ArrayLike | None = None,
    method: ConjugateGradients | None = None,
) -> Reactions:
    """Reactions at states (samples × states) along a motion, of equations whose reactions are solved for at run time.

    `inputs` are constant, or (samples × inputs).
    """
    system = _Reactions(equations)
    u = np.asarray(inputs, dtype=float) if np.ndim(inputs) == 2 else numbers("input", equations.inputs, inputs)  # type: ignore[arg-type]
    p = numbers("parameter", equations.parameters, parameters)
    entries, sides = compile(system.solved.system).map(np.reshape(times, (-1, 1)), np.asarray(states, dtype=float), u, p)
    found, counts = _along(system, entries, sides, method or ConjugateGradients())
    return Reactions(tuple(m.name for m in equations.multipliers), found, counts)


class _Reactions:
    """How the augmented matrix is made of masses and rows."""

    def __init__(self, equations: Equations) -> None:
        solved, self.n, self.m = equations.dynamics, len(equations.velocities), len(equations.multipliers)
        if not isinstance(solved, LinearSolveProgram) or solved.size != self.n + self.m or not self.m:
            raise ArgumentError(
                f"{equations.name}: its reactions are not solved for together with accelerations; read them from its report"
            )
        self.solved = solved
        self._rows, self._columns = (
            np.array(a, dtype=np.int64) for a in (solved.entry_pattern.rows, solved.entry_pattern.columns)
        )

    def at(self, entries: Reals, side: Reals) -> tuple[Map, Any, Reals]:
        """The matrix as a map, a way to write it out, and the right side."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        n, m = self.n, self.m
        whole = csc_array((entries, (self._rows, self._columns)), shape=(n + m, n + m))
        mass, rows = whole[:n, :n], whole[n:, :n]
        gram = csc_array(rows.T @ rows)
        weight = abs(mass).max() / max(abs(gram).max(), 1e-300)
        factors = splu(csc_array(mass + weight * gram))
        force = side[:n] + weight * (rows.T @ side[n:])

        def matrix(vectors: Reals) -> Reals:
            return np.asarray(rows @ factors.solve(rows.T @ vectors))

        return matrix, lambda: matrix(np.eye(m)), side[n:] - rows @ factors.solve(force)


def _along(system: _Reactions, entries: Reals, sides: Reals, method: ConjugateGradients) -> tuple[Reals, NDArray[np.int64]]:
    from scipy.linalg import cho_factor, cho_solve

    found = np.zeros((len(entries), system.m))
    counts = np.zeros(len(entries), dtype=np.int64)
    earlier: Any = None  # factors of the matrix at an earlier sample

    def prepared(residual: Reals) -> Reals:
        return residual if earlier is None else np.asarray(cho_solve(earlier, residual))

    for k in range(len(entries)):
        matrix, written, side = system.at(entries[k], sides[k])
        begin = np.zeros(system.m)
        if method.warm:
            if earlier is None or counts[k - 1] > _WORN:
                earlier = cho_factor(written())
            for j, weight in enumerate(_CARRIED[min(k, len(_CARRIED) - 1)]):
                begin += weight * found[k - 1 - j]
        found[k], counts[k] = conjugate_gradients(matrix, side, begin, prepared, method)
    return found, counts


def conjugate_gradients(matrix: Map, side: Reals, x: Reals, prepared: Map, method: ConjugateGradients) -> tuple[Reals, int]:
    """matrix · x = side from a first guess; `prepared` applies the preconditioner. The solution and the iterations."""
    enough = method.tolerance * float(np.linalg.norm(side))
    residual = side - matrix(x)
    direction = ahead = prepared(residual)
    size = float(residual @ ahead)
    for count in range(method.most):
        if not np.linalg.norm(residual) > enough:
            return x, count
        turned = matrix(direction)
        bend = float(direction @ turned)
        if not bend > 0.0:
            break
        length = size / bend
        x = x + length * direction
        residual = residual - length * turned
        ahead = prepared(residual)
        size, before = float(residual @ ahead), size
        direction = ahead + (size / before) * direction
    raise SolverError(
        f"conjugate gradients did not reach {method.tolerance:g} in {count + 1} iterations: the constraints are close to "
        "dependent on each other; solve directly"
    )

"""Constraint reactions along a motion by warm-started conjugate gradients (Sanjuan & Jarzębowska, section VI).

Elimination of the accelerations from M v̇ = F + Aᵀλ, A v̇ = b leaves the equations of the reactions (their eq. 38):

    A M⁻¹ Aᵀ λ = b − A M⁻¹ F

The matrix is symmetric positive definite, so conjugate gradients apply. Reactions and matrix are continuous: the iteration of a
sample starts from a polynomial extrapolation of the samples before it and is preconditioned by the matrix of an earlier sample,
which is refactorized only when the number of iterations grows. Where a coordinate has no mass, M is replaced by M + γ AᵀA and F
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
from draisine.program.arguments import numbers, refuse_unilateral
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram

Reals = NDArray[np.float64]
Map = Callable[[Reals], Reals]

_REFACTORIZE = 4  # iterations after which the preconditioner is recomputed
_EXTRAPOLATION = ((), (1.0,), (2.0, -1.0), (3.0, -3.0, 1.0), (4.0, -6.0, 4.0, -1.0))  # weights of the last samples, latest first


@dataclass(frozen=True)
class ConjugateGradients:
    """Iterate until the residual relative to the right-hand side is below `tolerance`; `warm` starts from the samples before."""

    tolerance: float = 1e-13
    warm: bool = True
    most: int = 10_000

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ArgumentError(f"ConjugateGradients: tolerance must lie between 0 and 1, got {self.tolerance!r}")


@dataclass(frozen=True, eq=False)
class Reactions:
    """Multipliers (samples × constraints) by name, and the number of iterations of each sample."""

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
    """Reactions at states (samples × states) along a motion, for equations whose reactions are solved for at run time.

    `inputs` are constant, or (samples × inputs).
    """
    refuse_unilateral("reactions", equations)
    system = _Reactions(equations)
    u = np.asarray(inputs, dtype=float) if np.ndim(inputs) == 2 else numbers("input", equations.inputs, inputs)  # type: ignore[arg-type]
    p = numbers("parameter", equations.parameters, parameters, equations.dependent_parameters)
    entries, sides = compile(system.solved.system).map(np.reshape(times, (-1, 1)), np.asarray(states, dtype=float), u, p)
    found, counts = _along(system, entries, sides, method or ConjugateGradients())
    return Reactions(tuple(m.name for m in equations.multipliers), found, counts)


class _Reactions:
    """Mass matrix and constraint rows of the augmented matrix."""

    def __init__(self, equations: Equations) -> None:
        solved, self.n, self.m = equations.dynamics, len(equations.velocities), len(equations.multipliers)
        if not isinstance(solved, LinearSolveProgram) or solved.size != self.n + self.m or not self.m:
            raise ArgumentError(
                f"{equations.name}: its reactions are not solved for together with the accelerations; read them from its report"
            )
        self.solved = solved
        self._rows, self._columns = (
            np.array(a, dtype=np.int64) for a in (solved.entry_pattern.rows, solved.entry_pattern.columns)
        )

    def at(self, entries: Reals, side: Reals) -> tuple[Map, Any, Reals]:
        """The matrix as a linear map, a function that assembles it, and the right-hand side."""
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

    def preconditioned(residual: Reals) -> Reals:
        return residual if earlier is None else np.asarray(cho_solve(earlier, residual))

    for k in range(len(entries)):
        matrix, assembled, side = system.at(entries[k], sides[k])
        begin = np.zeros(system.m)
        if method.warm:
            if earlier is None or counts[k - 1] > _REFACTORIZE:
                earlier = cho_factor(assembled())
            for j, weight in enumerate(_EXTRAPOLATION[min(k, len(_EXTRAPOLATION) - 1)]):
                begin += weight * found[k - 1 - j]
        found[k], counts[k] = conjugate_gradients(matrix, side, begin, preconditioned, method)
    return found, counts


def conjugate_gradients(matrix: Map, side: Reals, x: Reals, preconditioned: Map, method: ConjugateGradients) -> tuple[Reals, int]:
    """Solve matrix · x = side from an initial guess, with a preconditioner; the solution and the number of iterations."""
    enough = method.tolerance * float(np.linalg.norm(side))
    residual = side - matrix(x)
    direction = conditioned = preconditioned(residual)
    size = float(residual @ conditioned)
    for count in range(method.most):
        if not np.linalg.norm(residual) > enough:
            return x, count
        product = matrix(direction)
        curvature = float(direction @ product)
        if not curvature > 0.0:
            break
        length = size / curvature
        x = x + length * direction
        residual = residual - length * product
        conditioned = preconditioned(residual)
        size, before = float(residual @ conditioned), size
        direction = conditioned + (size / before) * direction
    raise SolverError(
        f"conjugate gradients did not reach {method.tolerance:g} in {count + 1} iterations: the constraints are nearly "
        "dependent; solve directly"
    )

"""The numbers of an implicit Runge–Kutta method on 0 = F(t, x, ẋ), in one form for all.

The unknowns of a step are the increments of its stages, Z_i = X_i − x at t + c_i h.

*Coupled* methods (collocation) solve all stages at once,

    0 = F(t + c_i h, x + Z_i, (A⁻¹Z)_i / h).

With A⁻¹ = R Λ L (right and left eigenvectors, LR = 1) a simplified Newton step falls apart into one linear system per
eigenvalue λ, real for a real one and complex for each pair, with the matrix λ/h ∂F/∂ẋ + ∂F/∂x: Hairer & Wanner, Solving Ordinary
Differential Equations II, section IV.8.

*Diagonal* methods solve one stage after the other, all with the same matrix; their first stage is the known rate at t.

Error estimate: a formula of lower order that also uses the rate at t, filtered by the matrix μ/h ∂F/∂ẋ + ∂F/∂x so that stiff
components count for what they do. Interpolants are those of `scheme`, linear in the increments and in h times the rates
at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.simulation.methods.tableau import Array, protect

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class ImplicitScheme:
    """Weights of one implicit method; s is the number of stages that are solved for."""

    order: int
    power: int  # the error estimate falls like h^power
    coupled: bool
    nodes: Array  # (s)
    weights: Array  # coupled: A⁻¹ (s, s); diagonal: a_ij (s, s + 1), the known rate first
    update: Array  # (s): x_new = x + Σ update Z
    end_rate: Array  # (s): rate at the end = Σ end_rate Z / h
    filter: float  # μ
    # coupled: the residual at t is taken with the rate Σ estimate Z / h; diagonal: the error is h Σ estimate k (s + 1)
    estimate: Array
    dense: Array  # (terms, s + 2): on Z, h · rate at the start, h · rate at the end
    rough: Array  # (terms, s + 2): the same where the rate at the start does not belong to a smooth solution
    mismatch: Array  # (s + 2): on the same, the two interpolants' largest difference
    evaluates_end: bool  # the rate at the end is better evaluated, where the equations are explicit
    real: Array  # (0 or 1, 1 + 2 s): λ, its left and its right eigenvector
    pairs: Complex  # (pairs, 1 + 2 s): the same for one of each pair

    history = 1

    def __post_init__(self) -> None:
        protect(self)

    @property
    def solved(self) -> int:
        """Number of stages that are solved for."""
        return len(self.nodes)

    @property
    def stages(self) -> int:
        """The row of rates at the new point."""
        return self.solved + 1

    @property
    def rows(self) -> int:
        return self.stages + 1


def polynomial(conditions: list[tuple[float, bool, Array]], terms: int) -> Array:
    """Coefficients (terms, columns) of the nested interpolant by conditions: (θ, whether on the derivative, row of data)."""
    basis = nested_basis(len(conditions))
    left = np.array([[np.polyval(np.polyder(p) if slope else p, theta) for p in basis] for theta, slope, _ in conditions])
    right = np.array([data for _, _, data in conditions])
    coefficients = np.zeros((terms, right.shape[1]))
    coefficients[: len(conditions)] = np.linalg.solve(left, right)
    return coefficients


def largest_difference(dense: Array, rough: Array) -> Array:
    """The difference of two interpolants where it is largest, as weights on their data. Both have the same ends.

    Filtered error estimates say nothing about what follows its equation at once, an algebraic unknown or a stiff one: it is right
    at the end of any step. Between the ends of too long a step it is not, and there the two interpolants part.
    """
    theta = np.linspace(0.0, 1.0, 201)
    basis = np.array([np.polyval(p, theta) for p in nested_basis(len(dense))])
    # of what is between them, the rate at the start makes all the difference
    gap = (dense - rough)[:, -2] @ basis
    place = int(np.argmax(np.abs(gap)))
    return np.asarray(basis[:, place] @ (dense - rough))


def nested_basis(terms: int) -> list[Array]:
    """θ, θ(1−θ), θ²(1−θ), θ²(1−θ)², … as polynomials."""
    made, last = [], np.array([1.0])
    for term in range(terms):
        last = np.polymul(last, [1.0, 0.0] if term % 2 == 0 else [-1.0, 1.0])
        made.append(last)
    return made

"""Descriptor systems: linear models E δẋ = A δx + B δu of implicit equations 0 = F(t, x, ẋ, u).

A mechanism with its multipliers is such a system (`posed`). With x = (d, a), d the unknowns whose rates enter and a the algebraic
ones, deviations obey

    [∂F/∂ḋ  ∂F/∂a] (δḋ, δa) = −∂F/∂d δd − ∂F/∂u δu,

which at index 1 is solved for both: Π⁻¹ of Delebecque & Nikoukhah (1992), eqs. 24–25, whose X are its first rows. The other
rows give the constraint forces. All directions are kept, including those that violate the constraints; within the constraints
these are the deviations of `linearize`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.as_dae import as_dae
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.newton import LeastNorm, Newton
from draisine.program.arguments import checked, numbers
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.results.base import Result, figure
from draisine.results.controllability import complex_text
from draisine.results.linear import LinearModel
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.stability.explicit_time import CHANGED, ROUNDED, sample_instants, time_matters
from draisine.stability.linearization import real_values

Array = NDArray[np.float64]

REGULAR = 1e-11  # least singular value of Π, relative to the largest
FINITE = 1e-9  # eigenvalues are α/β; they are infinite where β is smaller than this, relative to α


@dataclass(frozen=True, eq=False)
class Descriptor(Result):
    """E δẋ = A δx + B δu about a motion, in named unknowns; `differential` marks those whose rates enter."""

    model: str
    unknowns: tuple[str, ...]
    inputs: tuple[str, ...]
    differential: tuple[bool, ...]
    E: Array = field(repr=False)
    A: Array = field(repr=False)
    B: Array = field(repr=False)
    at: dict[str, float] = field(repr=False)

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """The finite eigenvalues of λ E − A, sorted by real part."""
        from scipy.linalg import eig

        alpha, beta = eig(self.A, self.E, right=False, homogeneous_eigvals=True)
        finite = np.abs(beta) > FINITE * np.abs(alpha)
        values = (alpha[finite] / beta[finite]).astype(complex)
        return np.asarray(values[np.lexsort((values.imag, values.real))])

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table."""
        return {"eigenvalue": "1/s"}

    def _table(self) -> Mapping[str, Any]:
        return {"eigenvalue": self.eigenvalues}

    def plot(self, **options: Any) -> Any:
        """Finite eigenvalues in the complex plane; see `draisine.view.plots.eigenvalues`."""
        return figure("plots.eigenvalues.eigenvalue_plane", self.eigenvalues, **options)

    def __str__(self) -> str:
        found = ", ".join(complex_text(z) for z in self.eigenvalues)
        return f"{self.model}: E δẋ = A δx + B δu of {len(self.unknowns)} unknowns; finite eigenvalues {found or 'none'}"

    def regular(self) -> LinearModel:
        """The system solved for the rates: its states are the differential unknowns, its outputs the algebraic ones."""
        moving = np.array(self.differential, dtype=bool)
        matrix = np.hstack([self.E[:, moving], -self.A[:, ~moving]])
        left, sizes, right = np.linalg.svd(matrix)
        if not sizes[-1] > REGULAR * sizes[0]:
            both = [(d, n) for d, n in zip(self.differential, self.unknowns, strict=True)]
            names = [f"d{n}/dt" for d, n in both if d] + [n for d, n in both if not d]
            order = np.argsort(-np.abs(right[-1]))[:3]
            raise ModelError(
                f"{self.model}: its equations do not determine {', '.join(names[i] for i in order)}: the index is above "
                "one at this state. Formulate it at index 1 (as_dae(model, index=1)), or reduce the index (reduce_index)"
            )
        solution = (right.T / sizes) @ left.T @ np.hstack([self.A[:, moving], self.B])
        k = int(moving.sum())
        states, forces = (
            tuple(n for n, d in zip(self.unknowns, self.differential, strict=True) if d is wanted) for wanted in (True, False)
        )
        parts = solution[:k, :k], solution[:k, k:], solution[k:, :k], solution[k:, k:]
        return LinearModel(self.model, states, self.inputs, forces, *parts, at=self.at)


@checked
def descriptor(
    model: Model | System | Equations,
    at: Mapping[str, float] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> Descriptor:
    """The exact linear model of a system in the form 0 = F(t, x, ẋ, u), about the motion with the targets `at`.

    - `parameters`, `inputs`: values by name, as in `simulate`; the others have their defaults.

    Implicit equations are used as they are; mechanisms are formulated with their multipliers at index 1.

    >>> import draisine as dr
    >>> swing = descriptor(dr.gallery.simple_pendulum(), {"x1": 0.0, "z1": -1.0})
    >>> swing.regular().outputs
    ('rod1_multiplier',)
    """
    equations = model if isinstance(model, Equations) and isinstance(model.dynamics, DaeResidual) else as_dae(model, index=1)
    dynamics = equations.dynamics
    assert isinstance(dynamics, DaeResidual)
    at, parameters, inputs = (
        real_values(equations, kind, given) for kind, given in (("target", at), ("parameter", parameters), ("input", inputs))
    )
    u, p = (
        numbers("input", equations.inputs, inputs),
        numbers("parameter", equations.parameters, parameters, equations.dependent_parameters),
    )
    x = consistent_start(equations, dict(at or {}), parameters=parameters, inputs=dict(inputs or {})).x[: dynamics.size].copy()
    x, rates = _consistent_rates(dynamics, x, u, p)
    jacobians = _jacobians(dynamics)
    e, a, b = jacobians(0.0, x, rates, u, p)
    instants = sample_instants(equations, u, p)
    _refuse_time(equations, instants, [jacobians(t, x, rates, u, p) for t in instants])
    names = tuple(q.name for q in equations.coordinates)
    return Descriptor(
        equations.name,
        names,
        tuple(i.name for i in equations.inputs),
        dynamics.differential,
        -np.asarray(e.full()),
        np.asarray(a.full()),
        np.asarray(b.full()),
        dict(zip(names, x.tolist(), strict=True)),
    )


def _refuse_time(equations: Equations, instants: Array, matrices: list[Any]) -> None:
    """Refuse matrices that change with time."""
    for series in zip(*matrices, strict=True):
        values = np.array([matrix.full() for matrix in series])
        size = max(float(np.abs(values[0]).max(initial=0.0)), 1.0)
        if not (np.abs(values - values[0]).max(axis=(1, 2), initial=0.0) <= size * (CHANGED + ROUNDED * np.abs(instants))).all():
            raise time_matters(equations, "a linear model", ())


def _jacobians(dynamics: DaeResidual) -> ca.Function:
    """(t, x, ẋ, u, p) → ∂F/∂ẋ, ∂F/∂x, ∂F/∂u."""
    symbols = dynamics.residual.symbols()
    (residual,) = dynamics.residual.function.call(symbols)
    return ca.Function("jacobian", symbols, [ca.densify(ca.jacobian(residual, symbols[k])) for k in (2, 1, 3)])


def _consistent_rates(dynamics: DaeResidual, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
    """Algebraic unknowns and rates at a state, by least-norm Newton steps; F is linear in them for a mechanism."""
    jacobians, moving = _jacobians(dynamics), np.array(dynamics.differential, dtype=bool)
    count = int(moving.sum())

    def parts(y: Array) -> tuple[Array, Array]:
        found, rates = x.copy(), np.zeros(len(x))
        rates[moving], found[~moving] = y[:count], y[count:]
        return found, rates

    def evaluate(y: Array) -> tuple[Array, Array]:
        point = (*parts(y), u, p)
        e, a, _ = jacobians(0.0, *point)
        return dynamics([0.0], *point), np.hstack([e.full()[:, moving], a.full()[:, ~moving]])

    start = np.concatenate([np.zeros(count), x[~moving]])
    found = Newton(step_tolerance=1e-13, max_iterations=20).solve(evaluate, start, LeastNorm(REGULAR))
    x, rates = parts(found.point.x)
    if not found.residual <= 1e-7 * max(1.0, float(np.abs(x).max())):
        raise ModelError(
            f"{dynamics.name}: no rates are consistent with this state: the index is above one. Formulate it at "
            "index 1 (as_dae(model, index=1)), or reduce the index (reduce_index)"
        )
    return x, rates

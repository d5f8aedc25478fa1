"""Controllable and uncontrollable directions of the linear model at a state (Kalman)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.diagnostics.lie_brackets import echelon, terms
from draisine.numerics.spectrum import Spectrum, entry_errors
from draisine.results.controllability import staircase
from draisine.results.linear import LinearModel


@dataclass(frozen=True)
class Reach:
    """Controllability to first order.

    - `controllable` of `states` directions; `unreached`: uncontrollable combinations of states, name → coefficient, and their
      `eigenvalues`, whose parts that are rounding error are zero.
    - `steady`: whether the state is a steady motion or at rest; otherwise the result holds for an instant only.
    """

    inputs: tuple[str, ...]
    controllable: int
    states: int
    unreached: tuple[dict[str, float], ...]
    eigenvalues: tuple[complex, ...]
    steady: bool

    @property
    def stabilizable(self) -> bool:
        """Whether the uncontrollable part is stable."""
        return all(z.real <= 0.0 for z in self.eigenvalues)


def reach(linear: LinearModel, steady: bool = True) -> Reach:
    """Controllable and uncontrollable directions of a linear model.

    >>> a, b = np.array([[0.0, 1.0], [-4.0, 0.0]]), np.array([[0.0], [1.0]])
    >>> twin = LinearModel("twins", ("a", "a_rate", "b", "b_rate"), ("push",), (), np.kron(np.eye(2), a), np.vstack([b, b]),
    ...                    np.zeros((0, 4)), np.zeros((0, 1)))
    >>> found = reach(twin)
    >>> found.controllable, found.unreached
    (2, ({'a': 1.0, 'b': -1.0}, {'a_rate': 1.0, 'b_rate': -1.0}))
    """
    n = len(linear.states)
    basis, left = staircase(linear.A, linear.B)
    directions = tuple(terms(row, linear.states) for row in echelon(left.T))
    errors = np.abs(left).T @ entry_errors(linear.A[None], None)[0][0] @ np.abs(left)  # sums may cancel
    values = Spectrum.of((left.T @ linear.A @ left)[None], errors).cleaned[0]
    ordered = sorted((complex(z) for z in values), key=lambda z: (z.real, z.imag))
    return Reach(linear.inputs, basis.shape[1], n, directions, tuple(ordered), steady)

"""Stabilization of constraints against drift, by name; each a small frozen object.

Constraints differentiated twice hold at acceleration level only: in the integrated motion velocity errors grow like t and
position errors like t². `simulate(…, drift=…)` takes one of these objects to control that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from draisine.dynamics.formulations import Augmented, Recursive, Reduced
from draisine.errors import ArgumentError
from draisine.numerics.number_range import with_number_range

TIME_CONSTANT = 0.1  # s; decay time of constraint errors where no step size is known
STEPS = 4.0  # decay time in steps: shorter would be stiff for the integrator, longer would let errors grow

__all__ = [
    "GGL",
    "Baumgarte",
    "Drift",
    "InvariantStabilization",
    "Minimal",
    "NoControl",
    "Projection",
    "Rattle",
    "Symplectic",
    "VelocityProjection",
]


@with_number_range
@dataclass(frozen=True)
class Baumgarte:
    """Feedback on constraint errors: f̈ + 2α ḟ + β f = 0 for holonomic, ġ + γ g = 0 for nonholonomic ones (eqs 11 and 12).

    Omitted gains are scaled to the step h of the run: α = 1/(4 h), β = α² (critically damped), γ = α; without a run, to a
    time constant of 0.1 s. Invariants of the kinematics (norms of quaternions, heights of rolling wheels) are corrected along
    their gradients at the rate γ.

    >>> Baumgarte().scaled(0.01)
    Baumgarte(alpha=25.0, beta=625.0, gamma=25.0)
    """

    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ArgumentError(f"Baumgarte: {name} must be positive for errors to decay, got {value!r}")

    def scaled(self, step: float | None = None) -> Baumgarte:
        """With all gains set; those scaled to the step are rounded to two digits."""
        rate = 1 / TIME_CONSTANT if step is None else float(f"{1 / (STEPS * step):.1e}")
        alpha = self.alpha if self.alpha is not None else rate if self.beta is None else math.sqrt(self.beta)
        beta = self.beta if self.beta is not None else alpha**2
        return Baumgarte(alpha, beta, self.gamma if self.gamma is not None else alpha)

    @property
    def numbers(self) -> tuple[float, float, float]:
        """α, β, γ."""
        found = self.scaled()
        assert found.alpha is not None and found.beta is not None and found.gamma is not None  # `scaled` sets all of them
        return found.alpha, found.beta, found.gamma


@dataclass(frozen=True)
class NoControl:
    """No drift control: accelerations satisfy the constraints, velocities and positions drift. For comparison."""


@with_number_range
@dataclass(frozen=True)
class Projection:
    """After a step the state is projected onto the constraints by the least change: coordinates and, optionally, velocities.

    - `limit`: residual above which the state is projected; by default a tenth of the method's tolerance, 1e-11 for fixed steps.
    - `invariants`: names of outputs, "energy", or expressions of states, outputs and parameters, which are kept at their initial
      values in the same way (Thomsen 2005, 4.3.3; E. Eich, SIAM J. Numer. Anal. 30 (1993) 1467–1482, for the constraints).
    """

    velocities: bool = True
    limit: float | None = None
    invariants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_limit("Projection", self.limit)
        object.__setattr__(self, "invariants", _texts("Projection", self.invariants))


@with_number_range
@dataclass(frozen=True)
class VelocityProjection:
    """After a step the velocities are projected onto their constraints by the least change. Positions still drift, but only by
    the error of the steps."""

    limit: float | None = None

    def __post_init__(self) -> None:
        _check_limit("VelocityProjection", self.limit)


@with_number_range
@dataclass(frozen=True)
class InvariantStabilization:
    """After a step x ← x − γ F(x) (I(x) − I₀) once, with F = Eᵀ(E Eᵀ)⁻¹ and E = ∂I/∂x (Thomsen 2005, 4.3.3). With γ = 1 it is one
    Newton step of the projection. Constraints are projected in the same step."""

    invariants: tuple[str, ...] = ("energy",)
    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "invariants", _texts("InvariantStabilization", self.invariants))
        if not self.invariants:
            raise ArgumentError("InvariantStabilization: name at least one invariant, e.g. invariants=('energy',)")
        if not 0 < self.gamma < 2:
            raise ArgumentError(f"InvariantStabilization: errors decrease for gamma between 0 and 2 only, got {self.gamma!r}")


@with_number_range
@dataclass(frozen=True)
class Minimal:
    """Minimal coordinates: as many as degrees of freedom are integrated; the others are found by Newton's method at every
    evaluation, and velocities by the derivative of the constraints (Thomsen 2005, 5.7). A run changes the choice where it becomes
    ill-conditioned."""

    iterations: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.iterations <= 10:
            raise ArgumentError(f"Minimal: 1 to 10 iterations of Newton's method at an evaluation, got {self.iterations!r}")


@dataclass(frozen=True)
class GGL:
    """The stabilized index-2 form of C. W. Gear, B. Leimkuhler and G. K. Gupta (J. Comput. Appl. Math. 12 (1985) 77–90):
    position and velocity constraints are both imposed, with additional multipliers that are zero along solutions. For
    implicit methods."""


@with_number_range
@dataclass(frozen=True)
class Rattle:
    """H. C. Andersen's RATTLE (J. Comput. Phys. 52 (1983) 24–34) for any mass matrix (L. Jay, SIAM J. Numer. Anal. 33 (1996)
    368–387): symplectic, symmetric, of order 2, with fixed steps. Positions and velocities satisfy their constraints to
    rounding, and the energy of conservative mechanisms does not drift. For holonomic constraints; an integration method."""

    step: float

    def __post_init__(self) -> None:
        _check_step("Rattle", self.step)


@with_number_range
@dataclass(frozen=True)
class Symplectic:
    """Gauss–Legendre in coordinates and momenta: symplectic, of order 2 (the implicit midpoint rule), 4 or 6, with fixed steps.
    For conservative mechanisms without constraints; an integration method."""

    step: float
    order: int = 4

    def __post_init__(self) -> None:
        _check_step("Symplectic", self.step)
        if self.order not in (2, 4, 6):
            raise ArgumentError(f"Symplectic: Gauss–Legendre methods of order 2, 4 and 6 are available, not {self.order!r}")


Drift = (
    NoControl
    | Baumgarte
    | Projection
    | VelocityProjection
    | InvariantStabilization
    | Minimal
    | Reduced
    | Recursive
    | Augmented
    | GGL
    | Rattle
    | Symplectic
)


def _check_limit(owner: str, limit: float | None) -> None:
    if limit is not None and not limit > 0:
        raise ArgumentError(f"{owner}: limit is the residual above which a state is projected, a positive number; got {limit!r}")


def _check_step(owner: str, step: float) -> None:
    if not 0 < step < float("inf"):
        raise ArgumentError(f"{owner}: step must be a positive number of seconds, got {step!r}")


def _texts(owner: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; a single name may be given as a string."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) and name for name in names):
        raise ArgumentError(f"{owner}: invariants are given by name, got {given!r}")
    return names

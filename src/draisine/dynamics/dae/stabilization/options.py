"""The kinds of drift control, each a small frozen object.

Constraints differentiated twice hold their accelerations alone: of a mechanism integrated so, errors of velocity grow like t and
errors of position like t². What to do about it is said by one of these names in `simulate(…, drift=…)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draisine.dynamics.options import Augmented, Baumgarte, Recursive, Reduced
from draisine.errors import ArgumentError


@dataclass(frozen=True)
class NoControl:
    """Nothing is done: accelerations obey the constraints, velocities and positions drift. To compare with."""


@dataclass(frozen=True)
class Projection:
    """After a step the state is moved onto the constraints, as little as possible: coordinates, and velocities if wanted.

    - `limit`: residuals below it are left alone; by default a tenth of the method's tolerance, 1e-11 for fixed steps.
    - `invariants`: names of outputs, "energy", or expressions of states, outputs and parameters, which are held at their values
      at the start in the same way (Thomsen 2005, 4.3.3; E. Eich, SIAM J. Numer. Anal. 30 (1993) 1467–1482, for the constraints).
    """

    velocities: bool = True
    limit: float | None = None
    invariants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_limit("Projection", self.limit)
        object.__setattr__(self, "invariants", _texts("Projection", self.invariants))


@dataclass(frozen=True)
class VelocityProjection:
    """After a step the velocities are moved onto their constraints, as little as possible. Positions still drift, but only by
    what the steps themselves err."""

    limit: float | None = None

    def __post_init__(self) -> None:
        _check_limit("VelocityProjection", self.limit)


@dataclass(frozen=True)
class InvariantStabilization:
    """After a step x ← x − γ F(x) (I(x) − I₀) once, with F = Eᵀ(E Eᵀ)⁻¹ and E = ∂I/∂x (Thomsen 2005, 4.3.3). With γ = 1 it is one
    Newton step of the projection. Constraints, where there are any, are projected in the same step."""

    invariants: tuple[str, ...] = ("energy",)
    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "invariants", _texts("InvariantStabilization", self.invariants))
        if not self.invariants:
            raise ArgumentError("InvariantStabilization: name what stays as it is, e.g. invariants=('energy',)")
        if not 0 < self.gamma < 2:
            raise ArgumentError(f"InvariantStabilization: errors shrink for gamma between 0 and 2 only, got {self.gamma!r}")


@dataclass(frozen=True)
class Minimal:
    """As many coordinates as freedoms are integrated; the others are found by Newton's method at every evaluation, and
    velocities by the derivative of the constraints (Thomsen 2005, 5.7). When the choice becomes poor the run takes another."""

    iterations: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.iterations <= 10:
            raise ArgumentError(f"Minimal: 1 to 10 iterations of Newton's method at an evaluation, got {self.iterations!r}")


@dataclass(frozen=True)
class GGL:
    """The stabilized index-2 form of C. W. Gear, B. Leimkuhler and G. K. Gupta (J. Comput. Appl. Math. 12 (1985) 77–90):
    positions and velocities obey their constraints, and corrections that vanish along solutions make room for both. For
    implicit methods."""


@dataclass(frozen=True)
class Rattle:
    """H. C. Andersen's RATTLE (J. Comput. Phys. 52 (1983) 24–34) for any mass matrix (L. Jay, SIAM J. Numer. Anal. 33 (1996)
    368–387): symplectic, symmetric, of order 2, with fixed steps. Positions and velocities obey their constraints to rounding,
    and the energy of conservative mechanisms does not drift. For holonomic constraints; a method of its own."""

    step: float

    def __post_init__(self) -> None:
        _check_step("Rattle", self.step)


@dataclass(frozen=True)
class Symplectic:
    """Gauss–Legendre in coordinates and momenta: symplectic, of order 2 (the implicit midpoint rule), 4 or 6, with fixed steps.
    For conservative mechanisms without constraints; a method of its own."""

    step: float
    order: int = 4

    def __post_init__(self) -> None:
        _check_step("Symplectic", self.step)
        if self.order not in (2, 4, 6):
            raise ArgumentError(f"Symplectic: Gauss–Legendre is there of order 2, 4 and 6, not {self.order!r}")


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
        raise ArgumentError(f"{owner}: limit is the residual above which a state is moved, a positive number; got {limit!r}")


def _check_step(owner: str, step: float) -> None:
    if not 0 < step < float("inf"):
        raise ArgumentError(f"{owner}: step must be a positive number of seconds, got {step!r}")


def _texts(owner: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; a single one may come as it is."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) and name for name in names):
        raise ArgumentError(f"{owner}: invariants are given by name, got {given!r}")
    return names

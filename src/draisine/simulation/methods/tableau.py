"""Coefficients of integration methods, in one form for all explicit and one for all implicit methods, and checks of settings.

**Explicit methods.** A step starts with `history` known derivatives: one for Runge–Kutta methods, that of the point itself;
more for multistep methods, the newest first. Row i of `weights` gives the point of stage i from the derivatives before it,

    X_i = x + h Σ_j weights[i, j] k_j,        k_i = f(t + nodes[i] h, X_i);

row number `stages` gives the new state, and its derivative opens the next step. The rows after it serve dense output only.

**Interpolant**, nested in θ = (time − t)/h,

    x(θ) = x + θ (F₀ + (1−θ) (F₁ + θ (F₂ + (1−θ) (F₃ + θ (F₄ + …))))).

F₀ … F₂ are the cubic Hermite polynomial through both ends, the further ones F = h · dense · k. This is Hairer's form (Hairer,
Nørsett & Wanner, Solving Ordinary Differential Equations I, 2nd ed., section II.6).

**Implicit methods** solve 0 = F(t, x, ẋ). The unknowns of a step are the increments of its stages, Z_i = X_i − x at t + c_i h.
*Coupled* methods (collocation) solve all stages at once,

    0 = F(t + c_i h, x + Z_i, (A⁻¹Z)_i / h).

With A⁻¹ = R Λ L (right and left eigenvectors, LR = 1) a simplified Newton step decouples into one linear system per eigenvalue λ,
real for a real one and complex for each pair, with the matrix λ/h ∂F/∂ẋ + ∂F/∂x: Hairer & Wanner, Solving Ordinary Differential
Equations II, section IV.8. *Diagonal* methods solve one stage after the other, all with the same matrix; their first stage is the
known derivative at t. The error estimate is a formula of lower order that also uses the derivative at t, filtered by the matrix
μ/h ∂F/∂ẋ + ∂F/∂x so that stiff components are not overrated. Interpolants have the form above, linear in the increments and
in h times the derivatives at both ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError

if TYPE_CHECKING:
    from draisine.simulation.compiled_equations import CompiledEquations
    from draisine.simulation.stepper.layout import Stepper
    from draisine.simulation.stepper.memory import Memory

# Parts of a step between the stages at which margins of contacts are known.
SHORTEST_PART, LONGEST_PART = 0.2, 0.4

Array = NDArray[np.float64]
Advance = Callable[["Stepper"], int]  # continues a run; the reason to return is one of `stepper.layout`


def make_read_only(scheme: Scheme | ImplicitScheme) -> None:
    """Make the coefficient arrays of a method read-only; all runs share them."""
    for numbers in vars(scheme).values():
        if isinstance(numbers, np.ndarray):
            numbers.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Scheme:
    """Coefficients of one explicit method; see the module docstring."""

    order: int
    history: int
    stages: int
    weights: Array  # (rows, rows)
    nodes: Array  # (rows)
    dense: Array  # (terms beyond the cubic, rows)
    error: Array | None = None  # (2, rows): the estimates of order 5 and 3 of DOP853; a single one leaves the second zero
    external: bool = False  # steps are made outside the loop and passed to it

    def __post_init__(self) -> None:
        make_read_only(self)

    @property
    def rows(self) -> int:
        return len(self.nodes)

    @property
    def accurate_stages(self) -> list[int]:
        """Stages inside the step whose weights integrate polynomials of degree three."""
        a, c = self.weights, self.nodes
        inner = [j for j in range(1, self.stages) if 0.0 < c[j] < 1.0]
        return [j for j in inner if all(abs(a[j] @ c**q - c[j] ** (q + 1) / (q + 1)) < 1e-9 for q in (1, 2, 3))]

    @property
    def monitored(self) -> list[int]:
        """Accurate stages, one behind the other, that divide the step into parts of similar length; none where they do not."""
        found: list[int] = []
        for j in self.accurate_stages:
            others = [i for i in self.accurate_stages if i > j and self.nodes[i] < self.nodes[j]]
            if not others and (not found or self.nodes[j] > self.nodes[found[-1]] + SHORTEST_PART):
                found.append(j)
        ends = [0.0, *(float(self.nodes[j]) for j in found), 1.0]
        close = max(b - a for a, b in pairwise(ends)) < LONGEST_PART
        return found if close and self.history == 1 and not self.external else []

    @property
    def by_stages(self) -> Array:
        """Weights (2, rows) of F₃ and F₄ of an interpolant of degree five that needs no further derivatives than the step.

        It fits the derivatives of the accurate stages, those whose weights integrate polynomials of degree three. Empty where the
        dense output needs no further derivatives either.
        """
        if self.rows <= self.stages + 1:
            return np.zeros((0, self.rows))
        a, c, s = self.weights, self.nodes, self.stages
        good, unit = self.accurate_stages, np.eye(self.rows)
        cubic = np.array([a[s], unit[0] - a[s], 2.0 * a[s] - unit[0] - unit[s]])
        derivatives = np.array([np.polyval(np.polyder(p), c[good]) for p in nested_basis(5)])
        fitted: Array = np.linalg.lstsq(derivatives[3:].T, unit[good] - derivatives[:3].T @ cubic, rcond=None)[0]
        return fitted


class SteppingMethod(Protocol):
    """What the driver needs of a method. A fixed-step method has `step`; an adaptive one has tolerances."""

    @property
    def order(self) -> int: ...

    @property
    def adaptive(self) -> bool: ...

    @property
    def implicit(self) -> bool:
        """Whether it solves 0 = F(t, x, ẋ); then it also has `highest_index`."""

    @property
    def scheme(self) -> Scheme | ImplicitScheme: ...

    @property
    def starter(self) -> Scheme | ImplicitScheme:
        """Makes the first steps, until `scheme` has its history."""

    @property
    def max_steps(self) -> int: ...


class ExternalMethod(SteppingMethod, Protocol):
    """A method whose steps are made outside the stepping loop (its scheme is `external`)."""

    def stepper(self, memory: Memory, equations: CompiledEquations, loop: Advance, command: Callable[[], None] | None) -> Advance:
        """A function like `loop` that makes steps and passes them to it; `command` has a control set the inputs."""


def positive(method: str, name: str, value: float) -> None:
    """Raise an error for a setting that is not a positive finite number."""
    if not (isinstance(value, int | float | np.number) and not isinstance(value, bool) and value > 0.0 and math.isfinite(value)):
        raise ArgumentError(f"{method}: {name} must be a positive number, got {value!r}")


class Settings(Protocol):
    """Settings of methods with step size control."""

    @property
    def rtol(self) -> float: ...
    @property
    def atol(self) -> float | Sequence[float]: ...
    @property
    def first_step(self) -> float | None: ...
    @property
    def max_step(self) -> float | None: ...
    @property
    def max_steps(self) -> int: ...


def check_settings(method: Settings) -> None:
    """Raise an error for invalid tolerances and steps, with the method and the setting."""
    name = type(method).__name__
    positive(name, "rtol", method.rtol)
    if method.rtol < 1e-14:
        raise ArgumentError(f"{name}: rtol = {method.rtol:g} is below the precision of doubles; use 1e-14 or more")
    try:
        absolute = np.atleast_1d(np.asarray(method.atol, dtype=float))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: atol must be a positive number, or one for each state, got {method.atol!r}") from None
    if absolute.ndim > 1:
        raise ArgumentError(f"{name}: atol must be a positive number, or one for each state, got {method.atol!r}")
    for value in absolute:
        positive(name, "atol", value)
    for setting in ("step", "first_step", "max_step"):
        if getattr(method, setting, None) is not None:
            positive(name, setting, getattr(method, setting))
    positive(name, "max_steps", method.max_steps)


Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class ImplicitScheme:
    """Coefficients of one implicit method; s is the number of stages that are solved for."""

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
    rough: Array  # (terms, s + 2): the same where the rate at the start is not that of a smooth solution
    mismatch: Array  # (s + 2): on the same, the largest difference of the two interpolants
    evaluates_end: bool  # the rate at the end is evaluated where the equations are explicit
    real: Array  # (0 or 1, 1 + 2 s): λ, its left and its right eigenvector
    pairs: Complex  # (pairs, 1 + 2 s): the same for one of each pair

    history = 1
    external = False

    def __post_init__(self) -> None:
        make_read_only(self)

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
    """The largest difference of two interpolants with the same ends, as weights on their data.

    Filtered error estimates ignore algebraic and stiff unknowns, which are accurate at the end of any step. Between the ends of
    too long a step they are not, and there the two interpolants differ.
    """
    theta = np.linspace(0.0, 1.0, 201)
    basis = np.array([np.polyval(p, theta) for p in nested_basis(len(dense))])
    # they differ in the rate at the start
    gap = (dense - rough)[:, -2] @ basis
    index = int(np.argmax(np.abs(gap)))
    return np.asarray(basis[:, index] @ (dense - rough))


def nested_basis(terms: int) -> list[Array]:
    """θ, θ(1−θ), θ²(1−θ), θ²(1−θ)², … as polynomials."""
    basis, last = [], np.array([1.0])
    for term in range(terms):
        last = np.polymul(last, [1.0, 0.0] if term % 2 == 0 else [-1.0, 1.0])
        basis.append(last)
    return basis

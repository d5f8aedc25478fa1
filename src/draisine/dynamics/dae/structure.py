"""Structural analysis with a regular Jacobian: the Σ-method, with combination of rows where its Jacobian is singular.

The structure contains which unknowns enter which equation, not cancellations: two rows of nodal analysis, C (v̇₁ − v̇₂) + … and
−C (v̇₁ − v̇₂) + …, structurally determine both rates, but determine only their difference. The Jacobian ∂F_i^(c_i)/∂x_j^(d_j) is
then singular everywhere. If the combination of rows that vanishes in it is the same at all points, that combination (of rows
differentiated equally often) replaces one of them, and the signature is computed again: the linear-combination method of Tan,
Nedialkov & Pryce (2017)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.prolongation import Prolongation
from draisine.dynamics.dae.signature_method import Offsets
from draisine.numerics.rank import decompose, equilibrate
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual

Reals = NDArray[np.float64]

SAME = 1e-7  # difference below which directions are equal
POINTS = 4
COMBINED = "_combined"  # suffix of a replaced row
DECEIVED = "terms cancel differently from point to point: the structural analysis fails, and hidden constraints may be missing"


@dataclass(frozen=True)
class Structure:
    """Rows, offsets, and whether the Jacobian is regular at points in general."""

    system: Prolongation
    offsets: Offsets
    regular: bool
    notes: tuple[str, ...] = ()
    deeper: int = 0  # differentiations within combined rows
    branch: bool = False  # whether it holds on one branch of solutions only

    @cached_property
    def tops(self) -> ca.SX:
        """The unknowns of the last stage, x_j^(d_j)."""
        found = [self.system.top(k, d) for k, d in enumerate(self.offsets.unknowns)]
        return ca.vertcat(*found) if found else ca.SX(0, 1)

    @cached_property
    def stage(self) -> ca.SX:
        """The equations of the last stage, F_i^(c_i)."""
        found = [self.system.derivative(i, c) for i, c in enumerate(self.offsets.equations)]
        return ca.vertcat(*found) if found else ca.SX(0, 1)


def structure(equations: Equations) -> Structure:
    """The structure of implicit equations; rows that cancel are combined, in their rates first, then in the last stage."""
    dynamics = equations.dynamics
    assert isinstance(dynamics, DaeResidual)  # explicit equations have index 0
    system, notes = Prolongation(dynamics), list[str]()
    sampler = _Sampler(equations)
    while (weights := _common(sampler.rate_kernels(system))) is not None and len(notes) < len(system.rest):
        system, note = _combined(system, [0] * len(system.rest), weights, sampler)
        notes.append(note)
    deeper = 0
    while True:
        found = Structure(system, system.offsets(), True, tuple(notes), deeper)
        kernels = sampler.left_kernels(found) if system.rest else []
        if not kernels:
            return found
        weights = _common(kernels)
        if weights is None or len(notes) >= 2 * len(system.rest):
            return Structure(system, found.offsets, False, (*notes, DECEIVED), deeper)
        involved = [c for c, w in zip(found.offsets.equations, weights, strict=True) if w]
        deeper += max(involved) - min(involved)
        system, note = _combined(system, found.offsets.equations, weights, sampler)
        notes.append(note)


def moved_by_inputs(shape: Structure) -> list[tuple[str, str]]:
    """Equations that contain an input and must be differentiated, and the input."""
    system, found = shape.system, []
    for i, times in enumerate(shape.offsets.equations):
        differentiated = [system.derivative(i, k) for k in range(times)]
        for j, name in enumerate(system.inputs):
            if differentiated and ca.depends_on(ca.vertcat(*differentiated), system.u[j]):
                found.append((system.equations[system.rest[i]], name))
    return found


class _Sampler:
    """Generic points near the defaults, with perturbed parameters."""

    def __init__(self, equations: Equations) -> None:
        self._defaults = np.array([q.default for q in equations.coordinates])
        self._parameters = equations.default_parameters
        self._inputs = len(equations.inputs)

    def values(self, system: Prolongation, expression: ca.SX) -> Iterator[Reals]:
        """The expression at points where it is finite, one after the other."""
        symbols = [system.t, system.y, system.jets, system.u, system.p]
        evaluate = ca.Function("sample", symbols, [ca.densify(expression)])
        found = 0
        for seed in range(5 * POINTS):
            rng = np.random.default_rng(seed)
            y = self._moved(self._defaults, rng)
            jets, inputs = rng.normal(size=system.jets.numel()), rng.normal(size=self._inputs)
            value = evaluate(rng.uniform(0.1, 1.0), y, jets, inputs, self._moved(self._parameters, rng)).full()
            if np.isfinite(value).all():
                yield value
                found += 1
            if found == POINTS:
                return

    @staticmethod
    def _moved(values: Reals, rng: np.random.Generator) -> Reals:
        return np.asarray(values + 0.2 * rng.uniform(-1.0, 1.0, len(values)) * np.where(values == 0.0, 1.0, np.abs(values)))

    def left_kernels(self, found: Structure) -> list[Reals]:
        """Combinations of rows (columns of each matrix) that vanish in the Jacobian; none if it is regular at any point."""
        return _kernels(self.values(found.system, ca.jacobian(found.stage, found.tops)))

    def rate_kernels(self, system: Prolongation) -> list[Reals]:
        """Combinations of rows that contain rates, in which all rates cancel."""
        rows = [i for i, row in enumerate(system.rows) if ca.depends_on(row, system.jet(1))]
        if not rows:
            return []
        slope = ca.jacobian(ca.vertcat(*[system.rows[i] for i in rows]), system.jet(1))
        spread = np.eye(len(system.rest))[:, rows]
        return [spread @ k for k in _kernels(self.values(system, slope))]


def _kernels(matrices: Iterable[Reals]) -> list[Reals]:
    """Left null spaces of all matrices; empty if one has independent rows."""
    found = []
    for matrix in matrices:
        found.append(_left_kernel(matrix))
        if not found[-1].shape[1]:
            return []
    return found


def _left_kernel(matrix: Reals) -> Reals:
    scaled, rows, _ = equilibrate(matrix)
    return np.asarray(decompose(scaled).left_null_space * rows[:, None])


def _common(kernels: list[Reals]) -> Reals | None:
    """A combination in all of them, with few rows, if they are the same space."""
    if not kernels:
        return None
    bases = [np.linalg.qr(k)[0] for k in kernels]
    if len({b.shape for b in bases}) > 1:
        return None
    shadows = [b @ b.T for b in bases]
    if any(np.abs(shadow - shadows[0]).max() > SAME for shadow in shadows):
        return None
    return _sparse(bases[0])


def _sparse(basis: Reals) -> Reals:
    """A vector of the space with zeros where others have their pivots."""
    reduced = basis.T.copy()
    for row in range(len(reduced)):
        column = int(np.argmax(np.abs(reduced[row])))
        reduced[row] /= reduced[row, column]
        for other in range(len(reduced)):
            if other != row:
                reduced[other] -= reduced[other, column] * reduced[row]
    weights = min(reduced, key=lambda r: int(np.count_nonzero(np.abs(r) > SAME)))
    weights[np.abs(weights) <= SAME * np.abs(weights).max()] = 0.0
    return np.asarray(weights)


def _combined(system: Prolongation, c: Sequence[int], weights: Reals, sampler: _Sampler) -> tuple[Prolongation, str]:
    """The system with one row, the least differentiated of those involved, replaced by the combination."""
    involved = [i for i, w in enumerate(weights) if w]
    target = min(involved, key=lambda i: (c[i], -abs(weights[i]), i))
    total, share = ca.SX(0), []
    for i in involved:
        factor = _rounded(weights[i] / weights[target])
        part = system.derivative(i, c[i] - c[target])
        total += factor * part
        share.append(factor * part)
    names = [system.equations[system.rest[i]] for i in involved]
    total = _without_canceled(system, total, share, sampler)
    replaced = system.equations[system.rest[target]]
    return system.with_row(target, f"{replaced.removesuffix(COMBINED)}{COMBINED}", total), (
        f"the equations {', '.join(repr(n) for n in names)} are structurally independent, but a combination of them loses its "
        f"highest derivatives; it replaces {replaced!r}"
    )


def _rounded(factor: float) -> float:
    """Small fractions, restored from values with rounding errors."""
    near = round(factor * 12) / 12
    return near if abs(near - factor) < SAME else float(factor)


def _without_canceled(system: Prolongation, total: ca.SX, parts: list[ca.SX], sampler: _Sampler) -> ca.SX:
    """The sum without symbols that cancel in it, judged numerically."""
    unknowns = ca.vertcat(*[system.y[j] for j in system.others])
    symbols = ca.vertcat(unknowns, system.jets)
    jacobian = [np.abs(v) for v in sampler.values(system, ca.jacobian(ca.vertcat(total, *parts), symbols))]
    gone = np.all([v[0] <= 1e-12 * v[1:].sum(axis=0) for v in jacobian], axis=0)
    # the substituted value has no effect; it must not be a singularity of logarithms or quotients
    neutral = np.concatenate([np.full(unknowns.numel(), 0.7), np.zeros(system.jets.numel())])
    indices = [int(k) for k in np.flatnonzero(gone)]
    return ca.substitute(total, ca.vertcat(*[symbols[k] for k in indices]), ca.DM(neutral[indices])) if indices else total

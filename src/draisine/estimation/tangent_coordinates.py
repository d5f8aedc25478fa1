"""Tangent coordinates: states on the constraints parametrized by named deviations, for any values of the parameters.

With c the independent constraints and ζ the named quantities, g(x, p) = (c; ζ) has the size of the state, and

    ∂g/∂x δx + ∂g/∂p δp = (0; δζ)

gives the change of the state with deviations, and with parameters at fixed ζ. Only the ζ on which measurements depend are
relevant. For dynamics 0 = F(t, x, ẋ), c includes the hidden constraints, so that starts are consistent and determine the
algebraic unknowns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.estimation.measurement import measurement_function
from draisine.numerics.newton_batch import BatchNewton, square_steps
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.variational import Direction
from draisine.stability.batch_evaluation import BatchProgram, program_without_cse
from draisine.stability.deviations import Deviations, Naming, deviations_of, entry_rounding

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

SETTLED = 1e-11
LOOKS = 5  # random states near the start at which dependence is tested
NEARBY = 0.05
SMALL_SCALE = 1e-2  # of the largest state


@lru_cache(maxsize=32)
def fixed_velocities(equations: Equations) -> Equations:
    """The equations with fixed velocity coordinates: windows are short."""
    return replace(equations, monitor=None, alternates=(), with_independent=None)


class ConsistentDeviations(Deviations):
    """Deviations between consistent states of 0 = F(t, x, ẋ): all unknowns are coordinates."""

    def __init__(self, equations: Equations, asked: Sequence[str] = ()) -> None:
        self.equations, self.preferred = equations, tuple(asked)
        symbols = dict(zip((slot.name for slot in equations.dynamics.inputs), _symbols(equations), strict=True))
        self._t, self._x, self._u, self._p = (symbols[name] for name in ("t", "x", "u", "p"))
        self.candidates = self._candidates()


def _symbols(equations: Equations) -> list[ca.SX]:
    assert isinstance(equations.dynamics, DaeResidual)
    return list(equations.dynamics.residual.symbols())


@lru_cache(maxsize=32)
def named_deviations(equations: Equations, asked: tuple[str, ...]) -> Deviations:
    """Deviations on the constraints, including hidden ones, for all kinds of equations."""
    if isinstance(equations.dynamics, DaeResidual):
        return ConsistentDeviations(equations, asked)
    return deviations_of(equations, asked)


@dataclass(frozen=True, eq=False)
class TangentCoordinates:
    """Named deviations and the states that they determine."""

    equations: Equations
    naming: Naming
    asked: tuple[str, ...]
    names: tuple[str, ...]  # relevant deviations
    varied: tuple[Direction, ...]

    @cached_property
    def own(self) -> int:
        return len(self.equations.coordinates) + len(self.equations.independent)

    @cached_property
    def _indices(self) -> list[int]:
        first = len(self.naming.rows)
        return [first + self.naming.names.index(n) for n in self.names]

    @cached_property
    def _program(self) -> BatchProgram:
        return _reported(self.equations, self.asked, self.naming, self.varied)

    def _at(self, t: Reals, x: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals, Reals]:
        """g, ∂g/∂x and ∂g/∂p at points."""
        given = np.broadcast_to(p, (len(t), len(p)))
        g, by_state, by_parameter = self._program(t[:, None], x, u, given)
        return g[..., 0], by_state, by_parameter

    def values(self, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        """Relevant ζ, (points, names)."""
        return self._at(t, x, u, p)[0][:, self._indices]

    def rows(self, t: Reals, x: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals, Reals]:
        """ζ, ∂ζ/∂x and ∂ζ/∂p at points; they do not depend on bookkeeping states."""
        g, by_state, by_parameter = self._at(t, x, u, p)
        wide = np.zeros((len(t), len(self._indices), x.shape[1]))
        wide[:, :, : self.own] = by_state[:, self._indices]
        return g[:, self._indices], wide, by_parameter[:, self._indices]

    def spans(self, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        """δx by deviations, then by varied parameters at fixed ζ, (points, states, names + parameters)."""
        _, by_state, by_parameter = self._at(t, x, u, p)
        units = np.zeros((len(t), by_state.shape[1], len(self._indices)))
        units[:, self._indices, range(len(self._indices))] = 1.0
        found = np.zeros((len(t), x.shape[1], len(self._indices) + by_parameter.shape[2]))
        found[:, : self.own] = np.linalg.solve(by_state, np.concatenate([units, -by_parameter], axis=2))
        return found

    def settled(self, t: Reals, x: Reals, u: Reals, p: Reals, wanted: Reals) -> Reals | None:
        """States near x on the constraints with the given ζ; None if Newton's method does not converge."""
        target = self._at(t, x, u, p)[0]
        target[:, : len(self.naming.rows)] = 0.0
        target[:, self._indices] = wanted
        if not np.isfinite(target).all():
            return None

        def evaluate(own: Reals, indices: Indices) -> tuple[Reals, Reals]:
            g, by_state, _ = self._at(t, np.hstack([own, x[:, self.own :]]), u, p)
            return (g - target)[indices], by_state[indices]

        size = max(float(np.abs(part).max(initial=0.0)) for part in (target, x[:, : self.own]))
        newton = BatchNewton(tolerance=SETTLED * max(usual_size(size), float(np.abs(target).max())), max_iterations=12)
        found = newton.solve(evaluate, x[:, : self.own], square_steps)
        return np.hstack([found.x, x[:, self.own :]]) if found.converged.all() else None


@lru_cache(maxsize=32)
def _reported(equations: Equations, asked: tuple[str, ...], naming: Naming, varied: tuple[Direction, ...]) -> BatchProgram:
    """(t, x, u, p) → g, ∂g/∂x, ∂g/∂p of the varied ones."""
    d = named_deviations(equations, asked)
    zeta = ca.vertcat(*d.candidates.values())
    g = ca.vertcat(d._motion[0][list(naming.rows)], zeta[list(naming.chosen)])
    own = d._x[: len(equations.coordinates) + len(equations.independent)]
    by = ca.vertcat(*[d._p[v.place] for v in varied]) if varied else ca.SX(0, 1)
    inputs = {"t": d._t, "x": d._x, "u": d._u, "p": d._p}
    results = {"g": g, "by_state": ca.jacobian(g, own), "by_parameter": ca.jacobian(g, by)}
    return BatchProgram(program_without_cse(f"{equations.name}_tangent", inputs, results))


def tangent_at(
    equations: Equations,
    x: Reals,
    u: Reals,
    p: Reals,
    quantities: tuple[str, ...],
    varied: tuple[Direction, ...],
    asked: tuple[str, ...] = (),
    moving: tuple[str, ...] = (),
    time: float = 0.0,
) -> TangentCoordinates:
    """Tangent coordinates of a motion from x, and the deviations relevant for these quantities with these varying inputs."""
    deviations = named_deviations(equations, asked)
    if isinstance(deviations, ConsistentDeviations):
        naming = deviations.choose(deviations.named(time, x[None], u[None], p[None]))
        return TangentCoordinates(equations, naming, asked, naming.names, varied)
    naming = deviations.choose(deviations.derivatives(time, x[None], u[None], p[None]))
    everything = TangentCoordinates(equations, naming, asked, naming.names, varied)
    pushed = np.array([float(q.name in moving) for q in equations.inputs])
    kept = _relevant_names(everything, x, u, p, quantities, pushed, time)
    if not kept:
        raise ArgumentError(f"{equations.name}: {', '.join(quantities)} do not depend on the state; there is nothing to estimate")
    return replace(everything, names=tuple(n for n in naming.names if n in kept))


def _relevant_names(
    tangent: TangentCoordinates, x: Reals, u: Reals, p: Reals, quantities: tuple[str, ...], pushed: Reals, time: float
) -> set[str]:
    """Names on which the quantities depend, directly or through the rates of others."""
    e, names = tangent.equations, tangent.naming.names
    random = np.random.default_rng(1)
    t, many = np.full(LOOKS, time), np.tile(x, (LOOKS, 1))
    inputs = u + NEARBY * random.normal(size=(LOOKS, len(u))) * pushed
    base = tangent.values(t, many, inputs, p)
    floor = usual_size(float(np.abs(base).max(initial=0.0)))
    points = tangent.settled(t, many, inputs, p, base + NEARBY * random.normal(size=base.shape) * np.maximum(np.abs(base), floor))
    if points is None:
        return set(names)
    deviations = deviations_of(e, tangent.asked)
    jacobian = deviations.derivatives(time, points, inputs, np.tile(p, (LOOKS, 1)))
    span = tangent.naming.span(jacobian)
    a, _ = tangent.naming.matrices(jacobian)
    _, by_state, _ = measurement_function(e, quantities, ())(t, points, inputs, p)
    c = by_state[:, :, : tangent.own] @ span
    seen: NDArray[np.bool_] = np.asarray(_nonzero(c).any(axis=0))
    at_points = zip(points, inputs, strict=True)
    rounding = np.array([entry_rounding(deviations, tangent.naming, x, u, p, time) for x, u in at_points])
    links = np.asarray((np.abs(a) > rounding).any(axis=0))
    while True:
        more = np.asarray(seen | links[seen].any(axis=0))
        if (more == seen).all():
            return {n for n, counts in zip(names, seen, strict=True) if counts}
        seen = more


def _nonzero(matrices: Reals) -> NDArray[np.bool_]:
    """Entries that are not small against their row."""
    sizes = np.abs(matrices).max(axis=0)
    return np.asarray(sizes > 1e-9 * np.maximum(sizes.max(axis=1, keepdims=True, initial=0.0), 1e-300))


def usual_size(largest: float) -> float:
    """The size of states that are zero at present: one, or less where all states are small, in proportion."""
    return min(1.0, largest / SMALL_SCALE) or 1.0


def default_spread(names: tuple[str, ...], values: Reals, given: Mapping[str, float]) -> Reals:
    """How far starts of windows may lie from their initial guesses: the given value, else half of the value, and at least 0.2, or
    less where all values are small."""
    least = 0.2 * usual_size(float(np.abs(values).max(initial=0.0)))
    for name in given:
        if name not in names:
            raise ArgumentError(f"spread: {name!r} is not among the relevant deviations: {', '.join(names)}")
    return np.array([given.get(n, max(least, 0.5 * abs(v))) for n, v in zip(names, values, strict=True)])

"""The cost of a mesh: how much lower the cost would be with controls that the mesh does not restrict, to first order.

With costates λ, a control that minimizes H = integrand + λᵀ rates at each instant lowers the cost by about ∫ H(u) − min H dt
(needle variations of Pontryagin's principle). On a mesh, controls are polynomials or constants in each interval: the difference
is what the mesh costs. Errors of the costates, which are interpolated between nodes, enter with their squares. Where costates are
not unique on the mesh, as with a switch at a mesh point, the estimate is too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution
    from draisine.optimal.verification import Simulated

Reals = NDArray[np.float64]

FLAT = 1e-9  # of the first derivative's size per range: a second derivative below is zero


def mesh_cost(phases: Sequence[PhaseSolution], simulated: Sequence[Simulated], parameters: Sequence[Reals]) -> float | None:
    """The estimated excess of the cost; None where costates are no smooth functions of time that could be interpolated: with
    conditions along the path, bounds of states, algebraic unknowns or a simulation that ended early."""
    parts = mesh_costs(phases, simulated, parameters)
    return None if parts is None else sum(float(part.sum()) for part in parts)


def mesh_costs(
    phases: Sequence[PhaseSolution], simulated: Sequence[Simulated], parameters: Sequence[Reals]
) -> list[Reals] | None:
    """The same for each interval of each phase."""
    found = []
    for solution, run, p in zip(phases, simulated, parameters, strict=True):
        phase = solution.phase
        states_bounded = any(name in phase.kept for name in phase.limits)
        whole = len(run.samples.times) and np.isfinite(run.breaks).all() and len(solution.costates) > 1
        if phase.path or states_bounded or phase.algebraic_size or phase.implicit or not whole:
            return None
        found.append(_excess(solution, run, p))
    return found if all(np.isfinite(part).all() for part in found) else None


def has_constant_intervals(solution: PhaseSolution) -> bool:
    """Whether refinement has placed intervals with constant controls beside others."""
    scheme = solution.scheme
    return isinstance(scheme, Collocation) and not isinstance(scheme.constant_controls, bool) and any(scheme.constant_controls)


def _excess(solution: PhaseSolution, run: Simulated, p: Reals) -> Reals:
    phase, samples = solution.phase, run.samples
    if not phase.controls:
        return np.zeros(len(solution.grid.breaks) - 1)
    v, e = phase.symbols, phase.equations
    plant, costate = v.plant, ca.SX.sym("costate", len(phase.kept))
    rates = ca.vertcat(*[v.rates[i] for i in phase.kept_indices])
    hamiltonian = ca.dot(costate, rates) + (0 if phase.integrand is None else phase.integrand)
    slope = ca.gradient(hamiltonian, plant.u)
    bend = ca.vertcat(*[ca.jacobian(slope[j], plant.u[j]) for j in range(len(phase.controls))])
    inputs = [plant.t, v.y, plant.inputs, plant.p, costate]
    count = len(samples.times)
    function = ca.Function("hamiltonian", inputs, [ca.densify(x) for x in (hamiltonian, slope, bend)]).map(count)
    y, constant = samples.states[:, v.state_indices].T, np.tile(p[:, None], (1, count))
    costates = _interpolated(solution, samples.times).T

    def at(u: Reals) -> list[Reals]:
        return [np.asarray(part.full()) for part in function(samples.times[None], y, u.T, constant, costates)]

    zeros = _zeros_of_magnitudes(solution, run, p)
    here, first, second = at(samples.inputs)
    names = [q.name for q in e.inputs]
    gained = np.zeros(count)
    for j, name in enumerate(phase.controls):
        low, high = phase.limits.get(name, (-np.inf, np.inf))
        own = samples.inputs[:, names.index(name)]
        size = high - low if np.isfinite(high - low) else max(float(np.abs(own).max(initial=0.0)), phase.sizes.controls[j])
        with np.errstate(all="ignore"):
            curved = second[j] > FLAT * np.abs(first[j]).max(initial=0.0) / size
            step = np.where(curved, -first[j] / second[j], -np.sign(first[j]) * np.inf)
        best = np.clip(np.where(first[j] == 0.0, own, own + step), low, high)
        lower = np.zeros(count)
        for candidate in (best, *zeros[j]):  # a minimum, or the kink of a magnitude
            moved = samples.inputs.copy()
            moved[:, names.index(name)] = np.where(np.isfinite(candidate), np.clip(candidate, low, high), own)
            lower = np.maximum(lower, here[0] - at(moved)[0][0])
        gained += lower
    inside = np.diff(samples.intervals) == 0
    strips = np.where(inside, np.diff(samples.times) * (gained[1:] + gained[:-1]) / 2, 0.0)
    return np.asarray(np.bincount(samples.intervals[:-1], strips, len(solution.grid.breaks) - 1), dtype=np.float64)


def _zeros_of_magnitudes(solution: PhaseSolution, run: Simulated, p: Reals) -> list[list[Reals]]:
    """For each control, its values at the samples for which the argument e of a magnitude in the cost is zero, by a Newton step;
    not finite where e does not depend on it."""
    phase, samples = solution.phase, run.samples
    if phase.epigraph is None:
        return [[] for _ in phase.controls]
    v, plant, e = phase.symbols, phase.symbols.plant, phase.epigraph.arguments
    count, names = len(samples.times), [q.name for q in phase.equations.inputs]
    parts = [ca.densify(part) for part in (e, ca.jacobian(e, plant.u))]
    function = ca.Function("magnitudes", [plant.t, v.y, plant.inputs, plant.p], parts).map(count)
    y, constant = samples.states[:, v.state_indices].T, np.tile(p[:, None], (1, count))
    value, slope = (np.asarray(part.full()) for part in function(samples.times[None], y, samples.inputs.T, constant))
    slope = slope.reshape(e.numel(), count, len(phase.controls))  # blocks of columns, one for each sample
    own = samples.inputs[:, [names.index(name) for name in phase.controls]]
    with np.errstate(all="ignore"):
        return [[own[:, j] - value[k] / slope[k, :, j] for k in range(e.numel())] for j in range(len(phase.controls))]


def _interpolated(solution: PhaseSolution, times: Reals) -> Reals:
    """Costates at other times: linear between their own, and beyond them."""
    at, values = solution.costate_times, solution.costates
    k = np.clip(np.searchsorted(at, times) - 1, 0, len(at) - 2)
    share = ((times - at[k]) / (at[k + 1] - at[k]))[:, None]
    return np.asarray(values[k] + share * (values[k + 1] - values[k]))

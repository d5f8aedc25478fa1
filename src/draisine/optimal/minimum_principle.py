"""Pontryagin's minimum principle over the whole control set: at each node, no other control has a lower Hamiltonian.

A nonlinear program finds controls at which the Hamiltonian has a *local* minimum. Another value of a bounded control may have a
lower one: a heading that rests at its bound of 180° where it should go on at −180°. Such controls are found here; a search that
starts from them (needle variations) leads to a better minimum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Grid
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]

NEAR = np.array([0.0, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2])
CANDIDATES = np.concatenate([NEAR, np.linspace(0, 1, 33)[1:-1], 1 - NEAR])  # values of a control between its bounds
LOWER = 1e-7  # of the size of the Hamiltonian's terms
SATISFIED = 1e-6  # violation of a path condition that a candidate may have


def better_controls(phase: Phase, grid: Grid, local: Reals, costates: Reals, controls: Reals) -> tuple[Reals | None, float]:
    """Controls (control points, controls) with a lower Hamiltonian where there are any, otherwise None; and by how much they
    lower the cost, to first order: ∫ H(u) − min H.

    `local` are the arguments of `phase.node` at the nodes, `costates` the costates there. Systems with algebraic unknowns, which
    follow the controls, are left alone.
    """
    nx, nu = len(phase.kept), len(phase.controls)
    if phase.algebraic_size or not nu or len(costates) != len(grid.nodes):
        return None, 0.0
    cluster = CompiledCluster(phase.node, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(grid.nodes))
    count = len(controls)
    base, size, _ = _hamiltonian(phase, cluster, grid, local, costates, count)
    if not np.isfinite(base).all():
        return None, 0.0
    best, found = base - LOWER * size, controls.copy()
    for j, name in enumerate(phase.controls):
        low, high = phase.limits.get(name, (-np.inf, np.inf))
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            continue
        for value in low + CANDIDATES * (high - low):
            moved = local.copy()
            moved[:, nx + j] = value
            hamiltonian, _, allowed = _hamiltonian(phase, cluster, grid, moved, costates, count)
            better = allowed & (hamiltonian < best)
            best[better] = hamiltonian[better]
            found[better] = controls[better]
            found[better, j] = value
    if np.array_equal(found, controls):
        return None, 0.0
    weights = np.bincount(grid.node_control, weights=grid.weights, minlength=count)
    return found, float(weights @ np.where((found != controls).any(axis=1), base - best, 0.0))


def _hamiltonian(
    phase: Phase, cluster: CompiledCluster, grid: Grid, local: Reals, costates: Reals, count: int
) -> tuple[Reals, float, NDArray[np.bool_]]:
    """Mean Hamiltonian of each control point over its nodes, the size of its terms, and whether path conditions hold."""
    nx, reported = len(phase.kept), cluster.values(local)
    terms = costates * reported[:, :nx]
    cost = reported[:, -1] if phase.integrand is not None else np.zeros(len(reported))
    total = terms.sum(axis=1) + cost
    outside = np.zeros(len(total), dtype=bool)
    for i, c in enumerate(phase.path):
        value = reported[:, nx + i]
        outside |= (value < c.low - SATISFIED) | (value > c.high + SATISFIED)
    outside |= ~np.isfinite(total)
    weights = np.bincount(grid.node_control, weights=grid.weights, minlength=count)
    mean = np.bincount(grid.node_control, weights=grid.weights * np.nan_to_num(total), minlength=count) / weights
    violations = np.bincount(grid.node_control, weights=outside.astype(float), minlength=count)
    return mean, float(np.abs(terms).sum(axis=1).max(initial=0.0) + np.abs(cost).max(initial=0.0)), violations == 0.0

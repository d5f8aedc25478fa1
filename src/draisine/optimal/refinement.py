"""Finer meshes where the error is large.

Between its points a solution is a polynomial, and its slope should be the rate. What is missing, integrated over an interval and
relative to the states' sizes, is the interval's error (Betts 2010, section 4.7). For shooting it is what twice as many steps
change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation
from draisine.numerics.runge_kutta import gauss_nodes, lagrange
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase import Phase
from draisine.optimal.shooting import MapCluster, MultipleShooting
from draisine.optimal.transcription import Placed

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Refinement:
    """Solve again on finer meshes until every interval's error is below `tolerance`, at most `rounds` times, never beyond `most`
    intervals. Where a control jumps within an interval its error falls with the interval's length alone."""

    tolerance: float = 1e-6
    rounds: int = 6
    most: int = 600

    def finer(self, scheme: Collocation | MultipleShooting, errors: Reals) -> Collocation | MultipleShooting | None:
        """The next mesh, or None if the errors are small enough or nothing more may be done."""
        bad = errors > self.tolerance
        if not bad.any():
            return None
        parts = np.ones(len(errors), dtype=int)
        parts[bad] = np.clip(np.ceil((errors[bad] / self.tolerance) ** (1.0 / (scheme.order + 1))), 2, 4).astype(int)
        if parts.sum() > self.most:
            return None
        breaks = scheme.grid.breaks
        pieces = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(breaks[:-1], breaks[1:], parts, strict=True)]
        return scheme.on(np.concatenate([*pieces, [1.0]]))


def interval_errors(
    phase: Phase, scheme: Collocation | MultipleShooting, placed: Placed, w: Reals, rates: Reals, shared: Reals
) -> Reals:
    """Of each interval, the largest over the states."""
    points, controls = w[placed.points], w[placed.controls]
    size = np.maximum(np.abs(points).max(axis=0, initial=0.0), 1e-3)
    grid = scheme.grid
    if isinstance(scheme, MultipleShooting):
        local = np.hstack([points[:-1], controls, np.tile(shared, (len(points) - 1, 1))])
        two = [
            MapCluster(phase, s, np.zeros(local.shape, dtype=np.int64), grid.breaks).values(local)[:, : len(phase.kept)]
            for s in (scheme, replace(scheme, steps=2 * scheme.steps))
        ]
        return np.asarray((np.abs(two[0] - two[1]) / size).max(axis=1, initial=0.0))
    places = gauss_nodes(len(grid.point_local) + 1)
    h = np.diff(grid.breaks)
    tau = (grid.breaks[:-1, None] + h[:, None] * places).ravel()
    y, slope = grid.states_at(tau, points, rates)
    u = grid.controls_at(tau, controls)
    k, s = grid.place(tau)
    z = np.einsum("ij,ijn->in", lagrange(grid.node_local, s), w[placed.algebraic][grid.node_of[k]])
    local = np.hstack([y, z, u, np.tile(shared, (len(tau), 1))])
    cluster = CompiledCluster(phase.node, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(tau))
    reported, nx = cluster.values(local), len(phase.kept)
    if phase.implicit:  # rates are unknowns: put in the polynomial's own, what is missing is seen in 0 = F
        local[:, nx : 2 * nx] = slope / shared[1]
        missing = np.abs(cluster.values(local)[:, nx : nx + phase.algebraic_size]) * shared[1]
    else:
        missing = np.abs(slope - reported[:, :nx]) / size
    return np.asarray((missing.reshape(len(h), len(places), -1).mean(axis=1) * h[:, None]).max(axis=1, initial=0.0))

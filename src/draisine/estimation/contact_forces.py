"""Contact forces along the motions of a fit: ideal contacts hold whatever force that takes; the data may say otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.problem import EstimationProblem
from draisine.estimation.single_shooting import Predictor, SingleShooting
from draisine.estimation.solve import FitMethod, Outcome
from draisine.program.equations import Equations
from draisine.simulation.contact_margins import LARGEST_FRICTION, contact_kernel, contact_margins

Reals = NDArray[np.float64]
Points = tuple[Equations, Reals, Reals, Reals]  # equations, and (t, x, u) in rows


def contact_warnings(problem: EstimationProblem, method: FitMethod, outcome: Outcome) -> Iterator[str]:
    """What contacts would have to do at the samples, or at the starts of windows, of each experiment."""
    if problem.equations.unilateral or contact_margins(problem.equations) is None:  # unilateral ones slip and open
        return
    p, _ = problem.parameters(outcome.unknowns)
    for recording, points in zip(problem.recordings, _motions(problem, method, outcome), strict=True):
        force, friction = np.inf, 0.0
        for equations, t, x, u in points:
            margins, kernel = contact_margins(equations), contact_kernel(equations)
            if margins is None or kernel is None or not len(t):
                continue
            rows = np.array([kernel(t[k : k + 1], x[k], u[k], p)[0] for k in range(len(t))])
            force = np.fmin(force, np.nanmin(margins.least_force(rows))) if margins.normal else force
            friction = np.fmax(friction, np.nanmax(margins.most_friction(rows))) if margins.friction else friction
        if force < 0.0:
            yield f"{recording.name}: in the fitted motion the ground would have to pull (least normal force {force:.4g} N)"
        if friction > LARGEST_FRICTION:
            yield f"{recording.name}: in the fitted motion a contact needs a friction coefficient of {friction:.3g}"


def _motions(problem: EstimationProblem, method: FitMethod, outcome: Outcome) -> list[list[Points]]:
    """The states of each experiment, by pieces with the same independent velocities."""
    if outcome.shot is not None:
        chains = [(chain.windows, chain.states) for chain in outcome.shot.chains]
        return [[(w.tangent.equations, w.begins, states, w.inputs)] for w, states in chains]
    assert isinstance(method, SingleShooting)
    return Predictor(problem, method).motions(outcome.unknowns)

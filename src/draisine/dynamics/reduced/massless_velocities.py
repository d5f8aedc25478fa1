"""Whether every independent velocity of a described mechanism has inertia, looked at in sampled configurations."""

from __future__ import annotations

import casadi as ca
import numpy as np

from draisine.dynamics.reduced.formulation import Formulation
from draisine.errors import ModelError

_SAMPLES = 6
_NOTHING = 1e-12  # eigenvalue of the mass matrix, scaled by its own diagonal, that counts as zero
_SHARE = 1e-3  # of a velocity in what moves without inertia


def check_masses(formulation: Formulation) -> None:
    """Complain about motions that no body resists: bodies without moments of inertia on hinges through their centers."""
    m, names = formulation.mechanism, list(formulation.independent)
    if not names:
        return
    lower = formulation.dynamics.mass_matrix
    whole = ca.vertcat(*[ca.horzcat(*[lower[max(i, j)][min(i, j)] for j in range(len(names))]) for i in range(len(names))])
    points, times = m.sampled
    evaluate = ca.Function("mass", [m.scope.t, m.scope.q, m.scope.p], [ca.densify(whole)])
    kernel = None
    for q, t in list(zip(points, times, strict=True))[-_SAMPLES:]:
        matrix = evaluate(t, q, m.default_parameters).full()
        if not np.isfinite(matrix).all():
            continue
        size = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
        idle = np.abs(np.diag(matrix)) <= _NOTHING * np.abs(matrix).max(initial=1e-300)
        values, vectors = np.linalg.eigh(np.where(idle[:, None] | idle, 0.0, matrix / np.outer(size, size)))
        if values[0] > _NOTHING:
            return  # somewhere all of it has inertia
        kernel = np.abs(vectors[:, 0])
    if kernel is None:
        return
    moving = [name for name, share in zip(names, kernel, strict=True) if share > _SHARE * kernel.max()]
    bodies = ", ".join(repr(body.name) for body in m.system.bodies)
    raise ModelError(
        f"model {m.system.name!r}: {', '.join(repr(name) for name in moving)} can change without moving any mass, so that no "
        f"force decides about it; give one of the bodies ({bodies}) moments of inertia or a center of mass off its hinge, or "
        "take the joint away"
    )

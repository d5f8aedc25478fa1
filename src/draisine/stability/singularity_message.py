"""What is singular at a motion, in the model's own words."""

from __future__ import annotations

import numpy as np

from draisine.stability.deviations import deviations_of
from draisine.stability.linearization import Motion

NEARLY = 0.02  # share of the largest singular value of the constraints' gradients below which they are nearly dependent


def what_is_singular(motion: Motion) -> str:
    """The causes that pass their limit, or constraints that are nearly dependent; else an empty text."""
    e = motion.equations
    reported: list[str] = []
    if not np.isfinite(motion.x).all():
        return ""
    if e.causes is not None:
        (slot,) = e.causes.outputs
        values = np.ravel(e.causes([0.0], motion.x, motion.u, motion.p)[0])
        reported = [label for label, value in zip(slot.labels, values, strict=True) if not value <= e.limits.condition]
    reported = reported or dependent_constraints(motion)
    return f"singular configuration: {'; '.join(reported)}" if reported else ""


def dependent_constraints(motion: Motion) -> list[str]:
    """A sentence on constraints of position whose gradients are nearly dependent."""
    e = motion.equations
    at = [i for i, constraint in enumerate(e.constraints) if constraint.level == "position"]
    if not at:
        return []
    jacobians = deviations_of(e).derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    gradient = jacobians.constraints[0][at][:, : len(e.coordinates)]
    left, values, _ = np.linalg.svd(gradient, full_matrices=False)
    if values[-1] >= NEARLY * values[0]:
        return []
    names = [repr(e.constraints[i].name) for i, share in zip(at, left[:, -1], strict=True) if abs(share) > 0.1]
    return [
        f"the constraints {', '.join(names)} are nearly dependent"
        if len(names) > 1
        else f"the constraint {names[0]} hardly depends on the coordinates"
    ]

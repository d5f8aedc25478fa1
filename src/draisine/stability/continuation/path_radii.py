"""Radii of the paths on which wheels touch the ground in a steady turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.stability.batch_evaluation import BatchProgram
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]

STRAIGHT = 1e-9  # rad/s: slower turns are none


def path_radii(equations: Equations, x: Array, u: Array, p: Array) -> dict[str, Array]:
    """`NAME_path_radius` of each wheel at points: speed of its point of contact over its rate of turning, positive to the left,
    infinite on a straight path."""
    labels = equations.motion.output("outputs").labels if equations.outputs else ()
    wheels = [n.removesuffix("_track_heading") for n in labels if n.endswith("_track_heading")]
    wheels = [n for n in wheels if f"{n}_contact_x" in labels and f"{n}_contact_y" in labels]
    if not wheels:
        return {}
    deviations = deviations_of(equations)
    jacobians = deviations.derivatives(0.0, x, u, p)
    by_state = BatchProgram(deviations.observing)(np.zeros((len(x), 1)), x, u, p)[0]
    rates = (by_state @ jacobians.w[..., None])[..., 0]
    found = {}
    for wheel in wheels:
        along = [rates[:, labels.index(f"{wheel}_contact_{axis}")] for axis in "xy"]
        turn = rates[:, labels.index(f"{wheel}_track_heading")]
        straight = np.abs(turn) <= STRAIGHT
        found[f"{wheel}_path_radius"] = np.where(straight, np.inf, np.hypot(*along) / np.where(straight, 1.0, turn))
    return found

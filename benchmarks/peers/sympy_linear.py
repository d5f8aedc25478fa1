"""SymPy's linear model of the bicycle about straight riding: `KanesMethod.linearize` at an operating point, in numbers.

As a program it takes the speed and prints, as JSON, the seconds that deriving and linearizing took, and the eigenvalues of lean
and steer as pairs of real and imaginary part.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from peers import pydy_bicycle
from peers.pydy_bicycle import CONSTANTS, COORDINATES, SPEEDS


def main(speed: float) -> None:
    """The operating point is put in before the products are formed, as SymPy's documentation advises; Cramer's rule solves."""
    import sympy.physics.mechanics as me

    known = pydy_bicycle.constants()
    began = time.perf_counter()
    made = pydy_bicycle.derive()
    derived = time.perf_counter()
    q, u, t = made.coordinates, made.speeds, me.dynamicsymbols._t
    at = dict(zip(COORDINATES, [0.0] * 7 + [np.pi / 10], strict=True))
    moving = dict(zip(SPEEDS, (0.0, 0.0, -speed / known["rR"], 0.0, 0.0, -speed / known["rF"]), strict=True))
    point = {s: 0 for s in [one.diff(t) for one in u]}
    point |= dict(zip(u, moving.values(), strict=True)) | dict(zip(q, at.values(), strict=True))
    point |= dict(zip([one.diff(t) for one in q], [speed, 0, 0, 0, moving["rear_spin"], moving["front_spin"], 0, 0], strict=True))
    numbers = dict(zip(made.constants, [known[name] for name in CONSTANTS], strict=True))
    matrix, _ = made.kane.linearize(A_and_B=True, op_point=[point, numbers], linear_solver="CRAMER")
    values = np.linalg.eigvals(np.array(matrix.evalf().tolist(), dtype=float))
    done = time.perf_counter()
    lateral = [[v.real, v.imag] for v in values if abs(v) > 1e-6]
    print(json.dumps({"derive": derived - began, "linearize": done - derived, "eigenvalues": lateral}))


if __name__ == "__main__":
    main(float(sys.argv[1]))

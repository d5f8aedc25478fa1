"""The state of equations nearest to given values of coordinates, velocities and outputs.

Values from another description of a mechanism fulfil the constraints up to their digits only. In a closed loop they are more than
the freedoms, and no state has exactly these values: the nearest one has them up to digits, or the descriptions differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.verify.sample_states import Motion, SampleState, report_at
from draisine.numerics.newton import LeastNorm, Newton

Reals = NDArray[np.float64]
Evaluate = Callable[[Reals], tuple[Reals, Reals]]
Given = Sequence[tuple[int, float]]  # places and values

DIGITS = 1e-9  # residual of constraints and values that counts as rounding; relative for values above 1
_NEAR = Newton(acceptable=DIGITS, step_tolerance=1e-13, max_iterations=20)
_ONTO = Newton(tolerance=1e-14, acceptable=1e-11, max_iterations=10)


def nearest_state(motion: Motion, values: Mapping[str, float], t: float, u: Reals) -> SampleState | None:
    """The admissible state in which the named quantities of motion have the values, up to their digits; None if there is none."""
    e, count = motion.e, len(motion.e.constraints)
    outputs = [(k, values[name]) for k, name in enumerate(motion.names) if k >= count and name in values]
    at_position = {k for k, c in enumerate(e.constraints) if c.level == "position"}
    v = np.array([values.get(c.name, c.default) for c in e.velocities])

    def of_position(y: Reals) -> tuple[Reals, Reals]:
        found = motion(t, y, v, u)
        return found["values"], found["by_q"]

    q = np.array([values.get(c.name, c.default) for c in e.coordinates])
    own = [(k, values[c.name]) for k, c in enumerate(e.coordinates) if c.name in values]
    slow = [(k, value) for k, value in outputs if not motion.by_velocity[k]]
    found = _nearest(of_position, q, sorted(at_position), slow, own)
    if found is None:
        return None
    q = found

    def of_velocity(y: Reals) -> tuple[Reals, Reals]:
        found = motion(t, q, y, u)
        return found["values"], found["by_v"]

    own = [(k, values[c.name]) for k, c in enumerate(e.velocities) if c.name in values]
    fast = [(k, value) for k, value in outputs if motion.by_velocity[k]]
    found = _nearest(of_velocity, v, [k for k in range(count) if k not in at_position], fast, own)
    if found is None:
        return None
    order = {velocity.name: i for i, velocity in enumerate(e.velocities)}
    x = np.concatenate([q, [found[order[name]] for name in e.independent], [s.default for s in e.extra_states]])
    state = SampleState(t, q, found, x, u)
    return SampleState(t, q, report_at(e, state)["v"], x, u) if len(found) else state


def _nearest(evaluate: Evaluate, y: Reals, rows: list[int], outputs: Given, own: Given) -> Reals | None:
    """The constraints exactly, the values of outputs and unknowns up to digits; None if that is not possible."""

    def constraints_and_values(y: Reals) -> tuple[Reals, Reals]:
        values, jacobian = evaluate(y)
        parts = [(values[rows], jacobian[rows])]
        for given, amounts, matrix in ((outputs, values, jacobian), (own, y, np.eye(len(y)))):
            places, wanted = [k for k, _ in given], np.array([value for _, value in given])
            size = np.maximum(1.0, np.abs(wanted))
            parts.append(((amounts[places] - wanted) / size, matrix[places] / size[:, None]))
        return np.concatenate([r for r, _ in parts]), np.vstack([j for _, j in parts])

    def constraints(y: Reals) -> tuple[Reals, Reals]:
        values, jacobian = evaluate(y)
        return values[rows], jacobian[rows]

    near = _NEAR.solve(constraints_and_values, y, LeastNorm())
    if not near.converged or not rows:
        return near.point.x if near.converged else None
    onto = _ONTO.solve(constraints, near.point.x, LeastNorm())
    return onto.point.x if onto.converged else None

"""Along random lines through random right-hand sides, every jump that bisection finds has a switch that changes there."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.program.branches import branches_at
from draisine.program.switching import find_switching
from switching_problems import P, T, U, X, expression, system


@pytest.mark.parametrize("seed", [1004, 1010, 1119, 1123, 1174, *range(1200, 1212)])
def test_every_jump_has_a_switch(seed):
    rng = np.random.default_rng(seed)
    equations = system([expression(rng, int(rng.integers(2, 4)), [T, X[0], X[1], U, P]) for _ in range(2)])
    switching = find_switching(equations)
    begin, end = (np.concatenate([rng.uniform(-2, 4, 1), rng.uniform(-2, 2, 2)]) for _ in range(2))
    u, p = rng.uniform(-1, 1, 1), rng.uniform(0.5, 2, 1)

    def at(s):
        return begin + s * (end - begin)

    def rate(s):
        return np.array(equations.dynamics([at(s)[0]], at(s)[1:], u, p)[0])

    def branches(s):
        return branches_at(switching, float(at(s)[0]), at(s)[1:], u, p).values

    grid = np.linspace(0.0, 1.0, 601)
    values = np.array([rate(s) for s in grid])
    for k in np.argsort(-np.abs(np.diff(values, axis=0)).max(axis=1))[:6]:
        low, high, left, right = grid[k], grid[k + 1], values[k], values[k + 1]
        for _ in range(32):
            middle = 0.5 * (low + high)
            value = rate(middle)
            if np.abs(value - left).max() > np.abs(right - value).max():
                high, right = middle, value
            else:
                low, left = middle, value
        if np.abs(right - left).max() > 1e-6:
            assert switching is not None
            assert (branches(low - 1e-10) != branches(high + 1e-10)).any()

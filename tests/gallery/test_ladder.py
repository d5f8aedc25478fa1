"""The ladder of hinged links: a mechanism full of loops against the same mechanism in angles."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.codegen.jit.kernel import compile
from draisine.gallery.entries.ladder import SLANT, ladder, ladder_by_angles, ladder_swings


def test_degrees_of_freedom():
    equations = ladder(4)
    assert len(equations.coordinates) == 36 and len(equations.multipliers) == 32
    assert {m.unit for m in equations.multipliers} == {"N"}


def test_accelerations_at_rest_are_those_in_angles():
    """Let go from the slant: every rail turns by the second derivative of its angle, every rung moves and does not turn."""
    whole, small = ladder(5), ladder_by_angles(5)
    states = [np.array([s.default for s in e.states]) for e in (whole, small)]
    slopes = [compile(e.dynamics)([0.0], x, [], e.default_parameters)[0] for e, x in zip((whole, small), states, strict=True)]
    rates = dict(zip((v.name for v in whole.velocities), slopes[0][45:], strict=True))
    turns = slopes[1][5:]
    down, length = np.array([np.cos(SLANT), np.sin(SLANT)]), 0.3
    for k in range(1, 6):
        moved = length * turns[:k].sum() * down
        assert [rates[f"rung{k}_x_rate"], rates[f"rung{k}_z_rate"]] == pytest.approx(moved, rel=1e-10)
        assert rates[f"rung{k}_angle_rate"] == pytest.approx(0.0, abs=1e-9)
        for side in ("left", "right"):
            assert rates[f"{side}{k}_angle_rate"] == pytest.approx(turns[k - 1], rel=1e-10)


def test_one_cell_swings_as_a_compound_pendulum():
    """Small swings of one cell: ω² = g (m_rail l + m_rung l) / (2/3 m_rail l² + m_rung l²), by hand."""
    rail, rung, length = 0.2, 0.5, 0.3
    rate = np.sqrt(9.81 * (rail + rung) / ((2 / 3 * rail + rung) * length))
    size = 1e-5
    start = {"left1_angle": size, "right1_angle": size, "rung1_angle": 0.0}
    run = dr.simulate(ladder(1), 2.0, start=start, method=dr.methods.DOP853(rtol=1e-12, atol=1e-15))
    assert run["left1_angle"] == pytest.approx(size * np.cos(rate * run.time), abs=1e-8 * size + 1e-3 * size**2)


def test_study_holds():
    study = ladder_swings(until=2.0, cells=3)
    assert set(study.figures) == {"ladder", "lowest_rung"}


def test_a_ladder_needs_a_cell():
    with pytest.raises(dr.errors.ArgumentError, match="at least one cell, got 0"):
        ladder(0)

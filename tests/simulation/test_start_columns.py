"""Jacobians column by column: against all entries at once, and in the start of a long train against its kinematics."""

from __future__ import annotations

import numpy as np

import draisine as dr
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.evaluation import Evaluation
from draisine.simulation.initial.problem import StartProblem


def test_columns_are_the_entries() -> None:
    problem = StartProblem(dr.derive(dr.gallery.bicycle()))
    e = problem.equations
    given = 0.0, np.zeros(len(e.inputs)), e.default_parameters
    assert not problem.by_columns
    at_once = problem.evaluation(given)
    known = {"t": np.zeros(1), "q": problem.defaults[0], "v": problem.defaults[1], "u": given[1], "p": given[2]}
    patterns = {"q": problem.by_q, "v": problem.by_v}
    by_columns = Evaluation.by_columns(known, e.motion.inputs, len(problem.names), problem.along, patterns)
    random = np.random.default_rng(2)
    q, v = problem.defaults[0] + 0.1 * random.standard_normal(len(e.coordinates)), random.standard_normal(len(e.velocities))
    for of in ("q", "v"):
        values, entries = (np.array(part) for part in at_once(q, v, of))
        found, columns = by_columns(q, v, of)
        np.testing.assert_allclose(found, values, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(columns, entries, rtol=1e-12, atol=1e-13)
        assert np.count_nonzero(entries) > 20


def test_the_start_of_a_long_train() -> None:
    """Axles follow: θ̇ₖ = vₖ₋₁ sin(θₖ₋₁ − θₖ)/L, vₖ = vₖ₋₁ cos(θₖ₋₁ − θₖ)."""
    count, speed, turn = 60, 2.0, 0.3
    bent = {f"hitch{k}": 0.6 * float(np.sin(1.3 * k)) for k in range(1, count + 1)}
    problem = StartProblem(dr.derive(dr.gallery.trailers(count)))
    assert problem.by_columns
    start = consistent_start(problem, {"vehicle_vx": speed, "vehicle_heading_rate": turn, **bent})
    length = float(problem.equations.default_parameters[[p.name for p in problem.equations.parameters].index("l_trailer")])
    v, rate = speed, turn
    for k, angle in enumerate(bent.values(), 1):
        own = -v * np.sin(angle) / length
        assert abs(start.velocities[f"hitch{k}_rate"] - (own - rate)) < 1e-12
        v, rate = v * np.cos(angle), own
    assert v < 0.02

"""A singular algebraic constraint: its two branches have different indices (Thomsen 2005, example 1.1).

    y₁′ = y₃,   0 = y₂ (1 − y₂),   0 = y₁ y₂ + y₃ (1 − y₂) − t

What it shows: the index belongs to a solution, not to equations alone. With y₂ = 0 the last equation gives y₃ = t, and y₁(0) is
free: index 1. With y₂ = 1 it gives y₁ = t, no initial value is free, and y₃ = 1 follows only after a differentiation: index 2.
Structural analysis finds the first; ranks at a consistent point find both.

What you should see: y₁ = y₁(0) + t²/2 on the first branch, y₁ = t on the second, both by an explicit method after the index of
that branch has been reduced.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.view.plots.trajectories import channel_figure


def singular_constraint() -> dr.Equations:
    """Three equations whose algebraic part has two branches: index 1 on the one, index 2 on the other."""
    y1, y2, y3, t = sp.symbols("y1 y2 y3 t")
    return dr.symbolic.semi_explicit(
        "singular_constraint",
        {y1: y3},
        constraints={"switch": y2 * (1 - y2), "blend": y1 * y2 + y3 * (1 - y2) - t},
        unknowns=[y2, y3],
        start={y1: 0.5},
    )


@entry(level="Intermediate")
def singular_constraint_branches(until: float = 2.0) -> Study:
    """Both branches of a singular constraint: their indices and their solutions."""
    equations = singular_constraint()
    reports = [dr.dae.index_of(equations, {"y2": branch}) for branch in (0.0, 1.0)]
    first, second = (dr.dae.reduce_index(equations, at={"y2": branch}) for branch in (0.0, 1.0))
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    runs = {
        "index_1": dr.simulate(first, until, start={"y1": 0.5, "y2": 0.0}, method=method),
        "index_2": dr.simulate(second, until, start={"y2": 1.0}, method=method),
    }
    one, two = runs.values()
    apart = (
        float(np.max(np.abs(one["y1"] - 0.5 - one.time**2 / 2))),
        float(np.max(np.abs(two["y1"] - two.time))),
        float(np.max(np.abs(two["y3"] - 1.0))),
    )

    assert [r.differential for r in reports] == [1, 2] and [r.structural for r in reports] == [1, 1]
    assert [r.freedoms for r in reports] == [1, 0]
    assert [r.elsewhere[0].differential for r in reports] == [2, 1]  # each report mentions the other branch
    assert max(apart) < 1e-9, apart
    figures = {"branches": channel_figure(one, "y1", "y3"), "second_branch": channel_figure(two, "y1", "y3")}
    findings = tuple(sentence for report in reports for sentence in (*report.sentences, *map(str, report.steps)))
    return Study("A singular algebraic constraint, branch by branch", runs, figures, findings)

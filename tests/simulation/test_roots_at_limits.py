"""Laws whose slope is infinite at the limit that the motion reaches: the status says so."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.results.status import Ending

h = sp.Symbol("h")


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (-sp.sqrt(sp.Max(h, 0)), "max(0, h)"),
        (sp.Piecewise((-sp.sqrt(h), h > 0), (0, True)), "h > 0"),
        (-sp.sign(h) * sp.sqrt(sp.Abs(h)), "abs(h)"),
    ],
)
def test_a_tank_that_runs_empty_ends_there(law: sp.Expr, name: str) -> None:
    """Torricelli: h = (√h₀ − t/2)² until t = 2 √h₀."""
    for start in (1.0, 0.3):
        run = dr.simulate(dr.first_order("tank", {h: law}), 3.0, start={"h": start})
        assert run.status.kind is Ending.NOT_FINITE
        assert f"reaches the limit of {name} at t = {2 * np.sqrt(start):.6g} s" in str(run.status)
        assert "the law as written has one" in str(run.status)
        assert run["h"][-1] == pytest.approx(0.0, abs=1e-9)


def test_the_cure_of_the_status_passes() -> None:
    run = dr.simulate(dr.first_order("tank", {h: -h / sp.sqrt(sp.Max(h, 0) + 1e-6)}), 3.0, start={"h": 1.0})
    assert run.status.kind is Ending.FINISHED
    assert run["h"][-1] == pytest.approx(0.0, abs=1e-6)

"""What single runs warn of is visible in ensembles: in a column, in the counts of the summary, and after resuming."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sympy import Abs, Symbol, sqrt
from sympy.abc import k, w, x, y
from tests.dynamics.overconstrained import ParallelCranks

import draisine as dr

t = Symbol("t")


def line(**given: object) -> dr.Equations:
    """ẋ = 1, with a parameter w."""
    return dr.first_order("line", {x: 1 + 0 * w}, parameters={w: 1.0}, start={x: 0.0}, **given)


@pytest.mark.parametrize("side_by_side", [1, 20])
def test_events_that_are_too_fast(side_by_side: int) -> None:
    """As in single runs: which of them, and how many."""
    rates = np.resize([10.0, 9000.0, 20.0, 12000.0], side_by_side + 3)
    events, method = [dr.Event("fast", "cos(w*x)")], dr.methods.RK4(1.0)
    found = dr.ensemble(line(), 1.0, {"w": rates}, events=events, method=method)
    for rate, text in zip(rates, found["warnings"], strict=True):
        run = dr.simulate(line(), 1.0, parameters={"w": rate}, events=events, method=method)
        alone = [one for one in run.status.warnings if "varies too fast" in one]
        assert ("event 'fast' varies too fast" in text) == bool(alone) == (rate > 100)
    (warning,) = found.warnings
    assert warning.startswith(f"in {int((rates > 100).sum())} runs event 'fast' varies too fast")
    assert warning in str(found)


def test_stiff_equations() -> None:
    """An explicit method that was asked for: the stiff ones among the runs are counted."""
    model = dr.first_order("decay", {x: y, y: -k * (x + y)}, parameters={k: 1.0}, start={x: 1.0})
    method = dr.methods.DOP853()
    found = dr.ensemble(model, 2.0, {"k": [1.0, 3e4]}, method=method)
    alone = [dr.simulate(model, 2.0, parameters={"k": value}, method=method).status.warnings for value in (1.0, 3e4)]
    assert [bool(texts) for texts in alone] == [False, True]
    assert [bool(text) for text in found["warnings"]] == [False, True]
    assert "in 1 run the equations are stiff" in found.warnings[0]


def test_outputs_that_are_not_finite() -> None:
    model = dr.first_order("root", {x: -1 + 0 * w}, parameters={w: 1.0}, start={x: 0.0}, outputs={"r": sqrt(w + x)})
    found = dr.ensemble(model, 1.0, {"w": [0.5, 2.0]}, outputs=["r"])
    assert found["warnings"].tolist() == ["r is not finite", ""]
    assert any("not finite: r" in text for text in dr.simulate(model, 1.0, parameters={"w": 0.5}).status.warnings)


def test_runs_with_switching_functions() -> None:
    """Runs with switching functions are single ones, and carry their warnings."""
    model = dr.first_order("noisy", {x: Abs(y), y: 1 + 0 * w}, parameters={w: 1.0}, start={x: 0.0, y: -0.5})
    assert dr.ensemble(model, 1.0, {"w": [1.0, 2.0]}).warnings == ()
    events, method = [dr.Event("fast", "cos(9000*y)")], dr.methods.RK4(1.0)
    found = dr.ensemble(model, 1.0, {"w": [1.0, 2.0]}, events=events, method=method)
    run = dr.simulate(model, 1.0, events=events, method=method)
    assert bool(found.warnings) == bool(run.status.warnings)


def test_warnings_are_stored_and_resumed(tmp_path: Path) -> None:
    given = {"events": [dr.Event("fast", "cos(w*x)")], "method": dr.methods.RK4(1.0), "chunk": 2}
    over = {"w": [10.0, 9000.0, 9000.0, 20.0, 9000.0]}
    plain = dr.ensemble(line(), 1.0, over, **given)
    for name in ("parts", "parts.zarr"):
        stored = dr.ensemble(line(), 1.0, over, **given, out=tmp_path / name)
        again = dr.ensemble(line(), 1.0, over, **given, out=tmp_path / name)
        assert stored.warnings == again.warnings == plain.warnings and len(plain.warnings) == 1
        assert again["warnings"].tolist() == plain["warnings"].tolist()


def test_warnings_about_the_model() -> None:
    """Redundant constraints are the same in every run."""
    model = ParallelCranks([1.0, 1.0, 1.0, 2.0], 0.4).model()
    run = dr.simulate(model, 0.1)
    found = dr.ensemble(model, 0.1, {"start.phi0_rate": [0.0, 1.0]})
    assert found.statuses == {"FINISHED": 2} and found.warnings
    assert set(run.status.warnings) == set(found.warnings)

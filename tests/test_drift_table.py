"""The table of drift controls, and the command that prints it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import draisine as dr
from draisine.cli.main import main
from draisine.errors import SimulationError
from draisine.simulation.compare_drift import DriftTable


@pytest.fixture(scope="module")
def four_bar() -> DriftTable:
    return dr.compare_drift(dr.gallery.four_bar(), 2.0, start={"crank_angle_rate": 5.0}, step=0.005)


def test_a_four_bar_under_every_control(four_bar: DriftTable) -> None:
    plain = four_bar["none"]
    assert plain.position > 1e-6 and plain.velocity > 1e-6
    assert plain.acceleration < 1e-9  # that is what is solved for
    for name in ("projection", "projection, invariants too", "kernel reduction", "minimal coordinates", "RATTLE"):
        assert four_bar[name].position < 1.1e-11, name
        assert four_bar[name].velocity < 1.1e-11, name
        assert four_bar[name].acceleration < 1e-8, name
    assert four_bar["velocity projection"].velocity < 1.1e-11 < four_bar["velocity projection"].position < plain.position
    assert four_bar["coordinate projection"].position < 1.1e-11 < four_bar["coordinate projection"].velocity
    assert four_bar["Baumgarte"].position < 0.1 * plain.position
    assert four_bar["Baumgarte"].acceleration > 1e-6  # the price of the feedback
    assert four_bar["projection, invariants too"].energy < 1e-13
    assert four_bar["none"].evaluations == 4 * four_bar["none"].steps + 1
    assert all(row.seconds > 0 for row in four_bar.rows if not row.refused)


def test_the_acceleration_level_is_what_baumgarte_feeds_back() -> None:
    """f̈ = −2α ḟ − β f: the largest of a run is bounded by the largest residuals."""
    table = dr.compare_drift(dr.gallery.simple_pendulum(), 2.0, step=0.01)
    row, alpha = table["Baumgarte"], 25.0
    assert row.acceleration <= 2 * alpha * row.velocity + alpha**2 * row.position + 1e-12
    assert row.acceleration > 0.1 * (2 * alpha * row.velocity)


def test_what_does_not_apply_says_why() -> None:
    table = dr.compare_drift(dr.gallery.rolling_disk(), 0.5, start={"speed": 1.5, "lean_rate": 0.2}, step=0.01)
    for name in ("minimal coordinates", "RATTLE"):
        assert "disk_x" in table[name].refused and np.isnan(table[name].position)
    text = str(table)
    assert "does not apply" in text and "RATTLE is for holonomic constraints" in text
    with pytest.raises(KeyError, match="no row 'Rattle'; it has none, "):
        table["Rattle"]


def test_invariants_of_a_first_order_system() -> None:
    table = dr.compare_drift(dr.gallery.three_body(), 2.0, step=1e-3, invariants=("jacobi",))
    changes = {row.name: dict(row.invariants)["jacobi"] for row in table.rows if not row.refused}
    assert changes["none"] > 1e-13
    assert changes["projection, invariants too"] < 5e-15
    assert "jacobi" in str(table)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare-drift", "simple_pendulum", "--until", "1", "--step", "0.01"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].startswith("pendulum_of_1, 1 s, RK4")
    assert main(["compare-drift", "rolling_disk", "--until", "0.2", "--tolerance", "1e-6", "--json", "--speed", "5"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["none"]["position"] < 1e-6
    assert "holonomic" in rows["RATTLE"]["refused"]
    assert main(["compare-drift", "bicycle", "--sped", "5"]) == 2
    assert "sped" in capsys.readouterr().err


@pytest.mark.parametrize("given", [{"step": 0.01}, {}])
def test_endless_runs_are_refused_at_once(given: dict[str, float]) -> None:
    with pytest.raises(SimulationError, match=r"until = 1e\+12 s takes .* steps.*give a shorter until, a larger step"):
        dr.compare_drift(dr.gallery.simple_pendulum(), 1e12, **given)

"""A cable is a constraint in both directions: runs in which it would have to push say so, single ones and ensembles."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.model.files import read_model, write_model
from draisine.model.model import Model

GRAVITY = 9.81


def bob(kind: str, length: float) -> Model:
    """A mass on a cable or rod from the origin, free in a vertical plane."""
    m = Model("bob")
    m.body("bob", mass=2.0, inertia=(0.01, 0.01, 0.01))
    m.prismatic("x", "ground", m.body("slide", mass=1e-9), axis="x", rate="vx")
    m.prismatic("z", "slide", "bob", axis="z", default=-length, rate="vz")
    if kind == "cable":
        m.cable("line", ["ground", "bob"], length)
    else:
        m.rod("line", "ground", "bob", length)
    return m


def test_random_swings_are_slack_where_the_closed_form_says():
    """From the lowest point with speed v the tension m (v²/l + g (3 cos φ − 2)) changes its sign if 2 g l < v² < 5 g l."""
    rng = np.random.default_rng(2)
    for _ in range(6):
        length = rng.uniform(0.3, 3.0)
        ratio = rng.uniform(0.5, 7.0)  # v² / (g l)
        run = dr.simulate(
            bob("cable", length), 1.5 * np.sqrt(length), start={"vx": np.sqrt(ratio * GRAVITY * length)}, samples=2000
        )
        text = " ".join(run.status.warnings)
        assert ("cable line would be slack" in text) == (run["line_multiplier"].max() > 0)
        top = np.arctan2(run["x"], -run["z"])
        tension = 2.0 * GRAVITY * (ratio + 3 * np.cos(top) - 2)
        np.testing.assert_allclose(-run["line_multiplier"], tension, atol=1e-4 * tension.max())
        assert ("cable" in text) == bool(tension.min() < -1e-6)


def test_rods_push_without_a_word():
    run = dr.simulate(bob("rod", 1.0), 1.5, start={"vx": np.sqrt(3.5 * GRAVITY)})
    assert run["line_multiplier"].max() > 0 and "slack" not in " ".join(run.status.warnings)


def test_ensembles_count_slack_cables():
    speeds = [np.sqrt(ratio * GRAVITY) for ratio in (1.0, 3.5, 6.0)]
    found = dr.ensemble(bob("cable", 1.0), 1.5, {"vx": speeds}, outputs=["x"])
    assert [bool(x < 0) for x in found["least_tension"]] == [False, True, False]
    assert list(found.survived()) == [True, False, True]
    assert any("in 1 run a cable would be slack" in text for text in found.warnings)


def test_files_keep_a_cable_between_two_points(tmp_path):
    for kind in ("cable", "rod"):
        write_model(bob(kind, 1.0), tmp_path / f"{kind}.toml")
        (line,) = read_model(tmp_path / f"{kind}.toml").freeze().constraints
        assert line.only_pulls == (kind == "cable")


def test_an_event_ends_the_run_where_the_cable_becomes_slack():
    slack = dr.Event("slack", "line_multiplier", "stop")
    run = dr.simulate(bob("cable", 1.0), 3.0, start={"vx": np.sqrt(3.5 * GRAVITY)}, events=[slack])
    assert run.status.kind == "EVENT"
    assert np.cos(np.arctan2(run["x"][-1], -run["z"][-1])) == pytest.approx((2 - 3.5) / 3, abs=1e-6)

"""`run.modes.needs`: friction that contacts need, how far they are from lifting, and which one decides, by closed forms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from package_models import block, plane

import draisine as dr
from draisine.errors import DataError
from draisine.results.contact_needs import ContactNeeds

G = 9.81


def on_slope(slope: float, friction: float) -> dr.Model:
    m, carriage = plane("on_slope", slope)
    body = m.body("body", mass=2.0)
    m.fixed("held", carriage, body)
    m.contact("floor", body, friction=friction)
    return m


def test_a_block_on_a_slope_needs_its_tangent() -> None:
    run = dr.simulate(on_slope(0.3, 0.5), 0.5, start={"z": 0.0})
    need = run.modes.needs["floor"]
    assert need.needed == pytest.approx(math.tan(0.3), abs=1e-12) and need.allowed == 0.5
    assert need.least_force == pytest.approx(2 * G * math.cos(0.3), abs=1e-11)
    assert need.used == pytest.approx(math.tan(0.3) / 0.5, abs=1e-12) and math.isnan(need.least_gap)
    assert (run.modes.needs.decides, run.modes.needs.why) == ("floor", "friction")
    assert "needs friction 0.3093 of 0.5 to stick" in str(run.modes)
    with pytest.raises(KeyError, match="contacts are floor"):
        run.modes.needs["ceiling"]
    slides = dr.simulate(on_slope(0.3, 0.1), 0.5, start={"z": 0.0, "x_rate": 1.0})
    assert math.isnan(slides.modes.needs["floor"].used)
    holds = dr.simulate(on_slope(0.3, math.inf), 0.5, start={"z": 0.0})
    assert holds.modes.needs["floor"].used == 0.0


def test_the_edge_that_is_relieved_decides() -> None:
    """A block pulled at its base, forward by a: the load moves back by a h/(2 g)."""
    m = block(0.4, 1.0, 2.0)
    m.generalized_force("x", m.input("pull", "N"))
    run = dr.simulate(m, 0.5, start={"x": 0.0, "z": 0.0, "tilt": 0.0}, inputs={"pull": 3.0}, samples=11)
    needs = run.modes.needs
    total = needs["left"].least_force + needs["right"].least_force
    assert total == pytest.approx(G, abs=1e-6)
    assert needs["left"].mean_force == pytest.approx(needs["left"].least_force, rel=1e-6)  # nothing changes over the run
    assert needs.decides in ("left", "right") and needs.why == "friction"


def test_gaps_stops_and_dry_friction() -> None:
    m = dr.Model("door")
    m.gravity(0)
    leaf = m.body("leaf", mass=20, center_of_mass=(0.4, 0, 0), inertia=(0.1, 1.1, 1.1))
    m.revolute("hinge", "ground", leaf, limits=(0, "110 deg"), restitution=0.3, friction=(0.8, 0.5))
    m.generalized_force("hinge", m.input("push", "N*m"))
    run = dr.simulate(m, 1.0, start={"hinge": 0.5, "hinge_rate": 0.0}, inputs={"push": "0.6*t"}, samples=101)
    friction = run.modes.needs["hinge_friction"]
    assert (friction.needed, friction.allowed) == (pytest.approx(0.6), 0.8)
    assert run.modes.needs["hinge_low"].least_gap == pytest.approx(0.5)
    assert math.isnan(run.modes.needs["hinge_low"].least_force)
    assert run.modes.needs.decides == "hinge_friction"
    moves = dr.simulate(m, 0.1, start={"hinge": 0.5, "hinge_rate": 1.0}, samples=5)
    assert math.isnan(moves.modes.needs["hinge_friction"].needed)


def test_files_keep_the_needs(tmp_path: Path) -> None:
    run = dr.simulate(on_slope(0.3, 0.5), 0.2, start={"z": 0.0}, samples=5)
    run.save(tmp_path / "run.csv")
    assert dr.load(tmp_path / "run.csv").modes.needs.described() == run.modes.needs.described()
    data = run.modes.needs.described()
    np.testing.assert_equal(ContactNeeds.from_data(data).described(), data)
    for damaged in ([["floor", 1.0]], [[1, *range(8)]], [["floor", *range(7), "many"]], [["floor", *range(7), True]], ["floor"]):
        with pytest.raises(DataError, match="needs of contacts"):
            ContactNeeds.from_data(damaged)

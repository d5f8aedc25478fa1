"""Gallery entries of periodic motions: hunting of the wheelset, weave of the bicycle."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.hunting import free_hunting, suspended_hunting
from draisine.gallery.entries.weave import WEAVE_SPEED, bicycle_weaves
from draisine.gallery.entries.wheelset import wheelset
from draisine.simulation.run import integrate

pytestmark = pytest.mark.further


@pytest.fixture(scope="module")
def wheels():
    return dr.derive(wheelset(), work=False)


def test_free_hunting(wheels):
    cycle = free_hunting(wheels)
    assert cycle.period == pytest.approx(0.8426468, abs=1e-6)
    assert cycle.amplitude("lateral") == pytest.approx(9.4305e-3, abs=2e-6)
    assert cycle.stable is True and abs(cycle.multipliers[0]) == pytest.approx(1.406e-5, rel=0.01)
    assert cycle.ignorable == ("turn",)
    # half a period later it is on the other side: the track is symmetric
    run = cycle.run(samples=401)
    np.testing.assert_allclose(run["lateral"][200:], -run["lateral"][:201], atol=2e-8)


def test_a_small_change_of_held_hunting_fades_as_its_multiplier_says(wheels):
    """A plain run from a slightly changed start, over two periods."""
    cycle = suspended_hunting(wheels, 84.0)
    shot = cycle.shot
    values, vectors = np.linalg.eig(cycle.monodromy)
    place = int(np.argmin(np.abs(values - cycle.multipliers[0])))
    slow = np.real(vectors[:, place])
    change = 1e-3 * shot.flow.scales.min() * slow / np.abs(slow).max()
    begun = shot.flow.moved(0.0, shot.nodes[0], change, shot.p)
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    run = integrate(wheels, begun.x, 2 * cycle.period, parameters=shot.p, method=method)
    left = shot.flow.node(0.0, run.final_state, shot.p).values - shot.nodes[0].values
    expected = cycle.multipliers[0].real ** 2
    assert 0.2 < expected < 0.9
    assert float(left @ slow / (change @ slow)) == pytest.approx(expected, rel=0.02)


def test_hunting_is_supercritical(wheels):
    """The cycle shrinks into the centerd run at the critical speed, and nowhere below it."""
    branch = dr.stability.follow_cycle(suspended_hunting(wheels, 82.0), "speed", 75.0, first=0.2, largest=0.4)
    assert "equilibrium" in branch.ending
    assert branch.values[-1] == pytest.approx(79.90876, abs=0.01)
    assert np.all(np.diff(branch.values) < 0) and all(branch.stable)


def test_weave():
    study = bicycle_weaves((0.03, 0.1, 0.18, 0.24))
    assert set(study.runs) == {"cycle", "knocked"} and set(study.figures) == {"amplitude", "cycles", "knocked"}
    assert float(study.runs["cycle"]["speed"].max()) < WEAVE_SPEED

"""Changes of modes by columns: their records, and what ensembles count."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import draisine as dr
from draisine.results.contact_modes import ModeChange, RecordedChanges
from draisine.simulation.ensemble.job import SINGLE_BLOCK

G, E, MU, MASS = 9.81, 0.5, 0.2, 2.0


def thrown() -> dr.Model:
    """A particle above a floor with friction."""
    m = dr.Model("thrown")
    m.gravity(G)
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=MASS)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, friction=MU, restitution=E)
    return m


def test_records_are_those_of_the_closed_form() -> None:
    """Impulses m (1 + e) v and, while it slips, μ times that; the energy lost by both."""
    changes = dr.simulate(thrown(), 1.0, start={"z": 0.3, "x_rate": 4.0}).modes.changes
    assert isinstance(changes, RecordedChanges)
    v, u, t = math.sqrt(2 * G * 0.3), 4.0, math.sqrt(2 * 0.3 / G)
    impacts = [change for change in changes if change.impact]
    assert len(impacts) >= 2 and len(changes) == len(tuple(changes))
    for change in impacts[:2]:
        normal, along, across = change.impulse["floor"]
        assert change.time == pytest.approx(t, abs=1e-9)
        assert normal == pytest.approx(MASS * (1 + E) * v, rel=1e-8)
        assert along == pytest.approx(-MU * normal, rel=1e-8) and across == 0.0
        slower = u - MU * (1 + E) * v
        assert change.lost == pytest.approx(0.5 * MASS * (v**2 * (1 - E**2) + u**2 - slower**2), rel=1e-8)
        v, u = E * v, slower
        t += 2 * v / G


def test_a_record_is_a_sequence_that_equals_its_tuple() -> None:
    run = dr.simulate(thrown(), 1.0, start={"z": 0.3, "x_rate": 4.0})
    assert isinstance(run.modes.changes, RecordedChanges)
    changes = replace(run.modes.changes)
    assert len(changes) == len(run.modes) and changes.struck.any()
    assert "_made" not in vars(changes)  # counted without a record of each
    as_tuple = tuple(changes)
    assert changes == as_tuple and changes[:2] == as_tuple[:2] and changes[-1] is as_tuple[-1]
    assert changes != as_tuple[:-1] and changes != list(as_tuple)
    assert all(isinstance(change, ModeChange) for change in changes)
    assert changes.struck[:, 0].tolist() == [change.impact for change in as_tuple]
    assert run.modes.lost == sum(change.lost for change in as_tuple)


def test_ensembles_of_several_blocks_are_single_runs() -> None:
    """Whatever the number of threads: the same bits, modes and counts."""
    model, count = thrown(), SINGLE_BLOCK + 3
    speeds = np.linspace(0.5, 6.0, count)
    cases = {"start.x_rate": speeds, "start.z": np.full(count, 0.3)}
    keep = [dr.reductions.Final(), dr.reductions.ContactCounts()]
    one, two = (dr.ensemble(model, 1.0, cases=cases, outputs=["x", "z"], keep=keep, threads=threads) for threads in (1, 2))
    for name in one.names:
        assert np.array_equal(one[name], two[name], equal_nan=one[name].dtype == np.float64), name
    for k in (0, SINGLE_BLOCK - 1, SINGLE_BLOCK, count - 1):
        run = dr.simulate(model, 1.0, start={"z": 0.3, "x_rate": float(speeds[k])}, samples=[0.0, 1.0])
        assert (one["x.end"][k], one["z.end"][k]) == (run["x"][-1], run["z"][-1])
        assert one["floor.impacts"][k] == len(run.modes.impacts) and one["impacts.lost"][k] == run.modes.lost

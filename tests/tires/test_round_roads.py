"""Roads around a circle: what lies on them is met in every round, and has the shape that it has on a straight road."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, evaluate_number

roads = dr.contact.roads
RADIUS = 5.0
ROUND = 2 * np.pi * RADIUS


def on_circle(height: Expr, s: float, radius: float, center: tuple[float, float], aside: float = 0.0) -> float:
    x, y = center[0] + (radius - aside) * np.sin(s / radius), center[1] - (radius - aside) * np.cos(s / radius)
    return evaluate_number(height, {"x": x, "y": y})


def test_shapes_are_those_of_straight_roads_in_every_round() -> None:
    """Random circles and places, up to several rounds away; the straight shape is summed over all rounds."""
    rng = np.random.default_rng(21)
    for _ in range(12):
        radius, center, middle = rng.uniform(8, 60), tuple(rng.uniform(-9, 9, 2)), rng.uniform(-300, 300)
        whole = 2 * np.pi * radius
        s, _ = roads.circle(radius, center=center, middle=middle if rng.random() < 0.5 else 0.0)
        place, length = rng.uniform(-3 * whole, 3 * whole), rng.uniform(0.3, 0.9) * whole
        ends = 0.4 * min(length, whole - length)
        until = place + length - ends
        shapes = (
            (roads.bump(place, length, 0.1, along=s), roads.bump(place, length, 0.1), 0.0),
            (roads.gust(9.0, place, length, along=s), roads.gust(9.0, place, length, along="x"), 0.0),
            (roads.patch(place, length, 0.3, edge=ends, along=s), roads.patch(place, length, 0.3, edge=ends), 1.0),
            (roads.ramp(place, ends, 0.2, s, until), roads.ramp(place, ends, 0.2, until=until), 0.0),
            (roads.bank("5 deg", 2.0, s, place, ends, until), roads.bank("5 deg", 2.0, at=place, length=ends, until=until), 0.0),
        )
        for around, straight, level in shapes:
            for at in rng.uniform(-whole, whole, 12):
                near = at + whole * np.arange(-6, 7)
                expected = level + sum(evaluate_number(straight, {"x": x, "y": 0.0}) - level for x in near)
                assert on_circle(around, at, radius, center, aside=rng.uniform(-2, 2)) == pytest.approx(expected, abs=1e-9)


def boom(contact: object) -> dr.Model:
    """A wheel that is carried around the center of a circle."""
    m = dr.Model("boom")
    m.body("boom", 0)
    m.body("hub", 10.0, inertia=(1, 1, 1))
    m.revolute("turn", "ground", "boom", axis="z", at=(0, RADIUS, 0))
    m.prismatic("hop", "boom", "hub", axis="z", at=(0, -RADIUS, 0.3))
    m.wheel("tire", "hub", 0.3, contact=contact)
    return m


SPRUNG = dr.contact.LinearTire(0.0, None, 0.0, stiffness=2e5, damping=1500.0)
SAG = {"hop": -10 * 9.81 / 2e5}


@pytest.mark.parametrize("place", [20.0, 20.0 + 2 * ROUND])
def test_a_patch_is_met_in_every_round(place: float) -> None:
    """v² = v₀² − 2 g ∫μ ds m r²/(m r² + J), over more than two rounds."""
    m = boom(dr.contact.Coulomb(0.8, speed=1e-4))
    m.ground(friction=roads.patch(place, 3.0, 0.5, edge=0.05, along=roads.circle(RADIUS)[0]))
    run = dr.simulate(m, 4.0, start={"turn_rate": 33.0 / RADIUS})
    way = run["turn"] * RADIUS
    wet = sum(np.clip(way - 20.0 - k * ROUND, 0.0, 3.0) for k in range(3))
    assert run.status.complete and way[-1] > 2.2 * ROUND and len(run.switches) == 8
    speed = np.sqrt(33.0**2 - 2 * 0.8 * 9.81 * (way - 0.5 * wet) * 250 / 251)
    np.testing.assert_allclose(run["turn_rate"] * RADIUS, speed, atol=1e-6)


def test_a_bump_is_met_in_every_round_as_on_a_straight_road() -> None:
    m = boom(SPRUNG)
    m.ground(height=roads.bump(20.0, 3.0, 0.03, along=roads.circle(RADIUS)[0]))
    m.prescribe("drive", "turn", "2*t")
    run = dr.simulate(m, 3 * np.pi, start=SAG, samples=3001)
    straight = dr.Model("straight")
    straight.body("carriage", 0)
    straight.body("hub", 10.0, inertia=(1, 1, 1))
    straight.prismatic("way", "ground", "carriage", axis="x")
    straight.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, 0.3))
    straight.wheel("tire", "hub", 0.3, contact=SPRUNG)
    straight.prescribe("drive", "way", "10*t")
    straight.ground(height=roads.bump(20.0, 3.0, 0.03))
    once = dr.simulate(straight, np.pi, start=SAG, samples=1001)
    assert run.status.complete
    load = once["tire_normal_force"][150:]  # the start has decayed, and the bump begins at 636
    assert load.max() > 150.0
    for k in range(3):
        np.testing.assert_allclose(run["tire_normal_force"][1000 * k + 150 : 1000 * k + 1001], load, atol=2e-3)


def test_a_rough_road_closes() -> None:
    """Two rounds over the same roughness, and over waves that close: the second is the first, once the start has decayed."""
    s, _ = roads.circle(RADIUS)
    for height in ("rough", "waves"):
        m = boom(SPRUNG)
        m.prescribe("drive", "turn", "0.6*t")
        own = roads.rough(m, "surface", "A", length=30.0, seed=3, along=s, spacing=0.1)
        m.ground(height=own if height == "rough" else roads.waves(ROUND / 6, 0.01, along=s))
        run = dr.simulate(m, 2 * ROUND / (0.6 * RADIUS), start=SAG, samples=401)
        assert run.status.complete and run["hop"].std() > 1e-3
        np.testing.assert_allclose(run["hop"][20:200], run["hop"][220:400], atol=1e-7)


def test_what_does_not_close_is_refused() -> None:
    s, d = roads.circle(RADIUS)
    m = dr.Model("any")
    for make, reason in (
        (lambda: roads.bump(2.0, 40.0, 0.1, along=s), "bump: 40 m, with its ends, do not fit into the closed road, 31.4159 m"),
        (lambda: roads.patch(2.0, 31.4, 0.5, along=s), "patch: 31.6 m, with its ends"),
        (lambda: roads.patch(2.0, 0.1, 0.5, along=s), "patch: 0.2 m, with its ends, do not fit into its length, 0.1 m"),
        (lambda: roads.ramp(2.0, 3.0, 0.1, along=s), "ramp on a closed road must end"),
        (lambda: roads.bank("5 deg", d, s, at=2.0), "bank on a closed road must end"),
        (lambda: roads.ramp(2.0, 3.0, 0.1, until=4.0), "ramp: 3 m, with its ends, do not fit"),
        (lambda: roads.waves(3.0, 0.1, along=s), "10.472 waves do not close around the road; take a wavelength of 3.14159"),
        (lambda: roads.rough(m, "far", "A", 40.0, 1, along=s), "rough: 40 m"),
        (lambda: roads.rough(m, "any", "A", 20.0, 1, along=roads.circle("r")[0]), "needs a radius that is a number"),
    ):
        with pytest.raises(ArgumentError, match=reason):
            make()
    assert roads.bump("place", "length", 0.1, along=roads.circle("r")[0]) is not None  # of parameters

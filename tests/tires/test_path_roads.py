"""Roads along general paths: arc lengths, nearest points, derivatives against closed forms; shapes, runs, files, refusals."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipe, fresnel

import draisine as dr
from draisine.errors import ModelError
from draisine.expr.expression import Expr, evaluate_number
from draisine.model.contact.paths import GroundPath
from draisine.model.files import to_toml

roads = dr.contact.roads
RADIUS = 5.0
ROUND = 2 * np.pi * RADIUS
CIRCLE = {"curve": ("5*sin(p)", "5 - 5*cos(p)"), "between": (0, "2*pi"), "closed": True}


def made(name: str = "track", **described: object) -> GroundPath:
    return dr.Model("any").path(name, **described)  # type: ignore[arg-type]


def value(expression: Expr, path: GroundPath, x: float, y: float) -> float:
    return evaluate_number(expression, {"x": x, "y": y}, {f.name: f.at for f in path.functions})


def beside(path: GroundPath, s: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Points at distances to the left of the path."""
    heading = path.heading_at(s)
    return path.position(s) + d * np.stack([-np.sin(heading), np.cos(heading)])


def test_a_circle_as_a_curve_is_the_circle() -> None:
    """Random circles; coordinates, and all derivatives up to the third, against those of `circle`."""
    rng = np.random.default_rng(3)
    x, y = (ca.SX.sym(name) for name in "xy")
    for _ in range(4):
        radius, (a, b) = rng.uniform(4, 80), rng.uniform(-50, 50, 2)
        path = made(curve=(f"{a} + {radius}*sin(p)", f"{b} - {radius}*cos(p)"), between=(0, 2 * np.pi), closed=True)
        assert path.length == pytest.approx(2 * np.pi * radius, rel=1e-13)
        s, d = roads.circle(radius, center=(a, b))
        angle, away = rng.uniform(0, 2 * np.pi, 20), radius + rng.uniform(-0.5, 0.5, 20) * radius
        away = np.clip(away, radius - path.coordinates.width, radius + path.coordinates.width)
        for u, v in zip(a + away * np.sin(angle), b - away * np.cos(angle), strict=True):
            for own, exact in ((path.along, s), (path.across, d)):
                assert value(own, path, u, v) == pytest.approx(evaluate_number(exact, {"x": u, "y": v}), abs=1e-9 * radius)
        closed = (radius * ca.atan2(x - a, b - y), radius - ca.sqrt((x - a) ** 2 + (y - b) ** 2))
        for function, exact in zip(path.functions, closed, strict=True):
            both = [ca.vertcat(function(x, y)), ca.vertcat(exact)]
            for order in range(1, 4):
                both = [ca.vec(ca.jacobian(one, ca.vertcat(x, y))) for one in both]
                at = ca.Function("both", [x, y], both)
                own, other = (np.array(found) for found in at(a + away[0] * np.sin(angle[0]), b - away[0] * np.cos(angle[0])))
                # the derivatives are those of the quintic pieces, of which the third is that of the circle to 1e-4
                np.testing.assert_allclose(own, other, atol=(1e-10, 1e-8, 1e-4)[order - 1] / radius ** (order - 1))


def test_straight_points_are_a_line() -> None:
    heading, start = 0.7, (3.0, -2.0)
    along = np.array([0.0, 4.0, 9.0, 30.0])
    path = made(points=[(start[0] + r * np.cos(heading), start[1] + r * np.sin(heading)) for r in along])
    s, d = roads.line(heading, start)
    for x, y in np.random.default_rng(0).uniform(-10, 10, (20, 2)):
        assert value(path.along, path, x, y) == pytest.approx(evaluate_number(s, {"x": x, "y": y}), abs=1e-10)
        assert value(path.across, path, x, y) == pytest.approx(evaluate_number(d, {"x": x, "y": y}), abs=1e-10)


def test_arc_length_of_ellipse_and_clothoid() -> None:
    ellipse = made(curve=("60*cos(p)", "40*sin(p)"), between=(0, "2*pi"), closed=True)
    assert ellipse.length == pytest.approx(4 * 60 * ellipe(1 - (40 / 60) ** 2), rel=1e-13)
    assert ellipse.coordinates.reach == pytest.approx(40**2 / 60, rel=1e-9)
    bend = made(segments=[(20, 0), (15, 0, 0.05), ("10 m", 0.05)], start=(1, 2))
    size = np.sqrt(np.pi * 15 / 0.05)
    sine, cosine = fresnel(15 / size)
    np.testing.assert_allclose(bend.position(35.0), (21 + size * cosine, 2 + size * sine), atol=1e-12)
    assert bend.curvature_at(27.5) == pytest.approx(0.025, abs=1e-9) and bend.heading_at(45.0) == pytest.approx(0.875, abs=1e-12)


@pytest.mark.parametrize("closed", [False, True])
def test_shapes_along_random_splines_are_those_of_straight_roads(closed: bool) -> None:
    """Random points; on a closed path everything is met in every round, also where it passes the beginning."""
    rng = np.random.default_rng(11 + closed)
    for _ in range(3):
        angle = np.linspace(0, 2 * np.pi, 9)[:-1]
        if closed:
            points = (30 + rng.uniform(-4, 4, 8)) * np.stack([np.cos(angle), np.sin(angle)])
        else:
            points = np.stack([12.0 * np.arange(8), rng.uniform(-3, 3, 8)])
        path = made(points=points.T.tolist(), closed=closed)
        length, wide = path.length, path.coordinates.width
        begin = rng.uniform(0.5, 0.95) * length
        shapes = (
            (roads.bump(begin, 12.0, 0.1, along=path.along), roads.bump(begin, 12.0, 0.1), 0.0),
            (roads.patch(begin, 9.0, 0.3, edge=1.0, along=path.along), roads.patch(begin, 9.0, 0.3, edge=1.0), 1.0),
            (roads.ramp(begin, 3.0, 0.2, path.along, begin + 8.0), roads.ramp(begin, 3.0, 0.2, until=begin + 8.0), 0.0),
        )
        s, d = rng.uniform(0, length, 40), rng.uniform(-0.95, 0.95, 40) * wide
        for (x, y), at, aside in zip(beside(path, s, d).T, s, d, strict=True):
            assert value(path.across, path, x, y) == pytest.approx(aside, abs=1e-9)
            rounds = length * np.arange(-1, 2) if closed else [0.0]
            for own, straight, level in shapes:
                expected = level + sum(evaluate_number(straight, {"x": at + k, "y": 0.0}) - level for k in rounds)
                assert value(own, path, x, y) == pytest.approx(expected, abs=1e-8)


def boom(contact: object) -> dr.Model:
    """A wheel that is carried around the center of the circle."""
    m = dr.Model("boom")
    m.body("boom", 0)
    m.body("hub", 10.0, inertia=(1, 1, 1))
    m.revolute("turn", "ground", "boom", axis="z", at=(0, RADIUS, 0))
    m.prismatic("hop", "boom", "hub", axis="z", at=(0, -RADIUS, 0.3))
    m.wheel("tire", "hub", 0.3, contact=contact)
    return m


def test_a_patch_on_a_path_is_met_in_every_round(tmp_path: Path) -> None:
    """v² = v₀² − 2 g ∫μ ds m r²/(m r² + J), over more than two rounds; from a file, too."""
    m = boom(dr.contact.Coulomb(0.8, speed=1e-4))
    path = m.path("track", **CIRCLE)
    m.ground(friction=roads.patch(20.0, 3.0, 0.5, edge=0.05, along=path.along))
    file = tmp_path / "boom.toml"
    file.write_text(to_toml(m))
    again = dr.read_model(file)
    assert again.freeze() == m.freeze() and "[paths.track]" in file.read_text()
    run = dr.simulate(again, 4.0, start={"turn_rate": 33.0 / RADIUS})
    way = run["turn"] * RADIUS
    wet = sum(np.clip(way - 20.0 - k * ROUND, 0.0, 3.0) for k in range(3))
    assert run.status.complete and way[-1] > 2.2 * ROUND and len(run.switches) == 8
    speed = np.sqrt(33.0**2 - 2 * 0.8 * 9.81 * (way - 0.5 * wet) * 250 / 251)
    np.testing.assert_allclose(run["turn_rate"] * RADIUS, speed, atol=1e-6)


@pytest.mark.further
def test_heights_along_a_path_carry_a_wheel_as_on_the_circle() -> None:
    loads = []
    for along in ("circle", "path"):
        m = boom(dr.contact.LinearTire(0.0, None, 0.0, stiffness=2e5, damping=1500.0))
        track = m.path("track", **CIRCLE) if along == "path" else None
        s, d = roads.circle(RADIUS) if track is None else (track.along, track.across)
        bank = roads.bank("3 deg", across=d, along=s, at=10.0, length=4.0, until=16.0)
        m.ground(height=roads.bump(20.0, 3.0, 0.03, along=s) + bank)
        m.prescribe("drive", "turn", "2*t")
        run = dr.simulate(m, 2 * np.pi, start={"hop": -10 * 9.81 / 2e5}, samples=101)
        assert run.status.complete
        loads.append(run["tire_normal_force"])
    assert np.ptp(loads[0]) > 50.0
    np.testing.assert_allclose(loads[1], loads[0], atol=5e-3)


def test_a_run_ends_where_coordinates_end() -> None:
    """The wheel slides straight ahead from a road that turns away, 0.5 m wide."""
    m = dr.Model("sled")
    m.body("carriage", 0)
    m.body("hub", 10.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, 0.3))
    m.wheel("tire", "hub", 0.3, contact=dr.contact.Coulomb(0.1, speed=1e-4))
    bend = m.path("bend", segments=[(5, 0), (10, 0, 0.1)], width=0.5)
    m.ground(friction=roads.patch(1.0, 2.0, 0.5, along=bend.along))
    run = dr.simulate(m, 4.0, start={"way_rate": 10.0})
    assert run.status.kind == "OFF_PATH"
    assert "'tire' is more than 0.5 m beside path 'bend'" in run.status.message
    assert bend.coordinates.at(run["way"][-1], 0.0)[1] == pytest.approx(-0.5, abs=1e-6)


def test_paths_without_unique_coordinates_are_refused() -> None:
    oval = {"curve": ("60*cos(p)", "40*sin(p)"), "between": (0, "2*pi"), "closed": True}
    eight = {"curve": ("30*sin(p)", "15*sin(2*p)"), "between": (0, "2*pi"), "closed": True}
    hairpin = [(0, 0), (30, 0), (40, 3), (30, 6), (0, 6)]
    cases = (
        ({**oval, "width": 27}, "reaches its center of curvature, 26.6667 m aside at s = .*Take a width of 25.333 m or less"),
        ({"points": hairpin, "width": 2.99}, r"meets itself at .*s = -.*\(beyond its ends it goes on for 50 m"),
        (eight, "meets itself at x = "),
        ({"segments": [(10, 0), (10, 0.1)]}, "the curvature jumps from 0 to 0.1 1/m behind segment 1.*put a clothoid between"),
        ({"segments": [(10, 0.1)], "closed": True}, "does not close: from its end to its beginning there are"),
        ({"points": [(0, 0)]}, "1 points given; a smooth path needs 2 or more"),
        ({"points": [(0, 0), (1, 0), (1, 0)]}, "point 2 stands twice"),
        ({"points": [(0, 0), (1, 0)], "segments": [(1, 0)]}, "give one of points, segments and curve"),
        ({"points": [(0, "a"), (1, 0)]}, "'a' is no number; paths do not depend on parameters"),
        ({"curve": ("p", "q")}, "'q' depends on q; it is a function of p alone"),
        ({"curve": ("1/p", "p"), "between": (-1, 1)}, "path 'track': the "),
        ({"curve": ("p", "abs(p - 0.3)"), "between": (0, 1)}, "path 'track' has a corner at x = 0.3 m"),
    )
    for described, reason in cases:
        with pytest.raises(ModelError, match=reason):
            made(**described)
    m = dr.Model("two")
    m.path("track", **CIRCLE)
    with pytest.raises(ModelError, match="already has a path 'track'"):
        m.path("track", **CIRCLE)


def test_nearest_points_are_nearest() -> None:
    """Against a search over dense samples, up to the width of random splines."""
    rng = np.random.default_rng(5)
    points = list(itertools.accumulate(rng.uniform(4, 9, 12)))
    path = made(points=[(x, y) for x, y in zip(points, rng.uniform(-2, 2, 12), strict=True)])
    dense = np.linspace(-50, path.length + 50, 400_001)
    line = path.position(dense)
    wide = path.coordinates.width
    for s, d in zip(rng.uniform(-40, path.length + 40, 60), rng.uniform(-wide, wide, 60), strict=True):
        x, y = beside(path, np.array([s]), np.array([d]))[:, 0]
        nearest = np.hypot(line[0] - x, line[1] - y).argmin()
        along, across = path.coordinates.at(x, y)
        assert along == pytest.approx(dense[nearest], abs=1e-3) and along == pytest.approx(s, abs=1e-8)
        assert across == pytest.approx(d, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_every_point_beside_a_closed_path_has_its_place_also_where_the_path_closes(seed):
    rng = np.random.default_rng(seed)
    (a, b), wave = rng.uniform(20, 150, 2), rng.uniform(0, 0.05)
    if seed % 2:
        angles = np.linspace(0, 2 * math.pi, 9)[:-1]
        corners = [((a + 5 * rng.normal()) * math.cos(t), (b + 5 * rng.normal()) * math.sin(t)) for t in angles]
        path = dr.Model("track").path("track", points=corners, closed=True)
    else:
        curve = tuple(f"{r}*(1 + {wave}*cos(2*p))*{f}(p)" for r, f in ((a, "cos"), (b, "sin")))
        path = dr.Model("track").path("track", curve=curve, between=(0, "2*pi"), closed=True)
    coordinates, around = path.coordinates, path.length
    s = np.concatenate(
        [rng.uniform(0, around, 2000), 0.02 * around * rng.normal(size=500), 0.1 * around * rng.uniform(-1, 1, 500)]
    )
    d, heading = rng.uniform(-0.99, 0.99, s.size) * coordinates.width, path.heading_at(s)
    x, y = path.position(s) + d * np.stack([-np.sin(heading), np.cos(heading)])
    along, across = coordinates.at(x, y)
    np.testing.assert_allclose(np.mod(along - s + around / 2, around) - around / 2, 0, atol=1e-11 * around)
    np.testing.assert_allclose(across, d, atol=1e-11 * around)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"curve": ("p^2", "p^3"), "between": (-1, 1)}, "stands still or is not finite somewhere, at a corner or a cusp"),
        ({"segments": [(10, 0, 0.1), (100, 0.1)], "beyond": 1.0}, "meets itself"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_cusps_and_paths_that_cover_themselves_are_refused(described, message):
    with pytest.raises(ModelError, match=message):
        dr.Model("track").path("track", **described)


def test_friction_below_zero_is_refused_and_small_paths_name_what_to_shorten():
    with pytest.raises(dr.errors.ArgumentError, match="friction of patch is relative friction and must not be negative, got -1"):
        roads.patch(1.0, 2.0, -1.0)
    with pytest.raises(dr.errors.ArgumentError, match="left of split"):
        roads.split(-1.0, 1.0)
    small = dr.Model("track").path("track", points=[(0, 0), (1, 0.3), (2, -0.2), (3, 0.3), (4, 0)])
    with pytest.raises(dr.errors.ArgumentError, match=r"beyond its ends \(beyond=…\)"):
        _ = small.coordinates.grid

"""Ground profiles with edges: kerbs, steps and ramps against closed forms."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from package_models import GRAVITY, TIGHT, block, particle, plane

import draisine as dr
from draisine.dynamics.structure import one_contact_at_a_time
from draisine.errors import ArgumentError, ModelError
from draisine.model.files import from_toml, to_toml

RADIUS = 0.35
STEP_DOWN = [(-1, 0), (0, 0), (0, -0.5), (1, -0.5)]


def disc(profile: Any, friction: Any = np.inf) -> dr.Model:
    """A uniform disc of 2 kg in the plane."""
    m, carriage = plane("disc")
    moment = RADIUS**2
    body = m.body("wheel", mass=2.0, inertia=(moment / 2, moment, moment / 2))
    m.revolute("turn", carriage, body, axis="y")
    m.wheel("rim", body, RADIUS, friction=friction)
    m.ground(profile=profile)
    return m


def rolled(model: dr.Model, speed: float, until: float, x: float = -0.6) -> Any:
    start = {"x": x, "z": RADIUS, "x_rate": speed, "z_rate": 0, "turn_rate": speed / RADIUS}
    run = dr.simulate(model, until, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED" and not run.warnings, run.status
    assert np.ptp(run["total_energy"] - run["work"]) < 1e-9 * run["kinetic_energy"].max()
    return run


def closed(run: Any) -> list[set[str]]:
    """The parts of the profile that are touched, change by change."""
    return [{name for name, mode in change.modes.items() if mode != "open"} for change in run.modes]


def test_a_disc_rolls_off_a_step() -> None:
    """It turns about the edge, without slip, until its normal force vanishes: cos θ = 4/7 + 3 v²/(7 g R)."""
    model = disc(STEP_DOWN)
    for speed in (0.3, 1.0, 1.7):
        run = rolled(model, speed, 0.6 / speed + 1.0)
        assert closed(run)[:4] == [{"rim_plane_1"}, {"rim_edge_1"}, set(), {"rim_plane_3"}]
        begins, leaves = (run.modes[k].time for k in (1, 2))
        np.testing.assert_allclose(begins, 0.6 / speed, rtol=0, atol=1e-10)
        at = run.at(leaves)
        np.testing.assert_allclose(at["z"] / RADIUS, 4 / 7 + 3 * speed**2 / (7 * GRAVITY * RADIUS), rtol=0, atol=1e-9)
        on = (run["time"] > begins) & (run["time"] < leaves)
        np.testing.assert_allclose(np.hypot(run["x"], run["z"])[on], RADIUS, rtol=0, atol=1e-10)
        landing = run.modes.impacts[0].time  # a parabola from there
        fall = at["z"] + at["z_rate"] * (landing - leaves) - GRAVITY / 2 * (landing - leaves) ** 2
        np.testing.assert_allclose(fall, RADIUS - 0.5, rtol=0, atol=1e-10)
    fast = rolled(model, 2.5, 0.6)  # v² > g R: it leaves where the plane ends
    assert closed(fast)[:2] == [{"rim_plane_1"}, set()]
    np.testing.assert_allclose(fast.modes[1].time, 0.6 / 2.5, rtol=0, atol=1e-10)


def test_a_disc_climbs_a_kerb() -> None:
    """The impact keeps the angular momentum about the edge, ω⁺ = ω (1 − 2h/(3R)); it climbs if ¾ R² ω⁺² > g h."""
    height = 0.1
    model = disc([(-1, 0), (0, 0), (0, height), (1, height)])
    ratio = 1 - 2 * height / (3 * RADIUS)
    least = np.sqrt(4 * GRAVITY * height / 3) / ratio
    for speed, climbs in ((1.0, False), (least * (1 - 1e-6), False), (least * (1 + 1e-6), True), (1.6, True)):
        run = rolled(model, speed, 3.5)
        hit = run.modes.impacts[0].time
        np.testing.assert_allclose(hit, (0.6 - np.sqrt(RADIUS**2 - (RADIUS - height) ** 2)) / speed, rtol=0, atol=1e-10)
        np.testing.assert_allclose(run.at(np.nextafter(hit, 9))["turn_rate"] * RADIUS / speed, ratio, rtol=0, atol=1e-9)
        assert (run["x"].max() > 0.0) == climbs
        if speed == 1.6:
            assert closed(run) == [{"rim_plane_1"}, {"rim_edge_2"}, {"rim_plane_3"}]
            np.testing.assert_allclose(run["z"][-1], RADIUS + height, rtol=0, atol=1e-10)


def test_a_disc_rolls_up_a_ramp() -> None:
    """It loses (1 − ((1 + 2 cos α)/3)²) of its energy where the ramp begins, and rolls over the top."""
    angle = 0.3
    top = 0.4 * np.sin(angle)
    model = disc([(-1, 0), (0, 0), (0.4 * np.cos(angle), top), (3, top)])
    run = rolled(model, 2.0, 1.2)
    (hit, *_), ratio = [change.time for change in run.modes.impacts], (1 + 2 * np.cos(angle)) / 3
    np.testing.assert_allclose(hit, (0.6 - RADIUS * np.tan(angle / 2)) / 2, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.at(np.nextafter(hit, 9))["turn_rate"] * RADIUS / 2, ratio, rtol=0, atol=1e-9)
    assert closed(run) == [{"rim_plane_1"}, {"rim_plane_2"}, {"rim_edge_2"}, {"rim_plane_3"}]
    speed = np.sqrt((2 * ratio) ** 2 - 4 * GRAVITY * top / 3)
    np.testing.assert_allclose(run["x_rate"][-1], speed, rtol=0, atol=1e-9)


def test_distance_of_a_wheel_that_leans_from_an_edge() -> None:
    """Against a search along the rim."""
    m = dr.Model("wheel")
    for name in ("heading", "lean", "spin"):
        m.parameter(name, 0.0, "rad")
    body = m.body("wheel", mass=2.0, inertia=(0.06, 0.12, 0.06))
    links = [m.body(f"link_{axis}", mass=0.0) for axis in "xyz"]
    for axis, parent, child in zip("xyz", ["ground", *links], links, strict=False):
        m.prismatic(axis, parent, child, axis=axis)
    m.fixed("mount", links[2], body, orientation=[("z", "heading"), ("x", "lean")])
    m.wheel("rim", body, RADIUS, tube=0.02, friction=0.5)
    m.ground(profile=STEP_DOWN)
    rng = np.random.default_rng(1815)
    turn = np.linspace(0, 2 * np.pi, 20001)
    for _ in range(10):
        heading, lean = rng.uniform(-0.8, 0.8, 2)
        center = np.array([rng.uniform(-0.1, 0.3), 0.1, rng.uniform(0.4, 0.6)])
        start = dict(zip("xyz", center, strict=True))
        run = dr.simulate(m, 1e-9, start=start, parameters={"heading": heading, "lean": lean}, samples=[0.0])
        along = np.array([np.cos(heading), np.sin(heading), 0])
        across = np.array([np.sin(heading) * np.sin(lean), -np.cos(heading) * np.sin(lean), np.cos(lean)])
        rim = center + RADIUS * (np.outer(np.cos(turn), along) + np.outer(np.sin(turn), across))
        squared = rim[:, 0] ** 2 + rim[:, 2] ** 2
        k = int(squared.argmin())
        best = np.polyfit(turn[k - 2 : k + 3] - turn[k], squared[k - 2 : k + 3], 4)
        least = np.polyval(best, min(np.roots(np.polyder(best)), key=abs).real)
        np.testing.assert_allclose(run["rim_edge_1_gap"][0], np.sqrt(least) - 0.02, rtol=0, atol=1e-9)


def test_a_ball_and_a_particle_on_a_ramp() -> None:
    """A frictionless particle slides off a ramp, and flies; a ball turns about its edge first."""
    profile = [(0, 0), (1, 0), (1, -2), (3, -2)]
    slides = particle(friction=0.0)
    slides.ground(profile=profile)
    run = dr.simulate(slides, 1.2, start={"x": 0.5, "z": 0.0, "x_rate": 1.0, "z_rate": 0})
    assert run.status.kind == "FINISHED" and closed(run)[:3] == [{"floor_plane_1"}, set(), {"floor_plane_3"}]
    np.testing.assert_allclose([run.modes[1].time, run.modes[2].time], [0.5, 0.5 + np.sqrt(4 / GRAVITY)], rtol=0, atol=1e-10)
    m, carriage = plane("ball")
    body = m.body("ball", mass=1.0, inertia=(0.4 * 0.01,) * 3)
    m.revolute("turn", carriage, body, axis="y")
    m.contact("floor", body, radius=0.1, friction=np.inf)
    m.ground(profile=profile)
    run = dr.simulate(m, 2.0, start={"x": 0.9, "z": 0.1, "x_rate": 0.1, "z_rate": 0, "turn_rate": 1.0}, method=TIGHT)
    at = run.at(run.modes[2].time)  # off an edge: cos θ = 10/17 + 7 v²/(17 g R)
    np.testing.assert_allclose(at["z"] / 0.1, 10 / 17 + 7 * 0.01 / (17 * GRAVITY * 0.1), rtol=0, atol=1e-9)


def distance(profile: Any, x: float, z: float) -> float:
    """From a point to a profile, whose first and last plane go on."""
    points = np.array(profile, dtype=float)
    points[0, 0], points[-1, 0] = min(points[0, 0], -10.0), max(points[-1, 0], 10.0)
    found = []
    for first, second in pairwise(points):
        along = second - first
        share = np.clip(np.dot(np.array([x, z]) - first, along) / np.dot(along, along), 0, 1)
        found.append(np.hypot(*(np.array([x, z]) - first - share * along)))
    return float(min(found))


def test_a_ball_bounces_down_stairs() -> None:
    """It never comes closer than its radius, however long the steps of the integration are in flight."""
    radius, profile = 0.05, [(-1.0, 0.0), (0.0, 0.0)]
    for k in range(5):
        profile += [(0.3 * k, -0.1 * (k + 1)), (0.3 * (k + 1), -0.1 * (k + 1))]
    m, carriage = plane("stairs")
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.revolute("turn", carriage, body, axis="y")
    m.contact("floor", body, radius=radius, friction=0.5, restitution=0.6)
    m.ground(profile=profile)
    run = dr.simulate(m, 3.0, start={"x": -0.2, "z": radius, "x_rate": 0.5, "z_rate": 0, "turn_rate": 0.5 / radius})
    assert run.status.kind == "FINISHED" and len(run.modes) > 40 and run["z"][-1] < -0.4
    assert min(distance(profile, x, z) for x, z in zip(run["x"], run["z"], strict=True)) > radius - 1e-9
    assert np.diff(run["total_energy"]).max() < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_random_profiles(seed: int) -> None:
    """A disc is thrown onto random ground: it does not penetrate, and gains no energy."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 7))
    inner = list(zip(np.sort(rng.uniform(-2, 2, count)).tolist(), rng.uniform(-0.5, 0.5, count).tolist(), strict=True))
    profile = [(-3.0, inner[0][1]), *inner, (3.0, inner[-1][1])]
    radius = float(rng.uniform(0.05, 0.4))
    m, carriage = plane("thrown")
    body = m.body("disc", mass=2.0, inertia=(float(rng.uniform(0.3, 1)) * 2 * radius**2,) * 3)
    m.revolute("turn", carriage, body, axis="y")
    m.wheel("rim", body, radius, friction=float(rng.choice([0.0, 0.3, 1.0])), restitution=float(rng.choice([0.0, 0.5])))
    m.ground(profile=profile)
    start = {"x": rng.uniform(-2.5, 2), "z": 1.5, "x_rate": rng.normal(0, 2), "z_rate": 0, "turn_rate": rng.normal(0, 5)}
    run = dr.simulate(m, 3.0, start=start)
    assert run.status.kind == "FINISHED", run.status
    far = [(-99.0, profile[0][1]), *inner, (99.0, profile[-1][1])]
    assert min(distance(far, x, z) for x, z in zip(run["x"], run["z"], strict=True)) > radius - 1e-9
    assert np.diff(run["total_energy"]).max() < 1e-7


def test_a_particle_strikes_a_post() -> None:
    """Uniform motion has long steps; the post is not stepped over."""
    m, carriage = plane("post", g=0.0)
    m.fixed("held", carriage, m.body("particle", mass=1.0))
    m.contact("post", "particle", radius=0.05, on="ground", on_radius=0.05, restitution=1)
    for x, until in ((-10.0, 20.0), (-2.5, 20.0), (-7.0, 100.0)):
        run = dr.simulate(m, until, start={"x": x, "z": 0.02, "x_rate": 1.0, "z_rate": 0.0})
        (hit,) = [change.time for change in run.modes.impacts]
        np.testing.assert_allclose(hit, -x - np.sqrt(0.1**2 - 0.02**2), rtol=0, atol=1e-10)


def test_a_block_is_pushed_off_a_table() -> None:
    """Its front edge leaves the table; it stays level until its center does, then tips over the edge of the table … which its
    corners do not have, so that it falls freely."""
    model = block(0.4, 0.1, 0.0)
    model.ground(profile=[(-1, 0), (0, 0), (0, -2), (1, -2)])
    run = dr.simulate(model, 0.7, start={"x": -0.5, "z": 0.0, "tilt": 0.0, "x_rate": 1.0})
    assert run.status.kind == "FINISHED"
    np.testing.assert_allclose(run.modes[1].time, 0.3, rtol=0, atol=1e-10)  # the right corner is off
    assert run.modes[1].modes["right_plane_1"] == "open"
    assert run["tilt"][-1] > 0.05


def test_files_and_names() -> None:
    model = disc(STEP_DOWN, friction=(0.6, 0.5))
    again = from_toml(to_toml(model))
    assert again.freeze() == model.freeze() and to_toml(again) == to_toml(model)
    names = [contact.name for contact in model.freeze().unilateral]
    assert names == ["rim_plane_1", "rim_edge_1", "rim_plane_2", "rim_plane_3"]
    with pytest.raises(ArgumentError, match="ground profile"):
        model.in_modes({"rim_plane_1": "stick"})


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ([(0, 0)], "two vertices"),
        ([(0, 0), (1,)], "two coordinates"),
        ("flat", "vertices"),
        ([(1, 0), (0, 0)], "in order of x"),
        ([(0, 0), (0, 1), (1, 1)], "cannot be vertical"),
        ([(0, 0), (1, 0), (2, 0)], "lies between its neighbors"),
    ],
)
def test_profiles_that_are_refused(profile: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        disc(profile).freeze()


def test_contacts_that_cannot_pass_edges_are_refused() -> None:
    with pytest.raises(ModelError, match="give friction="):
        disc(STEP_DOWN, friction=None).freeze()
    m = disc(STEP_DOWN)
    m.knife_edge("wheel")
    with pytest.raises(ModelError, match="knife edges cannot pass"):
        m.freeze()
    m = disc([])
    with pytest.raises(ModelError, match="takes the place"):
        m.ground(slope=0.1, profile=STEP_DOWN)


def test_ignorable_spins_are_found_at_regular_systems():
    """Rows of one wheel on all planes and edges of a profile depend on each other: solved together, they are regular by their
    compliance alone. One contact at a time determines its forces."""
    e = dr.derive(dr.gallery.kerb_bicycle())
    rng = np.random.default_rng(3)
    u, t = np.zeros(len(e.inputs)), [0.0]
    conditions = []
    for p in (e.default_parameters, *one_contact_at_a_time(e)):
        x = np.array([s.default for s in e.states]) + rng.uniform(-0.3, 0.3, len(e.states))
        conditions.append(np.linalg.cond(e.dynamics.matrix_at(t, x, u, p)))
    assert all(contact.compliance for contact in e.unilateral)
    assert conditions[0] > 1e10 and max(conditions[1:]) < 1e10, conditions


def grain(profile: list[tuple[float, float]], **contact: float) -> dr.Model:
    m = dr.Model("particle")
    m.gravity(9.81)
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("grain", mass=1.0), axis="z")
    m.contact("grain_foot", "grain", **contact)
    m.ground(profile=profile)
    return m


@pytest.mark.parametrize("seed", range(24))
def test_points_stay_above_random_profiles(seed: int) -> None:
    """A grain bounces and slides between walls, over crests, steps and concave corners, in which it may touch both planes."""
    rng = np.random.default_rng(seed)
    x, z = np.cumsum([-2.0, *rng.uniform(0.3, 1.0, 3)]), rng.uniform(-0.3, 0.3, 4)
    if seed % 2:
        x[2] = x[1]  # a vertical face
    x, z = np.array([x[0] - 1.3, x[0] - 0.3, *x, x[-1] + 0.3, x[-1] + 1.3]), np.array([3.0, 2.0, *z, 2.0, 3.0])
    contact = {"friction": float(rng.choice([0.0, 0.2, 0.5])), "restitution": float(rng.choice([0.0, 0.3, 0.6]))}
    m = grain(list(zip(x.tolist(), z.tolist(), strict=True)), **contact)
    start = {"x": rng.uniform(x[2] + 0.05, x[-3] - 0.05), "z": 1.0, "x_rate": 1.5 * rng.normal(), "z_rate": 0.0}
    run = dr.simulate(m, 4.0, start=start, samples=400)
    assert run.status.kind == "FINISHED", run.status
    aside = np.abs(run["x"][:, None] - x).min(axis=1) > 1e-6
    depth = np.interp(run["x"], x + 1e-13 * np.arange(len(x)), z) - run["z"]
    assert depth[aside].max() < 1e-8


@pytest.mark.parametrize("seed", range(8))
def test_a_grain_in_a_concave_corner(seed: int) -> None:
    """Without friction and restitution it keeps the velocity along the second plane, or none where the corner is sharper than a
    right angle; then it climbs, and comes back."""
    rng = np.random.default_rng(seed)
    first, second, way = rng.uniform(0.2, 1.2), rng.uniform(0.2, 1.2), rng.uniform(0.2, 0.8)
    profile = [(-2 * np.cos(first), 2 * np.sin(first)), (0.0, 0.0), (2 * np.cos(second), 2 * np.sin(second))]
    m = grain([(float(a), float(b)) for a, b in profile])
    start = {"x": -way * np.cos(first), "z": way * np.sin(first), "x_rate": 0.0, "z_rate": 0.0}
    down = np.sqrt(2 * way / (9.81 * np.sin(first)))
    speed = max(9.81 * np.sin(first) * down * np.cos(first + second), 0.0)
    up = speed / (9.81 * np.sin(second))
    run = dr.simulate(
        m, down + 2.5 * up + 0.2, start=start, samples=np.array([0.0, down + up]), method=dr.methods.DOP853(rtol=1e-11)
    )
    assert run.status.kind == "FINISHED", run.status
    if speed == 0.0:
        np.testing.assert_allclose((run["x"][-1], run["z"][-1]), 0.0, atol=1e-9)
        return
    high = speed**2 / (2 * 9.81 * np.sin(second))
    np.testing.assert_allclose((run["x"][-1], run["z"][-1]), (high * np.cos(second), high * np.sin(second)), atol=1e-9)
    lost = 0.5 * (9.81 * np.sin(first) * down) ** 2 - 0.5 * speed**2
    assert run.modes.impacts[0].lost == pytest.approx(lost, rel=1e-9)
    assert run.modes.impacts[0].time == pytest.approx(down, abs=1e-10)

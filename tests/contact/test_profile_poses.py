"""Wheels in any pose above a ground profile: gaps of edges, their derivatives, and starts, against brute force."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from package_models import GRAVITY

import draisine as dr
from draisine.errors import ModelError, StartError
from draisine.model import system

RADIUS = 0.3
STEP_DOWN = [(-1, 0), (0, 0), (0, -0.25), (1, -0.25)]
KERB = [(-1, 0), (0, 0), (0, 0.1), (2, 0.1)]
RIDGE = [(-1, 0), (0, 0), (1, 0.5), (2, 0), (3, 0)]


def free_wheel(profile: Any, tube: float = 0.0) -> dr.Model:
    m = dr.Model("wheel")
    m.gravity(GRAVITY)
    body = m.body("b", mass=2.0, inertia=(0.045, 0.09, 0.045))
    m.free_euler(body, order="zxy", angles=("heading", "lean", "spin"))
    m.wheel("rim", body, RADIUS, tube=tube, friction=0.6)
    m.ground(profile=profile)
    return m


def axle_of(heading: float, lean: float) -> np.ndarray:
    return np.array([-np.sin(heading) * np.cos(lean), np.cos(heading) * np.cos(lean), np.sin(lean)])


def brute_gap(x: float, z: float, heading: float, lean: float, tube: float) -> float:
    """Of the edge at the origin: the maximum over normals, then over a finer grid beside it."""
    axle, middle, width = axle_of(heading, lean), 0.0, np.pi
    for _ in range(3):
        angle = middle + np.linspace(-width, width, 4001)
        nx, nz = np.sin(angle), np.cos(angle)
        beside = (nx * axle[1]) ** 2 + (nz * axle[1]) ** 2 + (nz * axle[0] - nx * axle[2]) ** 2  # 1 − (n·a)²
        values = nx * x + nz * z - RADIUS * np.sqrt(beside)
        middle, width = angle[values.argmax()], width / 1000
    return float(values.max()) - tube


def poses(rng: np.random.Generator, count: int) -> Any:
    """Random ones, and those near the singular: upright, edge-on, the edge in a plane of symmetry."""
    for k in range(count):
        heading, lean = rng.uniform(-np.pi, np.pi), rng.uniform(-1.5, 1.5)
        heading = np.pi / 2 + rng.normal() * 10.0 ** rng.uniform(-6, -1) if k % 10 == 0 else 0.0 if k % 11 == 0 else heading
        lean = 0.0 if k % 7 == 0 else lean
        x, z = rng.normal(size=2) * RADIUS * 10.0 ** rng.uniform(-1, 0.5)
        yield 0.0 if k % 13 == 0 else x, z, heading, lean


@pytest.mark.parametrize("tube", [0.0, 0.04])
def test_gaps_of_edges_and_their_rows(tube: float) -> None:
    """Outside and inside the wheel; the row is the derivative of the gap along the velocities."""
    e = dr.derive(free_wheel(STEP_DOWN, tube))
    assert e.contact_terms is not None
    slots = [slot.name for slot in e.contact_terms.outputs]
    (edge,) = [k for k, c in enumerate(e.unilateral) if c.name == "rim_edge_1"]
    names = [c.name for c in e.coordinates]
    rates = {c.name: k for k, c in enumerate(e.velocities)}
    u, p = np.zeros(len(e.inputs)), e.default_parameters
    differ = 0
    for x, z, heading, lean in poses(np.random.default_rng(1815), 600):
        at = {"b_x": x, "b_y": 0.3, "b_z": z, "heading": heading, "lean": lean, "spin": 0.4}
        state = np.zeros(len(e.states))
        state[: len(names)] = [at[name] for name in names]
        values = e.contact_terms([0.0], state, u, p)
        gap = np.atleast_1d(values[slots.index("gap")])[edge]
        np.testing.assert_allclose(gap, brute_gap(x, z, heading, lean, tube), rtol=0, atol=2e-8 * RADIUS)
        if gap < -tube + 1e-3:  # inside, the maximum has kinks
            continue
        rows = np.reshape(values[slots.index("rows")], (len(rates), -1)).T[e.unilateral[edge].normal]
        if abs(np.sin(2 * heading)) < 1e-2:  # near edge-on the differences have kinks, too
            continue
        step = 1e-5
        for name, offset in (
            ("b_x", (step, 0, 0, 0)),
            ("b_z", (0, step, 0, 0)),
            ("heading", (0, 0, step, 0)),
            ("lean", (0, 0, 0, step)),
        ):
            ahead, back = (
                brute_gap(*(v + s * d for v, d in zip((x, z, heading, lean), offset, strict=True)), tube) for s in (1, -1)
            )
            np.testing.assert_allclose(rows[rates[f"{name}_rate"]], (ahead - back) / (2 * step), rtol=0, atol=2e-6)
            differ += 1
    assert differ > 400


def test_a_wheel_that_leans_rolls_off_a_step() -> None:
    """It reaches the edge with its rim, and never passes into it."""
    start = {"b_x": -0.3, "b_y": 0, "heading": 0.3, "lean": 0.25, "spin_rate": 6, "lean_rate": 0, "heading_rate": 1, "spin": 0}
    run = dr.simulate(free_wheel([(-1, 0), (0, 0), (0, -0.2), (3, -0.2)]), 0.45, start=start, samples=91)
    assert run.status.kind == "FINISHED" and run.modes[-1].modes["rim_edge_1"] != "open"
    for k in range(len(run.time)):
        gap = brute_gap(*(float(run[name][k]) for name in ("b_x", "b_z", "heading", "lean")), 0.0)
        assert gap > -1e-8
        np.testing.assert_allclose(run["rim_edge_1_gap"][k], gap, rtol=0, atol=1e-8)


def depth(profile: Any, center: np.ndarray, axle: np.ndarray, tube: float) -> float:
    """How deep points of the wheel, seen along y, are in the ground."""
    size = np.hypot(axle[0], axle[2])
    short = np.array([axle[0], axle[2]]) / size if size > 1e-12 else np.array([1.0, 0.0])
    angle, width = np.linspace(0, 2 * np.pi, 361), RADIUS * abs(axle[1])
    normal = np.stack([RADIUS * np.cos(angle), width * np.sin(angle)], 1)
    rim = np.stack([width * np.cos(angle), RADIUS * np.sin(angle)], 1)
    rim += tube * normal / np.linalg.norm(normal, axis=1)[:, None]
    rim = rim[:, :1] * short + rim[:, 1:] * np.array([-short[1], short[0]])
    points = np.concatenate([center + share * rim for share in np.linspace(0, 1, 40)])
    vertices = np.array(profile, dtype=float)
    vertices[0, 0], vertices[-1, 0] = -50, 50
    height, away = np.full(len(points), np.nan), np.full(len(points), np.inf)
    for first, second in pairwise(vertices):
        along = second - first
        if along[0] > 0:
            above = (points[:, 0] >= first[0]) & (points[:, 0] < second[0])
            height[above] = first[1] + (points[above, 0] - first[0]) / along[0] * along[1]
        share = np.clip((points - first) @ along / (along @ along), 0, 1)
        away = np.minimum(away, np.linalg.norm(points - first - share[:, None] * along, axis=1))
    return float(np.where(points[:, 1] < height, away, 0).max())


@pytest.mark.parametrize("seed", range(5))
def test_starts_inside_the_ground_are_refused(seed: int) -> None:
    """And others are not; hubs on the line of a plane or above a vertex are among them."""
    rng = np.random.default_rng(seed)
    inner = list(zip(np.sort(rng.uniform(-0.6, 0.6, 4)).tolist(), rng.uniform(-0.4, 0.4, 4).tolist(), strict=True))
    drawn = [(-3.0, inner[0][1]), *inner, (3.0, inner[-1][1])]
    profile, tube = (STEP_DOWN, KERB, RIDGE, drawn, drawn)[seed], (0.0, 0.05)[seed % 2]
    model = free_wheel(profile, tube)
    rest = dict.fromkeys(("b_x_rate", "b_y_rate", "b_z_rate", "heading_rate", "lean_rate", "spin_rate", "b_y", "spin"), 0.0)
    counts = [0, 0]
    for k in range(30):
        heading, lean = (rng.uniform(-1.5, 1.5), rng.uniform(-1.4, 1.4)) if k % 3 else (0.0, 0.0)
        center = np.array([rng.uniform(-0.8, 0.8), rng.uniform(-0.6, 0.9)])
        center[0] = rng.choice([x for x, _ in profile[1:-1]]) if k % 5 == 0 else center[0]
        center[1] = rng.choice([z for _, z in profile[1:-1]]) if k % 7 == 0 else center[1]
        found = depth(profile, center, axle_of(heading, lean), tube)
        start = {"b_x": center[0], "b_z": center[1], "heading": heading, "lean": lean, **rest}
        try:
            dr.simulate(model, 1e-9, start=start, samples=[0.0])
            assert found < 3e-3, (center, heading, lean, found)
            counts[0] += 1
        except StartError:
            assert found > 0.0, (center, heading, lean)
            counts[1] += 1
    assert min(counts) > 3


def upright(profile: Any, friction: Any = 0.8) -> dr.Model:
    m = dr.Model("disc")
    m.gravity(GRAVITY)
    m.prismatic("x", "ground", m.body("slide", mass=0), axis="x")
    m.prismatic("z", "slide", m.body("lift", mass=0), axis="z")
    m.revolute("turn", "lift", m.body("disc", mass=1.0, inertia=(0.045, 0.09, 0.045)), axis="y")
    m.wheel("rim", "disc", RADIUS, friction=friction)
    m.ground(profile=profile)
    return m


@pytest.mark.parametrize(
    ("profile", "x", "height"),
    [
        (KERB, 0.0, 0.1 + RADIUS),
        (STEP_DOWN, 0.0, RADIUS),
        (RIDGE, -0.5, RADIUS),
        (RIDGE, 2.5, RADIUS),
    ],
)
def test_a_start_without_a_height_is_on_the_profile(profile: Any, x: float, height: float) -> None:
    """Planes on one line are parts of their own: only that below the wheel carries it."""
    run = dr.simulate(upright(profile), 1e-3, start={"x": x, "x_rate": 0}, samples=[0.0])
    assert run.status.kind == "FINISHED"
    np.testing.assert_allclose(run["z"][0], height, rtol=0, atol=1e-9)
    if x in (-0.5, 2.5):
        part = "rim_plane_1" if x < 0 else "rim_plane_4"
        assert [name for name, mode in run.modes[0].modes.items() if mode != "open"] == [part]
        np.testing.assert_allclose(run[f"{part}_normal_force"][0], GRAVITY, rtol=1e-12)


def test_starts_without_a_height_are_never_inside() -> None:
    """Where the height is not found the start is refused; it does not begin inside the ground, nor in the air above it."""
    heights = {}
    for name, profile in (("step", STEP_DOWN), ("kerb", KERB), ("ridge", RIDGE)):
        model = upright(profile)
        for x in (*np.linspace(-0.5, 2.5, 13), 0.0, 0.1, 1.0):
            try:
                run = dr.simulate(model, 1e-9, start={"x": x, "x_rate": 0}, samples=[0.0])
            except StartError as error:
                assert "penetrates by" in str(error)
                continue
            heights[name, x] = z = float(run["z"][0])
            assert depth(profile, np.array([x, z]), np.array([0.0, 1, 0]), 0.0) < 1e-6
            assert depth(profile, np.array([x, z - 1e-2]), np.array([0.0, 1, 0]), 0.0) > 1e-3
    assert len(heights) > 24


def test_a_wheel_that_cannot_reach_a_face_is_refused() -> None:
    m = dr.Model("guided")
    body = m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.prismatic("z", "ground", m.body("lift", mass=0), axis="z")
    m.fixed("held", "lift", body, at=(0.1, 0, 0))
    m.wheel("rim", body, RADIUS, friction=0.5)
    m.ground(profile=STEP_DOWN)
    with pytest.raises(ModelError, match="no coordinate changes the distance of a wheel from 'rim_plane_2'"):
        dr.derive(m)


def test_a_run_inside_the_ground_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its edge a step lets a wheel through: the run does not go on inside."""
    complete = system.features_of

    def without_edges(*given: Any) -> Any:
        return tuple(feature for feature in complete(*given) if not feature.is_edge)

    monkeypatch.setattr(system, "features_of", without_edges)
    run = dr.simulate(
        dr.derive(upright([(-1, 0), (0, 0), (0, -1), (1, -1)])), 1.0, start={"x": 0.1, "z": 0.5, "x_rate": 0, "z_rate": 0}
    )
    assert run.status.kind == "CONTACT_UNDECIDED"
    assert "'rim_plane_2'" in str(run.status) and "penetrates by 0.2 m" in str(run.status)
    assert -0.701 < run["z"][-1] < 0.0  # at the end of a step

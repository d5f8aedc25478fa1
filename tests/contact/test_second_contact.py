"""Hollows that are sharper than a wheel: such runs end as GROUND_TOO_SHARP, all others follow the highest position of the rim.

The independent reference is brute force: at its place, a rigid wheel is as low as no point of its surface is below the ground."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

BUMP = "hei*sin(pi*clip((x - 1)/len, 0, 1))^2"


def roller(height: str = BUMP, contact: dict | None = None, tube: bool = False) -> dr.Model:
    """A wheel that is pulled along x at constant speed and lean, and moves up and down."""
    m = dr.Model("roller")
    radius, _, _ = m.parameter("radius", 0.3, "m"), m.parameter("len", 1.0, "m"), m.parameter("hei", 0.05, "m")
    lean, _ = m.parameter("lean", 0.0, "rad"), m.parameter("pull", 1.0, "m/s")
    m.body("carriage", 0)
    m.body("hub", 40.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "hub", axis="z")
    m.body("disc", 1.0, inertia=(1, 1, 1))
    m.fixed("tilt", "hub", "disc", orientation=[("x", lean)])
    ring = m.parameter("tube", 0.05, "m") if tube else 0.0
    m.wheel("w", "disc", radius, tube=ring, **(contact or {"contact": dr.contact.Creep(0.0, 0.0)}))
    m.prescribe("drive", "way", "pull*t")
    m.ground(height=height)
    return m


def bump(x, length, height):
    return height * np.sin(np.pi * np.clip((x - 1) / length, 0, 1)) ** 2


def highest(at, ground, radius, lean=0.0, tube=0.0):
    """Height of the center at which the wheel touches: the highest over all points of its surface, refined by parabolas."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 4001)
    around = np.linspace(-np.pi, np.pi, 721) if tube else np.zeros(1)

    def needed(phi, psi):
        ring = radius + tube * np.cos(psi)
        return ground(at + ring * np.sin(phi)) + ring * np.cos(phi) * np.cos(lean) + tube * np.sin(psi) * np.sin(lean)

    values = needed(angle[:, None], around[None, :])
    i, j = np.unravel_index(np.argmax(values), values.shape)
    phi, psi, wide = angle[i], around[j], angle[1] - angle[0]
    for _ in range(40):  # alternating ternary search on a shrinking window
        near = phi + wide * np.linspace(-1, 1, 41)
        phi = near[np.argmax(needed(near, psi))]
        if tube:
            near = psi + 10 * wide * np.linspace(-1, 1, 41)
            psi = near[np.argmax(needed(phi, near))]
        wide *= 0.6
    return float(needed(phi, psi))


def random_bumps(count: int, seed: int, low: float = -1.0, high: float = 1.0) -> dict[str, np.ndarray]:
    """Bumps of which the curvature at the beginning is 10^low … 10^high times that of the wheel, a tenth of which is near it."""
    random = np.random.default_rng(seed)
    radius = 10 ** random.uniform(-1.3, 0.3, count)
    length = radius * 10 ** random.uniform(-1, 1, count)
    lean = random.choice([0.0, 1.0], count) * random.uniform(-1.0, 1.0, count)
    ratio = 10 ** random.uniform(low, high, count)
    ratio = np.where(np.abs(ratio - 1) < 0.02, 0.95, ratio)
    height = ratio * length**2 * np.cos(lean) / (2 * np.pi**2 * radius)
    ratio = np.where(height > radius, ratio * radius / height, ratio)
    ratio = np.where(np.abs(ratio - 1) < 0.02, 1.05, ratio)
    height = ratio * length**2 * np.cos(lean) / (2 * np.pi**2 * radius)
    pull = 1 + 0.8 * length  # behind the top of the bump after 1 s
    return {"radius": radius, "len": length, "hei": height, "lean": lean, "pull": pull, "ratio": ratio}


def test_random_bumps_are_followed_or_named():
    drawn = random_bumps(120, 3)
    ratio = drawn.pop("ratio")
    found = dr.ensemble(roller(), 1.0, cases=drawn, outputs=["hop", "way"]).to_pandas()
    assert (found["status"] == np.where(ratio < 1, "FINISHED", "GROUND_TOO_SHARP")).all()
    assert 20 < (ratio < 1).sum() < 100
    for k in range(len(ratio)):
        values = {name: float(column[k]) for name, column in drawn.items()}
        radius, lean = values["radius"], values["lean"]

        def ground(x, values=values):
            return bump(x, values["len"], values["hei"])

        expected = highest(values["pull"] * found["ended"][k], ground, radius, lean)
        if ratio[k] < 1:
            assert found["hop.end"][k] == pytest.approx(expected, abs=1e-6 * radius, rel=0)
        else:  # named before the second place is much deeper than the first
            assert 0 <= expected - radius * np.cos(lean) < 0.01 * radius


@pytest.mark.parametrize("contact", [None, {"friction": 0.5}, "tube"], ids=["ideal", "friction", "torus"])
def test_random_waves_are_followed_or_named(contact):
    """From a crest through a hollow; without switches, ensembles integrate such runs side by side."""
    random = np.random.default_rng(4)
    count = 12 if contact else 80
    model = roller(
        "hei*cos(2*pi*x/len)", contact={"friction": 0.5} if isinstance(contact, dict) else None, tube=contact == "tube"
    )
    tube = 0.05 if contact == "tube" else 0.0
    radius, lean = 10 ** random.uniform(-1, 0.3, count), random.uniform(-0.9, 0.9, count)
    length = 10 ** random.uniform(0, 1, count) * radius
    ratio = 10 ** random.uniform(-0.7, 0.7, count)
    ratio = np.where(np.abs(ratio - 1) < 0.03, 1.1, ratio)
    height = ratio / (radius / np.cos(lean) + tube) * (length / (2 * np.pi)) ** 2
    pull = 0.05 * length  # too slow to fly
    cases = {"radius": radius, "len": length, "hei": height, "lean": lean, "pull": pull}
    found = dr.ensemble(model, 13.0, cases=cases, outputs=["hop"]).to_pandas()
    assert (found["status"] == np.where(ratio < 1, "FINISHED", "GROUND_TOO_SHARP")).all()
    for k in np.flatnonzero(ratio < 1):

        def ground(x, k=k):
            return height[k] * np.cos(2 * np.pi * x / length[k])

        expected = highest(13.0 * pull[k], ground, radius[k], lean[k], tube)
        assert found["hop.end"][k] == pytest.approx(expected, abs=1e-5 * radius[k], rel=0)


def test_spheres_in_bowls():
    """A sphere that rolls in a bowl touches it at the nearest place, as brute force confirms, or the run names a second one."""
    m = dr.Model("ball")
    m.parameter("deep", 1.0, "1/m"), m.parameter("wide", 1.0)
    m.body("ball", 1.0, inertia=(0.036, 0.036, 0.036))
    m.free("ball")
    m.wheel("w", "ball", 0.0, tube=0.3)
    m.ground(height="deep*(x^2 + wide*y^2)/2")
    random, endings = np.random.default_rng(1), []
    for _ in range(8):
        deep, wide = random.uniform(0.8, 4.0), random.uniform(0.4, 1.5)
        start = {"ball_x": random.uniform(-0.3, 0.3), "ball_y": random.uniform(-0.3, 0.3)}
        run = dr.simulate(m, 1.0, start=start, parameters={"deep": deep, "wide": wide})
        endings.append(str(run.status.kind))
        side = np.linspace(-0.4, 0.4, 401)
        for k in range(0, len(run.time), 7):
            x, y = run["ball_x"][k] + side[:, None], run["ball_y"][k] + side[None, :]
            away = np.sqrt(side[:, None] ** 2 + side[None, :] ** 2 + (deep * (x**2 + wide * y**2) / 2 - run["ball_z"][k]) ** 2)
            assert away.min() > 0.3 - 2e-3  # not inside the ground …
            assert away.min() < 0.3 + 1e-4  # … and not above it
        if endings[-1] == "FINISHED":
            reached = (
                deep * np.maximum(1, wide) / (1 + deep**2 * (run["w_place_x"] ** 2 + wide**2 * run["w_place_y"] ** 2)) ** 1.5
            )
            assert (0.3 * reached).max() < 1.5
    assert set(endings) == {"FINISHED", "GROUND_TOO_SHARP"}


def quarter_car(length: float, height: float, radius: float = 0.3, speed: float = 10.0) -> dr.Model:
    m = dr.Model("quarter_car")
    m.body("carriage", 0)
    m.body("hub", 40.0, inertia=(1, 1, 1))
    m.body("body", 300.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, radius))
    m.prismatic("stroke", "hub", "body", axis="z")
    m.spring("stroke", 2e4, damping=1500.0)
    m.wheel("tire", "hub", radius, contact=dr.contact.LinearTire(0.0, None, 0.0, stiffness=2e5))
    m.prescribe("drive", "way", f"{speed}*t")
    m.ground(height=dr.contact.roads.bump(at=2.0, length=length, height=height))
    return m


def first_touch(length: float, height: float) -> float:
    """When the ground below the sunk wheel first rises towards it a second time, within the undeformed wheel."""
    low, high = 1.8, 2.0  # places of the hub
    for _ in range(40):
        hub = 0.5 * (low + high)
        x = hub + np.linspace(0, 0.299, 40001)
        gap = 0.3 + REST["hop"] - np.sqrt(0.09 - (x - hub) ** 2) - height * np.sin(np.pi * np.clip((x - 2) / length, 0, 1)) ** 2
        second = (np.diff(gap) < 0) & (gap[1:] < 0)
        low, high = (low, hub) if second.any() else (hub, high)
    return low / 10


REST = {"hop": -340 * 9.81 / 2e5, "stroke": -300 * 9.81 / 2e4}


@pytest.mark.parametrize(
    "method", [None, dr.methods.DOP853(max_step=0.005), dr.methods.Radau(), dr.methods.RK4(step=1e-3)], ids=str
)
def test_a_tire_before_a_sharp_bump(method):
    """The status names the time, both places and both radii; they do not depend on the steps."""
    run = dr.simulate(quarter_car(0.4, 0.06), 0.8, start=REST, method=method)
    assert run.status.kind == "GROUND_TOO_SHARP" and not run.status.complete
    assert 0 <= run.time[-1] - first_touch(0.4, 0.06) < 1e-4
    assert run["tire_normal_force"][-1] == pytest.approx(3335.4, abs=0.1)
    for text in ("'tire'", "x = 2.07", "x = 1.954", "0.3 m", "0.13", "profile"):
        assert text in run.status.message


def test_a_hub_above_a_hollow():
    """In flight, the place below a hub is unique up to the radius of curvature of the ground."""
    run = dr.simulate(quarter_car(3.6, 1.0, 0.5, 16.5), 0.6, start=REST)
    assert run.status.kind == "GROUND_TOO_SHARP" and "flies" in run.status.message


def test_a_start_in_a_sharp_hollow():
    """A wheel that does not fit where it starts is named before the first step."""
    run = dr.simulate(roller("20*x^2/2"), 1.0)
    assert run.status.kind == "GROUND_TOO_SHARP" and run.time[-1] == 0.0
    assert "0.05 m" in run.status.message


def test_other_loops_name_it_too():
    """Control by Python functions, between samples and at every stage."""
    m = roller("hei*cos(2*pi*x/len)")
    m.input("lift", "N")
    m.generalized_force("hop", "lift")
    sharp = {"hei": 0.2}
    plain = dr.simulate(m, 3.0, parameters=sharp)
    sampled = dr.simulate(m, 3.0, parameters=sharp, control=dr.control.Sampled(lambda t, s: {"lift": 0.0}, rate=50))
    assert {str(run.status.kind) for run in (plain, sampled)} == {"GROUND_TOO_SHARP"}
    assert sampled.time[-1] == pytest.approx(plain.time[-1], abs=1e-6)


def test_planes_have_no_such_condition():
    """Plane and tilted ground, and ground that only moves, cost nothing more."""
    for height in ("0", "0.1*x + 0.05*y", "0.01*sin(5*t)"):
        assert dr.derive(roller(height)).event_list == ()
    assert [event.name for event in dr.derive(roller()).event_list] == ["w_second_contact"]

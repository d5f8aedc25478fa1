"""Roads and air: heights, random roughness and its spectrum, friction, gusts, in numbers and under wheels."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, evaluate_number

roads = dr.contact.roads


def at(height: Expr, x: float, y: float = 0.0, t: float = 0.0) -> float:
    return evaluate_number(height, {"x": x, "y": y, "t": t})


def test_shapes() -> None:
    bump = roads.bump(10.0, 0.4, "5 cm")
    assert [at(bump, x) for x in (9.0, 10.0, 10.2, 10.4, 12.0)] == pytest.approx([0, 0, 0.05, 0, 0], abs=1e-15)
    ramp = roads.ramp(5.0, 2.0, 0.3)
    assert [at(ramp, x) for x in (4.0, 6.0, 7.0, 9.0)] == pytest.approx([0, 0.15, 0.3, 0.3])
    assert at(roads.bank("10 deg", at=20.0, length=10.0), 40.0, 2.0) == pytest.approx(2 * np.tan(np.pi / 18))
    assert at(roads.bank("10 deg", at=20.0), 10.0, 2.0) == 0.0
    assert at(roads.waves(2.0, 0.01), 0.5) == pytest.approx(0.01)
    patch = roads.patch(20.0, 5.0, 0.3, edge=0.1)
    places = (10.0, 19.95, 20.0, 20.05, 22.5, 24.95, 25.05, 30.0)
    assert [at(patch, x) for x in places] == pytest.approx([1, 1, 0.65, 0.3, 0.3, 0.3, 1, 1], abs=1e-12)
    split = roads.split(0.3, 1.0)
    assert (at(split, 0, 2.0), at(split, 0, -2.0)) == pytest.approx((0.3, 1.0))
    gust = roads.gust(8.0, 1.0, 2.0)
    assert [at(gust, 0, t=t) for t in (0.5, 2.0, 4.0)] == pytest.approx([0, 8, 0], abs=1e-12)


def test_coordinates_of_a_circle_and_a_line() -> None:
    s, d = roads.circle(50.0)
    for angle in (-1.0, 0.0, 0.7, 2.5):
        for aside in (-3.0, 2.0):
            x, y = (50.0 - aside) * np.sin(angle), 50.0 - (50.0 - aside) * np.cos(angle)
            assert (at(s, x, y), at(d, x, y)) == pytest.approx((50.0 * angle, aside))
    s, d = roads.circle(50.0, center=(3.0, 4.0), middle="150 m")  # from −7 m to 307 m
    for angle in (-0.1, 0.7, 3.0, 3.3, 6.1):
        x, y = 3.0 + 48.0 * np.sin(angle), 4.0 - 48.0 * np.cos(angle)
        assert (at(s, x, y), at(d, x, y)) == pytest.approx((50.0 * angle, 2.0))
    s, d = roads.line("30 deg", (1.0, 2.0))
    x, y = 1 + 5 * np.cos(np.pi / 6) - 2 * np.sin(np.pi / 6), 2 + 5 * np.sin(np.pi / 6) + 2 * np.cos(np.pi / 6)
    assert (at(s, x, y), at(d, x, y)) == pytest.approx((5.0, 2.0))


@pytest.mark.parametrize("road", ["A", "C", "H", 5e-5])
def test_the_spectral_density_of_a_rough_road_is_that_of_the_standard(road: str | float) -> None:
    """The periodogram at every frequency of the band, and the variance as its sum; other seeds are other roads."""
    x, z = roads.roughness(road, 200.0, seed=4)
    count, length = len(x), 200.0
    frequency = np.arange(count // 2 + 1) / length
    density = 2 * length * np.abs(np.fft.rfft(z) / count) ** 2
    inside = (frequency >= 0.011) & (frequency <= 2.83)
    reference = {"A": 16e-6, "C": 256e-6, "H": 262144e-6}.get(road, road)  # type: ignore[call-overload]
    np.testing.assert_allclose(density[inside], reference * (frequency[inside] / 0.1) ** -2, rtol=1e-8)
    assert density[~inside].max() < 1e-12 * density.max()
    assert z.var() == pytest.approx(np.sum(density[inside]) / length, rel=1e-9)
    other = roads.roughness(road, 200.0, seed=5)[1]
    assert abs(np.corrcoef(z, other)[0, 1]) < 0.9
    assert np.array_equal(z, roads.roughness(road, 200.0, seed=4)[1])


def test_tracks_of_different_seeds_are_different() -> None:
    """Roads of an ensemble, with seeds in a row, share no track; the left one is that of a road of one track."""
    m = dr.Model("roads")
    m.body("stone", 1.0, inertia=(1, 1, 1))
    m.free("stone")
    for seed in range(4):
        roads.rough(m, f"road{seed}", "C", length=60.0, seed=seed, track=1.5)
    roads.rough(m, "single", "C", length=60.0, seed=2)
    heights = {table.name: table.values for table in m.freeze().tables}
    np.testing.assert_array_equal(heights["road2_left"], heights.pop("single"))
    for name, values in heights.items():
        others = [abs(np.corrcoef(values, other)[0, 1]) for n, other in heights.items() if n != name]
        assert max(others) < 0.9, name


def test_turbulence_has_the_deviation_that_is_given() -> None:
    m = dr.Model("air")
    roads.turbulence(m, "wind", deviation=2.0, scale=100.0, speed=25.0, duration=400.0, seed=1)
    (table,) = m._items["tables"].values()
    once = np.abs(table.knots[0]) < 200.0
    assert np.std(np.asarray(table.values)[once]) == pytest.approx(
        2.0, rel=0.02
    )  # frequencies above 25 Hz and the mean are missing


def test_turbulence_repeats_and_takes_units() -> None:
    """The wind of a second period is that of the first, and goes on smoothly between both."""
    m = dr.Model("air")
    m.body("stone", 1.0, inertia=(1, 1, 1))
    m.prismatic("fall", "ground", "stone", axis="z")
    wind = roads.turbulence(m, "gusty", "2 m/s", "20 m", "36 km/h", duration="4 s", seed=3, spacing="50 ms")
    m.output("wind", wind, "m/s")
    m.output("change", "rate(wind)", "m/s^2")
    times = np.linspace(0.0, 12.0, 1201)
    run = dr.simulate(m, 12.0, samples=times)
    (table,) = m.freeze().tables
    np.testing.assert_allclose(run["wind"][:200], [float(table.at(t)) for t in times[:200]], atol=1e-12)
    for name, most in (("wind", 1e-9), ("change", 1e-7)):
        np.testing.assert_allclose(run[name][400:], run[name][:-400], atol=most)
    ends = dr.simulate(m, 3.0, samples=[0.0, 2.0 - 1e-7, 2.0 + 1e-7, 3.0])
    assert np.diff(ends["wind"][1:3])[0] == pytest.approx(2e-7 * ends["change"][1], abs=1e-9)
    assert abs(np.diff(ends["change"][1:3])[0]) < 1e-4 and np.ptp(run["wind"]) > 4.0


def test_what_tables_are_made_of_are_numbers() -> None:
    m = dr.Model("roads")
    m.body("stone", 1.0, inertia=(1, 1, 1))
    m.free("stone")
    for given, message in (
        ({"length": "stretch"}, "length of rough must be a number, since a table is made of it, got 'stretch'"),
        ({"length": "30 m", "spacing": 0.0}, "spacing of rough must be positive, got 0"),
    ):
        with pytest.raises(ArgumentError, match=message):
            roads.rough(m, "surface", "B", seed=1, **given)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="speed of turbulence must be positive, got 0"):
        roads.turbulence(m, "wind", 2.0, 100.0, 0.0, duration=10.0, seed=1)
    roads.rough(m, "surface", "B", length="40 m", seed=1)
    roads.rough(m, "other", "B", length=40.0, seed=1)
    one, other = (table.values for table in m.freeze().tables)
    np.testing.assert_array_equal(one, other)


def quarter_car() -> dr.Model:
    """A wheel on a linear tire below a mass, which move up and down and forward."""
    m = dr.Model("quarter_car")
    m.body("hub", 40.0, inertia=(1, 1, 1))
    m.body("body", 300.0, inertia=(1, 1, 1))
    m.body("carriage", 0)
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, 0.3))
    m.prismatic("stroke", "hub", "body", axis="z")
    m.spring("stroke", 2e4, damping=1500.0)
    m.wheel("tire", "hub", 0.3, contact=dr.contact.LinearTire(0.0, None, 0.0, stiffness=2e5))
    m.prescribe("drive", "way", "10*t")
    return m


def test_a_wheel_rolls_over_a_bump() -> None:
    m = quarter_car()
    m.ground(height=roads.bump(1.0, 1.0, 0.03))
    still = dr.simulate(m, 0.25, start={"hop": -0.01668, "stroke": -0.147}, samples=101)
    assert still.status.complete
    load = still["tire_normal_force"]
    np.testing.assert_allclose(load[still.time < 0.09], 340.0 * 9.81, rtol=5e-3)
    assert 4000.0 < load.max() < 12000.0
    # the depth of the wheel below the surface, normal to it
    x, z = still["tire_contact_x"], still["hop"] + 0.3
    slope = 0.03 * np.pi * np.sin(2 * np.pi * np.clip(x - 1.0, 0.0, 1.0))
    height = 0.03 * np.sin(np.pi * np.clip(x - 1.0, 0.0, 1.0)) ** 2
    depth = 0.3 - np.hypot(10 * still.time - x, z - height)
    np.testing.assert_allclose(still["tire_deflection"], depth, atol=1e-9)
    np.testing.assert_allclose((10 * still.time - x) + slope * (z - height), 0.0, atol=1e-9)  # along the normal


def test_a_rough_road_shakes_a_car() -> None:
    loads = []
    for seed in (1, 2):
        m = quarter_car()
        m.ground(height=roads.rough(m, "surface", "C", length=12.0, seed=seed, spacing=0.1))
        run = dr.simulate(m, 0.9, start={"hop": -0.01668, "stroke": -0.147}, samples=51)
        assert run.status.complete
        loads.append(run["tire_normal_force"])
    assert np.abs(loads[0] - loads[1]).max() > 100.0
    with pytest.raises(ArgumentError, match="too short"):
        roads.rough(quarter_car(), "surface", "C", length=5.0, seed=1)
    with pytest.raises(ArgumentError, match="road class 'Z' is unknown"):
        roads.roughness("Z", 100.0, seed=1)


def slider() -> dr.Model:
    m = dr.Model("slider")
    m.body("block", 10.0, inertia=(1, 1, 1))
    m.body("carriage", 0)
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "block", axis="z", at=(0, 0, 0.3))
    m.wheel("tire", "block", 0.3, contact=dr.contact.Coulomb(0.8, speed=1e-4))
    return m


def test_a_locked_wheel_slides_farther_on_a_wet_patch() -> None:
    """With μ = 0.8, and half of it between 2 m and 5 m: v² = v₀² − 2 g ∫μ dx."""
    m = slider()
    m.ground(friction=roads.patch(2.0, 3.0, 0.5, edge=0.01))
    run = dr.simulate(m, 0.8, start={"way_rate": 12.0}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-10))
    x = run["way"]
    work = 0.8 * 9.81 * (x - 0.5 * np.clip(x - 2.0, 0.0, 3.0))
    assert x.max() > 5.5
    far = (np.abs(x - 2.0) > 0.1) & (np.abs(x - 5.0) > 0.1)
    np.testing.assert_allclose(run["way_rate"][far] ** 2, 144.0 - 2 * work[far], atol=1e-4)


def test_no_patch_is_passed_over() -> None:
    """Stopping distances with patches that are short or have sharp edges: v₀²/(2 μ g), and 1 − λ of each patch's length more."""
    m, rng = slider(), np.random.default_rng(3)
    m.parameter("place", 3.0, "m")
    m.parameter("stretch", 1.0, "m")
    m.parameter("share", 0.5)
    m.parameter("edge", 0.1, "m")
    m.ground(friction=roads.patch("place", "stretch", "share", edge="edge"))
    equations = dr.derive(m)
    for method in (dr.methods.DOP853(), dr.methods.Radau(), dr.methods.ESDIRK23()):
        for _ in range(3):
            length, share, edge = 10 ** rng.uniform(-1.5, 0.5), rng.uniform(0.05, 1.5), 10 ** rng.uniform(-3.0, -1.5)
            numbers = {"place": rng.uniform(1.0, 7.0), "stretch": length, "share": share, "edge": edge}
            run = dr.simulate(equations, 6.0, start={"way_rate": 14.0}, parameters=numbers, method=method, samples=2)
            distance = 14.0**2 / (2 * 0.8 * 9.81) + (1 - share) * length
            assert run["way"][-1] == pytest.approx(distance, abs=2e-5), (method, numbers)


def test_lengths_and_durations_are_positive() -> None:
    for make in (
        lambda l: roads.bump(1.0, l, 0.1),
        lambda l: roads.ramp(1.0, l, 0.1),
        lambda l: roads.bank("5 deg", at=1.0, length=l),
        lambda l: roads.waves(l, 0.1),
        lambda l: roads.patch(1.0, l, 0.5),
        lambda l: roads.patch(1.0, 1.0, 0.5, edge=l),
        lambda l: roads.split(0.5, 1.0, edge=l),
        lambda l: roads.gust(10.0, 1.0, l),
        lambda l: roads.circle(l),
    ):
        for length in (0, -1.0):
            with pytest.raises(ArgumentError, match="must be positive, got"):
                make(length)
        assert make("some_parameter") is not None


def test_friction_that_varies_needs_a_law() -> None:
    m = dr.Model("block")
    m.body("block", 1.0, inertia=(1, 1, 1))
    m.free("block", at=(0, 0, 1))
    m.contact("foot", "block", friction=0.5)
    m.ground(friction=roads.split(0.5, 1.0))
    with pytest.raises(dr.errors.ModelError, match=r"'foot'.*friction of the ground"):
        m.freeze()


def test_wheels_roll_on_tables() -> None:
    """Ideal rolling on a spline through a sine, and on the sine."""
    ends = []
    for height in ("table", "0.01*sin(x)"):
        m = dr.Model("disk")
        for name in ("way", "hop"):
            m.body(name, 0)
        m.body("disk", 10.0, inertia=(0.3, 0.5, 0.3))
        m.prismatic("x", "ground", "way", axis="x")
        m.prismatic("z", "way", "hop", axis="z", at=(0, 0, 0.3))
        m.revolute("angle", "hop", "disk", axis="y", rate="spin")
        m.wheel("rim", "disk", 0.3)
        if height == "table":
            knots = np.linspace(1.0, 5.0, 41)
            m.table("surface", knots.tolist(), 0.01 * np.sin(knots))
            height = "surface(x)"
        m.ground(height=height)
        run = dr.simulate(m, 0.5, start={"x": 2.0, "spin": 10.0}, samples=11)
        assert run.energy_drift < 1e-6
        ends.append([run["x"][-1], run["z"][-1], run["rim_normal_force"][-1]])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-4)


def test_a_free_body_on_a_compliant_tire_rolls_on_a_table() -> None:
    """On a spline through a sine and on the sine; and on a random road, by two derivations."""
    ends = []
    for height in ("table", "0.02*sin(x)", "rough"):
        m = dr.Model("machine")
        frame = dr.parts.frame(m, "frame", mass=100, center_of_mass=(0.01, 0.6), inertia=(20, 38, 28), points={"axle": (0, 0.3)})
        tire = dr.contact.LinearTire(14e3, 0.2, 20e3, stiffness=1.6e5, damping=300)
        dr.parts.wheel(m, "rear", frame["axle"], radius=0.25, tube=0.05, mass=10, inertia=(0.3, 0.5), tire=tire)
        if height == "rough":
            m.ground(height=roads.rough(m, "surface", "B", length=20.0, seed=2))
            assert dr.certify(m, count=2).passed
            continue
        if height == "table":
            knots = np.linspace(-5.0, 5.0, 401)
            m.table("surface", knots.tolist(), (0.02 * np.sin(knots)).tolist())
            height = "surface(x)"
        m.ground(height=height)
        run = dr.simulate(m, 0.1, start={"speed": 8.0, "lean": 0.05, "frame_z": -0.01}, samples=3)
        ends.append([run[name][-1] for name in ("frame_z", "pitch", "lean", "speed")])
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-6)

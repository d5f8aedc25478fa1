"""What a film shows: poses, tracks and forces, checked against mechanics that the film does not use."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import evaluate_number
from draisine.view.film.animate import footage
from draisine.view.film.footage import continuous, lift_notice, quaternions_of
from draisine.view.film.page import as_script, film_data
from draisine.view.plots.contact_modes import MODE_COLORS


@pytest.fixture(scope="module")
def run():
    return dr.simulate(dr.gallery.bicycle(), 2.0, start={"speed": 4.6, "roll_rate": 0.5})


@pytest.fixture(scope="module")
def ride(run):
    return footage(run, charts=["lean"])


def matrix(q: np.ndarray) -> np.ndarray:
    """The rotation of a unit quaternion, from v' = v + 2 w × (…): the other way round than the code under test."""
    w, u = q[0], q[1:]
    skew = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def test_quaternions_of_any_rotation():
    rng = np.random.default_rng(1)
    some = rng.normal(size=(200, 4))
    half_turns = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1e-9, 1, 1, 0.0], [1, 0, 0, 0]])
    wanted = np.vstack([some, half_turns])
    wanted /= np.linalg.norm(wanted, axis=1)[:, None]
    found = quaternions_of(np.array([matrix(q) for q in wanted]))
    assert np.allclose(np.abs(np.sum(found * wanted, axis=1)), 1.0, atol=1e-12)


def test_quaternions_do_not_jump():
    angles = np.linspace(0, 4 * np.pi, 101)
    turns = np.array([matrix(np.array([np.cos(a / 2), 0, np.sin(a / 2), 0])) for a in angles])
    steps = np.diff(continuous(quaternions_of(turns)), axis=0)
    assert np.abs(steps).max() < 0.1


def test_a_pendulum_is_where_its_angle_says():
    m = dr.Model("pendulum")
    m.gravity(9.81)
    m.revolute(
        "swing",
        "ground",
        m.body("bob", mass=1.0, center_of_mass=(0, 0, -0.8), inertia=(0.1, 0.1, 0.1)),
        axis="y",
        at=(0.3, 0, 2.0),
    )
    run = dr.simulate(m, 1.0, start={"swing": 0.9})
    take = footage(run)
    swing = run.interpolated(take.times)["swing"]
    bob = np.array([take.poses(k)["bob"].of([0, 0, -0.8]) for k in range(len(take.times))])
    wanted = np.column_stack([0.3 - 0.8 * np.sin(swing), 0 * swing, 2.0 - 0.8 * np.cos(swing)])
    assert np.abs(bob - wanted).max() < 1e-12


def test_wheels_stand_on_the_ground_where_their_tracks_are(ride):
    for wheel in ("rear_wheel", "front_wheel"):
        tire = np.concatenate([m.vertices for m in ride.meshes if m.body == wheel])
        for k in (0, 30, 77, 120):
            points = ride.poses(k)[wheel].of(tire)
            lowest = points[np.argmin(points[:, 2])]
            # a ring of 72 by 10 points misses the true rim by a millimeter
            assert abs(lowest[2]) < 2e-3
            assert np.linalg.norm(lowest - ride.tracks[wheel][k]) < 0.05


def center_of_mass(take, model) -> tuple[np.ndarray, float]:
    values = {p.name: p.default for p in model.parameters}
    total, mass = np.zeros((len(take.times), 3)), 0.0
    for body in model.bodies:
        m, c = evaluate_number(body.mass, values), np.array([evaluate_number(x, values) for x in body.center_of_mass])
        total += m * (np.einsum("nij,j->ni", take.rotations[body.name], c) + take.positions[body.name])
        mass += m
    return total / mass, mass


@pytest.mark.parametrize(
    ("name", "start", "weight"),
    [("bicycle", {"speed": 4.6, "roll_rate": 0.5}, True), ("chaplygin_sleigh", {"speed": 1.0, "turn_rate": 1.5}, False)],
)
def test_arrows_are_what_moves_the_center_of_mass(name, start, weight):
    """Newton's second law of the whole, from positions alone: forces of the ground are m (a + g)."""
    model = getattr(dr.gallery, name)()
    run = dr.simulate(model, 1.0, start=start, samples=1001)
    take = footage(run, rate=200)
    center, mass = center_of_mass(take, model.freeze())
    step = take.times[1] - take.times[0]
    acceleration = (center[2:] - 2 * center[1:-1] + center[:-2]) / step**2
    wanted = mass * (acceleration + [0, 0, 9.81 if weight else 0.0])
    found = sum(force.vector for force in take.forces)[1:-1]
    assert np.abs(wanted).max() > 0.1
    assert np.abs(found - wanted).max() < 0.01 * np.abs(wanted).max()


def acceleration(values: np.ndarray, step: float) -> np.ndarray:
    return (values[2:] - 2 * values[1:-1] + values[:-2]) / step**2


def test_arrows_of_rods_carry_a_platform():
    model = dr.gallery.stewart_platform()
    run = dr.simulate(model, 1.0, samples=1001)
    take = footage(run, rate=200)
    center, mass = center_of_mass(take, model.freeze())
    wanted = mass * (acceleration(center, take.times[1]) + [0, 0, 9.81])
    assert len(take.forces) == 7
    assert np.abs(sum(force.vector for force in take.forces)[1:-1] - wanted).max() < 0.01 * np.abs(wanted).max()


def test_the_arrow_of_a_pin_moves_the_piston():
    model = dr.gallery.slider_crank()
    run = dr.simulate(model, 0.5, start={"crank_angle_rate": 20.0}, samples=2001)
    take = footage(run, rate=1000)
    (force,) = take.forces
    masses = {b.name: b.mass for b in model.freeze().bodies}
    mass = evaluate_number(masses["piston"], {p.name: p.default for p in model.freeze().parameters})
    wanted = mass * acceleration(take.positions["piston"][:, 0], take.times[1])
    assert np.abs(wanted).max() > 0.01
    # the pin's force is that on the rod; the piston gets the opposite, and nothing else along its rail
    assert np.abs(-force.vector[1:-1, 0] - wanted).max() < 0.01 * np.abs(wanted).max()


def test_a_film_says_when_the_ground_would_have_to_pull(run, ride):
    """The fast disturbance lifts a wheel; the gentle ride of the other tests lifts none."""
    assert ride.lifts == {} and not any(lift_notice(ride, k) for k in range(len(ride.times)))
    hard = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 3.0, "roll_rate": 2.5})
    take = footage(hard)
    lifted = [wheel for wheel in ("rear_wheel", "front_wheel") if hard[f"{wheel}_normal_force"].min() < 0.0]
    assert lifted and set(take.lifts) == set(lifted)
    for k, t in enumerate(take.times):
        now = [w.replace("_", " ") for w in lifted if hard.interpolated(t)[f"{w}_normal_force"] < 0.0]
        assert lift_notice(take, k) == (f"the ground would have to pull on {' and '.join(now)}" if now else "")
    (shown,) = film_data([take])["runs"]
    assert [entry["name"] for entry in shown["lifts"]] == [name.replace("_", " ") for name in take.lifts]


def test_the_page_holds_the_poses(ride):
    data = json.loads(as_script(film_data([ride])))
    reported = data["runs"][0]
    bodies = data["casts"][0]["bodies"]
    poses = np.frombuffer(base64.b64decode(reported["poses"]), dtype="<f4").reshape(reported["count"], len(bodies), 7)
    for k in (0, 60, 120):
        for i, body in enumerate(bodies):
            assert np.allclose(poses[k, i, :3], ride.positions[body][k], atol=1e-5)
            assert np.allclose(matrix(poses[k, i, 3:].astype(float)), ride.rotations[body][k], atol=1e-6)
    assert reported["start"] + reported["step"] * (reported["count"] - 1) == pytest.approx(2.0)


def test_ten_seconds_take_less_than_three_megabytes(tmp_path):
    run = dr.simulate(dr.gallery.bicycle(), 10.0, start={"speed": 4.6, "roll_rate": 0.5})
    run.save(tmp_path / "ride.html", charts=["lean", "steer", "speed"])
    assert (tmp_path / "ride.html").stat().st_size < 3e6


def test_no_text_of_a_page_points_elsewhere(run, tmp_path):
    run.save(tmp_path / "ride.html")
    text = (tmp_path / "ride.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"""https?://[^\s"'`<>)]+""", text))
    assert addresses <= {"http://www.w3.org/1999/xhtml"}  # a name, which nobody looks up
    assert not re.search(r"<(link|iframe|object|embed)\b|\ssrc\s*=\s*[\"']", text)
    assert "The MIT License" in text


def test_curved_ground_is_under_the_wheel():
    take = footage(dr.simulate(dr.gallery.wheel_on_waves(), 1.0))
    ground, track = take.ground, take.tracks["rim"]
    from scipy.interpolate import RegularGridInterpolator

    heights = RegularGridInterpolator((ground.x, ground.y), ground.heights)(track[:, :2])
    assert np.ptp(heights) > 0.05
    assert np.abs(heights - track[:, 2]).max() < 0.01


def test_runs_from_files_are_reported_their_model(run, tmp_path):
    run.save(tmp_path / "ride.nc")
    again = dr.load(tmp_path / "ride.nc")
    with pytest.raises(ArgumentError, match=r"has no description.*model=…"):
        again.save(tmp_path / "ride.html")
    again.save(tmp_path / "ride.html", model=dr.gallery.bicycle())
    assert (tmp_path / "ride.html").exists()


def test_runs_of_derived_equations_are_filmed_as_those_of_their_model():
    """Equations know what they were derived of; studies of motorcycles simulate them."""
    model = dr.gallery.chaplygin_sleigh()
    start = {"speed": 1.0, "turn_rate": 0.5}
    one, other = dr.simulate(model, 0.5, start=start), dr.simulate(dr.derive(model), 0.5, start=start)
    assert one.source == other.source
    first, second = (run.animate(show=False).takes[0] for run in (one, other))
    assert [mesh.body for mesh in first.meshes] == [mesh.body for mesh in second.meshes] != []
    assert len(dr.draw(dr.derive(model)).axes) == len(dr.draw(model).axes)


def test_refusals_name_the_thing(run, tmp_path):
    with pytest.raises(KeyError, match="has no channel 'leen'; did you mean lean"):
        run.animate(charts=["leen"], show=False)
    with pytest.raises(ValueError, match="unknown layer 'force'; choose from"):
        run.animate(layers=["force"], show=False)
    with pytest.raises(ModelError, match="given as formulas and has no bodies to animate"):
        dr.simulate(dr.gallery.van_der_pol(), 1.0).animate(show=False)
    with pytest.raises(ArgumentError, match="has no coordinate 'crank_angle'"):
        run.animate(model=dr.gallery.four_bar(), show=False)
    with pytest.raises(TypeError, match="charts: options of films"):
        run.save(tmp_path / "ride.nc", charts=["lean"])
    with pytest.raises(ValueError, match="rate is the number of samples"):
        run.animate(rate=0, show=False)


def test_a_ghost_may_be_another_model(run):
    disk = dr.simulate(dr.gallery.rolling_disk(), 1.0)
    made = dr.view.animate(run, ghosts=[disk], show=False)
    data = film_data(made.takes)
    assert [cast["bodies"][-2] for cast in data["casts"]] == ["front_wheel", "disk"]
    assert repr(made) == "<Animation of bicycle: 0 s to 2 s, 1 ghosts>"


def test_without_a_notebook_a_browser_is_asked(run, monkeypatch, tmp_path):
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: asked.append(address) or True)
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
    run.animate(title="a ride")
    assert asked == [(tmp_path / "film.html").as_uri()]
    assert "<title>a ride</title>" in (tmp_path / "film.html").read_text(encoding="utf-8")


def test_contacts_have_the_colors_of_their_modes():
    """A block that slides down to rest: orange while it slips, blue where it sticks; a ball in flight has no mark."""
    m = dr.Model("block")
    m.gravity(9.81)
    first, body = m.body("first", mass=0.0), m.body("block", mass=1.0)
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, body, axis="z")
    m.contact("floor", body, friction=0.5)
    (floor,) = footage(dr.simulate(m, 1.0, start={"z": 0.0, "x_rate": 2.0})).contacts
    times = np.linspace(0.0, 1.0, len(floor.colors))
    stops = 2.0 / (0.5 * 9.81)
    assert [color == MODE_COLORS["slip"] for color in floor.colors] == list(times < stops)
    assert set(floor.colors) == {MODE_COLORS["slip"], MODE_COLORS["stick"]}
    np.testing.assert_allclose(floor.at[:, 2], 0.0, atol=1e-12)
    (floor,) = footage(dr.simulate(m, 0.1, start={"z": 1.0})).contacts
    assert set(floor.colors) == {""}

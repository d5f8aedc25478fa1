"""Measures in expressions: positions, velocities, angles, distances, contact angles, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from brute import reported
from grounded import Vehicle, size, vehicle
from plain import Plain
from trees import coordinates, free_joints_of_every_kind

from draisine.dynamics.derive import derive
from draisine.errors import ModelError
from draisine.expr.expression import parse
from draisine.gallery.entries.bicycle import bicycle
from draisine.model.model import Model
from draisine.program.equations import Event

NONE = np.zeros(0)


def measured(seed: int) -> Model:
    """A tree that asks everything of a point, a frame and a body."""
    m, bodies = free_joints_of_every_kind(seed)
    m.point("tip", bodies[-1], at=(0.2, -0.1, 0.3))
    m.point("nail", "ground", at=(0.5, -0.4, 1.0))
    m.frame("port", bodies[1], at=(0.1, 0.2, -0.1), orientation=[("z", 0.4), ("x", m.parameter("port_tilt", -0.7))])
    for place in ("tip", "port", bodies[1]):
        for axis in "xyz":
            m.output(f"{place}_p{axis}", f"position_{axis}({place})")
            m.output(f"{place}_v{axis}", f"velocity_{axis}({place})")
            m.output(f"{place}_o{axis}", f"body_velocity_{axis}({place})")
            m.output(f"{place}_r{axis}", f"rate_{axis}({place})")
        for angle in ("heading", "lean", "pitch"):
            m.output(f"{place}_{angle}", f"{angle}({place})")
            m.output(f"{place}_{angle}_rate", f"rate({angle}({place}))")
    m.output("apart", "distance(tip, nail)")
    m.output("parting", "rate(apart)")  # an output used in another
    m.output("twice", "2*parting + t")
    m.output("rising", "rate(position_z(tip) + 3*t)")
    return m


@pytest.mark.parametrize("seed", range(4))
def test_measures_are_those_of_poses_and_their_differences(seed):
    """Positions and rotations from plain matrices; velocities and rates as differences between neighboring instants."""
    m = measured(seed)
    e = derive(m)
    system = m.freeze()
    plain, rng, step = Plain(system, e), np.random.default_rng(seed), 1e-5
    q, v, p = coordinates(e, rng), rng.normal(size=len(e.velocities)), e.default_parameters
    places = {"tip": None, "port": None, system.bodies[1].name: None}
    frames = plain.function(*(plain.frame_of(name) for name in places))
    q_rate = plain.function(plain.q_rate)(0.5, q, v, 0 * v, NONE, p)[0]
    early, here, late = (frames(0.5, q + h * q_rate, v, 0 * v, NONE, p) for h in (-step, 0.0, step))
    outputs = dict(zip(e.motion.output("outputs").labels, e.motion([0.5], q, v, NONE, p)[1], strict=True))

    def of(place: str, letter: str) -> np.ndarray:
        return np.array([outputs[f"{place}_{letter}{axis}"] for axis in "xyz"])

    for name, before, now, after in zip(places, early, here, late, strict=True):
        rotation, change = now[:3, :3], (after - before) / (2 * step)
        assert of(name, "p") == pytest.approx(now[:3, 3], abs=1e-13)
        assert of(name, "v") == pytest.approx(change[:3, 3], abs=1e-7 * size(v) ** 3)
        assert of(name, "o") == pytest.approx(rotation.T @ change[:3, 3], abs=1e-7 * size(v) ** 3)
        turning = rotation.T @ change[:3, :3]
        assert of(name, "r") == pytest.approx([turning[2, 1], turning[0, 2], turning[1, 0]], abs=1e-7 * size(v) ** 3)
        angles = [outputs[f"{name}_{angle}"] for angle in ("heading", "lean", "pitch")]
        assert _turns(*angles) == pytest.approx(rotation, abs=1e-12)
        assert abs(angles[1]) <= np.pi / 2
        rates = [outputs[f"{name}_{angle}_rate"] for angle in ("heading", "lean", "pitch")]
        turned = (_turns(*(np.array(angles) + step * np.array(rates))) - _turns(*(np.array(angles) - step * np.array(rates)))) / (
            2 * step
        )
        assert turned == pytest.approx(change[:3, :3], abs=1e-6 * size(v, np.array(rates)) ** 3)
    nail = np.array([0.5, -0.4, 1.0])
    distances = [np.linalg.norm(f[0][:3, 3] - nail) for f in (early, here, late)]
    assert outputs["apart"] == pytest.approx(distances[1], abs=1e-13)
    assert outputs["parting"] == pytest.approx((distances[2] - distances[0]) / (2 * step), abs=1e-7 * size(v) ** 3)
    assert outputs["twice"] == pytest.approx(2 * outputs["parting"] + 0.5, abs=1e-13)
    assert outputs["rising"] == pytest.approx(outputs["tip_vz"] + 3.0, abs=1e-12)


def _turns(heading: float, lean: float, pitch: float) -> np.ndarray:
    """About z, then x, then y."""

    def about(i: int, angle: float) -> np.ndarray:
        r = np.eye(3)
        j, k = (i + 1) % 3, (i + 2) % 3
        r[j, j] = r[k, k] = np.cos(angle)
        r[k, j], r[j, k] = np.sin(angle), -np.sin(angle)
        return r

    return about(2, heading) @ about(0, lean) @ about(1, pitch)


def test_signs_people_rely_on():
    """Heading to the left, lean to the right and pitch nose down are positive."""
    m = Model("signs")
    m.body("hull", mass=1.0, inertia=(1, 1, 1))
    m.free_euler("hull", order="zxy", angles=("yaw", "roll", "nod"))
    m.point("nose", "hull", at=(1, 0, 0))
    m.point("left", "hull", at=(0, 1, 0))
    for name in ("heading", "lean", "pitch"):
        m.output(name, f"{name}(hull)")
    m.output("nose_left", "position_y(nose)")
    m.output("left_up", "position_z(left)")
    m.output("nose_up", "position_z(nose)")
    e = derive(m)

    def at(**angles: float) -> dict[str, float]:
        q = np.array([angles.get(c.name, 0.0) for c in e.coordinates])
        return dict(zip(e.motion.output("outputs").labels, e.motion([0.0], q, np.zeros(6), NONE, NONE)[1], strict=True))

    assert at(yaw=0.3)["heading"] == pytest.approx(0.3) and at(yaw=0.3)["nose_left"] > 0
    assert at(roll=0.3)["lean"] == pytest.approx(0.3) and at(roll=0.3)["left_up"] > 0  # the left side rises: a lean to the right
    assert at(nod=0.3)["pitch"] == pytest.approx(0.3) and at(nod=0.3)["nose_up"] < 0


# -------------------------------------------------------------------- contact angles


@pytest.mark.parametrize("name", ["bicycle", "bicycle out of balance", "casters", "disc by angles", "carousel"])
def test_the_place_of_the_contact_on_a_wheel_is_reported_in_its_own_axes(name):
    """The angle in the wheel leads to the contact point from the wheel's own axes; less the spin it is that in the carrier."""
    c = vehicle(name)
    e, rng = c.equations, np.random.default_rng(3)
    x, u = c.state(rng)
    q = x[: len(e.coordinates)]
    report = reported(e, x, u, c.p)
    outputs = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    known = dict(zip([k.name for k in e.coordinates], q, strict=True))
    for wheel in c.system.wheels:
        angle = outputs[f"{wheel.name}_contact_angle_in_wheel"]
        i = "xyz".index(wheel.axis)
        rim = np.append(
            np.array(c.plain.function(c.plain.vector(wheel.center))(0, q, 0 * report["v"], 0 * report["v"], u, c.p)[0]), 1.0
        )
        radius = c.plain.function(c.plain.value(wheel.radius))(0, q, 0 * report["v"], 0 * report["v"], u, c.p)[0][0]
        rim[(i + 1) % 3] += radius * np.cos(angle)
        rim[(i + 2) % 3] += radius * np.sin(angle)
        frame = c.plain.function(c.plain.frames[wheel.body])(0, q, 0 * report["v"], 0 * report["v"], u, c.p)[0]
        assert (frame @ rim)[:3] == pytest.approx([outputs[f"{wheel.name}_contact_{a}"] for a in "xyz"], abs=1e-12)
        hinge = next(j for j in c.system.joints if j.child == wheel.body)
        assert outputs[f"{wheel.name}_contact_angle"] == pytest.approx(angle + known[hinge.coordinates[-1].name], abs=1e-12)


def test_an_offset_of_the_spin_angle_is_part_of_it():
    """A wheel whose hinge is turned by q + 0.3: its own axes are ahead of the coordinate by 0.3."""
    from draisine.expr.expression import Name
    from draisine.model.items import Coordinate, Rotate

    m = Model("offset")
    m.body("hull", mass=3.0, inertia=(1, 1, 1))
    m.free("hull")
    m.body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.1))
    m.joint("hub", "hull", "wheel", (Rotate("y", Name("angle") + 0.3),), (Coordinate("angle", "spin", "rad"),))
    m.wheel("wheel", "wheel", radius=0.3)
    c = Vehicle(m)
    x, u = c.state(np.random.default_rng(1))
    outputs = dict(zip(c.equations.report.output("outputs").labels, reported(c.equations, x, u, c.p)["outputs"], strict=True))
    angle = dict(zip([s.name for s in c.equations.states], x, strict=True))["angle"]
    turned = outputs["wheel_contact_angle"] - outputs["wheel_contact_angle_in_wheel"]
    assert turned == pytest.approx(angle + 0.3, abs=1e-13)


# -------------------------------------------------------------------- outputs, events


def test_outputs_of_dependent_velocities_and_events_see_the_reduced_motion():
    m = bicycle()
    m.output("rear_rim_speed", "rear_wheel_spin * r_rear_wheel")
    e = derive(m, events=(Event("slow", "rear_rim_speed - 4"),))
    assert [event.name for event in e.event_list] == ["fell_over", "slow"]
    c = Vehicle(m)
    x, u = c.state(np.random.default_rng(5))
    report = reported(e, x, u, c.p)
    outputs = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    spin = dict(zip(e.report.output("v").labels, report["v"], strict=True))["rear_wheel_spin"]
    assert outputs["rear_rim_speed"] == pytest.approx(0.3 * spin, rel=1e-13)
    values = e.events([0.0], x, u, c.p)[0]
    assert values == pytest.approx([abs(outputs["lean"]) - np.radians(80), outputs["rear_rim_speed"] - 4], rel=1e-12)


def test_outputs_of_report_and_motion_agree():
    """What a consistent start is solved on is what is reported afterwards; forces are reported only."""
    c = vehicle("casters")
    e = c.equations
    x, u = c.state(np.random.default_rng(6))
    report = reported(e, x, u, c.p)
    outputs = dict(zip(e.report.output("outputs").labels, report["outputs"], strict=True))
    residuals, motion = e.motion([0.0], x[: len(e.coordinates)], report["v"], u, c.p)
    labels = e.motion.output("outputs").labels
    assert motion == pytest.approx([outputs[n] for n in labels], abs=1e-12)
    assert set(outputs) - set(labels) == e.force_outputs
    assert residuals == pytest.approx(report["residuals"], abs=1e-12)


# -------------------------------------------------------------------- complaints


def swinging() -> Model:
    m = Model("swinging")
    m.body("bob", mass=3.0, center_of_mass=(0, 0, -2))
    m.revolute("swing", "ground", "bob", axis="y")
    m.point("tip", "bob", at=(0, 0, -2))
    return m


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("swimg", "output 'wanted': unknown name 'swimg'; did you mean 'swing'"),
        ("position_x(tipp)", "output 'wanted': unknown name 'tipp'; did you mean 'tip'"),
        ("bob", r"'bob' is not a quantity; use a measure of it, such as 'lean\(bob\)'"),
        ("lean(swing)", r"no body or point 'swing'"),
        ("positon_x(tip)", "unknown function 'positon_x'; did you mean 'position_x'"),
        ("position_x(tip, bob)", r"position_x takes the name of a point or body, got \(tip, bob\)"),
        ("position_x(2*swing)", r"position_x takes the name of a point or body, got \(2\*swing\)"),
        ("distance(tip)", r"distance takes the names of two points, got \(tip\)"),
        ("wanted + 1", "'wanted'.*are defined by each other"),
    ],
)
def test_unknown_names_and_wrong_arguments_are_explained(expression, message):
    m = swinging()
    m.output("wanted", expression)
    with pytest.raises((ModelError, ValueError), match=message):
        derive(m)


def test_circles_are_shown():
    m = swinging()
    m.output("first", "second + swing")
    m.output("second", "2*third")
    m.output("third", "first")
    with pytest.raises(ModelError, match=r"first.*are defined by each other") as caught:
        derive(m)
    assert all(name in str(caught.value) for name in ("'first'", "'second'", "'third'"))


def test_a_joint_must_be_affine_in_one_coordinate():
    from draisine.model.items import Coordinate, Rotate

    def bent(angle: str) -> Model:
        m = Model("bent")
        m.body("arm", mass=1.0, inertia=(1, 1, 1))
        m.joint(
            "hinge",
            "ground",
            "arm",
            (Rotate("z", parse(angle)), Rotate("x", parse("b"))),
            tuple(Coordinate(n, f"{n}_rate", "rad") for n in "ab"),
        )
        return m

    with pytest.raises(ModelError, match=r"joint 'hinge': 'a\*a' must be affine in 'a'"):
        derive(bent("a*a"))
    with pytest.raises(ModelError, match=r"joint 'hinge': one displacement may use one coordinate, but 'a \+ b' uses a and b"):
        derive(bent("a + b"))


def test_an_output_may_not_bear_the_name_of_a_contacts_own():
    m = bicycle()
    m.output("rear_wheel_contact_x", "position_x(frame)", "m")
    with pytest.raises(ModelError, match="the output 'rear_wheel_contact_x' is already defined by a contact"):
        derive(m)

"""Drawings of models: the shapes are where mechanics puts them, and the picture shows them to scale."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import evaluate_number
from draisine.model.model import Model
from draisine.view.drawing import pose
from draisine.view.plots.figure_files import as_pdf, as_svg
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.projection import VIEWS, default_views, is_straight, views_by_name
from draisine.view.scene.scene import Blade, Center, Cord, Hinge, InertiaEllipsoid, Link, Pose, Scene, Slide, Support, Wheel
from draisine.view.scene.sketch import sketch

HERE = Pose(np.zeros(3), np.eye(3))


def only(scene: Scene, kind: type, name: str = ""):
    (found,) = [s for s in scene.shapes if isinstance(s, kind) and name in ("", getattr(s, "name", ""), s.body)]
    return found


@pytest.fixture(scope="module")
def bicycle():
    return dr.gallery.bicycle()


# ---------------------------------------------------------------- shapes


def test_frame_and_fork_hold_the_steer_axis_where_it_is_nearest_to_them(bicycle):
    """By plane geometry from the published numbers: the axis meets the ground a trail ahead of the contact, tilted by π/10."""
    posed = pose(bicycle, None, None)
    hinge = only(posed.scene, Hinge, "steer")
    head, foot = hinge.end_points(posed.poses["frame"])
    trace, back = np.array([1.02 + 0.08, 0.0, 0.0]), np.array([-np.sin(np.pi / 10), 0.0, np.cos(np.pi / 10)])
    for point, center in ((head, (0.3, 0.0, 0.9)), (foot, (0.9, 0.0, 0.7))):
        nearest = trace + ((np.array(center) - trace) @ back) * back
        assert point == pytest.approx(nearest, abs=1e-9)
    frame = only(posed.scene, Link, "frame")
    ends = posed.poses["frame"].of(np.array(frame.frame[0]))
    assert ends[np.argsort(ends[:, 0])] == pytest.approx(np.array([[0.0, 0.0, 0.3], head]), abs=1e-9)  # rear hub to head
    assert posed.poses["frame"].of(only(posed.scene, Center, "frame").at) == pytest.approx([0.3, 0.0, 0.9], abs=1e-9)


@pytest.mark.parametrize("ground", [{}, {"slope": 0.2, "bank": -0.1}], ids=["level", "tilted"])
def test_wheels_touch_the_ground_where_the_equations_say(ground):
    model = dr.gallery.bicycle()
    if ground:
        model.ground(**ground)
    targets = {"steer": 0.5} if ground else {"lean": 0.3, "steer": 0.5, "heading": 1.0}
    posed, run = pose(model, targets, None), dr.simulate(model, 0.01, start=targets, samples=2)
    for wheel in (s for s in posed.scene.shapes if isinstance(s, Wheel)):
        contact = wheel.contact(posed.poses[wheel.body], posed.scene.normal)
        reported = [run[f"{wheel.name}_contact_{axis}"][0] for axis in "xyz"]
        assert contact == pytest.approx(reported, abs=1e-9)
        assert contact @ posed.scene.normal == pytest.approx(0.0, abs=1e-9)
        circle = wheel.circle(posed.poses[wheel.body])
        assert (circle @ posed.scene.normal).min() == pytest.approx(0.0, abs=1e-3)  # no point is below
        assert (circle @ posed.scene.normal).min() > -1e-9


def test_a_torus_touches_with_its_tube():
    posed = pose(dr.gallery.rolling_torus(), None, None)
    wheel = only(posed.scene, Wheel)
    assert wheel.tube > 0 and not wheel.hinged
    contact = wheel.contact(posed.poses[wheel.body], np.array([0.0, 0.0, 1.0]))
    assert contact[2] == pytest.approx(0.0, abs=1e-9)
    assert posed.poses[wheel.body].position[2] == pytest.approx(wheel.radius + wheel.tube, abs=1e-9)


def test_parameters_change_the_shapes(bicycle):
    posed = pose(bicycle, None, {"wheelbase": 1.5, "r_front_wheel": 0.2})
    assert only(posed.scene, Wheel, "front_wheel").radius == 0.2
    assert posed.poses["front_wheel"].position == pytest.approx([1.5, 0.0, 0.2], abs=1e-9)
    with pytest.raises(KeyError, match="wheelbas"):
        dr.draw(bicycle, parameters={"wheelbas": 1.0})


def test_blades_sliders_constraints_springs_and_blobs():
    board = scene_of(dr.gallery.snakeboard().freeze())
    assert {s.name for s in board.shapes if isinstance(s, Blade)} == {"front_axle", "back_axle"}
    cart = scene_of(dr.gallery.cart_pole_graph().freeze())
    assert only(cart, Slide).axis == pytest.approx([1, 0, 0])
    m = Model("ball")
    ball = m.body("ball", mass=3.0, inertia=(0.012, 0.012, 0.012))
    m.free(ball)
    m.point("eye", ball, (0.0, 0.0, 0.0))
    m.point("hook", "ground", (0.0, 0.0, 2.0))
    m.spring("distance(eye, hook)", 10.0, rest=1.0)
    scene = scene_of(m.freeze())
    (spring,) = [s for s in scene.shapes if isinstance(s, Cord)]
    assert spring.is_spring and [body for body, _ in spring.ends] == ["ball", "ground"]
    (support,) = [s for s in scene.shapes if isinstance(s, Support)]
    assert support.at == pytest.approx([0.0, 0.0, 2.0])


def test_a_blob_has_the_moments_of_its_body():
    """A solid ellipsoid: I = m/5 (b² + c²)."""
    a, b, c, mass = 0.3, 0.2, 0.1, 5.0
    m = Model("stone")
    inertia = {"xx": mass / 5 * (b**2 + c**2), "yy": mass / 5 * (a**2 + c**2), "zz": mass / 5 * (a**2 + b**2)}
    m.free(m.body("stone", mass=mass, inertia=inertia))
    blob = only(scene_of(m.freeze()), InertiaEllipsoid)
    assert sorted(np.linalg.norm(blob.axes, axis=0)) == pytest.approx([c, b, a], rel=1e-12)
    posed = pose(m, None, None)
    assert np.ptp(posed.scene.points(posed.poses), axis=0) == pytest.approx([2 * a, 2 * b, 2 * c], rel=1e-9)


def test_a_blob_does_not_outgrow_the_rest():
    """A rotor with moments that no body of this size has; its proportions are kept."""
    m = Model("rotor_on_arm")
    arm = m.body("arm", mass=1.0, center_of_mass=(0.25, 0.0, 0.0))
    rotor = m.body("rotor", mass=2.0, inertia=(0.08, 0.08, 0.1))
    m.revolute("turn", "ground", arm, axis="z")
    m.revolute("rotor", arm, rotor, axis="z", at=(0.5, 0.0, 0.0))
    posed = pose(m, {}, None)
    free, fitted = (only(scene, InertiaEllipsoid).axes for scene in (posed.scene, posed.scene.fitted(posed.poses)))
    assert np.linalg.norm(free, axis=0).max() == pytest.approx(np.sqrt(2.5 * 0.1 / 2.0))  # 0.35 m
    assert np.linalg.norm(fitted, axis=0).max() == pytest.approx(0.3 * 0.5)
    assert fitted * free.max() == pytest.approx(free * fitted.max())


def test_a_closed_loop_is_closed():
    posed = pose(dr.gallery.model("four_bar"), None, None)
    (cord,) = [s for s in posed.scene.shapes if isinstance(s, Cord)]
    first, second = (posed.poses[body].of(at) for body, at in cord.ends)
    assert first == pytest.approx(second, abs=1e-9)


# ---------------------------------------------------------------- views


def test_views_are_right_handed_and_reported_apart():
    for view in VIEWS.values():
        assert np.linalg.norm(view.right) == pytest.approx(1.0) and view.right @ view.up == pytest.approx(0.0, abs=1e-15)
    x, y, z = np.eye(3)
    assert VIEWS["side"].flat(x) == pytest.approx([1, 0], abs=1e-15) and VIEWS["side"].flat(z) == pytest.approx([0, 1], abs=1e-15)
    assert VIEWS["top"].flat(y) == pytest.approx([0, 1], abs=1e-15) and VIEWS["top"].towards == pytest.approx(z, abs=1e-15)
    assert VIEWS["front"].flat(y) == pytest.approx([1, 0], abs=1e-15)
    assert VIEWS["three-quarter"].depth(-y) > 0 < VIEWS["three-quarter"].depth(x)  # the front of a vehicle is nearer
    with pytest.raises(ValueError, match="unknown view 'back'; choose from side, front, top, three-quarter"):
        views_by_name(["back"])


def swing(axis: str) -> Model:
    m = Model("swing")
    arm = m.body("arm", mass=1.0, center_of_mass=(0.0, 0.0, -1.0))
    m.revolute("turn", "ground", arm, axis=axis)
    return m


@pytest.mark.parametrize(
    ("model", "view"),
    [
        (dr.gallery.bicycle(), "side"),
        (dr.gallery.snakeboard(), "top"),
        (swing("x"), "front"),
        (swing("y"), "side"),
        (dr.gallery.unicycle(), "side"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_view_that_shows_most(model, view):
    posed = pose(model, {}, None)
    assert [v.name for v in default_views(posed.scene, posed.poses)] == [view, "three-quarter"]


def test_an_arm_that_is_stretched_out_is_bent_for_the_picture():
    straight = pose(dr.gallery.double_pendulum_graph(), {}, None)
    assert is_straight(straight.scene, straight.poses) and not straight.remark
    bent = pose(dr.gallery.double_pendulum_graph(), None, None)
    assert not is_straight(bent.scene, bent.poses) and bent.remark == "hinges turned by 29°"
    assert bent.poses["second"].rotation[0, 0] == pytest.approx(np.cos(1.0))
    assert not pose(dr.gallery.bicycle(), None, None).remark


# ---------------------------------------------------------------- pictures


def test_the_picture_is_to_scale_and_names_its_bodies(bicycle):
    figure = dr.draw(bicycle)
    figure.canvas.draw()
    scales = []
    for axes in figure.axes:
        box = axes.get_window_extent()
        (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
        scales += [box.width / (x1 - x0), box.height / (y1 - y0)]
    assert scales == pytest.approx([scales[0]] * 4, rel=1e-9)  # round wheels, and one scale in both views
    side = figure.axes[0]
    tires = [np.ptp(line.get_xydata(), axis=0) for line in side.lines if len(line.get_xydata()) > 100]
    assert sorted(tires[0].tolist() + tires[1].tolist()) == pytest.approx([0.6, 0.6, 0.7, 0.7], rel=1e-3)
    words = {text.get_text() for text in side.texts}
    assert {"frame", "fork", "rear wheel", "front wheel", "0.5 m"} <= words
    for text in side.texts:  # nothing is written outside the panel
        x, y = text.get_position()
        assert side.get_xlim()[0] <= x <= side.get_xlim()[1] and side.get_ylim()[0] <= y <= side.get_ylim()[1]


@pytest.mark.parametrize("name", dr.gallery.models())
def test_every_model_of_the_gallery_draws_itself(name):
    model = dr.gallery.model(name)
    if isinstance(model, dr.Equations):
        with pytest.raises(dr.errors.ModelError, match="is given as formulas and has no bodies to draw"):
            dr.draw(model)
        return
    svg = as_svg(dr.draw(model))
    assert svg.startswith("<svg") and svg.endswith("</svg>") and "nan" not in svg.lower().replace("nance", "")
    system = model.freeze()
    rolls = {wheel.body for wheel in system.wheels} | {edge.body for edge in system.edges}
    for body in system.bodies:  # those without mass and shape carry joints alone
        if evaluate_number(body.mass, system.parameter_values({})) > 0 or body.shapes or body.name in rolls:
            assert f">{body.name.replace('_', ' ')}<" in svg, body.name


def test_what_is_seen_of_a_body_has_its_name():
    """Without mass it is named beside its wheel, blade, solid or line; what carries joints alone has nothing to be named."""
    m = Model("chain")
    box = {"kind": "box", "size": (0.2, 0.4, 0.2), "at": (0.0, 0.1, 0.3)}
    slide, turn, bar, wheel, skate = (m.body(name, mass=0) for name in ("slide", "turn", "bar", "wheel", "skate"))
    skin, load = m.body("skin", mass=0, shapes=[box]), m.body("load", mass=1.0, center_of_mass=(0.0, 0.0, 0.1))
    m.prismatic("along", "ground", slide, axis="x")
    m.revolute("heading", slide, turn, axis="z")
    m.revolute("lean", turn, bar, axis="x")
    m.revolute("spin", bar, wheel, axis="y", at=(0.5, 0.0, 0.0))
    m.revolute("steer", bar, skate, axis="z", at=(-0.5, 0.0, 0.0))
    m.revolute("nod", bar, skin, axis="y")
    m.revolute("swing", skin, load, axis="y")
    m.wheel("wheel", wheel, radius=0.3, center=(0.0, 0.02, 0.0))
    m.knife_edge(skate, along="x", at=(0.0, 0.0, -0.3))
    scene = scene_of(m.freeze())
    places = {body: scene.place_of_name(body) for body in scene.bodies}
    assert places["slide"] is None and places["turn"] is None
    seen = {"bar": (0, 0, 0), "wheel": (0, 0.02, 0), "skate": (0, 0, -0.3), "skin": (0, 0.1, 0.3), "load": (0, 0, 0.1)}
    for body, place in seen.items():
        assert places[body] == pytest.approx(np.array(place), abs=1e-12), body
    figure = sketch(scene, dict.fromkeys(("ground", *scene.bodies), HERE), views=["side"])
    assert set(seen) == {text.get_text() for text in figure.axes[0].texts} & set(scene.bodies)


def test_names_do_not_cover_each_other():
    """A machine with many bodies and points: some of them are named at a distance."""
    figure = dr.draw(dr.gallery.model("motorcycle"))
    figure.canvas.draw()
    for axes in figure.axes:
        boxes = {text.get_text(): text.get_window_extent() for text in axes.texts if text.get_fontsize() == 7.5}
        assert {"twist", "fork lower", "frame gearbox", "air center"} <= boxes.keys()
        for (one, box), (other, beside) in combinations(boxes.items(), 2):
            wide = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            high = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert wide < 0 or high < 0.4 * min(box.height, beside.height), (one, other)  # boxes have room above the letters


def test_svg_is_text_for_a_page_and_always_the_same(bicycle):
    first, second = as_svg(dr.draw(bicycle)), as_svg(dr.draw(bicycle))
    assert first == second
    assert "<?xml" not in first and "<!DOCTYPE" not in first and "<script" not in first and "<image" not in first
    assert as_pdf(dr.draw(bicycle)).startswith(b"%PDF")


def test_views_and_labels_are_chosen(bicycle):
    figure = dr.draw(bicycle, views=["top"], labels=False)
    assert len(figure.axes) == 1
    assert "frame" not in {text.get_text() for text in figure.axes[0].texts}


def test_what_cannot_be_drawn_is_said(bicycle):
    with pytest.raises(dr.errors.ModelError, match="'double_pendulum' is given as formulas and has no bodies to draw"):
        dr.draw(dr.gallery.model("double_pendulum"))
    with pytest.raises(ValueError, match="'empty' has no bodies to draw"):
        sketch(Scene("empty", (), (), None), {})
    with pytest.raises(KeyError, match="steeer"):
        dr.draw(bicycle, at={"steeer": 0.1})
    assert sketch(scene_of(swing("y").freeze()), {"ground": HERE, "arm": HERE}, views=["side"])

"""Machines of parts: equal to the same machines by hand, and to closed forms."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError, UnknownNameError
from draisine.model.files import from_toml, to_toml
from draisine.studio.bundle import bundle
from draisine.studio.studio import studio_page
from machines_of_parts import MACHINES, bicycle, car_with_trailer


@pytest.mark.parametrize("machine", MACHINES, ids=lambda f: f.__name__)
def test_a_machine_is_short_and_its_file_reads_back_as_the_same_system(machine):
    assert len(inspect.getsource(machine).splitlines()) < 25
    model = machine()
    text = to_toml(model)
    assert "[parts." in text and "[bodies." not in text
    assert len([line for line in text.splitlines() if line.strip()]) < 120
    assert from_toml(text).freeze() == model.freeze()


def test_the_bicycle_of_parts_is_the_benchmark():
    ours, theirs = (
        np.sort_complex(dr.linearize(m, {"speed": 5.0}, states=("lean", "steer")).essential().eigenvalues)
        for m in (bicycle(), dr.gallery.bicycle())
    )
    assert np.abs(ours - theirs).max() < 1e-12


REFERENCE = {
    10.0: [1.0, 31.25782682817235, 334.1085509725161, 1481.6223935657422, 3301.3828790102275],
    30.0: [1.0, 10.419275609390784, 54.30374661779206, 195.53586774973343, 547.4912164977906],
}


@pytest.fixture(scope="module")
def towing():
    return dr.derive(car_with_trailer())


@pytest.mark.parametrize("speed", REFERENCE)
def test_car_and_trailer_have_the_published_polynomial(towing, speed):
    found = np.poly(dr.linearize(towing, {"speed": speed}).essential().eigenvalues).real
    assert np.abs(found / REFERENCE[speed] - 1).max() < 1e-9


def test_the_snaking_speed_is_that_of_the_hurwitz_condition(towing):
    crossings = dr.modes(towing, speed=np.linspace(20.0, 45.0, 6)).critical()
    snaking = [c.value for c in crossings if 30 < c.value < 45]
    assert len(snaking) == 1 and abs(snaking[0] / 37.500672199670035 - 1) < 1e-9


def test_a_part_is_exchanged_for_another_one():
    model = bicycle()
    sprung = dr.parts.replace(model, "fork", dr.parts.telescopic_fork, stiffness="20 kN/m", preload="300 N", lower_mass=1.0)
    made = {part.name: part for part in sprung.freeze().parts}
    assert made["fork"].kind == "telescopic_fork" and made["front"].options == dict(model._items["parts"])["front"].options
    assert "fork_travel" in {c.name for c in sprung.freeze().coordinates}
    assert model.freeze() == bicycle().freeze()  # the model itself stays
    back = dr.parts.replace(sprung, "fork", "rigid_fork")
    assert back.freeze().bodies == model.freeze().bodies


def test_an_option_that_is_none_is_one_not_given():
    """None in a call is the default; files cannot write it, and what is read from them is equal all the same."""
    models = bicycle(), bicycle()
    dr.parts.brake(models[0], "brake", "front", map=None)
    dr.parts.brake(models[1], "brake", "front")
    assert models[0].freeze() == models[1].freeze() == from_toml(to_toml(models[0])).freeze()
    slipping = dr.parts.replace(models[0], "front", tire=dr.contact.LinearTire(14e3, 0.2, 20e3))
    assert slipping.freeze() != models[0].freeze()
    assert dr.parts.replace(slipping, "front", tire=None).freeze() == models[0].freeze()


def test_a_part_that_was_changed_by_hand_is_written_as_items():
    model = bicycle()
    system = model.freeze()
    wheels = tuple(w._replace(tube=system.bodies[0].mass * 0 + 0.01) for w in system.wheels)
    text = to_toml(replace(system, wheels=wheels))
    assert "[parts.front]" not in text and "[bodies.front]" in text and "[parts.fork]" in text
    assert from_toml(text).freeze().wheels == wheels


def test_parts_inside_parts_belong_to_the_outer_one():
    @dr.parts.part
    def axle(own, on, *, x=0.0, track=0.7):
        """Two wheels at the ends of an axle."""
        for side, y in (("left", track / 2), ("right", -track / 2)):
            frame = own.frame(side, str(on), (x, y, 0.24))
            own.part(dr.parts.wheel, side + "_wheel", frame, radius=0.24)

    m = dr.Model("cart")
    cart = dr.parts.frame(m, "cart", points={"hub": (1.0, 0.24)})
    back = axle(m, "back", cart["body"])
    dr.parts.wheel(m, "nose", cart["hub"], radius=0.24)
    parts = {part.name: part for part in m.freeze().parts}
    assert parts["back_left_wheel"].within == "back" == parts["back_right_wheel"].within and not parts["nose"].within
    assert ("bodies", "back_left_wheel") in back.items
    with pytest.raises(ModelError, match="belongs to part 'back'"):
        dr.parts.replace(m, "back_left_wheel", radius=0.3)
    wide = dr.Model("cart")  # the same by hand
    dr.parts.frame(wide, "cart", points={"hub": (1.0, 0.24)})
    axle(wide, "back", cart["body"], track=0.9)
    dr.parts.wheel(wide, "nose", cart["hub"], radius=0.3)
    replaced = dr.parts.replace(dr.parts.replace(m, "nose", radius=0.3), "back", track=0.9)
    assert replaced.freeze() == wide.freeze() != m.freeze()
    text = to_toml(wide)  # files have the items of parts of one's own
    assert "[parts.cart]" in text and "[parts.back]" not in text and "[bodies.back_left_wheel]" in text
    assert set(from_toml(text).freeze().wheels) == set(wide.freeze().wheels)
    m._items["parts"]["back"] = replace(back, kind="elsewhere")
    with pytest.raises(ModelError, match="kind 'elsewhere', whose function is not defined here"):
        dr.parts.replace(m, "back", track=0.9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: dr.parts.wheel(m, "front", "frame_haed"),
            "no frame, point or body 'frame_haed' to mount on; did you mean 'frame_head'",
        ),
        (lambda m: dr.parts.wheel(m, "front", "frame_head", raduis=0.3), "wheel has no option 'raduis'; did you mean 'radius'"),
        (lambda m: dr.parts.wheel(m, "front"), "missing a required argument: 'on'"),
        (lambda m: dr.parts.wheel(m, "front", "frame_head", radius="3 kg"), "kg"),
        (lambda m: dr.parts.frame(m, "other", motion="flying"), "motion must be one of"),
        (lambda m: dr.parts.brake(m, "brake", "frame"), "no wheel 'frame'"),
        (lambda m: dr.parts.telescopic_fork(m, "fork", "frame_head", spring=[(0, 0), (1, 1)], stiffness=3.0), "not both"),
    ],
)
def test_what_is_wrong_is_named_and_leaves_the_model_as_it_was(call, message):
    m = dr.Model("bike")
    frame = dr.parts.frame(m, "frame", wheelbase=1.0, trail=0.05, steer_axis_tilt="18 deg", points={"axle": (0, 0.3)})
    dr.parts.wheel(m, "rear", frame["axle"], radius=0.3)
    before = {kind: dict(items) for kind, items in m._items.items()}
    with pytest.raises(ModelError, match=message.replace("(", r"\(")):
        call(m)
    assert m._items == before
    with pytest.raises(UnknownNameError, match="has no 'haed'; did you mean 'head'"):
        frame["haed"]


def test_a_model_file_names_the_line_of_a_wrong_part():
    text = to_toml(bicycle()).replace('kind = "rigid_fork"', 'kind = "rigid_frok"')
    with pytest.raises(ModelError, match=r"line 1[0-9].*no kind of part 'rigid_frok'; did you mean 'rigid_fork'"):
        from_toml(text)


def test_the_curvature_of_a_path_is_not_defined_at_rest_and_that_is_no_fault():
    m = dr.Model("sled")
    sled = dr.parts.frame(m, "sled", motion="planar")
    m.wrench(sled["body"], force=(12.0, 0, 0), axes="body", name="pull")
    run = dr.simulate(m, 1.0, samples=5)
    assert np.isnan(run["curvature"][0]) and (run["curvature"][1:] == 0).all() and not run.warnings
    m.output("faulty", "sqrt(-1 - speed)")
    (warning,) = dr.simulate(m, 1.0, samples=5).warnings
    assert warning.startswith("not finite: faulty (at 5 of 5 samples")


def test_a_curvature_without_a_value_in_motion_is_a_fault():
    m = dr.Model("slider")
    m.body("b", 1.0, inertia=(1, 1, 1))
    m.prismatic("x", "ground", "b", axis="x")
    m.output("speed", "x_rate", "m/s")
    m.output("curvature", "sqrt(0.6 - x)")
    (warning,) = dr.simulate(m, 1.0, start={"x_rate": 1.0}, samples=5).warnings
    assert warning.startswith("not finite: curvature (at 2 of 5 samples")


def puck(**air):
    m = dr.Model("puck")
    body = dr.parts.frame(m, "puck", motion="planar", points={"top": (0, 0.5)})
    dr.parts.aerodynamics(m, "air", body["top"], **air)
    return m


def test_a_parameter_that_is_left_out_because_it_is_zero_is_named_with_the_cure():
    says = r"'air_side': in part 'air' it is zero and left out; give the part a value for it, or the text '0 m\^2', which keeps"
    equations = pickle.loads(pickle.dumps(dr.derive(puck())))
    for model in (puck(), equations):
        with pytest.raises(UnknownNameError, match=says):
            dr.simulate(model, 1.0, parameters={"air_side": 0.1})
    with pytest.raises(UnknownNameError, match=says):
        dr.ensemble(equations, 1.0, {"air_side": [0.1, 0.2]})
    with pytest.raises(UnknownNameError, match="'air_sides'; did you mean"):
        dr.simulate(equations, 1.0, parameters={"air_sides": 0.1})


def test_a_zero_with_its_unit_is_kept_as_a_parameter():
    start = {"drift": 5.0}
    kept, given = puck(side="0 m^2"), puck(side=0.1)
    one = dr.simulate(kept, 1.0, start=start, parameters={"air_side": 0.1}, samples=3)
    two = dr.simulate(given, 1.0, start=start, samples=3)
    assert one["drift"][-1] == pytest.approx(two["drift"][-1], rel=1e-12) and two["drift"][-1] < 4.99


def test_the_catalog_prints_as_a_list_and_the_page_names_every_kind():
    found = dr.parts.catalog()
    lines = str(found).splitlines()
    assert len(lines) == len(found) and all(line.startswith(f"{name} ") for line, name in zip(lines, found, strict=True))
    table = (Path(__file__).parents[2] / "docs" / "parts.md").read_text()
    assert not [name for name in found if f"`{name}`" not in table]


@pytest.mark.parametrize("machine", [*MACHINES[:-1], lambda: car_with_trailer(1.0)])
def test_machines_run_in_the_studio_and_in_films(machine, tmp_path):
    """At rest a path has no curvature: it is no target of the start there. A name of the gallery is no obstacle."""
    model = machine()
    manifest = bundle(model).manifest
    assert all(np.isfinite(target["default"]) for target in manifest["targets"])
    assert "<script>" in studio_page(model).text
    dr.simulate(model, 0.2, start={"speed": 5.0} if model.name != "car_with_trailer" else {}).save(tmp_path / "film.html")
    assert (tmp_path / "film.html").stat().st_size > 100_000

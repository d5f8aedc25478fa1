"""Trees of bodies as URDF files: read back they move alike, Pinocchio moves them alike, and what cannot be said is named."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "dynamics"))
sys.path.insert(0, str(Path(__file__).parent))
from trees import tree
from urdf_trees import random_urdf

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Name, Number
from draisine.model.items import Coordinate, Rotate, Translate


def accelerations(model, values: dict[str, float]) -> dict[str, float]:
    """At a state given by names; what is not given is zero."""
    e = derive(model, work=False)
    x = np.array([values.get(s.name, 0.0) for s in e.states])
    u = np.array([values.get(i.name, 0.0) for i in e.inputs])
    return dict(zip([s.name for s in e.states], e.dynamics([0.0], x, u, e.default_parameters)[0], strict=True))


def random_values(model, seed: int) -> dict[str, float]:
    e = derive(model, work=False)
    rng = np.random.default_rng(seed)
    values = {s.name: float(rng.uniform(-0.9, 0.9)) for s in (*e.states, *e.inputs)}
    for four in e.quaternions:
        turn = rng.normal(size=4)
        values |= dict(zip(four, map(float, turn / np.linalg.norm(turn)), strict=True))
    return values


@pytest.mark.parametrize("seed", range(24))
def test_what_is_read_is_written_back(seed, tmp_path):
    base = ("fixed", "free", "planar")[seed % 3]
    first, second = tmp_path / "first.urdf", tmp_path / "second.urdf"
    first.write_text(random_urdf(seed, terms=seed % 2 == 1, rootless=base == "fixed"))
    model = dr.read_urdf(first, base=base)
    dr.write_urdf(model, second)
    again = dr.read_urdf(second, base=base)
    one, two = model.freeze(), again.freeze()
    for group in ("bodies", "points", "joints", "inputs", "parameters", "events", "generalized_forces"):
        assert {item.name for item in getattr(one, group)} == {item.name for item in getattr(two, group)}
    values = random_values(model, seed)
    expected, found = accelerations(model, values), accelerations(again, values)
    size = max(1.0, *map(abs, expected.values()))
    assert max(abs(found[name] - expected[name]) for name in expected) < 1e-12 * size


@pytest.mark.parametrize("seed", range(100, 112))
def test_trees_of_the_package_move_alike_in_pinocchio(seed, tmp_path):
    """Chains of several coordinates, frames off the axis, parameters: forward dynamics of Pinocchio from the file."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is an optional peer: pip install draisine[pinocchio]")
    model = tree(seed, ("revolute", "prismatic", "cylindrical", "universal", "fixed"), ("revolute",), most=9)
    model.gravity(9.81)
    path = tmp_path / "tree.urdf"
    dr.write_urdf(model, path)
    theirs = pin.buildModelFromUrdf(str(path))
    values = random_values(model, seed)
    expected = accelerations(model, values)
    q, v = np.zeros(theirs.nq), np.zeros(theirs.nv)
    for k in range(1, theirs.njoints):
        joint, angle = theirs.joints[k], values[theirs.names[k]]
        q[joint.idx_q : joint.idx_q + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        v[joint.idx_v] = values[f"{theirs.names[k]}_rate"]
    found = pin.aba(theirs, theirs.createData(), q, v, np.zeros(theirs.nv))
    for k in range(1, theirs.njoints):
        size = max(1.0, *map(abs, expected.values()))
        assert abs(found[theirs.joints[k].idx_v] - expected[f"{theirs.names[k]}_rate"]) < 1e-10 * size


def test_a_joint_off_the_origin_of_its_body_keeps_its_motion(tmp_path):
    """The axis passes 0.3 m beside the origin of the body: the link has its origin on the axis, and the motion is the same."""

    def offset(x: float) -> Translate:
        return Translate((Number(x), Number(0.0), Number(0.0)))

    m = dr.Model("door")
    m.body("door", mass=20.0, center_of_mass=(0.1, 0.02, 0.3), inertia=(2.0, 2.5, 1.0))
    m.joint(
        "hinge",
        "ground",
        "door",
        (offset(0.3), Rotate("y", Name("hinge")), offset(-0.3)),
        (Coordinate("hinge", "hinge_rate", "rad"),),
    )
    m.body("knob", mass=0.3, inertia=(0.01, 0.01, 0.01))
    m.revolute("turn", "door", "knob", axis="x", at=(0.8, 0.1, 0.0))
    dr.write_urdf(m, tmp_path / "door.urdf")
    values = {"hinge": 0.4, "hinge_rate": 1.3, "turn": -0.2, "turn_rate": 2.0}
    expected, found = accelerations(m, values), accelerations(dr.read_urdf(tmp_path / "door.urdf"), values)
    assert found == pytest.approx(expected, rel=1e-12)


def test_gears_become_joints_that_mimic(tmp_path):
    m = dr.Model("geared")
    for name in ("a", "b"):
        m.body(name, mass=1.0, center_of_mass=(0.1, 0, -0.2), inertia=(0.1, 0.1, 0.1))
    m.revolute("one", "ground", "a", axis="y")
    m.revolute("two", "a", "b", axis="x", at=(0, 0, -0.5))
    m.gear("teeth", "one", "two", "-3/4", 0.1)
    dr.write_urdf(m, tmp_path / "geared.urdf")
    again = dr.read_urdf(tmp_path / "geared.urdf")
    runs = [dr.simulate(model, 1.0, start={"one": 0.3}) for model in (m, again)]
    assert runs[1]["two"] == pytest.approx(runs[0]["two"], abs=1e-9)
    assert runs[1]["two"][-1] == pytest.approx(-0.75 * runs[1]["one"][-1] + 0.1, abs=1e-9)


def small() -> dr.Model:
    m = dr.Model("small")
    m.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("one", "ground", "a", axis="y")
    return m


def refused_wheel() -> dr.Model:
    m = dr.Model("small")
    m.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.free("a")
    m.wheel("rim", "a", radius=0.3)
    return m


def refused_ball() -> dr.Model:
    m = small()
    m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.spherical("ball", "a", "b")
    return m


def refused_screw() -> dr.Model:
    m = small()
    m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.screw("bolt", "a", "b", lead=0.1)
    return m


def refused_loop() -> dr.Model:
    m = small()
    m.point("p", "a", (0, 0, 1))
    m.point("q", "ground", (0, 0, 2))
    m.rod("bar", "p", "q", 1.0)
    return m


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (refused_wheel, "wheel 'rim' cannot be written"),
        (refused_ball, "joint 'ball' is spherical"),
        (refused_screw, "joint 'bolt': coordinate 'bolt' moves it in two ways"),
        (refused_loop, "constraint 'bar' cannot be written"),
    ],
)
def test_what_urdf_cannot_say_is_refused_and_no_file_is_written(make, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        dr.write_urdf(make(), tmp_path / "x.urdf")
    assert not (tmp_path / "x.urdf").exists()


def test_what_is_left_out_is_a_warning(tmp_path):
    m = small()
    m.spring("one", 3.0)
    m.output("angle", "one", "rad")
    m.gravity(1.62)
    m.generalized_force("one", "-0.2*one_rate*abs(one_rate)", name="drag")
    with pytest.warns(
        UserWarning, match=r"cannot express .*'drag'.*potential 'spring_on_one'.*output 'angle'.*gravity \(0, 0, -1.62\)"
    ):
        dr.write_urdf(m, tmp_path / "x.urdf")


def test_shapes_are_written(tmp_path):
    m = dr.Model("drawn")
    shapes = [
        {"kind": "box", "size": (0.1, 0.2, 0.3), "at": (1, 2, 3), "color": "#ff8000"},
        {"kind": "cylinder", "radius": 0.1, "length": 0.5, "axis": "x"},
        {"kind": "sphere", "radius": 0.2},
    ]
    m.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), shapes=shapes)
    m.free("a")
    dr.write_urdf(m, tmp_path / "drawn.urdf")
    box, cylinder, ball = dr.read_urdf(tmp_path / "drawn.urdf", base="free").freeze().bodies[0].shapes
    given = m.freeze().bodies[0].shapes
    assert (box, ball) == (given[0], given[2])
    assert cylinder.axis == "z" and [(axis, angle.value) for axis, angle in cylinder.orientation] == [("y", np.pi / 2)]


def test_arguments_of_other_types(tmp_path):
    with pytest.raises(ArgumentError, match="expected the name of a file"):
        dr.write_urdf(small(), 5)
    with pytest.raises(ArgumentError, match="expected a model of bodies and joints, got 5"):
        dr.write_urdf(5, tmp_path / "x.urdf")

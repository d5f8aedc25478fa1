"""URDF files as models: Pinocchio's mass matrix and forward dynamics over random robots, terms of joints, what is refused."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from urdf_trees import Judge, random_urdf

import draisine as dr
from draisine.errors import ArgumentError, ModelError
from draisine.model.items import GROUND, Rotate
from draisine.model.robots.mass_properties import rotation_about

ARM = """<?xml version="1.0"?>
<robot name="two-link arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/><inertia ixx="0.2" iyy="0.2" izz="0.01"/></inertial>
    <visual><origin xyz="0 0 -0.5"/><geometry><cylinder radius="0.05" length="1"/></geometry><material name="blue"/></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="lower">
    <inertial><origin xyz="0 0 -0.4"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial></link>
  <link name="hand"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>SHOULDER</joint>
  <joint name="elbow" type="continuous"><origin xyz="0 0 -1"/>
    <parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>ELBOW</joint>
  <joint name="wrist" type="fixed"><origin xyz="0 0 -0.8" rpy="0 0 0.5"/><parent link="lower"/><child link="hand"/></joint>
</robot>
"""


def arm(tmp_path: Path, shoulder: str = '<limit lower="-2" upper="1.5" effort="5" velocity="9"/>', elbow: str = "", **options):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace("SHOULDER", shoulder).replace("ELBOW", elbow))
    return dr.read_urdf(path, **options)


# -------------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize("seed", range(24))
def test_random_robots_move_as_in_pinocchio(seed, tmp_path):
    """Every joint, axes and frames of any direction, welded links, damping and friction, three kinds of bases."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is an optional peer: pip install draisine[pinocchio]")
    base = ("fixed", "free", "planar")[seed % 3]
    path = tmp_path / "robot.urdf"
    path.write_text(random_urdf(seed, terms=seed % 2 == 1, rootless=base == "fixed"))
    judge = Judge(pin, path, dr.read_urdf(path, base=base), base)
    e = judge.equations
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, v = judge.state(rng)
        ours, theirs = judge.mass_matrices(q, v)
        assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()
        u = rng.normal(size=len(e.inputs))
        found, expected = judge.ours(q, v, u), judge.accelerations(q, v, judge.force(v, u))
        assert np.abs(found - expected).max() < 1e-10 * max(1.0, np.abs(expected).max())


MIMICS = [("revolute", "revolute", 0.7, 0.2), ("revolute", "prismatic", -0.3, 0.05), ("prismatic", "continuous", 2.0, 0.0)]


@pytest.mark.parametrize(("leader", "follower", "ratio", "offset"), MIMICS)
def test_a_joint_that_mimics_another_is_constrained_exactly(leader, follower, ratio, offset, tmp_path):
    """M a + h = τ + Aᵀλ, A a = 0 with M and h of Pinocchio, in which both joints are free."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is an optional peer: pip install draisine[pinocchio]")
    rng = np.random.default_rng(3)
    text = random_urdf(77, ("revolute", "continuous", "prismatic"), most=4).replace('name="random77"', 'name="pair"')
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    entries = 'ixx="0.3" iyy="0.4" izz="0.5" ixy="0" ixz="0" iyz="0"'
    masses = f'<inertial><origin xyz="0.1 0.2 -0.3"/><mass value="1.5"/><inertia {entries}/></inertial>'
    body = f'<link name="{{0}}">{masses}</link>'
    pair = body.format("la") + body.format("lb")
    pair += f'<joint name="a" type="{leader}"><parent link="root"/><child link="la"/><axis xyz="1 2 0"/>{limit}</joint>'
    pair += (
        f'<joint name="b" type="{follower}"><origin xyz="0 0 1"/><parent link="la"/><child link="lb"/><axis xyz="0 1 1"/>{limit}'
    )
    pair += f'<mimic joint="a" multiplier="{ratio}" offset="{offset}"/></joint>'
    path = tmp_path / "pair.urdf"
    path.write_text(text.replace("</robot>", pair + "</robot>"))
    judge = Judge(pin, path, dr.read_urdf(path))
    e = judge.equations
    assert {i.name for i in e.inputs}.isdisjoint({"b_torque", "b_force"})
    for _ in range(3):
        q, v = judge.state(rng)
        for values, ending, shift in ((q, "", offset), (v, "_rate", 0.0)):
            index = judge.q_index if not ending else judge.v_index
            values[index[f"b{ending}"]] = ratio * values[index[f"a{ending}"]] + shift
        _, mass = judge.mass_matrices(q, v)
        u = rng.normal(size=len(e.inputs))
        row = np.zeros((1, len(v)))
        row[0, judge.v_index["b_rate"]], row[0, judge.v_index["a_rate"]] = 1.0, -ratio
        free = mass @ judge.accelerations(q, v, judge.force(v, u))
        system = np.block([[mass, -row.T], [row, np.zeros((1, 1))]])
        expected = np.linalg.solve(system, np.append(free, 0.0))[:-1]
        kept = [judge.v_index[name] for name in e.independent]
        x = np.concatenate([q, v[kept]])
        found = e.dynamics([0.0], x, u, e.default_parameters)[0][len(q) :]
        assert np.abs(found - expected[kept]).max() < 1e-10 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("axis", [(0.3, -0.5, 0.8), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, -2.0, 0.0)])
def test_a_planar_joint_moves_across_its_axis(axis, tmp_path):
    """Pinocchio's planar joints have the normal z; with another one the link stays in the plane across it."""
    text = random_urdf(5, ("planar",), most=1)
    path = tmp_path / "plane.urdf"
    path.write_text(text.replace('<axis xyz="0.0 0.0 1.0"/>', f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'))
    model = dr.read_urdf(path)
    model.frame("seat", GROUND)
    for letter in "xyz":
        model.output(f"at_{letter}", f"offset_{letter}(seat, l0)", "m")
    run = dr.simulate(model, 1.0, start={"j0_x_rate": 0.3, "j0_heading_rate": 2.0})
    path.write_text(text)
    seat = dr.read_urdf(path).freeze().joints[0]
    rotation = np.eye(3)
    for step in seat.chain[:-2]:
        if isinstance(step, Rotate):
            rotation = rotation @ rotation_about(step.axis, step.angle.value)
    track = np.column_stack([run[f"at_{letter}"] for letter in "xyz"])
    assert np.abs((track - track[0]) @ rotation @ axis).max() < 1e-12
    assert np.abs(track[-1] - track[0]).max() > 0.1


# -------------------------------------------------------------------- terms


def test_names_frames_shapes_and_notes(tmp_path):
    model = arm(tmp_path)
    system = model.freeze()
    assert system.name == "two_link_arm"
    assert [body.name for body in system.bodies] == ["upper", "lower"]
    assert [(point.name, point.body) for point in system.points] == [("base", GROUND), ("hand", "lower")]
    (shape,) = system.bodies[0].shapes
    assert shape.color == "#0000ff" and shape.axis == "z"
    assert [i.name for i in system.inputs] == ["shoulder_torque", "elbow_torque"]
    assert any("collision geometry is ignored: upper" in note for note in model.notes)
    assert any("limits of effort are not enforced: shoulder" in note for note in model.notes)


def test_limits_end_a_run_also_from_the_limit(tmp_path):
    run = dr.simulate(arm(tmp_path), 5.0, start={"shoulder": 1.4, "shoulder_rate": 3.0})
    assert "shoulder_limit" in str(run.status) and run["shoulder"][-1] == pytest.approx(1.5, abs=1e-7)
    at_limit = arm(tmp_path, '<limit lower="0" upper="1.5" effort="5" velocity="9"/>')
    outward = dr.simulate(at_limit, 1.0, start={"shoulder": 0.0, "shoulder_rate": -1.0})
    assert "shoulder_limit" in str(outward.status) and outward.time[-1] < 1e-6
    inward = dr.simulate(at_limit, 0.2, start={"shoulder": 0.0, "shoulder_rate": 1.0})
    assert "FINISHED" in str(inward.status)
    assert "FINISHED" in str(dr.simulate(arm(tmp_path, joint_limits="ignore"), 2.0, start={"shoulder_rate": 9.0}).status)


def test_a_zero_outside_of_the_limits_is_not_the_default(tmp_path):
    model = arm(tmp_path, '<limit lower="0.5" upper="1.5" effort="5" velocity="9"/>')
    assert model.freeze().joints[0].coordinates[0].default == 1.0
    assert any("'shoulder' starts at 1" in note for note in model.notes)


def test_friction_sticks_creeps_or_is_left_out(tmp_path):
    """The weight of both links at 0.2 rad needs 4.68 N m at the shoulder and 0.78 N m at the elbow."""
    terms = '<limit lower="-2" upper="1.5" effort="5" velocity="9"/><dynamics damping="0.1" friction="7"/>'
    elbow = '<dynamics friction="3"/>'
    ends = {}
    for friction in ("dry", "smooth", "ignore"):
        run = dr.simulate(arm(tmp_path, terms, elbow, friction=friction), 0.5, start={"shoulder": 0.2})
        assert "FINISHED" in str(run.status)
        ends[friction] = run["shoulder"][-1]
    assert ends["dry"] == pytest.approx(0.2, abs=1e-12)
    assert 0 < 0.2 - ends["smooth"] < 0.01 < 0.2 - ends["ignore"]


def test_names_that_are_none_of_the_package(tmp_path):
    """Blanks, digits, dots, the ground, names that others are derived from: each has its own name, and the notes say which."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = ["ground", "1st link", "a.b", "a-b", "pi"]
    joints = ["t", "q", "q_rate", "2 axis"]
    text = "".join(f'<link name="{name}">{inertia}</link>' for name in links)
    for name, parent, child in zip(joints, links, links[1:], strict=False):
        text += f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/></joint>'
    path = tmp_path / "names.urdf"
    path.write_text(f"<robot name='7'>{text}</robot>")
    with pytest.warns(UserWarning, match="the link 'a-b' is a_b_2.*the joint 'q_rate' is q_rate_2"):
        model = dr.read_urdf(path, base="free")
    system = model.freeze()
    assert len({body.name for body in system.bodies}) == 5 and len(system.velocities) == 10
    (renamed,) = (note for note in model.notes if note.startswith("names of the file"))
    assert "'1st link' is link_1st_link" in renamed and "'a-b' is a_b_2" in renamed
    assert "FINISHED" in str(dr.simulate(model, 0.1).status)


def test_wheels_of_a_robot_roll_in_one_line_each(tmp_path):
    """A cart on two driven wheels and a slider: v = r ω for equal torques, and the torque for the acceleration by hand."""
    body = '<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="{2}" iyy="{3}" izz="{2}"/></inertial></link>'
    text = body.format("cart", 8.0, 0.5, 0.4) + body.format("left", 1.0, 0.003, 0.005) + body.format("right", 1.0, 0.003, 0.005)
    for side, y in (("left", 0.2), ("right", -0.2)):
        text += f'<joint name="{side}_axle" type="continuous"><origin xyz="0 {y} 0"/><parent link="cart"/><child link="{side}"/>'
        text += '<axis xyz="0 1 0"/></joint>'
    path = tmp_path / "cart.urdf"
    path.write_text(f"<robot name='cart'>{text}</robot>")
    model = dr.read_urdf(path, base="free")
    for side in ("left", "right"):
        model.wheel(side, side, radius=0.1)
    model.constrain("upright", "rate_y(cart)", level="velocity", unit="rad/s")  # a stand-in for the caster
    torque = 0.3
    run = dr.simulate(model, 2.0, start={"cart_z": 0.1}, inputs={"left_axle_torque": torque, "right_axle_torque": torque})
    # the reaction of the motors acts on the cart, which cannot pitch: (m + 2 J/r²) a = 2 τ / r
    expected = 2 * torque / 0.1 / (10.0 + 2 * 0.005 / 0.1**2)
    assert run["cart_vx"][-1] == pytest.approx(2.0 * expected, rel=1e-6)
    assert run["left_axle_rate"][-1] == pytest.approx(2.0 * expected / 0.1, rel=1e-6)


# -------------------------------------------------------------------- refused


AB = "<robot><link name='a'/><link name='b'/>\n"
JOINT = "<joint name='j' type='{0}'><parent link='{1}'/><child link='{2}'/>{3}</joint>"
MASS = "<robot><link name='a'><inertial>{0}</inertial></link></robot>"
REFUSED = {
    "no robot": ("<mujoco/>", "line 1: the first element is <mujoco>"),
    "not XML": ("<robot><link name='a'></robot>", "line 1: not valid XML: mismatched tag"),
    "no link": ("<robot name='r'/>", "the robot has no link"),
    "DTD": ("<!DOCTYPE robot SYSTEM 'http://host/a.dtd'><robot/>", "declares a document type"),
    "entity": ("<!DOCTYPE r [<!ENTITY a 'b'>]><robot name='&a;'/>", "declares a document type"),
    "xacro": ("<robot xmlns:xacro='x'>\n<xacro:include filename='/etc/passwd'/></robot>", "line 2: <xacro:include> is a macro"),
    "parent": (AB + JOINT.format("fixed", "c", "a", "") + "</robot>", "line 2: joint 'j': its parent 'c' is not a link"),
    "two roots": ("<robot><link name='a'/>\n<link name='b'/></robot>", "line 2: the links 'a', 'b' are children of no joint"),
    "twice": ("<robot><link name='a'/>\n<link name='a'/></robot>", "line 2: link 'a' is defined twice"),
    "kind": (AB + JOINT.format("revolut", "a", "b", "") + "</robot>", "line 2: joint 'j': type 'revolut' .* you mean 'revolute'"),
    "axis": (AB + JOINT.format("planar", "a", "b", "<axis xyz='0 0 0'/>") + "</robot>", "line 2: joint 'j': its axis is"),
    "limits": (
        AB + JOINT.format("revolute", "a", "b", "<limit lower='2' upper='1'/>") + "</robot>",
        "line 2: joint 'j': its lower limit 2 is above the upper limit 1",
    ),
    "mimic": (AB + JOINT.format("continuous", "a", "b", "<mimic joint='j'/>") + "</robot>", "joint 'j' follows itself"),
    "mimic none": (AB + JOINT.format("continuous", "a", "b", "<mimic joint='k'/>") + "</robot>", "'k', which is not a joint"),
    "friction": (AB + JOINT.format("continuous", "a", "b", "<dynamics friction='-1'/>") + "</robot>", "its friction is -1"),
    "cycle": (
        AB + JOINT.format("fixed", "a", "b", "") + JOINT.format("fixed", "b", "a", "").replace("'j'", "'k'") + "</robot>",
        "the joints form a cycle",
    ),
    "number": (MASS.format("<mass value='1,5'/>"), "value of <mass> must be a number, got '1,5'"),
    "count": (MASS.format("<origin xyz='1 2'/><mass value='1'/>"), "xyz of <origin> needs 3 numbers"),
    "NaN": (MASS.format("<mass value='nan'/>"), "must be a number, got 'nan'"),
    "infinite": (MASS.format("<mass value='1e999'/>"), "must be finite"),
    "mass": (MASS.format("<mass value='-1'/>"), "its mass is -1 kg"),
    "still": ("<robot><link name='a'/></robot>", "let it move by base='free'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_with_file_and_line(case, tmp_path):
    text, message = REFUSED[case]
    path = tmp_path / "wrong.urdf"
    path.write_text(text)
    with pytest.raises(ModelError, match=message) as caught:
        dr.read_urdf(path)
    assert str(caught.value).startswith(str(path))


def test_entities_do_not_grow_and_depth_is_limited(tmp_path):
    path = tmp_path / "deep.urdf"
    path.write_text("<robot>" + "<a>" * 500 + "</a>" * 500 + "</robot>")
    with pytest.raises(ModelError, match="nested deeper than 200"):
        dr.read_urdf(path)
    path.write_text("<robot>" + "<a/>" * 200_001 + "</robot>")
    with pytest.raises(ModelError, match="more than 200,000 elements"):
        dr.read_urdf(path)


def test_an_inertia_that_no_body_has_is_refused_with_its_line(tmp_path):
    path = tmp_path / "heavy.urdf"
    path.write_text(
        "<robot>\n<link name='a'/>\n<link name='b'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='3'/></inertial></link>\n"
        "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint></robot>"
    )
    with pytest.raises(ModelError, match=r"line 3: inertia of body 'b'.*triangle inequality"):
        dr.read_urdf(path)


def test_arguments(tmp_path):
    with pytest.raises(ArgumentError, match="base must be one of 'fixed', 'free', 'planar'"):
        arm(tmp_path, base="floating")
    with pytest.raises(ArgumentError, match="roots must be folders"):
        arm(tmp_path, roots=5)
    with pytest.raises(ArgumentError, match="does not exist"):
        arm(tmp_path, roots=[tmp_path / "missing"])
    with pytest.raises(ArgumentError, match="expected the name of a file"):
        dr.read_urdf(5)
    with pytest.raises(ModelError, match="cannot be read"):
        dr.read_urdf(tmp_path / "missing.urdf")


# -------------------------------------------------------------------- mesh files


STL = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n"


def mesh(tmp_path: Path, name: str, **options):
    path = tmp_path / "robots" / "arm" / "urdf" / "arm.urdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    visual = f'<link name="upper"><visual><geometry><mesh filename="{name}" scale="0.001 0.001 0.001"/></geometry></visual>'
    path.write_text(ARM.replace('<link name="upper">', visual).replace("SHOULDER", "").replace("ELBOW", ""))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = dr.read_urdf(path, **options)
    return [s for s in model.freeze().bodies[0].shapes if hasattr(s, "file")], [str(w.message) for w in caught]


def test_meshes_are_found_below_the_roots_only(tmp_path):
    package = tmp_path / "robots" / "arm"
    (package / "meshes").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>arm_description</name></package>")
    (package / "meshes" / "a.stl").write_text(STL)
    (tmp_path / "secret.stl").write_text(STL)
    (package / "meshes" / "link.stl").symlink_to(tmp_path / "secret.stl")
    for name in ("package://arm_description/meshes/a.stl", "package://arm/meshes/a.stl", "../meshes/a.stl", "meshes/a.stl"):
        shapes, said = mesh(tmp_path, name)
        assert [Path(s.file).name for s in shapes] == ["a.stl"] and not said
        assert shapes[0].scale.value == 0.001
    for name in ("../../../secret.stl", f"file://{tmp_path}/secret.stl", "package://arm/../../secret.stl", "meshes/link.stl"):
        shapes, said = mesh(tmp_path, name)
        assert not shapes and ("lies outside of" in said[0] or "is not in" in said[0]), name
    shapes, said = mesh(tmp_path, "meshes/link.stl", roots=tmp_path)
    assert not shapes and "is not in" in said[0]
    shapes, said = mesh(tmp_path, "robots/arm/meshes/link.stl", roots=tmp_path)
    assert len(shapes) == 1 and not said
    assert "has the scheme http" in mesh(tmp_path, "http://host/a.stl")[1][0]


def test_links_whose_names_become_equal_are_told_apart(tmp_path):
    """Of left-wheel and left_wheel the second keeps its name, whatever the order; the first is named in a warning."""
    link = '<link name="{}"><inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    joint = '<joint name="{}" type="continuous"><parent link="base"/><child link="{}"/></joint>'
    for links in (["left-wheel", "left_wheel"], ["left_wheel", "left-wheel"]):
        parts = [link.format(name, 2 if "-" in name else 3) + joint.format(f"{name}_axle", name) for name in links]
        path = tmp_path / "robot.urdf"
        path.write_text(f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>')
        with pytest.warns(UserWarning, match="the link 'left-wheel' is left_wheel_2, since left_wheel is another one's name"):
            model = dr.read_urdf(path)
        assert {body.name: body.mass.value for body in model.freeze().bodies} == {"left_wheel": 3.0, "left_wheel_2": 2.0}
        names = {c.name for joint in model.freeze().joints for c in joint.coordinates}
        assert names == {"left_wheel_axle", "left_wheel_axle_2"}
        assert any("'left-wheel_axle' is left_wheel_axle_2" in note for note in model.notes)

"""MJCF files as models: MuJoCo's mass matrix, accelerations and inverse dynamics; constraints, actuators, defaults."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mjcf_trees import Judge, random_mjcf

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import ModelError
from draisine.model.robots.mjcf_geoms import volume_and_inertia


@pytest.fixture
def mujoco():
    return pytest.importorskip("mujoco", reason="MuJoCo is an optional judge: pip install draisine[robots]")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(text)
    return path


def folded(judge: Judge) -> tuple[list[str], np.ndarray]:
    """Velocities without those of rotors, and the matrix by which all follow from them."""
    own = [name for name in judge.v_index if not name.endswith("_rotor_rate")]
    full = np.zeros((len(judge.v_index), len(own)))
    for name, k in judge.v_index.items():
        full[k, own.index(name.replace("_rotor_rate", "_rate"))] = 1.0
    return own, full


@pytest.mark.parametrize("seed", range(24))
def test_random_mechanisms_move_as_in_mujoco(seed, tmp_path, mujoco):
    """Bodies with several joints, anchors, every form of orientation, masses given or of geoms, springs, armature, frames."""
    path = written(tmp_path, random_mjcf(seed, terms=seed % 2 == 1))
    judge = Judge(mujoco, path, dr.read_mjcf(path))
    e, p = judge.equations, judge.equations.default_parameters
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, v = judge.state(rng)
        s, rate = judge.set(q, v)
        mass = judge.mass_matrix()
        own, full = folded(judge)
        back = np.linalg.inv(s[:, [judge.v_index[name] for name in own]])
        rest = e.inverse_dynamics(q, v, np.zeros(len(v)), p)[0]
        ours = np.column_stack([e.inverse_dynamics(q, v, unit, p)[0] - rest for unit in np.eye(len(v))])
        assert np.abs(back.T @ full.T @ ours @ full @ back - mass).max() < 1e-11 * np.abs(mass).max()
        expected = full @ back @ (judge.data.qacc - rate)
        kept = [judge.v_index[name] for name in e.independent]
        found = e.dynamics([0.0], np.concatenate([q, v[kept]]), [], p)[0][len(q) :]
        assert np.abs(found - expected[kept]).max() < 1e-9 * max(1.0, np.abs(expected).max())
        # inverse dynamics of any acceleration, without springs and dampers, which MuJoCo's includes
        a = rng.normal(size=len(own))
        judge.data.qacc[:] = s @ full @ a + rate
        mujoco.mj_inverse(judge.theirs, judge.data)
        forces = s.T @ (judge.data.qfrc_inverse + judge.data.qfrc_passive)
        mine = full.T @ e.inverse_dynamics(q, v, full @ a, p)[0]
        theirs = full.T @ forces
        assert np.abs(mine - theirs).max() < 1e-9 * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize(("kind", "sizes"), [("sphere", (0.3,)), ("cylinder", (0.2, 0.3)), ("capsule", (0.2, 0.15))])
def test_solids_of_revolution_have_the_moments_of_their_slices(kind, sizes):
    """A slice of radius ρ at z has the mass π ρ², the axial moment π ρ⁴ / 2 and half of it across."""
    from scipy.integrate import quad

    def squared(z: float) -> float:
        beyond = {"sphere": abs(z), "capsule": max(abs(z) - sizes[-1], 0.0)}.get(kind, 0.0)
        return sizes[0] ** 2 - beyond**2

    end = {"sphere": sizes[0], "cylinder": sizes[-1]}.get(kind, sum(sizes))
    breaks = sizes[-1:] if kind == "capsule" else None

    def over(law) -> float:
        return 2 * quad(lambda z: law(squared(z), z), 0.0, end, points=breaks, epsabs=1e-14)[0]

    volume, moments = volume_and_inertia(kind, sizes)
    assert over(lambda r2, z: np.pi * r2) == pytest.approx(volume, rel=1e-9)
    across, along = over(lambda r2, z: np.pi * (r2 * r2 / 4 + r2 * z * z)), over(lambda r2, z: np.pi * r2 * r2 / 2)
    assert [volume * m for m in moments] == pytest.approx([across, across, along], rel=1e-9)


# -------------------------------------------------------------------- classes, includes, limits

ARM = """<mujoco model="arm">
  <compiler angle="radian"/>
  <default><geom density="500"/><joint damping="0.2"/>
    <default class="heavy"><geom density="2000" type="capsule" size="0.05"/><joint axis="0 1 0" range="-1 2"/></default></default>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/><light pos="0 0 3"/>
    <body name="upper" childclass="heavy"><joint name="shoulder"/><geom fromto="0 0 0 0 0 -1"/><site name="mark" pos="0 0 -1"/>
      <body name="lower" pos="0 0 -1"><joint name="elbow" damping="0"/><geom fromto="0 0 0 0 0 -0.5"/>
        <body name="tip" pos="0 0 -0.5"><geom class="main" size="0.1"/></body></body></body>
  </worldbody>
  MORE
</mujoco>"""


def test_defaults_sites_and_welded_bodies(tmp_path, mujoco):
    path = written(tmp_path, ARM.replace("MORE", ""))
    model = dr.read_mjcf(path)
    system = model.freeze()
    assert [body.name for body in system.bodies] == ["upper", "lower"]
    assert {point.name for point in system.points} == {"mark", "tip"}
    assert [p.name for p in system.parameters] == ["shoulder_damping"]
    assert system.joints[1].coordinates[0].low == -1.0
    assert any("contacts between geoms are ignored" in note for note in model.notes)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert system.bodies[0].mass.value == pytest.approx(theirs.body_mass[1], rel=1e-12)
    assert system.bodies[1].mass.value == pytest.approx(theirs.body_mass[2] + theirs.body_mass[3], rel=1e-12)
    run = dr.simulate(model, 5.0, start={"shoulder_rate": 9.0})
    assert "shoulder_limit" in str(run.status)


def test_includes_are_read_below_the_roots_only(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "ball.xml").write_text(
        '<mujocoinclude><body name="ball"><freejoint name="fly"/><geom size="0.1"/></body></mujocoinclude>'
    )
    text = '<mujoco><worldbody><include file="FILE"/></worldbody></mujoco>'
    assert dr.read_mjcf(written(tmp_path, text.replace("FILE", "parts/ball.xml"))).freeze().bodies[0].name == "ball"
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("../parts/ball.xml", str(tmp_path / "parts" / "ball.xml")):
        with pytest.raises(ModelError, match=r"line 1: the included file .* lies outside of"):
            dr.read_mjcf(written(inner, text.replace("FILE", name)))
    assert dr.read_mjcf(written(inner, text.replace("FILE", "../parts/ball.xml")), roots=tmp_path).freeze().bodies
    with pytest.raises(ModelError, match="includes itself"):
        dr.read_mjcf(written(tmp_path, '<mujoco><include file="model.xml"/></mujoco>'))


# -------------------------------------------------------------------- actuators


@pytest.mark.parametrize(
    "actuator",
    [
        '<motor name="act" joint="elbow" gear="3"/>',
        '<position name="act" joint="elbow" kp="7" kv="0.5" gear="2"/>',
        '<velocity name="act" joint="shoulder" kv="4"/>',
        '<general name="act" joint="shoulder" gainprm="3" biastype="affine" biasprm="0.5 -2 -0.3"/>',
    ],
)
def test_actuators_push_as_in_mujoco(actuator, tmp_path, mujoco):
    path = written(tmp_path, ARM.replace("MORE", f"<actuator>{actuator}</actuator>"))
    judge = Judge(mujoco, path, dr.read_mjcf(path))
    e = judge.equations
    assert [i.name for i in e.inputs] == ["act"]
    q, v = judge.state(np.random.default_rng(2))
    judge.set(q, v)
    judge.data.ctrl[:] = 0.7
    mujoco.mj_forward(judge.theirs, judge.data)
    found = e.dynamics([0.0], np.concatenate([q, v]), [0.7], e.default_parameters)[0][len(q) :]
    assert found == pytest.approx(judge.data.qacc, rel=1e-10)


def test_actuators_that_are_not_taken_are_named(tmp_path):
    text = '<actuator><muscle name="biceps" joint="elbow"/><motor name="m" site="mark"/></actuator>'
    with pytest.warns(UserWarning, match="actuator 'biceps' of the kind <muscle> is ignored.*actuator 'm'"):
        dr.read_mjcf(written(tmp_path, ARM.replace("MORE", text)))


# -------------------------------------------------------------------- equality


def constrained(judge: Judge, mujoco, rows: np.ndarray, bias: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Accelerations of M a = M a₀ + Aᵀλ, A a = b, with M and a₀ of MuJoCo."""
    mass = judge.mass_matrix()
    n = len(rows)
    system = np.block([[mass, -rows.T], [rows, np.zeros((n, n))]])
    return np.linalg.lstsq(system, np.concatenate([mass @ free, bias]), rcond=None)[0][: len(free)]


def test_joint_equalities_hold_exactly(tmp_path, mujoco):
    """A cubic: shoulder = 0.1 + 0.5 e − 0.2 e² + 0.3 e³; its rows and their rates by hand."""
    path = written(
        tmp_path,
        ARM.replace("MORE", '<equality><joint joint1="shoulder" joint2="elbow" polycoef="0.1 0.5 -0.2 0.3 0"/></equality>'),
    )
    judge = Judge(mujoco, path, dr.read_mjcf(path))
    e = judge.equations
    assert len(e.independent) == 1
    angle, rate = 0.4, 1.3
    slope, bend = 0.5 - 0.4 * angle + 0.9 * angle**2, -0.4 + 1.8 * angle
    q = np.array([0.1 + 0.5 * angle - 0.2 * angle**2 + 0.3 * angle**3, angle])
    v = np.array([slope * rate, rate])
    judge.set(q, v)
    mujoco.mj_forward(judge.theirs, judge.data)
    expected = constrained(judge, mujoco, np.array([[1.0, -slope]]), np.array([bend * rate**2]), judge.data.qacc.copy())
    kept = [judge.v_index[name] for name in e.independent]
    found = e.dynamics([0.0], np.concatenate([q, v[kept]]), [], e.default_parameters)[0][len(q) :]
    assert found == pytest.approx(expected[kept], rel=1e-10)


FOUR_BAR = """<mujoco><worldbody>
  <body name="crank"><joint name="a" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.3"/>
    <body name="coupler" pos="0 0 0.3"><joint name="b" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.8 0 0.2"/></body></body>
  <body name="rocker" pos="0.7 0 0"><joint name="c" axis="0 1 0"/>
    <geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 0.5"/></body>
</worldbody><equality>EQUALITY</equality></mujoco>"""


def test_connected_points_stay_together(tmp_path, mujoco):
    """A four-bar linkage, with the rows A of MuJoCo's Jacobians of both points; b = −Ȧ v by central differences of A along q̇."""
    path = written(tmp_path, FOUR_BAR.replace("EQUALITY", '<connect body1="coupler" body2="rocker" anchor="0.8 0 0.2"/>'))
    model = dr.read_mjcf(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # across the plane the rows are redundant
        start = dr.consistent_start(model, start={"a": 0.1, "a_rate": 1.0})
        judge = Judge(mujoco, path, model)
    e = judge.equations
    q, v = np.array(start.q), np.array(start.v)

    def rows(at: np.ndarray) -> np.ndarray:
        judge.set(at, v)
        mujoco.mj_kinematics(judge.theirs, judge.data)
        mujoco.mj_comPos(judge.theirs, judge.data)
        found = []
        for body, anchor in ((2, (0.8, 0.0, 0.2)), (3, (0.1, 0.0, 0.5))):
            jacobian = np.zeros((3, 3))
            point = judge.data.xpos[body] + judge.data.xmat[body].reshape(3, 3) @ np.array(anchor)
            mujoco.mj_jac(judge.theirs, judge.data, jacobian, None, point, body)
            found.append((jacobian, point))
        if at is q:
            assert np.abs(found[0][1] - found[1][1]).max() < 1e-9
        return (found[0][0] - found[1][0])[[0, 2]]

    h = 1e-5
    bias = -(rows(q + h * v) - rows(q - h * v)) / (2 * h) @ v
    a = rows(q)
    assert np.abs(a @ v).max() < 1e-8
    mujoco.mj_forward(judge.theirs, judge.data)
    expected = constrained(judge, mujoco, a, bias, judge.data.qacc.copy())
    kept = [judge.v_index[name] for name in e.independent]
    found = e.dynamics([0.0], np.concatenate([q, v[kept]]), [], e.default_parameters)[0][len(q) :]
    assert found == pytest.approx(expected[kept], rel=1e-6)


def test_welded_bodies_keep_their_pose(tmp_path):
    """Two free bodies welded where they are: the pair falls, its relative pose is that of the file, and no force is needed."""
    text = """<mujoco><worldbody>
      <body name="one" pos="0 0 2" euler="10 20 30"><freejoint name="f"/><geom type="box" size="0.1 0.2 0.3"/></body>
      <body name="two" pos="0.5 0.1 2.2" euler="-40 5 60"><freejoint name="g"/><geom type="box" size="0.1 0.1 0.2"/></body>
    </worldbody><equality><weld body1="one" body2="two"/></equality></mujoco>"""
    model = dr.read_mjcf(written(tmp_path, text))
    for letter in "xyz":
        model.output(f"apart_{letter}", f"offset_{letter}(one, two)", "m")
    run = dr.simulate(model, 0.5, start={"f_wx": 1.0, "f_wz": 2.0})
    assert "FINISHED" in str(run.status)
    for letter in "xyz":
        assert np.ptp(run[f"apart_{letter}"]) < 1e-7
    first = [float(run[f"{name}_z"][0]) for name in "fg"]
    assert first == pytest.approx([2.0, 2.2], abs=1e-9)
    assert run.energy_drift < 1e-6


REFUSED = {
    "robot": ("<robot/>", "the first element is <robot>"),
    "class": ("<mujoco><worldbody><body><geom class='x' size='1'/></body></worldbody></mujoco>", "no default class 'x'"),
    "mesh": (
        "<mujoco><asset><mesh name='m' file='m.stl'/></asset><worldbody><body><freejoint/>\n"
        "<geom type='mesh' mesh='m'/></body></worldbody></mujoco>",
        "line 2: a geom of body 'body_1': masses of a mesh are not computed",
    ),
    "size": ("<mujoco><worldbody><body><geom type='box' size='1 1'/></body></worldbody></mujoco>", "size needs 3 numbers"),
    "composite": ("<mujoco><worldbody><body><composite/></body></worldbody></mujoco>", "<composite> is not supported"),
    "twice": ("<mujoco><worldbody><body name='a'/>\n<body name='a'/></worldbody></mujoco>", "line 2: body 'a' is defined twice"),
    "mass": ("<mujoco><compiler settotalmass='3'/></mujoco>", "settotalmass of <compiler> changes masses"),
    "equality": (
        "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody><equality><joint joint1='a'/></equality></mujoco>",
        "'a' is not a joint",
    ),
    "axis": ("<mujoco><worldbody><body><joint axis='0 0 0'/></body></worldbody></mujoco>", "has no direction"),
    "orientation": ("<mujoco><worldbody><body quat='0 0 0 0'/></worldbody></mujoco>", "has no orientation"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_with_file_and_line(case, tmp_path):
    text, message = REFUSED[case]
    path = written(tmp_path, text)
    with pytest.raises(ModelError, match=message) as caught:
        dr.read_mjcf(path)
    assert str(caught.value).startswith(str(path))


def test_a_free_body_starts_where_the_file_has_it(tmp_path):
    body = '<body name="b" pos="1 2 3" euler="0 0 90"><freejoint name="f"/><geom size="0.1"/></body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    e = derive(dr.read_mjcf(written(tmp_path, text)))
    defaults = {c.name: c.default for c in e.coordinates}
    assert [defaults[f"f_{c}"] for c in "xyz"] == [1.0, 2.0, 3.0]
    assert defaults["f_qw"] == pytest.approx(np.sqrt(0.5)) and defaults["f_qz"] == pytest.approx(np.sqrt(0.5))


EQUALITIES = {
    "connect": '<connect body1="one" body2="two" anchor="0.3 0.1 -0.2"/>',
    "connect to the world": '<connect body1="two" anchor="0.3 0.1 -0.2"/>',
    "weld": '<weld body1="one" body2="two"/>',
    "weld at an anchor": '<weld body1="one" body2="two" anchor="0.1 0.2 0.3"/>',
    "weld at a pose": '<weld body1="one" body2="two" relpose="0.3 -0.2 0.4 0.5 -0.5 0.1 0.3"/>',
    "weld to the world": '<weld body1="two" relpose="0.3 -0.2 0.4 0.5 -0.5 0.1 0.3"/>',
}


@pytest.mark.parametrize("case", EQUALITIES)
def test_consistent_starts_fulfill_the_equalities_of_mujoco(case, tmp_path, mujoco):
    """Positions that fulfill our constraints, from another place, have no violation in MuJoCo."""
    text = f"""<mujoco><worldbody>
      <body name="base" pos="0.2 0 1" euler="0 40 0"><joint name="j" axis="1 2 3" pos="0.1 0 0" ref="10"/><geom size="0.1"/>
        <body name="one" pos="0 0.4 0" euler="10 20 30"><joint name="k" axis="0 1 0"/>
          <geom type="box" size="0.1 0.2 0.3"/></body></body>
      <body name="two" pos="0.5 0.1 2.2" euler="-40 5 60"><freejoint name="g"/><geom type="box" size="0.1 0.1 0.2"/></body>
    </worldbody><equality>{EQUALITIES[case]}</equality></mujoco>"""
    path = written(tmp_path, text)
    model = dr.read_mjcf(path)
    start = dr.consistent_start(model, start={"j": 0.5, "k": -0.3})
    theirs = mujoco.MjModel.from_xml_path(str(path))
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    values = dict(zip([c.name for c in start.equations.coordinates], start.q, strict=True))
    free = [values[f"g_{c}"] for c in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    data.qpos[:] = [values["j"], values["k"], *free]
    mujoco.mj_forward(theirs, data)
    assert len(data.efc_pos) == (3 if "connect" in case else 6)
    assert np.abs(data.efc_pos).max() < 1e-8


@pytest.mark.parametrize("sequence", ["xyz", "XYZ", "zxz", "ZYX", "yzx"])
def test_angles_in_any_sequence_and_masses_of_geoms_only(sequence, tmp_path, mujoco):
    text = f"""<mujoco><compiler eulerseq="{sequence}" inertiafromgeom="true"/><worldbody>
      <body name="b" euler="10 -40 75"><joint name="j" axis="1 2 3"/><inertial pos="1 1 1" mass="9" diaginertia="1 1 1"/>
        <geom type="box" size="0.1 0.2 0.3" pos="0.2 0.1 0" euler="30 60 -20"/></body></worldbody></mujoco>"""
    path = written(tmp_path, text)
    judge = Judge(mujoco, path, dr.read_mjcf(path))
    q, v = judge.state(np.random.default_rng(0))
    judge.set(q, v)
    mujoco.mj_forward(judge.theirs, judge.data)
    found = judge.equations.dynamics([0.0], np.concatenate([q, v]), [], judge.equations.default_parameters)[0][1:]
    assert found == pytest.approx(judge.data.qacc, rel=1e-10)


@pytest.mark.parametrize("geom", ["", '<geom size="0.1" pos="0 0.1 0"/>', '<frame pos="0 0 0.2"><geom size="0.1"/></frame>'])
@pytest.mark.parametrize("how", ["auto", "true", "false"])
def test_masses_are_those_of_the_body_or_of_its_geoms_as_in_mujoco(how, geom, tmp_path, mujoco):
    """With "true" geoms replace what a body states, and what a body without geoms states is kept."""
    text = f"""<mujoco><compiler inertiafromgeom="{how}"/><worldbody><body name="a"><joint name="hinge" axis="0 1 0"/>
      <inertial pos="0.3 0 0" mass="0.7" diaginertia="0.01 0.02 0.03"/>{geom}</body></worldbody></mujoco>"""
    (tmp_path / "model.xml").write_text(text, encoding="utf-8")
    judge = mujoco.MjModel.from_xml_string(text)
    run = dr.simulate(dr.read_mjcf(tmp_path / "model.xml"), 0.1, start={"hinge": 0.0, "hinge_rate": 2.0}, samples=2)
    assert run["kinetic_energy"][0] == pytest.approx(2.0 * judge.dof_M0[0], rel=1e-12)


def test_a_joint_alone_is_kept_at_a_value(tmp_path):
    text = """<mujoco><worldbody><body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>
      <body name="c"><joint name="k" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></body></worldbody>
      <equality><joint joint1="j" polycoef="0.4 0 0 0 0"/></equality></mujoco>"""
    run = dr.simulate(dr.read_mjcf(written(tmp_path, text)), 0.5)
    assert np.abs(run["j"] - 0.4).max() < 1e-9 and np.ptp(run["k"]) > 0.1


# -------------------------------------------------------------------- misspelled words

MISSPELLED = {  # what is replaced, by what, and what the error or the warning says
    "section": ("<default>", "</default>", "defaults", "<mujoco> of MJCF has no <defaults>; did you mean 'default'"),
    "actuators": ("<actuator>", "</actuator>", "actuators", "<mujoco> of MJCF has no <actuators>; did you mean 'actuator'"),
    "equalty": ("<equality>", "</equality>", "equalty", "<mujoco> of MJCF has no <equalty>; did you mean 'equality'"),
}
WHOLE = ARM.replace('<light pos="0 0 3"/>', "").replace(
    "MORE",
    '<option gravity="0 0 -9.8"><flag contact="disable"/></option><actuator><motor name="m" joint="elbow"/></actuator>'
    '<equality><joint joint1="shoulder" joint2="elbow"/></equality>',
)


@pytest.mark.parametrize("case", MISSPELLED)
def test_sections_that_do_not_exist_are_refused_with_the_near_word(case, tmp_path):
    first, last, word, message = MISSPELLED[case]
    text = WHOLE.replace(first, f"<{word}>", 1)[::-1].replace(last[::-1], f"</{word}>"[::-1], 1)[::-1]
    with pytest.raises(ModelError, match=message):
        dr.read_mjcf(written(tmp_path, text))


def test_every_misspelled_word_is_refused_or_warned_of(tmp_path, mujoco):
    """One letter less in any element or attribute: MuJoCo refuses the file, and here no such file is read in silence."""
    import re

    assert mujoco.MjModel.from_xml_path(str(written(tmp_path, WHOLE))).nu == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dr.read_mjcf(written(tmp_path, WHOLE))
    words = [m for m in re.finditer(r"<([a-z]+)|([a-z0-9]+)=", WHOLE) if m[1] != "mujoco"]
    assert len(words) > 50
    for match in words:
        at = match.start(1 if match[1] else 2)
        text = WHOLE[:at] + WHOLE[at + 1 :]
        if match[1]:
            text = re.sub(rf"</{match[1]}>", f"</{match[1][1:]}>", text) if f"</{match[1]}>" in text else text
        path = written(tmp_path, text)
        with pytest.raises(ValueError):
            mujoco.MjModel.from_xml_path(str(path))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                dr.read_mjcf(path)
            except (ModelError, UserWarning):
                continue
        pytest.fail(f"read in silence: {text[at - 20 : at + 20]!r}")


def test_the_words_of_mujoco_are_known(mujoco):
    """Every attribute that MuJoCo's own schema has is known where attributes are checked."""
    import re

    from draisine.model.robots.mjcf_words import _KNOWN, _WORDS

    found: dict[str, set[str]] = {}
    path: list[str] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        opened = re.match(r"( *)(\S+) \([!*?R]\)(.*)", line)
        if opened:
            depth = len(opened[1]) // 3
            path = [*path[:depth], opened[2].replace("(world)", "")]
        words = opened[3] if opened else line
        found.setdefault(" ".join(path[-2:]), set()).update(words.split())
    for place in ("mujoco compiler", "mujoco option", "option flag", "body inertial", "body geom", "body site", "body joint"):
        assert found[place] <= set(_WORDS[place.split()[1]]), place
    for place in ("equality connect", "equality weld", "equality joint", "default equality", "mujoco body"):
        assert found[place] <= set(_WORDS.get(place) or _WORDS[place.split()[1]]), place
    for place in ("mujoco", "option", "default", "equality", "actuator"):
        inside = {name.split()[1] for name in found if name.split()[0] == place and len(name.split()) == 2}
        assert inside - {"body"} <= set(_KNOWN[place]), place


def test_bounds_of_actuators_are_warned_of(tmp_path):
    text = (
        '<actuator><motor name="m" joint="elbow" forcerange="-3 3"/><motor name="n" joint="elbow" ctrlrange="-1 1"/></actuator>'
    )
    with pytest.warns(
        UserWarning, match=r"forcerange of actuator 'm' is not enforced.*ctrlrange of actuator 'n' is not enforced"
    ):
        dr.read_mjcf(written(tmp_path, ARM.replace("MORE", text)))
    free = text.replace("/>", ' ctrllimited="false" forcelimited="false"/>')  # no bounds to enforce
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dr.read_mjcf(written(tmp_path, ARM.replace("MORE", free)))

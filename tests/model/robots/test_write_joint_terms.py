"""Limits, friction and damping of joints in URDF files, however the model states them."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as tree

import numpy as np
import pytest

import draisine as dr


def arm(kind: str, **options: object) -> dr.Model:
    m = dr.Model("arm")
    m.body("a", mass=2.0, center_of_mass=(0.1, 0, -0.3), inertia=(0.3, 0.25, 0.1))
    getattr(m, kind)("j", "ground", "a", axis=(0, 1, 0), **options)
    return m


def written(m: dr.Model, path, expected: str = "") -> tree.Element:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dr.write_urdf(m, path / "arm.urdf")
    assert (expected in str(caught[0].message)) if expected else not caught, [str(w.message) for w in caught]
    return tree.parse(path / "arm.urdf").getroot().find("joint")


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_random_limits_friction_and_damping(kind: str, tmp_path) -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        low, high = -float(rng.uniform(0.1, 3)), float(rng.uniform(0.1, 3))
        friction, damping = float(rng.uniform(0.1, 2)), float(rng.uniform(0.1, 2))
        m = arm(kind, limits=(low, high), friction=friction)
        m.spring("j", 0, damping=damping)
        joint = written(m, tmp_path)
        limit, dynamics = joint.find("limit"), joint.find("dynamics")
        assert joint.get("type") == kind
        assert (float(limit.get("lower")), float(limit.get("upper"))) == (low, high)
        assert float(dynamics.get("friction")) == friction
        assert float(dynamics.get("damping")) == pytest.approx(damping, rel=1e-14)
        back = {p.name: p.default for p in dr.read_urdf(tmp_path / "arm.urdf").freeze().parameters}
        assert back["j_friction"] == friction and back["j_damping"] == pytest.approx(damping, rel=1e-14)


def test_a_slide_without_limits_has_none(tmp_path) -> None:
    limit = written(arm("prismatic"), tmp_path).find("limit")
    assert float(limit.get("lower")) <= -1e9 and float(limit.get("upper")) >= 1e9
    assert not dr.read_urdf(tmp_path / "arm.urdf").freeze().events
    assert written(arm("revolute"), tmp_path).get("type") == "continuous"


def test_what_the_file_cannot_say_is_named(tmp_path) -> None:
    written(arm("revolute", friction=(0.8, 0.5)), tmp_path, "static friction of 'j")
    assert tree.parse(tmp_path / "arm.urdf").getroot().find("joint/dynamics").get("friction") == "0.5"


def test_cycles_beside_a_root_are_named(tmp_path) -> None:
    """Two links in a cycle, and a link that is its own parent."""
    for pairs in ([("a", "b"), ("b", "a")], [("a", "a")]):
        names = sorted({name for pair in pairs for name in pair})
        links = "".join(f'<link name="{name}"/>' for name in ("root", *names))
        joints = "".join(
            f'<joint name="j{k}" type="continuous"><parent link="{p}"/><child link="{c}"/></joint>'
            for k, (p, c) in enumerate(pairs)
        )
        (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
        with pytest.raises(dr.errors.ModelError, match="link 'a' is not connected to the root link 'root'"):
            dr.read_urdf(tmp_path / "r.urdf")


_LINK = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


@pytest.mark.parametrize(
    ("inside_joint", "inside_robot", "message"),
    [
        ('<dynamics dampin="0.3"/>', "", "'dampin' of <dynamics> .* did you mean 'damping'"),
        ('<orign xyz="0 0 1"/>', "", "<orign> of <joint> .* did you mean 'origin'"),
        ('<limit lover="-1" upper="1" effort="1" velocity="1"/>', "", "'lover' of <limit> .* did you mean 'lower'"),
        ("", "<lnik/>", "<lnik> in line 1 is unknown and ignored; did you mean 'link'"),
        ("", "<foo/>", "<foo> in line 1 is unknown"),
    ],
)
def test_misspelled_words_are_warnings(inside_joint: str, inside_robot: str, message: str, tmp_path) -> None:
    joint = f'<joint name="j" type="continuous"><parent link="base"/><child link="a"/>{inside_joint}</joint>'
    text = f'<robot name="r"><link name="base"/><link name="a">{_LINK}</link>{joint}{inside_robot}</robot>'
    (tmp_path / "r.urdf").write_text(text)
    with pytest.warns(UserWarning, match=message):
        dr.read_urdf(tmp_path / "r.urdf")


def test_an_unknown_type_lists_the_known_ones_once(tmp_path) -> None:
    joint = '<joint name="j" type="zzz"><parent link="base"/><child link="a"/></joint>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="base"/><link name="a">{_LINK}</link>{joint}</robot>')
    with pytest.raises(dr.errors.ModelError) as caught:
        dr.read_urdf(tmp_path / "r.urdf")
    assert str(caught.value).count("known are") == 1

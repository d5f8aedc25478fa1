"""Motorcycles of the gallery: Sharp's of 1971 against his equations, and a machine of eleven freedoms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tires.sharp import SET_A, published

import draisine as dr
from draisine import gallery
from draisine.gallery.entries import motorcycle, sharp_motorcycle
from draisine.model.files import from_toml, to_toml


@pytest.fixture(scope="module")
def sharp():
    return dr.derive(gallery.sharp_motorcycle(), work=False)


def test_sharps_motorcycle_has_the_eigenvalues_of_his_equations(sharp):
    """At the speeds of the reference and at others; the front load is the static one."""
    for speed in (2.0, 2.5, 60.0, *np.random.default_rng(71).uniform(2.0, 60.0, 7)):
        straight = dr.steady(sharp, {"speed": float(speed), "lean": 0.0, "steer": 0.0})
        assert abs(straight["front_normal_force"] - 1012.5298413495211) < 1e-8
        found = straight.linearize(("lean", "steer")).essential().eigenvalues
        for z in published(SET_A, float(speed)):
            assert np.abs(found - z).min() < 1e-9 * max(abs(z), 1.0)


def test_sharps_study():
    study = sharp_motorcycle.sharp_oscillates(speeds=30)
    assert "5.968" in study.findings[0] and "11.106" in study.findings[0] and "58.445" in study.findings[0]


@pytest.fixture(scope="module")
def eleven():
    return dr.derive(gallery.motorcycle(), work=False)


def test_the_machine_has_eleven_freedoms_and_a_short_file(eleven):
    model = gallery.motorcycle()
    assert from_toml(to_toml(model)).freeze() == model.freeze()
    normals = [c for c in eleven.constraints if c.level == "velocity"]
    assert len(eleven.velocities) - len(normals) == 11


def test_trim_in_a_turn_and_while_braking_in_it(eleven):
    steady, braked = (motorcycle._trim(eleven, rate) for rate in (0.0, -3.0))
    weight = 9.81 * (168 + 10 + 8 + 9 + 12 + 15 + 45)
    for trim in (steady, braked):
        assert abs(trim["speed"] / trim["yaw_rate"] - 160.0) < 1e-9
        lift = 0.5 * 1.2 * 0.05 * 35.0**2 * np.cos(trim["lean"])
        assert abs(trim["front_normal_force"] + trim["rear_normal_force"] - weight + lift) < 0.02 * weight
    assert (
        braked["front_normal_force"] > steady["front_normal_force"] + 250 and braked["fork_travel"] > steady["fork_travel"] + 0.02
    )


def test_names_of_the_modes_upright_and_at_lean(eleven):
    upright = dr.modes(
        eleven, speed=np.linspace(8, 60, 14), fixed={"lean": 0.0, "steer": 0.0}, free=("drive_torque",), states=motorcycle.STATES
    )
    leaning = dr.modes(
        eleven,
        over={"lean": np.linspace(-0.1, -0.8, 8)},
        fixed={"speed": 35.0},
        free=motorcycle.FREE_INPUTS,
        states=motorcycle.STATES,
    )
    for found in (upright, leaning):
        named = dict(zip(found.names, found.eigenvalues[-1], strict=True))
        assert 10 < named["weave"].imag < 25 < named["wobble"].imag < 60 and named["capsize"].imag == 0
    at_35 = dr.modes(eleven, speed=[35.0], fixed={"lean": 0.0, "steer": 0.0}, free=("drive_torque",), states=motorcycle.STATES)
    upright_weave = at_35.eigenvalues[0][np.argmin(np.abs(at_35.eigenvalues[0] - (-1.9 + 18.2j)))]
    assert leaning.eigenvalues[0, leaning.names.index("weave")].imag == pytest.approx(upright_weave.imag, rel=0.02)


def test_the_machine_on_tires_by_the_magic_formula():
    """With vertical stiffness and load in the forces the modes have their names too, and statics holds: weight less lift."""
    model = gallery.motorcycle_on_magic_formula()
    assert from_toml(to_toml(model)).freeze() == model.freeze()
    equations = dr.derive(model, work=False)
    start = dr.consistent_start(equations, {"speed": 30.0})
    begins = dict(zip((v.name for v in equations.velocities), start.v, strict=True))
    assert begins["fork_travel_rate"] == begins["arm_angle_rate"] == 0.0 and abs(begins["front_spin"] - 100.0) < 1e-9
    given = {"fixed": {"lean": 0.0, "steer": 0.0}, "free": ("drive_torque",), "states": motorcycle.STATES}
    found = dr.modes(equations, speed=np.linspace(20, 50, 7), **given)
    named = dict(zip(found.names, found.eigenvalues[-1], strict=True))
    assert 10 < named["weave"].imag < 25 < named["wobble"].imag < 60 and named["capsize"].imag == 0 and "hop" in named
    rest = dr.steady(equations, {"speed": 30.0, "lean": 0.0, "steer": 0.0}, free=("drive_torque",))
    lift = 0.5 * 1.2 * 30.0**2 * (0.05 * np.cos(rest["pitch"]) + 0.5 * np.sin(rest["pitch"]))
    weight = 9.81 * (168 + 10 + 8 + 9 + 12 + 15 + 45)
    assert abs(rest["front_normal_force"] + rest["rear_normal_force"] + lift - weight) < 1e-6 * weight


@pytest.mark.parametrize(("rigid", "freedoms"), [(True, 11), (False, 13)])
def test_turns_on_the_magic_formula(rigid, freedoms):
    """Names of the modes hold at lean, and the weave loses damping with it; vertical forces are in balance."""
    model = gallery.motorcycle_on_magic_formula()
    for wheel in ("front", "rear"):
        tire = dict(dict(model._items["parts"])[wheel].options)["tire"]
        model = dr.parts.replace(model, wheel, tire=replace(tire, rigid=rigid))
    equations = dr.derive(model, work=False)
    assert len(equations.velocities) - len([c for c in equations.constraints if c.level == "velocity"]) == freedoms
    found = dr.modes(
        equations,
        over={"lean": np.linspace(-0.05, -0.75, 8)},
        fixed={"speed": 35.0},
        free=motorcycle.FREE_INPUTS,
        states=motorcycle.STATES,
    )
    named = dict(zip(found.names, found.eigenvalues.T, strict=True))
    assert 10 < named["weave"][-1].imag < 25 < named["wobble"][-1].imag < 60 and named["capsize"][-1].imag == 0
    assert named["weave"][-1].real > named["weave"][0].real + 0.5
    turn = dr.steady(equations, {"speed": 35.0, "radius": 160.0}, free=motorcycle.FREE_INPUTS)
    weight = 9.81 * (168 + 10 + 8 + 9 + 12 + 15 + 45)
    # vertical forces: wheels, weight, and drag and lift of the leaning machine
    drag, lift = (0.5 * 1.2 * area * 35.0**2 for area in (0.5, 0.05))
    raised = np.cos(turn["lean"]) * (lift * np.cos(turn["pitch"]) + drag * np.sin(turn["pitch"]))
    assert turn["front_normal_force"] + turn["rear_normal_force"] + raised == pytest.approx(weight, rel=2e-4)


@pytest.mark.further
def test_the_study_of_the_machine():
    study = motorcycle.motorcycle_corners(points=12, until=3.0)
    assert {"upright", "leaning", "locus", "leaning_locus", "trim", "braking"} == study.figures.keys()
    assert "anti-squat" in study.findings[-1] and study.runs["braking"]["fork_travel"].max() > 0


@pytest.mark.further
def test_the_machine_is_certified():
    certificate = dr.certify(gallery.motorcycle(), count=4)
    assert "all derivations agree" in str(certificate)

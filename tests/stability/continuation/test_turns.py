"""Turns of the benchmark bicycle: hands-free families and the atlas of held turns."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline

import draisine as dr

MEIJAARD = json.loads((Path(__file__).parents[2] / "reference" / "meijaard2007.json").read_text())


@pytest.fixture(scope="module")
def bike():
    return dr.derive(dr.gallery.bicycle(), work=False)


@cache
def hands_free(speed):
    return dr.bicycle.hands_free_turns(dr.derive(dr.gallery.bicycle(), work=False), speed=speed)


@pytest.fixture(scope="module")
def families():
    return hands_free((0.0, 12.0))


def test_straight_running_has_the_published_speeds(families):
    straight = families["straight"]
    published = {name: float(text) for name, text in MEIJAARD["critical_speeds"].items() if name.startswith(("v_", "weave_f"))}
    weave, capsize = straight.special
    assert (weave.kind, capsize.kind) == ("Hopf point", "branch point")
    assert weave.value == pytest.approx(published["v_weave"], abs=1e-11)
    assert capsize.value == pytest.approx(published["v_capsize"], abs=1e-11)
    assert weave.frequency == pytest.approx(published["weave_frequency_at_v_weave"], abs=1e-10)
    between = (straight["speed"] > weave.value) & (straight["speed"] < capsize.value)
    assert np.array_equal(straight.stable, between)


def test_turns_leave_straight_running_at_the_capsize_speed(families):
    """Family (i) of Basu-Mandal, Chatterjee & Papadopoulos (2007): from the capsize speed to rest, frame upright, front wheel
    almost across."""
    turning = families["turning"]
    assert [p.kind for p in turning.special] == ["branch point"]
    assert turning.special[0].value == pytest.approx(6.02426201538837, abs=1e-9)
    np.testing.assert_array_equal(turning["steer_torque"], 0.0)
    for end in (0, -1):
        assert turning["speed"][end] == pytest.approx(0.0, abs=1e-9)
        assert turning["lean"][end] == pytest.approx(0.0, abs=1e-6)
        assert 1.2 < abs(turning["steer"][end]) < math.pi / 2
        assert turning.unstable[end] > 0
    # mirror images of each other
    assert turning["steer"][0] == pytest.approx(-turning["steer"][-1], abs=1e-7)
    assert turning["speed"].max() == pytest.approx(6.02426201538837, abs=1e-9)


def test_turns_with_the_bar_reversed(families):
    """Family (ii): from a capsize speed again, to a bicycle that lies flat and spins with the front wheel straight; stable
    in part."""
    reversed_turns = families["turning, bar reversed"]
    straight = families["straight, bar reversed"]
    np.testing.assert_allclose(straight["steer"], math.pi, atol=1e-12)
    (fork,) = straight.points("branch point")
    assert fork.value == pytest.approx(reversed_turns.points("branch point")[0].value, abs=1e-12)
    for end in (0, -1):
        assert reversed_turns["speed"][end] == pytest.approx(12.0, abs=1e-9)
        assert abs(reversed_turns["lean"][end]) > 1.3
        assert abs(reversed_turns["steer"][end] - math.pi) < 0.1
    assert 0 < reversed_turns.stable.sum() < len(reversed_turns) / 2


@pytest.mark.parametrize("speed", [(0.0, 12.0), (3.0, 9.0), (1.0, 2.5)])
def test_turns_stay_in_their_range(bike, speed):
    families = hands_free(speed)
    assert "pivoting" in families
    for name, branch in families.items():
        assert branch["speed"].min() >= speed[0] - 1e-12 and branch["speed"].max() <= speed[1] + 1e-12, name
    with pytest.raises(dr.errors.ArgumentError, match="the smaller first"):
        dr.bicycle.hands_free_turns(bike, speed=speed[::-1])


def test_pivoting(bike):
    """Family (iii): from flat spinning with the bar forward, through pivoting about the rear wheel, to fast circles with the
    frame near upright and the front wheel almost across, bar reversed; stable in part."""
    pivoting = dr.bicycle.hands_free_turns(bike, speed=(-12.0, 12.0))["pivoting"]
    assert pivoting["speed"][0] == pytest.approx(-12.0, abs=1e-9)
    assert abs(pivoting["lean"][0]) > 1.3 and abs(pivoting["steer"][0]) < 0.1
    still = int(np.argmin(np.abs(pivoting["speed"])))
    assert abs(pivoting["rear_wheel_spin"][still]) < 0.05 and abs(pivoting["lean"][still]) < 0.02
    assert abs(pivoting["steer"][-1] - math.pi / 2) < 0.15 and pivoting["steer"][-1] > math.pi / 2
    assert abs(pivoting["lean"][-1]) < 0.12
    assert pivoting.ended == ("speed reached -12", "yaw_rate reached -12")
    assert 0 < pivoting.stable.sum() < len(pivoting) / 2


def test_a_hands_free_turn_is_ridden(bike, families):
    """Started on the stable part of the reversed family, a bicycle knocked a little comes back to a circle."""
    branch = families["turning, bar reversed"]
    i = int(np.flatnonzero(branch.stable & (branch["lean"] > 0.1))[5])
    start = dict(zip((q.name for q in bike.states), branch.motions[i].x.tolist(), strict=True))
    run = dr.simulate(bike, 2.0, start=start, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    np.testing.assert_allclose(run["lean"], branch["lean"][i], atol=1e-6)
    np.testing.assert_allclose(run["speed"], branch["speed"][i], atol=1e-6)


def test_branch_motions_are_steady_and_their_eigenvalues_those_of_the_linear_model(bike, families):
    for name in ("turning", "turning, bar reversed", "pivoting"):
        branch = families[name]
        for i in np.linspace(1, len(branch) - 2, 4).astype(int):
            motion = branch.motions[i]
            rates = bike.explicit([0.0], motion.x, motion.u, motion.p)[0][len(bike.coordinates) :]
            np.testing.assert_allclose(rates, 0.0, atol=1e-8 * max(1.0, motion["yaw_rate"] ** 2))
            theirs = motion.linearize().essential().eigenvalues
            assert np.sort(branch.eigenvalues[i].real)[-1] == pytest.approx(np.sort(theirs.real)[-1], abs=1e-7)


def test_every_branch_has_one_neutral_direction(families):
    assert {name: branch.neutral for name, branch in families.items()} == dict.fromkeys(families, 1)


def test_leaning_against_a_push(bike):
    """A side push makes the heading matter, which otherwise runs on: straight running is left, F h = Σ m g z tan(lean)."""
    pushed = {"fixed": {"speed": 5.0, "heading": 0.0}, "free": ("steer_torque", "pedal_torque"), "start": {"speed": 5.0}}
    branch = dr.stability.continuation(bike, "push", between=(-50.0, 50.0), **pushed)
    moment = 9.81 * (85 * 0.9 + 4 * 0.7 + 3 * 0.35 + 2 * 0.3)
    np.testing.assert_allclose(np.tan(branch["lean"]) * moment, branch["push"] * 0.9, atol=1e-9)
    np.testing.assert_allclose(branch["yaw_rate"], 0.0, atol=1e-12)
    assert "frame_heading" not in branch.motions[0].ignorable
    with pytest.raises(dr.errors.ArgumentError, match=r"2 quantities can vary independently .*push.*fix 1 more"):
        dr.stability.continuation(bike, "push", between=(-50.0, 50.0), **{**pushed, "fixed": {"speed": 5.0}})


def test_a_turn_that_lies_flat_is_singular(bike):
    with pytest.raises(
        dr.errors.SolverError, match=r"no steady motion with .*singular configuration: .*wheel 'rear_wheel' lies flat"
    ):
        dr.steady(bike, {"speed": 5.0, "lean": math.pi / 2}, free=("steer_torque", "pedal_torque"))


def test_hands_free_turns_need_a_two_wheeler():
    with pytest.raises(dr.errors.ModelError, match=r"rolling_disk has no state or output 'steer'"):
        dr.bicycle.hands_free_turns(dr.gallery.rolling_disk())


# ---------------------------------------------------------------- atlas


@pytest.fixture(scope="module")
def atlas(bike):
    return dr.bicycle.turning_atlas(bike, lean=np.linspace(0.0, 0.6, 31), speed=np.linspace(1.0, 9.0, 17))


def test_atlas_agrees_with_single_turns(bike, atlas):
    for i, j in ((5, 4), (12, 10), (30, 16)):
        targets = {"lean": float(atlas.first[i]), "speed": float(atlas.second[j])}
        turn = dr.steady(bike, targets, free=("steer_torque", "pedal_torque"))
        for name in ("steer_torque", "steer", "rear_wheel_normal_force", "front_wheel_friction_needed", "yaw_rate"):
            assert atlas[name][i, j] == pytest.approx(turn[name], rel=1e-9, abs=1e-10), name
        growing = turn.linearize().essential().eigenvalues.real > 1e-7
        assert atlas.unstable[i, j] == growing.sum()


def test_upright_row_is_straight_running(atlas):
    np.testing.assert_allclose(atlas["steer_torque"][0], 0.0, atol=1e-9)
    static = MEIJAARD["static_normal_forces_N"]
    np.testing.assert_allclose(atlas["front_wheel_normal_force"][0], static["front"], atol=1e-8)
    np.testing.assert_allclose(atlas["rear_wheel_normal_force"][0], static["rear"], atol=1e-8)
    stable = (atlas.second > 4.2924) & (atlas.second < 6.0243)
    assert np.array_equal(atlas.stable[0], stable)


def test_balance_of_forces_in_every_turn(atlas):
    """The ground carries the weight, and friction is what turns the center of mass: for small sizes, tan of the lean."""
    exists = atlas.exists
    weight = (85 + 2 + 3 + 4) * 9.81
    total = atlas["front_wheel_normal_force"] + atlas["rear_wheel_normal_force"]
    np.testing.assert_allclose(total[exists], weight, rtol=1e-9)
    fast = atlas.second > 5
    np.testing.assert_allclose(atlas.friction[5:15][:, fast], np.tan(atlas.first[5:15])[:, None] * np.ones(fast.sum()), rtol=0.03)
    # nothing is lost, so nobody has to pedal
    np.testing.assert_allclose(atlas["pedal_torque"][exists], 0.0, atol=1e-9)


def test_atlas_ends_where_the_turn_ends(bike, atlas):
    """At 2 m/s lean has a fold: no turn leans more."""
    held = dr.stability.continuation(
        bike,
        "lean",
        fixed={"speed": 2.0},
        free=("steer_torque", "pedal_torque"),
        start={"lean": 0.0},
        between=(0.0, 0.8),
        bounds={"steer_torque": (-1.0, 35.0)},
        steps=dr.stability.Steps(most=1.0),
    )
    most = held.points("fold")[0].value
    column = atlas.exists[:, int(np.argmin(np.abs(atlas.second - 2.0)))]
    assert np.array_equal(column, atlas.first < most)
    assert np.isnan(atlas["steer_torque"][-1, 2])


def test_zero_torque_is_the_hands_free_family(atlas, families):
    """Interpolated in the atlas, the torque vanishes along the family found by continuation."""
    fast = atlas.second >= 3.0
    torque = RectBivariateSpline(atlas.first, atlas.second[fast], atlas["steer_torque"][:, fast])
    turning = families["turning"]
    inside = (turning["lean"] > 0.1) & (turning["speed"] > 3.5)
    assert inside.sum() > 10
    np.testing.assert_allclose(torque.ev(turning["lean"][inside], turning["speed"][inside]), 0.0, atol=4e-3)


def test_what_is_possible(atlas):
    all_turns, dry, ice = atlas.possible(), atlas.possible(0.8), atlas.possible(0.1)
    assert np.array_equal(all_turns, atlas.exists)  # no wheel lifts in these turns
    assert ice.sum() < dry.sum() <= all_turns.sum()
    assert atlas.first[ice.any(axis=1)].max() == pytest.approx(0.1, abs=0.021)  # tan(lean) = 0.1
    assert atlas.load.shape == atlas.exists.shape


def test_radius_of_the_path(atlas):
    """Slow leans aside: v² / (R g) is about tan(lean) on wide circles, which are to the right."""
    j = 12  # 7 m/s
    radius = atlas["rear_wheel_path_radius"][1:6, j]
    assert (radius < 0).all()
    np.testing.assert_allclose(7.0**2 / (9.81 * -radius), np.tan(atlas.first[1:6]), rtol=0.05)


def test_atlas_as_data_and_text(atlas):
    data = json.loads(json.dumps(atlas.as_data()))
    assert data["columns"]["steer_torque"][-1][2] is None
    assert "inputs: steer_torque, pedal_torque" in str(atlas)
    with pytest.raises(KeyError, match="did you mean 'steer_torque'"):
        atlas["steer_torqe"]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"lean": [0.0, 0.1]}, "give two axes"),
        ({"lean": [0.1, 0.0], "speed": [5.0, 6.0]}, "values of 'lean' must be a sequence of finite, increasing"),
        (
            {"lean": [0.0, 0.1], "speed": [5.0, 6.0], "hold": ("steer_torqe",)},
            "no input 'steer_torqe' to solve for; did you mean",
        ),
        ({"lien": [0.0, 0.1], "speed": [5.0, 6.0]}, "output of motion 'lien'; did you mean 'lean'"),
    ],
)
def test_wrong_atlases_are_refused(bike, options, reported):
    with pytest.raises(dr.errors.ArgumentError, match=reported):
        dr.bicycle.turning_atlas(bike, **options)

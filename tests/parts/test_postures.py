"""Postures whose hands and feet are at given places: the chain of rotations must lead there."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.parts.riders.postures import end_of, level_axes, reaching
from draisine.parts.riders.solids import turn


@pytest.mark.parametrize("seed", range(6))
def test_hands_and_feet_are_where_they_should(seed):
    rng = np.random.default_rng(seed)
    human = dr.parts.Human.of(1.6 + 0.05 * seed, 60 + 5 * seed)
    trunk = {"somersault": rng.uniform(-0.2, 0.7), "PTbending": rng.uniform(-0.1, 0.1), "TCspinalTorsion": rng.uniform(-0.2, 0.2)}
    placed = human.placed(trunk)
    hands = {
        s: placed[f"{s}_upper_arm"].position + [rng.uniform(0.3, 0.4), sign * 0.05, rng.uniform(-0.3, 0.05)]
        for s, sign in (("left", 1), ("right", -1))
    }
    feet = {
        s: np.array([rng.uniform(0.1, 0.35), sign * 0.12, -rng.uniform(0.5, 0.66)]) for s, sign in (("left", 1), ("right", -1))
    }
    posture = reaching(human, trunk, hands, feet, swivel=rng.uniform(-0.5, 0.5))
    found = human.placed(posture)
    for side in ("left", "right"):
        assert np.allclose(end_of(found, human, "hand", side), hands[side], atol=1e-12)
        assert np.allclose(end_of(found, human, "foot", side), feet[side], atol=1e-12)
        assert posture["A1A2extension" if side == "left" else "B1B2extension"] <= 0 <= posture["J1J2flexion"]
    assert found["left_shank"].position[0] > 0.2  # knees ahead


def test_elbows_hang_below_in_the_vertical_plane_and_swivel_outward():
    human = dr.parts.Human.of(1.75, 75)
    shoulder = human.placed({"somersault": 0.5})["left_upper_arm"].position
    hands = {"left": shoulder + [0.4, 0.1, -0.2]}
    down, out = (human.placed(reaching(human, {"somersault": 0.5}, hands, swivel=s))["left_forearm"].position for s in (0.0, 0.6))
    assert abs(np.cross(down - shoulder, hands["left"] - shoulder)[2]) < 1e-12  # in the vertical plane
    assert abs(human.placed(reaching(human, {"somersault": 0.5}, hands))["left_forearm"].rotation[2, 1]) < 1e-12  # a level hinge
    assert out[1] > down[1] + 0.02 and out[2] > down[2]


def test_out_of_reach_is_refused():
    human = dr.parts.Human.of(1.75, 75)
    with pytest.raises(
        dr.errors.ArgumentError, match=r"left hand would be .* m from its joint at the trunk, but it reaches 0\.\d+ m"
    ):
        reaching(human, {}, hands={"left": (2.0, 0.2, 0.3)})
    with pytest.raises(dr.errors.ArgumentError, match=r"right foot would be"):
        reaching(human, {}, feet={"right": (0.0, -0.1, -1.5)})


def test_rotations_as_turns():
    rng = np.random.default_rng(1)
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    matrix *= np.sign(np.linalg.det(matrix))
    again = np.eye(3)
    for axis, angle in level_axes(matrix):
        again = again @ turn(axis, angle)
    assert np.allclose(again, matrix, atol=1e-12)

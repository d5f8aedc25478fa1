"""Transfer functions by name, against the resolvent and the published matrices of the benchmark bicycle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from draisine.results.linear import zeros_of

from .conftest import linear

POINTS = (0.3 + 1.7j, -0.4 + 5.0j, 2.5 + 0.0j, 12.0j)


@pytest.fixture(scope="module")
def published():
    path = Path(__file__).parents[2] / "reference" / "meijaard2007.json"
    found = json.loads(path.read_text(encoding="utf-8"))["matrices"]
    return {name: np.array(found[name], dtype=float) for name in ("M", "C1", "K0", "K2")}


@pytest.mark.parametrize("output", ["lean", "heading", "rear_wheel_contact_y", "frame_wx", "yaw_rate"])
@pytest.mark.parametrize("input", ["steer_torque", "push"])
def test_transfer_functions_are_the_resolvent(straight, input, output):
    g = straight.transfer(input, output)
    j, row = straight.inputs.index(input), straight.row(output)
    for s in POINTS:
        direct = row @ np.linalg.solve(s * np.eye(len(straight.states)) - straight.A, straight.B[:, j])
        assert abs(g(s) - direct) < 1e-9 * max(1.0, abs(direct))


def test_steering_torque_to_lean_steer_and_heading_is_the_published_one(straight, published):
    """M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = (0, T); there steer and its torque are positive to the right, here to the left."""
    v, w, c, tilt = 2.0, 1.02, 0.08, np.pi / 10
    for s in POINTS:
        matrix = published["M"] * s**2 + v * published["C1"] * s + 9.81 * published["K0"] + v**2 * published["K2"]
        lean, steer = np.linalg.solve(matrix, [0.0, -1.0])  # a unit torque to the left
        heading = np.cos(tilt) / w * (v + c * s) * -steer / s
        assert abs(straight.transfer("steer_torque", "lean")(s) / lean - 1) < 1e-9
        assert abs(straight.transfer("steer_torque", "steer")(s) / -steer - 1) < 1e-9
        assert abs(straight.transfer("steer_torque", "heading")(s) / heading - 1) < 1e-9


def test_only_what_the_output_needs_is_kept(straight):
    assert len(straight.transfer("steer_torque", "lean").poles()) == 4
    heading = straight.transfer("steer_torque", "heading")
    assert len(heading.poles()) == 5 and np.abs(heading.poles()).min() == 0.0
    assert heading.input_labels == ["steer_torque"] and heading.output_labels == ["heading"]


def test_zeros_of_a_known_function():
    """(s − 3)(s + 2)/((s + 1)(s + 4)(s + 5)) in companion form."""
    a = np.array([[0, 1, 0], [0, 0, 1], [-20, -29, -10.0]])
    model = linear(a, [[0], [0], [1]], [[-6.0, -1.0, 1.0]])
    np.testing.assert_allclose(sorted(zeros_of(a, model.B, model.C, model.D).real), [-2, 3], rtol=1e-10)
    np.testing.assert_allclose(model.transfer("u0", "y0").num[0][0], [1, -1, -6], atol=1e-9)


def test_a_bicycle_steered_left_leans_left_by_going_right_first(straight):
    """The zero in the right half plane of steer torque to heading: countersteering."""
    zeros = straight.transfer("steer_torque", "heading").zeros()
    assert zeros.real.max() > 0


def test_names_that_do_not_exist_are_said(straight):
    with pytest.raises(KeyError, match="no input 'torque'"):
        straight.transfer("torque", "lean")
    with pytest.raises(KeyError, match="no state or output 'leen'"):
        straight.transfer("steer_torque", "leen")

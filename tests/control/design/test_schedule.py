"""Gain schedules: the designs at their nodes, a smooth spline between, and a ride through all of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import draisine as dr
from draisine.control.design.gain_schedule import spline
from draisine.errors import ArgumentError
from draisine.expr.expression import Name, evaluate_number

SPEEDS = np.linspace(1.0, 6.0, 6)


@pytest.fixture(scope="module")
def law(bike):
    def at(speed):
        return dr.lqr(bike, {"speed": speed}, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})

    return dr.control.gain_schedule(at, over={"speed": SPEEDS})


def test_nodes_are_the_laws_designed_there(law):
    for speed, node in zip(SPEEDS, law.nodes, strict=True):
        np.testing.assert_allclose(law.scheduled({"speed": speed}), node.K, rtol=1e-12)


def test_between_them_is_a_natural_spline_and_beyond_them_the_end(law):
    values = np.array([node.K[0] for node in law.nodes])
    smooth = CubicSpline(SPEEDS, values, bc_type="natural")
    for speed in (1.3, 2.71, 5.9):
        np.testing.assert_allclose(law.scheduled({"speed": speed})[0], smooth(speed), rtol=1e-11)
    np.testing.assert_array_equal(law.scheduled({"speed": 9.0}), law.nodes[-1].K)
    np.testing.assert_array_equal(law.scheduled({"speed": 0.0}), law.nodes[0].K)


def test_a_spline_of_equal_values_is_a_number_and_one_of_a_line_a_line():
    knots = np.array([0.0, 1.0, 4.0])
    assert evaluate_number(spline(Name("v"), knots, np.full(3, 2.5))) == 2.5
    for v in (0.0, 0.4, 3.9, 4.0):
        assert evaluate_number(spline(Name("v"), knots, 2 * knots - 1), {"v": v}) == pytest.approx(2 * v - 1, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_the_nonlinear_loop_has_the_eigenvalues_of_the_node(bike, law, k):
    found = dr.linearize(law.on(bike), at={"speed": SPEEDS[k]}, states=("lean", "steer")).essential()
    np.testing.assert_allclose(found.eigenvalues, law.nodes[k].eigenvalues, rtol=1e-9)


def test_a_bicycle_is_ridden_from_walking_pace_to_full_speed(bike, law):
    run = dr.simulate(bike, 20.0, start={"speed": 1.2, "lean": 0.02}, inputs={**law, "pedal_torque": "8*exp(-t/30)"})
    assert run.time[-1] == 20.0
    assert run["speed"][-1] > 5.0 and np.abs(run["lean"]).max() < 0.03 and abs(run["lean"][-1]) < 1e-3


def test_what_is_reported(law):
    text = str(law)
    assert "scheduled over speed" in text and "gains of steer_torque" in text
    data = json.loads(json.dumps(law.as_data()))
    assert len(data["nodes"]) == 6 and "where(" in data["gains"]["steer_torque"]["lean"]


def test_nodes_must_increase_and_agree(bike, law):
    with pytest.raises(ArgumentError, match="two or more increasing numbers"):
        dr.control.gain_schedule(lambda speed: law.nodes[0], over={"speed": [2.0, 2.0]})
    with pytest.raises(ArgumentError, match="depends on one quantity, got speed, lean"):
        dr.control.gain_schedule(lambda speed: law.nodes[0], over={"speed": [1.0], "lean": [2.0]})

    def changing(speed):
        more = {"heading": 1.0} if speed > 2.5 else {}
        return dr.lqr(bike, {"speed": speed}, weights={"lean": 1.0, **more}, input_weights={"steer_torque": 0.1})

    with pytest.raises(ArgumentError, match=r"at speed = 3 the law has the states .*heading.*name the same states"):
        dr.control.gain_schedule(changing, over={"speed": [2.0, 3.0]})

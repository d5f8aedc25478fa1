"""Figures of linear models show the numbers they should."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.results.linear import LinearModel
from draisine.view.plots.responses import bode, gain_locus, step_response

# y = 1/((s + 1)(s + 2)) u, and a place that only integrates
A = np.array([[0.0, 1.0, 0.0], [-2.0, -3.0, 0.0], [1.0, 0.0, 0.0]])
LAG = LinearModel(
    "lag",
    ("y", "rate", "place"),
    ("u",),
    (),
    A,
    np.array([[0.0], [1.0], [0.0]]),
    np.zeros((0, 3)),
    np.zeros((0, 1)),
    units={"u": "N"},
)


def test_bode_shows_amplitude_and_phase():
    omega = np.array([0.1, 1.0, 10.0])
    size, phase = bode(LAG, "u", "y", omega).axes
    exact = 1 / ((1j * omega + 1) * (1j * omega + 2))
    np.testing.assert_allclose(size.lines[0].get_ydata(), np.abs(exact), rtol=1e-10)
    np.testing.assert_allclose(phase.lines[0].get_ydata(), np.degrees(np.angle(exact)), atol=1e-8)
    assert size.get_ylabel() == "amplitude [1/N]"


def test_bode_takes_states_that_only_integrate():
    size, _ = bode(LAG, "u", ["y", "place"], [0.5, 2.0]).axes
    first, second = (line.get_ydata() for line in size.lines)
    np.testing.assert_allclose(second, first / [0.5, 2.0], rtol=1e-9)


def test_a_root_locus_begins_at_the_poles_and_obeys_its_equation():
    (axes,) = gain_locus(LAG, "u", "y", [0.0, 0.25, 6.0]).axes
    branches = [line.get_xydata() for line in axes.lines[1:3]]
    for k, gain in enumerate((0.0, 0.25, 6.0)):
        for branch in branches:
            s = complex(*branch[k])
            assert abs((s + 1) * (s + 2) + gain) < 1e-7
    assert sorted(axes.lines[3].get_xdata()) == pytest.approx([-2.0, -1.0])


def test_without_gains_the_branches_are_fine_enough_to_bend():
    (axes,) = gain_locus(LAG, "u", "y").axes
    assert len(axes.lines[1].get_xdata()) > 50


def test_a_step_is_answered_by_the_closed_form():
    y, place = step_response(LAG, 4.0, "u", ["y", "place"]).axes
    t = y.lines[0].get_xdata()
    np.testing.assert_allclose(y.lines[0].get_ydata(), 0.5 - np.exp(-t) + np.exp(-2 * t) / 2, atol=1e-9)
    np.testing.assert_allclose(place.lines[0].get_ydata(), t / 2 + np.exp(-t) - np.exp(-2 * t) / 4 - 0.75, atol=1e-9)


def test_frequencies_must_be_positive():
    with pytest.raises(ValueError, match="two or more positive numbers"):
        bode(LAG, "u", "y", [0.0, 1.0])

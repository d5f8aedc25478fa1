"""The satellite between Earth and Moon: its orbit closes, and the notes' treatments do what they can."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.three_body import PERIOD, closing_error, flight, three_body_treatments


def test_the_orbit_closes() -> None:
    assert closing_error() < 1e-10
    assert closing_error(10) < 1e-9


def test_jacobis_integral_is_one() -> None:
    """Its rate along the right side vanishes, in either variables; and both right sides say the same."""
    newton, hamilton = dr.gallery.three_body(), dr.gallery.three_body_in_momenta()
    x, y, u, w = state = np.array([0.7, 0.4, -0.3, 0.9])
    rates = newton.explicit([0.0], state, [], newton.default_parameters)[0]
    slopes = hamilton.explicit([0.0], [x, y, u - y, w + x], [], hamilton.default_parameters)[0]
    assert np.allclose(slopes, [rates[0], rates[1], rates[2] - rates[1], rates[3] + rates[0]], rtol=1e-14)
    mu, d = newton.default_parameters[0], 1e-6

    def jacobi(s: np.ndarray) -> float:
        x, y, u, w = s
        return (u**2 + w**2 - x**2 - y**2) / 2 - (1 - mu) / np.hypot(x + mu, y) - mu / np.hypot(x - 1 + mu, y)

    assert abs(jacobi(state + d * rates) - jacobi(state - d * rates)) / (2 * d) < 1e-9


def test_the_multiplier_is_zero_and_of_index_2() -> None:
    posed = dr.gallery.three_body_with_multiplier()
    assert dr.dae.index_of(posed).differential == 2
    reduced, plain = dr.dae.reduce_index(posed), dr.gallery.three_body()
    state = [0.7, 0.4, -0.3, 0.9]
    one = reduced.explicit([0.0], state, [], reduced.default_parameters)[0]
    two = plain.explicit([0.0], state, [], plain.default_parameters)[0]
    assert np.allclose(one, two, rtol=1e-13)


def test_improved_euler_needs_the_invariant() -> None:
    assert flight("plain", "improved Euler", 1e-3).lost
    held, drawn = (flight(treatment, "improved Euler", 1e-3) for treatment in ("projected", "stabilized"))
    assert held.mean < 0.02 and drawn.mean < 0.02
    assert held.worst < 1e-13 < drawn.worst < 1e-3


@pytest.mark.parametrize(("step", "dip"), [(5e-4, 0.02), (1e-3, 0.08), (2e-3, 0.35)])
def test_the_midpoint_rule_dips_near_the_earth_alone(step: float, dip: float) -> None:
    plain = flight("plain", "implicit midpoint", step)
    assert plain.worst == pytest.approx(dip, rel=0.1)
    assert plain.far < 1e-3 * plain.worst
    assert np.max(np.abs(plain.deviation[plain.time < 0.1 * PERIOD])) < 1e-5  # no drop of 5 % at once


def test_the_midpoint_rule_is_of_order_2_and_better_left_alone() -> None:
    coarse, fine = (flight("plain", "implicit midpoint", step).mean for step in (1e-3, 5e-4))
    assert coarse / fine == pytest.approx(4.0, rel=0.15)
    assert flight("stabilized", "implicit midpoint", 5e-4).mean > 1.2 * fine


def test_the_study_runs() -> None:
    study = three_body_treatments(steps=(2e-3, 1e-3))
    assert set(study.figures) == {"orbit", "errors", "invariant"}

"""Linear models, modes and steady motions on the limit of a switching function: they say so, and beside it they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import draisine as dr


def oscillator(force: str) -> dr.Model:
    """A mass of 1 kg on a spring, with a further force."""
    m = dr.Model("oscillator")
    m.parameter("k", 4.0)
    m.body("block", 1.0, inertia=(0.1, 0.1, 0.1))
    m.prismatic("x", "ground", "block", axis="x")
    m.generalized_force("x", f"-k*x + {force}")
    return m


@pytest.mark.parametrize(
    ("force", "name", "jumps"),
    [
        ("-0.2*sign(x_rate)", "sign(x_rate)", True),
        ("-0.2*where(x_rate > 0, 1, -1)", "x_rate > 0", True),
        ("-3*abs(x)", "abs(x)", False),
        ("-max(x_rate, 0)", "max(x_rate, 0)", False),
    ],
)
def test_linear_models_say_that_they_are_one_sided(force: str, name: str, jumps: bool) -> None:
    with pytest.warns(UserWarning, match="lies on the limit of") as caught:
        model = dr.linearize(oscillator(force), {"x": 0.0})
    assert name in str(caught[0].message) and name in model.limit and model.limit in str(model)
    assert ("rates of the states jump" in model.limit) == jumps
    assert name in model.essential().limit


def test_beside_the_limit_the_derivative_is_that_of_the_side() -> None:
    """ẍ = −4 x − 3 |x| − 0.2 sign(ẋ): −7 on the right, −1 on the left."""
    model = oscillator("-3*abs(x) - 0.2*sign(x_rate)")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not steady")
        warnings.filterwarnings("error", message=".*limit of")
        right, left = (dr.linearize(model, {"x": x, "x_rate": 0.1}) for x in (0.1, -0.1))
    assert right.limit == left.limit == ""
    assert right.A[1, 0] == pytest.approx(-7.0) and left.A[1, 0] == pytest.approx(-1.0)


def test_steady_motions_and_modes() -> None:
    model = oscillator("-0.2*sign(x_rate)")
    found = dr.steady(model, {})
    assert any("sign(x_rate)" in text for text in found.warnings) and "limit of sign(x_rate)" in str(found)
    with pytest.warns(UserWarning, match=r"at k = 1 the motion lies on the limit of sign\(x_rate\)"):
        dr.modes(model, k=np.linspace(1.0, 5.0, 5))
    assert not dr.steady(oscillator("0"), {}).warnings


def test_a_bicycle_with_dry_friction_in_its_steering() -> None:
    bicycle = dr.gallery.model("bicycle")
    bicycle.generalized_force("steer", "-0.5*sign(steer_rate)")
    with pytest.warns(UserWarning, match=r"limit of sign\(steer_rate\)"):
        dr.linearize(bicycle, {"speed": 5.0})
    plain = dr.linearize(dr.gallery.bicycle(), {"speed": 5.0})
    assert plain.limit == ""

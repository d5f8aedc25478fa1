"""Paths that need impulses are refused, by name, time and size of the jump; others are followed."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr

x, v, force, push = sp.symbols("x v force push")
MASS = dr.first_order("mass", {x: v, v: force / 2 - x}, inputs=[force])
POINT = dr.first_order("point", {x: force}, inputs=[force])


@pytest.mark.parametrize(
    ("path", "jump"),
    [
        ("x = abs(t - 1)", "its rate jumps by 2"),
        ("x = where(t < 1, 0, 1)", "it jumps by 1"),
        ("x = where(t < 1, t, 3*t - 2)", "its rate jumps by 2"),
        ("x = max(0, t - 1)", "its rate jumps by 1"),
        ("x = clip(t, 0, 1)", "its rate jumps by 1"),
    ],
)
def test_refused(path: str, jump: str) -> None:
    with pytest.raises(dr.errors.ArgumentError, match=rf"mass: the path 'way' needs an impulse at t = 1(\.0*)? s, where {jump}"):
        dr.control.follow(MASS, 2.0, {"way": path}, ["force"])


@pytest.mark.parametrize(
    "path",
    ["x = (t - 1)*abs(t - 1)", "x = tanh(300*(t - 1))", "x = where(t < 1, 0, (t - 1)**2)", "x = sin(40*t)", "x = t**5 - 3*t"],
)
def test_followed(path: str) -> None:
    """Accelerations may jump: the force does, too; steep paths are no jumps."""
    run = dr.control.follow(MASS, 2.0, {"way": path}, ["force"], solution=dr.control.Forward())
    assert str(run.status).startswith("FINISHED")


def test_a_rate_that_is_commanded_may_jump() -> None:
    """ẋ = u follows |t − 1| with u = ∓1, and not a step."""
    run = dr.control.follow(POINT, 2.0, {"way": "x = abs(t - 1)"}, ["force"])
    clear = np.abs(run.time - 1.0) > 1e-9
    np.testing.assert_allclose(run["force"][clear], np.sign(run.time - 1.0)[clear], atol=1e-9)
    np.testing.assert_allclose(run["x"], np.abs(run.time - 1.0), atol=1e-9)
    with pytest.raises(dr.errors.ArgumentError, match="it jumps by 1"):
        dr.control.follow(POINT, 2.0, {"way": "x = where(t < 1, 0, 1)"}, ["force"])


@pytest.mark.parametrize("seed", range(6))
def test_kinks_anywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at, until, bend = rng.uniform(0.05, 0.95), float(10 ** rng.uniform(-1, 2)), float(rng.uniform(0.2, 4.0))
    path = f"x = 0.3*sin(2*t/{until}) + {bend}*abs(t/{until} - {at})"
    with pytest.raises(dr.errors.ArgumentError, match="needs an impulse at t = ") as refused:
        dr.control.follow(MASS, until, {"way": path}, ["force"])
    time = float(str(refused.value).partition("at t = ")[2].partition(" s")[0])
    assert time == pytest.approx(at * until, rel=1e-5)

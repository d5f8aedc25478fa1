"""Grounds and constraints across which a velocity would have to jump are refused, others are not."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import ModelError
from draisine.gallery.entries.waves import wheel_on_waves


def on_ground(height):
    m = wheel_on_waves()
    m.ground(height=height)
    return m


def test_a_kerb_is_refused_with_the_cure():
    with pytest.raises(ModelError, match=r"the height of the ground jumps at x < 3: .* smooth it over a length .* tanh"):
        dr.simulate(on_ground("where(x < 3, 0, -0.1)"), 1.0, start={"turn_rate": 4.0})


@pytest.mark.parametrize(
    ("height", "what"),
    [
        ("0.1*abs(x - 1)", "has a slope that jumps at abs(x - 1)"),
        ("max(0, 0.2*(x - 1))", "has a slope that jumps"),
        ("0.01*floor(x/amplitude)", "jumps at floor(x/amplitude)"),
        ("where(t > 2, 0.1, 0)*cos(x)", "jumps at t > 2"),
        ("0.1*max(t - 2, 0)", "has a slope that jumps at max(t - 2, 0)"),
        ("where(abs(x) < 1, cos(pi*x/2), 0)", "has a slope that jumps at abs(x) < 1"),
    ],
)
def test_other_grounds_that_jump(height, what):
    with pytest.raises(ModelError) as refused:
        derive(on_ground(height))
    assert what in str(refused.value)


@pytest.mark.parametrize(
    "height",
    [
        "-0.05*(1 + tanh((x - 3)/0.05))",
        "where(x < 1, 0, 0.1*(x - 1)^2)",  # the second derivative jumps
        "0.1*max(x - 1, 0)^2",
        "where(abs(x) < 1, 0.02*(1 + cos(pi*x)), 0)",
        "0.05*where(amplitude > 0.01, amplitude*sin(x), abs(amplitude)*cos(x))",  # a switch of parameters alone
    ],
)
def test_smooth_grounds_are_taken(height):
    assert derive(on_ground(height)).dynamics


def cart(law, level, **table):
    m = dr.Model("cart")
    if table:
        m.table("path", (0.0, 1.0, 2.0, 3.0), (0.0, 0.05, 0.02, 0.0), **table)
    m.body("cart", mass=1.0)
    m.prismatic("way", "ground", "cart")
    m.body("load", mass=1.0)
    m.prismatic("lift", "cart", "load", axis="z")
    m.prescribe(
        "drive", "way" if level == "position" else "rate(way)", law, level=level, unit="m" if level == "position" else "m/s"
    )
    return m


def test_prescribed_motions():
    for law, level in (("where(t > 1, 0.1, 0)", "position"), ("max(t - 1, 0)", "position"), ("where(t > 1, 1, 0)", "velocity")):
        with pytest.raises(ModelError, match=r"residual 'drive' of constraint 'drive' .* not modeled"):
            derive(cart(law, level))
    for law, level in (("max(t - 1, 0)^2", "position"), ("max(t - 1, 0)", "velocity"), ("tanh((t - 1)/0.1)", "velocity")):
        assert derive(cart(law, level)).dynamics


def test_tables_as_prescribed_motions():
    with pytest.raises(ModelError, match=r"slope that jumps at table.*kind 'spline'"):
        derive(cart("path(t)", "position", kind="linear"))
    with pytest.raises(ModelError, match="outside='slope'"):
        derive(cart("path(t)", "position", kind="spline", outside="hold"))
    assert derive(cart("path(t)", "position", kind="spline")).dynamics
    assert derive(cart("path(t)", "velocity", kind="linear")).dynamics


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_ramps_and_parabolas(seed):
    """A piecewise polynomial c₀ + c₁ s + c₂ s², s = x − a, behind its edge: refused exactly if c₀ or c₁ differ from zero."""
    rng = np.random.default_rng(seed)
    edge, order = float(rng.uniform(-2, 2)), int(rng.integers(3))
    powers = [float(rng.uniform(0.05, 0.2)) * (order <= k) for k in range(3)]
    text = " + ".join(f"{c!r}*(x - ({edge!r}))^{k}" for k, c in enumerate(powers) if c)
    form = f"where(x > {edge!r}, {text}, 0) + 0.02*sin(3*x)"
    if order == 2:
        assert derive(on_ground(form)).dynamics
        return
    with pytest.raises(ModelError, match="the height of the ground " + ("jumps" if order == 0 else "has a slope that jumps")):
        derive(on_ground(form))

"""Another reference body of a planar mechanism: the same motion in other coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr


def _train(seed: int, count: int = 3) -> dr.Model:
    """Planar bodies one after the other, by hinges, sliders and planar joints, with springs, and knife edges on some."""
    rng = np.random.default_rng(seed)
    m = dr.Model("train")
    for k in range(count):
        center = (*(float(c) for c in rng.normal(size=2) * 0.2), 0)
        moment = float(rng.uniform(0.1, 0.5))
        m.body(f"b{k}", float(rng.uniform(1, 3)), center, (moment / 2, moment / 2, moment))
        m.output(f"x{k}", f"position_x(b{k})", "m")
        m.output(f"y{k}", f"position_y(b{k})", "m")
        m.output(f"vx{k}", f"velocity_x(b{k})", "m/s")
        m.output(f"vy{k}", f"velocity_y(b{k})", "m/s")
        m.output(f"h{k}", f"heading(b{k})", "rad")
        m.output(f"w{k}", f"rate_z(b{k})", "rad/s")
    m.planar("b0")
    for k in range(1, count):
        at = (*(float(c) for c in rng.normal(size=2) * 0.5), 0)
        kind = str(rng.choice(["revolute", "prismatic", "planar"]))
        if kind == "revolute":
            m.revolute(f"j{k}", f"b{k - 1}", f"b{k}", axis="z", at=at)
            m.spring(f"j{k}", 3.0)
        elif kind == "prismatic":
            axis = (float(rng.normal()), float(rng.normal()), 0)
            m.prismatic(f"j{k}", f"b{k - 1}", f"b{k}", axis=axis, at=at, orientation=[("z", float(rng.uniform(-1, 1)))])
            m.spring(f"j{k}", 3.0)
        else:
            m.planar(f"b{k}", parent=f"b{k - 1}")
            for s in ("x", "y", "heading"):
                m.spring(f"b{k}_{s}", 3.0)
    m.knife_edge("b1", at=(0.2, 0, 0))
    return m


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("body", ["b1", "b2"])
def test_motion_is_the_same(seed: int, body: str) -> None:
    m = _train(seed)
    other = m.referred_to(body)
    assert other.freeze().joints[0].chain[0].__class__.__name__ == "Glide"
    rng = np.random.default_rng(seed + 100)
    start = {q: float(rng.uniform(-0.4, 0.4)) for q in (c.name for c in m.freeze().coordinates)}
    start |= {"b0_vx": 0.6, "b0_heading_rate": 0.4}
    one = dr.simulate(m, 1.0, start=start, method=dr.methods.DOP853(1e-10))
    same = {name: float(one[name][0]) for k in range(3) for name in (f"x{k}", f"y{k}", f"h{k}", f"vx{k}", f"vy{k}", f"w{k}")}
    two = dr.simulate(other, 1.0, start=same, method=dr.methods.DOP853(1e-10))
    for name in same:
        assert math.remainder(one[name][-1] - two[name][-1], 2 * math.pi) == pytest.approx(0, abs=1e-7)


def test_reference_body_out_of_the_plane_is_refused() -> None:
    m = dr.Model("m")
    m.body("plate", 1.0, inertia=(1, 1, 1))
    m.body("arm", 1.0, inertia=(1, 1, 1))
    m.planar("plate")
    m.revolute("tilt", "plate", "arm", axis="x")
    with pytest.raises(dr.errors.ModelError, match="joint 'tilt' leaves the plane"):
        m.referred_to("arm")

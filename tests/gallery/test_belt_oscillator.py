"""The block on a belt: its study, and the closed form over random members."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.belt_oscillator import belt_oscillator, belt_sticks_and_slips, limit_cycle


def test_study() -> None:
    study = belt_sticks_and_slips(2.5)
    assert set(study.figures) == {"motion", "phases"} and len(study.findings) == 3


@pytest.mark.parametrize("seed", range(4))
def test_random_belts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass, stiffness, speed, load = rng.uniform(0.5, 2), rng.uniform(50, 200), rng.uniform(0.05, 0.4), rng.uniform(5, 20)
    kinetic = rng.uniform(0.1, 0.4)
    static = kinetic * rng.uniform(1.2, 2.0)
    given = {"mass": mass, "stiffness": stiffness, "belt_speed": speed, "load": load}
    given |= {"static_friction": static, "kinetic_friction": kinetic}
    known = limit_cycle(mass, stiffness, speed, static * load, kinetic * load)
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-14)
    until = static * load / stiffness / speed + 2.5 * (known["stick"] + known["slip"])
    run = dr.simulate(belt_oscillator(), until, start={"x": 0.0, "x_rate": speed}, parameters=given, method=method)
    found = run.modes.intervals("belt")[1:-1]
    assert {mode for *_, mode in found} == {"stick", "slip"}
    for begin, end, mode in found:
        assert end - begin == pytest.approx(known[mode], abs=1e-10)

"""A pinned rod that falls on the ground: its end moves along one line, so that slip and approach end together. Where friction
exceeds the tangent of its angle it locks, and no restitution returns; below, the laws of impact have closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

LENGTH, HEIGHT, E = 0.7, 0.6, 0.5
INERTIA = LENGTH**2 / 3
THETA = np.arccos(HEIGHT / LENGTH)  # on the ground


def pinned(friction: float, law: str) -> dr.Model:
    m = dr.Model("pinned")
    m.gravity(9.81)
    moment = LENGTH**2 / 12
    rod = m.body("rod", mass=1.0, center_of_mass=(0, 0, -LENGTH / 2), inertia=(moment, moment, 1e-3))
    m.revolute("turn", "ground", rod, axis="y", at=(0, 0, HEIGHT))
    m.contact("end", m.point("tip", rod, (0, 0, -LENGTH)), friction=friction, restitution=E, impact=law)
    return m


@pytest.mark.parametrize("law", ["energetic", "poisson", "newton"])
@pytest.mark.parametrize("share", [0.2, 0.7, 1.3, 2.0])
@pytest.mark.parametrize("beside", [0.0, 1e-9])
def test_a_rod_returns_or_locks(law: str, share: float, beside: float) -> None:
    mu, start = share * np.tan(THETA), 1.2 + beside
    run = dr.simulate(
        pinned(mu, law), 0.4, start={"turn": start, "turn_rate": -1.0}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    )
    assert run.status.kind == "FINISHED", run.status
    (first, *_) = run.modes.impacts
    fall = LENGTH / 2 * (np.cos(THETA) - np.cos(start))
    before = np.sqrt(1 + 2 * 9.81 * fall / INERTIA)
    # I ω is taken by p L (sin θ + μ cos θ), and returned by p L (sin θ − μ cos θ)
    into, out = LENGTH * (np.sin(THETA) + mu * np.cos(THETA)), LENGTH * (np.sin(THETA) - mu * np.cos(THETA))
    compression = INERTIA * before / into
    back = {
        "poisson": E * compression,
        "energetic": E * compression * np.sqrt(into / abs(out)),
        "newton": E * INERTIA * before / out,
    }
    after = back[law] * out / INERTIA if share < 1.0 else 0.0
    assert first.lost == pytest.approx(INERTIA / 2 * (before**2 - after**2), abs=1e-9)
    if share < 1.0:
        assert first.impulse["end"][0] == pytest.approx(compression + back[law], rel=1e-8)
    else:
        assert first.modes["end"] == run.modes[-1].modes["end"] == "stick"
        assert np.abs(run["turn_rate"][run.time > first.time + 1e-9]).max() < 1e-9
        assert first.impulse["end"][0] == pytest.approx(compression * (1 + E if law == "poisson" else 1), rel=1e-8)

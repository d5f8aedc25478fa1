"""Newton's cradle: what balls do that touch depends on whether impacts come together or one after the other.

What it shows: impacts with several contacts at once. Rigid bodies alone do not say how an impulse is shared among balls that
touch: a law for all contacts at once (Newton's, at every contact u⁺ = −e u⁻) throws the first ball back, and binary impacts
one after the other pass the motion to the last ball, as the toy does. The description decides: balls that touch collide
together, balls with a gap, however small, one after the other.

What you should see: with gaps of a hundredth of a millimeter one ball in gives one ball out, with the same speed. Without gaps
the first ball of five returns with 3/5 of its speed, and the others move on together with 2/5. Both keep energy and momentum.

By hand: for n equal balls that touch, e = 1 and Newton's law at all contacts, uᵢ⁺ = 0 for those that touched at rest and −v
for the first: v₁⁺ = v₂⁺ − v and n − 1 balls together give v₂⁺ = 2v/n, v₁⁺ = −(n − 2) v/n.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

BALLS, GAP = 5, 1e-5


@live(start={"angle_0": 0.5})
def newtons_cradle() -> Model:
    """Five equal balls on strings, a small gap apart."""
    m = Model("newtons_cradle", "five balls on strings that collide")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, r = m.parameter("mass", 0.1, "kg", "of a ball"), m.parameter("radius", 0.02, "m", "of a ball")
    string, gap = m.parameter("string", 0.3, "m", "length"), m.parameter("gap", GAP, "m", "between the balls at rest")
    m.parameter("restitution", 1.0, "")
    moment = 0.4 * mass * r**2
    shapes = [
        {"kind": "sphere", "radius": r, "at": (0, 0, -string)},
        {"kind": "tube", "path": [(0, 0, 0), (0, 0, -string)], "radius": 0.001},
    ]
    centers = []
    for i in range(BALLS):
        ball = m.body(f"ball_{i}", mass=mass, center_of_mass=(0, 0, -string), inertia=(moment, moment, moment), shapes=shapes)
        m.revolute(f"angle_{i}", "ground", ball, axis="y", at=(i * (2 * r + gap), 0, 0), rate=f"rate_{i}")
        centers.append(m.point(f"center_{i}", ball, (0, 0, -string)))
    for i, (one, other) in enumerate(pairwise(centers)):
        m.contact(f"pair_{i}", one, radius=r, on=other, on_radius=r, restitution="restitution")
    return m


def lifted(angle: float) -> dict[str, float]:
    """The first ball is lifted to the left; the others hang at rest. A turn about y takes a ball that hangs to the left."""
    return {f"angle_{i}": angle if i == 0 else 0.0 for i in range(BALLS)} | {f"rate_{i}": 0.0 for i in range(BALLS)}


@entry(level="Intermediate", film="one_after_the_other", charts=("angle_0", "angle_4"))
def cradle_swings(until: float = 1.2) -> Study:
    """Newton's cradle: one after the other the last ball leaves; all at once the first one returns with 3/5 of its speed."""
    model, method = newtons_cradle(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    last = f"rate_{BALLS - 1}"
    apart = dr.simulate(model, until, start=lifted(0.5), method=method)
    assert apart.status.kind == "FINISHED", apart.status
    assert apart.energy_drift is not None and apart.energy_drift < 1e-9
    chain = modes_of(apart).impacts[: BALLS - 1]
    arrives, leaves = abs(apart.at(chain[0].time)["rate_0"]), abs(apart.at(np.nextafter(chain[-1].time, np.inf))[last])
    assert all(list(change.impulse) == [f"pair_{i}"] for i, change in enumerate(chain))
    assert abs(leaves / arrives - 1) < 1e-4  # it lost no energy, but hangs a little beside where the first one arrived
    length = 0.3 * (1 + 0.4 * (0.02 / 0.3) ** 2)  # of the equivalent pendulum
    speed = math.sqrt(2 * 9.81 / length * (math.cos(GAP / 0.3) - math.cos(0.5)))
    assert abs(arrives - speed) < 1e-6

    together = dr.simulate(model, 0.01, start={**lifted(0.0), "rate_0": -2.0}, parameters={"gap": 0.0}, method=method)
    assert together.status.kind == "FINISHED", together.status
    rates = np.array([together[f"rate_{i}"][0] for i in range(BALLS)]) / -2.0
    expected = np.array([-(BALLS - 2) / BALLS, *[2 / BALLS] * (BALLS - 1)])
    assert np.max(np.abs(rates - expected)) < 1e-9, rates
    figures = {"swings": channel_figure(apart, *(f"angle_{i}" for i in range(BALLS)))}
    findings = (
        f"one after the other: {arrives:.6f} rad/s in, {leaves:.6f} rad/s out at the other end",
        f"all at once: velocities {', '.join(f'{rate:+.4f}' for rate in rates)} of the first ball's",
        f"{len(modes_of(apart).impacts)} impacts within {until:g} s, {modes_of(apart).lost:.0e} J lost in them",
    )
    return Study("Newton's cradle", {"one_after_the_other": apart, "all_at_once": together}, figures, findings)

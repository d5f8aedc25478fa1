"""A wheel of spokes without a rim rolls down a slope: the simplest walking machine (McGeer, 1990).

What it shows: a limit cycle of a mechanism with impacts. One spoke stands; the next one lands, the first one leaves without an
impulse. The energy that an impact takes is what the slope gives between two of them.

What you should see: from any start that is fast enough to vault over a spoke, a walk that tends to one speed: the difference
to it shrinks by η² with every step. If it is too slow, it rocks back and comes to rest on two spokes.

By hand, with n spokes of length l, a half angle α = π/n, the slope γ, mass m and the moment of inertia I about the hub:

    η = (I + m l² cos 2α)/(I + m l²),   ω⁺ = η √(c/(1 − η²)),   c = 4 m g l sin α sin γ/(I + m l²),   multiplier η².
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

SPOKES, SLOPE, INERTIA, G = 8, 0.08, 0.25, 9.81


@live(start={"turn_rate": 1.2})
def rimless_wheel() -> Model:
    """A hub with eight massless spokes on a slope; x along it, z normal to it."""
    m = Model("rimless_wheel", "a wheel of spokes that walks down a slope")
    m.gravity((G * math.sin(SLOPE), 0, -G * math.cos(SLOPE)))
    mass, spoke = m.parameter("mass", 1.0, "kg"), m.parameter("spoke", 1.0, "m", "length")
    about = m.parameter("inertia", INERTIA, "kg*m^2", "about the hub")
    m.parameter("friction", 2.0, "", "coefficient between spokes and ground")
    at = [2 * math.pi * k / SPOKES for k in range(SPOKES)]
    tips = [(spoke * math.sin(a), 0, -spoke * math.cos(a)) for a in at]
    shapes = [{"kind": "tube", "path": [(0, 0, 0), tip], "radius": 0.015} for tip in tips]
    hub = m.body("hub", mass=mass, inertia=(about, about, about), shapes=shapes)
    in_vertical_plane(m, hub, turn="turn", height=math.cos(math.pi / SPOKES))
    for k, tip in enumerate(tips):
        m.contact(f"spoke_{k}", m.point(f"tip_{k}", hub, tip), friction="friction")
    return m


def on_two_spokes(rate: float) -> dict[str, float]:
    """Just after an impact: the wheel turns about the spoke ahead."""
    a = math.pi / SPOKES
    velocity = {"x_rate": math.cos(a) * rate, "z_rate": math.sin(a) * rate, "turn_rate": rate}
    return {"turn": -a, "x": -math.sin(a), "z": math.cos(a), **velocity}


def gait() -> tuple[float, float]:
    """Angular velocity after an impact in the limit cycle, and the share η of it that an impact keeps.

    >>> [round(part, 9) for part in gait()]
    [1.16637098, 0.765685425]
    """
    a = math.pi / SPOKES
    kept = (INERTIA + math.cos(2 * a)) / (INERTIA + 1)
    given = 4 * G * math.sin(a) * math.sin(SLOPE) / (INERTIA + 1)
    return kept * math.sqrt(given / (1 - kept**2)), kept


@entry(level="Intermediate", film="fast", charts=("turn_rate",))
def rimless_wheel_rolls(until: float = 8.0) -> Study:
    """A wheel of spokes walks down a slope and tends to its limit cycle; differences shrink by η² with every step."""
    model, method = rimless_wheel(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    omega, kept = gait()
    runs = {
        "fast": dr.simulate(model, until, start=on_two_spokes(2.0), method=method),
        "slow": dr.simulate(model, until, start=on_two_spokes(0.9), method=method),
    }
    steps = {}
    for name, run in runs.items():
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9
        assert min(run[f"spoke_{k}_gap"].min() for k in range(SPOKES)) > -1e-10
        times = np.array([change.time for change in modes_of(run).impacts])
        rates = run.at(np.nextafter(times, np.inf))["turn_rate"]
        steps[name] = rates
        # the squares of ω⁺ follow a linear map: (ω⁺² − ω*²) shrinks by η²
        offsets = rates**2 - omega**2
        assert np.max(np.abs(offsets[1:] - kept**2 * offsets[:-1])) < 1e-8
    stops = dr.simulate(model, until, start=on_two_spokes(0.8), method=method)
    assert stops.status.kind == "FINISHED", stops.status
    assert abs(stops["turn_rate"][-1]) < 1e-9 and abs(stops["turn"][-1] + math.pi / SPOKES) < 1e-9
    figures = {"rates": _rates(steps, omega), "fast": channel_figure(runs["fast"], "turn_rate", "x_rate")}
    findings = (
        f"limit cycle: {omega:.9f} rad/s after an impact; after {len(steps['fast'])} steps from 2 rad/s {steps['fast'][-1]:.6f}",
        f"an impact keeps {kept:.6f} of the angular velocity; the multiplier of a step is {kept**2:.6f}",
        f"from 0.8 rad/s it does not pass the spoke, and rests on two after {modes_of(stops)[-1].time:.3f} s",
    )
    return Study("A rimless wheel", {**runs, "stops": stops}, figures, findings)


def _rates(steps: dict[str, np.ndarray], omega: float) -> Any:
    with single_panel("step [–]", "angular velocity after the impact [rad/s]", width=0.7 * PAGE, height=0.4 * PAGE) as (
        drawing,
        axes,
    ):
        for name, rates in steps.items():
            axes.plot(np.arange(1, len(rates) + 1), rates, "o-", label=name)
        axes.axhline(omega, linestyle=":", color="black", label="limit cycle")
        axes.legend()
    return drawing

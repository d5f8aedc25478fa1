"""A bicycle with a rider of eleven segments: passive arms that hold the bar, and a rider who balances and steers with a delay.

What it shows: `dr.parts.rider` puts a body of 1.75 m and 75 kg on a bicycle of parts. The hands are fixed to the trunk and the
bar is free; or they hold the bar with shoulders and elbows that move freely; or the elbows are locked, and the trunk pitches and
twists with the bar. The arms close two loops and add no freedom. A rider in the loop (Hess, Moore & Hubbard 2012) feeds back
steer, roll rate, roll, heading and lateral position of a path that is seen ahead.

What you should see: hands off, the bicycle is self-stable from 4.16 to 6.93 m/s. Arms that hold the bar passively leave 0.15 m/s
of it, and with locked elbows nothing. Schwab, Meijaard & Kooijman (2012) describe these two postures and found that a passive
rider can change eigenvalues and their structure dramatically. A rider who controls keeps the bicycle upright, the harder the
slower: the handling quality metric falls with speed, and passive arms raise it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.eigenvalues import eigenvalues_against
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

SPEEDS = np.linspace(1.0, 10.0, 91)
DELAY = 0.02  # s, of the rider's perception
PATH = "1.5/(1 + exp(-(x - 15)/2))"  # a lane change to the left
RIDERS: dict[str, dict[str, Any]] = {
    "hands_off": {"arms": "fixed"},
    "hands_on": {"arms": "free"},
    "elbows_locked": {"arms": "locked", "trunk": ("pitch", "twist")},
}


@live(start={"speed": 5.0, "roll_rate": 0.1})
def ridden_bicycle(arms: str = "free", trunk: tuple[str, ...] = ()) -> Model:
    """A bicycle of parts with a rider of eleven segments, who holds the bar."""
    m = Model("ridden_bicycle", "bicycle with a rider of eleven segments")
    parts = dr.parts
    frame = parts.frame(
        m, "frame", mass=12, center_of_mass=(0.45, 0.55), inertia={"xx": 0.6, "yy": 1.2, "zz": 0.7, "zx": -0.1},
        wheelbase=1.02, trail=0.08, steer_axis_tilt="18 deg", points={"axle": (0, 0.3), "saddle": (0.25, 0.95)},
    )  # fmt: skip
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=("frame_wheelbase", "front_radius"), mass=3, center_of_mass=(0.9, 0.7),
        inertia={"xx": 0.06, "yy": 0.06, "zz": 0.01, "zx": 0.008},
    )  # fmt: skip
    parts.wheel(m, "rear", frame["axle"], radius=0.3, mass=2, inertia=(0.0603, 0.12), torque="pedal_torque")
    parts.wheel(m, "front", fork["axle"], radius=0.35, mass=3, inertia=(0.1405, 0.28))
    parts.rider(
        m, "rider", frame["saddle"], height=1.75, mass=75, posture={"somersault": 0.45}, bar=fork, grips=(0.72, 0.27, 1.05),
        feet=(0.48, 0.1, 0.3), arms=arms, trunk=trunk,
    )  # fmt: skip
    return m


@entry(level="Intermediate", film="lane_change", charts=("lean", "steer"))
def passive_arms_change_stability() -> Study:
    """Hands off, passive arms, locked elbows: critical speeds; a rider in the loop: handling quality and a lane change."""
    equations = {name: dr.derive(ridden_bicycle(**options), work=False) for name, options in RIDERS.items()}
    swept = {name: dr.modes(e, speed=SPEEDS, states=("lean", "steer")) for name, e in equations.items()}
    stable = {name: _stable_range(found) for name, found in swept.items()}
    low, high = stable["hands_off"]
    assert abs(low - 4.1618) < 1e-3 and abs(high - 6.9272) < 1e-3
    assert stable["hands_on"][1] - stable["hands_on"][0] < 0.2 and not swept["elbows_locked"].stable.any()
    peaks = handling(equations, np.arange(4.0, 9.1, 1.0))
    for name in peaks:
        assert (np.diff(peaks[name]) < 0).all()  # easier with speed
    assert (peaks["hands_on"] > peaks["hands_off"]).all()

    # the nonlinear machine, sampled with the exact delay
    rider = dr.control.rider_control(equations["hands_on"], {"speed": 5.0}, delay=DELAY, lateral="front_contact_y")
    drive = rider.sampled(200.0, path=PATH, preview=2.0)
    run = dr.simulate(ridden_bicycle(), 10.0, start={"speed": 5.0}, control=drive)
    assert run.status.complete and abs(run["front_contact_y"][-1] - 1.5) < 0.1
    figures = {
        **{name: _eigenvalues(found) for name, found in swept.items()},
        "handling": _handling(np.arange(4.0, 9.1, 1.0), peaks),
        "lane_change": channel_figure(run, "front_contact_y", "lean", "steer", "rider_left_elbow"),
    }
    findings = (
        f"hands off: stable from {low:.3f} to {high:.3f} m/s",
        "passive arms on the bar: stable from {:.3f} to {:.3f} m/s; elbows locked: nowhere".format(*stable["hands_on"]),
        "handling quality metric at 5 m/s: {:.2f} without the arms on the bar, {:.2f} with them".format(
            peaks["hands_off"][1], peaks["hands_on"][1]
        ),
    )
    return Study("A rider's arms and control", {"lane_change": run}, figures, findings)


def _stable_range(found: Any) -> tuple[float, float]:
    critical = {c.kind: c.value for c in found.critical()}
    return critical.get("weave", np.nan), critical.get("capsize", np.nan)


def handling(equations: dict[str, dr.Equations], speeds: Any) -> dict[str, Any]:
    """Peaks of the handling quality metric over speed, with a rider designed for each."""
    return {
        name: np.array([dr.control.rider_control(equations[name], {"speed": v}, lateral=None).handling().peak for v in speeds])
        for name in ("hands_off", "hands_on")
    }


def _eigenvalues(found: Any) -> Any:
    marks = [(c.kind, c.value) for c in found.critical()]
    return eigenvalues_against(found.values, found.eigenvalues, found.names, ("speed", "m/s"), marks)


def _handling(speeds: Any, peaks: dict[str, Any]) -> Any:
    with single_panel("speed [m/s]", "handling quality metric [–]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        for name, values in peaks.items():
            axes.plot(speeds, values, "o-", label=name.replace("_", " "))
        for bound in (5.0, 8.0):
            axes.axhline(bound, color="0.6", lw=0.8, ls=":")
    return drawing

"""A bicycle stabilized by LQR at 2 m/s, where it is unstable, under a gust: a linear law in the nonlinear equations.

What it shows: from a description to a law in one line, `lqr(bike, {"speed": 2.0}, weights=…, input_weights=…)`, and from
the law to the nonlinear run in one more, `inputs=law`: the gains are compiled in. Heading and lateral position have weights
too, so that the bicycle returns to its line; the forward speed, which steering does not control, is not fed back.

What you should see: a gust of up to 60 N from the right pushes the frame to the left for a second. Under control it leans to
the left by 1° only: it steers 14° to the left, into the fall, and deviates 0.4 m from its line; then it leans 3.5° to the
right, steers back and is on its line again some 6 m further on. Without control the same bicycle has fallen over a second after
the gust.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, PAGE, style
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

SPEED, BEGIN, END, FORCE = 2.0, 1.0, 2.0, 60.0  # m/s, s, s, N
FALLEN = dr.Event("fallen", "abs(lean) - pi/4", "stop", description="lean passed 45°")
WEIGHTS = {"rear_wheel_contact_y": 1.0, "heading": 1.0, "lean": 10.0, "steer": 1.0}


def gust() -> str:
    """A push to the left that rises and falls smoothly."""
    share = f"(t - {BEGIN!r})/{END - BEGIN!r}"
    return f"where(t < {BEGIN!r}, 0, where(t > {END!r}, 0, {FORCE / 2!r}*(1 - cos(2*pi*{share}))))"


@entry(level="Intermediate", film="lqr_gust", charts=("lean", "steer", "steer_torque"))
def lqr_gust(until: float = 8.0) -> Study:
    """An LQR-stabilized bicycle at 2 m/s under a gust; without control it falls."""
    bike = bicycle()
    law = dr.lqr(bike, {"speed": SPEED}, weights=WEIGHTS, input_weights={"steer_torque": 0.05})
    ridden = dr.simulate(bike, until, start={"speed": SPEED}, inputs={**law, "push": gust()})
    alone = dr.simulate(bike, until, start={"speed": SPEED}, inputs={"push": gust()}, events=[FALLEN])
    loop = dr.linearize(law.on(bike), {"speed": SPEED}, states=tuple(WEIGHTS)).with_states(law.states)

    assert not law.linear.stable and law.closed.stable
    np.testing.assert_allclose(loop.eigenvalues, law.eigenvalues, atol=1e-8)  # the law is what was designed
    assert alone.time[-1] < until  # it fell
    assert ridden.time[-1] == until and ridden.energy_drift is not None and ridden.energy_drift < 1e-7
    if until >= 8.0:
        assert abs(ridden["rear_wheel_contact_y"][-1]) < 0.01 and abs(ridden["lean"][-1]) < 1e-3

    figures = {
        "lean_and_steer": _compared(ridden, alone),
        "inputs": channel_figure(ridden, "push", "steer_torque"),
        "path": track_figure(ridden),
    }
    degrees = {name: math.degrees(float(np.abs(ridden[name]).max())) for name in ("lean", "steer")}
    findings = (
        str(law),
        f"with the bar let go it falls: {alone.status.message}",
        f"with the law it leans by {degrees['lean']:.1f}° and steers by {degrees['steer']:.1f}° at most, with a torque of "
        f"{np.abs(ridden['steer_torque']).max():.2f} N·m, {np.abs(ridden['rear_wheel_contact_y']).max():.2f} m off its line",
    )
    return Study("Through a gust at 2 m/s", {"lqr_gust": ridden, "lqr_gust_alone": alone}, figures, findings)


def _compared(ridden: dr.Trajectory, alone: dr.Trajectory) -> Any:
    with style():
        drawing, axes = panels(2, PAGE, 0.6 * PAGE)
        for panel, name in zip(axes, ("lean", "steer"), strict=True):
            panel.axvspan(BEGIN, END, color="0.93", lw=0, label="gust" if name == "lean" else None)
            panel.plot(ridden.time, np.degrees(ridden[name]), color=COLORS[0], label="with the law")
            panel.plot(alone.time, np.degrees(alone[name]), color=COLORS[1], ls="--", label="bar let go")
            panel.set_ylim(-20, 20)
            panel.margins(x=0)
            panel.set_ylabel(f"{name} [°]")
        axes[-1].set_xlabel("time [s]")
        legend_above(axes[0], PAGE)
    return drawing

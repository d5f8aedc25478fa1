"""Path following of a bicycle: the torques that keep its rear contact on a given curve.

What it shows: a change of lane at 5 m/s with the rear wheel's contact point on a given curve, by a torque on the bar and one at
the hub. The two velocities of the contact point are in the ratio of sine and cosine of its heading, so that the torques appear
only after three differentiations, through the trail: index 4. The zero dynamics are the lean, an inverted pendulum with
eigenvalues near ±√(g/h), and −v/c of the wheel behind its steer axis. They are unstable: all solutions but one diverge, and
that one is found as the bounded solution of a boundary value problem.

What you should see: to go left the bar is first pushed to the right, the bicycle leans to the left by 7° before its track
curves, steers into the curve, and leans to the right to end it. Integrated forward from the same start, the lean doubles every
0.22 s. The bicycle without the path constraint is stable at 5 m/s: driven by these torques as functions of time it follows the
same curve.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.style import COLUMN, style
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

SPEED, WIDTH, LENGTH = 5.0, 3.0, 4.0  # m/s, m, m: along the road, of the lane, of the half of the curve
MIDDLE = 25.0  # m, where the curve crosses the middle between the lanes

PATH = {
    "pace": f"rear_wheel_contact_x = {SPEED}*t",
    "lane": f"rear_wheel_contact_y = {WIDTH / 2}*(1 + tanh((rear_wheel_contact_x - {MIDDLE})/{LENGTH}))",
}
CONTROLS = ("steer_torque", "pedal_torque")
STATE = ("frame_x", "frame_y", "heading", "lean", "steer", "frame_wx", "steer_rate", "front_wheel_spin")


@entry(level="Intermediate")
def bicycle_changes_lane(until: float = 10.0) -> Study:
    """A bicycle follows a given curve: the torques that keep it there, and the resulting lean."""
    bike = bicycle()
    posed = dr.control.on_path(bike, PATH, CONTROLS, horizon=until)
    run = dr.control.follow(bike, until, PATH, CONTROLS)
    forward = dr.control.follow(bike, 2.0, PATH, CONTROLS, start={"lean": 1e-3}, solution=dr.control.Forward())
    ridden = _ridden(bike, run)
    growth = math.log(forward["lean"][150] / forward["lean"][100]) / 0.5
    off = float(np.max(np.hypot(*(ridden[n] - run[n] for n in ("rear_wheel_contact_x", "rear_wheel_contact_y")))))
    residual = max(float(np.max(np.abs(run[f"{name}_residual"]))) for name in PATH)
    turn = np.argmax(run["lean"] < -math.radians(1))

    assert posed.index == 4 and posed.degrees == {"pace": 2, "lane": 3}
    assert run.status.complete and "bounded" in run.status.message, run.status
    assert residual < 1e-9, residual
    assert run.energy_drift is not None and run.energy_drift < 1e-8
    assert abs(run["lean"][0]) < 1e-3 and abs(run["lean"][-1]) < 1e-3  # upright before and after
    assert run["steer_torque"][:turn].max() < 1e-3 and run["steer_torque"][turn] < -0.1  # first away from the turn
    assert off < 1e-6, off
    assert abs(growth - 3.13) < 0.1, growth
    figures = {
        "track": track_figure(run),
        "lean_and_steer": channel_figure(run, "lean", "steer", "heading"),
        "steer_torque": channel_figure(run, "steer_torque"),
        "pedal_torque": channel_figure(run, "pedal_torque"),
        "falling": _falling(run, forward),
    }
    degrees = {name: np.degrees(run[name]) for name in ("lean", "steer")}
    findings = (
        *map(str, str(posed).splitlines()[1:]),
        f"torque on the bar between {run['steer_torque'].min():.2f} and {run['steer_torque'].max():.2f} N·m, "
        f"at the hub between {run['pedal_torque'].min():.1f} and {run['pedal_torque'].max():.1f} N·m",
        f"lean between {degrees['lean'].min():.1f}° and {degrees['lean'].max():.1f}°, steer between "
        f"{degrees['steer'].min():.1f}° and {degrees['steer'].max():.1f}°; contact point on the curve to {residual:.0e} m",
        f"forward from a lean of 1 mrad: exp({growth:.2f} t), {np.degrees(forward['lean'][-1]):.0f}° after 2 s",
        f"the bicycle itself, driven by these torques: contact point within {off:.1e} m of where it should be then",
    )
    return Study("A bicycle changes lane along a given curve", {"bicycle_on_path": run, "ridden": ridden}, figures, findings)


def _ridden(bike: Any, run: dr.Trajectory) -> dr.Trajectory:
    """The bicycle without the path constraint, with the torques found as functions of time."""
    from scipy.interpolate import make_interp_spline

    torques = make_interp_spline(run.time, np.column_stack([run[name] for name in CONTROLS]), k=5)

    def command(t: float, _: Any) -> dict[str, float]:
        return dict(zip(CONTROLS, torques(t).tolist(), strict=True))

    begin = {name: float(run[name][0]) for name in STATE}
    return dr.simulate(bike, float(run.time[-1]), start=begin, control=dr.control.EveryStage(command), samples=run.time)


def _falling(run: dr.Trajectory, forward: dr.Trajectory) -> Any:
    with style():
        figure, (axes,) = panels(1, COLUMN, 2.8)
        shown = run.time <= forward.time[-1]
        axes.plot(forward.time, np.degrees(forward["lean"]), label="forward from 1 mrad")
        axes.plot(run.time[shown], np.degrees(run["lean"][shown]), label="bounded")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("lean [°]")
        axes.legend()
    return figure

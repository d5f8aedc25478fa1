"""Swing-ups with least effort: a cart-pole, and an acrobot (two rods with a motor at the elbow only).

What it shows: underactuated systems brought from hanging to upright rest in a given time with the least integral of the squared
input. The cart-pole is the problem of M. Kelly (SIAM Review 59, 2017, section 6): 1 kg and 0.3 kg, 0.5 m, one meter to the side
in 2 s, force within ±20 N. It converges from a linear guess. The acrobot is harder: it is first solved with a second motor at
the shoulder, whose torque gets a growing weight and is finally removed; each solution is the guess of the next.

What you should see: the cart overshoots its target, is pulled back hard, and so swings the pole up at once, with ∫F² dt =
58.808 N²·s. The acrobot swings to both sides, folds, and unfolds on its way up, nearly balanced in the last second. The motion
is so unstable that an error of 1e-8 is visible at the end; a simulation from the first state confirms the mesh.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.cart_pole import cart_pole
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

KELLY = {"l_pole": 0.5}  # m; masses and gravity are the model's own
SWING = 4.0  # s
LENGTH = 1.0  # m, of a rod


@live(start={"shoulder": 0.8, "elbow": 0.5})
def acrobot() -> Model:
    """Two slender rods of 1 kg and 1 m, hinged; inputs are the torques at elbow and shoulder (an acrobot's own is zero)."""
    m = Model("acrobot", "two rods hinged about y, hanging at zero")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, length = m.parameter("mass", 1.0, "kg", "of a rod"), m.parameter("length", LENGTH, "m", "of a rod")
    across = "mass*length^2/12"
    upper = m.body("upper_rod", mass=mass, center_of_mass=(0, 0, "-length/2"), inertia=(across, across, 0))
    lower = m.body("lower_rod", mass=mass, center_of_mass=(0, 0, "-length/2"), inertia=(across, across, 0))
    m.revolute("shoulder", "ground", upper, axis="y")
    m.revolute("elbow", upper, lower, axis="y", at=(0, 0, -length))
    m.generalized_force("elbow", m.input("elbow_torque", "N*m", "of the upper rod on the lower"))
    m.generalized_force("shoulder", m.input("shoulder_torque", "N*m", "of the ground on the upper rod"))
    return m


@cache
def cart_pole_up() -> dr.optimal.Solution:
    """Kelly's problem; here the pole's angle is counted from the top."""
    stated = dr.maneuver(cart_pole()).parameters(**KELLY).start(pole=math.pi).finish(cart=1, pole=0, rates=0).duration(2)
    stated = stated.bounds(push=(-20, 20), cart=(-2, 2)).minimize(integral="push^2")
    return stated.solve(dr.optimal.Collocation(degree=4, intervals=40))


@cache
def acrobot_up() -> dr.optimal.Solution:
    """Continuation over the weight of a shoulder torque, finally removed; the last mesh is fine enough for simulation."""
    swing = dr.maneuver(acrobot()).start(shoulder=0).finish(shoulder=math.pi, elbow=0, rates=0).duration(SWING)
    swing = swing.bounds(elbow=(-3.1, 3.1), elbow_torque=(-15, 15))
    found = None
    for price in (1, 10, 100):
        helped = swing.controls("elbow_torque", "shoulder_torque")
        helped = helped.minimize(integral=f"elbow_torque^2 + {price}*shoulder_torque^2")
        found = helped.solve(dr.optimal.Collocation(intervals=60), guess=found)
    alone = swing.controls("elbow_torque").inputs(shoulder_torque=0).minimize(integral="elbow_torque^2")
    return alone.solve(dr.optimal.Collocation("gauss", 6, 100), guess=found)


@entry(level="Intermediate")
def swing_ups() -> Study:
    """A cart-pole and an acrobot swing up to rest with least effort."""
    cart, robot = cart_pole_up(), acrobot_up()
    for found, limit in ((cart, 1e-4), (robot, 1e-3)):
        assert found.converged and found.discrepancy < limit, found
        assert found.trajectory.energy_drift is not None and found.trajectory.energy_drift < 1e-7
    end = cart.trajectory.final
    assert max(abs(end["pole"]), abs(end["cart"] - 1), abs(end["pole_rate"])) < 1e-3
    assert abs(cart.objective - 58.808) < 5e-3
    top = robot.trajectory.final
    assert max(abs(top["shoulder"] - math.pi), abs(top["elbow"])) < 0.01
    assert np.abs(robot.only.input("elbow_torque")).max() < 14.9  # no bound is met
    lifted = 4 * 9.81 * LENGTH  # J: centers of mass rise by one and by three lengths
    work = float(np.trapezoid(robot["elbow_torque"] * robot["elbow_rate"], robot.time))
    assert abs(work / lifted - 1) < 1e-3, work  # the elbow's work has lifted the rods

    findings = (
        f"cart-pole: ∫F² = {cart.objective:.4f} N²·s, largest force {np.abs(cart['push']).max():.2f} N, "
        f"the simulated motion departs by {cart.discrepancy:.0e}",
        f"acrobot: ∫τ² = {robot.objective:.4f} (N·m)²·s, largest torque {np.abs(robot['elbow_torque']).max():.2f} N·m, "
        f"departs by {robot.discrepancy:.0e}",
        f"the elbow does {work:.3f} J of work, 4 m g l = {lifted:.3f} J",
    )
    figures = {"swing_ups": _pictures(cart.trajectory, robot.trajectory)}
    return Study(
        "Swing-ups with least effort", {"cart_pole_up": cart.trajectory, "acrobot_up": robot.trajectory}, figures, findings
    )


def _pictures(cart: dr.Trajectory, robot: dr.Trajectory) -> Any:
    with style():
        drawing = new_figure(PAGE, 0.8 * PAGE)
        (left, right), (push, torque) = drawing.subplots(2, 2, height_ratios=[2.2, 1.0])
        for k in np.linspace(0, len(cart.time) - 1, 17).astype(int):
            shade = 0.25 + 0.75 * k / len(cart.time)
            x, angle = cart["cart"][k], cart["pole"][k]
            tip = x + KELLY["l_pole"] * math.sin(angle), KELLY["l_pole"] * math.cos(angle)
            left.plot([x, tip[0]], [0, tip[1]], color=COLORS[0], alpha=shade, lw=1.6)
            left.plot(*tip, "o", color=COLORS[1], alpha=shade, ms=5)
            left.plot(x, 0, "s", color=COLORS[0], alpha=shade, ms=5)
        left.axhline(0, color=FAINT, lw=0.8)
        for k in np.linspace(0, len(robot.time) - 1, 41).astype(int):
            shade = 0.12 + 0.88 * (k / len(robot.time)) ** 2
            first, second = robot["shoulder"][k], robot["shoulder"][k] + robot["elbow"][k]
            knee = -LENGTH * math.sin(first), -LENGTH * math.cos(first)
            tip = knee[0] - LENGTH * math.sin(second), knee[1] - LENGTH * math.cos(second)
            right.plot([0, knee[0]], [0, knee[1]], color=COLORS[0], alpha=shade, lw=1.6)
            right.plot([knee[0], tip[0]], [knee[1], tip[1]], color=COLORS[1], alpha=shade, lw=1.6)
        right.plot(0, 0, "o", color="black", ms=5)
        for axes, title in ((left, "pole on a cart"), (right, "acrobot")):
            axes.set_aspect("equal")
            axes.set_title(title)
            axes.set_xlabel("x [m]")
            axes.set_ylabel("z [m]")
        push.plot(*cart.curve("push"), color=COLORS[0])
        push.set_ylabel("force [N]")
        torque.plot(*robot.curve("elbow_torque"), color=COLORS[0])
        torque.set_ylabel("elbow torque [N·m]")
        for axes in (push, torque):
            axes.set_xlabel("time [s]")
    return drawing

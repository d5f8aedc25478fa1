"""A car with Ackermann steering: four wheels roll without slip because their axles always intersect in one point.

What it shows: a user-defined constraint between two coordinates, and two kinds of redundant rolling contacts. The rear wheels
share one axle, as the tricycle's do. The front wheels steer about separate axes, and only if their angles are compatible (R.
Ackermann's patent of 1818, G. Lankensperger's idea) is the lateral constraint of the second one redundant; the redundancy is
therefore detected at configurations that satisfy the constraint. One of four heights above a plane is redundant too. The speed
is prescribed at velocity level.

What you should see: a slalom in which the inner wheel always steers more than the outer one; tracks of four wheels without
slip. With equal steer angles the front wheels would have to slip by a few degrees.

By hand, with L the wheelbase, w the track, δ_l and δ_r the angles of the front wheels, κ the curvature of the rear axle's middle:

    axles intersect     cot δ_r − cot δ_l = w/L,   or without singularity   sin(δ_l − δ_r) = (w/L) sin δ_l sin δ_r
    curvature           κ = tan δ_l / (L + ½ w tan δ_l)
    path                heading ψ = ∫ κ v dt,   x = ∫ v cos ψ dt,   y = ∫ v sin ψ dt
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

Reals = NDArray[np.float64]
CORNERS = ("rear_left", "rear_right", "front_left", "front_right")


@live(start={"speed": 4.0})
def car() -> Model:
    """A car in space on four rolling wheels; its front wheels are coupled by the Ackermann condition.

    Inputs: `drive_torque`, shared equally by the rear wheels, and `steer_torque` on the left front wheel's carrier.
    """
    m = Model("car", "four rolling wheels, Ackermann's steering")
    wheelbase, track = m.parameter("wheelbase", 2.6, "m"), m.parameter("track", 1.5, "m")
    radius = m.parameter("wheel_radius", 0.3, "m")
    m_body, upright = m.parameter("m_body", 1000.0, "kg"), m.parameter("i_body", 1500.0, "kg*m^2", "about its own vertical")
    ahead, high = m.parameter("center_ahead", 1.3, "m", "of the rear axle"), m.parameter("center_high", 0.55, "m")
    m_wheel, i_wheel = m.parameter("m_wheel", 18.0, "kg"), m.parameter("i_wheel", 0.9, "kg*m^2", "about the axle")
    carrier_mass = m.parameter("m_carrier", 8.0, "kg", "of what steers with a front wheel")
    body = m.body("body", mass=m_body, center_of_mass=(ahead, 0, high), inertia=(350, 1400, upright))
    m.free(body)  # its origin runs on the ground, under the middle of the rear axle
    m.input("drive_torque", "N*m", "of the body on the rear wheels together")
    for side, sign in (("left", 0.5), ("right", -0.5)):
        carrier = m.body(f"{side}_carrier", mass=carrier_mass, inertia=(0.1, 0.1, 0.1))
        m.revolute(f"{side}_steer", body, carrier, axis="z", at=(wheelbase, sign * track, radius), span=(-0.6, 0.6))
        for end, holder, at in (("rear", body, (0, sign * track, radius)), ("front", carrier, (0, 0, 0))):
            wheel = m.body(f"{end}_{side}_wheel", mass=m_wheel, inertia=(i_wheel / 2, i_wheel, i_wheel / 2))
            m.revolute(f"{end}_{side}_spin", holder, wheel, axis="y", at=at)
            m.wheel(f"{end}_{side}", wheel, radius)
        m.generalized_force(f"rear_{side}_spin", "drive_torque/2")
    m.constrain("ackermann", "sin(left_steer - right_steer) - track/wheelbase*sin(left_steer)*sin(right_steer)", unit="rad")
    m.generalized_force("left_steer", m.input("steer_torque", "N*m"))
    m.output("speed", "body_velocity_x(body)", "m/s", "of the rear axle's middle")
    m.output("turn_rate", "rate_z(body)", "rad/s", "positive to the left")
    return m


SWING, PACE = 0.45, 0.8  # rad and rad/s of the slalom


def car_slalom() -> Model:
    """The car at constant speed, its left front wheel steered sinusoidally."""
    m = car()
    m.name = "car_slalom"
    m.parameter("cruise_speed", 4.0, "m/s")
    m.prescribe("cruise", "body_velocity_x(body)", "cruise_speed", level="velocity")
    m.prescribe("driver", "left_steer", f"{SWING!r}*sin({PACE!r}*t)")
    return m


def outer_angle(inner: Reals, wheelbase: float, track: float) -> Reals:
    """δ_r for δ_l: cot δ_r = cot δ_l + w/L, written with atan2, so that straight ahead is not singular."""
    return np.arctan2(np.sin(inner), np.cos(inner) + track / wheelbase * np.sin(inner))


def path_by_hand(times: Reals, speed: float, wheelbase: float, track: float) -> tuple[Reals, Reals, Reals]:
    """Heading, x and y of the rear axle's middle in the slalom, by Gauss quadrature between the times."""
    nodes, weights = np.polynomial.legendre.leggauss(8)

    def turning(t: Reals) -> Reals:
        slope = np.tan(SWING * np.sin(PACE * t))
        return speed * slope / (wheelbase + track / 2 * slope)

    heading, x, y = [0.0], [0.0], [0.0]
    for t0, t1 in pairwise(times):
        half = (t1 - t0) / 2
        inside = t0 + half * (nodes + 1)
        # the heading at each node, by the same rule from the beginning of the interval
        at_nodes = np.array([heading[-1] + (t - t0) / 2 * weights @ turning(t0 + (t - t0) / 2 * (nodes + 1)) for t in inside])
        x.append(x[-1] + half * speed * float(weights @ np.cos(at_nodes)))
        y.append(y[-1] + half * speed * float(weights @ np.sin(at_nodes)))
        heading.append(heading[-1] + half * float(weights @ turning(inside)))
    return np.array(heading), np.array(x), np.array(y)


@entry(level="Intermediate", film="slalom")
def car_weaves(until: float = 10.0) -> Study:
    """A car on four rolling wheels drives a slalom at constant speed: no slip, and the path of its steering geometry."""
    model = car_slalom()
    run = dr.simulate(model, until, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12))
    p = run.parameters
    heading, x, y = path_by_hand(run.time, p["cruise_speed"], p["wheelbase"], p["track"])
    away = float(np.max(np.hypot(run["body_x"] - x, run["body_y"] - y)))
    fitting = outer_angle(run["left_steer"], p["wheelbase"], p["track"])
    scrub = float(np.max(np.abs(run["left_steer"] - fitting)))

    assert run.status.complete, run.status
    assert away < 1e-7, away
    assert np.max(np.abs(run["right_steer"] - fitting)) < 1e-9
    assert np.max(np.abs(run["turn_rate"] - np.gradient(heading, run.time, edge_order=2))) < 1e-3
    weight = 9.81 * (p["m_body"] + 4 * p["m_wheel"] + 2 * p["m_carrier"])
    carried = sum(run[f"{corner}_normal_force"] for corner in CORNERS)
    assert np.max(np.abs(carried - weight)) < 1e-6 * weight
    said = [note for note in dr.derive(model).notes if "repeats" in note]
    assert len(said) == 3, said

    figures = {
        # first and last are joined by a bar now and then: the car's left side
        "slalom": track_figure(run, [f"{corner}_contact" for corner in ("rear_left", "rear_right", "front_right", "front_left")]),
        "steering": _steering(run),
        "loads": channel_figure(run, *(f"{corner}_normal_force" for corner in CORNERS)),
    }
    findings = (
        f"three rows repeat others: {', '.join(note.split()[1] for note in said)}",
        f"path within {away:.0e} m of the integral of its steering geometry",
        f"steered alike, the front wheels would scrub by up to {math.degrees(scrub):.2f}°",
        f"to hold the speed takes between {run['cruise_multiplier'].min():.0f} and {run['cruise_multiplier'].max():.0f} N",
    )
    return Study("Car with Ackermann's steering", {"slalom": run}, figures, findings)


def _steering(run: dr.Trajectory) -> Any:
    with single_panel("time [s]", "steer [°]", width=0.8 * PAGE, height=0.4 * PAGE) as (drawing, axes):
        for side in ("left", "right"):
            axes.plot(run.time, np.degrees(run[f"{side}_steer"]), label=f"{side} front wheel")
    return drawing

"""The tricycle: redundant rolling contacts of two wheels on one axle, and the tipping speed.

What it shows: redundant rolling contacts. The lateral constraints of the two rear wheels on one axle are dependent: of the nine
rows of three rolling wheels eight are independent. That is detected when the equations are derived; the lateral forces of these
two are statically indeterminate, all other contact forces are determined. The tricycle is a body in space supported by its
wheels alone, so that the normal forces show when it would tip.

What you should see: with a fixed steer angle it rides a circle whose center lies on the rear axle, at L/tan δ. With growing
speed, load shifts from the inner to the outer rear wheel, until the inner one has none: there it tips.

By hand: at a constant steer δ everything turns with ω = v/R about a center O on the ground, R = L/tan δ to the left of the
axle's middle. The angular momentum about O is ω h; a body at (x, y, z) seen from O adds m (−x z, −y z, x² + y²) to h and its
own inertia about the vertical, a wheel also J s/ω along its axle, with the spin s = ω · (way from O)/radius. Then for the
normal forces Nᵢ

    Σ Nᵢ = m g,   Σ yᵢ Nᵢ − m g y_c = ω̇ h_x − ω² h_y,   −Σ xᵢ Nᵢ + m g x_c = ω̇ h_y + ω² h_x,

and with the kinetic energy ½ M v², torques τ on both rear wheels of radius r give M v̇ = 2 τ/r.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, PAGE
from draisine.view.plots.trajectories import channel_figure

Reals = NDArray[np.float64]
WHEELS = ("rear_left", "rear_right", "front")


@live(start={"speed": 2.0, "steer": 0.2})
def tricycle(friction: float | None = None) -> Model:
    """A tricycle in space: rear wheels driven one by one, the front wheel steered by a handlebar.

    Inputs: `left_torque`, `right_torque` of the frame on the rear wheels, `steer_torque` on the fork. With `friction` its wheels
    slip, lift off and land.
    """
    m = Model("tricycle", "three rolling wheels, two of them on one axle")
    wheelbase, track = m.parameter("wheelbase", 1.2, "m"), m.parameter("track", 0.8, "m")
    radius = m.parameter("wheel_radius", 0.3, "m")
    m_frame = m.parameter("m_frame", 90.0, "kg", "with its rider")
    ahead, high = m.parameter("center_ahead", 0.4, "m", "of the rear axle"), m.parameter("center_high", 0.7, "m")
    m_wheel, i_wheel = m.parameter("m_wheel", 2.5, "kg"), m.parameter("i_wheel", 0.15, "kg*m^2", "about the axle")
    m_fork, i_fork = m.parameter("m_fork", 3.0, "kg"), m.parameter("i_fork", 0.06, "kg*m^2", "about the steering axis")

    upright = m.parameter("i_frame", 5.0, "kg*m^2", "about its own vertical")
    frame = m.body("frame", mass=m_frame, center_of_mass=(ahead, 0, high), inertia=(7, 9, upright))
    m.free(frame)  # its origin runs on the ground, under the middle of the rear axle
    disc = (i_wheel / 2, i_wheel, i_wheel / 2)
    for side, sign in (("left", 0.5), ("right", -0.5)):
        hub = m.body(f"{side}_wheel", mass=m_wheel, inertia=disc)
        m.revolute(f"{side}_spin", frame, hub, axis="y", at=(0, sign * track, radius))
        m.wheel(f"rear_{side}", hub, radius, friction=friction)
        m.generalized_force(f"{side}_spin", m.input(f"{side}_torque", "N*m"))
    fork = m.body("fork", mass=m_fork, inertia=(i_fork, i_fork, i_fork))
    m.revolute("steer", frame, fork, axis="z", at=(wheelbase, 0, radius), span=(-1.0, 1.0))
    front = m.body("front_wheel", mass=m_wheel, inertia=disc)
    m.revolute("front_spin", fork, front, axis="y")
    m.wheel("front", front, radius, friction=friction)
    m.generalized_force("steer", m.input("steer_torque", "N*m"))
    m.output("speed", "body_velocity_x(frame)", "m/s", "of the rear axle's middle")
    m.output("turn_rate", "rate_z(frame)", "rad/s", "positive to the left")
    return m


@live(start={"speed": 2.0})
def tricycle_locked_steer(steer: float = 0.35) -> Model:
    """The tricycle with a fixed steer angle."""
    m = tricycle()
    m.name = "tricycle_locked_steer"
    m.prescribe("handlebar", "steer", steer)
    return m


@dataclass(frozen=True)
class ClosedForm:
    """The tricycle on a circle, by hand: see the head of this file."""

    p: Mapping[str, float]
    steer: float
    gravity: float = 9.81

    @property
    def radius(self) -> float:
        """R, of the middle of the rear axle."""
        return self.p["wheelbase"] / math.tan(self.steer)

    @property
    def contacts(self) -> Reals:
        """Where the wheels touch the ground, seen from the center of the circle."""
        half, ahead = self.p["track"] / 2, self.p["wheelbase"]
        return np.array([[0, half - self.radius], [0, -half - self.radius], [ahead, -self.radius]])

    @property
    def masses(self) -> list[tuple[float, Reals, float]]:
        """Mass, place seen from the center, and moment of inertia about the body's own vertical."""
        p, disc = self.p, self.p["i_wheel"] / 2
        frame = np.array([p["center_ahead"], -self.radius, p["center_high"]])
        wheels = [(p["m_wheel"], np.array([*place, p["wheel_radius"]]), disc) for place in self.contacts]
        return [(p["m_frame"], frame, p["i_frame"]), *wheels, (p["m_fork"], wheels[2][1], p["i_fork"])]

    @property
    def spins(self) -> tuple[Reals, Reals]:
        """Spin per rate of turn of each wheel, and the directions of the axles."""
        ways = np.array([self.radius - self.p["track"] / 2, self.radius + self.p["track"] / 2, 0.0])
        ways[2] = math.copysign(math.hypot(self.p["wheelbase"], self.radius), self.radius)
        axles = np.array([[0, 1, 0], [0, 1, 0], [-math.sin(self.steer), math.cos(self.steer), 0]])
        return ways / self.p["wheel_radius"], axles

    @property
    def momentum(self) -> Reals:
        """h: angular momentum about the center, per rate of turn."""
        spins, axles = self.spins
        total = self.p["i_wheel"] * spins @ axles
        for mass, (x, y, z), own in self.masses:
            total = total + np.array([-mass * x * z, -mass * y * z, mass * (x**2 + y**2) + own])
        return np.asarray(total)

    @property
    def inertia(self) -> float:
        """M of the kinetic energy ½ M v²."""
        turning = sum(mass * (x**2 + y**2) + own for mass, (x, y, _), own in self.masses)
        return float((turning + self.p["i_wheel"] * np.sum(self.spins[0] ** 2)) / self.radius**2)

    def normal_forces(self, speed: Reals, acceleration: float = 0.0) -> Reals:
        """Of the wheels in the order of `WHEELS`; one column for each speed."""
        h = self.momentum
        rate, growth = speed / self.radius, acceleration / self.radius
        weight = sum(mass for mass, _, _ in self.masses) * self.gravity
        gravity_moment = self.gravity * np.sum([mass * place for mass, place, _ in self.masses], axis=0)
        x, y = self.contacts.T
        matrix = np.array([np.ones(3), y, -x])
        right = np.array(
            [
                np.full_like(rate, weight),
                gravity_moment[1] + growth * h[0] - rate**2 * h[1],
                -gravity_moment[0] + growth * h[1] + rate**2 * h[0],
            ]
        )
        return np.linalg.solve(matrix, right)

    def tipping_speed(self, acceleration: float = 0.0) -> float:
        """Where the inner rear wheel (the left, for a steer to the left) has no load: linear in v²."""
        inner = 0 if self.steer > 0 else 1
        standing, at_one = (self.normal_forces(np.array([v]), acceleration)[inner, 0] for v in (0.0, 1.0))
        return math.sqrt(standing / (standing - at_one))


@entry(level="Intermediate", film="ride")
def tricycle_corners(until: float = 4.0, torque: float = 12.0) -> Study:
    """A tricycle accelerates on a circle until its inner wheel would lift."""
    model, steer = tricycle_locked_steer(), 0.35
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    inputs = {"left_torque": torque, "right_torque": torque}
    run = dr.simulate(model, until, start={"speed": 1.0}, inputs=inputs, method=method)
    exact = ClosedForm(run.parameters, steer)
    acceleration = 2 * torque / exact.p["wheel_radius"] / exact.inertia
    forces = np.array([run[f"{wheel}_normal_force"] for wheel in WHEELS])
    by_hand = exact.normal_forces(run["speed"], acceleration)
    # the middle of the axle, and the center of its circle by the first heading
    way = np.hypot(run["frame_x"], run["frame_y"] - exact.radius)

    assert run.status.complete, run.status
    assert np.max(np.abs(run["speed"] - (1.0 + acceleration * run.time))) < 1e-8
    assert np.max(np.abs(way - exact.radius)) < 1e-8
    off = float(np.max(np.abs(forces - by_hand)))
    assert off < 1e-6 * exact.gravity * exact.p["m_frame"], off
    said = [note for note in dr.derive(model).notes if "repeats" in note]
    assert len(said) == 1 and "rear_right_y repeats rear_left_y" in said[0], said
    tips = exact.tipping_speed(acceleration)

    figures = {"normal_forces": _loads(run, exact, tips, acceleration), "ride": channel_figure(run, "speed", "turn_rate")}
    findings = (
        "two wheels on one axle: the lateral row of one is redundant, and only monitored",
        f"circle of {exact.radius:.4f} m = L/tan δ; gains {acceleration:.5f} m/s every second, M v̇ = 2τ/r",
        f"inner rear wheel without load at {tips:.4f} m/s; normal forces within {off:.0e} N of those by hand",
    )
    return Study("Tricycle in a corner", {"ride": run}, figures, findings)


def _loads(run: dr.Trajectory, exact: ClosedForm, tips: float, acceleration: float) -> Any:
    some = slice(None, None, max(1, len(run.time) // 12))
    by_hand = exact.normal_forces(run["speed"][some], acceleration)
    with single_panel("speed [m/s]", "normal force [N]", width=0.8 * PAGE, height=0.5 * PAGE) as (drawing, axes):
        for wheel, points, color in zip(WHEELS, by_hand, COLORS, strict=False):
            axes.plot(run["speed"], run[f"{wheel}_normal_force"], color=color, label=wheel.replace("_", " "))
            axes.plot(run["speed"][some], points, "o", color=color, markersize=3)
        axes.axhline(0.0, color="black", linewidth=0.6)
        axes.axvline(tips, color="gray", linestyle=":", label="inner wheel lifts")
    return drawing

"""A leaning rider: the upper body hinged to the rear frame, with a hip torque as further input.

What it shows: the leaning rider that Delebecque & Nikoukhah (1992) suggest. The benchmark bicycle is divided at the hips: the
upper body (34 of the 85 kg) turns about a forward axis, with a spring and damper for the muscles; the rest of the rear frame is
such that with rigid hips the model is the benchmark again. The handlebar is free.

What you should see: a new mode, the body's sway, beside weave and capsize. With growing hip stiffness the eigenvalues tend to
the benchmark's, with a difference of one over the stiffness. The bicycle can be steered by leaning: a torque that leans the
body to the right first makes the bicycle lean to the left, then it turns to the right. But the effect is weak: at 6 m/s and 0.5
Hz a torque at the hips turns the bicycle about seventy times less than the same torque at the bar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.expr.expression import Name
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry, live
from draisine.model.items import Inertia, Parameter
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.eigenvalues import eigenvalues_against
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

RIDER = (
    Parameter("x_rider", 0.3, "m", "upper body's center of mass ahead of the rear contact"),
    Parameter("z_rider", 1.15, "m", "above the ground"),
    Parameter("m_rider", 34.0, "kg", "of the upper body, part of m_frame"),
    Parameter("ixx_rider", 1.5, "kg*m^2"),
    Parameter("iyy_rider", 1.3, "kg*m^2"),
    Parameter("izz_rider", 0.5, "kg*m^2"),
    Parameter("z_hips", 0.9, "m", "axis of the hinge above the ground"),
    Parameter("hip_stiffness", 400.0, "N*m/rad", "of muscles that hold the body upright"),
    Parameter("hip_damping", 30.0, "N*m*s/rad"),
)
REPORTED = ("lean", "steer", "rider_lean")


@live(start={"speed": 5.0, "roll_rate": 0.2})
def leaning_rider() -> Model:
    """The benchmark bicycle with its rider's upper body hinged at the hips; with rigid hips it is the benchmark."""
    rigid = bicycle().freeze()
    x, z, mass, hips, radius = (Name(n) for n in ("x_rider", "z_rider", "m_rider", "z_hips", "r_rear_wheel"))
    bodies = tuple(_without_rider(body) if body.name == "frame" else body for body in rigid.bodies)
    description = "benchmark bicycle, its rider's upper body hinged to the frame"
    cut = replace(rigid, name="leaning_rider", description=description, parameters=(*rigid.parameters, *RIDER), bodies=bodies)
    m = Model.of(replace(cut, independent=()))
    rider = m.body(
        "rider", mass, center_of_mass=(0, 0, z - hips), inertia=tuple(Name(f"{i}_rider") for i in ("ixx", "iyy", "izz"))
    )
    m.revolute("rider_lean", "frame", rider, axis="x", at=(x, 0, hips - radius))
    m.spring("rider_lean", Name("hip_stiffness"), damping=Name("hip_damping"), name="hips")
    m.generalized_force("rider_lean", m.input("lean_torque", "N*m", "of the frame on the upper body, positive to the right"))
    return m


def _without_rider(frame: Any) -> Any:
    """The benchmark's rear frame without the upper body; mass, center of mass and inertia of both together are unchanged."""
    x, z, mass = Name("x_rider"), Name("z_rider"), Name("m_rider")
    whole, x_whole, z_whole = Name("m_frame"), Name("x_frame"), Name("z_frame")
    rest = whole - mass
    x_rest, z_rest = (whole * x_whole - mass * x) / rest, (whole * z_whole - mass * z) / rest
    ahead, behind, above, below = x - x_whole, x_rest - x_whole, z - z_whole, z_rest - z_whole
    lifted, shifted = mass * above**2 + rest * below**2, mass * ahead**2 + rest * behind**2
    inertia = Inertia(
        xx=Name("ixx_frame") - Name("ixx_rider") - lifted,
        yy=Name("iyy_frame") - Name("iyy_rider") - lifted - shifted,
        zz=Name("izz_frame") - Name("izz_rider") - shifted,
        zx=Name("ixz_frame") + mass * ahead * above + rest * behind * below,
    )
    return frame._replace(
        mass=rest, center_of_mass=(x_rest, frame.center_of_mass[1], z_rest - Name("r_rear_wheel")), inertia=inertia
    )


def response(linear: Any, into: str, out: str, frequencies: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Output per input at frequencies (rad/s)."""
    row, column = linear.row(out), linear.B[:, linear.inputs.index(into)]
    eye = np.eye(len(linear.states))
    return np.array([row @ np.linalg.solve(1j * w * eye - linear.A, column) for w in frequencies])


@entry(level="Intermediate", film="lean_to_the_right", charts=("lean", "steer"))
def rider_steers_by_leaning() -> Study:
    """A leaning rider without hands: eigenvalues, response to a hip torque, and its gain compared with a steer torque."""
    model = dr.derive(leaning_rider(), work=False)
    found = dr.modes(model, speed=np.linspace(0, 10, 201), states=REPORTED)
    weave = next(c.value for c in found.critical() if c.kind == "weave")
    capsize = next(c.value for c in found.critical() if c.kind == "capsize")
    apart = stiff_hips(model, (1e5, 1e6))
    assert 0.09 < apart[1] / apart[0] < 0.11, apart  # as one over the stiffness
    linear = dr.linearize(model, {"speed": 6.0}, states=REPORTED)
    frequencies = 2 * np.pi * np.geomspace(0.05, 5.0, 200)
    gains = {torque: np.abs(response(linear, torque, "yaw_rate", frequencies)) for torque in ("lean_torque", "steer_torque")}
    half = int(np.argmin(np.abs(frequencies - np.pi)))
    weaker = float(gains["steer_torque"][half] / gains["lean_torque"][half])
    assert 50 < weaker < 100

    run = dr.simulate(leaning_rider(), 6.0, start={"speed": 5.0}, inputs={"lean_torque": 20.0})
    assert run.status.complete, run.status
    early = run.time < 0.3
    assert run["rider_lean"][early].min() >= 0 and run["lean"][early].max() <= 0  # the body leans right, the bicycle left,
    assert run["lean"][-1] > math.radians(5) and run["yaw_rate"][-1] < -0.2  # and then both right, into the turn
    figures = {
        "eigenvalues": _eigenvalues(found),
        "lean_to_the_right": channel_figure(run, "lean", "rider_lean", "steer", "yaw_rate"),
        "gains": _gains(frequencies, gains),
    }
    findings = (
        f"stable from {weave:.3f} to {capsize:.3f} m/s (rigid rider: 4.292 to 6.024 m/s)",
        f"with hips of 10⁶ N·m/rad the eigenvalues at 5 m/s are within {apart[1]:.1e} 1/s of the benchmark's",
        f"at 6 m/s and 0.5 Hz a torque at the bar turns the bicycle {weaker:.0f} times as fast as one at the hips",
    )
    return Study("A rider who leans", {"lean_to_the_right": run}, figures, findings)


def stiff_hips(model: dr.Equations, stiffnesses: tuple[float, ...], speed: float = 5.0) -> list[float]:
    """Largest distance of a benchmark eigenvalue from the nearest one with such hips."""
    wanted = dr.linearize(bicycle(), {"speed": speed}, states=("lean", "steer")).essential().eigenvalues
    found = []
    for stiffness in stiffnesses:
        linear = dr.linearize(model, {"speed": speed}, states=REPORTED, parameters={"hip_stiffness": stiffness}).essential()
        found.append(max(float(np.abs(linear.eigenvalues - z).min()) for z in wanted))
    return found


def _eigenvalues(found: Any) -> Any:
    marks = [(c.kind, c.value) for c in found.critical()]
    return eigenvalues_against(found.values, found.eigenvalues, _worded(found), ("speed", "m/s"), marks)


def _worded(found: Any) -> list[str]:
    """Names of the modes from where they are at 5 m/s: the body sways faster than the bicycle weaves."""
    names: list[str] = []
    for z in found.eigenvalues[int(np.argmin(np.abs(found.values - 5.0)))]:
        pair = "sway of the body" if abs(z.imag) > 8.0 else "weave"
        name = pair if z.imag else "castering" if z.real < -5.0 else "capsize"
        names.append(f"{name}*" if name in names else name)
    return names


def _gains(frequencies: NDArray[np.float64], gains: Mapping[str, NDArray[np.float64]]) -> Any:
    with single_panel("frequency [Hz]", "rate of turn per torque [rad/s per N·m]", width=0.8 * PAGE, height=0.45 * PAGE) as (
        drawing,
        axes,
    ):
        for torque, gain in gains.items():
            axes.loglog(frequencies / (2 * np.pi), gain, label=torque.replace("_", " "))
    return drawing

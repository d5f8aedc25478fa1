"""Sharp's motorcycle of 1971: capsize, weave and wobble of a machine on tires that slip.

What it shows: the model with which R. S. Sharp explained the oscillations of motorcycles (*J. Mech. Eng. Sci.* 13, 1971): two
rigid groups hinged at the steering axis, on tires whose side force follows slip angle and camber over a relaxation length. It is
made of parts here, nonlinear in all angles, and linearized about straight running. The front load is that of statics, 1012.5 N;
the 1005.3 N that the paper prints do not follow from its data.

What you should see: three modes. The weave, an oscillation of the whole machine, is unstable below 6.0 m/s; the wobble, an
oscillation of the front assembly near 9 Hz, loses damping as the speed grows and is unstable above 58.4 m/s; the capsize grows
slowly above 11.1 m/s, and is balanced by the rider. Twice the steering damper stabilizes the wobble at every speed, and takes
damping from the weave at high speed.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.tires import LinearTire
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import PAGE, style
from draisine.view.plots.trajectories import channel_figure

# Sharp's symbols, in SI units; lengths along and across the steering axis
SHARP = {
    "mr": 217.45, "mf": 30.65, "h": 0.6157, "b": 0.4798, "a": 0.9485376, "an": 0.1158, "e": 0.0244, "f": 0.0283, "eps": 0.4715,
    "Rr": 0.3048, "Rf": 0.3048, "Irx": 31.18, "Irz": 21.07, "Crxz": 1.7355, "Ifx": 1.2338, "Ifz": 0.442, "iry": 1.0508,
    "ify": 0.7186, "Cdelta": 6.77, "Cf1": 11174.0, "Cf2": 938.6, "Cr1": 15831.0, "Cr2": 1325.6, "sigma": 0.2438,
}  # fmt: skip
STATES = ("lean", "steer")
ALONG = 1e5  # N per unit of longitudinal slip, which the linear model leaves open


@live(start={"speed": 20.0, "roll_rate": 0.05})
def sharp_motorcycle() -> Model:
    """Sharp's motorcycle of 1971 with his data, from parts; steer to the left is positive."""
    s = SHARP
    c, z = cos(s["eps"]), sin(s["eps"])
    m = Model("sharp_motorcycle", "motorcycle of Sharp 1971: two rigid groups on tires with camber thrust and relaxation")
    # wheels have half their polar inertia about diameters, which is part of the groups' inertia in the paper
    rear, front = s["iry"] / 2, s["ify"] / 2
    head = s["b"] + s["a"] * c, s["a"] * z
    center = s["b"] + (s["a"] + s["e"]) * c + s["f"] * z, (s["a"] + s["e"]) * z - s["f"] * c
    steered = {"xx": s["Ifx"] - front, "yy": s["Ifx"] - front, "zz": s["Ifz"] - front}  # about the steering axis …
    level = {
        "xx": c * c * steered["xx"] + z * z * steered["zz"],
        "yy": steered["yy"],
        "zz": z * z * steered["xx"] + c * c * steered["zz"],
        "zx": c * z * (steered["xx"] - steered["zz"]),
    }  # … and in the axes of the frame
    frame = dr.parts.frame(
        m,
        "frame",
        mass=s["mr"],
        center_of_mass=(s["b"], s["h"]),
        inertia={"xx": s["Irx"] - rear, "yy": s["Irx"], "zz": s["Irz"] - rear, "zx": s["Crxz"]},
        head=head,
        steer_axis_tilt=s["eps"],
        points={"axle": (0, s["Rr"])},
    )
    axle = (s["b"] + (s["a"] - s["an"]) / c, s["Rf"])
    fork = dr.parts.rigid_fork(m, "fork", frame["head"], axle=axle, mass=s["mf"], center_of_mass=center, inertia=level)
    for name, on, key, half in (("rear", frame["axle"], "r", rear), ("front", fork["axle"], "f", front)):
        tire = LinearTire(
            m.parameter(f"{name}_cornering", s[f"C{key}1"], "N", "side force per radian of slip angle"),
            m.parameter(f"{name}_relaxation", s["sigma"], "m", "way over which the force of the tire builds up"),
            ALONG,
            camber=m.parameter(f"{name}_camber", s[f"C{key}2"], "N", "side force per radian of camber"),
        )
        dr.parts.wheel(m, name, on, radius=s[f"R{key}"], mass=0, inertia=(half, 2 * half), tire=tire)
    dr.parts.steering_damper(m, "damper", damping=s["Cdelta"])
    return m


@entry(level="Advanced", film="weave", charts=("lean", "steer"))
def sharp_oscillates(speeds: int = 117) -> Study:
    """Capsize, weave and wobble of Sharp's motorcycle from 2 to 60 m/s, and what a steering damper does to them."""
    model = dr.derive(sharp_motorcycle(), work=False)
    over = np.linspace(2.0, 60.0, speeds)
    found = dr.modes(model, speed=over, states=STATES)
    damped = dr.modes(model, speed=over, states=STATES, parameters={"damper_damping": 13.5})
    named = dict(zip(found.names, found.eigenvalues.T, strict=True))
    assert {"weave", "wobble", "capsize"} <= named.keys(), found.names
    changes = {c.kind: c.value for c in found.critical()}
    for name, speed in (("weave", 5.9679062), ("capsize", 11.1062796), ("wobble", 58.4449664)):
        assert abs(changes[name] - speed) < 1e-6, changes
    stiffer = dict(zip(damped.names, damped.eigenvalues.T, strict=True))
    assert stiffer["wobble"].real.max() < 0 and stiffer["weave"][-1].real > named["weave"][-1].real
    run = disturbed(model)
    figures = {"modes": _against_speed(over, named), "damper": _locus(found, damped)}
    figures["weave"] = channel_figure(run, "lean", "steer")
    wobble = named["wobble"]
    findings = (
        f"the weave is unstable below {changes['weave']:.3f} m/s, the capsize above {changes['capsize']:.3f} m/s, "
        f"the wobble above {changes['wobble']:.3f} m/s",
        f"the wobble has {wobble[-1].imag / (2 * np.pi):.1f} Hz at 60 m/s, with a real part of {wobble[-1].real:.2f} 1/s",
    )
    return Study("Oscillations of a motorcycle (Sharp 1971)", {"weave": run}, figures, findings)


def disturbed(model: dr.Equations, speed: float = 30.0) -> dr.Trajectory:
    """The weave after a small roll rate, hands off the bar."""
    straight = dr.steady(model, {"speed": speed, "lean": 0.0, "steer": 0.0})
    start = {name: straight[name] for name in ("speed", "lean", "steer", "rear_spin", "front_spin")}
    return dr.simulate(model, 3.0, start={**start, "roll_rate": 0.1})


def _against_speed(speeds: NDArray[np.float64], named: dict[str, NDArray[np.complex128]]) -> Any:
    with style():
        drawing, (real, frequency) = panels(2, 0.9 * PAGE, 0.7 * PAGE)
        for name in ("weave", "wobble", "capsize"):
            real.plot(speeds, named[name].real, label=name)
            if name != "capsize":
                frequency.plot(speeds, np.abs(named[name].imag) / (2 * np.pi), label=name)
        real.axhline(0, color="0.3", lw=0.8)
        real.set_ylim(-20, 4)
        real.set_ylabel("real part [1/s]")
        frequency.set_ylabel("frequency [Hz]")
        frequency.set_xlabel("speed [m/s]")
        legend_above(real, 0.9 * PAGE)
    return drawing


def _locus(found: Any, damped: Any) -> Any:
    """Root locus over the speed, with two steering dampers."""
    with style():
        drawing, (axes,) = panels(1, 0.8 * PAGE, 0.6 * PAGE)
        for swept, marker, label in ((found, ".", "6.77 N·m·s/rad"), (damped, "x", "13.5 N·m·s/rad")):
            values = swept.eigenvalues[np.isfinite(swept.eigenvalues) & (swept.eigenvalues.imag >= 0)]
            axes.plot(values.real, values.imag, marker, ms=3, label=label)
        axes.axvline(0, color="0.3", lw=0.8)
        axes.set_xlim(-25, 3)
        axes.set_ylim(-2, 65)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        legend_above(axes, 0.8 * PAGE)
    return drawing

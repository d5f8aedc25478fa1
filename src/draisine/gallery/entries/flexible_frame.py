"""Wobble: a bicycle with a flexible frame and slipping tires.

What it shows: the third mode of two-wheelers, which a bicycle of rigid bodies that roll ideally does not have. The head is
hinged to the frame about an axis across the steer axis with a spring; the tires respond to a slip angle with a side force that
builds up over a relaxation length of a tenth of a meter. All parameters beyond the benchmark's are chosen, of the size measured
on bicycles.

What you should see: weave and capsize hardly change. A mode of six to eight hertz appears, in which the fork oscillates against
the bending frame: the wobble. With a stiff frame it is strongly damped. With a flexible, lightly damped one it is unstable
between 2.0 and 12.5 m/s, at the frequency of the linear model; slightly more damping in the frame stabilizes it at every speed.
With stiff tires and a stiff head the eigenvalues are the benchmark's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.tires import LinearTire
from draisine.model.items import Coordinate, Joint, Parameter, Rotate, Translate
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import PAGE, style
from draisine.view.plots.trajectories import channel_figure

FLEXIBLE = (
    Parameter("head_stiffness", 3000.0, "N*m/rad", "of the frame against twist of the head about an axis across the steer axis"),
    Parameter("head_damping", 5.0, "N*m*s/rad"),
    Parameter("head_height", 0.5, "m", "of that axis above the foot of the fork, along the steer axis"),
    Parameter("rear_cornering", 7000.0, "N", "side force of the rear tire per radian of slip angle"),
    Parameter("front_cornering", 4000.0, "N", "of the front tire"),
    Parameter("tire_along", 1e5, "N", "force along the track per unit of creep"),
    Parameter("relaxation", 0.1, "m", "way that a tire rolls until its force has built up"),
)
FRAMES = {
    "flexible": {},
    "flexible, more damping": {"head_damping": 20.0},
    "stiff": {"head_stiffness": 1e6},
}
REPORTED = ("lean", "steer", "head_twist")
WOBBLE = 2 * np.pi * np.array([4.0, 15.0])  # rad/s: between weave and the tires' own modes


@live(start={"speed": 5.0, "roll_rate": 0.1})
def flexible_frame() -> Model:
    """The benchmark bicycle with a head that twists against a spring, on tires that slip sideways."""
    rigid = bicycle().freeze()
    joints = tuple(_twisting(joint) if joint.name == "steer" else joint for joint in rigid.joints)
    wheels = tuple(
        wheel._replace(
            contact=LinearTire(f"{wheel.name.removesuffix('_wheel')}_cornering", "relaxation", longitudinal="tire_along")
        )
        for wheel in rigid.wheels
    )
    description = "benchmark bicycle, its head sprung to the frame, on tires that slip"
    changed = replace(
        rigid, name="flexible_frame", description=description, parameters=(*rigid.parameters, *FLEXIBLE), joints=joints
    )
    m = Model.of(replace(changed, wheels=wheels, independent=()))
    m.spring("head_twist", Name("head_stiffness"), damping=Name("head_damping"), name="head")
    return m


def _twisting(steer: Joint) -> Joint:
    """The steer joint with a twist of the head before it, about an axis across the steer axis."""
    *place, turn = steer.chain
    up, down = (Translate((Number(0.0), Number(0.0), sign * Name("head_height"))) for sign in (1, -1))
    chain = (*place, up, Rotate("x", Name("head_twist")), down, turn)
    twist = Coordinate("head_twist", "head_twist_rate", "rad", 0.0, -0.3, 0.3)
    return steer._replace(chain=chain, coordinates=(twist, *steer.coordinates))


def wobble(found: Any) -> NDArray[np.complex128]:
    """The least damped eigenvalue among the wobble's frequencies, at each speed; NaN where there is none."""
    rows = []
    for row in found.eigenvalues:
        inside = row[(row.imag > WOBBLE[0]) & (row.imag < WOBBLE[1])]
        rows.append(inside[np.argmax(inside.real)] if len(inside) else complex(np.nan))
    return np.array(rows)


def towards_rigid(equations: dr.Equations, stiffness: float, speed: float = 5.0) -> float:
    """Largest distance of a benchmark eigenvalue from the nearest one with such a head and such tires."""
    stiff = dict.fromkeys(("head_stiffness", "rear_cornering", "front_cornering", "tire_along"), stiffness)
    straight = dr.steady(equations, {"speed": speed, "lean": 0.0, "steer": 0.0}, parameters=stiff)
    found = straight.linearize(REPORTED).essential().eigenvalues
    wanted = dr.linearize(bicycle(), {"speed": speed}, states=("lean", "steer")).essential().eigenvalues
    return max(float(np.abs(found - z).min()) for z in wanted)


@entry(level="Advanced")
def wobble_appears() -> Study:
    """A sprung head and slipping tires give the benchmark bicycle its third mode, the wobble."""
    model = dr.derive(flexible_frame(), work=False)
    speeds = np.linspace(1.0, 16.0, 151)
    swept = {name: dr.modes(model, speed=speeds, states=REPORTED, parameters=given) for name, given in FRAMES.items()}
    shakes = {name: wobble(found) for name, found in swept.items()}
    growing = speeds[shakes["flexible"].real > 0]
    assert abs(growing[0] - 2.0) < 0.2 and abs(growing[-1] - 12.5) < 0.2
    assert np.nanmax(shakes["flexible, more damping"].real) < 0
    assert np.all(-shakes["stiff"].real > 0.05 * np.abs(shakes["stiff"]))
    swings = shakes["flexible"].imag / (2 * np.pi)
    assert swings.min() > 6.0 and swings.max() < 8.5
    apart = [towards_rigid(model, stiffness) for stiffness in (1e6, 1e7)]
    assert 0.08 < apart[1] / apart[0] < 0.12, apart  # as one over the stiffness

    run, eigenvalue, measured = shaken_bar(model)
    assert abs(measured - eigenvalue) < 1e-4 * abs(eigenvalue)
    figures = {"wobble": _against_speed(speeds, shakes), "shaken": _shaken_figure(run)}
    findings = (
        f"the wobble grows from {growing[0]:.1f} to {growing[-1]:.1f} m/s, {swings.min():.1f} to {swings.max():.1f} Hz",
        f"at 8 m/s: λ = {eigenvalue.real:.4f} ± {eigenvalue.imag:.4f}i; measured in the motion "
        f"{measured.real:.4f} ± {measured.imag:.4f}i",
        f"with stiffnesses of 10⁷ the eigenvalues at 5 m/s are within {apart[1]:.1e} 1/s of the benchmark's",
    )
    return Study("The wobble of a flexible bicycle", {"shaken": run}, figures, findings)


def shaken_bar(equations: dr.Equations, speed: float = 8.0) -> tuple[dr.Trajectory, complex, complex]:
    """A motion from a small initial twist: the run, the wobble's eigenvalue, and the eigenvalue measured in the motion."""
    straight = dr.steady(equations, {"speed": speed, "lean": 0.0, "steer": 0.0})
    start = {name: straight[name] for name in ("speed", "lean", "steer", "rear_wheel_spin", "front_wheel_spin")}
    run = dr.simulate(
        equations, 3.0, start={**start, "head_twist": 1e-5}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-14), samples=3001
    )
    found = straight.linearize(REPORTED).essential().eigenvalues
    eigenvalue = complex(max(found[(found.imag > WOBBLE[0]) & (found.imag < WOBBLE[1])], key=lambda z: z.real))
    late = run.time >= 1.0
    return run, eigenvalue, _measured(run.time[late], run["head_twist"][late])


def _measured(times: NDArray[np.float64], signal: NDArray[np.float64]) -> complex:
    """Growth and frequency of an oscillation, from the two poles of s(t+h) = a s(t) + b s(t−h) by least squares."""
    every = 10
    s = signal[::every]
    step = float(times[every] - times[0])
    a, b = np.linalg.lstsq(np.column_stack([s[1:-1], s[:-2]]), s[2:], rcond=None)[0]
    pole = np.roots([1.0, -a, -b])[0]
    rate = np.log(complex(pole)) / step
    return complex(rate.real, abs(rate.imag))


def _against_speed(speeds: NDArray[np.float64], shakes: Mapping[str, NDArray[np.complex128]]) -> Any:
    with style():
        drawing, (damping, frequency) = panels(2, 0.9 * PAGE, 0.7 * PAGE)
        for name, roots in shakes.items():
            damping.plot(speeds, -roots.real / np.abs(roots), label=name)
            frequency.plot(speeds, roots.imag / (2 * np.pi), label=name)
        damping.axhline(0, color="0.3", lw=0.8)
        damping.set_ylabel("damping ratio [–]")
        frequency.set_ylabel("frequency [Hz]")
        frequency.set_xlabel("speed [m/s]")
        legend_above(damping, 0.9 * PAGE)
    return drawing


def _shaken_figure(run: dr.Trajectory) -> Any:
    return channel_figure(run, "head_twist", "steer", "lean")

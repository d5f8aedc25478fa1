"""A planetary gear: sun, three planets on a carrier, and a fixed ring.

What it shows: gears as constraints between coordinates, on moving carriers too. Each planet meshes with the sun and with the
ring, with angles relative to the carrier. One planet determines the ratio of sun and carrier; the rows of the second and third,
which share the load, are redundant and detected as such. A winch on the carrier shows the rack: a drum that winds up a load.

What you should see: Willis's ratio exactly, 1 + z_r/z_s turns of the sun for one of the carrier; a load that rises with the
acceleration of a single equivalent mass; and three planets that share the load equally, as the minimum-norm multipliers do.

By hand, with the teeth z_s, z_p, z_r = z_s + 2 z_p, the angles σ of the sun, κ of the carrier, ρ of a planet against it:

    sun's mesh          ρ = −(z_s/z_p) (σ − κ)
    ring's mesh         ρ = −(z_r/z_p) κ               so   σ = (1 + z_r/z_s) κ = i κ   (R. Willis, 1841)
    drum of radius r    x = r κ
    with the sun's acceleration σ̈, κ̈ = σ̈/i and the planets' absolute rate κ̇ + ρ̇ = (1 − z_r/z_p) κ̇:

    (J_s + J/i²) σ̈ = τ − m g r / i,   J = J_c + 3 (m_p R² + J_p (1 − z_r/z_p)²) + m r²
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.gallery.shapes import STEEL, gear
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

PLANETS = ("first", "second", "third")


@live(start={"sun_rate": 3.0})
def planetary_gear() -> Model:
    """A planetary gear with three planets and a fixed ring drives the drum of a winch; torque acts on the sun."""
    m = Model("planetary_gear", "sun, three planets, carrier with a drum, and a load on its cable")
    sun_teeth, planet_teeth = m.parameter("sun_teeth", 20.0), m.parameter("planet_teeth", 16.0)
    m.parameter("drum_radius", 0.1, "m")
    reach = m.parameter("carrier_radius", 0.09, "m", "from the middle to the planets")
    i_sun, i_planet = m.parameter("i_sun", 2e-3, "kg*m^2"), m.parameter("i_planet", 4e-4, "kg*m^2")
    i_carrier, m_planet = m.parameter("i_carrier", 8e-3, "kg*m^2", "with its drum"), m.parameter("m_planet", 0.6, "kg")
    ring_teeth = sun_teeth + 2 * planet_teeth

    pitch = 0.09 / (20 + 16)  # m a tooth: radius of the pitch circle, at the default numbers of teeth
    spider = [
        {"kind": "tube", "path": [(0, 0.025, 0), (*_place(0.09, k)[:1], 0.025, _place(0.09, k)[2])], "radius": 0.008}
        for k in range(3)
    ]
    drum = {"kind": "cylinder", "radius": "drum_radius", "length": 0.04, "at": (0, 0.06, 0), "color": STEEL}
    ring = [_place(0.09 + 16 * pitch, k, 60) for k in range(61)]
    m.ground(shapes=[{"kind": "tube", "path": ring, "radius": 0.006, "color": STEEL}])
    m.body("sun_gear", mass=1.5, inertia=(i_sun / 2, i_sun, i_sun / 2), shapes=gear(20, 20 * pitch, 0.02))
    m.body("carrier_arm", mass=3.0, inertia=(i_carrier / 2, i_carrier, i_carrier / 2), shapes=[*spider, drum])
    m.revolute("sun", "ground", "sun_gear", axis="y")
    m.revolute("carrier", "ground", "carrier_arm", axis="y")
    for index, planet in enumerate(PLANETS):
        m.body(
            f"{planet}_planet", mass=m_planet, inertia=(i_planet / 2, i_planet, i_planet / 2), shapes=gear(16, 16 * pitch, 0.02)
        )
        turn = 2 * math.pi * index / 3
        at = (reach * math.cos(turn), 0, reach * math.sin(turn))
        m.revolute(planet, "carrier_arm", f"{planet}_planet", axis="y", at=at)
        m.gear(f"{planet}_on_sun", "sun - carrier", planet, -sun_teeth / planet_teeth)
        m.gear(f"{planet}_in_ring", "carrier", planet, -ring_teeth / planet_teeth)
    box = {"kind": "box", "size": (0.12, 0.12, 0.12)}
    m.prismatic(
        "lift", "ground", m.body("load", mass=m.parameter("m_load", 20.0, "kg"), shapes=[box]), axis="z", at=(0.1, 0.06, -0.6)
    )
    m.rack("winch", "carrier", "lift", "drum_radius")
    m.generalized_force("sun", m.input("motor_torque", "N*m", "on the sun"))
    return m


def _place(radius: float, k: int, of: int = 3) -> tuple[float, float, float]:
    """The k-th of some places around the middle."""
    return radius * math.cos(2 * math.pi * k / of), 0.0, radius * math.sin(2 * math.pi * k / of)


def by_hand(p: Mapping[str, float], torque: float) -> dict[str, float]:
    """Ratio, acceleration of the sun and pull of the cable: see the head of this file."""
    ring = p["sun_teeth"] + 2 * p["planet_teeth"]
    ratio = 1 + ring / p["sun_teeth"]
    planet = p["m_planet"] * p["carrier_radius"] ** 2 + p["i_planet"] * (1 - ring / p["planet_teeth"]) ** 2
    slow = p["i_carrier"] + 3 * planet + p["m_load"] * p["drum_radius"] ** 2
    weight = p["m_load"] * 9.81 * p["drum_radius"]
    acceleration = (torque - weight / ratio) / (p["i_sun"] + slow / ratio**2)
    return {
        "ratio": ratio,
        "acceleration": acceleration,
        "pull": p["m_load"] * (9.81 + p["drum_radius"] * acceleration / ratio),
    }


@entry(level="First steps", film="lift")
def planetary_gear_lifts(until: float = 2.0, torque: float = 6.0) -> Study:
    """A planetary gear with two redundant planets winds up a load."""
    model = planetary_gear()
    run = dr.simulate(model, until, inputs={"motor_torque": torque}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12))
    hand = by_hand(run.parameters, torque)
    turned = 0.5 * hand["acceleration"] * run.time**2
    shares = np.array([run[f"{planet}_on_sun_multiplier"] for planet in PLANETS])

    assert run.status.complete, run.status
    assert np.max(np.abs(run["sun"] - turned)) < 1e-8 * turned[-1]
    assert np.max(np.abs(run["sun"] - hand["ratio"] * run["carrier"])) < 1e-9 * turned[-1]
    assert np.max(np.abs(run["winch_multiplier"] - hand["pull"])) < 1e-7 * hand["pull"]
    assert np.max(np.ptp(shares, axis=0)) < 1e-7 * np.max(np.abs(shares))
    said = [note for note in dr.derive(model).notes if "repeats" in note]
    assert len(said) == 2, said

    figures = {"angles": _angles(run), "load": channel_figure(run, "lift", "lift_rate")}
    findings = (
        f"ratio {hand['ratio']:g} (Willis: 1 + z_r/z_s); sun accelerates by {hand['acceleration']:.4f} rad/s²",
        f"cable pulls with {hand['pull']:.2f} N; load rises by {run['lift'][-1]:.4f} m in {until:g} s",
        f"torque on each planet from the sun {abs(shares[0, -1]):.4f} N·m, equal for all three",
    )
    return Study("Planetary gear and winch", {"lift": run}, figures, findings)


def _angles(run: dr.Trajectory) -> Any:
    with single_panel("time [s]", "angle [rad]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        for name, label in (("sun", "sun"), ("carrier", "carrier"), ("first", "planets, against the carrier")):
            axes.plot(*run.curve(name), label=label)
    return drawing

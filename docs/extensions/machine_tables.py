"""Tables of `docs/validation.md` on machines that people ride: a motorcycle, riders, tires, cars and suspensions.

Models that tests compare too are taken from the tests' files, without pytest.
"""

from __future__ import annotations

import math
import runpy
from typing import Any

import numpy as np

import draisine as dr
from draisine.parts.riders.measurements import Measurements
from extensions import ROOT
from extensions.figures import Figure, reference


def _from_tests(path: str, name: str) -> Any:
    return runpy.run_path(str(ROOT / "tests" / path))[name]


def _pairs(where: str, listed: Any, found: Any) -> list[Figure]:
    """Eigenvalues, with real and imaginary part in rows of their own; of pairs, the upper one stands for both."""
    figures = []
    for wanted in (complex(*pair) for pair in listed if pair[1] >= 0):
        nearest = complex(found[np.abs(found - wanted).argmin()])
        pair = " ±" if wanted.imag else ""
        figures.append(Figure(f"{where}: Re λ{pair}", f"{wanted.real:.12f}", nearest.real))
        if wanted.imag:
            figures.append(Figure(f"{where}: Im λ{pair}", f"{wanted.imag:.12f}", nearest.imag))
    return figures


def sharp() -> list[Figure]:
    """The front load of statics, the speeds at which stability changes, and all eigenvalues at three speeds."""
    listed = reference("tires")["sharp1971"]["front_load_from_statics"]
    equations = dr.derive(dr.gallery.sharp_motorcycle(), work=False)
    still = dr.steady(equations, {"speed": 10.0, "lean": 0.0, "steer": 0.0})
    figures = [Figure("front load [N]", f"{listed['derived']['Zf_statics']:.12f}", still["front_normal_force"])]
    swept = dr.modes(equations, speed=np.linspace(2.0, 60.0, 117), states=("lean", "steer"))
    changes = {c.kind: c.value for c in swept.critical()}
    for change in listed["stability_changes"]:
        kind = change["mode"].partition(" ")[0]
        figures.append(Figure(f"{kind}: stability changes at [m/s]", f"{change['speed']:.12f}", changes[kind]))
    for speed in ("10.0", "30.0", "60.0"):
        straight = dr.steady(equations, {"speed": float(speed), "lean": 0.0, "steer": 0.0})
        found = straight.linearize(("lean", "steer")).essential().eigenvalues
        figures += _pairs(f"{speed.partition('.')[0]} m/s", listed["eigenvalues"][speed], found)
    return figures


def leaning_rider() -> list[Figure]:
    """Eigenvalues of a bicycle whose rider leans, for two sets of parameters."""
    case, make = reference("riders")["cases"]["11.2"], _from_tests("parts/ridden_machines.py", "leaning_rider")
    figures = []
    for name, title, speed in (("browser_jason", "Browser with Jason", "5.5"), ("stiff_hips", "stiff hips", "6.0")):
        linear = dr.linearize(make(case["parameters"][name]), {"speed": float(speed)}, states=("lean", "steer", "rider_lean"))
        listed = case["numbers"][name]["speeds"][speed]["eigenvalues"]
        figures += _pairs(f"{title}, {speed} m/s", listed, linear.essential().eigenvalues)
    return figures


def segments() -> list[Figure]:
    """Masses of the eleven segments of a measured person, and mass, height of the center and moments of the whole body."""
    case = reference("riders")["cases"]["11.3"]
    exact = case["numbers"]["male1"]["zero"]["exact_stadium_integrals"]
    human = dr.parts.Human.measured(Measurements(case["parameters"]["male1"]["measurements"]))
    figures = [
        Figure(f"{name.replace('_', ' ')}: mass [kg]", f"{wanted['mass']:.12f}", found.mass_properties.mass)
        for (name, found), wanted in zip(human.placed().items(), _in_our_order(human, exact["segments"]), strict=True)
    ]
    body, inertia = human.mass_properties(), np.diag(exact["inertia_about_com"])
    figures.append(Figure("body: mass [kg]", f"{exact['mass']:.12f}", body.mass))
    for axis, theirs, ours in (("x, forward", 1, 0), ("y, to the left", 0, 1), ("z, up", 2, 2)):  # yeadon's x is to the side
        figures.append(Figure(f"body: moment about {axis} [kg m²]", f"{inertia[theirs]:.12f}", float(body.inertia[ours, ours])))
    return figures


def _in_our_order(human: Any, listed: dict[str, Any]) -> list[Any]:
    """yeadon's names are a key and a title: P, T, C; A and B are left and right arm, J and K left and right leg."""
    keys = {"pelvis": "P", "thorax": "T", "chest": "C", "left_upper_arm": "A1", "left_forearm": "A2", "right_upper_arm": "B1"}
    keys |= {"right_forearm": "B2", "left_thigh": "J1", "left_shank": "J2", "right_thigh": "K1", "right_shank": "K2"}
    by_key = {title.partition(":")[0]: value for title, value in listed.items()}
    return [by_key[keys[name]] for name in human.placed()]


def magic_formula() -> list[Figure]:
    """Forces and aligning moment of the tire of table A3.1, in both variants, and longitudinal forces of a public table."""
    case = reference("tires")["magic_formula"]
    given = case["parameters"]["A31_pacejka2006_205_60R15"]
    figures = []
    for variant, key in (("program", "mftyre"), ("book", "book")):
        tire = dr.contact.MagicFormula("6.1", given, variant)
        for row in case["numbers"]["A31"]:
            at = {"F_z": row["Fz"], "κ": row["kappa"], "α": row["alpha"], "γ": row["gamma"]}
            where = ", ".join(f"{name} = {value:g}" for name, value in at.items() if value)
            found = tire.forces(*at.values())
            for name, value in (("F_x", found.longitudinal), ("F_y", found.lateral), ("M_z", found.aligning)):
                figures.append(Figure(f"{variant}: {name} at {where}", f"{row[key][name.replace('_', '')]:.12f}", float(value)))
    tire = dr.contact.MagicFormula("6.1", given, "book")
    for row in case["public_rows"][:3]:
        found = tire.forces(row["fz_n"], row["kappa"], row["alpha_rad"], row["gamma_rad"])
        where = f"F_z = {row['fz_n']:g}, κ = {row['kappa']:g}, α = {row['alpha_rad']:.4g}"
        figures.append(Figure(f"public table: F_x at {where}", f"{row['fx_n']!r}", float(found.longitudinal)))
    return figures


def vehicles() -> list[Figure]:
    """Closed forms: a quarter car, and the speed from which a trailer snakes, by Hurwitz's condition."""
    body, hub, spring, tire = 320.0, 42.0, 21500.0, 185000.0
    m = dr.Model("quarter_car")
    frame = dr.parts.frame(m, "body", mass=body, center_of_mass=(0, 0.6), motion="none")
    m.prismatic("heave", "ground", "body", axis="z")
    strut = dr.parts.strut(m, "strut", frame["body"], mass=hub, stiffness=spring, preload=body * 9.81, damping=0.0)
    m.spring(f"position_z({strut['axle']})", tire, rest=0.3 + (body + hub) * 9.81 / tire)
    found = np.sort(np.abs(dr.linearize(m).eigenvalues.imag))[::2]
    half, product = (body * (spring + tire) + hub * spring) / (2 * body * hub), spring * tire / (body * hub)
    roots = [math.sqrt(half - math.sqrt(half**2 - product)), math.sqrt(half + math.sqrt(half**2 - product))]
    figures = [
        Figure(f"quarter car: {name} [rad/s]", f"{root:.12f}", float(value))
        for name, root, value in zip(("bounce", "wheel hop"), roots, found, strict=True)
    ]
    towing = dr.derive(_from_tests("machines_of_parts.py", "car_with_trailer")(), work=False)
    snaking = next(c.value for c in dr.modes(towing, speed=np.linspace(20.0, 45.0, 6)).critical() if 30 < c.value < 45)
    listed = reference("tires")["cars"]["numbers"]["trailer"]["T1"]["stability_changes"][0]
    return [*figures, Figure("car with trailer: snakes from [m/s] on", f"{listed['hurwitz_root']:.12f}", snaking)]

"""The tables of `docs/validation.md`: every published figure, or another independent one, beside ours, made with the page.

The page is written by hand but for the regions between `<!-- name -->` and `<!-- /name -->`, which `refreshed` fills;
`cd docs && python -m extensions.validation` writes it anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import draisine as dr
from extensions import DOCS, machine_tables
from extensions.figures import Figure, reference, table

PAGE = DOCS / "validation.md"


# ---------------------------------------------------------------- bicycles


def _entries(name: str, printed: Sequence[Sequence[str]], ours: Any) -> list[Figure]:
    index = {0: "φ", 1: "δ"}
    return [
        Figure(f"{name}[{index[i]}{index[j]}]", printed[i][j], float(ours[i, j]))
        for i in range(2)
        for j in range(2)
        if float(printed[i][j]) != 0.0
    ]


def meijaard_matrices() -> list[Figure]:
    found = dr.bicycle.whipple_matrices(dr.gallery.bicycle()).z_down()
    printed = reference("meijaard2007")["matrices"]
    titles = {"M": "M", "C1": "C₁", "K0": "K₀", "K2": "K₂"}
    return [figure for key, title in titles.items() for figure in _entries(title, printed[key], getattr(found, key))]


def meijaard_eigenvalues() -> list[Figure]:
    """All 44: real and imaginary parts; of pairs, the upper one stands for both."""
    bike = dr.gallery.bicycle()
    figures = []
    for speed, printed in reference("meijaard2007")["eigenvalues"]["table"].items():
        found = dr.linearize(bike, {"speed": float(speed)}, states=("lean", "steer")).essential().eigenvalues
        for value in printed:
            wanted = complex(float(value["re"]), float(value["im"]))
            if wanted.imag < 0:
                continue  # its twin is there
            nearest = found[np.abs(found - wanted).argmin()]
            pair = " ±" if wanted.imag else ""
            figures.append(Figure(f"{speed} m/s: Re λ{pair}", value["re"], float(nearest.real)))
            if wanted.imag:
                figures.append(Figure(f"{speed} m/s: Im λ{pair}", value["im"].lstrip("+"), float(nearest.imag)))
    return figures


def _critical(model: Any, printed: dict[str, str], frequency: str) -> list[Figure]:
    begins, weave, capsize = dr.modes(model, speed=np.linspace(0, 10, 41), states=("lean", "steer")).critical()
    return [
        Figure("oscillation begins [m/s]", printed["v_double_root"], begins.value),
        Figure("double eigenvalue there [1/s]", printed["lambda_double_root"], begins.eigenvalue.real),
        Figure("weave speed [m/s]", printed["v_weave"], weave.value),
        Figure("weave frequency there [rad/s]", printed[frequency], abs(weave.eigenvalue.imag)),
        Figure("capsize speed [m/s]", printed["v_capsize"], capsize.value),
    ]


def meijaard_critical() -> list[Figure]:
    return _critical(dr.gallery.bicycle(), reference("meijaard2007")["critical_speeds"], "weave_frequency_at_v_weave")


def meijaard_forces() -> list[Figure]:
    still = dr.steady(dr.gallery.bicycle(), {"speed": 0.0, "lean": 0.0, "steer": 0.0})
    printed = reference("meijaard2007")["static_normal_forces_N"]
    return [Figure(f"{wheel} wheel, at rest [N]", str(printed[wheel]), still[f"{wheel}_wheel_normal_force"]) for wheel in printed]


def schwab_matrices() -> list[Figure]:
    found = dr.bicycle.whipple_matrices(dr.gallery.schwab_bicycle()).z_down()
    ours = {
        "M": ("M", found.M),
        "C1": ("C₁", found.C1),
        "K0_INCLUDING_g": ("g K₀", found.gravity * found.K0),
        "K2": ("K₂", found.K2),
    }
    printed = reference("schwab2005")["matrices"]
    return [figure for key, (title, matrix) in ours.items() for figure in _entries(title, printed[key], matrix)]


def schwab_critical() -> list[Figure]:
    printed = {name: text[:14] for name, text in reference("schwab2005")["critical_speeds"].items()}
    return _critical(dr.gallery.schwab_bicycle(), printed, "weave_frequency")


# ---------------------------------------------------------------- sources A to D


def mauny() -> list[Figure]:
    from draisine.gallery.entries.bicycle_controlled_turn import TurnLaw, mean_curvature

    bike = dr.gallery.bicycle()
    equations = dr.derive(bike)
    free = dr.simulate(bike, 5.0, start={"speed": 4.6, "roll_rate": 0.5}, method=dr.methods.PredictorCorrector(0.005))
    law = TurnLaw()
    inputs = {"steer_torque": law.steer_torque(), "pedal_torque": law.pedal_torque()}
    turn = dr.simulate(bike, 6.0, start={"speed": 6.0}, inputs=inputs)
    wandered = float(-(turn["front_wheel_contact_angle"] - turn["front_wheel_contact_angle"][0]).min())
    upright = dr.simulate(bike, 0.01, start={"speed": 4.6})
    return [
        Figure("velocities, 6 of the frame and 3 of the joints", "9", len(equations.velocities)),
        Figure("rows of constraints", "6", sum(c.level == "velocity" for c in equations.constraints)),
        Figure("independent velocities", "3", len(equations.independent)),
        Figure("ψ₃ upright: π, rear [rad]", "3.14159", float(upright["rear_wheel_contact_angle"][0])),
        Figure("ψ₂ upright: π + θ, front [rad]", "3.45575", float(upright["front_wheel_contact_angle"][0])),
        Figure("free run: speed settles, 4.62 to 4.625 [m/s]", "4.6225", float(free["speed"][-1])),
        Figure("controlled turn: mean curvature, about [1/m]", "0.067", mean_curvature(turn, 3.5)),
        Figure("controlled turn: front contact wanders, about [rad]", "0.13", wandered),
    ]


def delebecque() -> list[Figure]:
    bicycle = dr.gallery.delebecque_bicycle()
    kinds = [(c.kind.value, c.level) for c in bicycle.constraints]
    return [
        Figure("coordinates", "23", len(bicycle.coordinates)),
        Figure("holonomic constraints", "16", kinds.count(("holonomic", "position"))),
        Figure("nonholonomic constraints", "4", kinds.count(("nonholonomic", "velocity"))),
        Figure("controls", "2", len(bicycle.inputs)),
    ]


def thomsen() -> list[Figure]:
    from draisine.gallery.entries.three_body import PERIOD, three_body

    exact = dr.methods.DOP853(rtol=1e-14, atol=1e-15)
    orbit = dr.simulate(three_body(), PERIOD, method=exact, samples=2)
    descent = dr.simulate(dr.gallery.shuttle(), 0.1)
    outlet = 1 / math.sqrt(2 * 9.81)
    start = orbit.coordinates[0]
    return [
        Figure(
            "ch. 4, published period: the orbit closes after T = 6.19216933131964, x",
            f"{start[0]:.12f}",
            float(orbit.coordinates[-1][0]),
        ),
        Figure("ch. 7, closed form: outlet θ = 1/√(2 g), without noise", f"{outlet:.12f}", _outlet()),
        Figure(
            "ch. 8, published by Brenan et al.: angle of attack at the start [°]", "2.67287", math.degrees(descent["attack"][0])
        ),
        Figure("ch. 8, published by Brenan et al.: bank at the start [°]", "-0.0522096", math.degrees(descent["bank"][0])),
    ]


def _outlet() -> float:
    from draisine.gallery.entries.draining_tank import draining_tank, experiment

    data = experiment(noise=0.0, seed=1)
    found = dr.estimate(
        draining_tank(), data, {"theta": (0.05, 1.0)}, {"outflow": ("q", 1e-4)}, start={"h": 1.0}, inputs={"u": "inflow"}
    )
    return float(found["theta"])


# ---------------------------------------------------------------- classics


def classics() -> list[Figure]:
    from draisine.gallery.entries.brachistochrone import GRAVITY, cycloid, quickest

    radius, angle = cycloid()
    wire = f"{angle * math.sqrt(radius / GRAVITY):.9f}"
    speeds = np.linspace(0.6, 1.4, 9)
    disk = dr.modes(dr.gallery.rolling_disk(), speed=speeds, states=("lean",)).critical()
    return [
        Figure("brachistochrone, closed form: time along the cycloid [s]", wire, quickest().duration),
        Figure("Goddard's rocket, published in COPS 3.0 for 400 intervals: height", "1.01283634", _height()),
        Figure(
            "rolling disk, closed form: straight rolling is stable above √(g r/3) [m/s]",
            f"{math.sqrt(9.81 * 0.3 / 3):.12f}",
            disk[0].value,
        ),
        Figure(
            "trolley to rest, closed form: one meter at 1 m/s², 2 [s]", "2.000000", dr.gallery.solution("trolley_parks").duration
        ),
        Figure("sleigh, closed form: top speed √(2E/m) [m/s]", *_sleigh()),
    ]


def _height() -> float:
    from draisine.gallery.entries.goddard import ascent

    return -float(ascent().objective)


def _sleigh() -> tuple[str, float]:
    """A sleigh thrown backwards, after long: v = √(v₀² + J² ω₀²), J² = a² + k²."""
    run = dr.simulate(
        dr.gallery.chaplygin_sleigh(), 40.0, start={"speed": -1.0, "turn_rate": 0.5}, method=dr.methods.DOP853(rtol=1e-12)
    )
    return f"{math.sqrt(1.0 + (0.25**2 + 0.35**2) * 0.25):.10f}", float(run["speed"][-1])


TABLES: dict[str, Callable[[], list[Figure]]] = {
    "meijaard-matrices": meijaard_matrices,
    "meijaard-eigenvalues": meijaard_eigenvalues,
    "meijaard-critical": meijaard_critical,
    "meijaard-forces": meijaard_forces,
    "schwab-matrices": schwab_matrices,
    "schwab-critical": schwab_critical,
    "mauny": mauny,
    "delebecque": delebecque,
    "thomsen": thomsen,
    "classics": classics,
    "sharp": machine_tables.sharp,
    "leaning-rider": machine_tables.leaning_rider,
    "segments": machine_tables.segments,
    "magic-formula": machine_tables.magic_formula,
    "vehicles": machine_tables.vehicles,
}


# what the figures beside ours are, where they are not printed in a paper
SOURCES = {
    "schwab-critical": "from published matrices",
    "thomsen": "published or closed form",
    "classics": "published or closed form",
    "sharp": "independent derivation",
    "leaning-rider": "BicycleParameters",
    "segments": "exact integral",
    "magic-formula": "second implementation",
    "vehicles": "closed form",
}


def refreshed(text: str) -> str:
    """The page with every table computed anew."""
    for name, figures in TABLES.items():
        region = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", flags=re.DOTALL)
        if not region.search(text):
            raise ValueError(f"validation.md has no region <!-- {name} --> … <!-- /{name} -->")
        made = table(figures(), SOURCES.get(name, "published"))
        text = region.sub(lambda found, made=made: f"{found[1]}\n{made}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""Painlevé's rod: where Coulomb's law and rigid bodies do not fit together.

What it shows: the limits of the theory, recognized and named. The foot of a rod slides, and friction presses the rod into the
ground. With enough friction a normal force accelerates the foot *into* the ground; then the equations have no solution, or two
(P. Painlevé, Comptes Rendus 121, 1895).

What you should see: four regions in the plane of inclination and angular velocity. Runs that start in the two in the middle
end with CONTACT_INCONSISTENT or CONTACT_INDETERMINATE; the statuses at random states are those of the closed form. A rod that
slides towards these regions does not enter them: it is drawn to the point p = b = 0 and lifts off (F. Génot & B. Brogliato,
Eur. J. Mech. A 18, 1999).

By hand, for a uniform rod inclined by φ from the horizontal, whose foot slides to the side from which the tip leans away:

    aₙ = b + p N,   b = ω² (L/2) sin φ − g,   p = (1 + 3 cos² φ − 3 μ sin φ cos φ)/m.

p < 0 needs μ > 4/3, and tan φ between (3μ ∓ √(9μ² − 16))/2. There N ≥ 0, aₙ ≥ 0, N aₙ = 0 has no solution for b < 0 and two
for b > 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.falling_rod import falling_rod
from draisine.gallery.registry import Study, entry, modes_of
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, PAGE

FRICTION = 1.5
VERDICTS = {"slides": "FINISHED", "lifts": "FINISHED", "none": "CONTACT_INCONSISTENT", "two": "CONTACT_INDETERMINATE"}


def coefficients(phi: float, omega: float, mu: float = FRICTION, g: float = 9.81) -> tuple[float, float]:
    """p and b of the normal acceleration b + p N, for a rod of 1 m and 1 kg."""
    p = 1 + 3 * math.cos(phi) ** 2 - 3 * mu * math.sin(phi) * math.cos(phi)
    return p, omega**2 / 2 * math.sin(phi) - g


def verdict(phi: float, omega: float, mu: float = FRICTION) -> str:
    """Solutions of the contact at an inclination φ: "slides", "lifts", "none" or "two".

    >>> verdict(math.pi / 3, 0.0), verdict(math.pi / 3, 6.0), verdict(0.3, 0.0)
    ('none', 'two', 'slides')
    """
    p, b = coefficients(phi, omega, mu)
    if p > 0:
        return "lifts" if b > 0 else "slides"
    return "two" if b > 0 else "none"


def sliding(phi: float, omega: float, speed: float = 1.0) -> dict[str, float]:
    """A rod whose foot slides toward −x, its tip on the side of +x."""
    return {"theta": math.pi / 2 - phi, "theta_rate": -omega, "x": 0.0, "z": 0.0, "x_rate": -speed}


@entry(level="Advanced")
def painleve_paradox(count: int = 120) -> Study:
    """Painlevé's rod: no motion or two of them, in the regions that the closed form gives."""
    model, random = falling_rod(), np.random.default_rng(1895)
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in VERDICTS}
    for phi, omega in zip(random.uniform(0.1, 1.5, count), random.uniform(0.0, 8.0, count), strict=True):
        run = dr.simulate(model, 1e-6, start=sliding(phi, omega), parameters={"friction": FRICTION})
        name = verdict(phi, omega)
        assert run.status.kind == VERDICTS[name], (phi, omega, name, run.status)
        if name in ("slides", "lifts"):
            assert modes_of(run)[0].modes["foot"] == ("slip" if name == "slides" else "open")
        points[name].append((phi, omega))
    assert all(points.values())
    low, high = (math.atan((3 * FRICTION + sign * math.sqrt(9 * FRICTION**2 - 16)) / 2) for sign in (-1, 1))
    runs, drawn = {}, []
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    for rate in (1.0, 2.0, 3.0):
        run = dr.simulate(model, 0.3, start=sliding(low - 0.1, rate, 10.0), parameters={"friction": FRICTION}, method=method)
        assert run.status.kind == "FINISHED", run.status
        left = next(change.time for change in modes_of(run) if change.modes["foot"] == "open")
        at = run.at(left)
        p, b = coefficients(math.pi / 2 - at["theta"], at["theta_rate"])
        assert 0.0 < p < 1e-3 and abs(b) < 1e-4, (p, b)
        runs[f"rises_with_{rate:g}"] = run
        drawn.append(p)
    findings = (
        f"μ = {FRICTION:g}: p < 0 for inclinations from {math.degrees(low):.4f}° to {math.degrees(high):.4f}°",
        *(f"{len(found)} random states, {name}: all as the closed form says" for name, found in points.items()),
        f"three rods that slide towards p < 0 lift off where p is {', '.join(f'{p:.0e}' for p in drawn)}",
    )
    return Study("Painlevé's rod", runs, {"regions": _regions(points, low, high)}, findings)


def _regions(points: dict[str, list[tuple[float, float]]], low: float, high: float) -> Any:
    labels = {"slides": "slides on", "lifts": "lifts off", "none": "no solution", "two": "two solutions"}
    panel = single_panel("inclination φ [rad]", "angular velocity [rad/s]", width=0.8 * PAGE, height=0.5 * PAGE)
    with panel as (drawing, axes):
        for color, (name, found) in zip(COLORS, points.items(), strict=False):
            axes.plot(*zip(*found, strict=True), "o", color=color, markersize=3, label=labels[name])
        phi = np.linspace(0.1, 1.5, 300)
        axes.plot(phi, np.sqrt(2 * 9.81 / np.sin(phi)), color="black", linewidth=0.8)
        for border in (low, high):
            axes.axvline(border, color="black", linewidth=0.8)
        axes.set_ylim(0.0, 8.2)
        axes.legend()
    return drawing

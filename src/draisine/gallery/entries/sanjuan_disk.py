"""The matrices of the falling rolling disk, as printed by Sanjuan Szklarz & Jarzębowska (section VII.A) and as they are.

What it shows: a check of printed equations. M, C, g and D of the disk with three moments of inertia are derived symbolically by
the source's own method (energies, Christoffel symbols, wheel constraint (2)) and compared entry by entry.

What you should see: the constraints and the diagonal of M are correct once names are matched. Off the diagonal M lacks I₃ sin θ
between heading and spin, the gyroscopic coupling that stabilizes a rolling disk, and (I₂ − I₁) sin ψ cos ψ cos θ between lean
and heading, which vanishes for a disk. C follows from that diagonal, but lacks its own diagonal, so that Ṁ − 2C is not skew
even for the printed matrix; with M complete, all its entries have more terms. Effect of the missing terms: with the printed
kinetic energy a disk falls in 1.11 s at any speed, as if it did not spin.

How the print is read. The list of coordinates is (x, y, z, θ, φ, ψ), but rows and columns 4, 5, 6 belong to ψ, θ, φ; ẋ, ẏ, ż in C
and in the constraints mean ψ̇, θ̇, φ̇, and ψ̇, θ̇, φ̇ in the constraints mean ẋ, ẏ, ż. I₃ is the moment about the axle, I₁ about x, I₂
about z. B is (40), B = Ω_z(φ) Ω_x(θ) Ω_y(−ψ); with (41) ψ would count backwards, which the constraints deny.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import draisine as dr
from draisine.gallery.entries.disk import put_disk
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.symbolic.rendering.simplify import reduced
from draisine.view.plots.trajectories import channel_figure

COORDINATES = ("x", "y", "z", "ψ", "θ", "φ")  # in the order of the printed rows
NAMES = ("disk_x", "disk_y", "disk_z", "psi", "theta", "phi")
MASS, RADIUS, GRAVITY = 1.0, 0.3, 9.81


@live(start={"speed": 3.0, "theta": 0.3})
def sanjuan_disk() -> Model:
    """The falling rolling disk with three moments of inertia, by equations (39) and (40) of Sanjuan Szklarz & Jarzębowska."""
    m = Model("sanjuan_disk", "falling rolling disk with the names of Sanjuan Szklarz & Jarzębowska, section VII.A")
    mass, radius = m.parameter("m", MASS, "kg"), m.parameter("r", RADIUS, "m")
    moments = {1: MASS * RADIUS**2 / 4, 2: MASS * RADIUS**2 / 4, 3: MASS * RADIUS**2 / 2}  # of a uniform disk
    description = {1: "about x", 2: "about z", 3: "about the axle, y"}
    i_1, i_2, i_3 = (m.parameter(f"I_{i}", value, "kg*m^2", description[i]) for i, value in moments.items())
    m.gravity(m.parameter("g", GRAVITY, "m/s^2"))
    put_disk(m, mass, radius, (i_1, i_3, i_2), ("phi", "theta", "psi"))
    m.output("speed", "velocity_x(disk)*cos(phi) + velocity_y(disk)*sin(phi)", "m/s", "forward velocity of the center")
    m.event("fell_over", "abs(theta) - 80*pi/180", description="lean passed 80°")
    return m


@dataclass(frozen=True)
class Entry:
    """One entry of a matrix: as printed, as derived, and what the print lacks (zero where it is right)."""

    matrix: str
    row: str
    column: str
    printed: Any
    derived: Any
    lacking: Any

    @property
    def right(self) -> bool:
        return bool(self.lacking == 0)

    @property
    def name(self) -> str:
        return f"{self.matrix}[{self.row}, {self.column}]"

    def __str__(self) -> str:
        verdict = "right" if self.right else f"lacks {in_letters(self.lacking)}"
        return f"  {self.name:<10} {in_letters(self.printed)}  —  {verdict}"


def printed_matrices(known: dict[str, Any]) -> dict[str, Any]:
    """M, C and D as printed, in SymPy's symbols by name (`psi`, `psi_rate`, `I_1`, …); D in the order of its three equations."""
    from sympy import Matrix, cos, diag, eye, sin, zeros

    m, r, i1, i2, i3 = (known[n] for n in ("m", "r", "I_1", "I_2", "I_3"))
    psi, theta, phi, leant, turned = (known[n] for n in ("psi", "theta", "phi", "theta_rate", "phi_rate"))
    s, c, st, ct = sin(psi), cos(psi), sin(theta), cos(theta)
    about_vertical = st**2 * i3 + (1 - s**2) * ct**2 * i2 + s**2 * ct**2 * i1
    coriolis = zeros(6, 6)
    coriolis[3, 4] = c * s * leant * i1 - c * s * leant * i2
    coriolis[3, 5] = c * s * ct**2 * turned * i2 - c * s * ct**2 * turned * i1
    coriolis[4, 3] = c * s * leant * i2 - c * s * leant * i1
    coriolis[4, 5] = -ct * st * turned * i3 + (1 - s**2) * ct * st * turned * i2 + s**2 * ct * st * turned * i1
    coriolis[5, 3] = c * s * ct**2 * turned * i1 - c * s * ct**2 * turned * i2
    coriolis[5, 4] = ct * st * turned * i3 + (s**2 - 1) * ct * st * turned * i2 - s**2 * ct * st * turned * i1
    rolling = Matrix(
        [
            [-cos(phi) * r, -ct * sin(phi) * r, -st * cos(phi) * r],
            [-sin(phi) * r, ct * cos(phi) * r, -st * sin(phi) * r],
            [0, st * r, 0],
        ]
    )
    return {
        "M": diag(m, m, m, i3, s**2 * i2 + c**2 * i1, about_vertical),
        "C": coriolis,
        "D": eye(3).row_join(rolling),
    }


@cache
def compare_with_print() -> tuple[Entry, ...]:
    """Every entry of M, C and D that is nonzero as printed or as derived. Leans stay within ±90°."""
    from sympy import Abs, cos, sign

    reported = dr.symbolic.symbolic_equations(sanjuan_disk()).simplified()
    symbols = (*reported.coordinates, *reported.velocities, *reported.parameters)
    known = {symbol.name: symbol for symbol in symbols}
    lean = cos(known["theta"])
    upright = {sign(lean): 1, Abs(lean): lean}
    places = [[c.name for c in reported.coordinates].index(name) for name in NAMES]
    rows = reported.D.xreplace(upright)[[1, 2, 0], :]  # along x, along y, height
    derived = {"M": reported.M[places, places], "C": reported.C[places, places], "D": rows[:, places]}
    printed = printed_matrices(known)
    found = []
    for matrix, entries in derived.items():
        for i, row in enumerate(COORDINATES[: entries.rows]):
            for j, column in enumerate(COORDINATES[: entries.cols]):
                there = printed[matrix][i, j]
                true = _short(entries[i, j], reported.velocities)
                if there != 0 or true != 0:
                    found.append(Entry(matrix, row, column, there, true, _short(true - there, reported.velocities)))
    return tuple(found)


def _short(entry: Any, rates: tuple[Any, ...]) -> Any:
    """An entry that is constant or linear in the rates, with each coefficient simplified separately."""
    from sympy import expand_trig, factor_terms

    entry = expand_trig(entry)
    still = reduced(entry.xreplace(dict.fromkeys(rates, 0)))
    return still + sum(rate * factor_terms(reduced(entry.diff(rate))) for rate in rates if entry.has(rate))


def in_letters(expression: Any) -> str:
    """A formula in one line, with Greek letters and dots.

    >>> import sympy
    >>> in_letters(sympy.sympify("I_2*sin(theta)**2*phi_rate/2"))
    'I₂ φ̇ sin²θ/2'
    """
    import re

    text = str(expression)
    for name, letter in (("theta", "θ"), ("phi", "φ"), ("psi", "ψ")):
        text = text.replace(f"{name}_rate", f"{letter}\u0307").replace(name, letter)
    text = re.sub(r"\bI_([123])", lambda found: "I" + "₁₂₃"[int(found[1]) - 1], text)
    text = re.sub(r"\b(sin|cos)\(([θφψ])\)\*\*2", r"\1²\2", text)
    text = re.sub(r"\b(sin|cos)\(([θφψ])\)", r"\1 \2", text)
    return text.replace("**2", "²").replace("*", " ").replace("-", "−")


def by_the_print() -> dr.Equations:
    """A disk with the printed kinetic energy ½ q̇ᵀM q̇, by Lagrange's equations; constraints and gravity are right."""
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    q = {name: dynamicsymbols(name) for name in NAMES}
    values = {p.name: p.default for p in sanjuan_disk().freeze().parameters}
    p = {name: sp.Symbol(name) for name in values}
    printed = printed_matrices({**q, **p, **{f"{name}_rate": c.diff() for name, c in q.items()}})
    rates = sp.Matrix([c.diff() for c in q.values()])
    rolling = printed["D"] * rates
    return dr.lagrangian(
        "by_the_print",
        list(q.values()),
        kinetic=(rates.T * printed["M"] * rates)[0] / 2,
        potential=p["m"] * p["g"] * q["disk_z"],
        holonomic={"height": q["disk_z"] - p["r"] * sp.cos(q["theta"])},
        nonholonomic={"along_x": rolling[0], "along_y": rolling[1]},
        parameters={p[name]: value for name, value in values.items()},
        start={q["disk_z"]: RADIUS},
        outputs={"speed": rolling[0].subs(p["r"], 0) * sp.cos(q["phi"]) + rolling[1].subs(p["r"], 0) * sp.sin(q["phi"])},
    )


@entry(level="Advanced")
def sanjuan_disk_matrices(until: float = 2.0) -> Study:
    """The printed matrices of the rolling disk against the derived ones, entry by entry, and the effect of missing terms."""
    entries = compare_with_print()
    verdict = {entry.name: entry.right for entry in entries}
    assert all(entry.right for entry in entries if entry.matrix == "D" or (entry.matrix == "M" and entry.row == entry.column))
    assert not any(verdict[name] for name in ("M[ψ, φ]", "M[θ, φ]", "C[θ, θ]", "C[φ, φ]"))

    fallen = dr.Event("fell_over", "abs(theta) - 80*pi/180", "stop", description="lean passed 80°")
    start = {"speed": 2.0, "theta_rate": 0.05, "phi_rate": 0.0}
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    run = dr.simulate(sanjuan_disk(), until, start=start, method=method)
    other, resting = (
        dr.simulate(by_the_print(), until, start={**start, "speed": speed}, events=[fallen], method=method)
        for speed in (2.0, 0.0)
    )
    for motion in (run, other, resting):
        assert motion.energy_drift is not None and motion.energy_drift < 1e-8
    assert run.status.complete and abs(run["theta"]).max() < math.radians(1), run.status
    if until >= 2.0:
        assert [event.name for event in other.events] == ["fell_over"], other.status
        assert abs(other.time[-1] - resting.time[-1]) < 1e-6  # it falls as if it did not spin

    wrong = [entry for entry in entries if not entry.right]
    findings = (
        "entry      printed  —  derived: the same, or what is lacking (g, which is not printed, is m g along z)",
        *(str(entry) for entry in entries),
        f"{len(entries)} entries, {len(entries) - len(wrong)} right, {len(wrong)} incomplete",
        f"rolling at {start['speed']:g} m/s and knocked, a disk wobbles by {math.degrees(abs(run['theta']).max()):.1f}°; "
        f"with the printed kinetic energy: {other.status}, and at rest: {resting.status}",
    )
    figures = {
        "disk": channel_figure(run, "theta", "phi_rate", "speed"),
        "by_the_print": channel_figure(other, "theta", "phi_rate", "speed"),
    }
    return Study("Printed and derived matrices of the rolling disk", {"disk": run, "by_the_print": other}, figures, findings)

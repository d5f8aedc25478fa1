"""The Chaplygin sleigh: a body on one blade turns until its mass leads.

What it shows: no friction, energy conserved, and yet asymptotic stability in one direction. Started with its mass *behind* the
blade, the sleigh turns until the mass leads, and runs straight on. (S. A. Chaplygin, 1911; C. Carathéodory, 1933.) This cannot
happen to a system with holonomic constraints, whose volume in phase space is conserved.

What you should see: the blade moves backward, stops in a cusp and moves forward; the rate of turn rises to √(2E/m)/J and
decays; in the (v, ω) plane every motion runs along its own half ellipse from v = −√(2E/m) to v = +√(2E/m).

Its equations by hand. Let e₁ point along the blade and e₂ to the left; v is the velocity of the blade along e₁, ω the rate of
turn, a the distance of the mass ahead of the blade, I = m k² the inertia about the center of mass, F the force of the ground
along e₂:

    velocity of the mass       v e₁ + a ω e₂
    its acceleration           (v̇ − a ω²) e₁ + (a ω̇ + v ω) e₂
    Newton and Euler           v̇ = a ω²,   m (a ω̇ + v ω) = F,   m k² ω̇ = −a F
    so, with J² = a² + k²      ω̇ = −a v ω / J²,   F = m v ω k² / J²

    energy                     v² + J² ω² = V² = 2 E / m
    v̇ = a (V² − v²) / J²       v = V tanh s,   ω = (V/J) / cosh s,   s = a V (t − t₀) / J²
    ∫ ω dt                     heading = 2 (J/a) arctan tanh(s/2) + constant: π J/a in all, from first to last
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.gallery.shapes import STEEL
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, FAINT, INK, PAGE
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

Reals = NDArray[np.float64]


@live(start={"speed": 1.0, "turn_rate": 1.5})
def chaplygin_sleigh() -> Model:
    """A planar body on a knife edge, its center of mass ahead of the blade."""
    m = Model("chaplygin_sleigh", "planar body on a knife edge behind its center of mass")
    m.gravity(0)
    a = m.parameter("mass_ahead", 0.25, "m", "center of mass ahead of the blade")
    k = m.parameter("gyration_radius", 0.35, "m", "√(I/m) about the center of mass")
    mass = m.parameter("m_sleigh", 2.0, "kg")
    deck = [(0.3, 0.0), (0.2, 0.14), (-0.35, 0.2), (-0.35, -0.2), (0.2, -0.14)]
    shapes: list[dict[str, Any]] = [
        {"kind": "prism", "profile": deck, "length": 0.03, "axis": "z", "at": (0, 0, 0.1)},
        {"kind": "box", "size": (0.2, 0.008, 0.09), "at": (-a, 0, 0.045), "color": STEEL},  # the blade
        *({"kind": "sphere", "radius": 0.04, "at": (0.12, side, 0.04), "color": STEEL} for side in (-0.1, 0.1)),  # free casters
    ]
    sleigh = m.body("sleigh", mass=mass, inertia=(mass * k**2, mass * k**2, mass * k**2), shapes=shapes)
    m.planar(sleigh)
    m.knife_edge(sleigh, at=(-a, 0, 0), along="x", name="blade")
    m.point("blade", sleigh, at=(-a, 0, 0))
    m.output("speed", "body_velocity_x(blade)", "m/s", "of the blade along itself, positive with the mass ahead")
    m.output("turn_rate", "rate_z(sleigh)", "rad/s", "positive to the left")
    m.output("blade_x", "position_x(blade)", "m")
    m.output("blade_y", "position_y(blade)", "m")
    return m


@dataclass(frozen=True)
class ClosedForm:
    """The motion in closed form: see the head of this file."""

    a: float
    k: float
    m: float
    speed: float  # v at t = 0
    turn_rate: float  # ω at t = 0

    @property
    def j(self) -> float:
        return math.hypot(self.a, self.k)

    @property
    def top_speed(self) -> float:
        """V = √(2E/m)."""
        return math.hypot(self.speed, self.j * self.turn_rate)

    def phase(self, t: Reals) -> Reals:
        """s of the formulas; turning to the left is assumed, ω > 0."""
        return math.atanh(self.speed / self.top_speed) + self.a * self.top_speed / self.j**2 * np.asarray(t)

    def at(self, t: Reals) -> dict[str, Reals]:
        """Velocity along the blade, rate of turn, heading since t = 0 and force across the blade."""
        s, s0 = self.phase(t), self.phase(np.zeros(1))
        v, w = self.top_speed * np.tanh(s), self.top_speed / self.j / np.cosh(s)
        heading = 2 * self.j / self.a * (np.arctan(np.tanh(s / 2)) - np.arctan(np.tanh(s0 / 2)))
        return {
            "speed": v,
            "turn_rate": w,
            "sleigh_heading": heading,
            "blade_force_across": self.m * v * w * (self.k / self.j) ** 2,
        }


@entry(level="First steps", film="chaplygin_sleigh", charts=("speed", "turn_rate"))
def sleigh_turns_round(until: float = 7.0) -> Study:
    """A sleigh started with its mass behind the blade turns and runs on with the mass ahead."""
    model = chaplygin_sleigh()
    start = {"speed": -1.0, "turn_rate": 0.05}
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    run = dr.simulate(model, until, start=start, method=method)
    p = run.parameters
    exact = ClosedForm(p["mass_ahead"], p["gyration_radius"], p["m_sleigh"], **start)
    errors = {name: float(np.max(np.abs(run[name] - values))) for name, values in exact.at(run.time).items()}

    assert run.status.complete, run.status
    assert max(errors.values()) < 1e-9, errors
    assert run.energy_drift is not None and run.energy_drift < 1e-10
    if until >= 7.0:
        assert run["speed"][0] < 0 and run["speed"][-1] > 0.999 * exact.top_speed  # the mass leads now
        assert 0 < run["turn_rate"][-1] < 0.02 * run["turn_rate"].max()

    others = [dr.simulate(model, until, start={"speed": v, "turn_rate": w}) for v, w in _OTHERS]
    figures = {
        "path": track_figure(run, ("blade", "sleigh"), snapshots=0.35),
        "speeds_and_force": channel_figure(run, "speed", "turn_rate", "blade_force_across"),
        "ellipses": _ellipses([run, *others], exact.j),
    }
    findings = (
        f"speed along the blade: {run['speed'][0]:.3f} → {run['speed'][-1]:.6f} m/s; √(2E/m) = {exact.top_speed:.6f} m/s",
        f"turned by {math.degrees(run['sleigh_heading'][-1]):.2f}°; from first to last π J/a = {180 * exact.j / exact.a:.2f}°",
        f"largest difference from the closed form: {max(errors.values()):.1e}",
    )
    return Study("Chaplygin sleigh, thrown backwards", {"chaplygin_sleigh": run}, figures, findings)


_OTHERS = ((-0.8, -0.2), (-0.55, 0.2), (0.0, -1.3), (0.0, 0.9))  # speed, rate of turn


def _ellipses(runs: list[Trajectory], j: float) -> Any:
    """Motions in the plane of the speed along the blade and the rate of turn, with the ellipses of constant energy."""
    with single_panel(
        "speed along the blade, positive with the mass ahead [m/s]", "rate of turn [rad/s]", width=0.8 * PAGE, height=0.6 * PAGE
    ) as (drawing, axes):
        around = np.linspace(0, 2 * math.pi, 200)
        for run, color in zip(runs, COLORS, strict=False):
            v, w = run["speed"], run["turn_rate"]
            top = math.hypot(v[0], j * w[0])
            axes.plot(top * np.cos(around), top / j * np.sin(around), color=FAINT, linewidth=0.7, linestyle=":")
            axes.plot(v, w, color=color)
            axes.plot(v[0], w[0], "o", color=color, markerfacecolor="white", markersize=5)
            axes.plot(v[-1], w[-1], "o", color=color, markersize=5)
        axes.plot([], [], "o", color=INK, markerfacecolor="white", markersize=5, label="start")
        axes.plot([], [], "o", color=INK, markersize=5, label=f"after {runs[0].time[-1]:g} s")
        axes.plot([], [], color=FAINT, linewidth=0.7, linestyle=":", label="constant energy")
    return drawing

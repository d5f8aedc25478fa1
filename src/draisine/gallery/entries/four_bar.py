"""The four-bar linkage: a crank-rocker with one loop and one degree of freedom.

What it shows: a loop closed by two residuals, a motor as a rheonomic constraint, and its torque as that constraint's
multiplier. The bars obey Grashof's rule (shortest + longest ≤ the other two, and the shortest is the crank), so the crank
reaches every position, and its rate is always a valid independent velocity.

What you should see: the rocker oscillates between two dead centers, slower one way than the other. Released, the crank runs
unevenly, because its effective moment of inertia depends on its angle; driven at constant speed, the motor torque changes sign
four times per turn.

By hand, with the angles φ of the crank, χ of the coupler and ψ of the rocker against the ground bar (positive about y, that is
from x downwards) and the bars' lengths a, b, c, d:

    the loop             a e(φ) + b e(χ) = d e(0) + c e(ψ),   e(α) = (cos α, sin α)
    Freudenstein         (d/a) cos ψ − (d/c) cos φ + (a² − b² + c² + d²)/(2 a c) = cos(φ − ψ)
    its rates            χ′ = dχ/dφ = a sin(ψ − φ)/(b sin(χ − ψ)),   ψ′ = a sin(χ − φ)/(c sin(χ − ψ))
    dead centers         c² + d² + 2 c d cos ψ = (b ± a)²
    energy               ½ J(φ) φ̇² + V(φ) = E,   J the sum of m |r′|² + I α′² over the bars
    torque at φ̇ = ω      τ = ½ ω² J′(φ) + V′(φ)

F. Freudenstein, Approximate synthesis of four-bar linkages, Trans. ASME 77 (1955).
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
BARS = ("crank", "coupler", "rocker")


@live(start={"crank_angle_rate": 8.0})
def four_bar() -> Model:
    """A crank-rocker of slender bars in a vertical plane, driven by a torque on the crank."""
    m = Model("four_bar", "crank-rocker of slender bars in a vertical plane")
    lengths = [m.parameter(f"l_{bar}", size, "m") for bar, size in zip(BARS, (0.1, 0.4, 0.3), strict=True)]
    between = m.parameter("l_ground", 0.4, "m", "between the pivots of crank and rocker")
    density = m.parameter("density", 2.0, "kg/m", "of all bars, mass per length")
    for bar, length in zip(BARS, lengths, strict=True):
        about = density * length**3 / 12
        m.body(bar, mass=density * length, center_of_mass=(length / 2, 0, 0), inertia=(0, about, about))
    m.revolute("crank_angle", "ground", "crank", axis="y")
    m.revolute("knee", "crank", "coupler", axis="y", at=(lengths[0], 0, 0), default=-0.8)
    m.revolute("rocker_angle", "ground", "rocker", axis="y", at=(between, 0, 0), default=-1.5)
    m.point("coupler_end", "coupler", (lengths[1], 0, 0))
    m.point("rocker_end", "rocker", (lengths[2], 0, 0))
    m.close_point("loop", "rocker_end", "coupler_end", axes="xz")
    m.independent("crank_angle_rate")
    m.generalized_force("crank_angle", m.input("crank_torque", "N*m"))
    m.output("coupler_angle", "crank_angle + knee", "rad")
    for point in ("coupler", "coupler_end"):
        m.output(f"{point}_x", f"position_x({point})", "m")
        m.output(f"{point}_z", f"position_z({point})", "m")
    return m


def four_bar_driven() -> Model:
    """The same linkage with a motor that turns the crank at constant speed; no degree of freedom is left."""
    m = four_bar()
    m.name = "four_bar_driven"
    m.independent()
    m.parameter("motor_speed", 10.0, "rad/s")
    m.prescribe("motor", "crank_angle", "motor_speed*t")
    return m


@dataclass(frozen=True)
class ClosedForm:
    """Angles, rates and energies by formulas: see the head of this file. All as functions of the crank's angle φ."""

    crank: float
    coupler: float
    rocker: float
    ground: float
    density: float
    gravity: float = 9.81

    @staticmethod
    def of(parameters: Mapping[str, float]) -> ClosedForm:
        a, b, c, d = (parameters[f"l_{bar}"] for bar in (*BARS, "ground"))
        return ClosedForm(a, b, c, d, parameters["density"])

    def angles(self, phi: Reals) -> tuple[Reals, Reals]:
        """χ and ψ of the assembly mode with coupler and rocker above the pivots; ψ in (−π, 0]."""
        x, z = self.crank * np.cos(phi) - self.ground, self.crank * np.sin(phi)  # the crank's end, seen from the rocker's pivot
        apart = np.hypot(x, z)
        inner = np.arccos((apart**2 + self.rocker**2 - self.coupler**2) / (2 * apart * self.rocker))
        psi = np.arctan2(-z, -x) - math.pi + inner
        chi = np.arctan2(self.rocker * np.sin(psi) - z, self.rocker * np.cos(psi) - x)
        return chi, psi

    def ratios(self, phi: Reals) -> tuple[Reals, Reals]:
        """χ′ and ψ′."""
        chi, psi = self.angles(phi)
        across = np.sin(chi - psi)
        return (
            self.crank * np.sin(psi - phi) / (self.coupler * across),
            self.crank * np.sin(chi - phi) / (self.rocker * across),
        )

    def inertia(self, phi: Reals) -> Reals:
        """J(φ), such that the kinetic energy is ½ J φ̇²."""
        a, b, c = self.crank, self.coupler, self.rocker
        (chi, _), (coupler, rocker) = self.angles(phi), self.ratios(phi)
        # a bar about its end: m l²/3; the coupler's middle moves with the crank's end and turns about it
        middle = a**2 + (b / 2 * coupler) ** 2 + a * b * coupler * np.cos(chi - phi)
        total = a**3 / 3 + c**3 / 3 * rocker**2 + b * middle + b**3 / 12 * coupler**2
        return self.density * total

    def potential(self, phi: Reals) -> Reals:
        """V(φ); angles are counted downwards, so that a positive sine is low."""
        chi, psi = self.angles(phi)
        a, b, c = self.crank, self.coupler, self.rocker
        height = a * a / 2 * np.sin(phi) + b * (a * np.sin(phi) + b / 2 * np.sin(chi)) + c * c / 2 * np.sin(psi)
        return -self.density * self.gravity * height

    def torque(self, phi: Reals, speed: float) -> Reals:
        """½ ω² J′ + V′, the derivatives by differences of fourth order."""
        h = 1e-3

        def slope(f: Any) -> Reals:
            return (8 * (f(phi + h) - f(phi - h)) - (f(phi + 2 * h) - f(phi - 2 * h))) / (12 * h)

        return 0.5 * speed**2 * slope(self.inertia) + slope(self.potential)

    @property
    def dead_centers(self) -> tuple[float, float]:
        """ψ where crank and coupler are in line, folded and stretched; the rocker swings between them."""
        c, d = self.rocker, self.ground
        folded, stretched = (
            -math.acos(((self.coupler + sign * self.crank) ** 2 - c**2 - d**2) / (2 * c * d)) for sign in (-1, 1)
        )
        return folded, stretched


@entry(level="First steps", film="free")
def four_bar_turns(until: float = 3.0) -> Study:
    """A four-bar linkage, free and driven by a motor: uneven running, dead centers, and the torque for constant speed."""
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    free = dr.simulate(four_bar(), until, start={"crank_angle": 0.0, "crank_angle_rate": 15.0}, method=method)
    driven = dr.simulate(four_bar_driven(), 2 * math.pi / 10, method=method, samples=721)
    exact = ClosedForm.of(free.parameters)

    for run in (free, driven):
        assert run.status.complete, run.status
        chi, psi = exact.angles(run["crank_angle"])
        assert np.max(np.abs(_wrapped(run["rocker_angle"] - psi))) < 1e-9
        assert np.max(np.abs(_wrapped(run["coupler_angle"] - chi))) < 1e-9
    energy = 0.5 * exact.inertia(np.zeros(1)) * 15.0**2 + exact.potential(np.zeros(1))
    by_hand = np.sqrt(2 * (energy - exact.potential(free["crank_angle"])) / exact.inertia(free["crank_angle"]))
    uneven = float(np.max(np.abs(free["crank_angle_rate"] - by_hand)))
    assert uneven < 1e-7, uneven
    torque = exact.torque(driven["crank_angle"], 10.0)
    apart = float(np.max(np.abs(driven["motor_multiplier"] - torque)))
    assert apart < 1e-8 * np.max(np.abs(torque)) + 1e-8, apart
    low, high = exact.dead_centers
    reached = np.min(driven["rocker_angle"]), np.max(driven["rocker_angle"])
    assert low - 1e-9 < reached[0] < low + 1e-4 and high - 1e-4 < reached[1] < high + 1e-9, reached  # sampled by half degrees

    figures = {
        "positions": _positions(driven, exact),
        "motor": _motor(driven, torque),
        "running_free": channel_figure(free, "crank_angle_rate", "rocker_angle_rate", "rocker_angle"),
    }
    findings = (
        f"rocker swings from {math.degrees(low):.2f}° to {math.degrees(high):.2f}°",
        f"let go: crank between {free['crank_angle_rate'].min():.3f} and {free['crank_angle_rate'].max():.3f} rad/s, "
        f"within {uneven:.0e} of √(2(E − V)/J)",
        f"motor torque from {torque.min():.3f} to {torque.max():.3f} N·m, within {apart:.0e} of ½ω²J′ + V′",
    )
    return Study("Four-bar linkage, free and driven", {"free": free, "driven": driven}, figures, findings)


def _wrapped(angle: Reals) -> Reals:
    """To (−π, π]."""
    return np.asarray(np.arctan2(np.sin(angle), np.cos(angle)))


def _positions(run: dr.Trajectory, exact: ClosedForm) -> Any:
    """The linkage in twelve positions, and the path of the rocker's end."""
    with single_panel("x [m]", "z [m]", width=0.8 * PAGE, height=0.62 * PAGE, equal=True) as (drawing, axes):
        for k in range(0, 720, 60):
            x = [0.0, run["coupler_x"][k], run["coupler_end_x"][k], exact.ground]
            z = [0.0, run["coupler_z"][k], run["coupler_end_z"][k], 0.0]
            axes.plot(x, z, color=COLORS[0], alpha=1.0 if k == 0 else 0.3, marker="o", markersize=3)
        axes.plot(run["coupler_end_x"], run["coupler_end_z"], color=COLORS[1])
    return drawing


def _motor(run: dr.Trajectory, torque: Reals) -> Any:
    with single_panel("crank angle [°]", "torque [N·m]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        degrees = np.degrees(run["crank_angle"])
        axes.plot(degrees, run["motor_multiplier"], label="multiplier of the motor")
        axes.plot(degrees[::24], torque[::24], "o", markersize=3, label="½ω²J′ + V′")
    return drawing

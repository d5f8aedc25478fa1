"""The slider-crank: an engine's crank, connecting rod and piston, free and driven at constant speed.

What it shows: a loop with a slider in it, described in two ways that give one motion: the piston on its guide and the pin
closed (`slider_crank`), or the piston hung on the rod and its guide closed (`slider_crank_by_guide`). The multipliers of the
loop closure are the forces in the pin; that of the motor is its torque.

What you should see: free, the crank is slow at mid-stroke, where the piston is fast, and fast at the dead centers; at constant
speed the piston's acceleration is r ω² (cos φ + λ cos 2φ) up to a few per cent of higher harmonics.

By hand, with the crank's radius r, the rod's length l, λ = r/l, and all angles from the line of the stroke:

    rod                 sin β = λ sin φ,   β′ = dβ/dφ = λ cos φ / cos β
    piston              x = r cos φ + l cos β,   x′ = −r sin φ − l β′ sin β
    energy              ½ J(φ) φ̇² + V(φ) = E
    one turn            T = ∫₀^2π √(J / (2 (E − V))) dφ
    at φ̇ = ω            torque ½ ω² J′ + V′;   force of the pin on the piston m ω² x″ along the stroke
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.expr.expression import Expr
from draisine.gallery.registry import Study, entry, live
from draisine.gallery.shapes import STEEL
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

Reals = NDArray[np.float64]


@live(start={"crank_angle_rate": 8.0})
def slider_crank() -> Model:
    """Crank, connecting rod and a piston that slides along x; the pin in the piston closes the loop."""
    m, rod_length = _crank_and_rod("slider_crank")
    m.prismatic("stroke", "ground", "piston", axis="x", default=0.18, span=(0.1, 0.18))
    m.point("small_end", "rod", (rod_length, 0, 0))
    m.close_point("pin", "piston", "small_end", axes="xz")
    m.output("piston_x", "stroke", "m")
    return m


@live(start={"crank_angle_rate": 8.0})
def slider_crank_by_guide() -> Model:
    """The same engine with the piston hinged to the rod; the guide in the cylinder closes the loop."""
    m, rod_length = _crank_and_rod("slider_crank_by_guide")
    m.revolute("wrist", "rod", "piston", axis="y", at=(rod_length, 0, 0))
    m.close_slider("guide", "ground", "piston", axis="x")
    m.output("piston_x", "position_x(piston)", "m")
    return m


def slider_crank_driven() -> Model:
    """The engine driven at constant speed."""
    m = slider_crank()
    m.name = "slider_crank_driven"
    m.independent()
    m.parameter("motor_speed", 100.0, "rad/s")
    m.prescribe("motor", "crank_angle", "motor_speed*t")
    return m


def _crank_and_rod(name: str) -> tuple[Model, Expr]:
    m = Model(name, "crank, connecting rod and piston; the stroke is along x")
    radius = m.parameter("crank_radius", 0.04, "m")
    length = m.parameter("rod_length", 0.14, "m")
    flywheel = m.parameter("i_crank", 0.004, "kg*m^2", "of crank and flywheel, balanced")
    m_rod, to_center = m.parameter("m_rod", 0.6, "kg"), m.parameter("rod_center", 0.045, "m", "from the crank's end")
    i_rod = m.parameter("i_rod", 0.0015, "kg*m^2", "about the rod's own center of mass")
    web = {"kind": "tube", "path": [(0, 0, 0), (radius, 0, 0)], "radius": 0.009}
    disk = {"kind": "cylinder", "radius": 0.055, "length": 0.012, "at": (0, 0.03, 0), "color": STEEL}
    can = {"kind": "cylinder", "radius": 0.03, "length": 0.045, "axis": "x", "at": (0.008, 0, 0)}
    m.body("crank", mass=3.0, inertia=(flywheel, flywheel, flywheel), shapes=[web, disk])
    m.body("rod", mass=m_rod, center_of_mass=(to_center, 0, 0), inertia=(0, i_rod, i_rod))
    m.body("piston", mass=m.parameter("m_piston", 0.5, "kg"), inertia=(4e-4, 4e-4, 4e-4), shapes=[can])
    m.revolute("crank_angle", "ground", "crank", axis="y")
    m.revolute("rod_angle", "crank", "rod", axis="y", at=(radius, 0, 0))
    m.independent("crank_angle_rate")
    m.generalized_force("crank_angle", m.input("crank_torque", "N*m"))
    return m, length


@dataclass(frozen=True)
class ClosedForm:
    """Everything as a function of the crank's angle φ, which is counted from x downwards: see the head of this file."""

    radius: float
    rod: float
    flywheel: float
    m_rod: float
    rod_center: float
    i_rod: float
    m_piston: float
    gravity: float = 9.81

    @staticmethod
    def of(parameters: Mapping[str, float]) -> ClosedForm:
        names = ("crank_radius", "rod_length", "i_crank", "m_rod", "rod_center", "i_rod", "m_piston")
        return ClosedForm(*(parameters[name] for name in names))

    def piston(self, phi: Reals) -> Reals:
        return self.radius * np.cos(phi) + np.sqrt(self.rod**2 - (self.radius * np.sin(phi)) ** 2)

    def _swing(self, phi: Reals) -> tuple[Reals, Reals, Reals]:
        """sin β, cos β, β′; the rod stands at −β against the stroke."""
        sine = self.radius / self.rod * np.sin(phi)
        cosine = np.sqrt(1 - sine**2)
        return sine, cosine, self.radius / self.rod * np.cos(phi) / cosine

    def inertia(self, phi: Reals) -> Reals:
        """J(φ): flywheel, the rod's center of mass and its turning, the piston."""
        r, s = self.radius, self.rod_center
        sine, cosine, slope = self._swing(phi)
        along = -r * np.sin(phi) - s * slope * sine
        down = r * np.cos(phi) - s * slope * cosine
        stroke = -r * np.sin(phi) - self.rod * slope * sine
        return self.flywheel + self.m_rod * (along**2 + down**2) + self.i_rod * slope**2 + self.m_piston * stroke**2

    def potential(self, phi: Reals) -> Reals:
        """V(φ): only the rod rises and falls."""
        return -self.m_rod * self.gravity * (self.radius * np.sin(phi) - self.rod_center * self._swing(phi)[0])

    def rate(self, phi: Reals, start: float) -> Reals:
        """φ̇ at φ after a start at φ = 0 with this rate."""
        zero = np.zeros(1)
        energy = 0.5 * self.inertia(zero) * start**2 + self.potential(zero)
        return np.sqrt(2 * (energy - self.potential(phi)) / self.inertia(phi))

    def turn(self, start: float) -> float:
        """Time of one turn: a periodic integrand, for which the plain sum converges faster than any power."""
        return float(np.mean(1 / self.rate(np.linspace(0, 2 * math.pi, 4096, endpoint=False), start)) * 2 * math.pi)

    def torque(self, phi: Reals, speed: float) -> Reals:
        return 0.5 * speed**2 * _slope(self.inertia, phi) + _slope(self.potential, phi)

    def piston_acceleration(self, phi: Reals, speed: float) -> Reals:
        """ω² x″, by differences of fourth order."""
        h, x = 2e-3, self.piston
        curved = (16 * (x(phi + h) + x(phi - h)) - (x(phi + 2 * h) + x(phi - 2 * h)) - 30 * x(phi)) / (12 * h**2)
        return speed**2 * curved


def _slope(f: Callable[[Reals], Reals], phi: Reals) -> Reals:
    h = 1e-3
    return (8 * (f(phi + h) - f(phi - h)) - (f(phi + 2 * h) - f(phi - 2 * h))) / (12 * h)


@entry(level="First steps", film="by_pin")
def slider_crank_runs(turns: int = 4) -> Study:
    """An engine's slider-crank, free and at constant speed: uneven running, and forces as multipliers."""
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    start = 30.0
    exact = ClosedForm.of(dr.simulate(slider_crank(), 1e-3, start={"crank_angle_rate": start}).parameters)
    period = exact.turn(start)
    runs = {
        name: dr.simulate(model(), turns * period, start={"crank_angle_rate": start}, method=method, samples=200 * turns + 1)
        for name, model in (("by_pin", slider_crank), ("by_guide", slider_crank_by_guide))
    }
    driven = dr.simulate(slider_crank_driven(), 2 * math.pi / 100, method=method, samples=361)

    for run in (*runs.values(), driven):
        assert run.status.complete, run.status
        assert np.max(np.abs(run["piston_x"] - exact.piston(run["crank_angle"]))) < 1e-10
    for run in runs.values():
        assert abs(run["crank_angle"][-1] - 2 * math.pi * turns) < 1e-8
        assert np.max(np.abs(run["crank_angle_rate"] - exact.rate(run["crank_angle"], start))) < 1e-7
    apart = float(np.max(np.abs(runs["by_pin"]["crank_angle"] - runs["by_guide"]["crank_angle"])))
    assert apart < 1e-8, apart
    phi, speed = driven["crank_angle"], 100.0
    acceleration = exact.piston_acceleration(phi, speed)
    # The piston holds the rod with the multiplier, so the rod holds the piston with its opposite.
    assert np.max(np.abs(-driven["pin_x_multiplier"] / exact.m_piston - acceleration)) < 1e-6 * np.max(np.abs(acceleration))
    torque = exact.torque(phi, speed)
    assert np.max(np.abs(driven["motor_multiplier"] - torque)) < 1e-7 * np.max(np.abs(torque))

    figures = {
        "running_free": channel_figure(runs["by_pin"], "crank_angle_rate", "piston_x"),
        "piston": _harmonics(driven, exact, acceleration, speed),
    }
    rate = runs["by_pin"]["crank_angle_rate"]
    findings = (
        f"free: {rate.min():.3f} to {rate.max():.3f} rad/s, one turn in {period:.6f} s by quadrature and run alike",
        f"closed at the pin or at the guide: the same motion within {apart:.0e} rad",
        f"at {speed:g} rad/s: piston accelerates by up to {np.abs(acceleration).max():.0f} m/s², torque up to "
        f"{np.abs(torque).max():.2f} N·m",
    )
    return Study("Slider-crank, free and driven", {**runs, "driven": driven}, figures, findings)


def _harmonics(run: dr.Trajectory, exact: ClosedForm, acceleration: Reals, speed: float) -> Any:
    phi = run["crank_angle"]
    first = -exact.radius * speed**2 * np.cos(phi)
    second = -exact.radius * speed**2 * exact.radius / exact.rod * np.cos(2 * phi)
    with single_panel("crank angle [°]", "piston's acceleration [m/s²]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        degrees = np.degrees(phi)
        axes.plot(degrees, -run["pin_x_multiplier"] / exact.m_piston, label="pin's force / mass")
        axes.plot(degrees[::12], acceleration[::12], "o", markersize=3, label="closed form")
        axes.plot(degrees, first, "--", label="first harmonic")
        axes.plot(degrees, first + second, ":", label="first and second")
    return drawing

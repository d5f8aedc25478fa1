"""Rolling on curved ground: a wheel on a sinusoidal road, with an implicit contact point.

What it shows: the ground is given by its height, z = a sin(2πx/L); the contact point is a pair of surface parameters determined
by the contact conditions, and the normal force is a multiplier.

What you should see: the hub moves along the road's parallel curve, flatter over the crests and sharper in the troughs; the
wheel is slow on the crests; its normal force is largest in the troughs. Above a limit speed the normal force on the crests
would be negative.

By hand, with the road's slope s′ = tan α at the place x of contact and c = cos α:

    hub         (x − R sin α, s + R cos α)
    its way     dσ = (1 − R κ) dx / c,   κ = s″ c³ the road's curvature
    energy      ½ (m + J/R²) σ̇² + m g z = E
    normal      N = m (g c + σ̇² κ / (1 − R κ)),   with the hub's path curved by κ / (1 − R κ)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.gallery.registry import Study, entry, live
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, PAGE
from draisine.view.plots.trajectories import channel_figure

Reals = NDArray[np.float64]


@live(start={"turn_rate": 4.0})
def wheel_on_waves() -> Model:
    """An upright wheel that rolls along a sinusoidal road."""
    m = Model("wheel_on_waves", "a wheel in a vertical plane over the road z = a sin(2 pi x / L)")
    radius = m.parameter("radius", 0.34, "m")
    mass, moment = m.parameter("mass", 15.0, "kg"), m.parameter("moment", 1.2, "kg*m^2", "about the axle")
    m.parameter("amplitude", 0.05, "m")
    m.parameter("wavelength", 1.5, "m")
    m.body("wheel", mass=mass, inertia=(moment / 2, moment, moment / 2))
    ways = (Coordinate("along", "along_rate", "m"), Coordinate("up", "up_rate", "m", 0.39, 0.2, 0.5))
    chain = (Translate((Name("along"), Number(0.0), Name("up"))), Rotate("y", Name("turn")))
    m.joint("motion", "ground", "wheel", chain, (*ways, Coordinate("turn", "turn_rate", "rad", 0.0, -3.0, 3.0)))
    m.wheel("rim", "wheel", radius=radius)
    m.ground(height="amplitude*sin(2*pi*x/wavelength)")
    m.independent("turn_rate")
    return m


class ByHand:
    """The motion as a function of the contact position: see the head of this file."""

    def __init__(self, parameters: Mapping[str, float], gravity: float = 9.81) -> None:
        self.radius, self.mass, self.moment = (parameters[n] for n in ("radius", "mass", "moment"))
        self.amplitude, self.number = parameters["amplitude"], 2 * math.pi / parameters["wavelength"]
        self.gravity = gravity

    def road(self, x: Reals) -> Reals:
        return self.amplitude * np.sin(self.number * x)

    def _slope(self, x: Reals) -> tuple[Reals, Reals]:
        """cos α and sin α."""
        slope = self.amplitude * self.number * np.cos(self.number * x)
        return 1 / np.sqrt(1 + slope**2), slope / np.sqrt(1 + slope**2)

    def hub(self, x: Reals) -> tuple[Reals, Reals]:
        cosine, sine = self._slope(x)
        return x - self.radius * sine, self.road(x) + self.radius * cosine

    def curvature(self, x: Reals) -> Reals:
        """Of the hub's path: the road's κ over 1 − R κ."""
        own = -self.amplitude * self.number**2 * np.sin(self.number * x) * self._slope(x)[0] ** 3
        return own / (1 - self.radius * own)

    def speed(self, x: Reals, start: float, at: float) -> Reals:
        """σ̇ at x, after a start with this speed of the hub."""
        fallen = self.hub(np.array([at]))[1] - self.hub(x)[1]
        return np.sqrt(start**2 + 2 * self.mass * self.gravity * fallen / (self.mass + self.moment / self.radius**2))

    def normal(self, x: Reals, speed: Reals) -> Reals:
        return self.mass * (self.gravity * self._slope(x)[0] + speed**2 * self.curvature(x))


@entry(level="First steps", film="run")
def wheel_over_waves(until: float = 6.0) -> Study:
    """A wheel on a sinusoidal road: its hub on the parallel curve, its speed and normal force against closed forms."""
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-12)
    run = dr.simulate(wheel_on_waves(), until, start={"along": 0.0, "turn_rate": 4.0}, method=method, samples=601)
    assert run.status.complete, run.status
    by_hand, x = ByHand(run.parameters), run["rim_place_x"]
    hub = by_hand.hub(x)
    assert np.max(np.hypot(run["along"] - hub[0], run["up"] - hub[1])) < 1e-9
    drift = float(np.ptp(run["total_energy"]) / np.ptp(run["potential_energy"]))
    assert drift < 1e-9, drift
    speed = np.hypot(run["along_rate"], run["up_rate"])
    assert np.max(np.abs(speed - by_hand.radius * run["turn_rate"])) < 1e-9  # the contact point is at rest
    assert np.max(np.abs(speed - by_hand.speed(x, float(speed[0]), float(x[0])))) < 1e-8
    normal = run["rim_normal_force"]
    assert np.max(np.abs(normal - by_hand.normal(x, speed))) < 1e-6 * float(normal.max())
    findings = (
        f"hub on the parallel curve; energy within {drift:.0e} of what the hills take",
        f"{speed.min():.3f} m/s over crests, {speed.max():.3f} m/s in troughs",
        f"presses with {normal.min():.0f} to {normal.max():.0f} N, at rest {by_hand.mass * by_hand.gravity:.0f} N",
    )
    figures = {"path": _path(run, by_hand), "force": channel_figure(run, "rim_normal_force", "turn_rate")}
    return Study("A wheel over waves", {"run": run}, figures, findings)


def _path(run: dr.Trajectory, by_hand: ByHand) -> Any:
    with single_panel("x [m]", "z [m]", height=0.27 * PAGE, equal=True) as (drawing, axes):
        x = np.linspace(0.0, 4.0, 400)
        axes.plot(x, by_hand.road(x), color="black", label="road")
        seen = run["along"] < 4.0
        axes.plot(run["along"][seen], run["up"][seen], label="hub")
        place = np.array([0.375, 1.125, 1.875, 2.625])
        angle = np.linspace(0, 2 * math.pi, 200)
        for center in zip(*by_hand.hub(place), strict=True):
            ring = center[0] + by_hand.radius * np.cos(angle), center[1] + by_hand.radius * np.sin(angle)
            axes.plot(*ring, color=COLORS[1], linewidth=0.7)
    return drawing

"""Sarrus's linkage as a lifting table: hinges guide a platform along a straight line, with redundant constraints.

What it shows: a mechanism in space with several loops and *redundant* constraints. Four legs of two bars each, hinged about
horizontal axes, carry a platform. Each leg keeps the platform from moving across its plane and from turning out of it; two legs
in different planes are enough (P. F. Sarrus, 1853), the other two are redundant. A count of 9 hinges in the tree less 15
residuals of the three loop closures would leave no degree of freedom; the table has one. Redundant rows are detected and named
when the equations are derived, monitored during a run, and not solved for.

What you should see: released, the table falls straight down without tilting, all legs move alike, and the motion is that of a
system with one degree of freedom.

By hand, α the lean of the lower bars from the vertical, l and m length and mass of a bar, M the mass of the platform:

    height              z = 2 l cos α
    kinetic energy      ½ J(α) α̇²,   J = 4 m l² (1/3 + 1/12 + ¼ cos² α + 9/4 sin² α) + 4 M l² sin² α
    potential energy    V = (8 m + 2 M) g l cos α
    so                  α̈ = (−½ J′ α̇² − V′)/J;   each leg carries a quarter of M (g + z̈)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

Reals = NDArray[np.float64]

# name, axis of its hinges, sense in which it leans outward, direction outward
LEGS = (("east", "y", 1, (1, 0)), ("north", "x", -1, (0, 1)), ("west", "y", -1, (-1, 0)), ("south", "x", 1, (0, -1)))


def sarrus_lift() -> Model:
    """A platform on four legs of two hinged bars each; two legs would be enough."""
    m = Model("sarrus_lift", "lifting table on four hinged legs, twice as many as needed")
    length = m.parameter("l_bar", 0.5, "m")
    mass = m.parameter("m_bar", 1.2, "kg")
    half = m.parameter("half_width", 0.3, "m", "from the middle to the feet, and of the platform")
    m_top, i_top = m.parameter("m_platform", 8.0, "kg"), m.parameter("i_platform", 0.4, "kg*m^2", "about horizontal axes")
    top = m.body("platform", mass=m_top, inertia=(i_top, i_top, 2 * i_top))
    for leg, axis, sense, (x, y) in LEGS:
        for bar in ("lower", "upper"):
            slender = mass * length**2 / 12
            m.body(f"{leg}_{bar}", mass=mass, center_of_mass=(0, 0, length / 2), inertia=(slender, slender, 0))
        place, end, lean = (x * half, y * half, 0), (0, 0, length), _span(sense, 0.2, 1.2)
        m.revolute(f"{leg}_foot", "ground", f"{leg}_lower", axis, place, default=sense * 0.6, span=lean)
        bent = _span(-sense, 0.4, 2.4)
        m.revolute(f"{leg}_knee", f"{leg}_lower", f"{leg}_upper", axis, end, default=-sense * 1.2, span=bent)
        if leg == "east":  # it carries the platform in the tree; the frame is that of its own edge
            m.revolute("east_top", "east_upper", top, axis, end, default=0.6, span=lean)
        else:
            m.point(f"{leg}_end", f"{leg}_upper", (0, 0, length))
            m.point(f"{leg}_seat", top, ((x - 1) * half, y * half, 0))
            m.close_hinge(f"{leg}_top", f"{leg}_seat", f"{leg}_end", axis)
    m.point("middle", top, (-half, 0, 0))
    m.output("height", "position_z(middle)", "m")
    m.output("sideways_x", "position_x(middle)", "m")
    m.output("sideways_y", "position_y(middle)", "m")
    m.output("tilt_x", "lean(platform)", "rad")
    m.output("tilt_y", "pitch(platform)", "rad")
    return m


def _span(sense: int, low: float, high: float) -> tuple[float, float]:
    return (low, high) if sense > 0 else (-high, -low)


@dataclass(frozen=True)
class ClosedForm:
    """The table as a system with one degree of freedom: see the head of this file."""

    length: float
    bar: float
    platform: float
    gravity: float = 9.81

    @staticmethod
    def of(parameters: Mapping[str, float]) -> ClosedForm:
        return ClosedForm(*(parameters[name] for name in ("l_bar", "m_bar", "m_platform")))

    def inertia(self, lean: Reals) -> Reals:
        bars = 4 * self.bar * (5 / 12 + np.cos(lean) ** 2 / 4 + 9 / 4 * np.sin(lean) ** 2)
        return self.length**2 * (bars + 4 * self.platform * np.sin(lean) ** 2)

    def potential(self, lean: Reals) -> Reals:
        return (8 * self.bar + 2 * self.platform) * self.gravity * self.length * np.cos(lean)

    def rate(self, lean: Reals, start: float) -> Reals:
        """α̇ after release at `start`."""
        return np.sqrt(2 * (self.potential(np.asarray(start)) - self.potential(lean)) / self.inertia(lean))

    def acceleration(self, lean: Reals, rate: Reals) -> Reals:
        """α̈."""
        steeper = self.length**2 * (16 * self.bar + 8 * self.platform) * np.sin(lean) * np.cos(lean)
        pull = (8 * self.bar + 2 * self.platform) * self.gravity * self.length * np.sin(lean)
        return (pull - 0.5 * steeper * rate**2) / self.inertia(lean)

    def load(self, lean: Reals, rate: Reals) -> Reals:
        """What each leg carries of the platform."""
        up = -2 * self.length * (np.sin(lean) * self.acceleration(lean, rate) + np.cos(lean) * rate**2)
        return self.platform * (self.gravity + up) / 4


@entry(level="Intermediate", film="fall")
def sarrus_lift_falls(until: float = 0.3) -> Study:
    """A lifting table on four legs with redundant constraints falls straight down."""
    model, start = sarrus_lift(), 0.3
    equations = dr.derive(model)
    said = [note for note in equations.notes if "repeats" in note]
    run = dr.simulate(model, until, start={"east_foot": start}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12))
    exact = ClosedForm.of(run.parameters)
    lean, rate = run["east_foot"], run["east_foot_rate"]

    assert run.status.complete, run.status
    rows = sum(constraint.level == "velocity" for constraint in equations.constraints)
    assert len(equations.velocities) - (rows - len(said)) == 1, (rows, said)  # one degree of freedom is left
    height = float(np.max(np.abs(run["height"] - 2 * exact.length * np.cos(lean))))
    aside = max(float(np.max(np.abs(run[name]))) for name in ("sideways_x", "sideways_y", "tilt_x", "tilt_y"))
    uneven = float(np.max(np.abs(rate - exact.rate(lean, start))))
    load = float(np.max(np.abs(run["north_top_z_multiplier"] + exact.load(lean, rate))))
    assert height < 1e-10 and aside < 1e-10, (height, aside)
    assert uneven < 1e-7 and load < 1e-7, (uneven, load)

    figures = {"fall": channel_figure(run, "height", "east_foot_rate"), "load": _load(run, exact)}
    findings = (
        f"{len(said)} of {rows} rows are redundant and only monitored; one degree of freedom is left",
        f"falls from {run['height'][0]:.4f} to {run['height'][-1]:.4f} m in {until:g} s, off the vertical by {aside:.0e} at most",
        f"lean's rate within {uneven:.0e} rad/s of the closed form, load of a leg within {load:.0e} N of a quarter of M(g + z̈)",
    )
    return Study("Sarrus's lifting table", {"fall": run}, figures, findings)


def _load(run: dr.Trajectory, exact: ClosedForm) -> Any:
    with single_panel("lean of the lower bars [°]", "load of a leg [N]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        degrees = np.degrees(run["east_foot"])
        for leg in ("north", "west", "south"):
            axes.plot(degrees, -run[f"{leg}_top_z_multiplier"], label=f"{leg} leg")
        by_hand = exact.load(run["east_foot"], run["east_foot_rate"])
        axes.plot(degrees[::20], by_hand[::20], "o", markersize=3, label="M(g + z̈)/4")
        axes.axhline(exact.platform * exact.gravity / 4, linestyle=":", color="gray", label="at rest")
        axes.set_xlim(math.floor(degrees[0]), math.ceil(degrees[-1]))
    return drawing

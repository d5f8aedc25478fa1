"""Design for self-stability: the trail and head angle with the widest range of self-stable speeds.

What it shows: design parameters as unknowns of an optimization. Weave and capsize speed are solved for on the exact linear
model, with exact gradients with respect to all parameters (`Critical.gradient`). The width of the stable range, capsize less
weave speed, is maximized by a bounded quasi-Newton method: 2 to 12 cm of trail, steer axis 8° to 30° from the vertical (head
angle 82° to 60°); everything else is the benchmark bicycle.

What you should see: the trail goes to its bound, since the width grows with it throughout; the steer axis has an interior
optimum at 16.4°, slightly steeper than the benchmark's 18°. The range grows from 4.292–6.024 m/s to 4.602–7.029 m/s, two fifths
wider. With a steeper axis the weave becomes stable later, with a flatter one both speeds rise together. At the optimum the
derivative with respect to the tilt vanishes; eigenvalues over the speed confirm both ranges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.stability.critical import Critical
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

CHOSEN = ("trail", "steer_axis_tilt")
BENCHMARK = (0.08, math.pi / 10)  # m, rad
BOUNDS = ((0.02, 0.12), (math.radians(8), math.radians(30)))
SPEEDS = np.linspace(0.5, 15, 59)  # m/s; a sweep that brackets both critical speeds


@dataclass(frozen=True)
class Range:
    """The critical speeds between which a bicycle is self-stable."""

    lower: Critical
    upper: Critical

    @property
    def weave(self) -> float:
        return self.lower.value

    @property
    def capsize(self) -> float:
        return self.upper.value

    @property
    def width(self) -> float:
        return self.capsize - self.weave

    @cached_property
    def gradient(self) -> tuple[float, ...]:
        """Derivatives of the width with respect to the chosen parameters."""
        low, high = self.lower.gradient(), self.upper.gradient()
        return tuple(high[name] - low[name] for name in CHOSEN)


@cache
def stable_range(trail: float, tilt: float) -> Range:
    """The self-stable range of a design, by exact critical speeds."""
    design = dict(zip(CHOSEN, (trail, tilt), strict=True))
    found = {c.kind: c for c in dr.modes(bicycle(), speed=SPEEDS, parameters=design, states=("lean", "steer")).critical()}
    return Range(found["weave"], found["capsize"])


@cache
def best_design() -> tuple[float, float]:
    """Trail and tilt with the widest self-stable range."""
    from scipy.optimize import minimize

    low, high = np.array(BOUNDS).T

    def narrow(share: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        found = stable_range(*(low + share * (high - low)).tolist())
        return -found.width, -np.array(found.gradient) * (high - low)

    start = (np.array(BENCHMARK) - low) / (high - low)  # both scaled to their ranges
    answer = minimize(narrow, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * 2, options={"gtol": 1e-6})
    trail, tilt = (low + answer.x * (high - low)).tolist()
    return trail, tilt


def growth(trail: float, tilt: float, speeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest real part of all eigenvalues at each speed."""
    design = dict(zip(CHOSEN, (trail, tilt), strict=True))
    found = dr.modes(bicycle(), speed=speeds, parameters=design, states=("lean", "steer"))
    return np.asarray(found.eigenvalues.real.max(axis=1))


@entry(level="Advanced")
def bicycle_designed() -> Study:
    """Trail and head angle of the bicycle with the widest range of self-stable speeds."""
    before, after = stable_range(*BENCHMARK), stable_range(*best_design())
    trail, tilt = best_design()
    assert abs(before.weave - 4.292382536) < 1e-8 and abs(before.capsize - 6.024262015) < 1e-8
    assert after.width > 1.3 * before.width
    assert abs(trail - BOUNDS[0][1]) < 1e-9 and after.gradient[0] > 0  # at its bound, and pressed against it
    assert BOUNDS[1][0] < tilt < BOUNDS[1][1] and abs(after.gradient[1]) < 1e-3  # between its bounds
    for design, found in ((BENCHMARK, before), (best_design(), after)):
        inside = np.linspace(found.weave + 1e-3, found.capsize - 1e-3, 41)
        outside = np.array([found.weave - 2e-2, found.weave - 1e-2, found.capsize + 1e-2, found.capsize + 2e-2])
        assert growth(*design, inside).max() < 0 < growth(*design, outside).min()
    findings = (
        f"before: trail {BENCHMARK[0]:.3f} m, tilt {math.degrees(BENCHMARK[1]):.2f}°: stable from {before.weave:.4f} to "
        f"{before.capsize:.4f} m/s, {before.width:.4f} m/s wide",
        f"after: trail {trail:.3f} m, tilt {math.degrees(tilt):.2f}°: stable from {after.weave:.4f} to {after.capsize:.4f} m/s, "
        f"{after.width:.4f} m/s wide",
        f"derivatives there: {after.gradient[0]:.3f} m/s per m of trail, {after.gradient[1]:.0e} m/s per rad of tilt",
    )
    return Study("A bicycle designed for self-stability", {}, {"design": _design(before, after)}, findings)


def _design(before: Range, after: Range) -> Any:
    trail, tilt = best_design()
    speeds = np.linspace(2, 10, 161)
    with style():
        drawing = new_figure(PAGE, 0.5 * PAGE)
        left, right = drawing.subplots(1, 2)
        for one, color in ((BENCHMARK[0], FAINT), (trail, COLORS[0])):
            tilts = np.radians(np.linspace(11, 30, 7))
            ranges = [stable_range(one, float(a)) for a in tilts]
            low, high = [r.weave for r in ranges], [r.capsize for r in ranges]
            left.fill_between(np.degrees(tilts), low, high, color=color, alpha=0.25, lw=0, label=f"trail {one:.2f} m")
            left.plot(np.degrees(tilts), low, color=color)
            left.plot(np.degrees(tilts), high, color=color)
        for found, at, color in ((before, BENCHMARK[1], FAINT), (after, tilt, COLORS[0])):
            left.plot([math.degrees(at)] * 2, [found.weave, found.capsize], "o-", color=color, lw=2.5, ms=4)
        left.set_xlabel("steer axis from the vertical [°]")
        left.set_ylabel("stable speeds [m/s]")
        legend_above(left, 3.4)
        for design, found, color, label in (
            (BENCHMARK, before, FAINT, "benchmark"),
            (best_design(), after, COLORS[0], "designed"),
        ):
            right.plot(speeds, growth(*design, speeds), color=color, label=label)
            right.axvspan(found.weave, found.capsize, color=color, alpha=0.15, lw=0)
        right.axhline(0, color="0.3", lw=0.8)
        right.set_xlabel("speed [m/s]")
        right.set_ylabel("largest real part [1/s]")
        right.set_ylim(-1.2, 3)
        legend_above(right, 3.4)
    return drawing

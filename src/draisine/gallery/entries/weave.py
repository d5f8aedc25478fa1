"""The weave of the benchmark bicycle as a limit cycle.

What it shows: a periodic motion of a bicycle without damping or drive. Energy is conserved, and yet the motion is a limit cycle
within one energy level: nonholonomic systems can have attractors, since their reduced flow does not conserve volume.

What you should see: just below the weave speed, 4.292 m/s, a cycle bifurcates from straight running that exists for lower
energies only and attracts neighboring motions of the same energy (supercritical). Its period and shape tend to those of the
weave mode as it shrinks. At a lean of 0.21 rad and mean speeds below 3.95 m/s a multiplier passes one, and the symmetric weave
is unstable.

Checks: the cycle closes to 1e-10 and its trivial multiplier is one to ten digits; a disturbed bicycle with the energy of the
cycle converges to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import label_axis, legend_above
from draisine.view.plots.style import PAGE, style
from draisine.view.plots.trajectories import channel_figure

WEAVE_SPEED = 4.292382536341114  # Meijaard et al. 2007
STATES = ("lean", "steer")


def weave_cycles(leans: Sequence[float]) -> list[dr.stability.Cycle]:
    """Symmetric weave cycles by their largest lean, continued from the mode at the weave speed; each starts at its largest
    lean."""
    bike = dr.derive(dr.gallery.bicycle(), work=False)
    linear = dr.linearize(bike, {"speed": WEAVE_SPEED}, states=STATES).essential()
    values, vectors = np.linalg.eig(linear.A)
    k = int(np.argmax(values.imag))
    shape = (vectors[:, k] / vectors[0, k]).real
    begin: Any = {**dict(zip(linear.states, (leans[0] * shape).tolist(), strict=True)), "speed": WEAVE_SPEED}
    period, found = 2 * math.pi / float(values.imag[k]), []
    for lean in leans:
        cycle = dr.stability.limit_cycle(
            bike, start=begin, period=period, fixed={"lean": lean, "frame_wx": 0.0}, states=STATES, nodes=2
        )
        begin, period = cycle.start, cycle.period
        found.append(cycle)
    return found


@entry(level="Advanced")
def bicycle_weaves(leans: Sequence[float] = (0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.18, 0.2, 0.22, 0.24)) -> Study:
    """Weave limit cycles of the benchmark bicycle against their mean speed, and a disturbed bicycle that converges to one."""
    cycles = weave_cycles(leans)
    speeds = [float(cycle.trajectory["speed"][:-1].mean()) for cycle in cycles]
    energies = [float(cycle.trajectory["total_energy"][0]) for cycle in cycles]
    for cycle in cycles:
        run = cycle.trajectory
        assert abs(run["heading"][-1] - run["heading"][0]) < 1e-8  # straight on, as a whole
        assert np.ptp(run["total_energy"]) < 1e-6
        assert cycle.floquet.digits > 8 and cycle.floquet.neutral == 1  # the energy
    assert np.all(np.diff(speeds) < 0) and speeds[0] < WEAVE_SPEED  # below the weave speed only
    assert all(cycle.floquet.attracts is bool(lean < 0.21) for cycle, lean in zip(cycles, leans, strict=True))

    model = list(leans).index(0.1)
    knocked = _knocked(energies[model])
    late = np.abs(knocked["lean"][knocked.time > 0.85 * knocked.time[-1]]).max()
    assert abs(late / 0.1 - 1) < 0.01, late
    lines = [
        f"lean {lean:.2f} rad: period {c.period:.5f} s, mean speed {v:.4f} m/s, multipliers besides the energy's "
        f"{', '.join(f'{abs(z):.3g}' for z in c.multipliers if abs(z - 1) > 1e-6)}"
        for lean, c, v in zip(leans, cycles, speeds, strict=True)
    ]
    lines.append(f"knocked, at the energy of the cycle of 0.1 rad: it leans by {late:.4f} rad in the end")
    figures = {
        "amplitude": _by_speed(cycles, leans, speeds),
        "cycles": _portraits(cycles, leans),
        "knocked": channel_figure(knocked, "lean", "speed"),
    }
    return Study("The bicycle weaves for ever", {"cycle": cycles[model].trajectory, "knocked": knocked}, figures, tuple(lines))


def _knocked(energy: float, until: float = 80.0) -> dr.Trajectory:
    """A straight-running bicycle with a small roll rate, at a given energy."""
    bike, knock = dr.gallery.bicycle(), {"roll_rate": 0.02}

    def energy_at(speed: float) -> float:
        return float(dr.simulate(bike, 0.01, start={**knock, "speed": speed}, samples=2)["total_energy"][0])

    slow, fast = energy_at(4.0), energy_at(4.3)  # a straight line in the square of the speed
    speed = math.sqrt(4.0**2 + (energy - slow) / (fast - slow) * (4.3**2 - 4.0**2))
    return dr.simulate(
        bike, until, start={**knock, "speed": speed}, method=dr.methods.DOP853(rtol=1e-9, atol=1e-11), samples=4001
    )


def _by_speed(cycles: Sequence[dr.stability.Cycle], leans: Sequence[float], speeds: Sequence[float]) -> Any:
    with style():
        drawing, (axes,) = panels(1, 0.8 * PAGE, 0.45 * PAGE)
        good = [cycle.floquet.attracts for cycle in cycles]
        for wanted, mark, words in ((True, "o-", "attracts within its energy"), (False, "s--", "unstable")):
            chosen = [i for i, found in enumerate(good) if found is wanted]
            axes.plot([speeds[i] for i in chosen], [leans[i] for i in chosen], mark, label=words)
        axes.plot([WEAVE_SPEED], [0.0], "k^", label="weave speed")
        axes.set_xlabel("mean speed [m/s]")
        label_axis(axes.yaxis, "largest lean", "rad")
        legend_above(axes, PAGE)
    return drawing


def _portraits(cycles: Sequence[dr.stability.Cycle], leans: Sequence[float]) -> Any:
    with style():
        drawing, (axes,) = panels(1, 0.7 * PAGE, 0.6 * PAGE)
        for cycle, lean in zip(cycles, leans, strict=True):
            axes.plot(cycle.trajectory["lean"], cycle.trajectory["steer"], label=f"{lean:g}", color="C0", lw=1)
        label_axis(axes.xaxis, "lean", "rad")
        label_axis(axes.yaxis, "steer", "rad")
    return drawing

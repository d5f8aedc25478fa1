"""Hunting of a railway wheelset as a limit cycle: its period, Floquet multipliers, and amplitude against speed.

What it shows: a periodic motion of a system with contacts, creep and multipliers solved for inside, found by shooting with
exact sensitivities and continued over the speed by pseudo-arclength (the wheelset of Thomsen 2005, chapter 5).

What you should see: without suspension at 20 m/s a cycle of 9.43 mm between the flanges, which attracts so strongly that one
period reduces a deviation to 1.4e-5. With springs and a conicity of 0.08, the cycle bifurcates from the centerd run at the
critical speed, 79.91 m/s, for higher speeds only: the bifurcation is supercritical, and the cycle stable. Its amplitude rises
steeply, 1 mm within 0.3 m/s. Beyond 117 m/s a real multiplier passes one: the symmetric cycle continues, unstable, and reaches
the flanges at 156 m/s.

By hand: at a Hopf bifurcation the cycle shrinks into the motion at rest where an eigenvalue is imaginary, with its period.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.wheelset import SPRINGS, centerd, critical_speed, growth, wheelset
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.style import PAGE, style

METHOD = dr.methods.DOP853(rtol=1e-9, atol=1e-11)
CONICITY = 0.08
GAP = 0.0091  # m, to the flanges


def free_hunting(model: dr.Equations) -> dr.stability.Cycle:
    """The cycle between the flanges, without suspension, at 20 m/s."""
    parameters = {"speed": 20.0, "conicity": 0.05, "suspension": 0.0}
    start = {**centerd(20.0, 0.05), "lateral": 0.008}
    return dr.stability.limit_cycle(model, start=start, settle=12.0, parameters=parameters, method=METHOD, accuracy=1e-8)


def suspended_hunting(model: dr.Equations, speed: float = 90.0) -> dr.stability.Cycle:
    """The cycle of the wheelset with suspension."""
    parameters = {"speed": speed, "conicity": CONICITY, "suspension": SPRINGS}
    start = {**centerd(speed, CONICITY), "lateral": 0.003}
    return dr.stability.limit_cycle(model, start=start, settle=3.0, parameters=parameters, method=METHOD, accuracy=1e-8)


@entry(level="Advanced")
def wheelset_limit_cycles(fastest: float = 170.0) -> Study:
    """Limit cycles of the wheelset with their Floquet multipliers, and the amplitude of hunting against the speed."""
    description = wheelset()
    model = dr.derive(description, work=False)
    free, suspended = free_hunting(model), suspended_hunting(model)
    assert free.stable is True and abs(free.multipliers[0]) < 1e-4
    assert GAP < free.amplitude("lateral") < GAP + 0.0005
    assert min(free.trajectory[f"{side}_normal_force"].min() for side in ("left", "right")) > 0  # no wheel lifts

    down = dr.stability.follow_cycle(suspended, "speed", 70.0, first=0.05, largest=0.2)
    up = dr.stability.follow_cycle(suspended, "speed", fastest, first=0.1, largest=0.5)
    speeds = np.concatenate([down.values[:0:-1], up.values])
    amplitudes = np.concatenate([down.amplitudes("lateral")[:0:-1], up.amplitudes("lateral")])
    stable = np.array([*down.stable[:0:-1], *up.stable], dtype=bool)
    critical = critical_speed(description, CONICITY)
    born = growth(description, critical, CONICITY, SPRINGS)
    assert "equilibrium" in down.ending and abs(down.values[-1] - critical) < 0.01  # there the amplitude tends to zero
    assert abs(down.periods[-1] * abs(born.imag) / (2 * math.pi) - 1) < 1e-3
    assert np.all(np.diff(speeds) > 0) and not down.folds and all(down.stable)  # nothing below: supercritical
    lost = _loss(up)

    findings = [
        f"without suspension at 20 m/s: period {free.period:.6f} s, amplitude {1e3 * free.amplitude('lateral'):.4f} mm, largest "
        f"multiplier {abs(free.multipliers[0]):.3g}; the multiplier that must be 1 is so to {free.floquet.digits:.0f} digits",
        f"with springs and a conicity of {CONICITY:g}: cycles from {speeds[0]:.3f} m/s on (critical speed {critical:.3f} m/s), "
        "stable and above it only: supercritical",
        f"amplitude {1e3 * suspended.amplitude('lateral'):.3f} mm at 90 m/s, "
        f"largest multiplier {abs(suspended.multipliers[0]):.4f}",
    ]
    if math.isfinite(lost):
        findings.append(f"a multiplier passes +1 at {lost:.0f} m/s: the symmetric cycle is unstable beyond")
    figures = {
        "amplitude": _curve(speeds, amplitudes, stable, critical),
        "cycles": _portraits({"free": free, "suspended": suspended}),
    }
    return Study(
        "Hunting as a limit cycle", {"free": free.trajectory, "suspended": suspended.trajectory}, figures, tuple(findings)
    )


def _loss(branch: dr.stability.CycleBranch) -> float:
    """Where the cycle loses its stability, on a straight line between two points; NaN if it does not."""
    largest = np.array([float(np.max(cycle.multipliers.real)) for cycle in branch.cycles])
    above = np.flatnonzero(largest > 1.0)
    if not above.size or above[0] == 0:
        return math.nan
    i = int(above[0])
    share = (1.0 - largest[i - 1]) / (largest[i] - largest[i - 1])
    return float(branch.values[i - 1] + share * (branch.values[i] - branch.values[i - 1]))


def _curve(speeds: NDArray[np.float64], amplitudes: NDArray[np.float64], stable: NDArray[np.bool_], critical: float) -> Any:
    with style():
        drawing, (axes,) = panels(1, 0.8 * PAGE, 0.45 * PAGE)
        turn = int(np.argmin(stable)) if not stable.all() else len(stable)
        axes.plot(speeds[:turn], 1e3 * amplitudes[:turn], "-", label="stable cycle")
        if turn < len(stable):
            axes.plot(speeds[turn - 1 :], 1e3 * amplitudes[turn - 1 :], "--", label="unstable cycle")
        axes.plot([60.0, critical], [0.0, 0.0], "k-", lw=1)
        axes.plot([critical, speeds[-1]], [0.0, 0.0], "k--", lw=1)
        axes.axhline(1e3 * GAP, color="0.6", lw=0.8)
        axes.annotate("flanges", (62.0, 1e3 * GAP), textcoords="offset points", xytext=(0, 3))
        axes.set_xlabel("speed [m/s]")
        axes.set_ylabel("amplitude [mm]")
        axes.legend()
    return drawing


def _portraits(cycles: dict[str, dr.stability.Cycle]) -> Any:
    with style():
        drawing, all_axes = panels(len(cycles), 0.7 * PAGE, 0.45 * PAGE * len(cycles))
        for axes, (name, cycle) in zip(all_axes, cycles.items(), strict=True):
            run = cycle.trajectory
            axes.plot(1e3 * run["lateral"], 1e3 * run["yaw"])
            axes.set_xlabel("lateral [mm]")
            axes.set_ylabel("yaw [mrad]")
            axes.set_title(f"{name}: {cycle.period:.4f} s")
    return drawing

"""Asymptotic stability of an energy-conserving bicycle: contraction of phase-space volume.

What it shows: a conservative system with holonomic constraints cannot be asymptotically stable: its flow conserves phase-space
volume. Rolling without slip is nonholonomic. The bicycle's flow in (lean, steer, their rates) has a divergence, tr A = −v
tr(M⁻¹C₁), negative and proportional to the speed; and the energy of the weave goes into forward speed, which is not part of the
linear equations.

What you should see: the volume of a small box of initial states shrinks in a tenth of a second by the factor e^(t tr A), to six
digits of the nonlinear flow. After a disturbance at 5 m/s the energy of lean and steer decays, the speed rises, and the total
energy is constant; the final speed contains all of the disturbance's energy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels, single_panel
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, PAGE, style

SPEED, KICK = 5.0, 0.3  # m/s, rad/s
STATES = ("lean", "steer", "roll_rate", "steer_rate")
METHOD = dr.methods.DOP853(rtol=1e-12, atol=1e-14)


def straight_energy(speed: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Kinetic and potential energy of upright straight running, by hand."""
    p = {q.name: q.default for q in bicycle().freeze().parameters}
    masses = {"frame": p["z_frame"], "fork": p["z_fork"], "rear_wheel": p["r_rear_wheel"], "front_wheel": p["r_front_wheel"]}
    heavy = sum(p[f"m_{body}"] for body in masses)
    heavy += sum(p[f"iyy_{wheel}"] / p[f"r_{wheel}"] ** 2 for wheel in ("rear_wheel", "front_wheel"))
    lifted = p["gravity"] * sum(p[f"m_{body}"] * z for body, z in masses.items())
    return np.asarray(0.5 * heavy * np.asarray(speed) ** 2 + lifted)


def shrinking(until: float = 0.1, size: float = 1e-4) -> tuple[float, float]:
    """Remaining volume of a small box of initial states about straight running: by the nonlinear flow, and e^(t tr A)."""
    bike = bicycle()
    still = {"speed": SPEED, **dict.fromkeys(STATES, 0.0)}

    def arrived(name: str, amount: float) -> NDArray[np.float64]:
        run = dr.simulate(bike, until, start={**still, name: amount}, method=METHOD, samples=2)
        return np.array([run[state][-1] for state in STATES])

    edges = np.column_stack([(arrived(name, size) - arrived(name, -size)) / (2 * size) for name in STATES])
    matrix = dr.bicycle.whipple_matrices(bike).matrix(SPEED)
    return float(np.linalg.det(edges)), math.exp(until * float(np.trace(matrix)))


@entry(level="Intermediate")
def why_bicycles_settle(until: float = 25.0) -> Study:
    """An energy-conserving bicycle is asymptotically stable: its flow contracts volume, and the weave's energy becomes speed."""
    bike = bicycle()
    box, rule = shrinking()
    assert abs(box / rule - 1) < 1e-6 and rule < 0.25
    run = dr.simulate(bike, until, start={"speed": SPEED, "roll_rate": KICK}, method=METHOD)
    total = run["total_energy"]
    aside = total - straight_energy(run["speed"])
    assert run.status.complete and float(np.abs(total - total[0]).max()) < 1e-9 * abs(total[0])
    assert aside[0] > 0 and abs(aside[-1]) < 1e-3 * aside[0]  # the energy of lean and steer decays,
    predicted = _speed_for(float(total[0]))
    assert predicted > SPEED and abs(run["speed"][-1] - predicted) < 2e-6  # and becomes forward speed

    found = dr.modes(bike, speed=np.linspace(0, 10, 101), states=("lean", "steer"))
    matrices = dr.bicycle.whipple_matrices(bike)
    rate = float(np.trace(np.linalg.solve(matrices.M, matrices.C1)))
    assert np.abs(found.eigenvalues.sum(axis=1) + rate * found.values).max() < 1e-9
    figures = {"energy": _energies(run, aside), "divergence": _divergence(found)}
    findings = (
        f"tr A = −{rate:.6f} 1/m · v; in 0.1 s at 5 m/s a small volume shrinks to {box:.6f} of itself, e^(t tr A) = {rule:.6f}",
        f"the kick gives {aside[0]:.4f} J to lean and steer; after {until:g} s {abs(aside[-1]):.1e} J are left there",
        f"speed {SPEED:g} → {run['speed'][-1]:.6f} m/s, {predicted:.6f} m/s if all of it becomes speed",
        f"total energy changes by {float(np.abs(total - total[0]).max()):.1e} J of {total[0]:.0f} J",
    )
    return Study("Why a bicycle that conserves energy settles", {"kicked": run}, figures, findings)


def _speed_for(energy: float) -> float:
    """The speed of straight running with so much energy."""
    resting, one = float(straight_energy(0.0)), float(straight_energy(1.0))
    return math.sqrt((energy - resting) / (one - resting))


def _energies(run: dr.Trajectory, aside: NDArray[np.float64]) -> Any:
    with style():
        drawing, (first, second, third) = panels(3, PAGE, 0.8 * PAGE)
        first.plot(run.time, np.degrees(run["lean"]), label="lean")
        first.plot(run.time, np.degrees(run["steer"]), label="steer")
        first.set_ylabel("angle [°]")
        legend_above(first, PAGE)
        forward = straight_energy(run["speed"]) - straight_energy(SPEED)
        second.plot(run.time, aside, color=COLORS[0], label="of lean and steer")
        second.plot(run.time, forward, color=COLORS[1], label="of forward motion, more than at first")
        second.plot(run.time, aside + forward, "--", color="0.3", label="sum")
        second.set_ylabel("energy [J]")
        legend_above(second, PAGE)
        third.plot(*run.curve("speed"), color=COLORS[1])
        third.set_ylabel("speed [m/s]")
        third.set_xlabel("time [s]")
        third.set_xlim(0, 12)
    return drawing


def _divergence(found: Any) -> Any:
    with single_panel("speed [m/s]", "real part [1/s]", width=0.8 * PAGE, height=0.5 * PAGE) as (drawing, axes):
        modes = list(dict.fromkeys(name.rstrip("*") for name in found.names))
        for j, name in enumerate(found.names):
            label = None if name.endswith("*") else name
            axes.plot(
                found.values, found.eigenvalues[:, j].real, color=COLORS[modes.index(name.rstrip("*"))], lw=1.2, label=label
            )
        axes.plot(found.values, found.eigenvalues.real.sum(axis=1), color="0.2", lw=2.2, label="sum: divergence of the flow")
        axes.axhline(0, color="0.3", lw=0.8)
    return drawing

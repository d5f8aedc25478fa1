"""A wheelset that hunts between its flanges: a linear wheelset with stops, below and above its critical speed.

What it shows: stops of a joint in a self-excited vibration. Creep forces on conical wheels steer a wheelset to the middle of the
track, and at high speed past it; the flanges end the way to either side, with impacts.

What you should see: slowly pushed, the wheelset follows Klingel's wave. With its suspension it returns to the middle below the
critical speed. Above it the wave grows until the wheels strike the flanges, left and right in turn, with the same period forever.

By hand: with the lateral displacement y, the yaw ψ, creep coefficient f, conicity λ, radius r, half gauge b and speed v,

    m ÿ = −2 f (ẏ/v − ψ) − k y,   I ψ̈ = −2 f (b λ y/r + b² ψ̇/v) − κ ψ.

Without inertia and suspension, y″ = −(λ/r b) y along the track: the wavelength is 2π √(r b/λ) (W. Klingel, Organ für die
Fortschritte des Eisenbahnwesens 20, 1883). Between impacts x = (y, ψ, ẏ, ψ̇) is exp(A t) x; an impact changes the sign of ẏ and
multiplies it by e, x⁺ = J x⁻. A motion that strikes both flanges alike has exp(A T) J x⁻ = −x⁻, so det(exp(A T) J + 1) = 0 gives
half of its period, and the null vector with y = s, the clearance, the velocity of the impacts.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

Reals = NDArray[np.float64]
VALUES = {"mass": 1250.0, "inertia": 700.0, "creep": 5e6, "half_gauge": 0.75, "conicity": 0.1, "radius": 0.45}
VALUES |= {"lateral_stiffness": 2e5, "yaw_stiffness": 1e6, "speed": 60.0, "clearance": 0.007, "restitution": 0.5}
UNITS = {"mass": "kg", "inertia": "kg*m^2", "creep": "N", "half_gauge": "m", "conicity": "", "radius": "m", "speed": "m/s"}
UNITS |= {"lateral_stiffness": "N/m", "yaw_stiffness": "N*m/rad", "clearance": "m", "restitution": ""}


@live(start={"lateral": 0.003})
def wheelset_between_flanges() -> Model:
    """A wheelset with linear creep and suspension; flanges are stops of its lateral displacement."""
    m = Model("wheelset_between_flanges", "linear wheelset with flange clearance")
    for name, value in VALUES.items():
        m.parameter(name, value, UNITS[name])
    m.gravity(0)
    carriage = m.body("carriage", mass=0)
    m.prismatic("lateral", "ground", carriage, axis="y", limits=("-clearance", "clearance"), restitution="restitution")
    axle = m.body("wheelset", mass="mass", inertia=("inertia", "inertia", "inertia"))
    m.revolute("yaw", carriage, axle, axis="z")
    m.generalized_force("lateral", "-2*creep*(lateral_rate/speed - yaw) - lateral_stiffness*lateral", name="lateral_forces")
    steering = "half_gauge*conicity*lateral/radius + half_gauge^2*yaw_rate/speed"
    m.generalized_force("yaw", f"-2*creep*({steering}) - yaw_stiffness*yaw", name="steering")
    return m


def matrix(speed: float, suspended: bool = True, **changed: float) -> Reals:
    """A of the equations by hand, for (y, ψ, ẏ, ψ̇)."""
    p = VALUES | changed
    m, i, f, b = p["mass"], p["inertia"], p["creep"], p["half_gauge"]
    k, kappa = (p["lateral_stiffness"], p["yaw_stiffness"]) if suspended else (0.0, 0.0)
    steer = 2 * f * b * p["conicity"] / p["radius"]
    return np.array(
        [
            [0, 0, 1, 0],
            [0, 0, 0, 1],
            [-k / m, 2 * f / m, -2 * f / (m * speed), 0],
            [-steer / i, -kappa / i, 0, -2 * f * b * b / (i * speed)],
        ]
    )


def critical_speed() -> float:
    """Where the largest real part of an eigenvalue of A vanishes.

    >>> round(critical_speed(), 6)
    52.284667
    """
    from scipy.optimize import brentq

    return float(brentq(lambda v: float(np.linalg.eigvals(matrix(v)).real.max()), 40.0, 60.0, xtol=1e-12))


def strikes_both(speed: float = VALUES["speed"]) -> tuple[float, Reals]:
    """Half of the period of the motion that strikes both flanges alike, and its state before an impact on the left one.

    >>> half, state = strikes_both()
    >>> round(half, 9), round(float(state[2]), 9)
    (0.098565614, 0.106982002)
    """
    from scipy.linalg import expm
    from scipy.optimize import brentq

    a, jump = matrix(speed), np.diag([1.0, 1.0, -VALUES["restitution"], 1.0])

    def closes(half: float) -> float:
        return float(np.linalg.det(expm(a * half) @ jump + np.eye(4)))

    half = float(brentq(closes, 0.09, 0.103, xtol=1e-15))
    null = np.linalg.svd(expm(a * half) @ jump + np.eye(4))[2][-1]
    return half, null / null[0] * VALUES["clearance"]


@entry(level="Intermediate", film="hunts", charts=("lateral", "yaw"))
def wheelset_strikes_flanges() -> Study:
    """A wheelset above its critical speed hunts from flange to flange; period and impacts as by hand."""
    model, method = wheelset_between_flanges(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    start = {"lateral": 0.003, "yaw": 0.0, "lateral_rate": 0.0, "yaw_rate": 0.0}
    slower = dr.simulate(model, 3.0, start=start, parameters={"speed": 45.0}, method=method)
    hunts = dr.simulate(model, 2.5, start=start, method=method, samples=1001)
    settled = dr.simulate(model, 12.0, start=start, method=method)
    assert slower.status.kind == hunts.status.kind == "FINISHED", (slower.status, hunts.status)
    assert not modes_of(slower).impacts and abs(slower["lateral"][-1]) < 1e-3 < critical_speed() - 45.0

    half, before = strikes_both()
    strikes = modes_of(settled).impacts[-12:]
    intervals = np.diff([change.time for change in strikes])
    mass, fast = VALUES["mass"], float(before[2])
    lost = 0.5 * mass * fast**2 * (1 - VALUES["restitution"] ** 2)
    assert np.max(np.abs(intervals - half)) < 1e-9
    assert max(abs(change.lost - lost) for change in strikes) < 1e-8 * lost
    sides = [next(iter(change.impulse)) for change in strikes]
    assert all(one != other for one, other in pairwise(sides))

    slow = 2.0
    free = np.linalg.eigvals(matrix(slow, suspended=False))
    wave = slow * 2 * math.pi / float(np.abs(free.imag).max())
    klingel = 2 * math.pi * math.sqrt(VALUES["radius"] * VALUES["half_gauge"] / VALUES["conicity"])
    assert abs(wave / klingel - 1) < 1e-3
    figures = {"hunts": channel_figure(hunts, "lateral", "yaw", "lateral_rate")}
    findings = (
        f"critical speed {critical_speed():.4f} m/s; at 60 m/s the flanges are struck every {intervals[-1]:.9f} s; by hand "
        f"{half:.9f} s",
        f"each impact has {fast:.6f} m/s and takes {strikes[-1].lost:.6f} J",
        f"slow and without suspension the wavelength is {wave:.4f} m; Klingel's {klingel:.4f} m",
    )
    return Study("A wheelset between flanges", {"hunts": hunts, "settled": settled, "slower": slower}, figures, findings)

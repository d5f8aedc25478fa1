"""Identification of an unstable bicycle: trail and inertias from ten seconds of riding at 2 m/s.

What it shows: parameters of an unstable vehicle from noisy gyroscopes, a speedometer and a noisy record of the steer torque. A
single run from the start cannot be fitted: driven by the recorded torque the bicycle falls, and `SingleShooting` reports it.
Windows of 0.2 s joined by continuity can be fitted (`MultipleShooting`). The recorded torque has errors: its true values are
estimated too, as a smooth function between samples (`CubicInput`), so that the intervals are correct.

What you should see: trail, front wheel spin inertia and roll inertia of the rear frame within 95 % intervals of ±1 %, ±3 % and
±3 %; χ² as large as its degrees of freedom; and a report on which of the 25 parameters are identifiable from such data: nearly
all of them one at a time, hardly any of them together, since seven combinations of masses, positions and inertias have no
effect.

The rider is a linear-quadratic regulator that keeps the bicycle upright, with three sines added for excitation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry

TRUTH = {"trail": 0.08, "iyy_front_wheel": 0.28, "ixx_frame": 9.2}
GUESS = {"trail": 0.1, "iyy_front_wheel": 0.2, "ixx_frame": 12.0}
SIDES = {"trail": (0.0, 0.3), "iyy_front_wheel": (0.01, 1.0), "ixx_frame": (1.0, 30.0)}
NOISE = {"roll_gyro": 0.01, "steer_gyro": 0.01, "speedometer": 0.01, "torque": 0.05}  # rad/s, rad/s, m/s, N·m
MEASURED = {
    "roll_gyro": ("roll_rate", NOISE["roll_gyro"]),
    "steer_gyro": ("steer_rate", NOISE["steer_gyro"]),
    "speedometer": ("speed", NOISE["speedometer"]),
}
TORQUE = dr.estimation.CubicInput("torque", NOISE["torque"])  # linear interpolation would lose a thousandth of the fastest sine
AS_IT_IS = dr.estimation.CubicInput("torque")  # a single run takes the record for the true torque
SHAKE = "2*sin(2*t) + 2*sin(5*t + 1) + 2*sin(9*t)"
WINDOWS = dr.optimal.MultipleShooting(window=0.2)


def ride(until: float = 10.0) -> dr.Trajectory:
    """The bicycle ridden upright at 2 m/s and excited through its steering."""
    bike = bicycle()
    law = dr.lqr(bike, {"speed": 2.0}, weights={"heading": 1.0, "lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.05})
    excited = {"steer_torque": f"({dict(law)['steer_torque']}) + {SHAKE}"}
    return dr.simulate(bike, until, start={"speed": 2.0, "lean": 0.05}, inputs=excited, samples=round(100 * until) + 1)


def recorded(run: dr.Trajectory, seed: int = 3) -> dict[str, Any]:
    """Measurements of noisy instruments at 100 Hz."""
    random = np.random.default_rng(seed)
    channels = {"roll_gyro": "roll_rate", "steer_gyro": "steer_rate", "speedometer": "speed", "torque": "steer_torque"}
    made = {column: run[name] + NOISE[column] * random.normal(size=len(run)) for column, name in channels.items()}
    return {"time": run.time, **made}


def identify(data: Any, unknown: Any = None, method: Any = WINDOWS, model: Any = None, torque: Any = TORQUE) -> dr.estimation.Fit:
    """The parameters estimated from the measurements and the recorded torque."""
    return dr.estimate(
        model if model is not None else bicycle(),
        data,
        SIDES if unknown is None else unknown,
        MEASURED,
        guess=GUESS if unknown is None else None,
        start={"speed": 2.0},
        inputs={"steer_torque": torque},
        method=method,
    )


def identifiable_parameters(data: Any) -> Any:
    """Identifiability of the bicycle's 25 parameters from such data, gravity being known."""
    bike = bicycle()
    names = [p.name for p in dr.derive(bike).parameters if p.name != "gravity"]
    return dr.estimation.identifiability(
        bike,
        data,
        names,
        MEASURED,
        start={"speed": 2.0},
        inputs={"steer_torque": TORQUE},
        method=WINDOWS,
    )


@entry(level="Advanced")
def bicycle_identified(until: float = 10.0, report: bool = True) -> Study:
    """Trail and two inertias of an unstable bicycle from noisy gyroscopes, speed and steer torque."""
    run = ride(until)
    data = recorded(run)
    try:
        identify(data, method=dr.estimation.SingleShooting(), torque=AS_IT_IS)
        refused = ""
    except dr.errors.SolverError as problem:
        refused = str(problem)
    assert "fell_over" in refused and "use method=MultipleShooting" in refused
    fit = identify(data)
    for name, value in TRUTH.items():
        assert abs(fit[name] - value) < 3.5 * fit.deviations[name]
    assert fit.probability > 1e-4
    findings = [f"one run from the start: {refused}", str(fit)]
    if report:
        reported = identifiable_parameters(data)
        assert len(reported.names) == 25 and len(reported.unidentifiable) > 0
        findings.append(str(reported))
    figures = {"fit": fit.plot(), "intervals": fit.plot_intervals(TRUTH)}
    return Study("A bicycle identified at 2 m/s", {"bicycle_identified": run}, figures, tuple(findings))

"""State estimation of a bicycle: lean and steer from a gyroscope and a wheel speed sensor.

What it shows: `filter` on the nonlinear equations of the benchmark bicycle. The rider's torques and side winds are unknown and
modeled as white noise. A gyroscope on the frame measures three rates with noise of 0.1 rad/s, and a sensor the rear wheel's
spin with 0.5 rad/s, at 25 Hz. The frame's attitude is a unit quaternion and both wheels are on the ground: ten deviations of
thirteen states, and every estimate satisfies the constraints.

What you should see: the initial lean is known to within 3°. After a second it is known to within 1° although no sensor measures
it: a leaning bicycle turns, and the turn rate is measured. The smoother over the whole ride halves the deviation. The true
values lie in the 95 % bands about as often as stated, and the innovations are consistent. The extended filter, by exact
derivatives, and the unscented one, by sigma points, agree to a fraction of their deviations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.simulation.sampled_control import Recorded
from draisine.view.plots.estimation import Band, bands

SPEED = 4.6  # m/s, between weave and capsize speed: self-stable
SENSORS = {"frame_wx": 0.1, "frame_wy": 0.1, "frame_wz": 0.1, "rear_wheel_spin": 0.5}  # rad/s
PROCESS_NOISE = {"steer_torque": 0.2, "push": 2.0, "pedal_torque": 2.0}  # N m √s, N √s, N m √s
SPREAD = {"lean": 0.05, "steer": 0.05, "frame_wx": 0.1, "steer_rate": 0.1, "speed": 0.2}
REPORTED = ("lean", "steer", "roll_rate", "steer_rate", "speed")
STEP, EVERY = 0.005, 8  # s of constant noise, and how many of them from sample to sample


def ride(until: float, seed: int) -> tuple[dr.Trajectory, dict[str, np.ndarray]]:
    """A ride with random steer, saddle and pedal inputs, and its measurements."""
    bike, random = bicycle(), np.random.default_rng(seed)
    fine = np.linspace(0.0, until, round(until / STEP), endpoint=False)
    names = [q.name for q in dr.derive(bike).inputs]
    rows = np.column_stack([PROCESS_NOISE[n] / math.sqrt(STEP) * random.normal(size=len(fine)) for n in names])
    start = {n: size * random.normal() for n, size in SPREAD.items()}
    start["speed"] += SPEED
    truth = dr.simulate(bike, until, start=start, control=Recorded.of(fine, rows), samples=np.append(fine[::EVERY], until))
    count = len(truth.time)
    return truth, {"time": truth.time, **{n: truth[n] + s * random.normal(size=count) for n, s in SENSORS.items()}}


@entry(level="Advanced")
def state_estimation(until: float = 4.0, seed: int = 1) -> Study:
    """A filter and a smoother estimate lean and steer of a bicycle from a gyroscope and the speed of its rear wheel."""
    truth, data = ride(until, seed)
    found = {}
    for name, method in (
        ("extended", dr.estimation.ExtendedKalmanFilter()),
        ("unscented", dr.estimation.UnscentedKalmanFilter()),
    ):
        short = data if name == "extended" else {n: c[: len(truth.time) // 4] for n, c in data.items()}
        found[name] = dr.filter(
            bicycle(),
            short,
            measured=SENSORS,
            process=PROCESS_NOISE,
            start={"speed": SPEED},
            spread=SPREAD,
            method=method,
            smooth=name == "extended",
        )
    extended = found["extended"]
    assert extended.smoothed is not None
    residual = max(float(np.abs(e.run.residuals).max()) for e in (extended.filtered, extended.smoothed))
    assert residual < 1e-9
    assert str(extended.consistency.verdict) == "consistent" and extended.consistency.white

    half = len(truth.time) // 2
    known = [math.degrees(float(e.deviation("lean")[half])) for e in (extended.filtered, extended.smoothed)]
    assert known[0] < 0.4 * math.degrees(SPREAD["lean"]) and known[1] < 0.7 * known[0]
    inside = np.abs(extended.smoothed.errors(truth, REPORTED)) < 1.96 * np.column_stack(
        [extended.smoothed.deviation(n) for n in REPORTED]
    )
    assert inside.mean() > 0.85
    count = len(found["unscented"].time)
    apart = [np.abs(found["unscented"].filtered[n] - extended.filtered[n][:count]) for n in REPORTED]
    share = max(float((a / extended.filtered.deviation(n)[:count]).max()) for n, a in zip(REPORTED, apart, strict=True))
    assert share < 0.5

    figures = {"lean_and_steer": extended.plot("lean", "steer", "frame_wx", truth=truth), "errors": _errors(extended, truth)}
    findings = (
        extended.summary(),
        f"after {truth.time[half]:.1f} s lean is known to within {known[0]:.2f}° (one standard deviation), looking back "
        f"to within {known[1]:.2f}°",
        f"the truth lies in the smoothed 95 % bands {100 * inside.mean():.0f} % of the time",
        f"extended and unscented estimates differ by {share:.2g} standard deviations at most",
        f"largest constraint residual of any estimate: {residual:.1e}",
    )
    return Study("Lean and steer from a gyroscope", {"state_estimation": extended.smoothed.run}, figures, findings)


def _errors(found: dr.estimation.FilterResult, truth: dr.Trajectory) -> Any:
    """Estimation errors with their 95 % bands."""
    zero = (truth.time, np.zeros(len(truth.time)))
    kinds = [e for e in (found.filtered, found.smoothed) if e is not None]
    panels = []
    for name, unit in (("lean", "rad"), ("steer", "rad"), ("speed", "m/s")):
        reported = [(e, e.errors(truth, [name])[:, 0]) for e in kinds]
        panels.append(
            [Band(f"error of {name}", unit, e.time, errors, e.deviation(name), e.kind, None, zero) for e, errors in reported]
        )
    return bands(panels)

"""Figures of estimation: whether 95 % intervals hold the truth 95 times of a hundred, and what fits and sensitivities cost.

Run as a program, `python benchmarks/estimation.py bicycle 1000`, it measures coverage alone: of the draining `tank`, of a `stick`
balanced by a noisy torque, or of the `bicycle`, with so many data sets. Its matrices are small: `OPENBLAS_NUM_THREADS=1` is
quickest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries import bicycle_identified as bicycle
from draisine.gallery.entries import draining_tank as tank
from draisine.stability.linearization import equations_of
from figure import AtLeast, AtMost, Faster, Figure
from peers import pydy_bicycle
from peers.pydy_bicycle import Peer

SETS = {"tank": 1000, "stick": 100, "bicycle": 200}  # in the table, for a minute or two each; 1,000 of each by the program
LEAST, MOST = 0.930, 0.967  # shares of intervals that hold the truth, of 1,000 at 95 %
NOISE = 1e-3  # rad/s, in the stable run
MASSES = {"iyy_front_wheel": 0.28, "m_fork": 4.0, "m_front_wheel": 3.0}
GUESS = {"iyy_front_wheel": 0.2, "m_fork": 5.0, "m_front_wheel": 2.5}
FAST = dr.optimal.MultipleShooting(window=0.25, integration=dr.methods.RK4(step=0.01))


def figures(peer: Peer | None) -> Iterator[Figure]:
    ours, theirs = _stable(), None if peer is None else _stable_peer(peer)
    yield Figure("bicycle at 4.6 m/s: 3 parameters from 10 s at 100 Hz", ours, "s", Faster(15.0), theirs)
    for what, shares in _shares().items():
        sets = SETS[what]
        least, most = limits(sets)
        for name, share in shares.items():
            yield Figure(f"{name}: 95 % intervals that hold the truth, {sets:,} data sets", share, "", AtLeast(least))
            if most < 1:
                yield Figure(f"{name}: 95 % intervals hold the truth not more often than promised", share, "", AtMost(most))
    model, run = equations_of(dr.gallery.bicycle()), bicycle.ride()
    data = bicycle.recorded(run)
    seconds = _best(lambda: bicycle.identify(data, method=FAST, model=model), 3)
    yield Figure("bicycle at 2 m/s: 3 parameters from 10 s at 100 Hz by windows", seconds, "s")
    yield Figure("bicycle: 10 s with derivatives by 25 parameters, in plain runs", _sensitivity(model), "", AtMost(25.0))


def limits(sets: int) -> tuple[float, float]:
    """The band for 1,000 data sets, wider for fewer like the deviation of a share."""
    wider = (1000 / sets) ** 0.5
    return 0.95 - (0.95 - LEAST) * wider, 0.95 + (MOST - 0.95) * wider


def _shares() -> dict[str, dict[str, float]]:
    """Of all three at a time, in processes of their own: what counts here is not time."""
    surroundings = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    running = {
        what: subprocess.Popen([sys.executable, __file__, what, str(sets)], env=surroundings, stdout=subprocess.PIPE, text=True)
        for what, sets in SETS.items()
    }
    try:
        printed = {what: process.communicate()[0] for what, process in running.items()}
    finally:
        for process in running.values():
            process.kill()  # those that have not ended, where the time is up
    if failed := [what for what, process in running.items() if process.returncode]:
        raise RuntimeError(f"no intervals of {', '.join(failed)}")
    return {what: json.loads(said) for what, said in printed.items()}


def _tank(sets: int) -> dict[str, float]:
    def fit(random: np.random.Generator) -> dr.estimation.Fit:
        return tank.identify(tank.experiment(1e-3, seed=int(random.integers(2**32))), 1e-3)

    return {f"tank's {n}": s for n, s in dr.estimation.coverage(fit, {"theta": tank.THETA}, sets).shares.items()}


def _stick(sets: int) -> dict[str, float]:
    """An unstable motion with a noisy record of its input."""
    import sympy as sp

    angle, rate, stiffness, gain, u = sp.symbols("angle rate stiffness gain u")
    parameters = {stiffness: 16.0, gain: 1.0}
    stick = dr.first_order("stick", {angle: rate, rate: stiffness * angle + gain * u}, parameters=parameters, inputs=[u])
    truth = {"gain": 1.2, "stiffness": 16.0}
    law = "-40*angle - 8*rate + 4*sin(3*t) + 3*cos(7*t)"
    run = dr.simulate(stick, 8.0, inputs={"u": law}, start={"angle": 0.1}, parameters=truth, samples=401)

    def fit(random: np.random.Generator) -> dr.estimation.Fit:
        log = {"time": run.time, "angle": run["angle"] + 0.002 * random.normal(size=401)}
        log["torque"] = run["u"] + 0.3 * random.normal(size=401)
        given: dict[str, Any] = {
            "inputs": {"u": dr.estimation.CubicInput("torque", 0.3)},
            "method": dr.optimal.MultipleShooting(window=0.4),
        }
        return dr.estimate(stick, log, list(truth), {"angle": ("angle", 0.002)}, **given)

    return {f"stick's {n}": s for n, s in dr.estimation.coverage(fit, truth, sets).shares.items()}


def _bicycle(sets: int) -> dict[str, float]:
    model, run = equations_of(dr.gallery.bicycle()), bicycle.ride()

    def fit(random: np.random.Generator) -> dr.estimation.Fit:
        return bicycle.identify(bicycle.recorded(run, int(random.integers(2**32))), method=FAST, model=model)

    return {f"bicycle's {n}": s for n, s in dr.estimation.coverage(fit, bicycle.TRUTH, sets).shares.items()}


def _stable() -> float:
    """Seconds for an inertia and two masses from roll and steer rates of the free run, whose start is known."""
    model, start = equations_of(dr.gallery.bicycle()), {"speed": 4.6, "roll_rate": 0.5}
    run, random = dr.simulate(model, 10.0, start=start, samples=1001), np.random.default_rng(1)
    data = {"time": run.time} | {n: run[n] + NOISE * random.normal(size=1001) for n in ("roll_rate", "steer_rate")}
    measured = {n: (n, NOISE) for n in ("roll_rate", "steer_rate")}

    def fit() -> dr.estimation.Fit:
        return dr.estimate(model, data, list(MASSES), measured, guess=GUESS, start=start)

    found = fit()
    assert all(abs(found[n] - value) < 4 * found.deviations[n] for n, value in MASSES.items())
    return _best(fit, 5)


def _stable_peer(peer: Peer) -> float:
    """Seconds for the same with SciPy's least squares and differences on PyDy's right-hand side through `odeint`."""
    from scipy.integrate import odeint
    from scipy.optimize import least_squares

    places = [pydy_bicycle.CONSTANTS.index(n) for n in ("IFyy", "mH", "mF")]
    columns = [(*pydy_bicycle.COORDINATES, *pydy_bicycle.SPEEDS).index(n) for n in ("lean_rate", "steer_rate")]
    start, times = pydy_bicycle.consistent(peer, 4.6, lean_rate=0.5), np.linspace(0.0, 10.0, 1001)

    def rates(values: Any) -> Any:
        constants = peer.constants.copy()
        constants[places] = values
        return odeint(peer.rhs, start, times, args=(constants,), rtol=1e-8, atol=1e-10, mxstep=5000)[:, columns]

    truth = np.array(list(MASSES.values()))
    data = rates(truth) + NOISE * np.random.default_rng(1).normal(size=(1001, 2))
    guess = np.array(list(GUESS.values()))

    def fit() -> Any:  # differences of SciPy's own size drown in the integrator's error
        return least_squares(lambda values: ((rates(values) - data) / NOISE).ravel(), guess, x_scale=guess, diff_step=1e-5)

    found = fit()
    deviations = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    assert np.all(np.abs(found.x - truth) < 4 * deviations)
    return _best(fit, 2)


def _sensitivity(model: dr.Equations) -> float:
    names = [q.name for q in model.parameters if q.name != "gravity"]
    given: dict[str, Any] = {"start": {"speed": 4.6, "roll_rate": 0.5}, "samples": 2, "method": dr.methods.DOP853()}

    def plain() -> object:
        return dr.simulate(model, 10.0, **given)

    def varied() -> object:
        return dr.simulate(model, 10.0, **given, sensitivity=names)

    for work in (plain, varied):
        work()
    return _best(varied, 5) / _best(plain, 15)


def _best(work: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        begin = time.thread_time()
        work()
        seconds.append(time.thread_time() - begin)
    return min(seconds)


MEASURED = {"tank": _tank, "stick": _stick, "bicycle": _bicycle}

if __name__ == "__main__":
    print(json.dumps(MEASURED[sys.argv[1]](int(sys.argv[2]))))

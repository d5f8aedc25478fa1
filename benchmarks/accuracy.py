"""Figures of correctness: eigenvalues, drift over a long run, agreement of methods, agreement with a brute-force solve."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from figure import AtLeast, AtMost, Figure
from peers import pydy_bicycle
from peers.pydy_bicycle import Peer

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "meijaard2007.json"
FREE_RUN = {"speed": 4.6, "roll_rate": 0.5}
Array = NDArray[np.float64]


def figures(peer: Peer | None) -> Iterator[Figure]:
    equations = dr.derive(dr.gallery.model("bicycle"))
    yield Figure("eigenvalues at 0…10 m/s, worst of 44 errors", eigenvalue_error(equations), "1/s", AtMost(1e-11))
    yield from long_run()
    if peer is not None:
        yield Figure("5 s of free run: lean, steer, rates and path against PyDy", difference(peer), "", AtMost(1e-8))
    yield from methods()
    yield Figure("accelerations against brute force, ±70° lean × ±90° steer", brute_force_error(equations), "", AtMost(1e-9))


def eigenvalue_error(equations: dr.Equations) -> float:
    """Exact derivative of the state derivative, riding straight; its lateral block against the published values."""
    table = json.loads(REFERENCE.read_text(encoding="utf-8"))["eigenvalues"]["table"]
    names = [s.name for s in equations.states]
    # Straight ahead, to first order, lean is twice the quaternion's x part, and these four live by themselves.
    lateral = [names.index(n) for n in ("frame_qx", "steer", "frame_wx", "steer_rate")]
    derivative = equations.dynamics.jacobian("xdot", "x")
    worst = 0.0
    for speed, values in table.items():
        state = upright(equations, float(speed))
        (jacobian,) = derivative(0.0, state, np.zeros(len(equations.inputs)), equations.default_parameters)
        found = list(np.linalg.eigvals(jacobian[np.ix_(lateral, lateral)]))
        published = [complex(float(v["re"]), float(v["im"])) for v in values]
        worst = max(worst, min(max(abs(a - b) for a, b in zip(found, p, strict=True)) for p in itertools.permutations(published)))
    return worst


def upright(equations: dr.Equations, speed: float) -> Array:
    """Riding straight ahead at a speed; the wheels' spins follow from their radii."""
    values = {q.name: q.default for q in equations.states}
    radius = {p.name: p.default for p in equations.parameters}
    for wheel in ("rear", "front"):
        values[f"{wheel}_wheel_spin"] = speed / radius[f"r_{wheel}_wheel"]
    return on_ground(equations, np.array([values[s.name] for s in equations.states]))


def on_ground(equations: dr.Equations, state: Array, steps: int = 30) -> Array:
    """The nearest state with both wheels on the ground."""
    assert equations.project is not None
    inputs = np.zeros(len(equations.inputs))
    for _ in range(steps):
        state, error = equations.project(0.0, state, inputs, equations.default_parameters)
        if error[0] < 1e-14:
            break
    return state


def long_run() -> Iterator[Figure]:
    """A minute of free run at 1e-10."""
    run = dr.simulate(dr.gallery.model("bicycle"), 60.0, start=FREE_RUN, method=dr.methods.DOP853(rtol=1e-10, atol=1e-10))
    drift = run.energy_drift
    assert drift is not None, "the bicycle's report has its energies"
    yield Figure("60 s of free run at 1e-10: energy drift", drift, "", AtMost(1e-9))
    yield Figure("60 s of free run at 1e-10: contact height error", run.constraint_residual["holonomic"], "m", AtMost(1e-9))


def methods() -> Iterator[Figure]:
    """All three methods end in one state: the fixed-step ones approach DOP853 with their order when the step is halved."""
    bicycle = dr.gallery.model("bicycle")

    def final(method: dr.methods.DOP853 | dr.methods.RK4 | dr.methods.PredictorCorrector) -> Array:
        run = dr.simulate(bicycle, 5.0, start=FREE_RUN, method=method, samples=2)
        return np.concatenate([run.coordinates[-1], run.velocities[-1]])

    exact = final(dr.methods.DOP853(rtol=1e-13, atol=1e-13))
    for name, method, order in (("RK4", dr.methods.RK4, 4), ("predictor–corrector", dr.methods.PredictorCorrector, 5)):
        coarse, fine = (float(np.abs(final(method(step=h)) - exact).max()) for h in (0.005, 0.0025))
        yield Figure(f"{name}, 5 ms: final state against DOP853", coarse)
        yield Figure(f"{name}: order found by halving the step", math.log2(coarse / fine), "", AtLeast(order - 0.3))


def difference(peer: Peer) -> float:
    """Worst difference of the final states. The peer's axes have y to the right and z down, and its states are Euler angles."""
    names = (*pydy_bicycle.COORDINATES, *pydy_bicycle.SPEEDS)
    theirs = dict(zip(names, pydy_bicycle.integrate(peer, tolerance=1e-12)[-1], strict=True))
    run = dr.simulate(
        dr.gallery.model("bicycle"), 5.0, start=FREE_RUN, method=dr.methods.DOP853(rtol=1e-13, atol=1e-13), samples=2
    )
    ours = run.final
    pairs = (
        (ours["lean"], theirs["lean"]),
        (ours["steer"], -theirs["steer"]),
        (ours["steer_rate"], -theirs["steer_rate"]),
        (ours["rear_wheel_spin"], -theirs["rear_spin"]),
        (ours["front_wheel_spin"], -theirs["front_spin"]),
        (ours["heading"], -theirs["yaw"]),
        (ours["rear_wheel_contact_x"] - float(run["rear_wheel_contact_x"][0]), theirs["x"]),
        (ours["rear_wheel_contact_y"] - float(run["rear_wheel_contact_y"][0]), -theirs["y"]),
    )
    return max(abs(a - b) for a, b in pairs)


def brute_force_error(equations: dr.Equations) -> float:
    """Worst difference from M v̇ = f + Aᵀλ, A v̇ = −Ȧv solved at once; relative to 1 + the largest acceleration."""
    worst = 0.0
    reference = BruteForce(equations)
    for lean, steer in itertools.product(np.radians(np.linspace(-70, 70, 15)), np.radians(np.linspace(-90, 90, 19))):
        state = leaning(equations, lean, steer)
        (rates,) = equations.dynamics(0.0, state, reference.inputs, equations.default_parameters)
        found = rates[len(equations.coordinates) :]
        wanted = reference.accelerations(state, rates)
        error = float(np.abs(found - wanted).max() / (1 + np.abs(wanted).max()))
        if not math.isfinite(error):
            return math.inf
        worst = max(worst, error)
    return worst


def leaning(equations: dr.Equations, lean: float, steer: float) -> Array:
    """In motion at 4.6 m/s or so, with roll and steer rates, wheels on the ground."""
    values = {q.name: q.default for q in equations.states}
    values |= {"frame_qw": math.cos(lean / 2), "frame_qx": math.sin(lean / 2), "steer": steer}
    values |= {"frame_wx": 0.5, "steer_rate": -0.7, "front_wheel_spin": 13.0, "rear_wheel_spin": 15.0}
    return on_ground(equations, np.array([values[s.name] for s in equations.states]))


class BruteForce:
    """The augmented system, from inverse dynamics (by unit accelerations) and the derivatives of the constraint residuals.

    Nothing of the reduction is used: neither the choice of independent velocities nor the kernel of A.
    """

    def __init__(self, equations: dr.Equations) -> None:
        assert equations.inverse_dynamics is not None
        self.equations = equations
        self.inverse = equations.inverse_dynamics
        self.inputs = np.zeros(len(equations.inputs))
        self.rows = [i for i, c in enumerate(equations.constraints) if c.level == "velocity"]
        self.by_velocity = equations.motion.jacobian("residuals", "v")
        self.by_position = equations.motion.jacobian("residuals", "q")

    def accelerations(self, state: Array, rates: Array) -> Array:
        """Of the independent velocities."""
        e, p = self.equations, self.equations.default_parameters
        count = len(e.coordinates)
        q, q_rate = state[:count], rates[:count]
        v = dict(zip([s.name for s in e.report.outputs], e.report(0.0, state, self.inputs, p), strict=True))["v"]
        n = len(v)
        (bias,) = self.inverse(q, v, np.zeros(n), p)
        mass = np.column_stack([self.inverse(q, v, unit, p)[0] - bias for unit in np.eye(n)])
        arguments = (0.0, q, v, self.inputs, p)
        rows = self.by_velocity(*arguments)[0][self.rows]
        drift = self.by_position(*arguments)[0][self.rows] @ q_rate
        matrix = np.block([[mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        solved = np.linalg.solve(matrix, np.concatenate([-bias, -drift]))
        names = [u.name for u in e.velocities]
        return solved[[names.index(name) for name in e.independent]]

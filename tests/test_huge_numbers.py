"""Numbers that no computer holds, everywhere a number is taken: refused by name and at once."""

from __future__ import annotations

import dataclasses
import inspect
import time

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError, DraisineError

HUGE = 10**400
NOT_SETTINGS = {
    "Equations",
    "Solution",
    "OptimalControlProblem",
    "MultistartResult",
    "Experiment",
    "Trajectory",
}  # results, statements


def settings() -> dict[str, tuple[type, str]]:
    """Public classes of settings, each with the arguments that are numbers."""
    spaces = [dr, dr.methods, dr.optimal, dr.guess, dr.estimation, dr.estimation.losses, dr.control, dr.stability]
    spaces += [dr.distributions, dr.reductions, dr.formulations, dr.stabilization]
    found = {}
    for space in spaces:
        for name in dir(space):
            kind = None if name.startswith("_") else getattr(space, name)
            if not inspect.isclass(kind) or not dataclasses.is_dataclass(kind) or name in NOT_SETTINGS:
                continue
            if not hasattr(space, "__all__") or name in space.__all__:
                numbers = [f.name for f in dataclasses.fields(kind) if f.init and {"int", "float"} & words(f.type)]
                found |= {f"{name}.{field}": (kind, field) for field in numbers}
    return found


def words(annotation: object) -> set[str]:
    return set(str(annotation).replace("[", " ").replace("]", " ").replace(",", " ").split())


SETTINGS = settings()


@pytest.mark.parametrize("what", SETTINGS)
def test_settings(what):
    kind, field = SETTINGS[what]
    required = [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
    with pytest.raises(DraisineError) as refused:
        kind(**dict.fromkeys(required, 1.0) | {field: HUGE})
    assert len(str(refused.value)) < 500


def test_there_are_settings():
    assert {"DOP853.rtol", "RK4.step", "Collocation.intervals", "Ipopt.iterations", "Normal.mean", "Huber.threshold"} <= set(
        SETTINGS
    )


X, V, F = sp.symbols("x v f")
MASS = dr.first_order("mass", {X: V, V: F}, inputs=[F])
STATED = dr.maneuver(MASS).start(x=0, v=0).finish(x=1, v=0).bounds(f=(-1, 1)).minimize("time")
DISK = dr.gallery.rolling_disk()
BIKE = dr.gallery.bicycle()

CALLS = {
    "start": lambda n: STATED.start(x=n),
    "finish": lambda n: STATED.finish(x=n),
    "finish, rates": lambda n: STATED.finish(x=1.0, rates=n),
    "bounds": lambda n: STATED.bounds(f=(0, n)),
    "duration": lambda n: STATED.duration(n),
    "minimize": lambda n: STATED.minimize(time=n),
    "optimize": lambda n: STATED.optimize(k=(0, n)),
    "parameters": lambda n: STATED.parameters(k=n),
    "inputs": lambda n: STATED.inputs(f=n),
    "simulate, inputs": lambda n: dr.simulate(BIKE, 1.0, inputs={"steer_torque": n}),
    "simulate, samples": lambda n: dr.simulate(DISK, 1.0, samples=[0, n]),
    "simulate, parameters as text": lambda n: dr.simulate(DISK, 1.0, parameters={"mass": f"{n} kg"}),
    "simulate, law": lambda n: dr.simulate(BIKE, 1.0, inputs={"steer_torque": f"{n}*t"}),
    "modes": lambda n: dr.modes(BIKE, speed=[1, n]),
    "lqr": lambda n: dr.lqr(BIKE, {"speed": 5}, weights={"lean": n}, input_weights={"steer_torque": 1.0}),
    "ensemble, over": lambda n: dr.ensemble(DISK, 0.1, {"speed": [1, n]}),
    "ensemble, seed": lambda n: dr.ensemble(DISK, 0.1, cases={"speed": dr.distributions.Normal(1, 0.1)}, runs=2, seed=n),
    "certify": lambda n: dr.certify(DISK, count=n),
    "first_order, parameter": lambda n: dr.first_order("m", {X: -V * X}, parameters={V: n}),
    "first_order, start": lambda n: dr.first_order("m", {X: -X}, start={X: n}),
    "first_order, formula": lambda n: dr.first_order("m", {X: -sp.Integer(n) * X}),
    "first_order, fraction": lambda n: dr.first_order("m", {X: -X / sp.Integer(n)}),
    "body": lambda n: dr.Model("m").body("b", mass=n),
    "run.at": lambda n: dr.simulate(DISK, 0.1).at(n),
    "run.interpolated": lambda n: dr.simulate(DISK, 0.1).interpolated([0.05, n]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", [HUGE, -HUGE], ids=["10^400", "-10^400"])
def test_calls(call, number):
    with pytest.raises(DraisineError) as refused:
        CALLS[call](number)
    assert len(str(refused.value)) < 1000


UNIFORM = {"speed": dr.distributions.Uniform(1, 2)}
COUNTS = {
    "runs": lambda n: dr.ensemble(DISK, 1.0, cases=UNIFORM, runs=n),
    "combinations": lambda n: dr.ensemble(DISK, 1.0, {name: (1, 2, 10**5) for name in ("speed", "mass")}),
    "threads": lambda n: dr.ensemble(DISK, 1.0, cases=UNIFORM, runs=2, threads=n),
    "samples": lambda n: dr.simulate(DISK, 1.0, samples=n),
    "sweep": lambda n: dr.modes(BIKE, speed=(1.0, 2.0, n)),
    "intervals": lambda n: STATED.solve(dr.optimal.Collocation(intervals=n)),
    "shooting": lambda n: STATED.solve(dr.optimal.MultipleShooting(intervals=n)),
    "shooting steps": lambda n: STATED.solve(dr.optimal.MultipleShooting(steps=n)),
    "pieces": lambda n: STATED.solve(dr.optimal.Adjoint(pieces=n)),
    "steps": lambda n: STATED.solve(dr.optimal.Adjoint(steps=n)),
    "guesses": lambda n: dr.optimal.RandomGuesses(n),
    "fits": lambda n: dr.estimation.MultiStart(n),
    "sampling times": lambda n: dr.estimation.SamplingTimes(n),
    "extremes": lambda n: dr.reductions.Extremes(n),
    "states of a certificate": lambda n: dr.certify(DISK, count=n),
}


@pytest.mark.parametrize("count", COUNTS)
def test_counts_beyond_memory(count):
    began = time.process_time()
    with pytest.raises(ArgumentError, match=r"at most|too large"):
        COUNTS[count](10**12)
    assert time.process_time() - began < 30.0  # to count as far would take hours


def test_numbers_that_fit_are_taken():
    """The limit is that of floating point, not below it."""
    largest = int(np.finfo(float).max)
    assert dr.methods.DOP853(max_step=largest).max_step == largest
    assert dr.methods.RK4(step=2**1023).step == 2**1023
    assert STATED.bounds(f=(-1, largest)).limits[-1] == ("f", (-1, largest))


def test_random_nested_numbers():
    """One huge integer anywhere in an argument is found and named."""
    pick = np.random.default_rng(1)
    for _ in range(20):
        at, size = int(pick.integers(5)), int(pick.integers(330, 3000))
        values: list = [1.0, 2, np.float64(3), 4, 5]
        values[at] = int(pick.choice([-1, 1])) * 10**size
        for given in (values, tuple(values), {"speed": values}):
            with pytest.raises(ArgumentError, match=r"an integer of \d+ bits is too large"):
                dr.ensemble(DISK, 0.1, given if isinstance(given, dict) else {"speed": given})

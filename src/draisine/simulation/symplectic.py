"""Runs by symplectic methods: RATTLE on holonomic constraints, Gauss–Legendre in coordinates and momenta without any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.dynamics.dae.stabilization.hamiltonian import Momenta, in_momenta, rattle_step
from draisine.dynamics.options import Rattle, Symplectic
from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Run
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage, Sampled
from draisine.simulation.symplectic import RATTLE

Reals = NDArray[np.float64]


def refuse_company(drift: Rattle | Symplectic, method: Method | None, control: Sampled | EveryStage | None) -> None:
    """Symplectic runs have a method of their own, and take no control."""
    name = type(drift).__name__
    if method is not None:
        raise ArgumentError(f"{name} is a method of its own, with steps of {drift.step:g} s; leave out method={method!r}")
    if control is not None:
        raise ArgumentError(f"{name} is for conservative mechanisms, which no control moves; leave out control=…")


def symplectic_run(
    drift: Rattle | Symplectic,
    equations: Equations,
    x0: Reals,
    until: float,
    inputs: Reals,
    parameters: Reals,
    samples: Reals | None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """From a state of equations in which nothing is eliminated; the run is told in their terms."""
    name = type(drift).__name__
    if np.any(inputs != 0.0):
        pushed = equations.inputs[int(np.argmax(inputs != 0.0))].name
        raise ArgumentError(f"{equations.name}: {name} is for conservative mechanisms, but the input {pushed!r} is not zero")
    if isinstance(drift, Symplectic):
        return _in_momenta(drift, equations, x0, until, parameters, samples, progress)
    choices, solve, finish = _rattle_kernels(equations)
    method = RATTLE(solve, finish, drift.step)
    return integrate(choices, x0, until, parameters=parameters, method=method, samples=samples, progress=progress)


@lru_cache(maxsize=16)
def _rattle_kernels(equations: Equations) -> tuple[VelocityChoices, Kernel, Kernel]:
    """What a step needs. Nothing else may move the state: it is on its constraints, and stays symplectic."""
    step = rattle_step(equations)
    return prepare(replace(equations, project=None, monitor=None)), compile(step.drift), compile(step.kick)


@lru_cache(maxsize=16)
def _momenta_kernels(equations: Equations) -> tuple[Momenta, VelocityChoices, Kernel, Kernel]:
    form = in_momenta(equations)
    return form, prepare(form.equations), compile(form.to_momenta), compile(form.to_velocities)


def _in_momenta(
    drift: Symplectic,
    equations: Equations,
    x0: Reals,
    until: float,
    parameters: Reals,
    samples: Reals | None,
    progress: Callable[[float], None] | None,
) -> Run:
    _, choices, to_momenta, to_velocities = _momenta_kernels(equations)
    n = len(equations.coordinates)
    (momenta,) = to_momenta(x0[:n], x0[n : 2 * n], parameters)
    method = Gauss(step=drift.step, stages=drift.order // 2)
    begin = np.concatenate([x0[:n], momenta])
    run = integrate(choices, begin, until, parameters=parameters, method=method, samples=samples, progress=progress)

    def reported(state: Reals) -> Reals:
        (speeds,) = to_velocities(state[:n], state[n:], parameters)
        return np.concatenate([state[:n], speeds, x0[2 * n :]])

    def all_reported(states: Reals) -> Reals:
        if len(states) < 2:  # of one sample a kernel cannot tell its numbers from samples
            return np.array([reported(x) for x in states]).reshape(len(states), len(x0))
        (speeds,) = to_velocities.map(states[:, :n], states[:, n:], parameters)
        return np.hstack([states[:, :n], speeds, np.tile(x0[2 * n :], (len(states), 1))])

    segments = tuple(replace(s, equations=equations, states=all_reported(s.states)) for s in run.segments)
    events = tuple(replace(e, state=reported(e.state)) for e in run.events)
    return replace(run, segments=segments, events=events, final_state=reported(run.final_state))

"""Runs by symplectic methods: RATTLE on holonomic constraints, Gauss–Legendre in coordinates and momenta without any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.equations.drift import Rattle, Symplectic
from draisine.equations.drift.hamiltonian import Momenta, in_momenta, rattle_step
from draisine.kernels import Kernel, compile
from draisine.model.errors import ModelError
from draisine.program.equations import Equations
from draisine.simulation import Choices, EveryStage, Gauss, Run, Sampled, Segment, integrate, prepare
from draisine.simulation.methods import Method
from draisine.simulation.rattle import RattleKernels, rattle

Reals = NDArray[np.float64]


def refuse_company(drift: Rattle | Symplectic, method: Method | None, control: Sampled | EveryStage | None) -> None:
    """Symplectic runs have a method of their own, and take no control."""
    name = type(drift).__name__
    if method is not None:
        raise ValueError(f"{name} is a method of its own, with steps of {drift.step:g} s; leave out method={method!r}")
    if control is not None:
        raise ValueError(f"{name} is for conservative mechanisms, which no control moves; leave out control=…")


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
        raise ModelError(f"{equations.name}: {name} is for conservative mechanisms, but the input {pushed!r} is not zero")
    if isinstance(drift, Rattle):
        run = rattle(_rattle_kernels(equations), x0, until, drift.step, parameters, samples, progress)
    else:
        run = _in_momenta(drift, equations, x0, until, parameters, samples, progress)
    if equations.event_list:
        missed = ", ".join(e.name for e in equations.event_list)
        run = replace(run, status=run.status.with_warning(f"{name} does not look for events ({missed})"))
    return run


@lru_cache(maxsize=16)
def _rattle_kernels(equations: Equations) -> RattleKernels:
    step = rattle_step(equations)
    return RattleKernels(equations, compile(step.drift), compile(step.kick), compile(equations.explicit), step.rows)


@lru_cache(maxsize=16)
def _momenta_kernels(equations: Equations) -> tuple[Momenta, Choices, Kernel, Kernel]:
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

    def told(times: Reals, states: Reals) -> Reals:
        (speeds,) = to_velocities.map(states[:, :n], states[:, n:], parameters)
        rest = np.tile(x0[2 * n :], (len(states), 1))
        return np.hstack([states[:, :n], speeds, rest])

    segments = tuple(Segment(equations, s.times, told(s.times, s.states), s.inputs, s.steps) for s in run.segments)
    return replace(run, segments=segments, final_state=told(np.zeros(1), run.final_state[None, :])[0])

"""Figures of sparse systems: the bicycle of 23 coordinates, and chains of up to 1,000 masses in Cartesian coordinates."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import draisine as dr
from draisine.gallery.entries.ladder import ladder
from draisine.gallery.entries.n_pendulum import kept, n_pendulum, n_pendulum_by_angles
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.run import integrate
from figure import AtMost, Figure
from speed import derivation, evaluation_of, median, medians

METHOD = dr.methods.DOP853(rtol=1e-9, atol=1e-9)
LENGTHS = (10, 30, 100, 300, 1000)  # masses
CELLS = (5, 20, 80)


def figures() -> Iterator[Figure]:
    yield from bicycle()
    yield from cost_of_a_step()
    yield from what_chains_keep()
    for masses in (1, 2, 50):
        yield Figure(f"{masses} masses, first 5 s at 1e-9: from the chain in angles", difference(masses), "m", AtMost(1e-6))


def bicycle() -> Iterator[Figure]:
    """Both solvers, whatever the one that would be chosen."""
    solvers = (dr.formulations.Solver.DENSE, dr.formulations.Solver.SPARSE)
    for solver in solvers:
        seconds = median(3, partial(derivation, "lagrangian", solver))
        yield Figure(f"derive and compile the bicycle of 23 coordinates, {solver}", seconds, "s", AtMost(1.0))
    clocks = [evaluation_of(dr.gallery.delebecque_bicycle(solver), {"speed": 8.0}, 1.0) for solver in solvers]
    for solver, seconds in zip(solvers, medians(20, *clocks, running=3), strict=True):
        yield Figure(f"state derivative of the bicycle of 23 coordinates, {solver}", seconds, "s")


def cost_of_a_step() -> Iterator[Figure]:
    """Of the fall of chains and of the swing of ladders, projection included."""
    for what, make, lengths in (("masses", n_pendulum, LENGTHS), ("cells of a ladder", ladder, CELLS)):
        clocks, seconds = [], math.nan
        for length in lengths:
            began = time.perf_counter()
            equations = make(length)
            choices = prepare(equations)
            seconds = time.perf_counter() - began
            clocks.append(partial(_step, choices, np.array([s.default for s in equations.states])))
        yield Figure(f"{lengths[-1]} {what}: derive and compile, or load", seconds, "s", AtMost(30.0))
        # The lengths take turns, and the least of each is taken: what else runs on the machine only adds to it.
        costs = [min(found) for found in zip(*([clock() for clock in clocks] for _ in range(9)), strict=True)]
        for length, cost in zip(lengths, costs, strict=True):
            yield Figure(f"{length} {what}: cost of a step", cost, "s")
        power = float(np.polyfit(np.log(lengths), np.log(costs), 1)[0])
        yield Figure(f"{lengths[0]}…{lengths[-1]} {what}: the cost grows like their number to the power", power, "", AtMost(1.2))


def _step(choices: VelocityChoices, start: np.ndarray) -> float:
    run = integrate(choices, start, 0.5, method=METHOD, samples=[0.0, 0.5])
    return float(run.seconds["integrate"] / (run.accepted + run.rejected))


def what_chains_keep() -> Iterator[Figure]:
    """A minute at 1e-9, from the horizontal."""
    worst_energy, worst_length, last = 0.0, 0.0, math.nan
    chains = (1, 2, 5, 20, 50, 200)
    for masses in chains:
        began = time.perf_counter()
        found = kept(masses, 60.0, 1e-9)
        last = time.perf_counter() - began
        worst_energy, worst_length = max(worst_energy, found.energy), max(worst_length, found.length)
    which = f"{', '.join(map(str, chains[:-1]))} and {chains[-1]} masses, 60 s at 1e-9"
    yield Figure(f"{which}: energy, as a part of Σ m g l", worst_energy, "", AtMost(1e-7))
    yield Figure(f"{which}: lengths of the rods", worst_length, "m", AtMost(1e-12))
    yield Figure(f"{chains[-1]} masses, 60 s at 1e-9, in all", last, "s")


def difference(masses: int) -> float:
    times = np.linspace(0.0, 5.0, 251)
    states = []
    for equations in (n_pendulum(masses), n_pendulum_by_angles(masses)):
        start = [s.default for s in equations.states]
        states.append(integrate(prepare(equations), start, 5.0, method=METHOD, samples=times).states)
    angles = states[1][:, :masses]
    places = np.stack([np.cumsum(np.sin(angles), 1), -np.cumsum(np.cos(angles), 1)], axis=2)
    return float(np.abs(states[0][:, : 2 * masses].reshape(places.shape) - places).max())

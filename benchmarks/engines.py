"""Figures of trees of bodies beside engines that are made for them: chains of hinged rods in Pinocchio and MuJoCo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np

import draisine as dr
from draisine.codegen.jit.kernel import compile
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.run import integrate
from equal_accuracy import TOLERANCES, SolverSettings, compared
from figure import AtMost, Figure
from peers import rigid_engines
from peers.rigid_engines import GRAVITY, LENGTH, MASS, MOMENT, Accelerations, Vector
from speed import medians

LENGTHS = (8, 32)
STATES = 200
FALL, TO = 1.0, 1e-6  # s from the horizontal, rad
STEPS = tuple(round(100 * 2 ** (k / 2)) for k in range(20))  # of MuJoCo's method of order 4 in the whole fall
ENGINES: dict[str, tuple[str, Callable[[int], Accelerations]]] = {
    "Pinocchio": ("pinocchio", rigid_engines.pinocchio_chain),
    "MuJoCo": ("mujoco", rigid_engines.mujoco_chain),
}


def figures(peers: bool) -> Iterator[Figure]:
    """Every engine computes the same accelerations before it is timed; all are called from Python, one state after the other."""
    there = {name: make for name, (module, make) in ENGINES.items() if peers and find_spec(module) is not None}
    for links in LENGTHS:
        states = random_states(links)
        ours = chain(links)
        for name, make in there.items():
            theirs = make(links)
            apart = max(float(np.abs(ours(q, v) - theirs(q, v)).max()) / (1 + np.abs(ours(q, v)).max()) for q, v in states[:20])
            yield Figure(f"chain of {links} rods: accelerations against {name}'s, relative", apart, "", AtMost(1e-6))
            mine, other = medians(9, rigid_engines.clock(ours, states), rigid_engines.clock(theirs, states))
            yield Figure(f"chain of {links} rods: accelerations, called from Python, beside {name}", mine, "s", None, other)
        yield Figure(f"chain of {links} rods: accelerations, compiled loop over states", _loop(links, states), "s")
    yield from _fall(LENGTHS[0], set(there))


def _fall(links: int, there: set[str]) -> Iterator[Figure]:
    """From the horizontal, at rest, at equal accuracy. The exact end: the chain's equations by hand, at 1e-13."""
    start = np.zeros(links)
    start[0] = -np.pi / 2
    equations = dr.derive(link_chain(links))
    choices, begin = prepare(equations), np.concatenate([start, np.zeros(links)])

    def ours(tolerance: float) -> Callable[[], Vector]:
        method = dr.methods.DOP853(rtol=tolerance, atol=tolerance)
        return lambda: integrate(choices, begin, FALL, method=method, samples=np.array([0.0, FALL])).states[-1, :links]

    solvers = [[SolverSettings("draisine DOP853", TOLERANCES, "tolerance {:.0e}", ours)]]
    if "Pinocchio" in there:
        fall = partial(rigid_engines.pinocchio_fall, links, start, FALL)
        solvers.append([SolverSettings("Pinocchio, SciPy's DOP853", TOLERANCES, "tolerance {:.0e}", fall)])
    if "MuJoCo" in there:
        solvers.append(
            [SolverSettings("MuJoCo RK4", STEPS, "{:,} steps", partial(rigid_engines.mujoco_fall, links, start, FALL))]
        )
    exact = np.diff(rods_exact(links, FALL), prepend=0.0)
    yield from compared(f"fall of {links} rods, {FALL:g} s to {TO:.0e} rad", "rad", solvers, exact, TO, None)


def rods_exact(links: int, until: float) -> Vector:
    """Angles of the rods from the vertical, about y: Lagrange's equations by hand in NumPy, by SciPy's DOP853 at 1e-13.

    M_ij cos(φ_i − φ_j) φ̈_j = −M_ij sin(φ_i − φ_j) φ̇_j² − G_i sin φ_i for i ≠ j with M_ij = m l² (n − max(i, j) − ½), counted
    from 0, M_ii = m l² (n − i − ⅔) and G_i = m g l (n − i − ½).
    """
    from scipy.integrate import solve_ivp

    place = np.arange(links)
    inertia = MASS * LENGTH**2 * (links - np.maximum.outer(place, place) - 0.5)
    np.fill_diagonal(inertia, MASS * LENGTH**2 * (links - place - 2 / 3))
    weight = MASS * GRAVITY * LENGTH * (links - place - 0.5)

    def rates(t: float, state: Vector) -> Vector:
        angles, speeds = np.split(state, 2)
        apart = np.subtract.outer(angles, angles)
        push = -(inertia * np.sin(apart)) @ speeds**2 - weight * np.sin(angles)
        return np.concatenate([speeds, np.linalg.solve(inertia * np.cos(apart), push)])

    begin = np.concatenate([np.full(links, -np.pi / 2), np.zeros(links)])
    return np.asarray(solve_ivp(rates, (0.0, until), begin, method="DOP853", rtol=1e-13, atol=1e-13).y[:links, -1])


def link_chain(links: int) -> dr.Model:
    """Rods hinged about y, hanging from the ground."""
    m = dr.Model("rods", "hinged rods")
    m.gravity(GRAVITY)
    parent: object = "ground"
    for k in range(links):
        rod = m.body(f"rod_{k}", mass=MASS, center_of_mass=(0, 0, -LENGTH / 2), inertia=(MOMENT, MOMENT, 0))
        m.revolute(f"hinge_{k}", parent, rod, axis="y", at=(0, 0, 0 if k == 0 else -LENGTH))
        parent = rod
    return m


def chain(links: int) -> Accelerations:
    equations = dr.derive(link_chain(links))
    kernel, p = compile(equations.explicit), equations.default_parameters
    none = np.zeros(0)

    def accelerations(q: Vector, v: Vector) -> Vector:
        return kernel(0.0, np.concatenate([q, v]), none, p)[0][links:]

    return accelerations


def _loop(links: int, states: list[tuple[Vector, Vector]]) -> float:
    equations = dr.derive(link_chain(links))
    kernel = compile(equations.explicit)
    along = np.array([np.concatenate(state) for state in states])
    whole = partial(kernel.map, 0.0, along, np.zeros(0), equations.default_parameters)
    whole()
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        whole()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken)) / len(states)


def random_states(links: int) -> list[tuple[Vector, Vector]]:
    random = np.random.default_rng(links)
    return [(random.uniform(-2, 2, links), random.uniform(-1, 1, links)) for _ in range(STATES)]

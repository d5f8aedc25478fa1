"""Figures of trees of bodies beside engines that are made for them: chains of hinged rods in Pinocchio and MuJoCo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np

import draisine as dr
from draisine.kernels import compile
from figure import AtMost, Figure
from peers import rigid_engines
from peers.rigid_engines import GRAVITY, LENGTH, MASS, MOMENT, Accelerations, Vector
from speed import medians

LENGTHS = (8, 32)
STATES = 200
ENGINES: dict[str, tuple[str, Callable[[int], Accelerations]]] = {
    "Pinocchio": ("pinocchio", rigid_engines.pinocchio_chain),
    "MuJoCo": ("mujoco", rigid_engines.mujoco_chain),
}


def figures(peers: bool) -> Iterator[Figure]:
    """Every engine computes the same accelerations before it is timed; all are called from Python, one state after the other."""
    there = {name: make for name, (module, make) in ENGINES.items() if peers and find_spec(module) is not None}
    for links in LENGTHS:
        states = _states(links)
        ours = chain(links)
        for name, make in there.items():
            theirs = make(links)
            apart = max(float(np.abs(ours(q, v) - theirs(q, v)).max()) / (1 + np.abs(ours(q, v)).max()) for q, v in states[:20])
            yield Figure(f"chain of {links} rods: accelerations against {name}'s, relative", apart, "", AtMost(1e-6))
            mine, other = medians(9, rigid_engines.clock(ours, states), rigid_engines.clock(theirs, states))
            yield Figure(f"chain of {links} rods: accelerations, called from Python, beside {name}", mine, "s", None, other)
        yield Figure(f"chain of {links} rods: accelerations, compiled loop over states", _loop(links, states), "s")


def link_chain(links: int) -> dr.Model:
    """Rods hinged about y, hanging from the ground."""
    m = dr.Model("rods", "hinged rods")
    m.gravity(GRAVITY)
    parent: object = "ground"
    for k in range(links):
        rod = m.body(f"rod_{k}", mass=MASS, centre=(0, 0, -LENGTH / 2), inertia=(MOMENT, MOMENT, 0))
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


def _states(links: int) -> list[tuple[Vector, Vector]]:
    random = np.random.default_rng(links)
    return [(random.uniform(-2, 2, links), random.uniform(-1, 1, links)) for _ in range(STATES)]

"""Figures of trees treated body by body: chains, ropes held at both ends, trains of trailers, a tree of a thousand bodies.

python benchmarks/long_chains.py 16   # SymPy and PyDy for a pendulum of 16 links beside ours, and nothing else
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

import draisine as dr
from draisine.codegen.jit.kernel import Kernel, compile
from draisine.gallery.entries.big_tree import big_tree, inverse_dynamics_residual_with_springs
from draisine.gallery.entries.hanging_rope import difference_from_augmented, hanging_rope
from draisine.gallery.entries.link_chain import inverse_dynamics_residual, link_chain, spatial_chain
from draisine.gallery.entries.trailers import against_kinematics, trailers
from draisine.model.model import Model
from figure import AtLeast, AtMost, Faster, Figure
from peers import pydy_pendulum
from speed import clock

LENGTHS = (16, 32, 64, 128, 256)  # links
PEER_LINKS = (4, 8, 12, 32)  # the last one takes SymPy and PyDy minutes
MOST_GROWTH = 1.2  # power of the number of bodies


@dataclass(frozen=True, eq=False)
class Made:
    """Equations and machine code of a model, with the seconds they took, nothing of it kept from before."""

    equations: dr.Equations
    kernel: Kernel
    derive: float
    compile: float


def made(model: Model, formulation: dr.formulations.Augmented | None = None) -> Made:
    model.freeze()
    gc.collect()
    gc.freeze()  # what SymPy has left behind is not walked through again and again while ours is made
    began = time.perf_counter()
    equations = dr.derive(model, formulation=formulation)
    derived = time.perf_counter()
    kept = os.environ.get("DRAISINE_CACHE_DIR")
    with tempfile.TemporaryDirectory() as empty:
        os.environ["DRAISINE_CACHE_DIR"] = empty
        try:
            kernel = compile(equations.explicit)
        finally:
            os.environ.pop("DRAISINE_CACHE_DIR")
            os.environ |= {} if kept is None else {"DRAISINE_CACHE_DIR": kept}
    return Made(equations, kernel, derived - began, time.perf_counter() - derived)


def evaluation(one: Made, states: int = 25, rounds: int = 60) -> float:
    """Seconds of a state derivative, the least of many short rounds over random states: others who use the machine are seldom
    there for all of them."""
    x = np.random.default_rng(3).uniform(-0.3, 0.3, (states, len(one.equations.states)))
    u, p = np.zeros(len(one.equations.inputs)), one.equations.default_parameters
    whole = clock(partial(one.kernel.map, 0.0, x, u, p))
    return min(whole() for _ in range(rounds)) / states


def figures(peers: bool) -> Iterator[Figure]:
    made(link_chain(12))  # what is done once in a process is not counted
    yield from beside_pydy(PEER_LINKS if peers else ())
    chains = {links: made(link_chain(links)) for links in LENGTHS}
    yield Figure("32 links in a plane: derive and compile", chains[32].derive + chains[32].compile, "s", AtMost(1.2))
    yield from growth("links in a plane", chains)
    yield from growth("links in space, two hinges each", {n: made(spatial_chain(n)) for n in (16, 64)})
    yield from a_rope()
    yield from growth("trailers", {count: made(trailers(count)) for count in (25, 200)})
    yield Figure(
        "256 links: what inverse dynamics misses of accelerations",
        inverse_dynamics_residual(chains[256].equations),
        "",
        AtMost(1e-9),
    )
    yield from a_long_train()
    yield from a_large_tree()


def beside_pydy(lengths: tuple[int, ...]) -> Iterator[Figure]:
    """Deriving and compiling a pendulum of point masses, ours and theirs in turn; answers are compared first."""
    theirs, mine = {}, {}
    for links in lengths:
        ours = made(link_chain(links, rods=False))
        derived, compiled, rhs = pydy_pendulum.timed(links)
        require_equal(ours, rhs, links)
        theirs[links], mine[links] = derived + compiled, ours.derive + ours.compile
        target = Faster(100) if links >= 12 else None
        yield Figure(f"{links} links: derive and compile, beside SymPy and PyDy", mine[links], "s", target, theirs[links])
    if len(theirs) > 1:
        what = f"{lengths[-2]}…{lengths[-1]} links: to derive and compile grows like their number to the power"
        powers = [_power({n: seconds[n] for n in lengths[-2:]}) for seconds in (mine, theirs)]
        yield Figure(f"{what}, beside SymPy and PyDy", powers[0], "", None, powers[1])


def _power(seconds: Mapping[int, float]) -> float:
    """Of the number, by which seconds grow."""
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def require_equal(ours: Made, rhs: object, links: int) -> None:
    q, v = np.random.default_rng(links).uniform(-0.5, 0.5, (2, links))
    reported = pydy_pendulum.accelerations(rhs, q, v)
    found = ours.kernel(0.0, np.concatenate([q, v]), np.zeros(0), ours.equations.default_parameters)[0][links:]
    if not np.abs(found - reported).max() < 1e-8 * np.abs(reported).max():
        raise RuntimeError(f"accelerations of {links} links disagree with PyDy's: {found} and {reported}")


def growth(what: str, sizes: Mapping[int, Made]) -> Iterator[Figure]:
    few, many = min(sizes), max(sizes)
    evaluations = {size: evaluation(one) for size, one in sizes.items()}
    for task, seconds in (
        ("derive", {n: one.derive for n, one in sizes.items()}),
        ("compile", {n: one.compile for n, one in sizes.items()}),
        ("evaluate", evaluations),
    ):
        yield Figure(f"{many} {what}: {task}", seconds[many], "s")
        yield Figure(
            f"{few}…{many} {what}: to {task} grows like their number to the power", _power(seconds), "", AtMost(MOST_GROWTH)
        )


def a_rope(links: int = 64) -> Iterator[Figure]:
    """One long loop; beside it the same with all masses and rows in one matrix, which is solved at every step."""
    ropes = {n: made(hanging_rope(n)) for n in (16, links)}
    yield from growth("links held at both ends", ropes)
    whole = made(hanging_rope(links), dr.formulations.Augmented())
    ratio = evaluation(whole) / evaluation(ropes[links])
    yield Figure(f"{links} links held at both ends: times faster to evaluate than solved whole", ratio, "", AtLeast(5))
    off = difference_from_augmented(16)
    yield Figure("16 links held at both ends: accelerations apart from those solved whole", off, "", AtMost(1e-10))


def a_long_train(count: int = 200) -> Iterator[Figure]:
    bent = {f"hitch{k}": 0.5 * float(np.sin(1.3 * k)) for k in range(1, count + 1)}
    start = {"vehicle_vx": 2.0, "vehicle_heading_rate": 0.2, **bent}
    began = time.perf_counter()
    run = dr.simulate(trailers(count), 5.0, start=start, method=dr.methods.DOP853(rtol=1e-9, atol=1e-9))
    yield Figure(f"{count} trailers: simulate 5 s at 1e-9, all told", time.perf_counter() - began, "s")
    energy = run["total_energy"]
    yield Figure(f"{count} trailers: energy kept", float(np.abs(energy / energy[0] - 1).max()), "", AtMost(1e-7))
    yield Figure(f"{count} trailers: hitches off the formulas by hand", against_kinematics(run, count), "rad/s", AtMost(1e-9))


def a_large_tree(bodies: int = 1000) -> Iterator[Figure]:
    tree = made(big_tree(bodies))
    yield Figure(f"tree of {bodies} bodies: derive", tree.derive, "s")
    yield Figure(f"tree of {bodies} bodies: compile", tree.compile, "s")
    yield Figure(f"tree of {bodies} bodies: state derivative", evaluation(tree, 5), "s")
    left = inverse_dynamics_residual_with_springs(tree.equations, states=1)
    yield Figure(f"tree of {bodies} bodies: what inverse dynamics misses of accelerations", left, "", AtMost(1e-9))


if __name__ == "__main__":
    for one in beside_pydy(tuple(int(given) for given in sys.argv[1:])):
        print(f"{one.name}: {one.ours:.3g} {one.unit}" + (f", theirs {one.peer:.3g}, {one.ratio:.0f} times" if one.ratio else ""))

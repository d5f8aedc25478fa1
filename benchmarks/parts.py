"""The parts of the scoreboard: what is measured under which heading, and by which module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from figure import Figure


@dataclass
class Peers:
    """Whether peers are run; those that several parts share are built once, checked, when first asked for."""

    wanted: bool

    @cached_property
    def pydy(self) -> Any:
        """PyDy's bicycle as it comes."""
        return self._bicycle("numpy")

    @cached_property
    def quickest(self) -> Any:
        """PyDy's bicycle with the fastest of its settings that works here."""
        return self._bicycle("sympy:CRAMER")

    def _bicycle(self, solver: str) -> Any:
        if not self.wanted:
            return None
        from peers import pydy_bicycle

        peer = pydy_bicycle.build(solver)
        pydy_bicycle.require_correct(peer)
        return peer


@dataclass(frozen=True)
class Part:
    """A part: its heading, what it measures, and the figures, which come one by one."""

    title: str
    about: str
    module: str
    given: Callable[[Peers], tuple[object, ...]]  # what its `figures` takes

    def measure(self, peers: Peers) -> Iterable[Figure]:
        """Modules are imported here: one that cannot be does not stop the others."""
        return import_module(self.module).figures(*self.given(peers))


def _wanted(peers: Peers) -> tuple[object, ...]:
    return (peers.wanted,)


def _pydy(peers: Peers) -> tuple[object, ...]:
    return (peers.pydy,)


def _both(peers: Peers) -> tuple[object, ...]:
    return (peers.pydy, peers.quickest)


def _nothing(peers: Peers) -> tuple[object, ...]:
    return ()


PARTS = {
    "imports": Part(
        "Import",
        "Seconds of an import in a new process, and the memory of that process afterwards; medians over processes. draisine "
        "imports its modules when they are first used, most peers at once: what that puts off is counted under “First "
        "trajectory”.",
        "imports",
        _wanted,
    ),
    "first_run": Part(
        "First trajectory",
        "A new process from its first line to 5 s of the benchmark bicycle's free run at 1e-8: import, description, derivation, "
        "compilation, start and run, and the most memory that process, or a compiler it started, ever had. Ours in three states "
        "of a machine: nothing prepared, its stepping loops compiled beforehand, and the same model run before; and in a clean "
        "environment after `pip install`. Processes of SymPy, and ours with nothing prepared, are started once, the others three "
        "times.",
        "first_run",
        _wanted,
    ),
    "derivation": Part(
        "Derive, compile",
        "The benchmark bicycle with all parameters as symbols, from its description to equations, and from these to machine "
        "code. Libraries are imported beforehand, nothing is kept from before. Where JAX is there: programs as its functions.",
        "derivation",
        _wanted,
    ),
    "linearize": Part(
        "Linearize",
        "The benchmark bicycle about straight riding, and chains of rods about any state: the matrices of the linear model and "
        "their eigenvalues, checked against those published or against the peer's.",
        "linearize",
        _wanted,
    ),
    "accuracy": Part(
        "Correctness",
        "Against published eigenvalues, conserved quantities, other methods, a brute-force solution, and PyDy's free run.",
        "accuracy",
        _pydy,
    ),
    "speed": Part(
        "Evaluate, simulate: the bicycle",
        "State derivatives, called by compiled loops where the tool has one, and 5 s of free run.",
        "speed",
        _both,
    ),
    "engines": Part(
        "Trees: engines for robots",
        "Chains of hinged rods without any constraint, the home ground of Pinocchio and MuJoCo: accelerations, and a fall.",
        "engines",
        _wanted,
    ),
    "mechanisms": Part(
        "Simulate at equal accuracy: constraints",
        "The bicycle, a four-bar linkage and chains of masses in Cartesian coordinates. For each solver the cheapest setting is "
        "sought whose "
        "end is within an accuracy of a solution that none of them made; these are timed as calls from Python.",
        "mechanisms",
        lambda peers: (peers.wanted, peers.pydy, peers.quickest),
    ),
    "chains": Part(
        "Chains with constraints: growth",
        "The bicycle of 23 coordinates, and chains of up to 1,000 masses in Cartesian coordinates: cost of a step, and growth.",
        "chains",
        _nothing,
    ),
    "long_chains": Part(
        "Long chains body by body: growth",
        "Trees of links, trailers and bodies: derive, compile, evaluate, and how these grow with the number of bodies.",
        "long_chains",
        _wanted,
    ),
    "contacts": Part(
        "Contacts that come and go",
        "Wheels with friction that roll against ideal ones, bounces of a ball through the general loop, and random falls of a "
        "bicycle that lands on grips, pedals and saddle.",
        "contacts",
        _nothing,
    ),
    "machines": Part(
        "Machines that people ride",
        "The gallery's motorcycle of eleven freedoms with suspensions, flexible frame and rider, on linear tires and the Magic "
        "Formula: derive and compile, one state derivative, 10 s of braking in a turn, modes. Processor times, the least of some "
        "rounds.",
        "machines",
        _nothing,
    ),
    "ensembles": Part(
        "Ensembles",
        "Bicycles with random speeds and knocks, 5 s each at 1e-6: runs per second, and memory.",
        "ensembles",
        _both,
    ),
    "learning": Part(
        "Environments for learning",
        "Bicycles side by side under random torques, with observations, rewards and ends of episodes; and a chain of hinges "
        "without contact beside MuJoCo. Processor time, the least of several rounds.",
        "learning",
        _wanted,
    ),
    "stability": Part(
        "Stability",
        "Eigenvalues over speeds, stability maps, gradients of critical speeds.",
        "stability",
        _nothing,
    ),
    "optimal": Part(
        "Optimal control",
        "Maneuvers from their statement to a verified solution; costs of derivatives at nodes, and of gradients by the adjoint.",
        "optimal",
        _wanted,
    ),
    "estimation": Part(
        "Estimation",
        "Parameters from data: time, sensitivities, and how often intervals of 95 % hold the truth.",
        "estimation",
        _pydy,
    ),
    "suite": Part(
        "Tests",
        "The quick tests, `make test`, on all cores, in the environment of development.",
        "suite",
        _nothing,
    ),
}

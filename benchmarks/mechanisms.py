"""Figures of mechanisms with constraints beside solvers of differential-algebraic equations, at equal accuracy.

A four-bar linkage let go and a chain of masses in Cartesian coordinates, by scipy_dae's Radau, CasADi's IDAS, Exudyn and
draisine. For each the cheapest setting is sought whose end is within an accuracy of a solution that none of them made; these
settings are timed, in turns, as whole calls from Python on what was prepared before. What was chosen for each peer stands at
the head of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

import draisine as dr
from draisine.gallery.entries.four_bar import ClosedForm, four_bar
from draisine.gallery.entries.n_pendulum import n_pendulum
from draisine.simulation import consistent_start, integrate, prepare
from equal_accuracy import TOLERANCES, Road, Solve, Vector, cheapest
from figure import AtMost, Faster, Figure
from peers import exudyn_objects, idas, planar, radau
from speed import Clock, clock, median, medians

SPEED = 15.0  # rad/s of the crank at the start
FOUR_BAR_RUN = 3.0  # s, more than seven turns
CHAIN_RUN = 2.0  # s; from the horizontal to the whip of the end
TURNS = 5


def figures(peers: bool) -> Iterator[Figure]:
    yield from _four_bar(peers)
    yield from _chain(10, (1e-3, 1e-6), peers)
    yield from _chain(100, (1e-6,), peers)


def _four_bar(peers: bool) -> Iterator[Figure]:
    equations = dr.derive(four_bar())
    form = ClosedForm.of(dict(zip([p.name for p in equations.parameters], equations.default_parameters, strict=True)))
    start = consistent_start(equations, {"crank_angle": 0.0, "crank_angle_rate": SPEED}).x
    to_angles = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # crank, knee, rocker to angles against the ground
    ours = _our_road(equations, start, FOUR_BAR_RUN, to_angles)
    theirs: list[list[Road]] = []
    if peers:
        bars = planar.Bars(form.crank, form.coupler, form.rocker, form.ground, form.density)
        at = np.zeros(1)
        q_start = np.concatenate([at, *form.angles(at)])
        v_start = SPEED * np.concatenate([at + 1, *form.slopes(at)])
        mechanism = planar.four_bar(bars, q_start, v_start)
        theirs = [
            radau.roads(mechanism, FOUR_BAR_RUN),
            idas.roads(mechanism, FOUR_BAR_RUN),
            exudyn_objects.four_bar_roads(bars, q_start, v_start, FOUR_BAR_RUN),
        ]
    exact = four_bar_exact(form, FOUR_BAR_RUN)
    for accuracy in (1e-3, 1e-6):
        yield from _compared(f"four-bar, {FOUR_BAR_RUN:g} s to {accuracy:.0e} rad", "rad", [[ours], *theirs], exact, accuracy)


def _chain(masses: int, accuracies: Sequence[float], peers: bool) -> Iterator[Figure]:
    equations = n_pendulum(masses)
    ours = _our_road(equations, np.array([s.default for s in equations.states]), CHAIN_RUN, np.eye(2 * masses))
    theirs: list[list[Road]] = []
    if peers:
        mechanism = planar.chain(masses)
        theirs = [
            radau.roads(mechanism, CHAIN_RUN),
            idas.roads(mechanism, CHAIN_RUN),
            exudyn_objects.chain_roads(masses, CHAIN_RUN),
        ]
    exact = chain_exact(masses, CHAIN_RUN)
    for accuracy in accuracies:
        yield from _compared(f"{masses} masses, {CHAIN_RUN:g} s to {accuracy:.0e} m", "m", [[ours], *theirs], exact, accuracy)


def _compared(name: str, unit: str, solvers: Sequence[Sequence[Road]], exact: Vector, accuracy: float) -> Iterator[Figure]:
    """Ours is the first of the solvers."""
    ours, *theirs = [cheapest(roads, exact, accuracy) for roads in solvers]
    yield Figure(
        f"{name}: farthest of all from the exact solution", max(c.error for c in (ours, *theirs)), unit, AtMost(accuracy)
    )
    first, *others = medians(TURNS, *(_steady(clock(c.solve)) for c in (ours, *theirs)))
    yield Figure(f"{name}: {ours.name}", first, "s")
    for choice, seconds in zip(theirs, others, strict=True):
        yield Figure(f"{name}, beside {choice.name}", first, "s", Faster(1), seconds)


def _steady(seconds: Clock, turn: float = 0.1) -> Clock:
    """A short piece of work is read several times in its turn, for about as long as `turn` says, and the median counts."""
    count = max(1, min(25, int(turn / seconds())))
    return partial(median, count, seconds)


def _our_road(equations: dr.Equations, start: Vector, until: float, coordinates: Vector) -> Road:
    choices = prepare(equations)
    ends, count = np.array([0.0, until]), len(equations.coordinates)

    def solve(tolerance: float) -> Vector:
        run = integrate(choices, start, until, method=dr.DOP853(rtol=tolerance, atol=tolerance), samples=ends)
        return coordinates @ run.states[-1, :count]

    def ready(tolerance: float) -> Solve:
        return partial(solve, tolerance)

    return Road("draisine DOP853", TOLERANCES, "tolerance {:.0e}", ready)


# ------------------------------------------------------------------------------------------------ solutions by other means


def four_bar_exact(form: ClosedForm, until: float) -> Vector:
    """Angles of crank, coupler and rocker: t = ∫ √(J/(2(E − V))) dφ by quadrature, solved for φ; the loop in closed form."""
    at = np.zeros(1)
    energy = 0.5 * form.inertia(at) * SPEED**2 + form.potential(at)

    def slowness(phi: Vector) -> Vector:
        return np.sqrt(form.inertia(phi) / (2 * (energy - form.potential(phi))))

    points = 400  # of the trapezoidal rule, which is exact to rounding for a smooth periodic function
    turn = 2 * np.pi * float(slowness(2 * np.pi * np.arange(points) / points).mean())
    turns, rest = divmod(until, turn)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    phi = 2 * np.pi * rest / turn
    for _ in range(30):
        elapsed = phi / 2 * float(weights @ slowness(phi / 2 * (nodes + 1)))
        phi -= (elapsed - rest) / float(slowness(at + phi)[0])
    coupler, rocker = form.angles(at + phi)
    return np.array([phi + 2 * np.pi * turns, coupler[0], rocker[0]])


def chain_exact(masses: int, until: float) -> Vector:
    """x1, z1, …: the chain in the angles of its rods from the vertical, by hand in NumPy, by SciPy's DOP853 at 1e-13."""
    from scipy.integrate import solve_ivp

    place = np.arange(masses)
    below = masses - np.maximum.outer(place, place)  # masses that hang from both rods
    weight = planar.GRAVITY * (masses - place)

    def rates(t: float, state: Vector) -> Vector:
        angles, speeds = np.split(state, 2)
        apart = np.subtract.outer(angles, angles)
        push = -(below * np.sin(apart)) @ speeds**2 - weight * np.sin(angles)
        return np.concatenate([speeds, np.linalg.solve(below * np.cos(apart), push)])

    start = np.concatenate([np.full(masses, np.pi / 2), np.zeros(masses)])
    angles = solve_ivp(rates, (0.0, until), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:masses, -1]
    return np.column_stack([np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles))]).ravel()

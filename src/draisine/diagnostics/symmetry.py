"""Symmetries: ignorable coordinates and conserved momenta.

The momentum of an ignorable coordinate is conserved, unless constraint forces change it: rolling wheels depend neither on the
position nor on the heading, and yet change momenta. So momenta are tested by their rates along the motion at random admissible
states, without inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.stability.steady_problem import ignorable_at

Array = NDArray[np.float64]

STEP = 1e-3  # in seconds, of the finite difference of a momentum
CONSERVED = 1e-6  # rate of a conserved momentum, relative to momentum times velocity
RANDOM_STATES = 3
SPEED = 0.5


@dataclass(frozen=True)
class Symmetries:
    """`ignorable`: coordinates on which nothing depends; `conserved`: momenta that are constant without inputs."""

    ignorable: tuple[str, ...]
    conserved: tuple[str, ...]


def symmetries(mechanism: ConstraintManifold) -> Symmetries:
    """Symmetries of a mechanism near a state."""
    ignorable = ignorable_at(mechanism.equations, [_state(mechanism, q, k) for k, q in _places(mechanism)], *_given(mechanism))
    free = mechanism.unreduced is not None and len(mechanism.velocities) > len(mechanism.selection.kept)
    return Symmetries(ignorable, tuple(_conserved(mechanism)) if free else ())


def ignorable_states(e: Equations, x: Array, u: Array, p: Array) -> tuple[str, ...]:
    """States of a system without velocities on which nothing depends."""
    rng = np.random.default_rng(2007)
    states = [x + rng.uniform(-0.15, 0.15, len(x)) * np.maximum(np.abs(x), 1.0) for _ in range(RANDOM_STATES)]
    return ignorable_at(e, states, u, p)


def _given(mechanism: ConstraintManifold) -> tuple[Array, Array]:
    return mechanism.motion.u, mechanism.motion.p


def _places(mechanism: ConstraintManifold) -> list[tuple[int, Array]]:
    return list(enumerate(mechanism.configurations[-RANDOM_STATES:]))


def _speeds(mechanism: ConstraintManifold, q: Array, seed: int) -> Array:
    """Random admissible velocities."""
    sight = mechanism.sample_at(q)
    v = np.random.default_rng([7, seed]).uniform(-SPEED, SPEED, len(mechanism.velocities))
    if not len(sight.rows):
        return v
    return np.asarray(v - np.linalg.lstsq(sight.rows, sight.rows @ v + sight.drift, rcond=1e-9)[0])


def _state(mechanism: ConstraintManifold, q: Array, seed: int) -> Array:
    e = mechanism.equations
    v = dict(zip(mechanism.velocities, _speeds(mechanism, q, seed), strict=True))
    return np.concatenate([q, [v[name] for name in e.independent], np.zeros(len(e.extra_states))])


# ---------------------------------------------------------------- momenta


def _conserved(mechanism: ConstraintManifold) -> Iterator[str]:
    whole = mechanism.unreduced
    assert whole is not None
    momenta = _momenta(whole)
    still = np.zeros(len(whole.inputs))
    instants = []
    for seed, q in _places(mechanism):
        v = _speeds(mechanism, q, seed)
        x = np.concatenate([q, v, np.zeros(len(whole.extra_states))])
        instants.append(_Instant(q, v, whole.explicit([0.0], x, still, mechanism.motion.p)[0]))
    for name, direction in _candidates(whole, alone=not mechanism.large):
        if all(_is_conserved(mechanism, momenta, still, instant, direction) for instant in instants):
            yield name


@dataclass(frozen=True)
class _Instant:
    """Coordinates and velocities, and their rates without inputs."""

    q: Array
    v: Array
    rate: Array


def _is_conserved(
    mechanism: ConstraintManifold, momenta: ca.Function, still: Array, instant: _Instant, direction: Callable[[Array], Array]
) -> bool:
    """Whether the momentum along a direction is conserved at an instant."""
    q, v, rate = instant.q, instant.v, instant.rate

    def value(time: float) -> tuple[float, float]:
        """The momentum at a time close to zero, to first order in the state, and the sum of its absolute terms."""
        place, speeds = q + time * rate[: len(q)], v + time * rate[len(q) : len(q) + len(v)]
        moving, wanted = mechanism.sample_at(place).velocity_map, direction(place)
        along = np.linalg.lstsq(moving, wanted, rcond=1e-10)[0]
        if np.linalg.norm(moving @ along - wanted) > 1e-8 * np.linalg.norm(wanted):
            return np.nan, np.nan  # not a direction of velocities, as along one component of a quaternion
        share = np.asarray(momenta(time, place, speeds, still, mechanism.motion.p).full())[:, 0] * along
        return float(share.sum()), float(np.abs(share).sum())

    wide, narrow = ((value(h)[0] - value(-h)[0]) / (2 * h) for h in (STEP, STEP / 2))
    size = value(0.0)[1] * (1.0 + float(np.abs(v).max()))
    return bool(size > 1e-9 and abs((4 * narrow - wide) / 3) <= CONSERVED * size)  # Richardson: the error is of fourth order


def _momenta(e: Equations) -> ca.Function:
    """(t, q, v, u, p) → ∂T/∂v."""
    t, q, v, u, p = e.motion.symbols()
    x = ca.vertcat(q, v, ca.SX.zeros(len(e.extra_states)))
    arguments = [t, x, u, p]
    report = e.report
    if isinstance(report, LinearSolveProgram):
        arguments, reported = [*arguments, ca.SX.zeros(report.size, report.sides)], report.after
    else:
        reported = report
    energy = reported.function.call(arguments)[[slot.name for slot in reported.outputs].index("energy")]
    return ca.Function("momenta", [t, q, v, u, p], [ca.densify(ca.gradient(energy[0], v))])


def _candidates(e: Equations, alone: bool) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Candidate symmetry directions: along single coordinates (`alone`), and of all free bodies together, recognized by the names
    of their coordinates."""
    place = {c.name: i for i, c in enumerate(e.coordinates)}
    stems = {q[0].removesuffix("_qw"): [place[n] for n in q] for q in e.quaternions}
    turned = {name for quaternion in e.quaternions for name in quaternion}
    placed = [n.removesuffix("x") for n in place if n == "x" or n.endswith("_x")]
    placed = [start for start in placed if f"{start}y" in place]
    headings = [place[f"{start}heading"] for start in placed if f"{start}heading" in place]
    for name, i in place.items():
        if alone and name not in turned and (len(placed) < 2 or name[:-1] not in placed):
            yield f"momentum of {name}", _constant(len(place), [i])
    for axis in "xyz":
        along = [place[f"{start}{axis}"] for start in placed if f"{start}{axis}" in place]
        if len(along) > 1:
            yield f"momentum along {axis}", _constant(len(place), along)
    if stems or placed:
        for k, description in enumerate("xyz" if not headings else "z", 2 if headings else 0):
            yield f"angular momentum about {description}", _turn(len(place), k, place, placed, stems, headings)


def _constant(count: int, along: list[int]) -> Callable[[Array], Array]:
    unit = np.zeros(count)
    unit[along] = 1.0
    return lambda q: unit


def _turn(
    count: int, axis: int, place: dict[str, int], placed: list[str], stems: dict[str, list[int]], headings: list[int]
) -> Callable[[Array], Array]:
    """A rotation of all free bodies and ball joints about a coordinate axis of the world."""

    def direction(q: Array) -> Array:
        found = np.zeros(count)
        a, b = (axis + 1) % 3, (axis + 2) % 3
        for start in placed:
            first, second = (place.get(f"{start}{'xyz'[k]}") for k in (a, b))
            if first is not None and second is not None:
                found[first], found[second] = -q[second], q[first]
        for quaternion in stems.values():
            w, *vector = q[quaternion]
            spin = np.eye(3)[axis]
            found[quaternion] = 0.5 * np.array([-spin @ vector, *(w * spin + np.cross(spin, vector))])
        found[headings] = 1.0
        return found

    return direction

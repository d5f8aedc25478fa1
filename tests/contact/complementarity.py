"""All solutions of a frictional complementarity problem with few contacts, by trying every combination of modes.

With ξ = G λ + c (accelerations, or velocities after an impact) each contact obeys
    0 ≤ λₙ − m  ⊥  ξₙ ≥ 0,   −λₜ ∈ μ λₙ · direction of ξₜ   (any force inside the cone where ξₜ = 0),
with m = 0 but in the expansion phase of Poisson's law. Contacts that slip already have the direction of their force given.
No solution and several solutions are answers, not failures: Painlevé's paradoxes show here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog, root

Array = NDArray[Any]
OPEN, STICK, SLIP, BACK = "open", "stick", "slip", "slip-"
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Law:
    """What one contact obeys: tangential size, static and kinetic friction, direction of slip if it slips already, m."""

    size: int
    static: float = 0.0
    kinetic: float = 0.0
    direction: Array | None = None
    minimum: float = 0.0
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Solution:
    """One combination of modes that fits: modes, directions of slip, multipliers λ, results ξ."""

    modes: tuple[str, ...]
    directions: tuple[Array | None, ...]
    multipliers: Array
    results: Array


@dataclass(frozen=True)
class Choice:
    """A mode of one contact: whether its gap stays closed, whether it sticks, its direction of slip (None: unknown)."""

    mode: str
    closed: bool
    sticks: bool
    direction: Array | None


def choices(law: Law) -> list[Choice]:
    """The modes that a contact may take, sticking first."""
    tangential: list[Choice] = []
    for closed in (True, False):
        if not closed and law.minimum <= 0:
            tangential.append(Choice(OPEN, False, False, np.zeros(law.size)))
            continue
        if law.size == 0 or law.direction is not None:
            tangential.append(Choice(SLIP, closed, False, np.zeros(0) if law.size == 0 else law.direction))
            continue
        tangential.append(Choice(STICK, closed, True, None))
        if not np.isfinite(law.kinetic):
            continue
        if law.size == 1:
            tangential += [Choice(SLIP, closed, False, np.ones(1)), Choice(BACK, closed, False, -np.ones(1))]
        else:
            tangential.append(Choice(SLIP, closed, False, None))
    return [choice for choice in tangential if choice.mode not in law.forbidden]


def affine(G: Array, c: Array, laws: list[Law], taken: list[Choice]) -> tuple[Array, Array, Array, Array]:
    """Multipliers λ = λ₀ + B z and the equations A z = r of one combination whose directions are all known."""
    rows = len(c)
    constant, columns, equations = np.zeros(rows), [], []
    at = 0
    for law, choice in zip(laws, taken, strict=True):
        if choice.mode != OPEN:
            normal = np.zeros(rows)
            normal[at] = 1.0
            if not choice.sticks and law.size:
                assert choice.direction is not None
                normal[at + 1 : at + 1 + law.size] = -law.kinetic * choice.direction
            constant += law.minimum * normal
            if choice.closed:
                columns.append(normal)
                equations.append(at)
            if choice.sticks:
                for k in range(at + 1, at + 1 + law.size):
                    columns.append(np.eye(rows)[k])
                    equations.append(k)
        at += 1 + law.size
    B = np.array(columns).T if columns else np.zeros((rows, 0))
    return constant, B, (G @ B)[equations], -(G @ constant + c)[equations]


def multipliers(G: Array, c: Array, laws: list[Law], taken: list[Choice]) -> Array | None:
    """λ of a combination with known directions; where λ is not unique one inside the cones, if there is one."""
    constant, B, A, r = affine(G, c, laws, taken)
    if A.size == 0:
        return constant
    if len(r) == 1 and A[0, 0] != 0:
        return constant + B[:, 0] * (r[0] / A[0, 0])
    if np.linalg.matrix_rank(A, tol=1e-11 * np.abs(A).max(initial=0.0)) == A.shape[0]:
        return constant + B @ np.linalg.solve(A, r)
    z, *_ = np.linalg.lstsq(A, r, rcond=1e-11)
    if np.abs(A @ z - r).max() > TOLERANCE * (1 + np.abs(r).max()):
        return None
    bounds, limits = [], []
    at = 0
    for law, choice in zip(laws, taken, strict=True):
        if choice.mode != OPEN:
            bounds.append(-B[at])
            limits.append(constant[at] - law.minimum)
            if choice.sticks and law.size == 1 and np.isfinite(law.static):
                for sign in (1.0, -1.0):
                    bounds.append(sign * B[at + 1] - law.static * B[at])
                    limits.append(law.static * constant[at] - sign * constant[at + 1])
        at += 1 + law.size
    found = linprog(np.zeros(B.shape[1]), np.array(bounds), np.array(limits), A, r, bounds=(None, None))
    return constant + B @ (found.x if found.status == 0 else z)


def fits(G: Array, c: Array, laws: list[Law], taken: list[Choice], force: Array) -> bool:
    """Whether all inequalities of a combination hold."""
    results = G @ force + c
    small_force = TOLERANCE * (1 + np.abs(force).max(initial=0.0))
    small = TOLERANCE * (1 + np.abs(c).max(initial=0.0))
    at = 0
    for law, choice in zip(laws, taken, strict=True):
        normal, tangential = force[at], force[at + 1 : at + 1 + law.size]
        motion = results[at + 1 : at + 1 + law.size]
        if not choice.closed and results[at] < -small:
            return False
        if choice.mode != OPEN:
            if normal < law.minimum - small_force:
                return False
            if choice.sticks and np.isfinite(law.static) and np.linalg.norm(tangential) > law.static * normal + small_force:
                return False
            if not choice.sticks and law.direction is None and law.size and choice.direction @ motion < -small:
                return False
        at += 1 + law.size
    return True


def with_directions(G: Array, c: Array, laws: list[Law], taken: list[Choice]) -> list[list[Choice]]:
    """A combination with its unknown directions of slip in space replaced by those that are parallel to the motion."""
    unknown = [i for i, choice in enumerate(taken) if not choice.sticks and choice.direction is None]
    if not unknown:
        return [taken]
    starts = np.cumsum([0] + [1 + law.size for law in laws])

    def combination(angles: Array) -> list[Choice]:
        turned = dict(zip(unknown, angles, strict=True))
        return [
            Choice(ch.mode, ch.closed, False, np.array([np.cos(turned[i]), np.sin(turned[i])])) if i in turned else ch
            for i, ch in enumerate(taken)
        ]

    def across(angles: Array) -> Array:
        tried = combination(angles)
        force = multipliers(G, c, laws, tried)
        if force is None:
            return np.full(len(unknown), np.nan)
        results = G @ force + c
        return np.array(
            [
                np.cos(a) * results[starts[i] + 2] - np.sin(a) * results[starts[i] + 1]
                for i, a in zip(unknown, angles, strict=True)
            ]
        )

    grid = np.linspace(-np.pi, np.pi, 65) + 0.01234
    if len(unknown) == 1:
        values = [across(np.array([a]))[0] for a in grid]
        found = [
            np.array([brentq(lambda x: across(np.array([x]))[0], a, b, xtol=1e-15)])
            for a, b, fa, fb in zip(grid, grid[1:], values, values[1:], strict=False)
            if fa * fb < 0
        ]
    else:
        tried = [root(across, np.array(start), tol=1e-14) for start in product(grid[:-1:16], repeat=len(unknown))]
        found = [solved.x for solved in tried if solved.success]
    return [combination(angles) for angles in found]


def solutions(G: Array, c: Array, laws: list[Law], enough: int = 1000) -> list[Solution]:
    """All solutions that differ in ξ; where static friction exceeds kinetic, sticking goes before starting to slip.

    The search ends once it has `enough` of them; sticking is tried first.
    """
    found: list[Solution] = []
    for combination in product(*(choices(law) for law in laws)):
        for taken in with_directions(G, c, laws, list(combination)):
            force = multipliers(G, c, laws, taken)
            if force is None or not fits(G, c, laws, taken, force):
                continue
            results = G @ force + c
            scale = 1e-8 * (1 + np.abs(results).max(initial=0.0))
            if any(np.abs(results - other.results).max(initial=0.0) < scale for other in found):
                continue
            found.append(Solution(tuple(ch.mode for ch in taken), tuple(ch.direction for ch in taken), force, results))
            if len(found) == enough:
                return found
    return [one for one in found if not any(_sticks_instead(other, one, laws) for other in found)]


def _sticks_instead(other: Solution, one: Solution, laws: list[Law]) -> bool:
    """Whether `other` differs from `one` only in that contacts with static friction above kinetic stick."""
    differing = [i for i in range(len(laws)) if other.modes[i] != one.modes[i]]
    return bool(differing) and all(
        other.modes[i] == STICK and one.modes[i] in (SLIP, BACK) and laws[i].static > laws[i].kinetic for i in differing
    )

"""Hands-free steady turns of a two-wheeler: circular motions without torque on handlebar and pedals.

Families of turns branch off from straight running at the capsize speed, with the handlebar forward and reversed; a third family
passes through pivoting about the rear contact point (Basu-Mandal, Chatterjee & Papadopoulos 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.results.status import ProgressCallback
from draisine.stability.continuation.arclength import Steps
from draisine.stability.continuation.branch import Branch, continuation
from draisine.stability.linearization import equations_of
from draisine.stability.steady_problem import SteadyMotion, steady_near

NEEDED = ("speed", "lean", "steer", "yaw_rate")
FLAT = 1.5  # rad of lean; limit of the branches
REACHED = 1e-9  # relative difference at which a speed is reached
FASTEST_TURN = 12.0  # rad/s, limit of the yaw rate
PIVOTS = ((1.3, -1.5), (1.6, -2.0), (1.6, -3.0), (1.6, -1.0))  # initial guesses for pivoting: steer and yaw rate


def hands_free_turns(
    model: Model | System | Equations,
    *,
    speed: tuple[float, float] = (0.0, 12.0),
    parameters: Mapping[str, float] | None = None,
    steps: Steps | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, Branch]:
    """Branches of straight running and of torque-free turns over a range of speeds, by name.

    - `speed`: the range; `steps`, `progress`: as in `continuation`.
    - `parameters`: values by name; the others have their defaults.

    Names: "straight", "turning", both also with ", bar reversed", and "pivoting", as far as they exist within the range. Each
    branch of turns has both directions. Pivoting passes zero speed: with the handlebar forward it is at negative speeds, which
    `speed=(-12, 12)` includes; for the reversed direction of travel the same circles exist, with the signs of all eigenvalues
    changed.

    >>> import draisine as dr
    >>> families = dr.bicycle.hands_free_turns(dr.gallery.bicycle(), speed=(1.0, 9.0))
    >>> list(families)
    ['straight', 'turning', 'straight, bar reversed', 'turning, bar reversed', 'pivoting']
    >>> round(families["turning"].points("branch point")[0].value, 4)
    6.0243
    """
    refuse_unilateral("hands_free_turns", model)
    e = equations_of(model)
    known = {q.name for q in (*e.states, *e.outputs)}
    missing = [name for name in NEEDED if name not in known]
    if missing:
        raise ModelError(f"{e.name} has no state or output {missing[0]!r}; hands-free turns need {', '.join(NEEDED)}")
    found: dict[str, Branch] = {}
    if not (np.isfinite(speed).all() and speed[0] < speed[1]):
        raise ArgumentError(
            f"{e.name}: the range of speeds is {speed[0]:g} to {speed[1]:g}; give two finite numbers, the smaller first"
        )
    middle = (speed[0] + speed[1]) / 2 or speed[1] / 2
    for suffix, steer in (("", 0.0), (", bar reversed", math.pi)):
        try:
            straight = continuation(
                e,
                "speed",
                start={"speed": middle, "steer": steer},
                between=speed,
                parameters=parameters,
                steps=steps,
                bounds={"lean": (-FLAT, FLAT)},
                progress=progress,
            )
        except SolverError:
            continue
        found[f"straight{suffix}"] = straight
        for k, point in enumerate(straight.points("branch point")):
            found[f"turning{suffix}{'' if k == 0 else f', {k + 1}'}"] = straight.switch(point)
    pivot = _pivot(e, parameters)
    limits = {"lean": (-FLAT, FLAT), "yaw_rate": (-FASTEST_TURN, FASTEST_TURN)}
    if pivot is not None and not speed[0] <= 0.0 <= speed[1]:  # followed up to the range first
        near = speed[0] if speed[0] > 0.0 else speed[1]
        outside = (0.0, near) if near > 0.0 else (near, 0.0)
        way = continuation(e, "speed", start=pivot, between=outside, bounds=limits, steps=steps)
        pivot = next((m for m in way.motions if abs(m["speed"] - near) <= REACHED * abs(near)), None)
    if pivot is not None:
        found["pivoting"] = continuation(e, "speed", start=pivot, between=speed, bounds=limits, steps=steps, progress=progress)
    if not found:
        raise SolverError(f"{e.name}: no hands-free motion was found between {speed[0]:g} and {speed[1]:g} m/s")
    return found


def _pivot(e: Equations, parameters: Mapping[str, float] | None) -> SteadyMotion | None:
    """A steady turn about the rear contact point, at zero speed."""
    for steer, turn in PIVOTS:
        try:
            motion = steady_near(
                e, {"speed": 0.0}, near={"speed": 0.0, "steer": steer, "lean": 0.0, "yaw_rate": turn}, parameters=parameters
            )
        except SolverError:
            continue
        if motion["yaw_rate"] < -0.2 and abs(motion["lean"]) < 0.5 and abs(np.sin(motion["steer"])) > 0.8:
            return motion
    return None

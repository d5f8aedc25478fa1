"""What is known of the start of an experiment, and deviations of the first window that keep it.

The question does not depend on the method: targets given for a start are kept by windows and collocation as they are by a single
run. Deviations of the first window are therefore named by the targets, so that parameters may change without changing these.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.tangent_coordinates import TangentCoordinates, named_deviations, tangent_at
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.simulation.initial.problem import InitialGuess

Reals = NDArray[np.float64]

ALL = ("",)  # every deviation is known


@dataclass(frozen=True, eq=False)
class FirstState:
    """The state at the start of an experiment, with the equations in which it is written."""

    equations: Equations
    recording: Recording
    x: Reals
    p: Reals
    time: float


def known_quantities(begin: FirstState, unknown: Collection[str], known_start: bool | None) -> tuple[str, ...]:
    """Quantities of the start that are known, or ALL.

    They are the given targets, unless they are unknowns or initial guesses. A first-order system that has a start of its own
    is known entirely, and so is a start that is the state of a result.
    """
    e, recording = begin.equations, begin.recording
    if known_start is False:
        return ()
    states = {q.name for q in (*e.coordinates, *e.velocities)}
    given = [n for n, v in recording.targets.items() if not isinstance(v, InitialGuess) and n not in unknown]
    if known_start or _has_own_start(e) or (states and states <= set(given)):
        return ALL
    skipped = {"time", *(q.name for q in e.extra_states)}
    return tuple(n for n in given if n not in skipped)


def _has_own_start(e: Equations) -> bool:
    """Whether equations of first order were given a start with the model: its defaults are not all zero."""
    first_order = not e.velocities and not e.quaternions and not isinstance(e.dynamics, DaeResidual)
    return first_order and any(q.default != 0.0 for q in e.coordinates)


def tangent_with(
    begin: FirstState, problem: EstimationProblem, asked: tuple[str, ...], known: tuple[str, ...]
) -> TangentCoordinates:
    """Tangent coordinates at the start, named by the states asked for, the unknown starts and the known quantities."""
    e = begin.equations
    deviations = named_deviations(e, ())
    names = (
        {*deviations.candidates, *e.motion.output("outputs").labels, *e.independent}
        if e.outputs
        else {
            *deviations.candidates,
            *e.independent,
        }
    )
    targets = tuple(begin.recording.targets) if known is ALL else known
    wanted = tuple(dict.fromkeys((*asked, *problem.starts, *(n for n in targets if known is not ALL or n in names))))
    for name in wanted[len(asked) :]:
        if name not in names:
            raise ArgumentError(
                f"{begin.recording.name}: windows cannot keep {name!r} at the start, because it is neither an independent state "
                f"nor an output of motion; use SingleShooting(), give other targets, or start={{{name!r}: InitialGuess(…)}}"
            )
    try:
        return _tangent(begin, problem, wanted)
    except ArgumentError:  # some of them determine others, which are then kept as well
        kept: list[str] = list(asked)
        for name in wanted[len(asked) :]:
            if _independent(begin, (*kept, name)):
                kept.append(name)
            elif name in problem.starts:
                raise
        return _tangent(begin, problem, kept)


def _tangent(begin: FirstState, problem: EstimationProblem, names: Sequence[str]) -> TangentCoordinates:
    r = begin.recording
    return tangent_at(
        begin.equations,
        begin.x,
        r.first_inputs,
        begin.p,
        problem.quantities,
        problem.varied,
        tuple(names),
        r.controls,
        begin.time,
    )


def _independent(begin: FirstState, names: tuple[str, ...]) -> bool:
    """Whether these quantities can change independently at the start."""
    deviations = named_deviations(begin.equations, names)
    try:
        deviations.choose(
            deviations.named(begin.time, begin.x[None], begin.recording.first_inputs[None], begin.p[None]),
        )
    except ArgumentError:
        return False
    return True

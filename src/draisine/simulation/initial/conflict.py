"""Why there is no start: the wishes that cannot be together, the constraints they meet, and the values that would do.

Wishes are left out one after the other as long as what remains still has no solution; those left over conflict, and none of them
could be spared. For each of them the value closest to the one wished for is sought that goes with all the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from draisine.errors import StartError
from draisine.simulation.initial.evaluation import Reals
from draisine.simulation.initial.memory import FULFILLED
from draisine.simulation.initial.result import Conflict
from draisine.simulation.initial.solver import ResidualSystem, Solution, Stage

DECIDED = 1e-6  # a row whose slope along the others' solutions is below this part of it says nothing new
MANY = 12  # constraints that are tried one by one
NAMED = 6  # constraints that are named
DIGITS = 6


@dataclass(frozen=True)
class Nearest:
    """The value of a wish closest to the one wished for that goes with all the others."""

    target: str
    wanted: float
    value: float
    change: float  # as a part of what the wish is compared with
    decided: bool  # whether the others in conflict leave no choice
    alone: bool  # whether all others leave no choice


def explain(stage: Stage, failed: Solution) -> StartError:
    """The error that says why a stage has no solution."""
    shares = np.abs(failed.residual) / failed.weight
    leftover = {
        label: float(r)
        for label, r, share in zip(failed.system.labels, failed.residual, shares, strict=True)
        if not share <= 1e-9
    }
    if not stage.without_targets().find().fulfilled:
        return _cannot_stand(stage, leftover)
    targets = _irreducible(stage)
    constraints = tuple(stage.problem.names[i] for i in _needed(stage, targets))
    options = [n for n in (_nearest(stage, target, targets) for target in targets) if n is not None]
    options.sort(key=lambda n: n.change)
    if len(targets) == 1:
        conflict = Conflict.TARGET_IMPOSSIBLE
    elif options and all(n.decided for n in options):
        conflict = Conflict.TOO_MANY_TARGETS
    else:
        conflict = Conflict.TARGETS_CONTRADICT
    message = _message(stage, conflict, targets, constraints, options)
    return StartError(message, conflict, stage.name, targets, constraints, {n.target: n.value for n in options}, leftover)


# ------------------------------------------------------------------------------------------------ what conflicts


def _solvable(stage: Stage, targets: Collection[str], without: Collection[int] = ()) -> bool:
    return stage.system(targets, without).find(lambda: stage.system((), without), thorough=False).fulfilled


def _irreducible(stage: Stage) -> tuple[str, ...]:
    """Wishes that have no solution together, though they have if any one of them is left out."""
    kept = list(stage.targets)
    for target in stage.targets:
        fewer = [name for name in kept if name != target]
        if not _solvable(stage, fewer):
            kept = fewer
    return tuple(kept)


def _needed(stage: Stage, targets: Collection[str]) -> list[int]:
    """The constraints without which these wishes would have a solution."""
    if not _solvable(stage, targets, without=stage.constraints):
        return []  # not even without any constraint
    meeting = _meeting(stage.system(targets).find(thorough=False), stage)
    if len(meeting) > MANY:
        return meeting
    needed = [i for i in meeting if _solvable(stage, targets, without=(i,))]
    # where constraints say the same thing twice none of them alone is needed; then all that meet the wishes are named
    return needed or meeting


def _meeting(point: Solution, stage: Stage) -> list[int]:
    """Constraints that pull against the wishes at the smallest residuals: they are not fulfilled there."""
    shares = np.abs(point.residual[: len(stage.constraints)]) / point.weight[: len(stage.constraints)]
    return [i for i, share in zip(stage.constraints, shares, strict=True) if share > 1e-9]


# ------------------------------------------------------------------------------------------------ what would do


def _nearest(stage: Stage, target: str, conflicting: Sequence[str]) -> Nearest | None:
    """The value of one wish that is closest to the one wished for, all others being kept."""
    for others in ([n for n in stage.targets if n != target], [n for n in conflicting if n != target]):
        # where there is another conflict beside this one, this one alone is spoken of
        kept = _loose(stage, others, target).find(lambda: _loose(stage, (), target))
        if kept.fulfilled:
            break
    else:
        return None
    aim, wanted = stage.target_of(target, kept.system), stage.targets[target]
    ends = [kept.system.descended(point, aim) for point in _beginnings(stage, target, others, kept)]
    value = min((_reached(stage, target, aim, end)[0] for end in ends), key=lambda value: abs(value - wanted))
    change = abs(value - wanted) / _reached(stage, target, aim, kept)[1]
    if change <= FULFILLED:
        return None  # then the search has failed where there is a solution
    rest = [n for n in conflicting if n != target]
    decided = _is_decided(stage, target, rest)
    alone = decided or (len(others) > len(rest) and _is_decided(stage, target, others))
    return Nearest(target, wanted, value, change, decided, alone)


def _reached(stage: Stage, target: str, aim: ResidualSystem, at: Solution) -> tuple[float, float]:
    """What was wished for, as it is at a solution, and what a difference is compared with."""
    if target in stage.held:
        value, least = at.y[stage.unknowns.index(target)], aim.least[stage.unknowns.index(target)]
        return float(value), float(abs(stage.held[target]) + max(abs(value), least))
    there = aim.at_unknowns(at.y)
    return float(there.residual[0] + stage.aims[target]), float(there.weight[0])


def _slope(stage: Stage, target: str, at: Solution) -> Reals:
    """The gradient of what was wished for by the changes of a solution."""
    if target in stage.held:
        row = np.array([float(name == target) for name in stage.unknowns])
    else:
        row = stage.target_of(target, at.system).jacobian_at(at.y)[0]
    return (row * stage.scale)[at.system.columns]


def _loose(stage: Stage, targets: Collection[str], target: str) -> ResidualSystem:
    """A system in which an unknown wished for begins at its wish but may move."""
    return stage.system(targets, loose=(target,) if target in stage.held else ())


def _beginnings(stage: Stage, target: str, others: Collection[str], kept: Solution) -> list[Solution]:
    """Where to begin the way downhill: at the solution without the wish, beside it, and where continuation towards it ended."""
    points = [kept, *_beside(kept)]
    start = stage.system(others).find(stage.without_targets, thorough=False)
    if start.fulfilled:
        points.append(kept.system.at_unknowns(stage.system([*others, target]).walked(start.y)))
    return [point for point in points if point.fulfilled]


def _beside(point: Solution) -> list[Solution]:
    aside = np.cos(1.0 + 2.4 * np.arange(len(point.z)))  # a direction that no symmetry has, the same in every run
    return [point.system.restored(point.z + size * aside) for size in (0.03, -0.03, 0.3, -0.3)]


def _is_decided(stage: Stage, target: str, others: Collection[str]) -> bool:
    """Whether the other wishes and the constraints leave a wish no choice, here and nearby."""
    here = stage.system(others).find(stage.without_targets)
    points = [point for point in (here, *_beside(here)) if point.fulfilled]
    for point in points:
        slope = _slope(stage, target, point)
        if np.linalg.norm(point.along(slope)) > DECIDED * np.linalg.norm(slope):
            return False
    return bool(points)


# ------------------------------------------------------------------------------------------------ in words


def _message(
    stage: Stage, conflict: Conflict, targets: Sequence[str], constraints: Sequence[str], options: Sequence[Nearest]
) -> str:
    where = " at the coordinates of this start" if stage.name == "velocity" else ""
    head = f"{stage.problem.equations.name}: {conflict}{where}"
    if not options:
        asked = [f"{name} = {stage.targets[name]:g}" for name in targets]
        return f"{head}: no start was found with {_with(constraints, asked)}; drop one of these wishes"
    first, *rest = options
    others = [f"{name} = {stage.targets[name]:g}" for name in targets if name != first.target]
    around = _with(constraints, others)
    if first.decided:
        verb = "decides" if len(others) + len(constraints) == 1 else "decide"
        said = f"{around} {verb} {first.target}: it is {_shown(first)}, not {first.wanted:g}"
    else:
        cannot = f"{first.target} cannot be {first.wanted:g}; nearest possible: {first.target} = {_shown(first)}"
        said = f"with {around}, {cannot}" if around else cannot
    instead = " or ".join(f"{n.target} = {_shown(n)}" for n in rest)
    return f"{head}: {said}; or keep it and take {instead}, or drop one of these wishes" if rest else f"{head}: {said}"


def _shown(nearest: Nearest) -> str:
    """The value in few digits, rounded away from the wish, so that what is shown is possible itself."""
    if abs(nearest.value) <= 1e-12 * abs(nearest.wanted):
        return "0"
    if nearest.alone:
        return f"{nearest.value:.12g}"
    plain = f"{nearest.value:.{DIGITS}g}"
    if abs(float(plain) - nearest.value) <= 1e-9 * abs(nearest.value):
        return plain
    unit = 10.0 ** (np.floor(np.log10(abs(nearest.value))) + 1 - DIGITS)
    rounded = np.floor(nearest.value / unit) if nearest.value < nearest.wanted else np.ceil(nearest.value / unit)
    return f"{rounded * unit:.{DIGITS}g}"


def _with(constraints: Sequence[str], targets: Sequence[str]) -> str:
    named = [repr(name) for name in dict.fromkeys(constraints)]
    return _listed([*named[:NAMED], *([f"{len(named) - NAMED} further constraints"] if len(named) > NAMED else []), *targets])


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _cannot_stand(stage: Stage, leftover: Mapping[str, float]) -> StartError:
    """The error for constraints that have no solution without any wish."""
    system = stage.without_targets()
    begin, end = system.at(np.zeros(len(system.columns))), system.find()
    name = stage.problem.equations.name
    undefined = [label for label, r in zip(system.labels, begin.residual, strict=True) if not np.isfinite(r)]
    if undefined:
        constraints = tuple(undefined)
        said = f"{_with(constraints, [])} cannot be computed at the defaults; change the defaults"
    else:
        constraints = tuple(stage.problem.names[i] for i in _meeting(end, stage))
        off = [
            f"{label!r} (off by {r:.3g})" for label, r in zip(system.labels, end.residual, strict=True) if label in constraints
        ]
        together = "together " if len(off) > 1 else ""
        unknowns = "coordinates" if stage.name == "position" else "velocities"
        said = (
            f"without any wish, {_listed(off[:NAMED])} cannot be fulfilled {together}by any {unknowns}; check the parameters, or "
            "begin from defaults that come closer"
        )
    conflict = Conflict.MODEL_CANNOT_STAND
    return StartError(f"{name}: {conflict}: {said}", conflict, stage.name, (), constraints, {}, leftover)

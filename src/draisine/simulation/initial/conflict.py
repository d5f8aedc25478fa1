"""Explanation of infeasible starts: an irreducible set of conflicting targets, the constraints involved, and feasible values.

Targets are removed one after the other as long as the rest still has no solution; those left over form an irreducible conflict.
For each of them the feasible value closest to the requested one is computed, with all others kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from draisine.errors import StartError
from draisine.simulation.initial.evaluation import Reals
from draisine.simulation.initial.memory import FULFILLED, RANK
from draisine.simulation.initial.result import Conflict
from draisine.simulation.initial.solver import Level, ResidualSystem, Solution

DETERMINED = 1e-6  # a row whose gradient along the solutions of the others is below this fraction is determined by them
MOST_TRIED = 12  # constraints that are tested one by one
MOST_NAMED = 6  # constraints that are listed
DIGITS = 6


class NearestValue(NamedTuple):
    """The feasible value of a target closest to the requested one, with all others kept."""

    target: str
    requested_value: float
    value: float
    change: float  # relative to the scale of the target
    determined: bool  # whether the others in conflict determine it
    single: bool  # whether all others determine it


STEEP = 1e7  # derivative of a constraint, relative to its change nearby, above which it is degenerate
VIOLATED = 1e-9  # residual relative to its change nearby
_NEARBY = 0.1  # distance of other places, in scales of the unknowns
_PLACES = 5


def refuse_degenerate(level: Level, found: Solution) -> None:
    """Refuse a solution with a residual that counts as zero only because its derivative is nearly infinite."""
    count = len(level.constraints)
    here, at, z, system = found.residual[:count].copy(), found.y.copy(), found.z.copy(), level.full_system
    residual = np.abs(here)
    steepness = (np.abs(system.memory.current.jacobian[:count]) * level.scale).max(axis=1, initial=0.0)
    suspects = np.flatnonzero(residual > VIOLATED * np.minimum(steepness, 1.0))
    if not len(suspects):
        return
    rng = np.random.default_rng(17)
    places = [at + _NEARBY * level.scale * rng.uniform(-1.0, 1.0, len(at)) for _ in range(_PLACES)]
    changes = np.median([np.abs(system.at_unknowns(y).residual[:count] - here) for y in places], axis=0)
    system.at(z)  # its memory belongs to the solution
    usual = changes / _NEARBY
    for i in suspects:
        if residual[i] > VIOLATED * usual[i] and not steepness[i] <= STEEP * usual[i]:
            name, e = level.full_system.labels[i], level.problem.equations
            raise StartError(
                f"{e.name}: the constraint {name!r} is degenerate at this start: it is violated by {residual[i]:.3g}, and its "
                f"derivative is {steepness[i]:.1e}. A direction that it is measured along vanishes there; start elsewhere, or "
                "describe the constraint differently (for surfaces that touch: another axis along=…)",
                Conflict.MODEL_CANNOT_STAND,
                level.name,
                (),
                (name,),
                {},
                {name: float(here[i])},
            )


def explain(level: Level, failed: Solution) -> StartError:
    """The error that explains why a level has no solution."""
    shares = np.abs(failed.residual) / failed.weight
    leftover = {
        label: float(r)
        for label, r, share in zip(failed.system.labels, failed.residual, shares, strict=True)
        if not share <= 1e-9
    }
    if not level.without_targets().find().fulfilled:
        return _inconsistent_model(level, leftover)
    targets = _irreducible_conflict(level)
    constraints = tuple(level.problem.names[i] for i in _constraints_in_conflict(level, targets))
    options = [n for n in (_nearest(level, target, targets) for target in targets) if n is not None]
    options.sort(key=lambda n: n.change)
    if len(targets) == 1:
        conflict = Conflict.TARGET_IMPOSSIBLE
    elif options and all(n.determined for n in options):
        conflict = Conflict.TOO_MANY_TARGETS
    else:
        conflict = Conflict.TARGETS_CONTRADICT
    message = _message(level, conflict, targets, constraints, options)
    return StartError(message, conflict, level.name, targets, constraints, {n.target: n.value for n in options}, leftover)


# ------------------------------------------------------------------------------------------------ conflicting targets


def _solvable(level: Level, targets: Collection[str], without: Collection[int] = ()) -> bool:
    return level.system(targets, without).find(lambda: level.system((), without), thorough=False).fulfilled


def _irreducible_conflict(level: Level) -> tuple[str, ...]:
    """Targets without a common solution that have one if any of them is removed."""
    kept = list(level.targets)
    for target in level.targets:
        fewer = [name for name in kept if name != target]
        if not _solvable(level, fewer):
            kept = fewer
    return tuple(kept)


def _constraints_in_conflict(level: Level, targets: Collection[str]) -> list[int]:
    """The constraints without which these targets have a solution."""
    if not _solvable(level, targets, without=level.constraints):
        return []  # infeasible without any constraint
    conflicting = _violated_constraints(level.system(targets).find(thorough=False), level)
    if len(conflicting) > MOST_TRIED:
        return conflicting
    needed = [i for i in conflicting if _solvable(level, targets, without=(i,))]
    # of redundant constraints none is necessary alone; then all that are violated are listed
    return needed or conflicting


def _violated_constraints(point: Solution, level: Level) -> list[int]:
    """Constraints that are violated at the point of smallest residuals."""
    shares = np.abs(point.residual[: len(level.constraints)]) / point.weight[: len(level.constraints)]
    return [i for i, share in zip(level.constraints, shares, strict=True) if share > 1e-9]


# ------------------------------------------------------------------------------------------------ feasible values


def _nearest(level: Level, target: str, conflicting: Sequence[str]) -> NearestValue | None:
    """The feasible value of one target closest to the requested one, with all others kept."""
    for others in ([n for n in level.targets if n != target], [n for n in conflicting if n != target]):
        # if there is another conflict, only this one is considered
        kept = _relaxed_system(level, others, target).find(lambda: _relaxed_system(level, (), target))
        if kept.fulfilled:
            break
    else:
        return None
    aim, requested_value = level.target_system(target, kept.system), level.targets[target]
    ends = [kept.system.descend(point, aim) for point in _starting_points(level, target, others, kept)]
    value = min((_value_at(level, target, aim, end)[0] for end in ends), key=lambda value: abs(value - requested_value))
    change = abs(value - requested_value) / _value_at(level, target, aim, kept)[1]
    if change <= FULFILLED:
        return None  # the search failed although there is a solution
    rest = [n for n in conflicting if n != target]
    determined = _is_determined(level, target, rest)
    single = determined or (len(others) > len(rest) and _is_determined(level, target, others))
    return NearestValue(target, requested_value, value, change, determined, single)


def _value_at(level: Level, target: str, aim: ResidualSystem, at: Solution) -> tuple[float, float]:
    """The value of a target at a solution, and its scale."""
    if target in level.prescribed:
        value, least = at.y[level.unknowns.index(target)], aim.least_size[level.unknowns.index(target)]
        return float(value), float(abs(level.prescribed[target]) + max(abs(value), least))
    there = aim.at_unknowns(at.y)
    return float(there.residual[0] + level.output_targets[target]), float(there.weight[0])


def _gradient(level: Level, target: str, at: Solution) -> Reals:
    """The gradient of a target by the changes z at a solution; zero if it is rounding error beside the prescribed unknowns."""
    if target in level.prescribed:
        row = np.array([float(name == target) for name in level.unknowns])
    else:
        row = level.target_system(target, at.system).jacobian_at(at.y)[0]
    whole = row * level.scale
    free = whole[at.system.columns]
    return free if np.linalg.norm(free) > RANK * np.linalg.norm(whole) else np.zeros_like(free)


def _relaxed_system(level: Level, targets: Collection[str], target: str) -> ResidualSystem:
    """A system in which an unknown with a target starts at it but is free."""
    return level.system(targets, loose=(target,) if target in level.prescribed else ())


def _starting_points(level: Level, target: str, others: Collection[str], kept: Solution) -> list[Solution]:
    """Starting points of the descent: the solution without the target, perturbations of it, and the end of a continuation."""
    points = [kept, *_perturbed(kept)]
    start = level.system(others).find(level.without_targets, thorough=False)
    if start.fulfilled:
        points.append(kept.system.at_unknowns(level.system([*others, target]).continued(start.y)))
    return [point for point in points if point.fulfilled]


def _perturbed(point: Solution) -> list[Solution]:
    aside = np.cos(1.0 + 2.4 * np.arange(len(point.z)))  # a direction without symmetry, the same in every run
    return [point.system.restore(point.z + size * aside) for size in (0.03, -0.03, 0.3, -0.3)]


def _is_determined(level: Level, target: str, others: Collection[str]) -> bool:
    """Whether the other targets and the constraints determine a target, at a solution and nearby."""
    here = level.system(others).find(level.without_targets)
    points = [point for point in (here, *_perturbed(here)) if point.fulfilled]
    for point in points:
        slope = _gradient(level, target, point)
        if np.linalg.norm(point.along(slope)) > DETERMINED * np.linalg.norm(slope):
            return False
    return bool(points)


# ------------------------------------------------------------------------------------------------ messages


def _message(
    level: Level, conflict: Conflict, targets: Sequence[str], constraints: Sequence[str], options: Sequence[NearestValue]
) -> str:
    where = " at the coordinates of this start" if level.name == "velocity" else ""
    head = f"{level.problem.equations.name}: {conflict}{where}"
    if not options:
        requested = [f"{name} = {level.targets[name]:g}" for name in targets]
        return f"{head}: no start was found with {_conditions_text(constraints, requested)}; drop one of these targets"
    first, *rest = options
    others = [f"{name} = {level.targets[name]:g}" for name in targets if name != first.target]
    around = _conditions_text(constraints, others)
    if first.determined:
        verb = "determines" if len(others) + len(constraints) == 1 else "determine"
        text = f"{around} {verb} {first.target}: it is {_value_text(first)}, not {first.requested_value:g}"
    else:
        cannot = f"{first.target} cannot be {first.requested_value:g}; nearest possible: {first.target} = {_value_text(first)}"
        text = f"with {around}, {cannot}" if around else cannot
    instead = " or ".join(f"{n.target} = {_value_text(n)}" for n in rest)
    return f"{head}: {text}; or keep it and take {instead}, or drop one of these targets" if rest else f"{head}: {text}"


def _value_text(nearest: NearestValue) -> str:
    """The value in few digits, rounded away from the target, so that the printed value is feasible."""
    if abs(nearest.value) <= 1e-12 * abs(nearest.requested_value):
        return "0"
    if nearest.single:
        return f"{nearest.value:.12g}"
    plain = f"{nearest.value:.{DIGITS}g}"
    if abs(float(plain) - nearest.value) <= 1e-9 * abs(nearest.value):
        return plain
    unit = 10.0 ** (np.floor(np.log10(abs(nearest.value))) + 1 - DIGITS)
    rounded = np.floor(nearest.value / unit) if nearest.value < nearest.requested_value else np.ceil(nearest.value / unit)
    return f"{rounded * unit:.{DIGITS}g}"


def _conditions_text(constraints: Sequence[str], targets: Sequence[str]) -> str:
    named = [repr(name) for name in dict.fromkeys(constraints)]
    return _list_text(
        [*named[:MOST_NAMED], *([f"{len(named) - MOST_NAMED} further constraints"] if len(named) > MOST_NAMED else []), *targets]
    )


def _list_text(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def _inconsistent_model(level: Level, leftover: Mapping[str, float]) -> StartError:
    """The error for constraints that have no solution without any target."""
    system = level.without_targets()
    begin, end = system.at(np.zeros(len(system.columns))), system.find()
    name = level.problem.equations.name
    undefined = [label for label, r in zip(system.labels, begin.residual, strict=True) if not np.isfinite(r)]
    if undefined:
        constraints = tuple(undefined)
        text = f"{_conditions_text(constraints, [])} cannot be evaluated at the defaults; change the defaults"
    else:
        constraints = tuple(level.problem.names[i] for i in _violated_constraints(end, level))
        off = [
            f"{label!r} (off by {r:.3g})" for label, r in zip(system.labels, end.residual, strict=True) if label in constraints
        ]
        off = off or ["the constraints"]  # residuals that are small, and do not vanish
        together = "together " if len(off) > 1 else ""
        unknowns = "coordinates" if level.name == "position" else "velocities"
        text = (
            f"without any target, {_list_text(off[:MOST_NAMED])} cannot be satisfied {together}by any {unknowns}; check the "
            "parameters, or use defaults that are closer"
        )
    conflict = Conflict.MODEL_CANNOT_STAND
    return StartError(f"{name}: {conflict}: {text}", conflict, level.name, (), constraints, {}, leftover)

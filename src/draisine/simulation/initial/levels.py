"""The two stages of a start, positions and velocities: the wishes and constraints of each, and systems made of any of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.simulation.initial.evaluation import Bools, Evaluation, Indices, Reals
from draisine.simulation.initial.problem import StartProblem, Targets
from draisine.simulation.initial.solver import ResidualSystem


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage: its unknowns with references and scales, and the targets that belong to it.

    `held` are targets of unknowns themselves, `aims` targets of outputs. `hidden` are linear rows that the equations imply
    without having them among their constraints.
    """

    name: str  # "position" or "velocity"
    problem: StartProblem
    evaluation: Evaluation
    unknowns: tuple[str, ...]
    reference: Reals
    scale: Reals
    leap: Reals
    groups: Indices  # in which unknowns are put to rest, 0 for never
    held: Mapping[str, float]
    aims: Mapping[str, float]
    hidden: tuple[Reals, Reals] | None = None

    @property
    def constraints(self) -> tuple[int, ...]:
        """The constraints of this stage, by their number."""
        return self.problem.constraints[self.name]

    @cached_property
    def targets(self) -> dict[str, float]:
        return {**self.held, **self.aims}

    @cached_property
    def whole(self) -> ResidualSystem:
        """All constraints and all targets."""
        return self.system(self.targets)

    def without_targets(self) -> ResidualSystem:
        """The constraints alone."""
        return self.system(())

    def target_of(self, target: str, beside: ResidualSystem) -> ResidualSystem:
        """One target without any constraint, with the references of another system that leaves it free."""
        return replace(replace(self, hidden=None).system((target,), without=self.constraints), reference=beside.reference)

    def system(
        self, targets: Collection[str], without: Collection[int] = (), loose: Collection[str] = (), still: Bools | None = None
    ) -> ResidualSystem:
        """The constraints but those `without`, and the wishes named.

        `loose` are unknowns that begin at their target without being held at it; `still` are unknowns that stay at their
        references though nobody wished for it.
        """
        reference, free = self.reference.copy(), np.ones(len(self.unknowns), dtype=bool)
        for name, value in self.held.items():
            if name in targets or name in loose:
                place = self.unknowns.index(name)
                reference[place] = value
                free[place] = name in loose
        if still is not None:
            free &= ~still
        constraints = tuple(i for i in self.constraints if i not in without) if without else self.constraints
        outputs = tuple(name for name in self.aims if name in targets)
        layout = self.problem.layout(self.name, constraints, outputs)
        target = np.array([0.0] * len(constraints) + [self.aims[name] for name in outputs])
        hidden = () if self.hidden is None else tuple(f"dependence of {name}" for name in self.unknowns)
        return ResidualSystem(
            labels=layout.labels + hidden,
            of="q" if self.name == "position" else "v",
            evaluation=self.evaluation,
            layout=layout,
            target=target,
            reference=reference,
            free=free,
            scale=self.scale,
            leap=self.leap,
            groups=self.groups,
            linear=self.hidden,
        )


def stage_of_positions(
    problem: StartProblem, targets: Targets, evaluation: Evaluation, q: Reals, v: Reals, scale: Reals, leap: Reals
) -> Stage:
    """Coordinates, and what depends on them alone. `q` and `v` are references."""
    evaluation.arguments["v"][:] = v
    names = problem.unknowns[0]
    aims = {n: a for n, a in targets.outputs.items() if not problem.moving[problem.places[n]]}
    groups = np.zeros(len(names), dtype=np.intp)
    return Stage("position", problem, evaluation, names, q, scale, leap, groups, targets.coordinates, aims)


def stage_of_velocities(
    problem: StartProblem, targets: Targets, evaluation: Evaluation, q: Reals, v: Reals, scale: Reals
) -> Stage:
    """Velocities at coordinates that are settled, and what depends on them; the independent ones are put to rest."""
    evaluation.arguments["q"][:] = q
    names = problem.unknowns[1]
    aims = {n: a for n, a in targets.outputs.items() if problem.moving[problem.places[n]]}
    leap = np.full(len(names), np.inf)
    return Stage("velocity", problem, evaluation, names, v, scale, leap, problem.rest_groups, targets.velocities, aims)

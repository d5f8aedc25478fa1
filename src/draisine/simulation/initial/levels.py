"""The two stages of a start, positions and velocities: the wishes and constraints of each, and levels made of any of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.simulation.initial.evaluation import Evaluator
from draisine.simulation.initial.problem import Layout, StartProblem
from draisine.simulation.initial.residual_system import Bools, Level, Reals
from draisine.simulation.initial.targets import Wishes

_NO_ROWS = Layout((), np.zeros(0, dtype=bool), *(np.zeros(0, dtype=np.intp) for _ in range(3)))


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage: its unknowns with references and scales, and the wishes that belong to it.

    `held` are wishes for unknowns themselves, `aims` wishes for outputs. `hidden` are linear rows that the equations imply
    without having them among their constraints.
    """

    name: str  # "position" or "velocity"
    problem: StartProblem
    unknowns: tuple[str, ...]
    reference: Reals
    scale: Reals
    leap: Reals
    call: Callable[[Reals], tuple[Reals, Reals]]
    held: Mapping[str, float]
    aims: Mapping[str, float]
    hidden: tuple[Reals, Reals] | None = None

    @property
    def constraints(self) -> tuple[int, ...]:
        """The constraints of this stage, by their number."""
        return self.problem.constraints[self.name]

    @cached_property
    def wishes(self) -> dict[str, float]:
        return {**self.held, **self.aims}

    @property
    def whole(self) -> Level:
        """All constraints and all wishes."""
        return self.level(self.wishes)

    def level(
        self, wishes: Collection[str], without: Collection[int] = (), loose: Collection[str] = (), still: Bools | None = None
    ) -> Level:
        """The constraints but those `without`, and the wishes named.

        `loose` are unknowns that begin at their wish without being held at it; `still` are unknowns that stay at their references
        though nobody wished for it.
        """
        reference, free = self.reference.copy(), np.ones(len(self.unknowns), dtype=bool)
        for name, value in self.held.items():
            if name in wishes or name in loose:
                place = self.unknowns.index(name)
                reference[place] = value
                free[place] = name in loose
        if still is not None:
            free &= ~still
        constraints = tuple(i for i in self.constraints if i not in without) if without else self.constraints
        outputs = tuple(name for name in self.aims if name in wishes)
        layout = self.problem.layout(self.name, constraints, outputs)
        target = np.array([0.0] * len(constraints) + [self.aims[name] for name in outputs])
        hidden = () if self.hidden is None else tuple(f"dependence of {name}" for name in self.unknowns)
        return self._of(layout, layout.labels + hidden, target, reference, free, self.hidden)

    def row_of(self, wish: str, level: Level) -> Level:
        """A level in the same unknowns whose one row is a wish."""
        if wish in self.held:
            unit = np.array([[1.0 if name == wish else 0.0 for name in self.unknowns]])
            plane = unit, np.array([self.held[wish]])
            return self._of(_NO_ROWS, (wish,), np.zeros(0), level.reference, level.free, plane)
        layout = self.problem.layout(self.name, (), (wish,))
        return self._of(layout, (wish,), np.array([self.aims[wish]]), level.reference, level.free, None)

    def _of(
        self,
        layout: Layout,
        labels: tuple[str, ...],
        target: Reals,
        reference: Reals,
        free: Bools,
        plane: tuple[Reals, Reals] | None,
    ) -> Level:
        return Level(
            unknowns=self.unknowns,
            labels=labels,
            wished=layout.wished,
            call=self.call,
            take=layout.take,
            source=layout.source,
            place=layout.place,
            target=target,
            reference=reference,
            free=free,
            scale=self.scale,
            leap=self.leap,
            homogeneous=self.name == "velocity",
            plane=plane,
        )


def stage_of_positions(
    problem: StartProblem, wishes: Wishes, evaluate: Evaluator, q: Reals, v: Reals, scale: Reals, leap: Reals
) -> Stage:
    """Coordinates, and what depends on them alone. `q` and `v` are references."""

    def call(y: Reals) -> tuple[Reals, Reals]:
        return evaluate(y, v, "q")

    names = problem.unknowns[0]
    aims = {n: a for n, a in wishes.outputs.items() if not problem.moving[problem.places[n]]}
    return Stage("position", problem, names, q, scale, leap, call, wishes.coordinates, aims)


def stage_of_velocities(problem: StartProblem, wishes: Wishes, evaluate: Evaluator, q: Reals, v: Reals, scale: Reals) -> Stage:
    """Velocities at coordinates that are settled, and what depends on them."""

    def call(y: Reals) -> tuple[Reals, Reals]:
        return evaluate(q, y, "v")

    names = problem.unknowns[1]
    aims = {n: a for n, a in wishes.outputs.items() if problem.moving[problem.places[n]]}
    return Stage("velocity", problem, names, v, scale, np.full(len(names), np.inf), call, wishes.velocities, aims)

"""Systems of residuals on Python's side: their memory is filled and read here, and solved by `tasks`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property

import numpy as np

from draisine.codegen.restricted.entry import Code, Entry
from draisine.simulation.initial import memory
from draisine.simulation.initial.evaluation import Bools, Evaluation, Indices, Of, Reals
from draisine.simulation.initial.memory import FULFILLED, SHAPES, Factors, Point, System, Task
from draisine.simulation.initial.problem import Layout

MANY = 200  # with more free velocities than this, least change is left as it is
MANY_KEPT = 32  # memories for later starts


class Way(StrEnum):
    """How a start was found, in the order of `memory.NEWTON` and what follows."""

    NEWTON = "Newton from the defaults"
    NUDGE = "Newton from beside the defaults"
    CONTINUATION = "continuation in the wishes"
    DESCENT = "descent towards the wishes"
    RESTART = "Newton from elsewhere"


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a search ended. If it failed, residuals are the smallest met."""

    system: ResidualSystem
    z: Reals
    y: Reals
    residual: Reals
    weight: Reals
    share: float
    rank: int  # number of independent rows
    way: Way

    @property
    def fulfilled(self) -> bool:
        return self.share <= FULFILLED

    @cached_property
    def _basis(self) -> Reals:
        """Orthonormal rows that span those of the Jacobian by z."""
        self.system.at(self.z)
        factors = self.system.memory.factors
        return factors.basis[factors.order[: factors.rank]]  # a copy

    def along(self, direction: Reals) -> Reals:
        """The part of a direction in which no residual changes."""
        return direction - self._basis.T @ (self._basis @ direction)


@dataclass(frozen=True, eq=False)
class ResidualSystem:
    """Residuals of one stage that are to vanish: constraints, outputs less their targets, and linear rows."""

    labels: tuple[str, ...]  # of the rows
    of: Of
    evaluation: Evaluation
    layout: Layout
    target: Reals
    reference: Reals  # held unknowns have their targets
    free: Bools
    scale: Reals
    leap: Reals
    groups: Indices  # of all unknowns: in which they are put to rest, 0 for never
    linear: tuple[Reals, Reals] | None = None  # matrix · y = offset

    @cached_property
    def columns(self) -> Indices:
        """The free unknowns."""
        return np.flatnonzero(self.free)

    @cached_property
    def memory(self) -> System:
        """What the solver works on; that of an earlier start which asked for the same names, if there is one."""
        s = self.evaluation.idle.pop(self._key, None) or self._new_memory()
        s.scale[:], s.leap[:], s.reference[:] = self.scale, self.leap, self.reference
        s.target[: len(self.target)] = self.target
        if self.linear is not None:
            s.matrix[:], s.target[len(self.target) :] = self.linear
        return s

    def release(self) -> None:
        """Leave the memory to later starts."""
        idle, own = self.evaluation.idle, vars(self).pop("memory", None)
        if len(idle) > MANY_KEPT:
            idle.clear()
        if own is not None:
            idle[self._key] = own

    @property
    def _key(self) -> tuple[Hashable, ...]:
        return self.layout, self.free.tobytes(), self.linear is None

    def _new_memory(self) -> System:
        layout, columns = self.layout, self.columns
        n, f, e = len(self.reference), len(columns), len(layout.source)
        linear = 0 if self.linear is None else len(self.linear[1])
        m = len(layout.take) + linear
        group = self.groups[columns]
        g = int(np.count_nonzero(group)) if f <= MANY else 0
        s = System()
        s.unknowns, s.free, s.rows, s.linear, s.entries = n, f, m, linear, e
        s.groups = int(group.max(initial=0)) if g else 0
        s.homogeneous = 1 if self.of == "v" else 0
        s.here, s.trial, s.factors = Point(), Point(), Factors()
        for record in (s, s.here, s.trial, s.factors):
            _room(record, n=n, f=f, m=m, l=linear, g=g)
        s.motion = self.evaluation.motion(self.of)
        s.argument, s.derivatives = self.evaluation.arguments[self.of], self.evaluation.entries[self.of]
        s.take, s.source, s.row, s.column, s.columns = layout.take, layout.source, layout.row, layout.column, columns
        s.held[:], s.group[:] = ~self.free, group
        s.targeted[: len(layout.targeted)] = layout.targeted
        return s

    def _run(self, what: int, other: System | None = None, thorough: bool = False) -> int:
        task = Task()
        task.what, task.system, task.other = what, self.memory, self.memory if other is None else other
        task.thorough = int(thorough)
        return run(task, self.evaluation)

    def _end(self) -> Solution:
        s, h = self.memory, self.memory.here
        copies = h.z.copy(), h.y.copy(), h.residual.copy(), h.weight.copy()
        return Solution(self, *copies, h.share, s.factors.rank, tuple(Way)[max(s.way - 1, 0)])

    def find(self, base: Callable[[], ResidualSystem] | None = None, thorough: bool = True) -> Solution:
        """The solution closest to the reference, or if there is none, a point of small residuals.

        `base` makes the system without targets, which is asked for only if it is needed; `thorough` allows restarts.
        """
        if not self._run(memory.FIND):
            if base is None:
                self._run(memory.FIND_ALONE, thorough=thorough)
            else:
                self._run(memory.FIND_FAR, base().memory, thorough)
        return self._end()

    def at(self, z: Reals) -> Solution:
        """What is known at the changes z."""
        self.memory.here.z[:] = z
        self._run(memory.EVALUATE)
        return self._end()

    def at_unknowns(self, y: Reals) -> Solution:
        """The same at unknowns, as far as they are free."""
        return self.at((y - self.reference)[self.columns] / self.scale[self.columns])

    def restored(self, z: Reals) -> Solution:
        """From the changes z to a solution."""
        self.memory.here.z[:] = z
        self._run(memory.RESTORE)
        return self._end()

    def put_to_rest(self) -> Solution:
        """What was found last, with as few velocities moved as will do."""
        self._run(memory.REST)
        return self._end()

    def walked(self, begin: Reals) -> Reals:
        """All unknowns where targets, moved step by step from what they are at `begin` to what they should be, came to."""
        self.memory.begin[:] = begin
        self._run(memory.WALK)
        return self.memory.last_y.copy()

    def descended(self, begin: Solution, aim: ResidualSystem) -> Solution:
        """From a solution to one where the targets of `aim` are missed least."""
        self.memory.here.z[:] = begin.z
        self._run(memory.EVALUATE)
        self._run(memory.DESCEND, aim.memory)
        return self._end()

    def jacobian_at(self, y: Reals) -> Reals:
        """Of the rows, by all unknowns."""
        self.at_unknowns(y)
        return self.memory.here.jacobian.copy()

    @property
    def least(self) -> Reals:
        """Unknowns count as at least this large, once something was found."""
        return self.memory.least


def _room(record: System | Point | Factors, **sizes: int) -> None:
    """Give all arrays that the solver works on to a record."""
    shapes = SHAPES[type(record).__name__]
    record.allocate({name: tuple(sizes[letter] for letter in shape) for name, shape in shapes.items()})


_SOURCES = ("memory", "residual_system", "least_norm", "newton", "descent", "search", "rest_velocities")
SOLVER = Entry("draisine.simulation.initial.search", "run", tuple(f"draisine.simulation.initial.{name}" for name in _SOURCES))


@cache
def solver_code() -> Code:
    """The solver as machine code, which one machine compiles once."""
    return SOLVER.load()


def run(task: Task, evaluation: Evaluation) -> int:
    """Do a task; what calls back to Python raised is raised here."""
    answer = solver_code()(task)
    if evaluation.failures:
        raise evaluation.failures.pop()
    return answer

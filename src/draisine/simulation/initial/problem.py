"""Equations made ready for starts: which rows belong to which level, and values with exact Jacobians, compiled or interpreted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.program.interpreter import dependence
from draisine.program.program import LazyProgram, Program, Slot
from draisine.simulation.initial.evaluation import Bools, Evaluation, Indices, Of, Pattern, Reals, along_program
from draisine.simulation.initial.problem import Scales

Given = tuple[float, Reals, Reals]  # time, inputs, parameters


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows of one stage: some constraints, then some outputs."""

    labels: tuple[str, ...]
    targeted: Bools  # which rows are outputs
    take: Indices  # among all values
    source: Indices  # among the entries of the stage's Jacobian
    row: Indices  # of these entries in the dense matrix of the rows
    column: Indices


@dataclass(frozen=True, eq=False)
class StartProblem:
    """Equations with what starts are solved with; worth keeping when many starts are wanted.

    Its programs are compiled, and kept on disk from one process to the next; unless `compiled` is False, but for what goes by
    columns.
    """

    equations: Equations
    compiled: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the values: constraints, then outputs."""
        return (*(c.name for c in self.equations.constraints), *self.equations.motion.output("outputs").labels)

    @cached_property
    def scales(self) -> Scales:
        return Scales.of(self.equations)

    @cached_property
    def defaults(self) -> tuple[Reals, Reals]:
        """Of coordinates and of velocities."""
        groups = self.equations.coordinates, self.equations.velocities
        q, v = (np.array([c.default for c in group], dtype=float) for group in groups)
        return q, v

    @cached_property
    def unknowns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of coordinates and of velocities."""
        return tuple(c.name for c in self.equations.coordinates), tuple(c.name for c in self.equations.velocities)

    @cached_property
    def homes(self) -> dict[str, str]:
        """What can be wished for, and where it belongs."""
        e = self.equations
        groups = {
            "coordinates": [q.name for q in e.coordinates],
            "velocities": [v.name for v in e.velocities],
            "outputs": list(e.motion.output("outputs").labels),
            "states": [s.name for s in e.extra_states],
        }
        found: dict[str, str] = {}
        for home, names in groups.items():
            for name in names:
                found.setdefault(name, home)  # a coordinate before an output of its name
        return found

    @cached_property
    def places(self) -> dict[str, int]:
        """Where outputs stand among the values."""
        first = len(self.equations.constraints)
        return {name: first + i for i, name in enumerate(self.equations.motion.output("outputs").labels)}

    @cached_property
    def moving(self) -> Bools:
        """Which values depend on any velocity, by structure: they are fulfilled by velocities, the others by coordinates."""
        found = np.zeros(len(self.names), dtype=bool)
        found[self.by_v.rows] = True
        return found

    @cached_property
    def by_q(self) -> Pattern:
        """The Jacobian by the coordinates, of values that depend on these alone."""
        whole = self._filled("q")
        kept = ~self.moving[whole.rows]
        return Pattern(whole.rows[kept], whole.columns[kept])

    @cached_property
    def by_v(self) -> Pattern:
        """The Jacobian by the velocities."""
        return self._filled("v")

    @cached_property
    def rest_groups(self) -> Indices:
        """Of each velocity when it is put to rest, those of 1 first; 0 for never, as dependent velocities are not."""
        independent = set(self.equations.independent)
        return np.array([int(name in independent) for name in self.unknowns[1]], dtype=np.intp)

    def orders(self, of_unknowns: Indices) -> Indices:
        """Of each value the highest order among the unknowns it depends on, by structure."""
        found = np.zeros(len(self.names), dtype=np.intp)
        np.maximum.at(found, self.by_q.rows, of_unknowns[self.by_q.columns])
        return found

    @cached_property
    def constraints(self) -> dict[str, tuple[int, ...]]:
        """The constraints of each level, by their number."""
        moving = self.moving[: len(self.equations.constraints)]
        sorts = {"position": ~moving, "velocity": moving}
        return {level: tuple(int(i) for i in np.flatnonzero(found)) for level, found in sorts.items()}

    @cached_property
    def layout(self) -> Callable[[str, tuple[int, ...], tuple[str, ...]], Layout]:
        """Rows by level, constraints and outputs; those met before are remembered."""

        @lru_cache(maxsize=256)
        def made(level: str, constraints: tuple[int, ...], outputs: tuple[str, ...]) -> Layout:
            pattern = self.by_q if level == "position" else self.by_v
            take = np.array([*constraints, *(self.places[name] for name in outputs)], dtype=np.intp)
            targeted = np.arange(len(take)) >= len(constraints)
            return Layout(tuple(self.names[i] for i in take), targeted, take, *pattern.within(take))

        return made

    def _filled(self, of: str) -> Pattern:
        rows, columns = dependence(self.equations.motion, ("residuals", "outputs"), of)
        return Pattern(rows.astype(np.intp), columns.astype(np.intp))

    def program(self) -> Program:
        """The motion with the entries of its two Jacobians."""
        import casadi as ca

        motion = self.equations.motion
        symbols = motion.symbols()
        q, v = (symbols[[s.name for s in motion.inputs].index(name)] for name in ("q", "v"))
        results = dict(zip((s.name for s in motion.outputs), motion.function.call(symbols), strict=True))
        values = ca.vertcat(results["residuals"], results["outputs"])
        return Program.build(
            f"{motion.name}_for_starts",
            {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)},
            {"values": values, "by_q": self.by_q.entries(values, q), "by_v": self.by_v.entries(values, v)},
        )

    @cached_property
    def kernel(self) -> Kernel:
        motion = self.equations.motion
        sizes = {"values": len(self.names), "by_q": len(self.by_q.rows), "by_v": len(self.by_v.rows)}
        outputs = tuple(Slot(name, (size, 1)) for name, size in sizes.items())
        digest = f"motion with Jacobians for starts 2; {motion.digest}"
        return compile(LazyProgram(f"{motion.name}_for_starts", motion.inputs, outputs, digest, self.program))

    @cached_property
    def _interpreted(self) -> Program:
        return self.program()

    @cached_property
    def by_columns(self) -> bool:
        """Whether Jacobians are found column by column, since a program of all their entries would be long."""
        groups = (self.by_q, self.unknowns[0]), (self.by_v, self.unknowns[1])
        return any(pattern.crowded(len(self.names), len(unknowns)) for pattern, unknowns in groups)

    @cached_property
    def along(self) -> Callable[[Of], Kernel]:
        """Kernels of the values and of their derivative along a direction."""

        @lru_cache(maxsize=2)
        def made(of: Of) -> Kernel:
            motion, size = self.equations.motion, len(self.names)
            direction = Slot("direction", (len(self.unknowns[0 if of == "q" else 1]), 1))
            outputs = Slot("values", (size, 1)), Slot("along", (size, 1))
            digest = f"motion along a direction of {of} 1; {motion.digest}"
            name, make = f"{motion.name}_along_{of}", partial(along_program, motion, of)
            return compile(LazyProgram(name, (*motion.inputs, direction), outputs, digest, make), vectorized=True)

        return made

    @cached_property
    def _idle(self) -> list[Evaluation]:
        """Evaluations whose starts are done."""
        return []

    def take_evaluation(self, given: Given) -> Evaluation:
        """One that is idle, else a new one; for one start at a time, as long as it is not given back."""
        try:  # several threads may ask
            return self._idle.pop().give(*given)
        except IndexError:
            return self.evaluation(given)

    def give_back(self, evaluation: Evaluation) -> None:
        """Leave an evaluation, with the memory of what was solved on it, to later starts."""
        self._idle.append(evaluation)

    def evaluation(self, given: Given) -> Evaluation:
        """Values and Jacobians at coordinates and velocities, all else being given."""
        t, u, p = given
        known = {"t": np.array([t]), "q": self.defaults[0], "v": self.defaults[1], "u": u, "p": p}
        inputs = self.equations.motion.inputs
        if self.by_columns:
            return Evaluation.by_columns(known, inputs, len(self.names), self.along, {"q": self.by_q, "v": self.by_v})
        sizes = [len(self.names), len(self.by_q.rows), len(self.by_v.rows)]
        return Evaluation.at_once(known, inputs, sizes, self.kernel if self.compiled else self._interpreted)

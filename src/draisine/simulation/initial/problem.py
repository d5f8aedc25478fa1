"""The start problem of a set of equations: targets, rows of each level, values with exact Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ArgumentError
from draisine.numerics.number_range import with_number_range
from draisine.program.arguments import number_in, unknown_name
from draisine.program.equations import Equations
from draisine.program.interpreter import dependence, periods
from draisine.program.program import DaeResidual, LazyProgram, Program, Slot
from draisine.results.channel import StateValue
from draisine.simulation.initial.evaluation import Bools, Evaluation, Indices, Pattern, Reals, Variables, along_program
from draisine.simulation.initial.rest_groups import RestRows, RestTable
from draisine.simulation.initial.scales import Scales


@with_number_range
@dataclass(frozen=True)
class InitialGuess:
    """An initial guess for a coordinate or velocity: it changes as little as possible from this value instead of its default.

    It selects one of several solutions, such as elbow up or elbow down.
    """

    value: float


@dataclass(frozen=True)
class Targets:
    """Targets by kind; coordinates and velocities are prescribed, outputs are solved for."""

    coordinates: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, float] = field(default_factory=dict)
    states: Mapping[str, float] = field(default_factory=dict)  # further states
    near: Mapping[str, float] = field(default_factory=dict)  # of coordinates and velocities

    @property
    def state(self) -> bool:
        """Whether `near` is a computed state, without targets beside it."""
        computed = bool(self.near) and all(isinstance(value, StateValue) for value in self.near.values())
        return computed and not (self.coordinates or self.velocities or self.outputs)


def sorted_targets(e: Equations, kinds: Mapping[str, str], targets: Mapping[str, float | InitialGuess]) -> Targets:
    """Targets by kind; unknown names and invalid numbers are refused."""
    found: dict[str, dict[str, float]] = {"coordinates": {}, "velocities": {}, "outputs": {}, "states": {}, "near": {}}
    targets, units = with_states(e, targets), _units(e)
    for name, target in targets.items():
        value = _number(e, units, name, target.value if isinstance(target, InitialGuess) else target)
        if name in e.force_outputs:
            raise ArgumentError(
                f"{e.name}: {name!r} depends on accelerations or forces and cannot be a start target; give targets for "
                "coordinates, velocities or outputs that depend on these alone"
            )
        kind = kinds.get(name)
        if kind is None:
            raise unknown_name(f"coordinate, velocity or output of {e.name}", name, kinds)
        if isinstance(target, StateValue):
            kind, value = ("near", StateValue(value)) if kind in ("coordinates", "velocities") else (kind, value)
        elif isinstance(target, InitialGuess):
            if kind not in ("coordinates", "velocities"):
                raise ArgumentError(
                    f"{e.name}: {name!r} is neither a coordinate nor a velocity and cannot start near {value:g}; give the "
                    f"target {name} = {value:g}, or start near coordinates that give it"
                )
            kind = "near"
        found[kind][name] = value
    return Targets(**found)


def with_states(e: Equations, targets: Mapping[str, Any]) -> dict[str, Any]:
    """A start in which computed values (`StateValue`) are those of states.

    Where they and targets name all coordinates and velocities, other computed values, such as outputs and the time, follow from
    the state and are left out. Otherwise computed values are plain numbers.
    """
    if not any(isinstance(value, StateValue) for value in targets.values()):
        return dict(targets)
    moving = {quantity.name for quantity in (*e.coordinates, *e.velocities)}
    if not moving <= targets.keys():
        return {name: float(value) if isinstance(value, StateValue) else value for name, value in targets.items()}
    states = moving | {s.name for s in e.extra_states}
    return {name: value for name, value in targets.items() if name in states or not isinstance(value, StateValue)}


def plain(e: Equations, targets: Mapping[str, float | str | InitialGuess]) -> dict[str, float | InitialGuess]:
    """Targets as numbers in SI, also those given with a unit; computed values of states remain such."""

    units = _units(e)

    def plain_target(name: str, target: float | str | InitialGuess) -> float | InitialGuess:
        if isinstance(target, InitialGuess):
            return InitialGuess(_number(e, units, name, target.value))
        number = _number(e, units, name, target)
        return StateValue(number) if isinstance(target, StateValue) else number

    return {name: plain_target(name, target) for name, target in with_states(e, targets).items()}


def _units(e: Equations) -> dict[str, str]:
    return {q.name: q.unit for q in (*e.states, *e.velocities, *e.outputs)}


def _number(e: Equations, units: Mapping[str, str], name: str, value: object) -> float:
    # unknown names are refused later
    number = number_in(value, units[name], f"{e.name}: the start's {name}") if name in units else number_in(value)
    if number is None or not np.isfinite(number):
        unit = f" in {units[name]}" if units.get(name) else ""
        raise ArgumentError(f"{e.name}: invalid start target {name} = {value!r}; give a finite number{unit}")
    return number


Given = tuple[float, Reals, Reals]  # time, inputs, parameters


@dataclass(frozen=True, eq=False)
class Assemblies:
    """Coordinates that shift or turn a whole assembly on the ground."""

    count: int
    points: Indices  # rows (coordinate along x, along y, assembly); −1 for no coordinate
    turns: Indices  # rows (first coordinate of a heading, number of its components, assembly)


NO_ASSEMBLIES = Assemblies(0, np.zeros((0, 3), dtype=np.intp), np.zeros((0, 3), dtype=np.intp))


def assemblies_of(e: Equations, by_q: Pattern) -> Assemblies:
    """The trees of bodies on the ground, joined where a constraint connects them; without those tied to other coordinates.

    Contacts that may be open, other than those of wheels, connect nothing.
    """
    loose = {f"{c.name}_{row}" for c in e.unilateral if not c.stands for row in ("normal", "along", "across")}
    index = {q.name: i for i, q in enumerate(e.coordinates)}
    poses = [pose for pose in e.structure.poses if all(name in index for name in pose.coordinates)]
    owner = {index[name]: k for k, pose in enumerate(poses) for name in pose.coordinates}
    tree, fixed = list(range(len(poses))), set[int]()
    for row, constraint in enumerate(e.constraints):
        if constraint.name in loose:
            continue
        connected = {owner.get(int(column), -1) for column in by_q.columns[by_q.rows == row]}
        among = {tree[k] for k in connected if k >= 0}
        if among:
            tree = [min(among) if k in among else k for k in tree]
            if -1 in connected or fixed & among:
                fixed |= {min(among)}
    order = sorted({k for k in tree if k not in {tree[f] for f in fixed}})
    points, turns = list[list[int]](), list[list[int]]()
    for pose, assembly in zip(poses, tree, strict=True):
        if assembly in order:
            number = order.index(assembly)
            points += [[index.get(x, -1), index.get(y, -1), number] for x, y in pose.points]
            turns += [[index[pose.heading[0]], len(pose.heading), number]] if pose.heading else []
    if not order:
        return NO_ASSEMBLIES
    return Assemblies(len(order), *(np.array(rows, dtype=np.intp).reshape(-1, 3) for rows in (points, turns)))


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows of one level: some constraints, then some outputs."""

    labels: tuple[str, ...]
    is_output: Bools  # which rows are outputs
    period: Reals  # of rows that are angles, else 0
    take: Indices  # among all values
    source: Indices  # among the entries of the level's Jacobian
    row: Indices  # of these entries in the dense matrix of the rows
    column: Indices
    pattern: Pattern  # of all values

    def entries(self, values: Indices) -> tuple[Indices, Indices, Indices]:
        """Of some values, −1 for none: entries of the Jacobian, their rows among `values`, and their columns."""
        source, row, column = self.pattern.within(values[values >= 0])
        return source, np.flatnonzero(values >= 0)[row], column


@dataclass(frozen=True, eq=False)
class StartProblem:
    """Equations prepared for consistent starts; keep it to solve for many starts.

    Its programs are compiled and cached on disk. With `compiled=False` they are interpreted, except for column-wise Jacobians.
    `quick`: see `codegen.jit.kernel.compile`.
    """

    equations: Equations
    compiled: bool = True
    quick: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the values: constraints, then outputs, then twists of bodies."""
        constraints = (c.name for c in self.equations.constraints)
        twists = self.twists.output("twists").labels if self.twists is not None else ()
        return (*constraints, *self.equations.motion.output("outputs").labels, *twists)

    @cached_property
    def twists(self) -> Program | None:
        """Twists of bodies, if their coordinates, velocities and parameters are those of the motion."""
        motion, twists = self.equations.motion, self.equations.twists
        fits = twists is not None and all(set(s.labels) <= set(motion.input(s.name).labels) for s in twists.inputs)
        return twists if fits else None

    @cached_property
    def contact_terms(self) -> Kernel:
        """Gaps of contacts that may be open, among what changes of their modes need."""
        assert self.equations.contact_terms is not None
        return compile(self.equations.contact_terms, quick=self.quick)

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
    def kinds(self) -> dict[str, str]:
        """Names of possible targets, and their kind."""
        e = self.equations
        groups = {
            "coordinates": [q.name for q in e.coordinates],
            "velocities": [v.name for v in e.velocities],
            "outputs": list(e.motion.output("outputs").labels),
            "states": [s.name for s in e.extra_states],
        }
        found: dict[str, str] = {}
        for kind, names in groups.items():
            for name in names:
                found.setdefault(name, kind)  # a coordinate before an output of the same name
        return found

    @cached_property
    def output_rows(self) -> dict[str, int]:
        """Row of each output among the values."""
        first = len(self.equations.constraints)
        return {name: first + i for i, name in enumerate(self.equations.motion.output("outputs").labels)}

    @cached_property
    def velocity_dependent(self) -> Bools:
        """Which values depend structurally on velocities; they belong to the velocity level, the others to the position level."""
        found = np.zeros(len(self.names), dtype=bool)
        found[self.by_v.rows] = True
        return found

    @cached_property
    def by_q(self) -> Pattern:
        """The Jacobian by the coordinates, of values that depend on them alone."""
        whole = self._filled("q")
        kept = ~self.velocity_dependent[whole.rows]
        return Pattern(whole.rows[kept], whole.columns[kept])

    @cached_property
    def by_v(self) -> Pattern:
        """The Jacobian by the velocities."""
        return self._filled("v")

    @cached_property
    def periods(self) -> Reals:
        """Of outputs that are angles from `atan2` the period, of all other values 0."""
        found = np.zeros(len(self.names))
        of_outputs = periods(self.equations.motion, "outputs")
        first = len(self.equations.constraints)
        found[first : first + len(of_outputs)] = of_outputs
        return found

    @cached_property
    def assemblies(self) -> Assemblies:
        """Headings and positions on the ground, by the assemblies that constraints connect."""
        return assemblies_of(self.equations, self.by_q)

    @cached_property
    def rest_table(self) -> RestTable:
        """What can be set to rest."""
        first = len(self.names) - self.twists.output("twists").size if self.twists is not None else -1
        velocities = self.equations.velocities or tuple(self.equations.coordinates[i] for i in self.moving)
        return RestTable.of(self.equations, velocities, self.output_rows, first)

    @cached_property
    def moving(self) -> Indices:
        """Which unknowns are velocities: of all velocities, or of a mechanism's unknowns in 0 = F(t, x, ẋ)."""
        e = self.equations
        if isinstance(e.dynamics, DaeResidual):
            return np.flatnonzero(np.array(e.dynamics.orders, dtype=np.intp) == 1)
        return np.arange(len(e.velocities))

    def rests(self, near: Mapping[str, float]) -> bool:
        """Whether velocities of 0 = F are set to rest: not if all of them shall be near given values."""
        return not all(self.unknowns[0][i] in near for i in self.moving)

    @cached_property
    def rest_rows(self) -> Callable[[frozenset[str]], RestRows]:
        """What is set to rest, by the given velocities and outputs that depend on velocities; cached."""

        @lru_cache(maxsize=256)
        def made(given: frozenset[str]) -> RestRows:
            rows = {self.output_rows[name] for name in given if name in self.output_rows}
            pattern, names = (self.by_v, self.unknowns[1]) if self.equations.velocities else (self.by_q, self.unknowns[0])
            used = {int(column) for row, column in zip(pattern.rows, pattern.columns, strict=True) if row in rows}
            used |= {i for i, name in enumerate(names) if name in given}
            found = self.rest_table.rows(given, {k for k, i in enumerate(self.moving) if int(i) in used})
            return replace(found, unknown=np.where(found.unknown < 0, -1, self.moving[found.unknown]))

        return made

    def orders(self, of_unknowns: Indices) -> Indices:
        """The highest order among the unknowns on which each value depends structurally."""
        found = np.zeros(len(self.names), dtype=np.intp)
        np.maximum.at(found, self.by_q.rows, of_unknowns[self.by_q.columns])
        return found

    @cached_property
    def constraints(self) -> dict[str, tuple[int, ...]]:
        """The constraints of each level, by their number."""
        velocity_dependent = self.velocity_dependent[: len(self.equations.constraints)]
        by_level = {"position": ~velocity_dependent, "velocity": velocity_dependent}
        return {level: tuple(int(i) for i in np.flatnonzero(found)) for level, found in by_level.items()}

    @cached_property
    def layout(self) -> Callable[[str, tuple[int, ...], tuple[str, ...]], Layout]:
        """Rows by level, constraints and outputs; cached."""

        @lru_cache(maxsize=256)
        def made(level: str, constraints: tuple[int, ...], outputs: tuple[str, ...]) -> Layout:
            pattern = self.by_q if level == "position" else self.by_v
            take = np.array([*constraints, *(self.output_rows[name] for name in outputs)], dtype=np.intp)
            is_output = np.arange(len(take)) >= len(constraints)
            return Layout(tuple(self.names[i] for i in take), is_output, self.periods[take], take, *pattern.within(take), pattern)

        return made

    def _filled(self, of: str) -> Pattern:
        rows, columns = dependence(self.equations.motion, ("residuals", "outputs"), of)
        if self.twists is not None:
            own, among = dependence(self.twists, ("twists",), of)
            labels = self.equations.motion.input(of).labels
            index = np.array([labels.index(name) for name in self.twists.input(of).labels], dtype=np.int64)
            first = len(self.names) - self.twists.output("twists").size
            rows, columns = np.concatenate([rows, first + own]), np.concatenate([columns, index[among]])
            order = np.lexsort((rows, columns))  # column by column
            rows, columns = rows[order], columns[order]
        return Pattern(rows.astype(np.intp), columns.astype(np.intp))

    def values_program(self) -> Program:
        """The motion with all values in one result, as it stands: what is made of it eliminates common subexpressions."""
        import casadi as ca

        motion, twists = self.equations.motion, self.twists
        symbols = motion.symbols()
        results = dict(zip((s.name for s in motion.outputs), motion.function.call(symbols), strict=True))
        values = [results["residuals"], results["outputs"]]
        if twists is not None:
            given = {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)}
            parts = [
                given[slot.name][0][[given[slot.name][1].index(name) for name in slot.labels]] if slot.size else ca.SX(0, 1)
                for slot in twists.inputs
            ]
            values += twists.function.call(parts)
        inputs = {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)}
        return Program.build(motion.name, inputs, {"values": ca.vertcat(*values)}, shared=True)

    def program(self) -> Program:
        """The values with the entries of their two Jacobians. Common subexpressions are left to the kernel: their elimination
        takes longer than all interpreted evaluations of a start."""
        motion = self.values_program()
        symbols = motion.symbols()
        q, v = (symbols[[s.name for s in motion.inputs].index(name)] for name in ("q", "v"))
        (values,) = motion.function.call(symbols)
        return Program.build(
            f"{motion.name}_for_starts",
            {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)},
            {"values": values, "by_q": self.by_q.entries(values, q), "by_v": self.by_v.entries(values, v)},
            shared=True,
        )

    @cached_property
    def _digest(self) -> str:
        return f"{self.equations.motion.digest} {self.twists.digest if self.twists is not None else ''}"

    @cached_property
    def to_compile(self) -> LazyProgram:
        """The program of `kernel`."""
        motion = self.equations.motion
        sizes = {"values": len(self.names), "by_q": len(self.by_q.rows), "by_v": len(self.by_v.rows)}
        outputs = tuple(Slot(name, (size, 1)) for name, size in sizes.items())
        digest = f"motion with Jacobians for starts 3; {self._digest}"
        return LazyProgram(f"{motion.name}_for_starts", motion.inputs, outputs, digest, self.program)

    @cached_property
    def kernel(self) -> Kernel:
        return compile(self.to_compile, quick=self.quick)

    @cached_property
    def _interpreted(self) -> Program:
        return self.program()

    @cached_property
    def by_columns(self) -> bool:
        """Whether Jacobians are evaluated column by column, because a program of all entries would be long."""
        groups = (self.by_q, self.unknowns[0]), (self.by_v, self.unknowns[1])
        return any(pattern.crowded(len(self.names), len(unknowns)) for pattern, unknowns in groups)

    @cached_property
    def along(self) -> Callable[[Variables], Kernel]:
        """Kernels of the values and their directional derivative."""

        @lru_cache(maxsize=2)
        def made(of: Variables) -> Kernel:
            motion, size = self.equations.motion, len(self.names)
            direction = Slot("direction", (len(self.unknowns[0 if of == "q" else 1]), 1))
            outputs = Slot("values", (size, 1)), Slot("along", (size, 1))
            digest = f"motion along a direction of {of} 2; {self._digest}"
            name = f"{motion.name}_along_{of}"

            def make() -> Program:
                return along_program(self.values_program(), of)

            return compile(LazyProgram(name, (*motion.inputs, direction), outputs, digest, make), vectorized=True)

        return made

    @cached_property
    def _idle(self) -> list[Evaluation]:
        """Evaluations that are free for reuse."""
        return []

    def take_evaluation(self, given: Given) -> Evaluation:
        """An idle evaluation or a new one, for one start until it is given back."""
        try:  # thread-safe
            return self._idle.pop().give(*given)
        except IndexError:
            return self.evaluation(given)

    def give_back(self, evaluation: Evaluation) -> None:
        """Release an evaluation and its memory for later starts."""
        self._idle.append(evaluation)

    def evaluation(self, given: Given) -> Evaluation:
        """Values and Jacobians at coordinates and velocities, for given time, inputs and parameters."""
        t, u, p = given
        known = {"t": np.array([t]), "q": self.defaults[0], "v": self.defaults[1], "u": u, "p": p}
        inputs = self.equations.motion.inputs
        if self.by_columns:
            return Evaluation.by_columns(known, inputs, len(self.names), self.along, {"q": self.by_q, "v": self.by_v})
        sizes = [len(self.names), len(self.by_q.rows), len(self.by_v.rows)]
        return Evaluation.at_once(known, inputs, sizes, self.kernel if self.compiled else self._interpreted)

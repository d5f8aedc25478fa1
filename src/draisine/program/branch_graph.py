"""Graphs in which switching operations keep their branch.

Conditions on one surface (x > 0, abs(x), min(x, 0), …) share one switch, so that crossing it is one event. Values that are
constant within the branches of other switches, such as the comparison in `where(sign(x) > 0, a, b)`, follow these and are no
switches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.program import opcodes as op
from draisine.program.enclosures import BoundsOfNodes
from draisine.program.graph import Graph
from draisine.program.graph_text import text_of
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.sharp_functions import sharp_nodes
from draisine.program.ssa import CONSTANT, INPUT, NUMBERS
from draisine.program.switch import Switch, SwitchKind
from draisine.program.switch_effect import Effects
from draisine.program.table_breaks import Breaks
from draisine.program.tangents import Tangents
from draisine.program.tape import OF_STATE

_TINY = 1e-50  # a comparison with a smaller number is a guard
_FAR = 1e300  # a limit that is never reached
_MOVING = frozenset({"t", "x", "xdot", "z"})  # slots that change within a step
_STATE = _MOVING - {"t"}
NONE = -1  # the branch of what is no switch
_CORNERS = frozenset({op.LT, op.LE, op.FABS, op.FMIN, op.FMAX, op.SQRT, op.HYPOT, op.LOW})  # `abs` is z times its sign
_CONTINUOUS = frozenset({op.FABS, op.FMIN, op.FMAX})


@dataclass
class _Found:
    """A switching function during the analysis."""

    kind: SwitchKind
    argument: int
    branch: int  # the input node of σ
    operations: list[int] = field(default_factory=list)
    operands: tuple[int, ...] = ()  # of the first operation, fixed
    shown: tuple[int, ...] = ()  # the same in the original, for the name
    breaks: tuple[float, ...] = ()
    jump: bool = False
    counted: bool = False  # among those that count, with `jump` as it is there


class BranchGraph:
    """The nodes of a graph with fixed branches. `switches` are those on which the roots depend; their branches are entries of p
    from `parameters` on. `further` nodes are fixed too, but do not count. With `free_kinks`, switches of time alone at which
    nothing jumps are not fixed; `kinks` are their numbers in `every`. `knots` are those of tables of time alone that are curved,
    such as splines: no switches, but they tell where the function can vary. `seams` are conditions of time alone on which the
    roots depend without a jump of their value or slope, such as the ends of a smooth pulse: no switches either."""

    def __init__(
        self, graph: Graph, roots: Sequence[int], parameters: int, further: Sequence[int] = (), free_kinks: bool = False
    ) -> None:
        self.graph, self._roots = graph, tuple(roots)
        self._new: dict[int, int] = {}
        self._slots: list[frozenset[str]] = []  # of each node, the slots on which it depends
        self._found: dict[Any, _Found] = {}
        self._smooth: dict[Any, _Found] = {}  # curved tables of time
        self._guards: set[int] = set()
        self._complete = False  # whether all switches that count are known
        self._bounds = BoundsOfNodes(graph)
        for node in sorted(graph.reached([*roots, *further])):
            self._new[node] = self._fixed(node)
        self.every = [*self._found.values(), *self._smooth.values()]  # inner ones first
        highest = {found.branch: len(found.breaks) if found.kind == SwitchKind.TABLE else 1 for found in self._found.values()}
        self.chosen, inner, alone = self._chosen_for([self._new[node] for node in roots], highest)
        self.parameters = parameters
        self._alone = alone
        self._find_timely()
        self.seams = self._seams_of([self._new[node] for node in roots])
        free = [k for k in self.chosen if k not in inner and free_kinks]
        self.kinks = [k for k in free if self._timely[k] and not self.every[k].jump]
        self.chosen = [k for k in self.chosen if k not in self.kinks]
        self.knots = [k for k, found in enumerate(self.every) if found.branch == NONE and self._timely[k]]
        self._number()
        self._complete = True

    def fix_further(self, nodes: Sequence[int]) -> None:
        """Fix nodes of other programs. Their operations on surfaces of the `switches` have the branches of these; others are
        computed, as they are written."""
        for node in sorted(self.graph.reached(nodes)):
            if node not in self._new:
                self._new[node] = self._fixed(node)
        for found in self._found.values():
            if found.branch not in self._finals:
                self._finals[found.branch] = self._live(found, self._finals)

    def of(self, nodes: Sequence[int]) -> list[int]:
        """The fixed nodes."""
        return [self._final(self._new[node]) for node in nodes]

    # ---------------------------------------------------------------- transformation

    def _fixed(self, node: int) -> int:
        g = self.graph
        operation, operands, detail = g.values[node]
        if operation in (INPUT, CONSTANT, NUMBERS):
            return node
        new = tuple(self._new[o] for o in operands)
        if operation in op.SWITCHING and any(self._depends(o) & _MOVING for o in new):
            replaced = self._switched(node, operation, operands, new, detail)
            if replaced is not None:
                return replaced
        return g.add(operation, new, detail)

    def _switched(self, node: int, operation: int, old: tuple[int, ...], new: tuple[int, ...], detail: Any) -> int | None:
        g = self.graph
        if operation in op.COMPARISONS:
            if any(0.0 < abs(number) <= _TINY for o in new if (number := g.number(o)) is not None):
                self._guards.add(g.add(operation, new))
                return None
            return self._below(operation, old, new)
        if operation in (op.FMIN, op.FMAX):
            first = self._below(operation, old, new if operation == op.FMIN else new[::-1])
            return None if first is None else self._choice(first, *new)
        if operation in (op.FABS, op.SIGN):
            side = self._side(operation, old[0], new[0])
            return None if side is None else side if operation == op.SIGN else g.add(op.MUL, (new[0], side))
        if operation == op.COPYSIGN:
            return self._copysign(old, new)
        if operation in (op.FLOOR, op.CEIL):
            return self._rounded(operation, old, new[0])
        if operation in (op.FMOD, op.REMAINDER):
            return self._remainder(operation, old, new)
        return self._cell(old, new, detail)

    def _below(self, operation: int, old: tuple[int, ...], new: tuple[int, ...]) -> int | None:
        """Whether the first operand is below the second: 0 or 1."""
        argument, sign = self._difference(*new)
        branch = self._sides(operation, argument, new, old)
        if branch is None:
            return None
        return self.graph.add(op.SUB, (self.graph.constant(1.0), branch)) if sign > 0 else branch

    def _side(self, operation: int, old: int, new: int) -> int | None:
        """The sign of an operand: −1 or 1."""
        g = self.graph
        argument, sign = self._difference(new, g.constant(0.0))
        branch = self._sides(operation, argument, (new,), (old,))
        if branch is None:
            return None
        one, double = g.constant(1.0), g.add(op.TWICE, (branch,))
        return g.add(op.SUB, (double, one) if sign > 0 else (one, double))

    def _sides(self, operation: int, argument: int, operands: tuple[int, ...], shown: tuple[int, ...]) -> int | None:
        if any(low >= 0.0 or high <= 0.0 for low, high in (self._bounds.of(argument), self._apart(shown))):
            return None  # never changes its side
        found = self._switch(("sides", argument), SwitchKind.SIDES, argument, operation, operands, shown)
        found.jump |= operation in (op.LT, op.LE, op.SIGN, op.COPYSIGN)
        return found.branch

    def _difference(self, a: int, b: int) -> tuple[int, int]:
        """A node that is ±(a − b), the same for all operations on one surface, and the sign."""
        g = self.graph
        for first, second, sign in ((a, b, 1), (b, a, -1)):
            known = g.find(op.SUB, (first, second))
            if known is not None and ("sides", known) in self._found:
                return known, sign
        for node, other, sign in ((a, b, 1), (b, a, -1)):
            if g.number(other) == 0.0:
                while g.values[node].kind == op.NEG:
                    node, sign = g.values[node].operands[0], -sign
                if g.values[node].kind == op.SUB:
                    argument, inner = self._difference(*g.values[node].operands)
                    return argument, sign * inner
                return node, sign
        if g.find(op.SUB, (a, b)) is None and g.find(op.SUB, (b, a)) is not None:
            return g.add(op.SUB, (b, a)), -1
        return (g.add(op.SUB, (a, b)), 1) if a > b or g.find(op.SUB, (a, b)) is not None else (g.add(op.SUB, (b, a)), -1)

    def _choice(self, condition: int, first: int, second: int) -> int:
        g = self.graph
        other = g.add(op.NOT, (condition,))
        return g.add(op.ADD, (g.add(op.IF_ELSE_ZERO, (condition, first)), g.add(op.IF_ELSE_ZERO, (other, second))))

    def _copysign(self, old: tuple[int, ...], new: tuple[int, ...]) -> int | None:
        g = self.graph
        moving = [bool(self._depends(o) & _MOVING) for o in new]
        size = self._side(op.FABS, old[0], new[0]) if moving[0] else None
        side = self._side(op.COPYSIGN, old[1], new[1]) if moving[1] else None
        if size is None and side is None:
            return None
        absolute = g.add(op.FABS, (new[0],)) if size is None else g.add(op.MUL, (new[0], size))
        return g.add(op.MUL, (absolute, side if side is not None else g.add(op.COPYSIGN, (g.constant(1.0), new[1]))))

    def _rounded(self, operation: int, old: tuple[int, ...], argument: int) -> int | None:
        g = self.graph
        low, high = self._bounds.of(argument)
        if math.floor(low) == math.floor(high) if math.isfinite(low) and math.isfinite(high) else False:
            return None
        found = self._switch(("floor", argument), SwitchKind.FLOOR, argument, operation, (argument,), old)
        found.jump = True
        return found.branch if operation == op.FLOOR else g.add(op.ADD, (found.branch, g.constant(1.0)))

    def _remainder(self, operation: int, old: tuple[int, ...], new: tuple[int, ...]) -> int:
        """a − n b with the integer n of the branch."""
        g = self.graph
        argument = g.add(op.DIV, new)
        kind = SwitchKind.TRUNCATION
        if operation == op.REMAINDER:
            kind, argument = SwitchKind.FLOOR, g.add(op.ADD, (argument, g.constant(0.5)))
        found = self._switch((str(kind), argument), kind, argument, operation, new, old)
        found.jump = True
        return g.add(op.SUB, (new[0], g.add(op.MUL, (found.branch, new[1]))))

    def _cell(self, old: tuple[int, ...], new: tuple[int, ...], breaks: Breaks) -> int | None:
        """The cell of a table: free between two breaks, and continued beyond them."""
        g = self.graph
        knots = g.numbers[g.values[new[0]].detail]
        if breaks.curved and "t" in self._depends(new[1]) and not self._depends(new[1]) & _STATE:
            cell, inner = g.add(op.LOW, new, breaks), tuple(knots[np.isfinite(knots)].tolist())
            self._smooth.setdefault(cell, _Found(SwitchKind.TABLE, new[1], NONE, [op.LOW], (cell,), old[1:], inner))
        if not breaks.cells:
            return None
        key = ("table", new, breaks.cells)
        found = self._switch(key, SwitchKind.TABLE, new[1], op.LOW, new[1:], old[1:])
        found.breaks = tuple(float(knots[cell]) for cell in breaks.cells)
        found.jump |= breaks.jump
        first = np.array([0.0, *breaks.cells])
        last = np.array([*(cell - 1.0 for cell in breaks.cells), knots.size - 2.0])
        lowest = g.add(op.GETNONZEROS_PARAM, (g.vector(first), found.branch))
        if (first == last).all():
            return found.branch if (first == np.arange(first.size)).all() else lowest
        highest = g.add(op.GETNONZEROS_PARAM, (g.vector(last), found.branch))
        return g.add(op.FMIN, (g.add(op.FMAX, (g.add(op.LOW, new, breaks), lowest)), highest))

    def _switch(
        self, key: Any, kind: SwitchKind, argument: int, operation: int, operands: tuple[int, ...], shown: tuple[int, ...]
    ) -> _Found:
        if key not in self._found:
            branch = self.graph.input("branch", len(self._found))
            self._found[key] = _Found(kind, argument, branch, operands=operands, shown=shown)
        found = self._found[key]
        if self._complete and found.branch in self._finals:
            return replace(found)  # what others find there does not change it
        found.operations.append(operation)
        return found

    # ---------------------------------------------------------------- dependence

    def _depends(self, node: int) -> frozenset[str]:
        """The slots on which a node depends; "branch" is one of them."""
        for k in range(len(self._slots), node + 1):
            operation, operands, detail = self.graph.values[k]
            own = frozenset({detail[0]}) if operation == INPUT else frozenset()
            self._slots.append(own.union(*(self._slots[o] for o in operands)))
        return self._slots[node]

    def depends_on_slot(self, nodes: Sequence[int], slot: str) -> bool:
        """Whether one of the nodes depends on a slot."""
        return any(slot in self._depends(node) for node in nodes)

    def _apart(self, operands: tuple[int, ...]) -> tuple[float, float]:
        """Bounds of an operand, or of the difference of two."""
        low, high = self._bounds.of(operands[0])
        if len(operands) == 1:
            return low, high
        down, up = self._bounds.of(operands[1])
        return low - up, high - down

    # ---------------------------------------------------------------- the switches that count

    def _chosen_for(self, roots: Sequence[int], highest: dict[int, int]) -> tuple[list[int], set[int], set[int]]:
        """The switches on which the roots depend, or the arguments of such switches: with fixed branches these are smooth. The
        latter ones are inner: where the argument has a kink, the motion along its surface jumps. Third, those that are inner
        alone: the roots do not depend on them."""
        chosen, inner = set[int](), set[int]()
        targets, within, outer = list(roots), False, set[int]()
        while targets:
            reached = self.graph.reached(targets, lambda node: node in self._guards)
            effects = Effects(self.graph, targets, highest)
            found = [k for k, one in enumerate(self.every) if one.branch in reached and self._has_effect(one, effects)]
            targets = [self.every[k].argument for k in found if k not in (inner if within else chosen)]
            chosen |= set(found)
            inner |= set(found) if within else set()
            outer = outer if within else set(found)
            within = True
        return sorted(chosen), inner, inner - outer

    def _has_effect(self, found: _Found, effects: Effects) -> bool:
        """Whether value or first derivative of a root jump; notes which."""
        if found.kind != SwitchKind.SIDES:
            return True
        own = effects.of(found.argument, found.branch)
        found.jump = own.value or (found.jump and own.slope and found.counted)
        found.counted |= own.slope
        return own.slope

    def _find_timely(self) -> None:
        """Which switches depend on time alone."""
        self._timely: dict[int, bool] = {}
        for k, found in enumerate(self.every):
            reached = self.graph.reached([found.argument])
            inner = [b for b in range(k) if self.every[b].branch in reached]
            self._timely[k] = not self._depends(found.argument) & _STATE and all(self._timely[b] for b in inner)

    def _seams_of(self, roots: Sequence[int]) -> list[int]:
        """Conditions of time alone on which the roots depend, and which are not among the switches that count."""
        if len(self.chosen) == len(self.every):
            return []
        reached = self.graph.reached(roots, lambda node: node in self._guards)
        return [k for k, one in enumerate(self.every) if one.branch in reached and self._timely[k] and k not in self.chosen]

    @property
    def stops(self) -> list[int]:
        """The conditions of time alone that no step of a method crosses although nothing jumps there: what is written with them,
        such as a pulse between two of them, may be nowhere else. Tables are none of them: they have many knots."""
        return [*self.seams, *(k for k in self.kinks if self.every[k].kind == SwitchKind.SIDES)]

    @property
    def inner_alone(self) -> frozenset[int]:
        """The numbers of the `switches` on which only arguments of others depend."""
        return frozenset(number for number, k in enumerate(self.chosen) if k in self._alone)

    def functions_of_time(self) -> dict[int, bool]:
        """The nodes by which kinks that are not fixed and tables of time enter the results: functions of time, parameters and
        branches; of each, whether a curved table is in it."""
        g, roots = self.graph, self.of(self._roots)
        cells = {self._final(self.every[k].operands[0]) for k in self.knots}
        reached = g.reached(roots)
        # the cell of a table of time and state is no function of time by itself
        cells -= {o for node in reached if self._depends(node) & _STATE for o in g.values[node].operands}
        free = {self._finals[self.every[k].branch] for k in self.kinks}
        kinked, smooth = self._descendants(reached, free), self._descendants(reached, cells)
        timely = {node for node in kinked | smooth if not self._depends(node) & _STATE}
        used = {o for node in reached if node not in timely for o in g.values[node].operands if o in timely}
        return {node: node in smooth for node in sorted(used | (timely & set(roots)))}

    @cached_property
    def sharp_functions(self) -> tuple[int, ...]:
        """Functions of time, parameters and branches by which the results may vary suddenly, see `sharp_functions`."""

        def order(place: tuple[str, int]) -> float:
            slot, entry = place
            if slot == "t" or (slot == "p" and entry >= self.parameters and self.switches[entry - self.parameters].time_only):
                return 1.0
            return 0.0 if slot == "u" or (slot == "p" and entry < self.parameters) else OF_STATE

        return tuple(sharp_nodes(self.graph, self.of(self._roots), order))

    def _descendants(self, nodes: set[int], seeds: set[int]) -> set[int]:
        """Those of the nodes that depend on one of the seeds, these included."""
        found: set[int] = set()
        for node in sorted(nodes):
            if node in seeds or any(o in found for o in self.graph.values[node].operands):
                found.add(node)
        return found

    def _number(self) -> None:
        """Branches of the chosen switches become entries of p; the others, on which only arguments depend, are computed."""
        g = self.graph
        self._finals: dict[int, int] = {}
        for number, k in enumerate(self.chosen):
            self._finals[self.every[k].branch] = g.input("p", self.parameters + number)
        for k, found in enumerate(self.every):
            if k not in self.chosen and found.branch != NONE:
                self._finals[found.branch] = self._live(found, self._finals)
        self.switches = tuple(self._switch_of(number, self.every[k], self._timely[k]) for number, k in enumerate(self.chosen))

    def _live(self, found: _Found, finals: dict[int, int]) -> int:
        """The branch as a function of the argument."""
        g, z = self.graph, self._final(found.argument, finals)
        zero = g.constant(0.0)
        if found.kind == SwitchKind.SIDES:
            if set(found.operations) == {op.SIGN}:  # ½ at zero
                return g.add(op.MUL, (g.constant(0.5), g.add(op.ADD, (g.constant(1.0), g.add(op.SIGN, (z,))))))
            return g.add(op.LE if self._true_at_zero(found) else op.LT, (zero, z))
        if found.kind == SwitchKind.FLOOR:
            return g.add(op.FLOOR, (z,))
        if found.kind == SwitchKind.TRUNCATION:
            return self._choice(g.add(op.LT, (z, zero)), g.add(op.CEIL, (z,)), g.add(op.FLOOR, (z,)))
        ends = np.array([-np.inf, *found.breaks, np.inf])
        return g.add(op.LOW, (g.vector(ends), z), Breaks((), False))

    def _final(self, node: int, finals: dict[int, int] | None = None) -> int:
        """A node with the final form of all branches; `finals` are those known already."""
        g, finals = self.graph, self._finals if finals is None else finals
        for k in sorted(g.reached([node], lambda n: n in finals)):
            if k not in finals:
                operation, operands, detail = g.values[k]
                branch = self._branch_at(operands) if finals is self._finals and operation in (op.EQ, op.NE) else None
                if branch is not None:  # inside a branch the argument is not zero, unless it stays there
                    stays = g.add(op.EQ, (branch, g.constant(0.5)))
                    finals[k] = stays if operation == op.EQ else g.add(op.NOT, (stays,))
                else:
                    finals[k] = g.add(operation, tuple(finals[o] for o in operands), detail) if operands else k
        return finals[node]

    def zeros(self) -> list[tuple[str, int]]:
        """Names and nodes of functions that are zero where a branch of one of the `switches` changes. No branch is fixed."""
        return [row for rows in self.zeros_by_switch() for row in rows]

    def zeros_by_switch(self) -> list[list[tuple[str, int]]]:
        """The same for each of the `switches`: a table has one function for each knot."""
        g, live = self.graph, dict[int, int]()
        for found in self.every:
            if found.branch != NONE:
                live[found.branch] = self._live(found, live)
        rows: list[list[tuple[str, int]]] = []
        for switch, k in zip(self.switches, self.chosen, strict=True):
            z = self._final(self.every[k].argument, live)
            if switch.kind == SwitchKind.SIDES:
                rows.append([(switch.name, z)])
            elif switch.kind == SwitchKind.TABLE:
                limits = switch.breaks
                rows.append([(f"{switch.name} at {limit:g}", g.add(op.SUB, (z, g.constant(limit)))) for limit in limits])
            else:
                rows.append([(switch.name, g.add(op.SIN, (g.add(op.MUL, (g.constant(math.pi), z)),)))])
        return rows

    def conditions_of(self, number: int) -> list[int]:
        """Nodes that change their sign where a condition of the branch of a switch changes: in where(floor(x/3) > 70, a, b) most
        steps of `floor` have no effect. No branch is fixed."""
        g, live, branch = self.graph, dict[int, int](), self.every[self.chosen[number]].branch
        for found in self.every:
            if found.branch != NONE:
                live[found.branch] = self._live(found, live)
        rows: list[int] = []
        for node in sorted(g.reached([self._new[root] for root in self._roots])):
            operation, operands, _ = g.values[node]
            if operation not in op.SWITCHING or self._depends(node) & _MOVING or branch not in g.reached([node]):
                continue
            zero = g.constant(0.0)
            if operation in op.COMPARISONS or operation in (op.FMIN, op.FMAX):
                pairs = [operands, operands[::-1]]
            elif operation in (op.FABS, op.SIGN):
                pairs = [(operands[0], zero), (zero, operands[0])]
            else:
                continue
            conditions = [self._final(g.add(op.LT, pair), live) for pair in pairs]
            rows += [g.add(op.SUB, (condition, g.constant(0.5))) for condition in conditions]
        return rows

    def _branch_at(self, operands: tuple[int, ...]) -> int | None:
        """The branch of the switch on whose surface two operands are equal."""
        found = self._found.get(("sides", self._difference(*operands)[0]))
        chosen = found is not None and any(found is self.every[k] for k in self.chosen)
        return self._finals[found.branch] if found is not None and chosen else None

    def _switch_of(self, number: int, found: _Found, timely: bool) -> Switch:
        only_sign = set(found.operations) == {op.SIGN}
        at_zero = 0.5 if only_sign else float(self._true_at_zero(found))
        return Switch(
            text_of(self.graph, found.operations[0], found.shown, number),
            found.kind,
            found.jump,
            timely,
            found.breaks,
            at_zero,
            continuous=_CONTINUOUS.issuperset(found.operations),
        )

    def _true_at_zero(self, found: _Found) -> bool:
        if found.kind == SwitchKind.FLOOR:
            return found.operations[0] == op.CEIL
        if found.operations[0] not in op.COMPARISONS:
            return False
        _, sign = self._difference(*found.operands)
        holds = found.operations[0] == op.LE  # the comparison at equality
        return not holds if sign > 0 else holds

    def timed(self, k: int) -> Switch:
        """A switch of time alone, one of `every`."""
        return self._switch_of(k, self.every[k], True)

    def argument(self, number: int) -> int:
        """The node of a switch's argument."""
        return self._final(self.every[self.chosen[number]].argument)

    def has_corners(self, number: int) -> bool:
        """Whether the argument of a switch has operations that make corners, sharp or rounded, within a branch."""
        g = self.graph
        kinds = ((g.values[node].kind, node) for node in g.reached([self.argument(number)]))
        return any(kind in _CORNERS and self._depends(node) & _MOVING for kind, node in kinds)

    def margin(self, number: int, step: int) -> int:
        """The node of a margin: positive inside the branch."""
        g, switch, z = self.graph, self.switches[number], self.argument(number)
        branch = g.input("p", self.parameters + number)
        one = g.constant(1.0)
        if switch.kind == SwitchKind.SIDES:
            side = g.add(op.SUB, (g.add(op.TWICE, (branch,)), one))
            row = g.add(op.MUL, (side, z))
            if switch.at_zero != 0.5:
                return row
            rest = g.add(op.SUB, (one, g.add(op.SQ, (side,))))  # 1 if the switch stays on zero
            return g.add(op.SUB, (row, g.add(op.MUL, (rest, g.add(op.FABS, (z,))))))
        if switch.kind == SwitchKind.TABLE:
            ends = (-_FAR, *switch.breaks) if step < 0 else (*switch.breaks, _FAR)
            limit = g.add(op.GETNONZEROS_PARAM, (g.vector(np.array(ends)), branch))
        elif switch.kind == SwitchKind.FLOOR:
            limit = branch if step < 0 else g.add(op.ADD, (branch, one))
        else:
            zero = g.constant(0.0)
            outer = (op.SUB, g.add(op.LE, (branch, zero))) if step < 0 else (op.ADD, g.add(op.LE, (zero, branch)))
            limit = g.add(outer[0], (branch, outer[1]))
        return g.add(op.SUB, (z, limit) if step < 0 else (limit, z))

    # ---------------------------------------------------------------- derivatives

    def seeds(self, dynamics: Program | LinearSolveProgram | DaeResidual, results: dict[str, list[int]]) -> dict[int, int]:
        """Derivatives of the inputs along the motion."""
        g = self.graph
        seeds = {g.input("t", 0): g.constant(1.0)}
        if isinstance(dynamics, DaeResidual):
            size = dynamics.size
            seeds |= {g.input("x", i): g.input("xdot", i) for i in range(size)}
            return seeds | {g.input("xdot", i): g.constant(math.nan) for i in range(size)}
        seeds |= {g.input("x", i): node for i, node in enumerate(self.of(results["xdot"]))}
        if isinstance(dynamics, LinearSolveProgram):
            seeds |= {g.input("z", i): g.constant(math.nan) for i in range(dynamics.size)}
        return seeds

    def rate(self, number: int, derivatives: Tangents) -> int:
        """The node of an argument's rate."""
        found = derivatives.of(self.argument(number))
        return self.graph.constant(0.0) if found is None else found

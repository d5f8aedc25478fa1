"""Programs as one graph of shared values: for analyses and transformations that need no CasADi.

Equal values of several programs are one node, so that a condition found in two programs is known to be the same. Tables and
called functions that contain a switching operation are inlined; others remain calls. `emit` writes results as a program again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from draisine.program import opcodes as op
from draisine.program.arithmetic import Operations
from draisine.program.casadi_functions import TapeCode
from draisine.program.interpreter import run_tape
from draisine.program.program import Program, Slot
from draisine.program.ssa import CALL, CONSTANT, INPUT, NUMBERS, RESULT, SSA
from draisine.program.table_breaks import Breaks, breaks_of
from draisine.program.tape import Callee, Instruction

if TYPE_CHECKING:
    pass


@dataclass
class Graph(SSA):
    """Values in order of computation; operands precede the values that use them. Inputs are known by slot name and entry."""

    labels: dict[tuple[str, int], str] = field(default_factory=dict)  # of inputs, by slot and entry

    def input(self, slot: str, entry: int) -> int:
        return self.add(INPUT, (), (slot, entry))

    def operation(self, operation: int, operands: tuple[int, ...], detail: Any = None) -> int:
        """Operations as they stand on the tape, searches in tables with their breaks."""
        return operands[0] if operation in op.COPIES else self.add(operation, operands, detail)

    def inlines(self, callee: Callee) -> bool:
        return (callee.scalar or callee.code.can_switch) and not callee.is_nearest_point

    def details(self, callee: Callee) -> Mapping[int, Breaks]:
        return breaks_of(callee) if callee.scalar else {}

    def value(self, node: int, operands: Sequence[Any], table: Operations) -> Any:
        """The value of an operation, from the values of its operands."""
        operation, _, detail = self.values[node]
        if operation == CALL:
            callee = self.callees[detail]
            begins = callee.input_offsets
            slots = [operands[a:b] for a, b in pairwise(begins)]
            return [entry for column in run_tape(callee.tape, slots, callee.output_sizes, table) for entry in column]
        return operands[0][detail] if operation == RESULT else table[operation](*operands)

    # ---------------------------------------------------------------- reading programs

    def read(self, program: Program) -> dict[str, list[int]]:
        """The nodes of all results of a program, whose inputs are known by the names of their slots."""
        names = [slot.name for slot in program.inputs]
        self.labels |= {(slot.name, k): label for slot in program.inputs for k, label in enumerate(slot.labels)}
        results = {slot.name: [self.constant(0.0)] * slot.size for slot in program.outputs}
        outputs = [slot.name for slot in program.outputs]
        for slot, entry, node in self.run(program.tape, lambda slot, entry: self.input(names[slot], entry)):
            results[outputs[slot]][entry] = node
        return results

    # ---------------------------------------------------------------- writing programs

    def reached(self, roots: Iterable[int], stop: Callable[[int], bool] = lambda node: False) -> set[int]:
        """The nodes on which the roots depend, themselves included; the operands of nodes for which `stop` holds do not count."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                if not stop(node):
                    waiting.extend(self.values[node].operands)
        return found

    def emit(self, name: str, inputs: Sequence[Slot], outputs: Sequence[tuple[Slot, Sequence[int]]]) -> Program:
        """The program of results: pairs of a slot and the nodes of its entries."""
        place = {slot.name: i for i, slot in enumerate(inputs)}
        lines: list[Instruction] = []
        work: dict[int, int] = {}
        results: dict[int, list[int]] = {}  # of calls, by their results
        needed = sorted(self.reached(node for _, nodes in outputs for node in nodes))
        for k in needed:
            operation, operands, detail = self.values[k]
            work[k] = len(work)
            if operation == INPUT:
                lines.append(Instruction(op.INPUT, (place[detail[0]], detail[1]), (work[k],)))
            elif operation == CONSTANT:
                lines.append(Instruction(op.CONST, (), (work[k],), float.fromhex(detail)))
            elif operation == NUMBERS:
                lines.append(Instruction(op.CONST, (), (work[k],), numbers=self.numbers[detail]))
            elif operation == CALL:
                callee = self.callees[detail]
                results[k] = [-1] * callee.output_offsets[-1]
                lines.append(Instruction(op.CALL, tuple(work[i] for i in operands), (k,), callee=callee))
            elif operation == RESULT:
                results[operands[0]][detail] = work[k]
            else:
                lines.append(Instruction(operation, tuple(work[i] for i in operands), (work[k],)))
        lines = [
            Instruction(op.CALL, line.inputs, tuple(results[line.outputs[0]]), callee=line.callee)
            if line.operation == op.CALL
            else line
            for line in lines
        ]
        for slot, (_, nodes) in enumerate(outputs):
            lines += [Instruction(op.OUTPUT, (work[node],), (slot, entry)) for entry, node in enumerate(nodes)]
        slots = tuple(slot for slot, _ in outputs)
        code = TapeCode(name, tuple(lines), tuple(s.shape for s in inputs), tuple(s.shape for s in slots))
        return Program(name, tuple(inputs), slots, code)


# --------------------------------------------------------------------------------------------------- code from a tape

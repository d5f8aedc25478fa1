"""Programs and equations as bytes: for the store on disk, and for other machines.

The bytes are a line that says what they are, a checksum, a header in JSON (names, slots, what is made of what) and parts, each
compressed by itself: the tape of every straight line in JSON, and CasADi's own text of it. A part is read when somebody asks for
it, so that whoever finds the machine code of a program in the cache reads neither, and CasADi is imported only by those who
differentiate. Nothing in the bytes is executed on reading.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ArgumentError, DataError
from draisine.program import opcodes as op
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Constraint, Equations, Event, Kind, Quantity, RunLimits
from draisine.program.linear_solve import LinearSolveProgram, Pattern, Solver
from draisine.program.program import Program, Slot
from draisine.program.tape import Callee, Code, Instruction, Numbers, Tape

if TYPE_CHECKING:
    import casadi as ca

Portable = Program | LinearSolveProgram | DaeResidual | Equations

_HEAD = b"draisine program 2\n"
_CHECK = 32  # bytes of SHA-256
_LENGTH = 8  # bytes that tell the length of the header
_NOT_KEPT = frozenset({"with_independent"})  # of equations: a function of its maker's
_QUANTITIES = ("coordinates", "velocities", "inputs", "parameters", "multipliers", "outputs", "extra_states")
_RECORDS: dict[str, type[Any]] = {**dict.fromkeys(_QUANTITIES, Quantity), "constraints": Constraint, "event_list": Event}
_PROGRAMS = ("dynamics", "report", "motion", "project", "monitor", "events", "inverse_dynamics", "causes")


def to_bytes(what: Portable, alternates: bool = False) -> bytes:
    """A program, or equations with all their programs, as bytes.

    Equations keep their other choices of velocities with `alternates`, which derives them all; without, equations that come back
    from bytes have no other choices.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> norm2 = Program.build("norm2", {"x": (x, ("a", "b"))}, {"y": ca.sumsqr(x)})
    >>> again = from_bytes(to_bytes(norm2))
    >>> again.digest == norm2.digest, again.tape == norm2.tape, float(again([3.0, 4.0])[0][0])
    (True, True, 25.0)
    """
    writer = _Writer()
    header: dict[str, Any] = {"what": writer.any(what), "others": [], "callees": writer.callees}
    if isinstance(what, Equations) and alternates and what.with_independent is not None:
        header["others"] = [[list(choice), writer.any(what.with_independent(choice))] for choice in what.alternates]
    header["parts"] = [len(part) for part in writer.parts]
    text = zlib.compress(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode(), 1)
    content = len(text).to_bytes(_LENGTH, "little") + text + b"".join(writer.parts)
    return _HEAD + hashlib.sha256(content).digest() + content


def from_bytes(data: bytes) -> Any:
    """What `to_bytes` was given; `DataError` if the bytes are damaged or of another kind.

    Programs have the same digest as those they were made from, so that compiled code is found again.
    """
    content = data[len(_HEAD) + _CHECK :]
    if not data.startswith(_HEAD):
        raise DataError(f"these bytes are no program of this version of draisine; they begin with {data[: len(_HEAD)]!r}")
    if data[len(_HEAD) : len(_HEAD) + _CHECK] != hashlib.sha256(content).digest():
        raise DataError("these bytes are damaged: their checksum is another; send or store them anew")
    begin = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    try:
        header = json.loads(zlib.decompress(content[_LENGTH:begin]))
        reader = _Reader(content, begin, header["parts"], header["callees"])
        made = reader.any(header["what"])
        others = {tuple(choice): reader.any(equations) for choice, equations in header["others"]}
    except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
        raise DataError(f"these bytes have the right checksum but are no program: {error!r}") from error
    return _with_others(made, others) if others else made


def _with_others(equations: Equations, others: dict[tuple[str, ...], Equations]) -> Equations:
    """Equations that know their other choices of velocities by heart."""
    known: dict[tuple[str, ...], Equations] = {}

    def choose(choice: tuple[str, ...]) -> Equations:
        return known[tuple(choice)]

    for made in (equations, *others.values()):
        known[made.independent] = replace(made, with_independent=choose)
    return known[equations.independent]


# ------------------------------------------------------------------------------------------------------------ writing


@dataclass
class _Writer:
    """Parts and callees so far; a callee that is met again is written once."""

    parts: list[bytes] = field(default_factory=list)
    callees: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    def any(self, what: Portable | None) -> dict[str, Any] | None:
        match what:
            case None:
                return None
            case Program():
                slots = [[_slot(s) for s in side] for side in (what.inputs, what.outputs)]
                return {"kind": "program", "name": what.name, "slots": slots, "code": self.code(what.code), "digest": what.digest}
            case LinearSolveProgram():
                names = ("system", "after", "further", "start")
                made = {"kind": "solved", "name": what.name, "solver": str(what.solver), "sparse": what.sparse}
                pattern = None if what.pattern is None else [what.pattern.size, what.pattern.rows, what.pattern.columns]
                return {**made, "pattern": pattern, **{name: self.any(getattr(what, name)) for name in names}}
            case DaeResidual():
                made = {"kind": "implicit", "name": what.name, "residual": self.any(what.residual), "index": what.index}
                places = [a.tolist() for a in what.pattern]
                known = {"jacobian": self.any(what.jacobian), "pattern": places, "differential": what.differential}
                return {**made, "orders": what.orders, "known": known}
            case Equations():
                return self.equations(what)
        raise ArgumentError(f"{type(what).__name__} has no portable form; give a Program, Solved, Implicit or Equations")

    def equations(self, e: Equations) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "equations"}
        for entry in fields(e):
            value = getattr(e, entry.name)
            if entry.name in _PROGRAMS:
                made[entry.name] = self.any(value)
            elif entry.name in _RECORDS:
                made[entry.name] = [[getattr(record, f.name) for f in fields(record)] for record in value]
            elif entry.name == "limits":
                made[entry.name] = [value.condition, value.residual, value.projections]
            elif entry.name == "force_outputs":
                made[entry.name] = sorted(value)
            elif entry.name not in _NOT_KEPT:
                made[entry.name] = value
        return made

    def code(self, code: Code) -> dict[str, Any]:
        tape = zlib.compress(json.dumps(self._tape(code.tape), separators=(",", ":")).encode(), 1)
        text = code.text_part if isinstance(code, StoredCode) else zlib.compress(code.function.serialize().encode(), 1)
        self.parts += [tape, text]
        return {"part": len(self.parts) - 2, "fingerprint": code.fingerprint, "operations": code.operations}

    def _tape(self, tape: Tape) -> list[Any]:
        lines: list[Any] = []
        for line in tape:
            made: list[Any] = [line.operation, line.inputs, line.outputs]
            if isinstance(line, Numbers):
                made.append(line.numbers.tolist())
            elif line.operation == op.CONST:
                made.append(line.constant)
            elif line.callee is not None:
                made.append(self._callee(line.callee))
            lines.append(made)
        return lines

    def _callee(self, callee: Callee) -> int:
        if callee.key not in self._known:
            made = {"name": callee.name, "reads": callee.reads, "gives": callee.gives, "scalar": callee.scalar}
            made["code"] = self.code(callee.code)
            self._known[callee.key] = len(self.callees)
            self.callees.append(made)
        return self._known[callee.key]


def _slot(slot: Slot) -> list[Any]:
    return [slot.name, slot.shape, slot.labels, slot.units]


# ------------------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True, eq=False)
class StoredCode:
    """Code that is read from bytes when somebody asks for it."""

    tape_part: bytes = field(repr=False)
    text_part: bytes = field(repr=False)
    fingerprint: str
    operations: int
    callee: Callable[[int], Callee] = field(repr=False)

    @cached_property
    def tape(self) -> Tape:
        return tuple(self._line(*line) for line in json.loads(zlib.decompress(self.tape_part)))

    @cached_property
    def function(self) -> ca.Function:
        import casadi as ca

        text = zlib.decompress(self.text_part).decode()
        try:
            return ca.Function.deserialize(text)
        except RuntimeError as error:
            raise DataError(
                f"CasADi {ca.CasadiMeta.version()} cannot read this program, which another version wrote; use one version "
                f"of CasADi on all machines ({str(error).strip().splitlines()[-1]})"
            ) from error

    def _line(self, operation: int, reads: list[int], writes: list[int], *more: Any) -> Instruction:
        ins, outs = tuple(reads), tuple(writes)
        if operation == op.CALL:
            return Instruction(operation, ins, outs, callee=self.callee(more[0]))
        if operation != op.CONST:
            return Instruction(operation, ins, outs)
        if isinstance(more[0], list):
            return Numbers(operation, ins, outs, numbers=np.array(more[0], dtype=float))
        return Instruction(operation, ins, outs, float(more[0]))


class _Reader:
    def __init__(self, content: bytes, begin: int, sizes: list[int], callees: list[dict[str, Any]]) -> None:
        ends = np.cumsum([begin, *sizes]).tolist()
        if ends[-1] != len(content):
            raise ArgumentError(f"parts of {ends[-1]} bytes are announced, {len(content)} are there")
        self._parts = [content[a:b] for a, b in pairwise(ends)]
        self._callees = callees
        self._known: dict[int, Callee] = {}

    def any(self, header: Mapping[str, Any] | None) -> Any:
        match header:
            case None:
                return None
            case {"kind": "program"}:
                return self.program(header)
            case {"kind": "solved"}:
                return self.solved(header)
            case {"kind": "implicit"}:
                return self.implicit(header)
            case {"kind": "equations"}:
                return self.equations(header)
        raise ArgumentError(f"nothing of the kind {header.get('kind')!r} is known")

    def program(self, header: Mapping[str, Any]) -> Program:
        inputs, outputs = (
            tuple(Slot(name, (shape[0], shape[1]), tuple(labels), tuple(units)) for name, shape, labels, units in side)
            for side in header["slots"]
        )
        program = Program(header["name"], inputs, outputs, self.code(header["code"]))
        vars(program)["digest"] = header["digest"]
        return program

    def solved(self, header: Mapping[str, Any]) -> LinearSolveProgram:
        places = header["pattern"]
        pattern = None if places is None else Pattern(places[0], tuple(places[1]), tuple(places[2]))
        parts = {name: self.any(header[name]) for name in ("system", "after", "further", "start")}
        solved = LinearSolveProgram(header["name"], **parts, pattern=pattern, solver=Solver(header["solver"]))
        vars(solved)["sparse"] = bool(header["sparse"])  # found out by CasADi
        return solved

    def implicit(self, header: Mapping[str, Any]) -> DaeResidual:
        made = DaeResidual(header["name"], self.any(header["residual"]), tuple(header["index"]), tuple(header["orders"]))
        known = header["known"]  # derivatives, which CasADi makes
        rows, columns = (np.array(a, dtype=np.int64) for a in known["pattern"])
        vars(made).update(
            jacobian=self.any(known["jacobian"]),
            pattern=(rows, columns),
            differential=tuple(bool(d) for d in known["differential"]),
        )
        return made

    def equations(self, header: Mapping[str, Any]) -> Equations:
        made: dict[str, Any] = {name: value for name, value in header.items() if name != "kind"}
        for name, record in _RECORDS.items():
            made[name] = tuple(record(*values) for values in header[name])
        made["constraints"] = tuple(replace(c, kind=Kind(c.kind)) for c in made["constraints"])
        for name in _PROGRAMS:
            made[name] = self.any(header[name])
        made["force_outputs"] = frozenset(header["force_outputs"])
        made["limits"] = RunLimits(*header["limits"])
        for name in ("independent", "notes", "warnings"):
            made[name] = tuple(header[name])
        for name in ("quaternions", "alternates"):
            made[name] = tuple(tuple(names) for names in header[name])
        return Equations(**made)

    def code(self, header: Mapping[str, Any]) -> StoredCode:
        first = int(header["part"])
        tape, text = self._parts[first : first + 2]
        return StoredCode(tape, text, str(header["fingerprint"]), int(header["operations"]), self.callee)

    def callee(self, number: int) -> Callee:
        if number not in self._known:
            header = self._callees[number]
            code = self.code(header["code"])
            reads, gives = (tuple(int(n) for n in header[name]) for name in ("reads", "gives"))
            self._known[number] = Callee(header["name"], reads, gives, code, code.fingerprint, bool(header["scalar"]))
        return self._known[number]

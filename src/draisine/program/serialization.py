"""Serialization of programs and equations, for the cache on disk and for other processes and machines.

Layout: a line with the format, a checksum, a header in JSON (names, slots, structure) and parts, each compressed separately: the
tape of every straight-line program in JSON, and CasADi's own serialization of it. A part is read when it is first needed: where
the machine code is in the cache neither is read, and CasADi is imported only for derivatives. Reading executes nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from draisine.errors import ArgumentError, DataError
from draisine.program import opcodes as op
from draisine.program.casadi_functions import CasadiCode
from draisine.program.digest import SIZE, digest_of
from draisine.program.linear_solve import Condensed, LinearSolveProgram, Pattern, Solver
from draisine.program.program import DaeResidual, Program, Slot
from draisine.program.tape import Callee, Code, Instruction, Tape

if TYPE_CHECKING:
    import casadi as ca

Header = dict[str, Any]  # JSON data

_HEAD = b"draisine program 7\n"
_CONDENSED = ("system", "start", "expansion")
_CHECK = SIZE  # bytes of the checksum
_LENGTH = 8  # bytes of the header's length


class Format(NamedTuple):
    """How objects that consist of programs are stored. `write` and `read` get the functions that store and restore a program."""

    of: type
    write: Callable[[Any, Callable[[Any], Header | None]], Header]
    read: Callable[[Header, Callable[[Header | None], Any]], Any]


_FORMATS: dict[str, Format] = {}


def register(kind: str, form: Format) -> None:
    """Add a kind of object; `draisine.program.equations` adds `Equations`."""
    _FORMATS[kind] = form


def to_bytes(what: Any, alternates: bool = False) -> bytes:
    """A `Program`, `LinearSolveProgram`, `DaeResidual` or `Equations` as bytes.

    With `alternates`, equations are stored with their other choices of independent velocities, all of which are derived for
    that; without, equations restored from bytes have no other choices.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> norm2 = Program.build("norm2", {"x": (x, ("a", "b"))}, {"y": ca.sumsqr(x)})
    >>> again = from_bytes(to_bytes(norm2))
    >>> again.digest == norm2.digest, again.tape == norm2.tape, float(again([3.0, 4.0])[0][0])
    (True, True, 25.0)
    """
    writer = _Writer()
    header: Header = {"what": writer.any(what), "others": [], "callees": writer.callees}
    choose = getattr(what, "with_independent", None)
    if alternates and choose is not None:
        header["others"] = [[list(choice), writer.any(choose(choice))] for choice in what.alternates]
    header["parts"] = [len(part) for part in writer.parts]
    text = zlib.compress(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode(), 1)
    content = len(text).to_bytes(_LENGTH, "little") + text + b"".join(writer.parts)
    return _HEAD + digest_of(content).digest() + content


def from_bytes(data: bytes) -> Any:
    """The object that `to_bytes` stored; `DataError` if the bytes are damaged or hold something else.

    A restored program has the digest of the original, so its compiled code is found in the cache.
    """
    content = data[len(_HEAD) + _CHECK :]
    if not data.startswith(_HEAD):
        raise DataError(f"not a program stored by this version of draisine: the bytes begin with {data[: len(_HEAD)]!r}")
    if data[len(_HEAD) : len(_HEAD) + _CHECK] != digest_of(content).digest():
        raise DataError("the stored program is damaged (wrong checksum); send or store it again")
    begin = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    try:
        header = json.loads(zlib.decompress(content[_LENGTH:begin]))
        reader = _Reader(content, begin, header["parts"], header["callees"])
        made = reader.any(header["what"])
        others = {tuple(choice): reader.any(equations) for choice, equations in header["others"]}
    except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
        raise DataError(f"the stored program has the right checksum but cannot be read: {error!r}") from error
    return _with_others(made, others) if others else made


def _with_others(equations: Any, others: dict[tuple[str, ...], Any]) -> Any:
    """Equations whose other choices of independent velocities are looked up among those stored."""
    known: dict[tuple[str, ...], Any] = {}

    def choose(choice: tuple[str, ...]) -> Any:
        return known[tuple(choice)]

    for made in (equations, *others.values()):
        known[made.choice] = replace(made, with_independent=choose)
    return known[equations.choice]


# ------------------------------------------------------------------------------------------------------------ writing


@dataclass
class _Writer:
    """Parts and callees so far; each callee is written once."""

    parts: list[bytes] = field(default_factory=list)
    callees: list[Header] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    def any(self, what: Any) -> Header | None:
        match what:
            case None:
                return None
            case Program():
                slots = [[_slot(s) for s in side] for side in (what.inputs, what.outputs)]
                known = {"digest": what.digest, "can_be_sharp": what.can_be_sharp}
                return {"kind": "program", "name": what.name, "slots": slots, "code": self.code(what.code), **known}
            case LinearSolveProgram():
                names = ("system", "after", "further", "start")
                made = {"kind": "solved", "name": what.name, "solver": str(what.solver), "sparse": what.sparse}
                made["tolerance"] = what.tolerance
                pattern = None if what.pattern is None else [what.pattern.size, what.pattern.rows, what.pattern.columns]
                made["condensed"] = None
                if what.condensed is not None and what.condenses:
                    short = {name: self.any(getattr(what.condensed, name)) for name in _CONDENSED}
                    made["condensed"] = {"of": what.condensed.of, **short}
                return {**made, "pattern": pattern, **{name: self.any(getattr(what, name)) for name in names}}
            case DaeResidual():
                made = {"kind": "implicit", "name": what.name, "residual": self.any(what.residual), "index": what.index}
                indices = [a.tolist() for a in what.pattern]
                known = {"jacobian": self.any(what.jacobian), "pattern": indices, "differential": what.differential}
                return {**made, "orders": what.orders, "known": known}
        for kind, form in _FORMATS.items():
            if isinstance(what, form.of):
                return {"kind": kind, **form.write(what, self.any)}
        raise ArgumentError(
            f"{type(what).__name__} cannot be stored; give a Program, LinearSolveProgram, DaeResidual or Equations"
        )

    def code(self, code: Code) -> Header:
        tape = zlib.compress(json.dumps(self._tape(code.tape), separators=(",", ":")).encode(), 1)
        if isinstance(code, StoredCode):
            text = code.text_part
        else:
            text = zlib.compress(code.text if isinstance(code, CasadiCode) else code.function.serialize().encode(), 1)
        self.parts += [tape, text]
        known = {"fingerprint": code.fingerprint, "operations": code.operations, "can_switch": code.can_switch}
        return {"part": len(self.parts) - 2, **known}

    def _tape(self, tape: Tape) -> list[Any]:
        lines: list[Any] = []
        for line in tape:
            made: list[Any] = [line.operation, line.inputs, line.outputs]
            if line.numbers is not None:
                made.append(line.numbers.tolist())
            elif line.operation == op.CONST:
                made.append(line.constant)
            elif line.callee is not None:
                made.append(self._callee(line.callee))
            lines.append(made)
        return lines

    def _callee(self, callee: Callee) -> int:
        if callee.key not in self._known:
            made = {"name": callee.name, "reads": callee.input_sizes, "gives": callee.output_sizes, "scalar": callee.scalar}
            made["code"] = self.code(callee.code)
            self._known[callee.key] = len(self.callees)
            self.callees.append(made)
        return self._known[callee.key]


def _slot(slot: Slot) -> list[Any]:
    return [slot.name, slot.shape, slot.labels, slot.units]


# ------------------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True, eq=False)
class StoredCode:
    """Code that is decompressed when it is first needed."""

    tape_part: bytes = field(repr=False)
    text_part: bytes = field(repr=False)
    fingerprint: str
    operations: int
    can_switch: bool
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
                f"CasADi {ca.CasadiMeta.version()} cannot read this program, which another version of CasADi wrote; use one "
                f"version on all machines ({str(error).strip().splitlines()[-1]})"
            ) from error

    def _line(self, operation: int, reads: list[int], writes: list[int], *more: Any) -> Instruction:
        ins, outs = tuple(reads), tuple(writes)
        if operation == op.CALL:
            return Instruction(operation, ins, outs, callee=self.callee(more[0]))
        if operation != op.CONST:
            return Instruction(operation, ins, outs)
        if isinstance(more[0], list):
            return Instruction(operation, ins, outs, numbers=np.array(more[0], dtype=float))
        return Instruction(operation, ins, outs, float(more[0]))


class _Reader:
    def __init__(self, content: bytes, begin: int, sizes: list[int], callees: list[Header]) -> None:
        ends = np.cumsum([begin, *sizes]).tolist()
        if ends[-1] != len(content):
            raise ArgumentError(f"the header announces {ends[-1]} bytes of parts, there are {len(content)}")
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
            case {"kind": kind} if kind in _FORMATS:
                return _FORMATS[kind].read({name: value for name, value in header.items() if name != "kind"}, self.any)
        raise ArgumentError(f"unknown kind of object {header.get('kind')!r}")

    def program(self, header: Mapping[str, Any]) -> Program:
        inputs, outputs = (
            tuple(Slot(name, (shape[0], shape[1]), tuple(labels), tuple(units)) for name, shape, labels, units in side)
            for side in header["slots"]
        )
        program = Program(header["name"], inputs, outputs, self.code(header["code"]))
        vars(program).update(digest=header["digest"], can_be_sharp=bool(header["can_be_sharp"]))
        return program

    def solved(self, header: Mapping[str, Any]) -> LinearSolveProgram:
        stored = header["pattern"]
        pattern = None if stored is None else Pattern(stored[0], tuple(stored[1]), tuple(stored[2]))
        parts = {name: self.any(header[name]) for name in ("system", "after", "further", "start")}
        short = header["condensed"]
        condensed = None if short is None else Condensed(short["of"], *(self.any(short[name]) for name in _CONDENSED))
        solved = LinearSolveProgram(
            header["name"],
            **parts,
            pattern=pattern,
            solver=Solver(header["solver"]),
            tolerance=header["tolerance"],
            condensed=condensed,
        )
        vars(solved)["sparse"] = bool(header["sparse"])  # stored, since finding it needs CasADi
        return solved

    def implicit(self, header: Mapping[str, Any]) -> DaeResidual:
        made = DaeResidual(header["name"], self.any(header["residual"]), tuple(header["index"]), tuple(header["orders"]))
        known = header["known"]  # stored, since deriving it needs CasADi
        rows, columns = (np.array(a, dtype=np.int64) for a in known["pattern"])
        vars(made).update(
            jacobian=self.any(known["jacobian"]),
            pattern=(rows, columns),
            differential=tuple(bool(d) for d in known["differential"]),
        )
        return made

    def code(self, header: Mapping[str, Any]) -> StoredCode:
        first = int(header["part"])
        tape, text = self._parts[first : first + 2]
        known = str(header["fingerprint"]), int(header["operations"]), bool(header["can_switch"])
        return StoredCode(tape, text, *known, self.callee)

    def callee(self, number: int) -> Callee:
        if number not in self._known:
            header = self._callees[number]
            code = self.code(header["code"])
            reads, gives = (tuple(int(n) for n in header[name]) for name in ("reads", "gives"))
            self._known[number] = Callee(header["name"], reads, gives, code, code.fingerprint, bool(header["scalar"]))
        return self._known[number]

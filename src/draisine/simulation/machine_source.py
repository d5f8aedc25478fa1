"""Exported code with a mode machine: the stepping loop with contacts that stick, slip and open, in C and JavaScript.

A file NAME_machine has the loop of `simulate`, translated, its data and a small driver; the programs that it calls are files of
their own in C, and part of the module in JavaScript. Layout as in results: all coordinates, all velocities and further states,
then one integer for each contact: 0 open, 1 slips, 2 sticks. Contacts may be restricted to some modes; leaving them ends a call
with a status.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.export.fmu import ContactSources, write_fmu
from draisine.codegen.export.language import Argument
from draisine.codegen.export.languages.c import C
from draisine.codegen.export.languages.javascript import Script
from draisine.codegen.export.names import Names, letters, plain
from draisine.codegen.export.source import file_name, function_name, source_text
from draisine.codegen.restricted.c_source import KERNEL, PREAMBLE, c_kind, c_number, c_text
from draisine.codegen.restricted.script import script
from draisine.errors import ArgumentError, ExportError
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.results.files import write_text
from draisine.simulation.initial.result import Start
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.mode_machine import (
    KERNELS,
    MACHINE,
    NAMES,
    check_machine,
    contents,
    machine_code,
    machine_programs,
    machine_record,
    plain_contents,
    record_script,
    used_fields,
)
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, ContactModes
from draisine.simulation.stepper.layout import Stepper, Tableau

MODES = ("open", "slip", "stick")
LANGUAGES = ("c", "javascript", "fmu")
Included = Mapping[str, str | Sequence[str]] | str
_STATUS = {
    "REACHED": "the time was reached",
    "MODE_LEFT": "a contact has left the modes that are included; state and time are those behind the change",
    "INCONSISTENT": "no motion of rigid bodies satisfies the laws of the contacts (Painleve's paradox)",
    "INDETERMINATE": "rigid bodies have several motions there",
    "UNDECIDED": "the modes of the contacts were not found",
    "TOO_MANY_STEPS": "a call took more than a million steps",
    "NO_CONTINUATION": "values are not finite, or constraints cannot be kept",
}


def included_modes(e: Equations, given: Included) -> list[list[bool]]:
    """Whether each contact may be open, slip and stick; contacts that are not named may be in all modes."""
    if given == "all":
        given = {}
    if isinstance(given, str):
        raise ArgumentError(f"export: modes={given!r}; give 'all', or modes by contact, such as {{'front': ('stick', 'slip')}}")
    names = [c.name for c in e.unilateral]
    for name, wanted in given.items():
        if name not in names:
            raise ArgumentError(f"export: modes names {name!r}, but the contacts of {e.name!r} are {', '.join(names)}")
        for mode in [wanted] if isinstance(wanted, str) else wanted:
            if mode not in MODES:
                raise ArgumentError(f"export: modes of {name!r} are 'open', 'slip' and 'stick', not {mode!r}")
    chosen = {name: {wanted} if isinstance(wanted, str) else {*wanted} for name, wanted in given.items()}
    return [[mode in chosen.get(name, MODES) for mode in MODES] for name in names]


def write_machine(
    e: Equations, start: Start, langs: Iterable[str], folder: Path, modes: Included, description: str = ""
) -> list[Path]:
    """Write the machine in some languages, or as a functional mock-up unit; return the paths."""
    check_machine(e, "export")
    allowed = included_modes(e, modes)
    for lang in langs:
        if lang.lower() not in LANGUAGES:
            raise ExportError(
                f"contacts of {e.name!r} that stick, slip and open are exported as {', '.join(LANGUAGES[:-1])} and "
                f"{LANGUAGES[-1]}, not as {lang}; for other languages fix the modes, model.in_modes({{…}})"
            )
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for lang in langs:
        if lang.lower() == "fmu":
            paths.append(write_fmu(e, start.x, folder, description, contact_sources(e, start, allowed)))
            continue
        for name, text in (c_files if lang.lower() == "c" else javascript_files)(e, start, allowed).items():
            write_text(folder / name, text)
            paths.append(folder / name)
    return paths


def contact_sources(e: Equations, start: Start, allowed: Sequence[Sequence[bool]]) -> ContactSources:
    """The machine for a functional mock-up unit."""
    texts = c_files(e, start, allowed, exchange=True)
    return ContactSources(next(iter(texts)).removesuffix("_machine.h"), texts, tuple(_STATUS.values()))


def _programs(e: Equations, stem: str) -> dict[str, Program | LinearSolveProgram]:
    return {name: replace(program, name=f"{stem}_{name}") for name, program in machine_programs(e).items()}


def _record(e: Equations, start: Start) -> Stepper:
    return machine_record(e, np.asarray(start.x), np.asarray(start.given[2], dtype=float), DOP853())


# ---------------------------------------------------------------- JavaScript


def javascript_files(e: Equations, start: Start, allowed: Sequence[Sequence[bool]]) -> dict[str, str]:
    """An ES module with the class `Machine` of a model."""
    stem = Names(C().taken_words()).give(letters(e.name), f"{letters(e.name)}_model")
    programs = machine_programs(e)
    data = {
        "contacts": [c.name for c in e.unilateral],
        "kernels": KERNELS,
        "record": plain_contents(contents(_record(e, start))),
        "included": allowed,
        "states": [s.name for s in e.states],
        "inputs": [u.name for u in e.inputs],
        "parameters": [p.name for p in e.parameters],
        "start": {"x": np.asarray(start.x).tolist(), "p": np.asarray(start.given[2], dtype=float).tolist()},
    }
    parts = [
        f"// {plain(e.name)}: contacts that stick, slip and open. `new Machine()`, begin, advance; see the page on export.",
        "const Draisine = {};",
        *(source_text(replace(p, name=name), Script(plain=True, home="Draisine")) for name, p in programs.items()),
        machine_script(),
        f"export const data = {json.dumps(data, ensure_ascii=True)};",
        _MODULE.strip(),
    ]
    return {f"{stem}_machine.mjs": "\n".join(parts) + "\n"}


@cache
def machine_script() -> str:
    """The stepping loop with contacts that stick, slip and open, translated from Python; the same for all models."""
    text = files("draisine.simulation").joinpath("machine.js").read_text(encoding="utf-8")
    return "\n".join([script(MACHINE, NAMES, "Draisine.machine"), record_script(), text])


_MODULE = """
// A run: `begin` at a state (the start by default), `advance` to a time. Both return null, or why the run has ended.
export class Machine extends Draisine.Machine {
  constructor() {
    super(data, Draisine.programs, Float64Array.from(data.start.p), new Float64Array(data.inputs.length));
    this.parameters = this.all.subarray(0, this.first);
  }

  begin(x = data.start.x, time = 0) {
    return super.begin(x, time) ?? this._left();
  }

  advance(until) {
    for (;;) {
      const left = this._left();
      if (left) return left;
      if (this.time === until) return null;
      const why = this._once(until);
      if (why) return why;
    }
  }

  set tolerance(relative) {
    this.record.rtol = this.record.modes.tolerance = relative;
    this.record.atol.fill(1e-2 * relative);
  }

  _left() {
    const i = this.names.findIndex((_, k) => !data.included[k][this.mode(k)]);
    return i < 0 ? null : `${this.names[i]} ${Draisine.MODES[this.mode(i)]}, which is not included`;
  }
}
"""


# ---------------------------------------------------------------- C


def c_files(e: Equations, start: Start, allowed: Sequence[Sequence[bool]], exchange: bool = False) -> dict[str, str]:
    """NAME_machine.c and .h, and the programs that it calls; with `exchange` what functional mock-up units need."""
    stem = Names(C().taken_words()).give(letters(e.name), f"{letters(e.name)}_model")
    programs = _programs(e, stem)
    texts = {file_name(program, C()): source_text(program, C()) for program in programs.values()}
    drivers = ["machine_driver.c", *(["machine_exchange.c"] if exchange else [])]
    source = [
        f'#include "{stem}_machine.h"',
        "#include <stdlib.h>",
        PREAMBLE,
        c_machine(e, start, stem, programs, allowed),
        *(files("draisine.simulation").joinpath(name).read_text(encoding="utf-8").replace("NAME", stem) for name in drivers),
    ]
    return {f"{stem}_machine.h": c_header(e, start, stem, exchange), f"{stem}_machine.c": "\n".join(source), **texts}


_EXCHANGE = """
#include <stddef.h>
#define MOMENT double t, const double *x, const double *u, const double *p
size_t NAME_size(void);
void NAME_restore(NAME_machine *m, const void *kept);
void NAME_mode_parameters(const NAME_machine *m, double *values);
void NAME_rates(NAME_machine *m, MOMENT, double *rates);
void NAME_margins(NAME_machine *m, MOMENT, double *margins);
void NAME_negligible(NAME_machine *m, const double *margins, double *least);
void NAME_guess(NAME_machine *m, MOMENT);
void NAME_disturb(NAME_machine *m);
int NAME_change(NAME_machine *m, MOMENT, long row);
int NAME_completed(NAME_machine *m, MOMENT, long *row, double *residual);
void NAME_settle(NAME_machine *m, MOMENT);
int NAME_inside(NAME_machine *m);
int NAME_left(const NAME_machine *m);
"""


def c_header(e: Equations, start: Start, stem: str, exchange: bool = False) -> str:
    """What a program that runs the machine includes."""
    sizes = {"STATES": len(e.states), "INPUTS": len(e.inputs), "PARAMETERS": len(e.parameters), "CONTACTS": len(e.unilateral)}
    listed = [
        *(f"   x[{k}] {plain(s.name)}{f' [{plain(s.unit)}]' if s.unit else ''}" for k, s in enumerate(e.states)),
        *(f"   u[{k}] {plain(u.name)}{f' [{plain(u.unit)}]' if u.unit else ''}" for k, u in enumerate(e.inputs)),
        *(f"   p[{k}] {plain(p.name)} = {p.default!r}" for k, p in enumerate(e.parameters)),
        *(f"   modes[{k}] {plain(c.name)}: 0 open, 1 slips, 2 sticks" for k, c in enumerate(e.unilateral)),
    ]
    status = [
        f"    {stem}_{name} = {k}{',' if k < len(_STATUS) - 1 else ''} /* {text} */"
        for k, (name, text) in enumerate(_STATUS.items())
    ]
    modes = [
        (2 if one[1] else 1) if one[0] else 0 for one in np.asarray(start.given[2])[len(e.parameters) :].reshape(-1, MODE_ENTRIES)
    ]
    return "\n".join(
        [
            f"/* {plain(e.name)}: a machine with contacts that stick, slip and open.",
            *listed,
            "*/",
            f"#ifndef {stem}_machine_h",
            f"#define {stem}_machine_h",
            f"enum {{ {', '.join(f'{stem}_{name} = {size}' for name, size in sizes.items())} }};",
            f"enum {{ /* how a call ended */\n{chr(10).join(status)}\n}};",
            f"typedef struct {stem}_machine {stem}_machine;",
            f"static const double {stem}_start_x[] = {{{', '.join(c_number(float(v)) for v in start.x)}}};",
            f"static const int {stem}_start_modes[] = {{{', '.join(map(str, modes))}}};",
            f"{stem}_machine *{stem}_new(void); /* NULL without memory */",
            f"void {stem}_free({stem}_machine *m);",
            "/* Begin a run; modes follow from the state and from those given. NULL: modes of the start, no inputs, default p */",
            f"int {stem}_begin({stem}_machine *m, double t, const double *x, const int *modes,",
            "    const double *u, const double *p);",
            f"int {stem}_advance({stem}_machine *m, double until); /* with constant inputs */",
            f"void {stem}_set_inputs({stem}_machine *m, const double *u);",
            f"void {stem}_set_tolerance({stem}_machine *m, double relative); /* 1e-8 */",
            f"double {stem}_time(const {stem}_machine *m);",
            f"const double *{stem}_state(const {stem}_machine *m);",
            f"void {stem}_modes(const {stem}_machine *m, int *modes);",
            *(_EXCHANGE.replace("NAME", stem).strip().splitlines() if exchange else []),
            "#endif",
            "",
        ]
    )


def c_machine(
    e: Equations, start: Start, stem: str, programs: Mapping[str, Program | LinearSolveProgram], allowed: Sequence[Sequence[bool]]
) -> str:
    """Records, functions, kernels, and the memory of a machine."""
    fields, loop = _loop_in_c()
    lines = [f"typedef struct {name} {name};" for name in fields]
    for name, own in fields.items():
        lines += [f"struct {name} {{", *(f"    {kind} {field};".replace("* ", "*") for field, kind in own.items()), "};"]
    included = ", ".join("{" + ", ".join(str(int(one)) for one in row) + "}" for row in allowed)
    lines += [f"static const int {stem}_included[][3] = {{{included}}};", "", loop]
    for name, program in programs.items():
        lines += _kernel(name, program)
    return "\n".join([*lines, *_memory(_record(e, start), stem, fields, {*programs})])


@cache
def _loop_in_c() -> tuple[dict[str, dict[str, str]], str]:
    """The C types of the fields of the records, and the functions of the loop: the same for all models."""
    fields = {
        record.__name__: {
            name: c_kind(field.type, record is not Tableau and f"{prefix}{name}" in KERNELS)
            for name, field in record.__fields__.items()
            if name in used_fields()
        }
        for record, prefix in ((Stepper, ""), (Tableau, ""), (ContactModes, "modes."))
    }
    return fields, c_text(machine_code(), fields)


def _kernel(name: str, program: Program | LinearSolveProgram) -> list[str]:
    """A program as a function of tables of arguments and results."""
    inputs, function = [Argument(slot.name, slot) for slot in program.inputs], function_name(program, C())
    declared = ["double" if a.is_number else "const double *" for a in inputs] + ["double *"] * len(program.outputs)
    given = [f"{'*' if a.is_number else ''}given[{k}]" for k, a in enumerate(inputs)]
    taken = [f"taken[{k}]" for k in range(len(program.outputs))]
    return [
        f"void {function}({', '.join(declared)});",
        f"static void kernel_{name}(const double *const *given, double *const *taken) {{",
        f"    {function}({', '.join([*given, *taken])});",
        "}",
    ]


def _memory(record: Stepper, stem: str, fields: Mapping[str, Mapping[str, str]], programs: set[str]) -> list[str]:
    """The structure of a machine, and the functions that fill it: with addresses, then with values."""
    records = {"stepper": contents(record)}
    records |= {name: inner for name, inner in records["stepper"].records.items()}
    sizes, places, values, tables = {"double": 0, "long": 0}, list[str](), list[str](), list[str]()
    for place, found in records.items():
        kinds = fields[found.kind]
        for name, value in found.numbers.items():
            if kinds[name] == KERNEL:
                program = KERNELS[f"modes.{name}" if found.kind == "ContactModes" else name]
                if value:
                    places.append(f"m->{place}.{name} = kernel_{program if program in programs else 'replaced'};")
            elif value:
                values.append(f"m->{place}.{name} = {c_number(value)};")
        for name, array in found.arrays.items():
            places.append(_array(f"m->{place}.{name}", array, sizes))
            if array.any():
                tables.append(_table(f"values_{place}_{name}", array))
                values.append(f"memcpy(m->{place}.{name}.at, values_{place}_{name}, sizeof values_{place}_{name});")
    places += [f"m->stepper.{name} = &m->{name};" for name in records["stepper"].records]
    entries = MODE_ENTRIES * record.modes.contacts
    places += [
        "m->modes.all_parameters = m->stepper.parameters;",
        f"m->modes.mode = part_of(m->stepper.parameters, {len(record.parameters) - entries}, {len(record.parameters)});",
    ]
    members = [f"    {found.kind} {place};" for place, found in records.items()]
    members += [f"    double numbers[{sizes['double'] or 1}];", f"    long integers[{sizes['long'] or 1}];"]
    return [
        f"struct {stem}_machine {{",
        *members,
        "};",
        *tables,
        "/* for derivatives and margins of all modes, which follow from the kernel of contact systems: it is not called */",
        "static void kernel_replaced(const double *const *given, double *const *taken) { (void)given, (void)taken; }",
        f"static void point_to_memory({stem}_machine *m) {{",
        *(f"    {line}" for line in places),
        "}",
        f"static void lay_out({stem}_machine *m) {{",
        "    point_to_memory(m);",
        *(f"    {line}" for line in values),
        "}",
    ]


def _kind(array: NDArray[Any]) -> str:
    return "long" if array.dtype.kind == "i" else "double"


def _array(place: str, array: NDArray[Any], sizes: dict[str, int]) -> str:
    """The memory of an array."""
    kind = _kind(array)
    lengths = f"{place}.length = {array.shape[0]};"
    if array.ndim == 2:
        lengths = f"{place}.rows = {array.shape[0]}; {place}.columns = {array.shape[1]};"
    begin = sizes[kind]
    sizes[kind] += array.size
    return f"{place}.at = m->{'integers' if kind == 'long' else 'numbers'} + {begin}; {lengths}"


def _table(name: str, array: NDArray[Any]) -> str:
    """The values of an array."""
    return f"static const {_kind(array)} {name}[] = {{{', '.join(c_number(value) for value in array.ravel().tolist())}}};"

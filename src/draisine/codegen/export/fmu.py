"""Functional mock-up units (FMU): FMI 3.0 for model exchange and co-simulation, from the generated C.

The file contains the sources, and the binary for this machine if a C compiler is found. Variables have the names and units of the
model. Units of models with contacts that stick, slip and open contain the stepping loop with its contacts (`ContactSources`).
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from draisine.codegen.export.exportable_programs import items, without_uncounted_work
from draisine.codegen.export.language import Argument
from draisine.codegen.export.languages.c import C
from draisine.codegen.export.names import Names, letters, plain
from draisine.codegen.export.source import file_name, function_name, source_text
from draisine.errors import ExportError
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.switching import switching_functions
from draisine.results.channel import per_second
from draisine.results.files import replacing

_FLAGS = ("-std=c99", "-O1", "-shared", "-fPIC", "-fvisibility=hidden")
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same file for the same model

_BASE = ("kg", "m", "s", "A", "K", "rad")
_DERIVED = {
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "Hz": {"s": -1},
    "1": {},
    **{unit: {unit: 1} for unit in _BASE},
}


class ContactSources(NamedTuple):
    """A mode machine in C (`simulation/machine_source.py`): the begin of its names, its files, and the texts of its status."""

    stem: str
    sources: dict[str, str]
    status: tuple[str, ...]


def write_fmu(
    equations: Equations, start: ArrayLike, folder: Path, description: str = "", contacts: ContactSources | None = None
) -> Path:
    """Write `NAME.fmu`, the unit of a system that starts at the state `start`."""
    if isinstance(equations.dynamics, DaeResidual):
        raise ExportError(
            f"a functional mock-up unit computes the rate of the state, but {equations.name!r} is given as "
            "0 = F(t, x, ẋ) and not solved for ẋ; reduce its index first, or export its residual"
        )
    x0 = np.asarray(start, dtype=float)
    if x0.shape != (len(equations.states),):
        names = ", ".join(s.name for s in equations.states)
        raise ExportError(f"the start of {equations.name!r} needs {len(equations.states)} numbers ({names}), got {x0.size}")
    unit = _Unit(replace(equations, report=without_uncounted_work(equations.report)), x0, description, contacts)
    contents = unit.contents()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{unit.identifier}.fmu"
    binary = _binary(unit.identifier, {n.removeprefix("sources/"): c for n, c in contents.items() if n.startswith("sources/")})
    with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in ({n: c.encode() for n, c in contents.items()} | binary).items():
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content, zipfile.ZIP_DEFLATED)
    return path


@dataclass
class _Unit:
    equations: Equations
    start: np.ndarray
    description: str
    contacts: ContactSources | None
    identifier: str = field(init=False)
    token: str = field(init=False)
    switching: Program | LinearSolveProgram | None = field(init=False)

    def __post_init__(self) -> None:
        stem = letters(self.equations.name)
        self.identifier = Names(C().taken_words()).give(stem, f"{stem}_model")
        digest = hashlib.sha256()
        self.switching = None if self.contacts else switching_functions(self.equations)
        for program in (self.equations.explicit, self.equations.report, *([self.switching] if self.switching else [])):
            digest.update(program.digest.encode())
        for text in self.contacts.sources.values() if self.contacts else ():
            digest.update(text.encode())
        digest.update(repr([(v.name, v.unit) for v in self.variables()]).encode())
        self.token = f"{{{digest.hexdigest()[:32]}}}"

    def contents(self) -> dict[str, str]:
        """Text files by their path in the archive."""
        project = ("project",) if self.equations.project is not None else ()
        wanted = ("report",) if self.contacts else ("dynamics", "report", *project)
        written = items(self.equations, wanted, self.description)
        sources = {file_name(i.program, C()): source_text(i.program, C(), i.guide) for i in written}
        for name in ("fmi3.c", self._motion()):
            sources[name] = files("draisine.codegen.export").joinpath(name).read_text(encoding="utf-8")
        sources |= {"model.h": self._header(), **(self.contacts.sources if self.contacts else {})}
        described = model_description(
            self.identifier,
            plain(self.equations.name),
            plain(self.description),
            self.token,
            self.variables(),
            len(self.start),
            bool(self.contacts),
        )
        compiled = [name for name in sources if name.endswith(".c")]
        return {
            "modelDescription.xml": described,
            "sources/buildDescription.xml": build_description(self.identifier, compiled),
            **{f"sources/{name}": text for name, text in sources.items()},
        }

    def variables(self) -> list[Variable]:
        """In the order of their value references: time, states, derivatives, inputs, parameters, reported numbers, event
        indicators, modes of contacts."""
        equations, listed = self.equations, [Variable("time", "s", "", "independent")]
        listed += [
            Variable(s.name, s.unit, s.description, "local", start=float(v))
            for s, v in zip(equations.states, self.start, strict=True)
        ]
        listed += [
            Variable(f"der({s.name})", per_second(s.unit), "", "local", derivative_of=k + 1)
            for k, s in enumerate(equations.states)
        ]
        listed += [Variable(u.name, u.unit, u.description, "input", start=0.0) for u in equations.inputs]
        listed += [Variable(p.name, p.unit, p.description, "parameter", start=float(p.default)) for p in equations.parameters]
        listed += self._reported()
        listed += self._indicators()
        modes = self._modes()
        listed += modes
        taken = {plain(mode.name) for mode in modes}  # also reported as numbers
        for variable in listed:
            # a velocity that is a state is not reported again
            variable.shown = plain(variable.name) not in taken or variable.kind == "Int32"
            taken.add(plain(variable.name))
        return listed

    def _reported(self) -> list[Variable]:
        (item,) = items(self.equations, ("report",))
        listed = []
        for slot in item.program.outputs:
            for k in range(slot.size):
                label = slot.labels[k] if slot.labels else f"{slot.name}[{k}]"
                known = item.guide.quantities.get((slot.name, label), Quantity(label))
                unit = (slot.units[k] if slot.units else "") or known.unit
                rate = label.startswith("d") and label.endswith("/dt") and slot.name == "vdot"
                name = f"der({label[1:-3]})" if rate else f"{label}_residual" if slot.name == "residuals" else label
                listed.append(Variable(name, unit, known.description, "output" if slot.name == "outputs" else "local"))
        return listed

    def _indicators(self) -> list[Variable]:
        """Event indicators: margins of contacts, or the switching functions of the state derivative."""
        if self.contacts:
            gap = "positive in the present mode of the contact: gap while it is open, else normal force"
            slip = "positive in the present mode of the contact: friction that is left while it sticks, slip while it slips"
            return [
                Variable(f"{contact.name}_{what}", "", text, "local", indicator=True)
                for contact in self.equations.unilateral
                for what, text in (("gap_or_force", gap), ("slip_or_friction", slip))
            ]
        names = self.switching.outputs[0].labels if self.switching else ()
        return [
            Variable(f"switching[{k + 1}]", "", f"zero where the state derivative switches: {n}", "local", indicator=True)
            for k, n in enumerate(names)
        ]

    def _modes(self) -> list[Variable]:
        """One integer for each contact that sticks, slips and opens."""
        listed = self.equations.unilateral if self.contacts else ()
        return [Variable(f"{c.name}_mode", "", "0 open, 1 slips, 2 sticks", "output", kind="Int32") for c in listed]

    def _motion(self) -> str:
        """The file that fmi3.c includes."""
        return "fmi3_contacts.h" if self.contacts else "fmi3_smooth.h"

    def _header(self) -> str:
        """model.h: sizes, start values, and the functions with the signatures that fmi3.c calls."""
        c, equations = C(), self.equations
        sizes = {"NX": len(self.start), "NU": len(equations.inputs), "NP": len(equations.parameters)}
        sizes["NR"] = sum(slot.size for slot in equations.report.outputs)
        before, residuals = 0, equations.report.outputs[-1]
        for slot in equations.report.outputs:
            if slot.name == "residuals":
                residuals = slot
                break
            before += slot.size
        names = [plain(label) for label in residuals.labels] if residuals.name == "residuals" else []
        modes = len(equations.mode_parameters) if self.contacts else 0
        sizes |= {
            "NC": len(names),
            "FIRST_RESIDUAL": before,
            "NE": len(self._indicators()),
            "NK": len(self._modes()),
            "NM": modes,
        }
        lines = [*(f"#define {name} {size}" for name, size in sizes.items()), f'#define TOKEN "{self.token}"', ""]
        values = {"start_states": self.start, "start_parameters": equations.default_parameters}
        for name, numbers in values.items():
            lines += c.table(name, [c.number(float(v)) for v in numbers] or ["0.0"])
        quoted = ", ".join(json.dumps(name) for name in names) or '""'
        lines += [f"static const char *const residual_names[] = {{{quoted}}};", f'#define MOTION "{self._motion()}"']
        lines += ["", *_bridge("report", equations.report, "report")]
        if self.contacts:
            return "\n".join([*lines, "", *self._machine(self.contacts), ""])
        lines += ["", *_bridge("slope", equations.explicit, "slope")]
        if self.switching:
            lines += ["", "#define HAS_INDICATORS", *_bridge("indicators", self.switching, "indicators")]
        if equations.project is not None:
            lines += ["", "#define HAS_PROJECTION", *_bridge("projection", equations.project, "projection")]
        return "\n".join([*lines, ""])

    def _machine(self, contacts: ContactSources) -> list[str]:
        """What fmi3_contacts.h needs of the mode machine."""
        names = [json.dumps(plain(contact.name)) for contact in self.equations.unilateral]
        return [
            f'#include "{contacts.stem}_machine.h"',
            f"#define MACHINE(name) {contacts.stem}_##name",
            f"static const char *const contact_names[] = {{{', '.join(names)}}};",
            f"static const char *const status_texts[] = {{{', '.join(json.dumps(text) for text in contacts.status)}}};",
        ]


def _bridge(role: str, program: Program | LinearSolveProgram, target: str) -> list[str]:
    """A function of (t, x, u, p) that calls the generated one and concatenates its results."""
    name = function_name(program, C())
    inputs = [Argument(slot.name, slot) for slot in program.inputs]
    declared = ["double" if a.is_number else "const double *" for a in inputs] + ["double *"] * len(program.outputs)
    given = {"t": "t" if inputs[0].is_number else "&t", "x": "x", "u": "u", "p": "p"}
    offsets, begin = [], 0
    for slot in program.outputs:
        offsets.append(f"{target} + {begin}")
        begin += slot.size
    passed = [f"*{given[a.slot.name]}" if a.is_number and a.slot.name != "t" else given[a.slot.name] for a in inputs]
    signature = f"double t, const double *x, const double *u, const double *p, double *{target}"
    return [
        f"void {name}({', '.join(declared)});",
        f"static void model_{role}({signature}) {{",
        f"    {name}({', '.join([*passed, *offsets])});",
        "}",
    ]


# ---------------------------------------------------------------- the binary


def _binary(identifier: str, sources: dict[str, str]) -> dict[str, bytes]:
    """The shared library for this machine by its path in the archive; empty without a compiler."""
    place, suffix = _platform()
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not place:
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in sources.items():
            (folder / file).write_text(text, encoding="utf-8")
        compiled = sorted(file for file in sources if file.endswith(".c"))
        library = folder / f"{identifier}{suffix}"
        done = subprocess.run(
            [compiler, *_FLAGS, "-o", str(library), *compiled, "-lm"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ExportError(f"{compiler} did not compile the sources of {identifier!r}: {done.stderr.strip()[:2000]}")
        return {f"binaries/{place}/{library.name}": library.read_bytes()}


def _platform() -> tuple[str, str]:
    """FMI's name of this platform, and how its shared libraries end."""
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}.get(
        platform.machine().lower(), ""
    )
    system, suffix = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib")}.get(sys.platform, ("", ""))
    return (f"{machine}-{system}", suffix) if machine and system else ("", "")


# ---------------------------------------------------------------- descriptions


@dataclass
class Variable:
    """A variable of the unit; its value reference is its index in the list."""

    name: str
    unit: str
    description: str
    causality: str
    start: float | None = None
    derivative_of: int | None = None
    shown: bool = True
    kind: str = "Float64"
    indicator: bool = False


def model_description(
    identifier: str,
    name: str,
    description: str,
    token: str,
    variables: Sequence[Variable],
    states: int,
    completed: bool = False,
    until: float = 10.0,
) -> str:
    """modelDescription.xml. With `completed` importers report the steps of their integration."""
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0",
            "modelName": name,
            "instantiationToken": token,
            "description": description,
            "generationTool": "draisine",
            "variableNamingConvention": "flat",
        },
    )
    able = {"modelIdentifier": identifier, "canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
    ET.SubElement(root, "ModelExchange", {**able, **({"needsCompletedIntegratorStep": "true"} if completed else {})})
    ET.SubElement(root, "CoSimulation", {**able, "canHandleVariableCommunicationStepSize": "true"})
    shown = [(reference, variable) for reference, variable in enumerate(variables) if variable.shown]
    _units(root, sorted({plain(v.unit) for _, v in shown if v.unit}))
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0", "stopTime": f"{until:g}"})
    listed = ET.SubElement(root, "ModelVariables")
    for reference, variable in shown:
        ET.SubElement(listed, variable.kind, _attributes(reference, variable))
    structure = ET.SubElement(root, "ModelStructure")
    outputs = [str(reference) for reference, variable in shown if variable.causality == "output"]
    derivatives = [str(1 + states + k) for k in range(states)]
    for element, references in (
        ("Output", outputs),
        ("ContinuousStateDerivative", derivatives),
        ("InitialUnknown", [*outputs, *derivatives]),
        ("EventIndicator", [str(reference) for reference, variable in shown if variable.indicator]),
    ):
        for place in references:
            ET.SubElement(structure, element, {"valueReference": place})
    return _text(root)


def build_description(identifier: str, sources: Sequence[str]) -> str:
    """buildDescription.xml: which files make the shared library."""
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    configuration = ET.SubElement(root, "BuildConfiguration", {"modelIdentifier": identifier})
    together = ET.SubElement(configuration, "SourceFileSet", {"language": "C99"})
    for name in sources:
        ET.SubElement(together, "SourceFile", {"name": name})
    return _text(root)


def _attributes(reference: int, variable: Variable) -> dict[str, str]:
    attributes = {"name": plain(variable.name), "valueReference": str(reference), "causality": variable.causality}
    attributes["variability"] = (
        "tunable" if variable.causality == "parameter" else "discrete" if variable.kind == "Int32" else "continuous"
    )
    if variable.start is not None:
        attributes["start"] = repr(variable.start)
    if variable.start is not None and variable.causality != "input":
        attributes["initial"] = "exact"
    elif variable.causality in ("local", "output"):
        attributes["initial"] = "calculated"
    if variable.unit:
        attributes["unit"] = plain(variable.unit)
    if variable.description:
        attributes["description"] = plain(variable.description)
    if variable.derivative_of is not None:
        attributes["derivative"] = str(variable.derivative_of)
    return attributes


def _units(root: ET.Element, units: Sequence[str]) -> None:
    if not units:
        return
    listed = ET.SubElement(root, "UnitDefinitions")
    for unit in units:
        element = ET.SubElement(listed, "Unit", {"name": unit})
        powers = base_powers(unit)
        if powers is not None:
            ET.SubElement(element, "BaseUnit", {base: str(power) for base, power in powers.items() if power})


def base_powers(unit: str) -> dict[str, int] | None:
    """Powers of the base units; None if the unit is not composed of SI units.

    >>> base_powers("N*m/rad")
    {'kg': 1, 'm': 2, 's': -2, 'A': 0, 'K': 0, 'rad': -1}
    """
    powers = dict.fromkeys(_BASE, 0)
    factors = re.findall(r"([*/]?)([A-Za-z]+|1)(?:\^(-?\d+))?", unit)
    if "".join(f"{sign}{name}{'^' + power if power else ''}" for sign, name, power in factors) != unit:
        return None
    for sign, name, power in factors:
        if name not in _DERIVED:
            return None
        for base, amount in _DERIVED[name].items():
            powers[base] += amount * int(power or 1) * (-1 if sign == "/" else 1)
    return powers


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"

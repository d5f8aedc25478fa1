"""The two XML files of a functional mock-up unit: what the model has, and how its sources are built."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

from draisine.codegen.export.names import plain

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


@dataclass
class Variable:
    """A number of the unit; its value reference is its place in the list."""

    name: str
    unit: str
    description: str
    causality: str
    start: float | None = None
    derivative_of: int | None = None
    shown: bool = True


def model_description(
    identifier: str, name: str, description: str, token: str, variables: Sequence[Variable], states: int, until: float = 10.0
) -> str:
    """modelDescription.xml."""
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
    ET.SubElement(
        root, "ModelExchange", {"modelIdentifier": identifier, "canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
    )
    shown = [(reference, variable) for reference, variable in enumerate(variables) if variable.shown]
    _units(root, sorted({plain(v.unit) for _, v in shown if v.unit}))
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0", "stopTime": f"{until:g}"})
    listed = ET.SubElement(root, "ModelVariables")
    for reference, variable in shown:
        ET.SubElement(listed, "Float64", _attributes(reference, variable))
    structure = ET.SubElement(root, "ModelStructure")
    outputs = [str(reference) for reference, variable in shown if variable.causality == "output"]
    slopes = [str(1 + states + k) for k in range(states)]
    for element, references in (
        ("Output", outputs),
        ("ContinuousStateDerivative", slopes),
        ("InitialUnknown", [*outputs, *slopes]),
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
    made = {"name": plain(variable.name), "valueReference": str(reference), "causality": variable.causality}
    made["variability"] = "tunable" if variable.causality == "parameter" else "continuous"
    if variable.start is not None:
        made["start"] = repr(variable.start)
    if variable.start is not None and variable.causality != "input":
        made["initial"] = "exact"
    elif variable.causality in ("local", "output"):
        made["initial"] = "calculated"
    if variable.unit:
        made["unit"] = plain(variable.unit)
    if variable.description:
        made["description"] = plain(variable.description)
    if variable.derivative_of is not None:
        made["derivative"] = str(variable.derivative_of)
    return made


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
    """Powers of the base units; None where the unit is not made of SI units.

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

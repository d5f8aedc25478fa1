"""Contact laws and tires in model files: `contact = { law = "coulomb", friction = 0.8 }`.

A tire by the Magic Formula has its coefficients in a table of their own, so that a file reads

    [wheels.front.contact]
    law = "magic_formula"
    version = "6.1"
    coefficients = { FNOMIN = "4 kN", PCY1 = 1.3, PDY1 = -1.0 }
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from draisine.model.contact.laws import Coulomb, Creep, Rolling, ShenHedrickElkins, TangentialLaw
from draisine.model.contact.magic_formula import MagicFormula
from draisine.model.contact.tires import BrushTire, LinearTire
from draisine.model.file_joints import plain
from draisine.model.quantities import Entry

LAWS: dict[str, type[TangentialLaw]] = {
    "rolling": Rolling,
    "creep": Creep,
    "tire": LinearTire,
    "brush": BrushTire,
    "magic_formula": MagicFormula,
    "coulomb": Coulomb,
    "shen_hedrick_elkins": ShenHedrickElkins,
}


def law_of(entry: Entry) -> TangentialLaw:
    """The law that a table describes."""
    kind = LAWS[entry.text("law", None, tuple(LAWS))]
    known = {field.name: field for field in fields(kind)}
    entry.only("law", *known)
    required = [name for name, field in known.items() if field.default is MISSING]
    wanted = [name for name in known if name in required or entry.has(name)]
    return kind(**{name: _option(entry, name) if name in kind.options else entry.amount(name) for name in wanted})


def _option(entry: Entry, name: str) -> Any:
    """A text, a switch, or the table of coefficients."""
    if name == "coefficients":
        table = entry.entry(name)
        return {key: table.amount(key) for key in table.table}
    return entry.text(name) if name in ("version", "variant", "side") else entry.flag(name, False)


def law_table(law: TangentialLaw) -> dict[str, Any]:
    """The table of a law."""
    kind = next(name for name, kind in LAWS.items() if type(law) is kind)
    table: dict[str, Any] = {"law": kind}
    for field in fields(law):
        value = getattr(law, field.name)
        if field.name == "coefficients":
            table[field.name] = {name: plain(amount) for name, amount in value}
        elif field.name in law.options:
            table |= {field.name: value} if value != field.default else {}
        elif value is not None:
            table[field.name] = plain(value)
    return table

"""The equations of a model as a document: name, picture, tree, tables, matrices of a small system, and the listing.

The contents are the same for every format; `markdown`, `latex`, `webpage` and `sympy_source` print them. The picture is an
argument, drawn by `view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Reduced
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.results.control_characters import one_line
from draisine.symbolic.rendering.listing import listing
from draisine.symbolic.rendering.model_text import derived_in_brief, describe_as_data
from draisine.symbolic.rendering.named_formulas import Listing
from draisine.symbolic.rendering.symbolic import SymbolicEquations, symbolic_equations

LOOP_CLOSURES = "Loop closures and couplings"  # title of a table
SMALL = 5_000  # operations up to which matrices are printed in addition to the listing
NO_BODIES = "no picture: the model is given as formulas and has no bodies to draw"


@dataclass(frozen=True)
class Picture:
    """A drawing: `svg` to be put into a page, `pdf` for print; `file` is its name, without suffix, beside the text."""

    svg: str
    pdf: bytes
    file: str


@dataclass(frozen=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Document:
    """The contents of a document. `system` is None for equations given as formulas."""

    name: str
    description: str
    brief: str
    system: System | None
    tree: tuple[tuple[int, str], ...]  # depth and words
    tables: tuple[Table, ...]
    listing: Listing
    equations: Equations
    picture: Picture | None = None

    @property
    def remark(self) -> str:
        """Why there is no picture, if there cannot be one."""
        return NO_BODIES if self.system is None else ""

    @cached_property
    def matrices(self) -> SymbolicEquations | None:
        """M, C, g, Q, D, b and the reduced equations, simplified, if they are short enough to be read."""
        if self.system is None or self.system.unilateral:  # contacts that open have a listing only, with their modes
            return None
        try:
            found = symbolic_equations(self.system)
            length = sum(found.operations(name) for name in "MCgQDb")
        except ModelError:
            return None  # the derivation by energies does not cover wheels that slip: they have a listing only
        return found.simplified() if length <= SMALL else None


def document(model: Model | System | Equations, picture: Picture | None = None) -> Document:
    """The document of a model."""
    system = None if isinstance(model, Equations) else model.freeze() if isinstance(model, Model) else model
    equations = model if isinstance(model, Equations) else derive(model, work=False)
    listed = listing(model)
    if system is not None and not {state.name for state in equations.states} <= set(listed.arguments):
        equations = derive(system, work=False, formulation=Reduced())  # recursive equations are listed as reduced ones
    data = describe_as_data(equations, system)
    tables = (
        Table("Parameters", ("name", "value", "unit", "meaning"), _rows(data["parameters"], "default", "unit", "description")),
        Table("Modes of contacts", ("name", "meaning"), tuple((m.name, m.description) for m in equations.mode_parameters)),
        Table("Inputs", ("name", "unit", "meaning"), _rows(data["inputs"], "unit", "description")),
        Table("State", ("name", "unit", "meaning"), tuple((s.name, s.unit, s.description) for s in equations.states)),
        Table(LOOP_CLOSURES, ("name", "kind", "meaning"), _residual_constraints(data.get("residual_constraints", {}))),
        Table(
            "Constraints",
            ("name", "kind", "level", "unit"),
            tuple((c.name, str(c.kind), c.level, c.unit) for c in equations.constraints),
        ),
        Table("Outputs", ("name", "unit", "meaning"), _rows(data["outputs"], "unit", "description")),
    )
    kept = tuple(_without_empty_columns(table) for table in tables if table.rows)
    description = one_line(system.description) if system is not None else ""
    brief = derived_in_brief(equations)
    return Document(equations.name, description, brief, system, _tree(data.get("joints", {})), kept, listed, equations, picture)


def _rows(entries: dict[str, dict[str, Any]], *columns: str) -> tuple[tuple[str, ...], ...]:
    def cell(value: object) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value)

    return tuple((name, *(cell(entry[c]) for c in columns)) for name, entry in entries.items())


def _residual_constraints(entries: dict[str, dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
    def shown(value: Any) -> str:
        return " – ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    reported = {name: dict(entry) for name, entry in entries.items()}
    return tuple(
        (name, str(entry.pop("kind", "")), ", ".join(f"{key} = {shown(value)}" for key, value in entry.items()))
        for name, entry in reported.items()
    )


def _without_empty_columns(table: Table) -> Table:
    filled = [k for k in range(len(table.head)) if any(row[k] for row in table.rows)]
    return Table(table.title, tuple(table.head[k] for k in filled), tuple(tuple(row[k] for k in filled) for row in table.rows))


def _tree(joints: dict[str, dict[str, Any]]) -> tuple[tuple[int, str], ...]:
    lines: list[tuple[int, str]] = []

    def grow(parent: str, depth: int) -> None:
        for name, joint in joints.items():
            if joint["parent"] == parent:
                moved = ", ".join(joint["coordinates"]) or "fixed"
                lines.append((depth, f"{joint['child']}: joint {name} on {parent} ({moved})"))
                grow(str(joint["child"]), depth + 1)

    grow("ground", 0)
    return tuple(lines)

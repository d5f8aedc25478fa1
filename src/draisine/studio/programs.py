"""The programs that move a model in a page, and their text as one classic script.

All are those that runs in Python use, exported; nothing is derived a second time. The page steps `dynamics`, moves back onto the
constraints by `project`, looks by `poses` and `report`, ends by `events` and `monitor`, and solves starts on `starts` by Python's
own solver, translated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

import casadi as ca

from draisine.codegen.export.exportable_programs import picked
from draisine.codegen.export.languages.javascript import Script
from draisine.codegen.export.source import source_text
from draisine.codegen.restricted.script import script
from draisine.dynamics.kinematics.twists import body_poses
from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.model.items import System
from draisine.model.vocabulary import amounts
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.simulation.initial.memory import SHAPES
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.solver import SOLVER
from draisine.studio.programs import Straight

MOST_UNKNOWNS = 60  # solved for at every stage of a step, by dense elimination
MOST_OPERATIONS = 80_000  # of one state derivative: four of them, eight times in a picture, must fit into its 16 ms
REPORTED = ("v", "multipliers", "outputs", "energy")  # what is asked of the report, in this order

Exported = Program | LinearSolveProgram


@dataclass(frozen=True, eq=False)
class Programs:
    """What a page runs of some equations; `system` is their description, if they have one."""

    equations: Equations
    system: System | None
    straight: Straight | None = None

    def __post_init__(self) -> None:
        check_livable(self.equations)

    @cached_property
    def starts(self) -> StartProblem:
        return StartProblem(self.equations, compiled=False)

    @cached_property
    def table(self) -> Mapping[str, Exported]:
        """Programs by the name that the page calls them."""
        e = self.equations
        found: dict[str, Exported | None] = {
            "dynamics": e.explicit,
            "report": self._report(),
            "starts": self.starts.program(),
            "project": e.project,
            "events": e.events if e.event_list else None,
            "monitor": e.monitor,
            "poses": poses_program(e, self.system) if self.system is not None else None,
            "amounts": amounts_program(e, self.system) if self.system is not None else None,
            "straight": self.straight.program if self.straight is not None else None,
        }
        return {name: _called(program, name) for name, program in found.items() if program is not None}

    def _report(self) -> Exported:
        report = self.equations.report
        sizes = {slot.name: slot.size for slot in report.outputs}
        return picked(report, "report", {name: range(sizes.get(name, 0)) for name in REPORTED if sizes.get(name, 0)})

    def script(self) -> str:
        """All of them as one classic script, which holds no text of the model."""
        language = Script(plain=True)
        return "\n".join(source_text(program, language) for program in self.table.values())

    def slots(self) -> dict[str, dict[str, int]]:
        """The results of each program with their sizes, in order."""
        return {name: {slot.name: slot.size for slot in program.outputs} for name, program in self.table.items()}


@cache
def solver_script() -> str:
    """The solver of consistent starts, translated: the same functions as those of starts in Python."""
    exported = ("run", "FIND", "FIND_FAR", "EVALUATE", "REST", "FULFILLED")
    modules = (*SOLVER.sources, SOLVER.module)
    return f"{script(modules, exported, 'Draisine.solver')}Draisine.solver.SHAPES = {json.dumps(SHAPES)};\n"


def check_livable(equations: Equations) -> None:
    """Refuse what a page cannot step by an explicit method sixty times a second."""
    dynamics, name = equations.dynamics, equations.name
    if isinstance(dynamics, DaeResidual):
        raise ModelError(
            f"{name!r} cannot run in the studio: it is given as 0 = F(t, x, ẋ), which only implicit methods step; reduce its "
            "index first (reduce_index), or describe it as a Model"
        )
    if isinstance(dynamics, LinearSolveProgram) and dynamics.size > MOST_UNKNOWNS:
        raise ModelError(
            f"{name!r} cannot run in the studio: {dynamics.size} equations would be solved at every step, more than the "
            f"{MOST_UNKNOWNS} that a page can solve in time; describe it by fewer bodies or by independent coordinates"
        )
    if dynamics.operations > MOST_OPERATIONS:
        raise ModelError(
            f"{name!r} cannot run in the studio: one state derivative takes {dynamics.operations} operations, more than "
            f"{MOST_OPERATIONS}"
        )


def _called(program: Exported, name: str) -> Exported:
    return replace(program, name=name)


def poses_program(equations: Equations, system: System) -> Program:
    """(t, x, p) → rotation matrices and origins of the bodies, [R | r] by columns, in the order of the bodies."""
    looked = body_poses(system)
    wanted = {slot.name: slot.labels for slot in looked.inputs}
    coordinates = [c.name for c in equations.coordinates]
    names = [p.name for p in equations.parameters]
    missing = [label for label in wanted["q"] if label not in coordinates]
    if missing:
        raise ModelError(f"{equations.name!r} moves without the coordinate {missing[0]!r}, which says where its bodies are")
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", len(equations.states)), ca.SX.sym("p", len(names))
    q = x[[coordinates.index(label) for label in wanted["q"]]] if wanted["q"] else ca.SX(0, 1)
    values = p[[names.index(label) for label in wanted["p"]]] if wanted["p"] else ca.SX(0, 1)
    matrices = looked.function.call([t, q, values])
    found = {slot.name: matrix for slot, matrix in zip(looked.outputs, matrices, strict=True)}  # parents before children
    reported = ca.vertcat(*[ca.vec(ca.densify(found[body.name])) for body in system.bodies]) if found else ca.SX(0, 1)
    return Program.build("poses", {"t": (t, ["t"]), "x": x, "p": p}, {"poses": reported})


def amounts_program(equations: Equations, system: System) -> Program:
    """(p) → masses, moments of inertia, radii and other amounts that must make sense, in the order of `amount_names`."""
    scope = Scope(system)
    names = [q.name for q in equations.parameters]
    p = ca.SX.sym("p", len(names))
    values = [scope.value(expression) for _, expression in amounts(system)]
    reported = ca.vertcat(*values) if values else ca.SX(0, 1)
    given = ca.vertcat(*[p[names.index(name)] for name in scope.parameters]) if scope.parameters else ca.SX(0, 1)
    return Program.build(
        "amounts", {"p": p}, {"amounts": ca.substitute(reported, scope.p, given) if scope.parameters else reported}
    )


def amount_names(system: System) -> list[str]:
    return [where for where, _ in amounts(system)]

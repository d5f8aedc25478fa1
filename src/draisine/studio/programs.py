"""Programs of a model in a page, exported as one classic script.

They are those of runs in Python. The page integrates `dynamics`, or where they switch `fixed`, with fixed branches, that end by
`switch_arguments` and slide by `switch_rates`. It projects onto the constraints by `project`, evaluates `poses` and `report`,
ends by `events` and `monitor`, and solves starts on `starts` by the translated Python solver.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

import casadi as ca
import numpy as np

from draisine.codegen.export.exportable_programs import picked
from draisine.codegen.export.languages.javascript import Script
from draisine.codegen.export.source import source_text
from draisine.codegen.restricted.script import script
from draisine.dynamics.kinematics.twists import body_poses
from draisine.dynamics.lowering import Scope
from draisine.errors import DraisineError, ModelError
from draisine.model.system import System
from draisine.model.vocabulary import amounts
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.switching import Switching, find_switching
from draisine.simulation.initial.memory import SHAPES
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.solver import SOLVER
from draisine.simulation.mode_machine import check_machine, machine_programs
from draisine.stability.closed_form_family import EXACT
from draisine.stability.steady_family import Family

SWEPT = "speed"
ZERO_IN_STRAIGHT_RUNNING = ("lean", "steer")  # zero in straight running, if a model has them
MOST_OPERATIONS = 40_000
_TYPICAL = 4.6  # m/s
_FASTEST = 10.0


@dataclass(frozen=True, eq=False)
class StraightRunning:
    """The program (points) → A and misfit: points are the speed and all parameters; A is the state matrix of `states`.

    Where the misfit exceeds `exact`, the straight running in closed form is not valid for the parameters.
    """

    program: Program
    states: tuple[str, ...]
    low: float = 0.0
    high: float = _FASTEST
    exact: float = EXACT


def straight_running(equations: Equations) -> StraightRunning | None:
    """The linear model of straight running as a program of speed and parameters; None without speed or closed form."""
    outputs = equations.motion.output("outputs").labels
    known = {*outputs, *(q.name for q in equations.coordinates)}
    reported = tuple(name for name in ZERO_IN_STRAIGHT_RUNNING if name in known)
    if SWEPT not in outputs or not reported:
        return None
    p = {q.name: q.default for q in equations.parameters}
    straight = dict.fromkeys(reported, 0.0)
    try:  # Newton's method from there alone: the search along branches that `steady` makes else may take seconds
        family = Family(equations, {SWEPT: _TYPICAL, **p}, fixed=straight, near={**straight, SWEPT: _TYPICAL}, states=reported)
        made = family.closed_form
    except (DraisineError, np.linalg.LinAlgError):
        return None
    if made is None or "lean" not in family.states or made.program.operations > MOST_OPERATIONS:
        return None
    return StraightRunning(replace(made.program, name="straight"), family.states)


# ---------------------------------------------------------------- programs of a page


MOST_UNKNOWNS = 60  # solved by dense elimination at every stage
MOST_OPERATIONS = 80_000  # of one state derivative: 32 evaluations must fit into a frame of 16 ms
REPORTED = ("v", "multipliers", "outputs", "energy")  # outputs of the report, in this order

Exported = Program | LinearSolveProgram


@dataclass(frozen=True, eq=False)
class Programs:
    """Programs of equations for a page; `system` is their description, if any."""

    equations: Equations
    system: System | None
    straight: StraightRunning | None = None

    def __post_init__(self) -> None:
        check_runnable(self.equations)

    @cached_property
    def starts(self) -> StartProblem:
        return StartProblem(self.equations, compiled=False)

    @cached_property
    def switching(self) -> Switching | None:
        """The switches of the equations; steps of the page end there."""
        return find_switching(self.equations)

    @cached_property
    def table(self) -> Mapping[str, Exported]:
        """Programs by their name in the page."""
        e = self.equations
        found: dict[str, Exported | None] = {
            **({"dynamics": e.explicit} if not e.unilateral else machine_programs(e)),
            "report": self._report(),
            "starts": self.starts.program(),
            **({"project": e.project, "monitor": e.monitor} if not e.unilateral else {}),
            "events": e.events if e.event_list else None,
            "poses": poses_program(e, self.system) if self.system is not None else None,
            "amounts": amounts_program(e, self.system) if self.system is not None else None,
            "straight": self.straight.program if self.straight is not None else None,
        }
        if self.switching is not None:
            assert not isinstance(self.switching.dynamics, DaeResidual)
            found |= {
                "fixed": self.switching.dynamics,
                "switch_arguments": self.switching.arguments,
                "switch_rates": self.switching.rates,
            }
        return {name: _renamed(program, name) for name, program in found.items() if program is not None}

    def _report(self) -> Exported:
        report = self.equations.report
        sizes = {slot.name: slot.size for slot in report.outputs}
        return picked(report, "report", {name: range(sizes.get(name, 0)) for name in REPORTED if sizes.get(name, 0)})

    def script(self) -> str:
        """All programs as one classic script, without texts of the model."""
        language = Script(plain=True)
        return "\n".join(source_text(program, language) for program in self.table.values())

    def slots(self) -> dict[str, dict[str, int]]:
        """The results of each program with their sizes, in order."""
        return {name: {slot.name: slot.size for slot in program.outputs} for name, program in self.table.items()}


@cache
def solver_script() -> str:
    """The solver of consistent starts, translated from Python."""
    constants = ("FIND", "FIND_FAR", "EVALUATE", "REST", "FULFILLED")
    return f"{script(SOLVER, constants, 'Draisine.solver')}Draisine.solver.SHAPES = {json.dumps(SHAPES)};\n"


def check_runnable(equations: Equations) -> None:
    """Raise `ModelError` for equations that an explicit method cannot step in real time."""
    dynamics, name = equations.dynamics, equations.name
    if equations.unilateral:
        check_machine(equations, "the studio")
    if isinstance(dynamics, DaeResidual):
        raise ModelError(
            f"{name!r} cannot run in the studio: it is given as 0 = F(t, x, ẋ), which needs an implicit method; reduce its "
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


def _renamed(program: Exported, name: str) -> Exported:
    return replace(program, name=name)


def poses_program(equations: Equations, system: System) -> Program:
    """(t, x, p) → rotation matrices and origins of the bodies, [R | r] by columns, in the order of the bodies."""
    kinematics = body_poses(system)
    labels = {slot.name: slot.labels for slot in kinematics.inputs}
    coordinates = [c.name for c in equations.coordinates]
    names = [p.name for p in equations.arguments]
    missing = [label for label in labels["q"] if label not in coordinates]
    if missing:
        raise ModelError(f"{equations.name!r} moves without the coordinate {missing[0]!r}, which says where its bodies are")
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", len(equations.states)), ca.SX.sym("p", len(names))
    q = x[[coordinates.index(label) for label in labels["q"]]] if labels["q"] else ca.SX(0, 1)
    values = p[[names.index(label) for label in labels["p"]]] if labels["p"] else ca.SX(0, 1)
    matrices = kinematics.function.call([t, q, values])
    found = {slot.name: matrix for slot, matrix in zip(kinematics.outputs, matrices, strict=True)}  # parents before children
    reported = ca.vertcat(*[ca.vec(ca.densify(found[body.name])) for body in system.bodies]) if found else ca.SX(0, 1)
    return Program.build("poses", {"t": (t, ["t"]), "x": x, "p": p}, {"poses": reported})


def amounts_program(equations: Equations, system: System) -> Program:
    """(p) → masses, moments of inertia, radii and other checked amounts, in the order of `amount_names`."""
    scope = Scope(system)
    names = [q.name for q in equations.arguments]  # on modes nothing depends
    p = ca.SX.sym("p", len(names))
    values = [scope.value(expression) for _, expression in amounts(system)]
    reported = ca.vertcat(*values) if values else ca.SX(0, 1)
    given = ca.vertcat(*[p[names.index(name)] for name in scope.parameters]) if scope.parameters else ca.SX(0, 1)
    return Program.build(
        "amounts", {"p": p}, {"amounts": ca.substitute(reported, scope.p, given) if scope.parameters else reported}
    )


def amount_names(system: System) -> list[str]:
    return [where for where, _ in amounts(system)]

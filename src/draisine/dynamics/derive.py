"""Equations of motion of a described mechanism: choice of the formulation, and derivation.

1. Lower the tree to symbols with the constraint rows of its contacts and residual constraints (`mechanism`); rows that repeat
   others are left out (`constraints.redundancy`).
2. Eliminate dependent velocities in symbols (`reduced`), or work body by body along the tree (`recursive`), or eliminate nothing
   (`augmented`): by structure and size, or as the caller asks.
3. Name the reported quantities (`outputs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from draisine.dynamics.formulations import Augmented, FormulationChoice, Recursive, Reduced
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.reduced.formulation import ReducedFormulation, check_inertia
from draisine.dynamics.structure import with_structure
from draisine.errors import ArgumentError, ExpressionError, ModelError, NotRecursive
from draisine.expr.expression import Expr
from draisine.model.model import Model
from draisine.model.quantities import amount_in
from draisine.model.system import System
from draisine.program.arguments import checked
from draisine.program.equations import Equations, Event, check_events
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

if TYPE_CHECKING:
    from draisine.dynamics.augmented.formulation import AugmentedFormulation
    from draisine.dynamics.recursive.formulation import EliminatedTree

MANY_VELOCITIES = 12  # from which on a tree has the recursive formulation, where it applies
FEW_CONSTRAINTS = 1 / 3  # constraint rows per velocity up to which it is shorter than symbolic elimination
MOST_ROWS = 24  # constraint rows that are eliminated symbolically
MOST_FREEDOMS = 40  # degrees of freedom whose mass matrix is factorized symbolically
SERVES = 5.0  # largest amplification that the few choices of independent velocities of a run may have anywhere


def choose_formulation(mechanism: Mechanism, requested: tuple[str, ...]) -> tuple[FormulationChoice, list[str]]:
    """The formulation for a mechanism, and a note where it is not the reduced one; `requested` are independent velocities that
    the user has chosen."""
    if mechanism.unilateral:
        if requested:
            raise ModelError(
                f"model {mechanism.system.name!r}: its contacts open and slip, so that no velocities are eliminated; do not "
                f"choose independent ones ({', '.join(requested)})"
            )
        names = ", ".join(contact.name for contact in mechanism.unilateral)
        return Augmented(), [f"augmented formulation, one for all modes of its contacts ({names})"]
    if mechanism.multiplier_symbols:
        loads = ", ".join(mechanism.multiplier_symbols)
        if requested:
            raise ModelError(
                f"model {mechanism.system.name!r}: forces depend on the multipliers of {loads}, so that no velocities are "
                f"eliminated; do not choose independent ones ({', '.join(requested)})"
            )
        return Augmented(), [f"augmented formulation, nothing eliminated, since forces depend on the multipliers of {loads}"]
    if requested:
        return Reduced(), []
    suited = len(mechanism.scope.velocities) >= MANY_VELOCITIES and why_not_recursive(mechanism) is None
    if suited and not mechanism.residual_constraints:
        return Recursive(), [_recursive_note(mechanism)]
    suited = suited and not mechanism.solved_rows  # only the other formulations take other rows during a run
    # with contacts, some velocities would be eliminated (by contacts) and others not (by constraints): only on request
    suited = suited and not mechanism.contacts and len(mechanism.row_names) <= MOST_ROWS
    if suited and len(mechanism.row_names) <= FEW_CONSTRAINTS * len(mechanism.scope.velocities):
        return Recursive(), [_recursive_note(mechanism)]
    why = _not_reduced(mechanism)
    if why is None:
        return Reduced(), []
    if suited:
        return Recursive(), [_recursive_note(mechanism)]
    return Augmented(), [f"augmented formulation, nothing eliminated, since {why}; formulation=Reduced() eliminates anyway"]


def _not_reduced(mechanism: Mechanism) -> str | None:
    """Why the constraints are not eliminated symbolically, or None."""
    rows, freedoms = len(mechanism.row_names), len(mechanism.scope.velocities) - len(mechanism.row_names)
    if rows > MOST_ROWS:
        return f"its {rows} velocity constraints are more than {MOST_ROWS}"
    if freedoms > MOST_FREEDOMS:
        return f"its {freedoms} degrees of freedom are more than {MOST_FREEDOMS}"
    if not mechanism.residual_constraints:
        return None
    if not mechanism.choices:
        return "no choice of independent velocities determines the others"
    plan, alternates, _ = mechanism.choose(())
    worst = mechanism.worst_amplification([plan.independent, *(j.independent for j in alternates)])
    return (
        f"a few choices of independent velocities do not suffice (they amplify others up to {worst:.3g} times)"
        if (worst > SERVES)
        else None
    )


def _recursive_note(mechanism: Mechanism) -> str:
    count, rows = len(mechanism.scope.velocities), len(mechanism.row_names) if mechanism.residual_constraints else 0
    loops = f", the forces of its {rows} constraint rows solved for together, nothing eliminated" if rows else ""
    return (
        f"recursive formulation along the tree{loops}, since it has {count} velocities; formulation=Reduced() eliminates "
        "symbolically"
    )


@lru_cache(maxsize=8)
def eliminated_tree(mechanism: Mechanism) -> EliminatedTree | str:
    """The tree with its contact rows eliminated body by body, or why that is impossible."""
    from draisine.dynamics.recursive.formulation import EliminatedTree  # small mechanisms do not need it

    try:
        return EliminatedTree(mechanism)
    except NotRecursive as problem:
        return str(problem)


def why_not_recursive(mechanism: Mechanism) -> str | None:
    """Why the recursive formulation does not apply, or None."""
    found = eliminated_tree(mechanism)
    return found if isinstance(found, str) else None


def _reduced_alternates(mechanism: Mechanism, tree: EliminatedTree) -> list[tuple[str, ...]]:
    """Other independent velocities for a run of the recursive formulation, which then goes on in reduced form: where a contact no
    longer determines the velocity that it eliminates. Not for long chains, whose reduced form takes too long."""
    if len(mechanism.scope.velocities) >= MANY_VELOCITIES:  # first: already the rows of a long chain take long
        return []
    if mechanism.residual_constraints or not tree.eliminated or _not_reduced(mechanism) is not None:
        return []
    plan, others, _ = mechanism.choose(())
    choices = [plan.independent, *(other.independent for other in others)]
    return [tuple(choice) for choice in choices if set(choice) != set(tree.independent)]


@checked
def derive(
    model: Model | System,
    laws: Mapping[str, Expr] | None = None,
    events: tuple[Event, ...] = (),
    work: bool | None = None,
    formulation: FormulationChoice | None = None,
) -> Equations:
    """Equations of motion of a described mechanism.

    `laws` gives inputs as expressions (compiled in); `events` adds to the model's own; `work` adds the work of inputs, dampers
    and rheonomic constraints as a state, so that the energy balance can be checked (by default where laws are given or the model
    is not conservative). `formulation` is `Reduced()`, `Recursive()` or `Augmented()`; by default it is chosen by structure and
    size, and a note says why.
    """
    system = model.freeze() if isinstance(model, Model) else model
    check_events(events)
    if formulation is not None and not isinstance(formulation, FormulationChoice):
        raise ArgumentError(f"formulation={formulation!r} is not a formulation; give Reduced(), Recursive() or Augmented()")
    given = {name: amount_in(law, None, f"law of input {name!r}") for name, law in (laws or {}).items()}
    try:
        return _derive(system, tuple(sorted(given.items())), tuple(events), work, formulation, ())
    except ExpressionError as problem:  # a measure that does not exist
        raise ModelError(f"model {system.name!r}: {problem}") from None


@lru_cache(maxsize=32)
def _derive(
    system: System,
    laws: tuple[tuple[str, Expr], ...],
    events: tuple[Event, ...],
    work: bool | None,
    formulation: FormulationChoice | None,
    chosen: tuple[str, ...],
) -> Equations:
    """`chosen` are names of independent velocities, and of the constraint rows to solve for; none for the best ones."""
    mechanism = _mechanism(system)
    check_events(events, [event.name for event in system.events])
    rows = tuple(name for name in chosen if name not in mechanism.scope.velocities and name in mechanism.row_names)
    mechanism = mechanism.with_rows(rows) if rows else mechanism
    requested = tuple(name for name in chosen if name not in rows) or system.independent
    choice, why = (formulation, []) if formulation is not None else choose_formulation(mechanism, requested)
    if mechanism.unilateral:
        _check_unilateral(mechanism, choice)
    if isinstance(choice, Augmented):
        from draisine.dynamics.augmented.formulation import AugmentedFormulation  # reduced equations do not need it

        augmented = AugmentedFormulation(mechanism, choice, dict(laws), events, work)
        equations = augmented.equations(why, partial(_derive, system, laws, events, work, choice))
        if mechanism.unilateral and not laws:
            assert isinstance(equations.report, LinearSolveProgram)
            equations = replace(equations, **_usual(augmented, equations.report))  # type: ignore[arg-type]
    elif isinstance(choice, Recursive):
        tree = eliminated_tree(mechanism)
        if isinstance(tree, str):
            raise ModelError(f"model {system.name!r} has no recursive formulation: {tree}; omit formulation=Recursive()")
        if requested and set(requested) != set(tree.independent):
            raise ModelError(
                f"model {system.name!r}: the independent velocities of its recursive formulation are "
                f"{', '.join(tree.independent)}, not "
                f"{', '.join(requested)}; omit formulation=Recursive()"
            )
        other = choice if mechanism.residual_constraints else None  # other velocities are eliminated, other rows are not
        equations = tree.formulation(dict(laws), events, work).equations(why, partial(_derive, system, laws, events, work, other))
        equations = replace(equations, alternates=(*equations.alternates, *_reduced_alternates(mechanism, tree)))
    else:
        plan, choices, notes = mechanism.choose(requested)
        reduced = ReducedFormulation(mechanism, plan, dict(laws), events, work)
        check_inertia(reduced)
        equations = reduced.equations(choices, notes, partial(_derive, system, laws, events, work, formulation))
    return replace(with_structure(equations, mechanism), described=system)


def _usual(augmented: AugmentedFormulation, report: LinearSolveProgram) -> Mapping[str, Program]:
    """Reduced equations of the usual modes of contacts; none where the formulation of ideal contacts would be another one."""
    system = augmented.usual_system()
    if system is None:
        return {}
    try:
        mechanism = _mechanism(system)
        if not isinstance(choose_formulation(mechanism, ())[0], Reduced):
            return {}
        reduced = ReducedFormulation(mechanism, mechanism.choose(())[0], {}, (), True)
        check_inertia(reduced)
    except (ModelError, ExpressionError):  # without slips a force may have no value, without contacts a motion no inertia
        return {}
    return augmented.usual_programs(reduced, report)


def _check_unilateral(mechanism: Mechanism, choice: FormulationChoice) -> None:
    """Refuse what contacts that open and slip exclude."""
    name, contacts = mechanism.system.name, ", ".join(contact.name for contact in mechanism.unilateral)
    if not isinstance(choice, Augmented):
        raise ModelError(
            f"model {name!r} has no formulation {choice!r}: its contacts {contacts} open and slip, and only the augmented one "
            "has all their modes; omit formulation="
        )
    if mechanism.multiplier_symbols:
        raise ModelError(
            f"model {name!r}: forces depend on the multipliers of {', '.join(mechanism.multiplier_symbols)}, by a contact law "
            f"with a bound or by name, while its contacts {contacts} open and slip; both together are not supported: give tires "
            "a vertical stiffness=, so that their normal force follows from the state, or leave out friction= of the contacts "
            "(of a brake, law='dry'), or the law"
        )


@lru_cache(maxsize=32)
def _mechanism(system: System) -> Mechanism:
    """Symbols of a description, shared by its choices, laws and events."""
    return Mechanism(system)

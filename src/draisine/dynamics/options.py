"""How the constraints of a mechanism are treated: put in, or carried along."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.options import Baumgarte
from draisine.dynamics.recursive.formulation import Grown
from draisine.errors import ModelError, NotRecursive
from draisine.program.linear_solve import Solver

MANY_VELOCITIES = 12  # of a tree that is treated body by body where that can be done
FEW_TIES = 1 / 3  # rows of ties for each velocity, up to which that is shorter than eliminating them in symbols
MOST_ROWS = 24  # constraint rows that are eliminated in symbols
MOST_FREEDOMS = 40  # velocities of a mass matrix that is factorized in symbols
SERVES = 5.0  # amplification that the few choices of independent velocities of a run should not pass anywhere


@dataclass(frozen=True)
class Reduced:
    """Dependent velocities are eliminated in symbols: the state holds the coordinates and the independent velocities. Shortest
    code for small mechanisms; velocity constraints hold exactly."""


@dataclass(frozen=True)
class Augmented:
    """Nothing is eliminated: all velocities are states, accelerations and multipliers are solved for together at every step.
    For large mechanisms, whose matrix is sparse. Drift is projected out; `stabilization` also feeds it back."""

    stabilization: Baumgarte | None = None
    solver: Solver = Solver.AUTO


@dataclass(frozen=True)
class Recursive:
    """Body by body along the tree: articulated inertias inward, accelerations outward, every contact solved for a velocity of the
    joints that lead to it. The cost grows with the number of bodies. For trees without constraints, with rolling wheels and
    blades that move in a plane, and with a few ties: velocities of closed loops stay states, and drift is projected out."""


Treatment = Reduced | Augmented | Recursive


def treatment_for(mechanism: Mechanism, wanted: tuple[str, ...]) -> tuple[Treatment, list[str]]:
    """What suits a mechanism, and why where it is not the usual; `wanted` are independent velocities that the user has chosen."""
    if mechanism.depends:
        loads = ", ".join(mechanism.depends)
        if wanted:
            raise ModelError(
                f"model {mechanism.system.name!r}: forces depend on the multipliers of {loads}, so that no velocities are "
                f"eliminated; do not choose independent ones ({', '.join(wanted)})"
            )
        return Augmented(), [f"treated whole, nothing eliminated, since forces depend on the multipliers of {loads}"]
    if wanted:
        return Reduced(), []
    suited = len(mechanism.scope.velocities) >= MANY_VELOCITIES and unsuited(mechanism) is None
    if suited and not mechanism.ties:
        return Recursive(), [_body_by_body(mechanism)]
    # with contacts the state would have lost some velocities to them and not others to the ties: nobody expects that unasked
    suited = suited and not mechanism.contacts and len(mechanism.row_names) <= MOST_ROWS
    if suited and len(mechanism.row_names) <= FEW_TIES * len(mechanism.scope.velocities):
        return Recursive(), [_body_by_body(mechanism)]
    why = _not_reduced(mechanism)
    if why is None:
        return Reduced(), []
    if suited:
        return Recursive(), [_body_by_body(mechanism)]
    return Augmented(), [f"treated whole, nothing eliminated, since {why}; formulation=Reduced() eliminates all the same"]


def _not_reduced(mechanism: Mechanism) -> str | None:
    """Why the constraints are not eliminated in symbols, or None."""
    rows, freedoms = len(mechanism.row_names), len(mechanism.scope.velocities) - len(mechanism.row_names)
    if rows > MOST_ROWS:
        return f"its {rows} velocity constraints are more than {MOST_ROWS}"
    if freedoms > MOST_FREEDOMS:
        return f"its {freedoms} degrees of freedom are more than {MOST_FREEDOMS}"
    if not mechanism.ties:
        return None
    plan, alternates, _ = mechanism.choose(())
    worst = mechanism.amplified([plan.independent, *(j.independent for j in alternates)])
    return (
        f"no few choices of independent velocities serve everywhere (they amplify others up to {worst:.3g} times)"
        if (worst > SERVES)
        else None
    )


def _body_by_body(mechanism: Mechanism) -> str:
    count, rows = len(mechanism.scope.velocities), len(mechanism.row_names) if mechanism.ties else 0
    ties = f", the forces of its {rows} tied residuals solved for together, nothing eliminated" if rows else ""
    return (
        f"treated body by body along the tree{ties}, since it has {count} velocities; formulation=Reduced() eliminates in symbols"
    )


@lru_cache(maxsize=8)
def grown(mechanism: Mechanism) -> Grown | str:
    """The tree with its rows solved body by body, or why that cannot be done."""
    try:
        return Grown(mechanism)
    except NotRecursive as problem:
        return str(problem)


def unsuited(mechanism: Mechanism) -> str | None:
    """Why a mechanism cannot be treated body by body, or None."""
    found = grown(mechanism)
    return found if isinstance(found, str) else None

"""Index reduction by differentiating the program: ẋ = f solved for at run time, hidden constraints kept and enforced.

Equations are differentiated as often as the Σ-method says, which makes a regular system for the highest derivatives. It is
solved at every evaluation; what has been differentiated stays as constraints, onto which the state is projected, so that
nothing drifts.

Algebraic unknowns that enter the last stage linearly (multipliers) are solved for there and are no states. Where they
enter nonlinearly (a control angle), their equations are differentiated once more, they become states, and the equations that
gave them become constraints too. With `implicit=True` nothing is solved: the result is 0 = F of index 1, for implicit methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from draisine.dynamics.dae.branch_structure import begin, closer, places, structure_on
from draisine.dynamics.dae.derivative_array import Others
from draisine.dynamics.dae.index_reduction import Lowered
from draisine.dynamics.dae.structure import DECEIVED, Structure, moved_by_inputs, structure
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.expr.expression import Expr, did_you_mean
from draisine.model.quantities import amount_in
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations


def reduce_index(
    equations: Equations,
    *,
    inputs: Mapping[str, Expr | str | float] | None = None,
    keep: Sequence[str] = (),
    implicit: bool = False,
    at: Mapping[str, float] | None = None,
) -> Equations:
    """The same motion by equations that any method can step: ẋ = f(t, x, u, p), with all hidden constraints enforced.

    - `inputs`: laws of inputs, put in before anything is differentiated; needed where a constraint moves with an input.
    - `keep`: algebraic unknowns that shall stay states, for events and laws that name them.
    - `implicit`: stop at index 1 and solve nothing.
    - `at`: values of some unknowns that tell one branch of solutions from others, where the index is not the same on all.

    Equations that are explicit already come back as they are. `notes` of the result say what was done.

    >>> import sympy as sp
    >>> from draisine.symbolic.differential_algebraic import semi_explicit
    >>> x, y, vx, vy, pull = sp.symbols("x y vx vy pull")
    >>> e = semi_explicit("pendulum", {x: vx, y: vy, vx: -x * pull, vy: -y * pull - 10}, unknowns=[pull],
    ...                   constraints={"length": x**2 + y**2 - 1}, start={x: 0.6, y: -0.8})
    >>> reduced = reduce_index(e)
    >>> [s.name for s in reduced.states], [m.name for m in reduced.multipliers]
    (['x', 'y', 'vx', 'vy'], ['pull'])
    >>> reduced.dynamics([0.0], [0.6, -0.8, 0.0, 0.0], [], [])[0].round(6).tolist()
    [0.0, 0.0, -4.8, -3.6]
    """
    if inputs:
        laws = {name: amount_in(law, None, f"law of input {name!r}") for name, law in inputs.items()}
        equations = with_laws(equations, laws)
    if not isinstance(equations.dynamics, DaeResidual):
        return equations
    shape = structure(equations)
    if at is not None:
        shape = _on_branch(equations, equations.dynamics, at)
    if not shape.regular:
        raise ModelError(
            f"{equations.name}: its index cannot be reduced by differentiating equations: {DECEIVED}. Combine the equations by "
            "hand so that what cancels is gone, or step the system as it stands by an implicit method"
        )
    _check_kept(equations, keep)
    kept = _keeping(shape, {*keep, *_watched(equations, shape)})
    linear = _linear(kept)
    # one more differentiation, wanted only to make z a state, may be one too many for an input
    if implicit or (moved_by_inputs(linear) and not moved_by_inputs(kept)):
        return Lowered(equations, kept, solved=False).equations()
    _check_inputs(equations, linear)
    return Lowered(equations, linear, solved=True).equations()


def _on_branch(equations: Equations, dynamics: DaeResidual, at: Mapping[str, float]) -> Structure:
    y, held = begin(equations, at)
    others = Others(0.0, np.zeros(len(equations.inputs)), equations.default_parameters)
    there = places(dynamics, closer(equations, y, others, held), others, held)
    if not there:
        said = ", ".join(f"{name} = {value:g}" for name, value in at.items())
        raise SolverError(
            f"{equations.name}: no solution was found with {said}; give values of a point that fulfils the equations"
        )
    return structure_on(equations, there)


def _keeping(shape: Structure, wanted: set[str]) -> Structure:
    """The structure in which the wanted unknowns are states."""
    least, system = dict(enumerate(shape.offsets.equations)), shape.system
    for i, k in enumerate(shape.offsets.partner):
        if system.unknowns[system.others[k]] in wanted and shape.offsets.unknowns[k] == 0:
            least[i] += 1
    return replace(shape, offsets=system.offsets(least))


def _linear(shape: Structure) -> Structure:
    """The structure in which the last stage is linear in what it is solved for."""
    while True:
        rows = [ca.jacobian(row, shape.tops) for row in ca.vertsplit(shape.stage)] if shape.system.rest else []
        curved = [i for i, row in enumerate(rows) if ca.depends_on(row, shape.tops)]
        if not curved:
            return shape
        least = dict(enumerate(shape.offsets.equations))
        least |= {i: least[i] + 1 for i in curved}
        shape = replace(shape, offsets=shape.system.offsets(least))


def _watched(equations: Equations, shape: Structure) -> list[str]:
    """Algebraic unknowns that events look at."""
    if equations.events is None:
        return []
    symbols = equations.events.symbols()
    (values,) = equations.events.function.call(symbols)
    system = shape.system
    return [system.unknowns[j] for j in system.others if ca.depends_on(values, symbols[1][j])]


def _check_kept(equations: Equations, keep: Sequence[str]) -> None:
    known = [q.name for q in equations.coordinates]
    for name in keep:
        if name not in known:
            raise ArgumentError(f"{equations.name}: keep names {name!r}, which is not an unknown{did_you_mean(name, known)}")


def _check_inputs(equations: Equations, shape: Structure) -> None:
    for equation, name in moved_by_inputs(shape):
        raise ModelError(
            f"{equations.name}: equation {equation!r} contains the input {name!r} and must be differentiated, but the rate of an "
            f"input is not known; give its law, reduce_index(…, inputs={{{name!r}: 'sin(t)'}}), or make it a parameter"
        )

"""Switching functions of variational equations: those of the equations, whose branches are fixed, then differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual, Program
from draisine.program.switching import Functions, Switching, find_switching
from draisine.program.variational import Direction, vary, vary_residual, widen, widen_solved

_TIME = Direction("t", "t", 0)  # with ẋ for its derivative of the state: the rate along the motion


def vary_switching(equations: Equations, directions: Sequence[Direction]) -> Switching | None:
    """The switching functions of (x, S₁, …, S_k), with which derivatives jump; None if there are none.

    Derivatives of 0 = F(t, x, ẋ) do not jump yet: equations in which ẋ jumps are refused.
    """
    found = find_switching(equations, free_kinks=True)
    if found is None:
        return None
    if isinstance(found.dynamics, DaeResidual):
        return _residual_switching(equations, directions)
    if any(_depends(found, k, directions) for k in found.graph.kinks):
        found = find_switching(equations)
        assert found is not None
    assert not isinstance(found.dynamics, DaeResidual)
    more = len(equations.states) * len(directions)
    return replace(
        found,
        dynamics=vary(found.dynamics, directions, {"xdot"}),
        arguments=_wide(found.arguments, more),
        rates=vary(found.rates, directions, {"rates"}),
        functions=None if found.functions is None else _wide(found.functions, more),
        saltation=vary(found.arguments, (*directions, _TIME), {"values"}),
        directions=len(directions),
    )


def _depends(found: Switching, number: int, directions: Sequence[Direction]) -> bool:
    """Whether the time of a kink depends on a direction: then it is fixed, since derivatives jump in their rate."""
    graph = found.graph.graph
    reached = graph.reached([found.graph.every[number].argument])
    return any(d.slot != "x" and graph.input(d.slot, d.place) in reached for d in directions)


def _wide(what: Functions, states: int) -> Functions:
    return widen(what, states) if isinstance(what, Program) else widen_solved(what, states)


def _residual_switching(equations: Equations, directions: Sequence[Direction]) -> Switching | None:
    """The switching functions of the varied residual, where only derivatives jump."""
    found = find_switching(equations)
    jumps = [] if found is None else [switch.name for switch in found.switches if switch.jump]
    if jumps:
        raise ArgumentError(
            f"{equations.name}: derivatives of its motion jump at {', '.join(jumps)}, which is not done for equations "
            "0 = F(t, x, ẋ); solve them for their rates (dr.dae.reduce_index), or write them without jumps (tanh for sign)"
        )
    assert isinstance(equations.dynamics, DaeResidual)
    return find_switching(replace(equations, dynamics=vary_residual(equations.dynamics, directions)), free_kinks=True)

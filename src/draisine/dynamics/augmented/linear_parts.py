"""Forces as linear functions of a few scalars that depend on the reactions: F(λ) = F₀ + B f(λ).

The forces of a tire are a few numbers of its normal force, which axes, levers and joints distribute over all velocities. That
distribution is linear and does not depend on λ: split off, an iteration for λ evaluates f alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

MOST_SCALARS = 24  # more than that, and what is split off is longer than what it saves


@dataclass(frozen=True)
class LinearParts:
    """F as a function of symbols, linear in them, and the scalars f for which they stand."""

    forces: ca.SX
    symbols: ca.SX
    scalars: ca.SX

    def at(self, scalars: ca.SX) -> ca.SX:
        """F₀ + B f for other scalars."""
        return ca.substitute(self.forces, self.symbols, scalars)

    def weighed(self, weights: ca.SX) -> ca.SX:
        """The product of a matrix with B."""
        return ca.jtimes(self.forces, self.symbols, weights.T, True).T


class _Node(NamedTuple):
    value: ca.SX
    operands: tuple[int, ...]  # their keys
    depends: bool  # on the variables


def linear_parts(forces: ca.SX, variables: ca.SX) -> LinearParts | None:
    """Forces in parts of which only the scalars depend on the variables; None where these are many.

    >>> x, c = ca.SX.sym("x"), ca.SX.sym("c")
    >>> sine = ca.sin(x)
    >>> parts = linear_parts(ca.vertcat(c + c * sine, sine), x)
    >>> parts.scalars, parts.at(ca.SX.sym("f")), parts.weighed(ca.SX([[1, 1]]))
    (SX(sin(x)), SX([(c+(c*f)), f]), SX((1+c)))
    """
    rows = [forces[i] for i in range(forces.numel())]
    nodes = _graph(rows, {variables[i].element_hash() for i in range(variables.numel())})
    scalars: list[ca.SX] = []
    found: dict[int, ca.SX] = {}
    for key in _exposed(rows, nodes):
        node = nodes[key]
        if not node.depends:
            found[key] = node.value
        elif _is_linear(node, nodes):
            found[key] = _again(node, [found[k] for k in node.operands])
        else:
            scalars.append(node.value)
            found[key] = ca.SX.sym(f"scalar_{len(scalars)}")
            if len(scalars) > MOST_SCALARS:
                return None
    symbols = [found[s.element_hash()] for s in scalars]
    parts = LinearParts(ca.vertcat(*[found[r.element_hash()] for r in rows]), ca.vertcat(*symbols), ca.vertcat(*scalars))
    # operands that are not seen, those of calls, could depend on the variables
    return None if not scalars or ca.depends_on(parts.forces, variables) else parts


def _graph(roots: Sequence[ca.SX], variables: set[int]) -> dict[int, _Node]:
    """All nodes of expressions, operands first. Without recursion: graphs are deeper than Python's stack."""
    found: dict[int, _Node] = {}
    waiting: list[tuple[ca.SX, int, list[ca.SX] | None]] = [(root, root.element_hash(), None) for root in roots]
    while waiting:
        value, key, operands = waiting.pop()
        if key in found:
            continue
        if operands is None:
            leaf = value.is_symbolic() or value.is_constant()
            operands = [] if leaf else [value.dep(k) for k in range(value.n_dep())]
            waiting.append((value, key, operands))
            waiting += [(o, o.element_hash(), None) for o in operands]
        else:
            keys = tuple(o.element_hash() for o in operands)
            found[key] = _Node(value, keys, key in variables or any(found[k].depends for k in keys))
    return found


def _exposed(roots: Sequence[ca.SX], nodes: dict[int, _Node]) -> list[int]:
    """The nodes that are reached from the roots through linear operations, operands first."""
    reached: set[int] = set()
    waiting = [root.element_hash() for root in roots]
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            if _is_linear(nodes[key], nodes):
                waiting += nodes[key].operands
    return [key for key in nodes if key in reached]


def _is_linear(node: _Node, nodes: dict[int, _Node]) -> bool:
    """Whether a node that depends on the variables is a sum, or a product with something that does not."""
    if not node.depends or not node.operands:
        return False
    operation = node.value.op()
    if operation in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE):
        return True
    dependent = [nodes[key].depends for key in node.operands]
    return (operation == ca.OP_MUL and not all(dependent)) or (operation == ca.OP_DIV and not dependent[1])


def _again(node: _Node, operands: Sequence[ca.SX]) -> ca.SX:
    """A linear operation on other operands."""
    operation = node.value.op()
    if operation == ca.OP_NEG:
        return -operands[0]
    if operation == ca.OP_TWICE:
        return 2 * operands[0]
    first, second = operands
    if operation == ca.OP_ADD:
        return first + second
    if operation == ca.OP_SUB:
        return first - second
    return first * second if operation == ca.OP_MUL else first / second

"""Bounds of the nodes of a graph that grows: those of a graph read at once, and no node is looked at twice."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from draisine.program import enclosures
from draisine.program import opcodes as op
from draisine.program.graph import Graph

BINARY = (op.ADD, op.SUB, op.MUL, op.DIV, op.FMIN, op.FMAX, op.LT, op.HYPOT, op.ATAN2, op.IF_ELSE_ZERO)
UNARY = (op.NEG, op.SQ, op.SIN, op.TANH, op.FABS, op.SQRT, op.EXP, op.FLOOR, op.SIGN, op.INV)
NUMBERS = (0.0, -0.0, 1.0, -2.5, 3e300, -1e-300, np.inf, -np.inf)


def test_bounds_of_a_growing_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: Counter[int] = Counter()
    own = enclosures._node

    def counted(graph: Graph, k: int, known: dict[int, enclosures.Enclosure]) -> enclosures.Enclosure:
        looked_at[k] += 1
        return own(graph, k, known)

    rng = np.random.default_rng(16)
    for _ in range(10):
        graph = Graph()
        nodes = [graph.input("x", i) for i in range(3)] + [graph.constant(value) for value in rng.normal(size=3)]
        growing, looked_at = enclosures.BoundsOfNodes(graph), Counter()
        for _ in range(60):
            kind = rng.choice(BINARY if rng.random() < 0.6 else UNARY)
            operands = rng.choice(nodes, 2 if kind in BINARY else 1).tolist()
            nodes.append(graph.add(int(kind), tuple(operands)))
            if rng.random() < 0.3:
                asked = int(rng.choice(nodes))
                with monkeypatch.context() as patch:
                    patch.setattr(enclosures, "_node", counted)
                    found = growing.of(asked)
                expected = enclosures.enclose(graph, [asked], {})[asked][0]
                assert found == (float(expected[0]), float(expected[1]))
        assert set(looked_at.values()) == {1}


def test_products_of_single_numbers_are_those_of_arrays() -> None:
    """All pairs of intervals between numbers that make trouble, and such without a value."""
    pairs = [(low, high) for low, high in itertools.product((*NUMBERS, np.nan), repeat=2) if not low > high]
    with np.errstate(all="ignore"):
        for a, b in itertools.product(pairs, repeat=2):
            one = enclosures._mul(tuple(map(np.array, a)), tuple(map(np.array, b)))  # type: ignore[arg-type]
            many = enclosures._mul(*(tuple(np.array([side]) for side in pair) for pair in (a, b)))  # type: ignore[arg-type]
            for single, array in zip(one, many, strict=True):
                np.testing.assert_array_equal(single, array[0])

"""Jumps of random piecewise functions against a search for discontinuities by bisection in plain Python."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from draisine.expr.expression import evaluate, parse
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.program.program import Program
from draisine.program.switching import switches_of

PYTHON = {name: getattr(math, name) for name in ("floor", "ceil", "sin", "cos", "tanh")} | {
    "abs": abs,
    "min": min,
    "max": max,
    "sign": lambda z: (z > 0) - (z < 0),
    "where": lambda condition, a, b: a if condition else b,
    "clip": lambda z, low, high: min(max(z, low), high),
}


def jumps(text: str) -> list[str]:
    """The names of the switches at which an expression of x and y jumps."""
    x = ca.SX.sym("x", 2)
    value = ca.SX(evaluate(parse(text), {"x": x[0], "y": x[1]}.__getitem__, SX_FUNCTIONS, {}))
    inputs = {"t": (ca.SX.sym("t"), ["t"]), "x": (x, ["x", "y"]), "p": (ca.SX(0, 1), [])}
    return [switch.name for switch in switches_of(Program.build("f", inputs, {"value": value})) if switch.jump]


@pytest.mark.parametrize(
    "text",
    [
        "where(x > 1e7, 5, 0)",
        "where(x > 1.5e11, 5, 0)",
        "where(x/1e3 > 7e4, 5, 0)",
        "where(floor(x/1000) > 7e8, 5, 0)",
        "where(abs(x - 3.7) < 0.001, 5, 0)",  # narrow
        "where(abs(x - 37.123) < 1e-6, 5, 0)",
        "where(sin(x) > 0.99999, 5, 0)",
        "where(floor(x/3) > 70.3, 5, 0)",  # one step of many
        "where(floor(x) >= 7000, 5, 0)",
        "sign(floor(x) - 777)",
        "max(floor(x/3), 800)",
        "sign(ceil(x))",  # between −1 and 0 and between 0 and 1 only
        "where(y > 300, where(x > 1, 1, 0), 0)",
        "where(x > 1, 2*x, x + 1.00001)",
        "(x - 1)/abs(x - 1)",
        "abs(where(x > 0, x - 1, x + 2))",
    ],
)
def test_jumps(text):
    assert jumps(text)


@pytest.mark.parametrize(
    "text",
    [
        "where(x > 0, where(x > 1, 2 - x, x), 0)",  # a triangular pulse: at 0 the inner condition does not hold
        "where(x > 0, where(x < 2, min(x, 2 - x), 0), 0)",
        "max(0, min(x, 2 - x))",
        "where(x > y, where(y > 1, 2 - y, y), where(x > 1, 2 - x, x))",
        "abs(x - 2*floor(x/2) - 1)",
        "floor(x) + clip(2*(x - floor(x)), 0, 1)",
        "where(x > 0, sqrt(abs(x)), -sqrt(abs(x)))",
        "sqrt(max(x - 1, 0))",
        "1e8 + abs(x)",
    ],
)
def test_kinks(text):
    assert not jumps(text)


def drawn(random: np.random.Generator, depth: int) -> str:
    """A random expression of x with nested switches."""
    kind = int(random.integers(0, 12)) if depth else 0
    a, b, c, d = (drawn(random, depth - 1) if depth else "" for _ in range(4))
    number = round(float(random.uniform(-2, 2)), 2)
    every = ["x" if random.uniform() < 0.75 else f"({number})", f"({a} + {b})", f"({a} - {b})", f"({a}*{b})", f"abs({a})"]
    every += [f"max({a}, {b})", f"sin({a})", f"where({a} > {b}, {c}, {d})", f"floor({a})", f"clip({a}, -1, 0.7)"]
    return [*every, f"({a} - floor({a}))", f"where({a} > 0, {b} + {a}, {b} - 0.5*({a}))"][kind]


def largest_jump(text: str, random: np.random.Generator) -> float:
    """The largest difference that remains when intervals are halved towards the larger part of it."""
    code = compile(text, "expression", "eval")

    def value(x: float) -> float:
        return float(eval(code, PYTHON, {"x": x}))

    places = np.sort(random.uniform(-4, 4, 1500))
    values = np.array([value(x) for x in places])
    found = 0.0
    for k in np.argsort(np.abs(np.diff(values)))[-25:]:
        low, high, left, right = places[k], places[k + 1], values[k], values[k + 1]
        for _ in range(45):
            middle = 0.5 * (low + high)
            between = value(middle)
            if abs(between - left) > abs(right - between):
                high, right = middle, between
            else:
                low, left = middle, between
        found = max(found, abs(right - left))
    return found


def test_random_functions():
    random = np.random.default_rng(5)
    counts = {True: 0, False: 0}
    while min(counts.values()) < 25:
        text = drawn(random, 3)
        jump = largest_jump(text, random) > 1e-6
        if jump:
            assert jumps(text), text
        counts[jump] += 1

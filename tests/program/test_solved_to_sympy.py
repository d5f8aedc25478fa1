"""Programs with a linear system inside as SymPy formulas, against their own evaluation."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.errors import ExpressionError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.symbolic.sympy_bridge import Listing, to_sympy

x, y = dynamicsymbols("x y")


def evaluated(listing: Listing, arguments: dict[str, Any]) -> dict[str, np.ndarray]:
    """Definitions one after the other, then the results, in floating-point numbers."""
    symbols = [symbol for slot in listing.symbols.values() for symbol in slot]
    values = np.concatenate([np.ravel(arguments[slot]) for slot in listing.symbols]).tolist()
    meaning = dict(zip(symbols, values, strict=True))
    for symbol, formula in listing.definitions:
        free = sorted(formula.free_symbols, key=str)
        meaning[symbol] = sp.lambdify(free, formula, "numpy")(*[meaning[s] for s in free])
    free = list(meaning)
    return {name: np.array(sp.lambdify(free, m, "numpy")(*meaning.values()), dtype=float) for name, m in listing.results.items()}


def agree(program: LinearSolveProgram, arguments: dict[str, Any]) -> None:
    found = evaluated(to_sympy(program), arguments)
    expected = program(*[arguments[slot.name] for slot in program.inputs])
    for slot, values in zip(program.outputs, expected, strict=True):
        if slot.size:
            assert found[slot.name].ravel() == pytest.approx(np.ravel(values), rel=1e-9, abs=1e-9), slot.name


def test_a_pendulum_in_cartesian_coordinates() -> None:
    """ẍ and ÿ of a point mass on a circle of radius 1, by hand; also where y or x is zero."""
    m, g = sp.symbols("m g")
    e = dr.lagrangian(
        "rod", [x, y], kinetic=m * (x.diff() ** 2 + y.diff() ** 2) / 2, potential=m * g * y,
        holonomic={"length": x**2 + y**2 - 1}, parameters={m: 2.0, g: 9.81}, start={x: 1},
    )  # fmt: skip
    listing = to_sympy(e.dynamics)
    px, py, vx, vy = listing.symbols["x"]
    gravity = next(s for s in listing.symbols["p"] if s.name == "g")
    pull = (vx**2 + vy**2 - gravity * py) / (px**2 + py**2)
    by_hand = sp.Matrix([vx, vy, -px * pull, -py * pull - gravity])
    assert sp.simplify(listing.expanded()["xdot"] - by_hand) == sp.zeros(4, 1)
    for state in ([1.0, 0.0, 0.0, 2.0], [0.0, -1.0, 1.0, 0.0]):
        agree(e.dynamics, {"t": [0.0], "x": state, "u": [], "p": [2.0, 9.81]})


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bicycle"])
def test_augmented_mechanisms(name: str) -> None:
    e = dr.derive(getattr(dr.gallery, name)(), work=False, formulation=dr.formulations.Augmented())
    start = dr.consistent_start(e, {"speed": 4.0, "lean": 0.1} if name == "bicycle" else {})
    given = {"t": [0.0], "x": start.x, "u": np.full(len(e.inputs), 0.3), "p": e.default_parameters}
    assert isinstance(e.dynamics, LinearSolveProgram)
    agree(e.dynamics, given)


def test_derivatives_have_several_right_hand_sides() -> None:
    e = dr.lagrangian(
        "cart", [x, y], kinetic=x.diff() ** 2 + y.diff() ** 2 + x.diff() * y.diff() * sp.cos(y), potential=sp.cos(y) + x**2
    )
    assert isinstance(e.dynamics, LinearSolveProgram)
    agree(e.dynamics.jacobian("xdot", "x"), {"t": [0.0], "x": [0.3, 0.7, -0.4, 1.1], "u": [], "p": []})


@pytest.mark.parametrize("seed", range(8))
def test_random_systems(seed: int) -> None:
    """Sparse, not symmetric, with zeros on the diagonal."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 7))
    a, z = ca.SX.sym("a", 3), ca.SX.sym("z", n)
    numbers = random.normal(size=(n, n)) * (random.uniform(size=(n, n)) < 0.6)
    numbers[np.arange(n), random.permutation(n)] += 3.0
    matrix = ca.sparsify(ca.SX(numbers)) * (1 + a[0] ** 2) + ca.diag(ca.vertcat(a[1], ca.SX.zeros(n - 1)))
    side = ca.vertcat(*[ca.sin((k + 1) * a[2]) for k in range(n)])
    program = LinearSolveProgram.build("random", {"a": a}, ca.sparsify(matrix), side, z, {"y": z * a[0], "s": ca.sum1(z)})
    for _ in range(3):
        agree(program, {"a": random.uniform(0.2, 1.2, 3)})


def test_iterated_systems_have_no_formula() -> None:
    a, z = ca.SX.sym("a"), ca.SX.sym("z")
    program = LinearSolveProgram.build("root", {"a": a}, ca.SX(1), a - z**3, z, {"y": z}, start=ca.SX(0.5))
    with pytest.raises(ExpressionError, match="Newton's iteration"):
        to_sympy(program)

"""Programs behind a linear system: machine code against NumPy, and derivatives through the solution."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.kernels import compile
from draisine.program.program import Program
from draisine.program.solved import Solved


def random_system(n: int, seed: int) -> Solved:
    rng = np.random.default_rng(seed)
    x, z = ca.SX.sym("x", 3), ca.SX.sym("z", n)
    constant = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6)  # with zeros on the diagonal too
    matrix = ca.SX(constant) + ca.sin(x[0]) * ca.SX(np.diag(rng.normal(size=n))) + x[1] * ca.SX(np.eye(n, k=1))
    side = ca.SX(rng.normal(size=n)) * x[2] + ca.cos(x[0])
    system = Program.build("system", {"x": x}, {"matrix": matrix, "side": side})
    after = Program.build("after", {"x": x, "z": z}, {"y": z * x[1], "sum": ca.sum1(z)})
    return Solved("random", system, after)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 43])
def test_machine_code_equals_numpy(n):
    solved = random_system(n, seed=n)
    kernel = compile(solved)
    rng = np.random.default_rng(n + 100)
    for _ in range(5):
        x = rng.normal(size=3)
        condition = np.linalg.cond(np.reshape(solved.system(x)[0], (n, n)))
        for ours, expected in zip(kernel(x), solved(x), strict=True):
            assert ours == pytest.approx(expected, rel=1e-13 * condition + 1e-13, abs=1e-13 * condition)


def test_rows_are_exchanged():
    """A zero on the diagonal is no obstacle: the augmented matrix of a mechanism has many."""
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z", 2)
    solved = Solved(
        "swap",
        Program.build("s", {"x": x}, {"matrix": ca.SX([[0, 2], [4, 0]]), "side": x}),
        Program.build("a", {"x": x, "z": z}, {"found": z}),
    )
    assert compile(solved)([6.0, 8.0])[0].tolist() == [2.0, 3.0]


def test_a_singular_system_gives_no_number():
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z", 2)
    solved = Solved(
        "flat",
        Program.build("s", {"x": x}, {"matrix": ca.SX([[1, 2], [2, 4]]), "side": x}),
        Program.build("a", {"x": x, "z": z}, {"found": z}),
    )
    assert not np.isfinite(compile(solved)([1.0, 5.0])[0]).any()


def test_derivative_through_the_solution():
    solved = random_system(5, seed=3)
    exact = solved.jacobian("y", "x")
    x, h = np.array([0.3, -0.7, 1.1]), 1e-6
    numeric = np.column_stack([(solved(x + h * e)[0] - solved(x - h * e)[0]) / (2 * h) for e in np.eye(3)])
    assert exact(x)[0] == pytest.approx(numeric, rel=1e-7, abs=1e-7)
    assert compile(exact)(x)[0] == pytest.approx(exact(x)[0], rel=1e-11, abs=1e-11)


def test_map_runs_over_samples():
    solved = random_system(4, seed=9)
    xs = np.random.default_rng(0).normal(size=(50, 3))
    expected = np.array([solved(x)[0] for x in xs])
    assert compile(solved).map(xs)[0] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_shapes_are_checked():
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z", 3)
    system = Program.build("s", {"x": x}, {"matrix": ca.SX.eye(2), "side": x})
    with pytest.raises(ValueError, match="the same arguments and the solution"):
        Solved("odd", system, Program.build("a", {"x": x, "z": z}, {"found": z}))
    with pytest.raises(ValueError, match="side has 2 entries"):
        Solved("odd", Program.build("s", {"x": x}, {"matrix": ca.SX.eye(3), "side": x}), system)

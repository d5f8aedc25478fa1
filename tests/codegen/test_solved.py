"""Programs behind a linear system: machine code against NumPy, and derivatives through the solution."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.codegen.jit.kernel import compile
from draisine.program.linear_solve import LinearSolveProgram, Pattern, Solver
from draisine.program.program import Program


def random_system(n: int, seed: int) -> LinearSolveProgram:
    rng = np.random.default_rng(seed)
    x, z = ca.SX.sym("x", 3), ca.SX.sym("z", n)
    constant = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6)  # with zeros on the diagonal too
    matrix = ca.SX(constant) + ca.sin(x[0]) * ca.SX(np.diag(rng.normal(size=n))) + x[1] * ca.SX(np.eye(n, k=1))
    side = ca.SX(rng.normal(size=n)) * x[2] + ca.cos(x[0])
    system = Program.build("system", {"x": x}, {"matrix": matrix, "side": side})
    after = Program.build("after", {"x": x, "z": z}, {"y": z * x[1], "sum": ca.sum1(z)})
    return LinearSolveProgram("random", system, after)


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


def sparse_system(n: int, seed: int, solver: Solver) -> LinearSolveProgram:
    """An arrow, a band and a few more entries, all of them functions of x."""
    rng = np.random.default_rng(seed)
    x, z = ca.SX.sym("x", 3), ca.SX.sym("z", n)
    matrix = ca.SX(n, n)
    for i in range(n):
        for j in {i, (i + 1) % n, n - 1, int(rng.integers(n))}:
            matrix[i, j] = rng.normal() + x[int(rng.integers(3))]
    matrix[-1, :] = ca.sin(x[1]) + ca.SX(rng.normal(size=(1, n)))
    side = ca.SX(rng.normal(size=n)) * x[2] + ca.cos(x[0])
    return LinearSolveProgram.build("sparse", {"x": x}, matrix, side, z, {"y": z * x[1], "sum": ca.sum1(z)}, solver)


@pytest.mark.parametrize("n", [1, 2, 9, 60, 400])
@pytest.mark.parametrize("solver", [Solver.DENSE, Solver.SPARSE])
def test_both_solvers_equal_the_interpreter(n, solver):
    """Up to 400 unknowns: the larger ones work on memory that each call takes for itself."""
    solved = sparse_system(n, n, solver)
    assert solved.sparse == (solver == Solver.SPARSE)
    kernel = compile(solved)
    rng = np.random.default_rng(n + 100)
    for _ in range(3):
        x = rng.normal(size=3)
        matrix, side = (np.array(part) for part in _numbers(solved, x))
        expected = np.linalg.solve(matrix, side)
        tolerance = 1e-13 * np.linalg.cond(matrix)
        for found in (kernel(x), solved(x)):
            assert found[0] == pytest.approx(expected * x[1], rel=tolerance, abs=tolerance)
            assert found[1] == pytest.approx([expected.sum()], rel=tolerance, abs=tolerance * n)


def _numbers(solved: LinearSolveProgram, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    symbols = solved.system.symbols()
    matrix, side = ca.Function("numbers", symbols, list(solved.linear(symbols)))(x)
    return matrix.full(), side.full()[:, 0]


def test_entries_alone_are_computed():
    solved = sparse_system(200, 1, Solver.AUTO)
    assert solved.system.outputs[0].size == solved.entry_pattern.nnz() < 200 * 6


def test_the_quicker_solver_is_chosen():
    """Full and small systems are eliminated; a chain of 40 unknowns is not; a pattern without a solution never is."""
    assert not random_system(20, seed=0).sparse
    assert not sparse_system(6, 0, Solver.AUTO).sparse
    x, z = ca.SX.sym("x", 40), ca.SX.sym("z", 40)
    band = ca.diag(2 + x) + ca.SX(ca.DM(np.eye(40, k=1) + np.eye(40, k=-1)))
    assert LinearSolveProgram.build("band", {"x": x}, band, x, z, {"found": z}).sparse
    band[7, :] = 0
    lost = LinearSolveProgram.build("lost", {"x": x}, band, x, z, {"found": z})
    assert not lost.sparse
    assert not np.isfinite(compile(lost)(np.ones(40))[0]).all()


def test_threads_do_not_meet_in_memory():
    from concurrent.futures import ThreadPoolExecutor

    solved = sparse_system(100, 3, Solver.SPARSE)
    kernel = compile(solved)
    xs = np.random.default_rng(1).normal(size=(4, 200, 3))
    alone = [kernel.map(x)[0] for x in xs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda x: kernel.map(x)[0], xs))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("solver", [Solver.DENSE, Solver.SPARSE])
def test_derivatives_use_the_same_factors(solver):
    solved = sparse_system(30, 5, solver)
    exact = solved.jacobian("y", "x")
    assert exact.size == 30
    assert exact.sparse == solved.sparse
    assert exact.sides == 4
    x, h = np.array([0.3, -0.7, 1.1]), 1e-6
    numeric = np.column_stack([(solved(x + h * e)[0] - solved(x - h * e)[0]) / (2 * h) for e in np.eye(3)])
    assert exact(x)[0] == pytest.approx(numeric, rel=1e-6, abs=1e-6)
    assert compile(exact)(x)[0] == pytest.approx(exact(x)[0], rel=1e-11, abs=1e-11)
    with pytest.raises(ValueError, match="cannot be differentiated again"):
        exact.jacobian("dy_dx", "x")


def test_rows_are_exchanged():
    """A zero on the diagonal is no obstacle: the augmented matrix of a mechanism has many."""
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z", 2)
    solved = LinearSolveProgram(
        "swap",
        Program.build("s", {"x": x}, {"matrix": ca.SX([[0, 2], [4, 0]]), "side": x}),
        Program.build("a", {"x": x, "z": z}, {"found": z}),
    )
    assert compile(solved)([6.0, 8.0])[0].tolist() == [2.0, 3.0]


def test_a_singular_system_gives_no_number():
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z", 2)
    solved = LinearSolveProgram(
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
        LinearSolveProgram("odd", system, Program.build("a", {"x": x, "z": z}, {"found": z}))
    with pytest.raises(ValueError, match="3 entries in 2 × 2, the matrix 4 entries and the right-hand side 2"):
        LinearSolveProgram("odd", system, system, Pattern.of(ca.Sparsity.lower(2)))
    with pytest.raises(ValueError, match="side has 2 entries"):
        LinearSolveProgram("odd", Program.build("s", {"x": x}, {"matrix": ca.SX.eye(3), "side": x}), system)

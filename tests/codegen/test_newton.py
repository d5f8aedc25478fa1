"""Systems whose side depends on what is solved for: Newton's method in the interpreter, in machine code and in exports."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import fsolve

from draisine.codegen.export.casadi_and_jax import as_casadi
from draisine.codegen.jit.kernel import compile
from draisine.program.interpreter import complex_step
from draisine.program.linear_solve import LinearSolveProgram, Solver

MATRIX = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]])
POINTS = [[1.0, 2.0], [-3.0, 0.5], [0.0, 0.0]]


def bent(solver: Solver = Solver.AUTO) -> LinearSolveProgram:
    a, z = ca.SX.sym("a", 2), ca.SX.sym("z", 3)
    side = ca.vertcat(a[0] + 0.3 * ca.sin(z[2]), a[1] + 0.5 * ca.tanh(z[0] * a[0]), a[0] * a[1])
    results = {"y": ca.vertcat(z, z[0] * a[1])}
    return LinearSolveProgram.build("bent", {"a": a}, ca.SX(ca.DM(MATRIX)), side, z, results, solver, start=ca.SX([0, 0, 1]))


def by_scipy(a: list[float]) -> np.ndarray:
    def gap(z: np.ndarray) -> np.ndarray:
        side = [a[0] + 0.3 * np.sin(z[2]), a[1] + 0.5 * np.tanh(z[0] * a[0]), a[0] * a[1]]
        return MATRIX @ z - side

    z = fsolve(gap, np.zeros(3), xtol=1e-14)
    return np.array([*z, z[0] * a[1]])


@pytest.mark.parametrize("solver", [Solver.DENSE, Solver.SPARSE])
@pytest.mark.parametrize("a", POINTS)
def test_solution_and_derivatives(solver: Solver, a: list[float]) -> None:
    solved = bent(solver)
    assert solved.iterates
    np.testing.assert_allclose(solved(a)[0], by_scipy(a), atol=1e-12)
    np.testing.assert_allclose(compile(solved)(a)[0], solved(a)[0], atol=1e-14)
    slope = solved.jacobian("y", "a")
    np.testing.assert_allclose(slope(a)[0], complex_step(solved, "y", "a", [a]), atol=1e-12)
    np.testing.assert_allclose(compile(slope)(a)[0], slope(a)[0], atol=1e-13)
    differences = np.column_stack([(by_scipy(a + 1e-6 * e) - by_scipy(a - 1e-6 * e)) / 2e-6 for e in np.eye(2)])
    np.testing.assert_allclose(slope(a)[0], differences, atol=1e-7)


@pytest.mark.parametrize("a", POINTS)
def test_written_out_in_rounds_it_is_the_same(a: list[float]) -> None:
    np.testing.assert_allclose(as_casadi(bent())(a).full()[:, 0], by_scipy(a), atol=1e-12)


def test_a_side_that_is_linear_in_the_unknowns_needs_one_solution() -> None:
    a, z = ca.SX.sym("a", 2), ca.SX.sym("z", 3)
    solved = LinearSolveProgram.build("plain", {"a": a}, ca.SX(ca.DM(MATRIX)), ca.vertcat(a, 1) + 0.3 * z, z, {"y": z})
    assert not solved.iterates
    np.testing.assert_allclose(solved([1.0, 2.0])[0], np.linalg.solve(MATRIX - 0.3 * np.eye(3), [1.0, 2.0, 1.0]), rtol=1e-14)


def test_without_a_solution_the_results_are_no_numbers() -> None:
    """z = z² + 1 has no real root: the iteration wanders and is given up."""
    a, z = ca.SX.sym("a"), ca.SX.sym("z")
    solved = LinearSolveProgram.build("none", {"a": a}, ca.SX(1), z**2 + a, z, {"y": z}, start=ca.SX(0.3))
    assert np.isnan(solved([1.0])[0]).all()
    assert np.isnan(compile(solved)([1.0])[0]).all()
    assert solved([0.0])[0] == pytest.approx(0.0, abs=1e-9)


def test_it_wants_a_start() -> None:
    a, z = ca.SX.sym("a"), ca.SX.sym("z")
    with pytest.raises(ValueError, match="give a start for Newton's method"):
        LinearSolveProgram.build("none", {"a": a}, ca.SX(1), z**2 + a, z, {"y": z})
    with pytest.raises(ValueError, match="give z"):
        bent().linear(bent().symbols())

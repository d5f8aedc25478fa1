"""Programs that carry derivatives along, against complex steps and solved systems by hand."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.program.interpreter import complex_step_derivatives
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.variational import Direction, jacobian, split, state_names, vary, vary_residual, widen

T, X, U, P = (ca.SX.sym(name, count) for name, count in (("t", 1), ("x", 3), ("u", 1), ("p", 2)))
ARGUMENTS = {"t": T, "x": (X, ("a", "b", "c")), "u": U, "p": P}
RATES = ca.vertcat(ca.sin(X[0] * P[1]) + U * X[2], X[0] * X[1] / P[0], ca.exp(-X[2]) * P[0] + T)
DIRECTIONS = (Direction("second", "p", 1), Direction("push", "u", 0), Direction("aside", "x"))
STATE, SEED = np.array([0.3, -1.2, 0.7]), np.array([[1.0, 0.0, 0.2], [0.5, -1.0, 0.0], [0.0, 2.0, 1.0]])
GIVEN = ([0.4], [0.9], [1.3, 0.8])  # t, u, p


def carried() -> np.ndarray:
    return np.concatenate([STATE, SEED.T.reshape(-1)])


def expected(program: Program) -> np.ndarray:
    """Complex steps along (S_j, the unit of the direction)."""
    t, u, p = GIVEN
    changes = {"x": SEED, "u": np.array([[0.0, 1.0, 0.0]]), "p": np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])}
    return complex_step_derivatives(program, [t, STATE, u, p], changes)["xdot"]


def test_program_against_complex_steps():
    program = Program.build("f", ARGUMENTS, {"xdot": RATES})
    t, u, p = GIVEN
    (found,) = vary(program, DIRECTIONS, {"xdot"})(t, carried(), u, p)
    np.testing.assert_array_equal(found[:3], program(t, STATE, u, p)[0])
    np.testing.assert_allclose(found[3:].reshape(3, 3).T, expected(program), rtol=1e-14)


def test_solved_against_its_elimination():
    """K z = r inside: the same derivatives as those of K⁻¹ r written out."""
    matrix = ca.SX([[2, 0], [0, 0]]) + ca.blockcat([[X[0] ** 2, P[1]], [-X[1], 3 + U * X[2]]])
    side = ca.vertcat(P[0] * X[2], X[0] + T)
    z = ca.SX.sym("z", 2)

    def after(solution: ca.SX) -> ca.SX:
        return ca.vertcat(solution[0] * X[1], solution[1] ** 2 + P[1], X[0])

    solved = LinearSolveProgram.build("s", ARGUMENTS, matrix, side, z, {"xdot": after(z)})
    plain = Program.build("s", ARGUMENTS, {"xdot": after(ca.inv(matrix) @ side)})
    t, u, p = GIVEN
    (found,) = vary(solved, DIRECTIONS, {"xdot"})(t, carried(), u, p)
    np.testing.assert_allclose(found[3:].reshape(3, 3).T, expected(plain), rtol=1e-12)
    *_, slope = jacobian(solved, DIRECTIONS)(t, STATE, u, p)
    by_state, by_given = slope[:, :3], slope[:, 3:]
    np.testing.assert_allclose(by_state @ SEED + np.column_stack([by_given, np.zeros(3)]), expected(plain), rtol=1e-12)


def test_newton_inside():
    """z³ + z = x a: the derivative of what Newton's method finds."""
    z = ca.SX.sym("z", 1)
    side = X[0] * P[0] - z**3
    solved = LinearSolveProgram.build("n", ARGUMENTS, ca.SX(1), side, z, {"xdot": ca.vertcat(z, X[1], X[2])}, start=ca.SX(0.1))
    assert solved.iterates
    t, u, p = GIVEN
    (found,) = vary(solved, (Direction("first", "p", 0),), {"xdot"})(t, np.concatenate([STATE, [1.0, 0, 0]]), u, p)
    root = found[0]
    assert root**3 + root == pytest.approx(STATE[0] * p[0], rel=1e-14)
    assert found[3] == pytest.approx((p[0] + STATE[0]) / (3 * root**2 + 1), rel=1e-12)


def test_a_derivative_is_not_differentiated_again():
    z = ca.SX.sym("z", 1)
    solved = LinearSolveProgram.build("n", ARGUMENTS, ca.SX(2) + X[0], X[1], z, {"xdot": ca.vertcat(z, X[1], X[2])})
    once = vary(solved, DIRECTIONS, {"xdot"})
    with pytest.raises(ValueError, match="differentiated only once"):
        vary(once, DIRECTIONS, {"xdot"})


def test_implicit_form():
    rate = ca.SX.sym("xdot", 3)
    arguments = {"t": T, "x": X, "xdot": rate, "u": U, "p": P}
    residual = ca.vertcat(rate[0] * P[0] - X[1], rate[1] + X[0] * rate[2], X[0] ** 2 + X[2] - P[1])
    made = vary_residual(
        DaeResidual("d", Program.build("d", arguments, {"residual": residual}), (1, 1, 2)), (Direction("a", "p", 0),)
    )
    assert made.index == (1, 1, 2, 1, 1, 2)
    x, s, v, w = (np.array(a) for a in ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]))
    found = made([0.0], np.concatenate([x, s]), np.concatenate([v, w]), [0.0], [2.0, 1.0])
    by_hand = [w[0] * 2.0 + v[0] - s[1], w[1] + s[0] * v[2] + x[0] * w[2], 2 * x[0] * s[0] + s[2]]
    np.testing.assert_allclose(found[3:], by_hand, rtol=1e-15)


def test_names_and_shapes():
    assert state_names(["a", "b"], DIRECTIONS[:1]) == ["a", "b", "a by second", "b by second"]
    x, s = split(np.arange(12.0)[None], 3, 3)
    np.testing.assert_array_equal(x[0], [0, 1, 2])
    np.testing.assert_array_equal(s[0][:, 0], [3, 4, 5])
    wide = widen(Program.build("f", ARGUMENTS, {"xdot": RATES}), 5)
    assert wide.input("x").size == 8

"""Switching functions in programs: found, fixed, bounded by margins; on random expressions against the programs themselves."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.codegen.jit.kernel import compile
from draisine.errors import ModelError
from draisine.expr.tables import Table
from draisine.program.branches import branches_at
from draisine.program.interpreter import complex_step, interpret
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.serialization import to_bytes
from draisine.program.switching import find_switching
from switching_problems import ARGUMENTS, CLAMPED, LINEAR, PLANE, SMOOTH, P, T, U, X, expression, system

x, v = X[0], X[1]


def found(rates):
    switching = find_switching(system(rates))
    return {} if switching is None else {switch.name: switch for switch in switching.switches}


def drawn(rng):
    """Random t, x, u, p."""
    return float(rng.uniform(-2, 4)), rng.uniform(-2, 2, 2), rng.uniform(-1, 1, 1), rng.uniform(0.5, 2, 1)


def test_the_pulse_of_a_torque_has_two_switches_of_time():
    switches = found(ca.if_else(T > 2, ca.if_else(T < 2.1, 1, 0), 0) - x)
    assert list(switches) == ["t > 2", "t < 2.1"]
    assert all(switch.time_only and switch.jump for switch in switches.values())


@pytest.mark.parametrize(
    ("rate", "names"),
    [
        (ca.fabs(v), ["abs(v)"]),
        (ca.sign(v) * P, ["sign(v)"]),
        (ca.fmax(x - P, 0), ["max(x - k, 0)"]),
        (ca.fmin(ca.fmax(x, -1), 1), ["max(x, -1)", "min(max(x, -1), 1)"]),
        (ca.floor(T / 0.1), ["floor(t/0.1)"]),
        (ca.if_else(x >= v, 1, 2), ["v <= x"]),
        (LINEAR(x), ["table(x)"]),
        (CLAMPED(x), ["table(x)"]),
        (ca.jacobian(LINEAR(x), x), ["table(x)"]),
        (ca.if_else(ca.sign(x) > 0, v, 0), ["sign(x)"]),
        # what jumps, or has a kink, in the argument of another
        (ca.if_else(ca.fabs(x) < 1, 1, 0), ["abs(x)", "abs(x) < 1"]),
        (ca.sign(v - ca.if_else(T < 2, 1, -1)), ["t < 2", "sign(v - where(t < 2, 1, -1))"]),
        # conditions on one surface are one switch
        (ca.if_else(x > 0, 1, 2) * ca.fabs(x) + ca.fmin(x, 0) + ca.if_else(x <= 0, v, 0), ["x > 0"]),
    ],
)
def test_found_and_named(rate, names):
    assert list(found(rate)) == names


@pytest.mark.parametrize(
    "rate",
    [
        SMOOTH(x),
        ca.jacobian(SMOOTH(x), x),
        ca.hessian(SMOOTH(x), x)[0],  # continuous, with kinks at the knots of a C² spline
        ca.fabs(U) * x,  # an input is constant within a step
        ca.if_else(P > 1, x, v),
        ca.fmax(x**2, -1),
        ca.fabs(ca.cosh(x)) + ca.fmax(ca.cos(x) - 1, 0),
        ca.fabs(x) * x,
        ca.if_else(x < 3, 0, (x - 3) ** 2),
        ca.fmax(x - v, 0) ** 1.5,
        ca.if_else(x > v, ca.sin(x), ca.sin(x)),
    ],
)
def test_not_found_where_value_and_slope_are_continuous(rate):
    assert found(rate) == {}


@pytest.mark.parametrize(
    ("rate", "jump"),
    [
        (ca.if_else(x < 3, 0, x - 3), False),
        (ca.if_else(x < 3, 0, x), True),
        (ca.if_else(x < v, ca.sin(v), ca.sin(x)), False),
        (ca.sign(x) * x, False),
        (ca.sin(x) * ca.sign(ca.sin(x) * v), True),  # a kink at x = 0, and a jump at v = 0
        (ca.fabs(ca.sin(x) * v), False),
        (ca.sqrt(ca.fmax(x, 0)), False),
        (1e-9 * ca.sign(x), True),
        (1e-9 * ca.fabs(x) + v, False),
        (LINEAR(x), False),
        (ca.jacobian(LINEAR(x), x), True),
    ],
)
def test_jumps_and_kinks_are_told_apart(rate, jump):
    (switch,) = found(rate).values()
    assert switch.jump is jump


def test_tables_switch_at_their_breaks_alone():
    assert found(CLAMPED(x))["table(x)"].breaks == (-1.0, 1.5)
    assert found(LINEAR(x))["table(x)"].breaks == (-0.2, 0.4)
    assert sorted(switch.breaks for switch in find_switching(system(PLANE(x, v))).switches) == [(-1.0, 0.1, 1.0), (-0.5, 0.6)]


LATE = Table("late", tuple(range(12)), (0.0,) * 9 + (1.0, 0.5, 0.0), kind="linear")


@pytest.mark.parametrize(
    ("rate", "name"),
    [
        (ca.if_else(P > 100, ca.sign(v), 0), "sign(v)"),
        (ca.fmax(P - 50, 0) * ca.sign(v), "sign(v)"),
        (ca.floor(P / 10) * ca.fabs(v), "abs(v)"),
        (ca.if_else(ca.floor(x) > 5, ca.sign(v), 0), "sign(v)"),
        (LATE(x) * ca.sign(v), "sign(v)"),
        (LATE(P) * ca.sign(v), "sign(v)"),
        ((-1e-14 * ca.sign(v) - P * x) / (U + 2), "sign(v)"),
        (1e-20 * ca.fabs(v) + x, "abs(v)"),
    ],
)
def test_effects_are_found_that_ordinary_numbers_do_not_show(rate, name):
    """Conditions of parameters out of the range of drawn numbers, cells of tables far away, small forces beside large ones."""
    assert name in found(rate)


def test_names_of_derivatives_of_tables_are_reserved():
    with pytest.raises(ModelError, match="names that end in _d and a number"):
        Table("road_d2", (0.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize("seed", range(20))
def test_fixed_is_the_original_wherever_all_margins_are_positive(seed):
    rng = np.random.default_rng(seed)
    equations = system([expression(rng, 3, [T, x, v, U, P]) for _ in range(2)])
    switching = find_switching(equations)
    if switching is None:
        return
    free = [k for k, switch in enumerate(switching.switches) if not switch.time_only]
    timely = set(range(len(switching.switches))) - set(free)
    inside = left = 0
    for _ in range(20):
        t, state, u, p = drawn(rng)
        branches = branches_at(switching, t, state, u, p).values
        given = np.concatenate([p, branches])
        original = interpret(equations.dynamics, [t], state, u, p)[0]
        assert_allclose(interpret(switching.dynamics, [t], state, u, given)[0], original, rtol=1e-12, atol=1e-12)
        if switching.functions is not None:
            assert (interpret(switching.functions, [t], state, u, given)[0] >= 0.0).all()
        mine, theirs = (
            complex_step(d, "xdot", "x", [[t], state, u, q]) for d, q in ((equations.dynamics, p), (switching.dynamics, given))
        )
        assert_allclose(theirs, mine, rtol=1e-9, atol=1e-9)
        # a step away the branches are those from before as long as no margin is negative
        near = state + 0.3 * rng.normal(size=2)
        margins = np.ones(1) if switching.functions is None else interpret(switching.functions, [t], near, u, given)[0]
        new = branches_at(switching, t, near, u, p).values
        if (margins >= 0.0).all():
            inside += 1
            assert (new == branches).all() or timely
            original = interpret(equations.dynamics, [t], near, u, p)[0]
            assert_allclose(interpret(switching.dynamics, [t], near, u, given)[0], original, rtol=1e-12, atol=1e-12)
        else:
            left += 1
            first = switching.margins[int(np.argmin(margins))]
            assert first.switch in free
    assert inside + left == 20


@pytest.mark.parametrize("seed", range(6))
def test_compiled_and_casadi_forms_agree_with_the_interpreter(seed):
    rng = np.random.default_rng(100 + seed)
    equations = system([expression(rng, 3, [T, x, v, U, P]) for _ in range(2)])
    switching = find_switching(equations)
    programs = [switching.dynamics, switching.arguments, switching.rates, *([switching.functions] if switching.functions else [])]
    for program in programs:
        kernel = compile(program)
        for _ in range(5):
            t, state, u, p = drawn(rng)
            given = [t], state, u, np.concatenate([p, branches_at(switching, t, state, u, p).values])
            expected = interpret(program, *given)[0]
            assert_allclose(np.atleast_1d(kernel(*given)).ravel(), expected, rtol=1e-12, atol=1e-12)
            assert_allclose(program(*given)[0], expected, rtol=1e-12, atol=1e-12)
            derivatives = program.jacobian(program.outputs[0].name, "x")(*given)[0]
            assert_allclose(derivatives, complex_step(program, program.outputs[0].name, "x", given), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_rates_are_derivatives_along_the_motion(seed):
    rng = np.random.default_rng(200 + seed)
    switching = find_switching(system([expression(rng, 2, [T, x, v, U, P]) for _ in range(2)]))
    if switching is None:
        return
    for _ in range(10):
        t, state, u, p = drawn(rng)
        given = np.concatenate([p, branches_at(switching, t, state, u, p).values])
        rate = interpret(switching.dynamics, [t], state, u, given)[0]
        by_state, by_time = (complex_step(switching.arguments, "values", slot, [[t], state, u, given]) for slot in ("x", "t"))
        assert_allclose(
            interpret(switching.rates, [t], state, u, given)[0], by_state @ rate + by_time[:, 0], rtol=1e-10, atol=1e-10
        )


def test_branches_are_those_right_after_the_state():
    fall = find_switching(system([v, -9.81 + ca.if_else(x < 0, -1000 * x, 0)]))
    zero = np.zeros(2), np.zeros(1), np.ones(1)
    assert branches_at(fall, 0.0, *zero).values == [0.0]  # z = x falls below zero, with zero velocity at first
    assert branches_at(fall, 0.0, np.array([0.0, 3.0]), *zero[1:]).values == [1.0]
    assert branches_at(fall, 0.0, np.array([0.0, 3.0]), *zero[1:], forward=False).values == [0.0]
    friction = find_switching(system([v, U - P * ca.sign(v)]))
    stuck, pushed, pulled = (branches_at(friction, 0.0, np.zeros(2), np.array([u]), np.ones(1)) for u in (0.5, 2.0, -2.0))
    assert stuck.sliding and stuck.values == [0.5]  # the value of sign(0) in between
    assert (pushed.values, pulled.values) == ([1.0], [0.0]) and not pushed.sliding
    repelled = branches_at(find_switching(system([v, ca.sign(v)])), 0.0, *zero)
    assert repelled.ambiguous and not repelled.sliding
    still = branches_at(find_switching(system([ca.sign(v) * x, 0])), 0.0, np.array([1.0, 0.0]), *zero[1:])
    assert still.values == [0.5] and not still.sliding and not still.ambiguous
    later = find_switching(system([ca.if_else(T > 2, 1, 0), 0]))
    assert [branches_at(later, 2.0, *zero, forward=way).values[0] for way in (True, False)] == [1.0, 0.0]


def test_solutions_of_linear_systems_can_switch():
    """x′ = −z₀ with 2 z₀ + |z₁| = …: a switch in the matrix, one in the side, one in the solution."""
    z = ca.SX.sym("z", 2)
    matrix = ca.vertcat(ca.horzcat(2 + ca.fabs(x), 0.3), ca.horzcat(0.1, 1 + ca.if_else(T > 1, 1, 0)))
    dynamics = LinearSolveProgram.build(
        "solved", ARGUMENTS, matrix, ca.vertcat(ca.sign(v), U), z, {"xdot": (ca.vertcat(z[0], ca.fmax(z[1], 0)), ["x", "v"])}
    )
    switching = find_switching(SimpleNamespace(dynamics=dynamics))
    assert [s.name for s in switching.switches] == ["abs(x)", "t > 1", "sign(v)", "switch 4"]
    assert isinstance(switching.functions, LinearSolveProgram)
    rng = np.random.default_rng(3)
    for _ in range(30):
        t, state, u, p = drawn(rng)
        given = np.concatenate([p, branches_at(switching, t, state, u, p).values])
        assert_allclose(switching.dynamics([t], state, u, given)[0], dynamics([t], state, u, p)[0], rtol=1e-13)
        assert (switching.functions([t], state, u, given)[0] > 0.0).all()


def test_residuals_can_switch():
    rate = ca.SX.sym("xdot", 2)
    arguments = {"t": T, "x": (X, ["x", "v"]), "xdot": rate, "u": U, "p": P}
    residual = ca.vertcat(rate[0] - v, rate[1] + ca.sign(v) + ca.fabs(rate[0]) * x - U)
    dynamics = DaeResidual("friction", Program.build("friction", arguments, {"residual": residual}))
    switching = find_switching(SimpleNamespace(dynamics=dynamics))
    assert switching.switches[0].name == "sign(v)" and len(switching.switches) == 2
    t, state, u, p = drawn(np.random.default_rng(4))
    rates = np.array([-0.3, 0.7])
    given = np.concatenate([p, [float(state[1] > 0), 0.0]])
    assert_allclose(switching.dynamics([t], state, rates, u, given), dynamics([t], state, rates, u, p), rtol=1e-14)
    assert switching.dynamics.differential == (True, True)
    assert (switching.functions([t], state, rates, u, given)[0] > 0.0).all()


def test_stored_programs_are_analyzed_without_casadi(tmp_path):
    data = tmp_path / "program"
    data.write_bytes(to_bytes(system(ca.if_else(T > 2, LINEAR(x), ca.fabs(v))).dynamics))
    code = (
        "import sys, pathlib; from types import SimpleNamespace as S; from draisine.program.serialization import from_bytes;"
        "from draisine.program.switching import find_switching; from draisine.program.switch_times import switch_times;"
        f"s = find_switching(S(dynamics=from_bytes(pathlib.Path({str(data)!r}).read_bytes())));"
        "s.dynamics.digest, s.functions.digest;"
        "heavy = {'casadi', 'scipy', 'sympy'} & set(sys.modules);"
        "print(len(s.switches), switch_times(s, 0.0, 5.0, [0.0], [0.0]).times.tolist(), heavy)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "3 [2.0] set()\n"

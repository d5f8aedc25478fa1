"""Programs and equations as bytes: the same digests, tapes and numbers, and what is damaged is refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.codegen.jit.kernel import compile
from draisine.dynamics.derive import derive
from draisine.errors import DataError
from draisine.expr.tables import Table
from draisine.gallery import model
from draisine.program import opcodes as operation
from draisine.program.equations import Equations
from draisine.program.interpreter import interpret
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.serialization import StoredCode, from_bytes, to_bytes

PROGRAMS = ("dynamics", "report", "motion", "project", "monitor", "events", "inverse_dynamics", "causes")


@pytest.fixture(scope="module")
def bicycle() -> Equations:
    return derive(model("bicycle"))


@pytest.fixture(scope="module")
def again(bicycle: Equations) -> Equations:
    return from_bytes(to_bytes(bicycle))


def test_numbers_of_operations_never_change():
    """They stand in stored programs; new ones go to the end."""
    assert operation.NUMBERS["ADD"] == 1 and operation.NUMBERS["CALL"] == operation.CALL == 47
    assert operation.NAMES[56] == "REMAINDER" and all(getattr(operation, n) == k for n, k in operation.NUMBERS.items())


@pytest.mark.parametrize("which", PROGRAMS)
def test_equations_come_back_program_by_program(bicycle: Equations, again: Equations, which: str):
    one, other = getattr(bicycle, which), getattr(again, which)
    assert isinstance(other.code, StoredCode)
    assert (one.digest, one.inputs, one.outputs, one.operations) == (other.digest, other.inputs, other.outputs, other.operations)
    assert one.tape == other.tape
    assert one.function.serialize() == other.function.serialize()


def test_equations_come_back_name_by_name(bicycle: Equations, again: Equations):
    names = ("coordinates", "velocities", "independent", "inputs", "parameters", "multipliers", "outputs", "force_outputs")
    names += ("constraints", "event_list", "quaternions", "extra_states", "limits")
    for name in (*names, "alternates", "notes", "warnings"):
        assert getattr(bicycle, name) == getattr(again, name), name
    assert again.with_independent is None


def test_derivatives_have_the_same_tape(bicycle: Equations, again: Equations):
    one, other = (e.dynamics.jacobian("xdot", "x") for e in (bicycle, again))
    assert one.tape == other.tape


def test_other_choices_of_velocities_travel(bicycle: Equations):
    again = from_bytes(to_bytes(bicycle, alternates=True))
    choice = bicycle.alternates[1]
    other = again.with_independent(choice)
    assert other.independent == choice
    assert other.dynamics.digest == bicycle.with_independent(choice).dynamics.digest
    assert other.with_independent(bicycle.independent).dynamics.digest == bicycle.dynamics.digest


def test_bytes_of_what_came_back_are_as_good(again: Equations, bicycle: Equations):
    third = from_bytes(to_bytes(again))
    assert third.report.tape == bicycle.report.tape and third.report.digest == bicycle.report.digest


@pytest.mark.parametrize("kind", ["linear", "spline"])
def test_tables_and_callees_travel(kind: str):
    x = ca.SX.sym("x", 2)
    table = Table("curve", (0.0, 1.0, 3.0), (0.0, 10.0, -2.0), kind=kind)
    a = ca.SX.sym("a", 2)
    inner = ca.Function("inner", [a], [ca.vertcat(a[0] * ca.sin(a[1]), table(a[1]))], {"never_inline": True})
    program = Program.build("outer", {"x": x}, {"y": inner(inner(x) + x), "z": table(x[0]), "w": np.inf * x[1]})
    again = from_bytes(to_bytes(from_bytes(to_bytes(program))))
    for point in ([0.4, 0.7], [-1.0, 5.0]):
        for one, other in zip(interpret(program, point), interpret(again, point), strict=True):
            assert np.array_equal(one, other)
        for one, other in zip(compile(program)(point), compile(again)(point), strict=True):
            assert np.array_equal(one, other)
    jacobian = program.jacobian("y", "x"), again.jacobian("y", "x")
    assert np.array_equal(jacobian[0]([0.4, 0.7])[0], jacobian[1]([0.4, 0.7])[0])


def test_systems_solved_at_run_time_travel():
    e = model("n_pendulum")
    again = from_bytes(to_bytes(e))
    assert isinstance(e.dynamics, LinearSolveProgram) and isinstance(again.dynamics, LinearSolveProgram)
    assert again.dynamics.digest == e.dynamics.digest and again.dynamics.pattern == e.dynamics.pattern


def test_residuals_travel_with_their_jacobian():
    e = model("three_body_with_multiplier")
    again = from_bytes(to_bytes(e))
    assert isinstance(e.dynamics, DaeResidual) and isinstance(again.dynamics, DaeResidual)
    assert "_jacobians" not in vars(again.dynamics)
    assert again.dynamics.jacobian.tape == e.dynamics.jacobian.tape
    assert again.dynamics.differential == e.dynamics.differential
    assert all(np.array_equal(a, b) for a, b in zip(again.dynamics.pattern, e.dynamics.pattern, strict=True))


def test_damage_is_noticed(bicycle: Equations):
    data = to_bytes(bicycle.events)
    for bad in (data[:-1], data[:60] + bytes([data[60] ^ 1]) + data[61:], b"something else" + data, b""):
        with pytest.raises(DataError):
            from_bytes(bad)


def test_strange_things_are_refused():
    with pytest.raises(TypeError, match="cannot be stored"):
        to_bytes(3.0)  # type: ignore[arg-type]

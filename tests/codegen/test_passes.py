"""Passes over straight lists: fewer operations, the same results.

Results before and after a pass are compared in fifty digits, where rounding cannot hide a mistake, and as machine code.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import casadi as ca
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from draisine.codegen.jit.kernel import compile, compile_hoisted
from draisine.codegen.passes import NONE, Passes
from draisine.codegen.passes.pipeline import Stage, hoisted_parts, run_passes, split_into_stages, split_prologue
from draisine.dynamics.derive import derive
from draisine.gallery import model
from draisine.program import opcodes as op
from draisine.program.arithmetic import Operations, exact_operations
from draisine.program.equations import Equations
from draisine.program.interpreter import interpret
from draisine.program.program import Program
from draisine.program.ssa import CONSTANT, INPUT, SELECT, SSA, live_values, to_ssa
from every_operation import BINARY, UNARY

EVERY = [Passes(*switches) for switches in product((False, True), repeat=4)]


def evaluate(unit: SSA, inputs: list[list[Any]], table: Operations) -> dict[tuple[int, int], Any]:
    """The results of a list, by slot and entry; what no result needs is left out."""
    values: list[Any] = []
    needed = {*live_values(unit), *(v for _, _, v in unit.results)}
    needed |= {o for v in needed for o in unit.values[v].operands}
    for v, (kind, operands, detail) in enumerate(unit.values):
        if v not in needed:
            values.append(None)
            continue
        taken = [values[o] for o in operands]
        if kind == INPUT:
            values.append(inputs[detail[0]][detail[1]])
        elif kind == CONSTANT:
            values.append(mpmath.mpf(float.fromhex(detail)))
        elif kind == SELECT:
            values.append(taken[1] if taken[0] != 0 else taken[2])
        else:
            values.append(table[kind](*taken))
    return {(slot, entry): values[value] for slot, entry, value in unit.results}


def in_two(unit: SSA, inputs: list[list[Any]], slot: int | None, passes: Passes) -> dict[tuple[int, int], Any]:
    """The results by prologue and evaluation."""
    table = exact_operations()
    parts = split_prologue(unit, slot, 0 if slot is None else len(inputs[slot]), passes)
    found = evaluate(parts.prologue, inputs, table)
    if slot is not None:
        inputs = [
            [*column, *(found[0, k] for k in range(parts.count))] if i == slot else column for i, column in enumerate(inputs)
        ]
    return evaluate(parts.evaluation, inputs, table)


def by_entry(slot: int, entry: int) -> int:
    """Parameters are known before the first state, the first state before the second."""
    return 0 if slot == 1 else 1 + entry


def in_three(unit: SSA, inputs: list[list[Any]]) -> dict[tuple[int, int], Any]:
    """The results of a list of (x, p) in stages: p alone, p and the first state, all; values for later stages are slot 2."""
    stages = [Stage(k, 9, (2, 0), unit.results if k == 2 else ()) for k in range(3)]
    passed: list[Any] = []
    found: dict[tuple[int, int], Any] = {}
    for k, stage in enumerate(split_into_stages(unit, stages, by_entry)):
        known = [[inputs[0][0] if k > 0 else None, inputs[0][1] if k > 1 else None], inputs[1], passed]
        found = evaluate(stage.ssa, known, exact_operations())
        passed = [*passed, *(found.pop((9, j)) for j in range(stage.count))]
    return found


def exactly(program: Program, seed: int) -> tuple[SSA, list[list[Any]]]:
    random = np.random.default_rng(seed)
    points = [[mpmath.mpf(float(v)) for v in random.uniform(0.5, 2.0, slot.size)] for slot in program.inputs]
    return to_ssa(program.tape), points


def same(one: dict[tuple[int, int], Any], other: dict[tuple[int, int], Any]) -> None:
    assert one.keys() == other.keys()
    for place, value in one.items():
        assert abs(other[place] - value) <= mpmath.mpf(10) ** -40 * max(1, abs(value)), place


def operations(unit: SSA) -> dict[str, int]:
    kinds = [op.NAMES[unit.values[v].kind] for v in live_values(unit)]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


# ----------------------------------------------------------------------------------------------------- random programs

SMOOTH = ("neg", "sq", "twice", "inv", "sin", "cos", "tanh", "atan", "asinh", "fabs", "exp", "erf", "sqrt")
PAIRS = ("add", "sub", "mul", "div", "if_else", "fmin", "fmax", "lt", "atan2")


@st.composite
def programs(draw: Any) -> Program:
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    values = [x[0], x[1], p[0], p[1], ca.SX(-2.5), ca.SX(1.0)]
    names = st.sampled_from([*PAIRS[:4], *PAIRS[:4], *PAIRS, *SMOOTH])
    for name in draw(st.lists(names, min_size=2, max_size=25)):
        pick = st.integers(0, len(values) - 1)
        count = 2 if name in PAIRS else 1
        operands = [values[draw(pick)] for _ in range(count)]
        values.append((BINARY if count == 2 else UNARY)[name](*operands))
    return Program.build("random", {"x": x, "p": p}, {"y": ca.vertcat(*values[6:]), "last": -values[-1]})


@settings(max_examples=120)
@given(programs(), st.integers(0, 2**32 - 1), st.sampled_from(EVERY))
def test_random_programs_in_fifty_digits(program: Program, seed: int, passes: Passes):
    with mpmath.workdps(60):
        unit, points = exactly(program, seed)
        try:
            whole = evaluate(unit, points, exact_operations())
        except (ZeroDivisionError, ValueError, TypeError, OverflowError):
            assume(False)  # beyond what these functions are defined for
        assume(all(isinstance(v, mpmath.mpf) and mpmath.isfinite(v) and abs(v) < 1e8 for v in whole.values()))
        same(whole, evaluate(run_passes(unit, passes), points, exact_operations()))
        same(whole, in_two(unit, points, 1, passes))
        same(whole, in_three(run_passes(unit, passes, by_entry, range(3)), points))


# ------------------------------------------------------------------------------------------------------- each by itself


def unit_of(*expressions: ca.SX, x: ca.SX) -> SSA:
    # without CasADi's own search, which would find some of it
    function = ca.Function("f", [x], [ca.vertcat(*expressions)])
    from draisine.program.casadi_functions import CasadiCode

    return to_ssa(CasadiCode(function).tape)


def test_sign_and_order_do_not_matter():
    x = ca.SX.sym("x", 3)
    a, b, c = (x[k] for k in range(3))
    unit = unit_of((a - b) * c, c * (b - a), (a + b) / c, (-b - a) / c, ca.sin(a - b), ca.sin(b - a), ca.cos(b - a), x=x)
    alone = Passes(reciprocals=False)
    assert operations(run_passes(unit, alone)) == {"ADD": 1, "COS": 1, "DIV": 1, "MUL": 1, "NEG": 3, "SIN": 1, "SUB": 1}
    assert operations(run_passes(unit, NONE)) == operations(unit)


def test_signs_go_into_constants_and_differences():
    x = ca.SX.sym("x", 2)
    unit = unit_of(-(3 * x[0]), -(x[0] - x[1]), -(x[0] * x[1]) + x[1], x=x)
    assert operations(run_passes(unit)) == {"MUL": 2, "SUB": 2}


def test_divisions_by_one_number_become_products():
    x = ca.SX.sym("x", 4)
    unit = unit_of(x[0] / x[3], x[1] / x[3], 1 / x[3], x[2] / 3, x[0] / x[1], x[2] / 1e-200, x=x)
    made = run_passes(unit)
    assert operations(made) == {"DIV": 2, "INV": 2, "MUL": 3}  # 1/x and 1/3


def test_what_follows_from_parameters_alone_is_found_beforehand():
    x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    program = Program.build("f", {"x": x, "p": p}, {"y": x * ca.sin(p[0]) / (p[1] + 1), "z": p[0], "w": p[0] * p[1]})
    parts = hoisted_parts(program)
    assert operations(parts.prologue) == {"ADD": 1, "INV": 1, "MUL": 1, "SIN": 1}
    assert operations(parts.evaluation) == {"MUL": 2} and parts.count == 3
    kernel = compile_hoisted(program)
    extended = kernel.extended([0.5, 3.0])
    assert_allclose(sorted(extended[2:]), sorted([np.sin(0.5), 0.25, 1.5]), rtol=1e-15)
    assert np.array_equal(kernel.extended(np.array([[0.5, 3.0], [0.1, 2.0]]))[0], extended)


def test_programs_without_parameters_stay_whole():
    x, p = ca.SX.sym("x"), ca.SX.sym("p", 0)
    for inputs in ({"x": x}, {"x": x, "p": p}):
        kernel = compile_hoisted(Program.build("f", inputs, {"y": 2 * x}))
        assert kernel.count == 0 and kernel.extended(np.zeros(0)).shape == (0,)


# ---------------------------------------------------------------------------------------------------------- the gallery


@pytest.fixture(scope="module")
def bicycle() -> Equations:
    return derive(model("bicycle"))


def test_operations_of_the_bicycle(bicycle: Equations):
    """A full state derivative with 26 symbolic parameters; fewer is welcome, more must be explained."""
    parts = hoisted_parts(bicycle.dynamics)
    counts = operations(parts.evaluation)
    assert sum(counts.values()) <= 819 and counts["INV"] + counts["DIV"] <= 7
    assert len(live_values(parts.prologue)) <= 78 and parts.count <= 20


@pytest.mark.parametrize("name", ["bicycle", "rolling_torus", "snakeboard", "four_bar", "wheel_on_waves"])
def test_models_in_fifty_digits(name: str, bicycle: Equations):
    e = bicycle if name == "bicycle" else derive(model(name))
    assert isinstance(e.dynamics, Program)
    with mpmath.workdps(60):
        unit, points = exactly(e.dynamics, 7)
        whole = evaluate(unit, points, exact_operations())
        same(whole, evaluate(run_passes(unit), points, exact_operations()))
        same(whole, in_two(unit, points, 3, Passes()))


def test_machine_code_with_and_without(bicycle: Equations):
    """The compiled passes against the interpreter: 1e-13 of the largest entry."""
    random = np.random.default_rng(3)
    p = bicycle.default_parameters * random.uniform(0.9, 1.1, len(bicycle.parameters))
    x = random.uniform(-1.0, 1.0, len(bicycle.states))
    x[3:7] /= np.linalg.norm(x[3:7])
    arguments = [0.0], x, random.uniform(-1.0, 1.0, len(bicycle.inputs)), p
    oracle = interpret(bicycle.dynamics, *arguments)[0]
    hoisted = compile_hoisted(bicycle.dynamics)
    of_run = hoisted.kernel(*arguments[:3], hoisted.extended(p))[0]
    for found in (compile(bicycle.dynamics)(*arguments)[0], of_run):
        assert_allclose(found, oracle, rtol=0, atol=1e-13 * np.abs(oracle).max())

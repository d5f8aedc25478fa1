"""The order of computing."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.testing import assert_allclose

from draisine.codegen.jit.kernel import compile
from draisine.codegen.jit.scheduling import cut_into_pieces, list_schedule
from draisine.program import opcodes as op
from draisine.program.interpreter import interpret
from draisine.program.program import Program
from draisine.program.ssa import live_values, to_ssa


def slow_chain_last() -> Program:
    """Two hundred cheap products that nobody waits for, then a chain of divisions that everybody waits for."""
    x = ca.SX.sym("x", 4)
    cheap = [x[0] * (k + 2) + x[1] * x[2] for k in range(200)]
    chain = x[3]
    for k in range(40):
        chain = (k + 2) / (1 + chain)
    return Program.build("late", {"x": x}, {"cheap": ca.vertcat(*cheap), "chain": chain})


def respects_dependence(unit, order) -> bool:
    place = {v: k for k, v in enumerate(order)}
    return all(place[o] < place[v] for v in order for o in unit.values[v].operands if o in place)


def test_the_long_chain_begins_first():
    program = slow_chain_last()
    unit = to_ssa(program.tape)
    values = live_values(unit)
    order = list_schedule(unit, values)
    assert sorted(order) == values
    assert respects_dependence(unit, order)
    divisions = [k for k, v in enumerate(order) if unit.values[v].kind == op.DIV]
    assert divisions[0] < 20
    assert next(k for k, v in enumerate(values) if unit.values[v].kind == op.DIV) > 200
    point = [0.1, 0.2, 0.3, 0.4]
    for mine, oracle in zip(compile(program)(point), interpret(program, point), strict=True):
        assert_allclose(mine, oracle, rtol=1e-13)


def test_wide_programs_keep_their_order():
    x = ca.SX.sym("x", 4)
    unit = to_ssa(Program.build("wide", {"x": x}, {"y": ca.vertcat(*[x[0] * k + x[1] for k in range(300)])}).tape)
    values = live_values(unit)
    assert list_schedule(unit, values) == values


def test_pieces_cover_everything_and_hand_on_what_is_needed():
    rng = np.random.default_rng(0)
    x = ca.SX.sym("x", 5)
    made = [x[k] for k in range(5)]
    for _ in range(900):
        a, b = (made[-1 - k] for k in rng.integers(0, min(40, len(made)), 2))
        made.append(a * b + 1)
    unit = to_ssa(Program.build("many", {"x": x}, {"y": ca.vertcat(*made[-10:]), "early": made[20]}).tape)
    values = live_values(unit)
    pieces, places, size = cut_into_pieces(unit, values, 50)
    assert [v for piece in pieces for v in piece.values] == values
    assert sorted(r for piece in pieces for r in piece.results) == sorted(unit.results)
    assert all(20 <= len(piece.values) <= 75 for piece in pieces)
    memory: dict[int, int] = {}
    for piece in pieces:
        own = set(piece.values)
        for v in piece.values:
            for operand in unit.values[v].operands:
                if operand in places and operand not in own:
                    assert memory[places[operand]] == operand  # nobody has taken its place meanwhile
                elif operand in values:
                    assert operand in own
        memory |= {places[v]: v for v in piece.spilled}
    assert size <= 60

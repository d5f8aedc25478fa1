"""What depends on what, by the tape: the same places as CasADi's, through tables and calls too."""

from __future__ import annotations

import casadi as ca
import pytest

from draisine.dynamics.derive import derive
from draisine.expr.tables import Table
from draisine.gallery import model
from draisine.program.interpreter import dependence
from draisine.program.program import Program


def theirs(program: Program, results: tuple[str, ...], wrt: str) -> list[tuple[int, int]]:
    ins, outs = [s.name for s in program.inputs], [s.name for s in program.outputs]
    parts = [program.function.jac_sparsity(outs.index(name), ins.index(wrt)) for name in results]
    return list(zip(*ca.vertcat(*parts).get_triplet(), strict=True))


def ours(program: Program, results: tuple[str, ...], wrt: str) -> list[tuple[int, int]]:
    rows, columns = dependence(program, results, wrt)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


@pytest.mark.parametrize("name", ["bicycle", "snakeboard"])
def test_motions_of_models(name: str):
    motion = derive(model(name)).motion
    for wrt in ("q", "v", "p"):
        assert ours(motion, ("residuals", "outputs"), wrt) == theirs(motion, ("residuals", "outputs"), wrt)


def test_calls_and_tables():
    x = ca.SX.sym("x", 3)
    a = ca.SX.sym("a", 2)
    inner = ca.Function("inner", [a], [ca.vertcat(a[0] * a[1], a[1], 4)], {"never_inline": True})
    table = Table("curve", (0.0, 1.0, 3.0), (0.0, 10.0, -2.0))
    program = Program.build("f", {"x": x}, {"y": inner(ca.vertcat(x[0], table(x[2]))), "z": x[1]})
    assert ours(program, ("y", "z"), "x") == [(0, 0), (3, 1), (0, 2), (1, 2)]


def test_nothing_depends_on_nothing():
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u", 0)
    program = Program.build("f", {"x": x, "u": u}, {"y": x})
    assert ours(program, ("y",), "u") == []

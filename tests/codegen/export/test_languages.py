"""Each language whose tool is present runs what was generated and agrees with the kernel."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import export_runners as runners
import export_samples as samples
import numpy as np
import pytest

import draisine as dr
from draisine.codegen.export.exportable_programs import items
from draisine.codegen.export.languages import LANGUAGES
from draisine.codegen.export.source import file_name, source_text
from draisine.codegen.jit.kernel import compile
from draisine.expr.tables import Table
from draisine.program.interpreter import interpret
from draisine.program.program import Program
from every_operation import BINARY, ORDINARY, SPECIAL, UNARY

every_language = pytest.mark.parametrize("key", list(LANGUAGES))


def exported(key: str, program, rows: np.ndarray, folder: Path) -> np.ndarray:
    path = folder / file_name(program, LANGUAGES[key])
    path.write_text(source_text(program, LANGUAGES[key]), encoding="utf-8")
    return runners.run(key, path, program, rows)


def kernel_results(program, rows: np.ndarray) -> np.ndarray:
    kernel = compile(program)
    ends = np.cumsum([slot.size for slot in program.inputs])[:-1]
    results = [kernel(*np.split(row, ends)) for row in rows]
    return np.array([np.concatenate([r.ravel(order="F") for r in result]) for result in results])


def assert_close(mine: np.ndarray, theirs: np.ndarray, tolerance: float = 1e-12) -> None:
    """To 1e-12 of the largest entry of each kind of result: cancellation inside a result is not the language's fault."""
    assert mine.shape == theirs.shape
    assert np.isfinite(theirs).all()
    scale = np.maximum(np.abs(theirs).max(axis=1, keepdims=True), 1.0)
    worst = float((np.abs(mine - theirs) / scale).max())
    assert worst < tolerance, worst


@every_language
@pytest.mark.parametrize(
    "make", [samples.sample, samples.tables, samples.calling, samples.solved, samples.several_sides], ids=lambda f: f.__name__
)
def test_samples(key, make, tmp_path):
    program = make()
    rows = np.random.default_rng(1).normal(size=(25, sum(s.size for s in program.inputs))) * 1.5
    assert_close(exported(key, program, rows, tmp_path), kernel_results(program, rows))


@pytest.fixture(scope="module")
def bicycle():
    return dr.derive(dr.gallery.bicycle())


def bicycle_rows(equations, count: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(count, len(equations.states))) * 0.4
    x[:, 3:7] += [1.0, 0.0, 0.0, 0.0]
    x[:, 3:7] /= np.linalg.norm(x[:, 3:7], axis=1, keepdims=True)
    p = equations.default_parameters * rng.uniform(0.9, 1.1, size=(count, len(equations.parameters)))
    return np.concatenate([rng.normal(size=(count, 1)), x, rng.normal(size=(count, len(equations.inputs))), p], axis=1)


@every_language
@pytest.mark.parametrize("which", ["dynamics", "report"])
def test_bicycle(key, which, bicycle, tmp_path):
    program = getattr(bicycle, which)
    rows = bicycle_rows(bicycle, 20)
    assert_close(exported(key, program, rows, tmp_path), kernel_results(program, rows))


@every_language
@pytest.mark.parametrize("arity", [1, 2])
def test_every_operation(key, arity, tmp_path):
    """All operations in one program, on special and ordinary numbers."""
    table = UNARY if arity == 1 else BINARY
    x = ca.SX.sym("x", arity)
    results = [f(*[x[k] for k in range(arity)]) for f in table.values()]
    program = Program.build("operations", {"x": x}, {"y": (ca.vertcat(*results), tuple(table))})
    points = (*SPECIAL, *ORDINARY)
    rows = np.array([[a] for a in points] if arity == 1 else [[a, b] for a in points for b in points])
    mine = exported(key, program, rows, tmp_path)
    theirs = np.array([interpret(program, row)[0] for row in rows])
    complaints = []
    for k, name in enumerate(table):
        for row, a, b in zip(rows, mine[:, k], theirs[:, k], strict=True):
            if not agree(a, b):
                complaints.append(f"{name}{tuple(row.tolist())}: {a!r}, should be {b!r}")
    assert not complaints, "\n".join(complaints[:40])


def agree(mine: float, theirs: float) -> bool:
    if np.isnan(theirs) or np.isinf(theirs):
        return np.isnan(mine) == np.isnan(theirs) and (np.isnan(mine) or mine == theirs)
    return abs(mine - theirs) <= 1e-12 * abs(theirs) + 5e-324


@every_language
def test_constants_read_back_exactly(key, tmp_path):
    """As results, and from the numbers of a table."""
    constants = [
        0.1,
        1 / 3,
        -0.0,
        1e22,
        1e23,
        5e-324,
        -2.2250738585072014e-308,
        1.7976931348623157e308,
        123456789.12345679,
        np.pi,
    ]
    constants += [float("inf"), -float("inf"), float("nan"), 2.0**53 + 2, -1e-5, 4.35e-7]
    knots = np.cumsum([0.1, 1 / 3, 1e-7, 0.7, np.pi])
    values = [0.1, -1 / 3, 1e-300, 4.35e-7, 1e22]
    x = ca.SX.sym("x")
    looked_up = Table("steps", knots, values)(x)
    program = Program.build("constants", {"x": x}, {"y": ca.vertcat(looked_up, *constants)})
    mine = exported(key, program, knots[:-1, None], tmp_path)
    theirs = np.array([interpret(program, k)[0] for k in knots[:-1]])
    np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(np.signbit(mine[:, :-4]), np.signbit(theirs[:, :-4]))


@pytest.mark.parametrize("key", ["c", "javascript", "python"])
def test_a_long_program(key, bicycle, tmp_path):
    """The linearized bicycle: two matrices, some 8,700 operations."""
    (item,) = items(bicycle, ["linear"])
    rows = bicycle_rows(bicycle, 3)
    assert_close(exported(key, item.program, rows, tmp_path), kernel_results(item.program, rows))

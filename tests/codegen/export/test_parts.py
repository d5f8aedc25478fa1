"""Long programs are exported to C in parts, which compile in a time proportional to their length and give the same bits."""

from __future__ import annotations

import shutil
from pathlib import Path

import casadi as ca
import export_runners as runners
import export_samples as samples
import numpy as np
import pytest

import draisine as dr
from draisine.codegen.export import parts
from draisine.codegen.export.languages import LANGUAGES
from draisine.codegen.export.languages.c import C
from draisine.codegen.export.source import file_name, source_text
from draisine.program.program import Program

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def by_c(program, rows: np.ndarray, folder: Path) -> tuple[np.ndarray, str]:
    folder.mkdir()
    path = folder / file_name(program, LANGUAGES["c"])
    path.write_text(source_text(program, LANGUAGES["c"]), encoding="utf-8")
    return runners.run("c", path, program, rows), path.read_text(encoding="utf-8")


def random_program(rng: np.random.Generator) -> Program:
    """Values of random earlier ones, conditions among them; results are also inputs, constants, and one value twice."""
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 2)
    values = [*ca.vertsplit(x), *ca.vertsplit(y), ca.SX(0.7)]
    for _ in range(90):
        a, b, c = (values[k] for k in rng.integers(max(0, len(values) - 30), len(values), 3))
        choices = [a * b + c, a - b, ca.sin(a) * c, ca.if_else(ca.logic_and(a > b, b > c), a, c), a / (1 + b * b), a > b]
        values.append(choices[rng.integers(len(choices))])
    return Program.build(
        "parted", {"x": x, "y": y}, {"z": ca.vertcat(*values[-12:], values[-1], x[1]), "w": ca.vertcat(values[20], 3.5)}
    )


@pytest.mark.parametrize("length", [3, 8, 25])
@pytest.mark.parametrize("make", [samples.sample, samples.tables, samples.calling, samples.solved, samples.several_sides])
def test_samples_in_parts(make, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(make(), length, tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_in_parts(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    compare(random_program(rng), int(rng.integers(2, 30)), tmp_path, monkeypatch)


def compare(program, length: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(15, sum(s.size for s in program.inputs))) * 1.5
    monkeypatch.setattr(C, "longest_function", None)
    whole, text = by_c(program, rows, folder / "whole")
    assert "APART" not in text
    monkeypatch.setattr(C, "longest_function", 4)
    monkeypatch.setattr(parts.in_parts, "__defaults__", (length,))
    divided, text = by_c(program, rows, folder / "divided")
    assert "_part_1(" in text
    np.testing.assert_array_equal(divided, whole)


def test_a_long_program_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bicycle = dr.derive(dr.gallery.bicycle())
    program = bicycle.dynamics.jacobian("xdot", "x")
    assert program.operations > 2 * parts.LONGEST
    x = np.random.default_rng(4).normal(size=(3, 13)) * 0.2
    x[:, 3] += 1.0
    rows = np.hstack([np.zeros((3, 1)), x, np.ones((3, 3)), np.tile(bicycle.default_parameters, (3, 1))])
    numbers, text = by_c(program, rows, tmp_path / "long")
    bodies = [body for body in text.split("\n}") if " double work[" not in body]
    assert max(body.count(";") for body in bodies) < 3 * parts.LENGTH
    for row, mine in zip(rows, numbers, strict=True):
        exact = program(*np.split(row, [1, 14, 17]))[0]
        np.testing.assert_allclose(mine.reshape(exact.shape, order="F"), exact, rtol=1e-12, atol=1e-12)

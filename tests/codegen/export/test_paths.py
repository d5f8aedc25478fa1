"""Coordinates of paths in exported code: the values and gradients of the kernel, in every language that is there."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import export_runners as runners
import numpy as np
import pytest

import draisine as dr
from draisine.codegen.export import write
from draisine.program.program import Program


@pytest.mark.parametrize("key", ["c", "python", "javascript", "fortran", "octave", "rust"])
def test_coordinates_and_gradients(tmp_path: Path, key: str) -> None:
    if not runners.present(key):
        pytest.skip(f"{key} is not installed")
    path = dr.Model("any").path("bend", segments=[(5, 0), (10, 0, 0.1), (5, 0.1)], width=4.0)
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    both = ca.vertcat(*(function(x, y) for function in path.functions))
    program = Program.build(
        "coordinates", {"x": x, "y": y}, {"both": both, "by_x": ca.jacobian(both, x), "by_y": ca.jacobian(both, y)}
    )
    s, d = np.random.default_rng(2).uniform((-20, -3.8), (40, 3.8), (30, 2)).T
    heading = path.heading_at(s)
    rows = (path.position(s) + d * np.stack([-np.sin(heading), np.cos(heading)])).T
    found = np.asarray(runners.run(key, write(program, key, tmp_path), program, rows))
    steep = 1 - path.curvature_at(s) * d
    expected = [s, d, np.cos(heading) / steep, -np.sin(heading), np.sin(heading) / steep, np.cos(heading)]
    np.testing.assert_allclose(found, np.stack(expected, 1), atol=1e-9)

"""The error of projections alone, against the projections that they are taken from."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import draisine as dr
from draisine.codegen.jit.kernel import compile
from draisine.program.deviation import deviation_program
from draisine.program.linear_solve import LinearSolveProgram


@pytest.mark.parametrize("name", ["bouncing_ball", "four_bar", "rolling_disk"])
def test_equals_the_error_of_the_projection(name: str) -> None:
    e = dr.derive(dr.gallery.model(name))
    deviation = deviation_program(e.project)
    if not isinstance(e.project, LinearSolveProgram):
        assert deviation is None
        return
    assert deviation is not None
    assert deviation.operations < e.project.operations
    kernel, rng = compile(deviation), np.random.default_rng(0)
    for _ in range(20):
        x, u = rng.normal(size=len(e.states)), rng.normal(size=len(e.inputs))
        given = [0.3], x, u, e.default_parameters
        expected = e.project(*given)[1]
        np.testing.assert_allclose(deviation(*given)[0], expected, rtol=1e-14)
        np.testing.assert_allclose(kernel(*given)[0], expected, rtol=1e-12)


def test_none_where_the_error_depends_on_the_solution() -> None:
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z")
    project = LinearSolveProgram.build("project", {"x": x}, ca.SX(2), ca.sumsqr(x), z, {"x_new": x - z, "error": z})
    assert deviation_program(project) is None
    assert deviation_program(None) is None

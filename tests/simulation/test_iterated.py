"""Reactions by iteration: equal to the direct ones, and quick where each sample starts from the last."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.codegen.jit.kernel import compile
from draisine.errors import SolverError
from draisine.gallery.entries.n_pendulum import n_pendulum
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.iterated_reactions import ConjugateGradients, conjugate_gradients, reactions
from draisine.simulation.run import integrate


def direct(equations: dr.Equations, times: np.ndarray, states: np.ndarray) -> np.ndarray:
    reported = compile(equations.report).map(
        times[:, None], states, np.zeros(len(equations.inputs)), equations.default_parameters
    )
    return dict(zip((s.name for s in equations.report.outputs), reported, strict=True))["multipliers"]


def motion(name: str) -> tuple[dr.Equations, np.ndarray, np.ndarray]:
    if name == "chain":
        equations = n_pendulum(30)
        start = np.array([s.default for s in equations.states])
    else:  # its steer axis has a foot without mass
        equations = dr.gallery.model("delebecque_bicycle")
        start = consistent_start(equations, {"speed": 8.0, "rear_slant_rate": 0.3}).x
    times = np.linspace(0.0, 0.4, 81)
    run = integrate(prepare(equations), start, 0.4, method=dr.methods.DOP853(rtol=1e-10, atol=1e-10), samples=times)
    return equations, times, run.states


@pytest.mark.parametrize(("name", "fewer"), [("chain", 5.0), ("bicycle", 2.5)])
def test_warm_iterations_give_the_direct_reactions(name, fewer):
    equations, times, states = motion(name)
    exact = direct(equations, times, states)
    warm, cold = (reactions(equations, times, states, method=ConjugateGradients(warm=w)) for w in (True, False))
    scale = np.abs(exact).max()
    for found in (warm, cold):
        assert found.values == pytest.approx(exact, rel=1e-10, abs=1e-10 * scale)
        assert found.names == tuple(m.name for m in equations.multipliers)
    assert fewer * warm.iterations.sum() < cold.iterations.sum()
    assert (warm[warm.names[0]] == warm.values[:, 0]).all()


def test_two_unknowns_take_two_iterations():
    matrix, side = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    method = ConjugateGradients()
    x, count = conjugate_gradients(lambda v: matrix @ v, side, np.zeros(2), lambda r: r, method)
    assert count == 2
    assert x == pytest.approx([1 / 11, 7 / 11], rel=1e-14)
    assert conjugate_gradients(lambda v: matrix @ v, side, x, lambda r: r, method)[1] == 0


def test_what_cannot_be_done_is_said():
    bicycle = dr.derive(dr.gallery.model("bicycle"))
    with pytest.raises(ValueError, match="read them from its report"):
        reactions(bicycle, [0.0], np.zeros((1, len(bicycle.states))))
    with pytest.raises(ValueError, match="tolerance must lie between 0 and 1, got 2"):
        ConjugateGradients(tolerance=2)
    singular = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-17]])
    with pytest.raises(SolverError, match="nearly dependent"):
        conjugate_gradients(lambda v: singular @ v, np.array([1.0, -1.0]), np.zeros(2), lambda r: r, ConjugateGradients(most=50))

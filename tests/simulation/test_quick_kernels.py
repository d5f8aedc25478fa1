"""Runs begin with quick kernels and go on with optimized ones; what they compute does not depend on when that happens."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.codegen.jit import kernel as kernels
from draisine.simulation import compiled_equations
from draisine.simulation.compiled_equations import VelocityChoices
from draisine.simulation.run import Run, integrate

pytestmark = pytest.mark.usefixtures("shipped_kernels")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each kernel that was compiled is quick; nothing is found on disk."""
    found: list[bool] = []
    original = kernels.compile_kernel

    def noted(text: str, quick: bool = False, branches: bool = False) -> bytes:
        found.append(quick)
        return original(text, quick, branches)

    monkeypatch.setattr(kernels, "compile_kernel", noted)
    monkeypatch.setattr(kernels, "stored_object", lambda key: None)
    monkeypatch.setattr(kernels, "cached_object", lambda key, make: make())
    return found


@pytest.mark.parametrize("name", ["bicycle", "rolling_disk", "four_bar", "tricycle", "van_der_pol"])
def test_runs_have_the_same_bits(name: str, compiled: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    model = dr.gallery.model(name)
    equations = model if isinstance(model, dr.Equations) else dr.derive(model)
    begin = dr.consistent_start(equations).x
    times = np.linspace(0.0, 0.4, 9)

    def run(choices: VelocityChoices) -> Run:
        monkeypatch.setattr("draisine.simulation.run.FIRST_BUDGET", 2)  # several calls of the loop
        return integrate(choices, begin, 0.4, samples=times)

    optimized = run(VelocityChoices(equations))
    assert not any(compiled), "kernels of a study are optimized"
    compiled.clear()
    quick = run(VelocityChoices(equations, quick=True))
    assert compiled, compiled
    assert all(compiled), "a short run needs quick kernels only"
    compiled.clear()
    monkeypatch.setattr(compiled_equations, "QUICK_SECONDS", 1e-12)
    replaced = run(VelocityChoices(equations, quick=True))
    assert {True, False} == set(compiled), "a run that takes long goes on with optimized kernels"
    for other in (quick, replaced):
        assert other.status == optimized.status
        assert other.evaluations == optimized.evaluations
        np.testing.assert_array_equal(other.segments[-1].states, optimized.segments[-1].states)
        np.testing.assert_array_equal(other.final_state, optimized.final_state)


def test_first_trajectory_compiles_no_optimized_kernel(compiled: list[bool]) -> None:
    model = dr.gallery.rolling_disk()
    model.parameter("unused_mass_of_this_test", "1 kg")
    dr.simulate(model, 0.1)
    assert len(compiled) >= 3, compiled
    assert all(compiled)


def test_kernels_are_replaced_after_many_short_runs(compiled: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    equations = dr.derive(dr.gallery.model("rolling_disk"))
    choices = VelocityChoices(equations, quick=True)
    begin, operations = dr.consistent_start(equations).x, equations.dynamics.operations
    integrate(choices, begin, 0.1)
    assert choices.compiled(equations.choice).quick
    choices.note_steps(equations.choice, 0.6 * compiled_equations.QUICK_SECONDS * operations)
    assert choices.for_steps(equations.choice).quick
    choices.note_steps(equations.choice, 0.6 * compiled_equations.QUICK_SECONDS * operations)
    assert choices.compiled(equations.choice).quick, "nothing is compiled before there is a step to make"
    made = choices.for_steps(equations.choice)
    assert made is choices.compiled(equations.choice)
    assert not made.quick


def test_a_run_that_ends_compiles_nothing_for_the_next_one(compiled: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_equations, "QUICK_SECONDS", 1e-12)  # any step is long
    equations = dr.derive(dr.gallery.model("rolling_disk"))
    choices, begin = VelocityChoices(equations, quick=True), dr.consistent_start(equations).x
    compiled.clear()
    first = integrate(choices, begin, 0.05)
    assert compiled, compiled
    assert all(compiled), "one call of the loop reaches the end"
    compiled.clear()
    second = integrate(choices, begin, 0.05)
    assert compiled, compiled
    assert not any(compiled), "the next run begins with optimized kernels"
    np.testing.assert_array_equal(first.final_state, second.final_state)

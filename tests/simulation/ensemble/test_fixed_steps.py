"""Compiled fixed steps: the same numbers in the interpreter, and on any number of lanes."""

from __future__ import annotations

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import draisine as dr
from draisine.optimal.symbolic_model import SymbolicModel
from draisine.simulation.ensemble import fixed_steps
from draisine.simulation.ensemble.fixed_step_batch import FixedStepBatch, StepProblem


def batch(members: int, substeps: int = 2) -> FixedStepBatch:
    """Bicycles that fall, so that they are projected, with some parameters of their own."""
    e = dr.derive(dr.gallery.bicycle(), work=False)
    model = SymbolicModel(e, ("steer_torque",))
    values = ca.vertcat(model.value("lean", "a value"), model.value("front_wheel_normal_force", "a value"))
    one = np.array([2.0])
    problem = StepProblem(e, 0.02, substeps, values, model.plant.arguments, np.array([0]), -one, one)
    made, start = FixedStepBatch(problem, members, threads=1), {"speed": 2.0, "lean": 0.3, "roll_rate": 0.5}
    x = np.tile(dr.consistent_start(e, start).x, (members, 1))
    p = np.tile(e.default_parameters, (members, 1))
    p[:, [q.name for q in e.parameters].index("m_frame")] += np.arange(members)
    made.place(np.arange(members), x, np.zeros((members, 3)), p)
    return made


def stepped(made: FixedStepBatch, steps: int) -> tuple[np.ndarray, np.ndarray]:
    everyone = np.arange(made.members)
    for k in range(steps):
        assert made.advance(np.linspace(-3.0, 3.0, made.members)[:, None] * (-1) ** k) == {}
    return made.states(everyone), made.values[: made.members].copy()


def test_the_interpreter_makes_the_same_steps(monkeypatch):
    compiled, interpreted = batch(5), batch(5)
    monkeypatch.setattr(interpreted, "_code", fixed_steps.advance_fixed)
    for a, b in zip(stepped(compiled, 4), stepped(interpreted, 4), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("lanes", [2, 8])
def test_the_number_of_lanes_does_not_matter(lanes):
    here = stepped(batch(5), 10)
    code = (
        "import test_fixed_steps as t, numpy as np; x, y = t.stepped(t.batch(5), 10); print(x.tobytes().hex(), y.tobytes().hex())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=__file__.rpartition("/")[0],
        env={**__import__("os").environ, "DRAISINE_LANES": str(lanes)},
    )  # fmt: skip
    assert other.stdout.split() == [numbers.tobytes().hex() for numbers in here]

"""A run whose samples violate a constraint says so: rows that are not projected, redundant ones, and states between steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.dynamics.overconstrained import Bennett, ParallelCranks

import draisine as dr
from draisine.dynamics.stabilization import GGL, Baumgarte, Drift, Minimal, NoControl, Projection, Rattle, VelocityProjection
from draisine.results.status import Ending, Status

RATE, UNTIL = 2.0, 6.0
LIMIT = 1e-6  # of the residual relative to lengths, at the default tolerance


def named(status: Status) -> list[str]:
    return [text for text in status.warnings if text.startswith("constraint ") and " is off by " in text]


@pytest.mark.parametrize(
    "drift",
    [None, Projection(), Projection(velocities=False), VelocityProjection(), Baumgarte(), NoControl(), Minimal(), Rattle(0.005)],
    ids=lambda drift: type(drift).__name__,
)
def test_random_bennett_linkages(drift: Drift | None) -> None:
    """FINISHED without a warning means that the loop is closed at all samples, and that θ₁ has its closed form."""
    random = np.random.default_rng(17)
    for _ in range(2):
        linkage = Bennett(random.uniform(0.2, 0.6), random.uniform(0.4, 0.8), random.uniform(1.0, 1.4), random.uniform(0.6, 1.2))
        run = dr.simulate(linkage.model(), UNTIL, start={"one_rate": RATE}, drift=drift)
        if run.status.kind is Ending.FINISHED and not named(run.status):
            assert linkage.open_by(run["one"], run["two"]) < 10 * LIMIT
            tolerance = 1e-4 if isinstance(drift, Rattle) else 1e-5  # of a method of order 2 at this step
            assert run["one"][-1] == pytest.approx(linkage.turned(UNTIL, RATE), abs=tolerance)
        elif run.status.complete:
            assert max(run.constraint_residual.values()) > LIMIT * linkage.length


def test_positions_only() -> None:
    """Projection of positions alone lets rates drift until the loop is open between steps."""
    linkage = Bennett(0.4, 0.6, 1.1, 0.9)
    run = dr.simulate(linkage.model(), 4.5, start={"one_rate": RATE}, drift=Projection(velocities=False))
    assert abs(run["one"][-1] - linkage.turned(4.5, RATE)) > 1e-4
    assert run.status.kind is Ending.CONSTRAINTS_BROKEN
    assert "loop_" in run.status.message and "since t =" in run.status.message and "Projection()" in run.status.message
    assert run.time[-1] == 4.5  # all samples are kept


def test_drift_without_control_is_a_warning() -> None:
    linkage = Bennett(0.4, 0.6, 1.1, 0.9)
    run = dr.simulate(linkage.model(), UNTIL, start={"one_rate": RATE}, drift=NoControl())
    assert run.status.kind is Ending.FINISHED
    (text,) = named(run.status)
    worst = max((c for c in run.channels if c.level == "position"), key=lambda c: np.abs(run[c.name]).max())
    assert text.startswith(f"constraint {worst.name.removesuffix('_residual')} is off by {np.abs(run[worst.name]).max():.3g}")
    assert "not controlled" in text


def test_samples_between_long_steps() -> None:
    """Steps of 0.1 s fulfil the constraints to rounding; cubics between them do not, which is a warning."""
    model, start = Bennett(0.4, 0.6, 1.1, 0.9).model(), {"one_rate": RATE}
    run = dr.simulate(model, 1.0, start=start, drift=Rattle(0.1), samples=201)
    assert run.status.kind is Ending.FINISHED
    (text,) = named(run.status)
    assert "between steps" in text
    assert not named(dr.simulate(model, 1.0, start=start, drift=Rattle(0.1), samples=11).status)


@pytest.mark.parametrize("drift", [Baumgarte(), GGL(), Projection(), Projection(invariants=("energy",)), VelocityProjection()])
def test_good_runs_are_not_accused(drift: Drift) -> None:
    cranks = ParallelCranks([1.0, 0.5, 2.0], 0.3)
    run = dr.simulate(cranks.model(), 1.0, drift=drift)
    assert run.status.kind is Ending.FINISHED and not named(run.status), run.status
    assert run["phi0"][-1] == pytest.approx(cranks.angle(1.0), abs=1e-6)


def test_feedback_that_is_too_weak() -> None:
    """Gains of 0.01/s do not hold a loop that drifts: the angle is wrong, and the status says so."""
    linkage = Bennett(0.4, 0.6, 1.1, 0.9)
    run = dr.simulate(linkage.model(), UNTIL, start={"one_rate": RATE}, drift=Baumgarte(0.01, 0.0001, 0.01))
    assert abs(run["one"][-1] - linkage.turned(UNTIL, RATE)) > 1e-4
    assert run.status.kind is Ending.CONSTRAINTS_BROKEN


# ---------------------------------------------------------------- starts at singular positions


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"formulation": dr.formulations.Reduced()},
        {"formulation": dr.formulations.Recursive()},
        {"formulation": dr.formulations.Augmented()},
        {"drift": Rattle(0.01)},
        {"drift": Baumgarte()},
    ],
    ids=str,
)
def test_flat_parallelogram(count: int, how: dict[str, object]) -> None:
    """Flat cranks may go on as a parallelogram or as a kite: the position is singular, whatever the formulation."""
    model = ParallelCranks([1.0] * (count + 1), 0.0).model()
    run = dr.simulate(model, 0.5, start={"phi0": 0.0, "phi0_rate": 0.3}, **how)
    assert run.status.kind is Ending.SINGULAR and "start" in run.status.message, run.status


def test_flat_parallelogram_in_an_ensemble() -> None:
    model = ParallelCranks([1.0, 1.0, 1.0], 0.0).model()
    found = dr.ensemble(model, 0.2, {"start.phi0": [0.0, 0.3]}, start={"phi0_rate": 0.3})
    assert found["status"].tolist() == ["SINGULAR", "FINISHED"]


def test_a_pole_of_the_forces_is_no_singular_position() -> None:
    model = ParallelCranks([1.0, 1.0, 1.0], 0.3).model()
    model.generalized_force("phi0", "1/(phi0 - 0.3)")
    run = dr.simulate(model, 0.2, start={"phi0": 0.3})
    assert run.status.kind is Ending.NOT_FINITE
    assert math.isfinite(run["phi0"][-1])


def test_a_joint_that_sticks_in_equations_without_sliding_ends_the_run() -> None:
    """0 = F of index 2 is started again after every switch; a joint that sticks would switch for ever."""
    cranks = ParallelCranks([1.0, 0.5, 2.0], math.pi / 2)  # hanging: gravity has no moment
    model = cranks.model()
    model.generalized_force("phi0", "-0.3*sign(phi0_rate)")
    method = dr.methods.Radau(max_steps=2000)
    run = dr.simulate(model, 0.5, start={"phi0": math.pi / 2 - 0.001}, drift=GGL(), method=method)
    assert run.status.kind is Ending.SLIDING_AMBIGUOUS and "sign(phi0_rate)" in run.status.message, run.status
    assert dr.simulate(model, 0.5, start={"phi0": math.pi / 2 - 0.001})["phi0_rate"] == pytest.approx(0.0, abs=1e-12)

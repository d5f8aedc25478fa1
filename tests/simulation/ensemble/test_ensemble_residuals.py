"""Ensembles compare the residuals at their samples as single runs do: the same statuses, and the same runs warned of."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.overconstrained import Bennett, four_bar

import draisine as dr
from draisine.dynamics.dae.stabilization.stabilized_equations import stabilized_equations
from draisine.dynamics.stabilization import Baumgarte, NoControl, Projection, VelocityProjection
from draisine.simulation.ensemble.reductions import Snapshots

RATES = np.array([0.5, 2.0, 3.0])


@pytest.mark.parametrize(
    "drift",
    [Projection(), Projection(velocities=False), VelocityProjection(), NoControl(), Baumgarte(20.0, 400.0, 20.0)],
    ids=lambda drift: f"{type(drift).__name__}-{getattr(drift, 'velocities', '')}",
)
@pytest.mark.parametrize("kind", ["bennett", "four_bar"])
@pytest.mark.parametrize("method", [None, dr.methods.RK4(0.02)], ids=["adaptive", "fixed"])
def test_statuses_are_those_of_single_runs(drift, kind, method):
    if kind == "bennett":
        model, start, rate = Bennett(0.4, 0.6, 1.1, 0.9).model(), {"one": 0.9}, "one_rate"
    else:
        model, start, rate = four_bar([0.3, 0.7, 0.5, 0.6], 0.8), {"theta": -0.8}, "theta_rate"
    equations = stabilized_equations(model.freeze(), drift).equations
    samples = np.linspace(0.0, 3.0, 61)
    found = dr.ensemble(
        equations, 3.0, {rate: RATES}, start=start, outputs=[next(iter(start))], method=method, keep=[Snapshots(*samples)]
    )
    for k, value in enumerate(RATES):
        run = dr.simulate(equations, 3.0, start={**start, rate: value}, method=method, samples=samples)
        assert found["status"][k] == str(run.status.kind), (k, run.status)
        warned = any(" is off by " in text for text in run.status.warnings)
        if run.status.complete:
            assert ("constraints are off" in found["warnings"][k]) == warned, (k, run.status, found["warnings"][k])

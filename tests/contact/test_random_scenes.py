"""Random mechanisms with one to four contacts: none hangs, penetrates, pulls or gains energy, and statuses are true."""

from __future__ import annotations

import pytest
from random_scenes import check_run, random_scene

import draisine as dr
from draisine.expr.parser import parse


@pytest.mark.parametrize("seed", range(200))
def test_random_scene(seed: int) -> None:
    model, start = random_scene(seed)
    run = dr.simulate(model, 1.5, start=start, method=dr.methods.Auto(max_steps=20000))
    assert run.status.kind == "FINISHED", run.status
    check_run(run)


@pytest.mark.parametrize("restitution", [0.62, 0.63, 0.64, 0.65, 0.66])
def test_two_points_of_a_body_stop_together(restitution: float) -> None:
    """Each of two points would slip as long as the other one does, however slowly; both stick."""
    model, start = random_scene(1039)
    contacts = model._items["point_contacts"]
    for name, contact in contacts.items():
        law = contact.friction._replace(restitution=parse(str(restitution)), impact="poisson")
        contacts[name] = contact._replace(friction=law)
    run = dr.simulate(model, 1.5, start=start, method=dr.methods.Auto(rtol=1e-8, atol=1e-11, max_steps=20000))
    assert run.status.kind == "FINISHED", run.status
    check_run(run)


@pytest.mark.parametrize("seed", [5106, 5111, 5198, 5291])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_loose_tolerances_end_no_contact_in_a_contradiction(seed: int, rtol: float) -> None:
    """A contact lifts, or begins to slip, where the interpolated motion has its force reach the limit, not exactly."""
    model, start = random_scene(seed)
    run = dr.simulate(model, 1.5, start=start, method=dr.methods.Auto(rtol=rtol, atol=1e-3 * rtol, max_steps=20000))
    assert run.status.kind == "FINISHED", run.status

"""Random mechanisms with one to four contacts: none hangs, penetrates, pulls or gains energy, and statuses are true."""

from __future__ import annotations

import pytest
from random_scenes import check_run, random_scene

import draisine as dr


@pytest.mark.parametrize("seed", range(200))
def test_random_scene(seed: int) -> None:
    model, start = random_scene(seed)
    run = dr.simulate(model, 1.5, start=start, method=dr.methods.Auto(max_steps=20000))
    assert run.status.kind == "FINISHED", run.status
    check_run(run)

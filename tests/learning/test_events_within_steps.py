"""Stopping events within the steps of environments, beside runs of `simulate` with the same fixed steps."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr


def oscillator(event: str) -> dr.Model:
    m = dr.Model("oscillator")
    block = m.body("block", mass=1.0)
    m.prismatic("x", "ground", block)
    m.spring("x", "4 N/m")
    m.generalized_force("x", m.input("F", "N"))
    m.event("gone", event)
    return m


def step_of_end(model: dr.Model, speeds: np.ndarray, step: float, substeps: int, until: float) -> list[int | None]:
    """The number of the step in which each episode terminates."""
    env = dr.environment(
        model,
        observe=["x"],
        act={"F": 1},
        reward="x",
        reset=lambda random, count: {"x": 0.0, "x_rate": 0.0},
        step=step,
        substeps=substeps,
        until=until,
        num_envs=len(speeds),
        autoreset="disabled",
        threads=1,
    )
    found: list[int | None] = [None] * len(speeds)
    env.reset(seed=0)
    batch, everyone = env.unwrapped.episodes.batch, np.arange(len(speeds))
    states = np.column_stack([np.zeros(len(speeds)), speeds])
    batch.place(everyone, states, batch.inputs(everyone), batch.parameters)
    for index in range(round(until / step)):
        outcome = env.unwrapped.episodes.step(np.zeros((len(speeds), 1)))
        for k in np.flatnonzero(outcome.terminated):
            if found[k] is None:
                found[k] = index
    return found


def events(random: np.random.Generator) -> list[str]:
    """A level that is passed and left again near the largest deflection, a thin wall, and a product."""
    level, wall, width = random.uniform(0.5, 0.6), random.uniform(0.1, 0.5), random.uniform(0.001, 0.03)
    return [f"x - {level:.4f}", f"abs(x - {wall:.4f}) - {width:.4f}", f"(x - {wall:.4f})^2 - {width**2:.6f}"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", range(3))
def test_episodes_end_in_the_step_in_which_a_run_ends(seed, kind):
    random = np.random.default_rng(10 * seed + kind)
    event, substeps, step = events(random)[kind], int(random.integers(1, 4)), float(random.choice([0.04, 0.1, 0.2]))
    model, speeds, until = oscillator(event), random.uniform(0.9, 1.3, 12), 2.0
    ends = step_of_end(model, speeds, step, substeps, until)
    for speed, end in zip(speeds, ends, strict=True):
        run = dr.simulate(model, until, start={"x": 0.0, "x_rate": speed}, method=dr.methods.RK4(step / substeps))
        expected = None if run.status.kind == "FINISHED" else int(run.time[-1] / step)
        assert end == expected, (event, step, substeps, speed, run.status)


@pytest.mark.parametrize("count", [None, 3])
def test_what_goes_there_and_back_is_an_event_at_its_time(count):
    model = oscillator("x - 0.5999")
    start, step = {"x": 0.0, "x_rate": 1.2}, 0.1
    run = dr.simulate(model, 2.0, start=start, method=dr.methods.RK4(step))
    env = dr.environment(model, observe=["x"], act={"F": 1}, reward="x", reset=start, step=step, until=2.0, num_envs=count)
    env.reset(seed=0)
    ended, number = False, 0
    while not ended:
        _, _, over, cut, info = env.step(np.zeros((1,) if count is None else (count, 1)))
        ended, number = bool(np.all(over)), number + 1
        assert not np.any(cut)
    assert number == 8
    status = info["status"] if count is None else info["status"][1]
    assert status == str(run.status)
    assert "0.776434" in status


def test_events_far_from_zero_are_not_left_to_the_driver(monkeypatch):
    model = oscillator("x - 0.7")
    env = dr.environment(model, observe=["x"], act={"F": 1}, reward="x", reset={"x_rate": 1.2}, step=0.02, num_envs=8)
    env.reset(seed=0)
    monkeypatch.setattr(env.unwrapped.episodes.batch, "_single", lambda member: pytest.fail(f"member {member} left the batch"))
    for _ in range(200):
        env.step(np.zeros((8, 1)))

"""A bicycle at 2 m/s, where it is unstable, learns to balance: a random search over linear policies, compared with LQR.

What it shows: an environment over a model (`dr.environment`), many of them side by side, and a search that knows nothing of the
equations. A policy is four gains, torque = −K (lean, steer, roll rate, steer rate). In every round hundreds of candidates are
drawn from a normal distribution, all ride from the same starts at the same time, and the distribution is fitted to the best
eighth of them (the cross-entropy method). The reward is quadratic in the state and the torque, so that the answer is known: the
linear-quadratic regulator of the linearized bicycle, which knows the equations.

What you should see: at first nearly all candidates fall within two seconds. After a few rounds some ride to the end; then the
search refines the gains until its return is that of the regulator. The gains themselves agree less well than the returns: near
the optimum the return is flat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels, single_panel
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, PAGE, style

Reals = NDArray[np.float64]
SPEED, STEP, DURATION = 2.0, 0.01, 4.0  # m/s, s, s
SEEN = ("lean", "steer", "roll_rate", "steer_rate")
WEIGHTS, INPUT_WEIGHT = {"lean": 10.0, "steer": 1.0}, 0.05
REWARD = " - ".join(["1", *(f"{weight!r}*{name}^2" for name, weight in WEIGHTS.items()), f"{INPUT_WEIGHT!r}*steer_torque^2"])
FIRST_SPREAD = 20.0  # of the gains, N·m/rad and N·m·s/rad
BEST = 8  # one of so many candidates is kept


def same_starts(starts: int) -> Any:
    """A reset that draws some starts and gives them to every candidate."""

    def draw(random: np.random.Generator, count: int) -> Mapping[str, Any]:
        rounds = -(-count // starts)
        lean, rate = random.uniform(-0.05, 0.05, starts), random.uniform(-0.1, 0.1, starts)
        return {"speed": SPEED, "lean": np.tile(lean, rounds)[:count], "roll_rate": np.tile(rate, rounds)[:count]}

    return draw


def riders(count: int, starts: int) -> Any:
    """So many bicycles side by side."""
    return dr.environment(
        bicycle(),
        observe=SEEN,
        act={"steer_torque": "20 N*m"},
        reward=REWARD,
        reset=same_starts(starts),
        terminate={"fell": f"abs(lean) > {math.radians(45)!r}"},
        step=STEP,
        until=DURATION,
        num_envs=count,
    )


def returns(env: Any, gains: Reals, seed: int) -> Reals:
    """The sum of rewards of an episode of every environment, each under gains of its own (a row)."""
    seen, _ = env.reset(seed=seed)
    total, riding = np.zeros(env.num_envs), np.ones(env.num_envs, dtype=bool)
    while riding.any():
        torque = -np.einsum("ij,ij->i", gains, seen)
        seen, reward, terminated, truncated, _ = env.step(torque[:, None])
        total[riding] += reward[riding]
        riding &= ~(terminated | truncated)
    return total


def search(candidates: int, starts: int, rounds: int, seed: int = 0) -> tuple[Reals, Reals, Reals]:
    """The mean gains after the last round, and the returns (rounds, candidates) and mean gains of all rounds."""
    env, random = riders(candidates * starts, starts), np.random.default_rng(seed)
    mean, spread = np.zeros(len(SEEN)), np.full(len(SEEN), FIRST_SPREAD)
    found, means = [], []
    for number in range(rounds):
        drawn = mean + spread * random.standard_normal((candidates, len(SEEN)))
        found.append(returns(env, np.repeat(drawn, starts, axis=0), seed=number).reshape(candidates, starts).mean(axis=1))
        best = drawn[np.argsort(-found[-1])[: candidates // BEST]]
        mean, spread = best.mean(axis=0), (spread + best.std(axis=0)) / 2  # not too early certain
        means.append(mean)
    return mean, np.array(found), np.array(means)


@entry(level="Advanced", film="learned", charts=("lean", "steer"))
def bicycle_learns_to_balance(candidates: int = 256, starts: int = 8, rounds: int = 18) -> Study:
    """A bicycle at 2 m/s learns to balance by a random search over linear policies; compared with LQR."""
    learned, found, means = search(candidates, starts, rounds)
    law = dr.lqr(bicycle(), {"speed": SPEED}, weights=WEIGHTS, input_weights={"steer_torque": INPUT_WEIGHT})
    regulator = law.K[0]  # by lean, steer, roll rate, steer rate
    trial = riders(512, 512)
    by_learning, by_lqr = (returns(trial, np.tile(gains, (512, 1)), seed=1000) for gains in (learned, regulator))
    most = DURATION / STEP
    compared = np.vstack([means, regulator])  # from the same starts
    along = returns(riders(64 * len(compared), 64), np.repeat(compared, 64, axis=0), seed=1000).reshape(-1, 64).mean(axis=1)
    lost = [most - float(total.mean()) for total in (by_learning, by_lqr)]
    closed = dict(zip(SEEN, learned, strict=True))
    torque = " - ".join(["0", *(f"{gain!r}*{name}" for name, gain in zip(SEEN, map(float, learned), strict=True))])
    begin = {"speed": SPEED, "lean": 0.05, "roll_rate": 0.1}
    runs = {
        "learned": dr.simulate(bicycle(), 4.0, start=begin, inputs={"steer_torque": torque}),
        "LQR": dr.simulate(bicycle(), 4.0, start=begin, inputs=dict(law)),
    }

    assert found[0].mean() < 0.6 * most  # at first most of them fall
    assert by_learning.min() > 0.95 * most  # nobody falls
    # the regulator is optimal for small motions in continuous time; here it is sampled, and motions are small but finite
    assert abs(lost[0] / lost[1] - 1.0) < 0.01, lost
    assert all(abs(run["lean"][-1]) < 1e-3 and run.status.complete for run in runs.values())
    figures = {"losses": _losses(most - found, most - along), "lean_and_torque": _compared(runs)}
    findings = (
        f"{found.size * starts:,} episodes in {rounds} rounds; in the first {np.mean(found[0] > 0.9 * most):.0%} of the "
        f"candidates rode to the end from all starts, in the last {np.mean(found[-1] > 0.9 * most):.0%}",
        f"of {most:.0f} rewards the learned policy loses {lost[0]:.3f} on the average of 512 new starts, LQR {lost[1]:.3f}",
        "gains learned " + ", ".join(f"{name} {gain:.1f}" for name, gain in closed.items()),
        "gains of LQR  " + ", ".join(f"{name} {gain:.1f}" for name, gain in zip(SEEN, regulator, strict=True)),
    )
    return Study("A bicycle learns to balance", runs, figures, findings)


def _losses(found: Reals, along: Reals) -> Any:
    with single_panel("round [–]", "lost reward of an episode [–]", height=0.45 * PAGE) as (drawing, axes):
        rounds = np.arange(1, len(found) + 1)
        every = np.broadcast_to(rounds[:, None], found.shape)
        axes.plot(every.ravel(), found.ravel(), ".", color="0.75", markersize=2, zorder=1, label="candidates")
        axes.plot(rounds, along[:-1], ".-", color=COLORS[0], label="mean of the best")
        axes.axhline(along[-1], color=COLORS[1], ls="--", label="LQR")
        axes.set_yscale("log")
        axes.set_ylim(1.0, 1e4)
        axes.set_xticks(rounds[:: max(1, len(rounds) // 9)])
    return drawing


def _compared(runs: Mapping[str, dr.Trajectory]) -> Any:
    with style():
        drawing, axes = panels(2, PAGE, 0.6 * PAGE)
        for (name, run), look in zip(runs.items(), ("-", "--"), strict=True):
            axes[0].plot(run.time, np.degrees(run["lean"]), look, label=name)
            axes[1].plot(*run.curve("steer_torque"), look)
        for panel, text in zip(axes, ("lean [°]", "steer torque [N m]"), strict=True):
            panel.set_ylabel(text)
            panel.margins(x=0)
        axes[-1].set_xlabel("time [s]")
        legend_above(axes[0], PAGE)
    return drawing

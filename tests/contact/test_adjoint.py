"""Adjoint gradients across modes: equal to forward sensitivities, whose saltation is not transposed, and to differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from package_models import block
from test_sensitivities import CASES, bouncing, cue_ball, sliding

import draisine as dr
from draisine.errors import ArgumentError, SolverError

TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def gradient_of(model: Any, until: float, start: dict[str, float], controls: dict[str, Any], **cost: Any) -> Any:
    return dr.optimal.gradient(dr.maneuver(model).start(**start).minimize(**cost), controls, duration=until)


@pytest.mark.parametrize("case", ["bouncing", *(case for case in CASES if case != "a force that jumps")])
def test_forward_sensitivities(case: str) -> None:
    if case == "bouncing":
        make, until, start, names, options = bouncing, 1.6, {"z": 1.0, "z_rate": 0.0}, ["e", "g", "start.z"], {}
    else:
        make, until, start, names, options = CASES[case]
    model, laws = make(), options.get("inputs", {})
    run = dr.simulate(model, until, start=start, sensitivity=names, samples=3, method=TIGHT, inputs=laws)
    equations = dr.derive(model, laws, work=True)
    rng = np.random.default_rng(len(case))
    weights = {q.name: round(float(w), 3) for q, w in zip(equations.states, rng.uniform(-1, 1, 20), strict=False)}
    final = " + ".join(f"({w})*{name}" for name, w in weights.items() if name != "work")
    found = gradient_of(equations, until, start, {}, final=final)
    for name in names:
        forward = [w * run.sensitivity[state, name][-1] for state, w in weights.items() if state != "work"]
        adjoint = found.targets[name[6:]] if name.startswith("start.") else found.parameters[name]
        assert adjoint == pytest.approx(sum(forward), abs=1e-9 * max(1.0, np.abs(forward).max()))


@pytest.mark.parametrize("seed", range(3))
def test_controls_times_and_integrals_beside_differences(seed: int) -> None:
    """A block that is pushed in pieces: it sticks, slips forward and back; the integral has a jump of its own at impacts."""
    rng = np.random.default_rng(seed)
    model, until = sliding(), 1.2
    start = {"x": 0.0, "x_rate": float(rng.uniform(0.2, 0.6)), "z": float([0.0, 0.15, 0.1][seed]), "z_rate": 0.0}
    pushes = rng.uniform(6, 14, 4) * [1, -1, 1, -1]
    cost = {"integral": "x_rate^2 + 0.3*x*pull + z_rate", "final": "x^2 + x_rate + t*x", "time": 0.7}

    def at(values: Any = pushes, duration: float = until, mu: float = 0.3) -> Any:
        stated = dr.maneuver(model).start(**start).minimize(**cost).parameters(mu=mu)
        return dr.optimal.gradient(stated, {"pull": values}, duration=duration)

    found, h = at(), 1e-5
    for k in range(4):
        step = h * np.eye(4)[k]
        assert found.controls["pull"][k] == pytest.approx((at(pushes + step).value - at(pushes - step).value) / (2 * h), abs=2e-7)
    by_time = (at(duration=until + h).value - at(duration=until - h).value) / (2 * h)
    assert found.duration == pytest.approx(by_time, abs=1e-6 * max(1.0, abs(by_time)))
    by_mu = (at(mu=0.3 + h).value - at(mu=0.3 - h).value) / (2 * h)
    assert found.parameters["mu"] == pytest.approx(by_mu, abs=1e-6 * max(1.0, abs(by_mu)))
    law = f"where(t < 0.3, {pushes[0]}, where(t < 0.6, {pushes[1]}, where(t < 0.9, {pushes[2]}, {pushes[3]})))"
    run = dr.simulate(model, until, start=start, inputs={"pull": law}, samples=20001, method=TIGHT)
    integrand = run["x_rate"] ** 2 + 0.3 * run["x"] * run["pull"] + run["z_rate"] + 0.7
    end = run["x"][-1] ** 2 + run["x_rate"][-1] + until * run["x"][-1]
    assert found.value == pytest.approx(float(np.trapezoid(integrand, run.time)) + end, abs=2e-3)  # of the trapezoidal rule


def test_what_is_refused() -> None:
    start = {"x_rate": 1.0, "z": 0.0}
    with pytest.raises(ArgumentError, match=r"gradient: the run takes its modes by itself; leave out modes"):
        dr.optimal.gradient(dr.maneuver(sliding()).modes(floor="slip+").start(**start).minimize(final="x"), {}, duration=1.0)
    with pytest.raises(ArgumentError, match="the integral depends on forces or accelerations"):
        gradient_of(sliding(), 1.0, start, {"pull": 1.0}, integral="floor_normal_force")
    with pytest.raises(ArgumentError, match="has no input 'pul'; did you mean 'pull'"):
        gradient_of(sliding(), 1.0, start, {"pul": 1.0}, final="x")
    make, until, begin, _, options = CASES["a force that jumps"]
    with pytest.raises(ArgumentError, match=r"sensitivity="):
        gradient_of(dr.derive(make(), options["inputs"]), until, begin, {}, final="x")
    spun = {"ball_z": 0.03, "ball_vx": 1.0, "ball_vy": 0.3, "ball_wx": 5.0, "ball_wy": -8.0}
    rolls = dr.simulate(cue_ball(), 0.1, start=spun, sensitivity=["mu"], samples=3, method=TIGHT)
    found = gradient_of(cue_ball(), 0.1, spun, {}, final="ball_x")
    assert found.parameters["mu"] == pytest.approx(rolls.sensitivity["ball_x", "mu"][-1], rel=1e-9)
    with pytest.raises(SolverError, match=r"cannot be followed backwards .* where a slip in two dimensions stops; use simulate"):
        gradient_of(cue_ball(), 0.6, spun, {}, final="ball_x")
    assert gradient_of(block(0.4, 1.0, 0.8), 0.2, {"right_gap": 0.0, "tilt": 0.1, "x": 0.0}, {}, final="tilt").notes == ()

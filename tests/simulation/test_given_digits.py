"""Values given to systems 0 = F are kept as far as their digits allow, and refused otherwise; they are never moved silently."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from tests.simulation.wheelset_ivp import CONTACTS, FORCES, POSITIONS, START, VELOCITIES, wheelset

import draisine as dr
from draisine.errors import StartError
from draisine.program.equations import Equations
from draisine.simulation.initial.given_digits import half_digit


def pendulum(length: float = 1.0, start: dict[str, float] | None = None) -> Equations:
    x, y, vx, vy, pull = sp.symbols("x y vx vy pull")
    given = {sp.Symbol(name): value for name, value in (start or {"x": length}).items()}
    return dr.symbolic.semi_explicit(
        "pendulum",
        {x: vx, y: vy, vx: -x * pull, vy: -y * pull - 9.81},
        constraints={"length": x**2 + y**2 - length**2},
        unknowns=[pull],
        start=given,
    )


@pytest.mark.parametrize("given", ["definition", "all", "differential"])
def test_the_wheelset_at_rest_starts_as_published(given: str) -> None:
    """Zero velocities fulfill G(p, q) v = 0 exactly; the contact points follow from the positions to the published digits."""
    e = wheelset()
    start = {"definition": {}, "all": START, "differential": {n: START[n] for n in (*POSITIONS, *VELOCITIES)}}[given]
    found = dr.consistent_start(e, start)
    for name in (*POSITIONS, *VELOCITIES):
        assert found.coordinates[name] == START[name]
    for name in CONTACTS:
        assert found.coordinates[name] == pytest.approx(START[name], rel=1e-12)
    # both wheels carry the weight, and the constraint forces keep the accelerations consistent
    assert 1e4 * sum(found.coordinates[name] for name in FORCES) == pytest.approx(-16.08 * 9.81, rel=2e-2)
    assert found.report.largest_relative_residual < 1e-12
    run = dr.simulate(e, 0.002, start=start, method=dr.methods.Radau())
    assert run.status.kind == "FINISHED" and run["theta"][0] == -2.8573e-4


def test_half_a_unit_of_the_last_digit() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        digits = int(rng.integers(3, 15))
        value = float(f"{rng.uniform(-1, 1) * 10.0 ** rng.integers(-8, 8):.{digits - 1}e}")
        if len(repr(abs(value)).replace(".", "").strip("0").partition("e")[0]) < 3:
            continue
        half = half_digit(value)
        # other numbers within half a unit round to the same text, those beyond it do not
        exponent = round(math.log10(2 * half))
        assert round((value + 0.9 * half) / 10.0**exponent) == round(value / 10.0**exponent)
        assert round((value + 1.1 * half) / 10.0**exponent) != round(value / 10.0**exponent)
    assert half_digit(1.0) == half_digit(0.25) == half_digit(0.0) == half_digit(1 / 3) == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_rounded_positions_of_a_pendulum_are_kept_and_wrong_ones_refused(seed: int) -> None:
    """Positions x = L sin φ, y = −L cos φ rounded to 4 to 11 digits are accepted, those of 9 kept as given;
    moved by 20 units, they are refused, and the nearest values in the message are accepted."""
    rng = np.random.default_rng(seed)
    digits, angle = int(rng.integers(4, 12)), rng.uniform(0.2, 1.3)
    x, y = (float(f"{v:.{digits}g}") for v in (math.sin(angle), -math.cos(angle)))
    rate = rng.uniform(0.5, 2.0)
    vx, vy = (float(f"{v:.{digits}g}") for v in (-rate * y, rate * x))
    start = {"x": x, "y": y, "vx": vx, "vy": vy}
    for e, given in ((pendulum(), start), (pendulum(start=start), {})):
        found = dr.consistent_start(e, given)
        for name, value in start.items():  # four values: changes by half units are at most two in the sum of squares
            assert abs(found.coordinates[name] - value) <= 2.0 * half_digit(value)
        run = dr.simulate(e, 0.2, start=given, method=dr.methods.Radau())
        assert run.status.kind == "FINISHED"
        assert np.abs(np.hypot(run["x"], run["y"]) - 1.0).max() < 2e-7
        changed = any(run[name][0] != value for name, value in start.items())
        assert changed == any("more digits than the start has" in note for note in run.warnings)
        assert digits < 9 or not changed  # residuals of 1e-9 disturb nothing, and the values are kept to the last bit
    wrong = {**start, "x": float(f"{x + 20.0 * 10.0**-digits:.{digits}g}")}
    with pytest.raises(StartError) as conflict:
        dr.consistent_start(pendulum(), wrong)
    assert conflict.value.nearest
    with pytest.raises(StartError, match=r"nearest consistent values have .*x = ") as refused:
        dr.consistent_start(pendulum(start=wrong))
    right = {**wrong, **refused.value.nearest}
    assert dr.consistent_start(pendulum(start=right)).coordinates["x"] == right["x"]


def test_values_that_are_not_given_are_still_solved_for() -> None:
    """A definition gives a start for its own parameters; guesses may change, and unknowns without a value follow."""
    found = dr.consistent_start(pendulum(), {"x": 0.6, "y": -0.8})
    assert found.coordinates["pull"] == pytest.approx(9.81 * 0.8)
    found = dr.consistent_start(pendulum(), {"x": 0.6, "y": dr.InitialGuess(-0.7)})
    assert found.coordinates["y"] == pytest.approx(-0.8, abs=1e-12)
    with pytest.raises(StartError):
        dr.consistent_start(pendulum(), {"x": 0.6, "y": -0.7})

"""A loaded solution is a solution: all of it equals the original, and it is not taken for that of another maneuver."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal import Adjoint, Collocation, Ipopt, MultipleShooting, Refinement

X, V, FORCE, K = sp.symbols("x v force k")
MASS = dr.first_order("mass", {X: V, V: FORCE - K * X}, inputs=[FORCE], parameters={K: 0.0})
SPRING = dr.first_order("spring", {X: V, V: -40 * sp.sin(X) * (1 + X**2) + FORCE}, inputs=[FORCE])
UPSIDE = dr.first_order("upside", {X: V, V: 9 * sp.sin(X) + FORCE}, inputs=[FORCE])


COARSE = Collocation(intervals=4)


def sprint(force=(-1, 1), x=1.0, **start):
    stated = dr.maneuver(MASS).start(**{"x": 0, "v": 0} | start).finish(x=x, v=0)
    return stated.bounds(force=force).minimize("time")


def lifted():
    stated = dr.maneuver(SPRING).start(x=0, v=0).duration(2).bounds(force=(-60, 60))
    return stated.minimize(final="(x - 2)^2 + v^2", integral="1e-3*force^2")


SOLVED = {
    "collocation": (sprint(), {"method": Collocation(intervals=10)}),
    "perturbed guess": (sprint(), {"method": Collocation(intervals=10), "guess": dr.guess.PerturbedGuess(seed=3)}),
    "shooting": (sprint(), {"method": MultipleShooting(intervals=10)}),
    "refined": (sprint(), {}),
    "refined to a limit": (sprint(), {"refine": Refinement(tolerance=1e-12, rounds=1)}),
    "infeasible": (sprint().duration(0.5), {"method": Collocation(intervals=6)}),
    "not converged": (sprint(), {"method": Collocation(intervals=6), "solver": Ipopt(iterations=2)}),
    "phases": (
        sprint().then(dr.maneuver(MASS).finish(x=2, v=1).bounds(force=(-2, 2)).minimize("time")),
        {"method": Collocation(intervals=6)},
    ),
    "parameter": (sprint().optimize(k=(0.0, 0.2)), {"method": Collocation(intervals=8)}),
    "periodic": (
        dr.maneuver(MASS).start(x=0.3, free=["v"]).periodic("x", "v").duration(2).minimize(integral="force^2 + (v - 1)^2"),
        {"method": Collocation(intervals=8)},
    ),
    "unstable": (
        dr.maneuver(UPSIDE)
        .start(x=math.pi, v=0)
        .finish(x=0, v=0)
        .bounds(force=(-3, 3))
        .duration(12)
        .minimize(integral="force^2"),
        {"method": Collocation(intervals=40)},
    ),
    # steps are chosen at the guess, where the force is zero: at the solution more would be chosen
    "adjoint": (lifted(), {"method": Adjoint(pieces=8)}),
    "adjoint, infeasible": (sprint().duration(0.5), {"method": Adjoint(pieces=4)}),
}


def differences(one, other, where="") -> list[str]:
    if type(one) is not type(other):
        return [f"{where}: {one!r} and {other!r}"]
    if isinstance(one, np.ndarray):
        return [] if np.array_equal(one, other, equal_nan=one.dtype.kind == "f") else [where]
    if isinstance(one, list | tuple):
        pairs = [(f"{where}[{k}]", a, b) for k, (a, b) in enumerate(zip(one, other, strict=False))]
        return [w for name, a, b in pairs for w in differences(a, b, name)] + ([where] if len(one) != len(other) else [])
    if isinstance(one, Mapping):
        return [where] if list(one) != list(other) else [w for k in one for w in differences(one[k], other[k], f"{where}[{k}]")]
    if dataclasses.is_dataclass(one):
        names = [f.name for f in dataclasses.fields(one) if f.name not in ("maneuver", "phase")]  # the statement itself
        return [w for n in names for w in differences(getattr(one, n), getattr(other, n), f"{where}.{n}")]
    if isinstance(one, float):
        return [] if one == other or (math.isnan(one) and math.isnan(other)) else [f"{where}: {one!r} and {other!r}"]
    return [] if one == other or repr(one) == repr(other) else [f"{where}: {one!r} and {other!r}"]


def readable(solution) -> dict:
    """Every public attribute that is data, and what the methods without arguments return."""
    found = {}
    for name in dir(solution):
        if name.startswith("_"):
            continue
        try:
            value = getattr(solution, name)
        except dr.errors.ArgumentError as refused:  # `only` of several phases
            value = str(refused)
        if not callable(value):
            found[name] = value
    methods = ("as_start", "summary", "__str__", "__repr__", "_repr_html_")
    return found | {name: getattr(solution, name)() for name in methods}


@cache
def solved(name: str) -> dr.optimal.Solution:
    stated, options = SOLVED[name]
    return stated.solve(**options)


@pytest.mark.parametrize("name", SOLVED)
def test_everything_equals_the_original(name, tmp_path):
    (stated, _), solution = SOLVED[name], solved(name)
    solution.save(tmp_path / "solution.nc")
    loaded = stated.load(tmp_path / "solution.nc")
    assert differences(solution, loaded) == []
    assert differences(readable(solution), readable(loaded)) == []
    assert solution.to_pandas().equals(loaded.to_pandas())
    loaded.save(tmp_path / "again.nc")  # as often as one likes
    assert differences(solution, stated.load(tmp_path / "again.nc")) == []


def test_the_table_of_cases_covers_what_solutions_say():
    """Each case above is what its name says, so that the comparison means something."""
    outcome = {name: solved(name) for name in ("refined", "adjoint")}
    assert outcome["refined"].solved and outcome["refined"].rounds > 1
    assert "steps per piece, chosen at the guess" in outcome["adjoint"].notes[0]
    assert not outcome["adjoint"].solved


def test_it_serves_as_guess_start_law_and_figure(tmp_path):
    stated = sprint()
    solution = stated.solve(Collocation(intervals=10))
    solution.save(tmp_path / "solution.nc")
    loaded = stated.load(tmp_path / "solution.nc")
    for use in (
        lambda s: stated.solve(Collocation(intervals=10), guess=s, solver=Ipopt(warm=True)).answer.w,
        lambda s: sprint(x=1.1).solve(Collocation(intervals=8), guess=s).answer.w,
        lambda s: dr.simulate(MASS, 1.0, start=s)["x"],
        lambda s: dr.maneuver(MASS).start(s).finish(x=2).duration(1).minimize(integral="force^2").solve(COARSE).answer.w,
        lambda s: dr.simulate(MASS, s.duration, inputs=s.feedforward)["x"],
        lambda s: dr.optimal.tracking(s, weights={"x": 1}, input_weights={"force": 1}).gains,
    ):
        np.testing.assert_array_equal(use(solution), use(loaded))
    loaded.plot()
    loaded.plot("x", "force")
    motion = dr.load(tmp_path / "solution.nc")  # a guess without the statement of the maneuver it is from
    assert sprint(x=1.1).solve(Collocation(intervals=8), guess=motion).converged


# ---------------------------------------------------------------------------------------------------- another maneuver

ANOTHER = {
    "bounds": sprint(force=(-2, 2)),
    "the start": sprint(v=0.5),
    "the finish": sprint(x=2.0),
    "the duration": sprint().duration(0.5, 5),
    "costs": dr.maneuver(MASS).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize(time=3.0),
    "parameters": sprint().parameters(k=0.1),
    "equations, conditions or costs": sprint().minimize(integral="force^2", time=1.0),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("solution") / "solution.nc"
    sprint().solve(Collocation(intervals=6)).save(path)
    return path


@pytest.mark.parametrize("subject", ANOTHER)
def test_it_is_not_taken_for_that_of_another_maneuver(subject, saved):
    """Loaded with bounds twice as wide it would be SOLVED with the minimum 2; the truth is √2."""
    with pytest.raises(dr.errors.DataError, match=f"differs in .*{subject}.*state the maneuver that was solved"):
        ANOTHER[subject].load(saved)


def test_random_statements_are_told_apart(tmp_path):
    """Statements that differ in one number are refused; the same numbers stated in another way are the same maneuver."""
    pick = np.random.default_rng(7)
    for _ in range(4):
        numbers = {"low": -1 - pick.random(), "high": 1 + pick.random(), "x": 0.5 + pick.random(), "v": pick.random(), "k": 0.1}

        def stated(low, high, x, v, k):
            made = dr.maneuver(MASS).parameters(k=k).start(x=0).start(v=v).finish(x=x).finish(v=0)
            return made.bounds(force=(low, high)).minimize(time=1.0)

        found = stated(**numbers).solve(Collocation(intervals=5))
        found.save(tmp_path / "a.nc")
        low, high, k = numbers["low"], numbers["high"], numbers["k"]
        same = dr.maneuver(MASS).minimize("time").bounds(force=(low, high)).finish(x=numbers["x"], v=0)
        assert differences(same.start(v=numbers["v"], x=0).parameters(k=k).load(tmp_path / "a.nc"), found) == []
        for name in numbers:
            with pytest.raises(dr.errors.DataError, match="differs in"):
                stated(**numbers | {name: numbers[name] * (1 + 1e-12)}).load(tmp_path / "a.nc")

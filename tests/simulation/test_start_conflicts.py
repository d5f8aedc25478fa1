"""Starts that cannot be: which targets conflict, with what, of which kind, and the smallest change that would do."""

from __future__ import annotations

import re
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import StartError
from draisine.program.equations import Equations, Kind
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.initial.result import Conflict
from simulation.start_systems import BARS, circuit, four_bar, linkage, mechanism, pendulum


def refused(e: Equations, targets: dict[str, float], parameters: dict[str, float] | None = None) -> StartError:
    with pytest.raises(StartError) as caught:
        consistent_start(e, targets, parameters=parameters)
    return caught.value


# ------------------------------------------------------------------------------------------------ kinds


def test_one_target_that_nothing_can_fulfil() -> None:
    refusal = refused(linkage(), {"tip": 3.5})
    assert refusal.conflict is Conflict.TARGET_IMPOSSIBLE
    assert (refusal.targets, refusal.constraints, refusal.level) == (("tip",), (), "position")  # not even without the rail
    assert refusal.nearest == pytest.approx({"tip": 3.0}, abs=1e-12)
    assert str(refusal) == "linkage: target infeasible: tip cannot be 3.5; nearest possible: tip = 3"
    assert refusal.leftover["tip"] == pytest.approx(-0.5, abs=1e-2)


def test_one_target_that_a_constraint_forbids() -> None:
    """The crank points up and the rod of length ½ is too short to reach the rail: sin(crank) must not exceed ½."""
    refusal = refused(linkage(), {"crank": 1.2}, {"reach": 0.5})
    assert refusal.conflict is Conflict.TARGET_IMPOSSIBLE
    assert (refusal.targets, refusal.constraints) == (("crank",), ("rail",))
    assert refusal.nearest == pytest.approx({"crank": np.pi / 6}, abs=1e-9)
    assert "with 'rail', crank cannot be 1.2; nearest possible: crank = 0.523598" in str(refusal)


def test_a_value_that_constraints_decide() -> None:
    refusal = refused(derive(dr.gallery.bicycle()), {"front_wheel_contact_z": 0.1, "lean": 0.3})
    assert refusal.conflict is Conflict.TARGET_IMPOSSIBLE
    assert (refusal.targets, refusal.constraints) == (("front_wheel_contact_z",), ("front_wheel_height",))
    assert "'front_wheel_height' determines front_wheel_contact_z: it is 0, not 0.1" in str(refusal)


def test_targets_that_contradict_each_other() -> None:
    refusal = refused(pendulum(2), {"tip_x": 1.5, "tip_y": 1.5})
    assert refusal.conflict is Conflict.TARGETS_CONTRADICT
    assert (refusal.targets, refusal.constraints) == (("tip_x", "tip_y"), ("rod1", "rod2"))
    root = np.sqrt(4.0 - 2.25)
    assert refusal.nearest == pytest.approx({"tip_x": root, "tip_y": root}, abs=1e-9)
    assert "1.32287" in str(refusal)


def test_too_many_targets() -> None:
    refusal = refused(pendulum(), {"x1": 0.6, "y1": 0.7})
    assert refusal.conflict is Conflict.TOO_MANY_TARGETS
    assert refusal.nearest == pytest.approx({"y1": 0.8, "x1": np.sqrt(0.51)}, abs=1e-12)
    assert "'rod1' and x1 = 0.6 determine y1: it is 0.8, not 0.7" in str(refusal)


def test_too_many_velocities() -> None:
    """At the closed linkage one rate decides the other: ȧ cos a + 2 ḃ cos b = 0."""
    e = linkage()
    a, b = consistent_start(e).q
    refusal = refused(e, {"crank_rate": 1.0, "rod_rate": 1.0})
    assert (refusal.conflict, refusal.level) == (Conflict.TOO_MANY_TARGETS, "velocity")
    assert refusal.constraints == ("along the rail",)
    ratio = -np.cos(a) / (2.0 * np.cos(b))
    assert refusal.nearest == pytest.approx({"rod_rate": ratio, "crank_rate": 1.0 / ratio}, rel=1e-9)


def test_a_model_that_cannot_stand() -> None:
    """Without any target: a four-bar whose bars cannot meet."""
    refusal = refused(four_bar(), {}, {"d": 9.0})
    assert refusal.conflict is Conflict.MODEL_CANNOT_STAND
    assert refusal.targets == ()
    assert "closed_x" in refusal.constraints
    assert "four_bar: model cannot be assembled: without any target, 'closed_x' (off by" in str(refusal)


def test_a_model_that_cannot_be_computed_at_its_defaults() -> None:
    q, v = ca.SX.sym("q", 1), ca.SX.sym("v", 0)
    e = mechanism("odd", {"x": 0.0}, (), {"root": (Kind.HOLONOMIC, ca.sqrt(-1.0 - q[0] ** 2))}, {}, q, v)
    refusal = refused(e, {})
    assert refusal.conflict is Conflict.MODEL_CANNOT_STAND
    assert "'root' cannot be evaluated at the defaults" in str(refusal)


def test_algebraic_unknowns_that_contradict() -> None:
    refusal = refused(circuit(), {"x": 9.0, "z": 1.0})
    assert refusal.conflict is Conflict.TOO_MANY_TARGETS
    assert refusal.nearest == pytest.approx({"x": 1.0, "z": 2.0}, abs=1e-10)


# ------------------------------------------------------------------------------------------------ minimal, and smallest


def test_only_targets_that_conflict_are_named() -> None:
    """Of five targets two conflict: the second rod cannot bridge 1.4. What would do is said with all the others kept."""
    refusal = refused(pendulum(3), {"y3": -1.0, "x1": -0.5, "x2": 0.9, "x1_rate": 1.0})
    assert refusal.targets == ("x1", "x2")
    assert refusal.constraints == ("rod2",)
    for name, value in refusal.nearest.items():
        start = consistent_start(pendulum(3), {"y3": -1.0, "x1": -0.5, "x2": 0.9, "x1_rate": 1.0} | {name: value})
        assert start.coordinates[name] == value


def test_redundant_constraints_in_a_conflict_are_all_named() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 0)
    circle = ca.sumsqr(q) - 1.0
    rows = {"one": (Kind.HOLONOMIC, circle), "same": (Kind.HOLONOMIC, 2 * circle)}
    refusal = refused(mechanism("point", {"x": 1.0, "y": 0.0}, (), rows, {}, q, v), {"y": 1.4})
    assert set(refusal.constraints) == {"one", "same"}
    assert refusal.nearest == pytest.approx({"y": 1.0}, abs=1e-9)


def closed(q: np.ndarray) -> list[float]:
    a, b, c, d = BARS.values()
    return [
        a * np.cos(q[0]) + b * np.cos(q[1]) - c * np.cos(q[2]) - d,
        a * np.sin(q[0]) + b * np.sin(q[1]) - c * np.sin(q[2]),
    ]


def test_the_smallest_change_is_that_of_an_independent_optimizer() -> None:
    """The rocker of a crank-rocker swings between two dead points, and the coupler's middle has a highest place."""
    a, b = BARS["a"], BARS["b"]
    measures = {
        "rocker": (0.2, lambda q: q[2]),
        "point_y": (4.0, lambda q: a * np.sin(q[0]) + b / 2 * np.sin(q[1])),
        "point_x": (-3.0, lambda q: a * np.cos(q[0]) + b / 2 * np.cos(q[1])),
    }
    for name, (target, measure) in measures.items():
        refusal = refused(four_bar(), {name: target})
        found = []
        for begin in np.linspace(-3.0, 3.0, 13):
            near = consistent_start(four_bar(), {"crank": begin}).q
            result = minimize(
                lambda q, f=measure, w=target: (f(q) - w) ** 2,
                near,
                constraints=[{"type": "eq", "fun": closed}],
                method="SLSQP",
                options={"ftol": 1e-15, "maxiter": 400},
            )
            if np.abs(closed(result.x)).max() < 1e-9:
                found.append(measure(result.x))
        best = min(found, key=lambda value, w=target: abs(value - w))
        assert refusal.nearest[name] == pytest.approx(best, abs=1e-6), name
        assert refusal.targets == (name,)


@pytest.mark.parametrize("targets", [{"rocker": 0.2}, {"point_y": 4.0}, {"point_x": -3.0}])
def test_what_is_shown_is_possible_itself(targets: dict[str, float]) -> None:
    """The value in the message is rounded to the safe side: taken at its word, it works."""
    shown = re.search(r"nearest possible: (\w+) = ([-.\de]+)", str(refused(four_bar(), targets)))
    assert shown is not None
    name, value = shown[1], float(shown[2])
    start = consistent_start(four_bar(), {name: value})
    assert {w.name: w.got for w in start.report.targets}[name] == pytest.approx(value, abs=1e-12)


def test_a_target_decided_by_others_that_are_not_to_blame() -> None:
    """The point never gets to x = 3, wherever the crank is; with the crank where it should be, there is one place for it."""
    refusal = refused(four_bar(), {"crank": 0.5, "point_x": 3.0})
    assert (refusal.conflict, refusal.targets) == (Conflict.TARGET_IMPOSSIBLE, ("point_x",))
    start = consistent_start(four_bar(), {"crank": 0.5})
    assert refusal.nearest == pytest.approx({"point_x": start.outputs["point_x"]}, abs=1e-12)


# ------------------------------------------------------------------------------------------------ names and numbers


def test_unknown_target_names_what_comes_close() -> None:
    with pytest.raises(
        KeyError, match=r"no coordinate, velocity or output of linkage is called 'tipspeed'; did you mean 'tip_speed'"
    ):
        consistent_start(linkage(), {"tipspeed": 1.0})


def test_unknown_parameter_names_what_comes_close() -> None:
    with pytest.raises(KeyError, match=r"no parameter is called 'reech'; did you mean 'reach'"):
        consistent_start(linkage(), {}, parameters={"reech": 1.0})


def test_forces_cannot_be_targeted_for() -> None:
    with pytest.raises(ValueError, match="'push' depends on accelerations or forces"):
        consistent_start(linkage(), {"push": 1.0})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "far", None])
def test_numbers_are_checked(value: object) -> None:
    with pytest.raises(ValueError, match=r"invalid start target tip = .*; give a finite number"):
        consistent_start(linkage(), {"tip": value})  # type: ignore[dict-item]


def test_an_output_cannot_be_begun_near() -> None:
    with pytest.raises(ValueError, match="'tip' is neither a coordinate nor a velocity and cannot start near 2"):
        consistent_start(linkage(), {"tip": InitialGuess(2.0)})


def test_a_problem_that_refused_serves_on() -> None:
    problem = StartProblem(linkage(), compiled=False)
    before = consistent_start(problem, {"tip": 2.4}).x
    with pytest.raises(StartError):
        consistent_start(problem, {"tip": 3.5})
    assert np.array_equal(consistent_start(problem, {"tip": 2.4}).x, before)


def test_defaults_are_the_references_and_may_be_replaced() -> None:
    e = linkage()
    moved = replace(e, coordinates=tuple(c._replace(default=d) for c, d in zip(e.coordinates, (2.9, 0.1), strict=True)))
    near = consistent_start(e, {"crank": InitialGuess(2.9), "rod": InitialGuess(0.1)})
    assert np.array_equal(consistent_start(moved).q, near.q)
    assert near.q[0] > np.pi / 2

"""The bicycle of 23 coordinates against the print of its source, and against the same bicycle as a graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.delebecque_bicycle import (
    COORDINATES,
    PARAMETERS,
    delebecque_bicycle,
    delebecque_graph,
    delebecque_pulse,
)
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.result import Start

STATES = (
    {"speed": 8.0, "lean": 0.0, "steer": 0.0, "rear_slant_rate": 0.5, "steer_rate": -0.3, "rear_heading": 0.0},
    {"speed": 5.0, "lean": 0.4, "steer": -0.6, "rear_slant_rate": -0.7, "steer_rate": 1.1, "rear_heading": 2.0},
    {"speed": -3.0, "lean": -1.0, "steer": 0.3, "rear_slant_rate": 0.2, "steer_rate": 0.4, "rear_heading": -1.2},
    {"speed": 2.0, "lean": 0.2, "steer": 1.2, "rear_slant_rate": 1.0, "steer_rate": -0.8, "rear_heading": 0.6},
)
INPUTS = {"steer_torque": 1.7, "pedal_torque": -2.3}


@pytest.fixture(scope="module")
def typed() -> dr.Equations:
    return delebecque_bicycle()


@pytest.fixture(scope="module")
def graph() -> dr.Equations:
    return dr.derive(delebecque_graph())


def reported(e: dr.Equations, x: np.ndarray, u: np.ndarray) -> dict[str, float]:
    """Velocities, accelerations, multipliers, outputs, energies, power by name."""
    results = zip(e.report.outputs, e.report([0.0], x, u, e.default_parameters), strict=True)
    return {label: float(value) for slot, values in results for label, value in zip(slot.labels, values, strict=True)}


def by_name(names: tuple[str, ...], values: np.ndarray) -> list[float]:
    """A list counted from one, as the source counts."""
    return [math.nan, *(float(v) for v in np.asarray(values)[: len(names)])]


def printed(q: list[float], qd: list[float], p: list[float], sign: float = 1.0) -> dict[str, float]:
    """f and gqd of appendix B, transcribed; `sign` = −1 gives the second terms of f14 and f15 as they stand in print."""
    sin, cos = math.sin, math.cos
    f, g = dict[int, float](), dict[int, float]()
    f[1] = q[3] - p[1] * sin(q[5])
    g[1] = qd[1] + p[1] * (qd[4] * cos(q[5]) * cos(q[4]) - qd[5] * sin(q[4]) * sin(q[5]) + qd[6] * cos(q[4]))
    g[2] = qd[2] + p[1] * (qd[4] * cos(q[5]) * sin(q[4]) + qd[5] * cos(q[4]) * sin(q[5]) + qd[6] * sin(q[4]))
    f[8] = q[23] - p[1] * sin(q[19])
    g[4] = qd[21] + p[1] * (qd[18] * cos(q[19]) * cos(q[18]) - qd[19] * sin(q[18]) * sin(q[19]) + qd[20] * cos(q[18]))
    g[3] = qd[22] + p[1] * (qd[18] * cos(q[19]) * sin(q[18]) + qd[19] * cos(q[18]) * sin(q[19]) + qd[20] * sin(q[18]))
    f[2] = q[1] - q[7] + p[16] * (cos(q[4]) * cos(q[10]) - sin(q[4]) * sin(q[10]) * cos(q[5]))
    f[3] = q[2] - q[8] + p[16] * (sin(q[4]) * cos(q[10]) + cos(q[4]) * sin(q[10]) * cos(q[5]))
    f[4] = q[3] - q[9] + p[16] * (sin(q[10]) * sin(q[5]))
    f[7] = q[15] - q[11] + p[17] * (cos(q[18]) * cos(q[14]) - sin(q[18]) * sin(q[14]) * cos(q[19]))
    f[6] = q[16] - q[12] + p[17] * (sin(q[18]) * cos(q[14]) + cos(q[18]) * sin(q[14]) * cos(q[19]))
    f[5] = q[17] - q[13] + p[17] * (sin(q[14]) * sin(q[19]))
    f[14] = q[21] - q[15] - p[20] * (cos(q[18]) * sin(q[14]) + sign * cos(q[19]) * sin(q[18]) * cos(q[14]))
    f[15] = q[22] - q[16] - p[20] * (sin(q[18]) * sin(q[14]) - sign * cos(q[19]) * cos(q[18]) * cos(q[14]))
    f[16] = q[23] - q[17] - p[20] * (-cos(q[14]) * sin(q[19]))
    f[12] = (q[1] - q[15]) ** 2 + (q[2] - q[16]) ** 2 + (q[3] - q[17]) ** 2 - p[15] ** 2
    f[9] = (
        p[18] * (cos(q[10]) * cos(q[4]) - sin(q[10]) * cos(q[5]) * sin(q[4]))
        - p[19] * (cos(q[14]) * cos(q[18]) - sin(q[14]) * cos(q[19]) * sin(q[18]))
        - q[15]
        + q[1]
    )
    f[10] = (
        p[18] * (cos(q[10]) * sin(q[4]) + sin(q[10]) * cos(q[5]) * cos(q[4]))
        - p[19] * (cos(q[14]) * sin(q[18]) + sin(q[14]) * cos(q[19]) * cos(q[18]))
        - q[16]
        + q[2]
    )
    f[11] = p[18] * sin(q[10]) * sin(q[5]) - p[19] * sin(q[14]) * sin(q[19]) - q[17] + q[3]
    f[13] = (
        sin(q[5]) * sin(q[4]) * p[19] * cos(q[14]) * cos(q[18])
        - sin(q[5]) * sin(q[4]) * p[19] * sin(q[14]) * cos(q[19]) * sin(q[18])
        - sin(q[5]) * cos(q[4]) * p[19] * cos(q[14]) * sin(q[18])
        - sin(q[5]) * cos(q[4]) * p[19] * sin(q[14]) * cos(q[19]) * cos(q[18])
        + cos(q[5]) * p[19] * sin(q[14]) * sin(q[19])
    )
    ours = {1: "rear_height", 8: "front_height", 12: "hub_to_foot", 13: "steer_axis_in_frame"}
    ours |= {2: "frame_x", 3: "frame_y", 4: "frame_z", 7: "fork_x", 6: "fork_y", 5: "fork_z"}
    ours |= {9: "head_x", 10: "head_y", 11: "head_z", 14: "front_hub_x", 15: "front_hub_y", 16: "front_hub_z"}
    slips = {1: "rear_slip_x", 2: "rear_slip_y", 4: "front_slip_x", 3: "front_slip_y"}
    return {ours[i]: value for i, value in f.items()} | {slips[i]: value for i, value in g.items()}


def printed_kinetic(q: list[float], qd: list[float], p: list[float]) -> float:
    """Trot + Ttr of the four bodies, transcribed from appendix B."""
    sin, cos = math.sin, math.cos
    rear = p[10] / 2 * (qd[5] ** 2 + qd[4] ** 2 * sin(q[5]) ** 2) + p[6] / 2 * (qd[4] * cos(q[5]) + qd[6]) ** 2
    frame = (
        p[11] / 2 * ((-qd[5] * sin(q[10]) + qd[4] * sin(q[5]) * cos(q[10])) ** 2 + (qd[4] * cos(q[5]) + qd[10]) ** 2)
        + p[7] / 2 * (qd[5] * cos(q[10]) + qd[4] * sin(q[5]) * sin(q[10])) ** 2
    )
    front = p[13] / 2 * (qd[19] ** 2 + qd[18] ** 2 * sin(q[19]) ** 2) + p[9] / 2 * (qd[18] * cos(q[19]) + qd[20]) ** 2
    fork = (
        p[12] / 2 * ((-qd[19] * sin(q[14]) + qd[18] * sin(q[19]) * cos(q[14])) ** 2 + (qd[18] * cos(q[19]) + qd[14]) ** 2)
        + p[8] / 2 * (qd[19] * cos(q[14]) + qd[18] * sin(q[19]) * sin(q[14])) ** 2
    )
    moving = (
        p[2] / 2 * (qd[1] ** 2 + qd[2] ** 2 + qd[3] ** 2)
        + p[3] / 2 * (qd[7] ** 2 + qd[8] ** 2 + qd[9] ** 2)
        + p[5] / 2 * (qd[21] ** 2 + qd[22] ** 2 + qd[23] ** 2)
        + p[4] / 2 * (qd[11] ** 2 + qd[12] ** 2 + qd[13] ** 2)
    )
    return rear + frame + front + fork + moving


def test_sizes_are_those_of_the_source(typed: dr.Equations) -> None:
    kinds = [(str(c.kind), c.level) for c in typed.constraints]
    assert (len(typed.coordinates), len(typed.parameters), len(typed.inputs)) == (23, 20, 2)
    assert kinds.count(("holonomic", "position")) == 16 and kinds.count(("nonholonomic", "velocity")) == 4
    assert [c.name for c in typed.coordinates] == list(COORDINATES) and [p.name for p in typed.parameters] == list(PARAMETERS)


@pytest.mark.parametrize("seed", range(3))
def test_constraints_and_energy_are_the_printed_ones(typed: dr.Equations, seed: int) -> None:
    """At any q, q̇ and parameters, admissible or not, but for the signs in f14 and f15."""
    rng = np.random.default_rng(seed)
    q, v, p = rng.uniform(-1.5, 1.5, 23), rng.uniform(-2, 2, 23), rng.uniform(0.2, 2.0, 20)
    residuals = dict(zip(typed.motion.output("residuals").labels, typed.motion([0.0], q, v, [0, 0], p)[0], strict=True))
    ones = by_name(COORDINATES, q), by_name(COORDINATES, v), by_name(tuple(PARAMETERS), p)
    right, as_printed = printed(*ones), printed(*ones, sign=-1.0)
    for name, value in right.items():
        level = "velocity" if "slip" in name else "position"
        assert residuals[f"{name}_{level}"] == pytest.approx(value, abs=1e-13), name
    assert [name for name in right if abs(right[name] - as_printed[name]) > 1e-9] == ["front_hub_x", "front_hub_y"]
    slots = [slot.name for slot in typed.report.outputs]
    kinetic = typed.report([0.0], [*q, *v, 0.0], [0, 0], p)[slots.index("energy")][0]
    assert kinetic == pytest.approx(printed_kinetic(*ones), rel=1e-13)


def test_the_printed_front_hub_leaves_the_plane_of_its_wheel() -> None:
    """Why f14 and f15 were changed: P5 − P4 must lie in the wheel's plane and be perpendicular to the fork, at any lean."""
    heading, slant, angle = 0.3, 1.2, 1.9
    e1, e2, _ = plane(heading, slant)
    q = [0.0] * 24
    q[14], q[18], q[19] = angle, heading, slant
    p = [0.0] * 20 + [1.0]
    for sign, fits in ((1.0, True), (-1.0, False)):
        f = printed(q, [0.0] * 24, p, sign)
        arm = -np.array([f["front_hub_x"], f["front_hub_y"], f["front_hub_z"]])
        assert (abs(arm @ np.cross(e1, e2)) < 1e-12) == fits
        assert (abs(arm @ (math.cos(angle) * e1 + math.sin(angle) * e2)) < 1e-12) == fits


def plane(heading: float, slant: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    e1 = np.array([math.cos(heading), math.sin(heading), 0.0])
    e2 = np.array([-math.sin(heading) * math.cos(slant), math.cos(heading) * math.cos(slant), math.sin(slant)])
    return e1, e2, np.cross(e1, e2)


def all_coordinates(known: dict[str, float]) -> dict[str, float]:
    """The 23 coordinates from those of the graph, by vectors: the front axle is the rear one turned about the steer axis."""
    p = {name: value for name, (value, _) in PARAMETERS.items()}
    frame, fork, base = p["l_frame"], p["l_fork"], p["l_hub_to_foot"]
    e1, e2, e3 = plane(known["rear_heading"], known["rear_slant"])
    second = known["frame_angle"] + math.acos((frame**2 + fork**2 - base**2) / (2 * frame * fork))
    d1, d2 = (math.cos(angle) * e1 + math.sin(angle) * e2 for angle in (known["frame_angle"], second))
    axle = math.cos(known["steer"]) * e3 + math.sin(known["steer"]) * np.cross(d2, e3)  # e3 is perpendicular to d2
    heading, slant = math.atan2(axle[0], -axle[1]), math.acos(axle[2])
    heading += 2 * math.pi * round((known["rear_heading"] - heading) / (2 * math.pi))
    f1, f2, _ = plane(heading, slant)
    hub = np.array([known["rear_x"], known["rear_y"], known["rear_z"]])
    foot = hub + frame * d1 - fork * d2
    places = {
        "frame": hub + p["l_frame_center"] * d1,
        "fork": foot + p["l_fork_center"] * d2,
        "foot": foot,
        "front": foot + p["l_offset"] * np.cross(d2, axle),  # d × e₃ = n: straight ahead
    }
    found = {name: known[name] for name in ("rear_x", "rear_y", "rear_z", "rear_heading", "rear_slant", "frame_angle")}
    found |= {"front_heading": heading, "front_slant": slant, "fork_angle": math.atan2(d2 @ f2, d2 @ f1)}
    return found | {f"{body}_{axis}": float(place[i]) for body, place in places.items() for i, axis in enumerate("xyz")}


def both(typed: dr.Equations, graph: dr.Equations, targets: dict[str, float]) -> tuple[Start, Start]:
    """The same state of both descriptions."""
    first = consistent_start(graph, {**targets, "rear_x": 0.3, "rear_y": -0.2})
    known = reported(graph, first.x, np.zeros(2)) | dict(zip((c.name for c in graph.coordinates), first.q, strict=True))
    moving = [v.name for v in typed.velocities if v.name in known]
    second = consistent_start(typed, all_coordinates(known) | {name: known[name] for name in [*moving, "steer_rate"]})
    assert second.report.largest_residual < 1e-9
    ours = reported(typed, second.x, np.zeros(2))
    for name in ("steer", "speed", "lean", "front_wheel_contact_x", "front_wheel_contact_y"):
        assert ours[name] == pytest.approx(known[name], abs=1e-9), name
    return first, second


def second_rate(e: dr.Equations, x: np.ndarray, u: np.ndarray, name: str) -> float:
    """Time derivative of an output of motion, by its exact Jacobian along the state's derivative."""
    q, r = len(e.coordinates), len(e.coordinates) + len(e.velocities)
    row = e.motion.output("outputs").labels.index(name)
    slope = e.dynamics([0.0], x, u, e.default_parameters)[0]
    given = ([0.0], x[:q], x[q:r], u, e.default_parameters)
    by_q, by_v = (e.motion.jacobian("outputs", wrt)(*given)[0][row] for wrt in ("q", "v"))
    return float(by_q @ slope[:q] + by_v @ slope[q:r])


@pytest.mark.parametrize("targets", STATES, ids=lambda w: f"lean {w['lean']}, steer {w['steer']}")
def test_accelerations_and_contact_forces_are_those_of_the_graph(
    typed: dr.Equations, graph: dr.Equations, targets: dict[str, float]
) -> None:
    first, second = both(typed, graph, targets)
    u = np.array([INPUTS[i.name] for i in typed.inputs])
    assert [i.name for i in graph.inputs] == [i.name for i in typed.inputs]
    ours, theirs = reported(typed, second.x, u), reported(graph, first.x, u)
    for name in ("rear_x", "rear_y", "rear_z", "rear_heading", "rear_slant", "frame_angle"):
        assert ours[f"d{name}_rate/dt"] == pytest.approx(theirs[f"d{name}_rate/dt"], rel=1e-9, abs=1e-9), name
    assert second_rate(typed, second.x, u, "steer_rate") == pytest.approx(theirs["dsteer_rate/dt"], rel=1e-9, abs=1e-9)
    assert ours["kinetic_energy"] == pytest.approx(theirs["kinetic_energy"], rel=1e-12)
    for torque in INPUTS:
        assert ours[f"{torque}_power"] == pytest.approx(theirs[f"{torque}_power"], rel=1e-10, abs=1e-10), torque
    for wheel in ("rear", "front"):
        normal = ours[f"{wheel}_height_multiplier"]
        assert normal == pytest.approx(theirs[f"{wheel}_wheel_normal_force"], rel=1e-9), wheel
        across = np.hypot(ours[f"{wheel}_slip_x_multiplier"], ours[f"{wheel}_slip_y_multiplier"])
        assert across / abs(normal) == pytest.approx(theirs[f"{wheel}_wheel_friction_needed"], rel=1e-8, abs=1e-9), wheel


def printed_steer_power(q: list[float], qd: list[float], u: float) -> float:
    """The vector `steerforce` of appendix B, transcribed, times q̇."""
    sin, cos = math.sin, math.cos
    shared = u / (sin(q[19]) * sin(q[5]) * cos(q[18] - q[4]) + cos(q[19]) * cos(q[5]))
    force = {
        4: -shared * sin(q[5]) * cos(q[18] - q[4]),
        5: shared * cos(q[5]) * sin(q[18] - q[4]),
        14: -shared * cos(q[14]) / sin(q[14]) * sin(q[5]) * sin(q[18] - q[4]),
        18: shared * sin(q[5]) * cos(q[18] - q[4]),
    }
    return sum(value * qd[i] for i, value in force.items())


@pytest.mark.parametrize("targets", STATES, ids=lambda w: f"lean {w['lean']}, steer {w['steer']}")
def test_steer_force_is_a_torque_about_the_steer_axis(
    typed: dr.Equations, graph: dr.Equations, targets: dict[str, float]
) -> None:
    """Its power is u δ̇; that of the source's force is u δ̇ sin ξ₂."""
    _, start = both(typed, graph, targets)
    ours = reported(typed, start.x, np.array([1.7, 0.0]))
    assert ours["steer_torque_power"] == pytest.approx(1.7 * ours["steer_rate"], abs=1e-10)
    ones = by_name(COORDINATES, start.q), by_name(COORDINATES, start.v)
    assert printed_steer_power(*ones, 1.7) == pytest.approx(1.7 * ours["steer_rate"] * math.sin(ones[0][14]), abs=1e-10)


def test_both_descriptions_are_certified() -> None:
    against = dr.certify(delebecque_graph(), against=delebecque_bicycle(), count=4)
    assert against.passed, str(against)


def test_other_parameters_start_upright_again(typed: dr.Equations) -> None:
    """The triangle of hub, head and foot closes anew; nothing is derived again."""
    changed: dict[str, Any] = {"l_frame": 1.05, "l_fork": 0.7, "r_wheel": 0.33, "l_offset": 0.05}
    start = consistent_start(typed, {"speed": 6.0, "lean": 0.0, "steer": 0.0, "rear_heading": 0.0}, parameters=changed)
    assert start.report.largest_residual < 1e-9
    place = dict(zip(COORDINATES, start.q, strict=True))
    assert place["rear_z"] == pytest.approx(0.33, abs=1e-9) and place["front_z"] == pytest.approx(0.33, abs=1e-9)


def test_study_holds() -> None:
    study = delebecque_pulse()
    assert set(study.figures) == {"path", "lean_and_steer", "slower"}

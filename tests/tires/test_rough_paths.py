"""Machines on two to four tires on random roads of ISO 8608 along lines, circles and paths, in every verb."""

from __future__ import annotations

from collections import Counter
from typing import Any

import casadi as ca
import numpy as np
import pytest

import draisine as dr

parts, roads = dr.parts, dr.contact.roads
LOAD, RADIUS, BASE, TRACK = 1200.0, 0.3, 2.2, 1.4
TIRES = {
    "linear": dr.contact.LinearTire(12 * LOAD, 0.25, 15 * LOAD, camber=LOAD, stiffness="180 kN/m", damping=300.0),
    "brush": dr.contact.BrushTire(15 * LOAD, 1.1, 0.06, LOAD, relaxation=0.2, stiffness="180 kN/m", damping=300.0),
    "magic": dr.contact.MagicFormula("motorcycle", {
        "FNOMIN": LOAD, "UNLOADED_RADIUS": RADIUS, "VERTICAL_STIFFNESS": 170e3, "VERTICAL_DAMPING": 300.0, "PCX1": 1.6,
        "PDX1": 1.25, "PKX1": 20.0, "PCY1": 1.2, "PDY1": -1.3, "PKY1": -13.0, "PKY2": 2.0, "PKY3": 1.5,
        "PKY4": 2.0, "PKY6": -1.0,
    }),
}  # fmt: skip


def machine(wheels: int, tire: str, way: str, road: str, seed: int, two_tracks: bool = False) -> dr.Model:
    m = dr.Model("machine")
    single = {"front": (BASE, 0, RADIUS)}
    pair = {"left": (0, TRACK / 2, RADIUS), "right": (0, -TRACK / 2, RADIUS)}
    other = {"first": (BASE, TRACK / 2, RADIUS), "second": (BASE, -TRACK / 2, RADIUS)}
    places = {2: {"rear": (0, 0, RADIUS), **single}, 3: {**pair, **single}, 4: {**pair, **other}}[wheels]
    middle = float(np.mean([x for x, _, _ in places.values()]))
    points = {f"{name}_hub": at for name, at in places.items()}
    frame = parts.frame(
        m, "frame", mass=LOAD * wheels / 9.81, center_of_mass=(middle, 0.45), inertia=(150, 400, 450), points=points
    )
    for number, name in enumerate(places):
        drive: dict[str, Any] = {"torque": "drive_torque"} if number == 0 else {}
        parts.wheel(m, name, frame[f"{name}_hub"], radius=RADIUS, mass=12, inertia=(0.3, 0.5), tire=TIRES[tire], **drive)
    along, across = ways(m, way)
    track = {"track": TRACK, "across": across} if two_tracks else {}
    m.ground(height=roads.rough(m, "surface", road, length=60.0, seed=seed, along=along, spacing=0.1, **track))
    return m


def ways(m: dr.Model, way: str) -> tuple[Any, Any]:
    if way == "line":
        return roads.line()
    if way == "circle":
        return roads.circle(40.0)
    curve = ("40*sin(p)", "40 - 40*cos(p)") if way == "round" else ("60*sin(p)", "40 - 40*cos(p)")
    path = m.path("track", curve=curve, between=(0, "2*pi"), closed=True)
    return path.along, path.across


def calls(function: ca.Function) -> Counter[str]:
    nodes = function.instructions_sx()
    return Counter(
        nodes[k].which_function().name() for k in range(function.n_instructions()) if function.instruction_id(k) == ca.OP_CALL
    )


def drawn(seed: int) -> tuple[dr.Model, int]:
    rng = np.random.default_rng(seed)
    wheels, tire, way = int(rng.integers(2, 5)), rng.choice(list(TIRES)), rng.choice(["line", "circle", "path"])
    return machine(wheels, tire, way, str(rng.choice(list("ABC"))), seed, wheels > 2 and bool(rng.random() < 0.4)), wheels


def check_verbs(seed: int) -> None:
    model, wheels = drawn(seed)
    equations = dr.derive(model)
    assert not any("place" in name for name in equations.independent)
    for program in (equations.dynamics, equations.project):
        assert set(calls(program.function).values()) == {wheels}
    certificate = dr.certify(model, count=2)
    assert certificate.passed, str(certificate)
    run = dr.simulate(equations, 1.0, start={"speed": 8.0, "frame_z": -0.007}, samples=201)
    assert run.status.complete and run.energy_drift < 1e-4


@pytest.mark.parametrize("seed", [1, 4])
def test_random_machines_on_random_roads(seed: int) -> None:
    check_verbs(seed)


@pytest.mark.further
@pytest.mark.parametrize("seed", [seed for seed in range(16) if seed not in (1, 4)])
def test_more_random_machines_on_random_roads(seed: int) -> None:
    check_verbs(seed)


@pytest.mark.parametrize("wheels", [3, 4])
def test_at_rest_the_forces_of_the_road_carry_the_weight(wheels: int) -> None:
    """Σ (N + F h′)/√(1 + h′²) = m g with the slope h′ under each wheel, of a road that rises along x only; and nothing moves."""
    model = machine(wheels, "linear", "line", "C", seed=wheels)
    equations = dr.derive(model)
    rest = dr.steady(equations, {"speed": 0.0}, free=["drive_torque"])
    (surface,) = model.freeze().tables
    lifted = 0.0
    for wheel in model.freeze().wheels:
        slope = float(surface.at(rest[f"{wheel.name}_place_x"], orders=(1,)))
        force = rest[f"{wheel.name}_normal_force"] + slope * rest[f"{wheel.name}_longitudinal_force"]
        lifted += force / np.sqrt(1 + slope**2)
    assert lifted == pytest.approx(wheels * (LOAD + 12 * 9.81), rel=1e-8)
    run = dr.simulate(equations, 1.0, start=rest, inputs={"drive_torque": rest["drive_torque"]})
    assert abs(run["frame_z"] - run["frame_z"][0]).max() < 1e-8
    assert np.isfinite(rest.linearize().eigenvalues).all()


@pytest.mark.parametrize(("wheels", "tire"), [(4, "brush"), (3, "brush"), (4, "linear")])
def test_machines_stand_still_on_two_tracks(wheels: int, tire: str) -> None:
    """Slopes across the way too, and tires that the road leaves in the air before the machine is lowered on it: a state is found,
    its loads are the weight but for squares of slopes, and a run does not move from it."""
    equations = dr.derive(machine(wheels, tire, "line", "C", wheels, two_tracks=True))
    rest = dr.steady(equations, {"speed": 0.0}, free=["drive_torque"])
    whole = sum(value for name, value in rest.values.items() if name.endswith("_normal_force"))
    assert whole == pytest.approx(wheels * (LOAD + 12 * 9.81), rel=2e-3)
    run = dr.simulate(equations, 1.0, start=rest, inputs={"drive_torque": rest["drive_torque"]})
    for name in ("frame_x", "frame_y", "frame_z"):
        assert abs(run[name] - run[name][0]).max() < 1e-8


@pytest.mark.parametrize("wheels", [2, 3])
def test_augmented_equations_pass_the_knots_of_a_road(wheels: int) -> None:
    """Where all velocities are states, their errors are residuals of constraints: these are no jumps, and the motion is that of
    equations in independent velocities."""
    model = machine(wheels, "linear", "line", "C", seed=wheels)
    reduced, augmented = (dr.derive(model, formulation=f) for f in (dr.formulations.Reduced(), dr.formulations.Augmented()))
    start = {"speed": 25.0, "frame_z": -0.007}
    times = np.linspace(0.0, 0.4, 41)
    exact = dr.simulate(reduced, 0.4, start=start, samples=times, method=dr.methods.DOP853(rtol=1e-12, atol=1e-13))
    for tolerance in (1e-8, 1e-6):
        method = dr.methods.DOP853(rtol=tolerance, atol=tolerance / 10)
        run = dr.simulate(augmented, 0.4, start=start, samples=times, method=method)
        assert run.status.complete, run.status
        for name in ("frame_z", "pitch"):
            np.testing.assert_allclose(run[name], exact[name], rtol=0, atol=100 * tolerance)
    coarse = dr.simulate(augmented, 1.6, start=start, method=dr.methods.DOP853(rtol=1e-5, atol=1e-6))
    assert coarse.status.complete, coarse.status


FURTHER = [pytest.param(*case, marks=pytest.mark.further) for case in (("linear", "path"), (None, "circle"))]


@pytest.mark.parametrize(("tire", "way"), [("brush", "line"), *FURTHER])
def test_a_diagnosis_counts_the_freedoms_of_the_plane(tire: str | None, way: str) -> None:
    """A road takes no freedom that a plane does not take: bodies of a machine on rough ground move as many ways."""
    rough = machine(2 if tire is None else 3, tire or "linear", way, "A", seed=3)
    if tire is None:
        for name in ("rear", "front"):
            rough = parts.replace(rough, name, tire=None)
    plane = dr.Model.of(rough.freeze())
    plane.ground(height=0.0)
    found, wanted = (dr.diagnose(m) for m in (rough, plane))
    counts = [(d.freedoms_of_position, d.freedoms_of_velocity) for d in (found, wanted)]
    assert counts[0] == counts[1] and all(counts[0])


@pytest.mark.parametrize("wheels", [3, 4])
def test_a_round_path_is_the_circle(wheels: int) -> None:
    """The same road described by a table of the path and by the closed form of the circle."""
    runs, method = [], dr.methods.DOP853(rtol=1e-10, atol=1e-10)
    start = {"speed": 6.0, "frame_z": -0.007, "yaw_rate": 0.15}
    for way in ("circle", "round"):
        model = machine(wheels, "magic", way, "B", seed=7)
        runs.append(dr.simulate(model, 0.5, start=start, samples=51, method=method))
    assert all(run.status.complete for run in runs)
    for name in ("frame_x", "frame_y", "frame_z", "speed", "yaw_rate"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], atol=2e-7)
    loads = [run["left_normal_force"] for run in runs]
    np.testing.assert_allclose(loads[1], loads[0], atol=2e-7 * 180e3)


@pytest.mark.further
def test_independent_velocities_that_bring_switching_functions() -> None:
    """On a road nearly as sharp as its wheels, other velocities become independent on the way, and their equations switch where
    those before had no switching functions."""
    model = machine(4, "linear", "circle", "E", 21, two_tracks=True)
    run = dr.simulate(model, 1.0, start={"speed": 98 / 11, "frame_z": -0.01}, samples=21)
    assert run.status.complete and run.energy_drift < 1e-4

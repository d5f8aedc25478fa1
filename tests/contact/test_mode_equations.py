"""Equations that runs evaluate in the place of the augmented system of all modes: reduced ones of the usual modes, and forces of
closed contacts alone. The augmented system is the judge."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import draisine as dr
from draisine.model.contact.dry_friction import dry_friction
from draisine.program.equations import USUAL_PROGRAMS, Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.report_values import evaluate_report
from draisine.simulation.stepper.contact_field import contact_field, contact_margins
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES
from draisine.simulation.stepper.memory import Memory, no_switches

Reals = NDArray[np.float64]
PLAIN = dict.fromkeys((*USUAL_PROGRAMS, "contact_system"))


@cache
def bicycle() -> dr.Model:
    """The benchmark bicycle with friction at its wheels, and a saddle that lands."""
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(0.9, 0.0, "energetic", name))
    m._items["events"].clear()
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction=0.5)
    return m


@cache
def pendulums() -> dr.Model:
    """Two pendulums with a stop, dry friction, and a point that lands."""
    m = dr.Model("pendulums")
    m.gravity(9.81)
    upper = m.body("upper", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -0.5))
    lower = m.body("lower", mass=0.7, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -0.5))
    m.revolute("shoulder", "ground", upper, axis="y", at=(0.0, 0.0, 1.6), limits=(-0.5, 0.5), restitution=0.3)
    m.revolute("elbow", upper, lower, axis="y", at=(0.0, 0.0, -1.0), friction=0.4)
    m.contact("tip", m.point("end", lower, (0.0, 0.0, -1.0)), friction=(0.6, 0.4))
    return m


def random_state(e: Equations, rng: np.random.Generator) -> Reals:
    x = rng.uniform(-0.3, 0.3, len(e.states))
    names = [q.name for q in e.states]
    for quaternion in e.quaternions:
        index = [names.index(name) for name in quaternion]
        x[index[0]] += 1.0
        x[index] /= np.linalg.norm(x[index])
    return x


def with_modes(e: Equations, modes: dict[str, str], rng: np.random.Generator) -> Reals:
    p = e.default_parameters
    entries = p[len(e.parameters) :].reshape(-1, MODE_ENTRIES)
    for contact, entry in zip(e.unilateral, entries, strict=True):
        mode, angle = modes[contact.name], rng.uniform(0, 2 * np.pi)
        entry[:] = 0.0
        entry[0], entry[1] = mode != "open", mode == "stick"
        if mode == "slip":
            entry[2:4] = (np.cos(angle), np.sin(angle)) if contact.count > 1 else (np.sign(np.cos(angle)), 0.0)
            entry[6] = rng.integers(2)
    return p


@pytest.mark.parametrize("model", [bicycle, dr.gallery.bouncing_ball, dr.gallery.falling_rod])
def test_usual_modes_have_the_motion_and_the_forces_of_all_modes(model: object) -> None:
    e = dr.derive(model())  # type: ignore[operator]
    assert e.usual_dynamics is not None and e.usual_margins is not None
    rng = np.random.default_rng(2)
    p = with_modes(e, {c.name: "stick" if c.stands else "open" for c in e.unilateral}, rng)
    u = rng.normal(size=len(e.inputs))
    for _ in range(5):
        x = random_state(e, rng)
        for _ in range(6 if e.project is not None else 0):  # onto the constraints
            x = np.asarray(e.project([0.3], x, u, p)[0])  # type: ignore[misc]
        judge = e.dynamics([0.3], x, u, p)[0]
        np.testing.assert_allclose(e.usual_dynamics([0.3], x, u, p)[0], judge, rtol=1e-10, atol=1e-9)
        assert e.contact_margins is not None
        margins = e.contact_margins([0.3], x, u, p)[0]
        found = e.usual_margins([0.3], x, u, p)[0]
        np.testing.assert_allclose(found[:-1], margins, rtol=1e-9, atol=1e-8)
        assert found[-1] >= 1.0
        if e.usual_project is not None:
            again, error = e.usual_project([0.3], x, u, p)
            np.testing.assert_allclose(again, x, atol=1e-11)
            assert error[0] < 1e-11
        assert e.usual_report is not None
        *report, condition = e.usual_report([0.3], x, u, p)
        np.testing.assert_allclose(condition, found[-1])
        for slot, ours, theirs in zip(e.report.outputs, report, e.report([0.3], x, u, p), strict=True):
            # friction needed where nothing presses is a ratio of rounding errors
            sound = [i for i, label in enumerate(slot.labels) if "friction_needed" not in label or abs(theirs[i]) < 1e3]
            np.testing.assert_allclose(ours[sound], theirs[sound], rtol=1e-9, atol=1e-8, err_msg=slot.name)


def test_reports_choose_the_system_by_the_modes_and_the_condition_of_each_sample() -> None:
    """Samples in usual and in other modes, some of them with independent velocities that are badly conditioned."""
    e = dr.derive(bicycle())
    rng, count = np.random.default_rng(11), 12
    x = np.array([random_state(e, rng) for _ in range(count)])
    usual = with_modes(e, {c.name: "stick" if c.stands else "open" for c in e.unilateral}, rng)
    other = with_modes(e, {c.name: "slip" if c.stands else "open" for c in e.unilateral}, rng)
    p = np.array([usual if i % 3 else other for i in range(count)])
    t, u = rng.uniform(0, 1, count), rng.normal(size=(count, len(e.inputs)))
    for i in range(count):  # onto the constraints
        for _ in range(8):
            x[i] = e.project([t[i]], x[i], u[i], p[i])[0]  # type: ignore[misc]
    np.testing.assert_array_equal(e.in_usual_modes(p), [bool(i % 3) for i in range(count)])
    judge = [e.report([t[i]], x[i], u[i], p[i]) for i in range(count)]
    conditions = sorted(float(e.usual_report([t[i]], x[i], u[i], p[i])[-1][0]) for i in range(count))  # type: ignore[misc]
    for limit in (np.inf, conditions[count // 2], 0.0):
        limited = replace(e, limits=e.limits._replace(condition=limit))
        values = evaluate_report(limited, t, x, u, p, quick=True)
        for k, slot in enumerate(e.report.outputs):
            for i in range(count):
                scale = 1.0 + np.abs(judge[i][k]).max(initial=0.0)
                np.testing.assert_allclose(values[slot.name][i], judge[i][k], rtol=1e-8, atol=1e-9 * scale, err_msg=slot.name)


@pytest.mark.parametrize("model", [bicycle, pendulums])
def test_forces_of_closed_contacts_give_the_motion_of_the_augmented_system(model: object) -> None:
    """The functions of the loop in the interpreter, in random modes."""
    e = dr.derive(model())  # type: ignore[operator]
    assert e.contact_system is not None and e.contact_margins is not None
    rng, u = np.random.default_rng(4), np.zeros(len(e.inputs))
    compiled, method = prepare(e, quick=True).compiled(e.choice), dr.methods.DOP853()
    compared = 0
    while compared < 6:
        x = random_state(e, rng)
        kinds = {c.name: "slip" if c.normal < 0 and rng.integers(2) else "stick" for c in e.unilateral}
        kinds |= {c.name: str(rng.choice(["open", "slip", "stick"])) for c in e.unilateral if c.normal >= 0}
        kinds |= {c.name: str(rng.choice(["open", "stick"])) for c in e.unilateral if c.count == 0}
        p = with_modes(e, kinds, rng)
        memory = Memory(compiled.kernels(), method, x, u, p, (0.0, 1.0), np.array([0.0, 1.0]), switches=no_switches())
        s = memory.stepper
        s.point[: len(x)], s.time[0] = x, 0.2
        contact_field(s, s.k[0])
        judge = e.dynamics([0.2], x, u, p)[0]
        if not np.isfinite(judge).all():  # rows that depend on each other, with velocities that contradict them
            assert not np.isfinite(s.k[0, : len(x)]).all()
            continue
        compared += 1
        np.testing.assert_allclose(s.k[0, : len(x)], judge, rtol=1e-9, atol=1e-8 * np.abs(judge).max())
        contact_margins(s, False)
        margins = e.contact_margins([0.2], x, u, p)[0]
        np.testing.assert_allclose(s.modes.margins[: margins.size], margins, rtol=1e-7, atol=1e-8 * np.abs(margins).max())


def spinning_machine(seed: int) -> dr.Model:
    """A body that flies or lands, with random rotors: some on an arm that turns, some straight on the body."""
    rng = np.random.default_rng(seed)
    m = dr.Model("rotors")
    m.gravity(9.81)

    def moments(low: float) -> tuple[float, float, float]:
        first, second = rng.uniform(low, 2.0 * low, 2)
        return (first, second, float(rng.uniform(abs(first - second) + 0.1 * low, 0.9 * (first + second))))

    def place(size: float) -> tuple[float, float, float]:
        x, y, z = rng.uniform(-size, size, 3)
        return (float(x), float(y), float(z))

    hull = m.body("hull", mass=float(rng.uniform(1, 5)), inertia=moments(0.3), center_of_mass=place(0.3))
    m.free(hull)
    arm = m.body("arm", mass=float(rng.uniform(0.5, 2)), inertia=moments(0.05), center_of_mass=place(0.2))
    m.revolute("hinge", hull, arm, axis=str(rng.choice(["x", "y", "z"])), at=place(0.5))
    for k in range(int(rng.integers(1, 4))):
        across, axis = float(rng.uniform(0.01, 0.05)), str(rng.choice(["x", "y", "z"]))
        own = [across] * 3
        own["xyz".index(axis)] = float(rng.uniform(0.2, 1.9)) * across
        rotor = m.body(f"rotor_{k}", mass=float(rng.uniform(0.2, 1.0)), inertia=(own[0], own[1], own[2]))
        m.revolute(f"spin_{k}", str(rng.choice(["hull", "arm"])), rotor, axis=axis, at=place(0.4))
    m.contact("foot", m.point("toe", arm, place(0.5)), friction=0.5)
    return m


@pytest.mark.parametrize("seed", range(8))
def test_merged_rotors_have_the_masses_and_forces_of_all_bodies(seed: int) -> None:
    """Factors of the mass matrix and forces, formed with rotors merged into their carriers, against inverse dynamics of every
    body; the angles of rotors do not enter them."""
    e = dr.derive(spinning_machine(seed))
    assert e.contact_system is not None and e.contact_terms is not None and isinstance(e.dynamics, LinearSolveProgram)
    rng, n, u = np.random.default_rng(100 + seed), len(e.velocities), np.zeros(len(e.inputs))
    p, names = e.default_parameters, [q.name for q in e.coordinates]
    slots, terms = ([slot.name for slot in program.outputs] for program in (e.contact_system, e.contact_terms))
    for _ in range(4):
        x = random_state(e, rng)
        x[len(names) : len(names) + n] *= 10.0
        arguments = [0.2], x, u, p
        mass, force = e.dynamics.matrix_at(*arguments)[:n, :n], _side(e.dynamics, *arguments)[:n]
        found, known = e.contact_system(*arguments), e.contact_terms(*arguments)
        lower = np.reshape(found[slots.index("lower")], (n, n)).T[::-1, ::-1]  # the last velocity first, by columns
        lower = np.triu(lower, 1) + np.eye(n)
        inverse, load = (np.asarray(found[slots.index(name)])[::-1] for name in ("inverse", "load"))
        room = 1e-11 * np.abs(force).max()
        np.testing.assert_allclose(lower @ np.diag(1.0 / inverse) @ lower.T, mass, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(lower @ load, force, rtol=1e-9, atol=room)
        np.testing.assert_allclose(np.reshape(known[terms.index("mass")], (n, n)), mass, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(known[terms.index("force")], force, rtol=1e-9, atol=room)
        turned = x.copy()
        turned[[i for i, name in enumerate(names) if name.startswith("spin_")]] += rng.uniform(1.0, 2.0)
        assert not np.array_equal(turned, x)
        for name, one, other in zip(slots, found, e.contact_system([0.2], turned, u, p), strict=True):
            assert np.array_equal(one, other, equal_nan=True), name


def _side(dynamics: LinearSolveProgram, *arguments: object) -> Reals:
    """The right side of the augmented system; of an iteration with compliance, that from zero."""
    given = [*arguments, np.zeros(dynamics.size)] if dynamics.iterates else arguments
    return np.asarray(dynamics.system(*given)[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("condition", [None, 2.6])
def test_runs_do_not_depend_on_the_equations_that_they_evaluate(condition: float | None) -> None:
    """A bicycle whose front wheel skids and rolls again; with a low limit of the condition reduced equations are left before."""
    e, tight = dr.derive(bicycle()), dr.methods.Auto(rtol=1e-10, atol=1e-12)
    given = e if condition is None else replace(e, limits=e.limits._replace(condition=condition))
    start = {"speed": 4.0, "roll_rate": 2.0}
    runs = [dr.simulate(one, 0.8, start=start, method=tight, samples=9) for one in (given, replace(e, **PLAIN))]
    assert [list(c.modes.values()) for c in runs[0].modes] == [["stick", to, "open"] for to in ("stick", "slip", "stick")]
    assert [c.modes for c in runs[0].modes] == [c.modes for c in runs[1].modes]
    np.testing.assert_allclose([c.time for c in runs[0].modes], [c.time for c in runs[1].modes], atol=1e-9)
    for name in ("frame_x", "frame_z", "rear_wheel_spin", "frame_wx"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-8)


def test_a_run_in_one_mode_takes_the_evaluations_of_ideal_wheels() -> None:
    start = {"speed": 4.6, "roll_rate": 0.5}
    run, ideal = (dr.simulate(model, 5.0, start=start, samples=2) for model in (bicycle(), dr.gallery.bicycle()))
    assert len(run.modes) == 1
    assert run.statistics.evaluations <= 1.05 * ideal.statistics.evaluations

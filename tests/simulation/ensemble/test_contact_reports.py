"""What ideal contacts would have to do, in ensembles, stability maps and steady motions: as in single runs, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.simulation.compiled_equations import prepare, prepared
from draisine.simulation.contact_margins import contact_margins, monitored_margins
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.run import integrate

COLUMNS = ("least_normal_force", "most_friction_needed")


def front_load(**changed: float) -> float:
    """Static load of the front wheel of the benchmark bicycle, from moments about the rear contact."""
    p = {"x_frame": 0.3, "m_frame": 85.0, "x_fork": 0.9, "m_fork": 4.0, "m_front_wheel": 3.0, "wheelbase": 1.02} | changed
    moment = p["m_frame"] * p["x_frame"] + p["m_fork"] * p["x_fork"] + p["m_front_wheel"] * p["wheelbase"]
    return 9.81 * moment / p["wheelbase"]


def rear_load(**changed: float) -> float:
    return 9.81 * (2.0 + 85.0 + 4.0 + 3.0) - front_load(**changed)


@pytest.fixture(scope="module")
def bike() -> dr.Model:
    return dr.gallery.bicycle()


def test_straight_running_has_the_static_loads(bike: dr.Model) -> None:
    found = dr.ensemble(bike, 1.0, {"x_frame": [0.2, 0.3, 1.2]}, start={"speed": 5.0})
    expected = [min(front_load(x_frame=x), rear_load(x_frame=x)) for x in (0.2, 0.3, 1.2)]
    assert expected[2] < 0.0  # the center of mass lies ahead of the front contact
    assert found["least_normal_force"] == pytest.approx(expected, rel=1e-9)
    assert found["most_friction_needed"] == pytest.approx(0.0, abs=1e-12)
    assert found.pulled().tolist() == [False, False, True]
    assert found.survived().tolist() == [True, True, False]
    assert found.statuses == {"FINISHED": 3}
    (warning,) = found.warnings
    assert warning.startswith("in 1 run the ground would have to pull (least normal force -1") and warning in str(found)


def test_columns_are_those_of_single_runs_to_the_bit(bike: dr.Model) -> None:
    rng = np.random.default_rng(17)
    cases = {"speed": rng.uniform(2.5, 7.0, 12), "roll_rate": rng.uniform(-3.0, 3.0, 12)}
    equations = dr.derive(bike)
    found = dr.ensemble(equations, 2.0, cases=cases, method=dr.methods.DOP853(rtol=1e-7, atol=1e-7))
    assert found.pulled().any() and not found.pulled().all()
    choices, margins = prepare(equations, monitored_margins), contact_margins(equations)
    assert margins is not None
    for k in range(12):
        begin = consistent_start(prepared(equations).starts, {name: float(column[k]) for name, column in cases.items()})
        run = integrate(choices, begin.x, 2.0, method=dr.methods.DOP853(rtol=1e-7, atol=1e-7))
        if len(run.segments) > 1:
            continue
        assert margins.least_force(run.contact_least[None])[0] == found["least_normal_force"][k]
        assert margins.most_friction(run.contact_least[None])[0] == found["most_friction_needed"][k]
        # and those of the trajectory's own channels at the accepted steps, by the whole report
        reported = [
            equations.report([t], x, np.zeros(3), equations.default_parameters)
            for t, x in zip(run.times, run.states, strict=True)
        ]
        outputs = np.array([values[[s.name for s in equations.report.outputs].index("outputs")] for values in reported])
        names = [q.name for q in equations.outputs]
        least = min(outputs[:, names.index(f"{wheel}_wheel_normal_force")].min() for wheel in ("rear", "front"))
        assert found["least_normal_force"][k] == pytest.approx(least, rel=1e-9, abs=1e-9)


def test_runs_by_other_methods_are_monitored_too(bike: dr.Model) -> None:
    cases = {"speed": [5.0, 4.0], "roll_rate": [0.5, -1.0]}
    one, other = (
        dr.ensemble(bike, 1.0, cases=cases, method=method)
        for method in (dr.methods.DOP853(), dr.methods.Radau(rtol=1e-8, atol=1e-10))
    )
    for name in COLUMNS:
        assert other[name] == pytest.approx(one[name], rel=0.05)  # least over other steps


def test_counts_survive_folders_and_dropped_rows(bike: dr.Model, tmp_path) -> None:
    problem = {"until": 1.0, "over": {"x_frame": (0.2, 1.4, 7)}, "start": {"speed": 5.0}, "chunk": 3}
    whole = dr.ensemble(bike, **problem)
    assert whole.tally.pulled == 2
    assert dr.ensemble(bike, **problem, rows=False).warnings == whole.warnings
    stored = dr.ensemble(bike, **problem, out=tmp_path / "kept")
    again = dr.ensemble(bike, **problem, out=tmp_path / "kept")
    assert again.warnings == stored.warnings == whole.warnings
    figure = dr.ensemble(bike, 1.0, {"x_frame": (0.2, 1.4, 3), "speed": [4.0, 5.0]}).plot()
    assert "ground would have to pull (2)" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_models_without_contacts_have_no_such_columns() -> None:
    found = dr.ensemble(dr.gallery.simple_pendulum(), 0.1, {"gravity": [9.0, 9.81]})
    assert not set(COLUMNS) & set(found.names)
    assert not found.pulled().any() and found.warnings == ()


# ------------------------------------------------------------------------------------------------- steady motions and maps


def test_a_stability_map_says_where_the_ground_would_pull(bike: dr.Model) -> None:
    found = dr.stability.stability_map(bike, {"speed": (1.0, 9.0, 9), "x_frame": (0.1, 1.3, 121)})
    assert found.normal_force is not None
    expected = [min(front_load(x_frame=x), rear_load(x_frame=x)) for x in found.values["x_frame"]]
    assert found.normal_force == pytest.approx(np.tile(expected, (9, 1)), rel=2e-2, abs=1.0)  # interpolated at the kink
    edge = 1.02 + (2.0 * 1.02 - 4.0 * (0.9 - 1.02)) / 85.0  # the rear load vanishes: moments about the front contact
    assert found.values["x_frame"][np.argmax(found.pulled[0])] == pytest.approx(edge, abs=0.01)
    assert "the ground would have to pull on" in str(found)
    assert "hatched" in found.plot().axes[0].get_title(loc="left")


def test_a_steady_motion_warns(bike: dr.Model) -> None:
    good = dr.steady(bike, {"speed": 5.0, "lean": 0.0})
    assert good.warnings == () and "warning" not in str(good)
    tipped = dr.steady(bike, {"speed": 5.0, "lean": 0.0}, parameters={"x_frame": 1.2})
    (warning,) = tipped.warnings
    assert "pull on rear_wheel" in warning and f"{rear_load(x_frame=1.2):.4g} N" in warning and warning in str(tipped)


# ------------------------------------------------------------------------------------------------------- the steer limit


def test_the_steer_limit_ends_runs_and_costs_nothing_without() -> None:
    plain, limited = dr.derive(dr.gallery.bicycle()), dr.derive(dr.gallery.bicycle(steer_limit=math.radians(60)))
    assert "steer_limit" not in [p.name for p in plain.parameters]
    assert limited.dynamics.operations == plain.dynamics.operations
    start = {"speed": 3.0, "roll_rate": 2.0}
    run = dr.simulate(dr.gallery.bicycle(steer_limit=math.radians(60)), 5.0, start=start)
    assert run.status.kind == "EVENT" and "steer angle reached its limit" in str(run.status)
    assert abs(run["steer"][-1]) == pytest.approx(math.radians(60), abs=1e-9)
    wider = dr.simulate(dr.gallery.bicycle(steer_limit=1.0), 5.0, start=start, parameters={"steer_limit": "70 deg"})
    assert abs(wider["steer"][-1]) == pytest.approx(math.radians(70), abs=1e-9)


@pytest.mark.parametrize(
    "law", ["where(t > 0.3, where(t < 0.7, 20, 0), 0)", "9.9*sin(40*t)^2", "where(t > 0.503, where(t < 0.504, 20, 0), 0)"]
)
def test_loads_that_come_and_go_within_a_step_are_noticed(law: str) -> None:
    """A wheel of 1 kg that is lifted by a known force: the ground would have to pull where it exceeds the weight."""
    m = dr.Model("wheel")
    m.gravity(9.81)
    hub = m.body("hub", mass=1.0, inertia=(0.1, 0.2, 0.1))
    m.free(hub)
    m.wheel("w", hub, radius=0.3)
    m.point("axle", hub, at=(0, 0, 0))
    m.wrench("axle", force=(0, 0, m.input("u", "N")))
    found = dr.ensemble(m, 1.0, {"hub_x": [0.0, 1.0]}, inputs={"u": law}, start={"hub_wy": 3.0})
    most = 9.9 if "sin" in law else 20.0
    assert found["least_normal_force"] == pytest.approx(9.81 - most, abs=0.4)  # the wheel leans a little
    assert found.pulled().all() and not found.survived().any()

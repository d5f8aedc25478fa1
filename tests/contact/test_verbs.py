"""Every verb with contacts that open: it follows their modes, or refuses with the contacts and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, DataError, ModelError, UnknownNameError
from draisine.results.contact_modes import ContactHistory
from draisine.simulation.iterated_reactions import reactions

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def block(friction: Any = ("1.5*mu", "mu"), **contact: Any) -> dr.Model:
    """A block on the ground, pulled by an input."""
    m = dr.Model("block")
    m.gravity(G)
    m.parameter("mass", 2.0, "kg")
    m.parameter("mu", 0.4)
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass="mass")
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, friction=friction, **contact)
    m.generalized_force("x", m.input("pull", "N"))
    return m


def ball(angle: float = 0.35, **contact: Any) -> dr.Model:
    """A particle that bounces on a slope."""
    m = dr.Model("ball")
    m.gravity((G * np.sin(angle), 0, -G * np.cos(angle)))
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=1.0)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, **{"friction": 0.2, "restitution": 0.7, **contact})
    return m


MODEL, DATA = block(), {"time": np.linspace(0, 1, 5), "x": np.zeros(5)}
EQUATIONS = dr.derive(MODEL)

REFUSED: dict[str, Callable[[Any], object]] = {
    "linearize": lambda m: dr.linearize(m),
    "modes": lambda m: dr.modes(m, {"mass": [1.0, 2.0]}),
    "steady": lambda m: dr.steady(m),
    "stability_map": lambda m: dr.stability.stability_map(m, {"mass": [1.0, 2.0], "mu": [0.1, 0.2]}),
    "continuation": lambda m: dr.stability.continuation(m, "mass"),
    "descriptor": lambda m: dr.stability.descriptor(m),
    "lqr": lambda m: dr.lqr(m, weights={"x": 1.0}, input_weights={"pull": 1.0}),
    "pole_placement": lambda m: dr.control.pole_placement(m, poles=[-1, -2], controls=["pull"]),
    "kalman": lambda m: dr.control.kalman(m, measured={"x": 1.0}, noise={"pull": 1.0}),
    "feedback_linearization": lambda m: dr.control.feedback_linearization(m, {"x": "t"}, controls=["pull"], poles=[-1, -2]),
    "computed_torque": lambda m: dr.control.computed_torque(m, {"x": "t"}, poles=[-1, -2]),
    "follow": lambda m: dr.control.follow(m, 1.0, {"way": "x - t"}, ["pull"]),
    "on_path": lambda m: dr.control.on_path(m, {"way": "x - t"}, ["pull"]),
    "design_experiment": lambda m: dr.estimation.design_experiment(m, ["mass"], ["x"], 1.0),
    "certify": lambda m: dr.certify(m),
    "diagnose": lambda m: dr.diagnose(m),
    "compare_drift": lambda m: dr.compare_drift(m, 1.0),
    "export": lambda m: dr.export(m, ["c", "fmu"]),
    "symbolic_equations": lambda m: dr.symbolic.symbolic_equations(m),
    "as_dae": lambda m: dr.dae.as_dae(m),
    "index_of": lambda m: dr.dae.index_of(m),
    "reduce_index": lambda m: dr.dae.reduce_index(m),
    "closed_form": lambda m: dr.bicycle.closed_form(m),
    "hands_free_turns": lambda m: dr.bicycle.hands_free_turns(m),
    "turning_atlas": lambda m: dr.bicycle.turning_atlas(m),
    "uncertainty": lambda m: dr.bicycle.uncertainty(m, {"mass": 0.1}, [1.0]),
    "whipple_matrices": lambda m: dr.bicycle.whipple_matrices(m),
}


@pytest.mark.parametrize("verb", REFUSED)
@pytest.mark.parametrize("model", [MODEL, MODEL.freeze(), EQUATIONS], ids=["model", "system", "equations"])
def test_verbs_of_one_set_of_equations_refuse(verb: str, model: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^{verb}: model 'block' has contact floor .*in_modes\(\{{'floor': 'stick'\}}\)"):
        REFUSED[verb](model)


def test_what_a_run_with_contacts_does_not_have() -> None:
    for given, message in (
        ({"drift": dr.stabilization.Baumgarte()}, "contacts floor of 'block' slip and open.*leave out drift="),
        ({"drift": dr.stabilization.Symplectic(0.01)}, "leave out drift="),
        ({"method": dr.methods.CVODE()}, "its contacts floor open and slip, and CVODE does not restart"),
    ):
        with pytest.raises(ArgumentError, match=message):
            dr.simulate(MODEL, 0.1, **given)
    with pytest.raises(ArgumentError, match="backwards, until -1 s, is not determined"):
        dr.simulate(MODEL, -1.0)
    for formulation in (dr.formulations.Reduced(), dr.formulations.Recursive()):
        with pytest.raises(ModelError, match=r"its contacts floor open and slip.*omit formulation="):
            dr.derive(MODEL, formulation=formulation)
    with pytest.raises(ArgumentError, match="reactions: model 'block' has contact floor"):
        reactions(EQUATIONS, [0.0], np.zeros((1, len(EQUATIONS.states))))
    m = dr.Model("disk")
    m.gravity(G)
    body = m.body("disk", mass=1.0, inertia=(0.1, 0.2, 0.1))
    m.free(body)
    m.wheel("rim", body, 0.5, contact=dr.contact.Coulomb(0.3), friction=0.3)
    with pytest.raises(ModelError, match=r"multipliers of rim_normal.*contacts rim open and slip"):
        dr.derive(m)


def test_modes_are_no_parameters() -> None:
    """The mode of a contact is neither listed, nor given, nor varied, nor stored as a parameter."""
    assert [q.name for q in EQUATIONS.parameters] == ["mass", "mu"]
    run = dr.simulate(MODEL, 0.1)
    assert list(run.parameters) == ["mass", "mu"]
    with pytest.raises(UnknownNameError, match="no parameter is called 'floor_closed'; there are mass, mu"):
        dr.simulate(MODEL, 0.1, parameters={"floor_closed": 0.0})
    with pytest.raises(UnknownNameError, match="floor_sticks"):
        dr.ensemble(MODEL, 0.1, {"floor_sticks": [0.0, 1.0]})
    assert dr.draw(MODEL) is not None


def test_documents_name_the_modes(tmp_path: Path) -> None:
    (path, _) = dr.view.write_equations(MODEL, tmp_path / "block.md")
    text = path.read_text(encoding="utf-8")
    parameters, modes = (text.partition(f"## {title}")[2].partition("##")[0] for title in ("Parameters", "Modes of contacts"))
    assert "`mu`" in parameters and "floor_closed" not in parameters
    assert "1 while contact floor is closed" in modes and "floor_closed*z_rate_dot" in text


def test_a_report_says_what_it_lacks() -> None:
    """The chapters of one set of equations contain the reason; description, equations and the sample run are complete."""
    report = dr.report(ball(), 1.0, start={"z": 0.3}, film=False)
    assert set(report.failed) <= {"Certificate", "Constraints", "Stability"}
    assert all("contact floor" in reason for reason in report.failed.values())
    assert "Contacts that stick, slip and open" in report.html()


# ------------------------------------------------------------------------------------------------------------- runs


def random_ball(rng: np.random.Generator) -> tuple[dr.Model, dict[str, float]]:
    impact = str(rng.choice(["energetic", "poisson", "newton"]))
    m = ball(rng.uniform(-0.5, 0.5), friction=rng.uniform(0, 0.8), restitution=rng.uniform(0, 0.9), impact=impact)
    return m, {"z": rng.uniform(0, 0.5), "x_rate": rng.uniform(-2, 2), "z_rate": rng.uniform(0, 1)}


def test_an_ensemble_has_the_numbers_of_single_runs() -> None:
    rng = np.random.default_rng(5)
    names = ["x", "z", "x_rate", "floor_normal_force", "floor_mode"]
    events = [dr.Event("far", "x - 0.5", "stop"), dr.Event("pressed", "floor_normal_force - 1")]
    for _ in range(3):
        m, _ = random_ball(rng)
        cases = {"start.z": rng.uniform(0, 0.5, 5), "start.x_rate": rng.uniform(-2, 2, 5)}
        keep = [dr.reductions.Final(), dr.reductions.Snapshots(0.4), dr.reductions.EventCounts(), dr.reductions.ContactCounts()]
        found = dr.ensemble(m, 1.5, cases=cases, outputs=names, keep=keep, events=events, threads=2)
        for k in range(5):
            start = {name.removeprefix("start."): column[k] for name, column in cases.items()}
            run = dr.simulate(m, 1.5, start=start, events=events, samples=[0.0, 0.4, 1.5])
            assert found["status"][k] == run.status.kind
            assert [found[f"{name}.end"][k] for name in names] == [run[name][-1] for name in names]
            if run.time[-1] > 0.4:
                assert [found[f"{name}@0.4"][k] for name in names] == [run.at(0.4)[name] for name in names]
            assert found["pressed.count"][k] == sum(event.name == "pressed" for event in run.events)
            assert (
                found["floor.mode"][k] == run["floor_mode"][-1] == ["open", "slip", "stick"].index(run.modes[-1].modes["floor"])
            )
            assert (found["floor.impacts"][k], found["impacts.lost"][k]) == (len(run.modes.impacts), run.modes.lost)


def test_a_run_is_continued_from_its_end_in_any_mode() -> None:
    """The state is kept: in flight, while it slips, and at rest; as a run, as values, and as a row of a run."""
    rng, seen = np.random.default_rng(8), set()
    for _ in range(6):
        m, start = random_ball(rng)
        whole = dr.simulate(m, 2.0, start=start, method=TIGHT)
        for share in rng.uniform(0.05, 0.95, 2):
            first = dr.simulate(m, 2.0 * share, start=start, method=TIGHT)
            seen.add(first.modes[-1].modes["floor"])
            for begin in (first, first.final, whole.at(2.0 * share)):
                rest = dr.simulate(m, 2.0 * (1 - share), start=begin, method=TIGHT)
                for name in ("x", "z", "x_rate", "z_rate"):
                    assert rest[name][-1] == pytest.approx(whole[name][-1], abs=2e-9)
                assert rest.modes[-1].modes == whole.modes[-1].modes
    assert seen == {"open", "slip", "stick"}


def test_a_run_is_stored_with_its_modes(tmp_path: Path) -> None:
    m, start = ball(), {"z": 0.4, "x_rate": 1.0}
    run = dr.simulate(m, 1.5, start=start)
    for suffix in ("nc", "parquet", "csv"):
        run.save(tmp_path / f"run.{suffix}")
        loaded = dr.load(tmp_path / f"run.{suffix}")
        assert loaded.identical(run) and loaded.modes is not None and run.modes is not None
        assert loaded.modes.changes == run.modes.changes and loaded.modes.contacts == ("floor",)
        assert loaded.modes.at(0.1) == {"floor": "open"} and loaded.modes.lost == run.modes.lost
    text = (tmp_path / "run.csv").read_text(encoding="utf-8")
    (tmp_path / "damaged.csv").write_text(text.replace('"modes": [[0]', '"modes": [[2]', 1), encoding="utf-8")
    with pytest.raises(DataError, match="checksum"):
        dr.load(tmp_path / "damaged.csv")
    good = run.modes.described()
    for change in (
        {"modes": [[7]] * len(run.modes)},
        {"time": [0.0]},
        {"impulses": [[99, "floor", 1.0, 0.0, 0.0]]},
        {"lost": ["1"]},
    ):
        with pytest.raises(DataError, match=r"modes of contacts|impulse|'lost'|loss"):
            ContactHistory.from_data({**good, **change})


def test_table_and_figure_of_modes(tmp_path: Path) -> None:
    run = dr.simulate(ball(), 2.5, start={"z": 0.4})
    table = run.modes.to_pandas()
    assert list(table.columns) == ["time", "floor", "floor_impulse", "lost"] and table.attrs["units"]["floor_impulse"] == "N*s"
    # an impact turns the normal velocity v into -0.7 v: its impulse is 1.7 m v, of a fall from 0.4 m
    first = table[table["floor_impulse"] > 0].iloc[0]
    assert first["floor_impulse"] == pytest.approx(1.7 * np.sqrt(2 * G * np.cos(0.35) * 0.4), rel=1e-12)
    assert table["lost"].sum() == pytest.approx(run.modes.lost)
    assert "impacts of floor" in repr(run.modes) and "<table>" in run.modes._repr_html_() and "floor slip" not in repr(run)
    assert "modes" in run.summary()
    figure = run.modes.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["floor"]
    run.modes.save(tmp_path / "modes.svg")
    run.modes.save(tmp_path / "modes.csv")


def test_impulse_across_the_track() -> None:
    """A particle that can only move across: the same impulses as along."""
    found = {}
    for axis in "xy":
        m = dr.Model("across")
        m.gravity(G)
        carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=1.0)
        m.prismatic("way", "ground", carriage, axis=axis)
        m.prismatic("z", carriage, body, axis="z")
        m.contact("floor", body, friction=0.3, restitution=0.5)
        run = dr.simulate(m, 1.5, start={"z": 0.2, "way_rate": 1.0})
        found[axis] = run.modes.impacts[0].impulse["floor"], run["way"][-1], run.modes[-1].modes
    (normal, along, across), (same, nothing, moved) = found["x"][0], found["y"][0]
    assert (normal, along) == (same, pytest.approx(moved)) and across == nothing == 0.0
    assert found["x"][1:] == (pytest.approx(found["y"][1]), found["y"][2])


def test_impulses_of_several_contacts_change_the_momentum() -> None:
    """A rod falls on its foot, then on its tip: the impulses of all contacts are the jump of its momentum."""
    m = dr.Model("rod")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    body = m.body("rod", mass=1.0, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-9))
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    m.revolute("theta", second, body, axis="y")
    for name, height in (("foot", 0.0), ("tip", 1.0)):
        m.contact(name, m.point(f"{name}_point", body, (0, 0, height)), friction=0.3)
    for axis in "xz":
        m.output(f"momentum_{axis}", f"velocity_{axis}(middle)", "m/s")
    m.point("middle", body, (0, 0, 0.5))
    run = dr.simulate(m, 0.8, start={"theta": 0.4, "z": 0.3}, method=TIGHT)
    landing, fall = run.modes.impacts[:2]
    assert set(landing.impulse) == {"foot"} and "tip" in fall.impulse
    for change in (landing, fall):
        step = 1e-7
        before, after = run.at(change.time), run.at(change.time + step)
        for axis, way in (("z", 0), ("x", 1)):
            jump = sum(impulse[way] for impulse in change.impulse.values())
            assert after[f"momentum_{axis}"] - before[f"momentum_{axis}"] == pytest.approx(jump, abs=1e-4)


def test_events_at_impacts_and_between() -> None:
    """The vertical velocity passes zero at every impact, by a jump, and at the top of every flight."""
    run = dr.simulate(ball(0.0), 1.2, start={"z": 0.5, "z_rate": 0.1}, events=[dr.Event("turns", "z_rate")], method=TIGHT)
    impacts = [change.time for change in run.modes.impacts]
    speed, expected = 0.1, [0.1 / G]
    fall = np.sqrt(0.1**2 + 2 * G * 0.5)
    time, speed = (0.1 + fall) / G, 0.7 * fall
    while time < 1.2:
        expected += [time, time + speed / G]
        time, speed = time + 2 * speed / G, 0.7 * speed
    np.testing.assert_allclose([event.time for event in run.events], [t for t in expected if t < 1.2], rtol=1e-10)
    assert set(impacts) <= {event.time for event in run.events}
    rising = dr.simulate(ball(0.0), 1.2, start={"z": 0.5, "z_rate": 0.1}, events=[dr.Event("turns", "z_rate", direction=1)])
    np.testing.assert_allclose([event.time for event in rising.events], impacts, rtol=1e-12)


def test_an_event_on_a_force_stops_a_run_where_it_lands() -> None:
    m, pressed = ball(restitution=0.0), dr.Event("pressed", "floor_normal_force - 1", "stop")
    run = dr.simulate(m, 2.5, start={"z": 0.5}, events=[pressed])
    assert run.time[-1] == pytest.approx(np.sqrt(2 * 0.5 / (G * np.cos(0.35))), rel=1e-12)
    assert run["floor_normal_force"][-1] == pytest.approx(G * np.cos(0.35), rel=1e-12)


def test_laws_and_controls_reach_the_contacts() -> None:
    """C02d: a force 5 t breaks the block away; laws compiled into given equations, and controls in Python."""
    m = block((0.6, 0.4))
    breakaway = 0.6 * 2 * G / 5
    for model in (m, dr.derive(m)):
        run = dr.simulate(model, 3.0, inputs={"pull": "5*t"}, events=[dr.Event("fast", "x_rate - 1")])
        assert run.modes[-1].time == pytest.approx(breakaway, abs=1e-11) and run.energy_drift < 1e-12
    for control in (dr.control.EveryStage(lambda t, x: {"pull": 5 * t}), lambda t, x: {"pull": 5 * t}):
        with pytest.raises(ArgumentError, match=r"contacts floor of 'block' begin to slip.*Sampled"):
            dr.simulate(m, 3.0, control=control)
    sampled = dr.simulate(m, 3.0, control=dr.control.Sampled(lambda t, x: {"pull": 5 * t}, 100.0))
    assert sampled.modes[-1].time == pytest.approx(np.ceil(100 * breakaway) / 100, abs=1e-9)


METHODS = [
    dr.methods.Radau(rtol=1e-10, atol=1e-12),
    dr.methods.ESDIRK23(rtol=1e-8, atol=1e-10),
    dr.methods.RK4(step=1e-3),
    dr.methods.Gauss(step=1e-3),
    dr.methods.PredictorCorrector(step=1e-3),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_methods_agree(method: Any) -> None:
    m, start = ball(), {"z": 0.4, "x_rate": -1.0}
    reference = dr.simulate(m, 2.5, start=start, method=TIGHT)
    run = dr.simulate(m, 2.5, start=start, method=method)
    assert len(run.modes) == len(reference.modes) and run.modes[-1].modes == reference.modes[-1].modes
    assert run["x"][-1] == pytest.approx(reference["x"][-1], abs=1e-7)
    assert run.modes[-1].time == pytest.approx(reference.modes[-1].time, abs=1e-7)


@pytest.mark.parametrize("law", [dr.contact.Creep(100, 100), dr.contact.LinearTire(100, 0.1)], ids=lambda law: type(law).__name__)
def test_a_law_of_creep_acts_while_the_wheel_touches(law: Any) -> None:
    """A disk that is dropped with a horizontal velocity and without spin: no force in flight, then it comes to roll."""
    m = dr.Model("disk")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    body = m.body("disk", mass=1.0, inertia=(0.01, 0.02, 0.01))
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    m.revolute("turn", second, body, axis="y")
    m.wheel("rim", body, 0.2, contact=law, friction=0.5)
    run = dr.simulate(m, 4.0, start={"z": 0.5, "x_rate": 1.0, "turn_rate": 0.0}, method=dr.methods.Radau(rtol=1e-9, atol=1e-11))
    landing = np.sqrt(2 * 0.3 / G)
    flies = run.time < landing
    assert run.modes[1].time == pytest.approx(landing, rel=1e-9)
    assert np.all(run["rim_longitudinal_force"][flies] == 0.0) and np.all(run["x_rate"][flies] == 1.0)
    # the angular momentum about the ground is kept: m r v = (m r + J/r) v'
    assert run["x_rate"][-1] == pytest.approx(2 / 3, abs=1e-4) and run.energy_drift < 1e-6

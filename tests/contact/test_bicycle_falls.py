"""Falls of a bicycle with friction at its wheels, on points of its frame and handlebar."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from random_scenes import check_run

import draisine as dr
from draisine.model.contact.dry_friction import dry_friction


@cache
def falling_bicycle(friction: float) -> dr.Model:
    """The benchmark bicycle with grips, pedals and a saddle that land."""
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(friction, 0.0, "energetic", name))
    m._items["events"].clear()  # a fall is no end
    lands = max(0.3, round(1.2 - friction, 1))
    for name, side in (("left", 1), ("right", -1)):
        m.contact(f"{name}_grip", m.point(f"{name}_end", "fork", (0.1, 0.3 * side, 0.7)), friction=lands)
        m.contact(f"{name}_pedal", m.point(f"{name}_foot", "frame", (0.4, 0.15 * side, 0.0)), friction=lands)
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction=lands)
    return m


def random_fall(seed: int) -> tuple[dr.Model, dict[str, float]]:
    rng = np.random.default_rng(seed)
    model = falling_bicycle(float(rng.choice([0.3, 0.6, 0.9])))
    ranges = {"speed": (0.5, 8.0), "roll_rate": (-2.0, 2.0), "steer": (-0.3, 0.3), "steer_rate": (-2.0, 2.0)}
    return model, {name: float(rng.uniform(*between)) for name, between in ranges.items()}


@pytest.mark.parametrize("seed", range(40))
def test_fall(seed: int) -> None:
    model, start = random_fall(seed)
    run = dr.simulate(model, 3.0, start=start, method=dr.methods.Auto(max_steps=20000), samples=60)
    # with much friction the wheels may lock the bicycle between them as they slip: normal forces grow without bound
    locks = model is falling_bicycle(0.9) and run.status.kind == "CONTACT_INCONSISTENT"
    assert run.status.kind == "FINISHED" or locks, run.status
    check_run(run)


def test_modes_do_not_depend_on_the_tolerance() -> None:
    """Until it lands, a bicycle that skids has the same modes at the same times, and the same motion."""
    model, start = falling_bicycle(0.3), {"speed": 1.0, "roll_rate": 0.8}
    runs = [
        dr.simulate(model, 0.75, start=start, method=dr.methods.Auto(rtol=rtol, atol=1e-2 * rtol), samples=20)
        for rtol in (1e-8, 1e-10)
    ]
    first, second = ({name: run.modes.intervals(name) for name in run.modes.contacts} for run in runs)
    assert [mode for _, _, mode in first["front_wheel"]] == ["stick", "slip"]
    for name, intervals in first.items():
        assert [mode for _, _, mode in intervals] == [mode for _, _, mode in second[name]]
        np.testing.assert_allclose([begin for begin, _, _ in intervals], [begin for begin, _, _ in second[name]], atol=1e-9)
    np.testing.assert_allclose(runs[0]["lean"], runs[1]["lean"], atol=1e-8)


def test_ideal_wheels_are_the_limit_of_much_friction() -> None:
    """Where friction suffices and no wheel lifts, the motion is that of ideal rolling, from other equations."""
    start = {"speed": 4.6, "roll_rate": 0.5}
    tight = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    run = dr.simulate(falling_bicycle(0.9), 3.0, start=start, method=tight)
    ideal = dr.simulate(dr.gallery.bicycle(), 3.0, start=start, method=tight)
    assert len(run.modes) == 1
    np.testing.assert_allclose(run["lean"], ideal["lean"], atol=1e-9)


def drawn_falls(count: int) -> list[dict[str, float]]:
    """Starts of falls as the benchmark draws them."""
    rng = np.random.default_rng(20)
    ranges = {"speed": (0.5, 8.0), "roll_rate": (-2.0, 2.0), "steer": (-0.3, 0.3), "steer_rate": (-2.0, 2.0)}
    columns = {name: rng.uniform(*between, count) for name, between in ranges.items()}
    return [{name: float(column[k]) for name, column in columns.items()} for k in range(count)]


@pytest.mark.parametrize(
    ("number", "rtol"),
    [
        (158, 1e-8),  # it rattles on grip and saddle: slips of 2e-5 m/s to which Painlevé's paradox would apply
        (446, 1e-8),  # both grips stop at the same time, but one of them cannot stick while the other still slips
        (139, 1e-8),
        (209, 1e-8),
        (335, 1e-8),
        (269, 1e-6),  # a slip grows across the direction in which it begins
        (68, 1e-6),
        (429, 1e-6),
    ],
)
def test_slips_that_stop_or_begin_do_not_end_a_fall(number: int, rtol: float) -> None:
    method = dr.methods.Auto(rtol=rtol, atol=1e-3 * rtol, max_steps=20000)
    run = dr.simulate(falling_bicycle(0.6), 3.0, start=drawn_falls(500)[number], method=method, samples=60)
    assert run.status.kind == "FINISHED", run.status
    check_run(run)


@pytest.mark.parametrize("number", [61, 280])
def test_a_bicycle_upside_down_comes_to_rest(number: int) -> None:
    """On grips and saddle all slips stop within errors at once, at a dead point of the fork; a normal force of three contacts
    that stick would pull, and the direction in which one of two begins to slip lies beside a pole of the forces."""
    run = dr.simulate(
        falling_bicycle(0.3), 3.0, start=drawn_falls(500)[number], method=dr.methods.Auto(max_steps=20000), samples=60
    )
    assert run.status.kind == "FINISHED", run.status
    check_run(run)


@pytest.mark.parametrize(("count", "number"), [(100, 55), (500, 191)])
def test_friction_that_locks_is_named_with_any_tolerance(count: int, number: int) -> None:
    """The normal forces of a wheel and a grip that slip have finite limits where the matrix that determines them is singular."""
    start = drawn_falls(count)[number]
    for rtol in (1e-6, 1e-8, 1e-9):
        run = dr.simulate(falling_bicycle(0.6), 3.0, start=start, method=dr.methods.Auto(rtol=rtol, atol=1e-3 * rtol))
        assert run.status.kind == "CONTACT_INCONSISTENT", run.status
        assert "rear_wheel" in run.status.message and "grip" in run.status.message and "Painlevé" in run.status.message


@pytest.mark.parametrize(("number", "until", "most"), [(41, 0.34, 4), (27, 0.5, 8), (6, 0.4, 6)])
def test_slips_that_begin_take_few_attempts(number: int, until: float, most: int) -> None:
    """A wheel begins to slip, in one of these runs both: first steps have lengths at which the stages are found."""
    run = dr.simulate(falling_bicycle(0.6), until, start=drawn_falls(100)[number], samples=[0.0, until])
    assert any(mode == "slip" for change in run.modes for mode in change.modes.values())
    assert run.statistics.rejected <= most


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("number", [6, 20, 32, 37, 47, 68])
def test_coarse_tolerances_take_fewer_steps(number: int, rtol: float) -> None:
    """With them slips are resolved all the same, and contacts that just open do not land again at once."""
    method = dr.methods.Auto(rtol=rtol, atol=1e-2 * rtol, max_steps=3000)
    run = dr.simulate(falling_bicycle(0.6), 3.0, start=drawn_falls(100)[number], method=method, samples=60)
    assert run.status.kind == "FINISHED", run.status


@pytest.mark.parametrize("number", range(6, 12))
def test_motions_with_coarse_tolerances(number: int) -> None:
    """A wheel slips, lifts or lands at the same times, within errors of the size of the tolerance; then motions part."""
    start = drawn_falls(100)[number]
    fine, coarse = (
        dr.simulate(falling_bicycle(0.6), 0.7, start=start, method=dr.methods.Auto(rtol=rtol, atol=1e-2 * rtol), samples=20)
        for rtol in (1e-9, 1e-5)
    )
    assert [change.modes for change in coarse.modes[:3]] == [change.modes for change in fine.modes[:3]]
    np.testing.assert_allclose([c.time for c in coarse.modes[:3]], [c.time for c in fine.modes[:3]], atol=1e-4)
    same = coarse.time < min(fine.modes[-1].time, 0.35)
    np.testing.assert_allclose(coarse["lean"][same], fine["lean"][same], atol=1e-3)


def test_slow_slips_do_not_hold_up_explicit_steps() -> None:
    """Slips of millimeters per second go on for long: implicit steps follow them before stability limits explicit ones."""
    total = 0
    for number in (18, 29, 37, 44, 51, 52, 86, 92):
        run = dr.simulate(falling_bicycle(0.6), 3.0, start=drawn_falls(100)[number], samples=60)
        assert run.status.kind == "FINISHED", run.status
        total += run.statistics.evaluations
    assert total < 108_000  # 98,000 to 99,000 with tolerances near 1e-8

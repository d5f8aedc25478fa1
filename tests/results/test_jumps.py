"""Curves of runs through their jumps: upright, with the limits of both sides, in single runs, comparisons, films and files."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import draisine as dr
from draisine.results.channel import Channel
from draisine.results.contact_modes import ContactHistory, ModeChange
from draisine.results.jumps import jump_times, thinned, values_at
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Occurrence, Trajectory

THROWN = {"x": 0.0, "z": 0.4, "x_rate": 3.0, "z_rate": -5.0, "turn": 0.0, "turn_rate": 0.0}
FALL = (5.0**2 + 2 * 9.81 * (0.4 - 0.03)) ** 0.5  # speed at which the superball strikes the floor
FIRST = (FALL - 5.0) / 9.81


def sled() -> dr.Model:
    """A mass of 1 kg that a push drives along a line."""
    m = dr.Model("sled")
    body = m.body("body", mass=1.0, inertia=(1, 1, 1))
    m.prismatic("x", "ground", body)
    m.generalized_force("x", m.input("push", "N"))
    m.output("effort", "2*push + where(x > 0.3, 5, 0)", "N")
    m.output("warned", "where(x > 0.2, 1, 0)")
    return m


@pytest.fixture(scope="module")
def pushed() -> Trajectory:
    return dr.simulate(sled(), 2.0, inputs={"push": "where(t < 0.5035, 3, 0)"})


@pytest.fixture(scope="module")
def superball() -> Trajectory:
    return dr.simulate(dr.gallery.superball(), 0.44, start=THROWN, samples=23)


def jumps(curve: tuple[np.ndarray, np.ndarray], least: float = 1e-6) -> list[tuple[float, float, float]]:
    """Times and both values of the upright parts of a curve; whatever else is in it may not be steep."""
    time, values = curve
    upright = np.flatnonzero((np.diff(time) == 0) & (np.abs(np.diff(values)) > least))
    return [(float(time[k]), float(values[k]), float(values[k + 1])) for k in upright]


def test_a_law_that_switches_jumps_at_its_time(pushed):
    (jump,) = jumps(pushed.curve("push"))
    assert jump == (0.5035, 3.0, 0.0)
    ((time, before, after),) = jumps(pushed.curve("push_power"))
    assert (time, after) == (0.5035, 0.0) and before == pytest.approx(9 * 0.5035, abs=1e-7)
    assert not jumps(pushed.curve("x_rate")) and not jumps(pushed.curve("x"))


def test_outputs_that_only_report_a_condition_jump_where_it_changes(pushed):
    """x = 1.5 t² passes 0.2 m and 0.3 m, at times that the integration does not know."""
    ((time, before, after),) = jumps(pushed.curve("warned"))
    assert time == pytest.approx((0.2 / 1.5) ** 0.5, abs=2e-8) and (before, after) == (0.0, 1.0)
    first, second = jumps(pushed.curve("effort"))
    assert first == (pytest.approx((0.3 / 1.5) ** 0.5, abs=2e-8), 6.0, 11.0) and second == (0.5035, 11.0, 5.0)


def test_samples_are_kept_and_lines_between_jumps_are_not_steep(pushed):
    for name in ("push", "effort", "warned"):
        time, values = pushed.curve(name)
        assert set(pushed.time) <= set(time) and np.all(np.diff(time) >= 0)
        assert np.abs(np.diff(values))[np.diff(time) > 0].max() == 0.0


def test_a_sample_at_the_time_of_a_jump_is_one_of_its_two_values():
    run = dr.simulate(sled(), 1.0, inputs={"push": "where(t < 0.5, 3, 0)"}, samples=3)
    time, values = run.curve("push")
    assert time.tolist() == [0.0, 0.5, 0.5, 1.0] and values.tolist() == [3.0, 3.0, 0.0, 0.0]


def test_impacts(superball):
    """Velocities before and after the first impact, by hand: v⁺ = 3/7 v, Rω⁺ = 10/7 v; heights have corners."""
    known = [(FIRST, 3.0, 9.0 / 7), (pytest.approx(0.195791104), 9.0 / 7, -93.0 / 49)]
    found = jumps(superball.curve("x_rate"))
    assert len(found) == 3
    for jump, by_hand in zip(found, known, strict=False):
        assert jump == pytest.approx(by_hand, abs=1e-7)
    assert jumps(superball.curve("turn_rate"))[0][2] == pytest.approx(30.0 / 7 / 0.03, rel=1e-9)
    assert jumps(superball.curve("z_rate"))[0] == pytest.approx((FIRST, -FALL, FALL), abs=1e-6)
    time, height = superball.curve("z")
    assert not jumps((time, height)) and height.min() == pytest.approx(0.03, abs=1e-6)
    assert superball["z"].min() > 0.031  # no sample is near


@pytest.mark.parametrize("suffix", [".csv", ".nc", ".parquet"])
def test_runs_from_files_have_their_jumps(suffix, tmp_path, pushed, superball):
    held = dr.simulate(sled(), 1.0, control=dr.control.Sampled(lambda t, x: {"push": np.cos(t)}, 7.0), samples=101)
    for run, name, least in (
        (pushed, "push", 1e-6),
        (superball, "x_rate", 1e-6),
        (superball, "turn_rate", 1e-3),
        (held, "push", 1e-6),
    ):
        run.save(tmp_path / f"run{suffix}")
        again = dr.load(tmp_path / f"run{suffix}")
        assert again.identical(run) and again.dense is None
        for one, other in zip(jumps(again.curve(name), least), jumps(run.curve(name), least), strict=True):
            assert one == pytest.approx(other, rel=1e-9)


def test_held_inputs_are_steps():
    run = dr.simulate(sled(), 1.0, control=dr.control.Sampled(lambda t, x: {"push": np.cos(t)}, 7.0), samples=11)
    found = jumps(run.curve("push"))
    assert run.control_changes == pytest.approx(np.arange(1, 7) / 7)
    assert found == [pytest.approx((k / 7, np.cos((k - 1) / 7), np.cos(k / 7)), abs=1e-12) for k in range(1, 7)]
    every = dr.simulate(sled(), 1.0, control=lambda t, x: {"push": 1.0 if t < 0.305 else 2.0}, samples=101)
    assert jumps(every.curve("push")) == [(0.31, 1.0, 2.0)]  # its values are known at samples only


def test_backwards():
    run = dr.simulate(sled(), -1.0, inputs={"push": "where(t < -0.3, 3, 0)"}, samples=11)
    (jump,) = jumps(run.curve("push"))
    assert jump == pytest.approx((-0.3, 0.0, 3.0)) and np.all(np.diff(run.curve("push")[0]) <= 0)


def made(time: list[float], values: list[float], **more: object) -> Trajectory:
    return Trajectory("made", time, (Channel("a", "N"),), np.array(values)[:, None], Status(Ending.FINISHED, "made"), **more)  # type: ignore[arg-type]


def test_limits_of_a_table():
    """Without the motion between samples: on lines through two samples, through one beside another jump, none without one."""
    at = made([0, 1, 2, 3, 4, 5], [0, 1, 2, 10, 12, 14], switches=(Occurrence("a", 2.5),))
    assert jumps(at.curve("a")) == [(2.5, 2.5, 9.0)]
    near = made([0, 1, 2, 3], [0, 1, 5, 6], switches=(Occurrence("a", 0.9), Occurrence("b", 1.5)))
    assert [near.limits.before[1, 0], near.limits.after[0, 0]] == [1.0, 1.0]
    empty = made([0, 1, 2, 3], [0, 1, 5, 6], switches=(Occurrence("a", 1.2), Occurrence("b", 1.8)))
    assert np.isnan([empty.limits.after[0, 0], empty.limits.before[1, 0]]).all()
    time, values = empty.curve("a")  # one line, without a gap where nothing is known
    assert time.tolist() == [0, 1, 1.2, 1.8, 2, 3] and values == pytest.approx([0, 1, 1.2, 4.8, 5, 6])
    undefined = made([0, 1, 2, 3], [0, 1, np.nan, np.nan], switches=(Occurrence("a", 1.5),))
    time, values = undefined.curve("a")  # ends at the jump behind which there is no value
    assert time.tolist() == [0, 1, 1.5, 2, 3] and values[:3].tolist() == [0, 1, 1.5] and np.isnan(values[3:]).all()
    twice = made([0, 1, 1, 2], [0, 1, 5, 9], switches=(Occurrence("a", 1.0),))
    assert jumps(twice.curve("a")) == [(1.0, 1.0, 5.0)]


def test_times_of_jumps():
    modes = ContactHistory(("c",), (ModeChange(0.0, {"c": "open"}), ModeChange(1.5, {"c": "stick"})), 3.0)
    run = made(
        [0, 1, 2, 3], [0, 0, 0, 0], switches=(Occurrence("s", 2.5), Occurrence("s", 3.0)), control_changes=(0.5, 1.5), modes=modes
    )
    assert jump_times(run).tolist() == [0.5, 1.5, 2.5]


def test_smooth_runs_have_their_samples_alone():
    run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.3}, samples=31)
    for name in ("lean", "rear_wheel_normal_force", "total_energy", "rear_wheel_z_residual"):
        time, values = run.curve(name)
        np.testing.assert_array_equal(time, run.time)
        np.testing.assert_array_equal(values, run[name])


def test_steep_but_smooth_is_no_jump():
    run = dr.simulate(sled(), 2.0, inputs={"push": "1 + tanh((t - 1.003)/1e-4)"}, samples=101)
    assert not jumps(run.curve("push"))


def test_films_and_comparisons_have_the_jumps_of_each_run(pushed):
    other = dr.simulate(sled(), 2.0, inputs={"push": "where(t < 0.8125, 3, 1)"})
    film = pushed.animate(charts=["push", "warned"], ghosts=[other], show=False)
    for take, time, after in zip(film.takes, (0.5035, 0.8125), (0.0, 1.0), strict=True):
        push, warned = take.charts
        assert jumps((push.times, push.values)) == [(time, 3.0, after)] and len(jumps((warned.times, warned.values))) == 1
        assert push.at(time) == after and push.at(np.nextafter(time, 0)) == pytest.approx(3.0)


def test_thinned_curves_keep_their_jumps():
    curve = np.array([0.0, 1, 1, 2, 3]), np.array([0.0, 2, 5, 5, 7])
    time, values = thinned(curve, np.array([0.5, 1.0, 2.5]))
    assert time.tolist() == [0.5, 1.0, 1.0, 2.5] and values.tolist() == [1.0, 2.0, 5.0, 6.0]
    assert values_at((-curve[0], curve[1]), np.array([-0.5, -1.0, -3.0])).tolist() == [1.0, 5.0, 7.0]


def test_long_runs_are_not_repeated(pushed):
    """Their limits are those of lines through samples: the motion is not integrated again."""

    class Forbidden:
        refused = ""

        def __call__(self, times: np.ndarray) -> Trajectory:
            raise AssertionError("repeated")

    long = dataclasses.replace(pushed, dense=Forbidden(), seconds={"integrate": 100.0})
    assert jumps(long.curve("push")) == [(0.5035, 3.0, 0.0)]

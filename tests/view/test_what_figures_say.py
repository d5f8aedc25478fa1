"""Angles in degrees, contact angles from their nominal values, inputs as steps, stable ranges that end at critical values."""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import draisine as dr
from draisine.view.plots.trajectories import channel_figure, contact_angle_figure
from draisine.view.scene.from_model import nominal_contact_angles


@pytest.fixture(scope="module")
def ride() -> dr.Trajectory:
    pulse = "where(t > 0.1234, where(t < 0.3, 2, 0), 0)"
    return dr.simulate(
        dr.gallery.bicycle(), 0.5, start={"speed": 4.6, "roll_rate": 0.3}, inputs={"steer_torque": pulse}, samples=51
    )


def test_angles_are_read_in_degrees_and_drawn_in_radians(ride):
    (axes,) = channel_figure(ride, "lean").axes
    axes.figure.canvas.draw()
    assert axes.get_ylabel() == "lean [°]"
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), ride.curve("lean")[1])
    assert np.abs(axes.get_lines()[0].get_ydata()).max() == pytest.approx(np.abs(ride["lean"]).max())
    shown = [float(tick.get_text().replace("−", "-")) for tick in axes.get_yticklabels()]
    np.testing.assert_allclose(shown, np.degrees(axes.get_yticks()), atol=1e-5)
    assert all(abs(value - round(value, 2)) < 1e-9 for value in shown)  # round numbers of degrees


@pytest.mark.parametrize("tilt", [0.1, 0.2, math.pi / 10])
def test_nominal_contact_angles(tilt):
    found = nominal_contact_angles(dr.gallery.bicycle().freeze(), {"steer_axis_tilt": tilt})
    assert found == pytest.approx({"rear_wheel": math.pi, "front_wheel": math.pi + tilt}, abs=1e-12)


def test_they_are_what_an_upright_bicycle_reports():
    run = dr.simulate(dr.gallery.bicycle(), 0.01, start={"speed": 4.6}, parameters={"steer_axis_tilt": 0.25})
    found = nominal_contact_angles(dr.gallery.bicycle().freeze(), run.parameters)
    for wheel, angle in found.items():
        assert run[f"{wheel}_contact_angle"][0] == pytest.approx(angle, abs=1e-9)
    rear, front = contact_angle_figure(run).axes
    for axes, name in ((rear, "rear wheel, from its nominal 180°"), (front, "front wheel, from its nominal 194.3°")):
        assert axes.get_legend().get_texts()[0].get_text() == name
        assert np.abs(axes.get_lines()[0].get_ydata()).max() < 1e-9


def test_a_stepwise_input_has_upright_flanks(ride):
    (axes,) = channel_figure(ride, "steer_torque").axes
    x, y = axes.get_lines()[0].get_data()
    jumps = np.flatnonzero(np.abs(np.diff(y)) > 1e-12)
    spacing = ride.time[1] - ride.time[0]
    assert len(jumps) == 2 and set(np.round(y, 9)) == {0.0, 2.0}
    for k, time in zip(jumps, (0.1234, 0.3), strict=True):
        assert x[k] - 1e-9 <= time <= x[k + 1] + 1e-9 and x[k + 1] - x[k] < spacing / 32


def test_a_smooth_input_is_drawn_as_it_is():
    run = dr.simulate(dr.gallery.bicycle(), 0.2, start={"speed": 4.6}, inputs={"steer_torque": "sin(9*t)"}, samples=21)
    (axes,) = channel_figure(run, "steer_torque").axes
    np.testing.assert_array_equal(axes.get_lines()[0].get_xdata(), run.time)


def test_the_stable_range_ends_at_the_critical_speeds():
    """However coarse the sweep: the published ones are 4.292 and 6.024 m/s."""
    found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 21), states=("lean", "steer"))
    critical = {c.kind: c.value for c in found.critical()}
    (axes,) = found.plot().axes
    (band,) = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_label() == "stable"]
    assert band.get_x() == pytest.approx(critical["weave"], abs=1e-12)
    assert band.get_x() + band.get_width() == pytest.approx(critical["capsize"], abs=1e-12)


def test_tables_fit_80_columns():
    found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 21), states=("lean", "steer"))
    rows = str(found).splitlines()
    assert max(map(len, rows)) <= 80 and rows[0].split() == ["speed", *found.names]
    numbers = [row.split() for row in rows[1:]]
    assert float(numbers[0][0]) == 0.0 and float(numbers[-1][0]) == 10.0
    table = dr.compare_drift(dr.gallery.four_bar(), 0.1)
    uncertain = dr.bicycle.uncertainty(dr.gallery.bicycle(), {"trail": 0.001}, np.linspace(4.0, 6.0, 3))
    counts = dr.codegen.operation_counts(dr.gallery.bicycle())
    assert max(map(len, [*str(uncertain).splitlines(), *str(counts).splitlines()])) <= 80
    assert "-0.775±0.012+4.465±0.0044i" in str(uncertain) and "weave*" not in str(uncertain)
    named = [
        line for line in str(table).splitlines() if line.partition("  ")[0] in {row.name for row in table.rows if not row.refused}
    ]
    assert len(named) > 5 and max(map(len, named)) <= 80


def _axis_labels() -> list[tuple[str, str]]:
    """The texts that sources of figures give to axes as they stand."""
    found = []
    folders = (Path(dr.__file__).parent / name for name in ("view", "gallery/entries", "bicycle"))
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in ("set_xlabel", "set_ylabel", "single_panel"):
                texts = [
                    a for a in call.args[: 2 if name == "single_panel" else 1] if isinstance(a, ast.Constant | ast.JoinedStr)
                ]
                found += [(path.name, ast.unparse(text).strip("\"'")) for text in texts]
    return found


def test_every_axis_says_its_unit_and_a_dash_where_there_is_none():
    labels = _axis_labels()
    assert len(labels) > 100
    assert [(file, text) for file, text in labels if text and "[" not in text] == []


def test_amplitudes_and_answers_have_units():
    linear = dr.linearize(dr.gallery.bicycle(), {"speed": 5.0})
    size, phase = linear.bode("steer_torque", "lean").axes
    assert size.get_ylabel() == "amplitude [rad/(N·m)]" and phase.get_ylabel() == "phase [°]"
    size, _ = linear.bode("steer_torque", ("lean", "roll_rate")).axes
    assert [text.get_text() for text in size.get_legend().get_texts()] == ["lean [rad/(N·m)]", "roll rate [(rad/s)/(N·m)]"]


def test_a_control_between_its_nodes_jumps_where_intervals_meet():
    """Bang-bang: from one bound to the other at one instant, from the first to the last instant of the motion."""
    found = dr.gallery.solution("trolley_parks")
    axes = found.plot().axes[0]
    line = next(line for line in axes.get_lines() if len(line.get_xdata()) > 10)
    time, force = line.get_data()
    assert (time[0], time[-1]) == (0.0, pytest.approx(found.duration))
    upright = np.flatnonzero((np.diff(time) == 0) & (np.abs(np.diff(force)) > 1.9))
    assert len(upright) == 1 and time[upright[0]] == pytest.approx(1.0, abs=0.05)
    assert np.abs(np.diff(force))[np.diff(time) > 0].max() < 1e-6


def test_rows_of_intervals_are_whole():
    from draisine.view.plots.estimation import coverage_figure, intervals

    for drawing in (
        intervals([("a", 1.0, 0.9, 1.1), ("b", 2.0, 1.9, 2.2)], {}),
        coverage_figure([("a", 0.9), ("b", 0.95)], 0.95, (0.9, 1.0)),
    ):
        low, high = sorted(drawing.axes[0].get_ylim())
        assert low <= -0.5 and high >= 1.5


def test_steady_motions_that_are_zero_are_a_flat_line():
    branch = dr.stability.continuation(dr.gallery.bicycle(), "speed", start={"speed": 5.0}, between=(4.8, 5.2))
    for axes in branch.plot("lean", "steer").axes:
        assert np.degrees(axes.get_ylim()) == pytest.approx([-1.0, 1.0])


def test_long_times_have_their_power_of_ten_in_the_unit():
    run = dr.simulate(dr.gallery.damped_pendulum(), 4.0, samples=11)
    long = dataclasses.replace(run, time=run.time * 1e6, dense=None)
    axes = channel_figure(long, "angle").axes[0]
    axes.figure.canvas.draw()
    assert axes.get_xlabel() == "time [10⁶ s]" and not axes.xaxis.get_offset_text().get_visible()
    assert channel_figure(run, "angle").axes[0].get_xlabel() == "time [s]"

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from draisine.errors import UnknownNameError
from draisine.results.channel import Channel, Group
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Trajectory
from draisine.view.plots.figure_files import save_figure
from draisine.view.plots.labels import set_value_limits
from draisine.view.plots.style import COLORS, COLUMN, style
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import (
    channel_figure,
    contact_angle_figure,
    energy_figure,
    friction_figure,
    normal_force_figure,
)
from synthetic_run import bicycle_run, pendulum_run

DONE = Status(Ending.FINISHED, "")


def run_of(time, *, unit="", group=Group.OUTPUTS, events=(), **columns) -> Trajectory:
    channels = tuple(Channel(name, unit, group) for name in columns)
    return Trajectory("toy", np.asarray(time, float), channels, np.column_stack(list(columns.values())), DONE, events=events)


def lines(axes) -> dict[str, np.ndarray]:
    """Data of the labeled lines, by label."""
    return {line.get_label(): line.get_ydata() for line in axes.get_lines() if not line.get_label().startswith("_")}


def legend_texts(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []


class TestStyle:
    def test_settings_return_to_what_they_were(self):
        before = dict(matplotlib.rcParams)
        with style():
            assert matplotlib.rcParams["axes.spines.top"] is False
            assert [entry["color"] for entry in matplotlib.rcParams["axes.prop_cycle"]] == list(COLORS)
        assert dict(matplotlib.rcParams) == before

    def test_drawing_and_saving_leave_no_trace(self, tmp_path):
        before = dict(matplotlib.rcParams)
        save_figure(channel_figure(bicycle_run(), "speed"), tmp_path / "a.png")
        assert dict(matplotlib.rcParams) == before

    def test_neither_pyplot_nor_a_window_system(self):
        code = (
            "import sys; from draisine.view.plots import tracks, trajectories as t; assert 'matplotlib' not in sys.modules; "
            f"sys.path.insert(0, {str(Path(__file__).parents[1])!r}); from synthetic_run import bicycle_run; r = bicycle_run(); "
            "figures = (t.channel_figure, tracks.track_figure, t.energy_figure, t.contact_angle_figure, t.normal_force_figure); "
            "[f(r) for f in figures]; "
            "print('matplotlib.pyplot' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"


class TestPlot:
    def test_one_panel_per_unit(self):
        run = bicycle_run()
        figure = channel_figure(run, "roll_rate", "speed", "steer_rate")
        assert isinstance(figure, Figure)
        rates, speed = figure.axes
        assert rates.get_ylabel() == "rate [rad/s]"
        assert speed.get_ylabel() == "speed [m/s]"
        assert speed.get_xlabel() == "time [s]" and rates.get_xlabel() == ""
        np.testing.assert_array_equal(lines(rates)["roll rate"], run["roll_rate"])
        np.testing.assert_array_equal(lines(rates)["steer rate"], run["steer_rate"])
        assert legend_texts(rates) == ["roll rate", "steer rate", "steer passed zero"]
        assert legend_texts(speed) == []
        assert speed.get_xlim() == (0.0, 5.0)

    def test_a_long_name_goes_above_the_panel(self):
        (axes,) = channel_figure(bicycle_run(), "rear_wheel_longitudinal_force").axes
        assert axes.get_ylabel() == "force [N]"
        assert legend_texts(axes)[0] == "rear wheel longitudinal force"

    def test_without_names_the_outputs_or_the_states(self):
        shown = [label for axes in channel_figure(bicycle_run()).axes for label in lines(axes)]
        assert len(shown) == 21 + 1  # all outputs but the speed, named on its axis; the event
        assert [axes.get_ylabel() for axes in channel_figure(pendulum_run()).axes] == ["angle [°]", "rate [rad/s]"]

    def test_never_more_lines_than_colors(self):
        run = run_of([0.0, 1.0], **{f"c{i}": [0.0, i] for i in range(16)})
        panels = channel_figure(run).axes
        assert [len(lines(axes)) for axes in panels] == [7, 7, 2]
        colors = [to_hex(line.get_color()).upper() for line in panels[0].get_lines()]
        assert len(set(colors)) == 7 and "#F0E442" not in colors

    def test_residuals_stand_apart_from_motion(self):
        run = bicycle_run()
        top, bottom = channel_figure(run, "x", "rear_wheel_ground_residual").axes
        assert np.ptp(top.get_ylim()) > 20
        assert np.ptp(bottom.get_ylim()) < 1e-10
        assert bottom.get_ylabel() == "length [10⁻¹² m]"
        bottom.figure.draw_without_rendering()
        assert not bottom.yaxis.get_offset_text().get_visible()
        ticks = [float(label.get_text().replace("−", "-")) for label in bottom.get_yticklabels()]
        assert 10 <= max(ticks) <= 30

    def test_events_are_lines_through_all_panels(self):
        run = run_of([0.0, 4.0], a=[0.0, 1.0], events=[("hit", 1.0), ("hit", 2.0), ("stop_now", 3.0)])
        (axes,) = channel_figure(run, "a").axes
        assert sorted(line.get_xdata()[0] for line in axes.get_lines() if len(set(line.get_xdata())) == 1) == [1.0, 2.0, 3.0]
        assert legend_texts(axes) == ["hit", "stop now"]

    def test_unknown_names_and_lists(self):
        with pytest.raises(UnknownNameError, match="did you mean speed"):
            channel_figure(bicycle_run(), "sped")
        with pytest.raises(TypeError, match=r"separate arguments, run.plot\('speed', 'lean'\)"):
            channel_figure(bicycle_run(), ["speed", "lean"])
        with pytest.raises(ValueError, match="no channels to plot"):
            channel_figure(Trajectory("toy", [0.0], (), np.zeros((1, 0)), DONE))

    def test_one_sample_and_not_a_number(self, tmp_path):
        save_figure(channel_figure(run_of([1.0], a=[2.0])), tmp_path / "one.png")
        figure = channel_figure(run_of([0.0, 1.0], a=[np.nan, np.nan]))
        assert figure.axes[0].texts[0].get_text() == "no finite values"
        save_figure(figure, tmp_path / "nan.png")


class TestCalmLimits:
    @pytest.mark.parametrize(
        ("values", "low", "high"),
        [
            ([1e-17, -3e-17, 0.0], -1.0, 1.0),  # rounding about zero
            ([4.6, 4.6 + 1e-12], 4.37, 4.83),  # rounding about a constant
            ([0.0, 1.0], -0.06, 1.06),
            ([-2.0, np.inf, 2.0, np.nan], -2.24, 2.24),
            ([1e-6, 2e-6], 0.94e-6, 2.06e-6),  # small but real
            ([1e299, -1e299, 1e308], -1.12e299, 1.12e299),
        ],
    )
    def test_limits(self, values, low, high):
        axes = Figure().subplots()
        set_value_limits(axes, np.array(values))
        assert axes.get_ylim() == pytest.approx((low, high), rel=1e-6)

    def test_what_is_rounding_by_nature_is_shown(self):
        axes = Figure().subplots()
        set_value_limits(axes, np.array([0.0, 1e-17]), smallest=0.0)
        assert axes.get_ylim() == pytest.approx((-6e-19, 1.06e-17), rel=1e-6, abs=0)


class TestPath:
    def test_wheel_contacts_with_snapshots(self):
        run = bicycle_run()
        (axes,) = track_figure(run).axes
        np.testing.assert_array_equal(lines(axes)["rear wheel contact"], run["rear_wheel_contact_y"])
        np.testing.assert_array_equal(lines(axes)["front wheel contact"], run["front_wheel_contact_y"])
        assert axes.get_aspect() == 1.0
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
        segments = axes.collections[0].get_segments()
        assert len(segments) == 11  # 0, 0.5, …, 5 s
        at = run.at(1.5)
        np.testing.assert_allclose(
            segments[3],
            [[at[f"{wheel}_contact_x"], at[f"{wheel}_contact_y"]] for wheel in ("rear_wheel", "front_wheel")],
            rtol=1e-12,
        )
        assert legend_texts(axes)[-3:] == ["every 0.5 s", "start", "end"]

    def test_start_is_hollow_and_end_is_full(self):
        run = bicycle_run()
        (axes,) = track_figure(run, ["rear_wheel"], snapshots=None).axes
        marks = [line for line in axes.get_lines() if line.get_marker() == "o" and len(line.get_xdata()) == 1]
        start, end = marks
        assert (start.get_xdata()[0], end.get_xdata()[0]) == (0.0, 23.0)
        assert start.get_markerfacecolor() == "white" and end.get_markerfacecolor() != "white"
        assert not axes.collections

    def test_a_street_for_a_straight_path_and_meters_for_rest(self):
        straight = run_of([0.0, 1.0], p_x=[0.0, 10.0], p_y=[1e-17, 0.0])
        (axes,) = track_figure(straight).axes
        assert np.ptp(axes.get_ylim()) == pytest.approx(2.2)
        (axes,) = track_figure(run_of([0.0, 1.0], p_x=[3.0, 3.0], p_y=[1e-17, 0.0])).axes
        assert axes.get_xlim() == pytest.approx((2.0, 4.0))

    def test_other_points_and_plain_coordinates(self):
        assert "p" in lines(track_figure(run_of([0.0, 1.0], p_x=[0.0, 1.0], p_y=[0.0, 1.0], q_x=[0.0, 1.0])).axes[0])
        assert "(x, y)" in lines(track_figure(run_of([0.0, 1.0], x=[0.0, 1.0], y=[0.0, 1.0])).axes[0])
        assert "rear wheel contact" in lines(track_figure(bicycle_run(), "rear_wheel").axes[0])

    def test_what_is_missing_is_named(self):
        with pytest.raises(KeyError, match="points it has: rear_wheel_contact, front_wheel_contact"):
            track_figure(bicycle_run(), ["saddle"])
        with pytest.raises(ValueError, match="no points to draw"):
            track_figure(pendulum_run())
        with pytest.raises(ValueError, match="got 0; None for none"):
            track_figure(bicycle_run(), snapshots=0)
        with pytest.raises(ValueError, match="'p' of 'toy' has no finite position"):
            track_figure(run_of([0.0], p_x=[np.nan], p_y=[0.0]))

    def test_a_path_with_gaps(self):
        run = run_of([0.0, 1.0, 2.0], p_x=[0.0, np.nan, 2.0], p_y=[0.0, 1.0, 2.0])
        assert len(lines(track_figure(run).axes[0])["p"]) == 2


class TestContacts:
    def test_contact_angles_have_a_panel_per_wheel(self):
        run = bicycle_run()
        rear, front = contact_angle_figure(run).axes
        np.testing.assert_array_equal(lines(front)["front wheel"], run["front_wheel_contact_angle"])
        np.testing.assert_array_equal(lines(rear)["rear wheel"], run["rear_wheel_contact_angle"])
        assert front.get_ylabel().startswith("contact angle [")

    def test_normal_forces_above_zero_are_plain(self):
        rear, front = normal_force_figure(bicycle_run()).axes
        assert legend_texts(rear)[0] == "rear wheel"
        assert legend_texts(front)[0] == "front wheel"
        assert not rear.patches and not front.patches
        assert front.get_ylabel() == "normal force [N]"

    def test_a_pulling_ground_is_shaded(self):
        run = bicycle_run(lift=800.0)
        for axes, name in zip(
            normal_force_figure(run).axes, ("rear_wheel_normal_force", "front_wheel_normal_force"), strict=True
        ):
            if run[name].min() >= 0:
                assert not axes.patches
                continue
            assert legend_texts(axes)[-1] == "the ground would have to pull"
            low, high = axes.get_ylim()
            assert low < 0 < high
            shade = axes.patches[0]
            assert (shade.get_y(), shade.get_y() + shade.get_height()) == pytest.approx((low, 0.0))
        assert min(run["rear_wheel_normal_force"].min(), run["front_wheel_normal_force"].min()) < 0

    def test_friction_above_one_is_shaded(self):
        (axes,) = friction_figure(bicycle_run(weave=4.0)).axes
        assert legend_texts(axes)[-1] == "more than a tire holds"
        (axes,) = friction_figure(bicycle_run()).axes
        assert "more than a tire holds" not in legend_texts(axes)
        assert axes.get_ylim()[0] == 0.0

    def test_no_wheels(self):
        for draw in (contact_angle_figure, normal_force_figure, friction_figure):
            with pytest.raises(ValueError, match="'pendulum' has no wheels to draw"):
                draw(pendulum_run())


class TestEnergy:
    def test_three_panels(self):
        run = bicycle_run()
        top, middle, bottom = energy_figure(run).axes
        np.testing.assert_array_equal(lines(top)["total"], run["total_energy"])
        np.testing.assert_array_equal(lines(middle)["kinetic"], run["kinetic_energy"] - run["kinetic_energy"][0])
        (error,) = (values for label, values in lines(bottom).items() if label.startswith("error"))
        assert np.nanmax(error) == pytest.approx(run.energy_drift)
        assert bottom.get_yscale() == "log"
        assert any("worst 3.0e-11" in text for text in legend_texts(bottom))

    def test_an_exact_run_can_be_drawn(self, tmp_path):
        save_figure(energy_figure(bicycle_run(drift=0.0)), tmp_path / "exact.png")

    def test_no_energy(self):
        with pytest.raises(ValueError, match="not a mechanical system"):
            energy_figure(run_of([0.0], a=[0.0]))


class TestFiles:
    @pytest.mark.parametrize(
        ("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")]
    )
    def test_by_suffix_and_repeatable(self, tmp_path, suffix, magic):
        for name in ("a", "b"):
            save_figure(channel_figure(pendulum_run(), "angle"), tmp_path / f"{name}{suffix}")
        first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("a", "b"))
        assert first.startswith(magic)
        assert first == second

    def test_refusals(self, tmp_path):
        figure = channel_figure(pendulum_run())
        with pytest.raises(ValueError, match=r"'a\.bmp': the suffix '\.bmp' is none of \.png, \.svg and \.pdf"):
            save_figure(figure, tmp_path / "a.bmp")
        with pytest.raises(FileNotFoundError, match="create it first"):
            save_figure(figure, tmp_path / "missing" / "a.png")
        assert list(tmp_path.iterdir()) == []

    def test_notebooks_show_it(self):
        assert channel_figure(pendulum_run())._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("width", [COLUMN, 7.2])
@pytest.mark.parametrize(
    "draw", [channel_figure, track_figure, contact_angle_figure, normal_force_figure, friction_figure, energy_figure]
)
def test_nothing_is_cut_off_or_overlaps(draw, width):
    """Every text lies in the figure, and the labels of the value axes do not run into each other."""
    figure = draw(bicycle_run(lift=800.0, weave=0.3), width=width)
    figure.draw_without_rendering()
    page = figure.bbox
    for axes in figure.axes:
        boxes = [axes.yaxis.label.get_window_extent(), axes.xaxis.label.get_window_extent()]
        boxes += [axes.get_legend().get_window_extent()] if axes.get_legend() else []
        for box in boxes:
            assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1, axes.get_ylabel()
            assert box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1, axes.get_ylabel()
    labels = [axes.yaxis.label.get_window_extent() for axes in figure.axes]
    for above, below in itertools.pairwise(labels):
        assert above.y0 > below.y1
    legends = [axes.get_legend().get_window_extent() if axes.get_legend() else None for axes in figure.axes]
    for axes, legend in zip(figure.axes[:-1], legends[1:], strict=True):
        assert legend is None or legend.y1 <= axes.bbox.y0 + 1

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from draisine.errors import UnknownNameError
from draisine.results.assembly import Block, Piece, assemble, block, energy_block, pose_block
from draisine.results.channel import Channel, Group, StateValue
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Segment, Trajectory
from synthetic_run import Named, bicycle_run, pendulum_run

DONE = Status(Ending.FINISHED, "reached the end")


def make(time, **columns) -> Trajectory:
    channels = tuple(Channel(name) for name in columns)
    return Trajectory("toy", np.asarray(time, float), channels, np.column_stack(list(columns.values())), DONE)


def energetic(kinetic, potential, work=0.0) -> Trajectory:
    time = np.arange(len(kinetic), dtype=float)
    return assemble("toy", [Piece(time, (energy_block(kinetic, potential, work),))], status=DONE)


class TestNames:
    def test_a_column_by_name(self):
        run = bicycle_run()
        np.testing.assert_array_equal(run["time"], run.time)
        assert run["speed"].shape == (len(run),) == (502,)
        assert run.channel("speed").unit == "m/s"
        assert "speed" in run and "time" in run and "sped" not in run

    def test_an_unknown_name_offers_the_nearest(self):
        with pytest.raises(KeyError) as raised:
            bicycle_run()["sped"]
        assert isinstance(raised.value, UnknownNameError)
        assert str(raised.value) == "the run of 'bicycle' has no channel 'sped'; did you mean speed?"

    def test_a_part_of_a_name_is_found_too(self):
        with pytest.raises(UnknownNameError, match="rear_wheel_friction_needed"):
            bicycle_run()["friction"]

    def test_names_by_group(self):
        run = bicycle_run()
        assert run.names("energy") == ("kinetic_energy", "potential_energy", "total_energy", "work")
        assert set(run.names()) >= set(run.names("outputs"))
        assert sum(len(run.names(group)) for group in Group) == len(run.names())
        with pytest.raises(ValueError, match="unknown group 'output'; groups are coordinates, velocities"):
            run.names("output")

    def test_tables_of_groups_hold_their_columns(self):
        run = bicycle_run()
        for table, group in ((run.coordinates, "coordinates"), (run.multipliers, "multipliers"), (run.power, "power")):
            np.testing.assert_array_equal(table, np.column_stack([run[name] for name in run.names(group)]))
        assert run.velocities.shape == (502, 4)
        assert run.inputs.shape == (502, 1)
        assert run.residuals.shape == (502, 4)
        assert pendulum_run().inputs.shape == (50, 0)

    def test_poses(self):
        run = bicycle_run()
        assert run.bodies == ("rear_frame",)
        np.testing.assert_array_equal(run.pose("rear_frame")[:, 0], run["x"])
        np.testing.assert_array_equal(run.pose("rear_frame")[:, 6], run["frame_qz"])
        with pytest.raises(UnknownNameError, match="no poses of 'fork'; bodies with poses: rear_frame"):
            run.pose("fork")

    def test_iteration_is_refused_rather_than_wrong(self):
        with pytest.raises(TypeError):
            iter(pendulum_run())

    @pytest.mark.parametrize("name", ["", " speed", "a/b", "a,b", 'a"b', "#a", "a\nb", "time"])
    def test_names_that_no_file_could_keep_are_refused(self, name):
        with pytest.raises(ValueError, match="channel"):
            Channel(name)

    def test_an_unknown_group_names_the_channel(self):
        with pytest.raises(ValueError, match="channel 'a' is in the unknown group 'b'"):
            Channel("a", group="b")


class TestInstants:
    def test_final_has_time_states_and_outputs_only(self):
        run = bicycle_run()
        final = run.final
        assert final["time"] == 5.0
        assert final["speed"] == run["speed"][-1]
        expected = {"time", *run.names("coordinates"), *run.names("velocities"), *run.names("outputs")}
        assert set(final) == expected
        assert all(isinstance(value, StateValue) for value in final.values())  # a start, see results.channel

    def test_between_samples_a_straight_line(self):
        run = make([0.0, 1.0, 3.0], a=[0.0, 2.0, 10.0])
        assert run.interpolated(0.25) == {"time": 0.25, "a": 0.5}
        assert run.interpolated(2.0)["a"] == 6.0
        np.testing.assert_array_equal(run.interpolated(np.array([0.0, 0.5, 3.0]))["a"], [0.0, 1.0, 10.0])

    def test_at_samples_exactly_the_sample_even_beside_nan(self):
        run = make([0.0, 0.1, 0.2], a=[0.3, 0.1, np.nan])
        assert run.interpolated(0.1)["a"] == 0.1
        assert np.isnan(run.interpolated(0.15)["a"])

    def test_at_a_jump_the_value_after_it(self):
        run = make([0.0, 1.0, 1.0, 2.0], a=[0.0, 1.0, 5.0, 6.0])
        assert run.interpolated(1.0)["a"] == 5.0
        assert run.interpolated(0.5)["a"] == 0.5
        assert run.interpolated(1.5)["a"] == 5.5

    def test_a_run_back_in_time(self):
        run = make([0.0, -1.0, -3.0], a=[0.0, 2.0, 10.0])
        assert run.interpolated(-2.0)["a"] == 6.0
        assert run.interpolated(-3.0)["a"] == 10.0

    @pytest.mark.parametrize("t", [-0.01, 3.01, float("nan")])
    def test_outside_the_run(self, t):
        with pytest.raises(ValueError, match="covers 0 s to 3 s"):
            make([0.0, 3.0], a=[0.0, 1.0]).at(t)


class TestAccuracy:
    def test_energy_drift_by_hand(self):
        # (total − work) is 12, 12.5, 11; in play: 2, 3 + |9.5 − 10|, 1 + |11 − 10| → 3.5
        run = energetic([2.0, 3.0, 1.0], [10.0, 9.5, 11.0], [0.0, 0.0, 1.0])
        assert run.energy_scale == 3.5
        assert run.energy_drift == pytest.approx(1.0 / 3.5, rel=1e-15)
        np.testing.assert_allclose(run.energy_balance, [0.0, 0.5, -1.0])

    def test_the_height_of_zero_potential_does_not_matter(self):
        kinetic, potential = np.array([2.0, 3.0]), np.array([1.0, 0.5])
        low, high = energetic(kinetic, potential), energetic(kinetic, potential + 1024.0)
        assert low.energy_drift == high.energy_drift == pytest.approx(0.5 / 3.5)

    def test_work_has_a_sign(self):
        assert energetic([1.0, 2.0], [0.0, 0.0], [0.0, 1.0]).energy_drift == 0.0
        assert energetic([1.0, 2.0], [0.0, 0.0], [0.0, -1.0]).energy_drift == 1.0

    def test_at_rest_the_total_is_the_scale_and_without_any_one_joule(self):
        assert energetic([0.0, 0.0], [-8.0, -8.0]).energy_scale == 8.0
        assert energetic([0.0, 1e-17], [800.0, 800.0]).energy_drift < 1e-15
        assert energetic([0.0, 0.0], [0.0, 0.0]).energy_scale == 1.0

    def test_not_a_number_is_not_hidden(self):
        assert np.isnan(energetic([1.0, np.nan], [0.0, 0.0]).energy_drift)

    def test_no_energy_no_drift(self):
        assert make([0.0], a=[1.0]).energy_drift is None
        assert make([0.0], a=[1.0]).constraint_residual == {}

    def test_residuals_by_kind(self):
        worst = bicycle_run().constraint_residual
        assert worst == pytest.approx(
            {"holonomic": 2e-11, "holonomic_velocity": 3e-12, "nonholonomic": 4e-13, "norm": 1e-16}, rel=1e-4, abs=0
        )

    def test_the_worst_of_several_residuals_and_nan(self):
        def channel(name):
            return Channel(name, "m", Group.RESIDUALS, kind="holonomic", level="position")

        data = np.array([[1e-3, -2e-3], [0.0, 1e-3]])
        run = Trajectory("toy", np.arange(2.0), (channel("a"), channel("b")), data, DONE)
        assert run.constraint_residual == {"holonomic": 2e-3}
        data[0, 0] = np.nan
        assert np.isnan(Trajectory("toy", np.arange(2.0), run.channels, data, DONE).constraint_residual["holonomic"])


class TestFrozen:
    def test_nothing_changes(self):
        source = np.zeros((2, 1))
        run = Trajectory("toy", [0.0, 1.0], (Channel("a"),), source, DONE)
        source[0, 0] = 7.0
        assert run["a"][0] == 0.0
        with pytest.raises(ValueError):
            run["a"][0] = 1.0
        with pytest.raises(ValueError):
            run.time[0] = 1.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            run.model = "other"

    def test_replace_keeps_the_rest(self):
        run = bicycle_run()
        again = dataclasses.replace(run, seconds={**run.seconds, "report": 1.0})
        assert again.seconds["report"] == 1.0
        assert again.data is run.data
        assert not again.identical(run)
        assert dataclasses.replace(run).identical(run)

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"time": [0.0, np.nan]}, "finite"),
            ({"time": [0.0, 1.0, 0.5], "data": np.zeros((3, 1))}, "monotonic"),
            ({"time": [], "data": np.zeros((0, 1))}, "at least one sample"),
            ({"data": np.zeros((2, 2))}, "2 × 1, got shape"),
            ({"channels": (Channel("a"), Channel("a")), "data": np.zeros((2, 2))}, "more than once: a"),
            ({"segments": (Segment("m", (), 0, 1),)}, "cover all 2 samples"),
            ({"segments": (Segment("m", (), 0, 1), Segment("m", (), 0, 2))}, "be consecutive"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, change, problem):
        fields = {"model": "toy", "time": [0.0, 1.0], "channels": (Channel("a"),), "data": np.zeros((2, 1)), "status": DONE}
        Trajectory(**fields)
        with pytest.raises(ValueError, match=problem):
            Trajectory(**(fields | change))


class TestAssembly:
    def test_segments_in_order_with_their_choice(self):
        first, second = bicycle_run().segments
        assert (first.start, first.stop, second.start, second.stop) == (0, 251, 251, 502)
        assert second.independent == ("lean_rate", "steer_rate", "front_spin")
        assert bicycle_run().time[250] == bicycle_run().time[251] == 2.5

    def test_a_name_in_two_groups_is_qualified_in_one(self):
        run = bicycle_run()
        assert run.channel("steer_rate").group is Group.OUTPUTS
        assert run.channel("velocities.steer_rate").group is Group.VELOCITIES

    def test_energy_keeps_its_names(self):
        blocks = (energy_block([1.0], [2.0], [0.5]), block(Group.OUTPUTS, [Named("work", "J")], [[9.0]]))
        run = assemble("toy", [Piece(np.zeros(1), blocks)], status=DONE)
        assert run["work"][0] == 0.5
        assert run["outputs.work"][0] == 9.0
        assert run["total_energy"][0] == 3.0

    def test_a_column_of_one_mode_is_nan_in_the_other(self):
        x = [Named("x", "m")]
        force = [Named("contact", "N")]
        down = Piece(
            np.array([0.0, 1.0]),
            (block(Group.MULTIPLIERS, force, [[5.0], [6.0]]), block(Group.COORDINATES, x, [[0.0], [1.0]])),
            "down",
        )
        up = Piece(np.array([1.0]), (block(Group.COORDINATES, x, [[2.0]]),), "up")
        run = assemble("hopper", [down, up], status=DONE)
        assert run.names() == ("x", "contact")
        np.testing.assert_array_equal(run["contact"], [5.0, 6.0, np.nan])
        np.testing.assert_array_equal(run["x"], [0.0, 1.0, 2.0])
        assert [segment.mode for segment in run.segments] == ["down", "up"]

    def test_warnings_join_the_status_once(self):
        piece = Piece(np.zeros(1), ())
        status = DONE.with_warning("slow control")
        run = assemble("toy", [piece], status=status, warnings=["friction", "slow control"])
        assert run.warnings == run.status.warnings == ("slow control", "friction")

    def test_shapes_are_checked_by_name(self):
        with pytest.raises(ValueError, match=r"per channel \(x\)"):
            Block((Channel("x"),), np.zeros((3, 2)))
        with pytest.raises(ValueError, match="2 samples but 3 rows of x"):
            assemble("toy", [Piece(np.zeros(2), (Block((Channel("x"),), np.zeros((3, 1))),))], status=DONE)
        with pytest.raises(ValueError, match="'x' occurs twice in outputs"):
            assemble("toy", [Piece(np.zeros(1), (Block((Channel("x"),), np.zeros((1, 1))),) * 2)], status=DONE)
        with pytest.raises(ValueError, match="no samples"):
            assemble("toy", [], status=DONE)
        with pytest.raises(ValueError, match=r"frame\.x"):
            pose_block("frame", np.zeros((3, 6)))


class TestText:
    def test_summary_says_what_matters(self):
        text = bicycle_run().summary()
        for part in ("bicycle", "FINISHED: reached t = 5 s", "drift 3.0e-11", "holonomic 2.0e-11", "speed 4.62031 m/s"):
            assert part in text
        for part in ("529 evaluations", "derive 21 ms", "integrate 0.52 ms", "steer passed zero at 1.85 s", "friction 1.2"):
            assert part in text
        assert max(map(len, text.splitlines())) <= 100
        assert text.isascii()

    def test_a_small_run_has_a_small_summary(self):
        text = pendulum_run().summary()
        assert "angle -0.416147 rad" in text
        assert "constraints" not in text and "events" not in text

    def test_repr(self):
        assert repr(bicycle_run()) == "<Trajectory of bicycle: 0 to 5 s, 502 samples × 50 channels, FINISHED>"


class TestTables:
    def test_xarray(self):
        run = bicycle_run()
        dataset = run.to_xarray()
        np.testing.assert_array_equal(dataset["speed"].values, run["speed"])
        np.testing.assert_array_equal(dataset["time"].values, run.time)
        assert dataset["steer_torque"].attrs["units"] == "N*m"
        assert dataset["steer_torque"].attrs["long_name"] == "rider's torque on the handlebar"
        assert dataset["rear_wheel_slip_residual"].attrs["kind"] == "nonholonomic"
        assert dataset.attrs["model"] == "bicycle"
        assert list(dataset.data_vars) == list(run.names())

    def test_pandas(self):
        run = bicycle_run()
        frame = run.to_pandas()
        assert frame.index.name == "time"
        np.testing.assert_array_equal(frame["lean"].to_numpy(), run["lean"])
        assert frame.attrs["units"]["lean"] == "rad"
        frame.loc[0.0, "lean"] = 3.0  # a table of one's own
        assert run["lean"][0] == 0.0


def test_importing_results_loads_no_heavy_library():
    code = (
        "import sys; import draisine.results, draisine.results.assembly; "
        "heavy = {'xarray', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules); "
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

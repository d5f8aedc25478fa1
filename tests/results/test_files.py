from __future__ import annotations

import dataclasses
import json
import struct
import sys

import numpy as np
import pytest

import draisine.results.metadata as metadata_module
from draisine.errors import DataError
from draisine.results.channel import Channel
from draisine.results.checksum import seal
from draisine.results.formats import csv as csv_format
from draisine.results.formats.netcdf import put
from draisine.results.load import load
from draisine.results.metadata import describe, encode
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Trajectory
from resealed import reseal
from synthetic_run import bicycle_run, pendulum_run

SUFFIXES = [".nc", ".parquet", ".csv"]
AWKWARD = np.array(
    [0.1, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, np.nan, np.inf, -np.inf, 2**53 + 2.0, np.nextafter(1.0, 2.0)]
)


def bits(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values).tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestRoundTrip:
    def test_everything_comes_back(self, tmp_path, suffix):
        run = bicycle_run()
        run.save(tmp_path / f"run{suffix}")
        again = load(tmp_path / f"run{suffix}")
        assert bits(again.time) == bits(run.time)
        assert bits(again.data) == bits(run.data)
        for name in ("model", "channels", "status", "segments", "events", "statistics", "seconds", "parameters", "scene"):
            assert getattr(again, name) == getattr(run, name), name
        assert again.warnings == run.warnings != ()
        assert isinstance(again.status.kind, Ending)
        assert again.identical(run)

    def test_awkward_numbers_and_texts(self, tmp_path, suffix):
        run = Trajectory(
            'Fahrrad "Ω"\nline two, # with marks \u2028',
            np.arange(AWKWARD.size) / 7,
            (Channel("größe.x", "m·s⁻²", description='a "quoted" = text\n# not a key: 1'), Channel("b")),
            np.column_stack([AWKWARD, -AWKWARD[::-1]]),
            Status(Ending.NOT_FINITE, "größe.x is NaN\nat t = 0.7 s", ("μ > 1",)),
            events=[("first, of all", 1 / 3)],
            parameters={"tiny": 5e-324, "third": 1 / 3},
            scene={"list": [1, 2.5, None, True, "ä"], "deep": {"a": {"b": []}}},
        )
        run.save(tmp_path / f"run{suffix}")
        again = load(tmp_path / f"run{suffix}")
        finite = ~np.isnan(run.data)
        assert bits(again.data[finite]) == bits(run.data[finite])  # -0.0 and denormals too; a NaN has no sign in CSV
        assert again.identical(run)

    def test_one_sample_and_no_channel(self, tmp_path, suffix):
        run = Trajectory("empty", [0.5], (), np.zeros((1, 0)), Status(Ending.FINISHED, ""))
        run.save(tmp_path / f"run{suffix}")
        assert load(tmp_path / f"run{suffix}").identical(run)

    def test_a_long_scene_fits(self, tmp_path, suffix):
        run = dataclasses.replace(pendulum_run(), scene={"mesh": list(range(50_000))})
        run.save(tmp_path / f"run{suffix}")
        assert load(tmp_path / f"run{suffix}").identical(run)

    def test_upper_case_suffix_and_text_path(self, tmp_path, suffix):
        pendulum_run().save(str(tmp_path / f"run{suffix.upper()}"))
        assert load(str(tmp_path / f"run{suffix.upper()}")).identical(pendulum_run())


class TestOtherTools:
    def test_xarray_reads_the_netcdf(self, tmp_path):
        import xarray

        run = bicycle_run()
        run.save(tmp_path / "run.nc")
        with xarray.open_dataset(tmp_path / "run.nc") as dataset:
            np.testing.assert_array_equal(dataset["lean"].values, run["lean"])
            np.testing.assert_array_equal(dataset["time"].values, run.time)
            assert dataset["lean"].attrs["units"] == "rad"

    def test_pandas_reads_the_others(self, tmp_path):
        import pandas

        run = bicycle_run()
        run.save(tmp_path / "run.csv")
        run.save(tmp_path / "run.parquet")
        frame = pandas.read_csv(tmp_path / "run.csv", comment="#")
        assert list(frame) == ["time", *run.names()]
        np.testing.assert_allclose(frame["lean"], run["lean"], rtol=1e-12)  # older pandas rounds a little
        np.testing.assert_array_equal(pandas.read_parquet(tmp_path / "run.parquet")["lean"], run["lean"])


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestSafeSaving:
    def test_an_interrupted_save_keeps_the_old_file(self, tmp_path, suffix, monkeypatch):
        path = tmp_path / f"run{suffix}"
        pendulum_run().save(path)
        before = path.read_bytes()

        def interrupt(source, target):
            raise KeyboardInterrupt

        monkeypatch.setattr("os.replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            bicycle_run().save(path)
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == [path.name]

    def test_what_cannot_be_stored_leaves_the_old_file(self, tmp_path, suffix):
        path = tmp_path / f"run{suffix}"
        pendulum_run().save(path)
        with pytest.raises(TypeError, match=r"cannot be stored as JSON .*use numbers, texts, lists and dicts"):
            dataclasses.replace(pendulum_run(), scene={"mesh": np.zeros(3)}).save(path)
        assert load(path).identical(pendulum_run())
        assert [p.name for p in tmp_path.iterdir()] == [path.name]

    def test_a_link_stays_a_link(self, tmp_path, suffix):
        (tmp_path / f"link{suffix}").symlink_to(tmp_path / f"real{suffix}")
        pendulum_run().save(tmp_path / f"link{suffix}")
        assert (tmp_path / f"link{suffix}").is_symlink()
        assert load(tmp_path / f"real{suffix}").identical(pendulum_run())


class TestRefusals:
    @pytest.mark.parametrize("name", ["run.mat", "run", "run.nc4"])
    def test_unknown_suffix(self, tmp_path, name):
        for action in (pendulum_run().save, load):
            with pytest.raises(ValueError, match=r"none of \.nc \(NetCDF\), \.parquet and \.csv"):
                action(tmp_path / name)

    def test_missing_directory(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"the directory '.*out' does not exist; create it first"):
            pendulum_run().save(tmp_path / "out" / "run.csv")

    def test_a_directory_in_the_way(self, tmp_path):
        (tmp_path / "run.csv").mkdir()
        with pytest.raises(IsADirectoryError, match="it is a directory; add a file name"):
            pendulum_run().save(tmp_path / "run.csv")

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"the trajectory file '.*run\.csv'"):
            load(tmp_path / "run.csv")

    @pytest.mark.parametrize(("suffix", "library"), [(".nc", "h5netcdf"), (".parquet", "pyarrow")])
    def test_a_missing_library_is_named_with_the_cure(self, tmp_path, suffix, library, monkeypatch):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=f"saving {suffix} needs {library}.*pip install {library}"):
            pendulum_run().save(tmp_path / f"run{suffix}")
        assert list(tmp_path.iterdir()) == []


def csv_with(tmp_path, change) -> str:
    path = tmp_path / "run.csv"
    pendulum_run(samples=3).save(path)
    path.write_text(change(path.read_text()))
    reseal(path)
    return str(path)


class TestDamagedCsv:
    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda s: "", "ends before the row of names"),
            (lambda s: "time,a\n0,1\n", "lacks 'draisine'"),
            (lambda s: s.replace("# draisine: 2", "# draisine: 1"), "format 1; this version of draisine reads format 2"),
            (lambda s: s.replace("# draisine: 2", "# draisine: true"), "should be int, got True"),
            (lambda s: s.replace("# draisine: 2", "# draisine"), "not '# key: value': '# draisine'"),
            (lambda s: s.replace('"pendulum"', "pendulum"), "the model is not JSON"),
            (lambda s: s.replace('# model: "pendulum"\n', ""), "lacks 'model'"),
            (lambda s: s.replace('"FINISHED"', '"HAPPY"'), "status 'HAPPY' is unknown"),
            (lambda s: s.replace("time,angle", "time,angel"), "missing angle; not in the metadata: angel"),
            (lambda s: s.replace("time,angle,rate", "time,rate,angle"), "order or number differs"),
            (lambda s: s[:-2], "line 15 is cut off"),
            (lambda s: s.replace("1.0,", " " * 300 + "1.0,"), "line 13 is too long"),
            (lambda s: s[: s.rindex("\n", 0, -1) + 1], "cover all 2 samples"),
            (lambda s: s.replace("1.0,", "1.0,5,"), "has 8 numbers, expected 7"),
            (lambda s: s.replace("1.0,", "soon,", 1), "line 13 has no number in column 'angle': 'soon'"),
            (lambda s: s + "\nmore", "text follows"),
            (
                lambda s: s.replace('"group": "velocities"', '"group": "speeds"'),
                "channel 'rate' is in the unknown group 'speeds'",
            ),
            (lambda s: s.replace('"stop": 3', '"stop": 9'), "cover all 3 samples"),
            (lambda s: s.replace("# events: []", '# events: [["a", 1]]'), "object with 'name'"),
            (lambda s: s.replace("# scene: {}", "# scene: " + "[" * 100_000), "the scene is not JSON"),
            (
                lambda s: s.replace("# parameters: {}", '# parameters: {"m": "os.system()"}'),
                "'m' in the metadata should be int or float",
            ),
        ],
    )
    def test_each_damage_has_its_message(self, tmp_path, change, problem):
        path = csv_with(tmp_path, change)
        with pytest.raises(DataError) as raised:
            load(path)
        assert str(raised.value).startswith(path + ": ")
        assert problem in str(raised.value)

    def test_not_text(self, tmp_path):
        (tmp_path / "run.csv").write_bytes(b"\xff\xfe\x00\x01" * 50)
        with pytest.raises(DataError, match="not UTF-8 text"):
            load(tmp_path / "run.csv")

    def test_windows_line_ends_do_not_matter(self, tmp_path):
        path = tmp_path / "run.csv"
        pendulum_run().save(path)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        assert load(path).identical(pendulum_run())

    def test_an_endless_line_is_not_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr(csv_format, "_LONGEST_LINE", 1000)
        (tmp_path / "run.csv").write_text("# draisine: " + "1" * 2000 + "\n")
        with pytest.raises(DataError, match="too long"):
            load(tmp_path / "run.csv")


class TestDamagedBinaries:
    @pytest.mark.parametrize("suffix", [".nc", ".parquet"])
    @pytest.mark.parametrize("content", [b"", b"hello", b"PAR1" + b"\xff" * 100 + b"PAR1", b"\x89HDF\r\n\x1a\n" + b"\xff" * 200])
    def test_rubbish(self, tmp_path, suffix, content):
        path = tmp_path / f"run{suffix}"
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"run\{suffix}: the file has no checksum of draisine"):
            load(path)

    @pytest.mark.parametrize("suffix", [".nc", ".parquet"])
    def test_truncated(self, tmp_path, suffix):
        path = tmp_path / f"run{suffix}"
        bicycle_run().save(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(DataError, match="cut off or damaged"):
            load(path)

    def test_foreign_files(self, tmp_path):
        pendulum_run().to_xarray().to_netcdf(tmp_path / "run.nc")
        pendulum_run().to_pandas().to_parquet(tmp_path / "run.parquet")
        for suffix in (".nc", ".parquet"):
            with pytest.raises(DataError, match=r"has no checksum of draisine: .* or another program wrote it"):
                load(tmp_path / f"run{suffix}")

    def test_columns_of_another_type(self, tmp_path):
        import pyarrow
        import pyarrow.parquet

        run = pendulum_run()
        table = pyarrow.table({"time": run.time} | {n: run[n] for n in run.names()} | {"rate": run["rate"].astype("float32")})
        schema = table.schema.with_metadata({"draisine": encode(describe(run))})
        pyarrow.parquet.write_table(table.cast(schema), tmp_path / "run.parquet")
        seal(tmp_path / "run.parquet")
        with pytest.raises(DataError, match="'rate' should hold 64-bit floats"):
            load(tmp_path / "run.parquet")

        dataset = run.to_xarray().assign(_draisine=((), encode(describe(run))))
        dataset["rate"] = dataset["rate"].astype("float32")
        dataset.to_netcdf(tmp_path / "run.nc")
        seal(tmp_path / "run.nc")
        with pytest.raises(DataError, match="'rate' should hold 64-bit floats along time"):
            load(tmp_path / "run.nc")

    def test_missing_variable(self, tmp_path):
        run = pendulum_run()
        run.to_xarray().assign(_draisine=((), encode(describe(run)))).drop_vars("rate").to_netcdf(tmp_path / "run.nc")
        seal(tmp_path / "run.nc")
        with pytest.raises(DataError, match="missing rate"):
            load(tmp_path / "run.nc")


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestLimits:
    def test_too_many_numbers(self, tmp_path, suffix):
        path = tmp_path / f"run{suffix}"
        pendulum_run().save(path)
        assert load(path, limit=350).identical(pendulum_run())  # 50 samples of time and 6 channels
        with pytest.raises(DataError, match=r"more than 349.*pass a larger limit"):
            load(path, limit=349)

    def test_too_much_metadata(self, tmp_path, suffix, monkeypatch):
        path = tmp_path / f"run{suffix}"
        run = dataclasses.replace(pendulum_run(), scene={"mesh": [0] * 2000})
        run.save(path)
        monkeypatch.setattr(metadata_module, "MAX_CHARACTERS", 1000)
        with pytest.raises(DataError, match="the limit is 1000"):
            load(path)
        with pytest.raises(ValueError, match="more than 1000"):
            run.save(path)


def test_a_forged_size_is_refused_before_memory_is_taken(tmp_path):
    """A NetCDF file of a few kilobytes that claims 10¹² instants."""
    import h5netcdf

    run = pendulum_run()
    with h5netcdf.File(tmp_path / "run.nc", "w") as file:
        file.dimensions["time"] = 10**12
        for name in ("time", *run.names()):
            file.create_variable(name, ("time",), dtype=float, chunks=(1024,))
        put(file, {"_draisine": ((), encode(describe(run)), {})})
    seal(tmp_path / "run.nc")
    with pytest.raises(DataError, match="the file has 7000000000000 numbers"):
        load(tmp_path / "run.nc")


def test_metadata_is_plain_json(tmp_path):
    pendulum_run().save(tmp_path / "run.csv")
    head = [line for line in (tmp_path / "run.csv").read_text().splitlines() if line.startswith("#")]
    table = {line[2:].partition(":")[0]: json.loads(line.partition(":")[2]) for line in head}
    assert table["draisine"] == 2
    assert table["channels"][0] == {"name": "angle", "unit": "rad", "group": "coordinates", "description": "from the vertical"}


def test_csv_writes_the_shortest_text_of_each_number(tmp_path):
    pendulum_run(samples=3).save(tmp_path / "run.csv")
    last = (tmp_path / "run.csv").read_text().splitlines()[-1].split(",")
    assert last[0] == "2.0"
    assert struct.pack("d", float(last[1])) == struct.pack("d", np.cos(2.0))


def test_who_saves_by_an_unknown_suffix_is_reported_of_films_too(tmp_path):
    with pytest.raises(ValueError, match=r"'\.xyz' is none of \.nc \(NetCDF\), \.parquet and \.csv; films are \.html"):
        bicycle_run().save(tmp_path / "run.xyz")


def test_a_directory_that_may_not_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=rf"cannot write 'run\.csv': no write permission for the directory '{tmp_path}'"):
        bicycle_run().save(tmp_path / "run.csv")

"""Functional mock-up units: what is in the file, and how it moves."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pytest

import draisine as dr
from draisine.codegen.export.fmu import base_powers, write_fmu
from draisine.errors import ExportError

START = {"speed": 4.6, "roll_rate": 0.5}


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    (path,) = dr.export(dr.gallery.bicycle(), "fmu", out=tmp_path_factory.mktemp("fmu"), start=START)
    return path


def test_description(fmu):
    with zipfile.ZipFile(fmu) as archive:
        names = archive.namelist()
        root = ET.fromstring(archive.read("modelDescription.xml"))
    sources = {"fmi3.c", "model.h", "bicycle_dynamics.c", "bicycle_report.c", "buildDescription.xml"}
    assert {f"sources/{name}" for name in sources} <= set(names)
    variables = {v.get("name"): v for v in root.find("ModelVariables")}
    references = [v.get("valueReference") for v in variables.values()]
    assert len(set(references)) == len(references) == len(root.find("ModelVariables"))
    assert variables["trail"].attrib | {"valueReference": ""} == {
        "name": "trail",
        "valueReference": "",
        "causality": "parameter",
        "variability": "tunable",
        "initial": "exact",
        "start": "0.08",
        "unit": "m",
        "description": "front contact behind the intersection of steer axis and ground",
    }
    assert variables["steer_torque"].get("causality") == "input"
    assert variables["lean"].get("causality") == "output"
    assert variables["der(steer_rate)"].get("derivative") == variables["steer_rate"].get("valueReference")
    assert float(variables["frame_wx"].get("start")) == pytest.approx(0.5)
    units = {unit.get("name") for unit in root.find("UnitDefinitions")}
    assert {v.get("unit") for v in variables.values()} - {None} <= units
    assert root.find("ModelStructure") is not None


def test_the_same_file_every_time(fmu, tmp_path):
    (again,) = dr.export(dr.gallery.bicycle(), "fmu", out=tmp_path, start=START)
    with zipfile.ZipFile(fmu) as first, zipfile.ZipFile(again) as second:
        for name in first.namelist():
            if not name.startswith("binaries"):
                assert first.read(name) == second.read(name), name


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_sources_compile_without_a_warning(fmu, tmp_path):
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(tmp_path)
    sources = sorted((tmp_path / "sources").glob("*.c"))
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    done = subprocess.run(["gcc", *strict, "-o", tmp_path / "unit.so", *sources, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_it_moves_as_simulate_does(fmu):
    fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed (extra `export`)")
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(fmu)) == []
    names = ["lean", "steer", "speed", "frame_x", "front_wheel_normal_force"]
    reported = fmpy.simulate_fmu(str(fmu), stop_time=2.0, relative_tolerance=1e-10, output=names, output_interval=0.1)
    assert reported["time"][-1] == pytest.approx(2.0)
    run = dr.simulate(
        dr.gallery.bicycle(), 2.0, start=START, method=dr.methods.DOP853(rtol=1e-12, atol=1e-13), samples=reported["time"]
    )
    for name in names:
        assert np.abs(reported[name] - run[name]).max() < 1e-7 * max(1.0, np.abs(run[name]).max()), name
    heavy = fmpy.simulate_fmu(str(fmu), stop_time=0.5, start_values={"m_frame": 100.0, "steer_torque": 0.5}, output=["steer"])
    light = fmpy.simulate_fmu(str(fmu), stop_time=0.5, output=["steer"])
    assert abs(heavy["steer"][-1] - light["steer"][-1]) > 1e-3


def test_a_start_of_the_wrong_length_is_refused(tmp_path):
    equations = dr.derive(dr.gallery.bicycle())
    with pytest.raises(ExportError, match=r"the start of 'bicycle' needs 13 numbers \(frame_x, .*\), got 2"):
        write_fmu(equations, [0.0, 1.0], tmp_path)


def test_units():
    assert base_powers("kg*m^2") == {"kg": 1, "m": 2, "s": 0, "A": 0, "K": 0, "rad": 0}
    assert base_powers("m/s/s") == base_powers("m/s^2")
    assert base_powers("furlong") is None
    assert base_powers("m + s") is None

"""Functional mock-up units: what is in the file, and how it moves."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.codegen.export.fmu import base_powers, write_fmu
from draisine.errors import ExportError

START = {"speed": 4.6, "roll_rate": 0.5}


@pytest.fixture(scope="module")
def fmpy():
    import fmpy  # takes a second

    return fmpy


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    (path,) = dr.export(dr.gallery.bicycle(), "fmu", out=tmp_path_factory.mktemp("fmu"), start=START)
    return path


def test_description(fmu):
    with zipfile.ZipFile(fmu) as archive:
        names = archive.namelist()
        root = ET.fromstring(archive.read("modelDescription.xml"))
    sources = {"fmi3.c", "fmi3_smooth.h", "model.h", "bicycle_dynamics.c", "bicycle_report.c", "buildDescription.xml"}
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
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_it_moves_as_simulate_does(fmu, fmpy, kind):
    names = ["lean", "steer", "speed", "frame_x", "front_wheel_normal_force"]
    reported = fmpy.simulate_fmu(
        str(fmu), fmi_type=kind, stop_time=2.0, relative_tolerance=1e-10, output=names, output_interval=0.1
    )
    assert reported["time"][-1] == pytest.approx(2.0)
    run = dr.simulate(
        dr.gallery.bicycle(), 2.0, start=START, method=dr.methods.DOP853(rtol=1e-12, atol=1e-13), samples=reported["time"]
    )
    for name in names:
        assert np.abs(reported[name] - run[name]).max() < 1e-7 * max(1.0, np.abs(run[name]).max()), name
    given = {"m_frame": 100.0, "steer_torque": 0.5}
    heavy = fmpy.simulate_fmu(str(fmu), fmi_type=kind, stop_time=0.5, start_values=given, output=["steer"])
    light = fmpy.simulate_fmu(str(fmu), fmi_type=kind, stop_time=0.5, output=["steer"])
    assert abs(heavy["steer"][-1] - light["steer"][-1]) > 1e-3


def test_the_description_is_valid(fmu, fmpy):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(fmu)) == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_co_simulation_holds_inputs_and_keeps_constraints(fmu, fmpy):
    """Inputs are constant from one communication point to the next, as of a sampled control; the wheels stay on the ground."""
    times = np.arange(0.0, 4.0, 0.5)
    signal = np.array([(t, 0.3 * (-1) ** k) for k, t in enumerate(times)], dtype=[("time", float), ("steer_torque", float)])
    names = ["lean", "steer", "front_wheel_height_residual"]
    reported = fmpy.simulate_fmu(
        str(fmu), fmi_type="CoSimulation", stop_time=4.0, step_size=0.5, output_interval=0.5, relative_tolerance=1e-10,
        input=signal, output=names,
    )  # fmt: skip
    torque = dict(zip(times.tolist(), signal["steer_torque"].tolist(), strict=True))
    control = dr.control.Sampled(lambda t, x: {"steer_torque": torque[round(t, 6)]}, 2.0)
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    run = dr.simulate(dr.gallery.bicycle(), 4.0, start=START, control=control, method=method, samples=reported["time"])
    for name in names[:2]:
        assert np.abs(reported[name] - run[name]).max() < 1e-7, name
    assert np.abs(reported[names[2]]).max() < 1e-11


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_co_simulation_locates_switches(fmpy, tmp_path):
    """A mass on springs of different stiffness on either side of zero: half periods π/ω on each side."""
    x, v = sp.symbols("x v")
    spring = sp.Piecewise((-4 * x, x > 0), (-x, True))
    oscillator = dr.first_order("two_springs", {x: v, v: spring}, start={x: 1.0})
    (unit,) = dr.export(oscillator, "fmu", out=tmp_path)
    period = np.pi / 2 + np.pi
    found = fmpy.simulate_fmu(
        str(unit), fmi_type="CoSimulation", stop_time=3 * period, step_size=period / 4, output_interval=period / 4,
        relative_tolerance=1e-10, output=["x", "v"],
    )  # fmt: skip
    assert found["x"][-1] == pytest.approx(1.0, abs=1e-7)
    assert found["v"][-1] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_step_is_repeated_exactly_and_a_wrong_time_is_refused(fmu, fmpy):
    described = fmpy.read_model_description(str(fmu))
    references = {v.name: v.valueReference for v in described.modelVariables}
    unit = fmpy.instantiate_fmu(fmpy.extract(str(fmu)), described, "CoSimulation")
    unit.enterInitializationMode(startTime=0.0)
    unit.exitInitializationMode()
    unit.doStep(0.0, 0.1)
    kept = unit.getFMUState()
    unit.doStep(0.1, 0.1)
    first = unit.getFloat64([references["steer"], references["lean"]])
    unit.setFMUState(kept)
    unit.doStep(0.1, 0.1)
    assert list(unit.getFloat64([references["steer"], references["lean"]])) == list(first)
    with pytest.raises(fmpy.fmi1.FMICallException):
        unit.doStep(0.7, 0.1)
    unit.freeFMUState(kept)
    unit.terminate()
    unit.freeInstance()


def test_a_start_of_the_wrong_length_is_refused(tmp_path):
    equations = dr.derive(dr.gallery.bicycle())
    with pytest.raises(ExportError, match=r"the start of 'bicycle' needs 13 numbers \(frame_x, .*\), got 2"):
        write_fmu(equations, [0.0, 1.0], tmp_path)


def test_units():
    assert base_powers("kg*m^2") == {"kg": 1, "m": 2, "s": 0, "A": 0, "K": 0, "rad": 0}
    assert base_powers("m/s/s") == base_powers("m/s^2")
    assert base_powers("furlong") is None
    assert base_powers("m + s") is None

"""Functional mock-up units with parameters of geometry, and the work of inputs in exports."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pytest

import draisine as dr

START = {"speed": 4.6, "roll_rate": 0.5}


class Unit:
    """A unit, loaded by ctypes."""

    def __init__(self, path, folder):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        root = ET.parse(folder / "modelDescription.xml").getroot()
        self.references = {v.get("name"): int(v.get("valueReference")) for v in root.find("ModelVariables")}
        (binary,) = (folder / "binaries").glob("*/*")
        self.library = ctypes.CDLL(str(binary))
        self.library.fmi3InstantiateModelExchange.restype = ctypes.c_void_p
        self.messages = []
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
        self.log = kind(lambda _, status, category, message: self.messages.append(message.decode()))
        token = root.get("instantiationToken").encode()
        made = self.library.fmi3InstantiateModelExchange(b"unit", token, b"", False, False, None, self.log)
        assert made
        self.instance = ctypes.c_void_p(made)

    def set(self, name, value):
        reference, number = ctypes.c_uint32(self.references[name]), ctypes.c_double(value)
        args = (ctypes.byref(reference), ctypes.c_size_t(1), ctypes.byref(number), ctypes.c_size_t(1))
        return self.library.fmi3SetFloat64(self.instance, *args)

    def enter(self):
        zero = ctypes.c_double(0.0)
        assert self.library.fmi3EnterInitializationMode(self.instance, False, zero, zero, False, zero) == 0

    def leave(self):
        return self.library.fmi3ExitInitializationMode(self.instance)


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    (path,) = dr.export(dr.gallery.bicycle(), "fmu", out=tmp_path_factory.mktemp("fmu"), start=START)
    return path


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("m_frame", 100.0, True),
        ("steer_torque", 0.5, True),
        ("r_rear_wheel", 0.33, False),
        ("trail", 0.1, True),
        ("frame_x", 3.0, True),
    ],
)
def test_parameters_of_geometry_are_refused(fmu, tmp_path, name, value, accepted):
    unit = Unit(fmu, tmp_path)
    unit.enter()
    assert unit.set(name, value) == 0
    status = unit.leave()
    if accepted:
        assert status == 0 and unit.messages == []
    else:
        assert status == 3
        assert "do not fulfill the constraint" in unit.messages[0] and "export the FMU with these values" in unit.messages[0]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_parameters_that_are_tuned_later_are_checked_too(fmu, tmp_path):
    unit = Unit(fmu, tmp_path)
    unit.enter()
    assert unit.leave() == 0 and unit.library.fmi3EnterContinuousTimeMode(unit.instance) == 0
    unit.set("m_frame", 90.0)
    assert unit.library.fmi3EnterContinuousTimeMode(unit.instance) == 0
    unit.set("r_rear_wheel", 0.33)
    assert unit.library.fmi3EnterContinuousTimeMode(unit.instance) == 3


def test_exported_reports_count_the_work_of_inputs(tmp_path):
    """Work is the integral of force times velocity, and the change of energy, for an input that whoever runs the export gives."""
    from scipy.integrate import solve_ivp

    model = dr.Model("cart")
    cart = model.body("cart", mass=2.0)
    model.prismatic("x", "ground", cart, axis="x", rate="v")
    model.input("push", "N")
    model.generalized_force("x", "push")
    paths = dr.export(model, "python", ["dynamics", "report"], tmp_path, start={})
    programs = {}
    for path in paths:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        programs[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(programs[path.stem])
    dynamics, report = (getattr(programs[f"cart_{kind}"], f"cart_{kind}") for kind in ("dynamics", "report"))
    states = [s.name for s in dr.derive(model, work=True).states]
    assert states[-1] == "work"
    push, parameters = np.array([3.0]), np.zeros(0)
    found = solve_ivp(
        lambda t, x: np.ravel(dynamics(t, x, push, parameters)), (0, 2), np.zeros(len(states)), rtol=1e-10, atol=1e-12
    )
    energy = next(np.ravel(part) for part in report(2.0, found.y[:, -1], push, parameters) if np.size(part) == 3)
    # s = F t²/(2 m) = 3 m, F s = 9 J, and as much kinetic energy
    np.testing.assert_allclose(energy, [9.0, 0.0, 9.0], rtol=1e-8)

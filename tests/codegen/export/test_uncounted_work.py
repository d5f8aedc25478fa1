"""Work in exports of equations that were derived without it: left out and said so, never the number zero."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pytest

import draisine as dr

NOTE = "work of inputs, dampers and loads is not counted"


def driven(name: str) -> dr.Model:
    model = dr.Model(name)
    cart = model.body("cart", mass=2.0)
    model.prismatic("x", "ground", cart, axis="x", rate="v")
    bob = model.body("bob", mass=0.5, inertia=[0.01, 0.01, 0.01])
    model.revolute("swing", cart, bob, axis="y", at=(0, 0, 0.2), rate="swing_rate")
    model.input("push", "N")
    model.generalized_force("x", "push")
    return model


def typed():
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    m, g, push = sp.symbols("m g push")
    x, y = dynamicsymbols("x y")
    kinetic = m * (x.diff() ** 2 + y.diff() ** 2) / 2
    given = {"holonomic": {"wire": y - x**2}, "forces": {x: push}, "inputs": [push], "parameters": {m: 1.0, g: 9.81}}
    return dr.lagrangian("bead", [x, y], kinetic=kinetic, potential=m * g * y, work=False, **given)


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, path.stem)


FORMULATIONS = {"reduced": None, "recursive": dr.formulations.Recursive(), "augmented": dr.formulations.Augmented()}


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_work_that_is_not_counted_is_left_out_and_the_head_says_so(kind, tmp_path):
    equations = dr.derive(driven(kind), work=False, formulation=FORMULATIONS[kind])
    assert "work" in equations.report.output("energy").labels  # zero, which is true of runs without inputs
    (path,) = dr.export(equations, "python", "report", tmp_path)
    text = path.read_text()
    assert NOTE in " ".join(text.split()).replace(" # ", " ")
    x, u, p = np.linspace(0.1, 0.4, len(equations.states)), np.array([3.0]), equations.default_parameters
    before, after = equations.report([0.0], x, u, p), loaded(path)(0.0, x, u, p)
    for slot, one, other in zip(equations.report.outputs, before, after, strict=True):
        one = np.ravel(one)[:-1] if slot.name == "energy" else np.ravel(one)
        np.testing.assert_allclose(np.ravel(other), one, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_work_that_is_counted_stays(kind, tmp_path):
    equations = dr.derive(driven(kind), work=True, formulation=FORMULATIONS[kind])
    (path,) = dr.export(equations, "python", "report", tmp_path)
    assert "not counted" not in path.read_text()
    x = np.linspace(0.1, 0.4, len(equations.states))
    found = loaded(path)(0.0, x, np.array([3.0]), equations.default_parameters)
    energy = [slot.name for slot in equations.report.outputs].index("energy")
    assert np.ravel(found[energy])[2] == x[-1]


def test_without_inputs_no_work_is_a_number(tmp_path):
    model = dr.Model("free")
    model.prismatic("x", "ground", model.body("cart", mass=2.0), axis="x", rate="v")
    (path,) = dr.export(dr.derive(model), "c", "report", tmp_path)
    assert "work" in path.read_text() and "not counted" not in path.read_text()


def test_a_program_alone(tmp_path):
    equations = dr.derive(driven("alone"), work=False)
    (path,) = dr.export(equations.report, "python", out=tmp_path)
    found = loaded(path)(0.0, np.zeros(len(equations.states)), np.array([3.0]), equations.default_parameters)
    assert np.size(found[[s.name for s in equations.report.outputs].index("energy")]) == 2


def test_typed_equations(tmp_path):
    (path,) = dr.export(typed(), "python", "report", tmp_path)
    assert "not counted" in path.read_text()


@pytest.mark.parametrize("counted", [False, True])
def test_a_functional_mock_up_unit_has_work_only_if_it_is_counted(counted, tmp_path):
    (path,) = dr.export(dr.derive(driven("unit"), work=counted), "fmu", out=tmp_path)
    with zipfile.ZipFile(path) as archive:
        described = ET.fromstring(archive.read("modelDescription.xml"))
    names = {variable.get("name") for variable in described.iter("Float64")}
    assert {"kinetic_energy", "potential_energy"} <= names
    assert ("work" in names) is counted


@pytest.mark.parametrize("lang", ["fmu", "FMU"])
def test_the_case_of_a_language_does_not_matter(lang, tmp_path):
    """The unit of a model counts the work of its inputs, however the language is spelled."""
    (path,) = dr.export(driven("unit"), lang, out=tmp_path)
    with zipfile.ZipFile(path) as archive:
        described = ET.fromstring(archive.read("modelDescription.xml"))
    assert "work" in {variable.get("name") for variable in described.iter("Float64")}

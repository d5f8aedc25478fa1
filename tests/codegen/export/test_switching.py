"""Switching functions in exported code, and event indicators of functional mock-up units."""

from __future__ import annotations

import ctypes
import shutil
import xml.etree.ElementTree as ET
import zipfile

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from export_runners import present, run

import draisine as dr
from draisine.codegen.export import write
from draisine.expr.tables import Table
from draisine.program.program import Program
from draisine.program.switching import find_switching, switching_functions
from switching_problems import system

X, V, T = sp.symbols("x v t")
LANGUAGES = ("c", "fortran", "julia", "octave", "javascript", "script", "rust", "python")


def oscillator():
    force = -X - sp.Rational(1, 2) * sp.sign(X - sp.Rational(1, 10)) + sp.Piecewise((3, (T > 1) & (T < 1.05)), (0, True))
    return dr.first_order("oscillator", {X: V, V: force})


def nested():
    """Conditions within conditions, stairs and a table."""
    t, x, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 2), ("u", 1), ("p", 1)))
    table = Table("spring", (-1.0, 0.0, 0.5), (1.0, 0.0, -2.0))
    inner = ca.if_else(x[1] > u, x[0] - p, x[0] + 2)
    rates = ca.vertcat(ca.fabs(inner) + ca.floor(3 * x[1]), table(x[0]) * x[1] + ca.sign(t - 1))
    arguments = {"t": (t, ["t"]), "x": (x, ["x", "v"]), "u": (u, ["push"]), "p": (p, ["k"])}
    made = system((0, 0))
    made.dynamics = Program.build("nested_dynamics", arguments, {"xdot": (rates, ["x", "v"])})
    made.name = "nested"
    return made


def expected(rows):
    t, x, v, u, p = rows.T
    inner = np.where(v > u, x - p, x + 2)
    return {"v > push": v - u, "abs": inner, "floor": np.sin(3 * np.pi * v), "0": x, "sign": t - 1}


@pytest.mark.parametrize("language", LANGUAGES)
def test_values_in_every_language(language, tmp_path):
    if not present(language):
        pytest.skip(f"{language} is not installed")
    program = switching_functions(nested())
    rows = np.random.default_rng(3).uniform(-2, 2, (40, 5))
    found = np.asarray(run(language, write(program, language, tmp_path), program, rows)).reshape(40, -1)
    wanted = list(expected(rows).values())
    assert found.shape[1] == len(wanted), program.outputs[0].labels
    for values in wanted:
        errors = np.abs(np.abs(found) - np.abs(values)[:, None]).max(axis=0)
        assert errors.min() < 1e-12, program.outputs[0].labels


def test_signs_change_where_branches_change():
    """On random pairs of points: some function changes its sign if a branch differs."""
    equations = nested()
    functions, switching = switching_functions(equations), find_switching(equations)
    rows = np.random.default_rng(4).uniform(-0.3, 0.3, (300, 5))  # of floor(3 v) one step
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        signs, branches = [], []
        for t, x, v, u, p in (first, second):
            signs.append(np.sign(functions([t], [x, v], [u], [p])[0]))
            sigma = np.zeros(len(switching.switches))
            for _ in range(len(sigma) + 1):
                z = switching.arguments([t], [x, v], [u], [p, *sigma])[0]
                sigma = np.array([s.branch(float(value)) for s, value in zip(switching.switches, z, strict=True)])
            branches.append(sigma)
        if (branches[0] != branches[1]).any():
            assert (signs[0] != signs[1]).any()


def test_written_beside_the_state_derivative(tmp_path):
    names = [path.name for path in dr.export(oscillator(), lang=["c", "python"], out=tmp_path)]
    assert names == ["oscillator_dynamics.c", "oscillator_switching.c", "oscillator_dynamics.py", "oscillator_switching.py"]
    text = " ".join((tmp_path / "oscillator_dynamics.c").read_text(encoding="utf-8").replace("\n * ", " ").split())
    assert "The state derivative jumps, or has a kink, where one of these is zero: " in text
    assert "They are the results of oscillator_switching." in text and "Sliding is not part of this code" in text


def test_nothing_for_smooth_equations(tmp_path):
    smooth = dr.first_order("smooth", {X: V, V: -X})
    (path,) = dr.export(smooth, lang="c", out=tmp_path)
    assert "switch" not in path.read_text(encoding="utf-8")
    with pytest.raises(dr.errors.ExportError, match="no switching to export"):
        dr.export(smooth, lang="c", what="switching", out=tmp_path)


def test_indicators_are_described(tmp_path):
    (path,) = dr.export(oscillator(), "fmu", out=tmp_path, start={"x": 1.0})
    with zipfile.ZipFile(path) as archive:
        root = ET.fromstring(archive.read("modelDescription.xml"))
    by_reference = {v.get("valueReference"): v for v in root.find("ModelVariables")}
    indicators = [by_reference[e.get("valueReference")] for e in root.findall("ModelStructure/EventIndicator")]
    assert len(indicators) == 3
    assert "t > 1" in " ".join(v.get("description") for v in indicators)
    assert {v.get("causality") for v in indicators} == {"local"}


class Unit:
    """A mock-up unit through its C functions, as an importer calls it."""

    def __init__(self, path, folder):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
            token = ET.fromstring(archive.read("modelDescription.xml")).get("instantiationToken")
        (binary,) = (folder / "binaries").rglob(f"{path.stem}.*")
        self.library = ctypes.CDLL(str(binary))
        self.library.fmi3InstantiateModelExchange.restype = ctypes.c_void_p
        self.me = ctypes.c_void_p(
            self.library.fmi3InstantiateModelExchange(b"one", token.encode(), None, False, False, None, None)
        )
        count = ctypes.c_size_t()
        assert self.library.fmi3GetNumberOfEventIndicators(self.me, ctypes.byref(count)) == 0
        self.indicators = count.value

    def at(self, t, x, name, size):
        self.library.fmi3SetTime(self.me, ctypes.c_double(t))
        state, found = (ctypes.c_double * len(x))(*x), (ctypes.c_double * size)()
        assert self.library.fmi3SetContinuousStates(self.me, state, ctypes.c_size_t(len(x))) == 0
        assert getattr(self.library, name)(self.me, found, ctypes.c_size_t(size)) == 0
        return np.array(found)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_an_importer_that_stops_at_indicators(tmp_path):
    """SciPy integrates the unit from zero to zero of its indicators: the motion is that of `simulate`."""
    from scipy.integrate import solve_ivp

    (path,) = dr.export(oscillator(), "fmu", out=tmp_path, start={"x": 1.0})
    unit = Unit(path, tmp_path / "unit")
    assert unit.indicators == 3

    def event(k, begin):
        def value(t, x):
            return unit.at(t, x, "fmi3GetEventIndicators", 3)[k] if t > begin + 1e-9 else 1.0

        return value

    t, x = 0.0, np.array([1.0, 0.0])
    crossed = 0
    while t < 5.0:
        signs = np.sign(
            unit.at(t + 1e-9, x + 1e-9 * unit.at(t, x, "fmi3GetContinuousStateDerivatives", 2), "fmi3GetEventIndicators", 3)
        )
        events = []
        for k in range(3):
            one = event(k, t)
            signed = lambda s, y, one=one, sign=signs[k], begin=t: one(s, y) * sign if s > begin + 1e-9 else 1.0  # noqa: E731
            signed.terminal = True
            events.append(signed)
        found = solve_ivp(
            lambda s, y: unit.at(s, y, "fmi3GetContinuousStateDerivatives", 2),
            (t, 5.0),
            x,
            "DOP853",
            events=events,
            rtol=1e-11,
            atol=1e-12,
            max_step=0.02,
        )
        t, x = found.t[-1], found.y[:, -1]
        crossed += t < 5.0
    run = dr.simulate(oscillator(), 5.0, start={"x": 1.0}, method=dr.methods.DOP853(rtol=1e-12, atol=1e-12))
    assert crossed == len(run.switches)
    np.testing.assert_allclose(x, [run["x"][-1], run["v"][-1]], atol=1e-6)


def test_a_solved_system_has_its_loads(tmp_path):
    """The load of a slipping wheel is a solution of the linear equations."""
    equations = dr.derive(dr.gallery.model("sliding_bicycle"))
    program = switching_functions(equations)
    start = dr.simulate(equations, 0.01, start={"speed": 6.0})
    x = [start[s.name][-1] for s in equations.states]
    (loads,) = program([0.0], x, np.zeros(len(equations.inputs)), equations.default_parameters)
    forces = [abs(start[f"{wheel}_normal_force"][-1]) for wheel in ("rear_wheel", "front_wheel")]
    np.testing.assert_allclose(sorted(np.abs(loads)), 0.8 * np.sort(forces), rtol=1e-6)  # max(friction·load, 0)

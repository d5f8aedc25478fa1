"""Signatures of exported functions do not depend on the names of variables."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess

import numpy as np
import pytest
import sympy as sp

import draisine as dr

NAMES = ("x", "u", "p", "q", "t1", "xdot", "F", "value")


def system(name, state, control, parameter):
    """ẋ = p u − x, with one variable of each kind."""
    x, u, p = sp.symbols([state, control, parameter])
    return dr.first_order(name, {x: p * u - x}, inputs=[u], parameters={p: 2.0})


def members():
    rng = np.random.default_rng(0)
    return [("x", "u", "p"), ("p", "x", "u"), *(tuple(rng.permutation(NAMES)[:3].tolist()) for _ in range(6))]


def signature(language, path):
    text = path.read_text(encoding="utf-8").replace("\n", " ")
    pattern = {
        "c": r"void \w+\(([^)]*)\);",
        "rust": r"pub fn \w+\(([^)]*)\)",
        "fortran": r"real\S*, intent\(in\) :: [^!]*?xdot",
        "julia": r"promote_type\(([^)]*\))*",
        "python": r"broadcast_shapes\(([^\n]*?)\)  ",
    }[language]
    return re.search(pattern, text)[0]


@pytest.mark.parametrize("language", ["c", "rust", "fortran", "julia", "python"])
def test_one_signature_for_all_names(language, tmp_path):
    found = set()
    for k, names in enumerate(members()):
        (path,) = dr.export(system("one", *names), language, "dynamics", tmp_path / str(k))
        found.add(signature(language, path))
    assert len(found) == 1, found


def test_python_is_vectorized_over_samples(tmp_path):
    """With leading axes, for every name, as p u − x in NumPy."""
    rng = np.random.default_rng(1)
    x, u = rng.normal(size=(5, 1)), rng.normal(size=(5, 1))
    for k, names in enumerate(members()):
        (path,) = dr.export(system(f"one_{k}", *names), "python", "dynamics", tmp_path)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made = getattr(module, path.stem)(0.0, x, u, np.full((5, 1), 3.0))
        assert made.shape == (5, 1)
        np.testing.assert_allclose(made, 3.0 * u - x, rtol=1e-15)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_takes_arrays(tmp_path):
    double = ctypes.c_double * 1
    for k, names in enumerate(members()[:3]):
        (path,) = dr.export(system(f"one_{k}", *names), "c", "dynamics", tmp_path)
        library = tmp_path / f"{path.stem}.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(path), "-lm"], check=True)
        made = double()
        getattr(ctypes.CDLL(str(library)), path.stem)(ctypes.c_double(0.0), double(1.5), double(0.25), double(2.0), made)
        assert made[0] == pytest.approx(2.0 * 0.25 - 1.5)


def test_symbols_alone_are_numbers_and_groups_are_columns(tmp_path):
    """Of compiled matrices the call says what an argument is, not its name."""
    a, u = sp.symbols("a u")
    for s in (a, u):
        assert dr.codegen.compile(sp.Matrix([s**2]), [s])(3.0)[0].tolist() == [9.0]
        assert dr.codegen.compile(sp.Matrix([s**2]), {"u": [s]})([3.0])[0].tolist() == [9.0]


def test_names_of_programs():
    x = sp.Symbol("x")
    for refused in ({"name": "osc-é"}, {"name": "two words"}):
        with pytest.raises(dr.errors.ArgumentError, match="is not a valid name"):
            dr.codegen.compile(sp.Matrix([x]), [x], **refused)
    with pytest.raises(dr.errors.ArgumentError, match="argument: 'é' is not a valid name"):
        dr.codegen.compile(sp.Matrix([x]), {"é": [x]})
    for name in ("osc-é", "an osc", "Ω"):
        with pytest.raises(dr.errors.ModelError, match="is not a valid name"):
            dr.first_order(name, {x: -x})

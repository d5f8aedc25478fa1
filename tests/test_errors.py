"""The tree of errors: one root, one file, a standard type for each, and nothing else raised on purpose."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest
from tools import house

import draisine as dr
from draisine import errors
from draisine.cli.terminal import ENDED_EARLY, WRONG, code_of

ROOT = Path(dr.__file__).parent
FILES = [p for p in sorted(ROOT.rglob("*.py")) if p != ROOT / "errors.py"]
STANDARD = {
    errors.ModelError: (ValueError,),
    errors.ExpressionError: (ValueError,),
    errors.UnitError: (ValueError,),
    errors.ArgumentError: (ValueError, TypeError),
    errors.UnknownNameError: (KeyError,),
    errors.DataError: (ValueError,),
    errors.StartError: (ValueError,),
    errors.SimulationError: (RuntimeError,),
    errors.SolverError: (RuntimeError,),
    errors.ExportError: (ValueError,),
    errors.CompilationError: (RuntimeError,),
    errors.DependencyError: (ImportError,),
    errors.ToolError: (OSError,),
}


@pytest.mark.parametrize("kind", STANDARD)
def test_each_is_of_the_tree_and_of_its_standard_type(kind):
    assert issubclass(kind, dr.errors.DraisineError)
    for standard in STANDARD[kind]:
        with pytest.raises(standard, match="a body 'frame' without mass"):
            raise kind("a body 'frame' without mass; give it one")


def test_the_list_is_complete():
    public = {getattr(errors, name) for name in errors.__all__} - {errors.DraisineError, errors.CacheWarning}
    assert public == set(STANDARD)
    assert all(kind.__name__ in errors.__doc__ for kind in STANDARD)


@pytest.mark.parametrize("kind", STANDARD)
def test_errors_travel_between_processes(kind):
    again = pickle.loads(pickle.dumps(kind("what; the cure")))
    assert type(again) is kind and str(again) == "what; the cure"


def test_what_a_solver_knows_travels_with_its_error():
    found = errors.SolverError("no motion", nearest=(1.0,), residual=0.5, cure="fix less", others=lambda: ["with u = 1"])
    again = pickle.loads(pickle.dumps(found))
    assert (again.nearest, again.residual, again.exists) == ((1.0,), 0.5, ("with u = 1",))
    assert str(again) == str(found) == "no motion; there is one with u = 1"


def test_there_are_no_others():
    """No class of exceptions elsewhere, but for signals that never leave their file; no bare standard error is raised.

    The translator of restricted Python raises Python's own SyntaxError and TypeError, as a compiler does: they are about source
    code of the package, and no user meets them.
    """
    allowed = {kind.__name__ for kind in OSError.__subclasses__()}  # of files: FileNotFoundError, PermissionError, …
    allowed |= {"OSError"}  # a full disk has no class of its own
    allowed |= {"AttributeError", "AssertionError", "NotImplementedError", "ArithmeticError"}
    found = []
    for file in FILES:
        if file.parent.name == "restricted":
            continue
        for node in ast.walk(house.parsed(file)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found += [
                    f"{file.relative_to(ROOT)}: class {node.name}"
                    for base in node.bases
                    if isinstance(base, ast.Name) and (base.id.endswith(("Error", "Exception", "Warning")))
                ]
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                name = node.exc.func.id
                if name.endswith("Error") and not hasattr(errors, name) and name not in allowed:
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}: raise {name}")
    assert found == []


def test_the_tree_imports_nothing_of_ours():
    tree = ast.parse((ROOT / "errors.py").read_text(encoding="utf-8"))
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert not [m for m in modules if m.startswith("draisine")]


def test_exit_codes_follow_the_tree():
    assert {kind: code_of(kind("why")) for kind in STANDARD} == {
        kind: ENDED_EARLY if kind in (errors.SolverError, errors.SimulationError) else WRONG for kind in STANDARD
    }


def test_wrong_arguments_are_no_errors_of_the_model():
    bike = dr.gallery.bicycle()
    for call in (
        lambda: dr.modes(bike, sped=[1.0, 2.0]),
        lambda: dr.steady(bike, {"speed": float("nan")}),
        lambda: dr.simulate(bike, 0.0),
        lambda: dr.methods.RK4(step=-1.0),
    ):
        with pytest.raises(dr.errors.ArgumentError) as refused:
            call()
        assert not isinstance(refused.value, dr.errors.ModelError)

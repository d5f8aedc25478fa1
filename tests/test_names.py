"""Names of packages: found where the tables say, told alike to type checkers, and loaded only when used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from draisine.names import FOLDERS, HELD

import draisine

ROOT = Path(draisine.__file__).parent
LAZY = sorted(".".join(("draisine", *stub.parent.relative_to(ROOT).parts)) for stub in ROOT.rglob("__init__.pyi"))


@pytest.mark.parametrize("package", LAZY)
def test_the_stub_tells_what_the_table_holds(package):
    module = import_module(package)
    tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {a.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names if a.asname}
    held = HELD if package == "draisine" else module._HELD
    folders = {"gallery": "draisine"} if package == "draisine" else {}
    assert told == {name: f"{package}.{home}" for home, names in held.items() for name in names} | folders
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
    with pytest.raises(AttributeError, match=f"{package} has no 'simulator'; it has "):
        _ = module.simulator


def test_the_package_tells_its_names():
    assert sorted(dir(draisine)) == draisine.__all__
    assert set(FOLDERS) < set(draisine.__all__)


def test_importing_the_package_loads_no_part_of_it():
    code = "import sys, draisine\nprint(*sorted(m for m in sys.modules if m.startswith('draisine') or m == 'numpy'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["draisine", "draisine.lazily", "draisine.names"]

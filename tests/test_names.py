"""Public names: one list of them, all of which exist, and which are loaded only when used."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tools.house import public_names

import draisine


def test_the_stub_is_the_list():
    assert draisine.__all__ == public_names()
    assert sorted(dir(draisine)) == draisine.__all__
    assert [name for name in draisine.__all__ if getattr(draisine, name, None) is None] == []
    with pytest.raises(AttributeError, match="simulator"):
        _ = draisine.simulator


def test_the_studio_is_a_function_although_a_folder_has_its_name():
    import draisine.studio.bundle  # binds the folder to the package's attribute, were it not guarded

    assert callable(draisine.studio)


def test_importing_the_package_loads_no_part_of_it():
    code = "import sys, draisine\nprint(*sorted(m for m in sys.modules if m.startswith('draisine') or m == 'numpy'))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["draisine"]


def test_no_name_of_a_namespace_is_hidden_by_a_module_of_that_name():
    """Importing `draisine.estimation.coverage` binds the module to the package: the function of that name must stay in front."""
    code = """
import pkgutil, importlib, inspect, sys
import draisine as dr
for name in dr.__all__:
    part = getattr(dr, name)
    if inspect.ismodule(part) and hasattr(part, "__path__") and part.__name__ != "draisine.gallery":
        for found in pkgutil.iter_modules(part.__path__):
            importlib.import_module(f"{part.__name__}.{found.name}")
        known = {name for name in part.__all__ if not inspect.ismodule(getattr(part, name))}
        print(name, len(known), *(n for n in part.__all__ if inspect.ismodule(getattr(part, n))))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    modules = {line.split()[0]: line.split()[2:] for line in said}
    assert {name: hidden for name, hidden in modules.items() if hidden} == {
        "contact": ["roads"],
        "estimation": ["losses"],
        "optimal": ["guess"],
    }


@pytest.mark.parametrize("given", ["", "gc.disable()", "gc.freeze()"])
def test_loading_leaves_the_collection_of_garbage_as_it_was(given):
    code = (
        "import gc\n"
        f"{given}\n"
        "before = gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold()\n"
        "import draisine as dr\n"
        "dr.simulate\n"
        "assert (gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold()) == before\n"
        "class Ring: pass\n"
        "ring, gone = Ring(), []\n"
        "ring.ring, ring.end = ring, type('End', (), {'__del__': lambda _: gone.append(1)})()\n"
        "dr.modes  # loads more, while the ring is young\n"
        "del ring\n"
        "gc.collect()\n"
        "assert gone\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

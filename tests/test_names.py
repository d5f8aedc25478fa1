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

"""The tree of folders keeps its layers, has no import cycles, and grows only on purpose."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tools import house

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
LAYERS = [
    re.findall(r"\w+", row) for row in SETTINGS["contracts"][0]["layers"]
]  # top to bottom; folders of a row are independent


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """What import-linter says of the package in a folder under the project's own contracts."""
    linter = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [linter, "--no-cache"], cwd=folder, env={"PYTHONPATH": "src:."}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def skeleton(tmp_path):
    """A package of the project's folders, all of them empty, under the project's contract of layers."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    contract = text[text.index("[tool.importlinter]") :].split("[[tool.importlinter.contracts]]")
    tmp_path.joinpath("pyproject.toml").write_text(contract[0] + "[[tool.importlinter.contracts]]" + contract[1], "utf-8")
    for folder in (name for row in LAYERS for name in row):
        tmp_path.joinpath("draisine", folder).mkdir(parents=True)
        tmp_path.joinpath("draisine", folder, "__init__.py").touch()
    tmp_path.joinpath("draisine", "__init__.py").touch()
    tmp_path.joinpath("draisine", "__main__.py").touch()
    return tmp_path


def test_the_package_keeps_its_layers():
    reported = checked(ROOT)
    assert reported.returncode == 0, reported.stdout


def test_every_planted_violation_is_refused(skeleton):
    upward = [(below, above) for k, row in enumerate(LAYERS) for above in row for rest in LAYERS[k + 1 :] for below in rest]
    sideways = [(one, other) for row in LAYERS for one in row for other in row if one != other]
    for k, (importer, imported) in enumerate([*upward, *sideways]):
        text = f"import draisine.{imported}\n" if k % 2 else f"def late():\n    import draisine.{imported}\n"
        skeleton.joinpath("draisine", importer, f"planted_{imported}.py").write_text(text, "utf-8")
    reported = checked(skeleton)
    assert reported.returncode == 1
    refused = set(re.findall(r"draisine\.(\w+)\.planted_\w+ -> draisine\.(\w+)", reported.stdout))
    assert refused == {*upward, *sideways}


def test_a_folder_that_is_not_listed_is_refused(skeleton):
    assert checked(skeleton).returncode == 0
    skeleton.joinpath("draisine", "utils").mkdir()
    skeleton.joinpath("draisine", "utils", "__init__.py").touch()
    reported = checked(skeleton)
    assert reported.returncode == 1 and "utils" in reported.stdout


def test_no_modules_import_each_other_in_a_circle():
    assert house.cycles() == []


def test_a_circle_through_a_function_is_found(tmp_path):
    package = tmp_path / "draisine"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "a": "import draisine.b\n",
        "b": "def late():\n    from draisine.c import f\n",
        "c": "from draisine import a\n",
        "d": "from draisine import a\n",
    }.items():
        package.joinpath(f"{name}.py").write_text(text, "utf-8")
    assert house.cycles(package) == [["draisine.a", "draisine.b", "draisine.c"]]


def test_the_house_grows_only_on_purpose():
    """A commit that raises a count changes the file and says why; one that lowers a count writes the lower one down."""
    assert house.counts() == json.loads((ROOT / "tests" / "reference" / "house.json").read_text("utf-8"))


SYSTEM_BY_HAND = """
import sys
import sympy as sp
import draisine as dr
x, k = sp.symbols("x k")
decay = dr.first_order("decay", {x: -k * x}, parameters={k: 2.0}, start={x: 1.0})
dr.simulate(decay, 1.0)
print(*sorted(name for name in sys.modules if name.startswith("draisine.")))
"""


def test_a_first_order_system_loads_no_mechanics():
    reported = subprocess.run([sys.executable, "-c", SYSTEM_BY_HAND], capture_output=True, text=True, check=True).stdout.split()
    mechanics = ("kinematics", "contact", "constraints", "reduced", "recursive", "augmented", "lagrangian", "mechanism", "derive")
    assert [name for name in reported if name.startswith(tuple(f"draisine.dynamics.{part}" for part in mechanics))] == []


# ---------------------------------------------------------------- the map: docs/design.md

DESIGN = (ROOT / "docs" / "design.md").read_text("utf-8")


def test_the_map_shows_every_folder():
    folders, path = set(), ["", ""]
    for indent, name in re.findall(r"^((?:│ )?)[├└] (\w+)/ {2,}\S", DESIGN, flags=re.MULTILINE):
        path = [path[0], name] if indent else [name, ""]
        folders.add("/".join(part for part in path if part))
    there = {path.relative_to(house.PACKAGE).as_posix() for path in house.PACKAGE.glob("**/") if path != house.PACKAGE}
    assert folders == {name for name in there if name.count("/") < 2 and "__pycache__" not in name}


def test_the_map_lists_layers_from_bottom_to_top():
    listed = re.findall(r"^[├└] (\w+)(?:/|\.py) ", DESIGN, flags=re.MULTILINE)
    assert listed == [name for row in reversed(LAYERS) for name in row]


def test_imports_inside_functions_are_those_that_the_map_lists():
    """At most 15; each with its reason. One that is not listed stands at the top of its module."""
    listed = set(re.findall(r"^\| `([\w/]+\.py)` \| `([\w/]+\.py)` \| \S.*\|$", DESIGN, flags=re.MULTILINE))
    found = house.imports_inside_functions()
    assert set(found) == listed
    assert sum(found.values()) <= 15


def test_imports_by_name_are_those_that_the_map_lists():
    listed = re.findall(r"^\| `([\w/]+\.py)` \| (?!`[\w/]+\.py`)\S.*\| \S.*\|$", DESIGN, flags=re.MULTILINE)
    assert house.imports_by_name() == sorted(listed)


@pytest.mark.long
def test_every_file_that_a_bicycle_enters_is_on_the_map(tmp_path):
    """Cold and warm, to the film; what runs when names are loaded is left out."""
    entered = {name for _ in range(2) for files in house.entered(tmp_path).values() for name in files} - {
        "__init__.py",
        "errors.py",
    }
    assert len(entered) > 50
    assert {name for name in entered if f"`{name}`" not in DESIGN} == set()

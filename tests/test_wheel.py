"""What `pip install` gives: sdist and wheel are built, installed into a clean environment, and README's snippets run.

The environment has the package's own dependencies and nothing else: no extra, no compiler, no file of the clone. Packages are
taken from the index that pip is configured for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^draisine (.*?)(?: {2,}#.*)?$", README, re.MULTILINE)
ABSENT = ("numba", "pandas", "xarray", "pyarrow")  # optional, or of the past: no snippet needs them
pytestmark = pytest.mark.long


def called(program: Path, *arguments: str | Path, cwd: Path | None = None, **more: str) -> str:
    """The output of a program that must succeed, without the variables that make it find this clone or its cache."""
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DRAISINE", "MPL", "VIRTUAL_ENV"))}
    done = subprocess.run([program, *arguments], cwd=cwd, env=surroundings | more, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (
        f"{program.name} {' '.join(map(str, arguments))[:200]}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout


def pip(python: Path, command: str, *arguments: str | Path) -> None:
    """What pip does for the environment of `python`: this one's pip, since to install pip takes longer than most of its work."""
    called(Path(sys.executable), "-m", "pip", "--python", python, command, "--quiet", *arguments)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel that is made from the source distribution."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("environment", "builder"):
        venv.create(place / name, with_pip=False)
    programs, builder = (place / name / ("Scripts" if sys.platform == "win32" else "bin") for name in ("environment", "builder"))
    pip(builder / "python", "install", "hatchling>=1.24")
    called(builder / "python", "-m", "hatchling", "build", "-t", "sdist", "-d", place, cwd=ROOT)
    (source,) = place.glob("draisine-*.tar.gz")
    pip(builder / "python", "wheel", "--no-deps", "-w", place / "wheels", source)
    (wheel,) = (place / "wheels").glob("draisine-*.whl")
    pip(programs / "python", "install", "--no-compile", wheel)  # what is imported is compiled then, the rest never
    return programs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


def test_nothing_is_installed_that_is_not_needed(installed: Path, folder: Path) -> None:
    code = f"from importlib.util import find_spec; print([name for name in {ABSENT!r} if find_spec(name)])"
    assert called(installed / "python", "-c", code, cwd=folder) == "[]\n"


def test_snippets(installed: Path, folder: Path) -> None:
    """The first one with an empty cache: the first run after `pip install`."""
    assert len(BLOCKS) == 3
    for block in BLOCKS:
        called(installed / "python", "-c", block, cwd=folder, DRAISINE_CACHE_DIR=str(folder / "cache"), MPLBACKEND="Agg")
    assert {"ride.html", "ride.nc", "sled.toml"} <= {path.name for path in folder.iterdir()}


def test_commands(installed: Path, folder: Path) -> None:
    """After the snippets, one of which writes the model that a command reads."""
    assert len(COMMANDS) >= 12
    for command in COMMANDS:
        called(installed / "draisine", *command.split(), cwd=folder, DRAISINE_CACHE_DIR=str(folder / "cache"), MPLBACKEND="Agg")
    assert {"bicycle.svg", "bicycle.html", "generated", "modes.png", "out"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("code", "library"),
    [
        ("run.to_pandas()", "pandas"),
        ("run.to_xarray()", "xarray"),
        ("run.save('run.parquet')", "pyarrow"),
        ("dr.estimation.Experiment.of('log.csv')", "pandas"),
        ("dr.simulate(m, 1.0, method=dr.methods.CVODE())", "scikit-sundae"),
    ],
)
def test_what_is_optional_says_how_to_get_it(installed: Path, folder: Path, code: str, library: str) -> None:
    """Messages name what pip finds, wherever this package came from."""
    (folder / "log.csv").write_text("time [s],x [m]\n0,1\n1,2\n", encoding="utf-8")
    lines = f"""
import draisine as dr
m = dr.Model("sled")
m.planar(m.body("sled", mass=1.0, inertia=(1, 1, 1)))
run = dr.simulate(m, 1.0)
try:
    {code}
except dr.errors.DependencyError as error:
    print(error)
"""
    printed = called(installed / "python", "-c", lines, cwd=folder, DRAISINE_CACHE_DIR=str(folder / "cache"))
    assert re.search(rf"pip install {library}\b", printed), printed

"""The LLVM modules of all loops depend on no machine: other targets and other versions of llvmlite compile the same text."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen import cross_compile
from draisine.codegen.jit import solvers
from draisine.codegen.jit.engine import MATHEMATICS, MEMORY
from draisine.optimal.adjoint.functional import SWEEP
from draisine.simulation.ensemble.batch_stepper import batch_entry
from draisine.simulation.ensemble.fixed_step_batch import fixed_step_entry
from draisine.simulation.initial.solver import SOLVER
from draisine.simulation.stepper.memory import stepping_entry

ROOT = Path(__file__).parents[2]
LOOPS: dict[str, Callable[[], str]] = {
    "explicit": stepping_entry(False, False).text,
    "implicit": stepping_entry(True, False).text,
    "explicit_switching": stepping_entry(False, True).text,
    "implicit_switching": stepping_entry(True, True).text,
    "starts": SOLVER.text,
    "ensemble_samples": batch_entry(None).text,
    **{f"ensemble_groups_of_{lanes}": batch_entry(lanes).text for lanes in (2, 4, 8)},
    **{f"fixed_steps_of_{lanes}": fixed_step_entry(lanes).text for lanes in (2, 4, 8)},
    "adjoint": SWEEP.text,
    "linear_solvers": solvers.text,
}


def test_every_entry_is_here() -> None:
    """An entry that somebody adds is compiled for all targets too."""
    package = ROOT / "src" / "draisine"
    texts = {file.relative_to(package).as_posix(): file.read_text("utf-8") for file in package.rglob("*.py")}
    imported = re.compile(r"from draisine\.codegen\.restricted\.entry import .*\b(Entry|llvm_text)\b")
    assert {name for name, text in texts.items() if imported.search(text)} == {
        "codegen/jit/solvers.py",
        "optimal/adjoint/functional.py",
        "simulation/ensemble/batch_stepper.py",
        "simulation/ensemble/fixed_step_batch.py",
        "simulation/initial/solver.py",
        "simulation/stepper/memory.py",
        # these become JavaScript and C, or are interpreted, and are never machine code of their own
    } | {"codegen/restricted/script.py", "simulation/mode_machine.py", "simulation/initial/interpreted.py"}


@pytest.mark.parametrize("name", LOOPS)
def test_names_no_machine(name: str) -> None:
    text = LOOPS[name]()
    assert not re.search(r"^target |<\d+ x |\bvscale\b|x86|aarch64|attributes #", text, re.MULTILINE)
    called = set(re.findall(r"^declare .*?@([\w.]+)\(", text, re.MULTILINE))
    assert {symbol for symbol in called if not symbol.startswith("llvm.")} <= {*MATHEMATICS, *MEMORY}
    for triple, magic in cross_compile.TARGETS.items():
        assert cross_compile.cross_compile(text, triple, 0).startswith(magic)


HASHES = f"""
import hashlib, sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from codegen.test_portable_loops import LOOPS
for name in ("starts", "explicit", "linear_solvers"):
    print(hashlib.sha256(LOOPS[name]().encode()).hexdigest())
"""


def test_another_process_writes_the_same_bytes() -> None:
    """Whatever the order of sets is there."""
    names = ("starts", "explicit", "linear_solvers")
    here = [hashlib.sha256(LOOPS[name]().encode()).hexdigest() for name in names]
    assert here == [hashlib.sha256(LOOPS[name]().encode()).hexdigest() for name in names]
    surroundings = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(sys.path)}
    there = subprocess.run([sys.executable, "-c", HASHES], env=surroundings, capture_output=True, text=True, check=True)
    assert there.stdout.split() == here


def llvmlite_versions() -> list[str]:
    """The lowest version that is allowed, and the newest."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        (needed,) = [line for line in tomllib.load(file)["project"]["dependencies"] if line.startswith("llvmlite")]
    return [needed.replace(">=", "=="), "llvmlite"]


@pytest.mark.long
@pytest.mark.parametrize("version", llvmlite_versions())
def test_all_versions_of_llvmlite_compile_them(version: str, tmp_path: Path) -> None:
    """In an environment that has nothing but llvmlite, of the lowest and of the newest version."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, text in LOOPS.items():
        (texts / f"{name}.ll").write_text(text(), encoding="utf-8")
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", version], check=True)
    (tmp_path / "optimized").mkdir()
    for name in ("explicit", "linear_solvers"):
        shutil.copy(texts / f"{name}.ll", tmp_path / "optimized")
    for level, folder in ((0, texts), (1, tmp_path / "optimized")):
        made = subprocess.run([python, cross_compile.__file__, str(level), folder], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        assert len(made.stdout.splitlines()) == len(list(folder.iterdir())) * len(cross_compile.TARGETS)

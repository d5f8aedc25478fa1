"""LLVM in a process beside this one: the same code, whatever happens to that process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import casadi as ca
import pytest

import draisine as dr
from draisine.codegen import background, equation_cache
from draisine.codegen.cache import stored_object
from draisine.codegen.equation_cache import derive_cached, is_known
from draisine.codegen.jit import beside, kernel
from draisine.codegen.jit.beside import CompilerBeside
from draisine.codegen.jit.engine import compile_kernel, kernel_key
from draisine.codegen.jit.executable_memory import is_supported
from draisine.codegen.passes import ALL
from draisine.program.program import Program


@pytest.fixture
def no_llvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a process that has not loaded LLVM, on a machine with two processors and nothing compiled."""
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    monkeypatch.setattr(background, "_processors", lambda: 2)


def program(terms: int) -> Program:
    x = ca.SX.sym("x", 2)
    return Program.build(
        f"terms_{terms}", {"x": x, "p": ca.SX.sym("p")}, {"y": sum((ca.sin(k * x) for k in range(1, terms + 1)), 0 * x)}
    )


def refuse_to_compile(text: str, quick: bool = False) -> bytes:
    raise AssertionError("compiled in this process")


@pytest.mark.usefixtures("no_llvm")
def test_code_is_that_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """More text, and more code, than pipes hold: neither process waits for the other for ever."""
    programs = [program(terms) for terms in (400, 300, 200, 1, 2, 3)]
    hoisted = program(5)
    here = [compile_kernel(kernel._text(p, "plain", ALL), quick=True) for p in programs]
    monkeypatch.delitem(sys.modules, "llvmlite.binding")
    monkeypatch.setattr(kernel, "compile_kernel", refuse_to_compile)
    with CompilerBeside() as compiler:
        compiler.begin()
        kernel.begin(hoisted, hoisted=True)
        for p in programs:
            kernel.begin(p)
        for p in reversed(programs):
            kernel.compile(p, quick=True)
        kernel.compile_hoisted(hoisted, quick=True)
    found = [stored_object(f"{kernel._key(p, False, ALL)}; {kernel_key(True)}") for p in programs]
    assert found == here
    assert beside.compiler_beside() is None


@pytest.mark.usefixtures("no_llvm")
@pytest.mark.parametrize("problem", [None, dr.errors.ArgumentError, KeyboardInterrupt])
def test_equations_are_stored_while_the_run_waits(problem: type[BaseException] | None) -> None:
    """Or at the end of the block, unless the user interrupts it; they are the same."""
    described = dr.gallery.model("atwood").freeze()
    equation_cache._derive_cached.cache_clear()
    with pytest.raises(problem) if problem else nullcontext(), CompilerBeside() as compiler:
        compiler.begin()
        derived = derive_cached(described)
        assert not is_known(described, {}, ())
        if problem is not None:
            raise problem("of the run")
        kernel.begin(derived.dynamics)
        kernel.compile(derived.dynamics, quick=True)
        assert is_known(described, {}, ())
    assert is_known(described, {}, ()) is (problem is not KeyboardInterrupt)
    equation_cache._derive_cached.cache_clear()
    assert derive_cached(described).dynamics.digest == derived.dynamics.digest


@pytest.mark.usefixtures("no_llvm")
def test_a_process_that_ends_early_is_not_missed() -> None:
    expected = kernel.compile(program(3))([0.3, 0.4], 0.0)[0].tolist()
    sys.modules.pop("llvmlite.binding")
    with CompilerBeside() as compiler:
        compiler.begin()
        kernel.begin(program(4))
        assert compiler._process is not None
        compiler._process.kill()
        compiler._process.wait()
        kernel.begin(program(5))
        assert kernel.compile(program(4), quick=True)([0.0, 0.0], 0.0)[0].tolist() == [0.0, 0.0]
        assert kernel.compile(program(3), quick=True)([0.3, 0.4], 0.0)[0].tolist() == expected
        assert kernel.compile(program(5), quick=True)([0.0, 0.0], 0.0)[0].tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("no_llvm")
def test_no_process_is_started_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one processor, where this process has LLVM, and where none can be started."""
    monkeypatch.setattr(background, "_processors", lambda: 1)
    with CompilerBeside() as compiler:
        compiler.begin()
        assert beside.compiler_beside() is None
    monkeypatch.setattr(background, "_processors", lambda: 2)
    monkeypatch.setattr(sys, "executable", os.devnull)
    with CompilerBeside() as compiler:
        compiler.begin()
        assert beside.compiler_beside() is None
        kernel.begin(program(2))
        assert kernel.compile(program(2), quick=True)([0.0, 0.0], 0.0)[0].tolist() == [0.0, 0.0]
    monkeypatch.undo()
    with CompilerBeside() as compiler:
        compiler.begin()  # `compile` has loaded LLVM
        assert beside.compiler_beside() is None


@pytest.mark.usefixtures("no_llvm")
def test_text_that_llvm_refuses_is_refused_here() -> None:
    with CompilerBeside() as compiler:
        compiler.begin()
        compiler.ask("wrong", "define nonsense")
        compiler.ask("right", "define void @kernel() {\nret void\n}")
        assert compiler.take("wrong") is None
        assert compiler.take("right")
        assert compiler.take("never asked") is None


RUN = """
import sys
import time
import draisine as dr
run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.5})
print(*(float(run[name][-1]).hex() for name in ("lean", "steer", "speed")), "llvmlite.binding" in sys.modules)
"""


def test_a_new_model_is_compiled_without_llvm_in_its_process(tmp_path: Path, shipped_kernels: None) -> None:
    """The run is the same where there is one processor, and LLVM is loaded in its process."""
    run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    warm = _surroundings(tmp_path / "1")
    subprocess.run([sys.executable, "-m", "draisine", "warm"], env=warm, check=True, capture_output=True)
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    for processors in (1, 2):
        text = f"from draisine.codegen import background\nbackground._processors = lambda: {processors}\n{RUN}"
        surroundings = _surroundings(tmp_path / f"{processors}")
        done = subprocess.run([sys.executable, "-c", text], env=surroundings, check=True, capture_output=True, text=True)
        *values, loaded = done.stdout.split()
        assert values == [float(run[name][-1]).hex() for name in ("lean", "steer", "speed")]
        assert loaded == str(processors == 1 or not is_supported())


def _surroundings(cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "DRAISINE_KERNEL_LEVEL"}
    return kept | {"DRAISINE_CACHE_DIR": str(cache)}


def test_the_first_run_on_a_machine_needs_no_llvm_in_its_process(tmp_path: Path, shipped_kernels: None) -> None:
    """Nothing is compiled, and nobody has asked LLVM for the processor yet."""
    run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    text = f"from draisine.codegen import background\nbackground._processors = lambda: 2\n{RUN}"
    done = subprocess.run([sys.executable, "-c", text], env=_surroundings(tmp_path), check=True, capture_output=True, text=True)
    *values, loaded = done.stdout.split()
    assert values == [float(run[name][-1]).hex() for name in ("lean", "steer", "speed")]
    assert loaded == str(not is_supported())  # elsewhere LLVM loads all code
    until = time.monotonic() + 100.0
    while any(tmp_path.glob("*.claim")) and time.monotonic() < until:  # the loops are optimized by another process
        time.sleep(0.1)
    stored = len(list(tmp_path.glob("*.object")))
    assert stored >= 12, "two loops with and without optimization, six kernels, equations, the processor"

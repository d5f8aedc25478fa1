"""The stored loop: a warm process never imports Numba."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.run import integrate
from draisine.simulation.stepper import compiling
from draisine.simulation.stepper import stored_loop as stored
from simulation.systems import kepler, start_of

SCRIPT = """
import sys
from simulation.systems import kepler, start_of
from draisine.simulation import DOP853, Radau, integrate
run = integrate(kepler(), start_of(kepler()), 1.0, method=METHOD)
print(repr(run.final_state.tolist()), "numba" in sys.modules, "scipy" in sys.modules)
"""


@pytest.mark.parametrize("method", [DOP853(), Radau()])
def test_a_warm_process_does_without_numba(method: object) -> None:
    run = integrate(kepler(), start_of(kepler()), 1.0, method=method)  # type: ignore[arg-type]  # compiles what is not in the cache
    here = run.final_state.tolist()
    path = os.pathsep.join(p for p in [*sys.path, str(Path(__file__).parents[1])] if p)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("METHOD", repr(method))],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    there, numba, scipy = done.stdout.rsplit(maxsplit=2)
    assert there == repr(here)
    assert (numba, scipy) == ("False", "False")


def test_code_that_needs_numba_is_refused() -> None:
    text = "declare double @llvm.fabs.f64(double)\ndeclare double @pow(double, double)\n"
    compiling._check(text)
    with pytest.raises(RuntimeError, match="needs NRT_Allocate at run time"):
        compiling._check(text + "declare i8* @NRT_Allocate(i64)\n")
    with pytest.raises(RuntimeError, match="PyExc_ValueError"):
        compiling._check(text + "@PyExc_ValueError = external global i8\n")


def test_the_key_names_what_the_code_depends_on() -> None:
    from importlib.metadata import version

    key = stored._key(implicit=False)
    assert key != stored._key(implicit=True)
    assert f"numba {version('numba')}" in key
    assert "LLVM" in key

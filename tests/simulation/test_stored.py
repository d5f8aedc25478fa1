"""The stored loop: it serves any process, and what it depends on is in its key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from draisine.codegen.restricted.entry import Entry
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.run import integrate
from draisine.simulation.stepper import memory as stored
from simulation.systems import kepler, start_of

SCRIPT = """
import sys
from simulation.systems import kepler, start_of
from draisine.simulation.methods import DOP853, Radau
from draisine.simulation.run import integrate
run = integrate(kepler(), start_of(kepler()), 1.0, method=METHOD)
print(repr(run.final_state.tolist()), "draisine.simulation.stepper.loop" in sys.modules, "scipy" in sys.modules)
"""


@pytest.mark.parametrize("method", [DOP853(), Radau()])
def test_a_warm_process_loads_the_code_alone(method: object) -> None:
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
    there, loop, scipy = done.stdout.rsplit(maxsplit=2)
    assert there == repr(here)
    assert (loop, scipy) == ("False", "False")


def test_the_key_names_what_the_code_depends_on() -> None:
    entry = Entry("draisine.simulation.stepper.loop", "advance", stored.SOURCES)
    other = Entry("draisine.simulation.stepper.loop", "advance", stored.SOURCES, stored.EXPLICIT)
    assert entry.key != other.key
    assert "Tableau.implicit = 0" in other.key
    assert "LLVM" in entry.key


def test_sources_that_the_key_does_not_know_are_named() -> None:
    """A change of them would leave old code in use."""
    with pytest.raises(RuntimeError, match=r"loop.advance also depends on .*draisine.simulation.stepper.explicit_rk"):
        Entry("draisine.simulation.stepper.loop", "advance", stored.SOURCES[1:], stored.EXPLICIT).compile()

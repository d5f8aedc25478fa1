"""Other processes: for later, of lowest priority, which go on when this one ends; and beside it, which end with it.

LLVM works under one lock for all threads of a process, so that a thread would delay what is needed now.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.codegen.cache import cache_directory

if TYPE_CHECKING:
    import subprocess

_PRIORITY = 19  # the lowest, where processes have one
_PROGRAM = """
import json, sys
path, module, function, argument = json.loads(sys.argv[1])
sys.path[:] = path
from draisine.codegen.background import run
run(module, function, argument)
"""
_started: list[subprocess.Popen[bytes]] = []


def start(module: str, function: str, argument: str) -> None:
    """Call a function of a module of this package, on a text, in a process that finds modules where this one does.

    Where no process can be started nothing happens: what is made in the background is never needed.
    """
    process = _process(module, function, argument, piped=False)
    if process is None:
        return
    if not _started:
        atexit.register(_leave)
    _started.append(process)


def has_finished() -> bool:
    """Whether no process that this one has started for later still works."""
    return all(process.poll() is not None for process in _started)


def start_beside(module: str, function: str) -> subprocess.Popen[bytes] | None:
    """A process of usual priority that calls a function of a module on its standard input and output, which are pipes from and to
    this process; None where there is no second processor, or no process can be started."""
    return _process(module, function, None, piped=True) if _processors() > 1 else None


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _process(module: str, function: str, argument: str | None, piped: bool) -> subprocess.Popen[bytes] | None:
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    import subprocess  # not needed where everything is compiled

    given = json.dumps([[str(Path(place).absolute()) for place in sys.path], module, function, argument])
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        priority = 0 if piped else subprocess.BELOW_NORMAL_PRIORITY_CLASS
        apart = {"creationflags": subprocess.CREATE_NO_WINDOW | priority}
    way = subprocess.PIPE if piped else subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, given],
            stdin=way,
            stdout=way,
            stderr=subprocess.DEVNULL,
            cwd=cache_directory(),
            env=os.environ | {"DRAISINE_CACHE_DIR": str(cache_directory())},
            **apart,
        )
    except OSError as error:
        import logging  # hardly ever needed

        logging.getLogger("draisine").info("no process could be started in the background: %s", error)
        return None


def _leave() -> None:
    """Processes still running go on by themselves; `Popen` would warn of them."""
    for process in _started:
        if process.poll() is None:
            process.returncode = 0


def run(module: str, function: str, argument: str | None) -> None:
    """What the process does: something on its pipes without an argument, else something for later."""
    called = getattr(import_module(module), function)
    if argument is None:
        called(sys.stdin.buffer, sys.stdout.buffer)
        return
    if hasattr(os, "nice"):
        os.nice(_PRIORITY)
    called(argument)

"""Python that works on memory by address, as machine code: compiled once per machine, then loaded from disk without Numba."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import load_object
from draisine.simulation.stepper import layout, native
from draisine.simulation.stepper.compiling import MODULES, machine_code, teach_everything, teach_module
from draisine.simulation.stepper.stored_loop import SYMBOL, Code


@cache
def stored_code(entry: Callable[[int], int], *modules: ModuleType, stepping: bool = False) -> Code:
    """Machine code of a function that calls others of these modules and, with `stepping`, the stepping loop."""
    sha = hashlib.sha256()
    for module in (layout, native, *(MODULES if stepping else ()), *modules):
        sha.update(Path(str(module.__file__)).read_bytes())
    key = f"{entry.__module__}.{entry.__name__}; {sha.hexdigest()}; numba {version('numba')}; {host_key()}"

    def made() -> bytes:
        logging.getLogger("draisine").info("compiling %s: once on this machine, some seconds …", entry.__name__)
        if stepping:
            teach_everything()
        for module in modules:
            teach_module(module)
        return machine_code(entry)

    return Code(load_object(cached_object(key, made), SYMBOL))

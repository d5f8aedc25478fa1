"""Restricted functions as compiled functions of Python, for tests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from draisine.codegen.jit.engine import compile_ir, load_object
from draisine.codegen.restricted.function import parameter_types, translate
from draisine.codegen.restricted.types import BOOL, INT, NOTHING, REAL, Record, Type
from draisine.codegen.restricted.unit import Options, Unit

RESULTS = {INT: ctypes.c_int64, REAL: ctypes.c_double, BOOL: ctypes.c_bool, NOTHING: None}


def compiled(
    function: Callable[..., Any], instead: Mapping[str, Type] | None = None, options: Options | None = None, passes: int = 3
) -> Callable[..., Any]:
    """The machine code of a function, called like the function itself."""
    types = parameter_types(function, instead)
    made = translate({"entry": (function, types)}, options)
    loaded = load_object(compile_ir(made.text, passes=passes), "entry")
    result = Unit(Options()).instance(function, tuple(types)).result
    kinds = {"ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "double": ctypes.c_double, "i1": ctypes.c_bool}
    prototype = ctypes.CFUNCTYPE(RESULTS[result], *[kinds[part] for kind in types for part in kind.parts])
    run = prototype(loaded.address)

    def call(*given: Any, alive: object = loaded) -> Any:
        parts: list[Any] = []
        for value in given:
            if isinstance(value, Record):
                parts.append(value.address)
            elif isinstance(value, np.ndarray):
                parts += [value.ctypes.data, *value.shape]
            else:
                parts += [value.real, value.imag] if isinstance(value, complex) else [value]
        return run(*parts)

    return call

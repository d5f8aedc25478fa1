"""Libraries that only some features need, asked for when the feature is used."""

from __future__ import annotations

import importlib
from typing import Any

from draisine.errors import DependencyError


def needed(module: str, purpose: str, install: str = "") -> Any:
    """The module, or an `ImportError` that says what it is for and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        cure = install or module.partition(".")[0]
        raise DependencyError(
            f"{purpose} needs {cure}, which is not available ({error}); install it: pip install {cure}"
        ) from error
